"""Methods by the names that several systems give them.

`EventDriven` and `Quasistatic` are found in the room of each system, with all their fields:
`stiction.chains.EventDriven`, `stiction.switching.EventDriven`. The two here take what all their
namesakes have, and stand for the one of the system that is solved.
"""

from __future__ import annotations

from dataclasses import dataclass

from stiction.core.method import Policy, SharedName

__all__ = ["EventDriven", "Quasistatic"]


@dataclass(frozen=True, eq=False, repr=False)
class EventDriven(SharedName):
    """From event to event: events are located, stick is exact.

    Parameters
    ----------
    rtol : relative tolerance of a step [1], between 1e-14 and 1e-2
    max_step : longest step [time unit]; None leaves it to the method
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT
    policy : what to do where the future is not unique

    Raises
    ------
    ModelError : on a field that not all namesakes have; in a run of bodies, on a policy.

    Verified by: tests/unit/test_methods.py::test_a_namesake_stands_for_the_method_of_the_system
    """

    rtol: float = 1e-12
    max_step: float | None = None
    max_steps: int | None = None
    max_events: int = 1_000_000
    policy: Policy | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Quasistatic(SharedName):
    """Balance at every moment: motion without inertia.

    Parameters
    ----------
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a field that only `chains.Quasistatic` or `solids.Quasistatic` has.

    Verified by: tests/unit/test_methods.py::test_a_namesake_stands_for_the_method_of_the_system
    """

    max_steps: int = 2_000_000
