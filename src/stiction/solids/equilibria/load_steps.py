"""Load stepping: equilibria at rising program times, with adaptive steps.

At each program time t the equilibrium r(u, t) = 0 is solved by `newton.solve_step` (Wriggers 2006).
A step starts from the last accepted state; a step that fails is discarded and halved. Steps grow
again if Newton's method needs few iterations. After each step the stability monitor tests for
bifurcations, and the energy balance for jumps to another equilibrium.

A jump is a step in which |change of the energies - work + dissipation| is a large fraction of the
energy exchanged (`_detect_jump`). `run.run_quasistatic` runs a `LoadStepper`; `arclength` continues
from its last state, and `dynamics.stepper` derives time steps from it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import check_count
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.method import FollowBranch, StayOnPath, StopThere
from stiction.errors import ModelError, Status
from stiction.laws.adhesive_friction import Frictionless
from stiction.numerics.linear_solvers import LinearSolveError, fastest
from stiction.solids.contact import sweeps as k
from stiction.solids.equilibria.branches import bifurcation_loss, find_branch
from stiction.solids.equilibria.checkpoint import RecordingWorkspace, pack, unpack
from stiction.solids.equilibria.history import (
    Energies,
    Recorder,
    after_spring_change,
    energies_at,
    missing_energy,
    step_energies,
)
from stiction.solids.equilibria.newton import Limits, Outcome, force_scale, solve_step
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.stability import StabilityMonitor, UnstableModes, find_snap
from stiction.solids.many.continuous_collision import TUNNELLING, CollisionDetection
from stiction.solids.many.pair_activation import (
    activated_pairs,
    extend_records,
    saved_pairs,
    with_activated_pairs,
    with_new_passes,
)

if TYPE_CHECKING:
    from stiction.core.run import Request
    from stiction.solids.methods import GeneralisedAlpha, Quasistatic

__all__ = ["LoadStepper"]

Floats = npt.NDArray[np.float64]

_FEW_ITERATIONS, _MANY_ITERATIONS = 6, 12
# factorisations that restore a solver from a checkpoint: SuperLU fixes its ordering at the second
_ANALYSES = 2
# largest number of halvings of a step because elements are inverted on the path to its end
_MOST_INVERTED = 3
# chosen: factors of the next step after few and after many iterations
_GROWTH, _REDUCTION = 1.5, 0.6
# chosen: a step that would end within this fraction before a given time is extended to it
_STRETCH = 1.001
# number of snapshots of a run for pictures (chosen)
_SNAPSHOTS = 13
# chosen: released energy below this fraction of the scale of energies is no jump
_LEAST_JUMP = 1e-3
# numbers of substeps in which a step is repeated before it counts as a jump
_SUBSTEPS = (2, 4, 8, 16)
# missing energy, over the energy exchanged in a step, from which a step is a jump: in two-half-pass
# contact, and in the mortar method
_JUMP, _JUMP_MORTAR = 0.25, 0.05
# without adhesion and friction: missing energy over the exchanged and over the whole energy, from
# which a step is repeated in substeps
_UNACCOUNTED, _OF_ENERGY = 5e-4, 1e-7
# ratio of residual to rounding below which residuals do not decrease further
_AT_ROUNDOFF = 30.0


class LoadStepper:
    """The load stepper: state, energies and record of a run.

    Parameters
    ----------
    problem : the equations
    method : step lengths, tolerances, bounds
    request : when to start, end and save
    end : end of the arclength path that follows the load steps; None for the end of the request

    Attributes
    ----------
    state, trial, energy : last accepted state, its evaluation (None before the first), its energies
    previous : time and unknowns of the state before, from which a step is extrapolated
    dt, max_step, min_step : next, longest and shortest step [time unit of the run]
    iterations, cuts, steps : Newton iterations, halvings and accepted steps so far
    record, monitor, workspace : of the run, of stability, and of the sparse solver
    """

    def __init__(
        self,
        problem: Problem,
        method: Quasistatic | GeneralisedAlpha,
        request: Request,
        end: float | None = None,
    ) -> None:
        self.problem, self.method, self.request = problem, method, request
        problem.begin = request.t_start
        span = request.t_end - request.t_start
        self.max_step = span / method.steps
        self.min_step = self.max_step * 0.5**method.max_halvings
        self.limits = Limits(method.newton_tolerance, method.max_iterations)
        self.solver = method.solver if method.solver is not None else fastest()
        self.workspace = RecordingWorkspace(self.solver.start(), self._report)
        self.workspace.workspace.describe(problem.layout())
        self.monitor = StabilityMonitor(problem, self.solver, request.t_start)
        self.update_contacts()
        # pairs of contacts among many that were activated during the run
        self.active_pairs: list[tuple[int, int, int]] = []
        save_times = request.save
        last_time = request.t_end if end is None else end
        self.record = Recorder(problem, save_times, request.every_step, _SNAPSHOTS, last_time)
        self.kink_times = problem.kink_times()
        in_request = (self.kink_times > request.t_start) & (self.kink_times <= request.t_end)
        self.breakpoints = np.unique(np.concatenate([self.kink_times[in_request], [request.t_end]]))
        self.stages = problem.assembled.stages
        # arclength steps save every step, at times along the path
        self.path_follows = end is not None
        problem.end = last_time
        self._check_stages()
        self.set_stage_steps()
        self.state = problem.start(request.t_start)
        self.trial: Trial | None = None
        self.energy: Energies
        self.previous: tuple[float, Floats] | None = None
        self.iterations = self.cuts = self.steps = self.missed_samples = 0
        self.other_factorisations = 0
        self.dt, self.extrapolate, self.fraction_done = self.max_step, False, 0.0

    def update_contacts(self) -> None:
        """Classify the contacts: the criteria for jumps depend on them."""
        problem = self.problem
        # by the mortar method alone, energies close in short steps
        self.mortar_only = problem.mortar_only
        # two deformable bodies in two-half-pass contact do not conserve energy, even without a jump
        self.work_can_miss = self.mortar_only or any(p.is_half_pass for p in problem.passes)
        # without adhesion and friction, a smooth path conserves one potential energy
        smooth = all(isinstance(p.contact.friction, Frictionless) for p in problem.passes)
        self.energy_conserved = smooth and problem.largest_adhesion_work == 0.0
        self.monitor.rigid_partners = all(p.partner.rigid and not p.hard for p in problem.passes)
        self.collision = CollisionDetection(problem)

    def add_pairs(self, pairs: list[tuple[int, int, int]]) -> None:
        """Activate pairs of contacts among many; they have no history."""
        self.active_pairs += pairs
        self.problem.add_contacts(with_activated_pairs(self.problem.assembled, pairs))
        self.workspace.workspace.describe(self.problem.layout())
        self.update_contacts()

    def activate_pairs(self, u: Floats) -> bool:
        """Activate the pairs whose bounding boxes come near in a step; return whether any did.

        If so, the caller repeats the step.

        Parameters
        ----------
        u : (nodes, d) unknowns at the end of the step
        """
        pairs, known = activated_pairs(self.problem, self.state.u, u), len(self.problem.passes)
        if not pairs:
            return False
        self.add_pairs(pairs)
        if self.trial is None:
            self.state = self.problem.start(self.state.time)
            return True
        self.state, self.trial, self.energy = with_new_passes(
            self.problem, self.state, self.trial, self.energy
        )
        extend_records(self.record, known)
        return True

    def _check_stages(self) -> None:
        """Refuse a start after the first stage, and invalid conditions of any stage.

        A path needs free displacements in all its stages.
        """
        start, start_of_path = self.request.t_start, self.request.t_end
        if self.stages and start > self.stages[0].until:
            needs = f"a start no later than {self.stages[0].until:.9g}, the end of the first stage"
            why = "a later stage begins with the final positions of the previous stage."
            try_ = "start in the first stage, or leave out the stages before the start."
            raise ModelError("solve.t_span", f"a start at {start:.9g}", needs, why, try_)
        free = self.problem.check_stages()
        if not self.path_follows or start_of_path >= self.problem.end:
            return
        # the first stage begins with the run, and the last one goes on until its end
        inner = [stage.until for stage in self.stages[:-1]]
        for number, begin, end in zip(free, [-np.inf, *inner], [*inner, np.inf], strict=True):
            if not number and begin < self.problem.end and end > start_of_path:
                got, needs = "a solid without free displacements", "a displacement that is free"
                why = "an equilibrium path is a curve of free displacements over time."
                raise ModelError("Continuation", got, needs, why, "solve it by Quasistatic.")

    def set_stage_steps(self) -> None:
        """Set step length and saved times of the current stage."""
        if not self.stages:
            return
        request, stage = self.request, self.stages[self.problem.stage]
        starts = [request.t_start, *(s.until for s in self.stages)]
        low, high = starts[self.problem.stage], stage.until
        if stage.steps is not None:
            self.max_step = (high - low) / stage.steps
        else:
            self.max_step = (request.t_end - request.t_start) / self.method.steps
        self.min_step = self.max_step * 0.5**self.method.max_halvings
        self.dt = self.max_step
        if stage.rows is None or self.path_follows:
            self.record.save_times, self.record.every_step = request.save, request.every_step
        else:
            self.record.save_times = np.linspace(low, high, stage.rows + 1)
            self.record.every_step = False

    def enter_stage(self) -> None:
        """Enter the next stage if the current one has ended."""
        last = self.problem.stage
        if last + 1 >= len(self.stages) or self.state.time < self.stages[last].until:
            return
        assert self.trial is not None
        self.state, self.trial = self.problem.enter_next_stage(self.state, self.trial)
        assert self.problem.released is not None
        self.energy = after_spring_change(self.energy, self.problem.released.energies)
        self.previous, self.extrapolate = None, False
        self.set_stage_steps()

    def begin_stage(self, at: float) -> bool:
        """Enter the next stage if the current one has ended; return whether the run ends there.

        A support that ends may leave an unstable equilibrium.

        Parameters
        ----------
        at : time of its loss, which is not program time on a path
        """
        before, known = self.problem.stage, self.monitor.last
        self.enter_stage()
        if self.problem.stage == before:
            return False
        # a separate problem: the pattern of a matrix decides how the path is rounded
        copy, state = self.problem.fresh_copy(), self.state
        _, matrix = copy.evaluate(state, state.u, state.time, None, data=True)
        now = self.monitor.modes(copy, state.time, matrix, None)
        if self.monitor.update(now) is None or now is None:
            return False
        # new supports leave fewer unstable modes
        return now.number > (known.number if known else 0) and self._unstable(now, at)

    def run(self) -> None:
        """Follow the program to its end, or until the shortest step fails."""
        try:
            self.advance()
        finally:
            self.close()

    def record_backward_error(self) -> None:
        """Record the largest backward error of the linear solves."""
        extremes = self.record.extremes
        extremes.backward = max(extremes.backward, self.workspace.backward)

    def close(self) -> None:
        """Record the counts of work and the last state, and free the solvers."""
        self.record.stats = {
            "steps": self.steps,
            "newton_iterations": self.iterations,
            "step_cuts": self.cuts,
            "factorisations": self.other_factorisations + self.workspace.factorisations,
            "unknowns": int(self.problem.free.size),
        }
        if self.missed_samples:
            self.record.stats["samples_unsolved"] = self.missed_samples
        self.record_backward_error()
        self.record.stats.update(self.workspace.workspace.report())
        self.workspace.close()
        self.monitor.close()
        self.record.unseen = self.monitor.unseen
        self.record.finish()

    def advance(self) -> bool:
        """Start or restore the run and follow the program; return whether its end was reached."""
        checkpoint = self.request.checkpoint
        saved = None if checkpoint is None else checkpoint.load()
        self.checkpoint = saved
        if saved is not None:
            self.add_pairs(saved_pairs(saved, self.problem.assembled))
            unpack(saved, self)
            self.restore_extra(saved)
            self._restore_analysis()
            if "path" in saved:
                return True
        elif not self._begin():
            return False
        return self.advance_on()

    def advance_on(self) -> bool:
        """Follow the program from the last state; return whether its end was reached."""
        return run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, bool]:
        """Take steps to the end of the program; yield after every accepted step."""
        begin, end = self.request.t_start, self.request.t_end
        while self.state.time < end:
            if self.steps >= self.method.max_steps:
                self.record.status = Status.WORK_LIMIT
                self.record.reason = f"{self.steps} load steps were taken, the limit max_steps"
                return False
            if not self._step():
                return False
            note = f"step {self.steps}, {self.iterations} Newton iterations"
            self.fraction_done = (self.state.time - begin) / (end - begin)
            yield Pause(self.fraction_done, note, self._pack)
        return True

    def _report(self) -> None:
        """Report progress within a step."""
        note = f"step {self.steps + 1}, {self.workspace.factorisations} factorisations"
        self.request.progress(self.fraction_done, note)

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {**pack(self), **self.extra_arrays()}
        # entry 3 of the counts are factorisations, see `checkpoint`
        arrays["counts"][3] += self.workspace.factorisations
        return arrays

    def extra_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that a derived stepper adds to a checkpoint."""
        return {}

    def restore_extra(self, saved: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the arrays of `extra_arrays`."""

    def _restore_analysis(self) -> None:
        """Repeat the analysis of the matrix that the solver had analysed before the checkpoint.

        Ordering and scaling come from that matrix, and SuperLU keeps its ordering from the second
        matrix on: both decide the rounding of all later solutions.
        """
        assert self.checkpoint is not None
        # without an analysis of this pattern, the next factorisation analyses its own matrix
        if not self.problem.free.size or not self.checkpoint["analysed"].size:
            return
        trial = self.problem.evaluate(self.state, self.state.u, self.state.time, None, data=True)
        matrix = trial[1]
        assert matrix is not None
        factorisations = self.workspace.factorisations
        reduced = self.problem.reduced(matrix)
        entries, size = reduced.data.size, self.checkpoint["analysed"].size
        check_count("analysed", size, entries, entries)
        reduced.data = self.checkpoint["analysed"]
        for _ in range(_ANALYSES):
            with contextlib.suppress(LinearSolveError):
                self.workspace.factorise(reduced)
        self.other_factorisations -= self.workspace.factorisations - factorisations

    def _begin(self) -> bool:
        """Solve for the equilibrium at the start, the first sample; return whether there is one."""
        start = self.state
        outcome = self._equilibrium_at_start()
        first = outcome.trial
        if first is None:
            return False
        self.energy = energies_at(self.problem, first, self.state.time)
        self.trial = first
        self._detect_jump_at_start(self.problem.start(start.time) if self.active_pairs else start)
        self.record.add(self.state, first, self.energy, self.iterations)
        return not self._ends_at_start(outcome)

    def _ends_at_start(self, outcome: Outcome) -> bool:
        """Record an unstable equilibrium at the start; return whether the run ends with it."""
        t = self.state.time
        now = self.monitor.modes(self.problem, t, outcome.matrix, outcome.factors)
        return now is not None and self.monitor.update(now) is not None and self._unstable(now, t)

    def _unstable(self, now: UnstableModes, at: float) -> bool:
        """Record that the run or a stage begins unstable; return whether the run ends there.

        Parameters
        ----------
        now : unstable modes
        at : time of the loss
        """
        t = self.state.time
        where: dict[str, object] = {"program_time": t, "from": t, "to": t}
        where["unstable_modes"] = now.reported
        ends = isinstance(getattr(self.method, "on_bifurcation", None), StopThere)
        choice = "the run ended at the bifurcation" if ends else "the unstable path was followed"
        # rounding decides the sign of a singular tangent's determinant
        state = (
            "is unstable"
            if now.counted
            else ("may be unstable: its tangent is singular or has a negative determinant")
        )
        self.record.losses.append(Loss(at, "bifurcation", where, choice))
        if ends:
            self.record.status = Status.STOPPED
            of_stage = " of a stage" if self.problem.stage else ""
            self.record.reason = f"the equilibrium at the start{of_stage}, t = {t:.9g}, {state}"
        return ends

    def _step(self) -> bool:
        """Take one load step, halved until it converges; return whether it did."""
        if self.begin_stage(self.state.time):
            return False
        inverted = 0
        while True:
            t = self.state.time
            target = self._target(t, min(self.dt, self.max_step))
            iterations_before = self.iterations
            # a solution is accepted if no pair of contacts was activated by it, no body passed
            # through another, and no element is inverted on the path to it
            outcome = self.attempt(target, self.extrapolate)
            if outcome.trial is not None:
                if self.activate_pairs(outcome.trial.u):
                    continue
                half_step, iterations = 0.5 * (target - t), self.iterations - iterations_before
                if self.collision.tunnels(self.state.u, outcome.trial.u):
                    outcome = Outcome(None, outcome.iterations, (), TUNNELLING)
                elif (
                    inverted == _MOST_INVERTED
                    or half_step < self.min_step
                    or not self._inverts_on_path(outcome, iterations)
                ):
                    break
                else:
                    inverted += 1
            self.cuts += 1
            self.dt = 0.5 * (target - t)
            if self.dt < self.min_step:
                self.give_up(outcome, target)
                return False
        outcome, target, ends_run = self._detect_branch(outcome, target)
        missed = self._save_within(outcome, target)
        self.accept(outcome, target)
        if missed:
            self.missed_samples += missed
            self.record.save_last()
        # at a kink of a program, extrapolation from the last two states is wrong
        self.extrapolate = target not in self.kink_times
        if ends_run:
            self.record.status = Status.STOPPED
            self.record.reason = f"another equilibrium path branches off at t = {target:.9g}"
            return False
        if outcome.iterations <= _FEW_ITERATIONS:
            self.dt = max(self.dt, target - t) * _GROWTH
        elif outcome.iterations > _MANY_ITERATIONS:
            self.dt = _REDUCTION * (target - t)
        return True

    def _inverts_on_path(self, outcome: Outcome, iterations: int) -> bool:
        """Return whether elements are inverted on the straight path to a solution.

        Only solutions that took many iterations are tested. If bodies overlap at the first guess,
        Newton's method may find an equilibrium in which elements have passed through each other; a
        shorter step avoids it.
        """
        if not self.mortar_only or iterations <= _MANY_ITERATIONS or outcome.trial is None:
            return False
        path = map(self.problem.unknowns.displacements, (self.state.u, outcome.trial.u))
        return self.problem.bulk.least_volume(*path) <= 0.0

    def _save_within(self, outcome: Outcome, target: float) -> int:
        """Save the samples requested within a step, and return how many did not converge.

        Each sample is the end of a shorter step from the same state; the path itself does not
        depend on the times of samples. Within a jump there may be no equilibrium.
        """
        assert outcome.trial is not None
        t, u, missed = self.state.time, self.state.u, 0
        for save_time in self.record.save_times_between(t, target):
            guess = u + (save_time - t) / (target - t) * (outcome.trial.u - u)
            missed += not self._sample_at(save_time, guess)
        return missed

    def _sample_at(self, save_time: float, guess: Floats) -> bool:
        """Step from the last accepted state to a time within the step, and save a sample there."""
        assert self.trial is not None
        # a separate problem and solver: the ordering of a matrix decides how the path is rounded
        problem, workspace = self.problem.fresh_copy(), self.solver.start()
        state, trial, energy = self.state, self.trial, self.energy
        guess_once: Floats | None = guess
        dt, iterations = save_time - state.time, 0
        try:
            while state.time < save_time:
                target = save_time if state.time + _STRETCH * dt >= save_time else state.time + dt
                outcome = solve_step(problem, state, target, guess_once, self.limits, workspace)
                iterations += outcome.iterations
                if outcome.trial is None:
                    # first the whole step without a guess, then shorter ones
                    dt = dt if guess_once is not None else 0.5 * (target - state.time)
                    guess_once = None
                    if dt < self.min_step:
                        return False
                    continue
                times = (state.time, target)
                energy = step_energies(problem, trial, outcome.trial, times, energy)
                state = problem.accepted(state, outcome.trial, target)
                trial = outcome.trial
            self.record.add_between(trial, save_time, energy, iterations)
            return True
        finally:
            self.iterations += iterations
            self.other_factorisations += workspace.factorisations
            workspace.close()

    def _equilibrium_at_start(self) -> Outcome:
        """Return the equilibrium at the start, without a trial if Newton's method fails."""
        t = self.state.time
        while True:
            u = self.state.u
            outcome = solve_step(self.problem, self.state, t, u, self.limits, self.workspace)
            self.iterations += outcome.iterations
            if outcome.trial is None:
                self.give_up(outcome, t)
                return outcome
            if not self.activate_pairs(outcome.trial.u):
                break
        self.state = self.problem.accepted(self.state, outcome.trial, t)
        return outcome

    def _target(self, t: float, dt: float) -> float:
        """Return the end of a step of about dt: the next breakpoint, if it is near."""
        breakpoint_ = float(self.breakpoints[np.searchsorted(self.breakpoints, t, side="right")])
        if t + _STRETCH * dt >= breakpoint_:
            return breakpoint_
        # two equal steps instead of a long and a tiny one
        return t + dt if t + 2.0 * dt <= breakpoint_ else 0.5 * (t + breakpoint_)

    def attempt(self, target: float, extrapolate: bool) -> Outcome:
        """Try a step from the extrapolated state if possible, otherwise from the last state."""
        problem, state = self.problem, self.state
        if extrapolate and self.previous is not None:
            ratio = (target - state.time) / (state.time - self.previous[0])
            guess = state.u + ratio * (state.u - self.previous[1])
            outcome = solve_step(problem, state, target, guess, self.limits, self.workspace)
            self.iterations += outcome.iterations
            if outcome.trial is not None:
                return outcome
        outcome = solve_step(problem, state, target, None, self.limits, self.workspace)
        self.iterations += outcome.iterations
        return outcome

    def accept(self, outcome: Outcome, target: float, at: float | None = None) -> None:
        """Commit a load step: state, energies and record.

        Parameters
        ----------
        outcome : the converged step
        target : program time of its end
        at : time of its sample; None takes program time
        """
        trial = outcome.trial
        assert trial is not None
        assert self.trial is not None
        times = (self.state.time, target)
        energy_before = self.energy
        self.energy = step_energies(self.problem, self.trial, trial, times, energy_before)
        extra, known_losses = None, len(self.record.losses)
        self._detect_jump(energy_before, times)
        if at is not None:
            extra, losses = {"program_time": target}, self.record.losses
            for i in range(known_losses, len(losses)):
                losses[i] = dataclasses.replace(losses[i], time=at - abs(target - losses[i].time))
        self.previous = (self.state.time, self.state.u)
        self.state = self.problem.accepted(self.state, trial, target)
        self.trial = trial
        self.steps += 1
        residual = outcome.residuals[-1] if outcome.residuals else 0.0
        self.record.add(self.state, trial, self.energy, outcome.iterations, residual, at, extra)

    def _detect_branch(self, outcome: Outcome, target: float) -> tuple[Outcome, float, bool]:
        """Record a bifurcation in a step, and apply the policy of the method to it.

        Return the step to accept, its end, and whether the run ends with it.
        """
        losses = self.monitor.check(self.state, outcome, target, self.limits)
        # methods with inertia have no such policy
        policy = getattr(self.method, "on_bifurcation", None)
        trial = outcome.trial
        if not losses or policy is None or isinstance(policy, StayOnPath) or trial is None:
            self.record.losses += losses
            return outcome, target, False
        loss = losses[0]
        low, high = (float(str(loss.where[name])) for name in ("from", "to"))
        if isinstance(policy, StopThere):
            self.record.losses.append(bifurcation_loss(policy, loss, None, time_may_decrease=False))
            fraction = (low - self.state.time) / (target - self.state.time)
            guess = self.state.u + fraction * (trial.u - self.state.u)
            if low > self.state.time:
                stop = solve_step(self.problem, self.state, low, guess, self.limits, self.workspace)
                outcome, target = (stop, low) if stop.trial is not None else (outcome, target)
            return outcome, target, True
        assert isinstance(policy, FollowBranch)
        span = (self.monitor.begin, low, high, target)
        u, side = trial.u, policy.side
        branch = find_branch(self.problem, self.state, span, u, side, self.limits, self.solver)
        self.record.losses.append(bifurcation_loss(policy, loss, branch, time_may_decrease=False))
        arc = None if branch is None or branch.limit_point else branch.arc
        if branch is None or arc is None or not branch.time < arc.t <= target or arc.trial is None:
            self.record.losses += losses[1:]
            return outcome, target, False
        self.monitor.last = self.monitor.modes(self.problem, arc.t, arc.matrix, arc.factors)
        self.iterations += arc.iterations
        switched = Outcome(arc.trial, arc.iterations, arc.residuals, "", arc.factors, arc.matrix)
        return switched, arc.t, False

    def _detect_jump_at_start(self, start: State) -> None:
        """Record a jump into contact at the start: more energy falls than by a relaxation."""
        t, problem = start.time, self.problem
        if not problem.passes:
            return
        before, _ = problem.evaluate(start, start.u, t, None, data=False)
        assert self.trial is not None
        # surfaces that are in contact all along only relax
        contacts = zip(problem.passes, before.point_values, self.trial.point_values, strict=True)
        if all(
            (np.vstack(both)[:, k.GAP] < p.contact.adhesion.gap_max).all() for p, *both in contacts
        ):
            return
        stored, adhesive = problem.stored(before)
        stored += problem.ground_energy(before, t)
        released = stored + adhesive - self.energy.stored - self.energy.adhesive
        change = self.state.u - start.u
        for u in (self.state.u, start.u):
            displacements = problem.unknowns.displacements(u)
            springs = problem.conditions.spring_forces(t, displacements)
            loads = problem.loads(t, displacements)
            # springs have an energy, other loads do work
            released += 0.5 * float(np.sum((loads - problem.unknowns.forces(springs)) * change))
        exchanged = abs(self.energy.adhesive - adhesive)
        scale = abs(self.energy.adhesive)
        if self.mortar_only:
            scale = max(scale, problem.largest_adhesion_work)
        # a linear relaxation releases half of the initial force times the displacement
        initial = before.residual if self.mortar_only else before.internal - loads
        if released <= abs(float(np.sum(initial * change))):
            return
        if released > _JUMP * exchanged and released > _LEAST_JUMP * scale:
            where = {"energy_missing": released}
            choice = "the equilibrium that Newton's method found from the given positions"
            self.record.losses.append(Loss(t, "quasistatic_jump", where, choice))

    def _detect_jump(self, last: Energies, times: tuple[float, float]) -> None:
        """Record a jump to another equilibrium: a step whose energies do not close."""
        # missing energy of the step against noise, energy exchanged in it, and size of energies
        now = self.energy
        missing, exchanged = missing_energy(last, now)
        scale = max(abs(now.stored), abs(now.adhesive), abs(now.work))
        if self.mortar_only:
            # the work of adhesion of a whole boundary is the scale of a jump
            scale = max(scale, self.problem.largest_adhesion_work)
        where: dict[str, object] = {"from": times[0], "energy_missing": missing}
        # work of the rounding of forces along the displacement of bodies that move freely
        floor = self.problem.rounding * self.problem.largest_length
        noise = max(_UNACCOUNTED * exchanged, _OF_ENERGY * scale, floor)
        threshold = (_JUMP_MORTAR if self.mortar_only else _JUMP) * exchanged
        if self.energy_conserved and missing > noise:
            assert self.trial is not None
            begin, copy = (self.state, self.trial, last), self.problem.fresh_copy()
            energies, first = (missing, noise), self.monitor.begin
            snap = find_snap(copy, begin, times[1], energies, self.limits, self.solver, first)
            if snap is not None:
                jump_time = 0.5 * (snap.low + snap.high)
                where |= {"program_time": jump_time, "from": snap.low, "to": snap.high}
                choice = "the state that Newton's method found; inertia would determine the motion"
                self.record.losses.append(Loss(snap.high, "quasistatic_jump", where, choice))
        elif missing > max(threshold, _LEAST_JUMP * scale, floor):
            if self.work_can_miss and self._substeps_close(last, times, missing):
                return
            choice = "the state that Newton's method found; inertia would determine the motion"
            self.record.losses.append(Loss(times[1], "quasistatic_jump", where, choice))

    def _substeps_close(self, last: Energies, times: tuple[float, float], missing: float) -> bool:
        """Return whether the missing energy of a step decreases in substeps: then it is no jump.

        The energy that a jump releases remains missing in one substep, however short it is. The
        error of the trapezoidal rule vanishes with the length of substeps, and the difference of
        action and reaction of two passes is distributed over all substeps. The path is not changed.
        """
        assert self.trial is not None
        problem, workspace = self.problem.fresh_copy(), self.solver.start()
        try:
            for substeps in _SUBSTEPS:
                # the step again, in this many substeps, with the largest energy missing in one
                state, trial, energy, largest = self.state, self.trial, last, 0.0
                for target in np.linspace(*times, substeps + 1)[1:]:
                    t = float(target)
                    outcome = solve_step(problem, state, t, None, self.limits, workspace)
                    self.iterations += outcome.iterations
                    if outcome.trial is None:
                        return False
                    span, before = (state.time, t), energy
                    energy = step_energies(problem, trial, outcome.trial, span, before, rough=True)
                    largest = max(largest, missing_energy(before, energy)[0])
                    state, trial = problem.accepted(state, outcome.trial, t), outcome.trial
                missing_now = missing_energy(last, energy)[0] if self.mortar_only else largest
                if missing_now <= 0.5 * missing:
                    return True
        finally:
            self.other_factorisations += workspace.factorisations
            workspace.close()
        return False

    def _force_scale(self) -> float:
        """Return the scale of forces at the last accepted state [N/m]."""
        if self.trial is None:
            return self.problem.force_floor
        return force_scale(self.problem, self.trial)

    def give_up(self, outcome: Outcome, target: float) -> None:
        """Record why the shortest step has failed, with advice.

        Parameters
        ----------
        outcome : of the failed step
        target : program time of its end
        """
        residuals = ", ".join(f"{r:.1e}" for r in outcome.residuals[-4:]) or "none"
        self.record.status = Status.UNCONVERGED
        self.record.failed_residual = min(outcome.residuals[-1:], default=1.0)
        advice = (
            "A limit point may be near: Continuation() follows the path around it; a smaller "
            "penalty helps where stick and slip cycle"
        )
        floor = self.problem.rounding / self._force_scale()
        if outcome.residuals and min(outcome.residuals[-4:]) <= _AT_ROUNDOFF * floor:
            advice = (
                f"Rounding leaves about {floor:.1e} of the forces here, more where nu is near 1/2 "
                "or a penalty is stiff: ask for a larger newton_tolerance"
            )
        elif self.steps == 0 and "singular" in outcome.reason:
            advice = "A body may be free to move as a rigid body: check its boundary conditions"
            if self.problem.carriers:
                advice += "; hard contact supports no body before surfaces touch: close the gap"
        elif outcome.reason == TUNNELLING:
            advice = "A body passes through another in every step: check prescribed displacements"
        elif not self.problem.passes:
            advice = "The load may exceed what the body can carry: check loads and supports"
        if coarse := self.problem.coarse_elements():
            advice += f". {coarse}"
        # the equilibrium at the start has no step to halve
        halved = f" after {self.method.max_halvings} halvings of the step"
        tail = halved if self.trial is not None else ""
        self.record.reason = (
            f"{outcome.reason} at t = {target:.9g}{tail}; last residuals {residuals}. {advice}"
        )
