"""A name that is given once is a value, and needs no memory.

Numba keeps a name in memory as soon as two blocks of a function use it, and loads it at each use:
a tuple of forty arrays is read whole, some three hundred values, for one of them. What is given
once, in a block through which all ways to its uses lead, is that value at all of them.
"""

from __future__ import annotations

from typing import Any

from numba.core import analysis, ir
from numba.core.lowering import Lower

from stiction.numerics.compiling.front.borrowing import uncounted

__all__ = ["NAMING", "given_once"]

_FIND: Any = Lower._find_singly_assigned_variable


def given_once(blocks: dict[int, Any]) -> dict[str, bool]:
    """Return the names that are given once, before all of their uses.

    Parameters
    ----------
    blocks : of a function, as Numba represents it, by number

    Returns
    -------
    of each name, whether all its uses stand in one block
    """
    given: dict[str, list[int]] = {}
    used: dict[str, set[int]] = {}
    for number, block in blocks.items():
        here = set()
        for statement in block.body:
            if isinstance(statement, ir.Del):
                continue
            for name in _used(statement):
                if name not in here:
                    used.setdefault(name, set()).add(number)
            if isinstance(statement, ir.Assign):
                given.setdefault(statement.target.name, []).append(number)
                here.add(statement.target.name)
    above = analysis.compute_cfg_from_blocks(blocks).dominators()
    found = {}
    for name, numbers in given.items():
        elsewhere = used.get(name, set())
        first = numbers[0]
        # blocks are lowered by number
        if len(numbers) == 1 and all(first < one and first in above[one] for one in elsewhere):
            found[name] = not elsewhere
    return found


def _used(statement: Any) -> list[str]:
    """Return the names that a statement reads."""
    if isinstance(statement, ir.Assign):
        value = statement.value
        if isinstance(value, ir.Var):
            return [value.name]
        return [one.name for one in value.list_vars()] if isinstance(value, ir.Inst) else []
    return [one.name for one in statement.list_vars()]


def _find(self: Any) -> None:
    """Find the names that stay out of memory in the function that is being lowered."""
    _FIND(self)
    if self.func_ir.func_id.is_generator or self._disable_sroa_like_opt:
        return
    # what counts is ended where Numba says, and that may be a block that the value does not reach
    self._singly_assigned_vars.update(
        name for name in given_once(self.blocks) if uncounted(self, name)
    )


# of `Lower`, what is called instead of Numba's own
NAMING: tuple[tuple[Any, str, Any], ...] = ((Lower, "_find_singly_assigned_variable", _find),)
