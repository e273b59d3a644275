"""Rigid partners of rods in contact: cylinders, spheres and planes, fixed or with given motion.

A partner moves as a rigid body about its pivot, with constant velocities or velocities that grow
linearly in a time `rise`: its displacement is `velocity` tau(t) and its rotation vector
`angular_velocity` tau(t), with tau = t^2 / (2 rise) up to t = rise and t - rise / 2 after. `points`
are nodes of the contact kernels (`assembly`): of the axis of a cylinder, the centre of a sphere,
and origin and two edges of a plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.core.fields import Components, Declared, Positive
from stiction.errors import ModelError
from stiction.rods.rod import RISE

__all__ = ["CylinderPartner", "PlanePartner", "RodPartner", "SpherePartner"]

Floats = npt.NDArray[np.float64]
Vector = Sequence[float] | Floats

# numbers of straight segments of a cylinder, each about its diameter long
_MOST_SEGMENTS = 400
_LEAST_SEGMENTS = 4

_WHY = "the motion of a rigid partner is prescribed."
_VELOCITY, _SPIN = Components("m/s", _WHY), Components("rad/s", _WHY)
_RADIUS = Positive("m", "a partner without thickness has no surface to roll on.", "give 0.02.")
_END = Components("m", "the axis joins two points.")
_CENTRE = Components("m", "the middle of the sphere is at this point.")
_POINT = Components("m", "the plane goes through this point, and turns about it.")
_NORMAL = Components(
    "1", "the normal points to the side of the rods.", "give [0, 0, 1].", direction=True
)


class RodPartner(Declared):
    """Base class of rigid bodies with prescribed motion, which rods do not change."""

    velocity: Vector
    angular_velocity: Vector
    rise: float

    @property
    def moves(self) -> bool:
        """Whether its velocity or angular velocity is not zero."""
        return bool(np.any(self.velocity)) or bool(np.any(self.angular_velocity))

    @property
    def points(self) -> Floats:
        """(n, 3) points that move with it; the first is the pivot of its rotation [m]."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class CylinderPartner(RodPartner):
    """A round cylinder with half spheres at its ends; its pivot is its start.

    Parameters
    ----------
    start, end : of its axis [m]
    radius : [m]
    velocity : of its start [m/s]
    angular_velocity : about its start [rad/s]; a drum if it is along the axis
    rise : time in which both velocities grow linearly from zero [s]

    Source: formulas sheet (docs/formulas/rods.md), "Unequal radii".
    Verified by: tests/unit/rods/contact/test_partners.py::test_a_stiff_rod_rolls_down_a_cylinder
    """

    start: Annotated[Vector, _END]
    end: Annotated[Vector, _END]
    radius: Annotated[float, _RADIUS]
    velocity: Annotated[Vector, _VELOCITY] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, _SPIN] = (0.0, 0.0, 0.0)
    rise: Annotated[float, RISE] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.linalg.norm(np.subtract(self.end, self.start)) > 0.0:
            why, try_ = "the axis has a direction.", "give an end away from the start."
            got = "the start itself"
            raise ModelError("CylinderPartner.end", got, "another point", why, try_)

    @property
    def points(self) -> Floats:
        """(n + 1, 3) evenly spaced points of the axis [m]."""
        length = float(np.linalg.norm(np.subtract(self.end, self.start)))
        segments = np.clip(np.ceil(0.5 * length / self.radius), _LEAST_SEGMENTS, _MOST_SEGMENTS)
        fraction = np.linspace(0.0, 1.0, int(segments) + 1)[:, None]
        return np.asarray(
            (1.0 - fraction) * np.asarray(self.start) + fraction * np.asarray(self.end)
        )


@dataclass(frozen=True, eq=False, repr=False)
class SpherePartner(RodPartner):
    """A sphere; its pivot is its centre.

    Parameters
    ----------
    centre : [m]
    radius : [m]
    velocity : of its centre [m/s]
    angular_velocity : about its centre [rad/s]
    rise : time in which both velocities grow linearly from zero [s]

    Verified by: tests/unit/rods/contact/test_partners.py::test_a_tip_bounces_off_a_sphere

    Examples
    --------
    >>> import stiction as st
    >>> st.rods.SpherePartner([0.0, 0.0, -0.05], radius=0.04, velocity=[0.0, 0.0, 0.1]).radius
    0.04
    """

    centre: Annotated[Vector, _CENTRE]
    radius: Annotated[float, _RADIUS]
    velocity: Annotated[Vector, _VELOCITY] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, _SPIN] = (0.0, 0.0, 0.0)
    rise: Annotated[float, RISE] = 0.0

    @property
    def points(self) -> Floats:
        """(5, 3) the centre, five times, as many as nodes of the shortest rod [m]."""
        return np.tile(np.asarray(self.centre, dtype=np.float64), (_LEAST_SEGMENTS + 1, 1))


@dataclass(frozen=True, eq=False, repr=False)
class PlanePartner(RodPartner):
    """A plane; its normal points to the side of the rods.

    Parameters
    ----------
    point : of the plane, and pivot of its motion [m]
    normal : direction to the side of the rods
    velocity : of the point [m/s]; a belt if it is along the plane
    angular_velocity : about the point [rad/s]; a turntable if it is along the normal
    rise : time in which both velocities grow linearly from zero [s]

    Verified by: tests/unit/rods/contact/test_partners.py::test_a_rod_rolls_down_a_plane
    """

    point: Annotated[Vector, _POINT] = (0.0, 0.0, 0.0)
    normal: Annotated[Vector, _NORMAL] = (0.0, 0.0, 1.0)
    velocity: Annotated[Vector, _VELOCITY] = (0.0, 0.0, 0.0)
    angular_velocity: Annotated[Vector, _SPIN] = (0.0, 0.0, 0.0)
    rise: Annotated[float, RISE] = 0.0

    @property
    def points(self) -> Floats:
        """(5, 3) the point, and two at 1 m along the plane, right-handed with the normal [m]."""
        n = np.asarray(self.normal) / np.linalg.norm(self.normal)
        a = np.cross(np.eye(3)[int(np.argmin(np.abs(n)))], n)
        a /= np.linalg.norm(a)
        moves = np.array([0.0 * n, a, np.cross(n, a), 0.0 * n, 0.0 * n])
        return np.asarray(np.asarray(self.point) + moves)
