"""The faces of a boundary that is loaded: the functions on it, whether it touches something or not.

Where a boundary has a layer of splines its functions are those of the curve; elsewhere they are
those of the cells.
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

# points on a face: exact for products of functions of degree four
_POINTS = 5


class Faces(NamedTuple):
    """Faces with equally many functions, the body to the left of rising xi.

    Parameters
    ----------
    nodes : (s, n)
    functions, derivatives : (s, q, n) at the points, and by xi
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
    contacts : boundaries that have a layer of their own

    Verified by: tests/unit/solids/equilibria/test_boundary_loads.py::test_faces_sum_to_the_length
    """
    xi, rule = np.polynomial.legendre.leggauss(_POINTS)
    pieces = mesh.boundary(name)
    key = pieces @ np.array([4, 1])
    left = np.ones(key.size, dtype=bool)
    made = []
    for contact in contacts if element.SPLINE else ():
        surface = part.surfaces[contact]
        there = np.isin(mesh.boundary(contact) @ np.array([4, 1]), key)
        left &= ~np.isin(key, mesh.boundary(contact) @ np.array([4, 1]))
        if there.any():
            curve = surface.extraction[there], surface.weights[there]
            made.append(_faces(surface.nodes[there], *curve, xi, rule, part.points))
    if left.any():
        places = _ends(mesh, element, name)[left]
        nodes = part.places.numbers[places, 0]
        extraction = lagrange_extraction(element.ORDER, nodes.shape[0])
        made.append(_faces(nodes, extraction, np.ones(nodes.shape), xi, rule, part.points))
    return made


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
    pieces = mesh.boundary(name)
    middle = mesh.points.shape[0] + number[pieces[:, 0], pieces[:, 1]]
    return np.stack([ends[:, 0], middle, ends[:, 1]], axis=1)


def _faces(
    nodes: Ints, extraction: Floats, weights: Floats, xi: Floats, rule: Floats, points: Floats
) -> Faces:
    f, df = curve_functions(extraction, weights, xi)
    size = np.linalg.norm(np.matmul(df, points[nodes]), axis=2)
    f, df = (
        np.broadcast_to(f, (*size.shape, nodes.shape[1])),
        np.broadcast_to(df, (*size.shape, nodes.shape[1])),
    )
    return Faces(nodes, f, df, rule * size, rule)
