"""Opening a file of HDF5 that may be damaged: first by another process, which may hang or crash.

A damaged file can keep HDF5 busy without end, ask for any amount of memory, or crash the process.
A file whose digest fits is opened at once; only one without a digest, or changed by its user, is
tried.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from stiction.results.trust.digests import regular

__all__ = ["check_readable"]

_LEAST_S, _BYTES_PER_S = 15.0, 10e6
_SPARE_BYTES = 2 << 30

_CHILD = """
import sys
path, spare = sys.argv[1], int(sys.argv[2])
sys.path[:] = sys.argv[3:]
import h5netcdf
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (spare, spare))
except (ImportError, OSError, ValueError):
    pass
try:
    with h5netcdf.File(path, "r") as file:
        dict(file.attrs)
        for variable in file.variables.values():
            variable.dimensions, dict(variable.attrs), variable[...]
except BaseException as error:
    print(f"{type(error).__name__}: {error}".splitlines()[0][:200])
    sys.exit(1)
"""


def check_readable(path: Path) -> None:
    """Raise ValueError unless another process can read all of a NetCDF file, in bounded time.

    Raises
    ------
    OSError : if there is no such file.

    Verified by: tests/unit/results/test_digests.py::test_a_file_that_keeps_hdf5_busy_is_given_up
    """
    if not regular(path):
        raise FileNotFoundError(2, "no such file")
    if not sys.executable:
        # Python inside another program: there is nothing to start
        return
    size = path.stat().st_size
    limit = _LEAST_S + size / _BYTES_PER_S
    words = [sys.executable, "-I", "-c", _CHILD, str(path), str(_SPARE_BYTES + 4 * size), *sys.path]
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
        told = done.stdout.decode("utf-8", "replace").strip()
        raise ValueError(told or f"its reader crashed, with code {done.returncode}")
