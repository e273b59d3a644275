"""The event-driven method of piecewise-smooth flows: its parameters, and how `solve` reaches it.

`event_driven` has the integration; this module is imported without the compiled kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Limit, Part, Positive
from stiction.core.method import Method, Policy, SharedName, label_of, method_for
from stiction.errors import ModelError
from stiction.numerics.checks import BYTES_OF_EVENT
from stiction.switching.model import SwitchingSystem

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from stiction.core.block import Solve
    from stiction.core.run import Request, Run
    from stiction.core.tangents import Tangents

    Floats = npt.NDArray[np.float64]

__all__ = ["EventDriven", "event_driven"]

# default bound on the steps of a run: some ten seconds
_STEPS = 800_000

_RTOL = Positive(
    "",
    "below 1e-14 rounding errors exceed the tolerance; above 1e-2 events would be missed.",
    "give 1e-12, which costs hardly more than 1e-6, because steps have order 8.",
    least=1e-14,
    most=1e-2,
)
_ATOL = Positive("", "steps are as long as this tolerance allows.", "leave this value out.")
_MAX_STEP = Positive("", "a step has at most this length.", "leave this value out.")
_POLICY = Part(
    "a policy selects a solution where several exist.",
    "leave `policy` out to stop at losses of determinism.",
    "one of Stop(), Leave(...), Sample(...), Enumerate(...), ByKind(...)",
)


@dataclass(frozen=True, eq=False, repr=False)
class EventDriven(Method):
    """Event-driven integration of Filippov flows: stick is exact, and each event is located.

    Between events the Runge-Kutta pair DOP853 of order 8 integrates the flow of the present mode;
    roots of the event functions are located on its dense output. Stiff systems use Radau IIA.

    Parameters
    ----------
    rtol : relative tolerance of a step [1], between 1e-14 and 1e-2
    atol : absolute tolerance of a step in units of the scale of each state; `rtol` when None
    max_step : longest step [time unit]; None for no bound. Switching functions are sampled at nine
        points of each step: give a step shorter than the narrowest dip of h that must not be missed
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT. None
        allows 800,000 steps, which take some ten seconds
    policy : the choice where the solution is not unique; None stops there

    Source: formulas sheet of the paper on switching, section 3.
    Verified by: tests/exact/test_wheel_runs.py::test_reference_trajectories

    Examples
    --------
    >>> import stiction as st
    >>> relay = st.switching.RelayFeedback()
    >>> st.solve(relay, st.switching.EventDriven(rtol=1e-9, atol=1e-9)).status
    <Status.SOLVED: 'solved'>
    """

    solves: ClassVar[tuple[type, ...]] = (SwitchingSystem,)

    rtol: Annotated[float, _RTOL] = 1e-12
    atol: Annotated[float | None, _ATOL] = None
    max_step: Annotated[float | None, _MAX_STEP] = None
    max_steps: Annotated[int | None, Limit()] = None
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000
    policy: Annotated[Policy | None, _POLICY] = None

    def steps_allowed(self) -> int:
        """Return the bound on the steps."""
        return _STEPS if self.max_steps is None else self.max_steps

    def solve(self, system: SwitchingSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.switching.event_driven import solve_event_driven

        return solve_event_driven(system, self, request)

    def tangents(
        self,
        system: SwitchingSystem,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the end of a run and its derivatives with respect to the directions."""
        from stiction.switching.tangents.run import tangents_of

        return tangents_of(system, self, t_span, to, save)

    def blocks(
        self,
        system: SwitchingSystem,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return a solver of many members at once; None if there is none."""
        from stiction.switching.ensembles.members import blocks_of

        return blocks_of(system, self, request, paths, names)


def event_driven(flow: SwitchingSystem, method: EventDriven | SharedName) -> EventDriven:
    """Return the `EventDriven` method of a flow; `method` may be its name shared by all systems.

    Raises
    ------
    ModelError : if it is another method.
    """
    found = method_for(flow, method)
    if not isinstance(found, EventDriven):
        needs, why = (
            "an EventDriven",
            "only the kernels of EventDriven can follow many trajectories.",
        )
        raise ModelError("method", label_of(type(method)), needs, why, "leave this value out.")
    return found
