"""Impact law with normal and tangential restitution, solved by block Gauss-Seidel sweeps.

Newton's impact law gives the normal velocity after an impact, Coulomb's law bounds the tangential
impulse; each contact in turn is solved exactly for the impulses of the others.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6.
"""

from __future__ import annotations

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.gauss_seidel_kernels import SWEEPS, Tally, local_impulse
from stiction.rods.contact.kernels import (
    ROLL,
    Contacts,
    push,
    put,
    response,
    slip_per,
    slip_velocity,
)


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

    After SWEEPS sweeps the last impulses are used. If they still change by more than 1e-10 of the
    largest, `tally` counts the impact as one that did not converge.

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
    change, size = 0.0, 0.0
    for sweep in range(SWEEPS):
        change, size = 0.0, 0.0
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode < ROLL and c != impacting:
                continue
            n, impulse, slip = k.normal, k.impulse, k.slip
            # Newton's law u_n+ = -en u_n- (sheet, section 4), its tangential counterpart with et;
            # contacts that were closed have no restitution
            en, et = 0.0, 0.0
            if c == impacting and not plastic:
                en, et = k.restitution, k.tangential_restitution
            bx, by, bz = slip[0], slip[1], slip[2]
            bn = bx * n[0] + by * n[1] + bz * n[2]
            ux, uy, uz = slip_velocity(q, k, v, p)
            # the unknown of the law is u+ + et u-_T + en u-_n, in place of u' of a kick
            ux += et * bx + (en - et) * bn * n[0]
            uy += et * by + (en - et) * bn * n[1]
            uz += et * bz + (en - et) * bn * n[2]
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
    if not change <= 1e-10 * size:
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
