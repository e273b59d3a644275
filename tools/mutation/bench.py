"""A copy of the tree in which one fault at a time is put, tried and taken out again.

Compiled kernels are saved under a digest of all that went into them, so those of the valid tree
serve whenever the fault is out, and for every kernel that does not reach it.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import multiprocessing
import os
import py_compile
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mutation.reporter import Reporter
from mutation.source import Mutant
from mutation.tree import Tree

__all__ = ["Bench", "Outcome", "Result"]

_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "out", "build", "dist", "_build", "auto_examples", "generated", "*.pyc",
    ".hypothesis", ".*_cache", ".benchmarks", "*.egg-info",
)  # fmt: skip
# variables that would change what tests do
_CHANGES = ("NUMBA_", "STICTION_", "HYPOTHESIS_", "PYTEST_ADDOPTS")
# what takes long to import is imported once, in the process that every run of pytest forks from
_LIBRARIES = ["pytest", "hypothesis", "numba", "scipy.integrate", "scipy.optimize", "xarray"]
_LIBRARIES += ["scipy.sparse.linalg", "scipy.spatial", "matplotlib.pyplot", "h5py", "typer"]
# what pytest returns when no test was left to run
_NO_TESTS = 5


@dataclass(frozen=True)
class Result:
    """What one test did: `passed`, `failed` or `skipped`, how long it took, and what it raised."""

    outcome: str
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a run of tests did.

    Parameters
    ----------
    code : what pytest returned; None if it was stopped from outside because of the time
    tests : results by test id
    broken : files that could not be collected
    running : the test that was running when the process ended; "" for none
    """

    code: int | None
    tests: dict[str, Result]
    broken: list[str]
    running: str

    @property
    def ended_well(self) -> bool:
        """Whether pytest ran and nothing failed."""
        return self.code in (0, _NO_TESTS) and not self.broken


class Bench:
    """A copy of a tree.

    Parameters
    ----------
    tree : what is copied
    folder : where the copy is made
    """

    def __init__(self, tree: Tree, folder: Path) -> None:
        self.tree, self.folder, self.root = tree, folder, folder / "tree"
        self._inside = ""
        shutil.copytree(tree.root, self.root, ignore=_NOT_COPIED, symlinks=True)
        for part in ("src", "tests"):
            # found again by what a file holds: a fault may come and go within a second
            by_content = py_compile.PycInvalidationMode.CHECKED_HASH
            compileall.compile_dir(self.root / part, quiet=2, invalidation_mode=by_content)

    def put_in(self, mutant: Mutant) -> None:
        """Change the file of a fault."""
        self.take_out()
        self._inside = mutant.file
        original = (self.tree.root / mutant.file).read_bytes()
        _replace(self.root / mutant.file, mutant.applied(original))

    def take_out(self) -> None:
        """Undo `put_in`."""
        if self._inside:
            valid = (self.tree.root / self._inside).read_bytes()
            _replace(self.root / self._inside, valid)
            self._inside = ""

    def run(
        self, orders: dict[str, Any], *, plain: bool, limit: float, cold: bool = False
    ) -> Outcome:
        """Return what the ordered tests did; see the plugin for the orders.

        Parameters
        ----------
        plain : with kernels as plain Python functions
        limit : seconds after which the processes are ended
        cold : with no compiled kernels to begin with
        """
        log = self.folder / "log"
        log.write_text("", encoding="utf-8")
        files = dict.fromkeys(test.partition("::")[0] for test in orders["only"])
        words = [*files, "-q", "-x", "--assert=plain", "--tb=no", "-p", "no:cacheprovider"]
        words.append(f"--basetemp={self.folder / 'tests'}")
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_LIBRARIES)
        about = (self.root, words, self._variables(plain, cold), {**orders, "log": str(log)})
        process = context.Process(target=_pytest, args=about)
        process.start()
        process.join(limit)
        in_time = not process.is_alive()
        # what tests started in their turn must not outlive them
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        # the last line may have been cut in half
        rows = [json.loads(row) for row in log.read_text("utf-8").split("\n")[:-1]]
        ended = [row for row in rows if "outcome" in row]
        done = {r["id"]: Result(r["outcome"], r["seconds"], r["error"]) for r in ended}
        return Outcome(
            process.exitcode if in_time else None,
            {name: result for name, result in done.items() if result.error != "collection"},
            [name for name, result in done.items() if result.error == "collection"],
            next((row["id"] for row in rows if row["id"] not in done), ""),
        )

    def _variables(self, plain: bool, cold: bool) -> dict[str, str]:
        """Return the variables under which the copy, and not an installed tree, is imported."""
        saved = {k: v for k, v in os.environ.items() if not k.startswith(_CHANGES)}
        saved |= {
            "PYTHONPATH": str(self.root / "src"),
            # what is compiled here is not found by its time, which may be that of the fault
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "Agg",
        }
        if plain:
            saved["STICTION_KERNELS"] = "plain"
        if cold:
            shutil.rmtree(self.folder / "cold", ignore_errors=True)
            saved["STICTION_CACHE_DIR"] = str(self.folder / "cold")
        return saved


def _pytest(
    root: Path, words: list[str], variables: dict[str, str], orders: dict[str, Any]
) -> None:
    """Be the process of one run."""
    os.setsid()
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(root)
    sys.argv = ["pytest", *words]
    # the tools must not stand for installed modules of their names
    tools = str(Path(__file__).resolve().parents[1])
    sys.path[:] = [str(root), str(root / "src"), *(p for p in sys.path if p != tools)]
    sys.dont_write_bytecode = True
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    code = 70
    try:
        code = int(pytest.main(words, plugins=[Reporter(orders)]))
    finally:
        os._exit(code)


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, so that a second name of the old one keeps its content."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
