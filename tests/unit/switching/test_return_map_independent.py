"""Random exits of the return map: fair sides, as many of a kind as there are, known times."""

import importlib
import importlib.util
import math

import numpy as np
import pytest
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


def test_a_random_way_takes_each_way_alike_and_leaves_fairly():
    return_map, _ = private()
    escape = return_map.LineWay.ESCAPE.value
    count = 20_000
    there = np.zeros((count, len(return_map.LineWay)), dtype=bool)
    there[:, [return_map.LineWay.SLIP_MINUS.value, escape]] = True
    ways, times = return_map.RandomWay(hazard=3.0).choose(there, np.random.default_rng(4))
    taken = ways == escape
    assert set(ways.tolist()) == {return_map.LineWay.SLIP_MINUS.value, escape}
    assert abs(taken.mean() - 0.5) < 4.0 * 0.5 / math.sqrt(count)
    dwell, side = times[taken].T
    assert abs((side > 0.0).mean() - 0.5) < 4.0 * 0.5 / math.sqrt(side.size)
    assert kstest(dwell, "expon", args=(0.0, 1.0 / 3.0)).pvalue > 1e-3
    assert np.isinf(times[~taken, 0]).all()


def test_one_point_of_the_escaping_region_in_thirty_comes_from_the_two_fold():
    # sheet of switching, section 5: of 150 random points 5 come from the two-fold, 145 do not
    _, escapes = private()
    count = 600
    exits = escapes.funnel_exits(st.WheelOnTurntable(), count, 0.152, 0.186, seed=3)
    error = math.sqrt(5.0 / 150.0 / 150.0 + 5.0 / 150.0 / count)
    assert exits.share == pytest.approx(5.0 / 150.0, abs=4.0 * error)
    assert exits.x.shape[0] == round(exits.share * count)
