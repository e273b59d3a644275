"""Whether the tests see a fault: the nearest are tried first, quick and plain before compiled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mutation.bench import Bench, Outcome, Result
from mutation.nearest import LATER, Near, Nearest
from mutation.source import Mutant, is_looks
from mutation.tree import Tree

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "UNDECIDED", "Judge", "Verdict"]

KILLED, TIMED_OUT, SURVIVED, UNDECIDED = "killed", "timed out", "survived", "undecided"
_TOO_SLOW = "TooSlow"

_FEW = 2

# compiled code neither checks indices nor warns, and some of it exists only compiled, so plain
# code that fails like this proves nothing
_PLAIN_ONLY = {"IndexError", "ZeroDivisionError", "RuntimeWarning", "OverflowError"}
_PLAIN_ONLY |= {"NotImplementedError"}

# seconds: of one test and of all of a file when the sound tree is measured, of all of a stage
_MOST_PLAIN, _MOST_COMPILED = 6.0, 40.0
_MEASURE_PLAIN, _MEASURE_COMPILED = 40.0, 100.0
_STAGE_PLAIN, _STAGE_FIRST, _STAGE_LATER = 40.0, 60.0, 40.0
# a first run that took longer than this is done again: it may have compiled
_LONG = 2.0
# a test this many times slower than on the sound tree, and this slow, has run away
_RUNAWAY, _LEAST_RUNAWAY = 10.0, 15.0


@dataclass(frozen=True)
class Verdict:
    """What became of a fault.

    Parameters
    ----------
    verdict : killed, timed out, survived or undecided
    by : the test that saw it; "" for none
    error : what that test raised, or how the run ended
    plain : whether kernels ran as plain Python functions then
    tests : how many tests were tried
    """

    verdict: str
    by: str = ""
    error: str = ""
    plain: bool = False
    tests: int = 0


@dataclass
class Judge:
    """The tests of a tree, and how they do when it is sound.

    Parameters
    ----------
    limit : seconds that the tests of one stage may take
    measured : by mode and test file: outcome and seconds of every test on the sound tree
    keep : called when something was measured
    """

    tree: Tree
    nearest: Nearest
    limit: float = 240.0
    measured: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    keep: Callable[[], None] = lambda: None
    _controls: dict[tuple[object, ...], bool] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, bench: Bench, mutant: Mutant) -> Verdict:
        """Return what becomes of a fault."""
        near, stale = self.nearest.of(mutant), self.tree.stale(mutant.file)
        # few files first: most faults are seen there, and each file has to be measured once
        first, rest = near.first[:_FEW], near.first[_FEW:]
        stages = [(first, False, _STAGE_FIRST), (rest, False, _STAGE_FIRST)]
        if not is_looks(mutant.file):
            stages += [([file], False, _STAGE_LATER) for file in near.later]
        if stale:
            quick = [f for f in near.first if not f.startswith(LATER)]
            stages[:0] = [(quick[:_FEW], True, _STAGE_PLAIN), (quick[_FEW:], True, _STAGE_PLAIN)]
        trial = _Trial(self, bench, mutant, near, stale)
        undecided = None
        try:
            for files, plain, budget in stages:
                verdict = trial.stage(files, plain, budget)
                if verdict is not None and verdict.verdict != UNDECIDED:
                    return verdict
                undecided = verdict or undecided
        finally:
            bench.take_out(forget=True)
        return undecided or Verdict(SURVIVED, tests=len(trial.passed))

    def sound(self, bench: Bench, file: str, plain: bool) -> dict[str, Result]:
        """Return how the tests of a file do on the sound tree; measured when first asked for.

        What is measured includes no compilation: tests that may have compiled run twice.
        """
        key = _key(file, plain)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.measured:
                tests = self._measure(bench, file, plain)
                self.measured[key] = {
                    name: [r.outcome, round(r.seconds, 3), r.error] for name, r in tests.items()
                }
                self.keep()
        return {name: Result(*row) for name, row in self.measured[key].items()}

    def _measure(self, bench: Bench, file: str, plain: bool) -> dict[str, Result]:
        budget = _MEASURE_PLAIN if plain else _MEASURE_COMPILED
        orders: dict[str, Any] = {"budget": budget}
        if plain:
            orders["alarm"] = {"": _MOST_PLAIN}
        before = bench.caches()
        done = bench.run([file], orders, plain=plain, limit=2.0 * budget)
        long = [name for name, r in done.tests.items() if r.seconds > _LONG]
        if not plain and bench.caches() > before and long:
            orders["only"] = long
            again = bench.run([file], orders, plain=plain, limit=2.0 * budget)
            return {**done.tests, **again.tests}
        return done.tests

    def orders(self, tests: list[str], plain: bool) -> dict[str, Any]:
        """Return what says to run these tests, and none of their files that is known besides."""
        known = {name for file in _files(tests) for name in self.measured[_key(file, plain)]}
        return {"only": tests, "never": sorted(known - set(tests)), "first_failure_ends": True}

    def is_quick(self, bench: Bench, stale: frozenset[str], tests: list[str], plain: bool) -> bool:
        """Return whether the sound tree, with caches as cold, is done in half the time."""
        key = (stale, plain, *tests)
        if key not in self._controls:
            orders = self.orders(tests, plain)
            with bench.emptied(stale):
                done = bench.run(_files(tests), orders, plain=plain, limit=0.5 * self.limit)
            self._controls[key] = done.ended_well
        return self._controls[key]


@dataclass
class _Trial:
    """One fault on one bench."""

    judge: Judge
    bench: Bench
    mutant: Mutant
    near: Near
    stale: set[str]
    passed: set[str] = field(default_factory=set)

    def stage(self, files: list[str], plain: bool, budget: float) -> Verdict | None:
        """Return the verdict of the tests of some files; None if they see nothing."""
        self.bench.take_out(forget=False)
        tests, alarm = self._plan(files, plain, budget)
        while tests:
            done = self._run(tests, plain, alarm)
            verdict = self._read(done, tests, plain)
            if verdict is None or verdict.by not in done.tests:
                return verdict
            if plain and verdict.error in _PLAIN_ONLY:
                verdict = self._compiled(verdict)
            elif len(done.tests) > 1:
                # tests run in an order of ours: what fails must do so by itself too
                again = self._run([verdict.by], plain, alarm)
                verdict = self._read(again, [verdict.by], plain)
            if verdict is not None:
                return verdict
            tests = [t for t in tests if t not in self.passed | set(done.tests)]
        return None

    def _run(self, tests: list[str], plain: bool, alarm: dict[str, float]) -> Outcome:
        """Return what tests do with the fault, up to the first that fails."""
        self.bench.put_in(self.mutant, self.stale)
        orders = self.judge.orders(tests, plain)
        # compiling takes its time, whatever a test does
        if plain or not self.stale:
            orders["alarm"] = alarm
        return self.bench.run(_files(tests), orders, plain=plain, limit=self.judge.limit)

    def _plan(
        self, files: list[str], plain: bool, budget: float
    ) -> tuple[list[str], dict[str, float]]:
        """Return the tests worth their time, the most telling first, and when each has run away."""
        rows: list[tuple[float, float, str]] = []
        most = _MOST_PLAIN if plain else _MOST_COMPILED
        for file in files:
            words = self.judge.nearest.functions(file)
            seen: dict[str, int] = {}
            for name, result in self.judge.sound(self.bench, file, plain).items():
                base = name.partition("[")[0]
                seen[base] = seen.get(base, -1) + 1
                if result.outcome != "passed" or result.seconds > most or name in self.passed:
                    continue
                # seconds per what it may tell; a tenth variant tells less than the first
                cost = (0.05 + result.seconds) * (1.0 + 0.2 * seen[base])
                cost /= 0.1 + self.near.relevance(words.get(base, set()))
                if base in self.near.meant:
                    cost *= 0.02
                rows.append((cost, result.seconds, name))
        tests, alarm, spent = [], {"": 4.0 * _LEAST_RUNAWAY}, 0.0
        for _, seconds, name in sorted(rows):
            if spent + seconds <= budget:
                spent += seconds
                tests.append(name)
                alarm[name] = max(_LEAST_RUNAWAY, _RUNAWAY * seconds)
        return tests, alarm

    def _read(self, done: Outcome, tests: list[str], plain: bool) -> Verdict | None:
        """Return what a run says of the fault; None if it saw nothing."""
        self.passed |= {name for name, r in done.tests.items() if r.outcome != "failed"}
        count = len(self.passed) + 1
        for name, result in done.tests.items():
            if result.outcome == "failed":
                kind = TIMED_OUT if result.error == _TOO_SLOW else KILLED
                return Verdict(kind, name, result.error, plain, count)
        if done.broken:
            return Verdict(KILLED, done.broken[0], "collection", plain, count)
        if done.ended_well:
            return None
        return self._cut_short(done, tests, plain)

    def _cut_short(self, done: Outcome, tests: list[str], plain: bool) -> Verdict:
        """Return the verdict of a run that did not end: the fault's doing, if nothing else's."""
        self.bench.take_out(forget=False)
        stale = frozenset() if plain else frozenset({self.mutant.file, *self.stale})
        kind, error = KILLED, f"pytest ends with {done.code}"
        if done.code is None:
            kind, error = TIMED_OUT, f"no end after {self.judge.limit:g} s"
        if not self.judge.is_quick(self.bench, stale, tests, plain):
            kind = UNDECIDED
        return Verdict(kind, done.running or tests[0], error, plain, len(self.passed) + 1)

    def _compiled(self, verdict: Verdict) -> Verdict | None:
        """Return the verdict of the same test with kernels compiled; None if it sees nothing."""
        self.bench.take_out(forget=False)
        file = verdict.by.partition("::")[0]
        sound = self.judge.sound(self.bench, file, False).get(verdict.by)
        if sound is None or sound.outcome != "passed":
            return None
        return self._read(self._run([verdict.by], False, {}), [verdict.by], plain=False)


def _key(file: str, plain: bool) -> str:
    return f"{'plain' if plain else 'compiled'} {file}"


def _files(tests: Iterable[str]) -> list[str]:
    """Return the files of tests, each once, in order."""
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))
