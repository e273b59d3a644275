"""Packing and checking of the arrays in a checkpoint, from which a run is resumed.

Compiled kernels do not check shapes and counts: they would read beyond the end of a short array, or
compute with NaN. Each method therefore declares the arrays of its state and their admissible values
as a mapping of names to `StateArray`. `pack` copies these arrays into a checkpoint; `restore`
checks a checkpoint and copies its arrays back. `stiction.io.checkpoint_file` writes the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import StoreError

__all__ = [
    "Form",
    "Log",
    "StateArray",
    "check_arrays",
    "check_count",
    "like",
    "pack",
    "put_back",
    "refused",
    "restore",
    "saved_array",
    "unpacking",
]

Array = npt.NDArray[Any]
_Places = bool | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class Form:
    """Required shape, type and range of an array of a checkpoint.

    Parameters
    ----------
    shape : length of each axis; a word names a length that is common to all axes of that name
    dtype : type in NumPy's notation, such as "f8", "i8", "i1"; "i" or "f" for numbers of any size,
        "U" for text of any length; fields such as "time:f8 steps:i8 place:2f8" for a structured
        array
    inf, nan : whether infinity, and NaN, are admissible: a bool for the whole array, or the indices
        of the last axis or the names of the fields in which they are admissible
    least, most : bounds of the numbers, of a structured array those of its integers; None if
        unbounded
    needed : False for an optional array
    """

    shape: tuple[int | str, ...] = ()
    dtype: str = "f8"
    inf: _Places = False
    nan: _Places = False
    least: float | None = None
    most: float | None = None
    needed: bool = True

    def __str__(self) -> str:
        """Return the form as text."""
        sizes = " x ".join(str(n) for n in self.shape)
        barred = [word for word, may in (("NaN", self.nan), ("infinity", self.inf)) if not may]
        floats = self.dtype.startswith("f") or ":" in self.dtype
        without = f" without {' and '.join(barred)}" if barred and floats else ""
        return f"{sizes or 'one'} of {_shortly(self.dtype)}{without}"

    def fault(self, array: Array, sizes: dict[str, int]) -> str:
        """Return the fault of an array, "" if valid; record lengths of named axes in `sizes`."""
        kind = _dtype(array)
        if kind != self.dtype and kind[:1] != self.dtype:
            return f"numbers of type {_shortly(kind)}"
        if array.ndim != len(self.shape) or any(
            size != (want if isinstance(want, int) else sizes.setdefault(want, size))
            for size, want in zip(array.shape, self.shape, strict=True)
        ):
            return f"an array of shape {array.shape}"
        if array.dtype.names:
            return self._fault_of_a_field(array)
        if self.dtype.startswith("f") and _outside(np.isnan(array), self.nan):
            return "NaN"
        if self.dtype.startswith("f") and _outside(np.isinf(array), self.inf):
            return "infinity"
        low, high = self.least, self.most
        if array.size and low is not None and not (array >= low).all():
            return f"{array.min()}, below {low}"
        if array.size and high is not None and not (array <= high).all():
            return f"{array.max()}, above {high}"
        return ""

    def _fault_of_a_field(self, array: Array) -> str:
        """Return the fault of the first invalid field of a structured array, "" if valid."""
        for name in array.dtype.names or ():
            column = array[name]
            inf, nan = (p if isinstance(p, bool) else name in p for p in (self.inf, self.nan))
            bounds = (self.least, self.most) if column.dtype.kind == "i" else (None, None)
            form = Form(column.shape, _dtype(column), inf, nan, *bounds)
            if fault := form.fault(column, {}):
                return f"{name}: {fault}"
        return ""


def _outside(present: npt.NDArray[np.bool_], allowed: _Places) -> bool:
    """Return whether `present` is True at an entry that `allowed` does not admit."""
    if isinstance(allowed, bool) or not present.size:
        return not allowed and bool(present.any())
    barred = np.ones(present.shape[-1], dtype=bool)
    barred[[int(place) for place in allowed]] = False
    return bool(present[..., barred].any())


def like(
    array: Array,
    rows: str = "",
    *,
    inf: _Places = False,
    nan: _Places = False,
    within: tuple[float, float] | None = None,
) -> Form:
    """Return the form of a given array.

    Parameters
    ----------
    array : an array of the required shape and type
    rows : name of the length of the first axis; "" if the length is that of `array`
    inf, nan : see `Form`
    within : bounds of the numbers
    """
    shape: tuple[int | str, ...] = (rows, *array.shape[1:]) if rows else array.shape
    low, high = (None, None) if within is None else within
    return Form(shape, _dtype(array), inf, nan, low, high)


def _dtype(array: Array) -> str:
    """Return the type of numbers, or of all fields, without the order of their bytes."""
    if array.dtype.names:
        fields = ((name, array.dtype[name].shape) for name in array.dtype.names)
        return " ".join(
            f"{name}:{'x'.join(map(str, shape))}{_dtype(array[name])}" for name, shape in fields
        )
    return array.dtype.str.lstrip("<>=|")


def _shortly(dtype: str) -> str:
    """Return a type as text for messages; of a structured type the number of fields."""
    return f"{dtype.count(':')} fields" if ":" in dtype else dtype


def check_arrays(
    saved: Mapping[str, Array], forms: Mapping[str, Form], **sizes: int
) -> dict[str, int]:
    """Raise an error unless a checkpoint has the arrays of a method.

    Parameters
    ----------
    saved : arrays from `Checkpoint.load`
    forms : {name: required form} of all arrays; an array of another name is an error
    sizes : known lengths, by their names in the forms

    Returns
    -------
    The lengths of all named axes.

    Raises
    ------
    StoreError : naming the first array that is missing, unknown, or of another form.

    Verified by: tests/unit/core/test_checkpoint.py::test_wrong_arrays_are_named
    """
    known = dict(sizes)
    for name, form in forms.items():
        if name not in saved:
            if form.needed:
                raise refused(name, "no such array", str(form))
            continue
        if fault := form.fault(np.asarray(saved[name]), known):
            lengths = [f"{n} = {known[n]}" for n in form.shape if n in known]
            given = f" ({', '.join(lengths)})" if lengths else ""
            raise refused(name, fault, f"{form}{given}")
    for name in saved:
        if name not in forms:
            raise refused(name, "an unknown array", "only the arrays of this method")
    return known


class Log:
    """An array of records to which a method appends, such as its events.

    Parameters
    ----------
    rows : the first records, or an empty array of the required shape and type
    """

    def __init__(self, rows: Array) -> None:
        self._parts = [rows]

    def add(self, rows: Array) -> None:
        """Append a copy of some records."""
        if len(rows):
            self._parts.append(rows.copy())

    def clear(self) -> None:
        """Remove all records."""
        self._parts = [self._parts[0][:0]]

    def __len__(self) -> int:
        """Return the number of records."""
        return sum(map(len, self._parts))

    @property
    def last(self) -> Any:
        """The last record; the log must not be empty."""
        return self._parts[-1][-1]

    @property
    def rows(self) -> Array:
        """All records in one array."""
        if len(self._parts) > 1:
            first = self._parts[0]
            # with `out`, because np.concatenate would lose the metadata of the element type
            rows = np.empty((len(self), *first.shape[1:]), first.dtype)
            self._parts = [np.concatenate(self._parts, out=rows)]
        return self._parts[0]

    @rows.setter
    def rows(self, rows: Array) -> None:
        self._parts = [rows]


@dataclass(frozen=True)
class StateArray:
    """An array of the state of a method, and its admissible values.

    Parameters
    ----------
    array : the array, or log, that a checkpoint saves and a resumed run restores
    rows : for an array that is filled in part, the name of the number of filled entries of its
        first axis, such as "saved"; arrays with the same name have the same number
    filled : number of filled entries
    inf, nan : see `Form`
    within : bounds of its integers
    """

    array: Array | Log
    rows: str = ""
    filled: int = 0
    inf: _Places = False
    nan: _Places = False
    within: tuple[float, float] | None = None

    def values(self) -> Array:
        """Return the values for a checkpoint."""
        if isinstance(self.array, Log):
            return self.array.rows
        return self.array[: self.filled] if self.rows else self.array

    def form(self, name: str) -> Form:
        """Return the form of the values in a checkpoint."""
        rows = name if isinstance(self.array, Log) else self.rows
        array = self.array.rows if isinstance(self.array, Log) else self.array
        return like(array, rows, inf=self.inf, nan=self.nan, within=self.within)

    def fill(self, name: str, values: Array) -> None:
        """Restore the values of a checkpoint; raise StoreError if they do not fit."""
        if isinstance(self.array, Log):
            self.array.rows = values
        elif self.rows:
            check_count(name, len(values), 0, len(self.array))
            self.array[: len(values)] = values
        else:
            self.array[...] = values


def pack(state: Mapping[str, StateArray | Array]) -> dict[str, Array]:
    """Return copies of the arrays of a state for a checkpoint."""
    values = ((k, one.values() if isinstance(one, StateArray) else one) for k, one in state.items())
    return {name: np.array(array) for name, array in values}


def restore(
    state: Mapping[str, StateArray], saved: Mapping[str, Array], **others: Form
) -> dict[str, int]:
    """Fill the arrays of a state, in place, with those of a checkpoint.

    Parameters
    ----------
    saved : arrays from `Checkpoint.load`
    others : forms of further arrays, which are only checked

    Returns
    -------
    The numbers of filled entries, by the names in `rows` and the names of logs.

    Raises
    ------
    StoreError : naming the first array that is missing, unknown, or of another form.

    Verified by: tests/unit/core/test_checkpoint.py::test_a_state_is_packed_and_restored
    """
    sizes = check_arrays(saved, {name: one.form(name) for name, one in state.items()} | others)
    for name, one in state.items():
        one.fill(name, saved[name])
    return sizes


def saved_array(
    saved: Mapping[str, Array],
    name: str,
    shape: tuple[int | None, ...],
    dtype: str = "f8",
    *,
    inf: bool = False,
    nan: bool = False,
    within: tuple[float, float] | None = None,
) -> Array:
    """Return an array of a checkpoint after a check of its form.

    Parameters
    ----------
    shape : required length of each axis; None if an axis may have any length
    dtype, inf, nan : see `Form`
    within : bounds of the numbers

    Raises
    ------
    StoreError : if it is missing or of another form.

    Verified by: tests/unit/core/test_checkpoint.py::test_single_arrays_are_checked
    """
    low, high = (None, None) if within is None else within
    lengths = tuple(f"any {k}" if n is None else n for k, n in enumerate(shape))
    form = Form(lengths, dtype, inf, nan, low, high)
    if name not in saved:
        raise refused(name, "no such array", str(form))
    if fault := form.fault(np.asarray(saved[name]), {}):
        raise refused(name, fault, str(form))
    return saved[name]


def put_back(arrays: Mapping[str, Array], saved: Mapping[str, Array], *, nan: bool = False) -> None:
    """Restore `arrays`, in place, from those of the same names in a checkpoint.

    Parameters
    ----------
    nan : see `Form`

    Raises
    ------
    StoreError : if one is missing or of another form.

    Verified by: tests/unit/core/test_checkpoint.py::test_single_arrays_are_checked
    """
    for name, array in arrays.items():
        array[...] = saved_array(saved, name, array.shape, _dtype(array), nan=nan)


def check_count(name: str, count: int, least: int, most: int) -> int:
    """Return a count from a checkpoint; raise an error if it is outside [least, most].

    Raises
    ------
    StoreError : naming the array that holds it.
    """
    if not least <= count <= most:
        raise refused(name, f"a count of {count}", f"{least} ... {most}")
    return count


@contextlib.contextmanager
def unpacking() -> Iterator[None]:
    """Turn errors of decoding a checkpoint, such as invalid JSON, into a StoreError."""
    try:
        yield
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        got = f"inconsistent content ({type(error).__name__}: {error})"
        raise refused("", got.splitlines()[0], "the state of a run of this scenario") from error


def refused(name: str, got: str, needs: str) -> StoreError:
    """Return the error for an array of a checkpoint."""
    where = f"checkpoint, array {name!r}" if name else "checkpoint"
    why = "the checkpoint is damaged, or was written by another version."
    try_ = "start the run from the beginning, without --resume."
    return StoreError(where, got, needs, why, try_)
