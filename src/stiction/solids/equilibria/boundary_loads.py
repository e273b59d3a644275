"""Tractions, pressures and springs on boundaries as vectors and matrices of the whole problem.

In the plane the current normal area n da = (dy/dxi, -dx/dxi) dxi is linear in the positions. The
force of a pressure p on node a,

    f_a = -p int N_a n da = -p sum_b G_ab x_b,   G_ab = int N_a N_b,xi dxi (0 1; -1 0),

has therefore a constant matrix G. It is symmetric if the boundary is closed or its ends are fixed.
A spring distributed over a boundary has the matrix k / L int N_a N_b dA, with its stiffness k and
the reference length L. `boundary_conditions` calls these functions once per stage.

Source: Wriggers 2008, sect. 4.2.5; Hibbitt 1979 for the symmetry of pressure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.elements.faces import Faces

__all__ = [
    "FaceMatrices",
    "apply_matrices",
    "load_vector",
    "mean_weights",
    "pressure_matrices",
    "spring_matrices",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class FaceMatrices(NamedTuple):
    """Matrices of s faces, contributions to the tangent.

    Parameters
    ----------
    nodes : (s, n) nodes of each face
    blocks : (s, n, d, n, d) matrix between nodes and components of each face
    """

    nodes: Ints
    blocks: Floats

    def apply(self, x: Floats) -> Floats:
        """Return the product with positions or displacements (nodes, d)."""
        out = np.zeros_like(x)
        products = np.einsum("sakbl,sbl->sak", self.blocks, x[self.nodes])
        np.add.at(out, self.nodes.ravel(), products.reshape(-1, x.shape[1]))
        return out


def pressure_matrices(faces: list[Faces]) -> list[FaceMatrices]:
    """Return G of each group of faces: pressure times G times positions is the residual.

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_tangents
    """
    rotation = np.array([[0.0, 1.0], [-1.0, 0.0]])
    matrices = []
    for f in faces:
        products = np.einsum("q,sqa,sqb->sab", f.rule, f.functions, f.derivatives)
        matrices.append(FaceMatrices(f.nodes, products[:, :, None, :, None] * rotation[:, None, :]))
    return matrices


def load_vector(faces: list[Faces], size: int) -> Floats:
    """Return int N_a dA of every node, (size,) [m]."""
    out = np.zeros(size)
    for f in faces:
        np.add.at(out, f.nodes.ravel(), np.einsum("sq,sqa->sa", f.areas, f.functions).ravel())
    return out


def mean_weights(faces: list[Faces], size: int) -> Floats:
    """Return the weights of nodes in the mean displacement of the faces, (size,), sum 1."""
    integrals = load_vector(faces, size)
    return np.asarray(integrals / integrals.sum())


def spring_matrices(faces: list[Faces], component: int, stiffness: float) -> list[FaceMatrices]:
    """Return the matrix of a spring distributed over the reference length of faces.

    Parameters
    ----------
    faces : of the boundary
    component : 0 for x, 1 for y
    stiffness : force per width over displacement, of the whole boundary [Pa]
    """
    length = sum(float(f.areas.sum()) for f in faces)
    stiffness_matrix = np.zeros((2, 2))
    stiffness_matrix[component, component] = stiffness / length
    matrices = []
    for f in faces:
        products = np.einsum("sq,sqa,sqb->sab", f.areas, f.functions, f.functions)
        matrices.append(
            FaceMatrices(f.nodes, products[:, :, None, :, None] * stiffness_matrix[:, None, :])
        )
    return matrices


def apply_matrices(entries: list[FaceMatrices], x: Floats) -> Floats:
    """Return the sum of the products of all face matrices with x (nodes, d)."""
    out = np.zeros_like(x)
    for e in entries:
        out += e.apply(x)
    return out
