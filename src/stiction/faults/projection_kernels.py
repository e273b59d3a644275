"""Projection onto the balance of stress, of which the steps integrate the time derivative.

Steps integrate the derivative of sigma mu(V, theta) + eta V = tau. Their errors in the balance
accumulate: within the tolerance in one cycle, a hundred times the tolerance after 10^4. Every few
dozen steps the elastic stress tau = K slip is computed, and Newton's method solves the balance of
each cell for ln V at given theta: a projection onto the manifold of an invariant.

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

# steps between projections: two more products in two hundred
EVERY = 32
# a larger correction in ln V is no accumulated error: it is not applied, and the audit fails
_MOST = 1.0
_ROUNDING = 1e-15
_NEWTON_STEPS = 8


@kernel
def project_equilibrium(
    state: Floats, stress: Floats, cells: Table[Cell], rtol: float, largest: float
) -> float:
    """Correct ln V of every cell in `state`; return the largest residual before.

    A cell is unchanged where rounding of the stress exceeds the tolerance in ln V.

    Parameters
    ----------
    state : (4 n + 2,) as in `rate_kernels.rates`
    stress : (n,) elastic stress, initial stress included [Pa]
    cells : n
    rtol : tolerance of ln V
    largest : size of the terms of the stress [Pa], for its rounding error

    Returns
    -------
    float : residual of the balance over the normal stress [1]

    Verified by: tests/unit/faults/test_projection.py::test_the_speed_balances_the_stress
    """
    n, worst = stress.size, 0.0
    for i in range(n):
        cell, x, q = cells[i], state[i], state[n + i]
        sigma, eta = cell.sigma, cell.eta
        for iteration in range(_NEWTON_STEPS):
            mu, direct = coefficient(x, q, cell)
            drag = eta * math.exp(x)
            # residual of the balance, and its derivative by ln V
            off = stress[i] - sigma * mu - drag
            if iteration == 0:
                worst = max(worst, abs(off) / sigma)
            slope = sigma * cell.a * direct + drag
            # a comparison with NaN is false: then nothing is changed
            if not _ROUNDING * largest < rtol * slope:
                break
            change = off / slope
            if not abs(x + change - state[i]) <= _MOST:
                x = state[i]
                break
            x += change
            # Newton's method is quadratic: the next correction would be far below
            if abs(change) <= 1e-3 * rtol:
                break
        state[i] = x
    return worst
