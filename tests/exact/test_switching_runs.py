"""Runs of classic switching systems against closed forms."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.exact.switching import (
    belt_cycle,
    crossing_map,
    relay_half_period,
    sliding_arrival,
)
from stiction.switching.methods import EventDriven
from stiction.switching.presets import BeltOscillator, NormalForm, RelayFeedback, TwoBlockStickSlip

FINE = EventDriven(rtol=1e-13)


@pytest.mark.parametrize(
    ("mu0", "alpha", "speed"), [(1.0, 0.1, 0.5), (1.0, 0.3, 0.2), (2.0, 0.05, 1.0)]
)
def test_belt_cycle(mu0, alpha, speed):
    exact = belt_cycle(mu0, alpha, speed)
    belt = BeltOscillator(mu0=mu0, alpha=alpha, belt_speed=speed)
    run = st.solve(belt, FINE, t_span=(0.0, 40.0))
    assert run.quantities["period"].value == pytest.approx(exact.period, rel=1e-12)
    frame = run.events
    leaves = frame.loc[frame["kind"] == "leave", "time"].to_numpy()
    sticks = frame.loc[frame["kind"] == "slide", "time"].to_numpy()
    count = min(leaves.size, sticks.size)
    assert count >= 2
    # the start sticks, so every slip begins with a leave
    assert np.abs(sticks[:count] - leaves[:count] - exact.slip_time).max() < 2e-12 * exact.period
    assert np.abs(frame.loc[frame["kind"] == "leave", "x"] - mu0).max() < 1e-12 * mu0
    assert abs(run.energy.imbalance_rel) < 1e-12


def test_belt_reference_period():
    run = st.solve(BeltOscillator(), FINE, t_span=(0.0, 20.0))
    assert abs(run.quantities["period"].value - 6.43947489010524441858) < 1e-12


@pytest.mark.parametrize("order", [3, 4])
def test_relay_half_period(order):
    run = st.solve(RelayFeedback(order=order), FINE, t_span=(0.0, 60.0 if order == 3 else 200.0))
    times = run.events.loc[run.events["kind"] == "cross", "time"].to_numpy()
    assert abs(np.diff(times)[-1] - relay_half_period(order)) < 1e-11


@pytest.mark.parametrize(
    ("j1", "j2", "start"),
    [(-1.2, -1.5, (0.3, 0.1)), (-2.0, -1.0, (0.2, 0.2)), (-0.9, -3.0, (0.1, 0.4))],
)
def test_sliding_arrival(j1, j2, start):
    y, z = start
    system = NormalForm(j1, j2, x0=[0.0, y, z], mode="slide")
    run = st.solve(system, EventDriven(rtol=1e-12), t_span=(0.0, 20.0))
    arrival = run.events["time"].iloc[-1]
    assert run.events["kind"].iloc[-1] == "two_fold"
    assert arrival == pytest.approx(sliding_arrival(j1, j2, (z, y)), rel=1e-12)


def test_normal_form_reference_arrival():
    run = st.solve(NormalForm(-1.2, -1.5), EventDriven(), t_span=(0.0, 20.0))
    assert abs(run.t_end - 1.1375) < 1e-13


@pytest.mark.parametrize(("j1", "j2"), [(-1.2, -1.5), (0.5, -0.7), (0.4, 0.9)])
@pytest.mark.parametrize(("side", "y", "z"), [(1, -0.3, 0.2), (-1, 0.2, -0.35), (1, -0.01, -0.02)])
def test_crossing_maps(j1, j2, side, y, z):
    # from the surface into one side and back to it
    mode = "+" if side > 0 else "-"
    run = st.solve(
        NormalForm(j1, j2, x0=[0.0, y, z], mode=mode), EventDriven(rtol=1e-13), t_span=(0.0, 5.0)
    )
    frame = run.events[run.events["kind"] != "escaping_start"]
    names = [c for c in frame.columns if c in run.system.state_names]
    x = frame[names].to_numpy()[0]
    y_back, z_back, time = crossing_map(side, j1, j2, y, z)
    assert abs(frame["time"].iloc[0] - time) < 1e-12
    assert time == pytest.approx(-2.0 * (y if side > 0 else z), rel=1e-15)
    assert math.hypot(x[1] - y_back, x[2] - z_back) < 1e-12
    assert abs(x[0]) < 1e-13


def test_two_blocks_close_their_ledger_through_the_intersection():
    run = st.solve(TwoBlockStickSlip(), FINE, t_span=(0.0, 30.0), save=601)
    both = (run.variables["mode"].values == 0).all(axis=1)
    assert both.any()
    assert not both.all()
    assert abs(run.energy.imbalance_rel) < 1e-11
    assert np.abs(run.variables["multiplier"].values).max() <= 1.0 + 1e-9
