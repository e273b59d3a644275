"""Algebra that differs between two and three dimensions: cofactors, normals, small systems.

All other code for bodies and contact is written for d components and surfaces with m = d - 1
coordinates. In NumPy arrays the indices of vectors and matrices come first and points last; kernels
store a matrix row by row in one vector. Each function has one branch for d = 2 (m = 1) and one for
d = 3 (m = 2). Elements, `stress_points` and contact call these functions.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "area_derivatives",
    "cofactor",
    "cofactor_derivative",
    "cofactor_derivative_kernel",
    "cofactor_kernel",
    "crossed",
    "determinant",
    "dot",
    "frame",
    "positive_definite",
    "positive_definite_kernel",
    "solve",
    "solve_kernel",
]

Floats = npt.NDArray[np.float64]
Three = tuple[float, float, float]


def dot(a: Floats, b: Floats) -> Any:
    """Return inner products along the first axis, summed in fixed order."""
    total = a[0] * b[0]
    for k in range(1, a.shape[0]):
        total = total + a[k] * b[k]
    return total


def cofactor(f: Floats) -> tuple[Floats, Any]:
    """Return cofactors and determinant of matrices (d, d, ...): d det F / d F, and det F.

    Verified by: tests/unit/solids/test_dimensions.py::test_cofactors
    """
    if f.shape[0] == 2:
        (a, b), (c, d) = f
        turned = np.empty(f.shape)
        turned[0, 0], turned[0, 1], turned[1, 0], turned[1, 1] = d, -c, -b, a
        return turned, a * d - b * c
    rows = [_cross(f[(i + 1) % 3], f[(i + 2) % 3]) for i in range(3)]
    cofactors = np.stack(rows)
    return cofactors, f[0, 0] * cofactors[0, 0] + f[0, 1] * cofactors[0, 1] + f[0, 2] * cofactors[
        0, 2
    ]


def determinant(f: Floats) -> Any:
    """Return the determinant of matrices (d, d, ...)."""
    if f.shape[0] == 2:
        return f[0, 0] * f[1, 1] - f[0, 1] * f[1, 0]
    return cofactor(f)[1]


def _cross(a: Floats, b: Floats) -> Floats:
    """Return the cross product of vectors, (3, ...)."""
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def cofactor_derivative(a: Floats, b: Floats, f: Floats) -> list[Floats]:
    """Return entries 01, 02, 12 of the skew matrix a . d cof F / d F . b; in the plane only 01.

    Parameters
    ----------
    a, b : (d, ...) gradients of two functions
    f : (d, d, ...)

    Verified by: tests/unit/solids/test_dimensions.py::test_cofactors
    """
    if a.shape[0] == 2:
        return [a[0] * b[1] - a[1] * b[0]]
    w = _cross(a, b)
    x, y, z = (f[i, 0] * w[0] + f[i, 1] * w[1] + f[i, 2] * w[2] for i in range(3))
    return [z, -y, x]


def crossed(tangents: Floats) -> Floats:
    """Return the outward normal (d, ...) to m tangents (m, d, ...), with their area as length.

    A body lies to the left of the tangent of its boundary in the plane; in space the vector is the
    cross product of the two tangents.

    Verified by: tests/unit/solids/test_dimensions.py::test_normals_and_areas
    """
    if tangents.shape[0] == 1:
        return np.stack([tangents[0, 1], -tangents[0, 0]])
    return _cross(tangents[0], tangents[1])


def area_derivatives(tangents: Floats, normal: Floats) -> Floats:
    """Return d area / d tangents (m, d, ...) for tangents (m, d, ...) and their unit normal.

    Verified by: tests/unit/solids/test_dimensions.py::test_normals_and_areas
    """
    if tangents.shape[0] == 1:
        size = np.sqrt(tangents[0, 0] * tangents[0, 0] + tangents[0, 1] * tangents[0, 1])
        return np.asarray(tangents / size)
    return np.stack([_cross(tangents[1], normal), _cross(normal, tangents[0])])


def frame(normal: Floats) -> Floats:
    """Return m unit tangents (m, d) of a surface with unit normal (d,), oriented as in `crossed`.

    For d = 2 there may be many normals (d, p).

    Verified by: tests/unit/solids/test_dimensions.py::test_normals_and_areas
    """
    if normal.shape[0] == 2:
        return np.array([[-normal[1], normal[0]]])
    first = _cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    first = first / np.sqrt(first @ first)
    return np.stack([first, _cross(normal, first)])


def positive_definite(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Return which symmetric matrices (m, m, ...) are positive definite.

    Verified by: tests/unit/solids/test_dimensions.py::test_small_systems
    """
    if matrix.shape[0] == 1:
        return np.asarray(matrix[0, 0] > 0.0)
    (a, b), (_, c) = matrix
    return np.asarray((a > 0.0) & (a * c - b * b > 0.0))


