"""March a chain without stick by the theta scheme: fixed steps, an energy identity in each.

    y_{l+1} - y_l = h f(t_l + theta h, y_theta),  y_theta = theta y_{l+1} + (1 - theta) y_l

with y of `motion`. The law's states take part in it as positions and velocities do. Its kinks
are those of continuous functions, so that Newton's method takes the piece on which y_theta lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.creep.motion import Motion, Powers
from stiction.chains.creep.walk import (
    Walk,
)
from stiction.chains.theta.setup import number_of_steps
from stiction.core.run import Request
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.chains.methods import ThetaStepper

__all__ = ["Steps"]

Floats = npt.NDArray[np.float64]

# a step is solved where Newton's method moves nothing by this part of its size any more
_EXACT, _NEARLY = 1e-14, 1e-10
_MOST_HALVINGS = 8
# more unknowns have a sparse matrix
_DENSE = 60


class Steps(Walk):
    """One run.

    Parameters
    ----------
    motion : the equations
    method : step and theta
    request : when to start, stop and save
    """

    def __init__(self, motion: Motion, method: ThetaStepper, request: Request) -> None:
        count, h = number_of_steps("ThetaStepper", method.step, method.max_steps, request)
        super().__init__(motion, request, method.max_steps, method.max_events, 1)
        self.count, self.h, self.theta = count, h, method.theta
        self.most = method.max_solves

    def _advance(self) -> None:
        tables, now, motion, h = self.tables, self.now, self.motion, self.h
        done = int(now.steps)
        t = float(now.time)
        ends = self.request.t_start + (done + 1) * h
        ends = self.request.t_end if done + 1 >= self.count else ends
        middle = self._solve(t + self.theta * h)
        y = tables.y + (middle - tables.y) / self.theta
        if not np.isfinite(y).all():
            self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
            return
        self._read(middle)
        rates = motion.powers(np.array([t + self.theta * h]), middle[None])
        lost, off = self._balance(t, ends, y, rates)
        self._save(y, t, ends, lost, rates)
        self._book(h * float(rates.work[0]), h * float(rates.viscous[0]), h * rates.heat[0], ends)
        now.lost += lost
        if off > now.worst:
            now.worst, now.worst_time = off, ends
        places = np.stack([tables.y, middle, y])
        force = motion.answer(places).coefficient
        looks = np.array([0.0, self.theta, 1.0])
        self._creep(t, h, looks, force, lambda at: np.multiply.outer(at, h * rates.plastic[0]))
        self._turn(y, ends)
        tables.y, now.time = y, ends
        now.steps += 1

    # ---- one step

    def _read(self, y: Floats) -> None:
        """Read the law on the piece on which y lies."""
        found = np.sign(self.motion.switches(y))
        self.motion.sides = np.where(found == 0.0, 1.0, found)

    def _solve(self, t: float) -> Floats:
        """Return y_theta at the time t; one that is not found is counted."""
        tables, now, motion = self.tables, self.now, self.motion
        part, at = self.theta * self.h, np.array([t])

        def residual(y: Floats) -> Floats:
            self._read(y)
            return np.asarray(y - tables.y - part * motion.rates(at, y[None])[0])

        y = tables.y.copy()
        off = residual(y)
        sizes = self._sizes()
        before = np.inf
        for _ in range(self.most):
            now.rounds += 1
            change = _newton(motion, y, part, off)
            moved = float(np.max(np.abs(change) / np.maximum(sizes, np.abs(y))))
            if moved <= _NEARLY:
                # here the residual is rounding
                y = y + change
                off = residual(y)
            else:
                y, off = _shortened(residual, y, off, change, sizes)
            if not np.isfinite(off).all():
                return np.full_like(y, np.nan)
            if moved <= _EXACT or (moved <= _NEARLY and moved >= 0.5 * before):
                return y
            before = moved
        now.misses += 1
        if np.isnan(now.missed_time):
            now.missed_time = t
        return y

    def _sizes(self) -> Floats:
        """Return (size,) sizes of what is solved for, from the law's own scales."""
        motion = self.motion
        law, p = motion.law, motion.p
        small = float(np.min(law.slip_scale(p)))
        table = np.empty((motion.n, motion.width))
        table[:, 0] = max(float(np.abs(motion.parts(self.tables.y)[0]).max()), small)
        least = np.asarray(law.least_speed(p))
        table[:, 1] = least if least.any() else small / motion.quickest
        table[:, 2:] = 1.0 if least.any() else law.state_scale(p).T
        return table.ravel()

    def _balance(self, t: float, ends: float, y: Floats, rates: Powers) -> tuple[float, float]:
        """Return what the scheme takes out in the step, and by how much the energies miss [J]."""
        tables, now, motion = self.tables, self.now, self.motion
        both, times = np.stack([tables.y, y]), np.array([t, ends])
        x, w, z = motion.parts(both)
        kinetic, stored = motion.energies(times, both)
        # quadratic energies of the change
        still = motion.energies_of_change(np.diff(x, axis=0), np.diff(w, axis=0), ends - t)
        lost = (2.0 * self.theta - 1.0) * still
        middle = self.h * float(rates.storing[0])
        lost += middle - float(np.diff(motion.law.stored(z, motion.p) @ motion.normal)[0])
        work = self.h * float(rates.work[0])
        heat = self.h * (float(rates.heat[0].sum()) + float(rates.viscous[0]))
        off = abs(float(np.diff(kinetic + stored)[0]) - work + heat + lost)
        done = abs(now.work), tables.contacts["heat"].sum()
        sizes = [kinetic.max(), stored.max(), abs(work), *done]
        now.largest = max(float(now.largest), *map(float, sizes))
        return lost, off

    # ---- what a step leaves

    def _save(self, y: Floats, t: float, ends: float, lost: float, rates: Powers) -> None:
        """Keep the rows that lie in the step, on the straight line between its ends."""
        tables, now = self.tables, self.now
        first, last = int(now.saved), int(np.searchsorted(self.time, ends, side="right"))
        last = self.time.size if ends >= self.request.t_end else last
        if last <= first:
            return
        share = np.minimum((self.time[first:last] - t) / (ends - t), 1.0)[:, None]
        rows = slice(first, last)
        tables.kept[rows] = np.where(share == 1.0, y, tables.y + share * (y - tables.y))
        grown = np.array([self.h * rates.work[0], self.h * rates.viscous[0], lost])
        tables.sums[rows, :3] = np.array([now.work, now.viscous, now.lost]) + share * grown
        start, end = self._energies(np.array([t, ends]), np.stack([tables.y, y]))
        tables.sums[rows, 3:] = np.where(share == 1.0, end, start + share * (end - start))
        tables.heat[rows] = tables.contacts["heat"] + share * (self.h * rates.heat[0])
        now.saved = last

    def _turn(self, y: Floats, t: float) -> None:
        """Note which masses slip the other way at the end of the step."""
        tables, now, motion = self.tables, self.now, self.motion
        x, w, _ = motion.parts(y)
        signs = np.where(w == 0.0, tables.sides[0], np.sign(w))
        if now.fresh:
            first = motion.parts(tables.y)[1]
            tables.sides[0] = np.where(first == 0.0, signs, np.sign(first))
            now.fresh = 0
        self._read(y)
        force = motion.friction(y)
        for i in np.flatnonzero(signs != tables.sides[0]):
            v = float(w[i]) + motion.chain.belt_speed
            self._turned(int(i), t, [float(tables.sides[0, i]), float(x[i]), v, float(force[i])])
        tables.sides[0] = signs


def _newton(motion: Motion, y: Floats, part: float, off: Floats) -> Floats:
    """Return the step of Newton's method: what takes the linearised residual to zero."""
    derivative = motion.derivative(y)
    if y.size <= _DENSE:
        return np.asarray(np.linalg.solve(np.eye(y.size) - part * derivative.toarray(), -off))
    from scipy import sparse
    from scipy.sparse.linalg import splu

    matrix = sparse.eye_array(y.size, format="csc") - part * derivative
    return np.asarray(splu(matrix).solve(-off))


def _shortened(
    residual: Callable[[Floats], Floats], y: Floats, off: Floats, change: Floats, sizes: Floats
) -> tuple[Floats, Floats]:
    """Return the place after a Newton step, shortened until it brings the residual down."""
    size = float(np.max(np.abs(off) / sizes))
    share = 1.0
    for _ in range(_MOST_HALVINGS):
        there = y + share * change
        now = residual(there)
        if np.isfinite(now).all() and float(np.max(np.abs(now) / sizes)) < size:
            break
        share *= 0.5
    else:
        # a piece of the law further on may be the right one
        there = y + change
        now = residual(there)
    return there, now
