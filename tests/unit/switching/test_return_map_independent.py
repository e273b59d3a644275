"""Random exits of the return map: fair sides, as many of a kind as there are, known times."""

import importlib
import importlib.util
import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.stats import kstest

import stiction as st


def private():
    """Return what has no public name: the modules of the return map and of its exits."""
    folder = "stiction.switching.wheel"
    package = importlib.util.find_spec(folder).submodule_search_locations is not None
    home = folder if package else "stiction.switching"
    return [importlib.import_module(f"{home}.{name}") for name in ("return_map", "escapes")]


def test_drawn_exits_are_even_over_points_and_fair_over_sides():
    _, escapes = private()
    x = np.column_stack([np.arange(8.0), np.zeros(8), np.zeros(8)])
    exits = escapes.Escapes(x, 10.0 + np.arange(8.0), 0.5)
    place, side, dwell = exits.draw(20_000, np.random.default_rng(2))
    assert set(side.tolist()) == {-1.0, 1.0}
    assert abs((side > 0.0).mean() - 0.5) < 4.0 * 0.5 / math.sqrt(20_000)
    # the dwelling belongs to the point
    np.testing.assert_array_equal(dwell, 10.0 + place[:, 0])
    share = np.bincount(place[:, 0].astype(int), minlength=8) / 20_000
    assert np.abs(share - 0.125).max() < 4.0 * math.sqrt(0.125 * 0.875 / 20_000)
    # sides are drawn apart from points
    assert abs(np.corrcoef(side, place[:, 0])[0, 1]) < 4.0 / math.sqrt(20_000)


def test_random_exits_are_equally_likely_and_leave_to_both_sides():
    return_map, _ = private()
    escape = return_map.LineExit.ESCAPE.value
    count = 20_000
    there = np.zeros((count, len(return_map.LineExit)), dtype=bool)
    there[:, [return_map.LineExit.SLIP_MINUS.value, escape]] = True
    ways, times = return_map.RandomExit(hazard=3.0).choose(there, np.random.default_rng(4))
    taken = ways == escape
    assert set(ways.tolist()) == {return_map.LineExit.SLIP_MINUS.value, escape}
    assert abs(taken.mean() - 0.5) < 4.0 * 0.5 / math.sqrt(count)
    dwell, side = times[taken].T
    assert abs((side > 0.0).mean() - 0.5) < 4.0 * 0.5 / math.sqrt(side.size)
    assert kstest(dwell, "expon", args=(0.0, 1.0 / 3.0)).pvalue > 1e-3
    assert np.isinf(times[~taken, 0]).all()


# ---- which points of the escaping region come from the two-fold, by another integrator

# sheet of switching, section 1: d = m = mu = 1, c1 = c2 = 0.001, w0 = -1, gamma = -3 pi / 4
SIN = COS = -math.sqrt(0.5)
BETA2, C, R0, KAPPA, K2 = 0.05**2, 1e-3, 0.1, 0.272411537140620278, 2.22709922538860144
STAR = np.array([0.1859, -0.037 * (1.0 - 0.1859), -1.037])


def rolling(x):
    """Return g = -(v - Om) cos + r Om sin."""
    r, v, w = x[:3]
    return -(v - w - 1.0) * COS + r * (w + 1.0) * SIN


def backward(_, x):
    """Return d(x, dwell)/ds against the flow in the escaping region, made smooth; section 3."""
    r, v, w = x[:3]
    p1, p2 = K2 * (R0 - r) - C * v + r * w**2, r * COS + (BETA2 + r**2) * SIN
    drag, side = (C + 2.0 * r * v) * w, math.copysign(1.0, rolling(x))
    free = np.array([(BETA2 + r**2) * v, (BETA2 + 1.0 + r**2) * p1 - drag, p1 - drag])
    tied = np.array([0.0, p2 + side * KAPPA, r * COS + side * KAPPA])
    normal = np.array([-(w + 1.0) * COS, -SIN, SIN - r * COS])
    a, b = normal @ tied, normal @ free
    return np.append(-(a * free - b * tied), a)


def traced(x):
    """Return whether the orbit through x comes from the two-fold, and its dwelling."""

    def turns(_, x):
        return rolling(x)

    def arrives(_, x):
        return np.abs(x[:3] - STAR).max() - 1e-7

    turns.terminal = arrives.terminal = True
    options = {"rtol": 1e-9, "atol": 1e-12, "events": [turns, arrives], "method": "DOP853"}
    leg = solve_ivp(backward, (0.0, 1e6), np.append(x, 0.0), **options)
    assert leg.status == 1
    return leg.t_events[1].size > 0, leg.y[3, -1]


def test_exits_behind_the_two_fold_by_another_integrator():
    _, escapes = private()
    wheel, count = st.WheelOnTurntable(), 24
    points = escapes.escaping_points(wheel, count, 0.178, 0.186, seed=3)
    found = escapes.funnel_exits(
        wheel, count, 0.178, 0.186, seed=3, method=st.EventDriven(rtol=1e-9)
    )
    comes, dwell = map(np.array, zip(*(traced(x) for x in points), strict=True))
    assert 4 < comes.sum() < 20
    np.testing.assert_array_equal(found.x, points[comes])
    assert found.share == comes.mean()
    np.testing.assert_allclose(found.dwell, dwell[comes], rtol=1e-4)
