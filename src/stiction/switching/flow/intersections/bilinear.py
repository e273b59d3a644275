"""Multipliers of codimension-2 sliding: the roots of two bilinear equations. Kernels.

On an intersection h_i = h_j = 0 the field is the convex combination of the fields f(s_i, s_j) of
the four quadrants, with the weights (1 + s_i u) (1 + s_j v) / 4. The multipliers u of surface i and
v of surface j lie in [-1, 1]. The rates of h_i and h_j must be zero,

    a0 + a1 u + a2 v + a3 u v = 0,    b0 + b1 u + b2 v + b3 u v = 0.

Elimination of v gives a quadratic A u^2 + B u + C = 0 whose slope 2 A u + B is minus the
determinant of the Jacobian. So the two roots have determinants of opposite signs. The sign
identifies a root while the coefficients vary along a trajectory, until both roots merge. Equations
without the products u v have one root, which counts as that of positive determinant. The field at a
root is called a sliding vector. `rates.bilinear` computes the coefficients; `rates`, `surfaces` and
`directions` call these kernels.

Source: Filippov 1988, section 19, and Dieci, Lopez 2009, for the sliding vectors; the elimination
is elementary algebra.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.jit import kernel

__all__ = ["Bilinear", "Root", "root", "scaled_discriminant"]

# a product term below this fraction of the other terms is rounding: it is a sum of four rates, each
# a sum of products; 50 roundings
_ROUNDING = 1e-14


class Bilinear(NamedTuple):
    """Coefficients of 1, u, v, u v in the first rate (a) and in the second one (b)."""

    a0: float
    a1: float
    a2: float
    a3: float
    b0: float
    b1: float
    b2: float
    b3: float


class Root(NamedTuple):
    """One sliding vector.

    u, v : multipliers of the first and of the second surface
    det : determinant of the Jacobian there
    good : whether there is such a root
    """

    u: float
    v: float
    det: float
    good: bool


@kernel
def _quadratic(c: Bilinear) -> tuple[float, float, float]:
    """Return A, B, C of the quadratic A u^2 + B u + C = 0."""
    return (
        c.b1 * c.a3 - c.b3 * c.a1,
        c.b0 * c.a3 + c.b1 * c.a2 - c.b2 * c.a1 - c.b3 * c.a0,
        c.b0 * c.a2 - c.b2 * c.a0,
    )


@kernel
def _is_linear(c: Bilinear) -> bool:
    """Return whether both rates are linear: the product terms are rounding."""
    a, b = abs(c.a0) + abs(c.a1) + abs(c.a2), abs(c.b0) + abs(c.b1) + abs(c.b2)
    return abs(c.a3) <= _ROUNDING * a and abs(c.b3) <= _ROUNDING * b


@kernel
def scaled_discriminant(c: Bilinear) -> float:
    """Return the discriminant, scaled to [-2, 2]; 1 if there is only one root."""
    if _is_linear(c):
        return 1.0
    qa, qb, qc = _quadratic(c)
    size = qa * qa + qb * qb + qc * qc
    return (qb * qb - 4.0 * qa * qc) / size if size > 0.0 else 1.0


@kernel
def _sign(value: float) -> float:
    """Return the sign of a number, 0 of zero."""
    return 1.0 if value > 0.0 else -1.0 if value < 0.0 else 0.0


@kernel
def _single_root(c: Bilinear) -> Root:
    """Return the root of linear rates, by Newton's method from (0, 0)."""
    u, v, good = 0.0, 0.0, False
    det = c.a1 * c.b2 - c.a2 * c.b1
    if det == 0.0:
        first = abs(c.a0) + abs(c.a1) + abs(c.a2)
        p0, p1, p2 = (c.a0, c.a1, c.a2) if first > 0.0 else (c.b0, c.b1, c.b2)
        size = abs(p1) + abs(p2)
        # one condition is void: of all roots of the other the one with the least max(|u|, |v|), so
        # that sliding ends where no root is admissible
        if min(first, abs(c.b0) + abs(c.b1) + abs(c.b2)) == 0.0 and size > 0.0:
            u, v = -p0 * _sign(p1) / size, -p0 * _sign(p2) / size
            return Root(u, v, det, True)
        # singular: (0, 0) is a root of homogeneous equations
        return Root(u, v, det, c.a0 == 0.0 and c.b0 == 0.0)
    # chosen: with a3 = b3 = 0 one step suffices, and small products take a few more
    for _ in range(30):
        e1 = c.a0 + c.a1 * u + c.a2 * v + c.a3 * u * v
        e2 = c.b0 + c.b1 * u + c.b2 * v + c.b3 * u * v
        j11, j12, j21, j22 = c.a1 + c.a3 * v, c.a2 + c.a3 * u, c.b1 + c.b3 * v, c.b2 + c.b3 * u
        det = j11 * j22 - j12 * j21
        if det == 0.0:
            break
        du, dv = (e1 * j22 - e2 * j12) / det, (j11 * e2 - j21 * e1) / det
        u, v = u - du, v - dv
        # two roundings
        if abs(du) + abs(dv) <= 4e-16 * (1.0 + abs(u) + abs(v)):
            good = True
            break
    return Root(u, v, det, good)


