"""Segments of an orbit in a given mode, for the computation of periodic orbits.

A run ends a mode at its event. A segment instead continues with the smooth field of its mode until
a given time, possibly beyond the region of that mode. So its end, and the event functions there,
are smooth functions of start, times and parameters, also if the event is tangential. Continuation
of cycles through grazing and sliding bifurcations needs this (`stiction.studies`). A mode is given
by the signs `sides` of the surfaces, 0 in sliding; `full` is a state x with its clock, if there is
one; p are the q parameters.

Source: Dercole and Kuznetsov 2005 (SlideCont); Dankowicz and Schilder 2013, chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.switching.flow.state import DENSE_TERMS, TRIAL
from stiction.switching.model import SwitchingSystem
from stiction.switching.tangents.kernels import record_segment, state_at_end
from stiction.switching.tangents.mode import ModeFlow

if TYPE_CHECKING:
    from stiction.switching.methods import EventDriven

__all__ = ["SegmentEnd", "SegmentFlow"]

Floats = npt.NDArray[np.float64]

# first and largest number of recorded steps of a segment
_FIRST_STEPS, _MOST_STEPS = 64, 100_000
# number of Newton steps that project a start on its sliding surfaces
_PLACINGS = 3


class SegmentEnd(NamedTuple):
    """The end of a segment.

    Attributes
    ----------
    final : (n,) final state, without the clock
    by : (n, n + 1 + q) its derivatives by the initial state, by the start time at a fixed end time,
        and by the parameters
    rate : (n,) x' at the end
    """

    final: Floats
    by: Floats
    rate: Floats


class SegmentFlow(ModeFlow):
    """Segments of one system, with derivatives by the initial state and by parameters."""

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

    def derivatives_over(
        self, steps: Floats, sides: Floats, x: Floats, start: float, end: float
    ) -> Floats:
        """Return (n, n) derivatives of the end of recorded steps by the start; NaN if it fails."""
        self.states[:] = self.seeds
        self._enter(x, start, sides)
        self._placed(x, start, sides)
        found = (
            self.states if self._integrated(steps, start, end) else np.full_like(self.seeds, np.nan)
        )
        return np.array(found[:, : self.n])

    def condition(self, sides: Floats, what: int, x: Floats, t: float) -> tuple[float, Floats]:
        """Return an event function of a mode and its (n + 1 + q,) derivatives by x, t and p.

        Parameters
        ----------
        sides : (m,) mode
        what : number of the event function, see `flow.rates.event_values`
        """
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
        """Return the rate of an event function along the orbit, and its (n + 1 + q,) derivatives.

        The derivatives by x, t and p are differences of the rate.

        Parameters
        ----------
        others : for each parameter the flow at a larger value, and the difference of both values
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
        """Return (count, 2 m) event functions inside a segment.

        Where an event function is negative, the segment is not an orbit of its mode.
        """
        found, m = [], self.system.compiled.m
        times = start + (end - start) * (np.arange(count) + 0.5) / count
        for first, last in zip([start, *times[:-1]], times, strict=True):
            x = self.segment(sides, x, float(first), float(last)).final
            full = self.system.full_state(x, float(last))
            self._enter(full, float(last), sides)
            found.append([self._value(what, full, float(last)) for what in range(2 * m)])
        return np.array(found)

    def _in_time(self, by: Floats) -> Floats:
        """Return derivatives by x, t and p: that by t is that by the clock, 0 without a clock."""
        free, n = self.free, self.n
        return np.concatenate([by[:free], [float(by[free:n].sum())], by[n:]])

    def _enter(self, full: Floats, t: float, sides: Floats) -> None:
        """Set the mode, after a test whether surfaces that seemed to be planes are planes."""
        self._check_planes([full])
        self._set_mode(full, t, sides)

    def _rate_of(self, sides: Floats, what: int, full: Floats, t: float) -> float:
        """Return the rate of event function `what` along the orbit."""
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
        """Return the start, projected on its sliding surfaces, and project its derivatives."""
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
    """Return the error for a segment that cannot be computed."""
    needs, why = "segments of positive length", "the orbit consists of segments between events."
    return ModelError("continue_cycle", got, needs, why, "start nearer to the bifurcation.")
