"""What a chain does where the drive or the slip rate of a mass only touches what decides."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stiction.errors import ModelError, explain
from stiction.methods import Policy
from stiction.numerics.checks import number

__all__ = ["SlipAtTouch"]


@dataclass(frozen=True, eq=False, repr=False)
class SlipAtTouch(Policy):
    """Let a mass slip where friction with a jump leaves both futures open.

    A slip rate that touches zero while stick could hold, and a drive that touches the static
    bound, have two futures; without a policy the mass sticks. Every pair of times singles out
    other touches, so that each combination of futures can be had.

    Parameters
    ----------
    after, before : only touches between these times [s]

    Source: decision record 0003.
    Verified by: tests/unit/chains/event_driven/test_touches.py::test_both_futures_of_a_touch
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
                explain(
                    "SlipAtTouch",
                    f"after = {self.after} and before = {self.before}",
                    "after <= before",
                    why,
                    try_,
                )
            )
