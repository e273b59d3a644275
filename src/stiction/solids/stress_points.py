"""Deformation, stress and energy at the integration points of elements, for all points at once.

The tangent is symmetric and made of 2x2 blocks, one per pair of nodes. With f_a = F grad N_a
and g_a = cof F grad N_a, and psi(a, j) the energy in |F|^2 and det F, a block is

    K_ab = w [2 psi_a (grad N_a . grad N_b) 1 + 4 psi_aa f_a f_b + 2 psi_aj (f_a g_b + g_a f_b)
              + psi_jj g_a g_b + psi_j (grad N_a x grad N_b) e],   e = [[0, 1], [-1, 0]].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import log as logarithm
from stiction.solids.material_laws import (
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

__all__ = ["POINT", "TOLD", "deformation", "is_short", "point_rows", "tell_points", "total_energy"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Nine = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any]

# rows of what is told about a point: energy, Cauchy stress in the plane, and across it
ENERGY, XX, YY, XY, ZZ = range(5)
TOLD = 5
# rows of what forces and tangent need of a point: F, the nominal stress, and 2 psi_a, psi_j,
# 4 psi_aa, 2 psi_aj, psi_jj; F counts as 1 in linear elasticity
F00, F01, F10, F11, P00, P01, P10, P11, BY_A, BY_J, BY_AA, BY_AJ, BY_JJ = range(13)
POINT = 13


# points that are inside out give NaN, which needs no word
_silent = np.errstate(all="ignore")


def is_short(c: Floats) -> bool:
    """Return whether a material has the law that kernels know: Neo-Hookean, in plane strain."""
    return bool(c[KIND] == NEO_HOOKEAN and c[ACROSS] == PLANE_STRAIN)


def deformation(nodes: Ints, gradients: Floats, u: Floats) -> Floats:
    """Return the deformation gradients, rows F00 to F11 of (4, q, e).

    Parameters
    ----------
    nodes : (e, n)
    gradients : (e, q, n, 2) of the functions [1/m]
    u : (nodes, 2) displacements [m]
    """
    by_function = np.ascontiguousarray(gradients.transpose(2, 3, 1, 0))
    f = np.zeros((2, 2, *by_function.shape[2:]))
    f[0, 0] = f[1, 1] = 1.0
    moved = np.ascontiguousarray(u[nodes.T].transpose(0, 2, 1))
    for i in range(nodes.shape[1]):
        f += moved[i][:, None, None] * by_function[i]
    return f.reshape(4, *f.shape[2:])


def _response(f: Floats, c: Floats, part: int) -> Nine:
    """Return psi, 2 psi_a, psi_j, 4 psi_aa, 2 psi_aj, psi_jj, psi_l, j, l; NaN if inside out."""
    f00, f01, f10, f11 = f
    j = f00 * f11 - f01 * f10
    j = np.where(j > 0.0, j, np.nan)
    square = f00 * f00 + f01 * f01 + f10 * f10 + f11 * f11
    if is_short(c):
        # what `plane_derivatives` gives, short: this law is where most time goes
        mu = 0.0 if part == VOLUME else c[MU]
        lam = 0.0 if part == SHAPE else c[LAM]
        known = logarithm(j)
        log = lam * known
        psi = 0.5 * mu * (square - 2.0) + (0.5 * log - mu) * known
        across = mu + j * (log / j - mu / j)
        return psi, mu, (log - mu) / j, 0.0, 0.0, (lam + mu - log) / (j * j), across, j, 1.0
    psi, pa, pj, paa, paj, pjj, pl, l = plane_derivatives(square, j, c, part)  # noqa: E741
    return psi, 2.0 * pa, pj, 4.0 * paa, 2.0 * paj, pjj, pl, j, l


@_silent
def point_rows(f: Floats, c: Floats, part: int) -> tuple[Floats, int]:
    """Return what forces and tangent need of every point (POINT, q, e); count those inside out.

    Parameters
    ----------
    f : (4, q, e) deformation gradients
    c : table of the material
    part : of the energy; see `material_laws`
    """
    rows = np.empty((POINT, *f.shape[1:]))
    f00, f01, f10, f11 = f
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace, shear = lam * (f00 + f11 - 2.0), mu * (f01 + f10)
        rows[F00], rows[F01], rows[F10], rows[F11] = 1.0, 0.0, 0.0, 1.0
        rows[P00], rows[P11] = trace + 2.0 * mu * (f00 - 1.0), trace + 2.0 * mu * (f11 - 1.0)
        rows[P01] = rows[P10] = shear
        rows[BY_A], rows[BY_J], rows[BY_AA], rows[BY_AJ], rows[BY_JJ] = mu, -mu, 0.0, 0.0, lam + mu
        return rows, 0
    _, s1, s2, s3, s4, s5, _, j, _ = _response(f, c, part)
    rows[F00 : F11 + 1] = f
    rows[P00], rows[P01] = s1 * f00 + s2 * f11, s1 * f01 - s2 * f10
    rows[P10], rows[P11] = s1 * f10 - s2 * f01, s1 * f11 + s2 * f00
    rows[BY_A], rows[BY_J], rows[BY_AA], rows[BY_AJ], rows[BY_JJ] = s1, s2, s3, s4, s5
    return rows, int(np.count_nonzero(np.isnan(j)))


@_silent
def tell_points(f: Floats, c: Floats, part: int) -> Floats:
    """Return energy and Cauchy stress of every point (TOLD, q, e), NaN where it is inside out.

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    out = np.empty((TOLD, *f.shape[1:]))
    f00, f01, f10, f11 = f
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace, shear = f00 + f11 - 2.0, f01 + f10
        one, two = f00 - 1.0, f11 - 1.0
        square = one * one + two * two + 0.5 * shear * shear
        out[ENERGY] = 0.5 * lam * trace * trace + mu * square
        out[XX], out[YY] = lam * trace + 2.0 * mu * one, lam * trace + 2.0 * mu * two
        out[XY], out[ZZ] = mu * shear, lam * trace
    else:
        psi, s1, s2, _, _, _, across, j, l = _response(f, c, part)  # noqa: E741
        # the sheet grows thinner: forces per reference thickness, stress per current
        out[ENERGY] = psi
        out[XX] = (s1 * (f00 * f00 + f01 * f01) / j + s2) / l
        out[YY] = (s1 * (f10 * f10 + f11 * f11) / j + s2) / l
        out[XY], out[ZZ] = s1 * (f00 * f10 + f01 * f11) / j / l, across / j
    if c[ACROSS] == PLANE_STRESS:
        out[ZZ] = 0.0
    return out


def total_energy(weights: Floats, energies: Floats) -> float:
    """Return the strain energy [J/m] of elements; NaN where one is inside out.

    Parameters
    ----------
    weights : (e, q) [m^2]
    energies : (q, e) [Pa]

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    # one after the other, so that rounding does not depend on how NumPy splits a sum
    return float(np.add.accumulate((weights * energies.T).ravel())[-1])
