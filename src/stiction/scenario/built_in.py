"""The built-in scenarios: one TOML file each, beside the system it describes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Entry", "built_in", "entries"]

_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Entry:
    """One line of `stiction list`: name, title, and the paper and figure it belongs to."""

    name: str
    title: str
    paper: str
    figure: str


def built_in() -> dict[str, Path]:
    """Return the files of the built-in scenarios by name."""
    found = {path.stem: path for path in _PACKAGE.glob("*/scenarios/*.toml")}
    return dict(sorted(found.items()))


def entries() -> list[Entry]:
    """Return what the built-in scenarios say about themselves, without building any of them."""
    found = []
    for name, path in built_in().items():
        with path.open("rb") as file:
            table = tomllib.load(file)
        title, paper, figure = (str(table.get(key, "")) for key in ("title", "paper", "figure"))
        found.append(Entry(name, title, paper, figure))
    return found
