"""What every march of a chain without stick has: tables, loop, bounds, progress, checkpoints."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.creep.motion import Motion
from stiction.core.checkpoint import Log, StateArray, check_count, pack, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.arrays import Struct, Table
from stiction.numerics.checks import MOST_WORK

__all__ = ["ALMOST", "Tables", "Walk"]

Floats = npt.NDArray[np.float64]

# slip is full where friction is within this of what slip resists
ALMOST = 0.99
_PAUSE_EVERY = 20


class Progress(Struct):
    """What is carried from step to step beside the state, in one element.

    time, next_step : [s]
    work, viscous, lost : what drives did, and what dampers and the scheme took [J]
    given, given_time : most heat that friction gave back to a mass [J], and since when [s]
    reach : farthest place of a mass [m]
    span : length of the step behind `Tables.before`, 0 for none [s]
    worst, worst_time : largest imbalance of a step [J], and when [s]
    largest : largest energy [J]
    missed_time : of the first step that was not solved [s]
    fresh : 1 where signs have not been read yet
    steps, rounds, rejected : steps, iterations of Newton's method, steps that were shortened
    saved : samples saved
    flips : changes of sign since time last passed
    misses : steps that were not solved
    cycles : cycles of the drive that have ended
    """

    time: float
    next_step: float
    work: float
    viscous: float
    lost: float
    given: float
    given_time: float
    reach: float
    span: float
    worst: float
    worst_time: float
    largest: float
    missed_time: float
    fresh: int
    steps: int
    rounds: int
    rejected: int
    saved: int
    flips: int
    misses: int
    cycles: int


class Contact(Struct):
    """What is carried of one mass.

    heat : of friction so far [J]
    most_heat, most_heat_time : the most it was [J], and when [s]
    fastest : largest slip rate [m/s]
    pending, half : slip of this half cycle or cycle so far, and of the half cycle before [m]
    creep : slip of whole cycles that did not come back [m], NaN before one has ended
    broken_time : when it first broke away [s], NaN before
    quiet : 1 where friction has stayed far from what slip resists since the cycle began
    """

    heat: float
    most_heat: float
    most_heat_time: float
    fastest: float
    pending: float
    half: float
    creep: float
    broken_time: float
    quiet: int


@dataclass(eq=False)
class Tables:
    """All that a run carries, and that a checkpoint keeps.

    Parameters
    ----------
    y : (size,) state
    sides : (n_switch, n) signs that the law is read with
    progress, contacts : one element, and (n,)
    before : (stages, size) values of the last step; no guess where `progress.span` is 0
    kept, sums, heat : saved states, (work, viscous heat, algorithmic, kinetic, stored energy),
        and heat per mass
    events : (m, 6) time, mass, mode before, x, v, friction
    """

    y: Floats
    sides: Floats
    progress: Table[Progress]
    contacts: Table[Contact]
    before: Floats
    kept: Floats
    sums: Floats
    heat: Floats
    events: Log


class Walk(abc.ABC):
    """One run, step after step.

    Parameters
    ----------
    motion : the equations
    request : when to start, stop and save
    max_steps, max_events : bounds on the work
    stages : values of the last step that are kept, for a guess of the next one
    """

    def __init__(
        self, motion: Motion, request: Request, max_steps: int, max_events: int, stages: int
    ) -> None:
        self.motion, self.request = motion, request
        self.max_steps, self.max_events = max_steps, max_events
        self.status, self.reason = Status.SOLVED, ""
        n, y, rows = motion.n, motion.start(), len(request.save)
        self.level = ALMOST * motion.chain.friction.mu_kinetic
        progress, contacts = Progress.table(), Contact.table(n)
        now = progress[0]
        now.time, now.fresh = request.t_start, 1
        now.given_time = now.worst_time = now.missed_time = math.nan
        # the first loading is no part of a cycle: `quiet` starts at 0
        self.cycle = motion.cycle(request.t_start, request.t_end)
        contacts["creep"] = math.nan if self.cycle else 0.0
        contacts["half"] = contacts["broken_time"] = math.nan
        contacts["most_heat_time"] = request.t_start
        self.tables = Tables(
            y=y,
            sides=np.ones((len(motion.switches(y)), n)),
            progress=progress,
            contacts=contacts,
            before=np.zeros((stages, y.size)),
            kept=np.zeros((rows, y.size)),
            sums=np.zeros((rows, 5)),
            heat=np.zeros((rows, n)),
            events=Log(np.zeros((0, 6))),
        )
        self.time = np.array(request.save, dtype=np.float64)
        breaks = motion.load.time
        self.breaks = breaks[(breaks > request.t_start) & (breaks < request.t_end)]
        # what bounds the work at one moment, where signs could change for ever
        self.last = request.t_end

    @property
    def now(self) -> Progress:
        """Where the run stands."""
        return self.tables.progress[0]

    def run(self) -> None:
        """March to the end, or to where it stops."""
        if not self._resume():
            self.tables.kept[0] = self.tables.y
            self.tables.sums[0, 3:] = self._energies(self.time[:1], self.tables.kept[:1])
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
        """Make one step, or end the run."""

    def _loop(self) -> Generator[Pause, None, None]:
        tables, now, request = self.tables, self.now, self.request
        span = request.t_end - request.t_start
        while now.time < request.t_end and self.status is Status.SOLVED:
            if now.steps >= self.max_steps:
                self._end(Status.WORK_LIMIT, f"max_steps = {self.max_steps} were used up")
                return
            if len(tables.events) >= self.max_events:
                self._end(Status.WORK_LIMIT, f"max_events = {self.max_events} were used up")
                return
            self._advance()
            if now.steps % _PAUSE_EVERY == 0:
                done = (now.time - request.t_start) / span
                yield Pause(float(done), f"{len(tables.events)} events", self._state)

    def _end(self, status: Status, reason: str) -> None:
        self.status = status
        self.reason = f"{reason} at t = {self.now.time:.9g} s"

    # ---- what a step leaves

    def _energies(self, t: Floats, y: Floats) -> Floats:
        """Return kinetic and stored energy, (m, 2), at (m,) times [J]."""
        return np.stack(self.motion.energies(t, y), axis=-1)

    def _book(self, work: float, viscous: float, heat: Floats, t: float) -> None:
        """Add what a step did that ends at t: work, viscous heat, and heat per mass [J]."""
        now, contacts = self.now, self.tables.contacts
        now.work += work
        now.viscous += viscous
        contacts["heat"] += heat
        total, most = contacts["heat"], contacts["most_heat"]
        grown = total >= most
        most[grown], contacts["most_heat_time"][grown] = total[grown], t
        back = most - total
        if back.max() > now.given:
            now.given = back.max()
            now.given_time = contacts["most_heat_time"][int(back.argmax())]

    def _turned(self, i: int, t: float, row: list[float]) -> None:
        """Note that a mass turned round; without cycles of the drive, end half a cycle."""
        tables, contact = self.tables, self.tables.contacts[i]
        tables.events.add(np.array([[t, i, *row]]))
        if self.cycle:
            return
        half = contact.pending if contact.quiet else math.nan
        # the mid-ranges of two half cycles that follow each other differ by half of both
        mean = 0.5 * (contact.half + half)
        contact.creep += 0.0 if math.isnan(mean) else mean
        contact.half, contact.pending, contact.quiet = half, 0.0, 1

    def _creep(
        self, t: float, h: float, looks: Floats, force: Floats, slip: Callable[[Floats], Floats]
    ) -> None:
        """Count slip that does not come back while friction is far from what slip resists.

        Parameters
        ----------
        looks, force : (m,) fractions of the step, and (m, n) friction coefficients there
        slip : (k,) fractions of the step -> (k, n) plastic slip since its start [m]
        """
        contacts, force = self.tables.contacts, np.abs(force)
        full = force >= self.level
        for i in np.flatnonzero(full.any(axis=0) & np.isnan(contacts["broken_time"])):
            j = int(full[:, i].argmax())
            share = looks[j]
            if j:
                low, high = force[j - 1, i], force[j, i]
                part = (self.level[i] - low) / (high - low)
                share = looks[j - 1] + part * (looks[j] - looks[j - 1])
            contacts["broken_time"][i] = t + share * h
        ends = np.array([*self._cycle_ends(t, h), 1.0])
        parts = np.diff(slip(ends), axis=0, prepend=0.0)
        for k, end in enumerate(ends):
            start = ends[k - 1] if k else 0.0
            contacts["pending"] += parts[k]
            contacts["quiet"][full[(looks >= start) & (looks <= end)].any(axis=0)] = 0
            if k + 1 < ends.size:
                creep = contacts["creep"]
                crept = np.where(np.isnan(creep), 0.0, creep) + contacts["pending"]
                contacts["creep"] = np.where(contacts["quiet"] == 1, crept, creep)
                contacts["pending"], contacts["quiet"] = 0.0, 1

    def _cycle_ends(self, t: float, h: float) -> list[float]:
        """Return the fractions of the step at which cycles of the drive end."""
        now, ends = self.now, []
        while 0.0 < self.cycle < math.inf:
            # a run of whole cycles ends with a cycle, whatever rounding says
            end = self.request.t_start + (now.cycles + 1) * self.cycle
            if end - 1e-9 * self.cycle > t + h:
                break
            ends.append(min(max(float(end - t) / h, 0.0), 1.0))
            now.cycles += 1
        return ends

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        t, rows = self.tables, self.now.saved
        times = ("given_time", "worst_time", "missed_time")
        # a mass that never slipped has no time at which it broke away, nor one half cycle
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
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return False
        sizes, now = restore(self._state(), kept), self.now
        check_count("progress", int(now.saved), sizes["rows"], sizes["rows"])
        check_count("kept", sizes["rows"], 1, self.time.size)
        check_count("progress", int(now.steps), 0, self.max_steps)
        masses = self.tables.events.rows[:, 1]
        check_count("events", int(np.max(masses, initial=0)), 0, self.motion.n - 1)
        return True
