"""Set-valued contact in velocity Verlet steps: contact forces of a state, impulses at step ends.

A step is half kick, drift, half kick. Contact forces obey the law in accelerations: rolling has
u' = 0, the rate of the slip velocity u; in slip friction is mu times the normal force, against u.
The impulses of the second half kick bring u of rolling contacts, and the rate of every closed gap,
to zero; slipping contacts obey the law at their new velocity. Both problems are solved by block
Gauss-Seidel sweeps over the contacts, with the local laws of `local_coulomb_kernels`. Called by
`leapfrog.velocity_verlet_kernels`.

Common arguments, as in `contact.kernels`: r, q, v, p (3 or 4, slots) nodes, quaternions, velocities
and momenta over inertia, mobility (3, slots) inverse masses and inertias, k one contact, with its
separation D, normal n, tangents t1, t2 and positions s1, s2 of the closest points; av, ap
(3, slots) rates of v and p, `workspace` (10,), `tally` counters of sweeps.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.curve.kernels import apart_from_ends
from stiction.rods.contact.gauss_seidel_kernels import Tally, record_sweeps
from stiction.rods.contact.kernels import (
    CROSSING,
    CURVE,
    INSIDE,
    OPEN,
    ROLL,
    SLIP,
    Contact,
    Contacts,
    ContactSet,
    both_inside,
    dot,
    locate,
    push,
    put,
    response,
    slip_per,
    slip_velocity,
)
from stiction.rods.contact.local_coulomb_kernels import (
    FORCES,
    STEP_END,
    add_normal_rotation_rate,
    coulomb_force,
    end_impulse,
)
from stiction.rods.contact.newton_kernels import solve_by_newton
from stiction.rods.contact.observe_kernels import contact_rates, slip_drift
from stiction.rods.rod_kernels import State

# a contact that opens without velocity is open at a gap of this fraction of the reach. Chosen,
# above the rounding of the distance
OPEN_GAP = 1e-10
# largest numbers of Gauss-Seidel sweeps for forces of a state, and for impulses at the end of a
# step: two contacts close to each other need many
FORCE_SWEEPS, END_SWEEPS = 2000, 2000
# growth of forces after the first sweep that counts as unbounded; those of a light rod between
# heavy ones grow by the ratio of their masses. Chosen
MAX_FORCE_GROWTH = 1e6
# sweeps that reduce friction whose work would be positive. Chosen
FRICTION_LIMIT_SWEEPS = 8
# a change of gap in a step of h above this fraction of reach * recovery_rate * h counts as a jump.
# Chosen; `recovery_rate` is a fraction of the rate that the fastest wave can follow
MAX_GAP_JUMP = 0.02
# the penetration correction removes this fraction of the depth, times recovery_rate * h, per step:
# slow enough to do work against the normal force without adding kinetic energy
CORRECTION_FRACTION = 0.002


@kernel
def count_closed(contacts: Contacts) -> int:
    """Return the number of closed contacts."""
    closed = 0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            closed += 1
    return closed


@kernel
def slip_rate_at_constant_velocity(
    q: Matrix, k: Contact, v: Matrix, p: Matrix, workspace: Vector
) -> None:
    """Set `drift`, the rate of u at constant v and p, and the rates of contact points.

    workspace : (10,) work array, in the general branch that of `slip_drift`; for a crossing away
        from the ends V, v1' and v2', three components each
    """
    inner = apart_from_ends(k.place[0], k.elements[0], k.rule)
    inner = inner and apart_from_ends(k.place[1], k.elements[1], k.rule)
    if not inner or k.kind != CROSSING or k.shape != CURVE:
        rate1, rate2 = contact_rates(v, k)
        slip_drift(q, k, v, p, rate1, rate2, workspace)
        put(k.drift, workspace[0], workspace[1], workspace[2])
        k.place_rates[0], k.place_rates[1] = rate1, rate2
        add_normal_rotation_rate(k, workspace[3], workspace[4], workspace[5])
        return
    # crossings away from the ends: the same formulas with the stored weights
    d, tangents, curvatures, weights = k.separation, k.tangents, k.curvatures, k.node_weights
    # V, the difference of the velocities, and their slopes v1', v2' along the rods; then (10),
    # A s' = -(V . t1 + D . v1', V . t2 + D . v2')
    v1, v2, a11, a12, a22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        t1, t2 = tangents[0, a], tangents[1, a]
        x1, w1 = spline_rate(v, k.nodes[0], k.place[0], weights[0], a)
        x2, w2 = spline_rate(v, k.nodes[1], k.place[1], weights[1], a)
        workspace[a], workspace[3 + a], workspace[6 + a] = x2 - x1, w1, w2
        v1 += (x2 - x1) * t1 + d[a] * w1
        v2 += (x2 - x1) * t2 + d[a] * w2
        a11 += -t1 * t1 + d[a] * curvatures[0, a]
        a12 += t1 * t2
        a22 += t2 * t2 + d[a] * curvatures[1, a]
    det = a11 * a22 + a12 * a12
    rate1, rate2 = -(a22 * v1 - a12 * v2) / det, -(a12 * v1 + a11 * v2) / det
    k.place_rates[0], k.place_rates[1] = rate1, rate2
    mx, my, mz = 0.0, 0.0, 0.0
    sx, sy, sz = 0.0, 0.0, 0.0
    for side in range(2):
        rate = k.levers[side] * (rate1 if side == 0 else rate2)
        s = k.place[side] - 0.5
        x = s - math.floor(s)
        y = 1.0 - x
        # derivatives of the four weights of frames: their change as the contact moves
        slopes = (-0.5 * y * y, 1.5 * x * x - 2.0 * x, 2.0 * y - 1.5 * y * y, 0.5 * x * x)
        for j in range(4):
            i = k.frames[side] + j
            e, de = k.frame_weights[side, j], rate * slopes[j]
            ax = 2.0 * (q[1, i] * q[3, i] + q[0, i] * q[2, i])
            ay = 2.0 * (q[2, i] * q[3, i] - q[0, i] * q[1, i])
            az = 1.0 - 2.0 * (q[1, i] * q[1, i] + q[2, i] * q[2, i])
            px, py, pz = p[0, i], p[1, i], p[2, i]
            half = 0.5 * (px * ax + py * ay + pz * az)
            wx, wy, wz = px - half * ax, py - half * ay, pz - half * az
            mx, my, mz = mx + e * wx, my + e * wy, mz + e * wz
            # a free rotor: w' = -(p . d3) / 2 (p x d3)
            sx += de * wx - e * half * (py * az - pz * ay)
            sy += de * wy - e * half * (pz * ax - px * az)
            sz += de * wz - e * half * (px * ay - py * ax)
    # D' = V + t2 s2' - t1 s1'
    dx = workspace[0] + tangents[1, 0] * rate2 - tangents[0, 0] * rate1
    dy = workspace[1] + tangents[1, 1] * rate2 - tangents[0, 1] * rate1
    dz = workspace[2] + tangents[1, 2] * rate2 - tangents[0, 2] * rate1
    ux, uy, uz = (
        workspace[3] * rate1 - workspace[6] * rate2,
        workspace[4] * rate1 - workspace[7] * rate2,
        workspace[5] * rate1 - workspace[8] * rate2,
    )
    # J' v = v1' s1' - v2' s2' + (sum of (b W)') x D + (sum of b W) x D'
    k.drift[0] = ux + sy * d[2] - sz * d[1] + my * dz - mz * dy
    k.drift[1] = uy + sz * d[0] - sx * d[2] + mz * dx - mx * dz
    k.drift[2] = uz + sx * d[1] - sy * d[0] + mx * dy - my * dx
    add_normal_rotation_rate(k, dx, dy, dz)


@kernel
def spline_rate(v: Matrix, start: int, s: float, b: Vector, a: int) -> tuple[float, float]:
    """Return component a of the velocity at s, by the four weights b, and its derivative by s.

    start : slot of the first of the four nodes around s
    """
    x = s - math.floor(s)
    y = 1.0 - x
    v0, v1, v2, v3 = v[a, start], v[a, start + 1], v[a, start + 2], v[a, start + 3]
    value = b[0] * v0 + b[1] * v1 + b[2] * v2 + b[3] * v3
    slope = -0.5 * y * y * v0 + (1.5 * x * x - 2.0 * x) * v1
    slope += (2.0 * y - 1.5 * y * y) * v2 + 0.5 * x * x * v3
    return value, slope


@kernel
def solve_forces(
    q: Matrix,
    contact_set: ContactSet,
    mobility: Matrix,
    v: Matrix,
    p: Matrix,
    av: Matrix,
    ap: Matrix,
    workspace: Vector,
    tally: Tally,
) -> None:
    """Solve for the forces of all closed contacts, and the pending modes, by block Gauss-Seidel.

    av, ap : (3, slots) rates of v and p, without contacts on entry, with contacts on return
    """
    contacts = contact_set.contacts
    closed, has_friction = count_closed(contacts), False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        force = k.force
        if k.mode < ROLL:
            put(force, 0.0, 0.0, 0.0)
            continue
        slip_rate_at_constant_velocity(q, k, v, p, workspace)
        has_friction = has_friction or k.friction > 0.0
        # one contact is solved at once; several start from the forces of the state before
        if closed == 1:
            put(force, 0.0, 0.0, 0.0)
        else:
            push(q, k, force[0], force[1], force[2], mobility, av, ap)
    change, size, former, sweep = 0.0, 0.0, math.inf, 0
    good, is_painleve, first = True, False, 0.0
    # a constant in a call would compile the kernel once more
    law, impacting, plastic = FORCES, -1, True
    for sweep in range(2 * FORCE_SWEEPS):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL:
                continue
            force = k.force
            # u' without this contact: subtract the effect G f of its present force
            ux, uy, uz = slip_velocity(q, k, av, ap)
            fx, fy, fz = force[0], force[1], force[2]
            ox, oy, oz = slip_per(k, fx, fy, fz)
            drift = k.drift
            ux, uy, uz = ux + (drift[0] - ox), uy + (drift[1] - oy), uz + (drift[2] - oz)
            lx, ly, lz, mode = coulomb_force(k, is_painleve, ux, uy, uz)
            k.pending_mode = mode
            put(force, lx, ly, lz)
            # the local solution is exact
            if closed == 1:
                return
            dx, dy, dz = lx - fx, ly - fy, lz - fz
            push(q, k, dx, dy, dz, mobility, av, ap)
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        # converged to 500 roundings, or to a tenth of the force that counts as zero. Rounding of
        # av, ap may stop the decrease above this bound if forces differ much in size. Chosen
        stalled = change >= 0.5 * former and change <= 1e-10 * size
        if change <= 1e-13 * size or change <= 0.1 * contacts[0].noise or stalled:
            break
        former = change
        # the growth of forces since the first sweep; rounding does not count as a force
        first = max(size, 1e3 * contacts[0].noise) if sweep == 0 else first
        if is_painleve:
            continue
        if has_friction and size > MAX_FORCE_GROWTH * first:
            # the sweeps diverge: a solution may exist, or friction increases the normal force
            # without bound (Painleve), and the sweeps restart
            remove_contact_forces(q, contact_set, mobility, av, ap)
            if solve_by_newton(q, contacts, mobility, av, ap, law, impacting, plastic):
                break
            good, is_painleve, former = False, True, math.inf
        elif sweep == FORCE_SWEEPS - 1:
            good = change <= 1e-8 * size or solve_by_newton(
                q, contacts, mobility, av, ap, law, impacting, plastic
            )
            break
    record_sweeps(sweep + 1, good, tally)


@kernel
def remove_contact_forces(
    q: Matrix, contact_set: ContactSet, mobility: Matrix, av: Matrix, ap: Matrix
) -> None:
    """Remove the effect of the forces of closed contacts from av, ap; set these forces to zero."""
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        force = k.force
        if k.mode >= ROLL:
            x, y, z = -force[0], -force[1], -force[2]
            push(q, k, x, y, z, mobility, av, ap)
            put(force, 0.0, 0.0, 0.0)


@kernel
def rounding(k: Contact, v: Matrix, p: Matrix) -> float:
    """Return the rounding error of the impulse of a contact, from that of velocities [N s]."""
    # one node and one frame near the contact represent all
    speed = 0.0
    for side in range(2):
        i, e = k.nodes[side] + 1, k.frames[side] + 1
        for a in range(3):
            speed = max(speed, abs(v[a, i]), abs(p[a, e]) * k.distance)
    # some roundings of a sum of a few products
    return 1e-15 * speed / k.node_delassus


@kernel
def solve_step_end(
    q: Matrix, contact_set: ContactSet, mobility: Matrix, v: Matrix, p: Matrix, tally: Tally
) -> None:
    """Solve for the impulses of the second half kick, apply them, and set the pending modes."""
    contacts = contact_set.contacts
    closed, rounding_error = count_closed(contacts), 0.0
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            impulse = k.impulse
            response(q, k, mobility)
            put(impulse, 0.0, 0.0, 0.0)
            if closed > 1:
                rounding_error = max(rounding_error, rounding(k, v, p))
                # statically indeterminate contacts: start from the forces of the first half kick
                put(impulse, k.first_impulse[0], k.first_impulse[1], k.first_impulse[2])
                push(q, k, impulse[0], impulse[1], impulse[2], mobility, v, p)
    change, size, former, sweep, good = 0.0, 0.0, math.inf, 0, True
    law, impacting, plastic = STEP_END, -1, True
    # block Gauss-Seidel: each contact in turn, exactly, for the present impulses of the others
    for sweep in range(END_SWEEPS):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL:
                continue
            impulse = k.impulse
            ux, uy, uz = slip_velocity(q, k, v, p)
            ox, oy, oz = slip_per(k, impulse[0], impulse[1], impulse[2])
            ux, uy, uz = ux - ox, uy - oy, uz - oz
            lx, ly, lz, mode = end_impulse(k, ux, uy, uz)
            k.pending_mode = mode
            dx, dy, dz = lx - impulse[0], ly - impulse[1], lz - impulse[2]
            push(q, k, dx, dy, dz, mobility, v, p)
            put(impulse, lx, ly, lz)
            change = max(change, abs(dx), abs(dy), abs(dz))
            size = max(size, abs(lx), abs(ly), abs(lz))
        # a change that no longer decreases is rounding; the bounds were chosen tighter than those
        # of a kick
        stalled = change >= 0.9 * former and change <= 1e-12 * size
        if closed == 1 or change <= 1e-14 * size + rounding_error or stalled:
            break
        former = change
        good = sweep < END_SWEEPS - 1 or change <= 1e-10 * size
    good = good or solve_by_newton(q, contacts, mobility, v, p, law, impacting, plastic)
    record_sweeps(sweep + 1, good, tally)


@kernel
def set_slip_directions(contact_set: ContactSet) -> None:
    """Set `direction` of slipping contacts: along the slip, or against friction at its onset."""
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode == SLIP:
            n, force = k.normal, k.force
            un = dot(k.slip, n)
            dx, dy, dz = k.slip[0] - un * n[0], k.slip[1] - un * n[1], k.slip[2] - un * n[2]
            if k.slip_speed <= 0.0:
                # onset of slip: opposite to friction
                pn = dot(force, n)
                dx, dy = pn * n[0] - force[0], pn * n[1] - force[1]
                dz = pn * n[2] - force[2]
            # zero where neither slip nor friction gives a direction
            size = math.sqrt(dx * dx + dy * dy + dz * dz)
            if size > 0.0:
                dx, dy, dz = dx / size, dy / size, dz / size
            put(k.direction, dx, dy, dz)


@kernel
def limit_friction_to_stopping(
    q: Matrix, contact_set: ContactSet, mobility: Matrix, v: Matrix, p: Matrix
) -> None:
    """Reduce friction in a first half kick that reverses a slip to the impulse that stops it.

    `direction` is the direction of slip before the half kick.
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        impulse = k.impulse
        if k.mode != SLIP or k.slip_speed <= 0.0:
            continue
        ux, uy, uz = slip_velocity(q, k, v, p)
        dx, dy, dz = k.direction[0], k.direction[1], k.direction[2]
        # u along the slip before the half kick; negative: friction has reversed it
        along = ux * dx + uy * dy + uz * dz
        if along >= 0.0:
            continue
        gx, gy, gz = slip_per(k, dx, dy, dz)
        friction_work = -(impulse[0] * dx + impulse[1] * dy + impulse[2] * dz)
        # the impulse along d that brings it to zero, at most the impulse of friction itself
        reduction = min(-along / (gx * dx + gy * dy + gz * dz), max(friction_work, 0.0))
        push(q, k, reduction * dx, reduction * dy, reduction * dz, mobility, v, p)
        impulse[0] += reduction * dx
        impulse[1] += reduction * dy
        impulse[2] += reduction * dz


