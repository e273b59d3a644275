"""Steps of two half kicks, for contacts that may slip or open: half kick, drift, half kick, law.

A step begins and ends with velocities at the same time as positions. Its first half kick takes the
contact forces that the law gives at the start; impulses of the second bring what rolls to rest.
Where a contact changes, the step ends there: `turn_kernels` finds the time.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.book_kernels import book_half, judge_end
from stiction.rods.contact.kernels import (
    EMPTY,
    INSIDE,
    NOT_SLID,
    OPEN,
    ROLL,
    SLID,
    SLIP,
    Contacts,
    Touch,
    push,
    put,
    response,
    slip_velocity,
)
from stiction.rods.contact.law_kernels import (
    aim,
    count_closed,
    hold,
    note_gaps,
    solve_end,
    solve_forces,
    stop_giving,
    stop_turning,
)
from stiction.rods.contact.touch_kernels import drive_work, locate_all, measure, near_rates
from stiction.rods.driving_kernels import (
    Drive,
    add_damping,
    clamp_energy,
    clamp_power,
    clamp_rates,
    clamp_velocities,
    follow_clamps,
    hold_slides,
    internal_damping,
    place_frames,
    power,
)
from stiction.rods.leapfrog.march_kernels import (
    CHANGED,
    DONE,
    NOT_FINITE,
    SEARCH,
    SPREAD,
    STRUCK,
    Constants,
    Forcing,
    Spare,
    Sums,
    damping_of,
    earlier_of,
    moved,
    put_forces,
)
from stiction.rods.leapfrog.watch_kernels import beside, drop_doubles
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
from stiction.rods.state.extremes_kernels import note_extremes

Floats = npt.NDArray[np.float64]

# rows of `Kept.rows`, which the kernels below divide
KEPT_ROWS = 22
# steps from one look for contacts that no search has found to the next
LOOKS = 12


class Kept(NamedTuple):
    """What a step may go back to: rows of slots, contacts and sums; spare.

    `low` holds contacts at the latest time of a step that is known to come before a change.
    """

    rows: Floats
    contacts: Contacts
    low: Contacts
    sums: Table[Sums]
    spare: Floats


@kernel(views=True)
def state_kept(rows: Floats) -> State:
    """Return rows for the state at the start of a step."""
    return State(rows[0:3], rows[3:7], rows[7:10], rows[10:13])


@kernel(views=True)
def rates_of(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows for the rates of v and p without contacts, and for mobility without drag."""
    return rows[13:16], rows[16:19], rows[19:22]


@kernel
def copy_state(state: State, to: State) -> None:
    """Copy nodes, frames and their velocities."""
    copy(state.r, to.r)
    copy(state.q, to.q)
    copy(state.v, to.v)
    copy(state.p, to.p)


@kernel
def keep(state: State, touch: Touch, spare: Spare, kept: Kept) -> None:
    """Keep the state at the start of a step."""
    copy_state(state, state_kept(kept.rows))
    copy_contacts(touch.contacts, kept.contacts)
    kept.sums[0] = spare.sums[0]


@kernel
def copy_contacts(contacts: Contacts, to: Contacts) -> None:
    """Copy all contacts that both have, of empty ones their mode."""
    for c in range(min(contacts.shape[0], to.shape[0])):
        if contacts[c].mode == EMPTY:
            to[c].mode = EMPTY
        else:
            to[c] = contacts[c]


@kernel
def set_mobility(table: Constants, forcing: Forcing, spare: Spare, w: float) -> None:
    """Let impulses act with the drag of a half kick of length w."""
    rod, drags = material_of(table.mat), drag_of(forcing.drag)
    tally = spare.tally[0]
    if not forcing.damped or tally.last_kick == w:
        return
    tally.last_kick = w
    for i in range(table.mobility.shape[1]):
        free, turns = rod.free[i], rod.turns[i]
        lag = 0.5 * w * drags.element[i] * turns
        # contacts do not move what slides, see `Flat.mobility`
        if table.mobility[0, i] > 0.0:
            table.mobility[0, i] = free / (1.0 + 0.5 * w * drags.node[i] * free)
        table.mobility[1, i] = turns / (1.0 + lag)
        table.mobility[2, i] = 0.5 * turns / (1.0 + 0.5 * lag)


