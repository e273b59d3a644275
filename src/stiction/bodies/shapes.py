"""Shapes of rigid bodies in the plane: discs, convex polygons, half planes.

A shape has the corners, the size and the radius of gyration that the model and the kernels need, in
a frame whose origin is the centre of mass of an even mass. `contacts.surfaces_of` converts shapes
to the arrays of `contact_kernels`.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import CORNERS_MOST
from stiction.core.fields import Components, Declared, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import floats_of, shape_of

__all__ = ["Box", "Disc", "HalfPlane", "Polygon", "RigidShape"]

Floats = npt.NDArray[np.float64]

# corners closer to the line through their neighbours than this fraction of the size of a polygon
# are refused. Chosen, above rounding
_STRAIGHT = 1e-12
# distance of a centroid from the origin, over the size of the polygon, that is rounding. Chosen
_CENTRED = 1e-14

_WHY = "a body of no size has no surface."
_RADIUS = Positive("m", _WHY, "give 0.1.")
_SIDE = Positive("m", _WHY, "give 1.0.")
_NORMAL = Components(
    "1", "the normal points out of the solid.", "give [0, 1].", counts=(2,), direction=True
)


class RigidShape(Declared, abc.ABC):
    """Base class of shapes, in a frame whose origin is the centre of mass."""

    # number of the kind, as kernels know it
    kind: ClassVar[int]

    @property
    @abc.abstractmethod
    def radius_of_gyration(self) -> float:
        """Of an even mass about its centre [m]."""

    @property
    @abc.abstractmethod
    def reach(self) -> float:
        """Largest distance of a point of the shape from the origin [m]."""

    @property
    @abc.abstractmethod
    def thickness(self) -> float:
        """Least distance of two parallel lines that hold the shape between them [m]."""

    @property
    def sweep(self) -> float:
        """Largest normal velocity of the boundary if the shape turns with 1 rad/s [m]; 0 of a disc.

        The audit bounds by it the motion of surfaces in a step.
        """
        return 0.0

    @property
    def corners(self) -> Floats:
        """(n, 2) corners in counterclockwise order [m]; none of a shape without corners."""
        return np.empty((0, 2))


@dataclass(frozen=True, eq=False, repr=False)
class Disc(RigidShape):
    """A disc.

    Parameters
    ----------
    radius : [m]
    """

    kind: ClassVar[int] = 0

    radius: Annotated[float, _RADIUS] = 0.1

    @property
    def radius_of_gyration(self) -> float:
        """Of an even mass, radius / sqrt(2) [m]."""
        return self.radius * math.sqrt(0.5)

    @property
    def reach(self) -> float:
        """The radius [m]."""
        return self.radius

    @property
    def thickness(self) -> float:
        """The diameter [m]."""
        return 2.0 * self.radius


class _Cornered(RigidShape):
    """A convex polygon; its frame has its origin in the centroid."""

    kind: ClassVar[int] = 1

    @functools.cached_property
    def radius_of_gyration(self) -> float:
        """Of an even mass about the centroid [m].

        Source: second moments of a polygon by Green's theorem.
        Verified by: tests/unit/bodies/test_shapes.py::test_moments_of_a_polygon
        """
        a, power = _scaled(self.corners)
        b = np.roll(a, -1, axis=0)
        cross = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
        polar = (cross * (a * a + a * b + b * b).sum(axis=1)).sum() / 12.0
        return math.ldexp(math.sqrt(polar / (0.5 * cross.sum())), power)

    @functools.cached_property
    def reach(self) -> float:
        """Distance of the farthest corner [m]."""
        return float(np.hypot(*self.corners.T).max())

    @functools.cached_property
    def sweep(self) -> float:
        """Largest distance along an edge from the foot of the centroid to its ends [m]."""
        # unit vectors of the edges; the spin w moves a point at the abscissa s on an edge by w s
        along = np.roll(self.corners, -1, axis=0) - self.corners
        along = along / np.hypot(*along.T)[:, None]
        ends = np.stack([self.corners, np.roll(self.corners, -1, axis=0)])
        return float(np.abs((ends * along).sum(axis=-1)).max())

    @functools.cached_property
    def thickness(self) -> float:
        """Least distance between an edge and the corner farthest from it [m]."""
        a, along = self.corners, np.roll(self.corners, -1, axis=0) - self.corners
        along = along / np.hypot(*along.T)[:, None]
        apart = a[None, :] - a[:, None]
        far = along[:, None, 0] * apart[..., 1] - along[:, None, 1] * apart[..., 0]
        return float(far.max(axis=1).min())


@dataclass(frozen=True, eq=False, repr=False)
class Box(_Cornered):
    """A rectangle.

    Parameters
    ----------
    width, height : [m]
    """

    width: Annotated[float, _SIDE] = 1.0
    height: Annotated[float, _SIDE] = 1.0

    @functools.cached_property
    def corners(self) -> Floats:
        """(4, 2) corners [m]."""
        x, y = 0.5 * self.width, 0.5 * self.height
        return np.array([[-x, -y], [x, -y], [x, y], [-x, y]])


@dataclass(frozen=True, eq=False, repr=False)
class Polygon(_Cornered):
    """A convex polygon.

    Parameters
    ----------
    points : (n, 2) corners in order, in either direction [m]. They are moved so that the centroid
        is the origin of the body's frame.

    Raises
    ------
    ModelError : on fewer than three corners, and on a polygon that is not convex.

    Verified by: tests/unit/bodies/test_shapes.py::test_polygons_that_are_refused
    """

    points: Floats = field(
        default_factory=lambda: np.array([[-0.5, -0.5], [0.5, -0.5], [0.0, 0.5]])
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = shape_of(self.points)
        why, needs = "the corners bound a convex body.", "at least three points [x, y] [m]"
        if len(shape) != 2 or shape[0] < 3 or shape[1] != 2:
            got = f"an array of shape {shape}" if shape else repr(self.points)
            raise ModelError("Polygon.points", got, needs, why, "give [[0, 0], [1, 0], [0, 1]].")
        if shape[0] > CORNERS_MOST:
            got, needs = f"{shape[0]} corners", f"at most {CORNERS_MOST}"
            why = "contacts are identified by corner numbers, which have this upper bound."
            raise ModelError("Polygon.points", got, needs, why, "leave out corners.")
        points = floats_of(self.points)
        if not np.isfinite(points).all():
            got = "a coordinate that is not a finite number"
            raise ModelError("Polygon.points", got, needs, why, "correct this coordinate.")
        given, power = _scaled(points)
        # counterclockwise order; `number` has the positions in the user's list, for messages
        points = given - given.mean(axis=0)
        after = np.roll(points, -1, axis=0)
        number = np.arange(len(points))
        if (points[:, 0] * after[:, 1] - points[:, 1] * after[:, 0]).sum() < 0.0:
            given, points, number = given[::-1], points[::-1].copy(), number[::-1]
        # convex: each edge turns left at its end, and all turns together are one revolution
        before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
        turn = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        size = float(np.abs(points).max())
        angles = np.arctan2(turn, (before * after).sum(axis=1)).sum()
        if not turn.min() > _STRAIGHT * size * size or abs(abs(angles) - 2.0 * math.pi) > 1e-6:
            worst = int(np.argmin(turn))
            got = f"corner {number[worst] + 1} that is not convex"
            if turn[worst] > 0.0 and abs(angles) > 7.0:
                got = "an outline that winds around more than once"
            raise ModelError(
                "Polygon.points",
                got,
                "a convex polygon",
                "contact of shapes that are not convex is not implemented.",
                "leave out corners on straight edges, and divide the shape into convex bodies.",
            )
        points = _centred(points)
        # points that are centred but for rounding stay: a polygon in a file is read without change
        if np.abs(points - given).max() <= _CENTRED:
            points = given
        object.__setattr__(self, "points", np.ldexp(points, power))

    @property
    def corners(self) -> Floats:
        """(n, 2) corners about the centroid [m]."""
        return np.asarray(self.points)


def _scaled(points: Floats) -> tuple[Floats, int]:
    """Return points about 1 m large and the power of two: no product overflows or vanishes."""
    power = math.frexp(float(np.abs(points).max()))[1]
    return np.ldexp(points, -power), power


def _centred(points: Floats) -> Floats:
    """Return corners about the centroid of their polygon."""
    after = np.roll(points, -1, axis=0)
    cross = points[:, 0] * after[:, 1] - points[:, 1] * after[:, 0]
    centre = (cross[:, None] * (points + after)).sum(axis=0) / (3.0 * cross.sum())
    return np.asarray(points - centre)


@dataclass(frozen=True, eq=False, repr=False)
class HalfPlane(RigidShape):
    """The half plane below a straight line through the origin of its frame: a floor or a wall.

    Only supports have this shape.

    Parameters
    ----------
    normal : direction out of the solid side
    """

    kind: ClassVar[int] = 2

    normal: Annotated[Sequence[float] | Floats, _NORMAL] = (0.0, 1.0)

    @property
    def radius_of_gyration(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def reach(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def thickness(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def corners(self) -> Floats:
        """(1, 2) unit normal: kernels find it where polygons have corners [1]."""
        normal = np.asarray(self.normal, dtype=np.float64)
        return np.asarray(normal / np.linalg.norm(normal)).reshape(1, 2)
