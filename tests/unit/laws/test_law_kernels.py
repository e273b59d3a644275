"""The linear equations of laws with several states, against NumPy's."""

import numpy as np
import pytest

from stiction.laws import law_kernels as lk


@pytest.mark.parametrize("seed", range(5))
def test_elimination_solves_systems_that_need_every_pivot(seed):
    # (1 - span A) x = b, with A made so that each column's largest entry is the last left
    random = np.random.default_rng(seed)
    count, span = 4, 0.3
    matrix = random.uniform(-1.0, 1.0, (count, count)) + 8.0 * np.eye(count)[::-1]
    right = random.uniform(-1.0, 1.0, count)
    row = np.zeros(lk.width_of(0, count))
    row[lk.N_PARAMETER], row[lk.N_STATE] = 0, count
    at, out = lk.HEADER + lk.MATRIX * count, lk.HEADER + lk.ALONG * count
    row[at : at + count * count] = ((np.eye(count) - matrix) / span).ravel()
    row[out : out + count] = right
    lk._solve(row, count, span, out)
    assert row[out : out + count] == pytest.approx(np.linalg.solve(matrix, right), rel=1e-10)
