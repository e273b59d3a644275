"""Signs of determinants from the symmetric part, against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from stiction.numerics.direct import pardiso
from stiction.numerics.direct.factors import Pattern
from stiction.numerics.direct.signs import sign_of_parts, unsymmetric_rows
from stiction.numerics.linear_solvers import Pardiso

needs_mkl = pytest.mark.skipif(
    not pardiso.installed(), reason="needs MKL: pip install stiction[pardiso]"
)


def rubbed(n, rows, seed, shift=0.0):
    """Return a symmetric matrix of a band, with unsymmetric entries among some of its rows."""
    rng = np.random.default_rng(seed)
    dense = np.diag(4.0 - shift + 0.1 * rng.normal(size=n))
    for k in (1, 2):
        side = rng.normal(size=n - k)
        dense += np.diag(side, k) + np.diag(side, -k)
    # patterns are symmetric where there is something on one side alone
    for i in rows:
        for j in rows:
            if abs(i - j) <= 2 and i != j:
                dense[i, j] += rng.normal()
    return dense


def cut(dense, rows):
    """Return what elimination of the other rows leaves, of the mirrored upper half."""
    mirrored = np.triu(dense) + np.triu(dense, 1).T
    rest = np.setdiff1d(np.arange(dense.shape[0]), rows)
    a, b, c = (mirrored[np.ix_(r, s)] for r, s in ((rest, rest), (rest, rows), (rows, rows)))
    return c - b.T @ np.linalg.solve(a, b), int(np.sum(np.linalg.eigvalsh(a) < 0.0))


def test_rows_that_are_not_symmetric():
    rows = np.array([3, 4, 5, 11, 12])
    pattern = Pattern(sp.csr_matrix(rubbed(40, rows, 0)))
    data = pattern.values(sp.csr_matrix(rubbed(40, rows, 0)))
    assert np.array_equal(unsymmetric_rows(pattern, data), rows)
    # more than a quarter of them are many
    many = np.arange(20)
    matrix = sp.csr_matrix(rubbed(40, many, 0))
    assert unsymmetric_rows(Pattern(matrix), matrix.data) is None
    # entries without a mirrored one
    matrix = sp.csr_matrix(np.triu(rubbed(8, [], 0)))
    assert unsymmetric_rows(Pattern(matrix), matrix.data) is None


@pytest.mark.parametrize("shift", [0.0, 3.0, 5.0])
def test_sign_is_the_dense_one(shift):
    signs = set()
    for seed in range(24):
        dense = rubbed(40, np.arange(10, 17), seed, shift)
        matrix = sp.csr_matrix(dense)
        pattern = Pattern(matrix)
        rows = unsymmetric_rows(pattern, matrix.data)
        # more rows than are unsymmetric will do
        for chosen in (rows, np.union1d(rows, [1, 30])):
            left, negative = cut(dense, chosen)
            sign = sign_of_parts(pattern, matrix.data, chosen, left, negative)
            assert sign == np.linalg.slogdet(dense)[0]
        signs.add(sign)
    assert signs == {1, -1}


def test_a_singular_remainder_has_no_sign():
    dense = rubbed(12, [4, 5], 1)
    matrix = sp.csr_matrix(dense)
    rows = np.array([4, 5])
    pattern = Pattern(matrix)
    assert sign_of_parts(pattern, matrix.data, rows, np.full((2, 2), np.nan), 0) is None


@needs_mkl
def test_pardiso_takes_signs_from_the_symmetric_part(monkeypatch):
    monkeypatch.setattr(pardiso, "_LARGE", 1)
    signs, asked = set(), []
    monkeypatch.setattr(
        pardiso.PardisoFactors, "_of_superlu", property(lambda self: asked.append(self))
    )
    with Pardiso(threads=1).start() as workspace:
        first = sp.csr_matrix(rubbed(60, np.arange(10, 20), 0))
        # rows that slide come and go: the pattern and those that were cut out stay, or not
        for seed, (low, high) in enumerate(
            [(10, 20), (11, 18), (8, 22), (9, 9), (12, 14), (10, 20)] * 4
        ):
            dense = rubbed(60, np.arange(low, high), seed, 3.0)
            values = dense[np.repeat(np.arange(60), np.diff(first.indptr)), first.indices]
            first.data[:] = values
            factors = workspace.factorise(first)
            assert factors.sign == np.linalg.slogdet(dense)[0]
            signs.add(factors.sign)
    assert signs == {1, -1}
    assert not asked
