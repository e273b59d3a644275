"""Equations of motion of the wheel on a turntable: kernels.

A state is x = (r, v, omega), see `model`. With J = beta^2 + r^2, friction force F and moment M

    p1 = k2 (r0 - r) - c2 v + m r omega^2,      D = c1 omega + 2 m r v omega,
    m J r' = m J v,
    m J v' = (J + d^2) p1 - d D + (d r cos gamma + J sin gamma) F + d M,
    m J omega' = d p1 - D + r cos gamma F + M.

The right-hand sides are the rates in scaled time, dt = m J dtau. Let W = omega - omega0, which
replaces omega in the first term of D if `c1_between_disks` is set. The lateral velocity h and the
rolling velocity g of the contact are

    h = -(v - d W) sin gamma - r W cos gamma,   g = -(v - d W) cos gamma + r W sin gamma.

These kernels have x', h and g, the friction law F(h, g), M(h, g), and the rates of work and heat.
The functions at the end, whose arguments are pointers, are called by the kernels of `flow`.

The paper's law has the angle psi = psi0 + (1 - 2 psi0 / pi) atan2(|h|, |g|) with
psi0 = arccot(6 kappa), and

    F = mu sgn(h) (4/3 - cot(psi) / (18 kappa)),   M = mu sgn(h) sgn(g) cot(psi) / 6.

Arguments: x is the state, s[0] the sign of h or its multiplier, p[0] the parameters
(`parameters.Parameters`), and `out` is filled.

Source: Szalai, Jeffrey 2014, (1)-(7) and appendix B; formulas sheet, sections 1 and 2.
"""

from __future__ import annotations

import math
from typing import Any

from stiction.laws.tyre_kernels import simplified_with_psi0, stretched
from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import carray, pointer_to
from stiction.numerics.jit import kernel
from stiction.switching.wheel.parameters import N_SURFACES, Parameters, Wheel

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

_PARAMETERS = Parameters.fields_type


@kernel
def tyre_contact(side: float, h: float, g: float, p: Wheel) -> tuple[float, float]:
    """Return the friction force [N] and moment [N m] of the tyre at the velocities h, g [m/s].

    The law is that of a stretched string if its half length a is positive, else the paper's law.

    Parameters
    ----------
    side : sign of h, which also selects the side at h = 0

    Source: Szalai, Jeffrey 2014, (6), (7) and appendix B; formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_string_field_is_the_law
    """
    wheel = p[0]
    if wheel.half_length > 0.0:
        pressure, ratio = wheel.max_pressure, wheel.kinetic_ratio
        sigma, a = wheel.relaxation, wheel.half_length
        return stretched(side, h, g, wheel.stiffness, pressure, ratio, sigma, a)
    return simplified_with_psi0(side, h, g, wheel.kappa, wheel.mu, wheel.psi0, wheel.share)


@kernel(inline=True)
def _velocities(x: Vector, p: Wheel) -> tuple[float, float]:
    """Return the lateral slip velocity h and the rolling velocity g [m/s], (4) and (5)."""
    wheel, r, v, omega = p[0], x[0], x[1], x[2]
    slip = omega - wheel.omega0
    along = v - wheel.d * slip
    h = -along * wheel.sin - r * slip * wheel.cos
    return h, -along * wheel.cos + r * slip * wheel.sin


@kernel
def wheel_forced(x: Vector, force: float, moment: float, p: Wheel, out: Vector) -> None:
    """Fill out[3] with x' under a given friction force [N] and moment [N m].

    Source: Szalai, Jeffrey 2014, (1)-(3); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    wheel = p[0]
    r, v, w = x[0], x[1], x[2]
    d, m, beta, slip = wheel.d, wheel.m, wheel.beta, w - wheel.omega0
    inertia = beta * beta + r * r
    pull = wheel.k2 * (wheel.r0 - r) - wheel.c2 * v + m * r * w * w
    # damper of the disk: the paper's equations have omega, its text has omega - omega0
    damped = slip if wheel.c1_between_disks != 0.0 else w
    drag = wheel.c1 * damped + 2.0 * m * r * v * w
    p2 = d * r * wheel.cos + inertia * wheel.sin
    # (2), (3) in scaled time, dt = m (beta^2 + r^2) dtau
    v_dot = (inertia + d * d) * pull - d * drag + force * p2 + d * moment
    w_dot = d * pull - drag + force * r * wheel.cos + moment
    if wheel.physical_time != 0.0:
        out[0], out[1], out[2] = v, v_dot / (m * inertia), w_dot / (m * inertia)
    else:
        out[0], out[1], out[2] = m * inertia * v, v_dot, w_dot


@kernel
def wheel_surface(x: Vector, s: Vector, p: Wheel, out: Vector) -> None:
    """Fill out[2] with the lateral slip velocity h and the rolling velocity g [m/s].

    A string has two more kink functions, in out[2:4]: their zeros are where slip begins and where
    the whole patch slips. They are (h cos a)^2 - (g sin a)^2 with the slip angle a of each
    boundary. Without relaxation the second boundary is g = 0 itself, and out[3] is the constant 1.

    Source: Szalai, Jeffrey 2014, (4), (5); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    wheel = p[0]
    h, g = _velocities(x, p)
    out[0], out[1] = h, g
    if wheel.half_length > 0.0:
        for i in range(2):
            two = 2.0 * wheel.half_length if i == 0 else 0.0
            reach = wheel.stiffness * (wheel.relaxation + two)
            across, along = reach * h, wheel.max_pressure * g
            size = reach * reach + wheel.max_pressure * wheel.max_pressure
            out[2 + i] = (across * across - along * along) / size if reach > 0.0 else 1.0


