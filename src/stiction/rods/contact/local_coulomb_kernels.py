"""Local Coulomb problem: normal and tangential impulse of one contact, for given u' and G.

u' = u(before) + u(after) is twice the mean slip velocity of a kick without the impulse of this
contact [m/s], G the Delassus matrix, slip velocity per impulse [1/kg]. The solution for forces is
the same with rates of u in place of u'.

Source: formulas sheet (docs/formulas/rods.md), section 4.
"""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import ROLL, SLIP, Contact, slip_per

# largest ratio of the tangential impulse of a rolling step to the bound of friction. Chosen: in a
# step that begins to slip the impulse of rolling exceeds the bound a little
MAX_BOUND_RATIO = 2.0


@kernel
def tangents(k: Contact) -> tuple[float, float, float, float, float, float]:
    """Return the components of two orthonormal vectors of the tangent plane."""
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
            for _ in range(60):
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
