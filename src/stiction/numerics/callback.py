"""Call a user's functions from kernels, whether Numba understands them or not.

Kernels see two kinds of functions, a scalar one and ``f(x, s, p, out)``: arrays in, an array
filled. Both are passed by address, so a kernel is compiled once and cached for every system
there is. A function is compiled when Numba can compile it and called back into Python when it
cannot; what it raises there is kept and raised again by `check`. Plain kernels go by the same
addresses, and find the Python function behind one without leaving Python.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, explain
from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.c_arithmetic import as_compiled, may_raise
from stiction.numerics.jit import kernel, mode, native

__all__ = [
    "ArrayCallback",
    "Callback",
    "PythonFunction",
    "address_of",
    "at",
    "call",
    "call_arrays",
    "call_at",
    "carray",
    "compiled_function",
    "entry_at",
    "python_at",
    "row_at",
]

Floats = npt.NDArray[np.float64]

# the two kinds of functions, as C and as Numba write them
_C_SCALAR = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
_C_ARRAYS = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
_SCALAR = "float64(float64)"
_ARRAYS = "void(CPointer(float64), CPointer(float64), CPointer(float64), CPointer(float64))"


# ---- functions behind addresses


class PythonFunction:
    """A Python function with a true address, which compiled code and plain kernels can call.

    Parameters
    ----------
    function : the function
    kind : its type, from ctypes.CFUNCTYPE
    """

    def __init__(self, function: Callable[..., Any], kind: Any) -> None:
        self.call, self._c = function, kind(function)
        self.address = ctypes.cast(self._c, ctypes.c_void_p).value or 0
        _PYTHON[self.address] = self


_PYTHON: weakref.WeakValueDictionary[int, PythonFunction] = weakref.WeakValueDictionary()


def python_at(address: int, kind: Any) -> Callable[..., Any]:
    """Return the function at an address, for plain kernels: the one that stands there, or C."""
    found = _PYTHON.get(address)
    return found.call if found is not None else kind(int(address))


def compiled_function(function: Callable[..., object], signature: str) -> Any:
    """Return `function` as a C function, compiled by Numba and kept on disk; has an `address`."""
    from numba.core import sigutils

    from stiction.numerics.compiling.linking import c_function

    return c_function(function, sigutils.normalize_signature(signature))


class _UserFunction:
    """An address that kernels can call, and what the function behind it raised.

    Attributes
    ----------
    address : what kernels call; 0 for none
    compiled : whether Numba compiled it
    error : what it raised, kept for `check`
    """

    _needs = "a function that returns a finite number for every argument"
    _try = "call it by hand with the arguments of the run."

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.address = 0
        self.compiled = False
        self._keep: Any = None
        # whether arithmetic that Python refuses gives NaN, as in compiled code
        self._forgives = False

    def _put(self, compiled: Any, kind: Any, python: Callable[..., object]) -> None:
        """Set the address: of `compiled`, or of `python` as a C function of this kind for None."""
        self.compiled = compiled is not None
        self._keep = PythonFunction(python, kind) if compiled is None else compiled
        self.address = int(self._keep.address)

    def _guarded(self, action: Callable[[], None]) -> bool:
        """Return whether the action went well; after an exception none is begun until `check`."""
        if self.error is not None:
            return False
        try:
            action()
        except BaseException as error:  # noqa: BLE001
            arithmetic = isinstance(error, ArithmeticError) or "math domain" in str(error)
            if not (self._forgives and arithmetic):
                # an exception cannot pass through compiled code: keep it for `check`
                self.error = error
            return False
        return True

    def check(self) -> None:
        """Raise ModelError if the function raised while compiled code was calling it."""
        if self.error is not None and not isinstance(self.error, Exception):
            raise self.error  # Ctrl-C, for one, is no error of the function
        if self.error is not None:
            error, self.error = self.error, None
            raise ModelError(
                explain(
                    self.name,
                    f"{type(error).__name__}: {error}",
                    self._needs,
                    "it was called during the solve and failed there.",
                    self._try,
                )
            ) from error


class Callback(_UserFunction):
    """A float -> float function with an address that kernels can call.

    Parameters
    ----------
    function : takes and returns one float; None gives the address 0
    name : field it came from, for messages
    """

    def __init__(self, function: Callable[[float], float] | None, name: str) -> None:
        super().__init__(name)
        if function is None:
            return
        # plain kernels give what divides by zero as compiled code does, unless it says otherwise
        plain = mode() == "plain" and not may_raise(function)
        self._function = as_compiled(function) if plain else function
        self._number: Callable[[float], float] = np.float64 if plain else float
        self._put(_as_c_function(_SCALAR, [function], lambda: function), _C_SCALAR, self._python)

    def _python(self, argument: float) -> float:
        value = math.nan

        def action() -> None:
            nonlocal value
            value = float(self._function(self._number(argument)))

        return value if self._guarded(action) else math.nan


class ArrayCallback(_UserFunction):
    """A set of user functions of arrays behind one address that kernels can call.

    Parameters
    ----------
    parts : functions of x alone, or of (x, s) where `signed`; each returns a number or a
        sequence; their results stand one after the other in `out`
    counts : how many numbers each part returns
    n, n_signs : lengths of x and s
    name : field they came from, for messages
    signed : whether the parts take the signs as a second argument
    choose : whether s[0] > 0 picks part 0 and anything else part 1

    Attributes
    ----------
    cost : seconds per call where it is plain Python, else 0
    """

    _needs = "a function that returns finite numbers wherever the flow goes"
    _try = "call it by hand with the state of the run."

    def __init__(
        self,
        parts: Sequence[Callable[..., object]],
        counts: Sequence[int],
        *,
        n: int,
        n_signs: int,
        name: str,
        signed: bool = False,
        choose: bool = False,
    ) -> None:
        super().__init__(name)
        self.cost = 0.0
        self._shape = (n, n_signs, counts[0] if choose else sum(counts))
        self._parts, self._counts = tuple(parts), tuple(counts)
        # what runs without a compiler
        self._called = self._parts
        self._signed, self._choose = signed, choose
        self._forgives = mode() == "plain" and not any(map(may_raise, self._parts))
        if self._forgives:
            self._called = tuple(map(as_compiled, self._parts))
        self._put(_as_c_function(_ARRAYS, self._parts, self._wrapper), _C_ARRAYS, self._python)

    def measure(self, x: Floats, s: Floats) -> None:
        """Set `cost` from a few calls at (x, s) if the parts are plain Python."""
        if self.compiled:
            return
        out, p = np.empty(self._shape[2]), np.zeros(1)
        arguments = [a.ctypes.data for a in (x, s, p, out)]
        begin = time.perf_counter()
        for _ in range(5):
            self._python(*arguments)
        self.cost = (time.perf_counter() - begin) / 5.0

    def _python(self, x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
        n, n_signs, n_out = self._shape
        out = carray(out_at, (n_out,))

        def action() -> None:
            x, s = np.array(carray(x_at, (n,))), np.array(carray(s_at, (n_signs,)))
            begin = 0
            for part, count in self._picked(s):
                out[begin : begin + count] = part(x, s) if self._signed else part(x)
                begin += count

        if not self._guarded(action):
            out[:] = math.nan

    def _picked(self, s: Floats) -> list[tuple[Callable[..., Any], int]]:
        every = list(zip(self._called, self._counts, strict=True))
        return [every[0 if s[0] > 0.0 else 1]] if self._choose else every

    def _wrapper(self) -> Callable[..., None]:
        """Return f(x, s, p, out) that calls the parts, written out entry by entry.

        A tuple of numbers of different types can only be indexed by constants in compiled
        code, so the body is generated for these counts. A result of another length fills
        `out` with NaN.
        """
        n, n_signs, n_out = self._shape
        arguments = "x, s" if self._signed else "x"
        lines = [
            "def wrapper(x_at, s_at, p_at, out_at):",
            f"    x = carray(x_at, ({n},))",
            f"    s = carray(s_at, ({n_signs},))",
            f"    out = carray(out_at, ({n_out},))",
        ]
        # what a part writes into its arguments must not reach the solver's own memory
        kept = [("x", c) for c in range(n)]
        kept += [("s", c) for c in range(n_signs)] if self._signed else []
        lines += [f"    {name}_{c} = {name}[{c}]" for name, c in kept]
        begin = 0
        for i, count in enumerate(self._counts):
            indent = "    "
            if self._choose:
                lines.append(f"    {'if s[0] > 0.0' if i == 0 else 'else'}:")
                indent, begin = "        ", 0
            lines.append(f"{indent}r{i} = part{i}({arguments})")
            lines += [f"{indent}{name}[{c}] = {name}_{c}" for name, c in kept]
            if count == 1 and not self._choose:
                lines.append(f"{indent}out[{begin}] = r{i}")
            else:
                lines.append(f"{indent}good = len(r{i}) == {count}")
                lines += [
                    f"{indent}out[{begin + j}] = r{i}[{j}] if good else nan" for j in range(count)
                ]
            begin += count
        scope: dict[str, Any] = {f"part{i}": _jitted(part) for i, part in enumerate(self._parts)}
        scope["nan"] = math.nan
        scope["carray"] = carray
        exec("\n".join(lines), scope)
        return cast(Callable[..., None], scope["wrapper"])


def _as_c_function(
    signature: str, parts: Sequence[Callable[..., object]], function: Callable[[], Any]
) -> Any:
    """Return `function()` as a C function, None when one of its parts has to stay in Python."""
    if mode() == "plain" or any(may_raise(part) for part in parts):
        return None
    import numba

    # a user's function is compiled anew: what it closes over may change between runs
    try:
        return numba.cfunc(signature, error_model="numpy")(function())
    except (numba.core.errors.NumbaError, NotImplementedError, TypeError, ValueError):
        return None


def _jitted(part: Callable[..., object]) -> Any:
    import numba

    return part if hasattr(part, "py_func") else numba.njit(error_model="numpy")(part)


def address_of(function: Callable[..., None]) -> Any:
    """Return what holds the address of a kernel ``f(x, s, p, out)`` of ours, made once.

    `function` takes four places and makes arrays of them with `carray`; `.address` of what is
    returned is what kernels call. Keep it alive.
    """
    if len(inspect.signature(function).parameters) != 4:
        raise TypeError("a kernel behind an address takes (x, s, p, out)")
    return _made(function, mode())


@functools.cache
def _made(function: Callable[..., None], mode_: str) -> Any:
    if mode_ == "plain":
        return PythonFunction(function, _C_ARRAYS)
    return compiled_function(function, _ARRAYS)


# ---- what kernels write


@native("numba:carray")
def carray(place: Any, shape: tuple[int]) -> Vector:
    """Return the numbers at a place as an array, also those after it."""
    if isinstance(place, np.ndarray):
        found = place if place.ndim == 1 else place.reshape(-1)
        return cast(Vector, found if found.size == shape[0] else found[: shape[0]])
    given = place if isinstance(place, ctypes._Pointer) else int(place)
    address = ctypes.cast(given, ctypes.c_void_p).value or 0
    found = _row_type(shape[0]).from_address(address)
    return cast(Vector, np.frombuffer(found, dtype=np.float64))


@functools.cache
def _row_type(count: int) -> Any:
    return ctypes.c_double * count


@native("stiction.numerics.compiling.native:number_of_number")
def call(address: int, argument: float) -> float:
    """Return function(argument) for the float -> float function at `address`."""
    return float(python_at(address, _C_SCALAR)(argument))


@native("stiction.numerics.compiling.native:call_arrays")
def _call_arrays(address: int, x: Any, s: Any, p: Any, out: Any) -> None:
    """Call the function at `address` with four places."""
    found = _PYTHON.get(address)
    if found is not None:
        found.call(x, s, p, out)
    else:
        _C_ARRAYS(int(address))(*(a.ctypes.data for a in (x, s, p, out)))


@kernel(plain=_call_arrays)
def call_arrays(address: int, x: Vector, s: Vector, p: Vector, out: Vector | Matrix) -> None:
    """Call the function f(x, s, p, out) at `address`; all arrays are contiguous."""
    _call_arrays(address, x.ctypes.data, s.ctypes.data, p.ctypes.data, out.ctypes.data)


@kernel(plain=_call_arrays)
def call_at(address: int, x: int, s: int, p: int, out: int) -> None:
    """Call the function at `address` with four places, from `at`, `row_at` and `entry_at`.

    Views of arrays cost compiled code more than such a call; plain kernels pass the arrays.
    """
    _call_arrays(address, x, s, p, out)


@kernel(plain=lambda a: a)
def at(a: Vector | Matrix) -> int:
    """Return the place of a contiguous array."""
    start: int = a.ctypes.data
    return start


@kernel(plain=lambda a, row: a[row])
def row_at(a: Matrix, row: int) -> int:
    """Return the place of a row of a contiguous matrix."""
    start: int = a.ctypes.data
    return start + row * a.shape[1] * 8


@kernel(plain=lambda a, row, column: a.reshape(-1)[row * a.shape[1] + column :])
def entry_at(a: Matrix, row: int, column: int) -> int:
    """Return the place of an entry of a contiguous matrix, and of what follows it."""
    start: int = a.ctypes.data
    return start + (row * a.shape[1] + column) * 8
