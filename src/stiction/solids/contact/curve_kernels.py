"""Points on contact boundaries: rational Bezier curves, their derivatives, nearest points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["basis_at", "bernstein", "curve_at", "locate", "nearest_all", "nearest_on_curve"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_PROJECTION_STEPS = 60
_MOST_DEGREE = 3


@kernel
def bernstein(xi: float, p: int, b: Floats) -> None:
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
def basis_at(xi: float, extraction: Floats, weights: Floats, b: Floats, f: Floats) -> None:
    """Fill in the functions of one element at xi and two derivatives, f (3, n).

    Parameters
    ----------
    extraction : (n, p + 1) of the element
    weights : (n,) rational weights
    b : scratch, (3, 4)

    Verified by: tests/unit/solids/contact/test_kernels.py::test_rational_basis
    """
    n, width = extraction.shape
    bernstein(xi, width - 1, b)
    w0 = w1 = w2 = 0.0
    for i in range(n):
        f[0, i] = f[1, i] = f[2, i] = 0.0
        for k in range(width):
            f[0, i] += extraction[i, k] * b[0, k]
            f[1, i] += extraction[i, k] * b[1, k]
            f[2, i] += extraction[i, k] * b[2, k]
        for k in range(3):
            f[k, i] *= weights[i]
        w0 += f[0, i]
        w1 += f[1, i]
        w2 += f[2, i]
    for i in range(n):
        r = f[0, i] / w0
        r1 = (f[1, i] - r * w1) / w0
        f[2, i] = (f[2, i] - 2.0 * r1 * w1 - r * w2) / w0
        f[0, i], f[1, i] = r, r1


@kernel
def curve_at(nodes: Ints, f: Floats, x: Floats, out: Floats) -> None:
    """Fill in the point, tangent and its change, out (3, d), from functions f (3, n)."""
    for k in range(3):
        for p in range(x.shape[1]):
            total = 0.0
            for i in range(nodes.size):
                total += f[k, i] * x[nodes[i], p]
            out[k, p] = total


@kernel
def nearest_on_curve(
    point: Floats,
    element: int,
    xi: float,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    neighbours: Ints,
    x: Floats,
    f: Floats,
    b: Floats,
    out: Floats,
) -> tuple[int, float, bool]:
    """Return element and coordinate of the nearest point, and whether the line to it is normal.

    Newton's method on the squared distance from a first guess, from element to element; a
    step never goes uphill, and the number of steps is bounded. `f` (3, n) and `out` (3, d)
    hold functions and place at the result.

    Source: Mergel, Scheibert, Sauer 2021, eq. (7).
    Verified by: tests/unit/solids/contact/test_kernels.py::test_projection_is_orthogonal
    """
    came = -1
    for _ in range(_PROJECTION_STEPS):
        basis_at(xi, extraction[element], weights[element], b, f)
        curve_at(nodes[element], f, x, out)
        slope = curvature = metric = 0.0
        for p in range(point.size):
            away = out[0, p] - point[p]
            slope += away * out[1, p]
            metric += out[1, p] * out[1, p]
            curvature += away * out[2, p]
        step = -slope / (metric + curvature) if curvature > -0.5 * metric else -slope / metric
        if abs(step) <= 1e-14:
            return element, xi, True
        if (step > 0.0 and xi >= 1.0) or (step < 0.0 and xi <= -1.0):
            after = neighbours[element, 1 if step > 0.0 else 0]
            if after == came and came >= 0:
                # a corner that is nearest from both sides
                return element, xi, abs(step) <= 1e-9
            if after < 0:
                return element, xi, False
            came, element = element, after
            xi = -1.0 if step > 0.0 else 1.0
            continue
        xi = min(max(xi + step, -1.0), 1.0)
        if abs(xi) < 1.0:
            came = -1
    return element, xi, abs(step) <= 1e-10


@kernel
def nearest_all(
    points: Floats,
    elements: Ints,
    xis: Floats,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    neighbours: Ints,
    x: Floats,
    normal: Any,
) -> None:
    """Improve element, coordinate and flag of every point's nearest point, in place."""
    n, d = nodes.shape[1], x.shape[1]
    f, b, out = np.empty((3, n)), np.empty((3, _MOST_DEGREE + 1)), np.empty((3, d))
    for q in range(points.shape[0]):
        elements[q], xis[q], normal[q] = nearest_on_curve(
            points[q], elements[q], xis[q], nodes, extraction, weights, neighbours, x, f, b, out
        )


@kernel
def locate(zeta: float, knots: Floats) -> tuple[int, float]:
    """Return the element and its xi for a coordinate along the whole curve, clamped to it."""
    e = min(max(int(np.searchsorted(knots, zeta, side="right")) - 1, 0), knots.size - 2)
    xi = 2.0 * (zeta - knots[e]) / (knots[e + 1] - knots[e]) - 1.0
    return e, min(max(xi, -1.0), 1.0)


@kernel
def along(element: int, xi: float, knots: Vector) -> float:
    """Return the coordinate along the whole curve."""
    return knots[element] + 0.5 * (1.0 + xi) * (knots[element + 1] - knots[element])


@kernel
def rigid_at(x: float, y: float, shape: Vector, out: Matrix) -> float:
    """Return the coordinate of the nearest point of a rigid shape and fill in its place.

    Parameters
    ----------
    x, y : the point, relative to the translation of the shape [m]
    shape : kind (0 plane, 1 circle), then a point and the outward normal, or centre and radius
    out : (3, 2) filled with nearest point, tangent by arc length, and its change

    Source: formulas sheet, section 4.
    Verified by: tests/unit/solids/contact/test_kernels.py::test_rigid_shapes
    """
    if shape[0] == 0.0:
        nx, ny = shape[3], shape[4]
        s = (y - shape[2]) * nx - (x - shape[1]) * ny
        out[0, 0], out[0, 1] = shape[1] - s * ny, shape[2] + s * nx
        out[1, 0], out[1, 1] = -ny, nx
        out[2, 0] = out[2, 1] = 0.0
        return s
    radius = shape[3]
    dx, dy = x - shape[1], y - shape[2]
    r = math.sqrt(dx * dx + dy * dy)
    nx, ny = dx / r, dy / r
    out[0, 0], out[0, 1] = shape[1] + radius * nx, shape[2] + radius * ny
    out[1, 0], out[1, 1] = -ny, nx
    out[2, 0], out[2, 1] = -nx / radius, -ny / radius
    return radius * math.atan2(dy, dx)


@kernel
def rigid_place(s: float, shape: Floats, out: Floats) -> None:
    """Fill in the point of a rigid shape at coordinate s, (2,), before its translation."""
    if shape[0] == 0.0:
        out[0] = shape[1] - s * shape[4]
        out[1] = shape[2] + s * shape[3]
    else:
        out[0] = shape[1] + shape[3] * math.cos(s / shape[3])
        out[1] = shape[2] + shape[3] * math.sin(s / shape[3])
