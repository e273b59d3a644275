"""Pseudo-arclength continuation of an equilibrium path, through limit points of the load.

Displacements u and program time t are unknowns of r(u, t) = 0. Each step has one additional
equation, the control: it prescribes the arclength s of the step,

    w du . du_0 + w_t dt dt_0 = s^2,   with the secant predictor (du_0, dt_0) of length s;

or, where the path turns too sharply for this, the adhesive energy that is released; or the time of
the next kink of the program. The weights w [1/m^2] and w_t (of time) are such that the first load
step of the path has s = 1, half of s^2 from u and half from t. A step that fails, or whose energy
balance does not close, is halved. The time of samples increases along the path by |dt| in each
step; program time may decrease.

`bordered` solves a step; `follow_path`, called by `run.run_continuation`, takes load steps up to
the start of the path and then follows it.
Source: Keller 1977; Riks 1979; Crisfield 1981.
"""

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
    AdhesionControl,
    ArclengthControl,
    ArcStep,
    Bordered,
    PathPoint,
    TimeControl,
    adhesion_gradient,
)
from stiction.solids.equilibria.branches import bifurcation_loss, find_branch
from stiction.solids.equilibria.checkpoint import pack, pack_losses, unpack_losses
from stiction.solids.equilibria.history import missing_energy, step_energies
from stiction.solids.equilibria.load_steps import LoadStepper
from stiction.solids.equilibria.newton import Limits, Outcome
from stiction.solids.equilibria.problem import Problem, State
from stiction.solids.equilibria.stability import SIGNS, UnstableModes
from stiction.solids.many.continuous_collision import TUNNELLING
from stiction.solids.membranes.quantities import extents

if TYPE_CHECKING:
    from stiction.core.run import Request
    from stiction.solids.methods import Continuation

__all__ = ["follow_path"]

Floats = npt.NDArray[np.float64]

# chosen: iterations up to which the next step is longer by _GROWTH, and from which it is shorter by
# _REDUCTION
_FEW_ITERATIONS, _MANY_ITERATIONS = 7, 12
_GROWTH, _REDUCTION = 1.4, 0.6
# arclength, over that of the first step, below which the adhesive energy controls steps instead;
# and the largest distance between both ends of a step over its prescribed arclength
_SHORTEST_ARC, _MOST_REACH = 0.01, 2.5
# largest change of program time over that of a load step, and largest fraction of the exchanged
# energy that may be missing in the balance
_LONGEST_TIME, _UNACCOUNTED = 2.0, 0.02
# change of the adhesive energy, over that of two elements, below which its sign is noise
_ADHESION_NOISE = 1e-4
# chosen: first step under control of the adhesive energy, and energy below which adhesion is
# exhausted, both over that of two elements
_FIRST_ADHESION_STEP, _EXHAUSTED = 0.05, 0.02
# displacement of a first step, over the size of the bodies, below which it is rounding
_NO_MOTION = 1e-10


