"""Right-hand side of the quasi-dynamic equations, in ln V and ln theta of every cell.

The time derivative of the balance of stress, sigma mu(V, theta) + eta V = tau, gives the rate of ln
V from the rates of the elastic stress tau and of the effective normal stress sigma. The logarithms
resolve fourteen decades of speed with equal relative accuracy and stay positive.

Source: Rice 1993, J. Geophys. Res. 98, 9885 (radiation damping); Ruina 1983 (state laws).
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
# from here on exp(-2 power) is negligible against 1, and the arsinh is a logarithm
_FAR = 19.0
_LN_2_FAR = math.log1p(1.0)


class Cell(Struct):
    """Parameters and local state of one cell.

    a, b, length, mu0 : of its law
    regularised : 1 for mu with an arsinh, 0 with a logarithm
    slip_law : 1 for the slip law, 0 for the ageing law
    ln_ratio, ln_speed0, ln_length : logarithms of speed0 / length, of speed0 and of length
    eta : radiation damping [Pa s/m]
    normal_stress : without pore pressure [Pa]
    pressure, pressure_rate : pore pressure and its rate at the time of the trial [Pa], [Pa/s]
    sigma : effective normal stress at the time of the trial [Pa]
    stress_start : shear stress at the start [Pa]
    speed : of the trial [m/s]
    onset_slip, event_slip : slip less that of the plates at the last onset, and at the last event
        of either kind [m]
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
    """Return mu and (d mu / d ln V) / a of a cell at x = ln V and q = ln theta.

    Logarithmic: a ln(V / V0) + mu0 + b ln(theta V0 / L), with derivative 1. Regularised:
    a arsinh(V / (2 V0) exp((mu0 + b ln(theta V0 / L)) / a)).
    """
    a = cell.a
    level = cell.mu0 + cell.b * (q + cell.ln_ratio)
    lift = x - cell.ln_speed0
    if cell.regularised == 0:
        return a * lift + level, 1.0
    power = lift + level / a - _LN_2
    if power > _FAR:
        return a * (power + _LN_2_FAR), 1.0
    if power > 0.0:
        # arsinh(e^x) = x + ln(1 + sqrt(1 + e^-2x)), without overflow
        small = math.exp(-2.0 * power)
        root = math.sqrt(1.0 + small)
        return a * (power + math.log1p(root)), 1.0 / root
    # V / (2 V0) exp(...) of at most 1
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
    """Set `out` to dy/dt for a given rate of elastic stress.

    Parameters
    ----------
    y, out : (4 n + 2,) ln V, ln theta, slip less that of the plates and heat of each cell,
        then radiated energy and work of the plates, both summed over the cells, per cell size
    stress_rate : (n,) K (V - plate speed) [Pa/s]
    cells : n, with the speed exp(ln V) that the stress rate belongs to
    plate_speed : [m/s]
    """
    n = stress_rate.size
    radiated, work = 0.0, 0.0
    for i in range(n):
        x, q = y[i], y[n + i]
        cell = cells[i]
        v = cell.speed
        part = v / cell.length
        # slip law: -(V / L) ln(V theta / L); ageing law: 1 / theta - V / L
        if cell.slip_law == 1:
            q_rate = -part * (x + q - cell.ln_length)
        else:
            q_rate = math.exp(-q) - part
        mu, direct = coefficient(x, q, cell)
        sigma, drag = cell.sigma, cell.eta * v
        # the time derivative of the balance, solved for the rate of ln V
        resisting = sigma * cell.b * direct * q_rate
        # sigma falls as the pore pressure rises: d(sigma)/dt mu moves to the loading
        loading = stress_rate[i] + cell.pressure_rate * mu
        out[i] = (loading - resisting) / (sigma * cell.a * direct + drag)
        out[n + i] = q_rate
        out[2 * n + i] = v - plate_speed
        out[3 * n + i] = sigma * mu * v
        # eta V^2, and the stress tau of the balance times the speed of the plates
        radiated += drag * v
        work += (sigma * mu + drag) * plate_speed
    out[4 * n] = radiated
    out[4 * n + 1] = work
