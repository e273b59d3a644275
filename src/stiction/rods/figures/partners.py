"""Surfaces of rigid partners as grids of points: cylinders, spheres, parts of planes.

`RodData.surfaces` makes them for figures and movies; parts far from the rods are not drawn.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["PARTNER_COLOUR", "faces_near", "near", "surface"]

Floats = npt.NDArray[np.float64]

PARTNER_COLOUR = "#d0d3d6"

CYLINDER, SPHERE, PLANE = 1, 2, 3
_ROUND, _CAP = 33, 9  # points around, and from the edge of a half sphere to its pole
_ELEMENTS = 26  # points along a cylinder
_PLANE_HALF_SIDE = 0.6  # half of the side of a drawn plane, over the diagonal of the box
_ROOM = 0.6  # distance from the box within which partners are drawn, over its diagonal


def surface(shape: int, points: Floats, radius: float, box: tuple[Floats, Floats]) -> Floats:
    """Return (n, m, 3) points of the surface of a partner [m].

    Parameters
    ----------
    shape : 1 a cylinder with half spheres at its ends, 2 a sphere, 3 a plane
    points : (2, 3) `partner_point` of a run [m]
    radius : [m]
    box : corners of a box around the rods [m]
    """
    first, last = points
    if shape == PLANE:
        normal = (last - first) / np.linalg.norm(last - first)
        a, b = _across(normal)
        middle = 0.5 * (box[0] + box[1])
        middle = middle - ((middle - first) @ normal) * normal
        fraction = np.linspace(-_PLANE_HALF_SIDE, _PLANE_HALF_SIDE, 9) * float(
            np.linalg.norm(box[1] - box[0])
        )
        return np.asarray(middle + fraction[:, None, None] * a + fraction[None, :, None] * b)
    along = last - first
    axis = along / np.linalg.norm(along) if along.any() else np.array([0.0, 0.0, 1.0])
    a, b = _across(axis)
    cap = np.linspace(0.0, 0.5 * np.pi, _CAP)
    axial = np.concatenate([-np.cos(cap), np.sin(cap)])
    radial = np.concatenate([np.sin(cap), np.cos(cap)])
    # short elements, so that those far from the rods can be omitted
    fraction = np.concatenate(
        [np.zeros(_CAP), np.linspace(0.0, 1.0, _ELEMENTS)[1:-1], np.ones(_CAP)]
    )
    side = np.zeros(_ELEMENTS - 2)
    axial = np.insert(axial, _CAP, side)
    radial = np.insert(radial, _CAP, side + 1.0)
    begin = first + fraction[:, None] * along
    angle = np.linspace(0.0, 2.0 * np.pi, _ROUND)
    around = np.cos(angle)[:, None] * a + np.sin(angle)[:, None] * b
    rings = begin + radius * axial[:, None] * axis
    return np.asarray(rings[:, None] + radius * radial[:, None, None] * around)


def near(points: Floats, box: tuple[Floats, Floats]) -> npt.NDArray[np.bool_]:
    """Return (...) whether points (..., 3) are near a box; others are not drawn."""
    room = _ROOM * float(np.linalg.norm(box[1] - box[0]))
    return np.asarray(((points >= box[0] - room) & (points <= box[1] + room)).all(axis=-1))


def _across(axis: Floats) -> tuple[Floats, Floats]:
    """Return two unit vectors normal to a unit vector and to each other."""
    a = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    a /= np.linalg.norm(a)
    return a, np.cross(axis, a)


def faces_near(body: Floats, box: tuple[Floats, Floats]) -> Floats:
    """Return the faces (face, 4, 3) of a grid of points (n, m, 3) whose vertices are near."""
    faces = np.stack([body[:-1, :-1], body[:-1, 1:], body[1:, 1:], body[1:, :-1]], axis=2)
    faces = faces.reshape(-1, 4, 3)
    return np.asarray(faces[near(faces, box).all(axis=1)])
