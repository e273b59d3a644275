"""Steps of a rod on a plane: half kick, drift up to an impact, half kick, impact.

Arrays are those of `kernels`. `scratch` (rows below, slots) holds forces and copies.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.driving_kernels import Load, add_loads, power
from stiction.rods.plane.kernels import (
    AGAIN,
    ALGORITHMIC,
    ALONE,
    ARRIVE,
    BACK,
    BEFORE,
    BIAS,
    BOUNCES,
    BRANCH,
    CLOSES,
    COST,
    DEPTH,
    DONE,
    END,
    EVENTS_FULL,
    EXTERNAL,
    FRESH,
    GAP,
    GAVE,
    GAVE_AT,
    HEAT,
    HIT,
    HOLD,
    IMPACT,
    KEPT,
    LAST,
    LAST_HEAT,
    MODE,
    MOST_N,
    MU,
    MU_MOST,
    NOT_FINITE,
    NOW,
    OLD_HEAT,
    OLD_P,
    OPEN,
    OPENS_UP,
    OVER,
    OVER_AT,
    PRESS,
    RADIUS,
    RESTITUTION,
    ROLL,
    SHALLOW,
    SHORTEST,
    SLIP,
    SLIPS,
    STEP,
    STICKS,
    STUCK,
    SWEEPS,
    TANGENTIAL,
    TOO_MANY_STEPS,
    TRIAL,
    UN,
    P,
    contact_work,
    drifting_slip,
    fill,
    gaps,
    hold_touching,
    impulses,
    note,
    put,
    put_row,
    remember,
    slip_at,
    slips,
    turn_table,
)
from stiction.rods.rod_kernels import drift, elastic, kick, kinetic_energy, stored_energy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# first of three rows of scratch each: two of scratch for elastic forces, all forces and torques,
# those of loads alone [N], [N m]; velocities before the last half kick, and before this one
SPARE, MOMENT, FORCE, TORQUE, LOAD, TWIST = 0, 3, 6, 9, 12, 15
BEFORE_V, BEFORE_P, KEEP_V, KEEP_P = 18, 21, 24, 27
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


@kernel
def judge(sweeps: int, tally: Vector) -> None:
    """Keep the largest number of sweeps, and count what did not converge."""
    tally[SWEEPS] = max(tally[SWEEPS], float(abs(sweeps)))
    if sweeps < 0:
        tally[STUCK] += 1.0


@kernel
def forces(
    r: Matrix, q: Matrix, mat: Matrix, forcing: Forcing, now: float, scratch: Matrix
) -> None:
    """Put all forces and torques, and loads alone, into their rows of scratch."""
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    elastic(r, q, mat, scratch[SPARE:MOMENT], scratch[MOMENT:FORCE], f, t)
    fe, te = scratch[LOAD:TWIST], scratch[TWIST:BEFORE_V]
    add_loads(f, t, forcing.constant, forcing.loads, forcing.times, forcing.factors, now, fe, te)


@kernel
def strike(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    work: Matrix,
    grip: float,
) -> tuple[int, float]:
    """Find the impulses of an impact; return the sweeps and the energy lost [J].

    If the parts that come back would gain energy, all of the slip comes back: the law on mean
    velocities never can.
    """
    start = kinetic_energy(q, v, p, mat)
    before_v, before_p = np.empty_like(v), np.empty_like(p)
    put(before_v, v, 1.0)
    put(before_p, p, 1.0)
    sweeps, lost = 0, 0.0
    for attempt in range(2):
        put(work[P : P + 3], work[P : P + 3], 0.0)
        if attempt == 1:
            put(v, before_v, 1.0)
            put(p, before_p, 1.0)
            fill(work[KEPT], 1.0)
        sweeps = impulses(q, v, p, par, mat, marks, work, grip)
        lost = start - kinetic_energy(q, v, p, mat)
        if lost >= -1e-14 * start:
            break
    return sweeps, lost


@kernel
def collide(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    work: Matrix,
    tally: Vector,
    first: float,
    events: Matrix,
    written: Ints,
) -> None:
    """Let the arriving nodes strike; `first` is 1 at the start of a run, where nothing bounces."""
    slips(q, v, p, par, work)
    remember(work)
    turn_table(q, par, mat, work)
    put(work[BIAS : BIAS + 2], work[BIAS : BIAS + 2], 0.0)
    rigid, now = math.isinf(par[MU_MOST]), tally[NOW]
    hold_touching(marks)
    for k in range(marks.shape[1]):
        soon = now - work[HIT, k] <= _SHORT_HOP * par[STEP]
        work[BACK, k] = 0.0 if soon or first > 0.0 else par[RESTITUTION]
        work[KEPT, k] = par[TANGENTIAL]
        if marks[ARRIVE, k]:
            marks[HOLD, k] = 1
        else:
            work[BACK, k] = 0.0
    sweeps, lost = strike(q, v, p, par, mat, marks, work, first if rigid else 0.0)
    judge(sweeps, tally)
    tally[IMPACT] += lost
    for k in range(marks.shape[1]):
        if marks[ARRIVE, k]:
            work[HIT, k] = now
            ux, uy = work[BEFORE + 1, k], work[BEFORE + 2, k]
            slip = math.sqrt(ux * ux + uy * uy)
            old, kind = marks[MODE, k], BOUNCES
            if work[BACK, k] == 0.0:
                kind = CLOSES
                marks[MODE, k] = SLIP if marks[BRANCH, k] == 1 and not rigid else ROLL
            new = marks[MODE, k]
            note(events, written, now, k, old, new, kind, work[BEFORE, k], slip)


@kernel
def half_kick(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    w: float,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    half: float,
    scratch: Matrix,
    work: Matrix,
    tally: Vector,
) -> None:
    """Kick for w with impulses of the held nodes, and account for their work.

    At the start of a step (`half` ALONE) the law holds for the rate of slip, else for the slip.
    """
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    fe, te = scratch[LOAD:TWIST], scratch[TWIST:BEFORE_V]
    slips(q, v, p, par, work)
    remember(work)
    if half == ALONE:
        drifting_slip(q, p, par, w, work)
    else:
        put(work[BIAS : BIAS + 2], work[BIAS : BIAS + 2], 0.0)
    tally[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    kick(v, p, f, t, mat, w)
    fill(work[BACK], 0.0)
    fill(work[KEPT], 0.0)
    judge(impulses(q, v, p, par, mat, marks, work, 0.0), tally)
    tally[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    tally[ALGORITHMIC] += contact_work(work, half)


@kernel
def repeat_kick(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    ratio: float,
    w: float,
    par: Vector,
    scratch: Matrix,
    work: Matrix,
    tally: Vector,
) -> None:
    """Kick as the half kick before did, times `ratio`: both halves share one set of impulses."""
    fe, te = scratch[LOAD:TWIST], scratch[TWIST:BEFORE_V]
    tally[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    slips(q, v, p, par, work)
    remember(work)
    for i in range(3):
        for k in range(work.shape[1]):
            v[i, k] += ratio * (v[i, k] - scratch[BEFORE_V + i, k])
            p[i, k] += ratio * (p[i, k] - scratch[BEFORE_P + i, k])
    put(work[P : P + 3], work[P : P + 3], ratio)
    slips(q, v, p, par, work)
    tally[EXTERNAL] += 0.5 * w * power(q, v, p, fe, te)
    tally[ALGORITHMIC] += contact_work(work, AGAIN)


@kernel
def reach_time(marks: Ints, work: Matrix, h: float, a: float) -> float:
    """Return when the first open node reaches the plane [s]; h if none does."""
    found = h
    for k in range(marks.shape[1]):
        gap, un = work[GAP, k], work[UN, k]
        if marks[MODE, k] == OPEN and un < 0.0 and gap + h * un < -SHALLOW * a:
            found = min(found, max(0.0, -gap / un))
    return found


@kernel
def kick_out(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    h: float,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    scratch: Matrix,
    work: Matrix,
    tally: Vector,
) -> float:
    """Take the half kick at the start of a step; return its length, up to the next impact."""
    hold_touching(marks)
    keep_v, keep_p = scratch[KEEP_V:KEEP_P], scratch[KEEP_P:SCRATCH_ROWS]
    external, impact, algorithmic = tally[EXTERNAL], tally[IMPACT], tally[ALGORITHMIC]
    put(keep_v, v, 1.0)
    put(keep_p, p, 1.0)
    put(work[OLD_P : OLD_P + 3], work[P : P + 3], 1.0)
    put_row(work[OLD_HEAT], work[HEAT])
    target = h
    for attempt in range(_TRIES):
        ratio = target / tally[LAST] if tally[LAST] > 0.0 else 2.0
        if tally[FRESH] > 0.0 or ratio > 1.5:
            half_kick(q, v, p, 0.5 * target, par, mat, marks, ALONE, scratch, work, tally)
        else:
            repeat_kick(q, v, p, ratio, 0.5 * target, par, scratch, work, tally)
        reach = max(reach_time(marks, work, h, par[RADIUS]), 1e-6 * h)
        if abs(reach - target) <= 1e-12 * h or attempt == _TRIES - 1:
            break
        target = reach
        put(v, keep_v, 1.0)
        put(p, keep_p, 1.0)
        put(work[P : P + 3], work[OLD_P : OLD_P + 3], 1.0)
        put_row(work[HEAT], work[OLD_HEAT])
        tally[EXTERNAL], tally[IMPACT], tally[ALGORITHMIC] = external, impact, algorithmic
    return target


@kernel
def settle(
    w: float, rigid: bool, marks: Ints, work: Matrix, tally: Vector, events: Matrix, written: Ints
) -> bool:
    """Take the modes from the impulses of a kick of length w; return whether any changed."""
    changed = False
    for k in range(marks.shape[1]):
        old = marks[MODE, k]
        if old == OPEN:
            continue
        if work[P, k] <= 0.0 and work[UN, k] > 0.0:
            marks[MODE, k] = OPEN
        elif marks[BRANCH, k] == 1 and not rigid:
            marks[MODE, k] = SLIP
        else:
            marks[MODE, k] = ROLL
        new = marks[MODE, k]
        if new != old:
            changed = True
            kind = OPENS_UP
            if new != OPEN:
                kind = SLIPS if new == SLIP else STICKS
            ux, uy = slip_at(k, work)
            slip = math.sqrt(ux * ux + uy * uy)
            note(events, written, tally[NOW], k, old, new, kind, work[P, k] / w, slip)
    return changed


@kernel
def leave(marks: Ints, work: Matrix, tally: Vector, events: Matrix, written: Ints) -> None:
    """Open what leaves in the first half of a step; the next half must not ask it to stay."""
    for k in range(marks.shape[1]):
        old = marks[MODE, k]
        if old != OPEN and work[P, k] <= 0.0 and work[UN, k] > 0.0:
            marks[MODE, k] = OPEN
            new = marks[MODE, k]
            note(events, written, tally[NOW], k, old, new, OPENS_UP, 0.0, work[UN, k])


@kernel
def close(
    q: Matrix,
    v: Matrix,
    p: Matrix,
    par: Vector,
    mat: Matrix,
    marks: Ints,
    work: Matrix,
    tally: Vector,
    events: Matrix,
    written: Ints,
) -> bool:
    """Let everything strike that has come down; return whether anything has."""
    strikes = False
    for k in range(marks.shape[1]):
        low = work[GAP, k] <= SHALLOW * par[RADIUS]
        arrives = marks[MODE, k] == OPEN and low and work[UN, k] < 0.0
        marks[ARRIVE, k] = 1 if arrives else 0
        strikes = strikes or arrives
        tally[DEPTH] = min(tally[DEPTH], work[GAP, k])
    if strikes:
        collide(q, v, p, par, mat, marks, work, tally, 0.0, events, written)
    return strikes


@kernel
def survey(motion: Motion, par: Vector, mat: Matrix, work: Matrix, slip: Matrix) -> Energies:
    """Return kinetic and elastic energy [J]; put normal velocities into work, slips into slip."""
    q, v, p = motion.q, motion.v, motion.p
    slips(q, v, p, par, work)
    for k in range(slip.shape[0]):
        slip[k, 0], slip[k, 1] = slip_at(k, work)
    return kinetic_energy(q, v, p, mat), stored_energy(motion.r, q, mat)


@kernel
def note_worst(rigid: bool, work: Matrix, tally: Vector) -> None:
    """Keep the worst of what the audit looks at, at the end of a step.

    Verified by: tests/audit/test_all_steps.py::test_saved_times_do_not_matter
    """
    for k in range(work.shape[1]):
        gave = work[LAST_HEAT, k] - work[HEAT, k]
        if gave > 0.0:
            tally[GAVE_AT] = tally[NOW] if tally[GAVE] == 0.0 else tally[GAVE_AT]
            tally[GAVE] += gave
        work[LAST_HEAT, k] = work[HEAT, k]
        normal, x, y = work[PRESS, k], work[PRESS + 1, k], work[PRESS + 2, k]
        tally[MOST_N] = max(tally[MOST_N], normal)
        if not rigid:
            over = math.sqrt(x * x + y * y) - work[MU, k] * normal
            if over > tally[OVER]:
                tally[OVER], tally[OVER_AT] = over, tally[NOW]
    tally[COST] = max(tally[COST], abs(tally[ALGORITHMIC]))


@kernel
def march(
    motion: Motion,
    end: float,
    most: int,
    par: Vector,
    mat: Matrix,
    forcing: Forcing,
    marks: Ints,
    scratch: Matrix,
    work: Matrix,
    tally: Vector,
    events: Matrix,
    written: Ints,
) -> tuple[int, int]:
    """Go on to `end`; return why it paused and the steps taken; count events in `written`."""
    r, q, v, p = motion.r, motion.q, motion.v, motion.p
    before_v, before_p = scratch[BEFORE_V:BEFORE_P], scratch[BEFORE_P:KEEP_V]
    size, longest = marks.shape[1], par[STEP]
    rigid = math.isinf(par[MU_MOST])
    written[0] = 0
    steps = 0
    if tally[TRIAL] > 0.0:
        forces(r, q, mat, forcing, tally[NOW], scratch)
        turn_table(q, par, mat, work)
        hold_touching(marks)
        half_kick(q, v, p, TRIAL_PART * longest, par, mat, marks, ALONE, scratch, work, tally)
        return DONE, steps
    while end - tally[NOW] > 1e-12 * longest:
        if steps >= most:
            return TOO_MANY_STEPS, steps
        if written[0] > events.shape[0] - 3 * size:
            return EVENTS_FULL, steps
        left = end - tally[NOW]
        h = left / max(math.ceil(left / longest - 1e-9), 1)
        if tally[FRESH] > 0.0:
            turn_table(q, par, mat, work)
        gaps(r, par, work)
        length = kick_out(q, v, p, h, par, mat, marks, scratch, work, tally)
        leave(marks, work, tally, events, written)
        drift(r, q, v, p, length)
        tally[NOW] = end if left - length <= 1e-12 * longest else tally[NOW] + length
        tally[LAST] = length
        tally[SHORTEST] = min(tally[SHORTEST], length)
        steps += 1
        forces(r, q, mat, forcing, tally[NOW], scratch)
        gaps(r, par, work)
        turn_table(q, par, mat, work)
        put(before_v, v, 1.0)
        put(before_p, p, 1.0)
        hold_touching(marks)
        half_kick(q, v, p, 0.5 * length, par, mat, marks, END, scratch, work, tally)
        put(work[PRESS : PRESS + 3], work[P : P + 3], 2.0 / length)
        changed = settle(0.5 * length, rigid, marks, work, tally, events, written)
        note_worst(rigid, work, tally)
        strikes = close(q, v, p, par, mat, marks, work, tally, events, written)
        tally[FRESH] = 1.0 if changed or strikes else 0.0
        if not math.isfinite(v[0, 0] + v[1, 0] + v[2, 0] + p[0, 0] + r[0, size // 2]):
            return NOT_FINITE, steps
    return DONE, steps
