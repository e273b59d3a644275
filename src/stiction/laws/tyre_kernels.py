"""Lateral force and aligning moment of a tyre as scalar functions, for `switching.wheel`.

`laws.tyre` describes the laws and their parameters. h and g are the lateral and rolling velocity of
the wheel [m/s]; F [N] opposes h, and M [N m] turns the wheel towards its velocity. Source: formulas
sheet of the wheel paper (Szalai, Jeffrey 2014), section 2.
"""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel

__all__ = ["simplified", "simplified_with_psi0", "stretched"]


@kernel
def simplified(side: float, h: float, g: float, kappa: float, mu: float) -> tuple[float, float]:
    """Return force F and moment M of one side of the surface h = 0, continued past it.

        psi = psi0 + (1 - 2 psi0 / pi) atan2(side h, |g|),   cot psi0 = 6 kappa / (1 m),
        F = mu side (4/3 - cot(psi) / (18 kappa)),   M = mu side sgn(g) cot(psi) / 6.

    For side = sgn(h) this is the law itself. A solver that locates h = 0 also evaluates
    it slightly beyond, where it is smooth while psi > 0: atan2 is odd in h. On h = 0 a friction
    multiplier lam in [-1, 1] mixes both sides, (1 + lam) / 2 of +1 and (1 - lam) / 2 of -1.

    Parameters
    ----------
    side : +1.0 for h > 0, -1.0 for h < 0
    h, g : lateral and rolling velocity [m/s]; at g = 0 the sign bit of g decides sgn(g)
    kappa : moment at h = 0 over the force there, > 0 [m]
    mu : force at h = 0 [N]

    Source: formulas sheet of the wheel paper, section 2, equations (6), (7); the continuation
    beyond h = 0 is added here.
    Verified by: tests/unit/laws/test_tyre.py::test_kernel_is_the_law
    """
    psi0 = math.atan(1.0 / (6.0 * kappa))
    return simplified_with_psi0(side, h, g, kappa, mu, psi0, 1.0 - 2.0 * psi0 / math.pi)


@kernel
def simplified_with_psi0(
    side: float, h: float, g: float, kappa: float, mu: float, psi0: float, angle_factor: float
) -> tuple[float, float]:
    """Return the result of `simplified` for given psi0 and `angle_factor` 1 - 2 psi0 / pi.

    Both depend on kappa alone and are computed once.

    Source: as for `simplified`.
    Verified by: tests/unit/laws/test_tyre.py::test_kernel_is_the_law
    """
    psi = psi0 + angle_factor * math.atan2(side * h, abs(g))
    cot = 1.0 / math.tan(psi)
    force = mu * side * (4.0 / 3.0 - cot / (18.0 * kappa))
    return force, mu * side * math.copysign(cot / 6.0, g * cot)


@kernel
def stretched(
    side: float, h: float, g: float, k: float, delta: float, rho: float, sigma: float, a: float
) -> tuple[float, float]:
    """Return force F [N] and moment M [N m] of the stretched string in all three regimes.

    Both are odd in h and continuous across h = 0, so that `side` matters only at h = 0 with
    g = 0, where it chooses the limit along g = 0: the whole patch slips.

    Parameters
    ----------
    side : +1.0 or -1.0
    h, g : lateral and rolling velocity [m/s]
    k, delta, rho, sigma, a : as in `StretchedString` [N/m^2, N/m, 1, m, m]

    Source: formulas sheet of the wheel paper, section 2.
    Verified by: tests/unit/laws/test_tyre.py::test_string_kernel_is_the_law
    """
    lateral, rolling = abs(h), abs(g)
    sign = math.copysign(1.0, h) if h != 0.0 else side
    sign_of_g = math.copysign(1.0, g)
    # slip begins at x_s = a + sigma - (delta / k) cot(phi) with tan(phi) = |h / g|; the patch is
    # [-a, a], and rolls towards a. x_s >= a: the whole patch slips under rho delta; without
    # relaxation (sigma = 0) at g = 0 only
    if k * sigma * lateral >= delta * rolling and (sigma > 0.0 or rolling == 0.0):
        # the product delta |g| is zero by underflow
        if lateral == 0.0 and rolling > 0.0:
            return 0.0, 0.0
        return sign * 2.0 * a * rho * delta, 0.0
    # x_s <= -a: the row "no slip" of the table in section 2
    if k * (2.0 * a + sigma) * lateral <= delta * rolling:
        tan = lateral / rolling
        return sign * 2.0 * a * k * (a + sigma) * tan, sign * sign_of_g * 2.0 / 3.0 * (
            a * (a * a)
        ) * k * tan
    # partial slip: x_s divides the patch; the deflection is linear in stick, constant in slip
    tan = lateral / rolling
    reach = delta * rolling / (k * lateral)
    # lengths a - x_s and a + x_s
    stuck = reach - sigma
    slips = 2.0 * a - stuck
    force = 0.5 * k * tan * (reach + sigma) * stuck + rho * delta * slips
    arm = 0.5 * stuck * stuck * (sigma + 2.0 / 3.0 * stuck) - a * 0.5 * (reach + sigma) * stuck
    moment = k * tan * arm + 0.5 * rho * delta * slips * stuck
    return sign * force, sign * sign_of_g * moment
