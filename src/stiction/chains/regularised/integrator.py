"""Base class of the integrators of chains without stick: arrays, loop, work limits, checkpoints.

They integrate y' = f(t, y) of `equations`, where y (3 n,) has displacement, slip rate and contact
state of each mass, and f is m v' = (forces) - N phi, with the friction coefficient phi of the law
and normal force N. The state of a run is in `state.Tables`. `radau` (collocation, adaptive steps)
and `theta` (theta scheme, fixed steps) derive from it and make the steps; `run` calls
`Integrator.run`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from stiction.chains.regularised.equations import Equations
from stiction.chains.regularised.state import Contact, Progress, Tables
from stiction.core.checkpoint import Log, StateArray, check_count, pack, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.interrupts import uninterrupted
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.checks import MOST_WORK

__all__ = ["PAUSE_EVERY", "Integrator"]

Floats = npt.NDArray[np.float64]

# number of steps from pause to pause, at which progress is shown and interrupts are handled
PAUSE_EVERY = 20


class Integrator(abc.ABC):
    """Integrator of one run.

    Parameters
    ----------
    equations : equations of motion y' = f(t, y) of the chain
    request : time span and save times
    max_steps, max_events : bounds on the work
    stages : number of values of the last step that extrapolate to the next one
    """

    def __init__(
        self, equations: Equations, request: Request, max_steps: int, max_events: int, stages: int
    ) -> None:
        self.equations, self.request = equations, request
        self.max_steps, self.max_events = max_steps, max_events
        self.status, self.reason = Status.SOLVED, ""
        n, y, rows = equations.n, equations.start(), len(request.save)
        progress, contacts = Progress.table(), Contact.table(n)
        now = progress[0]
        now.time, now.fresh = request.t_start, 1
        now.given_time = now.worst_time = now.missed_time = math.nan
        # the first loading is not part of a cycle, so `quiet` starts at 0
        self.cycle = float(equations.model.numbers[0].cycle)
        contacts["creep"] = math.nan if self.cycle else 0.0
        contacts["half"] = contacts["broken_time"] = math.nan
        contacts["most_heat_time"] = request.t_start
        self.tables = Tables(
            y=y,
            sides=np.ones((n, equations.law.n_switch)),
            progress=progress,
            contacts=contacts,
            before=np.zeros((stages, y.size)),
            kept=np.zeros((rows, y.size)),
            sums=np.zeros((rows, 5)),
            heat=np.zeros((rows, n)),
            events=Log(np.zeros((0, 6))),
        )
        self.time = np.array(request.save, dtype=np.float64)

    @property
    def now(self) -> Progress:
        """Time, counters and sums of the current state."""
        return self.tables.progress[0]

    def run(self) -> None:
        """Integrate to the end of the request, or until the run fails."""
        if not self._resume():
            self.tables.kept[0] = self.tables.y
            self.tables.sums[0, 3:] = self.equations.energies(self.time[0], self.tables.y)[:2]
            self.now.saved = 1
        try:
            run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        except KeyboardInterrupt:
            t = self.now.time
            self.status, self.reason = Status.INTERRUPTED, f"interrupted at t = {t:.9g} s"
            if self.request.checkpoint is not None:
                self.request.checkpoint.save(pack(self._state()))

    # ---- the loop

    @abc.abstractmethod
    def _advance(self) -> None:
        """Make one or several steps, or end the run."""

    def _loop(self) -> Generator[Pause, None, None]:
        """Make steps up to the end of the request or to a work limit; yield in between."""
        tables, now, request = self.tables, self.now, self.request
        span = request.t_end - request.t_start
        while now.time < request.t_end and self.status is Status.SOLVED:
            if now.steps >= self.max_steps:
                self._end(Status.WORK_LIMIT, f"max_steps = {self.max_steps} were used up")
                return
            if len(tables.events) >= self.max_events:
                self._end(Status.WORK_LIMIT, f"max_events = {self.max_events} were used up")
                return
            # within a step heat is added before the time
            with uninterrupted():
                self._advance()
            if now.steps % PAUSE_EVERY == 0:
                done = (now.time - request.t_start) / span
                yield Pause(float(done), f"{len(tables.events)} events", self._state)

    def _end(self, status: Status, reason: str) -> None:
        self.status = status
        self.reason = f"{reason} at t = {self.now.time:.9g} s"

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint, with the ranges of their values."""
        t, rows = self.tables, self.now.saved
        times = ("given_time", "worst_time", "missed_time")
        # NaN for masses that never reached gross slip, or completed no half cycle
        never = ("half", "creep", "broken_time")
        saved = ("kept", "sums", "heat")
        special = {
            "progress": StateArray(t.progress, nan=times, within=(0, MOST_WORK)),
            "contacts": StateArray(t.contacts, nan=never, within=(0, 1)),
            "sides": StateArray(t.sides, within=(-1, 1)),
            **{name: StateArray(getattr(t, name), "rows", rows) for name in saved},
        }
        return {name: StateArray(values) for name, values in vars(t).items()} | special

    def _resume(self) -> bool:
        """Restore a checkpoint; return whether there was one."""
        arrays = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if arrays is None:
            return False
        sizes, now = restore(self._state(), arrays), self.now
        check_count("progress", int(now.saved), sizes["rows"], sizes["rows"])
        check_count("kept", sizes["rows"], 1, self.time.size)
        check_count("progress", int(now.steps), 0, self.max_steps)
        masses = self.tables.events.rows[:, 1]
        check_count("events", int(np.max(masses, initial=0)), 0, self.equations.n - 1)
        check_count("progress", int(now.events), len(masses), len(masses))
        return True
