"""Contact of two spline axes: where it is, how it responds to a force, and the laws it obeys.

The contact curve of a rod is R(s) = sum_k B(s - k) r_k with the cubic B-spline B and s in
units of elements, or one fitted to the nodes, see `curve.kernels`; angular velocities are
weighted by B at element midpoints. The surfaces touch at R1 + b1 D,
D = R2 - R1, where the levers b1 = a1 / (a1 + a2) and b2 = a2 / (a1 + a2) divide D in the ratio of
the radii. A force l acts there on the first rod and -l on the second, with moments
b1 D x l and b2 D x l. Its power is l . u with the slip velocity
u = R1' + b1 W1 x D - R2' + b2 W2 x D, so that u = 0 conserves energy.

`place` (contacts, 2): s on both rods. `index` (contacts, columns below). `geom` (contacts,
columns below), refreshed by `locate` whenever the axes have moved. `kick` (contacts, columns
below): what a kick does at the contacts.

Source: formulas sheet of the rods paper, sections 2-4 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
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

# columns of index: numbers of the rods, from 0; CROSSING or LINE; the mode; 1 where it may open;
# first slot and number of elements of both rods; first of the four nodes and of the four elements
# around the contact on both; step of the last closing; 1 where a search found it; what the second
# body is; which rods it touches at an end: 1, 2, or 3 for both; the same as events tell it, and 4
# more if it came there from a side; the rule of the curves, as `curve.kernels` has them
ROD1, ROD2, KIND, MODE, OPENS, FIRST1, FIRST2, COUNT1, COUNT2 = range(9)
NODE1, NODE2, ELEM1, ELEM2, CLOSED_AT, FOUND, SHAPE, AT_END, TOLD_END, RULE = range(9, 19)
INDEX_COLUMNS = 19
# values of SHAPE: a rod or a rigid cylinder, a sphere at its first node, a plane through its first
# three nodes, which are a metre apart
CURVE, SPHERE, PLANE = 0, 1, 2
# values of KIND and MODE
CROSSING, LINE = 0, 1
EMPTY, OPEN, ROLL, SLIP = -1, 0, 1, 2
# columns of geom: (4) weights of nodes on both rods, and of elements times their levers; (3) D [m]
# and n; (9) G, slip per impulse [1/kg]
B1, B2, E1, E2, D, N, G = 0, 4, 8, 12, 16, 19, 22
# (3) first and second derivatives of both axes [m]; |D| [m]; sine of the angle between the axes
# and, after it, the determinant of the conditions of tangency; the part of G that nodes have;
# (2) levers of both rods, parts of D that do not change; (2) weights of the nodes before and behind
# the four of the first rod, and of the second, which fitted curves have
T1, T2, R1, R2, DISTANCE, TANGENCY, NODES_G, LEVER, OUTER = 31, 34, 37, 40, 43, 44, 46, 47, 49
GEOM_COLUMNS = 53
# columns of law: coefficient of friction, restitution of normal and slip velocity, both radii [m],
# forces that are rounding [N], rate at which what was found inside comes out [1/s]; (2) time in
# which shear waves pass one element of each rod [s], 0 of a rigid partner
MU, RESTITUTION, TANGENTIAL, REACH, NOISE, EASE, SLOW = range(7)
LAW_COLUMNS = 8
# columns of kick: (3) slip velocity u before it [m/s]; (3) impulse P on the first rod [N s];
# friction heat in all, and of this kick alone, lost in impacts in all [J]; (3) impulse of
# impacts in all [N s]; and of steps of two halves: (3) force on the first rod [N], (3) the part of
# the rate of u that velocities alone make [m/s^2], speed of slip [m/s], tangential force that
# rolling asks for less its bound [N], pressing force [N], gap [m], the mode that these forces
# belong to, how deep a contact may be that has just opened [m], (2) rates of the places
# [elements/s], gap that is held for now [m]; a slip that is not told yet: NOT_SLID or SLID, when it
# began [s], the force that pressed [N], (2) places; (3) impulse of the first half of a step [N s],
# impulses of steps in rolling beyond their bounds, in all [N s], work that friction gave, in all
# [J], 1 where surfaces part although forces press, normal impulses of steps, in all [N s], heat of
# the first half of a step [J]
U, P, HEAT, HEAT_NOW, LOST, BLOW = 0, 3, 6, 7, 8, 9
FORCE_C, DRIFT_C, SPEED, GRIP, PRESS, GAP, WILL, SLACK = 12, 15, 18, 19, 20, 21, 22, 23
RATES_C, HELD, UNTOLD, ONSET, ONSET_PRESS, ONSET_S = 24, 26, 27, 28, 29, 30
HALF, EXCESS, GAVE, PARTS, PRESSED, RUBBED = 32, 35, 36, 37, 38, 39
KICK_COLUMNS = 40
# values of kick[UNTOLD]: no step has ended with the slip yet, or one has
NOT_SLID, SLID = 1, 2

INSIDE, OUTSIDE, SINGULAR = 0, 1, 2
# sine of twenty degrees: a search takes pairs below it for line contacts, points of which keep
# their place on one rod; so a crossing is far from losing its nearest points when it is found
LINE_BELOW = 0.3420201433256687


class Touch(NamedTuple):
    """What is known of contacts, `marks` being index; the first three for one trial; extremes.

    The last are as `extremes_kernels` has them.
    """

    place: Floats
    marks: Ints
    geom: Floats
    law: Floats
    kick: Floats
    trial_place: Floats
    trial_marks: Ints
    trial_geom: Floats
    extremes: Floats


@kernel(borrows=True)
def both_at_ends(r: Matrix, c: int, s1: float, s2: float, index: Ints, g: Vector) -> float:
    """Put D and derivatives at a pair of places near ends into g; return D . D."""
    dd, rule = 0.0, index[c, RULE]
    for a in range(3):
        x1, t1, b1 = axis_point(r, index[c, FIRST1], index[c, COUNT1], s1, a, rule)
        x2, t2, b2 = axis_point(r, index[c, FIRST2], index[c, COUNT2], s2, a, rule)
        g[D + a] = x2 - x1
        g[T1 + a], g[T2 + a], g[R1 + a], g[R2 + a] = t1, t2, b1, b2
        dd += (x2 - x1) * (x2 - x1)
    return dd


@kernel(borrows=True)
def both_inside(r: Matrix, c: int, s1: float, s2: float, index: Ints, g: Vector) -> float:
    """Put D and derivatives at a pair of places apart from ends into g; return D . D."""
    dd, first1, first2 = 0.0, index[c, FIRST1], index[c, FIRST2]
    for a in range(3):
        x1, t1, b1 = inner_point(r, first1, s1, a)
        x2, t2, b2 = inner_point(r, first2, s2, a)
        g[D + a] = x2 - x1
        g[T1 + a], g[T2 + a], g[R1 + a], g[R2 + a] = t1, t2, b1, b2
        dd += (x2 - x1) * (x2 - x1)
    return dd


@kernel(borrows=True)
def at_end(s: float, count: int, outward: float, parallel: bool) -> bool:
    """Return whether a contact stays at an end: `outward` > 0 lowers the distance towards larger s.

    Between nearly parallel rods an end is a point like any other, and stays one.
    """
    if s <= 0.0:
        return parallel or outward <= 0.0
    return s >= count and (parallel or outward >= 0.0)


@kernel(borrows=True, apart=True)
def locate(r: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix) -> int:
    """Move the contact to the nearest points of the axes; return INSIDE, OUTSIDE or SINGULAR.

    A crossing solves D . t1 = D . t2 = 0, or stays at an end as long as the distance falls beyond
    it; a line contact keeps its place on the first rod.
    """
    if index[c, SHAPE] != CURVE:
        return locate_on(r, c, place, index, geom)
    count1, count2 = index[c, COUNT1], index[c, COUNT2]
    s1, s2 = place[c, 0], place[c, 1]
    g = geom[c]
    fixed, rule = index[c, KIND] == LINE, index[c, RULE]
    for _ in range(30):
        inner = apart_from_ends(s1, count1, rule) and apart_from_ends(s2, count2, rule)
        if inner:
            dd = both_inside(r, c, s1, s2, index, g)
        else:
            dd = both_at_ends(r, c, s1, s2, index, g)
        f1 = g[D] * g[T1] + g[D + 1] * g[T1 + 1] + g[D + 2] * g[T1 + 2]
        f2 = g[D] * g[T2] + g[D + 1] * g[T2 + 1] + g[D + 2] * g[T2 + 2]
        t11 = g[T1] * g[T1] + g[T1 + 1] * g[T1 + 1] + g[T1 + 2] * g[T1 + 2]
        t22 = g[T2] * g[T2] + g[T2 + 1] * g[T2 + 1] + g[T2 + 2] * g[T2 + 2]
        t12 = g[T1] * g[T2] + g[T1 + 1] * g[T2 + 1] + g[T1 + 2] * g[T2 + 2]
        c1 = g[D] * g[R1] + g[D + 1] * g[R1 + 1] + g[D + 2] * g[R1 + 2]
        c2 = g[D] * g[R2] + g[D + 1] * g[R2 + 1] + g[D + 2] * g[R2 + 2]
        g[DISTANCE] = math.sqrt(dd)
        a11, a22 = -t11 + c1, t22 + c2
        det = a11 * a22 + t12 * t12
        g[TANGENCY] = math.sqrt(max(t11 * t22 - t12 * t12, 0.0) / (t11 * t22))
        g[TANGENCY + 1] = det / (t11 * t22)
        end1, end2 = False, False
        if not inner:
            parallel = index[c, FOUND] == 1 and g[TANGENCY] < LINE_BELOW
            end1 = at_end(s1, count1, f1, parallel)
            end2 = at_end(s2, count2, -f2, parallel)
        index[c, AT_END] = (1 if end1 else 0) + (2 if end2 else 0)
        if fixed:
            # beyond the end of the other rod its end is in touch, not this point
            if end2:
                return OUTSIDE
            if a22 <= 0.0:
                return SINGULAR
            move1, move2 = 0.0, -f2 / a22
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
            if det >= 0.0:
                return SINGULAR
            move1 = -(f1 * a22 - t12 * f2) / det
            move2 = -(a11 * f2 + t12 * f1) / det
        size = max(abs(move1), abs(move2))
        if size > 0.5:
            move1 *= 0.5 / size
            move2 *= 0.5 / size
        s1 = min(max(s1 + move1, 0.0), float(count1))
        s2 = min(max(s2 + move2, 0.0), float(count2))
        # Newton's error after this move is about its square
        if size < 1e-8:
            break
    place[c, 0], place[c, 1] = s1, s2
    return refresh(r, c, place, index, geom)


@kernel(borrows=True)
def locate_on(r: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix) -> int:
    """Locate a contact with a sphere or a plane; return as `locate`.

    On a sphere it is nearest to the centre, on a plane it keeps its place on the rod.
    """
    g, first2, s = geom[c], index[c, FIRST2], place[c, 0]
    rule = index[c, RULE]
    g[OUTER + 2], g[OUTER + 3] = 0.0, 0.0
    for j in range(4):
        g[B2 + j] = 0.0
        g[E2 + j] = 0.0
    g[B2], g[E2] = 1.0, g[LEVER + 1]
    g[TANGENCY], g[TANGENCY + 1] = 1.0, -1.0
    index[c, NODE2], index[c, ELEM2] = first2, first2
    parallel = index[c, SHAPE] == CURVE
    if index[c, SHAPE] == SPHERE:
        for _ in range(30):
            f1, t11, c1 = 0.0, 0.0, 0.0
            for a in range(3):
                x, t, b = axis_point(r, index[c, FIRST1], index[c, COUNT1], s, a, rule)
                d = r[a, first2] - x
                f1 += d * t
                t11 += t * t
                c1 += d * b
            end = at_end(s, index[c, COUNT1], f1, parallel)
            index[c, AT_END] = 1 if end else 0
            if end:
                break
            if t11 - c1 <= 0.0:
                return SINGULAR
            move = f1 / (t11 - c1)
            s = min(max(s + min(max(move, -0.5), 0.5), 0.0), float(index[c, COUNT1]))
            if abs(move) < 1e-8:
                break
        place[c, 0] = s
    else:
        index[c, AT_END] = 1 if s <= 0.0 or s >= index[c, COUNT1] else 0
    return refresh_on(r, c, place, index, geom)


@kernel(borrows=True)
def refresh_on(r: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix) -> int:
    """Put weights, D, n and derivatives for a sphere or a plane into geom; return INSIDE."""
    g, first2, count = geom[c], index[c, FIRST2], index[c, COUNT1]
    for side in range(1):
        weigh(c, side, place, index, geom)
    for a in range(3):
        x, t, b = axis_point(r, index[c, FIRST1], count, place[c, 0], a, index[c, RULE])
        g[D + a] = r[a, first2] - x
        g[T1 + a], g[R1 + a], g[T2 + a], g[R2 + a] = t, b, 0.0, 0.0
    distance = math.sqrt(g[D] * g[D] + g[D + 1] * g[D + 1] + g[D + 2] * g[D + 2])
    if index[c, SHAPE] == PLANE:
        i, j, k = first2, first2 + 1, first2 + 2
        ax, ay, az = r[0, j] - r[0, i], r[1, j] - r[1, i], r[2, j] - r[2, i]
        bx, by, bz = r[0, k] - r[0, i], r[1, k] - r[1, i], r[2, k] - r[2, i]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        # the foot of the perpendicular, by weights of the three nodes
        alpha = -(g[D] * ax + g[D + 1] * ay + g[D + 2] * az)
        beta = -(g[D] * bx + g[D + 1] * by + g[D + 2] * bz)
        g[B2], g[B2 + 1], g[B2 + 2] = 1.0 - alpha - beta, alpha, beta
        # with a sign: what is below the plane has passed through it
        distance = -(g[D] * nx + g[D + 1] * ny + g[D + 2] * nz)
        g[D], g[D + 1], g[D + 2] = -distance * nx, -distance * ny, -distance * nz
        g[N], g[N + 1], g[N + 2] = -nx, -ny, -nz
    else:
        for a in range(3):
            g[N + a] = g[D + a] / distance
    g[DISTANCE] = distance
    return INSIDE


@kernel(borrows=True)
def weigh(c: int, side: int, place: Matrix, index: Ints, geom: Matrix) -> None:
    """Put the weights of nodes and elements on one side into geom."""
    g, s, count = geom[c], place[c, side], index[c, COUNT1 + side]
    first = index[c, FIRST1 + side]
    start, x, over = four_around(s, count)
    if s >= count:
        start, x, over = count - 3, 1.0, -1
    weights(x, g, B1 + 4 * side)
    if over != 0:
        shift(g[B1 + 4 * side :], over)
    if index[c, RULE] == FITTED:
        spread(g[B1 + 4 * side :], g[OUTER + 2 * side :], start, count)
    index[c, NODE1 + side] = first + start
    start, x, over = four_around(s - 0.5, count - 1)
    weights(x, g, E1 + 4 * side)
    if over != 0:
        shift(g[E1 + 4 * side :], over)
    for j in range(4):
        g[E1 + 4 * side + j] *= g[LEVER + side]
    index[c, ELEM1 + side] = first + start


@kernel(borrows=True)
def refresh(r: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix) -> int:
    """Put weights, D, n and derivatives at the present place into geom; return INSIDE."""
    g = geom[c]
    count1, count2 = index[c, COUNT1], index[c, COUNT2]
    rule = index[c, RULE]
    inner = apart_from_ends(place[c, 0], count1, rule)
    inner = inner and apart_from_ends(place[c, 1], count2, rule)
    for side in range(2):
        if not inner:
            weigh(c, side, place, index, geom)
            continue
        s, first = place[c, side], index[c, FIRST1 + side]
        k, e = math.floor(s), math.floor(s - 0.5)
        weights(s - k, g, B1 + 4 * side)
        weights(s - 0.5 - e, g, E1 + 4 * side)
        for j in range(4):
            g[E1 + 4 * side + j] *= g[LEVER + side]
        index[c, NODE1 + side] = first + k - 1
        index[c, ELEM1 + side] = first + e - 1
    if inner:
        dd = both_inside(r, c, place[c, 0], place[c, 1], index, g)
    else:
        dd = both_at_ends(r, c, place[c, 0], place[c, 1], index, g)
    g[DISTANCE] = math.sqrt(dd)
    for a in range(3):
        g[N + a] = g[D + a] / g[DISTANCE]
    return INSIDE


@kernel(borrows=True)
def response(q: Matrix, c: int, index: Ints, geom: Matrix, mobility: Matrix) -> None:
    """Put G, the slip velocity per impulse, into geom [1/kg].

    `mobility` rows: 1/mass of nodes, 1/inertia of elements across and along their axis.
    """
    g = geom[c]
    free, across, along = mobility[0], mobility[1], mobility[2]
    nodes = 0.0
    xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        for j in range(4):
            b = g[B1 + 4 * side + j]
            nodes += b * b * free[index[c, NODE1 + side] + j]
            e = g[E1 + 4 * side + j]
            i = index[c, ELEM1 + side] + j
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            w0 = e * e * across[i]
            w1 = e * e * (along[i] - across[i])
            xx += w0 + w1 * ax * ax
            yy += w0 + w1 * ay * ay
            zz += w0 + w1 * az * az
            xy += w1 * ax * ay
            xz += w1 * ax * az
            yz += w1 * ay * az
        if index[c, RULE] == FITTED:
            for j in range(2):
                b = g[OUTER + 2 * side + j]
                if b != 0.0:
                    nodes += b * b * free[index[c, NODE1 + side] + 5 * j - 1]
    x, y, z = g[D], g[D + 1], g[D + 2]
    # hat(D)^T W hat(D), written out
    g[G] = nodes + z * z * yy - 2.0 * y * z * yz + y * y * zz
    g[G + 4] = nodes + x * x * zz - 2.0 * x * z * xz + z * z * xx
    g[G + 8] = nodes + y * y * xx - 2.0 * x * y * xy + x * x * yy
    g[G + 1] = -z * z * xy + x * z * yz + y * z * xz - x * y * zz
    g[G + 2] = y * z * xy - x * z * yy - y * y * xz + x * y * yz
    g[G + 5] = -y * z * xx + x * z * xy + x * y * xz - x * x * yz
    g[G + 3], g[G + 6], g[G + 7] = g[G + 1], g[G + 2], g[G + 5]
    g[NODES_G] = nodes


@kernel(borrows=True)
def slip_per(g: Vector, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return G (x, y, z), the slip velocity that an impulse gives where it acts."""
    return (
        g[G] * x + g[G + 1] * y + g[G + 2] * z,
        g[G + 3] * x + g[G + 4] * y + g[G + 5] * z,
        g[G + 6] * x + g[G + 7] * y + g[G + 8] * z,
    )


