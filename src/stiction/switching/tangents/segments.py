"""Segments of an orbit in a given mode, which may end beyond the region of that mode.

A run ends a mode at its event. A segment goes on by the smooth field of its mode, so that its end
and the event functions there are smooth functions of start, times and parameters, also where the
event is tangential.

Source: Dercole and Kuznetsov 2005 (SlideCont); Dankowicz and Schilder 2013, chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.switching.flow.state import DENSE_TERMS, LATER, TRIAL
from stiction.switching.model import SwitchingSystem
from stiction.switching.tangents.kernels import evaluate, record_segment, state_at_end
from stiction.switching.tangents.mode import ModeFlow

if TYPE_CHECKING:
    from stiction.switching.methods import EventDriven

__all__ = ["SegmentEnd", "SegmentFlow"]

Floats = npt.NDArray[np.float64]

_FIRST_STEPS, _MOST_STEPS = 64, 100_000
# Newton steps that place a start on the surfaces along which it slides
_PLACINGS = 3


class SegmentEnd(NamedTuple):
    """The end of a segment.

    Attributes
    ----------
    final : (n,) state, without the clock
    by : (n, n + 1 + q) its derivatives in start, start time at a given end time, and parameters
    rate : (n,) x' there
    """

    final: Floats
    by: Floats
    rate: Floats


class SegmentFlow(ModeFlow):
    """Segments of one system, with derivatives in the start and in parameters."""

    def __init__(
        self, system: SwitchingSystem, method: EventDriven, parameters: Sequence[str]
    ) -> None:
        super().__init__(system, method, ("x0", *parameters), clock=True)
        self.seeds = self.states.copy()

    def segment(self, sides: Floats, x: Floats, start: float, end: float) -> SegmentEnd:
        """Return the end of the segment from (n,) state x in the mode with these signs."""
        if not end > start:
            raise _refused(f"a segment from t = {start:.9g} to {end:.9g}")
        free, full = self.free, self.system.full_state(x, start)
        self.states[:] = self.seeds
        self._enter(full, start, sides)
        steps = self._recorded(self._placed(full, start, sides), start, end, sides)
        state_at_end(self.flow.work, steps, len(steps), end)
        final = self.flow.vectors[TRIAL, : self.n].copy()
        if not self._integrated(steps, start, end) or not np.isfinite(self.states).all():
            raise _refused("a segment without an end")
        rate = self._field(final, end)[:free]
        by = self.states[:free]
        # the columns of `by` are those of the n states, of the clock if there is one, and of p
        by_time = by[:, free : self.n].sum(axis=1) - rate
        columns = [by[:, :free], by_time[:, None], by[:, self.n :]]
        return SegmentEnd(final[:free], np.hstack(columns), rate)

    def condition(self, sides: Floats, what: int, x: Floats, t: float) -> tuple[float, Floats]:
        """Return an event function of a mode and its (n + 1 + q,) derivatives in x, t and p."""
        full = self.system.full_state(x, t)
        self._enter(full, t, sides)
        return self._value(what, full, t), self._in_time(self._gradient(what, full, t))

    def turning(
        self,
        sides: Floats,
        what: int,
        x: Floats,
        t: float,
        others: Sequence[tuple[SegmentFlow, float]],
    ) -> tuple[float, Floats]:
        """Return the rate of an event function along the orbit, and its derivatives by differences.

        Parameters
        ----------
        others : for each parameter the flow at a higher value, and the difference
        """
        full, scale = self.system.full_state(x, t), np.asarray(self.system.compiled.scale)
        value = self._rate_of(sides, what, full, t)
        by = np.zeros(self.n + len(others))
        for j, size in enumerate(1e-4 * scale):
            step = np.where(np.arange(self.n) == j, size, 0.0)
            ends = [self._rate_of(sides, what, full + side * step, t) for side in (-1.0, 1.0)]
            by[j] = (ends[1] - ends[0]) / (2.0 * size)
        for j, (other, difference) in enumerate(others):
            by[self.n + j] = (other._rate_of(sides, what, full, t) - value) / difference
        return value, self._in_time(by)

    def margins(self, sides: Floats, x: Floats, start: float, end: float, count: int) -> Floats:
        """Return (count, 2 m) event functions inside a segment; negative where it is none."""
        found, m = [], self.system.compiled.m
        times = start + (end - start) * (np.arange(count) + 0.5) / count
        for first, last in zip([start, *times[:-1]], times, strict=True):
            x = self.segment(sides, x, float(first), float(last)).final
            full = self.system.full_state(x, float(last))
            self._enter(full, float(last), sides)
            found.append([self._value(what, full, float(last)) for what in range(2 * m)])
        return np.array(found)

    def _in_time(self, by: Floats) -> Floats:
        """Return derivatives with one column of the time, 0 without a clock."""
        free, n = self.free, self.n
        return np.concatenate([by[:free], [float(by[free:n].sum())], by[n:]])

    def _enter(self, full: Floats, t: float, sides: Floats) -> None:
        self._check_planes([full])
        self._set_mode(full, t, sides)

    def _value(self, what: int, full: Floats, t: float) -> float:
        rows, n = self.flow.vectors, self.n
        rows[TRIAL, :n], rows[TRIAL, n] = full, t
        evaluate(self.flow.work, what, TRIAL)
        return float(rows[LATER, 0])

    def _rate_of(self, sides: Floats, what: int, full: Floats, t: float) -> float:
        self._enter(full, t, sides)
        field = self._field(full, t)
        return float(self._gradient(what, full, t)[: self.n] @ field)

    def _recorded(self, full: Floats, start: float, end: float, sides: Floats) -> Floats:
        """Return the steps of the segment from a state on its surfaces."""
        rows = _FIRST_STEPS
        while rows <= _MOST_STEPS:
            self._set_mode(full, start, sides)
            steps = np.zeros((rows, (1 + DENSE_TERMS) * (self.n + 1)))
            count = int(record_segment(self.flow.work, self.flow.table, steps, end))
            if 0 < count < rows:
                return steps[:count]
            rows = 8 * rows if count > 0 else _MOST_STEPS + 1
        raise _refused("a segment without an end")

    def _placed(self, full: Floats, t: float, sides: Floats) -> Floats:
        """Return the start on the surfaces along which it slides; place its derivatives too."""
        sliding = np.flatnonzero(sides == 0.0)
        if not sliding.size:
            return full
        weights = np.asarray(self.system.compiled.scale) ** 2
        weights[self.free :] = 0.0
        at = full.copy()
        for _ in range(_PLACINGS):
            rows = np.array([self._gradient_of_h(int(i), at, t) for i in sliding])
            normals = rows[:, : self.n]
            across = weights[:, None] * normals.T
            off = self.system.surfaces_at(at)[sliding]
            at = at - across @ np.linalg.solve(normals @ across, off)
        along = np.array([self._along(row) for row in rows])
        self.states -= across @ np.linalg.solve(normals @ across, along)
        return at


def _refused(got: str) -> ModelError:
    needs, why = "segments of positive length", "an orbit consists of segments."
    return ModelError("continue_cycle", got, needs, why, "start nearer to the bifurcation.")
