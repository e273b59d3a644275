"""Shares, errors and times of an ensemble whose every end is known in closed form.

On the surface of the normal form (z, y)' = A (z, y) / (z + y): a start w arrives at the two-fold
after -(1, 1) A^-1 w. Source: formula sheet of switching, section 5.
"""

import importlib
import math

import numpy as np
import pytest

import stiction as st

J1, J2, COUNT = -1.2, -1.5, 300


def public(name, former="stiction"):
    """Return a public name of the flows, or of where it was before."""
    room = importlib.import_module("stiction.switching")
    return getattr(room if hasattr(room, name) else importlib.import_module(former), name)


@pytest.fixture(scope="module")
def arrivals():
    """Return the starts (x, y, z) and their times of arrival."""
    z, y = np.random.default_rng(12).uniform(0.05, 0.5, (2, COUNT))
    clock = -np.linalg.solve(np.array([[J1, 1.0], [1.0, J2]]).T, np.ones(2))
    return np.column_stack([np.zeros(COUNT), y, z]), clock @ np.array([z, y])


@pytest.fixture(scope="module")
def found(arrivals):
    starts, times = arrivals
    ensemble = public("ensemble", "stiction.switching.ensemble")
    method = st.EventDriven(rtol=1e-11)
    return ensemble(
        public("NormalForm")(J1, J2), starts, float(np.quantile(times, 0.6)), method=method
    )


def test_those_that_arrive_in_time_do(found, arrivals):
    times, end = arrivals[1], float(np.quantile(arrivals[1], 0.6))
    early = times < end
    np.testing.assert_array_equal(found.end == "two_fold", early)
    np.testing.assert_array_equal(found.end[~early], "time")
    np.testing.assert_allclose(found.time, np.minimum(times, end), rtol=1e-8)
    np.testing.assert_array_equal(np.isnan(found.return_times("two_fold")), ~early)


def test_fractions_have_the_error_of_a_count(found):
    # p = 0.6 of 300: sqrt(p (1 - p) / n) = 0.02828
    by_name = {ending.end: ending for ending in found.statistics()}
    assert [ending.end for ending in found.statistics()] == ["two_fold", "time"]
    assert (by_name["two_fold"].count, by_name["time"].count) == (180, 120)
    for ending, share in ((by_name["two_fold"], 0.6), (by_name["time"], 0.4)):
        assert ending.share == pytest.approx(share, rel=1e-12)
        assert ending.share_error == pytest.approx(math.sqrt(0.24 / COUNT), rel=1e-12)
    gone, error = found.escaped()
    assert gone == pytest.approx(0.4, rel=1e-12)
    assert error == pytest.approx(math.sqrt(0.24 / COUNT), rel=1e-12)


def test_times_of_arrival_have_their_mean_and_quantiles(found, arrivals):
    times = np.sort(arrivals[1])[:180]
    (ending,) = [e for e in found.statistics() if e.end == "two_fold"]
    assert ending.mean == pytest.approx(times.sum() / 180.0, rel=1e-8)
    # the middle of 180 ordered times lies between the 90th and the 91st
    assert ending.quantiles[2] == pytest.approx(0.5 * (times[89] + times[90]), rel=1e-8)
    assert ending.quantiles[0] == pytest.approx(times[8] + 0.95 * (times[9] - times[8]), rel=1e-8)
