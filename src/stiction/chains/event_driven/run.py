"""Dynamic problem, event by event: exact modes, located events, finite-time stops.

Between events the chain is smooth and its Taylor series in time is summed to rounding
error (see `_events.series_kernels`); events are roots of the same series (`_events.step_kernels`).
Cost per step is O(order n); no matrix is formed.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.losses import response, state_checks, touch_losses
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.chains.policies import SlipAtTouch
from stiction.chains.replay.compare import MOST_MASSES as MOST_REPLAYED
from stiction.chains.replay.compare import spacing
from stiction.chains.replay.trajectory import TrailKeeper
from stiction.core.checkpoint import Log, StateArray, check_count, restore
from stiction.core.driver import Pause, run_to_end
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Request, Run
from stiction.errors import ModelError, Status
from stiction.laws.friction import without_memory
from stiction.numerics.checks import MOST_WORK
from stiction.numerics.event_localisation import DEPTH

if TYPE_CHECKING:
    from stiction.chains.event_driven.state import (
        Events,
        Problem,
        Progress,
        Saved,
        Scratch,
        State,
        Track,
    )
    from stiction.chains.methods import EventDriven
    from stiction.chains.replay.trajectory import Trail
    from stiction.laws.compiled import CompiledLaw
    from stiction.numerics.callback import Callback

__all__ = ["Solver", "refuse", "saved_states", "solve_event_driven"]

Floats = npt.NDArray[np.float64]

MOST_MASSES = 10_000
# a call of the kernel lasts a few tenths of a second, so that progress and Ctrl-C are heard
_MASS_STEPS_PER_CALL = 300_000
_TOUCH_ROWS = 64
_TRACK_ROWS, _TRACK_NUMBERS = 2048, 200_000
# a run that needs so many times `max_steps`, judged by its first steps, is ended
_HOPELESS, _STEPS_TO_JUDGE = 1e5, 10_000
# a user's load is looked at in steps of at most this share of the time span
_LONGEST_FIT = 0.005
_NAME_JUMPS = "name its jumps in UserLoad.breakpoints"


def solve_event_driven(chain: Chain, method: EventDriven, request: Request) -> Run:
    """Return the run of `chain`; what `EventDriven` asks a chain for.

    With constant friction there is no discretisation error: the series of each mode is
    summed until its last terms are rounding. Weakening friction is part of the same
    series. A user's mu(v) or load is fitted on each step to `rtol`.

    Raises
    ------
    ModelError : if the chain is too long, or the policy is one for flows.

    Source: formulas sheet of the chains paper, section 6.
    Verified by: tests/exact/test_chain_references.py::test_events_and_states
    """
    _refuse_policy(method)
    if not chain.law.sticks:
        from stiction.chains.regularised.run import solve_in_place

        return solve_in_place(chain, method, request)
    refuse(chain, method, request.t_start)
    return Solver(method, chain, request).run()


def _refuse_policy(method: EventDriven) -> None:
    if method.policy is not None and not isinstance(method.policy, SlipAtTouch):
        raise ModelError(
            "EventDriven.policy",
            repr(method.policy),
            "SlipAtTouch(...), or None for a Chain",
            "the future of a chain is unique but for touches under friction with a jump, where "
            "it sticks and says so; the other policies are for flows.",
            "leave policy out, or use SlipAtTouch() to take the other future.",
        )


def refuse(chain: Chain, method: EventDriven, t_start: float) -> None:
    """Raise ModelError for what these steps cannot follow, of a law that sticks."""
    _refuse_policy(method)
    without_memory(
        chain.law,
        "EventDriven",
        "its steps are series in time, and the states of a law have none here yet.",
        "use ThetaStepper(step=...), which carries the states of any law.",
    )
    if chain.n_mass > MOST_MASSES:
        raise ModelError(
            "EventDriven",
            f"{chain.n_mass} masses",
            f"at most {MOST_MASSES}",
            "the number of events grows with n and each costs O(n), so the work is O(n^2).",
            "use ThetaStepper(step=...), whose cost per step is O(n).",
        )
    check_load(chain.load, t_start)


class Solver:
    """One solve: buffers, the loop over kernel calls, and the report."""

    def __init__(self, method: EventDriven, chain: Chain, request: Request) -> None:
        from stiction.chains.event_driven import step_kernels as ek
        from stiction.laws.compiled import CompiledLaw
        from stiction.numerics.callback import Callback

        self.ek = ek
        self.method, self.chain, self.request = method, chain, request
        self.most_steps = method.steps_allowed(chain.n_mass)
        self.load_call = Callback(chain.load.pieces().function, "UserLoad.function")
        law = chain.law
        self.law = CompiledLaw(chain.friction, () if law.constant else ("mu", "share"))
        self.problem = _problem(method, chain, request, self.load_call, self.law)
        self.events = _events(chain.n_mass, _track(chain, method))
        self.scratch = _scratch(chain.n_mass, method.order)
        self.state = _start(chain, request)
        self.saved = saved_states(chain.n_mass, request.save)
        self.log = [Log(column[:0]) for column in self.events[:8]]
        self.trail = TrailKeeper(chain.n_mass)
        self.touches = Log(self.events.touch[:0])
        # since when nothing moves, for good [s]; NaN for never
        self.stopped = np.full(1, np.nan)
        # time and steps when it was last judged whether the run gets anywhere
        self.judged = np.array([self.now.time, 0.0])
        self.reason = ""

    def run(self) -> Run:
        """Return the run from where it stands."""
        if not self._resume():
            self.ek.first_modes(self.problem, self.state)
        status = self.advance()
        return build_run(self.chain, self.method, self.request, self._history(status))

    @property
    def now(self) -> Progress:
        """Where the run stands."""
        return self.state.progress[0]

    def advance(self) -> Status:
        """Go on to the end of what is requested, and return how that went."""
        return run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, Status]:
        ek, now, request = self.ek, self.now, self.request
        span = request.t_end - request.t_start
        steps = max(20, _MASS_STEPS_PER_CALL // self.chain.n_mass)
        fitted = self.problem.fitted or self.problem.load_address != 0
        advance = ek.advance_fitted if fitted else ek.advance
        # the first calls are short, to see whether the run gets anywhere
        short = max(20, steps // 20)
        while True:
            chunk = short if now.steps <= _STEPS_TO_JUDGE or fitted else steps
            code = advance(
                self.problem,
                self.state,
                self.saved,
                self.events,
                self.scratch,
                request.t_end,
                min(chunk, self.most_steps - int(now.steps)),
                self.method.max_events - self.n_events,
            )
            self.load_call.check()
            self.law.check()
            self._drain()
            t = float(now.time)
            if code == ek.DONE:
                return Status.SOLVED
            if code == ek.ALL_STUCK:
                now.rest_seen = 1
                if self.chain.rests_for_good(t, self.state.x[1:-1]):
                    self.stopped[0] = t
            if code == ek.NOT_FINITE:
                self.reason = f"the state is not finite after t = {t:.9g} s"
                return Status.NOT_FINITE
            if code in (ek.STALLED, ek.STEP_VANISHED) and not self._is_loaded_after(t):
                self.reason = f"the load is not finite after t = {t:.9g} s"
                return Status.NOT_FINITE
            if code == ek.STALLED:
                self.reason = f"time does not pass at t = {t:.9g} s: events follow each other"
                if self.load_call.address:
                    self.reason += f", or UserLoad.function jumps there; {_NAME_JUMPS}"
                return Status.WORK_LIMIT
            if code == ek.STEP_VANISHED:
                self.reason = self._too_rough(t)
                return Status.WORK_LIMIT
            if now.steps >= self.most_steps:
                self.reason = f"max_steps = {self.most_steps} were used up"
                return Status.WORK_LIMIT
            when, judged = self.judged
            if self._is_hopeless(t):
                self.reason = (
                    f"{now.steps - judged:.0f} steps led from {when:.9g} s to {t:.9g} "
                    "s, and this span would take far too many; look for masses, springs or a load "
                    "of another size than the rest"
                )
                if self.load_call.address:
                    self.reason += ", or a pole of UserLoad.function"
                return Status.WORK_LIMIT
            if now.steps - judged >= _STEPS_TO_JUDGE:
                self.judged[:] = t, now.steps
            if self.n_events >= self.method.max_events:
                self.reason = f"max_events = {self.method.max_events} were used up"
                return Status.WORK_LIMIT
            yield Pause((t - request.t_start) / span, f"{self.n_events} events", self._pack)

    @property
    def n_events(self) -> int:
        """Number of mode changes so far."""
        return len(self.log[0])

    def _too_rough(self, t: float) -> str:
        """Return which functions no step after `t` can follow."""
        law = [f"the friction of {type(self.chain.law).__name__}"] * self.problem.fitted
        load = ["UserLoad.function"] * (self.load_call.address != 0)
        reason = f"{' or '.join(law + load)} is too rough to follow at t = {t:.9g} s"
        return f"{reason}; {_NAME_JUMPS}" if load else reason

    def _is_loaded_after(self, t: float) -> bool:
        """Return whether a load is finite at the next moments, which a step comes near."""
        ahead = self.problem.longest_fit / self.problem.rate * 10.0 ** -np.arange(4.0, 12.0)
        looks = np.append(t + ahead, [t, np.nextafter(t, np.inf)])
        return bool(np.isfinite(self.chain.load.at(looks)).all())

    def _is_hopeless(self, t: float) -> bool:
        """Return whether the last steps would have to be repeated absurdly often."""
        span, (when, judged) = self.request.t_end - self.request.t_start, self.judged
        steps = float(self.now.steps - judged)
        many = steps * span > _HOPELESS * self.most_steps * (t - when)
        return steps >= _STEPS_TO_JUDGE and many

    def _drain(self) -> None:
        """Move full rows out of the kernel's buffers."""
        now, e = self.now, self.events
        rows = int(now.events)
        if rows:
            for log, column in zip(self.log, e[:8], strict=True):
                log.add(column[:rows])
            # whatever moved now did not rest for good
            self.stopped[0] = np.nan
            now.events = 0
        rows = int(e.track.filled[0])
        if rows:
            k = e.track
            self.trail.add(
                (k.time[:rows].copy(), k.x[:rows].copy(), k.v[:rows].copy(), k.mode[:rows].copy())
            )
            e.track.filled[0] = 0
        self.touches.add(e.touch[: now.touch_rows])
        now.touch_rows = 0

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        modes, rows = (-1, 1), self.now.saved
        within = dict.fromkeys(("mode", "shown", "side", "band"), modes)
        within |= {"lead": (0, self.method.order), "progress": (0, MOST_WORK)}
        # the mass, its mode before and after; where it had no friction there is none to tell
        columns = {1: (0, self.chain.n_mass), 2: modes, 3: modes}
        return {
            **{
                f"state_{k}": StateArray(v, within=within.get(k))
                for k, v in self.state._asdict().items()
            },
            **{
                f"saved_{k}": StateArray(v, "rows", rows, within=within.get(k))
                for k, v in self.saved._asdict().items()
            },
            **{
                f"log_{j}": StateArray(log, nan=j > 3, within=columns.get(j))
                for j, log in enumerate(self.log)
            },
            "touches": StateArray(self.touches, inf=("length",)),
            "stop_time": StateArray(self.stopped, nan=True),
            "judged": StateArray(self.judged),
        }

    def _pack(self) -> dict[str, StateArray | npt.NDArray[Any]]:
        return {**self._state(), **self.trail.pack()}

    def _resume(self) -> bool:
        kept = self.request.checkpoint.load() if self.request.checkpoint is not None else None
        if kept is None:
            return False
        sizes, now = restore(self._state(), kept, **self.trail.forms()), self.now
        for j in range(1, len(self.log)):
            check_count(f"log_{j}", sizes[f"log_{j}"], sizes["log_0"], sizes["log_0"])
        check_count("state_progress", int(now.saved), sizes["rows"], sizes["rows"])
        check_count("state_progress", int(now.piece), 0, max(self.problem.piece_time.size - 1, 0))
        blocks = kept["trail_blocks"][:, 1]
        check_count("trail_blocks", int(blocks.sum()), sizes["trail"], sizes["trail"])
        self.trail.unpack(kept)
        return True

    # ---- report

    def changes(self) -> tuple[npt.NDArray[Any], ...]:
        """Return time, mass, mode before and after of the events that were noted."""
        return self._columns()[:4]

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(log.rows for log in self.log)

    def _history(self, status: Status) -> ChainHistory:
        now = self.now
        if not status.ok:
            self._keep_last_state()
        rows = max(int(now.saved), 1)
        if status is Status.NOT_FINITE:
            # what was saved inside the step that blew up is no part of the run
            sound = np.isfinite(self.saved.x[:rows] + self.saved.v[:rows]).all(axis=1)
            rows = max(int(np.argmin(np.append(sound, False))), 1)
        kept = {name: value[:rows] for name, value in self.saved._asdict().items()}
        ledger = Ledger(
            time=kept["time"],
            kinetic=kept["kinetic"],
            stored=kept["stored"],
            external_work=kept["work"],
            friction_heat=kept["heat"],
            viscous_heat=kept["viscous"],
        )
        checks = state_checks(self.chain, kept)
        quantities = {}
        if self.load_call.address:
            quantities["longest_look"] = self._looking()
        return ChainHistory(
            time=kept["time"],
            x=kept["x"],
            v=kept["v"],
            mode=kept["mode"],
            friction=kept["friction"],
            events=RawEvents(*self._columns()),
            stop_time=None if np.isnan(self.stopped[0]) else float(self.stopped[0]),
            energy=ledger,
            stats={
                "steps": int(now.steps),
                "expansions": int(now.expansions),
                "order": self.method.order,
                "touches": int(now.touches),
            },
            status=status,
            reason=self.reason,
            checks=checks,
            losses=touch_losses(self.chain, self.touches.rows),
            quantities=quantities,
            given=self._given(),
            # what the load does behind the last moment is no part of a replay
            trail=None if status is Status.NOT_FINITE else self._trail(),
        )

    def _given(self) -> tuple[float, float | None]:
        """Return the heat that friction gave back in all steps [J], and from when on [s]."""
        given = float(self.now.given)
        return given, float(self.now.given_time) if given > 0.0 else None

    def _trail(self) -> Trail | None:
        if self.events.track.time.size == 0:
            return None
        return self.trail.trail(self.problem, (self.law, self.load_call))

    def _looking(self) -> Quantity:
        """Return the longest step on which a user's load is looked at, 11 times."""
        longest = _LONGEST_FIT * (self.request.t_end - self.request.t_start)
        if self.method.max_step is not None:
            longest = min(longest, self.method.max_step)
        meaning = "longest step on which a user's load is looked at, 11 times; what is shorter "
        meaning += "can be missed: name it in UserLoad.breakpoints or set max_step"
        return Quantity(longest, "s", meaning)

    def _keep_last_state(self) -> None:
        """Save the state at which a failed run stands, as its last row."""
        state = self.state
        t = float(self.now.time)
        row = int(self.now.saved)
        finite = np.isfinite(state.x).all() and np.isfinite(self.chain.load.at(t))
        if row < self.saved.time.size and finite:
            self.saved.time[row] = t
            self.saved.time[row + 1 :] = np.inf
            self.now.saved = row
            self.ek.save_now(self.problem, state, self.saved, t)


