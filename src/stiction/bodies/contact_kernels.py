"""Contact detection in the plane: gap, normal and points of the contacts of discs and polygons.

A contact joins a body `first` and a body or support `second`. Its normal n points from `second` to
`first`; the tangent is n turned clockwise by 90 degrees. The gap is the distance of the nearest
points of both surfaces along n, negative where they overlap:

    disc on half plane   n . (x_1 - x_2) - r
    two discs            |x_1 - x_2| - r_1 - r_2,       n = (x_1 - x_2) / |x_1 - x_2|
    disc on polygon      distance of the centre from the nearest edge or corner, minus r
    corner on half plane or on the edge of a polygon    n . (x_corner - x_edge)

Polygons are convex, with their corners counterclockwise (`shapes` checks this). Two polygons have
up to two contacts, the ends of the part of an edge that lies along the other polygon. Each pair of
surfaces whose bounding circles are near is examined. `contacts.Surfaces` calls these kernels.

Source: Gottschalk, Lin, Manocha 1996, "OBBTree: a hierarchical structure for rapid interference
detection" (separating axes); Sutherland, Hodgman 1974, "Reentrant polygon clipping".
"""

from __future__ import annotations

import math
from typing import Annotated

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "CORNERS_MOST",
    "DISC",
    "HALF_PLANE",
    "POLYGON",
    "Contact",
    "Surface",
    "find_contacts",
    "separation",
    "turned_corners",
]

DISC, POLYGON, HALF_PLANE = 0, 1, 2

# largest number of corners of a polygon; it separates the numbers of features of different kinds.
# The feature of a contact is
#   disc with disc or half plane:  0
#   polygon with half plane:       corner
#   disc with polygon:             edge, or CORNERS_MOST + corner
#   two polygons:                  2 (edge + (CORNERS_MOST if it is an edge of the second)) + side
# where corners and edges count from 0, edge k begins at corner k, and side is 0 or 1 for the end of
# the part of the edge that lies along the other polygon. The value was chosen: 4 CORNERS_MOST fits
# every integer
CORNERS_MOST = 4096


class Surface(Struct):
    """The surface of a body or a support.

    Attributes
    ----------
    kind : DISC, POLYGON or HALF_PLANE
    start, stop : range of its rows in the array `corners` (k, 2) of all surfaces; a half plane has
        one row, its unit normal
    radius : of a disc [m], else 0
    reach : largest distance of a point from the centre [m]; inf of a half plane
    """

    kind: int
    start: int
    stop: int
    radius: float
    reach: float


class Contact(Struct):
    """A contact of two surfaces.

    Attributes
    ----------
    first, second : numbers of the bodies; supports follow bodies
    feature : which corner or end of an edge it is, see `CORNERS_MOST`. The next step finds the same
        contact by it
    gap : > 0 open [m]
    normal : unit vector from second to first
    arm_first, arm_second : from the centres to the point of contact [m]: between two bodies halfway
        in the gap, on a support to the nearest points of both surfaces
    """

    first: int
    second: int
    feature: int
    gap: float
    normal: Annotated[Vector, 2]
    arm_first: Annotated[Vector, 2]
    arm_second: Annotated[Vector, 2]


@kernel
def turned_corners(surfaces: Table[Surface], corners: Matrix, pose: Matrix, out: Matrix) -> None:
    """Write the corners of all surfaces, turned by the angles but not moved [m].

    Parameters
    ----------
    corners : (k, 2) corners of all surfaces, each about its centre, in the frame of its body [m]
    pose : (m, 3) centres and angles of bodies, then of supports
    out : (k, 2) corners about the centres, in the axes of the plane [m]
    """
    for i in range(surfaces.shape[0]):
        c, s = math.cos(pose[i, 2]), math.sin(pose[i, 2])
        for k in range(surfaces[i].start, surfaces[i].stop):
            x, y = corners[k, 0], corners[k, 1]
            out[k, 0] = c * x - s * y
            out[k, 1] = s * x + c * y


