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
    COUNT1,
    COUNT2,
    CROSSING,
    CURVE,
    DISTANCE,
    EMPTY,
    FIRST1,
    FIRST2,
    FOUND,
    KIND,
    LINE,
    LINE_BELOW,
    MODE,
    OPEN,
    REACH,
    ROD1,
    ROD2,
    RULE,
    SHAPE,
    TANGENCY,
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


@kernel(borrows=True)
def beside(r: Matrix, touch: Touch, near: float) -> bool:
    """Return whether two rods come nearer again beside a contact, where no other one is known.

    near : gap below which that counts [m]; the search must find what is there
    """
    index, geom, place = touch.marks, touch.geom, touch.place
    for c in range(index.shape[0]):
        if index[c, MODE] < OPEN or index[c, SHAPE] != CURVE or index[c, FOUND] == 0:
            continue
        if geom[c, TANGENCY + 1] < SHALLOW or geom[c, DISTANCE] > NEAR * touch.law[c, REACH]:
            continue
        small, line = FALLS * touch.law[c, REACH], index[c, KIND] == LINE
        for way in (-1.0, 1.0):
            s1 = place[c, 0] + way * NEXT_TO
            s2, falls, least = place[c, 1], False, s1
            before = geom[c, DISTANCE] - touch.law[c, REACH]
            alone = last_one(touch, c, way)
            while abs(s1 - place[c, 0]) <= FAR and 0.0 <= s1 <= index[c, COUNT1]:
                s2, gap, sine2 = nearest(r, c, touch, s1, s2)
                if falls and gap > before and unknown(touch, c, least, line):
                    return True
                falls = 0.0 < s2 < index[c, COUNT2] and gap < min(near, before - small)
                if falls and alone:
                    return True
                falls = falls and sine2 > LINE_BELOW * LINE_BELOW
                if gap > 0.5 * near:
                    # a search finds in time what is behind such a ridge
                    break
                least, before = s1, gap
                s1 += way * NEXT_TO
    return False


@kernel(borrows=True)
def nearest(r: Matrix, c: int, touch: Touch, s1: float, s2: float) -> tuple[float, float, float]:
    """Return the place on the second rod nearest to one on the first, the gap and sine squared.

    From a place a quarter of an element off: one step of Newton's method, and the parabola there.
    """
    index, rule = touch.marks, touch.marks[c, RULE]
    dd, f2, t11, t12, t22, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        x1, u1, _ = axis_point(r, index[c, FIRST1], index[c, COUNT1], s1, a, rule)
        x2, u2, b2 = axis_point(r, index[c, FIRST2], index[c, COUNT2], s2, a, rule)
        dd += (x2 - x1) * (x2 - x1)
        f2 += (x2 - x1) * u2
        t11 += u1 * u1
        t12 += u1 * u2
        t22 += u2 * u2
        c2 += (x2 - x1) * b2
    bend = t22 + c2
    bend = bend if bend > 0.1 * t22 else t22
    to = min(max(s2 + min(max(-f2 / bend, -1.0), 1.0), 0.0), float(index[c, COUNT2]))
    move = to - s2
    dd = max(dd + move * (2.0 * f2 + move * bend), 0.0)
    return to, math.sqrt(dd) - touch.law[c, REACH], 1.0 - t12 * t12 / (t11 * t22)


@kernel(borrows=True)
def last_one(touch: Touch, c: int, way: float) -> bool:
    """Return whether no other contact of the two rods is farther along the first one."""
    index, place = touch.marks, touch.place
    for k in range(index.shape[0]):
        same = index[k, ROD1] == index[c, ROD1] and index[k, ROD2] == index[c, ROD2]
        if k != c and same and index[k, MODE] >= OPEN and way * (place[k, 0] - place[c, 0]) > 0.0:
            return False
    return True


@kernel(borrows=True)
def unknown(touch: Touch, c: int, s1: float, line: bool) -> bool:
    """Return whether no contact of the two rods is near a place on the first one.

    With `line` contact c is none: it is the point of a row, beside which there may be a crossing.
    """
    index = touch.marks
    for k in range(index.shape[0]):
        same = index[k, ROD1] == index[c, ROD1] and index[k, ROD2] == index[c, ROD2]
        same = same and index[k, MODE] >= OPEN and not (k == c and line)
        if same and abs(touch.place[k, 0] - s1) < KNOWN:
            return False
    return True


@kernel(borrows=True)
def drop_doubles(touch: Touch) -> None:
    """Let go of contacts that have run onto the place of another one: one nearest point is left."""
    index, place = touch.marks, touch.place
    for c in range(index.shape[0]):
        if index[c, MODE] < OPEN or index[c, KIND] != CROSSING or index[c, FOUND] == 0:
            continue
        for k in range(c + 1, index.shape[0]):
            if index[k, MODE] < OPEN or index[k, KIND] != CROSSING or index[k, FOUND] == 0:
                continue
            same = index[k, ROD1] == index[c, ROD1] and index[k, ROD2] == index[c, ROD2]
            far = max(abs(place[k, 0] - place[c, 0]), abs(place[k, 1] - place[c, 1]))
            if same and far < SAME:
                if index[k, MODE] > index[c, MODE]:
                    index[c, MODE] = EMPTY
                    break
                index[k, MODE] = EMPTY
