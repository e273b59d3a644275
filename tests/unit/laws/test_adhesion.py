"""The normal law: derivatives, joints, variants, kernels, fits and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.exact.adhesion import lennard_jones_potential, lennard_jones_traction
from stiction.laws import Adhesion, LennardJones
from stiction.laws.interface_tractions import adhesion, adhesion_potential

LAW = LennardJones(2.0, 3.0)
EQ, MAX = LAW.gap_eq, LAW.gap_max
VARIANTS = {
    "at equilibrium": LAW,
    "early": LennardJones(2.0, 3.0, gap_reg=0.9 * EQ),
    "late": LennardJones(2.0, 3.0, gap_reg=0.5 * (EQ + MAX)),
    "no tension": LennardJones(2.0, 3.0, adhesive=False),
    "no tension, early": LennardJones(2.0, 3.0, 0.9 * EQ, False),
    "no tension, late": LennardJones(2.0, 3.0, 0.5 * (EQ + MAX), False),
}
GAPS = np.array([-0.7, 0.0, 0.4, 0.85, 0.95, 1.05, 1.2, 1.5, 4.0, 30.0]) * EQ


def differences(function, x, step):
    """Return the derivative by central differences of fourth order."""
    far = function(x - 2.0 * step) - function(x + 2.0 * step)
    return (far + 8.0 * (function(x + step) - function(x - step))) / (12.0 * step)


@pytest.fixture(params=sorted(VARIANTS))
def law(request):
    return VARIANTS[request.param]


def test_derivatives(law):
    step = 2e-4 * EQ
    scale = law.linear_stiffness
    # no stencil across a joint
    joints = np.array([law.linear_below, law.gap_zero])
    gaps = GAPS[np.abs(GAPS[:, None] - joints).min(axis=1) > 3.0 * step]
    assert gaps.size == GAPS.size
    assert_allclose(law.stiffness(gaps), differences(law.traction, gaps, step), atol=1e-10 * scale)
    slope = differences(law.potential, gaps, step)
    assert_allclose(-law.traction(gaps), slope, atol=1e-10 * scale * EQ)


def test_complex_step_on_the_curve():
    gaps = GAPS[GAPS > EQ]
    exact = lennard_jones_traction(gaps + 1e-30j, 2.0, 3.0)
    assert_allclose(LAW.traction(gaps), exact.real, rtol=1e-14)
    assert_allclose(LAW.stiffness(gaps), exact.imag / 1e-30, rtol=1e-13)
    exact = lennard_jones_potential(gaps + 1e-30j, 2.0, 3.0)
    assert_allclose(LAW.potential(gaps), exact.real, rtol=1e-14)
    assert_allclose(-LAW.traction(gaps), exact.imag / 1e-30, rtol=1e-13)


def test_continuous_where_the_line_begins():
    for gap_reg in (0.9 * EQ, EQ, 0.5 * (EQ + MAX)):
        law = LennardJones(2.0, 3.0, gap_reg)
        sides = np.nextafter(gap_reg, [0.0, 9.0])
        for curve, scale in (
            (law.traction, law.max_tension),
            (law.stiffness, law.linear_stiffness),
            (law.potential, law.work_of_adhesion),
        ):
            below, above = curve(sides)
            assert abs(above - below) < 1e-13 * scale


def test_straight_part():
    assert LAW.traction(EQ) == 0.0
    assert LAW.traction(0.0) == pytest.approx(2.0 * np.sqrt(15.0) * LAW.traction_scale, rel=1e-14)
    gaps = np.array([-1.0, 0.1, 0.9]) * EQ
    assert_allclose(LAW.traction(gaps), LAW.linear_stiffness * (EQ - gaps), rtol=1e-14)
    energy = -LAW.work_of_adhesion + 0.5 * LAW.linear_stiffness * (EQ - gaps) ** 2
    assert_allclose(LAW.potential(gaps), energy, rtol=1e-13)


def test_without_tension(law):
    if law.adhesive:
        assert law.traction(MAX) == pytest.approx(-law.max_tension, rel=1e-14)
        return
    gaps = np.linspace(0.3, 5.0, 200) * EQ
    traction = law.traction(gaps)
    assert (traction >= 0.0).all()
    assert not traction[gaps > law.gap_zero].any()
    assert not law.stiffness(gaps)[gaps > law.gap_zero].any()
    assert not law.potential(gaps)[gaps >= law.gap_zero].any()
    twin = LennardJones(law.hamaker, law.r0, law.gap_reg)
    inside = gaps < law.gap_zero
    assert np.array_equal(traction[inside], twin.traction(gaps)[inside])
    assert law.max_tension == twin.max_tension > 0.0
    assert abs(law.potential(law.gap_zero * (1.0 - 1e-12))) < 1e-12 * law.work_of_adhesion


def test_far_away():
    assert LAW.traction(np.inf) == LAW.stiffness(np.inf) == LAW.potential(np.inf) == 0.0
    far = 1e6 * LAW.r0
    assert LAW.potential(far) == pytest.approx(-LAW.traction_scale * 3.0 / 6e12, rel=1e-10)


def test_stretch_thins_the_traction():
    for j in (0.5, 1.0, 1.7):
        assert_allclose(LAW.traction(GAPS, j), LAW.traction(GAPS) / j, rtol=1e-15)
        assert_allclose(LAW.stiffness(GAPS, j), LAW.stiffness(GAPS) / j, rtol=1e-15)
    assert LAW.traction(GAPS[:, None], [1.0, 2.0]).shape == (GAPS.size, 2)


def test_scaling():
    # twice the length and eight times A_H: the same tractions at twice the gap
    other = LennardJones(16.0, 6.0)
    assert_allclose(other.traction(2.0 * GAPS), LAW.traction(GAPS), rtol=1e-13)
    assert_allclose(other.stiffness(2.0 * GAPS), LAW.stiffness(GAPS) / 2.0, rtol=1e-13)
    assert_allclose(other.potential(2.0 * GAPS), 2.0 * LAW.potential(GAPS), rtol=1e-13)


def test_array_form_is_the_law(law):
    table = law.table()
    traction, slope = adhesion(GAPS, table)
    assert_allclose(traction, law.traction(GAPS), rtol=1e-13)
    assert_allclose(slope, law.stiffness(GAPS), rtol=1e-13)
    psi = adhesion_potential(GAPS, table)
    assert_allclose(psi, law.potential(GAPS), rtol=1e-13, atol=1e-14 * law.work_of_adhesion)
    # a point alone is what it is among others, to the last bit
    alone = np.array([[*adhesion(g, table), adhesion_potential(g, table)] for g in GAPS])
    assert np.array_equal(alone.T, [traction, slope, psi])
    table[:] = np.nan
    assert np.isfinite(law.table()[:2]).all()


def test_fit_finds_the_curve():
    true = LennardJones(1e-19, 0.4e-9)
    gaps = np.linspace(0.9, 3.0, 25) * true.gap_eq
    tractions = lennard_jones_traction(gaps, 1e-19, 0.4e-9)
    law = LennardJones.fit(gaps, tractions)
    assert_allclose([law.hamaker, law.r0], [true.hamaker, true.r0], rtol=1e-12)
    noise = 0.01 * true.max_tension * np.cos(40.0 * np.arange(25))
    rough = LennardJones.fit(gaps, tractions + noise, adhesive=False)
    assert not rough.adhesive
    assert rough.max_tension == pytest.approx(true.max_tension, rel=1e-2)

    def misfit(hamaker, r0):
        return np.sum((lennard_jones_traction(gaps, hamaker, r0) - tractions - noise) ** 2)

    best = misfit(rough.hamaker, rough.r0)
    for a, b in ((1.001, 1.0), (0.999, 1.0), (1.0, 1.001), (1.0, 0.999)):
        assert misfit(a * rough.hamaker, b * rough.r0) > best
    heavy = np.where(np.arange(25) < 2, 1e6, 1.0)
    passes = LennardJones.fit(gaps, tractions + noise, weight=heavy)
    close = lennard_jones_traction(gaps[:2], passes.hamaker, passes.r0)
    assert_allclose(close, (tractions + noise)[:2], rtol=1e-6)


@pytest.mark.parametrize(
    ("gap", "traction"),
    [
        ([1.0, 2.0], [1.0, 2.0]),
        ([1.0, 1.0], [1.0, -1.0]),
        ([1.0], [1.0]),
        ([1.0, 0.0], [1.0, 1.0]),
        ([1.0, 2.0], [1.0]),
        ([1.0, 2.0], [1.0, np.nan]),
    ],
)
def test_fit_refuses(gap, traction):
    with pytest.raises(ModelError, match=r"LennardJones\.fit"):
        LennardJones.fit(gap, traction)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"hamaker": 0.0}, "hamaker"),
        ({"hamaker": np.nan}, "hamaker"),
        ({"r0": -1.0}, "r0"),
        ({"r0": [1.0]}, "r0"),
        ({"gap_reg": 0.0}, "gap_reg"),
        ({"gap_reg": 0.77}, "gap_max"),
        ({"gap_reg": "early"}, "gap_reg"),
        ({"adhesive": 0}, "adhesive"),
    ],
)
def test_refuses(fields, match):
    with pytest.raises(ModelError, match=match):
        LennardJones(**{"hamaker": 1.0, "r0": 1.0} | fields)


def test_refuses_at_use():
    for bad in (np.nan, [1.0, np.nan], -np.inf):
        for curve in (LAW.traction, LAW.stiffness, LAW.potential):
            with pytest.raises(ModelError, match="gap"):
                curve(bad)
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(ModelError, match="stretch"):
            LAW.traction(1.0, bad)
    for bad in ((0.0, 1.0), (1.0, -1.0), (np.inf, 1.0)):
        with pytest.raises(ModelError, match="from_strength"):
            LennardJones.from_strength(*bad)


def test_equal_when_fields_are():
    assert LennardJones(2.0, 3.0) == LAW
    assert LennardJones(2.0, 3.0, gap_reg=EQ) != LAW
    assert isinstance(LAW, Adhesion)
