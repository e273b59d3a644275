"""The map between unknowns v and displacements u of nodes and control points, u = B v.

A node of the mesh on a spline boundary is a mean of control points, x = sum_a s_a x_a. A condition
on it replaces the displacement of the control point with the largest weight by the unknown
v = sum_a s_a u_a. B differs from the identity in a few rows. Forces on v are B^T times those on u,
and the tangent is B^T K B.

A multi-point constraint sum_i c_i u_i = g(t) replaces one of its displacements by the sum v, which
is prescribed. The force on v is the Lagrange multiplier of the constraint. Vectors u, v and r are
(nodes, d); component d * node + axis is their flat index. `boundary_conditions` collects the sums
and calls `Unknowns.build`; `Problem` applies B in each evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.arrays import Places

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Unknowns", "nearest_node"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def nearest_node(points: Floats, places: Places, point: Floats) -> tuple[Ints, Floats]:
    """Return the control points of the mesh node nearest to a point, and their weights.

    Verified by: tests/unit/solids/equilibria/test_unknowns.py::test_places_are_those_of_the_mesh
    """
    nodes = np.flatnonzero(places.numbers[:, 0] >= 0)
    numbers, weights = places.numbers[nodes], places.fractions[nodes]
    positions = np.einsum("nk,nkd->nd", np.where(numbers < 0, 0.0, weights), points[numbers])
    nearest = int(np.argmin(np.linalg.norm(positions - point, axis=1)))
    contributes = (numbers[nearest] >= 0) & (weights[nearest] != 0.0)
    return numbers[nearest][contributes], weights[nearest][contributes]


class Unknowns:
    """The map between unknowns v and displacements u of nodes and control points.

    Parameters
    ----------
    size : number of nodes and control points
    dim : components of each
    """

    def __init__(self, size: int, dim: int = 2) -> None:
        self.size, self.dim = size, dim
        self.substituted: dict[int, tuple[Ints, Floats]] = {}
        # by component d * node + axis: v_i = sum_j weights_j u_j replaces u_i
        self.sums: dict[int, tuple[Ints, Floats]] = {}
        self._b_inv: csr_matrix | None = None
        self._b: csr_matrix | None = None
        # the sparsity pattern of the last tangent, identified by its array of indices
        self._pattern: tuple[Any, Any] | None = None

    def point_unknown(self, numbers: Ints, weights: Floats) -> int:
        """Return the node whose unknown is the displacement of a point, substituted if needed.

        Parameters
        ----------
        numbers, weights : (k,) control points, and weights of their mean at the point

        Raises
        ------
        ModelError : if no control point is left for it.
        """
        for node, (other_numbers, other_weights) in self.substituted.items():
            if np.array_equal(other_numbers, numbers) and np.array_equal(other_weights, weights):
                return node
        for i in np.argsort(-weights, kind="stable"):
            node = int(numbers[i])
            if node not in self.substituted:
                self.substituted[node] = (numbers, weights)
                d = self.dim
                for k in range(d):
                    self.sums[d * node + k] = (d * numbers + k, weights)
                return node
        got = "more neighbouring points than control points"
        why = "each prescribed point replaces the displacement of one control point."
        try_ = "name fewer points, or the boundary."
        raise ModelError("Nearest", got, "at most one point for each control point", why, try_)

    def combination(self, component: int) -> tuple[Ints, Floats]:
        """Return the displacements and weights whose sum is the unknown of a component."""
        d = self.dim
        if component // d in self.substituted:
            numbers, weights = self.substituted[component // d]
            return d * numbers + component % d, weights
        return np.array([component]), np.ones(1)

    def build(self) -> None:
        """Build B and its inverse, block by block of connected components, from all sums."""
        if not self.sums:
            return
        from scipy.sparse import coo_matrix, csr_matrix, eye
        from scipy.sparse.csgraph import connected_components

        # components that sums couple, in groups: each group has a small dense block of B^-1
        n = self.dim * self.size
        ends = [(np.full(numbers.size, i), numbers) for i, (numbers, _) in self.sums.items()]
        left, right = (np.concatenate([e[k] for e in ends]) for k in (0, 1))
        graph = coo_matrix((np.ones(left.size), (left, right)), shape=(n, n))
        _, group = connected_components(graph, directed=False)
        members: dict[int, list[int]] = {}
        for i in np.unique(np.concatenate([left, right])):
            members.setdefault(int(group[i]), []).append(int(i))
        identity = np.ones(n)
        identity[np.unique(np.concatenate([left, right]))] = 0.0
        rows, columns, to_values, to_displacements = [], [], [], []
        # a block is the identity, with rows of weights for the unknowns that are sums
        for component_group in members.values():
            components = np.array(component_group)
            block = np.eye(components.size)
            for k, i in enumerate(component_group):
                if i in self.sums:
                    numbers, weights = self.sums[i]
                    block[k] = 0.0
                    block[k, np.searchsorted(components, numbers)] = weights
            rows.append(np.repeat(components, components.size))
            columns.append(np.tile(components, components.size))
            to_values.append(block.ravel())
            to_displacements.append(np.linalg.inv(block).ravel())
        where = (np.concatenate(rows), np.concatenate(columns))
        unit = eye(n, format="csr").multiply(identity[:, None])
        for name, values in (("_b_inv", to_values), ("_b", to_displacements)):
            matrix = csr_matrix(unit + coo_matrix((np.concatenate(values), where), shape=(n, n)))
            matrix.eliminate_zeros()
            setattr(self, name, matrix)

    @property
    def is_identity(self) -> bool:
        """Whether unknowns are the displacements of nodes and control points themselves."""
        return self._b is None

    def displacements(self, v: Floats) -> Floats:
        """Return u = B v, (size, d) [m]."""
        return v if self._b is None else np.asarray(self._b @ v.ravel()).reshape(v.shape)

    def values(self, u: Floats) -> Floats:
        """Return v of displacements u, (size, d) [m]."""
        return u if self._b_inv is None else np.asarray(self._b_inv @ u.ravel()).reshape(u.shape)

    def forces(self, r: Floats) -> Floats:
        """Return B^T r, (size, d) [N/m]: forces on the unknowns."""
        return r if self._b is None else np.asarray(self._b.T @ r.ravel()).reshape(r.shape)

    def nodal_forces(self, r: Floats) -> Floats:
        """Return B^-T r, (size, d) [N/m]: forces on nodes and control points."""
        return r if self._b_inv is None else np.asarray(self._b_inv.T @ r.ravel()).reshape(r.shape)

    def tangent(self, matrix: csr_matrix) -> csr_matrix:
        """Return B^T K B."""
        if self._b is None:
            return matrix
        from scipy.sparse import csr_matrix

        b = self._b
        product = csr_matrix(b.T @ matrix @ b).tocoo()
        # products omit entries that cancel: the pattern must not depend on values
        if self._pattern is None or self._pattern[0] is not matrix.indices:
            ones = csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
            self._pattern = (matrix.indices, csr_matrix(abs(b).T @ ones @ abs(b)).tocoo())
        full_pattern = self._pattern[1]
        rows = np.concatenate([product.row, full_pattern.row])
        columns = np.concatenate([product.col, full_pattern.col])
        values = np.concatenate([product.data, np.zeros(full_pattern.nnz)])
        return csr_matrix((values, (rows, columns)), matrix.shape)
