"""Values and units together, against estimates by hand: rods, a rod on a plane, and strings.

A wrong unit hides in neither alone. Every number is read from the files of a saved run, with the
unit that stands beside it. Sections are those of the formula sheet of rods.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

G = 9.81  # m/s^2
METRE = 1000.0 * math.pi * 0.02**2  # kg of one metre of the rods
EA = 1e6 * math.pi * 0.02**2  # N, Young's modulus times area of the crossed rods

# ---- two rods


@pytest.fixture
def crossed(reported):
    return reported("rods", "slips-and-opens")


def test_rods_stretched_by_two_percent_hold_half_a_joule(crossed):
    # EA (stretch - 1)^2 L / 2 in each of two rods; section 1
    assert crossed.value("stored", "J")[0] == pytest.approx(EA * 0.02**2, rel=1e-9)


def test_the_thrown_rod_moves_with_the_energy_of_its_waves(crossed):
    # m a^2 / 4 for every sine of amplitude a, J w^2 / 4 with J = m r^2 / 2 for the spin
    given = 0.25 * METRE * (0.5**2 + 1.0**2 + 0.7**2) + 0.25 * (METRE * 0.02**2 / 2.0) * 2.0**2
    kinetic = crossed.value("kinetic", "J")[0] + crossed.quantity("energy_projected", "J")
    # the clamps hold the nodes beside them as well
    assert kinetic == pytest.approx(given, rel=5e-3)


def test_momenta_of_the_thrown_rod(crossed):
    # 2/pi m a of the half wave; J w 2/pi about x; -m L 0.7 / (2 pi) of the whole wave about z
    start = crossed.value("momentum", "kg m/s")[0]
    assert_allclose(start, [0.0, METRE / math.pi, 2.0 * METRE / math.pi], rtol=1e-2, atol=1e-12)
    spin, whirl = METRE * 0.02**2 * 2.0 / math.pi, -METRE * 1.02 * 0.7 / (2.0 * math.pi)
    about = crossed.value("angular_momentum", "kg m^2/s")[0]
    # reason: the clamps hold the nodes beside them, which would turn the most about the middle
    assert_allclose(about[[0, 2]], [spin, whirl], rtol=3e-2)


def test_crossed_rods_touch_at_two_radii_under_sixty_degrees(crossed):
    # |D| = 2 a and det A = -sin^2 of the angle between straight rods; section 2
    z, number = crossed.value("position", "m")[0, :, 2], crossed.value("rod_of_node", "1")
    assert_allclose(z[number == 2] - z[number == 1], 0.04, rtol=1e-12)
    assert np.unique(crossed.value("radius_of_node", "m")).tolist() == [0.02]
    assert crossed.value("crossing_angle", "rad")[0] == pytest.approx(math.pi / 3.0, rel=1e-9)
    assert crossed.value("det_A", "1")[0] == pytest.approx(-0.75, rel=1e-9)
    assert_allclose(crossed.value("contact_point", "m")[0], [0.0, 0.0, 0.02], atol=1e-14)
    assert crossed.value("s1", "m")[0] == pytest.approx(0.5, rel=1e-12)


def test_a_contact_under_friction_keeps_its_bound(crossed):
    # |l_T| <= mu p_N with mu = 0.5, reached where it slips; section 4
    ratio, mode = crossed.value("friction_ratio", "1"), crossed.value("contact_mode", "1")
    assert np.nanmax(ratio) == pytest.approx(0.5, rel=1e-9)
    # nothing presses yet at the start
    slips = (mode == 2) & (crossed.value("lambda_n", "N") < 0.0)
    assert slips.any()
    assert_allclose(ratio[slips], 0.5, rtol=1e-9)
    force = np.linalg.norm(crossed.value("contact_force", "N"), axis=1)
    pressed = np.abs(crossed.value("lambda_n", "N"))
    assert_allclose(force, pressed * np.hypot(1.0, np.nan_to_num(ratio)), rtol=1e-9, atol=1e-12)


def test_a_thrown_rod_flies_and_falls_back(reported):
    # z = 0.05 m + v t - g t^2 / 2 of every node until 2 v / g = 0.040775 s
    got, end = reported("rods", "thrown"), 2.0 * 0.2 / G
    time = got.value("time", "s")
    flight = time < end
    z = got.value("position", "m")[:, got.value("rod_of_node", "1") == 2, 2][flight]
    expected = (0.05 + 0.2 * time - 0.5 * G * time**2)[flight]
    assert_allclose(z, np.broadcast_to(expected[:, None], z.shape), rtol=1e-9)
    assert got.at_events("time", "close")[0] == pytest.approx(end, rel=5e-3)
    # 0.50265 kg at 0.2 m/s
    assert got.value("momentum", "kg m/s")[0, 2] == pytest.approx(0.4 * METRE * 0.2, rel=1e-9)
    # reason: the rod below sags meanwhile, by some 1e-5 m
    assert got.value("gap", "m")[20] == pytest.approx(0.2 * 0.01 - 0.5 * G * 0.01**2, rel=2e-2)


@pytest.mark.parametrize("run", ["lies", "lies-damped"])
def test_a_lying_rod_is_carried_by_its_contact(run, reported):
    # impulse of the contact = m g t + m times the change of velocity; m g = 4.931 N for 0.05 s
    got = reported("rods", run)
    time, pressed = got.value("time", "s"), -got.value("contact_force", "N")[:, 2]
    z = got.value("position", "m")[:, got.value("rod_of_node", "1") == 2, 2]
    middle = 0.5 * (z[:, 1:] + z[:, :-1]).mean(axis=1)
    gained = np.gradient(middle, time, edge_order=2)[-1]
    impulse = np.trapezoid(pressed, time)
    assert impulse == pytest.approx(0.4 * METRE * (G * time[-1] + gained), rel=1e-3)


def test_unequal_rods_touch_one_radius_from_each_axis(reported):
    # c = r1 + a1 n with a1 = 0.03 m; "Unequal radii"
    got = reported("rods", "lies")
    assert_allclose(got.value("contact_point", "m")[0], [0.0, 0.0, 0.03], atol=1e-12)


# ---- a rod on a plane: 0.5 m, 0.62832 kg


ROD = 0.5 * METRE


def test_the_plane_carries_the_weight_of_the_rod(reported):
    # m g = 6.1638 N, an eighth of it under every node but the ends
    force = reported("rod_on_plane", "rolls").value("contact_force", "N")[:, :, 2]
    assert_allclose(force.sum(axis=1), ROD * G, rtol=1e-9)
    assert_allclose(force[:, 1:-1], ROD * G / 8.0, rtol=1e-6)


def test_a_sliding_rod_rolls_with_two_thirds_of_its_speed(reported):
    # t = v / (3 mu g) = 0.06796 s, then m 2 v / 3
    got = reported("rod_on_plane", "rolls")
    assert_allclose(got.at_events("time", "stick"), 0.6 / (3.0 * 0.3 * G), rtol=5e-3)
    along = got.value("momentum", "kg m/s")[:, 0]
    assert along[0] == pytest.approx(ROD * 0.6, rel=1e-12)
    assert along[-1] == pytest.approx(ROD * 0.4, rel=1e-6)
    assert_allclose(got.value("slip_speed", "m/s")[0], 0.6, rtol=1e-12)


def test_sliding_turns_a_third_of_the_energy_into_heat(reported):
    # (1/3) m v^2 / 2 = 0.0377 J
    got, heat = reported("rod_on_plane", "rolls"), ROD * 0.6**2 / 6.0
    assert got.value("friction_heat", "J")[-1] == pytest.approx(heat, rel=1e-4)
    assert got.quantity("friction_heat", "J") == pytest.approx(heat, rel=1e-4)
    assert got.value("kinetic", "J")[-1] == pytest.approx(2.0 * heat, rel=1e-6)


def test_a_rod_falls_from_its_height(reported):
    # t = sqrt(2 H / g) with H = 0.05 m, at sqrt(2 g H) = 0.99045 m/s
    got = reported("rod_on_plane", "falls")
    assert_allclose(got.at_events("time", "close"), math.sqrt(0.1 / G), rtol=1e-6)
    assert_allclose(got.at_events("closing_speed", "close"), math.sqrt(0.1 * G), rtol=1e-6)
    assert_allclose(got.at_events("slip_speed", "close"), 0.3, rtol=1e-9)
    assert_allclose(got.value("gap", "m")[0], 0.05, rtol=1e-12)


def test_the_blow_takes_the_energy_of_the_fall(reported):
    # m g H and a third of m v^2 / 2, which the blow of friction takes: 0.31761 J
    got, lost = reported("rod_on_plane", "falls"), ROD * G * 0.05 + ROD * 0.3**2 / 6.0
    assert got.value("impact_loss", "J")[-1] == pytest.approx(lost, rel=1e-6)
    assert got.quantity("impact_loss", "J") == pytest.approx(lost, rel=1e-6)
    # it has fallen by 0.05 m: work of its weight
    assert got.value("external_work", "J")[-1] == pytest.approx(ROD * G * 0.05, rel=1e-6)


def test_bounces_come_back_after_their_flight(reported):
    # half the speed: a flight of 2 (0.5 v) / g, as long as the fall
    time = reported("rod_on_plane", "bounces").at_events("time", "bounce")
    fall = math.sqrt(0.1 / G)
    assert_allclose(time[:9], fall, rtol=1e-6)
    assert_allclose(time[9:18], 2.0 * fall, rtol=1e-6)


# ---- strings


@pytest.fixture
def strings(reported):
    return reported("strings", "closed-form")


def closed_form(time):
    """Return s and its rate: tan(s / 2) = tan(s0 / 2) exp(-(1 - cos t) / 2); section 5."""
    s = 2.0 * np.arctan(math.tan(1.0) * np.exp(-0.5 * (1.0 - np.cos(time))))
    return s, -0.5 * np.sin(s) * np.sin(time)


def test_the_contact_moves_as_in_the_closed_form(strings):
    s, rate = closed_form(strings.value("time", "1"))
    for name in ("s1", "s2"):
        assert_allclose(strings.value(name, "1"), s, rtol=1e-8)
        assert_allclose(strings.value(f"{name}_rate", "1"), rate, atol=1e-8)


def test_both_harmonics_together_swing_freely(strings):
    # u1 + v1 = cos t; section 5
    both = strings.value("u1", "1") + strings.value("v1", "1")
    assert_allclose(both, np.cos(strings.value("time", "1")), atol=1e-8)


def test_sin_x_on_two_pi_holds_half_pi(strings):
    # the integral of u_x^2 / 2 = cos^2 / 2 over 2 pi
    half = 0.5 * math.pi
    assert strings.value("stored", "1")[0] == pytest.approx(half, rel=1e-9)
    both = strings.value("energy_u", "1") + strings.value("energy_v", "1")
    assert_allclose(both, half, rtol=1e-8)
    # u + v and u - v hold one half each, for ever
    assert_allclose(strings.value("energy_P", "1"), 0.5 * half, rtol=1e-4)
    assert_allclose(strings.value("energy_M", "1"), 0.5 * half, rtol=1e-4)


def test_the_contact_force_before_echoes_return(strings):
    # lam = (w_u - w_v) (c^2 - s'^2) / c with w_u = -sin s sin t, w_v = 0; section 5
    time = strings.value("time", "1")
    s, rate = closed_form(time)
    expected, early = -np.sin(s) * np.sin(time) * (1.0 - rate**2), time < 2.0
    assert_allclose(strings.value("contact_force", "1")[early], expected[early], atol=1e-7)


def test_strings_report_their_grid(strings):
    x = strings.value("x", "1")
    assert_allclose(x, np.linspace(0.0, 2.0 * math.pi, 201), rtol=1e-12)
    assert_allclose(strings.value("u", "1")[0], np.sin(x), atol=1e-12)
    assert strings.value("wave_speed", "1").tolist() == [1.0, 1.0]
    assert_allclose(strings.value("length", "1"), 2.0 * math.pi, rtol=1e-14)


def test_strings_break_down_where_the_contact_is_as_fast_as_waves(reported):
    # a quarter of the height of the wave, 4 of 5 at the breakdown: |s'| = c = 1
    got = reported("strings", "breakdown")
    assert abs(got.at_events("s1_rate", "breakdown")[0]) == pytest.approx(1.0, rel=1e-6)
    assert got.quantity("breakdown_time", "1") == got.at_events("time", "breakdown")[0]
