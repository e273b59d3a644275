"""Reading a file that may be damaged: by another process, which may hang or crash.

A damaged file can keep a library busy without end, ask for any amount of memory, or crash the
process. A file of HDF5 whose digest fits is opened at once; one without a digest, or changed by its
user, is first read by another process. Meshes are always read by one, which returns their arrays.
"""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

__all__ = ["check_readable", "read_in_child", "regular"]

_LEAST_S, _BYTES_PER_S = 15.0, 10e6
_SPARE_BYTES = 2 << 30

# what a child prints goes to standard error, so that standard output holds its answer alone
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


def regular(path: Path) -> bool:
    """Return whether a file is there: no folder, and no pipe, which would wait for a writer."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def check_readable(path: Path) -> None:
    """Raise ValueError unless another process can read all of a NetCDF file, in bounded time.

    Raises
    ------
    OSError : if there is no such file.

    Verified by: tests/unit/io/test_digests.py::test_a_file_that_keeps_hdf5_busy_is_given_up
    """
    if not sys.executable and regular(path):
        # Python inside another program: there is nothing to start
        return
    read_in_child(path, _HDF5, "read()", bytes_per_s=_BYTES_PER_S, memory_per_byte=4)


def read_in_child(
    path: Path, imports: str, work: str, *, bytes_per_s: float, memory_per_byte: int
) -> bytes:
    """Return what another process makes of a file, within bounds of time and memory.

    Parameters
    ----------
    path : of a regular file
    imports : Python code that runs before the bounds hold
    work : an expression of bytes, which may use `path`
    bytes_per_s : how fast the file must be read, besides 15 s for the start
    memory_per_byte : how much memory the process may have, besides 2 GiB

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
        raise ValueError(f"it kept its reader busy for {limit:.0f} s") from error
    if done.returncode != 0:
        message = done.stdout[:1000].decode("utf-8", "replace").strip()
        raise ValueError(message or f"its reader crashed, with code {done.returncode}")
    return done.stdout
