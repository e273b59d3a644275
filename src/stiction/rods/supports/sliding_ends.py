"""Audit check of sliding ends: the axial contact force on a sliding node must be negligible.

Contacts act on a sliding node as on a clamp. Across the axis the node is fixed; the axial part of a
contact force would move it, but the model ignores this part.

Source: docs/theory/rods, "Rotating clamps".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stiction.core.audit import Check

if TYPE_CHECKING:
    from stiction.rods.leapfrog.history import RodHistory

__all__ = ["check_sliding_ends"]

# largest admissible ignored fraction of a contact force
_LIMIT = 1e-3
_NOTE = "largest axial fraction of a contact force that a sliding end ignores"


def check_sliding_ends(history: RodHistory) -> Check:
    """Return the audit check of axial contact forces near sliding ends."""
    c = int(np.argmax(history.extremes["ignored"]))
    worst = history.extremes[c]
    value, when = float(worst.ignored), float(worst.ignored_time)
    note = _NOTE
    if value > 0.0:
        rod = worst.ignored_body + 1
        note += f"; contact {c + 1} on rod {rod}"
    value, time = max(value, 0.0), (when if value > 0.0 else None)
    return Check("no_axial_force_ignored", value <= _LIMIT, value, _LIMIT, time, note)
