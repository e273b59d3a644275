"""Lock files beside result folders, so that only one process at a time writes to a folder.

A folder is locked while a process holds the lock of the operating system on the lock file. This
lock ends with the process, so that the next process can reuse the lock file of a killed one. On
file systems without such locks, a folder is locked while the lock file exists, and the error asks
the user to remove a file that is left over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from stiction.core.files import regular
from stiction.core.interrupts import uninterrupted
from stiction.numerics.compiling.file_lock import TAKEN as _TAKEN
from stiction.numerics.compiling.file_lock import kernel_lock as _kernel_lock

__all__ = ["Busy", "Lock", "acquire", "in_use", "locked_for", "mark_in_use"]

_HOLDER = re.compile(r"process \d+ on .+, since \d[\d: -]+")
_READ_FOR_S = 0.5
_MOST_BYTES = 4096
_MOST_TRIES = 100


class Busy(Exception):
    """Another process holds the lock.

    Parameters
    ----------
    holder : text that names the process, and the time since which it has held the lock
    sure : True if that process holds the lock of the operating system; otherwise the lock file may
        be left over from a killed process
    """

    def __init__(self, holder: str, *, sure: bool = True) -> None:
        super().__init__(holder)
        self.holder, self.sure = holder, sure


class Lock:
    """A lock that this process holds, until `release`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        _HELD.add(self)

    @property
    def held(self) -> bool:
        """Whether the lock file still exists and is that of this process."""
        return self._descriptor is not None and _is_file(self._descriptor, self.path)

    def release(self) -> None:
        """Remove the lock file while the lock is held."""
        ours = self.held
        if ours:
            _unlink(self.path)
        self.forget()
        if ours and sys.platform == "win32":
            # Windows cannot remove open files
            _unlink(self.path)

    def forget(self) -> None:
        """Close the descriptor; a forked child in which it stays open would hold the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def acquire(path: Path) -> Lock:
    """Return the lock whose file is `path`.

    Raises
    ------
    Busy : if another process holds it.
    OSError : if the file cannot be made.

    Verified by: tests/unit/io/test_locks.py::test_a_lock_is_held_once
    """
    while True:
        descriptor, created = _opened(path)
        if descriptor is None:
            continue
        try:
            _kernel_lock(descriptor)
        except OSError as error:
            if error.errno in _TAKEN or not created:
                os.close(descriptor)
                raise Busy(_holder(path), sure=error.errno in _TAKEN) from error
        if not _is_file(descriptor, path):
            # a process that ended in between has removed the file
            os.close(descriptor)
            continue
        lock = Lock(path, descriptor)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        with contextlib.suppress(OSError):
            # on a full disk the lock is valid without this text
            os.ftruncate(descriptor, 0)
            words = f"process {os.getpid()} on {platform.node()}, since {since}\n"
            os.write(descriptor, words.encode())
        return lock


def _opened(path: Path) -> tuple[int | None, bool]:
    """Open the lock file; return its descriptor (None if it vanished) and whether it is new."""
    with contextlib.suppress(FileExistsError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDWR), False
    return None, False


@contextlib.contextmanager
def locked_for(folder: Path, lock: Callable[[], Lock]) -> Iterator[Lock]:
    """Hold a lock beside `folder`; create its parents, and finally remove empty ones.

    Parameters
    ----------
    folder : folder that the lock protects
    lock : function that acquires the lock

    Verified by: tests/unit/io/test_staging.py::test_a_claim_leaves_no_folders
    """
    with contextlib.ExitStack() as ended:
        # an interrupt in between would leave the lock file and the new folders on disk
        with uninterrupted():
            for _ in range(_MOST_TRIES):
                made = [p for p in folder.parents if not p.exists()]
                with contextlib.suppress(FileNotFoundError):
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    ended.callback(_remove_empty, made)
                    # another run may have removed the parent in between
                    acquired = lock()
                    break
            else:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder.parent)
            ended.callback(acquired.release)
        yield acquired


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def mark_in_use(descriptor: int) -> None:
    """Mark an open file as in use by this process."""
    with contextlib.suppress(OSError):
        _kernel_lock(descriptor)


def in_use(path: Path) -> bool:
    """Return whether a process holds the lock on `path`; if not, the file is left over."""
    try:
        # a pipe would block
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        _kernel_lock(descriptor)
    except OSError as error:
        return error.errno in _TAKEN
    finally:
        os.close(descriptor)
    return False


def _holder(path: Path) -> str:
    """Return the text on the holder of the lock; wait while the new file is still empty."""
    end = time.monotonic() + _READ_FOR_S
    while True:
        if regular(path):
            with contextlib.suppress(OSError), path.open("rb") as file:
                words = file.read(_MOST_BYTES).decode("utf-8", "replace").strip()
                if _HOLDER.fullmatch(words):
                    return words
        if time.monotonic() >= end:
            return "another process"
        time.sleep(0.01)


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
