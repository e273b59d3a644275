"""Functions that kernels call by address: those of a user, and those of the built-in systems.

A kernel that takes functions by address is compiled once and cached for all systems. There are two
kinds: scalar functions of a number (`Callback`), and ``f(x, s, p, out)`` with arrays
(`ArrayCallback`): state x, signs s of switching functions, parameters p, results out. Numba
compiles a user's function if it can. Otherwise the kernel calls back into Python; an exception
there is stored, and raised by `check` after the kernel has returned. Kernels in plain Python look
up the Python function of an address.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.arrays import Integers, Matrix, Table, Vector
from stiction.numerics.c_arithmetic import as_compiled
from stiction.numerics.compiling.user_functions import (
    compiled_user,
    culprit,
    may_raise,
    returning_tuples,
)
from stiction.numerics.jit import kernel, mode, native

__all__ = [
    "ArrayCallback",
    "Callback",
    "CallbackArguments",
    "PythonFunction",
    "address_of",
    "at",
    "call",
    "call_arrays",
    "call_at",
    "carray",
    "compiled_function",
    "entry_at",
    "pointer_to",
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
    """Return the function at an address, for plain kernels: a Python function, or one of C."""
    registered = _PYTHON.get(address)
    return registered.call if registered is not None else kind(int(address))


def compiled_function(function: Callable[..., object], signature: str) -> Any:
    """Return `function` as a C function, compiled by Numba and cached; it has an `address`."""
    from numba.core import sigutils

    from stiction.numerics.compiling.linking import c_function

    return c_function(function, sigutils.normalize_signature(signature))


class _UserFunction:
    """A user's function behind an address, with the exception that it raised.

    Attributes
    ----------
    address : for calls by kernels; 0 for none
    compiled : whether Numba compiled it
    error : exception that it raised, for `check`
    """

    _needs = "a function that returns a finite number for every argument"
    _try = "call it yourself with the arguments of the run."

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.address = 0
        self.compiled = False
        self._reference: Any = None
        # whether errors of arithmetic give NaN, as in compiled code
        self._ignores_arithmetic = False

    def _put(self, compiled: Any, kind: Any, python: Callable[..., object]) -> None:
        """Set the address: of `compiled`, or of `python` as a C function of this kind for None."""
        self.compiled = compiled is not None
        self._reference = PythonFunction(python, kind) if compiled is None else compiled
        self.address = int(self._reference.address)

    def _guarded(self, action: Callable[[], None]) -> bool:
        """Run the action unless an exception waits for `check`; return whether it succeeded."""
        if self.error is not None:
            return False
        try:
            action()
        except BaseException as error:  # noqa: BLE001
            arithmetic = isinstance(error, ArithmeticError) or "math domain" in str(error)
            if not (self._ignores_arithmetic and arithmetic):
                # an exception cannot pass through compiled code: store it for `check`
                self.error = error
            return False
        return True

    def check(self) -> None:
        """Raise ModelError if the function raised while compiled code was calling it."""
        if self.error is not None and not isinstance(self.error, Exception):
            raise self.error  # an interrupt such as Ctrl-C
        if self.error is not None:
            error, self.error = self.error, None
            raise ModelError(
                self.name,
                f"{type(error).__name__}: {error}",
                self._needs,
                "the function raised this exception during the run.",
                self._try,
            ) from error


class Callback(_UserFunction):
    """A function of one float with an address that kernels can call.

    Parameters
    ----------
    function : takes and returns one float; None gives the address 0
    name : name of the field that holds it, for messages
    """

    def __init__(self, function: Callable[[float], float] | None, name: str) -> None:
        super().__init__(name)
        if function is None:
            return
        # in plain kernels division by zero gives inf or NaN, as in compiled code
        plain = mode() == "plain" and not may_raise(function)
        self._function = as_compiled(function) if plain else function
        self._number: Callable[[float], float] = np.float64 if plain else float
        made, _ = _as_c_function(_SCALAR, [function], lambda: compiled_user(function).py_func)
        self._put(made, _C_SCALAR, self._python)

    def _python(self, argument: float) -> float:
        """Return the value of the user's function; NaN if it raised, now or before."""
        value = math.nan

        def action() -> None:
            nonlocal value
            value = float(self._function(self._number(argument)))

        return value if self._guarded(action) else math.nan


