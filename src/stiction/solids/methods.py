"""The methods that solve solids: load steps, pseudo-arclength continuation, motion with inertia.

Each holds its numbers and imports its engine where it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stiction.core.method import BranchPolicy, Method
from stiction.errors import ModelError
from stiction.numerics.checks import MOST_WORK, check_counts, number
from stiction.numerics.linear_solvers import LinearSolver
from stiction.solids.model import SolidSystem
from stiction.solids.motion.model import MovingSolid
from stiction.solids.motion.weights import Weights

if TYPE_CHECKING:
    from stiction.core.run import Request, Run

__all__ = ["Continuation", "GeneralisedAlpha", "Quasistatic"]


@dataclass(frozen=True, eq=False, repr=False)
class Quasistatic(Method):
    """Balance at every moment: motion without inertia.

    Newton's method goes from load step to load step; a step that fails is cut and everything
    rolls back.

    Parameters
    ----------
    steps : load steps if none fails; the longest step is the time span over this
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT
    max_cuts : how often the longest step may be halved before the run gives up
    newton_tolerance : residual over the forces in balance [1]
    max_iterations : of Newton's method in one step
    solver : the sparse solver; None takes the fastest at hand
    on_bifurcation : what to do where another path leaves; None stays on the path
    work_tolerance : where bodies touch by virtual work: error of the work between two load steps,
        over what a step turns over [1]; between 1e-13 and 1e-3. The ledger closes to about as
        much, and smaller values take more evaluations of forces

    Source: Mergel, Scheibert, Sauer 2021, section 3.
    Verified by: tests/exact/test_solids_block.py::test_pull_off_is_the_largest_tension
    """

    solves: ClassVar[tuple[type, ...]] = (SolidSystem,)

    steps: int = 100
    max_steps: int = 2_000_000
    max_cuts: int = 12
    newton_tolerance: float = 1e-9
    max_iterations: int = 30
    solver: LinearSolver | None = None
    on_bifurcation: BranchPolicy | None = None
    work_tolerance: float = 1e-7

    def __post_init__(self) -> None:
        _check_branch_policy("Quasistatic", self.on_bifurcation)
        where, why, try_ = "Quasistatic.work_tolerance", "the ledger closes to it.", "use 1e-7."
        value = number(where, self.work_tolerance, rule="positive", why=why, try_=try_)
        if not 1e-13 <= value <= 1e-3:
            needs = "a number between 1e-13 and 1e-3"
            raise ModelError(where, value, needs, why, try_)
        check_counts(
            self,
            ("steps", 1, 10_000_000, 0),
            ("max_steps", 1, MOST_WORK, 0),
            ("max_cuts", 0, 60, 0),
            ("max_iterations", 2, 10_000, 0),
        )
        _check_newton("Quasistatic", self.newton_tolerance, self.solver)

    def solve(self, system: SolidSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.solids.run import run_quasistatic

        return run_quasistatic(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class Continuation(Method):
    """Arc length instead of load: the program's time is one more unknown, and may go back.

    Load steps lead to where results begin (`Readings.start`). From there every step has a
    given length in displacements and time together, so that the path goes on where no load
    step would: around limit points, through snap-back, to the final pull-off. Friction is that
    of the path as it is travelled.

    The run's time axis is the time travelled, forth and back; `program_time` is the time of the
    program. Every step is kept; times to save at are not met.

    Parameters
    ----------
    steps : load steps to the end if the path were straight; the first arc has the length of one
    longest : longest arc, in lengths of the first one [1]
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT
    max_cuts : how often the first arc may be halved before the run gives up
    newton_tolerance : residual over the forces in balance [1]
    max_iterations : of Newton's method in one step
    stability : tell the sign of the tangent's determinant at every step, and where the tangent
        is symmetric the number of its negative eigenvalues
    solver : the sparse solver; None takes the fastest at hand
    on_bifurcation : what to do where another path leaves; None stays on the path

    Source: Riks 1979; Crisfield 1981; Keller 1977 for the bordered form.
    Verified by: tests/unit/solids/test_continuation.py::test_a_snapping_spring
    """

    solves: ClassVar[tuple[type, ...]] = (SolidSystem,)

    steps: int = 100
    longest: float = 2.0
    max_steps: int = 5000
    max_cuts: int = 14
    newton_tolerance: float = 1e-9
    max_iterations: int = 25
    stability: bool = True
    solver: LinearSolver | None = None
    on_bifurcation: BranchPolicy | None = None

    def __post_init__(self) -> None:
        _check_branch_policy("Continuation", self.on_bifurcation)
        check_counts(
            self,
            ("steps", 1, 10_000_000, 0),
            ("max_steps", 1, 10_000_000, 0),
            ("max_cuts", 0, 60, 0),
            ("max_iterations", 2, 10_000, 0),
        )
        why = "arcs may grow by this."
        longest = number(
            "Continuation.longest", self.longest, rule="positive", why=why, try_="give 2."
        )
        object.__setattr__(self, "longest", longest)
        _check_newton("Continuation", self.newton_tolerance, self.solver)
        stability: object = self.stability
        if not isinstance(stability, bool):
            where, why = "Continuation.stability", "signs are told or not."
            raise ModelError(where, repr(stability), "True or False", why, "give True.")

    def load_steps(self, part: float) -> Quasistatic:
        """Return the load steps that lead to where arcs begin, after this part of the program."""
        return Quasistatic(
            steps=max(1, round(self.steps * part)),
            max_cuts=self.max_cuts,
            newton_tolerance=self.newton_tolerance,
            max_iterations=self.max_iterations,
            solver=self.solver,
            on_bifurcation=self.on_bifurcation,
        )

    def solve(self, system: SolidSystem, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.solids.run import run_continuation

        return run_continuation(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class GeneralisedAlpha(Method):
    """Motion of solids with inertia, implicit, of second order, with damping of high frequencies.

    Steps are as long as their local error and Newton's method allow; every step tells what the
    scheme itself took out of the energy.

    Parameters
    ----------
    spectral_radius : what is left of the highest frequencies after a step, 0 to 1; 1 is the
        trapezoidal rule, without numerical dissipation in linear motion
    steps : the longest step is the time span over this
    tolerance : local error of a step over the range of adhesion, or without contact over the
        largest displacement so far, and beyond the mean of each body over the largest one beyond
        that [1]; None keeps steps as long as Newton's method lets them
    lumped : whether masses are diagonal
    stability : count the ways in which balance is unstable after every step, without friction, and
        tell one that the motion does not take; it costs a factorisation a step
    max_steps : bound on the work; a run that meets it ends with WORK_LIMIT
    max_cuts : how often the longest step may be halved before the run gives up
    newton_tolerance : residual over the forces in balance [1]
    max_iterations : of Newton's method in one step
    solver : the sparse solver; None takes the fastest at hand

    Source: Chung, Hulbert 1993; error of a step: Zienkiewicz, Xie 1991.
    Verified by: tests/unit/solids/motion/test_motion.py::test_order_in_time
    """

    solves: ClassVar[tuple[type, ...]] = (MovingSolid,)

    spectral_radius: float = 0.8
    steps: int = 200
    tolerance: float | None = 1e-3
    lumped: bool = False
    stability: bool = True
    max_steps: int = 100_000
    max_cuts: int = 24
    newton_tolerance: float = 1e-9
    max_iterations: int = 20
    solver: LinearSolver | None = None

    def __post_init__(self) -> None:
        where, try_ = "GeneralisedAlpha.spectral_radius", "give 0.8."
        why = "it is what is left of the highest frequencies after a step."
        value = number(where, self.spectral_radius, rule="nonnegative", why=why, try_=try_)
        if value > 1.0:
            raise ModelError(where, value, "a number from 0 to 1", why, try_)
        object.__setattr__(self, "spectral_radius", value)
        if self.tolerance is not None:
            where, why = "GeneralisedAlpha.tolerance", "steps are as long as it allows."
            number(where, self.tolerance, rule="positive", why=why, try_="give 1e-3, or None.")
        lumped: object = self.lumped
        if not isinstance(lumped, bool):
            where, why = "GeneralisedAlpha.lumped", "masses are diagonal or they are not."
            raise ModelError(where, repr(lumped), "True or False", why, "give False.")
        stability: object = self.stability
        if not isinstance(stability, bool):
            where, why = "GeneralisedAlpha.stability", "unstable ways are counted or not."
            raise ModelError(where, repr(stability), "True or False", why, "give True.")
        check_counts(
            self,
            ("steps", 1, 10_000_000, 0),
            ("max_steps", 1, 100_000_000, 0),
            ("max_cuts", 0, 60, 0),
            ("max_iterations", 2, 10_000, 0),
        )
        _check_newton("GeneralisedAlpha", self.newton_tolerance, self.solver)

    def weights(self) -> Weights:
        """Return the weights of the scheme.

        Source: Chung, Hulbert 1993, eqs (17), (18), (25).
        """
        r = self.spectral_radius
        mass, force = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        return Weights(mass, force, 0.25 * (1.0 - mass + force) ** 2, 0.5 - mass + force)

    def solve(self, system: MovingSolid, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.solids.run import run_motion

        return run_motion(system, self, request)


def _check_branch_policy(name: str, policy: object) -> None:
    """Refuse what is no policy at bifurcations; None stands for the default."""
    if policy is not None and not isinstance(policy, BranchPolicy):
        needs, why = "a BranchPolicy", "another path may leave the one that is followed."
        try_ = "StayOnPath(), FollowBranch() or StopThere()."
        raise ModelError(f"{name}.on_bifurcation", repr(policy), needs, why, try_)


def _check_newton(name: str, tolerance: object, solver: object) -> None:
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
        raise ModelError(where, value, "a number between 1e-13 and 1e-3", why, try_)
    if solver is not None and not isinstance(solver, LinearSolver):
        why, try_ = "it solves the linear systems of Newton's method.", "leave it out."
        raise ModelError(f"{name}.solver", repr(solver), "a LinearSolver", why, try_)
