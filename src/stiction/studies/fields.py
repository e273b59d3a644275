"""Access to the fields of a scenario by path, such as `law.mu`, `mass[2]` or `solve.t_end`.

Studies and fits use it to read and change fields. A path begins with a field of the system, or with
`system.`, `method.` or `solve.`. Indices of lists start at 0.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stiction.core.fields import rules_of
from stiction.errors import ScenarioError, nearest
from stiction.io.scenario import Scenario
from stiction.io.scenario.reader import field_value
from stiction.io.scenario.source import present_name

__all__ = ["Place", "changed", "current", "place_of", "unit_of"]

_STEP = re.compile(r"[A-Za-z_]\w*|\[\d+\]")
_PATH = re.compile(r"[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*")
_OF_SOLVE = ("t_end", "t_start")
_ROOTS = ("system", "method", "solve")
_EXAMPLE = "for example law.mu, load.rate, mass[2], method.rtol or solve.t_end."


@dataclass(frozen=True)
class Place:
    """The place of a field in a scenario.

    Parameters
    ----------
    path : as the user wrote it
    steps : names of fields and indices of lists (from 0); the first is a field of `Scenario`
    """

    path: str
    steps: tuple[str | int, ...]


def place_of(scenario: Scenario, path: str) -> Place:
    """Return the place of the field `path`.

    Raises
    ------
    ScenarioError : if there is no such field; the message names the nearest.

    Verified by: tests/unit/studies/test_fields.py::test_paths_lead_to_fields
    """
    if not _PATH.fullmatch(str(path)):
        needs, why = "a dotted path of fields", "the path names the field to be varied."
        raise ScenarioError("fields", repr(path), needs, why, _EXAMPLE)
    words = [int(w[1:-1]) if w[0] == "[" else w for w in _STEP.findall(path)]
    if words[0] not in _ROOTS or len(words) == 1:
        words = ["system", *words]
    if words[0] == "solve":
        if len(words) != 2 or words[1] not in _OF_SOLVE:
            raise _unknown_step(path, str(words[1]), _OF_SOLVE, "solve")
        words = [words[1]]
    place = Place(path, ())
    for step in words:
        if isinstance(step, str):
            step = present_name(step, _known(current(scenario, place)))
        place = Place(path, (*place.steps, step))
    current(scenario, place)
    return place


def current(scenario: Scenario, place: Place) -> Any:
    """Return the value of a field of a scenario."""
    value: Any = scenario
    owner = "scenario"
    for step in place.steps:
        if isinstance(step, int):
            value = _entry(place.path, value, step, owner)
            continue
        known = _known(value)
        if step not in known:
            raise _unknown_step(place.path, step, known, owner)
        value, owner = getattr(value, step), step
    return value


def unit_of(scenario: Scenario, place: Place) -> str:
    """Return the unit of a field, from its class or the class's docstring; "" if neither has one.

    Verified by: tests/unit/studies/test_fields.py::test_units_are_those_of_the_fields
    """
    owner: Any = scenario
    if place.steps[0] in _OF_SOLVE:
        return str(getattr(scenario.system, "time_unit", "s"))
    # the last name is the field; indices after it are those of its entries
    last = max(k for k, step in enumerate(place.steps) if isinstance(step, str))
    for step in place.steps[:last]:
        owner = owner[step] if isinstance(step, int) else getattr(owner, step)
    name = str(place.steps[last])
    declared = str(getattr(rules_of(type(owner)).get(name), "unit", ""))
    if declared not in ("", "1"):
        return declared
    # fields without a declared unit: the docstring has it in brackets
    for kind in type(owner).__mro__:
        documented = _documented_units(inspect.cleandoc(kind.__doc__ or ""))
        if name in documented:
            return documented[name]
    return declared


_DESCRIBED = re.compile(r"^(\w+(?:, \w+)*) : ((?:.*)(?:\n {4,}.*)*)", re.MULTILINE)
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]")


def _documented_units(doc: str) -> dict[str, str]:
    """Return the units in the parameter section of a docstring, by name."""
    documented: dict[str, str] = {}
    for names, text in _DESCRIBED.findall(doc):
        several = [name.strip() for name in names.split(",")]
        units = _IN_BRACKETS.findall(text)
        # the docstring gives one unit for each name, or one for all
        if units:
            each = units if len(units) == len(several) else units[:1] * len(several)
            documented.update(zip(several, each, strict=True))
    return documented


def changed(scenario: Scenario, places: Sequence[Place], values: Sequence[object]) -> Scenario:
    """Return the scenario with other values at some places; each enclosing object is built once.

    Raises
    ------
    ScenarioError : if a value has the wrong type, or one place is another one or a part of it.
    ModelError : if an object does not admit a value.

    Verified by: tests/unit/studies/test_fields.py::test_values_are_put_in_place
    """
    _check_separate(places)
    tree: dict[Any, Any] = {}
    for place, value in zip(places, values, strict=True):
        inner = tree
        for step in place.steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[place.steps[-1]] = _Leaf(place.path, value)
    made: Scenario = _rebuilt(scenario, tree)
    return made


def _check_separate(places: Sequence[Place]) -> None:
    """Check that no place is another one or a part of it."""
    for one, other in itertools.permutations(places, 2):
        if other.steps[: len(one.steps)] == one.steps:
            why = "both paths set the same value, and neither has precedence."
            needs, try_ = "paths of which none is a part of another", "leave one of them out."
            raise ScenarioError("fields", f"{one.path} and {other.path}", needs, why, try_)


@dataclass(frozen=True)
class _Leaf:
    path: str
    value: object


def _rebuilt(owner: Any, tree: Mapping[Any, Any]) -> Any:
    """Return a copy of an object or list with other values at the leaves of `tree`.

    `tree` maps names of fields, or indices, to leaves or to further trees.
    """
    if not dataclasses.is_dataclass(owner):
        parts = list(owner)
        for index, inner in tree.items():
            leaf = isinstance(inner, _Leaf)
            parts[index] = _plain(inner.value) if leaf else _rebuilt(parts[index], inner)
        return np.array(parts) if isinstance(owner, np.ndarray) else tuple(parts)
    new: dict[str, Any] = {}
    for name, inner in tree.items():
        if isinstance(inner, _Leaf):
            new[name] = field_value(type(owner), name, _plain(inner.value), inner.path)
        else:
            new[name] = _rebuilt(getattr(owner, name), inner)
    made: Any = dataclasses.replace(owner, **new)  # type: ignore[type-var]
    return made


def _plain(value: object) -> Any:
    """Return a NumPy value as a Python value."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _known(owner: object) -> list[str]:
    """Return the names of the fields that a path may name in an object; none of a value."""
    if isinstance(owner, type) or not dataclasses.is_dataclass(owner):
        return []
    names = [f.name for f in dataclasses.fields(owner) if f.init]
    if isinstance(owner, Scenario):
        return [n for n in names if n in ("system", "method", *_OF_SOLVE)]
    return names


