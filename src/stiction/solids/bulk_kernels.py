"""Internal forces, tangent and energy of a body: one kernel per number of functions.

The tangent is symmetric and made of 2x2 blocks, one per pair of nodes. With f_a = F grad N_a
and g_a = cof F grad N_a, and psi(a, j) the energy in |F|^2 and det F, a block is

    K_ab = w [2 psi_a (grad N_a . grad N_b) 1 + 4 psi_aa f_a f_b + 2 psi_aj (f_a g_b + g_a f_b)
              + psi_jj g_a g_b + psi_j (grad N_a x grad N_b) e],   e = [[0, 1], [-1, 0]].

Rows 2i and 2i + 1 of the matrix have one pattern, so that one number says where a block is.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.solids.material_kernels import (
    ACROSS,
    ALL,
    KIND,
    LAM,
    LINEAR,
    MU,
    NEO_HOOKEAN,
    PLANE_STRAIN,
    SHAPE,
    VOLUME,
    linear_moduli,
    plane_derivatives,
    stress_across,
    stretch_across,
)

__all__ = ["bulk_kernel", "energy_kernel", "stress_at_points"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Seven = tuple[float, float, float, float, float, float, float]


@kernel
def _response(f00: float, f01: float, f10: float, f11: float, c: Floats, part: int) -> Seven:
    """Return psi, then 2 psi_a, psi_j, 4 psi_aa, 2 psi_aj, psi_jj, and j; NaN if inside out."""
    j = f00 * f11 - f01 * f10
    if not j > 0.0:
        return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan
    if c[KIND] == NEO_HOOKEAN and c[ACROSS] == PLANE_STRAIN:
        # what `plane_derivatives` gives, short: this law is where most time goes
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        log = lam * math.log(j)
        square = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
        psi = 0.5 * mu * (square - 2.0) + (0.5 * log - mu) * math.log(j)
        return psi, mu, (log - mu) / j, 0.0, 0.0, (lam + mu - log) / (j * j), j
    psi, pa, pj, paa, paj, pjj = plane_derivatives(
        f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11, j, c, part
    )
    return psi, 2.0 * pa, pj, 4.0 * paa, 2.0 * paj, pjj, j


@kernel
def _hooke(
    f00: float, f01: float, f10: float, f11: float, lam: float, mu: float
) -> tuple[float, float, float, float]:
    """Return the stress of linear elasticity, 00, 01, 10, 11."""
    trace, shear = lam * (f00 + f11 - 2.0), mu * (f01 + f10)
    return trace + 2.0 * mu * (f00 - 1.0), shear, shear, trace + 2.0 * mu * (f11 - 1.0)


@kernel
def _spread(nodes: Ints, places: Places, row: Places, k: Floats, data: Floats) -> None:
    """Add the blocks (n, n, 4) of one element, of which the upper half is given."""
    n = nodes.size
    for i in range(n):
        down = row[nodes[i]]
        for m in range(i, n):
            at = places[i, m]
            data[at] += k[i, m, 0]
            data[at + 1] += k[i, m, 1]
            data[at + down] += k[i, m, 2]
            data[at + down + 1] += k[i, m, 3]
            if m > i:
                at = places[m, i]
                below = row[nodes[m]]
                data[at] += k[i, m, 0]
                data[at + 1] += k[i, m, 2]
                data[at + below] += k[i, m, 1]
                data[at + below + 1] += k[i, m, 3]


@functools.cache
def bulk_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when it is first called.

    kernel(nodes, gradients, weights, part, u, c, residual, data, places, row) adds the
    internal forces to `residual` (nodes, 2) and the tangent to `data`, where `places[e, a, b]`
    is the entry of block (a, b) in the first of its two rows and `row[node]` the length of a
    row; an empty `places` leaves the tangent out. It returns how many points were inside out.
    """

    @kernel
    def add(
        nodes: Ints,
        gradients: Floats,
        weights: Floats,
        part: int,
        u: Floats,
        c: Floats,
        residual: Floats,
        data: Floats,
        places: Places,
        row: Places,
    ) -> int:
        points = weights.shape[1]
        wants = places.shape[0] > 0
        linear = c[KIND] == LINEAR
        lam, mu = linear_moduli(c, part)
        k, r, v = np.empty((n, n, 4)), np.empty((n, 2)), np.empty((n, 2))
        fa, ga = np.empty((n, 2)), np.empty((n, 2))
        bad = 0
        for e in range(nodes.shape[0]):
            for i in range(n):
                v[i, 0] = u[nodes[e, i], 0]
                v[i, 1] = u[nodes[e, i], 1]
                r[i, 0] = 0.0
                r[i, 1] = 0.0
            k[:] = 0.0
            for q in range(points):
                w = weights[e, q]
                g = gradients[e, q]
                f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
                for i in range(n):
                    f00 += v[i, 0] * g[i, 0]
                    f01 += v[i, 0] * g[i, 1]
                    f10 += v[i, 1] * g[i, 0]
                    f11 += v[i, 1] * g[i, 1]
                if linear:
                    p00, p01, p10, p11 = _hooke(f00, f01, f10, f11, lam, mu)
                    s1, s2, s3, s4, s5 = mu, -mu, 0.0, 0.0, lam + mu
                    f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
                else:
                    _, s1, s2, s3, s4, s5, _ = _response(f00, f01, f10, f11, c, part)
                    if math.isnan(s1):
                        bad += 1
                    p00, p01 = s1 * f00 + s2 * f11, s1 * f01 - s2 * f10
                    p10, p11 = s1 * f10 - s2 * f01, s1 * f11 + s2 * f00
                for i in range(n):
                    r[i, 0] += w * (p00 * g[i, 0] + p01 * g[i, 1])
                    r[i, 1] += w * (p10 * g[i, 0] + p11 * g[i, 1])
                if not wants:
                    continue
                s1, s2, s3, s4, s5 = w * s1, w * s2, w * s3, w * s4, w * s5
                for i in range(n):
                    fa[i, 0] = f00 * g[i, 0] + f01 * g[i, 1]
                    fa[i, 1] = f10 * g[i, 0] + f11 * g[i, 1]
                    ga[i, 0] = f11 * g[i, 0] - f10 * g[i, 1]
                    ga[i, 1] = -f01 * g[i, 0] + f00 * g[i, 1]
                if s3 == 0.0 and s4 == 0.0:
                    for i in range(n):
                        b0, b1 = s5 * ga[i, 0], s5 * ga[i, 1]
                        for m in range(i, n):
                            same = s1 * (g[i, 0] * g[m, 0] + g[i, 1] * g[m, 1])
                            turn = s2 * (g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0])
                            k[i, m, 0] += same + b0 * ga[m, 0]
                            k[i, m, 1] += turn + b0 * ga[m, 1]
                            k[i, m, 2] += b1 * ga[m, 0] - turn
                            k[i, m, 3] += same + b1 * ga[m, 1]
                    continue
                for i in range(n):
                    # rows of s3 f f + s4 (f g + g f) + s5 g g
                    a0 = s3 * fa[i, 0] + s4 * ga[i, 0]
                    a1 = s3 * fa[i, 1] + s4 * ga[i, 1]
                    b0 = s4 * fa[i, 0] + s5 * ga[i, 0]
                    b1 = s4 * fa[i, 1] + s5 * ga[i, 1]
                    for m in range(i, n):
                        same = s1 * (g[i, 0] * g[m, 0] + g[i, 1] * g[m, 1])
                        turn = s2 * (g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0])
                        k[i, m, 0] += same + a0 * fa[m, 0] + b0 * ga[m, 0]
                        k[i, m, 1] += turn + a0 * fa[m, 1] + b0 * ga[m, 1]
                        k[i, m, 2] += a1 * fa[m, 0] + b1 * ga[m, 0] - turn
                        k[i, m, 3] += same + a1 * fa[m, 1] + b1 * ga[m, 1]
            for i in range(n):
                residual[nodes[e, i], 0] += r[i, 0]
                residual[nodes[e, i], 1] += r[i, 1]
            if not wants:
                continue
            _spread(nodes[e], places[e], row, k, data)
        return bad

    return add


