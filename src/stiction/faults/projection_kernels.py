"""Projection of the slip speeds onto the balance of stress sigma mu(V, theta) + eta V = tau.

Runge-Kutta steps integrate the time derivative of the balance. Their errors in the balance
accumulate: they are within the tolerance in one cycle, and a hundred times the tolerance after 10^4
cycles. Every 32 steps the stress tau = tau0 + K slip is computed from the slip, and Newton's method
solves the balance of each cell for ln V at given theta. This is a projection onto the manifold of
an invariant.

Source: Hairer, Lubich and Wanner 2006, Geometric Numerical Integration, sec. IV.4 (projection).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.faults.rate_kernels import Cell, coefficient
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["EVERY", "project_equilibrium"]

Floats = npt.NDArray[np.float64]

# steps between projections: two more products with the stiffness in about two hundred
EVERY = 32
# a larger correction in ln V, by more than a factor e of the speed, is not an accumulated error: it
# is not applied, and the audit fails. Chosen
_MOST = 1.0
_ROUNDING = 1e-15
_NEWTON_STEPS = 8


@kernel
def project_equilibrium(
    state: Floats, stress: Floats, cells: Table[Cell], rtol: float, largest: float
) -> float:
    """Correct ln V of every cell in `state`; return the largest residual before the correction.

    A cell is unchanged where rounding of the stress exceeds the tolerance in ln V.

    Parameters
    ----------
    state : (4 n + 2,) layout as in `rate_kernels.rates`; ln V is corrected in place
    stress : (n,) elastic stress, initial stress included [Pa]
    cells : n
    rtol : tolerance of ln V
    largest : largest term of the stress [Pa]; its rounding error is 1e-15 times this

    Returns
    -------
    float : largest residual of the balance over the normal stress [1]

    Verified by: tests/unit/faults/test_projection.py::test_the_speed_balances_the_stress
    """
    n, worst = stress.size, 0.0
    for i in range(n):
        cell, x, q = cells[i], state[i], state[n + i]
        sigma, eta = cell.sigma, cell.eta
        for iteration in range(_NEWTON_STEPS):
            mu, r = coefficient(x, q, cell)
            drag = eta * math.exp(x)
            # residual of the balance, and its derivative by ln V
            residual = stress[i] - sigma * mu - drag
            if iteration == 0:
                worst = max(worst, abs(residual) / sigma)
            slope = sigma * cell.a * r + drag
            # a comparison with NaN is false: then nothing is changed
            if not _ROUNDING * largest < rtol * slope:
                break
            correction = residual / slope
            if not abs(x + correction - state[i]) <= _MOST:
                x = state[i]
                break
            x += correction
            # Newton's method is quadratic: the next correction would be far below
            if abs(correction) <= 1e-3 * rtol:
                break
        state[i] = x
    return worst
