"""Points on contact boundaries: rational Bezier curves, their derivatives, nearest points."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "basis_at",
    "bernstein",
    "curve_at",
    "functions_at",
    "nearest_all",
    "places_at",
    "rigid_nearest",
    "rigid_places",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# entries of the table of a rigid shape: its kind, then a point and the outward normal of a
# plane, or centre and radius of a circle
KIND, CENTRE_X, CENTRE_Y, OUTWARD_X, OUTWARD_Y = range(5)
RADIUS = 3
# values of KIND
PLANE, CIRCLE = 0.0, 1.0

_PROJECTION_STEPS = 60


@kernel
def bernstein(xi: float, p: int, b: Matrix) -> None:
    """Fill in the Bernstein polynomials of degree p <= 3 on [-1, 1] and two derivatives, (3, p+1).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_bernstein
    """
    t, s = 0.5 * (1.0 + xi), 0.5 * (1.0 - xi)
    if p == 1:
        b[0, 0], b[0, 1] = s, t
        b[1, 0], b[1, 1] = -0.5, 0.5
        b[2, 0] = b[2, 1] = 0.0
    elif p == 2:
        b[0, 0], b[0, 1], b[0, 2] = s * s, 2.0 * s * t, t * t
        b[1, 0], b[1, 1], b[1, 2] = -s, s - t, t
        b[2, 0], b[2, 1], b[2, 2] = 0.5, -1.0, 0.5
    else:
        b[0, 0], b[0, 1], b[0, 2], b[0, 3] = s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t
        b[1, 0], b[1, 1] = -1.5 * s * s, 1.5 * s * (s - 2.0 * t)
        b[1, 2], b[1, 3] = 1.5 * t * (2.0 * s - t), 1.5 * t * t
        b[2, 0], b[2, 1] = 1.5 * s, 1.5 * (t - 2.0 * s)
        b[2, 2], b[2, 3] = 1.5 * (s - 2.0 * t), 1.5 * t


@kernel
def basis_at(xi: float, e: int, extraction: Stack, weights: Matrix, b: Matrix, f: Matrix) -> None:
    """Fill in the functions of element e at xi and two derivatives, f (3, n).

    Parameters
    ----------
    extraction : (elements, n, p + 1)
    weights : (elements, n) rational weights
    b : scratch, (3, 4)

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rational_basis
    """
    n, width = extraction.shape[1], extraction.shape[2]
    bernstein(xi, width - 1, b)
    w0 = w1 = w2 = 0.0
    for i in range(n):
        f0 = f1 = f2 = 0.0
        for k in range(width):
            f0 += extraction[e, i, k] * b[0, k]
            f1 += extraction[e, i, k] * b[1, k]
            f2 += extraction[e, i, k] * b[2, k]
        f[0, i], f[1, i], f[2, i] = f0 * weights[e, i], f1 * weights[e, i], f2 * weights[e, i]
        w0 += f[0, i]
        w1 += f[1, i]
        w2 += f[2, i]
    for i in range(n):
        r = f[0, i] / w0
        r1 = (f[1, i] - r * w1) / w0
        f[2, i] = (f[2, i] - 2.0 * r1 * w1 - r * w2) / w0
        f[0, i], f[1, i] = r, r1


@kernel
def curve_at(e: int, nodes: Ints, f: Matrix, x: Matrix, out: Matrix) -> None:
    """Fill in the point of element e, tangent and its change, out (3, 2), from functions (3, n)."""
    for k in range(3):
        for p in range(2):
            total = 0.0
            for i in range(nodes.shape[1]):
                total += f[k, i] * x[nodes[e, i], p]
            out[k, p] = total


@kernel
def functions_at(
    elements: Ints, xis: Vector, extraction: Stack, weights: Matrix, b: Matrix, functions: Stack
) -> None:
    """Fill in the functions of a curve and two derivatives at many points, (p, 3, n).

    Parameters
    ----------
    elements, xis : (p,)
    extraction, weights, b : as in `basis_at`
    """
    for q in range(elements.size):
        basis_at(xis[q], elements[q], extraction, weights, b, functions[q])


@kernel
def places_at(elements: Ints, nodes: Ints, functions: Stack, x: Matrix, places: Stack) -> None:
    """Fill in points of a curve, tangents and their changes, (p, 3, 2)."""
    for q in range(elements.size):
        curve_at(elements[q], nodes, functions[q], x, places[q])


@kernel
def _walk(
    point: Vector,
    element: int,
    xi: float,
    nodes: Ints,
    extraction: Stack,
    weights: Matrix,
    neighbours: Ints,
    x: Matrix,
    f: Matrix,
    b: Matrix,
    out: Matrix,
) -> tuple[int, float, bool]:
    """Return element and coordinate of the nearest point, and whether the line to it is normal.

    Newton's method on the squared distance from a first guess, from element to element; a
    step never goes uphill, and the number of steps is bounded.

    Source: Mergel, Scheibert, Sauer 2021, eq. (7).
    """
    came, step = -1, 0.0
    for _ in range(_PROJECTION_STEPS):
        basis_at(xi, element, extraction, weights, b, f)
        curve_at(element, nodes, f, x, out)
        slope = curvature = metric = 0.0
        for p in range(2):
            away = out[0, p] - point[p]
            slope += away * out[1, p]
            metric += out[1, p] * out[1, p]
            curvature += away * out[2, p]
        step = -slope / (metric + curvature) if curvature > -0.5 * metric else -slope / metric
        size = abs(step)
        if size <= 1e-14:
            return element, xi, True
        up = step > 0.0
        if (up and xi >= 1.0) or (not up and xi <= -1.0):
            after = neighbours[element, 1 if up else 0]
            if after == came and came >= 0:
                # a corner that is nearest from both sides
                return element, xi, size <= 1e-9
            if after < 0:
                return element, xi, False
            came, element = element, after
            xi = -1.0 if up else 1.0
            continue
        xi += step
        if xi > 1.0:
            xi = 1.0
        elif xi < -1.0:
            xi = -1.0
        elif -1.0 < xi < 1.0:
            came = -1
    return element, xi, abs(step) <= 1e-10


@kernel
def nearest_all(
    points: Matrix,
    elements: Ints,
    xis: Vector,
    normal: Bools,
    nodes: Ints,
    extraction: Stack,
    weights: Matrix,
    neighbours: Ints,
    x: Matrix,
    f: Matrix,
    b: Matrix,
    out: Matrix,
) -> None:
    """Improve element, coordinate and flag of every point's nearest point, in place.

    Parameters
    ----------
    points : (p, 2)
    elements, xis, normal : (p,) first guesses, improved; whether the line to it is normal
    nodes, extraction, weights, neighbours : of the boundary
    x : (nodes, 2) places
    f, b, out : scratch, (3, n), (3, 4), (3, 2)

    Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
    """
    for q in range(points.shape[0]):
        elements[q], xis[q], normal[q] = _walk(
            points[q], elements[q], xis[q], nodes, extraction, weights, neighbours, x, f, b, out
        )


@kernel
def _rigid_at(x: float, y: float, shape: Vector, out: Matrix) -> float:
    """Return the coordinate of the nearest point of a rigid shape and fill in its place."""
    if shape[KIND] == PLANE:
        x0, y0, nx, ny = shape[CENTRE_X], shape[CENTRE_Y], shape[OUTWARD_X], shape[OUTWARD_Y]
        s = (y - y0) * nx - (x - x0) * ny
        out[0, 0], out[0, 1] = x0 - s * ny, y0 + s * nx
        out[1, 0], out[1, 1] = -ny, nx
        out[2, 0] = out[2, 1] = 0.0
        return s
    radius = shape[RADIUS]
    dx, dy = x - shape[CENTRE_X], y - shape[CENTRE_Y]
    r = math.sqrt(dx * dx + dy * dy)
    nx, ny = dx / r, dy / r
    out[0, 0], out[0, 1] = shape[CENTRE_X] + radius * nx, shape[CENTRE_Y] + radius * ny
    out[1, 0], out[1, 1] = -ny, nx
    out[2, 0], out[2, 1] = -nx / radius, -ny / radius
    return radius * math.atan2(dy, dx)


@kernel
def rigid_nearest(
    points: Matrix, shape: Vector, shift: Vector, places: Stack, coordinates: Vector
) -> None:
    """Fill in the nearest points of a rigid shape and their coordinates along it.

    Parameters
    ----------
    points : (p, 2) [m]
    shape : KIND, then a point and the outward normal, or centre and radius
    shift : (2,) translation of the shape [m]
    places : (p, 3, 2) filled with nearest point, tangent by arc length, and its change
    coordinates : (p,) filled in [m]

    Source: formulas sheet, section 4.
    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    for q in range(points.shape[0]):
        x, y = points[q, 0] - shift[0], points[q, 1] - shift[1]
        coordinates[q] = _rigid_at(x, y, shape, places[q])
        places[q, 0, 0] += shift[0]
        places[q, 0, 1] += shift[1]


@kernel
def rigid_places(coordinates: Vector, shape: Vector, shift: Vector, places: Stack) -> None:
    """Fill in the points of a rigid shape at coordinates along it, in the first rows (p, 3, 2).

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    for q in range(coordinates.size):
        s = coordinates[q]
        if shape[KIND] == PLANE:
            x = shape[CENTRE_X] - s * shape[OUTWARD_Y]
            y = shape[CENTRE_Y] + s * shape[OUTWARD_X]
        else:
            x = shape[CENTRE_X] + shape[RADIUS] * math.cos(s / shape[RADIUS])
            y = shape[CENTRE_Y] + shape[RADIUS] * math.sin(s / shape[RADIUS])
        places[q, 0, 0], places[q, 0, 1] = x + shift[0], y + shift[1]
