"""Sliding bifurcations of forced orbits, against the closed forms of `sliding_orbits`."""

import numpy as np
import pytest
from sliding_orbits import (
    adding_sliding,
    branch_of,
    crossing_sliding,
    grazing_sliding,
    switching_sliding,
)

INSTANCES = 50


@pytest.mark.parametrize(
    "draw", [crossing_sliding, switching_sliding, adding_sliding, grazing_sliding]
)
def test_parameter_and_kind(draw):
    kind = draw.__name__.replace("_", "-")
    for seed in range(INSTANCES):
        exact, values, branch = branch_of(draw, seed)
        assert [one.kind for one in branch.bifurcations] == [kind], (seed, branch)
        assert branch.bifurcations[0].value == pytest.approx(exact, abs=1e-9), seed
        assert branch.ends == ("p.b reached its limit",) * 2, (seed, branch)
        # an unstable orbit and the sliding one end each other
        fold = values["k"] < 0.0
        sides = np.sign(branch.values[[0, -1]] - exact)
        assert (sides[0] == sides[1]) == fold, (seed, branch)
