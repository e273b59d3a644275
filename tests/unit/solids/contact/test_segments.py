"""Boundaries cut at both meshes: the same curve, and cuts where a partner's pieces end."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from solid_cases import curve

from stiction.solids.contact.curves import Pieces, knots_of
from stiction.solids.contact.segments import cut, marks_of


@pytest.mark.parametrize(("degree", "rational"), [(1, False), (2, False), (2, True), (3, False)])
def test_a_cut_boundary_is_the_same_curve(degree, rational):
    random = np.random.default_rng(degree)
    count = {1: 5, 2: 6, 3: 8}[degree]
    x = np.stack([np.linspace(0.0, 4.0, count), 0.2 * random.standard_normal(count)], axis=1)
    own = curve(x, degree, weights=1.0 + 0.4 * random.random(count) if rational else None, points=7)
    pieces = own.nodes.shape[0]
    e, xi = random.integers(0, pieces, 9), random.uniform(-1.0, 1.0, 9)
    made = cut(own, np.append(e, 0), np.append(xi, 1.0 - 1e-12), x)
    assert made.nodes.shape[0] == pieces + 9
    # points of both, on the piece and on its part
    for k in range(pieces):
        ends = np.concatenate([[-1.0], np.sort(xi[e == k]), [1.0]])
        first = int(np.sum(e < k)) + k
        for j, (low, high) in enumerate(itertools.pairwise(ends)):
            s = np.array([[-0.7, 0.1, 1.0]])
            part = Pieces(made).points(np.full(3, first + j), s, x)[1]
            at = low + 0.5 * (1.0 + s) * (high - low)
            whole = Pieces(own).points(np.full(3, k), at, x)[1]
            assert_allclose(part[0], whole[0], atol=1e-13)
            assert_allclose(part[1], 0.5 * (high - low) * whole[1], atol=1e-13)
    fine = cut(own, np.zeros(0, dtype=np.int64), np.zeros(0), x)
    assert_allclose(fine.areas, own.areas, rtol=1e-13)
    assert_allclose(knots_of(made)[0][-1], knots_of(own)[0][-1], rtol=1e-6)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_cuts_lie_opposite_to_ends(degree):
    """Nearest points of cuts are ends of pieces; flat and shifted, they are known."""
    count = {1: 5, 2: 6, 3: 8}[degree]
    other = np.stack([np.linspace(4.3, 0.4, count), np.full(count, -0.1)], axis=1)
    mine = np.stack([np.linspace(0.0, 4.0, 6), np.zeros(6)], axis=1)
    points = np.concatenate([mine, other])
    own, partner = curve(mine, 1), curve(other, degree, first=6)
    e, xi = marks_of(own, partner, points)
    place = Pieces(own).points(e, xi[None], points)[1][0, 0]
    ends = Pieces(partner).points(
        np.arange(partner.nodes.shape[0]), np.ones((1, partner.nodes.shape[0])), points
    )[1][0, 0]
    wanted = np.append(ends[ends > 0.0], 4.3)
    assert_allclose(np.unique(np.round(place, 10)), np.sort(wanted[wanted < 4.0]), atol=1e-9)
