"""Bodies in space: a plane body swept along a third axis, in hexahedra.

Functions are products, N(xi, eta) M(zeta), of those of the plane element with B-splines along the
axis: of one degree where the plane has nodes, and of another where it has control points of a
contact boundary. So every plane element has its body in space: Q1 is the trilinear hexahedron, Q2
the triquadratic one, and Q1N2 the trilinear one with biquadratic patches where it touches. All
functions at one point of the plane have one degree along the axis, and the body holds together.

Places may be moved afterwards: hexahedra need not stay straight. Splines on the faces go through
the moved places at their Greville points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.bsplines import basis, bernstein, bezier_extraction, greville, open_knots
from stiction.solids.arrays import Elements, Surface
from stiction.solids.dimensions import crossed
from stiction.solids.elements.kinds import Element, Laid, laid_out
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
        made = np.zeros((heights.size, self.heights.size))
        columns = first[:, None] + np.arange(self.degree + 1)
        np.put_along_axis(made, columns, values, axis=1)
        return made


class Levels(NamedTuple):
    """The points of the plane in space.

    Parameters
    ----------
    axes : of nodes, and of control points of contact boundaries
    bent : (n,) which points of the plane are such control points
    numbers : (n, k) points in space along the axis, -1 beyond the last one
    """

    axes: tuple[Axis, Axis]
    bent: Bools
    numbers: Ints

    def of(self, kind: int) -> Ints:
        """Return the points of the plane with the first or second axis."""
        return np.flatnonzero(self.bent == bool(kind))

    def ends(self) -> tuple[Ints, Ints]:
        """Return the points in space at both ends of the axis."""
        last = np.array([axis.heights.size - 1 for axis in self.axes])[self.bent.astype(np.int64)]
        return self.numbers[:, 0], np.take_along_axis(self.numbers, last[:, None], axis=1)[:, 0]


class Swept(NamedTuple):
    """A body in space.

    Parameters
    ----------
    points : (n, 3) reference places of nodes and control points [m]
    blocks : elements by kind
    surfaces : contact boundaries by name, swept from those of the plane
    node_sets : nodes and control points of every named boundary, and "front" and "back"
    laid : the plane body
    levels : its points in space
    homes : of the elements of each group of the plane: block, place in its layer, and how many
        there are in one
    hulls : the elements in Bezier form
    """

    points: Floats
    blocks: list[Elements]
    surfaces: dict[str, Surface]
    node_sets: dict[str, Ints]
    laid: Laid
    levels: Levels
    homes: list[Ints]
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
    move : where places (n, 3) go afterwards, before volumes are computed
    face_degree : of the splines along the axis on contact boundaries; None takes `degree`

    Verified by: tests/unit/solids/elements/test_swept.py::test_patch_of_hexahedra
    """
    ends = np.asarray(breaks, dtype=np.float64)
    laid = laid_out(mesh, element, tuple(contact))
    for name in contact:
        # a swept boundary is a grid of patches with two ends each way
        mesh.chain(name)
    degrees = (degree, degree if face_degree is None else face_degree)
    levels = _levels(laid, element, ends, degrees)
    flat = laid.numbering.points
    points = np.empty((int(levels.numbers.max()) + 1, 3))
    for kind, axis in enumerate(levels.axes):
        mine = levels.of(kind)
        there = levels.numbers[mine, : axis.heights.size]
        points[there, :2], points[there, 2] = flat[mine, None], axis.heights
    if move is not None:
        points = _moved(points, laid, levels, move)
    blocks: list[Any] = []
    homes: list[Any] = []
    hulls: list[Hull] = []
    for group in laid.groups:
        made, convex, home = _blocks(group, element, levels, points, len(blocks))
        blocks += made
        hulls += convex
        homes.append(home)
    surfaces = {
        name: _face(surface, element, levels, points) for name, surface in laid.surfaces.items()
    }
    sets = _sets(laid, levels)
    return Swept(points, blocks, surfaces, sets, laid, levels, homes, tuple(hulls))


