"""A lock file beside a folder, so that one process at a time writes there.

What counts is the kernel's lock on the file, which ends with its process however that ends: a
file that a killed process left is taken over by the next. Where the file system has no such
locks the presence of the file counts, and the message says to remove it.
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
from stiction.io.interrupts import uninterrupted
from stiction.numerics.compiling.file_lock import TAKEN as _TAKEN
from stiction.numerics.compiling.file_lock import kernel_lock as _kernel_lock

__all__ = ["Busy", "Lock", "held_for", "in_use", "mark_in_use", "take"]

_HOLDER = re.compile(r"process \d+ on .+, since \d[\d: -]+")
_READ_FOR_S = 0.5
_MOST_BYTES = 4096
_MOST_TRIES = 100


class Busy(Exception):
    """Another process holds the lock.

    Parameters
    ----------
    holder : which, and since when, in words
    sure : whether it holds it for certain; otherwise its file may be a leftover
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
        """Whether the file is still there and ours: its folder may have been removed."""
        return self._descriptor is not None and _is_file(self._descriptor, self.path)

    def release(self) -> None:
        """Remove the file; nobody can have taken it before it is gone."""
        ours = self.held
        if ours:
            _unlink(self.path)
        self.forget()
        if ours and sys.platform == "win32":
            # where open files cannot be removed
            _unlink(self.path)

    def forget(self) -> None:
        """Let go of what a forked child inherited, or it would hold the lock of a dead parent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def take(path: Path) -> Lock:
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
            # the file of another one, which ended in between
            os.close(descriptor)
            continue
        lock = Lock(path, descriptor)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        with contextlib.suppress(OSError):
            # a lock without a name, as on a full disk, is one nevertheless
            os.ftruncate(descriptor, 0)
            words = f"process {os.getpid()} on {platform.node()}, since {since}\n"
            os.write(descriptor, words.encode())
        return lock


def _opened(path: Path) -> tuple[int | None, bool]:
    """Return an open lock file, None if it is gone again, and whether it was made here."""
    with contextlib.suppress(FileExistsError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDWR), False
    return None, False


@contextlib.contextmanager
def held_for(folder: Path, lock: Callable[[], Lock]) -> Iterator[Lock]:
    """Hold a lock beside `folder`, whose parents are made; those that stay empty are removed.

    Parameters
    ----------
    lock : takes the lock

    Verified by: tests/unit/io/test_staging.py::test_a_claim_leaves_no_folders
    """
    with contextlib.ExitStack() as ended:
        # interrupted in between, it would leave the lock and the folders made for it
        with uninterrupted():
            for _ in range(_MOST_TRIES):
                made = [p for p in folder.parents if not p.exists()]
                with contextlib.suppress(FileNotFoundError):
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    ended.callback(_remove_empty, made)
                    # the parent is gone again where another run made it, and was refused since
                    taken = lock()
                    break
            else:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder.parent)
            ended.callback(taken.release)
        yield taken


def _remove_empty(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def mark_in_use(descriptor: int) -> None:
    """Let other processes see that this one writes to an open file."""
    with contextlib.suppress(OSError):
        _kernel_lock(descriptor)


def in_use(path: Path) -> bool:
    """Return whether a process holds the lock on the file `path`, which is a leftover if not."""
    try:
        # a pipe of that name would wait for a writer
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
    """Return who holds the lock; its file is empty for a moment before it says so."""
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
