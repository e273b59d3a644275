"""What interrupts the steps of the leapfrog: impacts, contacts that let go, changes of mode.

They are rare, and kernels of their own: a run that never meets them never compiles them.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    AT_END,
    CLOSED_AT,
    DISTANCE,
    INSIDE,
    MODE,
    OPEN,
    OPENS,
    REACH,
    RESTITUTION,
    ROLL,
    TOLD_END,
    N,
    P,
    Touch,
    locate,
    push,
    slip_velocity,
)
from stiction.rods.contact.strike_kernels import strike
from stiction.rods.contact.touch_kernels import (
    drive_work,
    hold_gaps,
    kick_contacts,
    locate_all,
    settle_modes,
)
from stiction.rods.leapfrog.march_kernels import (
    BEFORE,
    EXTERNAL,
    IMPACT,
    LOST,
    OLD_Q,
    OLD_R,
    SPREAD,
    TOTAL,
    TRIAL,
    WORK_ROWS,
    Spare,
)
from stiction.rods.rod_kernels import State, copy, drift

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# columns of an event; places in elements, `press` a force [N], or a velocity [m/s] when a contact
# closes, slip velocity [m/s]
TIME, CONTACT, MODE_BEFORE, MODE_AFTER, KIND_OF, S_1, S_2, PRESSING, SLIPPING = range(9)
EVENT_COLUMNS = 9
# the last three: a closed contact comes to an end of a rod, leaves it for the side, and opens there
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES, ENDS, SIDES, FALLS = range(8)
MOST_IMPACTS = 64
# added to TOLD_END
CAME = 4


@kernel(borrows=True)
def approaching(q: Matrix, c: int, index: Ints, geom: Matrix, v: Matrix, p: Matrix) -> float:
    """Return u . n: positive when the surfaces close in."""
    ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
    return ux * geom[c, N] + uy * geom[c, N + 1] + uz * geom[c, N + 2]


@kernel(borrows=True)
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
        if index[c, MODE] != OPEN or geom[c, DISTANCE] >= law[c, REACH] * (1.0 - SPREAD):
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


@kernel(borrows=True)
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
    """Write one event if there is room."""
    if written[0] >= events.shape[0]:
        return
    row = events[written[0]]
    row[TIME], row[CONTACT], row[MODE_BEFORE], row[MODE_AFTER] = now, c, before, index[c, MODE]
    row[KIND_OF], row[S_1], row[S_2] = kind, place[c, 0], place[c, 1]
    row[PRESSING], row[SLIPPING] = press, slip
    written[0] += 1


@kernel(borrows=True)
def impacts(
    state: State,
    mobility: Matrix,
    touch: Touch,
    spare: Spare,
    h: float,
    step: int,
    events: Matrix,
    written: Ints,
) -> int:
    """Go back over a drift of h in which contacts struck, stopping at each; return the code.

    It begins behind the drift, with nodes and frames before it in work.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    place, index, geom, law = touch.place, touch.marks, touch.geom, touch.law
    work, todo = spare.work, spare.todo
    old_r, old_q, trial = work[OLD_R:OLD_Q], work[OLD_Q:TRIAL], work[TRIAL:WORK_ROWS]
    left, now = h, spare.clock[BEFORE]
    for hit in range(MOST_IMPACTS):
        c, part = first_impact(old_r, v, left, trial, place, index, geom, law)
        copy(old_r, r)
        copy(old_q, q)
        drift(r, q, v, p, part * left)
        code, todo[LOST] = locate_all(r, place, index, geom)
        if code != INSIDE:
            return code
        left -= part * left
        fast = approaching(q, c, index, geom, v, p)
        plastic = law[c, RESTITUTION] == 0.0 or hit > MOST_IMPACTS // 2
        # a bounce shorter than two steps cannot be resolved: the contact closes
        plastic = plastic or step - index[c, CLOSED_AT] <= 2
        done = strike(q, index, geom, law, mobility, v, p, touch.kick, c, plastic)
        spare.sums[IMPACT, TOTAL] += done
        spare.sums[EXTERNAL, TOTAL] += drive_work(q, index, geom, mobility, v, p, touch.kick)
        index[c, CLOSED_AT] = step
        before, kind = index[c, MODE], BOUNCES
        if plastic:
            index[c, MODE] = ROLL
            index[c, TOLD_END] = index[c, AT_END]
            kind = CLOSES
        when = now + h - left
        add_event(events, written, when, c, before, kind, place, index, fast, 0.0)
        if left <= 1e-13 * h:
            todo[LOST] = -1
            return INSIDE
        copy(r, old_r)
        copy(q, old_q)
        drift(r, q, v, p, left)
        code, todo[LOST] = locate_all(r, place, index, geom)
        struck = False
        for k in range(index.shape[0]):
            if index[k, MODE] == OPEN and geom[k, DISTANCE] < law[k, REACH] * (1.0 - SPREAD):
                struck = struck or approaching(q, k, index, geom, v, p) > 0.0
        if code != INSIDE or not struck:
            return code
    return INSIDE


