"""Contact of two spline axes: closest-point projection, slip velocity, and Delassus matrix.

The contact curve of a rod is R(s) = sum_k B(s - k) r_k with the cubic B-spline B, nodes r_k and s
in elements, or a curve fitted to the nodes (`curve.kernels`). The angular velocity W at s is
interpolated by B between element midpoints. With D = R2 - R1 and the radii a1, a2, the surfaces
touch at R1 + b1 D, where b1 = a1 / (a1 + a2) and b2 = a2 / (a1 + a2) are the levers. A force l acts
there on the first rod and -l on the second, with moments b1 D x l and b2 D x l. Its power is l . u
with the slip velocity u = R1' + b1 W1 x D - R2' + b2 W2 x D, primes being material rates. So u = 0
conserves energy. The unit normal n = D / |D| points from the first to the second body; a
compressive force on the first rod has l . n < 0.

A slot is a column of the arrays of all nodes and elements: r (3, slots) positions [m],
q (4, slots) quaternions, v (3, slots) velocities [m/s], p (3, slots) angular momenta over the
inertia across the axis [1/s]. Bodies are rods, then rigid partners. The argument k is one contact,
an element of the table of all `Contact`; side 0 or 1 is its first or second body. (10) is an
equation of Gay-Balmaz and Putkaradze 2012.

In each step `locate` finds the closest points, then `response` the Delassus matrix. The solvers
(`gauss_seidel_kernels`, `law_kernels`, `newton_kernels`) read slip velocities by `slip_velocity`
and apply impulses by `push`.

Source: formulas sheet (docs/formulas/rods.md), sections 2-4 and 6.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import (
    FITTED,
    apart_from_ends,
    axis_point,
    four_around,
    inner_point,
    shift,
    spread,
    weights,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# values of `shape`, of the second body: a rod or a rigid cylinder; a sphere about its first node; a
# plane with its first node as origin, whose next two nodes are one metre from it, at a right angle
CURVE, SPHERE, PLANE = 0, 1, 2
# values of `kind`: a crossing has isolated closest points; a point of a line contact, between
# nearly parallel rods, has a constant position on the first rod
CROSSING, LINE = 0, 1
# values of `mode`; EMPTY is an unused element of the table, ROLL is also stick
EMPTY, OPEN, ROLL, SLIP = -1, 0, 1, 2
# values of `unreported_slip`: no step, or one step, has ended with this slip
SLIP_PENDING, SLIP_UNREPORTED = 1, 2

# return codes of `locate`: on both rods; beyond the end of a rod; closest points not unique
INSIDE, OUTSIDE, SINGULAR = 0, 1, 2
# sine of twenty degrees: the search treats pairs at smaller angles as line contacts, so a new
# crossing is far from the angle at which its closest points become singular
LINE_BELOW = 0.3420201433256687


class Contact(Struct):
    """A contact of two bodies; in pairs, the first entry belongs to the first body.

    bodies, shape : indices of the bodies, from 0; shape of the second one
    first, elements : first slot of each body, and its number of elements
    kind, rule : CROSSING or LINE; rule of the curves, SPLINE or FITTED
    mode : EMPTY, OPEN, ROLL or SLIP
    pending_mode : mode that the forces of the present state imply
    may_open, from_search : 1 if it opens in tension; 1 if a search found it
    bounces_from : number of the step from which it may bounce again
    at_end : body at whose end it is: 0 none, 1, 2, or 3 for both
    reported_end : `at_end` as last reported by an event, plus 4 if it moved there along the rod
    unreported_slip : SLIP_PENDING or SLIP_UNREPORTED; 0 if events have reported all slips
    parts : 1 if the surfaces separate although the normal force is compressive
    nodes, frames : slot of the first of the four nodes, and of the four elements, around it
    place : positions s on both axes [elements]
    friction, restitution, tangential_restitution : Coulomb's coefficient mu [1]; coefficients of
        restitution of the normal and the slip velocity [1]
    reach : sum of both radii a1 + a2 [m]
    noise : rounding error of forces [N]
    recovery_rate : rate of the penetration correction [1/s]
    wave_times : time in which shear waves pass one element [s], 0 of a rigid partner
    levers : b1, b2 [1]
    node_weights, frame_weights : weights of the four nodes; of the four elements, times the lever
    outer_weights : weights of the nodes before and after the four, for fitted curves
    separation, normal, distance : D [m], n, |D| [m]; for a plane D leads to the foot of the
        perpendicular, and the distance is negative below the plane
    tangents, curvatures : t = dR/ds and d2R/ds2 of both axes [m]
    sine : sine of the angle between the axes
    determinant : det A of the conditions of tangency, over |t1|^2 |t2|^2; see `locate`
    delassus, node_delassus : G, slip velocity per impulse [1/kg]; the part of the nodes, G n . n
    slip, impulse : u before a kick [m/s]; P on the first rod in it [N s]
    heat, kick_heat, first_heat : friction heat in total, of the last kick, of the first half of a
        step [J]
    impact_loss, impact_impulse : energy lost and impulse in all impacts [J], [N s]
    force : contact force on the first rod [N]
    drift : rate of u at constant v and p [m/s^2]
    direction : unit vector of slip
    slip_speed : [m/s]; negative after a slip that ended, see `unstopped_slip_speed`
    stick_excess : tangential force that rolling requires, minus its bound [N]
    normal_force, gap : compression > 0 [N]; distance - reach [m]
    allowed_depth : admissible penetration of a contact that has just opened [m]
    place_rates : rates of `place` [elements/s]
    held_gap : penetration, as a gap < 0, that is corrected at `recovery_rate` [m]
    onset_time, onset_force, onset_place : of a slip that is not reported yet [s], [N], [elements]
    first_impulse : impulse of the first half of a step [N s]
    excess_impulse, normal_impulse : of all steps: tangential impulse of rolling beyond its bound;
        normal impulse [N s]
    friction_work : positive work that friction has done, in total [J]
    """

    bodies: Annotated[Integers, 2]
    shape: int
    first: Annotated[Integers, 2]
    elements: Annotated[Integers, 2]
    kind: int
    rule: int
    mode: int
    pending_mode: int
    may_open: int
    from_search: int
    bounces_from: int
    at_end: int
    reported_end: int
    unreported_slip: int
    parts: int
    nodes: Annotated[Integers, 2]
    frames: Annotated[Integers, 2]
    place: Annotated[Vector, 2]
    friction: float
    restitution: float
    tangential_restitution: float
    reach: float
    noise: float
    recovery_rate: float
    wave_times: Annotated[Vector, 2]
    levers: Annotated[Vector, 2]
    node_weights: Annotated[Matrix, 2, 4]
    frame_weights: Annotated[Matrix, 2, 4]
    outer_weights: Annotated[Matrix, 2, 2]
    separation: Annotated[Vector, 3]
    normal: Annotated[Vector, 3]
    distance: float
    tangents: Annotated[Matrix, 2, 3]
    curvatures: Annotated[Matrix, 2, 3]
    sine: float
    determinant: float
    delassus: Annotated[Matrix, 3, 3]
    node_delassus: float
    slip: Annotated[Vector, 3]
    impulse: Annotated[Vector, 3]
    heat: float
    kick_heat: float
    first_heat: float
    impact_loss: float
    impact_impulse: Annotated[Vector, 3]
    force: Annotated[Vector, 3]
    drift: Annotated[Vector, 3]
    direction: Annotated[Vector, 3]
    slip_speed: float
    stick_excess: float
    normal_force: float
    gap: float
    allowed_depth: float
    place_rates: Annotated[Vector, 2]
    held_gap: float
    onset_time: float
    onset_force: float
    onset_place: Annotated[Vector, 2]
    first_impulse: Annotated[Vector, 3]
    excess_impulse: float
    normal_impulse: float
    friction_work: float


Contacts = Table[Contact]


class ContactSet(NamedTuple):
    """All contacts, one contact at trial positions, and extremes over all steps.

    contacts, trial : tables (contacts,) and (1,) of `Contact`
    extremes : largest or least values so far, see `state.extremes_kernels.Extreme`
    """

    contacts: Contacts
    trial: Contacts
    extremes: Floats


@kernel
def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def put(to: Vector, x: float, y: float, z: float) -> None:
    """Set the components of a vector."""
    to[0], to[1], to[2] = x, y, z


@kernel
def both_at_ends(r: Matrix, k: Contact, s1: float, s2: float) -> float:
    """Set D, tangents and curvatures at positions s1, s2 anywhere; return D . D [m^2]."""
    d, t, c, dd = k.separation, k.tangents, k.curvatures, 0.0
    for a in range(3):
        x1, t[0, a], c[0, a] = axis_point(r, k.first[0], k.elements[0], s1, a, k.rule)
        x2, t[1, a], c[1, a] = axis_point(r, k.first[1], k.elements[1], s2, a, k.rule)
        d[a] = x2 - x1
        dd += (x2 - x1) * (x2 - x1)
    return dd


@kernel
def both_inside(r: Matrix, k: Contact, s1: float, s2: float) -> float:
    """Set D, tangents and curvatures at positions s1, s2 away from the ends; return D . D [m^2]."""
    d, t, c, dd = k.separation, k.tangents, k.curvatures, 0.0
    for a in range(3):
        x1, t[0, a], c[0, a] = inner_point(r, k.first[0], s1, a)
        x2, t[1, a], c[1, a] = inner_point(r, k.first[1], s2, a)
        d[a] = x2 - x1
        dd += (x2 - x1) * (x2 - x1)
    return dd


@kernel
def at_end(s: float, count: int, descent: float, parallel: bool) -> bool:
    """Return whether the closest point is an end of the rod, at s = 0 or s = `count`.

    It is one if the distance does not decrease into the rod. `descent` is minus the derivative of
    |D|^2 / 2 by s: the distance decreases with rising s if it is positive. With `parallel` any
    point at an end remains there.
    """
    if s <= 0.0:
        return parallel or descent <= 0.0
    return s >= count and (parallel or descent >= 0.0)


@kernel(separate=True)
def locate(r: Matrix, k: Contact) -> int:
    """Project the contact on the closest points of the axes; return INSIDE, OUTSIDE or SINGULAR.

    Newton's method solves the conditions of tangency D . t1 = D . t2 = 0 for s1 and s2. At an end
    of a rod they are inequalities. A line contact has a constant s1, and only s2 is unknown. All
    geometry of the contact is updated. After 30 steps without convergence the last positions count
    as closest points: the code is INSIDE then too.
    """
    if k.shape != CURVE:
        return locate_on(r, k)
    count1, count2 = k.elements[0], k.elements[1]
    s1, s2 = k.place[0], k.place[1]
    d, t1, t2 = k.separation, k.tangents[0], k.tangents[1]
    fixed, rule = k.kind == LINE, k.rule
    for _ in range(30):  # chosen: from the positions of the last step about three suffice
        inner = apart_from_ends(s1, count1, rule) and apart_from_ends(s2, count2, rule)
        if inner:
            dd = both_inside(r, k, s1, s2)
        else:
            dd = both_at_ends(r, k, s1, s2)
        # the conditions of tangency, f = (D . t1, D . t2), and A = df/ds, the matrix of (10). The
        # Hessian of |D|^2 / 2 has the same second row, and minus the first row
        f1, f2 = dot(d, t1), dot(d, t2)
        t11, t22, t12 = dot(t1, t1), dot(t2, t2), dot(t1, t2)
        c1, c2 = dot(d, k.curvatures[0]), dot(d, k.curvatures[1])
        k.distance = math.sqrt(dd)
        a11, a22 = -t11 + c1, t22 + c2
        det = a11 * a22 + t12 * t12
        # scaled, the determinant is minus the square of the sine for straight axes
        k.sine = math.sqrt(max(t11 * t22 - t12 * t12, 0.0) / (t11 * t22))
        k.determinant = det / (t11 * t22)
        end1, end2 = False, False
        if not inner:
            # on nearly parallel rods a contact at an end stays there, as in the search
            parallel = k.from_search == 1 and k.sine < LINE_BELOW
            end1 = at_end(s1, count1, f1, parallel)
            end2 = at_end(s2, count2, -f2, parallel)
        k.at_end = (1 if end1 else 0) + (2 if end2 else 0)
        if fixed:
            # beyond the end of the other rod, the contact of that end applies
            if end2:
                return OUTSIDE
            if a22 <= 0.0:
                return SINGULAR
            move1, move2 = 0.0, -f2 / a22
        # an end is the closest point of its rod: tangency is an inequality there, and only the
        # other position changes
        elif end1 or end2:
            move1, move2 = 0.0, 0.0
            if not end1:
                if a11 >= 0.0:
                    return SINGULAR
                move1 = -f1 / a11
            elif not end2:
                if a22 <= 0.0:
                    return SINGULAR
                move2 = -f2 / a22
        else:
            # a minimum of the distance needs det A < 0; the step is -A^-1 f
            if det >= 0.0:
                return SINGULAR
            move1 = -(f1 * a22 - t12 * f2) / det
            move2 = -(a11 * f2 + t12 * f1) / det
        size = max(abs(move1), abs(move2))
        # at most half an element at once, since Newton's method converges only near the root
        if size > 0.5:
            move1 *= 0.5 / size
            move2 *= 0.5 / size
        s1 = min(max(s1 + move1, 0.0), float(count1))
        s2 = min(max(s2 + move2, 0.0), float(count2))
        # Newton's error after this move is about its square, 1e-16 of an element
        if size < 1e-8:
            break
    k.place[0], k.place[1] = s1, s2
    return refresh(r, k)


@kernel
def locate_on(r: Matrix, k: Contact) -> int:
    """Project a contact with a sphere or a plane; return a code of `locate`.

    A sphere has contact with the point of the rod closest to its centre, a plane with a constant
    position s on the rod. Newton's method for a sphere ends as in `locate`.
    """
    first2, count, s = k.first[1], k.elements[0], k.place[0]
    k.outer_weights[1, 0], k.outer_weights[1, 1] = 0.0, 0.0
    for j in range(4):
        k.node_weights[1, j] = 0.0
        k.frame_weights[1, j] = 0.0
    # one node and one frame have the motion of a rigid body; `refresh_on` sets three for a plane
    k.node_weights[1, 0], k.frame_weights[1, 0] = 1.0, k.levers[1]
    # the second body has no tangent: values of a crossing at a right angle
    k.sine, k.determinant = 1.0, -1.0
    k.nodes[1], k.frames[1] = first2, first2
    # always False here. A variable, because Numba would compile `at_end` again for a constant
    parallel = k.shape == CURVE
    if k.shape == SPHERE:
        # Newton's method for D . t1 = 0; t1 . t1 - D . r1'' is the second derivative of |D|^2 / 2,
        # positive at a minimum
        for _ in range(30):
            f1, t11, c1 = 0.0, 0.0, 0.0
            for a in range(3):
                x, t, c = axis_point(r, k.first[0], count, s, a, k.rule)
                d = r[a, first2] - x
                f1 += d * t
                t11 += t * t
                c1 += d * c
            end = at_end(s, count, f1, parallel)
            k.at_end = 1 if end else 0
            if end:
                break
            if t11 - c1 <= 0.0:
                return SINGULAR
            move = f1 / (t11 - c1)
            s = min(max(s + min(max(move, -0.5), 0.5), 0.0), float(count))
            # as in `locate`
            if abs(move) < 1e-8:
                break
        k.place[0] = s
    else:
        # a plane has contact with a fixed position on the rod, so nothing is solved
        k.at_end = 1 if s <= 0.0 or s >= count else 0
    return refresh_on(r, k)


@kernel
def refresh_on(r: Matrix, k: Contact) -> int:
    """Set weights, D, n and derivatives for a sphere or a plane.

    Returns INSIDE, the code of `locate_on` at its last call.
    """
    d, first2 = k.separation, k.first[1]
    # a loop, because Numba would compile `weigh` again for the constant 0
    for side in range(1):
        weigh(k, side)
    for a in range(3):
        x, t, c = axis_point(r, k.first[0], k.elements[0], k.place[0], a, k.rule)
        d[a] = r[a, first2] - x
        k.tangents[0, a], k.curvatures[0, a] = t, c
        k.tangents[1, a], k.curvatures[1, a] = 0.0, 0.0
    distance = math.sqrt(dot(d, d))
    if k.shape == PLANE:
        # the normal is the cross product of two edges, unit vectors at a right angle
        i, j, m = first2, first2 + 1, first2 + 2
        ax, ay, az = r[0, j] - r[0, i], r[1, j] - r[1, i], r[2, j] - r[2, i]
        bx, by, bz = r[0, m] - r[0, i], r[1, m] - r[1, i], r[2, m] - r[2, i]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        # weights of the three nodes at the foot of the perpendicular
        alpha = -(d[0] * ax + d[1] * ay + d[2] * az)
        beta = -(d[0] * bx + d[1] * by + d[2] * bz)
        put(k.node_weights[1], 1.0 - alpha - beta, alpha, beta)
        # signed distance: negative below the plane
        distance = -(d[0] * nx + d[1] * ny + d[2] * nz)
        put(d, -distance * nx, -distance * ny, -distance * nz)
        put(k.normal, -nx, -ny, -nz)
    else:
        for a in range(3):
            k.normal[a] = d[a] / distance
    k.distance = distance
    return INSIDE


@kernel
def weigh(k: Contact, side: int) -> None:
    """Set the weights of nodes and elements of one body, side 0 or 1."""
    s, count, first = k.place[side], k.elements[side], k.first[side]
    nodes, frames = k.node_weights[side], k.frame_weights[side]
    # the end belongs to the last element, as in `axis_point`: fraction 1, not fraction 0 of an
    # element beyond it
    # over: number of elements by which the four nodes are moved back at an end
    start, x, over = four_around(s, count)
    if s >= count:
        start, x, over = count - 3, 1.0, -1
    weights(x, nodes)
    if over != 0:
        shift(nodes, over)
    if k.rule == FITTED:
        spread(nodes, k.outer_weights[side], start, count)
    k.nodes[side] = first + start
    # frames belong to the middles of elements, s = k + 1/2; the weight contains the lever
    start, x, over = four_around(s - 0.5, count - 1)
    weights(x, frames)
    if over != 0:
        shift(frames, over)
    for j in range(4):
        frames[j] *= k.levers[side]
    k.frames[side] = first + start


@kernel
def refresh(r: Matrix, k: Contact) -> int:
    """Set weights, D, n and derivatives at the present positions.

    Returns INSIDE, the code of `locate` at its last call.
    """
    s1, s2, rule = k.place[0], k.place[1], k.rule
    inner = apart_from_ends(s1, k.elements[0], rule)
    inner = inner and apart_from_ends(s2, k.elements[1], rule)
    for side in range(2):
        if not inner:
            weigh(k, side)
            continue
        # away from the ends no weight is shifted: the same as `weigh`, without its branches
        s, first, frames = k.place[side], k.first[side], k.frame_weights[side]
        node, frame = math.floor(s), math.floor(s - 0.5)
        weights(s - node, k.node_weights[side])
        weights(s - 0.5 - frame, frames)
        for j in range(4):
            frames[j] *= k.levers[side]
        k.nodes[side] = first + node - 1
        k.frames[side] = first + frame - 1
    # D and derivatives at the result of the last Newton step
    dd = both_inside(r, k, s1, s2) if inner else both_at_ends(r, k, s1, s2)
    k.distance = math.sqrt(dd)
    for a in range(3):
        k.normal[a] = k.separation[a] / k.distance
    return INSIDE


@kernel
def response(q: Matrix, k: Contact, mobility: Matrix) -> None:
    """Compute the Delassus matrix G, the slip velocity per impulse [1/kg].

    mobility : (3, slots) 1/mass of nodes [1/kg], 1/inertia of elements across and along their axis
        [1/(kg m^2)]
    """
    g = k.delassus
    free, across, along = mobility[0], mobility[1], mobility[2]
    # G = sum_i [sum_k B_k^2 / m_k 1 + hat(D)^T Y hat(D)], section 3 of the sheet (W there) with
    # levers for its factors 1/2: first the nodes and Y = sum_e e^2 Lam I^-1 Lam^T
    nodes = 0.0
    xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        for j in range(4):
            weight = k.node_weights[side, j]
            nodes += weight * weight * free[k.nodes[side] + j]
            e = k.frame_weights[side, j]
            i = k.frames[side] + j
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            # round section: Lam I^-1 Lam^T = 1 / I_across + (1 / I_along - 1 / I_across) d3 d3^T
            w0 = e * e * across[i]
            w1 = e * e * (along[i] - across[i])
            xx += w0 + w1 * ax * ax
            yy += w0 + w1 * ay * ay
            zz += w0 + w1 * az * az
            xy += w1 * ax * ay
            xz += w1 * ax * az
            yz += w1 * ay * az
        if k.rule == FITTED:
            # the slots before and after the four
            for j in range(2):
                weight = k.outer_weights[side, j]
                # zero where the rod has no such node: its slot may not exist
                if weight != 0.0:
                    nodes += weight * weight * free[k.nodes[side] + 5 * j - 1]
    x, y, z = k.separation[0], k.separation[1], k.separation[2]
    # hat(D)^T Y hat(D), written out
    g[0, 0] = nodes + z * z * yy - 2.0 * y * z * yz + y * y * zz
    g[1, 1] = nodes + x * x * zz - 2.0 * x * z * xz + z * z * xx
    g[2, 2] = nodes + y * y * xx - 2.0 * x * y * xy + x * x * yy
    g[0, 1] = -z * z * xy + x * z * yz + y * z * xz - x * y * zz
    g[0, 2] = y * z * xy - x * z * yy - y * y * xz + x * y * yz
    g[1, 2] = -y * z * xx + x * z * xy + x * y * xz - x * x * yz
    g[1, 0], g[2, 0], g[2, 1] = g[0, 1], g[0, 2], g[1, 2]
    # D x n = 0: normal impulses have no moment, so G n = nodes n, and normal and tangential
    # responses do not couple
    k.node_delassus = nodes


@kernel
def slip_per(k: Contact, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return G (x, y, z), the change of slip velocity by an impulse [m/s]."""
    g = k.delassus
    return (
        g[0, 0] * x + g[0, 1] * y + g[0, 2] * z,
        g[1, 0] * x + g[1, 1] * y + g[1, 2] * z,
        g[2, 0] * x + g[2, 1] * y + g[2, 2] * z,
    )


