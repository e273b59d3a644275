"""Policies: the choice among admissible futures where the solution is not unique."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Choice, Count, NonNegative, Part, Positive
from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED

__all__ = ["ByKind", "Enumerate", "Leave", "Sample", "Stop"]

_SIDE = Choice(("+", "-"), "a surface has two sides, h > 0 and h < 0.", "for example side = '+'.")
_AFTER = NonNegative("", "it leaves now or later.", "give a time such as 0.5.")
_COUNT = Count(1, "at least one future is followed.", "give n = 1.", most=1_000_000)
_HAZARD = Positive(
    "",
    "it is the rate at which the state leaves; at rate zero it never would.",
    "give 1 over the mean time you expect.",
)
_SEED = Count(0, "it makes the draws repeatable.", "give seed = 0.", most=MOST_SEED)
_GRID = Count(2, "a grid needs two points per direction.", "give grid = 8.", most=100_000)
_POLICY = Part(
    "it says what to do at one kind of place.",
    "for example Leave(side='-').",
    "one of Stop, Leave, Sample, Enumerate",
)


@dataclass(frozen=True, eq=False, repr=False)
class Stop(Policy):
    """End the run where the future stops being unique; the default."""


@dataclass(frozen=True, eq=False, repr=False)
class Leave(Policy):
    """Leave to one side, after a given time.

    At a two-fold a whole family of exits has the same time: the one halfway between the two
    folds is taken. On a codimension-2 line it is the first exit direction to that side. Where two
    surfaces meet, it is the first to that side of the surface that was reached, or else of the
    other one. Where there is no such exit direction, the run ends and says so.

    Parameters
    ----------
    side : "+" or "-", the side of the surface it leaves to
    after : time spent in the escaping region first [time unit of the system]; at a
        two-fold it must be positive, because nothing can leave it at once

    Verified by: tests/unit/switching/test_policies.py::test_leave_a_two_fold
    """

    side: Annotated[str, _SIDE] = "+"
    after: Annotated[float, _AFTER] = 0.0


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

    n: Annotated[int, _COUNT] = 1
    hazard: Annotated[float, _HAZARD] = 1.0
    seed: Annotated[int, _SEED] = 0


@dataclass(frozen=True, eq=False, repr=False)
class Enumerate(Policy):
    """Try exits on a grid and both sides; the run follows the first, the others are reported.

    Parameters
    ----------
    grid : exits per direction
    """

    grid: Annotated[int, _GRID] = 8


@dataclass(frozen=True, eq=False, repr=False)
class ByKind(Policy):
    """One policy for each kind of loss.

    Parameters
    ----------
    two_fold, codim2_line, escaping_start, fold, intersection : what to do at each; `Stop`
        when left out. A `fold` is met from outside, where the other side is open too; at an
        `intersection` two surfaces meet and there are several exit directions

    Verified by: tests/unit/switching/test_policies.py::test_one_policy_for_each_kind
    """

    two_fold: Annotated[Policy, _POLICY] = field(default_factory=Stop)
    codim2_line: Annotated[Policy, _POLICY] = field(default_factory=Stop)
    escaping_start: Annotated[Policy, _POLICY] = field(default_factory=Stop)
    fold: Annotated[Policy, _POLICY] = field(default_factory=Stop)
    intersection: Annotated[Policy, _POLICY] = field(default_factory=Stop)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("two_fold", "codim2_line", "escaping_start", "fold", "intersection"):
            if isinstance(getattr(self, name), ByKind):
                where, got = f"ByKind.{name}", repr(getattr(self, name))
                raise ModelError(where, got, _POLICY.needs, _POLICY.why, _POLICY.try_)
