"""Whether the tests see a fault: the nearest are tried first, plain kernels before compiled.

Nothing is measured in advance. A test that fails with a fault must pass on the valid tree, right
after and behind the same tests. What tests take is learned as they run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mutation.bench import Bench, Outcome
from mutation.nearest import Near, Nearest
from mutation.reporter import TOO_SLOW
from mutation.source import Mutant, is_looks
from mutation.tree import Tree

__all__ = ["KILLED", "SURVIVED", "TIMED_OUT", "UNDECIDED", "Judge", "Verdict"]

KILLED, TIMED_OUT, SURVIVED, UNDECIDED = "killed", "timed out", "survived", "undecided"

_FEW = 4
# cases of every test that come before many of any
_CASES = 12
# these run the command line, or the same case many times
_WHOLE = ("tests/scenarios/", "tests/convergence/")
# these compare small runs with tables of what they must say
_REPORTED = "tests/golden/"

# compiled code neither checks indices nor warns, and some of it exists only compiled, so plain
# code that fails like this proves nothing
_PLAIN_ONLY = {"IndexError", "ZeroDivisionError", "RuntimeWarning", "OverflowError"}
_PLAIN_ONLY |= {"NotImplementedError"}
_MOST_SUSPECTS = 2

# seconds: after which no further test of a stage begins; that one test may take, by mode
_STAGE_FIRST, _STAGE_SECOND = 15.0, 20.0
_MOST = {True: 3.0, False: 10.0}
# what is taken for the time of a test that never ran, and of one that cannot be used
_UNKNOWN, _UNUSABLE = 0.5, 1e9


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
class Stage:
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
    glance : compile no kernel with a fault in it
    patience : how many times these seconds the tests of a stage may take
    """

    tree: Tree
    nearest: Nearest
    limit: float = 240.0
    glance: bool = False
    patience: float = 1.0
    # by mode and test: the least seconds it took
    _times: dict[bool, dict[str, float]] = field(default_factory=lambda: {True: {}, False: {}})

    def judge(self, bench: Bench, mutant: Mutant) -> Verdict:
        """Return what becomes of a fault."""
        near, compiles = self.nearest.of(mutant), self.tree.in_kernel(mutant)
        passed: set[str] = set()
        undecided = None
        try:
            stages = self.stages(mutant, near, compiles)
            for stage in stages[:-1] if self.glance and compiles else stages:
                verdict = self._stage(stage, bench, mutant, near, compiles, passed)
                if verdict is not None and verdict.verdict != UNDECIDED:
                    return verdict
                undecided = verdict or undecided
        finally:
            bench.take_out()
        return undecided or Verdict(SURVIVED, tests=len(passed))

    @staticmethod
    def stages(mutant: Mutant, near: Near, compiles: bool) -> list[Stage]:
        """Return what is tried, the quickest first: most faults are seen there."""
        reported = [f for f in near.first if f.startswith(_REPORTED)]
        others = [f for f in near.first if f not in reported]
        first, rest = others[:_FEW], others[_FEW:]
        later = [] if is_looks(mutant.file) else near.later
        stages = [Stage(first, True, _STAGE_FIRST)]
        if reported:
            stages.append(Stage(reported, False, 3.0 * _STAGE_SECOND, whole=True))
        if compiles:
            quick = [f for f in later if not f.startswith(_WHOLE)]
            stages.append(Stage([*rest, *quick], True, _STAGE_SECOND))
        # whole runs are slow as plain code, and compiling a changed kernel takes a minute
        stages.append(Stage([*first, *rest, *later], False, _STAGE_SECOND))
        return stages

    def _stage(
        self, stage: Stage, bench: Bench, mutant: Mutant, near: Near, compiles: bool,
        passed: set[str],
    ) -> Verdict | None:  # fmt: skip
        """Return the verdict of a stage; None if it sees nothing."""
        plain, times = stage.plain, self._times[stage.plain]
        tests = self._plan(stage.files, plain, near)
        # what passed with plain kernels passes with compiled ones
        never = set(passed)
        suspects = 0
        left = stage.budget * self.patience
        while tests and left > 0.0:
            slow = {name for name, seconds in times.items() if seconds > _MOST[plain]}
            orders: dict[str, Any] = {"only": tests, "never": sorted(slow | never), "budget": left}
            orders |= {"few": None if stage.whole else _CASES, "alarm": _MOST[plain]}
            if compiles and not plain:
                # compiling takes its time, whatever a test does
                orders |= {"alarm": 0.0, "budget": 2.0 * left}
            bench.put_in(mutant)
            done = self._learned(bench.run(orders, plain=plain, limit=self.limit), plain)
            left -= sum(result.seconds for result in done.tests.values())
            passed |= {name for name, r in done.tests.items() if r.outcome == "passed"}
            failure = self._failure(done, tests)
            if failure is None:
                return None
            verdict = Verdict(*failure, plain, len(passed) + 1)
            if plain and compiles and verdict.error in _PLAIN_ONLY:
                suspects += 1
                if suspects == _MOST_SUSPECTS:
                    return None
            elif self._is_proved(verdict, bench, orders, done):
                return verdict
            elif done.ended_well:
                # tests never seen before are always too slow
                times |= {n: _UNUSABLE for n, r in done.tests.items() if r.error == TOO_SLOW}
                return None
            elif verdict.by not in (*done.tests, *done.broken):
                return Verdict(UNDECIDED, verdict.by, verdict.error, plain, len(passed) + 1)
            # go on with those that come after
            never |= {verdict.by, *done.tests}
            tests = [t for t in tests if t.partition("::")[0] != verdict.by]
        return None

    def _failure(self, done: Outcome, tests: list[str]) -> tuple[str, str, str] | None:
        """Return what a run says of the fault, the test or file first; None if it saw nothing."""
        failed = [(name, r.error) for name, r in done.tests.items() if r.outcome == "failed"]
        failed += [(file, "collection") for file in done.broken]
        if not failed and not done.ended_well:
            how = f"pytest ends with {done.code}"
            if done.code is None:
                return TIMED_OUT, done.running or tests[0], f"no end after {self.limit:g} s"
            failed = [(done.running or tests[0], how)]
        failed += [(name, TOO_SLOW) for name, r in done.tests.items() if r.error == TOO_SLOW]
        if not failed:
            return None
        by, error = failed[0]
        return TIMED_OUT if error == TOO_SLOW else KILLED, by, error

    def _is_proved(
        self, verdict: Verdict, bench: Bench, orders: dict[str, Any], done: Outcome
    ) -> bool:
        """Return whether the valid tree does better, behind the same tests.

        It is run anew each time: what tests need from outside the tree may have changed. Where
        time decides, it must be done in half of it, compiling included.
        """
        bench.take_out()
        by, plain, late = verdict.by, verdict.plain, verdict.verdict == TIMED_OUT
        limit = 0.5 * self.limit if late else self.limit
        if late:
            orders = orders | {"only": [by], "alarm": 0.5 * orders["alarm"]}
        else:
            orders = orders | {"only": [*done.tests, by], "alarm": 0.0, "budget": limit}
        cold = done.code is None and not plain
        valid = self._learned(bench.run(orders, plain=plain, limit=limit, cold=cold), plain)
        if by in done.broken:
            return valid.ended_well
        found = valid.tests.get(by)
        if found is None or found.outcome != "passed":
            self._times[plain][by] = _UNUSABLE
            return False
        return True

    def _learned(self, done: Outcome, plain: bool) -> Outcome:
        """Return a run, and remember what tests that passed took."""
        times = self._times[plain]
        for name, result in done.tests.items():
            if result.outcome == "passed":
                # the first test of a file may have paid for all
                times[name] = min(result.seconds, times.get(name, result.seconds))
        return done

    def _plan(self, files: list[str], plain: bool, near: Near) -> list[str]:
        """Return the tests of files, the most reporting for their time first."""
        spent: dict[str, float] = {}
        for name, seconds in self._times[plain].items():
            base = name.partition("[")[0]
            spent[base] = max(spent.get(base, 0.0), seconds)
        costs = {}
        for file in files:
            for base, words in self.nearest.functions(file).items():
                cost = (0.2 + spent.get(base, _UNKNOWN)) / (0.1 + near.relevance(words))
                costs[base] = cost * (0.02 if base in near.meant else 1.0)
        return sorted(costs, key=lambda base: (costs[base], base))
