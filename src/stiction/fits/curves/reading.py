"""Curves from files: CSV and NetCDF, units from headers, and what was cleaned, said aloud."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain, nearest
from stiction.fits.curves.curve import FEWEST, Curve
from stiction.fits.curves.units import DIMENSIONS, factor_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_curve"]

Floats = npt.NDArray[np.float64]

# what columns are called, in small letters without their unit
_CALLED: Mapping[str, str] = {
    **dict.fromkeys(("time", "t", "zeit", "temps"), "time"),
    **dict.fromkeys(("displacement", "disp", "x", "position", "slip", "travel"), "displacement"),
    **dict.fromkeys(("velocity", "speed", "v", "vel", "slip velocity"), "velocity"),
    **dict.fromkeys(("force", "f", "friction", "friction force", "ft", "load"), "force"),
    **dict.fromkeys(("normal_force", "normal force", "normal", "n", "fn"), "normal_force"),
    **dict.fromkeys(("noise", "sigma", "std", "error"), "noise"),
    **dict.fromkeys(("coefficient", "mu", "cof", "friction coefficient"), "coefficient"),
}
_HEADER = re.compile(
    r"\s*(?P<name>[^\[\](/]*?)\s*(?:[\[(]\s*(?P<unit>[^\])]+)\s*[\])]|/\s*(?P<slash>\S+))?\s*"
)
# more rows are thinned to these: a law is no better known from more
MOST_ROWS = 200_000
_MOST_BAD = 0.05
_EMPTY = ("", "nan", "NaN", "NA", "N/A", "null", "-nan", "NULL", "None")
_WHY_HEADER = "the first line says what the columns are, and their units."
_TRY_HEADER = "for example: time [s],displacement [um],force [mN]."


def read_curve(
    path: str | Path,
    *,
    units: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    normal_force: float | None = None,
) -> Curve:
    """Return the curve in a CSV or NetCDF file, in SI units.

    Rows with missing values are left out, rows out of order are sorted by time, and of more than
    200,000 rows every k-th is kept: `Curve.cleaned` says so. What could mean two things is refused.

    Parameters
    ----------
    path : a .csv, .txt or .tsv file with a header, or a .nc file
    units : of quantities whose column says none, or a wrong one: {"force": "mN"}
    columns : names of columns, where they are not clear: {"force": "Fx"}
    normal_force : [N], where no column holds it

    Raises
    ------
    ModelError : on text among numbers, unknown units, missing columns, too many missing values.

    Verified by: tests/unit/fits/test_reading.py::test_files_become_curves
    """
    place = Path(path)
    if not place.is_file():
        why, near = "a fit begins with measured data.", []
        with contextlib.suppress(OSError):
            near = [str(one) for one in sorted(place.parent.iterdir()) if one.is_file()]
        try_ = nearest(str(path), near) if near else "check the path."
        raise ModelError(explain("data", f"{path}, no file", "a file", why, try_))
    named: Any
    if place.suffix in (".nc", ".h5", ".netcdf"):
        named, given = _netcdf(place)
    else:
        named, given = _csv(place), {}
    roles = _roles(list(named), columns or {})
    told = {**given, **{role: unit for role, (_, unit) in roles.items() if unit}, **(units or {})}
    for quantity in units or {}:
        if quantity not in DIMENSIONS:
            needs, why = "one of " + ", ".join(DIMENSIONS), "a unit belongs to a quantity."
            try_ = nearest(quantity, DIMENSIONS)
            raise ModelError(explain("--unit", repr(quantity), needs, why, try_))
    made = {role: _numbers(named[name], name) for role, (name, _) in roles.items()}
    for role in made:
        if role not in told and DIMENSIONS[role][1] != "1":
            got, needs = f"a column {roles[role][0]!r} without a unit", "its unit"
            why, shown = "numbers alone may be mN or kN.", DIMENSIONS[role][1]
            try_ = f"write {role} [{shown}] in the header, or give --unit {role}={shown}."
            raise ModelError(explain("data", got, needs, why, try_))
        made[role] = made[role] * factor_of(told.get(role, "1"), role, f"unit of {role}")
    return _made(made, normal_force, place.stem)


def _made(made: dict[str, Floats], normal_force: float | None, title: str) -> Curve:
    """Return the curve after its rows were cleaned."""
    cleaned: list[str] = []
    made = _complete(made, cleaned)
    made = _in_order(made, cleaned)
    made = _thinned(made, cleaned)
    if "coefficient" in made:
        if "force" in made:
            got, why = "a force and a coefficient", "both say how much friction there is."
            raise ModelError(explain("data", got, "one of them", why, "use --column."))
        made["force"] = made.pop("coefficient") * made.get("normal_force", 1.0)
    if "force" not in made:
        got, needs = ", ".join(made), "a column of force, or of the coefficient"
        try_ = "name it by --column force=NAME."
        raise ModelError(explain("data", got, needs, "a law says how large it is.", try_))
    if normal_force is not None:
        if "normal_force" in made:
            got, why = "a column and a number", "one of them is wrong."
            raise ModelError(explain("normal_force", got, "one of them", why, "leave one out."))
        made["normal_force"] = np.array(float(normal_force))
    fields: dict[str, Any] = {**made}
    if "normal_force" in fields and fields["normal_force"].ndim == 0:
        fields["normal_force"] = float(fields["normal_force"])
    return Curve(**fields, title=title, cleaned=cleaned)


def _roles(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the column and the unit in its header of each quantity."""
    found: dict[str, tuple[str, str]] = {}
    parsed = {name: _parts(name) for name in names}
    for role, wanted in columns.items():
        if role not in DIMENSIONS:
            needs, why = "one of " + ", ".join(DIMENSIONS), "these are what a fit reads."
            try_ = nearest(role, DIMENSIONS)
            raise ModelError(explain("--column", repr(role), needs, why, try_))
        match = [name for name in names if wanted in (name, parsed[name][0])]
        if len(match) != 1:
            needs, why = "one of " + ", ".join(names), "these columns are in the file."
            raise ModelError(explain("--column", repr(wanted), needs, why, nearest(wanted, names)))
        found[role] = match[0], parsed[match[0]][1]
    taken = {name for name, _ in found.values()}
    for name in names:
        word = parsed[name][0].strip().lower()
        role = _CALLED.get(word, _CALLED.get(word.replace("_", " "), ""))
        if not role or name in taken or role in columns:
            continue
        if role in found:
            got, why = f"{found[role][0]!r} and {name!r}", "both may be meant."
            try_ = f"name one by --column {role}=NAME."
            raise ModelError(explain("data", got, f"one column of {role}", why, try_))
        found[role] = name, parsed[name][1]
    if not found:
        got, needs = ", ".join(names) or "no columns", "columns such as time, displacement, force"
        raise ModelError(explain("data", got, needs, _WHY_HEADER, _TRY_HEADER))
    return found


