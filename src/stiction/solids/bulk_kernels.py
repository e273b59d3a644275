"""Internal forces and tangent of a body, summed over its points.

One kernel per number of functions; see `stress_points` for the points and the tangent. The
kernels know one law themselves, that of nearly all bodies, and read rows of points for others:
each law they knew would be compiled for every run.

Rows 2i and 2i + 1 of the matrix have one pattern, so that one number says where a block is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.material_laws import LAM, MU, SHAPE, VOLUME
from stiction.solids.stress_points import (
    BY_A,
    BY_AA,
    BY_AJ,
    BY_J,
    BY_JJ,
    F00,
    F11,
    P00,
    P01,
    P10,
    P11,
    deformation,
    point_rows,
)

__all__ = ["bulk_kernel"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Seven = tuple[float, float, float, float, float, float, float]


@kernel
def _short_law(f00: float, f01: float, f10: float, f11: float, mu: float, lam: float) -> Seven:
    """Return the nominal stress 00, 01, 10, 11, psi_j, psi_jj, and det F; NaN if inside out.

    Verified by: tests/unit/solids/test_plain.py::test_bodies_have_the_same_bits
    """
    j = f00 * f11 - f01 * f10
    if not j > 0.0:
        j = math.nan
    log = lam * math.log(j)
    slope = (log - mu) / j
    p00, p01 = mu * f00 + slope * f11, mu * f01 - slope * f10
    p10, p11 = mu * f10 - slope * f01, mu * f11 + slope * f00
    return p00, p01, p10, p11, slope, (lam + mu - log) / (j * j), j


@kernel
def _spread(nodes: Ints, places: Places, row: Places, k: Stack, data: Vector) -> None:
    """Add the blocks (n, n, 4) of one element, of which the upper half is given."""
    n = nodes.size
    for i in range(n):
        down = row[nodes[i]]
        for m in range(i):
            at = places[i, m]
            data[at] += k[m, i, 0]
            data[at + 1] += k[m, i, 2]
            data[at + down] += k[m, i, 1]
            data[at + down + 1] += k[m, i, 3]
        for m in range(i, n):
            at = places[i, m]
            data[at] += k[i, m, 0]
            data[at + 1] += k[i, m, 1]
            data[at + down] += k[i, m, 2]
            data[at + down + 1] += k[i, m, 3]


@functools.cache
def _tangent_kernel(n: int) -> Any:
    """Return the kernel that adds one point to the upper half of the blocks of an element.

    `t` is F, then the weighted 2 psi_a to psi_jj; `fa` and `ga` are scratch (n, 2).
    """

    @kernel
    def tangent(g: Matrix, t: Vector, fa: Matrix, ga: Matrix, k: Stack) -> None:
        s1, s2, s3, s4, s5 = t[4], t[5], t[6], t[7], t[8]
        for i in range(n):
            fa[i, 0] = t[0] * g[i, 0] + t[1] * g[i, 1]
            fa[i, 1] = t[2] * g[i, 0] + t[3] * g[i, 1]
            ga[i, 0] = t[3] * g[i, 0] - t[2] * g[i, 1]
            ga[i, 1] = -t[1] * g[i, 0] + t[0] * g[i, 1]
        for i in range(n):
            # rows of s3 f f + s4 (f g + g f) + s5 g g
            b0, b1 = s5 * ga[i, 0], s5 * ga[i, 1]
            if s3 == 0.0 and s4 == 0.0:
                for m in range(i, n):
                    same = s1 * (g[i, 0] * g[m, 0] + g[i, 1] * g[m, 1])
                    turn = s2 * (g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0])
                    k[i, m, 0] += same + b0 * ga[m, 0]
                    k[i, m, 1] += turn + b0 * ga[m, 1]
                    k[i, m, 2] += b1 * ga[m, 0] - turn
                    k[i, m, 3] += same + b1 * ga[m, 1]
                continue
            a0, a1 = s3 * fa[i, 0] + s4 * ga[i, 0], s3 * fa[i, 1] + s4 * ga[i, 1]
            b0, b1 = s4 * fa[i, 0] + b0, s4 * fa[i, 1] + b1
            for m in range(i, n):
                same = s1 * (g[i, 0] * g[m, 0] + g[i, 1] * g[m, 1])
                turn = s2 * (g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0])
                k[i, m, 0] += same + a0 * fa[m, 0] + b0 * ga[m, 0]
                k[i, m, 1] += turn + a0 * fa[m, 1] + b0 * ga[m, 1]
                k[i, m, 2] += a1 * fa[m, 0] + b1 * ga[m, 0] - turn
                k[i, m, 3] += same + a1 * fa[m, 1] + b1 * ga[m, 1]

    return tangent


@functools.cache
def bulk_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when it is first called.

    It adds internal forces to `residual` (nodes, 2) and the tangent to `data`: `places[e, a, b]`
    is the entry of block (a, b) in the first of its two rows, `row[node]` the length of a row;
    an empty `places` leaves the tangent out. Where `points` is empty they are made from the
    displacements `u`, and it returns how many are inside out.
    """
    tangent = _tangent_kernel(n)

    @kernel(plain=_add_plain)
    def add(
        nodes: Ints,
        gradients: Floats,
        weights: Matrix,
        points: Stack,
        u: Matrix,
        c: Vector,
        part: int,
        residual: Matrix,
        data: Vector,
        places: Places,
        row: Places,
    ) -> int:
        wants, knows = places.shape[0] > 0, points.shape[2] > 0
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        bad = 0
        k, r, t = np.empty((n, n, 4)), np.empty((n, 2)), np.empty(9)
        fa, ga = np.empty((n, 2)), np.empty((n, 2))
        for e in range(nodes.shape[0]):
            for i in range(n):
                r[i, 0] = r[i, 1] = 0.0
                for m in range(n):
                    k[i, m, 0] = k[i, m, 1] = k[i, m, 2] = k[i, m, 3] = 0.0
            for q in range(weights.shape[1]):
                w, g = weights[e, q], gradients[e, q]
                if knows:
                    p00, p01 = points[P00, q, e], points[P01, q, e]
                    p10, p11 = points[P10, q, e], points[P11, q, e]
                    for p in range(4):
                        t[p] = points[F00 + p, q, e]
                    for p in range(5):
                        t[4 + p] = w * points[BY_A + p, q, e]
                else:
                    t[0], t[1], t[2], t[3] = 1.0, 0.0, 0.0, 1.0
                    for i in range(n):
                        x, y = u[nodes[e, i], 0], u[nodes[e, i], 1]
                        t[0] += x * g[i, 0]
                        t[1] += x * g[i, 1]
                        t[2] += y * g[i, 0]
                        t[3] += y * g[i, 1]
                    p00, p01, p10, p11, s2, s5, j = _short_law(t[0], t[1], t[2], t[3], mu, lam)
                    bad += math.isnan(j)
                    t[4], t[5], t[6], t[7], t[8] = w * mu, w * s2, 0.0, 0.0, w * s5
                for i in range(n):
                    r[i, 0] += w * (p00 * g[i, 0] + p01 * g[i, 1])
                    r[i, 1] += w * (p10 * g[i, 0] + p11 * g[i, 1])
                if wants:
                    tangent(g, t, fa, ga, k)
            for i in range(n):
                residual[nodes[e, i], 0] += r[i, 0]
                residual[nodes[e, i], 1] += r[i, 1]
            if wants:
                _spread(nodes[e], places[e], row, k, data)
        return bad

    return add


