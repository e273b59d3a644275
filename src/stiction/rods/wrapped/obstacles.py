"""Rigid bodies that a rod is wrapped around: distance, normal, curvature and prescribed motion.

The normal is the gradient of the distance d from the surface, the curvature its second derivative:
(1 - n n^T) / r at the distance r from the centre of a sphere, without the axis for a cylinder, zero
for a plane. `pairs` calls `surface_at`; `problem` and `outcome` call `placement_at`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.rods.contact.partners import (
    CylinderPartner,
    PlanePartner,
    RodPartner,
    SpherePartner,
)

__all__ = ["Placement", "Surface", "elapsed", "placement_at", "surface_at"]

Floats = npt.NDArray[np.float64]


class Placement(NamedTuple):
    """Where a rigid body is: its rotation `turn` (3, 3) since the start, and `pivot` (3,) [m]."""

    turn: Floats
    pivot: Floats


class Surface(NamedTuple):
    """The surface of a body seen from k points.

    distance : (k,) of the points from it, negative inside [m]
    normal : (k, 3) its unit normal at the closest points, towards the points
    curvature : (k, 3, 3) derivative of the normal by the point [1/m]
    """

    distance: Floats
    normal: Floats
    curvature: Floats


def elapsed(time: float, rise: float) -> float:
    """Return the integral [s] of a velocity factor that grows linearly to one in `rise` [s].

    time : since the start [s]
    """
    return time - 0.5 * rise if time >= rise else 0.5 * time**2 / rise


def placement_at(partner: RodPartner, time: float) -> Placement:
    """Return where a body is; its velocities grow linearly from zero over its `rise`.

    time : since the start [s]
    """
    since = elapsed(time, partner.rise)
    turn = rotation_matrix(since * np.asarray(partner.angular_velocity, dtype=np.float64))
    return Placement(turn, partner.points[0] + since * np.asarray(partner.velocity))


def rotation_matrix(vector: Floats) -> Floats:
    """Return the matrix (3, 3) of a rotation vector."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(vector).as_matrix())


def surface_at(partner: RodPartner, place: Placement, points: Floats) -> Surface:
    """Return the surface of a body as seen from `points` (k, 3).

    Verified by: tests/unit/rods/wrapped/test_obstacles.py::test_curvature_is_the_derivative
    """
    here = points - place.pivot
    if isinstance(partner, PlanePartner):
        normal = place.turn @ (np.asarray(partner.normal) / np.linalg.norm(partner.normal))
        return Surface(here @ normal, np.tile(normal, (len(here), 1)), np.zeros((len(here), 3, 3)))
    flat = np.eye(3) - np.zeros((len(here), 1, 1))
    if isinstance(partner, CylinderPartner):
        axis = place.turn @ np.subtract(partner.end, partner.start)
        length = float(np.linalg.norm(axis))
        axis /= length
        along = here @ axis
        here = here - np.clip(along, 0.0, length)[:, None] * axis
        inside = (along > 0.0) & (along < length)
        flat = flat - inside[:, None, None] * np.outer(axis, axis)
    assert isinstance(partner, CylinderPartner | SpherePartner)
    far = np.linalg.norm(here, axis=1)
    normal = here / far[:, None]
    flat = flat - normal[:, :, None] * normal[:, None, :]
    return Surface(far - partner.radius, normal, flat / far[:, None, None])
