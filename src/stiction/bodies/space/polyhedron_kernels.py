"""Contacts of two convex polyhedra: separating axes, clipped faces, crossing edges.

The separation along a unit vector n is the least n . (x_i - x_j) over the vertices of both bodies;
the largest separation over the normals of all faces and of all pairs of edges is positive if the
polyhedra are apart (separating axis theorem). The face of one polyhedron from which the other has
the largest distance is the reference. A face of the other polyhedron at its vertex nearest to the
reference is clipped to it, and the corners near enough are contacts. If an axis normal to an edge
of both separates them more, the contact is that of the two edges. An edge pair counts if the arcs
of its normals cross on the sphere of directions. Of polyhedra that overlap the least gap is the
separation.

`SpatialSurfaces.contacts` calls `find_contacts`. Tuples of three numbers are vectors in the axes of
space [m]; vertices are relative to the centre of their body, so that the vector d between the two
centres enters all distances. `contact_kernels` defines the tables.

Source: Gottschalk, Lin, Manocha 1996 (separating axes); Sutherland, Hodgman 1974 (clipping);
Gregorius 2013, "The separating axis test between convex polyhedra" (arcs of normals).
"""

from __future__ import annotations

import math

import numpy as np

from stiction.bodies.space.capsule_kernels import (
    contact_of_capsules,
    contact_with_polyhedron,
    face_separation,
)
from stiction.bodies.space.contact_kernels import (
    CAPSULE,
    HALF_SPACE,
    POLYHEDRON,
    Edge,
    Face,
    SpatialContact,
    SpatialSurface,
    append,
    contact_with_half_space,
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
    unit,
)
from stiction.numerics.arrays import Integers, Matrix, Table
from stiction.numerics.jit import kernel

__all__ = ["find_contacts"]

# separations that differ by less than this fraction of the size of the smaller polyhedron are
# equal; a corner beyond an edge by less than this counts as inside
_EQUAL = 1e-9
# sine of the angle below which edges are parallel, and have no common normal
_PARALLEL = 1e-6
# upper bounds of numbers in features: of faces of a polyhedron and of the sides of a clipped face,
# and of edges of a polyhedron
_LABELS = 1024
_EDGES = 2048


@kernel(allocates=True)
def find_contacts(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], loops: Integers,
    edges: Table[Edge], pose: Matrix, first: Integers, second: Integers, within: float,
    out: Table[SpatialContact],
) -> int:  # fmt: skip
    """Write the contacts whose gap is at most `within`; return their number.

    Parameters
    ----------
    vertices, faces : turned to the axes of space; vertices about the centres [m]
    loops, edges : as of `SpatialSurfaces`
    pose : (m, 7) centres and quaternions of bodies, then of supports
    first, second : pairs that may touch
    out : filled in their order; where it is too short the number is larger than its length

    Verified by: tests/unit/bodies/space/test_contacts.py::test_gaps_are_distances
    """
    count = 0
    for k in range(first.shape[0]):
        i, j = first[k], second[k]
        d = minus(point(pose, i), point(pose, j))
        if surfaces[j].kind == HALF_SPACE:
            count = contact_with_half_space(surfaces, vertices, faces, i, j, d, within, out, count)
        elif surfaces[i].kind == CAPSULE and surfaces[j].kind == CAPSULE:
            count = contact_of_capsules(surfaces, vertices, i, j, d, within, out, count)
        elif surfaces[i].kind != POLYHEDRON or surfaces[j].kind != POLYHEDRON:
            count = contact_with_polyhedron(
                surfaces, vertices, faces, loops, edges, i, j, d, within, out, count
            )
        else:
            count = _of_polyhedra(
                surfaces, vertices, faces, loops, edges, i, j, d, within, out, count
            )
    return count


