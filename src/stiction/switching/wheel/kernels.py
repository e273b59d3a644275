"""The wheel on a turntable as plain functions of arrays, for processors and graphics cards.

No function here allocates, raises or calls NumPy: the same source compiles for both. The
parameters stand in p in the order of `PARAMETERS`.
"""

# NumPy's stubs type a single entry of an array as Any; Numba re-exports carray silently
# mypy: disable-error-code="no-any-return, attr-defined"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import carray

from stiction.laws.tyre_kernels import squeezed, stretched
from stiction.numerics.jit import kernel

__all__ = [
    "PARAMETERS",
    "field_at",
    "gradient_at",
    "power_at",
    "surface_at",
    "tyre_contact",
    "wheel_contact",
    "wheel_field",
    "wheel_forced",
    "wheel_forces",
    "wheel_gradient",
    "wheel_power",
    "wheel_surface",
]

Floats = npt.NDArray[np.float64]

# what p holds, in this order; `physical` and `between` are 0 or 1. psi0 and share are
# functions of kappa, kept so that no call finds them again; k to a belong to the string
PARAMETERS = (
    "d",
    "m",
    "c1",
    "c2",
    "beta",
    "r0",
    "omega0",
    "mu",
    "sin",
    "cos",
    "kappa",
    "k2",
    "physical",
    "between",
    "psi0",
    "share",
    "k",
    "delta",
    "rho",
    "sigma",
    "a",
)


@kernel
def tyre_contact(side: float, h: float, g: float, p: Floats) -> tuple[float, float]:
    """Return force [N] and moment [N m] of the wheel's tyre; a is 0 for the paper's law.

    Source: Szalai, Jeffrey 2014, (6), (7) and appendix B; formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_string_field_is_the_law
    """
    if p[20] > 0.0:
        return stretched(side, h, g, p[16], p[17], p[18], p[19], p[20])
    return squeezed(side, h, g, p[10], p[7], p[14], p[15])


@kernel
def wheel_forced(x: Floats, force: float, moment: float, p: Floats, out: Floats) -> None:
    """Fill out[3] with x' under a given friction force [N] and moment [N m].

    Source: Szalai, Jeffrey 2014, (1)-(3); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    r, v, w = x[0], x[1], x[2]
    d, m, beta, slip = p[0], p[1], p[4], w - p[6]
    inertia = beta * beta + r * r
    pull = p[11] * (p[5] - r) - p[3] * v + m * r * w * w
    damped = slip if p[13] != 0.0 else w
    drag = p[2] * damped + 2.0 * m * r * v * w
    p2 = d * r * p[9] + inertia * p[8]
    out[0] = m * inertia * v
    out[1] = (inertia + d * d) * pull - d * drag + force * p2 + d * moment
    out[2] = d * pull - drag + force * r * p[9] + moment
    if p[12] != 0.0:
        out[0] = v
        out[1] /= m * inertia
        out[2] /= m * inertia


@kernel
def wheel_surface(x: Floats, s: Floats, p: Floats, out: Floats) -> None:
    """Fill out[2] with the lateral slip velocity h and the rolling velocity g [m/s].

    The string has two kinks more, out[4]: where slip begins and where it is complete, as
    (h cos a)^2 - (g sin a)^2 with the slip angle a of the border. Without relaxation the
    second border is g = 0 itself, and out[3] is a number that is never zero.

    Source: Szalai, Jeffrey 2014, (4), (5); formulas sheet, section 1.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    slip = x[2] - p[6]
    along = x[1] - p[0] * slip
    out[0] = -along * p[8] - x[0] * slip * p[9]
    out[1] = -along * p[9] + x[0] * slip * p[8]
    if p[20] > 0.0:
        for i in range(2):
            reach = p[16] * (p[19] + (2.0 * p[20] if i == 0 else 0.0))
            top = (reach * out[0]) ** 2 - (p[17] * out[1]) ** 2
            out[2 + i] = top / (reach * reach + p[17] * p[17]) if reach > 0.0 else 1.0


