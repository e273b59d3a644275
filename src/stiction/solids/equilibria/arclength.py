"""Pseudo-arclength steps: displacements and program time together, with a bordered Newton."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.method import FollowBranch, StayOnPath, StopThere
from stiction.errors import Status
from stiction.numerics.vectors import size_of
from stiction.solids.equilibria.bordered import (
    BEYOND,
    Arc,
    Bordered,
    ByAdhesion,
    ByLength,
    ByTime,
    Point,
    adhesive_slope,
)
from stiction.solids.equilibria.branches import find_branch, taken
from stiction.solids.equilibria.checkpoint import pack, pack_losses, unpack_losses
from stiction.solids.equilibria.history import missing_energy, step_energies
from stiction.solids.equilibria.load_steps import March
from stiction.solids.equilibria.newton import Limits, Outcome
from stiction.solids.equilibria.problem import Problem, State, Trial
from stiction.solids.equilibria.stability import SIGNS, Ways
from stiction.solids.membranes.quantities import extents

if TYPE_CHECKING:
    from stiction.core.run import Request
    from stiction.solids.methods import Continuation

__all__ = ["follow_path"]

Floats = npt.NDArray[np.float64]

_EASY, _HARD = 7, 12
# arcs, in lengths of the first one, below which the energy of adhesion leads instead; and how
# much farther than its length an arc may reach
_SHORT, _FAR = 0.01, 2.5
# steps of program time that an arc may take, and the part of the energy turned over that may be
# missing
_LEAP, _MISSING = 2.0, 0.02
# energy of adhesion over that of two elements that counts as given or taken back
_BACK = 1e-4
_GROWTH = 1.4
# motion of a first step, over the size of the bodies, below which nothing moves
_STILL = 1e-10


class Path:
    """The path of a solid from the last state of a march on.

    Parameters
    ----------
    march : load steps that led to the start, with their record
    method : arc lengths, tolerances, bounds
    begin, end : program times at which the path begins and ends
    """

    def __init__(self, march: March, method: Continuation, begin: float, end: float) -> None:
        self.march, self.method, self.end = march, method, end
        self.problem: Problem = march.problem
        self.space = march.space
        self.limits = Limits(method.newton_tolerance, method.max_iterations)
        self.bordered = Bordered(self.problem, self.space, self.limits, end)
        self.travelled = march.state.time
        self.iterations = self.cuts = self.steps = 0
        assert march.trial is not None
        self.state, self.trial = march.state, march.trial
        self.points: list[Point] = []
        self.length, self.peels = 1.0, 0.0
        self.rising, self.gave = True, 0.0
        self.reached = march.state.time
        # of the whole path: a run that goes on from a checkpoint begins later
        self.span = (end - begin) / method.steps
        self.turns = march.corners[(march.corners > march.state.time) & (march.corners < end)]
        self.rigid = all(p.partner.rigid for p in self.problem.passes)
        self.unstable = -1
        self.pending: Loss | None = None

    @property
    def goal(self) -> float:
        """Program time of the next change of a program's slope, or of the end."""
        ahead = self.turns[self.turns > self.state.time]
        return float(ahead[0]) if ahead.size else self.end

    # ------------------------------------------------------------ the path

    def follow(self) -> None:
        """Follow the path until the program ends, or it cannot be followed."""
        request = self.march.request
        run_to_end(self._loop(), request.progress, request.checkpoint)

    def _loop(self) -> Generator[Pause, None, None]:
        record, problem, method = self.march.record, self.problem, self.method
        if self.march.kept is not None and "path" in self.march.kept:
            self._unpack(self.march.kept)
        elif not self._begin():
            return
        arc: Arc | None = None
        start = self.march.request.t_start
        while self.points[-1].t < self.end:
            if self.points[-1].t < start:
                record.status = Status.NO_CONTINUATION
                record.reason = "the path led back to before the program's beginning"
                return
            length, peels = self.length, self.peels
            if self.steps >= method.max_steps:
                record.status = Status.WORK_LIMIT
                record.reason = f"{self.steps} arcs were taken, the most allowed"
                return
            if peels:
                arc = self._peeled(peels)
            else:
                length = min(length, method.longest)
                arc, length = self._along(length)
            self.iterations += arc.iterations
            if arc.trial is not None and not self._closes(arc):
                arc = arc._replace(trial=None, reason="the energies of a step do not close")
            if arc.trial is not None:
                arc, leaves = self._look_for_branch(arc)
                self._accept(arc)
                if record.status is Status.STOPPED:
                    return
                factor = _GROWTH if arc.iterations <= _EASY else 1.0
                factor = 0.6 if arc.iterations > _HARD else factor
                length *= factor
                peels = min(peels * factor, self._most_peeled())
                turns = np.any(self.turns == self.points[-1].t)
                if turns or leaves or (peels and self._gone()):
                    # programs change their slope, or nothing is left to give: the load leads
                    peels, length = 0.0, 1.0
                    if not self._begin():
                        return
                self.length, self.peels = length, peels
                yield self._pause()
                continue
            self.cuts += 1
            if peels:
                self.peels = peels = 0.5 * peels
                if peels < 0.5**method.max_cuts * self._most_peeled():
                    self._give_up(arc)
                    return
                continue
            self.length = length = 0.5 * length
            if length < _SHORT and problem.passes and not self._gone():
                # the path turns too sharply for an arc, as where slip turns round
                self.peels = 0.05 * self._most_peeled()
            elif length < 0.5**method.max_cuts:
                self._give_up(arc)
                return

    def finish(self) -> None:
        """Tell what waited for the path to turn."""
        if self.pending is not None:
            self.march.record.losses.append(self.pending)

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything that the path needs to go on."""
        march = self.march
        march.state, march.trial = self.state, self.trial
        kept = pack(march)
        kept["counts"] += np.array(
            [self.iterations, self.cuts, self.steps, self.space.factorisations, 0]
        )
        scales = [self.weight, self.time_weight, self.length, self.peels]
        where = [self.travelled, self.reached, float(self.rising), self.gave]
        kept["path"] = np.array(scales + where)
        kept["path_pending"] = pack_losses([self.pending] if self.pending is not None else [])
        kept["path_t"] = np.array([point.t for point in self.points])
        kept["path_u"] = np.array([point.u for point in self.points])
        return kept

    def _unpack(self, kept: dict[str, npt.NDArray[Any]]) -> None:
        """Put the path back to where it was; its counts are with those of the march."""
        self.state = self.march.state
        assert self.march.trial is not None
        self.trial = self.march.trial
        numbers = [float(v) for v in kept["path"]]
        self.weight, self.time_weight, self.length, self.peels = numbers[:4]
        self.travelled, self.reached = numbers[4:6]
        self.rising, self.gave = bool(numbers[6]), numbers[7]
        with unpacking():
            self.pending = next(iter(unpack_losses(kept["path_pending"])), None)
        pairs = zip(kept["path_t"], kept["path_u"], strict=True)
        self.points = [Point(float(t), u) for t, u in pairs]

    def _pause(self) -> Pause:
        begin = self.march.record.wanted[0]
        done = (max(self.reached, self.points[-1].t) - begin) / (self.end - begin)
        self.reached = max(self.reached, self.points[-1].t)
        note = f"arc {self.steps}, {self.iterations} Newton iterations"
        self.march.done = min(done, 1.0)
        return Pause(self.march.done, note, self._pack)

    def _give_up(self, arc: Arc) -> None:
        tail = ", ".join(f"{r:.1e}" for r in arc.residuals[-4:]) or "none"
        self.march.record.status = Status.UNCONVERGED
        self.march.record.unmet = min(arc.residuals[-1:], default=1.0)
        self.march.record.reason = (
            f"{arc.reason or 'the path breaks off'} at program time {self.points[-1].t:.9g} "
            f"after {self.method.max_cuts} cuts of the arc; last residuals {tail}"
        )

    def _along(self, length: float) -> tuple[Arc, float]:
        """Try an arc of a length, shortened so that the program's end is met."""
        before, last = self.points[-2:]
        gone = self._length(before, last)
        ahead = last.t + (last.t - before.t) * length / gone
        if ahead >= self.goal:
            return self._to_goal(), length
        ratio = length / gone
        guess = Point(last.t + ratio * (last.t - before.t), last.u + ratio * (last.u - before.u))
        free = self.problem.free
        along_u = self.weight * (guess.u - last.u).ravel()[free] / length
        along_t = self.time_weight * (guess.t - last.t) / length
        control = ByLength(self.problem, last, along_u, along_t, length)
        arc = self.bordered.arc(self.state, guess, control, self.goal)
        if arc.trial is not None:
            found = Point(arc.t, arc.trial.u)
            if self._length(last, found) > _FAR * length:
                # the plane meets the path again far away: that is no step of it
                arc = arc._replace(trial=None, reason="the path turns back on itself")
        return self._no_farther(arc), length

    def _peeled(self, energy: float) -> Arc:
        """Try a step in which adhesion gives up this energy."""
        before, _ = adhesive_slope(self.problem, self.trial)
        last = self.points[-1]
        return self._no_farther(
            self.bordered.arc(self.state, last, ByAdhesion(self.problem, before, energy), self.goal)
        )

    def _no_farther(self, arc: Arc) -> Arc:
        """Return an arc to the end of the program's slope, if this one leads beyond it."""
        return self._to_goal() if arc.reason is BEYOND else arc

    def _to_goal(self) -> Arc:
        """Try a step to the end of the program's slope, from where the last two points lead."""
        before, last = self.points[-2:]
        guess = last.u
        if last.t > before.t:
            guess = last.u + (self.goal - last.t) / (last.t - before.t) * (last.u - before.u)
        control = ByTime(self.problem, self.goal, self.span)
        return self.bordered.arc(self.state, Point(self.goal, guess), control, self.goal)

    def _most_peeled(self) -> float:
        """Return the energy of adhesion over a length of two boundary elements."""
        most = 0.0
        for p in self.problem.passes:
            law = p.contact.adhesion
            work = float(-np.asarray(law.potential(law.gap_eq)))
            most = max(most, 2.0 * work * float(p.own.areas.sum(axis=1).mean()))
        return most

    def _gone(self) -> bool:
        """Return whether adhesion has nothing left to give."""
        energy, _ = adhesive_slope(self.problem, self.trial)
        return energy > -0.02 * self._most_peeled()

    def _begin(self) -> bool:
        """Take a load step, and let it set the scale of arcs; return whether it was found."""
        march = self.march
        march.state, march.trial = self.state, self.trial
        march.enter()
        self.state, self.trial = march.state, march.trial
        first = Point(self.state.time, self.state.u)
        second = self._first_step(self.state, self.trial)
        if second is None:
            return False
        scale = size_of((second.u - first.u).ravel()[self.problem.free])
        # the first step has length one, half of its square each from places and time
        # where nothing moves, rounding is no measure
        self.weight = 0.5 / max(scale, _STILL * self.problem.largest_length) ** 2
        self.time_weight = 0.5 / (second.t - first.t) ** 2
        self.points = [first, second]
        self.rising = True
        self.state = march.state
        assert march.trial is not None
        self.trial = march.trial
        return True

    def _length(self, a: Point, b: Point) -> float:
        free = self.problem.free
        square = self.weight * float(np.sum((b.u - a.u).ravel()[free] ** 2))
        return float(np.sqrt(square + self.time_weight * (b.t - a.t) ** 2))

    def _first_step(self, state: State, trial: Trial) -> Point | None:
        """Take one small load step, and return where it leads."""
        march = self.march
        span = min((self.end - state.time) / self.method.steps, self.goal - state.time)
        for _ in range(self.method.max_cuts + 1):
            target = state.time + span
            outcome = march.attempt(target, smooth=False)
            if outcome.trial is not None and not self._passes_branch(outcome, target):
                self.travelled += span
                march.accept(outcome, target, at=self.travelled)
                return Point(target, march.state.u)
            span *= 0.5
        march.give_up(outcome, target)
        return None

    def _passes_branch(self, outcome: Outcome, target: float) -> bool:
        """Return whether a first step passes a branch that is not to be passed."""
        policy, watch = self.method.on_bifurcation, self.march.watch
        if policy is None or isinstance(policy, StayOnPath):
            return False
        now = watch.ways(self.problem, target, outcome.matrix, outcome.factors)
        return now is not None and now.changed(watch.last or Ways(0, now.counted))

    def _closes(self, arc: Arc) -> bool:
        """Return whether a step is short enough for its energies to close, and in time."""
        assert arc.trial is not None
        last = self.march.energy
        times = (self.state.time, arc.t)
        now = step_energies(self.problem, self.trial, arc.trial, times, last, rough=True)
        if abs(times[1] - times[0]) > _LEAP * self.method.longest * self.span:
            return False
        # adhesion that gave energy and now takes it back: the step leads back the way it came
        gives = now.adhesive - last.adhesive
        least = _BACK * self._most_peeled()
        if self.gave > least and gives < -least:
            return False
        missing, turned = missing_energy(last, now)
        scale = max(abs(now.stored), abs(now.adhesive), abs(now.work))
        part = _MISSING if self.rigid else 5.0 * _MISSING
        return missing <= max(part * turned, 1e-4 * scale)

    def _accept(self, arc: Arc) -> None:
        trial = arc.trial
        assert trial is not None
        march, times = self.march, (self.state.time, arc.t)
        last = march.energy.adhesive
        march.energy = step_energies(self.problem, self.trial, trial, times, march.energy)
        self.gave = march.energy.adhesive - last
        before = self.state
        self.state = self.problem.accepted(self.state, trial, arc.t)
        self.trial = trial
        self.travelled += abs(times[1] - times[0])
        self.steps += 1
        self.unstable = -1
        extra = {"program_time": arc.t, "sign_of_determinant": self._sign(arc)}
        extra["unstable_ways"] = float(self.unstable) if self.unstable >= 0 else float("nan")
        change = self._changed(extra["sign_of_determinant"], arc, before)
        march.record.add(
            self.state,
            trial,
            march.energy,
            arc.iterations,
            arc.residuals[-1],
            at=self.travelled,
            extra=extra,
        )
        self.points = [*self.points[-2:], Point(arc.t, self.state.u)]
        rising = times[1] >= times[0]
        turned = rising != self.rising
        if turned:
            self._limit_point(self.points)
            self.rising = rising
        # where the path turns one way becomes unstable, told here or at the arc before
        if self.pending is not None and not turned:
            march.record.losses.append(self.pending)
        self.pending = None if turned else change

    def _changed(self, sign: float, arc: Arc, before: State) -> Loss | None:
        """Return what there is to tell where the number of unstable ways changes."""
        assert arc.trial is not None
        if self.unstable < 0 and np.isnan(sign):
            self.march.watch.unseen = "unstable ways were not looked for on arcs"
            return None
        counted = self.unstable >= 0
        if not counted:
            self.march.watch.unseen = SIGNS
        now = Ways(self.unstable if counted else int(sign < 0.0), counted)
        watch = self.march.watch
        last = watch.change_to(now)
        if last is None:
            return None
        found = watch.loss(before, arc.trial.u, arc.t, (last, now), self.limits)
        found = dataclasses.replace(found, time=self.travelled)
        if counted and last.counted and abs(now.number - last.number) > 1:
            # more than one way at once: no turn of the path explains it
            self.march.record.losses.append(found)
            return None
        return found

    def _sign(self, arc: Arc) -> float:
        """Return the sign of the tangent's determinant, NaN where it is not told."""
        if not self.method.stability or arc.factors is None or arc.matrix is None:
            return float("nan")
        if self.march.watch.symmetric(self.problem, np.inf):
            inertia = self.space.inertia(self.problem.reduced(arc.matrix))
            if inertia is not None:
                self.unstable = inertia[1]
                return -1.0 if inertia[1] % 2 else 1.0
        return float(arc.factors.sign)

    def _look_for_branch(self, arc: Arc) -> tuple[Arc, bool]:
        """Return the arc to take, and whether it leads to a branch that goes on in time."""
        march, policy = self.march, self.method.on_bifurcation
        assert arc.trial is not None
        if policy is None or isinstance(policy, StayOnPath) or arc.t <= self.state.time:
            return arc, False
        watch, last = march.watch, march.watch.last
        now = watch.ways(self.problem, arc.t, arc.matrix, arc.factors)
        if now is None or not now.changed(last or Ways(0, now.counted)):
            return arc, False
        ways = (last or Ways(0, now.counted), now)
        loss = watch.loss(self.state, arc.trial.u, arc.t, ways, self.limits)
        places = (float(str(loss.where["from"])), float(str(loss.where["to"])))
        span = (watch.begin, *places, arc.t)
        side = policy.side if isinstance(policy, FollowBranch) else "+"
        branch = find_branch(
            self.problem, self.state, span, arc.trial.u, side, self.limits, march.solver
        )
        if branch is None or branch.felt:
            # a limit point, which the path tells as it turns
            return arc, False
        loss = dataclasses.replace(loss, time=self.travelled + places[0] - self.state.time)
        march.record.losses.append(taken(policy, loss, branch, goes_back=True))
        if isinstance(policy, StopThere):
            march.record.status = Status.STOPPED
            march.record.reason = f"another path leaves this one at program time {branch.at:.9g}"
            before, part = self.state, (places[0] - self.state.time) / (arc.t - self.state.time)
            guess = Point(places[0], before.u + part * (arc.trial.u - before.u))
            control = ByTime(self.problem, places[0], self.span)
            here = self.bordered.arc(before, guess, control, self.goal)
            return (here if part > 0.0 and here.trial is not None else arc), False
        if branch.arc is None or branch.arc.trial is None:
            watch.last = now
            return arc, False
        there = branch.arc
        watch.last = watch.ways(self.problem, there.t, there.matrix, there.factors)
        return there, there.t > branch.at

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
            condition = problem.assembled.all_conditions[readings.displacement]
            where["displacement"] = condition.program.at(top)  # type: ignore[attr-defined]
        if record.last is not None:
            for name in ("force_x", "force_y", extents(self.problem.dim).current):
                if name in record.last.curves:
                    where[name] = record.last.curves[name]
        record.losses.append(
            Loss(self.travelled, "limit_point", where, "the path was followed around it")
        )


def follow_path(problem: Problem, method: Continuation, request: Request) -> March:
    """Follow a path of equilibria from where its load steps end; return what was met on it."""
    start = max(problem.assembled.readings.start, request.t_start)
    whole = request.t_end - request.t_start
    part = min(max(start - request.t_start, 0.0) / whole, 1.0)
    start = request.t_start + part * whole
    steps = method.load_steps(part)
    marks = np.array([request.t_start, max(start, request.t_start)])
    first = dataclasses.replace(request, t_end=start, save=np.unique(marks), every_step=True)
    march = March(problem, steps, first, end=request.t_end)
    try:
        if march.lead() and start < request.t_end:
            path = Path(march, method, start, request.t_end)
            try:
                path.follow()
            finally:
                path.finish()
                march.iterations += path.iterations
                march.steps += path.steps
                march.cuts += path.cuts
    finally:
        march.close()
    return march
