"""Reading of tables in text files: delimiter, encoding and decimal mark are inferred.

`1,234` is 1.234 if the comma is the decimal mark, and 1234 if it separates thousands. Every column
is therefore parsed with both decimal marks until a cell admits only one of them. A column that
remains ambiguous is an error. `reading.read_curve` calls `open_table`.
"""

from __future__ import annotations

import codecs
import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError

__all__ = ["TextTable", "open_table"]

Floats = npt.NDArray[np.float64]

WHY_HEADER = "the first line names the columns and their units."
TRY_HEADER = "for example: time [s],displacement [um],force [mN]."

# characters between cells, the more certain ones first; bytes that are read to infer the encoding
_DELIMITERS = (";", "\t", ",")
_SNIFF_BYTES = 65536
# texts of missing values, in lower case and without sign
_MISSING = frozenset(
    (
        "",
        "nan",
        "na",
        "n/a",
        "<na>",
        "#na",
        "#n/a",
        "null",
        "none",
        "inf",
        "1.#qnan",
        "1.#ind",
        "1.#inf",
    )
)
# replaced typographic characters: no-break, figure, thin and narrow spaces, apostrophe, minus
_TYPOGRAPHY = str.maketrans("\u00a0\u2007\u2009\u202f\u2019\u2212", "    '-")


def _number_pattern(decimal: str, other: str) -> re.Pattern[str]:
    """Return the pattern of a number; either all groups of thousands are separated, or none.

    decimal, other : the decimal mark, and the other one, which may separate thousands
    """
    thousands = (
        rf"[1-9]\d{{0,2}}(?P<mark>[{other} '])\d{{3}}(?:(?P=mark)\d{{3}})*(?:[{decimal}]\d*)?"
    )
    digits = rf"(?:\d+(?:[{decimal}]\d*)?|[{decimal}]\d+)(?:[eE][+-]?\d+)?"
    return re.compile(rf"[+-]?(?:{digits}|{thousands})", re.ASCII)


# {decimal mark: pattern of a number}
_NUMBER = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}
# plain numbers are matched by a simpler pattern, in a third of the time
_PLAIN_NUMBER = {mark: re.compile(rf"-?\d+(?:[{mark}]\d+)?", re.ASCII) for mark in ".,"}


def _value(cell: str, decimal: str) -> float | None:
    """Return the number in a cell; None if the cell is not a number with this decimal mark."""
    match = _NUMBER[decimal].fullmatch(cell)
    if match is None:
        return None
    if match["mark"]:
        cell = cell.replace(match["mark"], "")
    return float(cell.replace(",", "."))


# ---- one column


class _Column:
    """Numbers of one column, parsed with both decimal marks until a cell determines the mark."""

    def __init__(self, name: str, decimal: str | None) -> None:
        self.name = name
        self.values = {mark: array("d") for mark in (decimal or ".,")}
        # the first cell that is a number with only one of the decimal marks, and its line
        self.decided = ""
        # {mark: cell}: the first cell whose value depends on the decimal mark
        self.ambiguous: dict[str, str] = {}

    @property
    def mark(self) -> str:
        """The decimal mark, once it is known."""
        return next(iter(self.values)) if len(self.values) == 1 else ""

    def add(self, cell: str, line: int) -> None:
        """Append one cell; raise an error for text, and for a second decimal mark."""
        if len(self.values) == 1:
            ((mark, values),) = self.values.items()
            if _PLAIN_NUMBER[mark].fullmatch(cell):
                values.append(float(cell.replace(",", ".")))
                return
        cell = (cell if cell.isascii() else cell.translate(_TYPOGRAPHY)).strip()
        parsed: dict[str, float | None] = {mark: _value(cell, mark) for mark in self.values}
        if None in parsed.values():
            parsed = self._with_one_mark(cell, line)
        elif len(parsed) > 1 and parsed["."] != parsed[","]:
            self.ambiguous.setdefault("," if "," in cell else ".", f"{cell!r} in line {line}")
        for mark, values in self.values.items():
            values.append(cast(float, parsed[mark]))

    def _with_one_mark(self, cell: str, line: int) -> dict[str, float | None]:
        """Return the values of a cell that excludes one of the decimal marks, or is missing."""
        if cell.lower().lstrip("+-") in _MISSING:
            return dict.fromkeys(self.values, np.nan)
        parsed = {mark: value for mark in ".," if (value := _value(cell, mark)) is not None}
        here = f"{cell!r} in line {line}"
        if self.decided and parsed:
            got, needs = f"{self.decided} and {here} of column {self.name!r}", "one decimal mark"
            why = "the two numbers use different decimal marks."
            try_ = "write all numbers of a column with the same decimal mark."
            raise ModelError("data", got, needs, why, try_)
        if self.mark or not parsed:
            row = len(next(iter(self.values.values()))) + 1
            got = f"{cell!r} in row {row} of column {self.name!r} (line {line})"
            needs = f"a number with the decimal mark {self.mark!r}" if parsed else "a number"
            why = "a column holds only numbers and empty cells."
            try_ = "correct the file, or empty the cell."
            raise ModelError("data", got, needs, why, try_)
        self.decided = here
        self.values = {mark: self.values[mark] for mark in parsed}
        return {**parsed}

    def numbers(self, otherwise: str) -> Floats:
        """Return all cells; `otherwise` is the decimal mark if no cell determines it."""
        mark = self.mark or ("" if self.ambiguous else ".")
        if "," not in self.ambiguous:
            mark = mark or otherwise
        if not mark:
            got = f"{next(iter(self.ambiguous.values()))} of column {self.name!r}"
            needs = "a cell in this column that shows its decimal mark"
            why = "1,234 may be 1.234 or 1234, and every cell of the column is ambiguous."
            try_ = "--decimal , or --decimal . on the command line, decimal=',' or '.' in Python."
            raise ModelError("data", got, needs, why, try_)
        return np.array(self.values[mark])


