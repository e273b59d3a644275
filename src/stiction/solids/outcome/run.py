"""Build the `Run` of a solid from the record of its steps.

`build_run` turns the recorded steps (`equilibria.history.Recorder`) into variables over time,
events (opening, closing, full sliding, stick), the energy ledger, quantities such as the peak
force, and the audit. The functions of `run` call it for all methods. In shapes, t is the number of
samples and `point` runs over the contact points of all passes. Quantities, events and audit use
all accepted steps (`Recorder.path`), variables the saved samples (`Recorder.samples`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check, Kind
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status
from stiction.laws.adhesive_friction import Frictionless
from stiction.numerics.shown import counted
from stiction.solids.conditions import Loaded, Rigid
from stiction.solids.contact.partners import RigidShape
from stiction.solids.equilibria.history import Recorder, Sample, fracture_energy
from stiction.solids.equilibria.problem import Problem
from stiction.solids.equilibria.readings import shrinkage
from stiction.solids.loads import Pressure, Traction
from stiction.solids.many.pairs import contact_label
from stiction.solids.membranes.model import Membrane
from stiction.solids.membranes.quantities import CURVES as SPACE_CURVES
from stiction.solids.membranes.quantities import extents, tension_check, units_of
from stiction.solids.membranes.quantities import quantities as quantities_in_space
from stiction.solids.membranes.quantities import resolution as of_membranes
from stiction.solids.model import Body
from stiction.solids.outcome.element_audit import locking, shear_locking, unfolded
from stiction.solids.outcome.pictures import snapshot_variables
from stiction.solids.three_d.model import SweptBody
from stiction.solids.unilateral import Signorini

if TYPE_CHECKING:
    from stiction.solids.model import SolidSystem

__all__ = ["build_run"]

Floats = npt.NDArray[np.float64]

# largest residual over the largest force of a run
_LARGEST_UNBALANCED = 1e-6
# a run is without forces if its largest force over the smallest scale of residuals is below this:
# ten times the default tolerance, since contact forces amplify residuals
_NO_FORCES = 1e-8
_LOADS = (Loaded, Pressure, Traction)
# backward error of a linear solve that does not affect Newton's method
_ACCURATE = 1e-10
_PLANE = 2

# modes of a contact as a whole
_OPEN, _CLOSED = "open", "closed"
_PARTLY_STUCK, _FULLY_SLIDING = "sticks somewhere", "slides everywhere"

_CURVES = {
    "displacement": ("drive", "displacement that drives the body, or program time"),
    "force_x": ("force", "horizontal force on the body, per out-of-plane width"),
    "force_y": ("force", "vertical force on the body, per out-of-plane width"),
    **SPACE_CURVES,
    "contact_length": ("length", "length on which the gap is below gap_max"),
    "nominal_contact": ("length", "length of contact on the reference boundary"),
    "sticking_length": ("length", "length of stick on the reference boundary"),
    "contact_left": ("length", "first edge of contact, along the reference boundary"),
    "contact_right": ("length", "last edge of contact, along the reference boundary"),
    "normal_displacement": ("length", "vertical displacement of the rigid partner"),
    "peeling_length": ("length", "contact lost since the start, on the reference boundary"),
    "sliding_length": ("length", "contact at the start that no longer sticks"),
    "program_time": ("1", "time of the program, which may decrease along an equilibrium path"),
    "sign_of_determinant": (
        "1",
        "sign of det K of the tangent: negative with an odd number of unstable modes",
    ),
    "unstable_modes": ("1", "negative eigenvalues of the tangent, where it is symmetric"),
    "fracture_energy": ("energy", "work minus stored energy, per peeled length"),
    "non_reciprocity": ("work", "work of contact forces whose action and reaction differ"),
    "unbalanced_work": ("work", "work of unbalanced contact forces between load steps"),
}
# numbered curves, by the start of their names and a later part
_NUMBERED_CURVES = {
    ("reaction_", "_moment"): (
        "moment",
        "moment of supports on a part of the body about a given point",
    ),
    ("reaction_", "_x"): ("force", "horizontal force of supports on a part of the body"),
    ("reaction_", "_y"): ("force", "vertical force of supports on a part of the body"),
    ("reaction_", "_z"): ("force", "force along z of supports on a part of the body"),
    ("torque_", ""): ("moment", "torque that turns a rigid partner"),
}
_POINT_FIELDS = {
    "gap": ("length", "normal gap"),
    "normal_traction": ("stress", "pressure per reference area, negative in tension"),
    "tangential_traction": ("stress", "shear on the body per reference area"),
    "slides": ("1", "0 no friction, 1 sticks, 2 slides"),
    "surface_x": ("length", "current position on the boundary"),
    "surface_y": ("length", "current position on the boundary"),
    "surface_z": ("length", "current position on the boundary"),
}


def build_run(
    system: SolidSystem,
    method: object,
    problem: Problem,
    record: Recorder,
    more: Sequence[Check] = (),
    unit: str = "1",
) -> Run:
    """Return the Run of a record.

    Parameters
    ----------
    system, method : as solved
    problem : the discrete equations
    record : accepted steps, samples, snapshots and extremes
    more : further checks of the method, each replacing one of the same name
    unit : of time
    """
    units = {**units_of(problem.dim, problem.assembled.dimensionless), "time": unit}
    time = np.array([sample.time for sample in record.samples])
    if not record.samples:
        time = record.save_times[:1].copy()
    # quantities use every accepted step: they do not depend on the times of the samples
    path = _curves(problem, record, record.path)
    steps = np.array([sample.time for sample in record.path])
    curves = path if np.array_equal(time, steps) else _curves(problem, record, record.samples)
    path_ledger = _ledger(steps if steps.size else time, record.path)
    ledger = _ledger(time, record.samples)
    variables = _variables(problem, record, curves, units)
    checks = _checks(problem, method, record, path_ledger)
    final = {name: values[-1:].copy() for name, values in curves.items()}
    return Run.of(
        system,
        method,
        status=record.status,
        reason=record.reason,
        time=time,
        variables=variables,
        final=final,
        event_log=_events(problem, steps, path, units),
        energy=ledger,
        losses=record.losses,
        unseen=record.unseen,
        loss_units={name: units[kind] for name, kind in _LOSS_COLUMNS.items()},
        checks=[*(c for c in checks if c.check not in {m.check for m in more}), *more],
        quantities=_quantities(problem, record, path, units),
        stats=dict(record.stats),
        citations=("adhesive_friction",),
        time_unit=unit,
        energy_unit=units["work"],
        size=counted(int(record.stats["unknowns"]), "unknown"),
    )


def _begin(problem: Problem, record: Recorder) -> int:
    """Return the first step of the results."""
    start = problem.assembled.readings.start
    if start is None:
        return 0
    times = np.array([sample.time for sample in record.path])
    return min(int(np.searchsorted(times, start - record.tolerance(start))), times.size - 1)


def _curves(problem: Problem, record: Recorder, samples: list[Sample]) -> dict[str, Floats]:
    """Return the curves (t,) over samples, including those that depend on the whole path."""
    if not samples or not record.path:
        return {}
    names = dict.fromkeys(name for s in samples for name in s.curves)
    curves = {name: np.array([s.curves.get(name, np.nan) for s in samples]) for name in names}
    if "program_time" in curves:
        # during load steps time and program time are equal
        stepped = np.isnan(curves["program_time"])
        curves["program_time"][stepped] = np.array([s.time for s in samples])[stepped]
    names_of = extents(problem.dim)
    if names_of.nominal in curves:
        initial = record.path[_begin(problem, record)].curves[names_of.nominal]
        curves[names_of.peeled] = initial - curves[names_of.nominal]
        curves[names_of.slid] = initial - curves[names_of.sticking]
        path = record.path
        curves["fracture_energy"] = fracture_energy(path, initial, samples, names_of.nominal)
    reciprocity = np.array([s.energy.reciprocity for s in samples])
    if problem.mortar_only:
        curves["unbalanced_work"] = reciprocity
    else:
        curves["non_reciprocity"] = reciprocity
    return curves


def _ledger(time: Floats, samples: list[Sample]) -> Ledger:
    """Return the energy ledger at the times of samples."""
    zero = np.zeros(time.size)
    if not samples:
        return Ledger(time, zero, zero, zero, np.zeros((time.size, 1)))
    heat = np.array([sample.energy.heat for sample in samples]).reshape(time.size, -1)
    return Ledger(
        time=time,
        kinetic=np.array([sample.energy.kinetic for sample in samples]),
        stored=np.array([sample.energy.stored for sample in samples]),
        adhesive=np.array([sample.energy.adhesive for sample in samples]),
        external_work=np.array([sample.energy.work for sample in samples]),
        friction_heat=heat if heat.shape[1] else np.zeros((time.size, 1)),
        viscous_heat=np.array([sample.energy.viscous for sample in samples]),
        algorithmic=np.array([sample.energy.algorithmic for sample in samples]),
    )


def _variables(
    problem: Problem, record: Recorder, curves: dict[str, Floats], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables over time, at contact points, and of snapshots."""
    variables = {}
    if problem.assembled.readings.displacement is None:
        units = {**units, "drive": units["time"]}
    for name, values in curves.items():
        kind, meaning = _CURVES[name] if name in _CURVES else _numbered(name)
        if problem.dim != _PLANE:
            meaning = meaning.removesuffix(", per out-of-plane width")
            meaning = meaning.replace("per peeled length", "per peeled area")
        variables[name] = Variable(values, ("time",), units[kind], meaning)
    samples = record.samples
    if samples and samples[0].energy.condition_work:
        works = np.array([sample.energy.condition_work for sample in samples])
        note = "work of each condition since the start"
        variables["condition_work"] = Variable(works, ("time", "condition"), units["work"], note)
    # a run without an initial equilibrium has no samples but one time
    iterations = np.array([sample.iterations for sample in samples] or [0])
    variables["step_iterations"] = Variable(iterations, ("time",), "1", "Newton iterations")
    if samples and samples[0].points:
        for name, (kind, meaning) in _POINT_FIELDS.items():
            if name not in samples[0].points:
                continue
            values = np.array([sample.points[name] for sample in samples])
            variables[name] = Variable(values, ("time", "point"), units[kind], meaning)
        bodies = [
            np.full(p.count, b + 1)
            for p, b in zip(problem.passes, problem.body_of_pass, strict=True)
        ]
        if problem.dim == _PLANE:
            zeta = np.concatenate([p.coordinate[0] for p in problem.passes])
            note = "reference length along the boundary"
            variables["surface_coordinate"] = Variable(zeta, ("point",), units["length"], note)
        note = "number of the body"
        variables["body_of_point"] = Variable(np.concatenate(bodies), ("point",), "1", note)
        if len(problem.assembled.pairs) > 1:
            variables.update(_contacts(problem))
    variables.update(snapshot_variables(problem, record.pictures, units))
    return variables


