"""The outline of bodies that are drawn as cells, whose layers need not share their points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["borders", "loops", "outline"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ONE_PLACE = 1e-7  # of the size: points nearer than this are one
_ON_LINE = 1e-4  # of the length of a side: how far a point on it may lie beside it


def outline(places: Floats, cells: Ints, body: Ints) -> Ints:
    """Return (e, 2) the sides of cells that lie on the outside of a body.

    Points of one place are one, and a long side that two short ones of the neighbouring cells
    cover is inside as well.

    Parameters
    ----------
    places : (p, 2) points at the start
    cells : (c, k) corners
    body : (p,) body of each point

    Verified by: tests/unit/solids/figures/test_figures.py::test_outline_is_the_border
    """
    size = max(float(np.ptp(places, axis=0).max()), 1e-300)
    # places on a regular grid must not fall on the limits of rounding
    low = places.min(axis=0)
    x, y = np.round((places - low) / (size * _ONE_PLACE) + 0.3137).astype(np.int64).T
    # one whole number for each place and body: far quicker to sort than rows
    most = round(2.0 / _ONE_PLACE)
    _, first, same = np.unique((body * most + x) * most + y, return_index=True, return_inverse=True)
    sides = first[borders(same.ravel()[cells])]
    cut = _cut(places, sides, body)
    if len(cut) == len(sides):
        return np.asarray(sides)
    return _single(cut)


def borders(cells: Ints) -> Ints:
    """Return (e, 2) the sides that belong to one cell alone."""
    corners = cells.shape[1]
    sides = np.concatenate([cells[:, [i, (i + 1) % corners]] for i in range(corners)])
    return _single(sides)


def loops(sides: Ints) -> list[Ints]:
    """Return the points along each closed line of sides, so that dashes run through corners.

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
    """Return the sides that appear once, whatever their direction."""
    low, high = sides.min(axis=1), sides.max(axis=1)
    _, first, count = np.unique(
        low * (high.max() + 1) + high, return_index=True, return_counts=True
    )
    return np.asarray(sides[first[count == 1]])


def _cut(places: Floats, sides: Ints, body: Ints) -> Ints:
    """Return the sides, cut where other ends of sides lie on them."""
    from scipy.spatial import cKDTree

    ends = np.unique(sides)
    begin, along = places[sides[:, 0]], places[sides[:, 1]] - places[sides[:, 0]]
    length = np.linalg.norm(along, axis=1)
    near = cKDTree(places[ends]).query_ball_point(begin + 0.5 * along, 0.5 * length)
    made: list[Ints] = []
    for k, found in enumerate(near):
        a, b = sides[k]
        others = ends[found]
        others = others[(others != a) & (others != b) & (body[others] == body[a])]
        offset = places[others] - begin[k]
        beside = np.abs(offset[:, 0] * along[k, 1] - offset[:, 1] * along[k, 0])
        on = beside < _ON_LINE * length[k] ** 2
        order = np.argsort(offset[on] @ along[k])
        chain = np.concatenate([[a], others[on][order], [b]])
        made.append(np.column_stack([chain[:-1], chain[1:]]))
    return np.concatenate(made)
