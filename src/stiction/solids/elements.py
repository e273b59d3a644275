"""Elements: Lagrange inside, with a layer of splines on the boundaries that touch.

The layer's face carries a curve of degree p in Bezier form, so that plain quadrilaterals
(p = 1, 2), quadratic B-splines (Corbett and Sauer 2014) and cubic Hermite curves (Sauer 2011)
are one thing: functions = extraction times Bernstein polynomials. Inside, the layer has the
nodes of its neighbours, so that the body holds together.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, whole
from stiction.solids.arrays import Discretisation, Elements, Picture, Surface
from stiction.solids.mesh import Mesh

__all__ = ["Q1", "Q1H", "Q1N2", "Q2", "Q2N2", "Element", "discretise"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Element(Record, abc.ABC):
    """Base of elements.

    Parameters
    ----------
    reduced : integrate the volumetric part at fewer points, against locking of bodies that
        hardly change their volume
    contact_points : integration points on each piece of a contact boundary
    """

    reduced: bool = False
    contact_points: int = 5

    ORDER = 1  # of the Lagrange functions inside
    FACE = 1  # degree of the curve on a contact boundary

    def __post_init__(self) -> None:
        name = type(self).__name__
        reduced: object = self.reduced
        if not isinstance(reduced, bool):
            why, try_ = "the volumetric part is integrated so or so.", "give False."
            raise ModelError(explain(f"{name}.reduced", repr(reduced), "a bool", why, try_))
        why = "tractions are integrated along the boundary."
        whole(f"{name}.contact_points", self.contact_points, least=1, why=why, try_="give 5.")


class Q1(Element):
    """Bilinear quadrilaterals, 2 x 2 points."""


class Q2(Element):
    """Biquadratic quadrilaterals with nine nodes, 3 x 3 points."""

    ORDER, FACE = 2, 2


class Q1N2(Element):
    """Q1 inside, quadratic B-splines on contact boundaries; Q1N2.1 of the literature.

    Source: Corbett and Sauer 2014.
    Verified by: tests/unit/solids/test_elements.py::test_linear_fields
    """

    FACE = -2


class Q2N2(Element):
    """Q2 inside, quadratic B-splines on contact boundaries; Q2N2.1 of the literature.

    Source: Corbett and Sauer 2014.
    Verified by: tests/unit/solids/test_elements.py::test_linear_fields
    """

    ORDER, FACE = 2, -2


class Q1H(Element):
    """Q1 inside, cubic Hermite curves on contact boundaries.

    Slopes at the nodes are unknowns; they stand as control points of the curve in Bezier form.

    Source: Sauer 2011.
    Verified by: tests/unit/solids/test_elements.py::test_linear_fields
    """

    FACE = -3


# ---------------------------------------------------------------- functions on [-1, 1]


def lagrange(order: int, xi: Floats) -> tuple[Floats, Floats]:
    """Return Lagrange functions and derivatives at points xi, (points, order + 1) each.

    The nodes are -1, 1 for order 1 and -1, 0, 1 for order 2.
    """
    x = np.asarray(xi)
    if order == 1:
        return np.stack([0.5 * (1 - x), 0.5 * (1 + x)], -1), np.stack(
            [np.full_like(x, -0.5), np.full_like(x, 0.5)], -1
        )
    n = np.stack([0.5 * x * (x - 1), 1 - x * x, 0.5 * x * (x + 1)], -1)
    return n, np.stack([x - 0.5, -2 * x, x + 0.5], -1)


def bernstein(degree: int, xi: Floats) -> tuple[Floats, Floats]:
    """Return Bernstein polynomials and derivatives at points xi, (points, degree + 1) each."""
    from math import comb

    t, s = 0.5 * (1.0 + np.asarray(xi)), 0.5 * (1.0 - np.asarray(xi))
    b = np.stack([comb(degree, k) * t**k * s ** (degree - k) for k in range(degree + 1)], -1)
    low = np.stack([comb(degree - 1, k) * t**k * s ** (degree - 1 - k) for k in range(degree)], -1)
    zero = np.zeros((*low.shape[:-1], 1))
    d = 0.5 * degree * (np.concatenate([zero, low], -1) - np.concatenate([low, zero], -1))
    return b, d


# ---------------------------------------------------------------- the curve on a boundary


def extraction(face: int, lengths: Floats) -> tuple[Ints, Floats]:
    """Return control points (s, n) and Bezier extraction (s, n, p + 1) of a boundary's curve.

    Parameters
    ----------
    face : 1 or 2 for Lagrange functions of this degree, -2 for quadratic B-splines, -3 for
        cubic Hermite curves
    lengths : (s,) of the pieces, which are the knot spans [m]

    Source: Borden, Scott, Evans, Hughes 2011 for the extraction of B-splines.
    Verified by: tests/unit/solids/test_elements.py::test_extraction_against_splines
    """
    s = lengths.size
    e = np.arange(s)
    if face == 1:
        return e[:, None] + np.arange(2), np.tile(np.eye(2), (s, 1, 1))
    if face == 2:
        # values at -1, 0, 1 in Bernstein form
        c = np.array([[1.0, -0.5, 0.0], [0.0, 2.0, 0.0], [0.0, -0.5, 1.0]])
        return 2 * e[:, None] + np.arange(3), np.tile(c, (s, 1, 1))
    before = np.concatenate([[0.0], lengths[:-1]])
    after = np.concatenate([lengths[1:], [0.0]])
    # the curve at the ends of a piece lies between the points on both sides of it
    a = lengths / (lengths + before)
    b = lengths / (lengths + after)
    if face == -2:
        c = np.zeros((s, 3, 3))
        c[:, 0, 0], c[:, 1, 0] = a, 1.0 - a
        c[:, 1, 1] = 1.0
        c[:, 1, 2], c[:, 2, 2] = 1.0 - b, b
        c[0, :, 0], c[-1, :, 2] = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
        return e[:, None] + np.arange(3), c
    c = np.zeros((s, 4, 4))
    c[:, 0, 0], c[:, 1, 0] = a, 1.0 - a
    c[:, 1, 1] = c[:, 2, 2] = 1.0
    c[:, 2, 3], c[:, 3, 3] = 1.0 - b, b
    c[0, :, 0], c[-1, :, 3] = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    return 2 * e[:, None] + np.arange(4), c


def _control_points(face: int, numbers: Ints, c: Floats, ends: Floats, middles: Floats) -> Floats:
    """Return control points whose curve meets the boundary's ends and middles."""
    if face == 1:
        return np.concatenate([ends[:1, 0], ends[:, 1]])
    from scipy.sparse import lil_matrix
    from scipy.sparse.linalg import spsolve

    s, n = numbers.shape
    count = int(numbers.max()) + 1
    degree = c.shape[2] - 1
    rows: list[tuple[int, float]] = [(0, -1.0)]
    if face == 2:
        for e in range(s):
            rows += [(e, 0.0), (e, 1.0)]
        places = np.concatenate([ends[:1, 0], np.stack([middles, ends[:, 1]], 1).reshape(-1, 2)])
    elif face == -2:
        rows += [(e, 0.0) for e in range(s)] + [(s - 1, 1.0)]
        places = np.concatenate([ends[:1, 0], middles, ends[-1:, 1]])
    else:
        # two Gauss-like places per piece; between the given points the boundary is a parabola
        u = 0.5
        for e in range(s):
            rows += [(e, -u), (e, u)]
        rows += [(s - 1, 1.0)]
        f, _ = lagrange(2, np.array([-u, u]))
        inner = np.einsum("ui,sid->sud", f, np.stack([ends[:, 0], middles, ends[:, 1]], 1))
        places = np.concatenate([ends[:1, 0], inner.reshape(-1, 2), ends[-1:, 1]])
    matrix = lil_matrix((count, count))
    for row, (e, xi) in enumerate(rows):
        b, _ = bernstein(degree, np.array([xi]))
        values = c[e] @ b[0]
        for k in range(n):
            if values[k] != 0.0:
                matrix[row, numbers[e, k]] += values[k]
    return np.asarray(spsolve(matrix.tocsc(), places)).reshape(count, 2)


