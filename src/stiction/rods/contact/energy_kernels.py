"""Energy accounting of contact impulses in a step: friction heat, modes and slip speeds.

P is the impulse on the first rod [N s], u the slip velocity [m/s], n the normal from the first to
the second body, d the unit vector of slip (`Contact.direction`), k one contact. The state is
q (4, slots) quaternions, v (3, slots) velocities [m/s], p (3, slots) angular momenta over inertia
[1/s]. A step of velocity Verlet has two half kicks,
changes of velocity by forces and impulses over half the step. A half kick from u to u' changes the
kinetic energy by P . (u + u')/2; its tangential part in slip is minus the friction heat. Called by
`leapfrog.velocity_verlet_kernels` after each half kick and at the end of each step.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.gauss_seidel_kernels import Tally
from stiction.rods.contact.kernels import (
    ROLL,
    SLIP,
    Contact,
    ContactSet,
    dot,
    put,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.local_coulomb_kernels import MAX_BOUND_RATIO


@kernel
def unstopped_slip_speed(k: Contact, bound: float, ux: float, uy: float, uz: float) -> float:
    """Return the slip velocity along d, its last direction, if friction had its full bound [m/s].

    bound : mu times the normal impulse [N s]
    ux, uy, uz : slip velocity u after the impulse [m/s]
    """
    n, impulse, d = k.normal, k.impulse, k.direction
    pn = -dot(impulse, n)
    # replace the tangential impulse by the bound against d: u + G (-bound d - P_T), along d
    ox, oy, oz = slip_per(
        k,
        -bound * d[0] - (impulse[0] + pn * n[0]),
        -bound * d[1] - (impulse[1] + pn * n[1]),
        -bound * d[2] - (impulse[2] + pn * n[2]),
    )
    return (ux + ox) * d[0] + (uy + oy) * d[1] + (uz + oz) * d[2]


@kernel
def bound_excess(k: Contact, mu: float) -> float:
    """Return the tangential impulse of a whole step minus mu times the normal one [N s]."""
    n, first, last = k.normal, k.first_impulse, k.impulse
    x, y, z = first[0] + last[0], first[1] + last[1], first[2] + last[2]
    pn = -(x * n[0] + y * n[1] + z * n[2])
    x, y, z = x + pn * n[0], y + pn * n[1], z + pn * n[2]
    return math.sqrt(x * x + y * y + z * z) - mu * max(pn, 0.0)


@kernel
def opens_over_step(k: Contact) -> bool:
    """Return whether the normal impulses of both half kicks sum to zero: the contact opens.

    Also adds both to the accumulated normal impulse.
    """
    first, last = dot(k.first_impulse, k.normal), dot(k.impulse, k.normal)
    k.normal_impulse -= first + last
    # zero within the error of both impulses, whose sweeps end at 1e-14 of their size and above
    return bool(-first - last <= 1e-12 * abs(first))


@kernel
def account_half_kick(
    q: Matrix, contact_set: ContactSet, v: Matrix, p: Matrix, note: float
) -> float:
    """Add the friction heat of a half kick; return minus the work of all other impulses [J].

    On entry `slip` holds u before the half kick, on return u after it. With `note` above 0 the half
    kick is the first of the step, and its impulse is stored as `first_impulse`.
    """
    contacts, remainder = contact_set.contacts, 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        n, impulse = k.normal, k.impulse
        ux, uy, uz = slip_velocity(q, k, v, p)
        # a half kick changes the kinetic energy by P . (u + u') / 2, apart from the work of other
        # forces
        mx, my, mz = 0.5 * (ux + k.slip[0]), 0.5 * (uy + k.slip[1]), 0.5 * (uz + k.slip[2])
        un = mx * n[0] + my * n[1] + mz * n[2]
        pn = -dot(impulse, n)
        # P = -pn n + P_T: only the work of P_T in slip is friction heat
        remainder += pn * un
        heat = -(impulse[0] * mx + impulse[1] * my + impulse[2] * mz + pn * un)
        if k.mode == SLIP:
            k.heat += heat
            # just after stick the second half kick may reverse a part of the first one
            if note > 0.0:
                k.first_heat = heat
            else:
                k.friction_work -= min(k.first_heat + heat, 0.0)
        else:
            remainder += heat
        put(k.slip, ux, uy, uz)
        if note > 0.0:
            put(k.first_impulse, impulse[0], impulse[1], impulse[2])
    return remainder


@kernel
def set_modes_at_step_end(contact_set: ContactSet, tally: Tally) -> None:
    """Set modes and slip speeds of closed contacts at the end of a step, from u in `slip`.

    A slip that ends within the step stores minus the speed that full friction would have given.
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        n, impulse, slip = k.normal, k.impulse, k.slip
        ux, uy, uz = slip[0], slip[1], slip[2]
        un = ux * n[0] + uy * n[1] + uz * n[2]
        opens = opens_over_step(k) and k.may_open == 1
        k.parts = 1 if opens and un < 0.0 else 0
        # the speed of slip, tangential part of u
        tx, ty, tz = ux - un * n[0], uy - un * n[1], uz - un * n[2]
        speed = math.sqrt(tx * tx + ty * ty + tz * tz)
        if k.mode == ROLL:
            k.slip_speed = 0.0
            if opens:
                # without a normal impulse there is no rolling constraint
                continue
            if k.pending_mode == SLIP and k.friction < math.inf:
                # the force exceeds the bound of friction: event localisation splits the step
                k.mode, k.slip_speed = SLIP, speed
                k.stick_excess = max((MAX_BOUND_RATIO - 1.0) * k.friction * k.normal_force, k.noise)
                continue
            tally.rolling_slip = max(tally.rolling_slip, speed)
            if k.friction < math.inf:
                k.excess_impulse += max(bound_excess(k, k.friction), 0.0)
            continue
        # a slip ends where friction within its bound leaves no velocity
        pn = -dot(impulse, n)
        bound = k.friction * max(pn, 0.0)
        rx, ry, rz = impulse[0] + pn * n[0], impulse[1] + pn * n[1], impulse[2] + pn * n[2]
        # an impulse on the circle has a rounding error below 1e-12 of it, plus that of pn
        free = math.sqrt(rx * rx + ry * ry + rz * rz) < bound * (1.0 - 1e-12) - 1e-15 * max(pn, 0.0)
        k.slip_speed = speed
        if free or (bound == 0.0 and speed == 0.0):
            # the event function needs a value behind its root: the speed that the full bound would
            # have given
            k.slip_speed = min(unstopped_slip_speed(k, bound, ux, uy, uz), 0.0)
            k.mode = ROLL
            tally.rolling_slip = max(tally.rolling_slip, speed)
