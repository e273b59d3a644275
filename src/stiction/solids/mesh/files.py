"""Meshes from files: cells turned counter-clockwise, named groups of lines as boundaries."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.solids.mesh.checks import EdgeTable, edge_table

__all__ = ["read"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CELLS = ("triangle", "triangle6", "quad", "quad8", "quad9")
_LINES = ("line", "line3")
# nodes of a cell that runs clockwise, turned round
_TURNED = {4: [0, 3, 2, 1], 9: [0, 3, 2, 1, 7, 6, 5, 4, 8]}
_TURNED_TRIANGLE = {4: [0, 2, 1, 3], 9: [0, 2, 1, 3, 6, 5, 4, 7, 8]}


def read(path: str | os.PathLike[str]) -> tuple[Floats, Ints, dict[str, Ints]]:
    """Return points, cells and boundaries of a file.

    Verified by: tests/unit/solids/mesh/test_files.py::test_a_written_mesh_comes_back
    """
    file = _file(path)
    points, cells = _cells(file, np.asarray(file.points, dtype=np.float64), path)
    points = _plane(points, path)
    cells = _counter_clockwise(points, cells)
    edges = edge_table(cells)
    boundaries = {}
    for name, pieces in _groups(file, edges, points.shape[0]).items():
        boundaries[name] = _ordered(pieces, edges)
    used = np.zeros(points.shape[0], dtype=bool)
    used[cells[cells >= 0]] = True
    # files also hold centres of arcs and the like
    number = np.cumsum(used) - 1
    return points[used], np.where(cells < 0, -1, number[cells]), boundaries


def _file(path: str | os.PathLike[str]) -> Any:
    """Return what meshio reads."""
    try:
        import meshio
    except ImportError as error:
        why = "files of meshes are read by meshio, which is not installed."
        try_ = 'pip install "stiction[mesh]"'
        raise ModelError(
            explain("Mesh.read", repr(str(path)), "the package meshio", why, try_)
        ) from error
    try:
        return meshio.read(os.fspath(path))
    except (meshio.ReadError, OSError, ValueError, KeyError, SystemExit) as error:
        # meshio ends the program where a format it guessed cannot be read
        why = f"meshio says: {error}" if str(error) not in ("", "1") else "meshio cannot read it."
        needs, try_ = "a file of a mesh", "look at its place, its ending and what it holds."
        raise ModelError(explain("Mesh.read", repr(str(path)), needs, why, try_)) from error


def _plane(points: Floats, path: str | os.PathLike[str]) -> Floats:
    if points.ndim == 2 and points.shape[1] == 3 and points.size:
        size = float(np.ptp(points, axis=0).max())
        if np.ptp(points[:, 2]) <= 1e-9 * size:
            return np.ascontiguousarray(points[:, :2])
    elif points.ndim == 2 and points.shape[1] == 2:
        return points
    why, try_ = "bodies are plane.", "mesh in the plane z = 0."
    got = f"points of shape {points.shape} in {str(path)!r}"
    raise ModelError(explain("Mesh.read", got, "points with one common z", why, try_))


def _cells(file: Any, points: Floats, path: str | os.PathLike[str]) -> tuple[Floats, Ints]:
    """Return points and cells (c, 4) or (c, 9); the centres of quad8 are new points."""
    kinds = {block.type for block in file.cells}
    found = [block for block in file.cells if block.type in _CELLS and len(block.data)]
    high = [block.type in ("triangle6", "quad8", "quad9") for block in found]
    strange = sorted(kinds - {*_CELLS, *_LINES, "vertex"})
    if strange or not found or any(high) != all(high):
        why = "bodies are made of triangles and quadrilaterals of one order."
        got = f"cells {', '.join(sorted(kinds)) or 'of no kind'} in {str(path)!r}"
        needs = "triangle and quad, or triangle6, quad8 and quad9"
        raise ModelError(explain("Mesh.read", got, needs, why, "export plane cells of one order."))
    made = []
    for block in found:
        data = np.asarray(block.data, dtype=np.int64)
        if block.type == "quad8":
            # where the eight nodes' own functions have the middle of the cell
            x = points[data]
            centre = 0.5 * x[:, 4:].sum(axis=1) - 0.25 * x[:, :4].sum(axis=1)
            added = points.shape[0] + np.arange(data.shape[0])
            points = np.concatenate([points, centre])
            data = np.concatenate([data, added[:, None]], axis=1)
        wide = np.full((data.shape[0], 9 if any(high) else 4), -1, dtype=np.int64)
        columns = {3: [0, 1, 2], 4: [0, 1, 2, 3], 6: [0, 1, 2, 4, 5, 6], 9: list(range(9))}
        wide[:, columns[data.shape[1]]] = data
        made.append(wide)
    return points, np.concatenate(made)


def _counter_clockwise(points: Floats, cells: Ints) -> Ints:
    """Return the cells, those that run clockwise turned round."""
    triangle = cells[:, 3] < 0
    corners = cells[:, :4].copy()
    corners[triangle, 3] = corners[triangle, 0]
    x = points[corners]
    after = np.roll(x, -1, axis=1)
    area = (x[..., 0] * after[..., 1] - x[..., 1] * after[..., 0]).sum(axis=1)
    turned = cells.copy()
    for here, order in ((triangle, _TURNED_TRIANGLE), (~triangle, _TURNED)):
        wrong = here & (area < 0.0)
        turned[wrong] = cells[wrong][:, order[cells.shape[1]]]
    return turned


def _groups(file: Any, edges: EdgeTable, count: int) -> dict[str, Ints]:
    """Return rows of the edge table by the name of their group."""
    outer = np.flatnonzero(edges.uses[edges.number] == 1)
    key = edges.ends[outer].min(axis=1) * count + edges.ends[outer].max(axis=1)
    order = np.argsort(key)
    outer, key = outer[order], key[order]
    lines: dict[str, list[Ints]] = {}
    names = {int(v[0]): k for k, v in file.field_data.items() if len(v) > 1 and int(v[1]) == 1}
    tags = file.cell_data.get("gmsh:physical", [None] * len(file.cells))
    for block, tag in zip(file.cells, tags, strict=True):
        if block.type in _LINES and tag is not None:
            for value in np.unique(tag):
                if value != 0:
                    name = names.get(int(value), str(int(value)))
                    lines.setdefault(name, []).append(np.asarray(block.data)[tag == value])
    for name, members in file.cell_sets.items():
        for block, member in zip(file.cells, members, strict=True):
            named = member is not None and len(member) and not name.startswith("gmsh:")
            if block.type in _LINES and named:
                lines.setdefault(name, []).append(np.asarray(block.data)[member])
    found = {}
    for name, parts in lines.items():
        ends = np.concatenate([part[:, :2] for part in parts]).astype(np.int64)
        wanted = np.unique(ends.min(axis=1) * count + ends.max(axis=1))
        at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
        # a group with lines inside the body, or of none of its cells, is no boundary
        if (key[at] == wanted).all():
            found[name] = outer[at]
    for name, members in file.point_sets.items():
        inside = np.zeros(count, dtype=bool)
        inside[np.asarray(members, dtype=np.int64)] = True
        rows = outer[inside[edges.ends[outer]].all(axis=1)]
        if rows.size and name not in found:
            found[name] = rows
    return found


def _ordered(rows: Ints, edges: EdgeTable) -> Ints:
    """Return pieces (k, 2) chain by chain, each in order along the boundary."""
    ends = edges.ends[rows]
    after = {int(start): k for k, start in enumerate(ends[:, 0])}
    heads = np.flatnonzero(~np.isin(ends[:, 0], ends[:, 1])).tolist()
    order: list[int] = []
    seen = np.zeros(rows.size, dtype=bool)
    # what is left when open chains are done are closed ones
    for head in [*heads, *range(rows.size)]:
        k: int | None = head
        while k is not None and not seen[k]:
            seen[k] = True
            order.append(k)
            k = after.get(int(ends[k, 1]))
    kept = rows[np.array(order, dtype=np.int64)]
    return np.stack([edges.cell[kept], edges.side[kept]], axis=1)
