"""From load step to load step: steps grow, are cut when they fail, and everything rolls back."""

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
from stiction.errors import Status
from stiction.laws.adhesive_friction import Frictionless
from stiction.numerics.linear_solvers import LinearSolveError, fastest
from stiction.solids.equilibria.branches import find_branch, taken
from stiction.solids.equilibria.checkpoint import Remembering, pack, unpack
from stiction.solids.equilibria.history import (
    Energies,
    Recorder,
    energies_at,
    missing_energy,
    sprung,
    step_energies,
)
from stiction.solids.equilibria.newton import Limits, Outcome, force_scale, solve_step
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.stability import Watch, find_snap
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

__all__ = ["March"]

Floats = npt.NDArray[np.float64]

_EASY, _HARD = 6, 12
# factorisations after which a solver that was stopped stands where it did: the first one analyses
_TRIES = 2
# how often a step is cut to whose end no straight way leads
_ASTRAY = 3
_GROWTH = 1.5
_SNAPSHOTS = 13
# parts in which a step is taken again before a jump between two bodies is told
_PARTS = (2, 4, 8, 16)
# part of what a step turns over that may be missing before it is a jump; and by virtual work
_JUMP, _JOINED = 0.25, 0.05
# the same where no law pulls, and of the energy: there the step is taken again in parts
_OPEN, _LEAST = 5e-4, 1e-7
# residuals that stay below this many times the floor of rounding are at it
_AT_FLOOR = 30.0
# lengths of the normal law in an element, beyond which Newton's method may see it as a jump
_COARSE = 100.0


