"""Fields, surfaces and powers of the preset systems, called by address.

Each takes (x, s, p, out) as pointers. Signs come in by s; the fields are written so that
they stay smooth when a state lies a little on the other side of its surface.
"""

# NumPy's stubs type a single entry of an array as Any; Numba re-exports carray silently
# mypy: disable-error-code="no-any-return,attr-defined"

from __future__ import annotations

import math
from typing import Any

from numba import carray

from stiction.numerics.jit import kernel

__all__ = [
    "belt_field",
    "belt_power",
    "belt_surface",
    "blocks_field",
    "blocks_power",
    "blocks_surface",
    "jump_field",
    "jump_power",
    "jump_surface",
    "normal_field",
    "normal_surface",
    "relay_field",
    "relay_surface",
]


@kernel
def _friction(side: float, slip: float, static: float, kinetic: float, v_scale: float) -> float:
    """Return the friction force of one side: -side (kinetic + (static - kinetic) e^(-|slip|/v))."""
    drop = static - kinetic
    if drop == 0.0:
        return -side * static
    return -side * (kinetic + drop * math.exp(-side * slip / v_scale))


# ---- a block on a belt: p = mu0, alpha, belt speed


def belt_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law: x'' + x = -s mu0 + alpha (x' - vb)."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (2,))
    out[0] = x[1]
    out[1] = -x[0] - s[0] * p[0] + p[1] * (x[1] - p[2])


def belt_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x' - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (3,)), carray(out_at, (1,))
    out[0] = x[1] - p[2]


def belt_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, nothing viscous."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (3,))
    slip = x[1] - p[2]
    force = -s[0] * p[0] + p[1] * slip
    out[0], out[1], out[2] = force * p[2], -force * slip, 0.0


# ---- relay feedback: p = n, A row by row, b, c


def relay_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Plant and relay: x' = A x - b s."""
    n = int(carray(p_at, (1,))[0])
    p = carray(p_at, (1 + n * n + 2 * n,))
    x, s, out = carray(x_at, (n,)), carray(s_at, (1,)), carray(out_at, (n,))
    for i in range(n):
        value = -p[1 + n * n + i] * s[0]
        for j in range(n):
            value += p[1 + n * i + j] * x[j]
        out[i] = value


def relay_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = c x."""
    n = int(carray(p_at, (1,))[0])
    p = carray(p_at, (1 + n * n + 2 * n,))
    x, out = carray(x_at, (n,)), carray(out_at, (1,))
    value = 0.0
    for j in range(n):
        value += p[1 + n * n + n + j] * x[j]
    out[0] = value


# ---- normal form of a two-fold: p = J1, J2


def normal_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """(-y, 1, J1) for h > 0 and (z, J2, 1) for h < 0."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (2,)), carray(out_at, (3,))
    if s[0] > 0.0:
        out[0], out[1], out[2] = -x[1], 1.0, p[0]
    else:
        out[0], out[1], out[2] = x[2], p[1], 1.0


def normal_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x."""
    x, out = carray(x_at, (3,)), carray(out_at, (1,))
    out[0] = x[0]


# ---- two blocks on a belt: p = m1, m2, k1, k2, coupling, static 1, 2, kinetic 1, 2,
#      v_scale, belt speed


def blocks_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law for both blocks; states x1, x2, v1, v2."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out = carray(out_at, (4,))
    link = p[4] * (x[1] - x[0])
    first = _friction(s[0], x[2] - p[10], p[5], p[7], p[9])
    second = _friction(s[1], x[3] - p[10], p[6], p[8], p[9])
    out[0], out[1] = x[2], x[3]
    out[2] = (-p[2] * x[0] + link + first) / p[0]
    out[3] = (-p[3] * x[1] - link + second) / p[1]


def blocks_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h_i = v_i - vb."""
    x, p, out = carray(x_at, (4,)), carray(p_at, (11,)), carray(out_at, (2,))
    out[0], out[1] = x[2] - p[10], x[3] - p[10]


def blocks_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, nothing viscous."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out = carray(out_at, (3,))
    slip1, slip2 = x[2] - p[10], x[3] - p[10]
    first = _friction(s[0], slip1, p[5], p[7], p[9])
    second = _friction(s[1], slip2, p[6], p[8], p[9])
    out[0], out[1], out[2] = (first + second) * p[10], -first * slip1 - second * slip2, 0.0


# ---- a block whose friction drops after breakaway: p = mass, stiffness, damping, static
#      force, kinetic force, v_scale, belt speed


def jump_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law for one block; states x, v."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (2,))
    out[0] = x[1]
    force = _friction(s[0], x[1] - p[6], p[3], p[4], p[5])
    out[1] = (-p[1] * x[0] - p[2] * x[1] + force) / p[0]


def jump_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = v - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (7,)), carray(out_at, (1,))
    out[0] = x[1] - p[6]


def jump_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, heat of the damper."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (3,))
    slip = x[1] - p[6]
    force = _friction(s[0], slip, p[3], p[4], p[5])
    out[0], out[1], out[2] = force * p[6], -force * slip, p[2] * x[1] * x[1]
