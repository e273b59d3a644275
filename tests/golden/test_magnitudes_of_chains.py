"""Values and units together, against estimates by hand: chains of masses.

A wrong unit hides in neither alone. Every number is read from the files of a saved run, with the
unit that stands beside it. Sections are those of the formula sheet of chains; g = 9.81 m/s^2.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose


@pytest.fixture
def released(reported):
    return reported("chains", "released")


def test_two_kilograms_press_with_19_62_newtons(released):
    # N = m g, section 0
    assert released.value("normal_force", "N") == pytest.approx([19.62], rel=1e-14)
    assert released.value("mass_value", "kg").tolist() == [2.0]


def test_a_spring_of_50_newtons_per_metre_drawn_by_0_2_metres_holds_one_joule(released):
    # E = x K x / 2, section 4
    assert released.value("link_stiffness", "N/m").tolist() == [50.0, 0.0]
    assert released.value("x", "m")[0] == pytest.approx([0.2], rel=1e-14)
    assert released.value("stored", "J")[0] == pytest.approx(1.0, rel=1e-14)


def test_the_mass_turns_every_half_period(released):
    # pi sqrt(m / k) = 0.628319 s between turns, and 2 mu N / k = 0.07848 m nearer each time
    half = math.pi * math.sqrt(2.0 / 50.0)
    assert_allclose(released.at_events("time", "reverse"), [half, 2.0 * half], rtol=1e-10)
    assert_allclose(released.at_events("x", "reverse"), [-0.12152, 0.04304], rtol=1e-10)
    assert released.quantity("stop_time", "s") == pytest.approx(3.0 * half, rel=1e-10)


def test_heat_is_friction_times_way(released):
    # mu N = 1.962 N over 0.32152 + 0.16456 + 0.0076 m, section 4
    heat = 1.962 * (0.32152 + 0.16456 + 0.0076)
    assert released.value("friction_heat", "J")[-1] == pytest.approx(heat, rel=1e-10)
    assert released.summary["energy"]["friction_heat"] == pytest.approx(0.96860016, rel=1e-10)


def test_friction_points_against_slip(released):
    # released at x > 0 it slips back, and friction of mu N pushes forward; section 1
    slips = released.value("mode", "1")[:, 0] == -1
    assert_allclose(released.value("friction", "N")[slips], 1.962, rtol=1e-12)


def test_masses_slip_in_turn_at_their_critical_forces(reported):
    # F_i = mu g sum of m_j for j >= i: mu g = 2.4525 m/s^2 times 6, 5 and 3 kg; section 3
    got, force = reported("chains", "up-and-down"), np.array([14.715, 12.2625, 7.3575])
    assert_allclose(got.quantity("critical_force", "N"), force, rtol=1e-12)
    assert_allclose(got.quantity("onset_force", "N"), force, rtol=1e-12)
    assert_allclose(got.quantity("onset_time", "s"), force / 0.1, rtol=1e-12)
    assert_allclose(got.value("critical_force", "N"), force, rtol=1e-12)


def test_links_carry_the_load_less_friction_at_the_turn(reported):
    # T_i = f - F_i with f = 20 N, x_i = sum of T_l / k_l for l <= i; section 3
    got = reported("chains", "up-and-down")
    turn = int(np.argmax(got.value("load", "N")))
    pulls = (20.0 - np.array([14.715, 12.2625, 7.3575])) / [30.0, 20.0, 10.0]
    assert got.value("load", "N")[turn] == 20.0
    assert_allclose(got.value("x", "m")[turn], np.cumsum(pulls), rtol=1e-12)
    # mass 3 alone slips back in the end, as its spring of 10 N/m follows the load of -0.1 N/s
    assert_allclose(got.value("v", "m/s")[-1], [0.0, 0.0, -0.01], rtol=1e-10, atol=1e-14)


def test_places_and_load_vector_of_a_chain(reported):
    # load vector b = e_n, places L_i; section 0
    got = reported("chains", "up-and-down")
    assert got.value("place", "m").tolist() == [2.0, 4.0, 6.0]
    assert got.value("load_weight", "1").tolist() == [0.0, 0.0, 1.0]
    assert got.value("mu_static", "1").tolist() == [0.25, 0.25, 0.25]
    assert got.value("mu_kinetic", "1").tolist() == [0.25, 0.25, 0.25]


def test_a_belt_carries_the_mass_until_the_spring_wins(reported):
    # k v t + c v = mu_s m g: 20 0.1 t + 0.05 = 2.943 N at 1.4465 s; belt and mass at 0.1 m/s
    got = reported("chains", "belt")
    assert got.quantity("onset_time", "s") == pytest.approx([1.4465], rel=1e-10)
    assert got.at_events("x", "slip")[0] == pytest.approx(0.14465, rel=1e-10)
    assert got.at_events("friction_left", "slip")[0] == pytest.approx(2.943, rel=1e-10)
    assert got.value("belt_speed", "m/s") == 0.1
    assert got.value("link_damping", "N s/m").tolist() == [0.5, 0.0]


def test_a_plate_pulls_with_its_springs(reported):
    # slip from 10 N/m 0.02 m/s t = mu m g = 0.0981 N, t = 0.4905 s, to a step or two of 1e-3 s
    got = reported("chains", "plate")
    time = got.value("time", "s")
    assert_allclose(got.value("plate_place", "m"), 0.02 * time, rtol=1e-14)
    assert got.value("plate_stiffness", "N/m").tolist() == [10.0, 10.0]
    onset = np.array(got.quantity("onset_time", "s"))
    assert np.all((onset >= 0.4905) & (onset <= 0.4905 + 2e-3))
