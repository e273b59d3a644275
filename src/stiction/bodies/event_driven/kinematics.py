"""Closed contacts of rigid bodies: gap, velocity, and the parts of its derivative.

A closed contact holds a round feature (a disc, or a corner as a disc of radius 0) against a
straight edge or against another round feature, so that all derivatives have closed forms. With the
point of contact x_c, its velocity along both surfaces and u = v_1 + w_1 x r_1 - v_2 - w_2 x r_2,

    d(u . n)/dt = J_n a + n . b - W u_t,    d(u . t)/dt = J_t a + t . b + W u_n,
    b = w_1 x (dx_c/dt - v_1) - w_2 x (dx_c/dt - v_2),

where W is the rate at which the normal turns and t the normal turned clockwise; J a is the part of
the accelerations of bodies, and the rest is `Kinematics.bias`. v_i and w_i are velocities and spins
of both bodies, r_i arms to the point of contact.

`closed_contact` makes the features of a contact that `find_contacts` found; `kinematics` evaluates
them at one state or many (leading axes ...). `motion`, `modes`, `events` and `run` use them.

Source: Pfeiffer, Glocker 1996, Multibody Dynamics with Unilateral Contacts, chapter 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.bodies.contact_kernels import CORNERS_MOST, DISC, HALF_PLANE, Contact
from stiction.bodies.contacts import Surfaces
from stiction.numerics.arrays import Struct, Table

__all__ = ["Closed", "Kinematics", "as_contacts", "closed_contact", "kinematics", "limits", "rows"]

Floats = npt.NDArray[np.float64]

# a point of contact nearer to a corner than this fraction of the size of the polygon is that
# corner. Chosen, above rounding
_AT_CORNER = 1e-9


class Closed(Struct):
    """A closed contact. Vectors are in the frames of their bodies.

    Attributes
    ----------
    first, second : numbers of the bodies; supports follow bodies
    on_first : 1 if the round feature is on the first body, else 0
    x, y, radius : centre and radius of the round feature [m]
    straight : 1 if the other feature is an edge, 0 if it is round
    base_x, base_y, base_radius : begin of the edge, or centre and radius of the other feature [m]
    normal_x, normal_y, length : outward normal and length of the edge; inf of a half plane [m]
    corner : 1 or 2 if a disc touches a corner of that body, else 0
    before_x, before_y, after_x, after_y : directions of the edges before and after that corner
    hold : gap at which it is closed, rounding of the coordinates [m]
    mode : STICK, FORWARD or BACKWARD of `record`
    """

    first: int
    second: int
    on_first: int
    x: float
    y: float
    radius: float
    straight: int
    base_x: float
    base_y: float
    base_radius: float
    normal_x: float
    normal_y: float
    length: float
    corner: int
    before_x: float
    before_y: float
    after_x: float
    after_y: float
    hold: float
    mode: int


class Kinematics(NamedTuple):
    """Closed contacts at one or more states.

    Attributes
    ----------
    gap : (..., c) [m]
    normal, point : (..., c, 2) unit vector from second to first; place of the point of contact [m]
    arm_first, arm_second : (..., c, 2) from the centres to the point of contact [m]
    u : (..., c, 2) normal and tangential velocity [m/s]
    bias : (..., c, 2) their derivatives without accelerations of bodies [m/s^2]
    """

    gap: Floats
    normal: Floats
    point: Floats
    arm_first: Floats
    arm_second: Floats
    u: Floats
    bias: Floats


def _corners(surfaces: Surfaces, body: int) -> Floats:
    """Return (k, 2) corners of a polygon in its frame [m]."""
    return surfaces.corners[surfaces.table[body].start : surfaces.table[body].stop]


def _set_edge(made: Closed, surfaces: Surfaces, body: int, edge: int) -> None:
    """Write the begin, length and outward normal of an edge of a polygon into `made`."""
    corners = _corners(surfaces, body)
    begin, along = corners[edge], corners[(edge + 1) % len(corners)] - corners[edge]
    made.length = math.hypot(*along)
    made.straight, made.base_x, made.base_y = 1, begin[0], begin[1]
    made.normal_x, made.normal_y = along[1] / made.length, -along[0] / made.length


def _set_corner(made: Closed, surfaces: Surfaces, body: int, k: int, which: int) -> None:
    """Write the directions of the edges around corner k, which a disc touches, into `made`.

    which : 1 if the polygon is the first body, 2 if it is the second
    """
    corners = _corners(surfaces, body)
    before, after = corners[k] - corners[k - 1], corners[(k + 1) % len(corners)] - corners[k]
    made.corner = which
    made.before_x, made.before_y = before / math.hypot(*before)
    made.after_x, made.after_y = after / math.hypot(*after)


def closed_contact(surfaces: Surfaces, contact: Contact, pose: Floats) -> Closed:
    """Return the features that touch at a contact of `find_contacts`.

    Parameters
    ----------
    pose : (m, 3) centres and angles of bodies, then of supports

    Verified by: tests/unit/bodies/test_event_driven.py::test_derivatives_of_contact_velocities
    """
    made = Closed.table(1)[0]
    first, second, feature = int(contact.first), int(contact.second), int(contact.feature)
    made.first, made.second, made.length = first, second, math.inf
    made.hold, made.on_first = contact.gap, 1
    a, b = surfaces.table[first], surfaces.table[second]
    if b.kind == HALF_PLANE:
        made.straight = 1
        made.normal_x, made.normal_y = surfaces.corners[b.start]
        if a.kind == DISC:
            made.radius = a.radius
        else:
            made.x, made.y = surfaces.corners[a.start + feature]
    elif a.kind == DISC and b.kind == DISC:
        made.radius, made.base_radius = a.radius, b.radius
    elif a.kind == DISC or b.kind == DISC:
        disc, polygon = (first, second) if a.kind == DISC else (second, first)
        radius = surfaces.table[disc].radius
        if feature < CORNERS_MOST:
            made.on_first, made.radius = int(disc == first), radius
            _set_edge(made, surfaces, polygon, feature)
        else:
            corner = feature - CORNERS_MOST
            place = _corners(surfaces, polygon)[corner]
            if disc == first:
                made.radius, (made.base_x, made.base_y) = radius, place
            else:
                made.base_radius, (made.x, made.y) = radius, place
            _set_corner(made, surfaces, polygon, corner, 1 if polygon == first else 2)
    else:
        _set_polygons(made, surfaces, contact, pose)
    return made


def _set_polygons(made: Closed, surfaces: Surfaces, contact: Contact, pose: Floats) -> None:
    """Write the corner and the edge of two polygons that touch into `made`.

    The point of contact is a corner of one polygon: either of the other polygon, or an end of the
    reference edge itself.
    """
    # as `_of_polygons` numbers features: the reference edge and its end
    edge, on_second = divmod(contact.feature // 2, CORNERS_MOST)[::-1]
    reference, other = (made.second, made.first) if on_second else (made.first, made.second)
    arm = contact.arm_first if other == made.first else contact.arm_second
    local = _turned_back(np.asarray(arm), pose[other, 2])
    corners = _corners(surfaces, other)
    distance = np.hypot(*(corners - local).T)
    k = int(np.argmin(distance))
    # halfway in the gap: the corner is half a gap away
    within = _AT_CORNER * surfaces.table[other].reach + abs(contact.gap)
    if distance[k] <= within:
        made.on_first = int(other == made.first)
        made.x, made.y = corners[k]
        _set_edge(made, surfaces, reference, edge)
        return
    # an end of the reference edge touches the edge of the other polygon that faces it
    made.on_first = int(reference == made.first)
    arm = contact.arm_first if reference == made.first else contact.arm_second
    local = _turned_back(np.asarray(arm), pose[reference, 2])
    corners = _corners(surfaces, reference)
    k = int(np.argmin(np.hypot(*(corners - local).T)))
    made.x, made.y = corners[k]
    outward = np.asarray(contact.normal) * (1.0 if other == made.second else -1.0)
    target = _turned_back(outward, pose[other, 2])
    corners = _corners(surfaces, other)
    along = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
    _set_edge(made, surfaces, other, int(np.argmax(normals @ target)))


def _turned_back(vector: Floats, angle: float) -> Floats:
    """Return a vector (2,) turned by minus the angle, from the axes of the plane to a frame."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([c * vector[0] + s * vector[1], c * vector[1] - s * vector[0]])


