"""Figures are written atomically: a file is complete or it does not exist."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path

from stiction.core.files import atomic_write, remove_stale
from stiction.errors import ModelError, nearest

__all__ = ["check_looks", "written"]

_FORMATS = ("png", "pdf", "svg")
_DPI = 150.0
_MOST_DPI = 2400.0


def check_looks(format: str, dpi: float | None = None) -> float:
    """Return the resolution of a figure in dots per inch, after checking both arguments.

    Parameters
    ----------
    format : "png", "pdf" or "svg"
    dpi : dots per inch of PNG; None for 150

    Raises
    ------
    ModelError : if the format is not known, or `dpi` lies outside 10 to 2400.

    Verified by: tests/unit/plot/test_files.py::test_formats_and_dots
    """
    if format not in _FORMATS:
        why = "these formats are written without further software."
        try_ = 'give "png" for screens and "pdf" for papers; ' + nearest(format, _FORMATS)
        needs = "one of " + ", ".join(_FORMATS)
        raise ModelError("format", repr(format), needs, why, try_)
    if dpi is not None and not 10.0 <= dpi <= _MOST_DPI:
        needs = f"a number from 10 to {_MOST_DPI:g}"
        why = "a figure of some inches is not legible with fewer dots, and too large with more."
        raise ModelError("dpi", f"{dpi:g}", needs, why, "for example 300 for print.")
    return _DPI if dpi is None else float(dpi)


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which is renamed to `path` when the block ends.

    Stale temporary files of this figure, which killed processes leave, are removed first.

    Verified by: tests/unit/plot/test_files.py::test_old_files_of_killed_drawings_are_removed
    """
    remove_stale(path.parent.glob(glob.escape(f".{path.name}.") + "*part"))
    with atomic_write(path) as partial:
        yield partial
