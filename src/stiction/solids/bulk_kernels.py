"""Internal forces, tangent, energy and stress of a body.

The sum of forces and tangent is compiled once per number of functions; energy and stress at
points, which are wanted less often, once for all.

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

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.jit import kernel
from stiction.solids.material_kernels import (
    ACROSS,
    KIND,
    LAM,
    LINEAR,
    MU,
    NEO_HOOKEAN,
    PLANE_STRAIN,
    PLANE_STRESS,
    SHAPE,
    VOLUME,
    linear_moduli,
    plane_derivatives,
)

__all__ = ["TOLD", "bulk_kernel", "tell_points", "total_energy"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

Nine = tuple[float, float, float, float, float, float, float, float, float]

# columns of what is told about a point: energy, Cauchy stress in the plane, and across it
ENERGY, XX, YY, XY, ZZ = range(5)
TOLD = 5


@kernel
def _response(f00: float, f01: float, f10: float, f11: float, c: Vector, part: int) -> Nine:
    """Return psi, 2 psi_a, psi_j, 4 psi_aa, 2 psi_aj, psi_jj, psi_l, j, l; NaN if inside out."""
    j = f00 * f11 - f01 * f10
    if not j > 0.0:
        bad = math.nan
        return bad, bad, bad, bad, bad, bad, bad, bad, bad
    square = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
    if c[KIND] == NEO_HOOKEAN and c[ACROSS] == PLANE_STRAIN:
        # what `plane_derivatives` gives, short: this law is where most time goes
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        log = lam * math.log(j)
        psi = 0.5 * mu * (square - 2.0) + (0.5 * log - mu) * math.log(j)
        across = mu + j * (log / j - mu / j)
        return psi, mu, (log - mu) / j, 0.0, 0.0, (lam + mu - log) / (j * j), across, j, 1.0
    psi, pa, pj, paa, paj, pjj, pl, l = plane_derivatives(square, j, c, part)  # noqa: E741
    return psi, 2.0 * pa, pj, 4.0 * paa, 2.0 * paj, pjj, pl, j, l


@kernel
def _stress(f00: float, f01: float, f10: float, f11: float, c: Vector, part: int) -> Nine:
    """Return the nominal stress 00, 01, 10, 11, and what the tangent is made of, 2 psi_a to psi_jj.

    Those of linear elasticity go with the undeformed state.
    """
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace, shear = lam * (f00 + f11 - 2.0), mu * (f01 + f10)
        p00, p11 = trace + 2.0 * mu * (f00 - 1.0), trace + 2.0 * mu * (f11 - 1.0)
        return p00, shear, shear, p11, mu, -mu, 0.0, 0.0, lam + mu
    _, s1, s2, s3, s4, s5, _, _, _ = _response(f00, f01, f10, f11, c, part)
    p00, p01 = s1 * f00 + s2 * f11, s1 * f01 - s2 * f10
    p10, p11 = s1 * f10 - s2 * f01, s1 * f11 + s2 * f00
    return p00, p01, p10, p11, s1, s2, s3, s4, s5


@kernel
def _spread(nodes: Ints, places: Places, row: Places, k: Stack, data: Vector) -> None:
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


@kernel
def _begin(nodes: Integers, u: Matrix, v: Matrix, r: Matrix, k: Stack) -> None:
    """Fill in the displacements of one element, and zero forces and blocks."""
    for i in range(nodes.size):
        v[i, 0], v[i, 1] = u[nodes[i], 0], u[nodes[i], 1]
        r[i, 0] = r[i, 1] = 0.0
        for m in range(nodes.size):
            for p in range(4):
                k[i, m, p] = 0.0


@functools.cache
def bulk_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when it is first called.

    It adds internal forces to `residual` (nodes, 2) and the tangent to `data`: `places[e, a, b]`
    is the entry of block (a, b) in the first of its two rows, `row[node]` the length of a row;
    an empty `places` leaves the tangent out. It returns how many points were inside out.
    """

    @kernel
    def add(
        nodes: Ints,
        gradients: Floats,
        weights: Matrix,
        part: int,
        u: Matrix,
        c: Vector,
        residual: Matrix,
        data: Vector,
        places: Places,
        row: Places,
    ) -> int:
        wants = places.shape[0] > 0
        linear = c[KIND] == LINEAR
        k, r, v = np.empty((n, n, 4)), np.empty((n, 2)), np.empty((n, 2))
        fa, ga = np.empty((n, 2)), np.empty((n, 2))
        bad = 0
        for e in range(nodes.shape[0]):
            _begin(nodes[e], u, v, r, k)
            for q in range(weights.shape[1]):
                w, g = weights[e, q], gradients[e, q]
                f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
                for i in range(n):
                    f00 += v[i, 0] * g[i, 0]
                    f01 += v[i, 0] * g[i, 1]
                    f10 += v[i, 1] * g[i, 0]
                    f11 += v[i, 1] * g[i, 1]
                p00, p01, p10, p11, s1, s2, s3, s4, s5 = _stress(f00, f01, f10, f11, c, part)
                bad += math.isnan(s1)
                for i in range(n):
                    r[i, 0] += w * (p00 * g[i, 0] + p01 * g[i, 1])
                    r[i, 1] += w * (p10 * g[i, 0] + p11 * g[i, 1])
                if not wants:
                    continue
                s1, s2, s3, s4, s5 = w * s1, w * s2, w * s3, w * s4, w * s5
                if linear:
                    f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
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
                residual[nodes[e, i], 0] += r[i, 0]
                residual[nodes[e, i], 1] += r[i, 1]
            if wants:
                _spread(nodes[e], places[e], row, k, data)
        return bad

    return add


