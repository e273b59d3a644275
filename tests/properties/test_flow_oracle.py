"""Event sequences and times of flows against an independent solver."""

import numpy as np
import pytest
from flow_oracle import follow

import stiction as st
from stiction.methods import EventDriven
from stiction.switching.presets import BeltOscillator, RelayFeedback

SIGN = {"+": 1, "-": -1, "slide": 0}


def rows(run):
    frame = run.events[run.events["kind"] != "fold"]
    return [
        (t, SIGN[a], SIGN[b])
        for t, a, b in zip(frame["time"], frame["from"], frame["to"], strict=True)
    ]


def agree(found, expected):
    assert [row[1:] for row in found] == [row[1:] for row in expected]
    times = np.array([row[0] for row in found]) - [row[0] for row in expected]
    assert np.abs(times).max(initial=0.0) < 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_random_relays(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    matrix, push, x0 = rng.normal(size=(n, n)) - np.eye(n), rng.normal(size=n), rng.normal(size=n)
    normal = np.eye(n)[0]
    system = RelayFeedback(matrix=matrix.ravel(), input=push, output=normal, x0=x0)
    run = st.solve(system, EventDriven(rtol=1e-11), t_span=(0.0, 6.0))
    if run.status == st.Status.STOPPED:
        # the oracle knows nothing of two-folds: compare what came before
        found = [row for row in rows(run) if row[0] < run.t_end - 1e-3]
    else:
        found = rows(run)
    end = found[-1][0] + 1e-6 if run.t_end < 6.0 and found else min(6.0, run.t_end)
    agree(found, follow(lambda x: matrix @ x - push, lambda x: matrix @ x + push, normal, x0, end))


def test_belt():
    def field(sign):
        return lambda x: np.array([x[1], -x[0] - sign * (1.0 - 0.1 * sign * (x[1] - 0.5))])

    # the surface is v = 0.5: move the origin there
    def moved(sign):
        return lambda y: field(sign)(np.array([y[0], y[1] + 0.5]))

    run = st.solve(BeltOscillator(x0=[2.0, 0.0]), EventDriven(rtol=1e-11), t_span=(0.0, 20.0))
    start = np.array([2.0, -0.5])
    agree(rows(run), follow(moved(1), moved(-1), np.array([0.0, 1.0]), start, 20.0))
