"""Newton's method for displacements and program time together: the bordered system.

Source: Keller 1977; Riks 1979.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.continuation import bordered
from stiction.numerics.linear_solvers import LinearSolveError
from stiction.numerics.vectors import inner, size_of
from stiction.solids.contact import sweeps as k
from stiction.solids.equilibria.newton import Limits, Probe, Solving, force_scale, search
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.readings import columns

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors

__all__ = [
    "BEYOND",
    "Arc",
    "Bordered",
    "ByAdhesion",
    "ByLength",
    "ByTime",
    "Control",
    "Point",
    "adhesive_slope",
]

Floats = npt.NDArray[np.float64]

# difference of program time for what no derivative is known of: the ramp of attraction
_STEP = 1e-7
BEYOND = "the path leads beyond the end of a program's slope"


class Point(NamedTuple):
    """A point of the path: program time and displacements."""

    t: float
    u: Floats


class Arc(NamedTuple):
    """What came of one arc; `trial` is None unless it converged."""

    trial: Trial | None
    t: float
    iterations: int
    residuals: tuple[float, ...]
    factors: Factors | None
    matrix: csr_matrix | None
    reason: str


class ByLength(NamedTuple):
    """The arc has a given length: the point lies in a plane across the way to the guess."""

    problem: Problem
    first: Point
    along_u: Floats
    along_t: float
    size: float

    def at(self, trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return how far off a trial is, and its derivatives by free unknowns and by time."""
        moved = (trial.u - self.first.u).ravel()[self.problem.free]
        off = inner(self.along_u, moved) + self.along_t * (t - self.first.t) - self.size
        return off, self.along_u, self.along_t


