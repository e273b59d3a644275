import re
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
    # with a normal force it is a force over that one
    np.testing.assert_allclose(read_curve(path, normal_force=10.0).force, 1e4 * F, rtol=1e-14)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"normal_force": "abc"}, "normal_force: got 'abc'"),
        ({"normal_force": [1.0, 2.0]}, "2 values"),
        ({"normal_force": True}, "normal_force: got True"),
        ({"columns": {"coefficient": 2}}, "coefficient: got 2"),
        ({"units": {"time": 1}}, "time: got 1"),
        ({"units": {"velocity": "mm/s"}}, "a column of velocity"),
        # quantities with a unit that no curve has
        ({"columns": {"mass": "mu"}}, "--column: got 'mass'"),
        ({"units": {"stiffness": "N/m"}}, "--unit: got 'stiffness'"),
    ],
)
def test_arguments_that_fit_no_file_are_refused(tmp_path, named, words):
    path = written(tmp_path / "a.csv", "time [s],displacement [um],mu")
    with pytest.raises(ModelError, match=words):
        read_curve(path, **named)


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
        # how a column is stored that nobody reads does not matter
        file["temperature"] = T
        file["temperature"].attrs["_FillValue"] = -1.0
        file["force"].attrs["valid_range"] = np.array([-1.0, 1.0])
    np.testing.assert_array_equal(read_curve(tmp_path / "a.nc").force, F)


def test_missing_values_are_left_out_and_reported(tmp_path):
    rows = table()
    rows[4][2] = ""
    curve = read_curve(written(tmp_path / "a.csv", rows=rows))
    assert curve.rows == 20
    assert "1 rows with missing values were left out (row 5" in curve.cleaned[0]


def test_unsorted_rows_are_sorted_and_reported(tmp_path):
    rows = table()
    rows[3], rows[9] = rows[9], rows[3]
    curve = read_curve(written(tmp_path / "a.csv", rows=rows))
    np.testing.assert_allclose(curve.force, F, rtol=1e-14)
    assert "sorted by time" in curve.cleaned[0]


def columned(path, force, mark=";", names="displacement [m];force [N]"):
    """Write one column of force, as it stands here, beside a displacement."""
    rows = [f"{k}{mark}{cell}" for k, cell in enumerate(force)]
    path.write_text("\n".join([names.replace(";", mark), *rows]), encoding="utf-8")
    return path


# ten cells of which each may be a number with a decimal comma, or one with thousands
OPEN = [f"{k},{k}00" for k in range(1, 10)] + ["12,345"]


@pytest.mark.parametrize(
    ("cell", "value", "decimal"),
    [
        ("0,123", 0.123, ","),
        ("-0,123", -0.123, ","),
        ("12,34", 12.34, ","),
        ("12,3456", 12.3456, ","),
        ("1234,567", 1234.567, ","),
        ("1,234e-2", 0.01234, ","),
        (",125", 0.125, ","),
        ("1.234,5", 1234.5, ","),
        ("1.234.567", 1234567.0, ","),
        ("1 234,567", 1234.567, ","),
        ("1\u202f234,567", 1234.567, ","),
        ("1'234,567", 1234.567, ","),
        ("1,234.5", 1234.5, "."),
        ("1,234,567", 1234567.0, "."),
        ("0.5", 0.5, "."),
    ],
)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mark", [";", "\t"])
def test_any_cell_decides_for_its_column(tmp_path, cell, value, decimal, last, mark):
    cells = [*OPEN, cell] if last else [cell, *OPEN]
    force = read_curve(columned(tmp_path / "a.csv", cells, mark)).force
    assert force[-1 if last else 0] == value
    assert force[0 if last else 1] == (1.1 if decimal == "," else 1100.0)


@pytest.mark.parametrize("cell", ["7", "", "nan", "1234", "1 234", "1'234'567", "-1e3"])
def test_other_cells_decide_nothing(tmp_path, cell):
    path = columned(tmp_path / "a.csv", [*OPEN, cell])
    with pytest.raises(ModelError, match="'1,100' in line 2 of column 'force") as caught:
        read_curve(path)
    assert "--decimal , or --decimal . on the command line, decimal=',' or '.'" in str(caught.value)


