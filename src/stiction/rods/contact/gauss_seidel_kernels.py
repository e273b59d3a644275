"""Impulses of all contacts in one kick or impact, by block Gauss-Seidel with exact 3x3 solutions.

A kick is the change of velocities by forces and impulses over a step of length h. The unknowns are
impulses P = h l with the contact force l, and u' = u(before) + u(after), twice the mean slip
velocity. So a kick with persistent contacts and an impact are the same problem, and the energy that
a contact dissipates is exactly -P . u' / 2. In an impact Newton's law gives the normal velocity
afterwards. A sweep solves the local Coulomb problem of each contact in turn (`local_impulse`), for
the present impulses of the others, and applies the change of its impulse at once. If the sweeps do
not converge, Newton's method of `newton_kernels` follows. The kernels of `leapfrog` call these.

Common arguments: q (4, slots) quaternions of elements, v (3, slots) velocities of nodes [m/s],
p (3, slots) angular momenta of elements over their inertia across the axis [1/s], mobility
(3, slots) inverse masses and inertias, contacts a table of `kernels.Contact`, of which k is one
element and c its number. (ux, uy, uz), (lx, ly, lz) are components of u', P or their changes.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import FITTED
from stiction.rods.contact.kernels import (
    CROSSING,
    EMPTY,
    INSIDE,
    LINE,
    LINE_BELOW,
    OUTSIDE,
    ROLL,
    SINGULAR,
    Contacts,
    ContactSet,
    dot,
    locate,
    push,
    put,
    response,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.local_coulomb_kernels import (
    IMPACT,
    KICK,
    known_velocity,
    local_impulse,
)
from stiction.rods.contact.newton_kernels import solve_by_newton
from stiction.rods.driving_kernels import spatial_spin
from stiction.rods.rod_kernels import State, material_of

Floats = npt.NDArray[np.float64]

# largest number of sweeps of a kick or an impact. Chosen; those that need more are counted
SWEEPS = 400
# sine of ten degrees: at smaller angles the closest points of crossing rods are nearly
# indeterminate. Chosen; see `search_kernels` for the twenty degrees of new contacts
PARALLEL = 0.17364817766693033
# return code of a crossing below ten degrees, after INSIDE, OUTSIDE and SINGULAR
NEAR_PARALLEL = 3


class Tally(Struct):
    """Counters and extremes of the steps of a run, and the current phase of a step.

    rolling_slip : largest slip velocity of a contact that rolls [m/s]
    last_kick : length of the last kick [s]
    most_sweeps : largest number of sweeps of a kick
    unconverged : number of kicks and impacts that did not converge
    next_part : next phase of this step, a constant of `stepper_kernels`
    lost : contact number that `locate_all` returned
    """

    rolling_slip: float
    last_kick: float
    most_sweeps: int
    unconverged: int
    next_part: int
    lost: int


@kernel
def record_sweeps(sweeps: int, good: bool, tally: Tally) -> None:
    """Record the largest number of sweeps, and count the kicks that did not converge."""
    tally.most_sweeps = max(tally.most_sweeps, sweeps)
    if not good:
        tally.unconverged += 1


@kernel
def measure(q: Matrix, contacts: Contacts, v: Matrix, p: Matrix) -> None:
    """Set `slip` of all closed contacts to the slip velocity u of the present velocities."""
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            k.slip[0], k.slip[1], k.slip[2] = slip_velocity(q, k, v, p)


@kernel
def rates_near_contacts(
    contacts: Contacts, f: Matrix, t: Matrix, mat: Floats, av: Matrix, ap: Matrix
) -> None:
    """Set av, ap to the rates of v and p without contacts, in slots with a weight in a contact.

    f, t : (3, slots) forces on nodes [N], torques on elements [N m]
    """
    rod = material_of(mat)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        # the other slots of av, ap are neither set nor read
        for side in range(2):
            for j in range(4):
                i, e = k.nodes[side] + j, k.frames[side] + j
                for a in range(3):
                    av[a, i] = rod.free[i] * f[a, i]
                    ap[a, e] = rod.turns[e] * t[a, e]
            if k.rule == FITTED:
                # nodes beyond an end of the rod have no weight
                for i in (k.nodes[side] - 1, k.nodes[side] + 4):
                    if 0 <= i < av.shape[1]:
                        for a in range(3):
                            av[a, i] = rod.free[i] * f[a, i]


@kernel
def kick_contacts(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> int:
    """Solve for the impulses of closed contacts, apply them; return the number of sweeps.

    On entry `slip` holds u before the kick, and v, p are those after the kick without contacts.
    Returns -1 if neither the sweeps nor Newton's method converged.
    """
    closed = 0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        put(k.impulse, 0.0, 0.0, 0.0)
        if k.mode >= ROLL:
            closed += 1
            response(q, k, mobility)
    if closed == 0:
        return 0
    change, size, former = 0.0, 0.0, math.inf
    for sweep in range(SWEEPS):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL:
                continue
            # u' = u(before) + u(after) without this contact, so that the law holds for the mean
            # velocity and rolling does no work
            impulse, slip = k.impulse, k.slip
            ux, uy, uz = slip_velocity(q, k, v, p)
            ox, oy, oz = slip_per(k, impulse[0], impulse[1], impulse[2])
            ux, uy, uz = ux + (slip[0] - ox), uy + (slip[1] - oy), uz + (slip[2] - oz)
            lx, ly, lz, _ = local_impulse(k, ux, uy, uz)
            dx, dy, dz = lx - impulse[0], ly - impulse[1], lz - impulse[2]
            push(q, k, dx, dy, dz, mobility, v, p)
            put(impulse, lx, ly, lz)
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        # converged to some 50 roundings; or to 1e-10, if the sweeps no longer halve the change:
        # roundoff of the velocities limits small impulses among large ones. Both were chosen
        stalled = change >= 0.5 * former and change <= 1e-10 * size
        if sweep > 0 and (change <= 1e-14 * size or stalled):
            return sweep + 1
        former = change
        # one contact is exact after one pass; the second pass removes its rounding
        if closed == 1 and sweep == 1:
            return 2
    # a constant in a call would compile the kernel once more. After all sweeps a change of 1e-10 is
    # accepted too: it is the residual that counts as solved in `newton_kernels`
    law, impacting, plastic = KICK, -1, True
    if change <= 1e-10 * size or solve_by_newton(
        q, contacts, mobility, v, p, law, impacting, plastic
    ):
        return SWEEPS
    return -1


@kernel
def solve_impact(
    q: Matrix,
    contacts: Contacts,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    impacting: int,
    plastic: bool,
    tally: Tally,
) -> float:
    """Solve the impact of contact `impacting` with all closed ones; return the energy lost [J].

    If the last of SWEEPS sweeps changes an impulse by more than 1e-10 of the largest one, Newton's
    method follows. If it fails too, the last impulses are used, and `tally` counts the impact.

    q, v, p : (4, slots) quaternions, (3, slots) velocities and angular momenta over inertia;
        v and p are changed
    mobility : (3, slots) inverse masses and inertias, as in `contact.kernels.response`
    plastic : whether restitution is zero
    """
    for c in range(contacts.shape[0]):
        k = contacts[c]
        put(k.impulse, 0.0, 0.0, 0.0)
        if k.mode >= ROLL or c == impacting:
            response(q, k, mobility)
            k.slip[0], k.slip[1], k.slip[2] = slip_velocity(q, k, v, p)
    change, size, law = 0.0, 0.0, IMPACT
    for sweep in range(SWEEPS):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL and c != impacting:
                continue
            impulse = k.impulse
            ux, uy, uz = slip_velocity(q, k, v, p)
            # Newton's law u_n+ = -en u_n- (sheet, section 4), its tangential counterpart with et;
            # contacts that were closed have no restitution
            bx, by, bz = known_velocity(k, law, c == impacting and not plastic)
            ux, uy, uz = ux + bx, uy + by, uz + bz
            ox, oy, oz = slip_per(k, impulse[0], impulse[1], impulse[2])
            ux, uy, uz = ux - ox, uy - oy, uz - oz
            lx, ly, lz, _ = local_impulse(k, ux, uy, uz)
            dx, dy, dz = lx - impulse[0], ly - impulse[1], lz - impulse[2]
            push(q, k, dx, dy, dz, mobility, v, p)
            put(impulse, lx, ly, lz)
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        # some 50 roundings of the largest impulse
        if sweep > 0 and change <= 1e-14 * size:
            break
    # as in a kick; roundoff of the velocities may keep the change above the bound of the sweeps
    good = change <= 1e-10 * size
    if not good and not solve_by_newton(q, contacts, mobility, v, p, law, impacting, plastic):
        tally.unconverged += 1
    energy_lost = 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL or c == impacting:
            ux, uy, uz = slip_velocity(q, k, v, p)
            impulse, u = k.impulse, k.slip
            # twice the work of the impulse, P . (u- + u+)
            work = impulse[0] * (ux + u[0]) + impulse[1] * (uy + u[1]) + impulse[2] * (uz + u[2])
            energy_lost -= 0.5 * work
            k.impact_loss -= 0.5 * work
            for a in range(3):
                k.impact_impulse[a] += impulse[a]
    return energy_lost


@kernel
def constrain_gaps(
    state: State, contact_set: ContactSet, mobility: Matrix, h: float, trial: Matrix
) -> bool:
    """Correct normal impulses so that the gaps of closed contacts are zero after a drift (SHAKE).

    Returns whether twenty sweeps were enough.

    h : length of the drift, in which nodes move with v [s]
    trial : (3 or more, slots) work array for nodes after the drift [m]
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, guess = contact_set.contacts, contact_set.trial[0]
    for _ in range(20):  # chosen: one or two suffice, and the next step corrects the remainder
        worst = 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL:
                continue
            n, impulse = k.normal, k.impulse
            # the drift of the nodes that the contact can depend on: its four and three more on
            # either side
            for side in range(2):
                start = k.nodes[side]
                low, high = max(start - 3, 0), min(start + 7, r.shape[1])
                for a in range(3):
                    for i in range(low, high):
                        trial[a, i] = r[a, i] + h * v[a, i]
            contact_set.trial[0] = k
            if locate(trial, guess) != INSIDE:
                continue
            gap = guess.distance - k.reach
            worst = max(worst, abs(gap) / k.reach)
            # an impulse d n on the first rod changes the gap by -d h `node_delassus` in the drift
            d = gap / (h * k.node_delassus)
            dx, dy, dz = d * n[0], d * n[1], d * n[2]
            push(q, k, dx, dy, dz, mobility, v, p)
            impulse[0] += dx
            impulse[1] += dy
            impulse[2] += dz
        # one sweep reduces the error by orders of magnitude: from 1e-10 of the radii (chosen, as
        # `OPEN_GAP`) stop without another check
        if worst < 1e-10:
            return True
    return False


@kernel
def account(q: Matrix, contacts: Contacts, v: Matrix, p: Matrix, tally: Tally) -> float:
    """Add the friction heat of this kick per contact; return minus the work of normal impulses [J].

    Also updates `tally.rolling_slip`, the largest mean slip velocity of a rolling contact.
    """
    normal = 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        k.kick_heat = 0.0
        if k.mode < ROLL:
            continue
        n, impulse, slip = k.normal, k.impulse, k.slip
        ux, uy, uz = slip_velocity(q, k, v, p)
        ux, uy, uz = 0.5 * (ux + slip[0]), 0.5 * (uy + slip[1]), 0.5 * (uz + slip[2])
        # P acts on the mean slip velocity: heat is minus the tangential part of P . u, the rest is
        # normal work
        un = ux * n[0] + uy * n[1] + uz * n[2]
        pn = dot(impulse, n)
        normal -= pn * un
        k.kick_heat = -(impulse[0] * ux + impulse[1] * uy + impulse[2] * uz - pn * un)
        k.heat += k.kick_heat
        if k.mode == ROLL:
            tx, ty, tz = ux - un * n[0], uy - un * n[1], uz - un * n[2]
            tally.rolling_slip = max(tally.rolling_slip, math.sqrt(tx * tx + ty * ty + tz * tz))
    return normal