@kernel(allocates=True)
def _of_polyhedra(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], loops: Integers,
    edges: Table[Edge], i: int, j: int, d: Point, within: float, out: Table[SpatialContact],
    count: int,
) -> int:  # fmt: skip
    """Append the contacts of polyhedra i and j; return the number so far.

    d is the vector from the centre of j to that of i [m].
    """
    # largest separations by faces of i and of j, and the faces
    back = minus((0.0, 0.0, 0.0), d)
    of_i, face_i = face_separation(surfaces[i], surfaces[j], vertices, faces, loops, back)
    if of_i > within:
        return count
    of_j, face_j = face_separation(surfaces[j], surfaces[i], vertices, faces, loops, d)
    if of_j > within:
        return count
    equal = _EQUAL * min(surfaces[i].reach, surfaces[j].reach)
    # and by pairs of edges: if it is larger, both edges cross and have one contact
    of_edges, e, f, n = _edge_separation(surfaces[j], surfaces[i], vertices, faces, edges, d)
    if of_edges > max(of_i, of_j) + equal:
        if of_edges > within:
            return count
        a, b = _between_edges(vertices, edges, e, f, d)
        feature = -1 - (e - surfaces[j].edge) * _EDGES - (f - surfaces[i].edge)
        return append(out, count, i, j, feature, of_edges, n, minus(b, d), a)
    # faces that lie on each other are equal but for rounding: prefer that of the second body
    if of_j >= of_i - equal:
        return _clipped(
            surfaces, vertices, faces, loops, edges, j, i, face_j, d, within, out, count, True
        )
    return _clipped(
        surfaces, vertices, faces, loops, edges, i, j, face_i, back, within, out, count, False
    )


@kernel
def _edge_separation(
    one: SpatialSurface, other: SpatialSurface, vertices: Matrix, faces: Table[Face],
    edges: Table[Edge], d: Point,
) -> tuple[float, int, int, Point]:  # fmt: skip
    """Return the largest distance along a normal of two edges [m], the edges, and the normal.

    The normal points from one polyhedron to the other; d is the vector between their centres. Two
    edges are on the surface of the Minkowski difference of the polyhedra only if the arcs between
    the normals of their faces cross on the unit sphere (Gregorius 2013).
    """
    best, e_best, f_best, n_best = -math.inf, one.edge, other.edge, (0.0, 0.0, 1.0)
    for e in range(one.edge, one.edge_end):
        a, b = entries(faces[edges[e].left].normal), entries(faces[edges[e].right].normal)
        start = point(vertices, edges[e].a)
        along = minus(point(vertices, edges[e].b), start)
        turned = cross(b, a)
        for f in range(other.edge, other.edge_end):
            # do the arcs from a to b and from -c to -d cross?
            c, g = entries(faces[edges[f].left].normal), entries(faces[edges[f].right].normal)
            across = cross(g, c)
            ca, da = -dot(c, turned), -dot(g, turned)
            ac, bc = dot(a, across), dot(b, across)
            if ca * da >= 0.0 or ac * bc >= 0.0 or ca * bc <= 0.0:
                continue
            begin = point(vertices, edges[f].a)
            way = minus(point(vertices, edges[f].b), begin)
            n = cross(along, way)
            length = norm(n)
            if length <= _PARALLEL * norm(along) * norm(way):
                continue
            # outward of the first polyhedron, whose centre is inside
            sign = 1.0 if dot(n, start) >= 0.0 else -1.0
            n = moved((0.0, 0.0, 0.0), sign / length, n)
            apart = dot(n, minus(moved(d, 1.0, begin), start))
            if apart > best:
                best, e_best, f_best, n_best = apart, e, f, n
    return best, e_best, f_best, n_best


@kernel
def _between_edges(
    vertices: Matrix, edges: Table[Edge], e: int, f: int, d: Point
) -> tuple[Point, Point]:
    """Return the nearest points of two crossing edges, of which the second is moved by d.

    They are p + s u and q + t v with (p + s u - q - t v) normal to u and v.
    """
    p, q = point(vertices, edges[e].a), moved(d, 1.0, point(vertices, edges[f].a))
    u = minus(point(vertices, edges[e].b), p)
    v = minus(moved(d, 1.0, point(vertices, edges[f].b)), q)
    w = minus(q, p)
    n = cross(u, v)
    squared = dot(n, n)
    s = min(1.0, max(0.0, dot(cross(w, v), n) / squared))
    t = min(1.0, max(0.0, dot(cross(w, u), n) / squared))
    return moved(p, s, u), moved(q, t, v)


@kernel
def _nearest_face(
    surface: SpatialSurface, vertices: Matrix, faces: Table[Face], edges: Table[Edge], n: Point
) -> int:
    """Return a face with the vertex farthest against n, and with the flattest edge there.

    Of the two faces at this edge it is the one whose normal is more against n. The face whose
    normal is most against n of all need not have this vertex.
    """
    lowest, least = surface.vertex, math.inf
    for k in range(surface.vertex, surface.vertex_end):
        height = dot(n, point(vertices, k))
        if height < least:
            lowest, least = k, height
    flattest, slope = surface.edge, math.inf
    for e in range(surface.edge, surface.edge_end):
        if lowest not in (edges[e].a, edges[e].b):
            continue
        along = minus(point(vertices, edges[e].b), point(vertices, edges[e].a))
        rise = abs(dot(n, along)) / norm(along)
        if rise < slope:
            flattest, slope = e, rise
    left, right = edges[flattest].left, edges[flattest].right
    against = dot(n, entries(faces[left].normal)) <= dot(n, entries(faces[right].normal))
    return left if against else right


