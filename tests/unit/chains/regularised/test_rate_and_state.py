"""Rate and state on chains: light masses against the fault without inertia, and velocity steps."""

import numpy as np
import pytest

import stiction as st
from stiction.chains import Radau
from stiction.laws import AgeingLaw, RateAndStateFriction, SlipLaw

SIGMA, K, ETA, PLATE = 5e6, 2e9, 2e10 / 6000.0, 1e-6


@pytest.mark.parametrize("law", [AgeingLaw, SlipLaw])
def test_slider_against_the_fault(law):
    """A slider of 1e-6 kg per square metre follows the one without inertia through its slips."""
    rock = law(a=0.01, b=0.025, length=1e-5, mu0=0.6, speed0=1e-6)
    slider = st.faults.SpringSlider(
        law=rock,
        normal_stress=SIGMA,
        spring=K,
        plate_speed=PLATE,
        impedance=ETA,
        speed_start=9e-7,
        state_start=10.0,
    )
    times = np.linspace(0.0, 240.0, 13)
    want = st.solve(slider, st.faults.Cycles(rtol=1e-10), (0.0, 240.0), save=times)
    push = SIGMA * float(rock.coefficient(9e-7, 10.0)) + ETA * 9e-7
    contact = RateAndStateFriction(rock, age_start=10.0, viscous=ETA / SIGMA)
    chain = st.Chain(
        mass=[1e-6],
        stiffness=1e-9,
        normal_force=SIGMA,
        plate_stiffness=K,
        plate_speed=PLATE,
        x0=-push / K,
        v0=9e-7,
        law=contact,
    )
    run = st.solve(chain, Radau(rtol=1e-9), (0.0, 240.0), save=times)
    assert run.audit.ok
    v = want.data["slip_speed"].values.reshape(13, -1)[:, 0]
    assert v.max() > 3.0 * v.min()
    assert np.log(run.data["v"].values[:, 0]) == pytest.approx(np.log(v), abs=1e-5)


@pytest.mark.parametrize("law", [AgeingLaw, SlipLaw])
def test_velocity_steps(law):
    """A heavy mass keeps its speed: the age follows the closed form."""
    rock = law(a=0.01, b=0.015, length=1e-4, mu0=0.6, speed0=1e-6)
    contact = RateAndStateFriction(rock, age_start=50.0)
    chain = st.Chain(mass=[1e20], stiffness=1e-9, normal_force=1.0, v0=1e-5, law=contact)
    run = st.solve(chain, Radau(rtol=1e-12), (0.0, 30.0), save=11)
    exact = rock.state_after(1e-5, 50.0, run.time)
    assert np.exp(run.data["log_age"].values[:, 0]) == pytest.approx(exact, rel=1e-9)
    mu = rock.coefficient(1e-5, exact)
    assert -run.data["friction"].values[:, 0] == pytest.approx(mu, rel=1e-9)
    heat = run.energy.friction_heat[:, 0]
    assert heat[-1] == pytest.approx(-1e20 * 0.5 * (run.final["v"][0] ** 2 - 1e-10), abs=1e-4)


def test_a_bare_law_of_ageing_is_refused():
    with pytest.raises(st.ModelError, match=r"Try: give RateAndStateFriction\(SlipLaw"):
        st.Chain(mass=[1.0], stiffness=1.0, law=st.laws.SlipLaw())
