"""Checks at the door: turn what a user gave into clean numbers or a clear error."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.shown import record_text, table_html

__all__ = ["Numbers", "Record", "number", "numbers", "shape_of", "whole"]

Floats = npt.NDArray[np.float64]

# what a user may give for a field with one value per member: a number stands for all
Numbers = float | Sequence[float] | Floats

_RULES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "finite": (lambda a: np.isfinite(a), "finite numbers"),
    "positive": (lambda a: np.isfinite(a) & (a > 0.0), "positive numbers"),
    "nonnegative": (lambda a: np.isfinite(a) & (a >= 0.0), "numbers >= 0"),
}


class Record:
    """Base of every frozen description: equal when all fields are, arrays included."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Compare class and fields; arrays count as equal when every entry is."""
        if type(self) is not type(other):
            return NotImplemented
        # fields alone: what is cached on an object is no part of its description
        names = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __repr__(self) -> str:
        """Return the description as it would be written, defaults left out."""
        return record_text(self)

    def _repr_html_(self) -> str:
        """Return all fields as a table, for notebooks."""
        rows = [
            (f.name, getattr(self, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.init and f.repr
        ]
        return table_html(("field", "value"), rows, title=type(self).__name__)


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a), np.asarray(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(a == b)


def number(
    where: str, value: object, *, rule: str = "finite", unit: str = "", why: str, try_: str
) -> float:
    """Return `value` as one float that obeys `rule`.

    Parameters
    ----------
    where : field the value belongs to, such as "Chain.gravity"
    rule : "finite", "positive" or "nonnegative"

    Raises
    ------
    ModelError : if it is no number, NaN, infinite, or breaks the rule.
    """
    if type(value) is float and math.isfinite(value) and (rule == "finite" or value > 0.0):
        return value
    passes, needs = _RULES[rule]
    needs = needs.replace("numbers", "number")
    wanted = f"one {needs}{_unit(unit)}"
    try:
        array = np.asarray(_plain(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(explain(where, repr(value), wanted, why, try_)) from error
    if array.ndim != 0:
        raise ModelError(explain(where, f"{array.size} values", wanted, why, try_))
    if not bool(passes(array)):
        raise ModelError(explain(where, f"{array.item()!r}", wanted, why, try_))
    return float(array)


def numbers(
    where: str,
    value: object,
    *,
    size: int | None = None,
    per: str = "entry",
    rule: str = "finite",
    unit: str = "",
    why: str,
    try_: str,
) -> Floats:
    """Return `value` as a read-only float array, one entry per `per`.

    A single number is repeated `size` times when `size` is given.

    Raises
    ------
    ModelError : on a wrong length, a wrong shape, or an entry that breaks the rule.
    """
    passes, needs = _RULES[rule]
    wanted = f"{needs}{_unit(unit)}, one per {per}"
    try:
        array = np.array(_plain(value), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(explain(where, repr(value), wanted, why, try_)) from error
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        got = f"an array of shape {array.shape}" if array.ndim != 1 else f"{array.size} values"
        count = "at least one value" if size is None else f"{size} values"
        raise ModelError(explain(where, got, f"{count}: {wanted}", why, try_))
    good = passes(array)
    if not good.all():
        bad = int(np.argmin(good))
        got = f"{array.size} values with {array[bad].item()!r} at position {bad + 1}"
        raise ModelError(explain(where, got, wanted, why, try_))
    array.flags.writeable = False
    return array


def whole(where: str, value: object, *, least: int, why: str, try_: str) -> int:
    """Return `value` as an integer not below `least`; raise ModelError otherwise."""
    wanted = f"a whole number >= {least}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ModelError(explain(where, repr(value), wanted, why, try_))
    if value < least:
        raise ModelError(explain(where, repr(int(value)), wanted, why, try_))
    return int(value)


_NOT_NUMBERS = (bool, np.bool_, str, bytes, dict, set, frozenset)


def _plain(value: object) -> object:
    """Return what NumPy may turn into floats; raise TypeError for what only looks like it."""
    if value is None or isinstance(value, _NOT_NUMBERS):
        raise TypeError("not numbers")
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iuf":
            raise TypeError("not numbers")
    elif isinstance(value, Iterable):
        value = list(value)
        if any(entry is None or isinstance(entry, _NOT_NUMBERS) for entry in value):
            raise TypeError("not numbers")
    return value


def shape_of(value: object) -> tuple[int, ...]:
    """Return the shape of what a user gave; ragged lists count as two-dimensional."""
    if isinstance(value, (dict, set, frozenset)):
        return (len(value),)
    try:
        return np.shape(value)  # type: ignore[no-any-return, call-overload]
    except ValueError:
        return (len(value), 0)  # type: ignore[arg-type]


def _unit(unit: str) -> str:
    return f" [{unit}]" if unit else ""
