"""From the history of a solid to a Run: the one place that names results."""

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
from stiction.solids.conditions import Loaded
from stiction.solids.contact.partners import RigidShape
from stiction.solids.equilibria.history import Recorder, Row, fracture_energy
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
from stiction.solids.outcome.pictures import pictures
from stiction.solids.space.model import SweptBody
from stiction.solids.unilateral import Signorini

if TYPE_CHECKING:
    from stiction.solids.model import SolidSystem

__all__ = ["build_run"]

Floats = npt.NDArray[np.float64]

# part of the largest force of a run that may be left out of balance
_BALANCED = 1e-6
# part of the force below which balance is not measured that may be left where there is none: ten
# times the default tolerance, since forces of contact amplify what is out of balance
_REST = 1e-8
_GIVEN = (Loaded, Pressure, Traction)
# error of a linear solve, as a part of its numbers, that Newton's method does not feel
_ACCURATE = 1e-10
_PLANE = 2

# how a contact is as a whole
_OPEN, _CLOSED = "open", "closed"
_STICKS, _SLIDES = "sticks somewhere", "slides everywhere"

_CURVES = {
    "displacement": ("drive", "what drives the body"),
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
    "program_time": ("1", "time of the program, which may go back along a path"),
    "sign_of_determinant": ("1", "of the tangent: negative with an odd number of unstable ways"),
    "unstable_ways": ("1", "negative eigenvalues of the tangent, where it is symmetric"),
    "fracture_energy": ("energy", "work less stored energy per peeled length"),
    "non_reciprocity": ("work", "work of contact that no energy accounts for"),
    "unbalanced_work": ("work", "released by what is out of balance between load steps"),
}
# curves of which there may be several, by how their names begin and what they hold
_NUMBERED = {
    ("reaction_", "_moment"): ("moment", "moment of supports at a place about its point"),
    ("reaction_", "_x"): ("force", "horizontal force of supports at a place"),
    ("reaction_", "_y"): ("force", "vertical force of supports at a place"),
    ("reaction_", "_z"): ("force", "force of supports at a place along z"),
    ("torque_", ""): ("moment", "torque that turns a rigid partner"),
}
_POINTS = {
    "gap": ("length", "normal gap"),
    "normal_traction": ("stress", "pressure per reference area, negative in tension"),
    "tangential_traction": ("stress", "shear on the body per reference area"),
    "slides": ("1", "0 no friction there, 1 sticks, 2 slides"),
    "surface_x": ("length", "place of the boundary"),
    "surface_y": ("length", "place of the boundary"),
    "surface_z": ("length", "place of the boundary"),
}


def build_run(
    system: SolidSystem,
    method: object,
    problem: Problem,
    record: Recorder,
    more: Sequence[Check] = (),
    unit: str = "1",
) -> Run:
    """Return the Run of what was recorded.

    Parameters
    ----------
    more : checks of the method's own; one of the same name stands for that of all methods
    unit : of time
    """
    plain = problem.assembled.dimensionless
    units = units_of(problem.dim, plain)
    time = np.array([row.time for row in record.rows])
    if not record.rows:
        time = record.wanted[:1].copy()
    # of every accepted step: what is told of the run does not depend on the rows that are kept
    path = _curves(problem, record, record.path)
    steps = np.array([row.time for row in record.path])
    curves = path if len(record.rows) == steps.size else _curves(problem, record, record.rows)
    whole = _ledger(steps if steps.size else time, record, record.path)
    ledger = _ledger(time, record, record.rows)
    variables = _variables(problem, record, curves, units)
    checks = _checks(problem, method, record, whole)
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
        loss_units={name: units[kind] for name, kind in _LOSSES.items()},
        checks=[*(c for c in checks if c.check not in {m.check for m in more}), *more],
        quantities=_quantities(problem, record, path, units),
        stats=dict(record.stats),
        citations=("adhesive_friction",),
        time_unit=unit,
        energy_unit=units["work"],
        size=counted(int(record.stats["unknowns"]), "unknown"),
    )


def _begin(problem: Problem, record: Recorder) -> int:
    """Return the first step that counts."""
    start = problem.assembled.readings.start
    times = np.array([row.time for row in record.path])
    return min(int(np.searchsorted(times, start - record.same(start))), times.size - 1)