@kernel
def drag_heat(state: State, table: Constants, drag: Floats, spare: Spare, w: float) -> float:
    """Return the heat of drag in a kick of length w, at its mean velocity [J]."""
    rod, drags = material_of(table.mat), drag_of(drag)
    q, v, p, heat = state.q, state.v, state.p, 0.0
    old_v, old_p, _ = earlier_of(spare.scratch)
    for i in range(v.shape[1]):
        if rod.free[i] > 0.0 and drags.node[i] > 0.0:
            for a in range(3):
                mean = 0.5 * (v[a, i] + old_v[a, i])
                heat += w * drags.node[i] * mean * mean
        if rod.turns[i] > 0.0 and drags.element[i] > 0.0:
            ax, ay, az = axis_of(q, i)
            x, y, z = (
                0.5 * (p[0, i] + old_p[0, i]),
                0.5 * (p[1, i] + old_p[1, i]),
                0.5 * (p[2, i] + old_p[2, i]),
            )
            along = 0.5 * (x * ax + y * ay + z * az)
            x, y, z = x - along * ax, y - along * ay, z - along * az
            heat += w * drags.element[i] * (x * x + y * y + z * z)
    return heat


@kernel
def free_half(state: State, table: Constants, forcing: Forcing, spare: Spare, w: float) -> None:
    """Kick all velocities for w by elastic forces, loads and damping; begin to account for them."""
    drags = drag_of(forcing.drag)
    q, v, p, scratch, sums = state.q, state.v, state.p, spare.scratch, spare.sums[0]
    f, t = forces_of(scratch)
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external += 0.5 * w * power(q, v, p, fe, te)
    fd, td = damping_of(scratch)
    if forcing.retarded:
        add_damping(state.r, q, v, p, w, table.mat, drags.retardation, f, t, fd, td, spare.work)
        sums.viscous -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.driven.shape[0] > 0:
        sums.external -= w * clamp_power(q, v, p, f, t, forcing.driven)
    if forcing.damped:
        old_v, old_p, _ = earlier_of(scratch)
        copy(v, old_v)
        copy(p, old_p)
        damped_kick(q, v, p, f, t, table.mat, forcing.drag, w)
    else:
        kick(v, p, f, t, table.mat, w)
    hold_slides(v, forcing.driven)
    if forcing.retarded:
        for a in range(3):
            for i in range(f.shape[1]):
                f[a, i] -= fd[a, i]
                t[a, i] -= td[a, i]


@kernel
def book_free(state: State, table: Constants, forcing: Forcing, spare: Spare, w: float) -> None:
    """Finish the account of what loads and damping did in a half kick."""
    q, v, p, scratch, sums = state.q, state.v, state.p, spare.scratch, spare.sums[0]
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        sums.viscous -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.damped:
        sums.viscous += drag_heat(state, table, forcing.drag, spare, w)


@kernel
def hand_over(
    state: State, table: Constants, forcing: Forcing, spare: Spare, w: float, h: float
) -> None:
    """Let what is driven take its mean velocity over a drift of h, or with h = 0 that of now.

    Its kinetic energy is work from outside; so is what a kick of length w would count at the
    velocity that it had.
    """
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, spare.sums[0]
    fe, te = loads_of(spare.scratch)
    fd, td = damping_of(spare.scratch)
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
def start_half(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    whole: float,
    h: float,
) -> None:
    """Take the half kick that begins a step of h, with the contact forces of the law.

    `whole` is the length of a step that is not cut; 0 does not hold gaps.
    """
    q, v, p, contacts, w = state.q, state.v, state.p, touch.contacts, 0.5 * h
    closed = count_closed(contacts) > 0
    set_mobility(table, forcing, spare, w)
    if closed:
        aim(touch)
    if forcing.driven.shape[0] > 0:
        hand_over(state, table, forcing, spare, 0.0, h)
        measure(q, touch.contacts, v, p)
    free_half(state, table, forcing, spare, w)
    if closed:
        for c in range(contacts.shape[0]):
            k = contacts[c]
            if k.mode >= ROLL:
                force = k.force
                x, y, z = w * force[0], w * force[1], w * force[2]
                put(k.impulse, x, y, z)
                push(q, k, x, y, z, table.mobility, v, p)
        stop_turning(q, touch, table.mobility, v, p)
        if whole > 0.0:
            hold(state, touch, table.mobility, h, whole, spare.work)
        stop_giving(q, touch, table.mobility, v, p)
        spare.sums[0].algorithmic += book_half(q, touch, v, p, 1.0)
    book_free(state, table, forcing, spare, w)
    if forcing.driven.shape[0] > 0 and closed:
        spare.sums[0].external += drive_work(q, contacts, table.mobility, v, p)


