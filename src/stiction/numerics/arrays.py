"""Types of the arrays in kernels: mypy knows that one entry is a number and one row a vector.

NumPy's own types say nothing of dimensions and call a single entry of any array `Any`, so that
a scalar function may return anything. These protocols say what a kernel uses of an array; every
NumPy array of the same kind of number fits them.
"""

from __future__ import annotations

from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

__all__ = ["Integers", "Matrix", "Stack", "Vector"]


class _Sized(Protocol):
    """What arrays of all dimensions have."""

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
