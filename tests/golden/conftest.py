"""One small run per entry of the golden tables, solved and saved once."""

import csv
import dataclasses
import functools
import importlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import stiction as st

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Reported:
    """A run, and everything that its files say.

    Parameters
    ----------
    run, loaded : the run as it was solved, and as it is read back
    summary : of summary.json
    head, rows : of events.csv, the rows by column
    stored : of run.nc, through xarray
    """

    run: st.Run
    loaded: st.Run
    summary: dict
    head: list
    rows: list
    stored: xr.Dataset

    def value(self, name, unit):
        """Return a variable or a column of the ledger, reported in this unit."""
        assert self.stored[name].attrs["units"] == unit
        return self.stored[name].to_numpy()

    def quantity(self, name, unit):
        """Return a quantity, reported in this unit."""
        entry = self.summary["quantities"][name]
        assert entry["unit"] == unit
        return entry["value"]

    def at_events(self, column, kind):
        """Return a column of the events of one kind."""
        return np.array([float(row[column]) for row in self.rows if row["kind"] == kind])


def public(name):
    """Return a public name of solids."""
    room = importlib.import_module("stiction.solids")
    return getattr(room if hasattr(room, name) else st, name)


def block():
    """Return what `block.toml` describes: a block of 1 nm, sheared by 0.02 nm, then lifted.

    All its nodes are driven, so that gap and traction are those of the interface law.
    """
    law = public("LennardJones")(1e-19, 0.4e-9)
    boundary, driven, program = public("Boundary"), public("Driven"), public("Program")
    lift = program((0.0, 1.0, 2.0), (0.0, 0.0, 1.6e-9 - law.gap_eq))
    shift = program((0.0, 1.0), (0.0, 2e-11))
    mesh = public("rectangle")(1e-9, 1e-9, (2, 1), (0.0, law.gap_eq))
    material = public("NeoHookean")(2e9, 0.2)
    contact = public("Contact")(
        boundary(0, "bottom"), public("RigidPlane")(), law, public("DI")(mu=0.5)
    )
    sides = [boundary(0, "bottom"), boundary(0, "top")]
    solid = public("Solid")(
        [public("Body")(mesh, public("Q1N2")(), material)],
        [contact],
        [driven(s, 0, shift) for s in sides] + [driven(s, 1, lift) for s in sides],
    )
    # the drive, in metres, is the displacement of the curves
    solid = dataclasses.replace(solid, readings=dataclasses.replace(solid.readings, displacement=0))
    return SimpleNamespace(
        system=solid, method=public("Quasistatic")(steps=200), t_span=(0.0, 2.0), save=None
    )


@pytest.fixture(scope="session")
def reported(tmp_path_factory):
    """Return reported(table, run): a run and everything that its files say."""
    home = tmp_path_factory.mktemp("golden")

    @functools.cache
    def get(table, name):
        entries = tomllib.loads((HERE / f"{table}.toml").read_text(encoding="utf-8"))["run"]
        entry = next(entry for entry in entries if entry["name"] == name)
        source = st.read_scenario(entry["scenario"]) if entry["scenario"] else block()
        run = st.solve(source.system, source.method, source.t_span, save=source.save, throw=False)
        folder = run.save(home / f"{table}-{name}")
        with (folder / "events.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = list(csv.reader(file))
        return Reported(
            run=run,
            loaded=st.load(folder),
            summary=json.loads((folder / "summary.json").read_text(encoding="utf-8")),
            head=head,
            rows=[dict(zip(head, row, strict=True)) for row in rows],
            stored=xr.load_dataset(folder / "run.nc", engine="h5netcdf"),
        )

    return get
