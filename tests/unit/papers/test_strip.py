"""Statements on a strip that is peeled, judged on curves that are known in closed form."""

import numpy as np
import pytest
from paper_cases import MadeStudy, curves, one

from stiction.papers.adhesive_friction import strip
from stiction.papers.adhesive_friction.strip import T_MAX, W_ADH

U = np.linspace(0.0, 60.0, 601)
YES, PARTLY, NO = "holds", "holds partly", "does not hold"


def test_where_a_curve_first_rises_above_a_level():
    x, y = np.array([1.0, 2.0, 4.0, 5.0]), np.array([0.0, 1.0, 5.0, 0.0])
    assert strip.first_above(x, y, 3.0) == 3.0
    assert strip.first_above(x, y, 0.25) == 1.25
    assert strip.first_above(x, y, -1.0) == 1.0
    assert strip.first_above(x, y, 1.0) == 2.0
    assert np.isnan(strip.first_above(x, y, 5.0))


def peeled(start, rate, u=U, **more):
    """Contact that is lost at a rate from a displacement on."""
    return curves(u, peeling_length=np.clip(rate * (u - start), 0.0, 150.0), **more)


def test_fronts_of_a_straight_line():
    c = peeled(18.0, 2.0)
    assert strip.nucleation(c) == pytest.approx(18.5)
    assert strip.nucleation(c, 10.0) == pytest.approx(23.0)
    assert strip.knee(c) == pytest.approx(18.0)
    # between 20 and 60 alone, where there are three rows or more
    bent = curves(U, peeling_length=np.where(U < 27.9, 0.1 * U, 2.0 * (U - 18.0)))
    assert strip.knee(bent) == pytest.approx(18.0)
    assert np.isnan(strip.knee(curves([0.0, 1.0, 2.0], peeling_length=[25.0, 55.0, 65.0])))
    assert strip.knee(curves([0.0, 1.0, 2.0, 3.0], peeling_length=[25.0, 35.0, 45.0, 60.0])) == (
        pytest.approx(-2.5)
    )


def test_fracture_energies_between_two_lengths():
    c = curves(
        [0, 1, 2, 3, 4],
        peeling_length=[10, 20, 40, 60, 70],
        fracture_energy=W_ADH * np.array([9.0, 2.0, np.nan, 4.0, 9.0]),
    )
    assert strip.gamma_at(c, 20.0, 60.0) == pytest.approx([2.0, 4.0])
    assert strip._gamma(c, 30.0) == pytest.approx(2.5)
    none = curves([0, 1], peeling_length=[0, 1], fracture_energy=np.nan)
    assert strip._gamma(none, 0.5) == 0.0


@pytest.mark.parametrize(
    ("at", "verdict"),
    [(7.0, YES), (7.6, YES), (6.4, YES), (7.8, PARTLY), (5.2, PARTLY), (9.1, NO), (4.9, NO)],
)
def test_where_the_tension_is_that_of_the_interface(at, verdict):
    # the tension rises evenly; 99 % of it are met at `at`
    row = strip._strength(curves(U, tension=0.99 * T_MAX * U / at))
    assert row.ours == pytest.approx(at)
    assert (row.paper, row.verdict) == (7.0, verdict)


@pytest.mark.parametrize(
    ("start", "verdicts"), [(20.0, (YES, YES)), (15.0, (NO, PARTLY)), (11.0, (NO, NO))]
)
def test_where_peeling_begins(start, verdicts):
    begin, line, straight = strip._fronts(peeled(start, 2.0))
    assert begin.ours == pytest.approx(start + 0.0005)
    assert line.ours == pytest.approx(start + 0.5)
    assert straight.ours == pytest.approx(start)
    assert (line.verdict, straight.verdict) == verdicts
    assert begin.verdict.startswith(NO)


def profile(u, **columns):
    size = len(next(iter(columns.values())))
    made = {name: np.array(values, dtype=float) for name, values in columns.items()}
    return {"displacement": np.full(size, u), **made}


@pytest.mark.parametrize(("place", "verdict"), [(2.0, YES), (9.0, NO)])
def test_repulsion_ahead_of_the_front(place, verdict):
    c = peeled(20.0, 2.0)
    c.profiles.update(
        profile(30.0, surface_x=[1.0, place, 5.0], normal_traction=np.array([0, 0.25, -1]) * T_MAX)
    )
    row = strip._repulsion(c)
    assert row.ours == f"0.250 T_max, {5.0 - place:.1f} L0 ahead (u = 30)"
    assert row.verdict == verdict


