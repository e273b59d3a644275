"""The event-driven method for piecewise-smooth flows: one run, from its start to its result.

Kernels integrate from event to event and change the mode at each event (`flow.advance`). They
return with a code at a point at which the solution is not unique, such as a two-fold; this module
then asks the policy of the method for one of the admissible continuations, records the loss of
determinism, and calls the kernels again. `EventDriven.solve` calls `solve_event_driven`. A flow has
n states, m surfaces (numbered from 0), and 3 energies: external work, friction and viscous heat.

Source: Filippov 1988; Szalai, Jeffrey 2014.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Generator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Form, Log, StateArray, check_count, refused, restore, unpacking
from stiction.core.determinism import Loss
from stiction.core.driver import Pause, run_to_end
from stiction.core.method import Policy
from stiction.core.run import Request, Run, Variable
from stiction.errors import ModelError, SolveError, Status
from stiction.numerics.arrays import Struct
from stiction.numerics.callback import call_arrays
from stiction.switching.flow import records as r
from stiction.switching.flow.state import Event
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import MODES, SwitchingSystem
from stiction.switching.nonuniqueness.choices import LossPoint, Start, side_continuations, starts
from stiction.switching.nonuniqueness.exits import dwell_time
from stiction.switching.nonuniqueness.initial_modes import start_sides
from stiction.switching.nonuniqueness.intersections import (
    directions_of,
    equilibrium_at_intersection,
    leave,
    starts_at,
)
from stiction.switching.nonuniqueness.validation import check_normals, refuse_mode, seed
from stiction.switching.outcome import FlowHistory, build_run
from stiction.switching.policies import ByKind, Stop

if TYPE_CHECKING:
    from stiction.switching.methods import EventDriven

__all__ = ["solve_event_driven"]

Floats = npt.NDArray[np.float64]

# a kernel call takes a few hundredths of a second, the longest delay of Ctrl-C
_STEPS_PER_CALL, _MOST_STORED_EVENTS = 5000, 512
_KINDS = {"two_fold": r.TWO_FOLD, "codim2_line": r.CODIM2, "escaping_start": r.ESCAPING}
_STOP = Stop()


def solve_event_driven(
    system: SwitchingSystem,
    method: EventDriven,
    request: Request,
    steps: Log | None = None,
) -> Run:
    """Return the run of a piecewise-smooth system.

    Parameters
    ----------
    request : time span, saving times, progress and checkpoint of the run
    steps : log to which the accepted steps of the run are added with their dense output, see
        `flow.state.Records`; None records no steps

    Raises
    ------
    ModelError : if the start is not admissible, or a user's function fails.

    Verified by: tests/exact/test_wheel_runs.py::test_reference_trajectories
    """
    return _Integrator(method, system, request, steps).run()


class DelayedExit(Struct):
    """A chosen exit from an escaping region: its time (infinity for none), side and surface."""

    at: float
    side: float
    surface: int


class _Integrator:
    """The integrator of one run: trajectory, losses of determinism, futures.

    Attributes
    ----------
    path : the trajectory, with the arrays of the kernels
    events, states : logs of the events, and (e, n) of the states there
    losses : losses of determinism so far
    leave : the exit from an escaping region that the policy has chosen for a later time
    futures : (number of the loss, the loss, start) of every future of losses with several
    """

    def __init__(
        self,
        method: EventDriven,
        system: SwitchingSystem,
        request: Request,
        steps: Log | None,
    ) -> None:
        self.method, self.system, self.request, self.steps = method, system, request, steps
        longest = np.inf if method.max_step is None else float(method.max_step)
        self.tolerance = Tolerance(method.rtol, method.atol, longest)
        # kernels return when the arrays for events are full, which have room for two more
        stored = min(_MOST_STORED_EVENTS, method.max_events + 2)
        self.path = Trajectory(
            system,
            self.tolerance,
            request.save,
            events=stored,
            energies=True,
            steps=0 if steps is None else _STEPS_PER_CALL,
        )
        self.path.flow.progress.t_start = request.t_start
        self.policy: Policy = _STOP if method.policy is None else method.policy
        self.events, self.states = Log(Event.table(0)), Log(np.zeros((0, system.compiled.n)))
        self.losses: list[Loss] = []
        self.reason = ""
        self.leaving = DelayedExit.table()
        self.leave = self.leaving[0]
        self.leave.at = np.inf
        self.futures: list[tuple[int, LossPoint, Start]] = []

    @functools.cached_property
    def rng(self) -> np.random.Generator:
        """The random numbers of the policy."""
        return np.random.default_rng(seed(self.policy))

    def run(self) -> Run:
        status = self._loop() if self._resume() else self._from_start()
        return build_run(self.system, self.method, self._history(status))

    # ---- start

    def _from_start(self) -> Status:
        """Place the trajectory at the start in its mode, and integrate to the end.

        A start on a two-fold, in an escaping region or on an intersection may be a loss of
        determinism, at which the policy chooses unless the user has given the mode.
        """
        path, t = self.path, self.request.t_start
        x = self.system.start_state(t)
        sides, near, directions, continuations = start_sides(self.system, path, t, x)
        if directions:
            first, second = np.flatnonzero(near).tolist()
            return self._start_at_intersection(first, second, directions)
        for i in np.flatnonzero(near).tolist():
            probe = sides.copy()
            probe[i] = 0.0
            if sides.size > 1 or i not in continuations:
                path.place(t, x, probe)
            options = (
                continuations[i]
                if sides.size == 1 and i in continuations
                else path.continuations_at(i)
            )
            gap = path.at_two_fold(i)
            if gap and self.system.mode is None:
                path.place(t, x, probe)
                return self._after(self._at_loss("two_fold", i))
            if options.escaping:
                path.place(t, x, probe if self.system.mode is None else sides)
                if self.system.mode is None:
                    return self._after(self._at_loss("escaping_start", i))
                choice = f"mode {self.system.mode!r} as given with the start"
                self._note_loss("escaping_start", i, choice)
        self._place_state(t, x, sides)
        return self._loop()

    def _start_at_intersection(self, i: int, j: int, directions: int) -> Status:
        """Start at an intersection, in the only exit direction or in that of the policy."""
        path, mode = self.path, self.system.mode
        exits = directions_of(directions)
        chosen = [one for one in exits if mode is None or i > 0 or one.signs[0] == MODES[mode]]
        if not chosen:
            refuse_mode(self.system, path.x, exits)
        if len(exits) > 1 and (mode is None or len(chosen) > 1):
            return self._after(self._at_loss("intersection", i, j, directions))
        if len(exits) > 1:
            self._note_loss("intersection", i, f"mode {mode!r} as given with the start")
        sides = path.sides
        sides[[i, j]] = chosen[0].signs
        path.place(path.t, path.x, sides, branch=chosen[0].branch if len(exits) > 1 else 0)
        return self._loop()

    # ---- the loop

    def _after(self, status: Status | None) -> Status:
        """Return the status of an ended run; continue a run without one (None)."""
        return self._loop() if status is None else status

    def _loop(self) -> Status:
        return run_to_end(self._steps(), self.request.progress, self.request.checkpoint)

    def _steps(self) -> Generator[Pause, None, Status]:
        """Call the kernels and handle their codes; yield a pause after each call."""
        request, path = self.request, self.path
        while True:
            used = int(path.flow.progress.steps)
            room = min(_STEPS_PER_CALL, self.method.steps_allowed() - used)
            end = min(request.t_end, self.leave.at)
            code = path.advance(end, max(room, 1), self._report)
            self._check_functions()
            self._store_events()
            status = self._handle(code)
            if status is not None:
                return status
            # at the end of the run one more call, which makes no step
            going = path.t < request.t_end
            if going and int(path.flow.progress.steps) >= self.method.steps_allowed():
                self.reason = f"max_steps = {self.method.steps_allowed()} were used up"
                return Status.WORK_LIMIT
            if going and len(self.events) >= self.method.max_events:
                self.reason = f"max_events = {self.method.max_events} were used up"
                return Status.WORK_LIMIT
            yield Pause(self._done(), f"{len(self.events)} events", self._pack)

    def _done(self) -> float:
        """Return the fraction of the time span that is complete."""
        request = self.request
        return (self.path.t - request.t_start) / (request.t_end - request.t_start)

    def _report(self) -> None:
        """Report progress within a long call."""
        self.request.progress(self._done(), f"{len(self.events)} events")

    def _handle(self, code: int) -> Status | None:
        """Handle the code of a kernel; return the status of the end, or None to continue."""
        path = self.path
        if code == r.DONE:
            if path.t >= self.request.t_end:
                return Status.SOLVED
            self._exit_now()
        elif code == r.TWO_FOLD_HIT:
            return self._at_loss("two_fold", self._slides_on())
        elif code == r.LINE_HIT:
            return self._at_loss("codim2_line", 0)
        elif code == r.ESCAPES:
            return self._at_loss("escaping_start", self._slides_on())
        elif code == r.EVENTS_ACCUMULATE:
            self._extrapolate()
            if self._spirals_to_equilibrium():
                return None
            surface = int(self._last_event().surface)
            if self._move_to_two_fold(surface):
                return self._at_loss("two_fold", surface)
            self.reason = f"infinitely many events accumulate at t = {path.t:.9g}"
            return Status.ACCUMULATION
        elif code == r.SPLIT:
            return self._at_split()
        elif code == r.SEVERAL_DIRECTIONS:
            return self._at_loss(
                "intersection", *path.pending_choice(), margin=path.take_pending_margin()
            )
        elif code == r.UNDECIDED:
            # the kernels do not recognise a spiral whose intervals alternate in length
            if equilibrium_at_intersection(self.system, path.x, self.events.rows) is not None:
                y = path.flow.y.copy()
                if self._extrapolate() and self._spirals_to_equilibrium():
                    return None
                path.flow.y[:] = y
            return self._undecided()
        elif code == r.NO_DIRECTION:
            check_normals(self.system, path.x)
            self.reason = (
                f"three surfaces intersect, or two without an exit direction, at t = {path.t:.9g}"
            )
            return Status.NO_CONTINUATION
        elif code == r.NOT_FINITE:
            self._check_sizes()
            self.reason = f"the state or the field is not finite beyond t = {path.t:.9g}"
            return Status.NOT_FINITE
        elif code == r.STALLED:
            if self._spirals_to_equilibrium():
                return None
            self.reason = (
                f"time does not advance at t = {path.t:.9g}: "
                "steps, or intervals between events, tend to zero"
            )
            return Status.WORK_LIMIT
        return None

    def _slides_on(self) -> int:
        """Return the sliding surface, from 0."""
        return int(np.argmin(np.abs(self.path.sides)))

    def _extrapolate(self) -> bool:
        """Extrapolate a state to the accumulation point of its events, by Aitken's formula.

        Returns whether the run reaches the point, and it is near or two predictions of it agree.
        """
        events, states = self.events.rows, self.states.rows
        crossings = np.flatnonzero(events["kind"] == r.CROSS)
        if not crossings.size:
            return False
        alike, last = crossings, crossings[-1]
        for name in ("surface", "before", "after"):
            alike = alike[events[name][alike] == events[name][last]]
        if len(alike) < 3:
            return False
        n, flow = self.system.compiled.n, self.path.flow
        *earlier, a, b, c = (np.append(states[i], events["time"][i]) for i in alike[-4:])
        limit = _aitken(a, b, c)
        move = np.abs(limit - c)
        scale = np.asarray(self.system.compiled.scale)
        good = bool((move[:n] <= 1e-5 * np.maximum(scale, np.abs(c[:n]))).all())
        if not good and earlier:
            # chosen: to 1e-3 of the move, or to a small part of a state
            small = np.append(1e-9 * scale, 0.0)
            apart = np.abs(_aitken(earlier[0], a, b) - limit)
            good = bool((apart <= np.maximum(1e-3 * move, small)).all())
        # events beyond the end of the run do not belong to it
        good = good and bool(limit[n] <= self.request.t_end)
        if good:
            flow.y[:n], flow.y[n] = limit[:n], max(limit[n], c[n])
        return good

    def _move_to_two_fold(self, surface: int) -> bool:
        """Move a state at an accumulation of crossings to the two-fold there, if there is one.

        Crossings may also accumulate without sliding, such as at an equilibrium after Fuller's
        switching.
        """
        from stiction.switching.two_folds.finding import two_fold

        path, x = self.path, self.path.x
        try:
            point = np.asarray(two_fold(self.system, x, surface=surface).x)
        except (ModelError, SolveError):
            return False
        near = np.abs(point - x) / np.asarray(self.system.compiled.scale)
        if not float(np.max(near)) < 1e-4:
            return False
        path.flow.y[: x.size] = point
        return True

    def _spirals_to_equilibrium(self) -> bool:
        """Start codimension-2 sliding at an accumulation of crossings, if nothing else is open."""
        path, system = self.path, self.system
        intersection = equilibrium_at_intersection(system, path.x, self.events.rows)
        if intersection is None:
            return False
        x, i, j = intersection
        x_before, before, sides = path.x, path.sides, path.sides
        sides[[i, j]] = 0.0
        path.place(path.t, x, sides)
        directions = directions_of(path.directions(i, j))
        if len(directions) != 1 or directions[0].kind != "codim2_sliding":
            path.place(path.t, x_before, before)
            return False
        for k in (i, j):
            path.log(r.SLIDE, k, float(before[k]), 0.0)
        return True

    def _exit_now(self) -> None:
        """Leave the escaping region at the chosen time."""
        path = self.path
        leave(self.system, path, self.leave.surface, self.leave.side)
        if self.system.compiled.m == 1:
            self._place_state(path.t, path.x, path.sides)
        self.leave.at, self.leave.side = np.inf, 0.0

    def _place_state(self, t: float, x: Floats, sides: Floats) -> None:
        """Place the trajectory; compute hops too small for the kernels by `two_folds.following`.

        A hop is a short arc from the surface back to it, next to a two-fold.
        """
        path = self.path
        path.place(t, x, sides)
        if not path.starts_next_to_two_fold():
            return
        from stiction.switching.two_folds.following import follow_hops

        follow_hops(self.system, path, self.request.t_end, self._store_events)

    def _check_sizes(self) -> None:
        """Raise ModelError if the NaN comes from a user function with a wrong number of values.

        The functions are called at the present state and at points a little later.
        """
        x, signs = self.path.x, np.where(self.path.sides == 0.0, 1.0, self.path.sides)
        rate = self.system.field(x, signs)
        for elapsed in (0.0, 1e-9, 1e-6, 1e-3):
            there = x + elapsed * rate
            if np.isfinite(there).all():
                self.system.check_at(there)

    def _at_split(self) -> Status | None:
        """Choose at a grazing after which the solution may stay on its side or change it."""
        policy = self.policy.fold if isinstance(self.policy, ByKind) else self.policy
        surface = int(self._last_event().surface)
        if isinstance(policy, Stop):
            self._note_loss("fold", surface, "stopped")
            self.reason = (
                "the solution grazes the surface and may stay on its side or cross the surface"
            )
            return Status.STOPPED
        self._choose_side("fold", surface, policy)
        return None

    def _undecided(self) -> Status | None:
        """Choose where the error of the run is larger than the distance to a loss of uniqueness."""
        path, event, policy = self.path, self._last_event(), self.policy
        fold, surface = event.kind == r.FOLD, int(event.surface)
        margin = float(event.margin)
        if isinstance(policy, ByKind):
            policy = policy.fold if fold else policy.two_fold
        more = {"margin": margin, "of": "fold" if fold else "two_fold", "sides": ["+", "-"]}
        if isinstance(policy, Stop):
            self._note_loss("undecided", surface, "stopped", more)
            # next to a two-fold there is no margin
            why = "the arcs that leave the two-fold there have heights below the rounding error"
            if margin < np.inf:
                bounds = f"only {margin:.2g} times the numerical error away"
                why = f"the point at which they separate is {bounds}"
            self.reason = f"two solutions cannot be distinguished at t = {path.t:.9g}: {why}"
            return Status.STOPPED
        self._choose_side("undecided", surface, policy, more)
        return None

    def _choose_side(
        self,
        kind: str,
        surface: int,
        policy: Policy,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Note a loss at a surface, and continue on the side of it that a policy chooses."""
        path = self.path
        loss = LossPoint(kind, path.t, path.x, path.sides, surface)
        options = side_continuations(policy, loss, self.rng)
        self._add_futures(loss, options)
        self._note_loss(kind, surface, options[0].note, more)
        before, after = float(loss.sides[surface]), float(options[0].sides[surface])
        if after != before:
            path.log(r.CROSS, surface, before, after)
            self._place_state(path.t, path.x, options[0].sides)

    # ---- where determinism is lost

    def _note_loss(
        self,
        kind: str,
        surface: int,
        choice: str,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        """Record a loss of determinism at a surface, and its event if the kind has one.

        Parameters
        ----------
        choice : the solution that the run follows, in words
        more : further entries of `Loss.where`
        """
        where = {"contact": surface + 1, **more, "state": self.path.x.tolist()}
        self.losses.append(Loss(self.path.t, kind, where, choice))
        if kind in _KINDS:
            sides = self.path.sides
            before = float(sides[surface])
            self.path.log(_KINDS[kind], surface, before, before)
            self._store_events()

    def _add_futures(self, loss: LossPoint, options: Sequence[Start]) -> None:
        """Store the futures chosen at the next loss, if there are several."""
        if len(options) > 1:
            self.futures += [(len(self.losses), loss, start) for start in options]

    def _at_loss(
        self, kind: str, surface: int, other: int = -1, directions: int = 0, margin: float = np.inf
    ) -> Status | None:
        """Continue from a `LossPoint` as the policy chooses; return the status if the run ends.

        Parameters
        ----------
        margin : distance from the loss over the error of the run; below 1 it is undecided
        """
        path = self.path
        loss = LossPoint(kind, path.t, path.x, path.sides, surface, other, directions)
        if len(self.losses) >= self.method.max_events:
            self.reason = "determinism is lost repeatedly at the same time"
            return Status.WORK_LIMIT
        policy = self.policy
        horizon = 0.5 * (self.request.t_end - loss.t)
        if kind == "intersection":
            options, why = starts_at(self.system, policy, loss, self.rng, self.tolerance)
        else:
            options, why = starts(self.system, policy, loss, self.rng, self.tolerance, horizon)
        kind_of_loss, more = kind, {}
        if margin < 1.0:
            # within its error the solution may pass the intersection on either side
            kind_of_loss, more = "undecided", {"margin": margin, "of": kind, "sides": ["+", "-"]}
        if not options:
            self._note_loss(kind_of_loss, surface, why, more)
            self.reason = f"{kind} at t = {loss.t:.9g}: {why}"
            return Status.STOPPED
        self._add_futures(loss, options)
        self._note_loss(kind_of_loss, surface, options[0].note, more)
        return self._continue_from(loss, options[0])

    def _continue_from(self, loss: LossPoint, start: Start) -> Status | None:
        """Continue from a start; save the states between the loss and it."""
        path, t = self.path, loss.t + start.wait
        if start.rest:
            self._fill_equilibrium(loss)
            return Status.SOLVED
        if start.through is not None:
            self._fill_passage(loss, start)
            if t > self.request.t_end:
                return Status.SOLVED
        path.place(t, start.x, start.sides, branch=start.branch)
        if start.through is None and start.wait > 0.0:
            self._add_energies(start)
        for k in (loss.surface,) if loss.other < 0 else (loss.surface, loss.other):
            before, after = float(loss.sides[k]), float(start.sides[k])
            if start.through is not None:
                path.log(r.LEAVE, k, 0.0, after)
            elif after != before:
                kind = r.LEAVE if before == 0.0 else r.SLIDE if after == 0.0 else r.CROSS
                path.log(kind, k, before, after)
        if start.dwell > 0.0:
            self.leave.at, self.leave.side = t + start.dwell, start.side
            self.leave.surface = _surface_left(loss, start)
        return None

    def _add_energies(self, start: Start) -> None:
        """Add the work and heat of the straight motion from a codimension-2 line to the start."""
        signs = np.where(start.sides == 0.0, self.path.multiplier(), start.sides)
        self.path.flow.y[start.x.size + 1 :] += start.wait * self._power(start.x, signs)

    def _power(self, x: Floats, signs: Floats) -> Floats:
        """Return (3,) rates of work, friction heat and viscous heat; (0,) without energies."""
        c, power = self.system.compiled, np.empty(int(self.path.flow.progress.q))
        if power.size:
            call_arrays(c.power, x.copy(), signs, c.params, power)
        return power

    def _fill_equilibrium(self, loss: LossPoint) -> None:
        """Save the constant state of an equilibrium until the end.

        Dampers may dissipate energy there, which the external work supplies.
        """
        flow, n, end = self.path.flow, self.system.compiled.n, self.request.t_end
        power = self._power(loss.x, np.zeros(loss.sides.size))
        power[:1] = power[2:]
        states = flow.saved_states[int(flow.progress.saves) :]
        states[:, 1 : n + 1] = loss.x
        states[:, n + 1 :] = flow.y[n + 1 :] + (states[:, :1] - loss.t) * power
        flow.y[n + 1 :] += (end - loss.t) * power
        signs = flow.saved_signs[int(flow.progress.saves) :]
        signs[:] = loss.sides
        signs[:, loss.surface] = 0.0
        flow.progress.saves = flow.save.size
        flow.y[n] = end

    def _fill_passage(self, loss: LossPoint, start: Start) -> None:
        """Save the motion from a two-fold to an exit, integrated backward from the exit."""
        flow, n = self.path.flow, self.system.compiled.n
        t_exit = loss.t + start.wait
        first, saved = int(flow.progress.saves), flow.saved_states
        last = int(np.searchsorted(flow.save, min(t_exit, self.request.t_end), side="right"))
        times = flow.save[first:last] - t_exit
        at = loss.sides.copy()
        at[loss.surface] = 0.0
        back = dwell_time(self.system, start.x, self.tolerance, save=times[::-1], sides=at)[2]
        # the backward run saves the latest time first
        count, passage = min(int(back.flow.progress.saves), times.size), back.flow.saved_states
        origin = back.flow.y[n + 1 :].copy()
        for j in range(times.size):
            sample, source = first + j, times.size - 1 - j
            if source < count:
                saved[sample, 1 : n + 1] = passage[source, 1 : n + 1]
                spent = passage[source, n + 1 :] - origin
                saved[sample, n + 1 :] = flow.y[n + 1 :] + spent
                flow.saved_signs[sample] = back.flow.saved_signs[source]
            else:
                # earlier than the backward run reaches: the state is at the two-fold
                saved[sample, 1 : n + 1] = loss.x
                saved[sample, n + 1 :] = flow.y[n + 1 :]
                flow.saved_signs[sample] = at
        flow.progress.saves = last
        flow.y[n + 1 :] -= origin
        if t_exit > self.request.t_end:
            flow.y[n], flow.y[:n] = self.request.t_end, saved[last - 1, 1 : n + 1]

    # ---- other futures

    def _other_futures(self) -> dict[str, Variable]:
        """Follow every future of the losses with several to the end of the run or the next loss."""
        if not self.futures:
            return {}
        n = self.system.compiled.n
        exits, ends, times, sides, kinds = [], [], [], [], []
        for _, loss, start in self.futures:
            path = Trajectory(self.system, self.tolerance, np.empty(0), events=64)
            path.flow.progress.t_start = self.request.t_start
            t = loss.t + start.wait
            path.place(t, start.x, start.sides, branch=start.branch)
            code = r.DONE
            if start.dwell > 0.0:
                code = path.advance(min(t + start.dwell, self.request.t_end), 20_000)
                if code == r.DONE and path.t < self.request.t_end:
                    leave(self.system, path, _surface_left(loss, start), start.side)
            if code == r.DONE and not start.rest and path.t < self.request.t_end:
                code = path.advance(self.request.t_end, 20_000)
            exits.append([t, *start.x])
            sides.append(start.sides[loss.surface])
            ends.append(path.x)
            times.append(path.t)
            kinds.append(code)
        lost = np.array([number for number, _, _ in self.futures])
        names = {
            "future_loss": (lost, ("future",), "number of its loss of determinism, from 0"),
            "future_exit": (np.array(exits), ("future", "exit"), "time and state of the exit"),
            "future_side": (np.array(sides), ("future",), "side it leaves to, 0 if it slides"),
            "future_state": (np.array(ends).reshape(-1, n), ("future", "state"), "last state"),
            "future_time": (np.array(times), ("future",), "time of the last state"),
            "future_end": (np.array(kinds, dtype=np.int64), ("future",), _FUTURE_END),
        }
        return {name: Variable(v, dims, "1", text) for name, (v, dims, text) in names.items()}

    # ---- bookkeeping

    def _check_functions(self) -> None:
        """Raise the exception that a user's function has raised in compiled code."""
        for callback in self.system.compiled.keep:
            if hasattr(callback, "check"):
                callback.check()

    def _store_events(self) -> None:
        """Move events from the records of the kernels to the log."""
        flow = self.path.flow
        self.events.add(flow.records.events[: flow.progress.events])
        self.states.add(flow.records.states[: flow.progress.events])
        flow.progress.events = 0
        if self.steps is not None:
            self.steps.add(flow.records.steps[: flow.progress.recorded])
            flow.progress.recorded = 0

    def _state(self) -> dict[str, StateArray]:
        """Return the arrays of a checkpoint that are restored in place, by name."""
        return {
            **self.path.flow.state(),
            "events": StateArray(self.events, inf=("margin",)),
            "states": StateArray(self.states),
            "leave": StateArray(self.leaving, inf=("at",), within=(0, self.system.compiled.m)),
        }

    def _pack(self) -> dict[str, StateArray | npt.NDArray[Any]]:
        """Return all arrays of a checkpoint: the state, the losses and the futures."""
        # the handling of the last code may have logged an event
        self._store_events()
        n, m = self.system.compiled.n, self.system.compiled.m
        lost = [[loss.time, *loss.where["state"]] for loss in self.losses]  # type: ignore[misc]
        words = [[loss.kind, str(loss.where["contact"]), loss.choice] for loss in self.losses]
        futures = [
            [number, loss.t, loss.surface, *_numbers_of(loss, start), *start.x, *start.sides]
            for number, loss, start in self.futures
        ]
        return {
            **self._state(),
            "lost_where": np.array(json.dumps([dict(loss.where) for loss in self.losses])),
            "lost": np.array(lost).reshape(-1, 1 + n),
            "lost_words": np.array(words, dtype=np.str_).reshape(-1, 3),
            "futures": np.array(futures, dtype=np.float64).reshape(-1, _NUMBERS + n + m),
            "rng": np.array(json.dumps(self.rng.bit_generator.state)),
        }

    def _resume(self) -> bool:
        """Restore the state from the checkpoint; return False if there is none."""
        checkpoint = self.request.checkpoint.load() if self.request.checkpoint is not None else None
        if checkpoint is None:
            return False
        n, m = self.system.compiled.n, self.system.compiled.m
        restore(
            self._state(),
            checkpoint,
            lost_where=Form((), "U"),
            lost=Form(("losses", 1 + n), nan=True),
            lost_words=Form(("losses", 3), "U"),
            futures=Form(("futures", _NUMBERS + n + m), inf=True),
            rng=Form((), "U"),
        )
        self._check_state()
        with unpacking():
            self._restore_losses(checkpoint)
        return True

    def _check_state(self) -> None:
        """Refuse counts and events that do not belong to a run of this flow."""
        flow, events = self.path.flow, self.events.rows
        now, m = flow.progress, self.system.compiled.m
        check_count("progress", int(now.saves), 0, flow.saved.shape[0])
        check_count("progress", int(now.events), 0, 0)
        check_count("states", len(self.states), len(events), len(events))
        known = (events["kind"] >= 0).all() and (events["kind"] < len(r.KINDS)).all()
        if not (known and (abs(events["surface"]) <= m + int(now.k)).all()):
            raise refused("events", "numbers that are not those of events", "events of this system")
        steps = np.diff(events["time"])
        if not ((steps >= 0.0).all() or (steps <= 0.0).all()):
            raise refused("events", "events out of order", "events one after the other")

    def _restore_losses(self, checkpoint: dict[str, npt.NDArray[Any]]) -> None:
        """Restore losses, futures and the state of the random generator."""
        places = json.loads(str(checkpoint["lost_where"]))
        for (t, *_), (kind, _, choice), where in zip(
            checkpoint["lost"], checkpoint["lost_words"], places, strict=True
        ):
            self.losses.append(Loss(float(t), str(kind), where, str(choice)))
        n = self.system.compiled.n
        # the columns of `_pack`
        for number, t, surface, wait, rest, branch, dwell, side, left, *values in checkpoint[
            "futures"
        ].tolist():
            x, sides = np.array(values[:n]), np.array(values[n:])
            loss = LossPoint("", t, x, sides, int(surface))
            start = Start(
                x,
                sides,
                wait=wait,
                rest=bool(rest),
                branch=int(branch),
                dwell=dwell,
                side=side,
                surface=int(left),
            )
            self.futures.append((int(number), loss, start))
        self.rng.bit_generator.state = json.loads(str(checkpoint["rng"]))

    def _last_event(self) -> Event:
        event: Event = self.events.last
        return event

    def _history(self, status: Status) -> FlowHistory:
        """Return the results of the integration for `build_run`."""
        flow, c = self.path.flow, self.system.compiled
        self._store_events()
        futures = self._other_futures()
        count, events, states = int(flow.progress.saves), self.events.rows, self.states.rows
        saved, signs = flow.saved_states[:count], flow.saved_signs[:count]
        if not count or (saved[-1, 0] < self.path.t and np.isfinite(flow.y).all()):
            # the last sample is the state at the end
            last = np.concatenate([[self.path.t], flow.y[: c.n], flow.y[c.n + 1 :]])
            saved = np.vstack([saved, last])
            signs = np.vstack([signs, self.path.sides])
        energy = saved[:, c.n + 1 :] if flow.progress.q else None
        return FlowHistory(
            time=saved[:, 0].copy(),
            x=saved[:, 1 : c.n + 1].copy(),
            signs=signs.copy(),
            sliding=np.abs(signs) != 1.0,
            energy=None if energy is None else energy.copy(),
            events=events,
            states=states,
            losses=self.losses,
            stats={"steps": int(flow.progress.steps), "rejected": int(flow.progress.rejected)},
            status=status,
            reason=self.reason,
            futures=futures,
            margin=float(flow.progress.least_margin),
        )


def _aitken(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the limits of geometric series from three terms; c without a second difference."""
    second_difference = (c - b) - (b - a)
    denominator = np.where(np.abs(second_difference) > 0.0, second_difference, np.inf)
    return np.asarray(c - (c - b) ** 2 / denominator)


def _surface_left(loss: LossPoint, start: Start) -> int:
    """Return the surface that a future leaves after its time of sliding, from 0."""
    return loss.surface if start.surface is None else start.surface


def _numbers_of(loss: LossPoint, start: Start) -> tuple[float, ...]:
    """Return the six numbers of a start in a checkpoint, besides its state and signs."""
    left = _surface_left(loss, start)
    return start.wait, start.rest, start.branch, start.dwell, start.side, left


# numbers of a future in a checkpoint, before its state and signs: number of the loss, its time and
# surface, then those of `_numbers_of`
_NUMBERS = 9
# codes of `flow.records` in the variable `future_end`
_FUTURE_END = (
    "0 end time, 1 work limit, 3 two-fold, 4 line, 5 accumulation, 9 fold, 10 intersection, "
    "12 sliding becomes escaping, else failed"
)
