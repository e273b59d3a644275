"""Centrelines: where the nodes stand, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.rods.centreline import Arc, Curve, Helix, Straight


def test_nodes_of_a_straight_line_are_evenly_spread():
    points = Straight([0, 0, 1], [1, 2, 1]).points(5)
    assert_allclose(points, np.linspace([0, 0, 1], [1, 2, 1], 5), atol=1e-15)


def test_nodes_of_an_arc_stand_on_its_circle():
    points = Arc([1, 0, 0], [0, 2, 0], [-3, 0, 0], 0.5, 1.2).points(7)
    assert_allclose(np.linalg.norm(points - [0.5, 0, 0], axis=1), 0.5, rtol=1e-14)
    assert_allclose(points[-1], [0.5 + 0.5 * np.cos(1.2), 0.5 * np.sin(1.2), 0.0], atol=1e-15)
    assert np.ptp(np.linalg.norm(np.diff(points, axis=0), axis=1)) <= 1e-15


def test_nodes_of_a_helix_keep_radius_and_pitch():
    points = Helix([0, 0, 1], [0, 0, 3], 0.2, 0.1, 2.0).points(41)
    assert_allclose(np.hypot(points[:, 0], points[:, 1]), 0.2, rtol=1e-13)
    assert_allclose(points[:, 2], 1.0 + np.linspace(0.0, 0.2, 41), rtol=1e-13)


def test_a_phase_begins_a_helix_further_along():
    # the same helix, begun one node later and lowered by what it has risen there
    whole = Helix([1, 0, 1], [0, 0, 3], 0.2, 0.1, 2.0).points(41)
    later = Helix([1, 0, 1], [0, 0, 3], 0.2, 0.1, 2.0, phase=2.0 * np.pi * 2.0 / 40).points(41)
    assert_allclose(later[:-1], whole[1:] - [0.0, 0.0, 0.2 / 40], atol=1e-14)


def test_directions_may_have_any_length():
    unit = Arc([0, 0, 0], [1, 0, 0], [0, 1, 0], 2.0, 1.0).points(9)
    assert_allclose(Arc([0, 0, 0], [1e-8, 0, 0], [0, 3e-9, 0], 2.0, 1.0).points(9), unit)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Straight([0, 0, 0], [0, 0, 0]),
        lambda: Straight([0, 0, np.nan], [1, 0, 0]),
        lambda: Straight([0, 0], [1, 0, 0]),
        lambda: Arc([0, 0, 0], [1, 0, 0], [2, 0, 0], 1.0, 1.0),
        lambda: Arc([0, 0, 0], [1e7, 0, 0], [1e7, 1e-4, 0], 1.0, 1.0),
        lambda: Arc([0, 0, 0], [1, 0, 0], [0, 0, 0], 1.0, 1.0),
        lambda: Arc([0, 0, 0], [1, 0, 0], [0, 1, 0], -1.0, 1.0),
        lambda: Helix([0, 0, 0], [0, 0, 0], 1.0, 1.0, 1.0),
        lambda: Curve([[0, 0, 0]]),
    ],
)
def test_bad_centrelines_are_refused(make):
    with pytest.raises(ModelError, match="Why"):
        make()
