"""The first root of event polynomials, against NumPy's companion-matrix roots."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from stiction.numerics.locate import NO_ROOT, _halve, first_root, horner

WORK = np.empty((50, 40))


def shifted(roots, scale=1.0):
    c = np.polynomial.polynomial.polyfromroots(roots) * scale
    return c if c[0] > 0 else -c


@given(roots=st.lists(st.floats(-1.0, 3.0).filter(lambda r: abs(r) > 1e-3), min_size=1, max_size=6))
def test_first_root_matches_numpy(roots):
    roots = np.unique(np.round(roots, 3))
    roots = roots[(roots != 0.0) & (roots != 1.0)]
    if roots.size == 0:
        roots = np.array([0.5])
    c = shifted(roots)
    inside = roots[(roots > 0.0) & (roots < 1.0)]
    found = first_root(c, c.size, WORK)
    if inside.size == 0:
        assert found == NO_ROOT
    else:
        assert found == pytest.approx(inside.min(), abs=1e-9)


def test_close_pair_is_found():
    c = shifted([0.5, 0.5 + 1e-7, 2.0])
    assert first_root(c, c.size, WORK) == pytest.approx(0.5, abs=1e-8)


def test_positive_polynomial_has_none():
    c = shifted([0.5 + 1e-6j, 0.5 - 1e-6j]).real
    assert first_root(np.ascontiguousarray(c), 3, WORK) == NO_ROOT


def test_root_at_the_middle_of_a_halving():
    c = shifted([0.5, 0.75, 0.9])
    assert first_root(c, c.size, WORK) == pytest.approx(0.5, abs=1e-12)


def test_root_to_machine_precision():
    c = np.array([1.0, 0.0, -2.0])
    assert abs(first_root(c, 3, WORK) - np.sqrt(0.5)) < 2e-16


def test_horner():
    assert horner(np.array([1.0, 2.0, 3.0]), 3, 2.0) == 17.0


@pytest.mark.parametrize("body", ["plain", "py_func"])
def test_halves_hold_the_same_polynomial(body):
    random = np.random.default_rng(6)
    whole = random.normal(size=6)
    left, right = np.empty(6), whole.copy()
    getattr(_halve, body)(right, left, 6)
    for s in (0.0, 0.3, 1.0):
        # over each half, s runs from 0 to 1 again
        for part, at in ((left, 0.5 * s), (right, 0.5 + 0.5 * s)):
            assert BPoly(part[:, None], [0, 1])(s) == pytest.approx(
                BPoly(whole[:, None], [0, 1])(at), abs=1e-13
            )
