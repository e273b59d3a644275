"""Mortar contact of two bodies by virtual work: one integral, whose variation loads both bodies.

    W = int Psi(g) dA + sum_c [j eps A (Z / A)^2 / 2],   Z = int_c (zeta_p - zeta_s) dA,

over the reference boundary of one body, with the normal gap g, the potential Psi of adhesion and
the coordinate zeta of the closest point, a reference length along the partner. Friction acts on
integration cells c of area A, through the mean of zeta over each; zeta_s is the origin of slip, and
j the stretch of the own boundary if friction counts per current area. The closest point moves with
all nodes, since (x_k - x) . a = 0:

    dxi = [a . (dx_k - dx) + g n . da] / (a . a - g n . a_,xi),   dzeta = span dxi.

So friction does work on relative sliding and on nothing else. The term g n . da yields the couple
g n x t of two tractions at a distance g. Rigid motions of both bodies together change neither g nor
zeta: forces and moments balance at each point, whatever the segments are. In stick tau = eps Z / A.
The bound is the mean of l s, with the threshold s and the stretch l = |a| / span of the partner;
in slip tau stays at the bound and zeta_s follows. Friction heat is tau times the step of zeta_s.

Integrals are taken over mortar segments in the current state. Their ends move with the bodies, and
forces and tangents contain this motion: forces are the derivative of the sum over integration
points, which is the energy, not of the integral that the sum approximates.

Where the closest point is a corner or an end of the partner at x_c, g = |x_k - x_c| and zeta stays
fixed. The gap stays continuous, and no traction is lost there.

`equilibria.problem` makes a `MortarPass` for each contact with passes="mortar". Its recorded points
p are the integration cells, and its tangent blocks are one for each mortar segment, then one for
each pair of segments that friction in a common cell or a jump of the projection couples.

Source: Puso and Laursen 2004; Sauer and De Lorenzis 2015; friction as above.
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
from stiction.solids.contact.breakpoint_variations import JumpVariations
from stiction.solids.contact.curves import boundary_coordinate
from stiction.solids.contact.model import ClosestPoints, History
from stiction.solids.contact.segment_variations import (
    CellIntegrals,
    ContactCurves,
    LawValues,
    SegmentVariations,
    cell_integrals,
)
from stiction.solids.contact.segmentation import Segmentation, SegmentedPass
from stiction.solids.contact.segments import Segments
from stiction.solids.dimensions import dot

__all__ = ["MortarPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# elements of the partner to either side of a segment that are coupled in advance
_REACH = 2


class _Friction(NamedTuple):
    """Friction in every cell.

    Parameters
    ----------
    traction : j tau, work conjugate to zeta per reference area [Pa]
    by_slip, by_bound : its derivatives by Z and by the integral of l s
    by_stretch : its derivative with respect to the stretch of the own boundary
    """

    traction: Floats
    by_slip: Floats
    by_bound: Floats
    by_stretch: Floats


class MortarPass(SegmentedPass):
    """One pass over one boundary that loads both bodies.

    Records of points are those of cells here: place and gap of the centre, mean pressure, and the
    sum of the forces on the own body.

    Parameters
    ----------
    contact : the description
    own, partner : the boundaries, in the global numbering
    points : (nodes, d) reference positions of all nodes

    Source: Puso and Laursen 2004; Sauer and De Lorenzis 2015; the work of friction as above.
    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass; tractions are per own reference area, independent of J."""
        settings = super()._constants.copy()
        settings[k.WITH_STRETCH] = 0.0
        return settings

    # ------------------------------------------------------------ the blocks of tangents

    def _segmentation_at(self, closest: ClosestPoints, x: Floats) -> Segmentation:
        """Return the segmentation itself, or that of x from these closest points."""
        return closest if isinstance(closest, Segmentation) else self.project(x, closest)

    def blocks(self, closest: ClosestPoints, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block."""
        assert isinstance(closest, Segmentation)
        nodes = self._nodes_of(closest.segments)
        one, other = self._coupled_segments(closest)
        return np.concatenate([nodes, nodes[one]]), np.concatenate([nodes, nodes[other]])

    def _nodes_of(self, segments: Segments) -> Ints:
        """Return the own nodes and the partner's nodes in all slots of segments, (c, slots)."""
        others = self.partner.nodes[segments.partner_elements].reshape(segments.cell.size, -1)
        return np.concatenate([self.own.nodes[segments.element], others], axis=1)

    def _coupled_segments(self, closest: Segmentation) -> tuple[Ints, Ints]:
        """Return the pairs of segments that friction in one cell couples, and those at jumps."""
        one, other = self._coupled_by_friction(closest.segments)
        if closest.jumps is None:
            return one, other
        a, b = closest.jumps.one, closest.jumps.other
        return np.concatenate([one, a, b]), np.concatenate([other, b, a])

    def _coupled_by_friction(self, segments: Segments) -> tuple[Ints, Ints]:
        """Return the pairs of segments in one cell, which friction couples."""
        none = np.zeros(0, dtype=np.int64)
        if self._frictionless:
            return none, none
        order = np.argsort(segments.cell, kind="stable")
        cell, one, other = segments.cell[order], [], []
        for offset in range(1, order.size):
            same = np.flatnonzero(cell[offset:] == cell[:-offset])
            if not same.size:
                break
            one += [order[same], order[same + offset]]
            other += [order[same + offset], order[same]]
        return np.concatenate([none, *one]), np.concatenate([none, *other])

    def block_shape(self, closest: ClosestPoints) -> tuple[int, int, int]:
        """Return the shape of the tangent blocks."""
        assert isinstance(closest, Segmentation)
        segments = closest.segments
        size = 2 * (self.own.nodes.shape[1] + self._slots * self.partner.nodes.shape[1])
        return segments.cell.size + self._coupled_segments(closest)[0].size, size, size

    def signature(self, closest: ClosestPoints, history: History) -> tuple[bytes, bytes]:
        """Return data that change exactly when the nodes of tangent blocks change."""
        assert isinstance(closest, Segmentation)
        segments, jumps = closest.segments, closest.jumps
        jumped = b"" if jumps is None else jumps.one.tobytes()
        return segments.partner_elements.tobytes(), segments.cell.tobytes() + jumped

    def coupled(self, rows: Ints, columns: Ints, closest: ClosestPoints) -> tuple[Ints, Ints]:
        """Return the nodes that the sparsity pattern couples, with those of nearby elements."""
        assert isinstance(closest, Segmentation)
        segments, last = closest.segments, self._smooth_joints.size - 2
        middle = segments.partner_elements[np.arange(segments.cell.size), segments.slot]
        nearby = np.clip(middle[:, None] + np.arange(-_REACH, _REACH + 1), 0, last)
        others = self.partner.nodes[nearby].reshape(segments.cell.size, -1)
        nodes = np.concatenate([self.own.nodes[segments.element], others], axis=1)
        # where the projection jumps, one cell projects onto elements far from each other
        one, other = self._coupled_segments(closest)
        return np.concatenate([nodes, nodes[one]]), np.concatenate([nodes, nodes[other]])

    def without_projection(self, x: Floats, closest: ClosestPoints) -> int:
        """Return zero: points beyond the end of their partner have this end as closest point."""
        return 0

    # ------------------------------------------------------------ forces

    @functools.cached_property
    def _frictionless(self) -> bool:
        return isinstance(self.contact.friction, Frictionless)

    def evaluate(
        self,
        x: Floats,
        closest: ClosestPoints,
        history: History,
        fixed_states: npt.NDArray[np.int64],
        *,
        with_friction: bool,
        attraction: float,
        residual: Floats,
        values: Floats | None,
        rotation: float = 0.0,
    ) -> Floats:
        """Add forces on both bodies and return the record of each cell, (p, OUT).

        See `ContactPass.evaluate`; closest points and segments are those of x.
        """
        closest = self._segmentation_at(closest, x)
        with np.errstate(all="ignore"):
            out = np.zeros((k.OUT, self.count))
            out[k.WEIGHT] = self.weight_factor * self.own.areas.ravel()
            tangent = k.own_points(self._nodes_of_points, self._functions, x, self._length, out)
            out[k.GAP], unit, stretch = self._cell_centres(out, closest, x)
            # integrals over cells, return map, then forces of segments on the nodes of both sides
            variations = self._variations(closest, history, x, attraction)
            requested = self._requested_states(history, fixed_states, with_friction)
            integrals = cell_integrals(variations, self.count)
            self._record_integrals(out, integrals)
            friction = self._return_map(
                out, requested, integrals, history, tangent[0], unit, stretch
            )
            nodes = self._nodes_of(closest.segments)
            force, n_own = variations.forces(friction.traction), int(self.own.nodes.shape[1])
            np.add.at(residual, nodes, force)
            for c in range(self.dim):
                force_on_own = -force[:, :n_own, c].sum(axis=1)
                out[k.FORCE_X + c] = np.bincount(closest.segments.cell, force_on_own, self.count)
            if values is not None:
                self._tangent(closest.segments, variations, friction, tangent[0], values)
        return np.ascontiguousarray(out.T)

    def add_normal_forces(
        self, x: Floats, guess: ClosestPoints, attraction: float, residual: Floats
    ) -> tuple[float, Segmentation]:
        """Add normal forces alone; see `ContactPass.add_normal_forces`."""
        closest = self.project(x, guess)
        with np.errstate(all="ignore"):
            variations = self._variations(closest, None, x, attraction)
            force = variations.forces(np.zeros(self.count))
            np.add.at(residual, self._nodes_of(closest.segments), force)
            well = np.where(
                closest.pairs.has_closest, variations.weight * variations.laws.well, 0.0
            )
            return float(well.sum()), closest

    def pairing(self, closest: ClosestPoints) -> bytes:
        """Return the segmentation: which cells, elements and corners segments pair."""
        assert isinstance(closest, Segmentation)
        segments = closest.segments
        arrays = (
            segments.cell,
            segments.partner_elements,
            segments.slot,
            segments.corner,
            segments.tangents,
            closest.pairs.has_closest,
        )
        jumps = b"" if closest.jumps is None else closest.jumps.one.tobytes()
        return b"".join(array.tobytes() for array in arrays) + jumps

    def _cell_centres(
        self, out: Floats, closest: ClosestPoints, x: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return gaps, unit tangents and stretches of the partner at the centres of cells."""
        # beyond a corner the normal is along r; elsewhere it is normal to the tangent
        _, places = self.partner_at(closest.element, closest.xi.T, x)
        r = out[k.X : k.X + 2] - places[0]
        size = k.lengths(places[1])
        unit = places[1] / size
        normal = np.stack([unit[1], -unit[0]])
        at_corner = self._at_corners(closest)
        distance = k.lengths(r)
        normal = np.where(at_corner, r / distance, normal)
        missing = ~(closest.normal | at_corner)
        out[k.NORMAL_X : k.NORMAL_X + 2] = np.where(missing, 0.0, normal)
        out[k.STRETCH] = 1.0
        _, (span,) = boundary_coordinate(closest.element, closest.xi.T, self.partner.knots)
        return (
            np.where(missing, np.inf, np.where(at_corner, distance, dot(r, normal))),
            unit,
            size / span,
        )

    def _variations(
        self, closest: Segmentation, history: History | None, x: Floats, attraction: float
    ) -> SegmentVariations:
        """Return kinematics and laws at all points, those of friction if there is a history."""
        # kinematics of both boundaries at the integration points, with moving jumps
        segments, pairs = closest.segments, closest.pairs
        each = segments.at.shape[1]
        cell = np.repeat(segments.cell, each)
        _, base = self._own_at(pairs.own_element, pairs.s, self.reference)
        thirds = self.own_curve.third, self.curve.third
        ends = self._end_functions
        curves = ContactCurves(self._own_at, *thirds, ends, self._partner_surface)
        variations = SegmentVariations(segments, pairs, curves, (x, self.reference), base)
        if closest.jumps is not None:
            variations.set_jumps(JumpVariations(variations, closest.jumps))
        c_n, c_t = self._tables
        traction, slope = adhesion(variations.gap, c_n)
        zeta = slip = threshold = by_gap = np.zeros_like(variations.gap)
        span = np.ones_like(variations.gap)
        if history is not None:
            threshold, by_gap, _ = slide_threshold(variations.gap, traction, slope, span, c_t)
            (zeta,), (span,) = boundary_coordinate(
                pairs.element, pairs.xi[None], self.partner.knots
            )
            if self.period:
                # on a closed partner zeta jumps by the period at the first node
                (middle,), _ = boundary_coordinate(
                    closest.element, closest.xi.T, self.partner.knots
                )
                zeta = middle[cell] + self._shortest(zeta - middle[cell])
            slip = zeta - np.where(history.has_origin, history.origin[:, 0], 0.0)[cell]
            slip = np.where(history.has_origin[cell], self._shortest(slip), slip)
        # attraction scales tension, and the well of the potential
        tensile = traction < 0.0
        psi = adhesion_potential(variations.gap, c_n)
        well = np.where(tensile, psi, -self._constants[k.DEPTH])
        factor = np.where(tensile, attraction, 1.0)
        variations.laws = LawValues(
            span=span,
            zeta=zeta,
            slip=slip,
            psi=psi + (attraction - 1.0) * well,
            well=well,
            normal_traction=factor * traction,
            slope=factor * slope,
            threshold=threshold,
            by_gap=by_gap,
        )
        return variations

    def _record_integrals(self, out: Floats, integrals: CellIntegrals) -> None:
        """Fill in the records of cells, without friction."""
        area = out[k.WEIGHT]
        out[k.PRESSURE] = integrals.normal_traction / area
        out[k.THRESHOLD] = integrals.threshold / area
        out[k.POTENTIAL], out[k.BY_ATTRACTION] = integrals.psi, integrals.well
        out[k.ORIGIN] = np.where(integrals.weight > 0.0, integrals.zeta / integrals.weight, np.nan)
        out[k.ORIGIN_2] = np.nan
        self.left_out = int(np.sum(~(integrals.weight > 0.0)))

    def _return_map(
        self,
        out: Floats,
        requested: Ints,
        integrals: CellIntegrals,
        history: History,
        tangent: Floats,
        unit: Floats,
        stretch: Floats,
    ) -> _Friction:
        """Return friction in each cell by the return map in zeta, and fill in its records.

        tau = eps Z / A in stick; in slip |tau| is the bound, and the origin of slip follows.

        Parameters
        ----------
        out : (OUT, cells) record, changed in place
        requested : (cells,) states of the return map, FREE or STUCK
        integrals, history : over cells, and friction history
        tangent : (d, cells) unit tangents of the own boundary
        unit, stretch : (d, cells) unit tangents and (cells,) |a| / span of the partner
        """
        # per is j; trial traction eps Z / A and bound are per cell area, and states are those
        # requested, or decided by the bound
        area, penalty = out[k.WEIGHT], self._constants[k.PENALTY]
        per = out[k.OWN_STRETCH] if self._constants[k.PER_CURRENT] > 0.0 else np.ones_like(area)
        frictional = (requested != k.FREE) & (integrals.weight > 0.0)
        trial, bound = penalty * integrals.slip / area, integrals.bound / area
        size, limit = np.abs(trial), self._constants[k.STICK_RATIO] * bound
        free = (requested == DECIDE) | (requested == k.STUCK)
        sticks = (
            (requested == STICK)
            | ((requested == k.STUCK) & (size < limit))
            | (free & (size < bound))
        )
        sense = np.sign(trial)
        tau = np.where(sticks, trial, sense * bound)
        step = np.where(sticks, 0.0, (trial - tau) / penalty)
        active = frictional & (sticks | (bound > 0.0))
        origin, w = history.origin[:, 0], area * per
        for column, value in (
            (k.STATE, np.where(sticks, k.STICKS, k.SLIDES)),
            (k.ORIGIN, origin + step),
            (k.HEAT, w * tau * step),
            (k.SPRING, w * tau * tau / (2.0 * penalty)),
            (k.SHEAR, -per * tau / stretch * dot(unit, tangent)),
            (k.FRICTION_FORCE, w * tau),
        ):
            out[column] = np.where(active, value, out[column])
        # where a cell has just lost friction, its last slip still counts in the energy balance
        out[k.SLIP_STEP] = np.where(frictional, step, out[k.SLIP_STEP])
        for p in range(self.dim):
            out[k.SLIP_X + p] = np.where(frictional, step * stretch * unit[p], out[k.SLIP_X + p])
        out[k.EXCESS] = np.where(frictional, (size - bound) / stretch, -out[k.THRESHOLD])
        none = np.zeros_like(area)
        by_slip = np.where(active & sticks, per * penalty / area, none)
        by_bound = np.where(active & ~sticks, per * sense / area, none)
        by_stretch = np.where(active & (self._constants[k.PER_CURRENT] > 0.0), tau, none)
        return _Friction(np.where(active, per * tau, none), by_slip, by_bound, by_stretch)

    def _tangent(
        self,
        segments: Segments,
        variations: SegmentVariations,
        friction: _Friction,
        tangent: Floats,
        values: Floats,
    ) -> None:
        """Fill in the tangent blocks: of every segment, then of pairs of segments in one cell.

        Friction adds dZ (x) d tau, which couples all segments of a cell through Z and the bound.
        """
        cell = segments.cell
        count, n_own = cell.size, int(self.own.nodes.shape[1])
        hessian, at_jumps = variations.hessian(friction.traction)
        slip_gradient, bound_gradient = variations.slip_gradient, variations.bound_gradient
        rate = friction.by_slip[cell, None] * variations.slip_gradient_with_jumps
        rate += friction.by_bound[cell, None] * bound_gradient
        if friction.by_stretch.any():
            # d (stretch of the own boundary), added to the first segment of each cell alone
            area_gradient = (
                self._functions[k.RATE].T[:, :, None] * (tangent / self._length).T[:, None]
            )
            _, first = np.unique(cell, return_index=True)
            at = cell[first]
            rate[first, : 2 * n_own] += friction.by_stretch[at, None] * area_gradient[at].reshape(
                at.size, -1
            )
        values[:count] = hessian + slip_gradient[:, :, None] * rate[:, None]
        one, other = self._coupled_by_friction(segments)
        count, start = count + one.size, count
        values[start:count] = slip_gradient[one][:, :, None] * rate[other][:, None]
        if at_jumps is not None:
            values[count:] = np.concatenate(at_jumps)
