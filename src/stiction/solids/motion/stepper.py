"""From step to step of time: lengths follow the local error, and every step tells its energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.core.determinism import Loss
from stiction.solids.equilibria.history import Energies, energies_at
from stiction.solids.equilibria.load_steps import March
from stiction.solids.equilibria.newton import Outcome, force_scale, solve_step
from stiction.solids.equilibria.problem import Trial
from stiction.solids.equilibria.stability import unstable
from stiction.solids.many.continuous_collision import TUNNELLING
from stiction.solids.motion.balance import Moved, balance, kick_energies
from stiction.solids.motion.problem import MovingProblem, Step
from stiction.solids.motion.starts import find_start

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.core.run import Request
    from stiction.numerics.linear_solvers import Workspace
    from stiction.solids.methods import GeneralisedAlpha

__all__ = ["Motion"]

Floats = npt.NDArray[np.float64]

_GROWTH, _SHRINK, _SAFE = 1.5, 0.2, 0.9
# iterations of Newton's method beyond which the next step is shorter
_HARD = 10
# of the length of the bodies: displacements below count as none where nothing touches
_STILL = 1e-3
# part of a motion along an unstable way from which on it goes that way
_ALONG = 1e-6
# part of the length of the bodies: motions along such a way that are as small are rounding
_NOISE = 1e-10
# part of displacements that counts along such a way, whatever Newton's method leaves
_LOOSE = 1e-3
# what rounding leaves, step after step, over that of one step
_ROUNDS = 4.0
_UNCOUNTED = "unstable ways were not counted"
# part of velocities by which that of a support must change to count
_KICK = 1e-9
# energy that may be missing, that the scheme may take, and local error, over their scales
_CLOSES, _TAKES, _RESOLVED = 1e-6, 0.05, 1e-2


class Motion(March):
    """A solid with mass followed step by step.

    Parameters
    ----------
    problem : the equations
    method : the scheme, step lengths, tolerances
    request : when to start, end and save
    """

    def __init__(self, problem: MovingProblem, method: GeneralisedAlpha, request: Request) -> None:
        super().__init__(problem, method, request)
        self.moving, self.scheme = problem, method
        self.v, self.a = np.zeros((2, problem.size, problem.dim))
        self.rejected, self.worst, self.farthest, self.bent = 0, 0.0, 0.0, 0.0
        # forces out of equilibrium at the start, over those in equilibrium
        self.unbalanced = 0.0
        self.total = float(problem.mass.sum()) / problem.dim

    # ------------------------------------------------------------ what a step needs

    def take_passes(self) -> None:
        """Take note of how bodies touch, and of the range of the laws."""
        super().take_passes()
        laws = [p.contact.adhesion for p in self.problem.passes]
        self.range = min((float(law.length) for law in laws), default=0.0)
        self.aside: MovingProblem | None = None

    def _slopes(self, t: float) -> Floats:
        """Return velocities of what is prescribed, just after a time (nodes, d) [m/s]."""
        ahead = self.marks[self.marks > t]
        end = float(ahead[0]) if ahead.size else t + 1.0
        return (self.problem.prescribed(end) - self.problem.prescribed(t)) / (end - t)

    def _force(self) -> Floats:
        """Return what resists at the last state, dampers and all [N/m]."""
        assert self.trial is not None
        pots = self.moving.dashpots(self.trial)
        return self.trial.residual + self.moving.resisted(pots, self.v)

    def _accelerate(self) -> None:
        self.a = self.moving.accelerated(self._force())

    def _length(self, moved: Floats) -> float:
        """Return the size of displacements, weighted by mass [m]."""
        return float(np.sqrt(np.sum(moved * self.moving.weigh(moved)) / self.total))

    def _error(self, dt: float, a: Floats) -> float:
        """Return the local error of a step over the range of adhesion or of the motion [1].

        Source: Zienkiewicz, Xie 1991.
        """
        beta, free = self.scheme.weights().beta, np.where(self.problem.fixed, 0.0, a - self.a)
        part, still = abs(beta - 1.0 / 6.0) * dt * dt, _STILL * self.problem.largest_length
        if self.range > 0.0:
            return part * self._length(free) / self.range
        whole = self._length(free) / max(self.farthest, still)
        # how far bodies fly says nothing of how they change their shape
        return part * max(whole, self.moving.bent(free) / max(self.bent, still))

    # ------------------------------------------------------------ steps

    def _begin(self) -> bool:
        """Find equilibrium at the start, throw what is thrown, and save the first sample."""
        given = self.moving.moving.velocities
        first, self.unbalanced = find_start(self, given)
        if first is None:
            return False
        self.trial = first
        if given is not None:
            for i, velocity in enumerate(given):
                self.v[self.problem.first[i] : self.problem.first[i + 1]] = velocity
        self.v = self.moving.kicked(self.v, self._slopes(self.state.time))
        self._accelerate()
        start = energies_at(self.problem, first, self.state.time)
        self.energy = start._replace(kinetic=self.moving.kinetic(self.v))
        self.record.add(self.state, self._told(first, self.v, self.a), self.energy, self.iterations)
        return True

    def _told(self, trial: Trial, v: Floats, a: Floats) -> Trial:
        """Return a trial with what supports carry, inertia and all, as its residual."""
        resists = self.moving.resisted(self.moving.dashpots(trial), v)
        return trial._replace(residual=trial.residual + resists + self.moving.weigh(a))

    def _solve(
        self, problem: MovingProblem, space: Workspace, target: float
    ) -> tuple[Outcome, Moved | None]:
        """Solve a step of time from the last state; nothing is committed."""
        assert self.trial is not None
        dt = target - self.state.time
        step = Step(dt, self.state.u, self.v, self.a, self._force(), self.scheme.weights())
        guesses = (step.predicted(), None)
        for guess in guesses:
            problem.begin(step)
            made = None
            try:
                outcome = solve_step(problem, self.state, target, guess, self.limits, space)
                made = outcome.trial
            finally:
                rest = problem.end(made)
            self.iterations += outcome.iterations
            if made is not None and rest is not None:
                v, a = step.rates(made.u)
                return outcome, Moved(self.trial, rest, made.residual, v, a)
        return outcome, None

    def _balance(self, moved: Moved, target: float) -> Energies:
        dt = target - self.state.time
        step = Step(dt, self.state.u, self.v, self.a, self.v, self.scheme.weights())
        times = (self.state.time, target)
        return balance(self.moving, self.state, step, moved, times, self.energy)

    def _step(self) -> bool:
        """Take one step of time, as short as it has to be; return whether it was found."""
        self.enter()
        while True:
            t = self.state.time
            target = self._target(t, min(self.dt, self.most))
            dt = target - t
            outcome, moved = self._solve(self.moving, self.space, target)  # type: ignore[arg-type]
            if moved is not None and self.ways.tunnels(self.state.u, moved.after.u):
                outcome, moved = Outcome(None, outcome.iterations, (), TUNNELLING), None
            if moved is None:
                self.cuts += 1
                self.dt, ratio = 0.5 * dt, np.inf
            else:
                error = self._error(dt, moved.a)
                ratio = 0.0 if self.scheme.tolerance is None else error / self.scheme.tolerance
                if ratio <= 1.0:
                    if self.meets(moved.after.u):
                        continue
                    break
                self.rejected += 1
                self.dt = dt * max(_SHRINK, _SAFE * ratio ** (-1.0 / 3.0))
            if self.dt < self.least:
                self.give_up(outcome, target)
                if moved is not None:
                    self.record.reason = f"the local error stays above its tolerance at t = {t:.9g}"
                return False
        self.unfound += self._beside(target)
        self.worst = max(self.worst, error)
        self._commit(outcome, moved, target)
        factor = min(_GROWTH, _SAFE * max(ratio, 1e-6) ** (-1.0 / 3.0))
        longer = dt * (min(factor, 0.6) if outcome.iterations > _HARD else factor)
        # a step cut short by a mark says nothing of the next one
        self.dt = longer if dt > 0.999 * min(self.dt, self.most) else max(longer, self.dt)
        return True

    def _commit(self, outcome: Outcome, moved: Moved, target: float) -> None:
        """Take a step as done."""
        self.energy = self._balance(moved, target)
        self.state = self.problem.accepted(self.state, moved.after, target)
        self.trial, self.v, self.a = moved.after, moved.v, moved.a
        self.farthest = max(self.farthest, self._length(moved.after.u))
        self.bent = max(self.bent, self.moving.bent(moved.after.u))
        if target < self.request.t_end and not self._stage_ends(target):
            self._follow_supports(target)
        self.steps += 1
        told = self._told(moved.after, self.v, self.a)
        residual = outcome.residuals[-1] if outcome.residuals else 0.0
        # what rounding leaves is no want of balance: bodies in flight have no other forces
        noise = self.limits.tolerance * self.moving.moving_floor + self.moving.rounding
        residual = max(0.0, residual - _ROUNDS * noise / force_scale(self.moving, told))
        self.record.add(self.state, told, self.energy, outcome.iterations, residual)
        if self.scheme.stability:
            self._look_for_ways()

    def _look_for_ways(self) -> None:
        """Tell a way that balance has lost its hold on, if the motion has not gone that way.

        A snap goes along its unstable way, and is decided. What stays beside, as a column upright
        by symmetry, is decided by rounding.
        """
        problem, t = self.moving, self.state.time
        if not problem.free.size:
            return
        if not self.watch.symmetric(problem, t):
            self.watch.unseen = f"{_UNCOUNTED}: friction acts, or bodies touch each other"
            return
        assert self.trial is not None
        _, matrix = problem.evaluate(self.state, self.state.u, t, None, data=True)
        told = self.watch.unseen
        now = self.watch.ways(problem, t, matrix, None)
        before = self.watch.change_to(now)
        if now is None or not now.counted:
            # signs are of no use here
            self.watch.unseen = f"{_UNCOUNTED} where the tangent is singular"
            return
        self.watch.unseen = told
        if before is None or now.number <= before.number:
            return
        assert matrix is not None
        reduced = problem.reduced(matrix)
        # what has become unstable last lies nearest to zero
        new = unstable(self.watch.space, reduced, now.number)[: now.number - before.number]
        rates = [rate for way in new if (rate := self._taken(way, reduced)) is not None]
        if not rates:
            return
        first = self.record.path[0].time if self.record.path else t
        where: dict[str, object] = {
            "program_time": t,
            "from": max(first, self.record.path[-2].time if len(self.record.path) > 1 else t),
            "to": t,
            "unstable_ways": now.number,
            "growth_rate": max(rates),
        }
        choice = "the motion went on as it was; what leads off this way would grow"
        self.record.losses.append(Loss(t, "bifurcation", where, choice))

    def _taken(self, way: Floats, matrix: csr_matrix) -> float | None:
        """Return how fast an unstable way grows [1/s], None if the motion goes along it.

        Parameters
        ----------
        way : (free,) of length 1
        matrix : tangent of the free unknowns
        """
        problem = self.moving
        assert self.trial is not None
        mode = np.zeros_like(self.v)
        mode.reshape(-1)[problem.free] = way
        size = self._length(mode)
        if not size > 0.0:
            return 0.0
        weighed = problem.weigh(mode) / (size * self.total)
        square = float(way @ (matrix @ way)) / (size**2 * self.total)
        growth = float(np.sqrt(max(-square, 0.0)))
        # what Newton's method leaves, and rounding, is largest along what is soft
        force = self.limits.tolerance * force_scale(problem, self.trial)
        loose = force / (abs(square) * self.total)
        u, v = (np.where(problem.fixed, 0.0, moved) for moved in (self.state.u, self.v))
        noise = max(min(loose, _LOOSE * self._length(u)), _NOISE * problem.largest_length)
        for moved, rate in ((v, growth), (u, 1.0)):
            along = abs(float(np.sum(weighed * moved)))
            if along > max(_ALONG * self._length(moved), noise * rate):
                return None
        return growth

    def _stage_ends(self, t: float) -> bool:
        return bool(self.stages) and t >= self.stages[self.problem.stage].until

    def enter(self) -> None:
        """Go on with the next stage: what it holds stops at once, what it lets go moves on."""
        before, unknowns = self.problem.stage, self.problem.unknowns
        super().enter()
        if self.problem.stage == before:
            return
        self.aside = None
        v = self.problem.unknowns.values(unknowns.displacements(self.v))
        self.v = self.moving.kicked(v, self._slopes(self.state.time))
        self.energy = kick_energies(self.moving, v, self.v, self.energy)
        self._accelerate()

    def _follow_supports(self, t: float) -> None:
        """Let supports move as their programs say, to the last digit; a new slope is a kick."""
        slopes, fixed = self._slopes(t), self.problem.fixed
        change = np.abs(np.where(fixed, slopes - self.v, 0.0)).max(initial=0.0)
        if t in self.corners and change > _KICK * np.abs(slopes).max(initial=np.abs(self.v).max()):
            kicked = self.moving.kicked(self.v, slopes)
            self.energy = kick_energies(self.moving, self.v, kicked, self.energy)
            self.v = kicked
            self._accelerate()
            return
        self.v = np.where(fixed, slopes, self.v)
        self.a = np.where(fixed, 0.0, self.a)

    def _beside(self, target: float) -> int:
        """Keep the rows asked for within a step, each by a step of its own; count the missed."""
        missed = 0
        for at in self.record.asked_between(self.state.time, target):
            if self.aside is None:
                self.aside = MovingProblem(self.moving.moving, self.scheme.lumped)
                self.aside.widen(self.problem.assembled)
                if self.stages:
                    self.aside.enter(self.problem.stage, self.problem.base, self.problem.angles)
            space = self.solver.start()
            try:
                outcome, moved = self._solve(self.aside, space, at)
                self.factorised += space.factorisations
            finally:
                space.close()
            if moved is None:
                missed += 1
                continue
            energy = self._balance(moved, at)
            told = self._told(moved.after, moved.v, moved.a)
            self.record.between(told, at, energy, outcome.iterations)
        return missed

    # ------------------------------------------------------------ checkpoints

    def more(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a checkpoint of a motion needs besides."""
        return {
            "motion": np.array(
                [self.rejected, self.worst, self.farthest, self.bent, self.unbalanced]
            ),
            "motion_rates": np.stack([self.v, self.a]),
        }

    def back(self, kept: dict[str, npt.NDArray[Any]]) -> None:
        """Take back what `more` returned."""
        self.rejected = int(kept["motion"][0])
        self.worst, self.farthest, self.bent, self.unbalanced = map(float, kept["motion"][1:])
        self.v, self.a = kept["motion_rates"].copy()

    def close(self) -> None:
        """Count the work and keep the last state."""
        if not self.scheme.stability:
            self.watch.unseen = f"{_UNCOUNTED}: stability=False"
        super().close()
        self.record.stats["rejected_steps"] = self.rejected

    def checks(self) -> list[Check]:
        """Return what the audit asks of a motion."""
        path = self.record.path
        energies = [row.energy for row in path]
        scale, missing, taken = 1e-300, 0.0, 0.0
        for e in energies:
            heat, first = sum(e.heat), energies[0]
            change = e.kinetic + e.stored + e.adhesive
            change -= first.kinetic + first.stored + first.adhesive
            missing = max(missing, abs(change - e.work + heat + e.viscous + e.algorithmic))
            parts = (e.kinetic, e.stored, e.adhesive, e.work, heat, e.viscous, e.algorithmic)
            scale = max(scale, *(abs(part) for part in parts))
            taken = max(taken, abs(e.algorithmic))
        closed, ratio = float(missing / scale), float(taken / scale)
        note = "largest energy imbalance over the largest energy"
        found = [Check("ledger_closes", bool(closed <= _CLOSES), closed, _CLOSES, None, note)]
        note = "energy that the time scheme took out or put in, over the largest energy"
        found.append(
            Check("numerical_dissipation_small", bool(ratio <= _TAKES), ratio, _TAKES, None, note)
        )
        note = "largest local error of a step over the range of adhesion, or over the motion"
        ok = bool(self.worst <= _RESOLVED)
        found.append(Check("motion_resolved", ok, self.worst, _RESOLVED, None, note))
        note = (
            "forces out of equilibrium at the start over those in equilibrium, flight left out; "
            "beyond, no equilibrium was found near the given places: let loads grow from zero"
        )
        limit, left = self.scheme.newton_tolerance, self.unbalanced
        when = path[0].time if path and left > limit else None
        found.append(Check("starts_in_equilibrium", left <= limit, left, limit, when, note))
        return found
