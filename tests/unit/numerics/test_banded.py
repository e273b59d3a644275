"""Elimination in bands against full matrices, in both modes."""

import numpy as np
import pytest

from stiction.numerics.direct.banded import factorise, solve_factorised
from stiction.numerics.jit import running


def band_of(full, reach):
    n = len(full)
    # rows and columns that are not used, and what stands in them
    m = np.full((n + 1, 3 * reach + 2), np.nan)
    m[:n, :-1] = 0.0
    for i in range(n):
        for j in range(max(i - reach, 0), min(i + reach + 1, n)):
            m[j, i - j + 2 * reach] = full[i, j]
    return m


@pytest.mark.parametrize("mode", ["compiled", "plain"])
@pytest.mark.parametrize(("n", "reach"), [(72, 2), (9, 8), (30, 5), (4, 0)])
def test_bands_are_solved_as_full_matrices_are(n, reach, mode):
    rng = np.random.default_rng(n)
    full = np.tril(np.triu(rng.normal(size=(n, n)), -reach), reach)
    # small pivots force exchanges of rows
    full[np.diag_indices(n)] *= 1.0 if reach == 0 else 1e-9
    b, pivots = rng.normal(size=n), np.zeros(n, dtype=np.int64)
    m, found = band_of(full, reach), b.copy()
    with running(mode):
        assert factorise(m, n, reach, pivots)
        solve_factorised(m, n, reach, pivots, found)
    assert found == pytest.approx(np.linalg.solve(full, b), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_a_singular_matrix_is_seen(mode):
    with running(mode):
        assert not factorise(np.zeros((3, 7)), 3, 2, np.zeros(3, dtype=np.int64))
