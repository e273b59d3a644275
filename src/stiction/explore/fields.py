"""The numbers of a scenario as fields of a page, each with the range of its slider."""

from __future__ import annotations

import contextlib
import copy
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stiction.catalogue import attribute
from stiction.core.fields import Components, Finite, NonNegative, Positive, Rule, rules_of
from stiction.errors import ScenarioError, nearest
from stiction.io.scenario.classes import KINDS, places
from stiction.io.scenario.source import Table

__all__ = ["Field", "comments", "fields_of", "value_of", "with_values"]

_ROOTS = ("system", "method", "solve")
# longer lists are data, not parameters
_MOST_ENTRIES = 4
_MOST_FIELDS = 80
_SMALLEST, _LARGEST = 1e-300, 1e300

# names of fields with a logarithmic slider
_BY_POWERS = re.compile(r"(^|_)(rtol|atol|tol|tolerance|step|dt|smoothing|part)$")
# fields that are not negative though they declare no bound
_ONE_SIDED = ("time", "t_start", "seed")
# fields that are no counts though they declare no rule
_REAL = ("t_start", "t_end", "t_span")
_HEAD = re.compile(r"(\[?)\[([\w.]+)\]\]?\s*(?:#.*)?$")
_LINE = re.compile(r"([A-Za-z_]\w*)\s*=\s*([^#\"']+?)\s*#\s*(.+)$")


@dataclass(frozen=True)
class Field:
    """A number of a scenario.

    Parameters
    ----------
    path : of the field, such as system.law.mu or system.mass[0]
    value : its present value
    low, high : ends of its slider; its text box takes any number
    step : of the slider; step of log10 of the value if `powers`
    whole : whether it is an integer
    powers : whether the slider is logarithmic
    words : unit and meaning from the comment in the file, "" if there is none
    """

    path: str
    value: float | int
    low: float
    high: float
    step: float
    whole: bool
    powers: bool
    words: str = ""


def fields_of(table: Table, text: str = "") -> list[Field]:
    """Return a field for every number of a scenario, including entries of lists up to 4 long.

    Parameters
    ----------
    table : the scenario as plain values
    text : its TOML file, whose comments give units

    Verified by: tests/unit/explore/test_fields.py::test_every_number_has_a_range_about_it
    """
    notes, rules = comments(text), dict(_rules(table))
    fields = []
    for path, value in _numbers({key: table.get(key) for key in _ROOTS}, ""):
        # a field may be a list of numbers
        of_list = re.sub(r"(\[\d+\])+$", "", path)
        words = notes.get(path, notes.get(of_list, ""))
        fields.append(_field(path, value, words, rules.get(of_list)))
    return fields[:_MOST_FIELDS]


def _rules(table: Table) -> Iterator[tuple[str, Rule]]:
    """Yield the path of every declared field, with the rule for its admissible values."""
    tables = [(key, table.get(key)) for key in _ROOTS]
    for path, inner in tables:
        if isinstance(inner, list):
            tables += [(f"{path}[{i}]", one) for i, one in enumerate(inner)]
        if not isinstance(inner, Mapping):
            continue
        tables += [(f"{path}.{key}", value) for key, value in inner.items()]
        for kind in _classes(str(inner.get("type")), table):
            for name, rule in rules_of(kind).items():
                yield f"{path}.{name}", rule


def _classes(name: str, table: Table) -> Iterator[type]:
    """Yield the class of a name; among several, that of the system's package, or of no system's."""
    modules = places(name)
    if len(modules) > 1:
        systems = KINDS["System"]
        own = _package(systems.get(str(table.get("system", {}).get("type")), ""))
        others = {_package(place) for place in systems.values()}
        modules = {place for place in modules if _package(place) == own} or {
            place for place in modules if _package(place) not in others
        }
    for place in modules:
        yield attribute(place, name)


def _package(place: str) -> tuple[str, ...]:
    """Return the first two parts of the dotted name of a module, such as stiction.chains."""
    return tuple(place.split(".")[:2])


