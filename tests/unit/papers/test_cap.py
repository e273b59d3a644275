"""Statements on a cap that slides, judged on contact that shrinks as it is known to."""

import numpy as np
import pytest
from paper_cases import MadeStudy, curves, one

from stiction.papers.adhesive_friction import cap
from stiction.papers.adhesive_friction.cap import T_MAX, Fit

YES, PARTLY, NO = "holds", "holds partly", "does not hold"
ROWS = 41
SHARE = np.linspace(0.0, 1.0, ROWS)


def sheared(start, end, power=2.0, *, force=None, slides=True, rise=0.0):
    """Contact from `start` to `end` by a power of the force, which is tau L_c at full sliding."""
    force = T_MAX * end if force is None else force
    long = start - (start - end) * SHARE**power
    long[5] += rise * start
    stuck = np.where(np.arange(ROWS) < ROWS - 1, long, 0.0) if slides else long
    return curves(
        np.arange(ROWS), contact_length=long, force_x=-force * SHARE, sticking_length=stuck
    )


def test_runs_are_found_by_their_normal_force():
    names = ("cap-0.5", "cap--0.2", "cap-dry-1", "cap-nu-0.4-1", "cap-0")
    study = MadeStudy({name: name for name in names})
    assert cap.loads(study, "cap-") == {-0.2: "cap--0.2", 0.0: "cap-0", 0.5: "cap-0.5"}
    assert list(cap.loads(study, "cap-")) == [-0.2, 0.0, 0.5]
    assert cap.loads(study, "cap-nu-0.4-") == {1.0: "cap-nu-0.4-1"}


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_a_fit_is_that_of_least_squares(power):
    start, end, force = 10.0, 8.0, 0.5
    made = Fit(sheared(start, end, power, force=force))
    f, lost = force * SHARE, 2.0 * SHARE**power
    xi = (lost * f**2).sum() / (f**4).sum()
    assert made.xi == pytest.approx(xi, rel=1e-12)
    misfit = np.sqrt(((lost - xi * f**2) ** 2).mean()) / 2.0
    assert made.xi_spread == pytest.approx(misfit, rel=1e-9, abs=1e-12)
    assert made.eta == pytest.approx(power, rel=1e-9)
    assert made.eta_spread == pytest.approx(0.0, abs=1e-12)
    assert (made.start, made.end, made.force) == (start, end, force)
    assert made.slid
    assert made.rises == 0.0


def test_a_fit_begins_with_shear_and_ends_with_full_sliding():
    c = sheared(10.0, 8.0, force=0.5)
    # a first row in which nothing sticks yet is no full sliding
    c.columns["sticking_length"] = np.where(
        (np.arange(ROWS) > 0) & (np.arange(ROWS) < 30), 1.0, 0.0
    )
    made = Fit(c)
    assert made.slid
    assert made.length.size == 31
    assert made.force == pytest.approx(0.5 * 30 / 40)
    # it sticks from the first row on: the first row without counts
    c.columns["sticking_length"] = np.where(np.arange(ROWS) < 30, 1.0, 0.0)
    assert Fit(c).length.size == 31


def test_a_misfit_of_the_exponent_is_in_logarithms():
    """Every second loss is larger by a factor: a line through logarithms misses them."""
    c = sheared(10.0, 8.0, force=0.5)
    lost = 10.0 - c["contact_length"]
    factor = np.where(np.arange(ROWS) % 2 == 0, 1.0, 1.2)
    c.columns["contact_length"] = 10.0 - lost * factor
    low = Fit(c, 0.3)
    part = SHARE > 0.3
    a, b = np.log(0.5 * SHARE[part]), np.log((lost * factor)[part] / 10.0)
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    assert low.eta == pytest.approx(slope, rel=1e-9)
    off = b - b.mean() - slope * (a - a.mean())
    assert low.eta_spread == pytest.approx(np.sqrt((off**2).mean()), rel=1e-9)


