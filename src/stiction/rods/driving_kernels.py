"""Dead loads, internal damping and prescribed motion of clamps: forces of rods and their power.

Arrays are those of `rod_kernels`: f and t (3, slots) forces on nodes [N] and torques on elements [N
m]; r (3, slots) nodes [m], q (4, slots) quaternions of elements, v (3, slots) velocities [m/s], p
(3, slots) angular momenta over inertia [1/s]; `mat` the table of materials. A clamp with prescribed
motion is a `Drive`, d in the arguments. It moves as a rigid body: its displacement is the velocity,
and its angle the angular velocity, times `profile_of`. `times` and `factors` are the histories of
loads and angles, `now` is the time [s]. The kernels of the steps (`leapfrog`, `midpoint`, `plane`)
call these functions in every step.

Source: formulas sheet (docs/formulas/rods.md), sections 1, 3 and 6.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table, Vector
from stiction.numerics.elementary import cos, sin
from stiction.numerics.jit import kernel
from stiction.rods.rod_kernels import axis_of, material_of

Floats = npt.NDArray[np.float64]


class Load(Struct):
    """A dead load.

    slot, is_moment : slot it acts on; 1 for a moment on an element, 0 for a force on a node
    first, last : indices of its history, first entry and one past the last; equal without a history
    value : force [N] or moment [N m] at factor 1
    """

    slot: int
    is_moment: int
    first: int
    last: int
    value: Annotated[Vector, 3]


class Drive(Struct):
    """A node or element with prescribed motion.

    slot, is_frame : its slot; 1 for the frame of an element, 0 for a node
    slides : 1 for a node that is free along the axis of the clamp
    first, last : indices of its history of angles [rad], first entry and one past the last; equal
        without a history
    origin : initial position of the pivot of the clamp [m]
    velocity, spin : velocity [m/s] and angular velocity [rad/s] of the clamp; with a history `spin`
        is the unit vector of the axis
    rise : time in which both velocities grow linearly from zero [s]
    start : initial position [m] or quaternion of the slot
    since : time at which the motion starts [s]
    """

    slot: int
    is_frame: int
    slides: int
    first: int
    last: int
    origin: Annotated[Vector, 3]
    velocity: Annotated[Vector, 3]
    spin: Annotated[Vector, 3]
    rise: float
    start: Annotated[Vector, 4]
    since: float


class Switches(NamedTuple):
    """Whether rods have drag, internal damping, loads, and whether gaps are corrected (SHAKE).

    `damped`, `retarded`, `loaded` and `shake` in this order.
    """

    damped: bool
    retarded: bool
    loaded: bool
    shake: bool


@kernel
def load_factor(times: Vector, factors: Vector, first: int, last: int, t: float) -> float:
    """Return the piecewise linear factor of a load at time t [s]; 1 without a history.

    first, last : range of its history in `times` and `factors`, as in `Load`
    """
    if last == first:
        return 1.0
    if t <= times[first]:
        return factors[first]
    for j in range(first + 1, last):
        if t < times[j]:
            fraction = (t - times[j - 1]) / (times[j] - times[j - 1])
            return factors[j - 1] + fraction * (factors[j] - factors[j - 1])
    return factors[last - 1]


@kernel
def add_loads(
    f: Matrix,
    t: Matrix,
    constant: Matrix,
    loads: Table[Load],
    times: Vector,
    factors: Vector,
    now: float,
    fe: Matrix,
    te: Matrix,
) -> None:
    """Set fe, te to the dead loads at time `now` [s], and add them to f, t.

    constant : (3, slots) constant forces [N]
    loads, times, factors : other loads, and their histories
    """
    # constant forces, gravity included
    for a in range(3):
        for i in range(f.shape[1]):
            fe[a, i] = constant[a, i]
            te[a, i] = 0.0
    for k in range(loads.shape[0]):
        load = loads[k]
        scale = load_factor(times, factors, load.first, load.last, now)
        for a in range(3):
            if load.is_moment == 1:
                te[a, load.slot] += scale * load.value[a]
            else:
                fe[a, load.slot] += scale * load.value[a]
    for a in range(3):
        for i in range(f.shape[1]):
            f[a, i] += fe[a, i]
            t[a, i] += te[a, i]


@kernel
def power(q: Matrix, v: Matrix, p: Matrix, f: Matrix, t: Matrix) -> float:
    """Return the power sum_i (f . v + t . w) [W], with the angular velocity w of elements."""
    total = 0.0
    for i in range(v.shape[1]):
        total += f[0, i] * v[0, i] + f[1, i] * v[1, i] + f[2, i] * v[2, i]
        if t[0, i] != 0.0 or t[1, i] != 0.0 or t[2, i] != 0.0:
            x, y, z, _, _, _ = spatial_spin(q, p, i)
            total += t[0, i] * x
            total += t[1, i] * y
            total += t[2, i] * z
    return total


@kernel
def spatial_spin(q: Matrix, p: Matrix, i: int) -> tuple[float, float, float, float, float, float]:
    """Return w_x, w_y, w_z, d3_x, d3_y, d3_z of element i: angular velocity [rad/s], director."""
    ax, ay, az = axis_of(q, i)
    # w = p - (p . d3) d3 / 2
    half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
    return p[0, i] - half * ax, p[1, i] - half * ay, p[2, i] - half * az, ax, ay, az


@kernel(separate=True)
def internal_damping(
    r: Matrix, q: Matrix, v: Matrix, p: Matrix, mat: Floats, retard: Vector, f: Matrix, t: Matrix
) -> None:
    """Set f, t to the forces and torques of internal damping (Kelvin-Voigt).

    The viscous stress is `retard`, (slots,) the retardation time [s], times stiffness times strain
    rate. The rate of bending is the difference of angular velocities across a joint, exact for
    small angles between elements.
    """
    rod = material_of(mat)
    for i in range(f.shape[1]):
        for a in range(3):
            f[a, i] = 0.0
            t[a, i] = 0.0
    for i in range(f.shape[1] - 1):
        wx, wy, wz, ax, ay, az = spatial_spin(q, p, i)
        if rod.shear[i] > 0.0 and retard[i] > 0.0:
            inv = rod.inverse_length[i]
            dx, dy, dz = r[0, i + 1] - r[0, i], r[1, i + 1] - r[1, i], r[2, i + 1] - r[2, i]
            # rate of the strain in space, (r_(k+1)' - r_k' - w x (r_(k+1) - r_k)) / ds: a rigid
            # motion has none
            ex = inv * (v[0, i + 1] - v[0, i] - (wy * dz - wz * dy))
            ey = inv * (v[1, i + 1] - v[1, i] - (wz * dx - wx * dz))
            ez = inv * (v[2, i + 1] - v[2, i] - (wx * dy - wy * dx))
            # n = retardation times S times this rate (Kelvin-Voigt), as S in `elastic`
            along = (rod.axial[i] - rod.shear[i]) * (ex * ax + ey * ay + ez * az)
            nx = retard[i] * (rod.shear[i] * ex + along * ax)
            ny = retard[i] * (rod.shear[i] * ey + along * ay)
            nz = retard[i] * (rod.shear[i] * ez + along * az)
            f[0, i] += nx
            f[1, i] += ny
            f[2, i] += nz
            f[0, i + 1] -= nx
            f[1, i + 1] -= ny
            f[2, i + 1] -= nz
            # torque (r_(k+1) - r_k) x n: with the forces at the nodes it conserves angular momentum
            t[0, i] += dy * nz - dz * ny
            t[1, i] += dz * nx - dx * nz
            t[2, i] += dx * ny - dy * nx
        if i > 0 and rod.bend[i] > 0.0 and retard[i] > 0.0:
            bx, by, bz, _, _, _ = spatial_spin(q, p, i - 1)
            bx, by, bz = wx - bx, wy - by, wz - bz
            # the table holds stiffness over length: a moment per angle
            along = (rod.twist[i] - rod.bend[i]) * (bx * ax + by * ay + bz * az)
            mx = retard[i] * (rod.bend[i] * bx + along * ax)
            my = retard[i] * (rod.bend[i] * by + along * ay)
            mz = retard[i] * (rod.bend[i] * bz + along * az)
            t[0, i] -= mx
            t[1, i] -= my
            t[2, i] -= mz
            t[0, i - 1] += mx
            t[1, i - 1] += my
            t[2, i - 1] += mz


@kernel
def add_damping(
    r: Matrix,
    q: Matrix,
    v: Matrix,
    p: Matrix,
    w: float,
    mat: Floats,
    retard: Vector,
    f: Matrix,
    t: Matrix,
    fe: Matrix,
    te: Matrix,
    middle: Matrix,
) -> None:
    """Add internal damping at the predicted mean velocities of a kick to f, t; set fe, te to it.

    w : length of the kick [s]
    middle : (6 or more, slots) work array: predicted v and p
    """
    rod = material_of(mat)
    vm, pm = middle[0:3], middle[3:6]
    # explicit prediction of the mean velocities of the kick from elastic and dead forces, without
    # damping itself: the error of the motion is of first order
    for a in range(3):
        for i in range(f.shape[1]):
            vm[a, i] = v[a, i] + 0.5 * w * rod.free[i] * f[a, i]
            pm[a, i] = p[a, i] + 0.5 * w * rod.turns[i] * t[a, i]
    internal_damping(r, q, vm, pm, mat, retard, fe, te)
    for a in range(3):
        for i in range(f.shape[1]):
            f[a, i] += fe[a, i]
            t[a, i] += te[a, i]


@kernel
def load_slope(times: Vector, factors: Vector, first: int, last: int, t: float) -> float:
    """Return the rate of `load_factor` just after time t [1/s]."""
    for j in range(first + 1, last):
        if times[j - 1] <= t < times[j]:
            return (factors[j] - factors[j - 1]) / (times[j] - times[j - 1])
    return 0.0


@kernel
def profile_of(d: Drive, times: Vector, factors: Vector, since_start: float) -> float:
    """Return the displacement of a clamp over its velocity, and its angle over `spin` [s].

    Without a history it is t^2 / (2 rise) up to t = rise, then t - rise / 2, because the velocity
    rises linearly; with a history it is the angle [rad], and `spin` a unit vector.

    since_start : time t since the start of the motion [s]
    """
    if d.last > d.first:
        return load_factor(times, factors, d.first, d.last, since_start)
    # the first step may begin a rounding before the start of the motion
    late = max(since_start, 0.0)
    if late < d.rise:
        return 0.5 * late * late / d.rise
    return late - 0.5 * d.rise


@kernel
def rate_of(d: Drive, times: Vector, factors: Vector, since_start: float) -> tuple[float, float]:
    """Return the first and second time derivative of `profile_of`, apart from jumps."""
    if d.last > d.first:
        return load_slope(times, factors, d.first, d.last, since_start), 0.0
    late = max(since_start, 0.0)
    if late < d.rise:
        return late / d.rise, 1.0 / d.rise
    return 1.0, 0.0


@kernel
def project_on_axis(d: Drive, rows: Matrix, i: int) -> None:
    """Project rows[:, i], a velocity or acceleration, on the axis of a sliding clamp."""
    along = d.spin[0] * rows[0, i] + d.spin[1] * rows[1, i] + d.spin[2] * rows[2, i]
    for a in range(3):
        rows[a, i] = along * d.spin[a]


@kernel
def hold_slides(v: Matrix, driven: Table[Drive]) -> None:
    """Project the velocities of sliding nodes on the axes of their clamps."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d.slides == 1:
            project_on_axis(d, v, d.slot)


