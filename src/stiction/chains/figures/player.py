"""Animation of a chain: blocks, springs, load and ground, with the strip of stick and slip.

Between saved states displacements are interpolated by Hermite polynomials from x and v.
`figures.ChainFigures.movie` calls `movie_of`. Arrays are (frames, shown masses).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.numerics.checks import number
from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import hermite, run_movie

__all__ = ["BLOCK", "movie_of", "nice_scale"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BLOCK = 0.42  # width of a block over the distance of neighbours
_MOST_BLOCKS = 60
_NEAREST = 0.15  # least drawn gap between neighbours, over their distance
_FURTHEST = 3.0  # largest drawn displacement, over the distance of neighbours
_NICE = (1.0, 2.0, 5.0)
_MODES = {"slip-": -1, "stick": 0, "slip+": 1}
_MOST_ARROWS = 4
_ARROW = 0.9  # longest arrow of the load, over the distance of neighbours


def movie_of(data: ChainData, time: Floats, *, scale: float | None = None) -> m.Movie:
    """Return the movie of a chain with frames at these times [s].

    Parameters
    ----------
    scale : factor of the displacements; default a round number that keeps blocks apart

    Verified by: tests/unit/chains/figures/test_player.py::test_frames_are_the_saved_motion
    """
    chosen = style.few(data.n_mass, _MOST_BLOCKS)
    # displacements of the shown masses at the times of the frames
    x = hermite(time, data.time, data.x[:, chosen], data.v[:, chosen])
    x = np.nan_to_num(x, posinf=0.0, neginf=0.0)
    unstressed = data.constant("place")
    unstressed = np.arange(1.0, data.n_mass + 1.0) if unstressed is None else unstressed
    walls = np.array([0.0, float(unstressed[0]) * (data.n_mass + 1)])
    linked = _linked(data, chosen)
    # without a wall the view follows the mean displacement
    drift = np.zeros(time.size) if linked[0] or linked[-1] else x.mean(axis=1)
    x = x - drift[:, None]
    distance = float(unstressed[0]) * (int(chosen[1] - chosen[0]) if chosen.size > 1 else 1)
    if scale is None:
        scale = nice_scale(x, distance, linked)
    else:
        why, try_ = (
            "displacements are drawn times this factor.",
            "leave this value out for an automatic choice.",
        )
        scale = number("animate.scale", scale, rule="positive", why=why, try_=try_)
    # middles of the blocks, their half width, and their colours by mode
    place = unstressed[chosen] + scale * x
    half = 0.5 * BLOCK * distance
    colour = np.asarray(m.MODE_COLOURS)[_modes(data, chosen, time) + 1]
    moved = scale * (data.belt_speed * (time - time[0]) - (drift - drift[0]))
    load = np.interp(time, data.time, data.load)
    arrows = _load(data, chosen, load, place + half, half)
    shown = {"numbers": chosen + 1, "walls": walls, "linked": linked}
    layers = [*m.row_of_blocks(place, colour, half, moved, **shown), *arrows]
    # limits of the picture: blocks, walls and arrows of all frames
    ends = [place - half, place + half, walls[linked[[0, -1]]]]
    left, right = min(e.min(initial=np.inf) for e in ends), max(e.max(initial=0.0) for e in ends)
    room = 0.04 * (right - left)
    reach = _ARROW * distance if arrows else 0.0
    low = np.array([left - room, -0.6 * half])
    high = np.array([right + room + reach, 3.2 * half])
    words = f"displacements × {scale:g}"
    if chosen.size < data.n_mass:
        words += f", {chosen.size} of {data.n_mass} masses"
    # blocks of a long chain are narrow, and drawn higher than they are wide
    shape = float(np.clip((high - low)[1] / (high - low)[0], 0.12, 0.3))
    title = "the chain: blocks at their positions, displacements enlarged as stated"
    return run_movie(
        data.run,
        time,
        [m.View(title, layers, low, high, equal=False, height=shape)],
        words,
        readings=[m.Reading("load", "N", load)] if np.any(load) else [],
        keys=[(m.STUCK, "stuck"), (m.BLUE, "slips to the right"), (m.ORANGE, "slips to the left")],
        strip=colour,
    )


def nice_scale(x: Floats, distance: float, linked: Bools) -> float:
    """Return 1, or 1, 2 or 5 times a power of ten, that shows the motion and no overlap.

    x, linked : (f, s) displacements [m], and result of `_linked`
    distance : of shown neighbours at rest [m]

    Verified by: tests/unit/chains/figures/test_player.py::test_scale_separates_blocks
    """
    none = np.zeros((len(x), 1))
    padded = np.hstack([*([none] if linked[0] else []), x, *([none] if linked[-1] else [])])
    nearer = float(np.max(-np.diff(padded, axis=1), initial=0.0))
    furthest = float(np.abs(x).max())
    if furthest == 0.0:
        return 1.0
    largest = max(_FURTHEST * distance, 0.5 * distance * x.shape[1]) / furthest
    if nearer > 0.0:
        largest = min(largest, (1.0 - BLOCK - _NEAREST) * distance / nearer)
    if 1.0 <= largest <= 4.0:
        return 1.0  # true displacements, as long as they can be seen
    power = 10.0 ** np.floor(np.log10(largest))
    return float(max(factor * power for factor in _NICE if factor * power <= largest * 1.0001))


def _linked(data: ChainData, chosen: Ints) -> Bools:
    """Return (s + 1,) booleans: shown block has a spring on its left; last, right wall has."""
    linked = np.ones(chosen.size + 1, dtype=bool)
    stiffness = data.constant("link_stiffness")
    if stiffness is not None:
        linked[0], linked[-1] = stiffness[0] > 0.0, stiffness[-1] > 0.0
    return linked


def _modes(data: ChainData, chosen: Ints, time: Floats) -> Ints:
    """Return (f, s) modes: of the last sample, or of an event after it.

    Verified by: tests/unit/chains/figures/test_player.py::test_modes_change_at_the_events
    """
    at = np.maximum(np.searchsorted(data.time, time, side="right") - 1, 0)
    mode = data.mode[np.ix_(at, chosen)].astype(np.int64)
    log = data.run.event_log
    for column, i in enumerate(chosen):
        every = np.flatnonzero(log.contact == i + 1).tolist()
        mine = [k for k in every if log.after[k] in _MODES]
        if mine:
            last = np.searchsorted(log.time[mine], time, side="right") - 1
            since = (last >= 0) & (log.time[mine][last] > data.time[at])
            entered = np.array([_MODES[log.after[k]] for k in mine])
            mode[since, column] = entered[last[since]]
    return np.asarray(mode)


def _load(data: ChainData, chosen: Ints, load: Floats, edge: Floats, half: float) -> list[m.Layer]:
    """Return arrows of the load at the right edges of blocks, where few masses carry it.

    chosen, load : (s,) shown masses from 0, and (f,) load [N] at the frames
    edge, half : (f, s) drawn places of the right edges, and half width of a block
    """
    load_vector = data.constant("load_weight")
    load_vector = np.zeros(chosen.size) if load_vector is None else load_vector[chosen]
    loaded = np.flatnonzero(load_vector)
    strongest = float(np.abs(load).max(initial=0.0))
    if not strongest or not 0 < loaded.size <= _MOST_ARROWS:
        return []
    along = 2.0 * _ARROW / BLOCK * half / strongest * np.outer(load, load_vector[loaded])
    vectors = np.stack([along / np.abs(load_vector).max(), np.zeros(along.shape)], axis=2)
    return [m.Arrows(m.raised(edge[:, loaded], half), vectors, np.full((1, loaded.size), m.INK))]
