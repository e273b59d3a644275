"""The matrix of a body: where every block goes is found once, then values are added in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Elements
from stiction.solids.shape_functions.hourglass import Hourglass, hourglass_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Bulk", "Part", "Pattern", "mean_stresses", "parts_of", "told"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# places of a straight way at which volumes are told
_ALONG = 257


class Pattern:
    """Where the d x d blocks of pairs of nodes stand in a CSR matrix.

    Parameters
    ----------
    nodes : how many nodes there are
    dim : components of each
    pairs : (rows, columns) arrays of nodes that are coupled; the pattern is made symmetric

    Attributes
    ----------
    indptr, indices : of the matrix, (nodes dim + 1,) and (entries,)
    row : (nodes,) length of a row of each node
    """

    def __init__(self, nodes: int, dim: int, pairs: Sequence[tuple[Ints, Ints]]) -> None:
        from scipy.sparse import coo_matrix

        rows = np.concatenate([np.arange(nodes), *(r.ravel() for r, _ in pairs)])
        columns = np.concatenate([np.arange(nodes), *(c.ravel() for _, c in pairs)])
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        ones = np.ones(both[0].size, dtype=np.int8)
        graph = coo_matrix((ones, both), shape=(nodes, nodes)).tocsr()
        graph.sum_duplicates()
        graph.sort_indices()
        self.nodes, self.dim = nodes, dim
        self._first = graph.indptr.astype(np.int64)
        self._columns = graph.indices.astype(np.int64)
        length = np.diff(self._first) * dim
        self.row = length.astype(np.int32)
        starts = np.repeat(length, dim)
        self.indptr = np.concatenate([[0], np.cumsum(starts)]).astype(np.int32)
        wide = (self._columns[:, None] * dim + np.arange(dim)).reshape(-1)
        pieces = np.repeat(np.arange(nodes), dim)
        lengths = starts
        # the columns of a node, repeated for each of its rows
        begin = np.repeat(self._first[pieces] * dim, lengths)
        offset = np.arange(int(lengths.sum())) - np.repeat(self.indptr[:-1], lengths)
        self.indices = wide[begin + offset].astype(np.int32)
        # blocks are found by one number per pair
        self._keys = np.repeat(np.arange(nodes), np.diff(self._first)) * nodes + self._columns

    @property
    def entries(self) -> int:
        """How many entries the matrix has."""
        return int(self.indices.size)

    def places(self, rows: Ints, columns: Ints) -> Places:
        """Return the entry of each block (row, column) in the first of its rows.

        Raises
        ------
        KeyError : if a pair is not in the pattern.
        """
        wanted = rows.astype(np.int64) * self.nodes + columns
        at = np.searchsorted(self._keys, wanted)
        found = self._keys[np.minimum(at, self._keys.size - 1)] == wanted
        if not found.all():
            raise KeyError("a pair of nodes is not in the pattern")
        inside = at - self._first[rows]
        return np.asarray(
            self.indptr[rows * self.dim].astype(np.int64) + inside * self.dim, dtype=np.int32
        )

    def matrix(self, data: Floats) -> csr_matrix:
        """Return the matrix with these values; indices are shared, not copied."""
        from scipy.sparse import csr_matrix

        size = self.nodes * self.dim
        made = csr_matrix((data, self.indices, self.indptr), shape=(size, size), copy=False)
        made.has_sorted_indices = True
        return made


class _Block(NamedTuple):
    elements: Elements
    table: Floats
    places: Places
    hourglass: Hourglass | None


class Part(NamedTuple):
    """One part of the energy, and where it is integrated.

    Parameters
    ----------
    energy : ALL, SHAPE or VOLUME of `material_laws`
    gradients : (e, q, n, d) [1/m]
    weights : (e, q) [m^d]
    """

    energy: int
    gradients: Floats
    weights: Floats


class Bulk:
    """Internal forces, tangent and energy of all bodies.

    Parameters
    ----------
    blocks : elements with nodes in the global numbering, and the table of their material

    Verified by: tests/unit/solids/test_assembly.py::test_tangent_against_differences
    """

    def __init__(self, blocks: Sequence[tuple[Elements, Floats]]) -> None:
        empty = np.zeros((0, 0, 0), dtype=np.int32)
        self._blocks = [
            _Block(elements, table, empty, hourglass_of(elements, table))
            for elements, table in blocks
        ]

    @property
    def blocks(self) -> list[_Block]:
        """Elements by kind, with the tables of their materials."""
        return self._blocks

    def pairs(self) -> list[tuple[Ints, Ints]]:
        """Return the pairs of nodes that elements couple."""
        found = []
        for block in self._blocks:
            nodes = block.elements.nodes
            n = nodes.shape[1]
            found.append((np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))))
        return found

    def bind(self, pattern: Pattern) -> None:
        """Find where the blocks of this pattern's matrix are."""
        bound = []
        for block in self._blocks:
            nodes = block.elements.nodes
            e, n = nodes.shape
            rows, columns = np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))
            places = pattern.places(rows.ravel(), columns.ravel()).reshape(e, n, n)
            bound.append(block._replace(places=places))
        self._blocks, self._pattern = bound, pattern

    def add(self, u: Floats, residual: Floats, data: Floats | None) -> int:
        """Add internal forces and, unless `data` is None, the tangent; count points inside out.

        Parameters
        ----------
        u : (nodes, d) displacements [m]
        residual : (nodes, d), added to [N/m]
        data : (entries,) of the matrix, added to
        """
        from stiction.solids.elements.bulk_kernels import bulk_kernel
        from stiction.solids.stress_points import deformation, is_short, point_rows

        bad = 0
        unknown = np.empty((1, 0, 0))
        none = np.zeros((0, 0, 0), dtype=np.int32)
        store = data if data is not None else np.zeros(1)
        row = self._pattern.row if data is not None else np.zeros(0, dtype=np.int32)
        for elements, table, places, hourglass in self._blocks:
            nodes, where = elements.nodes, places if data is not None else none
            run = bulk_kernel(nodes.shape[1], u.shape[1])
            for part, gradients, weights in parts_of(elements):
                points = unknown
                if not is_short(table):
                    points, wrong = point_rows(deformation(nodes, gradients, u), table, part)
                    bad += wrong
                arguments = (nodes, gradients, weights, points, u, table, part)
                bad += run(*arguments, residual, store, where, row)
            if hourglass is not None:
                hourglass.add(u, residual, data, where, row)
        return bad

    def least_volume(self, one: Floats, other: Floats) -> float:
        """Return the smallest det F on the straight way between two states.

        There det F is a polynomial of degree d, which d + 1 places determine.

        Parameters
        ----------
        one, other : (nodes, d) displacements [m]

        Verified by: tests/unit/solids/test_assembly.py::test_least_volume_on_a_straight_way
        """
        d, least = one.shape[1], np.inf
        few, many = np.linspace(0.0, 1.0, d + 1), np.linspace(0.0, 1.0, _ALONG)
        rows = np.vander(many, d + 1) @ np.linalg.inv(np.vander(few, d + 1))
        for block in self._blocks:
            nodes = block.elements.nodes
            for part in parts_of(block.elements):
                f, g = (
                    np.eye(d) + np.einsum("eqnd,enc->eqcd", part.gradients, u[nodes])
                    for u in (one, other)
                )
                known = np.stack([np.linalg.det(f + p * (g - f)).ravel() for p in few])
                least = min(least, *(float((row @ known).min()) for row in rows))
        return least

    def energy(self, u: Floats) -> float:
        """Return the strain energy [J/m]; NaN where an element is inside out."""
        from stiction.solids.stress_points import deformation, energy_points, total_energy

        total = 0.0
        for elements, table, _, hourglass in self._blocks:
            for part in parts_of(elements):
                f = deformation(elements.nodes, part.gradients, u)
                known = energy_points(f, table, part.energy)
                total += total_energy(part.weights, known)
            if hourglass is not None:
                total += hourglass.energy(u)
        return float(total)