def _curves(problem: Problem, record: Recorder, rows: list[Row]) -> dict[str, Floats]:
    """Return the curves over rows, those that need the whole path included."""
    if not rows or not record.path:
        return {}
    names = dict.fromkeys(name for row in rows for name in row.curves)
    curves = {name: np.array([row.curves.get(name, np.nan) for row in rows]) for name in names}
    if "program_time" in curves:
        # before the path began, load steps followed the program itself
        led = np.isnan(curves["program_time"])
        curves["program_time"][led] = np.array([row.time for row in rows])[led]
    names_of = extents(problem.dim)
    if names_of.nominal in curves:
        first = record.path[_begin(problem, record)].curves[names_of.nominal]
        curves[names_of.peeled] = first - curves[names_of.nominal]
        curves[names_of.slid] = first - curves[names_of.sticking]
        path = record.path
        curves["fracture_energy"] = fracture_energy(path, first, rows, names_of.nominal)
    shared = np.array([row.energy.reciprocity for row in rows])
    if problem.joined:
        curves["unbalanced_work"] = shared
    else:
        curves["non_reciprocity"] = shared
    return curves


def _ledger(time: Floats, record: Recorder, rows: list[Row]) -> Ledger:
    zero = np.zeros(time.size)
    if not rows:
        return Ledger(time, zero, zero, zero, np.zeros((time.size, 1)))
    heat = np.array([row.energy.heat for row in rows]).reshape(time.size, -1)
    return Ledger(
        time=time,
        kinetic=np.array([row.energy.kinetic for row in rows]),
        stored=np.array([row.energy.stored for row in rows]),
        adhesive=np.array([row.energy.adhesive for row in rows]),
        external_work=np.array([row.energy.work for row in rows]),
        friction_heat=heat if heat.shape[1] else np.zeros((time.size, 1)),
        viscous_heat=np.array([row.energy.viscous for row in rows]),
        algorithmic=np.array([row.energy.algorithmic for row in rows]),
    )


def _variables(
    problem: Problem, record: Recorder, curves: dict[str, Floats], units: dict[str, str]
) -> dict[str, Variable]:
    found = {}
    if problem.assembled.readings.displacement is None:
        units = {**units, "drive": "1"}
    for name, values in curves.items():
        kind, meaning = _CURVES[name] if name in _CURVES else _numbered(name)
        found[name] = Variable(values, ("time",), units[kind], meaning)
    rows = record.rows
    if rows and rows[0].energy.works:
        works = np.array([row.energy.works for row in rows])
        note = "work of each condition since the start"
        found["condition_work"] = Variable(works, ("time", "condition"), units["work"], note)
    # a run that found no balance at its start has no rows, and yet a time
    iterations = np.array([row.iterations for row in rows] or [0])
    found["step_iterations"] = Variable(iterations, ("time",), "1", "Newton iterations")
    if rows and rows[0].points:
        for name, (kind, meaning) in _POINTS.items():
            if name not in rows[0].points:
                continue
            values = np.array([row.points[name] for row in rows])
            found[name] = Variable(values, ("time", "point"), units[kind], meaning)
        bodies = [
            np.full(p.count, b + 1)
            for p, b in zip(problem.passes, problem.body_of_pass, strict=True)
        ]
        if problem.dim == _PLANE:
            coordinate = np.concatenate([p.coordinate[0] for p in problem.passes])
            note = "reference length along the boundary"
            found["surface_coordinate"] = Variable(coordinate, ("point",), units["length"], note)
        found["body_of_point"] = Variable(np.concatenate(bodies), ("point",), "1", "number")
        if len(problem.assembled.pairs) > 1:
            found.update(_contacts(problem))
    found.update(pictures(problem, record.pictures, units))
    return found


def _contacts(problem: Problem) -> dict[str, Variable]:
    """Return which contact each point is of, and which bodies each contact joins."""
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
    """Return kind and meaning of a curve of which there may be several."""
    return next(
        told for (begin, end), told in _NUMBERED.items() if name.startswith(begin) and end in name
    )


# kinds of events by the mode that they lead to, where surfaces touched before and after
_BECOMES = {_STICKS: "stick", _SLIDES: "full_sliding"}
# curves that stand beside an event; what drives the body also at the step before: it lies between
_LOSSES = {
    "energy_missing": "work",
    "displacement": "length",
    "force_x": "force",
    "force_y": "force",
}
_BESIDE = ("displacement", "force_x", "force_y")


def _modes(problem: Problem, curves: dict[str, Floats]) -> list[str]:
    """Return how the first contact is at every step."""
    names = extents(problem.dim)
    touching, stuck = curves[names.nominal] > 0.0, curves[names.sticking] > 0.0
    contact = problem.assembled.pairs[problem.assembled.readings.contact]
    if isinstance(contact.friction, Frictionless):
        return [_CLOSED if touches else _OPEN for touches in touching]
    rubs = zip(touching, stuck, strict=True)
    return [(_STICKS if holds else _SLIDES) if touches else _OPEN for touches, holds in rubs]


