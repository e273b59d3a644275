"""Elastic forces, kicks and free motion of all discrete Cosserat rods at once.

All rods stand one after another in arrays (component, slot). A slot has one node, and the element
from this node to that of the next slot; the last slot of a rod has no stiffness. So every loop runs
over all rods without a branch. Vectors have the rows x, y, z, quaternions w, x, y, z.

The elastic energy is the sum of ds/2 (g - e3) . S (g - e3) over elements of rest length ds, with
the strain g = (r_next - r) / ds in the directors and S = diag(kGA, kGA, EA), and of
1/2 (phi - phi_0) . B (phi - phi_0) over joints, with the rotation vector phi between neighbouring
elements, phi_0 that without load, and B = diag(EI1, EI2, GJ) over the length of the joint. Forces
and torques are minus its derivatives.

Symbols: r position of a node [m], q quaternion of the frame of an element, d3 its third director,
v velocity of a node [m/s], p angular momentum of an element in space over its inertia about a
diameter [1/s]. For a round section the angular velocity is p - (p . d3) d3 / 2. A kick changes v
and p by forces and torques; a drift changes r and q at constant v and p. f and t are forces on
nodes [N] and torques on elements in space [N m], `mat` and `drag` the tables of `Material` and
`Drag`, h the length of a kick or drift [s]. Functions without `@kernel` and with a leading
underscore are the NumPy fallbacks of the kernels after them. All methods for rods (`leapfrog`,
`midpoint`, `plane`, `statics`, `wrapped`) call these kernels.

Source: formulas sheet (docs/formulas/rods.md), sections 1, 3 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics import rows
from stiction.numerics.arrays import Matrix
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel
from stiction.rods.series import ASIN, COS, LARGEST_SINE, SINC, TANGENT

# numbers of rows of the tables of material and drag
MATERIAL_ROWS, DRAG_ROWS = 14, 3

Floats = npt.NDArray[np.float64]


class State(NamedTuple):
    """Positions r (3, slots), quaternions q (4, slots), velocities v and momenta p (3, slots)."""

    r: Floats
    q: Floats
    v: Floats
    p: Floats


class Material(NamedTuple):
    """Rows of the table of materials, each (slots,).

    length, inverse_length : rest length of the element [m], and its inverse [1/m]
    shear, axial : stiffness of the element, k G A and E A [N]
    bend, bend2, twist : stiffness of the joint before the element about its first, second and third
        director: E I1, E I2 and G J over its length [N m]
    angle : (3, slots) natural rotation vector of that joint [rad]
    mass, inertia : mass of the node [kg]; inertia of the element about a diameter [kg m^2]
    free, turns : 1 / mass and 1 / inertia; 0 if a support fixes node or element
    """

    length: Floats
    inverse_length: Floats
    shear: Floats
    axial: Floats
    bend: Floats
    twist: Floats
    angle: Floats
    mass: Floats
    inertia: Floats
    free: Floats
    turns: Floats
    bend2: Floats


class Drag(NamedTuple):
    """Rows of the table of drag, each (slots,).

    node : force per velocity of the node [N s/m]
    element : moment per angular velocity of the element [N m s]
    retardation : retardation time of internal damping [s]
    """

    node: Floats
    element: Floats
    retardation: Floats


@kernel(views=True)
def material_of(mat: Floats) -> Material:
    """Return views of the rows of a table of materials."""
    return Material(
        mat[0],
        mat[1],
        mat[2],
        mat[3],
        mat[4],
        mat[5],
        mat[6:9],
        mat[9],
        mat[10],
        mat[11],
        mat[12],
        mat[13],
    )


@kernel(views=True)
def forces_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of a scratch table: all forces [N] and torques [N m]."""
    return scratch[6:9], scratch[9:12]


