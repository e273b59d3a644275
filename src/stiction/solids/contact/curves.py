"""Points, tangents and second derivatives on contact boundaries and rigid shapes.

A contact boundary is a curve in the plane or a surface in space, of rational Bezier elements. It
has m = d - 1 coordinates for d components. A point of element e is (docs/theory/solids.md,
eq-so-extraction)

    x(xi) = sum_a R_a(xi) x_a,   R_a = w_a sum_b E_ab B_b(xi) / sum_c w_c sum_b E_cb B_b(xi),

with Bernstein polynomials B_b on [-1, 1], the extraction E and rational weights w_a of the element.
Coordinates zeta along a boundary are reference lengths. Points are the last axis of the arrays of
functions and places; rows are those of `derivative_layout`. Sums have a fixed order, so that
compiled kernels for the closest-point projection return the same bits. Contact passes, `edges` and
`equilibria.readings` call these functions.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import arctan2, cos, sin
from stiction.solids.arrays import Surface
from stiction.solids.dimensions import dot, frame

__all__ = [
    "RationalBoundary",
    "bernstein_at",
    "boundary_coordinate",
    "closest_on_rigid",
    "derivative_layout",
    "knots_of",
    "locate",
    "points_on_rigid",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Knots = tuple[Floats, ...]

# entries of the table of a rigid shape: its kind, then point and outward normal of a plane, or
# centre and radius of a sphere or circle
KIND, CENTRE = range(2)
# values of KIND
PLANE, SPHERE = 0.0, 1.0


class DerivativeLayout(NamedTuple):
    """Rows of a point on a boundary: its place, then its derivatives.

    Parameters
    ----------
    orders : of the derivative in each coordinate, row by row
    pairs : (row, a, b) of each second derivative, a <= b
    """

    orders: tuple[tuple[int, ...], ...]
    pairs: tuple[tuple[int, int, int], ...]


@functools.cache
def derivative_layout(m: int) -> DerivativeLayout:
    """Return the rows: place, m tangents, second derivatives by (a, b) in the order 11, 12, 22."""
    unit = np.eye(m, dtype=np.int64)
    orders = [unit[0] * 0, *unit]
    pairs = []
    for a in range(m):
        for b in range(a, m):
            pairs.append((len(orders), a, b))
            orders.append(unit[a] + unit[b])
    return DerivativeLayout(tuple(tuple(int(k) for k in order) for order in orders), tuple(pairs))


def knots_of(surface: Surface) -> Knots:
    """Return the coordinates along a boundary at the ends of its elements: reference lengths [m].

    On a surface each coordinate has its own knots, from lengths averaged across the grid.
    """
    if len(surface.grid) < 2:
        return (np.concatenate([[0.0], np.cumsum(surface.areas.sum(axis=1))]),)
    knots = []
    count = len(surface.grid)
    for a in range(count):
        sides = surface.lengths[:, a].reshape(surface.grid[::-1])
        others = tuple(b for b in range(count) if b != count - 1 - a)
        knots.append(np.concatenate([[0.0], np.cumsum(sides.mean(axis=others))]))
    return tuple(knots)


def locate(zeta: Floats, knots: Knots) -> tuple[Ints, Floats]:
    """Return elements (p,) and their xi (m, p) for coordinates along a boundary.

    Parameters
    ----------
    zeta : (m, p) coordinates, reference lengths [m]; values outside are clamped to the ends
    knots : of the boundary, from `knots_of`

    Verified by: tests/unit/solids/contact/test_kernels.py::test_coordinate_along_a_boundary
    """
    element, stride = np.zeros(zeta.shape[1], dtype=np.int64), 1
    xis = []
    for at, ends in zip(zeta, knots, strict=True):
        e = np.searchsorted(ends, at, side="right") - 1
        e = np.minimum(np.maximum(e, 0), ends.size - 2)
        xi = 2.0 * (at - ends[e]) / (ends[e + 1] - ends[e]) - 1.0
        xis.append(np.minimum(np.maximum(xi, -1.0), 1.0))
        element += stride * e
        stride *= ends.size - 1
    return element, np.stack(xis)


def boundary_coordinate(elements: Ints, xis: Floats, knots: Knots) -> tuple[Floats, Floats]:
    """Return coordinates along the boundary and their derivatives with respect to xi, (m, p) each.

    Parameters
    ----------
    elements, xis : (p,) elements and (m, p) xi of points
    knots : of the boundary, from `knots_of`

    Verified by: tests/unit/solids/contact/test_kernels.py::test_coordinate_along_a_boundary
    """
    coordinates, spans, remaining = [], [], elements
    for xi, ends in zip(xis, knots, strict=True):
        e, remaining = remaining % (ends.size - 1), remaining // (ends.size - 1)
        low, high = ends[e], ends[e + 1]
        coordinates.append(low + 0.5 * (1.0 + xi) * (high - low))
        spans.append(0.5 * (high - low))
    return np.stack(coordinates), np.stack(spans)


def bernstein_at(xi: Floats, degree: int) -> Floats:
    """Return the Bernstein polynomials of degree <= 3 on [-1, 1] and two derivatives.

    Returns
    -------
    (3, degree + 1, p).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_bernstein
    """
    t, s = 0.5 * (1.0 + xi), 0.5 * (1.0 - xi)
    none = np.zeros_like(t)
    if degree == 1:
        rows = [[s, t], [none - 0.5, none + 0.5], [none, none]]
    elif degree == 2:
        rows = [[s * s, 2.0 * s * t, t * t], [-s, s - t, t], [none + 0.5, none - 1.0, none + 0.5]]
    else:
        rows = [
            [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t],
            [-1.5 * s * s, 1.5 * s * (s - 2.0 * t), 1.5 * t * (2.0 * s - t), 1.5 * t * t],
            [1.5 * s, 1.5 * (t - 2.0 * s), 1.5 * (s - 2.0 * t), 1.5 * t],
        ]
    return np.array(rows)


class RationalBoundary:
    """A boundary whose elements are rational Bezier curves or patches.

    Parameters
    ----------
    surface : its arrays; nodes need not be numbered as in its body
    """

    def __init__(self, surface: Surface) -> None:
        self._nodes = np.ascontiguousarray(surface.nodes.T)
        self._extraction = np.ascontiguousarray(surface.extraction.transpose(2, 1, 0))
        self._weights = np.ascontiguousarray(surface.weights.T)
        self.degrees = surface.degrees or (surface.extraction.shape[2] - 1,)
        self._rows = derivative_layout(len(self.degrees))

    def _bernstein(self, xis: Floats) -> Floats:
        """Return products of Bernstein polynomials; the first coordinate runs fastest."""
        each = [bernstein_at(xi, degree) for xi, degree in zip(xis, self.degrees, strict=True)]
        if len(each) == 1:
            return each[0]
        products = []
        for order in self._rows.orders:
            value = each[0][order[0]]
            for table, k in zip(each[1:], order[1:], strict=True):
                both = table[k][:, None] * value
                value = both.reshape(both.shape[0] * both.shape[1], xis.shape[1])
            products.append(value)
        return np.stack(products)

    def functions(self, elements: Ints, xis: Floats) -> Floats:
        """Return the functions of elements at xi (m, p) and two derivatives, (rows, n, p).

        Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
        """
        product = self._bernstein(xis)[:, :, None]
        extraction = self._extraction[:, :, elements]
        f = extraction[0] * product[:, 0]
        for k in range(1, extraction.shape[0]):
            f += extraction[k] * product[:, k]
        f *= self._weights[:, elements]
        # w, the sum of all weighted polynomials, has the same rows as f: value, derivatives by the
        # coordinates, second derivatives. The quotient rule for f / w, solved row by row
        w = f[:, 0]
        for i in range(1, f.shape[1]):
            w = w + f[:, i]
        f[0] /= w[0]
        for a in range(1, xis.shape[0] + 1):
            f[a] = (f[a] - f[0] * w[a]) / w[0]
        for row, a, b in self._rows.pairs:
            if a == b:
                numerator = f[row] - 2.0 * f[1 + a] * w[1 + a]
            else:
                numerator = f[row] - f[1 + a] * w[1 + b] - f[1 + b] * w[1 + a]
            f[row] = (numerator - f[0] * w[row]) / w[0]
        return np.asarray(f)

    def places(self, elements: Ints, functions: Floats, x: Floats) -> Floats:
        """Return points of elements, tangents and second derivatives, (rows, d, p).

        Parameters
        ----------
        functions : (rows, n, p)
        x : (nodes, d) positions [m]
        """
        at = x.T[:, self._nodes[:, elements]]
        places = functions[:, None, 0] * at[:, 0]
        for i in range(1, functions.shape[1]):
            places += functions[:, None, i] * at[:, i]
        return np.asarray(places)

    def third(self, elements: Ints, xis: Floats, x: Floats) -> Floats:
        """Return third derivatives of positions along a curve with respect to xi, (d, p).

        Verified by: tests/unit/solids/contact/test_virtual_work.py::test_third_derivatives
        """
        (degree,) = self.degrees
        extraction = self._extraction[:, :, elements] * self._weights[:, elements]
        b = self._bernstein(xis)
        # third derivatives of cubic Bernstein polynomials; zero for lower degrees
        last = np.array([-0.75, 2.25, -2.25, 0.75]) if degree == 3 else np.zeros(degree + 1)
        # numerators and their sum w, from the value to the third derivative; then the quotient rule
        raw = [np.einsum("bp,bnp->np", row, extraction) for row in b]
        raw.append(np.einsum("b,bnp->np", last, extraction))
        w = [row.sum(axis=0) for row in raw]
        f = [raw[0] / w[0]]
        f.append((raw[1] - f[0] * w[1]) / w[0])
        f.append((raw[2] - 2.0 * f[1] * w[1] - f[0] * w[2]) / w[0])
        f.append((raw[3] - 3.0 * f[2] * w[1] - 3.0 * f[1] * w[2] - f[0] * w[3]) / w[0])
        return np.asarray(
            np.einsum("np,ndp->dp", f[3], x[self._nodes[:, elements]].transpose(0, 2, 1))
        )

    def points(self, elements: Ints, xis: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions (rows, n, p), and positions with derivatives (rows, d, p) [m].

        Parameters
        ----------
        elements, xis : (p,) elements and (m, p) xi of points
        x : (nodes, d) positions [m]
        """
        functions = self.functions(elements, xis)
        return functions, self.places(elements, functions, x)