@kernel
def slip_velocity(q: Matrix, k: Contact, v: Matrix, p: Matrix) -> tuple[float, float, float]:
    """Return the three components of the slip velocity u [m/s] for velocities v and p."""
    d = k.separation
    ux, uy, uz, wx, wy, wz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        # nodes of the second rod enter u = R1' + b1 W1 x D - R2' + b2 W2 x D with a minus
        sign = 1.0 - 2.0 * side
        for j in range(4):
            weight = sign * k.node_weights[side, j]
            i = k.nodes[side] + j
            ux += weight * v[0, i]
            uy += weight * v[1, i]
            uz += weight * v[2, i]
            e = k.frame_weights[side, j]
            i = k.frames[side] + j
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            # the angular velocity of a round section, p - (p . d3) d3 / 2
            half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
            wx += e * (p[0, i] - half * ax)
            wy += e * (p[1, i] - half * ay)
            wz += e * (p[2, i] - half * az)
        if k.rule == FITTED:
            for j in range(2):
                weight = sign * k.outer_weights[side, j]
                if weight != 0.0:
                    i = k.nodes[side] + 5 * j - 1
                    ux += weight * v[0, i]
                    uy += weight * v[1, i]
                    uz += weight * v[2, i]
    # one product with D for all frames: both sides have the same sign in b1 W1 + b2 W2
    return ux + wy * d[2] - wz * d[1], uy + wz * d[0] - wx * d[2], uz + wx * d[1] - wy * d[0]


