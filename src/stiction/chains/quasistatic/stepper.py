"""Event-driven integrator of the quasistatic problem, common to all friction laws.

It solves C y' + K y + N mu(|y'|) Sgn(y') containing q(t), with damping C, stiffness K, normal
forces N, friction coefficients mu and the forces q of load, plate and belt; y = x - V t (n,) [m]
are the displacements relative to a belt of speed V (`slip_frame`). Between two events the set of
slipping masses and their directions are fixed. The motion is then a smooth segment, and the next
event is the first root of a slip rate or of a stick reserve mu_s N -+ (R - C y'), R = q - K y. At
an event the active set is decided again. Laws differ in the selection of the active set and in the
motion during slip: `SlipMotion` is the interface, `linear_slip` and `nonlinear_slip` implement it.
A segment on which all masses stick is the same for all laws.

A series (m, count) has one function per row, with coefficients by rising power of tau, the elapsed
fraction of the step: sum_k c_k tau^k, 0 <= tau <= 1. `quasistatic.run` calls `Stepper.run`.
"""

from __future__ import annotations

import abc
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory
from stiction.chains.polynomials import derivative, first_fall, powers, value
from stiction.chains.quasistatic.checkpoint import (
    numbers_of,
    pack_losses,
    pack_recorder,
    unpack_losses,
    unpack_recorder,
)
from stiction.chains.quasistatic.load_path import jumps_at
from stiction.chains.quasistatic.slip_frame import Frame, LoadSeries, Recorder, Span, Step
from stiction.core.audit import Check
from stiction.core.checkpoint import saved_array, unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.chains.methods import Quasistatic

