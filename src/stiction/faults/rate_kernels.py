"""Right-hand side of the quasi-dynamic equations, in x = ln V and q = ln theta of every cell.

V is the slip speed [m/s], theta the state [s]. The time derivative of the balance of stress,
sigma mu(V, theta) + eta V = tau, gives dx/dt from the rates of the elastic stress tau and of the
effective normal stress sigma. Logarithms resolve fourteen decades of speed with equal relative
accuracy and keep V and theta positive. `stepper_kernels` calls `rates` in each stage of a step.

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
# at a larger argument e^power of the arsinh, arsinh is ln(2 e^power) to rounding
_FAR = 19.0
_LN_2_FAR = math.log1p(1.0)


class Cell(Struct):
    """Parameters and local state of one cell.

    a, b, length, mu0 : a, b [1], L [m] and mu0 [1] of its law
    regularised : 1 for mu with an arsinh, 0 with a logarithm
    slip_law : 1 for the slip law, 0 for the ageing law
    ln_ratio, ln_speed0, ln_length : ln(V0 / L), ln V0 and ln L; V0 is the law's `speed0`
    eta : radiation damping [Pa s/m]
    normal_stress : without pore pressure [Pa]
    pressure, pressure_rate : pore pressure and its rate at the time of the present stage [Pa],
        [Pa/s]
    sigma : effective normal stress at that time [Pa]
    stress_start : shear stress at the start of the run, tau0 [Pa]
    speed : slip speed of the present stage [m/s]
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
    """Return mu and r = (d mu / dx) / a of a cell at x = ln V and q = ln theta.

    Logarithmic law: mu = mu0 + a ln(V / V0) + b ln(theta V0 / L), r = 1. Regularised law:
    mu = a arsinh(u), u = V / (2 V0) exp((mu0 + b ln(theta V0 / L)) / a), r = u / sqrt(1 + u^2).
    Moreover, (d mu / dq) / b = r.
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
        # arsinh(e^p) = p + ln(1 + sqrt(1 + e^-2p)), without overflow
        decay = math.exp(-2.0 * power)
        root = math.sqrt(1.0 + decay)
        return a * (power + math.log1p(root)), 1.0 / root
    # u is at most 1
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
    """Set `out` to dy/dt for a given rate of the elastic stress.

    With r = (d mu / dx) / a of `coefficient` and the pore pressure p,

        dx/dt = (d(tau)/dt + mu dp/dt - sigma b r dq/dt) / (sigma a r + eta V),
        dq/dt = 1 / theta - V / L (ageing law) or -(V / L) ln(V theta / L) (slip law).

    Parameters
    ----------
    y, out : (4 n + 2,) state and its rates: n values each of ln V, ln theta, slip less that of the
        plates [m] and friction heat per area [J/m^2]; then radiated energy and work of the plates,
        both summed over the cells, per area [J/m^2]
    stress_rate : (n,) rate of the elastic stress, K (V - plate speed) [Pa/s]
    cells : n; `speed` is exp(x), `sigma` and `pressure_rate` belong to the same time
    plate_speed : [m/s]
    """
    n = stress_rate.size
    radiated, work = 0.0, 0.0
    for i in range(n):
        x, q = y[i], y[n + i]
        cell = cells[i]
        v = cell.speed
        slip_rate = v / cell.length
        # state evolution dq/dt of the slip law or the ageing law
        if cell.slip_law == 1:
            q_rate = -slip_rate * (x + q - cell.ln_length)
        else:
            q_rate = math.exp(-q) - slip_rate
        mu, r = coefficient(x, q, cell)
        sigma, drag = cell.sigma, cell.eta * v
        # the time derivative of the balance, solved for dx/dt
        resisting = sigma * cell.b * r * q_rate
        # d(sigma)/dt = -dp/dt
        loading = stress_rate[i] + cell.pressure_rate * mu
        out[i] = (loading - resisting) / (sigma * cell.a * r + drag)
        out[n + i] = q_rate
        out[2 * n + i] = v - plate_speed
        out[3 * n + i] = sigma * mu * v
        # eta V^2, and the stress tau of the balance times the speed of the plates
        radiated += drag * v
        work += (sigma * mu + drag) * plate_speed
    out[4 * n] = radiated
    out[4 * n + 1] = work
