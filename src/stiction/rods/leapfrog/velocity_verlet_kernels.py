"""Velocity Verlet steps for contacts that may slip or open: half kick, drift, half kick.

A kick changes velocities by forces and impulses, v' = v + M^-1 (h f / 2 + J^T P) with masses M,
elastic forces and loads f, contact impulses P; a drift changes positions at constant velocities.
Positions and velocities belong to the same time. The first half kick applies the contact forces of
the start of the step. The impulses of the second half kick satisfy the rolling constraint at its
end. `event_localisation_kernels` locates mode changes and splits the step there.

Common arguments: `state`, positions r, quaternions q, velocities v and momenta over inertia p of
all rods; `table`, material data and inverse masses; `forcing`, drag, loads and moving clamps;
`contact_set`, all contacts; `workspace`, forces, energies and counters (structs of
`stepper_kernels`); `saved`, a copy of state and contacts at the start of the step. w is the length
of a half kick, h that of a step [s]. The pending mode of a contact is the mode that the present
forces imply; a search finds new contacts. `velocity_verlet.VelocityVerletStepper` calls
`integrate_velocity_verlet`.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.energy_kernels import account_half_kick, set_modes_at_step_end
from stiction.rods.contact.gauss_seidel_kernels import (
    locate_all,
    measure,
    rates_near_contacts,
)
from stiction.rods.contact.kernels import (
    EMPTY,
    INSIDE,
    OPEN,
    ROLL,
    SLIP,
    SLIP_PENDING,
    SLIP_UNREPORTED,
    Contacts,
    ContactSet,
    push,
    put,
    response,
    slip_velocity,
)
from stiction.rods.contact.law_kernels import (
    constrain_gaps_after_drift,
    count_closed,
    limit_friction_to_dissipation,
    limit_friction_to_stopping,
    set_slip_directions,
    solve_forces,
    solve_step_end,
    update_gaps,
)
from stiction.rods.driving_kernels import (
    add_damping,
    clamp_energy,
    clamp_power,
    clamp_rates,
    clamp_velocities,
    follow_clamps,
    hold_slides,
    internal_damping,
    power,
)
from stiction.rods.leapfrog.proximity_kernels import has_unpaired_minimum, remove_duplicate_contacts
from stiction.rods.leapfrog.stepper_kernels import (
    CLOSING_TOLERANCE,
    DONE,
    MODE_CHANGE,
    NOT_FINITE,
    PENETRATION,
    SEARCH,
    Constants,
    Forcing,
    Sums,
    Workspace,
    damping_of,
    drag_heat,
    drive_work_of_kick,
    earlier_of,
    has_moved,
    put_forces,
    set_mobility,
    turn_clamps,
)
from stiction.rods.rod_kernels import (
    State,
    axis_of,
    copy,
    damped_kick,
    drag_of,
    drift,
    forces_of,
    kick,
    loads_of,
    material_of,
)
from stiction.rods.state.extremes_kernels import update_extremes

Floats = npt.NDArray[np.float64]

# number of rows of `SavedStep.rows`
SAVED_STEP_ROWS = 22
# steps between two checks for local minima of the distance that have no contact
PROXIMITY_INTERVAL = 12


class SavedStep(NamedTuple):
    """State at the start of a step, for its repetition.

    rows : (22, slots) r (3 rows), q (4), v (3), p (3), rates of v (3) and p (3) without contacts,
        mobility without drag (3); see `saved_state` and `rates_of`
    contacts : contacts at the start of the step
    low : contacts at the lower end of the bracket of an event
    sums : time and work at the start of the step
    workspace : (10,) work array of `solve_forces`
    """

    rows: Floats
    contacts: Contacts
    low: Contacts
    sums: Table[Sums]
    workspace: Floats


@kernel(views=True)
def saved_state(rows: Floats) -> State:
    """Return views of `SavedStep.rows`: the state at the start of a step."""
    return State(rows[0:3], rows[3:7], rows[7:10], rows[10:13])


@kernel(views=True)
def rates_of(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return views of `SavedStep.rows`: rates of v and p without contacts; undamped mobility."""
    return rows[13:16], rows[16:19], rows[19:22]


