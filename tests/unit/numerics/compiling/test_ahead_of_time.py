"""Many kernels at once: one that fails, or is killed, costs the others nothing."""

import textwrap

from stiction.numerics.compiling import ahead_of_time, folders

KILLER = """
import multiprocessing, os, signal
from stiction.numerics.jit import kernel

if multiprocessing.parent_process() is not None:
    os.kill(os.getpid(), signal.SIGTERM if os.name != "posix" else signal.SIGKILL)

@kernel
def deadly(x):
    return x
"""
GOOD = """
from stiction.numerics.jit import kernel

@kernel
def harmless(x):
    return x
"""


def test_a_process_that_is_killed_costs_its_own_kernel_alone(tmp_path, monkeypatch):
    package = tmp_path / "lethal"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "killer.py").write_text(textwrap.dedent(KILLER))
    (package / "good.py").write_text(textwrap.dedent(GOOD))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path / "saved"))
    shares = []
    lines = ["lethal.killer:deadly f8", "lethal.good:harmless f8"]
    failed = ahead_of_time.compile_lines(lines, shares.append)
    assert failed == {"lethal.killer:deadly f8": "the process that compiled it was killed"}
    assert shares[-1] == 1.0
    assert len(list((tmp_path / "saved").glob("harmless-*"))) == 1


def test_an_error_without_words_has_a_line(monkeypatch):
    monkeypatch.setattr(ahead_of_time, "_silent", lambda: None)

    def short_of_memory(line):
        raise MemoryError

    monkeypatch.setattr(ahead_of_time, "compile_line", short_of_memory)
    assert ahead_of_time._compile_one("somewhere:f f8").startswith("MemoryError")


def test_a_kernel_that_could_not_be_cached_is_not_ready(monkeypatch):
    monkeypatch.setattr(ahead_of_time, "_silent", lambda: None)
    monkeypatch.setattr(ahead_of_time, "compile_line", lambda line: None)
    monkeypatch.setattr(folders, "_reported", {folders.CANNOT_CACHE: "No space left on device"})
    said = ahead_of_time._compile_one("somewhere:f f8")
    assert said.startswith(folders.CANNOT_CACHE)
    assert "No space left" in said
