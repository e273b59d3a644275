"""Finite elements: Lagrange functions inside, with a layer of splines on contact boundaries.

The face of a layer has a curve of degree p in Bezier form. Lagrange cells (p = 1, 2), quadratic
B-splines (Corbett and Sauer 2014) and cubic Hermite curves (Sauer 2011) have one formula: functions
= extraction times Bernstein polynomials. Behind its face the layer has the nodes of its neighbours,
so that displacements are continuous:

    N = C_a(xi) l_0(eta) on the face,   L_j(xi) l_k(eta) in the rows behind it,

with the Lagrange functions L_j and l_k along and across the face at eta = -1, and
C_a = sum_b extraction[a, b] B_b(xi). In a triangle the rows end in its apex. Rational curves have
the functions w_a C_a / sum_b w_b C_b on the face.

`Element` and its subclasses are the choices of a user. `discretise` turns mesh and element into
the arrays of `arrays.Discretisation`; `model.Body.discretised` calls it.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Count, Declared, Flag
from stiction.errors import ModelError
from stiction.solids.arrays import Discretisation, Elements, Places, Surface
from stiction.solids.elements.layers import (
    Layer,
    Numbering,
    groups,
    layer_of,
    number_nodes,
    refuse_overlaps,
)
from stiction.solids.elements.picture import picture
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.functions import Group, bending, gradients, incompatible, rules
from stiction.solids.shape_functions.hulls import bezier_form, hull_of, refuse_folded
from stiction.solids.shape_functions.splines import curve_functions, lagrange_extraction

__all__ = [
    "Q1",
    "Q1H",
    "Q1N2",
    "Q2",
    "Q2N2",
    "QM6",
    "BodyLayout",
    "Element",
    "body_layout",
    "discretise",
    "kinds_of",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_REDUCED = Flag("True selects reduced integration of the volumetric energy.", "give False.")
_POINTS = Count(1, "contact tractions are integrated at these points.", "give 5.", most=64)
_ARC = Flag("True selects rational curves, which are exact on arcs.", "give False.")


@dataclass(frozen=True, eq=False, repr=False)
class Element(Declared, abc.ABC):
    """Base of elements.

    Parameters
    ----------
    reduced : integrate the volumetric term at fewer points, against volumetric locking of nearly
        incompressible bodies; linear triangles have one point in any case
    contact_points : integration points on each element of a contact boundary
    exact_arc : contact boundaries are straight or arcs of circles, and rational functions represent
        them exactly; only for elements with a layer of splines
    """

    reduced: Annotated[bool, _REDUCED] = False
    contact_points: Annotated[int, _POINTS] = 5
    exact_arc: Annotated[bool, _ARC] = False

    ORDER = 1  # of the Lagrange functions inside
    SPLINE = 0  # degree of the curve on a contact boundary, 0 where it has Lagrange functions
    BENDS = False  # whether linear cells have incompatible modes

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exact_arc and not self.SPLINE:
            why = "polynomials cannot represent a circle, and this element has no spline layer."
            needs, try_ = "False", "use Q1N2, Q2N2 or Q1H."
            raise ModelError(f"{type(self).__name__}.exact_arc", "True", needs, why, try_)
        if self.reduced and self.BENDS:
            why = "the quadrilaterals of this element have no volumetric locking."
            try_ = "leave `reduced` out; where triangles lock, in space too, take Q2."
            raise ModelError(f"{type(self).__name__}.reduced", "True", "False", why, try_)


class Q1(Element):
    """Bilinear quadrilaterals with 2 x 2 Gauss points, and linear triangles with one."""


class QM6(Element):
    """Bilinear quadrilaterals without shear locking: incompatible modes, statically condensed.

    One row of rectangles over the height of a beam is exact in pure bending; cells other than
    parallelograms are stiffer. There is no volumetric locking. Triangles are those of Q1 and lock.
    In space it is the trilinear hexahedron with modes along its three axes.

    Source: Taylor, Beresford, Wilson 1976; at large strain after Mueller-Hoeppe, Loehnert,
    Wriggers 2009, see `solids.shape_functions.hourglass`.
    Verified by: tests/unit/solids/elements/test_hourglass.py::test_one_row_bends_as_a_beam

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Body(st.solids.rectangle(10.0, 1.0, (10, 1)), st.solids.QM6()).element
    QM6()
    """

    BENDS = True


class Q2(Element):
    """Biquadratic quadrilaterals with 3 x 3 Gauss points, and quadratic triangles with three."""

    ORDER = 2


class Q1N2(Element):
    """Q1 inside, quadratic B-splines on contact boundaries; Q1N2.1 of the literature.

    Source: Corbett and Sauer 2014.
    Verified by: tests/unit/solids/elements/test_kinds.py::test_linear_fields
    """

    SPLINE = 2


class Q2N2(Element):
    """Q2 inside, quadratic B-splines on contact boundaries; Q2N2.1 of the literature.

    Source: Corbett and Sauer 2014.
    Verified by: tests/unit/solids/elements/test_kinds.py::test_linear_fields

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Q2N2(contact_points=3).contact_points
    3
    """

    ORDER, SPLINE = 2, 2


class Q1H(Element):
    """Q1 inside, cubic Hermite curves on contact boundaries.

    Control points of the curve in Bezier form take the place of the slopes at the nodes.

    Source: Sauer 2011.
    Verified by: tests/unit/solids/elements/test_kinds.py::test_linear_fields

    Examples
    --------
    >>> import stiction as st
    >>> st.solids.Body(st.solids.rectangle(2.0, 1.0, (2, 1)), st.solids.Q1H()).element
    Q1H()
    """

    SPLINE = 3


# ---------------------------------------------------------------- a body in elements


def discretise(mesh: Mesh, element: Element, contact: str | Sequence[str] = ()) -> Discretisation:
    """Return a body in finite elements, with the element's spline layer on contact boundaries.

    Parameters
    ----------
    mesh : its shape
    element : shape functions of displacements
    contact : names of the contact boundaries

    Raises
    ------
    ModelError : if a contact boundary is unknown or not one chain of edges, has a corner although
        the element has a spline layer, or shares a cell with another one, or an element is folded.

    Verified by: tests/unit/solids/elements/test_kinds.py::test_linear_fields
    """
    layout = body_layout(mesh, element, _names(contact))
    points, fitted, element_groups = layout.numbering.points, layout.mesh, layout.groups
    hulls = tuple(
        hull_of(g.nodes, *bezier_form(g), g.triangle, g.cells, points.shape[0])
        for g in element_groups
    )
    refuse_folded(hulls, points)
    blocks = [_elements(group, element, points) for group in element_groups]
    drawn = picture(fitted, element.ORDER, layout.layers, layout.numbering, element_groups)
    places = Places(layout.numbering.numbers, layout.numbering.fractions)
    return Discretisation(
        points, blocks, layout.surfaces, layout.node_sets, drawn, places, hulls=hulls
    )


class BodyLayout(NamedTuple):
    """Nodes and control points of a body, its elements by kind, and its boundaries.

    Parameters
    ----------
    mesh : with mid-nodes for elements of second order
    layers : spline layers on contact boundaries
    numbering : from mesh nodes to nodes and control points
    groups : elements by kind
    surfaces : contact boundaries by name
    node_sets : nodes and control points of every named boundary
    """

    mesh: Mesh
    layers: list[Layer]
    numbering: Numbering
    groups: list[Group]
    surfaces: dict[str, Surface]
    node_sets: dict[str, Ints]


def body_layout(mesh: Mesh, element: Element, names: tuple[str, ...]) -> BodyLayout:
    """Return nodes, elements and boundaries of a body, with contact boundaries of these names."""
    fitted = _with_middles(mesh) if element.ORDER == 2 and mesh.cells.shape[1] == 4 else mesh
    layers = []
    if element.SPLINE:
        curved = mesh.cells.shape[1] == 9
        layers = [layer_of(fitted, n, element.SPLINE, element.exact_arc, curved) for n in names]
        refuse_overlaps(layers)
    # nodes and elements, then contact boundaries with curves of their layers or of cell edges
    numbering = number_nodes(fitted, element.ORDER, layers)
    element_groups = groups(fitted, element.ORDER, layers, numbering)
    points = numbering.points
    surfaces = {}
    if element.SPLINE:
        for layer, controls in zip(layers, numbering.controls, strict=True):
            curve = layer.curve
            weights = curve.weights[curve.numbers]
            nodes = controls[curve.numbers]
            surfaces[layer.name] = _surface(element, nodes, curve.extraction, weights, points)
            if fitted.closes(layer.name):
                surfaces[layer.name] = _closed(surfaces[layer.name])
    else:
        for name in names:
            surfaces[name] = _plain_surface(fitted, element, name, numbering)
    sets = {name: _node_set(fitted, name, layers, numbering) for name in fitted.boundaries}
    return BodyLayout(fitted, layers, numbering, element_groups, surfaces, sets)


def kinds_of(
    mesh: Mesh, element: Element, contact: str | Sequence[str]
) -> tuple[list[Group], Floats]:
    """Return the elements of a body by kind, and its nodes and control points (n, 2) [m].

    Arguments as in `discretise`.
    """
    layout = body_layout(mesh, element, _names(contact))
    return layout.groups, layout.numbering.points


def _names(contact: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of contact boundaries after checking that they differ."""
    names = (contact,) if isinstance(contact, str) else tuple(contact)
    if len(set(names)) != len(names):
        why = "a boundary is one surface, with one or more partners."
        needs, try_ = "different names", "name each boundary once."
        raise ModelError("discretise.contact", names, needs, why, try_)
    return names


