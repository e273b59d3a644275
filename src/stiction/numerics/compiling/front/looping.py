"""Loops over ranges, by as few instructions as they take.

Numba makes a range in memory, reads it, divides by its step whether that is one or not, copies what
it counts with for every block, and puts each number into a pair in memory to take it out again: a
hundred and fifty instructions before the body of a loop. Here a range is a value, what is known of
it is used at once, and numbers are not paired in memory. Loops run over the same numbers. A range
whose step is not a constant stays with Numba, as do loops over anything else.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as kinds
from numba.core.base import BaseContext
from numba.core.lowering import Lower

__all__ = ["LOOPING", "part_of"]

_CALL: Any = Lower._lower_call_normal
_EXPRESSION: Any = Lower.lower_expr
# places in Numba's representation of a range, of what counts through it, and of a pair
_START, _STOP, _STEP = 0, 1, 2
_NEXT, _LEFT = 0, 3


def part_of(builder: Any, value: Any, place: int) -> Any:
    """Return a part of a value: what was put there, if that can be seen."""
    whole = value
    while isinstance(whole, ir.instructions.InsertValue):
        if list(whole.indices) == [place]:
            return whole.value
        whole = whole.aggregate
    return builder.extract_value(value, place)


def _put_together(builder: Any, shape: Any, parts: dict[int, Any]) -> Any:
    whole: Any = ir.Constant(shape, ir.Undefined)
    for place, part in parts.items():
        whole = builder.insert_value(whole, part, place)
    return whole


def _call(self: Any, function: Any, expression: Any, signature: Any) -> Any:
    """Lower a call; `range` makes a value."""
    made = signature.return_type
    plain = isinstance(made, kinds.RangeType) and getattr(function, "typing_key", None) is range
    if not plain or expression.kws or expression.vararg is not None:
        return _CALL(self, function, expression, signature)
    given = self.fold_call_args(function, signature, expression.args, None, ())
    zero, one = (self.context.get_constant(made.dtype, number) for number in (0, 1))
    start = given[0] if len(given) > 1 else zero
    stop = given[min(len(given) - 1, 1)]
    step = given[2] if len(given) > 2 else one
    shape = self.context.get_value_type(made)
    return _put_together(self.builder, shape, {_START: start, _STOP: stop, _STEP: step})


def _begin(self: Any, kind: Any, numbers: Any) -> Any | None:
    """Return what counts through a range, or None if its step is not known."""
    context, builder = self.context, self.builder
    start, stop, step = (part_of(builder, numbers, place) for place in (_START, _STOP, _STEP))
    if not isinstance(step, ir.Constant) or not isinstance(step.constant, int) or not step.constant:
        return None
    length = builder.sub(stop, start)
    zero = length.type(0)
    empty = builder.icmp_signed("<=" if step.constant > 0 else ">=", length, zero)
    if step.constant not in (1, -1):
        # of a length that the step does not divide, what is left is a number more
        rest = builder.icmp_signed("!=", builder.srem(length, step), zero)
        length = builder.add(builder.sdiv(length, step), builder.zext(rest, length.type))
    elif step.constant < 0:
        length = builder.neg(length)
    following = cgutils.alloca_once(builder, start.type)
    left = cgutils.alloca_once(builder, start.type)
    builder.store(start, following)
    builder.store(builder.select(empty, zero, length), left)
    parts = {_NEXT: following, _STOP: stop, _STEP: step, _LEFT: left}
    return _put_together(builder, context.get_value_type(kind.iterator_type), parts)


def _next(self: Any, iterator: Any, pair: Any) -> Any:
    """Return the next number of a range and whether there is one."""
    builder = self.builder
    following, step, left = (part_of(builder, iterator, place) for place in (_NEXT, _STEP, _LEFT))
    count, number = builder.load(left), builder.load(following)
    there = builder.icmp_signed(">", count, count.type(0))
    builder.store(builder.sub(count, count.type(1), flags=["nsw"]), left)
    builder.store(builder.add(number, step), following)
    return _put_together(builder, self.context.get_value_type(pair), {0: number, 1: there})


def _expression(self: Any, result: Any, expression: Any) -> Any:
    """Lower an expression; loops over ranges in our own way."""
    if expression.op == "getiter":
        kind = self.typeof(expression.value.name)
        same = kind == self.fndesc.calltypes[expression].args[0]
        if isinstance(kind, kinds.RangeType) and same:
            begun = _begin(self, kind, self.loadvar(expression.value.name))
            if begun is not None:
                return begun
    elif expression.op == "iternext":
        kind = self.typeof(expression.value.name)
        if isinstance(kind, kinds.RangeIteratorType):
            return _next(self, self.loadvar(expression.value.name), result)
    return _EXPRESSION(self, result, expression)


def _first(self: Any, builder: Any, pair: Any, kind: Any) -> Any:
    """Return the first part of a pair."""
    return part_of(builder, pair, 0)


def _second(self: Any, builder: Any, pair: Any, kind: Any) -> Any:
    """Return the second part of a pair."""
    return part_of(builder, pair, 1)


# called instead of Numba's own while a kernel is compiled
LOOPING: tuple[tuple[Any, str, Any], ...] = (
    (Lower, "_lower_call_normal", _call),
    (Lower, "lower_expr", _expression),
    (BaseContext, "pair_first", _first),
    (BaseContext, "pair_second", _second),
)
