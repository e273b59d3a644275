"""Contacts of spheres and capsules, with each other and with polyhedra.

A capsule has the points whose distance from a segment, its core, is at most its radius. The core of
a sphere is a point. A contact of a capsule is that of a sphere about a point of the core; so its
normal leads from the nearest point of the other surface to this point. These points of the core are

- its ends;
- points where the distance is least: between the cores of two capsules, or opposite to an edge or a
  vertex of a polyhedron;
- points above the edges of that face of a polyhedron from which the core has the largest distance.
  A capsule that lies on a face and protrudes beyond it has its contacts there.

d is the vector between the centres [m]; u and v are cores or edges, from a and b on. Arguments:
`surfaces`, `faces` and `edges` are the tables of `contact_kernels`, `vertices` (k, 3) all vertices
and ends of cores about their centres in the axes of space [m], `loops` the vertices of each face;
i and j are numbers of surfaces, `within` is the largest gap of a contact [m]. Contacts are appended
to the table `out`, which has `count` so far; the new count is returned. Called by
`polyhedron_kernels.find_contacts`.

Source: Ericson 2005, "Real-Time Collision Detection", section 5.1 (nearest points of segments).
"""

from __future__ import annotations

import math

from stiction.bodies.space.contact_kernels import (
    CAPSULE,
    Edge,
    Face,
    SpatialContact,
    SpatialSurface,
    append,
    part_before_nearest,
)
from stiction.bodies.space.vector_kernels import (
    Point,
    cross,
    dot,
    entries,
    minus,
    moved,
    norm,
    point,
)
from stiction.numerics.arrays import Integers, Matrix, Table
from stiction.numerics.jit import kernel

__all__ = [
    "contact_of_capsules",
    "contact_with_polyhedron",
    "face_separation",
    "nearest_of_polyhedron",
]

# sine of the angle below which segments are parallel, and have no common normal
_PARALLEL = 1e-6
# nearest points of a polyhedron closer than this fraction of its size are the same
_SAME = 1e-9
_ZERO = (0.0, 0.0, 0.0)
# where a contact is on a core: at one of its ends, 0 or 1, or between them
_BETWEEN = 2


@kernel
def contact_of_capsules(
    surfaces: Table[SpatialSurface], vertices: Matrix, i: int, j: int, d: Point, within: float,
    out: Table[SpatialContact], count: int,
) -> int:  # fmt: skip
    """Append the contacts of two capsules or spheres; d leads from j to i.

    Verified by: tests/unit/bodies/space/test_capsules.py::test_gaps_of_capsules_are_distances
    """
    r, s = surfaces[i].radius, surfaces[j].radius
    a, b = moved(d, 1.0, point(vertices, surfaces[i].vertex)), point(vertices, surfaces[j].vertex)
    u = minus(moved(d, 1.0, point(vertices, surfaces[i].vertex_end - 1)), a)
    v = minus(point(vertices, surfaces[j].vertex_end - 1), b)
    # each end of one core, and the point of the other core nearest to it
    for k in range(surfaces[i].vertex_end - surfaces[i].vertex):
        x = moved(a, float(k), u)
        part = part_before_nearest(x, b, v)
        on_j = 0 if part <= 0.0 else 1 if part >= 1.0 else _BETWEEN
        y = moved(b, part, v)
        count = _between(out, count, i, j, 3 * k + on_j, x, y, r, s, d, within)
    for k in range(surfaces[j].vertex_end - surfaces[j].vertex):
        y = moved(b, float(k), v)
        part = part_before_nearest(y, a, u)
        if 0.0 < part < 1.0:
            x = moved(a, part, u)
            count = _between(out, count, i, j, 3 * _BETWEEN + k, x, y, r, s, d, within)
    # cores that cross
    p, q = _crossing(a, u, b, v)
    if 0.0 < p < 1.0 and 0.0 < q < 1.0:
        x, y = moved(a, p, u), moved(b, q, v)
        count = _between(out, count, i, j, 4 * _BETWEEN, x, y, r, s, d, within)
    return count


@kernel
def _crossing(a: Point, u: Point, b: Point, v: Point) -> tuple[float, float]:
    """Return s and t of the nearest points a + s u, b + t v of two lines; both -1 if parallel."""
    n = cross(u, v)
    squared = dot(n, n)
    if squared <= _PARALLEL * _PARALLEL * dot(u, u) * dot(v, v):
        return -1.0, -1.0
    w = minus(b, a)
    return dot(cross(w, v), n) / squared, dot(cross(w, u), n) / squared


