"""Symmetric tridiagonal M-matrices: factorisation without cancellation, solution in O(n): kernels.

The matrix is given by its row sums (excess) and couplings instead of its diagonal:

    (A w)_i = excess_i w_i + coupling_i (w_i - w_{i-1}) + coupling_{i+1} (w_i - w_{i+1})

with w = 0 beyond both ends and for pinned unknowns. Elimination then corresponds to springs in
series: it has sums, products and quotients of positive numbers only. With a stored diagonal a small
excess beside a large coupling would be lost by cancellation. Chains solve implicit steps with it
(`chains.theta`).

A system is stored in the first six rows of one array with at least n + 1 columns; `system_of` names
them. Passing six arrays would take longer than the solution of three unknowns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel

__all__ = ["System", "factorise", "solve_factored", "system_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.int8]


class System(NamedTuple):
    """The rows of a system.

    Attributes
    ----------
    excess : (n,) row sums > 0
    coupling : (n + 1,) couplings >= 0 of each unknown to the previous one
    rhs : (n,) right-hand side
    inverse, lower : (n,) factors: inverse pivots, 0 for pinned unknowns, and multipliers of the
        previous unknown
    solution : (n,) solution w
    """

    excess: Floats
    coupling: Floats
    rhs: Floats
    inverse: Floats
    lower: Floats
    solution: Floats


@kernel(views=True)
def system_of(table: Floats) -> System:
    """Return the rows of a table that are a system."""
    return System(table[0], table[1], table[2], table[3], table[4], table[5])


@kernel
def factorise(n: int, table: Floats, free: Flags) -> None:
    """Write the factors of A; unknown i is pinned at zero where `free[i]` is zero.

    Parameters
    ----------
    n : number of unknowns
    table : rows of the system; `inverse` and `lower` are written
    free : (>= n,) 0 for pinned unknowns

    Source: Grassmann, Taksar, Heyman 1985 (elimination without subtraction), for a
    tridiagonal matrix.
    Verified by: tests/unit/numerics/test_tridiagonal.py::test_solves_like_a_dense_matrix
    """
    system = system_of(table)
    # `ground`: stiffness by which the eliminated unknowns support the next one
    ground, before = system.coupling[0], 0.0
    for i in range(n):
        system.lower[i] = system.coupling[i] * before
        to_ground = system.excess[i] + ground
        after = system.coupling[i + 1]
        if free[i] != 0:
            before = 1.0 / (to_ground + after)
            ground = after * to_ground * before
        else:
            before = 0.0
            ground = after
        system.inverse[i] = before


@kernel
def solve_factored(n: int, table: Floats) -> None:
    """Write the solution of A w = rhs to row `solution`; pinned unknowns are 0.

    Verified by: tests/unit/numerics/test_tridiagonal.py::test_solves_like_a_dense_matrix
    """
    system = system_of(table)
    # forward and backward substitution (Thomas algorithm)
    value = 0.0
    for i in range(n):
        value = system.rhs[i] + system.lower[i] * value
        system.solution[i] = value
    value = 0.0
    for i in range(n - 1, -1, -1):
        value = (system.solution[i] + system.coupling[i + 1] * value) * system.inverse[i]
        system.solution[i] = value
