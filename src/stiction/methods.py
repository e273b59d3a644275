"""Descriptions of methods that several systems share, and how a method finds its system.

A description holds numbers and checks them. The work is done by the system, which knows its own
structure: it names, in `solved_by`, the function that runs each method on it.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from stiction.core.run import Request, Run, Runner
from stiction.errors import ModelError, explain
from stiction.numerics.checks import BYTES_OF_EVENT, MOST_WORK, Record, check_counts, number
from stiction.numerics.linear_solvers import LinearSolver

__all__ = [
    "BranchChoice",
    "EventDriven",
    "FollowBranch",
    "Policy",
    "Quasistatic",
    "SlideFrom",
    "Solvable",
    "StayOnPath",
    "StayStuck",
    "StopThere",
    "check_newton",
    "runner",
]

# steps of one mass, and of a flow, that take some ten seconds
_STEPS_OF_ONE, _STEPS_OF_A_FLOW = 2_000_000, 800_000


class Policy(Record):
    """Base of what a run does where the model allows more than one future."""


@dataclass(frozen=True, eq=False, repr=False)
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
    max_steps, max_events : bounds on the work; a run that meets one ends with WORK_LIMIT. The
        steps of None take some ten seconds: 800,000 of a flow, 2,000,000 of one mass, and of n
        masses 4,000,000 / (n + 1), because a step costs as much as its masses
    policy : what to do where the future is not unique. None stops a flow there and lets the
        masses of a chain stick
    replay : whether a chain is gone through a second time by another algorithm, for the line
        `replay_agrees` of the audit; None does so for at most 50 masses. Flows have none

    Source: formulas sheet of the chains paper, section 6; of the paper on switching, 3.
    Verified by: tests/exact/test_chain_references.py::test_events_and_states
    """

    rtol: float = 1e-12
    atol: float | None = None
    order: int = 30
    max_step: float | None = None
    max_steps: int | None = None
    max_events: int = 1_000_000
    policy: Policy | None = None
    replay: bool | None = None

    def __post_init__(self) -> None:
        if self.replay not in (None, True, False):
            raise ModelError(
                explain(
                    "EventDriven.replay",
                    repr(self.replay),
                    "True, False or None",
                    "a replay is made or not; None makes one for at most 50 masses.",
                    "leave it out.",
                )
            )
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
        check_counts(
            self,
            ("order", 8, MOST_WORK, 0),
            ("max_events", 1, MOST_WORK, BYTES_OF_EVENT),
        )
        if self.max_steps is not None:
            check_counts(self, ("max_steps", 1, MOST_WORK, 0))
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
                    "one of Stop(), Leave(...), Sample(...), Enumerate(...), ByKind(...), or for a "
                    "Chain SlipAtTouch(...)",
                    "it says what to do where the future is not unique.",
                    "leave it out to stop there.",
                )
            )

    def steps_allowed(self, masses: int = 0) -> int:
        """Return the bound on the steps of a chain of so many masses; 0 for a flow."""
        if self.max_steps is not None:
            return self.max_steps
        if masses == 0:
            return _STEPS_OF_A_FLOW
        return max(2 * _STEPS_OF_ONE // (masses + 1), 4 * masses)


class BranchChoice(Record, abc.ABC):
    """Which motion to follow where the quasistatic problem admits several."""

    @abc.abstractmethod
    def leaves(self, t: float) -> bool:
        """Return whether a chain at rest, with slip admissible too, slips from t [s] on."""

    def first_time(self) -> float:
        """Return the earliest time [s] at which `leaves` can be true; inf for never."""
        return math.inf


@dataclass(frozen=True, eq=False, repr=False)
class StayStuck(BranchChoice):
    """Rest as long as friction can hold, and slip as long as slip can go on.

    Examples
    --------
    >>> import stiction as st
    >>> st.Quasistatic().choice == st.chains.StayStuck()  # what is taken when nothing is said
    True
    """

    def leaves(self, t: float) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, eq=False, repr=False)
