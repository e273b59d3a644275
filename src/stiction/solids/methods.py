"""The methods that solve solids: pseudo-arclength continuation, and what runs each of them.

A system names the functions that run its methods; the code of a method is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stiction.errors import ModelError, explain
from stiction.methods import BranchPolicy, check_branch_policy, check_newton
from stiction.numerics.checks import Record, check_counts, number
from stiction.numerics.linear_solvers import LinearSolver

if TYPE_CHECKING:
    from stiction.core.run import Request, Run, Runner
    from stiction.methods import Quasistatic
    from stiction.solids.model import SolidSystem
    from stiction.solids.motion.method import GeneralisedAlpha
    from stiction.solids.motion.model import MovingSolid

__all__ = ["MOVING_SOLVED_BY", "SOLVED_BY", "Continuation"]


@dataclass(frozen=True, eq=False, repr=False)
class Continuation(Record):
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
        check_branch_policy("Continuation", self.on_bifurcation)
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
        check_newton("Continuation", self.newton_tolerance, self.solver)
        stability: object = self.stability
        if not isinstance(stability, bool):
            where, why = "Continuation.stability", "signs are told or not."
            raise ModelError(explain(where, repr(stability), "True or False", why, "give True."))


def quasistatic(solid: SolidSystem, method: Quasistatic, request: Request) -> Run:
    """Return the run of `solid` by `Quasistatic`."""
    from stiction.solids.equilibria.load_steps import run_quasistatic

    return run_quasistatic(solid, method, request)


def continuation(solid: SolidSystem, method: Continuation, request: Request) -> Run:
    """Return the run of `solid` by `Continuation`."""
    from stiction.solids.equilibria.arcs import run_continuation

    return run_continuation(solid, method, request)


def generalised_alpha(solid: MovingSolid, method: GeneralisedAlpha, request: Request) -> Run:
    """Return the run of `solid` by `GeneralisedAlpha`."""
    from stiction.solids.motion.march import run_motion

    return run_motion(solid, method, request)


SOLVED_BY: Mapping[str, Runner] = {
    "Quasistatic": quasistatic,
    "Continuation": continuation,
}
MOVING_SOLVED_BY: Mapping[str, Runner] = {**SOLVED_BY, "GeneralisedAlpha": generalised_alpha}
