"""Friction is put back into balance with the elastic stress: exactly, carefully, and for good."""

import dataclasses

import numpy as np
import pytest

import stiction as st
from stiction.faults import Cycles, Fault, SpringSlider
from stiction.faults.projection_kernels import project_equilibrium
from stiction.faults.rate_kernels import coefficient
from stiction.faults.run import cells_of
from stiction.laws import AgeingLaw

LAW = AgeingLaw(a=0.01, b=0.02, length=1e-4)
LINE = Fault(
    LAW,
    cells=16,
    length=2.0,
    normal_stress=1e7,
    shear_modulus=1e9,
    plate_speed=1e-6,
    surface="none",
    speed_start=1.5e-6,
)


def balance(run):
    """Return the line of the audit."""
    return next(check for check in run.audit if check.check == "stress_balances")


def cells_and_size(regularised=True):
    n, law = LINE.n, dataclasses.replace(LAW, regularised=regularised)
    return cells_of(law, LINE.sigma, LINE.damping), n


def stress_of(state, cells):
    """Return friction and damping of every cell [Pa]."""
    n = len(cells)
    mu = [coefficient(state[i], state[n + i], cells[i])[0] for i in range(n)]
    return cells["sigma"] * np.array(mu) + cells["eta"] * np.exp(state[:n])


@pytest.mark.parametrize("regularised", [False, True])
def test_the_speed_balances_the_stress(regularised):
    cells, n = cells_and_size(regularised)
    rng = np.random.default_rng(3)
    state = np.zeros(4 * n + 2)
    state[:n], state[n : 2 * n] = rng.uniform(-28.0, 0.0, n), rng.uniform(-3.0, 15.0, n)
    right, wanted = state.copy(), stress_of(state, cells)
    shift = rng.uniform(-0.3, 0.3, n)
    state[:n] += shift
    off = np.abs(stress_of(state, cells) - wanted) / cells["sigma"]
    reported = project_equilibrium(state, wanted, cells, 1e-9, np.abs(wanted).max())
    assert reported == pytest.approx(off.max(), rel=1e-12)
    assert state[:n] == pytest.approx(right[:n], abs=1e-11)
    assert np.array_equal(state[n:], right[n:])


def test_an_undefined_balance_is_left_unchanged():
    cells, n = cells_and_size()
    state = np.zeros(4 * n + 2)
    state[:n], state[n : 2 * n] = -10.0, 2.0
    stress = stress_of(state, cells)
    given = state.copy()
    # a speed three times as large is no error of a step
    assert project_equilibrium(state, stress + 0.05 * 1e7, cells, 1e-9, 1e7) == pytest.approx(0.05)
    assert np.array_equal(state, given)
    # stress that is known to 1e-15 of 1e16 Pa, where ln V is asked to 1e-9 of 1e5 Pa
    project_equilibrium(state, stress + 1.0, cells, 1e-9, 1e16)
    assert np.array_equal(state, given)
    assert project_equilibrium(state, stress + 1.0, cells, 1e-9, 1e7) == pytest.approx(1e-7)
    assert not np.array_equal(state, given)


@pytest.mark.parametrize(
    "system",
    [LINE, SpringSlider(AgeingLaw(0.01, 0.025, 1e-5), impedance=3e6, speed_start=9e-7)],
)
def test_drift_does_not_grow_with_the_number_of_cycles(system):
    found = []
    for cycles in (4, 40):
        run = st.solve(system, Cycles(rtol=1e-6), (0.0, 1000.0 * cycles), save=2)
        found.append(run)
        assert run.audit.ok
    short, long = (balance(run).value for run in found)
    assert len(found[1].event_log) > 5 * len(found[0].event_log) > 0
    assert 0.0 < long < 1.5 * short
    assert long < 1e-6


def test_the_audit_sees_what_was_put_right_between_saved_times():
    crude = st.solve(LINE, Cycles(rtol=1e-2), (0.0, 3000.0), save=2, throw=False)
    assert crude.status is st.Status.UNTRUSTED
    assert balance(crude).value > 1e-4
    assert balance(crude).time is None
    assert not balance(crude).ok
