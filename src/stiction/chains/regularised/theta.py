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

from stiction.chains.regularised.accounting_kernels import account, creep, turned
from stiction.chains.regularised.collocation_kernels import (
    STAGES,
    factorise_newton,
    room_for_newton,
    solve_newton,
)
from stiction.chains.regularised.equations import Motion
from stiction.chains.regularised.integrator import Walk
from stiction.chains.regularised.state import WIDTH
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
_ONE = np.ones((1, 1))


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
        self._matrix = room_for_newton(self.tables.y.size, 1)
        self._weight = np.zeros((2, STAGES + 1))

    def _advance(self) -> None:
        tables, now, motion, h = self.tables, self.now, self.motion, self.h
        t, number = float(now.time), int(now.steps) + 1
        ends = self.request.t_end if number >= self.count else self.request.t_start + number * h
        middle = self._solve(t + self.theta * h)
        y = tables.y + (middle - tables.y) / self.theta
        if not np.isfinite(y).all():
            self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
            return
        motion.read(middle)
        power, plastic, storing = motion.powers(t + self.theta * h, middle)
        done = h * power
        lost, off = self._balance(t, ends, y, done, h * storing)
        self._save(y, t, ends, lost, done)
        account(now, tables.contacts, done, ends)
        now.lost += lost
        if off > now.worst:
            now.worst, now.worst_time = off, ends
        looks = np.array([0.0, self.theta, 1.0])
        force = np.array([motion.coefficients(place) for place in (tables.y, middle, y)])
        constant = np.tile(plastic, (STAGES + 1, 1))
        creep(now, tables.contacts, motion.model, t, h, looks, force, constant, self._weight)
        self._turn(y, ends)
        tables.y, now.time = y, ends
        now.steps += 1

    # ---- one step

    def _solve(self, t: float) -> Floats:
        """Return y_theta at the time t; one that is not found is counted."""
        tables, now, motion = self.tables, self.now, self.motion
        part = self.theta * self.h

        def residual(y: Floats) -> Floats:
            motion.read(y)
            return np.asarray(y - tables.y - part * motion.rates(t, y))

        y = tables.y.copy()
        off = residual(y)
        sizes = self._sizes()
        before = np.inf
        for _ in range(self.most):
            now.rounds += 1
            change = self._newton(y, part, off)
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

    def _newton(self, y: Floats, part: float, off: Floats) -> Floats:
        """Return the step of Newton's method: what takes the linearised residual to zero."""
        jac, change = self.motion.derivative(y), -off
        factorise_newton(jac, part, _ONE, *self._matrix)
        solve_newton(jac, _ONE, *self._matrix, change)
        return change

    def _sizes(self) -> Floats:
        """Return (size,) sizes of what is solved for, from the law's own scales."""
        motion = self.motion
        law, p = motion.law, motion.p
        table, run = np.empty((motion.n, WIDTH)), motion.model.numbers[0]
        table[:, 0] = max(float(np.abs(motion.parts(self.tables.y)[0]).max()), run.small)
        least = np.asarray(law.least_speed(p))
        table[:, 1] = least if least.any() else run.small / run.quickest
        table[:, 2] = 1.0 if least.any() else law.state_scale(p)
        return table.ravel()

    def _balance(
        self, t: float, ends: float, y: Floats, done: Floats, stored: float
    ) -> tuple[float, float]:
        """Return what the scheme takes out in the step, and by how much the energies miss [J]."""
        tables, now, motion = self.tables, self.now, self.motion
        before, after = motion.energies(t, tables.y), motion.energies(ends, y)
        # quadratic energies of the change
        dx, dw, _ = motion.parts(y - tables.y)
        lost = (2.0 * self.theta - 1.0) * motion.energies_of_change(dx, dw, ends - t)
        lost += stored - (after[2] - before[2])
        *heat, work, viscous = done
        grown = (after[0] + after[1]) - (before[0] + before[1])
        off = abs(grown - work + float(np.sum(heat)) + viscous + lost)
        spent = abs(now.work), tables.contacts["heat"].sum()
        now.largest = max(float(now.largest), *before[:2], *after[:2], abs(work), *spent)
        return lost, off

    # ---- what a step leaves

    def _save(self, y: Floats, t: float, ends: float, lost: float, done: Floats) -> None:
        """Keep the rows that lie in the step, on the straight line between its ends."""
        tables, now, motion = self.tables, self.now, self.motion
        first, last = int(now.saved), int(np.searchsorted(self.time, ends, side="right"))
        last = self.time.size if ends >= self.request.t_end else last
        if last <= first:
            return
        share = np.minimum((self.time[first:last] - t) / (ends - t), 1.0)[:, None]
        rows = slice(first, last)
        tables.kept[rows] = np.where(share == 1.0, y, tables.y + share * (y - tables.y))
        grown = np.array([*done[-2:], lost])
        tables.sums[rows, :3] = np.array([now.work, now.viscous, now.lost]) + share * grown
        start, end = np.array([motion.energies(t, tables.y), motion.energies(ends, y)])[:, :2]
        tables.sums[rows, 3:] = np.where(share == 1.0, end, start + share * (end - start))
        tables.heat[rows] = tables.contacts["heat"] + share * done[:-2]
        now.saved = last

    def _turn(self, y: Floats, t: float) -> None:
        """Note which masses slip the other way at the end of the step."""
        tables, now, motion = self.tables, self.now, self.motion
        x, w, _ = motion.parts(y)
        before = tables.sides[:, 0]
        signs = np.where(w == 0.0, before, np.sign(w))
        if now.fresh:
            first = motion.parts(tables.y)[1]
            before[:] = np.where(first == 0.0, signs, np.sign(first))
            now.fresh = 0
        motion.read(y)
        force = motion.friction(y)
        for i in map(int, np.flatnonzero(signs != before)):
            v = float(w[i]) + motion.chain.belt_speed
            tables.events.add(np.array([[t, i, before[i], x[i], v, force[i]]]))
            turned(tables.contacts[i], self.cycle)
            now.events += 1
        before[:] = signs


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
