"""Fits beside what is known: the law behind noiseless data, and the motion of a chain."""

import numpy as np
import pytest
from fit_cases import cases, fields

import stiction as st
from stiction.faults import Cycles, SpringSlider
from stiction.fits import Curve, SpringDrive
from stiction.fits.predicting.models import Predictor
from stiction.laws import AgeingLaw, BoucWen, Dahl, LuGre, SlipLaw, Stribeck

NORMAL, SPRING, MASS, SPEED = 10.0, 1e3, 1.0, 0.02


@pytest.mark.parametrize("name", sorted(cases(60)))
def test_noiseless_data_give_the_law_back(name):
    case = cases(150)[name]
    found = st.fit(case.curve(case.force()), type(case.law), case.rig)
    for estimate in found.estimates:
        # offsets and drifts are small beside the force that they are found from
        size = 0.1 if estimate.name.startswith("rig.") else 0.0
        assert estimate.value == pytest.approx(
            case.truth[estimate.name], rel=1e-5, abs=1e-5 * size
        ), estimate.name
        assert not estimate.message


@pytest.mark.parametrize(
    ("law", "method", "bound"),
    [
        (st.Coulomb(0.3), st.EventDriven(), 2e-5),
        (st.StaticKinetic(0.4, 0.25), st.EventDriven(), 2e-5),
        (Stribeck(0.4, 0.25, 0.02, 2, 0.1), st.EventDriven(), 2e-6),
        (st.ExponentialWeakening(0.4, 0.25, 0.02), st.EventDriven(), 4e-6),
        (Dahl(1e4, 0.3), st.chains.Radau(), 2e-6),
        (LuGre(1e4, 10.0, 0.4, 0.4, 0.3, 0.01), st.chains.Radau(), 2e-6),
        (BoucWen(1e4, 1.0, 2e4, 1e4), st.chains.Radau(), 2e-6),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_pulled_slider_against_the_chain(law, method, bound):
    t = np.linspace(0.0, 1.0, 101)
    chain = st.Chain(
        mass=[MASS],
        stiffness=SPRING,
        law=law,
        load=st.Ramp(rate=SPRING * SPEED),
        normal_force=NORMAL,
    )
    run = st.solve(chain, method, (0.0, 1.0), save=t)
    spring = SPRING * (SPEED * t - np.asarray(run.data["x"])[:, 0])
    curve = Curve(force=np.sin(t), time=t, displacement=SPEED * t, normal_force=NORMAL)
    rig = SpringDrive(SPRING, MASS)
    reported = Predictor(curve, rig, type(law))(fields(law), fields(rig))
    np.testing.assert_allclose(reported.force, spring, rtol=0.0, atol=bound)


@pytest.mark.parametrize("kind", [AgeingLaw, SlipLaw])
def test_a_velocity_step_behind_a_spring_against_the_fault(kind):
    law = kind(0.01, 0.008, 1e-5)
    v, k, normal = 1e-6, 5e10, 5e6
    t = np.linspace(0.0, 60.0, 121)
    curve = Curve(
        force=np.sin(t),
        time=t,
        displacement=np.where(t <= 10.0, v * t, v * 10.0 + 10.0 * v * (t - 10.0)),
        normal_force=normal,
    )
    rig = SpringDrive(k, impedance=1e6)
    reported = Predictor(curve, rig, kind)(fields(law), fields(rig)).force
    after = t >= 10.0
    slider = SpringSlider(
        law=law,
        normal_stress=normal,
        spring=k,
        plate_speed=10.0 * v,
        impedance=1e6,
        speed_start=v,
        state_start=1e-5 / v,
    )
    run = st.solve(slider, Cycles(rtol=1e-11), (0.0, 50.0), save=t[after] - 10.0)
    data = run.data
    speed, age = (np.asarray(data[name]).reshape(-1) for name in ("slip_speed", "state"))
    expected = normal * law.coefficient(speed, age) + 1e6 * speed
    np.testing.assert_allclose(reported[after], expected, rtol=1e-6)


def test_a_saw_of_a_slider_without_mass():
    # the limit of a small mass: breaks away at mu_s, drops to 2 mu_k - mu_s
    t = np.linspace(0.0, 1.0, 2001)
    curve = Curve(force=np.sin(t), time=t, displacement=SPEED * t, normal_force=NORMAL)
    law = st.StaticKinetic(0.4, 0.25)
    massless_stick_slip, small = (
        Predictor(curve, rig, st.StaticKinetic)(fields(law), fields(rig)).force
        for rig in (SpringDrive(SPRING), SpringDrive(SPRING, 1e-10))
    )
    assert massless_stick_slip.max() <= 4.0
    assert massless_stick_slip[500:].min() >= 1.0 - 1e-9
    # rows within a slip differ
    assert np.quantile(np.abs(massless_stick_slip - small), 0.97) < 1e-3


def test_coulomb_without_mass_is_a_play():
    x = np.array([0.0, 1.0, 4.0, 6.0, 5.0, 1.0, -3.0, -2.0, 9.0]) * 1e-3
    curve = Curve(force=x, displacement=x, normal_force=NORMAL)
    rig = SpringDrive(SPRING)
    reported = Predictor(curve, rig, st.Coulomb)(fields(st.Coulomb(0.3)), fields(rig)).force
    np.testing.assert_allclose(
        reported, [0.0, 1.0, 3.0, 3.0, 2.0, -2.0, -3.0, -2.0, 3.0], atol=1e-12
    )
