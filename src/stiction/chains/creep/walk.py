"""What every march of a chain without stick has: tables, loop, bounds, progress, checkpoints."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.chains.creep.motion import Motion
from stiction.core.checkpoint import check_arrays, check_count, like
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import Status

__all__ = ["ALMOST", "Tables", "Walk"]

Floats = npt.NDArray[np.float64]

# slip is full where friction is within this of what slip resists
ALMOST = 0.99
_PAUSE_EVERY = 20

# what is carried from step to step, beside y: one number each
TIME, NEXT_H, FRESH, WORK, VISCOUS, GIVEN, GIVEN_AT, REACH, SPAN = range(9)
LOST, WORST, WORST_AT, LARGEST, MISSED_AT, NUMBERS = range(9, 15)
STEPS, ROUNDS, REJECTED, SAVED, FLIPS, MISSES, CYCLES, COUNTS = range(8)
# rows with a number per mass
HEAT, MOST_HEAT, MOST_AT, FASTEST, PENDING, HALF, CREEP, QUIET, BROKEN_AT, PER_MASS = range(10)


@dataclass(eq=False)
class Tables:
    """All that a run carries, and that a checkpoint keeps.

    Parameters
    ----------
    y : (size,) state
    sides : (n_switch, n) signs that the law is read with
    number, count, mass : what the names above say
    before : (stages, size) values of the last step; no guess where number[SPAN] is 0
    kept, sums, heat : saved states, (work, viscous heat, algorithmic, kinetic, stored energy),
        and heat per mass
    events : (m, 6) time, mass, mode before, x, v, friction
    """

    y: Floats
    sides: Floats
    number: Floats
    count: npt.NDArray[np.int64]
    mass: Floats
    before: Floats
    kept: Floats
    sums: Floats
    heat: Floats
    events: Floats


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
        number = np.zeros(NUMBERS)
        number[TIME], number[FRESH] = request.t_start, 1.0
        number[[GIVEN_AT, WORST_AT, MISSED_AT]] = math.nan
        mass = np.zeros((PER_MASS, n))
        # the first loading is no part of a cycle: QUIET starts at 0
        self.cycle = motion.cycle(request.t_start, request.t_end)
        mass[CREEP] = math.nan if self.cycle else 0.0
        mass[[HALF, BROKEN_AT]], mass[MOST_AT] = math.nan, request.t_start
        self.now = Tables(
            y=y,
            sides=np.ones((len(motion.switches(y)), n)),
            number=number,
            count=np.zeros(COUNTS, dtype=np.int64),
            mass=mass,
            before=np.zeros((stages, y.size)),
            kept=np.zeros((rows, y.size)),
            sums=np.zeros((rows, 5)),
            heat=np.zeros((rows, n)),
            events=np.zeros((0, 6)),
        )
        self.time = np.array(request.save, dtype=np.float64)
        breaks = motion.load.time
        self.breaks = breaks[(breaks > request.t_start) & (breaks < request.t_end)]
        # what bounds the work at one moment, where signs could change for ever
        self.last = request.t_end

    def run(self) -> None:
        """March to the end, or to where it stops."""
        if not self._resume():
            self.now.kept[0] = self.now.y
            self.now.sums[0, 3:] = self._energies(self.time[:1], self.now.kept[:1])
            self.now.count[SAVED] = 1
        try:
            run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        except KeyboardInterrupt:
            t = self.now.number[TIME]
            self.status, self.reason = Status.INTERRUPTED, f"interrupted at t = {t:.9g} s"
            if self.request.checkpoint is not None:
                self.request.checkpoint.save(self._pack())

    # ---- the loop

    @abc.abstractmethod
    def _advance(self) -> None:
        """Make one step, or end the run."""

    def _loop(self) -> Generator[Pause, None, None]:
        now, request = self.now, self.request
        span = request.t_end - request.t_start
        while now.number[TIME] < request.t_end and self.status is Status.SOLVED:
            if now.count[STEPS] >= self.max_steps:
                self._end(Status.WORK_LIMIT, f"max_steps = {self.max_steps} were used up")
                return
            if len(now.events) >= self.max_events:
                self._end(Status.WORK_LIMIT, f"max_events = {self.max_events} were used up")
                return
            self._advance()
            if now.count[STEPS] % _PAUSE_EVERY == 0:
                done = (now.number[TIME] - request.t_start) / span
                yield Pause(float(done), f"{len(now.events)} events", self._pack)

    def _end(self, status: Status, reason: str) -> None:
        self.status = status
        self.reason = f"{reason} at t = {self.now.number[TIME]:.9g} s"

    # ---- what a step leaves

    def _energies(self, t: Floats, y: Floats) -> Floats:
        """Return kinetic and stored energy, (m, 2), at (m,) times [J]."""
        return np.stack(self.motion.energies(t, y), axis=-1)

    def _book(self, work: float, viscous: float, heat: Floats, t: float) -> None:
        """Add what a step did that ends at t: work, viscous heat, and heat per mass [J]."""
        number, mass = self.now.number, self.now.mass
        number[WORK] += work
        number[VISCOUS] += viscous
        mass[HEAT] += heat
        grown = mass[HEAT] >= mass[MOST_HEAT]
        mass[MOST_HEAT, grown], mass[MOST_AT, grown] = mass[HEAT, grown], t
        back = mass[MOST_HEAT] - mass[HEAT]
        if back.max() > number[GIVEN]:
            number[GIVEN] = back.max()
            number[GIVEN_AT] = mass[MOST_AT, int(back.argmax())]

    def _turned(self, i: int, t: float, row: list[float]) -> None:
        """Note that a mass turned round; without cycles of the drive, end half a cycle."""
        now, mass = self.now, self.now.mass
        now.events = np.vstack([now.events, [t, i, *row]])
        if self.cycle:
            return
        half = mass[PENDING, i] if mass[QUIET, i] else math.nan
        # the mid-ranges of two half cycles that follow each other differ by half of both
        mean = 0.5 * (mass[HALF, i] + half)
        mass[CREEP, i] += 0.0 if math.isnan(mean) else mean
        mass[HALF, i], mass[PENDING, i], mass[QUIET, i] = half, 0.0, 1.0

    def _creep(
        self, t: float, h: float, looks: Floats, force: Floats, slip: Callable[[Floats], Floats]
    ) -> None:
        """Count slip that does not come back while friction is far from what slip resists.

        Parameters
        ----------
        looks, force : (m,) fractions of the step, and (m, n) friction coefficients there
        slip : (k,) fractions of the step -> (k, n) plastic slip since its start [m]
        """
        mass, force = self.now.mass, np.abs(force)
        full = force >= self.level
        for i in np.flatnonzero(full.any(axis=0) & np.isnan(mass[BROKEN_AT])):
            j = int(full[:, i].argmax())
            share = looks[j]
            if j:
                low, high = force[j - 1, i], force[j, i]
                part = (self.level[i] - low) / (high - low)
                share = looks[j - 1] + part * (looks[j] - looks[j - 1])
            mass[BROKEN_AT, i] = t + share * h
        ends = np.array([*self._cycle_ends(t, h), 1.0])
        parts = np.diff(slip(ends), axis=0, prepend=0.0)
        for k, end in enumerate(ends):
            start = ends[k - 1] if k else 0.0
            mass[PENDING] += parts[k]
            mass[QUIET, full[(looks >= start) & (looks <= end)].any(axis=0)] = 0.0
            if k + 1 < ends.size:
                crept = np.where(np.isnan(mass[CREEP]), 0.0, mass[CREEP]) + mass[PENDING]
                mass[CREEP] = np.where(mass[QUIET] > 0.0, crept, mass[CREEP])
                mass[PENDING], mass[QUIET] = 0.0, 1.0

    def _cycle_ends(self, t: float, h: float) -> list[float]:
        """Return the fractions of the step at which cycles of the drive end."""
        count, ends = self.now.count, []
        while 0.0 < self.cycle < math.inf:
            # a run of whole cycles ends with a cycle, whatever rounding says
            end = self.request.t_start + (count[CYCLES] + 1) * self.cycle
            if end - 1e-9 * self.cycle > t + h:
                break
            ends.append(min(max(float(end - t) / h, 0.0), 1.0))
            count[CYCLES] += 1
        return ends

    # ---- checkpoint

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        rows = int(self.now.count[SAVED])
        arrays = {name: np.array(values) for name, values in vars(self.now).items()}
        return arrays | {name: arrays[name][:rows] for name in ("kept", "sums", "heat")}

    def _resume(self) -> bool:
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return False
        now = self.now
        forms = {name: like(values) for name, values in vars(now).items()}
        # a mass that never slipped has no time at which it broke away, nor one half cycle
        forms["number"], forms["mass"] = like(now.number, nan=True), like(now.mass, nan=True)
        forms["sides"] = like(now.sides, within=(-1, 1))
        forms["events"] = like(now.events, "events")
        for name in ("kept", "sums", "heat"):
            forms[name] = like(getattr(now, name), "rows")
        sizes, count = check_arrays(kept, forms), kept["count"]
        check_count("count", int(count[SAVED]), sizes["rows"], sizes["rows"])
        check_count("kept", sizes["rows"], 1, self.time.size)
        check_count("count", int(count[STEPS]), 0, self.max_steps)
        check_count("events", int(np.max(kept["events"][:, 1], initial=0)), 0, self.motion.n - 1)
        rows = sizes["rows"]
        for name, values in kept.items():
            if name in ("kept", "sums", "heat"):
                getattr(now, name)[:rows] = values
            else:
                setattr(now, name, np.array(values))
        return True
