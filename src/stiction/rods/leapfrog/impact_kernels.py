"""Events of contacts, and their records: impacts, opening, changes of mode, ends of rods.

`event_localisation_kernels` finds the events and solves the impacts; the functions here write a
record `Event` for each. The steppers append the records to the event log of the run. Arguments: k
is one contact (`contact.kernels.Contact`), c its number, `now` the time [s], `events` the buffer
and `written` (1,) the number of its events; q (4, slots) are quaternions, v (3, slots) velocities
[m/s], p (3, slots) angular momenta over the inertia [1/s]. u is the slip velocity, the velocity of
the first surface relative to the second, n the normal from the first to the second body.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

from typing import Annotated

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import Contact, ContactSet, slip_velocity

# kinds of events; the last three: a closed contact reaches an end of a rod, leaves the end along
# the rod, opens at the end
CLOSES, OPENS, SLIPS, STICKS, BOUNCES, ENDS, SIDES, FALLS = range(8)
# number of steps after a bounce that cannot resolve another one
BOUNCE_STEPS = 3
# added to `Contact.reported_end` if the contact moved to the end along the rod
REACHED_END = 4


class Event(Struct):
    """One event of a contact.

    time : [s]
    contact : index of the contact, from 0
    before, after : modes OPEN, ROLL or SLIP of `contact.kernels`
    kind : CLOSES to FALLS, a constant of this module
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
def note_end(k: Contact, c: int, now: float, events: Table[Event], written: Integers) -> None:
    """Record an event if contact c has reached an end of a rod, or left it along the rod."""
    # bits 1 and 2 are the ends; REACHED_END: the contact moved to the end along the rod
    reported, at_end = k.reported_end & 3, k.at_end
    if at_end != reported:
        kind = ENDS if at_end & ~reported else SIDES
        k.reported_end = at_end + (REACHED_END if at_end > 0 else 0)
        add_event(events, written, now, c, k.mode, kind, k, 0.0, 0.0)


@kernel
def note_ends(contact_set: ContactSet, now: float, events: Table[Event], written: Integers) -> None:
    """Record an event for every contact that has reached or left an end of a rod."""
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        note_end(contacts[c], c, now, events, written)
