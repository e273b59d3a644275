"""The table of all public classes and functions, and of the modules that define them.

Five things are derived from this table: the top-level names of `stiction`, the names of its
subpackages such as `stiction.solids.Fixed`, the values of `type` in scenario files, the pages of
the API, and the stubs for type checkers. A module is imported when one of its names is first used.
A new system, law, load or method adds one line to the table. Other packages add laws and systems by
entry points (`stiction._extensions`). The table is `CATALOGUE`, with one `Kind` for each kind of
object; the functions below it search it.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from stiction._kind import Kind

if TYPE_CHECKING:
    from stiction._extensions import Extension

__all__ = [
    "CATALOGUE",
    "FOREIGN",
    "MEASURES",
    "SUBPACKAGES",
    "TOP",
    "Kind",
    "attribute",
    "homes",
    "method_homes",
    "module_outside",
    "names_in",
    "outside",
    "package_of",
    "top",
    "used_outside",
]


# Keys are the names of the base classes, as the annotations of fields contain them.
CATALOGUE: Mapping[str, Kind] = {
    "System": Kind(
        "a system",
        {
            "Chain": "stiction.chains.model",
            "PiecewiseSmooth": "stiction.switching.model",
            "WheelOnTurntable": "stiction.switching.wheel.model",
            "BeltOscillator": "stiction.switching.presets",
            "NormalForm": "stiction.switching.presets",
            "RelayFeedback": "stiction.switching.presets",
            "StaticJumpOscillator": "stiction.switching.presets",
            "TwoBlockStickSlip": "stiction.switching.presets",
            "RollingStrings": "stiction.rods.strings.model",
            "Rods": "stiction.rods.model",
            "CrossedRods": "stiction.rods.presets",
            "RodOnPlane": "stiction.rods.plane.model",
            "RodOnFixedRod": "stiction.rods.presets",
            "RodNet": "stiction.rods.presets",
            "Braid": "stiction.rods.presets",
            "TighteningKnot": "stiction.rods.presets",
            "Capstan": "stiction.rods.wrapped.capstan",
            "Solid": "stiction.solids.model",
            "MovingSolid": "stiction.solids.dynamics.model",
            "StripPeeling": "stiction.solids.presets.plane",
            "TwoCylinders": "stiction.solids.presets.plane",
            "CapSliding": "stiction.solids.presets.plane",
            "TapePeeling": "stiction.solids.presets.tape",
            "CapSliding3D": "stiction.solids.presets.cap",
            "SpringSlider": "stiction.faults.model",
            "Fault": "stiction.faults.model",
            "StrikeSlipFault": "stiction.faults.presets",
            "InjectedFault": "stiction.faults.presets",
            "RigidBodies": "stiction.bodies.model",
            "SpatialBodies": "stiction.bodies.space.model",
        },
        {
            "PiecewiseSmooth": (
                "take one of the known flows, such as BeltOscillator or NormalForm"
            ),
        },
    ),
    # these two have the fields that are common to the methods of that name; see `methods.py`
    "Method": Kind(
        "a method",
        {"EventDriven": "stiction.methods", "Quasistatic": "stiction.methods"},
        written=False,
    ),
    "chains.Method": Kind(
        "a method for chains",
        {
            "EventDriven": "stiction.chains.methods",
            "Quasistatic": "stiction.chains.methods",
            "ThetaStepper": "stiction.chains.methods",
            "RegularizedTheta": "stiction.chains.methods",
            "Radau": "stiction.chains.methods",
        },
    ),
    "switching.Method": Kind(
        "a method for piecewise-smooth flows", {"EventDriven": "stiction.switching.methods"}
    ),
    "rods.Method": Kind(
        "a method for rods and strings",
        {
            "Characteristics": "stiction.rods.methods",
            "BumpStrands": "stiction.rods.methods",
            "RollingLeapfrog": "stiction.rods.methods",
            "RollingMidpoint": "stiction.rods.methods",
            "PlaneLeapfrog": "stiction.rods.methods",
            "Quasistatic": "stiction.rods.methods",
            "ImplicitEuler": "stiction.rods.methods",
        },
    ),
    "solids.Method": Kind(
        "a method for solids",
        {
            "Quasistatic": "stiction.solids.methods",
            "Continuation": "stiction.solids.methods",
            "GeneralisedAlpha": "stiction.solids.methods",
        },
    ),
    "bodies.Method": Kind(
        "a method for rigid bodies",
        {"EventDriven": "stiction.bodies.methods", "TimeStepper": "stiction.bodies.methods"},
    ),
    "faults.Method": Kind("a method for faults", {"Cycles": "stiction.faults.methods"}),
    "Policy": Kind(
        "a policy",
        {
            "Stop": "stiction.switching.policies",
            "Leave": "stiction.switching.policies",
            "Sample": "stiction.switching.policies",
            "Enumerate": "stiction.switching.policies",
            "ByKind": "stiction.switching.policies",
            "SlipAtGrazing": "stiction.chains.policies",
        },
    ),
    "BranchChoice": Kind(
        "a choice of branch",
        {"SlideFrom": "stiction.chains.policies", "StayStuck": "stiction.chains.policies"},
    ),
    "BranchPolicy": Kind(
        "a policy at bifurcations",
        {
            "StopThere": "stiction.core.method",
            "StayOnPath": "stiction.core.method",
            "FollowBranch": "stiction.core.method",
        },
        subpackage="solids",
    ),
    "Load": Kind(
        "a load",
        {
            "Constant": "stiction.chains.loads",
            "PiecewiseLinear": "stiction.chains.loads",
            "Ramp": "stiction.chains.loads",
            "Sine": "stiction.chains.loads",
            "SumOf": "stiction.chains.loads",
            "UserLoad": "stiction.chains.loads",
        },
        {"UserLoad": "approximate it, for example by PiecewiseLinear"},
    ),
    "Friction": Kind(
        "a friction law",
        {
            "Coulomb": "stiction.laws.coulomb",
            "ExponentialWeakening": "stiction.laws.coulomb",
            "RandomCoulomb": "stiction.laws.coulomb",
            "StaticKinetic": "stiction.laws.coulomb",
            "Stribeck": "stiction.laws.stribeck",
            "AgeingCoulomb": "stiction.laws.stribeck",
            "RestingCoulomb": "stiction.laws.stribeck",
            "Dahl": "stiction.laws.presliding",
            "LuGre": "stiction.laws.presliding",
            "ElastoPlastic": "stiction.laws.presliding",
            "BoucWen": "stiction.laws.presliding",
            "RateAndStateFriction": "stiction.laws.rate_and_state",
            "UserFriction": "stiction.laws.coulomb",
        },
        {"UserFriction": "approximate it, for example by ExponentialWeakening"},
    ),
    "RateAndState": Kind(
        "a rate-and-state law",
        {
            "AgeingLaw": "stiction.laws.rate_and_state",
            "SlipLaw": "stiction.laws.rate_and_state",
        },
    ),
    "Injection": Kind(
        "an injection of fluid", {"Injection": "stiction.faults.injection"}, subpackage="faults"
    ),
    "SmoothSign": Kind(
        "a smoothed sign",
        {"SquareRootSign": "stiction.laws.smoothed", "TanhSign": "stiction.laws.smoothed"},
    ),
    "TyreLaw": Kind(
        "a tyre law",
        {
            "SimplifiedTyre": "stiction.laws.tyre",
            "StretchedString": "stiction.laws.tyre",
        },
    ),
    "TyreCurve": Kind("a tyre curve", {"Pacejka": "stiction.laws.tyre"}, written=False),
    "Adhesion": Kind(
        "a normal law",
        {"LennardJones": "stiction.laws.adhesion", "Signorini": "stiction.solids.unilateral"},
    ),
    "AdhesiveFriction": Kind(
        "a law of friction under adhesion",
        {
            "Coulomb": "stiction.solids.unilateral",
            "DI": "stiction.laws.adhesive_friction",
            "EA": "stiction.laws.adhesive_friction",
            "Frictionless": "stiction.laws.adhesive_friction",
            "UserThreshold": "stiction.laws.adhesive_friction",
        },
        {"UserThreshold": "take DI or EA"},
    ),
    "Shape": Kind(
        "a shape",
        {
            "Sine": "stiction.rods.strings.shapes",
            "Bump": "stiction.rods.strings.shapes",
            "Pluck": "stiction.rods.strings.shapes",
            "Samples": "stiction.rods.strings.shapes",
            "Sum": "stiction.rods.strings.shapes",
            "UserShape": "stiction.rods.strings.shapes",
        },
        {"UserShape": "sample it, and take Samples"},
    ),
    "CosseratRod": Kind("a rod", {"CosseratRod": "stiction.rods.rod"}),
    "Section": Kind(
        "a cross-section",
        {"CircularSection": "stiction.rods.section", "GivenSection": "stiction.rods.section"},
    ),
    "Centreline": Kind(
        "a centreline",
        {
            "Straight": "stiction.rods.centreline",
            "Arc": "stiction.rods.centreline",
            "Helix": "stiction.rods.centreline",
            "Curve": "stiction.rods.centreline",
        },
    ),
    "RodEnd": Kind(
        "a support of an end",
        {
            "Clamped": "stiction.rods.rod",
            "Pinned": "stiction.rods.rod",
            "Free": "stiction.rods.rod",
            "Driven": "stiction.rods.rod",
            "Turned": "stiction.rods.rod",
        },
    ),
    "RodMotion": Kind(
        "a motion at the start",
        {
            "SineVelocity": "stiction.rods.rod",
            "SineSpin": "stiction.rods.rod",
            "RigidMotion": "stiction.rods.rod",
            "GivenMotion": "stiction.rods.rod",
        },
    ),
    "RodLoad": Kind(
        "a load of a rod",
        {
            "LineForce": "stiction.rods.rod",
            "PointForce": "stiction.rods.rod",
            "PointMoment": "stiction.rods.rod",
        },
    ),
    "RodTouch": Kind(
        "how rods touch",
        {
            "RollingContact": "stiction.rods.contact.model",
            "ContactSearch": "stiction.rods.contact.model",
        },
    ),
    "RodPartner": Kind(
        "a rigid partner of rods",
        {
            "CylinderPartner": "stiction.rods.contact.partners",
            "SpherePartner": "stiction.rods.contact.partners",
            "PlanePartner": "stiction.rods.contact.partners",
        },
    ),
    "Material": Kind(
        "a material",
        {
            "NeoHookean": "stiction.solids.materials",
            "NearlyIncompressible": "stiction.solids.materials",
            "MooneyRivlin": "stiction.solids.materials",
            "Yeoh": "stiction.solids.materials",
            "LinearElastic": "stiction.solids.materials",
        },
    ),
    "Element": Kind(
        "an element",
        {
            "Q1": "stiction.solids.elements.kinds",
            "Q2": "stiction.solids.elements.kinds",
            "Q1N2": "stiction.solids.elements.kinds",
            "Q2N2": "stiction.solids.elements.kinds",
            "Q1H": "stiction.solids.elements.kinds",
            "QM6": "stiction.solids.elements.kinds",
        },
    ),
    "Mesh": Kind(
        "a mesh",
        {
            "Mesh": "stiction.solids.mesh.model",
            "block": "stiction.solids.mesh.model",
            "cap": "stiction.solids.mesh.model",
            "disc": "stiction.solids.mesh.model",
            "half_disc": "stiction.solids.mesh.model",
            "merged": "stiction.solids.mesh.model",
            "rectangle": "stiction.solids.mesh.model",
            "rotated": "stiction.solids.mesh.model",
        },
        {"block": "take rectangle, cap or half_disc, or Mesh with its points and cells"},
    ),
    "Body": Kind(
        "a body",
        {"Body": "stiction.solids.model"},
        also={
            "Membrane": "stiction.solids.membranes.model",
            "SweptBody": "stiction.solids.three_d.model",
        },
    ),
    "Membrane": Kind("a membrane", {"Membrane": "stiction.solids.membranes.model"}),
    "SweptBody": Kind("a body in space", {"SweptBody": "stiction.solids.three_d.model"}),
    "BodyShape": Kind("a shape of a body in space", {"Dome": "stiction.solids.three_d.shapes"}),
    "Patch": Kind(
        "a patch of splines",
        {
            "Patch": "stiction.solids.membranes.patch",
            "flat_patch": "stiction.solids.membranes.patch",
        },
    ),
    "Contact": Kind(
        "a contact",
        {"Contact": "stiction.solids.contact.model"},
        also={"ContactAmong": "stiction.solids.many.broad_phase"},
    ),
    "ContactAmong": Kind(
        "a contact among many", {"ContactAmong": "stiction.solids.many.broad_phase"}
    ),
    "ContactPair": Kind(
        "a pair of bodies with its own friction", {"ContactPair": "stiction.bodies.model"}
    ),
    "Hinge": Kind("a hinge between bodies", {"Hinge": "stiction.bodies.model"}),
    "SpatialHinge": Kind(
        "a hinge between bodies in space", {"SpatialHinge": "stiction.bodies.space.model"}
    ),
    "RigidBody": Kind("a rigid body", {"RigidBody": "stiction.bodies.model"}),
    "SpatialBody": Kind("a rigid body in space", {"SpatialBody": "stiction.bodies.space.model"}),
    "Spring": Kind("a spring between bodies", {"Spring": "stiction.bodies.model"}),
    "SpatialSpring": Kind(
        "a spring between bodies in space", {"SpatialSpring": "stiction.bodies.space.model"}
    ),
    "Support": Kind("a surface of given motion", {"Support": "stiction.bodies.model"}),
    "SpatialSupport": Kind(
        "a surface of given motion in space", {"SpatialSupport": "stiction.bodies.space.model"}
    ),
    "SpatialShape": Kind(
        "a shape of a rigid body in space",
        {
            "Capsule": "stiction.bodies.space.shapes",
            "ConvexHull": "stiction.bodies.space.shapes",
            "Cuboid": "stiction.bodies.space.shapes",
            "HalfSpace": "stiction.bodies.space.shapes",
            "Sphere": "stiction.bodies.space.shapes",
        },
    ),
    "RigidShape": Kind(
        "a shape of a rigid body",
        {
            "Box": "stiction.bodies.shapes",
            "Disc": "stiction.bodies.shapes",
            "HalfPlane": "stiction.bodies.shapes",
            "Polygon": "stiction.bodies.shapes",
        },
    ),
    "Stage": Kind("a stage", {"Stage": "stiction.solids.conditions"}),
    "SolidPart": Kind("a part of a solid", {"Readings": "stiction.solids.model"}, written=False),
    "Partner": Kind(
        "a partner of a contact boundary",
        {
            "Boundary": "stiction.solids.contact.partners",
            "RigidPlane": "stiction.solids.contact.partners",
            "RigidCircle": "stiction.solids.contact.partners",
            "RigidSphere": "stiction.solids.contact.partners",
        },
    ),
    "Where": Kind(
        "a place",
        {
            "Nearest": "stiction.solids.conditions",
            "Rigid": "stiction.solids.conditions",
        },
        also={"Boundary": "stiction.solids.contact.partners"},
    ),
    "Condition": Kind(
        "a boundary condition",
        {
            "Fixed": "stiction.solids.conditions",
            "Driven": "stiction.solids.conditions",
            "Loaded": "stiction.solids.conditions",
            "Traction": "stiction.solids.loads",
            "Pressure": "stiction.solids.loads",
            "Spring": "stiction.solids.loads",
            "Turned": "stiction.solids.loads",
            "Symmetry": "stiction.solids.constraints",
            "Tied": "stiction.solids.constraints",
            "Linear": "stiction.solids.constraints",
        },
    ),
    "Term": Kind("a term of a constraint", {"Term": "stiction.solids.constraints"}),
    "Reaction": Kind("a reaction to be recorded", {"Reaction": "stiction.solids.conditions"}),
    "Motion": Kind("a function of time", {"Program": "stiction.solids.conditions"}, written=False),
    "LinearSolver": Kind(
        "a sparse solver",
        {
            "SuperLU": "stiction.numerics.linear_solvers",
            "Pardiso": "stiction.numerics.linear_solvers",
            "CachedFactors": "stiction.numerics.linear_solvers",
            "Multigrid": "stiction.numerics.linear_solvers",
        },
        subpackage="solids",
    ),
    "Base": Kind(
        "a base class for your own classes",
        {
            "Load": "stiction.chains.loads",
            "SwitchingSystem": "stiction.switching.model",
            "RodSystem": "stiction.rods.model",
            "Centreline": "stiction.rods.centreline",
            "Shape": "stiction.rods.strings.shapes",
            "SolidSystem": "stiction.solids.model",
            "BodyShape": "stiction.solids.three_d.shapes",
            "Friction": "stiction.laws.coulomb",
            "SmoothSign": "stiction.laws.smoothed",
            "TyreLaw": "stiction.laws.tyre",
            "Adhesion": "stiction.laws.adhesion",
            "AdhesiveFriction": "stiction.laws.adhesive_friction",
        },
        written=False,
    ),
    # ---- studies of many runs
    "Design": Kind(
        "a design",
        {
            "Grid": "stiction.studies.designs",
            "Paired": "stiction.studies.designs",
            "LatinHypercube": "stiction.studies.designs",
            "Sobol": "stiction.studies.designs",
            "Saltelli": "stiction.studies.designs",
        },
    ),
    "Study": Kind(
        "a study",
        {
            "Range": "stiction.studies.designs",
            "Sweep": "stiction.studies.sweep",
            "Study": "stiction.studies.study",
        },
        written=False,
    ),
    # ---- identification of the parameters of a law from measured data
    "Rig": Kind(
        "a rig",
        {
            "ImposedSlip": "stiction.fits.rigs",
            "Simulated": "stiction.fits.rigs",
            "SpringDrive": "stiction.fits.rigs",
        },
        written=False,
    ),
    "Intervals": Kind(
        "how intervals are found",
        {"Profile": "stiction.fits.intervals", "Bootstrap": "stiction.fits.intervals"},
        written=False,
    ),
    "Fit": Kind(
        "a fit",
        {
            "Curve": "stiction.fits.curves.curve",
            "Fit": "stiction.fits.outcome",
            "Free": "stiction.fits.rigs",
            "SavedFit": "stiction.fits.loading",
            "compare_fits": "stiction.fits.comparison",
            "fit": "stiction.fits.fitting",
            "fit_scenario": "stiction.fits.simulated",
            "read_curve": "stiction.fits.curves.reading",
        },
        written=False,
    ),
    # ---- functions and classes that analyse a system, and their results
    "Question": Kind(
        "a question",
        {
            "StickSet": "stiction.chains.stick_set",
            "reach": "stiction.chains.reachability",
            "branches": "stiction.chains.branching",
            "perturbed": "stiction.chains.equilibria",
            "compare": "stiction.chains.figures.comparison",
            "two_fold": "stiction.switching.two_folds.finding",
            "all_two_folds": "stiction.switching.two_folds.finding",
            "continue_two_fold": "stiction.switching.two_folds.curves",
            "continue_boundary": "stiction.switching.two_folds.curves",
            "find_equilibrium": "stiction.switching.equilibria.finding",
            "continue_equilibrium": "stiction.switching.equilibria.branch",
            "spiral": "stiction.switching.two_folds.spiral",
            "futures": "stiction.switching.funnel",
            "portrait": "stiction.switching.portraits",
            "ensemble": "stiction.switching.ensembles.study",
            "solve_ivp": "stiction.switching.ivp.adapter",
            "noise_study": "stiction.switching.noise",
            "smoothing_study": "stiction.switching.smoothing",
            "smoothed_run": "stiction.switching.smoothing",
            "line_orbits": "stiction.switching.wheel.return_map",
            "line_return": "stiction.switching.wheel.return_map",
            "escaping_points": "stiction.switching.wheel.escapes",
            "DynamicTyreWheel": "stiction.switching.wheel.dynamic_tyre",
            "lyapunov_exponent": "stiction.switching.wheel.dynamic_tyre",
            "sensitivity": "stiction.switching.wheel.dynamic_tyre",
            "growth": "stiction.rods.strings.growth",
            "spectrum": "stiction.rods.strings.growth",
            "exponent": "stiction.rods.strings.chaos",
            "chaos_map": "stiction.rods.strings.chaos",
            "breakdown": "stiction.rods.strings.chaos",
            "vector_motion": "stiction.rods.strings.vector_strings",
            "VectorStrings": "stiction.rods.strings.vector_strings",
            "extrapolated": "stiction.rods.strings.strands",
            "equilibrium": "stiction.rods.statics",
            "follow_path": "stiction.rods.statics",
            "laid_rope": "stiction.rods.wrapped.ropes",
            "overhand_knot": "stiction.rods.wrapped.knots",
            "plectoneme": "stiction.rods.wrapped.knots",
            "hitch": "stiction.rods.wrapped.hitches",
            "fastest_frequency": "stiction.rods.stability",
            "step_limit": "stiction.rods.stability",
            "linear_crossed_rods": "stiction.rods.linear_rods",
            "VerticalDisk": "stiction.rods.principles",
            "Skate": "stiction.rods.principles",
            "CrossedCylinders": "stiction.rods.principles",
            "dalembert": "stiction.rods.principles",
            "rough": "stiction.rods.principles",
            "vakonomic": "stiction.rods.principles",
            "Sensitivities": "stiction.studies.sensitivity.derivatives",
            "sensitivities": "stiction.studies.sensitivity.derivatives",
            "sobol_indices": "stiction.studies.sensitivity.sobol",
            "LyapunovExponents": "stiction.studies.lyapunov",
            "lyapunov_exponents": "stiction.studies.lyapunov",
            "find_cycle": "stiction.studies.cycles.cycle",
            "continue_cycle": "stiction.studies.cycles.branch",
            "Cycle": "stiction.studies.cycles.cycle",
            "CycleBranch": "stiction.studies.cycles.branch",
            "rests": "stiction.bodies.equilibrium",
            "steepest_rest": "stiction.bodies.equilibrium",
            "Rest": "stiction.bodies.equilibrium",
            "compare_solids": "stiction.solids.figures.comparison",
            "amontons": "stiction.laws.adhesive_friction",
            "return_map": "stiction.laws.return_mapping",
        },
        written=False,
    ),
    # ---- exports to other programs
    "Export": Kind(
        "an export",
        {"export_fmu": "stiction.fmi.export"},
        written=False,
    ),
}

# functions of a run whose value a study can save as "measured.NAME" beside the results of the run;
# such a function may solve further runs
MEASURES: Mapping[str, Mapping[str, str]] = {
    "RollingStrings": {
        "lyapunov": "stiction.rods.strings.chaos",
        "lyapunov_error": "stiction.rods.strings.chaos",
    },
}

# names that `stiction` itself exports as well as their subpackage
_FIRST = (
    "Chain",
    "PiecewiseSmooth",
    "WheelOnTurntable",
    "BeltOscillator",
    "RollingStrings",
    "Rods",
    "CrossedRods",
    "Solid",
    "StripPeeling",
    "CapSliding",
    "EventDriven",
    "ThetaStepper",
    "Quasistatic",
    "Characteristics",
    "RollingLeapfrog",
    "Continuation",
    "Coulomb",
    "StaticKinetic",
    "ExponentialWeakening",
    "UserFriction",
    "LennardJones",
    "DI",
    "EA",
    "Constant",
    "Ramp",
    "UserLoad",
    "StickSet",
    "reach",
    "two_fold",
    "ensemble",
    "sensitivities",
    "find_cycle",
    "continue_cycle",
    "Sweep",
    "fit",
    "solve_ivp",
)
# names that belong to no kind and no subpackage: results, errors and readers
_CORE = {
    "Run": "stiction.core.run",
    "load": "stiction.fits.loading",
    "read_scenario": "stiction.io.scenario",
    "friction_problem": "stiction.numerics.friction_problem.problem",
    "StictionError": "stiction.errors",
    "ModelError": "stiction.errors",
    "ScenarioError": "stiction.errors",
    "SolveError": "stiction.errors",
    "StoreError": "stiction.errors",
    "Status": "stiction.errors",
}


def homes(name: str) -> list[tuple[str, str]]:
    """Return (kind, module) of everything called `name`; two kinds may share a name."""
    return [(kind, k.names[name]) for kind, k in CATALOGUE.items() if name in k.names]


def method_homes() -> list[tuple[str, type]]:
    """Return (label, class) of every method, such as ("chains.EventDriven", ...)."""
    return [
        (f"{kind.partition('.')[0]}.{name}", attribute(module, name))
        for kind, k in CATALOGUE.items()
        if kind.endswith(".Method")
        for name, module in k.names.items()
    ]


def _subpackage(kind: str, module: str) -> str:
    """Return the subpackage that exports the names of this kind from this module."""
    # the modules of a user belong to no subpackage
    part = module.partition(".")[2].partition(".")[0]
    return CATALOGUE[kind].subpackage or ("" if part == "methods" else part)


def names_in(subpackage: str) -> dict[str, str]:
    """Return {name: module} of the names that the subpackage `stiction.<subpackage>` exports."""
    return {
        name: module
        for kind, k in CATALOGUE.items()
        for name, module in k.names.items()
        if _subpackage(kind, module) == subpackage
    }


def _subpackages() -> Iterator[str]:
    """Yield the subpackage of every name that one exports."""
    for kind, k in CATALOGUE.items():
        for module in k.names.values():
            if subpackage := _subpackage(kind, module):
                yield subpackage


SUBPACKAGES = tuple(sorted(set(_subpackages())))


def top() -> dict[str, str]:
    """Return {name: module} of the names in `stiction` itself, except `solve`."""
    return {**{name: homes(name)[0][1] for name in _FIRST}, **_CORE}


TOP = top()


def attribute(module: str, name: str) -> Any:
    """Import `module` and return its attribute `name`."""
    return getattr(importlib.import_module(module), name)


FOREIGN: set[str] = set()
"""Modules outside this package that have defined a system, a law, a load or a method."""


@functools.cache
def outside(kind: str) -> dict[str, Extension]:
    """Return the classes that other packages add to a kind, by name; their metadata is read once.

    Reading takes time. It is done only if this package does not define a name, or to list names.
    """
    from stiction._extensions import GROUPS, read

    return (
        read(kind, {name for k in CATALOGUE.values() for name in k.names}) if kind in GROUPS else {}
    )


def module_outside(kind: str, name: str) -> str:
    """Return the module of a class that another package adds; "" if no usable class has the name.

    Verified by: tests/unit/test_extensions.py::test_what_is_broken_is_named_and_left_out
    """
    found = outside(kind).get(name)
    if found is None or found.load():
        return found.module if found else ""
    del outside(kind)[name]
    return ""


def used_outside(scenario: str | None = None) -> dict[str, str]:
    """Return {distribution and version: module} of the other packages whose classes are in use.

    Results depend on their versions as they depend on the version of this package.

    Parameters
    ----------
    scenario : text in TOML; only packages whose classes occur in it are returned. None for all

    Verified by: tests/unit/test_extensions.py::test_a_run_and_a_study_say_whose_code_they_used
    """
    if not FOREIGN:
        # nothing of another package is in use, and reading metadata takes time
        return {}
    found = [extension for kind in ("Friction", "System") for extension in outside(kind).values()]
    used = (e for e in found if e.module in sys.modules)
    return {e.distribution: e.module for e in used if scenario is None or f'"{e.name}"' in scenario}


def package_of(system_name: str, system: object | None = None) -> str:
    """Return the package with the methods and figures of a system.

    Parameters
    ----------
    system_name : name of the class of the system, as a saved run records it
    system : the system, if it is available

    Returns
    -------
    For example "stiction.chains"; "" if the system is unknown.
    """
    found = CATALOGUE["System"].names.get(system_name, "")
    if not found and system is not None:
        # a base class in `numerics` or `laws` does not make a class a system of this package
        systems = {module.split(".")[1] for module in CATALOGUE["System"].names.values()}
        known = (base.__module__ for base in type(system).__mro__)
        ours = (module for module in known if module.startswith("stiction."))
        found = next((module for module in ours if module.split(".")[1] in systems), "")
    if found:
        return ".".join(found.split(".")[:2])
    theirs = module_outside("System", system_name)
    # a class of a user's script may share its name with a class of another package
    same = system is None or type(system).__module__ == theirs
    return theirs.rpartition(".")[0] if same else ""
