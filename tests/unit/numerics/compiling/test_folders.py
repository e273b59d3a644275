"""Where kernels are saved and read, and the message when no folder can be written."""

import os
import stat
import subprocess
import sys
import time

import pytest

from stiction.numerics.compiling import clock, folders

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    folders._fault.cache_clear()
    monkeypatch.setattr(folders, "_reported", {})
    for name in ("STICTION_CACHE_DIR", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    yield
    folders._fault.cache_clear()


def test_a_folder_made_for_kernels_is_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        found = folders.folder_for("<stdin>")
    finally:
        os.umask(before)
    assert found == tmp_path / "users" / "stiction"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700


def test_what_was_typed_in_lies_beside_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders.folder_for("<stdin>")
    assert not (tmp_path / "__pycache__").exists()


def test_what_root_has_compiled_is_read(tmp_path, monkeypatch):
    beside = tmp_path / "package" / "__pycache__"
    beside.mkdir(parents=True)
    own = tmp_path / "users" / "stiction"
    closed = {beside: "cannot be written: Permission denied"}
    # root may write anywhere: a folder that is closed to the user has to be played
    with monkeypatch.context() as patched:
        patched.setattr(folders, "_fault", lambda folder: closed.get(folder, ""))
        source = str(tmp_path / "package" / "module.py")
        assert folders.folder_for(source) == own
        assert folders.folders_to_read(source) == [beside, own]
        beside.chmod(0o777)
        assert folders.folders_to_read(source) == [own]


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_it_says_which_folder_and_why(tmp_path, monkeypatch, mode):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(mode)
    monkeypatch.setenv("STICTION_CACHE_DIR", str(open_to_all))
    assert folders.folder_for("module.py") is None
    assert folders.why_unusable("module.py") == (
        f"{open_to_all} can be written by others than you and root"
    )


def test_a_file_in_the_way(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path / "file"))
    assert folders.folder_for("module.py") is None
    assert "cannot be written" in folders.why_unusable("module.py")


def test_one_line_is_reported_once(capsys):
    folders.report_once("a kernel cannot be loaded", "KeyError: 'x'\nand much more\nbelow")
    folders.report_once("a kernel cannot be loaded", "another")
    assert capsys.readouterr().err == "stiction: a kernel cannot be loaded (KeyError: 'x')\n"


def test_a_program_without_a_console_goes_on(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    folders.report_once("a damaged kernel is compiled again")
    clock.announce("stiction.chains.kernels", "advance", 10**9)
    assert folders.reported("a damaged kernel is compiled again") == ""


def test_nothing_is_ready_where_nothing_can_be_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path / "saved"))
    folders.mark_ready("chains")
    assert folders.is_ready("chains")
    folders.report_once(folders.CANNOT_CACHE, "No space left on device")
    folders.mark_ready("rods")
    assert not folders.is_ready("rods")


def test_many_small_kernels_are_announced_together(capsys, monkeypatch):
    monkeypatch.setattr(clock, "_turn", lambda: 1e-9)
    monkeypatch.setattr(clock, "_CLOCK", clock._Clock())
    one = int(0.9 / (1e-9 * clock._TURNS_PER_INSTRUCTION))
    said = []
    for _ in range(5):
        clock.announce("stiction.rods.kernels", "step", one)
        said.append(capsys.readouterr().err)
    assert said[0] == said[1] == said[3] == said[4] == ""
    assert said[2] == "stiction: compiling rods (step), once per machine, about 1 s\n"


def test_two_processes_take_turns(tmp_path):
    """One that holds a path is waited for, for a while; one that was killed is not."""
    path, begin = tmp_path / "turn", time.perf_counter()
    with folders.alone(path), folders.alone(path, patience=0.2):
        assert time.perf_counter() - begin >= 0.2 or not path.exists()
    assert not path.exists()
    code = "import os, pathlib, stiction.numerics.compiling.folders as f\n"
    code += f"with f.alone(pathlib.Path({str(path)!r})): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    begin = time.perf_counter()
    with folders.alone(path):
        assert time.perf_counter() - begin < 60.0


def test_where_files_cannot_be_locked_work_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    with folders.alone(tmp_path / "file" / "turn"):
        pass
    assert (tmp_path / "file").read_text() == ""
