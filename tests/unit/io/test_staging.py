"""Folders that appear complete or not at all."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stiction.errors import StoreError
from stiction.io import staging
from stiction.io.contents import SUMMARY, TABLE
from stiction.io.locks import acquire
from stiction.io.staging import check_target, claimed, staged, whereabouts

WRITTEN = ["run", "run/run.nc", f"run/{SUMMARY}"]
STEPS = ("rename", "fsync", "unlink", "rmdir")


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write(path, text="new", overwrite=False):
    with staged(path, overwrite=overwrite) as folder:
        (folder / SUMMARY).write_text(text)
        (folder / "run.nc").write_text(text * 2)


def test_folder_appears_complete_or_not_at_all(tmp_path):
    with staged(tmp_path / "a" / "b") as folder:
        (folder / SUMMARY).write_text("1")
        assert not (tmp_path / "a" / "b").exists()
        assert folder.parent == tmp_path / "a"
    assert listing(tmp_path) == ["a", "a/b", f"a/b/{SUMMARY}"]


def test_an_error_leaves_nothing(tmp_path):
    def fail():
        with staged(tmp_path / "run") as folder:
            (folder / SUMMARY).write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert listing(tmp_path) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_while_a_folder_is_claimed_leaves_nothing(tmp_path, monkeypatch, when):
    def taken(path):
        if when == "before":
            signal.raise_signal(signal.SIGINT)
        lock = acquire(path)
        if when == "after":
            signal.raise_signal(signal.SIGINT)
        return lock

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(staging, "acquire", taken)
    try:
        with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "a" / "run"):
            pytest.fail("the folder was claimed")
    finally:
        signal.signal(signal.SIGINT, before)
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
        (lambda p: (p.mkdir(), (p / "thesis.tex").write_text("")), True, "other files"),
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
    assert (run / SUMMARY).read_text() == "old"
    write(run, "new", overwrite=True)
    assert listing(tmp_path) == WRITTEN
    assert (run / SUMMARY).read_text() == "new"


def test_a_folder_that_appears_meanwhile_is_preserved(tmp_path):
    run = tmp_path / "run"

    def race():
        with staged(run):
            run.mkdir()
            (run / "theirs").write_text("")

    with pytest.raises(StoreError, match="a folder that exists"):
        race()
    assert listing(tmp_path) == ["run", "run/theirs"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks of folders are a POSIX thing")
def test_leftovers_of_killed_runs_are_removed(tmp_path):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from stiction.io.staging import staged\n"
        "with staged(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').write_text('')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=False)
    assert done.returncode == -9
    lock, leftover = sorted(tmp_path.iterdir())
    assert lock.name == ".run.lock"
    assert leftover.name.startswith(".run.partial-")
    with staged(tmp_path / "run"):
        assert not leftover.exists()
    assert listing(tmp_path) == ["run"]


def test_the_second_of_two_runs_is_refused(tmp_path):
    run = tmp_path / "run"
    with claimed(run) as claim, staged(claim) as alive:
        for second in (claimed(run), claimed(run, overwrite=True), staged(run)):
            with pytest.raises(StoreError, match=rf"process {os.getpid()} on .*, since") as caught:
                second.__enter__()
            assert all(word in str(caught.value) for word in ("needs", "Why:", "Try:"))
        # neither is the first one's folder taken for a leftover
        assert alive.exists()
    assert listing(tmp_path) == ["run"]


def test_a_run_that_ended_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    """It ends between the look at the folder and the lock."""
    taken = staging._acquire

    def late(path):
        path.mkdir()
        return taken(path)

    monkeypatch.setattr(staging, "_acquire", late)
    with pytest.raises(StoreError, match="a folder that exists"), claimed(tmp_path / "run"):
        raise AssertionError
    assert listing(tmp_path) == ["run"]


def test_a_claim_leaves_no_folders(tmp_path):
    with claimed(tmp_path / "a" / "b" / "run"):
        assert listing(tmp_path) == ["a", "a/b", "a/b/.run.lock"]
    assert listing(tmp_path) == []


def test_a_parent_that_another_run_removed_is_made_again(tmp_path, monkeypatch):
    taken, tries = staging._acquire, []

    def late(path):
        tries.append(path)
        if len(tries) == 1:
            path.parent.rmdir()
        return taken(path)

    monkeypatch.setattr(staging, "_acquire", late)
    with claimed(tmp_path / "a" / "run"):
        assert listing(tmp_path) == ["a", "a/.run.lock"]
    assert len(tries) == 2
    assert listing(tmp_path) == []


def test_a_folder_that_vanished_is_made_again(tmp_path):
    with claimed(tmp_path / "a" / "run") as claim:
        shutil.rmtree(tmp_path / "a")
        with staged(claim) as folder:
            (folder / SUMMARY).write_text("1")
    assert listing(tmp_path) == ["a", "a/run", f"a/run/{SUMMARY}"]


def test_a_claim_that_another_took_meanwhile_is_lost(tmp_path):
    with claimed(tmp_path / "run") as claim:
        (tmp_path / ".run.lock").unlink()
        with claimed(tmp_path / "run"), pytest.raises(StoreError, match="will write its result"):
            claim.renew()
    assert listing(tmp_path) == []


def test_what_belongs_to_other_runs_is_no_leftover(tmp_path):
    theirs = [".run.checkpoint", ".run.old-1.checkpoint", ".run.checkpoint.1234abcd.lock"]
    theirs += [".run.partial-a.lock", ".run2.partial-abc", ".runs.old-1"]
    for name in theirs:
        (tmp_path / name).write_text("")
    (tmp_path / ".run.checkpoint.1234abcd.part").write_text("")
    (tmp_path / ".run.partial-1234abcd").mkdir()
    write(tmp_path / "run")
    assert listing(tmp_path) == [*sorted(theirs), *WRITTEN]


@pytest.mark.parametrize(
    ("names", "warn"),
    [
        (["notes.txt", "figures/mine.png"], "figures/mine.png, notes.txt"),
        (["figures/phase.png.bak"], "figures/phase.png.bak"),
        (["figures/more/phase.png"], "figures/more/"),
        (["more/run.nc"], "more/"),
        ([f"{k}.txt" for k in range(7)], "0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 2 more"),
    ],
)
def test_files_of_the_user_are_named(tmp_path, names, warn):
    run = tmp_path / "run"
    write(run, "old")
    for name in names:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("mine")
    before = listing(tmp_path)
    with pytest.raises(StoreError) as caught:
        check_target(run, overwrite=True)
    assert f"files of yours in it: {warn}; needs" in str(caught.value)
    assert listing(tmp_path) == before


def test_files_that_appear_meanwhile_are_preserved(tmp_path):
    run = tmp_path / "run"
    write(run, "old")

    def race():
        with staged(run, overwrite=True):
            (run / "notes.txt").write_text("mine")

    with pytest.raises(StoreError, match=r"notes\.txt"):
        race()
    assert listing(tmp_path) == sorted([*WRITTEN, "run/notes.txt"])


def test_what_we_wrote_is_replaced(tmp_path):
    run = tmp_path / "run"
    write(run, "old")
    ours = ["figures/phase.png", "figures/phase.pdf", "figures/animation.gif", "run.nc"]
    ours += ["figures/.phase.png.part", "figures/spectrum.svg", ".DS_Store", "snapshots.vtkhdf"]
    (run / "figures" / "empty").mkdir(parents=True)
    for name in ours:
        (run / name).write_text("")
    write(run, overwrite=True)
    assert listing(tmp_path) == WRITTEN


def test_a_table_is_replaced_with_its_runs_alone(tmp_path):
    folder = tmp_path / "5"
    write(folder / "wave")
    for name in (TABLE, "comparison.csv", "5.png", "5-small.png", "5.csv"):
        (folder / name).write_text("")
    assert check_target(folder, overwrite=True) == folder
    (folder / "wave" / "notes.txt").write_text("")
    for name in ("measured.csv", "rig.png"):
        (folder / name).write_text("")
    with pytest.raises(StoreError, match=r"measured\.csv, rig\.png, wave/notes\.txt"):
        check_target(folder, overwrite=True)


def test_an_older_result_set_aside_is_found_and_given_back(tmp_path):
    run, aside = tmp_path / "run", tmp_path / ".run.old-0123abcd"
    assert whereabouts(run) == run
    write(run, "old")
    # what is there when a run is killed between the two renames
    run.rename(aside)
    (tmp_path / ".run.partial-xyz").mkdir()
    assert whereabouts(run) == aside
    with pytest.raises(StoreError, match="a folder that exists"), staged(run):
        pytest.fail("the folder was claimed")
    assert whereabouts(run) == run
    assert read(run) == "old"
    assert listing(tmp_path) == WRITTEN


def read(path):
    folder = whereabouts(path)
    text = (folder / SUMMARY).read_text()
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
        with staged(path, overwrite=True) as folder:
            (folder / SUMMARY).write_text("new")
            (folder / "run.nc").write_text("newnew")
            for name in STEPS:
                setattr(os, name, counted(getattr(os, name)))
    finally:
        os._exit(0)


@pytest.mark.skipif(sys.platform == "win32", reason="kills by POSIX signals")
def test_a_kill_hides_nothing(tmp_path, monkeypatch):
    # nothing here outlasts the machine, so nothing waits for the disk
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    path = tmp_path / "run"
    seen = []
    for step in itertools.count():
        write(path, "old", overwrite=True)
        if not killed_after(step, path):
            break
        seen.append(read(path))
        write(path, "again", overwrite=True)
        assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert seen[0] == "old"
    assert seen[-1] == "new"
    # once the new one is there it stays
    assert seen == sorted(seen, reverse=True)
    assert len(seen) > 10


@pytest.mark.parametrize("there", [True, False])
def test_a_rename_that_fails_gives_the_old_one_back(tmp_path, monkeypatch, there):
    if there:
        write(tmp_path / "run", "old")
    real, before = os.rename, listing(tmp_path)

    def refuse(a, b):
        if ".partial-" in str(a):
            raise OSError(5, "Input/output error")
        real(a, b)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(StoreError, match="Input/output"):
        write(tmp_path / "run", "new", overwrite=True)
    assert listing(tmp_path) == before
    assert not there or read(tmp_path / "run") == "old"
