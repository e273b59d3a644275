"""How a body in space is drawn, and which of its points are places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Picture, Places
from stiction.solids.elements.picture import picture
from stiction.solids.elements.swept import Swept

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["drawn", "places_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# drawn pieces of a layer along the axis
_PARTS = 2


def drawn(swept: Swept, order: int) -> Picture:
    """Return the outside of a body: points on it, quadrilaterals, and the outline of both ends.

    Parameters
    ----------
    swept : the body
    order : of the Lagrange functions in the plane

    Verified by: tests/unit/solids/space/test_space_bodies.py::test_pictures_close_around_the_body
    """
    layout, levels = swept.layout, swept.levels
    flat = picture(layout.mesh, order, layout.layers, layout.numbering, layout.groups)
    breaks = np.unique(levels.axes[0].knots)
    steps = np.arange(_PARTS) / _PARTS
    heights = (breaks[:-1, None] + np.diff(breaks)[:, None] * steps).ravel()
    heights = np.append(heights, breaks[-1])
    n, last = flat.matrix.shape[0], heights.size - 1
    # the sides, between one level and the next
    up = n * np.arange(last)[:, None, None]
    a, b = flat.edge[:, 0], flat.edge[:, 1]
    sides = np.stack([a, b, b + n, a + n], axis=1) + up
    home = _homes(swept, flat)
    beside = home[_cell_of_edge(flat)]
    layer = (np.arange(last) // _PARTS)[:, None]
    quads = [sides.reshape(-1, 4), flat.quads[:, ::-1], flat.quads + n * last]
    owners = [
        np.stack([np.broadcast_to(beside[:, 0], (last, a.size)).ravel(), _in(beside, layer)], 1),
        np.stack([home[:, 0], _in(home, np.zeros((1, 1), dtype=np.int64))], axis=1),
        np.stack([home[:, 0], _in(home, layer[-1:])], axis=1),
    ]
    every = np.concatenate(quads)
    used, numbers = np.unique(every, return_inverse=True)
    place = np.full(n * heights.size, -1, dtype=np.int64)
    place[used] = np.arange(used.size)
    edge = place[np.concatenate([flat.edge, flat.edge + n * last])]
    matrix = _matrix(swept, flat, heights)[used]
    return Picture(matrix, numbers.reshape(every.shape), edge, np.concatenate(owners))


def _matrix(swept: Swept, flat: Picture, heights: Floats) -> csr_matrix:
    """Return drawn points of all heights, one height after the other, from points of the body."""
    from scipy.sparse import csr_matrix, kron

    levels, size = swept.levels, swept.points.shape[0]
    made = csr_matrix((heights.size * flat.matrix.shape[0], size))
    for kind, axis in enumerate(levels.axes):
        mine, high = levels.of(kind), axis.heights.size
        if not mine.size:
            continue
        part = kron(csr_matrix(axis.matrix(heights)), flat.matrix[:, mine], format="coo")
        columns = levels.numbers[mine, :high].T.ravel()[part.col]
        shape = (heights.size * flat.matrix.shape[0], size)
        one = csr_matrix((part.data, (part.row, columns)), shape=shape)
        made = csr_matrix(made + one)
    return made


def _homes(swept: Swept, flat: Picture) -> Ints:
    """Return block, place in its layer, and size of a layer of the elements of drawn cells."""
    home = np.empty((flat.owner.shape[0], 3), dtype=np.int64)
    for number, table in enumerate(swept.element_index):
        mine = flat.owner[:, 0] == number
        home[mine] = table[flat.owner[mine, 1]]
    return home


def _in(home: Ints, layer: Ints) -> Ints:
    """Return the places of elements in their blocks, layer by layer."""
    return np.asarray((home[:, 1] + layer * home[:, 2]).ravel())


def _cell_of_edge(flat: Picture) -> Ints:
    """Return the drawn cell beside every piece of the outline."""
    cells, turned = flat.quads, np.roll(flat.quads, -1, axis=1)
    count = int(flat.quads.max()) + 1
    key = np.minimum(cells, turned) * count + np.maximum(cells, turned)
    order = np.argsort(key.ravel(), kind="stable")
    ends = np.sort(flat.edge, axis=1)
    at = np.searchsorted(key.ravel()[order], ends[:, 0] * count + ends[:, 1])
    return np.asarray(order[at] // cells.shape[1])


def places_of(swept: Swept) -> Places:
    """Return the points that are places: nodes, and control points at corners of faces."""
    layout, levels = swept.layout, swept.levels
    alone = layout.numbering.numbers[:, 1] < 0
    nodes = layout.numbering.numbers[alone & (layout.numbering.numbers[:, 0] >= 0), 0]
    first, last = levels.ends()
    inner = nodes[~levels.on_spline[nodes]] if levels.axes[0].degree == 1 else nodes[:0]
    straight = levels.numbers[inner, : levels.axes[0].heights.size].ravel()
    found = np.unique(np.concatenate([first[nodes], last[nodes], straight]))
    numbers = np.stack([found, np.full_like(found, -1)], axis=1)
    return Places(numbers, np.tile([1.0, 0.0], (found.size, 1)))
