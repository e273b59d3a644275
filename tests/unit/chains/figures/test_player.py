"""The movie of a chain."""

import numpy as np
import pytest

from stiction.chains.figures.data import ChainData
from stiction.chains.figures.player import movie_of
from stiction.plot.player.movie import MODE_COLOURS, Boxes


def boxes(movie):
    return next(layer for layer in movie.views[0].layers if isinstance(layer, Boxes))


def test_frames_are_the_saved_motion(baseline):
    movie = movie_of(ChainData(baseline), baseline.time, scale=1.0)
    place = boxes(movie).points[..., 0]
    assert place == pytest.approx(baseline.variables["x"].values + np.array([1.0, 2.0, 3.0]))
    assert movie.readings[0].values == pytest.approx(baseline.variables["load"].values)


def test_modes_change_at_the_events(baseline):
    log = baseline.event_log
    movie = movie_of(ChainData(baseline), np.unique(log.time), scale=1.0)
    named = {"slip-": MODE_COLOURS[0], "stick": MODE_COLOURS[1], "slip+": MODE_COLOURS[2]}
    shown = boxes(movie).colour
    last = {(t, c): k for k, (t, c) in enumerate(zip(log.time, log.contact, strict=True))}
    for (t, contact), k in last.items():
        row = int(np.searchsorted(movie.time, t))
        assert shown[row, contact - 1] == named[log.after[k]]
