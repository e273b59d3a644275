"""Unknowns that are displacements of places of a body, where control points stand beside them.

On a boundary of splines a place is a mean of control points, x = sum_a s_a x_a. A condition for
the place takes the displacement there, v = sum_a s_a u_a, as an unknown instead of that of the
control point with the largest share. The map u = B v differs from 1 in a few rows; forces on v
are B^T times those on u, and the tangent is B^T K B.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.solids.arrays import Places

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Unknowns", "nearest_place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def nearest_place(points: Floats, places: Places, point: Floats) -> tuple[Ints, Floats]:
    """Return the points that make the node of a mesh nearest to a point, and their shares.

    Verified by: tests/unit/solids/equilibria/test_unknowns.py::test_places_are_those_of_the_mesh
    """
    there = np.flatnonzero(places.numbers[:, 0] >= 0)
    numbers, shares = places.numbers[there], places.shares[there]
    at = np.einsum("nk,nkd->nd", np.where(numbers < 0, 0.0, shares), points[numbers])
    best = int(np.argmin(np.linalg.norm(at - point, axis=1)))
    used = (numbers[best] >= 0) & (shares[best] != 0.0)
    return numbers[best][used], shares[best][used]


class Unknowns:
    """The map between unknowns v and displacements u of nodes and control points.

    Parameters
    ----------
    size : number of nodes and control points
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: dict[int, tuple[Ints, Floats]] = {}
        self._forth: csr_matrix | None = None
        self._back: csr_matrix | None = None

    def take(self, numbers: Ints, shares: Floats) -> int:
        """Return the unknown that is the displacement of a place, made one if it is not yet.

        Raises
        ------
        ModelError : if no control point is left for it.
        """
        for node, (others, parts) in self.rows.items():
            if np.array_equal(others, numbers) and np.array_equal(parts, shares):
                return node
        for i in np.argsort(-shares, kind="stable"):
            if int(numbers[i]) not in self.rows:
                self.rows[int(numbers[i])] = (numbers, shares)
                return int(numbers[i])
        got = "more places next to each other than control points"
        why, try_ = "each place takes one of them.", "name fewer places, or the boundary."
        raise ModelError(explain("Nearest", got, "at most one a control point", why, try_))

    def bind(self) -> None:
        """Find the map once all places are taken."""
        if not self.rows:
            return
        from scipy.sparse import eye, lil_matrix

        at = np.unique(np.concatenate([list(self.rows), *(n for n, _ in self.rows.values())]))
        forth = np.eye(at.size)
        for node, (numbers, shares) in self.rows.items():
            i = int(np.searchsorted(at, node))
            forth[i] = 0.0
            forth[i, np.searchsorted(at, numbers)] = shares
        for name, block in (("_forth", forth), ("_back", np.linalg.inv(forth))):
            whole = lil_matrix(eye(self.size))
            for i, row in zip(at, block, strict=True):
                whole[int(i), at] = row
            setattr(self, name, whole.tocsr())

    @property
    def plain(self) -> bool:
        """Whether unknowns are the displacements of nodes and control points themselves."""
        return self._back is None

    def displacements(self, v: Floats) -> Floats:
        """Return u = B v, (size, 2) [m]."""
        return v if self._back is None else np.asarray(self._back @ v)

    def forces(self, r: Floats) -> Floats:
        """Return B^T r, (size, 2) [N/m]: forces on the unknowns."""
        return r if self._back is None else np.asarray(self._back.T @ r)

    def tangent(self, matrix: csr_matrix) -> csr_matrix:
        """Return B^T K B."""
        if self._back is None:
            return matrix
        from scipy.sparse import csr_matrix, identity, kron

        b = csr_matrix(kron(self._back, identity(2)))
        made = csr_matrix(b.T @ matrix @ b).tocoo()
        # products leave out what happens to be zero: the pattern must not depend on that
        ones = csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
        whole = csr_matrix(abs(b).T @ ones @ abs(b)).tocoo()
        rows = np.concatenate([made.row, whole.row])
        columns = np.concatenate([made.col, whole.col])
        values = np.concatenate([made.data, np.zeros(whole.nnz)])
        return csr_matrix((values, (rows, columns)), matrix.shape)
