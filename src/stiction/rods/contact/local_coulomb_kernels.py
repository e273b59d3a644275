"""Local Coulomb problem: normal and tangential impulse of one contact, for given u' and G.

u' = u(before) + u(after) is twice the mean slip velocity of a kick without the impulse of this
contact [m/s], G the Delassus matrix, slip velocity per impulse [1/kg]. The solution for forces is
the same with rates of u in place of u'. In all functions k is one contact (`kernels.Contact`), and
(ux, uy, uz) are the components of u', or of its counterpart; results are three components of the
impulse P on the first rod, and the mode of the contact. The normal impulse is pn = -P . n,
positive in compression. Each law is one step of the sweeps in `gauss_seidel_kernels` and
`law_kernels`.

Source: formulas sheet (docs/formulas/rods.md), section 4.
"""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import OPEN, ROLL, SLIP, Contact, dot, slip_per
from stiction.rods.contact.observe_kernels import solve3

# largest ratio of the tangential impulse of a rolling step to the bound of friction. Chosen: in a
# step that begins to slip the impulse of rolling exceeds the bound a little
MAX_BOUND_RATIO = 2.0
# laws of one contact: of a kick, of an impact, of the forces of a state, of the impulse at the end
# of a step
KICK, IMPACT, FORCES, STEP_END = range(4)


@kernel
def tangents(k: Contact) -> tuple[float, float, float, float, float, float]:
    """Return the six components of two orthonormal vectors of the tangent plane."""
    nx, ny, nz = k.normal[0], k.normal[1], k.normal[2]
    # n x e along the axis in which n is smallest: its length is at least sqrt(2/3)
    if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
        ax, ay, az = 0.0, nz, -ny
    elif abs(ny) <= abs(nz):
        ax, ay, az = -nz, 0.0, nx
    else:
        ax, ay, az = ny, -nx, 0.0
    size = 1.0 / math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax * size, ay * size, az * size
    return ax, ay, az, ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax


@kernel
def normal_impulse_to_stop(k: Contact, ux: float, uy: float, uz: float) -> float:
    """Return the normal impulse [N s] that cancels the approach u . n; negative is tensile."""
    nx, ny, nz = k.normal[0], k.normal[1], k.normal[2]
    gx, gy, gz = slip_per(k, nx, ny, nz)
    gn = nx * gx + ny * gy + nz * gz
    return (ux * nx + uy * ny + uz * nz) / gn


@kernel
def tangential_impulse(
    k: Contact, ux: float, uy: float, uz: float, bound: float
) -> tuple[float, float, float, int]:
    """Return the tangential impulse of Coulomb's law [N s], and the mode ROLL or SLIP.

    The impulse l_T solves u_T = u'_T + G_T l_T with -u_T in the normal cone of the disk
    |l_T| <= `bound` at l_T; (ux, uy, uz) is u'. Slip leaves one scalar equation. Normal and
    tangential parts of G do not couple, because G n is parallel to n for round sections.
    """
    # G_T and u_T in a basis of the tangent plane: two unknowns
    ax, ay, az, bx, by, bz = tangents(k)
    gx, gy, gz = slip_per(k, ax, ay, az)
    g11, g12 = ax * gx + ay * gy + az * gz, bx * gx + by * gy + bz * gz
    gx, gy, gz = slip_per(k, bx, by, bz)
    g22 = bx * gx + by * gy + bz * gz
    u1, u2 = ux * ax + uy * ay + uz * az, ux * bx + uy * by + uz * bz
    det = g11 * g22 - g12 * g12
    # the impulse that stops the slip, G_T l = -u; within the disk it is the solution
    l1, l2 = -(g22 * u1 - g12 * u2) / det, -(g11 * u2 - g12 * u1) / det
    mode = ROLL
    if l1 * l1 + l2 * l2 > bound * bound:
        mode = SLIP
        # in slip u_T = -beta l with beta > 0, so that (G_T + beta) l = -u' and |l| = bound
        if bound <= 0.0:
            l1, l2 = 0.0, 0.0
        else:
            # scalar equation |(G_T + beta)^-1 u| = bound; Newton's method on 1 / |l|,
            # nearly linear in beta, as in trust-region methods (More, Sorensen 1983)
            beta = 0.0
            for _ in range(60):  # chosen: about five steps suffice
                h11, h22 = g11 + beta, g22 + beta
                det = h11 * h22 - g12 * g12
                l1, l2 = -(h22 * u1 - g12 * u2) / det, -(h11 * u2 - g12 * u1) / det
                size2 = l1 * l1 + l2 * l2
                size = math.sqrt(size2)
                if size <= bound * (1.0 + 1e-15):
                    break
                # d|l| / d beta = -l . (G_T + beta)^-1 l / |l|
                k1, k2 = (h22 * l1 - g12 * l2) / det, (h11 * l2 - g12 * l1) / det
                step = (size / bound - 1.0) * size2 / (l1 * k1 + l2 * k2)
                if beta + step == beta:
                    break
                beta += step
            # onto the circle: removes the rounding of the last step
            size = math.sqrt(l1 * l1 + l2 * l2)
            l1, l2 = l1 * bound / size, l2 * bound / size
    return l1 * ax + l2 * bx, l1 * ay + l2 * by, l1 * az + l2 * bz, mode


