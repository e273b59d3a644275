"""Damaged mesh files: another process reads them, so none hangs, crashes or leaks its error."""

import io
import os
import random

import meshio
import numpy as np
import pytest

from stiction.core import files as core_files
from stiction.errors import ModelError
from stiction.solids.mesh import files
from stiction.solids.mesh.model import Mesh, rectangle

# damage may take the names of boundaries, which a mesh without any says
pytestmark = pytest.mark.filterwarnings("ignore:Mesh.read. got no named boundary")

KINDS = ("bdf", "inp", "mesh", "msh", "off", "ply", "stl", "vtk", "vtu", "xdmf")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the bytes of one mesh of triangles in each format."""
    folder = tmp_path_factory.mktemp("whole")
    quads = rectangle(1.0, 1.0, (3, 3)).cells[:, :4]
    corners = rectangle(1.0, 1.0, (3, 3)).points
    points = np.column_stack([corners, np.zeros(len(corners))])
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    found = {}
    for kind in KINDS:
        path = folder / f"whole.{kind}"
        more = {"file_format": "gmsh22", "binary": False} if kind == "msh" else {}
        meshio.Mesh(points, [("triangle", triangles.astype(np.int32))]).write(path, **more)
        found[kind] = path.read_bytes()
    return found


def damaged(raw, rng):
    """Return bytes with a bit flipped, a number changed, the end truncated, or a part doubled."""
    made = bytearray(raw)
    at = rng.randrange(len(made))
    how = rng.randrange(4)
    if how == 0:
        made[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        digits = [k for k, byte in enumerate(made) if 48 <= byte <= 57]
        at = rng.choice(digits)
        made[at : at + 1] = rng.choice([b"-1", b"nan", b"99999999999", b"1e400", b"0", b"x"])
    elif how == 2:
        del made[at:]
    else:
        made[at:at] = made[at // 2 :]
    return bytes(made)


def read_or_refused(path):
    """Return whether a file is read, to finite points; else it is refused, by no other error."""
    try:
        mesh = Mesh.read(path)
    except ModelError:
        return False
    assert np.isfinite(mesh.points).all()
    return True


def test_damage_is_read_or_refused(whole, tmp_path):
    rng = random.Random(1)
    for kind in KINDS:
        path = tmp_path / f"damaged.{kind}"
        path.write_bytes(whole[kind])
        # points of STL are not shared, and XDMF has its numbers in a second file
        assert read_or_refused(path) or kind in ("stl", "xdmf"), kind
        path.write_bytes(damaged(whole[kind], rng))
        read_or_refused(path)


def test_arrays_of_damaged_files_fit_together(whole, tmp_path, monkeypatch):
    """Arrays from the child process are checked before use."""

    def here(path, imports, work, **bounds):
        try:
            return files.packed(str(path))
        except (Exception, SystemExit) as error:
            raise ValueError(str(error)) from error

    monkeypatch.setattr(files, "read_in_child", here)
    rng = random.Random(2)
    # the readers of the others may loop without end
    count = [0, 0]
    for kind in ("bdf", "inp", "msh", "stl", "vtk", "vtu", "xdmf") * 40:
        path = tmp_path / f"damaged.{kind}"
        path.write_bytes(damaged(whole[kind], rng))
        count[read_or_refused(path)] += 1
    assert min(count) > 10


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # meshio waits for a line that is no comment, behind the end too
        ("comment.off", "OFF\n# a comment\n"),
        ("cut.ply", "ply\nformat ascii 1.0\nelement vertex 3\n"),
    ],
)
def test_slow_files_are_given_up(tmp_path, monkeypatch, name, text):
    monkeypatch.setattr(core_files, "_LEAST_S", 3.0)
    (tmp_path / name).write_text(text)
    with pytest.raises(ModelError, match="a mesh file"):
        Mesh.read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_no_file_of_a_mesh(tmp_path):
    os.mkfifo(tmp_path / "pipe.msh")
    with pytest.raises(ModelError, match="a mesh file"):
        Mesh.read(tmp_path / "pipe.msh")


@pytest.mark.parametrize(
    ("cells", "message"),
    [([[0, 1, 9]], "beyond the 3 points"), ([[0, 1, 2, 0]], r"shape \(1, 4\)")],
)
def test_cells_must_fit_the_points(monkeypatch, cells, message):
    class Block:
        type = "triangle"
        data = np.array(cells)

    class File:
        points = np.zeros((3, 3))
        cells = (Block(),)
        field_data = cell_data = cell_sets = point_sets = {}  # noqa: RUF012

    monkeypatch.setattr(meshio, "read", lambda path: File())
    with pytest.raises(ValueError, match=message):
        files.packed("x")


def test_what_the_child_prints_is_not_its_answer(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("abc")
    work = "(print('noise'), open(path, 'rb').read())[1]"
    bounds = {"bytes_per_s": 1e6, "memory_per_byte": 1}
    assert core_files.read_in_child(path, "print('more noise')", work, **bounds) == b"abc"
    with pytest.raises(ValueError, match="ZeroDivisionError: division by zero"):
        core_files.read_in_child(path, "", "1 / 0", **bounds)
    with pytest.raises(ValueError, match="MemoryError"):
        core_files.read_in_child(path, "", "bytes(1 << 40)", **bounds)
    assert io.BytesIO(core_files.read_in_child(path, "", "b''", **bounds)).read() == b""