@kernel
def wheel_gradient(x: Floats, s: Floats, p: Floats, out: Floats) -> None:
    """Fill out[3] with the gradient of h.

    Source: formulas sheet, section 1, differentiated by hand.
    Verified by: tests/unit/switching/wheel/test_model.py::test_surface_and_gradient
    """
    out[0] = -(x[2] - p[6]) * p[9]
    out[1] = -p[8]
    out[2] = p[0] * p[8] - x[0] * p[9]


@kernel
def wheel_field(x: Floats, s: Floats, p: Floats, out: Floats) -> None:
    """Fill out[3] with x' on the side s[0] = +1 or -1, smooth across h = 0.

    Source: Szalai, Jeffrey 2014, (1)-(7); formulas sheet, sections 1 and 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    slip = x[2] - p[6]
    along = x[1] - p[0] * slip
    h = -along * p[8] - x[0] * slip * p[9]
    g = -along * p[9] + x[0] * slip * p[8]
    force, moment = tyre_contact(s[0], h, g, p)
    wheel_forced(x, force, moment, p, out)


@kernel
def wheel_contact(x: Floats, s: float, p: Floats) -> tuple[float, float, float]:
    """Return the lateral slip velocity, the friction force and the moment for one sign.

    Inside (-1, 1) s is the multiplier on the surface, where F = mu s, M = sgn(g) kappa F
    for the paper's law; the string has F = M = 0 there.

    Source: Szalai, Jeffrey 2014, (6), (7), (12); formulas sheet, section 2.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    slip = x[2] - p[6]
    along = x[1] - p[0] * slip
    h = -along * p[8] - x[0] * slip * p[9]
    g = -along * p[9] + x[0] * slip * p[8]
    if abs(s) < 1.0:
        if p[20] > 0.0:
            return 0.0, 0.0, 0.0
        force = p[7] * s
        return 0.0, force, math.copysign(p[10], g) * force
    force, moment = tyre_contact(s, h, g, p)
    return h, force, moment


@kernel
def wheel_forces(x: Floats, s: Floats, p: Floats, out: Floats) -> None:
    """Fill out[t, 2] with friction force [N] and moment [N m] for states x[t, 3], signs s[t].

    Source: as for `wheel_contact`.
    Verified by: tests/unit/switching/wheel/test_model.py::test_outputs
    """
    for i in range(x.shape[0]):
        _, out[i, 0], out[i, 1] = wheel_contact(x[i], s[i], p)


@kernel
def wheel_power(x: Floats, s: Floats, p: Floats, out: Floats) -> None:
    """Fill out[3] with the rates of external work, friction heat and viscous heat.

    Per unit of the run's time. Inside (-1, 1) s[0] is the multiplier on the surface, where
    F = mu s and M = sgn(g) kappa F. Friction heat is F h, of the lateral slip; what else
    passes through the contact and the outer end of the damper, the drive of the turntable
    and the power of the moment, is external work.

    Source: derived from the formulas sheet, section 1, (A1')-(A3).
    Verified by: tests/unit/switching/wheel/test_model.py::test_energy_balance
    """
    r, v, w = x[0], x[1], x[2]
    slip = w - p[6]
    h, force, moment = wheel_contact(x, s[0], p)
    rate = 1.0 if p[12] != 0.0 else p[1] * (p[4] * p[4] + r * r)
    drive = moment * w - force * p[6] * (p[0] * p[8] - r * p[9])
    spin = w
    if p[13] != 0.0:
        drive -= p[2] * slip * p[6]
        spin = slip
    out[0] = rate * drive
    out[1] = rate * force * h
    out[2] = rate * (p[3] * v * v + p[2] * spin * spin)


def field_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_field` behind four pointers."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (21,)), carray(out_at, (3,))
    wheel_field(x, s, p, out)


def surface_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_surface` behind four pointers."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (21,)), carray(out_at, (4,))
    wheel_surface(x, s, p, out)


def gradient_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_gradient` behind four pointers."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (21,)), carray(out_at, (3,))
    wheel_gradient(x, s, p, out)


def power_at(x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
    """`wheel_power` behind four pointers."""
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (21,)), carray(out_at, (3,))
    wheel_power(x, s, p, out)
