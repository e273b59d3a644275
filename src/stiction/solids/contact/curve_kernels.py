"""Nearest points on contact boundaries, which are rational Bezier curves: walks along them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.contact.curves import Curve

__all__ = ["basis_at", "bernstein", "curve_at", "nearest_all", "points_all"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

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


def _points_plain(
    elements: Ints,
    xis: Floats,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    x: Floats,
    f: Floats,
    b: Floats,
    out: Floats,
    functions: Floats,
    places: Floats,
) -> None:
    functions[...], places[...] = Curve(nodes, extraction, weights).points(elements, xis, x)


@kernel(plain=_points_plain)
def points_all(
    elements: Ints,
    xis: Vector,
    nodes: Ints,
    extraction: Stack,
    weights: Matrix,
    x: Matrix,
    f: Matrix,
    b: Matrix,
    out: Matrix,
    functions: Stack,
    places: Stack,
) -> None:
    """Fill in functions (3, n, p), and points with tangents and their changes (3, 2, p).

    Parameters
    ----------
    elements, xis : (p,) where
    nodes, extraction, weights : of the boundary
    x : (nodes, 2) places
    f, b, out : scratch, (3, n), (3, 4), (3, 2)

    Verified by: tests/unit/solids/contact/test_kernels.py::test_points_of_a_curve
    """
    for q in range(xis.size):
        basis_at(xis[q], elements[q], extraction, weights, b, f)
        curve_at(elements[q], nodes, f, x, out)
        for k in range(3):
            for i in range(f.shape[1]):
                functions[k, i, q] = f[k, i]
            places[k, 0, q], places[k, 1, q] = out[k, 0], out[k, 1]


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


def _nearest_plain(
    points: Floats,
    elements: Ints,
    xis: Floats,
    normal: Bools,
    nodes: Ints,
    extraction: Floats,
    weights: Floats,
    neighbours: Ints,
    x: Floats,
    *scratch: Floats,
) -> None:
    """Walk with all points at once, each as `_walk` does."""
    curve = Curve(nodes, extraction, weights)
    going = np.arange(elements.size)
    came, size = np.full(elements.size, -1), np.zeros(elements.size)
    for _turn in range(_PROJECTION_STEPS):
        if not going.size:
            return
        e, xi = elements[going], xis[going]
        out = curve.points(e, xi, x)[1]
        away = out[0] - points[going].T
        slope = away[0] * out[1, 0] + away[1] * out[1, 1]
        metric = out[1, 0] * out[1, 0] + out[1, 1] * out[1, 1]
        curvature = away[0] * out[2, 0] + away[1] * out[2, 1]
        down = np.where(curvature > -0.5 * metric, metric + curvature, metric)
        step = -slope / down
        size[going] = np.abs(step)
        done, good = size[going] <= 1e-14, size[going] <= 1e-14
        up = step > 0.0
        leaves = ~done & np.where(up, xi >= 1.0, ~up & (xi <= -1.0))
        after = neighbours[e, np.where(up, 1, 0)]
        # a corner that is nearest from both sides
        corner = leaves & (after == came[going]) & (came[going] >= 0)
        good |= corner & (size[going] <= 1e-9)
        done |= corner | (leaves & (after < 0))
        crosses, moves = leaves & ~done, ~leaves & ~done
        come, moved = going[crosses], going[moves]
        came[come] = e[crosses]
        elements[come], xis[come] = after[crosses], np.where(up[crosses], -1.0, 1.0)
        far = xi[moves] + step[moves]
        came[moved[(far > -1.0) & (far < 1.0)]] = -1
        xis[moved] = np.where(far > 1.0, 1.0, np.where(far < -1.0, -1.0, far))
        normal[going[done]] = good[done]
        going = going[~done]
    normal[going] = size[going] <= 1e-10


@kernel(plain=_nearest_plain)
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
