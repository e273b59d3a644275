"""Pictures in space: drawn points, with tensions of membranes and stresses of bodies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable
from stiction.solids.arrays import Discretisation
from stiction.solids.elements.assembly import mean_stresses
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.kinematics import metric, principal, stretched
from stiction.solids.space.model import SweptBody

__all__ = ["in_space"]

Floats = npt.NDArray[np.float64]

# what is told of drawn points, and in which unit
_OF_MEMBRANES = (
    ("area_stretch", "1", "area over that of the unstretched sheet"),
    ("tension_least", "tension", "smaller principal tension"),
    ("tension_most", "tension", "larger principal tension"),
)
_AXES = ("xx", "yy", "xy", "zz", "yz", "zx")
_OF_BODIES = (
    *((f"stress_{axes}", "stress", "Cauchy stress") for axes in _AXES),
    ("stress_trace", "stress", "first invariant of the Cauchy stress"),
)


def in_space(
    problem: Problem, taken: list[tuple[float, Floats]], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots (time, displacements) of bodies and membranes.

    What only bodies have is no number at points of membranes, and the other way round.

    Verified by: tests/unit/solids/membranes/test_tape.py::test_pictures_of_a_tape
    """
    cells, bodies, outline, shift = [], [], [], 0
    for number, part in enumerate(problem.parts, 1):
        n = part.picture.matrix.shape[0]
        cells.append(part.picture.quads + shift)
        outline.append(part.picture.edge + shift)
        bodies.append(np.full(n, number))
        shift += n
    places = np.array([_places(problem, u) for _, u in taken])
    dims, length = ("snapshot", "drawn"), units["length"]
    found = {
        "snapshot_time": Variable(np.array([t for t, _ in taken]), ("snapshot",), "1", "time"),
        "drawn_position": Variable(places, (*dims, "axis"), length, "drawn points"),
        "drawn_cell": Variable(np.concatenate(cells), ("cell", "corner"), "1", "drawn points"),
        "drawn_outline": Variable(np.concatenate(outline), ("piece", "end"), "1", "drawn points"),
        "body_of_drawn": Variable(np.concatenate(bodies), ("drawn",), "1", "number of the body"),
    }
    solid = [isinstance(body, SweptBody) for body in problem.assembled.bodies]
    for kind, told in ((True, _OF_BODIES), (False, _OF_MEMBRANES)):
        if kind in solid:
            values = np.array([_told(problem, u, kind, len(told)) for _, u in taken])
            for k, (name, unit, meaning) in enumerate(told):
                found[name] = Variable(values[..., k], dims, units[unit], meaning)
    return found


def _places(problem: Problem, u: Floats) -> Floats:
    made = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        n = part.points.shape[0]
        made.append(part.picture.matrix @ (part.points + u[first : first + n]))
    return np.concatenate(made)


def _told(problem: Problem, u: Floats, kind: bool, size: int) -> Floats:
    """Return what is told of bodies, or of membranes, at drawn points, (drawn, size)."""
    made = []
    for k, part in enumerate(problem.parts):
        body, first = problem.assembled.bodies[k], int(problem.first[k])
        total = np.zeros((part.picture.matrix.shape[0], size))
        if isinstance(body, SweptBody) is not kind:
            made.append(np.full_like(total, np.nan))
            continue
        here = np.ascontiguousarray(u[first : first + part.points.shape[0]])
        count = np.zeros(total.shape[0])
        found = _of_body(body, part, here) if isinstance(body, SweptBody) else _of(part, here)
        for number, means in enumerate(found):
            mine = part.picture.owner[:, 0] == number
            cells, owner = part.picture.quads[mine], part.picture.owner[mine, 1]
            for corner in range(cells.shape[1]):
                np.add.at(total, cells[:, corner], means[owner])
                np.add.at(count, cells[:, corner], 1.0)
        made.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(made)


def _of_body(body: SweptBody, part: Discretisation, here: Floats) -> list[Floats]:
    """Return stresses and their trace of the elements of every block, (e, 7)."""
    table, made = body.material.table(), []
    for block in part.blocks:
        stress = mean_stresses(block, here, table)
        trace = stress[:, [0, 1, 3]].sum(axis=1, keepdims=True)
        made.append(np.concatenate([stress, trace], axis=1))
    return made


def _of(part: Discretisation, here: Floats) -> list[Floats]:
    """Return stretch of area and principal tensions of the elements of every sheet, (e, 3)."""
    made = []
    for sheet in part.sheets:
        square = metric(stretched(sheet, here))[-1]
        three = np.stack([np.sqrt(square), *principal(sheet, here)])
        share = sheet.weights / sheet.weights.sum(axis=1, keepdims=True)
        made.append(np.einsum("keq,eq->ek", three, share))
    return made
