import dataclasses

import numpy as np
import pytest
from fit_cases import cases, imposed, swept
from scipy.stats import f as fisher
from scipy.stats import t as student

import stiction as st
from stiction.errors import ModelError
from stiction.fits import Bootstrap, Curve, Free, ImposedSlip, Profile, fitting
from stiction.fits.intervals import profiles
from stiction.fits.problem import Problem
from stiction.fits.search import Minimum, best
from stiction.laws import Dahl, LuGre

RIG = ImposedSlip(offset=Free(), drift=Free())


def test_a_linear_law_has_the_interval_of_students_t():
    case = cases(80)["Coulomb"]
    curve = case.drawn(5)
    found = st.fit(curve, st.Coulomb, RIG)
    sign = np.sign(curve.speeds())
    used = np.isfinite(sign)
    x = np.column_stack([10.0 * sign, np.ones(80), curve.time])[used]
    y = np.asarray(curve.force)[used]
    coefficients, rss, _, _ = np.linalg.lstsq(x, y, rcond=None)
    free = used.sum() - 3
    error = np.sqrt(rss[0] / free * np.linalg.inv(x.T @ x).diagonal())
    half = student.ppf(0.975, free) * error
    for estimate, value, e, h in zip(found.estimates, coefficients, error, half, strict=True):
        assert estimate.value == pytest.approx(value, rel=1e-6)
        assert estimate.error == pytest.approx(e, rel=1e-5)
        # a root of the profile is found to a hundredth, and then straightened
        assert estimate.high - estimate.value == pytest.approx(h, rel=1e-3)
        assert estimate.value - estimate.low == pytest.approx(h, rel=1e-3)


def test_blocks_widen_intervals_of_alike_noise():
    case = cases(240)["Coulomb"]
    rng = np.random.default_rng(4)
    noise = np.zeros(240)
    for k in range(1, 240):
        noise[k] = 0.9 * noise[k - 1] + rng.normal(0.0, 0.02)
    curve = case.curve(case.force() + noise)
    white = st.fit(curve, st.Coulomb, RIG)
    blocks = st.fit(curve, st.Coulomb, RIG, intervals=Bootstrap(resamples=100))
    assert not next(c for c in white.audit if c.check == "residuals_white").ok
    wide = blocks["rig.offset"].high - blocks["rig.offset"].low
    assert wide > 2.0 * (white["rig.offset"].high - white["rig.offset"].low)


def test_a_bootstrap_of_white_noise_agrees_with_the_profile():
    curve = cases(150)["Dahl"].drawn(3)
    profile = st.fit(curve, st.laws.Dahl, RIG)
    drawn = st.fit(curve, st.laws.Dahl, RIG, intervals=Bootstrap(resamples=200, block=1))
    for a, b in zip(profile.estimates, drawn.estimates, strict=True):
        # reason: quantiles of 200 draws
        assert (b.high - b.low) == pytest.approx(a.high - a.low, rel=0.25)


def test_a_bootstrap_draws_from_the_residuals_of_slipping_rows():
    rng = np.random.default_rng(0)
    # 19 reversals between rows, where no force is predicted; or half of the rows in stick
    x = np.abs((np.arange(200) / 10.3) % 2.0 - 1.0)
    turns = Curve(0.3 * np.sign(np.diff(x, prepend=1.1)) + rng.normal(0.0, 3e-3, 200), None, x)
    v = np.repeat((0.0, 0.1), 50)
    rests = Curve(3.0 * v + (v > 0.0) * rng.normal(0.0, 3e-3, 100), velocity=v)
    for curve in (turns, rests):
        profile, drawn = (
            st.fit(curve, st.Coulomb, ImposedSlip(0.0, 0.0), intervals=how)["mu"]
            for how in (Profile(), Bootstrap(resamples=100, block=1))
        )
        width = profile.high - profile.low
        # reason: quantiles of 100 draws
        assert drawn.high - drawn.low == pytest.approx(width, rel=0.2)


def test_wide_intervals_of_few_rows_end_at_their_limit():
    v = np.linspace(0.01, 0.2, 9)
    noise = np.random.default_rng(0).normal(0.0, 0.004, 9)
    curve = Curve(force=0.25 + 0.15 * np.exp(-v / 0.05) + noise, velocity=v)
    wide = Profile(level=0.999)
    found = st.fit(curve, st.ExponentialWeakening, ImposedSlip(0.0, 0.0), intervals=wide)
    limit = fisher.ppf(0.999, 1, 6)
    assert limit > 35.0
    for e in found.estimates:
        value, drop = e.places.T
        roots = np.interp([e.low, e.high], value, np.sqrt(drop))
        # reason: interpolated between points of the profile that bracket the end to a hundredth
        assert roots**2 == pytest.approx([limit, limit], rel=0.05)


def test_stick_fixes_the_static_coefficient_from_below_alone():
    t = np.linspace(0.0, 10.0, 101)
    v = np.where(t < 5.0, 0.0, 1e-3)
    rng = np.random.default_rng(0)
    force = np.where(t < 5.0, 0.5 * t, 2.0) + rng.normal(0.0, 0.02, t.size)
    curve = Curve(force=force, time=t, velocity=v, normal_force=10.0)
    found = st.fit(curve, st.StaticKinetic, ImposedSlip(0.0, 0.0))
    assert found.unknown == ("mu_static",)
    assert "only from below" in found["mu_static"].message
    assert found["mu_static"].low == pytest.approx(0.25, rel=0.05)  # reason: noise of 1 %
    assert found["mu_static"].high == np.inf
    assert found["mu_kinetic"].value == pytest.approx(0.2, rel=0.01)


