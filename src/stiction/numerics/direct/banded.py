"""Linear systems with a band matrix, by LU factorisation with partial pivoting: kernels.

`reach` is the number of diagonals on each side of the main one. Column j of the matrix is stored as
row j of an array, with the entry of row i at i - j + 2 reach for |i - j| <= reach. The first
`reach` entries of a stored column are for fill-in by exchanges of rows. A full matrix is a band
matrix too.

Source: Golub, Van Loan, Matrix Computations, section 4.3; the layout of LAPACK's dgbtrf.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["factorise", "solve_factorised"]


def _by_lapack(m: Matrix, n: int, reach: int, pivots: Integers) -> bool:
    """Factorise by LAPACK, for kernels in plain Python."""
    from scipy.linalg.lapack import dgbtrf

    columns = np.asarray(m)[:n, : 3 * reach + 1]
    factors, exchanged, info = dgbtrf(columns.T, reach, reach)
    columns[:], np.asarray(pivots)[:n] = factors.T, exchanged
    return bool(info == 0)


@kernel(plain=_by_lapack)
def factorise(m: Matrix, n: int, reach: int, pivots: Integers) -> bool:
    """Replace m by its LU factors; return whether it is regular.

    Parameters
    ----------
    m : (>= n, 3 reach + 1) columns of the band
    n, reach : number of unknowns, and of diagonals on each side of the main one
    pivots : (n,) filled with the exchanges of rows, for `solve_factorised`

    Verified by: tests/unit/numerics/test_banded.py::test_bands_are_solved_as_full_matrices_are
    """
    # `edge` is the last column in which the row of U has an entry; exchanges of rows move it
    edge, main = 0, 2 * reach
    for c in range(n):
        last = min(c + reach, n - 1) - c + main
        # partial pivoting
        best = main
        for i in range(main + 1, last + 1):
            if abs(m[c, i]) > abs(m[c, best]):
                best = i
        if not abs(m[c, best]) > 0.0:
            return False
        pivots[c] = c + best - main
        edge = max(edge, min(pivots[c] + reach, n - 1))
        for j in range(c, edge + 1):
            up = j - c
            m[j, main - up], m[j, best - up] = m[j, best - up], m[j, main - up]
        # multipliers of L below the pivot
        for i in range(main + 1, last + 1):
            m[c, i] /= m[c, main]
        # eliminate in the columns to the right, up to the last one of the row of U
        for j in range(c + 1, edge + 1):
            factor, up = m[j, main - (j - c)], j - c
            if factor != 0.0:
                for i in range(main + 1, last + 1):
                    m[j, i - up] -= factor * m[c, i]
    return True


def _solve_by_lapack(m: Matrix, n: int, reach: int, pivots: Integers, b: Vector) -> None:
    """Solve by LAPACK, for kernels in plain Python."""
    from scipy.linalg.lapack import dgbtrs

    columns, right = np.asarray(m)[:n, : 3 * reach + 1], np.asarray(b)
    right[:n] = dgbtrs(columns.T, reach, reach, right[:n], np.asarray(pivots)[:n])[0]


@kernel(plain=_solve_by_lapack)
def solve_factorised(m: Matrix, n: int, reach: int, pivots: Integers, b: Vector) -> None:
    """Replace b by the solution of A x = b, where m and pivots have the factors of `factorise`."""
    main = 2 * reach
    # forward substitution with the exchanges of rows
    for c in range(n):
        best = pivots[c]
        value = b[best]
        b[best] = b[c]
        b[c] = value
        for i in range(c + 1, min(c + reach, n - 1) + 1):
            b[i] -= value * m[c, i - c + main]
    # backward substitution
    for c in range(n - 1, -1, -1):
        value = b[c] / m[c, main]
        b[c] = value
        for i in range(max(c - main, 0), c):
            b[i] -= value * m[c, i - c + main]