# ---- files


@dataclass(frozen=True)
class TextTable:
    """A table in a text file: a header, and the rows under it.

    Parameters
    ----------
    path : path of the file
    names : names of the columns, as in the header
    delimiter : character between cells
    decimal : the decimal mark, if it is known

    Verified by: tests/properties/test_curve_files.py::test_files_are_read_right_or_refused
    """

    path: Path
    names: Sequence[str]
    delimiter: str
    decimal: str | None

    def columns(self, wanted: Sequence[int]) -> list[Floats]:
        """Return the columns with the indices `wanted`, as floats.

        Raises
        ------
        ModelError : on a row longer or shorter than the header, on text, and on ambiguous numbers.
        """
        selected = [_Column(self.names[place], self.decimal) for place in wanted]
        rows = _records(self.path, self.delimiter)
        next(rows)
        for line, cells in rows:
            if len(cells) != len(self.names):
                got = (
                    f"a row of length {len(cells)} in line {line} under a header of "
                    f"length {len(self.names)}"
                )
                why = "the cells cannot be assigned to columns."
                try_ = "correct the line; separate numbers with decimal commas by ; or tabs."
                raise ModelError("data", got, "as many cells as names", why, try_)
            for column, place in zip(selected, wanted, strict=True):
                column.add(cells[place], line)
        # with "," as delimiter 1.234 has a decimal point, unless quoted numbers have decimal commas
        points = self.delimiter == "," and not any(column.mark == "," for column in selected)
        return [column.numbers("." if points else "") for column in selected]


def open_table(path: Path, decimal: str | None = None) -> TextTable:
    """Return the table in a text file after reading its header; `columns` reads the rows.

    Parameters
    ----------
    path : path of the file
    decimal : the decimal mark of all numbers, "." or ","; None to infer it from the file

    Raises
    ------
    ModelError : if the file is not text, or has no header.
    """
    lines = (line for line in _lines(path) if line.strip())
    head = next(lines, "")
    if not head or next(lines, None) is None:
        got = "one line" if head else "no lines"
        raise ModelError("data", got, "a header and rows", WHY_HEADER, TRY_HEADER)
    bare = re.sub(r'"[^"]*"', "", head)
    delimiter = next((mark for mark in _DELIMITERS if mark in bare), None)
    if delimiter is None:
        got, needs = repr(head.rstrip()[:60]), "columns separated by , ; or tabs"
        raise ModelError("data", got, needs, WHY_HEADER, TRY_HEADER)
    names = [" ".join(name.split()) for name in next(_records(path, delimiter))[1]]
    if all(any(_value(name, mark) is not None for mark in ".,") for name in names if name):
        got = f"numbers in the first line: {head.rstrip()[:60]!r}"
        raise ModelError("data", got, "a header", WHY_HEADER, TRY_HEADER)
    return TextTable(path, names, delimiter, decimal)


def _encoding(path: Path) -> str:
    """Return the encoding: UTF-16 by its byte order mark, UTF-8, or else Windows-1252."""
    with path.open("rb") as file:
        head = file.read(_SNIFF_BYTES)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        got, why = f"{path.name}, a binary file", "only text and NetCDF files can be read."
        raise ModelError("data", got, "CSV or NetCDF", why, "export the data as CSV.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _lines(path: Path) -> Iterator[str]:
    """Yield all lines, comments as empty lines, so that line numbers remain valid."""
    with path.open(encoding=_encoding(path), errors="replace", newline="") as file:
        for line in file:
            yield "\n" if line.lstrip().startswith("#") else line


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and cells of each row that is not empty."""
    rows = csv.reader(_lines(path), delimiter=delimiter, skipinitialspace=True, strict=True)
    header, last = True, 0
    why = "an unbalanced quote would join several rows in one cell."
    try_ = "check the quotes in this line."
    try:
        for cells in rows:
            line, last = last + 1, rows.line_num
            if not "".join(cells).strip():
                continue
            if last > line and not header:
                got = f"a cell in quotes from line {line} to {last}"
                raise ModelError("data", got, "cells in one line", why, try_)
            header = False
            yield line, cells
    except csv.Error as error:
        got = f"{error}, in the row that begins in line {last + 1}"
        raise ModelError("data", got, "cells with balanced quotes", why, try_) from error
