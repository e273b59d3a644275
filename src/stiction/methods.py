"""Descriptions of methods that several systems share, and of what to choose where they must.

A description holds numbers and checks them. The work is done by the system, which knows
its own structure: `EventDriven` asks it to solve itself event by event.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stiction.errors import ModelError, explain
from stiction.numerics.checks import Record, number, whole
from stiction.numerics.linear_solvers import LinearSolver

if TYPE_CHECKING:
    from stiction.results.run import Request, Run

__all__ = [
    "BranchChoice",
    "ByKind",
    "Enumerate",
    "EventDriven",
    "Leave",
    "Policy",
    "Quasistatic",
    "Sample",
    "SlideFrom",
    "StayStuck",
    "Stop",
]


class Policy(Record):
    """Base of what a run does where the model allows more than one future."""


@dataclass(frozen=True, eq=False)
class Stop(Policy):
    """End the run where the future stops being unique; the default."""


@dataclass(frozen=True, eq=False)
class Leave(Policy):
    """Leave to one side, after a given time.

    At a two-fold a whole family of exits has the same time: the one halfway between the two
    folds is taken. On a codimension-2 line the first way out to that side is.

    Parameters
    ----------
    side : "+" or "-", the side of the surface it leaves to
    after : time spent in the escaping region first [time unit of the system]; at a
        two-fold it must be positive, because nothing can leave it at once

    Verified by: tests/unit/switching/test_policies.py::test_leave_a_two_fold
    """

    side: str = "+"
    after: float = 0.0

    def __post_init__(self) -> None:
        if self.side not in ("+", "-"):
            raise ModelError(
                explain(
                    "Leave.side",
                    repr(self.side),
                    "'+' or '-'",
                    "a surface has two sides, h > 0 and h < 0.",
                    "for example side = '+'.",
                )
            )
        number(
            "Leave.after",
            self.after,
            rule="nonnegative",
            why="it leaves now or later.",
            try_="give a time such as 0.5.",
        )


@dataclass(frozen=True, eq=False)
class Sample(Policy):
    """Draw exits at random; the run follows the first, the others are reported.

    Parameters
    ----------
    n : how many exits are drawn each time
    hazard : rate of leaving [1 / time unit]: dwell times are exponential with this rate,
        sides and directions are equally likely. Behind a two-fold a draw beyond the last
        exit of its direction is drawn again, so that times are cut off there
    seed : of the random numbers

    Verified by: tests/unit/switching/test_policies.py::test_sampled_dwell_times
    """

    n: int = 1
    hazard: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        whole(
            "Sample.n", self.n, least=1, why="at least one future is followed.", try_="give n = 1."
        )
        number(
            "Sample.hazard",
            self.hazard,
            rule="positive",
            why="it is the rate at which the state leaves; at rate zero it never would.",
            try_="give 1 over the mean time you expect.",
        )
        why = "it makes the draws repeatable."
        whole("Sample.seed", self.seed, least=0, why=why, try_="give seed = 0.")


@dataclass(frozen=True, eq=False)
class Enumerate(Policy):
    """Try exits on a grid and both sides; the run follows the first, the others are reported.

    Parameters
    ----------
    grid : exits per direction
    """

    grid: int = 8

    def __post_init__(self) -> None:
        why = "a grid needs two points per direction."
        whole("Enumerate.grid", self.grid, least=2, why=why, try_="give grid = 8.")


@dataclass(frozen=True, eq=False)
class ByKind(Policy):
    """One policy for each kind of loss.

    Parameters
    ----------
    two_fold, codim2_line, escaping_start, fold : what to do at each; `Stop` when left out.
        A `fold` is met from outside, where the other side is open too

    Verified by: tests/unit/switching/test_policies.py::test_one_policy_for_each_kind
    """

    two_fold: Policy = field(default_factory=Stop)
    codim2_line: Policy = field(default_factory=Stop)
    escaping_start: Policy = field(default_factory=Stop)
    fold: Policy = field(default_factory=Stop)

    def __post_init__(self) -> None:
        for name in ("two_fold", "codim2_line", "escaping_start", "fold"):
            policy = getattr(self, name)
            if not isinstance(policy, Policy) or isinstance(policy, ByKind):
                raise ModelError(
                    explain(
                        f"ByKind.{name}",
                        repr(policy),
                        "one of Stop, Leave, Sample, Enumerate",
                        "it says what to do at one kind of place.",
                        "for example Leave(side='-').",
                    )
                )


@dataclass(frozen=True, eq=False)
class EventDriven(Record):
    """From event to event: modes are exact, events are located, stick does not creep.

    Chains sum Taylor series, so that there is no discretisation error between events.
    Piecewise-smooth flows use a Runge-Kutta pair of order 8 with dense output.

    Parameters
    ----------
    rtol : relative tolerance of a step [1], between 1e-14 and 1e-2
    atol : absolute tolerance of a step in units of the scale of each state; `rtol` when
        None. Chains sum their series to rounding and have no use for it
    order : order p of the series of a chain, 8 to 60; 30 is near the fastest for full
        precision. With steps of fixed length h the error falls as h^p, as h^(p-1) where
        events are located
    max_step : longest step [time unit]; None leaves it to the method. A flow looks at its
        switching functions at nine points of a step: give a step shorter than the narrowest
        dip of h that must not be missed
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT
    policy : what a flow does where its future is not unique; None stops there

    Source: formulas sheet of the chains paper, section 6; of the paper on switching, 3.
    Verified by: tests/exact/test_chain_references.py::test_events_and_states
    """

    rtol: float = 1e-12
    atol: float | None = None
    order: int = 30
    max_step: float | None = None
    max_steps: int = 2_000_000
    max_events: int = 1_000_000
    policy: Policy | None = None

    def __post_init__(self) -> None:
        number(
            "EventDriven.rtol",
            self.rtol,
            rule="positive",
            why="steps are as long as this tolerance allows.",
            try_="give a number such as 1e-12.",
        )
        if not 1e-14 <= self.rtol <= 1e-2:
            raise ModelError(
                explain(
                    "EventDriven.rtol",
                    self.rtol,
                    "a number between 1e-14 and 1e-2",
                    "below, rounding rules; above, events would be missed.",
                    "1e-12 costs hardly more than 1e-6.",
                )
            )
        why, try_ = "the work of a run is bounded.", "leave the default."
        for name, least in (("order", 8), ("max_steps", 1), ("max_events", 1)):
            whole(f"EventDriven.{name}", getattr(self, name), least=least, why=why, try_=try_)
        if self.order > 60:
            raise ModelError(
                explain("EventDriven.order", self.order, "at most 60", "more lose digits.", try_)
            )
        for name, why in (
            ("max_step", "a step must go forward."),
            ("atol", "steps are as long as this tolerance allows."),
        ):
            if getattr(self, name) is not None:
                number(
                    f"EventDriven.{name}",
                    getattr(self, name),
                    rule="positive",
                    why=why,
                    try_="leave it out.",
                )
        if self.policy is not None and not isinstance(self.policy, Policy):
            raise ModelError(
                explain(
                    "EventDriven.policy",
                    repr(self.policy),
                    "one of Stop(), Leave(...), Sample(...), Enumerate(...), ByKind(...)",
                    "it says what to do where the future is not unique.",
                    "leave it out to stop there.",
                )
            )

    def solve(self, system: object, request: Request) -> Run:
        """Return the run of `system`; the method of `stiction.solve`.

        Raises
        ------
        ModelError : if the system has no event-driven method.
        """
        solver = getattr(system, "solve_event_driven", None)
        if solver is None:
            raise ModelError(
                explain(
                    "EventDriven",
                    type(system).__name__,
                    "a system with events, such as Chain or WheelOnTurntable",
                    "the method uses the structure of the system.",
                    "give the system's own method.",
                )
            )
        run: Run = solver(self, request)
        return run


class BranchChoice(Record, abc.ABC):
    """Which motion to follow where the quasistatic problem admits several."""

    @abc.abstractmethod
    def leaves(self, t: float) -> bool:
        """Return whether a chain at rest, with slip admissible too, slips from t [s] on."""

    def first_time(self) -> float:
        """Return the earliest time [s] at which `leaves` can be true; inf for never."""
        return math.inf


@dataclass(frozen=True, eq=False)
class StayStuck(BranchChoice):
    """Rest as long as friction can hold, and slip as long as slip can go on."""

    def leaves(self, t: float) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, eq=False)
class SlideFrom(BranchChoice):
    """Take the fastest stable slip, once, at the first moment from `time` on that admits it.

    Every choice of `time` gives another solution of the same problem with the same start:
    where branches exist there is a continuum of solutions.

    Parameters
    ----------
    time : [s]
    """

    time: float = 0.0

    def __post_init__(self) -> None:
        why, try_ = "the chain leaves its rest then.", "for example SlideFrom(time=0.0)."
        time = number("SlideFrom.time", self.time, unit="s", why=why, try_=try_)
        object.__setattr__(self, "time", time)

    def leaves(self, t: float) -> bool:
        """Return whether `time` has come."""
        return t >= self.time

    def first_time(self) -> float:
        """Return `time`."""
        return self.time


@dataclass(frozen=True, eq=False)
class Quasistatic(Record):
    """Balance at every moment: motion without inertia.

    Chains are solved exactly, mode by mode (`rtol`, `choice`, `load_samples`, `max_events`).
    Solids go from load step to load step by Newton's method (`steps` and the fields after it);
    a step that fails is cut and everything rolls back.

    Parameters
    ----------
    rtol : of a chain: relative tolerance of a user's load and of the motion under weakening
        friction [1], between 1e-14 and 1e-2
    choice : of a chain: which branch to take where several are admissible
    load_samples : of a chain: points between two breakpoints at which a user's load is looked
        at for turns
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT
    steps : of a solid: load steps if none fails; the longest step is the time span over this
    max_cuts : of a solid: how often the longest step may be halved before the run gives up
    newton_tolerance : of a solid: residual over the forces in balance [1]
    max_iterations : of a solid: of Newton's method in one step
    solver : of a solid: the sparse solver; None takes the fastest at hand

    Source: Axioms 14(4) 299, Problem 2, for chains; Mergel, Scheibert, Sauer 2021, section 3,
    for solids.
    Verified by: tests/unit/chains/test_quasistatic.py::test_sweeping_equals_play
    """

    rtol: float = 1e-12
    choice: BranchChoice = field(default_factory=StayStuck)
    load_samples: int = 2000
    max_steps: int = 2_000_000
    max_events: int = 1_000_000
    steps: int = 100
    max_cuts: int = 12
    newton_tolerance: float = 1e-9
    max_iterations: int = 30
    solver: LinearSolver | None = None

    def __post_init__(self) -> None:
        why, try_ = "a user's load and weakening friction are followed to this.", "use 1e-12."
        number("Quasistatic.rtol", self.rtol, rule="positive", why=why, try_=try_)
        if not 1e-14 <= self.rtol <= 1e-2:
            raise ModelError(
                explain("Quasistatic.rtol", self.rtol, "a number between 1e-14 and 1e-2", why, try_)
            )
        why, try_ = "the work of a run is bounded.", "leave the default."
        for name, least in (
            ("load_samples", 2),
            ("max_steps", 1),
            ("max_events", 1),
            ("steps", 1),
            ("max_cuts", 0),
            ("max_iterations", 2),
        ):
            whole(f"Quasistatic.{name}", getattr(self, name), least=least, why=why, try_=try_)
        check_newton("Quasistatic", self.newton_tolerance, self.solver)
        if not isinstance(self.choice, BranchChoice):
            raise ModelError(
                explain(
                    "Quasistatic.choice",
                    repr(self.choice),
                    "a BranchChoice",
                    "weakening friction can allow several motions, and the run follows one.",
                    "StayStuck() or SlideFrom(time=0.0).",
                )
            )

    def solve(self, system: object, request: Request) -> Run:
        """Return the run of `system`; the method of `stiction.solve`.

        Raises
        ------
        ModelError : if the system has no quasistatic problem.
        """
        return _dispatched("Quasistatic", "solve_quasistatic", self, system, request)


def check_newton(name: str, tolerance: object, solver: object) -> None:
    """Refuse a tolerance of Newton's method or a solver that make no sense.

    Parameters
    ----------
    name : of the method, for messages
    tolerance : residual over the forces in balance [1], between 1e-13 and 1e-3
    solver : a LinearSolver, or None
    """
    why, try_ = "forces balance to this part of their size.", "use 1e-9."
    where = f"{name}.newton_tolerance"
    value = number(where, tolerance, rule="positive", why=why, try_=try_)
    if not 1e-13 <= value <= 1e-3:
        raise ModelError(explain(where, value, "a number between 1e-13 and 1e-3", why, try_))
    if solver is not None and not isinstance(solver, LinearSolver):
        why, try_ = "it solves the linear systems of Newton's method.", "leave it out."
        raise ModelError(explain(f"{name}.solver", repr(solver), "a LinearSolver", why, try_))


def _dispatched(name: str, verb: str, method: object, system: object, request: Request) -> Run:
    """Return the run that the system makes of this method."""
    solver = getattr(system, verb, None)
    if solver is None:
        raise ModelError(
            explain(
                name,
                type(system).__name__,
                "a Chain or a Solid" if name == "Quasistatic" else "a Solid",
                "the method uses the structure of the system.",
                "give the system's own method.",
            )
        )
    run: Run = solver(method, request)
    return run
