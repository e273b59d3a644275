"""First and second variations of leaps, and what they add to those of integrals.

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

from stiction.solids.contact.mark_forms import of, outer
from stiction.solids.contact.segment_forms import Met
from stiction.solids.contact.sweeps import dot

if TYPE_CHECKING:
    from stiction.solids.contact.segment_forms import Forms

__all__ = ["LeapForms", "Leaping"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