# meshes whose places are kept between calls
_MOST_KEPT = 8


def _add_plain(
    nodes: Ints,
    gradients: Floats,
    weights: Floats,
    points: Floats,
    u: Floats,
    c: Floats,
    part: int,
    residual: Floats,
    data: Floats,
    places: Places,
    row: Places,
) -> int:
    """Sum over the points of all elements at once, in the order of the kernel."""
    e, n = nodes.shape
    bad = 0
    if not points.size:
        points, bad = point_rows(deformation(nodes, gradients, u), c, part)
    low, _ = _pairs(n)
    curved = bool(points[BY_AA].any() or points[BY_AJ].any())
    r, k = np.zeros((2, n, e)), np.zeros((2, 2, low.size, e))
    for q, g in enumerate(_kept(_by_point, gradients)):
        w, at = weights[:, q], points[:, q]
        p = at[P00 : P11 + 1].reshape(2, 2, 1, e)
        r += w * (p[:, 0] * g[0] + p[:, 1] * g[1])
        if places.size:
            _add_point(k, g, w, at, curved)
    here = nodes.ravel()[:, None] * 2 + np.arange(2)
    np.add.at(residual.reshape(-1), here.ravel(), r.transpose(2, 1, 0).ravel())
    if not places.size:
        return bad
    whole = k.ravel().take(_order(n, e))
    np.add.at(data, _kept(_entries, nodes, places, row), whole)
    return bad


