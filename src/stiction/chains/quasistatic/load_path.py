"""A load divided at its extrema into intervals on which it is monotone.

The play operator of a quasistatic chain depends on the extrema of the load only. The load is
f(t) = offset + rate (t - t_j) + sum amplitude sin(w t + phase) on segment j, plus a user's function
(`loads.LoadSegments`). Extrema of lines and sines are roots of the derivative, all of which are
isolated. A user's load is sampled, and its extrema are refined from the samples. The callers are
`quasistatic.run`, `play` and `stepper`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.chains.loads import Load, LoadSegments
from stiction.chains.polynomials import FIT_NODES, derivative, first_fall, fitted
from stiction.errors import ModelError

__all__ = [
    "LoadPath",
    "breakpoints",
    "finite_until",
    "jumps_at",
    "left_value",
    "slope",
]

Floats = npt.NDArray[np.float64]

# fraction of the load by which it may leave the range of neighbouring samples
_MISSED = 1e-4
# difference of the loads before and after a breakpoint, over their size, that is no jump
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class LoadPath:
    """The load on intervals between its extrema.

    Parameters
    ----------
    segments : the load
    time : (m + 1,) start, breakpoints and extrema, end [s]
    first, last : (m,) load [N] at both ends of each interval; they differ from those of adjacent
        intervals where the load jumps
    """

    segments: LoadSegments
    time: Floats
    first: Floats
    last: Floats

    def inverse(self, j: int, level: Floats) -> Floats:
        """Return the times (k,) [s] in interval j at which the load equals `level` (k,) [N]."""
        low = np.full(level.shape, self.time[j])
        high = np.full(level.shape, self.time[j + 1])
        direction = 1.0 if self.last[j] > self.first[j] else -1.0
        span = (self.last[j] - self.first[j]) or 1.0
        t = low + np.clip((level - self.first[j]) / span, 0.0, 1.0) * (high - low)
        if self.segments.amplitude.size == 0 and self.segments.function is None:
            return np.asarray(t)

        def above(t: Floats) -> tuple[Floats, Floats]:
            """Return the load above `level` and its rate, with the sign of the change."""
            rate = slope(self.segments, t, self.step(j))
            return direction * (self.segments.at(t) - level), direction * rate

        return _roots(above, low, high, t)

    def step(self, j: int) -> float:
        """Return the step [s] of differences of a user's load in interval j.

        It suits a load that is smooth on the interval: truncation and rounding are about equal.
        """
        return 1e-5 * float(self.time[j + 1] - self.time[j])

    @staticmethod
    def of(
        load: Load, t_start: float, t_end: float, samples: int, most: int, size: float = 0.0
    ) -> LoadPath:
        """Return the path of `load`; it ends early if there are more than `most` extrema.

        Parameters
        ----------
        t_start, t_end : time span [s]
        samples : number of samples of a user's load between two breakpoints
        size : largest load that moves nothing [N], or 0

        Raises
        ------
        ModelError : for a user's load with extrema that the samples miss.
        """
        segments = load.segments()
        moving = segments.amplitude != 0.0
        fastest = float(np.max(np.abs(segments.angular_frequency[moving]), initial=0.0))
        if fastest * (t_end - t_start) > math.pi * most:
            t_end = t_start + math.pi * most / fastest
        points = breakpoints(segments, t_start, t_end)
        time, first, last = [t_start], [], []
        for a, b in itertools.pairwise(points):
            inner = _turns(segments, float(a), float(b), samples)
            if segments.function is not None:
                _check_samples(segments, inner, (float(a), float(b)), samples, size)
            ends = np.concatenate([[a], inner, [b]])
            values = segments.at(ends)
            values[-1] = left_value(segments, float(b))
            time += ends[1:].tolist()
            first += values[:-1].tolist()
            last += values[1:].tolist()
        return LoadPath(segments, np.array(time), np.array(first), np.array(last))


def finite_until(segments: LoadSegments, t_start: float, t_end: float, samples: int) -> float:
    """Return the time [s] up to which a user's load is finite where it is sampled.

    Between two breakpoints it is sampled `samples` times; the last time before the first NaN or
    infinity is located by bisection.
    """
    if segments.function is None:
        return t_end
    points = breakpoints(segments, t_start, t_end)
    times = [np.linspace(a, b, samples + 1) for a, b in itertools.pairwise(points)]
    t = np.unique(np.concatenate(times))
    finite = np.isfinite(segments.at(t))
    if finite.all():
        return t_end
    bad = int(np.argmin(finite))
    low, high = float(t[max(bad - 1, 0)]), float(t[bad])
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if np.isfinite(segments.at(middle)) else (low, middle)
    return low


def breakpoints(segments: LoadSegments, t_start: float, t_end: float) -> Floats:
    """Return the start, the breakpoints strictly inside, and the end [s]."""
    inside = segments.time[(segments.time > t_start) & (segments.time < t_end)]
    return np.concatenate([[t_start], inside, [t_end]])


def left_value(segments: LoadSegments, t: float) -> float:
    """Return the load [N] just before `t`: it may jump at a breakpoint."""
    if segments.function is not None:
        return float(segments.at(np.nextafter(t, -np.inf)))
    value = float(segments.at(t))
    for j in np.flatnonzero(segments.time[1:] == t):
        rise = float(segments.rate[j] * (t - segments.time[j]))
        before, after = float(segments.offset[j]), float(segments.offset[j + 1])
        jump = after - (before + rise)
        # a difference of rounding is no jump
        if abs(jump) > _ROUNDING * (abs(before) + abs(rise) + abs(after)):
            return value - jump
    return value


def jumps_at(segments: LoadSegments, t: float, scale: float) -> bool:
    """Return whether the load jumps at `t` by more than 1e-9 of `scale` [N].

    The bound was chosen: a smaller jump changes forces by less than events resolve. A change that
    the step before repeats is no jump: late in time, a user's load changes by more from one number
    to the next.
    """
    left, change = left_value(segments, t), 0.0
    if segments.function is not None:
        change = left - left_value(segments, float(np.nextafter(t, -np.inf)))
    return abs(float(segments.at(t)) - left) > 1e-9 * scale + 4.0 * abs(change)


def slope(
    segments: LoadSegments, t: npt.ArrayLike, step: npt.ArrayLike, *, left: bool = False
) -> Floats:
    """Return the rate of the load [N/s] at times t; from the left if asked.

    Parameters
    ----------
    step : a user's load is differenced over one and two of these steps [s], to that side alone
    """
    t = np.asarray(t, dtype=np.float64)
    at = np.searchsorted(segments.time, t, side="left" if left else "right")
    j = np.maximum(at - 1, 0)
    rate = segments.rate[j]
    sines = zip(segments.amplitude, segments.angular_frequency, segments.phase, strict=True)
    for a, w, p in sines:
        rate = rate + a * w * np.cos(w * t + p)
    if segments.function is not None:
        # the user's function alone, by a one-sided difference of second order
        own = dataclasses.replace(
            segments,
            offset=0.0 * segments.offset,
            rate=0.0 * segments.rate,
            amplitude=np.empty(0),
            angular_frequency=np.empty(0),
            phase=np.empty(0),
        )
        # at least some roundings of the time, and exactly the differences of the points taken
        h = np.maximum(step, 64.0 * np.spacing(np.abs(t))) * (-1.0 if left else 1.0)
        base = np.nextafter(t, -np.inf) if left else t
        points = base, base + h, base + 2.0 * h
        h1, h2 = points[1] - base, points[2] - base
        f0, f1, f2 = map(own.at, points)
        rate = rate + ((f1 - f0) * h2 / h1 - (f2 - f0) * h1 / h2) / (h2 - h1)
    return np.asarray(rate)


# ---- extrema


def _turns(segments: LoadSegments, a: float, b: float, samples: int) -> Floats:
    """Return the times of extrema of the load strictly between the breakpoints a and b [s].

    They are roots of f'(t) = rate + sum amplitude w cos(w t + phase), with a change of sign.
    """
    if segments.function is not None:
        return _sampled_turns(segments, a, b, samples)
    frequency, swing = segments.angular_frequency, segments.amplitude
    moving = (frequency != 0.0) & (swing != 0.0)
    if not moving.any():
        return np.empty(0)
    j = max(int(np.searchsorted(segments.time, a, side="right")) - 1, 0)
    rate = float(segments.rate[j])
    phase = segments.phase[moving]
    w, speed = frequency[moving], swing[moving] * frequency[moving]
    if w.size == 1:
        return _one_sine(rate, float(speed[0]), float(w[0]), float(phase[0]), a, b)
    return _many_sines(rate, speed, w, phase, a, b)


def _one_sine(rate: float, speed: float, w: float, phase: float, a: float, b: float) -> Floats:
    """Return the roots of rate + speed cos(w t + phase) in (a, b)."""
    cosine = -rate / speed
    if abs(cosine) >= 1.0:
        return np.empty(0)
    angle = math.acos(cosine)
    ends = sorted((w * a + phase, w * b + phase))
    turns = np.arange(math.floor(ends[0] / (2 * math.pi)) - 1, ends[1] / (2 * math.pi) + 1)
    angles = np.concatenate([turns * 2 * math.pi + angle, turns * 2 * math.pi - angle])
    t = np.sort((angles - phase) / w)
    return np.asarray(t[(t > a) & (t < b)])


def _many_sines(rate: float, speed: Floats, w: Floats, phase: Floats, a: float, b: float) -> Floats:
    """Return all roots of rate + sum speed cos(w t + phase) in (a, b) with a change of sign.

    `speed`, w and `phase` have one entry per sine. The interval is divided into cells. A bound of
    the slope excludes cells without a root; a cell on which the slope has one sign holds at most
    one root; other cells are halved. Roots without a change of sign are not extrema.
    """

    def f(t: npt.ArrayLike, order: int) -> Floats:
        shift = phase + 0.5 * np.pi * order
        terms = speed * w**order * np.cos(np.multiply.outer(t, w) + shift)
        return np.asarray(terms.sum(axis=-1) + (rate if order == 0 else 0.0))

    steep, curved = (float(np.abs(speed * w**p).sum()) for p in (1, 2))
    count = max(1, math.ceil((b - a) * float(np.abs(w).max())))
    width = (b - a) / count
    middle = a + width * (np.arange(count) + 0.5)
    # cells by their middles; `single` collects those with at most one root, and their widths
    single: list[Floats] = []
    # until a cell is as short as the rounding of its time
    while middle.size and width > 1e-15 * max(abs(a), abs(b), b - a):
        middle = middle[np.abs(f(middle, 0)) <= 0.5 * width * steep]
        monotone = np.abs(f(middle, 1)) > 0.5 * width * curved
        single.append(np.stack([middle[monotone], np.full(monotone.sum(), width)]))
        width *= 0.5
        undecided = middle[~monotone]
        middle = np.concatenate([undecided - 0.5 * width, undecided + 0.5 * width])
    # of these the cells with a change of sign hold a root each
    cells: Floats = np.concatenate([np.empty((2, 0)), *single], axis=1)
    low, high = cells[0] - 0.5 * cells[1], cells[0] + 0.5 * cells[1]
    at_low, at_high = f(low, 0), f(high, 0)
    crossing = (at_low < 0.0) != (at_high < 0.0)
    low, high, rising = low[crossing], high[crossing], at_high[crossing] >= 0.0
    sign = np.where(rising, 1.0, -1.0)
    t = _roots(lambda t: (sign * f(t, 0), sign * f(t, 1)), low, high, 0.5 * (low + high))
    t = np.unique(t)
    return np.asarray(t[(t > a) & (t < b)])


def _roots(
    rising: Callable[[Floats], tuple[Floats, Floats]], low: Floats, high: Floats, t: Floats
) -> Floats:
    """Return the root in each bracket, by Newton's method safeguarded by bisection.

    Parameters
    ----------
    rising : t -> values, which rise through zero, and their rates
    low, high, t : (m,) brackets and first guesses [s]
    """
    # bisection alone takes 53 steps to rounding; Newton's method ends earlier
    for _ in range(100):
        value, grade = rising(t)
        low, high = np.where(value < 0.0, t, low), np.where(value < 0.0, high, t)
        new = t - np.divide(value, grade, out=np.full_like(t, np.inf), where=grade > 0.0)
        new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
        done = np.abs(new - t) <= 2e-16 * np.abs(t)
        t = new
        if done.all():
            break
    return np.asarray(t)


def _sampled_turns(segments: LoadSegments, a: float, b: float, samples: int) -> Floats:
    """Return the times of extrema of a user's load strictly between a and b, from samples."""
    t = np.linspace(a, b, samples + 1)
    f = segments.at(t)
    f[-1] = left_value(segments, b)
    direction = np.sign(np.diff(f))
    # constant samples take the sign before them, so that an extremum is counted once
    for k in range(1, direction.size):
        if direction[k] == 0.0:
            direction[k] = direction[k - 1]
    turns = []
    for k in (np.flatnonzero(direction[1:] * direction[:-1] < 0.0) + 1).tolist():
        # between the samples around an extremum the load is close to a polynomial
        low, width = float(t[k - 1]), float(t[k + 1] - t[k - 1])
        through = fitted(np.array([float(segments.at(low + width * s)) for s in FIT_NODES]))
        cosine, _ = first_fall(direction[k - 1] * derivative(through)[None, :])
        turns.append(low + width * cosine if cosine <= 1.0 else float(t[k]))
    return np.array(turns)


