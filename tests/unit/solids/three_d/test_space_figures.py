"""Figures and movies of solids in space."""

import functools

import numpy as np
import pytest
from space_cases import small_cap

import stiction as st
from stiction.plot.figures import figures_of
from stiction.solids.figures.data import SolidData
from stiction.solids.figures.player import movie_of, times_of


@functools.cache
def run():
    return st.solve(small_cap(), st.solids.Quasistatic(steps=4), t_span=(0.0, 2.0))


def test_footprint():
    figure = figures_of(run()).footprint([1.0, 2.0])
    panels = [ax for ax in figure.axes if ax.get_xlabel().startswith("$x")]
    assert len(panels) == 2
    data = SolidData(run())
    drawn = panels[1].collections[0].get_array()
    assert np.allclose(drawn, data.values("normal_traction")[-1])


def test_default_figures_are_those_of_space():
    names = figures_of(run()).default
    assert {"forces", "shapes", "footprint", "energy"} <= set(names)
    assert "tractions" not in names
    figure = figures_of(run()).shapes()
    assert sum(ax.name == "3d" for ax in figure.axes) >= 2


def test_movies_show_bodies_and_what_touches():
    data = SolidData(run())
    movie = movie_of(data, times_of(data, 20))
    cells, dots = movie.views[0].layers
    places = data.values("drawn_position")[-1][:, [2, 0, 1]]
    assert cells.points[-1] == pytest.approx(places)
    assert dots.points.shape[2] == 3
    assert movie.views[0].axes == ("z", "x", "y")