@functools.cache
def _pairs(n: int) -> tuple[Ints, Ints]:
    """Return the upper half of n by n pairs."""
    low, high = np.triu_indices(n)
    return low, high


@functools.lru_cache(maxsize=_MOST_KEPT)
def _order(n: int, e: int) -> Ints:
    """Return where the upper halves (2, 2, pairs, e) have the entries of all blocks."""
    low, high = _pairs(n)
    found = np.empty((e, n, 2, n, 2), dtype=np.int64)
    k = np.arange(4 * low.size * e).reshape(2, 2, low.size, e)
    # the mirrored half first: blocks on the diagonal are given whole
    for one, two in ((0, 0), (0, 1), (1, 0), (1, 1)):
        found[:, high, two, low, one] = k[one, two].T
    for one, two in ((0, 0), (0, 1), (1, 0), (1, 1)):
        found[:, low, one, high, two] = k[one, two].T
    return found.ravel()


def _by_point(gradients: Floats) -> Floats:
    """Return gradients as (points, 2, functions, elements)."""
    return np.ascontiguousarray(gradients.transpose(1, 3, 2, 0))


def _entries(nodes: Ints, places: Places, row: Places) -> Ints:
    """Return where the entries of all blocks are in the matrix, (elements n 2 n 2,)."""
    down = np.arange(2)[:, None, None] * row[nodes][:, :, None, None, None]
    there: Ints = places[:, :, None, :, None] + down + np.arange(2)
    return there.ravel()


_KEPT: dict[Any, tuple[tuple[Any, ...], Any]] = {}


def _kept(made: Callable[..., Any], *arrays: Any) -> Any:
    """Return made(*arrays), kept for the arrays of the last few meshes: they never change."""
    key = (made, *map(id, arrays))
    if key not in _KEPT:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        # the arrays are held, so that no other gets the same identity
        _KEPT[key] = arrays, made(*arrays)
    return _KEPT[key][1]


def _add_point(k: Floats, g: Floats, w: Floats, at: Floats, curved: bool) -> None:
    """Add one point of every element to the upper half of its blocks, (2, 2, pairs, e)."""
    low, high = _pairs(g.shape[1])
    f = at[F00 : F11 + 1]
    s1, s2, s5 = w * at[BY_A], w * at[BY_J], w * at[BY_JJ]
    ga = np.empty_like(g)
    ga[0], ga[1] = f[3] * g[0] - f[2] * g[1], -f[1] * g[0] + f[0] * g[1]
    gb = s5 * ga
    (i0, i1), (m0, m1) = g.take(low, axis=1), g.take(high, axis=1)
    same, turn = s1 * (i0 * m0 + i1 * m1), s2 * (i0 * m1 - i1 * m0)
    if curved:
        s3, s4 = w * at[BY_AA], w * at[BY_AJ]
        fa = np.stack([f[0] * g[0] + f[1] * g[1], f[2] * g[0] + f[3] * g[1]])
        gb = s4 * fa + gb
        fb = s3 * fa + s4 * ga
        # in the order of the kernel
        first = fb.take(low, axis=1)[:, None] * fa.take(high, axis=1)
        first[0, 0] += same
        first[0, 1] += turn
        first[1, 1] += same
        first += gb.take(low, axis=1)[:, None] * ga.take(high, axis=1)
        first[1, 0] -= turn
        k += first
        return
    block = gb.take(low, axis=1)[:, None] * ga.take(high, axis=1)
    block[0, 0] += same
    block[0, 1] += turn
    block[1, 0] -= turn
    block[1, 1] += same
    k += block
