"""The method `Cycles`: time integration of spring sliders and faults over earthquake cycles.

Unknowns are ln V and ln theta of every cell: slip speed V [m/s] and state theta [s] of
rate-and-state friction. They satisfy sigma mu(V, theta) + eta V = tau0 + K s, whose time
derivative is integrated: effective normal stress sigma, friction mu, radiation damping eta, initial
shear stress tau0, elastic stiffness K, and slip s less that of the plates. The class has the
parameters of the method; `run.run_cycles` integrates, with the equations of `rate_kernels` and the
steps of `stepper_kernels`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Limit, Positive
from stiction.core.method import Method
from stiction.faults.model import FaultSystem, SpringSlider
from stiction.numerics.checks import BYTES_OF_EVENT

if TYPE_CHECKING:
    from stiction.core.block import Solve
    from stiction.core.run import Request, Run

__all__ = ["Cycles"]

_RTOL = Positive(
    "",
    "rtol controls the steps; below 1e-13 rounding dominates.",
    "give 1e-9.",
    least=1e-13,
    most=1e-2,
)
_SEISMIC = Positive(
    "m/s", "an event occurs when the largest slip speed crosses this value.", "give 1e-3."
)


@dataclass(frozen=True, eq=False, repr=False)
class Cycles(Method):
    """Runge-Kutta method of order 5 in ln V and ln theta, with adaptive steps.

    Parameters
    ----------
    rtol : tolerance of the error of a step, the largest in ln V and ln theta of all cells [1];
        between 1e-13 and 1e-2
    seismic : slip speed that defines events [m/s]: an onset (arrest) is the time when the largest
        speed rises above (falls below) it
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT

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

    rtol: Annotated[float, _RTOL] = 1e-9
    seismic: Annotated[float, _SEISMIC] = 1e-3
    max_steps: Annotated[int, Limit()] = 100_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000

    @property
    def level(self) -> float:
        """Natural logarithm of `seismic`: ln V at events."""
        return math.log(self.seismic)

    def solve(self, system: FaultSystem, request: Request) -> Run:
        """Return the run of `system` over the times of `request`."""
        from stiction.faults.run import run_cycles

        return run_cycles(system, self, request)

    def blocks(
        self,
        system: FaultSystem,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return a function that solves many sliders at once; see `members.blocks_of`."""
        if not isinstance(system, SpringSlider):
            return None
        from stiction.faults.members import blocks_of

        return blocks_of(system, self, request, paths, names)
