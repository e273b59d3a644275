"""The contact curve R(s) of a rod: its value, derivatives and weights of nodes, by two rules.

s counts elements from the start of the rod. Node k has the position r_k, elements have the rest
length ds. SPLINE is the uniform cubic B-spline with the nodes as control points. It deviates from
the nodes by ds^2/6 times the curvature. FITTED has the control points
r_k - (r_(k-1) - 2 r_k + r_(k+1)) / 6, so a value depends on six nodes; it reproduces cubics exactly
and smooth curves to order four. The control point at an end is the node; beyond it control points
continue in a straight line. So both curves end at the last node.

Weights of frames are those of the B-spline for both rules. `contact.kernels` calls these functions
for the geometry of contacts; the searches for contacts and overlaps call `axis_point` too. In the
arguments r (3, slots) are the nodes of all rods [m], `first` and `count` first slot and number of
elements of one rod, `axis` a component of space, and x a fraction of an element.

Source: formulas sheet (docs/formulas/rods.md), section 3; docs/decisions/12.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

# values of `rule`
SPLINE, FITTED = 0, 1


@kernel
def weights(x: float, out: Vector) -> None:
    """Set `out` (4,) to the four values of the cubic B-spline at the fraction x in [0, 1)."""
    y = 1.0 - x
    out[0] = y * y * y / 6.0
    out[1] = 2.0 / 3.0 - 0.5 * x * x * (2.0 - x)
    out[2] = 2.0 / 3.0 - 0.5 * y * y * (2.0 - y)
    out[3] = x * x * x / 6.0


@kernel
def point_of(a: float, b: float, c: float, d: float, x: float) -> tuple[float, float, float]:
    """Return value, first and second derivative of the B-spline at fraction x.

    a, b, c, d : the same component of four control points in order
    """
    y = 1.0 - x
    # the four cubics of the uniform B-spline (de Boor), then their first and second derivatives
    value = (
        a * (y * y * y / 6.0)
        + b * (2.0 / 3.0 - 0.5 * x * x * (2.0 - x))
        + c * (2.0 / 3.0 - 0.5 * y * y * (2.0 - y))
        + d * (x * x * x / 6.0)
    )
    slope = (
        -0.5 * y * y * a
        + (1.5 * x * x - 2.0 * x) * b
        + (2.0 * y - 1.5 * y * y) * c
        + 0.5 * x * x * d
    )
    second = y * a + (3.0 * x - 2.0) * b + (3.0 * y - 2.0) * c + x * d
    return value, slope, second


@kernel
def inner_point(r: Matrix, first: int, s: float, axis: int) -> tuple[float, float, float]:
    """Return the result of `axis_point` for SPLINE, faster, for s one element or more from ends."""
    k = math.floor(s)
    x = s - k
    j = first + k - 1
    a, b, c, d = r[axis, j], r[axis, j + 1], r[axis, j + 2], r[axis, j + 3]
    return point_of(a, b, c, d, x)


@kernel
def fitted(r: Matrix, first: int, last: int, i: int, axis: int) -> float:
    """Return component `axis` of the control point i of FITTED, the node itself at an end.

    first, last, i : slots of both end nodes of the rod, and of node i
    """
    if i in (first, last):
        return r[axis, i]
    return (8.0 * r[axis, i] - r[axis, i - 1] - r[axis, i + 1]) / 6.0


@kernel
def spread(w: Vector, outer: Vector, start: int, count: int) -> None:
    """Convert the weights of four control points of FITTED to weights of six nodes.

    w : (4,) weight of the control point, then of the node, start + j of 0, 1, ..., count
    outer : (2,) output, weights of the nodes before and after the four
    """
    before, after = 0.0, 0.0
    old0, old1, old2, old3 = w[0], w[1], w[2], w[3]
    for j in range(4):
        # the control point at an end is the node itself
        if start + j == 0 or start + j == count:
            continue
        # a control point is r_k + (2 r_k - r_(k-1) - r_(k+1)) / 6
        sixth = (old0, old1, old2, old3)[j] / 6.0
        w[j] += 2.0 * sixth
        if j > 0:
            w[j - 1] -= sixth
        else:
            before = -sixth
        if j < 3:
            w[j + 1] -= sixth
        else:
            after = -sixth
    outer[0], outer[1] = before, after


@kernel
def points_of(
    r: Matrix, first: int, count: int, k: int, axis: int, rule: int
) -> tuple[float, float, float, float]:
    """Return component `axis` of the four control points of the curve for k <= s <= k + 1."""
    j = first + k
    b, c = r[axis, j], r[axis, j + 1]
    if rule == FITTED:
        last = first + count
        b, c = fitted(r, first, last, j, axis), fitted(r, first, last, j + 1, axis)
        a = fitted(r, first, last, j - 1, axis) if k > 0 else 2.0 * b - c
        return a, b, c, fitted(r, first, last, j + 2, axis) if k < count - 1 else 2.0 * c - b
    a = r[axis, j - 1] if k > 0 else 2.0 * b - c
    return a, b, c, r[axis, j + 2] if k < count - 1 else 2.0 * c - b


@kernel
def axis_point(
    r: Matrix, first: int, count: int, s: float, axis: int, rule: int
) -> tuple[float, float, float]:
    """Return component `axis` of R, dR/ds and d2R/ds2 [m] at s [elements].

    r : (3, slots) nodes [m], or their velocities; the rod has the slots first to first + count
    """
    k = min(math.floor(s), count - 1)
    a, b, c, d = points_of(r, first, count, k, axis, rule)
    return point_of(a, b, c, d, s - k)


@kernel
def shift(w: Vector, over: int) -> None:
    """Move weights of points beyond an end to the last two points, for a straight extension.

    over : number of the four points before the start, or minus the number after the end
    """
    # r_-1 = 2 r_0 - r_1 and r_-2 = 3 r_0 - 2 r_1: sum and first moment of the weights do not
    # change, so a straight rod has the same contact point and the same force resultant
    a, b, c, d = w[0], w[1], w[2], w[3]
    if over == 1:
        w[0], w[1], w[2], w[3] = b + 2.0 * a, c - a, d, 0.0
    elif over == 2:
        w[0], w[1], w[2], w[3] = c + 2.0 * b + 3.0 * a, d - b - 2.0 * a, 0.0, 0.0
    elif over == -1:
        w[0], w[1], w[2], w[3] = 0.0, a, b - d, c + 2.0 * d
    elif over == -2:
        w[0], w[1], w[2], w[3] = 0.0, 0.0, a - c - 2.0 * d, b + 2.0 * c + 3.0 * d


@kernel
def four_around(s: float, last: int) -> tuple[int, float, int]:
    """Return the first of four points around s, the fraction, and `over` of `shift`.

    Points are 0, 1, ..., last; the four are moved into this range.
    """
    k = math.floor(s)
    x, start = s - k, k - 1
    over = 0
    if start < 0:
        over, start = -start, 0
    elif start > last - 3:
        over, start = last - 3 - start, last - 3
    return start, x, over


@kernel
def apart_from_ends(s: float, count: int, rule: int) -> bool:
    """Return whether the rule is SPLINE and the four nodes and elements around s exist."""
    return rule == SPLINE and s >= 1.5 and s <= count - 1.5
