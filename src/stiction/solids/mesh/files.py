"""Read a plane mesh from a file by meshio, for example a file of Gmsh.

Triangles and quadrilaterals become cells with counter-clockwise nodes, named groups of lines or
nodes become boundaries. meshio runs in a child process, since a damaged file may crash it.
`Mesh.read` is the public function. Points, cells and facets have the layouts of `mesh.model`.

Steps: the child packs the arrays (`packed`), `_cells` brings all cells to four or nine columns,
`_plane` drops the third coordinate, `_counter_clockwise` reverses cells, `_groups` finds the edges
of each named group, and `_ordered` sorts these into chains, as contact boundaries need.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.files import read_in_child
from stiction.errors import ModelError
from stiction.solids.mesh.checks import EdgeTable, edge_table

__all__ = ["read"]

# lower bound of meshio's speed for text, and memory of its lists of Python objects
_BYTES_PER_S, _MEMORY_PER_BYTE = 2e5, 100

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# nodes of each kind of cell
_CELLS = {"triangle": 3, "triangle6": 6, "quad": 4, "quad8": 8, "quad9": 9}
_LINES = ("line", "line3")
# permutations that reverse the orientation of a cell
_TURNED = {4: [0, 3, 2, 1], 9: [0, 3, 2, 1, 7, 6, 5, 4, 8]}
_TURNED_TRIANGLE = {4: [0, 2, 1, 3], 9: [0, 2, 1, 3, 6, 5, 4, 7, 8]}


@dataclass(frozen=True)
class Contents:
    """Contents of a file with a plane mesh.

    Parameters
    ----------
    points : (p, 2 or 3) coordinates
    kinds : meshio's names of all kinds of cells in the file
    cells : for each block of triangles or quadrilaterals its kind, and (c, n) points of cells
    lines : ends (k, 2) of the lines of each named group
    nodes : points of each named set
    """

    points: Floats
    kinds: tuple[str, ...]
    cells: tuple[tuple[str, Ints], ...]
    lines: dict[str, Ints]
    nodes: dict[str, Ints]


def read(path: str | os.PathLike[str]) -> tuple[Floats, Ints, dict[str, Ints]]:
    """Return points (n, 2), cells and boundaries of a file, as `Mesh` takes them.

    Verified by: tests/unit/solids/mesh/test_files.py::test_a_written_mesh_comes_back
    """
    file = _file(path)
    points, cells = _cells(file, path)
    points = _plane(points, path)
    cells = _counter_clockwise(points, cells)
    edges = edge_table(cells)
    boundaries = {}
    for name, facets in _groups(file, edges, points.shape[0]).items():
        boundaries[name] = _ordered(facets, edges)
    used = np.zeros(points.shape[0], dtype=bool)
    used[cells[cells >= 0]] = True
    # files also contain points of no cell, such as centres of arcs
    number = np.cumsum(used) - 1
    return points[used], np.where(cells < 0, -1, number[cells]), boundaries


def _file(path: str | os.PathLike[str]) -> Contents:
    """Return the contents that meshio reads in a child process, which a damaged file may crash."""
    if sys.modules.get("meshio", True) is None or importlib.util.find_spec("meshio") is None:
        why = "files of meshes are read by meshio, which is not installed."
        try_ = 'pip install "stiction[mesh]"'
        raise ModelError("Mesh.read", repr(str(path)), "the package meshio", why, try_)
    try:
        raw = read_in_child(
            Path(path),
            "import meshio\nfrom stiction.solids.mesh.files import packed",
            "packed(path)",
            bytes_per_s=_BYTES_PER_S,
            memory_per_byte=_MEMORY_PER_BYTE,
        )
    except (OSError, ValueError) as error:
        got = f"{str(path)!r}, which meshio cannot read ({error})"
        why, try_ = (
            "the mesh of a body is read from this file.",
            "check the path, suffix and content of the file.",
        )
        raise ModelError("Mesh.read", got, "a mesh file", why, try_) from error
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        kinds = [str(kind) for kind in arrays["kinds"]]
        cells = [(str(kind), arrays[f"cells{k}"]) for k, kind in enumerate(arrays["blocks"])]
        lines = {str(name): arrays[f"lines{k}"] for k, name in enumerate(arrays["lines"])}
        nodes = {str(name): arrays[f"nodes{k}"] for k, name in enumerate(arrays["nodes"])}
        return Contents(arrays["points"], tuple(kinds), tuple(cells), lines, nodes)


def packed(path: str) -> bytes:
    """Return the arrays of `Contents` that meshio reads from a file, as np.savez writes them.

    Raises
    ------
    ValueError : if arrays of the file do not fit together; meshio raises errors of any kind.
    """
    import meshio

    # triangles and quadrilaterals; lines and point sets with a name
    file = meshio.read(path)
    points = np.asarray(file.points, dtype=np.float64)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError("points are no table of finite numbers")
    blocks = [block for block in file.cells if block.type in _CELLS and len(block.data)]
    cells = {f"cells{k}": _numbers(b.data, points, _CELLS[b.type]) for k, b in enumerate(blocks)}
    lines = {name: _numbers(data, points, 2) for name, data in _lines(file).items()}
    nodes = {name: _numbers(data, points) for name, data in file.point_sets.items()}
    out = io.BytesIO()
    arrays: dict[str, Any] = {
        "points": points,
        "kinds": np.array([block.type for block in file.cells], dtype=np.str_),
        "blocks": np.array([block.type for block in blocks], dtype=np.str_),
        "lines": np.array(list(lines), dtype=np.str_),
        "nodes": np.array(list(nodes), dtype=np.str_),
        **cells,
        **{f"lines{k}": data for k, data in enumerate(lines.values())},
        **{f"nodes{k}": data for k, data in enumerate(nodes.values())},
    }
    np.savez(out, **arrays)
    return out.getvalue()


def _numbers(data: Any, points: Floats, columns: int = 0) -> Ints:
    """Return numbers of points: (n, columns), or (n,) where columns is 0."""
    numbers = np.asarray(data)
    if columns == 0:
        numbers = numbers.reshape(-1)
    elif numbers.shape[1:] != (columns,):
        raise ValueError(f"cells have shape {numbers.shape}, not (n, {columns})")
    if not np.issubdtype(numbers.dtype, np.integer) and numbers.size:
        raise ValueError(f"numbers of points are {numbers.dtype}")
    numbers = numbers.astype(np.int64)
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(points):
        raise ValueError(f"a cell or a set names a point beyond the {len(points)} points")
    return numbers


def _lines(file: Any) -> dict[str, Ints]:
    """Return the ends of the lines in each physical group of gmsh and each set of cells."""
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
    return {name: np.concatenate([part[:, :2] for part in parts]) for name, parts in lines.items()}


def _plane(points: Floats, path: str | os.PathLike[str]) -> Floats:
    """Return points (n, 2), without a third coordinate that is the same for all."""
    if points.ndim == 2 and points.shape[1] == 3 and points.size:
        size = float(np.ptp(points, axis=0).max())
        if np.ptp(points[:, 2]) <= 1e-9 * size:
            return np.ascontiguousarray(points[:, :2])
    elif points.ndim == 2 and points.shape[1] == 2:
        return points
    why, try_ = "a `Mesh` is plane.", "mesh in the plane z = 0."
    got = f"points of shape {points.shape} in {str(path)!r}"
    raise ModelError("Mesh.read", got, "points with one common z", why, try_)


def _cells(file: Contents, path: str | os.PathLike[str]) -> tuple[Floats, Ints]:
    """Return points and cells (c, 4) or (c, 9); the centres of quad8 are new points."""
    points = file.points
    high = [_CELLS[kind] in (6, 8, 9) for kind, _ in file.cells]
    strange = set(file.kinds) - {*_CELLS, *_LINES, "vertex"}
    if strange or not high or any(high) != all(high):
        why = "bodies are made of triangles and quadrilaterals of one order."
        got = f"cells {', '.join(sorted(set(file.kinds))) or 'of no kind'} in {str(path)!r}"
        needs = "triangle and quad, or triangle6, quad8 and quad9"
        raise ModelError("Mesh.read", got, needs, why, "export plane cells of one order.")
    blocks = []
    for kind, data in file.cells:
        if kind == "quad8":
            # the centre of the cell by the eight shape functions
            x = points[data]
            centre = 0.5 * x[:, 4:].sum(axis=1) - 0.25 * x[:, :4].sum(axis=1)
            added = points.shape[0] + np.arange(data.shape[0])
            points = np.concatenate([points, centre])
            data = np.concatenate([data, added[:, None]], axis=1)
        wide = np.full((data.shape[0], 9 if any(high) else 4), -1, dtype=np.int64)
        columns = {3: [0, 1, 2], 4: [0, 1, 2, 3], 6: [0, 1, 2, 4, 5, 6], 9: list(range(9))}
        wide[:, columns[data.shape[1]]] = data
        blocks.append(wide)
    return points, np.concatenate(blocks)


def _counter_clockwise(points: Floats, cells: Ints) -> Ints:
    """Return the cells with counter-clockwise orientation."""
    triangle = cells[:, 3] < 0
    if cells.shape[1] == 9:
        # corners and middles, since three corners of a cell may be collinear
        corners = cells[:, [0, 4, 1, 5, 2, 6, 3, 7]]
        corners[triangle, 6:] = corners[triangle, :1]
    else:
        corners = cells.copy()
        corners[triangle, 3] = corners[triangle, 0]
    x = points[corners]
    after = np.roll(x, -1, axis=1)
    area = (x[..., 0] * after[..., 1] - x[..., 1] * after[..., 0]).sum(axis=1)
    turned = cells.copy()
    for here, order in ((triangle, _TURNED_TRIANGLE), (~triangle, _TURNED)):
        wrong = here & (area < 0.0)
        turned[wrong] = cells[wrong][:, order[cells.shape[1]]]
    return turned


def _groups(file: Contents, edges: EdgeTable, count: int) -> dict[str, Ints]:
    """Return the rows of the edge table that form each named boundary."""
    # outer edges, sorted by one number for each unordered pair of nodes
    outer = np.flatnonzero(edges.uses[edges.number] == 1)
    key = edges.ends[outer].min(axis=1) * count + edges.ends[outer].max(axis=1)
    order = np.argsort(key)
    outer, key = outer[order], key[order]
    boundaries = {}
    for name, ends in file.lines.items():
        keys = np.unique(ends.min(axis=1) * count + ends.max(axis=1))
        at = np.minimum(np.searchsorted(key, keys), key.size - 1)
        # a group with lines inside the body or outside of it is no boundary
        if (key[at] == keys).all():
            boundaries[name] = outer[at]
    for name, members in file.nodes.items():
        inside = np.zeros(count, dtype=bool)
        inside[members] = True
        rows = outer[inside[edges.ends[outer]].all(axis=1)]
        if rows.size and name not in boundaries:
            boundaries[name] = rows
    return boundaries


def _ordered(rows: Ints, edges: EdgeTable) -> Ints:
    """Return facets (k, 2) chain by chain, each in order along the boundary."""
    ends = edges.ends[rows]
    after = {int(start): k for k, start in enumerate(ends[:, 0])}
    heads = np.flatnonzero(~np.isin(ends[:, 0], ends[:, 1])).tolist()
    order: list[int] = []
    seen = np.zeros(rows.size, dtype=bool)
    # open chains start at their heads; the remaining ones are closed
    for head in [*heads, *range(rows.size)]:
        k: int | None = head
        while k is not None and not seen[k]:
            seen[k] = True
            order.append(k)
            k = after.get(int(ends[k, 1]))
    ordered = rows[np.array(order, dtype=np.int64)]
    return np.stack([edges.cell[ordered], edges.side[ordered]], axis=1)