# ---------------------------------------------------------------- a body in elements


class _Layer:
    """The pieces of one contact boundary: cells turned so that their face comes first."""

    def __init__(self, mesh: Mesh, element: Element, name: str) -> None:
        pieces = mesh.boundary(name)
        edges = mesh.edge_nodes(name)
        ends = mesh.points[edges[:, :2]]
        middles = ends.mean(axis=1) if edges.shape[1] == 2 else mesh.points[edges[:, 2]]
        lengths = np.linalg.norm(ends[:, 0] - middles, axis=1)
        lengths = lengths + np.linalg.norm(ends[:, 1] - middles, axis=1)
        self.name, self.cells = name, pieces[:, 0]
        self.numbers, self.extraction = extraction(element.FACE, lengths)
        self.points = _control_points(element.FACE, self.numbers, self.extraction, ends, middles)
        self.face_nodes = np.unique(edges)
        self.control = np.zeros(0, dtype=np.int64)
        self.first, self.last = edges[0, 0], edges[-1, 1]
        turn = pieces[:, 1][:, None]
        cells = mesh.cells[self.cells]
        corner = np.take_along_axis(cells, (np.arange(4) + turn) % 4, axis=1)
        if element.ORDER == 1:
            self.inner = corner[:, [3, 2]]
        else:
            middle = np.take_along_axis(cells, 4 + (np.arange(4) + turn) % 4, axis=1)
            self.inner = np.stack(
                [middle[:, 3], cells[:, 8], middle[:, 1], corner[:, 3], middle[:, 2], corner[:, 2]],
                axis=1,
            )


