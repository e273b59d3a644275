"""Reading of measured curves from CSV and NetCDF files: columns, units, cleaning of rows.

The header gives the quantity and unit of each column. Rows with missing values are removed and rows
are sorted by time; `Curve.cleaned` records each change. An ambiguous file is an error. A *quantity*
is one of `_QUANTITIES`, such as force; `made` is {quantity: values (n,) in SI units}.
`table` reads text files. `command` and users call `read_curve`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.fits.curves.curve import FEWEST, Curve
from stiction.fits.curves.table import TRY_HEADER, WHY_HEADER, open_table
from stiction.fits.curves.units import DIMENSIONS, factor_of
from stiction.numerics.checks import number

__all__ = ["read_curve"]

Floats = npt.NDArray[np.float64]

# {name of a column in lower case, without its unit: quantity}
_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("time", "t", "zeit", "temps"), "time"),
    **dict.fromkeys(("displacement", "disp", "x", "position", "slip", "travel"), "displacement"),
    **dict.fromkeys(("velocity", "speed", "v", "vel", "slip velocity"), "velocity"),
    **dict.fromkeys(("force", "f", "friction", "friction force", "ft", "load"), "force"),
    **dict.fromkeys(("normal force", "normal", "n", "fn"), "normal_force"),
    **dict.fromkeys(("noise", "sigma", "std", "error"), "noise"),
    **dict.fromkeys(("coefficient", "mu", "cof", "friction coefficient"), "coefficient"),
}
# quantities of a curve; `DIMENSIONS` has further ones
_QUANTITIES = tuple(dict.fromkeys(_ALIASES.values()))
# a name, and perhaps a unit: "force [mN]", "force (mN)", "force / mN"
_HEADER = re.compile(
    r"\s*(?P<name>[^\[\](/]*?)\s*(?:[\[(]\s*(?P<unit>[^\])]+)\s*[\])]|/\s*(?P<slash>\S+))?\s*"
)
# longer curves are thinned to this length, because more rows do not improve the estimates
MOST_ROWS = 200_000
# largest fraction of rows without numbers that are left out. Chosen
_MOST_BAD = 0.05


def read_curve(
    path: str | Path,
    *,
    units: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    normal_force: float | None = None,
    decimal: str | None = None,
) -> Curve:
    """Return the curve in a CSV or NetCDF file, in SI units.

    Rows with missing values are left out, and rows out of order are sorted by time. If there are
    more than 200,000 rows, every k-th row is used. `Curve.cleaned` records these changes. Three
    ambiguities are errors: a row longer or shorter than the header, two columns of one quantity,
    and a column in which the comma may be a decimal mark or separate thousands.

    Parameters
    ----------
    path : a .csv, .txt or .tsv file with a header, or a .nc file
    units : {quantity: unit}, such as {"force": "mN"}, if the header has no unit or a wrong one
    columns : {quantity: name of its column}, such as {"force": "Fx"}, if names are ambiguous
    normal_force : normal force [N], if no column has it
    decimal : the decimal mark of the numbers in a text file, "." or ","; None to infer it

    Raises
    ------
    ModelError : on text among numbers, unknown units, missing columns, too many missing values,
        and ambiguous files.

    Verified by: tests/unit/fits/test_reading.py::test_files_become_curves
    """
    place = Path(path)
    if not place.is_file():
        why, near = "a fit needs a file of measured data.", []
        with contextlib.suppress(OSError):
            near = [str(one) for one in sorted(place.parent.iterdir()) if one.is_file()]
        try_ = nearest(str(path), near) if near else "check the path."
        raise ModelError("data", f"{path}, no file", "a file", why, try_)
    if decimal not in (None, ".", ","):
        why = "the decimal mark separates the integer part from the tenths."
        try_ = "leave this value out to infer it from the file."
        raise ModelError("decimal", repr(decimal), "'.' or ','", why, try_)
    given: dict[str, Mapping[str, object]] = {"--unit": units or {}, "--column": columns or {}}
    for where, named in given.items():
        for quantity, word in named.items():
            if not isinstance(word, str):
                why = "units and columns of a file have names."
                try_ = f'such as {{"{quantity}": "..."}}.'
                raise ModelError(f"{where} {quantity}", repr(word), "a name", why, try_)
    netcdf = place.suffix in (".nc", ".h5", ".netcdf")
    table = _netcdf(place) if netcdf else open_table(place, decimal)
    roles = _roles(table.names, columns or {})
    known = {**{role: unit for role, (_, unit) in roles.items() if unit}, **(units or {})}
    for quantity in units or {}:
        if quantity not in _QUANTITIES:
            needs, why = "one of " + ", ".join(_QUANTITIES), "a unit is given for a quantity."
            try_ = nearest(quantity, _QUANTITIES)
            raise ModelError("--unit", repr(quantity), needs, why, try_)
        if quantity not in roles:
            got, needs = f"a unit of {quantity}", f"a column of {quantity}"
            why, try_ = (
                "the file has no such column.",
                f"name the column by --column {quantity}=NAME.",
            )
            raise ModelError("--unit", got, needs, why, try_)
    made = dict(zip(roles, table.columns([k for k, _ in roles.values()]), strict=True))
    for role in made:
        if role not in known and DIMENSIONS[role][1] != "1":
            got, needs = (
                f"a column {table.names[roles[role][0]]!r} without a unit",
                "the unit of this column",
            )
            why, shown = "numbers without a unit may be mN or kN.", DIMENSIONS[role][1]
            try_ = f"write {role} [{shown}] in the header, or give --unit {role}={shown}."
            raise ModelError("data", got, needs, why, try_)
        made[role] = made[role] * factor_of(known.get(role, "1"), role, f"unit of {role}")
    return _made(made, normal_force, place.stem, table.names)


def _made(
    made: dict[str, Floats], normal_force: float | None, title: str, names: Sequence[str]
) -> Curve:
    """Return the curve of the cleaned rows.

    normal_force, title, names : number [N] or None, name of the curve, names of all columns
    """
    cleaned: list[str] = []
    made = _complete(made, cleaned)
    made = _in_order(made, cleaned)
    made = _thinned(made, cleaned)
    if normal_force is not None:
        if "normal_force" in made:
            got, why = "a column and a number", "the normal force would be given twice."
            raise ModelError("normal_force", got, "one of them", why, "leave one of them out.")
        why, try_ = (
            "the friction force is compared with the normal force.",
            "for example normal_force=10.0.",
        )
        given = number("normal_force", normal_force, rule="positive", unit="N", why=why, try_=try_)
        made["normal_force"] = np.array(given)
    if "coefficient" in made:
        if "force" in made:
            got, why = "a force and a coefficient", "both columns give the friction."
            try_ = "select one of them by --column force=NAME or coefficient=NAME."
            raise ModelError("data", got, "one of them", why, try_)
        made["force"] = made.pop("coefficient") * made.get("normal_force", 1.0)
    if "force" not in made:
        got, needs = "columns " + ", ".join(names), "a column of force, or of the coefficient"
        why, try_ = (
            "a law is fitted to the force.",
            "name the column of the force by --column force=NAME.",
        )
        raise ModelError("data", got, needs, why, try_)
    if not {"displacement", "velocity"} & set(made):
        got, needs = "columns " + ", ".join(names), "a column of displacement, or of velocity"
        why, try_ = (
            "the friction force depends on the motion.",
            "name the column of the motion, for example by --column displacement=NAME.",
        )
        raise ModelError("data", got, needs, why, try_)
    fields: dict[str, Any] = {**made}
    if "normal_force" in fields and fields["normal_force"].ndim == 0:
        fields["normal_force"] = float(fields["normal_force"])
    return Curve(**fields, title=title, cleaned=cleaned)


def _roles(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Return {quantity: (index of its column, unit in its header or "")}.

    names : headers of all columns; `columns` is {quantity: name of its column}, as given
    """
    roles: dict[str, tuple[int, str]] = {}
    parsed = [_parts(name) for name in names]
    for role, wanted in columns.items():
        if role not in _QUANTITIES:
            needs, why = "one of " + ", ".join(_QUANTITIES), "a fit reads these quantities."
            try_ = nearest(role, _QUANTITIES)
            raise ModelError("--column", repr(role), needs, why, try_)
        word = " ".join(wanted.split())
        match = [k for k, name in enumerate(names) if word in (name, parsed[k][0].strip())]
        if not match:
            needs, why = "one of " + ", ".join(names), "the file has these columns."
            raise ModelError("--column", repr(wanted), needs, why, nearest(wanted, names))
        if len(match) > 1:
            _raise_ambiguous(role, *(names[k] for k in match[:2]))
        roles[role] = match[0], parsed[match[0]][1]
    assigned = {index for index, _ in roles.values()}
    for k, (word, unit) in enumerate(parsed):
        role = _ALIASES.get(" ".join(word.lower().replace("_", " ").split()), "")
        if not role or k in assigned or role in columns:
            continue
        if role in roles:
            _raise_ambiguous(role, names[roles[role][0]], names[k])
        roles[role] = k, unit
    if not roles:
        got, needs = ", ".join(names) or "no columns", "columns such as time, displacement, force"
        raise ModelError("data", got, needs, WHY_HEADER, TRY_HEADER)
    return roles