class ByAdhesion(NamedTuple):
    """Adhesion gives up a given energy: what peels cannot come back, whatever the load does."""

    problem: Problem
    before: float
    size: float

    def at(self, trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return how far off a trial is, and its derivatives by free unknowns and by time."""
        energy, slope = adhesive_slope(self.problem, trial)
        return energy - self.before - self.size, slope.ravel()[self.problem.free], 0.0


class ByTime(NamedTuple):
    """The program has a given time, as in a load step: it is met to the last digit."""

    problem: Problem
    goal: float
    size: float

    def at(self, _trial: Trial, t: float) -> tuple[float, Floats, float]:
        """Return how far off a trial is, and its derivatives by free unknowns and by time."""
        return t - self.goal, np.zeros(self.problem.free.size), 1.0


Control = ByLength | ByAdhesion | ByTime


def adhesive_slope(problem: Problem, trial: Trial) -> tuple[float, Floats]:
    """Return the adhesive energy [J/m] and its derivatives by displacements (nodes, d) [N/m]."""
    slope = np.zeros((problem.size, problem.dim))
    energy = 0.0
    for p, out in zip(problem.passes, trial.outs, strict=True):
        share = 1.0 if p.partner.rigid else 0.5
        energy += share * float(out[:, k.POTENTIAL].sum())
        pull = -out[:, k.WEIGHT] * out[:, k.PRESSURE] * out[:, k.STRETCH]
        force = pull[:, None] * out[:, columns(k.NORMAL_X, p.dim)]
        s, q = p.own.areas.shape
        onto = np.einsum("sqn,sqd->snd", p.own.functions, force.reshape(s, q, p.dim))
        np.add.at(slope, p.own.nodes.ravel(), onto.reshape(-1, p.dim))
        if p.partner.rigid:
            slope[p.partner.node] -= force.sum(axis=0)
    return energy, problem.unknowns.forces(slope)


class Bordered:
    """Displacements and program time as unknowns, and one more equation: the control.

    Parameters
    ----------
    problem, space, limits : the equations, a linear solver, and when Newton's method ends
    end : program time that scales differences
    """

    def __init__(self, problem: Problem, space: Solving, limits: Limits, end: float) -> None:
        self.problem, self.space, self.limits, self.end = problem, space, limits, end

    def by_time(self, trial: Trial, matrix: csr_matrix, state: State, t: float) -> Floats:
        """Return dr/dt of the free unknowns with everything prescribed moving along."""
        problem = self.problem
        h = _STEP * max(abs(self.end), 1.0)
        rate = (problem.prescribed(t + h) - problem.prescribed(t - h)) / (2.0 * h)
        moved = problem.unknowns.displacements(trial.u)
        now = problem.loads(t, moved)
        load = (problem.loads(t + h, moved) - problem.loads(t - h, moved)) / (2.0 * h)
        found = matrix @ rate.ravel() - load.ravel()
        if problem.drifts(t, h):
            ahead, _ = problem.evaluate(state, trial.u, t + h, None, data=False)
            change = ahead.residual + problem.loads(t + h, moved)
            found += ((change - trial.residual - now) / h).ravel()
        return np.asarray(found)[problem.free]

    def arc(self, state: State, guess: Point, control: Control, goal: float) -> Arc:
        """Solve for the point at which the control has its value, near the guess.

        Parameters
        ----------
        state : the last accepted one
        goal : program time beyond which programs go another way, or stay as they are
        """
        problem, free = self.problem, self.problem.free
        t, u = guess
        u = np.where(problem.fixed, problem.prescribed(t), u)
        residuals: list[float] = []
        trial, matrix = problem.evaluate(state, u, t, None, data=True)
        if trial.bad or not np.isfinite(trial.residual).all():
            return Arc(None, t, 0, (), None, None, "an element is inside out at the first guess")
        factors: Factors | None = None
        for iteration in range(self.limits.iterations):
            size = size_of(trial.residual.ravel()[free]) / force_scale(problem, trial)
            residuals.append(size)
            off, along_u, along_t = control.at(trial, t)
            if size <= self.limits.tolerance and iteration > 0 and abs(off) <= 1e-6 * control.size:
                return Arc(trial, t, iteration, tuple(residuals), factors, matrix, "")
            assert matrix is not None
            by_time = self.by_time(trial, matrix, state, t)
            rest = trial.residual.ravel()[free]
            try:
                factors = self.space.factorise(problem.reduced(matrix))
                both = factors.solve(np.stack([-rest, by_time], axis=1))
            except LinearSolveError:
                return Arc(None, t, iteration, tuple(residuals), None, None, "a singular tangent")
            try:
                step, dt = bordered(both, along_u, along_t, -off)
            except np.linalg.LinAlgError:
                reason = "the control does not feel the load"
                return Arc(None, t, iteration, tuple(residuals), None, None, reason)
            if not np.isfinite(dt) or not np.isfinite(step).all():
                return Arc(None, t, iteration, tuple(residuals), None, None, "a singular tangent")
            moved = self._advance(state, u, t, step, dt, inner(rest, step))
            if moved is None:
                reason = "no part of Newton's step keeps the elements from turning inside out"
                return Arc(None, t, iteration, tuple(residuals), None, None, reason)
            u, t, trial, matrix, _ = moved
            if t > goal:
                # programs go another way from here on, or stay as they are
                return Arc(None, t, iteration, tuple(residuals), None, None, BEYOND)
        reason = "Newton's method did not converge"
        return Arc(None, t, self.limits.iterations, tuple(residuals), None, None, reason)

    def _advance(
        self, state: State, u: Floats, t: float, step: Floats, dt: float, start: float
    ) -> Probe | None:
        """Return where a step of displacements and time leads."""
        problem, free = self.problem, self.problem.free

        def probe(part: float) -> Probe:
            new_t = t + part * dt
            new = u.ravel().copy()
            new[free] += part * step
            tried = np.where(problem.fixed, problem.prescribed(new_t), new.reshape(u.shape))
            trial, matrix = problem.evaluate(state, tried, new_t, None, data=True)
            return Probe(tried, new_t, trial, matrix, part)

        return search(probe, free, step, start)
