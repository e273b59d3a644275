"""Pseudo-arclength steps: displacements and program time together, with a bordered Newton."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import Status
from stiction.methods import Quasistatic
from stiction.numerics.linear_solvers import LinearSolveError
from stiction.results.determinism import Loss
from stiction.solids._history import step_energies
from stiction.solids._newton import Limits, Probe, force_scale, search
from stiction.solids._problem import Problem, State, Trial
from stiction.solids._quasistatic_run import March
from stiction.solids.outcome import build_run

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.numerics.linear_solvers import Factors
    from stiction.results.run import Request, Run
    from stiction.solids.continuation import Continuation
    from stiction.solids.model import SolidSystem

__all__ = ["run_continuation"]

Floats = npt.NDArray[np.float64]

_EASY, _HARD = 7, 12
_GROWTH = 1.4
# difference of program time for what no derivative is known of: the ramp of attraction
_STEP = 1e-7


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


class Path:
    """The path of a solid from the last state of a march on.

    Parameters
    ----------
    march : load steps that led to the start, with their record
    method : arc lengths, tolerances, bounds
    end : program time at which the path ends
    """

    def __init__(self, march: March, method: Continuation, end: float) -> None:
        self.march, self.method, self.end = march, method, end
        self.problem: Problem = march.problem
        self.space = march.space
        self.limits = Limits(method.newton_tolerance, method.max_iterations)
        self.travelled = march.state.time
        self.iterations = self.cuts = self.steps = 0
        self.signs: list[float] = []

    # ------------------------------------------------------------ one arc

    def _by_time(self, trial: Trial, matrix: csr_matrix, state: State, t: float) -> Floats:
        """Return dr/dt of the free unknowns with everything prescribed moving along."""
        problem = self.problem
        h = _STEP * max(abs(self.end), 1.0)
        rate = (problem.prescribed(t + h) - problem.prescribed(t - h)) / (2.0 * h)
        load = (problem.loads(t + h) - problem.loads(t - h)) / (2.0 * h)
        found = matrix @ rate.ravel() - load.ravel()
        ramp = problem.assembled.attraction
        if ramp.at(t + h) != ramp.at(t - h):
            ahead, _ = problem.evaluate(state, trial.u, t + h, None, data=False)
            change = ahead.residual + problem.loads(t + h)
            found += ((change - trial.residual - problem.loads(t)) / h).ravel()
        return np.asarray(found)[problem.free]

    def _arc(self, state: State, first: Point, guess: Point, length: float) -> Arc:
        """Solve for the point at this arc length from the first one, near the guess."""
        problem, free = self.problem, self.problem.free
        t, u = guess
        u = np.where(problem.fixed, problem.prescribed(t), u)
        # the plane in which Newton's method looks: across the secant to the guess
        along_u = self.weight * (guess.u - first.u).ravel()[free] / length
        along_t = self.time_weight * (guess.t - first.t) / length
        residuals: list[float] = []
        trial, matrix = problem.evaluate(state, u, t, None, data=True)
        if trial.bad or not np.isfinite(trial.residual).all():
            return Arc(None, t, 0, (), None, None, "an element is inside out at the first guess")
        factors: Factors | None = None
        for iteration in range(self.limits.iterations):
            size = float(np.linalg.norm(trial.residual.ravel()[free])) / force_scale(problem, trial)
            residuals.append(size)
            if size <= self.limits.tolerance and iteration > 0:
                return Arc(trial, t, iteration, tuple(residuals), factors, matrix, "")
            assert matrix is not None
            by_time = self._by_time(trial, matrix, state, t)
            off = float(along_u @ (u - first.u).ravel()[free]) + along_t * (t - first.t) - length
            rest = trial.residual.ravel()[free]
            try:
                factors = self.space.factorise(problem.reduced(matrix))
                both = factors.solve(np.stack([-rest, -by_time], axis=1))
            except LinearSolveError:
                return Arc(None, t, iteration, tuple(residuals), None, None, "a singular tangent")
            dt = (-off - float(along_u @ both[:, 0])) / (along_t + float(along_u @ both[:, 1]))
            step = both[:, 0] + dt * both[:, 1]
            if not np.isfinite(dt) or not np.isfinite(step).all():
                return Arc(None, t, iteration, tuple(residuals), None, None, "a singular tangent")
            moved = self._advance(state, u, t, step, dt, float(rest @ step))
            if moved is None:
                reason = "no part of Newton's step keeps the elements from turning inside out"
                return Arc(None, t, iteration, tuple(residuals), None, None, reason)
            u, t, trial, matrix, _ = moved
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

    # ------------------------------------------------------------ the path

    def follow(self) -> None:
        """Follow the path until the program ends, or it cannot be followed."""
        record = self.march.record
        problem, method = self.problem, self.method
        state, trial = self.march.state, self.march.trial
        assert trial is not None
        first = Point(state.time, state.u)
        second = self._first_step(state, trial)
        if second is None:
            return
        scale = float(np.linalg.norm((second.u - first.u).ravel()[problem.free]))
        span = second.t - first.t
        # the first step has length one, half of its square each from places and time
        self.weight = 0.5 / max(scale, 1e-300) ** 2
        self.time_weight = 0.5 / span**2
        self._rising = True
        points = [first, second]
        length = 1.0
        state = self.march.state
        trial = self.march.trial
        assert trial is not None
        while state.time < self.end:
            if self.steps >= method.max_steps:
                record.status = Status.WORK_LIMIT
                record.reason = f"{self.steps} arcs were taken, the most allowed"
                return
            last, before = points[-1], points[-2]
            gone = self._length(before, last)
            length = min(length, method.longest)
            ahead = last.t + (last.t - before.t) * length / gone
            final = ahead >= self.end
            if final:
                length = max(length * (self.end - last.t) / (ahead - last.t), 1e-6)
            ratio = length / gone
            guess = Point(
                last.t + ratio * (last.t - before.t), last.u + ratio * (last.u - before.u)
            )
            arc = self._arc(state, last, guess, length)
            self.iterations += arc.iterations
            if arc.trial is None or abs(arc.t - last.t) > 20.0 * length * span:
                self.cuts += 1
                length *= 0.5
                if length < 0.5**method.max_cuts:
                    tail = ", ".join(f"{r:.1e}" for r in arc.residuals[-4:]) or "none"
                    record.status = Status.UNCONVERGED
                    record.reason = (
                        f"{arc.reason or 'the path breaks off'} at program time {last.t:.9g} "
                        f"after {method.max_cuts} cuts of the arc; last residuals {tail}"
                    )
                    return
                continue
            state, trial = self._accept(state, trial, arc, points)
            if arc.iterations <= _EASY:
                length *= _GROWTH
            elif arc.iterations > _HARD:
                length *= 0.6
            done = (max(point.t for point in points) - record.wanted[0]) / (
                self.end - record.wanted[0]
            )
            note = f"arc {self.steps}, {self.iterations} Newton iterations"
            self.march.request.progress(min(done, 1.0), note)
            points[:] = points[-3:]

    def _length(self, a: Point, b: Point) -> float:
        free = self.problem.free
        square = self.weight * float(np.sum((b.u - a.u).ravel()[free] ** 2))
        return float(np.sqrt(square + self.time_weight * (b.t - a.t) ** 2))

    def _first_step(self, state: State, trial: Trial) -> Point | None:
        """Take one small load step, and return where it leads."""
        march = self.march
        span = (self.end - state.time) / self.method.steps
        for _ in range(self.method.max_cuts + 1):
            target = state.time + span
            outcome = march.attempt(target, smooth=False)
            if outcome.trial is not None:
                march.accept(outcome, target)
                self.travelled = target
                return Point(target, march.state.u)
            span *= 0.5
        march.give_up(outcome, target)
        return None

    def _accept(
        self, state: State, before: Trial, arc: Arc, points: list[Point]
    ) -> tuple[State, Trial]:
        trial = arc.trial
        assert trial is not None
        problem, march = self.problem, self.march
        march.energy = step_energies(problem, before, trial, (state.time, arc.t), march.energy)
        new = problem.accepted(state, trial, arc.t)
        rising = arc.t >= state.time
        self.travelled += abs(arc.t - state.time)
        self.steps += 1
        extra = {"program_time": arc.t, "sign_of_determinant": self._sign(arc)}
        march.record.add(
            new,
            trial,
            march.energy,
            arc.iterations,
            arc.residuals[-1],
            at=self.travelled,
            extra=extra,
        )
        points.append(Point(arc.t, new.u))
        if rising != self._rising:
            self._limit_point(points)
            self._rising = rising
        return new, trial

    def _sign(self, arc: Arc) -> float:
        """Return the sign of the tangent's determinant, NaN where it is not told."""
        if not self.method.stability or arc.factors is None:
            return float("nan")
        return float(arc.factors.sign)

    def _limit_point(self, points: list[Point]) -> None:
        """Tell where the program's time turned, by a parabola through three points."""
        a, b, c = points[-3:]
        s1, s2 = self._length(a, b), self._length(b, c)
        slope1, slope2 = (b.t - a.t) / s1, (c.t - b.t) / s2
        bend = (slope2 - slope1) / (0.5 * (s1 + s2))
        top = b.t
        if bend != 0.0:
            here = slope1 + bend * 0.5 * s1
            top = b.t - 0.5 * here * here / bend
        problem, record = self.problem, self.march.record
        readings = problem.assembled.readings
        where: dict[str, object] = {"program_time": top, "displacement": top}
        if readings.displacement is not None:
            condition = problem.assembled.conditions[readings.displacement]
            where["displacement"] = condition.program.at(top)  # type: ignore[attr-defined]
        if record.last is not None:
            for name in ("force_x", "force_y", "contact_length"):
                if name in record.last.curves:
                    where[name] = record.last.curves[name]
        record.losses.append(
            Loss(self.travelled, "limit_point", where, "the path was followed around it")
        )


def run_continuation(system: SolidSystem, method: Continuation, request: Request) -> Run:
    """Return the run of a solid along its path of equilibria."""
    import dataclasses

    problem = Problem(system.assembled())
    start = max(problem.assembled.readings.start, request.t_start)
    steps = Quasistatic(
        steps=max(1, round(method.steps * max(start - request.t_start, 0.0) / request.t_end) or 1),
        max_cuts=method.max_cuts,
        newton_tolerance=method.newton_tolerance,
        max_iterations=method.max_iterations,
        solver=method.solver,
    )
    marks = np.array([request.t_start, max(start, request.t_start)])
    first = dataclasses.replace(request, t_end=start, save=np.unique(marks), every_step=True)
    march = March(problem, steps, first, end=request.t_end)
    try:
        if march.lead() and start < request.t_end:
            path = Path(march, method, request.t_end)
            try:
                path.follow()
            finally:
                march.iterations += path.iterations
                march.steps += path.steps
                march.cuts += path.cuts
    finally:
        march.close()
    return build_run(system, method, problem, march.record)
