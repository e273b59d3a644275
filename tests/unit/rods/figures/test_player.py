"""The movie of rods."""

import numpy as np
import pytest

import stiction as st
from stiction.io.scenario import read_scenario
from stiction.plot.player.movie import Lines
from stiction.rods.figures.data import RodData
from stiction.rods.figures.player import _grid_lines, movie_of
from stiction.solve import solve


def test_frames_are_the_saved_rods():
    s = read_scenario("rods-crossed", ())
    run = solve(s.system, s.method, (0.0, 0.01), save=11)
    movie = movie_of(RodData(run), run.time)
    rods = next(layer for layer in movie.views[0].layers if isinstance(layer, Lines))
    assert rods.points == pytest.approx(run.variables["position"].values, abs=1e-15)
    assert np.array(rods.starts).tolist() == [0, 41]


def test_partners_move_and_rods_have_their_radii():
    def rod(y, radius):
        axis = st.rods.Straight([0.0, y, 0.0], [0.5, y, 0.0])
        return st.rods.CosseratRod(st.rods.CircularSection(radius, 1e6), axis, elements=4)

    ball = st.rods.SpherePartner([0.2, 0.0, 0.3], 0.1, velocity=[0.0, 0.0, 50.0])
    rods = st.rods.Rods([rod(0.0, 0.02), rod(0.2, 0.01)], partners=[ball])
    run = solve(rods, st.rods.RollingLeapfrog(), (0.0, 0.001), save=3)
    sphere, thick, thin = movie_of(RodData(run), run.time).views[0].layers
    assert (thick.thick, thin.thick) == (0.04, 0.02)
    centre = np.array([0.2, 0.0, 0.3]) + run.time[:, None] * [0.0, 0.0, 50.0]
    distance = np.linalg.norm(sphere.points - centre[:, None], axis=2)
    np.testing.assert_allclose(distance, 0.1, rtol=1e-12)


@pytest.mark.parametrize(
    ("begin", "speed"),
    # the ball clips a corner of the region in which partners are drawn; or passes the rod between
    # two of the 240 even instants
    [([0.24, 0.0, 0.93], [60.0, 0.0, -60.0]), ([0.25, -500.0, 0.25], [0.0, 5e4, 0.0])],
)
def test_movies_of_one_run_have_the_same_lines(begin, speed):
    line = st.rods.Straight([0.0, 0.0, 0.0], [0.5, 0.0, 0.0])
    rod = st.rods.CosseratRod(st.rods.CircularSection(0.02, 1e6), line, elements=4)
    ball = st.rods.SpherePartner(begin, 0.1, velocity=speed)
    rods = st.rods.Rods([rod], partners=[ball])
    data = RodData(solve(rods, st.rods.RollingLeapfrog(), (0.0, 0.02), save=21))
    few, many = (movie_of(data, np.linspace(0.0, 0.02, count)) for count in (30, 59))
    assert len(few.views[0].layers) == 2
    assert few.views[0].layers[0].starts == many.views[0].layers[0].starts


def test_grid_lines_are_few_and_have_gaps():
    shown = np.ones((100, 100), dtype=bool)
    lines = _grid_lines(shown)
    assert 600 < sum(line.size for line in lines) <= 900
    assert {int(line[0]) for line in lines} >= {0, 99, 9900}
    shown[0, 40:60] = False
    first, second = _grid_lines(shown)[:2]
    assert (first[-1], second[0]) == (39, 60)
