"""Snapshots for ParaView: the structure of the file, and what VTK reads from it."""

import dataclasses

import h5py
import numpy as np
import pytest
from solid_runs import strip

from stiction.core.run import Variable
from stiction.io.store import load, save
from stiction.io.verify import examine
from stiction.io.vtkhdf import has_snapshots, write_vtkhdf

NX, NY, STEPS = 12, 3, 4
FILE = "snapshots.vtkhdf"


@pytest.fixture(scope="module")
def run():
    return strip(nx=NX, ny=NY, snapshots=STEPS, rows=11)


@pytest.fixture
def path(run, tmp_path):
    write_vtkhdf(run, tmp_path / FILE)
    return tmp_path / FILE


def test_structure_of_the_file(run, path):
    points, cells = (NX + 1) * (NY + 1), NX * NY
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] == b"UnstructuredGrid"
        assert h5py.check_string_dtype(root.attrs.get_id("Type").dtype).encoding == "ascii"
        assert tuple(root.attrs["Version"]) == (2, 0)
        assert root["Points"].shape == (STEPS * points, 3)
        assert root["Offsets"].shape == (cells + 1,)
        assert root["Offsets"][-1] == root["Connectivity"].shape[0] == 4 * cells
        assert set(root["Types"][...]) == {9}
        # times and data are doubles, whatever the run holds
        assert root["Steps/Values"].dtype == np.float64
        assert {root["PointData"][name].dtype for name in root["PointData"]} == {
            np.dtype(np.float64)
        }
        names = set(run.variables) & {"stress_trace", "stress_yy", "stress_xy"}
        assert set(root["PointData"]) == {*names, "displacement"}
        for name in root["PointData"]:
            assert root["PointData"][name].shape[0] == STEPS * points
            offsets = root[f"Steps/PointDataOffsets/{name}"][...]
            np.testing.assert_array_equal(offsets, points * np.arange(STEPS))
        np.testing.assert_array_equal(root["Steps/PointOffsets"], points * np.arange(STEPS))
        assert not np.any(root["Steps/CellOffsets"])
        assert root["Steps"].attrs["NSteps"] == STEPS


def test_displacement_counts_from_the_first_snapshot(run, path):
    places = run.variables["drawn_position"].values
    with h5py.File(path) as file:
        moved = file["VTKHDF/PointData/displacement"][...].reshape(STEPS, -1, 3)
    np.testing.assert_array_equal(moved[..., :2], places - places[0])
    assert not moved[..., 2].any()


def test_vtk_reads_what_was_written(run, path):
    reason = "reads the file back with VTK: pip install vtk"
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF", reason=reason)
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == STEPS
    times = run.variables["snapshot_time"].values
    for k in range(STEPS):
        reader.SetStep(k)
        reader.Update()
        grid = reader.GetOutputDataObject(0)
        assert reader.GetTimeValue() == times[k]
        places = vtk_to_numpy(grid.GetPoints().GetData())
        np.testing.assert_array_equal(places[:, :2], run.variables["drawn_position"].values[k])
        stress = vtk_to_numpy(grid.GetPointData().GetArray("stress_trace"))
        np.testing.assert_array_equal(stress, run.variables["stress_trace"].values[k])
        assert grid.GetNumberOfCells() == NX * NY
        body = vtk_to_numpy(grid.GetCellData().GetArray("body"))
        assert set(body) == {1.0}
        corners = [grid.GetCell(5).GetPointId(i) for i in range(4)]
        assert corners == run.variables["drawn_cell"].values[5].tolist()


def test_triangles_have_their_own_type(run, tmp_path):
    cells = run.variables["drawn_cell"]
    thirds = dataclasses.replace(cells, values=cells.values[:, :3])
    cut = dataclasses.replace(run, variables={**run.variables, "drawn_cell": thirds})
    write_vtkhdf(cut, tmp_path / FILE)
    with h5py.File(tmp_path / FILE) as file:
        assert set(file["VTKHDF/Types"][...]) == {5}


def test_saved_runs_hold_the_file(run, tmp_path):
    folder = save(run, tmp_path / "run", scenario="")
    assert (folder / FILE).is_file()
    again = load(folder)
    np.testing.assert_array_equal(
        again.variables["drawn_position"].values, run.variables["drawn_position"].values
    )
    (folder / FILE).unlink()
    # it is for other programs: nothing is read from it
    assert load(folder).system_name == "StripPeeling"
    assert str(examine(folder)) == f"DAMAGED      {folder / FILE}: is missing"


def test_runs_without_snapshots_have_no_file(run, tmp_path):
    bare = {name: v for name, v in run.variables.items() if name != "drawn_cell"}
    bare_run = dataclasses.replace(run, variables=bare)
    assert not has_snapshots(bare_run)
    assert not (save(bare_run, tmp_path / "run", scenario="") / FILE).exists()
    other = {**bare, "drawn_cell": Variable(np.arange(4), ("cell",), "1", "not corners")}
    assert not has_snapshots(dataclasses.replace(run, variables=other))
