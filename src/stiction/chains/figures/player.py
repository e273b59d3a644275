"""The movie of a chain: blocks, springs, load and ground, and the strip of stick."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.film import BLOCK, Film, film_of
from stiction.plot.player.movie import (
    BLUE,
    INK,
    MODE_COLOURS,
    ORANGE,
    STUCK,
    Arrows,
    Boxes,
    Ground,
    Layer,
    Lines,
    Movie,
    Reading,
    Springs,
    View,
)
from stiction.plot.player.sampling import marks_of

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_ARROWS = 4
_ARROW = 0.9  # longest arrow of the load, over the distance of neighbours


def movie_of(
    data: ChainData,
    time: Floats,
    *,
    scale: float | None = None,
) -> Movie:
    """Return the movie of a chain with frames at these times [s].

    Verified by: tests/unit/chains/figures/test_player.py::test_frames_are_the_saved_motion
    """
    film = film_of(data, seconds=1.0, fps=10.0, scale=scale, time=time)
    colour = np.asarray(MODE_COLOURS)[film.mode.astype(np.int64) + 1]
    high = 0.5 * BLOCK * film.distance
    rows = np.full(film.place.shape, high)
    left, right = film.extent
    room = 0.04 * (right - left)
    layers: list[Layer] = [
        Ground(film.ground[:, None, None], 0.0, 0.25 * film.distance),
        *_springs(film, high),
        Boxes(
            np.stack([film.place, rows], axis=2),
            colour,
            (high, high),
            tuple(str(number) for number in film.number),
        ),
        *_load(film, high),
    ]
    reach = _ARROW * film.distance if len(layers) > 2 and isinstance(layers[-1], Arrows) else 0.0
    view = View(
        "the chain: blocks at their places, displacements enlarged as told",
        layers,
        np.array([left - room, -0.6 * high]),
        np.array([right + room + reach, 3.2 * high]),
        height=float(np.clip(3.8 * high / (right - left + 2.0 * room + reach), 0.08, 0.3)),
    )
    readings = [Reading("load", "N", film.load)] if np.any(film.load) else []
    return Movie(
        title=film.title,
        notes=film.notes,
        time=film.time,
        unit="s",
        views=[view],
        marks=[m for m in marks_of(data.run) if film.time[0] <= m.time <= film.time[-1]],
        readings=readings,
        keys=[(STUCK, "stuck"), (BLUE, "slips to the right"), (ORANGE, "slips to the left")],
        strip=colour,
    )


def _springs(film: Film, high: float) -> list[Layer]:
    """Return springs between blocks that are linked, and the walls they hang on."""
    count, half = film.place.shape[0], 0.5 * BLOCK * film.distance
    wall = [np.full((count, 1), at) for at in film.wall]
    starts = np.hstack([wall[0], film.place + half])
    stops = np.hstack([film.place - half, wall[1]])
    linked = film.linked
    ends = np.stack([starts[:, linked], stops[:, linked]], axis=2).reshape(count, -1)
    found: list[Layer] = []
    if ends.size:
        found.append(Springs(np.stack([ends, np.full(ends.shape, high)], axis=2)))
    for k, at in zip((0, -1), film.wall, strict=True):
        if linked[k]:
            line = np.array([[[at, 0.0], [at, 2.6 * high]]])
            found.append(Lines(line, (0,), np.array([[INK]]), width=2.0))
    return found


def _load(film: Film, high: float) -> list[Layer]:
    """Return arrows of the load, where few masses carry it."""
    loaded = np.flatnonzero(film.share)
    strongest = float(np.abs(film.load).max(initial=0.0))
    if not strongest or not 0 < loaded.size <= _MOST_ARROWS:
        return []
    begin = film.place[:, loaded] + 0.5 * BLOCK * film.distance
    points = np.stack([begin, np.full(begin.shape, high)], axis=2)
    along = _ARROW * film.distance / strongest * np.outer(film.load, film.share[loaded])
    along /= float(np.abs(film.share).max())
    vectors = np.stack([along, np.zeros(along.shape)], axis=2)
    return [Arrows(points, vectors, np.full((1, loaded.size), INK))]
