"""Fields, surfaces and powers of the preset systems, called by address.

Each takes (x, s, p, out) as pointers. Signs come in by s; the fields are written so that
they stay smooth when a state lies a little on the other side of its surface.
"""

from __future__ import annotations

from typing import Any

from stiction.numerics.callback import carray
from stiction.numerics.elementary import exp
from stiction.numerics.jit import kernel
from stiction.switching.model import EXTERNAL_WORK, FRICTION_HEAT, VISCOUS_HEAT

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

# entries of the states: a block, two blocks, the normal form
X, V = range(2)
X1, X2, V1, V2 = range(4)
Y, Z = 1, 2

# entries of p: every belt has its speed first; the blocks that jump share a scale of slip
BELT_SPEED = 0
MU0, ALPHA = 1, 2
V_SCALE = 1
STATIC1, STATIC2, KINETIC1, KINETIC2, M1, M2, K1, K2, COUPLING = range(2, 11)
STATIC, KINETIC, MASS, STIFFNESS, DAMPING = range(2, 7)
J1, J2 = range(2)


@kernel(borrows=True)
def _friction(side: float, slip: float, static: float, kinetic: float, v_scale: float) -> float:
    """Return the friction force of one side: -side (kinetic + (static - kinetic) e^(-|slip|/v))."""
    drop = static - kinetic
    if drop == 0.0:
        return -side * static
    return -side * (kinetic + drop * exp(-side * slip / v_scale))


# ---- a block on a belt


def belt_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law: x'' + x = -s mu0 + alpha (x' - vb)."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (2,))
    out[X] = x[V]
    out[V] = -x[X] - s[0] * p[MU0] + p[ALPHA] * (x[V] - p[BELT_SPEED])


def belt_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x' - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (3,)), carray(out_at, (1,))
    out[0] = x[V] - p[BELT_SPEED]


def belt_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, nothing viscous."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (3,))
    slip = x[V] - p[BELT_SPEED]
    force = -s[0] * p[MU0] + p[ALPHA] * slip
    out[EXTERNAL_WORK], out[FRICTION_HEAT] = force * p[BELT_SPEED], -force * slip
    out[VISCOUS_HEAT] = 0.0


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


# ---- normal form of a two-fold


def normal_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """(-y, 1, J1) for h > 0 and (z, J2, 1) for h < 0."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (2,)), carray(out_at, (3,))
    if s[0] > 0.0:
        out[X], out[Y], out[Z] = -x[Y], 1.0, p[J1]
    else:
        out[X], out[Y], out[Z] = x[Z], p[J2], 1.0


def normal_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x."""
    x, out = carray(x_at, (3,)), carray(out_at, (1,))
    out[0] = x[X]


# ---- two blocks on a belt


def blocks_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law for both blocks; states x1, x2, v1, v2."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out = carray(out_at, (4,))
    slip1, slip2 = x[V1] - p[BELT_SPEED], x[V2] - p[BELT_SPEED]
    link = p[COUPLING] * (x[X2] - x[X1])
    first = _friction(s[0], slip1, p[STATIC1], p[KINETIC1], p[V_SCALE])
    second = _friction(s[1], slip2, p[STATIC2], p[KINETIC2], p[V_SCALE])
    out[X1], out[X2] = x[V1], x[V2]
    out[V1] = (-p[K1] * x[X1] + link + first) / p[M1]
    out[V2] = (-p[K2] * x[X2] - link + second) / p[M2]


def blocks_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h_i = v_i - vb."""
    x, p, out = carray(x_at, (4,)), carray(p_at, (11,)), carray(out_at, (2,))
    out[0], out[1] = x[V1] - p[BELT_SPEED], x[V2] - p[BELT_SPEED]


def blocks_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, nothing viscous."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out = carray(out_at, (3,))
    slip1, slip2 = x[V1] - p[BELT_SPEED], x[V2] - p[BELT_SPEED]
    first = _friction(s[0], slip1, p[STATIC1], p[KINETIC1], p[V_SCALE])
    second = _friction(s[1], slip2, p[STATIC2], p[KINETIC2], p[V_SCALE])
    out[EXTERNAL_WORK] = (first + second) * p[BELT_SPEED]
    out[FRICTION_HEAT] = -first * slip1 - second * slip2
    out[VISCOUS_HEAT] = 0.0


# ---- a block whose friction drops after breakaway


def jump_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law for one block; states x, v."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (2,))
    force = _friction(s[0], x[V] - p[BELT_SPEED], p[STATIC], p[KINETIC], p[V_SCALE])
    out[X] = x[V]
    out[V] = (-p[STIFFNESS] * x[X] - p[DAMPING] * x[V] + force) / p[MASS]


def jump_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = v - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (7,)), carray(out_at, (1,))
    out[0] = x[V] - p[BELT_SPEED]


def jump_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Work of the belt, heat of friction, heat of the damper."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (3,))
    slip = x[V] - p[BELT_SPEED]
    force = _friction(s[0], slip, p[STATIC], p[KINETIC], p[V_SCALE])
    out[EXTERNAL_WORK], out[FRICTION_HEAT] = force * p[BELT_SPEED], -force * slip
    out[VISCOUS_HEAT] = p[DAMPING] * x[V] * x[V]
