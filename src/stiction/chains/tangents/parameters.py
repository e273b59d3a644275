"""Parameters of a chain by name, such as `law.mu`, `stiffness[2]` or `load.parts[0].rate`.

`Chain.parameter` and `Chain.with_parameter` read and replace them; derivatives are taken with
respect to them (`directions`).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stiction.chains.loads import UserLoad
from stiction.core.fields import Finite, rules_of
from stiction.errors import ModelError, nearest

if TYPE_CHECKING:
    from stiction.chains.model import Chain

__all__ = ["parameter", "unit_of", "with_parameter"]

_PART = re.compile(r"(\w+)(?:\[(\d+)\])?")
# attribute that holds the full array of a field, where a name has an index
_WRITTEN_OUT = {"normal_force": "normal_forces", "load_vector": "load_weights"}
_MOST_NAMES = 12
_WHY = "derivatives are taken with respect to the parameters of a chain."


def parameter(chain: Chain, name: str) -> float:
    """Return the value of a number of `chain`.

    Raises
    ------
    ModelError : with the nearest name where there is none.

    Verified by: tests/unit/chains/tangents/test_parameters.py::test_names_of_numbers
    """
    owner, field, index = _place(chain, name)
    value = _written_out(chain, owner, field, index)
    return float(value if index is None else value[index])


def with_parameter(chain: Chain, name: str, value: float) -> Chain:
    """Return `chain` with another value of one number."""
    return cast("Chain", _replaced(chain, chain, _parts(chain, name), float(value), name))


def unit_of(chain: Chain, name: str) -> str:
    """Return the unit of a number, "1" where none is declared."""
    owner, field, _ = _place(chain, name)
    rule = rules_of(type(owner)).get(field)
    return (rule.unit or "1") if isinstance(rule, Finite) else "1"


def _parts(chain: Chain, name: str) -> list[tuple[str, int | None]]:
    """Return the fields in a name, each with its index or None.

    `load.parts[0].rate` gives [("load", None), ("parts", 0), ("rate", None)].
    """
    found = []
    for part in str(name).split("."):
        match = _PART.fullmatch(part)
        if match is None:
            raise _unknown(chain, name)
        found.append((match[1], None if match[2] is None else int(match[2])))
    return found


def _place(chain: Chain, name: str) -> tuple[Any, str, int | None]:
    """Return the object that has a number, the name of its field, and the index in the field."""
    owner: Any = chain
    *path, (field, index) = _parts(chain, name)
    for step, entry in path:
        owner = getattr(owner, step, None) if _has(owner, step) else None
        if entry is not None:
            owner = owner[entry] if isinstance(owner, list | tuple) and entry < len(owner) else None
        if not dataclasses.is_dataclass(owner):
            raise _unknown(chain, name)
    if not _has(owner, field) or (isinstance(owner, UserLoad) and field == "breakpoints"):
        raise _unknown(chain, name)
    value = _written_out(chain, owner, field, index)
    if index is None and _is_number(value):
        return owner, field, index
    if index is not None and isinstance(value, np.ndarray) and index < value.size:
        return owner, field, index
    raise _unknown(chain, name)


def _has(owner: Any, field: str) -> bool:
    return any(f.name == field for f in dataclasses.fields(owner))


def _is_number(value: Any) -> bool:
    # integers are counts or seeds, which have no derivative
    return isinstance(value, float | np.floating)


def _written_out(chain: Chain, owner: Any, field: str, index: int | None) -> Any:
    """Return the value of a field; as an array, one entry per mass or spring, if `index` is set."""
    value = getattr(owner, field)
    if index is None:
        return value
    if owner is chain and value is None and field in _WRITTEN_OUT:
        return getattr(chain, _WRITTEN_OUT[field]).copy()
    if _is_number(value):
        rule = rules_of(type(owner)).get(field)
        per = rule.per if isinstance(rule, Finite) else ""
        size = chain.n_mass if per == "contact" else owner.lengths.get(per, 0)
        return np.full(size, value)
    if isinstance(value, list | tuple | np.ndarray) and np.asarray(value).dtype.kind in "if":
        return np.array(value, dtype=np.float64)
    return value


def _replaced(
    chain: Chain, owner: Any, parts: list[tuple[str, int | None]], value: float, name: str
) -> Any:
    """Return `owner` with another value of the number that `parts` lead to."""
    _place(chain, name)
    (field, index), *rest = parts
    if rest:
        inner = getattr(owner, field)
        if index is None:
            changed = _replaced(chain, inner, rest, value, name)
        else:
            changed = list(inner)
            changed[index] = _replaced(chain, inner[index], rest, value, name)
    elif index is None:
        changed = value
    else:
        changed = _written_out(chain, owner, field, index)
        changed[index] = value
    return dataclasses.replace(owner, **{field: changed})


def _names(chain: Chain, owner: Any, before: str = "") -> Iterator[str]:
    """Yield the names of parameters; of each list, that of the first entry."""
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if _is_number(value):
            yield before + field.name
        elif dataclasses.is_dataclass(value):
            yield from _names(chain, value, f"{before}{field.name}.")
        elif isinstance(_written_out(chain, owner, field.name, 0), np.ndarray):
            yield f"{before}{field.name}[0]"


def _unknown(chain: Chain, name: str) -> ModelError:
    """Return the error for a name that is no parameter."""
    names = list(_names(chain, chain))
    return ModelError(
        "Chain parameter",
        repr(name),
        "the name of a numeric parameter, such as " + ", ".join(names[:_MOST_NAMES]),
        _WHY,
        nearest(str(name), names),
    )