def _levels(laid: Laid, element: Element, breaks: Floats, degrees: tuple[int, int]) -> Levels:
    """Return the points of the plane in space: layers of nodes, then layers of control points."""
    made = []
    for degree in degrees:
        knots = open_knots(breaks, degree)
        first, extraction = bezier_extraction(knots, degree)
        numbers = first[:, None] + np.arange(degree + 1)
        made.append(Axis(knots, numbers, extraction, greville(knots, degree), degree))
    axes = (made[0], made[1])
    bent = np.zeros(laid.numbering.points.shape[0], dtype=bool)
    if element.SPLINE and degrees[0] != degrees[1]:
        for surface in laid.surfaces.values():
            bent[surface.nodes] = True
    numbers = np.full((bent.size, max(axis.heights.size for axis in axes)), -1, dtype=np.int64)
    shift = 0
    for kind, axis in enumerate(axes):
        mine, high = np.flatnonzero(bent == bool(kind)), axis.heights.size
        numbers[mine, :high] = shift + mine.size * np.arange(high) + np.arange(mine.size)[:, None]
        shift += mine.size * high
    return Levels(axes, bent, numbers)


def _sets(laid: Laid, levels: Levels) -> dict[str, Ints]:
    """Return nodes by boundary: those of the plane at every height, and both ends."""
    sets = {}
    for name, nodes in laid.node_sets.items():
        found = levels.numbers[nodes].T.ravel()
        sets[name] = found[found >= 0]
    sets["back"], sets["front"] = levels.ends()
    return sets


def _moved(points: Floats, laid: Laid, levels: Levels, move: Callable[[Floats], Floats]) -> Floats:
    """Return points whose body goes through moved places: of nodes, and of Greville points."""
    from scipy.sparse.linalg import splu

    across = _collocation(laid, levels)
    made = np.empty_like(points)
    for kind, axis in enumerate(levels.axes):
        mine, high = levels.of(kind), axis.heights.size
        if not mine.size:
            continue
        there = levels.numbers[mine, :high]
        along, part = axis.matrix(axis.heights), across[mine][:, mine].tocsc()
        controls = points[there].transpose(1, 0, 2).reshape(high, -1)
        levelled = (along @ controls).reshape(high, mine.size, 3)
        places = np.stack([part @ level for level in levelled])
        moved = np.asarray(move(places.reshape(-1, 3)), dtype=np.float64)
        went = np.linalg.solve(along, moved.reshape(high, -1)).reshape(high, mine.size, 3)
        factors = splu(part)
        made[there] = np.stack([factors.solve(level) for level in went], axis=1)
    return made


def _collocation(laid: Laid, levels: Levels) -> csr_matrix:
    """Return the matrix from points of the plane to places, one for each: Greville's on curves."""
    from scipy.sparse import csr_matrix, lil_matrix

    count = levels.bent.size
    matrix = lil_matrix((count, count))
    matrix.setdiag(1.0)
    for layer, surface in zip(laid.layers, laid.surfaces.values(), strict=False):
        degree = layer.curve.extraction.shape[2] - 1
        sites = np.array([0.0]) if degree == 2 else np.array([-1.0, 1.0]) / 3.0
        f, _ = curve_functions(surface.extraction, surface.weights, sites)
        for piece, nodes in enumerate(surface.nodes):
            for site in range(sites.size):
                row = int(nodes[1 + site])
                matrix[row, row] = 0.0
                for value, column in zip(f[piece, site], nodes, strict=True):
                    matrix[row, int(column)] = value
    return csr_matrix(matrix)


# ---------------------------------------------------------------- products


def _products(f: Floats, df: Floats, m: Floats, dm: Floats) -> tuple[Floats, Floats]:
    """Return products (l e, q r, n k) and their derivatives (..., d) of plane and axis."""
    rates = [_product(df[..., a], m) for a in range(df.shape[3])] + [_product(f, dm)]
    return _product(f, m), np.stack(rates, axis=-1)


