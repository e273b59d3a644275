"""Methods for solids: load stepping, pseudo-arclength continuation, generalised-alpha scheme.

`Quasistatic` solves r(u, t) = 0 at rising times t; `Continuation` solves r(u, t) = 0 along its
arclength, with t as unknown; `GeneralisedAlpha` solves M a + C v + r(u, t) = 0. The classes hold
only the parameters of a method. `stiction.solve` calls their `solve`, which imports the stepper in
`equilibria` or `dynamics` through `solids.run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.core.fields import Flag, Limit, NonNegative, Part, Positive
from stiction.core.method import BranchPolicy, Method
from stiction.numerics.linear_solvers import LinearSolver
from stiction.solids.dynamics.model import MovingSolid
from stiction.solids.dynamics.weights import Weights
from stiction.solids.model import SolidSystem

if TYPE_CHECKING:
    from stiction.core.run import Request, Run

__all__ = ["Continuation", "GeneralisedAlpha", "Quasistatic"]

_STEPS, _HALVINGS, _ITERATIONS = Limit(most=10_000_000), Limit(0, 60), Limit(2, 10_000)
_NEWTON = Positive(
    "1",
    "the residual over the forces must not exceed this tolerance.",
    "use 1e-9.",
    least=1e-13,
    most=1e-3,
)
_SOLVER = Part("this solver solves the linear systems of Newton's method.", "leave this value out.")
_BRANCH = Part(
    "another path of equilibria may branch off.", "StayOnPath(), FollowBranch() or StopThere()."
)
_WORK = Positive(
    "1",
    "the relative error of the work of a step must not exceed this tolerance.",
    "use 1e-7.",
    least=1e-13,
    most=1e-3,
)
_LONGEST_ARC = Positive(
    "1", "the arclength of a step is at most this multiple of that of a load step.", "give 2."
)
_STABILITY = Flag("True reports the stability of the equilibria.", "give True.")
_SPECTRAL_RADIUS = NonNegative(
    "1",
    "each step multiplies the amplitude of the highest frequencies by this factor.",
    "give 0.8.",
    most=1.0,
)
_LOCAL_ERROR = Positive(
    "1", "the local error of a step must not exceed this tolerance.", "give 1e-3, or None."
)
_LUMPED_MASS = Flag("True selects a diagonal mass matrix.", "give False.")
_COUNT_UNSTABLE = Flag("True counts the unstable modes.", "give True.")


@dataclass(frozen=True, eq=False, repr=False)
class Quasistatic(Method):
    """Load stepping: equilibrium at every time, without inertia.

    Newton's method solves each load step from the last accepted state. A step that fails is
    halved and leaves no trace.

    Parameters
    ----------
    steps : load steps if none fails; the longest step is the time span over this
    max_steps : most load steps; a run that needs more ends with WORK_LIMIT
    max_halvings : how often the longest step may be halved before the run gives up
    newton_tolerance : norm of the residual over the largest of the norms of reactions, internal
        forces and loads [1]
    max_iterations : of Newton's method in one step
    solver : the sparse solver; None takes the fastest that is installed
    on_bifurcation : what to do where another path branches off; None stays on the path
    work_tolerance : error of the work between two load steps over the energy exchanged in a step
        [1], for the mortar method; between 1e-13 and 1e-3. The ledger closes to about as much, and
        smaller values take more evaluations of forces

    Source: Mergel, Scheibert, Sauer 2021, section 3.
    Verified by: tests/exact/test_solids_block.py::test_pull_off_is_the_largest_tension
    """

    solves: ClassVar[tuple[type, ...]] = (SolidSystem,)

    steps: Annotated[int, _STEPS] = 100
    max_steps: Annotated[int, Limit()] = 2_000_000
    max_halvings: Annotated[int, _HALVINGS] = 12
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
    """Pseudo-arclength continuation: the program's time is one more unknown, and may decrease.

    Load steps lead to the start of the results (`Readings.start`). From there every step has a
    given arclength in displacements and time together. The path continues where load steps fail:
    through limit points and snap-back, to the final pull-off. Friction depends on the direction
    in which the path is followed.

    The time axis of the run accumulates the absolute changes of program time; `program_time` is
    the time of the program. Every step is saved; times to save at are ignored.

    Parameters
    ----------
    steps : load steps to the end of a straight path; the first step has the length of one
    longest : largest arclength of a step over that of one load step [1]; below 1 the first step is
        shorter, too
    max_steps : most arclength steps; a run that needs more ends with WORK_LIMIT
    max_halvings : how often the first arclength may be halved before the run gives up
    newton_tolerance : norm of the residual over the largest of the norms of reactions, internal
        forces and loads [1]
    max_iterations : of Newton's method in one step
    stability : report the sign of the tangent's determinant at every step, and the number of its
        negative eigenvalues if the tangent is symmetric
    solver : the sparse solver; None takes the fastest that is installed
    on_bifurcation : what to do where another path branches off; None stays on the path

    Source: Riks 1979; Crisfield 1981; Keller 1977 for the bordered form.
    Verified by: tests/unit/solids/test_continuation.py::test_a_snapping_spring
    """

    solves: ClassVar[tuple[type, ...]] = (SolidSystem,)

    steps: Annotated[int, _STEPS] = 100
    longest: Annotated[float, _LONGEST_ARC] = 2.0
    max_steps: Annotated[int, _STEPS] = 5000
    max_halvings: Annotated[int, _HALVINGS] = 14
    newton_tolerance: Annotated[float, _NEWTON] = 1e-9
    max_iterations: Annotated[int, _ITERATIONS] = 25
    stability: Annotated[bool, _STABILITY] = True
    solver: Annotated[LinearSolver | None, _SOLVER] = None
    on_bifurcation: Annotated[BranchPolicy | None, _BRANCH] = None

    def load_steps(self, part: float) -> Quasistatic:
        """Return the load steps up to the start of the path, a fraction `part` of the program."""
        return Quasistatic(
            steps=max(1, round(self.steps * part)),
            max_halvings=self.max_halvings,
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
    """Generalised-alpha scheme: implicit, of second order, with numerical damping.

    Step lengths follow the local error and the convergence of Newton's method. The ledger contains
    the numerical dissipation of every step.

    Parameters
    ----------
    spectral_radius : factor of the highest frequencies in a step, 0 to 1; 1 is the trapezoidal
        rule, without numerical dissipation in linear motion
    steps : the longest step is the time span over this
    tolerance : admissible local error of the displacements in a step [1]. With contact it is
        relative to the range of adhesion. Without contact it is relative to the largest
        displacement so far, and the error of the deformation (displacements minus the mean of each
        body) to the largest deformation so far. None omits the error control: steps are as long as
        Newton's method converges
    lumped : whether the mass matrix is diagonal
    stability : count the unstable modes of equilibrium after every step, without friction, and
        record an unstable mode in which the motion has no part, such as one that symmetry excludes;
        costs one factorisation per step
    max_steps : most time steps; a run that needs more ends with WORK_LIMIT
    max_halvings : how often the longest step may be halved before the run gives up
    newton_tolerance : norm of the residual over the largest of the norms of reactions, internal
        forces and loads [1]
    max_iterations : of Newton's method in one step
    solver : the sparse solver; None takes the fastest that is installed

    Source: Chung, Hulbert 1993; error of a step: Zienkiewicz, Xie 1991.
    Verified by: tests/unit/solids/dynamics/test_motion.py::test_order_in_time
    """

    solves: ClassVar[tuple[type, ...]] = (MovingSolid,)

    spectral_radius: Annotated[float, _SPECTRAL_RADIUS] = 0.8
    steps: Annotated[int, _STEPS] = 200
    tolerance: Annotated[float | None, _LOCAL_ERROR] = 1e-3
    lumped: Annotated[bool, _LUMPED_MASS] = False
    stability: Annotated[bool, _COUNT_UNSTABLE] = True
    max_steps: Annotated[int, Limit(most=100_000_000)] = 100_000
    max_halvings: Annotated[int, _HALVINGS] = 24
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
