"""Assembly of internal forces, tangents and strain energies of all bodies.

The forces r = d E / d u and the tangent K = d r / d u of the strain energy E(u) = sum of
w psi(F) over integration points are sums over elements (`stress_points` has the formulas). The
tangent is one CSR matrix of d x d blocks, one for each pair of coupled nodes; degree of freedom
d a + i is component i of node a. `Pattern` computes the positions of all element blocks in it once;
`Bulk` then adds values in place. `equilibria.problem` and `dynamics.problem` call them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.arrays import Elements
from stiction.solids.shape_functions.hourglass import Hourglass, hourglass_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "Block",
    "Bulk",
    "EnergyTerm",
    "Pattern",
    "energy_and_stress",
    "energy_terms",
    "mean_stresses",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

_MOST_ENTRIES = 2**31 - 1


class Pattern:
    """Sparsity pattern: positions of the d x d blocks of pairs of nodes in a CSR matrix.

    Parameters
    ----------
    nodes : number of nodes
    dim : components of each
    pairs : (rows, columns) arrays of coupled nodes; the pattern is made symmetric

    Raises
    ------
    ModelError : if the matrix has more entries than indices of 32 bits can number.

    Attributes
    ----------
    indptr, indices : CSR arrays of the matrix, (nodes dim + 1,) and (entries,)
    row : (nodes,) number of entries in each matrix row of a node
    """

    def __init__(self, nodes: int, dim: int, pairs: Sequence[tuple[Ints, Ints]]) -> None:
        from scipy.sparse import coo_matrix

        # graph of coupled nodes, with the nodes themselves, symmetric
        rows = np.concatenate([np.arange(nodes), *(r.ravel() for r, _ in pairs)])
        columns = np.concatenate([np.arange(nodes), *(c.ravel() for _, c in pairs)])
        symmetric = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        ones = np.ones(symmetric[0].size, dtype=np.int8)
        graph = coo_matrix((ones, symmetric), shape=(nodes, nodes)).tocsr()
        graph.sum_duplicates()
        graph.sort_indices()
        self.nodes, self.dim = nodes, dim
        # a matrix row of node a has d entries for each node in row a of the graph
        self._first = graph.indptr.astype(np.int64)
        self._columns = graph.indices.astype(np.int64)
        length = np.diff(self._first) * dim
        self.row = length.astype(np.int32)
        starts = np.repeat(length, dim)
        if starts.sum() > _MOST_ENTRIES:
            got, needs = f"{starts.sum()} entries", f"at most {_MOST_ENTRIES}"
            why = "indices of entries have 32 bits."
            raise ModelError("tangent matrix", got, needs, why, "take fewer elements.")
        self.indptr = np.concatenate([[0], np.cumsum(starts)]).astype(np.int32)
        block_columns = (self._columns[:, None] * dim + np.arange(dim)).reshape(-1)
        owners = np.repeat(np.arange(nodes), dim)
        lengths = starts
        # the columns of a node, repeated for each of its rows
        begin = np.repeat(self._first[owners] * dim, lengths)
        offset = np.arange(int(lengths.sum())) - np.repeat(self.indptr[:-1], lengths)
        self.indices = block_columns[begin + offset].astype(np.int32)
        # one sorted key per pair of nodes, for the search of blocks
        self._keys = np.repeat(np.arange(nodes), np.diff(self._first)) * nodes + self._columns

    @property
    def entries(self) -> int:
        """Number of entries of the matrix."""
        return int(self.indices.size)

    def places(self, rows: Ints, columns: Ints) -> Places:
        """Return the index in the data of the first entry of each block (row, column).

        The block of nodes (a, b) is d x d; its other rows follow at distances `row[a]`.

        Raises
        ------
        KeyError : if a pair is not in the pattern.
        """
        keys = rows.astype(np.int64) * self.nodes + columns
        at = np.searchsorted(self._keys, keys)
        present = self._keys[np.minimum(at, self._keys.size - 1)] == keys
        if not present.all():
            raise KeyError("a pair of nodes is not in the pattern")
        inside = at - self._first[rows]
        return np.asarray(
            self.indptr[rows * self.dim].astype(np.int64) + inside * self.dim, dtype=np.int32
        )

    def matrix(self, data: Floats) -> csr_matrix:
        """Return the matrix with these values; indices are shared, not copied."""
        from scipy.sparse import csr_matrix

        size = self.nodes * self.dim
        matrix = csr_matrix((data, self.indices, self.indptr), shape=(size, size), copy=False)
        matrix.has_sorted_indices = True
        return matrix


class Block(NamedTuple):
    """The elements of one kind and material.

    Parameters
    ----------
    elements : arrays with global node numbers
    table : constants of the material, by the indices in `material_laws`
    places : (e, n, n) indices of the blocks of its matrices, from `Pattern.places`
    hourglass : hourglass energy; None without one
    """

    elements: Elements
    table: Floats
    places: Places
    hourglass: Hourglass | None


class EnergyTerm(NamedTuple):
    """One term of the strain energy, with its integration points.

    Parameters
    ----------
    part : ALL, SHAPE or VOLUME of `material_laws`
    gradients : (e, q, n, d) [1/m]
    weights : (e, q) [m^d]
    """

    part: int
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
            Block(elements, table, empty, hourglass_of(elements, table))
            for elements, table in blocks
        ]

    @property
    def blocks(self) -> list[Block]:
        """Elements by kind, with the tables of their materials and their hourglass stiffness."""
        return self._blocks

    def pairs(self) -> list[tuple[Ints, Ints]]:
        """Return the pairs of nodes that elements couple."""
        pairs = []
        for block in self._blocks:
            nodes = block.elements.nodes
            n = nodes.shape[1]
            pairs.append((np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))))
        return pairs

    def bind(self, pattern: Pattern) -> None:
        """Compute the positions of all element blocks in this pattern's matrix."""
        bound = []
        for block in self._blocks:
            nodes = block.elements.nodes
            e, n = nodes.shape
            rows, columns = np.repeat(nodes, n, axis=1), np.tile(nodes, (1, n))
            places = pattern.places(rows.ravel(), columns.ravel()).reshape(e, n, n)
            bound.append(block._replace(places=places))
        self._blocks, self._pattern = bound, pattern

    def add(self, u: Floats, residual: Floats, data: Floats | None) -> int:
        """Add internal forces and, unless `data` is None, the tangent.

        Parameters
        ----------
        u : (nodes, d) displacements [m]
        residual : (nodes, d), added to [N/m], in space [N]
        data : (entries,) of the matrix, added to

        Returns
        -------
        The number of integration points with det F <= 0.
        """
        from stiction.solids.elements.bulk_kernels import bulk_kernel
        from stiction.solids.stress_points import deformation, in_kernel, point_rows

        inverted_total = 0
        no_points = np.empty((1, 0, 0))
        no_places = np.zeros((0, 0, 0), dtype=np.int32)
        store = data if data is not None else np.zeros(1)
        row = self._pattern.row if data is not None else np.zeros(0, dtype=np.int32)
        for elements, table, places, hourglass in self._blocks:
            nodes, block_places = elements.nodes, places if data is not None else no_places
            run = bulk_kernel(nodes.shape[1], u.shape[1])
            for part, gradients, weights in energy_terms(elements):
                points = no_points
                if not in_kernel(table):
                    points, inverted = point_rows(deformation(nodes, gradients, u), table, part)
                    inverted_total += inverted
                arguments = (nodes, gradients, weights, points, u, table, part)
                inverted_total += run(*arguments, residual, store, block_places, row)
            if hourglass is not None:
                hourglass.add(u, residual, data, block_places, row)
        return inverted_total

    def least_volume(self, one: Floats, other: Floats) -> float:
        """Return the smallest det F at integration points on the straight path between two states.

        det F is a polynomial of degree d along the path: d + 1 values determine it, and its least
        value is at an end or at a root of its derivative.

        Parameters
        ----------
        one, other : (nodes, d) displacements [m]

        Verified by: tests/unit/solids/test_assembly.py::test_least_volume_on_a_straight_path
        """
        d, least = one.shape[1], np.inf
        for block in self._blocks:
            nodes = block.elements.nodes
            for term in energy_terms(block.elements):
                f, g = (
                    np.eye(d) + np.einsum("eqnd,enc->eqcd", term.gradients, u[nodes])
                    for u in (one, other)
                )
                # det F at d + 1 points of the path, (d + 1, e, q)
                samples = [np.linalg.det(f + p * (g - f)) for p in np.linspace(0.0, 1.0, d + 1)]
                least = min(least, float(_least_value(np.stack(samples)).min()))
        return least

    def energy(self, u: Floats) -> float:
        """Return the strain energy [J/m]; NaN if an element is inverted."""
        from stiction.solids.stress_points import deformation, energy_points, total_energy

        total = 0.0
        for elements, table, _, hourglass in self._blocks:
            for term in energy_terms(elements):
                f = deformation(elements.nodes, term.gradients, u)
                energies = energy_points(f, table, term.part)
                total += total_energy(term.weights, energies)
            if hourglass is not None:
                total += hourglass.energy(u)
        return float(total)


