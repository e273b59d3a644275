"""Signs of determinants of matrices that are symmetric but for a few rows and columns.

With friction the tangent of a solid is unsymmetric at nodes in contact. With these rows c and the
remaining rows b,

    det K = det K_bb det (K_cc - K_cb K_bb^-1 K_bc),

and K_bb is symmetric: the signs of its pivots are those of its eigenvalues (Sylvester). The Schur
complement is small and dense. PARDISO computes both in one call without storing the factors.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.direct.factors import Floats, Ints, Pattern

__all__ = ["sign_of_parts", "unsymmetric_rows"]

# relative difference of mirrored entries that counts as symmetric
_MIRRORED = 1e-12
# largest number of unsymmetric rows, and largest fraction of all rows
_MOST, _FRACTION = 12_000, 0.25


def unsymmetric_rows(pattern: Pattern, data: Floats) -> Ints | None:
    """Return the rows with entries that differ from their mirrored ones; None if they are many.

    Parameters
    ----------
    pattern, data : of the matrix

    Verified by: tests/unit/numerics/test_signs.py::test_rows_that_are_not_symmetric
    """
    where = pattern.transposition
    if where is None:
        return None
    unsymmetric = np.abs(data - data[where]) > _MIRRORED * np.abs(data).max(initial=0.0)
    # both of two mirrored entries are marked: the rows are the columns
    rows = np.unique(pattern.rows[unsymmetric])
    return rows if rows.size <= min(_MOST, _FRACTION * pattern.n) else None


def sign_of_parts(
    pattern: Pattern, data: Floats, rows: Ints, dense: Floats, negative: int
) -> int | None:
    """Return the sign of a determinant; None if it is undecided.

    Parameters
    ----------
    pattern, data : of the matrix
    rows : (k,) sorted rows, which include all unsymmetric ones
    dense : (k, k) Schur complement for the matrix with its upper triangle mirrored; overwritten
    negative : number of negative pivots of the other rows

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

        # in place: the matrix may be as large as the factors
        pivots, exchanged, failed = dgetrf(dense.T, overwrite_a=True)
        if failed:
            return None
        odd += int(np.count_nonzero(np.diag(pivots) < 0.0))
        odd += int(np.count_nonzero(exchanged != np.arange(rows.size)))
    return -1 if odd % 2 else 1
