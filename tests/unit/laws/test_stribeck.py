"""Stribeck's curve and ageing contacts: on chains, against SciPy, and in closed form."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stiction as st
from stiction.laws import AgeingCoulomb, LuGre, RestingCoulomb, Stribeck


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


def test_longer_stick_carries_more():
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


def test_exchanged_coefficients_are_accepted():
    """Messages name the contact whose two values are to be exchanged, not the lists."""
    makers = {
        "mu_static": (
            lambda a, b: Stribeck(a, b, 0.1),
            lambda a, b: LuGre(1e4, 1.0, 0.0, a, b, 1e-3),
            st.StaticKinetic,
            lambda a, b: st.ExponentialWeakening(a, b, 0.1),
        ),
        "mu_held": (lambda a, b: RestingCoulomb(b, a, 0.1, 1.0),),
    }
    for field, make in ((field, make) for field, laws in makers.items() for make in laws):
        with pytest.raises(st.ModelError, match=rf"{field}: got 0\.2 of contact 2 with") as caught:
            make([0.4, 0.2], [0.3, 0.3])
        assert "exchange the two values of contact 2" in str(caught.value)
        make([0.4, 0.3], [0.3, 0.2])
        with pytest.raises(st.ModelError, match=r"got 0\.3 of contact 2 with mu_kinetic = 0\.4"):
            make(0.3, [0.3, 0.4])
        with pytest.raises(st.ModelError, match=r"got 0\.2 with mu_kinetic = 0\.4;"):
            make(0.2, 0.4)
        with pytest.raises(st.ModelError, match="got 2 values beside 3 values of mu_kinetic"):
            make([0.4, 0.3], [0.3, 0.2, 0.1])


@pytest.mark.parametrize("belt", [0.0, -0.5])
@pytest.mark.parametrize(
    ("law", "stretch", "stiffness"),
    [
        (Stribeck(0.25, 0.0026, 0.9, 1, 0.3), 100.0, 40.0),
        (Stribeck(0.25, 0.0026, 0.01, 2, 0.3), 100.0, 40.0),
        (Stribeck(0.25, 0.0026, 0.9, 2, 0.3), 400.0, 50.0),
        (Stribeck(0.25, 0.0026, 0.9, 1, 0.01), 1e4, 50.0),
    ],
)
def test_a_film_that_resists_many_times_the_weight_is_followed(law, stretch, stiffness, belt):
    """At high speed mu is far above one, and its fit is right to a fraction of its size."""
    chain = st.Chain(mass=1.0, stiffness=stiffness, law=law, x0=stretch, belt_speed=belt)
    run = st.solve(chain, st.EventDriven(), (0.0, 1.0), save=401)
    assert run.audit.ok
    v = run.data["v"].values[:, 0] - belt
    assert law.coefficient(np.abs(v).max()) > 2.0
    # damped like a mass on a dashpot, but for the friction of the curve, of at most its static one
    rates = (lambda t, y: (y[1], -stiffness * y[0] - law.viscous * 9.81 * (y[1] - belt)),)
    damped = solve_ivp(rates[0], (0.0, 1.0), (stretch, 0.0), rtol=1e-9, atol=1e-9)
    off = abs(damped.y[0, -1] - run.final["x"][0])
    assert off <= 0.25 * 9.81 * (0.5 + 1.0 / np.sqrt(stiffness))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("v_scale", [1e-3, 3e-3, 1e-2])
def test_a_narrow_curve_is_seen_where_slip_begins_and_ends(power, v_scale):
    """Friction falls within some microseconds of the first slip, far less than a step."""
    law = Stribeck(0.25, 0.0026, v_scale, power)
    chain = st.Chain(mass=1.0, stiffness=40.0, law=law, x0=10.0)
    run = st.solve(chain, st.EventDriven(), (0.0, 1.0), save=2)
    assert run.audit.ok


def test_a_chain_speaks_of_functions_that_it_has():
    """Where no step is short enough, what is named is there."""
    # it jumps at half a metre per second
    law = st.UserFriction(lambda v: 0.3 if v < 0.5 else 0.2, lambda v: 0.0)
    for load in (st.Constant(20.0), st.UserLoad(lambda t: 20.0)):
        chain = st.Chain(mass=1.0, stiffness=10.0, law=law, load=load)
        run = st.solve(chain, st.EventDriven(), (0.0, 1.0), throw=False)
        assert run.status is st.Status.WORK_LIMIT
        assert ("UserLoad" in run.reason) == isinstance(load, st.UserLoad)
        assert "user's function" not in run.reason


@pytest.mark.parametrize(
    ("law", "load", "reported"),
    [
        (Stribeck(0.4, 0.2, 0.1), st.Constant(9.0), "the friction of Stribeck is not smooth"),
        (st.Coulomb(0.2), st.UserLoad(lambda t: 9.0), "UserLoad.function is not smooth"),
        (
            Stribeck(0.4, 0.2, 0.1),
            st.UserLoad(lambda t: 9.0),
            "the friction of Stribeck or UserLoad.function is not smooth",
        ),
    ],
)
def test_what_no_step_can_follow_is_named(law, load, reported, monkeypatch):
    """Whatever it is: the kernel's answer is made here, as corrected laws give none."""
    from stiction.chains.event_driven import step_kernels

    vanished = step_kernels.STEP_VANISHED
    monkeypatch.setattr(step_kernels, "advance_fitted", lambda *given: vanished)
    chain = st.Chain(mass=1.0, stiffness=10.0, law=law, load=load)
    run = st.solve(chain, st.EventDriven(), (0.0, 1.0), throw=False)
    assert run.reason.startswith(reported)
    assert ("UserLoad.breakpoints" in run.reason) == ("UserLoad" in reported)
