"""Brake, belt, bolt and cable: the scenarios against closed forms and independent integration."""

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stiction as st
from stiction.exact import machine_parts as exact

BRAKE = st.read_scenario("brake-groan").system
DROP = BRAKE.normal_force * (BRAKE.law.mu_static - BRAKE.law.mu_kinetic)


def friction_of(slip):
    """Return the coefficient of the brake at a slip speed, constant below zero."""
    law = BRAKE.law
    weakened = np.exp(-max(slip, 0.0) / law.v_scale)
    return law.mu_kinetic + (law.mu_static - law.mu_kinetic) * weakened


def return_speed(speed, scale=1.0):
    """Return how much faster than the disc the pad gets after one slip, by SciPy [m/s].

    Parameters
    ----------
    scale : of clamping force and damper
    """
    m, k = BRAKE.mass[0], BRAKE.stiffness
    normal, c = scale * BRAKE.normal_force, scale * BRAKE.damping

    def rates(t, y):
        return y[1], (normal * friction_of(speed - y[1]) - c * y[1] - k * y[0]) / m

    def fastest(t, y):
        return rates(t, y)[1]

    fastest.direction, fastest.terminal = -1.0, True
    cycle = 2.0 * np.pi * np.sqrt(m / k)
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    start = ((normal * BRAKE.law.mu_static - c * speed) / k, speed)
    begun = solve_ivp(rates, (0.0, 0.25 * cycle), start, **options)
    slip = solve_ivp(rates, (0.0, 2.0 * cycle), begun.y[:, -1], events=fastest, **options)
    return slip.y_events[0][0][1] - speed


def end_of_stick_slip(scale=1.0):
    return brentq(return_speed, 0.8, 1.2, args=(scale,), xtol=1e-12)


def test_stick_slip_of_a_brake_with_little_or_much_damping():
    # I_1(z) tends to exp(z) / sqrt(2 pi z): c a = 2 D / sqrt(2 pi a / v_s)
    for damping in (0.1, 1e-6):
        asymptote = 0.01 * (2.0 * 100.0 / (damping * 0.01 * np.sqrt(2.0 * np.pi))) ** (2.0 / 3.0)
        found = exact.stick_slip_end(damping, 100.0, 0.01)
        assert found == pytest.approx(asymptote, rel=1.0 / (found / 0.01))
    assert exact.stick_slip_end(0.0, 100.0, 0.01) == np.inf == exact.hopf_speed(0.0, 100.0, 0.01)
    assert np.isnan(exact.stick_slip_end(2e4, 100.0, 0.01))


def test_brake_sticks_up_to_the_closed_form():
    scales = 0.5 ** np.arange(4)
    limit = exact.stick_slip_end(BRAKE.damping, DROP, BRAKE.law.v_scale)
    off = limit - np.array([end_of_stick_slip(scale) for scale in scales])
    # the averaged cycle is off by the square of friction over the forces of the spring
    assert off[0] == pytest.approx(0.006062, rel=1e-3)
    # reason: of second order, with a rest of fourth order that falls with it
    assert np.log2(off[:-1] / off[1:]) == pytest.approx([2.0] * 3, abs=0.1)


@pytest.mark.parametrize(("beside", "sticks"), [(-1e-4, True), (1e-4, False)])
def test_brake_sticks_up_to_the_speed_of_an_independent_integration(beside, sticks):
    speed = end_of_stick_slip() * (1.0 + beside)
    run = st.solve(
        st.read_scenario("brake-groan", belt_speed=speed, v0=speed).system, t_span=(0, 1)
    )
    stuck = run.events.query("kind == 'stick'")["time"]
    assert bool((stuck > 0.9).any()) == sticks
    assert run.audit.ok
    assert run.determinism.status == "deterministic"


