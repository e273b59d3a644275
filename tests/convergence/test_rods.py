"""Orders of the nonholonomic leapfrog on crossed rods: energy, gap, contact, and no trend."""

import numpy as np
import pytest
from crossed import crossed_rods

import stiction as st
from stiction.rods.methods import RollingLeapfrog

STEPS = (1e-4, 5e-5, 2.5e-5)


@pytest.fixture(scope="module")
def runs():
    """Return runs of case G without correction of the gap, one per step."""
    return [
        st.solve(crossed_rods(), RollingLeapfrog(h, shake=False), (0.0, 0.2), save=201)
        for h in STEPS
    ]


def orders(errors):
    """Return the observed orders when the step is halved."""
    errors = np.asarray(errors)
    return np.log2(errors[:-1] / errors[1:])


def test_energy_error_is_of_second_order(runs):
    rate = orders([np.abs(run.energy.imbalance).max() for run in runs])
    assert np.all((rate > 1.9) & (rate < 2.1))


def test_energy_error_with_held_gaps_is_of_second_order():
    errors = []
    for h in STEPS:
        run = st.solve(crossed_rods(), RollingLeapfrog(h), (0.0, 0.2), save=201)
        errors.append(np.abs(run.energy.imbalance).max())
    rate = orders(errors)
    assert np.all((rate > 1.9) & (rate < 2.1))


def test_gap_that_is_not_held_drifts_with_second_order(runs):
    rate = orders([np.abs(run.data.gap.values).max() for run in runs])
    assert np.all((rate > 1.9) & (rate < 2.1))


@pytest.mark.parametrize("shake", [True, False])
def test_contact_converges_with_second_order(shake):
    """At small steps: the fastest waves of the elements spoil the order at large ones."""
    found = []
    for h in (2e-5, 1e-5, 5e-6, 2.5e-6):
        run = st.solve(crossed_rods(), RollingLeapfrog(h, shake=shake), (0.0, 0.2), save=3)
        found.append([run.data[name].values[1:] for name in ("s1", "s2", "lambda_n")])
    found = np.array(found)
    rate = orders(np.abs(np.diff(found, axis=0)).max(axis=2))
    assert np.all((rate > 1.8) & (rate < 2.2))


def test_energy_has_no_trend_over_many_steps():
    """The line through means of ten parts of 1e5 steps is level."""
    system = crossed_rods(elements=20, amplitude=0.2)
    run = st.solve(system, RollingLeapfrog(2e-4), (0.0, 20.0), save=2001)
    assert run.stats["steps"] == 100_000
    error = run.energy.imbalance
    size = np.abs(error).max()
    blocks = error[1:].reshape(10, -1).mean(axis=1)
    slope = np.polyfit(np.arange(10), blocks, 1)[0]
    assert size < 1e-3 * run.energy.kinetic.max()
    # the line through ten means rises by less than a hundredth of the largest error
    assert abs(slope) * 10.0 < 1e-2 * size
