"""Folds, flips and Neimark-Sacker bifurcations, against the closed forms of `smooth_orbits`."""

import pytest
from smooth_orbits import branch_of, flip, fold, neimark_sacker

INSTANCES = 50


@pytest.mark.parametrize("draw", [fold, flip, neimark_sacker])
def test_parameter_and_kind(draw):
    kind = {"neimark_sacker": "Neimark-Sacker"}.get(draw.__name__, draw.__name__)
    for seed in range(INSTANCES):
        exact, branch = branch_of(draw, seed)
        assert [one.kind for one in branch.bifurcations] == [kind], (seed, branch)
        assert branch.bifurcations[0].value == pytest.approx(exact, abs=1e-9), seed
        assert all("reached its limit" in end for end in branch.ends), (seed, branch)
