"""Shapes of rigid bodies in space: spheres, capsules, convex polyhedra, half spaces.

A shape has the surface (`Hull`), the size and the moments of inertia that the model and the kernels
need, in a frame whose origin is the centre of mass of an even mass. `contacts.surfaces_of` converts
shapes to arrays. Volumes and moments are sums over tetrahedra (`_moments`); the faces of a
`ConvexHull` are those of scipy's Qhull, whose coplanar triangles are joined.
"""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from stiction.bodies.space.contact_kernels import CAPSULE, HALF_SPACE, POLYHEDRON, VERTICES_MOST
from stiction.core.fields import Components, Declared, Positive
from stiction.errors import ModelError
from stiction.numerics.checks import floats_of, shape_of

__all__ = ["Capsule", "ConvexHull", "Cuboid", "HalfSpace", "Hull", "SpatialShape", "Sphere"]

Floats = npt.NDArray[np.float64]

# vertices nearer to a plane than this fraction of the size of a polyhedron lie in it. Chosen, above
# rounding
_FLAT = 1e-9
# distance of the centroid from the origin that is rounding, over the size of a polyhedron, where
# its volume is that of a cube. Chosen
_CENTRED = 2e-15

_WHY = "a body of no size has no surface."
_RADIUS = Positive("m", _WHY, "give 0.1.")
_LENGTH = Positive("m", "the core of a capsule is a segment.", "give 0.2, or a Sphere.")
_SIDE = Positive("m", _WHY, "give 1.0.")
_NORMAL = Components(
    "1", "the normal points out of the solid.", "give [0, 0, 1].", counts=(3,), direction=True
)


class Hull(NamedTuple):
    """The surface of a convex polyhedron about its centroid, or the core of a sphere or capsule.

    vertices : (v, 3) [m]; of a core its ends
    faces : f lists of numbers of vertices, counterclockwise from outside
    normals : (f, 3) outward unit vectors
    edges : (e, 4) numbers of both vertices, then of the faces to the left and right, from outside
    """

    vertices: Floats
    faces: list[list[int]]
    normals: Floats
    edges: npt.NDArray[np.int64]


class SpatialShape(Declared, abc.ABC):
    """Base class of shapes in space, in a frame whose origin is the centre of mass."""

    # number of the kind, as kernels know it
    kind: ClassVar[int]

    @property
    @abc.abstractmethod
    def inertia(self) -> Floats:
        """(3, 3) of an even mass of 1 kg about its centre [m^2]."""

    @property
    @abc.abstractmethod
    def reach(self) -> float:
        """Largest distance of a point of the shape from the origin [m]."""

    @property
    @abc.abstractmethod
    def thickness(self) -> float:
        """Least distance between a face and the vertex farthest from it, or the diameter [m]."""

    @property
    def sweep(self) -> float:
        """A bound of the normal velocity of the surface at a spin of 1 rad/s [m]; 0 of a sphere."""
        return 0.0

    @property
    @abc.abstractmethod
    def hull(self) -> Hull:
        """Vertices, faces and edges."""


