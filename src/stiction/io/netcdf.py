"""The trajectory and the energy ledger of a run as one NetCDF-4 file, `run.nc`.

`stiction.io.store` writes and reads the file by h5netcdf. xarray can read it too, but takes longer
to import than most runs take to solve.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from stiction.core.events import NUMBERED
from stiction.core.ledger import COLUMNS, Ledger
from stiction.core.run import Run, Variable
from stiction.io.images import hdf5_file

__all__ = ["read_netcdf", "write_netcdf"]

_LEDGER = "energy ledger"


def write_netcdf(run: Run, path: Path, details: Mapping[str, object]) -> None:
    """Write the saved arrays and the ledger of `run` to `path`.

    Parameters
    ----------
    run : the run
    path : the file
    details : data that no other file holds; they are saved as one attribute in JSON

    Verified by: tests/unit/io/test_store.py::test_netcdf_opens_in_xarray
    """
    import h5netcdf

    with hdf5_file(path) as sink, h5netcdf.File(sink, "w") as file:
        _put(file, "time", ("time",), run.time, run.time_unit, "time", axis="T")
        for name, variable in run.variables.items():
            _put(file, name, variable.dims, variable.values, variable.unit, variable.meaning)
        _put_ledger(file, run)
        if run.asked is not None and not np.array_equal(run.asked, run.time):
            _put(file, "asked", ("asked",), run.asked, run.time_unit, "requested times")
        for dim, size in file.dimensions.items():
            if dim in NUMBERED and dim not in file.variables:
                meaning = f"number of the {dim}, from 1"
                _put(file, dim, (dim,), np.arange(1, size.size + 1), "1", meaning)
        file.attrs["Conventions"] = "CF-1.11"
        file.attrs["source"] = f"stiction {run.provenance.get('stiction', '')}".strip()
        file.attrs["system"] = run.system_name
        file.attrs["method"] = run.method_name
        file.attrs["status"] = run.status.value
        file.attrs["t_end"] = float(run.t_end)
        file.attrs["time_unit"] = run.time_unit
        file.attrs["energy_unit"] = run.energy_unit
        file.attrs["energy_defined"] = int(run.energy.defined)
        file.attrs["details"] = json.dumps(details)


def read_netcdf(path: Path) -> tuple[dict[str, Variable], Ledger, dict[str, Any]]:
    """Return the arrays, the ledger and the details that `write_netcdf` wrote.

    Raises
    ------
    OSError, KeyError, ValueError : if the file is damaged.
    """
    import h5netcdf

    variables: dict[str, Variable] = {}
    ledger: dict[str, Any] = {}
    with h5netcdf.File(path, "r") as file:
        for name, stored in file.variables.items():
            if stored.attrs.get("group") == _LEDGER:
                ledger[name] = stored[...]
            elif name not in NUMBERED:
                unit, meaning = str(stored.attrs["units"]), str(stored.attrs["long_name"])
                values = stored[...]
                if stored.attrs.get("dtype") == "bool":
                    values = values.astype(np.bool_)
                variables[name] = Variable(values, tuple(stored.dimensions), unit, meaning)
        details = json.loads(file.attrs["details"])
        # files of the first versions do not have these attributes
        details["time_unit"] = str(file.attrs.get("time_unit", "s"))
        stored = file.variables["kinetic"].attrs["units"]
        details["energy_unit"] = str(file.attrs.get("energy_unit", stored))
        defined = bool(file.attrs.get("energy_defined", 1))
    each = ledger.pop("friction_heat_each")
    ledger.pop("friction_heat")
    ledger.pop("imbalance")
    time = ledger.pop("ledger_time", variables["time"].values)
    step = details["step_imbalance_rel"]
    energy = Ledger(
        time=time, friction_heat=each, step_imbalance_rel=step, defined=defined, **ledger
    )
    return variables, energy, details


def _put_ledger(file: Any, run: Run) -> None:
    """Write the columns of the ledger, and the friction heat of each contact."""
    energy, unit, axis = run.energy, run.energy_unit, "time"
    if not np.array_equal(energy.time, run.time):
        axis = "ledger_time"
        _put(file, axis, (axis,), energy.time, run.time_unit, "time of the ledger", group=_LEDGER)
    for name, values in energy.columns().items():
        _put(file, name, (axis,), values, unit, COLUMNS[name], group=_LEDGER)
    each, meaning = energy.friction_heat, "heat of friction of each contact since the start"
    contacts = file.dimensions.get("contact")
    # some ledgers have one sum of the heats of all contacts
    fits = contacts is None or contacts.size == each.shape[1]
    dims = (axis, "contact" if fits else "ledger_contact")
    _put(file, "friction_heat_each", dims, each, unit, meaning, group=_LEDGER)


def _put(
    file: Any, name: str, dims: tuple[str, ...], values: Any, unit: str, meaning: str, **more: str
) -> None:
    """Write one variable with its dimensions and its attributes; `more` are further ones."""
    values = np.asarray(values)
    if values.dtype == np.bool_:
        # NetCDF has no bool; xarray reads this attribute too
        values, more["dtype"] = values.astype(np.int8), "bool"
    for dim, size in zip(dims, values.shape, strict=True):
        if dim not in file.dimensions:
            file.dimensions[dim] = size
    variable = file.create_variable(name, dims, data=values, dtype=values.dtype)
    variable.attrs["units"] = unit
    variable.attrs["long_name"] = meaning
    for key, text in more.items():
        variable.attrs[key] = text
