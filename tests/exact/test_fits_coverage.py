"""Whether intervals cover as often as they say, and data tell what they cannot."""

import numpy as np
import pytest
from fit_cases import cases, unknown_cases
from scipy.stats import binom

import stiction as st

SETS = 40


@pytest.mark.parametrize("name", ["Coulomb", "Stribeck", "Dahl", "BoucWen", "pulled Coulomb"])
def test_intervals_cover(name):
    case = cases(200)[name]
    covered: dict[str, int] = {}
    for seed in range(SETS):
        found = st.fit(case.drawn(1000 + seed), type(case.law), case.rig)
        assert found.unknown == ()
        for estimate in found.estimates:
            truth = case.truth[estimate.name]
            inside = estimate.low <= truth <= estimate.high
            covered[estimate.name] = covered.get(estimate.name, 0) + inside
            assert abs(estimate.value - truth) <= 5.0 * estimate.error
    # each of some thirty counts leaves this range once in a thousand times
    least = binom.ppf(1e-3, SETS, 0.95)
    assert min(covered.values()) >= least, covered


@pytest.mark.parametrize("name", sorted(unknown_cases()))
def test_data_tell_what_they_cannot_fix(name):
    case, lost = unknown_cases(200)[name]
    for seed in range(5):
        found = st.fit(case.drawn(seed), type(case.law), case.rig)
        assert set(lost) <= set(found.unknown), found
        for estimate in found.estimates:
            if estimate.name in lost:
                assert estimate.told
                assert not np.isfinite(estimate.high - estimate.low)
