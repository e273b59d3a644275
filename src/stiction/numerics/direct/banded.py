"""Systems of linear equations with a band matrix, by elimination with partial pivoting.

Row i of a matrix holds the entry of column j at j - i + reach, for |j - i| <= reach. Each row has
3 reach + 1 entries: the last ones are filled in by exchanges of rows. A full matrix is a band too.

Source: Golub, Van Loan, Matrix Computations, section 4.3.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["factorise", "solve_factorised"]


def _with_slices(m: Matrix, n: int, reach: int, pivots: Integers) -> bool:
    """Return what `factorise` does, rows at once: plain loops over entries are slow."""
    for c in range(n):
        last = min(c + reach, n - 1)
        column = np.array([abs(m[i, c - i + reach]) for i in range(c, last + 1)])
        best = pivots[c] = c + int(column.argmax())
        if not column.max() > 0.0:
            return False
        count, at = min(n - c, 2 * reach + 1), c - best + reach
        pivot = np.array(m[best, at : at + count])
        m[best, at : at + count] = m[c, reach : reach + count]
        m[c, reach : reach + count] = pivot
        for i in range(c + 1, last + 1):
            at = c - i + reach
            if m[i, at] != 0.0:
                m[i, at] /= pivot[0]
                m[i, at + 1 : at + count] -= m[i, at] * pivot[1:]
    return True


@kernel(plain=_with_slices)
def factorise(m: Matrix, n: int, reach: int, pivots: Integers) -> bool:
    """Factorise m in place; return whether it is regular.

    Parameters
    ----------
    m : rows of the band; may have more rows and columns than are used
    n, reach : unknowns, and diagonals on each side of the main one
    pivots : (n,) filled in for `solve_factorised`

    Verified by: tests/unit/numerics/test_banded.py::test_bands_are_solved_as_full_matrices_are
    """
    for c in range(n):
        last = min(c + reach, n - 1)
        best = c
        for i in range(c + 1, last + 1):
            if abs(m[i, c - i + reach]) > abs(m[best, c - best + reach]):
                best = i
        pivots[c] = best
        at = c - best + reach
        if not abs(m[best, at]) > 0.0:
            return False
        count = min(n - c, 2 * reach + 1)
        if best != c:
            for j in range(count):
                m[c, reach + j], m[best, at + j] = m[best, at + j], m[c, reach + j]
        for i in range(c + 1, last + 1):
            at = c - i + reach
            if m[i, at] != 0.0:
                m[i, at] /= m[c, reach]
                for j in range(1, count):
                    m[i, at + j] -= m[i, at] * m[c, reach + j]
    return True


@kernel
def solve_factorised(m: Matrix, n: int, reach: int, pivots: Integers, b: Vector) -> None:
    """Replace b by the solution for a matrix that `factorise` has factorised."""
    for c in range(n):
        best = pivots[c]
        b[c], b[best] = b[best], b[c]
        for i in range(c + 1, min(c + reach, n - 1) + 1):
            b[i] -= m[i, c - i + reach] * b[c]
    for i in range(n - 1, -1, -1):
        for j in range(1, min(n - i, 2 * reach + 1)):
            b[i] -= m[i, reach + j] * b[i + j]
        b[i] /= m[i, reach]
