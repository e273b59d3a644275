"""Contact of two bodies by virtual work: one integral, whose variation loads both of them.

    W = int [Psi(g) + j eps (zeta_p - zeta_s)^2 / 2] dA,   dW = int [-T dg + j tau dzeta_p] dA,

over the reference boundary of one body, with the gap g and the coordinate zeta along the partner,
its reference length. The nearest point moves with everything, (x_k - x) . a = 0:

    dxi = [a . (dx_k - dx) + g n . da] / (a . a - g n . a_,xi),   dzeta = span dxi.

So friction does work on what slides over what and on nothing else; the term g n . da is what the
couple g n x t of two tractions at a gap apart needs. Rigid motions of both bodies together change
neither g nor zeta, so forces and moments balance at each point, whatever is integrated where. In
stick tau = eps (zeta_p - zeta_s); where the traction tau / l per current length, l = |a| / span,
reaches the threshold s, tau = l s, and zeta_s follows: heat is tau times its step, to the digit.

Where a partner has a corner, the nearest point of all that lies before it is the corner itself:
g = |x_k - x_c|, and zeta does not move. The gap stays continuous, and no traction is lost there.

Points come first here: a functional of the nodes is (p, slots, d), with slots for the nodes of the
own boundary and of the partner at the nearest point.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.interface_tractions import DECIDE, STICK
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact, ContactPass, Found, History
from stiction.solids.contact.segments import cut, marks_of
from stiction.solids.dimensions import frame

__all__ = ["MortarPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class _Point(NamedTuple):
    """Places at points of contact, (p, d), and functions that move them, (p, slots).

    Parameters
    ----------
    a, b, c : tangent of the partner and its first and second changes
    r, n : from the nearest point to the own one, and the normal
    by_r, by_a, by_b : how nodes move r, a and b
    """

    a: Floats
    b: Floats
    c: Floats
    r: Floats
    n: Floats
    by_r: Floats
    by_a: Floats
    by_b: Floats


# rows of what friction leaves for the tangent: tau times the span, whether a point sticks, and the
# sense of slip
_WORK, _HOLDS, _SENSE = range(3)


def _of(by: Floats, v: Floats) -> Floats:
    """Return the functional v . d(what nodes move by these functions), (p, slots, d)."""
    return by[:, :, None] * v[:, None, :]


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray((a * b).sum(axis=1))


def _outer(one: Floats, other: Floats) -> Floats:
    """Return the bilinear form of two functionals, (p, slots, d, slots, d)."""
    return one[:, :, :, None, None] * other[:, None, None, :, :]


def _both(one: Floats, other: Floats) -> Floats:
    """Return the symmetric form one (x) other + other (x) one."""
    made = _outer(one, other)
    return made + made.transpose(0, 3, 4, 1, 2)


class MortarPass(ContactPass):
    """One pass over one boundary that loads both bodies.

    The boundary is cut where pieces of the partner begin, as both stand at the start.

    Parameters
    ----------
    contact : the description
    own, partner : the boundaries, in the global numbering
    points : (nodes, d) reference places of all nodes

    Source: Puso and Laursen 2004; Sauer and De Lorenzis 2015; the work of friction as above.
    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """

    def __init__(self, contact: Contact, own: Surface, partner: Surface, points: Floats) -> None:
        pieces, xis = marks_of(own, partner, points)
        super().__init__(contact, cut(own, pieces, xis, points), partner, points)
        self.half, self.share, self.mortar = False, 1.0, True
        both = int(own.nodes.shape[1]) + int(partner.nodes.shape[1])
        self.shape = (self.count, self.dim * both, self.dim * both)

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass; tractions follow from energies per own area, and thin not."""
        settings = super()._constants.copy()
        settings[k.THINS] = 0.0
        return settings

    def project(self, x: Floats, guess: Found | None) -> Found:
        """Return the nearest points of all, not only those next to a guess.

        Where a partner is wavy, the nearest of two crests is the energy's, and a crest that was
        nearest once is not followed beyond that.
        """
        place = self.places(x)
        found = self.nearest(place, self._search(place, x), x)
        if guess is None:
            return found
        near = self.nearest(place, guess, x)
        far = [
            k.lengths(place.T - self.curve.points(one.element, one.xi.T, x)[1][0])
            for one in (found, near)
        ]
        # the guess is kept unless another is nearer by more than rounding
        better = near.normal & (~found.normal | (far[1] <= far[0] * (1.0 + 1e-12)))
        for kept, other in zip(found, near, strict=True):
            kept[better] = other[better]
        return found

    def blocks(self, found: Found, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block, (p, ...)."""
        both = np.concatenate([self._nodes, self.partner.nodes[found.element]], axis=1)
        return both, both

    def signature(self, found: Found, history: History) -> tuple[bytes, bytes]:
        """Return what decides which blocks the tangent has: not where slip began."""
        return found.element.tobytes(), b""

    def _corners(self, found: Found) -> npt.NDArray[np.bool_]:
        """Return which points have a corner of the partner as the nearest place of all."""
        side = (found.xi[:, 0] > 0.0).astype(np.int64)
        goes_on = self.neighbours[found.element, side] >= 0
        return np.asarray(~found.normal & (np.abs(found.xi[:, 0]) == 1.0) & goes_on)

    def _meeting(
        self, x: Floats, points: Floats, found: Found, origin: Floats, turned: float
    ) -> k.Meeting:
        """Return the partner at nearest points; a corner turns to the point that it meets."""
        meets = super()._meeting(x, points, found, origin, turned)
        corner = self._corners(found)
        if corner.any():
            away = (points - meets.place[k.PLACE])[:, corner]
            meets.place[k.ALONG :, :, corner] = 0.0
            meets.place[k.ALONG, :, corner] = frame(away / k.lengths(away))[0].T
        return meets

    def _tractions(
        self,
        out: Floats,
        tangent: Floats,
        wanted: Ints,
        found: Found,
        meets: k.Meeting,
        origin: Floats,
        settings: Floats,
    ) -> k.Touching:
        """Fill in gap and tractions of each point, friction along the coordinate of the partner."""
        free = np.full_like(wanted, k.FREE)
        found = found._replace(normal=found.normal | self._corners(found))
        told = super()._tractions(out, tangent, free, found, meets, origin, settings)
        rubs = (wanted != k.FREE) & told.meets
        penalty, threshold = settings[k.PENALTY], out[k.THRESHOLD]
        (coordinate,), (span,), (began,) = meets.coordinate, meets.span, origin
        along = meets.place[k.ALONG]
        stretch = k.lengths(along) / span
        trial = penalty * (coordinate - began)
        size = np.abs(trial) / stretch
        held = wanted == STICK
        sticky = (wanted == k.STUCK) & (size < settings[k.STICK_RATIO] * threshold)
        asks = (wanted == DECIDE) | (wanted == k.STUCK)
        holds = held | sticky | (asks & (size < threshold))
        sense = np.sign(trial)
        tau = np.where(holds, trial, sense * stretch * threshold)
        step = np.where(holds, 0.0, (trial - tau) / penalty)
        there = rubs & (holds | (threshold > 0.0))
        w = out[k.WEIGHT] * told.per_area
        unit = along / k.lengths(along)
        for column, value in (
            (k.STATE, np.where(holds, k.STICKS, k.SLIDES)),
            (k.ORIGIN, began + step),
            (k.HEAT, w * tau * step),
            (k.SPRING, w * tau * tau / (2.0 * penalty)),
            (k.SHEAR, -told.per_area * tau / stretch * k.dot(unit, tangent[0])),
            (k.EXCESS, size - threshold),
            (k.RUB, w * tau),
            (k.SLID, step),
            *((k.SLIP_X + p, step * along[p] / span) for p in range(self.dim)),
        ):
            out[column] = np.where(there, value, out[column])
        slide = np.stack([tau * span, holds.astype(np.float64), sense])
        return told._replace(rubs=there, slide=np.where(there, slide, 0.0))

    def _load(
        self,
        out: Floats,
        found: Found,
        history: History,
        meets: k.Meeting,
        tangent: Floats,
        told: k.Touching,
        x: Floats,
        residual: Floats,
        values: Floats | None,
    ) -> None:
        """Add forces on both bodies, and fill in the tangent."""
        at = self._point(out, found, meets, x)
        corner = self._corners(found)
        metric = np.where(corner, np.inf, _dot(at.a, at.a) - _dot(at.r, at.b))
        moves = (_of(at.by_r, at.a) + _of(at.by_a, at.r)) / metric[:, None, None]
        gap, w = _of(at.by_r, at.n), out[k.WEIGHT]
        slides = (told.per_area * told.slide[_WORK])[:, None, None] * moves
        force = w[:, None, None] * (slides - told.pull[:, None, None] * gap)
        force = np.where(told.meets[:, None, None], force, 0.0)
        nodes, _ = self.blocks(found, history)
        np.add.at(residual, nodes, force)
        mine = int(self.own.nodes.shape[1])
        out[k.FORCE_X : k.FORCE_X + self.dim] = -force[:, :mine].sum(axis=1).T
        if values is None:
            return
        form = self._form(at, moves, metric, gap, meets.span[0], told)
        if self._constants[k.PER_CURRENT] > 0.0:
            # the current area grows with the own boundary
            rate = self._functions[k.RATE].T / self._length[:, None]
            grows = np.zeros_like(gap)
            grows[:, :mine] = _of(rate, tangent[0].T)
            form = form + _outer(told.slide[_WORK][:, None, None] * moves, grows)
        wide = (slice(None), *(None,) * 4)
        values[...] = np.where(told.meets[wide], w[wide] * form, 0.0).reshape(self.shape)

    def _point(self, out: Floats, found: Found, meets: k.Meeting, x: Floats) -> _Point:
        """Return what is known of every point."""
        own, near = self._functions[k.VALUE].T, meets.near
        none = np.zeros_like(own)
        place, a, b = (row.T for row in meets.place)
        smooth = ~self._corners(found)[:, None]
        return _Point(
            a,
            b,
            np.where(smooth, self.curve.third(found.element, found.xi.T, x).T, 0.0),
            out[k.X : k.X + self.dim].T - place,
            out[k.NORMAL_X : k.NORMAL_X + self.dim].T,
            np.concatenate([own, -near[0].T], axis=1),
            np.where(smooth, np.concatenate([none, near[1].T], axis=1), 0.0),
            np.where(smooth, np.concatenate([none, near[2].T], axis=1), 0.0),
        )

    def _form(
        self,
        at: _Point,
        moves: Floats,
        metric: Floats,
        gap: Floats,
        span: Floats,
        told: k.Touching,
    ) -> Floats:
        """Return the second variation of the work at every point, (p, slots, d, slots, d)."""
        wide = (slice(None), *(None,) * 4)
        thin = (slice(None), None, None)
        along = _of(at.by_r, at.a)
        turns = _of(at.by_a, at.n) + _dot(at.n, at.b)[thin] * moves
        size = _dot(at.a, at.a)
        of_gap = -_outer(along, turns) / size[wide] - _outer(_of(at.by_a, at.n), moves)
        corner = np.isinf(metric)
        if corner.any():
            # at a corner the normal turns with the line to it
            of_gap[corner] = (_outer(along, along) / (size * _dot(at.r, at.n))[wide])[corner]
        form = -told.slope[wide] * _outer(gap, gap) - told.pull[wide] * of_gap
        if not told.rubs.any():
            return np.asarray(form)
        work, holds, sense = told.slide
        bends = _of(at.by_r, at.b) + _of(at.by_b, at.r) - 2.0 * _of(at.by_a, at.a)
        twice = -3.0 * _dot(at.a, at.b) + _dot(at.r, at.c)
        one = np.eye(self.dim)[None, None, :, None, :]
        cross = at.by_r[:, :, None, None, None] * at.by_a[:, None, None, :, None] * one
        second = cross + cross.transpose(0, 3, 4, 1, 2) + _both(bends, moves)
        second = (second + twice[wide] * _outer(moves, moves)) / metric[wide]
        # in stick tau follows zeta; in slip tau span = s |a| follows the gap and the tangent
        stiff = holds * self._constants[k.PENALTY] * span * span
        long = np.sqrt(size)
        grows = (_of(at.by_a, at.a) + _dot(at.a, at.b)[thin] * moves) / long[thin]
        slip = (1.0 - holds) * sense
        rate = (slip * long * told.by_gap)[thin] * gap
        rate = rate + ((1.0 - holds) * work / long)[thin] * grows + stiff[thin] * moves
        rub = work[wide] * second + _outer(moves, rate)
        return np.asarray(form + np.where(told.rubs[wide], told.per_area[wide] * rub, 0.0))