@dataclass(frozen=True, eq=False, repr=False)
class Sphere(SpatialShape):
    """A sphere.

    Parameters
    ----------
    radius : [m]
    """

    kind: ClassVar[int] = CAPSULE

    radius: Annotated[float, _RADIUS] = 0.1

    @property
    def inertia(self) -> Floats:
        """Of an even mass of 1 kg [m^2]."""
        return np.diag([0.4 * self.radius * self.radius] * 3)

    @property
    def reach(self) -> float:
        """The radius [m]."""
        return self.radius

    @property
    def thickness(self) -> float:
        """The diameter [m]."""
        return 2.0 * self.radius

    @property
    def hull(self) -> Hull:
        """The centre."""
        return Hull(np.zeros((1, 3)), [], np.zeros((0, 3)), np.zeros((0, 4), dtype=np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class Capsule(SpatialShape):
    """A cylinder with half spheres at its ends: all points within a radius of a segment.

    Parameters
    ----------
    radius : [m]
    length : of the cylinder, along z of its frame [m]

    Verified by: tests/unit/bodies/space/test_capsules.py::test_moments_of_a_capsule

    >>> import stiction as st
    >>> st.bodies.Capsule(radius=0.25, length=0.5).reach
    0.5
    """

    kind: ClassVar[int] = CAPSULE

    radius: Annotated[float, _RADIUS] = 0.1
    length: Annotated[float, _LENGTH] = 0.2

    @property
    def inertia(self) -> Floats:
        """Of an even mass of 1 kg [m^2]: a cylinder and two half spheres."""
        r, h = self.radius, self.length
        round_part = 4.0 * r / (3.0 * h + 4.0 * r)
        along = (0.5 - 0.1 * round_part) * r * r
        of_cylinder = r * r / 4.0 + h * h / 12.0
        # centroids of half spheres are 3 r / 8 from their flat faces
        of_ends = 0.4 * r * r + h * h / 4.0 + 0.375 * h * r
        across = of_cylinder + round_part * (of_ends - of_cylinder)
        return np.diag([across, across, along])

    @property
    def reach(self) -> float:
        """Distance of the farthest points [m]."""
        return 0.5 * self.length + self.radius

    @property
    def thickness(self) -> float:
        """The diameter [m]."""
        return 2.0 * self.radius

    @property
    def sweep(self) -> float:
        """Half the length of the core [m]."""
        return 0.5 * self.length

    @property
    def hull(self) -> Hull:
        """The core: its ends, and the edge between them."""
        ends = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * self.length
        return Hull(ends, [], np.zeros((0, 3)), np.array([[0, 1, 0, 0]]))


class _Polyhedron(SpatialShape):
    """A convex polyhedron; its frame has its origin in the centroid."""

    kind: ClassVar[int] = POLYHEDRON

    @property
    @abc.abstractmethod
    def hull(self) -> Hull:
        """Vertices, faces and edges."""

    @functools.cached_property
    def inertia(self) -> Floats:
        """Of an even mass of 1 kg about the centroid [m^2].

        Verified by: tests/unit/bodies/space/test_shapes.py::test_moments_of_polyhedra
        """
        vertices = self.hull.vertices
        power = math.frexp(float(np.abs(vertices).max()))[1]
        volume, _, second = _moments(self.hull._replace(vertices=np.ldexp(vertices, -power)))
        with np.errstate(over="ignore"):
            scaled = (np.trace(second) * np.eye(3) - second) / volume
            return np.asarray(np.ldexp(scaled, 2 * power))

    @functools.cached_property
    def reach(self) -> float:
        """Distance of the farthest vertex [m]."""
        return float(np.linalg.norm(self.hull.vertices, axis=1).max())

    @property
    def sweep(self) -> float:
        """Distance of the farthest vertex [m]."""
        return self.reach

    @functools.cached_property
    def thickness(self) -> float:
        """Least distance between a face and the vertex farthest from it [m]."""
        heights = self.hull.vertices @ self.hull.normals.T
        return float(np.ptp(heights, axis=0).min())


@dataclass(frozen=True, eq=False, repr=False)
class Cuboid(_Polyhedron):
    """A cuboid.

    Parameters
    ----------
    a, b, c : sides along x, y and z of its frame [m]
    """

    a: Annotated[float, _SIDE] = 1.0
    b: Annotated[float, _SIDE] = 1.0
    c: Annotated[float, _SIDE] = 1.0

    @functools.cached_property
    def inertia(self) -> Floats:
        """Of an even mass of 1 kg about the centroid [m^2]."""
        x, y, z = (side * side / 12.0 for side in (self.a, self.b, self.c))
        return np.diag([y + z, z + x, x + y])

    @functools.cached_property
    def hull(self) -> Hull:
        """Vertices, faces and edges."""
        half = 0.5 * np.array([self.a, self.b, self.c])
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        faces = [
            [0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3],
        ]  # fmt: skip
        normals = np.array([s * row for row in np.eye(3) for s in (-1.0, 1.0)])
        return Hull(signs * half, faces, normals, _edges(faces))


@dataclass(frozen=True, eq=False, repr=False)
class ConvexHull(_Polyhedron):
    """A convex polyhedron by its vertices.

    Parameters
    ----------
    vertices : (n, 3) [m]. They are moved so that the centroid is the origin of the body's frame.
        Rounded coordinates may divide a face into several that are nearly in a plane

    Raises
    ------
    ModelError : on vertices in a plane, and on vertices that are not corners of their convex hull.

    Verified by: tests/unit/bodies/space/test_shapes.py::test_hulls_that_are_refused
    """

    vertices: Floats = field(
        default_factory=lambda: np.array(
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        )
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        where, shape = "ConvexHull.vertices", shape_of(self.vertices)
        needs, why = "at least four points [x, y, z] [m]", "the points bound a convex body."
        if len(shape) != 2 or shape[0] < 4 or shape[1] != 3:
            got = f"an array of shape {shape}" if shape else repr(self.vertices)
            raise ModelError(where, got, needs, why, "give the corners of a tetrahedron.")
        if shape[0] > VERTICES_MOST:
            got, needs = f"{shape[0]} vertices", f"at most {VERTICES_MOST}"
            raise ModelError(
                where,
                got,
                needs,
                "contacts are identified by vertex numbers, which have this bound.",
                "give fewer points.",
            )
        points = floats_of(self.vertices)
        if not np.isfinite(points).all():
            got = "a coordinate that is not a finite number"
            raise ModelError(where, got, needs, why, "correct this coordinate.")
        # about 1 m large, by a power of two: volumes and moments neither overflow nor vanish
        first = math.frexp(float(np.abs(points).max()))[1]
        scaled = np.ldexp(points, -first)
        middle = scaled.mean(axis=0)
        about = scaled - middle
        power = math.frexp(float(np.abs(about).max()))[1]
        about = np.ldexp(about, -power)
        faces = _checked_faces(where, about)
        hull = _hull_of(about, faces)
        volume, moment, _ = _moments(hull)
        centre = np.ldexp(middle, -power) + moment / volume
        # points whose centroid is the origin, but for rounding, are taken as they are: so a model
        # that is written and read again is the same
        if np.abs(centre).max() > _CENTRED / volume:
            points = np.ldexp(about - moment / volume, power + first)
        points.flags.writeable = False
        object.__setattr__(self, "vertices", points)
        self.__dict__["_hull"] = hull._replace(vertices=points)

    @property
    def hull(self) -> Hull:
        """Vertices, faces and edges."""
        found: Hull = self.__dict__["_hull"]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class HalfSpace(SpatialShape):
    """The half space below a plane through the origin of its frame: a floor or a wall.

    Only supports have this shape.

    Parameters
    ----------
    normal : direction out of the solid side
    """

    kind: ClassVar[int] = HALF_SPACE

    normal: Annotated[Sequence[float] | Floats, _NORMAL] = (0.0, 0.0, 1.0)

    @property
    def inertia(self) -> Floats:
        """Infinite."""
        return np.full((3, 3), math.inf)

    @property
    def reach(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def thickness(self) -> float:
        """Infinite."""
        return math.inf

    @property
    def hull(self) -> Hull:
        """One face, whose normal kernels need, and a point of the plane."""
        normal = np.asarray(self.normal, dtype=np.float64)
        normal = normal / np.linalg.norm(normal)
        return Hull(np.zeros((1, 3)), [[0]], normal[None], np.zeros((0, 4), dtype=np.int64))


def _hull_of(vertices: Floats, faces: list[list[int]]) -> Hull:
    """Return the polyhedron with given faces."""
    normals = np.array([_normal(vertices[loop]) for loop in faces])
    return Hull(vertices, faces, normals, _edges(faces))


def _normal(points: Floats) -> Floats:
    """Return the unit normal of a polygon, by Newell's sum."""
    total = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    return np.asarray(total / np.linalg.norm(total))


def _checked_faces(where: str, points: Floats) -> list[list[int]]:
    """Return the faces of the convex hull of points about 1 m apart, or raise an error.

    Each point must be a corner (three faces or more), each edge must join two faces, and Euler's
    formula v - e + f = 2 must hold.
    """
    spread = np.linalg.svd(points, compute_uv=False)
    if not spread[-1] > _FLAT * spread[0]:
        got, needs = "points in a plane, or nearly so", "points that enclose a volume"
        why = "a body without volume has no inside."
        raise ModelError(where, got, needs, why, "give a thin Cuboid for a plate.")
    faces = _faces(points)
    needs = "corners of a convex polyhedron"
    count = np.bincount(np.concatenate([*map(np.array, faces)]), minlength=len(points))
    if count.min() < 3:
        raise ModelError(
            where,
            f"vertex {int(np.argmin(count)) + 1} inside the hull of the other vertices, or on a "
            "face or an edge of the hull",
            needs,
            "contact of shapes that are not convex is not implemented.",
            "leave out vertices that are no corners, and divide the shape into convex bodies.",
        )
    sides = [side for loop in faces for side in zip(loop, loop[1:] + loop[:1], strict=True)]
    once = len(set(sides)) == len(sides) and {(b, a) for a, b in sides} == set(sides)
    if not once or len(points) - len(sides) // 2 + len(faces) != 2:
        raise ModelError(
            where,
            "vertices so near to each other, or to a line, that faces do not fit together",
            needs,
            "an edge joins two faces.",
            "leave out one of the vertices that are so near.",
        )
    return faces


def _faces(points: Floats) -> list[list[int]]:
    """Return the faces of the convex hull; neighbouring triangles in a plane are one face."""
    from scipy.spatial import ConvexHull as Triangles

    # triangles whose vertices all lie in the plane of a neighbour are joined with it
    hull = Triangles(points)
    corners, normal = hull.simplices, hull.equations[:, :3]
    size = float(np.linalg.norm(points, axis=1).max())
    heights = np.einsum("tnci,ti->tnc", points[corners[hull.neighbors]], normal)
    flat = (np.abs(heights + hull.equations[:, 3, None, None]) <= _FLAT * size).all(axis=2)
    one, side = np.nonzero(flat)
    shape = (len(corners), len(corners))
    joined = sp.csr_array((np.ones(len(one)), (one, hull.neighbors[one, side])), shape=shape)
    count, face = sp.csgraph.connected_components(joined, directed=False)
    # order the vertices of each face by their angles about its normal, that of its largest triangle
    edge = points[corners[:, 1:]] - points[corners[:, :1]]
    area = np.linalg.norm(np.cross(edge[:, 0], edge[:, 1]), axis=1)
    faces = []
    for k in range(count):
        own = np.flatnonzero(face == k)
        outward, loop = normal[own[int(np.argmax(area[own]))]], np.unique(corners[own])
        away = points[loop] - points[loop].mean(axis=0)
        axis = away[int(np.argmax(np.linalg.norm(away, axis=1)))]
        angle = np.arctan2(away @ np.cross(outward, axis), away @ axis)
        faces.append([int(vertex) for vertex in loop[np.argsort(angle)]])
    return faces


def _edges(faces: list[list[int]]) -> npt.NDArray[np.int64]:
    """Return (e, 4) the vertices of each edge, and its left and right face seen from outside."""
    left = {(loop[k - 1], loop[k]): f for f, loop in enumerate(faces) for k in range(len(loop))}
    rows = [(a, b, face, left[b, a]) for (a, b), face in left.items() if a < b]
    return np.array(rows, dtype=np.int64)


def _moments(hull: Hull) -> tuple[float, Floats, Floats]:
    """Return volume [m^3], first (3,) [m^4] and second (3, 3) moments [m^5] about the origin.

    A tetrahedron with corners 0, a, b, c has the volume V = det(a, b, c) / 6, the first moment
    V s / 4 and the second moment V (a a^T + b b^T + c c^T + s s^T) / 20, with s = a + b + c.
    """
    triangles = [(loop[0], b, c) for loop in hull.faces for b, c in pairwise(loop[1:])]
    corners = hull.vertices[np.array(triangles)]
    volume = np.linalg.det(corners) / 6.0
    total = corners.sum(axis=1)
    second = np.einsum("t,tki,tkj->ij", volume, corners, corners)
    second += np.einsum("t,ti,tj->ij", volume, total, total)
    return float(volume.sum()), (volume[:, None] * total).sum(axis=0) / 4.0, second / 20.0
