"""Points of contact boundaries and of rigid shapes; coordinates along them, by reference length.

Points come last in the arrays of functions and places. Sums go in the order in which they are
written, so that compiled code which walks along a curve finds the same bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import arctan2, cos, sin
from stiction.solids.arrays import Surface

__all__ = [
    "Curve",
    "along",
    "bernstein_at",
    "knots_of",
    "locate",
    "rigid_nearest",
    "rigid_places",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# entries of the table of a rigid shape: its kind, then a point and the outward normal of a
# plane, or centre and radius of a circle
KIND, CENTRE_X, CENTRE_Y, OUTWARD_X, OUTWARD_Y = range(5)
RADIUS = 3
# values of KIND
PLANE, CIRCLE = 0.0, 1.0


def knots_of(surface: Surface) -> Floats:
    """Return the coordinate along a boundary at the ends of its elements: reference length."""
    return np.concatenate([[0.0], np.cumsum(surface.areas.sum(axis=1))])


def locate(zeta: Floats, knots: Floats) -> tuple[Ints, Floats]:
    """Return elements and their xi for coordinates along the whole curve, clamped to it.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
    """
    at = np.searchsorted(knots, zeta, side="right") - 1
    e = np.minimum(np.maximum(at, 0), knots.size - 2)
    xi = 2.0 * (zeta - knots[e]) / (knots[e + 1] - knots[e]) - 1.0
    return e, np.minimum(np.maximum(xi, -1.0), 1.0)


def along(elements: Ints, xis: Floats, knots: Floats) -> Floats:
    """Return the coordinates along the whole curve.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_place_along_a_boundary
    """
    low = knots[elements]
    return np.asarray(low + 0.5 * (1.0 + xis) * (knots[elements + 1] - low))


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


class Curve:
    """A boundary of piecewise rational polynomials.

    Parameters
    ----------
    nodes, extraction, weights : of the boundary, as in `Surface`
    """

    def __init__(self, nodes: Ints, extraction: Floats, weights: Floats) -> None:
        self._nodes = np.ascontiguousarray(nodes.T)
        self._extraction = np.ascontiguousarray(extraction.transpose(2, 1, 0))
        self._weights = np.ascontiguousarray(weights.T)

    def functions(self, elements: Ints, xis: Floats) -> Floats:
        """Return the functions of elements at xi and two derivatives, (3, n, p).

        Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
        """
        width = self._extraction.shape[0]
        b = bernstein_at(xis, width - 1)[:, :, None]
        taken = self._extraction[:, :, elements]
        f = taken[0] * b[:, 0]
        for k in range(1, width):
            f += taken[k] * b[:, k]
        f *= self._weights[:, elements]
        w = f[:, 0]
        for i in range(1, f.shape[1]):
            w = w + f[:, i]
        f[0] /= w[0]
        f[1] = (f[1] - f[0] * w[1]) / w[0]
        f[2] = (f[2] - 2.0 * f[1] * w[1] - f[0] * w[2]) / w[0]
        return np.asarray(f)

    def places(self, elements: Ints, functions: Floats, x: Floats) -> Floats:
        """Return points of elements, tangents and their changes, (3, 2, p).

        Parameters
        ----------
        functions : (3, n, p)
        x : (nodes, 2) places [m]
        """
        at = x.T[:, self._nodes[:, elements]]
        found = functions[:, None, 0] * at[:, 0]
        for i in range(1, functions.shape[1]):
            found += functions[:, None, i] * at[:, i]
        return np.asarray(found)

    def points(self, elements: Ints, xis: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions (3, n, p), and points with tangents and their changes (3, 2, p)."""
        functions = self.functions(elements, xis)
        return functions, self.places(elements, functions, x)


def rigid_nearest(points: Floats, shape: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """Return the nearest points of a rigid shape and their coordinates along it.

    Parameters
    ----------
    points : (2, p) [m]
    shape : KIND, then a point and the outward normal, or centre and radius
    shift : (2,) translation of the shape [m]

    Returns
    -------
    Nearest points, tangents by arc length and their changes (3, 2, p), and coordinates (p,) [m].

    Source: formulas sheet, section 4.
    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    x, y = points[0] - shift[0], points[1] - shift[1]
    found = np.zeros((3, 2, x.size))
    if shape[KIND] == PLANE:
        x0, y0, nx, ny = shape[CENTRE_X], shape[CENTRE_Y], shape[OUTWARD_X], shape[OUTWARD_Y]
        s = (y - y0) * nx - (x - x0) * ny
        found[0, 0], found[0, 1] = x0 - s * ny, y0 + s * nx
        found[1, 0], found[1, 1] = -ny, nx
    else:
        radius = shape[RADIUS]
        dx, dy = x - shape[CENTRE_X], y - shape[CENTRE_Y]
        r = np.sqrt(dx * dx + dy * dy)
        out_x, out_y = dx / r, dy / r
        found[0, 0] = shape[CENTRE_X] + radius * out_x
        found[0, 1] = shape[CENTRE_Y] + radius * out_y
        found[1, 0], found[1, 1] = -out_y, out_x
        found[2, 0], found[2, 1] = -out_x / radius, -out_y / radius
        s = radius * arctan2(dy, dx)
    found[0, 0] += shift[0]
    found[0, 1] += shift[1]
    return found, s


def rigid_places(s: Floats, shape: Floats, shift: Floats) -> Floats:
    """Return the points (2, p) of a rigid shape at coordinates along it.

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    if shape[KIND] == PLANE:
        x = shape[CENTRE_X] - s * shape[OUTWARD_Y]
        y = shape[CENTRE_Y] + s * shape[OUTWARD_X]
    else:
        x = shape[CENTRE_X] + shape[RADIUS] * cos(s / shape[RADIUS])
        y = shape[CENTRE_Y] + shape[RADIUS] * sin(s / shape[RADIUS])
    return np.stack([x + shift[0], y + shift[1]])
