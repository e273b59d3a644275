"""What is read off a state: contact forces at the level of accelerations, contact motion.

Source: formulas sheet of the rods paper, sections 2, 3 and 6.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import axis_point, four_around, shift
from stiction.rods.contact.kernels import (
    B2,
    COUNT1,
    CURVE,
    E1,
    ELEM1,
    EMPTY,
    FIRST1,
    KIND,
    LEVER,
    LINE,
    MODE,
    NODE1,
    PLANE,
    R1,
    R2,
    ROLL,
    RULE,
    SHAPE,
    SLIP,
    T1,
    T2,
    D,
    G,
    N,
    push,
    response,
    slip_velocity,
)
from stiction.rods.rod_kernels import INERTIA, MASS, kinetic_energy, stored_energy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# entries of what `survey` fills for all rods: energies [J], (3) each linear and angular momentum
KINETIC, STORED, MOMENTUM, ANGULAR = 0, 1, 2, 5
WHOLE_ENTRIES = 8
# and columns for each contact: (2) s', (3) slip velocity [m/s], where the surfaces touch [m]
RATES, SLIPPING, POINT = 0, 2, 5
EACH_COLUMNS = 8


@kernel(borrows=True)
def contact_rates(
    v: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix
) -> tuple[float, float]:
    """Return s1', s2' [elements/s] from the tangency conditions in time (sheet, (10))."""
    g = geom[c]
    v1, v2 = 0.0, 0.0
    for a in range(3):
        x1, w1, x2, w2 = both_points(v, c, place, index, geom, a)
        v1 += (x2 - x1) * g[T1 + a] + g[D + a] * w1
        v2 += (x2 - x1) * g[T2 + a] + g[D + a] * w2
    a11, a12, a22 = 0.0, 0.0, 0.0
    for a in range(3):
        a11 += -g[T1 + a] * g[T1 + a] + g[D + a] * g[R1 + a]
        a12 += g[T1 + a] * g[T2 + a]
        a22 += g[T2 + a] * g[T2 + a] + g[D + a] * g[R2 + a]
    if index[c, KIND] == LINE:
        return 0.0, (-v2 / a22 if index[c, SHAPE] == CURVE else 0.0)
    # what stays at an end does not move along that rod
    end1 = place[c, 0] <= 0.0 or place[c, 0] >= index[c, COUNT1]
    end2 = place[c, 1] <= 0.0 or place[c, 1] >= index[c, COUNT1 + 1]
    if end1 or end2 or index[c, SHAPE] != CURVE:
        rate1 = 0.0 if end1 else -v1 / a11
        return rate1, (0.0 if end2 or index[c, SHAPE] != CURVE else -v2 / a22 if end1 else 0.0)
    det = a11 * a22 + a12 * a12
    return -(a22 * v1 - a12 * v2) / det, -(a12 * v1 + a11 * v2) / det


@kernel(borrows=True)
def both_points(
    v: Matrix, c: int, place: Matrix, index: Ints, geom: Matrix, a: int
) -> tuple[float, float, float, float]:
    """Return component a of both curves of v at the contact, each with its slope along the rod."""
    rule = index[c, RULE]
    x1, w1, _ = axis_point(v, index[c, FIRST1], index[c, COUNT1], place[c, 0], a, rule)
    if index[c, SHAPE] == CURVE:
        s2 = place[c, 1]
        x2, w2, _ = axis_point(v, index[c, FIRST1 + 1], index[c, COUNT1 + 1], s2, a, rule)
        return x1, w1, x2, w2
    x2 = 0.0
    for j in range(4):
        x2 += geom[c, B2 + j] * v[a, index[c, NODE1 + 1] + j]
    return x1, w1, x2, 0.0


@kernel(borrows=True)
def spline_slope(x: float, j: int) -> float:
    """Return the derivative of the j-th of the four cubic B-spline values at fraction x."""
    y = 1.0 - x
    if j == 0:
        return -0.5 * y * y
    if j == 1:
        return 1.5 * x * x - 2.0 * x
    if j == 2:
        return 2.0 * y - 1.5 * y * y
    return 0.5 * x * x


@kernel(borrows=True)
def slip_drift(
    q: Matrix,
    c: int,
    place: Matrix,
    index: Ints,
    geom: Matrix,
    v: Matrix,
    p: Matrix,
    rate1: float,
    rate2: float,
    out: Vector,
) -> None:
    """Put the rate of u at constant velocities, J' v, into out[:3]: weights, D and frames move."""
    g = geom[c]
    dd = out[3:6]
    for a in range(3):
        x1, w1, x2, w2 = both_points(v, c, place, index, geom, a)
        dd[a] = x2 + g[T2 + a] * rate2 - x1 - g[T1 + a] * rate1
        out[a] = w1 * rate1 - w2 * rate2
    if index[c, SHAPE] == PLANE:
        # only the distance changes, not the direction
        rate = dd[0] * g[N] + dd[1] * g[N + 1] + dd[2] * g[N + 2]
        dd[0], dd[1], dd[2] = rate * g[N], rate * g[N + 1], rate * g[N + 2]
    wx, wy, wz, ox, oy, oz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        rate = rate1 if side == 0 else rate2
        _, fraction, over = four_around(place[c, side] - 0.5, index[c, COUNT1 + side] - 1)
        for j in range(4):
            out[6 + j] = spline_slope(fraction, j)
        if over != 0:
            shift(out[6:], over)
        for j in range(4):
            i = index[c, ELEM1 + side] + j
            e, de = g[E1 + 4 * side + j], g[LEVER + side] * rate * out[6 + j]
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            px, py, pz = p[0, i], p[1, i], p[2, i]
            half = 0.5 * (px * ax + py * ay + pz * az)
            sx, sy, sz = px - half * ax, py - half * ay, pz - half * az
            ox += e * sx
            oy += e * sy
            oz += e * sz
            # a free rotor: w' = -(p . d3) / 2 (p x d3)
            wx += de * sx - e * half * (py * az - pz * ay)
            wy += de * sy - e * half * (pz * ax - px * az)
            wz += de * sz - e * half * (px * ay - py * ax)
    out[0] += wy * g[D + 2] - wz * g[D + 1] + oy * dd[2] - oz * dd[1]
    out[1] += wz * g[D] - wx * g[D + 2] + oz * dd[0] - ox * dd[2]
    out[2] += wx * g[D + 1] - wy * g[D] + ox * dd[1] - oy * dd[0]


