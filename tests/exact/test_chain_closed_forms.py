"""Closed forms against the equations they solve, and against the reference numbers."""

import itertools

import numpy as np
import pytest
from references import reference

from stiction import Chain, Constant, Coulomb, EventDriven, StickSet, solve
from stiction.exact import chains as exact

G = 9.81
# from the independent high-accuracy reference results, cases of the same names
A_BASELINE = {
    "x": [0.4940187441774095, 0.9702780075282059, 1.4567202231619156],
    "stored": 7.075034346767006,
    "work": 14.567202231619156,
    "heat": 7.492167884852233,
    "margin": [0.13531038346773772, 0.2868409543417326, 0.21934431267419463],
}
C_UNEQUAL = {
    "x": [1.6111991876259848, 3.2019883792064996, 4.769509416427334],
    "stored": 75.83695276385899,
    "heat": 67.248329728962,
    "margin": [0.08230007909059822, 0.5156369128063949, 0.6115792555833157],
}
Q_NONUNIQUE = {
    "v_slide0": 0.7494438309759148,
    "h_min": 0.1660517018598809,
    "v_min": 0.2302585092994046,
    "x_end_slide": 0.08394829814011909,
    "v_unstable": 0.0333113817,
}


def test_critical_force():
    mass, mu = [1.0, 2.0, 4.0], [0.1, 0.2, 0.3]
    expected = G * np.array([0.1 + 0.4 + 1.2, 0.4 + 1.2, 1.2])
    np.testing.assert_allclose(exact.critical_force(mass, mu), expected, rtol=1e-14)
    chain = Chain(mass=mass, stiffness=[3.0, 9.0, 27.0], law=Coulomb(mu))
    np.testing.assert_allclose(chain.critical_force(), expected, rtol=1e-14)
    stored = Chain(mass=mass, stiffness=[3.0, 9.0, 27.0], law=Coulomb(mu), x0=[0.1, 0.1, 0.12])
    tension = np.array([0.3, 0.0, 0.54])
    np.testing.assert_allclose(stored.critical_force(), expected + tension, rtol=1e-12)
    both = Chain(mass=mass, stiffness=1.0, law=Coulomb(mu), supports="both")
    assert both.critical_force() is None


def test_quasistatic_rising_ends_at_rest():
    mass, k = np.array([1.0, 2.0, 4.0]), np.array([20.0, 35.0, 15.0])
    chain = Chain(mass=mass, stiffness=k, law=Coulomb(0.1))
    for force in (1.0, 4.0, 6.0, 20.0):
        x = exact.quasistatic_rising(force, mass, k, 0.1)
        moved = force > exact.critical_force(mass, 0.1)
        drive = StickSet(chain, force).drive(x)
        # masses that slipped stand at their bound, the others within it
        np.testing.assert_allclose(drive[moved], chain.stick_bound[moved], rtol=1e-12)
        assert (np.abs(drive[~moved]) <= chain.stick_bound[~moved] + 1e-12).all()


def test_play_at_the_second_reversal():
    """The Masing rule holds on the first reversal and fails on the second; play is right."""
    width, turns = np.array([2.0]), [0.0, 5.0, -1.0, 2.0]
    values = exact.play(turns, width)[:, 0]
    np.testing.assert_allclose(values, [0.0, 3.0, 1.0, 1.0])
    masing = 3.0 - max(0.0, 5.0 - (-1.0) - 2.0 * width[0])
    assert masing == values[2]
    # at the second reversal it follows the load at once, while the link must wait 2 F
    assert 3.0 - max(0.0, 5.0 - 2.0 - 2.0 * width[0]) != values[3]
    # moving energy: what goes in and does not come out is heat, never negative
    force = np.concatenate([np.linspace(a, b, 400) for a, b in itertools.pairwise(turns)])
    tension = exact.play(force, width)[:, 0]
    work = np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(tension))
    heat = np.sum(width[0] * np.abs(np.diff(tension)))
    assert work == pytest.approx(0.5 * tension[-1] ** 2 + heat, rel=1e-4)


