"""Two-folds whose places and numbers are known in advance, near each other in one box."""

import functools
import importlib

import numpy as np
import pytest

import stiction as st


def all_two_folds(*args, **more):
    """Search a box; the name is public in its room, or was in its module."""
    room = importlib.import_module("stiction.switching")
    if not hasattr(room, "all_two_folds"):
        room = importlib.import_module("stiction.switching.two_fold")
    return room.all_two_folds(*args, **more)


@functools.cache
def pair(apart):
    """Return a flow with two-folds at (0, 0, 0) and (0, 0, apart), and nowhere else.

    h = x, L+ = -y, L- = z (z - apart); so K++ = -1, K+- = -J2, K-+ = (2 z - apart) J1 and
    K-- = 2 z - apart.
    """
    flows = {
        0.1: lambda x: [x[2] * (x[2] - 0.1), -1.5, 1.0],
        1e-3: lambda x: [x[2] * (x[2] - 1e-3), -1.5, 1.0],
    }
    return st.PiecewiseSmooth(
        h=lambda x: x[0],
        f_plus=lambda x: [-x[1], 1.0, -1.2],
        f_minus=flows[apart],
        x0=[0.5, 0.1, 0.1],
    )


@pytest.mark.parametrize("apart", [0.1, 1e-3])
def test_two_that_are_close_are_distinguished(apart):
    flow = pair(apart)
    found = all_two_folds(flow, (-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), n=24, seed=2)
    places = np.array([point.x for point in found])
    assert places.shape == (2, 3)
    places = places[np.argsort(places[:, 2])]
    np.testing.assert_allclose(places, [[0.0, 0.0, 0.0], [0.0, 0.0, apart]], atol=1e-9)


def test_their_numbers_are_those_of_the_fields():
    found = all_two_folds(pair(0.1), (-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), n=24, seed=2)
    low, high = sorted(found, key=lambda point: point.x[2])
    for point, slope in ((low, -0.1), (high, 0.1)):
        np.testing.assert_allclose(
            [point.Kpp, point.Kpm, point.Kmp, point.Kmm],
            [-1.0, 1.5, -1.2 * slope, slope],
            rtol=1e-8,
        )
    # K++ < 0 < K-- at the upper one alone: J1 = K-+ / sqrt(-K++ K--), J2 = -K+- / sqrt(-K++ K--)
    root = np.sqrt(0.1)
    np.testing.assert_allclose([high.J1, high.J2], [-0.12 / root, -1.5 / root], rtol=1e-8)


def test_one_alone_is_found_once():
    # far from the other one a box holds one two-fold, however many searches end in it
    found = all_two_folds(pair(0.1), (-0.5, -0.5, 0.06), (0.5, 0.5, 1.0), n=24, seed=2)
    assert len(found) == 1
    np.testing.assert_allclose(found[0].x, [0.0, 0.0, 0.1], atol=1e-9)