def _with_middles(mesh: Mesh) -> Mesh:
    """Return a mesh with nodes in the middles of straight edges, and of quadrilaterals."""
    edges, triangle = mesh.edges, mesh.triangles
    n, cells = mesh.points.shape[0], np.full((mesh.cells.shape[0], 9), -1, dtype=np.int64)
    _, first = np.unique(edges.number, return_index=True)
    cells[:, :4] = mesh.cells
    cells[edges.cell, 4 + edges.side] = n + edges.number
    quads = np.flatnonzero(~triangle)
    cells[quads, 8] = n + first.size + np.arange(quads.size)
    middles = mesh.points[edges.ends[first]].mean(axis=1)
    centres = mesh.points[mesh.cells[quads]].mean(axis=1)
    return Mesh(np.concatenate([mesh.points, middles, centres]), cells, mesh.boundaries)


def _elements(group: Group, element: Element, points: Floats) -> Elements:
    """Return the arrays of one kind of elements.

    g, w are gradients (e, q, n, d) and volumes (e, q) of full integration; vg, vw those at the
    points of the volumetric energy.
    """
    layer = group.face is not None
    full, reduced = rules(group.order, element.SPLINE, group.triangle, layer)
    g, w = gradients(group, points, full)
    if not element.reduced:
        e, _, n, d = g.shape
        vg, vw = np.zeros((e, 0, n, d)), np.zeros((e, 0))
    elif reduced is None:
        # the mean over the element instead of the value in its middle balances a constant
        # pressure exactly, also on the curved face of a layer
        vw = w.sum(axis=1, keepdims=True)
        vg = np.matmul(w[:, None], g.reshape(*w.shape, -1)).reshape(-1, 1, *g.shape[2:])
        vg /= vw[:, :, None, None]
    else:
        vg, vw = gradients(group, points, reduced)
    modes = incompatible(group, points, full, w)
    if element.BENDS and modes.shape[2]:
        return bending(np.ascontiguousarray(group.nodes), points, g, w, modes)
    return Elements(np.ascontiguousarray(group.nodes), g, w, vg, vw, modes)


