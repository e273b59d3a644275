"""Two benchmarks of the SEAS community against submissions of other codes."""

import numpy as np
import pytest
from references import FOLDER
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.special import ive

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


def test_the_stations_of_the_submission_are_where_its_pressure_is():
    # cells of a grid whose source is cell 0, in exact steps of time: the rate of p in cell k is
    # q / (S width) exp(-2 r t) I_k(2 r t) with r = alpha / width^2
    width = 9.765625
    rate, strength = 0.1 / width**2, 1.25e-6 / (1e-9 * width)
    for station, k in ((0, 1), (5, 50)):
        assert k * width == STATIONS[station]
        for time, _, _, _, pressure, _ in submitted()[station]:
            # injection stops at 8.64e6 s; roots of time make the rate smooth
            low, high = np.sqrt(max(0.0, time - 8.64e6)), np.sqrt(time)
            found, _ = quad(
                lambda u, k=k: 2.0 * u * ive(k, 2.0 * rate * u * u),
                low,
                high,
                epsrel=1e-9,
                limit=500,
            )
            assert strength * found == pytest.approx(1e6 * pressure, rel=1e-4)


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
        age = np.log(at("state", place, log=True)[chosen])
        # reason: the state falls by e^14 in two weeks, so that an hour is .04
        assert age == pytest.approx(np.log(10.0 ** wanted[:, 5]), abs=3 * within)
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
