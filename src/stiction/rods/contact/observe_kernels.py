"""Observed quantities of a state: contact forces, motion of contact points, energies, momenta.

The slip velocity at the contact of two axes R1(s1), R2(s2) is

    u = R1' + b1 W1 x D - R2' + b2 W2 x D,   D = R2 - R1,

with primes for rates, angular velocities W1, W2 and levers b1, b2: the radii over their sum.
Contact forces l of rolling follow from u' = 0: with u = J v, the accelerations a without contacts,
and the Delassus matrix G, G l = -(J a + J' v). `contact.state` and `leapfrog.run` call these
kernels at saved times; `law_kernels` uses the drift J' v in each step.

Arguments are those of `contact.kernels`: r (3, slots) nodes [m], q (4, slots) quaternions of the
frames, v (3, slots) velocities [m/s], p (3, slots) angular momenta over the inertia about a
diameter [1/s], so that W = p - (p . d3) d3 / 2 in a round section with axis d3. `mat` is the table
of materials of `rod_kernels`, k one `Contact`; (10) is an equation of Gay-Balmaz and Putkaradze
2012.

Source: formulas sheet (docs/formulas/rods.md), sections 2, 3 and 6.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import axis_point, four_around, shift
from stiction.rods.contact.kernels import (
    CURVE,
    EMPTY,
    LINE,
    PLANE,
    ROLL,
    SLIP,
    Contact,
    Contacts,
    dot,
    push,
    put,
    response,
    slip_velocity,
)
from stiction.rods.rod_kernels import axis_of, kinetic_energy, material_of, stored_energy

Floats = npt.NDArray[np.float64]


class Totals(Struct):
    """Energies and momenta of all rods.

    kinetic, stored : energies [J]
    momentum, angular_momentum : (3,) about the origin [kg m/s], [kg m^2/s]
    """

    kinetic: float
    stored: float
    momentum: Annotated[Vector, 3]
    angular_momentum: Annotated[Vector, 3]


class ContactMotion(Struct):
    """Motion of a contact.

    place_rates : rates of the positions s1, s2 along both bodies [elements/s]
    slip, point : slip velocity u [m/s], and the contact point [m]
    """

    place_rates: Annotated[Vector, 2]
    slip: Annotated[Vector, 3]
    point: Annotated[Vector, 3]


@kernel
def contact_rates(v: Matrix, k: Contact) -> tuple[float, float]:
    """Return rates of s1, s2 [elements/s], from the time derivative of D . t1 = D . t2 = 0.

    With the tangents t1, t2: A s' = -(V . t1 + D . v1', V . t2 + D . v2'), where V is the velocity
    of point 2 minus that of point 1 and v1', v2' are derivatives along the rods. A is
    ((-t1 . t1 + D . x1'', t1 . t2), (-t1 . t2, t2 . t2 + D . x2'')), x'' = d2R/ds2 (sheet, (10)).
    """
    d, tangents, curvatures = k.separation, k.tangents, k.curvatures
    # (10), A s' = -(V . t1 + D . v1', V . t2 + D . v2'): V is the difference of the velocities, v1'
    # and v2' are their slopes along the rods; A = ((a11, a12), (-a12, a22)) has the curvatures x''
    v1, v2 = 0.0, 0.0
    for a in range(3):
        x1, w1, x2, w2 = both_points(v, k, a)
        v1 += (x2 - x1) * tangents[0, a] + d[a] * w1
        v2 += (x2 - x1) * tangents[1, a] + d[a] * w2
    a11, a12, a22 = 0.0, 0.0, 0.0
    for a in range(3):
        t1, t2 = tangents[0, a], tangents[1, a]
        a11 += -t1 * t1 + d[a] * curvatures[0, a]
        a12 += t1 * t2
        a22 += t2 * t2 + d[a] * curvatures[1, a]
    # a line contact has a constant s1: only the second row of (10) remains
    if k.kind == LINE:
        return 0.0, (-v2 / a22 if k.shape == CURVE else 0.0)
    # a contact at an end does not move along that rod
    end1 = k.place[0] <= 0.0 or k.place[0] >= k.elements[0]
    end2 = k.place[1] <= 0.0 or k.place[1] >= k.elements[1]
    if end1 or end2 or k.shape != CURVE:
        rate1 = 0.0 if end1 else -v1 / a11
        return rate1, (0.0 if end2 or k.shape != CURVE else -v2 / a22 if end1 else 0.0)
    det = a11 * a22 + a12 * a12
    return -(a22 * v1 - a12 * v2) / det, -(a12 * v1 + a11 * v2) / det


@kernel
def both_points(v: Matrix, k: Contact, a: int) -> tuple[float, float, float, float]:
    """Return component a of (v1, dv1/ds, v2, dv2/ds), velocities of both axes at the contact."""
    x1, w1, _ = axis_point(v, k.first[0], k.elements[0], k.place[0], a, k.rule)
    if k.shape == CURVE:
        x2, w2, _ = axis_point(v, k.first[1], k.elements[1], k.place[1], a, k.rule)
        return x1, w1, x2, w2
    # the velocity of a sphere or plane has no derivative by s
    x2 = 0.0
    for j in range(4):
        x2 += k.node_weights[1, j] * v[a, k.nodes[1] + j]
    return x1, w1, x2, 0.0


@kernel
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


@kernel
def slip_drift(
    q: Matrix, k: Contact, v: Matrix, p: Matrix, rate1: float, rate2: float, out: Vector
) -> None:
    """Set out[:3] to J' v, the rate of u at constant v and p, where u = J v.

    rate1, rate2 : rates of s1, s2 [elements/s]
    out : (10,) also out[3:6], the rate of D [m/s]; the rest is work space
    """
    d, n, dd = k.separation, k.normal, out[3:6]
    for a in range(3):
        x1, w1, x2, w2 = both_points(v, k, a)
        # D' = V + t2 s2' - t1 s1', and the first part of J' v, v1' s1' - v2' s2'
        dd[a] = x2 + k.tangents[1, a] * rate2 - x1 - k.tangents[0, a] * rate1
        out[a] = w1 * rate1 - w2 * rate2
    if k.shape == PLANE:
        # D turns with the plane at its angular velocity W. The foot R1 + D of the perpendicular
        # moves in the plane, so that the velocity R2' there changes by W x (R1' + D' - R2')
        i = k.frames[1]
        ax, ay, az = axis_of(q, i)
        half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
        wx, wy, wz = p[0, i] - half * ax, p[1, i] - half * ay, p[2, i] - half * az
        rate, x, y, z = dot(dd, n), dd[0], dd[1], dd[2]
        put(
            dd,
            rate * n[0] + (wy * d[2] - wz * d[1]),
            rate * n[1] + (wz * d[0] - wx * d[2]),
            rate * n[2] + (wx * d[1] - wy * d[0]),
        )
        x, y, z = dd[0] - x, dd[1] - y, dd[2] - z
        out[0] -= wy * z - wz * y
        out[1] -= wz * x - wx * z
        out[2] -= wx * y - wy * x
    # o = b1 W1 + b2 W2 = sum of e w over the four frames around each point, with the weights e of
    # `frame_weights` and the angular velocities w of frames; (wx, wy, wz) is the rate o': weights
    # change with s, frames rotate freely
    wx, wy, wz, ox, oy, oz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for side in range(2):
        rate = rate1 if side == 0 else rate2
        _, fraction, over = four_around(k.place[side] - 0.5, k.elements[side] - 1)
        for j in range(4):
            out[6 + j] = spline_slope(fraction, j)
        if over != 0:
            shift(out[6:], over)
        for j in range(4):
            i = k.frames[side] + j
            e, de = k.frame_weights[side, j], k.levers[side] * rate * out[6 + j]
            # d3 of the frame, and w = p - (p . d3) d3 / 2
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
    # the rest of J' v: o' x D + o x D'
    out[0] += wy * d[2] - wz * d[1] + oy * dd[2] - oz * dd[1]
    out[1] += wz * d[0] - wx * d[2] + oz * dd[0] - ox * dd[2]
    out[2] += wx * d[1] - wy * d[0] + ox * dd[1] - oy * dd[0]


@kernel
def solve3(k: Contact, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return G^-1 (x, y, z) for the Delassus matrix G of a contact."""
    g = k.delassus
    a, b, c, d, e, f = g[0, 0], g[0, 1], g[0, 2], g[1, 1], g[1, 2], g[2, 2]
    # cofactors of a symmetric matrix (Cramer's rule)
    i11, i12, i13 = d * f - e * e, c * e - b * f, b * e - c * d
    i22, i23, i33 = a * f - c * c, b * c - a * e, a * d - b * b
    det = a * i11 + b * i12 + c * i13
    return (
        (i11 * x + i12 * y + i13 * z) / det,
        (i12 * x + i22 * y + i23 * z) / det,
        (i13 * x + i23 * y + i33 * z) / det,
    )


