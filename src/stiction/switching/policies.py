"""Policies: the choice among the admissible futures at a point where the solution is not unique.

Such points are two-folds, codimension-2 lines, starts in an escaping region, grazings (folds) and
intersections of two surfaces. `EventDriven(policy=...)` takes a policy, and `nonuniqueness` turns
it into a continuation of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from stiction.core.fields import Choice, Count, NonNegative, Part, Positive
from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_SEED

__all__ = ["ByKind", "Enumerate", "Leave", "Sample", "Stop"]

_SIDE = Choice(("+", "-"), "a surface has two sides, h > 0 and h < 0.", "for example side = '+'.")
_AFTER = NonNegative("", "the exit happens after this time.", "give a time such as 0.5.")
_COUNT = Count(1, "at least one future is followed.", "give n = 1.", most=1_000_000)
_HAZARD = Positive(
    "",
    "the state leaves at this rate; at rate zero it would never leave.",
    "give 1 over the mean time you expect.",
)
_SEED = Count(0, "the same seed repeats the draws.", "give seed = 0.", most=MOST_SEED)
_GRID = Count(2, "a grid needs two points per direction.", "give grid = 8.", most=100_000)
_POLICY = Part(
    "each kind of loss of determinism has its own policy.",
    "for example Leave(side='-').",
    "one of Stop, Leave, Sample, Enumerate",
)


@dataclass(frozen=True, eq=False, repr=False)
class Stop(Policy):
    """End the run where the future stops being unique; the default."""


@dataclass(frozen=True, eq=False, repr=False)
class Leave(Policy):
    """Leave to one side, after a given time.

    At a two-fold a one-parameter family of exits has the same time; the exit halfway between the
    directions of the two folds is taken. On a codimension-2 line the solution takes the first exit
    direction to that side. Where two surfaces intersect, it takes the first exit direction to that
    side of the surface that it reached, else of the other surface. If there is no such exit
    direction, the run ends with the status STOPPED and a reason.

    Parameters
    ----------
    side : "+" or "-", the side of the surface to which the solution leaves
    after : time spent in the escaping region before the exit [time unit of the system]. No solution
        leaves a two-fold at once, so there it must be positive

    Verified by: tests/unit/switching/test_policies.py::test_leave_a_two_fold
    """

    side: Annotated[str, _SIDE] = "+"
    after: Annotated[float, _AFTER] = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Policy):
    """Draw exits at random; the run follows the first one, the results list the others.

    Parameters
    ----------
    n : number of exits drawn at each loss of determinism
    hazard : rate of leaving [1 / time unit]: dwell times are exponential with this rate,
        sides and directions are equally likely. After a two-fold each direction has a latest exit;
        a draw beyond it is repeated. At most 20 n draws are made, so fewer than n exits are
        possible
    seed : seed of the random numbers

    Verified by: tests/unit/switching/test_policies.py::test_sampled_dwell_times
    """

    n: Annotated[int, _COUNT] = 1
    hazard: Annotated[float, _HAZARD] = 1.0
    seed: Annotated[int, _SEED] = 0


@dataclass(frozen=True, eq=False, repr=False)
class Enumerate(Policy):
    """Follow several exits, to both sides; the run takes the first one, the results list all.

    Parameters
    ----------
    grid : at a two-fold, the number of directions and the number of exits in each direction, to
        both sides: at most 2 `grid` squared exits. At other losses of determinism it is not used:
        each exit direction is followed, at once
    """

    grid: Annotated[int, _GRID] = 8


@dataclass(frozen=True, eq=False, repr=False)
class ByKind(Policy):
    """One policy for each kind of loss.

    Parameters
    ----------
    two_fold, codim2_line, escaping_start, fold, intersection : policy for each kind, `Stop` by
        default. A `fold` is a grazing after which the solution may also leave to the other side;
        an `intersection` of two surfaces has several exit directions

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
