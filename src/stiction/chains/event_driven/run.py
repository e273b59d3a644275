"""Event-driven integration of the dynamic problem (Problem 1) with set-valued friction.

Between events each mass sticks (v_i = V) or slips in one direction, m_i v_i' = R_i - mode_i mu N_i
with the forces R_i of links, plate and load, so the motion is smooth. Its Taylor series in time is
summed to rounding error (`series_kernels`). Onsets of slip, stops and reversals are roots of the
same series (`event_kernels`); at each of them the modes are decided from the forces
(`threshold_kernels`). A step costs O(order n); no matrix is formed. `EventDriven.solve` calls
`solve_event_driven`; derivatives, blocks of chains and co-simulation use `EventDrivenIntegrator`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.losses import grazing_losses, response, state_checks
from stiction.chains.loads import check_load
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory, RawEvents, build_run
from stiction.chains.policies import SlipAtGrazing
from stiction.chains.replay.compare import MOST_MASSES as MOST_REPLAYED
from stiction.chains.replay.compare import spacing
from stiction.chains.replay.trajectory import TrajectoryRecorder
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
    from stiction.chains.replay.trajectory import Trajectory
    from stiction.laws.compiled import CompiledLaw
    from stiction.numerics.callback import Callback

__all__ = ["EventDrivenIntegrator", "refuse", "saved_states", "solve_event_driven"]

Floats = npt.NDArray[np.float64]

MOST_MASSES = 10_000
# a call of the kernel lasts a few tenths of a second, so that progress and Ctrl-C come through
_MASS_STEPS_PER_CALL = 300_000
# room for grazings; most states and numbers of states in the buffer of the replay. Chosen
_GRAZING_SAMPLES = 64
_TRACK_SAMPLES, _TRACK_NUMBERS = 2048, 200_000
# a run ends if it would need _TOO_MANY times `max_steps`; the estimate is made once in
# _STEPS_PER_CHECK steps
_TOO_MANY, _STEPS_PER_CHECK = 1e5, 10_000
# a user's load is sampled on steps of at most this fraction of the time span, so that the samples
# see a pulse that lasts longer. Chosen
_LONGEST_FIT = 0.005
_NAME_JUMPS = "name its jumps in UserLoad.breakpoints"


def solve_event_driven(chain: Chain, method: EventDriven, request: Request) -> Run:
    """Return the run of `chain` by event-driven integration.

    With constant friction and the default order there is no discretisation error: the series is
    summed until its last terms are rounding. Weakening friction enters the same series. A user's
    mu(v) or load is fitted on each step to the larger of `rtol` and 1e-11.

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
    return EventDrivenIntegrator(method, chain, request).run()


def _refuse_policy(method: EventDriven) -> None:
    """Raise ModelError for a policy of another system."""
    if method.policy is not None and not isinstance(method.policy, SlipAtGrazing):
        raise ModelError(
            "EventDriven.policy",
            repr(method.policy),
            "SlipAtGrazing(...), or None for a Chain",
            "the motion of a chain is unique except at grazing events under friction with a "
            "jump; there the mass sticks, and the run reports a loss of determinism. Other "
            "policies are for flows.",
            "leave policy out, or use SlipAtGrazing() to take the other solution.",
        )


