"""Observed orders of the Runge-Kutta pair of flows, and of the times of its events."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.switching.methods import EventDriven
from stiction.switching.model import PiecewiseSmooth
from stiction.switching.presets import RelayFeedback


def turning(side):
    """A pendulum that stays on one side of a far surface."""
    field = lambda x: (x[1], -math.sin(x[0]))  # noqa: E731
    return PiecewiseSmooth(
        h=lambda x: x[0] + side * 9.0, f_plus=field, f_minus=field, x0=[1.0, 0.5]
    )


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_order_with_fixed_steps(side):
    system = turning(side)
    # a loose tolerance leaves the length of the steps to max_step
    steps = np.array([0.8, 0.4])
    exact = st.solve(system, EventDriven(rtol=1e-13), t_span=(0.0, 8.0)).final["x1"]
    errors = []
    for step in steps:
        method = EventDriven(rtol=1e-3, atol=1e-3, max_step=step)
        errors.append(abs(st.solve(system, method, t_span=(0.0, 8.0)).final["x1"] - exact))
    order = math.log2(errors[0] / errors[1])
    assert 7.0 < order < 10.5


def test_event_times_follow_the_tolerance():
    system = RelayFeedback()
    runs = [
        st.solve(system, EventDriven(rtol=rtol), t_span=(0.0, 20.0)).events["time"].to_numpy()
        for rtol in (1e-13, 1e-5, 1e-8, 1e-11)
    ]
    assert len({times.size for times in runs}) == 1
    errors = [np.abs(times - runs[0]).max() for times in runs[1:]]
    assert all(e < 30.0 * rtol for e, rtol in zip(errors, (1e-5, 1e-8, 1e-11), strict=True))
