"""Friction laws with one state variable, in compiled form, for fits to measured curves.

A law is given by a code, a vector p of parameters and one state z: the bristle deflection [m]
(Dahl, LuGre), the hysteretic variable (Bouc-Wen), the contact age [s] (ageing Coulomb), or
ln(theta) (rate and state). The kernels compute the coefficient of friction, the rate of the state,
and the exact solution of the state equation at constant slip speed. With the exact solution,
imposed slip is integrated without truncation error.
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

# codes of the laws; the comment names their parameters in order
# mu_static, mu_kinetic, v_scale, power, viscous, bound of stick
STRIBECK = 0
# sigma0, mu, power
DAHL = 1
# sigma0, sigma1, sigma2, mu_static, mu_kinetic, v_scale, power
LUGRE = 2
# sigma0, a, beta, gamma, power
BOUC_WEN = 3
# a, b, length, mu0, speed0, slip law (1) or ageing (0), regularised (1)
RATE_STATE = 4
# mu_fresh, growth, time, length
AGEING_COULOMB = 5


@kernel
def kinetic(p: Vector, v: float) -> float:
    """Return the Stribeck curve mu_k + (mu_s - mu_k) exp(-(v/v_s)^power) + viscous v, v >= 0."""
    x = v / p[2]
    y = x if p[3] == 1.0 else x * x
    return p[1] + (p[0] - p[1]) * math.exp(-y) + p[4] * v


@kernel
def stribeck_level(p: Vector, v: float) -> float:
    """Return g(v) of LuGre, the Stribeck curve of the steady bristle force, v >= 0."""
    x = v / p[5]
    y = x if p[6] == 1.0 else x * x
    return p[4] + (p[3] - p[4]) * math.exp(-y)


@kernel
def state_rate(code: int, p: Vector, w: float, z: float, s: float) -> float:
    """Return dz/dt of a presliding law at the slip velocity w, whose sign is s.

    Source: Dahl 1968; Canudas de Wit et al. 1995, eq. (2), for LuGre; Wen 1976 for Bouc-Wen.
    """
    if code == DAHL:
        # Dahl: dz/dt = w (1 - sigma0 z s / mu)^power
        left = 1.0 - s * p[0] * z / p[1]
        return w * left if p[2] == 1.0 else w * left * abs(left)
    # LuGre: dz/dt = w - sigma0 |w| z / g(|w|)
    if code == LUGRE:
        return w - p[0] * s * w * z / stribeck_level(p, s * w)
    # Bouc-Wen: a w - beta |w| z |z|^(n-1) - gamma w |z|^n
    r = 1.0 if z >= 0.0 else -1.0
    odd = z if p[4] == 1.0 else z * abs(z)
    return p[1] * w - p[2] * s * w * odd - p[3] * w * r * odd


@kernel
def coefficient(code: int, p: Vector, w: float, z: float) -> float:
    """Return the coefficient of friction at slip velocity w [m/s]; it is odd in (w, z)."""
    if code in (DAHL, BOUC_WEN):
        return p[0] * z
    s = 1.0 if w >= 0.0 else -1.0
    if code == LUGRE:
        return p[0] * z + p[1] * state_rate(code, p, w, z, s) + p[2] * w
    if code == AGEING_COULOMB:
        return s * (p[0] + p[1] * math.log1p(z / p[2]))
    # rate and state, z = ln(theta): mu = mu0 + a ln(v/v0) + b ln(theta v0 / L)
    grown = p[3] + p[1] * (z + math.log(p[4] / p[2]))
    if w == 0.0:
        return 0.0
    lift = math.log(abs(w) / p[4])
    if p[6] == 0.0:
        return s * (p[0] * lift + grown)
    # regularised: a arcsinh(v / (2 v0) exp((mu0 + b ln(theta v0 / L)) / a))
    power = lift + grown / p[0] - math.log(2.0)
    if power > 0.0:
        # arcsinh(e^x) = x + ln(1 + sqrt(1 + e^-2x)): the exponential may overflow
        return s * p[0] * (power + math.log1p(math.sqrt(1.0 + math.exp(-2.0 * power))))
    return s * p[0] * math.asinh(math.exp(power))


@kernel
def _bouc_wen_state_after(p: Vector, q: float, length: float) -> float:
    """Return the hysteretic variable of the Bouc-Wen law after a slip of `length` [m].

    q is the variable times the sign of the slip. It obeys dq/dx = a - (beta - gamma) |q|^n during
    unloading (q < 0) and dq/dx = a - (beta + gamma) q^n during loading. The solutions are
    exponentials for n = 1, and tangents for n = 2.
    """
    a, unloading, loading = p[1], p[2] - p[3], p[2] + p[3]
    left = length
    if q < 0.0:
        # unloading ends at q = 0, after the slip `full`
        if p[4] == 1.0:
            x = -unloading * q / a
            full = -q / a if x < 1e-12 else math.log1p(x) / unloading
            if full >= left:
                e = math.exp(-unloading * left)
                grown = left if unloading * left < 1e-12 else (1.0 - e) / unloading
                return q * e + a * grown if unloading >= 0.0 else q
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
    if p[4] == 1.0:
        e = math.exp(-loading * left)
        return q * e + a * (1.0 - e) / loading
    root = math.sqrt(a * loading)
    t = math.tanh(root * left)
    top = a / root
    return top * (q + top * t) / (top + q * t)


@kernel
def state_after(code: int, p: Vector, z: float, dx: float, dt: float) -> float:
    """Return the state after a slip dx [m] at constant speed during dt [s], the exact solution."""
    s = 1.0 if dx >= 0.0 else -1.0
    length = s * dx
    if code == RATE_STATE:
        if length == 0.0:
            # stick: theta is constant by the slip law, and d(theta)/dt = 1 by the ageing law
            if p[5] == 1.0:
                return z
            return z + math.log1p(dt * math.exp(-z))
        # theta (ageing law) or ln(theta) (slip law) relaxes to that of L/v over the slip length L
        fade = math.exp(-length / p[2])
        steady = math.log(p[2] * dt / length)
        if p[5] == 1.0:
            return steady + (z - steady) * fade
        more = z - steady
        if more > 30.0:
            # theta far above its steady value: exp(more) would overflow
            ratio = fade + (1.0 - fade) * math.exp(-more)
            return z + math.log(ratio) if ratio > 0.0 else steady
        return steady + math.log1p(math.expm1(more) * fade)
    if code == AGEING_COULOMB:
        if length == 0.0:
            return z + dt
        fade = math.exp(-length / p[3])
        steady = p[3] * dt / length
        return steady + (z - steady) * fade
    if length == 0.0:
        return z
    if code == DAHL:
        # distance from the steady deflection mu / sigma0 decays with the slip
        full = p[1] / p[0]
        left = 1.0 - s * z / full
        x = length / full
        left = left * math.exp(-x) if p[2] == 1.0 else left / (1.0 + x * abs(left))
        return s * full * (1.0 - left)
    if code == LUGRE:
        full = stribeck_level(p, length / dt) / p[0]
        return s * full + (z - s * full) * math.exp(-length / full)
    return s * _bouc_wen_state_after(p, s * z, length)
