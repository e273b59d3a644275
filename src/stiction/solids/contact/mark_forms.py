"""Ends of segments that move with both bodies: breakpoints, jumps, and their variations.

Opposite to the end c of an element of the partner, with its tangent v,

    h(s, y) = (X(s) - c) . v = 0,    ds = -dh / h_s,
    dds = -(ddh + dh_s ds + ds dh_s + h_ss ds ds) / h_s.

A jump s of the projection solves G = D_1 - D_2 = 0 with half squared distances D_i(s, y) to the
local minima on either crest (see `cutting`). With r = X - c and the tangent a of the partner,
r . a = 0, so that

    dD = r . dr,    dG / ds = (r_1 - r_2) . X',

where dr is at fixed xi. D_1 moves with the nodes of the segment before the jump and D_2 with those
of the segment behind it, so that ds is a sum of two parts.

In forces jumps stay where they are: gaps are the same on both sides, so that the energy does not
change with s but for the error of the quadrature, and friction does no work when a place is left
for another one. Tangents are derivatives of these forces, with jumps that move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.sweeps import dot

if TYPE_CHECKING:
    from stiction.solids.contact.segment_forms import Forms, Met

__all__ = [
    "JumpForms",
    "Jumps",
    "Opposite",
    "both_ways",
    "marks",
    "of",
    "outer",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def outer(one: Floats, other: Floats) -> Floats:
    """Return products of all parts of vectors, (p, a, b)."""
    return one[:, :, None] * other[:, None, :]


def both_ways(one: Floats, other: Floats) -> Floats:
    """Return products of all parts of vectors in both orders, (p, a, a)."""
    made = outer(one, other)
    return made + made.transpose(0, 2, 1)


def of(by: Floats, v: Floats) -> Floats:
    """Return the functional v . d(what nodes move by these functions), (p, slots d)."""
    return (by[:, :, None] * v[:, None, :]).reshape(by.shape[0], 2 * by.shape[1])


class Opposite(NamedTuple):
    """Marks opposite to ends of pieces, at one end of segments (k,).

    Parameters
    ----------
    which : (k,) segments
    end : 0 or 1
    first : (k, slots d) ds
    slope, bent : (k,) derivatives of h by s
    by_away, by_v : (k, slots d, d) variations of X - c and of v
    slide : (k, slots d) variation of h by s and nodes
    bend : (k, slots d, slots d) second variation of v times X - c, where there are two tangents
    """

    which: Ints
    end: int
    first: Floats
    slope: Floats
    bent: Floats
    by_away: Floats
    by_v: Floats
    slide: Floats
    bend: Floats | None

    def second(self) -> Floats:
        """Return dds, (k, slots d, slots d)."""
        cross = np.matmul(self.by_away, self.by_v.transpose(0, 2, 1))
        twice = cross + cross.transpose(0, 2, 1) + both_ways(self.slide, self.first)
        twice += self.bent[:, None, None] * outer(self.first, self.first)
        if self.bend is not None:
            twice += self.bend
        return np.asarray(-twice / self.slope[:, None, None])


def marks(forms: Forms) -> list[Opposite]:
    """Return the marks at both ends of all segments.

    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """
    return [_opposite(forms, end) for end in (0, 1)]


def _opposite(forms: Forms, end: int) -> Opposite:
    made, x, curves = forms.made, forms.states[0], forms.curves
    which = np.flatnonzero((made.tangents[:, end] >= 0).any(axis=1))
    mine, _piece, whole = forms.slots()
    slots, high = made.tangents[which, end], (made.sides[which, end] > 0.0).astype(np.int64)
    functions, here = curves.own(made.element[which], made.ends[which, end], x)
    both = (slots >= 0).all(axis=1)
    number = np.where(slots[:, 0] >= 0, 0, 1)
    row, wide = np.arange(which.size), whole // 2
    at = slots[row, number], high[row, number]
    place, by_place, v, by_v, tangent = _end_of_piece(forms, which, *at)
    bend = None
    if both.any():
        on = np.flatnonzero(both)
        pair = [(place[on], by_v[on], tangent[on])]
        other = _end_of_piece(forms, which[on], slots[on, 1], high[on, 1])
        pair.append((place[on], other[3], other[4]))
        v[on], by_v[on], part = _two(here[0].T[on] - place[on], pair)
        bend = np.zeros((which.size, whole, whole))
        bend[on] = part
    own = np.zeros((2, which.size, wide))
    own[0, :, : mine // 2], own[1, :, : mine // 2] = functions[0].T, functions[1].T
    away = here[0].T - place
    by_away = ((own[0] - by_place)[:, :, None, None] * np.eye(2)).reshape(-1, whole, 2)
    first = np.matmul(by_away, v[:, :, None]) + np.matmul(by_v, away[:, :, None])
    rate, turn = here[1].T, here[2].T
    slide = of(own[1], v) + np.matmul(by_v, rate[:, :, None])[:, :, 0]
    slope, bent = (rate * v).sum(axis=1), (turn * v).sum(axis=1)
    ds = -first[:, :, 0] / slope[:, None]
    return Opposite(which, end, ds, slope, bent, by_away, by_v, slide, bend)


def _end_of_piece(
    forms: Forms, which: Ints, slot: Ints, high: Ints
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the end of a piece in a slot, what moves it, its tangent, what moves that."""
    made, x, (mine, piece, whole) = forms.made, forms.states[0], forms.slots()
    at = made.pieces[which, slot]
    f = forms.curves.ends[high, :, :, at]
    nodes = x[forms.curves.partner.nodes[at]]
    place, v = np.matmul(f[:, None, 0], nodes)[:, 0], np.matmul(f[:, None, 1], nodes)[:, 0]
    rows = np.arange(which.size)[:, None]
    columns = (mine + piece * slot)[:, None] // 2 + np.arange(piece // 2)
    by = np.zeros((2, which.size, whole // 2))
    by[0, rows, columns], by[1, rows, columns] = f[:, 0], f[:, 1]
    by_v = (by[1][:, :, None, None] * np.eye(2)).reshape(-1, whole, 2)
    return place, by[0], v, by_v, v.copy()


def _two(away: Floats, pair: list[tuple[Floats, Floats, Floats]]) -> tuple[Floats, Floats, Floats]:
    """Return the sum of two unit tangents, what moves it, and its second variation times `away`.

    Parameters
    ----------
    away : (k, d)
    pair : place, variation and value of both tangents
    """
    v, by_v, bend = np.zeros_like(away), np.zeros_like(pair[0][1]), 0.0
    for _, by, tangent in pair:
        size = np.sqrt((tangent * tangent).sum(axis=1))[:, None]
        along, across = tangent / size, np.stack([-tangent[:, 1], tangent[:, 0]], axis=1) / size
        # a unit vector only turns
        turns = np.matmul(by, across[:, :, None])[:, :, 0] / size
        grows = np.matmul(by, along[:, :, None])[:, :, 0] / size
        v += along
        by_v += turns[:, :, None] * across[:, None, :]
        out, up = (away * across).sum(axis=1), (away * along).sum(axis=1)
        bend = bend - out[:, None, None] * both_ways(grows, turns)
        bend = bend - up[:, None, None] * outer(turns, turns)
    return v, by_v, np.asarray(bend)


class Jumps(NamedTuple):
    """Jumps of the closest-point projection (k,).

    Parameters
    ----------
    one, other : segments that end and begin there
    met : (2 k,) what they meet there, those before jumps first
    """

    one: Ints
    other: Ints
    met: Met


class JumpForms:
    """What moving jumps of the projection add to variations of forces.

    Parameters
    ----------
    forms : of all segments
    jumps : of the projection

    Verified by: tests/unit/solids/contact/test_jumps.py::test_tangents_with_a_jump_inside_a_cell
    """

    def __init__(self, forms: Forms, jumps: Jumps) -> None:
        self.one, self.other = jumps.one, jumps.other
        at, met, count = np.concatenate([jumps.one, jumps.other]), jumps.met, jumps.one.size
        mine, piece, whole = forms.slots()
        columns = (mine + piece * forms.made.slot[at][:, None]) // 2 + np.arange(piece // 2)
        by_r = np.zeros((at.size, whole // 2))
        by_r[:, : mine // 2] = met.own[0].T
        by_r[np.arange(at.size)[:, None], columns] = -met.near[0].T
        r = met.here[0] - met.there[0]
        sign = np.repeat([1.0, -1.0], count)
        slope = (sign * dot(r, met.here[1])).reshape(2, -1).sum(axis=0)
        ds = -sign[:, None] * of(by_r, r.T) / np.tile(slope, 2)[:, None]
        # by the nodes of the segment before, and of the one behind
        self.first = ds[:count], ds[count:]

    def add(self, made: Floats, vectors: Floats) -> None:
        """Add to variations by nodes (c, slots d) what jumps do to those by ends (c, M)."""
        rate = (vectors[self.one, -1] + vectors[self.other, -2])[:, None]
        made[self.one] += rate * self.first[0]
        made[self.other] += rate * self.first[1]

    def bend(self, found: Floats, second: Floats, chain: Floats) -> tuple[Floats, Floats]:
        """Add to derivatives of forces by nodes (c, slots d, slots d), and return those across.

        These are by the nodes of segments before jumps and behind, and in the other order.

        Parameters
        ----------
        second, chain : (2 k, M, M) second variations by (y, s_a, s_b) of the segments before and
            behind jumps, and (2 k, M, slots d) what marks make of nodes
        """
        ends = np.repeat([-1, -2], self.one.size)
        by_end = np.take_along_axis(second, ends[:, None, None], axis=2)[:, :, 0]
        pulls = np.split(np.einsum("km,kmz->kz", by_end, chain), 2)
        found[self.one] += outer(pulls[0], self.first[0])
        found[self.other] += outer(pulls[1], self.first[1])
        return outer(pulls[0], self.first[1]), outer(pulls[1], self.first[0])