@kernel
def contact_forces(
    q: Matrix,
    contacts: Contacts,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    av: Matrix,
    ap: Matrix,
    given: Matrix,
    forces: Matrix,
    workspace: Vector,
) -> None:
    """Set `forces` (contact, 3) [N]: those for which rolling contacts do not slip.

    mobility : (3, slots) inverse masses and inertias, as in `contact.kernels.response`
    v, p : velocities and momenta over inertia
    av, ap : their rates, without contacts on entry, with contacts on return
    given : (contact, 3) known forces of slipping contacts [N]
    workspace : (10,)
    """
    closed = 0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        for a in range(3):
            forces[c, a] = 0.0
        if k.mode < ROLL:
            continue
        closed += 1
        response(q, k, mobility)
        # forces of slip follow from the law and are known; those of rolling are the unknowns
        if k.mode == SLIP:
            for a in range(3):
                forces[c, a] = given[c, a]
            f = forces[c]
            push(q, k, f[0], f[1], f[2], mobility, av, ap)
    # Gauss-Seidel sweeps over rolling contacts; at most 400, chosen
    for sweep in range(400):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode != ROLL:
                continue
            # rolling holds in time: u' = J a + J' v = 0, so that G l = -(J a_free + J' v) (sheet,
            # section 3)
            rate1, rate2 = contact_rates(v, k)
            slip_drift(q, k, v, p, rate1, rate2, workspace)
            ux, uy, uz = slip_velocity(q, k, av, ap)
            dx, dy, dz = solve3(k, -ux - workspace[0], -uy - workspace[1], -uz - workspace[2])
            push(q, k, dx, dy, dz, mobility, av, ap)
            forces[c, 0] += dx
            forces[c, 1] += dy
            forces[c, 2] += dz
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(forces[c, 0]), abs(forces[c, 1]), abs(forces[c, 2]))
        # one contact is exact after one pass; the second removes its rounding
        if change <= 1e-14 * size or (closed == 1 and sweep == 1):
            break


