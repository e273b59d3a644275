"""Atomic writing of files, and safe reading of files that may be damaged.

A file is written under a temporary name, `.NAME.xxxxxxxx.part`, and then renamed atomically, so
that a killed process leaves no half-written file.

A damaged file can make the library that reads it hang, request any amount of memory, or crash the
process. An HDF5 file with a valid digest is opened directly; other HDF5 files are first read by a
child process. Mesh files are always read by a child process, which returns their arrays.
"""

from __future__ import annotations

import contextlib
import csv
import os
import secrets
import stat
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from stiction.errors import StoreError

__all__ = [
    "STALE_S",
    "UNREADABLE",
    "atomic_write",
    "check_readable",
    "flush",
    "read_in_child",
    "regular",
    "regular_bytes",
    "remove_stale",
    "writing",
]

STALE_S = 3600.0
"""Age above which a temporary file belongs to a killed process [s]."""

# exceptions that the readers of text, JSON, CSV, ZIP and HDF5 raise
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, AssertionError, MemoryError, EOFError, csv.Error, struct.error, zlib.error),
    zipfile.BadZipFile,
)
"""Exceptions that a damaged file can raise."""

# time in which a child process starts [s], and slowest reading of a valid file [bytes/s]
_LEAST_S, _BYTES_PER_S = 15.0, 10e6
# memory of the child process besides that for the file [bytes]
_SPARE_BYTES = 2 << 30

# only the result goes to standard output; all other output of the child goes to standard error
_CHILD = """
import os, sys
path, spare, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path[:] = sys.argv[4:]
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
{imports}
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (spare, spare))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
except (ImportError, OSError, ValueError):
    pass
try:
    answer.write({work})
    answer.flush()
except BaseException as error:
    lines = f"{{type(error).__name__}}: {{error}}".splitlines()
    answer.write(lines[0][:200].encode("utf-8", "replace"))
    answer.flush()
    os._exit(1)
"""

_HDF5 = """
import h5netcdf
def read():
    with h5netcdf.File(path, "r") as file:
        dict(file.attrs)
        for variable in file.variables.values():
            variable.dimensions, dict(variable.attrs), variable[...]
    return b""
"""


@contextlib.contextmanager
def writing(
    where: str | Path,
    needs: str,
    why: str,
    try_: str,
    errors: tuple[type[Exception], ...] = (OSError,),
) -> Iterator[None]:
    """Turn errors of the operating system in a with statement into a StoreError."""
    try:
        yield
    except StoreError:
        raise
    except errors as error:
        got = getattr(error, "strerror", None) or str(error)
        raise StoreError(str(where), got, needs, why, try_) from error


@contextlib.contextmanager
def atomic_write(path: Path, *, sync: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file there is renamed to `path` at the end.

    Missing parent folders are created. After an error the temporary file is removed and `path` is
    unchanged. If two processes write the same file, the file of the last one remains.

    Parameters
    ----------
    path : the file
    sync : whether the content is flushed to disk before the file is renamed

    Verified by: tests/unit/core/test_files.py::test_two_writers_do_not_collide
    """
    partial = path.with_name(f".{path.name.lstrip('.')}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if sync:
            flush(partial)
        os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def remove_stale(partials: Iterable[Path], age: float = STALE_S) -> None:
    """Remove temporary files of killed processes.

    Parameters
    ----------
    partials : paths of temporary files
    age : smallest age of a file that is removed [s]
    """
    for partial in partials:
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime >= age:
                partial.unlink()


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def regular(path: Path) -> bool:
    """Return whether `path` is a regular file, not a folder, and not a pipe, which would block."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def regular_bytes(path: Path) -> bytes:
    """Return the content of a regular file; a pipe would block the reader.

    Raises
    ------
    OSError : if `path` is not a regular file, or cannot be read.

    Verified by: tests/unit/studies/test_store.py::test_pipes_in_place_of_files_are_damage
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file", str(path))
    return path.read_bytes()


def check_readable(path: Path) -> None:
    """Check that a child process can read a whole NetCDF file in bounded time.

    Raises
    ------
    OSError : if there is no such file.
    ValueError : if the child process fails, crashes or takes too long.

    Verified by: tests/unit/io/test_digests.py::test_a_file_that_keeps_hdf5_busy_is_given_up
    """
    if not sys.executable and regular(path):
        # an embedded Python interpreter has no executable to start a child process
        return
    read_in_child(path, _HDF5, "read()", bytes_per_s=_BYTES_PER_S, memory_per_byte=4)


def read_in_child(
    path: Path, imports: str, work: str, *, bytes_per_s: float, memory_per_byte: int
) -> bytes:
    """Read a file in a child process, with bounds on time and memory; return its result.

    Parameters
    ----------
    path : a regular file
    imports : Python code that the child runs before the bounds apply
    work : Python expression of type bytes, which may use `path`; its value is returned
    bytes_per_s : reading rate [bytes/s]; the time limit is size / rate + 15 s for the start
    memory_per_byte : memory per byte of the file [1]; the limit is that times the size + 2 GiB

    Raises
    ------
    OSError : if there is no such file.
    ValueError : if the process failed, crashed or took too long.

    Verified by: tests/unit/solids/mesh/test_damaged_files.py::test_damage_is_read_or_refused
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file")
    size = path.stat().st_size
    limit = _LEAST_S + size / bytes_per_s
    code = _CHILD.format(imports=imports, work=work)
    bounds = [str(_SPARE_BYTES + memory_per_byte * size), str(int(limit) + 1)]
    words = [sys.executable, "-I", "-c", code, str(path), *bounds, *sys.path]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"reading took more than {limit:.0f} s") from error
    if done.returncode != 0:
        message = done.stdout[:1000].decode("utf-8", "replace").strip()
        raise ValueError(message or f"its reader crashed with exit code {done.returncode}")
    return done.stdout
