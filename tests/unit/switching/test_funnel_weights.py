"""Probabilities, bounds and quantiles of futures that are made up, by hand."""

import math

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.switching.funnel import Funnel

GRID = np.array([0.0, 1.0, 3.0])


def funnel(values, *, ray, cell, side, end_time=None, kinds=None):
    """Futures whose only state rises from `values` by 1 each time unit."""
    values = np.asarray(values, dtype=float)
    f = values.size
    states = np.stack([values[:, None] + GRID, 2.0 * values[:, None] + 0.0 * GRID], axis=2)
    return Funnel(
        x_star=np.zeros(2),
        names=("x", "y"),
        units=("1", "1", "1"),
        horizon=3.0,
        exits=np.zeros((f, 2)),
        dwell=np.linspace(0.5, 1.5, f),
        angle=np.zeros(f),
        ray=np.asarray(ray),
        cell=np.asarray(cell, dtype=float),
        side=np.asarray(side, dtype=float),
        time=GRID,
        states=states,
        end_kind=tuple(kinds or ["horizon"] * f),
        end_time=np.full(f, 3.0) if end_time is None else np.asarray(end_time, dtype=float),
        edge=np.array([[0.0, 1.0], [2.0, 3.0]]),
    )


# two rays: one with an early cell on both sides and a late one that slides, one with one cell
MADE = {
    "values": [4.0, 1.0, 3.0, 2.0],
    "ray": [0, 0, 0, 2],
    "cell": [[0.0, 1.0], [0.0, 1.0], [1.0, 3.0], [0.0, 2.0]],
    "side": [1.0, -1.0, 0.0, 1.0],
}
HAZARD = 0.7


def probabilities():
    early = 1.0 - math.exp(-HAZARD)
    late = math.exp(-HAZARD) - math.exp(-3.0 * HAZARD)
    # both sides share the early cell; each ray is as likely as the other
    whole = early + late
    return np.array([0.25 * early / whole, 0.25 * early / whole, 0.5 * late / whole, 0.5])


def test_weights_are_exponential_on_every_ray():
    made = funnel(**MADE)
    assert made.weights(HAZARD) == pytest.approx(probabilities(), rel=1e-14)
    assert made.weights(HAZARD).sum() == pytest.approx(1.0, rel=1e-14)
    with pytest.raises(ModelError, match=r"Funnel\.weights"):
        made.weights(0.0)


@pytest.mark.parametrize(
    ("t", "share"), [(0.0, 0.0), (0.25, 0.25), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
)
def test_states_are_interpolated(t, share):
    made = funnel(**MADE)
    states = made.at(t)
    np.testing.assert_allclose(states[:, 0], np.array(MADE["values"]) + share, rtol=1e-14)
    np.testing.assert_allclose(states[:, 1], 2.0 * np.array(MADE["values"]), rtol=1e-14)


@pytest.mark.parametrize("t", [-1e-9, 3.0 + 1e-9, math.nan])
def test_times_beyond_the_horizon_are_refused(t):
    with pytest.raises(ModelError, match="a time between 0 and the horizon 3"):
        funnel(**MADE).at(t)


def test_mean_and_quantiles_weigh_the_futures():
    made, w = funnel(**MADE), probabilities()
    x = np.array(MADE["values"])
    assert made.mean(0.0, HAZARD) == pytest.approx([w @ x, 2.0 * (w @ x)], rel=1e-13)
    # in the order of the state: 1, 2, 3, 4
    steps = np.cumsum(w[[1, 3, 2, 0]])
    for q in (0.0, 0.5 * steps[0], 0.5 * (steps[0] + steps[1]), 0.5 * (steps[1] + steps[2]), 1.0):
        wanted = float(1 + np.searchsorted(steps, q))
        found = made.quantiles(0.0, HAZARD, [q])
        assert found[0] == pytest.approx([min(wanted, 4.0), 2.0 * min(wanted, 4.0)])


def test_quantiles_are_those_of_the_futures_that_still_run():
    made, w = funnel(**MADE), probabilities()
    made.states[3, 1:] = np.nan
    # 1, 3 and 4 are left: their weights are scaled up
    w = w[[1, 2, 0]] / w[[1, 2, 0]].sum()
    steps = np.cumsum(w)
    for q in (0.9 * steps[0], 1.1 * steps[0], 0.9 * steps[1], 1.02 * steps[1]):
        wanted = [1.0, 3.0, 4.0][int(np.searchsorted(steps, q))]
        assert made.quantiles(1.0, HAZARD, [q])[0, 0] == wanted + 1.0
    mean = float(w @ [1.0, 3.0, 4.0])
    assert made.mean(1.0, HAZARD) == pytest.approx([mean + 1.0, 2.0 * mean])


def test_bounds_and_what_every_second_ray_changes():
    made = funnel([4.0, 1.0, 3.0, 2.0], ray=[0, 1, 2, 3], cell=MADE["cell"], side=MADE["side"])
    low, high, doubt = made.bounds(1.0)
    assert (low.tolist(), high.tolist()) == ([2.0, 2.0], [5.0, 8.0])
    # rays 0 and 2 go from 3 to 4: two less at the lower end
    assert doubt.tolist() == [2.0, 4.0]
    low, high, doubt = funnel(
        [1.0, 4.0, 2.0], ray=[0, 1, 2], cell=MADE["cell"][:3], side=MADE["side"][:3]
    ).bounds(0.0)
    assert (low[0], high[0], doubt[0]) == (1.0, 4.0, 2.0)
    # odd rays alone are compared with themselves
    made = funnel([1.0, 4.0], ray=[1, 1], cell=MADE["cell"][:2], side=MADE["side"][:2])
    assert made.bounds(0.0)[2].tolist() == [0.0, 0.0]
    made.states[:] = np.nan
    assert np.isnan(made.bounds(0.0)).all()


def test_futures_that_ended_are_left_out():
    kinds = ["fold", "horizon", "fold", "two_fold"]
    made = funnel(**MADE, end_time=[0.5, 3.0, 2.0, 1.0], kinds=kinds)
    w = probabilities()
    for t, alive in ((0.0, [0, 1, 2, 3]), (1.0, [1, 2, 3]), (1.5, [1, 2]), (3.0, [1])):
        assert made.running(t, HAZARD) == pytest.approx(w[alive].sum())
    # a future that ends between two times of the grid is there at the first of them
    made.states[0, 1:] = made.states[2, 2:] = made.states[3, 2:] = np.nan
    for t, alive in ((0.0, [0, 1, 2, 3]), (1.0, [1, 2, 3]), (1.5, [1]), (3.0, [1])):
        assert np.flatnonzero(np.isfinite(made.at(t)).all(axis=1)).tolist() == alive
    times, shares = made.return_times("fold", HAZARD)
    assert times.tolist() == [0.5, 2.0]
    assert shares == pytest.approx(w[[0, 2]])
    text = str(made)
    assert "Funnel of 4 futures from the two-fold x = 0, y = 0, up to 3" in text
    assert "dwell    0.5 ... 1.5 on 2 rays" in text
    assert "2 at fold, 1 at horizon, 1 at two_fold" in text
    assert len(made) == 4
    assert made.boundary().tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_a_hull_goes_around_the_futures():
    made = funnel([0.0, 1.0, 0.0, 1.0, 0.5], ray=[0] * 5, cell=[[0, 1]] * 5, side=[0.0] * 5)
    made.states[:, 0] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]
    vertices = sorted(map(tuple, made.hull(0.0).tolist()))
    assert vertices == [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    made.states[3, 0] = np.nan
    assert len(made.hull(0.0)) == 3
