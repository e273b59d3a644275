"""Self-contact: a boundary that is its own partner, integrated over both sides with half weights.

    W = 1/2 int Psi(g) dA

over the whole boundary, with the gap g to the closest admissible point. Either side of a contact
pair contributes half of its energy, so that results depend neither on the direction in which the
boundary is numbered nor on its first node.

Two points are admissible partners if they lie on elements that are neither the same nor adjacent,
if their normals are opposed, and if each lies in front of the other. Points on the back of a thin
body are excluded by this. A point without an admissible partner has no traction. Forces and
tangents are those of `virtual_work`; `equilibria.problem` makes a `SelfPass` for a contact whose
boundary is its partner.

Psi is the potential of the normal traction per reference area. In arrays, p is the number of points
and d that of components.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Surface
from stiction.solids.contact import sweeps as k
from stiction.solids.contact.model import ClosestPoints, Contact
from stiction.solids.contact.segment_variations import ContactPairs
from stiction.solids.contact.virtual_work import MortarPass

__all__ = ["SelfPass"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# number of nearest samples tested first, its growth factor, and number of points per query
_FIRST, _GROWTH, _CHUNK = 16, 4, 512


class SelfPass(MortarPass):
    """One pass over one boundary that is its own partner.

    Parameters
    ----------
    contact : the description
    own : the boundary, in the global numbering
    points : (nodes, d) reference positions of all nodes

    Verified by: tests/unit/solids/equilibria/test_self_contact.py::test_one_boundary_is_as_two
    """

    weight_factor = 0.5

    def __init__(self, contact: Contact, own: Surface, points: Floats) -> None:
        super().__init__(contact, own, own, points)
        self._adjacent = np.concatenate(
            [np.arange(own.nodes.shape[0])[:, None], own.neighbours], axis=1
        )
        # penetration up to which points are admissible: Newton iterates may penetrate
        self._depth = float(contact.adhesion.length)

    def _normals(self, at: tuple[Ints, Floats], x: Floats) -> tuple[Floats, Floats]:
        """Return places and outward normals (d, p) of the boundary."""
        _, here = self._own_at(*at, x)
        t = here[1] / k.lengths(here[1])
        return here[0], np.stack([t[1], -t[0]])

    def _admits(
        self, place: Floats, normal: Floats, e: Ints, other: tuple[Ints, Floats, Floats]
    ) -> Bools:
        """Return which points are admissible partners; arrays (d, ...) and (...) broadcast.

        Parameters
        ----------
        place, normal, e : places, normals and elements of points
        other : elements, places and normals of their partners
        """
        elements, places, normals = other
        offset = place - places
        adjacent = (self._adjacent[e] == elements[..., None]).any(axis=-1)
        admitted = ~adjacent & (_dot(normal, normals) < 0.0)
        admitted &= (_dot(offset, normals) > -self._depth) & (_dot(offset, normal) < self._depth)
        return np.asarray(admitted)

    def _initial_guesses(
        self, place: Floats, x: Floats, at: tuple[Ints, Floats]
    ) -> list[ClosestPoints]:
        """Return each point's nearest admissible sample, or the point itself if there is none.

        place : (p, d) positions of the points; `x` those of all nodes [m]
        at : elements (p,) and parameters (p,) of the points
        """
        from scipy.spatial import cKDTree

        # samples with places and normals; a point without a partner starts at itself
        xis, elements, _ = self._samples
        each = xis.shape[1]
        sample_xi = np.tile(xis[0], elements.size // each)
        places, normals = self._normals((elements, sample_xi), x)
        _, normal = self._normals(at, x)
        e, xi = at[0].copy(), at[1].copy()
        tree, size = cKDTree(places.T), elements.size
        remaining, count = np.arange(e.size), min(_FIRST, size)
        # test the nearest samples of each point, more in each round, until one is admissible
        while remaining.size:
            unmatched = []
            for i in range(0, remaining.size, _CHUNK):
                chunk = remaining[i : i + _CHUNK]
                _, nearest = tree.query(place[chunk], k=count)
                nearest = np.asarray(nearest, dtype=np.int64).reshape(chunk.size, count)
                admitted = self._admits(
                    place[chunk].T[:, :, None],
                    normal[:, chunk, None],
                    at[0][chunk, None],
                    (elements[nearest], places[:, nearest], normals[:, nearest]),
                )
                found = admitted.any(axis=1)
                chosen = nearest[found, np.argmax(admitted[found], axis=1)]
                e[chunk[found]], xi[chunk[found]] = elements[chosen], sample_xi[chosen]
                unmatched.append(chunk[~found])
            remaining = np.concatenate(unmatched)
            if count == size:
                break
            count = min(_GROWTH * count, size)
        return [ClosestPoints(e, xi[:, None], np.ones(e.size, dtype=bool))]

    def _closer_elsewhere(self, pairs: ContactPairs, x: Floats) -> Bools:
        """Return False for every point: a nearer sample may not be an admissible partner."""
        return np.zeros(pairs.s.size, dtype=np.bool_)

    def _admissible(
        self, closest: ClosestPoints, place: Floats, x: Floats, at: tuple[Ints, Floats]
    ) -> ClosestPoints:
        """Return closest points; a point whose closest point is not admissible has none."""
        places, normals = self._normals((closest.element, closest.xi[:, 0]), x)
        _, normal = self._normals(at, x)
        admitted = self._admits(place.T, normal, at[0], (closest.element, places, normals))
        # xi = 0 lies inside the element; at xi = -1 or 1 the point would count as a corner
        xi = np.where(admitted[:, None], closest.xi, 0.0)
        return ClosestPoints(closest.element, xi, closest.normal & admitted)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[0] * b[0] + a[1] * b[1])