@kernel
def end_half(
    state: State, table: Constants, forcing: Forcing, touch: Touch, spare: Spare, h: float
) -> None:
    """Take the half kick that ends a step of h, forces being those of its end."""
    q, v, p, contacts, w = state.q, state.v, state.p, touch.contacts, 0.5 * h
    closed = count_closed(contacts) > 0
    driven = forcing.driven.shape[0] > 0
    set_mobility(table, forcing, spare, w)
    if not driven and closed:
        measure(q, touch.contacts, v, p)
    free_half(state, table, forcing, spare, w)
    if driven:
        hand_over(state, table, forcing, spare, w, 0.0)
    if closed:
        if driven:
            # with the velocity of what is driven that it has now
            measure_kicked(state, table, forcing.driven, touch, spare, w)
        solve_end(q, touch, table.mobility, v, p, spare.tally[0])
        spare.sums[0].algorithmic += book_half(q, touch, v, p, 0.0)
        judge_end(touch, spare.tally[0])
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL:
            put(k.impulse, 0.0, 0.0, 0.0)
    book_free(state, table, forcing, spare, w)
    if driven and closed:
        spare.sums[0].external += drive_work(q, contacts, table.mobility, v, p)


@kernel
def measure_kicked(
    state: State, table: Constants, driven: Table[Drive], touch: Touch, spare: Spare, w: float
) -> None:
    """Put u before a half kick that was taken already into `slip`, forces being known."""
    f, t = forces_of(spare.scratch)
    kick(state.v, state.p, f, t, table.mat, -w)
    hold_slides(state.v, driven)
    measure(state.q, touch.contacts, state.v, state.p)
    kick(state.v, state.p, f, t, table.mat, w)
    hold_slides(state.v, driven)


@kernel(apart=True)
def find_law(
    state: State, table: Constants, forcing: Forcing, touch: Touch, spare: Spare, kept: Kept
) -> None:
    """Find the contact forces of the present state, and the modes that they belong to."""
    f, t = forces_of(spare.scratch)
    contacts = touch.contacts
    if count_closed(contacts) == 0:
        return
    av, ap, freely = rates_of(kept.rows)
    if not (forcing.damped or forcing.retarded or forcing.driven.shape[0] > 0):
        near_rates(contacts, f, t, table.mat, av, ap)
    else:
        full_rates(state, table, forcing, spare, av, ap)
        if forcing.damped:
            for c in range(contacts.shape[0]):
                k = contacts[c]
                if k.mode >= ROLL:
                    response(state.q, k, freely)
    solve_forces(state.q, touch, freely, state.v, state.p, av, ap, kept.spare, spare.tally[0])


