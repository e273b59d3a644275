"""Smooth signs against a second solver, and against the creep they must show."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import stiction as st


def smoothed_run(*args, **more):
    """Run the smooth flow; the name is public in its room, or was in its module."""
    room = importlib.import_module("stiction.switching")
    if not hasattr(room, "smoothed_run"):
        room = importlib.import_module("stiction.switching.smoothing")
    return room.smoothed_run(*args, **more)


def sign_of(shape):
    """Return a smooth sign by its name."""
    return getattr(importlib.import_module("stiction.laws"), shape)()


SIGNS = {
    "TanhSign": lambda h, width: np.tanh(h / width),
    "SquareRootSign": lambda h, width: h / np.hypot(h, width),
}
INVERSES = {
    "TanhSign": np.arctanh,
    "SquareRootSign": lambda s: s / np.sqrt(1.0 - s**2),
}


@pytest.mark.parametrize("shape", sorted(SIGNS))
@pytest.mark.parametrize("width", [0.1, 1e-3])
def test_a_smooth_block_on_a_belt_by_another_solver(shape, width):
    # x'' + x = -mu0 S(h / width) + alpha h, h = v - vb, with mu0 = 1, alpha = 0.1, vb = 0.5
    time = np.linspace(0.0, 4.0, 41)

    def rates(t, state):
        x, v = state
        h = v - 0.5
        return [v, -x - SIGNS[shape](h, width) + 0.1 * h]

    options = {"method": "Radau", "rtol": 1e-10, "atol": 1e-12, "t_eval": time}
    expected = solve_ivp(rates, (0.0, 4.0), [-1.0, 0.5], **options).y.T
    belt = st.BeltOscillator(x0=[-1.0, 0.5])
    found = smoothed_run(belt, sign_of(shape), width, time, rtol=1e-10)
    assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("shape", sorted(SIGNS))
def test_it_creeps_where_a_real_block_sticks(shape):
    # under a spring force of 0.6 it creeps against it at width S^-1(0.6), to first order in width
    width = 1e-5
    belt = st.BeltOscillator(x0=[-0.65, 0.5])
    x, v = smoothed_run(belt, sign_of(shape), width, np.array([0.0, 0.1])).T
    assert x[-1] == pytest.approx(-0.6, rel=1e-4)
    creep = width * INVERSES[shape](0.6)
    assert v[-1] - 0.5 == pytest.approx(creep, rel=1e-2)


def test_its_error_is_the_distance_of_creep():
    # from x = -0.9 to -0.1 in 1.6 on the belt: the drift is the integral of width arctanh(-x) dt
    belt = st.BeltOscillator(x0=[-0.9, 0.5])
    time = np.linspace(0.0, 1.6, 17)
    true = -0.9 + 0.5 * time
    fine = np.linspace(0.0, 1.6, 4001)
    speed = np.arctanh(0.9 - 0.5 * fine)
    way = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(fine))])
    for width in (1e-3, 1e-4):
        x = smoothed_run(belt, sign_of("TanhSign"), width, time)[:, 0]
        assert (x - true)[-1] / width == pytest.approx(way[-1], rel=1e-2)
