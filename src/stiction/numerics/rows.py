"""Vector and quaternion operations on arrays (3, n) and (4, n), for kernels in plain Python.

Each function does the operations of the compiled loop in the same order, so that results agree to
the last bit. Columns are n nodes of a rod. Quaternions are (w, x, y, z); a unit quaternion q is a
frame: it turns the axes of space to the directors d_1, d_2, d_3. `rods.rod_kernels` calls them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["axes_of", "between", "cross", "dot", "in_space", "series", "turned_by"]

Floats = npt.NDArray[np.float64]


def series(c: tuple[float, ...], x: Floats) -> Floats:
    """Return the polynomial c[0] + c[1] x + ... at each entry of x, by Horner's scheme."""
    y = np.full_like(x, c[-1])
    for a in c[-2::-1]:
        y *= x
        y += a
    return y


def dot(a: Floats, b: Floats) -> Floats:
    """Return (n,) scalar products a . b of columns."""
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def cross(a: Floats, b: Floats) -> Floats:
    """Return (3, n) vector products a x b of columns."""
    (ax, ay, az), (bx, by, bz) = a, b
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def axes_of(q: Floats) -> Floats:
    """Return (3, n) the third directors d_3 of frames q."""
    w, x, y, z = q
    return np.stack([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)])


def turned_by(w: Floats, v: Floats, q: Floats) -> Floats:
    """Return (4, n) products of the quaternions (w, v) and q: the rotation q, then (w, v)."""
    (x, y, z), (w0, x0, y0, z0) = v, q
    return np.stack(
        [
            w * w0 - x * x0 - y * y0 - z * z0,
            w * x0 + x * w0 + y * z0 - z * y0,
            w * y0 - x * z0 + y * w0 + z * x0,
            w * z0 + x * y0 - y * x0 + z * w0,
        ]
    )


def between(q: Floats) -> tuple[Floats, Floats]:
    """Return the relative rotations q_i^-1 q_{i+1} of successive frames: w (n - 1,), (x, y, z)."""
    (aw, ax, ay, az), (bw, bx, by, bz) = q[:, :-1], q[:, 1:]
    w = aw * bw + ax * bx + ay * by + az * bz
    x = aw * bx - ax * bw - ay * bz + az * by
    y = aw * by + ax * bz - ay * bw - az * bx
    z = aw * bz - ax * by + ay * bx - az * bw
    return w, np.stack([x, y, z])


def in_space(q: Floats, k: Floats) -> Floats:
    """Return (3, n) vectors in the axes of space whose components in the frames q are k."""
    w, x, y, z = q
    a, b, c = cross(q[1:], k)
    turn = np.stack([w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a])
    return np.asarray(k + 2.0 * turn)