def _raise_ambiguous(role: str, one: str, other: str) -> NoReturn:
    """Raise the error for two columns of one quantity."""
    got, why = f"{one!r} and {other!r}", f"both columns may be the {role}."
    try_ = f"name one of them by --column {role}=NAME."
    if one == other:
        try_ = "give one of the columns another name in the file."
    raise ModelError("data", got, f"one column of {role}", why, try_)


def _parts(header: str) -> tuple[str, str]:
    """Return name and unit of a column from its header; the unit may be ""."""
    match = _HEADER.fullmatch(header)
    if match is None:
        return header.strip(), ""
    return match["name"], (match["unit"] or match["slash"] or "").strip()


# ---- files


@dataclass(frozen=True)
class _Variables:
    """The one-dimensional variables of a NetCDF file; the unit is a part of the name."""

    names: Sequence[str]
    arrays: Sequence[npt.NDArray[Any]]
    attributes: Sequence[Mapping[str, Any]]

    def columns(self, wanted: Sequence[int]) -> list[Floats]:
        """Return the variables with the indices `wanted`, as floats."""
        for place in wanted:
            one, name = self.arrays[place], self.names[place]
            _check_unpacked(name, one, self.attributes[place])
            if one.dtype.kind not in "iuf" or one.size != self.arrays[wanted[0]].size:
                got = f"{one.size} values of type {one.dtype} in {name!r}"
                needs = f"{self.arrays[wanted[0]].size} numbers, as in {self.names[wanted[0]]!r}"
                why = "the columns of a curve have one number for each row."
                raise ModelError(
                    "data", got, needs, why, "give columns of numbers of equal length."
                )
        return [self.arrays[place].astype(np.float64) for place in wanted]


