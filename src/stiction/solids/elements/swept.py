"""Three-dimensional elements: hexahedra from plane elements swept along a third axis.

Shape functions are tensor products N(xi, eta) M(zeta) of those of the plane element and B-splines
along the axis. The splines have one degree at nodes of the plane, and may have another one at
control points of its contact boundaries: Q1 becomes the trilinear hexahedron, Q2 the triquadratic
one, and Q1N2 the trilinear one with biquadratic contact surfaces. All functions at one point of the
plane have the same degree along the axis, so that displacements are continuous.

The swept body may be deformed by a map of positions. Splines on its surfaces then interpolate the
mapped positions at their Greville points.

`sweep` returns the arrays; `three_d.model.SweptBody` calls it. Shapes below have e elements of the
plane with n functions and q points, and l layers along the axis with k functions and r points; an
array over elements in space has l e rows, the elements of one layer after those of the layer
before, and q r points, those of the plane running fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.bsplines import basis, bernstein, bezier_extraction, greville, open_knots
from stiction.solids.arrays import Elements, Surface
from stiction.solids.dimensions import crossed
from stiction.solids.elements.kinds import BodyLayout, Element, body_layout
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.functions import (
    Group,
    Rule,
    bending,
    functions,
    mapped,
    modes_of,
    rules,
)
from stiction.solids.shape_functions.hulls import Hull, bezier_form, hull_of, refuse_folded
from stiction.solids.shape_functions.jacobians import coefficients_from
from stiction.solids.shape_functions.splines import curve_functions

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Axis", "Levels", "Swept", "sweep"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Axis(NamedTuple):
    """B-splines along the axis: l layers, n functions on each.

    Parameters
    ----------
    knots : of the splines [m]
    numbers : (l, n) functions of each layer, numbered along the axis
    extraction : (l, n, n) from Bernstein polynomials
    heights : (k,) Greville points [m]
    degree : of the splines
    """

    knots: Floats
    numbers: Ints
    extraction: Floats
    heights: Floats
    degree: int

    def at(self, xi: Floats) -> tuple[Floats, Floats]:
        """Return functions and derivatives (l, q, n) of every layer."""
        b, db = bernstein(self.degree, xi)
        turned = self.extraction.transpose(0, 2, 1)
        return np.matmul(b, turned), np.matmul(db, turned)

    def matrix(self, heights: Floats) -> Floats:
        """Return the functions at heights, (heights, k)."""
        first, values, _ = basis(self.knots, self.degree, heights)
        result = np.zeros((heights.size, self.heights.size))
        columns = first[:, None] + np.arange(self.degree + 1)
        np.put_along_axis(result, columns, values, axis=1)
        return result


class Levels(NamedTuple):
    """The nodes and control points in space above each one of the plane.

    Parameters
    ----------
    axes : splines along the axis at nodes, and at control points of contact boundaries
    on_spline : (n,) which points of the plane are such control points
    numbers : (n, k) points in space along the axis, -1 beyond the last one
    """

    axes: tuple[Axis, Axis]
    on_spline: Bools
    numbers: Ints

    def of(self, kind: int) -> Ints:
        """Return the points of the plane whose splines along the axis are `axes[kind]`."""
        return np.flatnonzero(self.on_spline == bool(kind))

    def ends(self) -> tuple[Ints, Ints]:
        """Return the points in space at both ends of the axis."""
        last = np.array([axis.heights.size - 1 for axis in self.axes])[
            self.on_spline.astype(np.int64)
        ]
        return self.numbers[:, 0], np.take_along_axis(self.numbers, last[:, None], axis=1)[:, 0]


class Swept(NamedTuple):
    """A swept body in finite elements.

    Parameters
    ----------
    points : (n, 3) reference positions of nodes and control points [m]
    blocks : elements by kind
    surfaces : contact boundaries by name, swept from those of the plane
    node_sets : nodes and control points of every named boundary, and "front" and "back"
    layout : the plane body
    levels : its points in space
    element_index : of the plane elements of each group: block in space, number in a layer of it,
        and number of elements in a layer
    hulls : the elements in Bezier form
    """

    points: Floats
    blocks: list[Elements]
    surfaces: dict[str, Surface]
    node_sets: dict[str, Ints]
    layout: BodyLayout
    levels: Levels
    element_index: list[Ints]
    hulls: tuple[Hull, ...]


def sweep(
    mesh: Mesh,
    element: Element,
    breaks: Sequence[float] | Floats,
    degree: int = 1,
    contact: Sequence[str] = (),
    move: Callable[[Floats], Floats] | None = None,
    face_degree: int | None = None,
) -> Swept:
    """Return a plane body swept along the third axis.

    Parameters
    ----------
    mesh, element, contact : of the plane body, as in `discretise`
    breaks : (l + 1,) rising heights at the ends of the layers [m]
    degree : of the splines along the axis
    move : mapping of positions (n, 3), applied before volumes are computed
    face_degree : of the splines along the axis on contact boundaries; None takes `degree`

    Verified by: tests/unit/solids/elements/test_swept.py::test_patch_of_hexahedra
    """
    ends = np.asarray(breaks, dtype=np.float64)
    layout = body_layout(mesh, element, tuple(contact))
    for name in contact:
        # a swept boundary is an open grid of patches: this refuses closed ones
        mesh.chain(name)
    degrees = (degree, degree if face_degree is None else face_degree)
    levels = _levels(layout, element, ends, degrees)
    flat = layout.numbering.points
    points = np.empty((int(levels.numbers.max()) + 1, 3))
    for kind, axis in enumerate(levels.axes):
        chosen = levels.of(kind)
        there = levels.numbers[chosen, : axis.heights.size]
        points[there, :2], points[there, 2] = flat[chosen, None], axis.heights
    if move is not None:
        points = _moved(points, layout, levels, move)
    blocks: list[Any] = []
    element_index: list[Any] = []
    hulls: list[Hull] = []
    for group in layout.groups:
        elements, bezier_hulls, index = _blocks(group, element, levels, points, len(blocks))
        blocks += elements
        hulls += bezier_hulls
        element_index.append(index)
    surfaces = {
        name: _face(surface, element, levels, points) for name, surface in layout.surfaces.items()
    }
    sets = _sets(layout, levels)
    return Swept(points, blocks, surfaces, sets, layout, levels, element_index, tuple(hulls))


def _levels(
    layout: BodyLayout, element: Element, breaks: Floats, degrees: tuple[int, int]
) -> Levels:
    """Return the points of the plane in space: layers of nodes, then layers of control points.

    `breaks` (l + 1,) are the ends of layers [m], `degrees` those of the splines along the axis at
    nodes and at control points.
    """
    both_axes = []
    for degree in degrees:
        knots = open_knots(breaks, degree)
        first, extraction = bezier_extraction(knots, degree)
        numbers = first[:, None] + np.arange(degree + 1)
        both_axes.append(Axis(knots, numbers, extraction, greville(knots, degree), degree))
    axes = (both_axes[0], both_axes[1])
    on_spline = np.zeros(layout.numbering.points.shape[0], dtype=bool)
    if element.SPLINE and degrees[0] != degrees[1]:
        for surface in layout.surfaces.values():
            on_spline[surface.nodes] = True
    numbers = np.full((on_spline.size, max(axis.heights.size for axis in axes)), -1, dtype=np.int64)
    shift = 0
    for kind, axis in enumerate(axes):
        chosen, high = np.flatnonzero(on_spline == bool(kind)), axis.heights.size
        numbers[chosen, :high] = (
            shift + chosen.size * np.arange(high) + np.arange(chosen.size)[:, None]
        )
        shift += chosen.size * high
    return Levels(axes, on_spline, numbers)


def _sets(layout: BodyLayout, levels: Levels) -> dict[str, Ints]:
    """Return nodes by boundary: those of the plane at every height, and both ends."""
    sets = {}
    for name, nodes in layout.node_sets.items():
        points = levels.numbers[nodes].T.ravel()
        sets[name] = points[points >= 0]
    sets["back"], sets["front"] = levels.ends()
    return sets


def _moved(
    points: Floats, layout: BodyLayout, levels: Levels, move: Callable[[Floats], Floats]
) -> Floats:
    """Return points that interpolate mapped positions: of nodes, and at Greville points.

    The collocation matrix is the product of one along the axis and one in the plane. The positions
    at the sites are computed from the points, mapped, and both matrices are then inverted.
    """
    from scipy.sparse.linalg import splu

    across = _collocation(layout, levels)
    result = np.empty_like(points)
    for kind, axis in enumerate(levels.axes):
        chosen, high = levels.of(kind), axis.heights.size
        if not chosen.size:
            continue
        there = levels.numbers[chosen, :high]
        along, part = axis.matrix(axis.heights), across[chosen][:, chosen].tocsc()
        controls = points[there].transpose(1, 0, 2).reshape(high, -1)
        levelled = (along @ controls).reshape(high, chosen.size, 3)
        places = np.stack([part @ level for level in levelled])
        moved = _checked(move(places.reshape(-1, 3)), (places.size // 3, 3))
        solved = np.linalg.solve(along, moved.reshape(high, -1)).reshape(high, chosen.size, 3)
        factors = splu(part)
        result[there] = np.stack([factors.solve(level) for level in solved], axis=1)
    return result


def _checked(moved: object, shape: tuple[int, int]) -> Floats:
    """Return the positions that a user's shape gives, or raise an error if they are none."""
    result = np.asarray(moved)
    if result.shape != shape or result.dtype.kind not in "fiu" or not np.isfinite(result).all():
        got = f"{result.dtype} {result.shape} from `moved`"
        got += ", with NaN or infinity" * (result.shape == shape and result.dtype.kind == "f")
        needs, why = f"finite numbers {shape}", "every point of the swept body has an image."
        raise ModelError("SweptBody.shape", got, needs, why, "return an array like its argument.")
    return np.asarray(result, dtype=np.float64)


