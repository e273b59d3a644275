"""Call a user's scalar function from compiled code, whether Numba understands it or not."""

from __future__ import annotations

import ctypes
import dis
import math
from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from stiction.errors import ModelError, explain

__all__ = ["Callback", "call"]


class Callback:
    """A float -> float function with an address that kernels can call.

    The function is compiled when Numba can compile it and called back into Python when it
    cannot; what it raises there is kept and raised again by `check`.

    Parameters
    ----------
    function : takes and returns one float; None gives the address 0
    name : field it came from, for messages
    """

    def __init__(self, function: Callable[[float], float] | None, name: str) -> None:
        self.name = name
        self.error: BaseException | None = None
        self.address = 0
        self._keep: Any = None
        if function is None:
            return
        compiled = _compiled(function)
        if compiled is None:
            self._keep = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(self._guard(function))
            self.address = ctypes.cast(self._keep, ctypes.c_void_p).value or 0
        else:
            self._keep = compiled
            self.address = int(cast(int, compiled.address))

    def _guard(self, function: Callable[[float], float]) -> Callable[[float], float]:
        def guarded(argument: float) -> float:
            if self.error is not None:
                return math.nan
            try:
                return float(function(argument))
            except BaseException as error:  # noqa: BLE001
                # an exception cannot pass through compiled code: keep it for `check`
                self.error = error
                return math.nan

        return guarded

    def check(self) -> None:
        """Raise ModelError if the function raised while compiled code was calling it."""
        if isinstance(self.error, KeyboardInterrupt):
            raise self.error
        if self.error is not None:
            raise ModelError(
                explain(
                    self.name,
                    f"{type(self.error).__name__}: {self.error}",
                    "a function that returns a finite number for every argument",
                    "it was called during the solve and failed there.",
                    "call it by hand with the arguments of the run.",
                )
            ) from self.error


def _compiled(function: Callable[[float], float]) -> Any:
    """Return `function` as a C function, None when it has to stay in Python.

    One that may raise stays there: compiled code would swallow the exception.
    """
    code = getattr(function, "__code__", None)
    if code is None or any(op.opname == "RAISE_VARARGS" for op in dis.get_instructions(code)):
        return None
    try:
        return numba.cfunc("float64(float64)", error_model="numpy")(function)
    except (numba.core.errors.NumbaError, NotImplementedError, TypeError):
        return None


@intrinsic
def _call(typingctx: Any, address: Any, argument: Any) -> Any:
    """Return function(argument) for the float -> float function at `address`."""
    signature = types.float64(types.int64, types.float64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        double = ir.DoubleType()
        pointer = builder.inttoptr(args[0], ir.FunctionType(double, [double]).as_pointer())
        return builder.call(pointer, [args[1]])

    return signature, codegen


# what kernels write: call(address, argument); the intrinsic's first parameter is Numba's own
call = cast(Callable[[int, float], float], _call)
