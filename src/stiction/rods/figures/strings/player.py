"""The movie of two strings: their shapes, and the contact point on both.

Strings u(x, t) and v(x, t) touch at x = s1 and s2. Displacements and contact points at the times of
the frames are cubic Hermite interpolants of saved values and rates. `StringFigures.movie` calls
`movie_of`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.sampling import hermite, run_movie
from stiction.rods.figures.strings.data import STRINGS, StringData

__all__ = ["movie_of"]

Floats = npt.NDArray[np.float64]

_MOST_NODES = 101
_COLOURS = {"u": m.BLUE, "v": m.ORANGE}


def movie_of(data: StringData, time: Floats) -> m.Movie:
    """Return the movie of both strings with frames at `time` (f,).

    Verified by: tests/unit/rods/figures/strings/test_player.py::test_frames_are_the_saved_waves
    """
    readings = [
        m.Reading(word, "", hermite(time, data.time, data.contact(name), data.values(f"{s}_rate")))
        for word, name, s in (("s₁", "u", "s1"), ("s₂", "v", "s2"))
    ]
    plain = data.run.time_unit == "1"
    views, notes = [_view(data, name, time) for name in STRINGS], "dimensionless" if plain else ""
    keys = [(m.BLUE, "u"), (m.ORANGE, "v"), (m.RED, "contact")]
    return run_movie(data.run, time, views, notes, readings=readings, keys=keys)


def _view(data: StringData, name: str, time: Floats) -> m.View:
    """Return the view of one string with its contact point."""
    x, length, wave = data.place(name), data.length(name), data.values(name)
    nodes = style.few(x.size, _MOST_NODES)
    moved = hermite(time, data.time, wave[:, nodes], data.values(f"{name}_t")[:, nodes])
    # a string that is closed to a circle ends where it begins
    if x[-1] < length - 0.5 * (x[1] - x[0]):
        nodes_x, moved = np.append(x[nodes], length), np.hstack([moved, moved[:, :1]])
    else:
        nodes_x = x[nodes]
    points = np.stack([np.broadcast_to(nodes_x, moved.shape), moved], axis=2)
    path = data.contact(name)
    s = hermite(time, data.time, path, data.values("s1_rate" if name == "u" else "s2_rate"))
    inside = np.where(s == length, length, s % length)
    high = np.array([_at(k, nodes_x, row) for k, row in zip(inside, moved, strict=True)])
    size = 1.15 * (style.largest(wave) or 1.0)
    layers = [
        m.Lines(points, (0,), np.full((1, 1), _COLOURS[name]), width=2.0),
        m.Dots(np.column_stack([inside, high])[:, None], np.full((1, 1), m.RED), 5.0, held=True),
    ]
    low, top = np.array([0.0, -size]), np.array([length, size])
    axes = (f"place on {name}", f"displacement {name}")
    return m.View(f"string {name}", layers, low, top, axes, equal=False, height=0.55)


def _at(place: float, x: Floats, wave: Floats) -> float:
    """Return the displacement at a position, linear between nodes x."""
    return float(np.interp(place, x, wave))