def _product(f: Floats, m: Floats) -> Floats:
    """Return products (l e, q r, n k) of functions of the plane (e, q, n) and axis (l, r, k)."""
    made = f[None, :, None, :, None, :] * m[:, None, :, None, :, None]
    return made.reshape(m.shape[0] * f.shape[0], m.shape[1] * f.shape[1], -1)


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
    gauss, share = np.polynomial.legendre.leggauss(along)
    found = []
    for group in swept.laid.groups:
        rule = rule_of(group)
        flags = swept.levels.bent[group.nodes]
        patterns, which = np.unique(flags, axis=0, return_inverse=True)
        for number, bent in enumerate(patterns):
            mine = _taken(group, np.flatnonzero(np.ravel(which) == number))
            axes = [
                (np.flatnonzero(bent == bool(kind)), axis)
                for kind, axis in enumerate(swept.levels.axes)
            ]
            axes = [(columns, axis) for columns, axis in axes if columns.size]
            f, df = functions(mine, rule.xi, rule.eta)
            shape = (mine.nodes.shape[0], *f.shape[1:])
            f, df = np.broadcast_to(f, shape), np.broadcast_to(df, (*shape, 2))
            parts = [
                _products(f[..., columns], df[..., columns, :], *axis.at(gauss))
                for columns, axis in axes
            ]
            nodes = [_numbers(mine.nodes[:, columns], swept.levels, axis) for columns, axis in axes]
            every = np.concatenate(nodes, axis=1)
            weights = np.ravel(share[:, None] * rule.weights)
            rates = np.concatenate([part[1] for part in parts], axis=2)
            _, volumes = mapped(rates, swept.points[every], weights)
            found.append((every, np.concatenate([part[0] for part in parts], axis=2), volumes))
    return found


def _numbers(nodes: Ints, levels: Levels, axis: Axis) -> Ints:
    """Return the points (l e, k n) of points of the plane (e, n) in every layer."""
    made = levels.numbers[nodes[None, :, None, :], axis.numbers[:, None, :, None]]
    return np.asarray(made.reshape(axis.numbers.shape[0] * nodes.shape[0], -1))


def _blocks(
    group: Group, element: Element, levels: Levels, points: Floats, first: int
) -> tuple[list[Elements], list[Hull], Ints]:
    """Return the elements of one kind in space, and where each one of the plane went."""
    flags = levels.bent[group.nodes]
    patterns, which = np.unique(flags, axis=0, return_inverse=True)
    home = np.empty((group.nodes.shape[0], 3), dtype=np.int64)
    made, hulls = [], []
    for number, bent in enumerate(patterns):
        here = np.flatnonzero(np.ravel(which) == number)
        home[here, 0], home[here, 1] = first + number, np.arange(here.size)
        home[here, 2] = here.size
        mine = _taken(group, here)
        hulls.append(_hull(mine, levels, bent, points.shape[0]))
        refuse_folded(hulls[-1:], points)
        made.append(_block(mine, element, levels, points, bent))
    return made, hulls, home


def _hull(group: Group, levels: Levels, bent: Bools, count: int) -> Hull:
    """Return elements in space, whose functions have the same axes, in Bezier form."""
    flat, degrees, weights = bezier_form(group)
    axes = [(np.flatnonzero(bent == bool(kind)), axis) for kind, axis in enumerate(levels.axes)]
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
    every = np.concatenate(nodes, axis=1)
    collapsed = group.triangle
    return hull_of(every, table, (*degrees, degree), whole, collapsed, cells, count)


def _taken(group: Group, here: Ints) -> Group:
    """Return some elements of a group."""
    face = None if group.face is None else (group.face[0][here], group.face[1][here])
    return group._replace(
        cells=group.cells[here],
        nodes=group.nodes[here],
        face=face,
        shares=None if group.shares is None else group.shares[here],
        source=None if group.source is None else group.source[here],
    )


