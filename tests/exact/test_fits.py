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


def test_a_normal_force_that_varies_pulls_through_a_spring():
    # a slider without mass on bristles: k (x - d) = N sigma0 z(d); from 10 s on the load grows by
    # half, and the spring reaches the new bound of 45 N
    t = np.linspace(0.0, 20.0, 2001)
    normal = 100.0 + 50.0 * np.clip(t - 9.0, 0.0, 1.0) - 80.0 * np.clip(t - 16.0, 0.0, 1.0)
    curve = Curve(force=np.sin(t), time=t, displacement=1e-3 * t, normal_force=normal)
    law, rig = Dahl(1e3, 0.3), SpringDrive(1e4)
    found = Predictor(curve, rig, Dahl)(fields(law), fields(rig)).force
    # by bisection for the slip of every row: z' = 1 - sigma0 z / mu forwards, 1 + ... backwards
    z, d, expected = 0.0, 0.0, []
    for x, n in zip(1e-3 * t, normal, strict=True):

        def bristle(slip, z=z):
            steady = np.copysign(0.3 / 1e3, slip)
            return steady + (z - steady) * np.exp(-1e3 / 0.3 * abs(slip))

        def net(slip, x=x, n=n, d=d, bristle=bristle):
            return 1e4 * (x - d - slip) - n * 1e3 * bristle(slip)

        low, high = -1e-2, 1e-2
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if net(middle) > 0.0 else (low, middle)
        z, d = bristle(low), d + low
        expected.append(1e4 * (x - d))
    assert found[-500] == pytest.approx(45.0, abs=1e-3)
    assert found[-1] == pytest.approx(21.0, abs=1e-3)
    # the rows of the loads have a rate, which the mean normal force of a row misses in second order
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=5e-3)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_rate_and_state_behind_a_spring_under_a_growing_load_in_both_directions(side):
    from scipy.integrate import solve_ivp

    law, k, v = AgeingLaw(0.01, 0.008, 1e-5), 1e6, 1e-6
    t = np.linspace(0.0, 30.0, 601)

    def load(time):
        return 100.0 + 50.0 * np.clip((time - 10.0) / 5.0, 0.0, 1.0)

    curve = Curve(force=np.sin(t), time=t, displacement=side * v * t, normal_force=load(t))
    rig = SpringDrive(k)
    found = Predictor(curve, rig, AgeingLaw)(fields(law), fields(rig)).force

    def rates(time, y):
        # the force k u = N mu gives the speed
        mu = y[0] / load(time)
        speed = law.speed0 * np.exp(
            (mu - law.mu0 - law.b * np.log(y[1] * law.speed0 / law.length)) / law.a
        )
        return [k * (v - speed), 1.0 - speed * y[1] / law.length]

    theta = law.length / v
    start = [100.0 * float(law.coefficient(v, theta)), theta]
    whole = solve_ivp(
        rates, (0.0, 30.0), start, "LSODA", t_eval=t, rtol=1e-9, atol=1e-9, max_step=0.2
    )
    # the spring pulls by 1 N/s at most: its force cannot follow the load at once
    assert start[0] < 61.0 < 79.0 < whole.y[0][-1] < 81.0
    np.testing.assert_allclose(found, side * whole.y[0], rtol=0.0, atol=2e-3)


def test_rate_and_state_behind_a_spring_does_not_turn_back():
    t = np.linspace(0.0, 1.0, 11)
    back = np.minimum(t, 1.6 - t)
    rig = SpringDrive(1e6)
    for x, ok in ((1e-6 * t, True), (-1e-6 * t, True), (1e-6 * back, False), (-1e-6 * back, False)):
        curve = Curve(force=np.sin(t), time=t, displacement=x, normal_force=NORMAL)
        if ok:
            Predictor(curve, rig, AgeingLaw)
        else:
            with pytest.raises(st.ModelError, match="slip in one direction"):
                Predictor(curve, rig, AgeingLaw)
    curve = Curve(force=np.sin(t), time=t, displacement=1e-6 * t, normal_force=NORMAL)
    for start in (3.0, st.fits.Free()):
        with pytest.raises(st.ModelError, match="starts in steady slip"):
            Predictor(curve, SpringDrive(1e6, force_start=start), AgeingLaw)
