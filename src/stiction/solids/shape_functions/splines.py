"""The C1 spline curve of a contact boundary: B-splines, Hermite curves, and exact arcs of circles.

Quadratic B-splines have single knots between elements, cubic Hermite curves double knots, with
control points in place of the slopes at the nodes; both are C1. The curve interpolates the boundary
at its Greville points, so that a straight boundary stays straight. A rational curve represents an
arc of a circle exactly. In Bezier form, with Bernstein polynomials B_b of degree p on [-1, 1] and
the extraction E of an element, a point of the curve is (docs/theory/solids.md, eq-so-extraction)

    x(xi) = sum_a R_a(xi) x_a,   R_a = w_a sum_b E_ab B_b(xi) / sum_c w_c sum_b E_cb B_b(xi).

`spline_curve` computes E, control points x_a and weights w_a for `elements.layers.layer_of`;
`curve_functions` returns R_a and dR_a/dxi.

With the angle from the middle of an arc as 2 atan(t), a circle is (1 - t^2, 2 t) / (1 + t^2):
one rational parabola, whose polar form at successive knots gives control points and weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.bsplines import bernstein, bezier_extraction, greville, open_knots

__all__ = ["Curve", "curve_functions", "lagrange_extraction", "spline_curve", "vertices"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# angle between two facets above which a boundary has a corner [rad]; the second value is for chords
# of a smooth curve, which form an angle too
_CORNER, _CORNER_OF_CHORDS = np.pi / 6.0, 1.001 * np.pi / 3.0


# distance from the chord over its length below which a boundary is straight: an arc so flat is a
# parabola to rounding, and the nearly parallel normals do not determine its circle
_FLAT = 1e-6


class Curve(NamedTuple):
    """A curve of s elements, n functions on each.

    Parameters
    ----------
    numbers : (s, n) control points of each element, numbered along the curve
    extraction : (s, n, p + 1) function_a = sum_b extraction[a, b] Bernstein_b
    points : (k, 2) control points [m]
    weights : (k,) rational weights, one for splines that are polynomials
    """

    numbers: Ints
    extraction: Floats
    points: Floats
    weights: Floats


def lagrange_extraction(order: int, elements: int) -> Floats:
    """Return extraction (s, n, n) of Lagrange functions in the order first, middle, last."""
    c = np.eye(2) if order == 1 else np.array([[1.0, -0.5, 0.0], [0.0, 2.0, 0.0], [0.0, -0.5, 1.0]])
    return np.tile(c, (elements, 1, 1))


def curve_functions(extraction: Floats, weights: Floats, xi: Floats) -> tuple[Floats, Floats]:
    """Return functions and derivatives (s, q, n) of every element at xi (q,).

    Parameters
    ----------
    extraction : (s, n, p + 1)
    weights : (s, n)

    Verified by: tests/unit/solids/elements/test_splines.py::test_derivatives_of_rational_functions
    """
    b, db = bernstein(extraction.shape[2] - 1, xi)
    f = np.matmul(b, extraction.transpose(0, 2, 1))
    df = np.matmul(db, extraction.transpose(0, 2, 1))
    if (weights == 1.0).all():
        return f, df
    f, df = f * weights[:, None], df * weights[:, None]
    w, dw = f.sum(axis=2, keepdims=True), df.sum(axis=2, keepdims=True)
    f = f / w
    return f, (df - f * dw) / w


def vertices(curve: Curve) -> tuple[Ints, Floats]:
    """Return control points (s + 1, 2) and weights (s + 1, 2) whose mean is each end of an element.

    An end of an open curve is one control point; its second number is -1. The last end of a closed
    curve is the first one.
    """
    f, _ = curve_functions(curve.extraction, curve.weights[curve.numbers], np.array([-1.0]))
    if curve.numbers[-1, -1] != curve.points.shape[0] - 1:
        numbers = np.concatenate([curve.numbers[:, :2], curve.numbers[:1, :2]])
        return numbers, np.concatenate([f[:, 0, :2], f[:1, 0, :2]])
    numbers = np.concatenate([curve.numbers[:, :2], [[curve.numbers[-1, -1], -1]]])
    weights = np.concatenate([f[:, 0, :2], [[1.0, 0.0]]])
    numbers[0], weights[0] = (curve.numbers[0, 0], -1), (1.0, 0.0)
    return numbers, weights


def spline_curve(
    name: str,
    nodes: Floats,
    middles: Floats | None,
    degree: int,
    exact: bool = False,
    closed: bool = False,
) -> Curve:
    """Return the curve of a boundary.

    Parameters
    ----------
    name : of the boundary, for messages
    nodes : (s + 1, 2) positions at the ends of elements [m]
    middles : (s, 2) positions in the middle of elements [m]; None takes a cubic spline through the
        nodes
    degree : 2 for quadratic B-splines, 3 for Hermite curves
    exact : take rational functions, which represent the arc of a circle exactly
    closed : whether the last position is the first one; the curve is then periodic

    Raises
    ------
    ModelError : if the boundary has a corner, or `exact` is set and it is not an arc of a circle.

    Source: Corbett and Sauer 2014; Sauer 2011; Piegl and Tiller 1997 for arcs.
    Verified by: tests/unit/solids/elements/test_splines.py::test_arcs_are_exact
    """
    _refuse_corners(name, nodes, middles, closed)
    # the middles of a mesh determine the shape too, unless all of its facets are straight
    bent = False
    if middles is None:
        middles = _smooth_middles(nodes, closed)
    else:
        bent = not all(map(_straight, np.stack([nodes[:-1], middles, nodes[1:]], axis=1)))
    both = np.insert(nodes, np.arange(1, nodes.shape[0]), middles, axis=0)
    known = both if bent or nodes.shape[0] == 2 else nodes
    if exact and closed:
        why = "the rational curve represents less than a full circle."
        try_ = "split the boundary, or leave exact_arc out."
        got = "exact_arc on a closed boundary"
        raise ModelError(f"Mesh.boundaries[{name!r}]", got, "an open boundary", why, try_)
    if exact and not _straight(known):
        return _arc(name, nodes, known, degree)
    lengths = np.linalg.norm(middles - nodes[:-1], axis=1)
    lengths += np.linalg.norm(nodes[1:] - middles, axis=1)
    breaks = np.concatenate([[0.0], np.cumsum(lengths)])
    if closed:
        numbers, extraction = _closed_elements(breaks, degree)
    else:
        numbers, extraction, _ = _open_elements(breaks, degree)
    points = _interpolated(numbers, extraction, nodes, middles, closed)
    return Curve(numbers, extraction, points, np.ones(points.shape[0]))


def _open_elements(breaks: Floats, degree: int) -> tuple[Ints, Floats, Floats]:
    """Return control points and extraction of every element, and the knots of a C1 curve."""
    knots = open_knots(breaks, degree, degree - 1)
    first, extraction = bezier_extraction(knots, degree)
    return first[:, None] + np.arange(degree + 1), extraction, knots


def _closed_elements(breaks: Floats, degree: int) -> tuple[Ints, Floats]:
    """Return control points and extraction of every element of a periodic C1 curve."""
    count, overlap = breaks.size - 1, 2
    length = breaks[-1] - breaks[0]
    extended = np.concatenate(
        [breaks[-1 - overlap : -1] - length, breaks, breaks[1 : 1 + overlap] + length]
    )
    _, extraction, _ = _open_elements(extended, degree)
    first = (degree - 1) * np.arange(count)
    numbers = (first[:, None] + np.arange(degree + 1)) % ((degree - 1) * count)
    return numbers, extraction[overlap:-overlap]


def _interpolated(
    numbers: Ints, extraction: Floats, nodes: Floats, middles: Floats, closed: bool
) -> Floats:
    """Return control points that interpolate the boundary at its ends and Greville points.

    Parameters
    ----------
    numbers, extraction : (s, n) and (s, n, p + 1), as in `Curve`
    nodes, middles : (s + 1, 2) and (s, 2) positions at the ends and in the middle of elements; the
        boundary is the parabola through these three points of each element
    closed : whether the curve is periodic
    """
    from scipy.linalg import solve_banded

    s, n = numbers.shape
    degree = n - 1
    # the Greville points of both kinds of curves: one or two inside each element
    xi = np.array([0.0]) if degree == 2 else np.array([-1.0, 1.0]) / 3.0
    b, _ = bernstein(degree, xi)
    f = np.matmul(b, extraction.transpose(0, 2, 1))
    parabola_weights = np.stack(
        [0.5 * xi * (xi - 1.0), 1.0 - xi * xi, 0.5 * xi * (xi + 1.0)], axis=1
    )
    inside = np.einsum("qk,ksd->sqd", parabola_weights, np.stack([nodes[:-1], middles, nodes[1:]]))
    if closed:
        whole = np.zeros((s * xi.size, s * xi.size))
        row = np.arange(s * xi.size).reshape(s, xi.size, 1)
        whole[np.broadcast_to(row, f.shape), np.broadcast_to(numbers[:, None], f.shape)] = f
        return np.linalg.solve(whole, inside.reshape(-1, 2))
    places = np.concatenate([nodes[:1], inside.reshape(-1, 2), nodes[-1:]])
    count, band = places.shape[0], degree - 1
    matrix = np.zeros((2 * band + 1, count))
    rows = 1 + np.arange(s * xi.size).reshape(s, xi.size, 1)
    columns = np.broadcast_to(numbers[:, None, :], f.shape)
    matrix[(band + rows - columns), columns] = f
    matrix[band, 0] = matrix[band, -1] = 1.0
    return np.asarray(solve_banded((band, band), matrix, places))


def _smooth_middles(nodes: Floats, closed: bool) -> Floats:
    """Return places in the middle of elements, on a cubic spline through the nodes."""
    from scipy.interpolate import CubicSpline

    t = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(nodes, axis=0), axis=1))])
    middles = 0.5 * (t[1:] + t[:-1])
    if closed:
        return np.asarray(CubicSpline(t, nodes, bc_type="periodic")(middles))
    return np.asarray(CubicSpline(t, nodes)(middles))


def _refuse_corners(name: str, nodes: Floats, middles: Floats | None, closed: bool) -> None:
    """Refuse a boundary with a corner, which a C1 curve cannot represent.

    Arguments are those of `spline_curve`.
    """
    if middles is None:
        into = out = np.diff(nodes, axis=0)
        limit = _CORNER_OF_CHORDS
    else:
        # slopes of the parabolas at the ends of elements
        into = nodes[:-1] - 4.0 * middles + 3.0 * nodes[1:]
        out = -3.0 * nodes[:-1] + 4.0 * middles - nodes[1:]
        limit = _CORNER
    a, b = (into, np.roll(out, -1, axis=0)) if closed else (into[:-1], out[1:])
    turn = np.abs(np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], (a * b).sum(axis=1)))
    wrong = np.flatnonzero(turn > limit)
    if wrong.size:
        at = nodes[wrong[0] + 1]
        got = f"a corner of {np.degrees(turn[wrong[0]]):.0f} degrees near "
        got += f"({at[0]:.6g}, {at[1]:.6g})"
        why = "the curve of a spline layer has no corners and would round this corner off."
        try_ = "split the boundary there, or use Q1 or Q2."
        needs = "a smooth boundary"
        raise ModelError(f"Mesh.boundaries[{name!r}]", got, needs, why, try_)


def _straight(nodes: Floats) -> bool:
    along = nodes[-1] - nodes[0]
    away = nodes - nodes[0]
    off = np.abs(away[:, 0] * along[1] - away[:, 1] * along[0]).max()
    return bool(off <= _FLAT * (along @ along))


def _arc(name: str, nodes: Floats, known: Floats, degree: int) -> Curve:
    """Return the arc of the circle through known places as a rational curve."""
    # least-squares circle: |x|^2 = 2 x . centre + (radius^2 - |centre|^2), linear in both
    middle = known.mean(axis=0)
    x = known - middle
    system = np.column_stack([2.0 * x, np.ones(x.shape[0])])
    solution = np.linalg.lstsq(system, (x * x).sum(axis=1), rcond=None)[0]
    centre = middle + solution[:2]
    from_centre = nodes - centre
    size = np.linalg.norm(known - centre, axis=1)
    radius = float(size.mean())
    angle = np.unwrap(np.arctan2(from_centre[:, 1], from_centre[:, 0]))
    total_angle = abs(angle[-1] - angle[0])
    where, why = f"Mesh.boundaries[{name!r}]", "exact_arc follows a circle."
    # the rise of a flat arc is far smaller than its radius
    length = np.linalg.norm(np.diff(nodes, axis=0), axis=1).sum()
    rounding = 8.0 * np.finfo(float).eps * (radius + np.abs(nodes).max())
    if not np.abs(size - radius).max() <= 1e-9 * length + rounding:
        got = f"nodes up to {np.abs(size - radius).max():.3g} off the circle of radius {radius:.6g}"
        needs, try_ = "an arc of a circle, or a straight line", "leave exact_arc out."
        raise ModelError(where, got, needs, why, try_)
    if total_angle > 1.9 * np.pi:
        got, try_ = f"an arc of {np.degrees(total_angle):.0f} degrees", "split the boundary in two."
        raise ModelError(where, got, "at most 342 degrees", why, try_)
    # parameter t of the rational parabola, in the frame e1 (middle of the arc), e2 (along it)
    sense = np.sign(angle[-1] - angle[0])
    towards = 0.5 * (angle[0] + angle[-1])
    t = np.tan(0.5 * sense * (angle - towards))
    e1 = np.array([np.cos(towards), np.sin(towards)])
    e2 = sense * np.array([-e1[1], e1[0]])
    numbers, extraction, knots = _open_elements(t, degree)
    count = knots.size - degree - 1
    at = knots[np.arange(count)[:, None] + np.arange(1, degree + 1)]
    # polar forms of 1 and t are 1 and the mean; that of t^2 is the mean of the products
    product = (at.sum(axis=1) ** 2 - (at * at).sum(axis=1)) / (degree * (degree - 1))
    weights = 1.0 + product
    place = np.outer(1.0 - product, e1) + np.outer(2.0 * greville(knots, degree), e2)
    points = centre + radius * place / weights[:, None]
    # the corners of the mesh themselves, to the last digit
    points[0], points[-1] = nodes[0], nodes[-1]
    return Curve(numbers, extraction, points, weights)
