"""Rates of change of every cell, in the logarithms of speed and state.

Balance of stress, sigma mu(V, theta) + eta V = tau, differentiated in time, gives the rate of
ln V from the rates of the elastic stress tau and of the effective normal stress sigma, which
falls as pore pressure rises. Logarithms hold fourteen decades of speed evenly,
and neither speed nor state can leave the positive numbers.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel

__all__ = [
    "ETA",
    "EVOLUTION",
    "FORMS",
    "LENGTH",
    "LN_LENGTH",
    "LN_RATIO",
    "LN_SPEED0",
    "MU0",
    "PAR_ROWS",
    "PRESSURE",
    "PRESSURE_RATE",
    "REGULARISED",
    "SIGMA",
    "SPEED0",
    "TOTAL",
    "A",
    "B",
    "coefficient",
    "rates",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# rows of `par`, a column for each cell; SIGMA is the effective normal stress, at the time of the
# trial
A, B, LENGTH, MU0, SPEED0, SIGMA, ETA = range(7)
# logarithms of speed0 / length, of speed0 and of length
LN_RATIO, LN_SPEED0, LN_LENGTH = range(7, 10)
# normal stress without pore pressure; pore pressure and its rate at the time of the trial
TOTAL, PRESSURE, PRESSURE_RATE = range(10, 13)
PAR_ROWS = 13
_LN_2 = math.log(2.0)
# from here on exp(-2 power) is nothing beside 1, and the arsinh a logarithm to the last bit
_FAR = 19.0
_LN_2_FAR = math.log1p(1.0)
# entries of `forms`: whether mu is an arsinh, and which law the state obeys (1: slip law)
REGULARISED, EVOLUTION = 0, 1
FORMS = 2


@kernel
def coefficient(x: float, q: float, par: Floats, i: int, regularised: bool) -> tuple[float, float]:
    """Return mu and (d mu / d ln V) / a of cell i at x = ln V and q = ln theta."""
    a = par[A, i]
    level = par[MU0, i] + par[B, i] * (q + par[LN_RATIO, i])
    lift = x - par[LN_SPEED0, i]
    if not regularised:
        return a * lift + level, 1.0
    power = lift + level / a - _LN_2
    if power > _FAR:
        return a * (power + _LN_2_FAR), 1.0
    if power > 0.0:
        small = math.exp(-2.0 * power)
        root = math.sqrt(1.0 + small)
        return a * (power + math.log1p(root)), 1.0 / root
    u = math.exp(power)
    return a * math.asinh(u), u / math.sqrt(1.0 + u * u)


@kernel
def rates(
    y: Floats,
    speed: Floats,
    stress_rate: Floats,
    par: Floats,
    forms: Ints,
    plate_speed: float,
    out: Floats,
) -> None:
    """Set `out` to dy/dt, where the rate of elastic stress is known.

    Parameters
    ----------
    y, out : (4 n + 2,) ln V, ln theta, slip beyond the plates' and heat of each cell, then
        radiated energy and work of the plates, both summed over the cells, per cell size
    speed : (n,) exp(ln V) [m/s], which whoever asked for the rate of stress has
    stress_rate : (n,) K (V - plate speed) [Pa/s]
    par, forms : as named above
    plate_speed : [m/s]
    """
    n = stress_rate.size
    radiated, work = 0.0, 0.0
    for i in range(n):
        x, q = y[i], y[n + i]
        v = speed[i]
        part = v / par[LENGTH, i]
        if forms[EVOLUTION] == 1:
            q_rate = -part * (x + q - par[LN_LENGTH, i])
        else:
            q_rate = math.exp(-q) - part
        mu, share = coefficient(x, q, par, i, forms[REGULARISED] == 1)
        sigma, drag = par[SIGMA, i], par[ETA, i] * v
        resisting = sigma * par[B, i] * share * q_rate
        loading = stress_rate[i] + par[PRESSURE_RATE, i] * mu
        out[i] = (loading - resisting) / (sigma * par[A, i] * share + drag)
        out[n + i] = q_rate
        out[2 * n + i] = v - plate_speed
        out[3 * n + i] = sigma * mu * v
        radiated += drag * v
        work += (sigma * mu + drag) * plate_speed
    out[4 * n] = radiated
    out[4 * n + 1] = work