def _contacts(problem: Problem) -> dict[str, Variable]:
    """Return the contact of each point, and the bodies of each contact."""
    which = zip(problem.passes, problem.contact_of_pass, strict=True)
    points = np.concatenate([np.full(p.count, i + 1) for p, i in which])
    sides = [
        (c.boundary.body + 1, vars(c.partner).get("body", -1) + 1) for c in problem.assembled.pairs
    ]
    note = "numbers of the bodies of each contact, 0 for a rigid partner"
    return {
        "contact_of_point": Variable(points, ("point",), "1", "number of the contact"),
        "bodies_of_contact": Variable(np.array(sides), ("contact", "side"), "1", note),
    }


def _numbered(name: str) -> tuple[str, str]:
    """Return the kind of unit and the meaning of a numbered curve."""
    return next(
        meaning
        for (begin, end), meaning in _NUMBERED_CURVES.items()
        if name.startswith(begin) and end in name
    )


# kinds of events by the new mode of contact, without opening and closing
_EVENT_OF_MODE = {_PARTLY_STUCK: "stick", _FULLY_SLIDING: "full_sliding"}
# kinds of units of the columns of losses; curves in the table of events. This also contains the
# displacement of the previous step: the event lies between both
_LOSS_COLUMNS = {
    "energy_missing": "work",
    "displacement": "length",
    "force_x": "force",
    "force_y": "force",
}
_EVENT_COLUMNS = ("displacement", "force_x", "force_y")


