"""Where cells of a boundary meet their partner, and how they are cut in a state.

Cells end up in segments whose points meet one piece or one corner of the partner each. They are cut
at marks, and where nearest points leap. What cannot be cut has points that look for themselves.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curve_kernels import points_kernel
from stiction.solids.contact.leaps import (
    Leaps,
    Leapt,
    Look,
    Stretches,
    every_leap,
    hidden,
    joined,
    parts_of,
    rivals,
)
from stiction.solids.contact.mark_forms import Leaping
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
from stiction.solids.contact.turns import turned

__all__ = ["Cut", "CutPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
# pieces, and xi of both ends
Cells = tuple[Ints, Floats, Floats]

# points on each segment: exact for cubics, which is what forces on splines weigh tractions with
_POINTS = 2
# steps to a nearest point on a piece, one after which it is found, as Newton's method squares the
# error, and how far beyond the piece it may lie
_STEPS, _FOUND, _BEYOND = 20, 1e-9, 1e-6
# segments too short, as a part of a piece, for their points to tell anything
_SLIVER = 1e-7
# how often ends of cells may take over what lies nearer to them, and how many in a row at first;
# four times as many each time
_TURNS, _AROUND = 8, 4
# how often parts of cells that cannot be cut are looked through for more leaps
_AGAIN = 4
# part by which one of two distances has to be smaller: rounding
_NEARER = 1e-12


class Cut(Found):
    """Nearest points of the middles of cells, and the segments of a state with their points.

    `leaping` are the segments that end where nearest points leap; None where none does.
    """

    segments: Segments
    met: Met
    leaping: Leaping | None


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
        # where pieces meet, places are looked from twice: at the end of one, the begin of the other
        after = o.neighbours[:, 1]
        met = np.flatnonzero(after >= 0)
        self._joints = met * (each + 1) + each, after[met] * (each + 1)
        begin, end = (np.flatnonzero(o.neighbours[:, i] < 0) for i in (0, 1))
        self._outer = np.concatenate([begin * (each + 1), end * (each + 1) + each])

    # ------------------------------------------------------------ nearest points

    def project(self, x: Floats, guess: Found | None) -> Cut:
        """Return the nearest points of all, not only those next to a guess, and the segments.

        Where a partner is wavy, the nearest of two crests is the energy's, and a crest that was
        nearest once is not followed beyond that.
        """
        at, functions = self._looks
        place = np.einsum("ln,lnd->ld", functions, x[self.own.nodes[at[0]]])
        before = [] if guess is None else [guess.at(self._cell_of_look)]
        found = self._nearest_of_all(place, before, x, at)
        middles = np.arange(place.shape[0] - self.count, place.shape[0])
        made = Cut(*found.at(middles))
        made.segments, made.met, made.leaping = self._cut(x, place.T, found)
        return made

    def _nearest_of_all(
        self, place: Floats, guesses: list[Found], x: Floats, at: tuple[Ints, Floats]
    ) -> Found:
        """Return the nearest points of places (p, d), which lie `at` pieces and xi (p,)."""
        found = self._kept(self.nearest(place, self._begin(place, x, at), x), place, x, at)
        for guess in guesses:
            near = self._kept(self.nearest(place, guess, x), place, x, at)
            far = [k.lengths(place.T - self._there(one, x)) for one in (found, near)]
            told, other = (one.normal | self._corners(one) for one in (found, near))
            # the guess is kept unless another is nearer by more than rounding
            better = other & (~told | (far[1] <= far[0] * (1.0 + _NEARER)))
            for kept, new in zip(found, near, strict=True):
                kept[better] = new[better]
        return found

    def _there(self, found: Found, x: Floats) -> Floats:
        """Return the places (d, p) of nearest points."""
        return np.asarray(self.partner_at(found.element, found.xi.T, x)[1][0])

    def _begin(self, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return where the nearest points are looked for first."""
        return self._search(place, x)

    def _from_outside(self, found: Found, cloud: Floats, place: Floats, x: Floats) -> None:
        """Look from both ends of the own boundary at all places that are nearer than those beside.

        The search begins at the nearest of some places, and beside a leap that may lie on the crest
        which is the farther one. Places that found the nearer one tell those beside them; where
        all on one side of a leap are wrong, there are none.
        """
        looks = self._outer
        if not looks.size:
            return
        xis, elements, _ = self._cloud
        here = np.ascontiguousarray(place[:, looks].T)
        far = np.sqrt(((cloud[:, None] - here.T[:, :, None]) ** 2).sum(axis=0))
        wide = np.concatenate(
            [np.full((looks.size, 1), np.inf), far, np.full((looks.size, 1), np.inf)], axis=1
        )
        low = (far <= wide[:, :-2]) & (far < wide[:, 2:])
        steps = np.sqrt(((cloud[:, 1:] - cloud[:, :-1]) ** 2).sum(axis=0))
        low &= far < far.min(axis=1)[:, None] + steps.max()
        which, at = np.nonzero(low)
        if which.size <= looks.size:
            return
        each = xis.shape[1]
        guess = Found(elements[at], xis[0][at % each][:, None].copy(), np.ones(at.size, dtype=bool))
        self._take(found, looks[which], guess, place, x)

    def _kept(self, found: Found, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return nearest points without those that a place may not meet."""
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

    def _cut(self, x: Floats, place: Floats, found: Found) -> tuple[Segments, Met, Leaping | None]:
        """Return the segments of a state, what their points meet, and which end at leaps."""
        ends, (a, b) = Ends(self._other, self._ends, self._smooth, x), self._sides
        leaping: Leaping | None = None
        cloud = self._cloud_at(x)
        look = Look(
            self._own_at,
            self.partner_at,
            lambda p, g: self.nearest(p, g, x),
            lambda g: self._there(g, x),
            functools.partial(self._others, cloud),
            x,
        )
        self._from_outside(found, cloud, place, x)
        for turn in range(_TURNS):
            stood, lost = self._stations(found)
            if self._joints_differ(found, stood, lost, x):
                stood, lost = self._stations(found)
            whole = self._stretches(self._every, found)
            made, met, bad = self._between_marks(
                look, whole, (stood[a], stood[b]), (place[:, a], place[:, b]), ends
            )
            bad[lost[a] | lost[b]] = True
            jumps, both = None, np.flatnonzero(bad & ~lost[a] & ~lost[b])
            parts = self._stretches(both, found)
            if not both.size:
                break
            jumps = parts.leaps(look)
            if not self._taken_over(found, parts.cell, jumps, place, x, _AROUND << 2 * turn):
                break
        also = self._hidden(look, ~bad, found, place)
        cut = None
        if parts.cell.size or also.cell.size:
            every = every_leap(look, parts, jumps or parts.leaps(look), also)
            cut = self._at_leaps(look, every, place, found, ends)
        if bad.any() or cut is not None:
            again = bad.copy()
            if cut is not None:
                again[cut[3]], bad[cut[3]] = True, False
            kept = ~again[made.cell]
            points = np.repeat(kept, _POINTS)
            segments, mets = [made.kept(kept)], [Met._make(part[..., points] for part in met)]
            if cut is not None:
                before = segments[0].cell.size
                segments.append(cut[0])
                mets.append(cut[1])
                if cut[2] is not None:
                    leaping = cut[2]._replace(one=cut[2].one + before, other=cut[2].other + before)
            if bad.any():
                lone, told = self._lone(bad, found, x)
                segments.append(lone)
                mets.append(told)
            made = Segments._make(np.concatenate(rows) for rows in zip(*segments, strict=True))
            met = Met._make(np.concatenate(rows, axis=-1) for rows in zip(*mets, strict=True))
        return made._replace(share=self.part * made.share), met, leaping

    def _stretches(self, cell: Ints, found: Found) -> Stretches:
        """Return cells with what is nearest at their ends."""
        e, low, high = self._cells
        one, other = (found.at(side[cell]) for side in self._sides)
        return Stretches(cell, e[cell], low[cell], high[cell], one, other)

    def _cloud_at(self, x: Floats) -> Floats:
        _, elements, functions = self._cloud
        return np.asarray(self.curve.places(elements, functions, x)[0])

    def _others(
        self, cloud: Floats, place: Floats, known: list[Found], reach: Floats
    ) -> tuple[Found, Ints]:
        """Return guesses on other crests than known ones, about as near, and for which places."""
        xis, elements, _ = self._cloud
        each = xis.shape[1]
        numbers = [each * (f.element + 0.5 * (1.0 + f.xi[:, 0])) - 0.5 for f in known]
        at, which = rivals(cloud, place, numbers, reach)
        xi = xis[0][at % each][:, None].copy()
        return Found(elements[at], xi, np.ones(at.size, dtype=bool)), which

    def _hidden(self, look: Look, cells: Bools, found: Found, place: Floats) -> Stretches:
        """Return both parts of cells between whose ends another crest is nearer than theirs."""
        (a, b), count = self._sides, self.count
        long = k.lengths(place[:, b] - place[:, a])
        reach = np.zeros(place.shape[1] - count)
        np.maximum.at(reach, a, 2.0 * long)
        np.maximum.at(reach, b, 2.0 * long)
        ends = np.arange(reach.size)
        guess, which = look.others(np.ascontiguousarray(place[:, ends].T), [found.at(ends)], reach)
        if not which.size:
            return self._stretches(which, found)
        row = np.full(reach.size, -1)
        row[which] = np.arange(which.size)
        one, other = row[a], row[b]
        differ = np.abs(guess.element[one] - guess.element[other]) > 1
        first = np.flatnonzero(cells & (one >= 0))
        last = np.flatnonzero(cells & (other >= 0) & ((one < 0) | differ))
        tried = self._stretches(np.concatenate([first, last]), found)
        parts, there, s = hidden(look, tried, guess.at(np.concatenate([one[first], other[last]])))
        _, once = np.unique(parts.cell, return_index=True)
        return parts.at(once).divided(s[once], there.at(once))

    def _stations(self, found: Found) -> tuple[Ints, Bools]:
        return stations(found.element, found.xi[:, 0], found.normal, self._smooth)

    def _joints_differ(self, found: Found, stood: Ints, lost: Bools, x: Floats) -> bool:
        """Take the nearer of two places that were found from one, and tell whether it mattered."""
        one, other = self._joints
        at = np.flatnonzero((np.abs(stood[one] - stood[other]) > 2) & ~lost[one] & ~lost[other])
        if not at.size:
            return False
        one, other = one[at], other[at]
        _, here = self._own_at(*self._at(one), x)
        far = [k.lengths(here[0] - self._there(found.at(row), x)) for row in (one, other)]
        changed = np.abs(far[0] - far[1]) > _NEARER * far[0]
        nearer = np.where(far[0] < far[1], one, other)[changed]
        for row in found:
            row[one[changed]] = row[nearer]
            row[other[changed]] = row[nearer]
        return bool(changed.any())

    def _taken_over(
        self, found: Found, cell: Ints, jumps: Leapt, place: Floats, x: Floats, many: int
    ) -> bool:
        """Let ends of cells have the places that other ends found, where these are nearer.

        The search begins at the nearest of some places of the partner: beside a leap that may lie
        on the crest which is the farther one.

        Parameters
        ----------
        many : cells in a row that are tried
        """
        changed = False
        for which, near, end, way in (
            (jumps.first, jumps.of_first, self._sides[0], -1),
            (jumps.last, jumps.of_last, self._sides[1], 1),
        ):
            if not which.any():
                continue
            along = cell[which][:, None] + way * np.arange(many)
            inside = (along >= 0) & (along < self.count)
            looks = end[np.clip(along, 0, self.count - 1)]
            guess = near.at(np.repeat(np.flatnonzero(which), many))
            guess = guess.at(np.flatnonzero(inside.ravel()))
            changed |= self._take(found, looks[inside], guess, place, x)
        return changed

    def _take(self, found: Found, looks: Ints, guess: Found, place: Floats, x: Floats) -> bool:
        """Let places have what lies nearer from a guess, and return whether there was such."""
        here = np.ascontiguousarray(place[:, looks].T)
        other = self._kept(self.nearest(here, guess, x), here, x, self._at(looks))
        far = [k.lengths(here.T - self._there(f, x)) for f in (found.at(looks), other)]
        nearer = (other.normal | self._corners(other)) & (far[1] < far[0] * (1.0 - _NEARER))
        # of several for one place the nearest comes last
        order = np.argsort(-far[1], kind="stable")
        order = order[nearer[order]]
        for row, new in zip(found, other, strict=True):
            row[looks[order]] = new[order]
        return bool(nearer.any())

    def _at(self, looks: Ints) -> tuple[Ints, Floats]:
        return self._looks[0][0][looks], self._looks[0][1][looks]

    def _between_marks(
        self,
        look: Look,
        parts: Stretches,
        stood: tuple[Ints, Ints],
        places: tuple[Floats, Floats],
        ends: Ends,
    ) -> tuple[Segments, Met, Bools]:
        """Return segments of parts of cells, numbered by these, and parts that fail.

        Parameters
        ----------
        parts, stood, places : with stations and places of both ends
        """
        on_pieces = (stood[0] % 2 == 1) & (stood[1] % 2 == 1)
        turns = turned(look, parts, places, on_pieces)
        if turns is not None:
            parts, places = turns.whole, turns.sides
            stood = self._stations(parts.one)[0], self._stations(parts.other)[0]
        way = passed(self._own_at, parts.cells(), stood, places, ends, look.x)
        xis = np.concatenate([parts.one.xi, parts.other.xi], axis=1)
        made, bad = between(way, parts.element, xis, ends, _POINTS), way.bad.copy()
        if turns is not None:
            made = turns.marked(made)
        met = self._on_pieces(made, look.x)
        away = ~met.meets | ((np.abs(met.xi) > 1.0 + _BEYOND) & ~met.corner)
        away = np.asarray(away.reshape(-1, made.at.shape[1]).any(axis=1))
        away &= made.ends[:, 1] - made.ends[:, 0] > _SLIVER
        bad[made.cell[away]] = True
        if turns is None:
            return made, met, bad
        return made._replace(cell=turns.of[made.cell]), met, turns.whole_of(bad)

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

    def _at_leaps(
        self, look: Look, every: tuple[Leaps, Ints], place: Floats, found: Found, ends: Ends
    ) -> tuple[Segments, Met, Leaping | None, Ints] | None:
        """Return segments of cells that are cut at leaps and at marks, and these cells.

        A part that cannot be cut at marks has a leap too: from its begin another crest was
        followed than that which is nearest there.

        Parameters
        ----------
        every : the leaps, and cells in which some were not found
        """
        jumps, missed = every
        if not jumps.cell.size:
            return None
        for turn in range(_AGAIN):
            missed = np.union1d(missed, self._astray(jumps, look.x))
            parts = parts_of(jumps, self._cells, place, found, self._sides)
            whole = parts.whole
            told = [self._stations(f) for f in (whole.one, whole.other)]
            stood = told[0][0], told[1][0]
            made, met, bad = self._between_marks(look, whole, stood, parts.sides, ends)
            bad |= told[0][1] | told[1][1]
            wrong = np.flatnonzero(bad & ~np.isin(whole.cell, missed))
            if not wrong.size:
                break
            if turn == _AGAIN - 1:
                missed = np.union1d(missed, whole.cell[wrong])
                break
            again = whole.at(wrong)
            more, lost = every_leap(look, again, again.leaps(look), again.at(wrong[:0]))
            missed = np.union1d(missed, lost)
            missed = np.union1d(missed, np.setdiff1d(again.cell, more.cell))
            jumps = jumps.and_also(more)
        cells = np.setdiff1d(whole.cell, missed)
        if not cells.size:
            return None
        kept = np.isin(whole.cell[made.cell], cells)
        points = np.repeat(kept, _POINTS)
        made, met = made.kept(kept), Met._make(part[..., points] for part in met)
        number = made.cell
        made = made._replace(cell=whole.cell[number])
        # the last segment before a leap and the first behind it
        which = np.flatnonzero(parts.there & np.isin(jumps.cell, cells))
        leaping: Leaping | None = None
        if which.size:
            before = np.searchsorted(number, parts.before[which], side="right") - 1
            behind = np.searchsorted(number, parts.behind[which], side="left")
            met_by = jumps.one.at(which), jumps.other.at(which)
            leaping = self._leaping(made, before, behind, jumps.s[which], met_by, look.x)
        return made, met, leaping, cells

    def _astray(self, jumps: Leaps, x: Floats) -> Ints:
        """Return cells with leaps to or from what their places may not meet."""
        e, place = self._cells[0][jumps.cell], np.ascontiguousarray(jumps.place.T)
        lost = np.zeros(jumps.cell.size, dtype=bool)
        for side in (jumps.one, jumps.other):
            kept = self._kept(side, place, x, (e, jumps.s))
            lost |= ~(kept.normal | self._corners(kept))
        return jumps.cell[lost]

    def _leaping(
        self,
        made: Segments,
        before: Ints,
        behind: Ints,
        s: Floats,
        both: tuple[Found, Found],
        x: Floats,
    ) -> Leaping:
        """Return what leaps meet on the pieces of their segments."""
        at = np.concatenate([before, behind])
        found = joined(*both)
        element, corner = made.pieces[at, made.slot[at]], made.corner[at]
        # the end of a segment lies on its piece, but for what was too short for one
        edge = np.concatenate([made.begin[before, 1], made.begin[behind, 0]])
        xi = np.where(found.element == element, found.xi[:, 0], edge)
        e, s = made.element[at], np.tile(s, 2)
        met = self._on_piece(element, corner, xi, (e, s, *self._own_at(e, s, x)), x)
        return Leaping(before, behind, met)

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