@kernel
def copy_state(state: State, to: State) -> None:
    """Copy positions, frames and velocities."""
    copy(state.r, to.r)
    copy(state.q, to.q)
    copy(state.v, to.v)
    copy(state.p, to.p)


@kernel
def save_step_start(
    state: State, contact_set: ContactSet, workspace: Workspace, saved: SavedStep
) -> None:
    """Save the state at the start of a step."""
    copy_state(state, saved_state(saved.rows))
    copy_contacts(contact_set.contacts, saved.contacts)
    saved.sums[0] = workspace.sums[0]


@kernel
def copy_contacts(contacts: Contacts, to: Contacts) -> None:
    """Copy the contacts that both tables have; of empty ones only the mode."""
    for c in range(min(contacts.shape[0], to.shape[0])):
        if contacts[c].mode == EMPTY:
            to[c].mode = EMPTY
        else:
            to[c] = contacts[c]


@kernel
def save_velocities(state: State, forcing: Forcing, workspace: Workspace) -> None:
    """Save v and p before a half kick, for the heat of drag and the work of drives."""
    if forcing.damped or forcing.driven.shape[0] > 0:
        old_v, old_p, _ = earlier_of(workspace.scratch)
        copy(state.v, old_v)
        copy(state.p, old_p)


@kernel
def free_half_kick(
    state: State, table: Constants, forcing: Forcing, workspace: Workspace, w: float
) -> None:
    """Kick v and p for w [s] by forces without contacts; add the first half of their work."""
    drags = drag_of(forcing.drag)
    q, v, p, scratch, sums = state.q, state.v, state.p, workspace.scratch, workspace.sums[0]
    f, t = forces_of(scratch)
    if forcing.loaded:
        fe, te = loads_of(scratch)
        # work by the mean of the velocities before and after; `finish_free_half_kick` adds the
        # other half
        sums.external += 0.5 * w * power(q, v, p, fe, te)
    fd, td = damping_of(scratch)
    if forcing.retarded:
        add_damping(state.r, q, v, p, w, table.mat, drags.retardation, f, t, fd, td, workspace.work)
        sums.viscous -= 0.5 * w * power(q, v, p, fd, td)
    # the velocity of clamps is prescribed: forces on them are work of their drives
    if forcing.driven.shape[0] > 0:
        sums.external -= w * clamp_power(q, v, p, f, t, forcing.driven)
    if forcing.damped:
        damped_kick(q, v, p, f, t, table.mat, forcing.drag, w)
    else:
        kick(v, p, f, t, table.mat, w)
    hold_slides(v, forcing.driven)
    if forcing.retarded:
        for a in range(3):
            for i in range(f.shape[1]):
                # remove the damping at the mean velocities of this kick: the next one has its own
                f[a, i] -= fd[a, i]
                t[a, i] -= td[a, i]


@kernel
def finish_free_half_kick(
    state: State, table: Constants, forcing: Forcing, workspace: Workspace, w: float
) -> None:
    """Add the second half of the work of loads and damping in a half kick."""
    q, v, p, scratch, sums = state.q, state.v, state.p, workspace.scratch, workspace.sums[0]
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        sums.viscous -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.damped:
        sums.viscous += drag_heat(state, table, forcing.drag, workspace, w)