def plateau(shear, apart, slid):
    """Curves of DI and EA: shear where points slide, normal tractions and lengths beside."""
    u = np.linspace(0.0, 60.0, 61)
    long = np.clip(5.0 * (u - 20.0), 0.0, 150.0)
    di = curves(u, peeling_length=long, sliding_length=2.0 * u + slid * (u == 30.0))
    ea = curves(u, peeling_length=long, sliding_length=2.0 * u)
    # the last two points are beyond the interface, or do not slide; stretched by two
    di.profiles.update(
        profile(
            10.0,
            gap=[0.1, 0.2, 0.28, 0.3, 0.1],
            slides=[2.0, 2.0, 2.0, 2.0, 1.0],
            tangential_traction=0.02 * T_MAX * np.array([1.0, -shear, 1.0, 7.0, 9.0]),
            stretch=[2.0] * 5,
            coordinate=[0.0, 1.0, 2.0, 3.0, 4.0],
            normal_traction=T_MAX * np.array([1.0, 2.0, 3.0 + apart, 4.0, 5.0]),
        )
    )
    ea.profiles.update(
        profile(10.0, coordinate=[0.0, 4.0], normal_traction=T_MAX * np.array([1.0, 5.0]))
    )
    return di, ea


@pytest.mark.parametrize(
    ("shear", "apart", "slid", "verdicts"),
    [
        (1.01, 0.01, 4.0, (YES, YES, YES)),
        (1.03, 0.05, 10.0, (PARTLY, PARTLY, PARTLY)),
        (0.9, -0.2, 20.0, (NO, NO, NO)),
    ],
)
def test_tractions_of_both_models(shear, apart, slid, verdicts):
    rows = strip._plateau(*plateau(shear, apart, slid))
    low, high = sorted((1.0, shear))
    assert rows[0].ours == f"{low:.4f} to {high:.4f} tau (u = 10)"
    assert rows[1].ours == pytest.approx(abs(apart))
    assert rows[2].ours == pytest.approx(slid)
    assert tuple(row.verdict for row in rows) == verdicts


def test_lengths_are_compared_until_nearly_all_contact_is_gone():
    # nine tenths of 150 are lost at u = 47; 99 % of that is 46.5
    di, ea = plateau(1.0, 0.0, 0.0)
    assert strip._gone(di) == pytest.approx(47.0)
    assert strip._gone(peeled(20.0, 0.1)) == 60.0
    for at, seen in ((46.0, True), (47.0, False), (0.0, False)):
        late = curves(
            di["displacement"],
            peeling_length=di["peeling_length"],
            sliding_length=2.0 * di["displacement"] + 3.0 * (di["displacement"] == at),
        )
        late.profiles.update(di.profiles)
        assert (strip._plateau(late, ea)[2].ours > 1.0) is seen


# ---- Fig. 8


def slides(start, at, mu_force=1.0, u=U):
    c = peeled(start, 2.0, u, force_y=mu_force)
    c.numbers["full_sliding_at"] = at
    return c


def first(changed=None):
    """Curves by mu: the small ones slide at 15, the large ones at 30; peeling starts at 19."""
    made = {mu: slides(19.0, 15.0 if mu <= 0.02 else 30.0) for mu in (0.0, 0.01, 0.02, 0.05, 0.1)}
    return made | (changed or {})


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, (YES, YES, YES, YES, YES)),
        # one small mu slides late: after 20, after the front at 19.5
        ({0.02: (19.0, 20.5)}, (YES, PARTLY, NO, YES, YES)),
        ({0.02: (19.0, 19.7)}, (YES, PARTLY, YES, YES, YES)),
        ({0.1: (19.0, 19.4)}, (YES, YES, NO, NO, YES)),
        ({0.1: (19.0, 19.6)}, (YES, YES, NO, YES, YES)),
        # its front is half a unit earlier: the lengths at u = 22 are 1 apart, and 2 apart
        ({0.1: (18.55, 30.0)}, (YES, YES, YES, YES, YES)),
        ({0.1: (18.0, 30.0)}, (YES, YES, YES, YES, NO)),
        ({0.1: (13.0, 30.0)}, (PARTLY, YES, YES, YES, NO)),
        ({0.0: (25.0, 15.0)}, (PARTLY, YES, YES, YES, YES)),
        ({0.0: (15.4, 15.0)}, (PARTLY, YES, YES, YES, YES)),
    ],
)
def test_weak_friction_slides_before_it_peels(changed, verdicts):
    rows = strip._sliding_first(first({mu: slides(*at) for mu, at in changed.items()}))
    assert tuple(row.verdict for row in rows[1:]) == verdicts
    if not changed:
        assert rows[0].ours == "mu 0.01: 15, mu 0.02: 15, mu 0.05: 30, mu 0.1: 30"
        assert rows[1].ours == ", ".join(f"mu {m:g}: 19.5" for m in first())
        assert rows[2].ours == "before for mu = 0.01, 0.02"
        assert [row.ours for row in rows[3:5]] == ["yes", "yes"]
        assert rows[5].ours == 0.0
    assert strip._sliding_first({0.01: slides(19.0, 15.0)})[5].ours == "not run"


