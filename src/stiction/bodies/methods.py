"""The two methods that solve rigid bodies: Moreau-Jean time stepping and event-driven integration.

The classes have the parameters of a method and check them. Their method `solve` imports and calls
the engine: `bodies.run` (`bodies.space.run` in space), or `bodies.event_driven.run`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from stiction.bodies.model import RigidBodies
from stiction.bodies.space.model import SpatialBodies
from stiction.core.fields import Limit, Part, Positive
from stiction.core.method import Method, Policy
from stiction.errors import ModelError
from stiction.numerics.checks import BYTES_OF_EVENT

if TYPE_CHECKING:
    from stiction.core.run import Request, Run

__all__ = ["EventDriven", "TimeStepper"]

_STEP = Positive("s", "velocities change once a step.", "give 1e-3.")
_RTOL = Positive("", "below 1e-14 rounding dominates.", "use 1e-12.", least=1e-14, most=1e-2)
_MAX_STEP = Positive("s", "a step has a positive length.", "leave this value out.")
_POLICY = Part("a policy selects a solution where several exist.", "leave this value out.")


@dataclass(frozen=True, eq=False, repr=False)
class TimeStepper(Method):
    """Moreau-Jean time stepping: velocities that jump, impulses over fixed steps.

    A step of length h has v+ = v + M^-1 (h f + J^T r) and q+ = q + h (v + v+) / 2: velocities v
    before and v+ after it, places q in the plane, masses M, loads f, contact impulses r, and J with
    the contact velocities u = J v. Contacts are sought halfway through the step. Those that would
    overlap there get impulses, by Coulomb's law and the law of impact for the velocities after the
    step; the frictional contact problem of all of them together is solved and its residual is in
    the audit. Impacts are late or early by up to half a step, so that errors are of first order in
    the step, and so is the overlap that an impact leaves. Without contacts, motion under constant
    forces is exact but for rotation in space, and springs act as in the leapfrog scheme, both of
    second order; dampers are of first order.

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

    solves: ClassVar[tuple[type, ...]] = (RigidBodies, SpatialBodies)

    step: Annotated[float, _STEP] = 1e-3
    max_steps: Annotated[int, Limit()] = 100_000_000
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000

    def solve(self, system: RigidBodies | SpatialBodies, request: Request) -> Run:
        """Return the run of `system`."""
        from stiction.bodies.run import solve_steps

        if isinstance(system, SpatialBodies):
            from stiction.bodies.space.run import solve_in_space

            return solve_in_space(system, self, request)
        return solve_steps(system, self, request)


@dataclass(frozen=True, eq=False, repr=False)
class EventDriven(Method):
    """Event-driven scheme: smooth motion between located events, for up to some tens of contacts.

    Between events the modes of contacts are fixed, and closed contacts are constraints. Polynomials
    of degree 10 solve the equations of motion; impacts, separations, onsets and ends of slip are
    located to rounding. Impacts are those of `TimeStepper`. The contact law at the level of
    accelerations gives the modes after an event; where it has no solution the run ends, and where
    it has several the run reports them and takes that with the smallest contact forces. Impacts
    that accumulate end as a geometric series, once a hop, the flight between two of them, is below
    rounding or 1e-12 of the smallest thickness.

    Parameters
    ----------
    rtol : relative tolerance of the velocities in a step [1], between 1e-14 and 1e-2
    max_step : longest step [s]; None leaves it to the method
    max_steps, max_events : bounds on the work; a run that reaches one ends with WORK_LIMIT
    policy : None: rigid bodies have none

    Source: Pfeiffer, Glocker 1996, Multibody Dynamics with Unilateral Contacts.
    Verified by: tests/exact/test_event_driven_bodies.py::test_bounces_accumulate

    Examples
    --------
    >>> import stiction as st
    >>> ball = st.bodies.RigidBody(st.bodies.Disc(0.1), position=[0.0, 1.1])
    >>> system = st.bodies.RigidBodies([ball], [st.bodies.Support()], restitution=0.5)
    >>> run = st.solve(system, st.bodies.EventDriven(), t_span=(0.0, 2.0))
    >>> (end,) = run.events["time"][run.events["kind"] == "accumulation"]
    >>> round(float(end), 9) == round(3.0 * (2.0 / 9.81) ** 0.5, 9)
    True
    """

    solves: ClassVar[tuple[type, ...]] = (RigidBodies,)

    rtol: Annotated[float, _RTOL] = 1e-12
    max_step: Annotated[float | None, _MAX_STEP] = None
    max_steps: Annotated[int | None, Limit()] = None
    max_events: Annotated[int, Limit(each=BYTES_OF_EVENT)] = 1_000_000
    policy: Annotated[Policy | None, _POLICY] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy is not None:
            why = "rigid bodies have no policies: where accelerations are not unique, a run takes "
            why += "one solution and reports a loss of determinism."
            raise ModelError(
                "EventDriven.policy", repr(self.policy), "None", why, "leave this value out."
            )

    def solve(self, system: RigidBodies, request: Request) -> Run:
        """Return the run of `system`."""
        if system.hinges:
            got = f"{len(system.hinges)} hinges"
            why = "only TimeStepper solves the equations of hinges."
            raise ModelError("RigidBodies.hinges", got, "no hinges", why, "use TimeStepper.")
        from stiction.bodies.event_driven.run import solve_events

        return solve_events(system, self, request)
