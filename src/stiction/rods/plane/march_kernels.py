"""Steps of a rod on a plane: half kick, drift up to an impact, half kick, impact.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.rods.driving_kernels import add_loads, power
from stiction.rods.plane.kernels import (
    AGAIN,
    ALGORITHMIC,
    ALONE,
    BOUNCES,
    CLOSES,
    DEPTH,
    DONE,
    END,
    EVENTS_FULL,
    EXTERNAL,
    FRESH,
    IMPACT,
    LAST,
    NOT_FINITE,
    NOW,
    OPEN,
    OPENS_UP,
    ROLL,
    SHALLOW,
    SHORTEST,
    SLIP,
    SLIPS,
    STICKS,
    STUCK,
    SWEEPS,
    TOO_MANY_STEPS,
    contact_work,
    drifting_slip,
    fill,
    gaps,
    impulses,
    note,
    put,
    put_row,
    quadratic,
    remember,
    slip_at,
    slips,
    touching,
    turn_table,
)
from stiction.rods.rod_kernels import drift, elastic, kick

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# rows of the nodal work arrays
UN, GAP, BOUND, BACK, KEPT, HEAT, HIT, MU = range(8)
# a node that bounces again within this many steps stays down
_SHORT_HOP = 2.5
_TRIES = 12


@kernel
def judge(
    sweeps: int,
    worst: Floats,
) -> Any:
    """Keep the largest number of sweeps, and count what did not converge."""
    worst[SWEEPS] = max(worst[SWEEPS], float(abs(sweeps)))
    if sweeps < 0:
        worst[STUCK] += 1.0


@kernel
def forces(
    r: Floats,
    q: Floats,
    mat: Floats,
    forcing: tuple[Any, ...],
    now: float,
    scratch: Floats,
) -> Any:
    """Put all forces and torques into rows 6-12 of scratch, and loads alone into 12-18."""
    constant, loads, times, factors = forcing
    f, t = scratch[6:9], scratch[9:12]
    elastic(r, q, mat, scratch[0:3], scratch[3:6], f, t)
    add_loads(f, t, constant, loads, times, factors, now, scratch[12:15], scratch[15:18])


@kernel
def collide(
    q: Floats,
    v: Floats,
    p: Floats,
    now: float,
    world: tuple[Any, ...],
    modes: Ints,
    arrive: Flags,
    first: float,
    h: float,
    work: tuple[Any, ...],
    events: Floats,
    count: int,
) -> Any:
    """Let the arriving nodes strike; return the events."""
    basis, a, mat, law = world
    node, branch, before, P, x, z, m, gram, bias, sums, worst = work
    size = modes.shape[0]
    un = node[UN]
    start = quadratic(q, v, p, mat)
    v_before, p_before = np.empty_like(v), np.empty_like(p)
    put(v_before, v, 1.0)
    put(p_before, p, 1.0)
    slips(q, v, p, basis, a, size, un, x, z)
    remember(size, un, x, z, before)
    turn_table(q, basis, a, mat, size, m, gram)
    put(bias, bias, 0.0)
    rigid = math.isinf(law[0])
    hold = touching(modes)
    for k in range(size):
        soon = now - node[HIT, k] <= _SHORT_HOP * h
        node[BACK, k] = 0.0 if soon or first > 0.0 else law[1]
        node[KEPT, k] = law[2]
        hold[k] = arrive[k] or modes[k] != OPEN
        if not arrive[k]:
            node[BACK, k] = 0.0
    for attempt in range(2):
        put(P, P, 0.0)
        if attempt == 1:
            # the law on mean velocities can never gain energy
            put(v, v_before, 1.0)
            put(p, p_before, 1.0)
            fill(node[KEPT], 1.0)
        sweeps = impulses(
            q,
            v,
            p,
            basis,
            a,
            mat,
            hold,
            node[BACK],
            node[KEPT],
            bias,
            node[MU],
            first if rigid else 0.0,
            before,
            P,
            un,
            x,
            z,
            m,
            gram,
            node[BOUND],
            branch,
        )
        lost = start - quadratic(q, v, p, mat)
        if lost >= -1e-14 * start:
            break
    judge(sweeps, worst)
    sums[IMPACT] += lost
    for k in range(size):
        if arrive[k]:
            node[HIT, k] = now
            ux, uy = before[1, k], before[2, k]
            slip = math.sqrt(ux * ux + uy * uy)
            old = modes[k]
            kind = BOUNCES
            if node[BACK, k] == 0.0:
                kind = CLOSES
                modes[k] = SLIP if branch[k] == 1 and not rigid else ROLL
            count = note(events, count, now, k, old, modes[k], kind, before[0, k], slip)
    return count


@kernel
def half_kick(
    q: Floats,
    v: Floats,
    p: Floats,
    w: float,
    world: tuple[Any, ...],
    hold: Flags,
    at_start: float,
    scratch: Floats,
    work: tuple[Any, ...],
) -> Any:
    """Kick for w with contact impulses, and account for their work.

    At the start of a step the law holds for the rate of slip, else for the slip itself.
    """
    basis, a, mat, _ = world
    node, branch, before, P, x, z, m, gram, bias, sums, worst = work
    size = hold.shape[0]
    un = node[UN]
    f, t, fe, te = scratch[6:9], scratch[9:12], scratch[12:15], scratch[15:18]
    slips(q, v, p, basis, a, size, un, x, z)
    remember(size, un, x, z, before)
    if at_start > 0.0:
        drifting_slip(q, p, basis, a, size, w, bias)
    else:
        put(bias, bias, 0.0)
    sums[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    kick(v, p, f, t, mat, w)
    fill(node[BACK], 0.0)
    fill(node[KEPT], 0.0)
    judge(
        impulses(
            q,
            v,
            p,
            basis,
            a,
            mat,
            hold,
            node[BACK],
            node[KEPT],
            bias,
            node[MU],
            0.0,
            before,
            P,
            un,
            x,
            z,
            m,
            gram,
            node[BOUND],
            branch,
        ),
        worst,
    )
    sums[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    sums[ALGORITHMIC] += contact_work(
        size, P, before, un, x, z, ALONE if at_start > 0.0 else END, node[HEAT]
    )


@kernel
def repeat_kick(
    q: Floats,
    v: Floats,
    p: Floats,
    v_old: Floats,
    p_old: Floats,
    ratio: float,
    world: tuple[Any, ...],
    w: float,
    scratch: Floats,
    work: tuple[Any, ...],
) -> Any:
    """Kick as the half kick before did, times `ratio`: both halves share one set of impulses."""
    basis, a, _, _ = world
    node, _, before, P, x, z, _, _, _, sums, _ = work
    size = node.shape[1]
    un = node[UN]
    fe, te = scratch[12:15], scratch[15:18]
    sums[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    slips(q, v, p, basis, a, size, un, x, z)
    remember(size, un, x, z, before)
    for i in range(3):
        for k in range(size):
            v[i, k] += ratio * (v[i, k] - v_old[i, k])
            p[i, k] += ratio * (p[i, k] - p_old[i, k])
    put(P, P, ratio)
    slips(q, v, p, basis, a, size, un, x, z)
    sums[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    sums[ALGORITHMIC] += contact_work(size, P, before, un, x, z, AGAIN, node[HEAT])


@kernel
def reach_time(
    modes: Ints,
    gap: Floats,
    un: Floats,
    h: float,
    a: float,
) -> Any:
    """Return when the first open node reaches the plane [s]; h if none does."""
    found = h
    for k in range(modes.shape[0]):
        if modes[k] == OPEN and un[k] < 0.0 and gap[k] + h * un[k] < -SHALLOW * a:
            found = min(found, max(0.0, -gap[k] / un[k]))
    return found


@kernel
def kick_out(
    q: Floats,
    v: Floats,
    p: Floats,
    v_old: Floats,
    p_old: Floats,
    h: float,
    clock: Floats,
    modes: Ints,
    world: tuple[Any, ...],
    scratch: Floats,
    work: tuple[Any, ...],
) -> Any:
    """Take the half kick at the start of a step; return its length, up to the next impact."""
    node, P, sums, a = work[0], work[3], work[9], world[1]
    hold = touching(modes)
    keep_v, keep_p, keep_P = np.empty_like(v), np.empty_like(p), np.empty_like(P)
    keep_sums, keep_heat = np.empty_like(sums), np.empty_like(node[HEAT])
    put(keep_v, v, 1.0)
    put(keep_p, p, 1.0)
    put(keep_P, P, 1.0)
    put_row(keep_sums, sums)
    put_row(keep_heat, node[HEAT])
    target = h
    for attempt in range(_TRIES):
        ratio = target / clock[LAST] if clock[LAST] > 0.0 else 2.0
        if clock[FRESH] > 0.0 or ratio > 1.5:
            half_kick(q, v, p, 0.5 * target, world, hold, 1.0, scratch, work)
        else:
            repeat_kick(q, v, p, v_old, p_old, ratio, world, 0.5 * target, scratch, work)
        reach = max(reach_time(modes, node[GAP], node[UN], h, a), 1e-6 * h)
        if abs(reach - target) <= 1e-12 * h or attempt == _TRIES - 1:
            break
        target = reach
        put(v, keep_v, 1.0)
        put(p, keep_p, 1.0)
        put(P, keep_P, 1.0)
        put_row(sums, keep_sums)
        put_row(node[HEAT], keep_heat)
    return target


@kernel
def settle(
    now: float,
    w: float,
    modes: Ints,
    rigid: bool,
    work: tuple[Any, ...],
    events: Floats,
    count: int,
) -> Any:
    """Take the modes from the impulses; return (events, whether any changed)."""
    node, branch, _, P, x, z, _, _, _, _, _ = work
    size = modes.shape[0]
    changed = False
    for k in range(size):
        old = modes[k]
        if old == OPEN:
            continue
        if P[0, k] <= 0.0 and node[UN, k] > 0.0:
            modes[k] = OPEN
        elif branch[k] == 1 and not rigid:
            modes[k] = SLIP
        else:
            modes[k] = ROLL
        if modes[k] != old:
            changed = True
            kind = OPENS_UP
            if modes[k] != OPEN:
                kind = SLIPS if modes[k] == SLIP else STICKS
            ux, uy = slip_at(k, size, x, z)
            slip = math.sqrt(ux * ux + uy * uy)
            count = note(events, count, now, k, old, modes[k], kind, P[0, k] / w, slip)
    return count, changed


@kernel
def leave(
    now: float,
    modes: Ints,
    work: tuple[Any, ...],
    events: Floats,
    count: int,
) -> Any:
    """Open what leaves in the first half of a step; return the events.

    The next half kick must not ask it to stay.
    """
    node, P = work[0], work[3]
    for k in range(modes.shape[0]):
        if modes[k] != OPEN and P[0, k] <= 0.0 and node[UN, k] > 0.0:
            count = note(events, count, now, k, modes[k], OPEN, OPENS_UP, 0.0, node[UN, k])
            modes[k] = OPEN
    return count


@kernel
def close(
    q: Floats,
    v: Floats,
    p: Floats,
    now: float,
    world: tuple[Any, ...],
    modes: Ints,
    h: float,
    work: tuple[Any, ...],
    events: Floats,
    count: int,
) -> Any:
    """Let everything strike that has come down; return (events, whether anything has)."""
    node, worst = work[0], work[10]
    arrive = touching(modes)
    strikes = False
    for k in range(modes.shape[0]):
        low = node[GAP, k] <= SHALLOW * world[1]
        arrive[k] = modes[k] == OPEN and low and node[UN, k] < 0.0
        strikes = strikes or arrive[k]
        worst[DEPTH] = min(worst[DEPTH], node[GAP, k])
    if strikes:
        count = collide(q, v, p, now, world, modes, arrive, 0.0, h, work, events, count)
    return count, strikes


@kernel
def march(
    r: Floats,
    q: Floats,
    v: Floats,
    p: Floats,
    v_old: Floats,
    p_old: Floats,
    clock: Floats,
    end: float,
    h_most: float,
    most: int,
    origin: Floats,
    world: tuple[Any, ...],
    forcing: tuple[Any, ...],
    modes: Ints,
    scratch: Floats,
    work: tuple[Any, ...],
    press: Floats,
    events: Floats,
) -> Any:
    """Go on to `end`; return (why it paused, steps taken, events written)."""
    basis, a, mat, law = world
    node, _, _, P, _, _, m, gram, _, _, worst = work
    size = modes.shape[0]
    rigid = math.isinf(law[0])
    count, steps = 0, 0
    while end - clock[NOW] > 1e-12 * h_most:
        if steps >= most:
            return TOO_MANY_STEPS, steps, count
        if count > events.shape[0] - 3 * size:
            return EVENTS_FULL, steps, count
        left = end - clock[NOW]
        h = left / math.ceil(left / h_most - 1e-9)
        if clock[FRESH] > 0.0:
            turn_table(q, basis, a, mat, size, m, gram)
        gaps(r, basis, origin, a, size, node[GAP])
        length = kick_out(q, v, p, v_old, p_old, h, clock, modes, world, scratch, work)
        count = leave(clock[NOW], modes, work, events, count)
        drift(r, q, v, p, length)
        now = end if left - length <= 1e-12 * h_most else clock[NOW] + length
        clock[NOW] = now
        clock[LAST] = length
        worst[SHORTEST] = min(worst[SHORTEST], length)
        steps += 1
        forces(r, q, mat, forcing, now, scratch)
        gaps(r, basis, origin, a, size, node[GAP])
        turn_table(q, basis, a, mat, size, m, gram)
        put(v_old, v, 1.0)
        put(p_old, p, 1.0)
        half_kick(q, v, p, 0.5 * length, world, touching(modes), 0.0, scratch, work)
        put(press, P, 2.0 / length)
        count, changed = settle(now, 0.5 * length, modes, rigid, work, events, count)
        count, strikes = close(q, v, p, now, world, modes, h_most, work, events, count)
        clock[FRESH] = 1.0 if changed or strikes else 0.0
        if not math.isfinite(v[0, 0] + v[1, 0] + v[2, 0] + p[0, 0] + r[0, size // 2]):
            return NOT_FINITE, steps, count
    return DONE, steps, count
