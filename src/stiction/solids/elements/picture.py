"""The polygons by which plane bodies are drawn, as linear combinations of nodal positions.

Drawn points are the corners of mesh cells, and the midpoints of edges and cells that may be curved.
`picture` returns the matrix that maps nodal positions to drawn points, so that figures follow the
deformation, and the quadrilaterals between these points. Its rows are the shape functions at the
drawn points. `elements.kinds.discretise` calls it once for each body.

Matrix entries are triples (rows, columns, values): drawn point, node or control point, coefficient.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Picture
from stiction.solids.elements.layers import Layer, Numbering
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.functions import Group, centre, functions
from stiction.solids.shape_functions.splines import curve_functions

__all__ = ["picture"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# rows, columns and values of entries of the sparse matrix, one-dimensional
Entries = tuple[Ints, Ints, Floats]

# drawn quadrilaterals of a cell: 0 to 3 are corners, 4 to 7 middles of edges, 8 is the centre
_COARSE = [[0, 1, 2, 3]]
_FINE = [[0, 4, 8, 7], [4, 1, 5, 8], [8, 5, 2, 6], [7, 8, 6, 3]]
_TRIANGLE = [[0, 4, 8, 6], [4, 1, 5, 8], [6, 8, 5, 2]]


def picture(
    mesh: Mesh, order: int, layers: list[Layer], numbering: Numbering, element_groups: list[Group]
) -> Picture:
    """Return the drawn points and quadrilaterals of a body.

    A triangle is drawn as three quadrilaterals, a quadratic cell or a cell of a spline layer as
    four, which shows curved edges. Other cells have straight edges and are drawn as they are.

    Parameters
    ----------
    mesh, order, layers, numbering : mesh, Lagrange order, spline layers and numbering of the body
    element_groups : its elements by kind

    Verified by: tests/unit/solids/elements/test_kinds.py::test_pictures_cover_the_body
    """
    from scipy.sparse import csr_matrix

    edges = mesh.edges
    edge_of = np.full((mesh.cells.shape[0], 4), -1, dtype=np.int64)
    edge_of[edges.cell, edges.side] = edges.number
    fine = mesh.triangles | (order == 2)
    for layer in layers:
        fine[layer.facets[:, 0]] = True

    # numbers of the drawn points: corners by mesh node, then middles by edge, then centres by cell;
    # -1 where there is none
    corner = np.full(mesh.points.shape[0], -1, dtype=np.int64)
    nodes = np.unique(edges.ends)
    corner[nodes] = np.arange(nodes.size)
    count = nodes.size
    wanted = edge_of[fine]
    wanted = np.unique(wanted[wanted >= 0])
    middle = np.full(edges.uses.size, -1, dtype=np.int64)
    middle[wanted] = count + np.arange(wanted.size)
    count += wanted.size
    centres = np.full(mesh.cells.shape[0], -1, dtype=np.int64)
    centres[fine] = count + np.arange(int(fine.sum()))
    count += int(fine.sum())

    # matrix rows of the three kinds of points, and quadrilaterals between them
    entries = [_of_nodes(corner[nodes], nodes, numbering)]
    entries += _of_middles(mesh, order, layers, numbering, middle)
    quads, owner = [], []
    for number, group in enumerate(element_groups):
        cells = group.cells
        if fine[cells[0]]:
            f, _ = functions(group, *centre(group))
            f = np.broadcast_to(f[:, 0], group.nodes.shape)
            rows = np.broadcast_to(centres[cells][:, None], f.shape)
            entries.append((rows.ravel(), group.nodes.ravel(), f.ravel()))
        drawn = np.concatenate(
            [corner[mesh.cells[cells, :4]], middle[edge_of[cells]], centres[cells][:, None]], axis=1
        )
        pattern = _COARSE if not fine[cells[0]] else _TRIANGLE if group.triangle else _FINE
        for quad in pattern:
            quads.append(drawn[:, quad])
            own = np.arange(cells.size)
            owner.append(np.stack([np.full(cells.size, number), own], axis=1))
    rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
    matrix = csr_matrix((values, (rows, columns)), shape=(count, numbering.points.shape[0]))
    outline = _outline(mesh, corner, middle)
    return Picture(matrix, np.concatenate(quads), outline, np.concatenate(owner))


def _of_nodes(rows: Ints, nodes: Ints, numbering: Numbering) -> Entries:
    """Return the matrix entries (rows, columns, values) for the positions of mesh nodes."""
    columns, fractions = numbering.numbers[nodes], numbering.fractions[nodes]
    exists = columns >= 0
    wide = np.broadcast_to(rows[:, None], columns.shape)
    return wide[exists], columns[exists], fractions[exists]


def _of_middles(
    mesh: Mesh, order: int, layers: list[Layer], numbering: Numbering, middle: Ints
) -> list[Entries]:
    """Return the matrix entries for the midpoints of edges, of the curve on spline layers.

    `middle` (edges,) are the numbers of drawn midpoints by edge, -1 for none.
    """
    edges = mesh.edges
    _, first = np.unique(edges.number, return_index=True)
    plain = middle >= 0
    entries = []
    number_of = np.full((mesh.cells.shape[0], 4), -1, dtype=np.int64)
    number_of[edges.cell, edges.side] = edges.number
    for layer, controls in zip(layers, numbering.controls, strict=True):
        curve = layer.curve
        numbers = controls[curve.numbers]
        here = number_of[layer.facets[:, 0], layer.facets[:, 1]]
        f, _ = curve_functions(curve.extraction, curve.weights[curve.numbers], np.zeros(1))
        rows = np.broadcast_to(middle[here][:, None], numbers.shape)
        entries.append((rows.ravel(), numbers.ravel(), f[:, 0].ravel()))
        plain[here] = False
    # other edges: their middle node, or the mean of both ends
    others = np.flatnonzero(plain)
    if order == 2:
        entries.append(_of_nodes(middle[others], edges.middle[first[others]], numbering))
    else:
        for end in range(2):
            rows, columns, fractions = _of_nodes(
                middle[others], edges.ends[first[others], end], numbering
            )
            entries.append((rows, columns, 0.5 * fractions))
    return entries


def _outline(mesh: Mesh, corner: Ints, middle: Ints) -> Ints:
    """Return the drawn points (k, 2) at the ends of each segment of the outline."""
    edges = mesh.edges
    outer = np.flatnonzero(edges.uses[edges.number] == 1)
    ends, between = corner[edges.ends[outer]], middle[edges.number[outer]]
    curved = between >= 0
    halves = np.stack([ends[curved, 0], between[curved], between[curved], ends[curved, 1]], axis=1)
    return np.concatenate([ends[~curved], halves.reshape(-1, 2)])