def discretise(mesh: Mesh, element: Element, contact: tuple[str, ...] = ()) -> Discretisation:
    """Return a body in elements, with the element's own layer on the contact boundaries.

    Parameters
    ----------
    mesh : its shape
    element : what displacements are made of
    contact : names of the boundaries that touch something

    Raises
    ------
    ModelError : if a boundary is unknown, or a cell has edges on two contact boundaries.

    Verified by: tests/unit/solids/test_elements.py::test_linear_fields
    """
    mesh = _fitting(mesh, element)
    layers = [_Layer(mesh, element, name) for name in contact]
    owners = np.concatenate([layer.cells for layer in layers]) if layers else np.zeros(0, int)
    if np.unique(owners).size != owners.size:
        why = "a cell of the layer has one face that touches."
        got, needs = "a cell with two edges on contact boundaries", "at most one"
        raise ModelError(explain("Mesh", got, needs, why, "mesh the corner with more cells."))
    number, points = _numbering(mesh, layers, element.ORDER)
    rest = np.setdiff1d(np.arange(mesh.cells.shape[0]), owners)
    blocks: list[Elements] = []
    of_blocks: list[_Layer | None] = []
    if rest.size:
        nodes = number[mesh.cells[rest][:, : 4 if element.ORDER == 1 else 9]]
        blocks.append(_elements(nodes, element, None, points))
        of_blocks.append(None)
    surfaces, sets = {}, {}
    for layer in layers:
        face = layer.control[layer.numbers]
        nodes = np.concatenate([face, number[layer.inner]], axis=1)
        blocks.append(_elements(nodes, element, layer, points))
        of_blocks.append(layer)
        surfaces[layer.name] = _surface(element, layer, face, points)
        sets[layer.name] = np.unique(layer.control)
    for name in mesh.boundaries:
        if name not in sets:
            edges = mesh.edge_nodes(name)
            found = number[np.unique(edges if element.ORDER == 2 else edges[:, :2])]
            sets[name] = np.unique(found[found >= 0])
    return Discretisation(
        points, blocks, surfaces, sets, _picture(element, blocks, of_blocks, points)
    )


def _fitting(mesh: Mesh, element: Element) -> Mesh:
    """Return the mesh with the nodes that the element needs, and no others."""
    if element.ORDER == 2 and mesh.cells.shape[1] == 4:
        return _with_middles(mesh)
    return mesh


def _with_middles(mesh: Mesh) -> Mesh:
    """Return a mesh of nine nodes per cell, middles on straight lines."""
    corners = mesh.cells
    pairs = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=2), axis=2)
    unique, back = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    n = mesh.points.shape[0]
    middle = n + back.reshape(-1, 4)
    centre = n + unique.shape[0] + np.arange(corners.shape[0])
    points = np.concatenate(
        [mesh.points, mesh.points[unique].mean(axis=1), mesh.points[corners].mean(axis=1)]
    )
    cells = np.concatenate([corners, middle, centre[:, None]], axis=1)
    return Mesh(points, cells, mesh.boundaries)