class PathFollower:
    """Follows the equilibrium path from the last state of a load stepper.

    Parameters
    ----------
    stepper : load steps up to the start of the path, with their record
    method : arc lengths, tolerances, bounds
    begin, end : program times at which the path begins and ends

    Attributes
    ----------
    points : the last three points of the path, the latest at the end
    weight, time_weight : w and w_t of the arclength [1/m^2], [1 / time^2]
    length : arclength of the next step [1]
    adhesion_step : adhesive energy of the next step [J/m]; 0 if the arclength controls it
    travelled : time along the path, the sum of |dt|
    negative : number of negative eigenvalues of the last tangent, -1 if not counted
    pending : a change of stability that is a bifurcation unless the path turns in the next step
    """

    def __init__(
        self, stepper: LoadStepper, method: Continuation, begin: float, end: float
    ) -> None:
        self.stepper, self.method, self.end = stepper, method, end
        self.problem: Problem = stepper.problem
        self.workspace = stepper.workspace
        self.limits = Limits(method.newton_tolerance, method.max_iterations)
        span = (stepper.request.t_start, end)
        self.bordered = Bordered(self.problem, self.workspace, self.limits, span)
        self.travelled = stepper.state.time
        self.iterations = self.cuts = self.steps = 0
        assert stepper.trial is not None
        self.state, self.trial = stepper.state, stepper.trial
        self.points: list[PathPoint] = []
        self.length, self.adhesion_step = 1.0, 0.0
        self.time_increases, self.adhesion_gain = True, 0.0
        self.largest_time = stepper.state.time
        # the span of the whole path: a run that continues from a checkpoint starts later
        self.span = (end - begin) / method.steps
        self.kink_times = stepper.kink_times[
            (stepper.kink_times > begin) & (stepper.kink_times < end)
        ]
        self.rigid_partners = all(p.partner.rigid for p in self.problem.passes)
        self.negative = -1
        self.pending: Loss | None = None

    @property
    def next_kink(self) -> float:
        """Program time of the next change of a program's slope, or of the end."""
        later = self.kink_times[self.kink_times > self.state.time]
        return float(later[0]) if later.size else self.end

    # ------------------------------------------------------------ the path

    def follow(self) -> None:
        """Follow the path until the program ends, or no further step converges."""
        request = self.stepper.request
        run_to_end(self._loop(), request.progress, request.checkpoint)

    def _loop(self) -> Generator[Pause, None, None]:
        """Take steps to the end of the program; yield after every accepted step."""
        record, problem, method = self.stepper.record, self.problem, self.method
        if self.stepper.checkpoint is not None and "path" in self.stepper.checkpoint:
            self._unpack(self.stepper.checkpoint)
        elif not self._begin():
            return
        arc: ArcStep | None = None
        while self.points[-1].t < self.end:
            stage, stages = problem.stage, self.stepper.stages
            start = stages[stage - 1].until if stage else self.stepper.request.t_start
            if self.points[-1].t < start:
                where = "its stage" if stage else "the program"
                record.status = Status.NO_CONTINUATION
                record.reason = f"the path returned to times before the start of {where}"
                return
            if np.any(self.kink_times == self.points[-1].t):
                # the first step of a path ended there, perhaps together with its stage
                if not self._begin():
                    return
                yield self._pause()
                continue
            arc_length, adhesion_step = self.length, self.adhesion_step
            if self.steps >= method.max_steps:
                record.status = Status.WORK_LIMIT
                record.reason = f"{self.steps} arclength steps were taken, the limit max_steps"
                return
            # one step under the present control; refused steps count as failed
            if adhesion_step:
                arc = self._adhesion_controlled(adhesion_step)
            else:
                arc_length = min(arc_length, method.longest)
                arc, arc_length = self._arclength_controlled(arc_length)
            self.iterations += arc.iterations
            if arc.trial is not None and (reason := self._refusal(arc)):
                arc = arc._replace(trial=None, reason=reason)
            if arc.trial is not None:
                arc, on_branch = self._detect_branch(arc)
                self._accept(arc)
                if record.status is Status.STOPPED:
                    return
                factor = _GROWTH if arc.iterations <= _FEW_ITERATIONS else 1.0
                factor = _REDUCTION if arc.iterations > _MANY_ITERATIONS else factor
                arc_length *= factor
                adhesion_step = min(adhesion_step * factor, self._largest_adhesion_step())
                at_kink = np.any(self.kink_times == self.points[-1].t)
                if at_kink or on_branch or (adhesion_step and self._adhesion_exhausted()):
                    # the tangent of the path is unknown there: a load step restarts the arclength
                    adhesion_step, arc_length = 0.0, 1.0
                    if not self._begin():
                        return
                self.length, self.adhesion_step = arc_length, adhesion_step
                yield self._pause()
                continue
            # a failed step is halved; below a shortest arclength adhesive energy takes control
            self.cuts += 1
            if adhesion_step:
                self.adhesion_step = adhesion_step = 0.5 * adhesion_step
                if adhesion_step < 0.5**method.max_halvings * self._largest_adhesion_step():
                    self._give_up(arc)
                    return
                continue
            self.length = arc_length = 0.5 * arc_length
            if arc_length < _SHORTEST_ARC and problem.passes and not self._adhesion_exhausted():
                # the path turns too sharply for arclength steps, as where slip reverses
                self.adhesion_step = _FIRST_ADHESION_STEP * self._largest_adhesion_step()
            elif arc_length < 0.5**method.max_halvings:
                self._give_up(arc)
                return

    def finish(self) -> None:
        """Record the bifurcation that might have been a limit point, if the path did not turn."""
        if self.pending is not None:
            self.stepper.record.losses.append(self.pending)

    def _pack(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state of the path as arrays of a checkpoint."""
        stepper = self.stepper
        stepper.state, stepper.trial = self.state, self.trial
        arrays = pack(stepper)
        arrays["counts"] += np.array(
            [self.iterations, self.cuts, self.steps, self.workspace.factorisations, 0]
        )
        # "path" (9,): the four step sizes, then the five numbers of `state`, as `_unpack` reads it
        step_sizes = [self.weight, self.time_weight, self.length, self.adhesion_step]
        state = [
            self.travelled,
            self.largest_time,
            float(self.time_increases),
            self.adhesion_gain,
            float(self.steps),
        ]
        arrays["path"] = np.array(step_sizes + state)
        arrays["path_pending"] = pack_losses([self.pending] if self.pending is not None else [])
        arrays["path_t"] = np.array([point.t for point in self.points])
        arrays["path_u"] = np.array([point.u for point in self.points])
        return arrays

    def _unpack(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the path from a checkpoint; other counts of its work are in the stepper."""
        self.state = self.stepper.state
        assert self.stepper.trial is not None
        self.trial = self.stepper.trial
        numbers = [float(v) for v in arrays["path"]]
        self.weight, self.time_weight, self.length, self.adhesion_step = numbers[:4]
        self.travelled, self.largest_time = numbers[4:6]
        self.time_increases, self.adhesion_gain = bool(numbers[6]), numbers[7]
        self.steps = int(numbers[8])
        self.stepper.steps -= self.steps
        with unpacking():
            self.pending = next(iter(unpack_losses(arrays["path_pending"])), None)
        pairs = zip(arrays["path_t"], arrays["path_u"], strict=True)
        self.points = [PathPoint(float(t), u) for t, u in pairs]

    def _pause(self) -> Pause:
        """Return the progress, as the fraction of program time that the path has reached."""
        begin = self.stepper.record.save_times[0]
        fraction = (max(self.largest_time, self.points[-1].t) - begin) / (self.end - begin)
        self.largest_time = max(self.largest_time, self.points[-1].t)
        note = f"arclength step {self.steps}, {self.iterations} Newton iterations"
        self.stepper.fraction_done = min(fraction, 1.0)
        return Pause(self.stepper.fraction_done, note, self._pack)

    def _give_up(self, arc: ArcStep) -> None:
        """Record why the shortest step has failed."""
        tail = ", ".join(f"{r:.1e}" for r in arc.residuals[-4:]) or "none"
        self.stepper.record.status = Status.UNCONVERGED
        self.stepper.record.failed_residual = min(arc.residuals[-1:], default=1.0)
        self.stepper.record.reason = (
            f"{arc.reason or 'no step converges'} at program time {self.points[-1].t:.9g} "
            f"after {self.method.max_halvings} halvings of the arclength; last residuals {tail}"
        )

    def _arclength_controlled(self, length: float) -> tuple[ArcStep, float]:
        """Try a step of this arclength; if it would pass the next kink, a step to the kink."""
        before, last = self.points[-2:]
        last_length = self._length(before, last)
        end_time = last.t + (last.t - before.t) * length / last_length
        if end_time >= self.next_kink:
            return self._time_controlled(), length
        r = length / last_length
        # the secant of the last two points predicts the next one
        guess = PathPoint(last.t + r * (last.t - before.t), last.u + r * (last.u - before.u))
        free = self.problem.free
        gradient_u = self.weight * (guess.u - last.u).ravel()[free] / length
        gradient_t = self.time_weight * (guess.t - last.t) / length
        control = ArclengthControl(self.problem, last, gradient_u, gradient_t, length)
        arc = self.bordered.solve(self.state, guess, control, self.next_kink)
        if arc.trial is not None:
            point = PathPoint(arc.t, arc.trial.u)
            if self._length(last, point) > _MOST_REACH * length:
                # the control plane intersects the path again, far away
                arc = arc._replace(trial=None, reason="a step reaches a distant part of the path")
        return self._not_beyond_kink(arc), length

    def _adhesion_controlled(self, energy: float) -> ArcStep:
        """Try a step that releases this adhesive energy."""
        before, _ = adhesion_gradient(self.problem, self.trial, self.state.time)
        control = AdhesionControl(self.problem, before, energy)
        arc = self.bordered.solve(self.state, self.points[-1], control, self.next_kink)
        return self._not_beyond_kink(arc)

    def _not_beyond_kink(self, arc: ArcStep) -> ArcStep:
        """Return this step, or one to the next kink of the program if this one passes it."""
        return self._time_controlled() if arc.reason is BEYOND else arc

    def _time_controlled(self) -> ArcStep:
        """Try a step to the next kink of the program; the last two points predict it."""
        before, last = self.points[-2:]
        guess = last.u
        if last.t > before.t:
            guess = last.u + (self.next_kink - last.t) / (last.t - before.t) * (last.u - before.u)
        control = TimeControl(self.problem, self.next_kink, self.span)
        point = PathPoint(self.next_kink, guess)
        return self.bordered.solve(self.state, point, control, self.next_kink)

    def _largest_adhesion_step(self) -> float:
        """Return the work of adhesion of two boundary elements [J/m]."""
        largest = 0.0
        for p in self.problem.passes:
            law = p.contact.adhesion
            work = float(-np.asarray(law.potential(law.gap_eq)))
            largest = max(largest, 2.0 * work * float(p.own.areas.sum(axis=1).mean()))
        return largest

    def _adhesion_exhausted(self) -> bool:
        """Return whether nearly all adhesive energy has been released."""
        energy, _ = adhesion_gradient(self.problem, self.trial, self.state.time)
        return energy > -_EXHAUSTED * self._largest_adhesion_step()

    def _begin(self) -> bool:
        """Take a load step, which has arclength 1 by definition; return whether it converged."""
        stepper = self.stepper
        stepper.state, stepper.trial = self.state, self.trial
        if stepper.begin_stage(self.travelled):
            return False
        self.state, self.trial = stepper.state, stepper.trial
        first = PathPoint(self.state.time, self.state.u)
        second = self._first_step(self.state)
        if second is None:
            return False
        scale = size_of((second.u - first.u).ravel()[self.problem.free])
        # displacements and time contribute half of its square each; where nothing moves, the
        # displacement is rounding and defines no scale
        self.weight = 0.5 / max(scale, _NO_MOTION * self.problem.largest_length) ** 2
        self.time_weight = 0.5 / (second.t - first.t) ** 2
        self.points = [first, second]
        self.time_increases = True
        self.state = stepper.state
        assert stepper.trial is not None
        self.trial = stepper.trial
        return True

    def _length(self, a: PathPoint, b: PathPoint) -> float:
        """Return the distance sqrt(w |u_b - u_a|^2 + w_t (t_b - t_a)^2) of two points [1]."""
        free = self.problem.free
        square = self.weight * float(np.sum((b.u - a.u).ravel()[free] ** 2))
        return float(np.sqrt(square + self.time_weight * (b.t - a.t) ** 2))

    def _first_step(self, state: State) -> PathPoint | None:
        """Take one small load step, and return its end."""
        stepper = self.stepper
        span = min((self.end - state.time) / self.method.steps, self.next_kink - state.time)
        for _ in range(self.method.max_halvings + 1):
            target = state.time + span
            outcome = stepper.attempt(target, extrapolate=False)
            if outcome.trial is not None and stepper.collision.tunnels(state.u, outcome.trial.u):
                outcome = Outcome(None, outcome.iterations, (), TUNNELLING)
            if outcome.trial is not None and self._crosses_branch(outcome, target):
                outcome = Outcome(None, outcome.iterations, (), "another path branches off")
            if outcome.trial is not None:
                self.travelled += span
                self._count(outcome, target)
                stepper.accept(outcome, target, at=self.travelled)
                return PathPoint(target, stepper.state.u)
            span *= 0.5
        stepper.give_up(outcome, target)
        return None

    def _count(self, outcome: Outcome, target: float) -> None:
        """Record the bifurcations in a first step."""
        # without counts on arclength steps, the last count is out of date
        if not self.method.stability:
            return
        found = self.stepper.monitor.check(self.state, outcome, target, self.limits)
        # where time has decreased, it turns here: a limit point loses or regains a mode
        for loss in found if self.time_increases else ():
            at = self.travelled - (target - loss.time)
            self.stepper.record.losses.append(dataclasses.replace(loss, time=at))

    def _crosses_branch(self, outcome: Outcome, target: float) -> bool:
        """Return whether a first step crosses a bifurcation at which the policy leaves the path."""
        policy, monitor = self.method.on_bifurcation, self.stepper.monitor
        if policy is None or isinstance(policy, StayOnPath):
            return False
        now = monitor.modes(self.problem, target, outcome.matrix, outcome.factors)
        return now is not None and now.changed(monitor.last or UnstableModes(0, now.counted))

    def _refusal(self, arc: ArcStep) -> str:
        """Return why a step is not accepted, "" if it is."""
        assert arc.trial is not None
        if self.stepper.collision.tunnels(self.state.u, arc.trial.u):
            return TUNNELLING
        last = self.stepper.energy
        times = (self.state.time, arc.t)
        now = step_energies(self.problem, self.trial, arc.trial, times, last, rough=True)
        if abs(times[1] - times[0]) > _LONGEST_TIME * self.method.longest * self.span:
            return "the program time of a step changes too much"
        # adhesion released energy and now regains it: the step reverses along the path
        change = now.adhesive - last.adhesive
        noise = _ADHESION_NOISE * self._largest_adhesion_step()
        if self.adhesion_gain > noise and change < -noise:
            return "a step goes back along the path"
        missing, exchanged = missing_energy(last, now)
        scale = max(abs(now.stored), abs(now.adhesive), abs(now.work))
        # chosen: five times as much between two bodies, whose two-half-pass forces have no energy;
        # energies below 1e-4 of the largest do not count
        fraction = _UNACCOUNTED if self.rigid_partners else 5.0 * _UNACCOUNTED
        closes = missing <= max(fraction * exchanged, 1e-4 * scale)
        return "" if closes else "the energy balance of a step does not close"

    def _accept(self, arc: ArcStep) -> None:
        """Commit a step: energies, state, record, stability, limit points."""
        trial = arc.trial
        assert trial is not None
        stepper, times = self.stepper, (self.state.time, arc.t)
        adhesion_before = stepper.energy.adhesive
        stepper.energy = step_energies(self.problem, self.trial, trial, times, stepper.energy)
        self.adhesion_gain = stepper.energy.adhesive - adhesion_before
        before = self.state
        self.state = self.problem.accepted(self.state, trial, arc.t)
        self.trial = trial
        self.travelled += abs(times[1] - times[0])
        self.steps += 1
        self.negative = -1
        extra = {"program_time": arc.t, "sign_of_determinant": self._determinant_sign(arc)}
        extra["unstable_modes"] = float(self.negative) if self.negative >= 0 else float("nan")
        pending = self._stability_change(extra["sign_of_determinant"], arc, before)
        stepper.record.add(
            self.state,
            trial,
            stepper.energy,
            arc.iterations,
            arc.residuals[-1],
            at=self.travelled,
            extra=extra,
        )
        self.points = [*self.points[-2:], PathPoint(arc.t, self.state.u)]
        increases = times[1] >= times[0]
        time_turned = increases != self.time_increases
        if time_turned:
            self._record_limit_point(self.points)
            self.time_increases = increases
        # at a limit point one mode loses its stability, here or one step earlier: no bifurcation
        if self.pending is not None and not time_turned:
            stepper.record.losses.append(self.pending)
        self.pending = None if time_turned else pending

    def _stability_change(self, sign: float, arc: ArcStep, before: State) -> Loss | None:
        """Return the bifurcation that a change of the number of unstable modes indicates."""
        assert arc.trial is not None
        if self.negative < 0 and np.isnan(sign):
            self.stepper.monitor.unseen = "unstable modes were not counted on arclength steps"
            return None
        counted = self.negative >= 0
        if not counted:
            self.stepper.monitor.unseen = SIGNS
        now = UnstableModes(self.negative if counted else int(sign < 0.0), counted)
        monitor = self.stepper.monitor
        last = monitor.update(now)
        if last is None:
            return None
        found = monitor.bifurcations(before, arc.trial.u, arc.t, (last, now), self.limits)
        losses = [dataclasses.replace(loss, time=self.travelled) for loss in found]
        if counted and last.counted and abs(now.number - last.number) > 1:
            # more than one mode at once: a limit point does not explain it
            self.stepper.record.losses += losses
            return None
        return losses[0]

    def _determinant_sign(self, arc: ArcStep) -> float:
        """Return the sign of the tangent's determinant, NaN where it is unknown."""
        if not self.method.stability or arc.factors is None or arc.matrix is None:
            return float("nan")
        if self.stepper.monitor.symmetric(self.problem, np.inf):
            inertia = self.workspace.inertia(self.problem.reduced(arc.matrix))
            if inertia is not None:
                self.negative = inertia[1]
                return -1.0 if inertia[1] % 2 else 1.0
        return float(arc.factors.sign)

    def _detect_branch(self, arc: ArcStep) -> tuple[ArcStep, bool]:
        """Return the step to accept, and whether it switches to a branch with increasing time."""
        stepper, policy = self.stepper, self.method.on_bifurcation
        assert arc.trial is not None
        if policy is None or isinstance(policy, StayOnPath) or arc.t <= self.state.time:
            return arc, False
        monitor, last = stepper.monitor, stepper.monitor.last
        now = monitor.modes(self.problem, arc.t, arc.matrix, arc.factors)
        if now is None or not now.changed(last or UnstableModes(0, now.counted)):
            return arc, False
        # the step contains a change of the number of unstable modes: locate it, find its branch
        modes = (last or UnstableModes(0, now.counted), now)
        loss = monitor.bifurcations(self.state, arc.trial.u, arc.t, modes, self.limits)[0]
        bracket = (float(str(loss.where["from"])), float(str(loss.where["to"])))
        span = (monitor.begin, *bracket, arc.t)
        side = policy.side if isinstance(policy, FollowBranch) else "+"
        branch = find_branch(
            self.problem, self.state, span, arc.trial.u, side, self.limits, stepper.solver
        )
        if branch is None or branch.limit_point:
            # a limit point, which is recorded when the time of the path turns
            return arc, False
        loss = dataclasses.replace(loss, time=self.travelled + bracket[0] - self.state.time)
        stepper.record.losses.append(bifurcation_loss(policy, loss, branch, time_may_decrease=True))
        if isinstance(policy, StopThere):
            stepper.record.status = Status.STOPPED
            stepper.record.reason = (
                f"another equilibrium path branches off at program time {branch.time:.9g}"
            )
            before = self.state
            fraction = (bracket[0] - before.time) / (arc.t - before.time)
            guess = PathPoint(bracket[0], before.u + fraction * (arc.trial.u - before.u))
            control = TimeControl(self.problem, bracket[0], self.span)
            stop = self.bordered.solve(before, guess, control, self.next_kink)
            return (stop if fraction > 0.0 and stop.trial is not None else arc), False
        if branch.arc is None or branch.arc.trial is None:
            monitor.last = now
            return arc, False
        first = branch.arc
        monitor.last = monitor.modes(self.problem, first.t, first.matrix, first.factors)
        return first, first.t > branch.time

    def _record_limit_point(self, points: list[PathPoint]) -> None:
        """Record a limit point: the extremum of time on a parabola through three points."""
        a, b, c = points[-3:]
        s1, s2 = self._length(a, b), self._length(b, c)
        slope1, slope2 = (b.t - a.t) / s1, (c.t - b.t) / s2
        curvature = (slope2 - slope1) / (0.5 * (s1 + s2))
        extremum = b.t
        if curvature != 0.0:
            mid_slope = slope1 + curvature * 0.5 * s1
            extremum = b.t - 0.5 * mid_slope * mid_slope / curvature
        problem, record = self.problem, self.stepper.record
        readings = problem.assembled.readings
        where: dict[str, object] = {"program_time": extremum, "displacement": extremum}
        if readings.displacement is not None:
            condition = problem.assembled.all_conditions[readings.displacement]
            where["displacement"] = condition.program.at(extremum)  # type: ignore[attr-defined]
        if record.last is not None:
            for name in ("force_x", "force_y", extents(self.problem.dim).current):
                if name in record.last.curves:
                    where[name] = record.last.curves[name]
        record.losses.append(
            Loss(
                self.travelled, "limit_point", where, "the path was followed beyond the bifurcation"
            )
        )


def follow_path(problem: Problem, method: Continuation, request: Request) -> LoadStepper:
    """Return the stepper, with its record, after load steps and the arclength path after them.

    Parameters
    ----------
    problem : the equations
    method : arclengths, tolerances and bounds
    request : start and end of the program
    """
    # load steps lead to the start of the results, and the path from there to the end
    begin, end = request.t_start, request.t_end
    given = problem.assembled.readings.start
    start = begin if given is None else min(max(given, begin), end)
    load_steps = method.load_steps((start - begin) / (end - begin))
    save_times = np.array([begin, start])
    request_to_start = dataclasses.replace(
        request, t_end=start, save=np.unique(save_times), every_step=True
    )
    stepper = LoadStepper(problem, load_steps, request_to_start, end=end)
    try:
        if stepper.advance() and start < end:
            follower = PathFollower(stepper, method, start, end)
            try:
                follower.follow()
            finally:
                follower.finish()
                stepper.iterations += follower.iterations
                stepper.steps += follower.steps
                stepper.cuts += follower.cuts
    finally:
        stepper.close()
    return stepper
