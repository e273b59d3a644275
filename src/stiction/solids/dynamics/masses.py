"""Mass matrices of bodies and membranes: consistent, M_ab = int rho N_a N_b dV, or lumped.

rho is the reference density [kg/m^3] and N_a are the shape functions. The matrices couple scalar
functions; `dynamics.problem.MovingProblem`, which calls these functions, repeats them for each
component. Masses of bodies are lumped by scaling the diagonal of each element to its mass, those of
membranes by row sums: shape functions of membranes are positive, and row sums preserve mass and
centre of mass (docs/decisions/27).

Source: Hughes 2000, section 7.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.solids.elements.kinds import Element, kinds_of
from stiction.solids.elements.swept import values_at
from stiction.solids.membranes.model import Membrane
from stiction.solids.mesh.model import Mesh
from stiction.solids.shape_functions.functions import Group, Rule, functions, gradients, rules
from stiction.solids.three_d.model import SweptBody

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["body_mass", "membrane_mass", "swept_mass"]

Floats = npt.NDArray[np.float64]

# integration points along each coordinate of a membrane: exact for products of functions on a flat
# uniform patch; otherwise the error is of sixth order in the size of elements
_POINTS = 4


def _rule(group: Group, degree: int) -> Rule:
    """Return a quadrature rule that is exact for products of two shape functions."""
    if not group.triangle or group.face is not None:
        return rules(group.order, degree, group.triangle, group.face is not None)[0]
    # exact to degree 4; Dunavant 1985
    a, b = 0.445948490915965, 0.091576213509771
    w = np.repeat([0.223381589678011, 0.109951743655322], 3) / 2.0
    r = np.array([a, a, 1.0 - 2.0 * a, b, b, 1.0 - 2.0 * b])
    s = np.array([a, 1.0 - 2.0 * a, a, b, 1.0 - 2.0 * b, b])
    return Rule(r, s, w)


def body_mass(
    mesh: Mesh, element: Element, contact: tuple[str, ...], density: float, lumped: bool
) -> csr_matrix:
    """Return the mass matrix (n, n) of nodes and control points, one for each component [kg/m].

    Parameters
    ----------
    mesh, element, contact : of the body, as for `discretise`
    density : [kg/m^3]
    lumped : diagonal, in each element proportional to the consistent diagonal; masses are positive,
        and their sum is that of the body

    Source: Hughes 2000, section 7.3.2 (lumping by scaling); Hinton, Rock, Zienkiewicz 1976.
    Verified by: tests/unit/solids/dynamics/test_masses.py::test_mass_of_a_body
    """
    from scipy.sparse import coo_matrix, csr_matrix

    groups, points = kinds_of(mesh, element, contact)
    rows, columns, values = [], [], []
    for group in groups:
        rule = _rule(group, element.SPLINE)
        n, _ = functions(group, rule.xi, rule.eta)
        _, volume = gradients(group, points, rule)
        n = np.broadcast_to(n, (volume.shape[0], *n.shape[1:]))
        # element matrices (e, n, n); lumped, their diagonals are scaled to the mass of the element
        block = density * np.einsum("eqa,eqb,eq->eab", n, n, volume)
        count = group.nodes.shape[1]
        if lumped:
            diagonal = np.einsum("eaa->ea", block)
            diagonal = diagonal * (block.sum(axis=(1, 2)) / diagonal.sum(axis=1))[:, None]
            block = np.zeros_like(block)
            corners = np.arange(count)
            block[:, corners, corners] = diagonal
        rows.append(np.repeat(group.nodes, count, axis=1).ravel())
        columns.append(np.tile(group.nodes, (1, count)).ravel())
        values.append(block.ravel())
    triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    size = points.shape[0]
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass


def swept_mass(
    body: SweptBody, contact: tuple[str, ...], density: float, lumped: bool
) -> csr_matrix:
    """Return the mass matrix (n, n) of nodes and control points of a body in space [kg].

    Shape functions are products of those of the plane and those along the axis. Without a map of
    the shape the mass matrix is such a product too.

    Parameters
    ----------
    body : swept body
    contact, density, lumped : as for `body_mass`

    Verified by: tests/unit/solids/dynamics/test_masses.py::test_mass_of_a_body_in_space
    """
    from scipy.sparse import coo_matrix, csr_matrix

    if body.shape is not None:
        return _mass_by_elements(body, contact, density, lumped)
    # product of the mass of the plane body (per length) and that of the splines along the axis
    levels = body.swept(contact).levels
    flat = body_mass(body.mesh, body.element, contact, density, lumped).tocoo()
    rows, columns, values = [], [], []
    gauss, rule = np.polynomial.legendre.leggauss(max(axis.degree for axis in levels.axes) + 1)
    half = 0.5 * np.diff(np.asarray(body.breaks, dtype=np.float64))
    middle = np.asarray(body.breaks)[:-1] + half
    points, weights = (
        (middle[:, None] + np.outer(half, gauss)).ravel(),
        np.outer(half, rule).ravel(),
    )
    functions_at = [axis.matrix(points) for axis in levels.axes]
    for kind, f in enumerate(functions_at):
        for other, g in enumerate(functions_at):
            pairs = (levels.on_spline[flat.row] == bool(kind)) & (
                levels.on_spline[flat.col] == bool(other)
            )
            axial = f.T @ (weights[:, None] * g)
            if lumped:
                axial = np.diag(weights @ f) if kind == other else np.zeros_like(axial)
            k, j = (index.ravel() for index in np.indices(axial.shape))
            rows.append(levels.numbers[flat.row[pairs]][:, k].ravel())
            columns.append(levels.numbers[flat.col[pairs]][:, j].ravel())
            values.append(np.outer(flat.data[pairs], axial.ravel()).ravel())
    triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    size = int(levels.numbers.max()) + 1
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass


def _mass_by_elements(
    body: SweptBody, contact: tuple[str, ...], density: float, lumped: bool
) -> csr_matrix:
    """Return the mass matrix of a body with a mapped shape, element by element."""
    from scipy.sparse import coo_matrix, csr_matrix

    swept, spline = body.swept(contact), body.element.SPLINE
    axial_points = max(axis.degree for axis in swept.levels.axes) + 2
    # a shape curves the elements: Jacobians vary within them
    rows, columns, values = [], [], []
    for nodes, f, volumes in values_at(swept, lambda group: _rule(group, spline + 1), axial_points):
        block = density * np.einsum("eqa,eqb,eq->eab", f, f, volumes)
        count = nodes.shape[1]
        if lumped:
            diagonal = np.einsum("eaa->ea", block)
            diagonal = diagonal * (block.sum(axis=(1, 2)) / diagonal.sum(axis=1))[:, None]
            block = diagonal[:, :, None] * np.eye(count)
        rows.append(np.repeat(nodes, count, axis=1).ravel())
        columns.append(np.tile(nodes, (1, count)).ravel())
        values.append(block.ravel())
    triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    size = swept.points.shape[0]
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass


def membrane_mass(body: Membrane, density: float, lumped: bool) -> csr_matrix:
    """Return the mass matrix (n, n) of the control points of a membrane [kg].

    The mass per unstretched area is density times thickness. The membrane is incompressible: its
    density does not depend on the stretch.

    Parameters
    ----------
    body : the membrane
    density : [kg/m^3]
    lumped : diagonal, by row sums; masses are positive, total and centre of mass are preserved

    Source: Hughes 2000, section 7.3.2 (row sums); docs/decisions/27.
    Verified by: tests/unit/solids/dynamics/test_membranes_move.py::test_mass_of_a_sheet
    """
    from scipy.sparse import coo_matrix, csr_matrix

    gauss, rule = np.polynomial.legendre.leggauss(_POINTS)
    face = body.patch.surface(gauss, rule)
    f = face.functions
    weights = density * body.thickness / float(np.prod(body.prestretch)) * face.areas
    block = np.einsum("eqa,eqb,eq->eab", f, f, weights)
    count = face.nodes.shape[1]
    if lumped:
        block = block.sum(axis=2)[:, :, None] * np.eye(count)
    rows, columns = np.repeat(face.nodes, count, axis=1), np.tile(face.nodes, (1, count))
    size = body.patch.control_points.shape[0]
    triple = (block.ravel(), (rows.ravel(), columns.ravel()))
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass
