"""What the impulses of half a step and of a whole one did: heat, modes and speeds of contacts.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    ROLL,
    SLIP,
    Contact,
    Touch,
    dot,
    put,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.rub_kernels import BEYOND
from stiction.rods.contact.touch_kernels import Tally


@kernel
def unchecked_speed(k: Contact, bound: float, ux: float, uy: float, uz: float) -> float:
    """Return the slip along the last direction of slip if friction had not stopped at rest [m/s].

    ux, uy, uz : what u is with the impulses in it
    """
    n, impulse, d = k.normal, k.impulse, k.direction
    pn = -dot(impulse, n)
    ox, oy, oz = slip_per(
        k,
        -bound * d[0] - (impulse[0] + pn * n[0]),
        -bound * d[1] - (impulse[1] + pn * n[1]),
        -bound * d[2] - (impulse[2] + pn * n[2]),
    )
    return (ux + ox) * d[0] + (uy + oy) * d[1] + (uz + oz) * d[2]


@kernel
def beyond(k: Contact, mu: float) -> float:
    """Return by how much the impulse of a whole step passes the bound of friction [N s]."""
    n, first, last = k.normal, k.first_impulse, k.impulse
    x, y, z = first[0] + last[0], first[1] + last[1], first[2] + last[2]
    pn = -(x * n[0] + y * n[1] + z * n[2])
    x, y, z = x + pn * n[0], y + pn * n[1], z + pn * n[2]
    return math.sqrt(x * x + y * y + z * z) - mu * max(pn, 0.0)


@kernel
def lets_go(k: Contact) -> bool:
    """Return whether the second half of a step took back all that the first one pressed.

    The normal impulse of both goes into their sum.
    """
    first, last = dot(k.first_impulse, k.normal), dot(k.impulse, k.normal)
    k.normal_impulse -= first + last
    return bool(-first - last <= 1e-12 * abs(first))


@kernel
def book_half(q: Matrix, touch: Touch, v: Matrix, p: Matrix, note: float) -> float:
    """Add the heat of a half kick whose u before is `slip`; return the work that is left [J].

    Leaves u after it in `slip`, and with `note` above 0 the impulse as that of the first half.
    """
    contacts, rest = touch.contacts, 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        n, impulse = k.normal, k.impulse
        ux, uy, uz = slip_velocity(q, k, v, p)
        mx, my, mz = 0.5 * (ux + k.slip[0]), 0.5 * (uy + k.slip[1]), 0.5 * (uz + k.slip[2])
        un = mx * n[0] + my * n[1] + mz * n[2]
        pn = -dot(impulse, n)
        rest += pn * un
        rub = -(impulse[0] * mx + impulse[1] * my + impulse[2] * mz + pn * un)
        if k.mode == SLIP:
            k.heat += rub
            # a slip that is brought to rest just behind its end is pushed back
            if note > 0.0:
                k.first_heat = rub
            else:
                k.friction_work -= min(k.first_heat + rub, 0.0)
        else:
            rest += rub
        put(k.slip, ux, uy, uz)
        if note > 0.0:
            put(k.first_impulse, impulse[0], impulse[1], impulse[2])
    return rest


@kernel
def judge_end(touch: Touch, tally: Tally) -> None:
    """Give closed contacts their modes and speeds at the end of a step, u being `slip`."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        n, impulse, slip = k.normal, k.impulse, k.slip
        ux, uy, uz = slip[0], slip[1], slip[2]
        un = ux * n[0] + uy * n[1] + uz * n[2]
        gone = lets_go(k) and k.may_open == 1
        k.parts = 1 if gone and un < 0.0 else 0
        tx, ty, tz = ux - un * n[0], uy - un * n[1], uz - un * n[2]
        speed = math.sqrt(tx * tx + ty * ty + tz * tz)
        if k.mode == ROLL:
            k.slip_speed = 0.0
            if gone:
                # nothing pressed, and so nothing made it roll
                continue
            if k.pending_mode == SLIP and k.friction < math.inf:
                # held by no more than friction could, it slid: the step is cut before that
                k.mode, k.slip_speed = SLIP, speed
                k.stick_excess = max((BEYOND - 1.0) * k.friction * k.normal_force, k.noise)
                continue
            tally.rolling_slip = max(tally.rolling_slip, speed)
            if k.friction < math.inf:
                k.excess_impulse += max(beyond(k, k.friction), 0.0)
            continue
        pn = -dot(impulse, n)
        bound = k.friction * max(pn, 0.0)
        rx, ry, rz = impulse[0] + pn * n[0], impulse[1] + pn * n[1], impulse[2] + pn * n[2]
        free = math.sqrt(rx * rx + ry * ry + rz * rz) < bound * (1.0 - 1e-12)
        k.slip_speed = speed
        if free or (bound == 0.0 and speed == 0.0):
            k.slip_speed = min(unchecked_speed(k, bound, ux, uy, uz), 0.0)
            k.mode = ROLL
            tally.rolling_slip = max(tally.rolling_slip, speed)
