"""Rare events within steps of the leapfrog: impacts, opening of contacts, changes of mode.

They are separate kernels, so a run without such events does not compile them. Common arguments are
the structs of `stepper_kernels`.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

import math
from typing import Annotated

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.gauss_seidel_kernels import (
    constrain_gaps,
    drive_work,
    kick_contacts,
    locate_all,
    record_sweeps,
    set_modes_from_impulses,
    solve_impact,
)
from stiction.rods.contact.kernels import (
    INSIDE,
    OPEN,
    ROLL,
    Contact,
    Contacts,
    ContactSet,
    dot,
    locate,
    push,
    put,
    slip_velocity,
)
from stiction.rods.leapfrog.stepper_kernels import CLOSING_TOLERANCE, Workspace, places_of
from stiction.rods.rod_kernels import State, copy, drift

# kinds of events; the last three: a closed contact reaches an end of a rod, leaves the end along
# the rod, opens at the end
CLOSES, OPENS, SLIPS, STICKS, BOUNCES, ENDS, SIDES, FALLS = range(8)
MAX_IMPACTS = 64
# number of steps after a bounce that cannot resolve another one
BOUNCE_STEPS = 3
# added to `Contact.reported_end` if the contact moved to the end along the rod
REACHED_END = 4


class Event(Struct):
    """One event of a contact.

    time : [s]
    contact : index of the contact, from 0
    before, after, kind : modes; one of the kinds above
    place : positions s on both bodies [elements]
    pressing : normal force [N]; for an impact the approach velocity [m/s]
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
def approach_speed(q: Matrix, k: Contact, v: Matrix, p: Matrix) -> float:
    """Return the normal approach velocity u . n [m/s], positive if the gap decreases."""
    ux, uy, uz = slip_velocity(q, k, v, p)
    return ux * k.normal[0] + uy * k.normal[1] + uz * k.normal[2]


@kernel
def first_impact(
    r0: Matrix, v: Matrix, h: float, trial: Matrix, contacts: Contacts
) -> tuple[int, float]:
    """Return (contact, fraction of h) of the first open contact that closes; (-1, 1) if none.

    r0 : (3, slots) nodes before a drift of h with velocities v
    trial : (3, slots) work array
    """
    size = r0.shape[1]
    found, when = -1, 1.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode != OPEN or k.distance >= k.reach * (1.0 - CLOSING_TOLERANCE):
            continue
        # bisection in [0, first so far]: nodes move on straight lines, and the gap needs a
        # projection at each trial
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
    """Record one event of contact c if the buffer has room.

    press, slip : `pressing` and `slip_speed` of `Event`
    """
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
    contact_set: ContactSet,
    workspace: Workspace,
    h: float,
    step: int,
    events: Table[Event],
    written: Integers,
) -> int:
    """Repeat a drift of h in which contacts close, and apply each impact; return the code.

    On entry the state is that after the drift, and `work` contains nodes and frames before it.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, sums, tally = contact_set.contacts, workspace.sums[0], workspace.tally[0]
    old_r, old_q, trial = places_of(workspace.work)
    left, now = h, sums.time_before
    for count in range(MAX_IMPACTS):
        # restore the start of the drift, and drift to the first impact
        c, fraction = first_impact(old_r, v, left, trial, contacts)
        copy(old_r, r)
        copy(old_q, q)
        drift(r, q, v, p, fraction * left)
        k = contacts[c]
        code, tally.lost = locate_all(r, contacts)
        if code != INSIDE:
            return code
        left -= fraction * left
        approach = approach_speed(q, k, v, p)
        # after half of the allowed impacts of a step all are plastic, so that bounces end
        plastic = k.restitution == 0.0 or count > MAX_IMPACTS // 2
        # the steps do not resolve so short a bounce: apply a plastic impact
        plastic = plastic or step < k.bounces_from
        sums.impact += solve_impact(q, contacts, mobility, v, p, c, plastic, tally)
        sums.external += drive_work(q, contacts, mobility, v, p)
        k.bounces_from = step + BOUNCE_STEPS
        before, kind = k.mode, BOUNCES
        if plastic:
            k.mode = ROLL
            k.reported_end = k.at_end
            kind = CLOSES
        add_event(events, written, now + h - left, c, before, kind, k, approach, 0.0)
        # the remainder of the drift, with the velocities after the impact; another contact may
        # close in it
        if left <= 1e-13 * h:
            tally.lost = -1
            return INSIDE
        copy(r, old_r)
        copy(q, old_q)
        drift(r, q, v, p, left)
        code, tally.lost = locate_all(r, contacts)
        any_approach = False
        for other in range(contacts.shape[0]):
            k = contacts[other]
            if k.mode == OPEN and k.distance < k.reach * (1.0 - CLOSING_TOLERANCE):
                any_approach = any_approach or approach_speed(q, k, v, p) > 0.0
        if code != INSIDE or not any_approach:
            return code
    return INSIDE


@kernel
def release_and_resolve(
    state: State,
    mobility: Matrix,
    contact_set: ContactSet,
    workspace: Workspace,
    next_drift: float,
) -> None:
    """Release tensile contacts, then solve the remaining contacts again."""
    q, v, p, contacts = state.q, state.v, state.p, contact_set.contacts
    release(q, contacts, mobility, v, p)
    # the other impulses belong to a tensile one: solve all again
    remove_contact_impulses(q, contacts, mobility, v, p)
    sweeps = kick_contacts(q, contacts, mobility, v, p)
    record_sweeps(sweeps, sweeps >= 0, workspace.tally[0])
    set_modes_from_impulses(contacts)
    if not constrain_gaps(state, contact_set, mobility, next_drift, workspace.work):
        workspace.tally[0].unconverged += 1


@kernel
def release(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Open the contacts with tensile impulses, and remove these impulses."""
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
def remove_contact_impulses(
    q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix
) -> None:
    """Remove the impulses of closed contacts from the velocities."""
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            impulse = k.impulse
            push(q, k, -impulse[0], -impulse[1], -impulse[2], mobility, v, p)


@kernel
def note_changes(
    state: State,
    contact_set: ContactSet,
    modes: Integers,
    w: float,
    now: float,
    events: Table[Event],
    written: Integers,
) -> None:
    """Record an event for every contact whose mode or end has changed in a kick of length w.

    modes : (contacts,) modes before the kick
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode != modes[c] and modes[c] >= ROLL:
            kind = OPENS if k.mode == OPEN else SLIPS
            if k.mode == ROLL:
                kind = STICKS
            elif kind == OPENS and k.reported_end >= REACHED_END:
                kind = FALLS
            # mean normal force of the kick
            press = -dot(k.impulse, k.normal) / w
            ux, uy, uz = slip_velocity(state.q, k, state.v, state.p)
            slip = math.sqrt(ux * ux + uy * uy + uz * uz)
            add_event(events, written, now, c, modes[c], kind, k, press, slip)
        reported, at_end = k.reported_end & 3, k.at_end
        if k.mode >= ROLL and at_end != reported:
            kind = ENDS if at_end & ~reported else SIDES
            k.reported_end = at_end + (REACHED_END if at_end > 0 else 0)
            add_event(events, written, now, c, k.mode, kind, k, 0.0, 0.0)
