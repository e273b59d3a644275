"""What interrupts the steps of the leapfrog: impacts, contacts that let go, changes of mode.

They are rare, and kernels of their own: a run that never meets them never compiles them.

Source: formulas sheet of the rods paper, sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import Annotated

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    INSIDE,
    OPEN,
    ROLL,
    Contact,
    Contacts,
    Touch,
    dot,
    locate,
    push,
    put,
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
from stiction.rods.leapfrog.march_kernels import SPREAD, Spare, places_of
from stiction.rods.rod_kernels import State, copy, drift

# kinds of events; the last three: a closed contact comes to an end of a rod, leaves it for the
# side, and opens there
CLOSES, OPENS_UP, SLIPS, STICKS, BOUNCES, ENDS, SIDES, FALLS = range(8)
MOST_IMPACTS = 64
# steps after a bounce in which another one cannot be resolved
SHORT_HOP = 3
# added to `reported_end`
CAME = 4


class Event(Struct):
    """What changed at a contact, from 0.

    before, after, kind : modes and one of the kinds above
    place : on both bodies [elements]
    pressing : a force [N], or a velocity [m/s] when a contact closes
    slip_speed : [m/s]
    """

    time: float
    contact: int
    before: int
    after: int
    kind: int
    place: Annotated[Vector, 2]
    pressing: float
    slip_speed: float


@kernel
def approaching(q: Matrix, k: Contact, v: Matrix, p: Matrix) -> float:
    """Return u . n: positive when the surfaces close in."""
    ux, uy, uz = slip_velocity(q, k, v, p)
    return ux * k.normal[0] + uy * k.normal[1] + uz * k.normal[2]


@kernel
def first_impact(
    r0: Matrix, v: Matrix, h: float, trial: Matrix, contacts: Contacts
) -> tuple[int, float]:
    """Return (contact, fraction of h) of the first open contact that closes; (-1, 1) if none."""
    size = r0.shape[1]
    found, when = -1, 1.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode != OPEN or k.distance >= k.reach * (1.0 - SPREAD):
            continue
        low, high = 0.0, when
        for _ in range(60):
            middle = 0.5 * (low + high)
            for a in range(3):
                for i in range(size):
                    trial[a, i] = r0[a, i] + middle * h * v[a, i]
            if locate(trial, k) != INSIDE:
                break
            if k.distance < k.reach:
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
    events: Table[Event],
    written: Integers,
    now: float,
    c: int,
    before: int,
    kind: int,
    k: Contact,
    press: float,
    slip: float,
) -> None:
    """Write one event of contact number c if there is room."""
    if written[0] >= events.shape[0]:
        return
    event = events[written[0]]
    event.time, event.contact, event.before, event.after = now, c, before, k.mode
    event.kind, event.place[0], event.place[1] = kind, k.place[0], k.place[1]
    event.pressing, event.slip_speed = press, slip
    written[0] += 1


@kernel
def impacts(
    state: State,
    mobility: Matrix,
    touch: Touch,
    spare: Spare,
    h: float,
    step: int,
    events: Table[Event],
    written: Integers,
) -> int:
    """Go back over a drift of h in which contacts struck, stopping at each; return the code.

    It begins behind the drift, with nodes and frames before it in work.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, sums, tally = touch.contacts, spare.sums[0], spare.tally[0]
    old_r, old_q, trial = places_of(spare.work)
    left, now = h, sums.time_before
    for hit in range(MOST_IMPACTS):
        c, part = first_impact(old_r, v, left, trial, contacts)
        copy(old_r, r)
        copy(old_q, q)
        drift(r, q, v, p, part * left)
        k = contacts[c]
        code, tally.lost = locate_all(r, contacts)
        if code != INSIDE:
            return code
        left -= part * left
        fast = approaching(q, k, v, p)
        plastic = k.restitution == 0.0 or hit > MOST_IMPACTS // 2
        # a bounce that short cannot be resolved: the contact closes
        plastic = plastic or step < k.bounces_from
        sums.impact += strike(q, contacts, mobility, v, p, c, plastic)
        sums.external += drive_work(q, contacts, mobility, v, p)
        k.bounces_from = step + SHORT_HOP
        before, kind = k.mode, BOUNCES
        if plastic:
            k.mode = ROLL
            k.reported_end = k.at_end
            kind = CLOSES
        add_event(events, written, now + h - left, c, before, kind, k, fast, 0.0)
        if left <= 1e-13 * h:
            tally.lost = -1
            return INSIDE
        copy(r, old_r)
        copy(q, old_q)
        drift(r, q, v, p, left)
        code, tally.lost = locate_all(r, contacts)
        struck = False
        for other in range(contacts.shape[0]):
            k = contacts[other]
            if k.mode == OPEN and k.distance < k.reach * (1.0 - SPREAD):
                struck = struck or approaching(q, k, v, p) > 0.0
        if code != INSIDE or not struck:
            return code
    return INSIDE


@kernel
def let_go(state: State, mobility: Matrix, touch: Touch, work: Matrix, ahead: float) -> None:
    """Release contacts that would have to pull; solve the others again as they feel it."""
    q, v, p, contacts = state.q, state.v, state.p, touch.contacts
    release(q, contacts, mobility, v, p)
    withdraw(q, contacts, mobility, v, p)
    kick_contacts(q, contacts, mobility, v, p)
    settle_modes(contacts)
    hold_gaps(state, touch, mobility, ahead, work)


@kernel
def release(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Let go of contacts that would have to pull."""
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL or k.may_open == 0:
            continue
        impulse = k.impulse
        if dot(impulse, k.normal) > 0.0:
            push(q, k, -impulse[0], -impulse[1], -impulse[2], mobility, v, p)
            put(impulse, 0.0, 0.0, 0.0)
            k.mode = OPEN


@kernel
def withdraw(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Take back the impulses of closed contacts."""
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            impulse = k.impulse
            push(q, k, -impulse[0], -impulse[1], -impulse[2], mobility, v, p)


@kernel
def note_changes(
    state: State,
    touch: Touch,
    modes: Integers,
    w: float,
    now: float,
    events: Table[Event],
    written: Integers,
) -> None:
    """Write an event for every contact that a kick of length w changed, or that met an end."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode != modes[c] and modes[c] >= ROLL:
            kind = OPENS_UP if k.mode == OPEN else SLIPS
            if k.mode == ROLL:
                kind = STICKS
            elif kind == OPENS_UP and k.reported_end >= CAME:
                kind = FALLS
            press = -dot(k.impulse, k.normal) / w
            ux, uy, uz = slip_velocity(state.q, k, state.v, state.p)
            slip = math.sqrt(ux * ux + uy * uy + uz * uz)
            add_event(events, written, now, c, modes[c], kind, k, press, slip)
        told, here = k.reported_end & 3, k.at_end
        if k.mode >= ROLL and here != told:
            kind = ENDS if here & ~told else SIDES
            k.reported_end = here + (CAME if here > 0 else 0)
            add_event(events, written, now, c, k.mode, kind, k, 0.0, 0.0)
