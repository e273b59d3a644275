"""Files take their place complete, and never meet those of another process."""

import os

import pytest

from stiction.core.files import atomic_write, writing
from stiction.errors import StoreError


def test_two_writers_do_not_collide(tmp_path):
    path = tmp_path / "figures" / "phase.png"
    with atomic_write(path) as one:
        one.write_text("one")
        with atomic_write(path) as two:
            assert two != one
            two.write_text("two")
        assert path.read_text() == "two"
    assert path.read_text() == "one"
    assert [p.name for p in path.parent.iterdir()] == ["phase.png"]


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / ".run.checkpoint"
    path.write_text("old")

    def write():
        with atomic_write(path) as partial:
            partial.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "old"


def test_the_content_is_on_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    with atomic_write(tmp_path / "a", sync=True) as partial:
        partial.write_text("whole")
    with atomic_write(tmp_path / "a") as partial:
        partial.write_text("whole")
    assert calls == ["fsync", "replace", "replace"]


def test_a_refusal_says_why(tmp_path):
    with pytest.raises(StoreError) as caught, writing("save", "room", "it is small.", "less."):
        raise OSError(28, "No space left on device")
    text = "save: got No space left on device; needs room.\nWhy: it is small.\nTry: less."
    assert str(caught.value) == text
    with pytest.raises(StoreError, match="mine"), writing("save", "room", "", ""):
        raise StoreError("mine")
    with pytest.raises(ValueError, match="other"), writing("save", "room", "", ""):
        raise ValueError("other")