@kernel
def energy_kernel(
    nodes: Ints, gradients: Floats, weights: Floats, part: int, u: Floats, c: Floats
) -> float:
    """Return the strain energy [J/m]; NaN where an element is inside out.

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    total = 0.0
    lam, mu = linear_moduli(c, part)
    for e in range(nodes.shape[0]):
        for q in range(weights.shape[1]):
            f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
            for i in range(nodes.shape[1]):
                x, y = u[nodes[e, i], 0], u[nodes[e, i], 1]
                f00 += x * gradients[e, q, i, 0]
                f01 += x * gradients[e, q, i, 1]
                f10 += y * gradients[e, q, i, 0]
                f11 += y * gradients[e, q, i, 1]
            if c[KIND] == LINEAR:
                trace, shear = f00 + f11 - 2.0, f01 + f10
                square = (f00 - 1.0) ** 2 + (f11 - 1.0) ** 2 + 0.5 * shear * shear
                psi = 0.5 * lam * trace * trace + mu * square
            else:
                psi = _response(f00, f01, f10, f11, c, part)[0]
            total += weights[e, q] * psi
    return total


@kernel
def stress_at_points(
    nodes: Ints,
    gradients: Floats,
    volume_gradients: Floats,
    u: Floats,
    c: Floats,
    out: Floats,
) -> None:
    """Fill in the Cauchy stress xx, yy, xy, zz at the points of every element, (e, q, 4).

    With reduced integration the volumetric stress is that of the nearest reduced point.

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    reduced = volume_gradients.shape[1]
    for e in range(nodes.shape[0]):
        for q in range(gradients.shape[1]):
            for turn in range(2 if reduced else 1):
                part = ALL
                g = gradients[e, q]
                if reduced:
                    part = SHAPE if turn == 0 else VOLUME
                    if turn == 1:
                        g = volume_gradients[e, q * reduced // gradients.shape[1]]
                f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
                for i in range(nodes.shape[1]):
                    x, y = u[nodes[e, i], 0], u[nodes[e, i], 1]
                    f00 += x * g[i, 0]
                    f01 += x * g[i, 1]
                    f10 += y * g[i, 0]
                    f11 += y * g[i, 1]
                if c[KIND] == LINEAR:
                    lam, mu = linear_moduli(c, part)
                    trace = lam * (f00 + f11 - 2.0)
                    s = (
                        trace + 2.0 * mu * (f00 - 1.0),
                        trace + 2.0 * mu * (f11 - 1.0),
                        mu * (f01 + f10),
                        lam * (f00 + f11 - 2.0) if c[ACROSS] == PLANE_STRAIN else 0.0,
                    )
                else:
                    _, s1, s2, _, _, _, j = _response(f00, f01, f10, f11, c, part)
                    square = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
                    # the sheet grows thinner: forces per reference thickness, stress per current
                    l = stretch_across(square, j, c, part)  # noqa: E741
                    s = (
                        (s1 * (f00 * f00 + f01 * f01) / j + s2) / l,
                        (s1 * (f10 * f10 + f11 * f11) / j + s2) / l,
                        s1 * (f00 * f10 + f01 * f11) / j / l,
                        stress_across(square, j, c, part),
                    )
                for i in range(4):
                    out[e, q, i] = s[i] + (out[e, q, i] if turn == 1 else 0.0)
