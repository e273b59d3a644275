"""Shape functions, integration points and gradients of plane finite elements.

The layer is the row of elements along a contact boundary. Their face on the boundary, eta = -1, is
a spline curve with functions C_a; the rows of nodes behind it have Lagrange functions L_i, l_k
(docs/theory/solids, eq-so-layer):

    N = C_a(xi) l_0(eta) on the face,   L_i(xi) l_k(eta) in row k behind it.

With the Jacobian J = sum_a x_a (x) dN_a/dxi the gradients are dN/dX = J^-T dN/dxi, and a point of
weight w has the reference volume w det J (`mapped`). All other elements are plain Lagrange
elements. A quadrilateral is [-1, 1]^2. A plain triangle has coordinates >= 0 with a sum <= 1. A
triangle of the layer is a quadrilateral whose inner edge eta = 1 collapses to the apex. Called by
`elements.kinds` and `elements.swept`.

Shapes have e elements with n functions, and q integration points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.solids.arrays import Elements
from stiction.solids.dimensions import cofactor
from stiction.solids.shape_functions.hourglass import patterns
from stiction.solids.shape_functions.splines import curve_functions

__all__ = [
    "Group",
    "Rule",
    "bending",
    "centre",
    "functions",
    "gradients",
    "incompatible",
    "lagrange",
    "mapped",
    "modes_of",
    "rules",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Group(NamedTuple):
    """Elements of one kind: e elements of one shape and one number n of functions.

    Parameters
    ----------
    order : order of the Lagrange functions, 1 or 2
    triangle : whether they are triangles
    cells : (e,) numbers of the cells of the mesh
    nodes : (e, n) nodes and control points, numbered within the body
    face : Bezier extraction (e, k, p + 1) and rational weights (e, k) of the curve on the face;
        None outside of the layer
    fractions, source : (e, n) function a is fractions[a] times the Lagrange or face function
        source[a]. A corner on the boundary of an element outside the layer is distributed over two
        control points in this way. None if all fractions are 1
    """

    order: int
    triangle: bool
    cells: Ints
    nodes: Ints
    face: tuple[Floats, Floats] | None
    fractions: Floats | None
    source: Ints | None


class Rule(NamedTuple):
    """Integration points on the reference element: coordinates (q,) and weights (q,)."""

    xi: Floats
    eta: Floats
    weights: Floats


# nodes of plain quadrilaterals: index along xi and along eta
_NODES = {
    1: ([0, 1, 1, 0], [0, 0, 1, 1]),
    2: ([0, 2, 2, 0, 1, 2, 1, 0, 1], [0, 0, 2, 2, 0, 1, 2, 1, 1]),
}


def lagrange(order: int, x: Floats) -> tuple[Floats, Floats]:
    """Return Lagrange functions and derivatives on [-1, 1], (points, order + 1) each.

    The nodes are 0 for order 0, -1, 1 for order 1 and -1, 0, 1 for order 2.
    """
    if order == 0:
        return np.ones((x.size, 1)), np.zeros((x.size, 1))
    if order == 1:
        half = np.full_like(x, 0.5)
        return np.stack([0.5 * (1 - x), 0.5 * (1 + x)], -1), np.stack([-half, half], -1)
    n = np.stack([0.5 * x * (x - 1), 1 - x * x, 0.5 * x * (x + 1)], -1)
    return n, np.stack([x - 0.5, -2 * x, x + 0.5], -1)


# ---------------------------------------------------------------- integration points


def rules(order: int, degree: int, triangle: bool, layer: bool) -> tuple[Rule, Rule | None]:
    """Return the rule of full integration, and the reduced rule of the volumetric term.

    The reduced rule is None if the volumetric term uses the mean over the element.

    Parameters
    ----------
    order : of the Lagrange functions
    degree : of the curve on the face of a layer
    triangle, layer : whether elements are triangles, and whether they belong to a spline layer
    """
    if triangle and not layer:
        if order == 1:
            third = np.array([1.0 / 3.0])
            return Rule(third, third, np.array([0.5])), None
        a = np.array([1.0, 4.0, 1.0]) / 6.0
        return Rule(a, a[[0, 2, 1]], np.full(3, 1.0 / 6.0)), None
    along = max(degree + 1, 3) if layer and order == 1 else order + 1
    part = None if triangle or order == 1 else _square(2, 2)
    return _square(along, order + 1), part


def _square(nx: int, ny: int) -> Rule:
    """Return the product of Gauss rules with nx and ny points; xi runs fastest."""
    (x, wx), (y, wy) = (np.polynomial.legendre.leggauss(n) for n in (nx, ny))
    return Rule(np.tile(x, ny), np.repeat(y, nx), np.tile(wx, ny) * np.repeat(wy, nx))


def centre(group: Group) -> tuple[Floats, Floats]:
    """Return the reference coordinates of the centre of an element."""
    if not group.triangle:
        return np.zeros(1), np.zeros(1)
    if group.face is None:
        return np.full(1, 1.0 / 3.0), np.full(1, 1.0 / 3.0)
    return np.zeros(1), np.full(1, -1.0 / 3.0)


# ---------------------------------------------------------------- functions


def functions(group: Group, xi: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return functions (e, q, n) and derivatives (e, q, n, 2) at points (q,) of every element.

    The first axis has length one if all elements have the same functions.

    Parameters
    ----------
    group : the elements
    xi, eta : (q,) coordinates on the reference element
    """
    if group.face is not None:
        f, df = _layer(group.order, group.triangle, *group.face, xi, eta)
    elif group.triangle:
        f, df = _triangle(group.order, xi, eta)
    else:
        f, df = _quadrilateral(group.order, xi, eta)
    if group.fractions is None or group.source is None:
        return f, df
    source = group.source[:, None, :]
    shape = (source.shape[0], f.shape[1], f.shape[2])
    f = np.take_along_axis(np.broadcast_to(f, shape), source, axis=2)
    df = np.take_along_axis(np.broadcast_to(df, (*shape, 2)), source[..., None], axis=2)
    fractions = group.fractions[:, None, :]
    return f * fractions, df * fractions[..., None]