@pytest.mark.parametrize(("low", "high", "power"), [(0.5, 1.0, 3.0), (0.05, 0.45, 1.0)])
def test_the_exponent_is_fitted_within_a_part_of_the_force(low, high, power):
    c = sheared(10.0, 8.0, force=0.5)
    c.columns["contact_length"] = 10.0 - np.where(SHARE <= 0.5, SHARE, 4.0 * SHARE**3)
    assert Fit(c, low, high).eta == pytest.approx(power, rel=1e-9)


def test_too_few_rows_have_no_exponent():
    assert np.isnan(Fit(sheared(10.0, 8.0, force=0.5), 0.95).eta)
    assert Fit(sheared(10.0, 8.0, force=0.5), 0.89).eta == pytest.approx(2.0)


def test_a_rise_is_that_of_one_step():
    c = sheared(10.0, 8.0, force=0.5, rise=0.01)
    step = 2.0 * (SHARE[5] ** 2 - SHARE[4] ** 2)
    assert Fit(c).rises == pytest.approx((0.1 - step) / 10.0)


@pytest.mark.parametrize("beta", [-3.7, -2.0])
def test_a_power_of_the_contact_length(beta):
    fits = {float(i): Fit(sheared(x, x - 3e3 * x**beta * 0.01, force=0.1))
            for i, x in enumerate((8.0, 11.0, 15.0))}  # fmt: skip
    found, misfit = cap.fit(fits)
    assert found == pytest.approx(beta, rel=1e-9)
    assert misfit < 1e-9
    assert all(np.isnan(cap.fit({0.0: fits[0.0]})))
    for long in (6.0, 8.0, 9.0, 12.0, 15.0, 20.0):
        assert cap.xi_at(fits, long) == pytest.approx(3e3 * long**beta, rel=1e-8)


def bent(xs, xis):
    return {float(i): Fit(sheared(x, x - xi * 0.01, force=0.1))
            for i, (x, xi) in enumerate(zip(xs, xis, strict=True))}  # fmt: skip


def test_between_lengths_a_line_in_logarithms():
    fits = bent((8.0, 10.0, 20.0), (4.0, 2.0, 1.0))
    slope = np.log(0.5) / np.log(1.25)
    for long in (7.0, 9.0):
        assert cap.xi_at(fits, long) == pytest.approx(4.0 * (long / 8.0) ** slope)
    for long in (15.0, 30.0):
        assert cap.xi_at(fits, long) == pytest.approx(2.0 * (long / 10.0) ** -1.0)
    x, y = np.log([8.0, 10.0, 20.0]), np.log([4.0, 2.0, 1.0])
    line = np.polyfit(x, y, 1)
    found, misfit = cap.fit(fits)
    assert found == pytest.approx(line[0])
    assert misfit == pytest.approx(np.sqrt(np.mean((y - np.polyval(line, x)) ** 2)))


# ---- the statements


def tractions(left, right, middle=1.0, spread=0.0):
    """Tractions of a contact from -2 to 2: at its edges, within, and one point beyond."""
    c = sheared(10.0, 8.0)
    x = np.array([-3.0, -2.0, -1.5, -1.0, 0.0, 1.0, 1.5, 2.0])
    normal = np.array([-9.0, left, 0.0, -5.0, 0.5, -5.0, 0.0, right])
    shear = middle + spread * np.array([0.0, -1, 0, 0, 0, 0, 0, 1])
    shear[0] = 9.0
    c.profiles.update(
        displacement=np.full(8, 40.0),
        gap=np.where(x < -2.5, 0.11, 0.1),
        surface_x=x,
        normal_traction=normal * T_MAX,
        tangential_traction=-2.0 * shear * T_MAX,
        stretch=np.full(8, 2.0),
    )
    return MadeStudy({"cap-0": c})