def _entry(path: str, values: Any, index: int, owner: str) -> Any:
    """Return entry `index` of the list `values`, the field `owner`; ScenarioError without one."""
    if not isinstance(values, list | tuple | np.ndarray):
        what = f"[{index}] of {owner}, which is {values!r}"
        needs, why = "a list with that index", "this field holds one value."
        try_ = f"give {owner} as a list in the scenario, or sweep {owner} itself."
        raise ScenarioError(f"fields.{path}", what, needs, why, try_)
    if index >= len(values):
        needs = f"an index from 0 to {len(values) - 1}" if len(values) else "a list with entries"
        why = f"{owner} has {len(values)} entries; indices start at 0."
        try_ = "use an index in this range." if len(values) else f"sweep {owner} itself."
        raise ScenarioError(f"fields.{path}", index, needs, why, try_)
    return values[index]


def _unknown_step(path: str, step: str, known: Sequence[str], owner: str) -> ScenarioError:
    """Return the error for a `step` of a path that is no field of `owner`."""
    fields = ", ".join(known) or "none: it holds a value"
    near = nearest(step, known) if known else "shorten the path."
    needs, why = f"a field of {owner}: {fields}", "an unknown field would be swept without effect."
    return ScenarioError(f"fields.{path}", f"{step!r}", needs, why, f"{near} {_EXAMPLE}")
