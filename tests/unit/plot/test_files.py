"""Formats of figures, and what killed drawings left."""

import os
import time

import pytest

from stiction.errors import ModelError
from stiction.plot.files import check_looks, written


def test_old_files_of_killed_drawings_are_removed(tmp_path):
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