@dataclass(frozen=True)
class CallbackArguments:
    """Arguments of the parts of an `ArrayCallback`, and the indices of their results.

    Parameters
    ----------
    arguments : for each part the names of its arguments in order, of "t", "x", "s" and "p"
    clock : whether the time follows the state in x
    parameters : a class of named tuples for the numbers at p; or the number of parameters
    slots : for each part the entries of `out` that it fills; consecutive ones if None
    fixed : further entries of `out` and their values
    """

    arguments: tuple[tuple[str, ...], ...]
    clock: bool = False
    parameters: type[tuple[float, ...]] | int = 0
    slots: tuple[tuple[int, ...], ...] | None = None
    fixed: tuple[tuple[int, float], ...] = ()

    @property
    def n_parameters(self) -> int:
        """Number of parameters at p."""
        count = self.parameters
        return count if isinstance(count, int) else len(getattr(count, "_fields", ()))


class ArrayCallback(_UserFunction):
    """A set of user functions of arrays behind one address that kernels can call.

    Parameters
    ----------
    parts : user functions of x, or of (x, s) if `signed`, or with the arguments of `layout`; each
        returns a number or a sequence, and `out` gets their results in order
    counts : number of results of each part
    n, n_signs : lengths of x and s
    name : name of the field that holds them, for messages
    signed : whether the parts take the signs s as a second argument
    choose : whether only one part is called: part 0 if s[0] > 0, else part 1
    layout : arguments of the parts if they are not x and s

    Attributes
    ----------
    cost : duration of a call in Python [s]; 0 if compiled
    culprit : why Numba does not compile it, in a few words; empty if it does
    """

    _needs = "a function that returns finite numbers for every state of the run"
    _try = "call it yourself with the state of the run."

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
        layout: CallbackArguments | None = None,
    ) -> None:
        super().__init__(name)
        self.cost, self.culprit = 0.0, ""
        self._parts, self._counts, self._choose = tuple(parts), tuple(counts), choose
        usual = ("x", "s") if signed else ("x",)
        self._layout = CallbackArguments((usual,) * len(self._parts)) if layout is None else layout
        self._slots = self._layout.slots or self._consecutive_slots()
        used = [slot for slots in self._slots for slot in slots]
        used += [slot for slot, _ in self._layout.fixed]
        self._shape = (n, n_signs, 1 + max(used))
        self._ignores_arithmetic = mode() == "plain" and not any(map(may_raise, self._parts))
        # in plain mode the functions get the arithmetic of compiled code
        self._called = (
            tuple(map(as_compiled, self._parts)) if self._ignores_arithmetic else self._parts
        )
        # a single result may be a number, or a sequence of one
        ways = [(fast, one) for fast in (True, False) for one in (True, False)]
        for fast, one in ways if 1 in self._counts else [(True, False), (False, False)]:
            wrapper = functools.partial(self._wrapper, fast=fast, number=one)
            made, self.culprit = _as_c_function(_ARRAYS, self._parts, wrapper)
            if made is not None or mode() == "plain":
                break
        self._put(made, _C_ARRAYS, self._python)

    def _consecutive_slots(self) -> tuple[tuple[int, ...], ...]:
        """Return consecutive entries of `out` for the results of the parts."""
        ends = np.cumsum(self._counts) if not self._choose else np.array(self._counts)
        both = zip(ends.tolist(), self._counts, strict=True)
        return tuple(tuple(range(end - count, end)) for end, count in both)

    def measure(self, x: Floats, s: Floats, p: Floats | None = None) -> None:
        """Set `cost` from a few calls at (x, s, p) if the parts are plain Python.

        A stored exception is dropped, also one of these calls, and `cost` is then 0.
        """
        if self.compiled:
            return
        out, p = np.empty(self._shape[2]), np.zeros(1) if p is None else p
        arguments = [a.ctypes.data for a in (x, s, p, out)]
        begin = time.perf_counter()
        with np.errstate(all="ignore"):
            for _ in range(5):
                self._python(*arguments)
        self.cost = (time.perf_counter() - begin) / 5.0
        if isinstance(self.error, Exception):
            # the functions need not be defined at states before the run
            self.error, self.cost = None, 0.0

    def _python(self, x_at: Any, s_at: Any, p_at: Any, out_at: Any) -> None:
        """Call the parts in Python at the addresses of x, s, p, and write their results to out."""
        n, n_signs, n_out = self._shape
        out, layout = carray(out_at, (n_out,)), self._layout

        def action() -> None:
            state = np.array(carray(x_at, (n + layout.clock,)))
            s = np.array(carray(s_at, (n_signs,)))
            given: dict[str, Any] = {"x": state[:n], "s": s}
            if layout.clock:
                given["t"] = float(state[n])
            if layout.n_parameters or not isinstance(layout.parameters, int):
                given["p"] = np.array(carray(p_at, (layout.n_parameters,)))
                if not isinstance(layout.parameters, int):
                    given["p"] = layout.parameters(*given["p"].tolist())
            for i in self._picked(s):
                names = layout.arguments[i]
                values = self._called[i](*(given.get(name, _NOTHING) for name in names))
                results = np.asarray(values, dtype=np.float64).reshape(-1)
                # a wrong number of results gives NaN, as in compiled code
                good = results.size == self._counts[i]
                cast("npt.NDArray[Any]", out)[list(self._slots[i])] = results if good else math.nan
            for slot, value in layout.fixed:
                out[slot] = value

        if not self._guarded(action):
            out[:] = math.nan

    def _picked(self, s: Floats) -> Sequence[int]:
        """Return the numbers of the parts that are called at the signs s."""
        return [0 if s[0] > 0.0 else 1] if self._choose else range(len(self._parts))

    def _wrapper(self, *, fast: bool, number: bool) -> Callable[..., None]:
        """Return f(x, s, p, out) that calls the parts and copies their results entry by entry.

        Compiled code can index tuples of mixed types by constants only, so that the source of this
        function is generated for the given counts. A result of another length gives NaN. `fast`
        replaces returned lists by tuples, which not all functions allow; with `number` single
        results are numbers, not sequences.
        """
        n, n_signs, n_out = self._shape
        layout, used = self._layout, {name for names in self._layout.arguments for name in names}
        n_p, named = layout.n_parameters, not isinstance(layout.parameters, int)
        lines = [
            "def wrapper(x_at, s_at, p_at, out_at):",
            f"    x = carray(x_at, ({n},))",
            f"    s = carray(s_at, ({n_signs},))",
            f"    out = carray(out_at, ({n_out},))",
        ]
        if "t" in used:
            lines.append(f"    t = carray(x_at, ({n + 1},))[{n}]")
        if "p" in used and named:
            lines.append(f"    p_all = carray(p_at, ({max(n_p, 1)},))")
            lines.append(f"    p = Parameters({', '.join(f'p_all[{c}]' for c in range(n_p))})")
        elif "p" in used:
            lines.append(f"    p = carray(p_at, ({n_p},))")
        # a part may write into its arguments, which are arrays of the solver: restore them after it
        arguments = [("x", c) for c in range(n)]
        arguments += [("s", c) for c in range(n_signs)] if "s" in used else []
        arguments += [("p", c) for c in range(n_p)] if "p" in used and not named else []
        lines += [f"    {name}_{c} = {name}[{c}]" for name, c in arguments]
        for i, (count, slots) in enumerate(zip(self._counts, self._slots, strict=True)):
            indent = "    "
            if self._choose:
                lines.append(f"    {'if s[0] > 0.0' if i == 0 else 'else'}:")
                indent = "        "
            lines.append(f"{indent}r{i} = part{i}({', '.join(layout.arguments[i])})")
            lines += [f"{indent}{name}[{c}] = {name}_{c}" for name, c in arguments]
            if count == 1 and number:
                lines.append(f"{indent}out[{slots[0]}] = r{i}")
            else:
                lines.append(f"{indent}good = len(r{i}) == {count}")
                lines += [
                    f"{indent}out[{slot}] = r{i}[{j}] if good else nan"
                    for j, slot in enumerate(slots)
                ]
        lines += [f"    out[{slot}] = {float(value)!r}" for slot, value in layout.fixed]
        made: dict[int, Any] = {}
        parts = [returning_tuples(part) if fast else part for part in self._parts]
        scope: dict[str, Any] = {f"part{i}": compiled_user(p, made) for i, p in enumerate(parts)}
        scope |= {"nan": math.nan, "carray": carray, "Parameters": layout.parameters}
        exec("\n".join(lines), scope)
        return cast(Callable[..., None], scope["wrapper"])


