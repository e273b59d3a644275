"""Noise behind a two-fold: it chooses, repeatably, and not one side alone."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching.noise import UnresolvedWarning, noise_study

START = st.switching.NormalForm(J1=-1.2, J2=-1.5, x0=[0.0, 0.3, 0.1], mode="slide")


@pytest.fixture(scope="module")
def study():
    return noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4)


def test_paths_leave_after_the_two_fold_to_both_sides(study):
    assert study.lost == pytest.approx(1.1375, rel=1e-9)
    assert np.isfinite(study.dwell).mean() > 0.9
    assert (study.dwell[np.isfinite(study.dwell)] >= 0.0).all()
    assert (study.travel >= study.dwell)[np.isfinite(study.dwell)].all()
    assert study.resolved.all()
    assert ((study.to_plus > 0.1) & (study.to_plus < 0.9)).all()


def test_weaker_noise_leaves_sooner(study):
    # the layer in which noise holds a path against the drift is passed in (level / c)^(2/3)
    assert study.mean_dwell[0] < study.mean_dwell[1] < study.layer[1]
    assert study.hazard == pytest.approx(1.0 / study.mean_dwell, rel=1e-12)
    assert study.layer[1] / study.layer[0] == pytest.approx(100.0 ** (2 / 3), rel=1e-6)
    # reason: sixty paths, whose times at the surface spread as widely as their mean
    assert study.exponent == pytest.approx(2.0 / 3.0, abs=0.2)
    # the way to `away`, most of it in crossings, takes longer by far
    assert np.nanmean(study.travel[0]) > 20.0 * study.mean_dwell[0]


def test_draws_repeat(study):
    again = noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4)
    assert np.array_equal(again.final, study.final)
    other = noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4, seed=1)
    assert not np.array_equal(other.final, study.final)


def test_weak_noise_follows_the_slide():
    quiet = noise_study(START, [1e-8], 1.2, paths=3, step=1e-4)
    # at the end, just behind the two-fold, every path is still next to it
    assert np.abs(quiet.final).max() < 0.05


def test_what_no_step_resolves_is_reported():
    with pytest.warns(UnresolvedWarning, match="1e-20 is not resolved"):
        study = noise_study(START, [1e-20, 1e-3], 1.3, paths=2, step=1e-2)
    assert study.resolved.tolist() == [False, True]
    assert str(study).count("not resolved") == 1


def test_paths_without_an_exit_have_no_side_and_one_level_no_exponent():
    # no path is as far away as 10 at the end
    study = noise_study(START, [1e-3], 1.3, paths=2, step=1e-2, away=10.0)
    assert (study.side == 0.0).all()
    assert np.isnan(study.to_plus).all()
    left = dataclasses.replace(study, dwell=np.ones((1, 2)), side=np.array([[1.0, -1.0]]))
    assert left.to_plus.tolist() == [0.5]
    assert np.isnan(left.exponent)
    assert "level^" not in str(left)
    two = dataclasses.replace(
        left, levels=np.array([1e-3, 1e-2, 1e-1]), dwell=np.array([[1.0], [10.0], [np.nan]])
    )
    assert two.exponent == pytest.approx(1.0)


def test_a_clock_has_no_noise():
    flow = st.PiecewiseSmooth(h=lambda x: x[0], f=lambda t, x, s, p: [s[0] * (t - 0.3)], x0=[0.0])
    final = noise_study(flow, [0.05], 1.0, paths=6, step=1e-3).final[0]
    assert (np.abs(final[:, 1] - 1.0) < 2e-3).all()
    assert np.ptp(final[:, 0]) > 0.01


@pytest.mark.parametrize(
    ("levels", "t_end", "more", "match"),
    [
        ([0.0], 3.0, {}, "levels"),
        ([1e-3], 0.5, {}, "loses determinism"),
        ([1e-3], 3.0, {"away": float("nan")}, "away"),
        ([1e-3], 3.0, {"away": -0.05}, "away"),
    ],
)
def test_bad_input(levels, t_end, more, match):
    with pytest.raises(ModelError, match=match):
        noise_study(START, levels, t_end, paths=2, step=1e-3, **more)