@kernel
def push(
    q: Matrix,
    k: Contact,
    lx: float,
    ly: float,
    lz: float,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
) -> None:
    """Add to v and p the effect of the impulse l on the first rod and -l on the second [N s]."""
    d = k.separation
    # D x l: the weights of frames contain the levers b1, b2
    tx, ty, tz = d[1] * lz - d[2] * ly, d[2] * lx - d[0] * lz, d[0] * ly - d[1] * lx
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for j in range(4):
            i = k.nodes[side] + j
            weight = sign * k.node_weights[side, j] * mobility[0, i]
            v[0, i] += weight * lx
            v[1, i] += weight * ly
            v[2, i] += weight * lz
            i = k.frames[side] + j
            e = k.frame_weights[side, j]
            across, along = mobility[1, i], mobility[2, i]
            # p is angular momentum over the inertia across; the inertia along the axis is twice it.
            # Without drag along = across / 2, and p changes by moment / inertia across
            extra = 2.0 * along - across
            p[0, i] += e * across * tx
            p[1, i] += e * across * ty
            p[2, i] += e * across * tz
            if extra != 0.0:
                ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
                ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
                az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
                torque = e * extra * (tx * ax + ty * ay + tz * az)
                p[0, i] += torque * ax
                p[1, i] += torque * ay
                p[2, i] += torque * az
        if k.rule == FITTED:
            for j in range(2):
                weight = sign * k.outer_weights[side, j]
                if weight != 0.0:
                    i = k.nodes[side] + 5 * j - 1
                    v[0, i] += weight * mobility[0, i] * lx
                    v[1, i] += weight * mobility[0, i] * ly
                    v[2, i] += weight * mobility[0, i] * lz
