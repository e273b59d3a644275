"""Internal forces, tangent, energy and stress of a body.

One sweep over the integration points, `respond`, turns displacements into named columns: what
the material answers at each. The other kernels sum these and know no law. The sum of forces and
tangent is compiled once per number of functions.

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
)

__all__ = ["RESPONSE", "add_stress", "bulk_kernel", "respond", "total_energy"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

# columns of what the material answers at a point: nominal stress, the deformation gradient that
# goes with its change, 2 psi_a, psi_j, 4 psi_aa, 2 psi_aj, psi_jj (see above), energy, and
# across the plane: its derivative psi_l; det F in the plane, and the stretch l
(
    P00,
    P01,
    P10,
    P11,
    F00,
    F01,
    F10,
    F11,
    BY_A,
    BY_J,
    BY_AA,
    BY_AJ,
    BY_JJ,
    ENERGY,
    BY_L,
    DET,
    STRETCH,
) = range(17)
RESPONSE = 17


@kernel
def _linear(
    f00: float, f01: float, f10: float, f11: float, c: Floats, part: int, out: Floats
) -> None:
    """Fill in the answer of linear elasticity: its tangent is that of the undeformed state."""
    lam, mu = linear_moduli(c, part)
    trace, shear = f00 + f11 - 2.0, f01 + f10
    square = (f00 - 1.0) ** 2 + (f11 - 1.0) ** 2 + 0.5 * shear * shear
    out[ENERGY] = 0.5 * lam * trace * trace + mu * square
    out[P00], out[P01] = lam * trace + 2.0 * mu * (f00 - 1.0), mu * shear
    out[P10], out[P11] = mu * shear, lam * trace + 2.0 * mu * (f11 - 1.0)
    out[F00], out[F01], out[F10], out[F11] = 1.0, 0.0, 0.0, 1.0
    out[BY_A], out[BY_J], out[BY_AA], out[BY_AJ], out[BY_JJ] = mu, -mu, 0.0, 0.0, lam + mu
    out[BY_L], out[DET], out[STRETCH] = lam * trace, 1.0, 1.0


@kernel
def _hyperelastic(
    f00: float, f01: float, f10: float, f11: float, c: Floats, part: int, out: Floats
) -> None:
    """Fill in the answer of a law in the invariants, NaN where det F is not positive."""
    j = f00 * f11 - f01 * f10
    out[F00], out[F01], out[F10], out[F11], out[DET], out[STRETCH] = f00, f01, f10, f11, j, 1.0
    square = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
    if not j > 0.0:
        for k in range(BY_A, STRETCH):
            out[k] = math.nan
    elif c[KIND] == NEO_HOOKEAN and c[ACROSS] == PLANE_STRAIN:
        # what `plane_derivatives` gives, short: this law is where most time goes
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        log = lam * math.log(j)
        out[ENERGY] = 0.5 * mu * (square - 2.0) + (0.5 * log - mu) * math.log(j)
        out[BY_A], out[BY_J], out[BY_AA], out[BY_AJ] = mu, (log - mu) / j, 0.0, 0.0
        out[BY_JJ], out[BY_L] = (lam + mu - log) / (j * j), mu + j * (log / j - mu / j)
    else:
        psi, pa, pj, paa, paj, pjj, pl, l = plane_derivatives(square, j, c, part)  # noqa: E741
        out[ENERGY], out[BY_A], out[BY_J], out[BY_L], out[STRETCH] = psi, 2.0 * pa, pj, pl, l
        out[BY_AA], out[BY_AJ], out[BY_JJ] = 4.0 * paa, 2.0 * paj, pjj
    s1, s2 = out[BY_A], out[BY_J]
    out[P00], out[P01] = s1 * f00 + s2 * f11, s1 * f01 - s2 * f10
    out[P10], out[P11] = s1 * f10 - s2 * f01, s1 * f11 + s2 * f00


@kernel
def respond(
    nodes: Ints, gradients: Floats, part: int, u: Floats, c: Floats, response: Floats
) -> None:
    """Fill in what the material answers at the points of all elements, (e, q, RESPONSE).

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
                g0, g1 = gradients[e, q, i, 0], gradients[e, q, i, 1]
                f00 += x * g0
                f01 += x * g1
                f10 += y * g0
                f11 += y * g1
            if c[KIND] == LINEAR:
                _linear(f00, f01, f10, f11, c, part, response[e, q])
            else:
                _hyperelastic(f00, f01, f10, f11, c, part, response[e, q])


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