def _collocation(layout: BodyLayout, levels: Levels) -> csr_matrix:
    """Return the collocation matrix of the plane: nodes, and Greville points of curves."""
    from scipy.sparse import csr_matrix, lil_matrix

    count = levels.on_spline.size
    matrix = lil_matrix((count, count))
    matrix.setdiag(1.0)
    for layer, surface in zip(layout.layers, layout.surfaces.values(), strict=False):
        degree = layer.curve.extraction.shape[2] - 1
        sites = np.array([0.0]) if degree == 2 else np.array([-1.0, 1.0]) / 3.0
        f, _ = curve_functions(surface.extraction, surface.weights, sites)
        for element, nodes in enumerate(surface.nodes):
            for site in range(sites.size):
                row = int(nodes[1 + site])
                matrix[row, row] = 0.0
                for value, column in zip(f[element, site], nodes, strict=True):
                    matrix[row, int(column)] = value
    return csr_matrix(matrix)


# ---------------------------------------------------------------- products


def _products(f: Floats, df: Floats, m: Floats, dm: Floats) -> tuple[Floats, Floats]:
    """Return products (l e, q r, n k) and their derivatives (..., d) of plane and axis.

    Parameters
    ----------
    f, df : (e, q, n) functions of the plane, and (e, q, n, d - 1) derivatives by its coordinates
    m, dm : (l, r, k) functions of the axis and their derivatives
    """
    rates = [_product(df[..., a], m) for a in range(df.shape[3])] + [_product(f, dm)]
    return _product(f, m), np.stack(rates, axis=-1)


