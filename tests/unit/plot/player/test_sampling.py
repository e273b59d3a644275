"""Frames between saved states."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from stiction.core.determinism import Loss
from stiction.core.events import EventLog
from stiction.plot.player.sampling import between, frame_times, held, hermite, marks_of, slopes


def test_cubics_are_of_fourth_order():
    fine = np.linspace(0.0, 6.0, 997)
    errors = []
    for count in (31, 61, 121):
        knots = np.linspace(0.0, 6.0, count)
        made = hermite(fine, knots, np.sin(knots), np.cos(knots))
        assert made == pytest.approx(CubicHermiteSpline(knots, np.sin(knots), np.cos(knots))(fine))
        errors.append(np.abs(made - np.sin(fine)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert ((orders > 3.8) & (orders < 4.2)).all()


def test_rates_that_do_not_fit_are_not_taken():
    knots, values = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
    # as of a method that saves no velocities
    assert hermite(np.array([0.25, 1.5]), knots, values, np.zeros(3)) == pytest.approx([0.25, 2.0])


def test_slopes_cross_no_event():
    knots = np.linspace(0.0, 2.0, 21)
    bent = np.abs(knots - 1.0)
    rates = slopes(knots, bent, np.array([1.0]))
    assert rates[:10] == pytest.approx(-np.ones(10))
    assert rates[10:] == pytest.approx(np.ones(11))


def test_events_outside_the_frames_take_no_room():
    count = 20_000
    log = EventLog(
        np.linspace(0.0, 1.0, count),
        np.ones(count, dtype=np.int64),
        *[("",) * count] * 2,
        ("slip",) * count,
    )
    losses = [Loss(t, "grazing") for t in (0.1, 0.5)]
    run = SimpleNamespace(event_log=log, determinism=SimpleNamespace(losses=losses))
    marks = marks_of(run, np.array([0.5, 0.51]))
    assert len(marks) == np.count_nonzero((log.time >= 0.5) & (log.time <= 0.51)) + 1 > 100
    assert len(marks_of(run, np.array([0.0, 1.0]))) == 2002


def test_constant_and_linear():
    knots, values = np.array([0.0, 1.0]), np.array([[1.0], [3.0]])
    assert held(np.array([0.9, 1.0]), knots, values).ravel().tolist() == [1.0, 3.0]
    assert between(np.array([0.5]), knots, values).tolist() == [[2.0]]


def test_events_have_frames_of_their_own(baseline):
    time = frame_times(baseline, 50)
    assert np.isin(baseline.event_log.time, time).all()
    assert np.isin(np.linspace(0.0, baseline.t_end, 50), time).all()
    assert (np.diff(time) > 0.0).all()
