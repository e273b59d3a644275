"""Folders that appear complete or not at all."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stiction.errors import StoreError
from stiction.io import staging
from stiction.io.locks import mark_in_use, take
from stiction.io.staging import MARK, TABLE, check_target, claimed, staged


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


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_while_a_folder_is_claimed_leaves_nothing(tmp_path, monkeypatch, when):
    def taken(path):
        if when == "before":
            signal.raise_signal(signal.SIGINT)
        lock = take(path)
        if when == "after":
            signal.raise_signal(signal.SIGINT)
        return lock

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(staging, "take", taken)
    try:
        with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "a" / "run"):
            pytest.fail("the folder was claimed")
    finally:
        signal.signal(signal.SIGINT, before)
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
        "from stiction.io.staging import staged\n"
        "with staged(Path(sys.argv[1])) as stage:\n"
        "    (stage.folder / 'half').write_text('')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=False)
    assert done.returncode == -9
    lock, leftover = sorted(tmp_path.iterdir())
    assert lock.name == ".run.lock"
    assert leftover.name.startswith(".run.partial-")
    with staged(tmp_path / "run") as alive:
        assert not leftover.exists()
        alive.complete()
    assert listing(tmp_path) == ["run"]


def test_the_second_of_two_runs_is_refused(tmp_path):
    run = tmp_path / "run"
    with claimed(run) as claim, staged(claim) as alive:
        for second in (claimed(run), claimed(run, overwrite=True), staged(run)):
            with pytest.raises(StoreError, match=rf"process {os.getpid()} on .*, since") as caught:
                second.__enter__()
            assert all(word in str(caught.value) for word in ("needs", "Why:", "Try:"))
        # neither is the first one's folder taken for a leftover
        assert alive.folder.exists()
        alive.complete()
    assert listing(tmp_path) == ["run"]


def test_a_run_that_ended_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """It ends between the look at the folder and the lock."""
    taken = staging._first_taken

    def late(path, ended):
        path.mkdir()
        return taken(path, ended)

    monkeypatch.setattr(staging, "_first_taken", late)
    with pytest.raises(StoreError, match="a folder that exists"), claimed(tmp_path / "run"):
        raise AssertionError
    assert listing(tmp_path) == ["run"]


def test_a_claim_leaves_no_folders(tmp_path):
    with claimed(tmp_path / "a" / "b" / "run"):
        assert listing(tmp_path) == ["a", "a/b", "a/b/.run.lock"]
    assert listing(tmp_path) == []


def test_a_parent_that_another_run_removed_is_made_again(tmp_path, monkeypatch):
    taken, tries = staging._take, []

    def late(path):
        tries.append(path)
        if len(tries) == 1:
            path.parent.rmdir()
        return taken(path)

    monkeypatch.setattr(staging, "_take", late)
    with claimed(tmp_path / "a" / "run"):
        assert listing(tmp_path) == ["a", "a/.run.lock"]
    assert len(tries) == 2
    assert listing(tmp_path) == []


def test_a_folder_that_vanished_is_made_again(tmp_path):
    with claimed(tmp_path / "a" / "run") as claim:
        shutil.rmtree(tmp_path / "a")
        with staged(claim) as stage:
            (stage.folder / MARK).write_text("1")
            stage.complete()
    assert listing(tmp_path) == ["a", "a/run", f"a/run/{MARK}"]


def test_a_claim_that_another_took_meanwhile_is_lost(tmp_path):
    with claimed(tmp_path / "run") as claim:
        (tmp_path / ".run.lock").unlink()
        with claimed(tmp_path / "run"), pytest.raises(StoreError, match="about to write"):
            claim.renew()
    assert listing(tmp_path) == []


def test_what_belongs_to_other_runs_is_no_leftover(tmp_path):
    theirs = [".run.old-1.checkpoint", ".run.partial-a.lock", ".run2.partial-abc", ".runs.old-1"]
    for name in theirs:
        (tmp_path / name).write_text("")
    ours = [".run.checkpoint.new-1234abcd", ".run.checkpoint.new"]
    for name in ours:
        (tmp_path / name).write_text("")
    (tmp_path / ".run.checkpoint.try-1234abcd").mkdir()
    # a run of an earlier version locks its hidden folder, and knows nothing of claims
    earlier = tmp_path / ".run.partial-earlier"
    earlier.mkdir()
    descriptor = os.open(earlier, os.O_RDONLY)
    mark_in_use(descriptor)
    write(tmp_path / "run")
    os.close(descriptor)
    left = sorted([*theirs, earlier.name])
    assert listing(tmp_path) == [*left, "run", f"run/{MARK}"]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["notes.txt", "figures/mine.png"], "figures/mine.png, notes.txt"),
        (["figures/phase.png.bak"], "figures/phase.png.bak"),
        (["figures/more/phase.png"], "figures/more/"),
        (["more/run.nc"], "more/"),
        ([f"{k}.txt" for k in range(7)], "0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 2 more"),
    ],
)
def test_files_of_the_user_are_named(tmp_path, names, told):
    run = tmp_path / "run"
    write(run, "old")
    for name in names:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("mine")
    before = listing(tmp_path)
    with pytest.raises(StoreError) as caught:
        check_target(run, overwrite=True)
    assert f"files of yours in it: {told}; needs" in str(caught.value)
    assert listing(tmp_path) == before


def test_files_that_appear_meanwhile_are_kept(tmp_path):
    run = tmp_path / "run"
    write(run, "old")

    def race():
        with staged(run, overwrite=True) as stage:
            (run / "notes.txt").write_text("mine")
            stage.complete()

    with pytest.raises(StoreError, match=r"notes\.txt"):
        race()
    assert listing(tmp_path) == ["run", "run/notes.txt", f"run/{MARK}"]


def test_what_we_wrote_is_replaced(tmp_path):
    run = tmp_path / "run"
    write(run, "old")
    ours = ["figures/phase.png", "figures/phase.pdf", "figures/animation.gif", "run.nc"]
    ours += ["figures/.phase.png.part", "figures/spectrum.svg", ".DS_Store", "snapshots.vtkhdf"]
    (run / "figures" / "empty").mkdir(parents=True)
    for name in ours:
        (run / name).write_text("")
    write(run, overwrite=True)
    assert listing(tmp_path) == ["run", f"run/{MARK}"]


def test_a_table_is_replaced_with_its_runs_alone(tmp_path):
    folder = tmp_path / "5"
    write(folder / "wave")
    for name in (TABLE, "comparison.csv", "5.png", "5.csv"):
        (folder / name).write_text("")
    assert check_target(folder, overwrite=True) == folder
    (folder / "wave" / "notes.txt").write_text("")
    with pytest.raises(StoreError, match=r"wave/notes\.txt"):
        check_target(folder, overwrite=True)


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