@kernel
def _between(
    out: Table[SpatialContact], count: int, i: int, j: int, feature: int, x: Point, y: Point,
    r: float, s: float, d: Point, within: float,
) -> int:  # fmt: skip
    """Append the contact of spheres about x of core i and y of core j, if it is near enough.

    Parameters
    ----------
    x, y : from the centre of j
    r, s : radii
    """
    w = minus(x, y)
    distance = norm(w)
    if distance - r - s > within:
        return count
    # concentric spheres have no normal: take the upward one
    n = moved(_ZERO, 1.0 / distance, w) if distance > 0.0 else (0.0, 0.0, 1.0)
    on_i, on_j = moved(minus(x, d), -r, n), moved(y, s, n)
    return append(out, count, i, j, feature, distance - r - s, n, on_i, on_j)


@kernel
def contact_with_polyhedron(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], loops: Integers,
    edges: Table[Edge], i: int, j: int, d: Point, within: float, out: Table[SpatialContact],
    count: int,
) -> int:  # fmt: skip
    """Append the contacts of i and j, a polyhedron and a capsule or sphere; d leads from j to i.

    Verified by: tests/unit/bodies/space/test_capsules.py::test_gaps_from_polyhedra_are_distances
    """
    capsule, hull = (i, j) if surfaces[i].kind == CAPSULE else (j, i)
    centre = d if capsule == i else moved(_ZERO, -1.0, d)
    one, solid = surfaces[capsule], surfaces[hull]
    far, begin = one.radius + within, one.vertex
    for k in range(begin, one.vertex_end):
        x = moved(centre, 1.0, point(vertices, k))
        distance, n, foot = nearest_of_polyhedron(solid, vertices, faces, loops, x, far)
        count = _on_polyhedron(
            out, count, i, j, k - begin, distance, n, x, foot, capsule, centre, one.radius, within
        )
    if one.vertex_end - begin < 2:
        return count
    a = moved(centre, 1.0, point(vertices, begin))
    u = minus(point(vertices, begin + 1), point(vertices, begin))
    face = face_separation(solid, one, vertices, faces, loops, centre)[1]
    same, n_edge = _SAME * solid.reach, solid.edge_end - solid.edge
    for e in range(n_edge + solid.vertex_end - solid.vertex):
        edge = solid.edge + min(e, n_edge - 1)
        if e < n_edge:
            b = point(vertices, edges[edge].a)
            v = minus(point(vertices, edges[edge].b), b)
            p, q = _crossing(a, u, b, v)
            y = moved(b, q, v)
        else:
            y = point(vertices, solid.vertex + e - n_edge)
            p, q = part_before_nearest(y, a, u), 0.0
        if 0.0 < p < 1.0 and 0.0 <= q <= 1.0:
            x = moved(a, p, u)
            if norm(minus(x, y)) <= far:
                # the sphere about x touches here if no other point is nearer
                distance, n, foot = nearest_of_polyhedron(solid, vertices, faces, loops, x, far)
                if norm(minus(foot, y)) <= same:
                    count = _on_polyhedron(
                        out, count, i, j, 2 + e, distance, n, x, y, capsule, centre, one.radius,
                        within,
                    )  # fmt: skip
                    continue
        if e < n_edge and face in (edges[edge].left, edges[edge].right):
            n = entries(faces[face].normal)
            p = _above(a, u, cross(n, v), b)
            x = moved(a, p, u)
            distance = dot(n, minus(x, b))
            if 0.0 < p < 1.0 and 0.0 <= dot(minus(x, b), v) <= dot(v, v) and distance > 0.0:
                foot = moved(x, -distance, n)
                count = _on_polyhedron(
                    out, count, i, j, 2 + e, distance, n, x, foot, capsule, centre, one.radius,
                    within,
                )  # fmt: skip
    # the middle of the part of the core that is inside the polyhedron
    p, q = _inside(solid, vertices, faces, loops, a, u)
    if p < q:
        x = moved(a, 0.5 * (p + q), u)
        distance, n, foot = nearest_of_polyhedron(solid, vertices, faces, loops, x, far)
        feature = 2 + n_edge + solid.vertex_end - solid.vertex
        count = _on_polyhedron(
            out, count, i, j, feature, distance, n, x, foot, capsule, centre, one.radius, within
        )
    return count


