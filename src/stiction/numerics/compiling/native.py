"""Intrinsics of compiled code: calls of C functions by their address.

Each intrinsic takes the types of its arguments, and returns the signature of the call and the
function `codegen`, which emits its LLVM code. Addresses are integers of 64 bits; the functions at
them are those of users, or right-hand sides and laws of this package with state, signs, parameters
and results as arrays. `callback` and `laws.law_kernels` have the bodies for plain Python; this
module is imported only when a kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.extending import intrinsic

__all__ = ["call_arrays", "fill", "number_of_number", "pointer_to", "term", "value"]

_DOUBLE, _WHOLE, _VOID = ir.DoubleType(), ir.IntType(64), ir.VoidType()
_POINTER = _DOUBLE.as_pointer()
_I, _F = types.int64, types.float64


def _called(context: Any, builder: Any, arguments: Sequence[Any], result: Any, kinds: Any) -> Any:
    """Return the call of the C function at arguments[0]; integers may be pointers."""
    function = builder.inttoptr(arguments[0], ir.FunctionType(result, kinds).as_pointer())
    given = [
        builder.inttoptr(value, kind) if isinstance(kind, ir.PointerType) else value
        for value, kind in zip(arguments[1:], kinds, strict=True)
    ]
    done = builder.call(function, given)
    return context.get_dummy_value() if isinstance(result, ir.VoidType) else done


@intrinsic
def number_of_number(typingctx: Any, address: Any, argument: Any) -> Any:
    """Return f(argument) for the float -> float function f at `address`."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _called(context, builder, args, _DOUBLE, [_DOUBLE])

    return _F(_I, _F), codegen


@intrinsic
def call_arrays(typingctx: Any, address: Any, x: Any, s: Any, p: Any, out: Any) -> Any:
    """Call f(x, s, p, out) for the function f at `address`; the arguments are addresses."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _called(context, builder, args, _VOID, [_POINTER] * 4)

    return types.void(_I, _I, _I, _I, _I), codegen


@intrinsic
def value(typingctx: Any, address: Any, v: Any, z: Any, p: Any) -> Any:
    """Return f(v, z, p) for the function f at `address`; z and p are addresses."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _called(context, builder, args, _DOUBLE, [_DOUBLE, _POINTER, _POINTER])

    return _F(_I, _F, _I, _I), codegen


@intrinsic
def fill(typingctx: Any, address: Any, v: Any, z: Any, p: Any, out: Any) -> Any:
    """Call f(v, z, p, out) for the function f at `address`; z, p and out are addresses."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _called(context, builder, args, _VOID, [_DOUBLE, _POINTER, _POINTER, _POINTER])

    return types.void(_I, _F, _I, _I, _I), codegen


@intrinsic
def term(
    typingctx: Any, address: Any, k: Any, v: Any, factor: Any, w: Any, step: Any, e: Any, p: Any
) -> Any:
    """Return f(k, v, factor, w, step, e, p), f at `address`; w, e and p are addresses."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kinds = [_WHOLE, _DOUBLE, _DOUBLE, _POINTER, _WHOLE, _POINTER, _POINTER]
        return _called(context, builder, args, _DOUBLE, kinds)

    return _F(_I, _I, _F, _F, _I, _I, _I, _I), codegen


@intrinsic
def pointer_to(typingctx: Any, dtype: Any, place: Any) -> Any:
    """Return a pointer to numbers as a pointer to an element of `dtype`."""
    kind = types.CPointer(dtype.dtype)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[1], context.get_value_type(kind))

    return kind(dtype, place), codegen
