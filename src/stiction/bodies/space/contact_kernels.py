"""Contact detection in space: pairs of near bodies; contacts of spheres, polyhedra, half spaces.

A contact joins a body `first` and a body or support `second`. Its normal n points from `second` to
`first`; the gap is the distance of the nearest points of both surfaces along n, negative where they
overlap. `near_pairs` is the broad phase: it sorts bounding spheres along one axis and compares
those whose intervals overlap (sweep and prune). `polyhedron_kernels.find_contacts` calls the
functions for pairs with a half space, and has the contacts of two polyhedra; `capsule_kernels` has
those of spheres and capsules. `contacts.SpatialSurfaces` calls `find_contacts`. `know_by_place`
identifies contacts with those of the step before.

A polyhedron has rows in four arrays of all surfaces: vertices (3 coordinates), faces (`Face`),
loops (the vertices of each face in turn) and edges (`Edge`). Tuples of three numbers are vectors in
the axes of space [m]. Contacts are appended to the table `out`, which has `count` so far; i and j
are numbers of surfaces, `within` is the largest gap of a contact [m].

Source: Baraff 1992, "Dynamic simulation of non-penetrating rigid bodies" (sorted boxes).
"""

from __future__ import annotations

from typing import Annotated

from stiction.bodies.space.vector_kernels import (
    Point,
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
    "CAPSULE",
    "HALF_SPACE",
    "POLYHEDRON",
    "VERTICES_MOST",
    "Edge",
    "Face",
    "SpatialContact",
    "SpatialSurface",
    "append",
    "contact_with_half_space",
    "know_by_place",
    "near_pairs",
    "part_before_nearest",
]

# a capsule has the points whose distance from its core, a segment, is at most its radius; a sphere
# is a capsule whose core is a point
CAPSULE, POLYHEDRON, HALF_SPACE = 0, 1, 2

# largest number of vertices of a polyhedron, which bounds its faces too. Chosen: features of
# contacts, which combine five such numbers, fit an integer
VERTICES_MOST = 512


class SpatialSurface(Struct):
    """The surface of a body or a support.

    Attributes
    ----------
    kind : CAPSULE, also of spheres, POLYHEDRON or HALF_SPACE
    vertex, vertex_end, face, face_end, edge, edge_end : ranges of its rows in the tables of
        vertices, faces and edges; the vertices of a capsule are the ends of its core, a half space
        has one face
    radius : of a sphere or capsule [m], else 0
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

    d is the vector from the origin of j to the centre of i [m]. The gap is n . (d + x) - r for a
    vertex x, or an end x of a core, and the radius r.
    """
    n, r = entries(faces[surfaces[j].face].normal), surfaces[i].radius
    # every vertex nearer to the plane than the radius and `within` is a contact
    for k in range(surfaces[i].vertex, surfaces[i].vertex_end):
        x = point(vertices, k)
        height = dot(n, d) + dot(n, x)
        if height - r <= within:
            foot = moved(moved(d, 1.0, x), -height, n)
            feature = k - surfaces[i].vertex
            count = append(out, count, i, j, feature, height - r, n, moved(x, -r, n), foot)
    return count


@kernel
def part_before_nearest(x: Point, a: Point, along: Point) -> float:
    """Return the fraction s of a segment a + s `along` at its point nearest to x; 0 of a point."""
    squared = dot(along, along)
    return min(1.0, max(0.0, dot(minus(x, a), along) / squared)) if squared > 0.0 else 0.0


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
    along = minus(b, a)
    part = part_before_nearest(x, a, along)
    return norm(moved(minus(x, a), -part, along)), part