@kernel
def change_clamp_velocities(
    state: State, table: Constants, forcing: Forcing, workspace: Workspace, w: float, h: float
) -> None:
    """Set clamp velocities to their mean over a drift of h [s]; for h = 0 to their present values.

    The change of their kinetic energy is external work. The second half of the work in a kick of
    length w [s] is recomputed with the new velocity.
    """
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, workspace.sums[0]
    fe, te = loads_of(workspace.scratch)
    fd, td = damping_of(workspace.scratch)
    # subtract the work with the old velocity; it is added with the new one below
    sums.external -= clamp_energy(q, v, p, table.mat, driven)
    if w > 0.0 and forcing.loaded:
        sums.external += 0.5 * w * clamp_power(q, v, p, fe, te, driven)
    if w > 0.0 and forcing.retarded:
        sums.viscous -= 0.5 * w * clamp_power(q, v, p, fd, td, driven)
    times, factors, now = forcing.times, forcing.factors, sums.time
    if h > 0.0:
        follow_clamps(state.r, q, v, p, driven, times, factors, now, h)
    else:
        clamp_velocities(state.r, q, v, p, driven, times, factors, now)
    sums.external += clamp_energy(q, v, p, table.mat, driven)
    if w > 0.0 and forcing.loaded:
        sums.external -= 0.5 * w * clamp_power(q, v, p, fe, te, driven)
    if w > 0.0 and forcing.retarded:
        sums.viscous += 0.5 * w * clamp_power(q, v, p, fd, td, driven)


@kernel
def first_half_kick(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    full_step: float,
    h: float,
) -> None:
    """Take the half kick that begins a step of h [s], with the contact forces of the law.

    full_step : length of a step that is not split [s]; 0: gaps are not corrected
    """
    q, v, p, contacts, w = state.q, state.v, state.p, contact_set.contacts, 0.5 * h
    closed = count_closed(contacts) > 0
    set_mobility(table, forcing, w)
    if closed:
        set_slip_directions(contact_set)
    # `slip` holds u at the end of the last step; clamps first, because they change u
    save_velocities(state, forcing, workspace)
    if forcing.driven.shape[0] > 0:
        change_clamp_velocities(state, table, forcing, workspace, 0.0, h)
    # v_n+1/2 = v_n + (h / 2) M^-1 (f_n + J^T lam_n) (docs/theory/rods, eq-rd-halves)
    free_half_kick(state, table, forcing, workspace, w)
    if closed:
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode >= ROLL:
                force = k.force
                x, y, z = w * force[0], w * force[1], w * force[2]
                put(k.impulse, x, y, z)
                push(q, k, x, y, z, table.mobility, v, p)
            else:
                # an open contact that has just bounced still holds the impulse of its impact
                put(k.impulse, 0.0, 0.0, 0.0)
        # limit friction that reverses a slip, then close gaps, then limit the work of friction:
        # each correction affects the next one
        limit_friction_to_stopping(q, contact_set, table.mobility, v, p)
        if full_step > 0.0:
            constrain_gaps_after_drift(
                state, contact_set, table.mobility, h, full_step, workspace.work
            )
        limit_friction_to_dissipation(q, contact_set, table.mobility, v, p)
        workspace.sums[0].algorithmic += account_half_kick(q, contact_set, v, p, 1.0)
    finish_free_half_kick(state, table, forcing, workspace, w)
    if forcing.driven.shape[0] > 0 and closed:
        before, after = drive_work_of_kick(state, table, contact_set, workspace)
        workspace.sums[0].external += before + after


@kernel
def second_half_kick(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    h: float,
) -> None:
    """Take the half kick that ends a step of h [s]; scratch contains the forces at its end."""
    q, v, p, contacts, w = state.q, state.v, state.p, contact_set.contacts, 0.5 * h
    closed = count_closed(contacts) > 0
    driven = forcing.driven.shape[0] > 0
    set_mobility(table, forcing, w)
    save_velocities(state, forcing, workspace)
    if closed:
        measure(q, contact_set.contacts, v, p)
    # v_n+1 = v_n+1/2 + M^-1 ((h / 2) f_n+1 + J^T P), with P of the law at the new velocity
    free_half_kick(state, table, forcing, workspace, w)
    if driven:
        change_clamp_velocities(state, table, forcing, workspace, w, 0.0)
    if closed:
        solve_step_end(q, contact_set, table.mobility, v, p, workspace.tally[0])
        # friction heat with the modes of the impulses, then the modes at the end of the step
        workspace.sums[0].algorithmic += account_half_kick(q, contact_set, v, p, 0.0)
        set_modes_at_step_end(contact_set, workspace.tally[0])
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            put(k.impulse, 0.0, 0.0, 0.0)
    finish_free_half_kick(state, table, forcing, workspace, w)
    if driven and closed:
        before, after = drive_work_of_kick(state, table, contact_set, workspace)
        workspace.sums[0].external += before + after


