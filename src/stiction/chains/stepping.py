"""A chain that another program advances step by step, by the event-driven method.

Co-simulation (`stiction.fmi`) uses it: the other program sets an external force and asks for the
state at the next time. The motion obeys m x'' = R - mu N Sgn(slip rate), with the force R of
springs, dampers, load and external force (`event_driven.run`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.run import EventDrivenIntegrator
from stiction.chains.event_driven.run import refuse as refuse_chain
from stiction.chains.model import Chain
from stiction.core.method import method_for
from stiction.core.run import Request
from stiction.errors import ModelError, SolveError
from stiction.numerics.checks import number

if TYPE_CHECKING:
    from stiction.chains.event_driven.state import Saved
    from stiction.chains.methods import EventDriven
    from stiction.core.method import SharedName

__all__ = ["KINDS", "ChainStepper", "StepEvents"]

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

# kinds of events by number; 0 is none
KINDS = ("none", "slip", "stick", "reverse")


@dataclass(frozen=True)
class StepEvents:
    """Events so far.

    Parameters
    ----------
    count : number of mode changes
    time : of the last one [s]; the start without one
    mass : its mass, from 1; 0 without one
    kind : index in `KINDS`
    """

    count: int
    time: float
    mass: int
    kind: int


class ChainStepper:
    """A chain at a time, which `go_to` advances to a later one.

    Events between two calls are located as in a run. Steps of the method end at each call, which
    changes the motion by rounding only.

    Parameters
    ----------
    chain : under a law without memory
    method : its tolerances; `max_steps` bounds the work of a call
    t_start : start [s]
    span : expected duration [s]; a load given as a Python function is sampled in steps of at most
        1/200 of it

    Raises
    ------
    ModelError : for a chain that the method does not solve.

    Verified by: tests/unit/chains/test_stepping.py::test_steps_are_those_of_a_run
    """

    def __init__(
        self,
        chain: Chain,
        method: EventDriven | SharedName,
        t_start: float = 0.0,
        span: float = 1.0,
    ) -> None:
        if not chain.law.sticks:
            why, try_ = (
                "ChainStepper steps from one event of stick or slip to the next.",
                "take a law with stick: Coulomb(0.3).",
            )
            needs = "a set-valued law, whose friction in stick has any value up to a bound"
            raise ModelError("ChainStepper.law", repr(chain.law), needs, why, try_)
        found: Any = method_for(chain, method)
        # a replay checks a whole run, and the later forces are unknown here
        chosen = dataclasses.replace(found, replay=False)
        refuse_chain(chain, chosen, t_start)
        why, try_ = (
            "steps under a user's load are a fraction of this duration.",
            "give the expected duration.",
        )
        span = number("ChainStepper.span", span, rule="positive", unit="s", why=why, try_=try_)
        self._request = Request(t_start, t_start + span, np.array([t_start]))
        self._integrator = EventDrivenIntegrator(chosen, chain, self._request)
        self._offset = self._integrator.problem.segment_offset.copy()
        self._force = 0.0
        self._integrator.ek.first_modes(self._integrator.problem, self._integrator.state)
        self._saved: Saved = self._integrator.saved
        self.events = self._moved = StepEvents(0, t_start, 0, 0)
        # masses that the last call released at its end
        self._released = np.zeros(0, dtype=np.int64)
        self.go_to(t_start)

    @property
    def time(self) -> float:
        """Current time [s]."""
        return float(self._integrator.now.time)

    @property
    def x(self) -> Floats:
        """(n,) displacements [m]."""
        return self._saved.x[0, :].copy()

    @property
    def v(self) -> Floats:
        """(n,) velocities [m/s]."""
        return self._saved.v[0, :].copy()

    @property
    def friction(self) -> Floats:
        """(n,) friction force on each mass [N]."""
        return self._saved.friction[0, :].copy()

    @property
    def mode(self) -> npt.NDArray[np.int8]:
        """(n,) -1 slip-, 0 stick, 1 slip+."""
        return self._saved.mode[0, :].copy()

    @property
    def heat(self) -> float:
        """Friction heat so far [J]."""
        return float(self._saved.heat[0].sum())

    @property
    def load(self) -> float:
        """Load f(t), including the external force [N]."""
        return float(self._integrator.chain.load.at(self.time)) + self._force

    def push(self, force: float) -> None:
        """Set the external force, which is added to the load until the next `push` [N].

        It replaces the previous one and may jump: the modes of stuck masses are decided again.

        Raises
        ------
        ModelError : if it is not finite.

        Verified by: tests/unit/chains/test_stepping.py::test_a_force_from_outside_is_a_load
        """
        why, try_ = "this force is added to the load.", "give a finite number [N]."
        force = number("push.force", force, unit="N", why=why, try_=try_)
        if force == self._force:
            return
        self._force, integrator = force, self._integrator
        integrator.problem = integrator.problem._replace(segment_offset=self._offset + self._force)
        integrator.now.rest_seen = 0
        # masses that the former force releases at this time have not moved: no events
        state, released = integrator.state, self._released
        state.mode[released] = state.shown[released] = 0
        self.events = self._moved
        self._released = released[:0]
        integrator.ek.first_modes(integrator.problem, integrator.state)

    def go_to(self, t: float) -> None:
        """Advance to time `t` [s].

        Raises
        ------
        ModelError : if `t` is before the current time, or not finite.
        SolveError : if the method fails before `t`; `events` then lacks those of this call.
        """
        if not self.time <= t < np.inf:
            why, try_ = "a chain does not run backwards.", "create a new ChainStepper."
            needs = f"a finite time of at least {self.time!r} [s]"
            raise ModelError("ChainStepper.go_to", t, needs, why, try_)
        integrator, stays = self._integrator, t == self.time
        integrator.request = dataclasses.replace(self._request, t_start=self.time, t_end=t)
        integrator.saved.time[0] = t
        integrator.now.saved = integrator.now.steps = 0
        for log in (*integrator.log, integrator.grazings):
            log.clear()
        # the check that the run progresses counts steps from here
        integrator.checked[:] = self.time, 0.0
        status = integrator.advance()
        if not status.ok:
            text = (
                f"ChainStepper.go_to: got as far as t = {self.time:.9g} s; needs to reach t = "
                f"{t:.9g} s."
            )
            raise SolveError(f"{text}\nWhy: {integrator.reason}\nTry: {status.advice}.", None)
        self._count(integrator, stays)

    def _count(self, integrator: EventDrivenIntegrator, stays: bool) -> None:
        """Add the events of a call; those of masses released at its end may be undone by a push."""
        time, mass, before, _ = changes = integrator.changes()
        if stays and not time.size:
            return
        last = (time == self.time) & (before == 0)
        self._moved = self._with(self.events, *(column[~last] for column in changes))
        self._released = mass[last].astype(np.int64)
        self.events = self._with(self.events, *changes)

    @staticmethod
    def _with(
        events: StepEvents, time: Floats, mass: Wholes, before: Wholes, after: Wholes
    ) -> StepEvents:
        """Return the events with further mode changes.

        time, mass, before, after : (m,) times [s], masses from 0, modes -1, 0 or 1
        """
        if not time.size:
            return events
        kind = "slip" if before[-1] == 0 else "stick" if after[-1] == 0 else "reverse"
        count, last = events.count + int(time.size), int(mass[-1]) + 1
        return StepEvents(count, float(time[-1]), last, KINDS.index(kind))
