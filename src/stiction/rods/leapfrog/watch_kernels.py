"""Whether rods that cross at a small angle come together beside the points that are watched.

Waves in such rods split the nearest point in two, and the one that no contact follows would go in.
So the distance beside contacts is looked at, in steps of a quarter of an element. Where it falls on
the way from a contact, and no contact is known that it falls towards, another nearest point is.

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
    Touch,
)

# a determinant of tangency above it is that of a crossing below forty-five degrees
SHALLOW = -0.5
# the search stops this far from the contact, in elements, and looks every quarter of one
FAR, NEXT_TO = 4.0, 0.25
# a nearest point is less than one such step from the least of three, and so is a contact there
KNOWN = 0.35
# it looks at pairs whose gap is below the reach times this less one
NEAR = 1.25
# places nearer than this, in elements, are the same
SAME = 1e-6
# a gap that falls by less than this part of the reach on the way from a contact does not fall
FALLS = 1e-9


@kernel
def beside(r: Matrix, touch: Touch, near: float) -> bool:
    """Return whether two rods come nearer again beside a contact, where no other one is known.

    near : gap below which that counts [m]; the search must find what is there
    """
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < OPEN or k.shape != CURVE or k.from_search == 0:
            continue
        if k.determinant < SHALLOW or k.distance > NEAR * k.reach:
            continue
        small, line = FALLS * k.reach, k.kind == LINE
        for way in (-1.0, 1.0):
            s1 = k.place[0] + way * NEXT_TO
            s2, falls, least = k.place[1], False, s1
            before = k.distance - k.reach
            alone = last_one(contacts, k, way)
            while abs(s1 - k.place[0]) <= FAR and 0.0 <= s1 <= k.elements[0]:
                s2, gap, sine2 = nearest(r, k, s1, s2)
                if falls and gap > before and unknown(contacts, c, least, line):
                    return True
                falls = 0.0 < s2 < k.elements[1] and gap < min(near, before - small)
                if falls and alone:
                    return True
                falls = falls and sine2 > LINE_BELOW * LINE_BELOW
                if gap > 0.5 * near:
                    # a search finds in time what is behind such a ridge
                    break
                least, before = s1, gap
                s1 += way * NEXT_TO
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
    bend = bend if bend > 0.1 * t22 else t22
    to = min(max(s2 + min(max(-f2 / bend, -1.0), 1.0), 0.0), float(k.elements[1]))
    move = to - s2
    dd = max(dd + move * (2.0 * f2 + move * bend), 0.0)
    return to, math.sqrt(dd) - k.reach, 1.0 - t12 * t12 / (t11 * t22)


@kernel
def same_bodies(one: Contact, other: Contact) -> bool:
    """Return whether two contacts are between the same bodies."""
    a, b = one.bodies, other.bodies
    return bool(a[0] == b[0] and a[1] == b[1])


@kernel
def last_one(contacts: Contacts, k: Contact, way: float) -> bool:
    """Return whether no other contact of the two rods is farther along the first one."""
    for c in range(contacts.shape[0]):
        other = contacts[c]
        farther = way * (other.place[0] - k.place[0]) > 0.0
        if farther and other.mode >= OPEN and same_bodies(k, other):
            return False
    return True


@kernel
def unknown(contacts: Contacts, c: int, s1: float, line: bool) -> bool:
    """Return whether no contact of the two rods is near a place on the first one.

    With `line` contact c is none: it is the point of a row, beside which there may be a crossing.
    """
    for i in range(contacts.shape[0]):
        other = contacts[i]
        if other.mode < OPEN or (i == c and line) or not same_bodies(contacts[c], other):
            continue
        if abs(other.place[0] - s1) < KNOWN:
            return False
    return True


@kernel
def drop_doubles(touch: Touch) -> None:
    """Let go of contacts that have run onto the place of another one: one nearest point is left."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < OPEN or k.kind != CROSSING or k.from_search == 0:
            continue
        for i in range(c + 1, contacts.shape[0]):
            other = contacts[i]
            if other.mode < OPEN or other.kind != CROSSING or other.from_search == 0:
                continue
            a, b = k.place, other.place
            if same_bodies(k, other) and max(abs(b[0] - a[0]), abs(b[1] - a[1])) < SAME:
                if other.mode > k.mode:
                    k.mode = EMPTY
                    break
                other.mode = EMPTY
