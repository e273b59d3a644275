"""The built-in scenarios: one TOML file each, beside the system it describes."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Entry", "built_in", "entries", "entry_of", "seconds"]

_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """One line of `stiction list`.

    Parameters
    ----------
    name : how it is run
    title : one line that says what is to be seen
    paper, figure : what it belongs to, "" for none
    system : the room of its system, or "studies"
    seconds : time of the processor of `stiction run` with compiled kernels and without figures,
        measured on a machine of 2026 [s]; None where it was not measured
    """

    name: str
    title: str
    paper: str
    figure: str
    system: str = ""
    seconds: float | None = None


def built_in() -> dict[str, Path]:
    """Return the files of the built-in scenarios by name."""
    found = {path.stem: path for path in _PACKAGE.glob("*/scenarios/*.toml")}
    return dict(sorted(found.items()))


def entries() -> list[Entry]:
    """Return title, system and paper of the built-in scenarios, without building any."""
    return [entry_of(path, path.parents[1].name) for path in built_in().values()]


def entry_of(path: Path, system: str) -> Entry:
    """Return title, system and paper of one file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    title, paper, figure = (str(table.get(key, "")) for key in ("title", "paper", "figure"))
    return Entry(path.stem, title, paper, figure, system, seconds().get(path.stem))


@functools.cache
def seconds() -> Mapping[str, float]:
    """Return the processor time of runs and studies, {name: seconds}.

    Written by `tools/time_scenarios.py`.
    """
    text = Path(__file__).with_name("seconds.toml").read_text(encoding="utf-8")
    return {str(name): float(value) for name, value in tomllib.loads(text)["seconds"].items()}
