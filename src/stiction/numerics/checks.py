"""Checks of arguments: converts them to numbers, or raises an error with a reason."""

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
    "fits",
    "memory_of_machine",
    "number",
    "numbers",
    "shape_of",
    "whole",
]

Floats = npt.NDArray[np.float64]

# type of a field with one value per member, or one for all
Numbers = float | Sequence[float] | Floats

# memory that a system, a method or the saved states of a run may take, by estimate [bytes]
MOST_BYTES = 4 << 30
# largest count: at a microsecond each a day of work
MOST_WORK = 100_000_000_000
MOST_SEED = (1 << 63) - 1
# an entry of the event log, with its spare memory
BYTES_OF_EVENT = 100

_RULES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "finite": (lambda a: np.isfinite(a), "finite numbers"),
    "positive": (lambda a: np.isfinite(a) & (a > 0.0), "positive numbers"),
    "nonnegative": (lambda a: np.isfinite(a) & (a >= 0.0), "numbers >= 0"),
}


class Record:
    """Base of every frozen description: equal when all fields are, arrays included."""

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
        """Compare class and fields; arrays count as equal when every entry is."""
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
            # a user may know the class of a field, not its name: friction=..., of law: Friction
            fields = getattr(cls, "__dataclass_fields__", {})
            classes = {str(f.type).lower(): f.name for f in fields.values()}
            hint = nearest(classes.get(name, name), known)
            why = f"{cls.__name__} has no parameter of this name."
            needs = f"one of {', '.join(known)}" if known else "no parameter"
            raise ModelError(f"{cls.__name__}.{name}", repr(given[name]), needs, why, hint)
    needed = known[: code.co_argcount - 1 - len(init.__defaults__ or ())]
    if missing := [name for name in needed[count:] if name not in given]:
        pattern = ", ".join(f"{name}=..." for name in needed)
        got, why = f"no {', '.join(missing)}", "these arguments have no default."
        try_ = f"{cls.__name__}({pattern})."
        raise ModelError(cls.__name__, got, ", ".join(needed), why, try_)


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
    """Return `value` as a read-only float array, one entry per `per`.

    A single number is repeated `size` times when `size` is given.

    Raises
    ------
    ModelError : on a wrong length, a wrong shape, or an entry that breaks the rule.
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
    each : memory of each of them [bytes], see `fits`

    Raises
    ------
    ModelError : if it is no integer, too small, or too large.

    Verified by: tests/unit/test_bounds.py::test_every_count_is_bounded
    """
    wanted = f"a whole number >= {least}"
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
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

    Called before the memory is allocated.

    Raises
    ------
    ModelError : with the estimate and the limit.
    """
    if count * each > limit:
        got = f"{count}, about {count * each / 2**30:.3g} GiB"
        needs = f"at most {int(limit / each)}"
        why = f"by estimate each takes {each:g} bytes, and {limit / 2**30:.3g} GiB is the limit."
        raise ModelError(where, got, needs, why, try_)


def memory_of_machine() -> int:
    """Return the memory that this machine has [bytes], 16 GiB if unknown.

    Verified by: tests/unit/numerics/test_checks.py::test_memory_of_this_machine
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 16 << 30


_NOT_NUMBERS = (bool, np.bool_, str, bytes, dict, set, frozenset)


def _plain(value: object, unit: str) -> object:
    """Return a value that NumPy converts to floats; raise TypeError for flags, text and mappings.

    A quantity, as of pint, is converted to `unit`, or to a pure number if the field has none.

    Verified by: tests/unit/numerics/test_quantities.py::test_quantities_are_converted
    """
    if value is None or isinstance(value, _NOT_NUMBERS):
        raise TypeError("not numbers")
    if _has_unit(value):
        return _magnitude(value, unit)
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iuf":
            raise TypeError("not numbers")
    elif isinstance(value, Iterable):
        value = list(value)
        if any(entry is None or isinstance(entry, _NOT_NUMBERS) for entry in value):
            raise TypeError("not numbers")
        value = [_magnitude(entry, unit) if _has_unit(entry) else entry for entry in value]
    return value


def _has_unit(value: object) -> bool:
    return hasattr(value, "magnitude") and hasattr(value, "to")


def _magnitude(value: Any, unit: str) -> object:
    """Return a quantity as plain numbers in `unit`, "" and "1" for none."""
    try:
        return value.to(unit if unit not in ("", "1") else "dimensionless").magnitude
    except (TypeError, ValueError, AttributeError) as error:
        # pint's own errors are of these kinds: another dimension, or a unit that it does not know
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


def _unit(unit: str) -> str:
    return f" [{unit}]" if unit else ""