def test_brake_repeats_the_slip_of_an_independent_integration():
    """The pad is caught again where SciPy says."""
    run = st.read_scenario("brake-groan").solve()
    m, k, c, normal = BRAKE.mass[0], BRAKE.stiffness, BRAKE.damping, BRAKE.normal_force
    speed = BRAKE.belt_speed

    def rates(t, y):
        return y[1], (normal * friction_of(speed - y[1]) - c * y[1] - k * y[0]) / m

    def caught(t, y):
        return y[1] - speed

    caught.direction, caught.terminal = 1.0, True
    start = ((normal * BRAKE.law.mu_static - c * speed) / k, speed)
    begun = solve_ivp(rates, (0.0, 1e-4), start, "DOP853", rtol=1e-13, atol=1e-16)
    slip = solve_ivp(
        rates, (1e-4, 0.1), begun.y[:, -1], "DOP853", rtol=1e-13, atol=1e-16, events=caught
    )
    slips, sticks = (
        run.events.query(f"kind == '{kind}'")["time"].to_numpy() for kind in ("slip", "stick")
    )
    assert slips[0] == pytest.approx(start[0] / speed, rel=1e-12)
    assert sticks - slips[: sticks.size] == pytest.approx(slip.t_events[0][0], rel=1e-8)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_brake_grows_below_the_hopf_speed(factor):
    speed = factor * exact.hopf_speed(BRAKE.damping, DROP, BRAKE.law.v_scale)
    rest = BRAKE.normal_force * friction_of(speed) / BRAKE.stiffness
    pad = st.read_scenario("brake-groan", belt_speed=speed, x0=rest, v0=1e-6).system
    run = st.solve(pad, t_span=(0.0, 0.05), save=2001)
    v = run.variables["v"].values[:, 0]
    slope = DROP / BRAKE.law.v_scale * np.exp(-speed / BRAKE.law.v_scale)
    rate = (slope - BRAKE.damping) / (2.0 * BRAKE.mass[0])
    third = v.size // 3
    grown = np.log(np.abs(v[-third:]).max() / np.abs(v[:third]).max())
    assert grown == pytest.approx(rate * 0.05 * 2.0 / 3.0, rel=0.05)  # reason: crests are sampled
    assert (rate > 0.0) == (factor < 1.0)


# ---- belt

SLACK, TIGHT, MU, RADIUS, STRETCH = 200.0, 400.0, 0.3, 0.1, 36e3


def test_belt_creeps_on_the_arc_of_grashof():
    run = st.read_scenario("belt-on-pulley").solve()
    n, arc = run.system.n, np.pi / run.system.n
    assert run.system.stiffness == pytest.approx(STRETCH / (RADIUS * arc), rel=1e-11)
    tension = run.system.stiffness * np.diff(run.final["x"], prepend=0.0)
    angle = np.pi - arc * np.arange(n)
    assert tension == pytest.approx(exact.belt_tension(angle, TIGHT, SLACK, MU), rel=1e-11)
    # each arc is pressed by its own tension, integrated over an arc that slips
    assert run.system.normal_force == pytest.approx(tension * np.expm1(MU * arc) / MU, rel=1e-11)
    slipped = sum(t is not None for t in run.quantities["onset_time"].value)
    # the arc at the end of creep slips in part, which a mass cannot
    assert slipped * arc < exact.creep_arc(TIGHT, SLACK, MU) < (slipped + 1) * arc
    assert np.log(TIGHT / SLACK) / MU == exact.creep_arc(TIGHT, SLACK, MU)


def belt_heat_in_steps(steps):
    """Return the heat when normal forces follow the tension from step to step of the pull [J]."""
    n, arc = 36, np.pi / 36
    spring, press = STRETCH / (RADIUS * arc), np.expm1(MU * arc) / MU
    pull = np.linspace(SLACK, TIGHT, steps + 1)
    x, heat = SLACK / spring * np.arange(1, n + 1), 0.0
    for before, after in itertools.pairwise(pull):
        # in the middle of the step, for second order
        tension = exact.belt_tension(np.pi - arc * np.arange(n), 0.5 * (before + after), SLACK, MU)
        load = st.chains.PiecewiseLinear([0.0, 1.0], [before, after])
        belt = st.Chain(
            mass=0.002,
            n=n,
            stiffness=spring,
            x0=x,
            normal_force=tension * press,
            load=load,
            law=st.Coulomb(MU),
        )
        run = st.solve(belt, st.Quasistatic(), t_span=(0.0, 1.0), save=2)
        x, heat = run.final["x"], heat + float(run.ledger["friction_heat"][-1])
    return heat


def test_belt_heat_against_small_steps_of_load():
    whole = exact.belt_heat(TIGHT, SLACK, MU, RADIUS, STRETCH)
    off = np.array([belt_heat_in_steps(steps) / whole - 1.0 for steps in (10, 20)])
    # each step begins with the normal forces of the one before: of first order
    assert off == pytest.approx([0.0596, 0.0285], abs=2e-4)
    assert 2.0 * off[1] - off[0] == pytest.approx(0.0, abs=0.003)


# ---- bolt

JOINT = st.read_scenario("bolted-joint").system


def loss(amplitude, normal):
    """Return the heat of one cycle and what plays of the load make of it [J]."""
    load = st.chains.PiecewiseLinear([0.0, 1.0, 3.0, 5.0], [0.0, amplitude, -amplitude, amplitude])
    run = st.read_scenario("bolted-joint", load=load, normal_force=normal).solve(save=6)
    assert run.audit.ok
    assert run.determinism.status == "deterministic"
    heat = run.ledger["friction_heat"].to_numpy()
    held = 0.15 * np.cumsum(np.broadcast_to(normal, 40)[::-1])
    plays = 4.0 * held * np.maximum(0.0, amplitude - held) / JOINT.stiffness
    return heat[-1] - heat[1], plays.sum()


