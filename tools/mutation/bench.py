"""A copy of the tree in which one fault at a time is put, tried and taken out again.

Compiled kernels are cached beside their sources, and a cached caller keeps the code of what it
calls. While a fault is in, the caches of all files that can reach it lie aside; they come back
when it is taken out. All other caches stay, and what runs add to them stays too. Kernels kept under
a digest of all that went into them need none of this, and are left where they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation.source import Mutant
from mutation.tree import Tree, caches_of

__all__ = ["Bench", "Outcome", "Result"]

_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "out", "build", "dist", "_build", "auto_examples", "generated", "*.pyc",
    ".hypothesis", ".*_cache", ".benchmarks", "*.egg-info",
)  # fmt: skip
_PLUGIN = Path(__file__).parent / "plugin"
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
    folder : where the copy is made, or was made before and is used again
    """

    tree: Tree
    folder: Path
    _inside: tuple[str, list[str]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.root, self._state = self.folder / "tree", self.folder / "state.json"
        self._digest = digest = self.tree.digest((*self.tree.sources, *self.tree.tests))
        state = json.loads(self._state.read_text("utf-8")) if self._state.exists() else {}
        if state.get("digest") != digest:
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.copytree(self.tree.root, self.root, ignore=_NOT_COPIED, symlinks=True)
            for path in self.tree.old_caches():
                (self.root / path).unlink(missing_ok=True)
        for name in ("clean", "changed"):
            (self.folder / name).mkdir(exist_ok=True)
        if state.get("digest") == digest and state["inside"] is not None:
            # whoever used it before was stopped with a fault in it
            self._inside = tuple(state["inside"])
            self.take_out(forget=True)
        self._note()

    def _note(self) -> None:
        """Keep on disk what is in the copy, in case this process ends before it is out."""
        state = {"digest": self._digest, "inside": self._inside}
        _replace(self._state, json.dumps(state).encode())

    # ---- putting a fault in

    def put_in(self, mutant: Mutant, stale: Iterable[str]) -> None:
        """Change the file of a fault, and put aside the caches of the files in `stale`."""
        if self._inside is not None:
            return
        self._inside = mutant.file, self._patterns({mutant.file, *stale})
        self._note()
        self._move(self._inside[1], self.root, self.folder / "clean")
        # what the same fault left when it was in before
        self._move(self._inside[1], self.folder / "changed", self.root)
        original = (self.tree.root / mutant.file).read_bytes()
        _replace(self.root / mutant.file, mutant.applied(original))

    def take_out(self, *, forget: bool) -> None:
        """Undo `put_in`; keep what was compiled for when the fault comes back, or forget it."""
        if self._inside is not None:
            file, patterns = self._inside
            _replace(self.root / file, (self.tree.root / file).read_bytes())
            self._move(patterns, self.root, self.folder / "changed")
            self._move(patterns, self.folder / "clean", self.root)
            self._inside = None
            self._note()
        if forget:
            shutil.rmtree(self.folder / "changed", ignore_errors=True)
            (self.folder / "changed").mkdir()

    @contextlib.contextmanager
    def emptied(self, stale: Iterable[str]) -> Iterator[None]:
        """Put the caches of some files aside for a while, with nothing changed."""
        patterns = self._patterns(set(stale))
        self._move(patterns, self.root, self.folder / "clean")
        try:
            yield
        finally:
            # the same kernels, compiled once more or not at all
            self._move(patterns, self.folder / "clean", self.root)

    @staticmethod
    def _patterns(files: set[str]) -> list[str]:
        """Return what the caches of some files are called, from the root; and of all tests."""
        return [*(caches_of(file) for file in sorted(files)), "tests/**/__pycache__/*.nb[ci]"]

    @staticmethod
    def _cached(patterns: list[str], base: Path) -> list[Path]:
        return sorted({path for pattern in patterns for path in base.glob(pattern)})

    def _move(self, patterns: list[str], source: Path, target: Path) -> None:
        for path in self._cached(patterns, source):
            new = target / path.relative_to(source)
            new.parent.mkdir(parents=True, exist_ok=True)
            path.replace(new)

    def caches(self) -> int:
        """Return how many compiled kernels are cached in the copy."""
        return sum(path.suffix in (".nbc", ".kernel") for path in self.root.rglob("__pycache__/*"))

    # ---- running tests

    def run(
        self, files: list[str], orders: dict[str, Any], *, plain: bool, limit: float
    ) -> Outcome:
        """Return what the ordered tests of some files did; see the plugin for the orders.

        Parameters
        ----------
        plain : with kernels as plain Python functions
        limit : seconds after which the processes are ended
        """
        log, order = self.folder / "log", self.folder / "orders.json"
        log.write_text("", encoding="utf-8")
        order.write_text(json.dumps({**orders, "log": str(log), "memory": _MEMORY}), "utf-8")
        words = [sys.executable, "-m", "pytest", *files, "-q", "-p", "mutation_reporter"]
        words += ["-p", "no:cacheprovider", "--tb=no", f"--basetemp={self.folder / 'tests'}"]
        if orders.get("first_failure_ends"):
            words.append("-x")
        begun = time.monotonic()
        output = self.folder / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(
                words,
                cwd=self.root,
                env=self._environment(plain),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                # what tests started in their turn must not outlive them
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        rows = [json.loads(line) for line in _whole_lines(log)]
        tail = output.read_text("utf-8", errors="replace")[-2000:]
        return _outcome(rows, code, time.monotonic() - begun, tail)

    def _environment(self, plain: bool) -> dict[str, str]:
        """Return the variables under which the copy, and not an installed tree, is imported."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_CHANGES)}
        kept |= {
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(_PLUGIN)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "Agg",
            "MUTATION_ORDERS": str(self.folder / "orders.json"),
        }
        return {**kept, "NUMBA_DISABLE_JIT": "1"} if plain else kept


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
            error = row["error"] if row["outcome"] == "failed" else now.error
            now = Result(worse, now.seconds + row["seconds"], error)
            # one that passed its set-up has not passed yet
            if row["when"] == "teardown" or worse == "failed":
                tests[row["id"]] = now
            if row["when"] == "teardown":
                running = ""
    return Outcome(code, tests, broken, running, seconds, tail)
