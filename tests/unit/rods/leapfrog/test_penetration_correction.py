"""A crossing that takes over from a row of points inside the other rod is lifted, not thrown."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import stiction as st

BENCHMARKS = Path(__file__).resolve().parents[4] / "benchmarks"


def dropped(seed):
    """Return a run of one of the random drops of the benchmark."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        drop = importlib.import_module("trust_rods").drop
    system, _ = drop(np.random.default_rng(seed))
    return st.solve(system, st.RollingLeapfrog(), (0.0, 0.06), save=13, throw=False)


@pytest.mark.parametrize("seed", [722, 413])
def test_hand_over_to_a_crossing_inside_keeps_the_ledger(seed):
    run = dropped(seed)
    # pushed out at once, these had 2.4e-4 and 6.4e-5
    assert run.energy.imbalance_rel < 5e-6
    # and the overlap is reported
    assert "no_overlap" in {check.check for check in run.audit.failed}