@kernel
def full_rates(
    state: State, table: Constants, forcing: Forcing, spare: Spare, av: Matrix, ap: Matrix
) -> None:
    """Put the rates of v and p without contacts into av, ap, with damping and driven clamps."""
    q, v, p, scratch, mat = state.q, state.v, state.p, spare.scratch, table.mat
    rod, drags = material_of(mat), drag_of(forcing.drag)
    f, t = forces_of(scratch)
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
        half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
        drag, turn = drags.node[i], drags.element[i]
        ap[0, i] = rod.turns[i] * (ap[0, i] - turn * (p[0, i] - half * ax))
        ap[1, i] = rod.turns[i] * (ap[1, i] - turn * (p[1, i] - half * ay))
        ap[2, i] = rod.turns[i] * (ap[2, i] - turn * (p[2, i] - half * az))
        for a in range(3):
            av[a, i] = rod.free[i] * (av[a, i] - drag * v[a, i])
    if forcing.driven.shape[0] > 0:
        times, factors, now = forcing.times, forcing.factors, spare.sums[0].time
        clamp_rates(state.r, q, av, ap, forcing.driven, times, factors, now)


@kernel
def arrives(state: State, touch: Touch) -> bool:
    """Return whether an open contact is nearer than it may be, and closes in."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        deep = -SPREAD * k.reach - k.allowed_depth
        if k.mode == OPEN and k.gap < deep:
            ux, uy, uz = slip_velocity(state.q, k, state.v, state.p)
            if ux * k.normal[0] + uy * k.normal[1] + uz * k.normal[2] > 0.0:
                return True
    return False


@kernel(apart=True)
def take_step(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    onto: float,
) -> int:
    """Take one step of h; return INSIDE, a code of `locate_all`, STRUCK or CHANGED.

    It stops behind the drift where a contact has struck, unless `onto` is 1; the tally holds
    the contact that a code is about. CHANGED tells that modes are about to change.
    """
    sums, tally = spare.sums[0], spare.tally[0]
    start_half(state, table, forcing, touch, spare, whole, h)
    sums.time_before = sums.time
    drift(state.r, state.q, state.v, state.p, h)
    code, lost = locate_all(state.r, touch.contacts)
    if code != INSIDE or lost == -2:
        tally.lost = lost
    drop_doubles(touch)
    note_gaps(touch)
    sums.time += h
    if code != INSIDE:
        return code
    if onto == 0.0 and arrives(state, touch):
        return STRUCK
    if forcing.driven.shape[0] > 0:
        place_frames(state.q, forcing.driven, forcing.times, forcing.factors, sums.time)
    put_forces(state, table.mat, forcing, spare.scratch, sums.time)
    end_half(state, table, forcing, touch, spare, h)
    find_law(state, table, forcing, touch, spare, kept)
    return CHANGED if changes(touch, kept) else INSIDE


@kernel
def changes(touch: Touch, kept: Kept) -> bool:
    """Return whether a mode differs from that at the start of the step, or an end was met."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            was = kept.contacts[c].mode
            if k.pending_mode != was or k.at_end != (k.reported_end & 3):
                return True
            # a slip that turns back goes on from where it was at rest
            if was == SLIP and k.mode == ROLL and kept.contacts[c].slip_speed > 0.0:
                return True
            if k.unreported_slip == NOT_SLID and k.slip_speed > 0.0:
                k.unreported_slip = SLID
            k.mode = was
        elif kept.contacts[c].mode >= ROLL:
            return True
    return False


@kernel
def march_halves(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    steps: int,
    limit: float,
) -> tuple[int, int]:
    """Take up to `steps` steps of h; return why it paused, and the steps that are whole.

    STRUCK and CHANGED leave the state behind the step that is to be cut.
    """
    for k in range(steps):
        keep(state, touch, spare, kept)
        code = take_step(state, table, forcing, touch, spare, kept, whole, h, 0.0)
        if code != INSIDE:
            return code, k
        if not math.isfinite(state.v[0, 1] + state.p[0, 1] + state.r[0, state.r.shape[1] // 2]):
            return NOT_FINITE, k + 1
        note_extremes(touch, state.v, forcing.driven, 0.0, spare.sums[0].time)
        if limit > 0.0:
            _, _, searched = earlier_of(spare.scratch)
            far = moved(state.r, searched, limit)
            look = int(spare.sums[0].time / h + 0.5) % LOOKS == 0
            if far or spare.tally[0].lost == -2 or (look and beside(state.r, touch, limit)):
                return SEARCH, k + 1
    return DONE, steps
