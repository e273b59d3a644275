"""Runs from saved states go on as the run did: what slides on its surface slides on."""

import dataclasses

import numpy as np
import pytest

import stiction as st

SYSTEMS = {
    "belt": st.switching.BeltOscillator,
    "jump": st.switching.StaticJumpOscillator,
    "two blocks": st.switching.TwoBlockStickSlip,
}


def states_of(system, run):
    return np.stack([run.data[name].values for name in system.state_names], axis=1)


@pytest.mark.parametrize("speed", [0.1, -0.5, 0.17, 0.7])
@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_a_sliding_state_slides_on(name, speed):
    system, end = SYSTEMS[name](belt_speed=speed), 20.0
    run = st.solve(system, st.EventDriven(), (0.0, end), save=81)
    x, mode = states_of(system, run), run.data["mode"].values
    rows = np.flatnonzero((mode[1:-1] == 0).any(axis=1))[::5] + 1
    assert rows.size > 1
    for row in rows.tolist():
        start = float(run.data["time"].values[row])
        again = dataclasses.replace(system, x0=tuple(x[row].tolist()))
        rest = st.solve(again, st.EventDriven(), (start, end), save=2)
        assert np.abs(states_of(system, rest)[-1] - x[-1]).max() < 1e-9
        assert (rest.data["mode"].values[0] == mode[row]).all()
        assert len(rest.event_log) == (run.event_log.time > start).sum()