@kernel(allocates=True)
def _clipped(
    surfaces: Table[SpatialSurface], vertices: Matrix, faces: Table[Face], loops: Integers,
    edges: Table[Edge], reference: int, other: int, face: int, d: Point, within: float,
    out: Table[SpatialContact], count: int, on_second: bool,
) -> int:  # fmt: skip
    """Append the corners of the other's face that is nearest to the reference, clipped to it.

    Parameters
    ----------
    reference, other, face : numbers of the polyhedra, and of the reference face
    d : from the centre of the reference to that of the other polyhedron
    on_second : whether the reference is the second body of the contact
    """
    n, start, stop = entries(faces[face].normal), faces[face].start, faces[face].stop
    facing = _nearest_face(surfaces[other], vertices, faces, edges, n)
    size = faces[facing].stop - faces[facing].start
    # corners of the polygon and labels of the edges that begin at them; a cut adds one corner, but
    # for rounding
    most = 2 * (size + stop - start)
    now, then = np.empty((most, 3)), np.empty((most, 3))
    label, relabel = np.empty(most, np.int64), np.empty(most, np.int64)
    for k in range(size):
        x = moved(d, 1.0, point(vertices, loops[faces[facing].start + k]))
        now[k, 0], now[k, 1], now[k, 2] = x
        label[k] = k
    slack = _EQUAL * min(surfaces[reference].reach, surfaces[other].reach)
    # cut the polygon at the plane through each edge of the reference face, normal to that face
    for k in range(start, stop):
        a = point(vertices, loops[k])
        along = minus(point(vertices, loops[k + 1 if k + 1 < stop else start]), a)
        inward = unit(cross(n, along))
        size = _cut(now, label, size, a, inward, slack, _LABELS // 2 + k - start, then, relabel)
        now, then, label, relabel = then, now, relabel, label
    # the feature of a corner combines both faces and the labels of the two sides that meet there
    own = faces[face].start, face - surfaces[reference].face
    part = (own[1] + (_LABELS if on_second else 0)) * _LABELS + facing - surfaces[other].face
    base = point(vertices, loops[own[0]])
    for k in range(size):
        x = point(now, k)
        gap = dot(n, minus(x, base))
        if gap > within:
            continue
        feature = (part * _LABELS + label[k - 1 if k > 0 else size - 1]) * _LABELS + label[k]
        on_reference, on_other = moved(x, -gap, n), minus(x, d)
        if on_second:
            count = append(out, count, other, reference, feature, gap, n, on_other, on_reference)
        else:
            back = minus((0.0, 0.0, 0.0), n)
            count = append(out, count, reference, other, feature, gap, back, on_reference, on_other)
    return count


@kernel
def _cut(
    now: Matrix, label: Integers, size: int, a: Point, inward: Point, slack: float, own: int,
    out: Matrix, relabel: Integers,
) -> int:  # fmt: skip
    """Write the part of a polygon on the inner side of a plane; return its number of corners.

    Parameters
    ----------
    now, label : corners (k, 3) [m] of which `size` are used, and labels of the sides after them
    a, inward, slack : a point of the plane, its normal to the inner side, and a tolerance [m]
    own : label of the side along the plane
    out, relabel : corners and labels of the part
    """
    count = 0
    for k in range(size):
        if count + 2 > out.shape[0]:
            break
        x, y = point(now, k), point(now, k + 1 if k + 1 < size else 0)
        here, there = dot(inward, minus(x, a)), dot(inward, minus(y, a))
        if here >= -slack:
            out[count, 0], out[count, 1], out[count, 2] = x
            relabel[count] = label[k]
            count += 1
        if (here >= -slack) != (there >= -slack):
            part = min(1.0, max(0.0, here / (here - there)))
            z = moved(x, part, minus(y, x))
            out[count, 0], out[count, 1], out[count, 2] = z
            # an edge that leaves is followed by one along the plane
            relabel[count] = own if here >= -slack else label[k]
            count += 1
    return count
