"""Snapshots of plane bodies as run variables: positions and nodally averaged Cauchy stress."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Variable
from stiction.solids.equilibria.problem import Problem
from stiction.solids.model import Body
from stiction.solids.outcome.pictures_3d import drawn_positions, snapshot_variables_3d

__all__ = ["snapshot_variables"]

Floats = npt.NDArray[np.float64]

_PLANE = 2


def snapshot_variables(
    problem: Problem, snapshots: list[tuple[float, Floats]], units: dict[str, str]
) -> dict[str, Variable]:
    """Return the variables of the snapshots.

    Parameters
    ----------
    problem : the discrete equations
    snapshots : time and displacements (nodes, d) [m] of each
    units : unit of each kind of quantity
    """
    if not snapshots:
        return {}
    if problem.dim > _PLANE:
        return snapshot_variables_3d(problem, snapshots, units)
    parts = problem.parts
    cells, bodies, outline, first_point = [], [], [], 0
    for number, part in enumerate(parts, 1):
        n = part.picture.matrix.shape[0]
        cells.append(part.picture.quads + first_point)
        outline.append(part.picture.edge + first_point)
        bodies.append(np.full(n, number))
        first_point += n
    positions, stresses = [], []
    for _, u in snapshots:
        positions.append(drawn_positions(problem, u))
        stresses.append(_stress(problem, u))
    stress = np.array(stresses)
    dims = ("snapshot", "drawn")
    s, length = units["stress"], units["length"]
    variables = {
        "snapshot_time": Variable(
            np.array([t for t, _ in snapshots]), ("snapshot",), units["time"], "time"
        ),
        "drawn_position": Variable(
            np.array(positions), (*dims, "axis"), length, "positions of drawn points"
        ),
        "stress_xx": Variable(stress[..., 0], dims, s, "Cauchy stress"),
        "stress_yy": Variable(stress[..., 1], dims, s, "Cauchy stress"),
        "stress_xy": Variable(stress[..., 2], dims, s, "Cauchy stress"),
        "stress_trace": Variable(
            stress[..., [0, 1, 3]].sum(axis=-1), dims, s, "first invariant of the Cauchy stress"
        ),
        "drawn_cell": Variable(
            np.concatenate(cells), ("cell", "corner"), "1", "drawn points at the corners of a cell"
        ),
        "drawn_outline": Variable(
            np.concatenate(outline), ("piece", "end"), "1", "drawn points at the ends of a line"
        ),
        "body_of_drawn": Variable(np.concatenate(bodies), ("drawn",), "1", "number of the body"),
    }
    rigid = _rigid_outline(problem, snapshots)
    if rigid is not None:
        meaning = "outline of the rigid partner; several are separated by NaN"
        axes = ("snapshot", "outline")
        variables["rigid_x"] = Variable(rigid[..., 0], axes, length, meaning)
        variables["rigid_y"] = Variable(rigid[..., 1], axes, length, meaning)
    return variables


def _stress(problem: Problem, u: Floats) -> Floats:
    """Return (p, 4) Cauchy stress xx, yy, xy, zz at drawn points: means of the adjacent cells."""
    from stiction.solids.elements.assembly import mean_stresses

    stresses = []
    for part, body, first in zip(
        problem.parts, problem.assembled.bodies, problem.first, strict=False
    ):
        assert isinstance(body, Body)
        table = body.material.table(body.plane_stress)
        n = part.points.shape[0]
        displacements = np.ascontiguousarray(u[first : first + n])
        total = np.zeros((part.picture.matrix.shape[0], 4))
        count = np.zeros(part.picture.matrix.shape[0])
        for number, block in enumerate(part.blocks):
            mean = mean_stresses(block, displacements, table)
            in_block = part.picture.owner[:, 0] == number
            cells = part.picture.quads[in_block]
            owner = part.picture.owner[in_block, 1]
            for corner in range(4):
                np.add.at(total, cells[:, corner], mean[owner])
                np.add.at(count, cells[:, corner], 1.0)
        stresses.append(total / np.maximum(count, 1.0)[:, None])
    return np.concatenate(stresses)


def _rigid_outline(problem: Problem, snapshots: list[tuple[float, Floats]]) -> Floats | None:
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
