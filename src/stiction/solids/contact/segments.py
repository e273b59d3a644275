"""Segments of a boundary between the pieces of a partner, cut anew in every state.

Forces on a partner weigh tractions with its functions, which have kinks where its pieces meet. An
integral that runs across such a kink is not exact for any Gauss rule, and a constant pressure is
then not carried from one mesh to the other. So integrals end there. A boundary is divided once and
for all into cells, at which histories live; cells are cut at marks: places s of the boundary from
which the nearest point of the partner is the end c of a piece,

    h(s) = (X(s) - c) . v = 0,

with the tangent v of the piece, or the sum of both unit tangents at a hollow corner. Before a
corner that stands out lies a stretch of points that meet the corner itself, between one mark for
each side.

Where a point lies along a partner is a station: 2 k + 1 for the piece k, 2 k for the corner before
it. A cell whose ends have different stations passes through those in between. Cells in which the
projection jumps are divided there first (see `cutting`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.shape_functions.splines import curve_functions

__all__ = [
    "Ends",
    "Passed",
    "Segments",
    "alone",
    "between",
    "celled",
    "closes",
    "passed",
    "rule",
    "smooth_ends",
    "stations",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Curve = Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]

# points for the lengths of cells, which are what weights of pressure refer to
_EXACT = 8
# parts of a unit vector by which tangents at a joint may differ and count as one
_PARALLEL = 1e-9
# steps for a mark, and one after which it is found: Newton's method squares the error
_STEPS, _FOUND = 60, 1e-9
# by how much of a cell a mark may lie outside, by rounding
_OUTSIDE = 1e-9
# part of a cell that a mark may lie from its end and count as there
_FACING = 1e-9


class Segments(NamedTuple):
    """Segments c of a boundary with g points each.

    Parameters
    ----------
    element, cell : (c,) pieces of the boundary, and cells
    ends : (c, 2) xi of the piece
    pieces : (c, K) of the partner, in slots: the one that is met alone, or with its neighbours
    slot : (c,) of the piece that points meet
    corner : (c,) xi of the corner that points meet; 0 where they meet the piece
    tangents : (c, 2, 2) slots of the tangents of the marks at both ends, -1 for none
    sides : (c, 2, 2) xi of the places of these tangents
    share, at : (c, g) weights and places of points on [0, 1]
    begin : (c, 2) xi of the partner at both ends, about
    """

    element: Ints
    cell: Ints
    ends: Floats
    pieces: Ints
    slot: Ints
    corner: Floats
    tangents: Ints
    sides: Floats
    share: Floats
    at: Floats
    begin: Floats

    def kept(self, which: Bools | Ints) -> Segments:
        """Return some of them."""
        return Segments._make(part[which] for part in self)


@functools.cache
def rule(points: int) -> tuple[Floats, Floats]:
    """Return the places and weights of Gauss's rule on [0, 1]."""
    gauss, weight = np.polynomial.legendre.leggauss(points)
    return 0.5 + 0.5 * gauss, 0.5 * weight


def celled(own: Surface, points: Floats) -> Surface:
    """Return a boundary of the plane with a point in the middle of each of its cells.

    Cells have equal shares of the coordinate of a piece, as many as it had points; areas are
    those of cells.

    Parameters
    ----------
    own : the boundary
    points : (nodes, d) reference places [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_cells_have_the_lengths_of_parts
    """
    count = own.points.size
    ends = np.linspace(-1.0, 1.0, count + 1)
    gauss, weight = np.polynomial.legendre.leggauss(_EXACT)
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 1.0 / count
    many = (middle[:, None] + half * gauss).ravel()
    _, rates = curve_functions(own.extraction, own.weights, many)
    tangents = np.matmul(rates, points[own.nodes])
    size = np.sqrt((tangents * tangents).sum(axis=2)).reshape(-1, count, _EXACT)
    functions, rates = curve_functions(own.extraction, own.weights, middle)
    areas = half * (size * weight).sum(axis=2)
    made = own._replace(points=middle, functions=functions, derivatives=rates[..., None])
    return made._replace(areas=areas)


def closes(surface: Surface) -> bool:
    """Return whether a boundary of the plane goes on from its end to its beginning."""
    return bool(surface.neighbours[0, 0] >= 0)


