"""A boundary that touches itself: each pair of places is met from both sides, by half.

    W = 1/2 int Psi(g) dA

over the whole boundary, with the gap g to the nearest place that a place may meet. Half of the
energy of a pair comes from either side, so that neither the direction in which a boundary is
numbered nor where it begins decides anything.

A place may meet those that face it: on another piece than its own and the ones beside it, with a
normal against its own, and with either of them before the other. What lies behind a thin body is
none of these. A place that meets nothing has no traction.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import Contact, Found
from stiction.solids.contact.segment_forms import Met
from stiction.solids.contact.virtual_work import MortarPass

__all__ = ["SelfPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# nearest places that are looked at first, how many more each time, and places at once
_FIRST, _TIMES, _AT_ONCE = 16, 4, 512


class SelfPass(MortarPass):
    """One pass over one boundary that touches itself.

    Parameters
    ----------
    contact : the description
    own : the boundary, in the global numbering
    points : (nodes, d) reference places of all nodes

    Verified by: tests/unit/solids/equilibria/test_self_contact.py::test_one_boundary_is_as_two
    """

    part = 0.5

    def __init__(self, contact: Contact, own: Surface, points: Floats) -> None:
        super().__init__(contact, own, own, points)
        self._beside = np.concatenate(
            [np.arange(own.nodes.shape[0])[:, None], own.neighbours], axis=1
        )
        # how far behind each other places may be: what a law bears in the steps of an iteration
        self._depth = float(contact.adhesion.length)

    def _normals(self, at: tuple[Ints, Floats], x: Floats) -> tuple[Floats, Floats]:
        """Return places and outward normals (d, p) of the boundary."""
        _, here = self._own_at(*at, x)
        t = here[1] / k.lengths(here[1])
        return here[0], np.stack([t[1], -t[0]])

    def _faces(
        self, place: Floats, normal: Floats, e: Ints, other: tuple[Ints, Floats, Floats]
    ) -> Bools:
        """Return which places may meet which others; arrays (d, ...) and (...) go together.

        Parameters
        ----------
        place, normal, e : of places, with their pieces
        other : pieces, places and normals of the others
        """
        f, there, against = other
        away = place - there
        beside = (self._beside[e] == f[..., None]).any(axis=-1)
        found = ~beside & (_dot(normal, against) < 0.0)
        found &= (_dot(away, against) > -self._depth) & (_dot(away, normal) < self._depth)
        return np.asarray(found)

    def _starts(self, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> list[Found]:
        """Return the nearest places of some on each piece that may be met, or places themselves."""
        from scipy.spatial import cKDTree

        xis, elements, _ = self._cloud
        each = xis.shape[1]
        way = np.tile(xis[0], elements.size // each)
        there, against = self._normals((elements, way), x)
        _, normal = self._normals(at, x)
        e, xi = at[0].copy(), at[1].copy()
        tree, size = cKDTree(there.T), elements.size
        left, many = np.arange(e.size), min(_FIRST, size)
        while left.size:
            lost = []
            for i in range(0, left.size, _AT_ONCE):
                here = left[i : i + _AT_ONCE]
                _, near = tree.query(place[here], k=many)
                near = np.asarray(near, dtype=np.int64).reshape(here.size, many)
                fits = self._faces(
                    place[here].T[:, :, None],
                    normal[:, here, None],
                    at[0][here, None],
                    (elements[near], there[:, near], against[:, near]),
                )
                got = fits.any(axis=1)
                best = near[got, np.argmax(fits[got], axis=1)]
                e[here[got]], xi[here[got]] = elements[best], way[best]
                lost.append(here[~got])
            left = np.concatenate(lost)
            if many == size:
                break
            many = min(_TIMES * many, size)
        return [Found(e, xi[:, None], np.ones(e.size, dtype=bool))]

    def _nearer_elsewhere(self, met: Met, x: Floats) -> Bools:
        """Return nothing: what is admissible decides, and not what is nearest alone."""
        return np.zeros(met.s.size, dtype=np.bool_)

    def _kept(self, found: Found, place: Floats, x: Floats, at: tuple[Ints, Floats]) -> Found:
        """Return nearest points; those that may not be met count as none."""
        there, against = self._normals((found.element, found.xi[:, 0]), x)
        _, normal = self._normals(at, x)
        fits = self._faces(place.T, normal, at[0], (found.element, there, against))
        # in the middle of a piece, and not at an end that could be met as a corner
        xi = np.where(fits[:, None], found.xi, 0.0)
        return Found(found.element, xi, found.normal & fits)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[0] * b[0] + a[1] * b[1])
