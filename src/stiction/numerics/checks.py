"""Checks of arguments: conversion to numbers, or a ModelError with the reason.

`number`, `numbers` and `whole` return a float, an array and an integer; all modules with input from
users call them. Each message has the given value, the needed one, the reason, and a suggestion; the
caller gives the last two. `Record` is the base class of all frozen classes by which users describe
a model or a method. `fits` estimates memory before it is allocated.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, nearest
from stiction.numerics.shown import record_text, table_html

__all__ = [
    "BYTES_OF_EVENT",
    "MOST_BYTES",
    "MOST_SEED",
    "MOST_WORK",
    "Numbers",
    "Record",
    "cores_of_process",
    "fits",
    "floats_of",
    "memory_of_machine",
    "number",
    "numbers",
    "shape_of",
    "whole",
]

Floats = npt.NDArray[np.float64]

# type of a field with one value for each entry, or one value for all
Numbers = float | Sequence[float] | Floats

# largest estimated memory of a system, of a method or of the saved states of a run [bytes]
MOST_BYTES = 4 << 30
# largest number of anything: at a microsecond each it takes a day
MOST_WORK = 100_000_000_000
# largest seed of random numbers
MOST_SEED = (1 << 63) - 1
# memory of an entry of the event log, with its reserve [bytes]
BYTES_OF_EVENT = 100

# rules of numbers: a test of an array entry by entry, and its name in messages
_RULES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "finite": (lambda a: np.isfinite(a), "finite numbers"),
    "positive": (lambda a: np.isfinite(a) & (a > 0.0), "positive numbers"),
    "nonnegative": (lambda a: np.isfinite(a) & (a >= 0.0), "numbers >= 0"),
}


class Record:
    """Base class of frozen descriptions, which are equal if all their fields are equal."""

    __hash__ = None  # type: ignore[assignment]

    # type checkers read the signatures of the constructors
    if not TYPE_CHECKING:

        def __new__(cls, *args: object, **given: object) -> Any:
            """Raise an error for unknown and for missing arguments of the constructor."""
            if args or given:
                # without arguments: a copy, whose state follows
                _check_arguments(cls, len(args), given)
            return super().__new__(cls)

    def __eq__(self, other: object) -> bool:
        """Compare class and fields; arrays are equal if all their entries are."""
        if type(self) is not type(other):
            return NotImplemented
        # fields alone, without cached properties
        names = [f.name for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __repr__(self) -> str:
        """Return the description as Python source, without defaults."""
        return record_text(self)

    def _repr_html_(self) -> str:
        """Return all fields as a table, for notebooks."""
        rows = [
            (f.name, getattr(self, f.name))
            for f in dataclasses.fields(self)  # type: ignore[arg-type]
            if f.init and f.repr
        ]
        return table_html(("field", "value"), rows, title=type(self).__name__)


def _check_arguments(cls: type, count: int, given: Mapping[str, object]) -> None:
    """Raise an error unless a constructor takes the arguments.

    Parameters
    ----------
    count : number of positional arguments
    given : keyword arguments

    Verified by: tests/unit/numerics/test_checks.py::test_wrong_arguments_are_explained
    """
    init: Any = cls.__init__  # type: ignore[misc]
    code = getattr(init, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARKEYWORDS | inspect.CO_VARARGS):
        return
    known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    for name in given:
        if name not in known:
            # a user may give the class of a field as its name: friction=... for law: Friction
            fields = getattr(cls, "__dataclass_fields__", {})
            classes = {str(f.type).lower(): f.name for f in fields.values()}
            hint = nearest(classes.get(name, name), known)
            why = f"{cls.__name__} has no parameter of this name."
            needs = f"one of {', '.join(known)}" if known else "no parameter"
            raise ModelError(f"{cls.__name__}.{name}", repr(given[name]), needs, why, hint)
    positional = known[: code.co_argcount - 1]
    twice = [name for name in positional[:count] if name in given]
    if count > len(positional) or twice:
        got = f"{twice[0]} twice" if twice else f"{count} arguments without a name"
        needs = f"at most {len(positional)}: {', '.join(positional)}"
        why, try_ = "each argument is given once.", "give the arguments by name."
        raise ModelError(cls.__name__, got, needs, why, try_)
    needed = known[: code.co_argcount - 1 - len(init.__defaults__ or ())]
    if missing := [name for name in needed[count:] if name not in given]:
        pattern = ", ".join(f"{name}=..." for name in needed)
        got, why = f"no {', '.join(missing)}", "these arguments have no default."
        try_ = f"{cls.__name__}({pattern})."
        raise ModelError(cls.__name__, got, ", ".join(needed), why, try_)


def _same(a: object, b: object) -> bool:
    """Return whether two values of a field are equal; arrays if all their entries are."""
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
    where : field to which the value belongs, such as "Chain.gravity"
    rule : "finite", "positive" or "nonnegative"
    unit : unit of the field, in messages and for the conversion of quantities with units
    why, try_ : reason and hint of the message

    Raises
    ------
    ModelError : if the value is not one number, is NaN or infinite, or violates the rule.
    """
    if type(value) is float and math.isfinite(value) and (rule == "finite" or value > 0.0):
        return value
    passes, needs = _RULES[rule]
    needs = needs.replace("numbers", "number")
    wanted = f"one {needs}{_unit(unit)}"
    try:
        array = np.asarray(_plain(value, unit), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(where, repr(value), wanted, why, try_) from error
    if array.ndim != 0:
        raise ModelError(where, f"{array.size} values", wanted, why, try_)
    if not bool(passes(array)):
        raise ModelError(where, f"{array.item()!r}", wanted, why, try_)
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
    """Return `value` as a read-only float array with one entry for each `per`.

    Parameters
    ----------
    where, rule, unit, why, try_ : as in `number`
    size : wanted number of entries; a single number is repeated so often. None for any
    per : noun of the object that an entry belongs to, such as "mass"

    Raises
    ------
    ModelError : for a wrong length or shape, or an entry that violates the rule.
    """
    passes, needs = _RULES[rule]
    wanted = f"{needs}{_unit(unit)}, one per {per}"
    try:
        array = np.array(_plain(value, unit), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(where, repr(value), wanted, why, try_) from error
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    if array.ndim != 1 or array.size == 0 or (size is not None and array.size != size):
        got = f"an array of shape {array.shape}" if array.ndim != 1 else f"{array.size} values"
        count = "at least one value" if size is None else f"{size} values"
        raise ModelError(where, got, f"{count}: {wanted}", why, try_)
    good = passes(array)
    if not good.all():
        bad = int(np.argmin(good))
        got = f"{array.size} values with {array[bad].item()!r} at position {bad + 1}"
        raise ModelError(where, got, wanted, why, try_)
    array.flags.writeable = False
    return array


def whole(
    where: str,
    value: object,
    *,
    least: int,
    most: int = MOST_WORK,
    each: float = 0.0,
    why: str,
    try_: str,
) -> int:
    """Return `value` as an integer from `least` to `most` that fits into memory.

    Parameters
    ----------
    where, why, try_ : as in `number`
    least, most : smallest and largest admissible value
    each : memory of each of the counted objects [bytes], see `fits`

    Raises
    ------
    ModelError : if the value is not an integer, too small, or too large.

    Verified by: tests/unit/test_bounds.py::test_every_count_is_bounded
    """
    wanted = f"a whole number >= {least}"
    # NumPy counts durations as integers
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, (int, np.integer)):
        raise ModelError(where, repr(value), wanted, why, try_)
    if value < least:
        raise ModelError(where, repr(int(value)), wanted, why, try_)
    if value > most:
        wanted = f"a whole number from {least} to {most}"
        raise ModelError(where, repr(int(value)), wanted, why, try_)
    fits(where, int(value), each, try_)
    return int(value)


def fits(where: str, count: int, each: float, try_: str, limit: int = MOST_BYTES) -> None:
    """Raise an error if `count` objects of `each` bytes exceed `limit` bytes.

    It is called before the memory is allocated.

    Parameters
    ----------
    where : field that has the count, for the message
    try_ : suggestion of the message

    Raises
    ------
    ModelError : if they do; the message has the estimate and the limit.
    """
    if count * each > limit:
        got = f"{count}, about {count * each / 2**30:.3g} GiB"
        needs = f"at most {int(limit / each)}"
        why = f"each is estimated to take {each:g} bytes, and {limit / 2**30:.3g} GiB is the limit."
        raise ModelError(where, got, needs, why, try_)


def cores_of_process() -> int:
    """Return the number of cores that this process may use; those of the machine if unknown."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def memory_of_machine() -> int:
    """Return the memory of this machine [bytes]; 16 GiB if it is unknown.

    Verified by: tests/unit/numerics/test_checks.py::test_memory_of_this_machine
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 << 30


_NOT_NUMBERS = (bool, np.bool_, str, bytes, dict, set, frozenset)


def _plain(value: object, unit: str) -> object:
    """Return a value that NumPy converts to floats; raise TypeError for values of another kind.

    Such values are flags, text, mappings, complex numbers, dates, durations and masked entries. A
    quantity with a unit, such as one of pint, is converted to `unit`, or to a number without a
    unit if the field has none.

    Verified by: tests/unit/numerics/test_quantities.py::test_quantities_are_converted
    """
    if _is_no_number(value):
        raise TypeError("not numbers")
    if _has_unit(value):
        return _magnitude(value, unit)
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        value = list(value)
        if any(map(_is_no_number, value)):
            raise TypeError("not numbers")
        value = [_magnitude(entry, unit) if _has_unit(entry) else entry for entry in value]
    return value


def _is_no_number(value: object) -> bool:
    """Return whether a value is of a kind that NumPy would convert but users cannot mean."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind not in "iuf" or bool(np.ma.is_masked(value))
    return value is None or isinstance(value, _NOT_NUMBERS)


def _has_unit(value: object) -> bool:
    """Return whether a value is a quantity with a unit, as of pint."""
    return hasattr(value, "magnitude") and hasattr(value, "to")


def _magnitude(value: Any, unit: str) -> object:
    """Return the numbers of a quantity in `unit`; "" and "1" stand for no unit."""
    try:
        return value.to(unit if unit not in ("", "1") else "dimensionless").magnitude
    except (TypeError, ValueError, AttributeError) as error:
        # errors of pint for another dimension or an unknown unit are of these kinds
        raise TypeError("not in this unit") from error


def shape_of(value: object) -> tuple[int, ...]:
    """Return the shape of an argument; ragged lists count as two-dimensional."""
    if isinstance(value, (dict, set, frozenset)):
        return (len(value),)
    if isinstance(value, (list, tuple)) and any(_has_unit(entry) for entry in value):
        return (len(value),)
    try:
        return np.shape(value)  # type: ignore[no-any-return, call-overload]
    except ValueError:
        return (len(value), 0)  # type: ignore[arg-type]


def floats_of(value: object) -> Floats:
    """Return an array of floats; a single NaN if the value cannot be converted."""
    try:
        given = np.array(value)
        # numpy drops imaginary parts, and reads texts
        if given.dtype.kind in "biufO":
            return given.astype(np.float64)
    except (TypeError, ValueError):
        pass
    return np.array(math.nan)


def _unit(unit: str) -> str:
    """Return a unit in brackets for a message, or nothing."""
    return f" [{unit}]" if unit else ""
