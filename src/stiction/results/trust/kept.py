"""Arrays of a checkpoint, checked before a kernel sees them.

A kernel trusts shapes and counts: it would read beyond an array that is too short, and go on with
NaN. So each system says which arrays it keeps, and `check_arrays` compares.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import StoreError, explain

__all__ = ["Form", "check_arrays", "like", "refused", "unpacking"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Form:
    """What an array of a checkpoint must be.

    Parameters
    ----------
    shape : length of each axis; a word stands for a length that all axes of that name share
    dtype : as NumPy writes it, such as "f8", "i8", "i1"; "U" for text of any length
    finite : whether neither NaN nor infinity may be in it
    least, most : what its numbers must lie between; None for anything
    needed : False for an array that need not be there
    """

    shape: tuple[int | str, ...] = ()
    dtype: str = "f8"
    finite: bool = True
    least: float | None = None
    most: float | None = None
    needed: bool = True

    def __str__(self) -> str:
        """Return the form in words."""
        sizes = " x ".join(str(n) for n in self.shape)
        return f"{sizes or 'one'} of {self.dtype}{', all finite' if self._counts_finite else ''}"

    @property
    def _counts_finite(self) -> bool:
        return self.finite and self.dtype.startswith("f")

    def fault(self, array: Array, sizes: dict[str, int]) -> str:
        """Return what is wrong with an array, "" for nothing; learn the lengths of its axes."""
        kind = array.dtype.str.lstrip("<>=|")
        if kind != self.dtype and not (self.dtype == "U" and kind.startswith("U")):
            return f"numbers of type {kind}"
        if array.ndim != len(self.shape) or any(
            size != (want if isinstance(want, int) else sizes.setdefault(want, size))
            for size, want in zip(array.shape, self.shape, strict=True)
        ):
            return f"an array of shape {array.shape}"
        if self._counts_finite and not np.isfinite(array).all():
            return "NaN or infinity"
        low, high = self.least, self.most
        if array.size and low is not None and not (array >= low).all():
            return f"{array.min()}, below {low}"
        if array.size and high is not None and not (array <= high).all():
            return f"{array.max()}, above {high}"
        return ""


def like(array: Array, *, finite: bool = True, rows: str = "") -> Form:
    """Return the form of an array that is there.

    Parameters
    ----------
    array : of the right shape and type
    finite : see `Form`
    rows : name of the length of the first axis; "" takes that of `array`
    """
    shape: tuple[int | str, ...] = (rows, *array.shape[1:]) if rows else array.shape
    return Form(shape, array.dtype.str.lstrip("<>=|"), finite)


def check_arrays(kept: Mapping[str, Array], forms: Mapping[str, Form], **sizes: int) -> None:
    """Refuse a checkpoint whose arrays are not those that a method keeps.

    Parameters
    ----------
    kept : what `Checkpoint.load` returned
    forms : what must be there, by name; nothing else may be there
    sizes : lengths that are known already, by the names that stand in forms

    Raises
    ------
    StoreError : naming the first array that is missing, unknown, or of another form.

    Verified by: tests/unit/results/test_kept.py::test_wrong_arrays_are_named
    """
    known = dict(sizes)
    for name, form in forms.items():
        if name not in kept:
            if form.needed:
                raise refused(name, "no such array", str(form))
            continue
        if fault := form.fault(np.asarray(kept[name]), known):
            lengths = [f"{n} = {known[n]}" for n in form.shape if isinstance(n, str)]
            told = f" ({', '.join(lengths)})" if lengths else ""
            raise refused(name, fault, f"{form}{told}")
    for name in kept:
        if name not in forms:
            raise refused(name, "an array that is not known", "the arrays of this method alone")


@contextlib.contextmanager
def unpacking() -> Iterator[None]:
    """Let what a checkpoint's content runs into, such as text that is no JSON, be a refusal."""
    try:
        yield
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        got = f"content that does not fit together ({type(error).__name__}: {error})"
        raise refused("", got.splitlines()[0], "the state of a run of this scenario") from error


def refused(name: str, got: str, needs: str) -> StoreError:
    """Return the error for an array of a checkpoint."""
    where = f"checkpoint, array {name!r}" if name else "checkpoint"
    why = "it is damaged, or was written by another version, and a run from it would go astray."
    try_ = "leave --resume out to start afresh."
    return StoreError(explain(where, got, needs, why, try_))