def _surface(
    element: Element, nodes: Ints, extraction: Floats, weights: Floats, points: Floats
) -> Surface:
    """Return the arrays of a contact boundary.

    `nodes`, `extraction` and `weights` are those of `Surface`; `points` (n, 2) are positions of all
    nodes [m].
    """
    gauss, along = np.polynomial.legendre.leggauss(element.contact_points)
    f, df = curve_functions(extraction, weights, gauss)
    tangent = np.matmul(df, points[nodes])
    s = nodes.shape[0]
    before, after = np.arange(s) - 1, np.arange(s) + 1
    after[-1] = -1
    return Surface(
        np.ascontiguousarray(nodes),
        np.ascontiguousarray(extraction),
        np.ascontiguousarray(weights),
        np.stack([before, after], axis=1),
        gauss,
        np.ascontiguousarray(f),
        np.ascontiguousarray(df)[..., None],
        np.ascontiguousarray(along * np.linalg.norm(tangent, axis=2)),
    )


def _plain_surface(mesh: Mesh, element: Element, name: str, numbering: Numbering) -> Surface:
    """Return a contact boundary with the Lagrange functions of the cells themselves."""
    mesh.chain(name, closed=True)
    edges = mesh.edge_nodes(name)
    nodes = numbering.numbers[edges[:, [0, 1] if element.ORDER == 1 else [0, 2, 1]], 0]
    extraction = lagrange_extraction(element.ORDER, nodes.shape[0])
    surface = _surface(element, nodes, extraction, np.ones(nodes.shape), numbering.points)
    return _closed(surface) if mesh.closes(name) else surface


def _closed(surface: Surface) -> Surface:
    """Return a closed boundary: its last element is adjacent to the first."""
    neighbours, last = surface.neighbours.copy(), surface.nodes.shape[0] - 1
    neighbours[0, 0], neighbours[last, 1] = last, 0
    return surface._replace(neighbours=neighbours)


def _node_set(mesh: Mesh, name: str, layers: list[Layer], numbering: Numbering) -> Ints:
    """Return the nodes and control points of a boundary."""
    nodes_of = [numbering.numbers[mesh.edge_nodes(name)].ravel()]
    # one number per (cell, edge): a cell has at most four edges
    facets = mesh.boundary(name) @ np.array([4, 1])
    for layer, controls in zip(layers, numbering.controls, strict=True):
        shared = np.isin(layer.facets @ np.array([4, 1]), facets)
        nodes_of.append(controls[layer.curve.numbers[shared]].ravel())
    nodes = np.unique(np.concatenate(nodes_of))
    return nodes[nodes >= 0]
