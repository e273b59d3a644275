"""Policies: the choice of the solution that a run follows where several are admissible.

`SlipAtGrazing` decides at grazing events of the dynamic problem, a `BranchChoice` between the
branches of the quasistatic problem, velocities v that solve C v + N mu(|v|) Sgn(v) containing R. At
a grazing event a slip rate touches zero, or the stick force touches its static bound, and turns
back.
"""

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

_TIME = Finite("s", "from this time on the chain may slip.", "for example SlideFrom(time=0.0).")


@dataclass(frozen=True, eq=False, repr=False)
class SlipAtGrazing(Policy):
    """Let a mass slip at grazing events if friction jumps from mu_static to a lower mu(0+).

    If a slip rate touches zero while stick is admissible, or if a drive touches the static bound,
    there are two solutions: the mass sticks or slips. Without a policy it sticks. `after` and
    `before` select the events at which it slips, so that each combination can be computed.

    Parameters
    ----------
    after, before : the mass slips at grazing events between these times; default at all [s]

    Source: docs/decisions/07.
    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_both_solutions_at_a_grazing
    """

    after: float = -math.inf
    before: float = math.inf

    def __post_init__(self) -> None:
        why = "the mass slips at grazing events between the times `after` and `before`."
        try_ = "leave both out to let the mass slip at all grazing events."
        for name, free in (("after", -math.inf), ("before", math.inf)):
            given = getattr(self, name)
            if isinstance(given, float) and given == free:
                continue
            time = number(f"SlipAtGrazing.{name}", given, unit="s", why=why, try_=try_)
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
    """Remain in stick while stick is admissible, and on the slip branch until it ends: hysteresis.

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
    """Leave stick once, for the fastest stable slip, as soon after `time` as this exists.

    While both stick and slip are admissible, the chain may leave stick at any time. Each `time`
    gives another solution of the same initial value problem, so they form a continuum.

    Parameters
    ----------
    time : earliest time of the change [s]

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
