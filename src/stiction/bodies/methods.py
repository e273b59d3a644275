"""The method that solves rigid bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.bodies.model import RigidBodies
from stiction.core.fields import Limit, Positive
from stiction.core.method import Method
from stiction.numerics.checks import BYTES_OF_EVENT

if TYPE_CHECKING:
    from stiction.core.run import Request, Run

__all__ = ["TimeStepper"]

_STEP = Positive("s", "velocities change once a step.", "give 1e-3.")


@dataclass(frozen=True, eq=False, repr=False)
class TimeStepper(Method):
    """Moreau-Jean time stepping: velocities that jump, impulses over fixed steps.

    Contacts are sought halfway through the step. Those that would overlap there get impulses, by
    Coulomb's law and Newton's law of impact for the velocities after the step; the frictional
    contact problem of all of them together is solved and its residual is in the audit. Free flight
    under constant forces is exact. Impacts are late or early by up to half a step, so that errors
    are of first order in the step, and so is the overlap that an impact leaves.

    Bodies that sticking contacts fix to a support have its velocity exactly: they do not creep.

    Parameters
    ----------
    step : [s] > 0; shortened so that a whole number of steps fills the time span
    max_steps, max_events : bounds on the work; more steps are refused, a run with more events ends
        with WORK_LIMIT

    Source: Jean 1999, Comput. Methods Appl. Mech. Engrg. 177, 235; Moreau 1988 (the midpoint).
    Verified by: tests/exact/test_rigid_bodies.py::test_a_box_on_a_slope

    Examples
    --------
    >>> import stiction as st
    >>> method = st.bodies.TimeStepper(step=1e-2)
    >>> run = st.solve(st.bodies.RigidBodies(), method, t_span=(0.0, 1.0))
    >>> float(run.variables["velocity"].values[-1, 0, 1].round(12))
    -9.81
    """

    solves: ClassVar[tuple[type, ...]] = (RigidBodies,)

    step: Annotated[float, _STEP] = 1e-3
    max_steps: Annotated[int, Limit()] = 100_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000

    def solve(self, system: RigidBodies, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.bodies.run import solve_steps

        return solve_steps(system, self, request)
