"""The class behind each `type`: a table of names, so that nothing is imported before it is asked.

A new law, load, method or system adds one line here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from stiction.errors import ScenarioError, explain, nearest

__all__ = ["ARTICLES", "KINDS", "find"]

# The key is the name of the base class as it stands in the annotation of a field.
KINDS: Mapping[str, Mapping[str, str]] = {
    "System": {
        "Chain": "stiction.chains.model",
        "WheelOnTurntable": "stiction.switching.wheel",
        "BeltOscillator": "stiction.switching.presets",
        "NormalForm": "stiction.switching.presets",
        "RelayFeedback": "stiction.switching.presets",
        "StaticJumpOscillator": "stiction.switching.presets",
        "TwoBlockStickSlip": "stiction.switching.presets",
        "RollingStrings": "stiction.rods.strings",
        "Rods": "stiction.rods.model",
        "CrossedRods": "stiction.rods.presets",
        "RodOnPlane": "stiction.rods.plane",
        "RodOnFixedRod": "stiction.rods.presets",
        "RodNet": "stiction.rods.presets",
        "Braid": "stiction.rods.tied",
        "TighteningKnot": "stiction.rods.tied",
        "StripPeeling": "stiction.solids.presets",
        "TwoCylinders": "stiction.solids.presets",
        "CapSliding": "stiction.solids.presets",
    },
    "Method": {
        "BumpStrands": "stiction.rods.strands",
        "EventDriven": "stiction.methods",
        "Quasistatic": "stiction.methods",
        "RegularizedTheta": "stiction.chains.time_stepping",
        "ThetaStepper": "stiction.chains.time_stepping",
        "Characteristics": "stiction.rods.characteristics",
        "RollingLeapfrog": "stiction.rods.leapfrog",
        "RollingMidpoint": "stiction.rods.midpoint",
        "PlaneLeapfrog": "stiction.rods.plane",
        "Continuation": "stiction.solids.continuation",
    },
    "Policy": {
        "Stop": "stiction.methods",
        "Leave": "stiction.methods",
        "Sample": "stiction.methods",
        "Enumerate": "stiction.methods",
        "ByKind": "stiction.methods",
    },
    "Load": {
        "Constant": "stiction.chains.loads",
        "PiecewiseLinear": "stiction.chains.loads",
        "Ramp": "stiction.chains.loads",
        "Sine": "stiction.chains.loads",
        "SumOf": "stiction.chains.loads",
    },
    "Friction": {
        "Coulomb": "stiction.laws.coulomb",
        "ExponentialWeakening": "stiction.laws.coulomb",
        "RandomCoulomb": "stiction.laws.coulomb",
        "StaticKinetic": "stiction.laws.coulomb",
    },
    "SmoothSign": {
        "SquareRootSign": "stiction.laws.smoothed",
        "TanhSign": "stiction.laws.smoothed",
    },
    "TyreLaw": {
        "SimplifiedTyre": "stiction.laws.tyre",
        "StretchedString": "stiction.laws.tyre",
    },
    "Adhesion": {
        "LennardJones": "stiction.laws.adhesion",
    },
    "AdhesiveFriction": {
        "DI": "stiction.laws.adhesive_friction",
        "EA": "stiction.laws.adhesive_friction",
        "Frictionless": "stiction.laws.adhesive_friction",
    },
    "Shape": {
        "Sine": "stiction.rods.shapes",
        "Bump": "stiction.rods.shapes",
        "Pluck": "stiction.rods.shapes",
        "Samples": "stiction.rods.shapes",
        "Sum": "stiction.rods.shapes",
    },
    "CosseratRod": {
        "CosseratRod": "stiction.rods.rod",
    },
    "Section": {
        "CircularSection": "stiction.rods.section",
    },
    "Centreline": {
        "Straight": "stiction.rods.centreline",
        "Arc": "stiction.rods.centreline",
        "Helix": "stiction.rods.centreline",
        "Curve": "stiction.rods.centreline",
    },
    "RodEnd": {
        "Clamped": "stiction.rods.rod",
        "Pinned": "stiction.rods.rod",
        "Free": "stiction.rods.rod",
        "Driven": "stiction.rods.rod",
    },
    "RodMotion": {
        "SineVelocity": "stiction.rods.rod",
        "SineSpin": "stiction.rods.rod",
        "RigidMotion": "stiction.rods.rod",
        "GivenMotion": "stiction.rods.rod",
    },
    "RodLoad": {
        "LineForce": "stiction.rods.rod",
        "PointForce": "stiction.rods.rod",
        "PointMoment": "stiction.rods.rod",
    },
    "RodTouch": {
        "RollingContact": "stiction.rods.contact",
        "ContactSearch": "stiction.rods.contact",
    },
    "Material": {
        "NeoHookean": "stiction.solids.materials",
        "NearlyIncompressible": "stiction.solids.materials",
        "MooneyRivlin": "stiction.solids.materials",
        "Yeoh": "stiction.solids.materials",
        "LinearElastic": "stiction.solids.materials",
    },
    "LinearSolver": {
        "SuperLU": "stiction.numerics.linear_solvers",
        "Pardiso": "stiction.numerics.linear_solvers",
    },
    "BranchChoice": {
        "SlideFrom": "stiction.methods",
        "StayStuck": "stiction.methods",
    },
}

ARTICLES = {
    "System": "a system",
    "Method": "a method",
    "Policy": "a policy",
    "Load": "a load",
    "Friction": "a friction law",
    "SmoothSign": "a smoothed sign",
    "TyreLaw": "a tyre law",
    "Adhesion": "an adhesion law",
    "AdhesiveFriction": "a law of friction under adhesion",
    "Shape": "a shape",
    "CosseratRod": "a rod",
    "Section": "a cross-section",
    "Centreline": "a centreline",
    "RodEnd": "how an end is held",
    "RodMotion": "a motion at the start",
    "RodLoad": "a load of a rod",
    "RodTouch": "how rods touch",
    "Material": "a material",
    "LinearSolver": "a sparse solver",
    "BranchChoice": "a choice of branch",
}

# what holds a Python function or a mesh, and what a file can hold in its place
_PYTHON_ONLY = {
    "UserLoad": "approximate it, for example by PiecewiseLinear",
    "UserFriction": "approximate it, for example by ExponentialWeakening",
    "UserThreshold": "take DI or EA",
    "UserShape": "sample it, and take Samples",
    "Solid": "take StripPeeling, TwoCylinders or CapSliding",
    "PiecewiseSmooth": "take one of the known flows, such as BeltOscillator or NormalForm",
}


def find(kind: str, name: object, where: str) -> type:
    """Return the class called `name` among those of `kind`; ScenarioError if there is none.

    Verified by: tests/unit/test_scenario.py::test_unknown_type_names_the_nearest
    """
    known = KINDS[kind]
    if isinstance(name, str) and name in known:
        found: type = getattr(importlib.import_module(known[name]), name)
        return found
    why = f"`type` is the class name of {ARTICLES[kind]}."
    if isinstance(name, str) and name in _PYTHON_ONLY:
        raise ScenarioError(
            explain(
                f"{where}.type",
                repr(name),
                f"{ARTICLES[kind]} that a file can describe",
                f"{name} holds a Python function or a mesh, which cannot be written to a file.",
                f"solve it from Python, or {_PYTHON_ONLY[name]}.",
            )
        )
    elsewhere = [k for k, names in KINDS.items() if isinstance(name, str) and name in names]
    if elsewhere:
        why = f"{name} is {ARTICLES[elsewhere[0]]}; here stands {ARTICLES[kind]}."
    raise ScenarioError(
        explain(
            f"{where}.type",
            repr(name),
            "one of " + ", ".join(sorted(known)),
            why,
            nearest(name if isinstance(name, str) else "", known),
        )
    )
