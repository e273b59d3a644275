"""Elimination in bands against full matrices, in both modes."""

import numpy as np
import pytest

from stiction.numerics.banded import factorise, solve_factorised
from stiction.numerics.jit import running


def band_of(full, lower, upper):
    n = len(full)
    m = np.zeros((n, 2 * lower + upper + 1))
    for i in range(n):
        for j in range(max(i - lower, 0), min(i + upper + 1, n)):
            m[i, j - i + lower] = full[i, j]
    return m


@pytest.mark.parametrize("mode", ["compiled", "plain"])
@pytest.mark.parametrize(("n", "lower", "upper"), [(72, 2, 1), (9, 8, 8), (30, 5, 7), (4, 0, 2)])
def test_bands_are_solved_as_full_matrices_are(n, lower, upper, mode):
    rng = np.random.default_rng(n)
    full = np.tril(np.triu(rng.normal(size=(n, n)), -lower), upper)
    # small pivots force exchanges of rows
    full[np.diag_indices(n)] *= 1.0 if lower == 0 else 1e-9
    b, pivots = rng.normal(size=n), np.zeros(n, dtype=np.int64)
    m, found = band_of(full, lower, upper), b.copy()
    with running(mode):
        assert factorise(m, lower, pivots)
        solve_factorised(m, lower, pivots, found)
    assert found == pytest.approx(np.linalg.solve(full, b), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_a_singular_matrix_is_seen(mode):
    with running(mode):
        assert not factorise(np.zeros((3, 7)), 2, np.zeros(3, dtype=np.int64))