@kernel
def limit_friction_to_dissipation(
    q: Matrix, contact_set: ContactSet, mobility: Matrix, v: Matrix, p: Matrix
) -> None:
    """Reduce friction in a first half kick until its work is not positive.

    Other contacts, and corrections of gaps, may reverse a slow slip within the half kick. `slip` is
    u before the half kick.
    """
    contacts = contact_set.contacts
    for _ in range(FRICTION_LIMIT_SWEEPS):
        reduced = False
        for c in range(contacts.shape[0]):
            k = contacts[c]
            n, impulse, slip = k.normal, k.impulse, k.slip
            if k.mode != SLIP:
                continue
            pn = -dot(impulse, n)
            lx, ly, lz = impulse[0] + pn * n[0], impulse[1] + pn * n[1], impulse[2] + pn * n[2]
            ux, uy, uz = slip_velocity(q, k, v, p)
            # twice the work of friction: P . (u before + u after) / 2
            work = lx * (ux + slip[0]) + ly * (uy + slip[1]) + lz * (uz + slip[2])
            if work <= 0.0:
                continue
            ox, oy, oz = slip_per(k, lx, ly, lz)
            # with l_T (1 + factor) the work is zero if u before + u after + factor G l_T is normal
            # to l_T; factor = -1 means no friction
            factor = -min(work / (lx * ox + ly * oy + lz * oz), 1.0)
            push(q, k, factor * lx, factor * ly, factor * lz, mobility, v, p)
            impulse[0] += factor * lx
            impulse[1] += factor * ly
            impulse[2] += factor * lz
            reduced = True
        if not reduced:
            break