@kernel
def find_contacts(
    surfaces: Table[Surface], corners: Matrix, pose: Matrix, n_body: int, within: float,
    out: Table[Contact],
) -> int:  # fmt: skip
    """Write the contacts whose gap is at most `within`; return their number.

    Two polygons that face each other corner to corner, without an edge along the other one, have no
    contact here, however near they are; they get one when an edge overlaps.

    Parameters
    ----------
    corners : (k, 2) as `turned_corners` writes them [m]
    n_body : number of bodies; supports follow, and two supports have no contact
    within : largest gap [m]
    pose : (m, 3) centres and angles of bodies, then of supports
    out : filled in the order of pairs; where it is too short the number is larger than its length

    Verified by: tests/unit/bodies/test_contacts.py::test_the_gap_of_near_shapes_is_their_distance
    """
    count, m = 0, surfaces.shape[0]
    for i in range(n_body):
        for j in range(i + 1, m):
            dx, dy = pose[i, 0] - pose[j, 0], pose[i, 1] - pose[j, 1]
            far = surfaces[i].reach + surfaces[j].reach + within
            # the reach of a half plane is infinite
            if dx * dx + dy * dy > far * far:
                continue
            begin = count
            count = _of_pair(surfaces, corners, i, j, dx, dy, within, out, count)
            if j < n_body:
                # one point for two bodies, halfway between the surfaces: moments balance
                for k in range(begin, min(count, out.shape[0])):
                    for e in range(2):
                        half = 0.5 * out[k].gap * out[k].normal[e]
                        out[k].arm_first[e] -= half
                        out[k].arm_second[e] += half
    return count


@kernel
def _of_pair(
    surfaces: Table[Surface], corners: Matrix, i: int, j: int, dx: float, dy: float,
    within: float, out: Table[Contact], count: int,
) -> int:  # fmt: skip
    """Append the contacts of surfaces i and j; return the number of contacts so far.

    (dx, dy) is the vector from the centre of j to that of i [m]; `count` is the number before.
    """
    a, b = surfaces[i].kind, surfaces[j].kind
    if b == HALF_PLANE:
        # its only row of corners is the unit normal; height of the centre above its line
        nx, ny = corners[surfaces[j].start, 0], corners[surfaces[j].start, 1]
        height = nx * dx + ny * dy
        if a == DISC:
            r = surfaces[i].radius
            gap = height - r
            if gap <= within:
                count = _append(
                    out, count, i, j, 0, gap, nx, ny,
                    -r * nx, -r * ny, dx - height * nx, dy - height * ny,
                )  # fmt: skip
            return count
        # every corner of a polygon nearer to the line than `within` is a contact, or below it
        for k in range(surfaces[i].start, surfaces[i].stop):
            x, y = corners[k, 0], corners[k, 1]
            gap = height + nx * x + ny * y
            if gap <= within:
                count = _append(
                    out, count, i, j, k - surfaces[i].start, gap, nx, ny,
                    x, y, dx + x - gap * nx, dy + y - gap * ny,
                )  # fmt: skip
        return count
    if a == DISC and b == DISC:
        r, s = surfaces[i].radius, surfaces[j].radius
        distance = math.sqrt(dx * dx + dy * dy)
        gap = distance - r - s
        if gap <= within:
            # concentric discs have no normal: take the upward one
            nx, ny = (dx / distance, dy / distance) if distance > 0.0 else (0.0, 1.0)
            count = _append(out, count, i, j, 0, gap, nx, ny, -r * nx, -r * ny, s * nx, s * ny)
        return count
    if a == POLYGON and b == POLYGON:
        return _of_polygons(surfaces, corners, i, j, dx, dy, within, out, count)
    if a == DISC:
        return _of_disc(surfaces, corners, i, j, dx, dy, within, out, count, False)
    return _of_disc(surfaces, corners, j, i, -dx, -dy, within, out, count, True)


