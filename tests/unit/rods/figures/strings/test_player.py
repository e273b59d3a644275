"""The movie of two strings."""

import pytest

from stiction.io.scenario import read_scenario
from stiction.rods.figures.strings.data import StringData
from stiction.rods.figures.strings.player import movie_of
from stiction.solve import solve


def test_frames_are_the_saved_waves():
    s = read_scenario("string-offset", ())
    run = solve(s.system, s.method, (0.0, 2.0), save=41)
    movie = movie_of(StringData(run), run.time)
    for view, name in zip(movie.views, "uv", strict=True):
        points = view.layers[0].points
        saved, x = run.variables[name].values, run.variables["xy"["uv".index(name)]].values
        nodes = [int(abs(x - place).argmin()) for place in points[0, :, 0]]
        assert points[..., 1] == pytest.approx(saved[:, nodes], abs=1e-14)
    assert movie.readings[0].values == pytest.approx(run.variables["s1"].values)
