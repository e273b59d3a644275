"""Units, axes, labels, kinds and names of results against tables that were written by hand.

The tables beside this file say what physics and the formula sheets ask for. A name that a run
reports and its table lacks is an error as well, so that a new one is looked at before it goes out.
What the code is known to report wrongly keeps its right value in the table, with `wrong` beside it.
"""

import tomllib
from pathlib import Path

import numpy as np
import pytest

TABLES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).parent.glob("*.toml"))
}

# DESIGN.md, "Three promises in every result", the ledger: column -> word of its meaning
LEDGER = {
    "kinetic": "kinetic",
    "stored": "elastic",
    "adhesive": "adhesive",
    "external_work": "work",
    "friction_heat": "friction",
    "viscous_heat": "dampers",
    "impact_loss": "impacts",
    "algorithmic": "time scheme",
    "imbalance": "unaccounted",
}
# DESIGN.md, "Command line and files", summary.json
SUMMARY = (
    "status", "system", "method", "t_end", "final", "energy", "determinism", "audit",
    "quantities", "stats", "provenance", "files", "digest",
)  # fmt: skip


def case(*values, wrong=None, name=None):
    """Return a parameter set, expected to fail where the table says that the code is wrong."""
    reported_wrongly = (AssertionError, KeyError)
    marks = [pytest.mark.xfail(strict=True, raises=reported_wrongly, reason=wrong)] if wrong else []
    return pytest.param(*values, marks=marks, id=name or "-".join(str(v) for v in values))


def runs(wrong=None):
    """Return (table, run) for every entry; `wrong` names the key that marks a known fault."""
    return [
        case(t, r["name"], wrong=r.get(wrong) or table.get(wrong))
        for t, table in TABLES.items()
        for r in table["run"]
    ]


def entries(section):
    """Return (table, name) for every entry of a section of the tables."""
    found = []
    for t, table in TABLES.items():
        for name, entry in table[section].items():
            wrong = entry.get("wrong") if isinstance(entry, dict) else None
            found.append(case(t, name, wrong=wrong))
    return found


def entry_of(table, name):
    return next(entry for entry in TABLES[table]["run"] if entry["name"] == name)


def runs_with(table, section, name):
    """Return the runs of a table that must report this variable or quantity."""
    need = TABLES[table][section][name].get("needs")
    found = [e["name"] for e in TABLES[table]["run"] if need is None or need in e.get("has", [])]
    assert found, f"no run of {table} reports {name}"
    return found


def unit_of_time(table, name):
    return entry_of(table, name).get("time_unit", TABLES[table]["time_unit"])


def contacts_of(table, got):
    """Return how many contacts a run of a table has."""
    axes = TABLES[table]["contacts_are"]
    if axes == "one":
        return 1
    return sum(got.stored.sizes[axis] for axis in ([axes] if isinstance(axes, str) else axes))


def expected_names(table, name, section):
    has = entry_of(table, name).get("has", [])
    return {k for k, v in TABLES[table][section].items() if v.get("needs") in (None, *has)}


# ---- variables


@pytest.mark.parametrize(("table", "name"), entries("variables"))
def test_a_variable_has_its_axes_unit_and_meaning(table, name, reported):
    entry = TABLES[table]["variables"][name]
    for run in runs_with(table, "variables", name):
        got = reported(table, run)
        for variable in (got.run.data[name], got.stored[name]):
            assert list(variable.dims) == entry["dims"]
            assert variable.attrs["units"] == entry["unit"]
            assert entry["says"] in variable.attrs["long_name"]


@pytest.mark.parametrize(("table", "name"), runs())
def test_no_variable_is_missing_or_unknown(table, name, reported):
    got, expected = reported(table, name), expected_names(table, name, "variables")
    ledger = {*LEDGER, "friction_heat_each", "asked"}
    # also those with the name of an axis, which xarray counts as coordinates
    for data, others in ((got.run.data, set()), (got.stored, ledger)):
        assert set(data.variables) - set(data.indexes) - others == expected


