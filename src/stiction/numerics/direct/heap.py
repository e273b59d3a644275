"""Memory that a process of our own keeps, because the next factorisation asks for it again.

SuperLU asks for its arrays anew with every matrix. The C library maps blocks as large as these
from the system and gives them back at once, so that every page of the factors is cleared and
entered again for each matrix: a third of the time of a plane strip. `mallopt` ends that. It
concerns the whole process and cannot be taken back or even read, so a library must not call it in
the process of somebody else; the command line does in its own.
"""

from __future__ import annotations

import os
import sys

__all__ = ["keep_freed", "keep_where_ours", "say_ours"]

# numbers of the parameters in malloc.h
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# larger blocks are mapped as ever; more free memory than this at the end of the heap goes back
_LARGEST, _MOST_KEPT = 256 * 2**20, 512 * 2**20
# what a user may have set about it
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
_ours = False


def say_ours() -> None:
    """Note that nobody else's program runs in this process."""
    global _ours
    _ours = True


def keep_where_ours() -> None:
    """Keep memory that is freed if this process is ours."""
    if _ours:
        keep_freed()


def keep_freed() -> bool:
    """Let this process keep up to 512 MB that it frees; return whether it does.

    Nothing happens where the C library is not glibc, or where its variables are set.

    Notes
    -----
    Source: mallopt(3).
    Verified by: tests/unit/numerics/test_heap.py::test_memory_is_kept
    """
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _VARIABLES):
        return False
    import ctypes

    try:
        library = ctypes.CDLL(None)
        # other C libraries may have a mallopt of their own, with other numbers
        library.gnu_get_libc_version  # noqa: B018
        mallopt = library.mallopt
    except (OSError, AttributeError):
        return False
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST) and mallopt(_TRIM_THRESHOLD, _MOST_KEPT))
