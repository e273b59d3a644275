"""Event sequences and times of flows against an independent solver."""

import numpy as np
import pytest
from flow_oracle import follow

import stiction as st
from stiction.switching.methods import EventDriven
from stiction.switching.presets import BeltOscillator, RelayFeedback

SIGN = {"+": 1, "-": -1, "slide": 0}


def rows(run):
    frame = run.events[run.events["kind"] != "fold"]
    return [
        (t, SIGN[a], SIGN[b])
        for t, a, b in zip(frame["time"], frame["from"], frame["to"], strict=True)
    ]


def apart(found, expected):
    """Return the largest difference of event times; the sequences must be the same."""
    assert [row[1:] for row in found] == [row[1:] for row in expected]
    times = np.array([row[0] for row in found]) - [row[0] for row in expected]
    return np.abs(times).max(initial=0.0)


@pytest.mark.parametrize("seed", range(12))
def test_random_relays(seed):
    rng = np.random.default_rng(seed)
    n = 2 + seed % 3
    matrix, push, x0 = rng.normal(size=(n, n)) - np.eye(n), rng.normal(size=n), rng.normal(size=n)
    normal = np.eye(n)[0]
    system = RelayFeedback(matrix=matrix.ravel(), input=push, output=normal, x0=x0)
    run = st.solve(system, EventDriven(rtol=1e-11), t_span=(0.0, 6.0))
    assert run.status == st.Status.SOLVED
    expected = follow(
        lambda x: matrix @ x - push, lambda x: matrix @ x + push, normal, x0, run.t_end
    )
    assert apart(rows(run), expected) < 1e-7


def test_belt():
    def field(sign):
        return lambda x: np.array([x[1], -x[0] - sign * (1.0 - 0.1 * sign * (x[1] - 0.5))])

    # the surface is v = 0.5: move the origin there
    def moved(sign):
        return lambda y: field(sign)(np.array([y[0], y[1] + 0.5]))

    run = st.solve(BeltOscillator(x0=[2.0, 0.0]), EventDriven(rtol=1e-11), t_span=(0.0, 20.0))
    start = np.array([2.0, -0.5])
    expected = follow(moved(1), moved(-1), np.array([0.0, 1.0]), start, 20.0)
    assert apart(rows(run), expected) < 1e-7
    assert len(expected) > 5