def _product(f: Floats, m: Floats) -> Floats:
    """Return products (l e, q r, n k) of functions of the plane (e, q, n) and axis (l, r, k)."""
    product = f[None, :, None, :, None, :] * m[:, None, :, None, :, None]
    return product.reshape(m.shape[0] * f.shape[0], m.shape[1] * f.shape[1], -1)


def values_at(
    swept: Swept, rule_of: Callable[[Group], Rule], along: int
) -> list[tuple[Ints, Floats, Floats]]:
    """Return nodes (e, n), functions (e, q, n) and volumes (e, q) at points in all elements.

    Parameters
    ----------
    swept : the body
    rule_of : points in elements of the plane, and their weights
    along : points along the axis of each layer

    Verified by: tests/unit/solids/dynamics/test_masses.py::test_mass_of_a_dome
    """
    gauss, weights_along = np.polynomial.legendre.leggauss(along)
    result = []
    # elements of a group are divided by which of their points are control points of a face
    # (`on_spline`), because these have other splines along the axis
    for group in swept.layout.groups:
        rule = rule_of(group)
        flags = swept.levels.on_spline[group.nodes]
        patterns, which = np.unique(flags, axis=0, return_inverse=True)
        for number, on_spline in enumerate(patterns):
            subset = _subset(group, np.flatnonzero(np.ravel(which) == number))
            axes = [
                (np.flatnonzero(on_spline == bool(kind)), axis)
                for kind, axis in enumerate(swept.levels.axes)
            ]
            axes = [(columns, axis) for columns, axis in axes if columns.size]
            f, df = functions(subset, rule.xi, rule.eta)
            shape = (subset.nodes.shape[0], *f.shape[1:])
            f, df = np.broadcast_to(f, shape), np.broadcast_to(df, (*shape, 2))
            parts = [
                _products(f[..., columns], df[..., columns, :], *axis.at(gauss))
                for columns, axis in axes
            ]
            nodes = [
                _numbers(subset.nodes[:, columns], swept.levels, axis) for columns, axis in axes
            ]
            all_nodes = np.concatenate(nodes, axis=1)
            weights = np.ravel(weights_along[:, None] * rule.weights)
            rates = np.concatenate([part[1] for part in parts], axis=2)
            _, volumes = mapped(rates, swept.points[all_nodes], weights)
            result.append((all_nodes, np.concatenate([part[0] for part in parts], axis=2), volumes))
    return result


