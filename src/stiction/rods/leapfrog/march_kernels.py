"""Steps of the nonholonomic leapfrog: drift with impacts, elastic forces, kick with contacts.

Source: formulas sheet of the rods paper, section 6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    CLOSED_AT,
    DISTANCE,
    INSIDE,
    MODE,
    OPEN,
    REACH,
    RESTITUTION,
    ROLL,
    N,
    locate,
    push,
    slip_velocity,
)
from stiction.rods.contact.touch_kernels import (
    account,
    hold_gaps,
    kick_contacts,
    locate_all,
    measure,
    release,
    settle_modes,
    strike,
)
from stiction.rods.driving_kernels import (
    add_damping,
    add_loads,
    clamp_energy,
    clamp_power,
    follow_clamps,
    place_frames,
    power,
)
from stiction.rods.rod_kernels import damped_kick, drift, elastic, kick

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# r, q, v, p
State = tuple[Floats, Floats, Floats, Floats]
# materials, mobility, drag, constant forces, loads, times, factors, moving clamps
Table = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]
# place, index, geom, law, u before the kick, impulse, friction heat
Touch = tuple[Floats, Ints, Floats, Floats, Floats, Floats, Floats]
# scratch, work, modes before the kick, sums, worst
Spare = tuple[Floats, Floats, Ints, Floats, Floats]

# why the march paused
DONE, LEFT_ROD, SINGULAR, NEAR_PARALLEL, EVENTS_FULL, NOT_FINITE, SEARCH = range(7)
# columns of an event: time, contact, mode before, after, kind, s1, s2, pressing impulse, slip
EVENT_COLUMNS = 9
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES = range(5)
# rows of sums: total, and what the last kick added
EXTERNAL, VISCOUS, IMPACT, ALGORITHMIC = range(4)
MOST_IMPACTS = 64
_SPREAD = 1e-12


@kernel
def approaching(q: Floats, c: int, index: Ints, geom: Floats, v: Floats, p: Floats) -> Any:
    """Return u . n: positive when the surfaces close in."""
    ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
    return ux * geom[c, N] + uy * geom[c, N + 1] + uz * geom[c, N + 2]


@kernel
def first_impact(
    r0: Floats,
    v: Floats,
    h: float,
    trial: Floats,
    place: Floats,
    index: Ints,
    geom: Floats,
    law: Floats,
) -> Any:
    """Return (contact, fraction of h) of the first open contact that closes; (-1, 1) if none."""
    size = r0.shape[1]
    found, when = -1, 1.0
    for c in range(index.shape[0]):
        if index[c, MODE] != OPEN or geom[c, DISTANCE] >= law[c, REACH] * (1.0 - _SPREAD):
            continue
        low, high = 0.0, when
        for _ in range(60):
            middle = 0.5 * (low + high)
            for a in range(3):
                for i in range(size):
                    trial[a, i] = r0[a, i] + middle * h * v[a, i]
            if locate(trial, c, place, index, geom) != INSIDE:
                break
            if geom[c, DISTANCE] < law[c, REACH]:
                high = middle
            else:
                low = middle
            if high - low < 1e-13:
                break
        if high < when or found < 0:
            found, when = c, high
    return found, when


@kernel
def add_event(
    events: Floats,
    count: int,
    now: float,
    c: int,
    before: int,
    kind: int,
    place: Floats,
    index: Ints,
    press: float,
    slip: float,
) -> Any:
    """Write one event; return the new count."""
    row = events[count]
    row[0], row[1], row[2], row[3] = now, c, before, index[c, MODE]
    row[4], row[5], row[6], row[7], row[8] = kind, place[c, 0], place[c, 1], press, slip
    return count + 1


@kernel
def drift_with_impacts(
    state: State,
    mobility: Floats,
    touch: Touch,
    spare: Spare,
    h: float,
    now: float,
    step: int,
    events: Floats,
    count: int,
) -> Any:
    """Drift for h, stopping at every contact that closes; return (code, contact, events)."""
    r, q, v, p = state
    place, index, geom, law, before, impulse, _ = touch
    _, old, _, sums, _ = spare
    opened = False
    for c in range(index.shape[0]):
        opened = opened or index[c, MODE] == OPEN
    if not opened:
        drift(r, q, v, p, h)
        code, c = locate_all(r, place, index, geom)
        return code, c, count
    left = h
    for hit in range(MOST_IMPACTS):
        old[0:3] = r
        old[3:7] = q
        drift(r, q, v, p, left)
        code, c = locate_all(r, place, index, geom)
        if code != INSIDE:
            return code, c, count
        struck = False
        for k in range(index.shape[0]):
            if index[k, MODE] == OPEN and geom[k, DISTANCE] < law[k, REACH] * (1.0 - _SPREAD):
                struck = struck or approaching(q, k, index, geom, v, p) > 0.0
        if not struck or count >= events.shape[0] - 2:
            return INSIDE, c, count
        c, part = first_impact(old[0:3], v, left, old[7:10], place, index, geom, law)
        r[:] = old[0:3]
        q[:] = old[3:7]
        drift(r, q, v, p, part * left)
        code, lost = locate_all(r, place, index, geom)
        if code != INSIDE:
            return code, lost, count
        left -= part * left
        fast = approaching(q, c, index, geom, v, p)
        plastic = law[c, RESTITUTION] == 0.0 or hit > MOST_IMPACTS // 2
        # a bounce shorter than two steps cannot be resolved: the contact closes
        plastic = plastic or step - index[c, CLOSED_AT] <= 2
        sums[IMPACT, 0] += strike(q, index, geom, law, mobility, v, p, before, impulse, c, plastic)
        index[c, CLOSED_AT] = step
        kind = BOUNCES
        if plastic:
            index[c, MODE] = ROLL
            kind = CLOSES
        count = add_event(events, count, now + h - left, c, OPEN, kind, place, index, fast, 0.0)
        if left <= 1e-13 * h:
            return INSIDE, -1, count
    drift(r, q, v, p, left)
    code, c = locate_all(r, place, index, geom)
    return code, c, count


@kernel
def kick_all(
    state: State,
    rods: Table,
    touch: Touch,
    spare: Spare,
    flags: tuple[bool, bool, bool, bool],
    w: float,
    ahead: float,
    now: float,
    events: Floats,
    count: int,
) -> Any:
    """Kick all velocities by elastic, dead and contact forces over w; return the events.

    `ahead` is the length of the drift that follows, for which gaps are held.
    """
    r, q, v, p = state
    mat, mobility, drag, constant, loads, times, factors, _ = rods
    place, index, geom, law, before, impulse, heat = touch
    scratch, work, modes, sums, worst = spare
    damped, retarded, loaded, shake = flags
    n, m, f, t = scratch[0:3], scratch[3:6], scratch[6:9], scratch[9:12]
    fe, te = scratch[12:15], scratch[15:18]
    elastic(r, q, mat, n, m, f, t)
    sums[EXTERNAL, 1] = 0.0
    if loaded:
        add_loads(f, t, constant, loads, times, factors, now, fe, te)
        sums[EXTERNAL, 1] += 0.5 * w * power(q, v, p, fe, te)
    sums[VISCOUS, 1] = 0.0
    fd, td = scratch[18:21], scratch[21:24]
    if retarded:
        add_damping(r, q, v, p, w, mat, drag[2], f, t, fd, td, work)
        sums[VISCOUS, 1] -= 0.5 * w * power(q, v, p, fd, td)
    measure(q, index, geom, v, p, before)
    if damped:
        sums[VISCOUS, 1] += damped_kick(q, v, p, f, t, mat, drag, w)
    else:
        kick(v, p, f, t, mat, w)
    closed = False
    for c in range(index.shape[0]):
        heat[c, 1] = 0.0
        modes[c] = index[c, MODE]
        closed = closed or index[c, MODE] >= ROLL
    sums[ALGORITHMIC, 1] = 0.0
    if closed:
        # work of damping done by contact impulses is part of the mean velocities
        sweeps = kick_contacts(q, index, geom, law, mobility, v, p, before, impulse)
        worst[1] = max(worst[1], float(sweeps))
        if sweeps < 0:
            worst[2] += 1.0
        settle_modes(index, geom, law, impulse)
        if shake:
            hold_gaps(r, q, v, p, ahead, place, index, geom, law, mobility, before, impulse, work)
            if release(q, index, geom, mobility, v, p, impulse):
                # the others feel that it is gone
                kick_again(q, index, geom, law, mobility, v, p, before, impulse)
                hold_gaps(
                    r, q, v, p, ahead, place, index, geom, law, mobility, before, impulse, work
                )
        sums[ALGORITHMIC, 1] = account(q, index, geom, v, p, before, impulse, heat, worst)
    if loaded:
        sums[EXTERNAL, 1] += 0.5 * w * power(q, v, p, fe, te)
    if retarded:
        sums[VISCOUS, 1] -= 0.5 * w * power(q, v, p, fd, td)
    for k in range(4):
        if k != IMPACT:
            sums[k, 0] += sums[k, 1]
    for c in range(index.shape[0]):
        if index[c, MODE] != modes[c] and modes[c] >= ROLL and count < events.shape[0]:
            kind = OPENS_UP if index[c, MODE] == OPEN else SLIPS
            if index[c, MODE] == ROLL:
                kind = STICKS
            P, g = impulse[c], geom[c]
            press = -(P[0] * g[N] + P[1] * g[N + 1] + P[2] * g[N + 2]) / w
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            slip = math.sqrt(ux * ux + uy * uy + uz * uz)
            count = add_event(events, count, now, c, modes[c], kind, place, index, press, slip)
    return count


@kernel
def kick_again(
    q: Floats,
    index: Ints,
    geom: Floats,
    law: Floats,
    mobility: Floats,
    v: Floats,
    p: Floats,
    before: Floats,
    impulse: Floats,
) -> Any:
    """Solve the remaining closed contacts again from their present impulses."""
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            P = impulse[c]
            push(q, c, index, geom, -P[0], -P[1], -P[2], mobility, v, p)
    kick_contacts(q, index, geom, law, mobility, v, p, before, impulse)
    settle_modes(index, geom, law, impulse)


@kernel
def moved(r: Floats, built: Floats, limit: float) -> Any:
    """Return whether any node is farther than `limit` from where it was at the last search."""
    for i in range(r.shape[1]):
        d2 = (r[0, i] - built[0, i]) ** 2 + (r[1, i] - built[1, i]) ** 2
        if d2 + (r[2, i] - built[2, i]) ** 2 > limit * limit:
            return True
    return False


@kernel
def march(
    state: State,
    old: tuple[Floats, Floats],
    rods: Table,
    touch: Touch,
    spare: Spare,
    flags: tuple[bool, bool, bool, bool],
    h: float,
    last: float,
    now: float,
    step: int,
    steps: int,
    built: Floats,
    limit: float,
    events: Floats,
) -> Any:
    """Take `steps` steps of h; return (why it paused, steps taken, contact, events written).

    A step is a drift and the kick after it; the last kick lasts `last` and leaves the
    velocities before it in v_old, p_old. It pauses after a whole step.
    """
    r, q, v, p = state
    v_old, p_old = old
    mat, mobility, driven = rods[0], rods[1], rods[7]
    index = touch[1]
    scratch, sums = spare[0], spare[3]
    count = 0
    for k in range(steps):
        if driven.shape[0] > 0:
            sums[EXTERNAL, 0] -= clamp_energy(q, v, p, mat, driven)
            follow_clamps(r, q, v, p, driven, now, h)
            sums[EXTERNAL, 0] += clamp_energy(q, v, p, mat, driven)
            # the second half of the last kick, at the velocity the clamp has from here on
            done = clamp_power(q, v, p, scratch[6:9], scratch[9:12], driven)
            sums[EXTERNAL, 0] -= 0.5 * spare[4][3] * done
        code, c, count = drift_with_impacts(
            state, mobility, touch, spare, h, now, step + k, events, count
        )
        now += h
        if code != INSIDE:
            return code, k, c, count
        if driven.shape[0] > 0:
            place_frames(q, driven, now)
        w, ahead = h, h
        if k == steps - 1:
            w, ahead = last, 2.0 * last - h
            v_old[:] = v
            p_old[:] = p
        count = kick_all(state, rods, touch, spare, flags, w, ahead, now, events, count)
        if driven.shape[0] > 0:
            done = clamp_power(q, v, p, scratch[6:9], scratch[9:12], driven)
            sums[EXTERNAL, 0] -= 0.5 * w * done
            spare[4][3] = w
        if not math.isfinite(v[0, 1] + p[0, 1] + r[0, r.shape[1] // 2]):
            return NOT_FINITE, k + 1, -1, count
        if count >= events.shape[0] - 4 * index.shape[0] - 2:
            return EVENTS_FULL, k + 1, -1, count
        if limit > 0.0 and (c == -2 or moved(r, built, limit)):
            return SEARCH, k + 1, -1, count
    return DONE, steps, -1, count