def _problem(
    method: EventDriven, chain: Chain, request: Request, load_call: Callback, law: CompiledLaw
) -> Problem:
    from stiction.chains.event_driven.state import Problem

    span, policy = request.t_end - request.t_start, method.policy
    table, pieces = chain.friction, chain.load.pieces()
    k, c, m = chain.link_stiffness, chain.link_damping, chain.masses
    stiff = np.sqrt(np.max(2.0 * (k[:-1] + k[1:] + 0.5 * chain.plate_springs) / m))
    damp = np.max(2.0 * (c[:-1] + c[1:]) / m)
    weak = 0.0
    if chain.law.convex:
        drop = (table.mu_static - table.mu_kinetic) * chain.normal_forces
        weak = float(np.max(drop / (m * table.v_scale)))
    rate = float(stiff + damp + weak) or 1.0
    return Problem(
        mass=_plain(m),
        link_k=_plain(k),
        link_c=_plain(c),
        share=_plain(chain.load_shares),
        plate_k=_plain(chain.plate_springs),
        plate_speed=chain.plate_speed,
        normal=_plain(chain.normal_forces),
        mu_static=_plain(table.mu_static),
        mu_kinetic=_plain(table.mu_kinetic),
        law_start=law.start,
        law_step=law.step,
        constant=chain.law.constant,
        jump=chain.law.has_jump,
        fitted=not chain.law.constant and law.share == 0,
        belt=chain.belt_speed,
        piece_time=_plain(pieces.time),
        piece_offset=_plain(pieces.offset),
        piece_rate=_plain(pieces.rate),
        sine_amplitude=_plain(pieces.amplitude),
        sine_frequency=_plain(pieces.angular_frequency),
        sine_phase=_plain(pieces.phase),
        load_address=load_call.address,
        mu_address=law.mu,
        share_address=law.share,
        rate=rate,
        order=method.order,
        tolerance=min(method.rtol, 1e-2) * 1e-5,
        fit_tolerance=max(method.rtol, 1e-11),
        longest_fit=_LONGEST_FIT * span * rate,
        longest=np.inf if method.max_step is None else float(method.max_step),
        start=request.t_start,
        response=_plain(response(chain)),
        slip_after=policy.after if isinstance(policy, SlipAtTouch) else np.inf,
        slip_before=policy.before if isinstance(policy, SlipAtTouch) else -np.inf,
    )


