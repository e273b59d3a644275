"""Choice between admissible solutions: at grazing events, and between quasistatic branches."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated

from stiction.core.fields import Declared, Finite
from stiction.core.method import Policy
from stiction.errors import ModelError
from stiction.numerics.checks import number

__all__ = ["BranchChoice", "SlideFrom", "SlipAtGrazing", "StayStuck"]

_TIME = Finite("s", "the chain leaves stick then.", "for example SlideFrom(time=0.0).")


@dataclass(frozen=True, eq=False, repr=False)
class SlipAtGrazing(Policy):
    """Let a mass slip at grazing events under friction with a jump.

    Where a slip rate grazes zero while stick is admissible, or a drive grazes the static bound,
    there are two solutions; without a policy the mass sticks. The times select grazing events, so
    that each combination of solutions can be computed.

    Parameters
    ----------
    after, before : only grazing events between these times [s]

    Source: docs/decisions/07.
    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_both_solutions_at_a_grazing
    """

    after: float = -math.inf
    before: float = math.inf

    def __post_init__(self) -> None:
        why = "the mass slips at grazing events between two times."
        try_ = "leave it out for all of them."
        for name, free in (("after", -math.inf), ("before", math.inf)):
            if getattr(self, name) == free:
                continue
            time = number(
                f"SlipAtGrazing.{name}", getattr(self, name), unit="s", why=why, try_=try_
            )
            object.__setattr__(self, name, time)
        if self.after > self.before:
            raise ModelError(
                "SlipAtGrazing",
                f"after = {self.after} and before = {self.before}",
                "after <= before",
                why,
                try_,
            )


class BranchChoice(Declared, abc.ABC):
    """Choice of a branch where the quasistatic problem has several solutions."""

    @abc.abstractmethod
    def leaves(self, t: float) -> bool:
        """Return whether a stuck chain slips from t [s] on, if slip is admissible too."""

    def first_time(self) -> float:
        """Return the earliest time [s] at which `leaves` can be true; inf for never."""
        return math.inf


@dataclass(frozen=True, eq=False, repr=False)
class StayStuck(BranchChoice):
    """Stick as long as stick is admissible, and slip as long as slip is.

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
    """Take the fastest stable slip, once, at the first time from `time` on that admits it.

    Each `time` gives another solution of the same initial value problem: where branches exist there
    is a continuum of solutions.

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
        """Return whether t >= `time`."""
        return t >= self.time

    def first_time(self) -> float:
        """Return `time`."""
        return self.time
