"""The wheel on a turntable as plain functions of arrays, for processors and graphics cards.

No function here allocates, raises or calls NumPy: the same source compiles for both. The
parameters stand in p as `parameters` names them.
"""

from __future__ import annotations

import math
from typing import Any

from stiction.laws.tyre_kernels import squeezed, stretched
from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import carray
from stiction.numerics.jit import kernel
from stiction.switching.model import EXTERNAL_WORK, FRICTION_HEAT, VISCOUS_HEAT
from stiction.switching.wheel.parameters import (
    BETA,
    BETWEEN,
    BORDERS,
    C1,
    C2,
    COS,
    DELTA,
    FORCE,
    K2,
    KAPPA,
    MOMENT,
    MU,
    N_PARAMETERS,
    N_SURFACES,
    OMEGA,
    OMEGA0,
    PHYSICAL,
    PSI0,
    R0,
    RHO,
    SHARE,
    SIGMA,
    SIN,
    A,
    D,
    G,
    H,
    K,
    M,
    R,
    V,
)

__all__ = [
    "field_at",
    "gradient_at",
    "power_at",
    "smooth_field_at",
    "surface_at",
    "tyre_contact",
    "wheel_contact",
    "wheel_field",
    "wheel_forced",
    "wheel_forces",
    "wheel_gradient",
    "wheel_power",
    "wheel_smooth_field",
    "wheel_surface",
]


@kernel(borrows=True)
def tyre_contact(side: float, h: float, g: float, p: Vector) -> tuple[float, float]:
    """Return force [N] and moment [N m] of the wheel's tyre; a is 0 for the paper's law.

    Source: Szalai, Jeffrey 2014, (6), (7) and appendix B; formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_string_field_is_the_law
    """
    if p[A] > 0.0:
        return stretched(side, h, g, p[K], p[DELTA], p[RHO], p[SIGMA], p[A])
    return squeezed(side, h, g, p[KAPPA], p[MU], p[PSI0], p[SHARE])


@kernel(borrows=True)
def wheel_forced(x: Vector, force: float, moment: float, p: Vector, out: Vector) -> None:
    """Fill out[3] with x' under a given friction force [N] and moment [N m].

    Source: Szalai, Jeffrey 2014, (1)-(3); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    r, v, w = x[R], x[V], x[OMEGA]
    d, m, beta, slip = p[D], p[M], p[BETA], w - p[OMEGA0]
    inertia = beta * beta + r * r
    pull = p[K2] * (p[R0] - r) - p[C2] * v + m * r * w * w
    damped = slip if p[BETWEEN] != 0.0 else w
    drag = p[C1] * damped + 2.0 * m * r * v * w
    p2 = d * r * p[COS] + inertia * p[SIN]
    out[R] = m * inertia * v
    out[V] = (inertia + d * d) * pull - d * drag + force * p2 + d * moment
    out[OMEGA] = d * pull - drag + force * r * p[COS] + moment
    if p[PHYSICAL] != 0.0:
        out[R] = v
        out[V] /= m * inertia
        out[OMEGA] /= m * inertia


@kernel(borrows=True)
def wheel_surface(x: Vector, s: Vector, p: Vector, out: Vector) -> None:
    """Fill out[2] with the lateral slip velocity h and the rolling velocity g [m/s].

    The string has two kinks more, out[4]: where slip begins and where it is complete, as
    (h cos a)^2 - (g sin a)^2 with the slip angle a of the border. Without relaxation the
    second border is g = 0 itself, and out[3] is a number that is never zero.

    Source: Szalai, Jeffrey 2014, (4), (5); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    slip = x[OMEGA] - p[OMEGA0]
    along = x[V] - p[D] * slip
    out[H] = -along * p[SIN] - x[R] * slip * p[COS]
    out[G] = -along * p[COS] + x[R] * slip * p[SIN]
    if p[A] > 0.0:
        for i in range(2):
            reach = p[K] * (p[SIGMA] + (2.0 * p[A] if i == 0 else 0.0))
            across, along_it = reach * out[H], p[DELTA] * out[G]
            top = across * across - along_it * along_it
            out[BORDERS + i] = top / (reach * reach + p[DELTA] * p[DELTA]) if reach > 0.0 else 1.0


@kernel(borrows=True)
def wheel_gradient(x: Vector, s: Vector, p: Vector, out: Vector) -> None:
    """Fill out[3] with the gradient of h.

    Source: formulas sheet, section 1, differentiated by hand.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    out[R] = -(x[OMEGA] - p[OMEGA0]) * p[COS]
    out[V] = -p[SIN]
    out[OMEGA] = p[D] * p[SIN] - x[R] * p[COS]


@kernel(borrows=True)
def wheel_field(x: Vector, s: Vector, p: Vector, out: Vector) -> None:
    """Fill out[3] with x' on the side s[0] = +1 or -1, smooth across h = 0.

    Source: Szalai, Jeffrey 2014, (1)-(7); formulas sheet, sections 1 and 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    slip = x[OMEGA] - p[OMEGA0]
    along = x[V] - p[D] * slip
    h = -along * p[SIN] - x[R] * slip * p[COS]
    g = -along * p[COS] + x[R] * slip * p[SIN]
    force, moment = tyre_contact(s[0], h, g, p)
    wheel_forced(x, force, moment, p, out)


