"""The method that solves sliders and faults over earthquake cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stiction.core.method import Method
from stiction.errors import ModelError
from stiction.faults.model import FaultSystem, SpringSlider
from stiction.numerics.checks import check_counts, number

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = ["Cycles"]


@dataclass(frozen=True, eq=False, repr=False)
class Cycles(Method):
    """Runge-Kutta of order 5 in the logarithms of speed and state, with steps by its error.

    Parameters
    ----------
    rtol : error of a step in ln V and ln theta [1], of the worst cell; between 1e-13 and 1e-2
    seismic : speed whose passing is an event, an onset upwards and an arrest downwards [m/s]
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT

    Source: Dormand and Prince 1980, J. Comput. Appl. Math. 6, 19.
    Verified by: tests/exact/test_spring_slider.py::test_the_error_falls_with_the_tolerance

    Examples
    --------
    >>> import stiction as st
    >>> slider = st.faults.SpringSlider(speed_start=2e-6)
    >>> st.solve(slider, st.faults.Cycles(rtol=1e-6), t_span=(0.0, 10.0)).status
    <Status.SOLVED: 'solved'>
    """

    solves: ClassVar[tuple[type, ...]] = (FaultSystem,)

    rtol: float = 1e-9
    seismic: float = 1e-3
    max_steps: int = 100_000_000
    max_events: int = 1_000_000

    def __post_init__(self) -> None:
        why = "steps are as long as this tolerance allows."
        rtol = number("Cycles.rtol", self.rtol, rule="positive", why=why, try_="give 1e-9.")
        if not 1e-13 <= rtol <= 1e-2:
            needs, why = "a number between 1e-13 and 1e-2", "below, rounding rules."
            raise ModelError("Cycles.rtol", rtol, needs, why, "give 1e-9.")
        why = "an event is where the largest speed passes it."
        number("Cycles.seismic", self.seismic, rule="positive", unit="m/s", why=why, try_="1e-3.")
        check_counts(self, ("max_steps", 1, 10**11, 0), ("max_events", 1, 10**11, 100))

    @property
    def level(self) -> float:
        """Logarithm of the speed whose passing is an event."""
        return math.log(self.seismic)

    def solve(self, system: FaultSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.faults.run import run_cycles

        return run_cycles(system, self, request)

    def blocks(
        self,
        system: FaultSystem,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return what solves many sliders at once; None where it cannot."""
        if not isinstance(system, SpringSlider):
            return None
        from stiction.faults.members import blocks_of

        return blocks_of(system, self, request, paths, names)
