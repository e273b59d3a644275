"""Values and units together, against estimates by hand: a strip in ratios, a block in SI units.

A wrong unit hides in neither alone. Every number is read from the files of a saved run, with the
unit that stands beside it. Sections are those of the formula sheet of solids.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

# ---- the strip: 200 x 10 L0, 150 L0 in adhesion, T_max = 0.0617849 E, W = 0.0153324 E L0


@pytest.fixture
def strip(reported):
    return reported("strip", "peels")


def test_the_strip_adheres_with_its_work_of_adhesion(strip):
    # W over 150 L0; section 1
    assert strip.quantity("work_of_adhesion", "1") == pytest.approx(0.0153324, rel=1e-6)
    assert strip.value("adhesive", "1")[0] == pytest.approx(-150.0 * 0.0153324, rel=1e-6)
    assert strip.quantity("contact_length_initial", "1") == pytest.approx(150.0, rel=1e-9)


def test_tension_stays_below_its_largest_value(strip):
    # T_max, met at the front; section 1
    lowest = strip.value("normal_traction", "1").min()
    assert -0.0617849 * (1.0 + 1e-9) <= lowest <= -0.06


def test_friction_follows_model_ea(strip):
    # t = mu (T_n + T_max) where it slides, along the plane; what is reported is the part along the
    # body, which turns by a few degrees at the front; section 2
    normal, shear = strip.value("normal_traction", "1"), strip.value("tangential_traction", "1")
    gap = strip.value("gap", "1")
    gap_max = 0.30589 / 0.25471 * gap[0].mean()
    inside = (strip.value("slides", "1") == 2) & (gap < gap_max * (1.0 - 1e-4))
    assert inside.sum() > 1000
    assert_allclose(np.abs(shear[inside]), 0.01 * (normal[inside] + 0.0617849), rtol=1e-2)


def test_sliding_as_a_whole_takes_the_friction_of_the_contact(strip):
    # mu T_max L_c = 0.0927 E L0, less what tension at the front takes off; section 6
    u, force = strip.value("displacement", "1"), strip.value("force_x", "1")
    row = int(np.argmax(u >= strip.quantity("full_sliding_at", "1")))
    assert force[row] == pytest.approx(0.01 * 0.0617849 * 150.0, rel=1e-2)


def test_the_strip_bends_like_a_beam_at_first(strip):
    # F = 3 E' I u / L^3 with E' = 1 / (1 - 0.04), I = 1000 / 12, and the free length 50 longer by
    # up to twice the Winkler length 3.1 L0 over which the contact yields; section 6
    force = strip.value("force_y", "1")[1]
    stiff = 3.0 / 0.96 * (1000.0 / 12.0)
    assert stiff / (50.0 + 2.0 * 3.1) ** 3 < force < stiff / 50.0**3
    assert strip.value("displacement", "1")[[1, -1]] == pytest.approx([1.0, 20.0], rel=1e-12)


# ---- the cap: T_max = 0.165 E, W = 0.0135 E L0, DI with mu = 1, pressed on with 0.5 E L0


def test_the_cap_is_pressed_on_and_slides_under_its_strength(reported):
    # F_y = -0.5 from 0.3 of the program on; at full sliding F_x = mu_DI T_max L_c; section 6
    got = reported("strip", "cap")
    time, contact = got.value("time", "1"), got.value("contact_length", "1")
    assert_allclose(got.value("force_y", "1")[time > 0.3], -0.5, atol=1e-7)
    row = int(np.argmax(time >= got.at_events("time", "full_sliding")[0] - 1e-9))
    force = abs(got.value("force_x", "1")[row])
    assert force == pytest.approx(0.165 * contact[row], rel=1e-2)
    assert got.quantity("work_of_adhesion", "1") == pytest.approx(0.0135, rel=1e-9)


def test_a_path_of_equilibria_says_where_the_program_is(reported):
    # u = 8 times the program, which rises along a path without limit points
    got = reported("strip", "path")
    program = got.value("program_time", "1")
    assert_allclose(got.value("displacement", "1"), 8.0 * program, rtol=1e-7)
    assert np.all(np.diff(program) > 0.0)
    sign, ways = got.value("sign_of_determinant", "1"), got.value("unstable_modes", "1")
    # load steps come before the path begins
    led = np.isnan(sign)
    assert led.sum() < 5
    assert np.all(sign[~led] == 1.0)
    assert np.all(ways[~led] == 0.0)


# ---- the block: 1 nm wide, A_H = 1e-19 J, r0 = 0.4 nm, model DI with mu = 0.5

T_MAX = 123.570e6  # Pa, of the table of section 1
TAU = 0.5 * T_MAX * (1.0 - 3.6e-5)  # Pa, at the equilibrium gap; section 2


@pytest.fixture
def block(reported):
    return reported("block", "sheared-and-lifted")


def test_the_block_pulls_off_with_the_largest_tension(block):
    # T_max L = 123.570 MPa 1 nm = 0.12357 N/m; section 6, rigid block
    peak = -block.quantity("peak_force_y", "N/m")
    assert peak == pytest.approx(0.123570, rel=2e-3)
    assert block.value("normal_traction", "Pa").min() == pytest.approx(-T_MAX, rel=2e-3)


def test_the_block_adheres_with_its_work(block):
    # W = 30.6648 mJ/m^2, over 1 nm 3.06648e-11 J/m; section 1
    assert block.quantity("work_of_adhesion", "J/m^2") == pytest.approx(30.6648e-3, rel=1e-5)
    assert block.value("adhesive", "J/m")[0] == pytest.approx(-3.06648e-11, rel=1e-5)


def test_the_raised_block_keeps_the_tail_of_the_potential(block):
    # T0 r0 ((r0/g)^8 / 360 - (r0/g)^2 / 6) at g = 4 r0, T0 = 248.680 MPa, r0 = 0.4 nm; section 1
    tail = 248.680e6 * 0.4e-9 * (0.25**8 / 360.0 - 0.25**2 / 6.0) * 1e-9
    assert block.value("adhesive", "J/m")[-1] == pytest.approx(tail, rel=1e-5)
    assert_allclose(block.value("gap", "m")[-1], 1.6e-9, rtol=1e-12)


def test_the_block_slides_under_mu_times_the_largest_tension(block):
    # tau = 61.783 MPa, over 1 nm 0.061783 N/m; section 2
    row = int(np.searchsorted(block.value("time", "1"), 1.0))
    assert_allclose(block.value("tangential_traction", "Pa")[row], -TAU, rtol=1e-5)
    assert block.value("force_x", "N/m")[row] == pytest.approx(-TAU * 1e-9, rel=1e-5)


def test_heat_of_the_block_is_traction_times_way(block):
    # tau L (0.02 nm less what springs of stick take before full sliding); section 3
    row = int(np.searchsorted(block.value("time", "1"), 1.0))
    heat, at = block.value("friction_heat", "J/m")[row], block.quantity("full_sliding_at", "m")
    assert 0.0 < at < 2e-12
    assert TAU * 1e-9 * (2e-11 - at) <= heat <= TAU * 1e-9 * 2e-11


def test_the_block_opens_where_the_gap_passes_that_of_the_largest_tension(block):
    # from 0.25471 nm by (1.6 - 0.25471) nm / 100 a step: beyond 0.30589 nm after four steps
    assert_allclose(block.value("gap", "m")[0], 0.25471e-9, rtol=1e-4)
    assert block.at_events("time", "open")[0] == pytest.approx(1.04, rel=1e-9)
    assert block.quantity("contact_length_initial", "m") == pytest.approx(1e-9, rel=1e-9, abs=0.0)
    assert block.quantity("contact_length_final", "m") == 0.0
