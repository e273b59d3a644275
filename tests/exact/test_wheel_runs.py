"""The wheel on a turntable against independent trajectories."""

import numpy as np
import pytest
from references import reference

import stiction as st
from stiction.switching.methods import EventDriven
from stiction.switching.wheel.model import WheelOnTurntable

CASES = ("leaves_escaping_region_minus", "slides_into_two_fold", "slips_then_slides_into_two_fold")
# how the reference names what the event log writes as kind and modes
ENDS = {"TWOFOLD": "two_fold", "CODIM2:slip": "codim2_line"}


def words(run):
    frame = run.events
    moves = zip(frame["kind"], frame["from"], frame["to"], strict=True)
    return [
        kind if kind in ENDS.values() else f"{old}->{new}"
        for kind, old, new in moves
        if kind != "escaping_start"
    ]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rtol", [1e-12, 1e-10])
def test_reference_trajectories(name, rtol):
    case = reference("switching.json")["wheel_trajectories"][name]
    wheel = WheelOnTurntable(x0=[float(a) for a in case["x0"]], mode=case["mode"])
    run = st.solve(wheel, EventDriven(rtol=rtol), t_span=(case["t0"], 20.0))
    expected = case["events"][1:]
    assert words(run) == [ENDS.get(word, word) for _, word, _ in expected]
    frame = run.events[run.events["kind"] != "escaping_start"]
    assert np.abs(frame["time"] - [row[0] for row in expected]).max() < 2e-8
    found = frame[["r", "v", "omega"]].to_numpy()
    assert np.abs(found - [row[2] for row in expected]).max() < 1e-8
    assert run.status == st.Status.STOPPED


@pytest.mark.parametrize("name", CASES)
def test_physical_time_has_the_same_events(name):
    case = reference("switching.json")["wheel_trajectories"][name]
    wheel = WheelOnTurntable(
        x0=[float(a) for a in case["x0"]], mode=case["mode"], physical_time=True
    )
    run = st.solve(wheel, EventDriven(rtol=1e-12), t_span=(0.0, 20.0))
    expected = case["events"][1:]
    assert words(run) == [ENDS.get(word, word) for _, word, _ in expected]
    frame = run.events[run.events["kind"] != "escaping_start"]
    found = frame[["r", "v", "omega"]].to_numpy()
    assert np.abs(found - [row[2] for row in expected]).max() < 1e-8
    assert abs(run.energy.imbalance_rel) < 1e-11
