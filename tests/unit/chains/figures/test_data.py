"""What figures derive from a run: when masses stick, closed-form times, wave speed."""

import dataclasses

import numpy as np
import pytest

from stiction.chains import Chain, Constant, Ramp
from stiction.chains.figures.data import ChainData
from stiction.core.events import EventLog
from stiction.errors import ModelError
from stiction.laws import Coulomb


def inside(intervals, time):
    """Return whether each time lies in the interior of one of the intervals."""
    begin, end = intervals[:, :1], intervals[:, 1:]
    return ((time > begin) & (time < end)).any(axis=0)


@pytest.mark.parametrize("name", ["baseline", "ramp", "wave"])
def test_stick_agrees_with_the_saved_modes(name, request):
    data = ChainData(request.getfixturevalue(name))
    for i in range(data.n_mass):
        intervals = data.stick_intervals(i)
        away = np.ones(data.time.size, dtype=bool)
        # at the very time of a change both modes are right
        for edge in intervals.ravel():
            away &= np.abs(data.time - edge) > 1e-9
        stuck = data.mode[:, i] == 0
        assert np.array_equal(inside(intervals, data.time)[away], stuck[away])
        assert away.sum() > 0.9 * data.time.size


def test_without_events_the_saved_modes_decide(baseline):
    quiet = ChainData(dataclasses.replace(baseline, event_log=EventLog()))
    exact = ChainData(baseline)
    step = baseline.time[1] - baseline.time[0]
    for i in range(3):
        assert np.abs(quiet.stick_intervals(i)[-1] - exact.stick_intervals(i)[-1]).max() <= step


def test_all_stick_from_the_stop_on(baseline):
    rest = ChainData(baseline).rest_intervals
    stop = baseline.quantities["stop_time"].value
    assert rest[-1] == pytest.approx([stop, 10.0], abs=1e-12)


def test_stick_of_many_masses_comes_from_saved_modes(huge):
    assert len(ChainData(huge).rest_intervals) == 0


def test_critical_times_of_a_ramp(ramp):
    times = ChainData(ramp).critical_times
    # load t, critical forces mu m g (4 - i)
    assert times == pytest.approx([7.3575, 4.905, 2.4525], abs=1e-12)


def test_critical_times_beyond_the_run_are_unknown(make_run):
    chain = Chain([1.0, 1.0, 1.0], 20.0, load=Ramp(1.0), law=Coulomb(0.25))
    times = ChainData(make_run(chain, 3.0, 300, 3)).critical_times
    assert np.isnan(times[:2]).all()
    assert times[2] == pytest.approx(2.4525, abs=1e-12)


def test_no_critical_line_without_a_rising_load(baseline, make_run):
    assert ChainData(baseline).critical_times is None
    falling = Chain([1.0, 1.0], 20.0, load=Ramp(-1.0, start=3.0), law=Coulomb(0.1))
    assert ChainData(make_run(falling, 1.0, 100, 1)).critical_times is None


def test_wave_speed_of_uniform_undamped_chains(baseline, wave, make_run):
    assert ChainData(baseline).wave_speed == pytest.approx(np.sqrt(20.0), rel=1e-14)
    assert ChainData(wave).wave_speed == pytest.approx(500.0, rel=1e-14)
    load, law = Constant(10.0), Coulomb(0.1)
    for chain in (
        Chain([1.0, 2.0, 1.0], 20.0, load=load, law=law),
        Chain([1.0, 1.0, 1.0], [20.0, 20.0, 30.0], load=load, law=law),
        Chain([1.0, 1.0, 1.0], 20.0, 0.1, load=load, law=law),
        Chain([1.0, 1.0], 20.0, load=load, law=law),
    ):
        assert ChainData(make_run(chain, 0.1, 10, 1)).wave_speed is None


def test_belt_speed_is_read_from_the_run(make_run):
    chain = Chain([1.0, 1.0], 20.0, law=Coulomb(0.3), belt_speed=0.5)
    assert ChainData(make_run(chain, 2.0, 2000, 20)).belt_speed == 0.5


def test_mass_numbers_start_at_one(baseline):
    data = ChainData(baseline)
    assert data.index("phase.mass", 3) == 2
    for wrong in (0, 4, 1.5, "1"):
        with pytest.raises(ModelError, match=r"phase\.mass: got"):
            data.index("phase.mass", wrong)


def test_a_run_without_history_is_refused(baseline):
    bare = dataclasses.replace(baseline, variables={"x": baseline.variables["x"]})
    with pytest.raises(ModelError, match="without v, mode, friction, load"):
        ChainData(bare)
