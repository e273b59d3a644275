"""What lies in a folder of results: whether it may be replaced, and what is not ours in it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from stiction.errors import Status

__all__ = [
    "FIGURES",
    "FIT",
    "MARK",
    "MOST_OF_SUMMARY",
    "TABLE",
    "holds_good",
    "is_result",
    "strangers",
]

MARK = "summary.json"
"""The file whose presence says that a folder holds a saved run."""

MOST_OF_SUMMARY = 1 << 30
"""Bytes beyond which no summary is read."""

TABLE = "comparison.md"
"""The same for a reproduced figure or table."""

FIT = "fit.json"
"""The same for a law fitted to data."""

FIGURES = "figures"

_OF_RUNS = {MARK, "events.csv", "run.nc", "scenario.toml", "snapshots.vtkhdf"}
_OF_FITS = {FIT, "law.toml", "scenario.toml", "residuals.csv", "report.html"}
_DRAWN_OF_FITS = frozenset(("data", "residuals", "profiles", "correlation"))
_OF_TABLES = {TABLE, "comparison.csv"}
_DRAWN = (".png", ".pdf", ".svg", ".gif", ".mp4", ".html")
_FILM = "animation"
# what a system's file browser leaves wherever it looks
_BROWSED = {".DS_Store", "Thumbs.db", "desktop.ini"}


def is_result(folder: Path) -> bool:
    """Return whether `folder` holds a saved run or fit, or a reproduced figure."""
    return any((folder / mark).is_file() for mark in (MARK, TABLE, FIT))


def holds_good(folder: Path) -> bool:
    """Return whether a result is there that a failed run must not replace.

    One that cannot be read is taken for good: nobody knows what it was.

    Verified by: tests/unit/io/test_contents.py::test_what_cannot_be_read_counts_as_good
    """
    if not folder.is_dir() or not any(folder.iterdir()):
        return False
    try:
        mark = (folder / MARK).stat()
        if not stat.S_ISREG(mark.st_mode) or mark.st_size > MOST_OF_SUMMARY:
            # a pipe of that name would wait for a writer
            return True
        return Status(json.loads((folder / MARK).read_text(encoding="utf-8"))["status"]).ok
    except (OSError, ValueError, LookupError, TypeError, RecursionError, MemoryError):
        return True


def strangers(folder: Path) -> list[str]:
    """Return what a folder of results holds that this package did not write there.

    Returns
    -------
    Paths below the folder; folders end with a slash.

    Verified by: tests/unit/io/test_staging.py::test_files_of_the_user_are_named
    """
    found = []
    table = (folder / TABLE).is_file()
    fit = (folder / FIT).is_file()
    ours = _OF_TABLES if table else _OF_FITS if fit else _OF_RUNS
    for path in sorted(folder.iterdir()):
        inner = path.is_dir() and not path.is_symlink()
        if inner and path.name == FIGURES and not table:
            found += [f"{FIGURES}/{name}" for name in _not_drawn(path, fit=fit)]
        elif inner and table and is_result(path):
            found += [f"{path.name}/{name}" for name in strangers(path)]
        elif inner:
            found += [f"{path.name}/"] * _holds_files(path)
        elif path.name not in ours | _BROWSED and not (table and path.suffix in (".png", ".csv")):
            found.append(path.name)
    return found


def _not_drawn(folder: Path, *, fit: bool) -> list[str]:
    """Return what `stiction run` and `stiction plot` did not draw into `figures`."""
    paths = [path for path in sorted(folder.iterdir()) if path.name not in _BROWSED]
    known: frozenset[str] = _DRAWN_OF_FITS if fit else frozenset()
    if not fit and any(path.suffix in _DRAWN for path in paths):
        from stiction.plot.figures import figure_names

        known = figure_names()
    return [
        path.name + "/" * path.is_dir()
        for path in paths
        if _holds_files(path)
        if not ((path.suffix in _DRAWN and path.stem in known | {_FILM}) or _is_part(path.name))
    ]


def _holds_files(path: Path) -> bool:
    """Return False for a folder with empty folders alone."""
    return not path.is_dir() or any(names for _, _, names in os.walk(path))


def _is_part(name: str) -> bool:
    """Return whether a killed drawing left a file of this name."""
    return name.startswith(".") and name.endswith(".part")
