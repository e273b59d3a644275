"""Integrator of chains without stick by the theta scheme: fixed steps with an energy identity.

    y_{l+1} - y_l = h f(t_l + theta h, y_theta),  y_theta = theta y_{l+1} + (1 - theta) y_l

with the state y of `equations`: displacements, slip rates and states of the law. Each step solves
y_theta - y_l - theta h f(t_l + theta h, y_theta) = 0 for y_theta by Newton's method. The law is
continuous where it is not smooth, so that Newton's method uses the smooth branch that contains
y_theta. `run.solve_in_steps` calls it for `ThetaStepper`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.chains.regularised.accounting_kernels import account, creep, end_half_cycle
from stiction.chains.regularised.collocation_kernels import (
    STAGES,
    factorise_newton,
    room_for_newton,
    solve_newton,
)
from stiction.chains.regularised.equations import Equations
from stiction.chains.regularised.integrator import Integrator
from stiction.chains.regularised.state import WIDTH
from stiction.core.run import Request
from stiction.errors import Status

if TYPE_CHECKING:
    from stiction.chains.methods import ThetaStepper

__all__ = ["ThetaIntegrator"]

Floats = npt.NDArray[np.float64]

# Newton's method has converged if no unknown changes by more than this fraction of its size
_EXACT, _NEARLY = 1e-14, 1e-10
_MOST_HALVINGS = 8
_ONE = np.ones((1, 1))


class ThetaIntegrator(Integrator):
    """Integrator of one run.

    Parameters
    ----------
    equations : the equations
    method : step and theta
    request : time span and save times
    """

    def __init__(self, equations: Equations, method: ThetaStepper, request: Request) -> None:
        count, h = request.number_of_steps("ThetaStepper", method.step, method.max_steps)
        super().__init__(equations, request, method.max_steps, method.max_events, 1)
        self.count, self.h, self.theta = count, h, method.theta
        self.most = method.max_solves
        self._matrix = room_for_newton(self.tables.y.size, 1)
        self._weight = np.zeros((2, STAGES + 1))

    def _advance(self) -> None:
        """Make one step, from `t` to `ends`; `middle` is y_theta."""
        tables, now, equations, h = self.tables, self.now, self.equations, self.h
        t, number = float(now.time), int(now.steps) + 1
        ends = self.request.t_end if number >= self.count else self.request.t_start + number * h
        middle = self._solve(t + self.theta * h)
        y = tables.y + (middle - tables.y) / self.theta
        if not np.isfinite(y).all():
            self._end(Status.NOT_FINITE, "the state left the range of finite numbers")
            return
        # energies of the step: its length times the powers at y_theta
        equations.read(middle)
        power, plastic, storing = equations.powers(t + self.theta * h, middle)
        done = h * power
        lost, off = self._balance(t, ends, y, done, h * storing)
        self._save(y, t, ends, lost, done)
        account(now, tables.contacts, done, ends)
        now.lost += lost
        if off > now.worst:
            now.worst, now.worst_time = off, ends
        fractions = np.array([0.0, self.theta, 1.0])
        force = np.array([equations.coefficients(place) for place in (tables.y, middle, y)])
        constant = np.tile(plastic, (STAGES + 1, 1))
        creep(now, tables.contacts, equations.model, t, h, fractions, force, constant, self._weight)
        self._turn(y, ends)
        tables.y, now.time = y, ends
        now.steps += 1

    # ---- one step

    def _solve(self, t: float) -> Floats:
        """Return y_theta at time t; count the step if Newton's method does not converge."""
        tables, now, equations = self.tables, self.now, self.equations
        part = self.theta * self.h

        def residual(y: Floats) -> Floats:
            equations.read(y)
            return np.asarray(y - tables.y - part * equations.rates(t, y))

        # Newton's method with a line search, from the state at the start of the step. Its smooth
        # branch, the signs of the switching functions, follows the iterate
        y = tables.y.copy()
        off = residual(y)
        sizes = self._sizes()
        before = np.inf
        for _ in range(self.most):
            now.rounds += 1
            change = self._newton(y, part, off)
            moved = float(np.max(np.abs(change) / np.maximum(sizes, np.abs(y))))
            if moved <= _NEARLY:
                # the residual consists of rounding
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
        """Return the Newton step: the root of the linearised residual."""
        jac, change = self.equations.derivative(y), -off
        factorise_newton(jac, part, _ONE, *self._matrix)
        solve_newton(jac, _ONE, *self._matrix, change)
        return change

    def _sizes(self) -> Floats:
        """Return (size,) scales of the unknowns, from the scales of the law."""
        equations = self.equations
        law, p = equations.law, equations.p
        table, run = np.empty((equations.n, WIDTH)), equations.model.numbers[0]
        table[:, 0] = max(float(np.abs(equations.parts(self.tables.y)[0]).max()), run.small)
        least = np.asarray(law.least_speed(p))
        table[:, 1] = least if least.any() else run.small / run.quickest
        table[:, 2] = 1.0 if least.any() else law.state_scale(p)
        return table.ravel()

    def _balance(
        self, t: float, ends: float, y: Floats, done: Floats, stored: float
    ) -> tuple[float, float]:
        """Return the numerical dissipation of the step, and the imbalance of its energies [J].

        Parameters
        ----------
        t, ends : start and end of the step [s]
        y : (size,) state at its end
        done : (n + 2,) friction heat of each mass, external work and viscous heat of the step [J]
        stored : energy that the power at y_theta stores in the states of the law [J]
        """
        tables, now, equations = self.tables, self.now, self.equations
        before, after = equations.energies(t, tables.y), equations.energies(ends, y)
        # the scheme dissipates (2 theta - 1) times the energies of the change
        dx, dw, _ = equations.parts(y - tables.y)
        lost = (2.0 * self.theta - 1.0) * equations.energies_of_change(dx, dw, ends - t)
        # the energy in the states of the law is no quadratic form: its change differs from the
        # power at y_theta times h
        lost += stored - (after[2] - before[2])
        *heat, work, viscous = done
        grown = (after[0] + after[1]) - (before[0] + before[1])
        off = abs(grown - work + float(np.sum(heat)) + viscous + lost)
        spent = abs(now.work), tables.contacts["heat"].sum()
        now.largest = max(float(now.largest), *before[:2], *after[:2], abs(work), *spent)
        return lost, off

    # ---- end of a step

    def _save(self, y: Floats, t: float, ends: float, lost: float, done: Floats) -> None:
        """Save the samples inside the step, by linear interpolation between its ends."""
        tables, now, equations = self.tables, self.now, self.equations
        first, last = int(now.saved), int(np.searchsorted(self.time, ends, side="right"))
        last = self.time.size if ends >= self.request.t_end else last
        if last <= first:
            return
        fraction = np.minimum((self.time[first:last] - t) / (ends - t), 1.0)[:, None]
        samples = slice(first, last)
        tables.kept[samples] = np.where(fraction == 1.0, y, tables.y + fraction * (y - tables.y))
        grown = np.array([*done[-2:], lost])
        tables.sums[samples, :3] = np.array([now.work, now.viscous, now.lost]) + fraction * grown
        start, end = np.array([equations.energies(t, tables.y), equations.energies(ends, y)])[:, :2]
        tables.sums[samples, 3:] = np.where(fraction == 1.0, end, start + fraction * (end - start))
        tables.heat[samples] = tables.contacts["heat"] + fraction * done[:-2]
        now.saved = last

    def _turn(self, y: Floats, t: float) -> None:
        """Record the masses whose slip rate changes sign in the step."""
        tables, now, equations = self.tables, self.now, self.equations
        x, w, _ = equations.parts(y)
        before = tables.sides[:, 0]
        signs = np.where(w == 0.0, before, np.sign(w))
        if now.fresh:
            first = equations.parts(tables.y)[1]
            before[:] = np.where(first == 0.0, signs, np.sign(first))
            now.fresh = 0
        equations.read(y)
        force = equations.friction(y)
        for i in map(int, np.flatnonzero(signs != before)):
            v = float(w[i]) + equations.chain.belt_speed
            tables.events.add(np.array([[t, i, before[i], x[i], v, force[i]]]))
            end_half_cycle(tables.contacts[i], self.cycle)
            now.events += 1
        before[:] = signs


def _shortened(
    residual: Callable[[Floats], Floats], y: Floats, off: Floats, change: Floats, sizes: Floats
) -> tuple[Floats, Floats]:
    """Return state and residual after a Newton step, halved until the residual decreases.

    off, change : residual at the state y, and the full Newton step
    sizes : sizes of the entries, by which residuals are divided
    """
    size = float(np.max(np.abs(off) / sizes))
    fraction = 1.0
    for _ in range(_MOST_HALVINGS):
        there = y + fraction * change
        now = residual(there)
        if np.isfinite(now).all() and float(np.max(np.abs(now) / sizes)) < size:
            break
        fraction *= 0.5
    else:
        # the full step may reach the right smooth branch of the law
        there = y + change
        now = residual(there)
    return there, now
