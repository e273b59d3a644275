"""Event localisation in velocity Verlet steps: find the root, split the step there, continue.

Event functions, negative before the event: minus the gap (closing), minus the normal force p_n
(opening), |f_t| - mu p_n with the tangential force f_t that rolling requires (onset of slip), and
minus the slip speed (stick). A step brackets the root, and the Illinois variant of regula falsi
refines it; every iterate repeats the step with another length.

Common arguments: `state`, present positions, quaternions, velocities and momenta of all rods
(`rod_kernels.State`); `table`, material data and inverse masses; `forcing`, drag, loads and moving
clamps; `contact_set`, all contacts; `workspace`, forces, energies and counters (structs of
`stepper_kernels`); `saved`, a copy of state and contacts at the start of the step; h, the length of
the step [s]; k, one contact, and c, its number. `events` and `written` (1,) are the buffer of
events and their number. `code` is the return code of the step: PENETRATION if an open contact
penetrates, MODE_CHANGE if the forces at its end imply another mode of a contact.

`velocity_verlet.VelocityVerletStepper` calls `process_events` after a step that contains an event.
It locates the first event, commits the new modes or applies the impact, and takes the remainder of
the step, until no event is left.

Source: formulas sheet (docs/formulas/rods.md), sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.gauss_seidel_kernels import (
    drive_work,
    locate_all,
    measure,
    solve_impact,
)
from stiction.rods.contact.kernels import (
    INSIDE,
    OPEN,
    ROLL,
    SLIP,
    SLIP_PENDING,
    SLIP_UNREPORTED,
    Contact,
    Contacts,
    ContactSet,
    dot,
    put,
    response,
    slip_velocity,
)
from stiction.rods.contact.law_kernels import update_gaps
from stiction.rods.leapfrog.impact_kernels import (
    BOUNCE_STEPS,
    BOUNCES,
    CLOSES,
    FALLS,
    OPENS,
    REACHED_END,
    SLIPS,
    STICKS,
    Event,
    add_event,
    approach_speed,
    note_end,
)
from stiction.rods.leapfrog.stepper_kernels import (
    CLOSING_TOLERANCE,
    MODE_CHANGE,
    PENETRATION,
    Constants,
    Forcing,
    Workspace,
    put_forces,
)
from stiction.rods.leapfrog.velocity_verlet_kernels import (
    SavedStep,
    copy_contacts,
    copy_state,
    find_contact_forces,
    save_step_start,
    saved_state,
    take_step,
)
from stiction.rods.rod_kernels import State

# fraction of a step by which the end of the shortened step may lie after the root
OVERSHOOT = 0.01
MAX_EVENTS, MAX_ITERATIONS = 64, 24
# a gap below this fraction of the reach counts as closed
CLOSED_GAP = 1e-13
# a penetration above this fraction of the reach existed when the search created the contact
FOUND_DEPTH = 1e-9
# event functions of closing, opening, onset of slip and stick
GAP, NORMAL_FORCE, FRICTION_EXCESS, SLIP_SPEED = range(4)


@kernel
def restore_step_start(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
) -> None:
    """Restore the state at the start of the step, its forces and contact geometry."""
    copy_state(saved_state(saved.rows), state)
    copy_contacts(saved.contacts, contact_set.contacts)
    workspace.sums[0] = saved.sums[0]
    update_forces(state, table, forcing, contact_set, workspace)


@kernel
def update_forces(
    state: State, table: Constants, forcing: Forcing, contact_set: ContactSet, workspace: Workspace
) -> None:
    """Recompute contact geometry and elastic forces of the present state."""
    contacts = contact_set.contacts
    locate_all(state.r, contacts)
    update_gaps(contact_set)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            response(state.q, k, table.mobility)
    put_forces(state, table.mat, forcing, workspace.scratch, workspace.sums[0].time)


@kernel
def secant_root(before: float, after: float) -> float:
    """Return the root of the secant as a fraction of the bracket; its values are < 0 and >= 0."""
    if before >= 0.0:
        return 0.0
    return -before / (after - before) if after > before else 1.0


@kernel
def event_function_of(c: int, code: int, contact_set: ContactSet, saved: SavedStep) -> int:
    """Return which event function of contact c has a root in the step; -1 for none.

    Values: GAP, NORMAL_FORCE, FRICTION_EXCESS (onset of slip), SLIP_SPEED (stick).
    """
    was, k = saved.contacts[c].mode, contact_set.contacts[c]
    if code == PENETRATION:
        depth_limit = -CLOSING_TOLERANCE * k.reach - k.allowed_depth
        return GAP if k.mode == OPEN and k.gap < depth_limit and was == OPEN else -1
    if was < ROLL or k.mode < ROLL:
        return -1
    # the forces at the end of the step decide; opening first, since it ends rolling and slip
    if k.pending_mode == OPEN:
        return NORMAL_FORCE
    # a slip that ended within the step is an event, even if the forces start a slip in the opposite
    # direction
    if k.pending_mode == was and not (was == SLIP and k.mode == ROLL):
        return -1
    return FRICTION_EXCESS if was == ROLL else SLIP_SPEED


@kernel
def event_value(kind: int, k: Contact) -> float:
    """Return the event function of a contact: negative before the event, >= 0 after it."""
    if kind == FRICTION_EXCESS:
        return k.stick_excess
    if kind == GAP:
        return -k.gap
    return -k.normal_force if kind == NORMAL_FORCE else -k.slip_speed


@kernel
def event_value_at_start(kind: int, c: int, contact_set: ContactSet, saved: SavedStep) -> float:
    """Return `event_value` at the start of the step.

    For a contact that has just opened, whose gap starts at zero, the returned value leads to
    bisection instead of the secant.
    """
    begins, k = event_value(kind, saved.low[c]), contact_set.contacts[c]
    just_opened = saved.contacts[c].allowed_depth > 0.0
    # its secant would have the root at the start of the step
    if kind == GAP and just_opened and begins > -CLOSED_GAP * k.reach:
        return -max(event_value(kind, k), CLOSED_GAP * k.reach)
    return begins


@kernel
def first_root(code: int, contact_set: ContactSet, saved: SavedStep) -> tuple[float, int]:
    """Return the fraction of the bracket at the first event, and its contact; (1, -1) for none.

    `saved.low` has the contacts at the lower end of the bracket, at first the start of the step;
    `contact_set` those at its upper end.
    """
    first, which = 1.0, -1
    for c in range(contact_set.contacts.shape[0]):
        kind = event_function_of(c, code, contact_set, saved)
        if kind >= 0:
            fraction = secant_root(
                event_value_at_start(kind, c, contact_set, saved),
                event_value(kind, contact_set.contacts[c]),
            )
            if fraction < first or which < 0:
                first, which = fraction, c
    return first, which


@kernel
def locate_event(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    full_step: float,
    h: float,
    code: int,
) -> tuple[int, float, float]:
    """Locate the first event in a step of h that came to `code`.

    Returns the code PENETRATION or MODE_CHANGE, or a code of `locate_all` that ends the run; the
    length of the step that ends just after the event; and the time of the event from the start of
    the step [s]. On return the state is that at the end of this shorter step.

    full_step : length of a step that is not split, see `first_half_kick` [s]
    """
    # the bracket [low, high] in time from the start of the step; `at_high`: the present state is
    # that at high
    low, high, at_high, low_moved = 0.0, h, True, False
    copy_contacts(saved.contacts, saved.low)
    fraction, which = first_root(code, contact_set, saved)
    kind = event_function_of(which, code, contact_set, saved) if which >= 0 else GAP
    before, after = 0.0, 0.0
    # event values at both ends of the bracket: below zero at low, not at high
    if which >= 0:
        before, after = (
            event_value_at_start(kind, which, contact_set, saved),
            event_value(kind, contact_set.contacts[which]),
        )
    when = fraction * h
    # regula falsi: each trial is a whole step of another length from the same start
    for _ in range(MAX_ITERATIONS):
        # the step may end shortly after a change of mode, but exactly at an impact, because
        # surfaces must not penetrate
        close = 2.0 * OVERSHOOT * h
        if code == PENETRATION:
            close = 1e-13 * h
            if which >= 0 and after <= CLOSED_GAP * contact_set.contacts[which].reach:
                break
            out = which < 0 or saved.contacts[which].allowed_depth == 0.0
            if not out and low == 0.0 and high <= OVERSHOOT * h:
                # the penetration never opened
                break
        if which < 0 or high - when <= close or high - low <= close:
            break
        # a change of mode: end after the root, so that the next step starts in the new mode
        trial = when if code == PENETRATION else when + OVERSHOOT * h
        trial = max(trial, low + 1e-9 * h)
        restore_step_start(state, table, forcing, contact_set, workspace, saved)
        now = take_step(state, table, forcing, contact_set, workspace, saved, full_step, trial, 0.0)
        # no event before the trial: the root is above it
        if now == INSIDE:
            low, at_high = trial, False
            copy_contacts(contact_set.contacts, saved.low)
            before = min(event_value(kind, contact_set.contacts[which]), 0.0)
            if code == PENETRATION and -before <= CLOSED_GAP * contact_set.contacts[which].reach:
                # within the tolerance of a closed gap
                return code, trial, trial
            if low_moved:
                # Illinois rule: the same end of the bracket was retained, so halve its value
                after *= 0.5
            low_moved = True
        # an event before the trial, perhaps of another contact: locate the first of all
        elif now in (PENETRATION, MODE_CHANGE):
            code, high, at_high, low_moved = now, trial, True, False
            fraction, which = first_root(code, contact_set, saved)
            if which >= 0:
                kind = event_function_of(which, code, contact_set, saved)
                before = event_value_at_start(kind, which, contact_set, saved)
                after = event_value(kind, contact_set.contacts[which])
        else:
            return now, trial, trial
        when = low + secant_root(before, after) * (high - low)
    if not at_high:
        restore_step_start(state, table, forcing, contact_set, workspace, saved)
        code = take_step(state, table, forcing, contact_set, workspace, saved, full_step, high, 0.0)
    return code, high, when


@kernel
def apply_impacts(
    state: State,
    table: Constants,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    step: int,
    events: Table[Event],
    written: Integers,
) -> bool:
    """Apply the impact law to open contacts with zero gap; return whether any impact took place.

    step : number of the step
    events, written : event buffer; (1,) number of recorded events

    `saved.contacts` gets the modes before the impacts, with ROLL for a contact that closes.
    """
    q, v, p, contacts, sums = state.q, state.v, state.p, contact_set.contacts, workspace.sums[0]
    tally = workspace.tally[0]
    any_impact = False
    copy_modes(contacts, saved.contacts)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        # one contact after the other: each impact changes velocities and modes for the next one
        if k.mode != OPEN or k.gap > CLOSING_TOLERANCE * k.reach:
            continue
        approach = approach_speed(q, k, v, p)
        if approach <= 0.0:
            continue
        # the steps do not resolve so short a bounce: apply a plastic impact
        unresolved = step < k.bounces_from
        closes = k.restitution == 0.0 or unresolved
        # a contact that rolls perfectly has no slip once it is closed
        turns_back = k.tangential_restitution > 0.0 and k.friction < math.inf and not unresolved
        plastic = closes and not turns_back
        sums.impact += solve_impact(q, contacts, table.mobility, v, p, c, plastic, tally)
        sums.external += drive_work(q, contacts, table.mobility, v, p)
        k.bounces_from = step + BOUNCE_STEPS
        kind, any_impact, before = BOUNCES, True, k.mode
        if closes:
            k.mode, k.reported_end, kind = ROLL, k.at_end, CLOSES
            saved.contacts[c].mode, k.parts = ROLL, 0
            # a penetration at closing is corrected slowly, not in one step (docs/decisions/12)
            k.held_gap = k.gap if k.gap < -FOUND_DEPTH * k.reach else 0.0
        add_event(events, written, sums.time, c, before, kind, k, approach, 0.0)
        set_modes_after_impact(contact_set)
        if closes and turns_back:
            # restitution leaves a slip although the impulse is within the bound of friction; a
            # slip of rounding alone has no direction
            n = k.normal
            ux, uy, uz = slip_velocity(q, k, v, p)
            un = ux * n[0] + uy * n[1] + uz * n[2]
            tx, ty, tz = ux - un * n[0], uy - un * n[1], uz - un * n[2]
            if math.sqrt(tx * tx + ty * ty + tz * tz) > 1e-12 * approach:
                k.mode = SLIP
    return any_impact


@kernel
def set_modes_after_impact(contact_set: ContactSet) -> None:
    """Set the modes of closed contacts from the impulses of an impact."""
    contacts = contact_set.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL or k.friction == math.inf:
            continue
        n, impulse = k.normal, k.impulse
        pn = -dot(impulse, n)
        tx, ty, tz = impulse[0] + pn * n[0], impulse[1] + pn * n[1], impulse[2] + pn * n[2]
        # an impulse on the bound of friction, to its rounding and that of pn, means slip
        if pn > 0.0:
            tangential = math.sqrt(tx * tx + ty * ty + tz * tz)
            least = k.friction * pn * (1.0 - 1e-9) - 1e-15 * pn
            k.mode = SLIP if tangential >= least else ROLL


@kernel
def measure_speed(state: State, contact_set: ContactSet) -> None:
    """Set the slip velocity u and the slip speed of closed contacts."""
    contacts = contact_set.contacts
    measure(state.q, contacts, state.v, state.p)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            n, slip = k.normal, k.slip
            un = dot(slip, n)
            tx, ty, tz = slip[0] - un * n[0], slip[1] - un * n[1], slip[2] - un * n[2]
            k.slip_speed = math.sqrt(tx * tx + ty * ty + tz * tz) if k.mode == SLIP else 0.0


@kernel
def commit_modes(
    contacts: Contacts, was: Contacts, when: float, events: Table[Event], written: Integers
) -> bool:
    """Commit the modes implied by the forces; record an event for each change; return if any.

    A slip from stick is reported after a step, whole or split, has ended with it. If its first step
    ends without slip, the contact has continued to roll, and nothing is reported.

    was : contacts before the change
    when : time of the event [s]
    """
    changed = False
    rolls, slips = ROLL, SLIPS
    for c in range(contacts.shape[0]):
        k, old = contacts[c], was[c].mode
        # a slip from stick that lasts longer than its first step is reported with the time and
        # position of its onset
        if k.mode == SLIP and k.slip_speed > 0.0 and k.unreported_slip == SLIP_PENDING:
            k.unreported_slip = SLIP_UNREPORTED
        if k.unreported_slip == SLIP_UNREPORTED:
            add_event(events, written, k.onset_time, c, rolls, slips, k, k.onset_force, 0.0)
            event = events[written[0] - 1]
            event.after, event.place[0], event.place[1] = SLIP, k.onset_place[0], k.onset_place[1]
            k.unreported_slip = 0
        # the modes of the forces take effect
        if k.mode >= ROLL:
            k.mode = k.pending_mode
        new = k.mode
        if old >= ROLL and new != old:
            changed = True
            press, speed = max(k.normal_force, 0.0), max(k.slip_speed, 0.0)
            kind = SLIPS if new == SLIP else OPENS
            if new == ROLL:
                kind = STICKS
            elif kind == OPENS and k.reported_end >= REACHED_END:
                kind = FALLS
            # onset: not reported until a step has ended with the slip
            if kind == SLIPS and speed == 0.0:
                k.unreported_slip, k.onset_time, k.onset_force = SLIP_PENDING, when, press
                k.onset_place[0], k.onset_place[1] = k.place[0], k.place[1]
            else:
                # an unreported slip does not count: the contact rolled until this event, and a
                # return to rolling is no event
                rolled = k.unreported_slip == SLIP_PENDING
                k.unreported_slip = 0
                if not rolled:
                    add_event(events, written, when, c, old, kind, k, press, speed)
                elif kind != STICKS:
                    add_event(events, written, when, c, rolls, kind, k, press, speed)
        if new >= ROLL:
            note_end(k, c, when, events, written)
    return changed


@kernel
def copy_modes(contacts: Contacts, to: Contacts) -> None:
    """Copy the modes of all contacts."""
    for c in range(contacts.shape[0]):
        to[c].mode = contacts[c].mode


@kernel
def process_events(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    full_step: float,
    h: float,
    code: int,
    step: int,
    events: Table[Event],
    written: Integers,
) -> int:
    """Split a step of h that returned `code` at its events, and finish it.

    Returns INSIDE, or a code of `locate_all` that ends the run.
    """
    left = h
    for turns in range(MAX_EVENTS):
        end, when = left, left
        # locate the time of one mode change per step, but of every impact
        if turns == 0 or (code == PENETRATION and turns < MAX_EVENTS - 1):
            code, end, when = locate_event(
                state, table, forcing, contact_set, workspace, saved, full_step, left, code
            )
        if code != PENETRATION and code != MODE_CHANGE:
            return code
        begin = saved.sums[0].time
        # repeat the step to the root of the gap without the check for penetration, and apply the
        # impact there
        if code == PENETRATION:
            restore_step_start(state, table, forcing, contact_set, workspace, saved)
            code = take_step(
                state, table, forcing, contact_set, workspace, saved, full_step, end, 1.0
            )
            if code != INSIDE and code != MODE_CHANGE:
                return code
            commit_modes(contact_set.contacts, saved.contacts, begin + end, events, written)
            if apply_impacts(state, table, contact_set, workspace, saved, step, events, written):
                after_impact(
                    state, table, forcing, contact_set, workspace, saved, step, events, written
                )
        else:
            commit_modes(contact_set.contacts, saved.contacts, begin + when, events, written)
        left -= end
        if left <= 1e-9 * h:
            return INSIDE
        # the remainder of the step starts from the state after the event
        save_step_start(state, contact_set, workspace, saved)
        code = take_step(state, table, forcing, contact_set, workspace, saved, full_step, left, 0.0)
        if code == INSIDE:
            return code
    return INSIDE


@kernel
def after_impact(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    step: int,
    events: Table[Event],
    written: Integers,
) -> None:
    """Compute the forces after an impact, and commit the modes that they imply.

    A contact that has just closed stays closed until the end of a step.
    """
    measure_speed(state, contact_set)
    find_contact_forces(state, table, forcing, contact_set, workspace, saved)
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        fresh = k.mode >= ROLL and k.bounces_from == step + BOUNCE_STEPS
        if fresh and k.pending_mode == OPEN:
            k.pending_mode = k.mode
    commit_modes(contact_set.contacts, saved.contacts, workspace.sums[0].time, events, written)


@kernel
def initialise_modes(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    saved: SavedStep,
    still: float,
    events: Table[Event],
    written: Integers,
) -> None:
    """Set forces and modes at the start of a run; slip up to `still` [m/s] counts as stick."""
    update_forces(state, table, forcing, contact_set, workspace)
    copy_modes(contact_set.contacts, saved.contacts)
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        # slip at first, because `measure_speed` sets the slip speed of rolling contacts to zero
        if k.mode >= ROLL and k.friction < math.inf:
            k.mode = SLIP
    measure_speed(state, contact_set)
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        if k.mode == SLIP and k.slip_speed <= still:
            k.mode, k.slip_speed = ROLL, 0.0
    find_contact_forces(state, table, forcing, contact_set, workspace, saved)
    for c in range(contact_set.contacts.shape[0]):
        k = contact_set.contacts[c]
        idle = k.mode >= ROLL and k.normal_force <= k.noise
        if idle and k.from_search == 1:
            # a contact of the search without a force is open, without an event
            k.mode = saved.contacts[c].mode = OPEN
            put(k.force, 0.0, 0.0, 0.0)
    commit_modes(contact_set.contacts, saved.contacts, workspace.sums[0].time, events, written)
