"""Steps of a rod on a plane: velocity Verlet with contact impulses and located impacts.

A step is a half kick, a drift that ends at the first impact, a half kick, and the impact. A half
kick changes velocities by forces and impulses over half the step. The second one solves Coulomb's
law (`kernels`) for the velocity at the end of the step; the first one of the next step repeats its
impulses, so rolling does no work. Arrays are those of `kernels`: r, q, v, p the state, `mat` the
table of materials, `nodes`, `plane`, `tally` and `events` its tables, `written` (1,) the number of
events. `scratch` (30, slots) contains forces and copies; w is the length of a kick, `now` the time
[s]. `plane.run` calls `integrate` from one saved time to the next.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Table
from stiction.numerics.jit import kernel
from stiction.rods.driving_kernels import Load, add_loads, power
from stiction.rods.plane.kernels import (
    BOUNCES,
    CLOSES,
    DONE,
    EVENTS_FULL,
    FIRST_HALF,
    NOT_FINITE,
    OPEN,
    OPENS_UP,
    REPEATED_HALF,
    ROLL,
    SECOND_HALF,
    SHALLOW,
    SLIP,
    SLIPS,
    STICKS,
    TOO_MANY_STEPS,
    Event,
    Nodes,
    Plane,
    Tally,
    activate_closed,
    assemble_mobility,
    clear_bias,
    contact_velocities,
    contact_work,
    copy,
    gaps,
    log_event,
    predict_slip,
    scale_impulses,
    slip_at,
    solve_impulses,
    store_velocities,
)
from stiction.rods.rod_kernels import (
    drift,
    elastic,
    forces_of,
    kick,
    kinetic_energy,
    loads_of,
    stored_energy,
)

Floats = npt.NDArray[np.float64]

# number of rows of scratch: `forces_of` and `loads_of` of `rod_kernels`, and the views below
SCRATCH_SIZE = 30

# a node with less time between impacts than this, in steps, closes without restitution
_SHORT_FLIGHT = 2.5
_TRIES = 12
# length of the trial kick for the initial contact forces, over the step
TRIAL_PART = 1e-3

Energies = tuple[float, float]


class Motion(NamedTuple):
    """State of the rod, one column per node and the element after it.

    r (3, slots) positions [m], q (4, slots) quaternions, v (3, slots) velocities [m/s], p (3,
    slots) angular momenta over the inertia across the axis [1/s].
    """

    r: Floats
    q: Floats
    v: Floats
    p: Floats


class Forcing(NamedTuple):
    """Dead loads, see `driving_kernels.add_loads`.

    constant : (3, slots) constant forces on nodes [N]
    loads, times, factors : loads with a history, and the times and factors of all histories
    """

    constant: Floats
    loads: Table[Load]
    times: Floats
    factors: Floats


@kernel(views=True)
def velocities_before(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of scratch: v and p before the last half kick."""
    return scratch[18:21], scratch[21:24]


