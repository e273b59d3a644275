"""Kernels hand named tuples on whole.

Numba takes a tuple apart wherever it is an argument: a tuple of forty arrays becomes some three
hundred arguments, taken out one by one where a kernel is called and put together again where it
begins, which was a third of all that was handed to LLVM. A kernel of ours takes the tuple as one
value. Whether a function does stands in the types of its arguments (`Whole`), which go with its
descriptor wherever it is called from, on disk too; all other functions are called as ever.
"""

from __future__ import annotations

import re
from typing import Any

from numba.core import types as kinds
from numba.core.base import BaseContext
from numba.core.datamodel.packer import ArgPacker, _flatten, _Unflattener
from numba.core.funcdesc import FunctionDescriptor

__all__ = ["HANDING", "Whole"]

_PACKER: Any = BaseContext.get_arg_packer
_DESCRIBE: Any = vars(FunctionDescriptor)["_from_python_function"].__func__
# a kernel, by the name that `linking` gave it
_KERNEL = re.compile(r"\$[AIO][0-9a-f]{24}$")


class Whole(tuple[Any, ...]):
    """Types of arguments of a function that takes named tuples as one value."""

    __slots__ = ()


class _WholePacker(ArgPacker):
    """Takes arguments apart as Numba does, but for named tuples."""

    def __init__(self, models: Any, given: Whole) -> None:
        self._dmm, self._fe_args, self._nargs = models, given, len(given)
        self._dm_args = [models.lookup(kind) for kind in given]
        self._whole = [isinstance(kind, kinds.BaseNamedTuple) for kind in given]
        shapes = [
            model.get_value_type() if whole else model.get_argument_type()
            for model, whole in zip(self._dm_args, self._whole, strict=True)
        ]
        self._unflattener = _Unflattener(shapes)
        self._be_args = list(_flatten(shapes))

    def as_arguments(self, builder: Any, values: Any) -> tuple[Any, ...]:
        """Return what is handed over for values."""
        each = zip(self._dm_args, values, self._whole, strict=True)
        parts = [one if whole else model.as_argument(builder, one) for model, one, whole in each]
        return tuple(_flatten(parts))

    def from_arguments(self, builder: Any, args: Any) -> list[Any]:
        """Return the values of what was handed over."""
        each = zip(self._dm_args, self._unflattener.unflatten(args), self._whole, strict=True)
        return [one if whole else model.from_argument(builder, one) for model, one, whole in each]


def _packer(self: Any, given: Any) -> Any:
    """Return what takes arguments apart: for calls from functions of users, too."""
    if isinstance(given, Whole):
        return _WholePacker(self.data_model_manager, given)
    return _PACKER(self, given)


def _describe(cls: Any, func_ir: Any, *given: Any, **named: Any) -> Any:
    """Describe a function; a kernel of ours takes tuples whole."""
    described = _DESCRIBE(cls, func_ir, *given, **named)
    if _KERNEL.search(func_ir.func_id.unique_name):
        described.argtypes = Whole(described.argtypes)
    return described


# it does nothing for functions that are not ours, and those may call ours
setattr(BaseContext, "get_arg_packer", _packer)  # noqa: B010

# called instead of Numba's own while a kernel is compiled
HANDING: tuple[tuple[Any, str, Any], ...] = (
    (FunctionDescriptor, "_from_python_function", classmethod(_describe)),
)
