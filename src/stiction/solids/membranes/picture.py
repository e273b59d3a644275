"""Polygons by which a membrane is drawn, and the corners of its patch, which `Nearest` may choose.

Control points of a spline do not lie on the surface. Drawn points are therefore evaluated on a grid
in each element, as linear combinations of the control points. `Membrane.discretised` calls both
functions; `arrays.Picture` and `arrays.Places` describe the results.
"""

from __future__ import annotations

import numpy as np

from stiction.numerics.bsplines import basis, open_knots
from stiction.solids.arrays import Picture, Places
from stiction.solids.membranes.patch import Patch

__all__ = ["drawn", "places_of"]

# drawn segments of an element along each coordinate
_PARTS = 2


def drawn(patch: Patch) -> Picture:
    """Return drawn points on a grid in every element, the cells between them and the outline.

    Verified by: tests/unit/solids/membranes/test_patch.py::test_flat_patch
    """
    from scipy.sparse import csr_matrix, diags, kron

    # functions of each coordinate at drawn lines; weighted products over their sum are rational
    lines, rows = [], []
    for breaks in patch.breaks:
        b = np.asarray(breaks, dtype=np.float64)
        knots = open_knots(b, 2)
        steps = np.arange(_PARTS) / _PARTS
        at = np.append((b[:-1, None] + np.diff(b)[:, None] * steps).ravel(), b[-1])
        first, values, _ = basis(knots, 2, at)
        columns = first[:, None] + np.arange(3)
        where = (np.repeat(np.arange(at.size), 3), columns.ravel())
        shape = (at.size, knots.size - 3)
        lines.append(at)
        rows.append(csr_matrix((values.ravel(), where), shape=shape))
    weights = np.asarray(patch.weights).ravel()
    matrix = kron(rows[1], rows[0]) @ diags(weights)
    matrix = csr_matrix(diags(1.0 / np.asarray(matrix.sum(axis=1)).ravel()) @ matrix)
    number = np.arange(lines[0].size * lines[1].size).reshape(lines[1].size, lines[0].size)
    corners = (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    quads = np.stack([c.ravel() for c in corners], axis=1)
    ring = [number[0], number[1:, -1], number[-1, -2::-1], number[-2::-1, 0]]
    closed = np.concatenate(ring)
    edge = np.stack([closed[:-1], closed[1:]], axis=1)
    cell = np.arange(quads.shape[0])
    wide = lines[0].size - 1
    element = cell // wide // _PARTS * patch.grid[0] + cell % wide // _PARTS
    return Picture(matrix, quads, edge, np.stack([0 * element, element], axis=1))


def places_of(patch: Patch) -> Places:
    """Return the corners of the patch, the only control points that lie on the surface."""
    count = patch.control_points.shape[0]
    rows, columns = np.asarray(patch.points).shape[:2]
    corners = [0, columns - 1, (rows - 1) * columns, count - 1]
    numbers = np.full((len(corners), 2), -1, dtype=np.int64)
    numbers[:, 0] = corners
    return Places(numbers, np.tile([1.0, 0.0], (len(corners), 1)))
