"""One step of the collocation: its order, its damping, its polynomial."""

import numpy as np
import pytest
from scipy import sparse

from stiction.chains.creep import collocation as co


def steps(h, count):
    """Return y = 1 / (1 + t) and its error after `count` steps."""
    y, t, error = np.array([1.0]), 0.0, 0.0
    for _ in range(count):
        slope = sparse.csc_array(np.array([[-2.0 * y[0]]]))
        guess = np.repeat(y[None], co.STAGES, axis=0)
        step = co.collocate(lambda _, u: -(u**2), slope, t, y, h, guess, np.ones(1), 1e-16)
        y, t, error = step.values[-1], t + h, float(abs(step.error[0]))
    return abs(float(y[0]) - 1.0 / (1.0 + t)), error


def test_order_nine():
    off = [steps(2.0 / n, n)[0] for n in (1, 2, 4)]
    assert np.log2(off[0] / off[1]) > 8.5
    assert np.log2(off[1] / off[2]) > 8.5
    estimated = [steps(1.0 / n, n)[1] for n in (4, 8)]
    # reason: an order, seen at two steps
    assert np.log2(estimated[0] / estimated[1]) == pytest.approx(6.0, abs=0.8)
    assert estimated[0] > off[2]


def test_what_is_stiff_dies_at_once():
    y = np.array([1.0])
    slope = sparse.csc_array(np.array([[-1e12]]))
    guess = np.repeat(y[None], co.STAGES, axis=0)
    step = co.collocate(lambda _, u: -1e12 * u, slope, 0.0, y, 1.0, guess, np.ones(1), 1e-12)
    assert abs(step.values[-1, 0]) < 1e-10


def test_polynomial_between_the_stages():
    t = np.concatenate([[0.0], co.NODES])
    step = co.Step(0.0, 1.0, (t**5 - 2.0 * t)[:, None], np.zeros(1), 1)
    at = np.array([0.0, 0.3, 0.77, 1.0])
    assert co.between(step, at)[:, 0] == pytest.approx(at**5 - 2.0 * at, abs=1e-13)
    assert co.integrals(at) @ (t**4) == pytest.approx(at**5 / 5.0, abs=1e-13)


def test_bands_are_solved_as_full_matrices_are():
    rng = np.random.default_rng(0)
    size = 72
    band = sparse.diags_array(
        [rng.normal(size=size - abs(k)) for k in (-2, 0, 1)], offsets=[-2, 0, 1]
    ).tocsc()
    b = rng.normal(size=size * co.STAGES)
    found = co._factored(band, 0.1, co._A, size)(b)
    whole = np.eye(size * co.STAGES) - 0.1 * np.kron(band.toarray(), co._A)
    assert found == pytest.approx(np.linalg.solve(whole, b), rel=1e-9)
