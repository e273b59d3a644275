"""Contact detection in space: pairs of near bodies; contacts of spheres, polyhedra, half spaces.

A contact joins a body `first` and a body or support `second`. Its normal n points from `second` to
`first`; the gap is the distance of the nearest points of both surfaces along n, negative where they
overlap. `near_pairs` is the broad phase: it sorts bounding spheres along one axis and compares
those whose intervals overlap (sweep and prune). `polyhedron_kernels.find_contacts` calls the
functions for pairs with a sphere or half space, and has the contacts of two polyhedra;
`contacts.SpatialSurfaces` calls it. `know_by_place` identifies contacts with those of the step
before.

A polyhedron has rows in four arrays of all surfaces: vertices (3 coordinates), faces (`Face`),
loops (the vertices of each face in turn) and edges (`Edge`). Tuples of three numbers are vectors.

Source: Baraff 1992, "Dynamic simulation of non-penetrating rigid bodies" (sorted boxes).
"""

from __future__ import annotations

import math
from typing import Annotated

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
from stiction.numerics.arrays import Integers, Matrix, Stack, Struct, Table, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "HALF_SPACE",
    "POLYHEDRON",
    "SPHERE",
    "VERTICES_MOST",
    "Edge",
    "Face",
    "SpatialContact",
    "SpatialSurface",
    "append",
    "contact_with_half_space",
    "contact_with_sphere",
    "know_by_place",
    "near_pairs",
    "nearest_of_polyhedron",
]

SPHERE, POLYHEDRON, HALF_SPACE = 0, 1, 2

# largest number of vertices of a polyhedron, which bounds its faces too. Chosen: features of
# contacts, which combine five such numbers, fit an integer
VERTICES_MOST = 512


class SpatialSurface(Struct):
    """The surface of a body or a support.

    Attributes
    ----------
    kind : SPHERE, POLYHEDRON or HALF_SPACE
    vertex, vertex_end, face, face_end, edge, edge_end : ranges of its rows in the tables of
        vertices, faces and edges; a half space has one face
    radius : of a sphere [m], else 0
    reach : largest distance of a point from the centre [m]; inf of a half space
    """

    kind: int
    vertex: int
    vertex_end: int
    face: int
    face_end: int
    edge: int
    edge_end: int
    radius: float
    reach: float


class Face(Struct):
    """A face of a polyhedron.

    Attributes
    ----------
    start, stop : rows of its vertices in the list of loops, counterclockwise from outside
    normal : outward, in the axes of space
    """

    start: int
    stop: int
    normal: Annotated[Vector, 3]


class Edge(Struct):
    """An edge of a polyhedron: rows of its vertices a and b, and of the faces on both sides."""

    a: int
    b: int
    left: int
    right: int


class SpatialContact(Struct):
    """A contact of two surfaces.

    Attributes
    ----------
    first, second : numbers of the bodies; supports follow bodies
    feature : which vertices, edges or faces touch; the next step finds the same contact by it
    gap : > 0 open [m]
    normal : unit vector from second to first
    arm_first, arm_second : from the centres to the point of contact [m]: between two bodies halfway
        in the gap, on a support to the nearest points of both surfaces
    rows : (2, 3, 6) of J: body (first, second), direction (normal, two tangents), velocity (three
        of the centre, three spins about the principal axes)
    """

    first: int
    second: int
    feature: int
    gap: float
    normal: Annotated[Vector, 3]
    arm_first: Annotated[Vector, 3]
    arm_second: Annotated[Vector, 3]
    rows: Annotated[Stack, 2, 3, 6]


@kernel
def near_pairs(
    pose: Matrix, reach: Vector, order: Integers, axis: int, n_body: int, within: float,
    first: Integers, second: Integers,
) -> int:  # fmt: skip
    """Write pairs whose bounding spheres are at most `within` apart; return their number.

    Parameters
    ----------
    pose : (m, 7) centres and quaternions of bodies, then of supports; centres alone are used
    reach : (m,) radii of the bounding spheres [m]
    order : finite surfaces, in the order of the least coordinates of their spheres along `axis`
    n_body : number of bodies; pairs of two supports are left out
    within : largest distance [m]
    first, second : where the pairs are written, the smaller number first; if they are too short,
        the returned number is larger than their length

    Verified by: tests/unit/bodies/space/test_contacts.py::test_near_pairs_are_all_found
    """
    count = 0
    for s in range(order.shape[0]):
        i = order[s]
        end = pose[i, axis] + reach[i] + within
        for t in range(s + 1, order.shape[0]):
            j = order[t]
            # surfaces that begin behind the end of this one do not meet it
            if pose[j, axis] - reach[j] > end:
                break
            if i >= n_body and j >= n_body:
                continue
            d, far = minus(point(pose, i), point(pose, j)), reach[i] + reach[j] + within
            if dot(d, d) > far * far:
                continue
            if count < first.shape[0]:
                first[count], second[count] = min(i, j), max(i, j)
            count += 1
    return count


@kernel
def append(
    out: Table[SpatialContact], count: int, i: int, j: int, feature: int, gap: float,
    n: Point, on_first: Point, on_second: Point,
) -> int:  # fmt: skip
    """Write a contact where there is room; return the number of contacts with it.

    n : normal; on_first, on_second : arms from both centres [m]
    """
    if count < out.shape[0]:
        c = out[count]
        c.first, c.second, c.feature, c.gap = i, j, feature, gap
        for k in range(3):
            c.normal[k] = n[k]
            c.arm_first[k], c.arm_second[k] = on_first[k], on_second[k]
    return count + 1


