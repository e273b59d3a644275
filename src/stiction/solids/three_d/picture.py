"""The drawn surface of a swept body: quadrilaterals whose corners interpolate nodal positions.

The picture of the plane section is repeated at several heights along the sweep. Quadrilaterals
between two heights form the sides, and the section itself closes both ends. Drawn points are
numbered height by height; drawn point k of the section at height h is flat_count h + k until
points inside the body are left out. `SweptBody.discretised` calls both functions;
`arrays.Picture` and `arrays.Places` describe the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.numerics.bsplines import basis
from stiction.solids.arrays import Picture, Places
from stiction.solids.elements.picture import picture
from stiction.solids.elements.swept import Swept

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["drawn", "places_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# drawn cells of a layer along the axis
_PER_LAYER = 2


def drawn(swept: Swept, order: int) -> Picture:
    """Return the drawn points and quadrilaterals of the surface, and the outline of both ends.

    Parameters
    ----------
    swept : the body in elements
    order : of the Lagrange functions in the plane

    Verified by: tests/unit/solids/three_d/test_space_bodies.py::test_pictures_close_around_the_body
    """
    laid, levels = swept.layout, swept.levels
    # the section
    flat = picture(laid.mesh, order, laid.layers, laid.numbering, laid.groups)
    breaks = np.unique(levels.axes[0].knots)
    steps = np.arange(_PER_LAYER) / _PER_LAYER
    heights = (breaks[:-1, None] + np.diff(breaks)[:, None] * steps).ravel()
    heights = np.append(heights, breaks[-1])
    flat_count, last = flat.matrix.shape[0], heights.size - 1
    # the sides, between one height and the next
    up = flat_count * np.arange(last)[:, None, None]
    begin, end = flat.edge[:, 0], flat.edge[:, 1]
    sides = np.stack([begin, end, end + flat_count, begin + flat_count], axis=1) + up
    elements = _element_indices(swept, flat)
    beside = elements[_cell_of_edge(flat)]
    layer = (np.arange(last) // _PER_LAYER)[:, None]
    # the section at the first height is reversed: its normals point outwards too
    quads = [sides.reshape(-1, 4), flat.quads[:, ::-1], flat.quads + flat_count * last]
    owners = [
        np.stack(
            [np.broadcast_to(beside[:, 0], (last, begin.size)).ravel(), _indices(beside, layer)], 1
        ),
        np.stack([elements[:, 0], _indices(elements, np.zeros((1, 1), dtype=np.int64))], axis=1),
        np.stack([elements[:, 0], _indices(elements, layer[-1:])], axis=1),
    ]
    corners = np.concatenate(quads)
    used, numbers = np.unique(corners, return_inverse=True)
    new_number = np.full(flat_count * heights.size, -1, dtype=np.int64)
    new_number[used] = np.arange(used.size)
    edge = new_number[np.concatenate([flat.edge, flat.edge + flat_count * last])]
    matrix = _interpolation(swept, flat, heights)[used]
    return Picture(matrix, numbers.reshape(corners.shape), edge, np.concatenate(owners))


def _interpolation(swept: Swept, flat: Picture, heights: Floats) -> csr_matrix:
    """Return the matrix (drawn, n) from nodes and control points to drawn points by height."""
    from scipy.sparse import csr_matrix, kron

    levels, size = swept.levels, swept.points.shape[0]
    matrix = csr_matrix((heights.size * flat.matrix.shape[0], size))
    # kind 0: mesh nodes; kind 1: control points of contact boundaries. Each kind has splines of its
    # own along the axis
    for kind, axis in enumerate(levels.axes):
        of_kind, level_count = levels.of(kind), axis.heights.size
        if not of_kind.size:
            continue
        product = kron(csr_matrix(axis.matrix(heights)), flat.matrix[:, of_kind], format="coo")
        columns = levels.numbers[of_kind, :level_count].T.ravel()[product.col]
        shape = (heights.size * flat.matrix.shape[0], size)
        summand = csr_matrix((product.data, (product.row, columns)), shape=shape)
        matrix = csr_matrix(matrix + summand)
    return matrix


def _element_indices(swept: Swept, flat: Picture) -> Ints:
    """Return (c, 3) of the element of each drawn cell: block, index in a layer, layer size."""
    elements = np.empty((flat.owner.shape[0], 3), dtype=np.int64)
    section_block, section_element = flat.owner.T
    for number, table in enumerate(swept.element_index):
        of_block = section_block == number
        elements[of_block] = table[section_element[of_block]]
    return elements


def _indices(elements: Ints, layer: Ints) -> Ints:
    """Return the indices of elements in their blocks, layer by layer."""
    _, index_in_layer, layer_size = elements.T
    return np.asarray((index_in_layer + layer * layer_size).ravel())


def _cell_of_edge(flat: Picture) -> Ints:
    """Return the drawn cell adjacent to every edge of the outline."""
    cells, next_corners = flat.quads, np.roll(flat.quads, -1, axis=1)
    count = int(flat.quads.max()) + 1
    key = np.minimum(cells, next_corners) * count + np.maximum(cells, next_corners)
    order = np.argsort(key.ravel(), kind="stable")
    ends = np.sort(flat.edge, axis=1)
    at = np.searchsorted(key.ravel()[order], ends[:, 0] * count + ends[:, 1])
    return np.asarray(order[at] // cells.shape[1])


def places_of(swept: Swept) -> Places:
    """Return the points at which displacements are interpolated: `Nearest` chooses among these.

    These are the nodes of the section at every end of a layer: means of control points along the
    axis, and in the section on a spline.
    """
    levels, plane = swept.levels, swept.layout.numbering
    used = plane.numbers[:, 0] >= 0
    numbers, fractions = plane.numbers[used], plane.fractions[used]
    breaks = np.unique(levels.axes[0].knots)
    most = numbers.shape[1] * (max(axis.degree for axis in levels.axes) + 1)
    found, shares = [], []
    for kind, axis in enumerate(levels.axes):
        of_kind = levels.on_spline[numbers[:, 0]] == bool(kind)
        first, values, _ = basis(axis.knots, axis.degree, breaks)
        along = first[:, None] + np.arange(axis.degree + 1)
        nodes = numbers[of_kind][:, None, :, None]
        there = np.where(nodes < 0, -1, levels.numbers[nodes, along[:, None]])
        weights = fractions[of_kind][:, None, :, None] * values[:, None]
        rows, columns = there.shape[0] * breaks.size, numbers.shape[1] * (axis.degree + 1)
        missing = ((0, 0), (0, most - columns))
        found.append(np.pad(there.reshape(rows, columns), missing, constant_values=-1))
        shares.append(np.pad(weights.reshape(rows, columns), missing))
    return Places(np.concatenate(found), np.concatenate(shares))
