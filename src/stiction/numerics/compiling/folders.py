"""Where compiled kernels are kept, and which folders code may be read from."""

from __future__ import annotations

import functools
import os
import stat
import sys
import tempfile
from pathlib import Path

__all__ = ["PACKAGED", "folder_for", "is_safe", "tell"]

_FOLDER = "STICTION_CACHE_DIR"
# kernels that came with the package, one folder for each kind of processor
PACKAGED = Path(__file__).parents[2] / "_kernels"


def is_safe(folder: Path) -> bool:
    """Return whether nobody but the user or root can have put code into `folder`.

    It must belong to one of the two and not be writable for others; for its group only where
    that is the user's own.

    Verified by: tests/unit/numerics/test_kernel_cache.py::test_code_is_read_from_safe_folders_only
    """
    if os.name != "posix":
        return True
    try:
        about = folder.stat()
    except OSError:
        return False
    if about.st_uid not in (0, os.getuid()) or about.st_mode & stat.S_IWOTH:
        return False
    return not (about.st_mode & stat.S_IWGRP) or about.st_gid in (0, *_private_groups())


@functools.cache
def _private_groups() -> tuple[int, ...]:
    """Return the group that has the user's own name and no other member, where there is one."""
    import grp
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
        group = grp.getgrgid(os.getgid())
    except KeyError:
        return ()
    return (group.gr_gid,) if group.gr_name == name and set(group.gr_mem) <= {name} else ()


def folder_for(source: str) -> Path | None:
    """Return the folder in which kernels of a source file are kept; None where there is none.

    It is ``$STICTION_CACHE_DIR`` or ``$NUMBA_CACHE_DIR`` when one is set, `__pycache__` beside the
    source where that can be written, else a folder of the user's.
    """
    given = os.environ.get(_FOLDER) or os.environ.get("NUMBA_CACHE_DIR")
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stiction"
    places = [Path(given)] if given else [Path(source).parent / "__pycache__", own]
    return next((place for place in places if _usable(place)), None)


@functools.cache
def _usable(folder: Path) -> bool:
    """Return whether files can be written to a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return False
    return is_safe(folder)


@functools.cache
def tell(text: str) -> None:
    """Say once, on stderr, what costs time."""
    sys.stderr.write(f"stiction: {text}\n")
