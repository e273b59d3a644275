"""The studies that come with the package; knowing them imports nothing heavy."""

from __future__ import annotations

import tomllib
from pathlib import Path

from stiction.scenario.built_in import Entry

__all__ = ["ready", "ready_entries"]

_HERE = Path(__file__).resolve().parent / "ready"


def ready() -> dict[str, Path]:
    """Return the files of the ready studies by name."""
    return {path.stem: path for path in sorted(_HERE.glob("*.toml"))}


def ready_entries() -> list[Entry]:
    """Return what the ready studies say about themselves, without building any of them."""
    found = []
    for name, path in ready().items():
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        words = (str(table.get(key, "")) for key in ("title", "paper", "figure"))
        found.append(Entry(name, *words))
    return found
