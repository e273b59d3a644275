"""Pictures of membranes: drawn points, stretch of area and tensions averaged where cells meet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.results.run import Variable
from stiction.solids.equilibria.problem import Problem
from stiction.solids.membranes.kinematics import metric, principal, stretched

__all__ = ["in_space"]

Floats = npt.NDArray[np.float64]


def in_space(
    problem: Problem, taken: list[tuple[float, Floats]], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots (time, displacements) of membranes.

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
    told = np.array([_told(problem, u) for _, u in taken])
    dims, length, tension = ("snapshot", "drawn"), units["length"], units["tension"]
    return {
        "snapshot_time": Variable(np.array([t for t, _ in taken]), ("snapshot",), "1", "time"),
        "drawn_position": Variable(places, (*dims, "axis"), length, "drawn points"),
        "area_stretch": Variable(
            told[..., 0], dims, "1", "area over that of the unstretched sheet"
        ),
        "tension_least": Variable(told[..., 1], dims, tension, "smaller principal tension"),
        "tension_most": Variable(told[..., 2], dims, tension, "larger principal tension"),
        "drawn_cell": Variable(np.concatenate(cells), ("cell", "corner"), "1", "drawn points"),
        "drawn_outline": Variable(np.concatenate(outline), ("piece", "end"), "1", "drawn points"),
        "body_of_drawn": Variable(np.concatenate(bodies), ("drawn",), "1", "number of the body"),
    }


def _places(problem: Problem, u: Floats) -> Floats:
    made = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        n = part.points.shape[0]
        made.append(part.picture.matrix @ (part.points + u[first : first + n]))
    return np.concatenate(made)


def _told(problem: Problem, u: Floats) -> Floats:
    """Return stretch of area and principal tensions at drawn points, (drawn, 3)."""
    made = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        here = np.ascontiguousarray(u[first : first + part.points.shape[0]])
        total = np.zeros((part.picture.matrix.shape[0], 3))
        count = np.zeros(total.shape[0])
        for sheet in part.sheets:
            square = metric(stretched(sheet, here))[-1]
            three = np.stack([np.sqrt(square), *principal(sheet, here)])
            share = sheet.weights / sheet.weights.sum(axis=1, keepdims=True)
            mean = np.einsum("keq,eq->ek", three, share)[part.picture.owner[:, 1]]
            for corner in range(part.picture.quads.shape[1]):
                np.add.at(total, part.picture.quads[:, corner], mean)
                np.add.at(count, part.picture.quads[:, corner], 1.0)
        made.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(made)
