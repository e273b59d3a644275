"""Elements in Bezier form, to prove that their Jacobians are positive everywhere.

Positions in an element are polynomials of its coordinates, or rational functions in layers with
`exact_arc`. Their Bezier control points are constant linear combinations of the nodes, in the
reference state and in every deformed one: control points = `Hull.matrix` @ positions. A triangle is
a square whose edge eta = 1 collapses to a corner. `jacobians.least_jacobians` bounds the Jacobian
of these forms (Johnen, Remacle, Geuzaine 2013). `elements.kinds.discretise` and `elements.swept`
refuse folded reference elements with it; `equilibria.problem` checks deformed states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.bsplines import bernstein
from stiction.solids.shape_functions.functions import Group, functions
from stiction.solids.shape_functions.jacobians import Bezier, coefficients_from, least_jacobians

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = [
    "Hull",
    "bezier_form",
    "hull_of",
    "least_of",
    "refuse_folded",
    "refuse_folded_cells",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# coefficients below this are rounding
_NOTHING = 1e-12
# ratio of smallest to largest Jacobian below which a cell is flat up to rounding
_FLAT = 1e-10


class Hull(NamedTuple):
    """Elements of one kind in Bezier form; see `jacobians.Bezier`.

    Parameters
    ----------
    matrix : (B e, n) from nodal positions to control points; those of an element are e rows apart
    degrees : along each coordinate
    weights : (e, p + 1) of the denominator, or None
    collapsed : whether they are triangles
    cells : (e,) of the mesh
    """

    matrix: csr_matrix
    degrees: tuple[int, ...]
    weights: Floats | None
    collapsed: bool
    cells: Ints

    def least(self, places: Floats) -> Floats:
        """Return the least over the largest Jacobian of every element (e,) at positions (n, d)."""
        controls = self.matrix @ (places - places.mean(axis=0))
        controls = controls.reshape(-1, self.cells.size, places.shape[1])
        return least_jacobians(Bezier(controls, self.degrees, self.weights, self.collapsed))


def bezier_form(group: Group) -> tuple[Floats, tuple[int, int], Floats | None]:
    """Return control points by nodes (e or 1, B, n), degrees, and coefficients of denominators.

    Verified by: tests/unit/solids/elements/test_hulls.py::test_control_points_make_the_elements
    """
    # functions at interpolation sites of the coordinates, then the matrix to Bernstein coefficients
    along, weights = group.order, None
    if group.face is not None:
        extraction, rational_weights = group.face
        along = max(along, extraction.shape[2] - 1)
        if not (rational_weights == 1.0).all():
            # numerators: rational functions times their denominator, a polynomial of xi
            weights = np.matmul(rational_weights[:, None], extraction)[:, 0]
            along = group.order + extraction.shape[2] - 1
    (x, to_x), (y, to_y) = coefficients_from(along), coefficients_from(group.order)
    xi, eta = np.tile(x, y.size), np.repeat(y, x.size)
    if group.triangle and group.face is None:
        xi, eta = 0.25 * (1.0 + xi) * (1.0 - eta), 0.5 * (1.0 + eta)
    f, _ = functions(group, xi, eta)
    if weights is not None:
        f = f * (weights @ bernstein(weights.shape[1] - 1, np.tile(x, y.size))[0].T)[..., None]
    table = np.matmul(np.kron(to_y, to_x), f)
    return np.where(np.abs(table) < _NOTHING, 0.0, table), (along, group.order), weights


def hull_of(
    nodes: Ints,
    table: Floats,
    degrees: tuple[int, ...],
    weights: Floats | None,
    collapsed: bool,
    cells: Ints,
    count: int,
) -> Hull:
    """Return elements in Bezier form.

    Parameters
    ----------
    nodes : (e, n) nodes of the elements
    table : (e or 1, B, n) coefficients of the control points by nodes
    degrees, weights, collapsed : as in `jacobians.Bezier`
    cells : (e,) numbers of the cells of the mesh
    count : number of nodes of the body
    """
    from scipy.sparse import coo_matrix

    e, size = nodes.shape[0], table.shape[1]
    element, row, column = np.nonzero(table)
    values = table[element, row, column]
    if table.shape[0] < e:
        # all elements have the same table
        element = np.repeat(np.arange(e), values.size)
        row, column, values = np.tile(row, e), np.tile(column, e), np.tile(values, e)
    at = row * e + element, nodes[element, column]
    matrix = coo_matrix((values, at), shape=(e * size, count)).tocsr()
    return Hull(matrix, degrees, weights, collapsed, cells)


def least_of(hulls: Sequence[Hull], places: Floats) -> float:
    """Return the smallest ratio of minimum to maximum Jacobian of all elements; 1 without any."""
    return min((float(hull.least(places).min(initial=1.0)) for hull in hulls), default=1.0)


def refuse_folded(hulls: Sequence[Hull], points: Floats) -> None:
    """Refuse elements whose Jacobian is not positive everywhere.

    Raises
    ------
    ModelError : if the Jacobian of one cannot be proved positive by subdivision.

    Verified by: tests/unit/solids/elements/test_hulls.py::test_folded_cells_are_refused
    """
    for hull in hulls:
        # control points of rational elements are weighted: positions are divided by the weights
        x = (hull.matrix @ points).reshape(-1, hull.cells.size, points.shape[1]).mean(axis=0)
        if hull.weights is not None:
            x = x / hull.weights.mean(axis=1, keepdims=True)
        refuse(hull.least(points), hull.cells, x)


def refuse_folded_cells(points: Floats, cells: Ints) -> None:
    """Refuse cells (c, 9) of second order whose Jacobian is not positive everywhere.

    Raises
    ------
    ModelError : if the Jacobian of one cannot be proved positive by subdivision.

    Verified by: tests/unit/solids/elements/test_hulls.py::test_folded_cells_are_refused
    """
    centred = points - points.mean(axis=0)
    for triangle, columns in ((False, slice(None)), (True, [0, 1, 2, 4, 5, 6])):
        chosen = np.flatnonzero((cells[:, 3] < 0) == triangle)
        if chosen.size:
            nodes = cells[chosen][:, columns]
            table, degrees, _ = bezier_form(Group(2, triangle, chosen, nodes, None, None, None))
            controls = np.tensordot(table[0], centred[nodes], axes=([1], [1]))
            form = Bezier(controls, degrees, collapsed=triangle)
            refuse(least_jacobians(form), chosen, points[nodes].mean(axis=1))


def refuse(least: Floats, cells: Ints, places: Floats) -> None:
    """Refuse elements whose smallest Jacobian over the largest is not positive.

    Parameters
    ----------
    least, cells : (e,) this ratio, and cells of the mesh
    places : (e, d) approximate positions, for the message [m]
    """
    good = least > _FLAT
    if good.all():
        return
    worst = int(np.argmin(least))
    where = ", ".join(f"{value:.6g}" for value in places[worst])
    count = int((~good).sum())
    got = f"{count} folded, inverted or flat cells, the worst is number {int(cells[worst])} "
    got += f"near ({where})"
    why = (
        "the Jacobian of such a cell is not positive everywhere: the cell maps two points to "
        "one place."
    )
    needs = "cells whose nodes run counter-clockwise, with corners below 180 degrees"
    try_ = "move mid-nodes towards the middles of edges, reverse the nodes, or refine the mesh."
    raise ModelError("Mesh.cells", got, needs, why, try_)