@kernel
def wheel_gradient(x: Vector, s: Vector, p: Wheel, out: Vector) -> None:
    """Fill out[3] with the gradient of h.

    Source: formulas sheet, section 1, differentiated by hand.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    wheel = p[0]
    r, omega = x[0], x[2]
    out[0] = -(omega - wheel.omega0) * wheel.cos
    out[1] = -wheel.sin
    out[2] = wheel.d * wheel.sin - r * wheel.cos


@kernel
def wheel_field(x: Vector, s: Vector, p: Wheel, out: Vector) -> None:
    """Fill out[3] with x' on the side s[0] = +1 or -1, smooth across h = 0.

    Source: Szalai, Jeffrey 2014, (1)-(7); formulas sheet, sections 1 and 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    h, g = _velocities(x, p)
    force, moment = tyre_contact(s[0], h, g, p)
    wheel_forced(x, force, moment, p, out)


@kernel
def wheel_smooth_field(x: Vector, s: Vector, p: Wheel, out: Vector) -> None:
    """Fill out[3] with x' for s = (side, sgn(g), |g|), of which the last two may be smooth.

    The moment is odd in g and the force even: they depend on g only by sgn(g) and |g|.

    Source: Szalai, Jeffrey 2014, (6), (7); formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_the_smooth_field
    """
    h, _ = _velocities(x, p)
    force, moment = tyre_contact(s[0], h, s[2], p)
    wheel_forced(x, force, s[1] * moment, p, out)


@kernel
def wheel_contact(x: Vector, s: float, p: Wheel) -> tuple[float, float, float]:
    """Return the lateral slip velocity, the friction force and the moment for one sign s of h.

    A value of s inside (-1, 1) is the multiplier in sliding on h = 0. There F = mu s and
    M = sgn(g) kappa F by the paper's law; the string has F = M = 0.

    Source: Szalai, Jeffrey 2014, (6), (7), (12); formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    wheel = p[0]
    h, g = _velocities(x, p)
    if abs(s) < 1.0:
        if wheel.half_length > 0.0:
            return 0.0, 0.0, 0.0
        force = wheel.mu * s
        return 0.0, force, math.copysign(wheel.kappa, g) * force
    force, moment = tyre_contact(s, h, g, p)
    return h, force, moment


@kernel
def wheel_forces(x: Matrix, s: Vector, p: Wheel, out: Matrix) -> None:
    """Fill out[t, 2] with friction force [N] and moment [N m] for states x[t, 3], signs s[t].

    Source: as for `wheel_contact`.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    for i in range(x.shape[0]):
        _, out[i, 0], out[i, 1] = wheel_contact(x[i], s[i], p)


@kernel
def wheel_power(x: Vector, s: Vector, p: Wheel, out: Vector) -> None:
    """Fill out[3] with the rates of external work, friction heat and viscous heat.

    Rates are per unit of the time of the run. A value s[0] inside (-1, 1) is the multiplier, where
    F = mu s and M = sgn(g) kappa F. The friction heat is F h, by the lateral slip. The power of the
    drive of the turntable, through the contact and the damper c1, and the power of the moment are
    external work.

    Source: derived from the formulas sheet, section 1, (A1')-(A3).
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    wheel = p[0]
    r, v, w = x[0], x[1], x[2]
    slip = w - wheel.omega0
    h, force, moment = wheel_contact(x, s[0], p)
    rate = 1.0 if wheel.physical_time != 0.0 else wheel.m * (wheel.beta * wheel.beta + r * r)
    drive = moment * w - force * wheel.omega0 * (wheel.d * wheel.sin - r * wheel.cos)
    spin = w
    if wheel.c1_between_disks != 0.0:
        drive -= wheel.c1 * slip * wheel.omega0
        spin = slip
    viscous = wheel.c2 * v * v + wheel.c1 * spin * spin
    out[0], out[1], out[2] = rate * drive, rate * force * h, rate * viscous


def field_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Call `wheel_field` with pointers to its arrays."""
    x, s = carray(x_at, (3,)), carray(s_at, (1,))
    p: Any = carray(pointer_to(_PARAMETERS, p_at), (1,))
    out = carray(out_at, (3,))
    wheel_field(x, s, p, out)


def smooth_field_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Call `wheel_smooth_field` with pointers to its arrays."""
    x, s = carray(x_at, (3,)), carray(s_at, (3,))
    p: Any = carray(pointer_to(_PARAMETERS, p_at), (1,))
    out = carray(out_at, (3,))
    wheel_smooth_field(x, s, p, out)


def surface_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Call `wheel_surface` with pointers to its arrays."""
    x, s = carray(x_at, (3,)), carray(s_at, (1,))
    p: Any = carray(pointer_to(_PARAMETERS, p_at), (1,))
    out = carray(out_at, (N_SURFACES,))
    wheel_surface(x, s, p, out)


def gradient_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Call `wheel_gradient` with pointers to its arrays."""
    x, s = carray(x_at, (3,)), carray(s_at, (1,))
    p: Any = carray(pointer_to(_PARAMETERS, p_at), (1,))
    out = carray(out_at, (3,))
    wheel_gradient(x, s, p, out)


def power_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """Call `wheel_power` with pointers to its arrays."""
    x, s = carray(x_at, (3,)), carray(s_at, (1,))
    p: Any = carray(pointer_to(_PARAMETERS, p_at), (1,))
    out = carray(out_at, (3,))
    wheel_power(x, s, p, out)
