"""Where compiled kernels are kept, and which folders code may be read from."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import platform
import stat
import sys
import tempfile
from pathlib import Path

from stiction._version import __version__

__all__ = ["PACKAGED", "folder_for", "is_ready", "is_safe", "mark_ready", "tell"]

_FOLDER = "STICTION_CACHE_DIR"
# kernels that came with the package, one folder for each kind of processor
_PACKAGE = Path(__file__).parents[2]
PACKAGED = _PACKAGE / "_kernels"


def is_safe(folder: Path) -> bool:
    """Return whether nobody but the user or root can have put code into `folder`.

    It must belong to one of the two and not be writable for others; for its group only where
    that is the user's own.

    Verified by: tests/unit/numerics/compiling/test_cache.py::test_code_is_read_from_safe_folders
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


def is_ready(what: str) -> bool:
    """Return whether it is noted that the kernels of a system or a method are compiled here.

    A hint, not a promise: sources may have been edited since, or the folder have come from a
    machine with another processor. Then they are compiled again.
    """
    name = _ready_name(what)
    own = folder_for(str(_PACKAGE / "__init__.py"))
    places = [*([own] if own else []), *(p for p in PACKAGED.glob("*") if p.is_dir())]
    return any((place / name).exists() for place in places)


def mark_ready(what: str) -> None:
    """Note that the kernels of a system or a method are compiled on this machine."""
    folder = folder_for(str(_PACKAGE / "__init__.py"))
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / _ready_name(what)).write_text(what)


def _ready_name(what: str) -> str:
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    parts = (what, __version__, str(sys.implementation.cache_tag), platform.machine(), *versions)
    return f"ready-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"


_told: set[str] = set()


def tell(text: str, about: str = "") -> None:
    """Say on stderr what costs time; the same text once a process, about the first."""
    if text not in _told:
        _told.add(text)
        sys.stderr.write(f"stiction: {text}{f' ({about})' if about else ''}\n")
