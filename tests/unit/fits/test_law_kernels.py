"""What kernels do beside what the laws themselves say, and both modes to the same bits."""

import math

import numpy as np
import pytest
from fit_cases import cases, fields

from stiction.exact.rate_and_state import ageing_after_step
from stiction.fits import Curve
from stiction.fits.predicting.law_kernels import (
    AGEING_COULOMB,
    BOUC_WEN,
    RATE_STATE,
    state_after,
)
from stiction.fits.predicting.models import Predictor
from stiction.fits.rigs import ImposedSlip
from stiction.laws import AgeingCoulomb, AgeingLaw, BoucWen, Dahl, LuGre, SlipLaw
from stiction.numerics.jit import running

LAWS = [
    Dahl(2e4, 0.3),
    Dahl(2e4, 0.3, 2),
    LuGre(2e4, 300.0, 50.0, 0.4, 0.3, 5e-5),
    LuGre(2e4, 300.0, 50.0, 0.4, 0.3, 5e-5, 1),
    BoucWen(2e4, 1.0, 4e4, 2e4),
    BoucWen(2e4, 1.0, 4e4, 4e4),
    BoucWen(2e4, 1.0, 4e4, -2e4),
    BoucWen(2e4, 0.9, 4e9, 1e9, 2),
    BoucWen(2e4, 0.9, 4e9, -4e9 + 1e7, 2),
]


def followed(law, x, t):
    """Return the law's own coefficient by many small steps of Runge and Kutta."""
    p = [np.atleast_1d(row) for row in law.parameters(1)]
    z, made = float(law.state_start(1)[0, 0]), []
    for k in range(x.size):
        w = (x[k] - x[k - 1]) / (t[k] - t[k - 1]) if k else 0.0
        parts = 400
        h = (t[k] - t[k - 1]) / parts if k else 0.0

        def rate(z, w=w):
            at = np.array([[z]])
            v = np.array([w])
            sides = np.where(law.switches(v, at, p) >= 0.0, 1.0, -1.0)
            return float(law.response(v, at, sides, p).rate[0])

        for _ in range(parts if k else 0):
            a = rate(z)
            b = rate(z + 0.5 * h * a)
            c = rate(z + 0.5 * h * b)
            d = rate(z + h * c)
            z += h / 6.0 * (a + 2.0 * (b + c) + d)
        made.append(z)
    return np.array(made)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_states_at_constant_speed_are_those_of_the_law(law):
    t = np.linspace(0.0, 1.0, 9)
    x = 1e-5 * np.array([0.0, 1.0, 2.5, 1.0, -2.0, -4.0, -3.9, 1.0, 6.0])
    curve = Curve(force=np.sin(t), time=t, displacement=x, velocity=np.ones(9))
    predict = Predictor(curve, ImposedSlip(), type(law))
    reported = predict(fields(law), {}).force
    z = followed(law, x, t)
    p = [np.atleast_1d(row) for row in law.parameters(1)]
    v = predict.speed
    expected = []
    for w, at in zip(v, z, strict=True):
        at_, w_ = np.array([[at]]), np.array([w])
        sides = np.where(law.switches(w_, at_, p) >= 0.0, 1.0, -1.0)
        expected.append(float(law.response(w_, at_, sides, p).coefficient[0]))
    # reason: 400 steps a row, kinks at z = 0 inside them
    np.testing.assert_allclose(reported, expected, rtol=0.0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("evolution", [AgeingLaw, SlipLaw])
@pytest.mark.parametrize("slip", [0.0, 3e-6, -4e-5, 2e-3])
@pytest.mark.parametrize("above", [1e-4, 1.0, 50.0, 1e15])
def test_rate_and_state_at_constant_speed_is_that_of_the_law(evolution, slip, above):
    """From younger and from older than the steady age, down to where nothing is left of it."""
    law, dt = evolution(0.01, 0.015, 2e-5, 0.6), 0.7
    p = np.array([0.01, 0.015, 2e-5, 0.6, 1e-6, float(evolution is SlipLaw), 1.0])
    theta = above * (2e-5 * dt / abs(slip) if slip else 1.0)
    expected = math.log(float(law.state_after(slip / dt, theta, dt)))
    reported = state_after(RATE_STATE, p, math.log(theta), slip, dt)
    assert reported == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("slip", [1e-9, 1e-15, 1e-17, 1e-22])
def test_contacts_age_through_a_slip_that_is_rounding_of_the_displacement(slip):
    """The age after 0.7 s is 1.7 s, less the slip over the length in its own measure."""
    length, dt, theta = 1e-5, 0.7, 1.0
    u = slip / length
    # series of theta exp(-u) + dt (1 - exp(-u)) / u, whose next terms are below 1e-12
    expected = theta * (1.0 - u + 0.5 * u * u) + dt * (1.0 - 0.5 * u + u * u / 6.0)
    p = np.array([0.3, 0.02, 0.1, length])
    assert state_after(AGEING_COULOMB, p, theta, slip, dt) == pytest.approx(expected, rel=1e-12)
    p = np.array([0.01, 0.015, length, 0.6, 1e-6, 0.0, 1.0])
    z = state_after(RATE_STATE, p, math.log(theta), -slip, dt)
    assert math.exp(z) == pytest.approx(expected, rel=1e-12)
    law = AgeingLaw(0.01, 0.015, length, 0.6)
    for reported in (
        law.state_after(slip / dt, theta, dt),
        ageing_after_step(dt, slip / dt, theta, length),
    ):
        assert float(reported) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("below", [0.0, 1e-12, 1e-9, 1e-6])
def test_bouc_wen_unloads_linearly_as_gamma_tends_to_beta(below):
    """dq/dx = a - (beta - gamma) q on q < 0, whose second-order term is below 1e-12 here."""
    a, beta, slip, q = 1.0, 2e4, 3e-6, -1e-5
    unloading = beta - beta * (1.0 - below)
    expected = q + (a - unloading * q) * slip * (1.0 - 0.5 * unloading * slip)
    p = np.array([2e4, a, beta, beta * (1.0 - below), 1.0])
    assert state_after(BOUC_WEN, p, q, slip, 1.0) == pytest.approx(expected, rel=1e-12, abs=0.0)


def test_ageing_contacts_hold_more():
    law = AgeingCoulomb(0.3, 0.02, 0.1, 1e-3)
    t = np.arange(12.0)
    v = np.where((t > 2) & (t < 9), 0.0, 1e-3)
    curve = Curve(force=np.sin(t), time=t, velocity=v)
    reported = Predictor(curve, ImposedSlip(), AgeingCoulomb)(fields(law), {})
    age = [0.0]
    for a, b in zip(v[1:], v[:-1], strict=True):
        w = 0.5 * (a + b)
        age.append(
            age[-1] + 1.0 if w == 0.0 else 1e-3 / w + (age[-1] - 1e-3 / w) * np.exp(-w / 1e-3)
        )
    mu = law.coefficient(np.zeros(12), np.array(age)[:, None])
    np.testing.assert_allclose(reported.force[v > 0.0], mu[v > 0.0], rtol=1e-12)
    np.testing.assert_allclose(reported.bound[v == 0.0], mu[v == 0.0], rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["LuGre", "BoucWen", "AgeingLaw", "SlipLaw", "pulled StaticKinetic"]
)
def test_both_modes_give_the_same_bits(name):
    case = cases(42)[name]
    compiled = case.force()
    with running("plain"):
        plain = case.force()
    np.testing.assert_array_equal(compiled, plain)
