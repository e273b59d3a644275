"""Internal forces and tangent of a body, summed from what is known of its points.

One kernel per number of functions; see `stress_points` for the points and the tangent.

Rows 2i and 2i + 1 of the matrix have one pattern, so that one number says where a block is.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.stress_points import (
    BY_A,
    BY_AA,
    BY_AJ,
    BY_J,
    BY_JJ,
    F00,
    F01,
    F10,
    F11,
    P00,
    P01,
    P10,
    P11,
)

__all__ = ["bulk_kernel"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


@functools.cache
def bulk_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when it is first called.

    It adds internal forces to `residual` (nodes, 2) and the tangent to `data`: `places[e, a, b]`
    is the entry of block (a, b) in the first of its two rows, `row[node]` the length of a row;
    an empty `places` leaves the tangent out.
    """

    @kernel(plain=_add_plain)
    def add(
        nodes: Ints,
        gradients: Floats,
        weights: Matrix,
        points: Stack,
        residual: Matrix,
        data: Vector,
        places: Places,
        row: Places,
    ) -> None:
        wants = places.shape[0] > 0
        k, r = np.empty((n, n, 4)), np.empty((n, 2))
        fa, ga = np.empty((n, 2)), np.empty((n, 2))
        for e in range(nodes.shape[0]):
            for i in range(n):
                r[i, 0] = r[i, 1] = 0.0
                for m in range(n):
                    for p in range(4):
                        k[i, m, p] = 0.0
            for q in range(weights.shape[1]):
                w, g = weights[e, q], gradients[e, q]
                p00, p01 = points[P00, e, q], points[P01, e, q]
                p10, p11 = points[P10, e, q], points[P11, e, q]
                for i in range(n):
                    r[i, 0] += w * (p00 * g[i, 0] + p01 * g[i, 1])
                    r[i, 1] += w * (p10 * g[i, 0] + p11 * g[i, 1])
                if not wants:
                    continue
                s1, s2, s3 = w * points[BY_A, e, q], w * points[BY_J, e, q], w * points[BY_AA, e, q]
                s4, s5 = w * points[BY_AJ, e, q], w * points[BY_JJ, e, q]
                f00, f01 = points[F00, e, q], points[F01, e, q]
                f10, f11 = points[F10, e, q], points[F11, e, q]
                for i in range(n):
                    fa[i, 0] = f00 * g[i, 0] + f01 * g[i, 1]
                    fa[i, 1] = f10 * g[i, 0] + f11 * g[i, 1]
                    ga[i, 0] = f11 * g[i, 0] - f10 * g[i, 1]
                    ga[i, 1] = -f01 * g[i, 0] + f00 * g[i, 1]
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
            for i in range(n):
                node = nodes[e, i]
                residual[node, 0] += r[i, 0]
                residual[node, 1] += r[i, 1]
                if not wants:
                    continue
                for m in range(n):
                    # of the blocks the upper half is known
                    at, low, high = places[e, i, m], min(i, m), max(i, m)
                    data[at] += k[low, high, 0]
                    data[at + 1] += k[low, high, 1 if i <= m else 2]
                    data[at + row[node]] += k[low, high, 2 if i <= m else 1]
                    data[at + row[node] + 1] += k[low, high, 3]

    return add


def _add_plain(
    nodes: Ints,
    gradients: Floats,
    weights: Floats,
    points: Floats,
    residual: Floats,
    data: Floats,
    places: Places,
    row: Places,
) -> None:
    """Sum over the points of all elements at once, in the order of the kernel."""
    e, n = nodes.shape
    r = np.zeros((n, 2, e))
    low, high = np.triu_indices(n)
    k = np.zeros((4, low.size, e))
    for q in range(weights.shape[1]):
        w, g, at = weights[:, q], gradients[:, q].transpose(1, 2, 0), points[:, :, q]
        g0, g1 = np.ascontiguousarray(g[:, 0]), np.ascontiguousarray(g[:, 1])
        r[:, 0] += w * (at[P00] * g0 + at[P01] * g1)
        r[:, 1] += w * (at[P10] * g0 + at[P11] * g1)
        if places.size:
            _add_point(k, g0, g1, w, at, low, high)
    here = nodes.ravel()[:, None] * 2 + np.arange(2)
    np.add.at(residual.reshape(-1), here.ravel(), r.transpose(2, 0, 1).ravel())
    if not places.size:
        return
    whole = np.empty((e, n, 2, n, 2))
    # the mirrored half first: blocks on the diagonal are given whole
    for p in range(4):
        whole[:, high, p % 2, low, p // 2] = k[p].T
    for p in range(4):
        whole[:, low, p // 2, high, p % 2] = k[p].T
    down = np.arange(2)[:, None, None] * row[nodes][:, :, None, None, None]
    there = places[:, :, None, :, None] + down + np.arange(2)
    np.add.at(data, there.ravel(), whole.ravel())


def _add_point(
    k: Floats, g0: Floats, g1: Floats, w: Floats, at: Floats, low: Ints, high: Ints
) -> None:
    """Add one point of every element to the upper half of its blocks, (4, pairs, e)."""
    f00, f01, f10, f11 = at[F00], at[F01], at[F10], at[F11]
    s1, s2, s3, s4, s5 = (w * at[c] for c in (BY_A, BY_J, BY_AA, BY_AJ, BY_JJ))
    ga = np.stack([f11 * g0 - f10 * g1, -f01 * g0 + f00 * g1])
    b = s5 * ga
    gi0, gi1, gm0, gm1 = g0[low], g1[low], g0[high], g1[high]
    same = s1 * (gi0 * gm0 + gi1 * gm1)
    turn = s2 * (gi0 * gm1 - gi1 * gm0)
    to = ga[:, high]
    if not (s3.any() or s4.any()):
        b0, b1 = b[:, low]
        k[0] += same + b0 * to[0]
        k[1] += turn + b0 * to[1]
        k[2] += b1 * to[0] - turn
        k[3] += same + b1 * to[1]
        return
    fa = np.stack([f00 * g0 + f01 * g1, f10 * g0 + f11 * g1])
    (a0, a1), (b0, b1) = (s3 * fa + s4 * ga)[:, low], (s4 * fa + b)[:, low]
    of = fa[:, high]
    k[0] += same + a0 * of[0] + b0 * to[0]
    k[1] += turn + a0 * of[1] + b0 * to[1]
    k[2] += a1 * of[0] + b1 * to[0] - turn
    k[3] += same + a1 * of[1] + b1 * to[1]
