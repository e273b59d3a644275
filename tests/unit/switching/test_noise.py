"""Noise behind a two-fold: it chooses, repeatably, and not one side alone."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.switching.noise import noise_study

START = st.switching.NormalForm(J1=-1.2, J2=-1.5, x0=[0.0, 0.3, 0.1], mode="slide")


@pytest.fixture(scope="module")
def study():
    return noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4)


def test_paths_leave_after_the_two_fold_to_both_sides(study):
    assert study.lost == pytest.approx(1.1375, rel=1e-9)
    assert np.isfinite(study.dwell).mean() > 0.9
    assert (study.dwell[np.isfinite(study.dwell)] > 0.0).all()
    assert ((study.to_plus > 0.1) & (study.to_plus < 0.9)).all()


def test_stronger_noise_leaves_sooner(study):
    assert study.mean_dwell[1] < study.mean_dwell[0]
    assert study.hazard == pytest.approx(1.0 / study.mean_dwell, rel=1e-12)
    # and hardly sooner: the region widens faster than noise spreads
    assert -0.1 < study.exponent < 0.0


def test_draws_repeat(study):
    again = noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4)
    assert np.array_equal(again.final, study.final)
    other = noise_study(START, [1e-4, 1e-2], 3.0, paths=60, step=5e-4, seed=1)
    assert not np.array_equal(other.final, study.final)


def test_weak_noise_follows_the_slide():
    quiet = noise_study(START, [1e-8], 1.2, paths=3, step=1e-4)
    # at the end, just behind the two-fold, every path is still next to it
    assert np.abs(quiet.final).max() < 0.05


@pytest.mark.parametrize(
    ("levels", "t_end", "match"), [([0.0], 3.0, "levels"), ([1e-3], 0.5, "loses determinism")]
)
def test_bad_input(levels, t_end, match):
    with pytest.raises(ModelError, match=match):
        noise_study(START, levels, t_end, paths=2, step=1e-3)
