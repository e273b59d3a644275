"""Ends of segments that move with both bodies: marks, turns and leaps, and their variations.

Opposite to the end c of a piece of the partner, with its tangent v,

    h(s, y) = (X(s) - c) . v = 0,    ds = -dh / h_s,
    dds = -(ddh + dh_s ds + ds dh_s + h_ss ds ds) / h_s.

Where nearest places turn, a . X' = 0, with r = X - c(xi), the tangent a = c_,xi and r . a = 0,

    m dxi = a . dr + r . da,    m = a . a - r . a_,xi,
    ds = -(X' . da + a . dX' + a_,xi . X' dxi) / (a . X''),

where dr is at fixed s and xi, and dds follows from the second variation A of

    a . X' + (a_,xi . X' / m) (r . a),    dds = -A / (a . X''),

with the factor in front of r . a kept.

A leap s solves G = D_1 - D_2 = 0 with half squared distances D_i(s, y) to the nearest places on
either crest (see `leaps`). With r = X - c, the tangent a of the partner and xi eliminated, as
r . a = 0,

    dD = r . dr,    ddD = dr . dr - m dxi dxi,    m dxi = a . dr + r . da,    m = a . a - r . a_,xi,

where dr is at fixed xi. D_1 moves with the nodes of the segment before the leap and D_2 with those
of the segment behind it, so that ds is a sum of two parts, and dds has four.

Energies move with their leaps: P ds, with P = d(Q_1 + Q_2) / ds, which is the error of the
quadrature, as gaps are the same on both sides. Friction does no work when a place is left for
another one: in its virtual work leaps stay, and only what it depends on moves with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.contact.sweeps import dot

if TYPE_CHECKING:
    from stiction.solids.contact.segment_forms import Forms, Met

__all__ = [
    "LeapForms",
    "Leaping",
    "Mark",
    "Opposite",
    "Turn",
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
    return found + _turns(forms)


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


def _turns(forms: Forms) -> list[Mark]:
    """Return the turns of segments before and behind them, where these meet one piece at once."""
    made = forms.made
    before, behind = (np.flatnonzero(made.turns[:, end]) for end in (1, 0))
    if not before.size and not behind.size:
        return []
    one = _turn(forms, before, 1)
    if np.array_equal(before + 1, behind):
        same = (made.pieces[before] == made.pieces[behind]).all()
        if same and (made.slot[before] == made.slot[behind]).all():
            return [one, one._replace(which=behind, end=0)]
    return [one, _turn(forms, behind, 0)]


def _turn(forms: Forms, which: Ints, end: int) -> Turn:
    made, (x, _), curves = forms.made, forms.states, forms.curves
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


class Leaping(NamedTuple):
    """Leaps (k,).

    Parameters
    ----------
    one, other : segments that end and begin there
    met : (2 k,) what they meet there, those before leaps first
    """

    one: Ints
    other: Ints
    met: Met

    def chained(self) -> tuple[Ints, Ints]:
        """Return pairs of leaps between which one segment lies, that before and that behind it."""
        same = self.other[:, None] == self.one
        before, behind = np.nonzero(same)
        return before, behind


class LeapForms:
    """What leaps add to variations of integrals over segments.

    Parameters
    ----------
    forms : of all segments
    leaping : the leaps

    Verified by: tests/unit/solids/contact/test_leaps.py::test_tangents_with_a_leap_inside_a_cell
    """

    def __init__(self, forms: Forms, leaping: Leaping) -> None:
        self.forms, self.one, self.other = forms, leaping.one, leaping.other
        self.chained = leaping.chained()
        at, met = np.concatenate([leaping.one, leaping.other]), leaping.met
        mine, piece, whole = forms.slots()
        rows = np.arange(at.size)[:, None]
        columns = (mine + piece * forms.made.slot[at][:, None]) // 2 + np.arange(piece // 2)
        by_r, by_a, by_slide = np.zeros((3, at.size, whole // 2))
        by_r[:, : mine // 2], by_slide[:, : mine // 2] = met.own[0].T, met.own[1].T
        by_r[rows, columns] = -met.near[0].T
        by_a[rows, columns] = met.near[1].T * ~met.corner[:, None]
        r = met.here[0] - met.there[0]
        a = np.where(met.corner, 0.0, met.there[1])
        metric = np.where(met.corner, 1.0, dot(a, a) - dot(r, met.there[2]))
        slide, turn = met.here[1], met.here[2]
        moves = (of(by_r, a.T) + of(by_a, r.T)) / metric[:, None]
        slides = dot(a, slide) / metric
        count = leaping.one.size
        sign = np.repeat([1.0, -1.0], count)
        by_slope = of(by_slide, r.T) + of(by_r, slide.T) - (metric * slides)[:, None] * moves
        self._by_slope = sign[:, None] * by_slope
        bent = sign * (dot(slide, slide) + dot(r, turn) - metric * slides * slides)
        self._bent = bent[:count] + bent[count:]
        slope = sign * dot(r, slide)
        self._slope = slope[:count] + slope[count:]
        twice = np.einsum("pi,pj,cd->picjd", by_r, by_r, np.eye(2)).reshape(-1, whole, whole)
        twice -= metric[:, None, None] * outer(moves, moves)
        self._twice = sign[:, None, None] * twice
        ds = -sign[:, None] * of(by_r, r.T) / np.tile(self._slope, 2)[:, None]
        # by the nodes of the segment before, and of the one behind
        self.first = ds[:count], ds[count:]

    def _by_leap(self, vectors: Floats) -> Floats:
        """Return the derivative (k,) by leaps of what has these variations (c, M)."""
        return np.asarray(vectors[self.one, -1] + vectors[self.other, -2])

    def add(self, made: Floats, vectors: Floats) -> None:
        """Add to variations by nodes (c, slots d) what leaps do to those by ends (c, M)."""
        rate = self._by_leap(vectors)[:, None]
        made[self.one] += rate * self.first[0]
        made[self.other] += rate * self.first[1]

    def _second(self, i: int, j: int) -> Floats:
        """Return the part of dds by the nodes of two segments, 0 before and 1 behind the leap."""
        count = self.one.size
        slopes = self._by_slope[:count], self._by_slope[count:]
        one, other = self.first[i], self.first[j]
        made = outer(slopes[i], other) + outer(one, slopes[j])
        made += self._bent[:, None, None] * outer(one, other)
        if i == j:
            made += self._twice[i * count : (i + 1) * count]
        return np.asarray(-made / self._slope[:, None, None])

    def bend(
        self, found: Floats, second: tuple[Floats, Floats], chain: tuple[Floats, Floats], rubs: bool
    ) -> tuple[Floats, ...]:
        """Add to second variations by nodes (c, slots d, slots d), and return those across leaps.

        Those are by the segments before and behind leaps, by those behind and before, and by the
        segments around one that lies between two leaps, in both orders.

        Parameters
        ----------
        second, chain : (k, M, M) second variations by (y, s_a, s_b) of the segments before and
            behind leaps, and (k, M, slots d) what marks make of nodes
        rubs : whether there is friction in them
        """
        pure = self._without_friction() if rubs else second
        end = -1, -2
        pulls, turns = [], []
        both = pure[0][:, -1, -1] + pure[1][:, -2, -2]
        for i in (0, 1):
            pulls.append(np.einsum("km,kmz->kz", second[i][:, :, end[i]], chain[i]))
            turn = np.einsum("km,kmz->kz", pure[i][:, end[i]], chain[i])
            turns.append(turn + both[:, None] * self.first[i])
        rate = self._by_leap(self.forms.of_energy)[:, None, None]

        def block(i: int, j: int) -> Floats:
            made = outer(pulls[i], self.first[j]) + outer(self.first[i], turns[j])
            return np.asarray(made + rate * self._second(i, j))

        found[self.one] += block(0, 0)
        found[self.other] += block(1, 1)
        across = block(0, 1), block(1, 0)
        before, behind = self.chained
        rate = pure[1][before, -2, -1][:, None, None]
        # ds_a ds_b of one segment: leaps with what lies around it, and with itself
        a, b = ([part[which] for part in self.first] for which in (before, behind))
        near, last, far = (
            rate * outer(a[0], b[0]),
            rate * outer(a[1], b[1]),
            rate * outer(a[0], b[1]),
        )
        inner = rate * outer(a[1], b[0])
        across[0][before] += near
        across[1][before] += near.transpose(0, 2, 1)
        across[0][behind] += last
        across[1][behind] += last.transpose(0, 2, 1)
        found[self.other[before]] += inner + inner.transpose(0, 2, 1)
        return (*across, far, far.transpose(0, 2, 1))

    def _without_friction(self) -> tuple[Floats, Floats]:
        """Return second variations of the energy alone."""
        part = self.forms.part(np.concatenate([self.one, self.other]))
        made, count = part.whole_second(np.zeros(part.gap.size)), self.one.size
        return made[:count], made[count:]
