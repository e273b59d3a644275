"""Spline layers on contact boundaries, the numbering of nodes, and groups of elements.

A layer is the row of mesh cells along a contact boundary; its face on the boundary is a spline
curve x(xi) = sum_a N_a(xi) x_a with control points x_a. The control points replace the mesh nodes
of the boundary. If a cell outside the layer has a corner on the boundary, its shape function there
is distributed to the two control points whose weighted mean is this point of the curve, so that
displacements are continuous for any mesh.

`elements.kinds.body_layout` calls the functions in this order: `layer_of` makes the curve of each
boundary, `refuse_overlaps` checks them together, `number_nodes` numbers nodes and control points,
and `groups` collects the elements that have the same functions.
Source: Corbett and Sauer 2014 for layers of splines on Lagrange elements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.functions import Group
from stiction.solids.shape_functions.splines import Curve, spline_curve, vertices

__all__ = ["Layer", "Numbering", "groups", "layer_of", "number_nodes", "refuse_overlaps"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# columns of `Mesh.cells` with the Lagrange nodes of a cell, by order and whether it is a triangle
_OWN = {
    (1, False): [0, 1, 2, 3],
    (1, True): [0, 1, 2],
    (2, False): list(range(9)),
    (2, True): [0, 1, 2, 4, 5, 6],
}


class Layer(NamedTuple):
    """The facets of one contact boundary and the curve on them.

    Parameters
    ----------
    name : of the boundary
    facets : (s, 2) cell and number of its edge
    ends : (s + 1,) mesh nodes at the ends of facets
    middles : (s,) mesh nodes in the middle of facets, or (0,)
    curve : spline with control points numbered from 0
    """

    name: str
    facets: Ints
    ends: Ints
    middles: Ints
    curve: Curve


class Numbering(NamedTuple):
    """New numbers of the nodes of the mesh, after control points have replaced some.

    Parameters
    ----------
    numbers : (nodes, 2) nodes or control points whose weighted mean is the position of a mesh node,
        -1 for none
    fractions : (nodes, 2) weights of the two
    points : (n, 2) positions of new nodes and control points [m]
    controls : new numbers of the control points of each layer
    """

    numbers: Ints
    fractions: Floats
    points: Floats
    controls: list[Ints]


def layer_of(mesh: Mesh, name: str, degree: int, exact: bool, curved: bool) -> Layer:
    """Return the layer on a boundary, with a curve of this degree.

    Parameters
    ----------
    mesh, name : mesh and name of the boundary
    degree : of the curve
    exact : whether the curve is rational and follows arcs of circles exactly
    curved : whether the mesh has nodes in the middle of facets; otherwise the boundary is a smooth
        curve through its corner nodes
    """
    facets, closed = mesh.chain(name, closed=True), mesh.closes(name)
    edges = mesh.edge_nodes(name)
    ends = np.append(edges[:, 0], edges[-1, 1])
    middles = edges[:, 2] if edges.shape[1] == 3 else np.zeros(0, dtype=np.int64)
    inside = mesh.points[middles] if curved else None
    curve = spline_curve(name, mesh.points[ends], inside, degree, exact, closed)
    return Layer(name, facets, ends, middles, curve)


def refuse_overlaps(layers: list[Layer]) -> None:
    """Refuse cells with two faces in layers, and layers with common nodes other than ends."""
    if not layers:
        return
    cells, counts = np.unique(
        np.concatenate([layer.facets[:, 0] for layer in layers]), return_counts=True
    )
    if (counts > 1).any():
        got = f"cell {int(cells[np.argmax(counts > 1)])} with two edges on contact boundaries"
        why = "an element of a spline layer has one face on a contact boundary."
        try_ = "mesh the corner with more cells, or use Q1 or Q2."
        raise ModelError("Mesh.boundaries", got, "at most one edge", why, try_)
    inside = np.concatenate([layer.ends[1:-1] for layer in layers])
    every = np.concatenate([layer.ends for layer in layers])
    nodes, counts = np.unique(every, return_counts=True)
    wrong = np.intersect1d(nodes[counts > 1], inside)
    if wrong.size:
        got = (
            f"node {int(wrong[0])} that is an inner node of one contact boundary and lies on "
            "another"
        )
        why = "two spline layers may share only end nodes of their boundaries."
        try_ = "split the boundary at this node."
        raise ModelError("Mesh.boundaries", got, "boundaries that end at this node", why, try_)


def number_nodes(mesh: Mesh, order: int, layers: list[Layer]) -> Numbering:
    """Return the numbering: first the remaining mesh nodes, then control points by layer.

    Parameters
    ----------
    mesh : with mid-nodes for order 2
    order : of the Lagrange functions
    layers : spline layers on contact boundaries
    """
    used = np.zeros(mesh.points.shape[0], dtype=bool)
    for triangle in (False, True):
        used[mesh.cells[mesh.triangles == triangle][:, _OWN[order, triangle]]] = True
    for layer in layers:
        used[layer.ends] = used[layer.middles] = False
    count = int(used.sum())
    numbers = np.full((used.size, 2), -1, dtype=np.int64)
    fractions = np.zeros((used.size, 2))
    numbers[used, 0], fractions[used, 0] = np.arange(count), 1.0
    points, controls = [mesh.points[used]], []
    for layer in layers:
        size = layer.curve.points.shape[0]
        own = np.full(size, -1, dtype=np.int64)
        # consecutive layers share the control point between them; a closed layer shares none
        own[0], own[-1] = numbers[layer.ends[[0, -1]], 0]
        new = own < 0
        own[new] = count + np.arange(int(new.sum()))
        count += int(new.sum())
        points.append(layer.curve.points[new])
        controls.append(own)
        # mesh nodes of the boundary are weighted means of two control points
        at, fraction = vertices(layer.curve)
        numbers[layer.ends] = np.where(at < 0, -1, own[at])
        fractions[layer.ends] = fraction
    return Numbering(numbers, fractions, np.concatenate(points), controls)


# ---------------------------------------------------------------- groups


def groups(mesh: Mesh, order: int, layers: list[Layer], numbering: Numbering) -> list[Group]:
    """Return the elements by kind: those outside of layers, then those of each layer.

    Arguments as in `number_nodes`, and its result `numbering`.
    """
    # cells outside of layers
    layer_cells = [layer.facets[:, 0] for layer in layers]
    plain = np.ones(mesh.cells.shape[0], dtype=bool)
    for cells in layer_cells:
        plain[cells] = False
    element_groups = []
    for triangle in (False, True):
        cells = np.flatnonzero(plain & (mesh.triangles == triangle))
        base = mesh.cells[cells][:, _OWN[order, triangle]]
        none = np.zeros((cells.size, 0), dtype=np.int64)
        element_groups += _by_number(order, triangle, cells, none, None, base, numbering)
    # cells of layers: functions of the curve on the face, then the nodes behind it
    for layer, controls in zip(layers, numbering.controls, strict=True):
        curve = layer.curve
        for triangle in (False, True):
            chosen = np.flatnonzero(mesh.triangles[layer.facets[:, 0]] == triangle)
            cells, sides = layer.facets[chosen].T
            base = _inner(mesh.cells[cells], sides, order, triangle)
            numbers = curve.numbers[chosen]
            face = curve.extraction[chosen], curve.weights[numbers]
            element_groups += _by_number(
                order, triangle, cells, controls[numbers], face, base, numbering
            )
    return element_groups


def _inner(cells: Ints, sides: Ints, order: int, triangle: bool) -> Ints:
    """Return the nodes of a layer's cells that are not on the face, in rows parallel to it.

    `cells` (e, 4 or 9) are rows of `Mesh.cells`, `sides` (e,) the edges on the boundary.
    """
    corners = 3 if triangle else 4
    turn = (np.arange(corners) + sides[:, None]) % corners
    corner = np.take_along_axis(cells, turn, axis=1)
    if order == 1:
        return corner[:, [2] if triangle else [3, 2]]
    middle = np.take_along_axis(cells, 4 + turn, axis=1)
    if triangle:
        return np.stack([middle[:, 2], middle[:, 1], corner[:, 2]], axis=1)
    rows = [middle[:, 3], cells[:, 8], middle[:, 1], corner[:, 3], middle[:, 2], corner[:, 2]]
    return np.stack(rows, axis=1)


def _by_number(
    order: int,
    triangle: bool,
    cells: Ints,
    control: Ints,
    face: tuple[Floats, Floats] | None,
    base: Ints,
    numbering: Numbering,
) -> list[Group]:
    """Return groups of elements with the same number of shape functions.

    Parameters
    ----------
    order, triangle, cells : Lagrange order, shape, and (e,) cells of the mesh
    control : (e, k) control points of the face
    face : extraction (e, k, b) and weights (e, k) of the curve on the face; None without a face
    base : (e, l) mesh nodes with Lagrange functions, which follow those of the face
    numbering : from mesh nodes to nodes and control points
    """
    element_groups = []
    double = numbering.numbers[base, 1] >= 0
    for extra in np.unique(double.sum(axis=1)):
        chosen = np.flatnonzero(double.sum(axis=1) == extra)
        own, front = base[chosen], control[chosen]
        curve = None if face is None else (face[0][chosen], face[1][chosen])
        nodes = np.concatenate([front, numbering.numbers[own, 0]], axis=1)
        if extra == 0:
            element_groups.append(Group(order, triangle, cells[chosen], nodes, curve, None, None))
            continue
        # a function whose node became two control points is repeated at the end, with the second
        # control point and its fraction; `source` is the function that each column repeats
        twice = np.argsort(~double[chosen], axis=1, kind="stable")[:, :extra]
        again = np.take_along_axis(own, twice, axis=1)
        k = front.shape[1]
        first = np.broadcast_to(np.arange(k + own.shape[1]), (chosen.size, k + own.shape[1]))
        source = np.concatenate([first, k + twice], axis=1)
        fractions = np.concatenate(
            [np.ones(front.shape), numbering.fractions[own, 0], numbering.fractions[again, 1]],
            axis=1,
        )
        nodes = np.concatenate([nodes, numbering.numbers[again, 1]], axis=1)
        element_groups.append(
            Group(order, triangle, cells[chosen], nodes, curve, fractions, source)
        )
    return element_groups
