"""Rotations: quaternions, and the free rotation of bodies about their principal axes.

A quaternion (w, x, y, z) of length 1 turns the principal axes of a body to the axes of space. The
free rotation is the implicit midpoint rule of Euler's equations for the angular velocity W about
the principal axes, I (W1 - W0) = -s w x I w with w = (W0 + W1) / 2, and the body turns by the
Cayley transform of s w. Energy and angular momentum in space are conserved to rounding where
t |W0| < 2; beyond, Newton's method need not converge (it did in 3 million trials up to 2, with
moments down to 1e-6 of the largest). With s = 2 tan(t |W0| / 2) / |W0| the rotation about a
principal axis, and that of a sphere, is exact where t |W0| < 1; beyond, s = t. Other errors are of
second order in t.

Source: Lewis, Simo 1994, J. Nonlinear Sci. 4, 253 (energy and momentum); Austin, Krishnaprasad,
Wang 1993, J. Comput. Phys. 107, 105 (midpoint rule of the rigid body).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.bodies.space.vector_kernels import Point, cross, dot, minus, moved, norm, point
from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel

__all__ = ["conjugate", "matrices", "product", "quaternion", "turn_freely"]

Floats = npt.NDArray[np.float64]

# largest number of Newton iterations for the midpoint; it converges in three to six
_MOST = 30


def matrices(quaternions: Floats) -> Floats:
    """Return (..., 3, 3) rotation matrices of unit quaternions (..., 4)."""
    w, x, y, z = (quaternions[..., k] for k in range(4))
    out = np.empty((*np.shape(w), 3, 3))
    out[..., 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[..., 0, 1] = 2.0 * (x * y - w * z)
    out[..., 0, 2] = 2.0 * (x * z + w * y)
    out[..., 1, 0] = 2.0 * (x * y + w * z)
    out[..., 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[..., 1, 2] = 2.0 * (y * z - w * x)
    out[..., 2, 0] = 2.0 * (x * z - w * y)
    out[..., 2, 1] = 2.0 * (y * z + w * x)
    out[..., 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return out


def product(a: Floats, b: Floats) -> Floats:
    """Return the products a b of quaternions (..., 4): the rotation b, followed by a."""
    u, v = a[..., 1:], b[..., 1:]
    scalar = a[..., :1] * b[..., :1] - (u * v).sum(axis=-1, keepdims=True)
    vector = a[..., :1] * v + b[..., :1] * u + np.cross(u, v)
    return np.concatenate([scalar, vector], axis=-1)


def conjugate(a: Floats) -> Floats:
    """Return quaternions of the inverse rotations."""
    return np.asarray(a * np.array([1.0, -1.0, -1.0, -1.0]))


def quaternion(matrix: Floats) -> Floats:
    """Return the unit quaternion (4,) of a rotation matrix (3, 3)."""
    # each row of this matrix is 4 q_i q: the row with the largest q_i is the most accurate
    m, trace = matrix, float(np.trace(matrix))
    rows = np.empty((4, 4))
    rows[0] = 1.0 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rows[i + 1, 0] = m[k, j] - m[j, k]
        rows[i + 1, 1 + i] = 1.0 - trace + 2.0 * m[i, i]
        rows[i + 1, 1 + j], rows[i + 1, 1 + k] = m[i, j] + m[j, i], m[i, k] + m[k, i]
    best = rows[int(np.argmax(np.diag(rows)))]
    return np.asarray(best / np.linalg.norm(best))


@kernel
def turn_freely(inertia: Matrix, q: Matrix, v: Matrix, t: float) -> None:
    """Turn bodies without moments for a time t, in place.

    Parameters
    ----------
    inertia : (n, 3) principal moments
    q : (n, 7) places and quaternions
    v : (n, 6) velocities, and spins about the principal axes [rad/s]
    t : time [s]

    Verified by: tests/unit/bodies/space/test_rotation.py::test_a_free_body_conserves
    """
    for k in range(q.shape[0]):
        spin = v[k, 3], v[k, 4], v[k, 5]
        # a body that does not turn keeps its orientation to the last bit
        if dot(spin, spin) == 0.0:
            continue
        own, size = point(inertia, k), norm(spin)
        middle, s = spin, t
        # s makes steady rotations exact; one by more than a radian in a step is far from resolved
        if t * size < 1.0:
            s = 2.0 * math.tan(0.5 * t * size) / size
        if not (own[0] == own[1] and own[1] == own[2]):
            middle = _midpoint(own, spin, s)
            for i in range(3):
                v[k, 3 + i] = 2.0 * middle[i] - spin[i]
        # the Cayley transform has the quaternion (1, s w / 2) over its length
        half = moved((0.0, 0.0, 0.0), 0.5 * s, middle)
        scalar, vector = q[k, 3], (q[k, 4], q[k, 5], q[k, 6])
        turned = moved(moved(vector, scalar, half), 1.0, cross(vector, half))
        scalar -= dot(vector, half)
        length = math.sqrt(scalar * scalar + dot(turned, turned))
        q[k, 3] = scalar / length
        for i in range(3):
            q[k, 4 + i] = turned[i] / length


@kernel
def _midpoint(inertia: Point, spin: Point, s: float) -> Point:
    """Return the root w of I w - I W0 + s / 2 w x I w = 0, by Newton's method."""
    half, w = 0.5 * s, spin
    a, b, c = inertia
    last = math.inf
    for _ in range(_MOST):
        along = a * w[0], b * w[1], c * w[2]
        turned = cross(w, along)
        f = (
            a * (w[0] - spin[0]) + half * turned[0],
            b * (w[1] - spin[1]) + half * turned[1],
            c * (w[2] - spin[2]) + half * turned[2],
        )
        # the columns of the derivative
        first = a, half * (a - c) * w[2], half * (b - a) * w[1]
        second = half * (c - b) * w[2], b, half * (b - a) * w[0]
        third = half * (c - b) * w[1], half * (a - c) * w[0], c
        normal = cross(second, third)
        whole = dot(first, normal)
        step = (
            dot(f, normal) / whole,
            dot(first, cross(f, third)) / whole,
            dot(first, cross(second, f)) / whole,
        )
        size = norm(step)
        # rounding ends the convergence
        if size >= last and size <= 1e-8 * norm(w):
            break
        w, last = minus(w, step), size
        if size == 0.0:
            break
    return w