@pytest.mark.parametrize(("decimal", "first"), [(",", 1.1), (".", 1100.0)])
@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_decimal_mark_may_be_given(tmp_path, decimal, first, mark):
    path = columned(tmp_path / "a.csv", OPEN, mark)
    assert read_curve(path, decimal=decimal).force[0] == first
    path = columned(tmp_path / "a.csv", [cell.replace(",", ".") for cell in OPEN], mark)
    with pytest.raises(ModelError, match=r"'1\.100' in line 2 "):
        read_curve(path)
    assert read_curve(path, decimal=decimal).force[0] == (1100.0 if first == 1.1 else 1.1)


def test_a_given_mark_that_cells_contradict_is_refused(tmp_path):
    path = columned(tmp_path / "a.csv", [*OPEN, "0,5"])
    with pytest.raises(ModelError, match=r"'0,5' in row 11 .*line 12.*decimal mark '\.'"):
        read_curve(path, decimal=".")
    with pytest.raises(ModelError, match=r"'point'; needs '\.' or ','"):
        read_curve(path, decimal="point")


@pytest.mark.parametrize("one", ["0,5", "1.234,5", "1.234.567", "12,3456"])
@pytest.mark.parametrize("other", ["0.5", "1,234.5", "1,234,567", "12.3456"])
def test_cells_that_contradict_are_both_named(tmp_path, one, other):
    for cells in ([one, *OPEN, other], [other, *OPEN, one]):
        path = columned(tmp_path / "a.csv", cells)
        words = f"'{cells[0]}' in line 2 and '{cells[-1]}' in line 13 of column 'force"
        with pytest.raises(ModelError, match=re.escape(words)):
            read_curve(path)


def test_columns_decide_by_themselves(tmp_path):
    # a clock of one program beside a force of another
    cells = [f"{cell};{k}.5" for k, cell in enumerate([*OPEN, "0,125"])]
    path = columned(tmp_path / "a.csv", cells, names="time [s];force [N];displacement [mm]")
    curve = read_curve(path)
    assert curve.force[:2].tolist() == [1.1, 2.2]
    assert curve.displacement[1] == pytest.approx(1.5e-3, rel=1e-15)


def test_between_commas_points_are_decimal(tmp_path):
    points = [cell.replace(",", ".") for cell in OPEN]
    assert read_curve(columned(tmp_path / "a.csv", points, ",")).force[0] == 1.1
    # but not where another column shows a decimal comma in quotes
    cells = [f'"0,5{k}",{cell}' for k, cell in enumerate(points)]
    path = columned(tmp_path / "b.csv", cells, ",", "time [s];displacement [m];force [N]")
    with pytest.raises(ModelError, match=r"'1\.100' in line 2"):
        read_curve(path)
    quoted = [f'"{cell}"' for cell in OPEN]
    with pytest.raises(ModelError, match="'1,100' in line 2"):
        read_curve(columned(tmp_path / "c.csv", quoted, ","))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["0,50,3,53"] * 10, "a row of length 4 in line 2 under a header of length 2"),
        (["1,2"] * 9 + ["1,2,3"], "a row of length 3 in line 11 under a header of length 2"),
        (["1,2,"] * 10, "a row of length 3 in line 2"),
        (["1,2", "", "# 1,2,3,4", "3", *["1,2"] * 8], "a row of length 1 in line 5"),
        (["1,2", '1,"2', *["1,2"] * 8], "line 3"),
        (["1,2", '1,"2', "1,2", '1,"', *["1,2"] * 8], "line 3"),
        (["m,N", *["1,2"] * 10], "'m' in row 1 .*line 2"),
        (["1,2", "1,1_000", *["1,2"] * 8], "'1_000' in row 2 .*line 3"),
        (["1,2", "1,True", *["1,2"] * 8], "'True'"),
        (["1,2", "1,0x10", *["1,2"] * 8], "'0x10'"),
        (["1,2", '1,"1,23,456"', *["1,2"] * 8], "'1,23,456'"),
        (["1,2", "1,1 2345", *["1,2"] * 8], "'1 2345'"),
        (["1,2", "1,0 123", *["1,2"] * 8], "'0 123'"),
        (["1,2", "1,\u0663", *["1,2"] * 8], "'\u0663'"),
    ],
)
def test_rows_that_are_not_as_the_header_says_are_refused(tmp_path, lines, words):
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["displacement [m],force [N]", *lines]), encoding="utf-8")
    with pytest.raises(ModelError, match=words):
        read_curve(path)


