"""Points of contact boundaries and of rigid shapes; coordinates along them, by reference length.

A boundary has m coordinates, one in the plane and two in space, and lies in m + 1 components.
Points come last in the arrays of functions and places. Sums go in the order in which they are
written, so that compiled code which walks along a boundary finds the same bits.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import arctan2, cos, sin
from stiction.solids.arrays import Surface
from stiction.solids.dimensions import frame

__all__ = [
    "Pieces",
    "along",
    "bernstein_at",
    "knots_of",
    "locate",
    "rigid_nearest",
    "rigid_places",
    "rows_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Knots = tuple[Floats, ...]

# entries of the table of a rigid shape: its kind, then a point and the outward normal of a
# plane, or centre and radius of a ball
KIND, CENTRE = range(2)
# values of KIND
PLANE, BALL = 0.0, 1.0


class Rows(NamedTuple):
    """What stands in the rows of a point on a boundary: its place, then derivatives.

    Parameters
    ----------
    orders : of the derivatives by each coordinate
    pairs : (row, a, b) of each second derivative, a <= b
    """

    orders: tuple[tuple[int, ...], ...]
    pairs: tuple[tuple[int, int, int], ...]


@functools.cache
def rows_of(m: int) -> Rows:
    """Return the rows: place, m tangents, and their changes by (a, b) in the order 11, 12, 22."""
    unit = np.eye(m, dtype=np.int64)
    orders = [unit[0] * 0, *unit]
    pairs = []
    for a in range(m):
        for b in range(a, m):
            pairs.append((len(orders), a, b))
            orders.append(unit[a] + unit[b])
    return Rows(tuple(tuple(int(k) for k in order) for order in orders), tuple(pairs))


def knots_of(surface: Surface) -> Knots:
    """Return the coordinates along a boundary at the ends of its elements: reference lengths.

    Each coordinate has its own; where lengths differ across a grid, their mean is taken.
    """
    if len(surface.grid) < 2:
        return (np.concatenate([[0.0], np.cumsum(surface.areas.sum(axis=1))]),)
    found = []
    count = len(surface.grid)
    for a in range(count):
        sides = surface.lengths[:, a].reshape(surface.grid[::-1])
        others = tuple(b for b in range(count) if b != count - 1 - a)
        found.append(np.concatenate([[0.0], np.cumsum(sides.mean(axis=others))]))
    return tuple(found)


def locate(zeta: Floats, knots: Knots) -> tuple[Ints, Floats]:
    """Return elements (p,) and their xi (m, p) for coordinates (m, p), clamped to the boundary.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
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


def along(elements: Ints, xis: Floats, knots: Knots) -> tuple[Floats, Floats]:
    """Return coordinates along the boundary and their change with xi, (m, p) each.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
    """
    found, spans, rest = [], [], elements
    for xi, ends in zip(xis, knots, strict=True):
        e, rest = rest % (ends.size - 1), rest // (ends.size - 1)
        low, high = ends[e], ends[e + 1]
        found.append(low + 0.5 * (1.0 + xi) * (high - low))
        spans.append(0.5 * (high - low))
    return np.stack(found), np.stack(spans)


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


