"""The class `Scenario`: a system, a method, a time span, and the paper that they reproduce.

`read_scenario` returns a scenario, and `Scenario.solve` solves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stiction.errors import ScenarioError

if TYPE_CHECKING:
    from stiction.core.run import Run

__all__ = ["Scenario"]


@dataclass(frozen=True)
class Scenario:
    """All inputs of a run, with its title and description.

    `s.solve()` is `stiction.solve(s.system, s.method, s.t_span, save=s.save)`.

    Parameters
    ----------
    system : the system to solve
    method : the numerical method
    t_end, t_start : end and start [s, or the system's unit of time]
    save : times [s] at which the state is saved, or their number; None for the default
    title : one line that describes the result
    paper, figure : paper and figure that the scenario reproduces
    note : a remark for the reader, for example that the paper does not give all numbers
    """

    system: Any
    method: Any
    t_end: float
    t_start: float = 0.0
    save: int | tuple[float, ...] | None = None
    title: str = ""
    paper: str = ""
    figure: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        from stiction.core.method import method_for

        if self.method is not None or hasattr(self.system, "default_method"):
            object.__setattr__(self, "method", method_for(self.system, self.method))
        if not self.t_end > self.t_start:
            raise ScenarioError(
                "solve.t_end",
                f"{self.t_end!r} with t_start = {self.t_start!r}",
                "an end [s] after the start",
                "a run goes from a start to a later end.",
                "for example t_end = 8.0.",
            )

    @property
    def t_span(self) -> tuple[float, float]:
        """Start and end [s]."""
        return self.t_start, self.t_end

    def solve(self, **options: Any) -> Run:
        """Return the run of this scenario.

        Parameters
        ----------
        options : keyword arguments of `stiction.solve`, such as `throw` or `progress`

        Verified by: tests/unit/test_scenario.py::test_a_scenario_of_other_masses_is_solved
        """
        from stiction.core.driver import drive
        from stiction.io.output import OUTPUT

        options.setdefault("save", self.save)
        return drive(self.system, self.method, self.t_span, output=OUTPUT, **options)
