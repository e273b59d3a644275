"""Bodies in space: a plane body swept along a third axis, in hexahedra.

Functions are products, N(xi, eta) M(zeta), of those of the plane element with B-splines of one
degree along the axis. So every plane element has its body in space: Q1 with degree 1 is the
trilinear hexahedron, Q2 with degree 2 the triquadratic one, and the faces of Q1N2 are biquadratic
patches. Places may be moved afterwards: hexahedra need not stay straight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.bsplines import bernstein, bezier_extraction, greville, open_knots
from stiction.solids.arrays import Elements, Surface
from stiction.solids.dimensions import crossed
from stiction.solids.elements.functions import Group, Rule, functions, mapped, rules
from stiction.solids.elements.kinds import Element, Laid, laid_out
from stiction.solids.elements.splines import curve_functions
from stiction.solids.mesh.model import Mesh

__all__ = ["Swept", "sweep"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Swept(NamedTuple):
    """A body in space.

    Parameters
    ----------
    points : (n, 3) reference places of nodes and control points [m]
    blocks : elements by kind
    surfaces : contact boundaries by name, swept from those of the plane
    node_sets : nodes and control points of every named boundary, and "front" and "back"
    """

    points: Floats
    blocks: list[Elements]
    surfaces: dict[str, Surface]
    node_sets: dict[str, Ints]


class _Axis(NamedTuple):
    """B-splines along the axis: l layers, n functions on each.

    Parameters
    ----------
    numbers : (l, n) functions of each layer, numbered along the axis
    extraction : (l, n, n) from Bernstein polynomials
    heights : (k,) Greville points [m]
    degree : of the splines
    """

    numbers: Ints
    extraction: Floats
    heights: Floats
    degree: int

    def at(self, xi: Floats) -> tuple[Floats, Floats]:
        """Return functions and derivatives (l, q, n) of every layer."""
        b, db = bernstein(self.degree, xi)
        turned = self.extraction.transpose(0, 2, 1)
        return np.matmul(b, turned), np.matmul(db, turned)


def sweep(
    mesh: Mesh,
    element: Element,
    breaks: Sequence[float] | Floats,
    degree: int = 1,
    contact: Sequence[str] = (),
    move: Callable[[Floats], Floats] | None = None,
) -> Swept:
    """Return a plane body swept along the third axis.

    Parameters
    ----------
    mesh, element, contact : of the plane body, as in `discretise`
    breaks : (l + 1,) rising heights at the ends of the layers [m]
    degree : of the splines along the axis
    move : where points (n, 3) go afterwards, before volumes are computed

    Verified by: tests/unit/solids/elements/test_swept.py::test_patch_of_hexahedra
    """
    knots = open_knots(np.asarray(breaks, dtype=np.float64), degree)
    first, extraction = bezier_extraction(knots, degree)
    numbers = first[:, None] + np.arange(degree + 1)
    axis = _Axis(numbers, extraction, greville(knots, degree), degree)
    laid = laid_out(mesh, element, tuple(contact))
    flat = laid.numbering.points
    high = np.repeat(axis.heights, flat.shape[0])
    points = np.column_stack([np.tile(flat, (axis.heights.size, 1)), high])
    if move is not None:
        points = np.asarray(move(points))
    count = flat.shape[0]
    blocks = [_block(group, element, axis, points, count) for group in laid.groups]
    surfaces = {
        name: _face(surface, element, axis, points, count)
        for name, surface in laid.surfaces.items()
    }
    return Swept(points, blocks, surfaces, _sets(laid, axis, count))


def _sets(laid: Laid, axis: _Axis, count: int) -> dict[str, Ints]:
    """Return nodes by boundary: those of the plane at every height, and both ends."""
    up = count * np.arange(axis.heights.size)[:, None]
    sets = {name: np.ravel(nodes + up) for name, nodes in laid.node_sets.items()}
    sets["back"], sets["front"] = np.arange(count), np.arange(count) + up[-1, 0]
    return sets


def _products(f: Floats, df: Floats, m: Floats, dm: Floats) -> tuple[Floats, Floats]:
    """Return products (l e, q r, n k) and their derivatives (..., d) of plane and axis."""
    layers, r, k = m.shape
    e, q, n = f.shape

    def product(one: Floats, other: Floats) -> Floats:
        made = one[None, :, None, :, None, :] * other[:, None, :, None, :, None]
        return np.asarray(made.reshape(layers * e, r * q, k * n))

    rates = [product(df[..., a], m) for a in range(df.shape[3])] + [product(f, dm)]
    return product(f, m), np.stack(rates, axis=-1)


def _numbers(nodes: Ints, axis: _Axis, count: int) -> Ints:
    """Return the nodes (l e, k n) of plane nodes (e, n) in every layer."""
    made = nodes[None, :, None, :] + count * axis.numbers[:, None, :, None]
    return np.asarray(made.reshape(axis.numbers.shape[0] * nodes.shape[0], -1))


def _block(group: Group, element: Element, axis: _Axis, points: Floats, count: int) -> Elements:
    """Return the elements of one kind in space."""
    full, part = rules(group.order, element.SPLINE, group.triangle, group.face is not None)
    nodes = _numbers(group.nodes, axis, count)
    cells = np.tile(group.cells, axis.numbers.shape[0])

    def at(rule: Rule, along: int) -> tuple[Floats, Floats]:
        gauss, share = np.polynomial.legendre.leggauss(along)
        f, df = functions(group, rule.xi, rule.eta)
        shape = (group.nodes.shape[0], *f.shape[1:])
        _, dn = _products(
            np.broadcast_to(f, shape), np.broadcast_to(df, (*shape, 2)), *axis.at(gauss)
        )
        weights = np.ravel(share[:, None] * rule.weights)
        return mapped(dn, points[nodes], weights, cells)

    g, w = at(full, axis.degree + 1)
    if not element.reduced:
        vg, vw = np.zeros((w.shape[0], 0, *g.shape[2:])), np.zeros((w.shape[0], 0))
    elif part is None:
        vw = w.sum(axis=1, keepdims=True)
        vg = np.einsum("eq,eqnd->end", w, g)[:, None] / vw[:, :, None, None]
    else:
        vg, vw = at(part, axis.degree)
    return Elements(nodes, np.ascontiguousarray(g), w, np.ascontiguousarray(vg), vw)


def _face(surface: Surface, element: Element, axis: _Axis, points: Floats, count: int) -> Surface:
    """Return a contact boundary in space: its second coordinate runs along the axis."""
    gauss, share = np.polynomial.legendre.leggauss(element.contact_points)
    pieces, layers = surface.nodes.shape[0], axis.numbers.shape[0]
    nodes = _numbers(surface.nodes, axis, count)
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
