"""Everything on disk, and a folder put in the place of another in one step."""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["flush", "put_in_place", "whereabouts"]

_HERE = -100  # AT_FDCWD: paths are those of the process
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS


def flush(folder: Path) -> None:
    """Return when every file and folder below `folder` is on disk."""
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb+") as file:
                os.fsync(file.fileno())
        _flush_folder(Path(root))


def put_in_place(folder: Path, path: Path, aside: Path) -> None:
    """Rename `folder` to `path`, and remove what was there.

    The two change places in one step where the system can, so that at every moment there is
    a whole folder of that name. Elsewhere the one that was there is called `aside` between
    two renames.

    Verified by: tests/unit/io/test_swap.py::test_a_kill_hides_nothing
    """
    old = None
    if not os.path.lexists(path):
        os.rename(folder, path)
    elif _exchanged(folder, path):
        old = folder
    else:
        os.rename(path, aside)
        try:
            os.rename(folder, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.rename(aside, path)
            raise
        # that name is for the moment in which there is no other
        os.rename(aside, folder)
        old = folder
    # the one that was there is removed when nothing can bring its name back any more
    _flush_folder(path.parent)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def whereabouts(path: Path) -> Path:
    """Return where the result called `path` lies: there, unless a kill left it between renames."""
    if not os.path.lexists(path) and path.name:
        with contextlib.suppress(OSError):
            asides = list(path.parent.glob(glob.escape(f".{path.name}.old-") + "?" * 8))
            if len(asides) == 1:
                return asides[0]
    return path


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places; return False, with nothing done, where that is not known."""
    call = _exchange()
    return call is not None and call(os.fsencode(one), os.fsencode(other)) == 0


@functools.cache
def _exchange() -> Callable[[bytes, bytes], int] | None:
    """Return the call of the C library that exchanges two paths, None where there is none."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            swap = library.renamex_np
            swap.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint]
            return lambda one, other: int(swap(one, other, _EXCHANGE))
        rename = library.renameat2
        text, number = ctypes.c_char_p, ctypes.c_int
        rename.argtypes = [number, text, number, text, ctypes.c_uint]
        return lambda one, other: int(rename(_HERE, one, _HERE, other, _EXCHANGE))
    return None


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
