"""Faces of a loaded boundary: shape functions and weights at Gauss points, for surface loads.

`equilibria.boundary_loads` integrates tractions, pressures and springs with them: the force of a
traction p on node a is sum_q N_a(xi_q) p areas_q over the Gauss points q. On a contact boundary
with a spline layer the functions are those of its curve; elsewhere they are those of the edges of
the cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Discretisation
from stiction.solids.elements.kinds import Element
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.splines import curve_functions, lagrange_extraction

__all__ = ["Faces", "faces_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Gauss points on a face: exact for polynomials of degree nine
_POINTS = 5


class Faces(NamedTuple):
    """Faces with the same number of functions; the body lies to the left of rising xi.

    Parameters
    ----------
    nodes : (s, n) nodes or control points of each face
    functions, derivatives : (s, q, n) N_a at the points, and dN_a/dxi
    areas : (s, q) reference area of each point, per unit thickness [m]
    rule : (q,) weights on [-1, 1]
    """

    nodes: Ints
    functions: Floats
    derivatives: Floats
    areas: Floats
    rule: Floats


def faces_of(
    mesh: Mesh, element: Element, part: Discretisation, name: str, contacts: tuple[str, ...]
) -> list[Faces]:
    """Return the faces of a boundary.

    Parameters
    ----------
    mesh, element, part : of the body
    name : of the boundary
    contacts : names of contact boundaries, which may have a layer of splines

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_faces_sum_to_the_length
    """
    xi, rule = np.polynomial.legendre.leggauss(_POINTS)
    facets = mesh.boundary(name)
    # one number per (cell, edge): a cell has at most four edges
    key = facets @ np.array([4, 1])
    remaining = np.ones(key.size, dtype=bool)
    faces = []
    for contact in contacts if element.SPLINE else ():
        surface = part.surfaces[contact]
        layer = mesh.boundary(contact) @ np.array([4, 1])
        in_layer = np.isin(layer, key)
        remaining &= ~np.isin(key, layer)
        if in_layer.any():
            curve = surface.extraction[in_layer], surface.weights[in_layer]
            faces.append(_faces(surface.nodes[in_layer], *curve, xi, rule, part.points))
    if remaining.any():
        places = _ends(mesh, element, name)[remaining]
        nodes = part.places.numbers[places, 0]
        extraction = lagrange_extraction(element.ORDER, nodes.shape[0])
        faces.append(_faces(nodes, extraction, np.ones(nodes.shape), xi, rule, part.points))
    return faces


def _ends(mesh: Mesh, element: Element, name: str) -> Ints:
    """Return the nodes of the mesh on each edge, first, middle and last."""
    if element.ORDER == 1:
        return mesh.edge_nodes(name)[:, :2]
    if mesh.cells.shape[1] == 9:
        return mesh.edge_nodes(name)[:, [0, 2, 1]]
    # quadratic elements of a mesh of corners have middles numbered after them, edge by edge
    edges, ends = mesh.edges, mesh.edge_nodes(name)
    number = np.full((mesh.cells.shape[0], 4), -1, dtype=np.int64)
    number[edges.cell, edges.side] = edges.number
    facets = mesh.boundary(name)
    middle = mesh.points.shape[0] + number[facets[:, 0], facets[:, 1]]
    return np.stack([ends[:, 0], middle, ends[:, 1]], axis=1)


def _faces(
    nodes: Ints, extraction: Floats, weights: Floats, xi: Floats, rule: Floats, points: Floats
) -> Faces:
    """Return faces from the Bezier form (see `arrays.Surface`) of the curve on them."""
    f, df = curve_functions(extraction, weights, xi)
    size = np.linalg.norm(np.matmul(df, points[nodes]), axis=2)
    f = np.broadcast_to(f, (*size.shape, nodes.shape[1]))
    df = np.broadcast_to(df, (*size.shape, nodes.shape[1]))
    return Faces(nodes, f, df, rule * size, rule)