@kernel(views=True)
def saved_velocities(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of scratch: v and p saved for a repeated kick or impact."""
    return scratch[24:27], scratch[27:30]


@kernel
def record_convergence(sweeps: int, tally: Tally) -> None:
    """Record the largest number of sweeps, and count solutions that did not converge."""
    tally.sweeps = max(tally.sweeps, abs(sweeps))
    if sweeps < 0:
        tally.unconverged += 1


@kernel
def forces(
    r: Matrix, q: Matrix, mat: Floats, forcing: Forcing, now: float, scratch: Floats
) -> None:
    """Compute all forces and torques, and the loads alone, in scratch, at time `now`."""
    f, t = forces_of(scratch)
    elastic(r, q, mat, scratch[0:3], scratch[3:6], f, t)
    fe, te = loads_of(scratch)
    add_loads(f, t, forcing.constant, forcing.loads, forcing.times, forcing.factors, now, fe, te)


@kernel
def solve_impact(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    plane: Plane,
    mat: Floats,
    nodes: Nodes,
    scratch: Floats,
    no_slip: float,
) -> tuple[int, float]:
    """Solve and apply the impulses of an impact; return the sweeps and the energy lost [J].

    If restitution increases the energy, the impact is solved again with tangential restitution 1:
    then Coulomb's law holds for the mean tangential velocity and does not increase the energy.
    """
    start = kinetic_energy(q, v, p, mat)
    before_v, before_p = saved_velocities(scratch)
    copy(before_v, v)
    copy(before_p, p)
    sweeps, lost = 0, 0.0
    # first with the coefficients of the plane; if that creates energy, with tangential restitution
    # 1
    for attempt in range(2):
        scale_impulses(nodes, 0.0)
        if attempt == 1:
            copy(v, before_v)
            copy(p, before_p)
            for k in range(nodes.shape[0]):
                nodes[k].tangential = 1.0
        sweeps = solve_impulses(q, v, p, plane, mat, nodes, no_slip)
        lost = start - kinetic_energy(q, v, p, mat)
        if lost >= -1e-14 * start:
            break
    return sweeps, lost


@kernel
def apply_impact(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    plane: Plane,
    mat: Floats,
    nodes: Nodes,
    scratch: Floats,
    tally: Tally,
    first: float,
    events: Table[Event],
    written: Integers,
) -> None:
    """Apply the impact of arriving nodes; `first` is 1 at the start of a run.

    Then rolling contacts must not slip, even without a normal impulse.
    """
    contact_velocities(q, v, p, plane, nodes)
    store_velocities(nodes)
    assemble_mobility(q, plane, mat, nodes)
    clear_bias(nodes)
    rigid, now = math.isinf(plane.friction), tally.time
    activate_closed(nodes)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        # steps do not resolve shorter times: a decaying sequence of bounces ends with a plastic
        # impact
        short_flight = now - node.last_impact <= _SHORT_FLIGHT * plane.step
        node.returned = 0.0 if short_flight else plane.restitution
        node.tangential = plane.tangential_restitution
        # the active set of an impact: nodes in contact, without restitution, and those that arrive
        if node.arrives:
            node.held = 1
        else:
            node.returned = 0.0
        # a node that rolls from now on gets no slip
        if rigid and node.returned == 0.0:
            node.tangential = 0.0
    sweeps, lost = solve_impact(q, v, p, plane, mat, nodes, scratch, first if rigid else 0.0)
    record_convergence(sweeps, tally)
    tally.impact += lost
    for k in range(nodes.shape[0]):
        node = nodes[k]
        if node.arrives:
            node.last_impact = now
            ux, uy = node.before[1], node.before[2]
            slip = math.sqrt(ux * ux + uy * uy)
            # a node with restitution stays open, the others close
            old, kind = node.mode, BOUNCES
            if node.returned == 0.0:
                kind = CLOSES
                node.mode = SLIP if node.slips == 1 and not rigid else ROLL
            log_event(events, written, now, k, old, node.mode, kind, node.before[0], slip)


@kernel
def half_kick(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    w: float,
    plane: Plane,
    mat: Floats,
    half: float,
    scratch: Floats,
    nodes: Nodes,
    tally: Tally,
) -> None:
    """Kick for a time w [s] with impulses of the active nodes; add their work and heat.

    In a first half kick with new impulses the law holds for the slip velocity extrapolated over w,
    otherwise for the slip velocity after the kick.
    """
    f, t = forces_of(scratch)
    fe, te = loads_of(scratch)
    contact_velocities(q, v, p, plane, nodes)
    store_velocities(nodes)
    if half == FIRST_HALF:
        predict_slip(q, p, plane, w, nodes)
    else:
        clear_bias(nodes)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    kick(v, p, f, t, mat, w)
    # no restitution within a kick
    for k in range(nodes.shape[0]):
        nodes[k].returned, nodes[k].tangential = 0.0, 0.0
    record_convergence(solve_impulses(q, v, p, plane, mat, nodes, 0.0), tally)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    tally.algorithmic += contact_work(nodes, half)


@kernel
def repeat_kick(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    ratio: float,
    w: float,
    plane: Plane,
    scratch: Floats,
    nodes: Nodes,
    tally: Tally,
) -> None:
    """Repeat the last half kick, times `ratio`, so that both half kicks have the same impulses."""
    fe, te = loads_of(scratch)
    before_v, before_p = velocities_before(scratch)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    contact_velocities(q, v, p, plane, nodes)
    store_velocities(nodes)
    for i in range(3):
        for k in range(nodes.shape[0]):
            # changes of velocity of the last half kick, scaled to the length w of this one
            v[i, k] += ratio * (v[i, k] - before_v[i, k])
            p[i, k] += ratio * (p[i, k] - before_p[i, k])
    scale_impulses(nodes, ratio)
    # the work needs velocities on both sides of the kick
    contact_velocities(q, v, p, plane, nodes)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    tally.algorithmic += contact_work(nodes, REPEATED_HALF)


@kernel
def time_to_contact(nodes: Nodes, h: float, a: float) -> float:
    """Return the time until the first open node reaches the plane [s]; h if none does."""
    first = h
    for k in range(nodes.shape[0]):
        node = nodes[k]
        gap, un = node.gap, node.normal_velocity
        # constant velocity in the drift; the impact of a depth below SHALLOW is not located
        if node.mode == OPEN and un < 0.0 and gap + h * un < -SHALLOW * a:
            first = min(first, max(0.0, -gap / un))
    return first


@kernel
def first_half_kick(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    h: float,
    plane: Plane,
    mat: Floats,
    scratch: Floats,
    nodes: Nodes,
    tally: Tally,
) -> float:
    """Take the first half kick of a step of h; return its length, at most to the next impact [s].

    The length of the step and the time of the impact depend on each other: fixed-point iteration.
    """
    activate_closed(nodes)
    saved_v, saved_p = saved_velocities(scratch)
    external, impact, algorithmic = tally.external, tally.impact, tally.algorithmic
    copy(saved_v, v)
    copy(saved_p, p)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        node.old_heat = node.heat
        for c in range(3):
            node.old_impulse[c] = node.impulse[c]
    target = h
    for attempt in range(_TRIES):
        # without a last step (2), or after a much shorter one, impulses are solved again
        ratio = target / tally.last if tally.last > 0.0 else 2.0
        if tally.fresh == 1 or ratio > 1.5:
            half_kick(q, v, p, 0.5 * target, plane, mat, FIRST_HALF, scratch, nodes, tally)
        else:
            repeat_kick(q, v, p, ratio, 0.5 * target, plane, scratch, nodes, tally)
        # a positive length, so that time increases
        reach = max(time_to_contact(nodes, h, plane.radius), 1e-6 * h)
        # the exact difference of two times, so that the motion does not depend on the start time
        rounded = (tally.time + reach) - tally.time
        reach = rounded if rounded > 0.0 else reach
        if abs(reach - target) <= 1e-12 * h or attempt == _TRIES - 1:
            break
        target = reach
        # restore the start of the step, for a half kick of another length
        copy(v, saved_v)
        copy(p, saved_p)
        for k in range(nodes.shape[0]):
            node = nodes[k]
            node.heat = node.old_heat
            for c in range(3):
                node.impulse[c] = node.old_impulse[c]
        tally.external, tally.impact, tally.algorithmic = external, impact, algorithmic
    return target


@kernel
def update_modes(
    w: float, rigid: bool, nodes: Nodes, now: float, events: Table[Event], written: Integers
) -> bool:
    """Update the modes from the impulses of a kick of length w; return whether any has changed.

    A contact without a normal impulse that separates opens; one at the bound of friction slips.
    """
    changed = False
    for k in range(nodes.shape[0]):
        node = nodes[k]
        old, pn = node.mode, node.impulse[0]
        # impacts close nodes, see `apply_impact`
        if old == OPEN:
            continue
        # complementarity: open if it separates without impulse; slip at the bound
        if pn <= 0.0 and node.normal_velocity > 0.0:
            node.mode = OPEN
        elif node.slips == 1 and not rigid:
            node.mode = SLIP
        else:
            node.mode = ROLL
        new = node.mode
        if new != old:
            changed = True
            kind = OPENS_UP
            if new != OPEN:
                kind = SLIPS if new == SLIP else STICKS
            ux, uy = slip_at(k, nodes)
            slip = math.sqrt(ux * ux + uy * uy)
            log_event(events, written, now, k, old, new, kind, pn / w, slip)
    return changed


@kernel
def open_separating(nodes: Nodes, now: float, events: Table[Event], written: Integers) -> None:
    """Open contacts that separate in the first half kick, before the second one."""
    for k in range(nodes.shape[0]):
        node = nodes[k]
        old, un = node.mode, node.normal_velocity
        if old != OPEN and node.impulse[0] <= 0.0 and un > 0.0:
            node.mode = OPEN
            ux, uy = slip_at(k, nodes)
            slip = math.sqrt(ux * ux + uy * uy)
            log_event(events, written, now, k, old, node.mode, OPENS_UP, 0.0, slip)


@kernel
def process_impacts(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    plane: Plane,
    mat: Floats,
    scratch: Floats,
    nodes: Nodes,
    tally: Tally,
    events: Table[Event],
    written: Integers,
) -> bool:
    """Apply the impact of all open nodes that reach the plane; return whether there are any."""
    impacts = False
    for k in range(nodes.shape[0]):
        node = nodes[k]
        low = node.gap <= SHALLOW * plane.radius
        arrives = node.mode == OPEN and low and node.normal_velocity < 0.0
        node.arrives = 1 if arrives else 0
        impacts = impacts or arrives
        tally.depth = min(tally.depth, node.gap)
    if impacts:
        apply_impact(q, v, p, plane, mat, nodes, scratch, tally, 0.0, events, written)
    return impacts


@kernel
def survey(motion: Motion, plane: Plane, mat: Floats, nodes: Nodes, slip: Matrix) -> Energies:
    """Return kinetic and elastic energy [J]; set `slip` (nodes, 2) and normal velocities."""
    q, v, p = motion.q, motion.v, motion.p
    contact_velocities(q, v, p, plane, nodes)
    for k in range(slip.shape[0]):
        slip[k, 0], slip[k, 1] = slip_at(k, nodes)
    return kinetic_energy(q, v, p, mat), stored_energy(motion.r, q, mat)


@kernel
def record_extremes(rigid: bool, nodes: Nodes, tally: Tally) -> None:
    """Record the extremes for the audit at the end of a step.

    Verified by: tests/audit/test_all_steps.py::test_saved_times_do_not_matter
    """
    for k in range(nodes.shape[0]):
        node = nodes[k]
        returned_heat = node.last_heat - node.heat
        if returned_heat > 0.0:
            tally.given_time = tally.time if tally.given == 0.0 else tally.given_time
            tally.given += returned_heat
        node.last_heat = node.heat
        normal, x, y = node.force[0], node.force[1], node.force[2]
        tally.normal_force = max(tally.normal_force, normal)
        if not rigid:
            over = math.sqrt(x * x + y * y) - node.friction * normal
            if over > tally.excess:
                tally.excess, tally.excess_time = over, tally.time
    tally.cost = max(tally.cost, abs(tally.algorithmic))


@kernel
def integrate(
    motion: Motion,
    end: float,
    most: int,
    planes: Table[Plane],
    mat: Floats,
    forcing: Forcing,
    scratch: Floats,
    nodes: Nodes,
    tallies: Table[Tally],
    events: Table[Event],
    written: Integers,
) -> tuple[int, int]:
    """Integrate to the time `end` [s]; return a code and the number of steps.

    At most `most` steps are taken. The code is DONE, EVENTS_FULL, NOT_FINITE or TOO_MANY_STEPS;
    `written` (1,) is the number of recorded events.
    """
    r, q, v, p = motion.r, motion.q, motion.v, motion.p
    before_v, before_p = velocities_before(scratch)
    plane, tally = planes[0], tallies[0]
    size, longest = nodes.shape[0], plane.step
    rigid = math.isinf(plane.friction)
    written[0] = 0
    steps = 0
    # only a trial kick, for the initial contact forces
    if tally.trial == 1:
        forces(r, q, mat, forcing, tally.time, scratch)
        assemble_mobility(q, plane, mat, nodes)
        activate_closed(nodes)
        half_kick(q, v, p, TRIAL_PART * longest, plane, mat, FIRST_HALF, scratch, nodes, tally)
        return DONE, steps
    while end - tally.time > 1e-12 * longest:
        if steps >= most:
            return TOO_MANY_STEPS, steps
        # a node can open, change its mode and have an impact in one step: three events
        if written[0] > events.shape[0] - 3 * size:
            return EVENTS_FULL, steps
        left = end - tally.time
        # steps of equal length up to `end`, none longer than `longest`
        h = left / max(math.ceil(left / longest - 1e-9), 1)
        h = max((tally.time + h) - tally.time, 1e-12 * longest)
        if tally.fresh == 1:
            assemble_mobility(q, plane, mat, nodes)
        gaps(r, plane, nodes)
        # half kick, drift to the next impact, half kick, impact
        length = first_half_kick(q, v, p, h, plane, mat, scratch, nodes, tally)
        open_separating(nodes, tally.time, events, written)
        drift(r, q, v, p, length)
        tally.time = end if left - length <= 1e-12 * longest else tally.time + length
        tally.last = length
        tally.shortest = min(tally.shortest, length)
        steps += 1
        forces(r, q, mat, forcing, tally.time, scratch)
        gaps(r, plane, nodes)
        assemble_mobility(q, plane, mat, nodes)
        # saved for the next first half kick, which repeats this one
        copy(before_v, v)
        copy(before_p, p)
        activate_closed(nodes)
        half_kick(q, v, p, 0.5 * length, plane, mat, SECOND_HALF, scratch, nodes, tally)
        # impulse of half a step, so the force is 2 P / h
        for k in range(size):
            for c in range(3):
                nodes[k].force[c] = 2.0 / length * nodes[k].impulse[c]
        changed = update_modes(0.5 * length, rigid, nodes, tally.time, events, written)
        record_extremes(rigid, nodes, tally)
        impacts = process_impacts(q, v, p, plane, mat, scratch, nodes, tally, events, written)
        # after a change of the active set or an impact, impulses are solved again
        tally.fresh = 1 if changed or impacts else 0
        if not math.isfinite(v[0, 0] + v[1, 0] + v[2, 0] + p[0, 0] + r[0, size // 2]):
            return NOT_FINITE, steps
    return DONE, steps