@kernel(borrows=True)
def let_go(state: State, mobility: Matrix, touch: Touch, work: Matrix, ahead: float) -> None:
    """Release contacts that would have to pull; solve the others again as they feel it."""
    q, v, p, index, geom, law = state.q, state.v, state.p, touch.marks, touch.geom, touch.law
    kick = touch.kick
    release(q, index, geom, mobility, v, p, kick)
    withdraw(q, index, geom, mobility, v, p, kick)
    kick_contacts(q, index, geom, law, mobility, v, p, kick)
    settle_modes(index, geom, law, kick)
    hold_gaps(state, touch, mobility, ahead, work)


@kernel(borrows=True)
def release(
    q: Matrix, index: Ints, geom: Matrix, mobility: Matrix, v: Matrix, p: Matrix, kick: Matrix
) -> None:
    """Let go of contacts that would have to pull."""
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL or index[c, OPENS] == 0:
            continue
        g, k = geom[c], kick[c]
        if k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2] > 0.0:
            push(q, c, index, geom, -k[P], -k[P + 1], -k[P + 2], mobility, v, p)
            k[P], k[P + 1], k[P + 2] = 0.0, 0.0, 0.0
            index[c, MODE] = OPEN


@kernel(borrows=True)
def withdraw(
    q: Matrix, index: Ints, geom: Matrix, mobility: Matrix, v: Matrix, p: Matrix, kick: Matrix
) -> None:
    """Take back the impulses of closed contacts."""
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            k = kick[c]
            push(q, c, index, geom, -k[P], -k[P + 1], -k[P + 2], mobility, v, p)


@kernel(borrows=True)
def note_changes(
    state: State, touch: Touch, modes: Ints, w: float, now: float, events: Matrix, written: Ints
) -> None:
    """Write an event for every contact that a kick of length w changed, or that met an end."""
    place, index, geom = touch.place, touch.marks, touch.geom
    for c in range(index.shape[0]):
        if index[c, MODE] != modes[c] and modes[c] >= ROLL:
            kind = OPENS_UP if index[c, MODE] == OPEN else SLIPS
            if index[c, MODE] == ROLL:
                kind = STICKS
            elif kind == OPENS_UP and index[c, TOLD_END] >= CAME:
                kind = FALLS
            k, g = touch.kick[c], geom[c]
            press = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2]) / w
            ux, uy, uz = slip_velocity(state.q, c, index, geom, state.v, state.p)
            slip = math.sqrt(ux * ux + uy * uy + uz * uz)
            add_event(events, written, now, c, modes[c], kind, place, index, press, slip)
        told, here = index[c, TOLD_END] & 3, index[c, AT_END]
        if index[c, MODE] >= ROLL and here != told:
            kind = ENDS if here & ~told else SIDES
            index[c, TOLD_END] = here + (CAME if here > 0 else 0)
            before = index[c, MODE]
            add_event(events, written, now, c, before, kind, place, index, 0.0, 0.0)
