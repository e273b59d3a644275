"""A solved run is saved somewhere, whatever becomes of the folder that it was meant for."""

import dataclasses
import errno
import io
import os
import tempfile

import numpy as np
import pytest

from stiction.errors import Status, StoreError
from stiction.io.checkpoint_file import FileCheckpoint, checkpoint_path
from stiction.io.final_save import SavedRun, save_run
from stiction.io.staging import claimed
from stiction.io.store import FiguresError, load, save


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Nothing here outlasts the machine, so nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder, and another for temporary files."""
    for name in ("here", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    return tmp_path / "here"


def put(run, folder, *, overwrite=False, draw=None):
    with claimed(folder, overwrite=overwrite) as claim:
        checkpoint = FileCheckpoint(checkpoint_path(claim.path), "problem")
        checkpoint.save({"x": np.zeros(3)})
        return save_run(run, claim, folder, checkpoint, scenario="", draw=draw)


def fill(monkeypatch, *folders):
    """Let no file below these folders take a byte."""
    opened = io.open

    def full(path, mode="r", *args, **options):
        below = any(str(path).startswith(str(folder)) for folder in folders)
        if below and set("wxa") & set(mode) and "checkpoint" not in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return opened(path, mode, *args, **options)

    monkeypatch.setattr(io, "open", full)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_run_is_put_where_it_belongs(run, here):
    saved = put(run, here / "run", draw=lambda folder: folder.mkdir())
    assert saved == SavedRun(here / "run")
    assert str(saved) == f"written to   {here / 'run'}"
    assert names(here) == ["run"]


def test_a_full_disk_costs_no_run(run, here, monkeypatch):
    fill(monkeypatch, here)
    with pytest.raises(StoreError) as caught:
        put(run, here / "run")
    (folder,) = (here.parent / "tmp").iterdir()
    assert "got No space left on device; needs" in str(caught.value)
    assert f"completely in {folder}; move that folder to the" in str(caught.value)
    assert np.array_equal(load(folder).variables["x"].values, run.variables["x"].values)
    assert names(here) == []


def test_where_nothing_has_room_the_checkpoint_is_preserved(run, here, monkeypatch):
    fill(monkeypatch, here.parent)
    with pytest.raises(StoreError, match="add --resume to continue from it"):
        put(run, here / "run")
    assert names(here) == [".run.checkpoint"]
    assert names(here.parent / "tmp") == []


def test_too_little_memory_is_no_end(run, here, monkeypatch):
    def none(*_):
        raise MemoryError

    monkeypatch.setattr("stiction.io.store.write_netcdf", none)
    with pytest.raises(StoreError, match="got too little memory") as caught:
        put(run, here / "run")
    assert "needs memory for" in str(caught.value)
    assert names(here) == [".run.checkpoint"]


def test_a_folder_that_appeared_costs_no_run(run, here):
    with claimed(here / "run") as claim:
        (here / "run").mkdir()
        with pytest.raises(StoreError, match="a folder that exists"):
            save_run(run, claim, here / "run", FileCheckpoint(here / "c", ""), scenario="")
    saved, theirs = sorted(here.iterdir(), reverse=True)
    assert theirs.name == "run"
    assert names(theirs) == []
    assert load(saved).status.ok


def test_a_failed_run_lands_beside_a_good_one(run, make_run, here):
    save(run, here / "run")
    failed = make_run(status=Status.UNCONVERGED, reason="why")
    for _ in range(2):
        saved = put(failed, here / "run", overwrite=True)
        assert saved == SavedRun(here / "run.failed", here / "run")
        assert "run.failed\nunchanged " in str(saved)
        assert "run is unchanged" in saved.partial_text
        assert names(here) == ["run", "run.failed"]
    assert load(here / "run").status.ok
    assert load(here / "run.failed").status is Status.UNCONVERGED
    assert '"instead_of": "run"' in (here / "run.failed" / "summary.json").read_text()
    # a failed one is replaced by whatever comes
    assert put(failed, here / "run.failed", overwrite=True).instead is None
    assert put(run, here / "run.failed", overwrite=True).instead is None
    assert names(here) == ["run", "run.failed"]


def test_beside_it_nothing_is_lost_either(run, make_run, here):
    failed = make_run(status=Status.WORK_LIMIT, reason="why")
    for name in ("run", "run.failed"):
        save(run, here / name)
    save(failed, here / "run.failed-2")
    (here / "run.failed-2" / "notes.txt").write_text("mine")
    with claimed(here / "run.failed-3"):
        assert failed.save(here / "run", overwrite=True) == here / "run.failed-4"
    assert all(load(here / name).status.ok for name in ("run", "run.failed"))


def test_what_cannot_be_read_is_taken_for_good(make_run, here):
    failed = make_run(status=Status.WORK_LIMIT, reason="why")
    save(failed, here / "run")
    for text in ("", "[]", '{"status": "splendid"}'):
        (here / "run" / "summary.json").write_text(text)
        assert failed.save(here / "run", overwrite=True) == here / "run.failed"


def test_a_disk_without_room_for_figures(run, here):
    def draw(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FiguresError, match=r"no figures \(No space left on device\)") as caught:
        put(run, here / "run", draw=draw)
    assert f"stiction plot {here / 'run'}" in str(caught.value)
    assert load(here / "run").status.ok
    assert names(here) == ["run"]


def test_an_interrupt_before_the_figures_is_one(run, here, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    assert put(run, here / "drawing", draw=press) == SavedRun(here / "drawing", drawn=False)
    # an untrusted run is drawn, too, and lands beside a good one
    doubted = dataclasses.replace(run, status=Status.UNTRUSTED)
    saved = put(doubted, here / "drawing", overwrite=True, draw=press)
    assert saved == SavedRun(here / "drawing.failed", here / "drawing", drawn=False)
    monkeypatch.setattr("stiction.io.store.write_netcdf", press)
    with pytest.raises(KeyboardInterrupt):
        put(run, here / "run", draw=press)
    assert names(here) == [".run.checkpoint", "drawing", "drawing.failed"]