def _modes(problem: Problem, curves: dict[str, Floats]) -> list[str]:
    """Return the mode of the reported contact at every step."""
    names = extents(problem.dim)
    in_contact, sticking = curves[names.nominal] > 0.0, curves[names.sticking] > 0.0
    contact = problem.assembled.pairs[problem.assembled.readings.contact]
    if isinstance(contact.friction, Frictionless):
        return [_CLOSED if closed else _OPEN for closed in in_contact]
    pairs = zip(in_contact, sticking, strict=True)
    return [
        (_PARTLY_STUCK if sticks else _FULLY_SLIDING) if closed else _OPEN
        for closed, sticks in pairs
    ]


def _events(
    problem: Problem, time: Floats, curves: dict[str, Floats], units: dict[str, str]
) -> EventLog:
    """Return the events: opening, closing, full sliding, and stick of a part of the contact."""
    names = extents(problem.dim)
    if names.nominal not in curves:
        return EventLog()
    # an event is a step whose mode differs from that of the step before
    modes = _modes(problem, curves)
    changes = [i for i in range(1, time.size) if modes[i] != modes[i - 1]]
    kinds = []
    for i in changes:
        if _OPEN in (modes[i - 1], modes[i]):
            kinds.append("open" if modes[i] == _OPEN else "close")
        else:
            kinds.append(_EVENT_OF_MODE[modes[i]])
    at = np.array(changes, dtype=np.int64)
    drive = units["time" if problem.assembled.readings.displacement is None else "drive"]
    columns_beside = (*_EVENT_COLUMNS, names.current)
    columns = {name: curves[name][at] for name in columns_beside}
    columns["displacement_before"] = curves["displacement"][at - 1]
    units_of_columns = {name: units[_CURVES[name][0]] for name in columns_beside}
    units_of_columns["displacement"] = units_of_columns["displacement_before"] = drive
    number = problem.assembled.readings.contact + 1
    return EventLog(
        time[at],
        np.full(at.size, number, dtype=np.int64),
        [modes[i - 1] for i in changes],
        [modes[i] for i in changes],
        kinds,
        columns,
        units_of_columns,
    )


