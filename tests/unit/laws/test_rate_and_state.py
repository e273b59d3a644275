"""Rate-and-state laws: two forms of one coefficient, states in closed form, bad input."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st
from stiction.exact import rate_and_state as exact
from stiction.laws import AgeingLaw, Dahl, RateAndStateFriction, SlipLaw

LAWS = (AgeingLaw, SlipLaw)


def test_the_two_forms_agree():
    v, theta = 10.0 ** np.linspace(-12.0, 0.0, 50), 10.0 ** np.linspace(-5.0, 9.0, 50)
    smooth = AgeingLaw().coefficient(v, theta)
    assert smooth == pytest.approx(AgeingLaw(regularised=False).coefficient(v, theta), rel=1e-12)


def test_the_arsinh_is_odd_and_passes_through_zero():
    law = AgeingLaw(a=0.3, b=0.01, length=1e-5, mu0=0.1)
    v = np.array([-1e-6, -1e-9, 0.0, 1e-9, 1e-6])
    mu = law.coefficient(v, 1.0)
    assert mu[2] == 0.0
    assert mu == pytest.approx(-mu[::-1], rel=1e-15)
    assert np.all(np.diff(mu) > 0.0)


def test_large_powers_do_not_overflow():
    mu = AgeingLaw(a=1e-5, b=0.01, length=1e-5).coefficient(1e-3, 1e8)
    assert np.isfinite(mu)
    assert mu > 0.6


def test_chains_have_the_coefficient_of_a_small_direct_effect():
    law = AgeingLaw(a=5e-4, b=6e-4, mu0=0.6, length=1e-5)
    friction, v = RateAndStateFriction(law), np.array([1e-9, 1e-6, -1e-3, 0.0])
    found = friction.response(
        v, np.full((1, 4), np.log(10.0)), np.ones((1, 4)), friction.parameters(4)
    )
    assert found.coefficient == pytest.approx(law.coefficient(v, 10.0), rel=1e-13)
    assert found.by_speed[:3] == pytest.approx(law.a / np.abs(v[:3]))


@pytest.mark.parametrize("ages", [None, 5.0, [1.0, 2.0]])
def test_friction_of_chains_starts_in_its_state(ages):
    law = RateAndStateFriction(age_start=ages)
    start = 10.0 if ages is None else np.array(ages)
    assert law.coefficient(1e-6) == pytest.approx(0.6)
    assert law.static() == pytest.approx(0.6)
    assert law.slope(1e-6) == pytest.approx((0.01 - 0.015) / 1e-6)
    assert law.state_jump("stick")[..., 0] == pytest.approx(np.log(start))
    # d ln(theta) / dt = 1 / theta - V / L
    assert law.state_rate(1e-6)[..., 0] == pytest.approx(1.0 / start - 0.1, abs=1e-15)
    # Dahl: dz/dt = w (1 - sigma0 z sgn(w) / mu)
    rates = Dahl(1e4, 0.3).state_rate([0.1, -0.1], [[1e-5], [1e-5]])
    assert rates[:, 0] == pytest.approx([0.1 * (1.0 - 1.0 / 3.0), -0.1 * (1.0 + 1.0 / 3.0)])


@pytest.mark.parametrize("law", LAWS)
def test_velocity_steps(law):
    rng = np.random.default_rng(3)
    closed = exact.ageing_after_step if law is AgeingLaw else exact.slip_law_after_step
    for _ in range(20):
        length, v = 10.0 ** rng.uniform((-6, -8), (-3, -3))
        made, theta0 = law(length=length), length / v * 10.0 ** rng.uniform(-2, 2)
        t = length / v * np.linspace(0.0, 5.0, 7)

        def rate(t, y, made=made, v=v):
            return made.state_rate(v, np.exp(y)) / np.exp(y)

        by_rate = solve_ivp(
            rate, (0.0, t[-1]), [np.log(theta0)], "DOP853", t_eval=t, rtol=1e-13, atol=1e-13
        )
        found = made.state_after(v, theta0, t)
        assert found == pytest.approx(closed(t, v, theta0, length), rel=1e-13)
        assert found == pytest.approx(np.exp(by_rate.y[0]), rel=1e-10)
        assert made.state_rate(v, made.steady_state(v)) == pytest.approx(0.0, abs=1e-15)
    assert exact.ageing_after_step([0.0, 2.0], 0.0, 1.0, 1e-5).tolist() == [1.0, 3.0]


def test_stick_ages_one_law_and_not_the_other():
    assert AgeingLaw().state_after(0.0, 2.0, 3.0) == 5.0
    assert SlipLaw().state_after(0.0, 2.0, 3.0) == 2.0
    assert SlipLaw().state_rate(0.0, 2.0) == 0.0


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"a": 0.0}, "a"),
        ({"a": [0.01, -1.0]}, "a"),
        ({"b": -0.1}, "b"),
        ({"length": np.nan}, "length"),
        ({"speed0": 0.0}, "speed0"),
        ({"regularised": 1}, "regularised"),
    ],
)
def test_bad_numbers_are_refused(change, field):
    with pytest.raises(st.ModelError, match=f"AgeingLaw.{field}"):
        AgeingLaw(**change)
    with pytest.raises(st.ModelError, match=r"one per cell: 3"):
        AgeingLaw(a=[0.01, 0.02]).spread(3)
