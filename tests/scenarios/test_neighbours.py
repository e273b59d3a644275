"""The lines of docs/howto/read-files.md for MATLAB and Julia, by what their readers stand on.

`ncread` and NCDatasets read NetCDF-4 through HDF5, `readtable` and CSV.jl a CSV with a head,
`jsondecode` and JSON.jl a JSON document; none of them knows anything of this package.
"""

import csv
import json

import h5py
import numpy as np
import pytest
import scipy.io

import stiction as st


@pytest.fixture
def saved(stiction, here):
    assert stiction("run", "slip-wave", "--no-figures", "--quiet").code == 0
    return here / "out" / "slip-wave"


def test_arrays_are_read_with_units_and_axes(saved):
    run = st.load(saved)
    with h5py.File(saved / "run.nc") as file:
        x, time = file["x"], file["time"]
        # MATLAB and Julia reverse the axes of what is (time, mass) here
        assert [dim[0].name for dim in x.dims] == ["/time", "/mass"]
        assert np.array_equal(x[:], run.data["x"].values)
        assert np.array_equal(time[:], run.time)
        units = [file[name].attrs["units"] for name in ("x", "v", "time")]
        assert [u.decode() if isinstance(u, bytes) else u for u in units] == ["m", "m/s", "s"]
        # plain doubles, which every reader knows
        assert x.dtype == np.dtype("<f8")


def test_tables_and_documents_are_plain(saved):
    with (saved / "events.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    run = st.load(saved)
    assert len(rows) == len(run.event_log)
    assert [float(row[head.index("time")]) for row in rows] == run.event_log.time.tolist()
    summary = json.loads((saved / "summary.json").read_text("utf-8"))
    assert len(summary["quantities"]["onset_force"]["value"]) == 3


def test_matlabs_own_files_carry_a_run(saved, tmp_path):
    """`save` of MATLAB and back: what is read there keeps every digit."""
    with h5py.File(saved / "run.nc") as file:
        scipy.io.savemat(tmp_path / "run.mat", {"t": file["time"][:], "x": file["x"][:].T})
        again = scipy.io.loadmat(tmp_path / "run.mat")
        assert np.array_equal(again["x"].T, file["x"][:])
        assert np.array_equal(again["t"].ravel(), file["time"][:])