def _quadrilateral(order: int, xi: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Return products of Lagrange functions of xi and eta, in the order of nodes of a cell."""
    (a, da), (b, db) = lagrange(order, xi), lagrange(order, eta)
    i, j = _NODES[order]
    f, df = a[:, i] * b[:, j], np.stack([da[:, i] * b[:, j], a[:, i] * db[:, j]], -1)
    return f[None], df[None]


def _triangle(order: int, r: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Return Lagrange functions of a triangle and derivatives by its coordinates r and s.

    t are barycentric coordinates. Corners come first, then middles of the edges 0-1, 1-2, 2-0.
    """
    t = np.stack([1.0 - r - s, r, s], -1)
    dt = np.broadcast_to(np.array([[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]), (r.size, 3, 2))
    if order == 1:
        return t[None], dt[None].copy()
    i, j = [0, 1, 2], [1, 2, 0]
    f = np.concatenate([t * (2.0 * t - 1.0), 4.0 * t[:, i] * t[:, j]], axis=1)
    corners = (4.0 * t - 1.0)[..., None] * dt
    sides = 4.0 * (t[:, i, None] * dt[:, j] + t[:, j, None] * dt[:, i])
    return f[None], np.concatenate([corners, sides], axis=1)[None]


def _layer(
    order: int, triangle: bool, extraction: Floats, weights: Floats, xi: Floats, eta: Floats
) -> tuple[Floats, Floats]:
    """Return the functions of elements of the layer, and their derivatives.

    First those of the curve on the face, C_a(xi) l_0(eta), then row by row L_i(xi) l_k(eta). In a
    triangle each row has one function less than the row before it; the apex has one. `extraction`
    and `weights` are those of `Group.face`; xi and eta are (q,).
    """
    e = extraction.shape[0]
    face, dface = curve_functions(extraction, weights, xi)
    b, db = lagrange(order, eta)
    n, d0, d1 = [face * b[:, :1]], [dface * b[:, :1]], [face * db[:, :1]]
    for row in range(1, order + 1):
        a, da = lagrange(order - row if triangle else order, xi)
        for values, product in (
            (n, a * b[:, row : row + 1]),
            (d0, da * b[:, row : row + 1]),
            (d1, a * db[:, row : row + 1]),
        ):
            values.append(np.broadcast_to(product, (e, *product.shape)))
    return np.concatenate(n, 2), np.stack([np.concatenate(d0, 2), np.concatenate(d1, 2)], -1)


# ---------------------------------------------------------------- gradients


def gradients(group: Group, points: Floats, rule: Rule) -> tuple[Floats, Floats]:
    """Return dN/dX (e, q, n, 2) [1/m] and reference volumes (e, q) [m^2].

    All volumes are positive: `hulls.refuse_folded` has refused folded elements.

    Parameters
    ----------
    group : the elements
    points : (nodes, 2) positions [m]
    rule : integration points
    """
    _, dn = functions(group, rule.xi, rule.eta)
    return mapped(dn, points[group.nodes], rule.weights)


def incompatible(group: Group, points: Floats, rule: Rule, weights: Floats) -> Floats:
    """Return gradients (e, q, m, 2) [1/m] of the modes 1 - xi^2 and 1 - eta^2 of bilinear cells.

    They are mapped by the Jacobian of the centre. So their mean over a cell of any shape is zero,
    and a constant stress does no work on them (patch test). Triangles have no modes.

    Parameters
    ----------
    group, points, rule : as in `gradients`
    weights : (e, q) reference volumes
    """
    if group.order > 1 or group.triangle:
        return np.zeros((*weights.shape, 0, 2))
    _, dn = functions(group, *centre(group))
    rates = np.zeros((rule.xi.size, 2, 2))
    rates[:, 0, 0], rates[:, 1, 1] = -2.0 * rule.xi, -2.0 * rule.eta
    return modes_of(dn[:, 0], points[group.nodes], rates, rule.weights, weights)


def modes_of(dn: Floats, x: Floats, rates: Floats, rule: Floats, weights: Floats) -> Floats:
    """Return gradients (e, q, m, d) [1/m] of incompatible modes: (det J_0 / det J) rates J_0^-1.

    J is the Jacobian at an integration point, J_0 that at the centre.

    Parameters
    ----------
    dn : (e or 1, n, d) derivatives of the functions at the centre
    x : (e, n, d) positions of the nodes [m]
    rates : (q, m, d) derivatives of the modes on the reference shape
    rule, weights : (q,) weights on the reference shape, and (e, q) reference volumes

    Source: Taylor, Beresford, Wilson 1976.
    Verified by: tests/unit/solids/elements/test_hourglass.py::test_linear_fields_have_no_hourglass
    """
    middle = np.matmul(x.transpose(0, 2, 1), dn)
    size = np.linalg.det(middle)
    result = np.einsum("qmi,eij->eqmj", rates, np.linalg.inv(middle))
    result *= (size[:, None] * rule / weights)[..., None, None]
    return np.asarray(result)


def bending(nodes: Ints, points: Floats, g: Floats, w: Floats, modes: Floats) -> Elements:
    """Return bilinear cells with the energy of the mean strain plus an hourglass energy.

    The formulas are in `hourglass`.

    Parameters
    ----------
    nodes : (e, n)
    points : (nodes, d) positions [m]
    g, w, modes : gradients (e, q, n, d), volumes (e, q) and gradients of modes (e, q, m, d), all at
        the integration points
    """
    none = np.zeros((w.shape[0], 0, *g.shape[2:])), np.zeros((w.shape[0], 0))
    mean, gamma = patterns(points[nodes], g, w)
    inner = Elements(nodes, g, w, *none, modes)
    volume = np.ascontiguousarray(w.sum(axis=1, keepdims=True))
    no_modes = np.zeros((w.shape[0], 1, 0, g.shape[3]))
    return Elements(
        nodes, np.ascontiguousarray(mean[:, None]), volume, *none, no_modes, gamma, inner
    )


def mapped(dn: Floats, x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return dN/dX (e, q, n, d) [1/m] and reference volumes (e, q) [m^d].

    Parameters
    ----------
    dn : (e, q, n, d) derivatives on the reference element; e = 1 if all elements have the same
    x : (e, n, d) positions of the nodes [m]
    weights : (q,) of the points on the reference element
    """
    if dn.shape[0] == 1:
        jacobian = np.tensordot(x, dn[0], axes=([1], [1])).transpose(0, 2, 1, 3)
    else:
        jacobian = np.matmul(x.transpose(0, 2, 1)[:, None], dn)
    cof, det = cofactor(jacobian.transpose(2, 3, 1, 0))
    gradients = np.empty((*det.T.shape, *dn.shape[2:]))
    for k, row in enumerate(cof):
        total = dn[..., 0] * (row[0] / det).T[..., None]
        for j in range(1, row.shape[0]):
            total = total + dn[..., j] * (row[j] / det).T[..., None]
        gradients[..., k] = total
    return gradients, np.ascontiguousarray(det.T * weights)