def _numbers(nodes: Ints, levels: Levels, axis: Axis) -> Ints:
    """Return the points (l e, k n) of points of the plane (e, n) in every layer."""
    numbers = levels.numbers[nodes[None, :, None, :], axis.numbers[:, None, :, None]]
    return np.asarray(numbers.reshape(axis.numbers.shape[0] * nodes.shape[0], -1))


def _blocks(
    group: Group, element: Element, levels: Levels, points: Floats, first: int
) -> tuple[list[Elements], list[Hull], Ints]:
    """Return the elements of one kind in space, their hulls, and `element_index` of the group.

    `points` (n, 3) are positions in space [m], `first` is the number of the first new block.
    """
    flags = levels.on_spline[group.nodes]
    patterns, which = np.unique(flags, axis=0, return_inverse=True)
    index = np.empty((group.nodes.shape[0], 3), dtype=np.int64)
    blocks, hulls = [], []
    for number, on_spline in enumerate(patterns):
        chosen = np.flatnonzero(np.ravel(which) == number)
        index[chosen, 0], index[chosen, 1] = first + number, np.arange(chosen.size)
        index[chosen, 2] = chosen.size
        subset = _subset(group, chosen)
        hulls.append(_hull(subset, levels, on_spline, points.shape[0]))
        refuse_folded(hulls[-1:], points)
        blocks.append(_block(subset, element, levels, points, on_spline))
    return blocks, hulls, index


def _hull(group: Group, levels: Levels, on_spline: Bools, count: int) -> Hull:
    """Return elements in space, whose functions have the same axes, in Bezier form."""
    flat, degrees, weights = bezier_form(group)
    axes = [
        (np.flatnonzero(on_spline == bool(kind)), axis) for kind, axis in enumerate(levels.axes)
    ]
    axes = [(columns, axis) for columns, axis in axes if columns.size]
    degree = max(axis.degree for _, axis in axes)
    sites, to = coefficients_from(degree)
    tables, nodes = [], []
    for columns, axis in axes:
        along = np.matmul(to, axis.at(sites)[0])
        tables.append(_product(flat[..., columns], along))
        nodes.append(_numbers(group.nodes[:, columns], levels, axis))
    layers = levels.axes[0].numbers.shape[0]
    whole = None if weights is None else np.tile(weights, (layers, 1))
    cells, e = np.tile(group.cells, layers), group.nodes.shape[0]
    table = np.concatenate(tables, axis=2)
    if flat.shape[0] < e:
        table = np.repeat(table, e, axis=0)
    all_nodes = np.concatenate(nodes, axis=1)
    collapsed = group.triangle
    return hull_of(all_nodes, table, (*degrees, degree), whole, collapsed, cells, count)


def _subset(group: Group, chosen: Ints) -> Group:
    """Return some elements of a group."""
    face = None if group.face is None else (group.face[0][chosen], group.face[1][chosen])
    return group._replace(
        cells=group.cells[chosen],
        nodes=group.nodes[chosen],
        face=face,
        fractions=None if group.fractions is None else group.fractions[chosen],
        source=None if group.source is None else group.source[chosen],
    )


