"""Quasistatic chain with dampers under friction that depends on the slip speed.

A run follows one branch (see `slip_branch`) until a mass stops, a stuck mass lets go or
the branch ends, and goes on along the branch that a little inertia would lead to (see
`fast_flow`). Where other branches open it says so.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.branching import MOST_MASSES, Branch, least_slip_force, velocities
from stiction.chains.model import Chain
from stiction.chains.outcome import ChainHistory
from stiction.chains.polynomials import derivative, first_fall, value
from stiction.chains.quasistatic.fast_flow import FastFlow
from stiction.chains.quasistatic.keeping import (
    numbers_of,
    pack_losses,
    pack_recorder,
    unpack_losses,
    unpack_recorder,
)
from stiction.chains.quasistatic.load_path import one_piece, slope
from stiction.chains.quasistatic.slip_branch import Arc, Dense, SlipBranch
from stiction.chains.quasistatic.slip_frame import Frame, Recorder, load_series
from stiction.chains.quasistatic.sweeping import Step
from stiction.chains.quasistatic.weakening import Weakening
from stiction.core.audit import Check, Kind
from stiction.core.checkpoint import kept_array, unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.run import Request
from stiction.errors import ModelError, Status

if TYPE_CHECKING:
    from stiction.chains.methods import Quasistatic

__all__ = ["Slide"]

Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

_MOST = 200
_WATCHES = 32
_SAMPLES = np.linspace(0.0, 1.0, 9)[1:]
_TERMS = 24


class Slide:
    """One solve of the quasistatic problem with friction that depends on speed."""

    def __init__(
        self, method: Quasistatic, chain: Chain, request: Request, weak: Weakening
    ) -> None:
        self.method, self.chain, self.request, self.weak = method, chain, request, weak
        self.frame = frame = Frame(chain)
        self.damping, self.stiffness = chain.damping_matrix(), chain.stiffness_matrix()
        self._check_solvable()
        self.flow = FastFlow(frame, weak, self.damping)
        self.unique = weak.unique(self.damping)
        self.recorder = Recorder(frame, request)
        self.t, self.y = request.t_start, chain.x_start - frame.belt * request.t_start
        self.v, self.mode = np.zeros(frame.n), np.zeros(frame.n, np.int8)
        self.seed = self.v
        self.span = request.t_end - request.t_start
        self.lag = self._lag()
        self.marks = self._marks()
        self.window: tuple[float, float, Floats] | None = None
        self.piece = frame.pieces
        self.least = least_slip_force(weak, self.damping[0, 0]) if frame.n == 1 else 0.0
        self.open, self.chosen, self.unsure = False, False, False
        self.losses: list[Loss] = []
        self.steps, self.idle, self.reason = 0, 0, ""
        self.last_stick: float | None = None

    def _check_solvable(self) -> None:
        n = self.frame.n
        if n > _MOST:
            raise ModelError(
                "Quasistatic",
                f"{n} masses under friction that depends on speed",
                f"at most {_MOST}",
                "every step needs the eigenvalues of a dense matrix.",
                "use ThetaStepper(step=...) for long chains.",
            )
        eigen = np.linalg.eigvalsh(self.damping)
        if not self.weak.strengthens and eigen[0] <= 1e-12 * eigen[-1]:
            raise ModelError(
                "Quasistatic",
                "friction that weakens with slip and dampers on some springs only",
                "dampers that resist every motion, or none at all",
                "shapes without a damper would have to jump at the first slip while the "
                "others move on.",
                "give every spring a damping > 0.",
            )

    def run(self) -> ChainHistory:
        """Return the history."""
        status = run_to_end(self._loop(), self.request.progress, self.request.checkpoint)
        frame, t = self.frame, self.t
        if not status.ok:
            force = frame.drive(t, self.y, left=True) - frame.damp(self.v)
            self.recorder.last(t, self.y, self.v, -force, self.mode)
        stop = None
        if status.ok and not self.mode.any() and frame.stopped(t, self.y):
            stop = self.last_stick if self.last_stick is not None else self.request.t_start
        history = self.recorder.history(
            status, self.reason, stop, {"steps": self.steps}, self.losses
        )
        return _with_checks(history, self._checks())

    # ---- the load

    def _marks(self) -> Floats:
        """Return times [s] at which the run looks around: breakpoints, choices, watches."""
        pieces, request = self.frame.pieces, self.request
        times = [pieces.time, np.array([self.method.choice.first_time(), request.t_end])]
        if 1 < self.frame.n <= MOST_MASSES and self.unique < 0.0:
            times.append(np.linspace(request.t_start, request.t_end, _WATCHES + 1))
        marks = np.unique(np.concatenate(times))
        return np.asarray(marks[(marks > request.t_start) & (marks <= request.t_end)])

    def _limit(self) -> float:
        """Return the next time [s] at which a stretch must end."""
        ahead = float(self.marks[np.searchsorted(self.marks, self.t, side="right")])
        if self.frame.pieces.function is None:
            # one piece alone, so that a step that looks past its end meets no kink
            self.piece = one_piece(self.frame.pieces, self.t)
            return ahead
        h = min(ahead - self.t, self.span / 16.0)
        if self.window is not None:
            h = min(h, 2.0 * self.window[1])
        series, misfit = load_series(self.frame.pieces, self.t, h, _TERMS)
        while misfit > self.method.rtol * np.max(np.abs(series)) and h > 1e-9 * self.span:
            h *= 0.5
            series, misfit = load_series(self.frame.pieces, self.t, h, _TERMS)
        self.window = (self.t, h, series)
        return ahead if self.t + h >= ahead * (1.0 - 1e-15) else self.t + h

    def load(self, t: Floats) -> Floats:
        """Return the load [N] on the present stretch."""
        if self.window is None:
            return np.asarray(self.piece.at(t))
        begin, h, series = self.window
        return np.array([float(value(series, float(s))) for s in (t - begin) / h])

    def drift(self, t: float) -> Floats:
        """Return q'(t) [N/s] on the present stretch."""
        frame = self.frame
        if self.window is None:
            rate = float(slope(self.piece, t))
        else:
            begin, h, series = self.window
            rate = float(value(derivative(series), (t - begin) / h)) / h
        return np.asarray(frame.share * rate + frame.q1)

    def _lag(self) -> float:
        """Return a time [s] that is short for the chain and for the load."""
        from scipy.linalg import eigh

        tau = eigh(self.damping + np.diag(self.weak.bends), self.stiffness, eigvals_only=True)
        shortest = float(tau[tau > 1e-14 * tau[-1]][0])
        w = np.abs(self.frame.pieces.angular_frequency)
        return min(shortest, self.span, 1.0 / float(np.max(w, initial=1e-300)))

    # ---- the loop

    def _loop(self) -> Generator[Pause, None, Status]:
        request, fresh = self.request, self._resumed()
        while self.t < request.t_end:
            limit = self._limit()
            if fresh and not self._choose():
                self.reason = f"no branch was found at t = {self.t:.9g} s"
                return Status.UNCONVERGED
            self._look()
            begin = self.t
            fresh = self._slide(limit) if self.mode.any() else self._rest(limit)
            self.idle = self.idle + 1 if self.t - begin < 1e-13 * self.span else 0
            if self.idle > 4 * self.frame.n + 20:
                self.reason = f"the branches do not settle at t = {self.t:.9g} s"
                return Status.UNCONVERGED
            events = len(self.recorder.log.time)
            if self.steps >= self.method.max_steps or events > self.method.max_events:
                name = "max_steps" if self.steps >= self.method.max_steps else "max_events"
                self.reason = f"{name} = {getattr(self.method, name)} were used up"
                return Status.WORK_LIMIT
            done = (self.t - request.t_start) / self.span
            yield Pause(done, f"{events} events", functools.partial(self._pack, fresh))
        return Status.SOLVED

    # ---- checkpoint

    def _pack(self, fresh: bool) -> dict[str, npt.NDArray[Any]]:
        """Return what the loop needs to go on; `fresh` says that a choice is due."""
        last = np.nan if self.last_stick is None else self.last_stick
        flags = (fresh, self.open, self.chosen, self.unsure, self.steps, self.idle)
        found = {
            **pack_recorder(self.recorder),
            "losses": pack_losses(self.losses),
            "modes": self.mode,
            "state": np.array([self.y, self.v, self.seed]),
            "numbers": np.array([self.t, last, *flags]),
        }
        if self.window is not None:
            begin, h, series = self.window
            found |= {"window": np.array([begin, h]), "series": series}
        return found

    def _resumed(self) -> bool:
        """Take up a checkpoint; return whether a choice is due."""
        kept = None if self.request.checkpoint is None else self.request.checkpoint.load()
        if kept is None:
            return True
        unpack_recorder(self.recorder, kept)
        self.losses, n = unpack_losses(kept), self.frame.n
        self.mode = kept_array(kept, "modes", (n,), "i", within=(-1, 1))
        self.y, self.v, self.seed = kept_array(kept, "state", (3, n))
        self.t, last, *flags = numbers_of(kept, 8)
        self.last_stick = None if np.isnan(last) else last
        fresh, self.open, self.chosen, self.unsure = (bool(flag) for flag in flags[:4])
        with unpacking():
            self.steps, self.idle = int(flags[4]), int(flags[5])
        if "window" in kept:
            begin, h = kept_array(kept, "window", (2,)).tolist()
            self.window = (begin, h, kept_array(kept, "series", (None,)))
        return fresh

    def _choose(self) -> bool:
        """Find the branch from here on, starting from the velocities before."""
        frame, choice = self.frame, self.method.choice
        r, drift = frame.drive(self.t, self.y), self.drift(self.t)
        found = self.flow.settle(r, drift, self.seed, self.lag)
        if found is None:
            return False
        v, mode = found
        if not self.chosen and not mode.any() and choice.leaves(self.t):
            # from far above, the flow comes down to the fastest stable branch
            above = self.flow.settle(r, drift, self._above(2.0 * r), self.lag)
            if above is not None and above[1].any():
                v, mode = above
                self.chosen = True
        self._enter(r, v, mode)
        return True

    def _above(self, r: Floats) -> Floats:
        undamped = np.where(self.damping.diagonal() > 0.0, 0.0, self.weak.bends)
        return np.asarray(np.linalg.solve(self.damping + np.diag(undamped), r))

    def _enter(self, r: Floats, v: Floats, mode: Signs) -> None:
        frame, t = self.frame, self.t
        old, before = self.v, self.mode
        x, w = self.y + frame.belt * t, old + frame.belt
        left = np.where(before != 0, before * self.weak.force(old), r - frame.damp(old))
        right = np.where(mode != 0, mode * self.weak.force(v), r - frame.damp(v))
        self.recorder.changes(t, (before, mode), (x, w), (-left, -right))
        jump = float(np.max(np.abs(v - old)))
        if jump > 1e-3 * float(np.max(np.abs(v) + np.abs(old), initial=0.0)) and self.steps > 0:
            self.unsure = True
        if before.any() and not mode.any():
            self.last_stick = t
        self.v, self.seed, self.mode = v, v, mode

    # ---- other branches

    def _look(self) -> None:
        """Report other branches when they open; forget them when they close."""
        if self.unique >= 0.0:
            return
        frame, t = self.frame, self.t
        r = frame.drive(t, self.y)
        if frame.n > MOST_MASSES:
            self._report_jump(r)
            return
        # a moment later, so that branches that open just now are apart already
        soon = r + 1e-8 * self.lag * (self.drift(t) - frame.stiff(self.v))
        found, now = (velocities(self.chain, self.weak, drive) for drive in (soon, r))
        speed = float(np.max(np.abs([b.velocity for b in found]), initial=0.0)) or 1.0
        others = [b for b in found if np.max(np.abs(b.velocity - self.v)) > 1e-5 * speed]
        if others and not self.open:
            found = now if _apart(now, speed) == _apart(found, speed) else found
            where: dict[str, object] = {
                "velocities": [b.velocity.tolist() for b in found],
                "branches": [b.kind for b in found],
                "load": float(frame.pieces.at(t)),
                "x": (self.y + frame.belt * t).tolist(),
            }
            self.losses.append(Loss(t, "quasistatic_branches", where, self._said()))
        self.open = bool(others)

    def _said(self) -> str:
        if self.mode.any():
            return "left rest, as asked" if self.chosen else "slipped on"
        return "stayed stuck"

    def _report_jump(self, r: Floats) -> None:
        if not self.unsure:
            return
        self.unsure = False
        where: dict[str, object] = {
            "velocities": [self.v.tolist()],
            "load": float(self.frame.pieces.at(self.t)),
            "drive": r.tolist(),
            "note": f"other branches are searched for up to {MOST_MASSES} masses only",
        }
        said = "jumped to the branch that a little inertia leads to"
        self.losses.append(Loss(self.t, "quasistatic_branches", where, said))

    # ---- rest

    def _rest(self, limit: float) -> bool:
        """Stay at rest until a bound is met or `limit`; return whether a choice is due."""
        frame, t, h = self.frame, self.t, limit - self.t
        fastest = float(np.max(np.abs(frame.pieces.angular_frequency), initial=0.0))
        if fastest:
            h = min(h, 2.0 / fastest)
        series = load_series(frame.pieces, t, h, _TERMS)[0]
        force = frame.push_series(series, t, h)
        force[:, 0] -= frame.stiff(self.y)
        y = np.zeros_like(force)
        y[:, 0] = self.y
        step = Step(t, h, y, force, (0.0, 1.0), _TERMS)
        rows = [_reserve(frame.bound, -force), _reserve(frame.bound, force)]
        if frame.n == 1:
            # here other branches of one mass open and close
            side = 1.0 if force[0, 0] >= 0.0 else -1.0
            gap = _reserve(np.array([self.least]), -side * force)
            rows.append(gap)
        table = np.concatenate(rows)
        floor = 1e-13 * float(np.max(np.abs(force).sum(axis=1) + frame.bound))
        if frame.n == 1:
            apart = np.flatnonzero(np.abs(table[-1]) > floor)
            table[-1] *= np.sign(table[-1, apart[0]]) if apart.size else 1.0
        lively = np.abs(table[:, 1:]).sum(axis=1) > floor
        table = table[lively]
        starts = np.abs(table[:, 0]) <= floor
        table[starts, :-1], table[starts, -1] = table[starts, 1:], 0.0
        turn, _ = first_fall(table)
        step.u = (0.0, min(turn, 1.0))
        self._record(step)
        self.t = t + h * turn if turn < 1.0 else t + h
        if turn >= 1.0 and h >= (limit - t) * (1.0 - 1e-15):
            self.t = limit
        self.steps += 1
        return turn <= 1.0 or limit in self.marks

    def _record(self, step: Step | Arc) -> None:
        if self.recorder.filled == 0:
            self.recorder.first(step, self.mode)
        self.recorder.stretch(step, self.mode)

    # ---- slip

    def _slide(self, limit: float) -> bool:
        """Follow the branch until it ends or `limit`; return whether a choice is due."""
        from scipy.integrate import DOP853

        a = np.flatnonzero(self.mode)
        branch = SlipBranch(self, a, self.mode, self.y)
        rtol = max(self.method.rtol, 3e-14)
        speed = self._speed()
        atol = np.append(np.full(a.size, 1e-2 * rtol * speed), 1e-2 * rtol * self.span)
        start = np.append(self.v[a], self.t)
        solver = DOP853(branch.rates, 0.0, start, np.inf, rtol=rtol, atol=atol)  # type: ignore[arg-type]
        armed = self._signs(branch, start[:, None], limit)[:, 0] > 0.0
        while True:
            pace = float(branch.rates(0.0, solver.y)[-1])
            if pace > 0.0:
                # not far past the end of the stretch, where the load is not meant
                ahead = 1.1 * max(limit - float(solver.y[-1]), 1e-12 * self.span)
                solver.h_abs = min(solver.h_abs, ahead / pace)
            solver.step()
            # the polynomial between the ends of a step is less exact than the ends
            solver.h_abs *= 0.6
            self.steps += 1
            dense = solver.dense_output()
            begin, end = float(solver.t_old), float(solver.t)
            u = begin + (end - begin) * _SAMPLES
            signs = self._signs(branch, dense(u), limit)
            hit = (signs <= 0.0) & armed[:, None]
            if not hit.any():
                armed |= signs[:, -1] > 0.0
                self._record(Arc(branch, dense, (begin, end)))
                if self.steps >= self.method.max_steps:
                    self._arrive(branch, dense(end), limit, False)
                    return False
                continue
            k = int(np.argmax(hit.any(axis=0)))
            low = begin if k == 0 else float(u[k - 1])
            at, row = self._located(branch, dense, (low, float(u[k])), hit[:, k], limit)
            self._record(Arc(branch, dense, (begin, at)))
            return self._arrive(branch, dense(at), limit, row == 1, row == 0)

    def _speed(self) -> float:
        """Return a speed [m/s] of the size of those that occur."""
        scale = float(np.max(self.weak.table.v_scale)) if self.weak.bends.any() else 0.0
        return max(float(np.max(np.abs(self.v))), 1e-3 * scale, 1e-300)

    def _signs(self, branch: SlipBranch, z: Floats, limit: float) -> Floats:
        """Return rows that are positive on the branch: time left, det H, slip, reserves."""
        v, t = z[:-1], z[-1]
        frame = self.frame
        stuck = np.flatnonzero(self.mode == 0)
        rows = [limit - t, branch.time_rate(v), *(branch.sign[:, None] * v)]
        if stuck.size or frame.n == 1:
            friction = branch.friction(v, branch.places(v, t), t)
            rows += list(frame.bound[stuck, None] - np.abs(friction[stuck]))
        if frame.n == 1 and not frame.free[0]:
            # rest becomes possible, or impossible, where the drive passes the bound
            drive = np.abs(frame.damp(branch.full(v))[0] - friction[0])
            over = drive - frame.bound[0]
            if branch.over == 0.0:
                branch.over = self._side(branch, float(over[0]))
            rows.append(branch.over * over)
        free = np.flatnonzero(frame.free[branch.a])
        out = np.array(rows)
        out[2 + free] = 1.0
        return out

    def _side(self, branch: SlipBranch, over: float) -> float:
        """Return whether rest is impossible (1) or possible (-1) just after the start."""
        if abs(over) > 1e-9 * self.frame.bound[0]:
            return 1.0 if over > 0.0 else -1.0
        growing = branch.mode[0] * (self.drift(self.t) - self.frame.stiff(self.v))[0]
        return 1.0 if growing > 0.0 else -1.0

    def _located(
        self,
        branch: SlipBranch,
        dense: Dense,
        span: tuple[float, float],
        hit: npt.NDArray[np.bool_],
        limit: float,
    ) -> tuple[float, int]:
        """Return the first root among the rows that fall in `span`, and its row."""
        from scipy.optimize import brentq

        best, first = np.inf, -1
        for row in np.flatnonzero(hit).tolist():

            def gap(u: float, row: int = row) -> float:
                return float(self._signs(branch, dense(np.array([u])), limit)[row, 0])

            low, high = gap(span[0]), gap(span[1])
            at = span[0] if low <= 0.0 else span[1]
            if low > 0.0 > high:
                at = float(brentq(gap, *span, xtol=1e-300, rtol=1e-15))
            if at < best:
                best, first = at, row
        return best, first

    def _arrive(
        self, branch: SlipBranch, z: Floats, limit: float, fold: bool, timed: bool = False
    ) -> bool:
        """Take over the state at the end of a stretch; return whether a choice is due."""
        v, t = z[:-1], limit if timed else float(z[-1])
        self.y = branch.places(v[:, None], np.array([t]))[:, 0]
        self.t, self.v = t, branch.full(v)
        small = 1e-9 * float(np.max(np.abs(v), initial=0.0))
        stops = (np.abs(self.v) <= small) | (self.v * self.mode <= 0.0)
        self.v = np.where(stops & ~self.frame.free, 0.0, self.v)
        self.seed = self._pushed(branch, v) if fold else self.v
        return not timed or limit in self.marks

    def _pushed(self, branch: SlipBranch, v: Floats) -> Floats:
        """Return velocities off the end of a branch, to the side on which the flow runs on."""
        h = branch.c + np.diag(branch.slopes(v))
        shape = np.linalg.eigh(h)[1][:, 0]
        # along it the potential is cubic: downhill is where the speeds fall
        way = -np.sign(float(shape @ (branch.sign * np.abs(branch.slopes(v)))))
        out = branch.full(v + way * 1e-2 * float(np.max(np.abs(v))) * shape)
        return np.where(out * self.mode < 0.0, 0.0, out)

    # ---- the audit

    def _checks(self) -> list[Check]:
        # where the velocity is unique there is nothing to search for
        asked = 0 if self.unique >= 0.0 else self.frame.n
        value, what = self.unique, "smallest eigenvalue of C - diag(N max|mu'|) [N s/m]"
        if not np.isfinite(value):
            # no damper makes up for a jump, at whatever speed: its size is what can be told
            value, what = -self.weak.jump, "minus the largest jump of friction at rest [N]"
        return [
            Check(
                "velocity_unique",
                self.unique >= 0.0,
                value,
                0.0,
                None,
                f"{what}; below 0 several motions may solve the problem, see determinism",
                kind=Kind.CONDITION,
            ),
            Check(
                "branches_searched",
                asked <= MOST_MASSES,
                float(asked),
                float(MOST_MASSES),
                None,
                "masses among which other branches must be searched for; 0 where there are none",
                kind=Kind.CONDITION,
            ),
        ]


def _apart(found: list[Branch], speed: float) -> int:
    """Return how many of the branches, by rising speed, are distinct."""
    sizes = [float(np.abs(branch.velocity).sum()) for branch in found]
    return 1 + sum(b - a > 1e-5 * speed for a, b in itertools.pairwise(sizes))


def _reserve(bound: Floats, force: Floats) -> Floats:
    out = force.copy()
    out[:, 0] += bound
    return out


def _with_checks(history: ChainHistory, checks: list[Check]) -> ChainHistory:
    return dataclasses.replace(history, checks=checks)
