"""The studies that come with the package; knowing them imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

from stiction.io.scenario.built_in import Entry, entry_of

__all__ = ["ready", "ready_entries"]

_HERE = Path(__file__).resolve().parent / "ready"


def ready() -> dict[str, Path]:
    """Return the files of the ready studies by name."""
    return {path.stem: path for path in sorted(_HERE.glob("*.toml"))}


def ready_entries() -> list[Entry]:
    """Return the descriptions of the ready studies without building them."""
    return [entry_of(path, "studies") for path in ready().values()]
