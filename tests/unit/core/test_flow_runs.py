"""Runs that are no chains: one time without unit, several contacts, futures, no energy."""

import dataclasses
import json

import h5netcdf
import numpy as np
import pytest
import xarray as xr

import stiction as st
from stiction.core.audit import Audit, Check
from stiction.core.determinism import Determinism, Loss
from stiction.core.ledger import Ledger
from stiction.core.run import Quantity, Variable
from stiction.errors import Status


@pytest.fixture
def flow(make_run):
    time = np.linspace(0.0, 7.5, 5)
    x = np.sin(np.outer(time, [1.0, 2.0]))
    each = ("time", "contact")
    where = {"contact": 1, "state": [0.18590000000000056, -0.0301216999989, -1.03699999999867]}
    return make_run(
        system=st.switching.NormalForm(-1.5, -2.0),
        method=st.switching.EventDriven(),
        system_name="NormalForm",
        status=Status.STOPPED,
        reason="two_fold at t = 7.5: the run stops, as its solution is not unique",
        t_end=7.5,
        time=time,
        asked=np.linspace(0.0, 10.0, 6),
        variables={
            "x": Variable(x[:, 0], ("time",), "1", "state x"),
            "y": Variable(x[:, 1], ("time",), "1", "state y"),
            "mode": Variable(np.sign(x).astype(np.int8), each, "1", "mode"),
            "future_state": Variable(np.ones((4, 2)), ("future", "state"), "1", "last state"),
        },
        final={"x": x[-1:, 0], "y": x[-1:, 1]},
        energy=Ledger.undefined(time),
        determinism=Determinism(
            (Loss(7.5, "two_fold", where, "the run stops, as its solution is not unique"),)
        ),
        audit=Audit((Check("made_up", False, 2.0, 1.0, 1.25, "what it means"),)),
        quantities={"first_two_fold": Quantity(7.5, "1", "first loss")},
        time_unit="1",
        energy_unit="1",
        size="2 states, 2 contacts",
    )


def test_a_flow_comes_back(flow, tmp_path):
    loaded = st.load(flow.save(tmp_path / "run"))
    assert (loaded.time_unit, loaded.energy_unit) == ("1", "1")
    assert loaded.status is Status.STOPPED
    assert loaded.status.ok
    assert loaded.reason == flow.reason
    assert not loaded.energy.defined
    assert loaded.asked.tolist() == flow.asked.tolist()
    assert loaded.system == flow.system
    assert loaded.variables.keys() == flow.variables.keys()
    assert loaded.variables["future_state"].dims == ("future", "state")
    assert str(loaded) == str(flow)
    again = st.load(loaded.save(tmp_path / "again"))
    assert (again.time_unit, again.energy_unit, again.energy.defined) == ("1", "1", False)


def test_the_files_name_its_units(flow, tmp_path):
    folder = flow.save(tmp_path / "run")
    with xr.open_dataset(folder / "run.nc", engine="h5netcdf") as data:
        assert data.attrs["energy_unit"] == "1"
        assert data.attrs["time_unit"] == "1"
        assert data["time"].attrs["units"] == "1"
        assert data["asked"].attrs["units"] == "1"
        assert data["kinetic"].attrs["units"] == "1"
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["status"] == "stopped"
    assert summary["reason"] == flow.reason
    assert set(summary["energy"].values()) == {None}


def test_runs_saved_before_there_were_flows(run, tmp_path, without_digests):
    folder = run.save(tmp_path / "run")
    with h5netcdf.File(folder / "run.nc", "a") as file:
        for name in ("time_unit", "energy_unit", "energy_defined"):
            del file.attrs[name]
    without_digests(folder)
    loaded = st.load(folder)
    assert (loaded.time_unit, loaded.energy_unit, loaded.energy.defined) == ("s", "J", True)
    assert "earlier version" in loaded.unverified
    assert str(dataclasses.replace(loaded, unverified="")) == str(run)


def test_tables_have_its_units(flow, run):
    assert flow.events.attrs["units"]["time"] == "1"
    assert run.events.attrs["units"]["time"] == "s"
    assert flow.ledger["time"].attrs["units"] == "1"
    assert flow.ledger["kinetic"].attrs["units"] == "1"
    assert not flow.ledger.attrs["defined"]
    assert run.ledger["kinetic"].attrs["units"] == "J"


