"""Folders of the cache of compiled kernels: where they are, and whether they can be trusted.

Loading a kernel executes its machine code. So kernels are read only from folders to which nobody
but the user or root can write. Also here: records of the systems whose kernels are compiled, locks
of folders, and messages that are shown once.
"""

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
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from stiction._version import __version__
from stiction.numerics.compiling import clock
from stiction.numerics.compiling.file_lock import TAKEN, kernel_lock

__all__ = [
    "CANNOT_CACHE",
    "PACKAGED",
    "alone",
    "folder_for",
    "folders_to_read",
    "is_ready",
    "is_safe",
    "mark_ready",
    "report_once",
    "reported",
    "systems",
    "why_unusable",
]

# environment variable with the cache folder
_FOLDER = "STICTION_CACHE_DIR"
# message if a kernel cannot be written
CANNOT_CACHE = "compiled kernels cannot be cached; runs continue"
# kernels that a wheel contains, in a folder for each kind of processor
_PACKAGE = Path(__file__).parents[2]
PACKAGED = _PACKAGE / "_kernels"
_LIST = "kernels.txt"


def is_safe(folder: Path) -> bool:
    """Return whether only the user or root can have written to `folder`.

    The folder must belong to the user or to root, and must not be writable by others, nor by its
    group unless that group is the user's own.

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
    """Return the group with the user's name and no other member, if there is one."""
    import grp
    import pwd

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
        group = grp.getgrgid(os.getgid())
    except KeyError:
        return ()
    return (group.gr_gid,) if group.gr_name == name and set(group.gr_mem) <= {name} else ()


def folder_for(source: str) -> Path | None:
    """Return the cache folder for kernels of a source file; None if there is none.

    It is ``$STICTION_CACHE_DIR`` or ``$NUMBA_CACHE_DIR`` if set, `__pycache__` beside the source if
    it is writable, else a folder in the user's home.
    """
    return next((place for place in _places(source) if not _fault(place)), None)


def folders_to_read(source: str) -> list[Path]:
    """Return the folders from which kernels of a source file are read.

    These are the cache folder and folders that root has filled for all users.

    Verified by: tests/unit/numerics/compiling/test_folders.py::test_what_root_has_compiled_is_read
    """
    return [place for place in _places(source) if not _fault(place) or is_safe(place)]


def why_unusable(source: str) -> str:
    """Return why there is no cache folder for a source file."""
    return "; ".join(f"{place} {_fault(place)}" for place in _places(source)[-1:])


def _places(source: str) -> list[Path]:
    """Return the possible cache folders of a source file, in the order of preference."""
    given = os.environ.get(_FOLDER) or os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return [Path(given)]
    try:
        home = Path.home()
    except RuntimeError:
        home = Path(tempfile.gettempdir(), f"stiction-{getattr(os, 'getuid', int)()}")
    own = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "stiction"
    # interactive code and `exec` have no source file
    beside = [] if source.startswith("<") else [Path(source).parent / "__pycache__"]
    return [*beside, own]


@functools.cache
def _fault(folder: Path) -> str:
    """Create a folder if it is missing; return why it cannot be a cache folder, or ""."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # only the user may read and write; `__pycache__` belongs to the installation
        folder.mkdir(mode=0o755 if folder.name == "__pycache__" else 0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return f"cannot be written: {error.strerror or error}"
    return "" if is_safe(folder) else "can be written by others than you and root"


def systems() -> dict[str, Path]:
    """Return the subpackages with kernels, and for each the file that lists its outer kernels."""
    return {path.parent.name: path for path in sorted(_PACKAGE.glob(f"*/{_LIST}"))}


def is_ready(what: str) -> bool:
    """Return whether the kernels of a system or method are recorded as compiled here.

    The record may be out of date: after edits, or on another processor, they are compiled again.
    """
    name = _ready_name(what)
    own = folders_to_read(str(_PACKAGE / "__init__.py"))
    places = [*own, *(p for p in PACKAGED.glob("*") if p.is_dir())]
    return any((place / name).exists() for place in places)


def mark_ready(what: str) -> None:
    """Record that the kernels of a system or method are compiled on this machine."""
    folder = folder_for(str(_PACKAGE / "__init__.py"))
    if folder is None or CANNOT_CACHE in _reported:
        return
    name = folder / _ready_name(what)
    try:
        name.write_text(what, encoding="utf-8")
    except OSError:
        # on a full disk an empty file remains, which would count as a record
        with contextlib.suppress(OSError):
            name.unlink()


def _ready_name(what: str) -> str:
    """Return the name of the file that records a system or method as compiled."""
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    parts = (what, __version__, str(sys.implementation.cache_tag), platform.machine(), *versions)
    return f"ready-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"


# messages that this process has shown, and their subjects
_reported: dict[str, str] = {}


def reported(text: str) -> str | None:
    """Return the subject of a message that this process has shown; None if it has not."""
    return _reported.get(text)


def report_once(text: str, about: str = "") -> None:
    """Write a message to stderr, once per process and text."""
    if text not in _reported:
        # the first line only; a program without a console has no stderr
        first = next(iter(about.splitlines()), "")[:160]
        _reported[text] = first
        if sys.stderr is not None and not clock.silent():
            sys.stderr.write(f"stiction: {text}{f' ({first})' if first else ''}\n")


@contextlib.contextmanager
def alone(path: Path, patience: float = 600.0) -> Iterator[None]:
    """Lock `path` in a with statement; wait while another process has the lock.

    The lock ends with its process. If the system has no file locks, or after the time `patience`
    [s], the block runs without a lock, so that two processes may do the same work.
    """
    file = None
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                kernel_lock(file.fileno())
                break
            except OSError as error:
                if error.errno not in TAKEN:
                    raise
                time.sleep(0.05)
    try:
        yield
    finally:
        if file is not None:
            _release(file, path)


def _release(file: IO[str], path: Path) -> None:
    """Remove and close a locked file; Windows cannot remove open files."""
    if os.name != "nt":
        path.unlink(missing_ok=True)
    file.close()
    if os.name == "nt":
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