@kernel
def _tangent(n: int, w: float, g: Floats, a: Floats, fa: Floats, ga: Floats, k: Floats) -> None:
    """Add the blocks of one point to the upper half of those of its element, (n, n, 4)."""
    s1, s2, s3, s4, s5 = w * a[BY_A], w * a[BY_J], w * a[BY_AA], w * a[BY_AJ], w * a[BY_JJ]
    f00, f01, f10, f11 = a[F00], a[F01], a[F10], a[F11]
    for i in range(n):
        fa[i, 0] = f00 * g[i, 0] + f01 * g[i, 1]
        fa[i, 1] = f10 * g[i, 0] + f11 * g[i, 1]
        ga[i, 0] = f11 * g[i, 0] - f10 * g[i, 1]
        ga[i, 1] = -f01 * g[i, 0] + f00 * g[i, 1]
    mixed = s3 != 0.0 or s4 != 0.0
    for i in range(n):
        # rows of s3 f f + s4 (f g + g f) + s5 g g
        b0, b1 = s5 * ga[i, 0], s5 * ga[i, 1]
        if not mixed:
            for m in range(i, n):
                same = s1 * (g[i, 0] * g[m, 0] + g[i, 1] * g[m, 1])
                turn = s2 * (g[i, 0] * g[m, 1] - g[i, 1] * g[m, 0])
                k[i, m, 0] += same + b0 * ga[m, 0]
                k[i, m, 1] += turn + b0 * ga[m, 1]
                k[i, m, 2] += b1 * ga[m, 0] - turn
                k[i, m, 3] += same + b1 * ga[m, 1]
            continue
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


@functools.cache
def bulk_kernel(n: int) -> Any:
    """Return the kernel for elements of `n` functions, compiled when it is first called.

    kernel(nodes, gradients, weights, response, residual, data, places, row) adds the internal
    forces to `residual` (nodes, 2) and the tangent to `data`, where `places[e, a, b]` is the
    entry of block (a, b) in the first of its two rows and `row[node]` the length of a row; an
    empty `places` leaves the tangent out. It returns how many points were inside out.
    """

    @kernel
    def add(
        nodes: Ints,
        gradients: Floats,
        weights: Floats,
        response: Floats,
        residual: Floats,
        data: Floats,
        places: Places,
        row: Places,
    ) -> int:
        wants = places.shape[0] > 0
        k, r = np.empty((n, n, 4)), np.empty((n, 2))
        fa, ga = np.empty((n, 2)), np.empty((n, 2))
        bad = 0
        for e in range(nodes.shape[0]):
            for i in range(n):
                r[i, 0] = r[i, 1] = 0.0
                for m in range(n):
                    for p in range(4):
                        k[i, m, p] = 0.0
            for q in range(weights.shape[1]):
                w, g, a = weights[e, q], gradients[e, q], response[e, q]
                if math.isnan(a[BY_A]):
                    bad += 1
                for i in range(n):
                    r[i, 0] += w * (a[P00] * g[i, 0] + a[P01] * g[i, 1])
                    r[i, 1] += w * (a[P10] * g[i, 0] + a[P11] * g[i, 1])
                if wants:
                    _tangent(n, w, g, a, fa, ga, k)
            for i in range(n):
                residual[nodes[e, i], 0] += r[i, 0]
                residual[nodes[e, i], 1] += r[i, 1]
            if wants:
                _spread(nodes[e], places[e], row, k, data)
        return bad

    return add


@kernel
def total_energy(weights: Floats, response: Floats) -> float:
    """Return the strain energy [J/m] of elements; NaN where one is inside out.

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    total = 0.0
    for e in range(weights.shape[0]):
        for q in range(weights.shape[1]):
            total += weights[e, q] * response[e, q, ENERGY]
    return total


@kernel
def add_stress(response: Floats, c: Floats, out: Floats) -> None:
    """Add the Cauchy stress xx, yy, xy, zz at the points of every element, (e, q, 4).

    Parameters
    ----------
    response : (e, r, RESPONSE) of one part of the energy; where r is below q, the stress of the
        nearest point counts
    c : table of the material
    out : added to [Pa]

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    points = out.shape[1]
    for e in range(out.shape[0]):
        for q in range(points):
            a, s = response[e, q * response.shape[1] // points], out[e, q]
            if c[KIND] == LINEAR:
                s[0] += a[P00]
                s[1] += a[P11]
                s[2] += a[P01]
            else:
                # the sheet grows thinner: forces per reference thickness, stress per current
                f00, f01, f10, f11, l = a[F00], a[F01], a[F10], a[F11], a[STRETCH]  # noqa: E741
                s[0] += (a[BY_A] * (f00 * f00 + f01 * f01) / a[DET] + a[BY_J]) / l
                s[1] += (a[BY_A] * (f10 * f10 + f11 * f11) / a[DET] + a[BY_J]) / l
                s[2] += a[BY_A] * (f00 * f10 + f01 * f11) / a[DET] / l
            if c[ACROSS] == PLANE_STRAIN:
                s[3] += a[BY_L] / a[DET]
