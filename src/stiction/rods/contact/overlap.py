"""Largest penetration of rods and rigid partners, with or without a declared contact.

The penetration of two bodies is a1 + a2 - |R2 - R1|, the sum of their radii minus the distance of
their axes.
`overlap_kernels` computes it for pairs of curves; here the points of rods are compared with spheres
and planes. A penetration at the start of a run is an error (`refuse_overlap`); later ones enter the
audit. Called by `leapfrog.run` and `midpoint.run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError
from stiction.numerics.jit import py_function
from stiction.rods.contact import kernels as ck
from stiction.rods.contact.curve.kernels import FITTED, weights

if TYPE_CHECKING:
    from stiction.rods.assembly import Flat

__all__ = ["MOST", "body_name", "deepest", "refuse_overlap"]

Floats = npt.NDArray[np.float64]

# largest admissible penetration, over the smaller radius. Chosen, for coordinates given with four
# digits
MOST = 1e-3
# points of a curve per element whose distance from spheres and planes is computed
_FINE = 16


def deepest(flat: Flat) -> tuple[float, int, int]:
    """Return the largest penetration over the smaller radius, 0 if none, and both body indices.

    Checked are all pairs of bodies whose section has a radius, and a rod with itself between points
    more than pi radii and four elements apart along it.
    """
    from stiction.rods.contact.overlap_kernels import Overlap, deepest_overlap
    from stiction.rods.contact.search import curve_tables

    tables, self_separation, curves = curve_tables(flat, self_contact=True)
    out = Overlap.table()
    if not curves.size:
        return 0.0, 0, 0
    rods = int(np.count_nonzero(curves < flat.rods))
    deepest_overlap(flat.r, *tables, self_separation, flat.rule, rods, out)
    most = out[0]
    deepest = (float(most.depth), int(curves[most.bodies[0]]), int(curves[most.bodies[1]]))
    for b in np.flatnonzero(flat.shape != ck.CURVE):
        for a in np.flatnonzero(flat.radius[: flat.rods] > 0.0).tolist():
            # a plane has no radius
            radii = float(flat.radius[a]), float(flat.radius[b])
            depth = _into(flat, a, int(b)) / min(radius for radius in radii if radius > 0.0)
            if depth > deepest[0]:
                deepest = (float(depth), a, int(b))
    return deepest


def body_name(number: int, rods: int) -> str:
    """Return "rod 2", or "partner 1" for a number, from 1, above that of the last rod."""
    return f"rod {number}" if number <= rods else f"partner {number - rods}"


def refuse_overlap(overlap: Floats, rods: int) -> None:
    """Raise ModelError for bodies inside each other at the start, in contact or not.

    Parameters
    ----------
    overlap : (4,) depth over the smaller radius, time, numbers of both bodies
    rods : how many of the bodies are rods
    """
    if overlap[0] <= MOST:
        return
    one, other = (body_name(int(number), rods) for number in overlap[2:])
    inside = f"{one} inside {other}" if one != other else f"{one} inside itself"
    raise ModelError(
        "Rods",
        f"{inside} by {overlap[0]:.3g} of the smaller radius at the start",
        "bodies that are separate, or just touch",
        "bodies must not penetrate, whether a contact between them is declared or not.",
        "move a rod or its clamp, or take a thinner one.",
    )


def _into(flat: Flat, a: int, b: int) -> float:
    """Return the penetration of rod a into sphere or plane b [m]; negative if separate.

    It is that of _FINE points on each element.
    """
    points = curve_points(flat, a)
    origin = flat.r[:, flat.first[b], None]
    if flat.shape[b] == ck.PLANE:
        one, two = (flat.r[:, flat.first[b] + k] - origin[:, 0] for k in (1, 2))
        return float(flat.radius[a] - (np.cross(one, two) @ (points - origin)).min())
    distance = np.linalg.norm(points - origin, axis=0).min()
    return float(flat.radius[a] + flat.radius[b] - distance)


def curve_points(flat: Flat, a: int) -> Floats:
    """Return (3, 16 n + 1) points of the contact curve of rod a, equally spaced in s [m]."""
    first, n = int(flat.first[a]), int(flat.count[a])
    control = flat.r[:, first : first + n + 1].copy()
    if flat.rule == FITTED:
        control[:, 1:-1] -= np.diff(control, 2, axis=1) / 6.0
    control = np.hstack(
        [2.0 * control[:, :1] - control[:, 1:2], control, 2.0 * control[:, -1:] - control[:, -2:-1]]
    )
    weights_at = np.zeros((4, _FINE))
    for k in range(_FINE):
        py_function(weights)(k / _FINE, weights_at[:, k])
    points = sum(control[:, k : k + n, None] * w for k, w in enumerate(weights_at))
    return np.concatenate([np.reshape(points, (3, -1)), flat.r[:, first + n, None]], axis=1)