@kernel
def follow_clamps(
    r: Matrix,
    q: Matrix,
    v: Matrix,
    p: Matrix,
    driven: Table[Drive],
    times: Vector,
    factors: Vector,
    now: float,
    h: float,
) -> None:
    """Set the velocities of driven slots such that a drift of h reaches their positions.

    now, h : time, and length of the drift [s]
    times, factors : histories of loads and of angles
    """
    for k in range(driven.shape[0]):
        d = driven[k]
        i = d.slot
        if d.slides == 1:
            continue
        since_start = now - d.since + h
        tau = profile_of(d, times, factors, since_start)
        wx, wy, wz = d.spin[0] * tau, d.spin[1] * tau, d.spin[2] * tau
        # quaternion of the rotation by spin tau
        angle = math.sqrt(wx * wx + wy * wy + wz * wz)
        c, s = cos(0.5 * angle), 0.5
        if angle > 1e-12:
            s = sin(0.5 * angle) / angle
        x, y, z = s * wx, s * wy, s * wz
        if d.is_frame == 0:
            ox, oy, oz = d.origin[0], d.origin[1], d.origin[2]
            # a node turns with the clamp about its origin and moves with it; the drift at this
            # velocity ends exactly there
            bx, by, bz = d.start[0] - ox, d.start[1] - oy, d.start[2] - oz
            ux, uy, uz = y * bz - z * by, z * bx - x * bz, x * by - y * bx
            tx = ox + d.velocity[0] * tau + bx + 2.0 * (c * ux + y * uz - z * uy)
            ty = oy + d.velocity[1] * tau + by + 2.0 * (c * uy + z * ux - x * uz)
            tz = oz + d.velocity[2] * tau + bz + 2.0 * (c * uz + x * uy - y * ux)
            v[0, i] = (tx - r[0, i]) / h
            v[1, i] = (ty - r[1, i]) / h
            v[2, i] = (tz - r[2, i]) / h
        else:
            # the mean rate over the step; 1 without the rounding of a difference after the rise
            rate = (tau - profile_of(d, times, factors, since_start - h)) / h
            if d.last == d.first and max(since_start - h, 0.0) >= d.rise:
                rate = 1.0
            ax, ay, az = axis_of(q, i)
            wx, wy, wz = d.spin[0] * rate, d.spin[1] * rate, d.spin[2] * rate
            along = wx * ax + wy * ay + wz * az
            # p counts the axial part twice
            p[0, i], p[1, i], p[2, i] = wx + along * ax, wy + along * ay, wz + along * az


