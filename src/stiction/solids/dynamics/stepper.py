"""Time stepping by the generalised-alpha scheme, with step lengths controlled by the local error.

The equation of motion M a_m + (1 - alpha_f) G_1 + alpha_f G_0 = 0 is that of `dynamics.problem`. A
step is accepted if Newton's method converges, its local error is below the tolerance, and no body
passes through another; otherwise it is repeated with a shorter dt. Each accepted step adds its
energies to the record. The next dt is dt times 0.9 (error / tolerance)^(-1/3), at most 1.5.

`run.run_motion` runs `TimeStepper`, a `LoadStepper` whose load steps are time steps.
Source: Chung, Hulbert 1993; local error: Zienkiewicz, Xie 1991.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.audit import Check
from stiction.core.determinism import Loss
from stiction.solids.dynamics.balance import SolvedStep, impulse_energies, time_step_energies
from stiction.solids.dynamics.problem import MovingProblem, Step
from stiction.solids.dynamics.starts import initial_equilibrium
from stiction.solids.equilibria.history import Energies, energies_at
from stiction.solids.equilibria.load_steps import LoadStepper
from stiction.solids.equilibria.newton import Outcome, force_scale, solve_step
from stiction.solids.equilibria.problem import Trial
from stiction.solids.equilibria.stability import unstable_directions
from stiction.solids.many.continuous_collision import TUNNELLING

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from stiction.core.run import Request
    from stiction.numerics.linear_solvers import Workspace
    from stiction.solids.methods import GeneralisedAlpha

__all__ = ["TimeStepper"]

Floats = npt.NDArray[np.float64]

_GROWTH, _SHRINK, _SAFETY = 1.5, 0.2, 0.9
# iterations of Newton's method beyond which the next step is shorter
_MANY_ITERATIONS = 10
# smallest scale of errors without contact, over the length of the bodies
_NO_DISPLACEMENT = 1e-3
# component of the motion along an unstable mode, over the motion, from which it follows the mode
_NONZERO = 1e-6
# component along an unstable mode, over the length of the bodies, up to which it is rounding
_ROUNDING_MOTION = 1e-10
# component along an unstable mode, over the displacements, beyond which it is no effect of the
# tolerance of Newton's method
_RESIDUAL_MOTION = 1e-3
# accumulated rounding over that of one step
_ROUNDING = 4.0
_UNCOUNTED = "unstable modes were not counted"
# change of a support's velocity, over the largest velocity, from which it is an impulse
_VELOCITY_CHANGE = 1e-9
# limits of the audit: missing energy, numerical dissipation, local error, over their scales
_LEDGER, _DISSIPATED, _LOCAL_ERROR = 1e-6, 0.05, 1e-2


class TimeStepper(LoadStepper):
    """The time stepper: state, velocities, accelerations, energies and record of a motion.

    Parameters
    ----------
    problem : the equations
    method : the scheme, step lengths, tolerances
    request : when to start, end and save

    Attributes
    ----------
    v, a : (nodes, d) velocities [m/s] and accelerations [m/s^2] of the last accepted state
    length_scale : shortest range of the normal laws [m], 0 without contact
    max_displacement, max_deformation : largest mass-weighted norms so far [m]
    """

    def __init__(self, problem: MovingProblem, method: GeneralisedAlpha, request: Request) -> None:
        super().__init__(problem, method, request)
        self.moving, self.scheme = problem, method
        self.v, self.a = np.zeros((2, problem.size, problem.dim))
        self.rejected, self.max_error = 0, 0.0
        self.max_displacement = self.max_deformation = 0.0
        # unbalanced forces at the start over those in equilibrium
        self.initial_residual = 0.0
        self.total_mass = float(problem.mass.sum()) / problem.dim

    # ------------------------------------------------------------ terms of a step

    def update_contacts(self) -> None:
        """Classify the contacts, and take the range of the laws as scale of local errors."""
        super().update_contacts()
        laws = [p.contact.adhesion for p in self.problem.passes]
        self.length_scale = min((float(law.length) for law in laws), default=0.0)
        self.sampling: MovingProblem | None = None

    def _support_velocities(self, t: float) -> Floats:
        """Return the velocities of prescribed unknowns just after a time (nodes, d) [m/s]."""
        later = self.breakpoints[self.breakpoints > t]
        target = float(later[0]) if later.size else t + 1.0
        return (self.problem.prescribed(target) - self.problem.prescribed(t)) / (target - t)

    def _resisting_force(self) -> Floats:
        """Return G at the last state: internal forces - loads + dampers [N/m]."""
        assert self.trial is not None
        interface = self.moving.dashpots(self.trial)
        return self.trial.residual + self.moving.damping_force(interface, self.v)

    def _accelerate(self) -> None:
        """Set the accelerations that balance the forces at the last state."""
        self.a = self.moving.acceleration(self._resisting_force())

    def _length(self, displacement: Floats) -> float:
        """Return the norm of displacements, weighted by mass [m]."""
        square = np.sum(displacement * self.moving.mass_times(displacement))
        return float(np.sqrt(square / self.total_mass))

    def _error(self, dt: float, a: Floats) -> float:
        """Return the local error |beta - 1/6| dt^2 (a_1 - a_0) over the length scale [1].

        The scale is the range of adhesion; without contact it is the largest displacement so far,
        and for deformations the largest deformation.

        Source: Zienkiewicz, Xie 1991.
        """
        change = np.where(self.problem.fixed, 0.0, a - self.a)
        factor = abs(self.scheme.weights().beta - 1.0 / 6.0) * dt * dt
        if self.length_scale > 0.0:
            return factor * self._length(change) / self.length_scale
        smallest = _NO_DISPLACEMENT * self.problem.largest_length
        displacement = self._length(change) / max(self.max_displacement, smallest)
        deformation = self.moving.deformation(change) / max(self.max_deformation, smallest)
        return factor * max(displacement, deformation)

    # ------------------------------------------------------------ steps

    def _begin(self) -> bool:
        """Solve for the initial state, and save the first sample; return whether there is one."""
        velocities = self.moving.system.velocities
        first, self.initial_residual = initial_equilibrium(self, velocities)
        if first is None:
            return False
        self.trial = first
        if velocities is not None:
            for i, velocity in enumerate(velocities):
                self.v[self.problem.first[i] : self.problem.first[i + 1]] = velocity
        self.v = self.moving.after_impulse(self.v, self._support_velocities(self.state.time))
        self._accelerate()
        start = energies_at(self.problem, first, self.state.time)
        self.energy = start._replace(kinetic=self.moving.kinetic(self.v))
        reported = self._with_reactions(first, self.v, self.a)
        self.record.add(self.state, reported, self.energy, self.iterations)
        return True

    def _with_reactions(self, trial: Trial, v: Floats, a: Floats) -> Trial:
        """Return a trial whose residual is M a + G: the reactions of supports."""
        damping = self.moving.damping_force(self.moving.dashpots(trial), v)
        return trial._replace(residual=trial.residual + damping + self.moving.mass_times(a))

    def _solve(
        self, problem: MovingProblem, workspace: Workspace, target: float
    ) -> tuple[Outcome, SolvedStep | None]:
        """Solve a time step from the last state, without committing it.

        Newton's method starts from the predictor, and if that fails from the last displacements.
        """
        assert self.trial is not None
        dt, force = target - self.state.time, self._resisting_force()
        step = Step(dt, self.state.u, self.v, self.a, force, self.scheme.weights())
        guesses = (step.predicted(), None)
        for guess in guesses:
            problem.begin_step(step)
            step_trial = None
            try:
                outcome = solve_step(problem, self.state, target, guess, self.limits, workspace)
                step_trial = outcome.trial
            finally:
                static_trial = problem.end_step(step_trial)
            self.iterations += outcome.iterations
            if step_trial is not None and static_trial is not None:
                v, a = step.rates(step_trial.u)
                return outcome, SolvedStep(self.trial, static_trial, step_trial.residual, v, a)
        return outcome, None

    def _balance(self, solved: SolvedStep, target: float) -> Energies:
        """Return the energies at the end of a solved step from the last state to `target`."""
        dt = target - self.state.time
        # the balance does not use `Step.force`
        step = Step(dt, self.state.u, self.v, self.a, self.v, self.scheme.weights())
        times = (self.state.time, target)
        return time_step_energies(self.moving, self.state, step, solved, times, self.energy)

    def _step(self) -> bool:
        """Take one time step, shortened until it is accepted; return whether one was."""
        self.enter_stage()
        while True:
            t = self.state.time
            target = self._target(t, min(self.dt, self.max_step))
            dt = target - t
            # reasons to shorten the step: Newton's method, tunnelling, local error
            outcome, solved = self._solve(self.moving, self.workspace, target)  # type: ignore[arg-type]
            if solved is not None and self.collision.tunnels(self.state.u, solved.after.u):
                outcome, solved = Outcome(None, outcome.iterations, (), TUNNELLING), None
            if solved is None:
                self.cuts += 1
                self.dt, ratio = 0.5 * dt, np.inf
            else:
                error = self._error(dt, solved.a)
                ratio = 0.0 if self.scheme.tolerance is None else error / self.scheme.tolerance
                if ratio <= 1.0:
                    # after an activation of contact pairs the step is repeated with them
                    if self.activate_pairs(solved.after.u):
                        continue
                    break
                self.rejected += 1
                self.dt = dt * max(_SHRINK, _SAFETY * ratio ** (-1.0 / 3.0))
            if self.dt < self.min_step:
                self.give_up(outcome, target)
                if solved is not None:
                    self.record.reason = f"the local error stays above its tolerance at t = {t:.9g}"
                return False
        self.missed_samples += self._sample_within(target)
        self.max_error = max(self.max_error, error)
        self._commit(outcome, solved, target)
        factor = min(_GROWTH, _SAFETY * max(ratio, 1e-6) ** (-1.0 / 3.0))
        longer = dt * (min(factor, 0.6) if outcome.iterations > _MANY_ITERATIONS else factor)
        # a step that a breakpoint shortened does not limit the next one
        self.dt = longer if dt > 0.999 * min(self.dt, self.max_step) else max(longer, self.dt)
        return True

    def _commit(self, outcome: Outcome, solved: SolvedStep, target: float) -> None:
        """Commit a step: state, energies, record, stability."""
        self.energy = self._balance(solved, target)
        self.state = self.problem.accepted(self.state, solved.after, target)
        self.trial, self.v, self.a = solved.after, solved.v, solved.a
        self.max_displacement = max(self.max_displacement, self._length(solved.after.u))
        self.max_deformation = max(self.max_deformation, self.moving.deformation(solved.after.u))
        if target < self.request.t_end and not self._stage_ends(target):
            self._follow_supports(target)
        self.steps += 1
        reported = self._with_reactions(solved.after, self.v, self.a)
        residual = outcome.residuals[-1] if outcome.residuals else 0.0
        # rounding is subtracted: bodies in free flight have no other forces
        noise = self.limits.tolerance * self.moving.step_force_floor + self.moving.rounding
        residual = max(0.0, residual - _ROUNDING * noise / force_scale(self.moving, reported))
        self.record.add(self.state, reported, self.energy, outcome.iterations, residual)
        if self.scheme.stability:
            self._detect_instability()

    def _detect_instability(self) -> None:
        """Record a mode that has become unstable, unless the motion follows it.

        A snap-through moves along its unstable mode and is deterministic. If the motion has no
        component along the mode, as in a symmetric upright column, rounding decides how it goes on.
        """
        problem, t = self.moving, self.state.time
        if not problem.free.size:
            return
        if not self.monitor.symmetric(problem, t):
            self.monitor.unseen = f"{_UNCOUNTED}: friction acts, or bodies touch each other"
            return
        assert self.trial is not None
        _, matrix = problem.evaluate(self.state, self.state.u, t, None, data=True)
        unseen = self.monitor.unseen
        now = self.monitor.modes(problem, t, matrix, None)
        before = self.monitor.update(now)
        if now is None or not now.counted:
            # the sign of the determinant does not identify the mode
            self.monitor.unseen = f"{_UNCOUNTED} where the tangent is singular"
            return
        self.monitor.unseen = unseen
        if before is None or now.number <= before.number:
            return
        assert matrix is not None
        reduced = problem.reduced(matrix)
        # the modes that became unstable last have the eigenvalues nearest to zero
        directions = unstable_directions(self.monitor.workspace, reduced, now.number)
        new = directions[: now.number - before.number]
        rates = [r for d in new if (r := self._growth_rate(d, reduced)) is not None]
        if not rates:
            return
        start = self.record.path[0].time if self.record.path else t
        where: dict[str, object] = {
            "program_time": t,
            "from": max(start, self.record.path[-2].time if len(self.record.path) > 1 else t),
            "to": t,
            "unstable_modes": now.number,
            "growth_rate": max(rates),
        }
        choice = (
            "the motion has no component along the unstable mode; a disturbance along it would grow"
        )
        self.record.losses.append(Loss(t, "bifurcation", where, choice))

    def _growth_rate(self, direction: Floats, matrix: csr_matrix) -> float | None:
        """Return the growth rate of an unstable mode [1/s], None if the motion follows it.

        Parameters
        ----------
        direction : (free,) of length 1
        matrix : tangent of the free unknowns
        """
        problem = self.moving
        assert self.trial is not None
        mode = np.zeros_like(self.v)
        mode.reshape(-1)[problem.free] = direction
        size = self._length(mode)
        if not size > 0.0:
            return 0.0
        # Rayleigh quotient phi . K phi / phi . M phi = -rate^2 of the mode phi
        weighed = problem.mass_times(mode) / (size * self.total_mass)
        square = float(direction @ (matrix @ direction)) / (size**2 * self.total_mass)
        growth = float(np.sqrt(max(-square, 0.0)))
        # displacements by the tolerance of Newton's method are largest along soft modes
        force = self.limits.tolerance * force_scale(problem, self.trial)
        residual_motion = force / (abs(square) * self.total_mass)
        u, v = (np.where(problem.fixed, 0.0, component) for component in (self.state.u, self.v))
        threshold = min(residual_motion, _RESIDUAL_MOTION * self._length(u))
        threshold = max(threshold, _ROUNDING_MOTION * problem.largest_length)
        for component, rate in ((v, growth), (u, 1.0)):
            projection = abs(float(np.sum(weighed * component)))
            if projection > max(_NONZERO * self._length(component), threshold * rate):
                return None
        return growth

    def _stage_ends(self, t: float) -> bool:
        return bool(self.stages) and t >= self.stages[self.problem.stage].until

    def enter_stage(self) -> None:
        """Enter the next stage: newly prescribed unknowns change their velocity at once."""
        before, unknowns = self.problem.stage, self.problem.unknowns
        super().enter_stage()
        if self.problem.stage == before:
            return
        self.sampling, self.monitor.last = None, None
        v = self.problem.unknowns.values(unknowns.displacements(self.v))
        self.v = self.moving.after_impulse(v, self._support_velocities(self.state.time))
        self.energy = impulse_energies(self.moving, v, self.v, self.energy)
        self._accelerate()

    def _follow_supports(self, t: float) -> None:
        """Set velocities of supports to those of their programs; at a kink there is an impulse."""
        rates, fixed = self._support_velocities(t), self.problem.fixed
        change = np.abs(np.where(fixed, rates - self.v, 0.0)).max(initial=0.0)
        largest = np.abs(rates).max(initial=np.abs(self.v).max())
        if t in self.kink_times and change > _VELOCITY_CHANGE * largest:
            kicked = self.moving.after_impulse(self.v, rates)
            self.energy = impulse_energies(self.moving, self.v, kicked, self.energy)
            self.v = kicked
            self._accelerate()
            return
        self.v = np.where(fixed, rates, self.v)
        self.a = np.where(fixed, 0.0, self.a)

    def _sample_within(self, target: float) -> int:
        """Save the samples requested within a step, each by a shorter step; count the failures."""
        missed = 0
        for at in self.record.save_times_between(self.state.time, target):
            if self.sampling is None:
                # separate equations: the path must not depend on the times of samples
                self.sampling = MovingProblem(self.moving.system, self.scheme.lumped)
                self.sampling.begin, self.sampling.end = self.problem.begin, self.problem.end
                self.sampling.add_contacts(self.problem.assembled)
                if self.stages:
                    current = self.problem
                    self.sampling.enter_stage(current.stage, current.base, current.angles)
            workspace = self.solver.start()
            try:
                outcome, moved = self._solve(self.sampling, workspace, at)
                self.other_factorisations += workspace.factorisations
            finally:
                workspace.close()
            if moved is None:
                missed += 1
                continue
            energy = self._balance(moved, at)
            reported = self._with_reactions(moved.after, moved.v, moved.a)
            self.record.add_between(reported, at, energy, outcome.iterations)
        return missed

    # ------------------------------------------------------------ checkpoints

    def extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that time stepping adds to a checkpoint.

        "motion" (5,): rejected steps, largest local error [1], largest displacement and deformation
        [m], relative initial residual [1]; "motion_rates": velocities and accelerations (nodes, d).
        """
        largest = self.max_displacement, self.max_deformation
        return {
            "motion": np.array([self.rejected, self.max_error, *largest, self.initial_residual]),
            "motion_rates": np.stack([self.v, self.a]),
        }

    def restore_extra(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the arrays of `extra_arrays`."""
        self.rejected = int(arrays["motion"][0])
        numbers = [float(v) for v in arrays["motion"]]
        self.max_error, self.max_displacement, self.max_deformation = numbers[1:4]
        self.initial_residual = numbers[4]
        self.v, self.a = arrays["motion_rates"].copy()

    def close(self) -> None:
        """Record the counts of work and the last state, and free the solvers."""
        if not self.scheme.stability:
            self.monitor.unseen = f"{_UNCOUNTED}: stability=False"
        super().close()
        self.record.stats["rejected_steps"] = self.rejected

    def checks(self) -> list[Check]:
        """Return the audit checks of a motion."""
        path = self.record.path
        energies = [sample.energy for sample in path]
        scale, imbalance, dissipated = 1e-300, 0.0, 0.0
        for e in energies:
            heat, first = sum(e.heat), energies[0]
            change = e.kinetic + e.stored + e.adhesive
            change -= first.kinetic + first.stored + first.adhesive
            missing = change - e.work + heat + e.viscous + e.algorithmic
            # `max` ignores NaN, which fails the checks
            imbalance = np.maximum(imbalance, abs(missing))
            terms = (e.kinetic, e.stored, e.adhesive, e.work, heat, e.viscous, e.algorithmic)
            scale = max(scale, *(abs(term) for term in terms))
            dissipated = np.maximum(dissipated, abs(e.algorithmic))
        closed, ratio = float(imbalance / scale), float(dissipated / scale)
        note = "largest energy imbalance over the largest energy"
        checks = [Check("ledger_closes", bool(closed <= _LEDGER), closed, _LEDGER, None, note)]
        note = "largest energy dissipated or created by the time scheme over the largest energy"
        small = bool(ratio <= _DISSIPATED)
        checks.append(Check("numerical_dissipation_small", small, ratio, _DISSIPATED, None, note))
        note = (
            "largest local error of a step over the range of adhesion; without contact, over the "
            "largest displacement"
        )
        ok = bool(self.max_error <= _LOCAL_ERROR)
        checks.append(Check("motion_resolved", ok, self.max_error, _LOCAL_ERROR, None, note))
        note = (
            "unbalanced forces at the start, except on bodies in flight, over the forces in "
            "equilibrium; beyond the limit no equilibrium was found near the given positions: "
            "let loads grow from zero"
        )
        limit, value = self.scheme.newton_tolerance, self.initial_residual
        when = path[0].time if path and value > limit else None
        checks.append(Check("starts_in_equilibrium", value <= limit, value, limit, when, note))
        return checks
