"""Checks of a plane mesh: shapes of arrays, orientation of cells, connectivity, boundaries.

`Mesh` calls them when it is constructed, so that later code may rely on counter-clockwise cells
with a positive Jacobian that share whole edges. `edge_table` lists all edges with their adjacent
cells. `clean_...` functions check shapes and types and return arrays; `check_...` functions raise
an error or return nothing. Lengths are in m; tolerances are ratios to a length of the mesh.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.shape_functions.hulls import refuse_folded_cells

__all__ = [
    "EdgeTable",
    "check_body",
    "check_chain",
    "check_facets",
    "clean_boundaries",
    "clean_cells",
    "clean_points",
    "edge_table",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# width of mixed arrays and the columns of a triangle in them, by the width of its own array
_TRIANGLES = {3: (4, [0, 1, 2]), 6: (9, [0, 1, 2, 4, 5, 6])}
# largest coordinate [m]: squares of lengths and their sums must not overflow
_FARTHEST = 1e150
# distance over the size of the body below which two nodes coincide
_SAME_PLACE = 1e-9
# fewest edges of a closed boundary: with fewer, the shape functions of an edge are not distinct
_LEAST_CLOSED = 4


class EdgeTable(NamedTuple):
    """The m edges of all cells; an edge between two cells is listed twice.

    Parameters
    ----------
    cell, side : (m,) cell, and number of the edge in the cell
    ends : (m, 2) nodes at both ends; the cell lies to the left
    number : (m,) number of the distinct edge, equal for both cells
    uses : (u,) number of cells at each distinct edge
    middle : (m,) node in the middle, -1 if cells have corners only
    """

    cell: Ints
    side: Ints
    ends: Ints
    number: Ints
    uses: Ints
    middle: Ints


def clean_points(value: object) -> Floats:
    """Return positions (n, 2) [m] after checking shape and finiteness."""
    why, try_ = "a node has two coordinates.", "check the file or the mapping that made the nodes."
    needs = "finite numbers (n, 2) [m]"
    try:
        points = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError("Mesh.points", type(value).__name__, needs, why, try_) from error
    if points.ndim != 2 or points.shape[1] != 2 or points.size == 0:
        got = f"an array of shape {points.shape}"
        raise ModelError("Mesh.points", got, needs, why, try_)
    good = np.isfinite(points).all(axis=1)
    if not good.all():
        got = f"{int((~good).sum())} positions that are not finite, the first at node "
        got += str(int(np.argmin(good)))
        raise ModelError("Mesh.points", got, needs, why, try_)
    if np.abs(points).max() > _FARTHEST:
        got = f"a coordinate of {np.abs(points).max():.3g} m"
        needs = f"coordinates within {_FARTHEST:.0e} m"
        why = "products of coordinates must not overflow."
        raise ModelError("Mesh.points", got, needs, why, try_)
    points.flags.writeable = False
    return points


def clean_cells(value: object, count: int) -> Ints:
    """Return nodes of cells (c, 4) or (c, 9) after checking them; -1 fills the rows of triangles.

    `count` is the number of nodes.
    """
    needs = (
        "whole numbers of shape (c, 3), (c, 4), (c, 6) or (c, 9), one row of nodes for each cell"
    )
    try:
        cells = np.array(value)
    except ValueError as error:
        why, try_ = "cells have the same number of nodes.", "fill rows of triangles with -1."
        raise ModelError("Mesh.cells", "ragged rows", needs, why, try_) from error
    shaped = cells.ndim == 2 and cells.shape[0] > 0 and cells.shape[1] in (3, 4, 6, 9)
    if not shaped or cells.dtype.kind not in "iu":
        why = "cells are triangles or quadrilaterals, listed by the numbers of their nodes."
        try_ = "convert the mesh; add the centre node to quadrilaterals of eight nodes."
        got = f"an array {cells.shape} of {cells.dtype}"
        raise ModelError("Mesh.cells", got, needs, why, try_)
    cells = cells.astype(np.int64)
    if cells.shape[1] in _TRIANGLES:
        width, columns = _TRIANGLES[cells.shape[1]]
        wide = np.full((cells.shape[0], width), -1, dtype=np.int64)
        wide[:, columns] = cells
        cells = wide
    triangle = cells[:, 3] == -1
    unused = np.zeros(cells.shape, dtype=bool)
    unused[:, [3] if cells.shape[1] == 4 else [3, 7, 8]] = triangle[:, None]
    wrong = np.where(unused, cells != -1, (cells < 0) | (cells >= count))
    if wrong.any():
        at = int(np.argmax(wrong.any(axis=1)))
        got = f"nodes {cells[at].tolist()} in cell {at}"
        why, try_ = "cells refer to nodes by number.", "count nodes from 0."
        raise ModelError("Mesh.cells", got, f"numbers from 0 to {count - 1}", why, try_)
    cells.flags.writeable = False
    return cells


def clean_boundaries(value: object) -> dict[str, Ints]:
    """Return the facets (k, 2) of boundaries by name; only their shape is checked."""
    why = "contacts and conditions refer to boundaries by name."
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        needs, try_ = "names with the edges of each boundary", "give {'top': [[0, 2]]}."
        raise ModelError("Mesh.boundaries", type(value).__name__, needs, why, try_)
    checked = {}
    for name, facets in value.items():
        where = f"Mesh.boundaries[{name!r}]"
        why = "a boundary is made of edges of cells."
        needs = "whole numbers of shape (k, 2), k >= 1"
        try_ = "give one row per edge: the number of its cell, its number within this cell."
        try:
            array = np.array(facets)
        except ValueError as error:
            raise ModelError(where, "ragged rows", needs, why, try_) from error
        if array.ndim != 2 or array.shape[1] != 2 or array.shape[0] == 0:
            got = "no edges" if array.size == 0 else f"an array of shape {array.shape}"
            raise ModelError(where, got, needs, why, try_)
        if array.dtype.kind not in "iu":
            raise ModelError(
                where, f"{array.dtype} numbers", needs, why, "convert the numbers to integers."
            )
        checked[name] = array.astype(np.int64)
        checked[name].flags.writeable = False
    return checked


def edge_table(cells: Ints) -> EdgeTable:
    """Return every edge of every cell; edge k goes from corner k to the next one."""
    triangle = cells[:, 3] < 0
    first = cells[:, :4]
    after = np.roll(first, -1, axis=1)
    after[triangle, 2] = cells[triangle, 0]
    exists = np.ones(first.shape, dtype=bool)
    exists[triangle, 3] = False
    cell, side = np.nonzero(exists)
    ends = np.stack([first[exists], after[exists]], axis=1)
    key = ends.min(axis=1) * (int(cells.max()) + 1) + ends.max(axis=1)
    _, number, count = np.unique(key, return_inverse=True, return_counts=True)
    if cells.shape[1] == 9:
        middle = cells[:, 4:8][exists]
    else:
        middle = np.full(cell.size, -1, dtype=np.int64)
    return EdgeTable(cell, side, ends, number.ravel(), count, middle)


def check_body(points: Floats, cells: Ints, edges: EdgeTable) -> None:
    """Refuse cells that are inverted, folded, flat or overlapping, and nodes that hang on edges."""
    used = np.zeros(points.shape[0], dtype=bool)
    used[cells[cells >= 0]] = True
    if not used.all():
        got = f"{int((~used).sum())} nodes of no cell, the first is number {int(np.argmin(used))}"
        why, try_ = "a node without cells has no stiffness.", "leave such nodes out."
        raise ModelError("Mesh.points", got, "nodes that belong to cells", why, try_)
    if cells.shape[1] == 9:
        refuse_folded_cells(points, cells)
    else:
        _check_corners(points, cells)
    _check_pairs(points, edges)
    _check_places(points)
    _check_middles(points, edges)
    _check_hanging(points, edges)


def _near(points: Floats, nodes: Ints) -> str:
    """Return the mean position of nodes as words of a message."""
    at = points[nodes].mean(axis=0)
    return f"near ({at[0]:.6g}, {at[1]:.6g})"


def _check_corners(points: Floats, cells: Ints) -> None:
    """Refuse cells with corners only that are inverted, flat or not convex."""
    triangle = cells[:, 3] < 0
    bad = np.zeros(cells.shape[0], dtype=bool)
    for here, corners in ((triangle, 3), (~triangle, 4)):
        x = points[cells[here, :corners]]
        for k in range(corners):
            a, b = x[:, (k + 1) % corners] - x[:, k], x[:, k - 1] - x[:, k]
            area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
            size = np.hypot(a[:, 0], a[:, 1]) * np.hypot(b[:, 0], b[:, 1])
            bad[here] |= ~(area > 1e-10 * size)
    if bad.any():
        at = int(np.argmax(bad))
        got = f"{int(bad.sum())} inverted or flat cells, the first is number {at} "
        got += _near(points, cells[at, : 3 if triangle[at] else 4])
        why = "nodes of a cell are listed counter-clockwise, and its angles are below 180 degrees."
        try_ = "reverse the order of the nodes of this cell, or repair the mesh."
        needs = "convex cells with counter-clockwise nodes"
        raise ModelError("Mesh.cells", got, needs, why, try_)


def _check_pairs(points: Floats, edges: EdgeTable) -> None:
    """Refuse edges of more than two cells, and edges with two cells on the same side."""
    rises = np.where(edges.ends[:, 0] < edges.ends[:, 1], 1, -1)
    balance = np.bincount(edges.number, weights=rises, minlength=edges.uses.size)
    wrong = np.flatnonzero((edges.uses > 2) | ((edges.uses == 2) & (balance != 0.0)))
    if wrong.size:
        here = np.flatnonzero(edges.number == wrong[0])
        got = f"{wrong.size} edges with several cells on one side, the first "
        got += f"{_near(points, edges.ends[here[0]])}, of cells {edges.cell[here].tolist()}"
        why, try_ = "cells of a body do not overlap.", "remove cells that are listed twice."
        raise ModelError("Mesh.cells", got, "one cell on each side", why, try_)


def _check_places(points: Floats) -> None:
    """Refuse coincident nodes: displacements would be discontinuous there."""
    from scipy.spatial import cKDTree

    size = float(np.ptp(points, axis=0).max())
    pairs = cKDTree(points).query_pairs(_SAME_PLACE * size, output_type="ndarray")
    if pairs.size:
        got = f"{pairs.shape[0]} pairs of nodes at one place, the first are "
        got += f"{sorted(pairs[0].tolist())} {_near(points, pairs[0])}"
        why = "cells without common nodes are not connected."
        needs, try_ = "one node at each position", "join these nodes, for example with `merged`."
        raise ModelError("Mesh.points", got, needs, why, try_)


def _check_middles(points: Floats, edges: EdgeTable) -> None:
    """Refuse edges whose two cells have different nodes in the middle."""
    first = np.empty(edges.uses.size, dtype=np.int64)
    first[edges.number] = edges.middle
    apart = np.flatnonzero(first[edges.number] != edges.middle)
    if apart.size:
        at = apart[0]
        got = f"{apart.size} edges with two middle nodes, the first "
        got += f"{_near(points, edges.ends[at])}, of cell {edges.cell[at]}"
        why = "displacements are not continuous across such an edge."
        needs, try_ = "one node in the middle of an edge", "give both cells the same node."
        raise ModelError("Mesh.cells", got, needs, why, try_)


def _check_hanging(points: Floats, edges: EdgeTable) -> None:
    """Refuse nodes that lie on an edge without being its end."""
    from scipy.spatial import cKDTree

    outer = np.flatnonzero(edges.uses[edges.number] == 1)
    if (edges.middle >= 0).any():
        # the chord of a curved edge is not on the boundary
        middle, (a, b) = points[edges.middle[outer]], points[edges.ends[outer]].transpose(1, 0, 2)
        along = b - a
        distance = (middle[:, 0] - a[:, 0]) * along[:, 1] - (middle[:, 1] - a[:, 1]) * along[:, 0]
        outer = outer[np.abs(distance) < 1e-6 * (along**2).sum(axis=1)]
        if not outer.size:
            return
    # the few nodes nearest to the middle of each edge: their coordinate along it, from 0 to 1, and
    # their distance from it, both over its length
    ends = edges.ends[outer]
    nodes = np.unique(ends)
    a, b = points[ends[:, 0]], points[ends[:, 1]]
    along = b - a
    length = np.hypot(along[:, 0], along[:, 1])
    n_nearest = min(8, nodes.size)
    _, candidates = cKDTree(points[nodes]).query(0.5 * (a + b), k=n_nearest)
    candidates = nodes[candidates.reshape(outer.size, n_nearest)]
    from_end = points[candidates] - a[:, None]
    fraction = np.einsum("emd,ed->em", from_end, along) / (length**2)[:, None]
    distance = np.abs(from_end[..., 0] * along[:, None, 1] - from_end[..., 1] * along[:, None, 0])
    distance /= (length**2)[:, None]
    hangs = (fraction > 1e-6) & (fraction < 1.0 - 1e-6) & (distance < 1e-6)
    if hangs.any():
        e, k = (int(v) for v in np.argwhere(hangs)[0])
        got = f"{int(hangs.any(axis=1).sum())} edges with a node in between, the first is node "
        got += (
            f"{candidates[e, k]} on an edge of cell {edges.cell[outer[e]]} {_near(points, ends[e])}"
        )
        why = "displacements are not continuous where a node hangs on an edge."
        needs, try_ = "cells that meet in whole edges", "refine the neighbour as well."
        raise ModelError("Mesh.cells", got, needs, why, try_)


def check_facets(name: str, facets: Ints, cells: Ints, edges: EdgeTable) -> None:
    """Refuse facets that do not exist, lie inside the body, or are listed twice."""
    where, why = f"Mesh.boundaries[{name!r}]", "a boundary is made of outer edges of cells."
    cell, side = facets[:, 0], facets[:, 1]
    inside = (cell >= 0) & (cell < cells.shape[0]) & (side >= 0) & (side < 4)
    inside[inside] &= (side[inside] < 3) | (cells[cell[inside], 3] >= 0)
    if not inside.all():
        got = f"cell and edge {facets[~inside][0].tolist()}"
        needs = (
            f"cells from 0 to {cells.shape[0] - 1}, and edges from 0 to 3 (of triangles from "
            "0 to 2)"
        )
        raise ModelError(where, got, needs, why, "count cells and edges from 0.")
    if np.unique(cell * 4 + side).size != cell.size:
        got, try_ = "an edge listed twice", "list each edge once."
        raise ModelError(where, got, "different edges", why, try_)
    outer = np.zeros((cells.shape[0], 4), dtype=bool)
    outer[edges.cell, edges.side] = edges.uses[edges.number] == 1
    wrong = np.flatnonzero(~outer[cell, side])
    if wrong.size:
        got = f"edge {facets[wrong[0]].tolist()} between two cells"
        raise ModelError(where, got, "edges with one cell", why, "leave this edge out.")


def check_chain(name: str, ends: Ints, closed: bool = False) -> None:
    """Refuse a boundary that is not one chain of edges in order.

    Parameters
    ----------
    name : of the boundary
    ends : (k, 2) nodes at the ends of its edges
    closed : whether it may be closed
    """
    where = f"Mesh.boundaries[{name!r}]"
    broken = np.flatnonzero(ends[1:, 0] != ends[:-1, 1])
    if broken.size:
        k = int(broken[0])
        got = f"edge {k + 2}, which does not begin where edge {k + 1} ends"
        why = "a contact boundary is one chain of edges, with the body to its left."
        try_ = "sort the edges of this boundary, or split the boundary where it has gaps."
        raise ModelError(where, got, "edges in order", why, try_)
    begins = np.unique(ends[:, 0]).size == ends.shape[0]
    if closed and begins and ends[0, 0] == ends[-1, 1] and ends.shape[0] >= _LEAST_CLOSED:
        return
    if np.unique(ends).size != ends.shape[0] + 1:
        why = "the coordinate along this contact boundary starts at one of its two ends."
        got, needs = "a chain that closes", "an open chain"
        raise ModelError(where, got, needs, why, "split the chain into two boundaries.")