@kernel(borrows=True)
def solve3(g: Vector, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return G^-1 (x, y, z) for the symmetric G in geom."""
    a, b, c, d, e, f = g[G], g[G + 1], g[G + 2], g[G + 4], g[G + 5], g[G + 8]
    i11, i12, i13 = d * f - e * e, c * e - b * f, b * e - c * d
    i22, i23, i33 = a * f - c * c, b * c - a * e, a * d - b * b
    det = a * i11 + b * i12 + c * i13
    return (
        (i11 * x + i12 * y + i13 * z) / det,
        (i12 * x + i22 * y + i23 * z) / det,
        (i13 * x + i23 * y + i33 * z) / det,
    )


@kernel(borrows=True)
def contact_forces(
    q: Matrix,
    place: Matrix,
    index: Ints,
    geom: Matrix,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    av: Matrix,
    ap: Matrix,
    given: Matrix,
    forces: Matrix,
    spare: Vector,
) -> None:
    """Put the forces that keep rolling contacts from slipping into `forces` (contact, 3) [N].

    v, p : velocities; av, ap : accelerations without contacts, which get those with them
    given : forces of slipping contacts, taken as they are
    """
    closed = 0
    for c in range(index.shape[0]):
        for a in range(3):
            forces[c, a] = 0.0
        if index[c, MODE] < ROLL:
            continue
        closed += 1
        response(q, c, index, geom, mobility)
        if index[c, MODE] == SLIP:
            for a in range(3):
                forces[c, a] = given[c, a]
            f = forces[c]
            push(q, c, index, geom, f[0], f[1], f[2], mobility, av, ap)
    for sweep in range(400):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] != ROLL:
                continue
            rate1, rate2 = contact_rates(v, c, place, index, geom)
            slip_drift(q, c, place, index, geom, v, p, rate1, rate2, spare)
            ux, uy, uz = slip_velocity(q, c, index, geom, av, ap)
            dx, dy, dz = solve3(geom[c], -ux - spare[0], -uy - spare[1], -uz - spare[2])
            push(q, c, index, geom, dx, dy, dz, mobility, av, ap)
            forces[c, 0] += dx
            forces[c, 1] += dy
            forces[c, 2] += dz
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(forces[c, 0]), abs(forces[c, 1]), abs(forces[c, 2]))
        if change <= 1e-14 * size or (closed == 1 and sweep == 1):
            break


@kernel(borrows=True)
def project(q: Matrix, index: Ints, geom: Matrix, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Take slip and approach out of the velocities of rolling contacts, least in energy."""
    for _ in range(400):
        change, size = 0.0, 0.0
        for c in range(index.shape[0]):
            if index[c, MODE] < ROLL:
                continue
            response(q, c, index, geom, mobility)
            ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
            dx, dy, dz = solve3(geom[c], -ux, -uy, -uz)
            push(q, c, index, geom, dx, dy, dz, mobility, v, p)
            change = max(change, abs(ux), abs(uy), abs(uz))
        for a in range(3):
            for i in range(v.shape[1]):
                size = max(size, abs(v[a, i]))
        if change <= 1e-15 * size:
            break


@kernel(borrows=True)
def momenta(r: Matrix, v: Matrix, p: Matrix, mat: Matrix, out: Vector) -> None:
    """Put linear and angular momentum of all rods into out [kg m/s, kg m^2/s]."""
    for a in range(MOMENTUM, MOMENTUM + 6):
        out[a] = 0.0
    for i in range(r.shape[1]):
        m, j = mat[MASS, i], mat[INERTIA, i]
        out[MOMENTUM] += m * v[0, i]
        out[MOMENTUM + 1] += m * v[1, i]
        out[MOMENTUM + 2] += m * v[2, i]
        out[ANGULAR] += m * (r[1, i] * v[2, i] - r[2, i] * v[1, i]) + j * p[0, i]
        out[ANGULAR + 1] += m * (r[2, i] * v[0, i] - r[0, i] * v[2, i]) + j * p[1, i]
        out[ANGULAR + 2] += m * (r[0, i] * v[1, i] - r[1, i] * v[0, i]) + j * p[2, i]


@kernel(borrows=True)
def survey(
    r: Matrix,
    q: Matrix,
    v: Matrix,
    p: Matrix,
    mat: Matrix,
    place: Matrix,
    index: Ints,
    geom: Matrix,
    whole: Vector,
    each: Matrix,
) -> None:
    """Put energies and momenta of all rods into whole, the motion of each contact into each."""
    whole[KINETIC] = kinetic_energy(q, v, p, mat)
    whole[STORED] = stored_energy(r, q, mat)
    momenta(r, v, p, mat, whole)
    for c in range(index.shape[0]):
        if index[c, MODE] == EMPTY:
            continue
        e = each[c]
        e[RATES], e[RATES + 1] = contact_rates(v, c, place, index, geom)
        e[SLIPPING], e[SLIPPING + 1], e[SLIPPING + 2] = slip_velocity(q, c, index, geom, v, p)
        for a in range(3):
            s1, rule = place[c, 0], index[c, RULE]
            x1, _, _ = axis_point(r, index[c, FIRST1], index[c, COUNT1], s1, a, rule)
            e[POINT + a] = x1 + geom[c, LEVER] * geom[c, D + a]
