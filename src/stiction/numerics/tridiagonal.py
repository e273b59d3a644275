"""Symmetric tridiagonal M-matrices: factorisation without cancellation, solution in O(n).

The matrix is given by its row sums and couplings instead of its diagonal:

    (A w)_i = excess_i w_i + coupling_i (w_i - w_{i-1}) + coupling_{i+1} (w_i - w_{i+1})

with w = 0 beyond both ends and for pinned unknowns. The elimination then combines springs in
series: sums, products and quotients of positive numbers only, so that a stiff coupling causes no
cancellation in a small excess, as a stored diagonal would.

A system is the first six rows of a table with at least n + 1 columns, named by `system_of`: passing
six arrays would take longer than the solution of three unknowns.
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
    excess : row sums > 0
    coupling : (n + 1,) >= 0, to the previous unknown
    rhs : right-hand side
    inverse, lower : inverse pivots, 0 where pinned, and multipliers of the previous unknown
    solution : w
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
    table : its rows; `inverse` and `lower` are written
    free : (n,) or more

    Source: Grassmann, Taksar, Heyman 1985 (elimination without subtraction), for a
    tridiagonal matrix.
    Verified by: tests/unit/numerics/test_tridiagonal.py::test_solves_like_a_dense_matrix
    """
    system = system_of(table)
    # `ground`: stiffness of the eliminated unknowns, seen from the next one
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