@kernel
def _append(
    out: Table[Contact], count: int, i: int, j: int, feature: int, gap: float,
    nx: float, ny: float, ax: float, ay: float, bx: float, by: float,
) -> int:  # fmt: skip
    """Write a contact where there is room; return the number of contacts with it.

    (nx, ny) is the normal, (ax, ay) the arm of i, (bx, by) that of j; see `Contact`.
    """
    if count < out.shape[0]:
        c = out[count]
        c.first, c.second, c.feature, c.gap = i, j, feature, gap
        c.normal[0], c.normal[1] = nx, ny
        c.arm_first[0], c.arm_first[1] = ax, ay
        c.arm_second[0], c.arm_second[1] = bx, by
    return count + 1


@kernel
def _of_disc(
    surfaces: Table[Surface], corners: Matrix, disc: int, polygon: int, dx: float, dy: float,
    within: float, out: Table[Contact], count: int, swapped: bool,
) -> int:  # fmt: skip
    """Append the contact of a disc and a polygon; return the number of contacts so far.

    (dx, dy) is the vector from the centre of the polygon to that of the disc [m]. `swapped` is True
    if the polygon is the first body. The nearest point of the polygon lies on the edge of largest
    distance, or at one of its ends.
    """
    start, stop, r = surfaces[polygon].start, surfaces[polygon].stop, surfaces[disc].radius
    # the edge from whose line the centre has the largest distance
    best, edge = -math.inf, start
    for k in range(start, stop):
        after = k + 1 if k + 1 < stop else start
        ex, ey = corners[after, 0] - corners[k, 0], corners[after, 1] - corners[k, 1]
        length = math.sqrt(ex * ex + ey * ey)
        # corners are counterclockwise: the outward normal is the edge turned clockwise
        apart = ((dx - corners[k, 0]) * ey - (dy - corners[k, 1]) * ex) / length
        if apart > best:
            best, edge = apart, k
    if best - r > within:
        return count
    # the position of the centre along that edge: 0 at its first corner, 1 at its second
    after = edge + 1 if edge + 1 < stop else start
    px, py = corners[edge, 0], corners[edge, 1]
    ex, ey = corners[after, 0] - px, corners[after, 1] - py
    length = math.sqrt(ex * ex + ey * ey)
    along = ((dx - px) * ex + (dy - py) * ey) / (length * length)
    feature = edge - start
    # beside the edge, or inside the polygon: the normal is that of the edge
    if 0.0 <= along <= 1.0 or best <= 0.0:
        nx, ny, gap = ey / length, -ex / length, best - r
        qx, qy = dx - best * nx, dy - best * ny
    else:
        # beyond an end of the edge: the normal points from that corner to the centre
        qx, qy = (px, py) if along < 0.0 else (corners[after, 0], corners[after, 1])
        nx, ny = dx - qx, dy - qy
        distance = math.sqrt(nx * nx + ny * ny)
        nx, ny, gap = nx / distance, ny / distance, distance - r
        # of a corner, whichever of its edges it was found by
        feature = CORNERS_MOST + (edge if along < 0.0 else after) - start
        if gap > within:
            return count
    if swapped:
        return _append(
            out, count, polygon, disc, feature, gap, -nx, -ny, qx, qy, -r * nx, -r * ny
        )  # fmt: skip
    return _append(out, count, disc, polygon, feature, gap, nx, ny, -r * nx, -r * ny, qx, qy)


@kernel
def separation(
    surfaces: Table[Surface], corners: Matrix, i: int, j: int, dx: float, dy: float
) -> tuple[float, int]:
    """Return the largest distance of polygon j from an edge of polygon i, and the edge.

    This is a separating axis if the distance [m] is positive. The edge is the row of its first
    corner. (dx, dy) is the vector from the centre of i to that of j [m].
    """
    best, edge = -math.inf, surfaces[i].start
    for k in range(surfaces[i].start, surfaces[i].stop):
        after = k + 1 if k + 1 < surfaces[i].stop else surfaces[i].start
        ex, ey = corners[after, 0] - corners[k, 0], corners[after, 1] - corners[k, 1]
        length = math.sqrt(ex * ex + ey * ey)
        # distance of the other polygon from the line of this edge: that of its nearest corner
        least = math.inf
        for c in range(surfaces[j].start, surfaces[j].stop):
            x, y = dx + corners[c, 0] - corners[k, 0], dy + corners[c, 1] - corners[k, 1]
            least = min(least, (x * ey - y * ex) / length)
        if least > best:
            best, edge = least, k
    return best, edge


