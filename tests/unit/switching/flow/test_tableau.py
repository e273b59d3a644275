"""Coefficients of the Runge-Kutta methods satisfy the conditions of their order.

Source: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5; II, IV.5.
"""

import numpy as np
import pytest

from stiction.switching.flow.tableau import AT_END, RADAU, RADAU_NODES, STAGES, tableau

A, C = np.array(RADAU), np.array(RADAU_NODES)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_radau_is_collocation(k):
    """C(3): sum a_ij c_j^(k-1) = c_i^k / k."""
    np.testing.assert_allclose(A @ C ** (k - 1), C**k / k, rtol=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_radau_has_order_five(k):
    """B(5): sum b_j c_j^(k-1) = 1 / k, with b the last row."""
    assert A[-1] @ C ** (k - 1) == pytest.approx(1.0 / k, rel=1e-14)


def test_radau_nodes_are_the_roots_of_its_polynomial():
    """d^2 / dx^2 of x^2 (x - 1)^3, which is 2 (x - 1)(10 x^2 - 8 x + 1)."""
    assert sorted(np.roots(np.polymul([1.0, -1.0], [10.0, -8.0, 1.0])).real) == pytest.approx(C)


def test_the_explicit_pair():
    table = tableau()
    assert table.shape == (23, STAGES)
    stages, b = table[:STAGES], table[16]
    assert np.array_equal(stages, np.tril(stages, -1))
    c = stages.sum(axis=1)
    assert (c[0], c[AT_END]) == (0.0, pytest.approx(1.0, rel=1e-14))
    np.testing.assert_array_equal(table[AT_END], b)
    for k in range(1, 9):
        assert b @ c ** (k - 1) == pytest.approx(1.0 / k, rel=1e-12)
    # conditions of trees with two levels
    for k in (2, 3, 4):
        assert b @ (c * (stages @ c ** (k - 1))) == pytest.approx(1.0 / (k * (k + 2)), rel=1e-12)
    # errors vanish for what both solutions integrate
    for row in (17, 18):
        assert table[row].sum() == pytest.approx(0.0, abs=1e-13)
        assert table[row] @ c == pytest.approx(0.0, abs=1e-13)
    assert np.abs(table[17]).max() > 1e-3
    assert np.abs(table[18]).max() > 1e-3
    for row in range(19, 23):
        assert table[row].sum() == pytest.approx(0.0, abs=1e-10)
