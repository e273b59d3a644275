import time

import h5py
import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.fits import read_curve

T = np.linspace(0.0, 1.0, 21)
X, F = np.sin(5.0 * T), np.cos(3.0 * T)


def written(path, header="time [s],displacement [um],force [mN]", rows=None, mark=","):
    cells = zip(T, 1e6 * X, 1e3 * F, strict=True) if rows is None else rows
    shown = ([c if isinstance(c, str) else repr(float(c)) for c in row] for row in cells)
    lines = [header, *(mark.join(row) for row in shown)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table():
    return [list(row) for row in zip(T, 1e6 * X, 1e3 * F, strict=True)]


def test_files_become_curves(tmp_path):
    curve = read_curve(written(tmp_path / "a.csv"), normal_force=2.0)
    np.testing.assert_allclose(curve.time, T, rtol=1e-15)
    np.testing.assert_allclose(curve.displacement, X, rtol=1e-14)
    np.testing.assert_allclose(curve.force, F, rtol=1e-14)
    assert np.all(curve.normal_force == 2.0)
    assert curve.title == "a"
    assert curve.cleaned == ()


@pytest.mark.parametrize(
    ("header", "mark"),
    [
        ("Time (s);Position (um);Friction force (mN)", ";"),
        ("t/s\tx/um\tF/mN", "\t"),
        ("# a comment\ntime [s],disp [um],f [mN]", ","),
    ],
)
def test_headers_as_people_write_them(tmp_path, header, mark):
    curve = read_curve(written(tmp_path / "a.csv", header, mark=mark))
    np.testing.assert_allclose(curve.force, F, rtol=1e-14)


def test_decimal_commas(tmp_path):
    path = written(tmp_path / "a.csv", mark=";", header="time [s];displacement [um];force [mN]")
    path.write_text(path.read_text().replace(".", ","))
    np.testing.assert_allclose(read_curve(path).force, F, rtol=1e-14)


def test_a_coefficient_is_a_force_over_one(tmp_path):
    path = written(tmp_path / "a.csv", "time [s],displacement [um],mu")
    np.testing.assert_allclose(read_curve(path).force, 1e3 * F, rtol=1e-14)


def test_units_and_columns_may_be_named(tmp_path):
    path = written(tmp_path / "a.csv", "time,way,channel 3")
    named = {"displacement": "way", "force": "channel 3"}
    units = {"time": "ms", "displacement": "um", "force": "mN"}
    curve = read_curve(path, columns=named, units=units)
    np.testing.assert_allclose(curve.time, 1e-3 * T, rtol=1e-14)
    np.testing.assert_allclose(curve.force, F, rtol=1e-14)


def test_netcdf(tmp_path):
    with h5py.File(tmp_path / "a.nc", "w") as file:
        for name, values, unit in (("time", T, "s"), ("displacement", X, "m"), ("force", F, "N")):
            file[name] = values
            file[name].attrs["units"] = unit
    np.testing.assert_array_equal(read_curve(tmp_path / "a.nc").force, F)


def test_missing_values_are_left_out_and_told(tmp_path):
    rows = table()
    rows[4][2] = ""
    curve = read_curve(written(tmp_path / "a.csv", rows=rows))
    assert curve.rows == 20
    assert "1 rows with missing values were left out (row 5" in curve.cleaned[0]


def test_unsorted_rows_are_sorted_and_told(tmp_path):
    rows = table()
    rows[3], rows[9] = rows[9], rows[3]
    curve = read_curve(written(tmp_path / "a.csv", rows=rows))
    np.testing.assert_allclose(curve.force, F, rtol=1e-14)
    assert "sorted by time" in curve.cleaned[0]


def _many_missing(rows):
    for row in rows[:5]:
        row[2] = "NaN"


def _text(rows):
    rows[6][2] = "overload"


def _twice(rows):
    rows[6][0] = rows[5][0]


def _short(rows):
    del rows[5:]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_many_missing, "5 of 21 rows with missing values"),
        (_text, "'overload' in row 7 of column 'force"),
        (_twice, "times twice"),
        (_short, "at least 8"),
    ],
)
def test_bad_rows_are_refused(tmp_path, spoil, words):
    rows = table()
    spoil(rows)
    with pytest.raises(ModelError, match=words):
        read_curve(written(tmp_path / "a.csv", rows=rows))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("time [s],displacement [um],force [m]", "no unit of force"),
        ("time [s],displacement [um],force", "without a unit"),
        ("time [s],displacement [um],voltage [V]", "column of force"),
        ("time [s],force [N],F [mN]", "both may be meant"),
        ("0.0,1.0,2.0", "a header"),
        ("time [s] displacement force", "columns apart"),
        ("a,b,c", "columns such as time"),
    ],
)
def test_bad_headers_are_refused(tmp_path, header, words):
    with pytest.raises(ModelError, match=words):
        read_curve(written(tmp_path / "a.csv", header))


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(ModelError, match="no file"):
        read_curve(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\0\1\2" * 100)
    with pytest.raises(ModelError, match="binary"):
        read_curve(tmp_path / "b.csv")
    (tmp_path / "b.nc").write_text("no NetCDF")
    with pytest.raises(ModelError, match="NetCDF-4"):
        read_curve(tmp_path / "b.nc")


def test_many_rows_are_thinned_and_told(tmp_path):
    n = 450_000
    t = np.arange(n) * 1e-3
    path = tmp_path / "long.csv"
    body = "\n".join(f"{a:.3f},{a:.3f},{a % 7:.3f}" for a in t.tolist())
    path.write_text("time [s],displacement [m],force [N]\n" + body + "\n")
    begin = time.process_time()
    curve = read_curve(path)
    assert time.process_time() - begin < 20.0
    assert curve.rows == 150_000
    assert curve.cleaned == (f"of {n} rows every 3th was kept",)
