"""First and second variations of integrals over segments whose ends move.

A functional is a sum over points, Q = sum_q W F, with weights W = share (s_b - s_a) J(s_q) and
places s_q = s_a + t (s_b - s_a) on the own boundary. Variations are written in the places y of the
own nodes and of those of one piece of the partner, and in s_a and s_b,

    dQ = sum W dF + F dW,    ddQ = sum W ddF + dW dF + dF dW + F ddW,

and then taken to nodes alone with the marks s(y), see `mark_forms`.

Second variations at points have low rank: each is a sum of products of two vectors, and those of
all points of a segment are added in one product of matrices.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact.mark_forms import Opposite, both_ways, marks, of, outer
from stiction.solids.contact.segments import Segments
from stiction.solids.contact.sweeps import dot, lengths

if TYPE_CHECKING:
    from stiction.solids.contact.mark_forms import JumpForms

__all__ = ["Curves", "Forms", "Laws", "Met", "Sums", "sums"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Met(NamedTuple):
    """Points of segments, segment after segment, and what they meet; rows as `Pieces.points` has.

    Parameters
    ----------
    own_piece, s : (p,) on the own boundary
    own, here : (3, n, p) functions and (3, d, p) places there
    element, xi : (p,) on the partner
    near, there : (3, m, p) functions and (3, d, p) places there
    corner, meets : (p,) whether a corner is met, and whether anything is
    """

    own_piece: Ints
    s: Floats
    own: Floats
    here: Floats
    element: Ints
    xi: Floats
    near: Floats
    there: Floats
    corner: Bools
    meets: Bools


class Curves(NamedTuple):
    """Both boundaries.

    Parameters
    ----------
    own : functions and places of the own one at pieces and xi (c,), in a state
    near : the same of the partner, at xi (1, c)
    own_third, third : third derivatives of places on either
    ends : (2, rows, n, pieces) functions of the partner at both ends of its pieces
    partner : its arrays
    """

    own: Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]
    near: Callable[[Ints, Floats, Floats], tuple[Floats, Floats]]
    own_third: Callable[[Ints, Floats, Floats], Floats]
    third: Callable[[Ints, Floats, Floats], Floats]
    ends: Floats
    partner: Surface


class Laws(NamedTuple):
    """What laws say at points, (p,) each.

    Parameters
    ----------
    span : change of the coordinate along the partner with xi
    zeta, way : the coordinate, and how far it is from the origin of slip [m]
    psi, well : potential and what attraction scales of it [J/m^2]
    pull, slope : normal traction [Pa] and its derivative by the gap [Pa/m]
    threshold, by_gap : for sliding [Pa] and its derivative [Pa/m]
    """

    span: Floats
    zeta: Floats
    way: Floats
    psi: Floats
    well: Floats
    pull: Floats
    slope: Floats
    threshold: Floats
    by_gap: Floats


class Sums(NamedTuple):
    """Integrals over each cell, (cells,): of one, of what laws say, and of l s in `rub`."""

    weight: Floats
    zeta: Floats
    way: Floats
    psi: Floats
    well: Floats
    pull: Floats
    threshold: Floats
    rub: Floats


class Forms:
    """Geometry and laws at the points of segments in a state.

    Parameters
    ----------
    made, met : segments and their points
    curves : the own boundary and the partner
    states : (nodes, d) places now and at reference [m]
    base : (3, d, p) reference places of the points
    """

    def __init__(
        self,
        made: Segments,
        met: Met,
        curves: Curves,
        states: tuple[Floats, Floats],
        base: Floats,
    ) -> None:
        self.made, self.met, self.curves, self.states = made, met, curves, states
        self.each = made.at.shape[1]
        r, a = met.here[0] - met.there[0], met.there[1]
        self.long = lengths(a)
        far = lengths(r)
        normal = np.where(met.corner, r / far, np.stack([a[1], -a[0]]) / self.long)
        self.gap = dot(r, normal)
        # at a corner the tangent is across the line to it
        tangent = np.where(met.corner, np.stack([-normal[1], normal[0]]), a)
        self.r, self.a, self.normal = r.T, tangent.T, normal.T
        self.size = dot(tangent, tangent)
        b = np.where(met.corner, 0.0, met.there[2])
        self.b, self.metric = b.T, np.where(met.corner, np.inf, self.size - dot(r, b))
        # weights and their rates with both ends of the segment
        length = np.repeat(made.ends[:, 1] - made.ends[:, 0], self.each)
        share, t = made.share.ravel(), made.at.ravel()
        self.q = np.stack([1.0 - t, t], axis=1)
        size = lengths(base[1])
        rate = dot(base[1], base[2]) / size
        real = share * met.meets
        self.weight = real * length * size
        ends = np.array([-1.0, 1.0])
        self.by_ends = real[:, None] * (size[:, None] * ends + (length * rate)[:, None] * self.q)
        self._parts = real, length, size, rate, base
        own, near = met.own.transpose(0, 2, 1), met.near.transpose(0, 2, 1)
        none = np.zeros_like(own[0])
        smooth = ~met.corner[:, None]
        self.by_r = np.concatenate([own[0], -near[0]], axis=1)
        self.by_a = np.concatenate([none, near[1] * smooth], axis=1)
        self.by_b = np.concatenate([none, near[2] * smooth], axis=1)
        self._along = np.concatenate([none, near[1]], axis=1)
        self.marked = np.flatnonzero((made.tangents >= 0).any(axis=(1, 2)))

    laws: Laws
    jumps: JumpForms | None = None

    def set_jumps(self, jumps: JumpForms) -> None:
        """Let jumps of the projection move in tangents."""
        self.jumps = jumps
        self.marked = np.unique(np.concatenate([self.marked, jumps.one, jumps.other]))

    # ------------------------------------------------------------ vectors at points

    def _moving(self, v: Floats) -> Floats:
        """Return v . dr, (p, M): places of nodes, then both ends of the segment."""
        slide = (self.met.here[1].T * v).sum(axis=1)
        return np.concatenate([of(self.by_r, v), slide[:, None] * self.q], axis=1)

    def _still(self, by: Floats, v: Floats) -> Floats:
        """Return v . d(what partner nodes move), (p, M); ends of the segment do nothing."""
        return np.concatenate([of(by, v), np.zeros_like(self.q)], axis=1)

    @functools.cached_property
    def of_gap(self) -> Floats:
        """First variation of the gap."""
        return self._moving(self.normal)

    @functools.cached_property
    def across(self) -> Floats:
        """What moves a point along the tangent, a . dr."""
        return self._moving(self.a)

    @functools.cached_property
    def moves(self) -> Floats:
        """First variation of xi."""
        return (self.across + self._still(self.by_a, self.r)) / self.metric[:, None]

    def _summed(self, vectors: Floats, values: Floats) -> Floats:
        """Return the variation of sum W F of every segment, (c, M), from dF (p, M) and F (p,)."""
        made = self.weight[:, None] * vectors
        made[:, -2:] += values[:, None] * self.by_ends
        made[~self.met.meets] = 0.0
        return np.asarray(made.reshape(-1, self.each, made.shape[1]).sum(axis=1))

    # ------------------------------------------------------------ first variations

    @functools.cached_property
    def of_energy(self) -> Floats:
        """First variation of the energy, (c, M)."""
        return self._summed(-self.laws.pull[:, None] * self.of_gap, self.laws.psi)

    @functools.cached_property
    def _way(self) -> Floats:
        return self._summed(self.laws.span[:, None] * self.moves, self.laws.way)

    @functools.cached_property
    def way_gradient(self) -> Floats:
        """First variation of the integral of zeta over each segment, by nodes, (c, slots d).

        Jumps stay: nothing slides when a place is left for another one.
        """
        return self._by_nodes(self._way)

    @functools.cached_property
    def way_rate(self) -> Floats:
        """First variation of the integral of zeta, with jumps that move."""
        return self._with_jumps(self.way_gradient, self._way)

    def _with_jumps(self, made: Floats, vectors: Floats) -> Floats:
        if self.jumps is not None:
            made = made.copy()
            self.jumps.add(made, vectors)
        return made

    @functools.cached_property
    def rub_gradient(self) -> Floats:
        """First variation of the integral of l s, by nodes, (c, slots d)."""
        law, met = self.laws, self.met
        tangent = met.there[1].T
        turns = (tangent * met.there[2].T).sum(axis=1) * ~met.corner
        grows = self._still(self._along, tangent) + turns[:, None] * self.moves
        rate = (law.threshold / self.long)[:, None] * grows
        rate = (rate + (self.long * law.by_gap)[:, None] * self.of_gap) / law.span[:, None]
        vectors = self._summed(rate, self.long * law.threshold / law.span)
        return self._with_jumps(self._by_nodes(vectors), vectors)

    def forces(self, work: Floats) -> Floats:
        """Return the forces of every segment on its nodes, as added to a residual, (c, slots, d).

        Parameters
        ----------
        work : (cells,) force of friction per coordinate and area in every cell [Pa]
        """
        total = self.of_energy
        if work.any():
            total = total + work[self.made.cell, None] * self._way
        made = self._by_nodes(total)
        return made.reshape(made.shape[0], -1, 2)

    def slots(self) -> tuple[int, int, int]:
        """Return how many numbers own nodes have, those of one piece, and all slots."""
        mine, piece = 2 * self.met.own.shape[1], 2 * self.met.near.shape[1]
        return mine, piece, mine + piece * self.made.pieces.shape[1]

    def _by_nodes(self, vector: Floats) -> Floats:
        """Return variations by all nodes of the slots from those by (y, s_a, s_b)."""
        mine, piece, whole = self.slots()
        count = vector.shape[0]
        if whole == mine + piece:
            made = vector[:, :whole].copy()
        else:
            made = np.zeros((count, whole))
            made[:, :mine] = vector[:, :mine]
            parts = made[:, mine:].reshape(count, -1, piece)
            parts[np.arange(count), self.made.slot] = vector[:, mine:-2]
        for mark in self._marks:
            made[mark.which] += vector[mark.which, -2 + mark.end, None] * mark.first
        return made

    # ------------------------------------------------------------ second variations

    def hessian(self, work: Floats) -> tuple[Floats, tuple[Floats, Floats] | None]:
        """Return the second variation at fixed forces of friction, (c, slots d, slots d).

        Where the projection jumps, also those by the nodes of one segment and of the other one.
        """
        tau = np.repeat(work[self.made.cell], self.each)
        return self._hessian_by_nodes(self._low_rank(tau), tau)

    def _low_rank(self, tau: Floats) -> Floats:
        """Return the sum of second variations at points, without motions of ends."""
        law, each = self.laws, self.each
        weight = np.where(self.met.meets, self.weight, 0.0)
        gap, moves, across = self.of_gap, self.moves, self.across
        bend = (self.normal * self.b).sum(axis=1)
        leans = self._still(self.by_a, self.normal)
        turns = (leans + bend[:, None] * moves) / self.size[:, None]
        if (corner := self.met.corner).any():
            turns[corner] = -across[corner] / (self.size * self.gap)[corner, None]
        left, right = [gap, across, leans], [-law.slope[:, None] * gap, law.pull[:, None] * turns]
        right.append(law.pull[:, None] * moves)
        if tau.any():
            f = (tau * law.span / self.metric)[:, None]
            bends = self._moving(self.b) + self._still(self.by_b, self.r)
            bends -= 2.0 * self._still(self.by_a, self.a)
            third = self.curves.third(self.met.element, self.met.xi[None], self.states[0]).T
            twice = -3.0 * (self.a * self.b).sum(axis=1) + (self.r * third).sum(axis=1)
            for axis in np.eye(2):
                unit = np.broadcast_to(axis, self.r.shape)
                one, other = self._moving(unit), self._still(self.by_a, unit)
                left += [one, other]
                right += [f * other, f * one]
            twice = np.where(corner, 0.0, twice)
            left += [bends, moves]
            right += [f * moves, f * (bends + twice[:, None] * moves)]
        u, v = np.stack(left, axis=1), np.stack(right, axis=1) * weight[:, None, None]
        wide = u.shape[2]
        u, v = (part.reshape(-1, each * part.shape[1], wide) for part in (u, v))
        return np.asarray(np.matmul(u.transpose(0, 2, 1), v))

    def _hessian_by_nodes(
        self, made: Floats, tau: Floats
    ) -> tuple[Floats, tuple[Floats, Floats] | None]:
        mine, piece, whole = self.slots()
        count = made.shape[0]
        if whole == mine + piece:
            found = made[:, :whole, :whole].copy()
        else:
            found = np.zeros((count, whole, whole))
            at = mine + piece * self.made.slot
            for slot in range(self.made.pieces.shape[1]):
                here = np.flatnonzero(self.made.slot == slot)
                rows = np.r_[0:mine, mine + piece * slot : mine + piece * (slot + 1)]
                found[here[:, None, None], rows[:, None], rows[None]] = made[here][:, :-2, :-2]
            assert at.size == count
        which = self.marked
        if not which.size:
            return found, None
        second, ends = self._of_ends(made, tau, which)
        # nodes to (y, s_a, s_b)
        chain = np.zeros((which.size, made.shape[1], whole))
        rows = np.arange(which.size)[:, None]
        chain[:, np.arange(mine), np.arange(mine)] = 1.0
        inner = np.arange(piece)
        columns = mine + piece * self.made.slot[which][:, None] + inner
        chain[rows, mine + inner, columns] = 1.0
        place = np.full(count, -1)
        place[which] = np.arange(which.size)
        for mark in self._marks:
            chain[place[mark.which], mine + piece + mark.end] = mark.first
        found[which] = np.matmul(chain.transpose(0, 2, 1), np.matmul(second, chain))
        for mark in self._marks:
            found[mark.which] += ends[place[mark.which], mark.end, None, None] * mark.second()
        if self.jumps is None:
            return found, None
        at = place[np.concatenate([self.jumps.one, self.jumps.other])]
        return found, self.jumps.bend(found, second[at], chain[at])

    def _of_ends(self, made: Floats, tau: Floats, which: Ints) -> tuple[Floats, Floats]:
        """Return second variations of marked segments by (y, s_a, s_b), and first by their ends."""
        law, each = self.laws, self.each
        at = (which[:, None] * each + np.arange(each)).ravel()
        vector = -law.pull[at, None] * self.of_gap[at]
        vector += (tau * law.span)[at, None] * self.moves[at]
        value = law.psi[at] + tau[at] * law.way[at]
        real, length, size, rate, base = (
            part[..., at] for part in (*self._parts[:4], self._parts[4])
        )
        q, weight = self.q[at], self.weight[at]
        third = self.curves.own_third(self.met.own_piece[at], self.met.s[at][None], self.states[1])
        change = (dot(base[2], base[2]) + dot(base[1], third) - rate * rate) / size
        ends = np.broadcast_to(np.array([-1.0, 1.0]), q.shape)
        twice = rate[:, None, None] * both_ways(ends, q) + (length * change)[:, None, None] * outer(
            q, q
        )
        grown = np.zeros_like(vector)
        grown[:, -2:] = self.by_ends[at]
        more = both_ways(grown, vector)
        more[:, -2:, -2:] += (value * real)[:, None, None] * twice
        # places move twice with ends: along the tangent of nodes, and as it turns
        pull = weight[:, None] * (
            -law.pull[at, None] * self.normal[at]
            + (tau * law.span / self.metric)[at, None] * self.a[at]
        )
        turned = of(self.met.own[1].T[at], pull)
        cross = turned[:, :, None] * q[:, None, :]
        mine = turned.shape[1]
        more[:, :mine, -2:] += cross
        more[:, -2:, :mine] += cross.transpose(0, 2, 1)
        bent = (pull * self.met.here[2].T[at]).sum(axis=1)
        more[:, -2:, -2:] += bent[:, None, None] * outer(q, q)
        more[~self.met.meets[at]] = 0.0
        wide = more.shape[1]
        second = made[which] + more.reshape(-1, each, wide, wide).sum(axis=1)
        total = self.of_energy[which] + tau[which * each, None] * self._way[which]
        return second, total[:, -2:]

    # ------------------------------------------------------------ marks

    @functools.cached_property
    def _marks(self) -> list[Opposite]:
        return marks(self)


def sums(forms: Forms, cells: int) -> Sums:
    """Return integrals over cells."""
    cell = np.repeat(forms.made.cell, forms.each)
    law, weight = forms.laws, np.where(forms.met.meets, forms.weight, 0.0)

    def whole(value: Floats) -> Floats:
        found = np.where(weight != 0.0, weight * value, 0.0)
        return np.asarray(np.bincount(cell, found, cells), dtype=np.float64)

    one = np.ones_like(weight)
    told = (one, law.zeta, law.way, law.psi, law.well, law.pull, law.threshold)
    return Sums._make([*map(whole, told), whole(forms.long * law.threshold / law.span)])