def test_a_film_without_viscosity_ends_at_nothing():
    case = cases(200)["ExponentialWeakening"]
    found = st.fit(case.drawn(1), st.laws.Stribeck, RIG, free=None, known={"power": 1.0})
    viscous = found["viscous"]
    assert viscous.message == ""
    assert viscous.low >= 0.0
    assert viscous.low <= 1e-6 or viscous.value < 3.0 * viscous.error


@pytest.mark.parametrize(
    "made",
    [
        lambda: Profile(level=0.2),
        lambda: Profile(level=1.0),
        lambda: Bootstrap(resamples=3),
        lambda: Bootstrap(block=-1),
    ],
)
def test_odd_intervals_are_refused(made):
    with pytest.raises(ModelError, match=r"level|resamples|block"):
        made()


def test_known_noise_gives_the_interval_of_the_normal_law():
    case = cases(80)["Coulomb"]
    drawn = case.drawn(5)
    curve = dataclasses.replace(drawn, noise=0.03)
    one = st.fit(curve, st.Coulomb, RIG)
    two = st.fit(dataclasses.replace(drawn, noise=0.06), st.Coulomb, RIG)
    assert two["mu"].error == pytest.approx(2.0 * one["mu"].error, rel=1e-6)
    assert one.known_noise


def test_profiles_return_a_better_fit():
    case = cases(80)["Dahl"]
    problem = Problem(Dahl, RIG, [case.drawn(0)], None, {})
    top, _, _ = best(problem, 1)
    variance, errors = top.rss / 76, np.full(4, np.inf)
    assert not isinstance(profiles(problem, top, errors, variance, 4.0), Minimum)
    beside = top.y + np.array([0.05, 0.0, 0.0, 0.0])
    r = problem.residuals(beside)
    better = profiles(problem, Minimum(beside, float(r @ r), True), errors, variance, 4.0)
    assert isinstance(better, Minimum)
    assert better.rss == pytest.approx(top.rss, rel=1e-6)


def test_standard_errors_are_those_of_the_last_minimum(monkeypatch):
    problem = Problem(st.Coulomb, RIG, [cases(80)["Coulomb"].drawn(5)], None, {})

    def better(problem, top, *rest):
        # far from the minimum the variance of the residuals differs
        y = 1.1 * top.y
        return Minimum(y, float(np.sum(problem.residuals(y) ** 2)), True)

    monkeypatch.setattr(fitting, "profiles", better)
    search = fitting._searched(problem, 1, 0.95)
    spread = fitting._variance(problem, search.top)
    errors, correlation = fitting._errors(problem, search.top, spread[0])
    assert search.spread == spread
    np.testing.assert_array_equal(search.errors, errors)
    np.testing.assert_array_equal(search.correlation, correlation)


def test_no_bound_is_stated_while_searches_disagree():
    # of this noise the misfit of LuGre has valleys that no two searches share
    case = imposed(Dahl(2e4, 0.6), *swept(300, 1e-4))
    found = st.fit(case.drawn(2), LuGre, RIG)
    assert "starts_agree" in [c.check for c in found.audit.failed]
    assert all((e.low, e.high) == (-np.inf, np.inf) for e in found.estimates)
    assert found.unknown == tuple(e.name for e in found.estimates)
    assert str(found).count("searches disagree") == 1
    # no viscosity at all, and no kinetic friction
    for name in ("sigma1", "mu_kinetic"):
        assert f"{name} lies at the edge of its interval" in found.warnings
    assert "sigma0 lies at the edge of its interval" not in found.warnings


def test_an_estimate_of_zero_has_an_upper_end():
    # data without a viscous part: the best one is zero but for rounding, and data bound it above
    speed = np.concatenate([np.linspace(0.001, 0.3, 60), -np.linspace(0.001, 0.3, 60)])
    noise = np.random.default_rng(3).normal(0.0, 0.03, speed.size)
    force = 10.0 * np.sign(speed) * (0.25 + 0.15 * np.exp(-np.abs(speed) / 0.05)) + noise
    curve = st.fits.Curve(force=force, velocity=speed, normal_force=10.0)
    whole = st.fit(curve, st.laws.Stribeck)
    found = whole["viscous"]
    assert found.value < 1e-12
    assert found.low == 0.0

    def squares(known):
        names = ["mu_static", "mu_kinetic", "v_scale"]
        held = st.fit(curve, st.laws.Stribeck, free=names, known={"viscous": known})
        return float(np.sum(np.square(held.residuals)))

    # held at the upper end, the squares rise by what Fisher's distribution allows
    freedom = speed.size - len(whole.estimates)
    best = float(np.sum(np.square(whole.residuals)))
    rise = (squares(found.high) - best) / (best / freedom)
    assert rise == pytest.approx(fisher.ppf(0.95, 1, freedom), rel=0.01)
