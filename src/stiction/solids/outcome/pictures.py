"""Snapshots as run variables: positions, stresses and membrane tensions at drawn points.

A snapshot is a time and displacements (nodes, d). Drawn points are linear combinations of nodal
positions (`arrays.Picture`); fields at them are means of the adjacent drawn cells, which have the
mean values of their elements. `outcome.run` calls `snapshot_variables`. In shapes, s is the number
of snapshots.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable
from stiction.solids.arrays import Discretisation
from stiction.solids.elements.assembly import mean_stresses
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.kinematics import metric, principal, stretched
from stiction.solids.model import Body
from stiction.solids.three_d.model import SweptBody

__all__ = ["snapshot_variables"]

Floats = npt.NDArray[np.float64]
Snapshots = list[tuple[float, Floats]]

_PLANE = 2
# fields at drawn points: name, kind of unit, meaning
_MEMBRANE_FIELDS = (
    ("area_stretch", "1", "area over that of the unstretched membrane"),
    ("tension_least", "tension", "smaller principal tension"),
    ("tension_most", "tension", "larger principal tension"),
)
_AXES = ("xx", "yy", "xy", "zz", "yz", "zx")
_BODY_FIELDS = (
    *((f"stress_{axes}", "stress", "Cauchy stress") for axes in _AXES),
    ("stress_trace", "stress", "first invariant of the Cauchy stress"),
)


def snapshot_variables(
    problem: Problem, snapshots: Snapshots, units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots.

    In three dimensions fields of bodies are NaN at points of membranes, and vice versa.

    Parameters
    ----------
    problem : the discrete equations
    snapshots : time and displacements (nodes, d) [m] of each
    units : unit of each kind of quantity

    Verified by: tests/unit/solids/membranes/test_tape.py::test_pictures_of_a_tape
    """
    if not snapshots:
        return {}
    # drawn points of all bodies in one numbering
    cells, bodies, outline, first_point = [], [], [], 0
    for number, part in enumerate(problem.parts, 1):
        n = part.picture.matrix.shape[0]
        cells.append(part.picture.quads + first_point)
        outline.append(part.picture.edge + first_point)
        bodies.append(np.full(n, number))
        first_point += n
    positions = np.array([_drawn_positions(problem, u) for _, u in snapshots])
    dims, length = ("snapshot", "drawn"), units["length"]
    variables = {
        "snapshot_time": Variable(
            np.array([t for t, _ in snapshots]), ("snapshot",), units["time"], "time"
        ),
        "drawn_position": Variable(positions, (*dims, "axis"), length, "positions of drawn points"),
        "drawn_cell": Variable(
            np.concatenate(cells), ("cell", "corner"), "1", "drawn points at the corners of a cell"
        ),
        "drawn_outline": Variable(
            np.concatenate(outline), ("piece", "end"), "1", "drawn points at the ends of a line"
        ),
        "body_of_drawn": Variable(np.concatenate(bodies), ("drawn",), "1", "number of the body"),
    }
    fields = _plane_fields if problem.dim == _PLANE else _fields_in_space
    for (name, unit, meaning), values in fields(problem, snapshots):
        variables[name] = Variable(values, dims, units[unit], meaning)
    rigid = _rigid_outline(problem, snapshots) if problem.dim == _PLANE else None
    if rigid is not None:
        meaning = "outline of the rigid partner; several are separated by NaN"
        axes = ("snapshot", "outline")
        variables["rigid_x"] = Variable(rigid[..., 0], axes, length, meaning)
        variables["rigid_y"] = Variable(rigid[..., 1], axes, length, meaning)
    return variables


def _drawn_positions(problem: Problem, u: Floats) -> Floats:
    """Return the places of the drawn points, (drawn, d)."""
    positions = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        n = part.points.shape[0]
        positions.append(part.picture.matrix @ (part.points + u[first : first + n]))
    return np.concatenate(positions)


def _plane_fields(
    problem: Problem, snapshots: Snapshots
) -> list[tuple[tuple[str, str, str], Floats]]:
    """Return names and values (s, drawn) of the stresses of plane bodies."""
    # columns xx, yy, xy, zz
    stress = np.array([_fields(problem, u, True, 4) for _, u in snapshots])
    trace = stress[..., [0, 1, 3]].sum(axis=-1)
    values = [stress[..., k] for k in range(3)]
    return list(zip((*_BODY_FIELDS[:3], _BODY_FIELDS[-1]), (*values, trace), strict=True))


