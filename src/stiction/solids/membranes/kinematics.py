"""Deformation, energy and tension of an incompressible Neo-Hookean membrane at its points.

Let N_a be the shape function of node a, x_a its current position, and g_a = (N_a,1, N_a,2) its
derivatives with respect to lengths in the unstretched sheet. Deformation gradient and metric of
the surface are

    F = sum_a x_a g_a^T   (d x m),   C = F^T F,   J^2 = det C,

and as the volume is conserved the stretch across the sheet is 1 / J. Per volume of the sheet

    psi = mu / 2 (tr C + 1 / J^2 - 3),   f_a = mu (F g_a - b_a / J^2),   b_a = F C^-1 g_a,

where f_a is the force on node a, b_a the gradient of N_a along the deformed surface. The tangent,
with the normal n, is

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
    nodes : (e, n)
    gradients : (e, q, n, m) by lengths in the unstretched sheet [1/m]
    start : (e, q, d, m) what F is before anything moves
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
    """Return F at every point, (d, m, e, q)."""
    moved = np.einsum("eqnm,end->dmeq", sheet.gradients, u[sheet.nodes])
    return np.asarray(sheet.start.transpose(2, 3, 0, 1) + moved)


def metric(f: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return C_11, C_12, C_22 and J^2 of F (d, m, ...)."""
    one, two = f[:, 0], f[:, 1]
    a, b, c = ((x * y).sum(axis=0) for x, y in ((one, one), (one, two), (two, two)))
    return a, b, c, a * c - b * b


def energy_of(sheet: Sheet, u: Floats) -> float:
    """Return the strain energy [J]; NaN where an element has shrunk to a line."""
    a, _, c, square = metric(stretched(sheet, u))
    with np.errstate(all="ignore"):
        dense = np.where(square > 0.0, a + c + 1.0 / square - 3.0, np.nan)
    return float(0.5 * sheet.shear * np.sum(sheet.weights * dense))


def principal(sheet: Sheet, u: Floats) -> Floats:
    """Return the principal tensions of the deformed sheet, (2, e, q), the smaller first [N/m].

    Cauchy stress mu (stretch^2 - 1 / J^2) times the thickness T / J that is left.

    Verified by: tests/unit/solids/membranes/test_membrane.py::test_uniaxial_and_pure_shear
    """
    a, b, c, square = metric(stretched(sheet, u))
    middle, apart = 0.5 * (a + c), np.sqrt(0.25 * (a - c) ** 2 + b * b)
    with np.errstate(all="ignore"):
        left = sheet.shear * sheet.thickness / np.sqrt(square)
        found = [left * (s - 1.0 / square) for s in (middle - apart, middle + apart)]
    return np.stack(found)
