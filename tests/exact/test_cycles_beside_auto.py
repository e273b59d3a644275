"""Folds and flips of smooth systems as AUTO-07p locates them (benchmarks/peer_auto.py).

AUTO solves by collocation on 100 intervals with 5 points each and EPSL = EPSU = 1e-10, and writes
ten digits.
"""

import numpy as np
import pytest

import stiction as st

METHOD = st.switching.EventDriven(rtol=1e-12)
FLIP, FOLDS = 2.8324450281, (1.7797195243, 1.3242362008)


def test_flip_of_roessler():
    def field(x, p):
        return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p.c)]

    flow = st.PiecewiseSmooth(
        h=lambda x: x[1], f_plus=field, f_minus=field, x0=[1.0, 1.0, 0.0], parameters={"c": 2.8}
    )
    # so near the flip, the state of a run comes back more closely after two turns
    cycle = st.find_cycle(flow, [1.0, 1.0, 0.0], METHOD, settle=400.0)
    assert len(cycle.events) == 2
    assert cycle.multipliers.real.min() == pytest.approx(-0.97835922, abs=1e-6)
    branch = st.continue_cycle(cycle, "p.c", (2.8, 2.9))
    assert [one.kind for one in branch.bifurcations] == ["flip"]
    assert branch.bifurcations[0].value == pytest.approx(FLIP, abs=1e-9)


@pytest.mark.parametrize(
    ("start", "value", "span", "fold"),
    [([0.0, 2.5], 1.75, (1.75, 1.8), FOLDS[0]), ([-0.4, 0.0], 1.36, (1.3, 1.36), FOLDS[1])],
)
def test_folds_of_duffing(start, value, span, fold):
    flow = st.PiecewiseSmooth(
        h=lambda x: x[0] + 100.0,
        f_plus=lambda t, x, p: [x[1], -0.1 * x[1] - x[0] - x[0] ** 3 + 0.3 * np.cos(p.w * t)],
        f_minus=lambda x: [0.0, 0.0],
        x0=[0.0, 0.0],
        parameters={"w": value},
    )

    def period(system):
        return 2.0 * np.pi / system.parameter("p.w")

    cycle = st.find_cycle(flow, start, METHOD, period=period, settle=200.0)
    branch = st.continue_cycle(cycle, "p.w", span)
    (found,) = branch.bifurcations
    assert found.kind == "fold"
    assert found.value == pytest.approx(fold, abs=1e-9)
