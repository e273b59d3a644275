"""Kernels for internal forces and tangent of membranes: sums over integration points.

With the volume w of an integration point q of the unstretched sheet,

    F = F_0 + sum_a u_a g_a^T,   r_a = sum_q w mu (F g_a - b_a / J^2),   b_a = F C^-1 g_a,

and K_ab as in `kinematics`, which defines the symbols. `assembly.WithMembranes.add` calls it.
Arguments of the kernel and of `_add_plain`, for e elements with n functions and q points:

nodes, gradients, start, weights : (e, n), g_a (e, q, n, 2), F_0 (e, q, 3, 2) and w (e, q), the
    arrays of `kinematics.Sheet`
u : (nodes, 3) displacements [m]
shear : mu [Pa]
residual, data : (nodes, 3) forces [N] and values of the CSR matrix, which are added to
places : (e, n, n) index in `data` of the first entry of each block; empty omits the tangent
row : (nodes,) length of a matrix row of each node

Source: Sauer, Duong, Corbett 2014, sections 2.4 and 4.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.dimensions import dot
from stiction.solids.elements.bulk_kernels import order_of_blocks, scatter_kernel
from stiction.solids.shape_functions.hourglass import entries

__all__ = ["membrane_kernel"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


@functools.cache
def _point(n: int) -> Any:
    """Return the kernel of one point: normal (3,) of length J, and gradients b (n, 3) of functions.

    It returns 1 / J^2, or NaN if the element has degenerated to a line.
    """
    d = 3

    @kernel
    def point(g: Matrix, f: Matrix, normal: Vector, b: Matrix) -> float:
        # metric C = F^T F and J^2 = det C
        c11 = f[0, 0] * f[0, 0] + f[1, 0] * f[1, 0] + f[2, 0] * f[2, 0]
        c12 = f[0, 0] * f[0, 1] + f[1, 0] * f[1, 1] + f[2, 0] * f[2, 1]
        c22 = f[0, 1] * f[0, 1] + f[1, 1] * f[1, 1] + f[2, 1] * f[2, 1]
        square = c11 * c22 - c12 * c12
        # degenerate to a line: NaN for all that follows
        if not square > 0.0:
            square = math.nan
        inverse_square = 1.0 / square
        for p in range(d):
            # cross product of the columns of F: along the normal, with the length J
            x, y = f[(p + 1) % d, 0], f[(p + 2) % d, 0]
            normal[p] = x * f[(p + 2) % d, 1] - y * f[(p + 1) % d, 1]
        for i in range(n):
            # b = F C^-1 g, the gradient along the deformed surface
            one = inverse_square * (c22 * g[i, 0] - c12 * g[i, 1])
            two = inverse_square * (c11 * g[i, 1] - c12 * g[i, 0])
            for p in range(d):
                b[i, p] = f[p, 0] * one + f[p, 1] * two
        return inverse_square

    return point


@functools.cache
def _tangent(n: int) -> Any:
    """Return the kernel that adds one point of weight w to the upper half of the blocks."""
    d = 3

    @kernel
    def tangent(
        g: Matrix, normal: Vector, b: Matrix, inverse_square: float, w: float, k: Stack
    ) -> None:
        for i in range(n):
            for j in range(i, n):
                # K_ab = mu [g_a . g_b 1 + (2 b_a b_b^T + b_b b_a^T - b_a . b_b n n^T) / J^2], w
                # contains mu
                same = w * (g[i, 0] * g[j, 0] + g[i, 1] * g[j, 1])
                near = b[i, 0] * b[j, 0] + b[i, 1] * b[j, 1] + b[i, 2] * b[j, 2]
                # the normal has the length J
                near *= inverse_square
                for p in range(d):
                    for s in range(d):
                        block = 2.0 * b[i, p] * b[j, s] + b[j, p] * b[i, s]
                        block = block - near * normal[p] * normal[s]
                        block = w * inverse_square * block
                        if p == s:
                            block += same
                        k[i, j, p * d + s] += block

    return tangent


@functools.cache
def membrane_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when called.

    It adds internal forces and the tangent, and returns the number of degenerate points. The
    docstring of the module has its arguments.
    """
    d, m = 3, 2
    point, tangent, scatter = _point(n), _tangent(n), scatter_kernel(d)

    @kernel(allocates=True, plain=_add_plain)
    def add(
        nodes: Ints,
        gradients: Floats,
        start: Floats,
        weights: Matrix,
        u: Matrix,
        shear: float,
        residual: Matrix,
        data: Vector,
        places: Places,
        row: Places,
    ) -> int:
        with_tangent = places.shape[0] > 0
        degenerate = 0
        k, r = np.zeros((n, n, d * d)), np.zeros((n, d))
        f, b, normal = np.zeros((d, m)), np.zeros((n, d)), np.zeros(d)
        for e in range(nodes.shape[0]):
            # sum over the points of an element first: one addition per matrix entry and element
            for i in range(n):
                for p in range(d):
                    r[i, p] = 0.0
                for j in range(n):
                    for p in range(d * d):
                        k[i, j, p] = 0.0
            for q in range(weights.shape[1]):
                g = gradients[e, q]
                for p in range(d):
                    for s in range(m):
                        # F = F_0 + sum_a u_a g_a^T
                        total = start[e, q, p, s]
                        for i in range(n):
                            total += u[nodes[e, i], p] * g[i, s]
                        f[p, s] = total
                inverse_square = point(g, f, normal, b)
                degenerate += math.isnan(inverse_square)
                w = weights[e, q] * shear
                for i in range(n):
                    for p in range(d):
                        # f_a = mu (F g_a - b_a / J^2) (Sauer, Duong, Corbett 2014)
                        stretching = f[p, 0] * g[i, 0] + f[p, 1] * g[i, 1]
                        r[i, p] += w * (stretching - inverse_square * b[i, p])
                if with_tangent:
                    tangent(g, normal, b, inverse_square, w, k)
            for i in range(n):
                for p in range(d):
                    residual[nodes[e, i], p] += r[i, p]
            if with_tangent:
                scatter(nodes[e], places[e], row, k, data)
        return degenerate

    return add


