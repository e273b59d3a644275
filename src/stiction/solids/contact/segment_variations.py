"""First and second variations of integrals over mortar segments whose ends move.

A functional is a sum over integration points, Q = sum_q W F, with Gauss weights w in
W = w (s_b - s_a) J(s_q), at s_q = s_a + t (s_b - s_a) on the own boundary. Variations are first
taken by the places y of the own nodes and of the nodes of one partner element, and by the ends s_a
and s_b of the segment,

    dQ = sum W dF + F dW,    ddQ = sum W ddF + dW dF + dF dW + F ddW.

The chain rule with breakpoints s(y), see `breakpoint_variations`, gives variations by nodes alone.
`virtual_work` takes forces and tangents of mortar contact from here, with F = Psi(g) for the energy
of adhesion, F = zeta - zeta_s for the slip, and F = l s for the bound of friction.

Arrays run over c segments or over p = c g integration points, segment after segment. An axis M runs
over (y, s_a, s_b): components of the own nodes, of the nodes of the closest partner element, and
both ends. An axis "slots d" runs over components of the own nodes and of the nodes of all K partner
elements of a segment (`Segments.partner_elements`).

Second variations at points have low rank: each is a sum of outer products of two vectors. Those of
all points of a segment are added by one matrix product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact.breakpoint_variations import (
    Breakpoints,
    functional,
    outer,
    segment_breakpoints,
    symmetric_product,
)
from stiction.solids.contact.segments import Segments
from stiction.solids.contact.sweeps import lengths
from stiction.solids.dimensions import dot

if TYPE_CHECKING:
    from stiction.solids.contact.breakpoint_variations import JumpVariations

__all__ = [
    "CellIntegrals",
    "ContactCurves",
    "ContactPairs",
    "LawValues",
    "SegmentVariations",
    "cell_integrals",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class ContactPairs(NamedTuple):
    """Integration points of segments, segment after segment, and their closest points.

    Parameters
    ----------
    own_element, s : (p,) on the own boundary
    own_functions, own_places : (3, n, p) functions and (3, d, p) places there, in rows as those of
        `RationalBoundary.points`: value, first and second derivative with respect to xi
    element, xi : (p,) of the closest point on the partner
    partner_functions, partner_places : (3, m, p) functions and (3, d, p) positions there
    corner, has_closest : (p,) whether the closest point is a corner, and whether there is one
    """

    own_element: Ints
    s: Floats
    own_functions: Floats
    own_places: Floats
    element: Ints
    xi: Floats
    partner_functions: Floats
    partner_places: Floats
    corner: Bools
    has_closest: Bools


class ContactCurves(NamedTuple):
    """Both contact boundaries.

    Parameters
    ----------
    own : returns functions and positions of the own boundary at elements and xi (c,), in a state
    own_third, third : return third derivatives of places on the own and on the partner boundary
    ends : (2, rows, n, elements) functions of the partner at both ends of its elements
    partner : its arrays
    """

    own: Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]
    own_third: Callable[[Ints, Floats, Floats], Floats]
    third: Callable[[Ints, Floats, Floats], Floats]
    ends: Floats
    partner: Surface


class LawValues(NamedTuple):
    """Potentials, tractions and slip at integration points, (p,) each.

    Parameters
    ----------
    span : derivative of the coordinate along the partner with respect to xi
    zeta, slip : the coordinate, and its difference to that of the origin of slip [m]
    psi, well : potential of adhesion, and its part that the factor of attraction scales [J/m^2]
    normal_traction, slope : normal traction [Pa] and its derivative with respect to the gap [Pa/m]
    threshold, by_gap : for sliding [Pa] and its derivative [Pa/m]
    """

    span: Floats
    zeta: Floats
    slip: Floats
    psi: Floats
    well: Floats
    normal_traction: Floats
    slope: Floats
    threshold: Floats
    by_gap: Floats


class CellIntegrals(NamedTuple):
    """Integrals over each cell, (cells,): of one, of law values, and of l s in `bound`."""

    weight: Floats
    zeta: Floats
    slip: Floats
    psi: Floats
    well: Floats
    normal_traction: Floats
    threshold: Floats
    bound: Floats


class SegmentVariations:
    """Kinematics at the integration points of segments in a state, and their variations.

    With r = x_k - x, the tangent a and the curvature vector b = a_,xi of the partner at the closest
    point, (a . a - r . b) dxi = a . dr + r . da.

    Parameters
    ----------
    segments, pairs : segments and their contact pairs
    curves : the own boundary and the partner
    states : (nodes, d) positions now and at reference [m]
    base : (3, d, p) reference positions of the points
    """

    def __init__(
        self,
        segments: Segments,
        pairs: ContactPairs,
        curves: ContactCurves,
        states: tuple[Floats, Floats],
        base: Floats,
    ) -> None:
        self.segments, self.pairs, self.curves, self.states = segments, pairs, curves, states
        self.each = segments.at.shape[1]
        # gap, normal, tangent and curvature vector of the partner; metric is a . a - r . b
        r, a = pairs.own_places[0] - pairs.partner_places[0], pairs.partner_places[1]
        self.tangent_length = lengths(a)
        distance = lengths(r)
        normal = np.where(pairs.corner, r / distance, np.stack([a[1], -a[0]]) / self.tangent_length)
        self.gap = dot(r, normal)
        # at a corner the tangent is normal to r
        tangent = np.where(pairs.corner, np.stack([-normal[1], normal[0]]), a)
        self.r, self.a, self.normal = r.T, tangent.T, normal.T
        self.size = dot(tangent, tangent)
        b = np.where(pairs.corner, 0.0, pairs.partner_places[2])
        self.b, self.metric = b.T, np.where(pairs.corner, np.inf, self.size - dot(r, b))
        # weights W and their derivatives by both ends of the segment
        length = np.repeat(segments.ends[:, 1] - segments.ends[:, 0], self.each)
        weights, t = segments.weights.ravel(), segments.at.ravel()
        self.q = np.stack([1.0 - t, t], axis=1)
        size = lengths(base[1])
        rate = dot(base[1], base[2]) / size
        gauss_weight = weights * pairs.has_closest
        self.weight = gauss_weight * length * size
        ends = np.array([-1.0, 1.0])
        self.by_ends = gauss_weight[:, None] * (
            size[:, None] * ends + (length * rate)[:, None] * self.q
        )
        self._weight_terms = gauss_weight, length, size, rate, base
        # shape functions (p, slots of the closest element) by which dr, da, db follow from nodes;
        # at a corner the tangent does not enter
        own_functions = pairs.own_functions.transpose(0, 2, 1)
        partner_functions = pairs.partner_functions.transpose(0, 2, 1)
        none = np.zeros_like(own_functions[0])
        smooth = ~pairs.corner[:, None]
        self.by_r = np.concatenate([own_functions[0], -partner_functions[0]], axis=1)
        self.by_a = np.concatenate([none, partner_functions[1] * smooth], axis=1)
        self.by_b = np.concatenate([none, partner_functions[2] * smooth], axis=1)
        self._by_tangent = np.concatenate([none, partner_functions[1]], axis=1)
        self.variable = np.flatnonzero((segments.tangents >= 0).any(axis=(1, 2)))

    laws: LawValues
    jumps: JumpVariations | None = None

    def set_jumps(self, jumps: JumpVariations) -> None:
        """Take into account in tangents that jumps of the projection move."""
        self.jumps = jumps
        self.variable = np.unique(np.concatenate([self.variable, jumps.one, jumps.other]))

    # ------------------------------------------------------------ vectors at points

    def _relative(self, v: Floats) -> Floats:
        """Return v . dr by y, s_a and s_b, (p, M)."""
        slide = (self.pairs.own_places[1].T * v).sum(axis=1)
        return np.concatenate([functional(self.by_r, v), slide[:, None] * self.q], axis=1)

    def _of_partner(self, by: Floats, v: Floats) -> Floats:
        """Return v . d(sum of partner nodes times functions `by`), (p, M); zero by s_a and s_b."""
        return np.concatenate([functional(by, v), np.zeros_like(self.q)], axis=1)

    @functools.cached_property
    def of_gap(self) -> Floats:
        """First variation of the gap."""
        return self._relative(self.normal)

    @functools.cached_property
    def tangential(self) -> Floats:
        """The part a . dr of the variation of xi."""
        return self._relative(self.a)

    @functools.cached_property
    def of_xi(self) -> Floats:
        """First variation of xi."""
        return (self.tangential + self._of_partner(self.by_a, self.r)) / self.metric[:, None]

    def _summed(self, vectors: Floats, values: Floats) -> Floats:
        """Return the variation of sum W F of every segment, (c, M), from dF (p, M) and F (p,)."""
        weighted = self.weight[:, None] * vectors
        weighted[:, -2:] += values[:, None] * self.by_ends
        weighted[~self.pairs.has_closest] = 0.0
        return np.asarray(weighted.reshape(-1, self.each, weighted.shape[1]).sum(axis=1))

    # ------------------------------------------------------------ first variations

    @functools.cached_property
    def of_energy(self) -> Floats:
        """First variation of the energy, (c, M)."""
        return self._summed(-self.laws.normal_traction[:, None] * self.of_gap, self.laws.psi)

    @functools.cached_property
    def _of_slip(self) -> Floats:
        return self._summed(self.laws.span[:, None] * self.of_xi, self.laws.slip)

    @functools.cached_property
    def slip_gradient(self) -> Floats:
        """First variation of the integral of zeta over each segment, by nodes, (c, slots d).

        Jumps are fixed: nothing slides when the closest point becomes another one.
        """
        return self._by_nodes(self._of_slip)

    @functools.cached_property
    def slip_gradient_with_jumps(self) -> Floats:
        """First variation of the integral of zeta, with moving jumps."""
        return self._with_jumps(self.slip_gradient, self._of_slip)

    def _with_jumps(self, by_nodes: Floats, vectors: Floats) -> Floats:
        """Return variations by nodes, with those of moving jumps of the projection."""
        if self.jumps is not None:
            by_nodes = by_nodes.copy()
            self.jumps.add(by_nodes, vectors)
        return by_nodes

    @functools.cached_property
    def bound_gradient(self) -> Floats:
        """First variation of the integral of l s, by nodes, (c, slots d)."""
        # l = |a| / span: dl = a . (da + b dxi) / (|a| span), and ds = (ds/dg) dg
        law, pairs = self.laws, self.pairs
        tangent = pairs.partner_places[1].T
        bends = (tangent * pairs.partner_places[2].T).sum(axis=1) * ~pairs.corner
        stretches = self._of_partner(self._by_tangent, tangent) + bends[:, None] * self.of_xi
        rate = (law.threshold / self.tangent_length)[:, None] * stretches
        rate = (rate + (self.tangent_length * law.by_gap)[:, None] * self.of_gap) / law.span[
            :, None
        ]
        vectors = self._summed(rate, self.tangent_length * law.threshold / law.span)
        return self._with_jumps(self._by_nodes(vectors), vectors)

    def forces(self, friction: Floats) -> Floats:
        """Return the forces of every segment on its nodes, as added to a residual, (c, slots, d).

        Parameters
        ----------
        friction : (cells,) force of friction per coordinate and area in every cell [Pa]
        """
        total = self.of_energy
        if friction.any():
            total = total + friction[self.segments.cell, None] * self._of_slip
        by_nodes = self._by_nodes(total)
        return by_nodes.reshape(by_nodes.shape[0], -1, 2)

    def slots(self) -> tuple[int, int, int]:
        """Return how many components own nodes have, those of one partner element, and all."""
        n_own = 2 * self.pairs.own_functions.shape[1]
        n_element = 2 * self.pairs.partner_functions.shape[1]
        return n_own, n_element, n_own + n_element * self.segments.partner_elements.shape[1]

    def _by_nodes(self, vector: Floats) -> Floats:
        """Return variations by own nodes and those of all slots, from those by (y, s_a, s_b)."""
        n_own, n_element, n_total = self.slots()
        count = vector.shape[0]
        if n_total == n_own + n_element:
            by_nodes = vector[:, :n_total].copy()
        else:
            by_nodes = np.zeros((count, n_total))
            by_nodes[:, :n_own] = vector[:, :n_own]
            parts = by_nodes[:, n_own:].reshape(count, -1, n_element)
            parts[np.arange(count), self.segments.slot] = vector[:, n_own:-2]
        for group in self._breakpoints:
            by_nodes[group.which] += vector[group.which, -2 + group.end, None] * group.first
        return by_nodes

    # ------------------------------------------------------------ second variations

    def hessian(self, friction: Floats) -> tuple[Floats, tuple[Floats, Floats] | None]:
        """Return the second variation at fixed forces of friction, (c, slots d, slots d).

        Where the projection jumps, also those by the nodes of one segment and of the other one.
        """
        tau = np.repeat(friction[self.segments.cell], self.each)
        return self._hessian_by_nodes(self._low_rank(tau), tau)

    def _low_rank(self, tau: Floats) -> Floats:
        """Return the sum of second variations at points, with fixed ends of segments.

        Of the energy, psi'' dg dg + psi' ddg; of friction at fixed tau, tau span ddxi. Each term
        is an outer product: `left` and `right` hold the factors of all of them.
        """
        # ddg = -(a . dr) rotates - (n . da) dxi, where `rotates` is -dn . a / |a|^2
        law, each = self.laws, self.each
        weight = np.where(self.pairs.has_closest, self.weight, 0.0)
        gap, of_xi, tangential = self.of_gap, self.of_xi, self.tangential
        bend = (self.normal * self.b).sum(axis=1)
        of_slope = self._of_partner(self.by_a, self.normal)
        rotates = (of_slope + bend[:, None] * of_xi) / self.size[:, None]
        if (corner := self.pairs.corner).any():
            rotates[corner] = -tangential[corner] / (self.size * self.gap)[corner, None]
        left = [gap, tangential, of_slope]
        right = [-law.slope[:, None] * gap, law.normal_traction[:, None] * rotates]
        right.append(law.normal_traction[:, None] * of_xi)
        if tau.any():
            f = (tau * law.span / self.metric)[:, None]
            bends = self._relative(self.b) + self._of_partner(self.by_b, self.r)
            bends -= 2.0 * self._of_partner(self.by_a, self.a)
            third = self.curves.third(self.pairs.element, self.pairs.xi[None], self.states[0]).T
            second_of_xi = -3.0 * (self.a * self.b).sum(axis=1) + (self.r * third).sum(axis=1)
            for axis in np.eye(2):
                unit = np.broadcast_to(axis, self.r.shape)
                one, other = self._relative(unit), self._of_partner(self.by_a, unit)
                left += [one, other]
                right += [f * other, f * one]
            second_of_xi = np.where(corner, 0.0, second_of_xi)
            left += [bends, of_xi]
            right += [f * of_xi, f * (bends + second_of_xi[:, None] * of_xi)]
        u, v = np.stack(left, axis=1), np.stack(right, axis=1) * weight[:, None, None]
        n_variables = u.shape[2]
        u, v = (factor.reshape(-1, each * factor.shape[1], n_variables) for factor in (u, v))
        return np.asarray(np.matmul(u.transpose(0, 2, 1), v))

    def _hessian_by_nodes(
        self, by_variables: Floats, tau: Floats
    ) -> tuple[Floats, tuple[Floats, Floats] | None]:
        """Return second variations by nodes from those by (y, s_a, s_b), by the chain rule."""
        # blocks of own nodes and of the closest element, in the slots of their nodes
        n_own, n_element, n_total = self.slots()
        count = by_variables.shape[0]
        if n_total == n_own + n_element:
            hessian = by_variables[:, :n_total, :n_total].copy()
        else:
            hessian = np.zeros((count, n_total, n_total))
            at = n_own + n_element * self.segments.slot
            for slot in range(self.segments.partner_elements.shape[1]):
                chosen = np.flatnonzero(self.segments.slot == slot)
                rows = np.r_[0:n_own, n_own + n_element * slot : n_own + n_element * (slot + 1)]
                hessian[chosen[:, None, None], rows[:, None], rows[None]] = by_variables[chosen][
                    :, :-2, :-2
                ]
            assert at.size == count
        which = self.variable
        if not which.size:
            return hessian, None
        second, ends = self._of_ends(by_variables, tau, which)
        # chain rule: derivatives of (y, s_a, s_b) with respect to nodes
        chain = np.zeros((which.size, by_variables.shape[1], n_total))
        rows = np.arange(which.size)[:, None]
        chain[:, np.arange(n_own), np.arange(n_own)] = 1.0
        inner = np.arange(n_element)
        columns = n_own + n_element * self.segments.slot[which][:, None] + inner
        chain[rows, n_own + inner, columns] = 1.0
        place = np.full(count, -1)
        place[which] = np.arange(which.size)
        for group in self._breakpoints:
            chain[place[group.which], n_own + n_element + group.end] = group.first
        hessian[which] = np.matmul(chain.transpose(0, 2, 1), np.matmul(second, chain))
        for group in self._breakpoints:
            hessian[group.which] += ends[place[group.which], group.end, None, None] * group.second()
        if self.jumps is None:
            return hessian, None
        at = place[np.concatenate([self.jumps.one, self.jumps.other])]
        return hessian, self.jumps.bend(hessian, second[at], chain[at])

    def _of_ends(self, by_variables: Floats, tau: Floats, which: Ints) -> tuple[Floats, Floats]:
        """Return second variations by (y, s_a, s_b) of segments that vary, and first ones by ends.

        `by_variables` holds those with fixed ends.
        """
        # integrand F and its first variation at the points of the segments that vary
        law, each = self.laws, self.each
        at = (which[:, None] * each + np.arange(each)).ravel()
        vector = -law.normal_traction[at, None] * self.of_gap[at]
        vector += (tau * law.span)[at, None] * self.of_xi[at]
        value = law.psi[at] + tau[at] * law.slip[at]
        gauss_weight, length, size, rate, base = (
            values[..., at] for values in (*self._weight_terms[:4], self._weight_terms[4])
        )
        q, weight = self.q[at], self.weight[at]
        third = self.curves.own_third(
            self.pairs.own_element[at], self.pairs.s[at][None], self.states[1]
        )
        # second derivative of the reference length |X'| along the own element, for ddW
        change = (dot(base[2], base[2]) + dot(base[1], third) - rate * rate) / size
        ends = np.broadcast_to(np.array([-1.0, 1.0]), q.shape)
        second_weight = rate[:, None, None] * symmetric_product(ends, q) + (length * change)[
            :, None, None
        ] * outer(q, q)
        # dW dF + dF dW + F ddW
        grown = np.zeros_like(vector)
        grown[:, -2:] = self.by_ends[at]
        more = symmetric_product(grown, vector)
        more[:, -2:, -2:] += (value * gauss_weight)[:, None, None] * second_weight
        # dd X(s_q) by nodes and ends, and by ends twice: X' varies with nodes, and with s
        force = weight[:, None] * (
            -law.normal_traction[at, None] * self.normal[at]
            + (tau * law.span / self.metric)[at, None] * self.a[at]
        )
        by_node = functional(self.pairs.own_functions[1].T[at], force)
        cross = by_node[:, :, None] * q[:, None, :]
        n_own = by_node.shape[1]
        more[:, :n_own, -2:] += cross
        more[:, -2:, :n_own] += cross.transpose(0, 2, 1)
        curvature_term = (force * self.pairs.own_places[2].T[at]).sum(axis=1)
        more[:, -2:, -2:] += curvature_term[:, None, None] * outer(q, q)
        more[~self.pairs.has_closest[at]] = 0.0
        n_variables = more.shape[1]
        second = by_variables[which] + more.reshape(-1, each, n_variables, n_variables).sum(axis=1)
        total = self.of_energy[which] + tau[which * each, None] * self._of_slip[which]
        return second, total[:, -2:]

    # ------------------------------------------------------------ moving ends

    @functools.cached_property
    def _breakpoints(self) -> list[Breakpoints]:
        return segment_breakpoints(self)


def cell_integrals(variations: SegmentVariations, cells: int) -> CellIntegrals:
    """Return integrals over cells."""
    cell = np.repeat(variations.segments.cell, variations.each)
    law, weight = variations.laws, np.where(variations.pairs.has_closest, variations.weight, 0.0)

    def integral(value: Floats) -> Floats:
        weighted = np.where(weight != 0.0, weight * value, 0.0)
        return np.asarray(np.bincount(cell, weighted, cells), dtype=np.float64)

    one = np.ones_like(weight)
    integrands = (one, law.zeta, law.slip, law.psi, law.well, law.normal_traction, law.threshold)
    return CellIntegrals._make(
        [*map(integral, integrands), integral(variations.tangent_length * law.threshold / law.span)]
    )
