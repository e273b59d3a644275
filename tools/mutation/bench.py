"""A copy of the tree in which one fault at a time is put, tried and taken out again.

Compiled kernels are saved under a digest of all that went into them, so those of the valid tree
serve whenever the fault is out, and for every kernel that does not reach it.
"""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.server import PLUGIN, Server
from mutation.source import Mutant
from mutation.tree import Tree

__all__ = ["Bench", "Outcome", "Result"]

_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "out", "build", "dist", "_build", "auto_examples", "generated", "*.pyc",
    ".hypothesis", ".*_cache", ".benchmarks", "*.egg-info",
)  # fmt: skip
_MEMORY = 12 << 30
# variables that would change what tests do
_CHANGES = ("NUMBA_", "STICTION_", "HYPOTHESIS_", "PYTEST_ADDOPTS")
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
    seconds : how long it took
    tail : the last lines it printed
    """

    code: int | None
    tests: dict[str, Result]
    broken: list[str]
    running: str
    seconds: float
    tail: str = ""

    @property
    def ended_well(self) -> bool:
        """Whether pytest ran and nothing failed."""
        return self.code in (0, _NO_TESTS) and not self.broken


@dataclass
class Bench:
    """A copy of a tree.

    Parameters
    ----------
    tree : what is copied
    folder : where the copy is made, or was made before and is brought up to date
    """

    tree: Tree
    folder: Path
    _inside: str = field(default="", init=False)
    _servers: dict[bool, Server] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.root = self.folder / "tree"
        # what is there already is brought up to date, and loses a fault that was left in it
        shutil.copytree(
            self.tree.root, self.root, ignore=_NOT_COPIED, symlinks=True, dirs_exist_ok=True
        )
        files = {*self.tree.sources, *self.tree.tests}
        for part in ("src", "tests"):
            for path in sorted((self.root / part).rglob("*.py")):
                if path.relative_to(self.root).as_posix() not in files:
                    path.unlink()
            # found again by what a file holds: a fault may come and go within a second
            by_content = py_compile.PycInvalidationMode.CHECKED_HASH
            compileall.compile_dir(self.root / part, quiet=2, invalidation_mode=by_content)

    # ---- putting a fault in

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

    # ---- running tests

    def run(
        self,
        files: list[str],
        orders: dict[str, Any],
        *,
        plain: bool,
        limit: float,
        cold: bool = False,
    ) -> Outcome:
        """Return what the ordered tests of some files did; see the plugin for the orders.

        Parameters
        ----------
        plain : with kernels as plain Python functions
        limit : seconds after which the processes are ended
        cold : with no compiled kernels to begin with
        """
        log, order = self.folder / "log", self.folder / "orders.json"
        log.write_text("", encoding="utf-8")
        order.write_text(json.dumps({**orders, "log": str(log), "memory": _MEMORY}), "utf-8")
        words = [*files, "-q", "-p", "mutation_reporter", "--assert=plain"]
        words += ["-p", "no:cacheprovider", "--tb=no", f"--basetemp={self.folder / 'tests'}"]
        if orders.get("first_failure_ends"):
            words.append("-x")
        begun = time.monotonic()
        output = self.folder / "output"
        more = {"STICTION_CACHE_DIR": str(self._emptied("cold"))} if cold else {}
        code = self._server(plain).run(words, output, more, limit)
        rows = [json.loads(line) for line in _whole_lines(log)]
        tail = output.read_text("utf-8", errors="replace")[-2000:]
        return _outcome(rows, code, time.monotonic() - begun, tail)

    def _emptied(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _server(self, plain: bool) -> Server:
        """Return what runs tests in one mode, for which the environment is read once."""
        if plain not in self._servers:
            libraries = [n for n in self.tree.libraries if not (plain and n.startswith("numba"))]
            self._servers[plain] = Server(self.root, libraries, self._environment(plain))
        return self._servers[plain]

    def close(self) -> None:
        """End what runs tests."""
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def _environment(self, plain: bool) -> dict[str, str]:
        """Return the variables under which the copy, and not an installed tree, is imported."""
        saved = {k: v for k, v in os.environ.items() if not k.startswith(_CHANGES)}
        saved |= {
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(PLUGIN)]),
            # what is compiled here is not found by its time, which may be that of the fault
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "Agg",
            "MUTATION_ORDERS": str(self.folder / "orders.json"),
        }
        return {**saved, "STICTION_KERNELS": "plain"} if plain else saved


def _replace(path: Path, content: bytes) -> None:
    """Write a file in one step, so that a second name of the old one keeps its content."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.replace(path)


def _whole_lines(log: Path) -> list[str]:
    """Return the lines of a file without one that was cut in half."""
    return log.read_text(encoding="utf-8").split("\n")[:-1]


def _outcome(rows: list[dict[str, Any]], code: int | None, seconds: float, tail: str) -> Outcome:
    tests: dict[str, Result] = {}
    broken, running, now = [], "", Result("passed", 0.0)
    for row in rows:
        if row["when"] == "collect":
            broken.append(row["id"])
        elif row["when"] == "begin":
            running, now = row["id"], Result("passed", 0.0)
        else:
            worse = row["outcome"] if now.outcome == "passed" else now.outcome
            error = row["error"] if row["outcome"] != "passed" else now.error
            now = Result(worse, now.seconds + row["seconds"], error)
            # one that passed its set-up has not passed yet
            if row["when"] == "teardown" or worse == "failed":
                tests[row["id"]] = now
            if row["when"] == "teardown":
                running = ""
    return Outcome(code, tests, broken, running, seconds, tail)
