"""Where a result comes from: versions, machine, date and cost."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import platform
import sys

__all__ = ["provenance"]


@functools.cache
def _versions() -> dict[str, str]:
    """Return what stays the same for all runs of one process; reading it takes a while."""
    return {
        "stiction": importlib.metadata.version("stiction"),
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba")},
        "platform": platform.platform(),
    }


def provenance(wall_s: float) -> dict[str, object]:
    """Return versions, platform, UTC date and the wall time `wall_s` [s] of a solve."""
    return {
        **_versions(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 6),
    }
