"""Deformation, stress and energy at the integration points of elements, for all points at once.

With the displacements u_a of nodes, F = 1 + sum_a u_a (x) grad N_a. The energy psi(a, j) in a =
|F|^2 and j = det F gives the first Piola-Kirchhoff stress P = 2 psi_a F + psi_j cof F, with
2 psi_i (a F - F F^T F) in addition in space (docs/theory/solids.md, eq-so-stress, eq-so-block).
Arrays have the components first and then points and elements: F is (d, d, q, e). `c` is the (8,)
table of a material and `part` a part of its energy, both in the layout of `material_laws`.
`assembly.Bulk` calls the functions for energies, and for the forces of all laws but the
Neo-Hookean one, which its kernels evaluate.

The tangent is symmetric and made of d x d blocks, one per pair of nodes. With f_a = F grad N_a
and g_a = cof F grad N_a, and psi(a, j) the energy in |F|^2 and det F, a block is

    K_ab = w [2 psi_a (grad N_a . grad N_b) 1 + 4 psi_aa f_a f_b + 2 psi_aj (f_a g_b + g_a f_b)
              + psi_jj g_a g_b + psi_j grad N_a . d cof F / d F . grad N_b],

the last term skew. In space the energy also depends on the second invariant i; with
h_a = (a F - F F^T F) grad N_a, where a = |F|^2, a block has in addition

    w [4 psi_ai (f_a h_b + h_a f_b) + 4 psi_ii h_a h_b + 2 psi_ij (h_a g_b + g_a h_b)
       + 2 psi_i (2 f_a f_b - f_b f_a + (a G - f_a . f_b) 1 - G F F^T)],   G = grad N_a . grad N_b.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import log as logarithm
from stiction.solids.dimensions import cofactor, determinant, dot
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
    energy_derivatives,
    linear_moduli,
)

__all__ = [
    "MAX_CACHED",
    "STRESS_ROWS",
    "cached",
    "deformation",
    "energy_and_stress_points",
    "energy_points",
    "in_kernel",
    "point_rows",
    "products",
    "rows_of_a_point",
    "total_energy",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = list[Floats]

# rows of the record of a point: energy, Cauchy stress in the plane and normal to it, and the other
# components of space
ENERGY, XX, YY, XY, ZZ, YZ, ZX = range(7)
STRESS_ROWS = 7
_STRESS = {(0, 0): XX, (1, 1): YY, (0, 1): XY, (2, 2): ZZ, (1, 2): YZ, (0, 2): ZX}
# rows of a point for forces and tangents: F and the first Piola-Kirchhoff stress row by row, then
# 2 psi_a, psi_j, 4 psi_aa, 2 psi_aj, psi_jj, and in space 2 psi_i, 4 psi_ai, 4 psi_ii, 2 psi_ij;
# F is replaced by 1 in linear elasticity
BY_A, BY_J, BY_AA, BY_AJ, BY_JJ, BY_I, BY_AI, BY_II, BY_IJ = range(9)
_IN_PLANE = BY_I


# points with det F <= 0 give NaN without a warning
_silent = np.errstate(all="ignore")


def rows_of_a_point(d: int) -> int:
    """Return the number of rows of `point_rows` for bodies of d components."""
    return 2 * d * d + (_IN_PLANE if d < 3 else BY_IJ + 1)


def in_kernel(c: Floats) -> bool:
    """Return whether kernels evaluate the law themselves: Neo-Hookean, not in plane stress."""
    return bool(c[KIND] == NEO_HOOKEAN and c[ACROSS] == PLANE_STRAIN)


# meshes with cached arrays between calls, and size above which arrays are not cached [bytes]
MAX_CACHED = 8
_LARGE = 2**26
_CACHE: dict[Any, tuple[tuple[Any, ...], Any]] = {}


def cached(compute: Callable[..., Any], *arrays: Any) -> Any:
    """Return compute(*arrays), cached for the arrays of the last meshes, which are constant."""
    key = (compute, *map(id, arrays))
    if key not in _CACHE:
        if len(_CACHE) >= MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)))
        # a reference to the arrays keeps their identities unique
        _CACHE[key] = arrays, compute(*arrays)
    return _CACHE[key][1]


def _by_function(gradients: Floats) -> Floats:
    """Return gradients as (functions, d, points, elements)."""
    return np.ascontiguousarray(gradients.transpose(2, 3, 1, 0))


def deformation(nodes: Ints, gradients: Floats, u: Floats) -> Floats:
    """Return the deformation gradients (d, d, q, e).

    Parameters
    ----------
    nodes : (e, n)
    gradients : (e, q, n, d) of the functions [1/m]
    u : (nodes, d) displacements [m]
    """
    d = u.shape[1]
    small = gradients.nbytes < _LARGE
    by_function = cached(_by_function, gradients) if small else _by_function(gradients)
    f = np.zeros((d, d, *by_function.shape[2:]))
    for i in range(d):
        f[i, i] = 1.0
    moved = np.ascontiguousarray(u[nodes.T].transpose(0, 2, 1))
    for i in range(nodes.shape[1]):
        f += moved[i][:, None, None] * by_function[i]
    return f


class _Response:
    """A hyperelastic law at points: energy, derivatives, cofactors; NaN where det F <= 0.

    Parameters
    ----------
    f : (d, d, q, e) deformation gradients
    c, part : table of the material, and ALL, SHAPE or VOLUME of its energy
    slopes : whether to compute derivatives, besides the energy
    """

    def __init__(self, f: Floats, c: Floats, part: int, slopes: bool = True) -> None:
        d = f.shape[0]
        if slopes or d > 2:
            self.cof, j = cofactor(f)
        else:
            j = determinant(f)
        self.j = np.where(j > 0.0, j, np.nan)
        self.second: Floats | None = None
        square: Any = 0.0
        for row in f.reshape(d * d, *f.shape[2:]):
            square = square + row * row
        if in_kernel(c):
            # the values of `energy_derivatives` in short form: this law takes most of the time
            mu = 0.0 if part == VOLUME else c[MU]
            lam = 0.0 if part == SHAPE else c[LAM]
            known = logarithm(self.j)
            log = lam * known
            self.energy = 0.5 * mu * (square - float(d)) + (0.5 * log - mu) * known
            if not slopes:
                return
            self.across = mu + self.j * (log / self.j - mu / self.j)
            slope, curve = (log - mu) / self.j, (lam + mu - log) / (self.j * self.j)
            self.by: list[Any] = [mu, slope, 0.0, 0.0, curve, 0.0, 0.0, 0.0, 0.0]
            self.stretch: Any = 1.0
            return
        i: Any = 0.0
        if d > 2:
            # the second invariant is half the square of all cofactors
            i = sum(row * row for row in self.cof.reshape(d * d, *f.shape[2:]))
        values = energy_derivatives(d, square, i, self.j, c, part)
        psi, pa, pj, paa, paj, pjj, pi, pai, pii, pij, self.across, self.stretch = values
        self.energy = psi
        self.by = [2.0 * pa, pj, 4.0 * paa, 2.0 * paj, pjj, 2.0 * pi, 4.0 * pai, 4.0 * pii]
        self.by.append(2.0 * pij)
        if d > 2:
            self.second = square * f - products(products(f, f), f.swapaxes(0, 1))


def products(a: Floats, b: Floats) -> Floats:
    """Return the products a b^T of matrices (d, d, ...)."""
    return np.stack([np.stack([dot(row, other) for other in b]) for row in a])


@_silent
def point_rows(f: Floats, c: Floats, part: int) -> tuple[Floats, int]:
    """Return the rows (rows, q, e) of every point for forces and tangent, and the inverted points.

    The order of the rows is given above `BY_A`; the second result is the number of points with
    det F <= 0.

    Parameters
    ----------
    f : (d, d, q, e) deformation gradients
    c : table of the material
    part : of the energy; see `material_laws`
    """
    d, shape = f.shape[0], f.shape[2:]
    rows = np.empty((rows_of_a_point(d), *shape))
    size = d * d
    place, stress = rows[:size].reshape(d, d, *shape), rows[size : size + size]
    stress, by = stress.reshape(d, d, *shape), rows[size + size :]
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace = lam * (_trace(f) - float(d))
        place[...], by[...] = 0.0, 0.0
        for p in range(d):
            place[p, p], stress[p, p] = 1.0, trace + 2.0 * mu * (f[p, p] - 1.0)
            for q in range(p):
                stress[p, q] = stress[q, p] = mu * (f[q, p] + f[p, q])
        # with F = 1 the block of `K_ab` is then that of Hooke's law,
        # mu G 1 + lam grad N_a grad N_b + mu grad N_b grad N_a
        by[BY_A], by[BY_J], by[BY_JJ] = mu, -mu, lam + mu
        return rows, 0
    r = _Response(f, c, part)
    place[...] = f
    np.multiply(r.by[BY_A], f, out=stress)
    stress += r.by[BY_J] * r.cof
    if r.second is not None:
        stress += r.by[BY_I] * r.second
    for k in range(by.shape[0]):
        by[k] = r.by[k]
    return rows, int(np.count_nonzero(np.isnan(r.j)))


def _trace(f: Floats) -> Any:
    total = f[0, 0]
    for p in range(1, f.shape[0]):
        total = total + f[p, p]
    return total


@_silent
def energy_points(f: Floats, c: Floats, part: int) -> Floats:
    """Return the energy of every point (q, e) [Pa], NaN where det F <= 0.

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    if c[KIND] == LINEAR:
        return _linear_energy(f, c, part)
    return np.asarray(_Response(f, c, part, slopes=False).energy)


