"""Steps of a rod on a plane: half kick, drift up to an impact, half kick, impact.

Arrays are those of `kernels`. `scratch` (rows, slots) holds forces and copies.

Source: formulas sheet of the rods paper, sections 4 and 6.
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
    AGAIN,
    ALONE,
    BOUNCES,
    CLOSES,
    DONE,
    END,
    EVENTS_FULL,
    NOT_FINITE,
    OPEN,
    OPENS_UP,
    ROLL,
    SHALLOW,
    SLIP,
    SLIPS,
    STICKS,
    TOO_MANY_STEPS,
    Event,
    Nodes,
    Plane,
    Tally,
    contact_work,
    drifting_slip,
    forget_bias,
    gaps,
    hold_touching,
    impulses,
    note,
    put,
    remember,
    scale_impulses,
    slip_at,
    slips,
    turn_table,
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

# rows of scratch, which the kernels below divide
SCRATCH_ROWS = 30

# a node that bounces again within this many steps stays down
_SHORT_HOP = 2.5
_TRIES = 12
# of a step: length of a kick that is only tried
TRIAL_PART = 1e-3

Energies = tuple[float, float]


class Motion(NamedTuple):
    """Nodes r [m], frames q, velocities v [m/s], momenta over inertia p [1/s]."""

    r: Floats
    q: Floats
    v: Floats
    p: Floats


class Forcing(NamedTuple):
    """Dead loads, as `add_loads` takes them."""

    constant: Floats
    loads: Table[Load]
    times: Floats
    factors: Floats


@kernel(views=True)
def velocities_before(scratch: Floats) -> tuple[Floats, Floats]:
    """Return rows for v and p before the last half kick."""
    return scratch[18:21], scratch[21:24]


@kernel(views=True)
def velocities_kept(scratch: Floats) -> tuple[Floats, Floats]:
    """Return rows for v and p that a kick or an impact may go back to."""
    return scratch[24:27], scratch[27:30]


@kernel
def judge(sweeps: int, tally: Tally) -> None:
    """Keep the largest number of sweeps, and count what did not converge."""
    tally.sweeps = max(tally.sweeps, abs(sweeps))
    if sweeps < 0:
        tally.unconverged += 1


@kernel
def forces(
    r: Matrix, q: Matrix, mat: Floats, forcing: Forcing, now: float, scratch: Floats
) -> None:
    """Put all forces and torques, and loads alone, into their rows of scratch."""
    f, t = forces_of(scratch)
    elastic(r, q, mat, scratch[0:3], scratch[3:6], f, t)
    fe, te = loads_of(scratch)
    add_loads(f, t, forcing.constant, forcing.loads, forcing.times, forcing.factors, now, fe, te)


@kernel
def strike(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    plane: Plane,
    mat: Floats,
    nodes: Nodes,
    scratch: Floats,
    grip: float,
) -> tuple[int, float]:
    """Find the impulses of an impact; return the sweeps and the energy lost [J].

    If the parts that come back would gain energy, all of the slip comes back: the law on mean
    velocities never can.
    """
    start = kinetic_energy(q, v, p, mat)
    before_v, before_p = velocities_kept(scratch)
    put(before_v, v, 1.0)
    put(before_p, p, 1.0)
    sweeps, lost = 0, 0.0
    for attempt in range(2):
        scale_impulses(nodes, 0.0)
        if attempt == 1:
            put(v, before_v, 1.0)
            put(p, before_p, 1.0)
            for k in range(nodes.shape[0]):
                nodes[k].kept = 1.0
        sweeps = impulses(q, v, p, plane, mat, nodes, grip)
        lost = start - kinetic_energy(q, v, p, mat)
        if lost >= -1e-14 * start:
            break
    return sweeps, lost


@kernel
def collide(
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
    """Let the arriving nodes strike; `first` is 1 at the start of a run, where nothing bounces."""
    slips(q, v, p, plane, nodes)
    remember(nodes)
    turn_table(q, plane, mat, nodes)
    forget_bias(nodes)
    rigid, now = math.isinf(plane.friction), tally.time
    hold_touching(nodes)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        soon = now - node.last_impact <= _SHORT_HOP * plane.step
        node.returned = 0.0 if soon or first > 0.0 else plane.restitution
        node.kept = plane.tangential_restitution
        if node.arrives:
            node.held = 1
        else:
            node.returned = 0.0
    sweeps, lost = strike(q, v, p, plane, mat, nodes, scratch, first if rigid else 0.0)
    judge(sweeps, tally)
    tally.impact += lost
    for k in range(nodes.shape[0]):
        node = nodes[k]
        if node.arrives:
            node.last_impact = now
            ux, uy = node.before[1], node.before[2]
            slip = math.sqrt(ux * ux + uy * uy)
            old, kind = node.mode, BOUNCES
            if node.returned == 0.0:
                kind = CLOSES
                node.mode = SLIP if node.slips == 1 and not rigid else ROLL
            note(events, written, now, k, old, node.mode, kind, node.before[0], slip)


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
    """Kick for w with impulses of the held nodes, and account for their work.

    At the start of a step (`half` ALONE) the law holds for the rate of slip, else for the slip.
    """
    f, t = forces_of(scratch)
    fe, te = loads_of(scratch)
    slips(q, v, p, plane, nodes)
    remember(nodes)
    if half == ALONE:
        drifting_slip(q, p, plane, w, nodes)
    else:
        forget_bias(nodes)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    kick(v, p, f, t, mat, w)
    for k in range(nodes.shape[0]):
        nodes[k].returned, nodes[k].kept = 0.0, 0.0
    judge(impulses(q, v, p, plane, mat, nodes, 0.0), tally)
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
    """Kick as the half kick before did, times `ratio`: both halves share one set of impulses."""
    fe, te = loads_of(scratch)
    before_v, before_p = velocities_before(scratch)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    slips(q, v, p, plane, nodes)
    remember(nodes)
    for i in range(3):
        for k in range(nodes.shape[0]):
            v[i, k] += ratio * (v[i, k] - before_v[i, k])
            p[i, k] += ratio * (p[i, k] - before_p[i, k])
    scale_impulses(nodes, ratio)
    slips(q, v, p, plane, nodes)
    tally.external += 0.5 * w * power(q, v, p, fe, te)
    tally.algorithmic += contact_work(nodes, AGAIN)


@kernel
def reach_time(nodes: Nodes, h: float, a: float) -> float:
    """Return when the first open node reaches the plane [s]; h if none does."""
    found = h
    for k in range(nodes.shape[0]):
        node = nodes[k]
        gap, un = node.gap, node.normal_velocity
        if node.mode == OPEN and un < 0.0 and gap + h * un < -SHALLOW * a:
            found = min(found, max(0.0, -gap / un))
    return found


@kernel
def kick_out(
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
    """Take the half kick at the start of a step; return its length, up to the next impact."""
    hold_touching(nodes)
    keep_v, keep_p = velocities_kept(scratch)
    external, impact, algorithmic = tally.external, tally.impact, tally.algorithmic
    put(keep_v, v, 1.0)
    put(keep_p, p, 1.0)
    for k in range(nodes.shape[0]):
        node = nodes[k]
        node.old_heat = node.heat
        for c in range(3):
            node.old_impulse[c] = node.impulse[c]
    target = h
    for attempt in range(_TRIES):
        ratio = target / tally.last if tally.last > 0.0 else 2.0
        if tally.fresh == 1 or ratio > 1.5:
            half_kick(q, v, p, 0.5 * target, plane, mat, ALONE, scratch, nodes, tally)
        else:
            repeat_kick(q, v, p, ratio, 0.5 * target, plane, scratch, nodes, tally)
        reach = max(reach_time(nodes, h, plane.radius), 1e-6 * h)
        if abs(reach - target) <= 1e-12 * h or attempt == _TRIES - 1:
            break
        target = reach
        put(v, keep_v, 1.0)
        put(p, keep_p, 1.0)
        for k in range(nodes.shape[0]):
            node = nodes[k]
            node.heat = node.old_heat
            for c in range(3):
                node.impulse[c] = node.old_impulse[c]
        tally.external, tally.impact, tally.algorithmic = external, impact, algorithmic
    return target


@kernel
def settle(
    w: float, rigid: bool, nodes: Nodes, now: float, events: Table[Event], written: Integers
) -> bool:
    """Take the modes from the impulses of a kick of length w; return whether any changed."""
    changed = False
    for k in range(nodes.shape[0]):
        node = nodes[k]
        old, pn = node.mode, node.impulse[0]
        if old == OPEN:
            continue
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
            note(events, written, now, k, old, new, kind, pn / w, slip)
    return changed


@kernel
def leave(nodes: Nodes, now: float, events: Table[Event], written: Integers) -> None:
    """Open what leaves in the first half of a step; the next half must not ask it to stay."""
    for k in range(nodes.shape[0]):
        node = nodes[k]
        old, un = node.mode, node.normal_velocity
        if old != OPEN and node.impulse[0] <= 0.0 and un > 0.0:
            node.mode = OPEN
            note(events, written, now, k, old, node.mode, OPENS_UP, 0.0, un)


@kernel
def close(
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
    """Let everything strike that has come down; return whether anything has."""
    strikes = False
    for k in range(nodes.shape[0]):
        node = nodes[k]
        low = node.gap <= SHALLOW * plane.radius
        arrives = node.mode == OPEN and low and node.normal_velocity < 0.0
        node.arrives = 1 if arrives else 0
        strikes = strikes or arrives
        tally.depth = min(tally.depth, node.gap)
    if strikes:
        collide(q, v, p, plane, mat, nodes, scratch, tally, 0.0, events, written)
    return strikes


@kernel
def survey(motion: Motion, plane: Plane, mat: Floats, nodes: Nodes, slip: Matrix) -> Energies:
    """Return kinetic and elastic energy [J]; put slips into slip, find normal velocities."""
    q, v, p = motion.q, motion.v, motion.p
    slips(q, v, p, plane, nodes)
    for k in range(slip.shape[0]):
        slip[k, 0], slip[k, 1] = slip_at(k, nodes)
    return kinetic_energy(q, v, p, mat), stored_energy(motion.r, q, mat)


@kernel
def note_worst(rigid: bool, nodes: Nodes, tally: Tally) -> None:
    """Keep the worst of what the audit looks at, at the end of a step.

    Verified by: tests/audit/test_all_steps.py::test_saved_times_do_not_matter
    """
    for k in range(nodes.shape[0]):
        node = nodes[k]
        gave = node.last_heat - node.heat
        if gave > 0.0:
            tally.given_time = tally.time if tally.given == 0.0 else tally.given_time
            tally.given += gave
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
    """Go on to `end`; return why it paused and the steps taken; count events in `written`."""
    r, q, v, p = motion.r, motion.q, motion.v, motion.p
    before_v, before_p = velocities_before(scratch)
    plane, tally = planes[0], tallies[0]
    size, longest = nodes.shape[0], plane.step
    rigid = math.isinf(plane.friction)
    written[0] = 0
    steps = 0
    if tally.trial == 1:
        forces(r, q, mat, forcing, tally.time, scratch)
        turn_table(q, plane, mat, nodes)
        hold_touching(nodes)
        half_kick(q, v, p, TRIAL_PART * longest, plane, mat, ALONE, scratch, nodes, tally)
        return DONE, steps
    while end - tally.time > 1e-12 * longest:
        if steps >= most:
            return TOO_MANY_STEPS, steps
        if written[0] > events.shape[0] - 3 * size:
            return EVENTS_FULL, steps
        left = end - tally.time
        h = left / max(math.ceil(left / longest - 1e-9), 1)
        if tally.fresh == 1:
            turn_table(q, plane, mat, nodes)
        gaps(r, plane, nodes)
        length = kick_out(q, v, p, h, plane, mat, scratch, nodes, tally)
        leave(nodes, tally.time, events, written)
        drift(r, q, v, p, length)
        tally.time = end if left - length <= 1e-12 * longest else tally.time + length
        tally.last = length
        tally.shortest = min(tally.shortest, length)
        steps += 1
        forces(r, q, mat, forcing, tally.time, scratch)
        gaps(r, plane, nodes)
        turn_table(q, plane, mat, nodes)
        put(before_v, v, 1.0)
        put(before_p, p, 1.0)
        hold_touching(nodes)
        half_kick(q, v, p, 0.5 * length, plane, mat, END, scratch, nodes, tally)
        for k in range(size):
            for c in range(3):
                nodes[k].force[c] = 2.0 / length * nodes[k].impulse[c]
        changed = settle(0.5 * length, rigid, nodes, tally.time, events, written)
        note_worst(rigid, nodes, tally)
        strikes = close(q, v, p, plane, mat, scratch, nodes, tally, events, written)
        tally.fresh = 1 if changed or strikes else 0
        if not math.isfinite(v[0, 0] + v[1, 0] + v[2, 0] + p[0, 0] + r[0, size // 2]):
            return NOT_FINITE, steps
    return DONE, steps
