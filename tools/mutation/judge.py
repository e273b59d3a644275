"""Whether the tests see a fault: the nearest are tried first, plain kernels before compiled.

Nothing is measured in advance. A test that fails with a fault must fail so by itself, unless it
is known to pass among others, and must pass on the valid tree right after. What tests take is
learned as they run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mutation.bench import Bench, Outcome
from mutation.nearest import Near, Nearest
from mutation.source import Mutant, is_looks
from mutation.tree import Tree

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "UNDECIDED", "Judge", "Verdict"]

KILLED, TIMED_OUT, SURVIVED, UNDECIDED = "killed", "timed out", "survived", "undecided"
_TOO_SLOW = "TooSlow"

_FEW = 4
# these run the command line, or the same case many times
_WHOLE = ("tests/scenarios/", "tests/convergence/")
# these compare small runs with tables of what they must say
_REPORTED = "tests/golden/"

# compiled code neither checks indices nor warns, and some of it exists only compiled, so plain
# code that fails like this proves nothing
_PLAIN_ONLY = {"IndexError", "ZeroDivisionError", "RuntimeWarning", "OverflowError"}
_PLAIN_ONLY |= {"NotImplementedError"}
_MOST_SUSPECTS = 2

# seconds: after which no further test of a stage begins; that one test may take, known or not
_STAGE_FIRST, _STAGE_SECOND = 15.0, 20.0
_MOST_PLAIN, _MOST_COMPILED = 3.0, 10.0
# a test this many times slower than it was, and this slow, has run away
_RUNAWAY, _LEAST_RUNAWAY = 10.0, 15.0
# what is taken for the time of a test that never ran
_UNKNOWN = 0.5


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


@dataclass(frozen=True)
class _Stage:
    """Tests of some files, in one mode, for so many seconds; `whole`: each with all its cases."""

    files: list[str]
    plain: bool
    budget: float
    whole: bool = False


@dataclass
class Judge:
    """The tests of a tree, and how they do when it is valid.

    Parameters
    ----------
    limit : seconds that the tests of one stage may take, compiling included
    measured : by mode and test: seconds if it passes on the valid tree; below 0 if it does not,
        or takes too long
    keep : called when something was measured
    glance : compile no kernel with a fault in it
    patience : how many times these seconds the tests of a stage may take
    """

    tree: Tree
    nearest: Nearest
    limit: float = 240.0
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    keep: Callable[[], None] = lambda: None
    glance: bool = False
    patience: float = 1.0
    _controls: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def judge(self, bench: Bench, mutant: Mutant) -> Verdict:
        """Return what becomes of a fault."""
        near = self.nearest.of(mutant)
        compiles = self.tree.in_kernel(mutant)
        trial = _Trial(self, bench, mutant, near, compiles)
        undecided = None
        try:
            stages = self._stages(mutant, near, compiles)
            for stage in stages[:-1] if self.glance and compiles else stages:
                verdict = trial.stage(stage)
                if verdict is not None and verdict.verdict != UNDECIDED:
                    return verdict
                undecided = verdict or undecided
        finally:
            bench.take_out()
            self.keep()
        return undecided or Verdict(SURVIVED, tests=len(trial.passed))

    @staticmethod
    def _stages(mutant: Mutant, near: Near, compiles: bool) -> list[_Stage]:
        # few files first: most faults are seen there
        reported = [f for f in near.first if f.startswith(_REPORTED)]
        others = [f for f in near.first if f not in reported]
        first, rest = others[:_FEW], others[_FEW:]
        later = [] if is_looks(mutant.file) else near.later
        stages = [_Stage(first, True, _STAGE_FIRST)]
        if reported:
            stages.append(_Stage(reported, False, 3.0 * _STAGE_SECOND, whole=True))
        if compiles:
            quick = [f for f in later if not f.startswith(_WHOLE)]
            stages.append(_Stage([*rest, *quick], True, _STAGE_SECOND))
        # whole runs are slow as plain code, and compiling a changed kernel takes a minute
        stages.append(_Stage([*first, *rest, *later], False, _STAGE_SECOND))
        return stages

    def of_mode(self, plain: bool) -> dict[str, float]:
        """Return what tests take in a mode."""
        return self.measured.setdefault("plain" if plain else "compiled", {})

    def learn(self, done: Outcome, plain: bool) -> None:
        """Remember what tests that passed took, with a fault or without."""
        times = self.of_mode(plain)
        for name, result in done.tests.items():
            if result.outcome == "passed":
                old = times.get(name, 0.0)
                # the first test of a file may have paid for all
                new = round(result.seconds, 2)
                times[name] = min(old, new) if old > 0.0 else new

    def passes(self, bench: Bench, test: str, plain: bool, alarm: float) -> bool:
        """Return whether a test passes on the valid tree, in time.

        It is run anew each time: what it needs from outside the tree may have changed.
        """
        bench.take_out()
        orders: dict[str, Any] = {"only": [test], "alarm": {"": alarm}}
        done = bench.run(_files([test]), orders, plain=plain, limit=self.limit)
        self.learn(done, plain)
        found = done.tests.get(test)
        if found is None or found.outcome != "passed":
            self.of_mode(plain)[test] = -1.0
            return False
        return True

    def collects(self, bench: Bench, file: str, plain: bool) -> bool:
        """Return whether the tests of a file can be read on the valid tree."""
        key = (file, plain)
        if key not in self._controls:
            bench.take_out()
            done = bench.run([file], {"only": []}, plain=plain, limit=self.limit)
            self._controls[key] = done.ended_well
        return self._controls[key]

    def is_quick(self, bench: Bench, tests: list[str], plain: bool, orders: dict[str, Any]) -> bool:
        """Return whether the valid tree is done in half the time, compiling included."""
        key = (plain, *tests)
        if key not in self._controls:
            bench.take_out()
            half = 0.5 * self.limit
            done = bench.run(_files(tests), orders, plain=plain, limit=half, cold=not plain)
            self._controls[key] = done.ended_well
        return self._controls[key]


@dataclass
class _Trial:
    """One fault on one bench."""

    judge: Judge
    bench: Bench
    mutant: Mutant
    near: Near
    compiles: bool
    passed: set[str] = field(default_factory=set)
    suspects: list[str] = field(default_factory=list)

    def stage(self, stage: _Stage) -> Verdict | None:
        """Return the verdict of a stage; None if it sees nothing."""
        plain, files = stage.plain, list(stage.files)
        first = [] if plain else self.suspects
        files = list(dict.fromkeys([*_files(first), *files]))
        tests = [*first, *(t for t in self._plan(files, plain) if t not in first)]
        # what passed with plain kernels passes with compiled ones
        never = set(self.passed)
        suspects = len(self.suspects)
        left = stage.budget * self.judge.patience
        while tests and left > 0.0:
            done = self._run(tests, plain, never, left, whole=stage.whole)
            left -= sum(r.seconds for r in done.tests.values())
            verdict = self._read(done, plain)
            if verdict is None:
                if done.ended_well:
                    return self._slowed(done, plain)
                return self._cut_short(done, tests, plain, never)
            if self._is_proved(verdict, done, plain):
                return verdict
            if plain and len(self.suspects) - suspects >= _MOST_SUSPECTS:
                return None
            # go on with those that come after
            never |= {verdict.by, *done.tests}
            files = [f for f in files if f != verdict.by]
            tests = [t for t in tests if _files([t])[0] in files and t not in never]
        return None

    def _run(
        self, tests: list[str], plain: bool, never: set[str], budget: float, *, whole: bool = False
    ) -> Outcome:
        """Return what tests do with the fault, up to the first that fails."""
        self.bench.put_in(self.mutant)
        orders = self._orders(tests, plain, never, budget)
        if whole:
            orders["few"] = sys.maxsize
        done = self.bench.run(_files(tests), orders, plain=plain, limit=self.judge.limit)
        self.judge.learn(done, plain)
        return done

    def _alone(self, test: str, plain: bool) -> Outcome:
        """Return what one test does with the fault; it has to make what others left to it."""
        self.bench.put_in(self.mutant)
        orders = self._orders([test], plain, set(), _most(plain))
        orders["alarm"] = {"": 4.0 * _LEAST_RUNAWAY}
        return self.bench.run(_files([test]), orders, plain=plain, limit=self.judge.limit)

    def _orders(
        self, tests: list[str], plain: bool, never: set[str], budget: float
    ) -> dict[str, Any]:
        times, most = self.judge.of_mode(plain), _most(plain)
        slow = {name for name, seconds in times.items() if not 0.0 <= seconds <= most}
        orders = {"only": tests, "never": sorted(slow | never), "first_failure_ends": True}
        orders["budget"] = budget
        if plain or not self.compiles:
            known = {n: max(_LEAST_RUNAWAY, _RUNAWAY * s) for n, s in times.items()}
            orders["alarm"] = {**known, "": most}
        else:
            # compiling takes its time, whatever a test does
            orders["budget"] = 2.0 * budget
        return orders

    def _plan(self, files: list[str], plain: bool) -> list[str]:
        """Return the tests of files, the most reporting for their time first."""
        rows: list[tuple[float, str]] = []
        times = self.judge.of_mode(plain)
        spent: dict[str, float] = {}
        for name, seconds in times.items():
            base = name.partition("[")[0]
            spent[base] = max(spent.get(base, 0.0), seconds)
        for file in files:
            for base, words in self.judge.nearest.functions(file).items():
                cost = 0.2 + spent.get(base, _UNKNOWN)
                cost /= 0.1 + self.near.relevance(words)
                if base in self.near.meant:
                    cost *= 0.02
                rows.append((cost, base))
        return [name for _, name in sorted(rows)]

    def _read(self, done: Outcome, plain: bool) -> Verdict | None:
        """Return what a run says of the fault; None if it saw nothing."""
        self.passed |= {name for name, r in done.tests.items() if r.outcome == "passed"}
        count = len(self.passed) + 1
        for name, result in done.tests.items():
            if result.outcome == "failed":
                kind = TIMED_OUT if result.error == _TOO_SLOW else KILLED
                return Verdict(kind, name, result.error, plain, count)
        if done.broken:
            return Verdict(KILLED, done.broken[0], "collection", plain, count)
        return None

    def _is_proved(self, verdict: Verdict, done: Outcome, plain: bool) -> bool:
        """Return whether a failure is the doing of the fault."""
        test = verdict.by
        if test not in done.tests:
            return self.judge.collects(self.bench, test, plain)
        if plain and self.compiles and verdict.error in _PLAIN_ONLY:
            self.suspects.append(test)
            return False
        times = self.judge.of_mode(plain)
        # it passed alone or among others before
        known = times.get(test, -1.0) >= 0.0
        if len(done.tests) > 1 and verdict.verdict == KILLED and not known:
            # tests run in an order of ours: what fails must do so by itself too
            again = self._alone(test, plain)
            if all(r.outcome != "failed" for r in again.tests.values()):
                times[test] = -1.0
                return False
        alarm = max(0.5 * _most(plain), 2.0 * times.get(test, 0.0))
        if verdict.verdict != TIMED_OUT:
            alarm = 4.0 * _LEAST_RUNAWAY
        return self.judge.passes(self.bench, test, plain, alarm)

    def _slowed(self, done: Outcome, plain: bool) -> Verdict | None:
        """Return a verdict if tests never seen before were too slow, and need not be."""
        slow = [name for name, r in done.tests.items() if r.error == _TOO_SLOW]
        if slow and self.judge.passes(self.bench, slow[0], plain, 0.5 * _most(plain)):
            return Verdict(TIMED_OUT, slow[0], _TOO_SLOW, plain, len(self.passed) + 1)
        self.judge.of_mode(plain).update(dict.fromkeys(slow, -1.0))
        return None

    def _cut_short(self, done: Outcome, tests: list[str], plain: bool, never: set[str]) -> Verdict:
        """Return the verdict of a run that did not end: the fault's doing, if nothing else's."""
        kind, error = KILLED, f"pytest ends with {done.code}"
        if done.code is None:
            kind, error = TIMED_OUT, f"no end after {self.judge.limit:g} s"
        by = done.running or tests[0]
        orders = self._orders([by], plain, never, self.judge.limit)
        if not self.judge.is_quick(self.bench, [by], plain, orders):
            kind = UNDECIDED
        return Verdict(kind, by, error, plain, len(self.passed) + 1)


def _most(plain: bool) -> float:
    return _MOST_PLAIN if plain else _MOST_COMPILED


def _files(tests: Iterable[str]) -> list[str]:
    """Return the files of tests, each once, in order."""
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))