def _block(
    group: Group, element: Element, levels: Levels, points: Floats, on_spline: Bools
) -> Elements:
    """Return elements in space whose functions have the same axes.

    `on_spline` (n,) says which functions of the plane are those of control points of a face.
    """
    full, reduced = rules(group.order, element.SPLINE, group.triangle, group.face is not None)
    axes = [
        (np.flatnonzero(on_spline == bool(kind)), axis) for kind, axis in enumerate(levels.axes)
    ]
    axes = [(columns, axis) for columns, axis in axes if columns.size]
    degree = max(axis.degree for _, axis in axes)
    nodes = np.concatenate(
        [_numbers(group.nodes[:, columns], levels, axis) for columns, axis in axes], axis=1
    )

    def derivatives(rule: Rule, gauss: Floats) -> list[Floats]:
        # by the coordinates of the element, of the functions of each axis
        f, df = functions(group, rule.xi, rule.eta)
        shape = (group.nodes.shape[0], *f.shape[1:])
        f, df = np.broadcast_to(f, shape), np.broadcast_to(df, (*shape, 2))
        return [
            _products(f[..., columns], df[..., columns, :], *axis.at(gauss))[1]
            for columns, axis in axes
        ]

    def at(rule: Rule, along: int) -> tuple[Floats, Floats]:
        # gradients dN/dX and volumes at the points of a rule, `along` points on the axis
        gauss, weights_along = np.polynomial.legendre.leggauss(along)
        rates = derivatives(rule, gauss)
        weights = np.ravel(weights_along[:, None] * rule.weights)
        return mapped(np.concatenate(rates, axis=2), points[nodes], weights)

    # full integration, then the points of the volumetric energy, then incompatible modes
    g, w = at(full, degree + 1)
    if not element.reduced:
        vg, vw = np.zeros((w.shape[0], 0, *g.shape[2:])), np.zeros((w.shape[0], 0))
    elif reduced is None:
        vw = w.sum(axis=1, keepdims=True)
        vg = np.einsum("eq,eqnd->end", w, g)[:, None] / vw[:, :, None, None]
    else:
        vg, vw = at(reduced, degree)
    modes = np.zeros((*w.shape, 0, 3))
    if group.order == 1 and not group.triangle:
        # 1 - xi^2 for each coordinate, as in the plane
        rates = np.zeros((full.xi.size * (degree + 1), 3, 3))
        gauss, weights_along = np.polynomial.legendre.leggauss(degree + 1)
        rates[:, 0, 0], rates[:, 1, 1] = (
            -2.0 * np.tile(c, gauss.size) for c in (full.xi, full.eta)
        )
        rates[:, 2, 2] = -2.0 * np.repeat(gauss, full.xi.size)
        weights = np.ravel(weights_along[:, None] * full.weights)
        middle = np.concatenate(derivatives(Rule(*(np.zeros(1),) * 3), np.zeros(1)), axis=2)[:, 0]
        modes = modes_of(middle, points[nodes], rates, weights, w)
    if element.BENDS and modes.shape[2]:
        return bending(nodes, points, g, w, modes)
    vg = np.ascontiguousarray(vg)
    return Elements(nodes, np.ascontiguousarray(g), w, vg, vw, modes)


def _face(surface: Surface, element: Element, levels: Levels, points: Floats) -> Surface:
    """Return the contact surface swept from a plane boundary; its second coordinate is the axis."""
    axis = levels.axes[int(levels.on_spline[surface.nodes[0, 0]])]
    gauss, weights_along = np.polynomial.legendre.leggauss(element.contact_points)
    elements, layers = surface.nodes.shape[0], axis.numbers.shape[0]
    nodes = _numbers(surface.nodes, levels, axis)
    f, df = curve_functions(surface.extraction, surface.weights, gauss)
    # functions and areas at the contact points of patches; e counts patches layer by layer
    n, dn = _products(f, df[..., None], *axis.at(gauss))
    tangents = np.einsum("eqnm,end->mdeq", dn, points[nodes])
    area = np.sqrt((crossed(tangents) ** 2).sum(axis=0))
    both = np.einsum("lkb,sna->lsknba", axis.extraction, surface.extraction)
    width = axis.extraction.shape[2] * surface.extraction.shape[2]
    extraction = both.reshape(layers * elements, -1, width)
    weights = np.tile(surface.weights, (layers, axis.numbers.shape[1]))
    # adjacent patches, -1 at an edge
    e = np.arange(elements * layers)
    column, row = e % elements, e // elements
    sides = [
        np.where(column > 0, e - 1, -1),
        np.where(column < elements - 1, e + 1, -1),
        np.where(row > 0, e - elements, -1),
        np.where(row < layers - 1, e + elements, -1),
    ]
    each = np.ravel(weights_along[:, None] * weights_along)
    sizes = np.sqrt((tangents**2).sum(axis=1))
    return Surface(
        np.ascontiguousarray(nodes),
        np.ascontiguousarray(extraction),
        weights,
        np.stack(sides, axis=1),
        gauss,
        np.ascontiguousarray(n),
        np.ascontiguousarray(dn),
        np.ascontiguousarray(area * each),
        (surface.extraction.shape[2] - 1, axis.degree),
        (elements, layers),
        np.ascontiguousarray(0.5 * np.einsum("meq,q->em", sizes, each)),
    )
