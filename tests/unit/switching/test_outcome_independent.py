"""The audit of flows, worked out anew from the states that a run keeps."""

import math

import numpy as np
import pytest

import stiction as st
from stiction.switching.flow.inspection import Inspection, inspect_states
from stiction.switching.model import PiecewiseSmooth

SIN = COS = -math.sqrt(0.5)


@pytest.fixture(scope="module")
def wheel():
    scenario = st.read_scenario("wheel-physical-time")
    return st.solve(scenario.system, scenario.method, (0.0, 2.0), save=1001, throw=False)


def check(run, name):
    (found,) = [line for line in run.audit if line.check == name]
    return found


def test_the_audit_of_the_wheel_reports_each_value_under_its_name(wheel):
    data = {name: wheel.data[name].to_numpy() for name in wheel.data.data_vars}
    slides = data["mode"][:, 0] == 0
    r, v, turn = data["r"], data["v"], data["omega"] + 1.0
    h = -(v - turn) * SIN - r * turn * COS
    off = check(wheel, "stays_on_surface")
    # over the size 0.1 of the states, and to rounding, which is all there is
    assert 0.0 < off.value < 1e-13
    assert np.abs(h[slides]).max() < 1e-14
    assert slides[np.searchsorted(wheel.time, off.time)]
    side = check(wheel, "stays_on_its_side")
    assert side.value == 0.0
    assert np.all(h[~slides] * data["mode"][~slides, 0] > 0.0)
    share = np.abs(data["multiplier"].ravel()) * slides
    bound = check(wheel, "multiplier_within_bound")
    assert bound.value == pytest.approx(share.max(), rel=1e-12)
    assert bound.time == wheel.time[np.argmax(share)]
    assert (off.limit, side.limit) == (1e-9, 1e-9)
    assert bound.limit == pytest.approx(1.0 + 1e-6, rel=1e-12)


def test_the_energy_lines_of_the_audit_are_the_ledger(wheel):
    ledger = {name: wheel.ledger[name].to_numpy() for name in wheel.ledger.data_vars}
    energy = ledger["kinetic"] + ledger["stored"]
    lost = ledger["friction_heat"] + ledger["viscous_heat"]
    missing = np.abs(energy - energy[0] - ledger["external_work"] + lost).max()
    largest = max(np.abs(ledger[name]).max() for name in ledger if name != "imbalance")
    # rounding, so that its size alone can be compared
    assert 0.0 < check(wheel, "ledger_closes").value < 1e-12
    assert missing / largest < 1e-12
    assert check(wheel, "ledger_closes").limit == 1e-9
    assert check(wheel, "friction_dissipates").limit == pytest.approx(1e-9 * largest, rel=1e-9)
    assert check(wheel, "friction_dissipates").value == 0.0
    names = {line.check for line in wheel.audit}
    assert {"ledger_closes", "friction_dissipates"} < names


def test_a_flow_without_energies_is_not_audited_for_them():
    scenario = st.read_scenario("relay-feedback")
    run = st.solve(scenario.system, scenario.method, (0.0, 10.0), save=11)
    names = [line.check for line in run.audit]
    assert names == ["stays_on_surface", "stays_on_its_side", "multiplier_within_bound"]
    # nothing slides: no multiplier, no distance from the surface
    assert [line.value for line in run.audit] == [0.0, 0.0, 0.0]


def test_a_gradient_that_is_not_a_number_is_an_infinite_error():
    flow = PiecewiseSmooth(
        h=lambda x: x[0],
        f=lambda x, s: [-s[0], -1.0],
        x0=[1.0, 1.0],
        h_gradient=lambda x: [1.0, 0.0 * np.sqrt(x[1])],
    )
    c, worst, found = flow.compiled, Inspection.table(), []
    for x, sign in (([0.5, 1.0], 1.0), ([0.5, -1.0], 1.0), ([0.0, -1.0], 0.5)):
        record = c.surface, c.gradient, c.params, *c.sizes_and_normals, c.k
        inspect_states(*record, np.array([x]), np.array([[sign]]), worst, 0)
        found.append((worst[0].off, worst[0].wrong_side))
    assert found == [(0.0, 0.0), (0.0, np.inf), (np.inf, np.inf)]