def parts_of(elements: Elements) -> list[Part]:
    """Return the parts of the energy: all, or shape and volume where integration is reduced."""
    from stiction.solids.material_laws import ALL, SHAPE, VOLUME

    if not elements.volume_weights.shape[1]:
        return [Part(ALL, elements.gradients, elements.weights)]
    volume = Part(VOLUME, elements.volume_gradients, elements.volume_weights)
    return [Part(SHAPE, elements.gradients, elements.weights), volume]


def told(elements: Elements, part: Part, u: Floats, table: Floats) -> Floats:
    """Return energy and Cauchy stress at the points of a part, (TOLD, q, e).

    Parameters
    ----------
    elements : of one kind
    part : of their energy
    u : (nodes, d) displacements [m]
    table : of the material
    """
    from stiction.solids.stress_points import deformation, tell_points

    return tell_points(deformation(elements.nodes, part.gradients, u), table, part.energy)


def mean_stresses(elements: Elements, u: Floats, table: Floats) -> Floats:
    """Return the mean Cauchy stress xx, yy, xy, zz of every element, (e, 4) [Pa]; space has yz, zx.

    Each part of the energy is averaged over its own points: no point of one part stands for
    another, and means do not depend on the corner from which an element is numbered.

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    from stiction.solids.stress_points import TOLD, XX, ZZ

    last = ZZ + 1 if u.shape[1] < 3 else TOLD
    out = np.zeros((elements.nodes.shape[0], last - XX))
    for part in parts_of(elements):
        known = told(elements, part, u, table)[XX:last]
        whole = part.weights.sum(axis=1)
        out += np.einsum("kqe,eq->ek", known, part.weights) / whole[:, None]
    return out
