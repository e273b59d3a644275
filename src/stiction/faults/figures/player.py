"""Movies: slip and speed along a fault; the block of a spring slider and its cycle.

Arrays of a movie have f frames first. `between(time, knots, values)` interpolates linearly in time.
The trace of a run has samples of the fastest cell, the cell of the largest slip speed.
`figures.FaultFigures.movie` calls `movie_of`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.core.run import Run
from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import between, run_movie

__all__ = ["is_depth", "movie_of", "times_of"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_FAST = 1e-3  # speed from which a cell ruptures if the method of a run is not known [m/s]
# largest numbers of drawn cells, of stripes under the movie, and of points of a trail
_MOST_CELLS = 200
_MOST_STRIPES = 40
_MOST_TRAIL = 4000
_YEAR = 365.25 * 86400.0  # [s]


def times_of(run: Run, count: int) -> Floats:
    """Return (f,) times of about `count` frames [s]: saved states, or the trace of a slider.

    Centuries of creep alternate with ruptures of seconds: frames are not equally spaced in time.
    """
    if _cells(run) > 1:
        known = np.union1d(
            run.time, _values(run, "event_time") if _has_profiles(run) else run.time[:0]
        )
    else:
        known = np.union1d(_values(run, "trace_time"), run.event_log.time)
        known = known[known <= run.t_end]
    if known.size > count:
        picked = style.few(known.size, count)
        known = np.union1d(known[picked], np.intersect1d(known, run.event_log.time))
    return np.asarray(known)


def movie_of(run: Run, time: Floats) -> m.Movie:
    """Return the movie of a fault with frames at these times [s].

    Verified by: tests/unit/faults/test_player.py::test_frames_are_the_saved_slip
    """
    speed = _fastest(run, time)
    if _cells(run) > 1:
        fast = _fast(run, time)
        views = [_along(run, time, fast)]
        # the first cell on top, as in the view
        fast = fast[:, style.few(fast.shape[1], _MOST_STRIPES)[::-1]]
    else:
        fast = speed[:, None] > np.log10(_seismic(run))
        views = [_block(run, time, fast[:, 0]), _cycle(run, time, speed)]
    return run_movie(
        run,
        time,
        views,
        "frames are computed states, which are not equally spaced in time; the logarithm of "
        "the speed is interpolated linearly",
        readings=[
            *([m.Reading("time", "years", time / _YEAR)] if time[-1] > 2.0 * _YEAR else []),
            m.Reading("log₁₀ of the largest speed in m/s:", "", speed),
        ],
        keys=[(m.ORANGE, "ruptures"), (m.BLUE, "creeps or rests")],
        strip=np.where(fast, m.ORANGE, m.BLUE),
        even=True,
    )


def is_depth(run: Run) -> bool:
    """Return whether distances along the fault are depths below a free surface."""
    return run.variables["place"].meaning.startswith("depth")


def _values(run: Run, name: str) -> Floats:
    """Return a variable of the run as floats."""
    return np.asarray(run.variables[name].values, dtype=np.float64)


def _has_profiles(run: Run) -> bool:
    """Return whether the run has slip profiles at events."""
    return "slip_at_event" in run.variables


def _cells(run: Run) -> int:
    """Return the number of cells; 1 for a slider."""
    return int(run.variables["slip"].values.shape[1])


def _trace(run: Run, name: str) -> tuple[Floats, Floats]:
    """Return times and values of the trace of the fastest cell."""
    return _values(run, "trace_time"), _values(run, f"trace_{name}")


def _fastest(run: Run, time: Floats) -> Floats:
    """Return (f,) log10 of the largest speed [m/s], from the saved states and the trace."""
    knots, traced = _trace(run, "speed")
    speed = np.append(_values(run, "slip_speed").max(axis=1), traced)
    knots, first = np.unique(np.append(run.time, knots), return_index=True)
    return between(time, knots, np.log10(np.maximum(speed, 1e-30))[first])


def _seismic(run: Run) -> float:
    """Return the slip speed above which a cell ruptures [m/s], that of the events."""
    return float(getattr(run.method, "seismic", _FAST))


def _fast(run: Run, time: Floats) -> Bools:
    """Return (f, cell) whether a cell ruptures, for the drawn cells.

    It does if its saved speed, interpolated in time, exceeds `seismic`, or if its mean speed from
    an onset to the next arrest does.
    """
    cells = style.few(_cells(run), _MOST_CELLS)
    logs = np.log10(np.maximum(_values(run, "slip_speed")[:, cells], 1e-30))
    fast = np.asarray(between(time, run.time, logs) > np.log10(_seismic(run)))
    if _has_profiles(run):
        at, slip = _values(run, "event_time"), _values(run, "slip_at_event")[:, cells]
        for k in range(len(at) - 1):
            if run.event_log.kind[k] == "onset":
                inside = (time >= at[k]) & (time <= at[k + 1])
                fast[inside] |= slip[k + 1] - slip[k] > _seismic(run) * (at[k + 1] - at[k])
    return fast


def _along(run: Run, time: Floats, fast: Bools) -> m.View:
    """Return slip along the fault, with the profiles at events; fast (f, cell) gives colours."""
    slip, place = _values(run, "slip"), _values(run, "place") / 1e3
    knots = run.time
    if _has_profiles(run):
        knots = np.concatenate([knots, _values(run, "event_time")])
        slip = np.concatenate([slip, _values(run, "slip_at_event")])
        knots, first = np.unique(knots, return_index=True)
        slip = slip[first]
    cells = style.few(place.size, _MOST_CELLS)
    shown = between(time, knots, slip[:, cells])
    where = np.broadcast_to(place[cells], shown.shape)
    layers: list[m.Layer] = []
    if _has_profiles(run):
        past = _values(run, "slip_at_event")[:, cells]
        lines = np.stack([past, np.broadcast_to(place[cells], past.shape)], axis=2)
        starts = tuple(range(0, past.size, cells.size))
        grey = np.full((1, len(starts)), m.GREY)
        layers.append(m.Lines(lines.reshape(1, -1, 2), starts, grey, width=0.7))
    points = np.stack([shown, where], axis=2)
    layers.append(m.Lines(points, (0,), np.full((1, 1), m.INK), width=1.6))
    layers.append(m.Dots(points, np.where(fast, m.ORANGE, m.BLUE), 2.0))
    # depth grows downwards
    ends = np.array([float(place[0] + place[-1]), 0.0])
    word = "depth"
    if not is_depth(run):
        ends, word = ends[::-1], "position along the fault"
    most = float(np.nanmax(shown)) or 1.0
    low, high = np.array([min(0.0, float(shown.min())), ends[0]]), np.array([most, ends[1]])
    title = f"slip over {word}" + ("; grey: at the events" if _has_profiles(run) else "")
    return m.View(title, layers, low, high, ("slip (m)", f"{word} (km)"), False, 0.5)


def _block(run: Run, time: Floats, fast: Bools) -> m.View:
    """Return the block and its spring, whose other end moves with the plate."""
    slip = between(time, *_trace(run, "slip"))
    size = float(np.ptp(slip)) or 1.0
    half = 0.06 * size
    heights = np.full(slip.shape, half)
    place = np.column_stack([slip, heights])[:, None]
    # the far end moves with the mean speed of the cycles, as the plate does
    end = (
        slip[0] + 6.0 * half + (slip[-1] - slip[0]) * (time - time[0]) / (time[-1] - time[0] or 1.0)
    )
    ends = np.stack(
        [np.column_stack([slip + half, heights]), np.column_stack([end, heights])], axis=1
    )
    layers: list[m.Layer] = [
        m.Ground(np.zeros((1, 1, 1)), 0.0, 0.5 * half),
        m.Springs(ends),
        m.Boxes(place, np.where(fast, m.ORANGE, m.STUCK)[:, None], (half, half), ("",)),
    ]
    low = np.array([float(slip.min()) - 2.0 * half, -half])
    high = np.array([float(max(slip.max(), end.max())) + 2.0 * half, 4.0 * half])
    return m.View("the block and the spring that the plate pulls", layers, low, high, height=0.2)


def _cycle(run: Run, time: Floats, fastest: Floats) -> m.View:
    """Return friction over log10 of the slip speed, with the present state `fastest` (f,)."""
    knots, speed = _trace(run, "speed")
    mu = _trace(run, "friction")[1]
    logs = np.log10(np.maximum(speed, 1e-30))
    shown = style.few(knots.size, _MOST_TRAIL)
    places = np.column_stack([logs, mu])
    now = np.column_stack([fastest, between(time, knots, mu)])
    colour = np.where(speed > _seismic(run), m.ORANGE, m.BLUE)
    layers: list[m.Layer] = [
        m.Trail(places[shown], np.searchsorted(knots[shown], time, "right"), colour[shown]),
        m.Dots(now[:, None], np.full((1, 1), m.INK), 5.0),
    ]
    low, high = places.min(axis=0), places.max(axis=0)
    spare = np.maximum(0.05 * (high - low), 1e-12)
    axes = ("log₁₀ of the slip speed in m/s", "friction μ")
    return m.View("the cycle", layers, low - spare, high + spare, axes, False, 0.6)
