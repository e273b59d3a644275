"""The stick set as the image of a box: volume, moments and intervals in closed form.

With r = b f - K x every state of rest is x = K^-1 (b f - r), r in the box |r_i| <= mu N_i.
Source: formula sheet of chains, section 2.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import stiction as st

MASS, STIFFNESS, MU, FORCE = [1.0, 2.0, 4.0], [20.0, 35.0, 15.0], 0.1, 3.0
BOUND = MU * 9.81 * np.array(MASS)


@pytest.fixture(scope="module")
def stick():
    return st.StickSet(st.Chain(mass=MASS, stiffness=STIFFNESS, law=st.Coulomb(MU)), FORCE)


def inverse():
    """Return K^-1 of springs in a row from a wall: sums of 1/k up to the nearer mass."""
    soft = np.cumsum(1.0 / np.array(STIFFNESS))
    i = np.arange(3)
    return soft[np.minimum(i[:, None], i[None])]


def test_volume_is_the_box_over_the_stiffnesses(stick):
    # prod(2 mu N_i) / prod(k_i), since det K = prod k_i
    volume = np.prod(2.0 * BOUND) / np.prod(STIFFNESS)
    assert stick.volume == pytest.approx(volume, rel=1e-12)
    assert stick.log_volume == pytest.approx(math.log(volume), rel=1e-12)


def test_vertices_are_those_of_the_box(stick):
    expected = [
        inverse() @ (np.array([0.0, 0.0, FORCE]) - np.array(signs) * BOUND)
        for signs in itertools.product((-1.0, 1.0), repeat=3)
    ]
    found = stick.vertices()
    order = np.lexsort(np.round(found, 9).T), np.lexsort(np.round(expected, 9).T)
    assert_allclose(found[order[0]], np.array(expected)[order[1]], rtol=1e-12)


def test_intervals_are_those_of_the_sheet(stick):
    # centre f sum_{l <= i} 1/k_l, half width mu g sum_{l <= i} (sum_{j >= l} m_j) / k_l
    behind = np.array([7.0, 6.0, 4.0])
    box = stick.projections()
    assert_allclose(box.center, FORCE * np.cumsum(1.0 / np.array(STIFFNESS)), rtol=1e-12)
    half = MU * 9.81 * np.cumsum(behind / np.array(STIFFNESS))
    assert_allclose(box.upper - box.center, half, rtol=1e-12)
    assert_allclose(box.center - box.lower, half, rtol=1e-12)


def test_samples_are_even(stick):
    # uniform on the box: mean 0, variance a^2/3 and fourth moment a^4/5 of every residual
    count = 20_000
    x = stick.sample(count, seed=11)
    rest = np.array([0.0, 0.0, FORCE]) - np.linalg.solve(inverse(), x.T).T
    rest /= BOUND
    assert np.abs(rest).max() <= 1.0 + 1e-12
    assert np.abs(rest.mean(axis=0)).max() < 4.0 * math.sqrt(1.0 / 3.0 / count)
    spread = np.cov(rest.T, bias=True)
    error = math.sqrt(4.0 / 45.0 / count)
    assert np.abs(spread - np.eye(3) / 3.0).max() < 5.0 * error
    # an even spread, not merely one of the right width: each tenth holds a tenth
    for column in rest.T:
        share = np.histogram(column, bins=10, range=(-1.0, 1.0))[0] / count
        assert np.abs(share - 0.1).max() < 4.5 * math.sqrt(0.09 / count)


def test_just_inside_sticks_and_just_outside_does_not(stick):
    for signs in itertools.product((-1.0, 0.3, 1.0), repeat=3):
        for part, inside in ((1.0 - 1e-9, True), (1.0 + 1e-6, max(map(abs, signs)) < 1.0)):
            rest = part * np.array(signs) * BOUND
            x = inverse() @ (np.array([0.0, 0.0, FORCE]) - rest)
            assert stick.contains(x) == inside
