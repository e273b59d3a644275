"""The studies that come with the package: TOML files in the folder `ready`."""

from __future__ import annotations

from pathlib import Path

from stiction.io.scenario.built_in import Entry, entry_of

__all__ = ["ready", "ready_entries"]

_HERE = Path(__file__).resolve().parent / "ready"


def ready() -> dict[str, Path]:
    """Return {name: file} of the studies in the package."""
    return {path.stem: path for path in sorted(_HERE.glob("*.toml"))}


def ready_entries() -> list[Entry]:
    """Return the descriptions of the studies in the package without building them."""
    return [entry_of(path, "studies") for path in ready().values()]