@kernel(views=True)
def loads_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of a scratch table: forces [N] and torques [N m] of loads alone."""
    return scratch[12:15], scratch[15:18]


@kernel(views=True)
def drag_of(drag: Floats) -> Drag:
    """Return views of the rows of a table of drag."""
    return Drag(drag[0], drag[1], drag[2])


@kernel
def horner(c: tuple[float, ...], x: float) -> float:
    """Return c[0] + c[1] x + ..."""
    y = c[-1]
    for i in range(len(c) - 2, -1, -1):
        y = y * x + c[i]
    return y


def _elastic(r: Floats, q: Floats, mat: Floats, n: Floats, m: Floats, f: Floats, t: Floats) -> None:
    rod = material_of(mat[:, :-1])
    ds, inv, shear, axial = rod.length, rod.inverse_length, rod.shear, rod.axial
    d = (r[:, 1:] - r[:, :-1]) * inv
    axis = rows.axes_of(q[:, :-1])
    along = (axial - shear) * rows.dot(d, axis) - axial
    n[:, :-1] = shear * d + along * axis
    t[:, :-1] = ds * along * rows.cross(d, axis)
    n[:, -1], t[:, -1], f[:, 0] = 0.0, 0.0, n[:, 0]
    f[:, 1:] = n[:, 1:] - n[:, :-1]
    if not _bend_small(q, mat, m):
        bend_any(q, mat, m)
    t[:, :-1] += m[:, 1:] - m[:, :-1]


@kernel(plain=_elastic, separate=True)
def elastic(r: Matrix, q: Matrix, mat: Floats, n: Matrix, m: Matrix, f: Matrix, t: Matrix) -> None:
    """Set f to elastic forces on nodes [N], and t to torques on elements in space [N m].

    n, m : (3, slots) outputs: stress resultants of elements [N], moments of joints [N m]
    """
    rod = material_of(mat)
    size = r.shape[1]
    rx, ry, rz = r[0], r[1], r[2]
    qw, qx, qy, qz = q[0], q[1], q[2], q[3]
    nx, ny, nz = n[0], n[1], n[2]
    tx, ty, tz = t[0], t[1], t[2]
    ds, inv, shear, axial = rod.length, rod.inverse_length, rod.shear, rod.axial
    for i in range(size - 1):
        dx = (rx[i + 1] - rx[i]) * inv[i]
        dy = (ry[i + 1] - ry[i]) * inv[i]
        dz = (rz[i + 1] - rz[i]) * inv[i]
        # the third director, last column of the rotation matrix of q
        ax = 2.0 * (qx[i] * qz[i] + qw[i] * qy[i])
        ay = 2.0 * (qy[i] * qz[i] - qw[i] * qx[i])
        az = 1.0 - 2.0 * (qx[i] * qx[i] + qy[i] * qy[i])
        # n = S (Gamma - E3) in space (sheet, section 1), with d = r': kGA d + ((EA - kGA) d . d3 -
        # EA) d3; the shear stiffness is isotropic, so d1 and d2 are not needed
        along = (axial[i] - shear[i]) * (dx * ax + dy * ay + dz * az) - axial[i]
        nx[i] = shear[i] * dx + along * ax
        ny[i] = shear[i] * dy + along * ay
        nz[i] = shear[i] * dz + along * az
        # torque ds d x n; only the part of n along d3 contributes
        turn = ds[i] * along
        tx[i] = turn * (dy * az - dz * ay)
        ty[i] = turn * (dz * ax - dx * az)
        tz[i] = turn * (dx * ay - dy * ax)
    for a in range(3):
        n[a, size - 1] = 0.0
        t[a, size - 1] = 0.0
        f[a, 0] = n[a, 0]
        na, fa = n[a], f[a]
        for i in range(1, size):
            # force on a node: n of the element after it minus n of the element before it
            fa[i] = na[i] - na[i - 1]
    # power series for small angles between elements; the general formula if one is too large
    if not bend_small(q, mat, m):
        bend_any(q, mat, m)
    for a in range(3):
        ma, ta = m[a], t[a]
        for i in range(size - 1):
            # moment of the joint after an element minus that of the joint before it
            ta[i] += ma[i + 1] - ma[i]


def _bend_small(q: Floats, mat: Floats, m: Floats) -> bool:
    joint = material_of(mat[:, 1:])
    bend, bend2, twist = joint.bend, joint.bend2, joint.twist
    w, v = rows.between(q)
    s2 = rows.dot(v, v)
    m[:, 0] = 0.0
    if (bend * (s2 - LARGEST_SINE) > 0.0).any() or (bend * w < 0.0).any():
        return False
    scale = rows.series(ASIN, s2)
    k = np.stack([bend, bend2, twist]) * (scale * v - joint.angle)
    turn = rows.cross(v, k)
    k += 0.5 * scale * turn + rows.series(TANGENT, s2) * rows.cross(v, turn)
    m[:, 1:] = rows.in_space(q[:, :-1], k)
    return True


@kernel(plain=_bend_small)
def bend_small(q: Matrix, mat: Floats, m: Matrix) -> bool:
    """Set m (3, slots) to the moments of all joints in space [N m], by power series.

    The moment of slot i acts between its element and the one before. Returns False if an angle is
    too large for the series.
    """
    rod = material_of(mat)
    size = q.shape[1]
    qw, qx, qy, qz = q[0], q[1], q[2], q[3]
    mx, my, mz = m[0], m[1], m[2]
    bend, bend2, twist = rod.bend, rod.bend2, rod.twist
    phi1, phi2, phi3 = rod.angle[0], rod.angle[1], rod.angle[2]
    bad = 0
    m[0, 0] = 0.0
    m[1, 0] = 0.0
    m[2, 0] = 0.0
    for i in range(1, size):
        aw, ax, ay, az = qw[i - 1], qx[i - 1], qy[i - 1], qz[i - 1]
        bw, bx, by, bz = qw[i], qx[i], qy[i], qz[i]
        # conj(a) b: the rotation between the elements, the same in the frames of both
        w = aw * bw + ax * bx + ay * by + az * bz
        x = aw * bx - ax * bw - ay * bz + az * by
        y = aw * by + ax * bz - ay * bw - az * bx
        z = aw * bz - ax * by + ay * bx - az * bw
        s2 = x * x + y * y + z * z
        # counted without a branch, for vectorisation
        bad += (bend[i] * (s2 - LARGEST_SINE) > 0.0) + (bend[i] * w < 0.0)
        scale = horner(ASIN, s2)
        # phi = ASIN(s^2) vec is the rotation vector; M = B (phi - phi_0), stiffness over the
        # joint's length
        kx = bend[i] * (scale * x - phi1[i])
        ky = bend2[i] * (scale * y - phi2[i])
        kz = twist[i] * (scale * z - phi3[i])
        # a virtual rotation changes phi by the inverse tangent of the exponential map, which turns
        # M into the moment (1 + hat(phi) / 2 + c hat(phi)^2) M (sheet, section 3)
        half = 0.5 * scale
        cx, cy, cz = y * kz - z * ky, z * kx - x * kz, x * ky - y * kx
        # (phi x (phi x m)) c = TANGENT(s2) vec x (vec x m)
        tangent = horner(TANGENT, s2)
        kx += half * cx + tangent * (y * cz - z * cy)
        ky += half * cy + tangent * (z * cx - x * cz)
        kz += half * cz + tangent * (x * cy - y * cx)
        # rotated into space by the quaternion of the element before
        ux, uy, uz = ay * kz - az * ky, az * kx - ax * kz, ax * ky - ay * kx
        mx[i] = kx + 2.0 * (aw * ux + ay * uz - az * uy)
        my[i] = ky + 2.0 * (aw * uy + az * ux - ax * uz)
        mz[i] = kz + 2.0 * (aw * uz + ax * uy - ay * ux)
    return bad == 0


@kernel
def joint_angle(q: Matrix, i: int) -> tuple[float, float, float]:
    """Return the rotation vector from element i - 1 to element i, in the frame of either."""
    aw, ax, ay, az = q[0, i - 1], q[1, i - 1], q[2, i - 1], q[3, i - 1]
    bw, bx, by, bz = q[0, i], q[1, i], q[2, i], q[3, i]
    w = aw * bw + ax * bx + ay * by + az * bz
    x = aw * bx - ax * bw - ay * bz + az * by
    y = aw * by + ax * bz - ay * bw - az * bx
    z = aw * bz - ax * by + ay * bx - az * bw
    # q and -q are the same rotation: take the one with an angle below pi
    sign = 1.0 if w >= 0.0 else -1.0
    s = math.sqrt(x * x + y * y + z * z)
    # angle over the sine of its half, 2 at zero; atan2 is accurate at any angle
    scale = 2.0 * sign
    if s > 1e-8:
        scale = sign * 2.0 * math.atan2(s, sign * w) / s
    return scale * x, scale * y, scale * z


@kernel
def bend_any(q: Matrix, mat: Floats, m: Matrix) -> None:
    """Set m to the moments of all joints in space [N m], for any angles below pi."""
    rod = material_of(mat)
    for i in range(1, q.shape[1]):
        # a slot without a joint: before the first element of a rod, or after the last one
        if rod.bend[i] == 0.0:
            m[0, i] = 0.0
            m[1, i] = 0.0
            m[2, i] = 0.0
            continue
        x, y, z = joint_angle(q, i)
        angle2 = x * x + y * y + z * z
        kx = rod.bend[i] * (x - rod.angle[0, i])
        ky = rod.bend2[i] * (y - rod.angle[1, i])
        kz = rod.twist[i] * (z - rod.angle[2, i])
        # c = (1 - (th / 2) cot(th / 2)) / th^2 (sheet, section 3), by its series near zero
        c = 1.0 / 12.0 + angle2 / 720.0
        if angle2 > 1e-4:
            half = 0.5 * math.sqrt(angle2)
            c = (1.0 - half / math.tan(half)) / angle2
        cx, cy, cz = y * kz - z * ky, z * kx - x * kz, x * ky - y * kx
        kx += 0.5 * cx + c * (y * cz - z * cy)
        ky += 0.5 * cy + c * (z * cx - x * cz)
        kz += 0.5 * cz + c * (x * cy - y * cx)
        aw, ax, ay, az = q[0, i - 1], q[1, i - 1], q[2, i - 1], q[3, i - 1]
        ux, uy, uz = ay * kz - az * ky, az * kx - ax * kz, ax * ky - ay * kx
        m[0, i] = kx + 2.0 * (aw * ux + ay * uz - az * uy)
        m[1, i] = ky + 2.0 * (aw * uy + az * ux - ax * uz)
        m[2, i] = kz + 2.0 * (aw * uz + ax * uy - ay * ux)


@kernel
def stored_energy(r: Matrix, q: Matrix, mat: Floats) -> float:
    """Return the elastic energy of all rods [J]."""
    rod = material_of(mat)
    total = 0.0
    for i in range(r.shape[1] - 1):
        # the slot after the last element of a rod has no stiffness
        if rod.shear[i] > 0.0:
            inv = rod.inverse_length[i]
            dx = (r[0, i + 1] - r[0, i]) * inv
            dy = (r[1, i + 1] - r[1, i]) * inv
            dz = (r[2, i + 1] - r[2, i]) * inv
            ax, ay, az = axis_of(q, i)
            g3 = dx * ax + dy * ay + dz * az
            # shear strain as a vector avoids a difference of nearly equal squares
            sx, sy, sz = dx - g3 * ax, dy - g3 * ay, dz - g3 * az
            across = sx * sx + sy * sy + sz * sz
            shear, axial = rod.shear[i], rod.axial[i]
            extension = g3 - 1.0
            # 1/2 (Gamma - E3) . S (Gamma - E3) ds
            total += 0.5 * rod.length[i] * (shear * across + axial * (extension * extension))
        if i > 0 and rod.bend[i] > 0.0:
            # 1/2 (phi - phi_0) . B (phi - phi_0) over the joint's length
            x, y, z = joint_angle(q, i)
            x, y, z = x - rod.angle[0, i], y - rod.angle[1, i], z - rod.angle[2, i]
            total += 0.5 * (rod.bend[i] * x * x + rod.bend2[i] * y * y + rod.twist[i] * z * z)
    return total


@kernel
def axis_of(q: Matrix, i: int) -> tuple[float, float, float]:
    """Return the components of the third director d3 of element i."""
    return (
        2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i]),
        2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i]),
        1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i]),
    )


@kernel
def kinetic_energy(q: Matrix, v: Matrix, p: Matrix, mat: Floats) -> float:
    """Return the kinetic energy of all rods [J], moving clamps included."""
    rod = material_of(mat)
    total = 0.0
    for i in range(v.shape[1]):
        speed2 = v[0, i] * v[0, i] + v[1, i] * v[1, i] + v[2, i] * v[2, i]
        ax, ay, az = axis_of(q, i)
        along = p[0, i] * ax + p[1, i] * ay + p[2, i] * az
        spin2 = p[0, i] * p[0, i] + p[1, i] * p[1, i] + p[2, i] * p[2, i] - 0.5 * along * along
        total += 0.5 * (rod.mass[i] * speed2 + rod.inertia[i] * spin2)
    return total


def _kick(v: Floats, p: Floats, f: Floats, t: Floats, mat: Floats, h: float) -> None:
    rod = material_of(mat)
    v += h * rod.free * f
    p += h * rod.turns * t


@kernel(plain=_kick)
def kick(v: Matrix, p: Matrix, f: Matrix, t: Matrix, mat: Floats, h: float) -> None:
    """Add h f / m to v and h t / inertia to p, for a kick of length h; fixed ones do not change."""
    rod = material_of(mat)
    for a in range(3):
        va, pa, fa, ta = v[a], p[a], f[a], t[a]
        free, turns = rod.free, rod.turns
        for i in range(v.shape[1]):
            va[i] += h * free[i] * fa[i]
            pa[i] += h * turns[i] * ta[i]


def _damped_kick(
    q: Floats, v: Floats, p: Floats, f: Floats, t: Floats, mat: Floats, drag: Floats, h: float
) -> None:
    rod, drags = material_of(mat), drag_of(drag)
    free, turns = rod.free, rod.turns
    mean = (v + 0.5 * h * free * f) / (1.0 + 0.5 * h * drags.node * free)
    v[:] = np.where(free > 0.0, 2.0 * mean - v, v)
    across, axis = 0.5 * h * drags.element * turns, rows.axes_of(q)
    mean = p + 0.5 * h * turns * t
    along = rows.dot(mean, axis)
    extra = along / (1.0 + 0.5 * across) - along / (1.0 + across)
    mean = mean / (1.0 + across) + extra * axis
    p[:] = np.where(turns > 0.0, 2.0 * mean - p, p)


@kernel(plain=_damped_kick)
def damped_kick(
    q: Matrix, v: Matrix, p: Matrix, f: Matrix, t: Matrix, mat: Floats, drag: Floats, h: float
) -> None:
    """Kick of length h with linear drag at the mean velocity.

    m (v+ - v) = h (f - c (v+ + v) / 2), drag coefficient c: implicit, stable for any drag. Angular
    momenta obey the same equation with torques, and drag on the angular velocity.
    """
    rod, drags = material_of(mat), drag_of(drag)
    for i in range(v.shape[1]):
        if rod.free[i] > 0.0:
            # mean velocity from mean = v + (h / 2) (f - drag mean) / m: implicit, hence stable
            # for any drag
            lag = 0.5 * h * drags.node[i] * rod.free[i]
            for a in range(3):
                mean = (v[a, i] + 0.5 * h * rod.free[i] * f[a, i]) / (1.0 + lag)
                # the velocity after the kick, from the mean
                v[a, i] = 2.0 * mean - v[a, i]
        if rod.turns[i] > 0.0:
            across = 0.5 * h * drags.element[i] * rod.turns[i]
            ax, ay, az = axis_of(q, i)
            x = p[0, i] + 0.5 * h * rod.turns[i] * t[0, i]
            y = p[1, i] + 0.5 * h * rod.turns[i] * t[1, i]
            z = p[2, i] + 0.5 * h * rod.turns[i] * t[2, i]
            along = x * ax + y * ay + z * az
            # the axial angular velocity is half of the axial p, and so is the drag on it
            extra = along / (1.0 + 0.5 * across) - along / (1.0 + across)
            x, y, z = (
                x / (1.0 + across) + extra * ax,
                y / (1.0 + across) + extra * ay,
                z / (1.0 + across) + extra * az,
            )
            p[0, i] = 2.0 * x - p[0, i]
            p[1, i] = 2.0 * y - p[1, i]
            p[2, i] = 2.0 * z - p[2, i]


def _copy(values: Floats, to: Floats) -> None:
    to[:] = values


@kernel(plain=_copy)
def copy(values: Matrix, to: Matrix) -> None:
    """Copy an array (rows, slots); a loop compiles ten times faster than an array assignment."""
    for a in range(to.shape[0]):
        for i in range(to.shape[1]):
            to[a, i] = values[a, i]


def _drift(r: Floats, q: Floats, v: Floats, p: Floats, h: float) -> None:
    r += h * v
    half = 0.5 * h * p
    a2 = rows.dot(half, half)
    # fmax ignores NaN, as the comparison in the compiled loop does
    if np.fmax.reduce(a2, initial=0.0) > 0.25:
        turn_any(q, p, h)
        return
    b = -0.25 * h * rows.dot(p, rows.axes_of(q))
    cb, sb = rows.series(COS, b * b), b * rows.series(SINC, b * b)
    w1, x1, y1, z1 = rows.turned_by(rows.series(COS, a2), rows.series(SINC, a2) * half, q)
    q[0], q[3] = w1 * cb - z1 * sb, z1 * cb + w1 * sb
    q[1], q[2] = x1 * cb + y1 * sb, y1 * cb - x1 * sb
    q *= 1.5 - 0.5 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])


@kernel(plain=_drift, separate=True)
def drift(r: Matrix, q: Matrix, v: Matrix, p: Matrix, h: float) -> None:
    """Drift for h [s]: nodes at constant velocity, elements as free axisymmetric rotors.

    An element rotates by |p| h about p, and by -(p . d3) h / 2 about its axis d3, both exactly.
    """
    size = r.shape[1]
    for a in range(3):
        ra, va = r[a], v[a]
        for i in range(size):
            ra[i] += h * va[i]
    qw, qx, qy, qz = q[0], q[1], q[2], q[3]
    px, py, pz = p[0], p[1], p[2]
    # the series hold to rounding while half the angle is below half a radian
    largest = 0.0
    for i in range(size):
        x, y, z = 0.5 * h * px[i], 0.5 * h * py[i], 0.5 * h * pz[i]
        largest = max(largest, x * x + y * y + z * z)
    if largest > 0.25:
        turn_any(q, p, h)
        return
    for i in range(size):
        # a free axisymmetric rotor rotates about the constant p by |p| h, and about its own axis by
        # -(p . d3) h / 2, both at constant rates: the product of these rotations is exact
        x, y, z = 0.5 * h * px[i], 0.5 * h * py[i], 0.5 * h * pz[i]
        a2 = x * x + y * y + z * z
        c, s = horner(COS, a2), horner(SINC, a2)
        x, y, z = s * x, s * y, s * z
        w0, x0, y0, z0 = qw[i], qx[i], qy[i], qz[i]
        ax = 2.0 * (x0 * z0 + w0 * y0)
        ay = 2.0 * (y0 * z0 - w0 * x0)
        az = 1.0 - 2.0 * (x0 * x0 + y0 * y0)
        # half the angle about its own axis; p . d3 is constant
        b = -0.25 * h * (px[i] * ax + py[i] * ay + pz[i] * az)
        cb, sb = horner(COS, b * b), b * horner(SINC, b * b)
        # the rotation about p in space stands to the left of q, that about d3 to the right
        w1 = c * w0 - x * x0 - y * y0 - z * z0
        x1 = c * x0 + x * w0 + y * z0 - z * y0
        y1 = c * y0 - x * z0 + y * w0 + z * x0
        z1 = c * z0 + x * y0 - y * x0 + z * w0
        w2, z2 = w1 * cb - z1 * sb, z1 * cb + w1 * sb
        x2, y2 = x1 * cb + y1 * sb, y1 * cb - x1 * sb
        # normalise the quaternion, to first order
        unit = 1.5 - 0.5 * (w2 * w2 + x2 * x2 + y2 * y2 + z2 * z2)
        qw[i], qx[i], qy[i], qz[i] = unit * w2, unit * x2, unit * y2, unit * z2


@kernel
def turn_any(q: Matrix, p: Matrix, h: float) -> None:
    """Rotate all elements as free rotors for h, for any angles."""
    for i in range(q.shape[1]):
        x, y, z = 0.5 * h * p[0, i], 0.5 * h * p[1, i], 0.5 * h * p[2, i]
        angle = math.sqrt(x * x + y * y + z * z)
        c, s = cos(angle), 1.0
        if angle > 1e-8:
            s = sin(angle) / angle
        x, y, z = s * x, s * y, s * z
        ax, ay, az = axis_of(q, i)
        b = -0.25 * h * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
        cb, sb = cos(b), sin(b)
        w0, x0, y0, z0 = q[0, i], q[1, i], q[2, i], q[3, i]
        # about p in space from the left, then about d3 from the right, as in `drift`
        w1 = c * w0 - x * x0 - y * y0 - z * z0
        x1 = c * x0 + x * w0 + y * z0 - z * y0
        y1 = c * y0 - x * z0 + y * w0 + z * x0
        z1 = c * z0 + x * y0 - y * x0 + z * w0
        w2, z2 = w1 * cb - z1 * sb, z1 * cb + w1 * sb
        x2, y2 = x1 * cb + y1 * sb, y1 * cb - x1 * sb
        unit = 1.5 - 0.5 * (w2 * w2 + x2 * x2 + y2 * y2 + z2 * z2)
        q[0, i], q[1, i], q[2, i], q[3, i] = unit * w2, unit * x2, unit * y2, unit * z2