@kernel(borrows=True)
def wheel_smooth_field(x: Vector, s: Vector, p: Vector, out: Vector) -> None:
    """Fill out[3] with x' for s = (side, sgn(g), |g|), of which the last two may be smooth.

    The moment is odd in g and the force even, so that neither sees g in any other way.

    Source: Szalai, Jeffrey 2014, (6), (7); formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_the_smooth_field
    """
    slip = x[OMEGA] - p[OMEGA0]
    along = x[V] - p[D] * slip
    h = -along * p[SIN] - x[R] * slip * p[COS]
    force, moment = tyre_contact(s[0], h, s[2], p)
    wheel_forced(x, force, s[1] * moment, p, out)


@kernel(borrows=True)
def wheel_contact(x: Vector, s: float, p: Vector) -> tuple[float, float, float]:
    """Return the lateral slip velocity, the friction force and the moment for one sign.

    Inside (-1, 1) s is the multiplier on the surface, where F = mu s, M = sgn(g) kappa F
    for the paper's law; the string has F = M = 0 there.

    Source: Szalai, Jeffrey 2014, (6), (7), (12); formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    slip = x[OMEGA] - p[OMEGA0]
    along = x[V] - p[D] * slip
    h = -along * p[SIN] - x[R] * slip * p[COS]
    g = -along * p[COS] + x[R] * slip * p[SIN]
    if abs(s) < 1.0:
        if p[A] > 0.0:
            return 0.0, 0.0, 0.0
        force = p[MU] * s
        return 0.0, force, math.copysign(p[KAPPA], g) * force
    force, moment = tyre_contact(s, h, g, p)
    return h, force, moment


@kernel(borrows=True)
def wheel_forces(x: Matrix, s: Vector, p: Vector, out: Matrix) -> None:
    """Fill out[t, 2] with friction force [N] and moment [N m] for states x[t, 3], signs s[t].

    Source: as for `wheel_contact`.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    for i in range(x.shape[0]):
        _, out[i, FORCE], out[i, MOMENT] = wheel_contact(x[i], s[i], p)


@kernel(borrows=True)
def wheel_power(x: Vector, s: Vector, p: Vector, out: Vector) -> None:
    """Fill out[3] with the rates of external work, friction heat and viscous heat.

    Per unit of the run's time. Inside (-1, 1) s[0] is the multiplier on the surface, where
    F = mu s and M = sgn(g) kappa F. Friction heat is F h, of the lateral slip; what else
    passes through the contact and the outer end of the damper, the drive of the turntable
    and the power of the moment, is external work.

    Source: derived from the formulas sheet, section 1, (A1')-(A3).
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    r, v, w = x[R], x[V], x[OMEGA]
    slip = w - p[OMEGA0]
    h, force, moment = wheel_contact(x, s[0], p)
    rate = 1.0 if p[PHYSICAL] != 0.0 else p[M] * (p[BETA] * p[BETA] + r * r)
    drive = moment * w - force * p[OMEGA0] * (p[D] * p[SIN] - r * p[COS])
    spin = w
    if p[BETWEEN] != 0.0:
        drive -= p[C1] * slip * p[OMEGA0]
        spin = slip
    out[EXTERNAL_WORK] = rate * drive
    out[FRICTION_HEAT] = rate * force * h
    out[VISCOUS_HEAT] = rate * (p[C2] * v * v + p[C1] * spin * spin)


def field_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_field` behind four pointers."""
    x, s, p = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (N_PARAMETERS,))
    out = carray(out_at, (3,))
    wheel_field(x, s, p, out)


def smooth_field_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_smooth_field` behind four pointers."""
    x, s, p = carray(x_at, (3,)), carray(s_at, (3,)), carray(p_at, (N_PARAMETERS,))
    out = carray(out_at, (3,))
    wheel_smooth_field(x, s, p, out)


def surface_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_surface` behind four pointers."""
    x, s, p = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (N_PARAMETERS,))
    out = carray(out_at, (N_SURFACES,))
    wheel_surface(x, s, p, out)


def gradient_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_gradient` behind four pointers."""
    x, s, p = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (N_PARAMETERS,))
    out = carray(out_at, (3,))
    wheel_gradient(x, s, p, out)


def power_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_power` behind four pointers."""
    x, s, p = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (N_PARAMETERS,))
    out = carray(out_at, (3,))
    wheel_power(x, s, p, out)
