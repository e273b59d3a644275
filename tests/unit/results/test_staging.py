"""Folders that appear complete or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stiction.errors import StoreError
from stiction.results.staging import MARK, check_target, staged


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write(path, text="new", overwrite=False):
    with staged(path, overwrite=overwrite) as stage:
        (stage.folder / MARK).write_text(text)
        stage.complete()


def test_folder_appears_complete_or_not_at_all(tmp_path):
    with staged(tmp_path / "a" / "b") as stage:
        (stage.folder / MARK).write_text("1")
        assert not (tmp_path / "a" / "b").exists()
        assert stage.folder.parent == tmp_path / "a"
        stage.complete()
    assert listing(tmp_path) == ["a", "a/b", f"a/b/{MARK}"]


def test_an_error_leaves_nothing(tmp_path):
    def fail():
        with staged(tmp_path / "run") as stage:
            (stage.folder / MARK).write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert listing(tmp_path) == []


def test_what_is_not_completed_is_removed(tmp_path):
    with staged(tmp_path / "run") as stage:
        (stage.folder / MARK).write_text("1")
    assert listing(tmp_path) == []


def test_result_is_as_readable_as_other_files(tmp_path):
    write(tmp_path / "run")
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "run").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("make", "overwrite", "got"),
    [
        (lambda p: p.mkdir(), False, "a folder that exists"),
        (lambda p: p.write_text(""), False, "a file or link"),
        (lambda p: p.write_text(""), True, "a file or link"),
        (lambda p: p.symlink_to("nowhere"), True, "a file or link"),
        (lambda p: (p.mkdir(), (p / "thesis.tex").write_text("")), True, "other things in it"),
        (lambda p: p.parent.joinpath("f").write_text(""), False, "Not a directory"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path, make, overwrite, got):
    target = tmp_path / "run"
    make(target)
    if got == "Not a directory":
        target = tmp_path / "f" / "run"
    before = listing(tmp_path)
    with pytest.raises(StoreError) as caught:
        check_target(target, overwrite=overwrite)
    assert got in str(caught.value)
    assert all(word in str(caught.value) for word in ("needs", "Why:", "Try:"))
    assert listing(tmp_path) == before


@pytest.mark.parametrize("name", ["", "  ", ".", "a\x00b", "n" * 300])
def test_names_that_are_no_folder_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError):
        check_target(Path(name))
    assert listing(tmp_path) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            check_target(tmp_path / "new" / "run")
    finally:
        tmp_path.chmod(0o700)


def test_the_current_folder_is_never_overwritten(tmp_path, monkeypatch):
    run = tmp_path / "run"
    write(run)
    inside = run / "inside"
    inside.mkdir()
    for here in (run, inside):
        monkeypatch.chdir(here)
        with pytest.raises(StoreError, match="current folder"):
            check_target(run, overwrite=True)
    monkeypatch.chdir(tmp_path)
    assert check_target(run, overwrite=True) == run


def test_overwriting_swaps(tmp_path):
    run = tmp_path / "run"
    write(run, "old")
    (run / "figures").mkdir()
    with pytest.raises(ZeroDivisionError), staged(run, overwrite=True):
        raise ZeroDivisionError
    assert (run / MARK).read_text() == "old"
    write(run, "new", overwrite=True)
    assert listing(tmp_path) == ["run", f"run/{MARK}"]
    assert (run / MARK).read_text() == "new"


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    run = tmp_path / "run"

    def race():
        with staged(run) as stage:
            run.mkdir()
            (run / "theirs").write_text("")
            stage.complete()

    with pytest.raises(StoreError, match="a folder that exists"):
        race()
    assert listing(tmp_path) == ["run", "run/theirs"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks of folders are a POSIX thing")
def test_leftovers_of_killed_runs_are_removed(tmp_path):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from stiction.results.staging import staged\n"
        "with staged(Path(sys.argv[1])) as stage:\n"
        "    (stage.folder / 'half').write_text('')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=False)
    assert done.returncode == -9
    (leftover,) = tmp_path.iterdir()
    assert leftover.name.startswith(".run.partial-")
    with staged(tmp_path / "run") as alive:
        # a second run of the same name must not take the first one's folder for a leftover
        assert not leftover.exists()
        with pytest.raises(ZeroDivisionError), staged(tmp_path / "run"):
            raise ZeroDivisionError
        assert alive.folder.exists()
        alive.complete()
    assert listing(tmp_path) == ["run"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks of folders are a POSIX thing")
def test_a_swap_cut_in_half_gives_the_old_result_back(tmp_path):
    write(tmp_path / "run", "old")
    # what is there when a run is killed between the two renames
    (tmp_path / "run").rename(tmp_path / ".run.old-0123abcd")
    (tmp_path / ".run.partial-xyz").mkdir()
    with pytest.raises(StoreError, match="a folder that exists"), staged(tmp_path / "run") as s:
        s.complete()
    assert (tmp_path / "run" / MARK).read_text() == "old"
    assert listing(tmp_path) == ["run", f"run/{MARK}"]
