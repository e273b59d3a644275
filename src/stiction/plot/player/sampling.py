"""Interpolate saved states at the times of frames: cubic Hermite, linear, or constant.

The modules `player` of the systems' `figures` call these functions. Shapes: f frames, k knots
(times of saved samples and of events), then any axes of the state.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.plot.player.movie import RED, Mark, Movie, View
from stiction.plot.run_data import window_of
from stiction.plot.style import few

__all__ = [
    "between", "frame_times", "held", "hermite", "marks_of", "run_movie", "slopes", "unit_of",
]  # fmt: skip

Floats = npt.NDArray[np.float64]

_MOST_EXACT = 1000  # events that get a frame of their own
_MOST_MARKS = 2000
_FITS = 0.5  # Hermite: bound on |mean rate - rise| over the largest of rise and rates


def frame_times(run: Run, count: int, window: tuple[float, float] | None = None) -> Floats:
    """Return (f,) times of frames: evenly spaced, and those of up to 1000 events.

    Parameters
    ----------
    window : begin and end; default those of the run, as long as it is finite

    Raises
    ------
    ModelError : if the window is not two rising times inside the run.

    Verified by: tests/unit/plot/player/test_sampling.py::test_events_have_frames_of_their_own
    """
    begin, end = float(run.time[0]), _valid_end(run)
    if window is not None:
        begin, end = window_of("animate.window", window, run)
    even = np.linspace(begin, end, max(2, count))
    events = np.unique(run.event_log.time)
    events = events[(events > begin) & (events < end)]
    if events.size <= _MOST_EXACT:
        even = np.unique(np.concatenate([even, events]))
    return even


def _valid_end(run: Run) -> float:
    """Return the last saved time before a variable is infinite."""
    last = run.time.size - 1
    for variable in run.variables.values():
        values = variable.values
        if variable.dims[:1] == ("time",) and values.dtype.kind == "f" and values.size:
            blown = np.isinf(values).reshape(run.time.size, -1).any(axis=1)
            if blown.any():
                last = min(last, max(int(np.argmax(blown)) - 1, 0))
    return float(run.time[last])


def _interval(time: Floats, knots: Floats) -> tuple[Any, Floats, Floats]:
    """Return (f,) the index of the knot before each time, the length, and the elapsed fraction."""
    at = np.clip(np.searchsorted(knots, time, side="right") - 1, 0, max(knots.size - 2, 0))
    length = knots[np.minimum(at + 1, knots.size - 1)] - knots[at]
    fraction = np.where(length > 0.0, (time - knots[at]) / np.where(length > 0.0, length, 1.0), 0.0)
    return at, length, np.clip(fraction, 0.0, 1.0)


@np.errstate(invalid="ignore", over="ignore")
def between(time: Floats, knots: Floats, values: Floats) -> Floats:
    """Return (f, ...) values (k, ...) at times (k,) `knots`, interpolated linearly at `time`."""
    at, _, fraction = _interval(time, knots)
    last = np.minimum(at + 1, knots.size - 1)
    s = fraction.reshape(-1, *[1] * (values.ndim - 1))
    # a NaN at one end must not spoil the value at the other end
    return np.asarray(np.where(s > 0.0, values[at] * (1.0 - s) + values[last] * s, values[at]))


@np.errstate(invalid="ignore", over="ignore")
def hermite(time: Floats, knots: Floats, values: Floats, rates: Floats) -> Floats:
    """Return `between` with cubic Hermite polynomials, from values and `rates` (k, ...).

    The polynomial is the linear interpolant plus s (1 - s) ((1 - s) (h v0 - d) + s (d - h v1)),
    with the elapsed fraction s, the length h, the rise d and the rates v0, v1 at both ends of the
    interval. An interval is interpolated linearly if its rates disagree with its two values, for
    example where the velocity jumps between the two samples.

    Verified by: tests/unit/plot/player/test_sampling.py::test_cubics_are_of_fourth_order
    """
    if knots.size < 2:
        return between(time, knots, values)
    at, length, fraction = _interval(time, knots)
    shape = (-1, *[1] * (values.ndim - 1))
    s, h = fraction.reshape(shape), length.reshape(shape)
    rise, first, last = values[at + 1] - values[at], h * rates[at], h * rates[at + 1]
    bend = s * (1.0 - s) * ((1.0 - s) * (first - rise) + s * (rise - last))
    largest = np.maximum(np.maximum(np.abs(first), np.abs(last)), np.abs(rise))
    fits = np.abs(0.5 * (first + last) - rise) <= _FITS * largest
    return np.asarray(between(time, knots, values) + np.where(fits & np.isfinite(bend), bend, 0.0))


def slopes(knots: Floats, values: Floats, breaks: Floats) -> Floats:
    """Return (k, ...) rates of values by finite differences that do not cross a break.

    Parameters
    ----------
    breaks : times of events, each a knot, where rates may jump; its rate is that after the jump
    """
    rates = np.zeros_like(values)
    inner = np.searchsorted(knots, np.unique(breaks))
    edges = np.unique(np.concatenate([[0], inner[inner < knots.size], [knots.size - 1]]))
    for begin, end in itertools.pairwise(edges):
        part = slice(begin, end + 1)
        # of two samples at one time the later one is used
        order: Any = 2 if end - begin > 1 else 1
        rates[part] = np.gradient(values[part], knots[part], axis=0, edge_order=order)
    return rates


def held(time: Floats, knots: Floats, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return (f, ...) the last saved value at each time (zero-order hold)."""
    return values[np.clip(np.searchsorted(knots, time, side="right") - 1, 0, None)]


def marks_of(run: Run, time: Floats) -> list[Mark]:
    """Return the events within the times of the frames, at most 2000, and losses of determinism."""
    log = run.event_log
    (inside,) = np.nonzero((time[0] <= log.time) & (log.time <= time[-1]))
    rows = inside[few(inside.size, _MOST_MARKS)]
    marks = [Mark(float(log.time[k]), _words(log, int(k))) for k in rows]
    marks += [
        Mark(float(loss.time), f"determinism lost: {loss.kind}", RED)
        for loss in run.determinism.losses
        if time[0] <= loss.time <= time[-1]
    ]
    return sorted(marks, key=lambda mark: mark.time)


def run_movie(run: Run, time: Floats, views: Sequence[View], notes: str, **more: Any) -> Movie:
    """Return the movie of a run: named by its system, with its unit of time and its events.

    Parameters
    ----------
    more : further fields of a `Movie`
    """
    # the name of a class as words: StrikeSlipFault, CapSliding3D
    words = re.findall(r"[A-Z0-9]+(?:[a-z]+|(?=[A-Z]|$))|[a-z]+", run.system_name)
    title = " ".join(word if word.isupper() else word.lower() for word in words)
    title = title[:1].upper() + title[1:]
    if len(views) == 1:
        title += f": {views[0].title}"
    return Movie(title, notes, time, unit_of(run), views, marks_of(run, time), **more)


def _words(log: Any, k: int) -> str:
    """Return event `k` of an event log in words: kind, contact, modes before and after."""
    where = f" at {log.contact[k]}" if log.contact[k] > 0 else ""
    change = f": {log.before[k]} → {log.after[k]}" if log.before[k] != log.after[k] else ""
    return f"{log.kind[k]}{where}{change}"


def unit_of(run: Run) -> str:
    """Return the unit of time of a run, "" for none."""
    return "" if run.time_unit == "1" else run.time_unit
