"""What contacts near an end that slides push along its axis, which the clamp takes.

Contacts act on a node that slides as on a clamp. Across the axis it is one; what they push along
it would move the node, and does not. Source: docs/theory/rods, "Clamps that turn".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.interpolate import BSpline

from stiction.results.audit import Check
from stiction.rods.rod import Turned

if TYPE_CHECKING:
    from stiction.rods.leapfrog.history import RodHistory
    from stiction.rods.model import Rods

__all__ = ["end_weights", "lost_by_slides"]

Floats = npt.NDArray[np.float64]

# of a contact's force: less does not matter
_LIMIT = 1e-3
_NOTE = "largest part of a contact's force, along the axis of an end that slides, which it ignores"


def end_weights(places: Floats, elements: int, curve: str) -> Floats:
    """Return the weights of the last node of a rod in a contact at places from it [elements].

    Verified by: tests/unit/rods/state/test_slides.py::test_weights_are_those_of_the_curve
    """
    node = np.eye(1, elements + 1)[0]
    if curve == "fitted":
        node[1:-1] -= np.diff(node, 2) / 6.0
    points = np.concatenate([[2.0 * node[0] - node[1]], node, [2.0 * node[-1] - node[-2]]])
    spline = BSpline(np.arange(-3.0, elements + 4.0), points, 3)
    return np.asarray(spline(np.clip(places, 0.0, elements)), dtype=np.float64)


def lost_by_slides(rods: Rods, history: RodHistory) -> Check:
    """Return the check of what ends that slide should take of contacts, at the saved times."""
    worst: tuple[float, float | None] = (0.0, None)
    force = history.contact["contact_force"]
    size = np.linalg.norm(force, axis=-1)
    closed = (history.contact["contact_mode"] > 0.0) & (size > 0.0)
    for number, rod in enumerate(rods.rods, start=1):
        for end, at_end in ((rod.left, False), (rod.right, True)):
            if not isinstance(end, Turned) or not end.slides:
                continue
            for side, name in enumerate(("s1", "s2")):
                mine = closed & (history.pairs[:, side] == number)
                if not mine.any():
                    continue
                when, which = np.nonzero(mine)
                places = history.contact[name][mine] * rod.elements / rod.rest_length
                places = rod.elements - places if at_end else places
                along = np.abs(force[mine] @ np.asarray(end.axis)) / size[mine]
                part = np.abs(end_weights(places, rod.elements, rods.contact_curve)) * along
                k = int(np.argmax(part))
                if part[k] > worst[0]:
                    note = f"; contact {which[k] + 1} on rod {number}"
                    worst, told = (float(part[k]), float(history.time[when[k]])), note
    value, time = worst
    note = _NOTE + (told if time is not None else "")
    return Check("slides_feel_contacts", value <= _LIMIT, value, _LIMIT, time, note)
