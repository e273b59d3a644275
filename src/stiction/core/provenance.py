"""Provenance of a run: versions of libraries, machine, date and computing time.

The table `TRIED` has the versions of the libraries with which all tests passed. `stiction doctor`
and the provenance of a run report libraries of later series.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import re
import sys
import time

from stiction._version import __version__
from stiction.catalogue import used_outside
from stiction.numerics.jit import mode

__all__ = ["TRIED", "is_untried", "provenance", "release"]

# written by `python tools/matrix.py` after all tests passed with the newest versions of pip
TRIED = {
    "python": "3.13.0",
    "numpy": "2.5.5",
    "numba": "0.68.1",
    "scipy": "1.18.1",
    "msgspec": "0.22.0",
    "tomli-w": "1.2.0",
    "typer": "0.29.2",
    "rich": "15.0.0",
    "h5py": "3.16.0",
    "h5netcdf": "1.8.2",
    "xarray": "2026.9.0",
    "pandas": "3.1.1",
    "matplotlib": "3.11.2",
    "pillow": "13.0.0",
}


def is_untried(name: str, version: str) -> bool:
    """Return whether `version` has a later series (such as 2.5 after 2.4) than the tested version.

    Verified by: tests/unit/core/test_provenance.py::test_a_later_series_was_not_tried
    """
    known = TRIED.get(name)
    return known is not None and release(version)[:2] > release(known)[:2]


def release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without zeros at the end."""
    numbers = [int(part) for part in re.findall(r"\d+", version.partition("+")[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


@functools.cache
def _versions() -> dict[str, str]:
    """Return the versions of this process, cached."""
    libraries = {
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba", "scipy")},
    }
    later = [
        f"{name} {version}" for name, version in libraries.items() if is_untried(name, version)
    ]
    return {
        # a source tree has no installation metadata
        "stiction": __version__,
        **libraries,
        **({"untried": ", ".join(later)} if later else {}),
        "platform": platform.platform(),
    }


@functools.lru_cache(maxsize=1)
def _date(second: int) -> str:
    """Return the date of a second since 1970."""
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat(timespec="seconds")


def provenance(wall_s: float, compile_s: float = 0.0) -> dict[str, object]:
    """Return versions, platform, UTC date and the cost of a solve.

    The entry `untried` names libraries of a later series than the tested one, `extensions` the
    other packages whose laws and systems were used.

    Parameters
    ----------
    wall_s : wall time of the solve [s]
    compile_s : the part of `wall_s` in which kernels were compiled or loaded [s]
    """
    extensions = used_outside()
    return {
        **_versions(),
        **({"extensions": ", ".join(sorted(extensions))} if extensions else {}),
        "date": _date(int(time.time())),
        "kernels": mode(),
        "wall_s": round(wall_s, 6),
        "compile_s": round(compile_s, 6),
        "solve_s": round(max(wall_s - compile_s, 0.0), 6),
    }
