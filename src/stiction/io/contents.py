"""What lies in a folder of results: whether it may be replaced, and what is not ours in it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from stiction.errors import Status

__all__ = [
    "DATA",
    "FIGURES",
    "FIT",
    "MARK",
    "MOST_OF_SUMMARY",
    "SNAPSHOTS",
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

SNAPSHOTS = "snapshots.vtkhdf"
"""The file of a run that is for other programs alone: without it a run is read all the same."""

DATA = {
    MARK: ("events.csv", "run.nc", "scenario.toml", SNAPSHOTS),
    FIT: ("law.toml", "scenario.toml", "residuals.csv", "report.html"),
    TABLE: ("comparison.csv",),
}
"""Data files of a result; figures are drawn again at will and have no digests."""

FIGURES = "figures"

_DRAWN_OF_FITS = frozenset(("data", "residuals", "profiles", "correlation"))
_DRAWN = (".png", ".pdf", ".svg", ".gif", ".mp4", ".html")
_FILM = "animation"
# what a system's file browser leaves wherever it looks
_BROWSED = {".DS_Store", "Thumbs.db", "desktop.ini"}


def is_result(folder: Path) -> bool:
    """Return whether `folder` holds a saved run or fit, or a reproduced figure."""
    return any((folder / mark).is_file() for mark in DATA)


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
    mark = next(mark for mark in (TABLE, FIT, MARK) if (folder / mark).is_file())
    ours, found = {mark, *DATA[mark], *_BROWSED}, []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if mark == TABLE and is_result(path):
                inner = strangers(path)
            elif mark != TABLE and path.name == FIGURES:
                inner = _not_drawn(path, mark)
            else:
                inner = [""] * _holds_files(path)
            found += [f"{path.name}/{name}" for name in inner]
        elif path.name not in ours and not (mark == TABLE and path.suffix in (".png", ".csv")):
            found.append(path.name)
    return found


def _not_drawn(folder: Path, mark: str) -> list[str]:
    """Return what `stiction run`, `plot` and `fit` did not draw into `figures`."""
    known = _DRAWN_OF_FITS
    if mark == MARK:
        from stiction.plot.figures import figure_names

        known = figure_names()
    return [
        path.name + "/" * path.is_dir()
        for path in sorted(folder.iterdir())
        if path.name not in _BROWSED and _holds_files(path)
        if not ((path.suffix in _DRAWN and path.stem in known | {_FILM}) or _is_part(path.name))
    ]


def _holds_files(path: Path) -> bool:
    """Return False for a folder with empty folders alone."""
    return not path.is_dir() or any(names for _, _, names in os.walk(path))


def _is_part(name: str) -> bool:
    """Return whether a killed drawing left a file of this name."""
    return name.startswith(".") and name.endswith(".part")