def _fields_in_space(
    problem: Problem, snapshots: Snapshots
) -> list[tuple[tuple[str, str, str], Floats]]:
    """Return names and values (s, drawn) of the fields of bodies and of membranes."""
    solid, found = [isinstance(body, SweptBody) for body in problem.assembled.bodies], []
    for is_body, fields in ((True, _BODY_FIELDS), (False, _MEMBRANE_FIELDS)):
        if is_body in solid:
            values = np.array([_fields(problem, u, is_body, len(fields)) for _, u in snapshots])
            found += [(field, values[..., k]) for k, field in enumerate(fields)]
    return found


def _fields(problem: Problem, u: Floats, bodies: bool, size: int) -> Floats:
    """Return the fields of bodies, or of membranes, at drawn points, (drawn, size).

    They are means of the adjacent cells.
    """
    fields = []
    for part, body, first in zip(
        problem.parts, problem.assembled.bodies, problem.first, strict=False
    ):
        total = np.zeros((part.picture.matrix.shape[0], size))
        if isinstance(body, Body | SweptBody) is not bodies:
            fields.append(np.full_like(total, np.nan))
            continue
        displacements = np.ascontiguousarray(u[first : first + part.points.shape[0]])
        count = np.zeros(total.shape[0])
        blocks = (
            _body_fields(body, part, displacements)
            if isinstance(body, Body | SweptBody)
            else _membrane_fields(part, displacements)
        )
        # the value of each element is added to the corners of its drawn cells
        for number, means in enumerate(blocks):
            in_block = part.picture.owner[:, 0] == number
            cells, owner = part.picture.quads[in_block], part.picture.owner[in_block, 1]
            for corner in range(cells.shape[1]):
                np.add.at(total, cells[:, corner], means[owner])
                np.add.at(count, cells[:, corner], 1.0)
        fields.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(fields)


def _body_fields(
    body: Body | SweptBody, part: Discretisation, displacements: Floats
) -> list[Floats]:
    """Return stresses of the elements of every block, (e, 4); in space with their trace, (e, 7)."""
    if isinstance(body, Body):
        table = body.material.table(body.plane_stress)
        return [mean_stresses(block, displacements, table) for block in part.blocks]
    table, fields = body.material.table(), []
    for block in part.blocks:
        stress = mean_stresses(block, displacements, table)
        trace = stress[:, [0, 1, 3]].sum(axis=1, keepdims=True)
        fields.append(np.concatenate([stress, trace], axis=1))
    return fields


def _membrane_fields(part: Discretisation, displacements: Floats) -> list[Floats]:
    """Return stretch of area and principal tensions of the elements of every sheet, (e, 3)."""
    fields = []
    for sheet in part.sheets:
        square = metric(stretched(sheet, displacements))[-1]
        values = np.stack([np.sqrt(square), *principal(sheet, displacements)])
        weights = sheet.weights / sheet.weights.sum(axis=1, keepdims=True)
        fields.append(np.einsum("keq,eq->ek", values, weights))
    return fields


def _rigid_outline(problem: Problem, snapshots: Snapshots) -> Floats | None:
    """Return the outlines of rigid partners at every snapshot, (s, k, 2), with NaN in between."""
    if not problem.rigid_node:
        return None
    half_length = 0.6 * float(np.ptp(problem.points, axis=0).max())
    middle = problem.points[: int(problem.first[-1])].mean(axis=0)
    outlines: list[Floats] = []
    for number, node in problem.rigid_node.items():
        shape = problem.assembled.pairs[number].partner
        outline = shape.outline(half_length)  # type: ignore[attr-defined]
        if outline.shape[0] == 2:
            # the line of a rigid plane is centred at the bodies
            tangent = (outline[1] - outline[0]) / np.linalg.norm(outline[1] - outline[0])
            outline = outline + tangent * float((middle - outline.mean(axis=0)) @ tangent)
        outlines.append(np.array([outline + u[node] for _, u in snapshots]))
        outlines.append(np.full((len(snapshots), 1, 2), np.nan))
    return np.concatenate(outlines[:-1], axis=1)