@kernel(separate=True)
def find_contact_forces(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
) -> None:
    """Solve for the contact forces of the present state, and the pending modes."""
    f, t = forces_of(workspace.scratch)
    contacts = contact_set.contacts
    if count_closed(contacts) == 0:
        return
    # forces of a state have no implicit drag in the mobility; the drag force is part of the rates
    av, ap, undamped_mobility = rates_of(saved.rows)
    if not (forcing.damped or forcing.retarded or forcing.driven.shape[0] > 0):
        rates_near_contacts(contacts, f, t, table.mat, av, ap)
    else:
        full_rates(state, table, forcing, workspace, av, ap)
        if forcing.damped:
            for c in range(contacts.shape[0]):
                k = contacts[c]
                if k.mode >= ROLL:
                    # G of the step contains the implicit drag: replace it by G without drag
                    response(state.q, k, undamped_mobility)
    solve_forces(
        state.q,
        contact_set,
        undamped_mobility,
        state.v,
        state.p,
        av,
        ap,
        saved.workspace,
        workspace.tally[0],
    )


@kernel
def full_rates(
    state: State, table: Constants, forcing: Forcing, workspace: Workspace, av: Matrix, ap: Matrix
) -> None:
    """Set av, ap to the rates of v and p without contacts, with damping and moving clamps.

    av, ap : (3, slots) outputs, accelerations of nodes [m/s^2] and rates of p [1/s^2]
    """
    q, v, p, scratch, mat = state.q, state.v, state.p, workspace.scratch, table.mat
    rod, drags = material_of(mat), drag_of(forcing.drag)
    f, t = forces_of(scratch)
    # elastic forces and loads, then internal damping at the velocities of the state
    copy(f, av)
    copy(t, ap)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        internal_damping(state.r, q, v, p, mat, drags.retardation, fd, td)
        for a in range(3):
            for i in range(f.shape[1]):
                av[a, i] += fd[a, i]
                ap[a, i] += td[a, i]
    for i in range(f.shape[1]):
        ax, ay, az = axis_of(q, i)
        # drag acts on the angular velocity p - (p . d3) d3 / 2
        half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
        drag, rotational_drag = drags.node[i], drags.element[i]
        ap[0, i] = rod.turns[i] * (ap[0, i] - rotational_drag * (p[0, i] - half * ax))
        ap[1, i] = rod.turns[i] * (ap[1, i] - rotational_drag * (p[1, i] - half * ay))
        ap[2, i] = rod.turns[i] * (ap[2, i] - rotational_drag * (p[2, i] - half * az))
        for a in range(3):
            av[a, i] = rod.free[i] * (av[a, i] - drag * v[a, i])
    if forcing.driven.shape[0] > 0:
        times, factors, now = forcing.times, forcing.factors, workspace.sums[0].time
        clamp_rates(state.r, q, av, ap, forcing.driven, times, factors, now)


@kernel
def is_penetrating(state: State, contact_set: ContactSet) -> bool:
    """Return whether an open contact penetrates and its gap decreases."""
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        depth_limit = -CLOSING_TOLERANCE * k.reach - k.allowed_depth
        if k.mode == OPEN and k.gap < depth_limit:
            ux, uy, uz = slip_velocity(state.q, k, state.v, state.p)
            if ux * k.normal[0] + uy * k.normal[1] + uz * k.normal[2] > 0.0:
                return True
    return False


