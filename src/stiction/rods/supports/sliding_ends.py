"""Audit check of sliding ends: the axial contact force on a sliding node must be negligible.

Contacts act on a sliding node as on a clamp. Across the axis the node is fixed; the axial part of a
contact force would move it, but the model ignores this part.

Source: docs/theory/rods, "Rotating clamps".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline

from stiction.core.audit import Check

if TYPE_CHECKING:
    from stiction.rods.leapfrog.history import RodHistory

__all__ = ["check_sliding_ends", "end_weights"]

Floats = npt.NDArray[np.float64]

# largest admissible ignored fraction of a contact force
_LIMIT = 1e-3
_NOTE = "largest axial fraction of a contact force that a sliding end ignores"


def end_weights(places: Floats, elements: int, curve: str) -> Floats:
    """Return the weights of the last node in a contact at distances `places` from it [elements].

    Verified by: tests/unit/rods/state/test_sliding_ends.py::test_weights_are_those_of_the_curve
    """
    node = np.eye(1, elements + 1)[0]
    if curve == "fitted":
        node[1:-1] -= np.diff(node, 2) / 6.0
    points = np.concatenate([[2.0 * node[0] - node[1]], node, [2.0 * node[-1] - node[-2]]])
    spline = BSpline(np.arange(-3.0, elements + 4.0), points, 3)
    return np.asarray(spline(np.clip(places, 0.0, elements)), dtype=np.float64)


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
