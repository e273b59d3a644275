"""Call a user's functions from compiled code, whether Numba understands them or not.

Kernels see two kinds of functions, a scalar one and ``f(x, s, p, out)``: arrays in, an array
filled. Both are passed by address, so a kernel is compiled once and cached for every system
there is. A function is compiled when Numba can compile it and called back into Python when it
cannot; what it raises there is kept and raised again by `check`.
"""

from __future__ import annotations

import ctypes
import dis
import inspect
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from stiction.errors import ModelError, explain
from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "ArrayCallback",
    "Callback",
    "address_of",
    "call",
    "call_arrays",
    "call_at",
    "carray",
    "row_at",
]

Floats = npt.NDArray[np.float64]
_POINTER = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_SCALAR = types.float64(types.float64)
_ARRAYS = types.void(_POINTER, _POINTER, _POINTER, _POINTER)

# the numbers behind a pointer as an array, in compiled code; Numba exports it without a type
carray = cast(Callable[[Any, tuple[int]], Vector], vars(numba)["carray"])


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

    def _put(self, compiled: Any, kind: Any, python: Callable[..., object]) -> None:
        """Set the address: of `compiled`, or of `python` as a C function of this kind for None."""
        self.compiled = compiled is not None
        if compiled is None:
            self._keep = kind(python)
            self.address = ctypes.cast(self._keep, ctypes.c_void_p).value or 0
        else:
            self._keep = compiled
            self.address = int(cast(int, compiled.address))

    def _guarded(self, action: Callable[[], None]) -> bool:
        """Return whether the action went well; after an exception none is begun until `check`."""
        if self.error is not None:
            return False
        try:
            action()
        except BaseException as error:  # noqa: BLE001
            # an exception cannot pass through compiled code: keep it for `check`
            self.error = error
            return False
        return True

    def check(self) -> None:
        """Raise ModelError if the function raised while compiled code was calling it."""
        if isinstance(self.error, KeyboardInterrupt):
            raise self.error
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
        self._function = function
        kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
        self._put(_as_c_function(_SCALAR, [function], lambda: function), kind, self._python)

    def _python(self, argument: float) -> float:
        value = math.nan

        def action() -> None:
            nonlocal value
            value = float(self._function(argument))

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
        self._signed, self._choose = signed, choose
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
        self._put(_as_c_function(_ARRAYS, self._parts, self._wrapper), kind, self._python)

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

    def _python(self, x_at: int, s_at: int, p_at: int, out_at: int) -> None:
        n, n_signs, n_out = self._shape
        out = _view(out_at, n_out)

        def action() -> None:
            x, s = _view(x_at, n).copy(), _view(s_at, n_signs).copy()
            begin = 0
            for part, count in self._picked(s):
                out[begin : begin + count] = part(x, s) if self._signed else part(x)
                begin += count

        if not self._guarded(action):
            out[:] = math.nan

    def _picked(self, s: Floats) -> list[tuple[Callable[..., Any], int]]:
        every = list(zip(self._parts, self._counts, strict=True))
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
    signature: Any, parts: Sequence[Callable[..., object]], function: Callable[[], Any]
) -> Any:
    """Return `function()` as a C function, None when one of its parts has to stay in Python."""
    if any(_may_raise(part) for part in parts):
        return None
    try:
        return numba.cfunc(signature, error_model="numpy")(function())
    except (numba.core.errors.NumbaError, NotImplementedError, TypeError, ValueError):
        return None


def _may_raise(function: Callable[..., object]) -> bool:
    """Return whether it must stay in Python: compiled code would swallow its exceptions."""
    function = getattr(function, "py_func", function)
    code = getattr(function, "__code__", None)
    return code is None or any(op.opname == "RAISE_VARARGS" for op in dis.get_instructions(code))


def _jitted(part: Callable[..., object]) -> Any:
    return part if hasattr(part, "py_func") else numba.njit(error_model="numpy")(part)


def _view(address: int, count: int) -> Floats:
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))


def address_of(function: Any) -> Any:
    """Return the C function of a kernel ``f(x, s, p, out)`` of ours, compiled and cached.

    `function` takes four pointers and makes arrays of them with `carray`; its `.address` is
    what kernels call. Keep the returned object alive.
    """
    if len(inspect.signature(function).parameters) != 4:
        raise TypeError("a kernel behind an address takes (x, s, p, out)")
    return numba.cfunc(_ARRAYS, error_model="numpy", cache=True)(function)


# ---- what kernels write


@intrinsic
def _call(typingctx: Any, address: Any, argument: Any) -> Any:
    """Return function(argument) for the float -> float function at `address`."""
    signature = types.float64(types.int64, types.float64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        double = ir.DoubleType()
        pointer = builder.inttoptr(args[0], ir.FunctionType(double, [double]).as_pointer())
        return builder.call(pointer, [args[1]])

    return signature, codegen


@intrinsic
def _call_arrays(typingctx: Any, address: Any, x: Any, s: Any, p: Any, out: Any) -> Any:
    """Call the function at `address` with four addresses of arrays."""
    signature = types.void(types.int64, types.int64, types.int64, types.int64, types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer_type = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer_type] * 4)
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(a, pointer_type) for a in args[1:]])
        return context.get_dummy_value()

    return signature, codegen


# the first parameter of an intrinsic is Numba's own
call = cast(Callable[[int, float], float], _call)
_at = cast(Callable[[int, int, int, int, int], None], _call_arrays)


@kernel
def call_arrays(address: int, x: Vector, s: Vector, p: Vector, out: Vector | Matrix) -> None:
    """Call the function f(x, s, p, out) at `address`; all arrays are contiguous."""
    _at(address, x.ctypes.data, s.ctypes.data, p.ctypes.data, out.ctypes.data)


@kernel
def call_at(address: int, x: int, s: int, p: int, out: int) -> None:
    """Call the function at `address` with the addresses of arrays.

    Views of arrays cost more than such a call; a row of a matrix is named by `row_at`.
    """
    _at(address, x, s, p, out)


@kernel
def row_at(a: Matrix, row: int) -> int:
    """Return the address of a row of a contiguous matrix."""
    start: int = a.ctypes.data
    return start + row * a.shape[1] * 8