def _check_samples(
    segments: LoadSegments, turns: Floats, ends: tuple[float, float], samples: int, size: float
) -> None:
    """Raise ModelError if a user's load leaves, between two samples, the range of its values there.

    Parameters
    ----------
    turns : its extrema strictly between the `ends` [s]
    size : as in `LoadPath.of`
    """
    t = np.union1d(np.linspace(*ends, samples + 1), turns)
    f = segments.at(t)
    f[-1] = left_value(segments, ends[1])
    # at irregular places, lest a periodic load hides there as well
    place = 0.2 + 0.6 * np.mod(0.618034 * np.arange(1, t.size), 1.0)
    between = segments.at(t[:-1] + place * np.diff(t))
    low, high = np.minimum(f[:-1], f[1:]), np.maximum(f[:-1], f[1:])
    excess = np.maximum(low - between, between - high)
    worst = int(np.argmax(excess))
    # chosen: far above the errors of extrema, which are of second order in their time
    if excess[worst] > _MISSED * max(size, float(np.max(np.abs(f)))):
        raise ModelError(
            "UserLoad.function",
            f"a load that turns or has a kink between two of {samples} samples, "
            f"near t = {t[worst]:.9g} s",
            "at most one extremum between neighbouring samples, smooth between the breakpoints",
            "the motion depends on all extrema of the load.",
            "raise Quasistatic(load_samples=...), or name kinks and jumps in UserLoad.breakpoints.",
        )
