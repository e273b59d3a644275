"""The funnel of a two-fold: exact in the normal form, steady under refinement on the wheel."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching.funnel import futures
from stiction.switching.presets import NormalForm

J1, J2 = -1.2, -1.5
MATRIX = np.array([[J1, 1.0], [1.0, J2]])


@pytest.fixture(scope="module")
def funnel():
    return futures(NormalForm(J1, J2), [0.0, 0.0, 0.0], 3.0, angles=6, distances=6, times=61)


def test_futures_of_the_normal_form(funnel):
    # on the surface (z, y)' = MATRIX (z, y) / (y + z), so that the time from 0 is exact
    exact = np.ones(2) @ np.linalg.solve(MATRIX, funnel.exits[:, [2, 1]].T)
    assert funnel.dwell == pytest.approx(exact, rel=1e-8)
    assert set(funnel.side.tolist()) == {-1.0, 0.0, 1.0}
    # between the exit to h > 0 and the next crossing x = -y0 s - s^2 / 2 with y0 < 0
    row = int(np.flatnonzero(funnel.side == 1.0)[3])
    i = int(np.searchsorted(funnel.time, funnel.dwell[row])) + 1
    s = funnel.time[i] - funnel.dwell[row]
    y0 = funnel.exits[row, 1]
    assert s < -2.0 * y0
    assert funnel.states[row, i, 0] == pytest.approx(-y0 * s - 0.5 * s * s, rel=1e-8)
    assert funnel.states[row, i, 1] == pytest.approx(y0 + s, rel=1e-8)


def test_every_future_starts_at_the_two_fold(funnel):
    assert funnel.states[:, 0] == pytest.approx(np.zeros((len(funnel), 3)), abs=1e-12)
    assert np.isfinite(funnel.states[:, -1]).all()
    assert set(funnel.end_kind) == {"horizon"}


def test_weights_are_a_probability(funnel):
    for hazard in (0.1, 1.0, 10.0):
        weights = funnel.weights(hazard)
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert (weights >= 0.0).all()
    # who leaves at once stays near; who never leaves is on the surface at the horizon
    never = funnel.weights(1e-9)[funnel.side == 0.0].sum()
    assert never == pytest.approx(1.0, rel=1e-6)
    assert np.abs(funnel.mean(1.0, 1e-9)[0]) < 1e-8


def test_bounds_settle_as_the_grid_grows():
    wheel = st.WheelOnTurntable()
    x = st.two_fold(wheel, [0.186, -0.03, -1.037]).x
    low, high, doubt = futures(wheel, x, 1.5, angles=6, distances=6, times=16).bounds(1.2)
    fine = futures(wheel, x, 1.5, angles=12, distances=12, times=16).bounds(1.2)
    assert (fine[0] <= low + 1e-12).all() or (low - fine[0] <= doubt + 0.2 * (high - low)).all()
    reach = fine[1] - fine[0]
    # reason: the bounds of a coarse grid, which shrink towards those of the set
    assert np.abs(reach - (high - low)) == pytest.approx(np.zeros(3), abs=0.25 * reach.max())
    assert (fine[2] <= np.maximum(doubt, 0.1 * reach)).all()


def test_the_doubt_of_bounds_is_what_every_second_ray_adds(funnel):
    low, high, doubt = funnel.bounds(2.0)
    states = funnel.at(2.0)
    fewer = states[np.isin(funnel.ray, np.arange(0, funnel.ray.max() + 1, 2))]
    assert fewer.shape[0] < states.shape[0]
    missed = [fewer.min(axis=0) - states.min(axis=0), states.max(axis=0) - fewer.max(axis=0)]
    assert doubt == pytest.approx(np.max(missed, axis=0), abs=1e-14)
    # wherever zero is
    moved = dataclasses.replace(funnel, states=funnel.states + 7.0).bounds(2.0)
    for found, expected in zip(moved, (low + 7.0, high + 7.0, doubt), strict=True):
        assert found == pytest.approx(expected, abs=1e-13)


def test_hull_and_quantiles_lie_inside_the_bounds(funnel):
    low, high, _ = funnel.bounds(2.0)
    vertices = funnel.hull(2.0, (1, 2))
    assert (vertices >= low[[1, 2]] - 1e-12).all()
    assert (vertices <= high[[1, 2]] + 1e-12).all()
    middle = funnel.quantiles(2.0, 1.0, [0.1, 0.5, 0.9])
    assert (np.diff(middle, axis=0) >= 0.0).all()
    assert funnel.boundary().shape[1] == 3


def test_wheel_futures_end_on_the_line():
    wheel = st.WheelOnTurntable()
    x = st.two_fold(wheel, [0.186, -0.03, -1.037]).x
    funnel = futures(wheel, x, 8.0, angles=3, distances=3, times=41)
    assert "codim2_line" in funnel.end_kind
    times, weights = funnel.return_times("codim2_line", 1.0)
    assert times.size == weights.size > 0
    with pytest.raises(ModelError, match="one of horizon, two_fold"):
        funnel.return_times("twofold", 1.0)
    ended = np.array([kind == "codim2_line" for kind in funnel.end_kind])
    assert np.isnan(funnel.states[ended, -1]).all()


@pytest.mark.parametrize(
    ("x_star", "horizon", "field"),
    [
        ([0.0, 0.3, 0.1], 1.0, "futures.x_star"),
        ([0.0, 0.0], 1.0, "futures.x_star"),
        ([0.0, 0.0, 0.0], 0.0, "futures.horizon"),
        ([0.0, 0.0, float("nan")], 1.0, "futures.x_star"),
    ],
)
def test_bad_input(x_star, horizon, field):
    with pytest.raises(ModelError, match=field):
        futures(NormalForm(J1, J2), x_star, horizon)


def test_a_two_fold_that_lets_nothing_through():
    with pytest.raises(ModelError, match="case 1"):
        futures(NormalForm(1.2, 1.5), [0.0, 0.0, 0.0], 1.0)


def test_figure_shows_every_future(funnel):
    figure = funnel.plot()
    left, right = figure.axes[0], figure.axes[1]
    assert left.collections[0].get_offsets().shape[0] == len(funnel)
    assert len(right.lines) == min(len(funnel), 60)
    assert "Funnel of" in str(funnel)


def test_running_fraction_decreases_from_one(funnel):
    assert funnel.running(0.0, 1.0) == pytest.approx(1.0, rel=1e-12)
    assert funnel.running(3.0, 1.0) == pytest.approx(1.0, rel=1e-12)
