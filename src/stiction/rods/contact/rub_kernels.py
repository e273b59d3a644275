"""Coulomb's law at one contact, solved exactly for given u' and G.

Source: formulas sheet of the rods paper, section 4.
"""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import ROLL, SLIP, Contact, slip_per

# times the bound of friction that the impulses of a step in rolling may reach
BEYOND = 2.0


@kernel
def tangents(k: Contact) -> tuple[float, float, float, float, float, float]:
    """Return two unit vectors across n."""
    nx, ny, nz = k.normal[0], k.normal[1], k.normal[2]
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
def pressing(k: Contact, ux: float, uy: float, uz: float) -> float:
    """Return -l . n that stops the approach u . n, negative if it takes tension."""
    nx, ny, nz = k.normal[0], k.normal[1], k.normal[2]
    gx, gy, gz = slip_per(k, nx, ny, nz)
    gn = nx * gx + ny * gy + nz * gz
    return (ux * nx + uy * ny + uz * nz) / gn


@kernel
def rubbing(
    k: Contact, ux: float, uy: float, uz: float, bound: float
) -> tuple[float, float, float, int]:
    """Return the tangential impulse (3 components) of Coulomb's law with a bound, and the mode.

    It solves u_T = uf_T + G_T l_T, -u_T in the normal cone of the disk of radius `bound` at
    l_T: exactly, by the one equation that slip leaves. Normal and tangential parts of G do not
    couple at a round contact, because G n is parallel to n.
    """
    ax, ay, az, bx, by, bz = tangents(k)
    gx, gy, gz = slip_per(k, ax, ay, az)
    g11, g12 = ax * gx + ay * gy + az * gz, bx * gx + by * gy + bz * gz
    gx, gy, gz = slip_per(k, bx, by, bz)
    g22 = bx * gx + by * gy + bz * gz
    u1, u2 = ux * ax + uy * ay + uz * az, ux * bx + uy * by + uz * bz
    det = g11 * g22 - g12 * g12
    l1, l2 = -(g22 * u1 - g12 * u2) / det, -(g11 * u2 - g12 * u1) / det
    mode = ROLL
    if l1 * l1 + l2 * l2 > bound * bound:
        mode = SLIP
        if bound <= 0.0:
            l1, l2 = 0.0, 0.0
        else:
            # |(G_T + beta)^-1 u| = bound: 1 / |l| is nearly straight in beta
            beta = 0.0
            for _ in range(60):
                h11, h22 = g11 + beta, g22 + beta
                det = h11 * h22 - g12 * g12
                l1, l2 = -(h22 * u1 - g12 * u2) / det, -(h11 * u2 - g12 * u1) / det
                size2 = l1 * l1 + l2 * l2
                size = math.sqrt(size2)
                if size <= bound * (1.0 + 1e-15):
                    break
                k1, k2 = (h22 * l1 - g12 * l2) / det, (h11 * l2 - g12 * l1) / det
                step = (size / bound - 1.0) * size2 / (l1 * k1 + l2 * k2)
                if beta + step == beta:
                    break
                beta += step
            size = math.sqrt(l1 * l1 + l2 * l2)
            l1, l2 = l1 * bound / size, l2 * bound / size
    return l1 * ax + l2 * bx, l1 * ay + l2 * by, l1 * az + l2 * bz, mode


@kernel
def turn_of_normal(k: Contact, dx: float, dy: float, dz: float) -> None:
    """Let `drift` hold the rate of u . n along n, which what slips changes by u . n'.

    dx, dy, dz : the rate of D. The gap stays closed where u . n does; u' . n alone leaves out that
    the direction turns under a slip, as that of a mass which slides round a bend.
    """
    if k.mode != SLIP or k.slip_speed <= 0.0:
        return
    u, nx, ny, nz = k.slip, k.normal[0], k.normal[1], k.normal[2]
    dn = dx * nx + dy * ny + dz * nz
    more = u[0] * (dx - dn * nx) + u[1] * (dy - dn * ny) + u[2] * (dz - dn * nz)
    more /= k.distance
    k.drift[0] += more * nx
    k.drift[1] += more * ny
    k.drift[2] += more * nz
