"""Vectors in space as tuples (x, y, z) of three numbers, the type `Point`, for kernels.

The contact kernels of `bodies.space` and `rotation` use them, because a tuple allocates no array.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["Point", "cross", "dot", "entries", "minus", "moved", "norm", "point", "unit"]

Point = tuple[float, float, float]


@kernel
def dot(a: Point, b: Point) -> float:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Point, b: Point) -> Point:
    """Return the vector product."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def minus(a: Point, b: Point) -> Point:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def moved(a: Point, s: float, b: Point) -> Point:
    """Return a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel
def norm(a: Point) -> float:
    """Return the length."""
    return math.sqrt(dot(a, a))


@kernel
def unit(a: Point) -> Point:
    """Return the vector over its length."""
    return moved((0.0, 0.0, 0.0), 1.0 / norm(a), a)


@kernel
def point(rows: Matrix, k: int) -> Point:
    """Return the first three numbers of row k."""
    return rows[k, 0], rows[k, 1], rows[k, 2]


@kernel
def entries(a: Vector) -> Point:
    """Return the first three numbers of an array."""
    return a[0], a[1], a[2]