class Pieces:
    """A boundary of piecewise rational polynomials.

    Parameters
    ----------
    surface : its arrays; nodes may be numbered otherwise than in its body
    """

    def __init__(self, surface: Surface) -> None:
        self._nodes = np.ascontiguousarray(surface.nodes.T)
        self._extraction = np.ascontiguousarray(surface.extraction.transpose(2, 1, 0))
        self._weights = np.ascontiguousarray(surface.weights.T)
        self.degrees = surface.degrees or (surface.extraction.shape[2] - 1,)
        self._rows = rows_of(len(self.degrees))

    def _bernstein(self, xis: Floats) -> Floats:
        """Return products of Bernstein polynomials, the first coordinate running fastest."""
        each = [bernstein_at(xi, degree) for xi, degree in zip(xis, self.degrees, strict=True)]
        if len(each) == 1:
            return each[0]
        made = []
        for order in self._rows.orders:
            value = each[0][order[0]]
            for table, k in zip(each[1:], order[1:], strict=True):
                both = table[k][:, None] * value
                value = both.reshape(both.shape[0] * both.shape[1], xis.shape[1])
            made.append(value)
        return np.stack(made)

    def functions(self, elements: Ints, xis: Floats) -> Floats:
        """Return the functions of elements at xi (m, p) and two derivatives, (rows, n, p).

        Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
        """
        product = self._bernstein(xis)[:, :, None]
        taken = self._extraction[:, :, elements]
        f = taken[0] * product[:, 0]
        for k in range(1, taken.shape[0]):
            f += taken[k] * product[:, k]
        f *= self._weights[:, elements]
        w = f[:, 0]
        for i in range(1, f.shape[1]):
            w = w + f[:, i]
        f[0] /= w[0]
        for a in range(1, xis.shape[0] + 1):
            f[a] = (f[a] - f[0] * w[a]) / w[0]
        for row, a, b in self._rows.pairs:
            if a == b:
                rest = f[row] - 2.0 * f[1 + a] * w[1 + a]
            else:
                rest = f[row] - f[1 + a] * w[1 + b] - f[1 + b] * w[1 + a]
            f[row] = (rest - f[0] * w[row]) / w[0]
        return np.asarray(f)

    def places(self, elements: Ints, functions: Floats, x: Floats) -> Floats:
        """Return points of elements, tangents and their changes, (rows, d, p).

        Parameters
        ----------
        functions : (rows, n, p)
        x : (nodes, d) places [m]
        """
        at = x.T[:, self._nodes[:, elements]]
        found = functions[:, None, 0] * at[:, 0]
        for i in range(1, functions.shape[1]):
            found += functions[:, None, i] * at[:, i]
        return np.asarray(found)

    def third(self, elements: Ints, xis: Floats, x: Floats) -> Floats:
        """Return third derivatives of places along a boundary of one coordinate, (d, p).

        Verified by: tests/unit/solids/contact/test_virtual_work.py::test_third_derivatives
        """
        (degree,) = self.degrees
        taken = self._extraction[:, :, elements] * self._weights[:, elements]
        b = self._bernstein(xis)
        # of Bernstein polynomials up to cubic ones
        last = np.array([-0.75, 2.25, -2.25, 0.75]) if degree == 3 else np.zeros(degree + 1)
        raw = [np.einsum("bp,bnp->np", row, taken) for row in b]
        raw.append(np.einsum("b,bnp->np", last, taken))
        w = [row.sum(axis=0) for row in raw]
        f = [raw[0] / w[0]]
        f.append((raw[1] - f[0] * w[1]) / w[0])
        f.append((raw[2] - 2.0 * f[1] * w[1] - f[0] * w[2]) / w[0])
        f.append((raw[3] - 3.0 * f[2] * w[1] - 3.0 * f[1] * w[2] - f[0] * w[3]) / w[0])
        return np.asarray(
            np.einsum("np,ndp->dp", f[3], x[self._nodes[:, elements]].transpose(0, 2, 1))
        )

    def points(self, elements: Ints, xis: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions (rows, n, p), and points with tangents and changes (rows, d, p)."""
        functions = self.functions(elements, xis)
        return functions, self.places(elements, functions, x)


def rigid_nearest(points: Floats, shape: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Return the nearest points of a rigid shape and their coordinates on it.

    The coordinates of a ball are lengths of great circles from the pole on the first axis, in the
    direction of the others: the arc length of a circle in the plane.

    Parameters
    ----------
    points : (d, p) [m]
    shape : KIND, then a point and the outward normal, or centre and radius
    shift : (d,) translation of the shape [m]

    Returns
    -------
    Nearest points, tangents along the coordinates and the normal part of their changes (rows, d,
    p), and coordinates (m, p) [m].

    Source: formulas sheet, section 4.
    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    d = points.shape[0]
    m, centre = d - 1, shape[CENTRE : CENTRE + d]
    away = np.stack([points[k] - shift[k] - centre[k] for k in range(d)])
    layout = rows_of(m)
    found = np.zeros((len(layout.orders), d, points.shape[1]))
    if shape[KIND] == PLANE:
        axes = frame(shape[CENTRE + d : CENTRE + 2 * d])
        s = np.stack([_sum(away * axis[:, None]) for axis in axes])
        for k in range(d):
            found[0, k] = centre[k]
            for a in range(m):
                found[0, k] += s[a] * axes[a, k]
        found[1 : 1 + m] = axes[:, :, None]
    else:
        radius = shape[CENTRE + d]
        r = np.sqrt(_sum(away * away))
        out = away / r
        s, tangents, metric = _on_ball(away, out, radius)
        found[0] = centre[:, None] + radius * out
        found[1 : 1 + m] = tangents
        for row, a, b in layout.pairs:
            found[row] = -out * metric[a, b] / radius
    for k in range(d):
        found[0, k] += shift[k]
    return found, s


def _sum(terms: Floats) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _on_ball(away: Floats, out: Floats, radius: float) -> tuple[Floats, Floats, Floats]:
    """Return coordinates (m, p), tangents (m, d, p) and metric (m, m, p) on a ball."""
    m = out.shape[0] - 1
    aside = np.sqrt(_sum(away[1:] * away[1:])) if m > 1 else np.abs(away[1])
    still = aside == 0.0
    size = np.where(still, 1.0, aside)
    # the direction in which a point lies from the pole, any where it is there
    way = np.where(still, np.eye(m)[0][:, None], away[1:] / size)
    angle = arctan2(aside, away[0])
    s = radius * angle * way
    small = ~(angle > 1e-8)
    # how much longer coordinates are than circles around the pole
    share = np.where(small, 1.0, sin(angle) / np.where(small, 1.0, angle))
    tangents, metric = np.zeros((m, m + 1, out.shape[1])), np.empty((m, m, out.shape[1]))
    for a in range(m):
        tangents[a, 0] = -out[1 + a]
        for b in range(m):
            both, unit = way[a] * way[b], float(a == b)
            tangents[a, 1 + b] = out[0] * both + share * (unit - both)
            metric[a, b] = both + share * share * (unit - both)
    return s, tangents, metric


def rigid_places(s: Floats, shape: Floats, shift: Floats) -> Floats:
    """Return the points (d, p) of a rigid shape at coordinates (m, p) on it.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    m = s.shape[0]
    d = m + 1
    centre = shape[CENTRE : CENTRE + d]
    if shape[KIND] == PLANE:
        axes = frame(shape[CENTRE + d : CENTRE + 2 * d])
        made = [centre[k] + _sum(s * axes[:, k, None]) for k in range(d)]
    else:
        radius = shape[CENTRE + d]
        size = np.sqrt(_sum(s * s)) if m > 1 else np.abs(s[0])
        way = s / np.where(size > 0.0, size, 1.0)
        made = [centre[0] + radius * cos(size / radius)]
        made += [centre[1 + a] + radius * (sin(size / radius) * way[a]) for a in range(m)]
    return np.stack([made[k] + shift[k] for k in range(d)])