def smooth_ends(partner: Surface) -> Bools:
    """Return whether tangents agree where pieces meet, in any state, (pieces + 1,).

    Verified by: tests/unit/solids/contact/test_segments.py::test_joints_of_splines_are_smooth
    """
    pieces, nodes = partner.nodes.shape[0], int(partner.nodes.max()) + 1
    _, rates = curve_functions(partner.extraction, partner.weights, np.array([-1.0, 1.0]))
    smooth = np.zeros(pieces + 1, dtype=np.bool_)
    for end in range(1, pieces):
        both = np.zeros((2, nodes))
        np.add.at(both[0], partner.nodes[end - 1], rates[end - 1, 1])
        np.add.at(both[1], partner.nodes[end], rates[end, 0])
        both /= np.linalg.norm(both, axis=1)[:, None]
        smooth[end] = bool(np.abs(both[0] - both[1]).max() < _PARALLEL)
    return smooth


def stations(element: Ints, xi: Floats, normal: Bools, smooth: Bools) -> tuple[Ints, Bools]:
    """Return the stations (p,) of nearest points, and which have none.

    Parameters
    ----------
    element, xi, normal : (p,) of nearest points
    smooth : what `smooth_ends` returned
    """
    knot = element + (xi > 0.0)
    held = ~normal & (np.abs(xi) == 1.0)
    corner = held & ~smooth[knot]
    return np.where(corner, 2 * knot, 2 * element + 1), ~(normal | held)


class Ends:
    """The ends of the pieces of a partner in a state.

    Parameters
    ----------
    partner : the boundary
    functions : (2, rows, n, pieces) at both ends of pieces
    smooth : what `smooth_ends` returned
    x : (nodes, d) places [m]
    """

    def __init__(self, partner: Surface, functions: Floats, smooth: Bools, x: Floats) -> None:
        at = x.T[:, partner.nodes]
        low, high = np.einsum("ernp,dpn->erdp", functions, at, optimize=False)
        self.place = np.concatenate([low[0], high[0][:, -1:]], axis=1)
        # of both sides of each end, (2, d, pieces): place and tangent
        self.low, self.high = low, high
        # unit tangents before and behind each end
        ahead, behind = (row[1] / np.sqrt((row[1] ** 2).sum(axis=0)) for row in (low, high))
        none = np.zeros((2, 1))
        self.before = np.concatenate([none, behind], axis=1)
        self.behind = np.concatenate([ahead, none], axis=1)
        turn = self.before[0] * self.behind[1] - self.before[1] * self.behind[0]
        # corners that points can meet: ends, and those that stand out to the right of the way
        self.met = ~smooth & (turn > 0.0)
        self.met[0] = self.met[-1] = True
        self.smooth = smooth


class Passed(NamedTuple):
    """Stations that cells pass, in order, and the marks between them.

    Parameters
    ----------
    cell, station : (c,) of each segment
    ends : (2, c) xi at which it begins and ends
    bad : (cells,) cells that cannot be cut
    stood : (cells,) stations at both ends; those of slivers that were left out are no segment's
    """

    cell: Ints
    station: Ints
    ends: Floats
    bad: Bools
    stood: tuple[Ints, Ints]


