"""The first root of event functions, against NumPy's roots."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly

from stiction.numerics.event_localisation import (
    DEPTH,
    NODES,
    NONE,
    _halve,
    bernstein_from_samples,
    first_fall,
    first_root,
    horner,
    nodes,
    tail_from_samples,
    value_and_slope,
)

WORK = np.empty((DEPTH + 1, 40))


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
        assert found == NONE
    else:
        assert found == pytest.approx(inside.min(), abs=1e-9)


def test_close_pair_is_found():
    c = shifted([0.5, 0.5 + 1e-7, 2.0])
    assert first_root(c, c.size, WORK) == pytest.approx(0.5, abs=1e-8)


def test_positive_polynomial_has_none():
    c = shifted([0.5 + 1e-6j, 0.5 - 1e-6j]).real
    assert first_root(np.ascontiguousarray(c), 3, WORK) == NONE


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


# ---- sampled functions


def first(values):
    """Return the first fall of the polynomial with these values at the nodes."""
    b = np.ascontiguousarray(bernstein_from_samples() @ values)
    return first_fall(b, np.empty((DEPTH + 2, NODES + 2)))


def test_first_fall_matches_numpy():
    rng = np.random.default_rng(1)
    with_root = 0
    for _ in range(300):
        roots = np.sort(rng.uniform(-0.5, 1.5, rng.integers(1, NODES)))
        inside = roots[(roots > 0.0) & (roots <= 1.0)]
        if np.diff(roots).size and np.diff(roots).min() < 0.01:
            continue
        sign = np.sign(np.prod(-roots))
        values = sign * np.prod(nodes()[:, None] - roots, axis=1)
        found = first(values)
        if inside.size == 0:
            assert found == NONE
        else:
            with_root += 1
            assert abs(found - inside[0]) < 1e-9
    assert with_root > 50


@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-3, 1e-4])
def test_two_near_roots_are_seen(gap):
    # the function dips below zero for a share `gap` of the step only
    middle = 0.37
    values = (nodes() - middle + gap / 2) * (nodes() - middle - gap / 2)
    assert abs(first(values) - (middle - gap / 2)) < 1e-9 / gap**0.5


def test_a_grazing_root_from_above_is_no_event():
    assert first((nodes() - 0.37) ** 2 + 1e-6) == NONE


def test_a_root_hit_exactly():
    # Newton lands on the root of a line, which is then an end of its bracket
    for root in (0.25, 0.2316870583610342, 0.5, 0.75):
        assert abs(first(root - nodes()) - root) < 1e-14


def test_start_at_or_below_zero():
    b = np.linspace(-1.0, 1.0, NODES)
    assert first_fall(b, np.empty((DEPTH + 2, NODES + 2))) == 0.0


def test_root_at_the_end():
    assert abs(first(1.0 - nodes()) - 1.0) < 1e-12
    assert first(1.0 + 1e-9 - nodes()) == NONE


def test_value_and_slope_of_a_polynomial():
    rng = np.random.default_rng(2)
    poly = np.polynomial.Polynomial(rng.normal(size=NODES))
    b, work = np.ascontiguousarray(bernstein_from_samples() @ poly(nodes())), np.empty(NODES + 2)
    for s in (0.0, 0.3, 1.0):
        value, slope = value_and_slope(b, s, work)
        assert value == pytest.approx(poly(s), abs=1e-11)
        assert slope == pytest.approx(poly.deriv()(s), abs=1e-10)


def test_the_tail_shows_what_the_samples_resolve():
    tail = tail_from_samples()
    slow, fast = np.cos(nodes()), np.cos(40.0 * nodes())
    assert np.abs(tail @ slow).max() < 1e-7
    assert np.abs(tail @ fast).max() > 0.05


def test_nothing_is_written_beyond_the_polynomial():
    room = np.linspace(3.0, 5.0, 3 * NODES)
    before = room.copy()
    value_and_slope(np.linspace(1.0, -1.0, NODES), 0.3, room[:NODES])
    assert np.array_equal(room[NODES:], before[NODES:])
