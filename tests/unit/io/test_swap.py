"""Folders that change places: whole at every moment, whenever the process is killed."""

import itertools
import os
import signal
import sys

import pytest

from stiction.io import swap
from stiction.io.staging import MARK, staged
from stiction.io.swap import put_in_place, whereabouts

STEPS = ("rename", "fsync", "unlink", "rmdir")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Nothing here outlasts the machine, so nothing waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def renames(monkeypatch):
    """A file system that cannot exchange two folders."""
    monkeypatch.setattr(swap, "_exchange", lambda: None)


def write(path, text):
    with staged(path, overwrite=True) as stage:
        (stage.folder / MARK).write_text(text)
        (stage.folder / "run.nc").write_text(text * 2)
        stage.complete()


def read(path):
    folder = whereabouts(path)
    text = (folder / MARK).read_text()
    assert (folder / "run.nc").read_text() == text * 2
    return text


def killed_after(step, path):
    """Overwrite in another process, killed before or after one of its calls; False if it ends."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    count = itertools.count()

    def counted(call):
        def inner(*args, **options):
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*args, **options)
            if next(count) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return inner

    try:
        with staged(path, overwrite=True) as stage:
            (stage.folder / MARK).write_text("new")
            (stage.folder / "run.nc").write_text("newnew")
            for name in STEPS:
                setattr(os, name, counted(getattr(os, name)))
            known = swap._exchange()
            swap._exchange = lambda: known and counted(known)
            stage.complete()
    finally:
        os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="kills by POSIX signals")
@pytest.mark.parametrize("way", ["one step", "renames"])
def test_a_kill_hides_nothing(tmp_path, way, request):
    if way == "renames":
        request.getfixturevalue("renames")
    elif swap._exchange() is None:
        pytest.skip("this system knows no exchange of folders")
    path = tmp_path / "run"
    seen = []
    for step in itertools.count():
        write(path, "old")
        if not killed_after(step, path):
            break
        if way == "one step":
            assert path.is_dir()
        seen.append(read(path))
        write(path, "again")
        assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert seen[0] == "old"
    assert seen[-1] == "new"
    # once the new one is there it stays
    assert seen == sorted(seen, reverse=True)
    assert len(seen) > 10


def test_a_swap_that_fails_gives_the_old_one_back(tmp_path, monkeypatch, renames):
    write(tmp_path / "run", "old")
    real = os.rename

    def refuse(a, b):
        if ".partial-" in str(a):
            raise OSError(5, "Input/output error")
        real(a, b)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="Input/output"):
        write(tmp_path / "run", "new")
    assert read(tmp_path / "run") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_what_is_hidden_between_renames_is_found(tmp_path):
    hidden = tmp_path / ".run.old-0123abcd"
    assert whereabouts(tmp_path / "run") == tmp_path / "run"
    hidden.mkdir()
    assert whereabouts(tmp_path / "run") == hidden
    (tmp_path / "run").mkdir()
    assert whereabouts(tmp_path / "run") == tmp_path / "run"


def test_a_new_folder_needs_no_swap(tmp_path):
    (tmp_path / "fresh").mkdir()
    put_in_place(tmp_path / "fresh", tmp_path / "run", tmp_path / "aside")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("way", ["one step", "renames"])
def test_the_old_one_is_removed_last_and_under_no_name_of_a_result(
    tmp_path, way, request, monkeypatch
):
    if way == "renames":
        request.getfixturevalue("renames")
    write(tmp_path / "run", "old")
    parent, done, remove = tmp_path.stat().st_ino, [], swap.shutil.rmtree
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))

    def removed(folder, **options):
        assert ".partial-" in folder.name
        assert (folder / MARK).read_text() == "old"
        assert read(tmp_path / "run") == "new"
        assert done[-1] == parent
        remove(folder, **options)
        done.append("removed")

    monkeypatch.setattr(swap.shutil, "rmtree", removed)
    write(tmp_path / "run", "new")
    assert done[-1] == "removed"
    # files, and the folder that holds them, before it has its name
    assert len(done) == 5