def _plain(values: Floats) -> Floats:
    """Return a fresh contiguous, writable copy: one type of array, so one compilation."""
    return np.array(values, dtype=np.float64, order="C")


def _start(chain: Chain, request: Request) -> State:
    from stiction.chains.event_driven import state as er

    n = chain.n_mass
    progress = er.Progress.table()
    now = progress[0]
    now.time, now.tau, now.gap = request.t_start, 0.25, 1.0
    x, v = np.zeros(n + 2), np.zeros(n + 2)
    x[1:-1], v[1:-1] = chain.x_start, chain.v_start
    return er.State(
        progress=progress,
        x=x,
        v=v,
        mode=np.zeros(n, np.int64),
        shown=np.zeros(n, np.int64),
        lead=np.zeros(n, np.int64),
        side=np.zeros(n, np.int64),
        band=np.zeros(n, np.int64),
        heat=np.zeros(n),
    )


def saved_states(n: int, save: Floats, many: tuple[int, ...] = ()) -> Saved:
    """Return room for the states at the save times; of many chains there is a row for each."""
    from stiction.chains.event_driven import state as er

    rows = (*many, save.size)
    return er.Saved(
        time=save.copy(),
        x=np.empty((*rows, n)),
        v=np.empty((*rows, n)),
        mode=np.empty((*rows, n), np.int8),
        friction=np.empty((*rows, n)),
        kinetic=np.empty(rows),
        stored=np.empty(rows),
        work=np.empty(rows),
        viscous=np.empty(rows),
        heat=np.empty((*rows, n)),
    )