@kernel
def drive_work(q: Matrix, contacts: Contacts, mobility: Matrix, v: Matrix, p: Matrix) -> float:
    """Return the work of prescribed motions against the contact impulses of a kick [J]."""
    work = 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        d, x, y, z = k.separation, k.impulse[0], k.impulse[1], k.impulse[2]
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        # moment of the impulse about the axis, for the full separation vector
        tx, ty, tz = d[1] * z - d[2] * y, d[2] * x - d[0] * z, d[0] * y - d[1] * x
        for side in range(2):
            sign = 1.0 - 2.0 * side
            for j in range(4):
                i = k.nodes[side] + j
                # no mobility: the motion of the slot is prescribed, and its drive does minus the
                # work of P
                if mobility[0, i] == 0.0:
                    b = sign * k.node_weights[side, j]
                    work -= b * (x * v[0, i] + y * v[1, i] + z * v[2, i])
                i = k.frames[side] + j
                if mobility[1, i] == 0.0:
                    e = k.frame_weights[side, j]
                    wx, wy, wz, _, _, _ = spatial_spin(q, p, i)
                    work -= e * (tx * wx + ty * wy + tz * wz)
            for j in range(2 if k.rule == FITTED else 0):
                b, i = sign * k.outer_weights[side, j], k.nodes[side] + 5 * j - 1
                if b != 0.0 and mobility[0, i] == 0.0:
                    work -= b * (x * v[0, i] + y * v[1, i] + z * v[2, i])
    return work


@kernel(separate=True)
def locate_all(r: Matrix, contacts: Contacts) -> tuple[int, int]:
    """Project every contact on its closest points; return (code, contact number or -1).

    The code is INSIDE, or ends the run: a closed contact leaves its rod (OUTSIDE), its closest
    points are not unique (SINGULAR), or its rods are NEAR_PARALLEL. A contact of the search does
    not end the run in the last two cases. It becomes a point of a line contact, with a constant
    position on the first rod, and contact number -2 requests a new search. An open contact of the
    search that cannot be located is removed; a declared one stays, and is located at a later state.
    """
    contact = -1
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode == EMPTY:
            continue
        code = locate(r, k)
        # the contact of a rod end is a point at any angle. A contact of the search has a margin of
        # a quarter in the sine (chosen), so that a crossing near LINE_BELOW does not change its
        # kind at once
        crossing = k.kind == CROSSING and k.at_end == 0
        least = PARALLEL if k.from_search == 0 else 0.75 * LINE_BELOW
        near = code == INSIDE and k.sine < least
        if crossing and (near or code == SINGULAR) and k.mode >= ROLL:
            if k.from_search == 0:
                return (NEAR_PARALLEL if near else SINGULAR), c
            k.kind = LINE
            contact = -2
            code = locate(r, k)
        if code == INSIDE:
            continue
        if k.mode >= ROLL:
            if code != OUTSIDE or k.kind != LINE:
                return code, c
            # a line-contact point that leaves the other rod: the contact of the rod end replaces it
            contact = -2
        if k.from_search == 1:
            k.mode = EMPTY
    return INSIDE, contact
