"""The built-in scenarios: one TOML file each, in the folder `scenarios` of its system's package.

`stiction list` shows them, and `stiction run NAME` solves one.
"""

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
    name : name of the scenario, as in `stiction run NAME`
    title : one line that describes the result
    paper, figure : paper and figure that the scenario reproduces; "" for none
    system : subpackage of the system, such as "chains", or "studies"
    seconds : processor time of `stiction run` with compiled kernels and without figures, measured
        on a machine of 2026 [s]; None if it was not measured
    """

    name: str
    title: str
    paper: str
    figure: str
    system: str = ""
    seconds: float | None = None


def built_in() -> dict[str, Path]:
    """Return {name: file} of the built-in scenarios."""
    found = {path.stem: path for path in _PACKAGE.glob("*/scenarios/*.toml")}
    return dict(sorted(found.items()))


def entries() -> list[Entry]:
    """Return title, system and paper of the built-in scenarios, without building objects."""
    return [entry_of(path, path.parents[1].name) for path in built_in().values()]


def entry_of(path: Path, system: str) -> Entry:
    """Return title, system and paper of one scenario file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    title, paper, figure = (str(table.get(key, "")) for key in ("title", "paper", "figure"))
    return Entry(path.stem, title, paper, figure, system, seconds().get(path.stem))


@functools.cache
def seconds() -> Mapping[str, float]:
    """Return {name: processor time [s]} of the built-in scenarios and studies.

    `tools/time_scenarios.py` writes the file.
    """
    text = Path(__file__).with_name("seconds.toml").read_text(encoding="utf-8")
    return {str(name): float(value) for name, value in tomllib.loads(text)["seconds"].items()}