@pytest.mark.parametrize(
    ("left", "right", "middle", "verdicts"),
    [
        (-0.8, -0.6, 1.005, (YES, YES)),
        (-0.8, -0.4, 0.995, (NO, YES)),
        (-0.3, -0.6, 1.02, (NO, NO)),
        (-0.8, -0.6, 0.98, (YES, NO)),
    ],
)
def test_tractions_at_full_sliding(left, right, middle, verdicts):
    edges, shear, start = cap.figure_12(tractions(left, right, middle, 0.25))
    assert edges.ours == f"{left:.3f} T_max and {right:.3f} T_max"
    assert shear.ours == f"{middle:.4f}, 0.500"
    assert start.ours == 10.0
    assert (edges.verdict, shear.verdict) == verdicts


@pytest.mark.parametrize(
    ("ends", "rise", "level", "verdicts"),
    [
        ((8.0, 9.0), 0.0, 1.005, (YES, YES)),
        ((8.0, 9.0), 0.01, 0.97, (PARTLY, PARTLY)),
        ((8.0, 10.5), 0.0, 1.1, (NO, NO)),
        ((8.0, 9.0), 0.0, 0.9, (YES, NO)),
    ],
)
def test_contact_shrinks(ends, rise, level, verdicts):
    fits = {
        -0.2: Fit(sheared(10.0, ends[0], force=T_MAX * ends[0])),
        1.0: Fit(sheared(10.0, ends[1], force=level * T_MAX * ends[1], rise=rise)),
        # one that never slides as a whole has no end
        2.0: Fit(sheared(10.0, 9.0, slides=False)),
    }
    begins, lost, curve = cap._shrinks(fits)
    assert begins.ours == "F_n -0.2: 10.000, F_n 1: 10.000, F_n 2: 10.000"
    less = [10.0 * (10.0 - end) for end in (*ends, 9.0)]
    assert lost.ours == f"F_n -0.2: {less[0]:.1f}, F_n 1: {less[1]:.1f}, F_n 2: {less[2]:.1f}"
    assert curve.ours == f"F_n -0.2: 1.0000, F_n 1: {level:.4f}"
    assert (lost.verdict, curve.verdict) == verdicts


@pytest.mark.parametrize(
    ("vanish", "end", "verdicts", "words"),
    [
        (2, 6.0, (YES, YES), "-0.3, -0.2"),
        (1, 4.38, (PARTLY, YES), "-0.3"),
        (0, 4.3, (NO, NO), "none"),
        (3, 6.0, (NO, YES), "-0.3, -0.2, 0"),
    ],
)
def test_short_contacts_vanish(vanish, end, verdicts, words):
    forces = (-0.3, -0.2, 0.0, 1.0)
    fits = {f: Fit(sheared(10.0, end, slides=i >= vanish)) for i, f in enumerate(forces)}
    two, least = cap._small_loads(fits)
    assert two.ours == f"F_n = {words} of 4 loads down to -0.3"
    assert least.ours == ", ".join(f"F_n {f:g}: {end:.2f}" for f in forces[:3])
    assert least.paper == 4.42
    assert (two.verdict, least.verdict.partition(":")[0]) == verdicts


@pytest.mark.parametrize(
    ("beta", "power", "verdicts"),
    [(-3.6, 2.0, (YES, YES)), (-3.3, 2.0, (YES, PARTLY)), (-4.4, 2.0, (YES, NO)),
     (-3.8, 3.0, (PARTLY, YES)), (-3.8, 8.0, (NO, YES))],
)  # fmt: skip
def test_the_loss_is_quadratic(beta, power, verdicts):
    fits = {float(i): Fit(sheared(x, x - 3e3 * x**beta * 0.01, power, force=0.1))
            for i, x in enumerate((8.0, 11.0, 15.0))}  # fmt: skip
    spread, xi, row = cap._quadratic(fits)
    assert spread.ours.startswith(f"F_n 0: {100.0 * fits[0.0].xi_spread:.1f}, F_n 1: ")
    assert xi.ours.startswith(f"F_n 0: {fits[0.0].xi:.3f}, ")
    assert row.ours == pytest.approx(beta, rel=1e-8)
    assert (row.paper, spread.verdict, row.verdict) == (-3.71, *verdicts)


