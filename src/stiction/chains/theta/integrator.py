"""Integrator of the theta schemes: the loop over kernel calls, checkpoints, and the history.

A step of length h solves for the slip rates w at t + theta h: A w + friction(w) contains q, with
A = M / (theta h) + C + theta h (K + K_plate), and q of all forces but friction (`step_kernels`).
The kernels advance many steps per call. Once all masses stick for good the run ends early, because
nothing but the load changes; the remaining samples are written from the equilibrium. `theta.run`
uses this class for `ThetaStepper` and `RegularizedTheta`.
"""

from __future__ import annotations

import functools
import time as wall
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, LateEvents, RawEvents
from stiction.chains.theta.setup import (
    Scheme,
    begin,
    callbacks,
    make_law,
    make_problem,
    make_saved,
    make_work,
)
from stiction.core.audit import Check
from stiction.core.checkpoint import StateArray, check_count, like, pack, refused, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.interrupts import uninterrupted
from stiction.core.ledger import Ledger
from stiction.core.run import Request
from stiction.errors import Status
from stiction.numerics.checks import MOST_WORK

if TYPE_CHECKING:
    from stiction.chains.theta.state import Events, Problem, Progress, Saved, Work

__all__ = ["ThetaIntegrator"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# wall time [s] of one kernel call, after which interrupts and checkpoints are served
_CHUNK_S = 0.2
_MOST_STEPS = 1e9


class ThetaIntegrator:
    """Integrator of one run by a theta scheme.

    Parameters
    ----------
    scheme, chain : parameters of the scheme, and the model
    request : time span and save times
    """

    def __init__(self, scheme: Scheme, chain: Chain, request: Request) -> None:
        check_load(chain.load, request.t_start)
        self.scheme, self.chain, self.request = scheme, chain, request
        self.calls = callbacks(chain, scheme)
        self.law = make_law(chain, request, scheme)
        self.problem: Problem = make_problem(chain, request, scheme, self.calls, self.law)
        self.work: Work = make_work(
            chain, chain.load.segments(), chain.friction.mu_kinetic, self.problem, self.law.rows
        )
        self.saved: Saved = make_saved(chain, chain.law, request.save)
        room = min(1024 + 2 * chain.n_mass, scheme.max_events + chain.n_mass)
        # the last block is written to; the others are full
        self._blocks: tuple[Events, ...] = (_block(room, 0),)
        # time from which all masses stick for good [s]; NaN if they do not
        self.stopped = np.full(1, np.nan)
        self.status, self.reason = Status.SOLVED, ""

    def run(self) -> None:
        """Integrate to the end, from the checkpoint if there is one."""
        fresh = not self._resume()
        if fresh:
            begin(self.chain, self.scheme, self.problem, self.work, self.saved, self.events)
        try:
            sticks = self.scheme.exact and self.now.slipping == 0
            if not (fresh and sticks and self._stopped_for_good()):
                run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
            self.reason = f"interrupted at t = {self.time:.9g} s"
            checkpoint = self.request.checkpoint
            # an interrupted user's function leaves an incomplete step, which is not saved
            failed = self.law.failed or any(c.error is not None for c in self.calls.values())
            if checkpoint is not None and not failed:
                checkpoint.save(pack(self._pack()))
        self._save_last_state()

    # ---- the loop

    def _loop(self) -> Generator[Pause, None, None]:
        """Call the kernel for some steps at a time; yield in between."""
        advance = self._advance()
        steps = int(min(max(1, 20_000 // self.chain.n_mass), _MOST_STEPS))
        now = self.now
        while True:
            start, before = wall.perf_counter(), now.step
            # the state within a step, or before what ended the chunk is handled, is not saved
            with uninterrupted():
                code = advance(self.problem, self.work, self.saved, self.events, steps)
                for call in self.calls.values():
                    call.check()
                self.law.check()
                if self._is_over(code):
                    return
            spent = max(wall.perf_counter() - start, 1e-6)
            # the clock sets the length of a chunk only, never the numbers computed in it
            made = int(now.step - before)
            steps = max(1, int(min(made * _CHUNK_S / spent, 20.0 * steps, _MOST_STEPS)))
            done = float(now.step / self.problem.n_step)
            yield Pause(done, f"{self.n_events} events", self._pack)

    def _advance(self) -> Callable[[Problem, Work, Saved, Events, int], int]:
        """Return the kernel of the scheme, which makes steps and returns why it stops."""
        if self.scheme.exact:
            from stiction.chains.theta.exact_kernels import advance_exact, advance_weakening

            return advance_exact if self.problem.constant else advance_weakening
        from stiction.chains.theta.smooth_kernels import advance_smooth

        return advance_smooth

    def _is_over(self, code: int) -> bool:
        """Handle the return code of a kernel; return whether the run has ended."""
        from stiction.chains.theta import step_kernels as tk

        if code == tk.ALL_STUCK:
            return self._stopped_for_good()
        if code == tk.NOT_FINITE:
            self.status = Status.NOT_FINITE
            self.reason = self._not_finite()
        elif code == tk.EVENTS_FULL and self.n_events <= self.scheme.max_events:
            self._grow()
            return False
        elif code == tk.EVENTS_FULL:
            self.status = Status.WORK_LIMIT
            limit = self.scheme.max_events
            self.reason = f"max_events = {limit} were used up at t = {self.time:.9g} s"
        return bool(code != tk.PAUSE)

    def _not_finite(self) -> str:
        """Return the reason of a step that is not finite: its load, or an unstable scheme."""
        step, p = int(self.now.step), self.problem
        load = float(self.now.load)
        end = p.t_end if step + 1 >= p.n_step else p.t_start + (step + 1) * p.h
        if not np.isfinite(load):
            return f"the load is {load} N at t = {end:.9g} s, the end of a step"
        reason = f"the state is not finite after t = {self.time:.9g} s"
        if p.theta < 0.5:
            reason += "; a step this long is not stable with theta < 1/2"
        return reason

    def _grow(self) -> None:
        """Double the space for events, up to the limit and the events of one step."""
        made, room = self.n_events, self.events.first + self.events.changes.shape[0]
        more = max(min(2 * room, self.scheme.max_events + self.chain.n_mass), room + 1)
        # one assignment, so that an interrupt finds consistent blocks
        self._blocks = (*self._written(), _block(more - made, made))

    @property
    def events(self) -> Events:
        """The block of events that kernels write to."""
        return self._blocks[-1]

    def _written(self) -> list[Events]:
        """Return the blocks of events, without unused space."""
        *full, last = self._blocks
        count = self.n_events - last.first
        return [
            *full,
            last._replace(values=last.values[:count], changes=last.changes[:count]),
        ]

    @property
    def now(self) -> Progress:
        """Time, counters and sums of the current state."""
        return self.work.progress[0]

    @property
    def time(self) -> float:
        """The time reached [s]."""
        step, p = int(self.now.step), self.problem
        return p.t_end if step >= p.n_step else p.t_start + step * p.h

    @property
    def n_events(self) -> int:
        """Number of mode changes so far."""
        return int(self.now.events)

    # ---- equilibrium

    def _stopped_for_good(self) -> bool:
        """Record the stop if no later load can move a mass; return whether the run has ended.

        A chain that sticks to a surface at rest makes no more steps, because only its load changes.
        A chain that moves with a belt does.
        """
        chain, t, x = self.chain, self.time, self._motion()["x"]
        since = float(self.now.rest_since)
        if not chain.sticks_for_good(t, x, since):
            return False
        self.stopped[0] = since
        if chain.belt_speed != 0.0:
            return False
        velocity = np.full(chain.n_mass, chain.belt_speed)
        self._save_equilibrium(chain.drive(t, x, velocity), float(chain.load.at(t)))
        return True

    def _save_equilibrium(self, drive: Floats, now: float) -> None:
        """Write all remaining samples of an equilibrium: friction balances the changing load."""
        chain, saved, motion = self.chain, self.saved, self._motion()
        sample = int(self.now.saved)
        saved.x[sample:], saved.v[sample:] = motion["x"], 0.0
        saved.mode[sample:], saved.heat[sample:] = 0, motion["heat"]
        change = np.asarray(chain.load.at(saved.time[sample:])) - now
        saved.friction[sample:] = -(drive + np.outer(change, chain.load_weights))
        saved.sums[sample:] = self._sums()
        self.now.saved = saved.time.size

    def _motion(self) -> dict[str, Floats]:
        """Return the (n,) arrays of `Motion`, without unused columns."""
        fields = self.work.motion._asdict()
        return {name: values[: self.chain.n_mass] for name, values in fields.items()}

    def _sums(self) -> Floats:
        """Return the present columns of the ledger, in the order of `Saved.sums`."""
        now = self.now
        return np.array([now.kinetic, now.stored, now.work, now.viscous, now.algorithmic])

    def _save_last_state(self) -> None:
        """Save the state at which an unfinished run ended, as its last sample."""
        saved, motion, n, t = self.saved, self._motion(), self.chain.n_mass, self.time
        sample = int(self.now.saved)
        if self.status.ok or sample >= saved.time.size or t <= saved.time[sample - 1]:
            return
        saved.time[sample], saved.x[sample] = t, motion["x"]
        saved.v[sample] = motion["slip_rate"] + self.chain.belt_speed
        saved.mode[sample] = self.work.modes.now[:n]
        saved.friction[sample], saved.heat[sample] = motion["friction"], motion["heat"]
        saved.sums[sample] = self._sums()
        if self.chain.law.states:
            saved.state[sample, :, :-1] = self.law.states
            saved.state[sample, :, -1] = self.work.masses.stick_bound[:n]
        self.now.saved = sample + 1

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint: the state of the kernels, and the saved samples."""
        n, work, modes, samples = self.chain.n_mass, self.work, (-1, 1), self.now.saved
        # times that do not exist yet are infinite; the bound of a contact with states may be NaN
        never, nan, within = ("rest_since", "save_at"), {"state": (-1,)}, {"mode": modes}
        return {
            "progress": StateArray(work.progress, inf=never, within=(0, MOST_WORK)),
            **{name: StateArray(values) for name, values in self._motion().items()},
            "slip": StateArray(work.system.solution[:n]),
            "mode": StateArray(work.modes.now[:n], within=modes),
            "contact_state": StateArray(self.law.states),
            **{
                f"saved_{k}": StateArray(
                    v, "rows", samples, nan=nan.get(k, False), within=within.get(k)
                )
                for k, v in self.saved._asdict().items()
            },
            "stop_time": StateArray(self.stopped, nan=True),
        }

    def _pack(self) -> dict[str, StateArray | npt.NDArray[Any]]:
        written = self._written()
        values = np.concatenate([block.values for block in written])
        event_changes = np.concatenate([block.changes for block in written])
        return {**self._state(), "event_values": values, "event_marks": event_changes}

    def _resume(self) -> bool:
        """Restore a checkpoint; return whether there was one."""
        arrays = self.request.checkpoint.load() if self.request.checkpoint is not None else None
        if arrays is None:
            return False
        n = self.chain.n_mass
        sizes = restore(
            self._state(),
            arrays,
            event_values=like(self.events.values, "events"),
            event_marks=like(self.events.changes, "events", within=(-1, n)),
        )
        now, samples = self.now, sizes["rows"]
        check_count("progress", int(now.saved), samples, samples)
        check_count("progress", int(now.events), sizes["events"], sizes["events"])
        check_count("progress", int(now.piece), 0, len(self.work.segments) - 1)
        check_count("progress", int(now.step), 0, self.problem.n_step)
        if np.isinf(now.save_at) and samples < self.saved.time.size:
            raise refused("progress", "no row to come", f"{self.saved.time.size - samples} more")
        check_count("event_marks", int(abs(arrays["event_marks"][:, 1:]).max(initial=0)), 0, 1)
        self._blocks = (_block(max(self.n_events + n, self.events.changes.shape[0]), 0),)
        self.events.values[: self.n_events] = arrays["event_values"]
        self.events.changes[: self.n_events] = arrays["event_marks"]
        return True

    # ---- report

    def history(self, checks: Sequence[Check]) -> ChainHistory:
        """Return the history of the run, with its audit lines."""
        now = self.now
        arrays = {name: v[: now.saved] for name, v in self.saved._asdict().items()}
        kinetic, stored, work, viscous, algorithmic = arrays["sums"].T
        steps, solves = int(now.step), int(now.solves)
        ledger = Ledger(
            time=arrays["time"],
            kinetic=kinetic,
            stored=stored,
            external_work=work,
            friction_heat=arrays["heat"],
            viscous_heat=viscous,
            algorithmic=algorithmic,
            step_imbalance_rel=float(now.worst),
        )
        return ChainHistory(
            time=arrays["time"],
            x=arrays["x"],
            v=arrays["v"],
            mode=arrays["mode"],
            friction=arrays["friction"],
            state=arrays["state"][:, :, :-1],
            given=self._given(),
            bound=arrays["state"][:, :, -1]
            if self.scheme.exact and self.chain.law.states
            else None,
            events=self._events(),
            stop_time=self._stop(),
            energy=ledger,
            stats={
                "steps": steps,
                "step": self.problem.h,
                "solves": solves,
                "newton_iterations": solves,
                "mean_iterations": solves / steps if steps else 0.0,
                "most_iterations": int(now.most_solves),
                "rescued_steps": int(now.rescues),
                "unconverged_steps": int(now.misses),
            },
            status=self.status,
            reason=self.reason,
            checks=checks,
        )

    def _given(self) -> tuple[float, float | None]:
        """Return the heat that friction returned in all steps [J], and the first time [s]."""
        heat = float(self.now.given)
        return heat, float(self.now.given_time) if heat > 0.0 else None

    def _events(self) -> RawEvents | LateEvents:
        """Return the mode changes; many of them are assembled when they are read."""
        from stiction.chains.theta.event_kernels import counted

        blocks, h, n = self._written(), self.problem.h, self.chain.n_mass
        late = counted(blocks, h, n)
        read = functools.partial(_joined, blocks, h, n)
        return read() if late is None else LateEvents(*late, read)

    def _stop(self) -> float | None:
        """Return the stop time, unless a mass slipped after it."""
        stopped = float(self.stopped[0])
        # the comparison is false for NaN, i.e. without a stop
        return stopped if self.now.slipping == 0 and self.now.rest_since <= stopped else None


def _joined(blocks: Sequence[Events], h: float, n: int) -> RawEvents:
    """Return the events of all blocks, with mode changes of one event merged."""
    from stiction.chains.theta.event_kernels import joined

    columns, mass, modes = joined(blocks, h, n)
    (time, x, v, left, right), (before, after) = columns, modes
    return RawEvents(time, mass, before, after, x, v, left, right)


def _block(room: int, first: int) -> Events:
    """Return a block for events from number `first` on; memory is committed when written."""
    from stiction.chains.theta.state import Events

    return Events(np.empty((room, 5)), np.empty((room, 3), np.int32), first)