@kernel
def local_impulse(k: Contact, ux: float, uy: float, uz: float) -> tuple[float, float, float, int]:
    """Return the impulse [N s] of one contact for its u' without this impulse, and its mode."""
    n, pn = k.normal, normal_impulse_to_stop(k, ux, uy, uz)
    if k.may_open == 1 and pn <= 0.0:
        return 0.0, 0.0, 0.0, OPEN
    # inf times 0 would be NaN
    bound = math.inf
    if k.friction < math.inf:
        bound = k.friction * max(pn, 0.0)
    lx, ly, lz, mode = tangential_impulse(k, ux, uy, uz, bound)
    return lx - pn * n[0], ly - pn * n[1], lz - pn * n[2], mode


@kernel
def coulomb_force(
    k: Contact, is_painleve: bool, ux: float, uy: float, uz: float
) -> tuple[float, float, float, int]:
    """Return the force of one contact [N] for its rate u' without this force, and its mode.

    (ux, uy, uz) is u' [m/s^2]. Sets `normal_force` and `stick_excess`. With `is_painleve` friction
    opposes the slip acceleration, not the present slip.
    """
    # the normal force first: at a round contact it does not depend on the tangential one
    n, pn = k.normal, normal_impulse_to_stop(k, ux, uy, uz)
    k.normal_force = pn
    # a contact opens by tension beyond rounding, or because its surfaces separate (`parts`)
    if k.may_open == 1 and (pn <= -k.noise or k.parts == 1):
        k.normal_force = min(pn, 0.0)
        return 0.0, 0.0, 0.0, OPEN
    if k.may_open == 1:
        pn = max(pn, 0.0)
    mu = k.friction
    # inf times 0 would be NaN
    bound = math.inf if mu == math.inf else mu * max(pn, 0.0)
    if k.mode == SLIP and k.slip_speed > 0.0:
        if is_painleve:
            lx, ly, lz, _ = tangential_impulse(k, ux, uy, uz, bound)
            return lx - pn * n[0], ly - pn * n[1], lz - pn * n[2], SLIP
        # friction opposes the present slip
        u, un, b = k.slip, dot(k.slip, n), bound / k.slip_speed
        lx, ly, lz = -b * (u[0] - un * n[0]), -b * (u[1] - un * n[1]), -b * (u[2] - un * n[2])
        return lx - pn * n[0], ly - pn * n[1], lz - pn * n[2], SLIP
    # stick: the force that makes u' zero, G l = -u', if its tangential part is within the bound
    lx, ly, lz = solve3(k, -ux, -uy, -uz)
    ln = lx * n[0] + ly * n[1] + lz * n[2]
    tx, ty, tz = lx - ln * n[0], ly - ln * n[1], lz - ln * n[2]
    k.stick_excess = math.sqrt(tx * tx + ty * ty + tz * tz) - bound
    if k.stick_excess <= k.noise:
        return tx - pn * n[0], ty - pn * n[1], tz - pn * n[2], ROLL
    # slip starts now, so there is no direction yet: the law holds for the rate u'_T
    lx, ly, lz, _ = tangential_impulse(k, ux, uy, uz, bound)
    return lx - pn * n[0], ly - pn * n[1], lz - pn * n[2], SLIP


