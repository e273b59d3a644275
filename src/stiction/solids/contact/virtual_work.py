"""Contact of two bodies by virtual work: one integral, whose variation loads both of them.

    W = int Psi(g) dA + sum_c [j eps A (Z / A)^2 / 2],   Z = int_c (zeta_p - zeta_s) dA,

over the reference boundary of one body, with the gap g and the coordinate zeta along the partner,
its reference length; friction lives in cells c of area A, as the mean of zeta over each. The
nearest point moves with everything, (x_k - x) . a = 0:

    dxi = [a . (dx_k - dx) + g n . da] / (a . a - g n . a_,xi),   dzeta = span dxi.

So friction does work on what slides over what and on nothing else; the term g n . da is what the
couple g n x t of two tractions at a gap apart needs. Rigid motions of both bodies together change
neither g nor zeta, so forces and moments balance at each point, whatever is integrated where. In
stick tau = eps Z / A; where it reaches the mean of l s, with the threshold s and the stretch
l = |a| / span, it stays there and zeta_s follows: heat is tau times its step, to the digit.

Integrals are taken over segments that end where the partner's pieces do, as bodies stand now. Their
ends move with the bodies, and what this does to forces and tangents is part of them: forces are the
derivative of the sum that is the energy, not of the integral it stands for.

Where a partner has a corner or ends, the nearest point of all that lies before it is the corner:
g = |x_k - x_c|, and zeta does not move. The gap stays continuous, and no traction is lost there.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.adhesive_friction import Frictionless
from stiction.laws.interface_tractions import (
    DECIDE,
    STICK,
    adhesion,
    adhesion_potential,
    slide_threshold,
)
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curve_kernels import points_kernel
from stiction.solids.contact.curves import along
from stiction.solids.contact.model import Contact, ContactPass, Found, History
from stiction.solids.contact.segment_forms import Curves, Forms, Laws, Met, Sums, sums
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

__all__ = ["Cut", "MortarPass"]

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
# pieces of the partner around each segment that are coupled in advance
_REACH = 2


class Cut(Found):
    """Nearest points of the middles of cells, and the segments of a state with their points."""

    segments: Segments
    met: Met


class _Friction(NamedTuple):
    """What friction did in every cell.

    Parameters
    ----------
    work : tau per coordinate and reference area, stretched areas included [Pa]
    by_way, by_threshold : derivatives of it by Z and by the integral of l s
    by_stretch : derivative by the stretch of the own boundary
    """

    work: Floats
    by_way: Floats
    by_threshold: Floats
    by_stretch: Floats


class MortarPass(ContactPass):
    """One pass over one boundary that loads both bodies.

    What is told of a point is told of a cell: the place of its middle, the gap there, the mean
    pressure, the sum of its forces.

    Parameters
    ----------
    contact : the description
    own, partner : the boundaries, in the global numbering
    points : (nodes, d) reference places of all nodes

    Source: Puso and Laursen 2004; Sauer and De Lorenzis 2015; the work of friction as above.
    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
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
        self._sides = first, first + 1
        cell = np.arange(self.count).reshape(pieces, each)
        ends = np.concatenate([cell[:, :1], cell], axis=1).ravel()
        self._cell_of_look = np.concatenate([ends, cell.ravel()])

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass; tractions follow from energies per own area, and thin not."""
        settings = super()._constants.copy()
        settings[k.THINS] = 0.0
        return settings

    # ------------------------------------------------------------ nearest points and segments

    def project(self, x: Floats, guess: Found | None) -> Cut:
        """Return the nearest points of all, not only those next to a guess, and the segments.

        Where a partner is wavy, the nearest of two crests is the energy's, and a crest that was
        nearest once is not followed beyond that.
        """
        at, functions = self._looks
        place = np.einsum("ln,lnd->ld", functions, x[self.own.nodes[at[0]]])
        before = None if guess is None else guess.at(self._cell_of_look)
        found = self._nearest_of_all(place, before, x, at)
        middles = np.arange(place.shape[0] - self.count, place.shape[0])
        made = Cut(*found.at(middles))
        made.segments, made.met = self._cut(x, place.T, found)
        return made

    def _nearest_of_all(
        self, place: Floats, guess: Found | None, x: Floats, at: tuple[Ints, Floats]
    ) -> Found:
        """Return the nearest points of places (p, d), which lie `at` pieces and xi (p,)."""
        found = self._kept(self.nearest(place, self._begin(place, x, at), x), place, x, at)
        if guess is None:
            return found
        near = self._kept(self.nearest(place, guess, x), place, x, at)
        far = [
            k.lengths(place.T - self.partner_at(one.element, one.xi.T, x)[1][0])
            for one in (found, near)
        ]
        # the guess is kept unless another is nearer by more than rounding
        better = near.normal & (~found.normal | (far[1] <= far[0] * (1.0 + 1e-12)))
        for kept, other in zip(found, near, strict=True):
            kept[better] = other[better]
        return found

    def _begin(self, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return where the nearest points are looked for first."""
        return self._search(place, x)

    def _kept(self, found: Found, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return nearest points without those that a place may not meet."""
        return found

    def _own_at(self, e: Ints, xi: Floats, x: Floats) -> tuple[Floats, Floats]:
        """Return functions and places of the own boundary, as `partner_at` does."""
        functions = np.empty((3, self.own.nodes.shape[1], e.size))
        places = np.empty((3, 2, e.size))
        points_kernel(1)(e, np.ascontiguousarray(xi[:, None]), *self._mine, x, functions, places)
        return functions, places

    def _cut(self, x: Floats, place: Floats, found: Found) -> tuple[Segments, Met]:
        """Return the segments of a state and what their points meet."""
        ends = Ends(self._other, self._ends, self._smooth, x)
        xi = found.xi[:, 0]
        stood, lost = stations(found.element, xi, found.normal, self._smooth)
        a, b = self._sides
        way = passed(
            self._own_at, self._cells, (stood[a], stood[b]), (place[:, a], place[:, b]), ends, x
        )
        way.bad[lost[a] | lost[b]] = True
        reached = np.stack([xi[a], xi[b]], axis=1)
        made = between(way, self._cells[0], reached, ends, _POINTS)
        met = self._on_pieces(made, x)
        away = ~met.meets | ((np.abs(met.xi) > 1.0 + _BEYOND) & ~met.corner)
        away = np.asarray(away.reshape(-1, made.at.shape[1]).any(axis=1))
        away &= made.ends[:, 1] - made.ends[:, 0] > _SLIVER
        bad = way.bad.copy()
        bad[made.cell[away]] = True
        if bad.any():
            made, met = self._with_lone(bad, made, met, x)
        return made._replace(share=self.part * made.share), met

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
        e, s, own, here = self._points_of(made, x)
        each = made.at.shape[1]
        slot = made.pieces[np.arange(made.cell.size), made.slot]
        element = np.repeat(slot, each)
        corner = np.repeat(made.corner, each)
        held = corner != 0.0
        if xi is None:
            low, high = made.begin[:, :1], made.begin[:, 1:]
            xi = (low + (high - low) * made.at).ravel()
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

    def _with_lone(self, bad: Bools, made: Segments, met: Met, x: Floats) -> tuple[Segments, Met]:
        """Return segments with those of cells that are not cut, each point for itself."""
        cell = np.flatnonzero(bad)
        e, low, high = self._cells[0][cell], self._cells[1][cell], self._cells[2][cell]
        at = low[:, None] + (high - low)[:, None] * rule(_POINTS)[0]
        own = np.repeat(e, _POINTS), at.ravel()
        _, here = self._own_at(*own, x)
        found = self._nearest_of_all(np.ascontiguousarray(here[0].T), None, x, own)
        held, shape = self._corners(found), (cell.size, _POINTS)
        xi = found.xi[:, 0]
        corner, last = np.where(held, xi, 0.0).reshape(shape), self._smooth.size - 2
        ends, pieces = np.stack([low, high], axis=1), found.element.reshape(shape)
        lone = alone(cell, e, ends, pieces, corner, self._wide, last)
        told = self._on_pieces(lone, x, np.repeat(xi, _POINTS))
        told = told._replace(meets=told.meets & np.repeat(found.normal | held, _POINTS))
        kept = ~bad[made.cell]
        points = np.repeat(kept, _POINTS)
        whole = zip(made.kept(kept), lone, strict=True)
        both = zip((part[..., points] for part in met), told, strict=True)
        return (
            Segments(*(np.concatenate(pair) for pair in whole)),
            Met(*(np.concatenate(pair, axis=-1) for pair in both)),
        )

    @staticmethod
    def _corners(found: Found) -> Bools:
        """Return which points have a corner or an end of the partner as the nearest place."""
        return np.asarray(~found.normal & (np.abs(found.xi[:, 0]) == 1.0))

    # ------------------------------------------------------------ the blocks of tangents

    def _cut_at(self, found: Found, x: Floats) -> Cut:
        return found if isinstance(found, Cut) else self.project(x, found)

    def blocks(self, found: Found, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block."""
        assert isinstance(found, Cut)
        nodes = self._nodes_of(found.segments)
        one, other = self._pairs(found.segments)
        return np.concatenate([nodes, nodes[one]]), np.concatenate([nodes, nodes[other]])

    def _nodes_of(self, made: Segments) -> Ints:
        others = self.partner.nodes[made.pieces].reshape(made.cell.size, -1)
        return np.concatenate([self.own.nodes[made.element], others], axis=1)

    def _pairs(self, made: Segments) -> tuple[Ints, Ints]:
        """Return the pairs of segments that friction in one cell couples."""
        if self._frictionless:
            return np.zeros((2, 0), dtype=np.int64)[0], np.zeros(0, dtype=np.int64)
        order = np.argsort(made.cell, kind="stable")
        cell, one, other = made.cell[order], [], []
        for apart in range(1, order.size):
            same = np.flatnonzero(cell[apart:] == cell[:-apart])
            if not same.size:
                break
            one += [order[same], order[same + apart]]
            other += [order[same + apart], order[same]]
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *one]), np.concatenate([none, *other])

    def room(self, found: Found) -> tuple[int, int, int]:
        """Return the shape of the tangent blocks."""
        assert isinstance(found, Cut)
        made = found.segments
        wide = 2 * (self.own.nodes.shape[1] + self._wide * self.partner.nodes.shape[1])
        return made.cell.size + self._pairs(made)[0].size, wide, wide

    def signature(self, found: Found, history: History) -> tuple[bytes, bytes]:
        """Return what decides which blocks the tangent has: not where slip began."""
        assert isinstance(found, Cut)
        made = found.segments
        return made.pieces.tobytes(), made.cell.tobytes()

    def coupled(self, rows: Ints, columns: Ints, found: Found) -> tuple[Ints, Ints]:
        """Return nodes that are coupled in advance: those of pieces near each segment, all."""
        assert isinstance(found, Cut)
        made, last = found.segments, self._smooth.size - 2
        middle = made.pieces[np.arange(made.cell.size), made.slot]
        around = np.clip(middle[:, None] + np.arange(-_REACH, _REACH + 1), 0, last)
        others = self.partner.nodes[around].reshape(made.cell.size, -1)
        wide = np.concatenate([self.own.nodes[made.element], others], axis=1)
        # where nearest points jump, pieces that one cell meets are far from each other
        one, other = self._pairs(made)
        return np.concatenate([wide, wide[one]]), np.concatenate([wide, wide[other]])

    def missed(self, x: Floats, found: Found) -> int:
        """Return how many points are near the end of their partner: none, as they meet it."""
        return 0

    # ------------------------------------------------------------ forces

    @functools.cached_property
    def _frictionless(self) -> bool:
        return isinstance(self.contact.friction, Frictionless)

    def evaluate(
        self,
        x: Floats,
        found: Found,
        history: History,
        held: npt.NDArray[np.int64],
        *,
        rubs: bool,
        attraction: float,
        residual: Floats,
        values: Floats | None,
        turned: float = 0.0,
    ) -> Floats:
        """Add forces on both bodies and return what is told about each cell, (p, OUT).

        See `ContactPass.evaluate`; nearest points and segments are those of x.
        """
        found = self._cut_at(found, x)
        with np.errstate(all="ignore"):
            out = np.zeros((k.OUT, self.count))
            out[k.WEIGHT] = self.part * self.own.areas.ravel()
            tangent = k.own_points(self._nodes_of_points, self._functions, x, self._length, out)
            out[k.GAP], unit, stretch = self._middles(out, found, x)
            forms = self._forms(found, history, x, attraction)
            wanted = self._wanted(history, held, rubs)
            laid = sums(forms, self.count)
            self._tell(out, forms, laid)
            friction = self._rub(out, wanted, laid, history, tangent[0], unit, stretch)
            nodes = self._nodes_of(found.segments)
            force, mine = forms.forces(friction.work), int(self.own.nodes.shape[1])
            np.add.at(residual, nodes, force)
            for c in range(self.dim):
                on = -force[:, :mine, c].sum(axis=1)
                out[k.FORCE_X + c] = np.bincount(found.segments.cell, on, self.count)
            if values is not None:
                self._tangent(found.segments, forms, friction, tangent[0], values)
        return np.ascontiguousarray(out.T)

    def pressed(
        self, x: Floats, guess: Found, attraction: float, residual: Floats
    ) -> tuple[float, Cut]:
        """Add normal forces alone; see `ContactPass.pressed`."""
        found = self.project(x, guess)
        with np.errstate(all="ignore"):
            forms = self._forms(found, None, x, attraction)
            force = forms.forces(np.zeros(self.count))
            np.add.at(residual, self._nodes_of(found.segments), force)
            well = np.where(found.met.meets, forms.weight * forms.laws.well, 0.0)
            return float(well.sum()), found

    def meets(self, found: Found) -> bytes:
        """Return how cells are cut, and which pieces and corners their segments meet."""
        assert isinstance(found, Cut)
        made = found.segments
        parts = made.cell, made.pieces, made.slot, made.corner, made.tangents, found.met.meets
        return b"".join(part.tobytes() for part in parts)

    def _middles(self, out: Floats, found: Found, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Return gaps at the middles of cells, tangents of unit length there, and stretches."""
        _, there = self.partner_at(found.element, found.xi.T, x)
        r = out[k.X : k.X + 2] - there[0]
        size = k.lengths(there[1])
        unit = there[1] / size
        normal = np.stack([unit[1], -unit[0]])
        held = self._corners(found)
        long = k.lengths(r)
        normal = np.where(held, r / long, normal)
        lost = ~(found.normal | held)
        out[k.NORMAL_X : k.NORMAL_X + 2] = np.where(lost, 0.0, normal)
        out[k.STRETCH] = 1.0
        _, (span,) = along(found.element, found.xi.T, self.partner.knots)
        return np.where(lost, np.inf, np.where(held, long, k.dot(r, normal))), unit, size / span

    def _forms(self, found: Cut, history: History | None, x: Floats, attraction: float) -> Forms:
        """Return laws and geometry at all points; those of friction where there is a history."""
        made, met = found.segments, found.met
        each = made.at.shape[1]
        cell = np.repeat(made.cell, each)
        _, base = self._own_at(met.own_piece, met.s, self.reference)
        curves = Curves(
            self._own_at, self.own_curve.third, self.curve.third, self._ends, self._other
        )
        forms = Forms(made, met, curves, (x, self.reference), base)
        c_n, c_t = self._tables
        traction, slope = adhesion(forms.gap, c_n)
        zeta = way = threshold = by_gap = np.zeros_like(forms.gap)
        span = np.ones_like(forms.gap)
        if history is not None:
            threshold, by_gap, _ = slide_threshold(forms.gap, traction, slope, span, c_t)
            (zeta,), (span,) = along(met.element, met.xi[None], self.partner.knots)
            if self.around:
                # of a closed partner: without the leap where its coordinate begins anew
                (middle,), _ = along(found.element, found.xi.T, self.partner.knots)
                zeta = middle[cell] + self._short(zeta - middle[cell])
            way = zeta - np.where(history.has_origin, history.origin[:, 0], 0.0)[cell]
            way = np.where(history.has_origin[cell], self._short(way), way)
        pulls = traction < 0.0
        psi = adhesion_potential(forms.gap, c_n)
        well = np.where(pulls, psi, -self._constants[k.DEPTH])
        factor = np.where(pulls, attraction, 1.0)
        forms.laws = Laws(
            span=span,
            zeta=zeta,
            way=way,
            psi=psi + (attraction - 1.0) * well,
            well=well,
            pull=factor * traction,
            slope=factor * slope,
            threshold=threshold,
            by_gap=by_gap,
        )
        return forms

    def _short(self, way: Floats) -> Floats:
        """Return ways along the partner, the short one of two where it is closed."""
        return way - self.around * np.round(way / self.around) if self.around else way

    def _tell(self, out: Floats, forms: Forms, laid: Sums) -> None:
        """Fill in what is told of cells without friction."""
        area = out[k.WEIGHT]
        out[k.PRESSURE], out[k.THRESHOLD] = laid.pull / area, laid.threshold / area
        out[k.POTENTIAL], out[k.BY_ATTRACTION] = laid.psi, laid.well
        out[k.ORIGIN] = np.where(laid.weight > 0.0, laid.zeta / laid.weight, np.nan)
        out[k.ORIGIN_2] = np.nan
        self.left_out = int(np.sum(~(laid.weight > 0.0)))

    def _rub(
        self,
        out: Floats,
        wanted: Ints,
        laid: Sums,
        history: History,
        tangent: Floats,
        unit: Floats,
        stretch: Floats,
    ) -> _Friction:
        """Fill in what friction did in each cell, along the coordinate of the partner."""
        area, penalty = out[k.WEIGHT], self._constants[k.PENALTY]
        per = out[k.OWN_STRETCH] if self._constants[k.PER_CURRENT] > 0.0 else np.ones_like(area)
        rubs = (wanted != k.FREE) & (laid.weight > 0.0)
        trial, most = penalty * laid.way / area, laid.rub / area
        size, limit = np.abs(trial), self._constants[k.STICK_RATIO] * most
        asks = (wanted == DECIDE) | (wanted == k.STUCK)
        holds = (wanted == STICK) | ((wanted == k.STUCK) & (size < limit)) | (asks & (size < most))
        sense = np.sign(trial)
        tau = np.where(holds, trial, sense * most)
        step = np.where(holds, 0.0, (trial - tau) / penalty)
        there = rubs & (holds | (most > 0.0))
        began, w = history.origin[:, 0], area * per
        for column, value in (
            (k.STATE, np.where(holds, k.STICKS, k.SLIDES)),
            (k.ORIGIN, began + step),
            (k.HEAT, w * tau * step),
            (k.SPRING, w * tau * tau / (2.0 * penalty)),
            (k.SHEAR, -per * tau / stretch * k.dot(unit, tangent)),
            (k.RUB, w * tau),
        ):
            out[column] = np.where(there, value, out[column])
        # where friction has just come to its end, the spring that it leaves goes with its last slip
        out[k.SLID] = np.where(rubs, step, out[k.SLID])
        for p in range(self.dim):
            out[k.SLIP_X + p] = np.where(rubs, step * stretch * unit[p], out[k.SLIP_X + p])
        out[k.EXCESS] = np.where(rubs, (size - most) / stretch, -out[k.THRESHOLD])
        none = np.zeros_like(area)
        sticks = np.where(there & holds, per * penalty / area, none)
        slides = np.where(there & ~holds, per * sense / area, none)
        grows = np.where(there & (self._constants[k.PER_CURRENT] > 0.0), tau, none)
        return _Friction(np.where(there, per * tau, none), sticks, slides, grows)

    def _tangent(
        self,
        made: Segments,
        forms: Forms,
        friction: _Friction,
        tangent: Floats,
        values: Floats,
    ) -> None:
        """Fill in the tangent blocks: of every segment, then of pairs in one cell."""
        cell = made.cell
        count, mine = cell.size, int(self.own.nodes.shape[1])
        hessian = forms.hessian(friction.work)
        moves, slides = forms.way_gradient, forms.rub_gradient
        rate = friction.by_way[cell, None] * moves + friction.by_threshold[cell, None] * slides
        if friction.by_stretch.any():
            # the current area grows with the own boundary, told once in each cell
            grows = self._functions[k.RATE].T[:, :, None] * (tangent / self._length).T[:, None]
            _, first = np.unique(cell, return_index=True)
            at = cell[first]
            rate[first, : 2 * mine] += friction.by_stretch[at, None] * grows[at].reshape(
                at.size, -1
            )
        values[:count] = hessian + moves[:, :, None] * rate[:, None]
        one, other = self._pairs(made)
        values[count:] = moves[one][:, :, None] * rate[other][:, None]
