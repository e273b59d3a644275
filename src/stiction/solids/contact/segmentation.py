"""Closest-point projection of a contact boundary in a state, and its mortar segments.

The boundary is divided into integration cells, and these into segments. Each segment projects onto
one element or one corner of the partner. A cell is divided at breakpoints, whose closest points are
ends of the partner's elements (see `segments`), and at no more than one jump of the closest-point
projection. The projection of the point X(s) jumps where two local minima c_1 and c_2 of its
distance to the partner are equally near: at the root s of

    G(s) = |X(s) - c_1|^2 / 2 - |X(s) - c_2|^2 / 2 = 0,    dG / ds = (c_2 - c_1) . X'.

c_1 is followed from the lower end of the cell, c_2 from the upper one. At both the distance is
stationary, so their dependence on s does not enter dG / ds. The integration points of a cell that
cannot be divided in this way are projected one by one.

`SegmentedPass.project` returns the `Segmentation` of a state: closest points of cell ends and
centres first, then division at breakpoints, then, in cells where this fails, at a jump. It is the
base of `virtual_work.MortarPass`. Coordinates s on the own boundary and xi on the partner are those
of an element, from -1 to 1.
Source: Puso and Laursen 2004 for mortar segments; jumps are derived here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.breakpoint_variations import Jumps
from stiction.solids.contact.curve_kernels import points_kernel
from stiction.solids.contact.model import ClosestPoints, Contact, ContactPass
from stiction.solids.contact.segment_variations import ContactPairs
from stiction.solids.contact.segments import (
    ElementEnds,
    Segments,
    closest_features,
    feature_sequence,
    gauss_rule,
    integration_cells,
    segments_of_cells,
    single_points,
    smooth_joints,
)
from stiction.solids.dimensions import dot

__all__ = ["Segmentation", "SegmentedPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Gauss points of each segment: exact for cubic polynomials, the degree of a Hermite spline
_POINTS = 2
# most steps of Newton's method for a closest point on an element; the change of xi at which it has
# converged: convergence is quadratic, so that the error is about its square, 1e-18; and how far
# beyond the ends of the element it may lie. Chosen
_STEPS, _CONVERGED, _OVERHANG = 20, 1e-9, 1e-6
# length in xi of segments too short to be checked: rounding decides where their points project
_SLIVER = 1e-7
# most steps to a jump of the projection; fractions of a cell within which two closest points are
# one, and within which both distances at a jump agree. Chosen; 60 halvings reach rounding
_JUMP_STEPS, _SAME_POINT, _SAME_DISTANCE = 60, 1e-6, 1e-8
# fraction of a cell within which a jump coincides with an end of the cell
_OPPOSITE_ENDS = 1e-9
# points whose distances to all samples of the partner are computed at once
_CHUNK = 512
# two distances with a smaller relative difference count as equal: rounding
_CLOSER = 1e-12


class Segmentation(ClosestPoints):
    """Closest points of the centres of cells, and the mortar segments of a state.

    `pairs` are the integration points of the segments with their closest points. `jumps` are the
    pairs of segments that meet where the projection jumps; None if it jumps nowhere.
    """

    segments: Segments
    pairs: ContactPairs
    jumps: Jumps | None


class CellParts(NamedTuple):
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
    one: ClosestPoints
    other: ClosestPoints
    places: Floats

    def at(self, which: Ints) -> CellParts:
        """Return the selected parts."""
        arrays = (v[which] for v in self[:4])
        ends = self.one.at(which), self.other.at(which)
        return CellParts._make([*arrays, *ends, self.places[:, :, which]])


def concatenated(one: ClosestPoints, other: ClosestPoints) -> ClosestPoints:
    """Return two sets of closest points as one."""
    return ClosestPoints._make(np.concatenate(pair) for pair in zip(one, other, strict=True))


class LocalMinima(NamedTuple):
    """Two local minima of the distance from one point in each cell to the partner.

    Parameters
    ----------
    closest : (2 c,) both minima: first those that continue from the lower ends of cells
    closest_places, place : (d, 2 c) of the minima, and (d, c) of the points
    value, slope : (c,) G and dG / ds
    same, valid : (c,) whether both minima are one point, and whether both exist
    """

    closest: ClosestPoints
    closest_places: Floats
    place: Floats
    value: Floats
    slope: Floats
    same: Bools
    valid: Bools


class SegmentedPass(ContactPass):
    """One pass over one boundary, in mortar segments.

    Parameters
    ----------
    contact : laws and options of this contact pair
    own, partner : the boundaries, in the global numbering
    points : (nodes, d) reference positions of all nodes

    Verified by: tests/unit/solids/contact/test_segments.py::test_breakpoints_are_opposite_to_ends
    """

    # weight of this pass in the energy: 1/2 if both sides of a pair are integrated over
    weight_factor = 1.0

    def __init__(self, contact: Contact, own: Surface, partner: Surface, points: Floats) -> None:
        super().__init__(contact, integration_cells(own, points), partner, points)
        self.is_half_pass, self.energy_fraction, self.mortar = False, 1.0, True
        self._partner_surface, self._smooth_joints = partner, smooth_joints(partner)
        numbers = np.arange(partner.nodes.shape[0])
        sides = [
            self.curve.functions(numbers, np.full((1, numbers.size), xi)) for xi in (-1.0, 1.0)
        ]
        self._end_functions = np.stack(sides)
        self._slots = 1 if self._smooth_joints[1:-1].all() else 3
        degrees = np.array(self.own_curve.degrees, dtype=np.int64)
        o = self.own
        self._own_arrays = (o.nodes, o.extraction, o.weights, o.neighbours, degrees)
        # closest points are searched from the ends of cells, then from their centres
        count, per_element = o.areas.shape
        grid = np.linspace(-1.0, 1.0, per_element + 1)
        which = np.repeat(np.arange(count), per_element)
        self._cells = (which, np.tile(grid[:-1], count), np.tile(grid[1:], count))
        e = np.concatenate([np.repeat(np.arange(count), per_element + 1), which])
        xi = np.concatenate([np.tile(grid, count), np.tile(o.points, count)])
        self._search_points = (e, xi), self.own_curve.functions(e, xi[None])[0].T
        first = np.repeat(np.arange(count) * (per_element + 1), per_element) + np.tile(
            np.arange(per_element), count
        )
        self._cell_ends, self._all_cells = (first, first + 1), np.arange(first.size)
        cell = np.arange(self.count).reshape(count, per_element)
        ends = np.concatenate([cell[:, :1], cell], axis=1).ravel()
        self._cell_of_search_point = np.concatenate([ends, cell.ravel()])

    # ------------------------------------------------------------ closest points

    def project(self, x: Floats, guess: ClosestPoints | None) -> Segmentation:
        """Return the nearest minima of the distance, not only those next to a guess, and segments.

        The distance to a wavy partner has several local minima. The contact energy is defined by
        the global one, so the projection jumps as soon as another minimum is nearer. The minima are
        searched from samples of the partner (`_initial_guesses`): one that is narrower than their
        spacing may be missed.
        """
        # closest points of the ends of cells, then of their centres, (p,) behind them
        at, functions = self._search_points
        place = np.einsum("ln,lnd->ld", functions, x[self.own.nodes[at[0]]])
        before = [] if guess is None else [guess.at(self._cell_of_search_point)]
        closest = self._closest_of_all(place, before, x, at)
        middles = np.arange(place.shape[0] - self.count, place.shape[0])
        segmentation = Segmentation(*closest.at(middles))
        segmentation.segments, segmentation.pairs, segmentation.jumps = self._segment(
            x, place.T, closest
        )
        return segmentation

    def _closest_of_all(
        self, place: Floats, guesses: list[ClosestPoints], x: Floats, at: tuple[Ints, Floats]
    ) -> ClosestPoints:
        """Return the nearest minima found for positions (p, d), at own elements and xi (p,).

        `guesses` are closest points from which further projections start, x positions (nodes, d).
        """
        first, *more = self._initial_guesses(place, x, at)
        closest = self._admissible(self.closest_from(place, first, x), place, x, at)
        for guess in (*more, *guesses):
            candidate = self._admissible(self.closest_from(place, guess, x), place, x, at)
            distance = [
                k.lengths(place.T - self._closest_places(one, x)) for one in (closest, candidate)
            ]
            valid, candidate_valid = (
                one.normal | self._at_corners(one) for one in (closest, candidate)
            )
            # if both are equally near within rounding, the one from the guess is taken
            better = candidate_valid & (~valid | (distance[1] <= distance[0] * (1.0 + _CLOSER)))
            for values, new in zip(closest, candidate, strict=True):
                values[better] = new[better]
        return closest

    def _closest_places(self, closest: ClosestPoints, x: Floats) -> Floats:
        """Return the positions (d, p) of closest points."""
        return np.asarray(self.partner_at(closest.element, closest.xi.T, x)[1][0])

    def _initial_guesses(
        self, place: Floats, x: Floats, at: tuple[Ints, Floats]
    ) -> list[ClosestPoints]:
        """Return where projections start: at the two nearest local minima of a sampled distance.

        The partner is sampled at three points on each element.
        """
        xis, elements, functions = self._samples
        cloud = self.curve.places(elements, functions, x)[0]
        starts = np.empty((2, place.shape[0]), dtype=np.int64)
        for begin in range(0, place.shape[0], _CHUNK):
            chunk = place[begin : begin + _CHUNK]
            distance = (cloud[0] - chunk[:, :1]) ** 2 + (cloud[1] - chunk[:, 1:]) ** 2
            rises, low = distance[:, 1:] > distance[:, :-1], np.ones(distance.shape, dtype=bool)
            low[:, 1:], row = ~rises, np.arange(chunk.shape[0])
            low[:, :-1] &= rises
            distance = np.where(low, distance, np.inf)
            first = np.argmin(distance, axis=1)
            distance[row, first] = np.inf
            second = np.argmin(distance, axis=1)
            second = np.where(np.isfinite(distance[row, second]), second, first)
            starts[:, begin : begin + chunk.shape[0]] = first, second
        normal, each = np.ones(place.shape[0], dtype=bool), xis.shape[1]
        return [
            ClosestPoints(elements[i], xis[0][i % each][:, None].copy(), normal) for i in starts
        ]

    def _admissible(
        self, closest: ClosestPoints, place: Floats, x: Floats, at: tuple[Ints, Floats]
    ) -> ClosestPoints:
        """Return the admissible ones of these closest points; here all are (see `self_contact`)."""
        return closest

    def _own_at(self, e: Ints, xi: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions and positions of the own boundary, as `partner_at` does."""
        functions = np.empty((3, self.own.nodes.shape[1], e.size))
        places = np.empty((3, 2, e.size))
        points_kernel(1)(
            e, np.ascontiguousarray(xi[:, None]), *self._own_arrays, x, functions, places
        )
        return functions, places

    @staticmethod
    def _at_corners(closest: ClosestPoints) -> Bools:
        """Return which points have a corner or an end of the partner as their closest point."""
        return np.asarray(~closest.normal & (np.abs(closest.xi[:, 0]) == 1.0))

    # ------------------------------------------------------------ segments

    def _segment(
        self, x: Floats, place: Floats, closest: ClosestPoints
    ) -> tuple[Segments, ContactPairs, Jumps | None]:
        """Return the segments of a state, their contact pairs, and the segments at jumps."""
        # all cells are divided at breakpoints; those for which this is not valid are then divided
        # at a jump, and their parts at breakpoints
        ends = ElementEnds(self._partner_surface, self._end_functions, self._smooth_joints, x)
        a, b = self._cell_ends
        sides = closest.at(a), closest.at(b), np.stack([place[:, a], place[:, b]])
        whole = CellParts(self._all_cells, *self._cells, *sides)
        segments, pairs, invalid = self._split_at_breakpoints(whole, ends, x)
        jumps: Jumps | None = None
        if invalid.any():
            parts, before = self._split_at_jumps(whole.at(np.flatnonzero(invalid)), x)
            part_segments, part_pairs, missing = self._split_at_breakpoints(parts, ends, x)
            # either all parts of a cell are divided, or none
            failed = np.isin(parts.cell, parts.cell[missing])
            segments, pairs = _selected(segments, pairs, ~invalid[segments.cell])
            part_segments, part_pairs = _selected(
                part_segments, part_pairs, ~failed[part_segments.cell]
            )
            before = before[~failed[before]]
            if before.size:
                jumps = self._jumps(part_segments, parts, before, x, segments.cell.size)
            part_segments = part_segments._replace(cell=parts.cell[part_segments.cell])
            invalid[parts.cell[~failed]] = False
            segments, pairs = _concatenated_segments(
                (segments, pairs),
                (part_segments, part_pairs),
                self._unsegmented(invalid, closest, x),
            )
        return segments._replace(weights=self.weight_factor * segments.weights), pairs, jumps

    def _split_at_breakpoints(
        self, parts: CellParts, ends: ElementEnds, x: Floats
    ) -> tuple[Segments, ContactPairs, Bools]:
        """Return segments of parts of cells, numbered by part, and which parts fail."""
        (one, missing), (other, other_missing) = (
            closest_features(f.element, f.xi[:, 0], f.normal, self._smooth_joints)
            for f in (parts.one, parts.other)
        )
        cells = parts.element, parts.low, parts.high
        sequence = feature_sequence(self._own_at, cells, (one, other), parts.places, ends, x)
        xis = np.concatenate([parts.one.xi, parts.other.xi], axis=1)
        segments = segments_of_cells(sequence, parts.element, xis, ends, _POINTS)
        # valid segments have their closest points on their own element, and no nearer point
        invalid = sequence.invalid | missing | other_missing
        pairs = self._on_elements(segments, x)
        fails = ~pairs.has_closest | ((np.abs(pairs.xi) > 1.0 + _OVERHANG) & ~pairs.corner)
        fails = np.asarray(fails.reshape(-1, _POINTS).any(axis=1))
        fails |= self._closer_elsewhere(pairs, x).reshape(-1, _POINTS).any(axis=1)
        fails &= segments.ends[:, 1] - segments.ends[:, 0] > _SLIVER
        invalid[segments.cell[fails]] = True
        return segments, pairs, invalid

    def _closer_elsewhere(self, pairs: ContactPairs, x: Floats) -> Bools:
        """Return for which pairs a sample of the partner is nearer than the closest point."""
        from scipy.spatial import cKDTree

        _, elements, functions = self._samples
        cloud = self.curve.places(elements, functions, x)[0]
        distance, _ = cKDTree(cloud.T).query(pairs.own_places[0].T)
        return np.asarray(
            distance < k.lengths(pairs.own_places[0] - pairs.partner_places[0]) * (1.0 - _CLOSER)
        )

    def _local_minima(
        self, e: Ints, s: Floats, both: ClosestPoints, width: Floats, x: Floats
    ) -> LocalMinima:
        """Return both local minima of the distance at xi (c,), searched from `both` (2 c,).

        `e` and `s` (c,) are own elements and xi, `width` (c,) the lengths of cells in xi.
        """
        _, here = self._own_at(e, s, x)
        place, at = np.tile(here[0], 2).T.copy(), (np.tile(e, 2), np.tile(s, 2))
        closest = self._admissible(self.closest_from(place, both, x), place, x, at)
        closest_places = self._closest_places(closest, x)
        one, other = np.split(0.5 * ((place.T - closest_places) ** 2).sum(axis=0), 2)
        chord = closest_places[:, s.size :] - closest_places[:, : s.size]
        same = k.lengths(chord) <= _SAME_POINT * width * k.lengths(here[1])
        valid = np.logical_and(*np.split(closest.normal | self._at_corners(closest), 2))
        return LocalMinima(
            closest, closest_places, here[0], one - other, dot(chord, here[1]), same, valid
        )

    def _split_at_jumps(self, parts: CellParts, x: Floats) -> tuple[CellParts, Ints]:
        """Return cells divided where the projection jumps, and the numbers of parts before jumps.

        The part behind a jump comes next. A jump at the end of a cell leaves one part. The root s
        of G is found by Newton's method with bisection as a safeguard.

        Verified by: tests/unit/solids/contact/test_jumps.py::test_both_minima_are_equal_at_jumps
        """
        e, a, b, minima = parts.element, parts.low, parts.high, concatenated(parts.one, parts.other)
        width, s, closest_places = b - a, 0.5 * (a + b), self._closest_places(minima, x)
        for _ in range(_JUMP_STEPS):
            now = self._local_minima(e, s, minima, width, x)
            # where one local minimum has ended, both searches find the other one: the one that
            # moved less has found its own
            moved = ((now.closest_places - closest_places) ** 2).sum(axis=0)
            first_is_closer = np.where(
                now.same, moved[: s.size] <= moved[s.size :], now.value < 0.0
            )
            distinct = np.tile(~now.same, 2)
            closest_places = np.where(distinct, now.closest_places, closest_places)
            for row, new in zip(minima, now.closest, strict=True):
                row[distinct] = new[distinct]
            # Newton's step for G = 0 inside the bracket [a, b], else bisection
            a, b = np.where(first_is_closer, s, a), np.where(first_is_closer, b, s)
            with np.errstate(all="ignore"):
                step = s - now.value / now.slope
            step = np.where((step >= a) & (step <= b) & ~now.same, step, 0.5 * (a + b))
            change, s = np.abs(step - s), step
            if (change <= _CONVERGED * width).all():
                break
        now = self._local_minima(e, s, minima, width, x)
        # both parts of each cell: from its lower end to the jump, and from there to its upper end
        is_jump = now.valid & ~now.same & (now.slope > 0.0)
        at = np.flatnonzero(
            is_jump & (np.abs(now.value) <= _SAME_DISTANCE * width * np.abs(now.slope))
        )
        whole, s, count = parts.at(at), s[at], at.size
        one, other = now.closest.at(at), now.closest.at(parts.cell.size + at)
        # at an end of the cell one part has no length: it is omitted, the other is the whole cell
        short = (
            np.stack([s - whole.low, whole.high - s], axis=1) <= _OPPOSITE_ENDS * width[at][:, None]
        )
        place = now.place[:, at]
        halves = CellParts(
            np.tile(whole.cell, 2),
            np.tile(whole.element, 2),
            np.concatenate([whole.low, np.where(short[:, 0], whole.low, s)]),
            np.concatenate([np.where(short[:, 1], whole.high, s), whole.high]),
            concatenated(whole.one, other),
            concatenated(one, whole.other),
            np.concatenate(
                [np.stack([whole.places[0], place]), np.stack([place, whole.places[1]])], axis=2
            ),
        )
        long_enough = ~short
        number = np.cumsum(long_enough.ravel()).reshape(-1, 2) - 1
        order = np.arange(2 * count).reshape(2, -1).T[long_enough]
        return halves.at(order), number[long_enough.all(axis=1), 0]

    def _points_of(self, segments: Segments, x: Floats) -> tuple[Ints, Floats, Floats, Floats]:
        """Return own elements and xi of all integration points, and functions and places there."""
        low, high = segments.ends[:, :1], segments.ends[:, 1:]
        e = np.repeat(segments.element, segments.at.shape[1])
        s = (low + (high - low) * segments.at).ravel()
        return e, s, *self._own_at(e, s, x)

    def _on_elements(self, segments: Segments, x: Floats, xi: Floats | None = None) -> ContactPairs:
        """Return the contact pairs of segments: closest points on the elements of their slots.

        Parameters
        ----------
        xi : (p,) first guesses; None interpolates between the ends of each segment
        """
        each = segments.at.shape[1]
        if xi is None:
            low, high = segments.xi_guess[:, :1], segments.xi_guess[:, 1:]
            xi = (low + (high - low) * segments.at).ravel()
        element = segments.partner_elements[np.arange(segments.cell.size), segments.slot]
        at = self._points_of(segments, x)
        return self._on_element(
            np.repeat(element, each), np.repeat(segments.corner, each), xi, at, x
        )

    def _on_element(
        self,
        element: Ints,
        corner: Floats,
        xi: Floats,
        at: tuple[Ints, Floats, Floats, Floats],
        x: Floats,
    ) -> ContactPairs:
        """Return closest points on given elements of the partner, or at corners, from xi (p,).

        Newton's method on (x_k - x(xi)) . x_,xi = 0, beyond the ends of elements as well.
        """
        e, s, own, here = at
        at_corner = corner != 0.0
        xi = np.where(at_corner, corner, xi)
        size = np.inf
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                partner_functions, partner_places = self.partner_at(element, xi[None], x)
                r = here[0] - partner_places[0]
                metric = dot(partner_places[1], partner_places[1]) - dot(r, partner_places[2])
                if size <= _CONVERGED:
                    break
                step = dot(r, partner_places[1]) / metric
                step[at_corner | ~np.isfinite(step)] = 0.0
                xi = np.minimum(3.0, np.maximum(-3.0, xi + step))
                size = float(np.abs(step).max(initial=0.0))
        valid = at_corner | ((metric > 0.0) & (np.abs(step) <= _CONVERGED))
        return ContactPairs(
            e, s, own, here, element, xi, partner_functions, partner_places, at_corner, valid
        )

    def _jumps(
        self, segments: Segments, parts: CellParts, at: Ints, x: Floats, shift: int
    ) -> Jumps:
        """Return the jumps behind parts `at`, with both closest points.

        Parameters
        ----------
        segments : of the parts
        shift : added to the numbers of segments
        """
        before = np.searchsorted(segments.cell, at, side="right") - 1
        both = np.concatenate([before, before + 1])
        closest = concatenated(parts.other.at(at), parts.one.at(at + 1))
        element = segments.partner_elements[both, segments.slot[both]]
        corner = segments.corner[both]
        # the closest point lies on the element of its segment, unless a sliver was omitted
        edge = np.concatenate([segments.xi_guess[before, 1], segments.xi_guess[before + 1, 0]])
        xi = np.where(closest.element == element, closest.xi[:, 0], edge)
        e, s = segments.element[both], np.tile(parts.high[at], 2)
        pairs = self._on_element(element, corner, xi, (e, s, *self._own_at(e, s, x)), x)
        return Jumps(before + shift, before + 1 + shift, pairs)

    def _unsegmented(
        self, invalid: Bools, closest: ClosestPoints, x: Floats
    ) -> tuple[Segments, ContactPairs]:
        """Return the segments of cells without a segmentation: one for each integration point."""
        cell = np.flatnonzero(invalid)
        e, low, high = self._cells[0][cell], self._cells[1][cell], self._cells[2][cell]
        at = low[:, None] + (high - low)[:, None] * gauss_rule(_POINTS)[0]
        own = np.repeat(e, _POINTS), at.ravel()
        _, here = self._own_at(*own, x)
        guesses = [closest.at(np.repeat(side[cell], _POINTS)) for side in self._cell_ends]
        closest_here = self._closest_of_all(np.ascontiguousarray(here[0].T), guesses, x, own)
        at_corner, shape = self._at_corners(closest_here), (cell.size, _POINTS)
        xi = closest_here.xi[:, 0]
        corner, last = np.where(at_corner, xi, 0.0).reshape(shape), self._smooth_joints.size - 2
        ends, elements = np.stack([low, high], axis=1), closest_here.element.reshape(shape)
        segments = single_points(cell, e, ends, elements, corner, self._slots, last)
        pairs = self._on_elements(segments, x, np.repeat(xi, _POINTS))
        return segments, pairs._replace(
            has_closest=pairs.has_closest & np.repeat(closest_here.normal | at_corner, _POINTS)
        )


def _selected(
    segments: Segments, pairs: ContactPairs, which: Bools
) -> tuple[Segments, ContactPairs]:
    """Return some segments and their points."""
    points = np.repeat(which, _POINTS)
    return segments.selected(which), ContactPairs._make(values[..., points] for values in pairs)


def _concatenated_segments(*rows: tuple[Segments, ContactPairs]) -> tuple[Segments, ContactPairs]:
    """Return several sets of segments and their contact pairs as one."""
    segments, pairs = zip(*rows, strict=True)
    one = Segments._make(np.concatenate(values) for values in zip(*segments, strict=True))
    return one, ContactPairs._make(
        np.concatenate(values, axis=-1) for values in zip(*pairs, strict=True)
    )