def _netcdf(path: Path) -> _Variables:
    """Return the one-dimensional variables of a NetCDF-4 file."""
    import h5py

    names, arrays, attributes = [], [], []
    try:
        with h5py.File(path, "r") as file:
            for name, variable in file.items():
                if not (isinstance(variable, h5py.Dataset) and variable.ndim == 1):
                    continue
                unit = variable.attrs.get("units", b"")
                word = unit.decode(errors="replace") if isinstance(unit, bytes) else str(unit)
                names.append(f"{name} [{word}]" if word else name)
                arrays.append(variable[()])
                attributes.append(dict(variable.attrs))
    except OSError as error:
        why, try_ = "the reader reads NetCDF files of version 4 only.", "export the data as CSV."
        raise ModelError("data", path.name, "NetCDF-4", why, try_) from error
    return _Variables(names, arrays, attributes)


def _check_unpacked(name: str, values: npt.NDArray[Any], attributes: Mapping[str, Any]) -> None:
    """Raise an error for packed variables: a scale, an offset, or a value that stands for none."""
    packed = {"scale_factor", "add_offset"} & {*attributes}
    for key in ("_FillValue", "missing_value"):
        fill = np.asarray(attributes.get(key, np.nan))
        if not (fill.dtype.kind == "f" and np.isnan(fill).all()):
            packed.add(key)
    low, high = attributes.get("valid_range", (-np.inf, np.inf))
    low, high = attributes.get("valid_min", low), attributes.get("valid_max", high)
    if values.dtype.kind in "iuf" and ((values < low) | (values > high)).any():
        packed.add("valid_range")
    if packed:
        got = f"{name!r} with {', '.join(sorted(packed))}"
        why = "the stored numbers are encoded (packed) values."
        try_ = "export floating-point numbers, or CSV."
        raise ModelError("data", got, "numbers without encoding", why, try_)


# ---- rows


def _complete(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    """Return the rows in which all quantities are finite; record how many were left out."""
    good = np.all([np.isfinite(values) for values in made.values()], axis=0)
    n, bad = good.size, int(good.size - good.sum())
    if n - bad < FEWEST:
        got, why = (
            f"{n - bad} complete rows of {n}",
            "fewer rows do not determine the parameters and the noise.",
        )
        try_ = "check the file: a column may be empty."
        raise ModelError("data", got, f"at least {FEWEST}", why, try_)
    if bad > max(1.0, _MOST_BAD * n):
        got, needs = f"{bad} of {n} rows with missing values", f"at most {_MOST_BAD:.0%}"
        why = "so many missing values may hide a part of the test."
        raise ModelError("data", got, needs, why, "remove the rows without values from the file.")
    if bad:
        rows = ", ".join(str(k + 1) for k in np.flatnonzero(~good)[:3])
        cleaned.append(f"{bad} rows with missing values were left out (row {rows}...)")
        return {role: values[good] for role, values in made.items()}
    return made


def _in_order(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    """Return the rows sorted by time; record a change of their order."""
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
        got, needs = f"{int(twice.sum())} repeated times, the first {t:g} s", "each time once"
        why = "a test has only one force at each time."
        raise ModelError("data", got, needs, why, "write the times with more digits.")
    cleaned.append(f"rows were sorted by time: {int((steps < 0.0).sum())} steps were negative")
    return sorted_


def _thinned(made: dict[str, Floats], cleaned: list[str]) -> dict[str, Floats]:
    """Return every k-th row, so that at most MOST_ROWS remain; record k."""
    n = next(iter(made.values())).size
    every = -(-n // MOST_ROWS)
    if every <= 1:
        return made
    cleaned.append(f"of {n} rows every {every}th was used")
    return {role: np.ascontiguousarray(values[::every]) for role, values in made.items()}