@pytest.mark.parametrize(
    ("beta", "size", "verdicts"),
    [(-2.5, 1e4, (YES, YES)), (-2.0, 1e4, (YES, PARTLY)), (-3.1, 1e5, (YES, NO)),
     (-2.4, 1.0, (NO, YES))],
)  # fmt: skip
def test_contact_shrinks_without_adhesion(beta, size, verdicts):
    assert cap._dry({}) == []
    dry = {float(i): Fit(sheared(x, x - size * x**beta * 0.01, force=0.1))
           for i, x in enumerate((8.0, 11.0, 15.0))}  # fmt: skip
    start, lost, row = cap._dry(dry)
    assert start.ours == "F_n 0: 8.000, F_n 1: 11.000, F_n 2: 15.000"
    first = size * 8.0 ** (beta - 1.0)
    assert lost.ours.startswith(f"F_n 0: {first:.1f}, ")
    assert row.ours == pytest.approx(beta, rel=1e-7)
    assert (row.paper, lost.verdict, row.verdict) == (-2.42, *verdicts)


@pytest.mark.parametrize(("more", "verdict"), [(0.1, YES), (-0.2, PARTLY), (0.4, NO)])
def test_long_contacts_hardly_feel_adhesion(more, verdict):
    none = bent((8.0, 17.0, 20.0), (4.0, 2.0, 1.0))
    saved = bent((8.0, 17.0, 20.0), (4.0, 2.0 * (1.0 + more), 1.0))
    assert cap._enhancement(saved, {0.0: none[0.0]}) == []
    assert cap._enhancement({0.0: none[0.0]}, none) == []
    row = cap._enhancement(saved, none)[2]
    assert row.ours == pytest.approx(100.0 * more)
    assert (row.paper, row.verdict) == ("negligible", verdict)


@pytest.mark.parametrize(("lost", "verdict"), [(0.4, YES), (3.0, PARTLY), (5.0, NO)])
def test_a_linear_cap_does_not_shrink(lost, verdict):
    study = MadeStudy({"cap-linear-dry-1.9": sheared(10.0, 10.0 - 0.1 * lost)})
    (row,) = cap._control(study, {})
    assert (row.ours, row.verdict) == (f"{lost:.2f}", verdict)
    (row,) = cap._control(study, {1.9: Fit(sheared(8.0, 6.0))})
    assert row.ours == f"{lost:.2f}; Neo-Hookean 25.00"
    assert "F_n 1.9" in row.what


@pytest.mark.parametrize(
    ("eta", "near", "falls", "ours"),
    [
        ((2.1, 2.0, 1.9), YES, YES, "in both fits"),
        ((2.3, 2.0, 1.9), PARTLY, YES, "in both fits"),
        ((2.6, 2.0, 1.9), NO, YES, "in both fits"),
        ((1.9, 2.0, 2.1), YES, NO, "in neither fit"),
    ],
)
def test_exponents_fall_with_the_load(eta, near, falls, ours):
    study = MadeStudy({f"cap-{i}": sheared(10.0, 8.0, power) for i, power in enumerate(eta)})
    study["cap-9"] = sheared(10.0, 8.0, 7.0, slides=False)
    low, upper, row, misfit = cap.figure_14(study)
    reported = ", ".join(f"F_n {i}: {power:.3f}" for i, power in enumerate(eta))
    assert low.ours == upper.ours == reported
    assert (low.verdict, row.verdict, row.ours) == (near, falls, ours)
    assert misfit.ours == "F_n 0: 0.000, F_n 1: 0.000, F_n 2: 0.000"


