"""Calls of kernels, by as few instructions as they take.

After each call Numba tells seven ways to end apart, copies what was raised into memory of its own
and back, and asks whether it stands in a block that catches: some twenty-five instructions. No
kernel catches anything. A kernel hands on the memory into which its own caller looks, so what was
raised is where it belongs, and asks nothing of one that cannot raise: whether it can is seen from
what it returns and stands in the types of its arguments (`Sure`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm
from numba.core import base, cgutils, imputils, ir
from numba.core import types as kinds
from numba.core.callconv import (
    RETCODE_EXC,
    RETCODE_NONE,
    RETCODE_OK,
    RETCODE_STOPIT,
    RETCODE_USEREXC,
    CPUCallConv,
    TryStatus,
)
from numba.core.lowering import BaseLower

from stiction.numerics.compiling.front.handing import Whole

__all__ = ["CALLING", "Sure"]

_CALL: Any = CPUCallConv.call_function
_PROPAGATE: Any = CPUCallConv.return_status_propagate
_CHECK: Any = CPUCallConv.check_try_status
_SETUP: Any = BaseLower.setup_function
_LOWER: Any = BaseLower.lower_normal_function
_USER_FUNCTION: Any = imputils.user_function
_RIGHT = {RETCODE_OK.constant, RETCODE_NONE.constant}


class Sure(Whole):
    """Types of arguments of a kernel that raises nothing."""

    __slots__ = ()


def _setup(self: Any, description: Any) -> None:
    """Begin a function, and note whether it catches anything."""
    _SETUP(self, description)
    self.builder.catches = any(map(_marks_a_try, self.blocks.values()))


def _marks_a_try(block: Any) -> bool:
    values = (one.value for one in block.body if isinstance(one, ir.Assign))
    marks = (one.value for one in values if isinstance(one, ir.Global | ir.FreeVar))
    return any(getattr(mark, "__module__", None) == "numba.core.unsafe.eh" for mark in marks)


def _lower(self: Any, description: Any) -> None:
    """Lower a function, and note whether it can raise."""
    _LOWER(self, description)
    ends = (block.terminator for block in self.function.blocks)
    codes = [end.operands[0] for end in ends if isinstance(end, llvm.instructions.Ret)]
    right = all(isinstance(code, llvm.Constant) and code.constant in _RIGHT for code in codes)
    if right and isinstance(description.argtypes, Whole):
        description.argtypes = Sure(description.argtypes)


def _plain(builder: Any) -> bool:
    """Say whether a builder is in a function that catches nothing."""
    return getattr(builder, "catches", True) is False


class _Status:
    """How a call ended; instructions that tell it are made where it is asked for.

    Attributes
    ----------
    code : what was returned
    """

    def __init__(self, builder: Any, code: Any, result: Any, sure: bool, raised: Any) -> None:
        self.code = code
        self._builder, self._result, self._sure, self._raised = builder, result, sure, raised

    def _is(self, code: Any) -> Any:
        return self._builder.icmp_signed("==", self.code, code)

    @property
    def is_none(self) -> Any:
        """Whether it returned None."""
        may_be = isinstance(self._result, kinds.Optional | kinds.NoneType)
        return self._is(RETCODE_NONE) if may_be else cgutils.false_bit

    @property
    def is_ok(self) -> Any:
        """Whether it returned."""
        return self._builder.not_(self.is_error)

    @property
    def is_error(self) -> Any:
        """Whether it raised."""
        if self._sure:
            return cgutils.false_bit
        none = self.is_none
        wrong = self._builder.icmp_signed("!=", self.code, RETCODE_OK)
        return (
            wrong
            if none is cgutils.false_bit
            else self._builder.and_(wrong, self._builder.not_(none))
        )

    @property
    def is_stop_iteration(self) -> Any:
        """Whether it is a generator that came to its end."""
        return self._is(RETCODE_STOPIT)

    @property
    def is_python_exc(self) -> Any:
        """Whether it raised in Python."""
        return self._is(RETCODE_EXC)

    @property
    def is_user_exc(self) -> Any:
        """Whether it raised what is told in `excinfoptr`."""
        return self._builder.icmp_signed(">=", self.code, RETCODE_USEREXC)

    @property
    def excinfoptr(self) -> Any:
        """What it raised."""
        return self._builder.load(self._raised)


def _call(
    self: Any, builder: Any, callee: Any, result: Any, given: Any, args: Any, attrs: Any = None
) -> Any:
    """Call a function; return how it ended and its result."""
    shape = self.get_return_type(result).pointee
    known = shape == self._get_return_argument(callee.function_type).pointee
    if not _plain(builder) or attrs is not None or not known:
        return _CALL(self, builder, callee, result, given, args, attrs)
    held = cgutils.alloca_once(builder, shape)
    builder.store(cgutils.get_null_value(shape), held)
    raised = self._get_excinfo_argument(builder.function)
    handed = self._get_arg_packer(given).as_arguments(builder, args)
    code = builder.call(callee, [held, raised, *handed])
    value = self.context.get_returned_value(builder, result, builder.load(held))
    return _Status(builder, code, result, isinstance(given, Sure), raised), value


def _propagate(self: Any, builder: Any, status: Any) -> None:
    """Return what a call that failed returned: what it raised is where our caller looks."""
    if isinstance(status, _Status):
        self._return_errcode_raw(builder, status.code)
    else:
        _PROPAGATE(self, builder, status)


def _check(self: Any, builder: Any) -> Any:
    """Return whether what is raised here is caught here."""
    return TryStatus(cgutils.false_bit, None) if _plain(builder) else _CHECK(self, builder)


def _user_function(description: Any, libraries: Any) -> Any:
    """Return what inserts a call; of a function that raises nothing, without asking."""
    usual = _USER_FUNCTION(description, libraries)
    if not isinstance(description.argtypes, Sure):
        return usual

    def insert(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not _plain(builder):
            return usual(context, builder, signature, args)
        result = description.restype
        callee = context.declare_function(builder.module, description)
        status, value = context.call_conv.call_function(
            builder, callee, result, description.argtypes, args
        )
        value = imputils.fix_returning_optional(context, builder, signature, status, value)
        return imputils.impl_ret_new_ref(context, builder, result, value)

    insert.signature = usual.signature  # type: ignore[attr-defined]
    insert.libs = usual.libs  # type: ignore[attr-defined]
    return insert


# called instead of Numba's own while a kernel is compiled
CALLING: tuple[tuple[Any, str, Any], ...] = (
    (BaseLower, "setup_function", _setup),
    (BaseLower, "lower_normal_function", _lower),
    (CPUCallConv, "call_function", _call),
    (CPUCallConv, "return_status_propagate", _propagate),
    (CPUCallConv, "check_try_status", _check),
    (base, "user_function", _user_function),
)