@kernel
def place_frames(
    q: Matrix, driven: Table[Drive], times: Vector, factors: Vector, now: float
) -> None:
    """Set driven frames to their prescribed orientations at time `now`."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d.is_frame == 0:
            continue
        i = d.slot
        tau = profile_of(d, times, factors, now - d.since)
        wx, wy, wz = d.spin[0] * tau, d.spin[1] * tau, d.spin[2] * tau
        angle = math.sqrt(wx * wx + wy * wy + wz * wz)
        c, s = cos(0.5 * angle), 0.5
        if angle > 1e-12:
            s = sin(0.5 * angle) / angle
        x, y, z = s * wx, s * wy, s * wz
        # rotation in space, from the left on the initial orientation: no rounding accumulates
        w0, x0, y0, z0 = d.start[0], d.start[1], d.start[2], d.start[3]
        q[0, i] = c * w0 - x * x0 - y * y0 - z * z0
        q[1, i] = c * x0 + x * w0 + y * z0 - z * y0
        q[2, i] = c * y0 - x * z0 + y * w0 + z * x0
        q[3, i] = c * z0 + x * y0 - y * x0 + z * w0


@kernel
def turn_momenta(q: Matrix, p: Matrix, driven: Table[Drive]) -> None:
    """Set p of driven frames to that of their angular velocity about their present axes d3."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d.is_frame == 0:
            continue
        i, s = d.slot, d.spin
        ax, ay, az = axis_of(q, i)
        # w = rate s and p = w + (w . d3) d3; d3 turns about s, so that s . d3 is constant
        along = s[0] * ax + s[1] * ay + s[2] * az
        size = s[0] * s[0] + s[1] * s[1] + s[2] * s[2] + along * along
        if size > 0.0:
            rate = (p[0, i] * s[0] + p[1, i] * s[1] + p[2, i] * s[2]) / size
            p[0, i] = rate * (s[0] + along * ax)
            p[1, i] = rate * (s[1] + along * ay)
            p[2, i] = rate * (s[2] + along * az)