def test_damped_ramp_balances():
    k, c, critical, rate = np.array([20.0, 9.0]), np.array([2.0, 5.0]), np.array([3.0, 1.0]), 0.5
    t = np.linspace(0.0, 12.0, 25)
    x, v = exact.damped_ramp(t, rate, critical, k, c)
    d, d_rate = np.diff(x, prepend=0.0, axis=1), np.diff(v, prepend=0.0, axis=1)
    carried = np.maximum(0.0, rate * t[:, None] - critical)
    np.testing.assert_allclose(k * d + c * d_rate, carried, atol=1e-12)
    step = 1e-6
    later, _ = exact.damped_ramp(t + step, rate, critical, k, c)
    # reason: a one-sided difference of step 1e-6 is off by half the step times x''
    np.testing.assert_allclose((later - x) / step, v, atol=1e-6)


def test_step_of_one_mass():
    m, k, force, bound = 2.0, 30.0, 10.0, 1.3
    turns = exact.step_turning_points(k, force, bound)
    # alternating sides; the last turn may stay on the side it came from
    reach = (force / k - turns) * (-1.0) ** np.arange(turns.size)
    np.testing.assert_allclose(np.diff(reach), -2.0 * bound / k, rtol=1e-12)
    assert abs(force - k * turns[-1]) <= bound < abs(force - k * turns[-2])
    chain = Chain(mass=[m], stiffness=k, load=Constant(force), law=Coulomb(bound / (m * G)))
    run = solve(chain, EventDriven(), (0.0, 5.0))
    x, v, stop = exact.step_response(run.time, m, k, force, bound)
    np.testing.assert_allclose(run.variables["x"].values[:, 0], x, atol=1e-12)
    np.testing.assert_allclose(run.variables["v"].values[:, 0], v, atol=1e-11)
    assert run.quantities["stop_time"].value == pytest.approx(stop, rel=1e-12)
    held = exact.step_response(np.array([0.0, 1.0]), m, k, 1.0, bound)
    np.testing.assert_array_equal(held[0], [0.0, 0.0])
    assert held[2] == 0.0
    with pytest.raises(ValueError, match="needs > 0"):
        exact.step_turning_points(k, force, 0.0)


@pytest.mark.parametrize(("case", "force"), [(A_BASELINE, 10.0), (C_UNEQUAL, 30.0)])
def test_reference_energies(case, force):
    stored, work, heat = exact.energies_at_rest(case["x"], [20.0] * 3, force)
    assert stored == pytest.approx(case["stored"], rel=1e-12)
    assert heat == pytest.approx(case["heat"], rel=1e-11)
    assert work == pytest.approx(stored + heat, rel=1e-14)


@pytest.mark.parametrize(
    ("case", "mass", "force"), [(A_BASELINE, [1.0] * 3, 10.0), (C_UNEQUAL, [1.0, 2.0, 4.0], 30.0)]
)
def test_reference_margins(case, mass, force):
    chain = Chain(mass=mass, stiffness=20.0, law=Coulomb(0.05))
    margins = StickSet(chain, force).margins(case["x"])
    np.testing.assert_allclose(margins.force, case["margin"], rtol=1e-10)


def test_reference_branches():
    law = (0.3, 0.1, 0.1)
    unstable, stable = exact.weakening_roots(0.25, 0.2, 1.0, *law)
    assert stable == pytest.approx(Q_NONUNIQUE["v_slide0"], rel=1e-14)
    assert unstable == pytest.approx(Q_NONUNIQUE["v_unstable"], abs=1e-10)
    slide = exact.weakening_slide(0.25, 1.0, 0.2, 1.0, law)
    assert slide.speed == pytest.approx(Q_NONUNIQUE["v_min"], rel=1e-14)
    assert slide.force == pytest.approx(Q_NONUNIQUE["h_min"], rel=1e-14)
    assert slide.x == pytest.approx(Q_NONUNIQUE["x_end_slide"], rel=1e-13)
    # from w = .35 the interior state w = .16605 is reached in t = .2736
    reached = exact.weakening_slide(0.35, 1.0, 0.2, 1.0, law)
    assert reached.duration == pytest.approx(0.2736, abs=5e-5)
    assert reached.force == slide.force
    assert exact.weakening_roots(0.1, 0.2, 1.0, *law).size == 0
    # at the static bound the unstable root is v = 0
    (stable,) = exact.weakening_roots(0.5, 0.2, 1.0, 0.5, 0.25, 0.1)
    assert 0.2 * stable + 0.25 * (1.0 + np.exp(-stable / 0.1)) == pytest.approx(0.5, rel=1e-14)
    with pytest.raises(ValueError, match="needs more than c v_s"):
        exact.weakening_slide(0.5, 1.0, 5.0, 1.0, law)
    with pytest.raises(ValueError, match="for slip"):
        exact.weakening_slide(0.15, 1.0, 0.2, 1.0, law)