def test_a_mark_in_a_name_is_no_comment(tmp_path):
    path = written(tmp_path / "a.csv", "time [s],displacement [um],force #1 [mN]")
    named = {"force": "force #1"}
    np.testing.assert_allclose(read_curve(path, columns=named).force, F, rtol=1e-14)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "mac-roman"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_micrometre_is_one_in_every_encoding(tmp_path, encoding, end):
    path = written(tmp_path / "a.csv", "time [s],displacement [\u00b5m],force [mN]")
    path.write_bytes(path.read_text(encoding="utf-8").replace("\n", end).encode(encoding))
    np.testing.assert_allclose(read_curve(path).displacement, X, rtol=1e-14)


def test_columns_named_alike(tmp_path):
    rows = [[*row, 1.0] for row in table()]
    path = written(tmp_path / "a.csv", "time [s],displacement [um],F [mN],f [N]", rows)
    with pytest.raises(ModelError, match=r"'F \[mN\]' and 'f \[N\]'"):
        read_curve(path)
    assert read_curve(path, columns={"force": "F"}).force[0] == F[0]
    path = written(tmp_path / "b.csv", "time [s],displacement [um],F [mN],F [mN]", rows)
    with pytest.raises(ModelError, match="another name in the file"):
        read_curve(path, columns={"force": "F"})
    # what nobody reads may be called alike
    path = written(tmp_path / "c.csv", "time [s],x [um],F [mN],,", [[*row, 0.0] for row in rows])
    assert read_curve(path).force[0] == F[0]


@pytest.mark.parametrize(
    ("attributes", "values", "words"),
    [
        ({"scale_factor": 0.1}, F, "scale_factor"),
        ({"add_offset": 1.0}, F, "add_offset"),
        ({"_FillValue": -1.0}, F, "_FillValue"),
        ({"missing_value": -999.0}, F, "missing_value"),
        ({"valid_min": -0.9}, F, "valid_range"),
        ({}, F[1:], "20 values"),
        ({}, F > 0.0, "type bool"),
    ],
)
def test_numbers_that_stand_for_others_are_refused(tmp_path, attributes, values, words):
    with h5py.File(tmp_path / "a.nc", "w") as file:
        for name, data in (("displacement [m]", X), ("force [N]", values)):
            file[name] = data
        file["displacement [m]"].attrs["_FillValue"] = np.array([np.nan])
        file["force [N]"].attrs.update(attributes)
    with pytest.raises(ModelError, match=words):
        read_curve(tmp_path / "a.nc")


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
        (_twice, "repeated times"),
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
        ("time [s],displacement [um],force [m]", "is not a unit of force"),
        ("time [s],displacement [um],force", "without a unit"),
        ("time [s],displacement [um],voltage [V]", r"voltage \[V\]; needs a column of force"),
        ("time [s],Weg [mm],force [N]", r"Weg \[mm\], force \[N\]; needs a column of displacement"),
        ("time [s],force [N],F [mN]", "both columns may be the force"),
        ("0.0,1.0,2.0", "a header"),
        ("time [s] displacement force", "columns separated"),
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


def test_many_rows_are_thinned_and_reported(tmp_path):
    n = 450_000
    t = np.arange(n) * 1e-3
    path = tmp_path / "long.csv"
    body = "\n".join(f"{a:.3f},{a:.3f},{a % 7:.3f}" for a in t.tolist())
    path.write_text("time [s],displacement [m],force [N]\n" + body + "\n")
    begin = time.process_time()
    curve = read_curve(path)
    assert time.process_time() - begin < 20.0
    assert curve.rows == 150_000
    assert curve.cleaned == (f"of {n} rows every 3th was used",)