@kernel(borrows=True)
def slip_velocity(
    q: Matrix, c: int, index: Ints, geom: Matrix, v: Matrix, p: Matrix
) -> tuple[float, float, float]:
    """Return the three components of u for velocities v and p."""
    g = geom[c]
    ux, uy, uz, wx, wy, wz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for j in range(4):
            b = sign * g[B1 + 4 * side + j]
            i = index[c, NODE1 + side] + j
            ux += b * v[0, i]
            uy += b * v[1, i]
            uz += b * v[2, i]
            e = g[E1 + 4 * side + j]
            i = index[c, ELEM1 + side] + j
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
            wx += e * (p[0, i] - half * ax)
            wy += e * (p[1, i] - half * ay)
            wz += e * (p[2, i] - half * az)
        if index[c, RULE] == FITTED:
            for j in range(2):
                b = sign * g[OUTER + 2 * side + j]
                if b != 0.0:
                    i = index[c, NODE1 + side] + 5 * j - 1
                    ux += b * v[0, i]
                    uy += b * v[1, i]
                    uz += b * v[2, i]
    return (
        ux + wy * g[D + 2] - wz * g[D + 1],
        uy + wz * g[D] - wx * g[D + 2],
        uz + wx * g[D + 1] - wy * g[D],
    )


