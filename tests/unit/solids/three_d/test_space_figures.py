"""Figures and movies of solids in space."""

import dataclasses
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


def test_one_surface_of_two_bodies_is_drawn():
    """The other one lies below or above it, and its points are not connected with these."""
    one, copied = run(), {}
    names = ("surface_x", "surface_z", "normal_traction", "slides")
    for name in names:
        v = one.variables[name]
        shift = 0.01 if name == "surface_x" else 0.0
        copied[name] = dataclasses.replace(v, values=np.hstack([v.values, v.values + shift]))
    count = one.variables["slides"].values.shape[1]
    body = one.variables["body_of_point"]
    copied["body_of_point"] = dataclasses.replace(body, values=np.repeat([1, 2], count))
    two = dataclasses.replace(one, variables={**one.variables, **copied})
    ours, theirs = (figures_of(k).footprint([2.0]).axes[0] for k in (one, two))
    assert ours.get_xlim() == theirs.get_xlim()
    drawn = [ax.collections[0].get_array() for ax in (ours, theirs)]
    np.testing.assert_array_equal(*drawn)


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
