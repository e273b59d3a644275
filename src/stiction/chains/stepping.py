"""A chain that others drive step by step: the event-driven method, stopped where they look."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.run import Solver
from stiction.chains.event_driven.run import refuse as refuse_chain
from stiction.chains.model import Chain
from stiction.core.method import method_for
from stiction.core.run import Request
from stiction.errors import ModelError, SolveError

if TYPE_CHECKING:
    from stiction.chains.event_driven.state import Saved
    from stiction.chains.methods import EventDriven
    from stiction.core.method import SharedName

__all__ = ["KINDS", "ChainStepper", "StepEvents"]

Floats = npt.NDArray[np.float64]

# kinds of events by their number; 0 stands for none
KINDS = ("none", "slip", "stick", "reverse")


@dataclass(frozen=True)
class StepEvents:
    """What has happened so far.

    Parameters
    ----------
    count : how many masses changed their mode
    time : of the last change [s]; the start where there is none
    mass : which mass, from 1; 0 where there is none
    kind : a place in `KINDS`
    """

    count: int
    time: float
    mass: int
    kind: int


class ChainStepper:
    """A chain that stands at a time, and goes on to a later one when it is told.

    Events between two looks are located as in a run. The steps of the method end where one
    looks, which changes a motion by rounding alone.

    Parameters
    ----------
    chain : under a law without memory
    method : its tolerances; `max_steps` bounds the work between two looks
    t_start : where it begins [s]
    span : how long it will be driven [s], for loads given as Python functions

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
            why, try_ = "its steps go from event to event.", "take a law that sticks."
            needs = "a law with a set of forces at rest"
            raise ModelError("ChainStepper.law", repr(chain.law), needs, why, try_)
        found: Any = method_for(chain, method)
        chosen = dataclasses.replace(found, replay=False)
        refuse_chain(chain, chosen, t_start)
        self._request = Request(t_start, t_start + span, np.array([t_start]))
        self._solver = Solver(chosen, chain, self._request)
        self._offset = self._solver.problem.piece_offset.copy()
        self._force = 0.0
        self._solver.ek.first_modes(self._solver.problem, self._solver.state)
        self._kept: Saved = self._solver.saved
        self.events = StepEvents(0, t_start, 0, 0)
        self.go_to(t_start)

    @property
    def time(self) -> float:
        """Where it stands [s]."""
        return float(self._solver.now.time)

    @property
    def x(self) -> Floats:
        """(n,) displacements [m]."""
        return self._kept.x[0, :]

    @property
    def v(self) -> Floats:
        """(n,) velocities [m/s]."""
        return self._kept.v[0, :]

    @property
    def friction(self) -> Floats:
        """(n,) friction force on each mass [N]."""
        return self._kept.friction[0, :]

    @property
    def mode(self) -> npt.NDArray[np.int8]:
        """(n,) -1 slip-, 0 stick, 1 slip+."""
        return self._kept.mode[0, :]

    @property
    def heat(self) -> float:
        """What friction has turned into heat so far [J]."""
        return float(self._solver.saved.heat[0].sum())

    @property
    def load(self) -> float:
        """Load f(t), with the force from outside [N]."""
        return float(self._solver.chain.load.at(self.time)) + self._force

    def push(self, force: float) -> None:
        """Add a force from outside to the load [N], from now until another one is given.

        It may jump: masses that stick are looked at again.

        Verified by: tests/unit/chains/test_stepping.py::test_a_force_from_outside_is_a_load
        """
        if not np.isfinite(force):
            why, try_ = "it is added to the load.", "give a finite number [N]."
            raise ModelError("push.force", force, "a finite number", why, try_)
        if force == self._force:
            return
        self._force, solver = float(force), self._solver
        solver.problem = solver.problem._replace(piece_offset=self._offset + self._force)
        solver.now.rest_seen = 0
        solver.ek.first_modes(solver.problem, solver.state)

    def go_to(self, t: float) -> None:
        """Go on to time `t` [s].

        Raises
        ------
        ModelError : if `t` is before the time it stands at.
        SolveError : if the method gives up on the way.
        """
        if t < self.time:
            why, try_ = "a chain does not run backwards.", "begin anew."
            needs = f"a time from {self.time!r} on [s]"
            raise ModelError("ChainStepper.go_to", t, needs, why, try_)
        solver = self._solver
        solver.request = dataclasses.replace(self._request, t_start=self.time, t_end=t)
        solver.saved.time[0] = t
        solver.now.saved = solver.now.steps = 0
        for log in (*solver.log, solver.touches):
            log.clear()
        solver.judged[:] = self.time, 0.0
        status = solver.advance()
        if not status.ok:
            text = f"ChainStepper.go_to: got as far as t = {self.time:.9g} s; needs {t:.9g} s."
            raise SolveError(f"{text}\nWhy: {solver.reason}\nTry: {status.advice}.", None)
        self._count(solver)

    def _count(self, solver: Solver) -> None:
        time, mass, before, after = solver.changes()
        if not time.size:
            return
        last = 1 if before[-1] == 0 else 2 if after[-1] == 0 else 3
        count = self.events.count + int(time.size)
        self.events = StepEvents(count, float(time[-1]), int(mass[-1]) + 1, last)
