"""What a run does at a loss of determinism, on the normal form of a two-fold."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.methods import EventDriven
from stiction.switching.policies import ByKind, Leave, Sample, Stop
from stiction.switching.presets import NormalForm

# the default start (0, 0.3, 0.1) reaches the two-fold at 1.1375, by t = -(1, 1) A^-1 w
ARRIVAL = 1.1375


def run(policy, t_end=1.8):
    return st.solve(NormalForm(-1.2, -1.5), EventDriven(policy=policy), t_span=(0.0, t_end))


@pytest.mark.parametrize("side", ["+", "-"])
def test_leave_a_two_fold(side):
    result = run(Leave(side, 0.5))
    loss = result.determinism.losses[0]
    assert loss.kind == "two_fold"
    assert loss.time == pytest.approx(ARRIVAL, rel=1e-7)
    left = result.events[result.events["time"] > ARRIVAL + 0.25].iloc[0]
    assert left["time"] == pytest.approx(ARRIVAL + 0.5, rel=1e-7)
    assert left["to"] == side


def test_sampled_dwell_times():
    first, again = run(Sample(4, 2.0, 1), 6.0), run(Sample(4, 2.0, 1), 6.0)
    rng = np.random.default_rng(1)
    rng.uniform()
    left = first.events[first.events["time"] > ARRIVAL + 1e-4].iloc[0]
    assert left["time"] == pytest.approx(ARRIVAL + rng.exponential(0.5), rel=1e-7)
    assert first.determinism.losses[0].kind == "two_fold"
    assert first.determinism.losses[0].choice == again.determinism.losses[0].choice
    exits = first.variables["future_exit"].values
    assert len(exits) == 4
    assert np.array_equal(exits, again.variables["future_exit"].values)


def test_one_policy_for_each_kind():
    stops = run(ByKind(two_fold=Stop(), escaping_start=Leave("+")))
    assert stops.t_end == pytest.approx(ARRIVAL, rel=1e-7)
    leaves = run(ByKind(two_fold=Leave("+", 0.5)))
    assert leaves.t_end > ARRIVAL + 0.5 - 1e-6
    with pytest.raises(ModelError, match=r"ByKind\.two_fold"):
        ByKind(two_fold=ByKind())
