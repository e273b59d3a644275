"""Writing of scenarios: a system, a method and a time span as text in TOML.

Every field is written, and numbers have full precision, so that the text reproduces a run.
"""

from __future__ import annotations

import dataclasses
import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stiction.io.scenario.classes import is_writable
from stiction.io.scenario.scenario import Scenario

if TYPE_CHECKING:
    from stiction.core.run import Run

__all__ = ["scenario_text", "write_scenario"]

# matches an annotation as text; its first group is the type of the field
_DECLARED = re.compile(r"^Annotated\[([^,]+),.*$", re.DOTALL)
_NUMBERS = re.compile(r"\[\n((?: +[-+.\w]+,\n)+) *\]")


def write_scenario(scenario: Scenario) -> str:
    """Return the TOML text of a scenario; read again, it gives the same objects and numbers.

    Defaults are written too, so that other defaults in a later version have no effect. An object
    with a Python function cannot be written: a comment in the text names it, and `read_scenario`
    refuses the text.

    Verified by: tests/unit/test_scenario.py::test_round_trip
    """
    words = {key: getattr(scenario, key) for key in ("title", "paper", "figure", "note")}
    solve: dict[str, Any] = {"t_end": scenario.t_end, "t_start": scenario.t_start}
    if scenario.save is not None:
        solve["save"] = scenario.save
    return _write(
        {key: value for key, value in words.items() if value},
        {"system": scenario.system, "method": scenario.method, "solve": solve},
    )


def scenario_text(run: Run) -> str:
    """Return the TOML text of the scenario behind a run that was solved from Python."""
    import numpy as np

    from stiction.core.driver import keeps_steps

    times = run.time if run.asked is None else run.asked
    t_start, t_end = float(times[0]), float(times[-1])
    even = np.array_equal(times, np.linspace(t_start, t_end, times.size))
    solve: dict[str, Any] = {"t_end": t_end, "t_start": t_start}
    # all steps of a system that saves them by default were asked for by two times
    by_default = times.size == 2 != run.time.size and keeps_steps(run.system, run.method)
    if not by_default:
        solve["save"] = times.size if even else times
    return _write({}, {"system": run.system, "method": run.method, "solve": solve})


def _write(words: Mapping[str, str], tables: Mapping[str, object]) -> str:
    """Return the text in TOML; lines of comment list objects that cannot be written."""
    import tomli_w

    unwritable: list[str] = []
    from stiction.core.method import methods_of

    method = type(tables["method"])
    own = method.__name__ if method in methods_of(tables["system"]).values() else ""
    declared = {"method": own}
    body = {k: _plain(v, k, unwritable, declared.get(k, "")) for k, v in tables.items()}
    text = _NUMBERS.sub(_on_few_lines, tomli_w.dumps({**words, **body}, multiline_strings=True))
    if not unwritable:
        return text
    return (
        "# This scenario cannot be run from this file: it uses objects that only Python can hold:\n"
        + "".join(f"# {line}\n" for line in unwritable)
        + text
    )


def _plain(value: object, where: str, unwritable: list[str], declared: str = "") -> Any:
    """Return `value` as a TOML value; add the path of an object without one to `unwritable`.

    `declared` is the text of the type in the annotation of the field.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        if not (is_writable(name) or name == declared):
            unwritable.append(f"{where}: {name}")
        known = [f for f in dataclasses.fields(value) if f.init]
        fields = ((f.name, _given(value, f)) for f in known)
        types = {f.name: _DECLARED.sub(r"\1", str(f.type)).removesuffix(" | None") for f in known}
        return {"type": name, **_entries(fields, where, unwritable, types)}
    if isinstance(value, Mapping):
        return _entries(value.items(), where, unwritable)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v, f"{where} (part {i})", unwritable) for i, v in enumerate(value, 1)]
    if isinstance(value, bool | int | float | str):
        return value
    if value is None:
        # a loaded run without a readable scenario has neither system nor method
        unwritable.append(f"{where}: not known")
        return {}
    unwritable.append(f"{where}: {getattr(value, '__name__', type(value).__name__)}")
    return None


def _given(owner: object, field: dataclasses.Field[Any]) -> object:
    """Return the value of a field; None if the file leaves it out.

    A None that is not the default is an empty tuple. An infinite default is left out, because a
    file holds finite numbers only.
    """
    value = getattr(owner, field.name)
    if isinstance(value, float) and math.isinf(value) and value == field.default:
        return None
    plain = field.default is dataclasses.MISSING or field.default is None
    return () if value is None and not plain else value


def _entries(
    items: Iterable[tuple[str, object]],
    where: str,
    unwritable: list[str],
    types: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the entries that are not None in types of TOML; `unwritable` gets the others."""
    declared = types or {}
    plain = {
        key: _plain(value, f"{where}.{key}", unwritable, declared.get(key, ""))
        for key, value in items
        if value is not None
    }
    return {key: value for key, value in plain.items() if value is not None}


def _on_few_lines(match: re.Match[str]) -> str:
    """Return a list of numbers as one line, or as lines of at most 100 characters."""
    numbers = " ".join(match[1].split()).rstrip(",")
    if len(numbers) <= 70:
        return f"[{numbers}]"
    indent = "    "
    lines = textwrap.fill(numbers, 96, initial_indent=indent, subsequent_indent=indent)
    return f"[\n{lines},\n]"
