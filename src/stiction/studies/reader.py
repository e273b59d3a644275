"""Reading of studies: a TOML file is converted to a `Sweep`.

::

    title = "Where a chain stops"
    scenario = "slip-wave"            # a built-in name, or a file
    set = ["solve.t_end=20"]          # settings as in `stiction run --set`
    results = ["stop_time", "max(onset_force)"]
    trajectories = 0

    [design]                          # default: a grid
    type = "Grid"

    [fields]
    "law.mu" = { from = 0.1, to = 0.4, count = 31 }
    "load.rate" = [0.5, 1.0, 2.0]

The tables [system], [method] and [solve] of a scenario may stand in place of the key `scenario`. A
member is one run of the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stiction.errors import ScenarioError, nearest
from stiction.io.scenario import built_in, read_scenario
from stiction.io.scenario.reader import build, scenario_of
from stiction.io.scenario.source import Table, parse, read_table
from stiction.studies.designs import Grid, Range
from stiction.studies.listing import ready
from stiction.studies.sweep import Sweep

__all__ = ["read_study"]

_TABLES = ("system", "method", "solve")
# read by `listing`, not here
_WORDS = ("paper", "figure", "note")
_KEYS = (
    "title",
    "scenario",
    "set",
    "results",
    "trajectories",
    "design",
    "fields",
    *_TABLES,
    *_WORDS,
)
_RANGE = ("from", "to", "count", "log")


def read_study(source: str | Path) -> Sweep:
    """Return the sweep from the name of a built-in study, a TOML file, or a TOML text.

    Raises
    ------
    ScenarioError : if a key is unknown or missing, or a value has the wrong type.

    Verified by: tests/unit/studies/test_reader.py::test_files_become_sweeps
    """
    text = isinstance(source, str) and "\n" in source
    if not text and str(source) in ready():
        path = ready()[str(source)]
    else:
        path = Path("study.toml") if text else Path(source)
        if path.suffix != ".toml":
            needs = "the name of a built-in study, or the path of a .toml file"
            why = "a name without .toml is looked up among the built-in studies."
            try_ = f"{nearest(str(source), ready())} `stiction list` shows all of them."
            if str(source) in built_in():
                why = "this is the name of a scenario, which has no table of swept fields."
                try_ = f'write a file with scenario = "{source}" and [fields].'
            raise ScenarioError("study", repr(str(source)), needs, why, try_)
    table = parse(str(source), "study") if text else read_table(path)
    if "results" not in table and "keep" in table:
        # studies written before `results` had its present name have the key `keep`
        table["results"] = table.pop("keep")
    _known(table, _KEYS, "study")
    return Sweep(
        scenario=_scenario(table, path.parent),
        fields=_fields(table),
        design=build("Design", table["design"], "design") if "design" in table else Grid(),
        results=_result_names(table.get("results", [])),
        trajectories=_whole(table.get("trajectories", 0)),
        title=str(table.get("title", "")).strip(),
    )


def _scenario(table: Table, beside: Path) -> Any:
    """Return the scenario that a study names or contains."""
    inside = {key: table[key] for key in _TABLES if key in table}
    changes = table.get("set", [])
    if not isinstance(changes, list) or not all(isinstance(c, str) for c in changes):
        needs, why = (
            'a list of settings, such as ["solve.t_end=20"]',
            "the settings change the scenario.",
        )
        raise ScenarioError("set", repr(changes), needs, why, "put each setting in quotes.")
    if "scenario" not in table:
        if not inside:
            needs = "scenario = ..., or [system] and [solve]"
            why, try_ = "a study solves one scenario many times.", 'scenario = "slip-wave".'
            raise ScenarioError("study", "no scenario", needs, why, try_)
        return scenario_of(inside, changes)
    if inside:
        got = f"scenario and [{'], ['.join(inside)}]"
        why, try_ = "a study has one scenario.", "change the named scenario by set = [...]."
        raise ScenarioError("study", got, "one of the two", why, try_)
    name = table["scenario"]
    if not isinstance(name, str):
        why = "a study solves one scenario many times."
        raise ScenarioError(
            "scenario", repr(name), "a name or a file", why, "put the name in quotes."
        )
    if name.endswith(".toml") and not Path(name).is_absolute():
        return read_scenario(beside / name, changes)
    return read_scenario(name, changes)


def _fields(table: Table) -> dict[str, Any]:
    """Return the varied fields, {path: values or Range}."""
    given = table.get("fields")
    if not isinstance(given, Mapping) or not given:
        got, needs = repr(given) if given else "nothing", "a table [fields] of paths and values"
        why, try_ = (
            "the table [fields] names the varied fields.",
            '"law.mu" = { from = 0.1, to = 0.4, count = 31 }',
        )
        raise ScenarioError("fields", got, needs, why, f"for example {try_}.")
    return dict(_flat(given, ""))


def _flat(given: Mapping[str, Any], before: str) -> list[tuple[str, Any]]:
    """Return (path, values) of all fields; TOML reads dotted keys as tables in tables."""
    pairs: list[tuple[str, Any]] = []
    for key, value in given.items():
        path = f"{before}{key}"
        # a table with from, to or count is a range; any other is a part of a path
        if isinstance(value, Mapping) and not {"from", "to", "count"} & set(value):
            pairs += _flat(value, f"{path}.")
        elif isinstance(value, Mapping):
            pairs.append((path, _range(value, path)))
        else:
            pairs.append((path, value))
    return pairs


def _range(value: Mapping[str, Any], path: str) -> Range:
    """Return the range of the table { from, to, count, log } of a field."""
    _known(value, _RANGE, f"fields.{path}")
    for key in ("from", "to"):
        if key not in value:
            why, try_ = "a range has two ends.", "{ from = 0.1, to = 0.4, count = 31 }."
            raise ScenarioError(f"fields.{path}.{key}", "nothing", "a number", why, try_)
    log = value.get("log", False)
    if not isinstance(log, bool):
        why = "with log = true the values are evenly spaced in the logarithm."
        where = f"fields.{path}.log"
        raise ScenarioError(where, repr(log), "true or false", why, "leave `log` out.")
    return Range(value["from"], value["to"], value.get("count"), log)


def _result_names(given: object) -> list[str]:
    """Return the names of the saved results as a list; ScenarioError for anything else."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        needs, why = "names of results", "these results are saved for each member."
        try_ = 'for example results = ["stop_time"]; functions can be given only in Python.'
        raise ScenarioError("results", repr(given), needs, why, try_)
    return names


def _whole(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        why = "each member saves its states at this many times."
        needs = "a whole number"
        raise ScenarioError("trajectories", repr(given), needs, why, "give 0 to save no states.")
    return given


def _known(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raise ScenarioError for a key of a table that is not known."""
    for key in given:
        if key not in known:
            got, needs = f"the unknown key {key!r}", "keys: " + ", ".join(known)
            why = "an unknown key would be ignored, and the study would not be the intended one."
            raise ScenarioError(where, got, needs, why, nearest(key, known))