def _quantities(
    problem: Problem, record: Recorder, curves: dict[str, Floats], units: dict[str, str]
) -> dict[str, Quantity]:
    """Return the quantities: peak force, full sliding, contact lengths, fracture energy.

    They belong to the results: to steps from `Readings.start` on.
    """
    readings, path = problem.assembled.readings, record.path
    start = readings.start
    if not path or (start is not None and path[-1].time < start - record.tolerance(start)):
        return {}
    begin = _begin(problem, record)
    curves = {name: values[begin:] for name, values in curves.items()}
    force, u = curves["force_y"], curves["displacement"]
    at_peak = int(np.argmax(np.abs(force)))
    # without a reading the displacement is the program's time
    length, made = units["time" if readings.displacement is None else "length"], {}
    # the peak of a prescribed force is no result: its place depends on rounding
    prescribed = any(
        c.component == 1 and c.where == Rigid(readings.contact)
        for c in problem.assembled.all_conditions
        if isinstance(c, Loaded)
    )
    peak_is_result = not prescribed or readings.support
    peak, at = (float(force[at_peak]), float(u[at_peak])) if peak_is_result else (None, None)
    made["peak_force_y"] = Quantity(peak, units["force"], "largest vertical force")
    made["peak_force_y_at"] = Quantity(at, length, "displacement where the peak force occurs")
    if extents(problem.dim).nominal in curves and problem.dim > _PLANE:
        return {**made, **quantities_in_space(problem, path[begin:], record, curves, units)}
    unit = "1" if units["length"] == "1" else "m^3/N^2"
    made["xi"] = Quantity(None, unit, "contact length lost per force squared")
    made["eta"] = Quantity(None, "1", "exponent of the contact length lost in the tangential force")
    if "nominal_contact" in curves:
        contact, stuck = curves["nominal_contact"], curves["sticking_length"]
        full_sliding = np.flatnonzero((stuck[1:] <= 0.0) & (stuck[:-1] > 0.0) & (contact[1:] > 0.0))
        at = float(u[full_sliding[0] + 1]) if full_sliding.size else None
        made["full_sliding_at"] = Quantity(at, length, "displacement at the start of full sliding")
        limit = [loss for loss in record.losses if loss.kind == "limit_point"]
        where = float(str(limit[0].where["displacement"])) if limit else None
        made["limit_point_at"] = Quantity(where, length, "displacement of the first limit point")
        made["contact_length_initial"] = Quantity(
            float(curves["contact_length"][0]), length, "contact length at the start"
        )
        made["contact_length_final"] = Quantity(
            float(curves["contact_length"][-1]), length, "contact length at the end"
        )
        energy = curves["fracture_energy"]
        peeled = curves["peeling_length"] / max(contact[0], 1e-300)
        plateau = np.isfinite(energy) & (peeled > 0.3) & (peeled < 0.7)
        has_plateau = plateau.sum() > 2 and not prescribed
        value = float(np.median(energy[plateau])) if has_plateau else None
        note = "median fracture energy between 30 and 70 % of contact lost"
        made["fracture_energy_plateau"] = Quantity(value, units["energy"], note)
        adhesion = problem.assembled.pairs[readings.contact].adhesion
        work = float(-np.asarray(adhesion.potential(adhesion.gap_eq)))
        if not peak_is_result:
            made.update(shrinkage(curves, units))
        note = "work of adhesion of the normal law"
        made["work_of_adhesion"] = Quantity(work, units["energy"], note)
    return made