@kernel
def _inside(
    solid: SpatialSurface, vertices: Matrix, faces: Table[Face], loops: Integers, a: Point, u: Point
) -> tuple[float, float]:  # fmt: skip
    """Return the fractions s of a segment a + s u at which it enters and leaves a polyhedron."""
    enters, leaves = 0.0, 1.0
    for f in range(solid.face, solid.face_end):
        n, b = entries(faces[f].normal), point(vertices, loops[faces[f].start])
        p = _above(a, u, n, b)
        if math.isnan(p):
            # a core parallel to the face that is above it
            if dot(n, minus(a, b)) > 0.0:
                return 0.0, 0.0
        elif dot(n, u) < 0.0:
            enters = max(enters, p)
        else:
            leaves = min(leaves, p)
    return enters, leaves


@kernel
def _above(a: Point, u: Point, m: Point, b: Point) -> float:
    """Return s where a + s u is in the plane through b normal to m; NaN if parallel."""
    rise = dot(m, u)
    if abs(rise) <= _PARALLEL * norm(m) * norm(u):
        return math.nan
    return dot(m, minus(b, a)) / rise


@kernel
def _on_polyhedron(
    out: Table[SpatialContact], count: int, i: int, j: int, feature: int, distance: float, n: Point,
    x: Point, foot: Point, capsule: int, centre: Point, r: float, within: float,
) -> int:  # fmt: skip
    """Append the contact of a polyhedron and a sphere about x of a core, if it is near enough.

    Parameters
    ----------
    n : leads from `foot`, the nearest point of the polyhedron, to x
    x, foot, centre : from the centre of the polyhedron; that of the capsule
    """
    if distance - r > within:
        return count
    on_capsule = moved(minus(x, centre), -r, n)
    if capsule == i:
        return append(out, count, i, j, feature, distance - r, n, on_capsule, foot)
    back = moved(_ZERO, -1.0, n)
    return append(out, count, i, j, feature, distance - r, back, foot, on_capsule)


@kernel
def nearest_of_polyhedron(
    surface: SpatialSurface, vertices: Matrix, faces: Table[Face], loops: Integers, x: Point,
    within: float,
) -> tuple[float, Point, Point]:  # fmt: skip
    """Return the distance of a point x from a polyhedron, the normal there, and the nearest point.

    The distance [m] is negative inside. If it is more than `within`, it may be too small. Inside,
    the nearest face decides. Outside, the nearest point is the foot of x on a face that contains
    this foot, or else the nearest point on the edges of the faces that x is in front of.

    Verified by: tests/unit/bodies/space/test_contacts.py::test_gaps_are_distances
    """
    best, face = -math.inf, surface.face
    for f in range(surface.face, surface.face_end):
        apart = dot(entries(faces[f].normal), minus(x, point(vertices, loops[faces[f].start])))
        if apart > best:
            best, face = apart, f
    n = entries(faces[face].normal)
    foot = moved(x, -best, n)
    if best <= 0.0 or best > within:
        return best, n, foot
    nearest, least = foot, math.inf
    for f in range(surface.face, surface.face_end):
        # faces with x in front of them: the foot of x, or the nearest points of their edges
        normal, start, stop = entries(faces[f].normal), faces[f].start, faces[f].stop
        apart = dot(normal, minus(x, point(vertices, loops[start])))
        if apart <= 0.0:
            continue
        foot, inside = moved(x, -apart, normal), True
        for k in range(start, stop):
            a = point(vertices, loops[k])
            along = minus(point(vertices, loops[k + 1 if k + 1 < stop else start]), a)
            if dot(cross(normal, along), minus(foot, a)) >= 0.0:
                continue
            inside = False
            on_edge = moved(a, part_before_nearest(x, a, along), along)
            distance = norm(minus(x, on_edge))
            if distance < least:
                nearest, least = on_edge, distance
                n = moved((0.0, 0.0, 0.0), 1.0 / distance, minus(x, on_edge))
        if inside:
            # the point of a convex polyhedron below x in a face is its nearest one
            return apart, normal, foot
    return least, n, nearest


@kernel
def face_separation(
    one: SpatialSurface, other: SpatialSurface, vertices: Matrix, faces: Table[Face],
    loops: Integers, d: Point,
) -> tuple[float, int]:  # fmt: skip
    """Return the largest distance of the other's vertices from a face of one [m], and the face.

    Parameters
    ----------
    d : from the centre of one to that of the other
    """
    best, face = -math.inf, one.face
    for f in range(one.face, one.face_end):
        n = entries(faces[f].normal)
        least = math.inf
        for k in range(other.vertex, other.vertex_end):
            least = min(least, dot(n, point(vertices, k)))
        apart = least + dot(n, minus(d, point(vertices, loops[faces[f].start])))
        if apart > best:
            best, face = apart, f
    return best, face
