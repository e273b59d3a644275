"""Work and signs of the law of adhesion, by quadrature of its own traction and of the paper's."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import stiction as st

# Table 4 of the sheet of solids: the cap, in SI
T_MAX, WORK = 0.33e6, 27e-3
CAP = st.LennardJones.from_strength(T_MAX, WORK)


def curve(gap, hamaker, r0):
    """Return T0 ((r0/g)^9 / 45 - (r0/g)^3 / 3), eq. (10) of the paper."""
    return hamaker / (2.0 * math.pi * r0**3) * ((r0 / gap) ** 9 / 45.0 - (r0 / gap) ** 3 / 3.0)


def test_the_cap_has_the_constants_of_the_table():
    # r0 = 131.881 nm, A_H = 9.57121e-15 J, g_eq = 83.978 nm, g_max = 100.85 nm; section 1
    assert CAP.r0 == pytest.approx(131.881e-9, rel=1e-5)
    assert CAP.hamaker == pytest.approx(9.57121e-15, rel=1e-5, abs=0.0)
    assert CAP.gap_eq == pytest.approx(83.978e-9, rel=1e-4)
    assert CAP.gap_max == pytest.approx(100.85e-9, rel=1e-4)


def test_pulling_apart_costs_the_work_of_adhesion():
    # tension is negative traction: W = - integral of T from g_eq on, and it is positive
    reach = 2000.0 * CAP.r0
    grid = np.geomspace(CAP.gap_eq, reach, 60)
    parts = [
        quad(lambda g: float(CAP.traction(g)), a, b, epsabs=0.0, epsrel=1e-10)[0]
        for a, b in itertools.pairwise(grid)
    ]
    tail = CAP.traction_scale * CAP.r0**3 / 6.0 / reach**2
    assert -sum(parts) + tail == pytest.approx(WORK, rel=1e-7)
    assert CAP.work_of_adhesion == pytest.approx(WORK, rel=1e-12)
    assert float(CAP.potential(CAP.gap_eq)) == pytest.approx(-WORK, rel=1e-12)


def test_tension_is_negative_and_pressure_positive():
    gaps = np.array([0.2, 0.9, 1.0, 1.1, 1.2, 3.0]) * CAP.gap_eq
    traction = CAP.traction(gaps)
    assert np.all(traction[:2] > 0.0)
    assert traction[2] / T_MAX == pytest.approx(0.0, abs=1e-9)
    assert np.all(traction[3:] < 0.0)
    np.testing.assert_allclose(traction[2:], curve(gaps[2:], CAP.hamaker, CAP.r0), atol=1e-3)
    # straight below g_eq with k_reg = 2 15^(2/3) T0 / r0; section 1
    stiff = 2.0 * 15.0 ** (2.0 / 3.0) * CAP.traction_scale / CAP.r0
    np.testing.assert_allclose(traction[:2], stiff * (CAP.gap_eq - gaps[:2]), rtol=1e-12)
    assert float(CAP.traction(CAP.gap_max)) == pytest.approx(-T_MAX, rel=1e-12)


def test_sliding_thresholds_at_three_gaps():
    # DI: tau at contact, tau/2 at g_max; EA: mu T_max at g_eq, 0 at g_max; section 2
    di, ea = st.DI(mu=0.4), st.EA(mu=0.3)
    assert float(di.threshold(CAP.gap_eq, CAP)) == pytest.approx(0.4 * T_MAX, rel=1e-4)
    assert float(di.threshold(CAP.gap_max, CAP)) == pytest.approx(0.2 * T_MAX, rel=1e-12)
    assert float(ea.threshold(CAP.gap_eq, CAP)) == pytest.approx(0.3 * T_MAX, rel=1e-12)
    assert float(ea.threshold(CAP.gap_max, CAP)) == 0.0
    # half a period of the law below g_eq pressure adds mu T
    deep = 0.5 * CAP.gap_eq
    pressure = 2.0 * 15.0 ** (2.0 / 3.0) * CAP.traction_scale / CAP.r0 * deep
    assert float(ea.threshold(deep, CAP)) == pytest.approx(0.3 * (pressure + T_MAX), rel=1e-12)


def test_thresholds_do_not_turn_over():
    # a sliding interface takes work: thresholds are never negative, and fall with the gap
    gaps = np.linspace(0.3 * CAP.gap_eq, 2.0 * CAP.gap_max, 400)
    for law in (st.DI(mu=0.4), st.EA(mu=0.3)):
        threshold = np.asarray(law.threshold(gaps, CAP))
        assert threshold.min() >= 0.0
        assert np.all(np.diff(threshold) <= 1e-12 * T_MAX)
        assert threshold[0] > 0.0
