"""Marks: ends of segments that move with both bodies, and their first and second variations.

Opposite to the end c of a piece of the partner, with its tangent v,

    h(s, y) = (X(s) - c) . v = 0,    ds = -dh / h_s,
    dds = -(ddh + dh_s ds + ds dh_s + h_ss ds ds) / h_s.

Where nearest places turn, a . X' = 0, with r = X - c(xi), the tangent a = c_,xi and r . a = 0,

    m dxi = a . dr + r . da,    m = a . a - r . a_,xi,
    ds = -(X' . da + a . dX' + a_,xi . X' dxi) / (a . X''),

where dr is at fixed s and xi, and dds follows from the second variation A of

    a . X' + (a_,xi . X' / m) (r . a),    dds = -A / (a . X''),

with the factor in front of r . a kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from stiction.solids.contact.segment_forms import Forms

__all__ = ["Mark", "Opposite", "Turn", "both_ways", "marks", "of", "outer"]

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


class Turn(NamedTuple):
    """Marks where nearest places turn, at one end of segments (k,).

    Parameters
    ----------
    which : (k,) segments
    end : 0 or 1
    first, moves : (k, slots d) ds and dxi
    slope : (k,) a . X''
    by_s, by_xi : (k, slots d) variations of both equations by s, by xi, and nodes
    bent : (3, k) their second derivatives: by s, by s and xi, by xi
    pairs : what moves two vectors whose product has a second variation, and its factor (k,)
    """

    which: Ints
    end: int
    first: Floats
    moves: Floats
    slope: Floats
    by_s: Floats
    by_xi: Floats
    bent: Floats
    pairs: tuple[tuple[Floats, Floats, Floats], ...]

    def second(self) -> Floats:
        """Return dds, (k, slots d, slots d)."""
        twice = both_ways(self.by_s, self.first) + both_ways(self.by_xi, self.moves)
        s, mixed, xi = (part[:, None, None] for part in self.bent)
        twice += s * outer(self.first, self.first) + xi * outer(self.moves, self.moves)
        twice += mixed * both_ways(self.first, self.moves)
        for one, other, factor in self.pairs:
            made = (factor[:, None] * one)[:, :, None] * other[:, None, :]
            made = made + made.transpose(0, 2, 1)
            for d in (0, 1):
                twice[:, d::2, d::2] += made
        return np.asarray(-twice / self.slope[:, None, None])


Mark = Opposite | Turn


def marks(forms: Forms) -> list[Mark]:
    """Return the marks at both ends of all segments.

    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """
    found: list[Mark] = [_opposite(forms, end) for end in (0, 1)]
    found += [_turn(forms, end) for end in (0, 1) if forms.made.turns[:, end].any()]
    return found


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


def _turn(forms: Forms, end: int) -> Turn:
    made, (x, _), curves = forms.made, forms.states, forms.curves
    which = np.flatnonzero(made.turns[:, end])
    e, s, slot = made.element[which], made.ends[which, end], made.slot[which]
    at, xi = made.pieces[which, slot], made.begin[which, end][None]
    functions, here = curves.own(e, s, x)
    near, there = curves.near(at, xi, x)
    mine, piece, whole = forms.slots()
    rows = np.arange(which.size)[:, None]
    columns = (mine + piece * slot)[:, None] // 2 + np.arange(piece // 2)
    # what moves X, X', X'' and c, a, a_,xi
    own, other = np.zeros((2, 3, which.size, whole // 2))
    own[:, :, : mine // 2] = functions.transpose(0, 2, 1)
    other[:, rows, columns] = near.transpose(0, 2, 1)
    by_r = own[0] - other[0]
    r, a, b = (here[0] - there[0]).T, there[1].T, there[2].T
    rate, turn = here[1].T, here[2].T
    third, own_third = curves.third(at, xi, x).T, curves.own_third(e, s[None], x).T
    metric, slope = _dot(a, a) - _dot(r, b), _dot(a, turn)
    moves = (of(by_r, a) + of(other[1], r)) / metric[:, None]
    by_s = of(other[1], rate) + of(own[1], a)
    lean = _dot(b, rate)
    first = -(by_s + lean[:, None] * moves) / slope[:, None]
    # a . X' + factor r . a
    factor = lean / metric
    both = factor[:, None]
    bent = np.stack(
        [
            _dot(a, own_third) + factor * slope,
            _dot(b, turn) + factor * lean,
            _dot(third, rate) + factor * (_dot(r, third) - 3.0 * _dot(a, b)),
        ]
    )
    by_xi = of(other[2], rate) + of(own[1], b)
    by_xi += both * (of(by_r, b) - 2.0 * of(other[1], a) + of(other[2], r))
    by_s = of(other[1], turn) + of(own[2], a) + both * by_s
    one = np.ones(which.size)
    pairs = (own[1], other[1], one), (by_r, other[1], factor)
    return Turn(which, end, first, moves, slope, by_s, by_xi, bent, pairs)


def _dot(one: Floats, other: Floats) -> Floats:
    return np.asarray((one * other).sum(axis=1))
