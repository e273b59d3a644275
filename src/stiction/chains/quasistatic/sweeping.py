"""Quasistatic chain under constant friction: mode by mode, each solved exactly.

While nobody changes mode the masses A that slip obey a linear equation,

    C_AA y_A' + K_AA y_A = q_A(t) - sigma_A mu N_A - K_AS y_S ,

which the generalised eigenvectors of (C_AA, K_AA) turn into scalar ones,
tau eta' + eta = pi(t). Time constants tau may be zero (no damper acts on that shape: the
sweeping process), small (a transient that dies) or large; each is summed as a power
series on steps that resolve what is alive. Events are roots of these polynomials, found
for certain. Who moves next follows from one implicit step of infinitesimal length, a
strictly convex problem with one solution.
"""

from __future__ import annotations

import functools
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory
from stiction.chains.polynomials import derivative, first_fall, powers, value
from stiction.chains.quasistatic.deciding import Decider, Moment, tridiagonal_solver
from stiction.chains.quasistatic.keeping import (
    numbers_of,
    pack_losses,
    pack_recorder,
    unpack_losses,
    unpack_recorder,
)
from stiction.chains.quasistatic.load_path import jumps_at
from stiction.chains.quasistatic.slip_frame import Frame, Recorder, load_series
from stiction.core.checkpoint import kept_array, unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import ModelError, Status

if TYPE_CHECKING:
    from stiction.chains.methods import Quasistatic