def _add_plain(
    nodes: Ints,
    gradients: Floats,
    start: Floats,
    weights: Floats,
    u: Floats,
    shear: float,
    residual: Floats,
    data: Floats,
    places: Places,
    row: Places,
) -> int:
    """Sum over the points of all elements at once, in the order of the kernel."""
    e, n = nodes.shape
    d = residual.shape[1]
    low, high = np.triu_indices(n)
    r, k, degenerate = np.zeros((d, n, e)), np.zeros((d, d, low.size, e)), 0
    moved = u[nodes].transpose(2, 1, 0)
    for q in range(weights.shape[1]):
        # point q of all elements: F, the normal of length J, C, b and forces, then the tangent
        g = gradients[:, q].transpose(2, 1, 0)
        f, normal, square = _surface(start[:, q].transpose(1, 2, 0), g, moved)
        degenerate += int(np.sum(~(square > 0.0)))
        inverse_square = 1.0 / np.where(square > 0.0, square, np.nan)
        w = weights[:, q] * shear
        c11, c12, c22 = (dot(f[:, i], f[:, j]) for i, j in ((0, 0), (0, 1), (1, 1)))
        one, two = (
            inverse_square * (c22 * g[0] - c12 * g[1]),
            inverse_square * (c11 * g[1] - c12 * g[0]),
        )
        b = np.stack([f[p, 0] * one + f[p, 1] * two for p in range(d)])
        for p in range(d):
            r[p] += w * (f[p, 0] * g[0] + f[p, 1] * g[1] - inverse_square * b[p])
        if not places.size:
            continue
        bi, bj = b[:, low], b[:, high]
        same = w * (g[0, low] * g[0, high] + g[1, low] * g[1, high])
        near = dot(bi, bj) * inverse_square
        for p in range(d):
            for s in range(d):
                block = 2.0 * bi[p] * bj[s] + bj[p] * bi[s]
                block = block - near * normal[p] * normal[s]
                block = w * inverse_square * block
                k[p, s] += block + same if p == s else block
    here = nodes.ravel()[:, None] * d + np.arange(d)
    np.add.at(residual.reshape(-1), here.ravel(), r.transpose(2, 1, 0).ravel())
    if places.size:
        whole = k.ravel().take(order_of_blocks(n, d, e))
        np.add.at(data, entries(nodes, places, row, d), whole)
    return degenerate


def _surface(start: Floats, g: Floats, moved: Floats) -> tuple[Floats, Floats, Floats]:
    """Return F (d, m, e), the product of its columns (d, e), and J^2 (e,)."""
    d, m, e = start.shape
    f = np.empty((d, m, e))
    for p in range(d):
        for s in range(m):
            total = start[p, s]
            for i in range(g.shape[1]):
                total = total + moved[p, i] * g[s, i]
            f[p, s] = total
    normal = np.empty((d, e))
    for p in range(d):
        x, y = f[(p + 1) % d, 0], f[(p + 2) % d, 0]
        normal[p] = x * f[(p + 2) % d, 1] - y * f[(p + 1) % d, 1]
    square = dot(f[:, 0], f[:, 0]) * dot(f[:, 1], f[:, 1])
    square = square - dot(f[:, 0], f[:, 1]) * dot(f[:, 0], f[:, 1])
    return f, normal, np.asarray(square)