def solve(matrix: Floats, right: Floats) -> Floats:
    """Return the solution (m, ...) of symmetric systems (m, m, ...) for m <= 2.

    Verified by: tests/unit/solids/test_dimensions.py::test_small_systems
    """
    if matrix.shape[0] == 1:
        return np.asarray(right / matrix[0])
    (a, b), (_, c) = matrix
    det = a * c - b * b
    return np.stack([(c * right[0] - b * right[1]) / det, (a * right[1] - b * right[0]) / det])


@functools.cache
def cofactor_kernel(d: int) -> Any:
    """Return the kernel that writes the cofactors of a matrix behind it and returns det.

    Its argument (2 d d,) holds the matrix F, row by row, in the first d d entries; its cofactors
    d det F / dF are written behind it.
    """

    @kernel
    def fill(t: Vector) -> float:
        if d == 2:
            t[4], t[5], t[6], t[7] = t[3], -t[2], -t[1], t[0]
            return t[0] * t[3] - t[1] * t[2]
        for i in range(3):
            j, k = 3 * ((i + 1) % 3), 3 * ((i + 2) % 3)
            t[9 + 3 * i] = t[j + 1] * t[k + 2] - t[j + 2] * t[k + 1]
            t[10 + 3 * i] = t[j + 2] * t[k] - t[j] * t[k + 2]
            t[11 + 3 * i] = t[j] * t[k + 1] - t[j + 1] * t[k]
        return t[0] * t[9] + t[1] * t[10] + t[2] * t[11]

    return fill


@functools.cache
def solve_kernel(m: int) -> Any:
    """Return the kernel that overwrites the right side (m,) by the solution, for m <= 2.

    The matrix (m, m) is symmetric and regular; its lower triangle is not read (Cramer's rule).
    """

    @kernel
    def fill(matrix: Matrix, right: Vector) -> None:
        if m == 1:
            right[0] = right[0] / matrix[0, 0]
            return
        a, b, c = matrix[0, 0], matrix[0, m - 1], matrix[m - 1, m - 1]
        x, y, det = right[0], right[m - 1], a * c - b * b
        right[0], right[m - 1] = (c * x - b * y) / det, (a * y - b * x) / det

    return fill


@functools.cache
def positive_definite_kernel(m: int) -> Any:
    """Return the kernel for whether a symmetric matrix of m <= 2 is positive definite."""

    @kernel
    def test(matrix: Matrix) -> bool:
        a, b, c = matrix[0, 0], matrix[0, m - 1], matrix[m - 1, m - 1]
        return a > 0.0 and (m == 1 or a * c - b * b > 0.0)

    return test


@functools.cache
def cofactor_derivative_kernel(d: int) -> Any:
    """Return the kernel of `cofactor_derivative` for rows i and m of gradients (n, d).

    `f` (d d,) is F row by row. The result is the entries 01, 02, 12; the last two are 0 in a plane.
    """

    @kernel
    def fill(g: Matrix, i: int, m: int, f: Vector) -> Three:
        if d == 2:
            return g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0], 0.0, 0.0
        w0 = g[i, 1] * g[m, 2] - g[i, 2] * g[m, 1]
        w1 = g[i, 2] * g[m, 0] - g[i, 0] * g[m, 2]
        w2 = g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0]
        x = f[0] * w0 + f[1] * w1 + f[2] * w2
        y = f[3] * w0 + f[4] * w1 + f[5] * w2
        z = f[6] * w0 + f[7] * w1 + f[8] * w2
        return z, -y, x

    return fill
