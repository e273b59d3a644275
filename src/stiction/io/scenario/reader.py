"""Reading of scenarios: TOML tables are checked and converted to a system, a method and times.

In a table, `type` names the class, and all other keys are its fields. The type annotation of a
field decides which values are admissible. Errors name the dotted path of the wrong key.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stiction.errors import ScenarioError, StictionError, nearest
from stiction.io.scenario.classes import ARTICLES, KINDS, find, find_among, known_for
from stiction.io.scenario.scenario import Scenario
from stiction.io.scenario.settings import change
from stiction.io.scenario.source import Table, read_table

__all__ = ["build", "field_value", "read_scenario", "scenario_of"]

_WORDS = ("title", "paper", "figure", "note")
_TOP = ("system", "method", "solve", *_WORDS)
_SOLVE = ("t_end", "t_start", "save", "x0", "mode")
_LARGEST_INT = 2**63 - 1


def read_scenario(source: str | Path, changes: Iterable[str] = (), /, **fields: object) -> Scenario:
    """Return the scenario behind a built-in name, a TOML file, or a TOML text.

    Parameters
    ----------
    source : name, path, or text (a string with a line break is text)
    changes : settings that are applied to the tables first, such as "system.law.mu=0.3"
    fields : values that replace fields of the system or keys of [solve], by their names:
        ``read_scenario("slip-wave", mass=[1, 2, 4], t_end=20.0)``. A part such as `load` or
        `law`, or `method`, may be given as an object, or as a dictionary of its fields

    Raises
    ------
    ScenarioError : if a key or class is unknown or missing, or a value has the wrong type.
    ModelError : if a value is inadmissible.

    Verified by: tests/unit/test_scenario.py::test_design_example_builds_the_objects
    """
    return scenario_of(read_table(source), changes, **fields)


def scenario_of(table: Table, changes: Iterable[str] = (), /, **fields: object) -> Scenario:
    """Return the scenario that a table of plain values describes; see `read_scenario`."""
    for setting in changes:
        change(table, setting)
    _replace(table, fields)
    _refuse_unknown(table, _TOP, "scenario", "scenario")
    for key in ("system", "solve"):
        if key not in table:
            raise ScenarioError(
                f"[{key}]",
                "no such table",
                "[system] and [solve]" if key == "system" else "[solve] with t_end [s]",
                "a run needs a system and a time span.",
                'add [system] with type = "Chain".' if key == "system" else "add t_end = 8.0.",
            )
    # these modules import NumPy, which the checks above do not need
    from stiction.core.driver import started
    from stiction.core.method import default_method, method_for

    span = _solve(table["solve"])
    words = {key: _convert(table[key], str, key).strip() for key in _WORDS if key in table}
    start = _start(table["solve"])
    system = started(build("System", table["system"], "system"), **start)
    if "method" not in table:
        method = default_method(system)
    elif _is_object(table["method"]):
        method = method_for(system, table["method"])
    else:
        method = _method(system, table["method"])
    return Scenario(system, method, **span, **words)


def _replace(table: Table, fields: Mapping[str, object]) -> None:
    """Put values of Python into the table.

    Raises
    ------
    ScenarioError : if a name is neither a field of the system nor a key of [solve].
    """
    system, solve = table.get("system"), table.setdefault("solve", {}) if fields else None
    if not isinstance(system, dict) or not isinstance(solve, dict):
        return
    cls = find("System", system.get("type"), "system")
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    _refuse_unknown(fields, [*names, *_SOLVE, "method"], "read_scenario", cls.__name__)
    for name, given in fields.items():
        value = _as_in_a_file(given)
        if name == "method":
            table[name] = value
        elif name not in names:
            solve[name] = value
        else:
            before = system.get(name)
            if isinstance(value, dict) and isinstance(before, dict):
                same = value.get("type", before.get("type")) == before.get("type")
                value = {**before, **value} if same else value
            system[name] = value
            # [solve] would override an initial state in [system]
            solve.pop(name, None)


def _as_in_a_file(value: Any) -> Any:
    """Return a value with its arrays and tuples as lists; objects are unchanged."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: _as_in_a_file(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_in_a_file(part) for part in value]
    return value


