"""Check rods that cross at a small angle for local minima of the distance without a contact.

Waves in such rods can split one local minimum of the distance in two. A minimum without a contact
would penetrate. These kernels scan the distance from each contact along the first rod in steps of a
quarter of an element. A decrease of the gap towards no existing contact indicates a new minimum.

Source: docs/theory/rods, "Many contacts".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import axis_point
from stiction.rods.contact.kernels import (
    CROSSING,
    CURVE,
    EMPTY,
    LINE,
    LINE_BELOW,
    OPEN,
    Contact,
    Contacts,
    ContactSet,
)

# a determinant of tangency above it is that of a crossing below forty-five degrees
SHALLOW = -0.5
# the search stops this far from the contact, in elements, and looks every quarter of one
SCAN_LENGTH, SCAN_STEP = 4.0, 0.25
# a nearest point is less than one such step from the least of three, and so is a contact there
SAME_MINIMUM = 0.35
# it looks at pairs whose gap is below the reach times this less one
NEAR = 1.25
# places nearer than this, in elements, are the same
DUPLICATE_DISTANCE = 1e-6
# decrease of the gap over the reach, from a contact on, that counts as a decrease
FALLS = 1e-9


@kernel
def has_unpaired_minimum(r: Matrix, contact_set: ContactSet, near: float) -> bool:
    """Return whether the gap of two rods has a local minimum near a contact, without a contact.

    near : gap below which a minimum counts [m]; the search must find it
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < OPEN or k.shape != CURVE or k.from_search == 0:
            continue
        # waves split the minimum only of rods that cross below 45 degrees; the periodic search sees
        # distant ones
        if k.determinant < SHALLOW or k.distance > NEAR * k.reach:
            continue
        small, line = FALLS * k.reach, k.kind == LINE
        for direction in (-1.0, 1.0):
            s1 = k.place[0] + direction * SCAN_STEP
            s2, falls, least = k.place[1], False, s1
            before = k.distance - k.reach
            # beyond the outermost contact any fall of the gap is of a new minimum; between two, a
            # fall may lead to the other
            alone = is_outermost(contacts, k, direction)
            while abs(s1 - k.place[0]) <= SCAN_LENGTH and 0.0 <= s1 <= k.elements[0]:
                s2, gap, sine2 = nearest(r, k, s1, s2)
                # the gap fell and grows again: a minimum at the place before
                if falls and gap > before and no_contact_near(contacts, c, least, line):
                    return True
                falls = 0.0 < s2 < k.elements[1] and gap < min(near, before - small)
                if falls and alone:
                    return True
                falls = falls and sine2 > LINE_BELOW * LINE_BELOW
                if gap > 0.5 * near:
                    # the periodic search covers minima beyond so large a gap
                    break
                least, before = s1, gap
                s1 += direction * SCAN_STEP
    return False


@kernel
def nearest(r: Matrix, k: Contact, s1: float, s2: float) -> tuple[float, float, float]:
    """Return the place on the second rod nearest to one on the first, the gap and sine squared.

    From a place a quarter of an element off: one step of Newton's method, and the parabola there.
    """
    dd, f2, t11, t12, t22, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        x1, u1, _ = axis_point(r, k.first[0], k.elements[0], s1, a, k.rule)
        x2, u2, b2 = axis_point(r, k.first[1], k.elements[1], s2, a, k.rule)
        dd += (x2 - x1) * (x2 - x1)
        f2 += (x2 - x1) * u2
        t11 += u1 * u1
        t12 += u1 * u2
        t22 += u2 * u2
        c2 += (x2 - x1) * b2
    bend = t22 + c2
    # where D . r2'' makes the curvature small, that of the chord
    bend = bend if bend > 0.1 * t22 else t22
    to = min(max(s2 + min(max(-f2 / bend, -1.0), 1.0), 0.0), float(k.elements[1]))
    # |D|^2 after the move, by its expansion of second order: 2 D . t2 and 2 (t2 . t2 + D . r2'')
    move = to - s2
    dd = max(dd + move * (2.0 * f2 + move * bend), 0.0)
    return to, math.sqrt(dd) - k.reach, 1.0 - t12 * t12 / (t11 * t22)


@kernel
def same_pair(one: Contact, other: Contact) -> bool:
    """Return whether two contacts are between the same bodies."""
    a, b = one.bodies, other.bodies
    return bool(a[0] == b[0] and a[1] == b[1])


@kernel
def is_outermost(contacts: Contacts, k: Contact, direction: float) -> bool:
    """Return whether no other contact of the two rods is farther along the first one."""
    for c in range(contacts.shape[0]):
        other = contacts[c]
        farther = direction * (other.place[0] - k.place[0]) > 0.0
        if farther and other.mode >= OPEN and same_pair(k, other):
            return False
    return True


@kernel
def no_contact_near(contacts: Contacts, c: int, s1: float, line: bool) -> bool:
    """Return whether no contact of the two rods is near a place on the first one.

    With `line` contact c is ignored: beside a point of a line contact there may be a crossing.
    """
    for i in range(contacts.shape[0]):
        other = contacts[i]
        if other.mode < OPEN or (i == c and line) or not same_pair(contacts[c], other):
            continue
        if abs(other.place[0] - s1) < SAME_MINIMUM:
            return False
    return True


@kernel
def remove_duplicate_contacts(contact_set: ContactSet) -> None:
    """Remove contacts that converged to the closest points of another contact of the pair."""
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < OPEN or k.kind != CROSSING or k.from_search == 0:
            continue
        for i in range(c + 1, contacts.shape[0]):
            other = contacts[i]
            if other.mode < OPEN or other.kind != CROSSING or other.from_search == 0:
                continue
            a, b = k.place, other.place
            if same_pair(k, other) and max(abs(b[0] - a[0]), abs(b[1] - a[1])) < DUPLICATE_DISTANCE:
                # the closed one of both stays
                if other.mode > k.mode:
                    k.mode = EMPTY
                    break
                other.mode = EMPTY
