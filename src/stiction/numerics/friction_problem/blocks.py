"""The frictional contact problem u = W r + q with W in blocks, as the kernels need it.

r (n, size) are forces [N] or impulses [N s] of n contacts, u and q (n, size) velocities with and
without them [m/s]. W has a block (size, size) for each pair of contacts that are coupled, in block
compressed rows: the blocks of contact c are start[c] to start[c + 1], with the columns `column`.
The components of a contact are the normal one, then 1 or 2 tangential ones, then rolling ones.
`problem` makes a `Local` from a user's matrices, `bodies` from contacts; all solvers take it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from stiction.numerics.friction_problem.gauss_seidel import velocities

__all__ = ["Local", "local_of"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# asymmetry and negative eigenvalues of W up to this fraction of its norm count as rounding
_ROUNDING = 1e-12


class Local(NamedTuple):
    """The problem in local form, u = W r + q.

    Attributes
    ----------
    blocks, start, column, diagonal : W in blocks, see `gauss_seidel` [m/s/N]
    q : (n, size) velocities without contact forces [m/s]
    mu, rolling : (n,) coefficients of friction [1] and of rolling friction [m]
    n_tangent : number of tangential components of a contact, 1 or 2
    rho : (n,) 1 / the largest eigenvalue of each diagonal block
    """

    blocks: Floats
    start: Wholes
    column: Wholes
    diagonal: Wholes
    q: Floats
    mu: Floats
    rolling: Floats
    n_tangent: int
    rho: Floats

    def velocities(self, r: Floats) -> Floats:
        """Return u = W r + q, shaped as r."""
        u = np.empty_like(r)
        velocities(self.blocks, self.start, self.column, self.q, r, u)
        return u

    @property
    def matrix(self) -> sp.bsr_array[Any]:
        """W as a sparse matrix."""
        n = self.q.size
        return sp.bsr_array((self.blocks, self.column, self.start), shape=(n, n))

    @property
    def is_full(self) -> bool:
        """Whether at least a tenth of all blocks are stored: then factors are dense anyway."""
        return 10 * len(self.blocks) >= len(self.q) ** 2

    def dense(self) -> Floats:
        """Return W as a new dense array."""
        n, size = self.q.shape
        w = np.zeros((n, size, n, size))
        row = np.repeat(np.arange(n), np.diff(self.start))
        w[row, :, self.column] = self.blocks
        return w.reshape(n * size, n * size)

    def is_semidefinite(self) -> bool:
        """Return whether W is symmetric and positive semidefinite within rounding.

        The proofs of `existence` and `uniqueness` need this.

        Verified by: tests/unit/numerics/friction_problem/test_uniqueness.py::test_negative_w
        """
        w = self.matrix.toarray()
        values = np.linalg.eigvalsh(0.5 * (w + w.T))
        defect = max(float(np.abs(w - w.T).max()), -float(values[0]))
        return defect <= _ROUNDING * float(np.abs(values).max())


def local_of(
    w: sp.csr_array[Any] | Floats, q: Floats, mu: Floats, rolling: Floats, n_tangent: int
) -> Local:
    """Return the problem in blocks; blocks of zeros off the diagonal are not stored.

    Parameters
    ----------
    w : (n size, n size) dense or sparse
    q : (n, size)
    mu, rolling : (n,) coefficients of friction [1] and of rolling friction [m]
    n_tangent : number of tangential components of a contact
    """
    n, size = q.shape
    if isinstance(w, np.ndarray):
        data = w.reshape(n, size, n, size).transpose(0, 2, 1, 3).reshape(n * n, size, size)
        row, column = np.divmod(np.arange(n * n), max(n, 1))
    else:
        made = sp.bsr_array(w, blocksize=(size, size))
        made.sum_duplicates()
        row, column = np.repeat(np.arange(n), np.diff(made.indptr)), np.asarray(made.indices)
        data = made.data
    # blocks with entries and diagonal blocks, those that are absent as zeros, in the order of rows
    used = data.any(axis=(1, 2)) | (row == column)
    row, column, data = row[used], column[used], data[used]
    absent = np.setdiff1d(np.arange(n), row[row == column])
    row, column = np.append(row, absent), np.append(column, absent)
    order = np.lexsort((column, row))
    row, columns = row[order], column[order].astype(np.int64)
    blocks = np.concatenate([data, np.zeros((len(absent), size, size))])[order]
    start = np.searchsorted(row, np.arange(n + 1)).astype(np.int64)
    diagonal = np.flatnonzero(row == columns)
    own = blocks[diagonal]
    largest = np.linalg.eigvalsh(0.5 * (own + own.transpose(0, 2, 1)))[:, -1]
    # a contact with a diagonal block of zeros, or without a finite inverse, gets the scale of the
    # others
    scale = largest.max(initial=0.0)
    still = largest < np.finfo(np.float64).tiny
    rho = 1.0 / np.where(still, scale if scale > 0.0 else 1.0, largest)
    # copies, so that kernels are compiled for one type of array only
    given = (np.array(q), np.array(mu), np.array(rolling))
    return Local(blocks, start, columns, diagonal, *given, n_tangent, rho)