@kernel
def root(c: Bilinear, sign: float, beyond: bool) -> Root:
    """Return the root whose Jacobian has a determinant of the given sign.

    Parameters
    ----------
    beyond : whether to return the real part of a complex pair of roots, so that the sliding field
        can be evaluated a little after both roots have merged
    """
    if _is_linear(c):
        return _single_root(c) if sign > 0.0 else Root(0.0, 0.0, 0.0, False)
    qa, qb, qc = _quadratic(c)
    discriminant = qb * qb - 4.0 * qa * qc
    if discriminant < 0.0 and not beyond:
        return Root(0.0, 0.0, 0.0, False)
    # u = (slope - B) / (2 A), where the slope 2 A u + B = -+ sqrt(discriminant) is minus the
    # determinant; or u = -2 C / (B + slope), the same number without cancellation
    slope = -sign * math.sqrt(max(discriminant, 0.0))
    numerator, denominator = slope - qb, 2.0 * qa
    if qb * slope > 0.0:
        numerator, denominator = -2.0 * qc, qb + slope
    # a root beyond 1e8 counts as at infinity: admissible roots are at most 1. Chosen
    if denominator == 0.0 or abs(numerator) > 1e8 * abs(denominator):
        return Root(0.0, 0.0, 0.0, False)
    u = numerator / denominator
    d1, d2 = c.a2 + c.a3 * u, c.b2 + c.b3 * u
    w1 = abs(c.a0) + abs(c.a1) + abs(c.a2) + abs(c.a3)
    w2 = abs(c.b0) + abs(c.b1) + abs(c.b2) + abs(c.b3)
    if d1 == 0.0 and d2 == 0.0:
        return Root(0.0, 0.0, 0.0, False)
    # v from the equation in which it has the larger coefficient, in relation to the terms
    v = -(c.a0 + c.a1 * u) / d1 if abs(d1) * w2 >= abs(d2) * w1 else -(c.b0 + c.b1 * u) / d2
    return _refined(c, u, v) if discriminant > 0.0 else Root(u, v, 0.0, True)


@kernel
def _refined(c: Bilinear, u: float, v: float) -> Root:
    """Return the root near (u, v) after two steps of Newton's method."""
    det = 0.0
    for _ in range(2):
        e1 = c.a0 + c.a1 * u + c.a2 * v + c.a3 * u * v
        e2 = c.b0 + c.b1 * u + c.b2 * v + c.b3 * u * v
        j11, j12, j21, j22 = c.a1 + c.a3 * v, c.a2 + c.a3 * u, c.b1 + c.b3 * v, c.b2 + c.b3 * u
        det = j11 * j22 - j12 * j21
        if det == 0.0:
            break
        du, dv = (e1 * j22 - e2 * j12) / det, (j11 * e2 - j21 * e1) / det
        # a larger correction shows that Newton's method is not near this root
        if not abs(du) + abs(dv) < 1e-6 * (1.0 + abs(u) + abs(v)):
            break
        u, v = u - du, v - dv
    return Root(u, v, det, True)