def _numbers(value: object, path: str) -> Iterator[tuple[str, float | int]]:
    """Yield the path and value of every number, in the order of the file."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        # exclude NaN, infinity, integers beyond floating point, and what underflows
        if value == 0 or _SMALLEST < abs(value) < _LARGEST:
            yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            # a key with dots or brackets would be read as a path
            if re.fullmatch(r"[A-Za-z_]\w*", str(key)):
                yield from _numbers(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and len(value) <= _MOST_ENTRIES:
        for i, inner in enumerate(value):
            yield from _numbers(inner, f"{path}[{i}]")


def _field(path: str, value: float | int, words: str, rule: Rule | None) -> Field:
    """Return the field of a number; the declared rule of its class bounds the slider."""
    name = path.rpartition(".")[2].partition("[")[0]
    # a file may write 1 for the number 1.0
    real = isinstance(rule, Finite | Components) or name in _REAL
    whole = isinstance(value, int) and not real
    value = value if whole else float(value)
    if not words and isinstance(rule, Finite) and rule.unit not in ("", "1"):
        words = rule.unit
    if not whole and value > 0.0 and _BY_POWERS.search(name):
        return Field(path, value, value / 100.0, value * 100.0, 0.05, False, True, words)
    one_sided = isinstance(rule, Positive | NonNegative) or name in _ONE_SIDED
    low, high = _range(value, listed=path.endswith("]"), one_sided=one_sided)
    if isinstance(rule, Finite):
        low = max(low, *(b for b in (rule.least, rule.above) if b is not None), -math.inf)
        high = min(high, *(b for b in (rule.most, rule.below) if b is not None), math.inf)
    if whole:
        return Field(path, value, math.floor(low), math.ceil(high), 1.0, True, False, words)
    step = _round((high - low) / 200.0)
    return Field(path, value, low, high, step, False, False, words)


def _range(value: float, *, listed: bool, one_sided: bool) -> tuple[float, float]:
    """Return the ends of a slider: a tenth and three times the value, or a range about zero."""
    whole = isinstance(value, int)
    if value == 0:
        size = 10.0 if whole else 1.0
        both = (listed or not one_sided) and not whole
        return (-size if both else 0.0), size
    size = abs(float(value))
    if whole:
        return (1.0 if value > 0 else float(value) - 5.0), max(2.0 * value, value + 5.0)
    near, far = _round(0.1 * size), _round(3.0 * size)
    # a position or a velocity may change its direction
    if listed and not one_sided:
        return -far, far
    return (near, far) if value > 0.0 else (-far, -near)


def _round(size: float) -> float:
    """Return 1, 2, 3 or 5 times a power of ten, the nearest to a positive number."""
    power = 10.0 ** math.floor(math.log10(size))
    best = min((1.0, 2.0, 3.0, 5.0, 10.0), key=lambda m: abs(math.log(m * power / size)))
    return float(f"{best * power:.3g}")


def comments(text: str) -> dict[str, str]:
    """Return the comments after numbers in a TOML file, {path of the number: comment}.

    Verified by: tests/unit/explore/test_fields.py::test_comments_give_units
    """
    table, notes = "", {}
    # the position of the last table of each list of tables
    last: dict[str, int] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if head := _HEAD.match(stripped):
            name = head[2]
            if head[1]:
                at = last.get(name, -1) + 1
                last = {key: i for key, i in last.items() if not key.startswith(f"{name}.")}
                last[name] = at
            words = name.split(".")
            begins = [".".join(words[: k + 1]) for k in range(len(words))]
            table = ".".join(
                f"{word}[{last[key]}]" if key in last else word
                for word, key in zip(words, begins, strict=True)
            )
        elif match := _LINE.match(stripped):
            notes[f"{table}.{match[1]}" if table else match[1]] = match[3].strip()[:80]
    return notes


def value_of(field: Field, value: object) -> float | int:
    """Return the value that a page sent for a field, as a number.

    Raises
    ------
    ScenarioError : if it is not a finite number, or not an integer although the field needs one.

    Verified by: tests/unit/explore/test_fields.py::test_bad_values_are_refused
    """
    why = "a solver computes with finite numbers alone."
    if isinstance(value, str):
        # float() accepts 1_000, which is refused here
        with contextlib.suppress(ValueError):
            value = float(value.strip().replace("_", "!"))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(float(str(value))) or abs(float(str(value))) > _LARGEST:
        got = repr(value)[:40]
        raise ScenarioError(field.path, got, "a finite number", why, f"{field.value:g}.")
    assert isinstance(value, int | float)
    if field.whole:
        if value != int(value):
            why = "the number of parts or of steps is a whole number."
            try_ = f"{round(value)}."
            raise ScenarioError(field.path, f"{value:g}", "a whole number", why, try_)
        return int(value)
    return float(value)


_STEP = re.compile(r"[A-Za-z_]\w*|\[\d+\]")


def with_values(table: Table, values: Mapping[str, float | int]) -> Table:
    """Return a copy of a scenario with the numbers `values`, {path: number}.

    Raises
    ------
    ScenarioError : if there is no number at a path.

    Verified by: tests/unit/explore/test_fields.py::test_values_are_put_in_place
    """
    made = copy.deepcopy(table)
    known = [path for path, _ in _numbers({key: table.get(key) for key in _ROOTS}, "")]
    for path, value in values.items():
        if path not in known:
            needs, why = "the path of a number of this scenario", "only numbers can be set here."
            raise ScenarioError(
                "field", repr(path)[:80], needs, why, nearest(path[:80], known[:200])
            )
        owner: Any = made
        *before, last = [int(w[1:-1]) if w.startswith("[") else w for w in _STEP.findall(path)]
        for step in before:
            owner = owner[step]
        owner[last] = value
    return made
