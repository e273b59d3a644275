"""What a kernel takes out of its arguments is not counted, and what is not counted needs no end.

Numba counts a reference to every array of every tuple each time that a name is given to it, and
drops it when the name ends: for a tuple of forty arrays that is some hundred instructions for each
of the two. Who calls a kernel holds its arguments until the kernel is done, so a name that is
given once, to an argument or to a field of such a name, counts nothing here. Where nothing is
counted, Numba still loads what a name held before, and puts zeros there when it ends; both are
left out. What is computed stays the same.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core import types as kinds
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext

__all__ = ["BORROWING", "borrowed", "uncounted"]

_ASSIGN: Any = Lower.lower_assign
_STORE: Any = Lower.storevar
_DELETE: Any = Lower.delvar
# whether values of a type hold references that are counted, by type
_COUNTED: dict[Any, bool] = {}


def borrowed(blocks: dict[int, Any], types: dict[str, Any]) -> frozenset[str]:
    """Return the names that stand for what the caller holds.

    Parameters
    ----------
    blocks : of a function, as Numba represents it
    types : of its names
    """
    given: dict[str, list[Any]] = {}
    for block in blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign):
                given.setdefault(statement.target.name, []).append(statement.value)
    once = {name: values[0] for name, values in given.items() if len(values) == 1}
    found = {name for name, value in once.items() if isinstance(value, ir.Arg)}
    waiting = True
    while waiting:
        more = {
            name
            for name, value in once.items()
            if name not in found and _source(value, types) in found
        }
        found |= more
        waiting = bool(more)
    # a default value has no holder
    defaults = {name for name, value in once.items() if _is_default(value, types)}
    return frozenset() if defaults else frozenset(found)


def _source(value: Any, types: dict[str, Any]) -> str | None:
    """Return the name that a value is, or is a field of; None for what is made anew."""
    if isinstance(value, ir.Var):
        return str(value.name)
    if not isinstance(value, ir.Expr) or value.op not in ("getattr", "static_getitem"):
        return None
    owner = str(value.value.name)
    if value.op == "static_getitem" and not isinstance(value.index, int):
        return None
    return owner if isinstance(types[owner], kinds.BaseTuple) else None


def _is_default(value: Any, types: dict[str, Any]) -> bool:
    return isinstance(value, ir.Arg) and isinstance(types["arg." + value.name], kinds.Omitted)


def uncounted(self: Any, name: str) -> bool:
    """Say whether a name of the function that is being lowered counts nothing."""
    if not self.context.enable_nrt or not _counts(self.context, self.typeof(name)):
        return True
    names = vars(self).get("_borrowed")
    if names is None:
        names = self._borrowed = borrowed(self.blocks, self.fndesc.typemap)
    return name in names


def _counts(context: Any, kind: Any) -> bool:
    """Say whether values of a type hold references that are counted."""
    found = _COUNTED.get(kind)
    if found is None:
        found = _COUNTED[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
    return bool(found)


def _references(self: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """Return the types and the references that are counted in a value; takes out nothing else."""
    model = self._context.data_model_manager[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for inside, get in model.traverse(builder):
        if _counts(self._context, inside):
            found += _references(self, builder, inside, get(value))
    return found


def _lower_assign(self: Any, kind: Any, statement: Any) -> Any:
    """Lower a value without counting it if its name borrows."""
    context = self.context
    if not context.enable_nrt or not uncounted(self, statement.target.name):
        return _ASSIGN(self, kind, statement)
    context.enable_nrt = False
    try:
        return _ASSIGN(self, kind, statement)
    finally:
        context.enable_nrt = True


def _store(self: Any, value: Any, name: str, argidx: int | None = None) -> None:
    """Store a value; what stood there before is of no interest where nothing is counted."""
    self._alloca_var(name, self.typeof(name))
    if argidx is not None or name in self._singly_assigned_vars or not uncounted(self, name):
        _STORE(self, value, name, argidx)
    else:
        self.builder.store(value, self.getvar(name))


def _delete(self: Any, name: str) -> None:
    """End a name; there is nothing to end where nothing was counted."""
    if not uncounted(self, name):
        _DELETE(self, name)


# called instead of Numba's own while a kernel is compiled
BORROWING: tuple[tuple[Any, str, Any], ...] = (
    (Lower, "lower_assign", _lower_assign),
    (Lower, "storevar", _store),
    (Lower, "delvar", _delete),
    (NRTContext, "get_meminfos", _references),
)