@pytest.mark.parametrize(("table", "name"), runs("wrong_time_unit"))
def test_time_has_its_unit_everywhere(table, name, reported):
    got, unit = reported(table, name), unit_of_time(table, name)
    assert got.run.time_unit == unit
    assert got.run.data["time"].attrs["units"] == unit
    assert got.stored["time"].attrs["units"] == unit
    assert got.run.ledger["time"].attrs["units"] == unit
    assert got.run.events.attrs["units"]["time"] == unit


@pytest.mark.parametrize(("table", "name"), runs())
def test_members_are_numbered_from_one(table, name, reported):
    stored = reported(table, name).stored
    for axis in {"mass", "link", "node", "contact", "future"} & set(stored.sizes):
        assert stored[axis].values.tolist() == list(range(1, stored.sizes[axis] + 1))
    assert stored.sizes["time"] > 1


# ---- quantities and the last state


@pytest.mark.parametrize(("table", "name"), entries("quantities"))
def test_a_quantity_has_its_unit_and_meaning(table, name, reported):
    entry = TABLES[table]["quantities"][name]
    for run in runs_with(table, "quantities", name):
        if entry["unit"] == "time" and "wrong_time_unit" in entry_of(table, run):
            continue  # reported by the test of the unit of time
        unit = unit_of_time(table, run) if entry["unit"] == "time" else entry["unit"]
        got = reported(table, run)
        assert got.summary["quantities"][name]["unit"] == unit
        for quantity in (got.run.quantities[name], got.loaded.quantities[name]):
            assert quantity.unit == unit
            assert entry["says"] in quantity.meaning


@pytest.mark.parametrize(("table", "name"), runs())
def test_no_quantity_is_missing_or_unknown(table, name, reported):
    expected = expected_names(table, name, "quantities")
    assert set(reported(table, name).summary["quantities"]) == expected


@pytest.mark.parametrize(("table", "name"), runs("wrong_final"))
def test_the_last_state_is_made_of_known_variables(table, name, reported):
    got = reported(table, name)
    expected = entry_of(table, name).get("final", TABLES[table]["final"])
    assert set(got.summary["final"]) == set(expected)
    for key, values in got.summary["final"].items():
        name_of, *component = TABLES[table].get("final_of", {}).get(key, [key])
        last = got.run.data[name_of].to_numpy()[-1][..., *component].ravel()
        np.testing.assert_array_equal(np.array(values, dtype=np.float64).ravel(), last)


# ---- the ledger


@pytest.mark.parametrize(("table", "name"), runs())
def test_every_column_of_the_ledger_has_the_unit_of_energy(table, name, reported):
    got, unit = reported(table, name), TABLES[table]["energy_unit"]
    assert list(got.summary["energy"]) == [*LEDGER, "imbalance_rel"]
    assert set(got.run.ledger.data_vars) == {*LEDGER, "friction_heat_each"}
    for column in got.run.ledger.data_vars:
        assert got.run.ledger[column].attrs["units"] == unit
        assert got.stored[column].attrs["units"] == unit
    for column, word in LEDGER.items():
        assert word in got.stored[column].attrs["long_name"]
        assert got.summary["energy"][column] == float(got.stored[column][-1])


@pytest.mark.parametrize(("table", "name"), runs())
def test_heat_is_reported_for_each_contact(table, name, reported):
    got = reported(table, name)
    each = got.run.ledger["friction_heat_each"]
    assert each.shape == (got.run.ledger.sizes["time"], contacts_of(table, got))
    total = got.stored["friction_heat"].to_numpy()
    np.testing.assert_allclose(each.sum("contact").to_numpy(), total, rtol=1e-14, atol=0.0)


# ---- events


@pytest.mark.parametrize(("table", "name"), runs("wrong_header"))
def test_events_have_the_promised_columns(table, name, reported):
    got = reported(table, name)
    assert got.head == TABLES[table]["events_csv"]
    assert list(got.run.events.columns) == TABLES[table]["events_csv"]


@pytest.mark.parametrize(("table", "name"), entries("event_units"))
def test_a_column_of_events_has_one_unit(table, name, reported):
    entry = TABLES[table]["event_units"][name]
    unit = entry["unit"] if isinstance(entry, dict) else entry
    for run in (e["name"] for e in TABLES[table]["run"]):
        got = reported(table, run)
        if got.rows:
            assert got.run.events.attrs["units"][name] == unit
            assert got.loaded.events.attrs["units"][name] == unit


