"""Kernels for internal forces and the tangent of a body, by sums over integration points.

With the first Piola-Kirchhoff stress P and the reference volume w of an integration point q, the
force on node a and the tangent block of nodes a and b are

    r_a = sum_q w P grad N_a,     K_ab = sum_q w grad N_a . (d P / d F) . grad N_b;

`stress_points` writes K_ab out. `Bulk.add` in `assembly` calls `bulk_kernel` for each kind of
elements. There is one kernel for each number n of functions and d of components, which are
constants of its code. The Neo-Hookean law is part of the kernels; other laws pass their values at
integration points, since every law in a kernel would be compiled in every run. `_add_plain` is the
same sum in NumPy, with the same bits.

The vector t of a point holds F (d d, row by row), cof F (d d), and then the weighted coefficients
of the tangent at the indices BY_A to BY_IJ of `stress_points`. A block of two functions is stored
row by row in d d entries. The d rows of the matrix that belong to one node have the same pattern,
so that the position of the first entry of a block determines the others.

Arguments of the kernel and of `_add_plain`, for e elements with n functions and q points:

nodes, gradients, weights : (e, n), (e, q, n, d) [1/m] and (e, q) of `arrays.Elements`
points : (rows, q, e) of `stress_points.point_rows`; empty for the Neo-Hookean law, whose stresses
    follow from the displacements `u` (nodes, d) [m] and the constants `c` of its table
part : ALL, SHAPE or VOLUME of the energy; see `material_laws`
residual, data : (nodes, d) forces and values of the CSR matrix, which are added to
places : (e, n, n) index in `data` of the first entry of each block; empty omits the tangent
row : (nodes,) length of a matrix row of each node
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.dimensions import (
    cofactor,
    cofactor_derivative,
    cofactor_derivative_kernel,
    cofactor_kernel,
    dot,
)
from stiction.solids.material_laws import LAM, MU, SHAPE, VOLUME
from stiction.solids.shape_functions.hourglass import entries
from stiction.solids.stress_points import (
    BY_A,
    BY_AA,
    BY_AI,
    BY_AJ,
    BY_I,
    BY_II,
    BY_IJ,
    BY_J,
    BY_JJ,
    MAX_CACHED,
    cached,
    deformation,
    point_rows,
    products,
    rows_of_a_point,
)

__all__ = ["bulk_kernel", "order_of_blocks", "scatter_kernel"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


@functools.cache
def _neo_hooke(d: int) -> Any:
    """Return the kernel of the Neo-Hookean law; NaN where det F <= 0.

    It reads F from the first entries of `t`, writes cof F behind them, fills in the stress
    P = mu F + psi_j cof F (d d,), and returns psi_j, psi_jj and det F.

    Verified by: tests/unit/solids/test_plain.py::test_bodies_have_the_same_bits
    """
    cofactors = cofactor_kernel(d)

    @kernel
    def law(t: Vector, stress: Vector, mu: float, lam: float) -> tuple[float, float, float]:
        j = cofactors(t)
        # an inverted point, and NaN, makes NaN of all that follows
        if not j > 0.0:
            j = math.nan
        # derivatives by J of psi = mu / 2 |F|^2 - mu ln J + lam / 2 (ln J)^2, up to a constant
        log = lam * math.log(j)
        slope = (log - mu) / j
        for p in range(d * d):
            stress[p] = mu * t[p] + slope * t[d * d + p]
        return slope, (lam + mu - log) / (j * j), j

    return law


@functools.cache
def scatter_kernel(d: int) -> Any:
    """Return the kernel that scatters blocks (n, n, d d) of an element, given their upper half."""

    @kernel
    def scatter(nodes: Ints, places: Places, row: Places, k: Stack, data: Vector) -> None:
        n = nodes.size
        for i in range(n):
            row_length = row[nodes[i]]
            # blocks below the diagonal are transposes of those above
            for m in range(i):
                at = places[i, m]
                for p in range(d):
                    for q in range(d):
                        data[at + p * row_length + q] += k[m, i, d * q + p]
            for m in range(i, n):
                at = places[i, m]
                for p in range(d):
                    for q in range(d):
                        data[at + p * row_length + q] += k[i, m, d * p + q]

    return scatter


@functools.cache
def _inner_kernel(d: int) -> Any:
    """Return the kernel for the inner product of the gradients of two functions."""

    @kernel
    def inner(g: Matrix, i: int, m: int) -> float:
        total = 0.0
        for p in range(d):
            total += g[i, p] * g[m, p]
        return total

    return inner


@functools.cache
def _tangent_kernel(n: int, d: int) -> Any:
    """Return the kernel that adds one point to the upper half of the blocks of an element.

    `t` holds F, cof F, and the weighted coefficients of `point_rows`. The vectors of each function,
    f = F grad N, g = cof F grad N and h, have scratch in `fa`, `ga` and `ha`, (n, d).
    """
    turned, first, last, space = cofactor_derivative_kernel(d), 2 * d * d, d - 1, d > 2
    second, inner = _second_kernel(n, d), _inner_kernel(d)

    @kernel
    def tangent(g: Matrix, t: Vector, fa: Matrix, ga: Matrix, ha: Matrix, k: Stack) -> None:
        # factors of eq-so-block in docs/theory/solids: w times 2 psi_a, psi_j, psi_jj, then
        # 4 psi_aa and 2 psi_aj, which are zero in the Neo-Hookean law
        s1, s2, s5 = t[first + BY_A], t[first + BY_J], t[first + BY_JJ]
        s3, s4 = t[first + BY_AA], t[first + BY_AJ]
        by_determinant_alone = s3 == 0.0 and s4 == 0.0
        for i in range(n):
            # f = F grad N, g = cof F grad N
            for p in range(d):
                f = c = 0.0
                for q in range(d):
                    f += t[p * d + q] * g[i, q]
                    c += t[d * d + p * d + q] * g[i, q]
                fa[i, p], ga[i, p] = f, c
        for i in range(n):
            # s3 f f + s4 (f g + g f) + s5 g g as a f + b g with vectors a, b of function i; in the
            # plane the last entry is there twice
            x, y, z = ga[i, 0], ga[i, 1], ga[i, last]
            a, b = (s4 * x, s4 * y, s4 * z), (s5 * x, s5 * y, s5 * z)
            if by_determinant_alone:
                for m in range(i, n):
                    # grad N_i . d cof F / d F . grad N_m is skew: added above the diagonal,
                    # subtracted below
                    same, skew = s1 * inner(g, i, m), turned(g, i, m, t)
                    for p in range(d):
                        for q in range(d):
                            entry = b[p] * ga[m, q]
                            if p == q:
                                entry += same
                            elif p < q:
                                entry += s2 * skew[p + q - 1]
                            else:
                                entry -= s2 * skew[p + q - 1]
                            k[i, m, p * d + q] += entry
                continue
            x, y, z = fa[i, 0], fa[i, 1], fa[i, last]
            a = s3 * x + a[0], s3 * y + a[1], s3 * z + a[2]
            b = s4 * x + b[0], s4 * y + b[1], s4 * z + b[2]
            # sums in the order of `_add_point`, for the same bits
            for m in range(i, n):
                same, skew = s1 * inner(g, i, m), turned(g, i, m, t)
                for p in range(d):
                    for q in range(d):
                        entry = a[p] * fa[m, q]
                        if p == q:
                            entry += same
                        elif p < q:
                            entry += s2 * skew[p + q - 1]
                        entry += b[p] * ga[m, q]
                        if p > q:
                            entry -= s2 * skew[p + q - 1]
                        k[i, m, p * d + q] += entry
        if space:
            second(g, t, fa, ga, ha, k)

    return tangent


@functools.cache
def _second_kernel(n: int, d: int) -> Any:
    """Return the kernel that adds the terms of the second invariant; see `stress_points`."""
    first = 2 * d * d

    @kernel
    def second(g: Matrix, t: Vector, fa: Matrix, ga: Matrix, ha: Matrix, k: Stack) -> None:
        # w times 2 psi_i, 4 psi_ai, 4 psi_ii, 2 psi_ij
        s6, s7 = t[first + BY_I], t[first + BY_AI]
        s8, s9 = t[first + BY_II], t[first + BY_IJ]
        if s6 == 0.0 and s7 == 0.0 and s8 == 0.0 and s9 == 0.0:
            return
        square = 0.0
        for p in range(d * d):
            square += t[p] * t[p]
        for i in range(n):
            for p in range(d):
                # h = |F|^2 f - F F^T f
                total = 0.0
                for q in range(d):
                    left_cauchy_green = 0.0
                    for r in range(d):
                        left_cauchy_green += t[p * d + r] * t[q * d + r]
                    total += left_cauchy_green * fa[i, q]
                ha[i, p] = square * fa[i, p] - total
        for i in range(n):
            for m in range(i, n):
                # G = grad N_i . grad N_m, and f_i . f_m
                same = both = 0.0
                for p in range(d):
                    same += g[i, p] * g[m, p]
                    both += fa[i, p] * fa[m, p]
                for p in range(d):
                    for q in range(d):
                        left_cauchy_green = 0.0
                        for r in range(d):
                            left_cauchy_green += t[p * d + r] * t[q * d + r]
                        # 2 f_i f_m - f_m f_i + (|F|^2 G - f_i . f_m) 1 - G F F^T
                        entry = 2.0 * fa[i, p] * fa[m, q] - fa[m, p] * fa[i, q]
                        entry -= same * left_cauchy_green
                        if p == q:
                            entry += square * same - both
                        entry *= s6
                        entry += s7 * (fa[i, p] * ha[m, q] + ha[i, p] * fa[m, q])
                        entry += s9 * (ha[i, p] * ga[m, q] + ga[i, p] * ha[m, q])
                        k[i, m, p * d + q] += entry + s8 * ha[i, p] * ha[m, q]

    return second


@functools.cache
def bulk_kernel(n: int, d: int) -> Any:
    """Return the kernel for elements of `n` functions and `d` components, compiled when called.

    It adds internal forces and the tangent, and returns the number of points with det F <= 0. The
    docstring of the module has its arguments.
    """
    tangent, law = _tangent_kernel(n, d), _neo_hooke(d)
    cofactors, scatter = cofactor_kernel(d), scatter_kernel(d)
    first, size = 2 * d * d, rows_of_a_point(d)

    @kernel(allocates=True, plain=_add_plain)
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
        with_tangent, has_points = places.shape[0] > 0, points.shape[2] > 0
        # reduced integration: each part of the law has its own points, in a call of its own
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        inverted = 0
        k, r, ha = np.empty((n, n, d * d)), np.empty((n, d)), np.empty((n, d))
        fa, ga = np.empty((n, d)), np.empty((n, d))
        t, stress = np.zeros(size), np.empty(d * d)
        for e in range(nodes.shape[0]):
            for i in range(n):
                for p in range(d):
                    r[i, p] = 0.0
                for m in range(n):
                    for p in range(d * d):
                        k[i, m, p] = 0.0
            for q in range(weights.shape[1]):
                w, g = weights[e, q], gradients[e, q]
                if has_points:
                    # other laws: F, P and the derivatives of psi come with the point
                    for p in range(d * d):
                        t[p], stress[p] = points[p, q, e], points[d * d + p, q, e]
                    for p in range(first, size):
                        t[p] = w * points[p, q, e]
                    cofactors(t)
                else:
                    # F = 1 + sum_a u_a (x) grad N_a
                    for p in range(d):
                        for s in range(d):
                            t[p * d + s] = 1.0 if p == s else 0.0
                    for i in range(n):
                        for p in range(d):
                            displacement = u[nodes[e, i], p]
                            for s in range(d):
                                t[p * d + s] += displacement * g[i, s]
                    s2, s5, j = law(t, stress, mu, lam)
                    inverted += math.isnan(j)
                    t[first + BY_A], t[first + BY_J], t[first + BY_JJ] = w * mu, w * s2, w * s5
                # r_a += w P grad N_a
                for i in range(n):
                    for p in range(d):
                        total = 0.0
                        for s in range(d):
                            total += stress[p * d + s] * g[i, s]
                        r[i, p] += w * total
                if with_tangent:
                    tangent(g, t, fa, ga, ha, k)
            for i in range(n):
                for p in range(d):
                    residual[nodes[e, i], p] += r[i, p]
            if with_tangent:
                scatter(nodes[e], places[e], row, k, data)
        return inverted

    return add


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
    # F, P and coefficients of the tangent at all points; arrays have elements as last axis
    e, n = nodes.shape
    d = residual.shape[1]
    inverted = 0
    if not points.size:
        points, inverted = point_rows(deformation(nodes, gradients, u), c, part)
    low, _ = _pairs(n)
    by = 2 * d * d
    has_invariant_terms = bool(points[by + BY_AA].any() or points[by + BY_AJ].any())
    r, k = np.zeros((d, n, e)), np.zeros((d, d, low.size, e))
    for q, g in enumerate(cached(_by_point, gradients)):
        w, at = weights[:, q], points[:, q]
        stress = at[d * d : by].reshape(d, d, 1, e)
        nominal = stress[:, 0] * g[0]
        for p in range(1, d):
            nominal = nominal + stress[:, p] * g[p]
        r += w * nominal
        if places.size:
            _add_point(k, g, w, at, has_invariant_terms)
    here = nodes.ravel()[:, None] * d + np.arange(d)
    np.add.at(residual.reshape(-1), here.ravel(), r.transpose(2, 1, 0).ravel())
    if not places.size:
        return inverted
    whole = k.ravel().take(order_of_blocks(n, d, e))
    np.add.at(data, cached(entries, nodes, places, row, d), whole)
    return inverted


@functools.cache
def _pairs(n: int) -> tuple[Ints, Ints]:
    """Return the upper half of n by n pairs."""
    low, high = np.triu_indices(n)
    return low, high


@functools.lru_cache(maxsize=MAX_CACHED)
def order_of_blocks(n: int, d: int, e: int) -> Ints:
    """Return the positions of the entries of all blocks in the upper halves (d, d, pairs, e)."""
    low, high = _pairs(n)
    positions = np.empty((e, n, d, n, d), dtype=np.int64)
    k = np.arange(d * d * low.size * e).reshape(d, d, low.size, e)
    # the lower half first: blocks on the diagonal are complete, and overwrite it
    for one in range(d):
        for two in range(d):
            positions[:, high, two, low, one] = k[one, two].T
    for one in range(d):
        for two in range(d):
            positions[:, low, one, high, two] = k[one, two].T
    return positions.ravel()


def _by_point(gradients: Floats) -> Floats:
    """Return gradients as (points, d, functions, elements)."""
    return np.ascontiguousarray(gradients.transpose(1, 3, 2, 0))


def _add_point(k: Floats, g: Floats, w: Floats, at: Floats, has_invariant_terms: bool) -> None:
    """Add one point of every element to the upper half of its blocks.

    Parameters
    ----------
    k : (d, d, pairs, e) blocks, added to
    g, w, at : (d, n, e) gradients, (e,) volumes, and (rows, e) of `point_rows`
    has_invariant_terms : whether psi_aa or psi_aj is not zero at some point
    """
    d, n, e = g.shape
    low, high = _pairs(n)
    f, by = at[: d * d].reshape(d, d, 1, e), w * at[2 * d * d :]
    ga = np.stack([dot(row, g) for row in cofactor(f)[0]])
    gb = by[BY_JJ] * ga
    gi, gm = g.take(low, axis=1), g.take(high, axis=1)
    near = dot(gi, gm)
    same = by[BY_A] * near
    skew = [by[BY_J] * one for one in cofactor_derivative(gi, gm, f)]
    if has_invariant_terms:
        fa = np.stack([dot(row, g) for row in f])
        gb = by[BY_AJ] * fa + gb
        fb = by[BY_AA] * fa + by[BY_AJ] * ga
        # in the order of the kernel
        block = fb.take(low, axis=1)[:, None] * fa.take(high, axis=1)
        _add_symmetric(block, same, skew)
        block += gb.take(low, axis=1)[:, None] * ga.take(high, axis=1)
    else:
        block = gb.take(low, axis=1)[:, None] * ga.take(high, axis=1)
        _add_symmetric(block, same, skew)
    for q in range(d):
        for p in range(q + 1, d):
            block[p, q] -= skew[p + q - 1]
    k += block
    if d > 2 and by[BY_I:].any():
        k += _second(f, g, ga, near, by)


def _add_symmetric(block: Floats, same: Floats, skew: list[Floats]) -> None:
    """Add `same` on the diagonal of blocks and `skew` above it."""
    for p in range(block.shape[0]):
        block[p, p] += same
        for q in range(p + 1, block.shape[0]):
            block[p, q] += skew[p + q - 1]


def _second(f: Floats, g: Floats, ga: Floats, same: Floats, by: Floats) -> Floats:
    """Return the terms of the second invariant, (d, d, pairs, e).

    `f` (d, d, 1, e) is F, `ga` (d, n, e) cof F grad N, `same` (pairs, e) G, and `by` the weighted
    coefficients in the order of BY_A to BY_IJ.
    """
    d = g.shape[0]
    low, high = _pairs(g.shape[1])
    fa = np.stack([dot(row, g) for row in f])
    square = dot(f.reshape(d * d, 1, -1), f.reshape(d * d, 1, -1))
    left_cauchy_green = products(f, f)
    ha = square * fa - np.stack([dot(row, fa) for row in left_cauchy_green])
    (fi, hi, ci), (fm, hm, cm) = ([x.take(w, axis=1) for x in (fa, ha, ga)] for w in (low, high))
    both = dot(fi, fm)
    block = 2.0 * fi[:, None] * fm - fm[:, None] * fi - same * left_cauchy_green
    for p in range(d):
        block[p, p] += square * same - both
    block = by[BY_I] * block + by[BY_AI] * (fi[:, None] * hm + hi[:, None] * fm)
    block += by[BY_IJ] * (hi[:, None] * cm + ci[:, None] * hm)
    return np.asarray(block + by[BY_II] * hi[:, None] * hm)