def _checks(problem: Problem, method: object, record: Recorder, ledger: Ledger) -> list[Check]:
    """Return the audit: energy balance, convergence, locking, friction, contact, resolution."""
    units = units_of(problem.dim, problem.assembled.dimensionless)
    limit = 1e-2
    # a run without forces has no energies to compare
    closed = 0.0 if _without_forces(record) else ledger.imbalance_rel
    note = "largest energy imbalance over the largest energy; more `steps` of the method reduce it"
    checks = [Check("ledger_closes", bool(closed <= limit), closed, limit, None, note)]
    tolerance = float(getattr(method, "newton_tolerance", 1e-9))
    worst = max(record.extremes.residual, record.failed_residual)
    ok = record.status.ok or record.status in (Status.INTERRUPTED, Status.WORK_LIMIT)
    note = "largest residual of a load step, also of a failed one, over the forces in equilibrium"
    checks.append(
        Check(
            "steps_converged",
            ok and worst <= tolerance,
            worst,
            tolerance,
            None,
            note,
            kind=Kind.CONVERGENCE,
        )
    )
    checks.append(_residual_above_roundoff(record))
    worst = record.extremes.backward
    note = "largest residual of a linear solve over |A| |x| + |b|, after iterative refinement"
    checks.append(
        Check(
            "linear_solves_accurate",
            worst <= _ACCURATE,
            worst,
            _ACCURATE,
            None,
            note,
            kind=Kind.CONVERGENCE,
        )
    )
    checks.extend(locking(problem))
    checks.extend(shear_locking(record, ledger.scale))
    checks.extend(unfolded(problem, record))
    checks.extend(tension_check(record))
    checks.append(_partners(record))
    if record.path and any(not p.partner.rigid for p in problem.passes):
        reciprocity = max(abs(float(sample.energy.reciprocity)) for sample in record.path)
        ratio = reciprocity / max(ledger.scale, 1e-300)
        if problem.mortar_only:
            note = (
                "work of unbalanced forces between load steps over the largest energy; shorter "
                "steps reduce it, except at jumps"
            )
            checks.append(Check("balanced_between_steps", ratio <= 0.05, ratio, 0.05, None, note))
        else:
            note = "work of the difference of action and reaction over the largest energy"
            checks.append(Check("action_reaction_balance", ratio <= 0.05, ratio, 0.05, None, note))
    heat = ledger.total_friction_heat
    returned = float(np.max(-np.diff(heat), initial=0.0))
    small = 1e-12 * max(ledger.scale, 1e-300)
    note = f"largest decrease of friction heat between two states [{units['work']}]"
    checks.append(Check("friction_dissipates", returned <= small, returned, small, None, note))
    checks.extend(_within_law(problem, record))
    checks.extend(_unpaired(problem, record, units["length"]))
    pairs = problem.assembled.pairs
    for i, contact in enumerate(pairs):
        contact_checks = _resolution(problem, record, i)
        if not isinstance(contact.partner, RigidShape):
            contact_checks.append(_two_half_pass_balance(record, i))
        # with several contacts, each check names its own
        prefix = f"{contact_label(contact, i + 1)}: " if len(pairs) > 1 else ""
        checks.extend(dataclasses.replace(c, note=prefix + c.note) for c in contact_checks)
    return checks


