"""Strain energies in the principal invariants with their derivatives, in space and in a plane.

A law is psi(I1, I2, J) with I1 = tr C, I2 = (I1^2 - tr C^2)/2, J = det F, per reference volume.
In a plane with the out-of-plane stretch l, I1 = a + l^2, I2 = j^2 + l^2 a and J = j l, with
a = |F|^2 and j = det F of the in-plane deformation gradient F. In space I1 = a and J = j.
`energy_derivatives` returns psi with the first and second derivatives by a, j (and I2 in space),
from which `stress_points` computes stress and tangent. The laws are in docs/theory/solids.md,
"Materials"; energies, moduli and derivatives by ratios are in Pa.

Arguments are numbers or arrays with one entry per integration point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementwise import log as logarithm
from stiction.numerics.elementwise import power

__all__ = [
    "energy_derivatives",
    "invariant_derivatives",
    "linear_moduli",
    "plane_derivatives",
    "small_moduli",
]


Floats = npt.NDArray[np.float64]
# derivatives that vanish are numbers, all others arrays
Ten = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any]
Eight = tuple[Any, Any, Any, Any, Any, Any, Any, Any]
Twelve = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any]

# entries of a material table: kind of law, mu, lam, bulk modulus, coefficients, plane state
KIND, MU, LAM, BULK, C1, C2, C3, ACROSS = range(8)
# values of KIND
NEO_HOOKEAN, NEARLY_INCOMPRESSIBLE, MOONEY_RIVLIN, YEOH, LINEAR = range(5)
# values of ACROSS
PLANE_STRAIN, PLANE_STRESS = range(2)
# which part of the energy: all of it, the part without the volumetric one, the volumetric one
ALL, SHAPE, VOLUME = range(3)

_STRETCH_STEPS = 50


def invariant_derivatives(i1: Any, i2: Any, j: Any, c: Floats, part: int) -> Ten:
    """Return psi and its derivatives by I1, I2, J in the order 1, 2, J, 11, 12, 1J, 22, 2J, JJ.

    Parameters
    ----------
    i1, i2, j : invariants I1, I2 and J
    c : (8,) table of the material
    part : ALL, SHAPE (isochoric part) or VOLUME (volumetric part) of the energy

    Source: Bonet and Wood 1997, sections 5.4.3 and 5.5; docs/formulas/solids.md, section 5.
    Verified by: tests/unit/solids/test_materials.py::test_invariant_derivatives
    """
    psi: Any = 0.0
    p1 = p2 = pj = p11 = p12 = p1j = p22 = p2j = pjj = psi
    kind = c[KIND]
    if kind == NEO_HOOKEAN:
        log = logarithm(j)
        if part != VOLUME:
            psi += 0.5 * c[MU] * (i1 - 3.0) - c[MU] * log
            p1 += 0.5 * c[MU]
            pj -= c[MU] / j
            pjj += c[MU] / (j * j)
        if part != SHAPE:
            psi += 0.5 * c[LAM] * log * log
            pj += c[LAM] * log / j
            pjj += c[LAM] * (1.0 - log) / (j * j)
        return psi, p1, p2, pj, p11, p12, p1j, p22, p2j, pjj
    if part != VOLUME:
        s = power(j, -2.0 / 3.0)
        # the isochoric invariant s I1 and its derivatives
        w, wj, w1j = s * i1, -2.0 / 3.0 * s * i1 / j, -2.0 / 3.0 * s / j
        wjj = 10.0 / 9.0 * s * i1 / (j * j)
        f, f1, f2 = 0.5 * c[MU] * (w - 3.0), 0.5 * c[MU], 0.0
        if kind == MOONEY_RIVLIN:
            f, f1 = c[C1] * (w - 3.0), c[C1]
        elif kind == YEOH:
            y = w - 3.0
            f = y * (c[C1] + y * (c[C2] + y * c[C3]))
            f1 = c[C1] + y * (2.0 * c[C2] + 3.0 * y * c[C3])
            f2 = 2.0 * c[C2] + 6.0 * y * c[C3]
        # chain rule for f(w), w = J^(-2/3) I1
        psi += f
        p1 += f1 * s
        pj += f1 * wj
        p11 += f2 * s * s
        p1j += f2 * s * wj + f1 * w1j
        pjj += f2 * wj * wj + f1 * wjj
        if kind == MOONEY_RIVLIN:
            # c2 (J^(-4/3) I2 - 3)
            s = s * s
            psi += c[C2] * (s * i2 - 3.0)
            p2 += c[C2] * s
            pj -= c[C2] * 4.0 / 3.0 * s * i2 / j
            p2j -= c[C2] * 4.0 / 3.0 * s / j
            pjj += c[C2] * 28.0 / 9.0 * s * i2 / (j * j)
    if part != SHAPE:
        psi += 0.5 * c[BULK] * (j - 1.0) * (j - 1.0)
        pj += c[BULK] * (j - 1.0)
        pjj += c[BULK]
    return psi, p1, p2, pj, p11, p12, p1j, p22, p2j, pjj


def _in_plane(a: Any, j: Any, l: Any, c: Floats, part: int) -> Ten:  # noqa: E741
    """Return psi and its derivatives by a, j and l, in the order a, j, l, aa, aj, jj, al, jl, ll.

    By the chain rule for I1 = a + l^2, I2 = j^2 + l^2 a, J = j l; `c` and `part` are those of
    `invariant_derivatives`.
    """
    psi, p1, p2, pj, p11, p12, p1j, p22, p2j, pjj = invariant_derivatives(
        a + l * l, j * j + l * l * a, j * l, c, part
    )
    ll = l * l
    pal: Any = 0.0
    pjl = pll = pal
    if c[ACROSS] == PLANE_STRESS:
        # derivatives of p1, p2 and pj by l; plane strain does not need them
        d1 = 2.0 * l * p11 + 2.0 * l * a * p12 + j * p1j
        d2 = 2.0 * l * p12 + 2.0 * l * a * p22 + j * p2j
        dj = 2.0 * l * p1j + 2.0 * l * a * p2j + j * pjj
        pal = 2.0 * l * p2 + d1 + ll * d2
        pjl = pj + 2.0 * j * d2 + l * dj
        pll = 2.0 * p1 + 2.0 * a * p2 + 2.0 * l * d1 + 2.0 * l * a * d2 + j * dj
    return (
        psi,
        p1 + ll * p2,
        2.0 * j * p2 + l * pj,
        2.0 * l * p1 + 2.0 * l * a * p2 + j * pj,
        p11 + ll * (2.0 * p12 + ll * p22),
        2.0 * j * (p12 + ll * p22) + l * (p1j + ll * p2j),
        2.0 * p2 + 4.0 * j * (j * p22 + l * p2j) + ll * pjj,
        pal,
        pjl,
        pll,
    )


def plane_derivatives(a: Any, j: Any, c: Floats, part: int) -> Eight:
    """Return psi, its derivatives a, j, aa, aj, jj by a = |F|^2 and j = det F, then psi_l and l.

    The out-of-plane stretch l is 1 in plane strain. In plane stress psi_l = 0 determines l, which
    is condensed from the derivatives; they are NaN if Newton's method for l does not converge. `c`
    and `part` are those of `invariant_derivatives`.

    Source: docs/formulas/solids.md, section 5.
    Verified by: tests/unit/solids/test_materials.py::test_plane_derivatives
    """
    l: Any = 1.0  # noqa: E741
    if c[ACROSS] == PLANE_STRESS:
        l = _across(np.asarray(a), np.asarray(j), c, part)  # noqa: E741
    psi, pa, pj, pl, paa, paj, pjj, pal, pjl, pll = _in_plane(a, j, l, c, part)
    if c[ACROSS] == PLANE_STRESS:
        paa = paa - pal * pal / pll
        paj = paj - pal * pjl / pll
        pjj = pjj - pjl * pjl / pll
    return psi, pa, pj, paa, paj, pjj, pl, l


def energy_derivatives(d: int, a: Any, i: Any, j: Any, c: Floats, part: int) -> Twelve:
    """Return psi, its derivatives a, j, aa, aj, jj, then i, ai, ii, ij, then psi_l and l.

    Parameters
    ----------
    d : number of components. For d = 2 derivatives by i are zero; for d = 3, psi_l = 0 and l = 1
    a, i, j : |F|^2, second invariant and determinant of the (d, d) deformation gradient
    c, part : table of the material and part of the energy, as in `invariant_derivatives`

    Verified by: tests/unit/solids/elements/test_swept.py::test_tangent_against_differences
    """
    if d < 3:
        psi, pa, pj, paa, paj, pjj, pl, l = plane_derivatives(a, j, c, part)  # noqa: E741
        return psi, pa, pj, paa, paj, pjj, 0.0, 0.0, 0.0, 0.0, pl, l
    psi, pa, pi, pj, paa, pai, paj, pii, pij, pjj = invariant_derivatives(a, i, j, c, part)
    return psi, pa, pj, paa, paj, pjj, pi, pai, pii, pij, 0.0, 1.0


def _across(a: Floats, j: Floats, c: Floats, part: int) -> Floats:
    """Return the out-of-plane stretch l of plane stress, the root of psi_l, by Newton's method."""
    shape = np.broadcast_shapes(a.shape, j.shape)
    a, j = np.broadcast_to(a, shape).ravel(), np.broadcast_to(j, shape).ravel()
    found = np.ones(a.size)
    going = np.arange(a.size)
    for _ in range(_STRETCH_STEPS):
        l = found[going]  # noqa: E741
        _, _, _, pl, *_, pll = _in_plane(a[going], j[going], l, c, part)
        step = np.where(pll > 0.0, pl / pll, np.copysign(0.1 * l, pl))
        # a step at most halves or doubles the stretch, so that it stays positive
        step = np.where(step < -l, -l, np.where(step > 0.5 * l, 0.5 * l, step))
        l = l - step  # noqa: E741
        found[going] = l
        going = going[~(np.abs(step) <= 1e-14 * l)]
        if not going.size:
            break
    found[going] = np.nan
    return found.reshape(shape)


