"""What `lanes` is in compiled code: vectors of LLVM. Imported when it is compiled."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic, lower_builtin, models, register_model
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

from stiction.numerics.compiling.lanes import LANES

__all__ = ["count", "full", "load", "store", "where"]

_DOUBLE, _WHOLE, _BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
_VECTOR, _BITS = ir.VectorType(_DOUBLE, LANES), ir.VectorType(_BIT, LANES)
_F, _I = types.float64, types.int64
# of this module in the digests of kernels, which do not look into operators: raise it with them
_EDITION = 1


class LanesType(types.Type):
    """Eight numbers."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes({LANES}, {_EDITION})")


class MaskType(types.Type):
    """Eight answers."""

    def __init__(self) -> None:
        super().__init__(name=f"Mask({LANES}, {_EDITION})")


LANES_TYPE, MASK_TYPE = LanesType(), MaskType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _VECTOR)  # type: ignore[no-untyped-call]


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _BITS)  # type: ignore[no-untyped-call]


def _spread(builder: Any, number: Any) -> Any:
    """Return a number in all lanes."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), zeros)


def _place(context: Any, builder: Any, kind: Any, args: Any) -> Any:
    """Return the address of the lanes of row args[1] of table args[0] from place args[2] on."""
    table = context.make_array(kind)(context, builder, args[0])
    rows = cgutils.unpack_tuple(builder, table.strides, 2)[0]
    way = builder.add(builder.mul(args[1], rows), builder.mul(args[2], _WHOLE(8)))
    start = builder.ptrtoint(table.data, _WHOLE)
    return builder.inttoptr(builder.add(start, way), _VECTOR.as_pointer())


@intrinsic
def load(typingctx: Any, a: Any, i: Any, at: Any) -> Any:
    """Return the lanes of row i of table a from place `at` on."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, sig.args[0], args), align=8)

    return signature(LANES_TYPE, a, _I, _I), codegen


@intrinsic
def store(typingctx: Any, a: Any, i: Any, at: Any, v: Any) -> Any:
    """Write lanes to row i of table a from place `at` on."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[3], _place(context, builder, sig.args[0], args), align=8)
        return context.get_dummy_value()

    return signature(types.void, a, _I, _I, LANES_TYPE), codegen


@intrinsic
def full(typingctx: Any, x: Any) -> Any:
    """Return lanes that all hold x."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(builder, args[0])

    return signature(LANES_TYPE, _F), codegen


@intrinsic
def where(typingctx: Any, mask: Any, x: Any, y: Any) -> Any:
    """Return x where the mask holds, else y; numbers stand for lanes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        both = [
            v if kind == LANES_TYPE else _spread(builder, v)
            for v, kind in zip(args[1:], sig.args[1:], strict=True)
        ]
        return builder.select(args[0], *both)

    sides = [v if v == LANES_TYPE else _F for v in (x, y)]
    return signature(LANES_TYPE, MASK_TYPE, *sides), codegen


@intrinsic
def count(typingctx: Any, mask: Any) -> Any:
    """Return in how many lanes the mask holds."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.ctpop(builder.zext(bits, _WHOLE))

    return signature(_I, MASK_TYPE), codegen


# ---- operators

Made = Callable[[Any, Any, Any], Any]


def _compared(sign: str) -> Made:
    return lambda builder, x, y: builder.fcmp_ordered(sign, x, y)


def _joined(name: str) -> Made:
    return lambda builder, x, y: getattr(builder, name)(x, y)


_NUMBERS: dict[Any, Made] = {
    operator.add: _joined("fadd"),
    operator.sub: _joined("fsub"),
    operator.mul: _joined("fmul"),
    operator.truediv: _joined("fdiv"),
}
_ANSWERS: dict[Any, Made] = {
    operator.lt: _compared("<"),
    operator.le: _compared("<="),
    operator.gt: _compared(">"),
    operator.ge: _compared(">="),
    operator.eq: _compared("=="),
}
_MASKS: dict[Any, Made] = {operator.and_: _joined("and_"), operator.or_: _joined("or_")}
_IN_PLACE = {
    operator.add: operator.iadd,
    operator.sub: operator.isub,
    operator.mul: operator.imul,
}


def _typed(sign: Any, result: Any) -> None:
    """Tell the type of an operator of which one side at least is lanes."""

    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if kws or len(args) != 2 or LANES_TYPE not in args:
                return None
            numbers = (LANES_TYPE, types.Float, types.Integer)
            if not all(arg == LANES_TYPE or isinstance(arg, numbers[1:]) for arg in args):
                return None
            return signature(result, *[a if a == LANES_TYPE else _F for a in args])

    infer_global(sign)(Template)


def _lowered(sign: Any, made: Made) -> None:
    """Say what an operator of two lanes, or of lanes and a number, is in LLVM."""
    for pair in ((LanesType, LanesType), (LanesType, types.Float), (types.Float, LanesType)):

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            both = [
                v if kind == LANES_TYPE else _spread(builder, v)
                for v, kind in zip(args, sig.args, strict=True)
            ]
            return made(builder, *both)

        lower_builtin(sign, *pair)(lower)


def _operators() -> None:
    for table, result in ((_NUMBERS, LANES_TYPE), (_ANSWERS, MASK_TYPE)):
        for sign, made in table.items():
            for one in (sign, _IN_PLACE.get(sign)):
                if one is not None:
                    _typed(one, result)
                    _lowered(one, made)
    for sign, made in _MASKS.items():
        _of_masks(sign, made)


def _of_masks(sign: Any, made: Made) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if kws or tuple(args) != (MASK_TYPE, MASK_TYPE):
                return None
            return signature(MASK_TYPE, *args)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return made(builder, *args)

    infer_global(sign)(Template)
    lower_builtin(sign, MaskType, MaskType)(lower)


def _of_one(sign: Any, made: Callable[[Any, Any], Any]) -> None:
    class Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return None if kws or tuple(args) != (LANES_TYPE,) else signature(LANES_TYPE, *args)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return made(builder, args[0])

    infer_global(sign)(Template)
    lower_builtin(sign, LanesType)(lower)


def _size(builder: Any, v: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    name = f"llvm.fabs.v{LANES}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [v])


_operators()
_of_one(operator.neg, lambda builder, v: builder.fneg(v))
_of_one(abs, _size)
cpu_target.target_context.refresh()
