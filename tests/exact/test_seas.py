"""Two benchmarks of the SEAS community against submissions of other codes."""

import numpy as np
import pytest
from references import FOLDER
from scipy.interpolate import CubicSpline

import stiction as st
from stiction.faults import Cycles, InjectedFault, StrikeSlipFault

# its pore pressure says where the stations of the submission to BP6 are [m]
STATIONS = {0: 9.765625, 5: 488.28125}
# where parabolas through five of the submission's samples around the largest slip rate have their
# tops: time [s], log10 of the rate [m/s]
LARGEST = {0: (7.69745e6, -6.756646), 5: (7.77773e6, -6.571584)}


def submitted():
    """Return what the submission has at each station: a row for each time."""
    rows = np.loadtxt(FOLDER / "seas_bp6.txt")
    return {station: rows[rows[:, 0] == station, 1:] for station in STATIONS}


@pytest.mark.parametrize(("cells", "within"), [(1024, 2e-2), (2048, 1e-2)])
def test_injection_makes_a_fault_slip_as_in_a_submission(cells, within):
    rows = submitted()
    times = np.unique(np.concatenate([r[:, 0] for r in rows.values()]))
    around = np.linspace(7.5e6, 8.0e6, 101)
    save = np.unique(np.concatenate([[0.0], times, around]))
    run = st.solve(InjectedFault(cells=cells), Cycles(rtol=1e-6), (0.0, save[-1]), save=save)
    assert run.audit.ok
    z = run.variables["place"].values - 20e3
    right = z > 0.0

    def at(name, distance, log=False):
        values = run.variables[name].values[:, right]
        found = CubicSpline(z[right], np.log(values) if log else values, axis=1)(distance)
        return np.exp(found) if log else found

    for station, place in STATIONS.items():
        wanted = rows[station]
        chosen = np.searchsorted(run.time, wanted[:, 0])
        slip, speed = at("slip", place)[chosen], at("slip_speed", place, log=True)[chosen]
        assert slip == pytest.approx(wanted[:, 1], rel=within)
        assert speed == pytest.approx(10.0 ** wanted[:, 2], rel=within)
        assert at("shear_stress", place)[chosen] == pytest.approx(1e6 * wanted[:, 3], rel=5e-4)
        pressure = at("pore_pressure", place)[chosen]
        # cells of a grid and its steps of time, which the submission has, delay the first fluid
        late = wanted[:, 0] > 2.5e5
        assert pressure[late] == pytest.approx(1e6 * wanted[late, 4], rel=1e-2)
        # reason: the state falls by e^14 in two weeks: a hundredth of it is a minute's rest of days
        state = np.log(10.0 ** wanted[:, 5])
        assert np.log(at("state", place, log=True)[chosen]) == pytest.approx(state, abs=3 * within)
        near = np.isin(run.time, around)
        curve = CubicSpline(run.time[near], np.log10(at("slip_speed", place, log=True)[near]))
        fine = np.linspace(7.5e6, 8.0e6, 100_001)
        when, most = LARGEST[station]
        assert fine[np.argmax(curve(fine))] == pytest.approx(when, rel=5e-4)
        assert curve(fine).max() == pytest.approx(most, abs=1e-3)


def test_the_first_earthquake_comes_when_another_code_has_it():
    # HBI, cells of 10 m: 6.1965193e9 s; here of 100 m
    run = st.solve(StrikeSlipFault(cells=400), Cycles(rtol=1e-6), (0.0, 6.25e9), save=2)
    assert run.audit.ok
    onsets = run.events.time[run.events.kind == "onset"].to_numpy()
    assert onsets == pytest.approx([6.1965193e9], rel=2e-4)
