"""Friction laws with one state variable, in compiled form, for fits to measured curves.

A law is given by a code, a vector p of parameters and one state z: the bristle deflection [m]
(Dahl, LuGre), the hysteretic variable (Bouc-Wen), the contact age [s] (ageing Coulomb), or
ln(theta) (rate and state). The laws are those of `laws.presliding`, `laws.rate_and_state` and
`laws.stribeck`; the comments in `coefficient` and `state_rate` repeat their equations. The kernels
compute the coefficient of friction, the rate of the state, and the exact solution of the state
equation at constant slip speed. With the exact solution, imposed slip is integrated without
truncation error. `slip_kernels` calls it for imposed slip; `spring_kernels` integrates the rates
for a slider behind a spring.

p is (N_PARAMETERS,); the comments at the codes name its entries. Units: sigma0 1/m; sigma1, sigma2,
viscous s/m; v_scale, speed0 m/s; length m; time s; beta, gamma 1/m^power; all others 1. power is 1
or 2.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = [
    "AGEING_COULOMB",
    "BOUC_WEN",
    "DAHL",
    "LUGRE",
    "RATE_STATE",
    "STRIBECK",
    "coefficient",
    "kinetic",
    "state_after",
    "state_rate",
    "stribeck_level",
]

# codes of the laws; the comment names their parameters in p in order. Laws without a state
# (Coulomb, StaticKinetic, ExponentialWeakening, Stribeck) share STRIBECK
# mu_static, mu_kinetic, v_scale, power, viscous, static coefficient that ends stick
STRIBECK = 0
# sigma0, mu, power
DAHL = 1
# sigma0, sigma1, sigma2, mu_static, mu_kinetic, v_scale, power
LUGRE = 2
# sigma0, a, beta, gamma, power
BOUC_WEN = 3
# a, b, length, mu0, speed0 [m/s], slip law (1) or ageing (0), regularised (1)
RATE_STATE = 4
# mu_fresh, growth, time, length
AGEING_COULOMB = 5
# number of entries of p, enough for every law
N_PARAMETERS = 8


@kernel
def kinetic(p: Vector, v: float) -> float:
    """Return the Stribeck curve mu_k + (mu_s - mu_k) exp(-(v/v_s)^power) + viscous v, v >= 0.

    `p` is that of STRIBECK; power is 1 or 2.
    """
    mu_static, mu_kinetic, v_scale, power, viscous = p[0], p[1], p[2], p[3], p[4]
    x = v / v_scale
    y = x if power == 1.0 else x * x
    return mu_kinetic + (mu_static - mu_kinetic) * math.exp(-y) + viscous * v


@kernel
def stribeck_level(p: Vector, v: float) -> float:
    """Return g(v), the Stribeck curve of the steady bristle force, v >= 0; `p` is that of LUGRE."""
    mu_static, mu_kinetic, v_scale, power = p[3], p[4], p[5], p[6]
    x = v / v_scale
    y = x if power == 1.0 else x * x
    return mu_kinetic + (mu_static - mu_kinetic) * math.exp(-y)


@kernel
def state_rate(code: int, p: Vector, w: float, z: float, s: float) -> float:
    """Return dz/dt of a presliding law (Dahl, LuGre, Bouc-Wen) at slip velocity w of sign s.

    Source: Dahl 1968; Canudas de Wit et al. 1995, eq. (2), for LuGre; Wen 1976 for Bouc-Wen.
    """
    sigma0 = p[0]
    if code == DAHL:
        # Dahl: dz/dt = w (1 - sigma0 z s / mu)^power
        mu, power = p[1], p[2]
        left = 1.0 - s * sigma0 * z / mu
        return w * left if power == 1.0 else w * left * abs(left)
    # LuGre: dz/dt = w - sigma0 |w| z / g(|w|)
    if code == LUGRE:
        return w - sigma0 * s * w * z / stribeck_level(p, s * w)
    # Bouc-Wen: a w - beta |w| z |z|^(n-1) - gamma w |z|^n, n = power is 1 or 2
    a, beta, gamma, power = p[1], p[2], p[3], p[4]
    r = 1.0 if z >= 0.0 else -1.0
    odd = z if power == 1.0 else z * abs(z)
    return a * w - beta * s * w * odd - gamma * w * r * odd


@kernel
def coefficient(code: int, p: Vector, w: float, z: float) -> float:
    """Return the coefficient of friction at slip velocity w [m/s] and state z.

    It is odd in (w, z) for Dahl, LuGre and Bouc-Wen, and odd in w for the other laws.
    """
    if code in (DAHL, BOUC_WEN):
        sigma0 = p[0]
        return sigma0 * z
    s = 1.0 if w >= 0.0 else -1.0
    if code == LUGRE:
        sigma0, sigma1, sigma2 = p[0], p[1], p[2]
        return sigma0 * z + sigma1 * state_rate(code, p, w, z, s) + sigma2 * w
    if code == AGEING_COULOMB:
        mu_fresh, growth, time = p[0], p[1], p[2]
        return s * (mu_fresh + growth * math.log1p(z / time))
    # rate and state, z = ln(theta): mu = mu0 + a ln(v/v0) + b ln(theta v0 / L)
    a, b, length, mu0, v0, regularised = p[0], p[1], p[2], p[3], p[4], p[6]
    grown = mu0 + b * (z + math.log(v0 / length))
    if w == 0.0:
        return 0.0
    lift = math.log(abs(w) / v0)
    if regularised == 0.0:
        return s * (a * lift + grown)
    # regularised: a arcsinh(v / (2 v0) exp((mu0 + b ln(theta v0 / L)) / a))
    power = lift + grown / a - math.log(2.0)
    if power > 0.0:
        # arcsinh(e^x) = x + ln(1 + sqrt(1 + e^-2x)): the exponential may overflow
        return s * a * (power + math.log1p(math.sqrt(1.0 + math.exp(-2.0 * power))))
    return s * a * math.asinh(math.exp(power))


@kernel
def _bouc_wen_state_after(p: Vector, q: float, length: float) -> float:
    """Return the hysteretic variable of the Bouc-Wen law after a slip of `length` [m].

    q is the variable times the sign of the slip. It obeys dq/dx = a + (beta - gamma) |q|^n during
    unloading (q < 0) and dq/dx = a - (beta + gamma) q^n during loading. The solutions are
    exponentials for n = 1, and tangents for n = 2. |gamma| <= beta, and beta + gamma > 0.
    """
    a, beta, gamma, power = p[1], p[2], p[3], p[4]
    unloading, loading = beta - gamma, beta + gamma
    left = length
    if q < 0.0:
        # unloading ends at q = 0, after the slip `full`
        if power == 1.0:
            linear = unloading == 0.0
            full = -q / a if linear else math.log1p(-unloading * q / a) / unloading
            if full >= left:
                # (1 - exp(-x)) / x without cancellation at small x
                grown = left if linear else -math.expm1(-unloading * left) / unloading
                return q * math.exp(-unloading * left) + a * grown
        else:
            root = math.sqrt(a * unloading) if unloading > 0.0 else 0.0
            full = -q / a if root == 0.0 else math.atan(-q * root / a) / root
            if full >= left:
                if root == 0.0:
                    return q + a * left
                t = math.tan(root * left)
                # tan(x + y), with tan(x) = q root / a
                return (q + a / root * t) / (1.0 - q * root / a * t)
        left -= full
        q = 0.0
    # loading from q >= 0
    if power == 1.0:
        return q * math.exp(-loading * left) - a * math.expm1(-loading * left) / loading
    root = math.sqrt(a * loading)
    t = math.tanh(root * left)
    top = a / root
    return top * (q + top * t) / (top + q * t)


@kernel
def state_after(code: int, p: Vector, z: float, dx: float, dt: float) -> float:
    """Return the state after a slip dx [m] at constant speed during dt [s], the exact solution.

    With u = slip / length and the steady state theta_s = length dt / slip, the ageing law and the
    contact age have theta = theta_0 exp(-u) + theta_s (1 - exp(-u)), the slip law has ln(theta) =
    ln(theta_0) exp(-u) + ln(theta_s) (1 - exp(-u)). LuGre and Dahl with power 1 relax likewise to
    the steady deflection.

    Source: Ruina 1983, J. Geophys. Res. 88, 10359, for rate and state.
    """
    s = 1.0 if dx >= 0.0 else -1.0
    slip = s * dx
    if code == RATE_STATE:
        length, slip_law = p[2], p[5]
        u = slip / length
        if u == 0.0:
            # stick: theta is constant by the slip law, and d(theta)/dt = 1 by the ageing law
            if slip_law == 1.0:
                return z
            return z + math.log1p(dt * math.exp(-z))
        if slip_law == 0.0 and u < 1.0:
            # ln(theta_0 exp(-u) (1 + dt / theta_0 (exp(u) - 1) / u)): no cancellation at small u,
            # where theta_s is much longer than dt
            return z - u + math.log1p(dt * math.exp(-z) * math.expm1(u) / u)
        fade = math.exp(-u)
        steady = math.log(length * dt / slip)
        if slip_law == 1.0:
            return steady + (z - steady) * fade
        more = z - steady
        if more > 30.0:
            # theta far above its steady value: exp(more) would overflow above 709. Both forms are
            # exact in between; 30 is any value well inside
            ratio = fade + (1.0 - fade) * math.exp(-more)
            return z + math.log(ratio) if ratio > 0.0 else steady
        return steady + math.log1p(math.expm1(more) * fade)
    if code == AGEING_COULOMB:
        u = slip / p[3]
        if u == 0.0:
            return z + dt
        # theta_s (1 - exp(-u)) = dt (1 - exp(-u)) / u, without cancellation at small u
        return z * math.exp(-u) - dt * math.expm1(-u) / u
    if slip == 0.0:
        return z
    sigma0 = p[0]
    if code == DAHL:
        # distance from the steady deflection mu / sigma0 decays with the slip
        mu, power = p[1], p[2]
        full = mu / sigma0
        left = 1.0 - s * z / full
        x = slip / full
        left = left * math.exp(-x) if power == 1.0 else left / (1.0 + x * abs(left))
        return s * full * (1.0 - left)
    if code == LUGRE:
        full = stribeck_level(p, slip / dt) / sigma0
        return s * full + (z - s * full) * math.exp(-slip / full)
    return s * _bouc_wen_state_after(p, s * z, slip)
