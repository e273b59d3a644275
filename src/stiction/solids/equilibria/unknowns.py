"""Unknowns that are displacements of places of a body, where control points stand beside them.

On a boundary of splines a place is a mean of control points, x = sum_a s_a x_a. A condition for
the place takes the displacement there, v = sum_a s_a u_a, as an unknown instead of that of the
control point with the largest share. The map u = B v differs from 1 in a few rows; forces on v
are B^T times those on u, and the tangent is B^T K B.

A linear constraint sum_i c_i u_i = g(t) is the same: the sum becomes an unknown v in place of one
of its displacements, and v is prescribed. The force on it is the multiplier of the constraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
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
    numbers, shares = places.numbers[there], places.fractions[there]
    at = np.einsum("nk,nkd->nd", np.where(numbers < 0, 0.0, shares), points[numbers])
    best = int(np.argmin(np.linalg.norm(at - point, axis=1)))
    used = (numbers[best] >= 0) & (shares[best] != 0.0)
    return numbers[best][used], shares[best][used]


class Unknowns:
    """The map between unknowns v and displacements u of nodes and control points.

    Parameters
    ----------
    size : number of nodes and control points
    dim : components of each
    """

    def __init__(self, size: int, dim: int = 2) -> None:
        self.size, self.dim = size, dim
        self.taken: dict[int, tuple[Ints, Floats]] = {}
        # of components, d a node: v_i = sum_j shares_j u_j in place of u_i
        self.rows: dict[int, tuple[Ints, Floats]] = {}
        self._forth: csr_matrix | None = None
        self._back: csr_matrix | None = None
        # the pattern of the last tangent, known by its array of indices
        self._pattern: tuple[Any, Any] | None = None

    def take(self, numbers: Ints, shares: Floats) -> int:
        """Return the unknown that is the displacement of a place, made one if it is not yet.

        Raises
        ------
        ModelError : if no control point is left for it.
        """
        for node, (others, parts) in self.taken.items():
            if np.array_equal(others, numbers) and np.array_equal(parts, shares):
                return node
        for i in np.argsort(-shares, kind="stable"):
            node = int(numbers[i])
            if node not in self.taken:
                self.taken[node] = (numbers, shares)
                d = self.dim
                for k in range(d):
                    self.rows[d * node + k] = (d * numbers + k, shares)
                return node
        got = "more places next to each other than control points"
        why, try_ = "each place takes one of them.", "name fewer places, or the boundary."
        raise ModelError("Nearest", got, "at most one a control point", why, try_)

    def taken_as(self, place: int) -> tuple[Ints, Floats]:
        """Return what a component stands for: itself, or the sum that is the place there."""
        d = self.dim
        if place // d in self.taken:
            numbers, shares = self.taken[place // d]
            return d * numbers + place % d, shares
        return np.array([place]), np.ones(1)

    def bind(self) -> None:
        """Find the map once all rows are known."""
        if not self.rows:
            return
        from scipy.sparse import coo_matrix, csr_matrix, eye
        from scipy.sparse.csgraph import connected_components

        n = self.dim * self.size
        ends = [(np.full(numbers.size, i), numbers) for i, (numbers, _) in self.rows.items()]
        left, right = (np.concatenate([e[k] for e in ends]) for k in (0, 1))
        graph = coo_matrix((np.ones(left.size), (left, right)), shape=(n, n))
        _, group = connected_components(graph, directed=False)
        members: dict[int, list[int]] = {}
        for i in np.unique(np.concatenate([left, right])):
            members.setdefault(int(group[i]), []).append(int(i))
        plain = np.ones(n)
        plain[np.unique(np.concatenate([left, right]))] = 0.0
        rows, columns, forth, back = [], [], [], []
        for found in members.values():
            at = np.array(found)
            block = np.eye(at.size)
            for k, i in enumerate(found):
                if i in self.rows:
                    numbers, shares = self.rows[i]
                    block[k] = 0.0
                    block[k, np.searchsorted(at, numbers)] = shares
            rows.append(np.repeat(at, at.size))
            columns.append(np.tile(at, at.size))
            forth.append(block.ravel())
            back.append(np.linalg.inv(block).ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        same = eye(n, format="csr").multiply(plain[:, None])
        for name, values in (("_forth", forth), ("_back", back)):
            whole = csr_matrix(same + coo_matrix((np.concatenate(values), where), shape=(n, n)))
            whole.eliminate_zeros()
            setattr(self, name, whole)

    @property
    def plain(self) -> bool:
        """Whether unknowns are the displacements of nodes and control points themselves."""
        return self._back is None

    def displacements(self, v: Floats) -> Floats:
        """Return u = B v, (size, d) [m]."""
        return v if self._back is None else np.asarray(self._back @ v.ravel()).reshape(v.shape)

    def values(self, u: Floats) -> Floats:
        """Return v of displacements u, (size, d) [m]."""
        return u if self._forth is None else np.asarray(self._forth @ u.ravel()).reshape(u.shape)

    def forces(self, r: Floats) -> Floats:
        """Return B^T r, (size, d) [N/m]: forces on the unknowns."""
        return r if self._back is None else np.asarray(self._back.T @ r.ravel()).reshape(r.shape)

    def on_places(self, r: Floats) -> Floats:
        """Return the forces on nodes and control points of forces on the unknowns, (size, d)."""
        return r if self._forth is None else np.asarray(self._forth.T @ r.ravel()).reshape(r.shape)

    def tangent(self, matrix: csr_matrix) -> csr_matrix:
        """Return B^T K B."""
        if self._back is None:
            return matrix
        from scipy.sparse import csr_matrix

        b = self._back
        made = csr_matrix(b.T @ matrix @ b).tocoo()
        # products leave out what happens to be zero: the pattern must not depend on that
        if self._pattern is None or self._pattern[0] is not matrix.indices:
            ones = csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
            self._pattern = (matrix.indices, csr_matrix(abs(b).T @ ones @ abs(b)).tocoo())
        whole = self._pattern[1]
        rows = np.concatenate([made.row, whole.row])
        columns = np.concatenate([made.col, whole.col])
        values = np.concatenate([made.data, np.zeros(whole.nnz)])
        return csr_matrix((values, (rows, columns)), matrix.shape)
