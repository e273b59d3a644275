"""Steps of two half kicks: events that stay level as the step falls, stick without slip."""

import numpy as np
import pytest

import stiction as st
from stiction.rods import RollingLeapfrog


def events(step, mu=3.0):
    """Return kinds and times of the events of crossed rods, their heat and their loss."""
    system = st.CrossedRods(friction=st.Coulomb(mu))
    run = st.solve(system, RollingLeapfrog(step), (0.0, 0.07), save=8)
    energy = run.energy
    split = np.array([energy.friction_heat[-1].sum(), energy.impact_loss[-1]])
    return list(run.events.kind), run.events.time.to_numpy(), split


def test_events_are_level_and_of_second_order():
    found = [events(5e-5 / 2**k) for k in range(3)]
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][0].count("slip") == 5
    coarse, fine = found[0][1] - found[1][1], found[1][1] - found[2][1]
    ratio = np.abs(coarse).sum() / np.abs(fine).sum()
    assert 3.0 < ratio < 5.0
    # no slip and no stick of one step
    assert np.diff(found[0][1])[np.diff(found[0][1]) > 0.0].min() > 1e-4


@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_heat_and_loss_are_of_second_order(mu):
    split = [events(5e-5 / 2**k, mu)[2] for k in range(3)]
    coarse, fine = split[0] - split[1], split[1] - split[2]
    assert np.all(np.abs(coarse) > 3.4 * np.abs(fine))


def test_what_rolls_does_not_slip_at_any_saved_time():
    system = st.CrossedRods(friction=st.Coulomb(3.0))
    run = st.solve(system, RollingLeapfrog(5e-5), (0.0, 0.05), save=1001)
    rolls = run.data.contact_mode.values == 1.0
    assert rolls.sum() > 900
    assert run.data.slip_speed.values[rolls].max() <= 1e-12
    assert np.abs(run.data.gap.values[rolls]).max() <= 1e-12
