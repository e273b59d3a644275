"""Contact of two bodies by virtual work: one integral, whose variation loads both of them.

    W = int [Psi(g) + j |t|^2 / 2 eps] dA,   dW = int [-T dg + j t . dg_t] dA,

over the reference boundary of one body, with the gap g and g_t = x(xi_p) - x(xi_s) on the partner.
The nearest point moves with everything, (x_k - x) . a = 0:

    dxi = [a . (dx_k - dx) + g n . da] / (a . a - g n . a_,xi),
    dg_t = a dxi + dx(xi_p) - dx(xi_s).

Tractions then do work on what slides over what, t . a dxi; the term g n . da is what the couple
g n x t of two tractions at a gap apart needs. Rigid motions of both bodies together change neither
g nor |g_t|, so forces and moments balance at each point, whatever is integrated where.

Points come first here: a functional of the nodes is (p, slots, d), with slots for the nodes of the
own boundary, of the partner at the nearest point and of the partner at the origin of slip.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.laws.interface_tractions import DIRECTION, MODULUS, TRACTION
from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact, ContactPass, Found, History
from stiction.solids.contact.segments import cut, marks_of

__all__ = ["MortarPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class _Point(NamedTuple):
    """Places at points of contact, (p, d), and functions that move them, (p, slots).

    Parameters
    ----------
    a, b, c : tangent of the partner and its first and second changes
    r, n : from the nearest point to the own one, and the normal
    by_r, by_a, by_b, by_s : how nodes move r, a, b and x(xi_p) - x(xi_s)
    """

    a: Floats
    b: Floats
    c: Floats
    r: Floats
    n: Floats
    by_r: Floats
    by_a: Floats
    by_b: Floats
    by_s: Floats


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

    Source: Puso and Laursen 2004; Sauer and De Lorenzis 2015, with the term above.
    Verified by: tests/unit/solids/contact/test_virtual_work.py::test_tangents_against_differences
    """

    def __init__(self, contact: Contact, own: Surface, partner: Surface, points: Floats) -> None:
        pieces, xis = marks_of(own, partner, points)
        super().__init__(contact, cut(own, pieces, xis, points), partner, points)
        self.half, self.share = False, 1.0
        both = int(own.nodes.shape[1]) + 2 * int(partner.nodes.shape[1])
        self.shape = (self.count, self.dim * both, self.dim * both)

    @functools.cached_property
    def _constants(self) -> Floats:
        """The settings of a pass; tractions follow from energies per own area, and thin not."""
        settings = super()._constants.copy()
        settings[k.THINS] = 0.0
        return settings

    def blocks(self, found: Found, history: History) -> tuple[Ints, Ints]:
        """Return the nodes of the rows and of the columns of every tangent block, (p, ...)."""
        _, columns = super().blocks(found, history)
        return columns, columns

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
        j, w = told.per_area, np.where(told.meets, out[k.WEIGHT], 0.0)
        t = np.where(told.rubs, told.slide[TRACTION], 0.0).T
        moves, metric = self._moves(at)
        slides = _of(at.by_s, t) + _dot(t, at.a)[:, None, None] * moves
        gap = _of(at.by_r, at.n)
        force = j[:, None, None] * slides - told.pull[:, None, None] * gap
        force = np.where(told.meets[:, None, None], w[:, None, None] * force, 0.0)
        nodes, _ = self.blocks(found, history)
        np.add.at(residual, nodes, force)
        # what acts on the own body: friction leaves the couple of the gap to the normal forces
        mine = int(self.own.nodes.shape[1])
        out[k.FORCE_X : k.FORCE_X + self.dim] = -force[:, :mine].sum(axis=1).T
        out[k.RUB_X : k.RUB_X + self.dim] = (w * j)[:, None].T * t.T
        if values is None:
            return
        form = self._form(at, moves, metric, gap, t, told)
        if self._constants[k.PER_CURRENT] > 0.0:
            # the current area grows with the own boundary
            rate = self._functions[k.RATE].T / self._length[:, None]
            grows = np.zeros_like(gap)
            grows[:, :mine] = _of(rate, tangent[0].T)
            form = form + _outer(slides, grows)
        form = np.where(told.meets[:, None, None, None, None], w[:, None, None, None, None] * form, 0.0)
        values[...] = form.reshape(self.shape)

    def _point(self, out: Floats, found: Found, meets: k.Meeting, x: Floats) -> _Point:
        """Return what is known of every point."""
        own, near, far = self._functions[k.VALUE].T, meets.near, meets.far
        none, still = np.zeros_like(own), np.zeros_like(near[0].T)
        place, a, b = (row.T for row in meets.place)
        third = self.curve.third(found.element, found.xi.T, x)
        return _Point(
            a,
            b,
            third.T,
            out[k.X : k.X + self.dim].T - place,
            out[k.NORMAL_X : k.NORMAL_X + self.dim].T,
            np.concatenate([own, -near[0].T, still], axis=1),
            np.concatenate([none, near[1].T, still], axis=1),
            np.concatenate([none, near[2].T, still], axis=1),
            np.concatenate([none, near[0].T, -far[0].T], axis=1),
        )

    @staticmethod
    def _moves(at: _Point) -> tuple[Floats, Floats]:
        """Return dxi (p, slots, d), and a . a - r . b (p,)."""
        metric = _dot(at.a, at.a) - _dot(at.r, at.b)
        return (_of(at.by_r, at.a) + _of(at.by_a, at.r)) / metric[:, None, None], metric

    def _form(
        self, at: _Point, moves: Floats, metric: Floats, gap: Floats, t: Floats, told: k.Touching
    ) -> Floats:
        """Return the second variation of the work at every point, (p, slots, d, slots, d)."""
        wide = (slice(None), *(None,) * 4)
        one = np.eye(self.dim)[None, None, :, None, :]
        turns = _of(at.by_a, at.n) + _dot(at.n, at.b)[:, None, None] * moves
        size = _dot(at.a, at.a)[wide]
        of_gap = -_outer(_of(at.by_r, at.a), turns) / size - _outer(_of(at.by_a, at.n), moves)
        form = -told.slope[wide] * _outer(gap, gap) - told.pull[wide] * of_gap
        if not told.rubs.any():
            return form
        bends = _of(at.by_r, at.b) + _of(at.by_b, at.r) - 2.0 * _of(at.by_a, at.a)
        twice = -3.0 * _dot(at.a, at.b) + _dot(at.r, at.c)
        cross = at.by_r[:, :, None, None, None] * at.by_a[:, None, None, :, None] * one
        of_xi = cross + cross.transpose(0, 3, 4, 1, 2) + _both(bends, moves)
        of_xi = (of_xi + twice[wide] * _outer(moves, moves)) / metric[wide]
        rub = _dot(t, at.b)[wide] * _outer(moves, moves) + _dot(t, at.a)[wide] * of_xi
        rub = rub + _both(_of(at.by_a, t), moves)
        # g_t, one component after the other
        unit = np.eye(self.dim)
        slid = [
            _of(at.by_s, np.broadcast_to(unit[p], at.a.shape)) + at.a[:, p, None, None] * moves
            for p in range(self.dim)
        ]
        modulus, direction = told.slide[MODULUS:], told.slide[DIRECTION]
        for p in range(self.dim):
            row = direction[p][:, None, None] * told.by_gap[:, None, None] * gap
            for q in range(self.dim):
                row = row + modulus[p, q][:, None, None] * slid[q]
            rub = rub + _outer(slid[p], row)
        return form + np.where(told.rubs[wide], told.per_area[wide] * rub, 0.0)
