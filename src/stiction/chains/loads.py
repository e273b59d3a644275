"""Load functions of time f(t) [N] that act on a chain through its load vector.

A load is a straight line plus sines on each segment between breakpoints (`LoadSegments`); a user's
function is added to these. Methods read the segments, so that the load contributes no
discretisation error to runs with constant friction.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Declared, Finite, Parts
from stiction.errors import ModelError
from stiction.numerics.checks import shape_of

__all__ = [
    "Constant",
    "Load",
    "LoadSegments",
    "PiecewiseLinear",
    "Ramp",
    "Sine",
    "SumOf",
    "UserLoad",
    "check_load",
]

Floats = npt.NDArray[np.float64]

_WHY, _TRY = "an infinite or undefined load leaves no finite motion.", "give a finite number."
_WHY_POINTS = "the load is linear between these points."
_TRY_POINTS = "give `time` and `value` as lists of equal length, with rising times."
_PARTS = Parts(
    "a sum needs at least one load; Constant(0) is a load of zero.",
    "for example SumOf([Constant(2.0), Ramp(0.1)]).",
    "a list of loads, at least one",
    least=1,
)
_BREAKPOINTS = Finite(
    "s",
    "the load is assumed smooth between these times.",
    "give a list of times, for example [1.0, 2.5].",
    per="jump",
)
_EMPTY = np.empty(0)


@dataclass(frozen=True, eq=False)
class LoadSegments:
    """A load between breakpoints: offset[j] + rate[j] (t - time[j]) + sum of sines.

    Parameters
    ----------
    time : (n_segment,) start of each segment [s]; the first extends to all earlier times
    offset, rate : (n_segment,) value [N] and slope [N/s] of the linear part, which may jump
    amplitude, angular_frequency, phase : (n_sine,) the sines, on all segments
    function : a user's load, which is added; None without one
    """

    time: Floats
    offset: Floats
    rate: Floats
    amplitude: Floats
    angular_frequency: Floats
    phase: Floats
    function: Callable[[float], float] | None = None

    @property
    def linear_part(self) -> LoadSegments:
        """The load without sines and without the user's function."""
        return LoadSegments(self.time, self.offset, self.rate, _EMPTY, _EMPTY, _EMPTY)

    def at(self, t: npt.ArrayLike) -> Floats:
        """Return the load [N] at times `t` [s]."""
        t = np.asarray(t, dtype=np.float64)
        j = np.maximum(np.searchsorted(self.time, t, side="right") - 1, 0)
        f = self.offset[j] + self.rate[j] * (t - self.time[j])
        for a, w, p in zip(self.amplitude, self.angular_frequency, self.phase, strict=True):
            f = f + a * np.sin(w * t + p)
        if self.function is not None:
            own = np.array([float(self.function(float(s))) for s in t.ravel()])
            f = f + own.reshape(t.shape)
        return np.asarray(f)


