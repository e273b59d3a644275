"""Check rods that cross at a small angle for local minima of the distance without a contact.

Waves in such rods can split one local minimum of the distance in two, and rods may penetrate at a
minimum without a contact. These kernels scan the distance from each contact along the first rod in
steps of a quarter of an element. A decrease of the gap that leads to no existing contact indicates
a new minimum, and the run searches for contacts again. `velocity_verlet_kernels` calls
`has_unpaired_minimum` every PROXIMITY_INTERVAL steps, `remove_duplicate_contacts` in each step.

Arguments: r (3, slots) are the nodes of all rods [m], k is one contact (`contact.kernels.Contact`)
and c its number, s1 and s2 are positions on its two rods [elements].

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

# scaled determinant of tangency of a crossing at forty-five degrees; smaller angles have a larger
# one
SHALLOW = -0.5
# length of the scan from the contact, and its step, in elements
SCAN_LENGTH, SCAN_STEP = 4.0, 0.25
# distance, in elements, within which a contact belongs to a minimum of the scan
SAME_MINIMUM = 0.35
# largest distance of the axes of a scanned contact, over the reach
NEAR = 1.25
# positions closer than this, in elements, are the same
DUPLICATE_DISTANCE = 1e-6
# least decrease of the gap in a step of the scan, over the reach, that counts
FALLS = 1e-9


@kernel
def has_unpaired_minimum(r: Matrix, contact_set: ContactSet, near: float) -> bool:
    """Return whether the gap of two rods has a local minimum near a contact, without a contact.

    near : largest gap of a minimum that counts [m]
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < OPEN or k.shape != CURVE or k.from_search == 0:
            continue
        # waves split the minimum only of rods that cross below 45 degrees; the periodic search
        # finds distant minima
        if k.determinant < SHALLOW or k.distance > NEAR * k.reach:
            continue
        small, line = FALLS * k.reach, k.kind == LINE
        for direction in (-1.0, 1.0):
            s1 = k.place[0] + direction * SCAN_STEP
            s2, falls, least = k.place[1], False, s1
            before = k.distance - k.reach
            # beyond the outermost contact any decrease of the gap leads to a new minimum; between
            # two contacts it may lead to the other
            alone = is_outermost(contacts, k, direction)
            while abs(s1 - k.place[0]) <= SCAN_LENGTH and 0.0 <= s1 <= k.elements[0]:
                s2, gap, sine2 = nearest(r, k, s1, s2)
                # the gap has decreased and increases again: a minimum at the last position
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
    """Return the closest point s2 to a point s1, the gap [m], and the squared sine of the angle.

    One Newton step from the guess s2, a quarter of an element away; the gap by a quadratic
    expansion.
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
    second = t22 + c2
    # t2 . t2 alone if D . r2'' makes the second derivative too small
    second = second if second > 0.1 * t22 else t22
    new2 = min(max(s2 + min(max(-f2 / second, -1.0), 1.0), 0.0), float(k.elements[1]))
    # |D|^2 after the move, by its expansion of second order: 2 D . t2 and 2 (t2 . t2 + D . r2'')
    move = new2 - s2
    dd = max(dd + move * (2.0 * f2 + move * second), 0.0)
    return new2, math.sqrt(dd) - k.reach, 1.0 - t12 * t12 / (t11 * t22)


@kernel
def same_pair(one: Contact, other: Contact) -> bool:
    """Return whether two contacts are between the same bodies."""
    a, b = one.bodies, other.bodies
    return bool(a[0] == b[0] and a[1] == b[1])


@kernel
def is_outermost(contacts: Contacts, k: Contact, direction: float) -> bool:
    """Return whether no other contact of the two rods is beyond k in this direction (1 or -1)."""
    for c in range(contacts.shape[0]):
        other = contacts[c]
        farther = direction * (other.place[0] - k.place[0]) > 0.0
        if farther and other.mode >= OPEN and same_pair(k, other):
            return False
    return True


@kernel
def no_contact_near(contacts: Contacts, c: int, s1: float, line: bool) -> bool:
    """Return whether no contact of the rods of contact c is near s1 [elements] on the first one.

    With `line` contact c is ignored: a crossing may be next to a point of a line contact.
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
                # retain the closed one
                if other.mode > k.mode:
                    k.mode = EMPTY
                    break
                other.mode = EMPTY
