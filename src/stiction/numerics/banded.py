"""Systems of linear equations with a band matrix, by elimination with partial pivoting.

Row i of a matrix holds the entry of column j at j - i + lower. Each row has lower + upper + 1
entries and `lower` more, which exchanges of rows fill in. A full matrix is a band as well.

Source: Golub, Van Loan, Matrix Computations, section 4.3.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = ["factorise", "solve_factorised"]


def _with_slices(m: Matrix, lower: int, pivots: Integers) -> bool:
    """Return what `factorise` does, rows at once: plain loops over entries are slow."""
    n, width = m.shape
    for c in range(n):
        last = min(c + lower, n - 1)
        column = np.array([abs(m[i, c - i + lower]) for i in range(c, last + 1)])
        best = pivots[c] = c + int(column.argmax())
        if not column.max() > 0.0:
            return False
        reach, at = min(n - c, width - lower), c - best + lower
        pivot = np.array(m[best, at : at + reach])
        m[best, at : at + reach] = m[c, lower : lower + reach]
        m[c, lower : lower + reach] = pivot
        for i in range(c + 1, last + 1):
            at = c - i + lower
            if m[i, at] != 0.0:
                m[i, at] /= pivot[0]
                m[i, at + 1 : at + reach] -= m[i, at] * pivot[1:]
    return True


@kernel(plain=_with_slices)
def factorise(m: Matrix, lower: int, pivots: Integers) -> bool:
    """Factorise m in place; return whether it is regular.

    Parameters
    ----------
    m : (n, lower + upper + 1 + lower) rows of the band
    lower : how many diagonals below the main one
    pivots : (n,) filled in for `solve_factorised`

    Verified by: tests/unit/numerics/test_banded.py::test_bands_are_solved_as_full_matrices_are
    """
    n, width = m.shape
    for c in range(n):
        last = min(c + lower, n - 1)
        best = c
        for i in range(c + 1, last + 1):
            if abs(m[i, c - i + lower]) > abs(m[best, c - best + lower]):
                best = i
        pivots[c] = best
        at = c - best + lower
        if not abs(m[best, at]) > 0.0:
            return False
        reach = min(n - c, width - lower)
        if best != c:
            for j in range(reach):
                m[c, lower + j], m[best, at + j] = m[best, at + j], m[c, lower + j]
        for i in range(c + 1, last + 1):
            at = c - i + lower
            if m[i, at] != 0.0:
                m[i, at] /= m[c, lower]
                for j in range(1, reach):
                    m[i, at + j] -= m[i, at] * m[c, lower + j]
    return True


@kernel
def solve_factorised(m: Matrix, lower: int, pivots: Integers, b: Vector) -> None:
    """Replace b by the solution for a matrix that `factorise` has factorised."""
    n, width = m.shape
    for c in range(n):
        best = pivots[c]
        b[c], b[best] = b[best], b[c]
        for i in range(c + 1, min(c + lower, n - 1) + 1):
            b[i] -= m[i, c - i + lower] * b[c]
    for i in range(n - 1, -1, -1):
        for j in range(1, min(n - i, width - lower)):
            b[i] -= m[i, lower + j] * b[i + j]
        b[i] /= m[i, lower]