def test_weakening_duration_by_stepping():
    """The integral for the time against a plain fourth-order integration of x' = v(w)."""
    law = (0.3, 0.1, 0.1)
    slide = exact.weakening_slide(0.35, 1.0, 0.2, 1.0, law)
    t_end = 0.5 * slide.duration
    x, steps = 0.0, 400
    h = t_end / steps

    def speed(x):
        return exact.weakening_roots(0.35 - x, 0.2, 1.0, *law)[-1]

    for _ in range(steps):
        a = speed(x)
        b = speed(x + 0.5 * h * a)
        c = speed(x + 0.5 * h * b)
        d = speed(x + h * c)
        x += h / 6.0 * (a + 2 * b + 2 * c + d)
    rest = exact.weakening_slide(0.35, 1.0, 0.2, 1.0, law, x0=x)
    assert t_end + rest.duration == pytest.approx(slide.duration, rel=1e-9)


def test_chain_front_tends_to_the_rod():
    """The slipped length of ever finer chains approaches the front of the rod, order 1/n."""
    mu, weight, force, length = 0.3, 9.81, 2.0, 1.0
    front = exact.rod_front(force, mu, weight)
    errors = []
    for n in (10, 100, 1000):
        critical = exact.critical_force(np.full(n, weight * length / n / G), mu)
        slipped = length / n * np.count_nonzero(critical < force)
        errors.append(abs(slipped - front))
        assert errors[-1] <= length / n
    assert errors[-1] < errors[0]


def test_rod_step_solves_the_wave_equation():
    force, mu, line_mass, speed = 4.0, 0.3, 1.0, 10.0
    weight = line_mass * G
    stop, front = exact.rod_step_arrest(force, mu, weight, speed)
    args = (force, mu, weight, line_mass, speed)
    t, h = 0.4 * stop, 1e-4
    s = np.linspace(0.0, 0.9 * speed * t, 50)[1:]

    def u(t, s):
        return exact.rod_step(t, s, *args)[0]

    tt = (u(t + h, s) - 2 * u(t, s) + u(t - h, s)) / h**2
    ss = (u(t, s + h) - 2 * u(t, s) + u(t, s - h)) / h**2
    np.testing.assert_allclose(tt - speed**2 * ss, -mu * G, rtol=1e-4)
    # the load at the end, continuity at the front, one velocity behind it
    pull = -line_mass * speed**2 * (u(t, h) - u(t, 0.0)) / h
    assert pull == pytest.approx(force, rel=1e-4)
    assert u(t, speed * t - 1e-9) == pytest.approx(0.0, abs=1e-9)
    velocity = exact.rod_step(t, s, *args)[1]
    np.testing.assert_allclose(velocity, (u(t + h, s) - u(t - h, s)) / (2 * h), rtol=1e-6)
    assert np.ptp(velocity) == 0.0
    # all points stop at once, and what is left is a state of rest
    assert exact.rod_step(stop * (1 - 1e-9), 0.5, *args)[1] == pytest.approx(0.0, abs=1e-7)
    rest = u(2.0 * stop, np.array([0.2, 0.2 + h]))
    tension = -line_mass * speed**2 * np.diff(rest) / h
    assert tension == pytest.approx(force * (1.0 - 0.2 / front), rel=1e-3)


def test_reference_file_says_the_same():
    """The numbers copied here are those of the reference results."""
    cases = reference("chains.json")
    assert cases["A_baseline_const"]["x_final"] == A_BASELINE["x"]
    assert cases["C_unequal_124"]["stick_margin_final"] == C_UNEQUAL["margin"]
    assert cases["Q_quasistatic_nonunique"]["x_end_slide"] == Q_NONUNIQUE["x_end_slide"]


def test_a_critical_force_beyond_floating_point_is_none():
    chain = Chain(mass=[0.05] * 9, stiffness=1.0, law=Coulomb(1e308), load=Constant(0.0))
    assert chain.critical_force() is None