@kernel
def clamp_energy(q: Matrix, v: Matrix, p: Matrix, mat: Floats, driven: Table[Drive]) -> float:
    """Return the kinetic energy of driven slots, without sliding nodes [J]."""
    rod = material_of(mat)
    total = 0.0
    for k in range(driven.shape[0]):
        d = driven[k]
        i = d.slot
        if d.slides == 1:
            continue
        if d.is_frame == 0:
            vx, vy, vz = v[0, i], v[1, i], v[2, i]
            total += 0.5 * rod.mass[i] * (vx * vx + vy * vy + vz * vz)
        else:
            x, y, z, ax, ay, az = spatial_spin(q, p, i)
            along = x * ax + y * ay + z * az
            # 1/2 w . J w with twice the inertia about the axis
            total += 0.5 * rod.inertia[i] * (x * x + y * y + z * z + along * along)
    return total


@kernel
def clamp_power(
    q: Matrix, v: Matrix, p: Matrix, f: Matrix, t: Matrix, driven: Table[Drive]
) -> float:
    """Return the power of forces f and torques t on driven slots, without sliding nodes [W]."""
    total = 0.0
    for k in range(driven.shape[0]):
        d = driven[k]
        i = d.slot
        if d.slides == 1:
            continue
        if d.is_frame == 0:
            total += f[0, i] * v[0, i] + f[1, i] * v[1, i] + f[2, i] * v[2, i]
        else:
            x, y, z, _, _, _ = spatial_spin(q, p, i)
            total += t[0, i] * x + t[1, i] * y + t[2, i] * z
    return total