def _numbering(mesh: Mesh, layers: list[_Layer], order: int) -> tuple[Ints, Floats]:
    """Return new numbers of the old nodes (-1 where gone) and all points; fill in controls."""
    owners = np.concatenate([layer.cells for layer in layers]) if layers else np.zeros(0, int)
    rest = np.setdiff1d(np.arange(mesh.cells.shape[0]), owners)
    used = np.zeros(mesh.points.shape[0], dtype=bool)
    used[mesh.cells[rest][:, : 4 if order == 1 else 9]] = True
    for layer in layers:
        used[layer.inner] = True
    for layer in layers:
        used[layer.face_nodes] = False
    number = np.full(mesh.points.shape[0], -1, dtype=np.int64)
    count = int(used.sum())
    number[used] = np.arange(count)
    points = [mesh.points[used]]
    for layer in layers:
        size = layer.points.shape[0]
        layer.control = count + np.arange(size)
        number[layer.first], number[layer.last] = count, count + size - 1
        points.append(layer.points)
        count += size
    return number, np.concatenate(points)


# ---------------------------------------------------------------- functions at points

_GAUSS = {n: np.polynomial.legendre.leggauss(n) for n in (1, 2, 3, 4)}
# where plain elements have their nodes: index along xi and along eta
_NODES = {
    1: ([0, 1, 1, 0], [0, 0, 1, 1]),
    2: ([0, 2, 2, 0, 1, 2, 1, 0, 1], [0, 0, 2, 2, 0, 1, 2, 1, 1]),
}


def _grid(nx: int, ny: int) -> tuple[Floats, Floats, Floats]:
    """Return Gauss points xi, eta and weights of the square, eta slowest."""
    (x, wx), (y, wy) = _GAUSS[nx], _GAUSS[ny]
    return np.tile(x, ny), np.repeat(y, nx), np.tile(wx, ny) * np.repeat(wy, nx)


