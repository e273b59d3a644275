"""Values and units together, against estimates by hand: flows that switch.

A wrong unit hides in neither alone. Every number is read from the files of a saved run, with the
unit that stands beside it. Sections are those of the formula sheet of switching.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

# the wheel of both runs: gamma, kappa [m], k2 [N/m], c2 [N s/m]; d = m = mu = 1, beta = 0.05 m,
# r0 = 0.1 m, omega0 = -1 rad/s
SIN = COS = -math.sqrt(0.5)
KAPPA, K2, C2 = 0.2724115371406203, 2.2270992253886014, 0.001

# ---- a wheel on a turntable


@pytest.fixture
def wheel(reported):
    return reported("wheel", "seconds")


def states(got):
    return got.value("r", "m"), got.value("v", "m/s"), got.value("omega", "rad/s")


def test_the_wheel_starts_with_the_energies_of_its_parts(wheel):
    # ((v - d w)^2 + (r w)^2) m / 2 + m beta^2 w^2 / 2 and k2 (r - r0)^2 / 2; section 1
    kinetic = 0.5 * ((0.1 + 0.95) ** 2 + (0.2 * 0.95) ** 2) + 0.5 * 0.05**2 * 0.95**2
    assert wheel.value("kinetic", "J")[0] == pytest.approx(kinetic, rel=1e-12)
    assert wheel.value("stored", "J")[0] == pytest.approx(0.5 * K2 * 0.01, rel=1e-12)


def test_slip_and_rolling_velocities_of_the_wheel(wheel):
    # h = -(v - d Om) sin - r Om cos, g = -(v - d Om) cos + r Om sin; section 1, (4), (5)
    r, v, omega = states(wheel)
    turn = omega + 1.0
    h, g = -(v - turn) * SIN - r * turn * COS, -(v - turn) * COS + r * turn * SIN
    assert_allclose(wheel.value("slip_velocity", "m/s"), h, rtol=1e-9, atol=1e-14)
    assert_allclose(wheel.value("rolling_velocity", "m/s"), g, rtol=1e-9)
    assert h[0] == pytest.approx(0.06 * math.sqrt(0.5), rel=1e-12)
    assert g[0] == pytest.approx(0.04 * math.sqrt(0.5), rel=1e-12)


def test_the_tyre_pulls_between_mu_and_four_thirds_of_it(wheel):
    # F = mu sgn h (4/3 - cot psi / (18 kappa)), M = mu sgn g sgn h cot(psi) / 6; section 2.
    # At the start h / g = 0.06 / 0.04
    psi0 = math.atan(1.0 / (6.0 * KAPPA))
    psi = psi0 + (1.0 - 2.0 * psi0 / math.pi) * math.atan(1.5)
    force = 4.0 / 3.0 - 1.0 / (18.0 * KAPPA * math.tan(psi))
    assert 1.0 < force < 4.0 / 3.0
    assert wheel.value("friction_force", "N")[0] == pytest.approx(force, rel=1e-9)
    moment = 1.0 / (6.0 * math.tan(psi))
    assert wheel.value("friction_moment", "N m")[0] == pytest.approx(moment, rel=1e-9)


def test_spring_and_wall_hold_the_slider(wheel):
    # R2 = -k2 (r - r0) - c2 v; R1 = m (-r w' + d w^2 - 2 v w) + F cos; section 1, (A1'), (A3)
    r, v, omega = states(wheel)
    assert_allclose(wheel.value("spring_force", "N"), -K2 * (r - 0.1) - C2 * v, rtol=1e-12)
    inside = slice(60, 120)  # one mode, evenly saved
    time, r, v, omega = (a[inside] for a in (wheel.value("time", "s"), r, v, omega))
    rate = np.gradient(omega, time, edge_order=2)
    force = wheel.value("friction_force", "N")[inside] * COS
    wall = -r * rate + omega**2 - 2.0 * v * omega + force
    assert_allclose(wheel.value("wall_force", "N")[inside][2:-2], wall[2:-2], rtol=1e-3)


@pytest.mark.parametrize("run", ["seconds", "scaled"])
def test_the_slide_ends_at_the_two_fold(run, reported):
    # r* = 0.1859 m, w* = -1.037 rad/s, v* = Om* (d - r* cot gamma); section 4, (9)
    got = reported("wheel", run)
    r, v, omega = (part[-1] for part in states(got))
    assert r == pytest.approx(0.1859, rel=1e-9)
    assert omega == pytest.approx(-1.037, rel=1e-9)
    assert v == pytest.approx(-0.037 * (1.0 - 0.1859), rel=1e-9)
    assert got.summary["final"]["r"] == pytest.approx(0.1859, rel=1e-9)


def test_a_second_is_a_second_and_scaled_time_is_not(reported):
    # r' = v in seconds, r' = m (beta^2 + r^2) v in tau; section 1, (1)
    for run, inside in (("seconds", slice(60, 120)), ("scaled", slice(20, 300))):
        got = reported("wheel", run)
        r, v = got.value("r", "m")[inside], got.value("v", "m/s")[inside]
        rate = np.gradient(r, got.stored["time"].to_numpy()[inside], edge_order=2)
        pace = 1.0 if run == "seconds" else 0.05**2 + r**2
        assert_allclose(rate[1:-1], (pace * v)[1:-1], rtol=1e-3)


# ---- a flow without units: x'' + x = -(mu0 - alpha |x' - vb|) sgn(x' - vb)


@pytest.fixture
def belt(reported):
    return reported("belt_oscillator", "cycle")


def test_the_block_leaves_when_its_spring_pulls_with_mu0(belt):
    # x = vb t reaches mu0 = 1 at t = 2
    assert belt.at_events("time", "leave")[0] == pytest.approx(2.0, rel=1e-10)
    assert_allclose(belt.at_events("x", "leave"), 1.0, rtol=1e-9)
    assert_allclose(belt.at_events("v", "leave"), 0.5, rtol=1e-9)


def test_the_cycle_of_the_belt_has_its_period(belt):
    # closed form, quoted by the scenario
    assert belt.quantity("period", "1") == pytest.approx(6.43947489010524, rel=1e-9)
    assert_allclose(np.diff(belt.at_events("time", "leave")), 6.43947489010524, rtol=1e-9)


def test_stick_balances_the_spring(belt):
    # friction = x on the belt: 0.5 at t = 1; nothing is lost there
    row = int(np.searchsorted(belt.value("time", "1"), 1.0))
    assert belt.value("x", "1")[row] == pytest.approx(0.5, rel=1e-12)
    assert belt.value("friction", "1")[row] == pytest.approx(0.5, rel=1e-12)
    assert belt.value("multiplier", "1")[row] == pytest.approx([-0.5], rel=1e-12)
    assert belt.value("friction_heat", "1")[row] == 0.0


def test_energies_of_the_block_on_the_belt(belt):
    # v^2 / 2 = 0.125 and x^2 / 2 = 0.125 at t = 1; the belt has done the work 0.125 by then
    row = int(np.searchsorted(belt.value("time", "1"), 1.0))
    for column in ("kinetic", "stored", "external_work"):
        assert belt.value(column, "1")[row] == pytest.approx(0.125, rel=1e-10)


def test_the_belt_pays_for_the_heat_of_a_cycle(belt):
    # a cycle ends where it began: heat = vb times the mean friction times the period
    time, friction = belt.value("time", "1"), belt.value("friction", "1")
    cycle = (time >= 2.0) & (time <= 2.0 + 6.43947489010524)
    work = 0.5 * np.trapezoid(friction[cycle], time[cycle])
    heat = belt.value("friction_heat", "1")[cycle]
    assert heat[-1] - heat[0] == pytest.approx(work, rel=5e-3)