@kernel
def project(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> None:
    """Project v, p on u = 0 at closed contacts, orthogonally in the metric of kinetic energy."""
    for _ in range(400):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL:
                continue
            response(q, k, mobility)
            # G P = -u in each contact, in turn; a change of velocities M^-1 J^T P is orthogonal in
            # the metric of kinetic energy
            ux, uy, uz = slip_velocity(q, k, v, p)
            dx, dy, dz = solve3(k, -ux, -uy, -uz)
            push(q, k, dx, dy, dz, mobility, v, p)
            change = max(change, abs(ux), abs(uy), abs(uz))
        # converged if slip is at rounding of the largest velocity of a node
        for a in range(3):
            for i in range(v.shape[1]):
                size = max(size, abs(v[a, i]))
        if change <= 1e-15 * size:
            break


@kernel
def momenta(r: Matrix, v: Matrix, p: Matrix, mat: Floats, out: Totals) -> None:
    """Set linear and angular momentum of all rods, about the origin [kg m/s, kg m^2/s]."""
    rod = material_of(mat)
    # sum of m v, and of m r x v + J p: p is the angular momentum over the transverse inertia J
    linear, angular = out.momentum, out.angular_momentum
    put(linear, 0.0, 0.0, 0.0)
    put(angular, 0.0, 0.0, 0.0)
    for i in range(r.shape[1]):
        m, j = rod.mass[i], rod.inertia[i]
        linear[0] += m * v[0, i]
        linear[1] += m * v[1, i]
        linear[2] += m * v[2, i]
        angular[0] += m * (r[1, i] * v[2, i] - r[2, i] * v[1, i]) + j * p[0, i]
        angular[1] += m * (r[2, i] * v[0, i] - r[0, i] * v[2, i]) + j * p[1, i]
        angular[2] += m * (r[0, i] * v[1, i] - r[1, i] * v[0, i]) + j * p[2, i]


@kernel
def survey(
    r: Matrix,
    q: Matrix,
    v: Matrix,
    p: Matrix,
    mat: Floats,
    contacts: Contacts,
    totals: Table[Totals],
    motions: Table[ContactMotion],
) -> None:
    """Set energies and momenta of all rods, and the motion of each contact."""
    totals[0].kinetic = kinetic_energy(q, v, p, mat)
    totals[0].stored = stored_energy(r, q, mat)
    momenta(r, v, p, mat, totals[0])
    for c in range(contacts.shape[0]):
        k, motion = contacts[c], motions[c]
        if k.mode == EMPTY:
            continue
        u = motion.slip
        motion.place_rates[0], motion.place_rates[1] = contact_rates(v, k)
        u[0], u[1], u[2] = slip_velocity(q, k, v, p)
        for a in range(3):
            x1, _, _ = axis_point(r, k.first[0], k.elements[0], k.place[0], a, k.rule)
            motion.point[a] = x1 + k.levers[0] * k.separation[a]
