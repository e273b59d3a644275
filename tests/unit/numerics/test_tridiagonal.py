"""Factors of tridiagonal M-matrices against dense and rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from stiction.numerics import tridiagonal as tri


def system(excess, coupling, rhs, free):
    """Return the table of a system and its marks."""
    n = len(excess)
    table = np.zeros((6, n + 1))
    rows = tri.system_of(table)
    rows.excess[:n], rows.coupling[:], rows.rhs[:n] = excess, coupling, rhs
    return table, np.array(free, np.int64)


def solution(excess, coupling, rhs, free):
    """Return the solution by the kernels."""
    n = len(excess)
    table, marks = system(excess, coupling, rhs, free)
    tri.factorise(n, table, marks)
    tri.solve_factored(n, table)
    return tri.system_of(table).solution[:n]


def dense(excess, coupling):
    """Return the same matrix written out."""
    inner = -np.asarray(coupling)[1:-1]
    diagonal = np.asarray(excess) + coupling[:-1] + coupling[1:]
    return np.diag(diagonal) + np.diag(inner, 1) + np.diag(inner, -1)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100])
def test_solves_like_a_dense_matrix(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        excess, coupling = rng.uniform(0.1, 2.0, n), rng.uniform(0.0, 3.0, n + 1)
        rhs, free = rng.normal(size=n), rng.integers(0, 2, n)
        w = solution(excess, coupling, rhs, free)
        open_rows = np.flatnonzero(free)
        expected = np.zeros(n)
        matrix = dense(excess, coupling)[np.ix_(open_rows, open_rows)]
        expected[open_rows] = np.linalg.solve(matrix, rhs[open_rows])
        np.testing.assert_allclose(w, expected, rtol=1e-12, atol=1e-13)
        assert not w[free == 0].any()


def rational(excess, coupling, rhs):
    """Return the exact solution, by plain elimination of fractions."""
    n = len(excess)
    e, c, b = ([Fraction(float(v)) for v in row] for row in (excess, coupling, rhs))
    diagonal = [e[i] + c[i] + c[i + 1] for i in range(n)]
    for i in range(1, n):
        factor = -c[i] / diagonal[i - 1]
        diagonal[i] -= factor * -c[i]
        b[i] -= factor * b[i - 1]
    w = [Fraction(0)] * n
    for i in reversed(range(n)):
        w[i] = (b[i] + (c[i + 1] * w[i + 1] if i + 1 < n else 0)) / diagonal[i]
    return w


def test_a_stiff_coupling_costs_no_digits():
    """Rigidly joined masses: a stored diagonal would lose all of the excess."""
    n = 5
    excess, coupling = np.full(n, 1e-3), np.full(n + 1, 1e12)
    coupling[0] = coupling[-1] = 0.0
    rhs = np.array([1.0, 2.0, 0.5, 3.0, 0.25])
    w = solution(excess, coupling, rhs, np.ones(n, int))
    exact = [float(v) for v in rational(excess, coupling, rhs)]
    np.testing.assert_allclose(w, exact, rtol=1e-14)
    assert not np.allclose(np.linalg.solve(dense(excess, coupling), rhs), exact, rtol=1e-3)


def test_all_pinned():
    w = solution(np.ones(3), np.ones(4), np.ones(3), np.zeros(3, int))
    assert np.array_equal(w, np.zeros(3))


def test_kernels_are_the_same_in_python():
    rng = np.random.default_rng(3)
    args = rng.uniform(0.1, 1.0, 6), rng.uniform(0.1, 1.0, 7), rng.normal(size=6), np.ones(6, int)
    table, marks = system(*args)
    tri.factorise.py_func(6, table, marks)
    tri.solve_factored.py_func(6, table)
    assert np.array_equal(tri.system_of(table).solution[:6], solution(*args))
