"""Derivatives of a run of a flow: the variational equation and the saltation matrices.

The run locates the events. Between them `kernels.variational` integrates the derivatives V of the
state. An event is a zero of a function e(x, p) at which the field changes from F to G. The
derivative of its time is dT = -(de/dx V + de/dp) / (de/dx F), and after the event the derivatives
of the state at fixed time are

    V + (F - G) dT = S V - (F - G) (de/dp) / (de/dx F),    S = 1 - (F - G) (de/dx) / (de/dx F),

with the saltation matrix S. At the start of sliding S projects on the surface; at the end of
sliding in a fold F = G and S = 1. A run has no derivative at grazings, losses of determinism and
simultaneous events, which are reported. `EventDriven.tangents` calls `tangents_of`. V is an (n, m)
array for n states and m directions.

Source: di Bernardo et al. 2008, section 2.5; Leine and Nijmeijer 2004, chapter 7.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.checkpoint import Log
from stiction.core.run import Request, Run
from stiction.core.tangents import EventTangent, NotDifferentiable, Tangents, times_of
from stiction.errors import ModelError, advice_in
from stiction.numerics.checks import numbers
from stiction.switching.event_driven import solve_event_driven
from stiction.switching.flow.state import DENSE_TERMS
from stiction.switching.model import SwitchingSystem
from stiction.switching.tangents.mode import ModeFlow
from stiction.switching.tangents.segments import SegmentFlow

if TYPE_CHECKING:
    from stiction.switching.methods import EventDriven

__all__ = ["tangents_of"]

Floats = npt.NDArray[np.float64]

_SIDES = {"+": 1.0, "-": -1.0, "slide": 0.0}
# an arrival at a surface counts as grazing if the orbit would pass it by less than this number of
# tolerances: the relative error of its saltation matrix, which divides by the speed of arrival,
# would exceed a thousandth
_GRAZING = 1e3
# only arrivals slower than this fraction of |grad h| |f| are tested for that
_SLOW = 1e-3
# an event is tangential if the rate of its function is below this fraction of |grad e| |f|
_TANGENTIAL = 1e-9
# a two-fold is unresolved if errors change the distance from it by more than this fraction. Tested
# are orbits on which L- - L+ decreases to the second number, at steps shorter than the third one
# over the duration of the sliding
_UNRESOLVED, _APPROACH, _SHORT = 1e-3, 0.1, 0.03
# a start with |h| below this fraction of its scale is on the surface
_ON_SURFACE = 1e-11
# a state this many times larger than its scale may need another scale
_OUTGROWN = 1e3
# the jumps of x' at two surfaces add up if the rest is below this fraction of them
_ADDITIVE = 1e-9

_KINDS = {
    "undecided": "fold or two-fold",
    "two_fold": "two-fold",
    "intersection": "codimension-2 intersection",
}


class Transition(NamedTuple):
    """All events that a run recorded at one time.

    Parameters
    ----------
    surfaces : surface of each event, from 0
    before, after : sign of that surface before and after each event, 0 for sliding
    multiplier : multiplier of that surface before each event
    kinds : kind of each event
    """

    time: float
    state: Floats
    surfaces: tuple[int, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    multiplier: tuple[float, ...]
    kinds: tuple[str, ...]

    @property
    def label(self) -> str:
        """Kinds and contacts, with the signs before and after."""
        names = {v: k for k, v in _SIDES.items()}
        parts = [
            f"{kind} {i + 1}: {names[b]} to {names[a]}" if kind != "kink" else "kink"
            for kind, i, b, a in zip(
                self.kinds, self.surfaces, self.before, self.after, strict=True
            )
        ]
        return " and ".join(parts)


def tangents_of(
    system: SwitchingSystem,
    method: EventDriven,
    t_span: tuple[float, float],
    to: Sequence[str],
    save: Sequence[float] | Floats = (),
) -> Tangents:
    """Return the final state of a run and its derivatives; see `core.tangents.Differentiable`.

    Parameters
    ----------
    to : directions: names of parameters, `x0[i]`, or `x0` for all components of the initial state
    save : further times at which derivatives are computed

    Raises
    ------
    ModelError : if a direction is unknown, or the span or the start is not admissible.

    Verified by: tests/unit/switching/tangents/test_tangents.py::test_random_flows
    """
    why, try_ = "a run goes from a start to a later end.", "for example (0.0, 8.0)."
    start, end = numbers("tangents.t_span", t_span, size=2, per="end", why=why, try_=try_).tolist()
    if not start < end:
        raise ModelError("tangents.t_span", repr(t_span), "an end after the start", why, try_)
    given: object = to
    listed = isinstance(given, Collection) and not isinstance(given, str)
    if not listed or not all(isinstance(name, str) for name in to):
        why, try_ = "several directions are possible.", 'for example to=["x0"].'
        raise ModelError("tangents.to", repr(to), "a list of names", why, try_)
    times = times_of(save, start, end)
    request = Request(start, end, times if times.size else np.array([start, end]))
    width = (1 + DENSE_TERMS) * (system.compiled.n + 1)
    steps = Log(np.zeros((0, width))) if len(to) else None
    with np.errstate(all="ignore"):
        run = solve_event_driven(system, method, request, steps)
        rows = np.zeros((0, width)) if steps is None else steps.rows
        return _Tangent(system, method, run, rows, (start, end), tuple(to), times).tangents()


class _Tangent(ModeFlow):
    """The derivatives of one run, integrated from event to event.

    Parameters
    ----------
    run, steps : the run and its recorded steps, see `flow.state.Records`
    span : start and end time
    times : further times at which derivatives are saved
    """

    def __init__(
        self,
        system: SwitchingSystem,
        method: EventDriven,
        run: Run,
        steps: Floats,
        span: tuple[float, float],
        to: tuple[str, ...],
        times: Floats,
    ) -> None:
        super().__init__(system, method, to)
        self.method, self.run, self.steps = method, run, steps
        self.span, self.times = span, times
        self.saved_by = np.full((times.size, self.free, len(self.names)), np.nan)
        self.failures: list[NotDifferentiable] = []
        self.events: list[EventTangent] = []
        # time of the last event at which x' changed
        self.last_jump = -np.inf

    # ---- one run

    def tangents(self) -> Tangents:
        """Return the derivatives of the run."""
        (start, end), run = self.span, self.run
        x, steps = self.system.start_state(start), self._transitions()
        self._check_planes([x, *(step.state for step in steps)])
        self._start(x, steps)
        self._save(start)
        time = start
        for k, step in enumerate(steps):
            self._check_apart(step, steps[k - 1] if k > 0 else None)
            self._between(time, step.time)
            kinks = [e.time for e in steps[max(k - 1, 0) : k + 2] if "kink" in e.kinds]
            apart = min((abs(at - step.time) for at in kinks if at != step.time), default=np.inf)
            self._check_two_fold(x, time, step.state, step.time)
            self._pass(step, apart)
            self._save(step.time)
            x, time = step.state, step.time
        self._note_end()
        self._between(time, end)
        values = [run.variables[name].values[-1] for name in self.system.state_names]
        final = np.array(values, dtype=np.float64)
        rate = self._field(final, end)
        if run.t_end == end:
            self._check_two_fold(x, time, final, end)
        by = self.states[: self.free].copy()
        if run.t_end < end:
            final[:] = np.nan
        elif not self.failures:
            self._check_end(final, rate)
        if self.failures:
            by[:] = np.nan
        return Tangents(
            directions=self.names,
            start=start,
            end=end,
            final=final[: self.free],
            final_by=by,
            rate=rate[: self.free],
            events=tuple(self.events),
            failures=tuple(self.failures),
            times=self.times,
            states=self._saved_states(),
            states_by=self.saved_by,
        )

    def _saved_states(self) -> Floats:
        """Return (k, n) the states at the saved times; NaN after the end of the run."""
        states = np.full(self.saved_by.shape[:2], np.nan)
        for c, name in enumerate(self.system.state_names[: self.free] if self.times.size else ()):
            values = np.asarray(self.run.variables[name].values)
            states[: len(values), c] = values
        return states

    def _save(self, time: float) -> None:
        """Save the derivatives if the given time is one of `times`."""
        if not self.failures:
            self.saved_by[self.times == time] = self.states[: self.free]

    def _transitions(self) -> list[Transition]:
        """Return the events of the run until determinism is lost, grouped by their time.

        Recorded minima of |h| that are not zero (events `fold` off the surface) are left out.
        """
        log, found = self.run.event_log, []
        columns = [np.asarray(log.columns[name]) for name in self.system.state_names]
        first = min((loss.time for loss in self.run.determinism.losses), default=np.inf)
        for at, group in itertools.groupby(range(len(log.time)), key=lambda k: float(log.time[k])):
            if at >= first:
                break
            rows = list(group)
            step = Transition(
                time=at,
                state=np.array([column[rows[0]] for column in columns]),
                surfaces=tuple(int(log.contact[k]) - 1 for k in rows),
                before=tuple(_SIDES[log.before[k]] for k in rows),
                after=tuple(_SIDES[log.after[k]] for k in rows),
                multiplier=tuple(float(log.columns["multiplier"][k]) for k in rows),
                kinds=tuple(log.kind[k] for k in rows),
            )
            beside = all(kind == "fold" for kind in step.kinds)
            if not (beside and not self._on_surface(step.state, step.surfaces[0])):
                found.append(step)
        return found

    def _on_surface(self, x: Floats, i: int) -> bool:
        """Return whether a state lies on surface i within rounding."""
        scale = np.asarray(self.system.compiled.scale)
        reach = np.abs(self.system.gradient(x)[i]) @ np.maximum(np.abs(x), scale)
        return bool(abs(self.system.surfaces_at(x)[i]) <= _ON_SURFACE * reach)

    def _start(self, x: Floats, steps: Sequence[Transition]) -> None:
        """Set the initial mode; in sliding project the derivatives on the surfaces."""
        start, m = self.span[0], self.system.compiled.m
        sides = np.asarray(self.run.variables["mode"].values[0], dtype=np.float64).reshape(-1)
        for step in reversed(steps):
            for i, before in zip(step.surfaces, step.before, strict=True):
                sides[i] = before
        self._set_mode(x, start, sides)
        for i in range(m):
            if sides[i] != 0.0 and self._on_surface(x, i):
                reason = f"the start lies on surface {i + 1}; derivatives differ on either side"
                self._fail(start, "start on a surface", reason)
        sliding = np.flatnonzero(sides == 0.0)
        if sliding.size and len(self.names) and not self.run.determinism.losses:
            self._slide_at_once(x, start, sides, sliding)

    def _slide_at_once(
        self, x: Floats, start: float, sides: Floats, sliding: npt.NDArray[np.intp]
    ) -> None:
        """Project the derivatives of a start in sliding on the surfaces, along the jumps of x'.

        A start displaced to either side of a surface with normal n returns to it along the field f+
        or f- of that side. The saltation matrix of that return is 1 - J n / (n . J) with
        J = f+ - f-, for both sides, because the sliding field lies between f+ and f-. On two
        surfaces the states return along four fields. They reach the same state to first order only
        if the jump at each surface is the same on both sides of the other one.
        """
        signs_around = list(itertools.product((1.0, -1.0), repeat=sliding.size))
        fields = []
        for signs in signs_around:
            beside = sides.copy()
            beside[sliding] = signs
            fields.append(self.system.field(x, beside))
        signs_of, values = np.array(signs_around), np.array(fields)
        jumps = signs_of.T @ values / (0.5 * len(fields))
        mean = values.mean(axis=0)
        curved = np.abs(values - mean - 0.5 * signs_of @ jumps).max(axis=0)
        scale = np.asarray(self.system.compiled.scale)
        if (curved / scale).max() > _ADDITIVE * (np.abs(jumps) / scale).max():
            reason = (
                "the start slides on two surfaces; derivatives depend on which surface is reached "
                "first"
            )
            self._fail(start, "start on a surface", reason)
            return
        rows = [self._gradient_of_h(int(i), x, start) for i in sliding]
        normals = np.array([row[: self.n] for row in rows])
        along = np.array([self._along(row) for row in rows])
        self.states -= jumps.T @ np.linalg.solve(normals @ jumps.T, along)

    # ---- between events and at them

    def _between(self, start: float, end: float) -> None:
        """Integrate the variational equation between two events, with stops at saved times."""
        inside = self.times[(self.times > start) & (self.times < end)]
        for time in [*inside.tolist(), end]:
            self._until(start, time)
            if not (self.failures or np.isfinite(self.states).all()):
                reason = "a derivative is not finite: the end of a domain, or overflow"
                self._fail(start, "derivative not finite", reason)
            self._save(time)
            start = time

    def _until(self, start: float, end: float) -> None:
        """Integrate the variational equation over the recorded steps between two times."""
        if self.failures or not end > start or not len(self.names):
            return
        if not self._integrated(self.steps, start, end):
            self._fail(start, "stiff field", self._why_stiff())

    def _why_stiff(self) -> str:
        """Return why the variational equation was not solved, with a remedy."""
        reason, n = "the variational equation needs too many intervals", self.n
        scale = np.asarray(self.system.compiled.scale)
        sizes = np.abs(self.steps[:, :n]).max(axis=0, initial=0.0)
        k = int(np.argmax(sizes / scale))
        if sizes[k] > _OUTGROWN * scale[k]:
            name = [*self.system.state_names, "t"][k]
            reason += f"; {name} reaches {sizes[k]:.2g} and its scale is {scale[k]:.2g}: "
            return reason + "give the sizes of the states as `scale`"
        return reason + ": try a shorter time span, or a `scale` nearer to the sizes of the states"

    def _pass(self, step: Transition, apart: float) -> None:
        """Multiply the derivatives by the saltation matrix of an event.

        Parameters
        ----------
        apart : time to the nearest kink before or after the event
        """
        x, t, sides = step.state, step.time, self.flow.sides.copy()
        what = self._event_function(step, sides)
        if self.failures:
            self._note_event(step, np.full(len(self.names), np.nan))
            return
        gradient = self._gradient(what, x, t)
        kink, along = "kink" in step.kinds, self._field(x, t)
        # the located state of a kink lies on either side of it
        before = self._beside_kink(x, t, along, -1.0, apart) if kink else along
        rate = float(gradient[: self.n] @ before)
        speed = self._speed(gradient, before)
        self._check_transversal(step, what, gradient, before, rate, speed)
        sides[list(step.surfaces)] = step.after
        self._set_mode(x, t, sides)
        after = self._beside_kink(x, t, along, 1.0, apart) if kink else self._field(x, t)
        by = np.full(len(self.names), np.nan)
        if not self.failures:
            by = -self._along(gradient) / rate
            self.states += np.outer(before - after, by)
            self.last_jump = step.time if (before != after).any() else self.last_jump
        self._note_event(step, by)

    def _event_function(self, step: Transition, sides: Floats) -> int:
        """Return the number of the event function that is zero, as in `flow.rates.event_values`."""
        m = sides.size
        if "kink" in step.kinds:
            others = [b for kind, b in zip(step.kinds, step.before, strict=True) if kind != "kink"]
            # sliding ends because of the kink; an arrival does not depend on it
            if any(others) or len(step.kinds) - len(others) > 1:
                reason = f"a kink of the field and another event at the same time: {step.label}"
                self._fail(step.time, "codimension-2 intersection", reason)
            return 2 * m + self._kink(step.state, step.time)
        if "fold" in step.kinds:
            i = step.surfaces[0]
            self._fail(step.time, "grazing", f"the trajectory is tangent to surface {i + 1}")
            return i
        arrivals = {i for i, b in zip(step.surfaces, step.before, strict=True) if b != 0.0}
        if len(arrivals) > 1:
            names = " and ".join(str(i + 1) for i in sorted(arrivals))
            reason = f"surfaces {names} are reached at the same time"
            self._fail(step.time, "codimension-2 intersection", reason)
        if arrivals:
            return min(arrivals)
        # sliding ends where a multiplier reaches 1 or -1
        ends = max(range(len(step.surfaces)), key=lambda k: abs(step.multiplier[k]))
        i = step.surfaces[ends]
        return i if step.multiplier[ends] > 0.0 else m + i

    def _kink(self, x: Floats, t: float) -> int:
        """Return the number of the kink function whose |g| / |g'| is smallest."""
        m, field = self.system.compiled.m, self._field(x, t)
        values, away = self.system.kinks_at(x), []
        for j in range(values.size):
            rate = float(self._gradient(2 * m + j, x, t)[: self.n] @ field)
            away.append(abs(values[j]) / max(abs(rate), 1e-300))
        return int(np.argmin(away))

    def _beside_kink(self, x: Floats, t: float, field: Floats, side: float, apart: float) -> Floats:
        """Return the limit of x' in the present mode on one side of a kink, by extrapolation.

        The points are nearer than the next kink.
        """
        scale = np.asarray(self.system.compiled.scale)
        near = 1e-5 / max(float(np.abs(field / scale).max()), 1e-300)
        near = side * min(near, apart / 3.0)
        first, second = (self._field(x + k * near * field, t) for k in (1.0, 2.0))
        return np.asarray(2.0 * first - second)

    # ---- what has no derivative

    def _fail(self, time: float, kind: str, reason: str) -> None:
        """Record that the run has no derivative from this time on."""
        self.failures.append(NotDifferentiable(time, kind, reason))

    def _note_event(self, step: Transition, by: Floats) -> None:
        """Record an event with the (m,) derivatives of its time."""
        state = step.state[: self.free].copy()
        self.events.append(EventTangent(step.time, step.label, state, by))

    def _speed(self, gradient: Floats, field: Floats) -> float:
        """Return |grad e| |f|, in units of the sizes of the states."""
        scale = np.asarray(self.system.compiled.scale)
        normal = np.linalg.norm(gradient[: self.n] * scale)
        return float(normal * np.linalg.norm(field / scale))

    def _close(self, x: Floats, t: float) -> float:
        """Return the time below which the distance of two events is not resolved.

        It is that in which the state moves by ten times its error, but at most ten times the
        relative error of the span.
        """
        sizes = np.maximum(np.abs(x), np.asarray(self.system.compiled.scale))
        speed = float(np.abs(self._field(x, t) / sizes).max())
        span = self.span[1] - self.span[0]
        return 10.0 * self.tol * max(abs(t), min(span, 1.0 / max(speed, 1e-300)))

    def _check_apart(self, step: Transition, last: Transition | None) -> None:
        """Record a failure if two surfaces or two kinks are closer in time than their errors."""
        if last is None or self.failures:
            return
        kinks = sum("kink" in event.kinds for event in (last, step))
        if kinks == 1 or (kinks == 0 and set(step.surfaces) & set(last.surfaces)):
            return
        gap, close = step.time - last.time, self._close(step.state, step.time)
        if gap <= close:
            what = "kinks" if kinks else "surfaces"
            reason = f"two {what} are reached {gap:.2g} apart, less than {close:.2g}"
            self._fail(step.time, "codimension-2 intersection", reason)

    def _check_transversal(
        self,
        step: Transition,
        what: int,
        gradient: Floats,
        field: Floats,
        rate: float,
        speed: float,
    ) -> None:
        """Record a failure if the trajectory reaches the zero of the event function tangentially.

        Near a grazing the orbit would pass the surface by rate^2 / (2 h'') only.
        """
        x, t, m = step.state, step.time, self.flow.sides.size
        if not abs(rate) > _TANGENTIAL * speed:
            kind = "grazing" if what < m and self.flow.sides[what] != 0.0 else "fold"
            self._fail(
                t, kind, f"the event function has the rate {rate:.2g}, which is zero up to rounding"
            )
            return
        if what >= m or self.flow.sides[what] == 0.0 or abs(rate) > _SLOW * speed:
            return
        scale = np.asarray(self.system.compiled.scale)
        near = 1e-3 / max(float(np.abs(field / scale).max()), 1e-300)
        rates = []
        for side in (-1.0, 1.0):
            there = x + side * near * field
            normal = self._gradient(what, there, t)[: self.n]
            rates.append(float(normal @ self._field(there, t)))
        bend = abs(rates[1] - rates[0]) / (2.0 * near)
        depth = rate * rate / (2.0 * bend) if bend > 0.0 else np.inf
        reach = np.abs(gradient[: self.n]) @ np.maximum(np.abs(x), 0.1 * scale)
        limit = _GRAZING * self.tol * float(reach)
        if depth < limit:
            reason = (
                f"the orbit almost grazes surface {what + 1}: without the jump of the field it "
                f"would cross to a depth of {depth:.2g} only, less than {limit:.2g}"
            )
            self._fail(t, "grazing", reason)

    def _check_two_fold(self, x: Floats, t: float, last: Floats, end: float) -> None:
        """Record a failure if the orbit, which slides from x, t on, passes an unresolved two-fold.

        At a two-fold L+ = L- = 0. Next to a saddle the errors of a run grow, and the orbit may
        pass it on the wrong side. The distance in the plane of L+ and L- is compared with the
        error across the orbit in this plane.
        """
        sides, m, n = self.flow.sides.copy(), self.system.compiled.m, self.n
        if self.failures or not len(self.names) or np.count_nonzero(sides == 0.0) != 1:
            return
        i = int(np.flatnonzero(sides == 0.0)[0])
        # steps are as short as L- - L+ is small
        steps = self.steps[(self.steps[:, n] > t) & (self.steps[:, n] < end)]
        short = np.diff(steps[:, n], append=end) < _SHORT * (end - t)
        places = [*((row[:n], float(row[n])) for row in steps[short]), (last, end)]
        values = np.array([[self._value(k, *place) for k in (i, m + i)] for place in places])
        nearest = int(values.sum(axis=1).argmin())
        (at, time), (up, down) = places[nearest], values[nearest]
        # the event functions are L+ and L- over the first L- - L+
        if up + down > _APPROACH and self.flow.progress.tightening == 1.0:
            return
        flow, field = SegmentFlow(self.system, self.method, ()), self._field(at, time)
        by = np.array([self._gradient(k, at, time)[:n] for k in (i, m + i)])
        rates = by @ field
        across = (rates[1] * by[0] - rates[0] * by[1]) / max(float(np.hypot(*rates)), 1e-300)
        sizes = np.maximum(np.abs(x), np.asarray(self.system.compiled.scale))
        carried = across @ flow.derivatives_over(self.steps, sides, x, t, time)
        error = self.tol * float(np.abs(carried) @ sizes) / float(np.hypot(up, down))
        if not error < _UNRESOLVED:
            reason = f"the orbit passes a two-fold at a distance that errors change by {error:.2g}"
            self._fail(time, "two-fold", f"{reason} of this distance")

    def _check_end(self, x: Floats, rate: Floats) -> None:
        """Record a failure if the run ends within the error of an event at which x' changes."""
        end, sides = self.span[1], self.flow.sides
        close = self._close(x, end)
        values, rates = self.system.surfaces_at(x), self.system.gradient(x) @ rate
        ahead = (sides != 0.0) & (np.abs(values) < close * np.abs(rates))
        if end - self.last_jump < close or ahead.any():
            reason = f"the run ends at an event, to within the error {close:.2g} of its time"
            self._fail(end, "event at the end", reason)

    def _note_end(self) -> None:
        """Record a failure if determinism was lost or the run ended early."""
        run = self.run
        if run.determinism.losses:
            loss = run.determinism.losses[0]
            kind = str(loss.where.get("of", loss.kind)) if loss.kind == "undecided" else loss.kind
            reason = f"the run reports {loss.kind}, and the forward solution is not unique"
            self._fail(loss.time, _KINDS.get(kind, kind), reason)
        elif not run.status.ok:
            reason = f"{run.reason}; {advice_in('switching', run.status)}"
            self._fail(run.t_end, run.status.value, reason)
