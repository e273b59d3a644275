"""Fields x', switching functions h and powers of the systems in `presets`: kernels.

Each function takes pointers to the state x, the signs s of h, the parameters p and the result
`out`. A field fills `out` with x', a surface with h_1 .. h_m, and a power with the rates of
external work, friction heat and viscous heat. A field uses the sign s and not sgn(h(x)), so that it
remains smooth a little beyond the surface; in sliding a power takes the multiplier in [-1, 1] for
s. `presets` states the equations; the headings below have the order of states and parameters. The
kernels of `flow` call these functions by their addresses.
"""

from __future__ import annotations

from typing import Any

from stiction.numerics.arrays import Vector
from stiction.numerics.callback import carray
from stiction.numerics.elementary import exp
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
    """Return the friction force -side (kinetic + (static - kinetic) e^(-side slip / v_scale)).

    The slip speed has the sign `side`, so that side slip is its modulus; beyond the surface the
    force remains smooth.
    """
    drop = static - kinetic
    if drop == 0.0:
        return -side * static
    return -side * (kinetic + drop * exp(-side * slip / v_scale))


# ---- a block on a belt: states x, v; p = belt speed, mu0, alpha


def belt_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law: x'' + x = -s mu0 + alpha (x' - vb)."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (2,))
    v, belt_speed, mu0, alpha = x[1], p[0], p[1], p[2]
    out[0] = v
    out[1] = -x[0] - s[0] * mu0 + alpha * (v - belt_speed)


def belt_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x' - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (3,)), carray(out_at, (1,))
    v, belt_speed = x[1], p[0]
    out[0] = v - belt_speed


def belt_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Power of the belt F vb, friction heat -F (x' - vb), and zero viscous heat."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (3,)), carray(out_at, (3,))
    belt_speed, mu0, alpha = p[0], p[1], p[2]
    slip = x[1] - belt_speed
    force = -s[0] * mu0 + alpha * slip
    out[0], out[1], out[2] = force * belt_speed, -force * slip, 0.0


# ---- relay feedback: p = n, A row by row, b, c


def relay_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Linear plant with the relay input u = -s: x' = A x - b s."""
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


# ---- normal form of a two-fold: states x, y, z; p = J1, J2


def normal_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Normal form: (-y, 1, J1) for h > 0 and (z, J2, 1) for h < 0."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (2,)), carray(out_at, (3,))
    y, z, j1, j2 = x[1], x[2], p[0], p[1]
    if s[0] > 0.0:
        out[0], out[1], out[2] = -y, 1.0, j1
    else:
        out[0], out[1], out[2] = z, j2, 1.0


def normal_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = x."""
    x, out = carray(x_at, (3,)), carray(out_at, (1,))
    out[0] = x[0]


# ---- two blocks on a belt: states x1, x2, v1, v2; p = belt speed, scale of slip, the two static
# and kinetic friction forces, masses and stiffnesses, and the coupling


@kernel(inline=True)
def _both_frictions(s: Vector, slip1: float, slip2: float, p: Vector) -> tuple[float, float]:
    """Return the friction forces on both blocks."""
    v_scale, static1, static2, kinetic1, kinetic2 = p[1], p[2], p[3], p[4], p[5]
    first = _friction(s[0], slip1, static1, kinetic1, v_scale)
    return first, _friction(s[1], slip2, static2, kinetic2, v_scale)


def blocks_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law m_i v_i' = -k_i x_i +- k_c (x2 - x1) + F_i for both blocks."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out = carray(out_at, (4,))
    x1, x2, v1, v2, belt_speed = x[0], x[1], x[2], x[3], p[0]
    m1, m2, k1, k2, coupling = p[6], p[7], p[8], p[9], p[10]
    first, second = _both_frictions(s, v1 - belt_speed, v2 - belt_speed, p)
    link = coupling * (x2 - x1)
    out[0], out[1] = v1, v2
    out[2] = (-k1 * x1 + link + first) / m1
    out[3] = (-k2 * x2 - link + second) / m2


def blocks_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h_i = v_i - vb."""
    x, p, out = carray(x_at, (4,)), carray(p_at, (11,)), carray(out_at, (2,))
    v1, v2, belt_speed = x[2], x[3], p[0]
    out[0], out[1] = v1 - belt_speed, v2 - belt_speed


def blocks_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Power of the belt, friction heat of both blocks, and zero viscous heat."""
    x, s, p = carray(x_at, (4,)), carray(s_at, (2,)), carray(p_at, (11,))
    out, belt_speed = carray(out_at, (3,)), p[0]
    slip1, slip2 = x[2] - belt_speed, x[3] - belt_speed
    first, second = _both_frictions(s, slip1, slip2, p)
    out[0] = (first + second) * belt_speed
    out[1], out[2] = -first * slip1 - second * slip2, 0.0


# ---- a block whose friction drops after breakaway: states x, v; p = belt speed, scale of slip,
# static and kinetic friction force, mass, stiffness, damping


def jump_field(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Newton's law m v' = -k x - c v + F for one block."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (2,))
    v, belt_speed, v_scale, static, kinetic = x[1], p[0], p[1], p[2], p[3]
    mass, stiffness, damping = p[4], p[5], p[6]
    force = _friction(s[0], v - belt_speed, static, kinetic, v_scale)
    out[0] = v
    out[1] = (-stiffness * x[0] - damping * v + force) / mass


def jump_surface(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Switch at h = v - vb."""
    x, p, out = carray(x_at, (2,)), carray(p_at, (7,)), carray(out_at, (1,))
    v, belt_speed = x[1], p[0]
    out[0] = v - belt_speed


def jump_power(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Power of the belt, friction heat, and heat of the damper."""
    x, s, p, out = carray(x_at, (2,)), carray(s_at, (1,)), carray(p_at, (7,)), carray(out_at, (3,))
    v, belt_speed, v_scale, static, kinetic, damping = x[1], p[0], p[1], p[2], p[3], p[6]
    slip = v - belt_speed
    force = _friction(s[0], slip, static, kinetic, v_scale)
    out[0], out[1] = force * belt_speed, -force * slip
    out[2] = damping * v * v