# parameters of a function without parameters
_NOTHING = np.empty(0)


def _as_c_function(
    signature: str, parts: Sequence[Callable[..., object]], function: Callable[[], Any]
) -> tuple[Any, str]:
    """Return `function()` as a C function and "", or None and why it is not compiled."""
    if mode() == "plain":
        return None, ""
    if any(map(may_raise, parts)):
        return None, culprit(parts)
    import numba

    # not cached on disk, because the closure of a user's function may change between runs
    try:
        return numba.cfunc(signature, error_model="numpy")(function()), ""
    except (numba.core.errors.NumbaError, NotImplementedError, TypeError, ValueError) as error:
        return None, culprit(parts, error)


def address_of(function: Callable[..., None]) -> Any:
    """Return an object with the `address` of a function ``f(x, s, p, out)`` of this package.

    `function` takes four addresses and makes arrays of them with `carray`; its compiled code is
    cached. The address is valid while the object exists.
    """
    if len(inspect.signature(function).parameters) != 4:
        raise TypeError("a kernel behind an address takes (x, s, p, out)")
    return _made(function, mode())


@functools.cache
def _made(function: Callable[..., None], mode_: str) -> Any:
    """Return the object with the address of a function in a mode of kernels, one for each."""
    if mode_ == "plain":
        return PythonFunction(function, _C_ARRAYS)
    return compiled_function(function, _ARRAYS)