@kernel(borrows=True)
def push(
    q: Matrix,
    c: int,
    index: Ints,
    geom: Matrix,
    lx: float,
    ly: float,
    lz: float,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
) -> None:
    """Add the velocities that the impulse l on the first rod gives."""
    g = geom[c]
    tx = g[D + 1] * lz - g[D + 2] * ly
    ty = g[D + 2] * lx - g[D] * lz
    tz = g[D] * ly - g[D + 1] * lx
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for j in range(4):
            i = index[c, NODE1 + side] + j
            b = sign * g[B1 + 4 * side + j] * mobility[0, i]
            v[0, i] += b * lx
            v[1, i] += b * ly
            v[2, i] += b * lz
            i = index[c, ELEM1 + side] + j
            e = g[E1 + 4 * side + j]
            across, along = mobility[1, i], mobility[2, i]
            # p counts the axial part twice: its inertia is twice that across
            extra = 2.0 * along - across
            p[0, i] += e * across * tx
            p[1, i] += e * across * ty
            p[2, i] += e * across * tz
            if extra != 0.0:
                ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
                ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
                az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
                turn = e * extra * (tx * ax + ty * ay + tz * az)
                p[0, i] += turn * ax
                p[1, i] += turn * ay
                p[2, i] += turn * az
        if index[c, RULE] == FITTED:
            for j in range(2):
                b = sign * g[OUTER + 2 * side + j]
                if b != 0.0:
                    i = index[c, NODE1 + side] + 5 * j - 1
                    v[0, i] += b * mobility[0, i] * lx
                    v[1, i] += b * mobility[0, i] * ly
                    v[2, i] += b * mobility[0, i] * lz