class Load(Declared, abc.ABC):
    """A force that depends on time alone.

    Examples
    --------
    >>> import stiction as st
    >>> class Twice(st.chains.Load):
    ...     def __init__(self, load):
    ...         self.load = load
    ...     def segments(self):
    ...         return st.chains.SumOf([self.load, self.load]).segments()
    >>> Twice(st.Ramp(rate=1.5)).at([0.0, 2.0]).tolist()
    [0.0, 6.0]
    """

    @abc.abstractmethod
    def segments(self) -> LoadSegments:
        """Return the load as linear segments and sines."""

    def at(self, t: npt.ArrayLike) -> Floats:
        """Return the load [N] at times `t` [s]."""
        return self.segments().at(t)

    def bounds_after(self, t: float) -> tuple[float, float]:
        """Return a lower and an upper bound [N] of the load from time `t` [s] on.

        A user's load has no known bounds: (-inf, inf). With several sines the bounds are not sharp.
        """
        segments = self.segments()
        if segments.function is not None:
            return -np.inf, np.inf
        time, offset, rate = segments.time, segments.offset, segments.rate
        values = segments.linear_part.at(np.append(time[time > t], t))
        # the load may jump at the end of a segment
        at_ends = (offset[:-1] + rate[:-1] * (time[1:] - time[:-1]))[time[1:] > t]
        values = np.concatenate([values, at_ends])
        swing = float(np.abs(segments.amplitude).sum())
        low = -np.inf if rate[-1] < 0.0 else float(values.min()) - swing
        high = np.inf if rate[-1] > 0.0 else float(values.max()) + swing
        return low, high


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Load):
    """The same force at all times.

    Parameters
    ----------
    value : force [N]
    """

    value: Annotated[float, Finite("N", _WHY, _TRY)]

    def segments(self) -> LoadSegments:
        """Return one constant segment."""
        return _line(self.value, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Ramp(Load):
    """A force that grows from `start` at t = 0 at a constant rate.

    Parameters
    ----------
    rate : [N/s]
    start : force at t = 0 [N]
    """

    rate: Annotated[float, Finite("N/s", _WHY, _TRY)]
    start: Annotated[float, Finite("N", _WHY, _TRY)] = 0.0

    def segments(self) -> LoadSegments:
        """Return one linear segment."""
        return _line(self.start, self.rate)


@dataclass(frozen=True, eq=False, repr=False)
class Sine(Load):
    """amplitude sin(angular_frequency t + phase).

    Parameters
    ----------
    amplitude : [N]
    angular_frequency : [rad/s]
    phase : [rad]
    """

    amplitude: Annotated[float, Finite("N", _WHY, _TRY)]
    angular_frequency: Annotated[float, Finite("rad/s", _WHY, _TRY)]
    phase: Annotated[float, Finite("rad", _WHY, _TRY)] = 0.0

    def segments(self) -> LoadSegments:
        """Return a zero segment and the sine."""
        return LoadSegments(
            np.zeros(1),
            np.zeros(1),
            np.zeros(1),
            np.array([self.amplitude]),
            np.array([self.angular_frequency]),
            np.array([self.phase]),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PiecewiseLinear(Load):
    """Straight lines between given points; constant before the first and after the last.

    Parameters
    ----------
    time : (n_point,) times [s], rising
    value : (n_point,) forces [N] at these times
    """

    time: Annotated[Sequence[float] | Floats, Finite("s", _WHY_POINTS, _TRY_POINTS, per="point")]
    value: Annotated[Sequence[float] | Floats, Finite("N", _WHY_POINTS, _TRY_POINTS, per="value")]

    @property
    def lengths(self) -> dict[str, int]:
        """The lengths that fields must have: as many values as times."""
        return {"value": math.prod(shape_of(self.time))}

    def __post_init__(self) -> None:
        super().__post_init__()
        time, value = np.asarray(self.time), np.asarray(self.value)
        if time.size > 1 and not (np.diff(time) > 0.0).all():
            raise ModelError(
                "PiecewiseLinear.time",
                time.tolist() if time.size < 9 else f"{time.size} times that do not increase",
                "times [s] that increase strictly",
                "a load has one value at each time.",
                "sort the points; for a jump use two times that differ a little.",
            )
        with np.errstate(over="ignore"):
            steep = np.abs(np.diff(value) / np.diff(time)) if time.size > 1 else np.zeros(1)
        if not np.isfinite(steep).all():
            raise ModelError(
                "PiecewiseLinear.time",
                "points so close that the slope between them is infinite",
                "finite slopes [N/s]",
                "the load is linear between these points.",
                "move the points apart.",
            )

    def segments(self) -> LoadSegments:
        """Return one segment per interval, with constant segments before and after."""
        time, value = np.asarray(self.time), np.asarray(self.value)
        start = np.concatenate([[min(0.0, time[0]) - 1.0], time])
        rate = np.concatenate([[0.0], np.diff(value) / np.diff(time), [0.0]])
        offset = np.concatenate([value[:1], value])
        return LoadSegments(start, offset, rate, _EMPTY, _EMPTY, _EMPTY)


@dataclass(frozen=True, eq=False, repr=False)
class SumOf(Load):
    """The sum of several loads.

    Parameters
    ----------
    parts : the loads; at least one
    """

    parts: Annotated[Sequence[Load], _PARTS]

    def segments(self) -> LoadSegments:
        """Return the segments of the sum: a breakpoint wherever a part has one."""
        parts = [part.segments() for part in self.parts]
        # at each breakpoint of the sum: values and rates of all parts just after it
        time = np.unique(np.concatenate([p.time for p in parts]))
        offset, rate = np.zeros(time.size), np.zeros(time.size)
        for p in parts:
            j = np.maximum(np.searchsorted(p.time, time, side="right") - 1, 0)
            offset += p.offset[j] + p.rate[j] * (time - p.time[j])
            rate += p.rate[j]
        own = [p.function for p in parts if p.function is not None]

        def total(t: float) -> float:
            # a loop, because Numba cannot compile a generator here under Python 3.13
            found = 0.0
            for f in own:
                found += float(f(t))
            return found

        return LoadSegments(
            time,
            offset,
            rate,
            np.concatenate([p.amplitude for p in parts]),
            np.concatenate([p.angular_frequency for p in parts]),
            np.concatenate([p.phase for p in parts]),
            total if len(own) > 1 else next(iter(own), None),
        )


@dataclass(frozen=True, eq=False, repr=False)
class UserLoad(Load):
    """A user's own force f(t).

    Parameters
    ----------
    function : takes a time [s], returns a force [N]; smooth between the breakpoints, finite at 0
    breakpoints : times [s] at which it, or a derivative, jumps; at a jump the value after
        it counts
    """

    function: Callable[[float], float]
    breakpoints: Annotated[Sequence[float], _BREAKPOINTS] = ()

    def __post_init__(self) -> None:
        reason: BaseException | None = None
        try:
            probe = float(self.function(0.0))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            probe, reason = np.nan, error
        if not np.isfinite(probe):
            raise ModelError(
                "UserLoad.function",
                f"{self.function!r} with value {probe} at t = 0",
                "a function of time [s] that returns a finite force [N]",
                "an infinite force leaves no finite motion.",
                "for example UserLoad(lambda t: 2.0 * t * t).",
            ) from reason
        if shape_of(self.breakpoints) != (0,):
            super().__post_init__()
            object.__setattr__(self, "breakpoints", tuple(np.sort(self.breakpoints).tolist()))

    def segments(self) -> LoadSegments:
        """Return zero segments between the breakpoints, and the function."""
        # the first segment starts before all breakpoints
        time = np.unique(np.array([min([0.0, *self.breakpoints]) - 1.0, *self.breakpoints]))
        zero = np.zeros(time.size)
        return LoadSegments(time, zero, zero, _EMPTY, _EMPTY, _EMPTY, self.function)


def check_load(load: Load, t: float) -> None:
    """Raise ModelError for a load that is not finite at the start of a run.

    Parameters
    ----------
    t : start [s]

    Raises
    ------
    ModelError : with the value.
    """
    value = float(load.at(t))
    if not np.isfinite(value):
        raise ModelError(
            type(load).__name__,
            f"{value} N at the start, t = {t:.9g} s",
            "a finite force [N]",
            "an infinite or undefined load leaves no finite motion.",
            "let the run start where the load is finite.",
        )


def _line(offset: float, rate: float) -> LoadSegments:
    return LoadSegments(np.zeros(1), np.array([offset]), np.array([rate]), _EMPTY, _EMPTY, _EMPTY)