# ---- functions for kernels


@native("numba:carray")
def carray(place: Any, shape: tuple[int]) -> Vector:
    """Return an array of this shape at an address."""
    if isinstance(place, np.ndarray):
        flat = place if place.ndim == 1 else place.reshape(-1)
        return cast(Vector, flat if flat.size == shape[0] else flat[: shape[0]])
    given = place if isinstance(place, ctypes._Pointer) else int(place)
    address = ctypes.cast(given, ctypes.c_void_p).value or 0
    memory = _array_type(shape[0]).from_address(address)
    return cast(Vector, np.frombuffer(memory, dtype=np.float64))


@functools.cache
def _array_type(count: int) -> Any:
    """Return the C type of an array of `count` doubles."""
    return ctypes.c_double * count


@native("stiction.numerics.compiling.native:pointer_to")
def pointer_to(dtype: Any, place: Any) -> Any:
    """Return an address of numbers as the address of an element of `dtype`, for `carray`."""
    return carray(place, (dtype.itemsize // 8,)).view(dtype)


@native("stiction.numerics.compiling.native:number_of_number")
def call(address: int, argument: float) -> float:
    """Return function(argument) for the float -> float function at `address`."""
    return float(python_at(address, _C_SCALAR)(argument))


@native("stiction.numerics.compiling.native:call_arrays")
def _call_arrays(address: int, x: Any, s: Any, p: Any, out: Any) -> None:
    """Call the function at `address` with four addresses."""
    registered = _PYTHON.get(address)
    if registered is not None:
        registered.call(x, s, p, out)
    else:
        places = (a if isinstance(a, int) else a.ctypes.data for a in (x, s, p, out))
        _C_ARRAYS(int(address))(*places)


@kernel(plain=_call_arrays)
def call_arrays(address: int, x: Vector, s: Vector, p: Vector, out: Vector | Matrix) -> None:
    """Call the function f(x, s, p, out) at `address`; all arrays are contiguous."""
    _call_arrays(address, x.ctypes.data, s.ctypes.data, p.ctypes.data, out.ctypes.data)


@kernel(plain=_call_arrays)
def call_at(address: int, x: int, s: int, p: int, out: int) -> None:
    """Call the function at `address` with four addresses, from `at`, `row_at` and `entry_at`.

    In compiled code addresses are cheaper than views of arrays; plain kernels pass arrays.
    """
    _call_arrays(address, x, s, p, out)


@kernel(plain=lambda a: a)
def at(a: Vector | Matrix | Integers | Table[Any]) -> int:
    """Return the address of a contiguous array."""
    start: int = a.ctypes.data
    return start


@kernel(plain=lambda a, row: a[row])
def row_at(a: Matrix, row: int) -> int:
    """Return the address of a row of a contiguous matrix."""
    start: int = a.ctypes.data
    return start + row * a.shape[1] * 8


@kernel(plain=lambda a, row, column: a.reshape(-1)[row * a.shape[1] + column :])
def entry_at(a: Matrix, row: int, column: int) -> int:
    """Return the address of an entry of a contiguous matrix."""
    start: int = a.ctypes.data
    return start + (row * a.shape[1] + column) * 8