def passed(
    mine: Curve,
    cells: tuple[Ints, Floats, Floats],
    stood: tuple[Ints, Ints],
    places: Floats,
    ends: Ends,
    x: Floats,
) -> Passed:
    """Return what cells pass from end to end.

    Parameters
    ----------
    mine : functions and places of the boundary at pieces and xi (c,)
    cells : pieces (n,) and xi (n,) of both ends of each cell
    stood : (n,) stations at both ends
    places : (2, d, n) of both ends [m]
    ends : of the pieces of the partner
    x : (nodes, d) places [m]

    Verified by: tests/unit/solids/contact/test_segments.py::test_marks_lie_opposite_to_ends
    """
    first, last = stood
    count = np.abs(last - first) + 1
    cell = np.repeat(np.arange(first.size), count)
    step = np.arange(cell.size) - np.repeat(np.cumsum(count) - count, count)
    station = first[cell] + np.where(last[cell] >= first[cell], step, -step)
    inner = (step > 0) & (step < count[cell] - 1)
    skipped = inner & (station % 2 == 0) & ~ends.met[station // 2]
    cell, station = cell[~skipped], station[~skipped]
    low, high = cells[1][cell], cells[2][cell]
    made = np.stack([low, high])
    bad = np.zeros(first.size, dtype=np.bool_)
    marks = np.flatnonzero(cell[1:] == cell[:-1])
    if marks.size:
        s, lost = _marks(
            mine, cells, cell[marks], station[marks], station[marks + 1], places, ends, x
        )
        made[1, marks], made[0, marks + 1] = s, s
        bad[cell[marks[lost]]] = True
        wide = (high - low) * _OUTSIDE
        bad[cell[made[1] < made[0] - wide]] = True
        made[1] = np.maximum(made[0], made[1])
        again = np.flatnonzero(made[0, 1:] != made[1, :-1])
        again = again[cell[again + 1] == cell[again]]
        made[0, again + 1] = made[1, again]
        cell, station, made = _without_slivers(cell, station, made, high - low, bad)
    return Passed(cell, station, made, bad, stood)


def _without_slivers(
    cell: Ints, station: Ints, made: Floats, wide: Floats, bad: Bools
) -> tuple[Ints, Ints, Floats]:
    """Return what cells pass without what begins or ends them and has no length but rounding.

    Where ends of pieces face ends of cells, rounding alone decides in which of two cells a mark
    lies. The sum over points is the same, but not its derivative by the mark.
    """
    kept = np.ones(cell.size, dtype=np.bool_)
    short = (made[1] - made[0] <= wide * _FACING) & ~bad[cell]
    for way in (1, -1):
        c, s = cell[::way], short[::way]
        begins = np.append(True, c[1:] != c[:-1])
        lost, before = np.zeros(c.size, dtype=np.bool_), begins
        while (now := before & s & ~lost).any():
            lost |= now
            before = np.append(False, lost[:-1]) & ~begins
        kept[::way] &= ~lost
    # a cell that is nothing but slivers would be lost
    whole = np.bincount(cell[kept], minlength=bad.size) > 0
    kept |= ~whole[cell]
    low, high = made[0].copy(), made[1].copy()
    first = np.append(True, cell[1:] != cell[:-1])
    start, number = low[first], np.cumsum(first) - 1
    stop = high[np.append(first[1:], True)]
    number = number[kept]
    cell, station, made = cell[kept], station[kept], np.stack([low[kept], high[kept]])
    first = np.append(True, cell[1:] != cell[:-1])
    last = np.append(first[1:], True)
    made[0, first], made[1, last] = start[number[first]], stop[number[last]]
    return cell, station, made


def _marks(
    mine: Curve,
    cells: tuple[Ints, Floats, Floats],
    cell: Ints,
    one: Ints,
    other: Ints,
    places: Floats,
    ends: Ends,
    x: Floats,
) -> tuple[Floats, Bools]:
    """Return xi (c,) of marks between stations, and which are not there."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    knot = (low + 1) // 2
    # a step from piece to piece sees both tangents, one to or from a corner that of its piece
    both = high - low == 2
    v = ends.before[:, knot] * (both | (low % 2 == 1)) + ends.behind[:, knot] * (low % 2 == 0)
    hollow = both & ~ends.smooth[knot]
    v = v + ends.behind[:, knot] * hollow
    c = ends.place[:, knot]
    e, left, right = cells[0][cell], cells[1][cell], cells[2][cell]
    f_left, f_right = (((place[:, cell] - c) * v).sum(axis=0) for place in places)
    none = (f_left < 0.0) == (f_right < 0.0)
    small = _OUTSIDE * np.abs(f_left - f_right)
    lost = none & (np.minimum(np.abs(f_left), np.abs(f_right)) > small)
    a, b, rises = left.copy(), right.copy(), f_right > f_left
    with np.errstate(all="ignore"):
        s = left - f_left * (right - left) / (f_right - f_left)
    s = np.clip(np.where(np.isfinite(s), s, left), left, right)
    going = np.flatnonzero(~none)
    for _ in range(_STEPS):
        if not going.size:
            break
        _, row = mine(e[going], s[going], x)
        f = ((row[0] - c[:, going]) * v[:, going]).sum(axis=0)
        slope = (row[1] * v[:, going]).sum(axis=0)
        above = (f > 0.0) == rises[going]
        b[going[above]], a[going[~above]] = s[going[above]], s[going[~above]]
        with np.errstate(all="ignore"):
            way = s[going] - f / slope
        inside = (way >= a[going]) & (way <= b[going])
        way = np.where(inside, way, 0.5 * (a[going] + b[going]))
        moved = np.abs(way - s[going])
        s[going] = way
        going = going[(moved > _FOUND) & (f != 0.0)]
    return s, lost


def between(way: Passed, cells: Ints, reached: Floats, ends: Ends, points: int) -> Segments:
    """Return the segments of cells that are cut.

    Parameters
    ----------
    way : what the cells pass
    cells : (n,) pieces of the boundary in which they lie
    reached : (n, 2) xi of the partner at both ends of the cells
    ends : of the pieces of the partner
    points : of each segment
    """
    good = ~way.bad[way.cell]
    cell, station = way.cell[good], way.station[good]
    count, wide = cell.size, 1 if ends.smooth[1:-1].all() else 3
    last = ends.smooth.size - 2
    odd = station % 2 == 1
    # the piece in the middle slot; a corner is the end of the piece before it
    middle = np.where(odd, station // 2, np.minimum(station // 2, last))
    base = middle - (wide > 1)
    met = np.where(odd | (station == 0), station // 2, station // 2 - 1)
    corner = np.where(odd, 0.0, np.where(station == 0, -1.0, 1.0))
    pieces = np.clip(base[:, None] + np.arange(wide), 0, last)
    tangents = np.full((count, 2, 2), -1)
    sides = np.zeros((count, 2, 2))
    begin = reached[cell].copy()
    inner = np.append(cell[1:] == cell[:-1], False)
    for end, step in ((0, -1), (1, 1)):
        beyond = way.stood[end][cell] - station
        begin[beyond != 0, end] = np.sign(beyond[beyond != 0])
        at = np.flatnonzero(np.roll(inner, 1) if end == 0 else inner)
        low = np.minimum(station[at], station[at + step])
        knot = (low + 1) // 2
        both = np.abs(station[at] - station[at + step]) == 2
        smooth = both & ends.smooth[knot]
        mine = middle[at] == knot
        # pieces and sides of the tangents of a mark; of two that agree the one of the own piece
        before = ((low % 2 == 1) & ~smooth) | (smooth & ~mine)
        behind = (low % 2 == 0) | (both & ~ends.smooth[knot]) | (smooth & mine)
        tangents[at, end, 0] = np.where(before, knot - 1 - base[at], -1)
        tangents[at, end, 1] = np.where(behind, knot - base[at], -1)
        sides[at, end] = (1.0, -1.0)
        begin[at, end] = np.where(knot > middle[at], 1.0, -1.0)
    places, share = rule(points)
    return Segments(
        cells[cell],
        cell,
        np.ascontiguousarray(way.ends[:, good].T),
        pieces,
        met - base,
        corner,
        tangents,
        sides,
        np.tile(share, (count, 1)),
        np.tile(places, (count, 1)),
        begin,
    )


def alone(
    cell: Ints,
    element: Ints,
    ends: Floats,
    met: Ints,
    corner: Floats,
    wide: int,
    last: int,
) -> Segments:
    """Return one segment for each point of cells that are not cut.

    Parameters
    ----------
    cell, element : (c,) of the points, g of each cell in turn
    ends : (c, 2) of the cells
    met, corner : (c, g) pieces that the points meet, and xi of corners
    wide : slots
    last : the last piece of the partner
    """
    points = met.shape[1]
    places, share = rule(points)
    each = np.repeat(np.arange(cell.size), points)
    turn = np.tile(np.arange(points), cell.size)
    pieces = np.clip(met.ravel()[:, None] - (wide > 1) + np.arange(wide), 0, last)
    count = each.size
    return Segments(
        element[each],
        cell[each],
        ends[each],
        pieces,
        np.full(count, int(wide > 1)),
        corner.ravel(),
        np.full((count, 2, 2), -1),
        np.zeros((count, 2, 2)),
        np.tile((share / points)[turn][:, None], (1, points)),
        np.tile(places[turn][:, None], (1, points)),
        np.zeros((count, 2)),
    )