def closest_on_rigid(points: Floats, shape: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Return the closest points on a rigid shape and their coordinates on it.

    The coordinates of a sphere are lengths of great circles from the pole on the first axis, in the
    directions of the other axes; in the plane that is the arc length of a circle.

    Parameters
    ----------
    points : (d, p) [m]
    shape : KIND, then a point and the outward normal, or centre and radius
    shift : (d,) translation of the shape [m]

    Returns
    -------
    Closest points, tangents and the normal part of second derivatives (rows, d, p), and coordinates
    (m, p) [m].

    Source: docs/formulas/solids.md, section 4.
    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    d = points.shape[0]
    m, centre = d - 1, shape[CENTRE : CENTRE + d]
    offset = np.stack([points[k] - shift[k] - centre[k] for k in range(d)])
    layout = derivative_layout(m)
    closest = np.zeros((len(layout.orders), d, points.shape[1]))
    if shape[KIND] == PLANE:
        # coordinates along unit tangents of the plane
        axes = frame(shape[CENTRE + d : CENTRE + 2 * d])
        s = np.stack([dot(offset, axis[:, None]) for axis in axes])
        for k in range(d):
            closest[0, k] = centre[k]
            for a in range(m):
                closest[0, k] += s[a] * axes[a, k]
        closest[1 : 1 + m] = axes[:, :, None]
    else:
        # the closest point lies on the ray from the centre; c_,ab . n = -metric / radius
        radius = shape[CENTRE + d]
        r = np.sqrt(dot(offset, offset))
        out = offset / r
        s, tangents, metric = _on_sphere(offset, out, radius)
        closest[0] = centre[:, None] + radius * out
        closest[1 : 1 + m] = tangents
        for row, a, b in layout.pairs:
            closest[row] = -out * metric[a, b] / radius
    for k in range(d):
        closest[0, k] += shift[k]
    return closest, s


def _on_sphere(offset: Floats, out: Floats, radius: float) -> tuple[Floats, Floats, Floats]:
    """Return coordinates (m, p), tangents (m, d, p) and metric (m, m, p) on a sphere.

    With the angle from the pole: s = radius angle e for a unit direction e, so that the metric is
    e (x) e + (sin angle / angle)^2 (1 - e (x) e).
    """
    m = out.shape[0] - 1
    off_axis = np.sqrt(dot(offset[1:], offset[1:])) if m > 1 else np.abs(offset[1])
    at_pole = off_axis == 0.0
    size = np.where(at_pole, 1.0, off_axis)
    # direction from the pole; at the pole itself any direction
    direction = np.where(at_pole, np.eye(m)[0][:, None], offset[1:] / size)
    angle = arctan2(off_axis, offset[0])
    s = radius * angle * direction
    small = ~(angle > 1e-8)
    # ratio of lengths along circles around the pole to differences of coordinates
    ratio = np.where(small, 1.0, sin(angle) / np.where(small, 1.0, angle))
    tangents, metric = np.zeros((m, m + 1, out.shape[1])), np.empty((m, m, out.shape[1]))
    for a in range(m):
        tangents[a, 0] = -out[1 + a]
        for b in range(m):
            both, unit = direction[a] * direction[b], float(a == b)
            tangents[a, 1 + b] = out[0] * both + ratio * (unit - both)
            metric[a, b] = both + ratio * ratio * (unit - both)
    return s, tangents, metric


def points_on_rigid(s: Floats, shape: Floats, shift: Floats) -> Floats:
    """Return the points (d, p) of a rigid shape at coordinates (m, p) on it.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    m = s.shape[0]
    d = m + 1
    centre = shape[CENTRE : CENTRE + d]
    if shape[KIND] == PLANE:
        axes = frame(shape[CENTRE + d : CENTRE + 2 * d])
        places = [centre[k] + dot(s, axes[:, k, None]) for k in range(d)]
    else:
        radius = shape[CENTRE + d]
        size = np.sqrt(dot(s, s)) if m > 1 else np.abs(s[0])
        direction = s / np.where(size > 0.0, size, 1.0)
        places = [centre[0] + radius * cos(size / radius)]
        places += [centre[1 + a] + radius * (sin(size / radius) * direction[a]) for a in range(m)]
    return np.stack([places[k] + shift[k] for k in range(d)])