def _is_object(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def build(kind: str, table: object, where: str) -> Any:
    """Return the object of `kind` that a table with a `type` describes.

    Parameters
    ----------
    kind : kind of the object, a key of the catalogue such as "System"
    table : `type` and the fields as plain values
    where : dotted path of the table, for messages
    """
    name = table.get("type") if isinstance(table, Mapping) else None
    return _build(known_for(kind, name), ARTICLES[kind], table, where)


def _method(system: object, table: object) -> Any:
    """Return the method of a system that a table describes."""
    from stiction.core.method import methods_of

    if isinstance(table, Mapping):
        table = _of_its_own(methods_of(system).get(str(table.get("type"))), dict(table))
    known = {name: cls.__module__ for name, cls in methods_of(system).items()}
    return _build(known, f"a method for a {type(system).__name__}", table, "method")


def _of_its_own(cls: type | None, table: Table) -> Table:
    """Return the table of a method without the fields of other methods of the same name.

    In earlier versions all methods of a name were one class with the fields of all, and files hold
    these fields. A field with its default value is dropped. Any other value, which the earlier
    version ignored, is an error.
    """
    from stiction.catalogue import method_homes
    from stiction.core.method import methods_with, refuse_unknown_fields

    if cls is None:
        return table
    own = {f.name for f in dataclasses.fields(cls)}
    for _, other in method_homes():
        for f in dataclasses.fields(other) if other.__name__ == cls.__name__ else ():
            if f.name in own or f.name not in table:
                continue
            with contextlib.suppress(ScenarioError):
                given = field_value(other, f.name, table[f.name], f"method.{f.name}")
                if given == getattr(other(), f.name):
                    del table[f.name]
    foreign = {k: v for k, v in table.items() if k not in {*own, "type"}}
    refuse_unknown_fields(cls, {k: v for k, v in foreign.items() if methods_with(k, cls.__name__)})
    return table


def _build(known: Mapping[str, str], article: str, table: object, where: str) -> Any:
    """Return the object that a table describes; `known` is {name: module} of possible classes."""
    example = next(iter(known))
    if not isinstance(table, Mapping) or "type" not in table:
        got = "a table without `type`" if isinstance(table, Mapping) else repr(table)
        raise ScenarioError(
            where,
            got,
            f"{article}: a table whose `type` is one of {', '.join(sorted(known))}",
            "`type` names the class, and the other keys are its fields.",
            f'for example type = "{example}".',
        )
    given = {key: value for key, value in table.items() if key != "type"}
    return _made(find_among(known, article, table["type"], where), given, where)


def field_value(cls: type, name: str, value: object, where: str) -> Any:
    """Return a value converted to the type of the field `name` of a class; objects are unchanged.

    Raises
    ------
    ScenarioError : if the field has another type.

    Verified by: tests/unit/studies/test_fields.py::test_values_are_put_in_place
    """
    if dataclasses.is_dataclass(value):
        return value
    hint = _hints(cls)[name]
    if isinstance(value, float) and value.is_integer() and "float" not in _slot(hint).scalars:
        # members of an evenly spaced grid are floats, even if all are integers
        value = int(value)
    return _convert(value, hint, where)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _made(cls: Any, given: dict[str, Any], where: str) -> Any:
    """Return the object of a class from its fields as plain values."""
    if not isinstance(cls, type):
        return _returned(cls, given, where)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
    _refuse_unknown(given, fields, where, cls.__name__)
    # an empty list means the default if the default is an empty tuple
    given = {k: v for k, v in given.items() if not (v == [] and fields[k].default == ())}
    missing = [name for name, f in fields.items() if name not in given and _required(f)]
    if missing:
        raise ScenarioError(
            f"{where}.{missing[0]}",
            "nothing",
            f"a value; {cls.__name__} has the fields {', '.join(fields)}",
            "this field has no default.",
            f"add {missing[0]} = ... to [{where}].",
        )
    hints = _hints(cls)
    values = {
        key: None
        if value == [] and _may_be_none(fields[key], hints[key])
        else _convert(value, hints[key], f"{where}.{key}")
        for key, value in given.items()
    }
    return _construct(cls, values, where)


def _may_be_none(field: dataclasses.Field[Any], hint: object) -> bool:
    """Return whether a field admits None and has another default; files have [] for that None."""
    other = field.default is not dataclasses.MISSING and field.default is not None
    return other and type(None) in _members(hint)


def _returned(maker: Callable[..., Any], given: dict[str, Any], where: str) -> Any:
    """Call a function with its parameters given as plain values."""
    known = inspect.signature(maker).parameters
    name = maker.__name__
    _refuse_unknown(given, known, where, name)
    needed = [n for n, p in known.items() if p.default is p.empty and n not in given]
    if needed:
        needs, why = f"a value; {name} takes {', '.join(known)}", "this key has no default."
        try_ = f"add {needed[0]} = ... to [{where}]."
        raise ScenarioError(f"{where}.{needed[0]}", "nothing", needs, why, try_)
    hints = typing.get_type_hints(maker)
    values = {key: _convert(value, hints[key], f"{where}.{key}") for key, value in given.items()}
    return _construct(maker, values, where)


def _construct(cls: Callable[..., Any], values: dict[str, Any], where: str) -> Any:
    """Return the object of a class; an error of its constructor becomes a ScenarioError."""
    import numpy as np

    try:
        # the class refuses numbers that overflow; NumPy need not warn of them
        with np.errstate(all="ignore"):
            return cls(**values)
    except StictionError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        # a class whose own checks miss a wrong value must not end in a traceback
        raise ScenarioError(
            where,
            f"values that {cls.__name__} does not admit ({error})",
            f"admissible values of {cls.__name__}",
            "every field has a unit and a range; see its documentation.",
            "check lengths and signs.",
        ) from error


def _solve(table: object) -> dict[str, Any]:
    """Return the keys t_end, t_start and save of the table [solve]."""
    if not isinstance(table, Mapping):
        why = "the table [solve] holds the time span."
        raise ScenarioError("solve", repr(table), "a table", why, "write [solve] with t_end.")
    _refuse_unknown(table, _SOLVE, "solve", "solve")
    if "t_end" not in table:
        why = "a run goes from a start to a later end."
        try_ = "add t_end = 8.0, or another time [s]."
        raise ScenarioError("solve.t_end", "nothing", "an end time [s]", why, try_)
    span = {
        key: float(_convert(table[key], float, f"solve.{key}"))
        for key in ("t_end", "t_start")
        if key in table
    }
    if "save" not in table:
        return span
    save = _convert(table["save"], int | Sequence[float], "solve.save")
    return {**span, "save": save if isinstance(save, int) else tuple(map(float, save))}


def _start(table: Mapping[str, object]) -> dict[str, Any]:
    """Return the initial state in [solve], if any, which overrides the one in [system]."""
    hints = {"x0": float | Sequence[float], "mode": str}
    return {k: _convert(table[k], h, f"solve.{k}") for k, h in hints.items() if k in table}


# names that users know from scripts and other programs -> advice
_ELSEWHERE = {
    ("solve", "t_span"): "write t_start and t_end.",
    ("scenario", "run"): "write [solve], with t_end.",
    ("scenario", "solver"): "write [method] for the method, [solve] for the times.",
    ("scenario", "time"): "write [solve], with t_end.",
}


def _refuse_unknown(given: Iterable[str], known: Iterable[str], where: str, owner: str) -> None:
    """Raise ScenarioError for a key of the table `where` that `owner` does not know."""
    known = list(known)
    for key in given:
        if key not in known:
            raise ScenarioError(
                where,
                f"the unknown key {key!r}",
                f"keys of {owner}: {', '.join(known) or 'none, it has no fields'}",
                "an unknown key would be ignored, and the run would differ from the intended one.",
                _ELSEWHERE.get((owner, key))
                or (nearest(key, known) if known else "leave this key out."),
            )


def _required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


# ---- values by the type of the field


@dataclasses.dataclass(frozen=True)
class _Slot:
    """The values that the type of a field admits.

    Parameters
    ----------
    kind : kind of object in the catalogue, such as "Load"; None if the type names none
    listed : whether a list is admissible
    scalars : admissible scalars, of "float", "int", "str" and "bool"
    single : a dataclass outside the catalogue, the only class of objects that the field admits
    rows : whether the field is an array, which may be a list of rows
    """

    kind: str | None
    listed: bool
    scalars: frozenset[str]
    single: type | None = None
    rows: bool = False

    @property
    def needs(self) -> str:
        """The admissible values in words, for messages."""
        if self.single is not None:
            return f"a table with fields of {self.single.__name__}"
        if self.kind is not None:
            tables = f"[[...]] tables, each {ARTICLES[self.kind]}"
            return tables if self.listed else f"{ARTICLES[self.kind]} (a table)"
        words = {"float": "a number", "int": "a whole number", "str": "a string", "bool": "a bool"}
        parts = [words[name] for name in words if name in self.scalars]
        if "float" in self.scalars and "int" in self.scalars:
            parts.remove("a whole number")
        return " or ".join([*parts, *(["a list of numbers"] if self.listed else [])])


def _slot(hint: object) -> _Slot:
    """Return the values that a type admits; type aliases must be resolved before."""
    import numpy as np

    parts = list(_members(hint))
    lists = [part for part in parts if typing.get_origin(part) is not None]
    inner = [*parts, *(one for part in lists for one in _members(typing.get_args(part)[0]))]
    bases = (base.__name__ for part in inner if isinstance(part, type) for base in part.__mro__)
    kind = next((name for name in bases if name in KINDS), None)
    scalars = (part.__name__ for part in _SCALARS if part in parts)
    classes = (part for part in parts if isinstance(part, type))
    single = next((part for part in classes if dataclasses.is_dataclass(part)), None)
    rows = len(parts) == 1 and typing.get_origin(parts[0]) is np.ndarray
    return _Slot(kind, bool(lists), frozenset(scalars), None if kind else single, rows)


_SCALARS = (float, int, str, bool)


def _members(hint: object) -> Iterator[object]:
    """Yield the types in a union; another type yields itself."""
    # NDArray of NumPy 2.5 is a type alias with the type of the numbers as its argument
    named = getattr(typing.get_origin(hint), "__value__", None)
    if named is not None:
        hint = named[typing.get_args(hint)]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        for part in typing.get_args(hint):
            yield from _members(part)
    else:
        yield hint


def _convert(value: object, hint: object, where: str) -> Any:
    """Return `value` in the type of the field; ScenarioError if it has another type."""
    slot = _slot(hint)
    if _is_object(value) and (slot.single is not None or slot.kind is not None):
        # its owner checks whether it is of the right kind
        return value
    if slot.single is not None:
        return _single(slot.single, value, slot, where)
    if slot.kind is not None:
        if not slot.listed:
            return build(slot.kind, value, where)
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            parts = enumerate(value, start=1)
            return [
                part if _is_object(part) else build(slot.kind, part, f"{where} (part {i})")
                for i, part in parts
            ]
        raise _wrong_type(value, slot, where)
    if typing.get_origin(hint) is Mapping and isinstance(value, dict):
        inner = typing.get_args(hint)[1]
        return {key: _convert(v, inner, f"{where}.{key}") for key, v in value.items()}
    if isinstance(value, list):
        rows = slot.rows and value and all(isinstance(row, list) for row in value)
        if rows:
            return [_convert(row, hint, where) for row in value]
        if not slot.listed or not all(_is_number(entry) for entry in value):
            raise _wrong_type(value, slot, where)
        return [_finite(entry, where) for entry in value]
    if isinstance(value, bool | str):
        if type(value).__name__ not in slot.scalars:
            raise _wrong_type(value, slot, where)
        return value
    fits = _is_number(value) and (
        "float" in slot.scalars or ("int" in slot.scalars and isinstance(value, int))
    )
    if not fits:
        raise _wrong_type(value, slot, where)
    return _finite(value, where)


def _single(cls: type, value: object, slot: _Slot, where: str) -> Any:
    """Return the object of a class outside the catalogue; its table may omit `type`."""
    if not isinstance(value, Mapping) or value.get("type", cls.__name__) != cls.__name__:
        raise _wrong_type(value, slot, where)
    return _made(cls, {k: v for k, v in value.items() if k != "type"}, where)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: Any, where: str) -> Any:
    """Return a number; ScenarioError if it is not finite or has more than 64 bits."""
    if math.isfinite(value) if isinstance(value, float) else abs(value) <= _LARGEST_INT:
        return value
    raise ScenarioError(
        where,
        repr(value) if isinstance(value, float) else "a whole number of more than 64 bits",
        "a finite number, at most 64 bits long if it is whole",
        "a system cannot be described by NaN, infinity or numbers that overflow.",
        "give a finite number, or leave the key out if it has a default.",
    )


def _wrong_type(value: object, slot: _Slot, where: str) -> ScenarioError:
    """Return the error for a value that the field does not admit."""
    shown = repr(value)
    if len(shown) > 60:
        shown = f"{shown[:57]}..."
    names = {bool: "a bool", str: "a string", dict: "a table", list: "a list", float: "a number"}
    kind = names.get(type(value), type(value).__name__)
    return ScenarioError(
        where,
        f"{kind}, {shown}",
        slot.needs,
        "this field has another type.",
        "write numbers without quotes, strings with quotes, and lists in [brackets].",
    )