class SlideFrom(BranchChoice):
    """Take the fastest stable slip, once, at the first moment from `time` on that admits it.

    Every choice of `time` gives another solution of the same problem with the same start:
    where branches exist there is a continuum of solutions.

    Parameters
    ----------
    time : [s]

    Examples
    --------
    >>> import stiction as st
    >>> st.Quasistatic(choice=st.chains.SlideFrom(time=2.5)).choice.time
    2.5
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


class BranchPolicy(Record, abc.ABC):
    """What a path of equilibria does where another one leaves it."""


@dataclass(frozen=True, eq=False, repr=False)
class StopThere(BranchPolicy):
    """End the run at the bifurcation."""


@dataclass(frozen=True, eq=False, repr=False)
class StayOnPath(BranchPolicy):
    """Go on along the path, stable or not; the default. The other one is told.

    Examples
    --------
    >>> import stiction as st
    >>> policy = st.solids.StayOnPath()
    >>> st.Continuation(on_bifurcation=policy).on_bifurcation
    StayOnPath()
    """


@dataclass(frozen=True, eq=False, repr=False)
class FollowBranch(BranchPolicy):
    """Go over to the branch, along the critical way.

    Where a symmetric body buckles there are two, and nothing in the model prefers one.

    Parameters
    ----------
    side : "+" takes the one on which the place that moves farthest moves along its axis, "-"
        the other one

    Verified by: tests/unit/solids/equilibria/test_branches.py::test_a_column_follows_the_elastica
    """

    side: str = "+"

    def __post_init__(self) -> None:
        if self.side not in ("+", "-"):
            why, try_ = "it says which of the two branches is taken.", 'give "+".'
            raise ModelError(explain("FollowBranch.side", repr(self.side), '"+" or "-"', why, try_))


def check_branch_policy(name: str, policy: object) -> None:
    """Refuse what is no policy at bifurcations; None stands for the default."""
    if policy is not None and not isinstance(policy, BranchPolicy):
        needs, why = "a BranchPolicy", "another path may leave the one that is followed."
        try_ = "StayOnPath(), FollowBranch() or StopThere()."
        raise ModelError(explain(f"{name}.on_bifurcation", repr(policy), needs, why, try_))


@dataclass(frozen=True, eq=False, repr=False)
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
    on_bifurcation : of a solid: what to do where another path leaves; None stays on the path
    work_tolerance : of a solid whose bodies touch by virtual work: error of the work between two
        load steps, over what a step turns over [1]; between 1e-13 and 1e-3. The ledger closes to
        about as much, and smaller values take more evaluations of forces

    Source: Axioms 14(4) 299, Problem 2, for chains; Mergel, Scheibert, Sauer 2021, section 3,
    for solids.
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_sweeping_equals_play
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
    on_bifurcation: BranchPolicy | None = None
    work_tolerance: float = 1e-7

    def __post_init__(self) -> None:
        check_branch_policy("Quasistatic", self.on_bifurcation)
        where, why, try_ = "Quasistatic.work_tolerance", "the ledger closes to it.", "use 1e-7."
        value = number(where, self.work_tolerance, rule="positive", why=why, try_=try_)
        if not 1e-13 <= value <= 1e-3:
            needs = "a number between 1e-13 and 1e-3"
            raise ModelError(explain(where, value, needs, why, try_))
        why, try_ = "a user's load and weakening friction are followed to this.", "use 1e-12."
        number("Quasistatic.rtol", self.rtol, rule="positive", why=why, try_=try_)
        if not 1e-14 <= self.rtol <= 1e-2:
            raise ModelError(
                explain("Quasistatic.rtol", self.rtol, "a number between 1e-14 and 1e-2", why, try_)
            )
        why, try_ = "the work of a run is bounded.", "leave the default."
        check_counts(
            self,
            ("load_samples", 2, 1_000_000, 0),
            ("max_steps", 1, MOST_WORK, 0),
            ("max_events", 1, MOST_WORK, BYTES_OF_EVENT),
            ("steps", 1, 10_000_000, 0),
            ("max_cuts", 0, 60, 0),
            ("max_iterations", 2, 10_000, 0),
        )
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


class Solvable(Protocol):
    """What names the methods it is solved by."""

    @property
    def solved_by(self) -> Mapping[str, Runner]:
        """Names of methods and, for each, the function that returns the run."""


def runner_of(system: Solvable, method: object) -> Runner | None:
    """Return the function that solves `system` by `method`; None if the system names none."""
    known = system.solved_by
    return next((known[b.__name__] for b in type(method).__mro__ if b.__name__ in known), None)


def name_of_runner(system: Solvable, method: object) -> str:
    """Return "module:function" of what solves `system` by `method`; "" for a user's own method."""
    run = runner_of(system, method)
    return "" if run is None else f"{run.__module__}:{run.__name__}"


def runner(system: Solvable, method: object) -> Callable[[Request], Run]:
    """Return the function that solves `system` by `method`.

    Parameters
    ----------
    system : names in `solved_by` the methods it can be solved by
    method : one of these, of a class that inherits one, or anything with
        ``solve(system, request)``, a user's own method

    Raises
    ------
    ModelError : if the system cannot be solved by this method.

    Verified by: tests/unit/test_solve.py::test_a_method_for_another_system_is_refused
    """
    run = runner_of(system, method)
    if run is not None:
        return functools.partial(run, system, method)
    if hasattr(method, "solve"):
        return functools.partial(method.solve, system)
    raise ModelError(
        explain(
            type(method).__name__,
            f"a {type(system).__name__}",
            f"a system that {type(method).__name__} can solve",
            "a method uses the structure of its systems.",
            f"{type(system).__name__} is solved by {', '.join(system.solved_by)}.",
        )
    )
