"""Files that are complete or not there."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["written"]

# a drawing takes less; what is older was left by one that was killed
_STALE_S = 3600.0


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
