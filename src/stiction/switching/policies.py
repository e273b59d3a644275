"""What a run does where the model allows more than one future."""

from __future__ import annotations

from dataclasses import dataclass, field

from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED, number, whole

__all__ = ["ByKind", "Enumerate", "Leave", "Sample", "Stop"]


@dataclass(frozen=True, eq=False, repr=False)
class Stop(Policy):
    """End the run where the future stops being unique; the default."""


@dataclass(frozen=True, eq=False, repr=False)
class Leave(Policy):
    """Leave to one side, after a given time.

    At a two-fold a whole family of exits has the same time: the one halfway between the two
    folds is taken. On a codimension-2 line the first way out to that side is; where two surfaces
    meet, the first to that side of the surface that was reached, or else of the other one. Where
    no way leads there, the run ends and says so.

    Parameters
    ----------
    side : "+" or "-", the side of the surface it leaves to
    after : time spent in the escaping region first [time unit of the system]; at a
        two-fold it must be positive, because nothing can leave it at once

    Verified by: tests/unit/switching/test_policies.py::test_leave_a_two_fold
    """

    side: str = "+"
    after: float = 0.0

    def __post_init__(self) -> None:
        if self.side not in ("+", "-"):
            raise ModelError(
                "Leave.side",
                repr(self.side),
                "'+' or '-'",
                "a surface has two sides, h > 0 and h < 0.",
                "for example side = '+'.",
            )
        number(
            "Leave.after",
            self.after,
            rule="nonnegative",
            why="it leaves now or later.",
            try_="give a time such as 0.5.",
        )


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Policy):
    """Draw exits at random; the run follows the first, the others are reported.

    Parameters
    ----------
    n : how many exits are drawn each time
    hazard : rate of leaving [1 / time unit]: dwell times are exponential with this rate,
        sides and directions are equally likely. Behind a two-fold a draw beyond the last
        exit of its direction is drawn again, so that times are cut off there
    seed : of the random numbers

    Verified by: tests/unit/switching/test_policies.py::test_sampled_dwell_times
    """

    n: int = 1
    hazard: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        why, try_ = "at least one future is followed.", "give n = 1."
        whole("Sample.n", self.n, least=1, most=1_000_000, why=why, try_=try_)
        number(
            "Sample.hazard",
            self.hazard,
            rule="positive",
            why="it is the rate at which the state leaves; at rate zero it never would.",
            try_="give 1 over the mean time you expect.",
        )
        why = "it makes the draws repeatable."
        whole("Sample.seed", self.seed, least=0, most=MOST_SEED, why=why, try_="give seed = 0.")


@dataclass(frozen=True, eq=False, repr=False)
class Enumerate(Policy):
    """Try exits on a grid and both sides; the run follows the first, the others are reported.

    Parameters
    ----------
    grid : exits per direction
    """

    grid: int = 8

    def __post_init__(self) -> None:
        why = "a grid needs two points per direction."
        whole("Enumerate.grid", self.grid, least=2, most=100_000, why=why, try_="give grid = 8.")


@dataclass(frozen=True, eq=False, repr=False)
class ByKind(Policy):
    """One policy for each kind of loss.

    Parameters
    ----------
    two_fold, codim2_line, escaping_start, fold, intersection : what to do at each; `Stop`
        when left out. A `fold` is met from outside, where the other side is open too; at an
        `intersection` two surfaces meet and several ways lead on

    Verified by: tests/unit/switching/test_policies.py::test_one_policy_for_each_kind
    """

    two_fold: Policy = field(default_factory=Stop)
    codim2_line: Policy = field(default_factory=Stop)
    escaping_start: Policy = field(default_factory=Stop)
    fold: Policy = field(default_factory=Stop)
    intersection: Policy = field(default_factory=Stop)

    def __post_init__(self) -> None:
        for name in ("two_fold", "codim2_line", "escaping_start", "fold", "intersection"):
            policy = getattr(self, name)
            if not isinstance(policy, Policy) or isinstance(policy, ByKind):
                raise ModelError(
                    f"ByKind.{name}",
                    repr(policy),
                    "one of Stop, Leave, Sample, Enumerate",
                    "it says what to do at one kind of place.",
                    "for example Leave(side='-').",
                )
