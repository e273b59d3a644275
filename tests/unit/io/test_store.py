"""Saved runs: what is in the folder, and that it comes back bit by bit."""

import csv
import dataclasses
import json
import math
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import stiction as st
from stiction.chains import UserLoad
from stiction.core.audit import Audit, Check
from stiction.core.run import Quantity, Variable
from stiction.errors import ModelError, ScenarioError, Status, StoreError
from stiction.io.store import FiguresError, load, save

KEYS = [
    "status",
    "system",
    "method",
    "t_end",
    "final",
    "energy",
    "determinism",
    "audit",
    "quantities",
    "stats",
    "provenance",
    "files",
    "digest",
]


def assert_same_run(a, b):
    for name in ("system_name", "method_name", "status", "reason", "t_end", "citations"):
        assert getattr(a, name) == getattr(b, name), name
    assert a.system == b.system
    assert a.method == b.method
    assert np.array_equal(a.time, b.time)
    assert np.array_equal(a.asked, b.asked)
    assert a.variables.keys() == b.variables.keys()
    for name, mine in a.variables.items():
        theirs = b.variables[name]
        assert (mine.dims, mine.unit, mine.meaning) == (theirs.dims, theirs.unit, theirs.meaning)
        assert mine.values.dtype == theirs.values.dtype
        assert np.array_equal(mine.values, theirs.values), name
    for name, values in a.final.items():
        assert np.array_equal(values, b.final[name])
    log, other = a.event_log, b.event_log
    assert np.array_equal(log.time, other.time)
    assert np.array_equal(log.contact, other.contact)
    assert (*log.before, *log.after, *log.kind) == (*other.before, *other.after, *other.kind)
    assert log.units == other.units
    for name, column in log.columns.items():
        assert np.array_equal(column, other.columns[name], equal_nan=True)
    for name, column in a.energy.columns().items():
        assert np.array_equal(column, b.energy.columns()[name]), name
    assert np.array_equal(a.energy.friction_heat, b.energy.friction_heat)
    assert a.energy.step_imbalance_rel == b.energy.step_imbalance_rel
    assert a.determinism == b.determinism
    assert a.audit == b.audit
    assert {k: vars(q) for k, q in a.quantities.items()} == {
        k: vars(q) for k, q in b.quantities.items()
    }
    assert a.stats == b.stats
    assert a.provenance == b.provenance


def test_round_trip(run, tmp_path):
    save(run, tmp_path / "run")
    assert_same_run(run, load(tmp_path / "run"))


def test_a_loaded_run_can_be_saved_again(run, tmp_path):
    # the oldest HDF5 that is allowed writes the second of the clock into a file, and the summary
    # has its digest; a slow machine may need more than a second for both
    names = ["events.csv", "scenario.toml"]
    for _ in range(20):
        second = int(time.time())
        save(run, tmp_path / "first", overwrite=True)
        save(load(tmp_path / "first"), tmp_path / "second", overwrite=True)
        if int(time.time()) == second:
            names += ["summary.json", "run.nc"]
            break
    assert_same_run(run, load(tmp_path / "second"))
    for name in names:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_variables_with_earlier_names_are_read(run, tmp_path):
    former = dict(run.variables) | {"load_share": Variable(np.ones(3), ("mass",), "1", "weights")}
    save(dataclasses.replace(run, variables=former), tmp_path / "run")
    found = load(tmp_path / "run").variables
    assert found["load_weight"].values.tolist() == [1.0, 1.0, 1.0]
    assert "load_share" not in found


def test_run_saves_itself(run, tmp_path):
    assert run.save(tmp_path / "run") == tmp_path / "run"
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [
        "events.csv",
        "run.nc",
        "scenario.toml",
        "summary.json",
    ]


