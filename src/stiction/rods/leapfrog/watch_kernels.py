"""Whether rods that cross at a small angle came together beside the point in which they touch.

Waves in such rods split the nearest point in two, and the one that no contact follows goes in. So
beside a closed crossing the distance is looked at, in steps of half an element.

Source: docs/theory/rods, "Many contacts".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    COUNT1,
    COUNT2,
    CROSSING,
    CURVE,
    FIRST1,
    FIRST2,
    FOUND,
    KIND,
    MODE,
    OPEN,
    REACH,
    ROD1,
    ROLL,
    SHAPE,
    TANGENCY,
    Touch,
    axis_point,
)

# a determinant of tangency above it is that of a crossing below thirty degrees
SHALLOW = -0.25
# the search stops this far from the contact, in elements, and looks every half of one
FAR, NEXT_TO = 4.0, 0.5
# a gap beside a contact that is smaller than this part of the reach has been missed
MISSED = -1e-5


@kernel(borrows=True)
def beside(r: Matrix, touch: Touch) -> bool:
    """Return whether two rods touch beside a closed crossing, where no contact is known."""
    index, geom, place = touch.marks, touch.geom, touch.place
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL or index[c, KIND] != CROSSING or index[c, SHAPE] != CURVE:
            continue
        if index[c, FOUND] == 0 or geom[c, TANGENCY + 1] < SHALLOW:
            continue
        for way in (-1.0, 1.0):
            s1, s2 = place[c, 0] + way * NEXT_TO, place[c, 1]
            while abs(s1 - place[c, 0]) <= FAR and 0.0 <= s1 <= index[c, COUNT1]:
                s2, gap = nearest(r, c, touch, s1, s2)
                inside = 0.0 < s2 and s2 < index[c, COUNT2]
                if inside and gap < MISSED * touch.law[c, REACH] and unknown(touch, c, s1):
                    return True
                s1 += way * NEXT_TO
    return False


@kernel(borrows=True)
def nearest(r: Matrix, c: int, touch: Touch, s1: float, s2: float) -> tuple[float, float]:
    """Return the place on the second rod that is nearest to one on the first, and the gap there."""
    index, dd = touch.marks, 0.0
    for _ in range(3):
        dd, f2, t22, c2 = 0.0, 0.0, 0.0, 0.0
        for a in range(3):
            x1, _, _ = axis_point(r, index[c, FIRST1], index[c, COUNT1], s1, a)
            x2, u2, b2 = axis_point(r, index[c, FIRST2], index[c, COUNT2], s2, a)
            dd += (x2 - x1) * (x2 - x1)
            f2 += (x2 - x1) * u2
            t22 += u2 * u2
            c2 += (x2 - x1) * b2
        bend = t22 + c2
        move = -f2 / (bend if bend > 0.1 * t22 else t22)
        s2 = min(max(s2 + min(max(move, -1.0), 1.0), 0.0), float(index[c, COUNT2]))
    return s2, math.sqrt(dd) - touch.law[c, REACH]


@kernel(borrows=True)
def unknown(touch: Touch, c: int, s1: float) -> bool:
    """Return whether no other contact of the two rods is within an element of a place."""
    index = touch.marks
    for k in range(index.shape[0]):
        same = index[k, ROD1] == index[c, ROD1] and index[k, ROD1 + 1] == index[c, ROD1 + 1]
        if k != c and same and index[k, MODE] >= OPEN and abs(touch.place[k, 0] - s1) < 1.0:
            return False
    return True
