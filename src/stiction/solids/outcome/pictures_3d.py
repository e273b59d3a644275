"""Snapshots in three dimensions: positions, membrane tensions and stresses at drawn points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable
from stiction.solids.arrays import Discretisation
from stiction.solids.elements.assembly import mean_stresses
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.kinematics import metric, principal, stretched
from stiction.solids.three_d.model import SweptBody

__all__ = ["drawn_positions", "snapshot_variables_3d"]

Floats = npt.NDArray[np.float64]

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


def snapshot_variables_3d(
    problem: Problem, snapshots: list[tuple[float, Floats]], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots of bodies and membranes.

    Fields of bodies are NaN at points of membranes, and vice versa.

    Parameters
    ----------
    problem : the discrete equations
    snapshots : time and displacements (nodes, 3) [m] of each
    units : unit of each kind of quantity

    Verified by: tests/unit/solids/membranes/test_tape.py::test_pictures_of_a_tape
    """
    cells, bodies, outline, first_point = [], [], [], 0
    for number, part in enumerate(problem.parts, 1):
        n = part.picture.matrix.shape[0]
        cells.append(part.picture.quads + first_point)
        outline.append(part.picture.edge + first_point)
        bodies.append(np.full(n, number))
        first_point += n
    positions = np.array([drawn_positions(problem, u) for _, u in snapshots])
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
    solid = [isinstance(body, SweptBody) for body in problem.assembled.bodies]
    for is_body, fields in ((True, _BODY_FIELDS), (False, _MEMBRANE_FIELDS)):
        if is_body in solid:
            values = np.array([_fields(problem, u, is_body, len(fields)) for _, u in snapshots])
            for k, (name, unit, meaning) in enumerate(fields):
                variables[name] = Variable(values[..., k], dims, units[unit], meaning)
    return variables


def drawn_positions(problem: Problem, u: Floats) -> Floats:
    """Return the places of the drawn points, (drawn, d)."""
    positions = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        n = part.points.shape[0]
        positions.append(part.picture.matrix @ (part.points + u[first : first + n]))
    return np.concatenate(positions)


def _fields(problem: Problem, u: Floats, bodies: bool, size: int) -> Floats:
    """Return the fields of bodies, or of membranes, at drawn points, (drawn, size)."""
    fields = []
    for k, part in enumerate(problem.parts):
        body, first = problem.assembled.bodies[k], int(problem.first[k])
        total = np.zeros((part.picture.matrix.shape[0], size))
        if isinstance(body, SweptBody) is not bodies:
            fields.append(np.full_like(total, np.nan))
            continue
        displacements = np.ascontiguousarray(u[first : first + part.points.shape[0]])
        count = np.zeros(total.shape[0])
        blocks = (
            _body_fields(body, part, displacements)
            if isinstance(body, SweptBody)
            else _membrane_fields(part, displacements)
        )
        for number, means in enumerate(blocks):
            in_block = part.picture.owner[:, 0] == number
            cells, owner = part.picture.quads[in_block], part.picture.owner[in_block, 1]
            for corner in range(cells.shape[1]):
                np.add.at(total, cells[:, corner], means[owner])
                np.add.at(count, cells[:, corner], 1.0)
        fields.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(fields)


def _body_fields(body: SweptBody, part: Discretisation, displacements: Floats) -> list[Floats]:
    """Return stresses and their trace of the elements of every block, (e, 7)."""
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
