"""Methods whose name occurs in several subpackages: `EventDriven` and `Quasistatic`.

Each subpackage defines its own method of that name with all its fields, such as
`stiction.chains.EventDriven` and `stiction.switching.EventDriven`. The two classes of this module
have only the common fields. `solve` replaces them by the method of the system that is solved.
"""

from __future__ import annotations

from dataclasses import dataclass

from stiction.core.method import Policy, SharedName

__all__ = ["EventDriven", "Quasistatic"]


@dataclass(frozen=True, eq=False, repr=False)
class EventDriven(SharedName):
    """Event-driven integration: transitions of stick and slip are located, stick is exact.

    Parameters
    ----------
    rtol : relative tolerance of a step [1], between 1e-14 and 1e-2
    max_step : longest step [time unit]; with None the method chooses it
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT
    policy : choice of a solution at a state with more than one admissible solution

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
    """Quasistatic motion: equilibrium at every time, without inertia.

    Parameters
    ----------
    max_steps : bound on the work; a run that reaches it ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a field that not all namesakes have.

    Verified by: tests/unit/test_methods.py::test_a_namesake_stands_for_the_method_of_the_system
    """

    max_steps: int = 2_000_000
