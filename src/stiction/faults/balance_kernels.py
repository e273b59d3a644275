"""Put friction back into balance with the elastic stress, which steps keep only by its rate.

Steps integrate the derivative of sigma mu(V, theta) + eta V = tau. What they miss of the balance
stays and adds up: within the tolerance in one cycle, a hundred times the tolerance after 10^4. So
every few dozen steps the stress of the slip itself is asked for, and the speed that balances it is
found by Newton's method, as a solution is put back on the manifold of an invariant.

Source: Hairer, Lubich and Wanner 2006, Geometric Numerical Integration, sec. IV.4 (projection).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.faults.rate_kernels import Cell, coefficient
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["EVERY", "put_in_balance"]

Floats = npt.NDArray[np.float64]

# steps from one correction to the next: two more products in two hundred
EVERY = 32
# a correction beyond this in ln V is none of rounding or tolerance, and is left to the audit
_MOST = 1.0
_ROUNDING = 1e-15
_TURNS = 8


@kernel
def put_in_balance(
    state: Floats, stress: Floats, cells: Table[Cell], rtol: float, largest: float
) -> float:
    """Correct ln V of every cell in `state`; return how far the worst was from balance before.

    A cell is left as it is where rounding of the stress is more than the tolerance in ln V.

    Parameters
    ----------
    state : (4 n + 2,) as in `rate_kernels.rates`
    stress : (n,) elastic stress, with that of the start [Pa]
    cells : n
    rtol : tolerance of ln V
    largest : size of the terms that the stress is a sum of [Pa]

    Returns
    -------
    float : distance over the normal stress [1]

    Verified by: tests/unit/faults/test_balance.py::test_the_speed_balances_the_stress
    """
    n, worst = stress.size, 0.0
    for i in range(n):
        cell, x, q = cells[i], state[i], state[n + i]
        sigma, eta = cell.sigma, cell.eta
        for turn in range(_TURNS):
            mu, share = coefficient(x, q, cell)
            drag = eta * math.exp(x)
            off = stress[i] - sigma * mu - drag
            if turn == 0:
                worst = max(worst, abs(off) / sigma)
            slope = sigma * cell.a * share + drag
            # a comparison with NaN is false: then nothing is changed
            if not _ROUNDING * largest < rtol * slope:
                break
            change = off / slope
            if not abs(x + change - state[i]) <= _MOST:
                x = state[i]
                break
            x += change
            if abs(change) <= 1e-3 * rtol:
                break
        state[i] = x
    return worst