def _linear_energy(f: Floats, c: Floats, part: int) -> Floats:
    """Return the energy of linear elasticity at every point (q, e) [Pa]."""
    d = f.shape[0]
    lam, mu = linear_moduli(c, part)
    trace, square = _trace(f) - float(d), np.zeros(f.shape[2:])
    for p in range(d):
        square = square + (f[p, p] - 1.0) * (f[p, p] - 1.0)
    for p in range(d):
        for q in range(p + 1, d):
            shear = f[p, q] + f[q, p]
            square = square + 0.5 * shear * shear
    return np.asarray(0.5 * lam * trace * trace + mu * square)


@_silent
def energy_and_stress_points(f: Floats, c: Floats, part: int) -> Floats:
    """Return energy and Cauchy stress of every point (STRESS_ROWS, q, e), NaN where det F <= 0.

    Verified by: tests/unit/solids/test_assembly.py::test_stress_of_homogeneous_states
    """
    d = f.shape[0]
    out = np.zeros((STRESS_ROWS, *f.shape[2:]))
    pairs = [(p, q) for p in range(d) for q in range(p, d)]
    if c[KIND] == LINEAR:
        lam, mu = linear_moduli(c, part)
        trace = _trace(f) - float(d)
        for p, q in pairs:
            one = mu * (f[p, q] + f[q, p])
            out[_STRESS[p, q]] = lam * trace + 2.0 * mu * (f[p, p] - 1.0) if p == q else one
        out[ENERGY] = _linear_energy(f, c, part)
        across = lam * trace
    else:
        r = _Response(f, c, part)
        # in plane stress forces are per reference thickness, stress is per current thickness
        out[ENERGY], across = r.energy, r.across / r.j
        for p, q in pairs:
            value = r.by[BY_A] * dot(f[p], f[q]) / r.j
            if r.second is not None:
                value = value + r.by[BY_I] * dot(r.second[p], f[q]) / r.j
            if p == q:
                value = value + r.by[BY_J]
            out[_STRESS[p, q]] = value / r.stretch
    if d < 3:
        out[ZZ] = 0.0 if c[ACROSS] == PLANE_STRESS else across
    return out


def total_energy(weights: Floats, energies: Floats) -> float:
    """Return the strain energy [J/m] of elements; NaN if one is inverted.

    Parameters
    ----------
    weights : (e, q) [m^2]
    energies : (q, e) [Pa]

    Verified by: tests/unit/solids/test_assembly.py::test_forces_are_the_gradient_of_energy
    """
    # a sequential sum: its rounding does not depend on how NumPy divides a sum
    return float(np.add.accumulate((weights * energies.T).ravel())[-1])
