"""Probabilities of the futures of a two-fold, against those of a constant hazard."""

import importlib

import numpy as np
import pytest

HORIZON = 3.0


def public(name, former="stiction"):
    """Return a public name of the flows, or of where it was before."""
    room = importlib.import_module("stiction.switching")
    return getattr(room if hasattr(room, name) else importlib.import_module(former), name)


@pytest.fixture(scope="module")
def funnel():
    form = public("NormalForm")(-1.2, -1.5)
    return public("futures", "stiction.switching.futures")(
        form, [0.0, 0.0, 0.0], HORIZON, angles=6, distances=24, times=31
    )


@pytest.mark.parametrize("hazard", [0.2, 1.0, 5.0])
def test_who_has_not_left_by_the_horizon_survived_it(funnel, hazard):
    # every ray of the normal form goes on beyond the horizon: exp(-hazard T) stay
    still = funnel.weights(hazard)[funnel.side == 0.0].sum()
    assert still == pytest.approx(np.exp(-hazard * HORIZON), rel=1e-6)


@pytest.mark.parametrize("hazard", [0.2, 1.0, 5.0])
def test_sides_and_rays_are_alike(funnel, hazard):
    weights = funnel.weights(hazard)
    plus, minus = (weights[funnel.side == side].sum() for side in (1.0, -1.0))
    assert plus == pytest.approx(minus, rel=1e-12)
    shares = np.bincount(funnel.ray, weights=weights)
    np.testing.assert_allclose(shares, 1.0 / 6.0, rtol=1e-9)


def test_times_of_leaving_follow_the_hazard(funnel):
    # P(dwell < t) = 1 - exp(-t) at the borders of the cells of every ray
    weights = funnel.weights(1.0)
    for ray in range(6):
        mine = (funnel.ray == ray) & (funnel.side == 1.0)
        order = np.argsort(funnel.cell[mine, 1])
        share = np.cumsum(weights[mine][order]) * 12.0
        np.testing.assert_allclose(share, 1.0 - np.exp(-funnel.cell[mine, 1][order]), rtol=1e-6)


def test_states_behind_an_exit_are_those_of_the_fields(funnel):
    # f+ = (-y, 1, J1), f- = (z, J2, 1): x = -y s - s^2/2 or z s + s^2/2 a time s after the exit,
    # until it vanishes again at s = -2 y or -2 z
    seen = 0
    for t in funnel.time[1:]:
        states, s = funnel.at(t), t - funnel.dwell
        y, z = funnel.exits[:, 1], funnel.exits[:, 2]
        plus = (funnel.side == 1.0) & (s > 0.0) & (s < -2.0 * y)
        minus = (funnel.side == -1.0) & (s > 0.0) & (s < -2.0 * z)
        np.testing.assert_allclose(states[plus, 0], (-y * s - 0.5 * s**2)[plus], atol=1e-7)
        np.testing.assert_allclose(states[minus, 0], (z * s + 0.5 * s**2)[minus], atol=1e-7)
        np.testing.assert_allclose(states[plus, 1], (y + s)[plus], atol=1e-7)
        np.testing.assert_allclose(states[minus, 2], (z + s)[minus], atol=1e-7)
        seen += plus.sum() + minus.sum()
    assert seen > 100


def test_the_mean_weighs_every_future(funnel):
    t, hazard = 1.0, 1.0
    expected = funnel.weights(hazard) @ funnel.at(t)
    np.testing.assert_allclose(funnel.mean(t, hazard), expected, rtol=1e-9)
    # J1 and J2 differ: the set is not symmetric, and its mean is on one side
    assert abs(expected[0]) > 1e-4
