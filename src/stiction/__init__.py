"""Stiction: frictional contact where stick is exact and every result says how far to trust it.

One verb, ``solve(system, method, t_span)``, and three kinds of nouns:

systems
    ``Chain``: n masses, springs and dampers on a rail (`stiction.chains`).
    ``PiecewiseSmooth``: any flow that switches where h(x) = 0, from plain functions;
    ``WheelOnTurntable``, ``BeltOscillator``, ``RelayFeedback``, ``NormalForm``,
    ``TwoBlockStickSlip``, ``StaticJumpOscillator``: such flows, compiled
    (`stiction.switching`).
    ``RollingStrings``: two strings that roll on each other at one moving point, from shapes
    of `stiction.rods`. ``Rods``: elastic rods, each a ``CosseratRod`` with a
    ``CircularSection``, that roll on, slip along and open from each other where a
    ``RollingContact`` or a ``ContactSearch`` says. ``CrossedRods``, ``RodOnFixedRod``,
    ``RodNet``, ``Braid``, ``TighteningKnot``: such rods, ready.
    ``Solid``: deformable bodies at finite strain, each a ``Body`` of a ``Mesh``, elements
    (``Q1``, ``Q2``, ``Q1N2``, ``Q2N2``, ``Q1H``) and a material (``NeoHookean``,
    ``NearlyIncompressible``, ``MooneyRivlin``, ``Yeoh``, ``LinearElastic``), with a
    ``Contact`` between a ``Boundary`` and a ``RigidPlane``, a ``RigidCircle`` or another
    boundary, and what is ``Fixed``, ``Driven`` or ``Loaded``. ``StripPeeling``,
    ``TwoCylinders``, ``CapSliding``: such solids, ready (`stiction.solids`).
laws
    ``Coulomb``, ``StaticKinetic``, ``ExponentialWeakening``, ``RandomCoulomb``,
    ``UserFriction`` of blocks; ``StretchedString``, ``SimplifiedTyre``, ``Pacejka`` of
    tyres; ``LennardJones`` adhesion with ``DI``, ``EA``, ``amontons``, ``UserThreshold`` or
    ``Frictionless`` between surfaces (`stiction.laws`).

Methods
-------
    ``EventDriven`` for every system; ``ThetaStepper``, ``RegularizedTheta``,
    ``Quasistatic`` for chains and solids, ``Continuation`` for solids, with a sparse solver
    ``SuperLU`` or ``Pardiso``; ``Characteristics``, ``BumpStrands`` for strings;
    ``RollingLeapfrog``, ``RollingMidpoint`` for rods. Where the future is not unique a policy
    decides: ``Stop``, ``Leave``, ``Sample``, ``Enumerate``, ``ByKind`` (`stiction.methods`).

What comes out is a ``Run``: events, energy ledger, determinism, audit and data
(`stiction.results`). ``StickSet`` and ``reach`` answer questions about rest, ``two_fold``
finds where two folds of a flow cross. Scenarios in TOML describe the same objects
(`stiction.scenario`); `stiction.cli` is the command line.
"""

from __future__ import annotations

import importlib
from typing import Any

from stiction._version import __version__
from stiction.solve import solve

