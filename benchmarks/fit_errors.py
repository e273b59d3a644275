"""How far fitted numbers are from the truth: of one fit, and of all fits of a case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def errors_of(found: Any, truth: dict[str, float]) -> dict[str, dict]:
    """Return what a fit says of each parameter beside its true value.

    An offset's or drift's own size says nothing: the force is its scale.
    """
    return {
        name: {
            "relative": abs(found[name].value - true) / abs(true),
            "errors": abs(found[name].value - true) / found[name].error,
            "covered": bool(found[name].low <= true <= found[name].high),
            "reported": found[name].message,
        }
        for name, true in truth.items()
    }


def rows_of(fits: list[dict], **case: str) -> Iterator[dict]:
    """Yield a row for each parameter of the fits of a case."""
    for name in fits[0]["known"]:
        known = [f["known"][name] for f in fits]
        farthest = int(np.argmax([k["errors"] for k in known]))
        yield {
            **case,
            "parameter": name,
            "sets": len(fits),
            "median_error": float(np.median([k["relative"] for k in known])),
            "farthest": known[farthest]["errors"],
            "seed_of_farthest": fits[farthest]["seed"],
            "covered": float(np.mean([k["covered"] for k in known])),
            "reported": sum(bool(k["reported"]) for k in known),
            "seconds": float(np.mean([f["seconds"] for f in fits])),
        }
