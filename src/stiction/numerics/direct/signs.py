"""Signs of determinants of matrices that are symmetric but for a few rows and columns.

With friction the tangent of a solid is unsymmetric, where it touches. Split into the rest b and
these rows c,

    det K = det K_bb det (K_cc - K_cb K_bb^-1 K_bc),

the rest is symmetric: the signs of its pivots are those of its eigenvalues, half of the factors
will do, and none of them is kept. What is left is small and dense. PARDISO gives both in one call.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.direct.factors import Floats, Ints, Pattern

__all__ = ["parted", "sign_of_parts"]

# part of the largest entry up to which mirrored ones are the same
_MIRRORED = 1e-12
# unsymmetric rows at most: alone, and as a part of all
_MOST, _SHARE = 12_000, 0.25


def parted(pattern: Pattern, data: Floats) -> Ints | None:
    """Return the rows with entries that differ from their mirrored ones, None if they are many.

    Parameters
    ----------
    pattern, data : of the matrix

    Verified by: tests/unit/numerics/test_signs.py::test_rows_that_are_not_symmetric
    """
    where = pattern.transposition
    if where is None:
        return None
    apart = np.abs(data - data[where]) > _MIRRORED * np.abs(data).max(initial=0.0)
    # of two mirrored entries both are found, so rows are columns
    rows = np.unique(pattern.rows[apart])
    return rows if rows.size <= min(_MOST, _SHARE * pattern.n) else None


def sign_of_parts(
    pattern: Pattern, data: Floats, rows: Ints, dense: Floats, negative: int
) -> int | None:
    """Return the sign of a determinant, None where it is undecided.

    Parameters
    ----------
    pattern, data : of the matrix
    rows : (k,) sorted numbers of rows, of which all unsymmetric ones are some
    dense : (k, k) what elimination of the others leaves, with the upper half of the matrix
        mirrored; changed
    negative : pivots of the others that are negative

    Verified by: tests/unit/numerics/test_signs.py::test_sign_is_the_dense_one
    """
    where = pattern.transposition
    assert where is not None
    place = np.full(pattern.n, -1)
    place[rows] = np.arange(rows.size)
    i, j = place[pattern.rows], place[pattern.indices]
    below = (i > j) & (j >= 0)
    dense[i[below], j[below]] += (data - data[where])[below]
    if not np.isfinite(dense).all():
        return None
    odd = negative
    if rows.size:
        from scipy.linalg.lapack import dgetrf

        # in place: the matrix may be as large as the factors it was made with
        pivots, exchanged, failed = dgetrf(dense.T, overwrite_a=True)
        if failed:
            return None
        odd += int(np.count_nonzero(np.diag(pivots) < 0.0))
        odd += int(np.count_nonzero(exchanged != np.arange(rows.size)))
    return -1 if odd % 2 else 1
