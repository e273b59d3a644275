"""March a chain without stick: steps of controlled error, cut where the law has a kink."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.chains.creep import collocation as co
from stiction.chains.creep.motion import Motion, Powers
from stiction.chains.creep.walk import (
    Walk,
)
from stiction.core.run import Request
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.chains.methods import Radau

__all__ = ["March"]

Floats = npt.NDArray[np.float64]

# shares of a step at which its switching functions are looked at
_LOOKS = np.linspace(0.0, 1.0, 13)[1:]
_MOST_ROOTS = 8
# Newton's method ends where a stage changes by this part of the tolerance
_EXACT = 1e-2
_MOST_GROWTH, _LEAST_GROWTH = 6.0, 0.2
_LEAST_STEP = 4e-16
# how often signs may change without time passing
_MOST_FLIPS = 8


class March(Walk):
    """One run.

    Parameters
    ----------
    motion : the equations
    method : tolerances and bounds
    request : when to start, stop and save
    """

    def __init__(self, motion: Motion, method: Radau, request: Request) -> None:
        super().__init__(motion, request, method.max_steps, method.max_events, co.STAGES + 1)
        self.method, self.narrow = method, motion.law.range_of_fall(motion.n)

    def _advance(self) -> None:
        """Make one step, to the next kink at most, or find that none can be made."""
        tables, now = self.tables, self.now
        t = float(now.time)
        ahead = self.breaks[self.breaks > t]
        stop = float(ahead[0]) if ahead.size else self.request.t_end
        self.last = float(np.nextafter(stop, t))
        if now.fresh:
            self._take_sides(t, stop)
        self.motion.sides = tables.sides
        floor = self._floor()
        found = self._step(t, stop, floor)
        if found is None:
            return
        step, growth, derivative = found
        whole = step.h
        cut, crossed = self._cut(step, derivative, floor)
        if cut is None:
            # the sign was wrong from the start: nothing passed but a sign
            self._flip(crossed, t)
            return
        off = float(np.max(np.abs(cut.error) / floor)) if crossed else 0.0
        if off > 1.0 and cut.h > _LEAST_STEP * max(abs(t), abs(self.request.t_end)):
            # friction rises within a narrow range of speeds before slip stops, which the whole
            # step did not see: its stages lie on both sides of it
            now.rejected += 1
            now.next_step = cut.h * max(_LEAST_GROWTH, 0.9 * off ** (-1.0 / 6.0))
            return
        if not crossed:
            now.next_step = whole * growth
        elif cut.h < 0.1 * whole:
            now.next_step = whole
        self._accept(cut, stop)
        if crossed:
            self._flip(crossed, float(now.time))

    def _step(self, t: float, stop: float, floor: Floats) -> tuple[co.Step, float, Any] | None:
        """Return a step within the tolerance, how much longer the next may be, and df/dy."""
        tables, now, motion = self.tables, self.now, self.motion
        derivative = motion.derivative(tables.y)
        h = float(now.next_step) or self._first(t, floor, stop)
        least = _LEAST_STEP * max(abs(t), abs(self.request.t_end))
        while True:
            h = min(h, self.method.max_step or math.inf)
            if t + 1.1 * h >= stop:
                h = stop - t
            step = self._collocated(t, h, derivative, floor)
            off = float(np.max(np.abs(step.error) / floor))
            if math.isfinite(off) and off <= 1.0:
                part = self._to_range(step)
                if part < 0.9 and part * h > least:
                    h *= part
                    continue
                return step, min(_MOST_GROWTH, 0.9 * max(off, 1e-12) ** (-1.0 / 6.0)), derivative
            now.rejected += 1
            shrink = max(_LEAST_GROWTH, 0.9 * off ** (-1.0 / 6.0)) if math.isfinite(off) else 0.25
            h *= shrink
            if h < least:
                rates = motion.rates(np.array([t]), tables.y[None])
                if np.isfinite(rates).all():
                    self._end(Status.NO_CONTINUATION, "steps became shorter than time can tell")
                else:
                    self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
                return None

    def _to_range(self, step: co.Step) -> float:
        """Return the fraction of the step at which a slip speed enters or leaves its range of fall.

        Stages outside see nothing of what friction does inside. A speed between 1.0 and 1.2 times
        the range counts for neither, so that a step which ends there is not cut again.
        """
        if self.narrow is None:
            return 1.0
        at = np.concatenate([step.values[:1], co.between(step, _LOOKS)])
        speed = at.reshape(len(at), self.motion.n, -1)[:, :, 1] / self.narrow
        size, ahead = np.abs(speed), speed * np.sign(speed[0])
        # a speed that turned round between two looks has passed the range
        enters, leaves = (size[0] > 1.2) & (ahead[1:] < 1.0), (size[0] < 1.0) & (size[1:] > 1.2)
        rows, masses = np.nonzero(enters | leaves)
        if not rows.size:
            return 1.0
        j = rows[0]
        i = masses[0]
        low, high = (ahead if enters[j, i] else size)[[j, j + 1], i]
        begin = _LOOKS[j - 1] if j else 0.0
        return float(begin + (_LOOKS[j] - begin) * (1.1 - low) / (high - low))

    def _collocated(self, t: float, h: float, derivative: Any, floor: Floats) -> co.Step:
        tables, now = self.tables, self.now
        guess = np.repeat(tables.y[None], co.STAGES, axis=0)
        span = float(now.span)
        if 0.0 < h <= 3.0 * span:
            guess = co.weights(1.0 + co.NODES * (h / span)) @ tables.before
        step = co.collocate(self._rates, derivative, t, tables.y, h, guess, floor, _EXACT)
        now.rounds += max(step.rounds, 1)
        return step

    def _rates(self, t: Floats, y: Floats) -> Floats:
        # a load that jumps at the end of the step has its value from before
        return self.motion.rates(np.minimum(t, self.last), y)

    def _floor(self) -> Floats:
        """Return (size,) errors that a step may make."""
        tables, now = self.tables, self.now
        motion, rtol = self.motion, self.method.rtol
        law, p = motion.law, motion.p
        x, w, z = motion.parts(tables.y)
        belt = abs(motion.chain.belt_speed)
        now.reach = max(now.reach, float(np.abs(x).max()))
        tables.contacts["fastest"] = np.maximum(tables.contacts["fastest"], np.abs(w))
        least, small = np.asarray(law.least_speed(p)), float(np.min(law.slip_scale(p)))
        table = np.empty((motion.n, motion.width))
        table[:, 0] = max(float(now.reach), small)
        if least.any():
            # friction depends on the logarithm of the speed
            table[:, 1], table[:, 2:] = np.maximum(np.abs(w), least), np.maximum(np.abs(z), 1.0).T
        else:
            fastest = max(float(tables.contacts["fastest"].max()), belt)
            table[:, 1], table[:, 2:] = (
                fastest or small / self.motion.quickest,
                law.state_scale(p).T,
            )
        return rtol * table.ravel()

    def _first(self, t: float, floor: Floats, stop: float) -> float:
        """Return a first step: one that moves no state by more than a part of its size."""
        slope = np.abs(self.motion.rates(np.array([t]), self.tables.y[None])[0])
        with np.errstate(divide="ignore"):
            h = float(np.min(floor / self.method.rtol * 1e-4 / slope))
        return min(max(h, 1e-12 * (stop - t)), 0.01 * (stop - t))

    # ---- kinks

    def _take_sides(self, t: float, stop: float) -> None:
        """Read the signs of all switching functions, where they are zero those of a moment on."""
        tables, now, motion = self.tables, self.now, self.motion
        found = motion.switches(tables.y)
        signs = np.sign(found)
        motion.sides = np.where(signs == 0.0, 1.0, signs)
        slope = motion.rates(np.array([t]), tables.y[None])[0]
        later = np.sign(motion.switches(tables.y + 1e-9 * (stop - t) * slope) - found)
        signs = np.where(signs == 0.0, later, signs)
        tables.sides = np.where(signs == 0.0, 1.0, signs)
        now.fresh = 0

    def _noise(self, floor: Floats) -> Floats:
        """Return (n_switch, n) sizes below which a switching function counts as zero."""
        table = floor.reshape(self.motion.n, self.motion.width)
        rows = [table[:, 1]] + [table[:, 2]] * (len(self.tables.sides) - 1)
        return np.stack(rows)

    def _cut(
        self, step: co.Step, derivative: Any, floor: Floats
    ) -> tuple[co.Step | None, list[tuple[int, int]]]:
        """Return the step up to the first kink, and which signs change there.

        None for the step where they were wrong from its start on.
        """
        tables, now = self.tables, self.now
        noise = self._noise(floor)
        at = self.motion.switches(co.between(step, _LOOKS)) * tables.sides[:, None, :]
        wrong = at < -noise[:, None, :]
        if not wrong.any() or now.flips > _MOST_FLIPS:
            return step, []
        j = int(np.flatnonzero(wrong.any(axis=(0, 2)))[0])
        low = float(_LOOKS[j - 1]) if j else 0.0
        roots = {
            (int(k), int(i)): self._root(step, int(k), int(i), low, float(_LOOKS[j]))
            for k, i in np.argwhere(wrong[:, j])
        }
        first = min(roots.values())
        crossed = [key for key, share in roots.items() if share <= first * (1.0 + 1e-9)]
        if first * step.h <= _LEAST_STEP * max(abs(step.t), abs(self.request.t_end)):
            return None, crossed
        k, i = min(roots, key=lambda key: roots[key])
        return self._shortened(step, first, (k, i), derivative, floor), crossed

    def _root(self, step: co.Step, k: int, i: int, low: float, high: float) -> float:
        """Return the share of the step at which one function has its root; `low` without."""
        from scipy.optimize import brentq

        def value(share: float) -> float:
            y = co.between(step, np.array([share]))[0]
            return float(self.motion.switches(y)[k, i] * self.tables.sides[k, i])

        if value(low) <= 0.0:
            return low
        return float(brentq(value, low, high, xtol=1e-15, rtol=1e-14))

    def _shortened(
        self, step: co.Step, share: float, which: tuple[int, int], derivative: Any, floor: Floats
    ) -> co.Step:
        """Return the step that ends at the root: found on the step, then by steps of its length."""
        h, noise = share * step.h, self._noise(floor)[which]
        for _ in range(_MOST_ROOTS):
            step = self._collocated(step.t, h, derivative, floor)
            ends = self.motion.switches(co.between(step, np.array([1.0, 1.0 - 1e-4])))
            end, near = ends[which[0], 0, which[1]], ends[which[0], 1, which[1]]
            slope = (end - near) / (1e-4 * h)
            if abs(end) <= 1e-3 * noise or slope == 0.0 or abs(end / slope) < 1e-15 * h:
                break
            change = float(np.clip(-end / slope, -0.1 * h, 0.1 * h))
            if abs(change) < 1e-15 * (abs(step.t) + h):
                break
            h += change
        return step

    def _flip(self, crossed: list[tuple[int, int]], t: float) -> None:
        """Change signs, note which masses turned round, and begin a stretch of creep."""
        tables, now, motion = self.tables, self.now, self.motion
        table = tables.y.reshape(motion.n, motion.width)
        for k, i in crossed:
            before = tables.sides[k, i]
            tables.sides[k, i] = -before
            if k:
                continue
            table[i, 1] = 0.0
            motion.sides = tables.sides
            force = float(motion.friction(tables.y)[i])
            self._turned(i, t, [before, table[i, 0], motion.chain.belt_speed, force])
        now.span = 0.0
        now.flips += 1

    # ---- what a step leaves

    def _accept(self, step: co.Step, stop: float) -> None:
        tables, now, motion = self.tables, self.now, self.motion
        ends = step.values
        times = np.minimum(step.t + step.h * np.concatenate([[0.0], co.NODES]), self.last)
        rates = motion.powers(times, ends)
        t = stop if step.t + step.h >= stop * (1.0 - 1e-15) else step.t + step.h
        t = min(t, stop)
        self._save(step, t, rates)
        whole = step.h * co.WHOLE
        work, viscous = float(whole @ rates.work[1:]), float(whole @ rates.viscous[1:])
        self._book(work, viscous, whole @ rates.heat[1:], t)
        looks = np.concatenate([[0.0], _LOOKS])
        force = motion.answer(co.between(step, looks)).coefficient
        self._creep(
            step.t, step.h, looks, force, lambda at: step.h * co.integrals(at) @ rates.plastic
        )
        tables.before, now.span = ends, step.h
        tables.y, now.time = ends[-1].copy(), t
        now.steps += 1
        now.flips = 0

    def _save(self, step: co.Step, t: float, rates: Powers) -> None:
        tables, now = self.tables, self.now
        first, last = int(now.saved), int(np.searchsorted(self.time, t, side="right"))
        if last <= first:
            return
        shares = np.minimum((self.time[first:last] - step.t) / step.h, 1.0)
        rows = slice(first, last)
        tables.kept[rows] = co.between(step, shares)
        part = co.integrals(shares) * step.h
        part[shares == 1.0] = np.concatenate([[0.0], co.WHOLE]) * step.h
        tables.sums[rows, 0] = now.work + part @ rates.work
        tables.sums[rows, 1] = now.viscous + part @ rates.viscous
        tables.sums[rows, 3:] = self._energies(self.time[rows], tables.kept[rows])
        tables.heat[rows] = tables.contacts["heat"] + part @ rates.heat
        now.saved = last