@pytest.mark.parametrize(
    ("small", "large", "verdict"), [(-1, 1, YES), (-1, -1, PARTLY), (1, 1, PARTLY), (1, -1, NO)]
)
def test_vertical_forces_after_the_front_runs(small, large, verdict):
    # 100 at u = 21, and 10 more or less at 28; the top at one end of the range
    def force(sign):
        return 100.0 + sign * 10.0 * (U - 21.0) / 7.0

    made = {mu: peeled(20.0, 2.0, force_y=force(small if mu <= 0.02 else large))
            for mu in (0.01, 0.02, 0.05)}  # fmt: skip
    top, rise = strip._after_nucleation(made)
    ends = [60 if s > 0 else 0 for s in (small, small, large)]
    mus = (0.01, 0.02, 0.05)
    assert top.ours == ", ".join(f"mu {m:g}: {e}" for m, e in zip(mus, ends, strict=True))
    wanted = (small, small, large)
    assert rise.ours == ", ".join(
        f"mu {m:g}: {0.1 * s:+.2f}" for m, s in zip(mus, wanted, strict=True)
    )
    assert rise.verdict == verdict


@pytest.mark.parametrize(("starts", "verdict"), [((20, 18, 16), YES), ((20, 18, 19), NO)])
def test_strong_friction_releases_earlier(starts, verdict):
    made = {mu: peeled(s, 5.0) for mu, s in zip((0.0, 0.1, 0.2), starts, strict=True)}
    last, earlier = strip._earlier(made)
    # 149 and 95 % of 150, at 5 per unit
    gone = [s + 149.0 / 5.0 for s in starts]
    assert last.ours == ", ".join(f"mu {m:g}: {u:.1f}" for m, u in zip(made, gone, strict=True))
    assert earlier.what.endswith("L_peel = 142 L0")
    at = [s + 142.5 / 5.0 for s in starts]
    assert earlier.ours == ", ".join(f"mu {m:g}: {u:.1f}" for m, u in zip(made, at, strict=True))
    assert earlier.verdict == verdict
    # where one of them is not peeled to its end, 98 % of what it loses
    (only,) = strip._earlier({0.0: peeled(20.0, 2.0), 0.1: peeled(10.0, 2.0)})
    assert only.what.endswith("L_peel = 78 L0")


def energy(base, slope=0.0, jump=1.0, at=40.0):
    """A fracture energy by length, that jumps where all of it slides, at u = `at`."""
    gamma = W_ADH * (base + slope * 2.0 * (U - 10.0)) * np.where(at <= U, jump, 1.0)
    c = peeled(10.0, 2.0, fracture_energy=gamma)
    c.numbers["full_sliding_at"] = at
    return c


@pytest.mark.parametrize(
    ("zero", "slope", "jumps", "verdicts"),
    [
        (1.0, 0.0, (2.0, 5.0), (YES, YES, YES)),
        (1.002, 0.0, (2.0, 5.8), (NO, YES, PARTLY)),
        # from 1 + 20 s to 1 + 60 s, the mean 1 + 40 s
        (1.0, 0.005, (1.6, 5.0), (YES, PARTLY, PARTLY)),
        (1.0, 0.02, (1.4, 5.0), (YES, NO, NO)),
    ],
)
def test_the_fracture_energy_jumps_where_all_slides(zero, slope, jumps, verdicts):
    made = {0.0: energy(zero), 0.01: energy(1.0, slope), 0.02: energy(3.0)}
    made |= {0.05: energy(2.0, jump=jumps[0]), 0.1: energy(2.0, jump=jumps[1], at=35.0)}
    one_, mean, spread, jump = strip._fracture(made)
    assert one_.ours == pytest.approx(zero)
    # a row each half, 20 to 60 between u = 20 and 40; the jump at 40 is in the last row
    assert mean.ours.startswith(f"mu 0: {zero:.3g}, mu 0.01: {1.0 + 40.0 * slope:.3g}, mu 0.02: 3")
    wide = 40.0 * slope / (1.0 + 40.0 * slope)
    assert spread.ours == f"mu 0: 0, mu 0.01: {wide:.3g}"
    assert jump.ours == f"mu 0.05: {jumps[0]:.3g}, mu 0.1: {jumps[1]:.3g}"
    assert (one_.verdict, spread.verdict, jump.verdict) == verdicts


