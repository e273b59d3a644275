"""Stribeck's curve and ageing contacts: on chains, against SciPy, and in closed form."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st
from stiction.laws import AgeingCoulomb, Stribeck


@pytest.mark.parametrize("power", [1, 2])
def test_the_curve(power):
    law = Stribeck(0.4, 0.25, 0.1, power, 0.05)
    v = np.array([0.0, 0.03, 0.1, 2.0])
    exact = 0.25 + 0.15 * np.exp(-((v / 0.1) ** power)) + 0.05 * v
    assert law.coefficient(v) == pytest.approx(exact, rel=1e-15)
    assert law.static() == 0.4


@pytest.mark.parametrize("power", [1, 2])
def test_a_sliding_mass_against_another_integrator(power):
    law = Stribeck(0.4, 0.25, 0.1, power, 0.05)
    chain = st.Chain(mass=[1.0], stiffness=20.0, load=st.Constant(0.0), law=law, v0=3.0)
    run = st.solve(chain, st.EventDriven(rtol=1e-12), (0.0, 0.5), save=6)

    def rates(t, y):
        mu = 0.25 + 0.15 * np.exp(-((abs(y[1]) / 0.1) ** power)) + 0.05 * abs(y[1])
        return [y[1], -20.0 * y[0] - mu * 9.81 * np.sign(y[1])]

    # the mass first stops after half a second
    other = solve_ivp(rates, (0.0, 0.2), [0.0, 3.0], "DOP853", [0.1, 0.2], rtol=1e-13, atol=1e-13)
    assert run.variables["x"].values[1:3, 0] == pytest.approx(other.y[0], rel=1e-9)
    assert run.audit.ok


def test_longer_rest_carries_more():
    """A slow ramp breaks stick where the load meets mu_fresh + growth ln(1 + t / time)."""
    law = AgeingCoulomb(0.3, 0.05, 0.1, 1e-3)
    found = []
    for rate in (1.0, 0.1):
        chain = st.Chain(mass=[1.0], stiffness=[1e-9], load=st.Ramp(rate=rate), law=law)
        run = st.solve(chain, st.ThetaStepper(step=1e-4 / rate), (0.0, 7.0 / rate), save=3)
        onset = run.event_log.time[0]
        exact = 9.81 * (0.3 + 0.05 * np.log1p(onset / 0.1))
        assert rate * onset == pytest.approx(exact, rel=1e-3)
        found.append(rate * onset)
    assert found[1] > found[0] + 0.9


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Stribeck(0.2, 0.4, 0.1), "Stribeck.mu_static"),
        (lambda: Stribeck(0.4, 0.2, 0.0), "Stribeck.v_scale"),
        (lambda: Stribeck(0.4, 0.2, 0.1, 1.5), "Stribeck.power"),
        (lambda: Stribeck(0.4, 0.2, 0.1, 2, -1.0), "Stribeck.viscous"),
        (lambda: AgeingCoulomb(0.3, -0.1, 1.0, 1.0), "AgeingCoulomb.growth"),
        (lambda: AgeingCoulomb(0.3, 0.1, 0.0, 1.0), "AgeingCoulomb.time"),
        (lambda: AgeingCoulomb(0.3, 0.1, 1.0, 1.0, -1.0), "AgeingCoulomb.age_start"),
    ],
)
def test_bad_numbers_are_refused(make, field):
    with pytest.raises(st.ModelError, match=field):
        make()
