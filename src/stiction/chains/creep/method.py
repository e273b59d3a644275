"""Adaptive implicit method for chains whose contacts never stick."""

from __future__ import annotations

from dataclasses import dataclass

from stiction.errors import ModelError, explain
from stiction.numerics.checks import BYTES_OF_EVENT, MOST_WORK, Record, check_counts, number

__all__ = ["Radau"]


@dataclass(frozen=True, eq=False, repr=False)
class Radau(Record):
    """Collocation with five stages, of order 9 and L-stable, for laws without stick.

    Steps follow the estimated error, over the fifteen orders of magnitude in time that lie between
    creep at rest and an earthquake. Where slip or a deflection changes its sign the law has a kink:
    the step ends there, and the next one begins with the other sign. `EventDriven` goes over to
    this method where a law has no stick.

    Parameters
    ----------
    rtol : error of a step over the size of each state [1], between 1e-13 and 1e-3
    max_step : longest step [s]; None leaves it to the method
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a tolerance or a step that makes no sense.

    Source: Hairer, Wanner 1996, Solving Ordinary Differential Equations II, sections IV.5, IV.8.
    Verified by: tests/unit/chains/creep/test_collocation.py::test_order_nine
    """

    rtol: float = 1e-11
    max_step: float | None = None
    max_steps: int = 200_000
    max_events: int = 100_000

    def __post_init__(self) -> None:
        why, try_ = "steps are as long as this tolerance allows.", "use 1e-11."
        number("Radau.rtol", self.rtol, rule="positive", why=why, try_=try_)
        if not 1e-13 <= self.rtol <= 1e-3:
            needs = "a number between 1e-13 and 1e-3"
            raise ModelError(explain("Radau.rtol", self.rtol, needs, why, try_))
        if self.max_step is not None:
            why, try_ = "a step must go forward.", "leave it out."
            number("Radau.max_step", self.max_step, rule="positive", unit="s", why=why, try_=try_)
        check_counts(
            self,
            ("max_steps", 1, MOST_WORK, 0),
            ("max_events", 1, MOST_WORK, BYTES_OF_EVENT),
        )
