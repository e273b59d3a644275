"""Largest penetration of rods and rigid partners, with or without a declared contact."""

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

# deepest overlap that counts as none, over a radius
MOST = 1e-3
# points of a curve per element that are held against spheres and planes
_FINE = 16


def deepest(flat: Flat) -> tuple[float, int, int]:
    """Return the deepest overlap over the smaller radius, 0 if there is none, and both bodies.

    All pairs are looked at, also of a rod with itself where it is farther along than half a
    circle of contact; but for rods whose section has no radius.
    """
    from stiction.rods.contact.overlap_kernels import Overlap, deepest_overlap
    from stiction.rods.contact.search import curve_tables

    tables, separation, curves = curve_tables(flat, self_contact=True)
    out = Overlap.table()
    if not curves.size:
        return 0.0, 0, 0
    rods = int(np.count_nonzero(curves < flat.rods))
    deepest_overlap(flat.r, *tables, separation, flat.rule, rods, out)
    most = out[0]
    deepest = (float(most.depth), int(curves[most.bodies[0]]), int(curves[most.bodies[1]]))
    for b in np.flatnonzero(flat.shape != ck.CURVE):
        for a in np.flatnonzero(flat.radius[: flat.rods] > 0.0).tolist():
            deep = _into(flat, a, int(b)) / flat.radius[a]
            if deep > deepest[0]:
                deepest = (float(deep), a, int(b))
    return deepest


def body_name(number: int, rods: int) -> str:
    """Return "rod 2", or "partner 1" for what is numbered behind the rods."""
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
        "bodies that are apart, or just touch",
        "no two bodies are at one place, whether a contact between them is declared or not.",
        "move a rod or its clamp, or take a thinner one.",
    )


def _into(flat: Flat, a: int, b: int) -> float:
    """Return how deep a rod is inside a sphere or behind a plane [m]; negative outside."""
    points = curve_points(flat, a)
    origin = flat.r[:, flat.first[b], None]
    if flat.shape[b] == ck.PLANE:
        one, two = (flat.r[:, flat.first[b] + k] - origin[:, 0] for k in (1, 2))
        return float(flat.radius[a] - (np.cross(one, two) @ (points - origin)).min())
    far = np.linalg.norm(points - origin, axis=0).min()
    return float(flat.radius[a] + flat.radius[b] - far)


def curve_points(flat: Flat, a: int) -> Floats:
    """Return (3, 16 n + 1) points of the contact curve of a rod, evenly spread in s [m]."""
    first, n = int(flat.first[a]), int(flat.count[a])
    wide = flat.r[:, first : first + n + 1].copy()
    if flat.rule == FITTED:
        wide[:, 1:-1] -= np.diff(wide, 2, axis=1) / 6.0
    wide = np.hstack([2.0 * wide[:, :1] - wide[:, 1:2], wide, 2.0 * wide[:, -1:] - wide[:, -2:-1]])
    parts = np.zeros((4, _FINE))
    for k in range(_FINE):
        py_function(weights)(k / _FINE, parts[:, k])
    points = sum(wide[:, k : k + n, None] * part for k, part in enumerate(parts))
    return np.concatenate([np.reshape(points, (3, -1)), flat.r[:, first + n, None]], axis=1)
