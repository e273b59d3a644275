"""Adhesion laws against closed forms, quadrature and the numbers of the paper's examples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar

from stiction.errors import ModelError
from stiction.exact.adhesion import (
    cattaneo_mindlin_traction,
    cohesive_zone_length,
    hertz_half_width,
    jkr_load,
    jkr_pull_off,
    jkr_shear_detachment,
    kendall_force,
    lennard_jones_constants,
    lennard_jones_potential,
    lennard_jones_traction,
)
from stiction.laws import DI, EA, LennardJones, amontons

STRIP = LennardJones(1e-19, 0.4e-9)


def test_constants_are_those_of_the_curve():
    c = lennard_jones_constants(2.0, 3.0)

    def traction(gap):
        return lennard_jones_traction(gap, 2.0, 3.0)

    assert brentq(traction, 1.5, 2.2, xtol=1e-15) == pytest.approx(c.gap_eq, rel=1e-14)
    deepest = minimize_scalar(traction, (2.0, 2.3, 3.0), tol=1e-12)
    assert deepest.x == pytest.approx(c.gap_max, rel=1e-7)
    assert -deepest.fun == pytest.approx(c.max_tension, rel=1e-14)
    slope = traction(c.gap_eq + 1e-30j).imag / 1e-30
    assert -slope == pytest.approx(c.stiffness, rel=1e-13)
    assert c.traction_scale == pytest.approx(2.0 / (2.0 * np.pi * 27.0), rel=1e-15)


def test_potential_is_the_work():
    c = lennard_jones_constants(2.0, 3.0)
    work, error = quad(lambda g: lennard_jones_traction(g, 2.0, 3.0), c.gap_eq, np.inf)
    assert abs(work + c.work_of_adhesion) < max(1e-9 * c.work_of_adhesion, 10.0 * error)
    assert lennard_jones_potential(c.gap_eq, 2.0, 3.0) == pytest.approx(work, rel=1e-8)
    assert lennard_jones_potential(np.inf, 2.0, 3.0) == 0.0


@pytest.mark.parametrize("hamaker", [1e-19, 9.57e-15, 3.0])
@pytest.mark.parametrize("r0", [0.4e-9, 131.9e-9, 2.0])
def test_constants_in_closed_form(hamaker, r0):
    law, c = LennardJones(hamaker, r0), lennard_jones_constants(hamaker, r0)
    assert law.traction_scale == pytest.approx(c.traction_scale, rel=1e-13)
    assert law.gap_eq == pytest.approx(c.gap_eq, rel=1e-13)
    assert law.gap_max == pytest.approx(c.gap_max, rel=1e-13)
    assert law.max_tension == pytest.approx(c.max_tension, rel=1e-13)
    assert law.work_of_adhesion == pytest.approx(c.work_of_adhesion, rel=1e-13)
    assert law.linear_stiffness == pytest.approx(c.stiffness, rel=1e-13)
    ratio = law.linear_stiffness * law.work_of_adhesion / law.max_tension**2
    assert ratio == pytest.approx(243.0 / 16.0, rel=1e-13)


def test_inverse_map():
    law = LennardJones.from_strength(0.33e6, 0.027)
    assert law.max_tension == pytest.approx(0.33e6, rel=1e-13)
    assert law.work_of_adhesion == pytest.approx(0.027, rel=1e-13)
    r0 = 16.0 * np.sqrt(5.0) / (9.0 * 15.0 ** (1.0 / 3.0)) * 0.027 / 0.33e6
    assert law.r0 == pytest.approx(r0, rel=1e-13)
    assert law.hamaker == pytest.approx(9.0 * np.pi * r0**3 * 0.33e6 / np.sqrt(5.0), rel=1e-13)
    back = LennardJones.from_strength(STRIP.max_tension, STRIP.work_of_adhesion)
    assert_allclose([back.hamaker, back.r0], [STRIP.hamaker, STRIP.r0], rtol=1e-13)


# T0, g_eq, g_max, T_max, W_adh in SI, and T_max/E, W/(E L0), k_reg L0/E
EXAMPLES = {
    "strip": (
        (1e-19, 0.4e-9, 2e9, 1e-9),
        (248.680e6, 0.25471e-9, 0.30589e-9, 123.570e6, 30.6648e-3, 0.0617849, 0.0153324, 3.7813),
    ),
    "cylinders": (
        (2.54e-20, 0.4e-9, 1e9, 40e-9),
        (63.1646e6, 0.25471e-9, 0.30589e-9, 31.3868e6, 7.78887e-3, 0.0313868, 1.94722e-4, 76.836),
    ),
    "cap": (
        (9.57121e-15, 131.881e-9, 2e6, 1e-6),
        (0.664112e6, 83.978e-9, 100.85e-9, 0.33e6, 0.027, 0.165, 0.0135, 30.628),
    ),
}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_numbers_of_the_examples(name):
    (hamaker, r0, modulus, unit), wanted = EXAMPLES[name]
    law = LennardJones(hamaker, r0)
    got = (
        law.traction_scale,
        law.gap_eq,
        law.gap_max,
        law.max_tension,
        law.work_of_adhesion,
        law.max_tension / modulus,
        law.work_of_adhesion / (modulus * unit),
        law.linear_stiffness * unit / modulus,
    )
    # the table has five to six digits
    assert_allclose(got, wanted, rtol=3e-5)


def test_rigid_block_pull_off():
    gaps = np.array([STRIP.gap_eq, 0.28e-9, STRIP.gap_max, 0.5e-9, 3e-9, 1e-6])
    work = STRIP.potential(gaps) - STRIP.potential(STRIP.gap_eq)
    exact = lennard_jones_potential(gaps, 1e-19, 0.4e-9) + STRIP.work_of_adhesion
    assert_allclose(work, exact, rtol=0.0, atol=1e-13 * STRIP.work_of_adhesion)
    assert -STRIP.traction(STRIP.gap_max) == pytest.approx(STRIP.max_tension, rel=1e-14)
    tension = -STRIP.traction(np.linspace(0.2e-9, 2e-9, 4001))
    assert (tension <= STRIP.max_tension * (1.0 + 1e-14)).all()
    # the tail falls as 1/g^2: at 7350 r0 one part in 1e8 of the work is missing
    missing = -STRIP.potential(7350.0 * STRIP.r0) / STRIP.work_of_adhesion
    assert missing == pytest.approx(1e-8, rel=2e-3)


def test_regularised_work():
    halfway = 0.5 * (STRIP.gap_eq + STRIP.gap_max)
    law = LennardJones(1e-19, 0.4e-9, gap_reg=halfway)
    assert law.traction(law.gap_zero) == pytest.approx(0.0, abs=1e-13 * law.max_tension)
    assert law.gap_zero / law.gap_eq == pytest.approx(0.868, abs=5e-4)
    assert law.separation_work / law.work_of_adhesion == pytest.approx(1.048, abs=5e-4)
    assert law.potential(law.gap_zero) == pytest.approx(-law.separation_work, rel=1e-13)
    below = LennardJones(1e-19, 0.4e-9, gap_reg=0.9 * STRIP.gap_eq)
    assert below.separation_work == STRIP.work_of_adhesion == STRIP.separation_work
    assert below.gap_zero == STRIP.gap_zero == STRIP.gap_eq


def test_energy_under_pressure():
    # T_max, 2 T_max and 5 T_max on the true and on the straight curve, in units of W_adh
    p = np.array([1.0, 2.0, 5.0]) * STRIP.max_tension
    true, straight = STRIP.stored_energy(p)
    assert_allclose(true / STRIP.work_of_adhesion, [0.022, 0.066, 0.244], atol=5e-4)
    assert_allclose(straight / STRIP.work_of_adhesion, [0.033, 0.132, 0.823], atol=5e-4)
    for pressure, energy in zip(p, true, strict=True):
        gap = brentq(
            lambda g, p=pressure: float(lennard_jones_traction(g, 1e-19, 0.4e-9)) / p - 1.0,
            0.1e-9,
            STRIP.gap_eq,
            xtol=1e-24,
        )
        exact = lennard_jones_potential(gap, 1e-19, 0.4e-9) + STRIP.work_of_adhesion
        assert energy == pytest.approx(float(exact), rel=1e-9)
    gaps = STRIP.gap_eq - p / STRIP.linear_stiffness
    assert_allclose(straight, STRIP.potential(gaps) + STRIP.work_of_adhesion, rtol=1e-12)
    early = LennardJones(1e-19, 0.4e-9, gap_reg=0.95 * STRIP.gap_eq)
    low, high = early.stored_energy([0.1 * STRIP.max_tension, 50.0 * STRIP.max_tension])
    assert early.stored_energy(0.1 * STRIP.max_tension)[1] == low[0]
    assert high[1] > high[0]
    with pytest.raises(ModelError, match="unique function of the traction"):
        STRIP.stored_energy(-1.0)


def test_a_line_from_beyond_equilibrium_stores_as_a_spring_does():
    # the straight part holds where traction is zero, so pressure meets nothing else
    late = LennardJones(1e-19, 0.4e-9, gap_reg=1.05 * STRIP.gap_eq)
    p = np.array([0.0, 0.1, 3.0]) * STRIP.max_tension
    gaps = np.linspace(late.gap_zero - p / late.linear_stiffness, late.gap_zero, 3)
    # traction is linear there: Simpson's rule is exact
    pressure = np.array([late.traction(row) for row in gaps])
    work = (gaps[2] - gaps[0]) / 6.0 * (pressure[0] + 4.0 * pressure[1] + pressure[2])
    assert pressure[0] == pytest.approx(p, abs=1e-12 * STRIP.max_tension)
    assert late.stored_energy(p)[1] == pytest.approx(work, rel=1e-9)


def test_homogeneous_shear_strength():
    di, ea = DI(0.3), EA(0.3)
    gap = np.array([0.2, 0.3, 0.35]) * 1e-9
    tau = 0.3 * STRIP.max_tension
    wanted = tau / (1.0 + np.exp(80.0 / STRIP.r0 * (gap - STRIP.gap_max)))
    assert_allclose(di.threshold(gap, STRIP), wanted, rtol=1e-12)
    assert di.threshold(STRIP.gap_max, STRIP) == pytest.approx(0.5 * tau, rel=1e-15)
    assert di.threshold(STRIP.gap_eq, STRIP) == pytest.approx(tau * (1.0 - 3.6e-5), rel=1e-6)
    assert ea.threshold(STRIP.gap_eq, STRIP) == pytest.approx(tau, rel=1e-14)
    assert ea.threshold(STRIP.gap_max, STRIP) == 0.0
    assert amontons(0.3).threshold(STRIP.gap_eq, STRIP) == 0.0


def test_matched_models():
    for s_cut in (0.25, 0.5, 1.0):
        ea = EA(0.2, s_cut)
        di = ea.matching_di(STRIP)
        tension = -float(lennard_jones_traction(ea.gap_cut(STRIP), 1e-19, 0.4e-9))
        assert di.mu == pytest.approx(0.2 * tension / STRIP.max_tension, rel=1e-13)
        # equal at gap_eq but for the tail of the regularised DI model
        here = ea.threshold(STRIP.gap_eq, STRIP)
        assert di.threshold(STRIP.gap_eq, STRIP) == pytest.approx(float(here), rel=4e-5)
        assert di.matching_ea(STRIP, s_cut).mu == pytest.approx(0.2, rel=1e-14)
    assert EA(0.2).matching_di(STRIP).mu == pytest.approx(0.2, rel=1e-15)
    for bad in (amontons(0.2), EA(0.2, -0.001)):
        with pytest.raises(ModelError, match="cut-off gap in tension"):
            bad.matching_di(STRIP)
    with pytest.raises(ModelError, match="cut-off gap in tension"):
        DI(0.2).matching_ea(LennardJones(1e-19, 0.4e-9, adhesive=False))


def test_plane_contact():
    radius, modulus, work = 40.65, 2.63192 / 2.0, 0.0135
    a, load = jkr_pull_off(radius, modulus, work)
    assert 2.0 * a == pytest.approx(4.42, abs=1e-3)
    assert load == pytest.approx(-0.3725, abs=1e-4)
    lowest = minimize_scalar(lambda w: float(jkr_load(w, radius, modulus, work)), (1.0, a, 4.0))
    assert lowest.fun == pytest.approx(load, rel=1e-12)
    assert jkr_load(16.0 ** (1.0 / 3.0) * a, radius, modulus, work) == pytest.approx(0.0, abs=1e-12)
    width, shear = jkr_shear_detachment(0.0, radius, modulus, work)
    assert shear == pytest.approx(0.542, abs=1e-3)
    assert 2.0 * width == pytest.approx(7.02, abs=1e-2)
    assert np.isfinite(jkr_shear_detachment(0.999 * load, radius, modulus, work)[1])
    assert np.isnan(jkr_shear_detachment(1.001 * load, radius, modulus, work)[1])
    a_hertz = float(hertz_half_width(1.0, radius, modulus))
    assert jkr_load(a_hertz, radius, modulus, 0.0) == pytest.approx(1.0, rel=1e-14)
    # the traction of partial slip adds up to the shear, and is friction at most
    x = a_hertz * np.cos((np.arange(4000) + 0.5) * np.pi / 4000)
    weights = np.sqrt(a_hertz**2 - x**2) * np.pi / 4000
    q = cattaneo_mindlin_traction(x, 1.0, 0.2, 0.3, a_hertz)
    # the kink at c limits the quadrature
    assert q @ weights == pytest.approx(0.2, rel=1e-5)
    pressure = 2.0 / (np.pi * a_hertz) * np.sqrt(1.0 - (x / a_hertz) ** 2)
    assert (q <= 0.3 * pressure + 1e-15).all()
    assert_allclose(cattaneo_mindlin_traction(x, 1.0, -0.2, 0.3, a_hertz), -q, rtol=0.0)
    force = kendall_force(0.5 * np.pi, 0.0153324, 11.0)
    assert force + force**2 / 22.0 == pytest.approx(0.0153324, rel=1e-14)
    assert kendall_force(np.pi / 3, 1.0, 1e12) == pytest.approx(2.0, rel=1e-11)
    # a small angle: W / (1 - cos angle) is 2 W / angle^2
    assert kendall_force(1e-7, 1.0, 1e50) == pytest.approx(2e14, rel=1e-13)
    zone = cohesive_zone_length(2.63192 / 2.0, 0.0135, 0.165)
    assert zone == pytest.approx(0.65, abs=5e-3)