@kernel
def end_impulse(k: Contact, ux: float, uy: float, uz: float) -> tuple[float, float, float, int]:
    """Return the impulse of the second half kick at one contact [N s], and its mode afterwards.

    (ux, uy, uz) is the slip velocity without this impulse [m/s]. A rolling contact continues to
    roll unless its impulse exceeds a multiple of the bound, because forces decide the mode. A
    closed contact remains closed: a tensile impulse is at most the compressive one of the first
    half kick.
    """
    n, first, least = k.normal, k.first_impulse, -math.inf
    if k.may_open == 1:
        least = min(dot(first, n), 0.0)
    if k.mode == ROLL:
        lx, ly, lz = solve3(k, -ux, -uy, -uz)
        pn = -(lx * n[0] + ly * n[1] + lz * n[2])
        # the normal part is bounded below by `least`; n is an eigenvector of G, so the tangential
        # part may stay as it is
        excess = min(pn - least, 0.0)
        lx, ly, lz = lx + excess * n[0], ly + excess * n[1], lz + excess * n[2]
        if k.may_open == 0 or (k.friction == math.inf and excess == 0.0):
            return lx, ly, lz, ROLL
        # forces decide slip, but the normal impulse of the whole step bounds friction
        hn = dot(first, n)
        hx, hy, hz = first[0] - hn * n[0], first[1] - hn * n[1], first[2] - hn * n[2]
        # the whole step has the normal impulse pn - hn and the tangential one l_T + h_T
        pn = max(pn, least)
        bound = 0.0
        if k.friction < math.inf:
            bound = MAX_BOUND_RATIO * k.friction * max(pn - hn, 0.0)
        tx, ty, tz = lx + pn * n[0] + hx, ly + pn * n[1] + hy, lz + pn * n[2] + hz
        if tx * tx + ty * ty + tz * tz <= bound * bound:
            return lx, ly, lz, ROLL
        # slip: l_T + h_T goes to the bound; u' - G h is the slip without either half
        ox, oy, oz = slip_per(k, hx, hy, hz)
        tx, ty, tz, _ = tangential_impulse(k, ux - ox, uy - oy, uz - oz, bound)
        return tx - hx - pn * n[0], ty - hy - pn * n[1], tz - hz - pn * n[2], SLIP
    # a contact that slips obeys the law at the velocity after the impulse
    pn = max(normal_impulse_to_stop(k, ux, uy, uz), least)
    lx, ly, lz, mode = tangential_impulse(k, ux, uy, uz, k.friction * max(pn, 0.0))
    return lx - pn * n[0], ly - pn * n[1], lz - pn * n[2], mode


@kernel
def local_law(
    k: Contact, law: int, ux: float, uy: float, uz: float
) -> tuple[float, float, float, int]:
    """Return the impulse or force of one contact by one of the laws, and its mode.

    law : KICK or IMPACT (`local_impulse`), FORCES (`coulomb_force`), STEP_END (`end_impulse`)
    """
    # a constant in a call would compile the kernel once more
    is_painleve = False
    if law == FORCES:
        return coulomb_force(k, is_painleve, ux, uy, uz)
    if law == STEP_END:
        return end_impulse(k, ux, uy, uz)
    return local_impulse(k, ux, uy, uz)


@kernel
def known_velocity(k: Contact, law: int, restitutes: bool) -> tuple[float, float, float]:
    """Return the velocity [m/s] that a law adds to the slip velocity; FORCES adds a rate.

    KICK adds u before the kick, FORCES the rate of u at constant velocities, IMPACT the velocity
    before it times the coefficients of restitution (with `restitutes`), STEP_END nothing.
    """
    slip, drift = k.slip, k.drift
    if law == KICK:
        return slip[0], slip[1], slip[2]
    if law == FORCES:
        return drift[0], drift[1], drift[2]
    if law == IMPACT and restitutes:
        # the unknown is u+ + et u-_T + en u-_n, in place of u' of a kick
        n, en, et = k.normal, k.restitution, k.tangential_restitution
        bn = (en - et) * dot(slip, n)
        return et * slip[0] + bn * n[0], et * slip[1] + bn * n[1], et * slip[2] + bn * n[2]
    return 0.0, 0.0, 0.0


@kernel
def add_normal_rotation_rate(k: Contact, dx: float, dy: float, dz: float) -> None:
    """Add the term u . n' of a rotating normal to `drift`, for slipping contacts.

    A closed gap requires d(u . n)/dt = u' . n + u . n' = 0. The second term is the centripetal
    acceleration of a mass that slides along a curve.

    dx, dy, dz : rate of the separation vector D [m/s]
    """
    if k.mode != SLIP or k.slip_speed <= 0.0:
        return
    u, nx, ny, nz = k.slip, k.normal[0], k.normal[1], k.normal[2]
    # n' = (D' - (D' . n) n) / |D|
    dn = dx * nx + dy * ny + dz * nz
    rate = u[0] * (dx - dn * nx) + u[1] * (dy - dn * ny) + u[2] * (dz - dn * nz)
    rate /= k.distance
    k.drift[0] += rate * nx
    k.drift[1] += rate * ny
    k.drift[2] += rate * nz