_HOME = {
    "Chain": "stiction.chains",
    "Constant": "stiction.chains",
    "PiecewiseLinear": "stiction.chains",
    "Ramp": "stiction.chains",
    "Sine": "stiction.chains",
    "SumOf": "stiction.chains",
    "UserLoad": "stiction.chains",
    "EventDriven": "stiction.methods",
    "ThetaStepper": "stiction.chains.time_stepping",
    "RegularizedTheta": "stiction.chains.time_stepping",
    "Quasistatic": "stiction.methods",
    "Stop": "stiction.methods",
    "Leave": "stiction.methods",
    "Sample": "stiction.methods",
    "Enumerate": "stiction.methods",
    "ByKind": "stiction.methods",
    "PiecewiseSmooth": "stiction.switching.model",
    "WheelOnTurntable": "stiction.switching.wheel",
    "BumpStrands": "stiction.rods.strands",
    "BeltOscillator": "stiction.switching.presets",
    "RelayFeedback": "stiction.switching.presets",
    "NormalForm": "stiction.switching.presets",
    "TwoBlockStickSlip": "stiction.switching.presets",
    "StaticJumpOscillator": "stiction.switching.presets",
    "RollingStrings": "stiction.rods.strings",
    "Characteristics": "stiction.rods.characteristics",
    "Rods": "stiction.rods.model",
    "CosseratRod": "stiction.rods.rod",
    "CircularSection": "stiction.rods.section",
    "RollingContact": "stiction.rods.contact",
    "ContactSearch": "stiction.rods.contact",
    "RollingLeapfrog": "stiction.rods.leapfrog",
    "RollingMidpoint": "stiction.rods.midpoint",
    "CrossedRods": "stiction.rods.presets",
    "RodOnFixedRod": "stiction.rods.presets",
    "RodNet": "stiction.rods.presets",
    "Braid": "stiction.rods.tied",
    "TighteningKnot": "stiction.rods.tied",
    "Continuation": "stiction.solids.continuation",
    "Solid": "stiction.solids.model",
    "Body": "stiction.solids.model",
    "Contact": "stiction.solids.contact",
    "Boundary": "stiction.solids.partners",
    "RigidPlane": "stiction.solids.partners",
    "RigidCircle": "stiction.solids.partners",
    "Fixed": "stiction.solids.conditions",
    "Driven": "stiction.solids.conditions",
    "Loaded": "stiction.solids.conditions",
    "Nearest": "stiction.solids.conditions",
    "Rigid": "stiction.solids.conditions",
    "Program": "stiction.solids.conditions",
    "Mesh": "stiction.solids.mesh",
    "rectangle": "stiction.solids.mesh",
    "Q1": "stiction.solids.elements",
    "Q2": "stiction.solids.elements",
    "Q1N2": "stiction.solids.elements",
    "Q2N2": "stiction.solids.elements",
    "Q1H": "stiction.solids.elements",
    "NeoHookean": "stiction.solids.materials",
    "NearlyIncompressible": "stiction.solids.materials",
    "MooneyRivlin": "stiction.solids.materials",
    "Yeoh": "stiction.solids.materials",
    "LinearElastic": "stiction.solids.materials",
    "StripPeeling": "stiction.solids.presets",
    "TwoCylinders": "stiction.solids.presets",
    "CapSliding": "stiction.solids.presets",
    "SuperLU": "stiction.numerics.linear_solvers",
    "Pardiso": "stiction.numerics.linear_solvers",
    "two_fold": "stiction.switching.two_fold",
    "StickSet": "stiction.chains.stick_set",
    "reach": "stiction.chains.reachability",
    "Coulomb": "stiction.laws",
    "ExponentialWeakening": "stiction.laws",
    "RandomCoulomb": "stiction.laws",
    "SquareRootSign": "stiction.laws",
    "StaticKinetic": "stiction.laws",
    "TanhSign": "stiction.laws",
    "UserFriction": "stiction.laws",
    "StretchedString": "stiction.laws",
    "SimplifiedTyre": "stiction.laws",
    "Pacejka": "stiction.laws",
    "LennardJones": "stiction.laws",
    "DI": "stiction.laws",
    "EA": "stiction.laws",
    "Frictionless": "stiction.laws",
    "UserThreshold": "stiction.laws",
    "amontons": "stiction.laws",
    "ModelError": "stiction.errors",
    "ScenarioError": "stiction.errors",
    "SolveError": "stiction.errors",
    "Status": "stiction.errors",
    "StictionError": "stiction.errors",
    "StoreError": "stiction.errors",
    "Run": "stiction.results.run",
    "load": "stiction.results.store",
    "read_scenario": "stiction.scenario",
}

__all__ = ["__version__", "solve", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import stiction` stays quick."""
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'stiction' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
