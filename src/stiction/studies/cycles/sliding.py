"""Sliding bifurcations of periodic orbits as regular solutions of a system of equations.

An orbit is a list of segments between events, each in one mode. At a sliding bifurcation one
segment of the orbits with more events has shrunk to length zero. This segment is left out of the
equations, and the event function at its end is required to vanish. Let h be the switching function,
and L_b h its time derivative along the vector field of mode b. The conditions are:

    crossing-sliding    the orbit crosses from a to b at a point with L_b h = 0
    switching-sliding   the orbit arrives from a and slides at a point with L_b h = 0
    grazing(-sliding)   the orbit in mode a reaches h = 0 at a point with L_a h = 0
    adding-sliding      a sliding segment reaches L_a h = 0 where the derivative of L_a h vanishes

Source: di Bernardo et al. 2008, section 8.1 (conditions); Dercole and Kuznetsov 2005 (as boundary
value problems).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.core.method import method_for
from stiction.core.tangents import EventTangent
from stiction.errors import ModelError, SolveError
from stiction.numerics.continuation import Dense
from stiction.studies.cycles.bifurcations import Merged
from stiction.studies.cycles.cycle import Cycle
from stiction.studies.cycles.shooting import (
    OrbitEquations,
    closed,
    parameter_unknowns,
    period_by,
    sizes_of,
)
from stiction.switching.model import SwitchingSystem
from stiction.switching.tangents.segments import SegmentEnd, SegmentFlow

__all__ = ["SlidingOrbit", "sliding_orbit"]

Floats = npt.NDArray[np.float64]

_LABEL = re.compile(r"(?:cross|slide|leave) (\d+): (\S+) to (\S+)")
_SIGNS = {"+": 1.0, "-": -1.0, "slide": 0.0}
# number of points inside a segment at which its mode is verified; relative tolerance of the event
# functions there
_SAMPLES, _OUTSIDE = 24, 1e-7


class Break(NamedTuple):
    """The event at which a segment ends and the next one begins.

    Attributes
    ----------
    surface : index of the switching surface, from 0
    what : index of the event function of the mode before that vanishes at the event, as in
        `flow.rates.event_values`: surface i has the entry i (h_i = 0, or in sliding L_+ h_i = 0)
        and the entry m + i (in sliding L_- h_i = 0), with i from 0 and m surfaces
    after : sign of the switching function in the next segment; 0 for sliding
    """

    surface: int
    what: int
    after: float


class Critical(NamedTuple):
    """The condition of a bifurcation at the start of segment `at`.

    Attributes
    ----------
    sides : (m,) signs of the m switching functions in the mode of the event function `what`
    turning : whether the time derivative of the event function vanishes instead of its value
    """

    at: int
    sides: Floats
    what: int
    turning: bool


@dataclass(frozen=True, eq=False)
class SlidingOrbit(OrbitEquations):
    """The equations of an orbit at a sliding bifurcation.

    The unknowns are the states at the breaks, the times of the breaks, and the parameters. For an
    autonomous system the first time is fixed, and the period is unknown.

    Parameters
    ----------
    breaks : the s events between segments; segment j begins at break j
    sides : (s, m) signs of the m switching functions in each segment
    critical : condition of the bifurcation
    weights : (s + 1,) sizes of the event functions
    """

    breaks: tuple[Break, ...]
    sides: Floats
    critical: Critical
    weights: Floats

    @property
    def count(self) -> int:
        """Number of segments."""
        return len(self.breaks)

    def flow_at(self, u: Floats) -> SegmentFlow:
        """Return the flow in single modes of the system with the parameters of u."""
        flow: SegmentFlow = self._flows(*u[u.size - len(self.parameters) :].tolist())
        return flow

    @functools.cached_property
    def _flows(self) -> Any:
        def flow(*values: float) -> SegmentFlow:
            return SegmentFlow(self._systems(*values), self.method, self.parameters)

        return functools.lru_cache(maxsize=8)(flow)

    def states(self, u: Floats) -> Floats:
        """Return (s, n) the states at the breaks."""
        return u[: self.n * self.count].reshape(self.count, self.n)

    def times(self, u: Floats) -> Floats:
        """Return (s + 1,) the times of the breaks; the last one is the first plus the period."""
        given = u[self.n * self.count : (self.n + 1) * self.count]
        if self.period is None:
            return np.append(0.0, given)
        return np.append(given, given[0] + self.period_at(u))

    def with_limits(
        self, u: Floats, parameters: tuple[str, ...], limits: tuple[tuple[float, float], ...]
    ) -> tuple[SlidingOrbit, Floats]:
        """Return the same equations with these unknown parameters, and the unknowns."""
        system = self.system_at(u)
        fixed = (self.n + 1) * self.count
        values, spans, ends = parameter_unknowns(system, parameters, limits, fixed)
        scale = np.concatenate([self.scale[:fixed], spans])
        made = dataclasses.replace(
            self, system=system, parameters=parameters, scale=scale, limits=ends
        )
        return made, np.concatenate([u[:fixed], values])

    # ---- the equations

    def residual(self, u: Floats) -> Floats:
        """Return gaps of states, event functions and critical condition, divided by their sizes."""
        states, ends, events = self.states(u), self._segments(u), self._conditions(u)
        gaps = [
            (states[(j + 1) % self.count] - end.final) / self.sizes for j, end in enumerate(ends)
        ]
        return np.concatenate([*gaps, np.array([value for value, _ in events])])

    def jacobian(self, u: Floats) -> Floats:
        """Return the derivatives of the residual by the unknowns."""
        n, s, q = self.n, self.count, len(self.parameters)
        ends, events = self._segments(u), self._conditions(u)
        by_time = np.zeros((s + 1, u.size))
        if self.period is None:
            by_time[np.arange(1, s + 1), n * s + np.arange(s)] = 1.0
        else:
            by_time[np.arange(s), n * s + np.arange(s)] = 1.0
            by_time[s] = by_time[0]
            by_time[s, u.size - q :] += period_by(self, u)
        out = np.zeros((n * s + s + 1, u.size))
        for j, end in enumerate(ends):
            rows, after = slice(n * j, n * (j + 1)), (j + 1) % s
            out[rows, n * after : n * (after + 1)] += np.eye(n)
            out[rows, n * j : n * (j + 1)] -= end.by[:, :n]
            out[rows] -= np.outer(end.by[:, n], by_time[j]) + np.outer(end.rate, by_time[j + 1])
            out[rows, u.size - q :] -= end.by[:, n + 1 :]
            out[rows] /= self.sizes[:, None]
        places = [*(((j + 1) % s, j + 1) for j in range(s)), (self.critical.at,) * 2]
        for row, ((at, time), (_, by)) in enumerate(zip(places, events, strict=True)):
            line = out[n * s + row]
            line[n * at : n * (at + 1)] += by[:n]
            line += by[n] * by_time[time]
            line[u.size - q :] += by[n + 1 :]
        return out

    def linearised(self, u: Floats) -> Dense:
        """Return the derivatives of the residual by the scaled unknowns."""
        return Dense(self.jacobian(u) * self.scale)

    def valid(self, u: Floats) -> bool:
        """Return whether each segment stays within the region of its mode."""
        times, plain = self.times(u), SegmentFlow(self.system_at(u), self.method, ())
        for j, x in enumerate(self.states(u)):
            start, end = float(times[j]), float(times[j + 1])
            margins = plain.margins(self.sides[j], x, start, end, _SAMPLES)
            if not (margins > -_OUTSIDE * np.abs(margins).max(axis=0)).all():
                return False
        return True

    # ---- segments and conditions

    def _segments(self, u: Floats) -> tuple[SegmentEnd, ...]:
        """Return the ends of all segments, with their derivatives."""
        found: tuple[SegmentEnd, ...] = self._cached(u.tobytes())[0]
        return found

    def _conditions(self, u: Floats) -> tuple[tuple[float, Floats], ...]:
        """Return (value, derivatives) of the s event functions and of the critical condition."""
        found: tuple[tuple[float, Floats], ...] = self._cached(u.tobytes())[1]
        return found

    @functools.cached_property
    def _cached(self) -> Any:
        return functools.lru_cache(maxsize=4)(self._computed)

    def _computed(
        self, raw: bytes
    ) -> tuple[tuple[SegmentEnd, ...], tuple[tuple[float, Floats], ...]]:
        """Return both results, ends of segments and conditions, for u with these bytes.

        Entry j of the conditions is the event function at the end of segment j, the last one the
        critical condition; all are divided by `weights`.
        """
        u = np.frombuffer(raw)
        flow, states, times = self.flow_at(u), self.states(u), self.times(u)
        ends, events = [], []
        for j, sides in enumerate(self.sides):
            ends.append(flow.segment(sides, states[j], float(times[j]), float(times[j + 1])))
            after = (j + 1) % self.count
            what, weight = self.breaks[after].what, self.weights[j]
            value, by = flow.condition(sides, what, states[after], float(times[j + 1]))
            events.append((value / weight, by / weight))
        value, by = self._critical(u, flow, states[self.critical.at], times[self.critical.at])
        events.append((value / self.weights[-1], by / self.weights[-1]))
        return tuple(ends), tuple(events)

    def _critical(self, u: Floats, flow: SegmentFlow, x: Floats, t: float) -> tuple[float, Floats]:
        """Return (value, derivatives) of the critical condition at the state x and the time t."""
        one = self.critical
        if not one.turning:
            return flow.condition(one.sides, one.what, x, float(t))
        others = []
        for j in range(len(self.parameters)):
            there, at = u.copy(), u.size - len(self.parameters) + j
            difference = 1e-6 * float(self.scale[at])
            there[at] += difference
            others.append((self.flow_at(there), difference))
        return flow.turning(one.sides, one.what, x, float(t), others)


def sliding_orbit(
    fewer: Cycle, merged: Merged, parameter: str
) -> tuple[SlidingOrbit, Floats] | None:
    """Return the equations and the solution of an orbit at a sliding bifurcation; None on failure.

    Parameters
    ----------
    fewer : an orbit near the bifurcation, on the side with fewer events
    merged : the events of the other side that merge at the bifurcation
    parameter : name of the parameter

    Verified by: tests/exact/test_sliding_bifurcations.py::test_parameter_and_kind
    """
    if not isinstance(fewer.system, SwitchingSystem):
        return None
    try:
        made = _guess(fewer, merged, parameter)
        if made is None:
            return None
        ended = closed(*made)
        if not ended.converged or not made[0].valid(ended.u):
            return None
    except (ModelError, SolveError, np.linalg.LinAlgError):
        return None
    return made[0], ended.u


def _guess(fewer: Cycle, merged: Merged, parameter: str) -> tuple[SlidingOrbit, Floats] | None:
    """Return the equations and a guess of the unknowns: the orbit with fewer events."""
    events, m = list(fewer.events), fewer.system.compiled.m
    # a and b are the signs of h before and within the segment that vanishes; `marginal` is the mode
    # whose Lie derivative L h vanishes at the bifurcation
    surface, (a, b) = int(merged.contact) - 1, (_SIGNS[merged.before], _SIGNS[merged.between])
    marginal = _SIGNS[merged.after] if b == 0.0 else b
    if merged.label is None and a != 0.0:
        marginal = a
    labels = [_LABEL.fullmatch(event.label) for event in events]
    if any(label is None for label in labels):
        # the label belongs to a kink of the field, or to events of several surfaces at once
        return None
    # position of the critical event; without an event on this side, one is inserted
    if merged.label is None:
        place = int(np.searchsorted([event.time for event in events], merged.time))
        events.insert(place, EventTangent(merged.time, "", merged.state, np.empty(0)))
        labels.insert(place, None)
    else:
        same = [k for k, event in enumerate(events) if event.label == merged.label]
        if not same:
            return None
        period = fewer.period
        place = min(same, key=lambda k: _cyclic(events[k].time - merged.time, period))
    # break k ends the mode `now` of all surfaces and begins that of segment k
    sides = np.tile(_sides_at_start(fewer), (len(events), 1))
    breaks = list[Break]()
    now = sides[0].copy()
    for k, label in enumerate(labels):
        if label is None:
            end = _end_of_sliding(surface, marginal, m) if a == 0.0 else surface
            breaks.append(Break(surface, end, now[surface]))
        else:
            i, after = int(label[1]) - 1, _SIGNS[label[3]]
            leaves = label[2] == "slide"
            breaks.append(Break(i, _end_of_sliding(i, after, m) if leaves else i, after))
            now[i] = after
        sides[k] = now
    at = sides[place].copy()
    at[surface] = 0.0
    # adding-sliding: a sliding segment is tangent to the boundary of the sliding region
    turning = a == 0.0 and merged.label is None
    critical = Critical(place, at, _end_of_sliding(surface, marginal, m), turning)
    return _equations(fewer, events, tuple(breaks), sides, critical, parameter)


def _equations(
    fewer: Cycle,
    events: Sequence[EventTangent],
    breaks: tuple[Break, ...],
    sides: Floats,
    critical: Critical,
    parameter: str,
) -> tuple[SlidingOrbit, Floats]:
    """Return the equations, and the unknowns of a guess: u = (states, times, parameter).

    Each event function is divided by the largest of its derivatives by scaled unknowns.
    """
    states, times = np.array([event.state for event in events]), [event.time for event in events]
    largest = np.abs(np.concatenate([states, fewer.nodes])).max(axis=0)
    sizes = sizes_of(fewer.system, largest)
    unknown = np.array(times)
    if fewer.autonomous:
        unknown = np.append(unknown[1:] - unknown[0], fewer.period)
    values, spans, _ = parameter_unknowns(fewer.system, (parameter,), (), 0)
    s = len(events)
    scale = np.concatenate([np.tile(sizes, s) * np.sqrt(s), np.full(s, fewer.period), spans])
    problem = SlidingOrbit(
        breaks,
        sides,
        critical,
        np.ones(s + 1),
        system=fewer.system,
        method=method_for(fewer.system, fewer.method),
        period=fewer.force_period,
        parameters=(parameter,),
        sizes=sizes,
        scale=scale,
    )
    u = np.concatenate([states.ravel(), unknown, values])
    lines = np.abs(problem.jacobian(u) * scale)[problem.n * s :]
    weights = np.where(lines.max(axis=1) > 0.0, lines.max(axis=1), 1.0)
    return dataclasses.replace(problem, weights=weights), u


def _end_of_sliding(surface: int, side: float, m: int) -> int:
    """Return the index of the event function that vanishes where sliding ends towards a side."""
    return surface if side > 0.0 else m + surface


def _cyclic(difference: float, period: float) -> float:
    """Return the distance of two times modulo the period."""
    off = difference % period
    return min(off, period - off)


def _sides_at_start(cycle: Cycle) -> Floats:
    """Return (m,) the mode in which an orbit starts."""
    values = cycle.run(save=2).variables["mode"].values[0]
    return np.atleast_1d(np.asarray(values, dtype=np.float64)).reshape(-1)