def test_data_numbers_contacts_and_futures(flow):
    data = flow.data
    assert data["time"].attrs["units"] == "1"
    assert data["contact"].values.tolist() == [1, 2]
    assert data["future"].values.tolist() == [1, 2, 3, 4]
    assert "mass" not in data.dims
    assert "state" not in data.coords


def test_contacts_may_share_one_heat(flow, tmp_path):
    heat = np.arange(5.0)[:, None]
    energy = dataclasses.replace(flow.energy, friction_heat=heat, defined=True)
    loaded = st.load(dataclasses.replace(flow, energy=energy).save(tmp_path / "run"))
    assert loaded.energy.friction_heat.tolist() == heat.tolist()
    assert loaded.variables["mode"].values.shape == (5, 2)


def test_the_screen_speaks_of_no_masses(flow):
    lines = str(flow).splitlines()
    what = "NormalForm by EventDriven, 2 states, 2 contacts, t = 0 ... 7.5, dimensionless"
    assert lines[0] == f"STOPPED, audit FAILED: {what}"
    assert lines[1].startswith("why          two_fold at t = 7.5: the run stops")
    assert "requested end time 10" in " ".join(str(flow).split())
    assert "Leave, Sample or Enumerate" in str(flow)
    assert "last state   x = 0.937999977, y = 0.65028784" in lines
    assert "ledger       this system has no energy" in lines
    assert "events       3 (1 slip, 1 reverse, 1 stop)" in lines
    assert "at t = 1.25: what it means" in str(flow)
    assert "mass" not in str(flow)
    assert " s " not in " ".join(line for line in lines if not line.startswith("cost"))
    # the choice is shown, and the place where there is room
    choice = "two_fold, contact 1; choice: the run stops, as its solution is not unique"
    assert f"  t = 7.5  {choice}" in lines


def test_the_summary_shows_numbers_beside_their_units(flow):
    names = ("angle", "distance", "elongation", "rotation")
    variables = {name: Variable(np.zeros(5), ("time",), "rad/s", "x") for name in names}
    final = {name: np.array([-0.123456789]) for name in names}
    lines = str(dataclasses.replace(flow, variables=variables, final=final)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("last state"))
    assert lines[at].endswith("-0.123456789 rad/s,")
    assert lines[at + 1].split()[0] == "elongation"
    assert lines[at + 1].endswith("rad/s")
    # two lines, and a sign that there is more
    final |= dict.fromkeys(("speed", "slip", "spin"), final["angle"])
    variables |= dict.fromkeys(final, variables["angle"])
    lines = str(dataclasses.replace(flow, variables=variables, final=final)).splitlines()
    assert lines[at + 1].endswith("rad/s, ...")
    assert not lines[at + 2].startswith(" ")


def test_the_first_column_is_named_by_the_data(flow):
    of_two = {"heat": Quantity([0.5, None], "1", "heat of each contact")}
    title = next(line for line in str(dataclasses.replace(flow, quantities=of_two)).splitlines()
                 if "heat [1]" in line)  # fmt: skip
    assert title.split() == ["contact", "heat", "[1]"]
    many = np.ones((5, 20))
    variables = {"mode": Variable(many, ("time", "contact"), "1", "mode")}
    of_many = {"heat": Quantity([0.5] * 19 + [None], "1", "heat of each contact")}
    text = str(dataclasses.replace(flow, quantities=of_many, variables=variables))
    assert "14 more contacts: " in text
    assert "1 of 20 contacts without a value" in text


def test_a_stop_that_cannot_be_proved(run):
    unknown = {
        **run.quantities,
        "stop_time": Quantity(
            None, "s", absent="none: a mass slips at the end, or may slip later", label="stop"
        ),
    }
    text = str(dataclasses.replace(run, quantities=unknown))
    assert "stop         none: a mass slips at the end, or may slip later\n" in text


def test_two_blocks_by_the_solver(tmp_path):
    run = st.solve(st.switching.TwoBlockStickSlip(), t_span=(0.0, 2.0), save=5)
    assert "4 states, 2 contacts, t = 0 ... 2 s" in str(run)
    loaded = st.load(run.save(tmp_path / "run"))
    assert loaded.size == "4 states, 2 contacts"
    assert loaded.time_unit == "s"
    assert str(loaded) == str(run)
    assert loaded.data.sizes["contact"] == 2
