"""What the impulses of half a step and of a whole one did: heat, modes and speeds of contacts.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    DRIFT_C,
    EXCESS,
    GAVE,
    GRIP,
    HALF,
    HEAT,
    MODE,
    MU,
    NOISE,
    OPENS,
    PARTS,
    PRESS,
    PRESSED,
    ROLL,
    RUBBED,
    SLIP,
    SPEED,
    WILL,
    N,
    P,
    Touch,
    U,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.rub_kernels import BEYOND
from stiction.rods.contact.touch_kernels import ROLL_SLIP


@kernel(borrows=True)
def unchecked_speed(g: Vector, k: Vector, bound: float, ux: float, uy: float, uz: float) -> float:
    """Return the slip along the last direction of slip if friction had not stopped at rest [m/s].

    ux, uy, uz : what u is with the impulses k[P] in it; k[DRIFT_C] holds the last direction.
    """
    dx, dy, dz = k[DRIFT_C], k[DRIFT_C + 1], k[DRIFT_C + 2]
    pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
    lx, ly, lz = -bound * dx, -bound * dy, -bound * dz
    lx, ly, lz = (
        lx - (k[P] + pn * g[N]),
        ly - (k[P + 1] + pn * g[N + 1]),
        lz - (k[P + 2] + pn * g[N + 2]),
    )
    ox, oy, oz = slip_per(g, lx, ly, lz)
    return (ux + ox) * dx + (uy + oy) * dy + (uz + oz) * dz


@kernel(borrows=True)
def beyond(g: Vector, k: Vector, mu: float) -> float:
    """Return by how much the impulse of a whole step passes the bound of friction [N s]."""
    x, y, z = k[HALF] + k[P], k[HALF + 1] + k[P + 1], k[HALF + 2] + k[P + 2]
    pn = -(x * g[N] + y * g[N + 1] + z * g[N + 2])
    x, y, z = x + pn * g[N], y + pn * g[N + 1], z + pn * g[N + 2]
    return math.sqrt(x * x + y * y + z * z) - mu * max(pn, 0.0)


@kernel(borrows=True)
def lets_go(g: Vector, k: Vector) -> bool:
    """Return whether the second half of a step took back all that the first one pressed.

    The normal impulse of both goes into their sum.
    """
    first = k[HALF] * g[N] + k[HALF + 1] * g[N + 1] + k[HALF + 2] * g[N + 2]
    last = k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2]
    k[PRESSED] -= first + last
    return bool(-first - last <= 1e-12 * abs(first))


@kernel(borrows=True)
def book_half(q: Matrix, touch: Touch, v: Matrix, p: Matrix, note: float) -> float:
    """Add the heat of a half kick whose u before is kick[U]; return the work that is left [J].

    Leaves u after it in kick[U], and with `note` above 0 the impulse as that of the first half.
    """
    index, geom, kick, rest = touch.marks, touch.geom, touch.kick, 0.0
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            continue
        g, k = geom[c], kick[c]
        ux, uy, uz = slip_velocity(q, c, index, geom, v, p)
        mx, my, mz = 0.5 * (ux + k[U]), 0.5 * (uy + k[U + 1]), 0.5 * (uz + k[U + 2])
        un = mx * g[N] + my * g[N + 1] + mz * g[N + 2]
        pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
        rest += pn * un
        rub = -(k[P] * mx + k[P + 1] * my + k[P + 2] * mz + pn * un)
        if index[c, MODE] == SLIP:
            k[HEAT] += rub
            # a slip that is brought to rest just behind its end is pushed back
            if note > 0.0:
                k[RUBBED] = rub
            else:
                k[GAVE] -= min(k[RUBBED] + rub, 0.0)
        else:
            rest += rub
        k[U], k[U + 1], k[U + 2] = ux, uy, uz
        if note > 0.0:
            k[HALF], k[HALF + 1], k[HALF + 2] = k[P], k[P + 1], k[P + 2]
    return rest


@kernel(borrows=True)
def judge_end(touch: Touch, worst: Vector) -> None:
    """Give closed contacts their modes and speeds at the end of a step, u being kick[U]."""
    index, geom, law, kick = touch.marks, touch.geom, touch.law, touch.kick
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            continue
        g, k = geom[c], kick[c]
        ux, uy, uz = k[U], k[U + 1], k[U + 2]
        un = ux * g[N] + uy * g[N + 1] + uz * g[N + 2]
        gone = lets_go(g, k) and index[c, OPENS] == 1
        k[PARTS] = 1.0 if gone and un < 0.0 else 0.0
        tx, ty, tz = ux - un * g[N], uy - un * g[N + 1], uz - un * g[N + 2]
        speed = math.sqrt(tx * tx + ty * ty + tz * tz)
        if index[c, MODE] == ROLL:
            k[SPEED] = 0.0
            if gone:
                # nothing pressed, and so nothing made it roll
                continue
            if k[WILL] == SLIP and law[c, MU] < math.inf:
                # held by no more than friction could, it slid: the step is cut before that
                index[c, MODE], k[SPEED] = SLIP, speed
                k[GRIP] = max((BEYOND - 1.0) * law[c, MU] * k[PRESS], law[c, NOISE])
                continue
            worst[ROLL_SLIP] = max(worst[ROLL_SLIP], speed)
            if law[c, MU] < math.inf:
                k[EXCESS] += max(beyond(g, k, law[c, MU]), 0.0)
            continue
        pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
        bound = law[c, MU] * max(pn, 0.0)
        rx, ry, rz = k[P] + pn * g[N], k[P + 1] + pn * g[N + 1], k[P + 2] + pn * g[N + 2]
        free = math.sqrt(rx * rx + ry * ry + rz * rz) < bound * (1.0 - 1e-12)
        k[SPEED] = speed
        if free or (bound == 0.0 and speed == 0.0):
            k[SPEED] = min(unchecked_speed(g, k, bound, ux, uy, uz), 0.0)
            index[c, MODE] = ROLL
            worst[ROLL_SLIP] = max(worst[ROLL_SLIP], speed)
