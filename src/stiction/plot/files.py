"""Files that are complete or not there."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from stiction.errors import ModelError, nearest

__all__ = ["check_looks", "written"]

_FORMATS = ("png", "pdf", "svg")
_DPI = 150.0
_MOST_DPI = 2400.0

# a drawing takes less; what is older was left by one that was killed
_STALE_S = 3600.0


def check_looks(format: str, dpi: float | None = None) -> float:
    """Return the dots per inch with which a figure is drawn, both words checked.

    Parameters
    ----------
    format : "png", "pdf" or "svg"
    dpi : dots per inch of PNG; None for 150

    Raises
    ------
    ModelError : if the format is not known, or the number makes no picture.

    Verified by: tests/unit/plot/test_files.py::test_formats_and_dots
    """
    if format not in _FORMATS:
        why = "these are written without further software."
        try_ = '"png" suits screens and "pdf" papers; ' + nearest(format, _FORMATS)
        needs = "one of " + ", ".join(_FORMATS)
        raise ModelError("format", repr(format), needs, why, try_)
    if dpi is not None and not 10.0 <= dpi <= _MOST_DPI:
        needs = f"a number from 10 to {_MOST_DPI:g}"
        why = "a figure is some inches wide: fewer dots show nothing, more fill the memory."
        raise ModelError("dpi", f"{dpi:g}", needs, why, "for example 300 for print.")
    return _DPI if dpi is None else float(dpi)


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`, which takes its place when all went well.

    Folders above `path` are made. Whatever goes wrong, no broken file is left. The name is one of
    its own, because another process may draw the same figure: then the last one stays.

    Verified by: tests/unit/plot/test_files.py::test_two_drawings_at_once_do_not_collide
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
        yield partial
        os.replace(partial, path)
    finally:
        if partial.is_file():
            partial.unlink()


def _remove_stale(path: Path) -> None:
    for found in path.parent.glob(glob.escape(f".{path.name}.") + "*part"):
        with contextlib.suppress(OSError):
            if time.time() - found.stat().st_mtime > _STALE_S:
                found.unlink()