__all__ = ["Step", "Sweep"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Index = npt.NDArray[np.intp]

_ORDER = 30
_DEAD = 40.0
_RADIANS = 3.0
# a damper's time constant below this share of the largest one counts as none
_NO_DAMPER = 1e-12
# where a fall is checked to be more than rounding, as shares of what is left of the step
_LATER = np.linspace(0.0, 1.0, 17)[1:] ** 2
_MOST_DENSE = 600


@dataclass(eq=False)
class Step:
    """The motion on one step; series in the share of the step, shape (n, count)."""

    t: float
    h: float
    y: Floats
    force: Floats
    u: tuple[float, float]
    nodes: int

    def parameter(self, t: Floats) -> Floats:
        """Return the parameter of the piece at the times `t` [s]."""
        return (t - self.t) / self.h

    def state(self, u: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return times [s], dt/du, places [m], velocities [m/s] and friction [N] at `u`."""
        p = powers(u, self.y.shape[1])
        rate = np.full(u.size, self.h)
        slip = derivative(self.y) @ p / self.h
        return self.t + self.h * u, rate, self.y @ p, slip, -(self.force @ p)


class Sweep:
    """One solve of the quasistatic problem with constant friction."""

    def __init__(
        self, method: Quasistatic, chain: Chain, request: Request, *, may_slip: bool
    ) -> None:
        self.method, self.request, self.may_slip = method, request, may_slip
        self.frame = frame = Frame(chain)
        self.damped = bool(frame.c.any())
        n = frame.n
        if self.damped and n > _MOST_DENSE:
            raise ModelError(
                "Quasistatic",
                f"{n} masses with dampers",
                f"at most {_MOST_DENSE}, or no dampers",
                "with dampers every mode needs the eigenvectors of a dense matrix; only a "
                "load that never falls, with one wall and no stress at the start, is solved "
                "link by link.",
                "use ThetaStepper(step=...) for long damped chains.",
            )
        self.time_constants = self._time_constants()
        self.decider = Decider(frame, self.time_constants)
        self.recorder = Recorder(frame, request)
        self.t, self.y = request.t_start, chain.x_start - frame.belt * request.t_start
        self.mode = np.where(frame.free, 1, 0).astype(np.int8)
        self.begun, self.jumped = self.t, True
        self.span = request.t_end - request.t_start
        self.breaks = frame.pieces.time[frame.pieces.time > self.t]
        frequency = np.abs(frame.pieces.angular_frequency[frame.pieces.amplitude != 0.0])
        self.fastest = float(np.max(frequency, initial=0.0))
        self.window = np.inf if frame.pieces.function is None else self.span / 16.0
        self.stiffest = float(np.max(frame.k[:-1] + frame.k[1:] + frame.plate))
        self.steps, self.idle, self.misfit = 0, 0, 0.0
        self.losses: list[Loss] = []
        self.last_stick: float | None = None
        self.reason = ""

    def run(self) -> ChainHistory:
        """Return the history."""
        status = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        frame, t = self.frame, self.t
        if not status.ok:
            force = frame.drive(t, self.y, left=True)
            self.recorder.last(t, self.y, np.zeros(frame.n), -force, self.mode)
        stop = None
        resting = not self.mode[~frame.free].any() and status.ok
        if resting and self._still() and frame.stopped(t, self.y):
            stop = self.last_stick if self.last_stick is not None else self.request.t_start
        stats: dict[str, int | float] = {"steps": self.steps}
        if frame.pieces.function is not None:
            stats["load_misfit"] = float(self.misfit)
        return self.recorder.history(status, self.reason, stop, stats, self.losses)

    def _still(self) -> bool:
        """Whether masses without friction rest as well."""
        return not self.frame.free.any() or not self.recorder.v[self.recorder.filled - 1].any()

    # ---- the loop

    def _loop(self) -> Generator[Pause, None, Status]:
        request, frame = self.request, self.frame
        before, step, gone, settled = self._resumed()
        while self.t < request.t_end:
            if not settled:
                new = self._next_modes(step, gone)
                if new is None:
                    return Status.NO_CONTINUATION
                before, self.mode, self.begun = self.mode, new, self.t
            old, step = step, self._step()
            if not settled:
                self._log(before if self.steps else 0 * before, old, step)
            turn, gone, hit_break = self._event(step)
            step.u = (0.0, min(turn, 1.0))
            if self.steps == 0:
                self.recorder.first(step, self.mode)
            self.recorder.stretch(step, self.mode)
            self.idle = self.idle + 1 if step.u[1] * step.h < 1e-13 * self.span else 0
            self.t = step.t + step.h * step.u[1] if turn <= 1.0 else self._end_of(step)
            self.y = value(step.y, step.u[1])
            settled = turn > 1.0 and not hit_break
            self.jumped = hit_break and jumps_at(
                frame.pieces, self.t, float(np.max(np.abs(step.force)) + np.max(frame.bound))
            )
            self.steps += 1
            status = self._work_left()
            if status is not None:
                return status
            done, note = (
                (self.t - request.t_start) / self.span,
                f"{len(self.recorder.log.time)} events",
            )
            yield Pause(done, note, functools.partial(self._pack, before, step, gone, settled))
        return Status.SOLVED

    # ---- checkpoint

    def _pack(
        self, before: Signs, step: Step, gone: Signs, settled: bool
    ) -> dict[str, npt.NDArray[Any]]:
        """Return what the loop needs to go on behind this step."""
        last = np.nan if self.last_stick is None else self.last_stick
        flags = (self.jumped, settled, self.steps, self.idle)
        scalars = (self.t, self.begun, self.window, self.misfit, last, *flags)
        return {
            **pack_recorder(self.recorder),
            "losses": pack_losses(self.losses),
            "modes": np.array([before, gone, self.mode]),
            "place": self.y,
            "step_y": step.y,
            "step_force": step.force,
            "step": np.array([step.t, step.h, *step.u, step.nodes]),
            "numbers": np.array(scalars),
        }

    def _resumed(self) -> tuple[Signs, Step | None, Signs, bool]:
        """Take up a checkpoint; return modes before the last step, the step, stops, settled."""
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return self.mode * 0, None, self.mode * 0, False
        unpack_recorder(self.recorder, kept)
        self.losses = unpack_losses(kept)
        n = self.frame.n
        before, gone, self.mode = kept_array(kept, "modes", (3, n), "i", within=(-1, 1))
        self.y = kept_array(kept, "place", (n,))
        self.t, self.begun, self.window, self.misfit, last, *flags = numbers_of(kept, 9)
        self.last_stick = None if np.isnan(last) else last
        with unpacking():
            self.jumped, self.steps, self.idle = bool(flags[0]), int(flags[2]), int(flags[3])
        t, h, *u, nodes = kept_array(kept, "step", (5,)).tolist()
        y, force = (kept_array(kept, name, (n, None)) for name in ("step_y", "step_force"))
        return before, Step(t, h, y, force, (u[0], u[1]), int(nodes)), gone, bool(flags[1])

    # ---- work

    def _work_left(self) -> Status | None:
        method, t = self.method, self.t
        if not np.isfinite(self.y).all():
            self.reason = f"the state is not finite after t = {t:.9g} s"
            return Status.NOT_FINITE
        if self.idle > 4 * self.frame.n + 20:
            self.reason = f"the modes of the masses do not settle at t = {t:.9g} s"
            return Status.UNCONVERGED
        if self.steps >= method.max_steps or len(self.recorder.log.time) > method.max_events:
            name = "max_steps" if self.steps >= method.max_steps else "max_events"
            self.reason = f"{name} = {getattr(method, name)} were used up"
            return Status.WORK_LIMIT
        return None

    def _end_of(self, step: Step) -> float:
        limit = self._limit(step.t)
        end = step.t + step.h
        return limit if abs(end - limit) <= 1e-14 * max(abs(limit), self.span) else end

    def _limit(self, t: float) -> float:
        at = int(np.searchsorted(self.breaks, t, side="right"))
        ahead = float(self.breaks[at]) if at < self.breaks.size else np.inf
        return min(ahead, self.request.t_end)

    def _log(self, before: Signs, old: Step | None, new: Step) -> None:
        frame, t = self.frame, self.t
        if np.array_equal(before, self.mode):
            return
        w_old, left = np.zeros(frame.n), -frame.drive(t, self.y, left=True)
        if old is not None:
            _, _, _, w, friction = old.state(np.array([old.u[1]]))
            w_old, left = w[:, 0], friction[:, 0]
        _, _, _, _, right = new.state(np.zeros(1))
        x, v = self.y + frame.belt * t, w_old + frame.belt
        self.recorder.changes(t, (before, self.mode), (x, v), (left, right[:, 0]))
        if not self.mode[~frame.free].any():
            self.last_stick = t

    # ---- who moves next

    def _next_modes(self, step: Step | None, gone: Signs) -> Signs | None:
        """Return the modes just after now; None when no continuous motion exists."""
        frame, h = self.frame, self._ahead()
        if self.fastest:
            h = min(h, 1.0 / self.fastest)
        load, h = self._load(self.t, min(h, self.window))
        push = frame.push_series(load, self.t, h)[:, 1:]
        noise = 1e-14 * float(np.max(np.abs(push).sum(axis=1)))
        if frame.pieces.function is not None:
            noise += 1e-13 * float(np.max(np.abs(load)))
        r, rate = frame.drive(self.t, self.y), np.zeros(frame.n)
        force = r
        if step is not None:
            _, _, _, w, friction = step.state(np.array([step.u[1]]))
            rate, force = np.where(gone * self.mode != 0, 0.0, w[:, 0]), -friction[:, 0]
        moment = Moment(r, self.mode, gone, self.jumped, rate, force, push[:, :2], h, noise)
        new = self.decider.next_modes(moment)
        if new is None:
            why = "the load asks for a jump, and no damper slows it down"
            self._no_continuation(r, why)
        elif not self.may_slip and (new[~frame.free] != 0).any():
            why = "friction weakens with slip and no damper balances it"
            self._no_continuation(r, why)
            return None
        return new

    def _ahead(self) -> float:
        return max(self._limit(self.t) - self.t, 1e-12 * self.span)

    def _no_continuation(self, r: Floats, why: str) -> None:
        frame, t = self.frame, self.t
        i = int(np.argmax(np.abs(r) - frame.bound))
        self.reason = f"{why}: mass {i + 1} at t = {t:.9g} s"
        where = {
            "contact": i + 1,
            "drive": float(r[i]),
            "bound": float(frame.bound[i]),
            "load": float(frame.pieces.at(t)),
            "x": (self.y + frame.belt * t).tolist(),
        }
        self.losses.append(Loss(t, "no_continuation", where, "the run ends here"))

    # ---- one step of one mode

    def _step(self) -> Step:
        frame, t = self.frame, self.t
        a = np.flatnonzero(self.mode)
        shapes = self._shapes(a) if self.damped else None
        alive = self._alive(shapes)
        h = min(self._limit(t) - t, self.window * 2.0)
        if self.fastest:
            h = min(h, _RADIANS / self.fastest)
        if alive.size:
            h = min(h, _RADIANS * float(alive.min()))
        load, h = self._load(t, h)
        q = frame.push_series(load, t, h)
        y = np.zeros_like(q)
        y[:, 0] = self.y
        if a.size:
            residue = q.copy()
            residue[:, 0] -= self.mode * frame.bound + frame.stiff(self.y)
            if shapes is None:
                y[a] += tridiagonal_solver(frame.k, frame.plate)(a, residue[a])
            else:
                y[a] += self._modal(shapes, residue[a], h, alive)
        rate = derivative(y) / h
        force = q - frame.stiff(y) - frame.damp(rate)
        count = 1 + int(np.max(np.flatnonzero(np.any(q != 0.0, axis=0)), initial=1))
        if a.size and self.damped:
            count = y.shape[1]
        count = max(count, 2)
        return Step(t, h, y[:, :count], force[:, :count], (0.0, 1.0), count)

    def _load(self, t: float, h: float) -> tuple[Floats, float]:
        pieces, count = self.frame.pieces, _ORDER + 1
        load, misfit = load_series(pieces, t, h, count)
        if pieces.function is None:
            return load, h
        size = float(np.max(np.abs(load)))
        while misfit > self.method.rtol * size and h > 1e-9 * self.span:
            h *= 0.5
            load, misfit = load_series(pieces, t, h, count)
        self.window, self.misfit = h, max(self.misfit, misfit)
        return load, h

    def _shapes(self, a: Index) -> tuple[Floats, Floats]:
        """Return time constants [s] and shapes V of the masses a: V'KV = 1, V'CV = diag."""
        from scipy.linalg import eigh

        frame, eye = self.frame, np.eye(self.frame.n)[:, a]
        stiff, damp = frame.stiff(eye)[a], frame.damp(eye)[a]
        tau, v = eigh(damp, stiff)
        longest = float(np.max(self.time_constants, initial=0.0))
        return np.where(tau > _NO_DAMPER * longest, tau, 0.0), v

    def _alive(self, shapes: tuple[Floats, Floats] | None) -> Floats:
        """Return the time constants that a step must resolve."""
        if shapes is None:
            return np.empty(0)
        tau = shapes[0][shapes[0] > 0.0]
        return np.asarray(tau[~self._dead(tau)])

    def _dead(self, tau: Floats) -> npt.NDArray[np.bool_]:
        quiet = self.fastest * tau <= 0.02
        if self.frame.pieces.function is not None:
            quiet &= tau <= 0.02 * self.window
        return np.asarray((tau == 0.0) | (quiet & (self.t - self.begun > _DEAD * tau)))

    def _modal(
        self, shapes: tuple[Floats, Floats], residue: Floats, h: float, alive: Floats
    ) -> Floats:
        """Return the series of y - y(start) of the slipping masses."""
        tau, v = shapes
        pi = v.T @ residue
        eta = np.zeros_like(pi)
        dead, last = self._dead(tau), pi.shape[1] - 1
        live, x = ~dead, tau / h
        for k in range(last):
            eta[live, k + 1] = (pi[live, k] - eta[live, k]) / (x[live] * (k + 1))
        # a transient that died leaves the slow motion: eta = pi - tau pi' + tau^2 pi'' - ...
        eta[dead, last] = pi[dead, last]
        for k in range(last - 1, -1, -1):
            eta[dead, k] = pi[dead, k] - x[dead] * (k + 1) * eta[dead, k + 1]
        return np.asarray(v @ eta)

    def _time_constants(self) -> Floats:
        """Return the time constants [s] of the whole chain that dampers give."""
        if not self.damped:
            return np.empty(0)
        from scipy.linalg import eigh

        frame, eye = self.frame, np.eye(self.frame.n)
        tau = eigh(frame.damp(eye), frame.stiff(eye), eigvals_only=True)
        return np.asarray(tau[tau > _NO_DAMPER * tau[-1]])

    # ---- events

    def _event(self, step: Step) -> tuple[float, Signs, bool]:
        """Return when the first event is, who is in it, and whether the load breaks.

        The time is a share of the step, inf for none.
        """
        frame = self.frame
        rate = derivative(step.y) / step.h
        slip = np.flatnonzero((self.mode != 0) & ~frame.free)
        stuck = np.flatnonzero(self.mode == 0)
        rows = np.concatenate(
            [
                self.mode[slip, None] * rate[slip],
                _reserve(frame.bound[stuck], -step.force[stuck]),
                _reserve(frame.bound[stuck], step.force[stuck]),
            ]
        )
        who = np.concatenate([slip, stuck, stuck])
        variation = np.abs(rows[:, 1:]).sum(axis=1)
        forces = float(np.max(np.abs(step.force).sum(axis=1)) + np.max(frame.bound))
        places = float(np.max(np.abs(step.y).sum(axis=1))) + forces / self.stiffest
        slides = np.arange(who.size) < slip.size
        floor = np.where(slides, 1e-14 * places / step.h, 1e-14 * forces)
        # what does not change by more than rounding has no events
        lively = np.where(slides, variation + np.abs(rows[:, 0]), variation) > floor
        rows, who, floor = rows[lively], who[lively], floor[lively]
        turn, found, rows, who = _first_real_fall(rows, who, floor)
        gone = np.zeros(frame.n, np.int8)
        gone[who[found]] = 1
        at_break = bool(step.t + step.h >= self._limit(step.t) - 1e-14 * self.span)
        if turn <= 1.0:
            near = np.abs(value(rows, turn)) <= 1e-11 * np.abs(rows).sum(axis=1)
            gone[who[near]] = 1
            at_break = at_break and turn == 1.0
        return turn, gone, at_break


def _reserve(bound: Floats, force: Floats) -> Floats:
    out = force.copy()
    out[:, 0] += bound
    return out


def _first_real_fall(
    rows: Floats, who: Index, floor: Floats
) -> tuple[float, list[int], Floats, Index]:
    """Return the first fall below zero by more than rounding, and the rows still looked at."""
    while True:
        turn, found = first_fall(_without_leading_zeros(rows, floor))
        if turn > 1.0:
            return turn, found, rows, who
        later = rows[found] @ powers(turn + (1.0 - turn) * _LATER, rows.shape[1])
        real = later.min(axis=1) < -floor[found]
        if real.any():
            return (
                turn,
                [row for row, is_real in zip(found, real, strict=True) if is_real],
                rows,
                who,
            )
        keep = np.ones(who.size, bool)
        keep[found] = False
        rows, who, floor = rows[keep], who[keep], floor[keep]


def _without_leading_zeros(rows: Floats, floor: Floats) -> Floats:
    """Divide by tau where a row starts at zero: that root is the present, not an event."""
    rows = rows.copy()
    for _ in range(3):
        size = np.abs(rows).sum(axis=1)
        zero = np.abs(rows[:, 0]) <= np.maximum(1e-12 * size, floor)
        zero &= size > 0.0
        if not zero.any():
            break
        rows[zero, :-1] = rows[zero, 1:]
        rows[zero, -1] = 0.0
    return rows
