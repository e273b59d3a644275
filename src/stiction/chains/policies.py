"""What a chain does where its future is not unique: touches, and branches of its equilibria."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated

from stiction.core.fields import Declared, Finite
from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.numerics.checks import number

__all__ = ["BranchChoice", "SlideFrom", "SlipAtTouch", "StayStuck"]

_TIME = Finite("s", "the chain leaves its rest then.", "for example SlideFrom(time=0.0).")


@dataclass(frozen=True, eq=False, repr=False)
class SlipAtTouch(Policy):
    """Let a mass slip where friction with a jump leaves both futures open.

    A slip rate that touches zero while stick could hold, and a drive that touches the static
    bound, have two futures; without a policy the mass sticks. Every pair of times singles out
    other touches, so that each combination of futures can be had.

    Parameters
    ----------
    after, before : only touches between these times [s]

    Source: docs/decisions/07.
    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_both_futures_of_a_touch
    """

    after: float = -math.inf
    before: float = math.inf

    def __post_init__(self) -> None:
        why, try_ = "touches between two times are left by slip.", "leave it out for all touches."
        for name, free in (("after", -math.inf), ("before", math.inf)):
            if getattr(self, name) == free:
                continue
            time = number(f"SlipAtTouch.{name}", getattr(self, name), unit="s", why=why, try_=try_)
            object.__setattr__(self, name, time)
        if self.after > self.before:
            raise ModelError(
                "SlipAtTouch",
                f"after = {self.after} and before = {self.before}",
                "after <= before",
                why,
                try_,
            )


class BranchChoice(Declared, abc.ABC):
    """Which motion to follow where the quasistatic problem admits several."""

    @abc.abstractmethod
    def leaves(self, t: float) -> bool:
        """Return whether a chain at rest, with slip admissible too, slips from t [s] on."""

    def first_time(self) -> float:
        """Return the earliest time [s] at which `leaves` can be true; inf for never."""
        return math.inf


@dataclass(frozen=True, eq=False, repr=False)
class StayStuck(BranchChoice):
    """Rest as long as friction can hold, and slip as long as slip can go on.

    Examples
    --------
    >>> import stiction as st
    >>> st.chains.Quasistatic().choice == st.chains.StayStuck()
    True
    """

    def leaves(self, t: float) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, eq=False, repr=False)
class SlideFrom(BranchChoice):
    """Take the fastest stable slip, once, at the first moment from `time` on that admits it.

    Every choice of `time` gives another solution of the same problem with the same start:
    where branches exist there is a continuum of solutions.

    Parameters
    ----------
    time : [s]

    Examples
    --------
    >>> import stiction as st
    >>> st.chains.Quasistatic(choice=st.chains.SlideFrom(time=2.5)).choice.time
    2.5
    """

    time: Annotated[float, _TIME] = 0.0

    def leaves(self, t: float) -> bool:
        """Return whether `time` has come."""
        return t >= self.time

    def first_time(self) -> float:
        """Return `time`."""
        return self.time
