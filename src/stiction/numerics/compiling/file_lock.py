"""Exclusive file locks of the operating system, POSIX or Windows.

`folders.alone` and `io` lock files with it, so that two processes do not write one folder.
"""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["TAKEN", "kernel_lock"]

# error numbers of a lock that another process has
TAKEN = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN, errno.EDEADLK)
# on Windows locked bytes cannot be read: lock a byte far after the end of the text
_FAR = 1 << 30


def kernel_lock(descriptor: int) -> None:
    """Lock an open file for this process until it is closed; raise OSError if that is impossible.

    Raises
    ------
    OSError : with a number in `TAKEN` if another process has the lock, with another number if the
        file system has no locks.

    Verified by: tests/unit/numerics/compiling/test_file_lock.py::test_both_systems_lock_files
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