@pytest.mark.parametrize("amplitude", [1500.0, 3000.0, 6000.0])
def test_bolt_loses_the_cube_of_the_amplitude(amplitude):
    found, plays = loss(amplitude, 1000.0)
    bar = exact.joint_loss(amplitude, JOINT.stiffness * 1e-3, 0.15 * 1e6)
    assert found == pytest.approx(plays, rel=1e-12)
    assert found == pytest.approx(bar * (1.0 - (150.0 / amplitude) ** 2), rel=1e-12)


def test_bolt_pressed_less_at_its_edge_loses_a_lower_power():
    falling = (2000.0 * (np.arange(40, 0, -1) - 0.5) / 40.0).tolist()
    lost = np.array([loss(a, falling)[0] for a in (1500.0, 3000.0)])
    assert np.log2(lost[1] / lost[0]) == pytest.approx(2.5, abs=0.01)


def test_bolt_obeys_the_rule_of_masing():
    run = st.read_scenario("bolted-joint").solve(save=np.linspace(0.0, 5.0, 501).tolist())
    x, f = run.variables["x"].values[:, -1], run.variables["load"].values
    first, back = slice(0, 101), slice(100, 301, 2)
    assert f[100] - f[back] == pytest.approx(2.0 * f[first], rel=1e-12, abs=1e-9)
    assert x[100] - x[back] == pytest.approx(2.0 * x[first], rel=1e-10, abs=1e-18)


# ---- cable: seven wires, of which six lie around a core

CORE, WIRE, LAY = 5.2e-3, 5.05e-3, np.arctan(np.pi * 10.25e-3 / 0.22)
YOUNG = 195e9
LEAST = YOUNG * np.pi / 64.0 * (CORE**4 + 6.0 * WIRE**4 * np.cos(LAY))
LAYER = (0.25 * np.pi * WIRE**2, 0.5 * (CORE + WIRE), LAY)


def elements(places):
    return exact.strand_elements(6, LAYER, YOUNG, 1e5 / 7.0, 0.15, places)


def test_cable_is_the_strand_of_papailiou():
    for places in (1, 6, 40):
        stiffness, limit = elements(places)
        # sin^2 is a half on average: EI_max = EI_min + n/2 E A r^2 cos^3
        most = 3.0 * YOUNG * LAYER[0] * LAYER[1] ** 2 * np.cos(LAY) ** 3
        assert stiffness.sum() == pytest.approx(most, rel=1e-12)
    # what the outermost fibre can hold: T (exp(mu pi/2 sin(lay)) - 1) at the curvature of slip
    slip = limit[-1] / stiffness[-1]
    force = YOUNG * LAYER[0] * np.cos(LAY) ** 2 * LAYER[1] * slip
    bound = 1e5 / 7.0 * np.expm1(0.15 * 0.5 * np.pi * np.sin(LAY))
    assert force == pytest.approx(bound, rel=0.02)  # reason: its place is an eightieth below
    # neutral fibres slip first
    assert (np.diff(limit / stiffness) > 0.0).all()


def test_cable_is_elements_side_by_side():
    run = st.read_scenario("bent-strand").solve(save=701)
    stiffness, limit = elements(6)
    springs, friction = exact.series_of_jenkins(stiffness, limit, LEAST)
    assert run.system.stiffness == pytest.approx(springs, rel=1e-11)
    assert run.system.normal_force == pytest.approx(friction, rel=1e-11)
    curvature, moment = run.variables["x"].values[:, -1], run.variables["load"].values
    apart = exact.jenkins_force(curvature, stiffness, limit, LEAST) - moment
    assert np.abs(apart).max() < 1e-10
    assert run.audit.ok
    # slope of the loop: all wires stick after a turn, and slip at the end
    slope = np.diff(moment) / np.diff(curvature)
    assert slope[[0, 100, 300]] == pytest.approx([LEAST + stiffness.sum()] * 3, rel=1e-9)
    assert slope[[99, 299]] == pytest.approx([LEAST] * 2, rel=1e-9)


def test_elements_in_any_order_make_the_same_chain():
    stiffness, limit = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 0.5])
    springs, friction = exact.series_of_jenkins(stiffness, limit, 0.5)
    again = exact.series_of_jenkins(stiffness[::-1], limit[::-1], 0.5)
    assert np.array_equal(springs, again[0])
    assert np.array_equal(friction, again[1])
    turns = [0.0, 4.0, -3.0, 1.5, -0.5, 2.5, 5.0]
    load = st.chains.PiecewiseLinear(np.arange(7.0), turns)
    chain = st.Chain(
        mass=1.0, n=4, stiffness=springs, normal_force=friction, law=st.Coulomb(1.0), load=load
    )
    run = st.solve(chain, st.Quasistatic(), t_span=(0.0, 6.0), save=601)
    force = exact.jenkins_force(run.variables["x"].values[:, -1], stiffness, limit, 0.5)
    assert force == pytest.approx(run.variables["load"].values, abs=1e-12)