def _least_value(samples: Floats) -> Floats:
    """Return the least value on [0, 1] of polynomials of degree 2 or 3.

    samples : (3 or 4, ...) their values at equally spaced points, ends included
    """
    count = len(samples)
    powers = np.vander(np.linspace(0.0, 1.0, count), increasing=True)
    c = np.tensordot(np.linalg.inv(powers), samples, axes=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if count == 3:
            critical = (-c[1] / (2.0 * c[2]))[None]
        else:
            # roots of c1 + 2 c2 p + 3 c3 p^2, without cancellation
            q = -(c[2] + np.copysign(np.sqrt(c[2] ** 2 - 3.0 * c[3] * c[1]), c[2]))
            critical = np.stack([q / (3.0 * c[3]), c[1] / q])
    # without a root there, NaN or a point beyond the interval, an end of it is evaluated again
    points = np.clip(np.nan_to_num(critical), 0.0, 1.0)
    values = sum(c[k] * points**k for k in range(count))
    return np.asarray(np.concatenate([samples[[0, -1]], values]).min(axis=0))


def energy_terms(elements: Elements) -> list[EnergyTerm]:
    """Return the terms of the energy: one, or two if the volumetric one has reduced integration."""
    from stiction.solids.material_laws import ALL, SHAPE, VOLUME

    if not elements.volume_weights.shape[1]:
        return [EnergyTerm(ALL, elements.gradients, elements.weights)]
    volume = EnergyTerm(VOLUME, elements.volume_gradients, elements.volume_weights)
    return [EnergyTerm(SHAPE, elements.gradients, elements.weights), volume]


def energy_and_stress(elements: Elements, term: EnergyTerm, u: Floats, table: Floats) -> Floats:
    """Return energy and Cauchy stress at the points of a term, (STRESS_ROWS, q, e).

    Parameters
    ----------
    elements : of one kind
    term : term of their energy
    u : (nodes, d) displacements [m]
    table : of the material
    """
    from stiction.solids.stress_points import deformation, energy_and_stress_points

    return energy_and_stress_points(
        deformation(elements.nodes, term.gradients, u), table, term.part
    )


def mean_stresses(elements: Elements, u: Floats, table: Floats) -> Floats:
    """Return the mean Cauchy stress xx, yy, xy, zz of every element, (e, 4), in space (e, 6) [Pa].

    The last two components in space are yz and zx.

    Each term of the energy is averaged over its own points, so that means do not depend on the
    corner from which an element is numbered.

    Parameters
    ----------
    elements : of one kind
    u : (nodes, d) displacements [m]
    table : of the material

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    from stiction.solids.stress_points import STRESS_ROWS, XX, ZZ

    last = ZZ + 1 if u.shape[1] < 3 else STRESS_ROWS
    out = np.zeros((elements.nodes.shape[0], last - XX))
    for term in energy_terms(elements):
        stresses = energy_and_stress(elements, term, u, table)[XX:last]
        volume = term.weights.sum(axis=1)
        out += np.einsum("kqe,eq->ek", stresses, term.weights) / volume[:, None]
    return out
