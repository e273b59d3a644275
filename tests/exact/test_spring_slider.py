"""A block on a spring against numbers of another code, closed forms, and SciPy."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stiction as st
from stiction.exact import rate_and_state as exact
from stiction.faults import Cycles, SpringSlider
from stiction.laws import AgeingLaw, SlipLaw

# the frozen test `stickslip` of the earthquake simulator QDYN, its numbers to all their digits
FROZEN = SpringSlider(
    AgeingLaw(a=0.01, b=0.025, length=1e-5),
    normal_stress=5e6,
    spring=2e9,
    plate_speed=1e-6,
    impedance=2e10 / 6000.0,
    speed_start=9e-7,
    state_start=10.0,
)


@pytest.mark.parametrize("regularised", [True, False])
def test_the_frozen_cycle(regularised):
    law = AgeingLaw(a=0.01, b=0.025, length=1e-5, regularised=regularised)
    run = st.solve(dataclasses.replace(FROZEN, law=law), Cycles(rtol=1e-11), (0.0, 3000.0), save=3)
    value = {name: q.value for name, q in run.quantities.items()}
    assert run.status.ok
    assert run.audit.ok
    assert abs(value["recurrence"] - 585.483918) < 1e-6
    for name, least, most in (
        ("friction", 0.411662260, 0.678865305),
        ("state", 3.5357789e-5, 494.940861),
        ("slip_speed", 3.908923e-14, 0.292143142),
    ):
        assert value[f"least_{name}"] == pytest.approx(least, rel=1e-7)
        assert value[f"largest_{name}"] == pytest.approx(most, rel=1e-7)


def test_the_error_falls_with_the_tolerance():
    off = []
    for rtol in (1e-7, 1e-9, 1e-11):
        run = st.solve(FROZEN, Cycles(rtol=rtol), (0.0, 2000.0), save=2)
        off.append(abs(run.quantities["recurrence"].value - 585.483917811))
    assert off[0] > 10.0 * off[1] > 100.0 * off[2]


def test_growth_vanishes_at_the_boundary():
    rng = np.random.default_rng(1)
    for _ in range(200):
        a = rng.uniform(0.002, 0.02)
        b = a + rng.uniform(0.001, 0.02)
        length, sigma, v = 10.0 ** rng.uniform((-6, 5, -9), (-3, 8, -4))
        eta = rng.choice([0.0, 0.3]) * (b - a) * sigma / v
        law = rng.choice([AgeingLaw, SlipLaw])(a=a, b=b, length=length)
        system = SpringSlider(law, normal_stress=sigma, plate_speed=v, impedance=eta)
        k = exact.critical_stiffness(a, b, length, sigma, eta, v)
        assert system.critical_stiffness == pytest.approx(k, rel=1e-13)
        roots = exact.characteristic_roots(k, a, b, length, sigma, eta, v)
        assert np.abs(roots.real).max() <= 1e-10 * np.abs(roots).max()


def test_the_boundary_is_that_of_the_regularised_law():
    law = AgeingLaw(a=0.01, b=0.015, length=1e-5, mu0=0.01)
    v, theta, h = 1e-6, 10.0, 1e-5

    def mu(x, q):
        return float(law.coefficient(v * np.exp(x), theta * np.exp(q)))

    drop = (mu(0.0, h) - mu(0.0, -h) - mu(h, 0.0) + mu(-h, 0.0)) / (2.0 * h)
    # reason: the error of the differences
    assert SpringSlider(law).critical_stiffness == pytest.approx(drop * 5e6 / 1e-5, rel=1e-9)
    assert drop < 0.9 * (0.015 - 0.01)


@pytest.mark.parametrize("law", [AgeingLaw, SlipLaw])
@pytest.mark.parametrize("eta", [0.0, 2e10])
def test_small_runs_find_the_boundary(law, eta):
    a, b, length, sigma, v = 0.01, 0.015, 1e-4, 1e7, 1e-6
    k_c = exact.critical_stiffness(a, b, length, sigma, eta, v)

    def growth(k):
        system = SpringSlider(
            law(a=a, b=b, length=length, regularised=False),
            normal_stress=sigma,
            spring=k,
            plate_speed=v,
            impedance=eta,
            speed_start=v * (1.0 + 1e-6),
            state_start=length / v,
        )
        omega = np.abs(exact.characteristic_roots(k, a, b, length, sigma, eta, v).imag).max()
        # two states a period apart in ln V and ln theta, seen from even sliding
        period = 2.0 * np.pi / omega
        run = st.solve(
            system, Cycles(rtol=1e-13), (0.0, 4.0 * period), save=np.arange(5.0) * period
        )
        speed = np.log(run.variables["slip_speed"].values[:, 0] / v)
        return np.log(abs(speed[-1] / speed[0]))

    ks = k_c * np.array([0.999, 1.001])
    rates = np.array([growth(k) for k in ks])
    found = ks[0] - rates[0] * (ks[1] - ks[0]) / (rates[1] - rates[0])
    assert rates[0] > 0.0 > rates[1]
    assert found == pytest.approx(k_c, rel=1e-6)


def test_random_sliders_against_another_integrator():
    rng = np.random.default_rng(7)
    for _ in range(12):
        a = rng.uniform(0.004, 0.02)
        b = a * rng.uniform(0.3, 2.0)
        kind = rng.choice([AgeingLaw, SlipLaw])
        law = kind(a=a, b=b, length=1e-5, regularised=bool(rng.integers(2)))
        eta = float(rng.choice([0.0, 1e6]))
        spring, v0, t_end = 10.0 ** rng.uniform(9.0, 10.0), 1e-6 * rng.uniform(0.3, 3.0), 20.0
        system = SpringSlider(
            law, spring=spring, impedance=eta, speed_start=v0, state_start=rng.uniform(1.0, 20.0)
        )

        def slip_rate(stress, theta, law=law, eta=eta):
            def off(x):
                return 5e6 * float(law.coefficient(np.exp(x), theta)) + eta * np.exp(x) - stress

            return np.exp(brentq(off, -60.0, 10.0, xtol=1e-15))

        tau = 5e6 * float(law.coefficient(v0, system.state_start)) + eta * v0

        def rates(t, y, law=law, spring=spring, of=slip_rate):
            v = of(y[0], y[1])
            return [spring * (1e-6 - v), float(law.state_rate(v, y[1]))]

        # stress and state, not logarithms, and the speed from the balance: no code is shared
        other = solve_ivp(
            rates, (0.0, t_end), [tau, system.state_start], "LSODA", rtol=1e-12, atol=[1e-6, 1e-13]
        )
        run = st.solve(system, Cycles(rtol=1e-10), (0.0, t_end), save=2)
        assert run.variables["state"].values[-1, 0] == pytest.approx(other.y[1, -1], rel=1e-5)
        assert run.variables["shear_stress"].values[-1, 0] == pytest.approx(
            other.y[0, -1], rel=1e-6
        )