def _events(
    problem: Problem, time: Floats, curves: dict[str, Floats], units: dict[str, str]
) -> EventLog:
    """Return when contact was lost or won as a whole, and when all of it slides or some sticks."""
    names = extents(problem.dim)
    if names.nominal not in curves:
        return EventLog()
    modes = _modes(problem, curves)
    rows = [i for i in range(1, time.size) if modes[i] != modes[i - 1]]
    kinds = []
    for i in rows:
        if _OPEN in (modes[i - 1], modes[i]):
            kinds.append("open" if modes[i] == _OPEN else "close")
        else:
            kinds.append(_BECOMES[modes[i]])
    at = np.array(rows, dtype=np.int64)
    drive = "1" if problem.assembled.readings.displacement is None else units["drive"]
    beside = (*_BESIDE, names.current)
    columns = {name: curves[name][at] for name in beside}
    columns["displacement_before"] = curves["displacement"][at - 1]
    kept = {name: units[_CURVES[name][0]] for name in beside}
    kept["displacement"] = kept["displacement_before"] = drive
    number = problem.assembled.readings.contact + 1
    return EventLog(
        time[at],
        np.full(at.size, number, dtype=np.int64),
        [modes[i - 1] for i in rows],
        [modes[i] for i in rows],
        kinds,
        columns,
        kept,
    )


def _quantities(
    problem: Problem, record: Recorder, curves: dict[str, Floats], units: dict[str, str]
) -> dict[str, Quantity]:
    if not record.path:
        return {}
    begin = _begin(problem, record)
    force, u = curves["force_y"], curves["displacement"]
    top = begin + int(np.argmax(np.abs(force[begin:])))
    length, made = units["length"], {}
    if problem.assembled.readings.displacement is None:
        length = "1"  # what drives the body is the program itself
    # a force that is given has no peak: where rounding puts it says nothing
    given = any(c.component == 1 for c in problem.assembled.all_conditions if isinstance(c, Loaded))
    free = not given or problem.assembled.readings.support
    peak, at = (float(force[top]), float(u[top])) if free else (None, None)
    made["peak_force_y"] = Quantity(peak, units["force"], "largest vertical force")
    made["peak_force_y_at"] = Quantity(at, length, "where it was met")
    if extents(problem.dim).nominal in curves and problem.dim > _PLANE:
        return {**made, **quantities_in_space(problem, record, curves, units)}
    unit = "1" if units["length"] == "1" else "m^3/N^2"
    made["xi"] = Quantity(None, unit, "contact length lost per force squared")
    made["eta"] = Quantity(None, "1", "exponent of the loss over the tangential force")
    if "nominal_contact" in curves:
        contact, stuck = curves["nominal_contact"], curves["sticking_length"]
        slid = np.flatnonzero((stuck[1:] <= 0.0) & (stuck[:-1] > 0.0) & (contact[1:] > 0.0))
        at = float(u[slid[0] + 1]) if slid.size else None
        made["full_sliding_at"] = Quantity(at, length, "displacement from which all of it slides")
        limit = [loss for loss in record.losses if loss.kind == "limit_point"]
        where = float(str(limit[0].where["displacement"])) if limit else None
        made["limit_point_at"] = Quantity(where, length, "displacement of the first limit point")
        made["contact_length_initial"] = Quantity(
            float(curves["contact_length"][begin]), length, "contact at the start"
        )
        made["contact_length_final"] = Quantity(
            float(curves["contact_length"][-1]), length, "contact at the end"
        )
        energy = curves["fracture_energy"]
        peeled = curves["peeling_length"] / max(contact[0], 1e-300)
        plateau = np.isfinite(energy) & (peeled > 0.3) & (peeled < 0.7)
        told = plateau.sum() > 2 and not given
        value = float(np.median(energy[plateau])) if told else None
        made["fracture_energy_plateau"] = Quantity(value, units["energy"], "between 30 and 70 %")
        adhesion = problem.passes[0].contact.adhesion
        work = float(-np.asarray(adhesion.potential(adhesion.gap_eq)))
        if not free:
            made.update(shrinkage(curves, begin, units))
        made["work_of_adhesion"] = Quantity(work, units["energy"], "of the normal law")
    return made


