"""Mortar segments of a boundary in a state: cells divided at the elements of their partner.

Cells end up in segments whose points project on one element or one corner of the partner each. They
are divided at breakpoints opposite to ends of elements (see `segments`), and at one jump of the
closest-point projection. A jump lies where two places of the partner are as near, at the root s of

    G(s) = |X(s) - c_1|^2 / 2 - |X(s) - c_2|^2 / 2 = 0,    dG / ds = (c_2 - c_1) . X',

with local minima c_1 and c_2 of the distance that are followed along the boundary, each from its
end of the cell: as both are minima, their motion along the partner does not change G. Points of
cells that cannot be divided so are projected one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curve_kernels import points_kernel
from stiction.solids.contact.mark_forms import Jumps
from stiction.solids.contact.model import Contact, ContactPass, Found
from stiction.solids.contact.segment_forms import Met
from stiction.solids.contact.segments import (
    Ends,
    Segments,
    alone,
    between,
    celled,
    closes,
    passed,
    rule,
    smooth_ends,
    stations,
)

__all__ = ["Cut", "CutPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# points on each segment: exact for cubics, which is what forces on splines weigh tractions with
_POINTS = 2
# steps to a nearest point on a piece, one after which it is found, as Newton's method squares the
# error, and how far beyond the piece it may lie
_STEPS, _FOUND, _BEYOND = 20, 1e-9, 1e-6
# segments too short, as a part of a piece, for their points to tell anything
_SLIVER = 1e-7
# steps to a jump of the projection; parts of a cell within which two closest points are one, and
# within which distances at the jump agree
_JUMP_STEPS, _ONE, _OFF = 60, 1e-6, 1e-8
# part of a cell that a jump may lie from its end and count as there
_FACING = 1e-9
# places whose distances to all places of the search are computed at once
_AT_ONCE = 512
# part by which one of two distances has to be smaller: rounding
_NEARER = 1e-12


class Cut(Found):
    """Nearest points of the middles of cells, and the segments of a state with their points.

    `jumps` are the segments that end where the projection jumps; None where it does not.
    """

    segments: Segments
    met: Met
    jumps: Jumps | None


class Parts(NamedTuple):
    """Parts of cells, and the closest points at both of their ends.

    Parameters
    ----------
    cell, element : (c,) cells, and elements of the boundary
    low, high : (c,) xi of both ends
    one, other : the closest points there
    places : (2, d, c) of both ends [m]
    """

    cell: Ints
    element: Ints
    low: Floats
    high: Floats
    one: Found
    other: Found
    places: Floats

    def at(self, which: Ints) -> Parts:
        """Return some of them."""
        told = (v[which] for v in self[:4])
        ends = self.one.at(which), self.other.at(which)
        return Parts._make([*told, *ends, self.places[:, :, which]])


def joined(one: Found, other: Found) -> Found:
    """Return closest points of some places and of others, one after another."""
    return Found._make(np.concatenate(pair) for pair in zip(one, other, strict=True))


class Crests(NamedTuple):
    """Two local minima of the distance at places of cells.

    Parameters
    ----------
    found : (2 c,) both minima, those of the first crest before those of the second
    there, place : (d, 2 c) where they are, and (d, c) the places
    value, slope : (c,) G and dG / ds
    same, valid : (c,) whether both are one, and whether both exist
    """

    found: Found
    there: Floats
    place: Floats
    value: Floats
    slope: Floats
    same: Bools
    valid: Bools


class CutPass(ContactPass):
    """One pass over one boundary that is cut at the pieces of its partner.

    Parameters
    ----------
    contact : the description
    own, partner : the boundaries, in the global numbering
    points : (nodes, d) reference places of all nodes

    Verified by: tests/unit/solids/contact/test_segments.py::test_marks_lie_opposite_to_ends
    """

    # how much of the energy this pass has
    part = 1.0

    def __init__(self, contact: Contact, own: Surface, partner: Surface, points: Floats) -> None:
        super().__init__(contact, celled(own, points), partner, points)
        # how long a closed partner is, 0 for an open one
        self.around = float(self.partner.knots[0][-1]) if closes(partner) else 0.0
        self.half, self.share, self.mortar = False, 1.0, True
        self._other, self._smooth = partner, smooth_ends(partner)
        every = np.arange(partner.nodes.shape[0])
        sides = [self.curve.functions(every, np.full((1, every.size), xi)) for xi in (-1.0, 1.0)]
        self._ends = np.stack(sides)
        self._wide = 1 if self._smooth[1:-1].all() else 3
        degrees = np.array(self.own_curve.degrees, dtype=np.int64)
        o = self.own
        self._mine = (o.nodes, o.extraction, o.weights, o.neighbours, degrees)
        # ends of cells, then their middles: where cells look for their partner
        pieces, each = o.areas.shape
        grid = np.linspace(-1.0, 1.0, each + 1)
        which = np.repeat(np.arange(pieces), each)
        self._cells = (which, np.tile(grid[:-1], pieces), np.tile(grid[1:], pieces))
        e = np.concatenate([np.repeat(np.arange(pieces), each + 1), which])
        xi = np.concatenate([np.tile(grid, pieces), np.tile(o.points, pieces)])
        self._looks = (e, xi), self.own_curve.functions(e, xi[None])[0].T
        first = np.repeat(np.arange(pieces) * (each + 1), each) + np.tile(np.arange(each), pieces)
        self._sides, self._every = (first, first + 1), np.arange(first.size)
        cell = np.arange(self.count).reshape(pieces, each)
        ends = np.concatenate([cell[:, :1], cell], axis=1).ravel()
        self._cell_of_look = np.concatenate([ends, cell.ravel()])

    # ------------------------------------------------------------ closest points

    def project(self, x: Floats, guess: Found | None) -> Cut:
        """Return the closest points of all, not only those next to a guess, and the segments.

        Where a partner is wavy, the nearest of two crests is the energy's, and a crest that was
        nearest once is not followed beyond that.
        """
        at, functions = self._looks
        place = np.einsum("ln,lnd->ld", functions, x[self.own.nodes[at[0]]])
        before = [] if guess is None else [guess.at(self._cell_of_look)]
        found = self._nearest_of_all(place, before, x, at)
        middles = np.arange(place.shape[0] - self.count, place.shape[0])
        made = Cut(*found.at(middles))
        made.segments, made.met, made.jumps = self._cut(x, place.T, found)
        return made

    def _nearest_of_all(
        self, place: Floats, guesses: list[Found], x: Floats, at: tuple[Ints, Floats]
    ) -> Found:
        """Return the closest points of places (p, d), which lie `at` elements and xi (p,)."""
        first, *more = self._starts(place, x, at)
        found = self._kept(self.nearest(place, first, x), place, x, at)
        for guess in (*more, *guesses):
            near = self._kept(self.nearest(place, guess, x), place, x, at)
            far = [k.lengths(place.T - self._there(one, x)) for one in (found, near)]
            told, other = (one.normal | self._corners(one) for one in (found, near))
            # the guess is kept unless another is nearer by more than rounding
            better = other & (~told | (far[1] <= far[0] * (1.0 + _NEARER)))
            for kept, new in zip(found, near, strict=True):
                kept[better] = new[better]
        return found

    def _there(self, found: Found, x: Floats) -> Floats:
        """Return the places (d, p) of closest points."""
        return np.asarray(self.partner_at(found.element, found.xi.T, x)[1][0])

    def _starts(self, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> list[Found]:
        """Return where closest points are searched from: on the two nearest crests.

        Crests are local minima of the distance among three places on each element.
        """
        xis, elements, functions = self._cloud
        cloud = self.curve.places(elements, functions, x)[0]
        starts = np.empty((2, place.shape[0]), dtype=np.int64)
        for begin in range(0, place.shape[0], _AT_ONCE):
            here = place[begin : begin + _AT_ONCE]
            far = (cloud[0] - here[:, :1]) ** 2 + (cloud[1] - here[:, 1:]) ** 2
            rises, low = far[:, 1:] > far[:, :-1], np.ones(far.shape, dtype=bool)
            low[:, 1:], row = ~rises, np.arange(here.shape[0])
            low[:, :-1] &= rises
            far = np.where(low, far, np.inf)
            first = np.argmin(far, axis=1)
            far[row, first] = np.inf
            second = np.argmin(far, axis=1)
            second = np.where(np.isfinite(far[row, second]), second, first)
            starts[:, begin : begin + here.shape[0]] = first, second
        normal, each = np.ones(place.shape[0], dtype=bool), xis.shape[1]
        return [Found(elements[i], xis[0][i % each][:, None].copy(), normal) for i in starts]

    def _kept(self, found: Found, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return closest points without those that are not admissible."""
        return found

    def _own_at(self, e: Ints, xi: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions and places of the own boundary, as `partner_at` does."""
        functions = np.empty((3, self.own.nodes.shape[1], e.size))
        places = np.empty((3, 2, e.size))
        points_kernel(1)(e, np.ascontiguousarray(xi[:, None]), *self._mine, x, functions, places)
        return functions, places

    @staticmethod
    def _corners(found: Found) -> Bools:
        """Return which points have a corner or an end of the partner as the nearest place."""
        return np.asarray(~found.normal & (np.abs(found.xi[:, 0]) == 1.0))

    # ------------------------------------------------------------ segments

    def _cut(self, x: Floats, place: Floats, found: Found) -> tuple[Segments, Met, Jumps | None]:
        """Return the segments of a state, what their points meet, and which end at jumps."""
        ends, (a, b) = Ends(self._other, self._ends, self._smooth, x), self._sides
        sides = found.at(a), found.at(b), np.stack([place[:, a], place[:, b]])
        whole = Parts(self._every, *self._cells, *sides)
        made, met, bad = self._between_marks(whole, ends, x)
        jumps: Jumps | None = None
        if bad.any():
            parts, before = self._at_jumps(whole.at(np.flatnonzero(bad)), x)
            halves, points, lost = self._between_marks(parts, ends, x)
            # all parts of a cell are divided, or none
            fails = np.isin(parts.cell, parts.cell[lost])
            made, met = _some(made, met, ~bad[made.cell])
            halves, points = _some(halves, points, ~fails[halves.cell])
            before = before[~fails[before]]
            if before.size:
                jumps = self._jumps(halves, parts, before, x, made.cell.size)
            halves = halves._replace(cell=parts.cell[halves.cell])
            bad[parts.cell[~fails]] = False
            made, met = _joined((made, met), (halves, points), self._lone(bad, found, x))
        return made._replace(share=self.part * made.share), met, jumps

    def _between_marks(self, parts: Parts, ends: Ends, x: Floats) -> tuple[Segments, Met, Bools]:
        """Return segments of parts of cells, numbered by these, and parts that fail."""
        (one, lost), (other, gone) = (
            stations(f.element, f.xi[:, 0], f.normal, self._smooth)
            for f in (parts.one, parts.other)
        )
        cells = parts.element, parts.low, parts.high
        way = passed(self._own_at, cells, (one, other), parts.places, ends, x)
        xis = np.concatenate([parts.one.xi, parts.other.xi], axis=1)
        made, bad = between(way, parts.element, xis, ends, _POINTS), way.bad | lost | gone
        met = self._on_pieces(made, x)
        away = ~met.meets | ((np.abs(met.xi) > 1.0 + _BEYOND) & ~met.corner)
        away = np.asarray(away.reshape(-1, _POINTS).any(axis=1))
        away |= self._nearer_elsewhere(met, x).reshape(-1, _POINTS).any(axis=1)
        away &= made.ends[:, 1] - made.ends[:, 0] > _SLIVER
        bad[made.cell[away]] = True
        return made, met, bad

    def _nearer_elsewhere(self, met: Met, x: Floats) -> Bools:
        """Return which points have a place of the search that is nearer than what they meet."""
        from scipy.spatial import cKDTree

        _, elements, functions = self._cloud
        cloud = self.curve.places(elements, functions, x)[0]
        near, _ = cKDTree(cloud.T).query(met.here[0].T)
        return np.asarray(near < k.lengths(met.here[0] - met.there[0]) * (1.0 - _NEARER))

    def _crests(self, e: Ints, s: Floats, both: Found, wide: Floats, x: Floats) -> Crests:
        """Return both local minima of the distance at xi (c,), searched from `both` (2 c,)."""
        _, here = self._own_at(e, s, x)
        place, at = np.tile(here[0], 2).T.copy(), (np.tile(e, 2), np.tile(s, 2))
        found = self._kept(self.nearest(place, both, x), place, x, at)
        there = self._there(found, x)
        one, other = np.split(0.5 * ((place.T - there) ** 2).sum(axis=0), 2)
        chord = there[:, s.size :] - there[:, : s.size]
        same = k.lengths(chord) <= _ONE * wide * k.lengths(here[1])
        valid = np.logical_and(*np.split(found.normal | self._corners(found), 2))
        return Crests(found, there, here[0], one - other, k.dot(chord, here[1]), same, valid)

    def _at_jumps(self, parts: Parts, x: Floats) -> tuple[Parts, Ints]:
        """Return cells divided where the projection jumps, and the numbers of parts before jumps.

        The part behind a jump comes next. A jump at the end of a cell leaves one part.

        Verified by: tests/unit/solids/contact/test_jumps.py::test_both_crests_are_as_near_at_jumps
        """
        e, a, b, both = parts.element, parts.low, parts.high, joined(parts.one, parts.other)
        wide, s, known = b - a, 0.5 * (a + b), self._there(both, x)
        for _ in range(_JUMP_STEPS):
            now = self._crests(e, s, both, wide, x)
            # where one crest has ended, the nearer of both ends decides
            far = ((now.there - known) ** 2).sum(axis=0)
            one_here = np.where(now.same, far[: s.size] <= far[s.size :], now.value < 0.0)
            apart = np.tile(~now.same, 2)
            known = np.where(apart, now.there, known)
            for row, new in zip(both, now.found, strict=True):
                row[apart] = new[apart]
            a, b = np.where(one_here, s, a), np.where(one_here, b, s)
            with np.errstate(all="ignore"):
                step = s - now.value / now.slope
            step = np.where((step >= a) & (step <= b) & ~now.same, step, 0.5 * (a + b))
            moved, s = np.abs(step - s), step
            if (moved <= _FOUND * wide).all():
                break
        now = self._crests(e, s, both, wide, x)
        there = now.valid & ~now.same & (now.slope > 0.0)
        at = np.flatnonzero(there & (np.abs(now.value) <= _OFF * wide * np.abs(now.slope)))
        whole, s, count = parts.at(at), s[at], at.size
        one, other = now.found.at(at), now.found.at(parts.cell.size + at)
        # a part without length is left out, and the rest is the whole
        short = np.stack([s - whole.low, whole.high - s], axis=1) <= _FACING * wide[at][:, None]
        place = now.place[:, at]
        halves = Parts(
            np.tile(whole.cell, 2),
            np.tile(whole.element, 2),
            np.concatenate([whole.low, np.where(short[:, 0], whole.low, s)]),
            np.concatenate([np.where(short[:, 1], whole.high, s), whole.high]),
            joined(whole.one, other),
            joined(one, whole.other),
            np.concatenate(
                [np.stack([whole.places[0], place]), np.stack([place, whole.places[1]])], axis=2
            ),
        )
        kept = ~short
        number = np.cumsum(kept.ravel()).reshape(-1, 2) - 1
        order = np.arange(2 * count).reshape(2, -1).T[kept]
        return halves.at(order), number[kept.all(axis=1), 0]

    def _points_of(self, made: Segments, x: Floats) -> tuple[Ints, Floats, Floats, Floats]:
        """Return pieces and xi of all points, and the own boundary there."""
        low, high = made.ends[:, :1], made.ends[:, 1:]
        e, s = np.repeat(made.element, made.at.shape[1]), (low + (high - low) * made.at).ravel()
        return e, s, *self._own_at(e, s, x)

    def _on_pieces(self, made: Segments, x: Floats, xi: Floats | None = None) -> Met:
        """Return what points meet on the pieces of their segments.

        Parameters
        ----------
        xi : (p,) of the partner, where it is known
        """
        each = made.at.shape[1]
        if xi is None:
            low, high = made.begin[:, :1], made.begin[:, 1:]
            xi = (low + (high - low) * made.at).ravel()
        slot = made.pieces[np.arange(made.cell.size), made.slot]
        at = self._points_of(made, x)
        return self._on_piece(np.repeat(slot, each), np.repeat(made.corner, each), xi, at, x)

    def _on_piece(
        self,
        element: Ints,
        corner: Floats,
        xi: Floats,
        at: tuple[Ints, Floats, Floats, Floats],
        x: Floats,
    ) -> Met:
        """Return what points of the own boundary meet on pieces, or at corners, from xi (p,)."""
        e, s, own, here = at
        held = corner != 0.0
        xi = np.where(held, corner, xi)
        size = np.inf
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                near, there = self.partner_at(element, xi[None], x)
                r = here[0] - there[0]
                metric = k.dot(there[1], there[1]) - k.dot(r, there[2])
                if size <= _FOUND:
                    break
                step = k.dot(r, there[1]) / metric
                step[held | ~np.isfinite(step)] = 0.0
                xi = np.minimum(3.0, np.maximum(-3.0, xi + step))
                size = float(np.abs(step).max(initial=0.0))
        fine = held | ((metric > 0.0) & (np.abs(step) <= _FOUND))
        return Met(e, s, own, here, element, xi, near, there, held, fine)

    def _jumps(self, made: Segments, parts: Parts, at: Ints, x: Floats, shift: int) -> Jumps:
        """Return jumps behind parts `at`, and what they meet on the elements of their segments.

        Parameters
        ----------
        made : segments of the parts
        shift : what the numbers of segments are counted from
        """
        before = np.searchsorted(made.cell, at, side="right") - 1
        both = np.concatenate([before, before + 1])
        found = joined(parts.other.at(at), parts.one.at(at + 1))
        element, corner = made.pieces[both, made.slot[both]], made.corner[both]
        # the end of a segment lies on its element, but for what was too short for one
        edge = np.concatenate([made.begin[before, 1], made.begin[before + 1, 0]])
        xi = np.where(found.element == element, found.xi[:, 0], edge)
        e, s = made.element[both], np.tile(parts.high[at], 2)
        met = self._on_piece(element, corner, xi, (e, s, *self._own_at(e, s, x)), x)
        return Jumps(before + shift, before + 1 + shift, met)

    def _lone(self, bad: Bools, found: Found, x: Floats) -> tuple[Segments, Met]:
        """Return segments of cells that are not cut, each point for itself."""
        cell = np.flatnonzero(bad)
        e, low, high = self._cells[0][cell], self._cells[1][cell], self._cells[2][cell]
        at = low[:, None] + (high - low)[:, None] * rule(_POINTS)[0]
        own = np.repeat(e, _POINTS), at.ravel()
        _, here = self._own_at(*own, x)
        guesses = [found.at(np.repeat(side[cell], _POINTS)) for side in self._sides]
        near = self._nearest_of_all(np.ascontiguousarray(here[0].T), guesses, x, own)
        held, shape = self._corners(near), (cell.size, _POINTS)
        xi = near.xi[:, 0]
        corner, last = np.where(held, xi, 0.0).reshape(shape), self._smooth.size - 2
        ends, pieces = np.stack([low, high], axis=1), near.element.reshape(shape)
        lone = alone(cell, e, ends, pieces, corner, self._wide, last)
        told = self._on_pieces(lone, x, np.repeat(xi, _POINTS))
        return lone, told._replace(meets=told.meets & np.repeat(near.normal | held, _POINTS))


def _some(made: Segments, met: Met, which: Bools) -> tuple[Segments, Met]:
    """Return some segments and their points."""
    points = np.repeat(which, _POINTS)
    return made.kept(which), Met._make(part[..., points] for part in met)


def _joined(*rows: tuple[Segments, Met]) -> tuple[Segments, Met]:
    """Return segments and their points, one after another."""
    made, met = zip(*rows, strict=True)
    one = Segments._make(np.concatenate(part) for part in zip(*made, strict=True))
    return one, Met._make(np.concatenate(part, axis=-1) for part in zip(*met, strict=True))
