"""Sign of the determinant of a matrix that is symmetric except for a few rows and columns.

The tangent matrix of a solid with friction is unsymmetric at nodes in contact. With the unknowns c
of these rows and the remaining unknowns b,

    det K = det K_bb det (K_cc - K_cb K_bb^-1 K_bc).

K_bb is symmetric, so that its pivots have the signs of its eigenvalues (Sylvester). The Schur
complement in the second factor is small and dense. PARDISO computes both in one call without
storing the factors of K_bb; `pardiso` calls this module. Path following compares the sign with
the number of unstable modes: it changes at a limit point.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.direct.factors import Floats, Ints, Pattern

__all__ = ["sign_of_parts", "unsymmetric_rows"]

# largest difference of K_ij and K_ji of symmetric entries, over the largest entry of K: rounding of
# an assembly in another order. Chosen
_MIRRORED = 1e-12
# largest number of unsymmetric rows, whose Schur complement is dense (1.2 GB), and their largest
# fraction of all rows. Chosen (docs/decisions/16)
_MOST, _FRACTION = 12_000, 0.25


def unsymmetric_rows(pattern: Pattern, data: Floats) -> Ints | None:
    """Return the rows i with an entry K_ij that differs from K_ji; None if there are too many.

    Parameters
    ----------
    pattern, data : sparsity pattern and values of the matrix K

    Verified by: tests/unit/numerics/test_signs.py::test_rows_that_are_not_symmetric
    """
    where = pattern.transposition
    if where is None:
        return None
    unsymmetric = np.abs(data - data[where]) > _MIRRORED * np.abs(data).max(initial=0.0)
    # K_ij and K_ji both differ, so that these rows are also the columns
    rows = np.unique(pattern.rows[unsymmetric])
    return rows if rows.size <= min(_MOST, _FRACTION * pattern.n) else None


def sign_of_parts(
    pattern: Pattern, data: Floats, rows: Ints, dense: Floats, negative: int
) -> int | None:
    """Return the sign of the determinant of K; None if the Schur complement is singular.

    Parameters
    ----------
    pattern, data : sparsity pattern and values of K
    rows : (k,) sorted rows c, which include all unsymmetric ones
    dense : (k, k) Schur complement for the symmetric matrix with the upper triangle of K;
        overwritten
    negative : number of negative pivots of K_bb

    Verified by: tests/unit/numerics/test_signs.py::test_sign_is_the_dense_one
    """
    where = pattern.transposition
    assert where is not None
    place = np.full(pattern.n, -1)
    place[rows] = np.arange(rows.size)
    i, j = place[pattern.rows], place[pattern.indices]
    # unsymmetric entries lie in K_cc alone, so K_cb = K_bc^T, and the complement is that of the
    # symmetric matrix plus K_ij - K_ji below the diagonal
    below = (i > j) & (j >= 0)
    dense[i[below], j[below]] += (data - data[where])[below]
    if not np.isfinite(dense).all():
        return None
    # number of factors -1: negative pivots of K_bb and of the complement, and exchanges of rows
    odd = negative
    if rows.size:
        from scipy.linalg.lapack import dgetrf

        # in place: the matrix may be as large as the factors. The transpose has the same
        # determinant, and the order of columns that LAPACK reads without a copy
        pivots, exchanged, failed = dgetrf(dense.T, overwrite_a=True)
        if failed:
            return None
        odd += int(np.count_nonzero(np.diag(pivots) < 0.0))
        odd += int(np.count_nonzero(exchanged != np.arange(rows.size)))
    return -1 if odd % 2 else 1