@kernel
def _tell(
    f00: float, f01: float, f10: float, f11: float, c: Vector, part: int, out: Vector
) -> None:
    """Fill in energy and Cauchy stress of a point, NaN if it is inside out."""
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace, shear = f00 + f11 - 2.0, f01 + f10
        square = (f00 - 1.0) ** 2 + (f11 - 1.0) ** 2 + 0.5 * shear * shear
        out[ENERGY] = 0.5 * lam * trace * trace + mu * square
        out[XX], out[YY] = (
            lam * trace + 2.0 * mu * (f00 - 1.0),
            lam * trace + 2.0 * mu * (f11 - 1.0),
        )
        out[XY], out[ZZ] = mu * shear, lam * trace
    else:
        psi, s1, s2, _, _, _, across, j, l = _response(f00, f01, f10, f11, c, part)  # noqa: E741
        # the sheet grows thinner: forces per reference thickness, stress per current
        out[ENERGY] = psi
        out[XX] = (s1 * (f00 * f00 + f01 * f01) / j + s2) / l
        out[YY] = (s1 * (f10 * f10 + f11 * f11) / j + s2) / l
        out[XY], out[ZZ] = s1 * (f00 * f10 + f01 * f11) / j / l, across / j
    if c[ACROSS] == PLANE_STRESS:
        out[ZZ] = 0.0


@kernel
def tell_points(
    nodes: Ints, gradients: Floats, part: int, u: Matrix, c: Vector, told: Stack
) -> None:
    """Fill in energy and Cauchy stress at the points of all elements, (e, q, TOLD).

    Parameters
    ----------
    nodes, gradients : (e, n) and (e, q, n, 2)
    part : of the energy; see `material_kernels`
    u : (nodes, 2) displacements [m]
    c : table of the material

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    for e in range(nodes.shape[0]):
        for q in range(gradients.shape[1]):
            f00, f01, f10, f11 = 1.0, 0.0, 0.0, 1.0
            for i in range(nodes.shape[1]):
                x, y = u[nodes[e, i], 0], u[nodes[e, i], 1]
                f00 += x * gradients[e, q, i, 0]
                f01 += x * gradients[e, q, i, 1]
                f10 += y * gradients[e, q, i, 0]
                f11 += y * gradients[e, q, i, 1]
            _tell(f00, f01, f10, f11, c, part, told[e, q])


@kernel
def total_energy(weights: Matrix, told: Stack) -> float:
    """Return the strain energy [J/m] of elements; NaN where one is inside out.

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    total = 0.0
    for e in range(weights.shape[0]):
        for q in range(weights.shape[1]):
            total += weights[e, q] * told[e, q, ENERGY]
    return total
