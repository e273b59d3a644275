"""Pictures of deformed bodies: drawn points, and Cauchy stress averaged where cells meet."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable
from stiction.solids.equilibria.problem import Problem
from stiction.solids.model import Body
from stiction.solids.outcome.pictures_in_space import in_space

__all__ = ["pictures"]

Floats = npt.NDArray[np.float64]

_PLANE = 2


def pictures(
    problem: Problem, taken: list[tuple[float, Floats]], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots (time, displacements)."""
    if not taken:
        return {}
    if problem.dim > _PLANE:
        return in_space(problem, taken, units)
    parts = problem.parts
    cells, bodies, outline, shift = [], [], [], 0
    for number, part in enumerate(parts, 1):
        n = part.picture.matrix.shape[0]
        cells.append(part.picture.quads + shift)
        outline.append(part.picture.edge + shift)
        bodies.append(np.full(n, number))
        shift += n
    places, stresses = [], []
    for _, u in taken:
        places.append(_places(problem, u))
        stresses.append(_stress(problem, u))
    stress = np.array(stresses)
    dims = ("snapshot", "drawn")
    s, length = units["stress"], units["length"]
    found = {
        "snapshot_time": Variable(np.array([t for t, _ in taken]), ("snapshot",), "1", "time"),
        "drawn_position": Variable(np.array(places), (*dims, "axis"), length, "drawn points"),
        "stress_xx": Variable(stress[..., 0], dims, s, "Cauchy stress"),
        "stress_yy": Variable(stress[..., 1], dims, s, "Cauchy stress"),
        "stress_xy": Variable(stress[..., 2], dims, s, "Cauchy stress"),
        "stress_trace": Variable(
            stress[..., [0, 1, 3]].sum(axis=-1), dims, s, "first invariant of the Cauchy stress"
        ),
        "drawn_cell": Variable(np.concatenate(cells), ("cell", "corner"), "1", "drawn points"),
        "drawn_outline": Variable(np.concatenate(outline), ("piece", "end"), "1", "drawn points"),
        "body_of_drawn": Variable(np.concatenate(bodies), ("drawn",), "1", "number of the body"),
    }
    rigid = _rigid_outline(problem, taken)
    if rigid is not None:
        meaning = "outline of the rigid partner"
        axes = ("snapshot", "outline")
        found["rigid_x"] = Variable(rigid[..., 0], axes, length, meaning)
        found["rigid_y"] = Variable(rigid[..., 1], axes, length, meaning)
    return found


def _places(problem: Problem, u: Floats) -> Floats:
    made = []
    for part, first in zip(problem.parts, problem.first, strict=False):
        n = part.points.shape[0]
        made.append(part.picture.matrix @ (part.points + u[first : first + n]))
    return np.concatenate(made)


def _stress(problem: Problem, u: Floats) -> Floats:
    """Return stress xx, yy, xy, zz at drawn points: means of the cells that meet there."""
    from stiction.solids.elements.assembly import mean_stresses

    made = []
    for part, body, first in zip(
        problem.parts, problem.assembled.bodies, problem.first, strict=False
    ):
        assert isinstance(body, Body)
        table = body.material.table(body.plane_stress)
        n = part.points.shape[0]
        here = np.ascontiguousarray(u[first : first + n])
        total = np.zeros((part.picture.matrix.shape[0], 4))
        count = np.zeros(part.picture.matrix.shape[0])
        for number, block in enumerate(part.blocks):
            mean = mean_stresses(block, here, table)
            mine = part.picture.owner[:, 0] == number
            cells = part.picture.quads[mine]
            owner = part.picture.owner[mine, 1]
            for corner in range(4):
                np.add.at(total, cells[:, corner], mean[owner])
                np.add.at(count, cells[:, corner], 1.0)
        made.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(made)


def _rigid_outline(problem: Problem, taken: list[tuple[float, Floats]]) -> Floats | None:
    """Return the outline of the first rigid partner at every snapshot, (s, k, 2)."""
    if not problem.rigid_node:
        return None
    number, node = next(iter(problem.rigid_node.items()))
    reach = 0.6 * float(np.ptp(problem.points, axis=0).max())
    shape = problem.assembled.pairs[number].partner
    line = shape.outline(reach)  # type: ignore[attr-defined]
    middle = problem.points[: int(problem.first[-1])].mean(axis=0)
    if line.shape[0] == 2:
        # a plane is drawn where the body is
        along = (line[1] - line[0]) / np.linalg.norm(line[1] - line[0])
        line = line + along * float((middle - line.mean(axis=0)) @ along)
    return np.array([line + u[node] for _, u in taken])