@pytest.mark.parametrize(
    ("small", "large", "ours"),
    [((2.2, 2.0), (1.9, 2.1), "from 5 % on"), ((1.9, 2.1), (2.2, 2.0), "from 30 % on")],
)
def test_exponents_may_fall_in_one_fit_alone(monkeypatch, small, large, ours):
    made = Fit

    class Reported(made):
        def __init__(self, curves, low=0.05, high=1.0):
            super().__init__(curves, low, high)
            i = int(curves.numbers["i"])
            self.eta = (large if low == 0.3 else small)[i]

    monkeypatch.setattr(cap, "Fit", Reported)
    study = MadeStudy({f"cap-{i}": sheared(10.0, 8.0) for i in range(2)})
    for i in range(2):
        study[f"cap-{i}"].numbers["i"] = i
    row = cap.figure_14(study)[2]
    assert (row.ours, row.verdict) == (ours, PARTLY)


@pytest.mark.parametrize(
    ("long", "strong", "eta", "verdicts"),
    [
        ((1.1, 1.2), (1.01, 1.02), (1.9, 1.8), (YES, YES, YES)),
        ((0.9, 1.2), (0.99, 1.02), (2.1, 1.8), (PARTLY, PARTLY, PARTLY)),
        ((0.95, 0.9), (0.99, 0.98), (2.1, 2.2), (NO, NO, NO)),
    ],
)
def test_a_compressible_cap(long, strong, eta, verdicts):
    starts = (8.0, 15.0)
    study = MadeStudy({f"cap-{i}": sheared(x, 0.8 * x, 2.0) for i, x in enumerate(starts)})
    study["cap-nu-0.4-0"] = sheared(8.0, 6.0)
    assert cap.figure_s1(study) == []
    for i, x in enumerate(starts):
        study[f"cap-nu-0.4-{i}"] = sheared(
            long[i] * x, 0.8 * x, eta[i], force=strong[i] * T_MAX * 0.8 * x
        )
    longer, stronger, beta, less, worse = cap.figure_s1(study)
    assert longer.ours == f"F_n 0: {long[0]:.3f}, F_n 1: {long[1]:.3f}"
    assert stronger.ours == f"F_n 0: {strong[0]:.3f}, F_n 1: {strong[1]:.3f}"
    assert less.ours == f"F_n 0: {eta[0] - 2.0:+.3f}, F_n 1: {eta[1] - 2.0:+.3f}"
    assert (longer.verdict, stronger.verdict, less.verdict) == verdicts
    soft = [Fit(study[f"cap-nu-0.4-{i}"]) for i in range(2)]
    line = np.log(soft[1].xi / soft[0].xi) / np.log(soft[1].start / soft[0].start)
    assert beta.ours == pytest.approx(line)
    assert beta.paper == -3.54
    stiff = [Fit(study[f"cap-{i}"]) for i in range(2)]
    ratio = [s.xi_spread / h.xi_spread for s, h in zip(soft, stiff, strict=True)]
    assert worse.ours == f"F_n 0: {ratio[0]:.2f}, F_n 1: {ratio[1]:.2f}"


@pytest.mark.parametrize(
    ("beta", "verdict"), [(-3.5, YES), (-3.68, YES), (-3.2, PARTLY), (-2.9, NO), (-4.2, NO)]
)
def test_the_power_of_a_compressible_cap(beta, verdict):
    study = MadeStudy()
    for i, x in enumerate((8.0, 15.0)):
        study[f"cap-{i}"] = sheared(x, 0.8 * x, 2.1)
        study[f"cap-nu-0.4-{i}"] = sheared(x, x - 3e3 * x**beta * 0.01, force=0.1)
    row = one(cap.figure_s1(study), "nu 0.4: beta")
    assert row.ours == pytest.approx(beta, rel=1e-6)
    assert row.verdict == verdict
