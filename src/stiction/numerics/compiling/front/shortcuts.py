"""Quicker ways to what Numba's front end finds, for while a kernel is compiled.

Numba types each call again for every pass over a function, goes through all loops of NumPy for
operators of plain numbers, writes the text of errors that are then dropped, looks for new
registries at every turn, times every call of LLVM for all kernels around it, and works out after
each pass which variables live where, which only generators ask for. The answers here are the same;
they are kept until the outermost kernel is done. Numba compiles under one lock, so nothing here is
entered by two threads.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any

from numba.core import event, ir, postproc, transforms
from numba.core import types as kinds
from numba.core.cpu import CPUContext
from numba.core.types.functions import BaseFunction
from numba.core.typing.context import BaseContext
from numba.core.typing.npydecl import NumpyRulesArrayOperator

from stiction.numerics.compiling.front.borrowing import BORROWING
from stiction.numerics.compiling.front.calling import CALLING
from stiction.numerics.compiling.front.handing import HANDING
from stiction.numerics.compiling.front.indexing import INDEXING
from stiction.numerics.compiling.front.looping import LOOPING
from stiction.numerics.compiling.front.naming import NAMING

__all__ = ["shortcuts"]

_ARRAY_OPERATOR: Any = NumpyRulesArrayOperator.generic
_CALL_TYPE: Any = BaseFunction.get_call_type
_ATTRIBUTE: Any = BaseContext.resolve_getattr
_REGISTRIES: Any = CPUContext.load_additional_registries
# what types of calls and of attributes were found for the kernel that is being compiled
_CALLS: dict[Any, Any] = {}
_ATTRIBUTES: dict[Any, Any] = {}
_LOADED: set[int] = set()
_BROADCAST: Any = event.broadcast
_LOCKS = {"numba:llvm_lock", "numba:compiler_lock"}
_AFTER_PASS: Any = postproc.PostProcessor.run
# classes of values in Numba's representation that hold no variables
_WITHOUT_VARIABLES = {str, int, float, bool, complex, type(None), ir.Loc, ir.Scope}


def _operator_of_arrays(self: Any, args: Any, kws: Any) -> Any:
    """Type an operator of NumPy's; nothing for numbers, which have operators of their own.

    Numba's own finds a loop that fits the numbers, and then drops it for want of an array.
    """
    if all(isinstance(kind, kinds.Number | kinds.Boolean) for kind in args):
        return None
    return _ARRAY_OPERATOR(self, args, kws)


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Type a call of a function that Numba brings, once for the types of its arguments."""
    if kws:
        return _CALL_TYPE(self, context, args, kws)
    key = context, self, tuple(args)
    found = _CALLS.get(key)
    if found is None:
        found = _CALLS[key] = _CALL_TYPE(self, context, args, kws)
    return found


def _attribute(self: Any, kind: Any, name: str) -> Any:
    """Type a field of a tuple, once."""
    if not isinstance(kind, kinds.BaseNamedTuple):
        return _ATTRIBUTE(self, kind, name)
    key = self, kind, name
    found = _ATTRIBUTES.get(key)
    if found is None:
        found = _ATTRIBUTES[key] = _ATTRIBUTE(self, kind, name)
    return found


def _registries(self: Any) -> None:
    """Load what else Numba brings, once for a kernel."""
    if id(self) not in _LOADED:
        _REGISTRIES(self)
        _LOADED.add(id(self))


def _after_pass(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Put blocks in order after a pass; what lives in them is found where it is asked for."""
    code = self.func_ir
    if code.is_generator:
        _AFTER_PASS(self, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = postproc.VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _variables(self: Any, value: Any) -> list[Any]:
    """Return the variables in a statement or a part of it, in order."""
    found: list[Any] = []
    _collect(value, found)
    return found


def _collect(value: Any, found: list[Any]) -> None:
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind in _WITHOUT_VARIABLES:
        return
    elif kind is dict:
        for one in value.values():
            _collect(one, found)
    elif kind is tuple or kind is list:
        for one in value:
            _collect(one, found)
    elif isinstance(value, ir.Inst):
        found += value.list_vars()
    elif isinstance(value, ir.Var):
        found.append(value)
    elif isinstance(value, list | tuple):
        for one in value:
            _collect(one, found)
    elif isinstance(value, dict):
        for one in value.values():
            _collect(one, found)


def _tell(told: Any) -> None:
    """Tell listeners of a compilation, but not of locks.

    Each kernel that is being compiled times every call of LLVM of all kernels below it.
    """
    if told.kind not in _LOCKS:
        _BROADCAST(told)


def _in_symbols(self: Any) -> tuple[str, tuple[int]]:
    """Return what the symbols of functions say of a structured array.

    Numba counts such types as a process meets them, so that kernels kept by one process would call
    functions by names that those kept by another one do not have.
    """
    return "Record", (int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:6]),)


_INSTEAD: tuple[tuple[Any, str, Any], ...] = (
    (NumpyRulesArrayOperator, "generic", _operator_of_arrays),
    (BaseFunction, "get_call_type", _call_type),
    (BaseContext, "resolve_getattr", _attribute),
    (CPUContext, "load_additional_registries", _registries),
    (ir.Inst, "_rec_list_vars", _variables),
    (postproc.PostProcessor, "run", _after_pass),
    (event, "broadcast", _tell),
    (kinds.Record, "mangling_args", property(_in_symbols)),
    *BORROWING,
    *CALLING,
    *HANDING,
    *INDEXING,
    *LOOPING,
    *NAMING,
)


@contextlib.contextmanager
def shortcuts() -> Iterator[None]:
    """Let Numba take the shorter ways inside; may be nested."""
    before = [vars(owner)[name] for owner, name, _ in _INSTEAD]
    outermost = before[0] is _ARRAY_OPERATOR
    for owner, name, ours in _INSTEAD:
        setattr(owner, name, ours)
    try:
        yield
    finally:
        for (owner, name, _), theirs in zip(_INSTEAD, before, strict=True):
            setattr(owner, name, theirs)
        if outermost:
            _CALLS.clear()
            _ATTRIBUTES.clear()
            _LOADED.clear()