def _block(group: Group, element: Element, levels: Levels, points: Floats, bent: Bools) -> Elements:
    """Return elements in space whose functions have the same axes."""
    full, part = rules(group.order, element.SPLINE, group.triangle, group.face is not None)
    axes = [(np.flatnonzero(bent == bool(kind)), axis) for kind, axis in enumerate(levels.axes)]
    axes = [(columns, axis) for columns, axis in axes if columns.size]
    degree = max(axis.degree for _, axis in axes)
    nodes = np.concatenate(
        [_numbers(group.nodes[:, columns], levels, axis) for columns, axis in axes], axis=1
    )

    def derivatives(rule: Rule, gauss: Floats) -> list[Floats]:
        f, df = functions(group, rule.xi, rule.eta)
        shape = (group.nodes.shape[0], *f.shape[1:])
        f, df = np.broadcast_to(f, shape), np.broadcast_to(df, (*shape, 2))
        return [
            _products(f[..., columns], df[..., columns, :], *axis.at(gauss))[1]
            for columns, axis in axes
        ]

    def at(rule: Rule, along: int) -> tuple[Floats, Floats]:
        gauss, share = np.polynomial.legendre.leggauss(along)
        rates = derivatives(rule, gauss)
        weights = np.ravel(share[:, None] * rule.weights)
        return mapped(np.concatenate(rates, axis=2), points[nodes], weights)

    g, w = at(full, degree + 1)
    if not element.reduced:
        vg, vw = np.zeros((w.shape[0], 0, *g.shape[2:])), np.zeros((w.shape[0], 0))
    elif part is None:
        vw = w.sum(axis=1, keepdims=True)
        vg = np.einsum("eq,eqnd->end", w, g)[:, None] / vw[:, :, None, None]
    else:
        vg, vw = at(part, degree)
    modes = np.zeros((*w.shape, 0, 3))
    if group.order == 1 and not group.triangle:
        # 1 - xi^2 for each coordinate, as in the plane
        rates = np.zeros((full.xi.size * (degree + 1), 3, 3))
        gauss, share = np.polynomial.legendre.leggauss(degree + 1)
        rates[:, 0, 0], rates[:, 1, 1] = (
            -2.0 * np.tile(c, gauss.size) for c in (full.xi, full.eta)
        )
        rates[:, 2, 2] = -2.0 * np.repeat(gauss, full.xi.size)
        weights = np.ravel(share[:, None] * full.weights)
        middle = np.concatenate(derivatives(Rule(*(np.zeros(1),) * 3), np.zeros(1)), axis=2)[:, 0]
        modes = modes_of(middle, points[nodes], rates, weights, w)
    if element.BENDS and modes.shape[2]:
        return bending(nodes, points, g, w, modes)
    vg = np.ascontiguousarray(vg)
    return Elements(nodes, np.ascontiguousarray(g), w, vg, vw, modes)


def _face(surface: Surface, element: Element, levels: Levels, points: Floats) -> Surface:
    """Return a contact boundary in space: its second coordinate runs along the axis."""
    axis = levels.axes[int(levels.bent[surface.nodes[0, 0]])]
    gauss, share = np.polynomial.legendre.leggauss(element.contact_points)
    pieces, layers = surface.nodes.shape[0], axis.numbers.shape[0]
    nodes = _numbers(surface.nodes, levels, axis)
    f, df = curve_functions(surface.extraction, surface.weights, gauss)
    n, dn = _products(f, df[..., None], *axis.at(gauss))
    tangents = np.einsum("eqnm,end->mdeq", dn, points[nodes])
    area = np.sqrt((crossed(tangents) ** 2).sum(axis=0))
    both = np.einsum("lkb,sna->lsknba", axis.extraction, surface.extraction)
    width = axis.extraction.shape[2] * surface.extraction.shape[2]
    extraction = both.reshape(layers * pieces, -1, width)
    weights = np.tile(surface.weights, (layers, axis.numbers.shape[1]))
    e = np.arange(pieces * layers)
    column, row = e % pieces, e // pieces
    sides = [
        np.where(column > 0, e - 1, -1),
        np.where(column < pieces - 1, e + 1, -1),
        np.where(row > 0, e - pieces, -1),
        np.where(row < layers - 1, e + pieces, -1),
    ]
    each = np.ravel(share[:, None] * share)
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
        (pieces, layers),
        np.ascontiguousarray(0.5 * np.einsum("meq,q->em", sizes, each)),
    )
