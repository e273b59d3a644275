"""B-splines against SciPy's, which share no code with them."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from stiction.errors import ModelError
from stiction.numerics.bsplines import (
    basis,
    bernstein,
    bezier_extraction,
    greville,
    open_knots,
)

SPLINES = [(p, m) for p in (1, 2, 3, 4) for m in range(1, p + 1)]


def uneven(seed, pieces=6):
    return np.cumsum(np.random.default_rng(seed).random(pieces + 1) + 0.05)


def full(first, values, count):
    """Values of all functions from those of the functions that do not vanish."""
    out = np.zeros((first.size, count))
    columns = first[:, None] + np.arange(values.shape[1])
    out[np.arange(first.size)[:, None], columns] = values
    return out


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_bernstein(degree):
    xi = np.linspace(-1.0, 1.0, 9)
    b, d = bernstein(degree, xi)
    assert np.allclose(b.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert np.allclose(d.sum(axis=1), 0.0, rtol=0, atol=1e-14)
    # the coefficients of x itself are evenly spaced
    places = np.linspace(-1.0, 1.0, degree + 1)
    assert np.allclose(b @ places, xi, rtol=0, atol=1e-15)
    assert np.allclose(d @ places, 1.0, rtol=0, atol=1e-14)
    assert (b >= 0.0).all()


@pytest.mark.parametrize(("degree", "multiplicity"), SPLINES)
def test_basis_matches_scipy(degree, multiplicity):
    knots = open_knots(uneven(degree), degree, multiplicity)
    n = knots.size - degree - 1
    x = np.concatenate([np.random.default_rng(1).uniform(knots[0], knots[-1], 40), knots[[0, -1]]])
    first, values, slopes = basis(knots, degree, x)
    oracle = BSpline(knots, np.eye(n), degree)
    assert np.allclose(full(first, values, n), oracle(x), rtol=0, atol=1e-14)
    inside = slice(0, 40)
    expected = oracle.derivative()(x[inside])
    assert np.allclose(full(first, slopes, n)[inside], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("degree", "multiplicity"), SPLINES)
def test_extraction_reproduces_the_basis(degree, multiplicity):
    breaks = uneven(10 + degree)
    knots = open_knots(breaks, degree, multiplicity)
    first, extraction = bezier_extraction(knots, degree)
    assert extraction.shape == (breaks.size - 1, degree + 1, degree + 1)
    xi = np.array([-0.9, -0.2, 0.5, 0.99])
    b, _ = bernstein(degree, xi)
    for piece in range(breaks.size - 1):
        x = breaks[piece] + 0.5 * (1.0 + xi) * np.diff(breaks)[piece]
        here, values, _ = basis(knots, degree, x)
        assert (here == first[piece]).all()
        assert np.allclose(b @ extraction[piece].T, values, rtol=0, atol=1e-14)
    assert np.allclose(extraction.sum(axis=1), 1.0, rtol=0, atol=1e-14)


def test_greville_points_make_a_straight_line_the_identity():
    knots = open_knots(uneven(3), 2)
    x = np.linspace(knots[0], knots[-1], 17)
    first, values, slopes = basis(knots, 2, x)
    places = greville(knots, 2)[first[:, None] + np.arange(3)]
    assert np.allclose((values * places).sum(axis=1), x, rtol=0, atol=1e-14)
    assert np.allclose((slopes * places).sum(axis=1), 1.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "breaks", [[0.0, 1.0, 1.0], [0.0], [1.0, 0.0], [0.0, np.nan], [[0.0, 1.0]]]
)
def test_breaks_must_rise(breaks):
    with pytest.raises(ModelError, match="increasing"):
        open_knots(np.array(breaks), 2)


def test_multiplicity_must_not_exceed_the_degree():
    with pytest.raises(ModelError, match="from 1 to 2"):
        open_knots(np.array([0.0, 1.0]), 2, 3)
