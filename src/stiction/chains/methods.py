"""The methods that solve chains. These classes hold parameters; `solve` imports the implementation.

`EventDriven`, `ThetaStepper` and `RegularizedTheta` solve the dynamic problem
M v' + C v + K x + mu N Sgn(v - V) containing b f(t), with displacements x, velocities v, belt speed
V and load f; `Quasistatic` solves it without M v', and `Radau` under laws without stick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.chains.model import Chain
from stiction.chains.policies import BranchChoice, StayStuck
from stiction.core.fields import Count, Finite, Flag, Limit, Part, Positive
from stiction.core.method import Method, Policy
from stiction.errors import ModelError
from stiction.laws.smoothed import SmoothSign, SquareRootSign
from stiction.numerics.checks import BYTES_OF_EVENT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from stiction.core.block import Solve
    from stiction.core.run import Request, Run
    from stiction.core.tangents import Gradients, Tangents

    Floats = npt.NDArray[np.float64]

__all__ = ["EventDriven", "Quasistatic", "Radau", "RegularizedTheta", "ThetaStepper"]

# steps of one mass that take some ten seconds
_STEPS_OF_ONE = 2_000_000

_RTOL = Positive(
    "",
    "below 1e-14 rounding dominates; above 1e-2 events would be missed.",
    "give 1e-12, which costs hardly more than 1e-6.",
    least=1e-14,
    most=1e-2,
)
_RADAU_RTOL = Positive(
    "", "steps are as long as this tolerance allows.", "use 1e-11.", least=1e-13, most=1e-3
)
_ORDER = Count(
    8, "fewer terms of the series need short steps, and more terms lose digits.", most=60
)
_MAX_STEP = Positive("s", "a step has a positive length.", "leave this value out.")
_POLICY = Part(
    "a policy selects a solution where several exist.",
    "leave this value out; at grazing events masses then stick.",
    "a policy, such as SlipAtGrazing(...)",
)
_REPLAY = Flag(
    "the run is verified by a second integration (True) or not (False); None verifies it for at "
    "most 200 masses.",
    "leave this value out.",
)
_STEP = Positive("s", "time must go forward.", "for example 1e-3.")
_STABLE_THETA = Finite(
    "",
    "for other values the scheme is unstable, or creates energy.",
    "give 0.5 for the least numerical dissipation, or 1.0 for the most. RegularizedTheta takes "
    "values below 1/2.",
    least=0.5,
    most=1.0,
)
_THETA = Finite(
    "",
    "the end of a step has the weight theta; the start has the weight 1 - theta.",
    "give 0.5 for the least numerical dissipation, or 1.0 for the most.",
    least=0.0,
    most=1.0,
)
_SMOOTHING = Positive(
    "m/s", "the sign of the slip rate is smoothed over this width.", "for example 1e-3."
)
_SHAPE = Part(
    "this smoothed sign replaces the set-valued sign of friction.",
    "give SquareRootSign() or TanhSign().",
)
_TOLERANCE = Positive("", "a residual is never exactly zero.", "for example 1e-12.")
_ONSET = Positive(
    "",
    "regularised friction creeps from the start; above this multiple of `smoothing` a mass counts "
    "as slipping.",
    "for example 10.0.",
)
_CHOICE = Part(
    "weakening friction can allow several motions, and the run follows one of them.",
    "StayStuck() or SlideFrom(time=0.0).",
)


@dataclass(frozen=True, eq=False, repr=False)
class EventDriven(Method):
    """Event-driven scheme: integrates from event to event, with exact stick.

    Between events Taylor series are summed to rounding, so that there is no discretisation error.

    Parameters
    ----------
    rtol : relative tolerance of a step [1], between 1e-14 and 1e-2
    order : order p of the series, 8 to 60; 30 is near the fastest for full precision. With
        steps of fixed length h the error falls as h^p, as h^(p-1) where events are located
    max_step : longest step [s]; None leaves it to the method
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT. The
        default steps take some ten seconds: 2,000,000 of one mass, and of n masses
        4,000,000 / (n + 1), because a step costs as much as its masses
    policy : choice between solutions at grazing events. None lets masses stick there
    replay : whether the motion is integrated again by another algorithm, for the audit line
        `replay_agrees`; None does so for at most 200 masses

    Source: formulas sheet of the chains paper, section 6.
    Verified by: tests/exact/test_chain_references.py::test_events_and_states
    """

    solves: ClassVar[tuple[type, ...]] = (Chain,)

    rtol: Annotated[float, _RTOL] = 1e-12
    order: Annotated[int, _ORDER] = 30
    max_step: Annotated[float | None, _MAX_STEP] = None
    max_steps: Annotated[int | None, Limit()] = None
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000
    policy: Annotated[Policy | None, _POLICY] = None
    replay: Annotated[bool | None, _REPLAY] = None

    def without_stick(self) -> Radau:
        """Return the method that replaces it for laws without stick."""
        rtol = min(max(self.rtol, 1e-13), 1e-3)
        most = Radau.max_steps if self.max_steps is None else self.max_steps
        return Radau(rtol, self.max_step, most, self.max_events)

    def steps_allowed(self, masses: int) -> int:
        """Return the largest number of steps of a chain with this number of masses."""
        if self.max_steps is not None:
            return self.max_steps
        return max(2 * _STEPS_OF_ONE // (masses + 1), 4 * masses)

    def solve(self, system: Chain, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.chains.event_driven.run import solve_event_driven

        return solve_event_driven(system, self, request)

    def tangents(
        self,
        system: Chain,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the end of a run of `system` and its derivatives in the directions `to`."""
        from stiction.chains.tangents.run import event_driven_tangents

        return event_driven_tangents(system, self, t_span, to, save)

    def gradients(
        self, system: Chain, t_span: tuple[float, float], of: Sequence[str], to: Sequence[str]
    ) -> Gradients:
        """Return derivatives of the quantities `of` with respect to the directions `to`."""
        from stiction.chains.tangents.adjoint import event_driven_gradients

        return event_driven_gradients(system, self, t_span, of, to)

    def blocks(
        self,
        system: Chain,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return a function that solves many members at once; None if there is none."""
        from stiction.chains.blocks.event_driven import blocks_of

        return blocks_of(system, self, request, paths, names)


@dataclass(frozen=True, eq=False, repr=False)
class ThetaStepper(Method):
    """Theta scheme with set-valued friction solved exactly in each step.

    The modes of all masses follow from an active set method over a tridiagonal M-matrix,
    started from those of the last step: usually one or two linear solves. A stuck mass gets
    the velocity of the belt; for theta < 1 that removes the kinetic energy of an undamped
    numerical oscillation, which the ledger counts as `algorithmic`.

    Weakening friction makes the problem of a step unique only for steps shorter than
    m_i / (theta N_i L), with L the steepest decrease of mu; the audit reports longer steps.
    With a jump between static and kinetic friction a mass sticks as long as it can: if its
    velocity passes zero within a step, its static bound decides whether it sticks or
    reverses, under every law that is not constant. If the drive differs from that bound by
    less than the error of the step, which is of first order in h for theta > 1/2, the
    decision may be wrong until the step is shorter. A mass is released up to one step late.
    With constant friction and theta = 1/2 a mass that stops may be reported to reverse for
    one step before it sticks.

    A law without stick (Dahl, LuGre, ...) is solved by Newton's method in each step, its states
    by the same scheme; use theta = 1 if they are faster than the step. See also `Radau`.

    Parameters
    ----------
    step : [s] > 0, no longer than the time span; shortened so that a whole number of steps
        fills it
    theta : between 1/2 and 1. 1/2 does not damp vibrations and is of second order between events;
        1 damps motion that the step does not resolve. The default, 1/2, has by far the smaller
        error in chains that vibrate
    max_solves : linear solves of one step after the active set iteration; a step that needs more
        counts as unconverged
    max_steps, max_events : bounds on the work; more steps are refused, a run with more
        events ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a step that is not positive or a theta outside [1/2, 1].

    Source: formulas sheet of the chains paper, section 5.
    Verified by: tests/exact/test_theta_references.py::test_exact_friction_converges
    """

    solves: ClassVar[tuple[type, ...]] = (Chain,)

    step: Annotated[float, _STEP]
    theta: Annotated[float, _STABLE_THETA] = 0.5
    max_solves: Annotated[int, Limit(most=1_000_000)] = 1_000
    max_steps: Annotated[int, Limit()] = 1_000_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 10_000_000

    def solve(self, system: Chain, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.chains.theta.run import solve_exactly

        return solve_exactly(system, self, request)

    def tangents(
        self,
        system: Chain,
        t_span: tuple[float, float],
        to: Sequence[str],
        save: Sequence[float] | Floats = (),
    ) -> Tangents:
        """Return the end of a run of `system` and its derivatives in the directions `to`."""
        from stiction.chains.tangents.steps import theta_tangents

        if len(save):
            got, needs = f"{len(save)} times", "no times"
            why = "the theta scheme computes derivatives at the end of a run only."
            raise ModelError("ThetaStepper.tangents.save", got, needs, why, "use EventDriven().")
        return theta_tangents(system, self, t_span, to)

    def blocks(
        self,
        system: Chain,
        request: Request,
        paths: Sequence[tuple[str | int, ...]],
        names: Sequence[str],
    ) -> Solve | None:
        """Return a function that solves many members at once; None if there is none."""
        from stiction.chains.blocks.theta import blocks_of

        return blocks_of(system, self, request, paths, names)


@dataclass(frozen=True, eq=False, repr=False)
class RegularizedTheta(Method):
    """Theta scheme with regularised friction, as in the literature; masses creep, never stick.

    Each step is solved by Newton's method. A step that does not converge is accepted,
    counted, and reported in the audit with its time. theta = 0 is the explicit Euler
    method and needs no solve.

    There is no stick to report, so there are no `stick` events and no stop. A mass counts
    as slipping from the first step in which its slip speed exceeds `onset_at` times the
    smoothing (where friction has reached 0.995 of its full value by the default shape);
    a `reverse` is reported when it exceeds it in the other direction. A law with a jump
    keeps its kinetic value only, which the audit reports.

    Parameters
    ----------
    step : [s] > 0, no longer than the time span; shortened so that a whole number of steps
        fills it
    theta : between 0 and 1; below 1/2 the scheme creates energy
    smoothing : width eps of the smoothed sign [m/s], > 0
    shape : the smoothed sign
    line_search : whether Newton steps are shortened until the residual falls
    max_iterations : Newton iterations allowed in one step
    tolerance : largest residual of a mass over the forces on it [1]
    onset_at : slip speed, in units of `smoothing`, from which a mass counts as slipping
    max_steps, max_events : bounds on the work

    Raises
    ------
    ModelError : on a step, smoothing or tolerance that is not positive, or a theta
        outside [0, 1].

    Source: Axioms 14(4) 299, the numerical scheme; formulas sheet, section 5.
    Verified by: tests/convergence/test_theta.py::test_order_with_smoothed_friction
    """

    solves: ClassVar[tuple[type, ...]] = (Chain,)

    step: Annotated[float, _STEP]
    theta: Annotated[float, _THETA]
    smoothing: Annotated[float, _SMOOTHING]
    shape: Annotated[SmoothSign, _SHAPE] = field(default_factory=SquareRootSign)
    line_search: Annotated[bool, Flag("True lets Newton steps be shortened.", "give True.")] = True
    max_iterations: Annotated[int, Limit(most=1_000_000)] = 50
    tolerance: Annotated[float, _TOLERANCE] = 1e-13
    onset_at: Annotated[float, _ONSET] = 10.0
    max_steps: Annotated[int, Limit()] = 1_000_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 10_000_000

    def solve(self, system: Chain, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.chains.theta.run import solve_smoothed

        return solve_smoothed(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class Quasistatic(Method):
    """Quasistatic problem: balance of forces at all times, without inertia.

    Chains are solved exactly, one active set after the other.

    Parameters
    ----------
    rtol : relative tolerance of a user's load and of the motion under weakening friction [1],
        between 1e-14 and 1e-2
    choice : which branch to take where several are admissible
    load_samples : points between two breakpoints at which a user's load is sampled for extrema; a
        load that turns between them is refused
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT

    Source: Axioms 14(4) 299, Problem 2.
    Verified by: tests/unit/chains/quasistatic/test_run.py::test_sweeping_equals_play
    """

    solves: ClassVar[tuple[type, ...]] = (Chain,)

    rtol: Annotated[float, _RTOL] = 1e-12
    choice: Annotated[BranchChoice, _CHOICE] = field(default_factory=StayStuck)
    load_samples: Annotated[int, Limit(2, 1_000_000)] = 2000
    max_steps: Annotated[int, Limit()] = 2_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000

    def solve(self, system: Chain, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.chains.quasistatic.run import solve_chain

        return solve_chain(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class Radau(Method):
    """Collocation with five stages, of order 9 and L-stable, for laws without stick.

    The estimated error controls the steps, over the fifteen orders of magnitude in time between
    creep and an earthquake. The law is not smooth where slip or a deflection changes sign: the step
    ends there, and the next one starts with the other sign. `EventDriven` uses this method for laws
    without stick.

    Parameters
    ----------
    rtol : error of a step over the size of each state [1], between 1e-13 and 1e-3
    max_step : longest step [s]; None leaves it to the method
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT

    Raises
    ------
    ModelError : on a tolerance or a step that is out of range.

    Source: Hairer, Wanner 1996, Solving Ordinary Differential Equations II, sections IV.5, IV.8.
    Verified by: tests/unit/chains/regularised/test_collocation.py::test_order_nine
    """

    solves: ClassVar[tuple[type, ...]] = (Chain,)

    rtol: Annotated[float, _RADAU_RTOL] = 1e-11
    max_step: Annotated[float | None, _MAX_STEP] = None
    max_steps: Annotated[int, Limit()] = 200_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 100_000

    def solve(self, system: Chain, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.chains.regularised.run import solve_creep

        return solve_creep(system, self, request)
