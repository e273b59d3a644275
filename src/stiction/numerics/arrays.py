"""Static types of the arrays in kernels by dimension, and structured arrays with named fields.

NumPy's own types have no dimension, so that an entry of an array has the type `Any`. The protocols
`Vector`, `Matrix`, `Stack` and `Integers` declare the operations that kernels use; NumPy arrays
satisfy them. A `Struct` is an element of a structured array whose fields are attributes, in
compiled code as in Python: the kernels' data with names instead of indices. All modules with
kernels import these types.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Protocol,
    TypeVar,
    cast,
    get_origin,
    get_type_hints,
    overload,
)

import numpy as np
import numpy.typing as npt

__all__ = ["Integers", "Matrix", "Stack", "Struct", "Table", "Vector"]


class _Sized(Protocol):
    """Attributes of arrays of all dimensions."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def ctypes(self) -> Any: ...


class Integers(_Sized, Protocol):
    """(n,) int64."""

    def __array__(self) -> npt.NDArray[np.int64]: ...
    @overload
    def __getitem__(self, key: int, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> Integers: ...
    @overload
    def __setitem__(self, key: int, value: int, /) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: int | Integers, /) -> None: ...


class Vector(_Sized, Protocol):
    """(n,) float64: one index gives a number, a slice another vector."""

    def __array__(self) -> npt.NDArray[np.float64]: ...
    @overload
    def __getitem__(self, key: int, /) -> float: ...
    @overload
    def __getitem__(self, key: slice, /) -> Vector: ...
    @overload
    def __setitem__(self, key: int, value: float, /) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: float | Vector, /) -> None: ...

    def max(self) -> float:
        """Return the largest entry."""

    def view(self, dtype: np.dtype[np.void], /) -> Any:
        """Return the same numbers as a structured array."""

    def copy(self) -> Vector:
        """Return a contiguous copy."""


class Matrix(_Sized, Protocol):
    """(m, n) float64: two indices give a number, one a row, slices a part."""

    def __array__(self) -> npt.NDArray[np.float64]: ...
    @overload
    def __getitem__(self, key: tuple[int, int], /) -> float: ...
    @overload
    def __getitem__(self, key: int | tuple[int, slice] | tuple[slice, int], /) -> Vector: ...
    @overload
    def __getitem__(self, key: slice | tuple[slice, slice], /) -> Matrix: ...
    @overload
    def __setitem__(self, key: tuple[int, int], value: float, /) -> None: ...
    @overload
    def __setitem__(
        self, key: int | tuple[int, slice] | tuple[slice, int], value: float | Vector, /
    ) -> None: ...
    @overload
    def __setitem__(
        self, key: slice | tuple[slice, slice], value: float | Vector | Matrix, /
    ) -> None: ...

    def copy(self) -> Matrix:
        """Return a contiguous copy."""


class Stack(_Sized, Protocol):
    """(k, m, n) float64: three indices give a number, two a row, one a matrix."""

    def __array__(self) -> npt.NDArray[np.float64]: ...
    @overload
    def __getitem__(self, key: tuple[int, int, int], /) -> float: ...
    @overload
    def __getitem__(self, key: tuple[int, int], /) -> Vector: ...
    @overload
    def __getitem__(self, key: int, /) -> Matrix: ...
    @overload
    def __setitem__(self, key: tuple[int, int, int], value: float, /) -> None: ...
    @overload
    def __setitem__(self, key: tuple[int, int], value: float | Vector, /) -> None: ...
    @overload
    def __setitem__(self, key: int, value: float | Vector | Matrix, /) -> None: ...

    def copy(self) -> Stack:
        """Return a contiguous copy."""


# ---- structured arrays

_S = TypeVar("_S", bound="Struct")
_FORMATS: dict[Any, str] = {
    float: "f8", int: "i8", Vector: "f8", Matrix: "f8", Stack: "f8", Integers: "i8",
}  # fmt: skip

if TYPE_CHECKING:
    # NumPy's stubs say that nothing derives from np.void
    _Element = object

    class Table(np.ndarray[Any, np.dtype[Any]], Generic[_S]):
        """A structured array of one dimension or two, whose elements have the fields of S."""

        @overload  # type: ignore[override]
        def __getitem__(self, at: int | tuple[int, int], /) -> _S: ...
        @overload
        def __getitem__(
            self, at: slice | tuple[int | slice, slice] | npt.NDArray[Any], /
        ) -> Table[_S]: ...
        @overload
        def __getitem__(self, at: str | list[str], /) -> npt.NDArray[Any]: ...
        def __getitem__(self, at: Any, /) -> Any: ...

else:
    _Element, Table = np.void, np.ndarray


class Struct(_Element):
    """An element of a structured array; a subclass annotates its fields as float or int.

    A field may be an array: `Annotated[Vector, 3]`, `Annotated[Matrix, 2, 4]`. An element is a
    view: writing to it changes the array. Compiled code reads and writes the same attributes. In
    plain Python the attributes of NumPy's own `np.record` take five times as long.

    Verified by: tests/unit/numerics/test_structured_arrays.py::test_both_modes_write_the_same
    """

    fields_type: ClassVar[np.dtype[np.void]]

    def __init_subclass__(cls) -> None:
        kinds = get_type_hints(cls, include_extras=True)
        fields = [_field(name, kinds[name]) for name in cls.__annotations__]
        cls.fields_type = np.dtype((cls, fields))
        for name, *_ in fields:
            setattr(cls, name, property(operator.itemgetter(name), _setter(name)))

    @classmethod
    def table(cls: type[_S], rows: int | tuple[int, ...] = 1) -> Table[_S]:
        """Return a structured array of zeros, of any shape."""
        return cast("Table[_S]", np.zeros(rows, cls.fields_type))

    @classmethod
    def stacked(cls: type[_S], elements: Sequence[_S]) -> Table[_S]:
        """Return a structured array of copies of elements."""
        table = cls.table(len(elements))
        for k, one in enumerate(elements):
            table[k] = one
        return table

    @classmethod
    def joined(cls: type[_S], parts: Sequence[Table[_S]]) -> Table[_S]:
        """Concatenate structured arrays; NumPy's function loses their attributes."""
        table = cls.table(sum(map(len, parts)))
        np.concatenate([table[:0], *parts], out=table)
        return table


def _field(name: str, kind: Any) -> tuple[Any, ...]:
    """Return the NumPy description of a field, with the shape of an annotated array."""
    if get_origin(kind) is Annotated:
        return name, _FORMATS[kind.__origin__], kind.__metadata__
    return name, _FORMATS[kind]


def _setter(name: str) -> Any:
    """Return the function that writes the field of this name."""

    def put(self: np.void, value: float) -> None:
        self[name] = value

    return put