@kernel
def _of_polygons(
    surfaces: Table[Surface], corners: Matrix, i: int, j: int, dx: float, dy: float,
    within: float, out: Table[Contact], count: int,
) -> int:  # fmt: skip
    """Append the contacts of two polygons; return the number of contacts so far.

    The edge of largest separation is the reference. Of the other polygon the edge that faces it
    most is clipped to the reference's length, and both ends are contacts where they are near
    enough. If nothing of it is left, there is no contact. (dx, dy) is the vector from j to i [m].
    """
    # separating axes: the normals of the edges of both polygons
    of_i, edge_i = separation(surfaces, corners, i, j, -dx, -dy)
    if of_i > within:
        return count
    of_j, edge_j = separation(surfaces, corners, j, i, dx, dy)
    if of_j > within:
        return count
    # edges that lie along each other are equal but for rounding: prefer the second body's
    on_second = of_j >= of_i - 1e-9 * min(surfaces[i].reach, surfaces[j].reach)
    reference, other, edge = (j, i, edge_j) if on_second else (i, j, edge_i)
    if not on_second:
        dx, dy = -dx, -dy
    # from here on d leads from the reference to the other polygon
    start, stop = surfaces[reference].start, surfaces[reference].stop
    after = edge + 1 if edge + 1 < stop else start
    px, py = corners[edge, 0], corners[edge, 1]
    ex, ey = corners[after, 0] - px, corners[after, 1] - py
    length = math.sqrt(ex * ex + ey * ey)
    ex, ey = ex / length, ey / length
    nx, ny = ey, -ex
    # the edge of the other polygon that is clipped
    k, following = _facing(surfaces, corners, other, nx, ny)
    # along the reference the other polygon's edge runs backwards
    first_x, first_y = dx + corners[following, 0], dy + corners[following, 1]
    last_x, last_y = dx + corners[k, 0], dy + corners[k, 1]
    # abscissae along the reference and gaps of both ends
    s0, s1 = (first_x - px) * ex + (first_y - py) * ey, (last_x - px) * ex + (last_y - py) * ey
    g0, g1 = (first_x - px) * nx + (first_y - py) * ny, (last_x - px) * nx + (last_y - py) * ny
    if s1 <= 0.0 or s0 >= length or s1 <= s0:
        return count
    # the gap is linear along the part of the edge within the reference's length
    slope = (g1 - g0) / (s1 - s0)
    for side in range(2):
        s = max(s0, 0.0) if side == 0 else min(s1, length)
        gap = g0 + slope * (s - s0)
        if gap > within:
            continue
        # points on the reference and, a gap away, on the other polygon; arms from both centres
        qx, qy = px + s * ex, py + s * ey
        ox, oy = qx + gap * nx - dx, qy + gap * ny - dy
        feature = 2 * ((edge - start) + (CORNERS_MOST if on_second else 0)) + side
        if on_second:
            count = _append(out, count, i, j, feature, gap, nx, ny, ox, oy, qx, qy)
        else:
            count = _append(out, count, i, j, feature, gap, -nx, -ny, qx, qy, ox, oy)
    return count


@kernel
def _facing(
    surfaces: Table[Surface], corners: Matrix, i: int, nx: float, ny: float
) -> tuple[int, int]:
    """Return the ends of the edge of i whose outward normal is most opposite to n."""
    best, edge, end = math.inf, surfaces[i].start, surfaces[i].start
    for k in range(surfaces[i].start, surfaces[i].stop):
        after = k + 1 if k + 1 < surfaces[i].stop else surfaces[i].start
        ex, ey = corners[after, 0] - corners[k, 0], corners[after, 1] - corners[k, 1]
        along = (ey * nx - ex * ny) / math.sqrt(ex * ex + ey * ey)
        if along < best:
            best, edge, end = along, k, after
    return edge, end
