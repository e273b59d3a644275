"""What drives and damps rods: dead loads, internal damping, clamps that move."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.jit import kernel
from stiction.rods.rod_kernels import (
    AXIAL,
    BEND,
    FREE,
    INERTIA,
    INV_DS,
    MASS,
    SHEAR,
    TURNS,
    TWIST,
)

Floats = npt.NDArray[np.float64]


@kernel
def load_factor(times: Floats, factors: Floats, first: int, last: int, t: float) -> Any:
    """Return the piecewise linear factor of a load at time t; 1 without a history."""
    if last == first:
        return 1.0
    if t <= times[first]:
        return factors[first]
    for j in range(first + 1, last):
        if t < times[j]:
            part = (t - times[j - 1]) / (times[j] - times[j - 1])
            return factors[j - 1] + part * (factors[j] - factors[j - 1])
    return factors[last - 1]


@kernel
def add_loads(
    f: Floats,
    t: Floats,
    constant: Floats,
    loads: Floats,
    times: Floats,
    factors: Floats,
    now: float,
    fe: Floats,
    te: Floats,
) -> Any:
    """Put dead loads into fe, te and add them to f, t.

    `constant` (3, slots) forces; `loads` rows: slot, is_moment, first and last entry of the
    history, three components.
    """
    for a in range(3):
        for i in range(f.shape[1]):
            fe[a, i] = constant[a, i]
            te[a, i] = 0.0
    for k in range(loads.shape[0]):
        slot = int(loads[k, 0])
        scale = load_factor(times, factors, int(loads[k, 2]), int(loads[k, 3]), now)
        for a in range(3):
            if loads[k, 1] > 0.0:
                te[a, slot] += scale * loads[k, 4 + a]
            else:
                fe[a, slot] += scale * loads[k, 4 + a]
    for a in range(3):
        for i in range(f.shape[1]):
            f[a, i] += fe[a, i]
            t[a, i] += te[a, i]


@kernel
def power(q: Floats, v: Floats, p: Floats, f: Floats, t: Floats) -> Any:
    """Return sum f . v + t . w."""
    total = 0.0
    for i in range(v.shape[1]):
        total += f[0, i] * v[0, i] + f[1, i] * v[1, i] + f[2, i] * v[2, i]
        if t[0, i] != 0.0 or t[1, i] != 0.0 or t[2, i] != 0.0:
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
            total += t[0, i] * (p[0, i] - half * ax)
            total += t[1, i] * (p[1, i] - half * ay)
            total += t[2, i] * (p[2, i] - half * az)
    return total


@kernel
def spatial_spin(q: Floats, p: Floats, i: int) -> Any:
    """Return the angular velocity of element i in space, and its axis."""
    ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
    ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
    az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
    half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
    return p[0, i] - half * ax, p[1, i] - half * ay, p[2, i] - half * az, ax, ay, az


@kernel
def internal_damping(
    r: Floats, q: Floats, v: Floats, p: Floats, mat: Floats, retard: Floats, f: Floats, t: Floats
) -> Any:
    """Put forces and torques of internal damping into f, t.

    Stress `retard` times stiffness times strain rate; the rate of bending is the difference of
    angular velocities across a joint, exact for small angles between elements.
    """
    for i in range(f.shape[1]):
        for a in range(3):
            f[a, i] = 0.0
            t[a, i] = 0.0
    for i in range(f.shape[1] - 1):
        wx, wy, wz, ax, ay, az = spatial_spin(q, p, i)
        if mat[SHEAR, i] > 0.0 and retard[i] > 0.0:
            inv = mat[INV_DS, i]
            dx, dy, dz = r[0, i + 1] - r[0, i], r[1, i + 1] - r[1, i], r[2, i + 1] - r[2, i]
            ex = inv * (v[0, i + 1] - v[0, i] - (wy * dz - wz * dy))
            ey = inv * (v[1, i + 1] - v[1, i] - (wz * dx - wx * dz))
            ez = inv * (v[2, i + 1] - v[2, i] - (wx * dy - wy * dx))
            along = (mat[AXIAL, i] - mat[SHEAR, i]) * (ex * ax + ey * ay + ez * az)
            nx = retard[i] * (mat[SHEAR, i] * ex + along * ax)
            ny = retard[i] * (mat[SHEAR, i] * ey + along * ay)
            nz = retard[i] * (mat[SHEAR, i] * ez + along * az)
            f[0, i] += nx
            f[1, i] += ny
            f[2, i] += nz
            f[0, i + 1] -= nx
            f[1, i + 1] -= ny
            f[2, i + 1] -= nz
            t[0, i] += dy * nz - dz * ny
            t[1, i] += dz * nx - dx * nz
            t[2, i] += dx * ny - dy * nx
        if i > 0 and mat[BEND, i] > 0.0 and retard[i] > 0.0:
            bx, by, bz, _, _, _ = spatial_spin(q, p, i - 1)
            bx, by, bz = wx - bx, wy - by, wz - bz
            # the table holds stiffness over length: a moment per angle
            along = (mat[TWIST, i] - mat[BEND, i]) * (bx * ax + by * ay + bz * az)
            mx = retard[i] * (mat[BEND, i] * bx + along * ax)
            my = retard[i] * (mat[BEND, i] * by + along * ay)
            mz = retard[i] * (mat[BEND, i] * bz + along * az)
            t[0, i] -= mx
            t[1, i] -= my
            t[2, i] -= mz
            t[0, i - 1] += mx
            t[1, i - 1] += my
            t[2, i - 1] += mz


@kernel
def add_damping(
    r: Floats,
    q: Floats,
    v: Floats,
    p: Floats,
    w: float,
    mat: Floats,
    retard: Floats,
    f: Floats,
    t: Floats,
    fe: Floats,
    te: Floats,
    middle: Floats,
) -> Any:
    """Add internal damping at the predicted mean velocities to f, t; leave it in fe, te."""
    vm, pm = middle[0:3], middle[3:6]
    for a in range(3):
        for i in range(f.shape[1]):
            vm[a, i] = v[a, i] + 0.5 * w * mat[FREE, i] * f[a, i]
            pm[a, i] = p[a, i] + 0.5 * w * mat[TURNS, i] * t[a, i]
    internal_damping(r, q, vm, pm, mat, retard, fe, te)
    for a in range(3):
        for i in range(f.shape[1]):
            f[a, i] += fe[a, i]
            t[a, i] += te[a, i]


@kernel
def follow_clamps(
    r: Floats, q: Floats, v: Floats, p: Floats, driven: Floats, now: float, h: float
) -> Any:
    """Give driven slots the velocities that take them where they must be at now + h.

    Rows of `driven`: slot, is_element, origin (3), velocity (3), angular velocity (3), rise,
    start position (3) or quaternion (4),
    time at which the clamp starts.
    """
    for k in range(driven.shape[0]):
        d = driven[k]
        i = int(d[0])
        rise = d[11]
        late = now - d[16] + h
        tau = late - 0.5 * rise
        if late < rise:
            tau = 0.5 * late * late / rise
        wx, wy, wz = d[8] * tau, d[9] * tau, d[10] * tau
        angle = math.sqrt(wx * wx + wy * wy + wz * wz)
        c, s = math.cos(0.5 * angle), 0.5
        if angle > 1e-12:
            s = math.sin(0.5 * angle) / angle
        x, y, z = s * wx, s * wy, s * wz
        if d[1] == 0.0:
            bx, by, bz = d[12] - d[2], d[13] - d[3], d[14] - d[4]
            ux, uy, uz = y * bz - z * by, z * bx - x * bz, x * by - y * bx
            tx = d[2] + d[5] * tau + bx + 2.0 * (c * ux + y * uz - z * uy)
            ty = d[3] + d[6] * tau + by + 2.0 * (c * uy + z * ux - x * uz)
            tz = d[4] + d[7] * tau + bz + 2.0 * (c * uz + x * uy - y * ux)
            v[0, i] = (tx - r[0, i]) / h
            v[1, i] = (ty - r[1, i]) / h
            v[2, i] = (tz - r[2, i]) / h
        else:
            rate = 1.0 if late >= rise else (late - 0.5 * h) / rise
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            wx, wy, wz = d[8] * rate, d[9] * rate, d[10] * rate
            along = wx * ax + wy * ay + wz * az
            # p counts the axial part twice
            p[0, i], p[1, i], p[2, i] = wx + along * ax, wy + along * ay, wz + along * az


@kernel
def place_frames(q: Floats, driven: Floats, now: float) -> Any:
    """Put driven frames exactly where they must be."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d[1] == 0.0:
            continue
        i = int(d[0])
        late = now - d[16]
        tau = late - 0.5 * d[11]
        if late < d[11]:
            tau = 0.5 * late * late / d[11]
        wx, wy, wz = d[8] * tau, d[9] * tau, d[10] * tau
        angle = math.sqrt(wx * wx + wy * wy + wz * wz)
        c, s = math.cos(0.5 * angle), 0.5
        if angle > 1e-12:
            s = math.sin(0.5 * angle) / angle
        x, y, z = s * wx, s * wy, s * wz
        w0, x0, y0, z0 = d[12], d[13], d[14], d[15]
        q[0, i] = c * w0 - x * x0 - y * y0 - z * z0
        q[1, i] = c * x0 + x * w0 + y * z0 - z * y0
        q[2, i] = c * y0 - x * z0 + y * w0 + z * x0
        q[3, i] = c * z0 + x * y0 - y * x0 + z * w0


