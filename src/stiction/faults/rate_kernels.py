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

from stiction.numerics.arrays import Struct, Table
from stiction.numerics.jit import kernel

__all__ = ["Cell", "coefficient", "rates"]

Floats = npt.NDArray[np.float64]
_LN_2 = math.log(2.0)
# from here on exp(-2 power) is nothing beside 1, and the arsinh a logarithm to the last bit
_FAR = 19.0
_LN_2_FAR = math.log1p(1.0)


class Cell(Struct):
    """Numbers of one cell.

    a, b, length, mu0 : of its law
    regularised : 1 where mu is an arsinh, 0 where it is a logarithm
    slip_law : 1 where the state obeys the slip law, 0 where it obeys the ageing law
    ln_ratio, ln_speed0, ln_length : logarithms of speed0 / length, of speed0 and of length
    eta : stress per speed that waves carry away [Pa s/m]
    normal_stress : without pore pressure [Pa]
    pressure, pressure_rate : pore pressure and its rate at the time of the trial [Pa], [Pa/s]
    sigma : effective normal stress at the time of the trial [Pa]
    stress_start : shear stress at the start [Pa]
    speed : of the trial [m/s]
    onset_slip, event_slip : slip beyond the plates' at the last onset, and at the last event of
        either kind [m]
    """

    a: float
    b: float
    length: float
    mu0: float
    regularised: int
    slip_law: int
    ln_ratio: float
    ln_speed0: float
    ln_length: float
    eta: float
    normal_stress: float
    pressure: float
    pressure_rate: float
    sigma: float
    stress_start: float
    speed: float
    onset_slip: float
    event_slip: float


@kernel
def coefficient(x: float, q: float, cell: Cell) -> tuple[float, float]:
    """Return mu and (d mu / d ln V) / a of a cell at x = ln V and q = ln theta."""
    a = cell.a
    level = cell.mu0 + cell.b * (q + cell.ln_ratio)
    lift = x - cell.ln_speed0
    if cell.regularised == 0:
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
    stress_rate: Floats,
    cells: Table[Cell],
    plate_speed: float,
    out: Floats,
) -> None:
    """Set `out` to dy/dt, where the rate of elastic stress is known.

    Parameters
    ----------
    y, out : (4 n + 2,) ln V, ln theta, slip beyond the plates' and heat of each cell, then
        radiated energy and work of the plates, both summed over the cells, per cell size
    stress_rate : (n,) K (V - plate speed) [Pa/s]
    cells : n, with the speed exp(ln V), which whoever asked for the rate of stress has
    plate_speed : [m/s]
    """
    n = stress_rate.size
    radiated, work = 0.0, 0.0
    for i in range(n):
        x, q = y[i], y[n + i]
        cell = cells[i]
        v = cell.speed
        part = v / cell.length
        if cell.slip_law == 1:
            q_rate = -part * (x + q - cell.ln_length)
        else:
            q_rate = math.exp(-q) - part
        mu, share = coefficient(x, q, cell)
        sigma, drag = cell.sigma, cell.eta * v
        resisting = sigma * cell.b * share * q_rate
        loading = stress_rate[i] + cell.pressure_rate * mu
        out[i] = (loading - resisting) / (sigma * cell.a * share + drag)
        out[n + i] = q_rate
        out[2 * n + i] = v - plate_speed
        out[3 * n + i] = sigma * mu * v
        radiated += drag * v
        work += (sigma * mu + drag) * plate_speed
    out[4 * n] = radiated
    out[4 * n + 1] = work
