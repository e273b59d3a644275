"""The movie of a chain."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline

from stiction.chains import Chain
from stiction.chains.figures.data import ChainData
from stiction.chains.figures.player import BLOCK, movie_of, nice_scale
from stiction.laws import Coulomb
from stiction.plot.player.movie import MODE_COLOURS, STUCK, Boxes, Ground, Springs


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


def test_a_movie_shows_the_saved_states(baseline):
    time = np.linspace(0.0, baseline.t_end, 40)
    movie = movie_of(ChainData(baseline), time)
    x, v = (baseline.variables[name].values for name in "xv")
    cubic = CubicHermiteSpline(baseline.time, x, v)(time)
    # where an event lies between two saved rows the velocity bends, and a cubic is not taken
    place, colour = boxes(movie).points[..., 0], boxes(movie).colour
    assert place == pytest.approx(np.array([1.0, 2.0, 3.0]) + cubic, abs=1e-4)
    named = np.array(MODE_COLOURS)
    assert colour[0].tolist() == named[baseline.variables["mode"].values[0] + 1].tolist()
    assert colour[-1].tolist() == [STUCK] * 3
    # a spring on the left of each block, none to a wall on the right
    springs = next(layer for layer in movie.views[0].layers if isinstance(layer, Springs))
    assert springs.points.shape[1] == 2 * 3
    assert springs.points[:, 0, 0].tolist() == [0.0] * 40
    assert springs.points[:, 2::2, 0] == pytest.approx(place[:, :-1] + 0.5 * BLOCK)
    assert springs.points[:, 1::2, 0] == pytest.approx(place - 0.5 * BLOCK)
    assert movie.notes == "displacements × 1"


def test_small_displacements_are_enlarged_and_it_is_said(wave):
    movie = movie_of(ChainData(wave), np.linspace(0.0, wave.t_end, 10))
    assert movie.notes == "displacements × 10"
    assert np.diff(boxes(movie).points[..., 0], axis=1).min() > 0.02 * BLOCK


def test_long_chains_show_some_masses(huge):
    movie = movie_of(ChainData(huge), np.linspace(0.0, huge.t_end, 10))
    assert len(boxes(movie).labels) == boxes(movie).points.shape[1] == 60
    assert boxes(movie).labels[-1] == "10000"
    assert movie.notes.endswith("60 of 10000 masses")


def test_a_free_chain_stays_in_the_picture(make_run):
    chain = Chain([1.0, 1.0], 20.0, law=Coulomb(0.3), supports="none", belt_speed=0.5)
    run = make_run(chain, 4.0, 4000, 40)
    movie = movie_of(ChainData(run), np.linspace(0.0, run.t_end, 10))
    assert boxes(movie).points[..., 0].mean(axis=1) == pytest.approx(np.full(10, 1.5))
    # stuck to the belt, the surface stands still in a picture that follows the chain
    ground = next(layer for layer in movie.views[0].layers if isinstance(layer, Ground))
    assert np.ptp(ground.points[5:]) < 1e-9


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.floats(1e-3, 1e3),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_scale_separates_blocks(x, distance, linked):
    x = np.array([x])
    scale = nice_scale(x, distance, np.array(linked))
    assert np.diff(distance * np.arange(3) + scale * x[0]).min() > BLOCK * distance
    assert scale > 0.0


def test_a_run_that_blew_up_is_shown_until_then(baseline):
    x = baseline.variables["x"]
    values = x.values.copy()
    values[-100:, 2] = np.inf
    x = dataclasses.replace(x, values=values)
    run = dataclasses.replace(baseline, variables={**baseline.variables, "x": x})
    movie = run.plot.movie(10)
    assert movie.time[-1] == baseline.time[-101]
    assert movie.notes == "displacements × 1"