def test_summary_has_the_keys_scripts_rely_on(run, tmp_path):
    save(run, tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert list(summary) == KEYS
    assert summary["status"] == "solved"
    assert summary["final"]["x"] == run.final["x"].tolist()
    assert summary["energy"]["imbalance_rel"] == run.energy.imbalance_rel
    assert summary["energy"]["friction_heat"] == run.energy.total_friction_heat[-1]
    assert summary["determinism"]["status"] == "lost"
    assert summary["determinism"]["losses"][0]["kind"] == "grazing_onset"
    assert list(summary["audit"][0]) == ["check", "ok", "value", "limit", "time", "kind"]
    assert summary["audit"][1]["value"] == 2.0 / 3.0
    assert summary["quantities"]["onset_time"] == {"value": [0.1, 1.1, None], "unit": "s"}


def test_a_failed_run_says_why(make_run, tmp_path):
    failed = make_run(
        status=Status.WORK_LIMIT, reason="ran out of steps", asked=np.linspace(0.0, 99.0, 12)
    )
    save(failed, tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["status"] == "work_limit"
    assert summary["reason"] == "ran out of steps"
    loaded = load(tmp_path / "run")
    assert_same_run(failed, loaded)
    assert st.read_scenario(tmp_path / "run" / "scenario.toml").t_end == 99.0


def test_no_number_becomes_null(make_run, tmp_path):
    bad = make_run(final={"x": np.array([1.0, np.nan, np.inf])})
    save(bad, tmp_path / "run")
    text = (tmp_path / "run" / "summary.json").read_text()
    assert json.loads(text)["final"]["x"] == [1.0, None, None]
    assert "NaN" not in text
    assert math.isnan(load(tmp_path / "run").final["x"][1])


def test_values_of_other_packages_come_back(make_run, tmp_path):
    loose = Check("contact_speed", False, np.inf, 1.0)
    variables = {"on": Variable(np.array([True, False]), ("part",), "1", "whether it is on")}
    quantities = {
        "word": Quantity("stick", "1"),
        "flag": Quantity(True, "1"),
        "pairs": Quantity([[0.0, 1.0], [2.0, 3.0]], "m"),
    }
    run = make_run(
        final={"q": np.eye(2)},
        stats={"steps": 3, "rate": np.inf},
        quantities=quantities,
        variables=variables,
        audit=Audit([loose]),
    )
    save(run, tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.final["q"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert again.stats["steps"] == 3
    assert math.isnan(again.stats["rate"])
    assert {k: q.value for k, q in again.quantities.items()} == {
        k: q.value for k, q in quantities.items()
    }
    assert again.data["on"].values.tolist() == [True, False]
    assert again.data["on"].dtype == bool
    assert "beyond 100 times its limit" in again.audit.untrusted


@pytest.mark.parametrize(
    "changes",
    [
        {"final": {"q": "here"}},
        {"final": {"q": [[1.0], [1.0, 2.0]]}},
        {"stats": {"steps": 1j}},
        {"quantities": {"word": Quantity("stick", "m")}},
        {"variables": {"x": Variable(np.array(["a"]), ("part",), "1", "text")}},
        {
            "variables": {
                "x": Variable(np.zeros(2), ("part",), "1", "two"),
                "y": Variable(np.zeros(3), ("part",), "1", "three"),
            }
        },
    ],
)
def test_what_no_file_can_hold_is_refused(make_run, tmp_path, changes):
    with pytest.raises(ModelError, match="values that no file can hold"):
        save(make_run(**changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_events_open_in_pandas(run, tmp_path):
    save(run, tmp_path / "run")
    path = tmp_path / "run" / "events.csv"
    with path.open(newline="", encoding="utf-8") as file:
        assert [float(row["time"]) for row in csv.DictReader(file)] == run.event_log.time.tolist()
    table = pd.read_csv(path)
    assert list(table.columns) == ["time", "contact", "from", "to", "kind", "x", "v"]
    # the file holds every digit; pandas 2 reads some numbers one unit in the last place off
    assert table["time"].tolist() == pytest.approx(run.event_log.time.tolist(), rel=2.3e-16)
    assert table["contact"].tolist() == [3, 1, 0]
    assert table["x"].isna().tolist() == [False, False, True]


def test_netcdf_opens_in_xarray(run, tmp_path):
    save(run, tmp_path / "run")
    with xr.open_dataset(tmp_path / "run" / "run.nc", engine="h5netcdf") as data:
        assert dict(data.sizes) == {"time": 5, "mass": 3, "link": 4, "contact": 3}
        assert np.array_equal(data["x"].values, run.variables["x"].values)
        assert data["x"].dims == ("time", "mass")
        assert data["x"].attrs == {"units": "m", "long_name": "displacement"}
        assert data["mass"].values.tolist() == [1, 2, 3]
        assert np.array_equal(data["imbalance"].values, run.energy.imbalance)
        assert data["kinetic"].attrs["units"] == "J"
        assert data.attrs["system"] == "Chain"
        assert data.attrs["status"] == "solved"


def test_netcdf_has_dimension_scales(run, tmp_path):
    import h5py

    save(run, tmp_path / "run")
    with h5py.File(tmp_path / "run" / "run.nc") as file:
        assert file["x"].dims[0][0].name == "/time"
        assert file["x"].dims[1][0].name == "/mass"
        assert file["time"].is_scale


@pytest.mark.parametrize(("every", "factor"), [(2, 1.0), (1, 0.5)])
def test_ledger_at_other_times_is_saved(make_run, tmp_path, every, factor):
    run = make_run()
    coarse = dataclasses.replace(
        run.energy,
        time=factor * run.time[::every],
        kinetic=run.energy.kinetic[::every],
        stored=run.energy.stored[::every],
        external_work=run.energy.external_work[::every],
        friction_heat=run.energy.friction_heat[::every],
    )
    run = dataclasses.replace(run, energy=coarse)
    save(run, tmp_path / "run")
    loaded = load(tmp_path / "run").energy
    assert np.array_equal(loaded.time, coarse.time)
    assert np.array_equal(loaded.imbalance, coarse.imbalance)


def test_saving_imports_neither_pandas_nor_xarray(run, tmp_path):
    save(run, tmp_path / "run")
    code = (
        "import sys, stiction as st\n"
        "run = st.load(sys.argv[1]); run.save(sys.argv[2]); print(run)\n"
        "heavy = {'pandas', 'xarray', 'matplotlib', 'numba'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run"), str(tmp_path / "again")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_scenario_of_a_python_run_reads_back(make_run, tmp_path):
    times = np.array([0.0, 0.1, 8.0])
    for asked, saved in ((np.linspace(0.0, 8.0, 5), 5), (times, (0.0, 0.1, 8.0))):
        run = make_run(asked=asked)
        scenario = st.read_scenario(save(run, tmp_path / str(asked.size)) / "scenario.toml")
        assert scenario.system == run.system
        assert scenario.method == run.method
        assert scenario.save == saved
        assert scenario.t_span == (0.0, 8.0)


def test_a_python_function_is_saved_as_a_comment(make_run, tmp_path):
    load_function = UserLoad(lambda t: 2.0 * t)
    chain = dataclasses.replace(make_run().system, load=load_function)
    folder = save(make_run(system=chain), tmp_path / "run")
    text = (folder / "scenario.toml").read_text()
    assert text.startswith("# This scenario cannot be run from this file")
    with pytest.raises(ScenarioError, match=r"UserLoad holds a Python function"):
        st.read_scenario(folder / "scenario.toml")
    loaded = load(folder)
    assert loaded.system is None
    assert np.array_equal(loaded.time, make_run().time)


def test_existing_folders_are_refused(run, tmp_path):
    folder = save(run, tmp_path / "run")
    before = (folder / "summary.json").stat().st_mtime_ns
    with pytest.raises(StoreError, match="a folder that exists"):
        save(run, folder)
    assert (folder / "summary.json").stat().st_mtime_ns == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_overwriting_replaces_everything(run, make_run, tmp_path):
    folder = save(run, tmp_path / "run")
    (folder / "figures").mkdir()
    save(make_run(n=2), folder, overwrite=True)
    assert load(folder).final["x"].size == 2
    assert not (folder / "figures").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


class Stumble(RuntimeError):
    pass


@pytest.mark.parametrize(
    ("failure", "raised"),
    [(Stumble, FiguresError), (MemoryError, FiguresError), (KeyboardInterrupt, KeyboardInterrupt)],
)
def test_a_failed_drawing_costs_no_numbers(run, tmp_path, failure, raised):
    def draw(folder):
        folder.mkdir()
        (folder / "half.png").write_bytes(b"")
        raise failure

    with pytest.raises(raised):
        save(run, tmp_path / "run", draw=draw)
    assert_same_run(run, load(tmp_path / "run"))
    assert not (tmp_path / "run" / "figures").exists()


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def nonsense(path):
    path.write_bytes(b"\x00\xff not what it was \x00")


def remove(path):
    path.unlink()


@pytest.mark.parametrize("damage", [cut, empty, nonsense, remove])
@pytest.mark.parametrize("name", ["summary.json", "run.nc", "events.csv"])
def test_damaged_files_are_named(run, tmp_path, name, damage):
    folder = save(run, tmp_path / "run")
    damage(folder / name)
    with pytest.raises(StoreError) as caught:
        load(folder)
    message = str(caught.value)
    assert name in message
    assert all(word in message for word in ("got", "needs", "Why:", "Try:"))


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.pop("final"),
        lambda s: s.update(status="splendid"),
        lambda s: s.update(audit=3),
        lambda s: s.update(determinism=[]),
        lambda s: s["audit"].pop(),
        lambda s: s.update(t_end="soon"),
        lambda s: s.update(stats=[1, 2]),
        lambda s: s.update(stats={"steps": "many"}),
        lambda s: s["audit"][0].update(value="x"),
        lambda s: s["determinism"].update(losses=[{"time": "x", "kind": 3}]),
        lambda s: s["quantities"].update(onset_time={"value": ["soon"], "unit": "s"}),
    ],
)
def test_changed_summaries_are_refused(run, tmp_path, change):
    folder = save(run, tmp_path / "run")
    summary = json.loads((folder / "summary.json").read_text())
    change(summary)
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(StoreError, match=r"summary\.json"):
        load(folder)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no such folder"):
        load(tmp_path / "nothing")
    with pytest.raises(StoreError, match=r"no summary\.json"):
        load(tmp_path)


def test_a_run_without_its_scenario_still_loads(run, tmp_path):
    folder = save(run, tmp_path / "run")
    (folder / "scenario.toml").unlink()
    with pytest.raises(StoreError, match=r"scenario\.toml is missing"):
        load(folder)
    loaded = load(folder, unverified=True)
    assert loaded.system is None
    assert loaded.unverified == "scenario.toml is missing"
    assert np.array_equal(loaded.final["x"], run.final["x"])
    again = save(loaded, tmp_path / "again")
    assert "not known" in (again / "scenario.toml").read_text()
    shutil.rmtree(again)


def test_heat_is_saved_for_the_contacts_of_the_run(make_run, tmp_path):
    import h5netcdf

    run = make_run(3, 7)
    force = Variable(np.ones((7, 3)), ("time", "contact"), "N", "force")
    save(dataclasses.replace(run, variables={**run.variables, "force": force}), tmp_path / "run")
    with h5netcdf.File(tmp_path / "run" / "run.nc") as file:
        names = {d for group in (file, *file.groups.values()) for d in group.dimensions}
        (heat,) = [
            group.variables["friction_heat_each"]
            for group in (file, *file.groups.values())
            if "friction_heat_each" in group.variables
        ]
        assert heat.dimensions[-1] == "contact"
        assert heat.shape == (7, 3)
        assert "ledger_contact" not in names


def test_a_ledger_beyond_floating_point_warns_of_nothing(make_run):
    endless = np.full_like(make_run().energy.stored, np.inf)
    energy = dataclasses.replace(make_run().energy, stored=endless)
    assert np.isnan(energy.columns()["imbalance"]).all()
