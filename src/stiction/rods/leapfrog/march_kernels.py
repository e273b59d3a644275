"""Steps of the nonholonomic leapfrog: drift with impacts, elastic forces, kick with contacts.

Source: formulas sheet of the rods paper, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    CLOSED_AT,
    DISTANCE,
    HEAT_NOW,
    INSIDE,
    MODE,
    OPEN,
    REACH,
    RESTITUTION,
    ROLL,
    N,
    P,
    locate,
    push,
    slip_velocity,
)
from stiction.rods.contact.touch_kernels import (
    LAST_KICK,
    MOST_SWEEPS,
    STUCK,
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
    Switches,
    add_damping,
    add_loads,
    clamp_energy,
    clamp_power,
    follow_clamps,
    place_frames,
    power,
)
from stiction.rods.rod_kernels import RETARD, copy, damped_kick, drift, elastic, kick

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class State(NamedTuple):
    """What moves: positions r, frames q, velocities v, momenta over inertia p."""

    r: Floats
    q: Floats
    v: Floats
    p: Floats


class Table(NamedTuple):
    """What stays: materials, mobility, drag, loads and moving clamps, as `Flat` has them."""

    mat: Floats
    mobility: Floats
    drag: Floats
    constant: Floats
    loads: Floats
    times: Floats
    factors: Floats
    driven: Floats


class Touch(NamedTuple):
    """What is known of contacts: see `contact.kernels`, where `marks` are called `index`."""

    place: Floats
    marks: Ints
    geom: Floats
    law: Floats
    kick: Floats


class Spare(NamedTuple):
    """Scratch and work (rows below, slots), modes before a kick, sums and worst, events written."""

    scratch: Floats
    work: Floats
    modes: Ints
    sums: Floats
    worst: Floats
    written: Ints


# first of three rows of scratch each: two of scratch for elastic forces, forces and torques, those
# of loads and of internal damping alone [N], [N m]; velocities before the last kick; nodes at the
# last search [m]
SPARE, MOMENT, FORCE, TORQUE, LOAD, LOAD_T, DAMPING, DAMPING_T = range(0, 24, 3)
V_OLD, P_OLD, BUILT = 24, 27, 30
SCRATCH_ROWS = 33
# rows of work: nodes and frames before a drift, a trial of the nodes
OLD_R, OLD_Q, TRIAL = 0, 3, 7
WORK_ROWS = 10

# why the march paused
DONE, LEFT_ROD, SINGULAR, NEAR_PARALLEL, EVENTS_FULL, NOT_FINITE, SEARCH = range(7)
# columns of an event; places in elements, `press` a force [N], or a velocity [m/s] when a contact
# closes, slip velocity [m/s]
TIME, CONTACT, MODE_BEFORE, MODE_AFTER, KIND_OF, S_1, S_2, PRESSING, SLIPPING = range(9)
EVENT_COLUMNS = 9
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES = range(5)
# rows of sums [J]: work of loads and clamps, heat of damping, lost in impacts and to the scheme
EXTERNAL, VISCOUS, IMPACT, ALGORITHMIC = range(4)
# columns of sums: in all, and of the last kick
TOTAL, LATEST = range(2)
MOST_IMPACTS = 64
_SPREAD = 1e-12


@kernel
def approaching(q: Matrix, c: int, index: Ints, geom: Matrix, v: Matrix, p: Matrix) -> float:
    """Return u . n: positive when the surfaces close in."""
    ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
    return ux * geom[c, N] + uy * geom[c, N + 1] + uz * geom[c, N + 2]


@kernel
def first_impact(
    r0: Matrix,
    v: Matrix,
    h: float,
    trial: Matrix,
    place: Matrix,
    index: Ints,
    geom: Matrix,
    law: Matrix,
) -> tuple[int, float]:
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
    events: Matrix,
    written: Ints,
    now: float,
    c: int,
    before: int,
    kind: int,
    place: Matrix,
    index: Ints,
    press: float,
    slip: float,
) -> None:
    """Write one event."""
    row = events[written[0]]
    row[TIME], row[CONTACT], row[MODE_BEFORE], row[MODE_AFTER] = now, c, before, index[c, MODE]
    row[KIND_OF], row[S_1], row[S_2] = kind, place[c, 0], place[c, 1]
    row[PRESSING], row[SLIPPING] = press, slip
    written[0] += 1


@kernel
def drift_with_impacts(
    state: State,
    mobility: Matrix,
    touch: Touch,
    spare: Spare,
    h: float,
    now: float,
    step: int,
    events: Matrix,
) -> tuple[int, int]:
    """Drift for h, stopping at every contact that closes; return (code, contact)."""
    r, q, v, p = state.r, state.q, state.v, state.p
    place, index, geom, law = touch.place, touch.marks, touch.geom, touch.law
    written, work = spare.written, spare.work
    old_r, old_q, trial = work[OLD_R:OLD_Q], work[OLD_Q:TRIAL], work[TRIAL:WORK_ROWS]
    opened = False
    for c in range(index.shape[0]):
        opened = opened or index[c, MODE] == OPEN
    left = h
    for hit in range(MOST_IMPACTS if opened else 0):
        copy(r, old_r)
        copy(q, old_q)
        drift(r, q, v, p, left)
        code, c = locate_all(r, place, index, geom)
        if code != INSIDE:
            return code, c
        struck = False
        for k in range(index.shape[0]):
            if index[k, MODE] == OPEN and geom[k, DISTANCE] < law[k, REACH] * (1.0 - _SPREAD):
                struck = struck or approaching(q, k, index, geom, v, p) > 0.0
        if not struck or written[0] >= events.shape[0] - 2:
            return INSIDE, c
        c, part = first_impact(old_r, v, left, trial, place, index, geom, law)
        copy(old_r, r)
        copy(old_q, q)
        drift(r, q, v, p, part * left)
        code, lost = locate_all(r, place, index, geom)
        if code != INSIDE:
            return code, lost
        left -= part * left
        fast = approaching(q, c, index, geom, v, p)
        plastic = law[c, RESTITUTION] == 0.0 or hit > MOST_IMPACTS // 2
        # a bounce shorter than two steps cannot be resolved: the contact closes
        plastic = plastic or step - index[c, CLOSED_AT] <= 2
        done = strike(q, index, geom, law, mobility, v, p, touch.kick, c, plastic)
        spare.sums[IMPACT, TOTAL] += done
        index[c, CLOSED_AT] = step
        before, kind = index[c, MODE], BOUNCES
        if plastic:
            index[c, MODE] = ROLL
            kind = CLOSES
        when = now + h - left
        add_event(events, written, when, c, before, kind, place, index, fast, 0.0)
        if left <= 1e-13 * h:
            return INSIDE, -1
    drift(r, q, v, p, left)
    return locate_all(r, place, index, geom)


@kernel
def solve_contacts(
    state: State, mobility: Matrix, touch: Touch, spare: Spare, shake: bool, ahead: float
) -> float:
    """Find and apply the impulses of closed contacts; return the work of their normal parts [J].

    Their modes follow. With `shake` gaps are held over a drift of length `ahead`, and contacts
    that would have to pull let go.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    place, index, geom, law = touch.place, touch.marks, touch.geom, touch.law
    kick, worst = touch.kick, spare.worst
    for attempt in range(2):
        # work of damping done by contact impulses is part of the mean velocities
        sweeps = kick_contacts(q, index, geom, law, mobility, v, p, kick)
        if attempt == 0:
            worst[MOST_SWEEPS] = max(worst[MOST_SWEEPS], float(sweeps))
            if sweeps < 0:
                worst[STUCK] += 1.0
        settle_modes(index, geom, law, kick)
        if not shake:
            break
        hold_gaps(r, q, v, p, ahead, place, index, geom, law, mobility, kick, spare.work)
        if attempt == 1 or not release(q, index, geom, mobility, v, p, kick):
            break
        # the others feel that it is gone
        withdraw(q, index, geom, mobility, v, p, kick)
    return account(q, index, geom, v, p, kick, worst)