def _left(vector: Floats) -> Floats:
    """Return vectors turned by 90 degrees counterclockwise."""
    return np.stack([-vector[..., 1], vector[..., 0]], axis=-1)


def _turned(angle: Floats, x: Floats, y: Floats) -> Floats:
    """Return vectors (x, y) turned counterclockwise by angles, (..., 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def _dot(a: Floats, b: Floats) -> Floats:
    """Return (...) scalar products of vectors (..., 2)."""
    return np.asarray((a * b).sum(axis=-1))


class _Features(NamedTuple):
    """Both features of each of c contacts: places, velocities of material points, and the normal.

    Attributes
    ----------
    centre, moving : (..., c, 2) centre of the round feature [m], and its velocity [m/s]
    base, base_moving : (..., c, 2) begin of the edge or centre of the other feature; its velocity
    edge_normal, edge_spin : (..., c, 2) and (..., c) outward normal of the edge, and spin [rad/s]
    """

    centre: Floats
    moving: Floats
    base: Floats
    base_moving: Floats
    edge_normal: Floats
    edge_spin: Floats


def _features(closed: Table[Closed], pose: Floats, v: Floats) -> _Features:
    """Return the features at states pose, v (..., m, 3), in the axes of the plane."""
    first = closed["on_first"] == 1
    a = np.where(first, closed["first"], closed["second"])
    b = np.where(first, closed["second"], closed["first"])
    arm = _turned(pose[..., a, 2], closed["x"], closed["y"])
    base = _turned(pose[..., b, 2], closed["base_x"], closed["base_y"])
    return _Features(
        pose[..., a, :2] + arm,
        v[..., a, :2] + v[..., a, 2:] * _left(arm),
        pose[..., b, :2] + base,
        v[..., b, :2] + v[..., b, 2:] * _left(base),
        _turned(pose[..., b, 2], closed["normal_x"], closed["normal_y"]),
        v[..., b, 2],
    )


def kinematics(closed: Table[Closed], pose: Floats, v: Floats) -> Kinematics:
    """Return gaps, velocities and the parts of their derivatives.

    Parameters
    ----------
    closed : (c,)
    pose, v : (..., m, 3) places and velocities of bodies, then of supports

    Verified by: tests/unit/bodies/test_event_driven.py::test_derivatives_of_contact_velocities
    """
    f = _features(closed, pose, v)
    straight = closed["straight"] == 1
    apart, moving = f.centre - f.base, f.moving - f.base_moving
    distance = np.sqrt(_dot(apart, apart))
    safe = np.where(straight, 1.0, distance)
    radial = apart / safe[..., None]
    # of a round pair the normal follows the centres, else it turns with the edge
    edge = np.where(straight[:, None], f.edge_normal, radial)
    spin = np.where(straight, f.edge_spin, _dot(_left(radial), moving) / safe)
    gap = np.where(straight, _dot(f.edge_normal, apart), distance - closed["base_radius"])
    gap = gap - closed["radius"]
    # the point of contact lies on the surface of the round feature
    radius = closed["radius"][:, None]
    point = f.centre - radius * edge
    point_moves = f.moving - radius * spin[..., None] * _left(edge)
    # the normal of the contact points to the first body, the edge's from the straight feature
    sign = np.where(closed["on_first"] == 1, 1.0, -1.0)
    normal = sign[:, None] * edge
    tangent = -_left(normal)
    i, j = closed["first"], closed["second"]
    arms = point - pose[..., i, :2], point - pose[..., j, :2]
    turn = v[..., i, 2:], v[..., j, 2:]
    # u and its derivative without accelerations: the formulas of the module docstring
    relative = v[..., i, :2] + turn[0] * _left(arms[0]) - v[..., j, :2] - turn[1] * _left(arms[1])
    b = turn[0] * _left(point_moves - v[..., i, :2]) - turn[1] * _left(point_moves - v[..., j, :2])
    u = np.stack([_dot(normal, relative), _dot(tangent, relative)], axis=-1)
    bias = np.stack(
        [_dot(normal, b) - spin * u[..., 1], _dot(tangent, b) + spin * u[..., 0]], axis=-1
    )
    return Kinematics(gap, normal, point, *arms, u, bias)


def rows(closed: Table[Closed], k: Kinematics, n_body: int) -> Floats:
    """Return (..., 2 c, 3 n) rows of J: normal and tangential in turn, three columns for a body."""
    lead, count = k.gap.shape[:-1], len(closed)
    out = np.zeros((*lead, count, 2, n_body, 3))
    directions = k.normal, -_left(k.normal)
    for which, body, arm in ((1.0, "first", k.arm_first), (-1.0, "second", k.arm_second)):
        for c in np.flatnonzero(closed[body] < n_body):
            for i, e in enumerate(directions):
                at = out[..., c, i, closed[body][c], :]
                at[..., :2] = which * e[..., c, :]
                moment = arm[..., c, 0] * e[..., c, 1] - arm[..., c, 1] * e[..., c, 0]
                at[..., 2] = which * moment
    return out.reshape(*lead, 2 * count, 3 * n_body)


def as_contacts(closed: Table[Closed], k: Kinematics) -> Table[Contact]:
    """Return the contacts of one state as `find_contacts` writes them."""
    out = Contact.table(len(closed))
    out["first"], out["second"], out["gap"] = closed["first"], closed["second"], k.gap
    out["normal"], out["arm_first"], out["arm_second"] = k.normal, k.arm_first, k.arm_second
    return out


def limits(closed: Table[Closed], k: Kinematics, pose: Floats) -> Floats:
    """Return (..., c, 2) distances [m] that are positive while these features touch.

    On an edge they are the distances from its two ends; at a corner the components of the normal
    beyond the edges beside it, times the sum of both radii; infinite for other features.
    """
    first = closed["on_first"] == 1
    b = np.where(first, closed["second"], closed["first"])
    base = pose[..., b, :2] + _turned(pose[..., b, 2], closed["base_x"], closed["base_y"])
    along = _left(_turned(pose[..., b, 2], closed["normal_x"], closed["normal_y"]))
    place = _dot(along, k.point - base)
    body = np.where(closed["corner"] == 1, closed["first"], closed["second"])
    angle = pose[..., body, 2]
    # the normal points to the first body; from a corner of the first one the disc is behind it
    outward = np.where(closed["corner"] == 1, -1.0, 1.0)[:, None] * k.normal
    size = (closed["radius"] + closed["base_radius"])[:]
    beyond = size * _dot(_turned(angle, closed["before_x"], closed["before_y"]), outward)
    behind = -size * _dot(_turned(angle, closed["after_x"], closed["after_y"]), outward)
    straight, cornered = closed["straight"] == 1, closed["corner"] > 0
    low = np.where(straight, place, np.where(cornered, beyond, np.inf))
    high = np.where(straight, closed["length"] - place, np.where(cornered, behind, np.inf))
    low = np.where(np.isinf(closed["length"]) & straight, np.inf, low)
    return np.stack([low, high], axis=-1)
