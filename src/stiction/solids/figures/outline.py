"""The outline of bodies drawn as polygons (cells), where adjacent cells need not share nodes.

A side of a cell is on the outline if no other cell has it. `outline` first unites coincident points
by rounding their coordinates to a grid, then divides sides at points of other sides that lie on
them, and then selects the sides that occur once. `data.SolidData.outlines` calls `outline` and
`loops` for the figures of plane bodies.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["borders", "loops", "outline"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_COINCIDENT = 1e-7  # fraction of the size of the bodies within which points coincide
_ON_SIDE = 1e-4  # fraction of the length of a side: distance within which a point lies on it


def outline(places: Floats, cells: Ints, body: Ints) -> Ints:
    """Return (e, 2) the sides of cells on the outer boundary of a body, as pairs of points.

    Coincident points of a body count as one. A side that shorter sides of adjacent cells cover is
    interior.

    Parameters
    ----------
    places : (p, 2) reference positions of the points
    cells : (c, k) points at the corners of each cell
    body : (p,) number of the body of each point

    Verified by: tests/unit/solids/figures/test_figures.py::test_outline_is_the_border
    """
    size = max(float(np.ptp(places, axis=0).max()), 1e-300)
    # the offset keeps points of a regular grid away from the limits of rounding
    low = places.min(axis=0)
    x, y = np.round((places - low) / (size * _COINCIDENT) + 0.3137).astype(np.int64).T
    # one integer for each position and body, which sorts far faster than rows of three
    most = round(2.0 / _COINCIDENT)
    _, first, same = np.unique((body * most + x) * most + y, return_index=True, return_inverse=True)
    sides = first[borders(same.ravel()[cells])]
    divided = _divided(places, sides, body)
    if len(divided) == len(sides):
        return np.asarray(sides)
    return _single(divided)


def borders(cells: Ints) -> Ints:
    """Return (e, 2) the sides of cells (c, k) that belong to one cell alone."""
    corners = cells.shape[1]
    sides = np.concatenate([cells[:, [i, (i + 1) % corners]] for i in range(corners)])
    return _single(sides)


def loops(sides: Ints) -> list[Ints]:
    """Return the points along each closed line of the sides (e, 2).

    Verified by: tests/unit/solids/figures/test_figures.py::test_outlines_are_closed_lines
    """
    after = dict(sides.tolist())
    made = []
    while after:
        start, here = after.popitem()
        line = [start, here]
        while here in after:
            here = after.pop(here)
            line.append(here)
        made.append(np.array(line))
    return made


def _single(sides: Ints) -> Ints:
    """Return the sides that occur once, regardless of their direction."""
    low, high = sides.min(axis=1), sides.max(axis=1)
    _, first, count = np.unique(
        low * (high.max() + 1) + high, return_index=True, return_counts=True
    )
    return np.asarray(sides[first[count == 1]])


def _divided(places: Floats, sides: Ints, body: Ints) -> Ints:
    """Return the sides, divided at the ends of other sides that lie on them."""
    from scipy.spatial import cKDTree

    ends = np.unique(sides)
    begin, along = places[sides[:, 0]], places[sides[:, 1]] - places[sides[:, 0]]
    length = np.linalg.norm(along, axis=1)
    near = cKDTree(places[ends]).query_ball_point(begin + 0.5 * along, 0.5 * length)
    divided: list[Ints] = []
    for k, found in enumerate(near):
        first, last = sides[k]
        others = ends[found]
        others = others[(others != first) & (others != last) & (body[others] == body[first])]
        offset = places[others] - begin[k]
        distance_times_length = np.abs(offset[:, 0] * along[k, 1] - offset[:, 1] * along[k, 0])
        on = distance_times_length < _ON_SIDE * length[k] ** 2
        order = np.argsort(offset[on] @ along[k])
        chain = np.concatenate([[first], others[on][order], [last]])
        divided.append(np.column_stack([chain[:-1], chain[1:]]))
    return np.concatenate(divided)