@kernel
def note_changes(
    state: State, touch: Touch, spare: Spare, w: float, now: float, events: Matrix
) -> None:
    """Write an event for every contact whose mode a kick of length w has changed."""
    place, index, geom = touch.place, touch.marks, touch.geom
    written, modes = spare.written, spare.modes
    for c in range(index.shape[0]):
        if index[c, MODE] != modes[c] and modes[c] >= ROLL and written[0] < events.shape[0]:
            kind = OPENS_UP if index[c, MODE] == OPEN else SLIPS
            if index[c, MODE] == ROLL:
                kind = STICKS
            k, g = touch.kick[c], geom[c]
            press = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2]) / w
            ux, uy, uz = slip_velocity(state.q, c, index, geom, state.v, state.p)
            slip = math.sqrt(ux * ux + uy * uy + uz * uz)
            add_event(events, written, now, c, modes[c], kind, place, index, press, slip)


@kernel
def kick_all(
    state: State,
    rods: Table,
    touch: Touch,
    spare: Spare,
    on: Switches,
    w: float,
    ahead: float,
    now: float,
    events: Matrix,
) -> None:
    """Kick all velocities by elastic, dead and contact forces over w.

    `ahead` is the length of the drift that follows, for which gaps are held.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    mat, drag, index, kicks = rods.mat, rods.drag, touch.marks, touch.kick
    scratch, sums = spare.scratch, spare.sums
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    fe, te = scratch[LOAD:LOAD_T], scratch[LOAD_T:DAMPING]
    fd, td = scratch[DAMPING:DAMPING_T], scratch[DAMPING_T:V_OLD]
    elastic(r, q, mat, scratch[SPARE:MOMENT], scratch[MOMENT:FORCE], f, t)
    sums[EXTERNAL, LATEST] = 0.0
    if on.loaded:
        add_loads(f, t, rods.constant, rods.loads, rods.times, rods.factors, now, fe, te)
        sums[EXTERNAL, LATEST] += 0.5 * w * power(q, v, p, fe, te)
    sums[VISCOUS, LATEST] = 0.0
    if on.retarded:
        add_damping(r, q, v, p, w, mat, drag[RETARD], f, t, fd, td, spare.work)
        sums[VISCOUS, LATEST] -= 0.5 * w * power(q, v, p, fd, td)
    measure(q, index, touch.geom, v, p, kicks)
    if on.damped:
        sums[VISCOUS, LATEST] += damped_kick(q, v, p, f, t, mat, drag, w)
    else:
        kick(v, p, f, t, mat, w)
    closed = False
    for c in range(index.shape[0]):
        kicks[c, HEAT_NOW] = 0.0
        spare.modes[c] = index[c, MODE]
        closed = closed or index[c, MODE] >= ROLL
    sums[ALGORITHMIC, LATEST] = 0.0
    if closed:
        done = solve_contacts(state, rods.mobility, touch, spare, on.shake, ahead)
        sums[ALGORITHMIC, LATEST] = done
    if on.loaded:
        sums[EXTERNAL, LATEST] += 0.5 * w * power(q, v, p, fe, te)
    if on.retarded:
        sums[VISCOUS, LATEST] -= 0.5 * w * power(q, v, p, fd, td)
    for k in range(4):
        if k != IMPACT:
            sums[k, TOTAL] += sums[k, LATEST]
    note_changes(state, touch, spare, w, now, events)


@kernel
def withdraw(
    q: Matrix, index: Ints, geom: Matrix, mobility: Matrix, v: Matrix, p: Matrix, kick: Matrix
) -> None:
    """Take back the impulses of closed contacts."""
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            k = kick[c]
            push(q, c, index, geom, -k[P], -k[P + 1], -k[P + 2], mobility, v, p)


@kernel
def moved(r: Matrix, built: Matrix, limit: float) -> bool:
    """Return whether any node is farther than `limit` from where it was at the last search."""
    for i in range(r.shape[1]):
        d2 = (r[0, i] - built[0, i]) ** 2 + (r[1, i] - built[1, i]) ** 2
        if d2 + (r[2, i] - built[2, i]) ** 2 > limit * limit:
            return True
    return False


@kernel
def march(
    state: State,
    rods: Table,
    touch: Touch,
    spare: Spare,
    on: Switches,
    h: float,
    last: float,
    now: float,
    step: int,
    steps: int,
    limit: float,
    events: Matrix,
) -> tuple[int, int, int]:
    """Take `steps` steps of h; return (why it paused, steps taken, contact).

    A step is a drift and the kick after it; the last kick lasts `last` and leaves the
    velocities before it in scratch. It pauses after a whole step. `written` counts the events.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    mat, driven = rods.mat, rods.driven
    scratch, sums, worst, written = spare.scratch, spare.sums, spare.worst, spare.written
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    most = events.shape[0] - 4 * touch.marks.shape[0] - 2
    written[0] = 0
    for k in range(steps):
        if driven.shape[0] > 0:
            sums[EXTERNAL, TOTAL] -= clamp_energy(q, v, p, mat, driven)
            follow_clamps(r, q, v, p, driven, now, h)
            sums[EXTERNAL, TOTAL] += clamp_energy(q, v, p, mat, driven)
            # the second half of the last kick, at the velocity the clamp has from here on
            done = clamp_power(q, v, p, f, t, driven)
            sums[EXTERNAL, TOTAL] -= 0.5 * worst[LAST_KICK] * done
        code, c = drift_with_impacts(state, rods.mobility, touch, spare, h, now, step + k, events)
        now += h
        if code != INSIDE:
            return code, k, c
        if driven.shape[0] > 0:
            place_frames(q, driven, now)
        w, ahead = h, h
        if k == steps - 1:
            w, ahead = last, 2.0 * last - h
            copy(v, scratch[V_OLD:P_OLD])
            copy(p, scratch[P_OLD:BUILT])
        kick_all(state, rods, touch, spare, on, w, ahead, now, events)
        if driven.shape[0] > 0:
            done = clamp_power(q, v, p, f, t, driven)
            sums[EXTERNAL, TOTAL] -= 0.5 * w * done
            worst[LAST_KICK] = w
        if not math.isfinite(v[0, 1] + p[0, 1] + r[0, r.shape[1] // 2]):
            return NOT_FINITE, k + 1, -1
        if written[0] >= most:
            return EVENTS_FULL, k + 1, -1
        if limit > 0.0 and (c == -2 or moved(r, scratch[BUILT:SCRATCH_ROWS], limit)):
            return SEARCH, k + 1, -1
    return DONE, steps, -1