def test_a_jump_is_measured_clear_of_itself():
    """The median from 8 to 3 before over the largest within 12 after."""
    u = np.arange(0.0, 60.0, 0.5)
    gamma = np.select([u < 32, u <= 37, u < 40, u < 52], [7.0, 2.0, 8.0, 5.0], 9.0)
    c = curves(u, {"full_sliding_at": 40.0}, fracture_energy=gamma, peeling_length=u)
    gamma[u == 45.0] = 6.0
    c = curves(u, {"full_sliding_at": 40.0}, fracture_energy=gamma, peeling_length=u)
    assert strip._jump(c) == pytest.approx(3.0)
    for missing in (u < 40.0, u >= 40.0):
        part = np.where(missing, np.nan, gamma)
        c = curves(u, {"full_sliding_at": 40.0}, fracture_energy=part, peeling_length=u)
        assert np.isnan(strip._jump(c))


@pytest.mark.parametrize(
    ("low", "high", "where", "verdict"),
    [
        (18.0, 62.0, "20.0 to 60.0", YES),
        (22.0, 62.0, "22.5 to 60.0", PARTLY),
        (18.0, 57.0, "20.0 to 55.0", PARTLY),
        (80.0, 90.0, "nowhere", NO),
    ],
)
def test_where_a_medium_friction_costs_most(low, high, where, verdict):
    long = np.linspace(0.0, 100.0, 1001)

    def made(gamma):
        return curves(long, peeling_length=long, fracture_energy=W_ADH * gamma)

    best = np.where((long > low) & (long < high), 3.0, 1.0)
    rows = strip._maximum(
        {0.0: made(0.5 + 0.0 * long), 0.02: made(best), 0.1: made(2.0 + 0.0 * long)}
    )
    inside = [0.02 if low < x < high else 0.1 for x in (20.0, 40.0, 60.0)]
    shown = zip((20, 40, 60), inside, strict=True)
    assert rows[0].ours == "; ".join(f"{x}: {mu:g}" for x, mu in shown)
    assert (rows[1].ours, rows[1].verdict) == (where, verdict)


def forced(fx, fy):
    # nine tenths are lost at u = 47, so forces are compared up to 46.53
    wave = np.where(U < 46.53, U, 1000.0)
    return peeled(20.0, 5.0, force_x=fx * wave, force_y=fy * wave)


@pytest.mark.parametrize(
    ("dx", "dy", "verdict"), [(0.005, -0.008, YES), (0.02, 0.0, PARTLY), (0.0, -0.05, NO)]
)
def test_forces_of_both_models(dx, dy, verdict):
    study = MadeStudy({"strip-ea-0.01": forced(1.0, 2.0), "strip-ea-0.05": forced(1.0, 2.0)})
    assert strip._against_di(study, strip.mus_of(study)) == []
    study["strip-di-0.01"] = forced(1.0 + dx, 2.0 * (1.0 + dy))
    # strong friction is reported and not judged
    study["strip-di-0.05"] = forced(2.0, 2.0)
    study["strip-di-0.1"] = forced(9.0, 2.0)
    (row,) = strip._against_di(study, strip.mus_of(study))
    assert row.ours == f"mu 0.01: {100 * max(abs(dx), abs(dy)):.2f}, mu 0.05: 100.00"
    assert row.verdict == verdict


@pytest.mark.parametrize(
    ("change", "half", "other"),
    [(0.04, YES, NO), (0.1, PARTLY, PARTLY), (-0.3, NO, YES)],
)
def test_where_the_law_is_cut(change, half, other):
    base = forced(1.0, 2.0)
    study = MadeStudy({"strip-ea-0.01": base})
    assert strip._other_cutoffs(study) == []
    for cut in ("0.5", "-0.001"):
        study[f"strip-ea-0.01-cut-{cut}"] = forced(1.0 + change, 2.0)
    rows = strip._other_cutoffs(study)
    assert [row.what.partition(" instead")[0] for row in rows] == ["s_cut = 0.5", "s_cut = -0.001"]
    assert {row.ours for row in rows} == {f"force_x {100 * abs(change):.1f}, force_y 0.0"}
    assert [row.verdict.partition(":")[0] for row in rows] == [half, other]
    assert [row.paper for row in rows] == ["slightly", "very sensitive"]


def test_cases_are_found_by_model_and_friction():
    names = ("strip-ea-0.1", "strip-ea-0", "strip-ea-0.01-cut-0.5", "strip-di-0.1", "cap-0")
    study = MadeStudy({name: name for name in names})
    assert strip.mus_of(study) == {0.0: "strip-ea-0", 0.1: "strip-ea-0.1"}
    assert list(strip.mus_of(study)) == [0.0, 0.1]
    assert strip.mus_of(study, "di") == {0.1: "strip-di-0.1"}
    assert list(strip.strip_curves(study)) == list(names[:4])
    assert one(strip._earlier({0.0: peeled(20.0, 5.0)}), "detachment").paper == "slightly"
