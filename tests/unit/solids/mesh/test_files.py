"""Meshes from files: what is written comes back, and what cannot be used is refused."""

import sys

import meshio
import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.solids.mesh.model import Mesh, half_disc, rectangle

# two triangles (one clockwise) and a quadrilateral above them, with a point of no cell
GMSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
3
1 1 "ground"
1 2 "inside"
2 3 "body"
$EndPhysicalNames
$Nodes
7
1 0 0 0
2 1 0 0
3 1 1 0
4 0 1 0
5 9 9 0
6 1 2 0
7 0 2 0
$EndNodes
$Elements
7
1 1 2 1 1 1 2
2 1 2 1 1 2 3
3 1 2 2 2 4 3
4 1 2 7 2 4 1
5 2 2 3 1 1 2 3
6 2 2 3 1 1 4 3
7 3 2 3 1 4 3 6 7
$EndElements
"""


def written(tmp_path, mesh, kind, name="a.msh", **more):
    """The mesh in a file, every boundary as a physical curve."""
    cells, tags, names = [(kind, mesh.cells)], [np.zeros(len(mesh.cells), dtype=int)], {}
    for tag, boundary in enumerate(mesh.boundaries, 1):
        lines = mesh.edge_nodes(boundary)
        # in any order and any direction
        lines = np.random.default_rng(tag).permutation(lines)
        lines[::2, :2] = lines[::2, 1::-1]
        cells.append(("line" if lines.shape[1] == 2 else "line3", lines))
        tags.append(np.full(len(lines), tag))
        names[boundary] = np.array([tag, 1])
    data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    points = np.column_stack([mesh.points, np.zeros(len(mesh.points))])
    file = meshio.Mesh(points, cells, cell_data=data, field_data=names, **more)
    path = tmp_path / name
    file.write(path, file_format="gmsh22", binary=False)
    return path


@pytest.mark.parametrize("mesh", [rectangle(3.0, 1.0, (4, 3)), half_disc(1.0, (4, 3), 2)])
def test_a_written_mesh_comes_back(tmp_path, mesh):
    path = written(tmp_path, mesh, "quad9")
    found = Mesh.read(path, contact=tuple(mesh.boundaries))
    assert found.points == pytest.approx(mesh.points, abs=1e-15)
    assert (found.cells == mesh.cells).all()
    assert set(found.boundaries) == set(mesh.boundaries)
    for name in mesh.boundaries:
        assert (found.boundary(name) == mesh.boundary(name)).all()


def test_physical_groups_of_gmsh(tmp_path):
    path = tmp_path / "body.msh"
    path.write_text(GMSH)
    mesh = Mesh.read(str(path), contact="ground")
    # the point of no cell is omitted, the clockwise triangle reversed
    assert mesh.points.shape == (6, 2)
    assert mesh.triangles.tolist() == [True, True, False]
    assert mesh.cells.tolist() == [[0, 1, 2, -1], [0, 2, 3, -1], [3, 2, 4, 5]]
    assert mesh.edge_nodes("ground").tolist() == [[0, 1], [1, 2]]
    # lines between cells bound nothing
    assert "inside" not in mesh.boundaries
    with pytest.raises(ModelError, match="one of 7, ground"):
        Mesh.read(path, contact="inside")


def test_sets_of_nodes_and_of_lines(tmp_path):
    mesh = rectangle(2.0, 1.0, (3, 2))
    corners = mesh.cells[:, :4]
    used, cells = np.unique(corners, return_inverse=True)
    points = mesh.points[used]
    bottom = np.flatnonzero(points[:, 1] == 0.0)
    file = meshio.Mesh(points, [("quad", cells.reshape(-1, 4))], point_sets={"base": bottom})
    path = tmp_path / "a.inp"
    file.write(path)
    found = Mesh.read(path, contact="base")
    assert found.cells.shape == (6, 4)
    assert (found.points[found.edge_nodes("base")][..., 1] == 0.0).all()
    assert found.boundary("base").shape == (3, 2)
    ends = found.points[found.edge_nodes("base")][..., 0]
    assert (ends[:, 1] > ends[:, 0]).all()


def test_eight_nodes_get_their_centre(tmp_path):
    mesh = rectangle(2.0, 1.0, (3, 2))
    points = mesh.points.copy()
    points[:, 1] += 0.1 * points[:, 0] ** 2
    cells = mesh.cells[:, :8]
    used, number = np.unique(cells, return_inverse=True)
    path = tmp_path / "a.vtk"
    meshio.Mesh(points[used], [("quad8", number.reshape(-1, 8))]).write(path)
    with pytest.warns(UserWarning, match=r"no named boundary in .*a\.vtk' \(.*cells and .* points"):
        found = Mesh.read(path)
    assert found.cells.shape == (6, 9)
    middle = points[mesh.cells[:, 8]]
    # a parabola along x is what eight nodes can carry
    assert found.points[found.cells[:, 8]] == pytest.approx(middle, abs=1e-14)


def test_six_nodes(tmp_path):
    points = np.array([[0, 0], [2, 0], [0, 2], [1, -0.1], [1, 1], [0, 1.0]])
    path = tmp_path / "a.vtk"
    # clockwise: 0, 2, 1 with the middles in that order
    meshio.Mesh(points, [("triangle6", [[0, 2, 1, 5, 4, 3]])]).write(path)
    with pytest.warns(UserWarning, match="boundaries by name"):
        found = Mesh.read(path)
    assert found.cells.tolist() == [[0, 1, 2, -1, 3, 4, 5, -1, -1]]


def test_boundaries_of_several_chains_are_no_contact_boundaries(tmp_path):
    mesh = rectangle(2.0, 1.0, (2, 2))
    both = Mesh(
        mesh.points,
        mesh.cells,
        {
            "sides": np.concatenate([mesh.boundary("left"), mesh.boundary("right")]),
            "around": np.concatenate(
                [mesh.boundary(n) for n in ("top", "left", "bottom", "right")]
            ),
        },
    )
    found = Mesh.read(written(tmp_path, both, "quad9"))
    assert found.boundary("sides").shape == (4, 2)
    assert found.boundary("around").shape == (8, 2)
    with pytest.raises(ModelError, match="does not begin where"):
        found.chain("sides")
    with pytest.raises(ModelError, match="closes"):
        found.chain("around")


def test_files_that_hold_no_plane_mesh(tmp_path):
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]])
    cases = {
        "one common z": (square, [("quad", [[0, 1, 2, 3]])]),
        "cells tetra": (square, [("tetra", [[0, 1, 2, 3]])]),
        "cells line": (square * [1, 1, 0], [("line", [[0, 1]])]),
        "cells quad, triangle6": (
            np.column_stack([np.random.default_rng(0).random((9, 2)), np.zeros(9)]),
            [("quad", [[0, 1, 2, 3]]), ("triangle6", [[0, 1, 2, 3, 4, 5]])],
        ),
    }
    for message, (points, cells) in cases.items():
        path = tmp_path / "bad.vtk"
        meshio.Mesh(points, cells).write(path)
        with pytest.raises(ModelError, match=message):
            Mesh.read(path)


@pytest.mark.parametrize("name", ["missing.msh", "a.nonsense", "broken.msh"])
def test_files_that_cannot_be_read(tmp_path, name):
    if name != "missing.msh":
        (tmp_path / name).write_text("no mesh at all\n")
    with pytest.raises(ModelError, match="a mesh file"):
        Mesh.read(tmp_path / name)


def test_without_meshio_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ModelError, match=r"pip install \"stiction\[mesh\]\""):
        Mesh.read("a.msh")
