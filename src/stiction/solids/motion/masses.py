"""Mass matrices of bodies and membranes: consistent or lumped.

Bodies are lumped by scaling the diagonal, membranes by summing rows: their functions are positive
and the sum of their control points with masses is the centre of mass (docs/decisions/27).
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
from stiction.solids.space.model import SweptBody

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["body_mass", "membrane_mass", "swept_mass"]

Floats = npt.NDArray[np.float64]

# points along each coordinate of a membrane: exact for products of functions where it is flat
# and even, and to the sixth power of elements where it is not
_POINTS = 4


def _rule(group: Group, degree: int) -> Rule:
    """Return points at which products of two functions are integrated exactly."""
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
    """Return the mass (n, n) of nodes and control points, the same for both components [kg/m].

    Parameters
    ----------
    mesh, element, contact : of the body, as `discretise` takes them
    density : [kg/m^3]
    lumped : diagonal, in each element in proportion to the consistent diagonal; masses are
        positive and their sum is that of the body

    Source: Hughes 2000, section 7.3.2 (lumping by scaling); Hinton, Rock, Zienkiewicz 1976.
    Verified by: tests/unit/solids/motion/test_masses.py::test_mass_of_a_body
    """
    from scipy.sparse import coo_matrix, csr_matrix

    made, points = kinds_of(mesh, element, contact)
    rows, columns, values = [], [], []
    for group in made:
        rule = _rule(group, element.SPLINE)
        n, _ = functions(group, rule.xi, rule.eta)
        _, volume = gradients(group, points, rule)
        n = np.broadcast_to(n, (volume.shape[0], *n.shape[1:]))
        block = density * np.einsum("eqa,eqb,eq->eab", n, n, volume)
        count = group.nodes.shape[1]
        if lumped:
            own = np.einsum("eaa->ea", block)
            own = own * (block.sum(axis=(1, 2)) / own.sum(axis=1))[:, None]
            block = np.zeros_like(block)
            at = np.arange(count)
            block[:, at, at] = own
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
    """Return the mass (n, n) of nodes and control points of a body in space [kg].

    Functions are products of those of the plane and along the axis, and so is the mass where no
    shape moves the body.

    Parameters
    ----------
    body : swept
    contact, density, lumped : as `body_mass` takes them

    Verified by: tests/unit/solids/motion/test_masses.py::test_mass_of_a_body_in_space
    """
    from scipy.sparse import coo_matrix, csr_matrix

    if body.shape is not None:
        return _shaped_mass(body, contact, density, lumped)
    levels = body.swept(contact).levels
    flat = body_mass(body.mesh, body.element, contact, density, lumped).tocoo()
    rows, columns, values = [], [], []
    gauss, rule = np.polynomial.legendre.leggauss(max(axis.degree for axis in levels.axes) + 1)
    half = 0.5 * np.diff(np.asarray(body.breaks, dtype=np.float64))
    middle = np.asarray(body.breaks)[:-1] + half
    at, weights = (middle[:, None] + np.outer(half, gauss)).ravel(), np.outer(half, rule).ravel()
    known = [axis.matrix(at) for axis in levels.axes]
    for one, f in enumerate(known):
        for other, g in enumerate(known):
            here = (levels.on_spline[flat.row] == bool(one)) & (
                levels.on_spline[flat.col] == bool(other)
            )
            along = f.T @ (weights[:, None] * g)
            if lumped:
                along = np.diag(weights @ f) if one == other else np.zeros_like(along)
            k, j = (part.ravel() for part in np.indices(along.shape))
            rows.append(levels.numbers[flat.row[here]][:, k].ravel())
            columns.append(levels.numbers[flat.col[here]][:, j].ravel())
            values.append(np.outer(flat.data[here], along.ravel()).ravel())
    triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    size = int(levels.numbers.max()) + 1
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass


def _shaped_mass(
    body: SweptBody, contact: tuple[str, ...], density: float, lumped: bool
) -> csr_matrix:
    """Return the mass of a body whose volumes are no products: element by element."""
    from scipy.sparse import coo_matrix, csr_matrix

    swept, spline = body.swept(contact), body.element.SPLINE
    along = max(axis.degree for axis in swept.levels.axes) + 2
    # a moved place bends the element: volumes vary inside it
    rows, columns, values = [], [], []
    for nodes, f, volumes in values_at(swept, lambda group: _rule(group, spline + 1), along):
        block = density * np.einsum("eqa,eqb,eq->eab", f, f, volumes)
        count = nodes.shape[1]
        if lumped:
            own = np.einsum("eaa->ea", block)
            own = own * (block.sum(axis=(1, 2)) / own.sum(axis=1))[:, None]
            block = own[:, :, None] * np.eye(count)
        rows.append(np.repeat(nodes, count, axis=1).ravel())
        columns.append(np.tile(nodes, (1, count)).ravel())
        values.append(block.ravel())
    triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    size = swept.points.shape[0]
    mass = csr_matrix(coo_matrix(triple, shape=(size, size)))
    mass.eliminate_zeros()
    return mass


def membrane_mass(body: Membrane, density: float, lumped: bool) -> csr_matrix:
    """Return the mass (n, n) of the control points of a membrane [kg].

    It is that of the unstretched sheet, density times thickness per unstretched area; volume is
    kept, so that density is the same at any stretch.

    Parameters
    ----------
    body : the membrane
    density : [kg/m^3]
    lumped : diagonal, the sum of each row; functions are positive, so that masses are, and total
        and centre of mass stay what they were

    Source: Hughes 2000, section 7.3.2 (row sums); docs/decisions/27.
    Verified by: tests/unit/solids/motion/test_membranes_move.py::test_mass_of_a_sheet
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