@kernel
def clamp_energy(q: Floats, v: Floats, p: Floats, mat: Floats, driven: Floats) -> Any:
    """Return the kinetic energy of the driven slots [J]."""
    total = 0.0
    for k in range(driven.shape[0]):
        i = int(driven[k, 0])
        if driven[k, 1] == 0.0:
            total += 0.5 * mat[MASS, i] * (v[0, i] ** 2 + v[1, i] ** 2 + v[2, i] ** 2)
        else:
            x, y, z, ax, ay, az = spatial_spin(q, p, i)
            along = x * ax + y * ay + z * az
            total += 0.5 * mat[INERTIA, i] * (x * x + y * y + z * z + along * along)
    return total


@kernel
def clamp_power(q: Floats, v: Floats, p: Floats, f: Floats, t: Floats, driven: Floats) -> Any:
    """Return the power of forces f and torques t on the driven slots [W]."""
    total = 0.0
    for k in range(driven.shape[0]):
        i = int(driven[k, 0])
        if driven[k, 1] == 0.0:
            total += f[0, i] * v[0, i] + f[1, i] * v[1, i] + f[2, i] * v[2, i]
        else:
            x, y, z, _, _, _ = spatial_spin(q, p, i)
            total += t[0, i] * x + t[1, i] * y + t[2, i] * z
    return total
