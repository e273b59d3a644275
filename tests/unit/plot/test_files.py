"""Files take their place complete, and never meet those of another process."""

import os
import time

import pytest

from stiction.errors import ModelError
from stiction.plot.files import check_looks, written


def test_two_drawings_at_once_do_not_collide(tmp_path):
    path = tmp_path / "figures" / "phase.png"
    with written(path) as one:
        one.write_text("one")
        with written(path) as two:
            assert two != one
            two.write_text("two")
        assert path.read_text() == "two"
    assert path.read_text() == "one"
    assert [p.name for p in path.parent.iterdir()] == ["phase.png"]


def test_what_fails_leaves_nothing(tmp_path):
    path = tmp_path / "phase.png"

    def draw():
        with written(path) as partial:
            partial.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        draw()
    assert list(tmp_path.iterdir()) == []


def test_what_killed_drawings_left_goes_when_it_is_old(tmp_path):
    for name in (".phase.png.part", ".phase.png.0123abcd.part", ".slip.png.0123abcd.part"):
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (0, time.time() - 7200))
    (tmp_path / ".phase.png.4567cdef.part").write_text("being written")
    with written(tmp_path / "phase.png") as partial:
        partial.write_text("whole")
    left = [".phase.png.4567cdef.part", ".slip.png.0123abcd.part", "phase.png"]
    assert sorted(p.name for p in tmp_path.iterdir()) == left


def test_formats_and_dots():
    assert check_looks("png") == 150.0
    assert check_looks("svg", 300) == 300.0
    with pytest.raises(ModelError, match="did you mean 'pdf'"):
        check_looks("pfd")
    for dpi in (0.0, -1.0, 1e6, float("nan"), float("inf")):
        with pytest.raises(ModelError, match="needs a number from 10"):
            check_looks("png", dpi)
