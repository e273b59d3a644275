"""The three promises of every result, each broken on purpose: ledger, determinism, audit.

What is expected is added up here by hand, and never read from the class under test.
"""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism, Loss
from stiction.core.ledger import Ledger
from stiction.core.run import RESERVED, Quantities, Quantity

TIME = np.array([0.0, 1.0, 2.0])
ZERO = np.zeros(3)
# column -> its sign in energy now - energy at the start - work + every loss
SIGNS = {
    "kinetic": 1.0,
    "stored": 1.0,
    "adhesive": 1.0,
    "external_work": -1.0,
    "friction_heat": 1.0,
    "viscous_heat": 1.0,
    "impact_loss": 1.0,
    "algorithmic": 1.0,
}


def ledger(**columns):
    """Return a ledger of three times whose other columns are zero."""
    given = {name: np.array(columns.get(name, ZERO), dtype=float) for name in SIGNS}
    if given["friction_heat"].ndim == 1:
        given["friction_heat"] = given["friction_heat"][:, None]
    return Ledger(time=TIME, **given)


# ---- the ledger


@pytest.mark.parametrize("name", sorted(SIGNS))
def test_energy_that_appears_in_one_column_alone_is_missing(name):
    found = ledger(**{name: [0.0, 2.0, 5.0]})
    np.testing.assert_allclose(found.imbalance, SIGNS[name] * np.array([0.0, 2.0, 5.0]), rtol=1e-15)
    assert found.imbalance_rel == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("name", sorted(SIGNS))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_scale_is_the_largest_energy_whatever_its_column(name, sign):
    # 1 J of motion everywhere else; 40 J in one column
    found = ledger(**{"kinetic": [1.0, 1.0, 1.0], name: [0.0, sign * 40.0, sign * 8.0]})
    assert found.scale == 40.0
    # and they came from nowhere
    assert np.abs(found.imbalance).max() == 40.0
    assert found.imbalance_rel == 1.0


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(sorted(SIGNS), 2)))
def test_what_one_column_gives_another_may_take(one, other):
    # 3 J out of one column into another: the ledger closes, and its scale is 3 J
    taken = np.array([0.0, 1.0, 3.0])
    columns = {one: SIGNS[one] * taken, other: -SIGNS[other] * taken}
    found = ledger(**columns)
    np.testing.assert_allclose(found.imbalance, 0.0, atol=1e-15)
    assert found.scale == 3.0
    assert found.imbalance_rel == pytest.approx(0.0, abs=1e-15)


def test_heat_of_contacts_adds_up():
    each = np.array([[0.0, 0.0], [1.0, 0.5], [2.0, 4.0]])
    found = ledger(friction_heat=each, external_work=[0.0, 1.5, 6.0])
    assert found.total_friction_heat.tolist() == [0.0, 1.5, 6.0]
    assert found.columns()["friction_heat"].tolist() == [0.0, 1.5, 6.0]
    np.testing.assert_allclose(found.imbalance, 0.0, atol=1e-15)
    table = found.table()
    np.testing.assert_array_equal(table["friction_heat_each"].to_numpy(), each)
    assert table["contact"].to_numpy().tolist() == [1, 2]


@pytest.mark.parametrize("unit", ["J", "J/m", "1"])
def test_every_column_is_reported_in_the_unit_of_energy(unit):
    table = ledger().table("s", unit)
    names = {*SIGNS, "imbalance", "friction_heat_each"}
    assert set(table.data_vars) == names
    assert {name: table[name].attrs["units"] for name in names} == dict.fromkeys(names, unit)
    assert table["time"].attrs["units"] == "s"


BLOCK = {"mass": [2.0], "stiffness": 50.0, "x0": [0.2], "law": st.Coulomb(0.1)}


def test_heat_of_a_block_is_reported_in_joules_with_the_other_energies():
    # 1.962 N over 0.49368 m; released with 1 J in the spring
    run = st.solve(st.Chain(**BLOCK), t_span=(0.0, 3.0), save=31)
    for name in ("friction_heat", "friction_heat_each", "stored", "imbalance"):
        assert run.ledger[name].attrs["units"] == "J"
    assert float(run.ledger["friction_heat"][-1]) == pytest.approx(1.962 * 0.49368, rel=1e-9)
    assert float(run.ledger["stored"][0]) == pytest.approx(1.0, rel=1e-12)


def test_a_flow_without_units_has_energies_without_them():
    run = st.solve(st.BeltOscillator(), t_span=(0.0, 1.0), save=3)
    for name in ("friction_heat", "external_work", "imbalance"):
        assert run.ledger[name].attrs["units"] == "1"


# ---- the audit


def lines(*held):
    return Audit(tuple(Check(f"check_{i}", ok, 1.0, 2.0) for i, ok in enumerate(held)))


