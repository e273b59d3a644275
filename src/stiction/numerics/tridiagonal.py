"""Symmetric tridiagonal M-matrices: factors without cancellation, solves in O(n).

The matrix is given by what keeps it regular, not by its diagonal:

    (A w)_i = excess_i w_i + coupling_i (w_i - w_{i-1}) + coupling_{i+1} (w_i - w_{i+1})

with w = 0 beyond both ends and in rows that are pinned. The elimination then works like
springs in series: only sums, products and quotients of positive numbers, so a stiff
coupling costs no digits of a small excess, which a stored diagonal would.

A system is a table of six rows with at least n + 1 columns; the rows are named below. One
table instead of six arrays, because handing over arrays costs more than solving for three
unknowns.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel

__all__ = [
    "COUPLING",
    "EXCESS",
    "INVERSE",
    "LOWER",
    "RHS",
    "ROWS",
    "SOLUTION",
    "factorise",
    "solve_factored",
]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]

# given: row sums > 0; couplings >= 0 to the row before, n + 1 of them; right-hand side
EXCESS, COUPLING, RHS = 0, 1, 2
# found: inverse pivots (0 in pinned rows), multipliers of the row before, the solution
INVERSE, LOWER, SOLUTION = 3, 4, 5
ROWS = 6


@kernel(borrows=True)
def factorise(n: int, table: Floats, free: Marks, row: int) -> None:
    """Write the factors of A; unknown i is pinned at zero where `free[row, i]` is zero.

    Parameters
    ----------
    n : number of unknowns
    table : the system; rows INVERSE and LOWER are written
    free : (rows, n) marks, of which `row` is read

    Source: Grassmann, Taksar, Heyman 1985 (elimination without subtraction), for a
    tridiagonal matrix.
    Verified by: tests/unit/numerics/test_tridiagonal.py::test_solves_like_a_dense_matrix
    """
    ground, before = table[COUPLING, 0], 0.0
    for i in range(n):
        table[LOWER, i] = table[COUPLING, i] * before
        held = table[EXCESS, i] + ground
        after = table[COUPLING, i + 1]
        if free[row, i] != 0:
            before = 1.0 / (held + after)
            ground = after * held * before
        else:
            before = 0.0
            ground = after
        table[INVERSE, i] = before


@kernel(borrows=True)
def solve_factored(n: int, table: Floats) -> None:
    """Write the solution of A w = rhs to row SOLUTION; pinned unknowns are 0.

    Verified by: tests/unit/numerics/test_tridiagonal.py::test_solves_like_a_dense_matrix
    """
    value = 0.0
    for i in range(n):
        value = table[RHS, i] + table[LOWER, i] * value
        table[SOLUTION, i] = value
    value = 0.0
    for i in range(n - 1, -1, -1):
        value = (table[SOLUTION, i] + table[COUPLING, i + 1] * value) * table[INVERSE, i]
        table[SOLUTION, i] = value
