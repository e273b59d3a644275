"""B-splines: basis functions with derivatives, and the operators of Bezier extraction.

A spline of degree p is sum_i N_i(x) P_i with the knot vector t, the basis functions N_i and the
control points P_i. All functions use the polar form (blossom) of a polynomial of degree p: the
symmetric function f(x_1, ..., x_p) that is affine in each argument and equals the polynomial where
all arguments are equal. Then P_i = f(t_{i+1}, ..., t_{i+p}); f at other arguments follows from
these by de Boor's algorithm (`_polar`) and gives basis functions, derivatives and the Bezier
extraction. Isogeometric elements use them (`solids.shape_functions`, `solids.membranes`).

Source: Ramshaw 1989 (blossoms); Borden, Scott, Evans, Hughes 2011 (Bezier extraction).
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = [
    "basis",
    "bernstein",
    "bezier_extraction",
    "greville",
    "open_knots",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def bernstein(degree: int, xi: Floats) -> tuple[Floats, Floats]:
    """Return Bernstein polynomials on [-1, 1] and their derivatives, (..., degree + 1) each.

    Verified by: tests/unit/numerics/test_bsplines.py::test_bernstein
    """
    t, s = 0.5 * (1.0 + np.asarray(xi)), 0.5 * (1.0 - np.asarray(xi))
    b = np.stack([comb(degree, k) * t**k * s ** (degree - k) for k in range(degree + 1)], -1)
    low = np.stack([comb(degree - 1, k) * t**k * s ** (degree - 1 - k) for k in range(degree)], -1)
    zero = np.zeros((*low.shape[:-1], 1))
    d = 0.5 * degree * (np.concatenate([zero, low], -1) - np.concatenate([low, zero], -1))
    return b, d


def open_knots(breaks: Floats, degree: int, multiplicity: int = 1) -> Floats:
    """Return a knot vector that begins and ends on its first and last control point.

    Parameters
    ----------
    breaks : (s + 1,) increasing ends of the s knot spans
    degree : degree of the spline
    multiplicity : multiplicity of interior knots; the spline is C^(degree - multiplicity) there

    Raises
    ------
    ModelError : if the breaks do not increase, or the multiplicity is not from 1 to the degree.
    """
    t = np.asarray(breaks, dtype=np.float64)
    if t.ndim != 1 or t.size < 2 or not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        why, try_ = (
            "knot spans lie between the breaks.",
            "sort the values, and give each value once.",
        )
        got = f"an array of shape {t.shape}"
        if t.ndim == 1:
            got = "one value" if t.size == 1 else f"{t.size} values that do not increase, or NaN"
        raise ModelError("open_knots.breaks", got, "two or more increasing numbers", why, try_)
    if not 1 <= multiplicity <= degree:
        why = "a knot of higher multiplicity than the degree makes the curve discontinuous."
        needs = f"a whole number from 1 to {degree}"
        raise ModelError("open_knots.multiplicity", multiplicity, needs, why, "give 1.")
    inner = np.repeat(t[1:-1], multiplicity)
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def greville(knots: Floats, degree: int) -> Floats:
    """Return the Greville abscissae (t_{i+1} + ... + t_{i+p}) / p, one for each control point.

    They are the coordinates of the control points of the straight line x(t) = t.
    """
    count = knots.size - degree - 1
    indices = np.arange(count)[:, None] + np.arange(1, degree + 1)
    return np.asarray(knots[indices].mean(axis=1))


def basis(knots: Floats, degree: int, x: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the p + 1 basis functions that are nonzero at x, with values and derivatives.

    Parameters
    ----------
    knots : (k,) open knot vector
    degree : degree p
    x : (q,) points in the range of the knots; at a knot the span to its right is used, at the last
        knot the last span

    Returns
    -------
    Number of the first of these functions (q,), values (q, p + 1) and derivatives (q, p + 1).

    Verified by: tests/unit/numerics/test_bsplines.py::test_basis_matches_scipy
    """
    x = np.asarray(x, dtype=np.float64)
    last = knots.size - degree - 2
    while knots[last] == knots[last + 1]:
        last -= 1
    span = np.clip(np.searchsorted(knots, x, side="right") - 1, degree, last)
    arguments = [x] * degree
    values = _polar(knots, degree, span, arguments)
    slopes = degree * _polar(knots, degree, span, arguments, direction=True)
    return span - degree, values, slopes


def bezier_extraction(knots: Floats, degree: int) -> tuple[Ints, Floats]:
    """Return the number of the first function (s,) of each span, and the extraction operators.

    The operators are (s, p + 1, p + 1): on span e, basis function first[e] + a equals
    sum_b extraction[e, a, b] B_b, with the Bernstein polynomials B_b of the span.

    Source: Borden, Scott, Evans, Hughes 2011; here by polar forms, for all spans at once.
    Verified by: tests/unit/numerics/test_bsplines.py::test_extraction_reproduces_the_basis
    """
    span = np.flatnonzero(np.diff(knots) > 0.0)
    low, high = knots[span], knots[span + 1]
    columns = [
        _polar(knots, degree, span, [low] * (degree - b) + [high] * b) for b in range(degree + 1)
    ]
    return span - degree, np.stack(columns, axis=-1)


def _polar(
    knots: Floats, degree: int, span: Ints, arguments: list[Floats], direction: bool = False
) -> Floats:
    """Return the polar form of each of the p + 1 functions of a span, (q, p + 1).

    De Boor's algorithm for unit control points, with another argument at each of its p levels. With
    `direction` the first argument is the unit direction instead of a point: p times the result is
    the derivative.

    Parameters
    ----------
    span : (q,) number of the knot at the left end of the span of each point
    arguments : p arrays (q,)
    """
    d = np.broadcast_to(np.eye(degree + 1), (span.size, degree + 1, degree + 1)).copy()
    for level in range(1, degree + 1):
        for i in range(degree, level - 1, -1):
            left, right = knots[span + i - degree], knots[span + i + 1 - level]
            if direction and level == 1:
                d[:, i] = (d[:, i] - d[:, i - 1]) / (right - left)[:, None]
            else:
                weight = ((arguments[level - 1] - left) / (right - left))[:, None]
                d[:, i] = (1.0 - weight) * d[:, i - 1] + weight * d[:, i]
    return d[:, degree]