@kernel
def contact_with_half_space(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], i: int, j: int, d: Point,
    within: float, out: Table[SpatialContact], count: int,
) -> int:  # fmt: skip
    """Append the contacts of a body i above a half space j; return the number so far.

    d is the vector from the origin of j to the centre of i [m]. The gap is n . x for a vertex x and
    n . d - r for a sphere.
    """
    n = entries(faces[surfaces[j].face].normal)
    height = dot(n, d)
    if surfaces[i].kind == SPHERE:
        r = surfaces[i].radius
        if height - r <= within:
            below, foot = moved((0.0, 0.0, 0.0), -r, n), moved(d, -height, n)
            count = append(out, count, i, j, 0, height - r, n, below, foot)
        return count
    # every vertex of a polyhedron nearer to the plane than `within` is a contact
    for k in range(surfaces[i].vertex, surfaces[i].vertex_end):
        x = point(vertices, k)
        gap = height + dot(n, x)
        if gap <= within:
            foot = moved(moved(d, 1.0, x), -gap, n)
            count = append(out, count, i, j, k - surfaces[i].vertex, gap, n, x, foot)
    return count


@kernel
def contact_with_sphere(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], loops: Integers,
    i: int, j: int, d: Point, within: float, out: Table[SpatialContact], count: int,
) -> int:  # fmt: skip
    """Append the contact of i and j, of which one is a sphere; return the number so far.

    d is the vector from the centre of j to that of i [m].
    """
    sphere = surfaces[i].kind == SPHERE
    r = surfaces[i].radius if sphere else surfaces[j].radius
    zero = (0.0, 0.0, 0.0)
    if sphere and surfaces[j].kind == SPHERE:
        s, distance = surfaces[j].radius, norm(d)
        if distance - r - s > within:
            return count
        # concentric spheres have no normal: take the upward one
        n = moved(zero, 1.0 / distance, d) if distance > 0.0 else (0.0, 0.0, 1.0)
        return append(
            out, count, i, j, 0, distance - r - s, n, moved(zero, -r, n), moved(zero, s, n)
        )
    hull, centre = (j, d) if sphere else (i, moved(zero, -1.0, d))
    distance, n, on_hull = nearest_of_polyhedron(
        surfaces[hull], vertices, faces, loops, centre, r + within
    )  # fmt: skip
    if distance - r > within:
        return count
    # the normal leads from the polyhedron to the sphere
    on_sphere = moved(zero, -r, n)
    if sphere:
        return append(out, count, i, j, 0, distance - r, n, on_sphere, on_hull)
    return append(out, count, i, j, 0, distance - r, moved(zero, -1.0, n), on_hull, on_sphere)


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
            part = min(1.0, max(0.0, dot(minus(x, a), along) / dot(along, along)))
            on_edge = moved(a, part, along)
            distance = norm(minus(x, on_edge))
            if distance < least:
                nearest, least = on_edge, distance
                n = moved((0.0, 0.0, 0.0), 1.0 / distance, minus(x, on_edge))
        if inside:
            # the point of a convex polyhedron below x in a face is its nearest one
            return apart, normal, foot
    return least, n, nearest


@kernel
def know_by_place(
    last: Table[SpatialContact], contacts: Table[SpatialContact], within: float, old: Integers
) -> None:
    """Identify contacts without a known feature with those of the step before, by their places.

    Features change where polyhedra turn onto other faces, and where edges that lie on each other
    turn by more than rounding. Corners of a patch of contact that moves little stay near its sides:
    a contact is the same as the nearer end of a side that is at most `within` away.

    Parameters
    ----------
    last, contacts : a step before and now, in the order of their pairs, round each patch
    within : largest distance from a side, on the body where it is less [m]
    old : (n,) numbers in `last`, -1 of new contacts; that of the nearer end of a side

    Verified by: tests/unit/bodies/space/test_contacts.py::test_contacts_are_known_by_place
    """
    begin = 0
    for k in range(contacts.shape[0]):
        c = contacts[k]
        # the contacts of the same pair in the step before are last[begin:end]
        while begin < last.shape[0] and (
            last[begin].first < c.first
            or (last[begin].first == c.first and last[begin].second < c.second)
        ):
            begin += 1
        if old[k] >= 0:
            continue
        least, end = within, begin
        while end < last.shape[0] and last[end].first == c.first and last[end].second == c.second:
            end += 1
        for j in range(begin, end):
            a, b = last[j], last[j + 1 if j + 1 < end else begin]
            x, part = _from_side(entries(c.arm_first), entries(a.arm_first), entries(b.arm_first))
            y, other = _from_side(
                entries(c.arm_second), entries(a.arm_second), entries(b.arm_second)
            )
            if y < x:
                x, part = y, other
            if x <= least:
                least, old[k] = x, j if part <= 0.5 else (j + 1 if j + 1 < end else begin)


@kernel
def _from_side(x: Point, a: Point, b: Point) -> tuple[float, float]:
    """Return the distance of x from the segment a b, and the fraction at its nearest point."""
    along, from_a = minus(b, a), minus(x, a)
    squared = dot(along, along)
    part = min(1.0, max(0.0, dot(from_a, along) / squared)) if squared > 0.0 else 0.0
    return norm(moved(from_a, -part, along)), part
