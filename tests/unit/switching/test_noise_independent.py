"""Noise against diffusion theory: exits from a point that is repelled to both sides.

On a line with drift `up` for x > 0, `-down` for x < 0 and noise of level s, the probability to
leave a strip to a side and the mean time to do so solve two linear equations, one of them in
closed form, the other by differences.
"""

import functools
import importlib

import numpy as np
import pytest
from scipy.linalg import solve_banded

import stiction as st

REACH = 0.5


def public(name, former="stiction"):
    """Return a public name of the flows, or of where it was before."""
    room = importlib.import_module("stiction.switching")
    return getattr(room if hasattr(room, name) else importlib.import_module(former), name)


def noise_study(*args, **more):
    return public("noise_study", "stiction.switching.noise")(*args, **more)


@functools.cache
def repelled(up, down):
    """Return x' = up for x > 0 and -down for x < 0, from x = 0."""
    flows = {
        (3.0, 1.0): (lambda x: [3.0], lambda x: [-1.0]),
        (1.0, 3.0): (lambda x: [1.0], lambda x: [-3.0]),
        (1.0, 1.0): (lambda x: [1.0], lambda x: [-1.0]),
    }
    plus, minus = flows[up, down]
    return st.PiecewiseSmooth(h=lambda x: x[0], f_plus=plus, f_minus=minus, x0=[0.0])


def share_to_plus(up, down, level):
    """Return the probability to reach REACH before -REACH: a ratio of scale functions."""
    rates = 2.0 * np.array([up, down]) / level**2
    plus, minus = (1.0 - np.exp(-rates * REACH)) / rates
    return minus / (plus + minus)


def mean_time(up, down, level, count=4001):
    """Return T(0) of level^2/2 T'' + b T' = -1 with T = 0 at both ends, by differences."""
    x = np.linspace(-REACH, REACH, count)
    step, half = x[1] - x[0], 0.5 * level**2
    drift = np.where(x > 0.0, up, -down)
    drift[x == 0.0] = 0.5 * (up - down)
    bands = np.zeros((3, count))
    bands[0, 2:] = (half / step**2 + 0.5 * drift / step)[1:-1]
    bands[1] = -2.0 * half / step**2
    bands[2, :-2] = (half / step**2 - 0.5 * drift / step)[1:-1]
    bands[1, [0, -1]] = 1.0
    right = np.full(count, -1.0)
    right[[0, -1]] = 0.0
    return float(solve_banded((1, 1), bands, right)[count // 2])


def test_two_evaluations_of_the_mean_time_agree():
    # with equal drifts it is (a - s^2/2b (1 - exp(-2 b a / s^2))) / b
    closed = REACH - 0.125 * (1.0 - np.exp(-8.0 * REACH))
    assert mean_time(1.0, 1.0, 0.5) == pytest.approx(closed, rel=1e-5)
    assert share_to_plus(1.0, 1.0, 0.5) == pytest.approx(0.5, rel=1e-14)
    assert share_to_plus(3.0, 1.0, 0.1) == pytest.approx(0.75, rel=1e-14)


@pytest.mark.parametrize(("up", "down"), [(3.0, 1.0), (1.0, 3.0)])
def test_the_stronger_drift_has_its_fraction_of_the_exits(up, down):
    level = 0.5
    study = noise_study(repelled(up, down), [level], 1.6, paths=2000, step=2e-4, away=REACH)
    expected = share_to_plus(up, down, level)
    assert np.isfinite(study.dwell).all()
    # reason: four standard errors of 2000 paths
    assert study.to_plus == pytest.approx([expected], abs=0.04)
    # a path that leaves to a given side is there at the end
    assert np.mean(np.sign(study.final[0, :, 0]) == study.side[0]) > 0.99


def test_mean_times_of_travel_are_those_of_diffusion():
    levels = [0.25, 0.5]
    study = noise_study(repelled(1.0, 1.0), levels, 4.0, paths=1000, step=2e-4, away=REACH)
    expected = np.array([mean_time(1.0, 1.0, level) for level in levels])
    assert np.isfinite(study.dwell).all()
    # reason: four standard errors of 1000 paths, and steps that overlook short exits
    assert study.travel.mean(axis=1) == pytest.approx(expected, rel=6e-2)
    assert study.hazard == pytest.approx(1.0 / study.dwell.mean(axis=1), rel=1e-12)


def test_a_symmetric_two_fold_sends_half_of_the_paths_to_each_side():
    # exchanging both sides with y and z changes nothing, when J1 = J2 and y = z at the start
    form = public("NormalForm")(J1=-1.5, J2=-1.5, x0=[0.0, 0.2, 0.2], mode="slide")
    study = noise_study(form, [1e-3], 3.0, paths=400, step=1e-3)
    # arrival at -(1, 1) A^-1 (z, y) = 0.4 / 0.5
    assert study.lost == pytest.approx(0.8, rel=1e-9)
    left = np.isfinite(study.dwell[0])
    assert left.mean() > 0.95
    # reason: four standard errors of 400 paths
    assert study.to_plus == pytest.approx([0.5], abs=0.1)
    plus, minus = (study.dwell[0][study.side[0] == side] for side in (1.0, -1.0))
    error = np.hypot(plus.std() / np.sqrt(plus.size), minus.std() / np.sqrt(minus.size))
    assert abs(plus.mean() - minus.mean()) < 4.0 * error


def test_weak_noise_is_fair_as_well():
    study = noise_study(repelled(1.0, 1.0), [1e-4, 1e-3], 0.2, paths=200)
    # reason: four standard errors of 200 paths
    assert study.to_plus == pytest.approx([0.5, 0.5], abs=0.15)


@pytest.mark.parametrize(("up", "down"), [(1.0, 1.0), (3.0, 1.0)])
def test_the_time_at_a_surface(up, down):
    # |x| is a reflected Brownian motion with drift: E[last zero] = s^2 / (2 b^2) for equal drifts,
    # and excursions to both sides in general: mean of the last zero of a skew one, by its resolvent
    levels = np.array([1e-5, 1e-4, 1e-3])
    study = noise_study(repelled(up, down), levels, 0.2, paths=1000)

    def resolvent(rate, level):
        """Return the density of the time at 0 under killing at `rate`, by continuity of flux."""
        sides = [(np.sqrt(b * b + 2.0 * rate * level**2) - b) / level**2 for b in (up, down)]
        return 1.0 / (0.5 * level**2 * (sides[0] + sides[1]) + up + down)

    for level, mean in zip(levels, study.mean_dwell, strict=True):
        unit = level**2
        step = 1e-4 / unit
        slope = (resolvent(step, level) - resolvent(0.0, level)) / step
        expected = -(up + down) * slope
        if up == down:
            assert expected == pytest.approx(unit / (2.0 * up * up), rel=1e-3)
        # reason: four standard errors of 1000 paths, and steps of a fiftieth of the layer
        assert mean == pytest.approx(expected, rel=0.3)
    # reason: times of 1000 paths spread by a tenth of their mean
    assert study.exponent == pytest.approx(2.0, abs=0.1)
    assert study.resolved.all()