@kernel(separate=True)
def take_step(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    full_step: float,
    h: float,
    onto: float,
) -> int:
    """Take one step of h [s]; return INSIDE, a code of `locate_all`, PENETRATION or MODE_CHANGE.

    If an open contact penetrates after the drift, the step stops there, unless `onto` is 1.
    MODE_CHANGE means that pending modes differ from the present ones. `tally.lost` is the contact
    of the code.
    """
    sums, tally = workspace.sums[0], workspace.tally[0]
    # half kick, drift, forces, half kick
    first_half_kick(state, table, forcing, contact_set, workspace, full_step, h)
    sums.time_before = sums.time
    drift(state.r, state.q, state.v, state.p, h)
    code, lost = locate_all(state.r, contact_set.contacts)
    if code != INSIDE or lost == -2:
        tally.lost = lost
    # two contacts may have moved to the same closest points
    remove_duplicate_contacts(contact_set)
    update_gaps(contact_set)
    sums.time += h
    if code != INSIDE:
        return code
    if onto == 0.0 and is_penetrating(state, contact_set):
        return PENETRATION
    if forcing.driven.shape[0] > 0:
        turn_clamps(state, forcing, contact_set, sums.time)
    put_forces(state, table.mat, forcing, workspace.scratch, sums.time)
    second_half_kick(state, table, forcing, contact_set, workspace, h)
    # modes follow from the forces of the new state, not from impulses (docs/decisions/13)
    find_contact_forces(state, table, forcing, contact_set, workspace, saved)
    return MODE_CHANGE if modes_change(contact_set, saved) else INSIDE


@kernel
def modes_change(contact_set: ContactSet, saved: SavedStep) -> bool:
    """Return whether a mode differs from that at the start, or a contact reaches an end.

    Without a change the modes are reset to those at the start of the step.
    """
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            was = saved.contacts[c].mode
            if k.pending_mode != was or k.at_end != (k.reported_end & 3):
                return True
            # reversal of slip: the event is where the slip velocity is zero
            if was == SLIP and k.mode == ROLL and saved.contacts[c].slip_speed > 0.0:
                return True
            # a slip that lasts longer than its first step is an event
            if k.unreported_slip == SLIP_PENDING and k.slip_speed > 0.0:
                k.unreported_slip = SLIP_UNREPORTED
            # without an event the mode does not change, even if impulses suggest it
            k.mode = was
        elif saved.contacts[c].mode >= ROLL:
            return True
    return False


@kernel
def integrate_velocity_verlet(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    full_step: float,
    h: float,
    steps: int,
    limit: float,
) -> tuple[int, int]:
    """Take up to `steps` steps of h [s]; return a code, and the number of complete steps.

    With PENETRATION and MODE_CHANGE the state is that at the end of the step that contains the
    event.

    full_step : as of `first_half_kick`
    limit : displacement of nodes that requires a search [m]; 0 for no search
    """
    for k in range(steps):
        save_step_start(state, contact_set, workspace, saved)
        code = take_step(state, table, forcing, contact_set, workspace, saved, full_step, h, 0.0)
        if code != INSIDE:
            return code, k
        # a cheap check of three numbers; the energies at saved times are checked too
        if not math.isfinite(state.v[0, 1] + state.p[0, 1] + state.r[0, state.r.shape[1] // 2]):
            return NOT_FINITE, k + 1
        # 0: contacts store forces
        update_extremes(contact_set, state.v, forcing.driven, 0.0, workspace.sums[0].time)
        if limit > 0.0:
            _, _, searched = earlier_of(workspace.scratch)
            far = has_moved(state.r, searched, limit)
            # counted by time, not by k: independent of the division of a run into calls
            is_check_due = int(workspace.sums[0].time / h + 0.5) % PROXIMITY_INTERVAL == 0
            if (
                far
                or workspace.tally[0].lost == -2
                or (is_check_due and has_unpaired_minimum(state.r, contact_set, limit))
            ):
                return SEARCH, k + 1
    return DONE, steps