class March:
    """A solid followed step by step.

    Parameters
    ----------
    problem : the equations
    method : step lengths, tolerances, bounds
    request : when to start, end and save
    end : where the path ends that goes on from here; None for the end of the request
    """

    def __init__(
        self,
        problem: Problem,
        method: Quasistatic | GeneralisedAlpha,
        request: Request,
        end: float | None = None,
    ) -> None:
        self.problem, self.method, self.request = problem, method, request
        span = request.t_end - request.t_start
        self.most = span / method.steps
        self.least = self.most * 0.5**method.max_cuts
        self.limits = Limits(method.newton_tolerance, method.max_iterations)
        self.solver = method.solver if method.solver is not None else fastest()
        self.space = Remembering(self.solver.start(), self._report)
        self.space.space.describe(problem.layout())
        self.watch = Watch(problem, self.solver, request.t_start)
        self.take_passes()
        # pairs of contacts among many that were found on the way
        self.joins: list[tuple[int, int, int]] = []
        wanted = request.save
        last = request.t_end if end is None else end
        self.record = Recorder(problem, wanted, request.every_step, _SNAPSHOTS, last)
        self.corners = problem.corners()
        inside = (self.corners > request.t_start) & (self.corners <= request.t_end)
        self.marks = np.unique(np.concatenate([self.corners[inside], [request.t_end]]))
        self.stages = problem.assembled.stages
        self.pace()
        self.state = problem.start(request.t_start)
        self.trial: Trial | None = None
        self.energy: Energies
        self.before: tuple[float, Floats] | None = None
        self.iterations = self.cuts = self.steps = self.factorised = self.unfound = 0
        self.dt, self.smooth, self.done = self.most, False, 0.0

    def take_passes(self) -> None:
        """Take note of how bodies touch."""
        problem = self.problem
        # whether they touch by virtual work alone: then energies close in short steps
        self.joined = problem.joined
        # whether any two bodies touch: more may be missing than what a jump releases
        self.shared = self.joined or any(p.is_half_pass for p in problem.passes)
        # what neither adheres nor rubs has one energy, which a smooth path conserves
        smooth = all(isinstance(p.contact.friction, Frictionless) for p in problem.passes)
        self.holds = smooth and problem.deepest == 0.0
        self.watch.rigid = all(p.partner.rigid and not p.hard for p in problem.passes)
        self.ways = CollisionDetection(problem)

    def join(self, pairs: list[tuple[int, int, int]]) -> None:
        """Let pairs of contacts among many join, of which nothing is known yet."""
        self.joins += pairs
        self.problem.widen(with_activated_pairs(self.problem.assembled, pairs))
        self.space.space.describe(self.problem.layout())
        self.take_passes()

    def meets(self, u: Floats) -> bool:
        """Let pairs join whose boxes meet on the way from the last state; return if any do.

        Then the way is not taken: the step is to be tried again.

        Parameters
        ----------
        u : (nodes, d) unknowns at the end of the way
        """
        pairs, known = activated_pairs(self.problem, self.state.u, u), len(self.problem.passes)
        if not pairs:
            return False
        self.join(pairs)
        if self.trial is None:
            self.state = self.problem.start(self.state.time)
            return True
        self.state, self.trial, self.energy = with_new_passes(
            self.problem, self.state, self.trial, self.energy
        )
        extend_records(self.record, known)
        return True

    def pace(self) -> None:
        """Take the steps and the rows of the stage."""
        if not self.stages:
            return
        request, stage = self.request, self.stages[self.problem.stage]
        begins = [request.t_start, *(s.until for s in self.stages)]
        low, high = begins[self.problem.stage], stage.until
        if stage.steps is not None:
            self.most = (high - low) / stage.steps
        else:
            self.most = (request.t_end - request.t_start) / self.method.steps
        self.least = self.most * 0.5**self.method.max_cuts
        self.dt = self.most
        if stage.rows is None:
            self.record.wanted, self.record.every_step = request.save, request.every_step
        else:
            self.record.wanted = np.linspace(low, high, stage.rows + 1)
            self.record.every_step = False

    def enter(self) -> None:
        """Go on with the next stage, where the last one has ended."""
        last = self.problem.stage
        if last + 1 >= len(self.stages) or self.state.time < self.stages[last].until:
            return
        assert self.trial is not None
        self.state, self.trial = self.problem.carried(self.state, self.trial)
        assert self.problem.gone is not None
        self.energy = sprung(self.energy, self.problem.gone.energies)
        self.before, self.smooth = None, False
        self.watch.last = None
        self.pace()

    def run(self) -> None:
        """Follow the program to its end, or to where it cannot be followed."""
        try:
            self.lead()
        finally:
            self.close()

    def note(self) -> None:
        """Keep what is known of the linear solves of the path."""
        seen = self.record.extremes
        seen.backward = max(seen.backward, self.space.backward)

    def close(self) -> None:
        """Count the work and keep the last state."""
        self.record.stats = {
            "steps": self.steps,
            "newton_iterations": self.iterations,
            "step_cuts": self.cuts,
            "factorisations": self.factorised + self.space.factorisations,
            "unknowns": int(self.problem.free.size),
        }
        if self.unfound:
            self.record.stats["rows_not_found"] = self.unfound
        self.note()
        self.record.stats.update(self.space.space.report())
        self.space.close()
        self.watch.close()
        self.record.unseen = self.watch.unseen
        self.record.finish()

    def lead(self) -> bool:
        """Follow the program to the end asked for, and return whether it was reached."""
        checkpoint = self.request.checkpoint
        kept = None if checkpoint is None else checkpoint.load()
        self.kept = kept
        if kept is not None:
            self.join(saved_pairs(kept, self.problem.assembled))
            unpack(kept, self)
            self.back(kept)
            self._warm()
            if "path" in kept:
                return True
        elif not self._begin():
            return False
        return self.lead_on()

    def lead_on(self) -> bool:
        """Follow the program from the last state to the end asked for."""
        return run_to_end(self._loop(), self.request.progress, self.request.checkpoint)

    def _loop(self) -> Generator[Pause, None, bool]:
        begin, end = self.request.t_start, self.request.t_end
        while self.state.time < end:
            if self.steps >= self.method.max_steps:
                self.record.status = Status.WORK_LIMIT
                self.record.reason = f"{self.steps} load steps were taken, the most allowed"
                return False
            if not self._step():
                return False
            note = f"step {self.steps}, {self.iterations} Newton iterations"
            self.done = (self.state.time - begin) / (end - begin)
            yield Pause(self.done, note, self._pack)
        return True

    def _report(self) -> None:
        """Report within a step."""
        note = f"step {self.steps + 1}, {self.space.factorisations} factorisations"
        self.request.progress(self.done, note)

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        kept = {**pack(self), **self.more()}
        kept["counts"][3] += self.space.factorisations
        return kept

    def more(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a checkpoint needs besides; of methods that build on this one."""
        return {}

    def back(self, kept: dict[str, npt.NDArray[Any]]) -> None:
        """Take back what `more` returned."""

    def _warm(self) -> None:
        """Let the solver analyse the matrix that it had analysed when the checkpoint was made.

        Orders and scalings come from that matrix, and SuperLU keeps its order from the second
        matrix on: both decide how the rest is rounded.
        """
        trial = self.problem.evaluate(self.state, self.state.u, self.state.time, None, data=True)
        matrix = trial[1]
        assert matrix is not None
        assert self.kept is not None
        before = self.space.factorisations
        reduced = self.problem.reduced(matrix)
        entries, size = reduced.data.size, self.kept["analysed"].size
        check_count("analysed", size, entries, entries)
        reduced.data = self.kept["analysed"]
        for _ in range(_TRIES):
            with contextlib.suppress(LinearSolveError):
                self.space.factorise(reduced)
        self.factorised -= self.space.factorisations - before

    def _begin(self) -> bool:
        """Find balance at the start, and keep it as the first row."""
        start = self.state
        first = self._settle()
        if first is None:
            return False
        self.energy = energies_at(self.problem, first, self.state.time)
        self._look_for_jump_in(self.problem.start(start.time) if self.joins else start)
        self.trial = first
        self.record.add(self.state, first, self.energy, self.iterations)
        return True

    def _step(self) -> bool:
        """Take one load step, cut as often as need be; return whether it was found."""
        self.enter()
        astray = 0
        while True:
            t = self.state.time
            target = self._target(t, min(self.dt, self.most))
            before = self.iterations
            outcome = self.attempt(target, self.smooth)
            if outcome.trial is not None:
                if self.meets(outcome.trial.u):
                    continue
                half, spent = 0.5 * (target - t), self.iterations - before
                if self.ways.tunnels(self.state.u, outcome.trial.u):
                    outcome = Outcome(None, outcome.iterations, (), TUNNELLING)
                elif astray == _ASTRAY or half < self.least or not self._strays(outcome, spent):
                    break
                else:
                    astray += 1
            self.cuts += 1
            self.dt = 0.5 * (target - t)
            if self.dt < self.least:
                self.give_up(outcome, target)
                return False
        outcome, target, ends = self._look_for_branch(outcome, target)
        unfound = self._rows_within(outcome, target)
        self.accept(outcome, target)
        if unfound:
            self.unfound += unfound
            self.record.keep_last()
        # where a program changes its slope, the last two states point nowhere
        self.smooth = target not in self.corners
        if ends:
            self.record.status = Status.STOPPED
            self.record.reason = f"another path leaves this one at t = {target:.9g}"
            return False
        if outcome.iterations <= _EASY:
            self.dt = max(self.dt, target - t) * _GROWTH
        elif outcome.iterations > _HARD:
            self.dt = 0.6 * (target - t)
        return True

    def _strays(self, outcome: Outcome, spent: int) -> bool:
        """Return whether an end was found by many iterations, and no straight way leads there.

        From bodies that overlap at the first guess Newton's method may end with elements pushed
        through each other, right side out again, in balance: a shorter step does not.
        """
        if not self.joined or spent <= _HARD or outcome.trial is None:
            return False
        way = map(self.problem.unknowns.displacements, (self.state.u, outcome.trial.u))
        return self.problem.bulk.least_volume(*way) <= 0.0

    def _rows_within(self, outcome: Outcome, target: float) -> int:
        """Find the states that are asked for within a step, and keep their rows.

        Each is reached by a shorter step from the same state, of which the path knows nothing:
        what is told of the path does not depend on the rows that are kept. Return how many were
        not found: in a step that jumps there may be no balance in between.
        """
        assert outcome.trial is not None
        t, u, unfound = self.state.time, self.state.u, 0
        for at in self.record.asked_between(t, target):
            guess = u + (at - t) / (target - t) * (outcome.trial.u - u)
            unfound += not self._aside(at, guess)
        return unfound

    def _aside(self, at: float, guess: Floats) -> bool:
        """Go from the last accepted state to a time within the step, and keep the row there."""
        assert self.trial is not None
        # equations of its own: what a matrix was ordered for decides how the path is rounded
        problem, space = self.problem.alike(), self.solver.start()
        state, trial, energy = self.state, self.trial, self.energy
        first: Floats | None = guess
        dt, spent = at - state.time, 0
        try:
            while state.time < at:
                target = at if state.time + 1.001 * dt >= at else state.time + dt
                outcome = solve_step(problem, state, target, first, self.limits, space)
                spent += outcome.iterations
                if outcome.trial is None:
                    # without a guess the whole step is tried once more, then ever smaller ones
                    dt = dt if first is not None else 0.5 * (target - state.time)
                    first = None
                    if dt < self.least:
                        return False
                    continue
                times = (state.time, target)
                energy = step_energies(problem, trial, outcome.trial, times, energy)
                state = problem.accepted(state, outcome.trial, target)
                trial = outcome.trial
            self.record.between(trial, at, energy, spent)
            return True
        finally:
            self.iterations += spent
            self.factorised += space.factorisations
            space.close()

    def _settle(self) -> Trial | None:
        """Find balance at the start."""
        t = self.state.time
        while True:
            u = self.state.u
            outcome = solve_step(self.problem, self.state, t, u, self.limits, self.space)
            self.iterations += outcome.iterations
            if outcome.trial is None:
                self.give_up(outcome, t)
                return None
            if not self.meets(outcome.trial.u):
                break
        self.state = self.problem.accepted(self.state, outcome.trial, t)
        return outcome.trial

    def _target(self, t: float, dt: float) -> float:
        """Return where a step of about dt ends: on the next mark, if it is near."""
        mark = float(self.marks[np.searchsorted(self.marks, t, side="right")])
        if t + 1.001 * dt >= mark:
            return mark
        # two even steps rather than a long and a tiny one
        return t + dt if t + 2.0 * dt <= mark else 0.5 * (t + mark)

    def attempt(self, target: float, smooth: bool) -> Outcome:
        """Try a step, from where the last two states point to, and else from the last one."""
        problem, state = self.problem, self.state
        if smooth and self.before is not None:
            ratio = (target - state.time) / (state.time - self.before[0])
            guess = state.u + ratio * (state.u - self.before[1])
            outcome = solve_step(problem, state, target, guess, self.limits, self.space)
            self.iterations += outcome.iterations
            if outcome.trial is not None:
                return outcome
        outcome = solve_step(problem, state, target, None, self.limits, self.space)
        self.iterations += outcome.iterations
        return outcome

    def accept(self, outcome: Outcome, target: float, at: float | None = None) -> None:
        """Commit a load step; `at` is the time of its row, if it is not that of the program."""
        trial = outcome.trial
        assert trial is not None
        assert self.trial is not None
        times = (self.state.time, target)
        last = self.energy
        self.energy = step_energies(self.problem, self.trial, trial, times, last)
        extra, known = None, len(self.record.losses)
        self._look_for_jump(last, times)
        if at is not None:
            extra, lost = {"program_time": target}, self.record.losses
            for i in range(known, len(lost)):
                lost[i] = dataclasses.replace(lost[i], time=at - abs(target - lost[i].time))
        self.before = (self.state.time, self.state.u)
        self.state = self.problem.accepted(self.state, trial, target)
        self.trial = trial
        self.steps += 1
        residual = outcome.residuals[-1] if outcome.residuals else 0.0
        self.record.add(self.state, trial, self.energy, outcome.iterations, residual, at, extra)

    def _look_for_branch(self, outcome: Outcome, target: float) -> tuple[Outcome, float, bool]:
        """Tell a step along which another path leaves this one, and do what is asked for there.

        Return the step to take, its end, and whether the run ends with it.
        """
        found = self.watch.see(self.state, outcome, target, self.limits)
        # motions pass what load steps would stop at
        policy = getattr(self.method, "on_bifurcation", None)
        if found is None:
            return outcome, target, False
        trial = outcome.trial
        if policy is None or isinstance(policy, StayOnPath) or trial is None:
            self.record.losses.append(found)
            return outcome, target, False
        low, high = (float(str(found.where[name])) for name in ("from", "to"))
        if isinstance(policy, StopThere):
            self.record.losses.append(taken(policy, found, None, goes_back=False))
            part = (low - self.state.time) / (target - self.state.time)
            guess = self.state.u + part * (trial.u - self.state.u)
            if low > self.state.time:
                here = solve_step(self.problem, self.state, low, guess, self.limits, self.space)
                outcome, target = (here, low) if here.trial is not None else (outcome, target)
            return outcome, target, True
        assert isinstance(policy, FollowBranch)
        span = (self.watch.begin, low, high, target)
        u, side = trial.u, policy.side
        branch = find_branch(self.problem, self.state, span, u, side, self.limits, self.solver)
        self.record.losses.append(taken(policy, found, branch, goes_back=False))
        if branch is None or branch.felt or branch.arc is None or branch.arc.trial is None:
            return outcome, target, False
        arc = branch.arc
        if not branch.at < arc.t <= target:
            return outcome, target, False
        self.watch.last = self.watch.ways(self.problem, arc.t, arc.matrix, arc.factors)
        self.iterations += arc.iterations
        there = Outcome(arc.trial, arc.iterations, arc.residuals, "", arc.factors, arc.matrix)
        return there, arc.t, False

    def _look_for_jump_in(self, start: State) -> None:
        """Tell bodies that snap together at the start: energy falls before anything is done."""
        t = start.time
        if not self.problem.passes or self.problem.loads(t, start.u).any():
            return
        before, _ = self.problem.evaluate(start, start.u, t, None, data=False)
        stored, adhesive = self.problem.stored(before)
        released = stored + adhesive - self.energy.stored - self.energy.adhesive
        turned = abs(self.energy.adhesive - adhesive)
        scale = abs(self.energy.adhesive)
        if self.joined:
            scale = max(scale, self.problem.deepest)
            # what relaxes evenly gives half of its first force times the way, and does not jump
            way = float(np.sum(before.residual * (self.state.u - start.u)))
            if released <= abs(way):
                return
        if released > _JUMP * turned and released > 1e-3 * scale:
            where = {"energy_missing": released}
            choice = "the state of rest that Newton's method found from the given places"
            self.record.losses.append(Loss(t, "quasistatic_jump", where, choice))

    def _look_for_jump(self, last: Energies, times: tuple[float, float]) -> None:
        """Tell a step whose energies do not close: Newton's method left the branch it followed."""
        now = self.energy
        missing, turned = missing_energy(last, now)
        scale = max(abs(now.stored), abs(now.adhesive), abs(now.work))
        if self.joined:
            # what the boundaries could give; less is not worth the name of a jump
            scale = max(scale, self.problem.deepest)
        where: dict[str, object] = {"from": times[0], "energy_missing": missing}
        # what rounding leaves of forces, along the way of bodies that move freely
        floor = self.problem.rounding * self.problem.largest_length
        least = max(_OPEN * turned, _LEAST * scale, floor)
        jumped = (_JOINED if self.joined else _JUMP) * turned
        if self.holds and missing > least:
            assert self.trial is not None
            begin, beside = (self.state, self.trial, last), self.problem.alike()
            energies, first = (missing, least), self.watch.begin
            snap = find_snap(beside, begin, times[1], energies, self.limits, self.solver, first)
            if snap is not None:
                place = 0.5 * (snap.low + snap.high)
                where |= {"program_time": place, "from": snap.low, "to": snap.high}
                choice = "the state at which Newton's method arrived; inertia would decide"
                self.record.losses.append(Loss(snap.high, "quasistatic_jump", where, choice))
        elif missing > max(jumped, 1e-3 * scale, floor):
            if self.shared and self._spreads_in_parts(last, times, missing):
                return
            choice = "the state at which Newton's method arrived; inertia would decide"
            self.record.losses.append(Loss(times[1], "quasistatic_jump", where, choice))

    def _spreads_in_parts(self, last: Energies, times: tuple[float, float], missing: float) -> bool:
        """Return whether what is missing in a step is no jump: taken in parts, it spreads.

        What a jump releases stays missing in one part, however short the parts are. The
        trapezoidal rule for work misses part of any long step, and ever less of short ones; work
        that two half passes do not share is missing all along the way. The parts lie beside the
        path.
        """
        assert self.trial is not None
        problem, space = self.problem.alike(), self.solver.start()
        try:
            for parts in _PARTS:
                state, trial, energy, largest = self.state, self.trial, last, 0.0
                for target in np.linspace(*times, parts + 1)[1:]:
                    t = float(target)
                    outcome = solve_step(problem, state, t, None, self.limits, space)
                    self.iterations += outcome.iterations
                    if outcome.trial is None:
                        return False
                    span, before = (state.time, t), energy
                    energy = step_energies(problem, trial, outcome.trial, span, before, rough=True)
                    largest = max(largest, missing_energy(before, energy)[0])
                    state, trial = problem.accepted(state, outcome.trial, t), outcome.trial
                less = missing_energy(last, energy)[0] if self.joined else largest
                if less <= 0.5 * missing:
                    return True
        finally:
            self.factorised += space.factorisations
            space.close()
        return False

    def _too_coarse(self) -> str:
        """Return what to say of elements that are much longer than the length of a normal law."""
        said = ""
        for p in self.problem.passes:
            length = p.contact.adhesion.length
            if 0.0 < _COARSE * length < p.finest:
                said = (
                    f". Elements of boundary {p.contact.boundary.name!r} are {p.finest:.2g} m, "
                    f"{p.finest / length:.0f} times the length {length:.2g} m of the normal law: "
                    "refine them, take a longer law, or Signorini() for hard contact without one"
                )
        return said

    def _forces(self) -> float:
        """Return the forces at the last accepted state, or their floor [N/m]."""
        if self.trial is None:
            return self.problem.smallest_force
        return force_scale(self.problem, self.trial)

    def give_up(self, outcome: Outcome, target: float) -> None:
        """End the run where no step was found, with the reason and what to look at."""
        last = ", ".join(f"{r:.1e}" for r in outcome.residuals[-4:]) or "none"
        self.record.status = Status.UNCONVERGED
        self.record.unmet = min(outcome.residuals[-1:], default=1.0)
        advice = (
            "A limit point may be near: Continuation() follows the path around it; a smaller "
            "penalty helps where stick and slip cycle"
        )
        floor = self.problem.rounding / self._forces()
        if outcome.residuals and min(outcome.residuals[-4:]) <= _AT_FLOOR * floor:
            advice = (
                f"Rounding leaves about {floor:.1e} of the forces here, more where nu is near 1/2 "
                "or a penalty is stiff: ask for a larger newton_tolerance"
            )
        elif self.steps == 0 and "singular" in outcome.reason:
            advice = "Nothing may hold a body against rigid motion: look at its conditions"
            if self.problem.carriers:
                advice += "; hard contact holds nothing before surfaces touch: drive them together"
        elif outcome.reason == TUNNELLING:
            advice = "On every straight way one lies inside the other: look at what drives them"
        elif not self.problem.passes:
            advice = "The load may be more than the body can carry: look at its conditions"
        advice += self._too_coarse()
        self.record.reason = (
            f"{outcome.reason} at t = {target:.9g} after {self.method.max_cuts} cuts of the step; "
            f"last residuals {last}. {advice}"
        )