@pytest.mark.parametrize(("table", "name"), runs())
def test_every_event_connects_modes_that_its_kind_can_connect(table, name, reported):
    got, allowed = reported(table, name), TABLES[table]["transitions"]
    for row in got.rows:
        assert [row["kind"], row["from"], row["to"]] in allowed
    times = [float(row["time"]) for row in got.rows]
    assert times == sorted(times)


@pytest.mark.parametrize(("table", "name"), runs())
def test_contacts_of_events_are_numbered_from_one(table, name, reported):
    got, whole = reported(table, name), TABLES[table]["reported_of_the_whole"]
    most = contacts_of(table, got)
    for row in got.rows:
        number = int(row["contact"])
        assert number == 0 if row["kind"] in whole else 1 <= number <= most


@pytest.mark.parametrize(("table", "name"), runs())
def test_the_events_are_those_counted_by_hand(table, name, reported):
    got, entry = reported(table, name), entry_of(table, name)
    seen = [[int(r["contact"]), r["from"], r["kind"], r["to"]] for r in got.rows]
    if "events" in entry:
        assert [[c, before, kind, after] for c, before, kind, after in entry["events"]] == seen
    if "first_event" in entry:
        contact, before, kind, after = entry["first_event"]
        assert seen[0] == [contact, before, kind, after]
    for kind, least in entry.get("at_least", {}).items():
        assert sum(row[2] == kind for row in seen) >= least


@pytest.mark.parametrize(("table", "name"), runs("wrong_modes"))
def test_a_contact_leaves_the_mode_it_was_in(table, name, reported):
    last = {}
    for row in reported(table, name).rows:
        if row["kind"] in TABLES[table]["reported_of_the_whole"]:
            continue
        number = row["contact"]
        assert row["from"] == last.get(number, row["from"])
        last[number] = row["to"]
    assert all(isinstance(mode, str) for mode in last.values())


# ---- determinism, status, files


@pytest.mark.parametrize(("table", "name"), runs())
def test_losses_are_of_known_kinds_and_those_expected(table, name, reported):
    got, entry = reported(table, name), entry_of(table, name)
    kinds = [loss["kind"] for loss in got.summary["determinism"]["losses"]]
    assert kinds == entry.get("lost", [])
    assert set(kinds) <= set(TABLES[table]["losses"])
    status = "lost" if kinds else "deterministic"
    assert got.summary["determinism"]["status"] == status


@pytest.mark.parametrize(("table", "name"), runs())
def test_the_summary_keeps_its_contract(table, name, reported):
    got, entry, table = reported(table, name), entry_of(table, name), TABLES[table]
    status = entry.get("status", "solved")
    assert set(got.summary) - {"reason"} == set(SUMMARY)
    assert got.summary["status"] == status
    assert ("reason" in got.summary) == (status != "solved")
    assert got.summary["system"] == entry.get("system", table["system"])
    for check in got.summary["audit"]:
        assert set(check) == {"check", "ok", "value", "limit", "time", "kind"}
        assert check["ok"] in (True, False, None)
    for loss in got.summary["determinism"]["losses"]:
        assert {"time", "kind"} <= set(loss)


@pytest.mark.parametrize(("table", "name"), runs("wrong_cite"))
def test_a_run_can_be_cited(table, name, reported):
    text = reported(table, name).run.cite()
    assert text.count("@article") == TABLES[table].get("articles", 1)
    assert text.count("@software") == 1


SIGNED = [
    case(t, r["name"], wrong=table["normal_force"].get("wrong"))
    for t, table in TABLES.items()
    if "normal_force" in table
    for r in table["run"]
    if r["name"] != "bounces"  # never presses between two saved states
    and r["name"] not in table["normal_force"].get("pulls", [])
]


@pytest.mark.parametrize(("table", "name"), SIGNED)
def test_compression_is_positive(table, name, reported):
    # DESIGN.md, "Conventions": normal force >= 0 is compression
    values = reported(table, name).run.data[TABLES[table]["normal_force"]["name"]].to_numpy()
    assert np.abs(values).max() > 0.0
    assert np.nanmin(values) >= 0.0
