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
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.curves import along
from stiction.solids.contact.mark_forms import JumpForms
from stiction.solids.contact.model import Found, History
from stiction.solids.contact.segment_forms import Curves, Forms, Laws, Sums, sums
from stiction.solids.contact.segmentation import Cut, CutPass
from stiction.solids.contact.segments import Segments

__all__ = ["MortarPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# pieces of the partner around each segment that are coupled in advance
_REACH = 2


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


class MortarPass(CutPass):
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

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass; tractions follow from energies per own area, and thin not."""
        settings = super()._constants.copy()
        settings[k.THINS] = 0.0
        return settings

    # ------------------------------------------------------------ the blocks of tangents

    def _cut_at(self, found: Found, x: Floats) -> Cut:
        return found if isinstance(found, Cut) else self.project(x, found)

    def blocks(self, found: Found, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block."""
        assert isinstance(found, Cut)
        nodes = self._nodes_of(found.segments)
        one, other = self._pairs(found)
        return np.concatenate([nodes, nodes[one]]), np.concatenate([nodes, nodes[other]])

    def _nodes_of(self, made: Segments) -> Ints:
        others = self.partner.nodes[made.pieces].reshape(made.cell.size, -1)
        return np.concatenate([self.own.nodes[made.element], others], axis=1)

    def _pairs(self, found: Cut) -> tuple[Ints, Ints]:
        """Return the pairs of segments that friction in one cell couples, and those at jumps."""
        one, other = self._rubbing(found.segments)
        if found.jumps is None:
            return one, other
        a, b = found.jumps.one, found.jumps.other
        return np.concatenate([one, a, b]), np.concatenate([other, b, a])

    def _rubbing(self, made: Segments) -> tuple[Ints, Ints]:
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
        return made.cell.size + self._pairs(found)[0].size, wide, wide

    def signature(self, found: Found, history: History) -> tuple[bytes, bytes]:
        """Return what decides which blocks the tangent has: not where slip began."""
        assert isinstance(found, Cut)
        made, jumps = found.segments, found.jumps
        where = b"" if jumps is None else jumps.one.tobytes()
        return made.pieces.tobytes(), made.cell.tobytes() + where

    def coupled(self, rows: Ints, columns: Ints, found: Found) -> tuple[Ints, Ints]:
        """Return nodes that are coupled in advance: those of pieces near each segment, all."""
        assert isinstance(found, Cut)
        made, last = found.segments, self._smooth.size - 2
        middle = made.pieces[np.arange(made.cell.size), made.slot]
        around = np.clip(middle[:, None] + np.arange(-_REACH, _REACH + 1), 0, last)
        others = self.partner.nodes[around].reshape(made.cell.size, -1)
        wide = np.concatenate([self.own.nodes[made.element], others], axis=1)
        # where nearest points jump, pieces that one cell meets are far from each other
        one, other = self._pairs(found)
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
        cut = made.cell, made.pieces, made.slot, made.corner, made.tangents, found.met.meets
        where = b"" if found.jumps is None else found.jumps.one.tobytes()
        return b"".join(part.tobytes() for part in cut) + where

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
        thirds = self.own_curve.third, self.curve.third
        curves = Curves(self._own_at, self.partner_at, *thirds, self._ends, self._other)
        forms = Forms(made, met, curves, (x, self.reference), base)
        if found.jumps is not None:
            forms.set_jumps(JumpForms(forms, found.jumps))
        c_n, c_t = self._tables
        traction, slope = adhesion(forms.gap, c_n)
        zeta = way = threshold = by_gap = np.zeros_like(forms.gap)
        span = np.ones_like(forms.gap)
        if history is not None:
            threshold, by_gap, _ = slide_threshold(forms.gap, traction, slope, span, c_t)
            (zeta,), (span,) = along(met.element, met.xi[None], self.partner.knots)
            if self.around:
                # of a closed partner: without the jump where its coordinate begins anew
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
        hessian, across = forms.hessian(friction.work)
        moves, slides = forms.way_gradient, forms.rub_gradient
        rate = friction.by_way[cell, None] * forms.way_rate
        rate += friction.by_threshold[cell, None] * slides
        if friction.by_stretch.any():
            # the current area grows with the own boundary, told once in each cell
            grows = self._functions[k.RATE].T[:, :, None] * (tangent / self._length).T[:, None]
            _, first = np.unique(cell, return_index=True)
            at = cell[first]
            rate[first, : 2 * mine] += friction.by_stretch[at, None] * grows[at].reshape(
                at.size, -1
            )
        values[:count] = hessian + moves[:, :, None] * rate[:, None]
        one, other = self._rubbing(made)
        count, rest = count + one.size, count
        values[rest:count] = moves[one][:, :, None] * rate[other][:, None]
        if across is not None:
            values[count:] = np.concatenate(across)
