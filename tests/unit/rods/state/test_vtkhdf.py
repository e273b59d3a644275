"""Rods as lines for ParaView: the structure of the file, and what VTK reads from it."""

import h5py
import numpy as np
import pytest

import stiction as st
from stiction.rods import (
    CircularSection,
    CosseratRod,
    Free,
    PlaneLeapfrog,
    RodOnPlane,
    Rods,
    RollingLeapfrog,
    Straight,
)

STEPS, FILE = 5, "snapshots.vtkhdf"
SECTION = CircularSection(0.02, 1e6, 0.5, 1000.0)


def rod(elements, height):
    line = Straight([0.0, 0.0, height], [0.5, 0.0, height])
    return CosseratRod(SECTION, line, elements=elements, left=Free(), drag=0.1)


def net():
    system = Rods([rod(6, 0.0), rod(9, 0.2)], gravity=[0.0, 0.0, -9.81])
    return st.solve(system, RollingLeapfrog(), (0.0, 0.02), save=STEPS)


def plane():
    resting = CosseratRod(SECTION, Straight([0, 0, 0.02], [0.5, 0, 0.02]), elements=15)
    system = RodOnPlane(resting, gravity=[0.0, 0.0, -9.81], friction=st.Coulomb(0.3))
    return st.solve(system, PlaneLeapfrog(), (0.0, 0.002), save=STEPS)


@pytest.fixture(scope="module", params=[net, plane])
def saved(request, tmp_path_factory):
    run = request.param()
    folder = tmp_path_factory.mktemp("rods") / "run"
    run.save(folder)
    return run, folder / FILE


def test_structure_of_the_file(saved):
    run, path = saved
    nodes, elements = run.data.sizes["node"], run.data.sizes["element"]
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] == b"UnstructuredGrid"
        assert tuple(root.attrs["Version"]) == (2, 0)
        for name, size in (
            ("Points", nodes),
            ("Cells", elements),
            ("ConnectivityIds", 2 * elements),
        ):
            assert root[f"NumberOf{name}"][...].tolist() == [size]
        assert set(root["Types"][...]) == {3}
        assert root["Offsets"][...].tolist() == list(range(0, 2 * elements + 1, 2))
        assert root["Connectivity"][...].max() == nodes - 1
        steps = root["Steps"]
        assert steps.attrs["NSteps"] == STEPS
        np.testing.assert_array_equal(steps["Values"], run.time)
        for group, size in (("PointData", nodes), ("CellData", elements)):
            for name, stored in root[group].items():
                moves = stored.shape[0] == STEPS * size
                assert moves or stored.shape[0] == size
                offsets = steps[f"{group}Offsets/{name}"][...]
                np.testing.assert_array_equal(offsets, size * moves * np.arange(STEPS))
        velocity = root["PointData/velocity"][...].reshape(STEPS, nodes, 3)
        np.testing.assert_array_equal(velocity, run.data.velocity)
        frames = root["CellData/frame"][...].reshape(STEPS, elements, 4)
        np.testing.assert_array_equal(frames, run.data.frame)
        np.testing.assert_array_equal(root["PointData/radius_of_node"], run.data.radius_of_node)


def test_no_line_joins_two_rods(saved):
    run, path = saved
    with h5py.File(path) as file:
        ends = file["VTKHDF/Connectivity"][...].reshape(-1, 2)
    of = run.data.rod_of_node.values
    assert (of[ends[:, 0]] == of[ends[:, 1]]).all()
    assert (np.diff(ends, axis=1) == 1).all()


def test_vtk_reads_what_was_written(saved):
    run, path = saved
    reason = "reads the file back with VTK: pip install vtk"
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF", reason=reason)
    from vtkmodules.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == STEPS
    for k in range(STEPS):
        reader.SetStep(k)
        reader.Update()
        grid = reader.GetOutputDataObject(0)
        assert reader.GetTimeValue() == run.time[k]
        np.testing.assert_array_equal(
            vtk_to_numpy(grid.GetPoints().GetData()), run.data.position.values[k]
        )
        for name, wanted in (("velocity", run.data.velocity[k]), ("radius_of_node", None)):
            reported = vtk_to_numpy(grid.GetPointData().GetArray(name))
            wanted = run.data[name] if wanted is None else wanted
            np.testing.assert_array_equal(reported, wanted)
        for name in ("internal_force", "frame", "angular_velocity"):
            reported = vtk_to_numpy(grid.GetCellData().GetArray(name))
            np.testing.assert_array_equal(reported, run.data[name].values[k])
        assert grid.GetNumberOfCells() == run.data.sizes["element"]
        assert {grid.GetCellType(i) for i in range(grid.GetNumberOfCells())} == {3}