@kernel
def predict_distance(r: Matrix, k: Contact) -> bool:
    """Compute the least distance near predicted positions; return whether it is accurate.

    An error of the positions changes the distance in second order; one Newton step corrects this.
    Returns False near ends, and if the Newton step is long.
    """
    s1, s2, d = k.place[0], k.place[1], k.separation
    inner = apart_from_ends(s1, k.elements[0], k.rule)
    inner = inner and apart_from_ends(s2, k.elements[1], k.rule)
    if not inner or k.kind != CROSSING or k.shape != CURVE:
        return False
    dd = both_inside(r, k, s1, s2)
    # f and A of tangency, as in `locate`
    f1, f2, a11, a12, a22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(3):
        t1, t2 = k.tangents[0, a], k.tangents[1, a]
        f1 += d[a] * t1
        f2 += d[a] * t2
        a11 += -t1 * t1 + d[a] * k.curvatures[0, a]
        a12 += t1 * t2
        a22 += t2 * t2 + d[a] * k.curvatures[1, a]
    det = a11 * a22 + a12 * a12
    if det >= 0.0:
        return False
    move1, move2 = -(f1 * a22 - a12 * f2) / det, -(a11 * f2 + a12 * f1) / det
    # the remainder of the expansion is of third order in the move: 1e-12
    if max(abs(move1), abs(move2)) > 1e-4:
        return False
    # |D|^2 at its minimum, to second order: half of Newton's step times the gradient (-2 f1, 2 f2)
    k.distance = math.sqrt(dd - f1 * move1 + f2 * move2)
    return True