def _events(n: int, track: Track) -> Events:
    from stiction.chains.event_driven import state as er

    rows = max(1024, 4 * n)
    return er.Events(
        time=np.empty(rows),
        mass=np.empty(rows, np.int64),
        before=np.empty(rows, np.int64),
        after=np.empty(rows, np.int64),
        x=np.empty(rows),
        v=np.empty(rows),
        left=np.empty(rows),
        right=np.empty(rows),
        touch=er.Touch.table(_TOUCH_ROWS + 4 * n),
        track=track,
    )


def _track(chain: Chain, method: EventDriven) -> Track:
    from stiction.chains.event_driven import state as er

    n = chain.n_mass
    wanted = method.replay
    rows = min(_TRACK_ROWS, max(64, _TRACK_NUMBERS // n))
    if not (n <= MOST_REPLAYED if wanted is None else wanted):
        rows = 0
    return er.Track(
        time=np.empty(rows),
        x=np.empty((rows, n)),
        v=np.empty((rows, n)),
        mode=np.empty((rows, n), np.int8),
        filled=np.zeros(1, np.int64),
        spacing=spacing(chain),
    )


def _scratch(n: int, order: int) -> Scratch:
    from stiction.chains.event_driven.state import Scratch

    return Scratch(
        x=np.zeros((order + 1, n + 2)),
        drive=np.zeros((order + 1, n)),
        mu=np.zeros((n, order + 1)),
        load=np.zeros(order + 1),
        work=np.zeros(2 * order + 1),
        viscous=np.zeros(2 * order + 1),
        heat=np.zeros((2 * order + 1, n)),
        fit=np.zeros(order + 1),
        poly=np.zeros(order + 1),
        bernstein=np.zeros((DEPTH + 1, order + 3)),
        norm=np.zeros(order + 1),
        active=np.zeros(n, np.int64),
        root=np.full(n, np.inf),
        touch=np.full(n, np.inf),
        length=np.full(n, np.inf),
        open=np.full(n, np.inf),
        corner=np.zeros(n, np.int64),
        started=np.zeros(n, np.int64),
        xs=np.zeros(n + 2),
        vs=np.zeros(n + 2),
    )
