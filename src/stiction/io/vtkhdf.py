"""Snapshots of deformed bodies or rods as one VTKHDF file, which ParaView shows as a time series.

The file holds an unstructured grid. Its cells are written once, its points and point data for every
saved time. `stiction.io.store` writes it beside the other files of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.io.images import hdf5_file

__all__ = ["has_snapshots", "write_vtkhdf"]

_BODY_VARIABLES = {
    "snapshot_time": ("snapshot",),
    "drawn_position": ("snapshot", "drawn", "axis"),
    "drawn_cell": ("cell", "corner"),
}
_LINE_VARIABLES = {"position": ("time", "node", "axis"), "nodes_of_element": ("element", "side")}
# {number of corners: cell type in VTK} of line, triangle and quadrilateral
_TYPES = {2: 3, 3: 5, 4: 9}
_VERSION = (2, 0)


@dataclass(frozen=True, eq=False)
class _Grid:
    """An unstructured grid at s times, with its point data and cell data.

    Parameters
    ----------
    times : (s,) saved times
    places : (s, points, axes) positions of the points [m]
    cells : (cells, corners) indices of points, from 0
    point, cell : point data and cell data by name: (s, points or cells, ...) if they change with
        time, and (points or cells, ...) if they are constant
    """

    times: npt.NDArray[np.float64]
    places: npt.NDArray[np.float64]
    cells: npt.NDArray[np.int64]
    point: dict[str, npt.NDArray[Any]]
    cell: dict[str, npt.NDArray[Any]]


def has_snapshots(run: Run) -> bool:
    """Return whether a run holds bodies or lines that `write_vtkhdf` can write."""
    return _has(run, _LINE_VARIABLES) or (
        _has(run, _BODY_VARIABLES) and run.variables["drawn_cell"].values.shape[1] in _TYPES
    )


def _has(run: Run, needed: dict[str, tuple[str, ...]]) -> bool:
    """Return whether a run has all these variables, {name: dimensions}, and none is empty."""
    known = run.variables
    return all(
        name in known and known[name].dims == dims and known[name].values.size > 0
        for name, dims in needed.items()
    )


def write_vtkhdf(run: Run, path: Path) -> None:
    """Write the snapshots of `run` to `path`, as an unstructured grid that changes in time.

    For deformable bodies, the point data are all variables of the drawn points, such as stresses,
    and the displacement since the first snapshot; the cell data are the number of the body. For
    rods and strings, the point data are all variables of the nodes and the displacement, and the
    cell data are the variables of the elements. Positions and displacements have three components;
    the third one is zero for a plane problem.

    Parameters
    ----------
    run : a run with the variables snapshot_time, drawn_position and drawn_cell (bodies), or with
        position and nodes_of_element (lines)
    path : the file

    Notes
    -----
    Source: VTKHDF file format, version 2.0, section Temporal Data.
    Verified by: tests/unit/io/test_vtkhdf.py::test_vtk_reads_what_was_written
    """
    import h5py

    grid = _lines(run) if _has(run, _LINE_VARIABLES) else _bodies(run)
    places, cells = grid.places, grid.cells
    with hdf5_file(path) as sink, h5py.File(sink, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(_VERSION, dtype=np.int64)
        root.attrs["Type"] = np.bytes_("UnstructuredGrid")
        root["NumberOfPoints"] = np.array([places.shape[1]], dtype=np.int64)
        root["NumberOfCells"] = np.array([cells.shape[0]], dtype=np.int64)
        root["NumberOfConnectivityIds"] = np.array([cells.size], dtype=np.int64)
        root["Connectivity"] = cells.ravel()
        root["Offsets"] = cells.shape[1] * np.arange(cells.shape[0] + 1, dtype=np.int64)
        root["Types"] = np.full(cells.shape[0], _TYPES[cells.shape[1]], dtype=np.uint8)
        _put_vectors(root, "Points", places)
        data = root.create_group("PointData")
        for name, values in grid.point.items():
            _put(data, name, values, places.shape[:2])
        _put_vectors(data, "displacement", places, since=places[0])
        if grid.cell:
            data = root.create_group("CellData")
            for name, values in grid.cell.items():
                _put(data, name, values, (places.shape[0], cells.shape[0]))
        _put_steps(root, grid)


def _bodies(run: Run) -> _Grid:
    """Return the grid of deformed bodies: drawn points and cells at the snapshots."""
    known = run.variables
    # drawn points are numbered from 0, as in VTK
    cells = np.asarray(known["drawn_cell"].values, dtype=np.int64)
    point = {
        name: np.asarray(variable.values, dtype=np.float64)
        for name, variable in known.items()
        if variable.dims[:2] == ("snapshot", "drawn") and name != "drawn_position"
        if variable.dims[2:] in ((), ("axis",))
    }
    cell = {}
    if "body_of_drawn" in known:
        body = np.asarray(known["body_of_drawn"].values, dtype=np.float64)
        cell["body"] = body[cells[:, 0]]
    times = np.asarray(known["snapshot_time"].values, dtype=np.float64)
    places = np.asarray(known["drawn_position"].values, dtype=np.float64)
    return _Grid(times, places, cells, point, cell)


def _lines(run: Run) -> _Grid:
    """Return the grid of rods: nodes and their elements at the saved times."""

    def arrays_of(part: str) -> dict[str, npt.NDArray[Any]]:
        return {
            name: np.asarray(variable.values, dtype=np.float64)
            for name, variable in run.variables.items()
            if name not in _LINE_VARIABLES and part in variable.dims[:2]
            if variable.dims[0] == part or variable.dims[:2] == ("time", part)
        }

    places = np.asarray(run.variables["position"].values, dtype=np.float64)
    # nodes are numbered from 1 in a run, and from 0 in VTK
    cells = np.asarray(run.variables["nodes_of_element"].values, dtype=np.int64) - 1
    return _Grid(np.asarray(run.time), places, cells, arrays_of("node"), arrays_of("element"))


def _put(group: Any, name: str, values: npt.NDArray[Any], moving: tuple[int, ...]) -> None:
    """Write an array that changes with time (as vectors if it has axes), or a constant array.

    moving : (times, points or cells), the leading axes of arrays that change
    """
    if values.shape[:2] != moving:
        group.create_dataset(name, data=values)
    elif values.ndim == 3 and values.shape[2] <= 3:
        _put_vectors(group, name, values)
    else:
        group.create_dataset(name, data=values.reshape(moving[0] * moving[1], *values.shape[2:]))


def _put_vectors(
    group: Any,
    name: str,
    values: npt.NDArray[np.float64],
    since: npt.NDArray[np.float64] | None = None,
) -> None:
    """Write vectors (s, p, d) as an array (s p, 3); one step at a time saves memory."""
    steps, points, axes = values.shape
    stored = group.create_dataset(name, (steps * points, 3), dtype="f8")
    vectors = np.zeros((points, 3))
    for k in range(steps):
        vectors[:, :axes] = values[k] if since is None else values[k] - since
        stored[k * points : (k + 1) * points] = vectors


def _put_steps(root: Any, grid: _Grid) -> None:
    """Write where the data of each step begin; cells and constant data have the offset zero."""
    count, points = grid.places.shape[:2]
    each, still = np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(count)
    steps["Values"] = grid.times
    steps["PartOffsets"] = still
    steps["NumberOfParts"] = still + 1
    steps["PointOffsets"] = points * each
    steps["CellOffsets"] = still[:, None]
    steps["ConnectivityIdOffsets"] = still[:, None]
    for group, size in (("PointData", points), ("CellData", grid.cells.shape[0])):
        if group in root:
            offsets = steps.create_group(f"{group}Offsets")
            for name, stored in root[group].items():
                # a constant array has one block, whose offset is zero at all times
                offsets[name] = size * each * (stored.shape[0] > size)