def small_moduli(c: Floats, part: int = ALL) -> tuple[float, float]:
    """Return lam and mu at small strain [Pa], for one part of the energy.

    In plane stress lam is the reduced one, and `part` is ALL.
    """
    kind, lam, mu = c[KIND], c[LAM], c[MU]
    if kind in (MOONEY_RIVLIN, YEOH):
        mu = 2.0 * (c[C1] + (c[C2] if kind == MOONEY_RIVLIN else 0.0))
    if kind in (MOONEY_RIVLIN, YEOH, NEARLY_INCOMPRESSIBLE):
        lam = c[BULK] - 2.0 / 3.0 * mu
    # the isochoric part has no bulk modulus; that of the neo-Hookean law is the term of mu
    isochoric = 0.0 if kind == NEO_HOOKEAN else -2.0 / 3.0 * mu
    if part == SHAPE:
        return isochoric, mu
    if part == VOLUME:
        return lam - isochoric, 0.0
    return (2.0 * lam * mu / (lam + 2.0 * mu) if c[ACROSS] == PLANE_STRESS else lam), mu


def linear_moduli(c: Floats, part: int) -> tuple[float, float]:
    """Return lam and mu of linear elasticity [Pa], for one part of the energy."""
    lam, mu = c[LAM], c[MU]
    if part == SHAPE:
        return -2.0 / 3.0 * mu, mu
    if part == VOLUME:
        return lam + 2.0 / 3.0 * mu, 0.0
    if c[ACROSS] == PLANE_STRESS:
        return 2.0 * lam * mu / (lam + 2.0 * mu), mu
    return lam, mu
