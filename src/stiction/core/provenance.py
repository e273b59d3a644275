"""Where a result comes from: versions, machine, date and cost."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import sys
import time

from stiction._version import __version__
from stiction.core.tried import is_untried
from stiction.numerics.jit import mode

__all__ = ["provenance"]


@functools.cache
def _versions() -> dict[str, str]:
    """Return what stays the same for all runs of one process; reading it takes a while."""
    libraries = {
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba", "scipy")},
    }
    later = [
        f"{name} {version}" for name, version in libraries.items() if is_untried(name, version)
    ]
    return {
        # not from the metadata of an installation, which a source tree lacks
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
    """Return versions, platform, UTC date and what a solve took.

    `untried` names what decides numbers and is of a later series than any that was tried.

    Parameters
    ----------
    wall_s : wall time [s]
    compile_s : the part of it in which kernels were compiled or loaded [s]
    """
    return {
        **_versions(),
        "date": _date(int(time.time())),
        "kernels": mode(),
        "wall_s": round(wall_s, 6),
        "compile_s": round(compile_s, 6),
        "solve_s": round(max(wall_s - compile_s, 0.0), 6),
    }