@pytest.mark.parametrize("held", list(itertools.product([True, False], repeat=3)))
def test_an_audit_holds_where_every_line_of_it_does(held):
    assert lines(*held).ok == (False not in held)
    assert [check.ok for check in lines(*held)] == list(held)


def test_an_audit_without_lines_holds():
    assert lines().ok is True


def check(run, name):
    (found,) = [line for line in run.audit if line.check == name]
    return found


def test_the_audit_of_a_block_reports_each_value_under_its_name():
    # drawn by 0.2 m it turns five times, each time 0.03924 m nearer, and sticks at 0.0038 m, where
    # 100 N/m pull with 0.38 N of 1.962 N; 2 J were in the spring
    run = st.solve(st.Chain(**{**BLOCK, "stiffness": 100.0}), t_span=(0.0, 3.0), save=31)
    expected = {
        "ledger_closes": (0.0, 1e-9),
        "friction_dissipates": (0.0, 2e-9),
        "stick_within_bound": (0.38 / 1.962, 1.0),
    }
    for name, (value, limit) in expected.items():
        found = check(run, name)
        assert found.ok, name
        assert found.value == pytest.approx(value, rel=1e-9, abs=1e-12), name
        assert found.limit == pytest.approx(limit, rel=1e-8), name
    # it stops at 5 pi sqrt(2 / 100) = 2.2214 s; the first state saved after that reports so
    assert check(run, "stick_within_bound").time == pytest.approx(2.3, rel=1e-9)
    assert check(run, "slip_against_friction").value == pytest.approx(0.0, abs=1e-12)
    assert {line.check for line in run.audit} == {
        *expected,
        "slip_against_friction",
        "replay_agrees",
    }


def test_friction_that_pushes_fails_its_line_alone():
    # mu = 0.3 - 0.05 v is negative beyond 6 m/s: friction drives, and the ledger still closes
    law = st.UserFriction(lambda v: 0.3 - 0.05 * v, lambda v: -0.05)
    chain = st.Chain(mass=[1.0], stiffness=1.0, v0=[20.0], law=law)
    run = st.solve(chain, t_span=(0.0, 0.02), save=[0.0, 0.01, 0.02], throw=False)
    assert [line.check for line in run.audit.failed] == ["friction_dissipates"]
    assert not run.audit.ok
    heat = run.ledger["friction_heat"].to_numpy()
    given = check(run, "friction_dissipates").value
    # the heat of all steps, which give back without a pause
    assert given == pytest.approx(heat[0] - heat[-1], rel=1e-9)
    # at first 0.7 m g v dt = 6.867 N 20 m/s 0.01 s
    assert -heat[1] == pytest.approx(1.3734, rel=1e-2)


def test_a_quasistatic_chain_says_how_fast_its_load_is():
    # rate over the slowest frequency, over the largest bound: 0.1 N/s sqrt(1/20) s over 2.4525 N
    chain = st.Chain(mass=[1.0], stiffness=20.0, law=st.Coulomb(0.25), load=st.Ramp(rate=0.1))
    run = st.solve(chain, st.Quasistatic(), t_span=(0.0, 30.0), save=4)
    found = check(run, "inertia_negligible")
    assert found.value == pytest.approx(0.1 * np.sqrt(1.0 / 20.0) / 2.4525, rel=1e-6)
    assert (found.ok, found.limit) == (True, 0.5)


# ---- determinism


def test_one_loss_is_enough():
    assert Determinism().status == "deterministic"
    assert Determinism((Loss(1.0, "two_fold"),)).status == "lost"


def test_a_loss_is_reported_with_its_time_and_kind():
    # the sliding orbit of the normal form arrives at -(1, 1) A^-1 (z, y) = 1.1375
    scenario = st.read_scenario("normal-form")
    run = st.solve(scenario.system, scenario.method, (0.0, 2.0), save=5, throw=False)
    (loss,) = run.determinism.losses
    assert (loss.kind, run.determinism.status) == ("two_fold", "lost")
    assert loss.time == pytest.approx(1.1375, rel=1e-9)
    assert loss.where["state"] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert run.status.value == "stopped"


def test_names_of_columns_are_reserved(run):
    taken = {"from", "to", "kind", "time", "contact"}
    assert taken <= set(run.events.columns)
    assert taken <= RESERVED


def test_a_loss_is_short_in_words():
    loss = Loss(7.0086341, "two_fold", {"contact": 1, "state": [0.1859, -0.03]}, "it stops")
    assert (
        repr(loss)
        == "<two_fold at t = 7.00863, contact 1, state [0.1859, -0.03]; choice: it stops>"
    )


def test_a_pure_number_shows_no_unit():
    shown = repr(Quantities({"count": Quantity(3, "1"), "length": Quantity(0.5, "m")}))
    assert shown == "<2 quantities>\n  count = 3\n  length = 0.5 m"
