"""The movie of a flow: its path in state space, and the machine if `machines` has a picture.

The states at the f frames are interpolated between k knots, the saved states and the events, by
cubic Hermite polynomials between events. Modes are constant between knots.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import between, held, hermite, run_movie, slopes
from stiction.switching.figures.data import FlowData, symbol
from stiction.switching.figures.machines import belt, wheel

__all__ = ["FlowFrames", "movie_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# colours of h < 0, sliding, h > 0
COLOURS = np.array([m.ORANGE, m.GREEN, m.BLUE])
_SLIDE = 0
_MOST_POINTS = 6000  # of the trail


@dataclass(frozen=True, eq=False)
class FlowFrames:
    """States and modes of a flow at the frames, interpolated between saved states and events.

    Parameters
    ----------
    data : data of the run
    time : (f,) times of the frames

    Verified by: tests/unit/switching/figures/test_player.py::test_frames_are_the_saved_states
    """

    data: FlowData
    time: Floats

    @functools.cached_property
    def _knot_samples(self) -> tuple[Floats, Ints, Ints]:
        """Times of saved states and events in order, the sample of each, and its kind."""
        log = self.data.run.event_log
        inside = np.flatnonzero((log.time >= self.data.time[0]) & (log.time <= self.data.time[-1]))
        time = np.concatenate([self.data.time, log.time[inside]])
        sample = np.concatenate([np.arange(self.data.time.size), inside])
        event = np.concatenate([np.zeros(self.data.time.size), np.ones(inside.size)])
        # of several samples at one time the last is taken
        order = np.lexsort((event, time))
        last = np.append(np.diff(time[order]) > 0.0, True)
        order = order[last]
        return time[order], sample[order], event[order].astype(np.int64)

    @property
    def knots(self) -> Floats:
        """(k,) times of known states: saved ones and events."""
        return self._knot_samples[0]

    @functools.lru_cache(maxsize=16)  # noqa: B019 - a movie is short-lived
    def known(self, name: str) -> Floats:
        """Return (k,) a state at the knots."""
        _, sample, event = self._knot_samples
        saved = self.data.state(name)
        log = self.data.run.event_log
        after = np.asarray(log.columns.get(f"{name}_after", log.columns.get(name, np.zeros(0))))
        if not after.size:
            return np.interp(self.knots, self.data.time, saved)
        return np.where(
            event == 1,
            after[np.where(event == 1, sample, 0)],
            saved[np.where(event == 1, 0, sample)],
        )

    def state(self, name: str) -> Floats:
        """Return (f,) a state at the frames, by cubic interpolation between events."""
        known, breaks = self.known(name), self.data.run.event_log.time
        return hermite(self.time, self.knots, known, slopes(self.knots, known, breaks))

    def variable(self, name: str) -> Floats:
        """Return (f,) a saved variable, by linear interpolation."""
        return between(self.time, self.data.time, self.data.state(name))

    @functools.cached_property
    def modes(self) -> Ints:
        """(k, m) modes at the knots, after the events."""
        mode = held(self.knots, self.data.time, self.data.mode).astype(np.int64)
        for i in range(self.data.n_surface):
            times, entered = self.data.mode_changes(i)
            mode[:, i] = held(self.knots, times, entered)
        return mode

    def mode(self, surface: int | None = None) -> Ints:
        """Return (f,) the mode of a surface; by default sliding where any surface slides."""
        return np.asarray(held(self.time, self.knots, self._one(surface)))

    def _one(self, surface: int | None = None) -> Ints:
        """Return (k,) the mode of a surface at the knots; None: sliding where any one slides."""
        if surface is not None:
            return np.asarray(self.modes[:, surface])
        slides = (self.modes == _SLIDE).any(axis=1)
        return np.where(slides, _SLIDE, self.modes[:, 0])

    @property
    def one_mode(self) -> Ints:
        """(k,) the mode at the knots."""
        return self._one()


def movie_of(data: FlowData, time: Floats) -> m.Movie:
    """Return the movie of a flow with frames at these times."""
    frames = FlowFrames(data, time)
    views = [_space(frames)]
    for picture in _MACHINES:
        view = picture(frames)
        if view is not None:
            views.append(view)
    readings = [m.Reading(symbol(n), data.unit(n), frames.state(n)) for n in data.names[:4]]
    present = set(frames.one_mode.tolist())
    words = {1: "h > 0", 0: "slides or sticks", -1: "h < 0"}
    return run_movie(
        data.run,
        time,
        views,
        _notes(data),
        readings=readings,
        keys=[(int(COLOURS[mode + 1]), words[mode]) for mode in (1, 0, -1) if mode in present]
        + ([(m.RED, "determinism lost")] if data.losses else []),
        strip=COLOURS[np.stack([frames.mode(i) for i in range(data.n_surface)], axis=1) + 1],
    )


_MACHINES: tuple[Callable[[FlowFrames], m.View | None], ...] = (wheel, belt)


def _notes(data: FlowData) -> str:
    """Return the text below the movie."""
    words = ["the path is drawn through saved states and events, of very long runs the last"]
    if data.run.time_unit == "1":
        words.append(f"t is {data.time_word}")
    return "; ".join(words)


def _space(frames: FlowFrames) -> m.View:
    """Return the path in the space of the first two or three states."""
    data = frames.data
    names = data.names[:3]
    states = [frames.known(name) for name in names]
    shown = [frames.state(name) for name in names]
    labels = [f"{symbol(n)} ({data.unit(n)})" if data.unit(n) else symbol(n) for n in names]
    if len(names) == 1:
        states, shown = [frames.knots, *states], [frames.time, *shown]
        labels = [data.time_word, *labels]
    points = np.column_stack(states)
    thinned = style.along(frames.one_mode, points.T, _MOST_POINTS)
    colour = COLOURS[frames.one_mode + 1]
    passed = np.searchsorted(frames.knots[thinned], frames.time, side="right")
    layers: list[m.Layer] = [m.Trail(points[thinned], passed, colour[thinned])]
    lost = [time for time, _ in data.losses]
    if lost:
        at = np.searchsorted(frames.knots, lost).clip(0, frames.knots.size - 1)
        layers.append(m.Dots(points[None, at], np.full((1, at.size), m.RED), size=5.0))
    layers.append(
        m.Dots(np.column_stack(shown)[:, None, :], COLOURS[frames.mode() + 1][:, None], 6.0)
    )
    low, high = points.min(axis=0), points.max(axis=0)
    spare = np.where(high > low, 0.05 * (high - low), np.maximum(0.05 * np.abs(high), 1e-12))
    title = "the path in the space of the states" if len(labels) > 2 else "the path"
    return m.View(title, layers, low - spare, high + spare, tuple(labels), equal=False, height=0.72)