def refuse(chain: Chain, method: EventDriven, t_start: float) -> None:
    """Raise ModelError if Taylor series cannot represent this chain, its law or its load.

    The law must have a stick mode; laws without stick are solved by `Radau`.
    """
    _refuse_policy(method)
    without_memory(
        chain.law,
        "EventDriven",
        "EventDriven steps by Taylor series in time, which are not implemented for laws with "
        "states.",
        "use ThetaStepper(step=...), which accepts laws with states.",
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


class EventDrivenIntegrator:
    """Integrator of one run: buffers, the loop over kernel calls, checkpoints, the history."""

    def __init__(self, method: EventDriven, chain: Chain, request: Request) -> None:
        from stiction.chains.event_driven import step_kernels as ek
        from stiction.laws.compiled import CompiledLaw
        from stiction.numerics.callback import Callback

        self.ek = ek
        self.method, self.chain, self.request = method, chain, request
        self.most_steps = method.steps_allowed(chain.n_mass)
        self.load_call = Callback(chain.load.segments().function, "UserLoad.function")
        law = chain.law
        self.law = CompiledLaw(chain.friction, () if law.constant else ("mu", "share"))
        self.problem = _problem(method, chain, request, self.load_call, self.law)
        self.events = _events(chain.n_mass, _track(chain, method))
        self.scratch = _scratch(chain.n_mass, method.order)
        self.state = _start(chain, request)
        self.saved = saved_states(chain.n_mass, request.save)
        self.log = [Log(column[:0]) for column in self.events[:8]]
        self.trajectory = TrajectoryRecorder(chain.n_mass)
        self.grazings = Log(self.events.grazing[:0])
        # time from which all masses stick for good [s]; NaN if they do not
        self.stopped = np.full(1, np.nan)
        # time and number of steps at the last check that the run progresses
        self.checked = np.array([self.now.time, 0.0])
        self.reason = ""

    def run(self) -> Run:
        """Integrate to the end and return the run."""
        if not self._resume():
            self.ek.first_modes(self.problem, self.state)
        status = self.advance()
        return build_run(self.chain, self.method, self._history(status))

    @property
    def now(self) -> Progress:
        """Time, counters and sums of the current state."""
        return self.state.progress[0]

    def advance(self) -> Status:
        """Integrate to the requested end and return the status."""
        return run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, Status]:
        """Call the kernel for some steps at a time; yield in between, and return how the run ended.

        A call ends at its number of steps, at a full buffer of events, or at one of the codes.
        """
        ek, now, request = self.ek, self.now, self.request
        span = request.t_end - request.t_start
        steps = max(20, _MASS_STEPS_PER_CALL // self.chain.n_mass)
        fitted = self.problem.fitted or self.problem.load_address != 0
        advance = ek.advance_fitted if fitted else ek.advance
        # the first calls are short, so that a run without progress ends early
        short = max(20, steps // 20)
        while True:
            chunk = short if now.steps <= _STEPS_PER_CHECK or fitted else steps
            code = advance(
                self.problem,
                self.state,
                self.saved,
                self.events,
                self.scratch,
                request.t_end,
                # at the end of the run one more call, which makes no step
                max(1, min(chunk, self.most_steps - int(now.steps))),
                self.method.max_events - self.n_events,
            )
            self.load_call.check()
            self.law.check()
            self._drain()
            t = float(now.time)
            if code == ek.DONE:
                return Status.SOLVED
            # an equilibrium is reported once; the run continues, because the load may release it
            if code == ek.ALL_STUCK:
                now.rest_seen = 1
                if self.chain.sticks_for_good(t, self.state.x[1:-1]):
                    self.stopped[0] = t
            if code == ek.NOT_FINITE:
                self.reason = f"the state is not finite after t = {t:.9g} s"
                return Status.NOT_FINITE
            # steps without progress: a load that is not finite, infinitely many events at one
            # time, or a user's function that no polynomial fits
            if code in (ek.STALLED, ek.STEP_VANISHED) and not self._is_loaded_after(t):
                self.reason = f"the load is not finite after t = {t:.9g} s"
                return Status.NOT_FINITE
            if code == ek.STALLED:
                self.reason = f"time does not advance at t = {t:.9g} s: infinitely many events"
                if self.load_call.address:
                    self.reason += f", or UserLoad.function jumps there; {_NAME_JUMPS}"
                return Status.WORK_LIMIT
            if code == ek.STEP_VANISHED:
                self.reason = self._too_rough(t)
                return Status.WORK_LIMIT
            if now.steps >= self.most_steps and t < request.t_end:
                self.reason = f"max_steps = {self.most_steps} were used up"
                return Status.WORK_LIMIT
            when, checked = self.checked
            if self._progress_is_too_slow(t):
                self.reason = (
                    f"{now.steps - checked:.0f} steps advanced from {when:.9g} s to {t:.9g} "
                    "s, and the whole span would need far too many steps; look for a mass, a "
                    "spring or a load of very different magnitude"
                )
                if self.load_call.address:
                    self.reason += ", or a pole of UserLoad.function"
                return Status.WORK_LIMIT
            if now.steps - checked >= _STEPS_PER_CHECK:
                self.checked[:] = t, now.steps
            if self.n_events >= self.method.max_events and t < request.t_end:
                self.reason = f"max_events = {self.method.max_events} were used up"
                return Status.WORK_LIMIT
            yield Pause((t - request.t_start) / span, f"{self.n_events} events", self._pack)

    @property
    def n_events(self) -> int:
        """Number of mode changes so far."""
        return len(self.log[0])

    def _too_rough(self, t: float) -> str:
        """Return the reason of a vanishing step: functions that no polynomial fits after `t`."""
        law = [f"the friction of {type(self.chain.law).__name__}"] * self.problem.fitted
        load = ["UserLoad.function"] * (self.load_call.address != 0)
        reason = f"{' or '.join(law + load)} is not smooth at t = {t:.9g} s"
        return f"{reason}; {_NAME_JUMPS}" if load else reason

    def _is_loaded_after(self, t: float) -> bool:
        """Return whether the load is finite at times just after `t`."""
        intervals = self.problem.longest_fit / self.problem.rate * 10.0 ** -np.arange(4.0, 12.0)
        times = np.append(t + intervals, [t, np.nextafter(t, np.inf)])
        return bool(np.isfinite(self.chain.load.at(times)).all())

    def _progress_is_too_slow(self, t: float) -> bool:
        """Return whether the run would need far more steps than allowed at its recent rate."""
        span, (when, checked) = self.request.t_end - self.request.t_start, self.checked
        steps = float(self.now.steps - checked)
        many = steps * span > _TOO_MANY * self.most_steps * (t - when)
        return steps >= _STEPS_PER_CHECK and many

    def _drain(self) -> None:
        """Move events, grazings and states of the trajectory from the kernel's buffers to logs."""
        now, e = self.now, self.events
        count = int(now.events)
        if count:
            for log, column in zip(self.log, e[:8], strict=True):
                log.add(column[:count])
            # a later event disproves that all masses stuck for good
            self.stopped[0] = np.nan
            now.events = 0
        samples = int(e.track.filled[0])
        if samples:
            k = e.track
            self.trajectory.add(
                (
                    k.time[:samples].copy(),
                    k.x[:samples].copy(),
                    k.v[:samples].copy(),
                    k.mode[:samples].copy(),
                )
            )
            e.track.filled[0] = 0
        self.grazings.add(e.grazing[: now.touch_rows])
        now.touch_rows = 0

    # ---- checkpoint

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint by their keys, with the ranges of their values."""
        from stiction.chains.event_driven.threshold_kernels import AT_REST

        modes, samples = (-1, 1), self.now.saved
        within = dict.fromkeys(("mode", "shown", "side"), modes)
        within |= {"band": (0, 2), "lead": (0, AT_REST), "progress": (0, MOST_WORK)}
        # ranges of the mass and of its modes before and after; friction may be NaN
        columns = {1: (0, self.chain.n_mass), 2: modes, 3: modes}
        return {
            **{
                f"state_{k}": StateArray(v, within=within.get(k))
                for k, v in self.state._asdict().items()
            },
            **{
                f"saved_{k}": StateArray(v, "rows", samples, within=within.get(k))
                for k, v in self.saved._asdict().items()
            },
            **{
                f"log_{j}": StateArray(log, nan=j > 3, within=columns.get(j))
                for j, log in enumerate(self.log)
            },
            "touches": StateArray(self.grazings, inf=("length",)),
            "stop_time": StateArray(self.stopped, nan=True),
            "judged": StateArray(self.checked),
        }

    def _pack(self) -> dict[str, StateArray | npt.NDArray[Any]]:
        return {**self._state(), **self.trajectory.pack()}

    def _resume(self) -> bool:
        """Restore a checkpoint; return whether there was one."""
        checkpoint = self.request.checkpoint
        arrays = None if checkpoint is None else checkpoint.load()
        if arrays is None:
            return False
        sizes, now = restore(self._state(), arrays, **self.trajectory.forms()), self.now
        for j in range(1, len(self.log)):
            check_count(f"log_{j}", sizes[f"log_{j}"], sizes["log_0"], sizes["log_0"])
        # the series of a slipping mass has `order` coefficients, of which `lead` are zero
        lead = int(self.state.lead.max(initial=0, where=self.state.mode != 0))
        check_count("state_lead", lead, 0, self.method.order)
        check_count("state_progress", int(now.saved), sizes["rows"], sizes["rows"])
        check_count("state_progress", int(now.piece), 0, max(self.problem.segment_time.size - 1, 0))
        blocks = arrays["trail_blocks"][:, 1]
        check_count("trail_blocks", int(blocks.sum()), sizes["trail"], sizes["trail"])
        self.trajectory.unpack(arrays)
        return True

    # ---- report

    def changes(self) -> tuple[npt.NDArray[Any], ...]:
        """Return time, mass, mode before and mode after of the recorded events."""
        return self._columns()[:4]

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the columns of recorded events, in the order of `outcome.RawEvents`."""
        return tuple(log.rows for log in self.log)

    def _history(self, status: Status) -> ChainHistory:
        """Return samples, events, energies and audit lines of the run."""
        now = self.now
        if not status.ok:
            self._save_last_state()
        samples = max(int(now.saved), 1)
        if status is Status.NOT_FINITE:
            # samples inside the step that overflowed are not part of the run
            finite = np.isfinite(self.saved.x[:samples] + self.saved.v[:samples]).all(axis=1)
            samples = max(int(np.argmin(np.append(finite, False))), 1)
        saved = {name: value[:samples] for name, value in self.saved._asdict().items()}
        ledger = Ledger(
            time=saved["time"],
            kinetic=saved["kinetic"],
            stored=saved["stored"],
            external_work=saved["work"],
            friction_heat=saved["heat"],
            viscous_heat=saved["viscous"],
        )
        checks = state_checks(self.chain, saved)
        quantities = {}
        if self.load_call.address:
            quantities["longest_sampling_step"] = self._longest_sampling()
        return ChainHistory(
            time=saved["time"],
            x=saved["x"],
            v=saved["v"],
            mode=saved["mode"],
            friction=saved["friction"],
            events=RawEvents(*self._columns()),
            stop_time=None if np.isnan(self.stopped[0]) else float(self.stopped[0]),
            energy=ledger,
            stats={
                "steps": int(now.steps),
                "expansions": int(now.expansions),
                "order": self.method.order,
                "grazings": int(now.touches),
            },
            status=status,
            reason=self.reason,
            checks=checks,
            losses=grazing_losses(self.chain, self.grazings.rows),
            quantities=quantities,
            given=self._given(),
            # the replay cannot evaluate the load after the last finite time
            trajectory=None if status is Status.NOT_FINITE else self._trajectory(),
        )

    def _given(self) -> tuple[float, float | None]:
        """Return the heat that friction returned in all steps [J], and the first time [s]."""
        given = float(self.now.given)
        return given, float(self.now.given_time) if given > 0.0 else None

    def _trajectory(self) -> Trajectory | None:
        if self.events.track.time.size == 0:
            return None
        return self.trajectory.trajectory(self.problem, (self.law, self.load_call))

    def _longest_sampling(self) -> Quantity:
        """Return the longest step; a user's load is sampled at 11 times of a step."""
        longest = _LONGEST_FIT * (self.request.t_end - self.request.t_start)
        if self.method.max_step is not None:
            longest = min(longest, self.method.max_step)
        meaning = "longest step; a user's load is sampled 11 times in a step, and shorter features "
        meaning += "can be missed: name them in UserLoad.breakpoints or set max_step"
        return Quantity(longest, "s", meaning)

    def _save_last_state(self) -> None:
        """Save the state at which a failed run ended, as its last sample."""
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
    """Return the arguments of the kernels: arrays of the chain, scaled time, tolerances."""
    from stiction.chains.event_driven.state import Problem

    span, policy = request.t_end - request.t_start, method.policy
    table, segments = chain.friction, chain.load.segments()
    k, c, m = chain.link_stiffness, chain.link_damping, chain.masses
    # tau = rate (t - t0) is of order 1 for the fastest motion. By Gershgorin's theorem the squared
    # frequencies are at most 2 (k_i + k_i+1 + k^p_i / 2) / m_i and the damping rates at most
    # 2 (c_i + c_i+1) / m_i; weakening friction amplifies at most at the rate (mu_s - mu_k) N / (m
    # v_s), which is exact for an exponential
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
        load_vector=_plain(chain.load_weights),
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
        segment_time=_plain(segments.time),
        segment_offset=_plain(segments.offset),
        segment_rate=_plain(segments.rate),
        sine_amplitude=_plain(segments.amplitude),
        sine_frequency=_plain(segments.angular_frequency),
        sine_phase=_plain(segments.phase),
        load_address=load_call.address,
        mu_address=law.mu,
        share_address=law.share,
        rate=rate,
        order=method.order,
        # the last terms of a series are this small relative to its first ones: at the default rtol
        # of 1e-12 a tenth of the rounding error, so that the sum has no truncation error
        tolerance=min(method.rtol, 1e-2) * 1e-5,
        fit_tolerance=max(method.rtol, 1e-11),
        longest_fit=_LONGEST_FIT * span * rate,
        longest=np.inf if method.max_step is None else float(method.max_step),
        start=request.t_start,
        response=_plain(response(chain)),
        slip_after=policy.after if isinstance(policy, SlipAtGrazing) else np.inf,
        slip_before=policy.before if isinstance(policy, SlipAtGrazing) else -np.inf,
    )


def _plain(values: Floats) -> Floats:
    """Return a contiguous, writable copy: one array type, hence one compilation."""
    return np.array(values, dtype=np.float64, order="C")


def _start(chain: Chain, request: Request) -> State:
    """Return the initial state, in which all modes are stick; `first_modes` decides them."""
    from stiction.chains.event_driven import state as er

    n = chain.n_mass
    progress = er.Progress.table()
    now = progress[0]
    # lengths in tau of the first fit and of the last step: guesses, which the first step replaces
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
    """Return arrays for the states at the save times; many chains get a leading axis."""
    from stiction.chains.event_driven import state as er

    samples = (*many, save.size)
    return er.Saved(
        time=save.copy(),
        x=np.empty((*samples, n)),
        v=np.empty((*samples, n)),
        mode=np.empty((*samples, n), np.int8),
        friction=np.empty((*samples, n)),
        kinetic=np.empty(samples),
        stored=np.empty(samples),
        work=np.empty(samples),
        viscous=np.empty(samples),
        heat=np.empty((*samples, n)),
    )


def _events(n: int, track: Track) -> Events:
    """Return empty buffers for mode changes and grazings of n masses."""
    from stiction.chains.event_driven import state as er

    count = max(1024, 4 * n)
    return er.Events(
        time=np.empty(count),
        mass=np.empty(count, np.int64),
        before=np.empty(count, np.int64),
        after=np.empty(count, np.int64),
        x=np.empty(count),
        v=np.empty(count),
        left=np.empty(count),
        right=np.empty(count),
        grazing=er.Grazing.table(_GRAZING_SAMPLES + 4 * n),
        track=track,
    )


def _track(chain: Chain, method: EventDriven) -> Track:
    """Return the buffer of states for the replay; empty if the run is not verified by one."""
    from stiction.chains.event_driven import state as er

    n = chain.n_mass
    wanted = method.replay
    samples = min(_TRACK_SAMPLES, max(64, _TRACK_NUMBERS // n))
    if not (n <= MOST_REPLAYED if wanted is None else wanted):
        samples = 0
    return er.Track(
        time=np.empty(samples),
        x=np.empty((samples, n)),
        v=np.empty((samples, n)),
        mode=np.empty((samples, n), np.int8),
        filled=np.zeros(1, np.int64),
        spacing=spacing(chain),
    )


def _scratch(n: int, order: int) -> Scratch:
    """Return the work arrays of a step, for n masses and series of this order."""
    from stiction.chains.event_driven.state import Scratch

    return Scratch(
        x=np.zeros((order + 1, n + 2)),
        drive=np.zeros((order + 1, n)),
        mu=np.zeros((n, order + 1)),
        load=np.zeros(order + 1),
        work=np.zeros(2 * order),
        viscous=np.zeros(2 * order),
        heat=np.zeros((2 * order, n)),
        fit=np.zeros(order + 1),
        poly=np.zeros(order + 1),
        bernstein=np.zeros((DEPTH + 1, order + 3)),
        norm=np.zeros(order + 1),
        active=np.zeros(n, np.int64),
        root=np.full(n, np.inf),
        grazing=np.full(n, np.inf),
        length=np.full(n, np.inf),
        undecided_from=np.full(n, np.inf),
        decision=np.zeros(n, np.int64),
        started=np.zeros(n, np.int64),
        xs=np.zeros(n + 2),
        vs=np.zeros(n + 2),
    )