@kernel
def clamp_velocities(
    r: Matrix,
    q: Matrix,
    v: Matrix,
    p: Matrix,
    driven: Table[Drive],
    times: Vector,
    factors: Vector,
    now: float,
) -> None:
    """Set the velocities of driven slots to those of their clamps at time `now`."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d.slides == 1:
            continue
        i, since_start = d.slot, now - d.since
        tau = profile_of(d, times, factors, since_start)
        rate, _ = rate_of(d, times, factors, since_start)
        wx, wy, wz = rate * d.spin[0], rate * d.spin[1], rate * d.spin[2]
        if d.is_frame == 0:
            # position relative to the pivot of the clamp, which has moved by tau velocity
            x = r[0, i] - d.origin[0] - tau * d.velocity[0]
            y = r[1, i] - d.origin[1] - tau * d.velocity[1]
            z = r[2, i] - d.origin[2] - tau * d.velocity[2]
            v[0, i] = rate * d.velocity[0] + wy * z - wz * y
            v[1, i] = rate * d.velocity[1] + wz * x - wx * z
            v[2, i] = rate * d.velocity[2] + wx * y - wy * x
        else:
            ax, ay, az = axis_of(q, i)
            # p counts the axial part twice
            along = wx * ax + wy * ay + wz * az
            p[0, i], p[1, i], p[2, i] = wx + along * ax, wy + along * ay, wz + along * az


@kernel
def clamp_rates(
    r: Matrix,
    q: Matrix,
    av: Matrix,
    ap: Matrix,
    driven: Table[Drive],
    times: Vector,
    factors: Vector,
    now: float,
) -> None:
    """Set av, ap of driven slots to the accelerations of their clamps.

    av, ap : (3, slots) rates of v [m/s^2] and p [1/s^2]
    """
    for k in range(driven.shape[0]):
        d = driven[k]
        i, since_start = d.slot, now - d.since
        if d.slides == 1:
            project_on_axis(d, av, i)
            continue
        tau = profile_of(d, times, factors, since_start)
        rate, second_rate = rate_of(d, times, factors, since_start)
        if d.is_frame == 0:
            sx, sy, sz = d.spin[0], d.spin[1], d.spin[2]
            x = r[0, i] - d.origin[0] - tau * d.velocity[0]
            y = r[1, i] - d.origin[1] - tau * d.velocity[1]
            z = r[2, i] - d.origin[2] - tau * d.velocity[2]
            # rate' (velocity + spin x x) + rate^2 spin x (spin x x): tangential and centripetal
            # acceleration
            ux, uy, uz = sy * z - sz * y, sz * x - sx * z, sx * y - sy * x
            square = rate * rate
            av[0, i] = second_rate * (d.velocity[0] + ux) + square * (sy * uz - sz * uy)
            av[1, i] = second_rate * (d.velocity[1] + uy) + square * (sz * ux - sx * uz)
            av[2, i] = second_rate * (d.velocity[2] + uz) + square * (sx * uy - sy * ux)
        else:
            ax, ay, az = axis_of(q, i)
            sx, sy, sz = d.spin[0], d.spin[1], d.spin[2]
            # p = w + (w . d3) d3 counts the axial part twice: p' = w' + (w' . d3) d3 + (w . d3) d3'
            # with d3' = w x d3, to which w is normal
            along = sx * ax + sy * ay + sz * az
            turn = rate * rate * along
            ap[0, i] = second_rate * (sx + along * ax) + turn * (sy * az - sz * ay)
            ap[1, i] = second_rate * (sy + along * ay) + turn * (sz * ax - sx * az)
            ap[2, i] = second_rate * (sz + along * az) + turn * (sx * ay - sy * ax)
