"""A lock file beside a folder, so that one process at a time writes there.

What counts is the kernel's lock on the file, which ends with its process however that ends: a
file that a killed process left is taken over by the next. Where the file system has no such
locks the presence of the file counts; one whose process is gone is taken over then.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import sys
import time
import weakref
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stiction.core.trial import regular
from stiction.numerics.compiling.held import TAKEN as _TAKEN
from stiction.numerics.compiling.held import kernel_lock as _kernel_lock

__all__ = ["Busy", "Lock", "Owner", "in_use", "mark_in_use", "take"]

_READ_FOR = 0.5
_MOST = 4096


@dataclass(frozen=True)
class Owner:
    """Which process holds a lock, and since when.

    Parameters
    ----------
    pid : its number
    host : the machine
    boot : tells boots of the machine and its containers apart, as numbers repeat there
    started : when the process began; a later process of the same number differs
    since : when it took the lock
    token : tells two locks of one process apart
    """

    pid: int
    host: str
    boot: str
    started: str
    since: str
    token: str

    def __str__(self) -> str:
        """Return the process in words."""
        return f"process {self.pid} on {self.host}, since {self.since}"

    @property
    def alive(self) -> bool | None:
        """Whether the process runs; None if that cannot be told from here."""
        if (self.host, self.boot) != (platform.node(), _boot()) or sys.platform == "win32":
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
        return _started(self.pid) == self.started


class Busy(Exception):
    """Another process holds the lock.

    Parameters
    ----------
    owner : which; None if the file does not say
    sure : whether it holds it for certain; otherwise its file may be a leftover
    """

    def __init__(self, owner: Owner | None, *, sure: bool = True) -> None:
        super().__init__(str(owner))
        self.owner, self.sure = owner, sure


class Lock:
    """A lock that this process holds, until `release`."""

    def __init__(self, path: Path, descriptor: int | None, owner: Owner) -> None:
        self.path, self.owner = path, owner
        self._descriptor = descriptor
        _HELD.add(self)

    @property
    def held(self) -> bool:
        """Whether the file is still there and ours: its folder may have been removed."""
        if self._descriptor is not None:
            return _is_file(self._descriptor, self.path)
        found = _read(self.path)
        return found is not None and found.token == self.owner.token

    def release(self) -> None:
        """Remove the file; nobody can have taken it before it is gone."""
        if self.owner.pid != os.getpid():
            return
        ours = self.held
        if ours:
            _unlink(self.path)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
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
        created = False
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            created = True
        with contextlib.suppress(FileNotFoundError):
            # gone again where its owner ended in between
            lock = _taken(path, created)
            if lock is not None:
                return lock


def _taken(path: Path, created: bool) -> Lock | None:
    """Return the lock, None if the file was another one's that is gone by now."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        _kernel_lock(descriptor)
    except OSError as error:
        os.close(descriptor)
        if error.errno in _TAKEN:
            raise Busy(_read(path, wait=_READ_FOR)) from error
        return _taken_by_presence(path, created)
    if not _is_file(descriptor, path):
        os.close(descriptor)
        return None
    lock = Lock(path, descriptor, _myself())
    with contextlib.suppress(OSError):
        # a lock without a name, as on a full disk, is one nevertheless
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, _text(lock.owner))
    return lock


def _taken_by_presence(path: Path, created: bool) -> Lock:
    """Return the lock where the file system has none: who made the file holds it."""
    mine = _myself()
    if created:
        try:
            path.write_bytes(_text(mine))
        except OSError:
            _unlink(path)
            raise
        return Lock(path, None, mine)
    theirs = _read(path, wait=_READ_FOR)
    alive = None if theirs is None else theirs.alive
    if theirs is None or alive is not False:
        raise Busy(theirs, sure=bool(alive))
    # The name holds their token: of all who saw this lock stale one can make it, and whoever
    # comes later finds another token in the lock.
    guard = path.with_name(f"{path.name}.{theirs.token}")
    try:
        os.close(os.open(guard, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        raise Busy(None, sure=False) from None
    try:
        now = _read(path)
        if now is None or now.token != theirs.token:
            raise Busy(now)
        guard.write_bytes(_text(mine))
        os.replace(guard, path)
    except BaseException:
        _unlink(guard)
        raise
    return Lock(path, None, mine)


def mark_in_use(descriptor: int) -> None:
    """Let other processes see that this one writes to an open file or folder."""
    with contextlib.suppress(OSError):
        _kernel_lock(descriptor)


def in_use(path: Path) -> bool:
    """Return whether a process writes to `path` and has marked it; if not, it is a leftover."""
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


def _myself() -> Owner:
    pid = os.getpid()
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return Owner(pid, platform.node(), _boot(), _started(pid), since, secrets.token_hex(4))


def _boot() -> str:
    """Return what tells boots and containers of one machine apart; "" where nothing does."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.stat('/proc/self/ns/pid').st_ino}"
    return ""


def _started(pid: int) -> str:
    """Return when a process began, in ticks since the boot; "" where that is not told."""
    with contextlib.suppress(OSError, IndexError):
        # the second field, the command in brackets, may hold anything
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def _text(owner: Owner) -> bytes:
    return msgspec.json.encode(owner) + b"\n"


def _read(path: Path, wait: float = 0.0) -> Owner | None:
    """Return who holds the lock; its file is empty for a moment before it says so."""
    end = time.monotonic() + wait
    while True:
        if regular(path):
            with contextlib.suppress(OSError, msgspec.MsgspecError), path.open("rb") as file:
                return msgspec.json.decode(file.read(_MOST), type=Owner)
        if time.monotonic() >= end:
            return None
        time.sleep(0.01)


def _is_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
