"""Each check of the audit of a wrapped rod fails where its quantity exceeds the limit."""

import numpy as np
import pytest
from wrapped_cases import capstan, wrapped_path

import stiction as st
from stiction.rods.wrapped import outcome

CHECKS = {
    "residual": "contacts_solved",
    "depth": "no_interpenetration",
    "overlap": "no_overlap",
    "beyond": "friction_within_bound",
    "gained": "friction_dissipates",
    "stuck": "rolls_without_slip",
}


@pytest.fixture(scope="module")
def stepper():
    """The state at the end of a pull of half a turn, and its ledger."""
    rope, drum, _ = capstan(0.3, np.pi, 0.1, np.pi / 20)
    found = []
    original = outcome._checks

    def checks(stepper):
        found.append(stepper)
        return original(stepper)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome, "_checks", checks)
        wrapped_path(rope, [drum], [0.0, 1.0], friction=st.Coulomb(0.3), steps=4)
    return found[0]


@pytest.mark.parametrize("quantity", CHECKS)
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_a_check_fails(stepper, quantity, value):
    worst = dict(stepper.worst)
    stepper.worst[quantity] = value, 0.5
    try:
        failed = [check.check for check in outcome._checks(stepper) if not check.ok]
    finally:
        stepper.worst = worst
    assert CHECKS[quantity] in failed
    assert set(failed) <= {CHECKS[quantity], "ledger_closes"}


def test_a_pull_in_few_steps_leaves_the_ledger_open():
    rope, drum, _ = capstan(0.3, np.pi, 0.1, np.pi / 20)
    failed = []
    for steps in (1, 20):
        path = wrapped_path(rope, [drum], [0.0, 1.0], friction=st.Coulomb(0.3), steps=steps)
        failed.append([check.check for check in path.audit.checks if not check.ok])
    assert failed == [["ledger_closes"], []]


def test_a_history_that_returns_to_its_start_is_measured_between_the_saved_times():
    # at both saved times all energies are rounding
    section = st.rods.GivenSection(1e4, 1e4, 1.0, 1.0, outer_radius=0.01)
    pull = st.rods.PointForce([0.0, 0.3, 0.2], 1.0, [0.0, 1.0, 2.0], [0.0, 1.0, 0.0])
    line = st.rods.Straight([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    ends = {"left": st.rods.Clamped(), "right": st.rods.Free()}
    rod = st.rods.CosseratRod(section, line, elements=4, loads=[pull], **ends)
    ball = st.rods.SpherePartner([0.5, 5.0, 0.0], 2.0)
    path = wrapped_path(rod, [ball], [0.0, 2.0], steps=8)
    (closes,) = [check for check in path.audit.checks if check.check == "ledger_closes"]
    assert closes.ok
    assert path.energy.imbalance_rel > 1e-2 > closes.value > 0.0


def test_a_residual_that_is_no_number_stays(stepper):
    worst = dict(stepper.worst)
    stepper.worst["residual"] = np.nan, 0.5
    try:
        stepper._extremes()
        assert np.isnan(stepper.worst["residual"][0])
    finally:
        stepper.worst = worst
