"""Sliding thresholds: values, slopes, limits, kernels and errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stiction.errors import ModelError
from stiction.laws import DI, EA, Frictionless, LennardJones, UserThreshold, amontons
from stiction.laws.interface_tractions import adhesion, slide_threshold

LJ = LennardJones(2.0, 3.0)
BARE = LennardJones(2.0, 3.0, adhesive=False)
EQ, MAX, TOP = LJ.gap_eq, LJ.gap_max, LJ.max_tension
GAPS = np.array([-0.5, 0.3, 0.9, 0.97, 1.03, 1.1, 1.19, 1.22, 1.5, 5.0]) * EQ
LAWS = {
    "frictionless": Frictionless(),
    "DI": DI(0.4),
    "DI wide": DI(0.4, s_cut=3.62, sharpness=20.0),
    "EA": EA(0.4),
    "EA half": EA(0.4, 0.5),
    "Amontons": amontons(0.4),
    "EA pressed": EA(0.4, -0.1),
    "user": UserThreshold(lambda g: 0.1 / (1.0 + g * g), lambda g: -0.2 * g / (1.0 + g * g) ** 2,
                          (0.0, 4.0)),
}  # fmt: skip


@pytest.fixture(params=sorted(LAWS))
def law(request):
    return LAWS[request.param]


def test_frictionless():
    law = Frictionless()
    assert not law.threshold(GAPS, LJ).any()
    assert not law.slope(GAPS, LJ).any()
    assert law.gap_cut(LJ) == -np.inf
    assert not law.per_current_area


def test_di_values():
    law = DI(0.4)
    tau = law.tau(LJ)
    assert tau == 0.4 * TOP
    assert law.per_current_area
    assert law.gap_cut(LJ) == MAX
    assert law.threshold(MAX, LJ) == 0.5 * tau
    assert law.slope(MAX, LJ) == pytest.approx(-0.25 * tau * 80.0 / 3.0, rel=1e-15)
    assert law.threshold(0.0, LJ) == law.threshold(-3.0, LJ) == tau
    assert law.threshold(2.0 * MAX, LJ) == law.slope(2.0 * MAX, LJ) == 0.0
    # without tension, and under any stretch of the partner, tau is the same
    assert np.array_equal(law.threshold(GAPS, BARE), law.threshold(GAPS, LJ))
    assert np.array_equal(law.threshold(GAPS, LJ, 1.7), law.threshold(GAPS, LJ))
    assert DI.from_tau(tau, LJ) == law
    # the curve of the paper's figure 3: cut at 1.1 r0
    wide = DI(0.5, s_cut=(1.1 * 3.0 - EQ) / (MAX - EQ))
    assert wide.gap_cut(LJ) == pytest.approx(3.3, rel=1e-14)
    assert wide.threshold(3.3, LJ) == pytest.approx(0.25 * TOP, rel=1e-12)


def test_ea_values():
    for s_cut, cut in (
        (1.0, MAX),
        (0.5, 0.5 * (EQ + MAX)),
        (0.0, EQ),
        (-0.1, 1.1 * EQ - 0.1 * MAX),
    ):
        law = EA(0.4, s_cut)
        assert not law.per_current_area
        assert law.gap_cut(LJ) == pytest.approx(cut, rel=1e-15)
        s = law.threshold(GAPS, LJ)
        inside = law.gap_cut(LJ) > GAPS
        wanted = 0.4 * (LJ.traction(GAPS) - LJ.traction(law.gap_cut(LJ)))
        assert_allclose(s[inside], wanted[inside], rtol=1e-14)
        assert not s[~inside].any()
        assert (s >= 0.0).all()
        assert_allclose(law.threshold(GAPS, LJ, 1.7), s / 1.7, rtol=1e-14)
    pressed = np.maximum(LJ.traction(GAPS), 0.0)
    assert_allclose(amontons(0.4).threshold(GAPS, LJ), 0.4 * pressed, rtol=1e-14)
    assert amontons(0.4) == EA(0.4, 0.0)
    # without tension every cut beyond gap_eq is Amontons' law
    assert np.array_equal(EA(0.4).threshold(GAPS, BARE), amontons(0.4).threshold(GAPS, LJ))


def test_continuous_at_the_cut():
    for law in (EA(0.4), EA(0.4, 0.5), amontons(0.4), EA(0.4, -0.1)):
        cut = law.gap_cut(LJ)
        below, at = law.threshold([cut * (1.0 - 1e-12), cut], LJ)
        assert at == 0.0
        assert 0.0 <= below < 1e-10 * TOP
        jump = law.slope([cut * (1.0 - 1e-9), cut], LJ)
        assert jump[1] == 0.0
        # only s_cut = 1 has no kink
        assert (abs(jump[0]) < 1e-7 * LJ.linear_stiffness) == (law.s_cut == 1.0)


def test_limits():
    for small in (EA(1e-9), DI(1e-9), amontons(1e-9)):
        assert (small.threshold(GAPS, LJ) < 2e-8 * LJ.linear_stiffness * EQ).all()
    assert not EA(0.0).threshold(GAPS, LJ).any()
    assert not DI(0.0).threshold(GAPS, LJ).any()
    for s_cut in (1e-7, -1e-7):
        near, limit = EA(0.4, s_cut).threshold(GAPS, LJ), amontons(0.4).threshold(GAPS, LJ)
        assert_allclose(near, limit, atol=1e-6 * TOP)
    sharp = DI(0.4, sharpness=1e7).threshold(GAPS, LJ)
    assert_allclose(sharp, np.where(GAPS < MAX, 0.4 * TOP, 0.0), rtol=1e-15)


def test_slopes(law):
    step = 1e-4 * EQ
    for normal in (LJ, BARE):
        cut = law.gap_cut(normal)
        joints = np.array([EQ, cut if np.isfinite(cut) and isinstance(law, EA) else EQ])
        assert np.abs(GAPS[:, None] - joints).min() > 2.0 * step

        def threshold(g, normal=normal):
            return law.threshold(g, normal, 1.3)

        far = threshold(GAPS - 2.0 * step) - threshold(GAPS + 2.0 * step)
        near = threshold(GAPS + step) - threshold(GAPS - step)
        difference = (far + 8.0 * near) / (12.0 * step)
        scale = max(float(np.abs(difference).max()), 1e-300)
        assert_allclose(law.slope(GAPS, normal, 1.3), difference, rtol=0.0, atol=1e-9 * scale)


def test_array_form_is_the_law(law):
    if isinstance(law, UserThreshold):
        with pytest.raises(ModelError, match="compiled code"):
            law.table(LJ)
        return
    for normal in (LJ, BARE):
        n, c = normal.table(), law.table(normal)
        for stretch in (1.0, 1.3):
            got = np.array(slide_threshold(GAPS, *adhesion(GAPS, n), stretch, c))
            wanted = law.threshold(GAPS, normal, stretch)
            assert_allclose(got[0], wanted, rtol=1e-12, atol=1e-15 * TOP)
            slope = law.slope(GAPS, normal, stretch)
            assert_allclose(got[1], slope, rtol=1e-12, atol=1e-15 * TOP)
            rise = law.threshold(GAPS, normal, stretch + 1e-5)
            rise = rise - law.threshold(GAPS, normal, stretch - 1e-5)
            assert_allclose(got[2], rise / 2e-5, rtol=1e-8, atol=1e-8 * TOP)
            # a point alone is what it is among others, to the last bit
            alone = [slide_threshold(g, *adhesion(g, n), stretch, c) for g in GAPS]
            assert np.array_equal(np.array(alone).T, got)


def test_user_threshold():
    law = LAWS["user"]
    assert_allclose(law.threshold([0.0, 1.0], LJ), [0.1, 0.05], rtol=1e-15)
    assert law.gap_cut(LJ) == np.inf
    assert law.per_current_area
    assert law.threshold(np.ones((2, 3)), LJ).shape == (2, 3)
    kinked = UserThreshold(lambda g: max(1.0 - g, 0.0), lambda g: -1.0 if g < 1.0 else 0.0,
                           (0.0, 2.0), current=False)  # fmt: skip
    assert not kinked.per_current_area
    assert kinked.slope(0.5, LJ) == -1.0


def test_a_user_threshold_is_asked_between_the_gaps_of_its_probe_only():
    def table(g):
        if not 0.0 <= g <= 1.0:
            raise ValueError("outside the table")
        return 2.0 - g

    law = UserThreshold(table, lambda g: -1.0, (0.0, 1.0))
    # beyond them it is constant, as in the kernels
    assert law.threshold([-1.0, 0.5, 4.0], LJ).tolist() == [2.0, 1.5, 1.0]
    assert law.slope([-1.0, 0.5, 4.0], LJ).tolist() == [0.0, -1.0, 0.0]
    gone = UserThreshold(lambda g: -1.0 if 0.5 < g < 0.51 else 1.0, lambda g: 0.0, (0.0, 1.0))
    with pytest.raises(ModelError, match=r"s = -1 at the gap 0\.505 m"):
        gone.threshold(0.505, LJ)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ((lambda g: 1.0 - g, lambda g: -1.0, (0.0, 2.0)), "finite s >= 0"),
        ((lambda g: 1.0 / g, lambda g: -1.0 / g**2, (0.0, 2.0)), "finite s >= 0"),
        ((lambda g: g * g, lambda g: -2.0 * g, (0.0, 2.0)), "slope_function"),
        ((lambda g: g * g, lambda g: np.nan, (0.0, 2.0)), "finite slope"),
        ((3.0, lambda g: 0.0, (0.0, 2.0)), "finite s >= 0"),
        ((lambda g: 1.0, lambda g: 0.0, (2.0, 1.0)), "probe"),
        ((lambda g: 1.0, lambda g: 0.0, 2.0), "probe"),
    ],
)
def test_user_threshold_refuses(fields, match):
    with pytest.raises(ModelError, match=match):
        UserThreshold(*fields)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: DI(-0.1), r"DI\.mu"),
        (lambda: DI(np.nan), r"DI\.mu"),
        (lambda: DI(0.1, s_cut=11.0), r"DI\.s_cut"),
        (lambda: DI(0.1, sharpness=0.0), "sharpness"),
        (lambda: DI.from_tau(-1.0, LJ), "tau"),
        (lambda: EA(-0.1), r"EA\.mu"),
        (lambda: EA(0.1, 1.001), r"EA\.s_cut"),
        (lambda: EA(0.1, -1.5), r"EA\.s_cut"),
        (lambda: EA(0.1, None), r"EA\.s_cut"),
        (lambda: amontons([0.1]), r"EA\.mu"),
    ],
)
def test_refuses(make, match):
    with pytest.raises(ModelError, match=match):
        make()


def test_refuses_nan_gaps(law):
    for curve in (law.threshold, law.slope):
        with pytest.raises(ModelError, match="gap"):
            curve([1.0, np.nan], LJ)
        with pytest.raises(ModelError, match="stretch"):
            curve([1.0], LJ, 0.0)


def test_sampled_threshold():
    from stiction.laws.interface_tractions import slide_threshold

    law = UserThreshold(
        lambda g: 0.1 / (1.0 + g * g), lambda g: -0.2 * g / (1.0 + g * g) ** 2, (-2.0, 2.0)
    )
    errors = []
    for count in (41, 81):
        table = law.sampled(count)
        gaps = np.linspace(-1.9, 1.9, 301)
        found = slide_threshold(gaps, 0.0, 0.0, 1.0, table)[0]
        errors.append(np.abs(found - 0.1 / (1.0 + gaps**2)).max())
    assert 3.6 < np.log2(errors[0] / errors[1]) < 4.4
    table = law.sampled(5)
    assert slide_threshold(-5.0, 0.0, 0.0, 1.0, table)[:2] == (0.1 / 5.0, 0.0)
    assert slide_threshold(9.0, 0.0, 0.0, 1.0, table)[:2] == (0.1 / 5.0, 0.0)
    with pytest.raises(ModelError, match="sampled"):
        law.sampled(1)
