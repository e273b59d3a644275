"""Build the `Run` of rigid bodies: variables, events, energy ledger, losses, audit.

`build_run` is for time steps in the plane; `space.run` and `event_driven.outcome` call `assembled`
or `run_of` with their own checks. The numbers come from a `Recorder`, whose arrays have one row for
each saved time; the audit compares the worst values of a run (`History.worst`) with the limits
below. Losses of determinism are states after which the law gives no acceleration or several, and
simultaneous impacts whose order matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.bodies.contacts import Surfaces, name_of
from stiction.bodies.joints.springs import Springs
from stiction.bodies.mechanics import Mechanics
from stiction.bodies.model import RigidBodies
from stiction.bodies.record import (
    DISSIPATION,
    IMPACT,
    IMPACT_LOSS,
    KINDS,
    LOSSES,
    MODES,
    STORED,
    VISCOUS_HEAT,
    WORK,
    Recorder,
)
from stiction.core.audit import Check, Kind, Line
from stiction.core.determinism import Loss
from stiction.core.events import EventLog
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Run, Variable
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.bodies.methods import EventDriven, TimeStepper
    from stiction.bodies.space.contacts import SpatialSurfaces
    from stiction.bodies.space.mechanics import SpatialMechanics
    from stiction.bodies.space.model import SpatialBodies

__all__ = [
    "LEDGER",
    "RESIDUAL",
    "UNSEEN",
    "History",
    "assembled",
    "build_run",
    "ledger_line",
    "losses_of",
    "of_hinges",
    "of_steps",
    "run_of",
]

Floats = npt.NDArray[np.float64]

# limits of the audit: relative energy imbalance, and residual of the contact problems. Chosen; the
# tolerance of the contact problems is 1e-12, in space 1e-11
LEDGER, RESIDUAL = 1e-10, 1e-10
UNSEEN = "the uniqueness of the velocities after each step is not decided"
_UNSEEN_GROUPS = (
    "; for groups of more than four contacts, the uniqueness of accelerations is not decided either"
)
# the solution that a run takes at states without an acceleration, with several, and near the
# boundary of these cases: in the order of `record.LOSSES`
_CHOICES = (
    "the impulses of the step, which remain finite as the step tends to zero",
    "the first velocities after the step that were found",
    "the first velocities after the step that were found",
)
# limits of the audit: overlap, and gap of a hinge, over the smallest thickness of a body; rotation
# in a step [rad]; motion of surfaces in a step over the smallest thickness. Chosen: the error of a
# step is of second order in the rotation, and a motion of a whole thickness may pass through a body
_OVERLAP, _HINGE_GAP = 1e-2, 1e-3
_TURN, _MOTION = 0.1, 0.5
# step times the largest angular frequency w of springs. The leapfrog has a relative error of
# (w h)^2 / 24 in the frequency, here 0.4 %, and is unstable from 2 on
_SPRINGS = 0.3
# entries of `History.counts`
SWEEPS, LINEAR_SYSTEMS, REDUCED, MOST_CONTACTS, UNDECIDED = range(5)
# rows of `History.worst`
ERROR, OVERLAP, TURN, MOTION, HINGES = range(5)


@dataclass(frozen=True, eq=False)
class History:
    """Results of the time steps.

    Attributes
    ----------
    record : saved states, pairs, events
    surfaces : shapes of bodies, then of supports
    worst : (5, 2) largest values of a step, and their times [s]. The rows ERROR to HINGES are the
        relative residual of a contact problem, the overlap over the smallest thickness of a body,
        the rotation [rad], the motion of surfaces over the smallest thickness of a part, and the
        gap of a hinge over the smallest thickness of a body
    counts : (5,) SWEEPS to UNDECIDED: sweeps, linear systems, steps with reduced restitution, most
        contacts at once, groups whose accelerations may not be unique
    steps, step : number and length [s]
    springs : None without springs
    status, reason : how it ended
    """

    record: Recorder
    surfaces: Surfaces | SpatialSurfaces
    worst: Floats
    counts: npt.NDArray[np.int64]
    steps: int
    step: float
    springs: Springs | None
    status: Status
    reason: str


def build_run(system: RigidBodies, method: TimeStepper, h: History) -> Run:
    """Return the run in the plane with the results of the steps."""
    assert isinstance(h.surfaces, Surfaces)
    unseen = UNSEEN + (_UNSEEN_GROUPS if h.counts[UNDECIDED] else "")
    if system.hinges:
        unseen += "; neither is the uniqueness of accelerations (Painleve's paradox)"
    return run_of(system, method, h.record, h.surfaces, **of_steps(system, h, unseen))


def of_steps(system: RigidBodies | SpatialBodies, h: History, unseen: str) -> dict[str, Any]:
    """Return status, audit, losses and counts of time steps, as `assembled` takes them."""
    return {
        "status": h.status,
        "reason": h.reason,
        "checks": lambda energy: _checks(system, h, energy),
        "losses": losses_of(system, h.record, _CHOICES),
        "unseen": unseen,
        "stats": {
            "steps": h.steps,
            "contacts": int(h.counts[MOST_CONTACTS]),
            "sweeps": int(h.counts[SWEEPS]),
            "linear_systems": int(h.counts[LINEAR_SYSTEMS]),
            "restitution_reduced": int(h.counts[REDUCED]),
        },
    }


def run_of(
    system: RigidBodies,
    method: TimeStepper | EventDriven,
    record: Recorder,
    surfaces: Surfaces,
    **others: Any,
) -> Run:
    """Return the run of a method with its record; `others` are arguments of `assembled`."""
    count = int(record.saved[0])
    time, q, v = record.save[:count], record.q[:count], record.v[:count]
    each, vector, m = ("time", "body"), ("time", "body", "component"), Mechanics(system)
    return assembled(
        system,
        method,
        record,
        variables={
            "position": Variable(q[..., :2].copy(), vector, "m", "of the centre of mass"),
            "angle": Variable(q[..., 2].copy(), each, "rad", "counterclockwise"),
            "velocity": Variable(v[..., :2].copy(), vector, "m/s", "of the centre of mass"),
            "spin": Variable(v[..., 2].copy(), each, "rad/s", "angular velocity"),
            **of_springs(m, time, q, v),
            **of_hinges(m, record, time, q),
            **_outlines(system, surfaces),
        },
        friction="on the first body along the normal turned clockwise, mean of the step",
        final={
            "x": q[-1, :, 0].copy(),
            "y": q[-1, :, 1].copy(),
            "angle": q[-1, :, 2].copy(),
            "velocity_x": v[-1, :, 0].copy(),
            "velocity_y": v[-1, :, 1].copy(),
            "spin": v[-1, :, 2].copy(),
        },
        **others,
    )


def assembled(
    system: RigidBodies | SpatialBodies,
    method: TimeStepper | EventDriven,
    record: Recorder,
    *,
    variables: Mapping[str, Variable],
    friction: str,
    checks: Callable[[Ledger], tuple[Check, ...]],
    stats: Mapping[str, int],
    modes: Sequence[str] = MODES,
    **others: Any,
) -> Run:
    """Return the run with its record, in the plane or in space.

    Parameters
    ----------
    variables : places and velocities, and the shapes
    friction : meaning of the friction of pairs, the text of this variable
    checks : returns the audit of a ledger
    modes : names of the modes of pairs
    stats, others : counts of work, and further arguments of `Run.of`
    """
    count = int(record.saved[0])
    heat, normal, tangential = _of_pairs(record, count)
    heat = np.concatenate([heat, record.hinges[:count, :, -1]], axis=1)
    energy = Ledger(
        time=record.save[:count],
        kinetic=record.energy[:count, 0].copy(),
        stored=record.energy[:count, 1 + STORED].copy(),
        external_work=record.energy[:count, 1 + WORK].copy(),
        friction_heat=heat if heat.shape[1] else np.zeros((count, 1)),
        viscous_heat=record.energy[:count, 1 + VISCOUS_HEAT].copy(),
        impact_loss=record.energy[:count, 1 + IMPACT_LOSS].copy(),
        algorithmic=record.energy[:count, 1 + DISSIPATION].copy(),
    )
    of_pair = ("time", "contact", "component")[: tangential.ndim]
    forces = {
        "normal_force": Variable(normal, of_pair[:2], "N", "of each pair, mean of the step"),
        "friction_force": Variable(tangential, of_pair, "N", friction),
        "pair": Variable(
            record.pairs.rows + 1,
            ("contact", "end"),
            "1",
            "numbers of the bodies; supports follow bodies",
        ),
    }
    return Run.of(
        system,
        method,
        time=record.save[:count],
        variables={**variables, **forces},
        event_log=_events(record, modes),
        energy=energy,
        checks=checks(energy),
        loss_units={},
        quantities=_quantities(record, energy),
        stats={"events": len(record.events), **stats},
        size=f"{system.n} rigid {'body' if system.n == 1 else 'bodies'}",
        **others,
    )


def _of_pairs(record: Recorder, count: int) -> tuple[Floats, Floats, Floats]:
    """Return heat [J], normal and tangential forces [N] of pairs at the saved times.

    The first two are (t, pair); the last one is (t, pair), in space (t, pair, 3).
    """
    rows = record.samples.rows
    heat, normal = (np.zeros((count, len(record.pairs))) for _ in range(2))
    tangential = np.zeros((*heat.shape, *rows["tangential"].shape[1:]))
    at = rows["save"], rows["pair"]
    heat[at], normal[at], tangential[at] = rows["heat"], rows["normal"], rows["tangential"]
    return heat, normal, tangential


def of_springs(
    m: Mechanics | SpatialMechanics, time: Floats, q: Floats, v: Floats
) -> dict[str, Variable]:
    """Return forces and ends of the springs at the saved times."""
    if (springs := m.springs) is None:
        return {}
    pose = m.pose(time - time[0], q)
    force = np.add(*springs.tensions(pose, m.velocity(v)))
    return {
        "spring_force": Variable(force, ("time", "spring"), "N", "tension, with the damper's"),
        "spring_ends": Variable(
            springs.places(pose), ("time", "spring", "end", "component"), "m", "where it is fixed"
        ),
    }


def of_hinges(
    m: Mechanics | SpatialMechanics, record: Recorder, time: Floats, q: Floats
) -> dict[str, Variable]:
    """Return forces, moments and places of the hinges at the saved times."""
    if m.hinges is None:
        return {}
    vector, d = ("time", "hinge", "component"), m.components
    saved = m.hinges.flipped[:, None] * record.hinges[: len(time), :, :-1]
    place = m.hinges.middle(m.pose(time - time[0], q))
    what = "on the first part, mean of the step"
    moment = Variable(saved[..., 2], vector[:2], "N m", f"of friction {what}")
    if d == 3:
        moment = Variable(saved[..., 3:], vector, "N m", f"about the pin, {what}")
    return {
        "hinge_force": Variable(saved[..., :d], vector, "N", what),
        "hinge_moment": moment,
        "hinge_place": Variable(place, vector, "m", "of the pin"),
    }


def _outlines(system: RigidBodies, surfaces: Surfaces) -> dict[str, Variable]:
    """Return the shapes for figures: kinds, radii, corners padded by NaN, places of supports."""
    table, each = surfaces.table, ("surface",)
    most = int((table["stop"] - table["start"]).max(initial=1))
    corners = np.full((len(table), most, 2), np.nan)
    for k, one in enumerate(table):
        corners[k, : one.stop - one.start] = surfaces.corners[one.start : one.stop]
    places = np.array([[*s.position, s.angle, *s.velocity] for s in system.supports])
    what = "0 disc, 1 polygon, 2 half plane; bodies, then supports"
    return {
        "surface_kind": Variable(table["kind"].copy(), each, "1", what),
        "surface_radius": Variable(table["radius"].copy(), each, "m", "of discs"),
        "surface_corners": Variable(
            corners,
            ("surface", "corner", "component"),
            "m",
            "of polygons about the centre of mass; of a half plane its normal",
        ),
        "support": Variable(
            places.reshape(-1, 5),
            ("support", "number"),
            "1",
            "place [m], angle [rad] and velocity [m/s] of supports",
        ),
    }


def _events(record: Recorder, modes: Sequence[str]) -> EventLog:
    """Return the event log; contacts are numbers of pairs from 1."""
    events = record.events.rows
    pairs = record.pairs.rows[events["pair"]] if len(events) else np.zeros((0, 2), np.int64)
    return EventLog(
        time=events["time"].copy(),
        contact=events["pair"] + 1,
        before=[modes[k] for k in events["before"]],
        after=[modes[k] for k in events["after"]],
        kind=[KINDS[k] for k in events["kind"]],
        columns={
            "first": np.asarray(pairs[:, 0] + 1.0),
            "second": np.asarray(pairs[:, 1] + 1.0),
            "approach_speed": events["approach"].copy(),
        },
        units={"first": "1", "second": "1", "approach_speed": "m/s"},
    )


def losses_of(
    system: RigidBodies | SpatialBodies, record: Recorder, choices: Sequence[str]
) -> list[Loss]:
    """Return the losses of determinism in the order of their times.

    They are simultaneous impacts whose order matters, and states with no acceleration or several.

    Parameters
    ----------
    choices : the action of the method at each kind of `LOSSES`, as text
    """

    def names(pair: float) -> str:
        return " and ".join(name_of(system.n, int(k)) for k in record.pairs.rows[int(pair)])

    losses = []
    for time, first, second in record.simultaneous.rows.tolist():
        where: dict[str, object] = {"impact_of": names(first), "while_in_contact": names(second)}
        choice = f"all impulses at once, by {system.impact_law.title()}'s law for each contact"
        losses.append(Loss(time, "simultaneous_impacts", where, choice))
    for time, kind, pair, count in record.lost.rows.tolist():
        where = {"contact_of": names(pair), "solutions": int(count)}
        losses.append(Loss(time, LOSSES[int(kind)], where, choices[int(kind)]))
    return sorted(losses, key=lambda loss: loss.time)


def ledger_line(system: RigidBodies | SpatialBodies, energy: Ledger) -> Line:
    """Return the check of the relative energy imbalance.

    An imbalance below the work of all loads over the rounding of places, eps times the size of a
    body, counts as 0: bodies at rest may have no other energy than this.

    Verified by: tests/unit/bodies/test_event_driven.py::test_bodies_that_rest_without_friction
    """
    weight = float(np.linalg.norm(system.gravity))
    loads = sum(body.mass * weight + float(np.linalg.norm(body.force)) for body in system.bodies)
    rounding = float(np.finfo(float).eps) * loads * system.size
    worst = float(np.abs(energy.imbalance).max())
    value = energy.imbalance_rel if not worst <= rounding else 0.0
    return Line("ledger_closes", value, LEDGER)


def _checks(system: RigidBodies | SpatialBodies, h: History, energy: Ledger) -> tuple[Check, ...]:
    """Return the audit of time steps: each line has a value, its limit, a text and a time."""
    (error, at_error), (overlap, at_overlap), (turn, at_turn), (motion, at_motion), hinge = (
        h.worst.tolist()
    )
    lines: tuple[Line, ...] = (
        ledger_line(system, energy),
        Line(
            "contact_problems_solved",
            error,
            RESIDUAL,
            "largest relative residual of the frictional contact problem of a step",
            at_error,
            Kind.CONVERGENCE,
        ),
        Line(
            "no_overlap",
            overlap,
            _OVERLAP,
            "deepest overlap over the smallest thickness of a body; the overlap persists, and a "
            "shorter step reduces it",
            at_overlap,
        ),
        Line(
            "rotation_resolved",
            turn,
            _TURN,
            "largest rotation in a step [rad]; contacts are detected in the middle of a step "
            "only: shorten the step",
            at_turn,
        ),
        Line(
            "motion_resolved",
            motion,
            _MOTION,
            "largest relative motion of surfaces in a step over the smallest thickness of a "
            "body; at large values bodies may pass through each other: shorten the step",
            at_motion,
        ),
    )
    if h.springs is not None:
        lines += (
            Line(
                "springs_resolved",
                h.step * max(h.springs.rates()),
                _SPRINGS,
                "step times the largest frequency of springs or decay rate of dampers; at large "
                "values shorten the step",
            ),
        )
    if system.hinges:
        lines += (
            Line(
                "hinges_closed",
                hinge[0],
                _HINGE_GAP,
                "largest gap of a hinge over the smallest thickness of a body; the gap decreases "
                "with the square of the step",
                hinge[1],
            ),
        )
    return tuple(line.of_run() for line in lines)


def _quantities(record: Recorder, energy: Ledger) -> dict[str, Quantity]:
    """Return single numbers of a run: impacts, bodies at rest, heat and losses."""
    impacts = int((record.events.rows["kind"] == IMPACT).sum())
    resting = int((record.v[int(record.saved[0]) - 1] == 0.0).all(axis=1).sum())
    rubbed, loss = float(energy.total_friction_heat[-1]), float(energy.impact_loss[-1])
    return {
        "impacts": Quantity(impacts, "1", "contacts that closed with a velocity of approach"),
        "bodies_at_rest": Quantity(resting, "1", "bodies whose velocity is zero at the end"),
        "friction_heat": Quantity(rubbed, "J", "heat of friction"),
        "impact_loss": Quantity(loss, "J", "energy lost in impacts"),
    }