def _unpaired(problem: Problem, record: Recorder, unit: str) -> list[Check]:
    """Check that no two bodies without a contact pair came within reach of the contact law."""
    checks = []
    for i, boundaries in enumerate(problem.unpaired):
        approach = record.unpaired.get(i)
        contact = boundaries.search
        depth = 0.0 if approach is None else max(0.0, -approach.excess_gap)
        note = f"reach of the law minus the distance of bodies without a contact pair [{unit}]"
        if approach is not None and depth > 0.0:
            first, second = (contact.boundaries[n].body for n in (approach.first, approach.second))
            note += f"; bodies {first} and {second} had no contact forces: "
            note += f"give ContactAmong a reach beyond {contact.reach:.3g}"
        when = approach.time if approach is not None and depth > 0.0 else None
        checks.append(
            Check("every_pair_found", depth == 0.0, depth, 0.0, when, note, kind=Kind.CONDITION)
        )
    return checks


def _without_forces(record: Recorder) -> bool:
    """Return whether all forces of a run are zero up to rounding and convergence errors.

    A prescribed force counts as a force, however small it is.

    Verified by: tests/unit/solids/equilibria/test_floor.py::test_bodies_without_forces_are_solved
    """
    problem = record.problem
    forces = [c for c in problem.assembled.all_conditions if isinstance(c, _LOADS)]
    if any(np.any(c.program.values) for c in forces):
        return False
    return record.extremes.largest_force <= _NO_FORCES * problem.static_force_floor


def _residual_above_roundoff(record: Recorder) -> Check:
    """Compare the largest residual with the forces of the run.

    If all forces are smaller than the smallest scale of residuals, a step may count as converged
    before it is in equilibrium.
    """
    seen = record.extremes
    if _without_forces(record):
        note = "no force is prescribed, and all forces are at the level of numerical errors"
        return Check("residual_above_roundoff", None, None, _LARGEST_UNBALANCED, None, note)
    ratio = seen.unbalanced / seen.largest_force if seen.largest_force > 0.0 else 0.0
    note = (
        "largest residual of an accepted load step, as a force, over the largest force of the run"
    )
    return Check(
        "residual_above_roundoff",
        ratio <= _LARGEST_UNBALANCED,
        ratio,
        _LARGEST_UNBALANCED,
        None,
        note,
    )


def _partners(record: Recorder) -> Check:
    """Check that all points near a partner have a closest-point projection onto it."""
    most = max(record.without_partner, default=(0, 0.0))
    note = (
        "largest number of points near their partner but beyond the end of its boundary, where "
        "they carry no traction; extend the partner's boundary beyond the contact"
    )
    when = most[1] if most[0] else None
    return Check(
        "every_point_has_partner",
        most[0] == 0,
        float(most[0]),
        0.0,
        when,
        note,
        kind=Kind.CONDITION,
    )


