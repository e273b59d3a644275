"""Deformation, energy and tension of an incompressible Neo-Hookean membrane at its points.

Let N_a be the shape function of node a, x_a the current position of the node, and
g_a = (N_a,1, N_a,2) the derivatives of N_a by lengths in the unstretched sheet. Deformation
gradient and metric of the surface are

    F = sum_a x_a g_a^T   (d x m, d = 3, m = 2),   C = F^T F,   J^2 = det C.

Since volume is conserved, the stretch of the thickness is 1 / J. Energy and internal force on node
a, per unit volume of the unstretched sheet, are

    psi = mu / 2 (tr C + 1 / J^2 - 3),   f_a = mu (F g_a - b_a / J^2),   b_a = F C^-1 g_a,

with the gradient b_a of N_a along the deformed surface. The tangent, with the unit normal n, is

    K_ab = mu [g_a . g_b 1 + (2 b_a b_b^T + b_b b_a^T - b_a . b_b n n^T) / J^2].

Source: Sauer, Duong, Corbett 2014, sections 2.4 and 4; derived in docs/theory/membranes.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Sheet", "energy_of", "metric", "principal", "stretched"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Sheet(NamedTuple):
    """The elements of a membrane: e elements, n functions, q points, m = 2 coordinates.

    Parameters
    ----------
    nodes : (e, n) control points
    gradients : (e, q, n, m) g_a [1/m]
    start : (e, q, d, m) F at zero displacement, the prestretch [1]
    weights : (e, q) volume of the unstretched sheet at each point [m^3]
    shear : modulus mu [Pa]
    thickness : of the unstretched sheet [m]
    """

    nodes: Ints
    gradients: Floats
    start: Floats
    weights: Floats
    shear: float
    thickness: float


def stretched(sheet: Sheet, u: Floats) -> Floats:
    """Return F at every point, (d, m, e, q), from displacements u (nodes, d) [m]."""
    displacement_gradient = np.einsum("eqnm,end->dmeq", sheet.gradients, u[sheet.nodes])
    return np.asarray(sheet.start.transpose(2, 3, 0, 1) + displacement_gradient)


def metric(f: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return C_11, C_12, C_22 and J^2 of F (d, m, ...)."""
    one, two = f[:, 0], f[:, 1]
    c11, c12, c22 = ((x * y).sum(axis=0) for x, y in ((one, one), (one, two), (two, two)))
    return c11, c12, c22, c11 * c22 - c12 * c12


def energy_of(sheet: Sheet, u: Floats) -> float:
    """Return the strain energy [J]; NaN if an element has degenerated to a line."""
    c11, _, c22, square = metric(stretched(sheet, u))
    with np.errstate(all="ignore"):
        density = np.where(square > 0.0, c11 + c22 + 1.0 / square - 3.0, np.nan)
    return float(0.5 * sheet.shear * np.sum(sheet.weights * density))


def principal(sheet: Sheet, u: Floats) -> Floats:
    """Return the principal tensions of the deformed sheet, (2, e, q), the smaller first [N/m].

    They are the Cauchy stress mu (stretch^2 - 1 / J^2) times the current thickness T / J.

    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear
    """
    c11, c12, c22, square = metric(stretched(sheet, u))
    # eigenvalues of C, the squares of the principal stretches
    mean, radius = 0.5 * (c11 + c22), np.sqrt(0.25 * (c11 - c22) ** 2 + c12 * c12)
    with np.errstate(all="ignore"):
        factor = sheet.shear * sheet.thickness / np.sqrt(square)
        tensions = [factor * (s - 1.0 / square) for s in (mean - radius, mean + radius)]
    return np.stack(tensions)
