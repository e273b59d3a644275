"""Layers of splines on contact boundaries, the numbering of what is left, groups of elements.

The control points of a layer replace the nodes of its boundary. Where a cell outside of the
layer touches the boundary with a corner, its function there is shared out to the two control
points that make this place of the curve, so that the body holds together for any mesh.
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

# Lagrange nodes of a plain cell in the rows of the mesh: by order and whether it is a triangle
_OWN = {
    (1, False): [0, 1, 2, 3],
    (1, True): [0, 1, 2],
    (2, False): list(range(9)),
    (2, True): [0, 1, 2, 4, 5, 6],
}


class Layer(NamedTuple):
    """The pieces of one contact boundary and the curve on them.

    Parameters
    ----------
    name : of the boundary
    pieces : (s, 2) cell and edge
    ends : (s + 1,) nodes of the mesh between the pieces
    middles : (s,) nodes of the mesh inside the pieces, or none
    curve : with control points numbered from 0
    """

    name: str
    pieces: Ints
    ends: Ints
    middles: Ints
    curve: Curve


class Numbering(NamedTuple):
    """What became of the nodes of the mesh.

    Parameters
    ----------
    numbers : (nodes, 2) new nodes or control points that make its place, -1 where there is none
    shares : (nodes, 2) of the two
    points : (n, 2) places of new nodes and control points [m]
    controls : new numbers of the control points of each layer
    """

    numbers: Ints
    shares: Floats
    points: Floats
    controls: list[Ints]


def layer_of(mesh: Mesh, name: str, degree: int, exact: bool, bent: bool) -> Layer:
    """Return the layer on a boundary, with a curve of this degree.

    Parameters
    ----------
    bent : whether the mesh knows places inside of the pieces; else it has straight edges, and
        the boundary is a smooth curve through its nodes
    """
    pieces, closed = mesh.chain(name, closed=True), mesh.closes(name)
    edges = mesh.edge_nodes(name)
    ends = np.append(edges[:, 0], edges[-1, 1])
    middles = edges[:, 2] if edges.shape[1] == 3 else np.zeros(0, dtype=np.int64)
    inside = mesh.points[middles] if bent else None
    curve = spline_curve(name, mesh.points[ends], inside, degree, exact, closed)
    return Layer(name, pieces, ends, middles, curve)


def refuse_overlaps(layers: list[Layer]) -> None:
    """Refuse cells with two faces in layers, and layers that meet elsewhere than at ends."""
    if not layers:
        return
    cells, counts = np.unique(
        np.concatenate([layer.pieces[:, 0] for layer in layers]), return_counts=True
    )
    if (counts > 1).any():
        got = f"cell {int(cells[np.argmax(counts > 1)])} with two edges on contact boundaries"
        why = "an element of a spline layer has one face that touches."
        try_ = "mesh the corner with more cells, or use Q1 or Q2."
        raise ModelError("Mesh.boundaries", got, "at most one", why, try_)
    inside = np.concatenate([layer.ends[1:-1] for layer in layers])
    every = np.concatenate([layer.ends for layer in layers])
    nodes, counts = np.unique(every, return_counts=True)
    wrong = np.intersect1d(nodes[counts > 1], inside)
    if wrong.size:
        got = f"node {int(wrong[0])} inside of one contact boundary and on another"
        why = "the curves of two layers have but their ends in common."
        try_ = "split the boundary at this node."
        raise ModelError("Mesh.boundaries", got, "boundaries that end there", why, try_)


def number_nodes(mesh: Mesh, order: int, layers: list[Layer]) -> Numbering:
    """Return new numbers: first the nodes that stay, then control points layer by layer."""
    used = np.zeros(mesh.points.shape[0], dtype=bool)
    for triangle in (False, True):
        used[mesh.cells[mesh.triangles == triangle][:, _OWN[order, triangle]]] = True
    for layer in layers:
        used[layer.ends] = used[layer.middles] = False
    count = int(used.sum())
    numbers = np.full((used.size, 2), -1, dtype=np.int64)
    shares = np.zeros((used.size, 2))
    numbers[used, 0], shares[used, 0] = np.arange(count), 1.0
    points, controls = [mesh.points[used]], []
    for layer in layers:
        size = layer.curve.points.shape[0]
        own = np.full(size, -1, dtype=np.int64)
        # layers that follow each other have the control point between them in common; a closed
        # one has none that is alone at its ends
        own[0], own[-1] = numbers[layer.ends[[0, -1]], 0]
        new = own < 0
        own[new] = count + np.arange(int(new.sum()))
        count += int(new.sum())
        points.append(layer.curve.points[new])
        controls.append(own)
        at, share = vertices(layer.curve)
        numbers[layer.ends] = np.where(at < 0, -1, own[at])
        shares[layer.ends] = share
    return Numbering(numbers, shares, np.concatenate(points), controls)


# ---------------------------------------------------------------- groups


def groups(mesh: Mesh, order: int, layers: list[Layer], numbering: Numbering) -> list[Group]:
    """Return the elements by kind: plain ones, then layer by layer; kinds without any left out."""
    layer_cells = [layer.pieces[:, 0] for layer in layers]
    plain = np.ones(mesh.cells.shape[0], dtype=bool)
    for cells in layer_cells:
        plain[cells] = False
    made = []
    for triangle in (False, True):
        cells = np.flatnonzero(plain & (mesh.triangles == triangle))
        base = mesh.cells[cells][:, _OWN[order, triangle]]
        none = np.zeros((cells.size, 0), dtype=np.int64)
        made += _by_number(order, triangle, cells, none, None, base, numbering)
    for layer, controls in zip(layers, numbering.controls, strict=True):
        curve = layer.curve
        for triangle in (False, True):
            here = np.flatnonzero(mesh.triangles[layer.pieces[:, 0]] == triangle)
            cells, sides = layer.pieces[here].T
            base = _inner(mesh.cells[cells], sides, order, triangle)
            numbers = curve.numbers[here]
            face = curve.extraction[here], curve.weights[numbers]
            made += _by_number(order, triangle, cells, controls[numbers], face, base, numbering)
    return made


def _inner(cells: Ints, sides: Ints, order: int, triangle: bool) -> Ints:
    """Return the nodes of a layer's cells that are not on the face, row by row from it."""
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
    """Return groups of elements with equally many functions.

    Parameters
    ----------
    control : (e, k) control points of the face
    base : (e, l) nodes of the mesh that carry Lagrange functions; what comes after the face
    """
    made = []
    double = numbering.numbers[base, 1] >= 0
    for more in np.unique(double.sum(axis=1)):
        here = np.flatnonzero(double.sum(axis=1) == more)
        own, front = base[here], control[here]
        part = None if face is None else (face[0][here], face[1][here])
        nodes = np.concatenate([front, numbering.numbers[own, 0]], axis=1)
        if more == 0:
            made.append(Group(order, triangle, cells[here], nodes, part, None, None))
            continue
        # functions whose node became two control points come twice, the second time at the end
        twice = np.argsort(~double[here], axis=1, kind="stable")[:, :more]
        again = np.take_along_axis(own, twice, axis=1)
        k = front.shape[1]
        first = np.broadcast_to(np.arange(k + own.shape[1]), (here.size, k + own.shape[1]))
        source = np.concatenate([first, k + twice], axis=1)
        shares = np.concatenate(
            [np.ones(front.shape), numbering.shares[own, 0], numbering.shares[again, 1]], axis=1
        )
        nodes = np.concatenate([nodes, numbering.numbers[again, 1]], axis=1)
        made.append(Group(order, triangle, cells[here], nodes, part, shares, source))
    return made
