"""Reading of TOML text, from a built-in scenario, a file or a string, into plain tables.

Every failure is a ScenarioError. Names of earlier versions are translated.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container
from pathlib import Path
from typing import Any

from stiction.errors import ScenarioError, nearest
from stiction.io.scenario.built_in import built_in

__all__ = ["Table", "parse", "present_name", "read_table"]

Table = dict[str, Any]

_MOST_PARTS = 100
# the time of tomllib grows with the square of the number of parts of a key; the possessive
# quantifiers make the time of this search linear
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS - 1}}}")
# comments and strings, to their ends or to that of the text
_NO_KEYS = re.compile(
    r"""#[^\n]*+|\"{3}(?:\\.|[^\\])*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)"""
    r"""|\"(?:\\.|[^\"\\\n])*+\"?|'[^'\n]*+'?""",
    re.DOTALL,
)
# fields and values in files of earlier versions -> their present names
_RENAMED_FIELDS = {"max_cuts": "max_halvings", "part": "fraction", "most": "max_contacts"}
# classes that had these fields; classes of other packages may have fields of the same names
_CLASSES = {
    "max_cuts": ("Continuation", "GeneralisedAlpha", "Quasistatic"),
    "part": ("RollingLeapfrog",),
    "most": ("ContactSearch",),
}
_RENAMED_VALUES = {
    ("type", "Among"): "ContactAmong",
    ("type", "SlipAtTouch"): "SlipAtGrazing",
    ("passes", "half"): "two-half-pass",
}
_TRY_TOML = "compare with a built-in scenario: `stiction list` names the built-in scenarios."


def read_table(source: str | Path) -> Table:
    """Return the table behind a built-in name, a path, or (with a line break) a text.

    Raises
    ------
    ScenarioError : if there is no such scenario, or the text cannot be read or is not TOML.

    Verified by: tests/unit/test_scenario.py::test_wrong_syntax_names_the_line
    """
    if isinstance(source, str) and "\n" in source:
        return parse(source, "scenario")
    if isinstance(source, str) and source in (known := built_in()):
        path = known[source]
    else:
        path = Path(source)
        if path.suffix != ".toml":
            raise _unknown(str(source))
    return parse(_text(path), path.name)


def parse(text: str, name: str) -> Table:
    """Return the table that TOML `text` describes; messages call the text `name`."""
    # comments and strings may have many dots; quoted parts of a key remain, as one letter each
    bare = _NO_KEYS.sub(lambda m: ("" if m[0][0] == "#" else "x") + "\n" * m[0].count("\n"), text)
    if (long := _LONG_KEY.search(bare)) is not None:
        line = bare.count("\n", 0, long.start()) + 1
        got, needs = f"a key of {_MOST_PARTS} parts or more at line {line}", "keys of few parts"
        why = "no field has such a deep path, and reading such keys takes very long."
        raise ScenarioError(name, got, needs, why, _TRY_TOML)
    try:
        return _renamed(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        # a ValueError is wrong syntax or a number with thousands of digits
        raise ScenarioError(
            name,
            str(error) if isinstance(error, ValueError) else "brackets that are nested too deeply",
            "a TOML file",
            "strings need quotes, names of tables need [brackets], keys are followed by `=`.",
            _TRY_TOML,
        ) from error


def _renamed(table: Table) -> Table:
    """Replace earlier names in a table by the present ones, and return it.

    Verified by: tests/unit/test_scenario.py::test_files_with_earlier_names_are_read
    """
    for key, value in list(table.items()):
        inner = value if isinstance(value, list) else [value]
        for item in inner:
            if isinstance(item, dict):
                _renamed(item)
        if isinstance(value, str):
            table[key] = _RENAMED_VALUES.get((key, value), value)
        now = _RENAMED_FIELDS.get(key, key)
        if now not in table and table.get("type") in _CLASSES.get(key, ()):
            table[now] = table.pop(key)
    return table


def present_name(name: str, known: Container[str]) -> str:
    """Return the present name of a field of a class that files of earlier versions call `name`.

    Parameters
    ----------
    known : names of the fields of the class; one of another package may have a field `name`

    """
    now = _RENAMED_FIELDS.get(name, name)
    return now if now in known and name not in known else name


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8; every failure is a ScenarioError."""
    try:
        # editors may begin a file with U+FEFF
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        got, needs = "bytes that are not UTF-8 text", "a TOML file in UTF-8"
        raise ScenarioError(path.name, got, needs, _WHY_FILE, _TRY_TOML) from error
    except (OSError, ValueError) as error:
        # a ValueError means an invalid path, for example with a null character
        got = getattr(error, "strerror", None) or str(error)
        try_ = "check the path; `stiction list` names the built-in scenarios."
        raise ScenarioError(
            str(path), got, "a TOML file that can be read", _WHY_FILE, try_
        ) from error


_WHY_FILE = "a scenario is a text file that describes a system, a method and a time span."


def _unknown(name: str) -> ScenarioError:
    """Return the error for a name that is no built-in scenario."""
    known = built_in()
    return ScenarioError(
        "scenario",
        repr(name),
        "the name of a built-in scenario, or the path of a .toml file",
        "a name without .toml is looked up among the built-in scenarios.",
        f"{nearest(name, known)} `stiction list` shows all of them.",
    )
