"""Friction laws one by one: what each promises beyond what all do."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

import stiction as st


def test_random_is_seeded():
    law = st.laws.RandomCoulomb(0.3, 0.1, seed=3)
    one, two = law.table(50).mu_static, law.table(50).mu_static
    assert np.array_equal(one, two)
    assert not np.array_equal(one, st.laws.RandomCoulomb(0.3, 0.1, seed=4).table(50).mu_static)
    assert one.min() >= 0.2
    assert one.max() <= 0.4
    # a longer chain keeps the coefficients of its first masses
    assert np.array_equal(law.table(80).mu_static[:50], one)


def test_random_neighbours_are_alike():
    """Correlated draws stay uniform, and correlate by exp(-distance / correlation) behind them."""
    mu = st.laws.RandomCoulomb(0.3, 0.1, seed=3, correlation=5.0).table(200_000).mu_static
    share = np.sort((mu - 0.2) / 0.2)
    assert np.abs(share - np.linspace(0.0, 1.0, share.size)).max() < 0.01
    normal = ndtri(np.clip((mu - 0.2) / 0.2, 1e-9, 1.0 - 1e-9))
    for k in (1, 5, 20):
        assert np.mean(normal[k:] * normal[:-k]) == pytest.approx(np.exp(-k / 5.0), abs=0.01)
    one, two = (st.laws.RandomCoulomb(0.3, 0.1, 3, 4.0).table(n).mu_static for n in (50, 80))
    assert np.array_equal(one, two[:50])


def test_user_friction_has_a_factor_of_each_mass():
    """Three blocks of their own factors move as three chains of one."""
    functions = (lambda v: 0.2 + 0.1 / (1.0 + v), lambda v: -0.1 / (1.0 + v) ** 2)
    each = [1.0, 0.5, 2.0]
    whole = st.Chain(mass=[1.0] * 3, stiffness=1e-9, law=st.UserFriction(*functions, each), v0=1.0)
    for method in (st.EventDriven(), st.ThetaStepper(1e-3)):
        found = st.solve(whole, method, (0.0, 0.2), save=2)
        for i, factor in enumerate(each):
            law = st.UserFriction(*functions, factor)
            alone = st.Chain(mass=[1.0], stiffness=1e-9, law=law, v0=1.0)
            one = st.solve(alone, method, (0.0, 0.2), save=2)
            assert found.final["v"][i] == pytest.approx(one.final["v"][0], rel=1e-8)


def test_random_spread_stays_positive():
    with pytest.raises(st.ModelError, match="mu_spread"):
        st.laws.RandomCoulomb(0.1, 0.2, seed=1)


def test_static_kinetic_jump():
    law = st.StaticKinetic(0.4, 0.25)
    assert float(law.coefficient(0.0)) == 0.25
    assert law.table(2).mu_static[0] == 0.4
    assert law.table(2).mu_kinetic[0] == 0.25


def test_exponential_ends():
    law = st.ExponentialWeakening(0.4, 0.25, 0.1)
    assert float(law.coefficient(0.0)) == 0.4
    assert float(law.coefficient(100.0)) == pytest.approx(0.25, abs=1e-15)
    assert float(law.slope(0.0)) == pytest.approx(-0.15 / 0.1)


def test_static_below_kinetic_is_refused():
    for law in (lambda: st.StaticKinetic(0.2, 0.3), lambda: st.ExponentialWeakening(0.2, 0.3, 0.1)):
        with pytest.raises(st.ModelError, match="mu_static"):
            law()


def test_lists_need_one_length():
    with pytest.raises(st.ModelError, match="one length"):
        st.StaticKinetic([0.4, 0.4], [0.2, 0.2, 0.2])
    law = st.Coulomb([0.1, 0.2])
    assert law.table(2).mu_static.tolist() == [0.1, 0.2]
    with pytest.raises(st.ModelError, match="needs 3 values"):
        law.table(3)


def test_user_derivative_is_checked():
    def mu(v):
        return 0.2 + 0.1 / (1.0 + v)

    st.UserFriction(mu, lambda v: -0.1 / (1.0 + v) ** 2)
    with pytest.raises(st.ModelError, match="derivative"):
        st.UserFriction(mu, lambda v: 0.1 / (1.0 + v) ** 2)


@pytest.mark.parametrize("scale", [1e-9, 1e-7, 1e-6, 1e-3, 1e3])
def test_a_derivative_is_accepted_at_every_speed_scale(scale):
    """The check of a derivative must not depend on the unit of the slip speed."""

    def mu(v):
        return 0.2 + 0.1 * math.exp(-v / scale)

    def slope(v):
        return -0.1 / scale * math.exp(-v / scale)

    law = st.UserFriction(mu, slope)
    assert law.slope(0.0) == slope(0.0)
    with pytest.raises(st.ModelError, match="derivative"):
        st.UserFriction(mu, lambda v: 1.1 * slope(v))


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 0.03, 1.0])
def test_a_derivative_that_vanishes_at_rest_is_accepted(scale):
    """Stribeck's curve with a Gaussian has the slope 0 and a large curvature at v = 0."""

    def mu(v):
        return 0.4 + 0.1 * math.exp(-((v / scale) ** 2))

    def slope(v):
        return -0.2 * v / scale**2 * math.exp(-((v / scale) ** 2))

    assert st.UserFriction(mu, slope).slope(0.0) == 0.0
    with pytest.raises(st.ModelError, match="derivative"):
        st.UserFriction(mu, lambda v: 1.1 * slope(v) if v > 0.0 else -1.0)


def test_infinite_slope_at_zero_speed_is_refused():
    """mu = mu_s - sqrt(v) makes even one mass non-unique, so it is not accepted."""
    with pytest.raises(st.ModelError, match="non-unique"):
        st.UserFriction(
            lambda v: max(0.3 - v**0.5, 0.0), lambda v: -0.5 / v**0.5 if v > 0.0 else -np.inf
        )
