"""Shell completion on the command line: names and files of scenarios, and the keys of `--set`.

Every function takes the incomplete word and returns the words that begin with it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from stiction.errors import StictionError

__all__ = ["paths", "scenarios", "settings"]


def scenarios(incomplete: str) -> list[str]:
    """Return built-in scenarios, scenario files and folders that begin with `incomplete`."""
    from stiction.io.scenario.built_in import built_in

    return [name for name in built_in() if name.startswith(incomplete)] + paths(incomplete)


def settings(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the keys of the scenario that begin with `incomplete`, such as `system.mass=`.

    Values, after the sign of equality, are not completed.

    Verified by: tests/scenarios/test_completion.py::test_bash_completes
    """
    from stiction.io.scenario.source import read_table

    # while an option is typed, the argument before it is not parsed yet: it is the last of `args`
    scenario = ctx.params.get("scenario") or next(reversed(ctx.args), "")
    found: list[str] = []
    with contextlib.suppress(StictionError):
        found += _keys(read_table(scenario))
    return [key for key in found if key.startswith(incomplete)]


def _keys(table: dict[str, Any], before: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{before}{key}.")
        elif before:
            yield f"{before}{key}="


def paths(incomplete: str, suffix: str = ".toml") -> list[str]:
    """Return files with a suffix and folders that begin with `incomplete`; "" for folders only."""
    folder, _, start = incomplete.rpartition("/")
    place = Path(folder + "/" if incomplete.startswith("/") else folder or ".")
    found = []
    with contextlib.suppress(OSError):
        for entry in sorted(os.scandir(place), key=lambda one: one.name):
            fits = entry.is_dir() or (suffix and entry.name.endswith(suffix))
            if fits and entry.name.startswith(start) and not entry.name.startswith("."):
                path = f"{folder}/{entry.name}" if folder or incomplete[:1] == "/" else entry.name
                found.append(path + "/" * entry.is_dir())
    return found
