"""Snapshots of deformed bodies as one VTKHDF file, which ParaView opens with its time.

The cells are written once; points and point data follow each other step by step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.results.places.images import put_down
from stiction.results.run import Run

__all__ = ["has_snapshots", "write_vtkhdf"]

_NEEDED = {
    "snapshot_time": ("snapshot",),
    "drawn_position": ("snapshot", "drawn", "axis"),
    "drawn_cell": ("cell", "corner"),
}
_SCALAR, _VECTOR = ("snapshot", "drawn"), ("snapshot", "drawn", "axis")
_TYPES = {3: 5, 4: 9}  # corners: number of triangle and quadrilateral in VTK
_VERSION = (2, 0)


def has_snapshots(run: Run) -> bool:
    """Return whether a run holds deformed bodies that `write_vtkhdf` can write."""
    known = run.variables
    there = all(
        name in known and known[name].dims == dims and known[name].values.size > 0
        for name, dims in _NEEDED.items()
    )
    return there and known["drawn_cell"].values.shape[1] in _TYPES


def write_vtkhdf(run: Run, path: Path) -> str:
    """Write the snapshots of `run` to `path`, an unstructured grid that changes in time.

    Return the SHA-256 of the file, "" where that is not known yet.

    Point data are every variable of the drawn points, such as the stresses, and the
    displacement since the first snapshot; cell data are the number of the body. Places and
    displacements have three components, the last one zero in the plane.

    Parameters
    ----------
    run : with the variables snapshot_time, drawn_position and drawn_cell
    path : the file

    Notes
    -----
    Source: VTKHDF file format, version 2.0, section Temporal Data.
    Verified by: tests/unit/results/test_vtkhdf.py::test_vtk_reads_what_was_written
    """
    import h5py

    known = run.variables
    places = np.asarray(known["drawn_position"].values, dtype=np.float64)
    cells = np.asarray(known["drawn_cell"].values, dtype=np.int64)
    points = places.shape[1]
    # vectors have three components there, and so has the displacement, which is added
    size = 3 * places.nbytes + sum(3 * np.asarray(v.values).nbytes for v in known.values())
    with put_down(path, size) as image, h5py.File(image, "w") as file:
        root = file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(_VERSION, dtype=np.int64)
        root.attrs["Type"] = np.bytes_("UnstructuredGrid")
        root["NumberOfPoints"] = np.array([points], dtype=np.int64)
        root["NumberOfCells"] = np.array([cells.shape[0]], dtype=np.int64)
        root["NumberOfConnectivityIds"] = np.array([cells.size], dtype=np.int64)
        root["Connectivity"] = cells.ravel()
        root["Offsets"] = cells.shape[1] * np.arange(cells.shape[0] + 1, dtype=np.int64)
        root["Types"] = np.full(cells.shape[0], _TYPES[cells.shape[1]], dtype=np.uint8)
        _put_vectors(root, "Points", places)
        data = root.create_group("PointData")
        for name, variable in known.items():
            if variable.dims == _SCALAR:
                values = np.asarray(variable.values, dtype=np.float64)
                data.create_dataset(name, data=values.reshape(-1))
            elif variable.dims == _VECTOR and name != "drawn_position":
                _put_vectors(data, name, np.asarray(variable.values, dtype=np.float64))
        _put_vectors(data, "displacement", places, since=places[0])
        if "body_of_drawn" in known:
            body = np.asarray(known["body_of_drawn"].values, dtype=np.float64)
            root.create_group("CellData")["body"] = body[cells[:, 0]]
        _put_steps(root, np.asarray(known["snapshot_time"].values, dtype=np.float64), points)
    return image.digest


def _put_vectors(
    group: Any,
    name: str,
    values: npt.NDArray[np.float64],
    since: npt.NDArray[np.float64] | None = None,
) -> None:
    """Write (s, p, d) vectors as (s p, 3), a step at a time, so that memory stays small."""
    steps, points, axes = values.shape
    stored = group.create_dataset(name, (steps * points, 3), dtype="f8")
    row = np.zeros((points, 3))
    for k in range(steps):
        row[:, :axes] = values[k] if since is None else values[k] - since
        stored[k * points : (k + 1) * points] = row


def _put_steps(root: Any, times: npt.NDArray[np.float64], points: int) -> None:
    """Write where the data of each step begin; cells and what belongs to them stay."""
    count = times.size
    moving, still = points * np.arange(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(count)
    steps["Values"] = times
    steps["PartOffsets"] = still
    steps["NumberOfParts"] = still + 1
    steps["PointOffsets"] = moving
    steps["CellOffsets"] = still[:, None]
    steps["ConnectivityIdOffsets"] = still[:, None]
    offsets = steps.create_group("PointDataOffsets")
    for name in root["PointData"]:
        offsets[name] = moving
    if "CellData" in root:
        offsets = steps.create_group("CellDataOffsets")
        for name in root["CellData"]:
            offsets[name] = still