@kernel
def constrain_gaps_after_drift(
    state: State, contact_set: ContactSet, mobility: Matrix, h: float, whole: float, trial: Matrix
) -> None:
    """Correct normal impulses so that gaps of closed contacts vanish after a drift of length h.

    In slip the friction impulse is scaled with the normal one. A step that is split at an event has
    the length h < `whole` [s], and corrects the fraction h / `whole` of the gap. The penetration at
    which a contact was found is `held_gap`; it decreases slowly, because a correction within one
    step would add kinetic energy.

    trial : (3 or more, slots) work array for nodes after the drift [m]
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, guess = contact_set.contacts, contact_set.trial[0]
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            continue
        n, impulse = k.normal, k.impulse
        contact_set.trial[0] = k
        guess.place[0] += h * k.place_rates[0]
        guess.place[1] += h * k.place_rates[1]
        # the drift of the nodes that the contact can depend on: its four and three more on either
        # side
        for side in range(2):
            start = k.nodes[side]
            low, high = max(start - 3, 0), min(start + 7, r.shape[1])
            for a in range(3):
                for i in range(low, high):
                    trial[a, i] = r[a, i] + h * v[a, i]
        if not predict_distance(trial, guess):
            guess.place[0], guess.place[1] = k.place[0], k.place[1]
            if locate(trial, guess) != INSIDE:
                continue
        # the depth that is corrected slowly decreases exponentially (docs/decisions/12)
        relaxation = k.recovery_rate * h
        k.held_gap *= 1.0 - min(CORRECTION_FRACTION * relaxation, 1.0)
        gap = guess.distance - k.reach - k.held_gap
        if abs(gap) > MAX_GAP_JUMP * k.reach * relaxation:
            # the closest points have jumped: their penetration is corrected slowly too
            k.held_gap += gap
            gap = 0.0
        if h > 0.5 * whole:
            # chosen: room for the growth of this gap by later changes of the step
            k.allowed_depth = max(8.0 * abs(gap), OPEN_GAP * k.reach) - 1.01 * k.held_gap
        if gap > 0.0 and k.normal_force <= 0.0:
            # the contact is about to open: no tensile impulse
            continue
        # an impulse d n on the first rod changes the gap by -d h `node_delassus` in a drift of h
        d = gap / (whole * k.node_delassus)
        pn = -dot(impulse, n)
        if k.may_open == 1:
            # compression may decrease to zero, not to tension
            d = min(d, max(pn, 0.0))
        dx, dy, dz = d * n[0], d * n[1], d * n[2]
        if k.mode == SLIP and pn > 0.0:
            # the friction disk scales with the corrected normal impulse
            growth = max(-d / pn, -1.0)
            dx += growth * (impulse[0] + pn * n[0])
            dy += growth * (impulse[1] + pn * n[1])
            dz += growth * (impulse[2] + pn * n[2])
        push(q, k, dx, dy, dz, mobility, v, p)
        impulse[0] += dx
        impulse[1] += dy
        impulse[2] += dz


@kernel
def update_gaps(contact_set: ContactSet) -> None:
    """Set the gaps of all contacts; reset the admissible penetration of separated contacts.

    A step leaves a second-order error of the gap, so a contact that has just opened may penetrate
    by `allowed_depth` until it separates.
    """
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        k.gap = k.distance - k.reach
        if k.mode == OPEN and k.gap > k.allowed_depth:
            k.allowed_depth = 0.0
