"""Where a result comes from: versions, machine, date and cost."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import sys

__all__ = ["provenance"]


def provenance(wall_s: float) -> dict[str, object]:
    """Return versions, platform, UTC date and the wall time `wall_s` [s] of a solve."""
    return {
        "stiction": importlib.metadata.version("stiction"),
        "python": sys.version.split()[0],
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba")},
        "platform": platform.platform(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 6),
    }
