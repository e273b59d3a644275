"""Short texts of values and records, for `repr`, notebooks and messages.

`brief` shortens a value, `exact_text` has all its digits, `record_text` shows a dataclass as Python
source, `table_html` a table. `checks.Record`, `core` and `studies` call them.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["brief", "counted", "exact_text", "plural", "record_text", "table_html"]

# entries that are shown at the begin of a long array, and letters of a long text
_MOST_ENTRIES = 4
_MOST_LETTERS = 60


def plural(noun: str) -> str:
    """Return the plural of a noun: masses, nodes."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def counted(size: int, noun: str) -> str:
    """Return a count with its noun: "1 mass", "3 masses"."""
    return f"{size} {noun if size == 1 else plural(noun)}"


def brief(value: object) -> str:
    """Return a short text of a value: numbers with six digits, long arrays by their ends.

    Verified by: tests/unit/numerics/test_shown.py::test_values_in_few_words
    """
    if isinstance(value, np.bool_ | np.integer) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    ):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if isinstance(value, str):
        return repr(value if len(value) <= _MOST_LETTERS else f"{value[: _MOST_LETTERS - 3]}...")
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return f"array {' x '.join(map(str, value.shape))}"
    if isinstance(value, np.ndarray | list | tuple):
        return _sequence(list(value))
    if callable(value) and not dataclasses.is_dataclass(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return repr(value)


def _sequence(entries: Sequence[object]) -> str:
    """Return a short text of entries: "5 x 1" if they are equal, else the first and last ones."""
    if len(entries) > _MOST_ENTRIES and all(_same(entry, entries[0]) for entry in entries):
        return f"{len(entries)} x {brief(entries[0])}"
    if len(entries) <= 2 * _MOST_ENTRIES:
        return f"[{', '.join(brief(entry) for entry in entries)}]"
    ends = ", ".join(brief(entry) for entry in entries[:_MOST_ENTRIES])
    return f"[{ends}, ... {brief(entries[-1])}] ({len(entries)})"


def _same(a: object, b: object) -> bool:
    """Return whether two entries are equal numbers."""
    return isinstance(a, int | float | np.number) and bool(a == b)


def record_text(record: object) -> str:
    """Return a description as Python source, without fields at their defaults.

    Parameters
    ----------
    record : a dataclass

    Verified by: tests/unit/numerics/test_shown.py::test_records_leave_out_defaults
    """
    given = (
        f"{name}={value!r}" if isinstance(value, float | str) else f"{name}={brief(value)}"
        for name, value in _fields(record)
    )
    return f"{type(record).__name__}({', '.join(given)})"


def exact_text(value: object) -> str:
    """Return the text of a value with all digits and entries: that of `brief` if it has them.

    Verified by: tests/unit/numerics/test_shown.py::test_exact_texts_differ_where_values_do
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = (
            f"{name}={entry!r}" if isinstance(entry, float | str) else f"{name}={exact_text(entry)}"
            for name, entry in _fields(value, hidden=True)
        )
        return f"{type(value).__name__}({', '.join(given)})"
    if isinstance(value, np.ndarray | list | tuple):
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return exact_text(value.item())
        entries = value.tolist() if isinstance(value, np.ndarray) else list(value)
        if len(entries) > _MOST_ENTRIES and all(_same(entry, entries[0]) for entry in entries):
            return f"{len(entries)} x {exact_text(entries[0])}"
        return f"[{', '.join(map(exact_text, entries))}]"
    short = brief(value)
    if callable(value) and not isinstance(value, type):
        # functions of one name can differ; this import would slow down the printing of records
        from stiction.numerics.compiling.user_functions import fingerprint

        return f"{short} {fingerprint(value, objects=True)!r}"
    if isinstance(value, float | np.floating):
        return short if float(short) == value else repr(float(value))
    return repr(value) if isinstance(value, str) else short


def _fields(record: object, *, hidden: bool = False) -> Iterable[tuple[str, object]]:
    """Yield the fields of a dataclass that differ from their defaults."""
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        # incomplete objects appear in tracebacks and debuggers
        if not field.init or not (field.repr or hidden) or not hasattr(record, field.name):
            continue
        value, default = getattr(record, field.name), field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        same = type(value) is type(default) and not isinstance(value, np.ndarray)
        if not (same and value == default):
            yield field.name, value


def table_html(
    head: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", bad: bool = False
) -> str:
    """Return a table in HTML for notebooks; all texts are escaped.

    Parameters
    ----------
    head : titles of the columns
    rows : cells; those that are not strings are shown by `brief`
    title : text above the table
    bad : whether the title is a warning, in red
    """
    colour = ' style="color:#b00020"' if bad else ""
    above = f"<strong{colour}>{html.escape(title)}</strong>" if title else ""
    lines = [
        "".join(f"<td>{html.escape(_cell(cell))}</td>" for cell in row) for row in map(tuple, rows)
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    titles = "".join(f"<th>{html.escape(word)}</th>" for word in head)
    return f"{above}<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    """Return the text of a cell; None is empty."""
    return value if isinstance(value, str) else "" if value is None else brief(value)
