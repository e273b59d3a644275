"""The movie of rods."""

import numpy as np
import pytest

from stiction.io.scenario import read_scenario
from stiction.plot.player.movie import Lines
from stiction.rods.figures.data import RodData
from stiction.rods.figures.player import movie_of
from stiction.solve import solve


def test_frames_are_the_saved_rods():
    s = read_scenario("rods-crossed", ())
    run = solve(s.system, s.method, (0.0, 0.01), save=11)
    movie = movie_of(RodData(run), run.time)
    rods = next(layer for layer in movie.views[0].layers if isinstance(layer, Lines))
    assert rods.points == pytest.approx(run.variables["position"].values, abs=1e-15)
    assert np.array(rods.starts).tolist() == [0, 41]
