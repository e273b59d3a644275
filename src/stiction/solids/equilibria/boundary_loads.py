"""Tractions, pressures and springs on boundaries as vectors and matrices of the whole problem.

In the plane the current area with its normal is n da = (dy/dxi, -dx/dxi) dxi: linear in the places.
The force of a pressure p on node a,

    f_a = -p int N_a n da = -p sum_b G_ab x_b,   G_ab = int N_a N_b,xi dxi (0 1; -1 0),

has therefore a constant matrix; it is not symmetric unless the boundary is closed or its ends are
held. A spring spread over a boundary has the matrix k / L int N_a N_b dA.

Source: Wriggers 2008, sect. 4.2.5; Hibbitt 1979 for the symmetry of pressure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.elements.faces import Faces

__all__ = ["Entries", "followers", "mean_shares", "pressed", "shares_of", "spread"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Entries(NamedTuple):
    """Blocks between the nodes of faces: a part of the tangent.

    Parameters
    ----------
    nodes : (s, n) of each face
    blocks : (s, n, 2, n, 2)
    """

    nodes: Ints
    blocks: Floats

    def times(self, x: Floats) -> Floats:
        """Return the product with places or displacements (nodes, 2)."""
        out = np.zeros_like(x)
        found = np.einsum("sakbl,sbl->sak", self.blocks, x[self.nodes])
        np.add.at(out, self.nodes.ravel(), found.reshape(-1, 2))
        return out


def pressed(faces: list[Faces]) -> list[Entries]:
    """Return G of each group of faces: pressure times G times places is the outward residual.

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_tangents
    """
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    made = []
    for f in faces:
        both = np.einsum("q,sqa,sqb->sab", f.rule, f.functions, f.derivatives)
        made.append(Entries(f.nodes, both[:, :, None, :, None] * turn[:, None, :]))
    return made


def shares_of(faces: list[Faces], size: int) -> Floats:
    """Return int N_a dA of every node, (size,) [m]."""
    out = np.zeros(size)
    for f in faces:
        np.add.at(out, f.nodes.ravel(), np.einsum("sq,sqa->sa", f.areas, f.functions).ravel())
    return out


def mean_shares(faces: list[Faces], size: int) -> Floats:
    """Return by how much each node makes the mean displacement of the faces, (size,), sum 1."""
    found = shares_of(faces, size)
    return np.asarray(found / found.sum())


def spread(faces: list[Faces], component: int, stiffness: float) -> list[Entries]:
    """Return the matrix of a spring spread over the reference length of faces."""
    length = sum(float(f.areas.sum()) for f in faces)
    one = np.zeros((2, 2))
    one[component, component] = stiffness / length
    made = []
    for f in faces:
        both = np.einsum("sq,sqa,sqb->sab", f.areas, f.functions, f.functions)
        made.append(Entries(f.nodes, both[:, :, None, :, None] * one[:, None, :]))
    return made


def followers(entries: list[Entries], x: Floats) -> Floats:
    """Return the sum of products with places (nodes, 2)."""
    out = np.zeros_like(x)
    for e in entries:
        out += e.times(x)
    return out
