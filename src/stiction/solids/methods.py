"""The methods that solve solids: load steps, pseudo-arclength continuation, motion with inertia.

Each holds its numbers and imports its engine where it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Flag, Limit, NonNegative, Part, Positive
from stiction.core.method import BranchPolicy, Method
from stiction.numerics.linear_solvers import LinearSolver
from stiction.solids.model import SolidSystem
from stiction.solids.motion.model import MovingSolid
from stiction.solids.motion.weights import Weights

if TYPE_CHECKING:
    from stiction.core.run import Request, Run

__all__ = ["Continuation", "GeneralisedAlpha", "Quasistatic"]

_STEPS, _CUTS, _ITERATIONS = Limit(most=10_000_000), Limit(0, 60), Limit(2, 10_000)
_NEWTON = Positive(
    "1", "forces balance to this part of their size.", "use 1e-9.", least=1e-13, most=1e-3
)
_SOLVER = Part("it solves the linear systems of Newton's method.", "leave it out.")
_BRANCH = Part(
    "another path may leave the one that is followed.",
    "StayOnPath(), FollowBranch() or StopThere().",
)
_WORK = Positive("1", "the ledger closes to it.", "use 1e-7.", least=1e-13, most=1e-3)
_LONGEST = Positive("1", "arcs may grow by this.", "give 2.")
_SIGNS = Flag("signs are told or not.", "give True.")
_RADIUS = NonNegative(
    "1", "it is what is left of the highest frequencies after a step.", "give 0.8.", most=1.0
)
_ERROR = Positive("1", "steps are as long as it allows.", "give 1e-3, or None.")
_LUMPED = Flag("masses are diagonal or they are not.", "give False.")
_UNSTABLE = Flag("unstable ways are counted or not.", "give True.")


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

    steps: Annotated[int, _STEPS] = 100
    max_steps: Annotated[int, Limit()] = 2_000_000
    max_cuts: Annotated[int, _CUTS] = 12
    newton_tolerance: Annotated[float, _NEWTON] = 1e-9
    max_iterations: Annotated[int, _ITERATIONS] = 30
    solver: Annotated[LinearSolver | None, _SOLVER] = None
    on_bifurcation: Annotated[BranchPolicy | None, _BRANCH] = None
    work_tolerance: Annotated[float, _WORK] = 1e-7

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

    steps: Annotated[int, _STEPS] = 100
    longest: Annotated[float, _LONGEST] = 2.0
    max_steps: Annotated[int, _STEPS] = 5000
    max_cuts: Annotated[int, _CUTS] = 14
    newton_tolerance: Annotated[float, _NEWTON] = 1e-9
    max_iterations: Annotated[int, _ITERATIONS] = 25
    stability: Annotated[bool, _SIGNS] = True
    solver: Annotated[LinearSolver | None, _SOLVER] = None
    on_bifurcation: Annotated[BranchPolicy | None, _BRANCH] = None

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

    spectral_radius: Annotated[float, _RADIUS] = 0.8
    steps: Annotated[int, _STEPS] = 200
    tolerance: Annotated[float | None, _ERROR] = 1e-3
    lumped: Annotated[bool, _LUMPED] = False
    stability: Annotated[bool, _UNSTABLE] = True
    max_steps: Annotated[int, Limit(most=100_000_000)] = 100_000
    max_cuts: Annotated[int, _CUTS] = 24
    newton_tolerance: Annotated[float, _NEWTON] = 1e-9
    max_iterations: Annotated[int, _ITERATIONS] = 20
    solver: Annotated[LinearSolver | None, _SOLVER] = None

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