__all__ = ["SlipMotion", "Stepper", "reserve"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Index = npt.NDArray[np.intp]

# longest segment, in radians of the fastest sine of the load: a series of 31 terms is exact on it
_RADIANS = 3.0
# chosen: fraction of the run in a first interval of a user's load
_WINDOW = 1.0 / 16.0
# relative rounding errors: of a sum of series terms, and of a root of a series
_OF_TERMS, _OF_ROOT = 1e-14, 1e-11
# a series that starts below this fraction of its terms starts at a root, the present event
_AT_ROOT = 1e-12
# chosen: a step below the first fraction of the span does not advance; an interval of a user's load
# is not halved below the second
_NO_ADVANCE, _SHORTEST_LOAD = 1e-13, 1e-9
# fractions of the remaining step at which a crossing must exceed rounding
_LATER = np.linspace(0.0, 1.0, 17)[1:] ** 2


class SlipMotion(abc.ABC):
    """Active set and motion of slipping masses, which depend on the friction law.

    Attributes
    ----------
    unsettled : name of the quantity that does not converge, for the message
    """

    unsettled: ClassVar[str] = "modes of the masses"

    def decision_times(self) -> Floats:
        """Return times [s], besides load breakpoints, at which the active set is decided."""
        return np.empty(0)

    @abc.abstractmethod
    def decide(self, s: Stepper, load: LoadSeries) -> Status | None:
        """Set the active set of `s`; return the status of the run if there is none."""

    def report_branches(self, s: Stepper, load: LoadSeries) -> None:  # noqa: B027
        """Report other admissible branches at the start of a segment."""

    @abc.abstractmethod
    def integrate_slip(self, s: Stepper, a: Index, load: LoadSeries) -> bool:
        """Integrate slip of the masses `a`; return whether the active set must be decided."""

    def reserves(self, force: Floats) -> Floats:
        """Return (m, count) further series whose roots end a segment of stick.

        force : (n, count) series of R - C y' [N]
        """
        return force[:0]

    def checks(self) -> list[Check]:
        """Return lines of the audit."""
        return []

    def pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return further arrays of a checkpoint."""
        return {}

    def unpack(self, saved: Mapping[str, npt.NDArray[Any]]) -> None:  # noqa: B027
        """Restore the arrays of `pack`."""


class Stepper:
    """Stepper of the quasistatic problem: segments between changes of the active set.

    Attributes
    ----------
    t, y : time [s] and (n,) slips [m]
    v, force : (n,) slip rates y' [m/s] and forces R - C y' [N] just before `t`
    mode : (n,) -1, 0, 1; 1 for masses without friction
    ended : (n,) 1 for masses whose mode ends at `t`
    jumped : whether the load may jump at `t`, so that rates and forces are unknown
    begun : start of the present modes [s]
    window : last length [s] on which the fit of a user's load met its tolerance
    due : whether the active set must be decided again at `t`
    """

    def __init__(
        self, method: Quasistatic, chain: Chain, request: Request, frame: Frame, slip: SlipMotion
    ) -> None:
        self.method, self.request, self.frame, self.slip = method, request, frame, slip
        self.recorder = Recorder(frame, request)
        self.t, self.y = request.t_start, chain.x_start - frame.belt * request.t_start
        self.v, self.force = np.zeros(frame.n), frame.drive(self.t, self.y, left=True)
        self.mode = np.where(frame.free, 1, 0).astype(np.int8)
        self.ended = np.zeros(frame.n, np.int8)
        self.begun, self.jumped, self.due = self.t, True, True
        self.span = request.t_end - request.t_start
        times = np.unique(
            np.concatenate([frame.segments.time, slip.decision_times(), [request.t_end]])
        )
        self.breaks = times[(times > self.t) & (times <= request.t_end)]
        self.window = np.inf if frame.segments.function is None else self.span * _WINDOW
        self.steps, self.idle, self.misfit = 0, 0, 0.0
        self.losses: list[Loss] = []
        self.last_stick: float | None = None
        self.reason = ""
        # modes, rates and forces before the last decision, until it is recorded
        self._before: tuple[Signs, Floats, Floats] | None = None

    def run(self) -> ChainHistory:
        """Return the history."""
        status = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        frame, t = self.frame, self.t
        if not status.ok:
            self.recorder.last(t, self.y, self.v, -self.force, self.mode)
        stop = None
        resting = not self.mode[~frame.free].any() and status.ok
        x = self.y + frame.belt * t
        # chosen: above the rounding of forces, so that a chain at its bound counts as stuck
        if resting and self._still() and frame.chain.sticks_for_good(t, x, slack=2e-11):
            stop = self.last_stick if self.last_stick is not None else self.request.t_start
        stats: dict[str, int | float] = {"steps": self.steps}
        if frame.segments.function is not None:
            stats["load_misfit"] = float(self.misfit)
        checks = self.slip.checks()
        return self.recorder.history(status, self.reason, stop, stats, self.losses, checks)

    def _still(self) -> bool:
        """Return whether masses without friction are at rest as well."""
        return not self.frame.free.any() or not self.recorder.v[self.recorder.filled - 1].any()

    # ---- the loop

    def _loop(self) -> Generator[Pause, None, Status]:
        """Integrate segment after segment; return how the run ended."""
        request, slip = self.request, self.slip
        self._resume()
        # one segment per round: decide the active set at its start if it may have changed, then
        # integrate up to the next event or the end of the load series
        while self.t < request.t_end:
            load, begin, a = self._load(), self.t, np.flatnonzero(self.mode)
            if self.due:
                self._before = self.mode, self.v, self.force
                status = slip.decide(self, load)
                if status is not None:
                    return status
                self.begun, a = self.t, np.flatnonzero(self.mode)
            slip.report_branches(self, load)
            if a.size:
                self.due = slip.integrate_slip(self, a, load)
            else:
                still = np.zeros((self.frame.n, load.terms.size))
                self.due = self.step(load, still)
            self.idle = self.idle + 1 if self.t - begin < _NO_ADVANCE * self.span else 0
            status = self._work_left()
            if status is not None:
                return status
            done = (self.t - request.t_start) / self.span
            yield Pause(done, f"{len(self.recorder.log.time)} events", self._pack)
        return Status.SOLVED

    def _load(self) -> LoadSeries:
        """Return the load from now on, on an interval on which one series is accurate."""
        h = min(self.limit(self.t) - self.t, 2.0 * self.window)
        if self.frame.fastest:
            h = min(h, _RADIANS / self.frame.fastest)
        load = self.frame.load_series(self.t, h)
        if self.frame.segments.function is None:
            return load
        size = float(np.max(np.abs(load.terms)))
        while load.misfit > self.method.rtol * size and load.h > _SHORTEST_LOAD * self.span:
            load = self.frame.load_series(self.t, 0.5 * load.h)
        self.window, self.misfit = load.h, max(self.misfit, load.misfit)
        return load

    def limit(self, t: float) -> float:
        """Return the first time [s] after `t` at which a segment must end."""
        at = int(np.searchsorted(self.breaks, t, side="right"))
        return float(self.breaks[min(at, self.breaks.size - 1)])

    def _work_left(self) -> Status | None:
        """Return the status of a run that must end: not finite, not converging, or a work limit."""
        method, t = self.method, self.t
        if not np.isfinite(self.y).all():
            self.reason = f"the state is not finite after t = {t:.9g} s"
            return Status.NOT_FINITE
        # chosen: every mass may change its mode a few times at one instant
        if self.idle > 4 * self.frame.n + 20:
            self.reason = f"the {self.slip.unsettled} do not converge at t = {t:.9g} s"
            return Status.UNCONVERGED
        if self.steps >= method.max_steps or len(self.recorder.log.time) > method.max_events:
            name = "max_steps" if self.steps >= method.max_steps else "max_events"
            self.reason = f"{name} = {getattr(method, name)} were used up"
            return Status.WORK_LIMIT
        return None

    # ---- checkpoint

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a checkpoint; `_resume` reads them in the same order."""
        last = np.nan if self.last_stick is None else self.last_stick
        flags = (self.jumped, self.due, self.steps, self.idle)
        numbers = (self.t, self.begun, self.window, self.misfit, last, *flags)
        return {
            **pack_recorder(self.recorder),
            **self.slip.pack(),
            "losses": pack_losses(self.losses),
            "modes": np.array([self.mode, self.ended]),
            "state": np.array([self.y, self.v, self.force]),
            "numbers": np.array(numbers),
        }

    def _resume(self) -> None:
        """Restore a checkpoint."""
        saved = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if saved is None:
            return
        unpack_recorder(self.recorder, saved)
        self.losses, n = unpack_losses(saved), self.frame.n
        self.mode, self.ended = saved_array(saved, "modes", (2, n), "i", within=(-1, 1))
        self.y, self.v, self.force = saved_array(saved, "state", (3, n))
        numbers = numbers_of(saved, 9)
        self.t, self.begun, self.window, self.misfit, last, jumped, due, steps, idle = numbers
        self.last_stick = None if np.isnan(last) else last
        with unpacking():
            self.jumped, self.due = bool(jumped), bool(due)
            self.steps, self.idle = int(steps), int(idle)
        self.slip.unpack(saved)

    # ---- segments

    def record(self, segment: Span) -> None:
        """Record the mode changes at the start of a segment, and the segment."""
        if self._before is not None:
            self._record_changes(*self._before, segment)
            self._before = None
        if self.recorder.filled == 0:
            self.recorder.first(segment, self.mode)
        self.recorder.add_segment(segment, self.mode)
        self.steps += 1

    def _record_changes(self, mode: Signs, v: Floats, force: Floats, segment: Span) -> None:
        """Record changes from `mode` to the present modes; v, force are those just before."""
        frame, t = self.frame, self.t
        if np.array_equal(mode, self.mode):
            return
        _, _, _, _, friction = segment.state(np.array([segment.u[0]]))
        state = self.y + frame.belt * t, v + frame.belt
        self.recorder.changes(t, (mode, self.mode), state, (-force, friction[:, 0]))
        if not self.mode[~frame.free].any():
            self.last_stick = t

    def step(self, load: LoadSeries, slip: Floats) -> bool:
        """Advance by series to the next event; return whether the active set must be decided.

        Parameters
        ----------
        load : power series of the load on this segment
        slip : (n, count) series of the slip of each mass from here [m]
        """
        frame, h = self.frame, load.h
        y = slip.copy()
        y[:, 0] += self.y
        q = frame.push_series(load)
        force = q - frame.stiff(y) - frame.damp(derivative(y) / h)
        # a series with fewer terms needs fewer quadrature nodes
        used = np.flatnonzero(((force != 0.0) | (y != 0.0)).any(axis=0))
        count = 1 + int(np.max(used, initial=1))
        step = Step(load.t, h, y[:, :count], force[:, :count], (0.0, 1.0), count)
        turn, self.ended = self._event(step)
        at_breakpoint = turn >= 1.0 and self.end_of(load) == self.limit(load.t)
        step.u = (0.0, min(turn, 1.0))
        self.record(step)
        _, _, places, rates, friction = step.state(np.array([step.u[1]]))
        self.t = step.t + h * turn if turn <= 1.0 else self.end_of(load)
        self.y, self.force = places[:, 0], -friction[:, 0]
        self.v = np.where(self.ended * self.mode != 0, 0.0, rates[:, 0])
        size = float(np.max(np.abs(force)) + np.max(frame.bound))
        self.jumped = at_breakpoint and jumps_at(frame.segments, self.t, size)
        return turn <= 1.0 or at_breakpoint

    def end_of(self, load: LoadSeries) -> float:
        """Return the end [s] of the interval of a load; `limit` if the two agree to rounding."""
        limit, end = self.limit(load.t), load.t + load.h
        return limit if abs(end - limit) <= _OF_TERMS * max(abs(limit), self.span) else end

    def _event(self, step: Step) -> tuple[float, Signs]:
        """Return the fraction of the step at its first event, and (n,) 1 for modes that end there.

        Without an event the fraction is infinite.
        """
        frame = self.frame
        # event functions: slip rates in the direction of slip, reserves bound -+ force of stuck
        # masses, and those of the friction law
        rate = derivative(step.y) / step.h
        slip = np.flatnonzero((self.mode != 0) & ~frame.free)
        stuck = np.flatnonzero(self.mode == 0)
        more = self.slip.reserves(step.force) if slip.size == 0 else step.force[:0]
        rows = np.concatenate(
            [
                self.mode[slip, None] * rate[slip],
                reserve(frame.bound[stuck], -step.force[stuck]),
                reserve(frame.bound[stuck], step.force[stuck]),
                more,
            ]
        )
        # mass of each function; those of the law belong to none, index n
        who = np.concatenate([slip, stuck, stuck, np.full(len(more), frame.n)])
        # sum of |c_k|, k >= 1, and rounding of each function, from the sizes of forces and slips
        variation = np.abs(rows[:, 1:]).sum(axis=1)
        forces = float(np.max(np.abs(step.force).sum(axis=1)) + np.max(frame.bound))
        places = float(np.max(np.abs(step.y).sum(axis=1))) + forces / frame.stiffest
        slides = np.arange(who.size) < slip.size
        floor = np.where(slides, _OF_TERMS * places / step.h, _OF_TERMS * forces)
        # an event function that varies by rounding only has no events
        lively = np.where(slides, variation + np.abs(rows[:, 0]), variation) > floor
        rows, who, floor = rows[lively], who[lively], floor[lively]
        turn, first, rows, who = _first_real_fall(rows, who, floor)
        ended = np.zeros(frame.n + 1, np.int8)
        ended[who[first]] = 1
        if turn <= 1.0:
            near = np.abs(value(rows, turn)) <= _OF_ROOT * np.abs(rows).sum(axis=1)
            ended[who[near]] = 1
        return turn, ended[:-1]


def reserve(bound: Floats, force: Floats) -> Floats:
    """Return the (m, count) series of bound + force, for bounds (m,) and a series of forces [N]."""
    out = force.copy()
    out[:, 0] += bound
    return out


def _first_real_fall(
    rows: Floats, who: Index, floor: Floats
) -> tuple[float, list[int], Floats, Index]:
    """Return the first downward crossing of zero by more than rounding.

    Parameters
    ----------
    rows, who, floor : (m, count) event functions, (m,) masses to which they belong, and (m,) their
        rounding

    Returns
    -------
    fraction of the step, indices of the rows that cross there, and `rows` and `who` without the
    functions that crossed earlier by rounding only
    """
    while True:
        turn, first = first_fall(_without_leading_zeros(rows, floor))
        if turn > 1.0:
            return turn, first, rows, who
        later = rows[first] @ powers(turn + (1.0 - turn) * _LATER, rows.shape[1])
        real = later.min(axis=1) < -floor[first]
        if real.any():
            return turn, np.array(first)[real].tolist(), rows, who
        remaining = np.ones(who.size, bool)
        remaining[first] = False
        rows, who, floor = rows[remaining], who[remaining], floor[remaining]


def _without_leading_zeros(rows: Floats, floor: Floats) -> Floats:
    """Divide by tau the series that start at zero, because that root is the present event."""
    rows = rows.copy()
    for _ in range(3):
        size = np.abs(rows).sum(axis=1)
        zero = np.abs(rows[:, 0]) <= np.maximum(_AT_ROOT * size, floor)
        zero &= size > 0.0
        if not zero.any():
            break
        rows[zero, :-1] = rows[zero, 1:]
        rows[zero, -1] = 0.0
    return rows