def _checks(problem: Problem, method: object, record: Recorder, ledger: Ledger) -> list[Check]:
    units = units_of(problem.dim, problem.assembled.dimensionless)
    limit = 1e-2
    # what leaves all forces leaves all energies
    closed = 0.0 if _without_forces(record) else ledger.imbalance_rel
    note = "largest energy imbalance over the largest energy; more `steps` of the method close it"
    found = [Check("ledger_closes", bool(closed <= limit), closed, limit, None, note)]
    tolerance = float(getattr(method, "newton_tolerance", 1e-9))
    worst = max(record.extremes.residual, record.unmet)
    ok = record.status.ok or record.status in (Status.INTERRUPTED, Status.WORK_LIMIT)
    note = "largest residual of a load step over the forces in balance, of one given up too"
    found.append(
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
    found.append(_above_floor(record))
    worst = record.extremes.backward
    note = "largest residual of a linear solve over |A| |x| + |b|, refinement included"
    found.append(
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
    found.extend(locking(problem))
    found.extend(shear_locking(record, ledger.scale))
    found.extend(unfolded(problem, record))
    found.extend(tension_check(record))
    found.append(_partners(record))
    if record.path and any(not p.partner.rigid for p in problem.passes):
        shared = max(abs(float(row.energy.reciprocity)) for row in record.path)
        ratio = shared / max(ledger.scale, 1e-300)
        if problem.joined:
            note = "energy that load steps pass over, out of balance; falls with them, but at jumps"
            found.append(Check("balanced_between_steps", ratio <= 0.05, ratio, 0.05, None, note))
        else:
            note = "work that the two half passes do not share, over the largest energy"
            found.append(Check("action_reaction_balance", ratio <= 0.05, ratio, 0.05, None, note))
    heat = ledger.total_friction_heat
    gained = float(np.max(-np.diff(heat), initial=0.0))
    small = 1e-12 * max(ledger.scale, 1e-300)
    note = f"largest heat that friction gave back between states [{units['work']}]"
    found.append(Check("friction_dissipates", gained <= small, gained, small, None, note))
    found.extend(_within_law(problem, record))
    found.extend(_strays(problem, record, units["length"]))
    pairs = problem.assembled.pairs
    for i, contact in enumerate(pairs):
        told = _resolution(problem, record, i)
        if not isinstance(contact.partner, RigidShape):
            told.append(_balance(problem, record, i))
        # where there are several, each says which it is
        named = f"{contact_label(contact, i + 1)}: " if len(pairs) > 1 else ""
        found.extend(dataclasses.replace(c, note=named + c.note) for c in told)
    return found


def _strays(problem: Problem, record: Recorder, unit: str) -> list[Check]:
    """Tell whether bodies that are no pair of a contact among many came near each other."""
    found = []
    for i, strays in enumerate(problem.strays):
        at = record.strays.get(i)
        near, value = strays.near, 0.0 if at is None else max(0.0, -at.beyond)
        note = f"how far bodies that are no pair came within reach of each other [{unit}]"
        if at is not None and value > 0.0:
            one, other = (near.boundaries[n].body for n in (at.first, at.second))
            note += f"; bodies {one} and {other} felt nothing: give a reach beyond {near.reach:.3g}"
        when = at.time if at is not None and value > 0.0 else None
        found.append(
            Check("every_pair_found", value == 0.0, value, 0.0, when, note, kind=Kind.CONDITION)
        )
    return found


def _without_forces(record: Recorder) -> bool:
    """Return whether all forces of a run are as small as what is left of none.

    Forces that are given are exact: however small, they are no such rest.

    Verified by: tests/unit/solids/equilibria/test_floor.py::test_bodies_without_forces_are_solved
    """
    problem = record.problem
    forces = [c for c in problem.assembled.all_conditions if isinstance(c, _GIVEN)]
    if any(np.any(c.program.values) for c in forces):
        return False
    return record.extremes.force <= _REST * problem.still_force


def _above_floor(record: Recorder) -> Check:
    """Compare what was left out of balance with the forces of the run.

    Where forces are smaller than the floor below which balance is not measured, a step counts
    as converged before it balances.
    """
    seen = record.extremes
    if _without_forces(record):
        note = "no force was given, and none of the run is above what rounding and a step leave"
        return Check("residual_above_roundoff", None, None, _BALANCED, None, note)
    rest = seen.unbalanced / seen.force if seen.force > 0.0 else 0.0
    note = (
        "largest residual of an accepted load step, as a force, over the largest force of the run"
    )
    return Check("residual_above_roundoff", rest <= _BALANCED, rest, _BALANCED, None, note)


def _partners(record: Recorder) -> Check:
    """Tell whether points within reach of a partner's end had no nearest point on it."""
    worst = max(record.missed, default=(0, 0.0))
    note = (
        "points near the end of a partner's boundary, beyond which nothing acts on them; let the "
        "boundary reach farther than the contact"
    )
    when = worst[1] if worst[0] else None
    return Check(
        "every_point_has_partner",
        worst[0] == 0,
        float(worst[0]),
        0.0,
        when,
        note,
        kind=Kind.CONDITION,
    )


def _within_law(problem: Problem, record: Recorder) -> list[Check]:
    """Compare pressures and gaps with what the straight part of the normal law stands for."""
    worst, when = record.extremes.pressure
    gap, at = record.extremes.gap
    if not problem.passes:
        return []
    if not np.isfinite(gap):
        note = "no point of a surface was near a partner"
        return [
            Check("pressure_within_law", None, None, None, None, note),
            Check("no_interpenetration", None, None, None, None, note, kind=Kind.CONDITION),
        ]
    note = (
        "largest pressure over T_max; beyond, the straight wall of the law stores much more "
        "than the true one, and gaps are too small"
    )
    limit = 5.0
    found = [Check("pressure_within_law", worst <= limit, worst, limit, when, note)]
    unit = units_of(problem.dim, problem.assembled.dimensionless)["length"]
    note = f"smallest gap [{unit}]; below zero the surfaces lie inside each other"
    if any(p.hard for p in problem.passes):
        note += ", in hard contact by more than a twentieth of an element"
    found.append(
        Check("no_interpenetration", gap >= 0.0, min(0.0, gap), 0.0, at, note, kind=Kind.CONDITION)
    )
    return found


def _resolution(problem: Problem, record: Recorder, i: int) -> list[Check]:
    """Compare the mesh with the lengths of the law, and the penalty with the bulk."""
    contact = problem.assembled.pairs[i]
    if isinstance(problem.assembled.bodies[contact.boundary.body], Membrane):
        return of_membranes(problem, record, i)
    law = contact.adhesion
    if isinstance(law, Signorini):
        # neither law nor penalty has a length or a stiffness to resolve
        return []
    soft, finest = np.inf, np.inf
    sizes = []
    for p, number, b in zip(
        problem.passes, problem.contact_of_pass, problem.body_of_pass, strict=True
    ):
        # in space elements are as long as their longer side
        long = p.own.areas.sum(axis=1) if problem.dim == _PLANE else p.own.lengths.max(axis=1)
        of_points = np.repeat(long, p.own.areas.shape[1])
        sizes.append(of_points if number == i else np.zeros(p.count))
        if number == i:
            body = problem.assembled.bodies[b]
            assert isinstance(body, (Body, SweptBody))
            soft = min(soft, body.material.contact_modulus(body.plane_stress))
            finest = min(finest, float(of_points.min()))
    size = np.concatenate(sizes)
    # where surfaces pulled on each other at any time: there the law has to be resolved
    pulled = record.extremes.pulled
    if not pulled.size:
        pulled = np.zeros(size.size, dtype=bool)
    found = []
    coarsest = float(np.max(size[pulled], initial=0.0))
    adhesive = getattr(law, "adhesive", True)
    if adhesive and coarsest <= 0.0:
        note = "no surface element was under tension"
        found.append(Check("process_zone_resolved", None, None, 1.0, None, note))
        found.append(Check("law_length_resolved", None, None, 10.0, None, note))
    elif adhesive:
        work = float(-np.asarray(law.potential(law.gap_eq)))
        zone = soft * work / law.max_tension**2
        note = "coarsest surface element under tension over a quarter of E* W / T_max^2"
        ratio = 4.0 * coarsest / zone
        found.append(Check("process_zone_resolved", ratio <= 1.0, ratio, 1.0, None, note))
        note = "coarsest surface element under tension over r0; the law changes over this length"
        ratio = coarsest / law.length
        found.append(Check("law_length_resolved", ratio <= 10.0, ratio, 10.0, None, note))
    if isinstance(contact.friction, Frictionless):
        return found
    note = "tangential stiffness in stick over that of one surface element, E*/h"
    stiff = contact.tangential_stiffness * finest / soft
    found.append(
        Check("penalty_stiff_enough", stiff >= 0.3, stiff, 0.3, None, note, kind=Kind.AT_LEAST)
    )
    return found


def _balance(problem: Problem, record: Recorder, i: int) -> Check:
    """Compare the forces that the two passes put on the two bodies."""
    worst, size = 0.0, 1e-300
    for a, b in record.balances.get(i, []):
        worst = max(worst, float(np.linalg.norm(a + b)))
        size = max(size, float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    note = (
        "force of one half pass against the other over the largest; of the order of gap over radius"
    )
    return Check("half_passes_balance", worst <= 5e-2 * size, worst / size, 5e-2, None, note)
