"""Contents of result folders: the files that this package writes, and those of the user.

`stiction.io.staging` uses this before it replaces a folder: a failed run must not replace a valid
result, and files of the user must not be removed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import stat
from pathlib import Path

from stiction.catalogue import CATALOGUE, outside, package_of
from stiction.errors import Status

__all__ = [
    "DATA",
    "FIGURES",
    "FIT",
    "MOST_OF_SUMMARY",
    "SNAPSHOTS",
    "STUDY",
    "SUMMARY",
    "TABLE",
    "foreign_files",
    "holds_valid",
    "is_result",
]

SUMMARY = "summary.json"
"""File that identifies the folder of a saved run."""

MOST_OF_SUMMARY = 1 << 30
"""Largest size of a summary [bytes]."""

TABLE = "comparison.md"
"""File that identifies a reproduced figure or table."""

FIT = "fit.json"
"""File that identifies a fit."""

STUDY = "study.json"
"""File that identifies a study."""

SNAPSHOTS = "snapshots.vtkhdf"
"""File of a run for ParaView and other programs; loading a run does not read it."""

DATA = {
    SUMMARY: ("events.csv", "run.nc", "scenario.toml", SNAPSHOTS),
    FIT: ("law.toml", "scenario.toml", "residuals.csv", "report.html"),
    TABLE: ("comparison.csv",),
}
"""Data files of each kind of result beside the file that identifies it; figures not included."""

FIGURES = "figures"

_DRAWN_OF_FITS = frozenset(("data", "residuals", "profiles", "correlation"))
_FIGURE_SUFFIXES = (".png", ".pdf", ".svg", ".gif", ".mp4", ".html")
_FILM = "animation"
# files of the system's file browser
_BROWSER_FILES = {".DS_Store", "Thumbs.db", "desktop.ini"}


def is_result(folder: Path) -> bool:
    """Return whether `folder` holds a saved run or fit, or a reproduced figure."""
    return any((folder / key_file).is_file() for key_file in DATA)


def holds_valid(folder: Path) -> bool:
    """Return whether the folder has a result that a failed run must not replace.

    A result that cannot be read counts as valid.

    Verified by: tests/unit/io/test_contents.py::test_what_cannot_be_read_counts_as_good
    """
    if not folder.is_dir() or not any(folder.iterdir()):
        return False
    try:
        status = (folder / SUMMARY).stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_OF_SUMMARY:
            # a pipe would block
            return True
        return Status(json.loads((folder / SUMMARY).read_text(encoding="utf-8"))["status"]).ok
    except (OSError, ValueError, LookupError, TypeError, RecursionError, MemoryError):
        return True


def foreign_files(folder: Path) -> list[str]:
    """Return the files of a result folder that this package did not write.

    Returns
    -------
    Paths below the folder; folders end with a slash.

    Verified by: tests/unit/io/test_staging.py::test_files_of_the_user_are_named
    """
    key_file = next(key_file for key_file in (TABLE, FIT, SUMMARY) if (folder / key_file).is_file())
    ours, foreign = {key_file, *DATA[key_file], *_BROWSER_FILES}, []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if key_file == TABLE and is_result(path):
                inner = foreign_files(path)
            elif key_file != TABLE and path.name == FIGURES:
                inner = _foreign_figures(path, key_file)
            else:
                inner = [""] * _holds_files(path)
            foreign += [f"{path.name}/{name}" for name in inner]
        elif path.name not in ours and not (key_file == TABLE and _is_drawn(path)):
            foreign.append(path.name)
    return foreign


def _is_drawn(path: Path) -> bool:
    """Return whether a file of a reproduced figure holds its curves or a drawing.

    Their names are that of the folder, or begin with it: 6.png, 6-small.png.
    """
    key = path.parent.name
    return path.suffix in (".png", ".csv") and (path.stem == key or path.stem.startswith(f"{key}-"))


def _foreign_figures(folder: Path, key_file: str) -> list[str]:
    """Return files in `figures` that `stiction run`, `plot` or `fit` did not draw."""
    known = _DRAWN_OF_FITS
    if key_file == SUMMARY:
        known = _figure_names()
    return [
        path.name + "/" * path.is_dir()
        for path in sorted(folder.iterdir())
        if path.name not in _BROWSER_FILES and _holds_files(path)
        if not (
            (path.suffix in _FIGURE_SUFFIXES and path.stem in known | {_FILM})
            or _is_part(path.name)
        )
    ]


def _figure_names() -> frozenset[str]:
    """Return the names of all figures of all systems, those of other packages included."""
    from stiction.plot.figures import Figures

    for package in {package_of(name) for name in CATALOGUE["System"].names} - {""}:
        inside = importlib.import_module(f"{package}.figures")
        for module in pkgutil.walk_packages(inside.__path__, f"{inside.__name__}."):
            if module.name.endswith(".figures"):
                importlib.import_module(module.name)
    for package in {package_of(name) for name in list(outside("System"))} - {""}:
        # a module of another package may be absent, or raise anything while it is imported
        with contextlib.suppress(Exception):
            importlib.import_module(f"{package}.figures")
    return frozenset(name for kind in Figures.__subclasses__() for name in kind.NAMES)


def _holds_files(path: Path) -> bool:
    """Return False for a folder without files."""
    return not path.is_dir() or any(names for _, _, names in os.walk(path))


def _is_part(name: str) -> bool:
    """Return whether `name` is that of a temporary file of a figure."""
    return name.startswith(".") and name.endswith(".part")
