"""The movie of a slider."""

import numpy as np
import pytest
from playing import film_in

from stiction.faults.figures.player import movie_of, times_of
from stiction.faults.methods import Cycles
from stiction.io.scenario import read_scenario
from stiction.plot import style
from stiction.plot.player import movie as m
from stiction.plot.player.page import page
from stiction.solve import solve


def test_frames_are_the_saved_slip():
    s = read_scenario("spring-slider", ())
    run = solve(s.system, s.method, s.t_span, save=s.save)
    time = times_of(run, 300)
    movie = movie_of(run, time)
    slip = np.interp(time, run.variables["trace_time"].values, run.variables["trace_slip"].values)
    assert movie.views[0].layers[2].points[:, 0, 0] == pytest.approx(slip)
    assert np.isin(run.event_log.time[run.event_log.time <= time[-1]], time).all()
    assert movie.even
    # ruptures last seconds: the page counts the points of the trail that each frame has passed
    trail = film_in(page(movie))["views"][1]["layers"][0]
    traced = run.variables["trace_time"].values
    traced = traced[style.few(traced.size, len(trail["points"]))]
    assert (trail["passed"] == np.searchsorted(traced, time, side="right")).all()
    # at saved states the reading is the saved speed, though the trace is coarse
    fastest = run.variables["slip_speed"].values.max(axis=1)
    movie = movie_of(run, run.time)
    np.testing.assert_allclose(movie.readings[-1].values, np.log10(fastest), atol=1e-12)
    assert np.array_equal(movie.views[1].layers[1].points[:, 0, 0], movie.readings[-1].values)


def test_ruptures_are_faster_than_the_speed_of_the_events():
    s = read_scenario("spring-slider", ())
    run = solve(s.system, Cycles(seismic=10.0), s.t_span, save=s.save)
    assert run.variables["trace_speed"].values.max() > 1e-2
    assert not len(run.event_log.time)
    assert (movie_of(run, times_of(run, 100)).strip == m.BLUE).all()
