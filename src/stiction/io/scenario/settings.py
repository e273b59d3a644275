"""Changes of single values of a scenario, as by `stiction run NAME --set system.law.mu=0.3`.

The change is applied to the tables of the TOML file before the objects are built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stiction.errors import ScenarioError, nearest
from stiction.io.scenario.source import Table, parse, read_table

__all__ = ["change"]

_BARE = re.compile(r"[A-Za-z_][\w+-]*")
_NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")
_KEY = re.compile(r"[A-Za-z_]\w*")
_EXAMPLE = "for example --set system.law.mu=0.3."


def change(table: Table, setting: str) -> None:
    """Put the value of `path=value` into `table`, in place.

    Parameters
    ----------
    table : the scenario as plain values
    setting : text `path=value`: a dotted path, and a value in TOML. A word without quotes is a
        string. A table in braces replaces a whole object; so does @FILE, a TOML file with the table

    Raises
    ------
    ScenarioError : if the path does not exist in the scenario, or the value is not TOML.

    Verified by: tests/unit/test_scenario.py::test_settings
    """
    path, equals, text = setting.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(_KEY.fullmatch(key) for key in keys):
        raise ScenarioError(
            "--set",
            repr(setting),
            "path=value with a dotted path",
            "the path names the tables of the scenario and the key in the last one.",
            f"{_EXAMPLE[:-1]}; change an entry of a list, such as a body, in a scenario file.",
        )
    owner = table
    for depth, key in enumerate(keys[:-1]):
        if key == "solve" and depth == 0:
            owner.setdefault(key, {})
        owner = _step(owner, key, ".".join(keys[: depth + 1]), setting)
    text = text.strip()
    made = (
        _of_file(text[1:].strip(), keys[-1], setting)
        if text.startswith("@")
        else _value(text, setting)
    )
    owner[keys[-1]] = made


def _step(owner: Table, key: str, path: str, setting: str) -> Table:
    """Return the table `key` within the table `owner`; ScenarioError if there is none."""
    inner = owner.get(key)
    if isinstance(inner, dict):
        return inner
    tables = [name for name, value in owner.items() if isinstance(value, dict)]
    if inner is None:
        got = f"{setting!r}, but the scenario has no table [{path}]"
        near = nearest(key, tables) if tables else ""
        if key in owner.get("system", {}):
            near = f"did you mean --set system.{setting}?"
    else:
        got, near = f"{setting!r}, but {path} is not a table", ""
    whole = f"give the whole table: --set '{path}={{type=\"...\"}}'."
    raise ScenarioError(
        "--set",
        got,
        "a dotted key, all tables of which exist",
        "a single key can be changed only in a table that exists.",
        f"{near} Or {whole}" if near else whole,
    )


def _of_file(name: str, key: str, setting: str) -> Any:
    """Return the table of a TOML file, or the one under `key`, as in law.toml of a fit."""
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        why, needs = (
            "the sign @ precedes the name of a file with the new table.",
            "an existing TOML file",
        )
        try_ = "check the path; for example system.law=@law.toml."
        raise ScenarioError("--set", repr(setting), needs, why, try_)
    table = read_table(path)
    return table if "type" in table else table.get(key, table)


def _value(text: str, setting: str) -> Any:
    """Return the value of a text in TOML; a bare word is a string."""
    why, needs = "a setting changes one key.", "a value in TOML"
    try:
        found = parse(f"value = {text}", "--set")
        if len(found) == 1:
            return found["value"]
    except ScenarioError as error:
        if _BARE.fullmatch(text):
            return text
        if _NUMBER.fullmatch(text):
            # numbers such as 1. and .5 are valid in Python, but not in TOML
            return float(text)
        if error.__cause__ is None:
            # the error concerns a key with too many parts
            raise
        why = f"the value cannot be read ({error.__cause__})."
    try_ = (
        _EXAMPLE
        + ' Lists: system.mass=[1,2,4]; objects: method={type="Quasistatic"};'
        + " files: system.law=@law.toml."
    )
    raise ScenarioError("--set", repr(setting), needs, why, try_)