def _within_law(problem: Problem, record: Recorder) -> list[Check]:
    """Check that pressures and gaps stay within the linear part of the normal law."""
    largest, when = record.extremes.pressure
    gap, at = record.extremes.gap
    if not problem.passes:
        return []
    if not np.isfinite(gap):
        note = "no point of a contact boundary came near its partner"
        return [
            Check("pressure_within_law", None, None, None, None, note),
            Check("no_interpenetration", None, None, None, None, note, kind=Kind.CONDITION),
        ]
    note = (
        "largest pressure over the largest tension T_max; beyond the limit the linear repulsive "
        "part of the law stores too much energy, and gaps are too small"
    )
    limit = 5.0
    checks = [Check("pressure_within_law", largest <= limit, largest, limit, when, note)]
    unit = units_of(problem.dim, problem.assembled.dimensionless)["length"]
    note = f"smallest gap [{unit}]; it is negative where surfaces penetrate each other"
    if any(p.hard for p in problem.passes):
        note += ", in hard contact by more than a twentieth of an element"
    checks.append(
        Check("no_interpenetration", gap >= 0.0, min(0.0, gap), 0.0, at, note, kind=Kind.CONDITION)
    )
    return checks


def _resolution(problem: Problem, record: Recorder, i: int) -> list[Check]:
    """Compare element sizes with the lengths of the law, and the penalty with the bulk modulus."""
    contact, bodies = problem.assembled.pairs[i], problem.assembled.bodies
    law, checks = contact.adhesion, of_membranes(problem, record, i)
    sides = zip(problem.contact_of_pass, problem.body_of_pass, strict=True)
    only_membranes = all(isinstance(bodies[b], Membrane) for number, b in sides if number == i)
    if only_membranes or isinstance(law, Signorini):
        # neither hard contact nor its multipliers have a length or a stiffness to resolve
        return checks
    modulus, finest = np.inf, np.inf
    sizes = []
    for p, number, b in zip(
        problem.passes, problem.contact_of_pass, problem.body_of_pass, strict=True
    ):
        # the size of a face in space is its longer side
        lengths = p.own.areas.sum(axis=1) if problem.dim == _PLANE else p.own.lengths.max(axis=1)
        of_points = np.repeat(lengths, p.own.areas.shape[1])
        body, size = bodies[b], np.zeros(p.count)
        if number == i and isinstance(body, Body | SweptBody):
            size = of_points
            modulus = min(modulus, body.material.contact_modulus(body.plane_stress))
            finest = min(finest, float(of_points.min()))
        sizes.append(size)
    size = np.concatenate(sizes)
    # the law must be resolved where surfaces were in tension at any time
    in_tension = record.extremes.in_tension
    if not in_tension.size:
        in_tension = np.zeros(size.size, dtype=bool)
    coarsest = float(np.max(size[in_tension], initial=0.0))
    adhesive = getattr(law, "adhesive", True)
    if adhesive and coarsest <= 0.0:
        note = "no contact element was under tension"
        checks.append(Check("process_zone_resolved", None, None, 1.0, None, note))
        checks.append(Check("law_length_resolved", None, None, 10.0, None, note))
    elif adhesive:
        work = float(-np.asarray(law.potential(law.gap_eq)))
        zone = modulus * work / law.max_tension**2
        note = "largest contact element under tension over a quarter of E* W_adh / T_max^2"
        ratio = 4.0 * coarsest / zone
        checks.append(Check("process_zone_resolved", ratio <= 1.0, ratio, 1.0, None, note))
        note = "largest contact element under tension over the length r0 of the normal law"
        ratio = coarsest / law.length
        checks.append(Check("law_length_resolved", ratio <= 10.0, ratio, 10.0, None, note))
    if isinstance(contact.friction, Frictionless):
        return checks
    note = "tangential stiffness in stick over that of one contact element, E*/h"
    stiff = contact.tangential_stiffness * finest / modulus
    checks.append(
        Check("penalty_stiff_enough", stiff >= 0.3, stiff, 0.3, None, note, kind=Kind.AT_LEAST)
    )
    return checks


def _two_half_pass_balance(record: Recorder, i: int) -> Check:
    """Compare the contact forces of both passes, which should be opposite."""
    worst, size = 0.0, 1e-300
    for a, b in record.contact_forces.get(i, []):
        # `max` ignores NaN, which fails the check
        worst = float(np.maximum(worst, np.linalg.norm(a + b)))
        size = max(size, float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    note = (
        "sum of the forces of both passes over the largest force; expected: about gap over radius"
    )
    return Check("two_half_pass_balance", worst <= 5e-2 * size, worst / size, 5e-2, None, note)