def _rules(element: Element, layer: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return points along xi and eta: of the whole, and of a volumetric part set apart."""
    if element.ORDER == 2:
        return (3, 3), (2, 2)
    along = {1: 2, -2: 3, -3: 4}[element.FACE] if layer else 2
    return (along, 2), (1, 1)


def _plain_functions(order: int, xi: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return functions (q, n) and derivatives (q, n, 2) of a Lagrange element."""
    (a, da), (b, db) = lagrange(order, xi), lagrange(order, eta)
    i, j = _NODES[order]
    return a[:, i] * b[:, j], np.stack([da[:, i] * b[:, j], a[:, i] * db[:, j]], -1)


def _layer_functions(order: int, c: Floats, xi: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return functions (e, q, n) and derivatives (e, q, n, 2) of the layer's elements."""
    s = c.shape[0]
    f, df = bernstein(c.shape[2] - 1, xi)
    face, dface = np.einsum("enb,qb->eqn", c, f), np.einsum("enb,qb->eqn", c, df)
    (a, da), (b, db) = lagrange(order, xi), lagrange(order, eta)
    n, d0, d1 = [face * b[:, :1]], [dface * b[:, :1]], [face * db[:, :1]]
    for row in range(1, order + 1):
        across, dacross = b[:, row : row + 1], db[:, row : row + 1]
        n.append(np.broadcast_to(a * across, (s, *a.shape)))
        d0.append(np.broadcast_to(da * across, (s, *a.shape)))
        d1.append(np.broadcast_to(a * dacross, (s, *a.shape)))
    return np.concatenate(n, 2), np.stack([np.concatenate(d0, 2), np.concatenate(d1, 2)], -1)


def _gradients(dn: Floats, x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return dN/dX (e, q, n, 2) and reference volumes (e, q); refuses folded elements."""
    jacobian = np.einsum("eqnk,end->eqdk" if dn.ndim == 4 else "qnk,end->eqdk", dn, x)
    det = jacobian[..., 0, 0] * jacobian[..., 1, 1] - jacobian[..., 0, 1] * jacobian[..., 1, 0]
    if not (det > 0.0).all():
        e = int(np.argwhere(~(det > 0.0))[0, 0])
        at = x[e].mean(axis=0)
        got = f"an element that is folded near ({at[0]:.6g}, {at[1]:.6g})"
        why = "places inside an element must be told apart."
        needs, try_ = "a positive volume at every integration point", "make the mesh smoother."
        raise ModelError(explain("Mesh.cells", got, needs, why, try_))
    inverse = np.empty_like(jacobian)
    inverse[..., 0, 0], inverse[..., 1, 1] = jacobian[..., 1, 1] / det, jacobian[..., 0, 0] / det
    inverse[..., 0, 1] = -jacobian[..., 0, 1] / det
    inverse[..., 1, 0] = -jacobian[..., 1, 0] / det
    ready = np.matmul(dn, inverse)
    return np.ascontiguousarray(ready), np.ascontiguousarray(det * weights)


def _elements(nodes: Ints, element: Element, layer: _Layer | None, points: Floats) -> Elements:
    whole, part = _rules(element, layer is not None)

    def at(rule: tuple[int, int]) -> tuple[Floats, Floats]:
        xi, eta, w = _grid(*rule)
        if layer is None:
            dn = _plain_functions(element.ORDER, xi, eta)[1]
        else:
            dn = _layer_functions(element.ORDER, layer.extraction, xi, eta)[1]
        return _gradients(dn, points[nodes], w)

    g, w = at(whole)
    e, _, n, d = g.shape
    if not element.reduced:
        vg, vw = np.zeros((e, 0, n, d)), np.zeros((e, 0))
    elif part == (1, 1):
        # the mean over the element rather than the value in its middle: then a constant
        # pressure is balanced exactly, on the curved face of the layer too
        vw = w.sum(axis=1, keepdims=True)
        vg = np.einsum("eqnd,eq->end", g, w)[:, None] / vw[:, :, None, None]
    else:
        vg, vw = at(part)
    return Elements(np.ascontiguousarray(nodes), g, w, np.ascontiguousarray(vg), vw)


def _surface(element: Element, layer: _Layer, nodes: Ints, points: Floats) -> Surface:
    gauss, weights = np.polynomial.legendre.leggauss(element.contact_points)
    f, df = bernstein(layer.extraction.shape[2] - 1, gauss)
    n = np.einsum("enb,qb->eqn", layer.extraction, f)
    dn = np.einsum("enb,qb->eqn", layer.extraction, df)
    tangent = np.einsum("eqn,end->eqd", dn, points[nodes])
    s = nodes.shape[0]
    before, after = np.arange(s) - 1, np.arange(s) + 1
    after[-1] = -1
    return Surface(
        np.ascontiguousarray(nodes),
        np.ascontiguousarray(layer.extraction),
        np.ones(nodes.shape),
        np.stack([before, after], axis=1),
        gauss,
        np.ascontiguousarray(n),
        np.ascontiguousarray(dn)[..., None],
        np.ascontiguousarray(weights * np.linalg.norm(tangent, axis=2)),
    )


# ---------------------------------------------------------------- drawing


def _picture(
    element: Element, blocks: list[Elements], layers: list[_Layer | None], points: Floats
) -> Picture:
    """Return drawn points where cells meet, and quadrilaterals between them."""
    from scipy.sparse import csr_matrix

    entries, places, quads, owner = [], [], [], []
    count = 0
    for number, (block, layer) in enumerate(zip(blocks, layers, strict=True)):
        fine = element.ORDER == 2 or (layer is not None and element.FACE < 0)
        side = 3 if fine else 2
        line = np.linspace(-1.0, 1.0, side)
        xi, eta = np.tile(line, side), np.repeat(line, side)
        e = block.nodes.shape[0]
        if layer is None:
            n = np.broadcast_to(
                _plain_functions(element.ORDER, xi, eta)[0], (e, side**2, block.nodes.shape[1])
            )
        else:
            n = _layer_functions(element.ORDER, layer.extraction, xi, eta)[0]
        places.append(np.einsum("eqn,end->eqd", n, points[block.nodes]).reshape(-1, 2))
        row = count + np.arange(e * side**2).reshape(e, side**2)
        wide = np.repeat(row[:, :, None], block.nodes.shape[1], axis=2)
        columns = np.broadcast_to(block.nodes[:, None, :], wide.shape)
        entries.append((wide.ravel(), columns.ravel(), n.ravel()))
        for j in range(side - 1):
            for i in range(side - 1):
                corner = [
                    j * side + i,
                    j * side + i + 1,
                    (j + 1) * side + i + 1,
                    (j + 1) * side + i,
                ]
                quads.append(row[:, corner])
                owner.append(np.stack([np.full(e, number), np.arange(e)], axis=1))
        count += e * side**2
    drawn = np.concatenate(places)
    rounded = np.round(drawn / (1e-9 * np.ptp(drawn, axis=0).max())).astype(np.int64)
    _, first, back = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    matrix = csr_matrix((values, (rows, columns)), shape=(count, points.shape[0]))[first]
    cells = back.ravel()[np.concatenate(quads)]
    return Picture(matrix, cells, _outline(cells), np.concatenate(owner))


def _outline(quads: Ints) -> Ints:
    """Return the edges (k, 2) that belong to one drawn cell only."""
    edges = np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2)
    _, first, counts = np.unique(
        np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True
    )
    return edges[first[counts == 1]]
