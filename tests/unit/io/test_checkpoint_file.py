"""Checkpoints: saved in one step, given back only to the run they belong to."""

import os

import numpy as np
import pytest

from stiction.errors import StoreError
from stiction.io.checkpoint_file import (
    FileCheckpoint,
    checkpoint_path,
)
from stiction.io.locks import mark_in_use

STATE = {"x": np.sqrt(np.arange(5.0)), "step": np.array(17), "mode": np.array([1, 0, -1], np.int8)}


@pytest.fixture
def path(tmp_path):
    return checkpoint_path(tmp_path / "out" / "run")


def test_it_lies_hidden_beside_the_result(path, tmp_path):
    assert path == tmp_path / "out" / ".run.checkpoint"


def test_at_most_ten_seconds_of_work_are_lost(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    saved = FileCheckpoint(path, "problem")
    for clock, due in [(109.99, False), (110.0, True)]:
        now[0] = clock
        assert saved.due() is due


def test_state_survives(path):
    FileCheckpoint(path, "problem").save(STATE)
    state = FileCheckpoint(path, "problem", resume=True).load()
    assert state.keys() == STATE.keys()
    for name, values in STATE.items():
        assert state[name].dtype == values.dtype
        assert np.array_equal(state[name], values)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_without_resume_a_run_starts_afresh(path):
    FileCheckpoint(path, "problem").save(STATE)
    assert FileCheckpoint(path, "problem").load() is None


def test_without_a_file_a_run_starts_afresh(path):
    assert FileCheckpoint(path, "problem", resume=True).load() is None
    assert not path.parent.exists()


def test_due_by_wall_time(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("stiction.io.checkpoint_file.clock.monotonic", lambda: now[0])
    checkpoint = FileCheckpoint(path, "problem", every=10.0)
    assert not checkpoint.due()
    now[0] = 110.0
    assert checkpoint.due()
    checkpoint.save(STATE)
    assert not checkpoint.due()


def test_another_problem_is_refused(path):
    FileCheckpoint(path, "problem").save(STATE)
    with pytest.raises(StoreError, match="another problem"):
        FileCheckpoint(path, "other problem", resume=True).load()


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"x" * 99])
def test_a_damaged_file_is_refused(path, damage):
    FileCheckpoint(path, "problem").save(STATE)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match="cannot be read"):
        FileCheckpoint(path, "problem", resume=True).load()


def test_objects_are_refused(path):
    with pytest.raises(ValueError, match="pickle"):
        FileCheckpoint(path, "problem").save({"x": np.array([{}])})
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    checkpoint = FileCheckpoint(tmp_path / "file" / "c", "problem")
    with pytest.raises(StoreError, match="needs a file that can be written"):
        checkpoint.save(STATE)


def test_removed_after_success(path):
    checkpoint = FileCheckpoint(path, "problem")
    checkpoint.save(STATE)
    checkpoint.remove()
    checkpoint.remove()
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_does_not_end_the_run(path, tmp_path):
    warn = []
    checkpoint = FileCheckpoint(path, "problem", resume=True, warn=warn.append)
    checkpoint.save(STATE)
    path.parent.rename(tmp_path / "elsewhere")
    path.parent.write_text("")
    for _ in range(2):
        checkpoint.save({"x": np.zeros(2)})
    (text,) = warn
    assert all(word in text for word in ("got", "needs", "Why:", "Try: free space on the disk"))
    path.parent.unlink()
    (tmp_path / "elsewhere").rename(path.parent)
    assert np.array_equal(checkpoint.load()["x"], STATE["x"])
    checkpoint.save({"x": np.zeros(2)})
    assert checkpoint.load()["x"].size == 2


def test_what_is_cut_short_leaves_no_file(path, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    checkpoint = FileCheckpoint(path, "problem")
    checkpoint.save(STATE)
    monkeypatch.setattr(np, "savez", press)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(STATE)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", [".run.checkpoint", "long.checkpoint"])
def test_partial_files_of_killed_runs_are_removed_those_of_others_preserved(
    tmp_path, name, monkeypatch
):
    def refused(*_):
        raise OSError(5, "Input/output error")

    path = tmp_path / name
    checkpoint = FileCheckpoint(path, "problem")
    checkpoint.save(STATE)
    with monkeypatch.context() as killed:
        # what a kill before the rename leaves
        killed.setattr(os, "replace", refused)
        killed.setattr(type(path), "unlink", refused)
        with pytest.raises(StoreError):
            checkpoint.save(STATE)
    (half,) = set(tmp_path.iterdir()) - {path}
    theirs = half.with_name(half.name.replace(".part", "0.part"))
    with theirs.open("wb") as alive:
        mark_in_use(alive.fileno())
        checkpoint.remove()
        assert list(tmp_path.iterdir()) == [theirs]


def test_every_bit_counts(path):
    FileCheckpoint(path, "problem").save(STATE)
    data = path.read_bytes()
    rng = np.random.default_rng(3)
    for at in rng.integers(0, len(data), 50):
        harmed = bytearray(data)
        harmed[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(harmed)
        with pytest.raises(StoreError, match="cannot be read"):
            FileCheckpoint(path, "problem", resume=True).load()
        assert FileCheckpoint(path, "problem", resume=True).kernels() is None


def test_a_file_without_a_digest_is_refused(path):
    FileCheckpoint(path, "problem").save(STATE)
    with np.load(path) as file:
        saved = dict(file)
    with path.open("wb") as file:
        np.savez(file, **saved)
    with pytest.raises(StoreError, match="no digest") as caught:
        FileCheckpoint(path, "problem", resume=True).load()
    assert "earlier version" in str(caught.value)


def test_what_is_no_file_is_refused(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be read"):
        FileCheckpoint(path, "problem", resume=True).load()