def _parts(header: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(header)
    if match is None:
        return header.strip(), ""
    return match["name"], (match["unit"] or match["slash"] or "").strip()


# ---- files


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    with path.open("rb") as file:
        raw = file.read(65536)
    if b"\0" in raw:
        why = "this file is not text."
        raise ModelError(
            explain("data", f"{path.name}, binary", "CSV or NetCDF", why, "export it.")
        )
    text = raw.decode("utf-8-sig", errors="replace")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        needs, why = "a header and rows", _WHY_HEADER
        raise ModelError(explain("data", f"{len(lines)} lines", needs, why, _TRY_HEADER))
    comma = lines[0].count(",")
    marks = {";": lines[0].count(";"), "\t": lines[0].count("\t"), ",": comma}
    mark = max(marks, key=lambda m: marks[m])
    if not marks[mark]:
        got, needs = repr(lines[0][:60]), "columns apart by , ; or tabs"
        raise ModelError(explain("data", got, needs, _WHY_HEADER, _TRY_HEADER))
    if all(_is_number(cell, mark) for cell in lines[0].split(mark)):
        got = f"numbers in the first line: {lines[0][:60]!r}"
        raise ModelError(explain("data", got, "a header", _WHY_HEADER, _TRY_HEADER))
    decimal = "," if mark == ";" and re.search(r"\d,\d", lines[1]) else "."
    try:
        return pd.read_csv(
            path,
            sep=mark,
            decimal=decimal,
            comment="#",
            skipinitialspace=True,
            na_values=list(_EMPTY),
            encoding="utf-8-sig",
            encoding_errors="replace",
            low_memory=False,
        )
    except (pd.errors.ParserError, ValueError) as error:
        got, why = str(error).splitlines()[0], "every row has as many cells as the header."
        try_ = "look at the row that is named."
        raise ModelError(explain("data", got, "rows of equal length", why, try_)) from error


def _is_number(cell: str, mark: str) -> bool:
    try:
        float(cell.strip().replace(",", ".") if mark == ";" else cell)
    except ValueError:
        return False
    return True


def _numbers(column: Any, name: str) -> Floats:
    """Return a column as numbers; its first cell of text is named."""
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    import pandas as pd

    cells = pd.Series(values)
    numbers = pd.to_numeric(cells, errors="coerce")
    text = numbers.isna() & cells.notna()
    if text.any():
        row = int(np.argmax(text.to_numpy()))
        got, needs = f"{str(cells[row])!r} in row {row + 1} of column {name!r}", "a number"
        why, try_ = "text among numbers may mean anything.", "mend the file, or empty the cell."
        raise ModelError(explain("data", got, needs, why, try_))
    return np.asarray(numbers, dtype=np.float64)


def _netcdf(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    import h5py

    named: dict[str, Any] = {}
    try:
        with h5py.File(path, "r") as file:
            for name, variable in file.items():
                if not (isinstance(variable, h5py.Dataset) and variable.ndim == 1):
                    continue
                unit = variable.attrs.get("units", b"")
                word = unit.decode() if isinstance(unit, bytes) else str(unit)
                named[f"{name} [{word}]" if word else name] = variable[()]
    except OSError as error:
        why, try_ = "NetCDF-4 is what is read.", "export the data as CSV."
        raise ModelError(explain("data", path.name, "NetCDF-4", why, try_)) from error
    return named, {}


# ---- rows


def _complete(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    good = np.all([np.isfinite(values) for values in made.values()], axis=0)
    n, bad = good.size, int(good.size - good.sum())
    if n - bad < FEWEST:
        got, why = f"{n - bad} complete rows of {n}", "noise must be told from the law."
        try_ = "look at the file: a column may be empty."
        raise ModelError(explain("data", got, f"at least {FEWEST}", why, try_))
    if bad > max(1.0, _MOST_BAD * n):
        got, needs = f"{bad} of {n} rows with missing values", f"at most {_MOST_BAD:.0%}"
        why = "so many are no accident, and what was lost may have mattered."
        raise ModelError(explain("data", got, needs, why, "cut the part without values away."))
    if bad:
        rows = ", ".join(str(k + 1) for k in np.flatnonzero(~good)[:3])
        cleaned.append(f"{bad} rows with missing values were left out (row {rows}...)")
        return {role: values[good] for role, values in made.items()}
    return made


def _in_order(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    if "time" not in made:
        return made
    steps = np.diff(made["time"])
    if (steps > 0.0).all():
        return made
    order = np.argsort(made["time"], kind="stable")
    sorted_ = {role: values[order] for role, values in made.items()}
    twice = np.diff(sorted_["time"]) <= 0.0
    if twice.any():
        t = float(sorted_["time"][:-1][twice][0])
        got, needs = f"{int(twice.sum())} times twice, the first {t:g} s", "each time once"
        why = "two forces at one time cannot both be right."
        raise ModelError(explain("data", got, needs, why, "give more digits of the time."))
    cleaned.append(f"rows were sorted by time: {int((steps < 0.0).sum())} times went back")
    return sorted_


def _thinned(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    n = next(iter(made.values())).size
    every = -(-n // MOST_ROWS)
    if every <= 1:
        return made
    cleaned.append(f"of {n} rows every {every}th was kept")
    return {role: np.ascontiguousarray(values[::every]) for role, values in made.items()}
