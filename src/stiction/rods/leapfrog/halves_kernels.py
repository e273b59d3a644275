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

from stiction.numerics.arrays import Matrix
from stiction.numerics.jit import kernel
from stiction.rods.contact.book_kernels import book_half, judge_end
from stiction.rods.contact.kernels import (
    AT_END,
    EMPTY,
    FORCE_C,
    GAP,
    INSIDE,
    MODE,
    NOT_SLID,
    OPEN,
    REACH,
    ROLL,
    SLACK,
    SLID,
    SLIP,
    SPEED,
    TOLD_END,
    UNTOLD,
    N,
    P,
    Touch,
    U,
    push,
    response,
    slip_velocity,
)
from stiction.rods.contact.kernels import WILL as WILL_BE
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
from stiction.rods.contact.touch_kernels import LAST_KICK, drive_work, locate_all, near_rates
from stiction.rods.driving_kernels import (
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
    ALGORITHMIC,
    BEFORE,
    BUILT,
    CHANGED,
    DAMPING,
    DAMPING_T,
    DONE,
    EXTERNAL,
    FORCE,
    LOAD,
    LOAD_T,
    LOST,
    NOT_FINITE,
    NOW,
    P_OLD,
    SCRATCH_ROWS,
    SEARCH,
    SPREAD,
    STRUCK,
    TORQUE,
    TOTAL,
    V_OLD,
    VISCOUS,
    Forcing,
    Spare,
    Table,
    moved,
    put_forces,
)
from stiction.rods.leapfrog.watch_kernels import beside, drop_doubles
from stiction.rods.rod_kernels import (
    DRAG,
    FREE,
    RETARD,
    TURN_DRAG,
    TURNS,
    State,
    axis_of,
    copy,
    damped_kick,
    drift,
    kick,
)
from stiction.rods.state.extremes_kernels import note_extremes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# rows of kept: nodes, frames, velocities and momenta at the start of a step; rates of the last two;
# mobility without drag
KEPT_R, KEPT_Q, KEPT_V, KEPT_P, RATE_V, RATE_P, FREELY = 0, 3, 7, 10, 13, 16, 19
KEPT_ROWS = 22
# steps from one look for contacts that no search has found to the next
LOOKS = 12


class Kept(NamedTuple):
    """What a step may go back to: rows of slots, kick and place, marks, sums and clock; spare.

    `low` holds kick at the latest time of a step that is known to come before a change.
    """

    rows: Floats
    kick: Floats
    low: Floats
    place: Floats
    marks: Ints
    sums: Floats
    spare: Floats


@kernel(borrows=True)
def keep(state: State, touch: Touch, spare: Spare, kept: Kept) -> None:
    """Keep the state at the start of a step."""
    copy(state.r, kept.rows[KEPT_R:KEPT_Q])
    copy(state.q, kept.rows[KEPT_Q:KEPT_V])
    copy(state.v, kept.rows[KEPT_V:KEPT_P])
    copy(state.p, kept.rows[KEPT_P:RATE_V])
    for c in range(touch.marks.shape[0]):
        kept.marks[c, MODE] = touch.marks[c, MODE]
        if touch.marks[c, MODE] == EMPTY:
            continue
        for j in range(touch.marks.shape[1]):
            kept.marks[c, j] = touch.marks[c, j]
        for j in range(touch.kick.shape[1]):
            kept.kick[c, j] = touch.kick[c, j]
        kept.place[c, 0], kept.place[c, 1] = touch.place[c, 0], touch.place[c, 1]
    for k in range(spare.sums.shape[0]):
        kept.sums[k] = spare.sums[k, TOTAL]
    kept.sums[spare.sums.shape[0]] = spare.clock[NOW]


@kernel(borrows=True)
def set_mobility(table: Table, forcing: Forcing, spare: Spare, w: float) -> None:
    """Let impulses act with the drag of a half kick of length w."""
    if not forcing.damped or spare.worst[LAST_KICK] == w:
        return
    spare.worst[LAST_KICK] = w
    for i in range(table.mobility.shape[1]):
        free, turns = table.mat[FREE, i], table.mat[TURNS, i]
        lag = 0.5 * w * forcing.drag[TURN_DRAG, i] * turns
        # contacts do not move what slides, see `Flat.mobility`
        if table.mobility[0, i] > 0.0:
            table.mobility[0, i] = free / (1.0 + 0.5 * w * forcing.drag[DRAG, i] * free)
        table.mobility[1, i] = turns / (1.0 + lag)
        table.mobility[2, i] = 0.5 * turns / (1.0 + 0.5 * lag)


@kernel(borrows=True)
def drag_heat(state: State, table: Table, drag: Matrix, spare: Spare, w: float) -> float:
    """Return the heat of drag in a kick of length w, at its mean velocity [J]."""
    q, v, p, old_v, old_p = (
        state.q,
        state.v,
        state.p,
        spare.scratch[V_OLD:P_OLD],
        spare.scratch[P_OLD:BUILT],
    )
    heat = 0.0
    for i in range(v.shape[1]):
        if table.mat[FREE, i] > 0.0 and drag[DRAG, i] > 0.0:
            for a in range(3):
                mean = 0.5 * (v[a, i] + old_v[a, i])
                heat += w * drag[DRAG, i] * mean * mean
        if table.mat[TURNS, i] > 0.0 and drag[TURN_DRAG, i] > 0.0:
            ax, ay, az = axis_of(q, i)
            x, y, z = (
                0.5 * (p[0, i] + old_p[0, i]),
                0.5 * (p[1, i] + old_p[1, i]),
                0.5 * (p[2, i] + old_p[2, i]),
            )
            along = 0.5 * (x * ax + y * ay + z * az)
            x, y, z = x - along * ax, y - along * ay, z - along * az
            heat += w * drag[TURN_DRAG, i] * (x * x + y * y + z * z)
    return heat


@kernel(borrows=True)
def free_half(state: State, table: Table, forcing: Forcing, spare: Spare, w: float) -> None:
    """Kick all velocities for w by elastic forces, loads and damping; begin to account for them."""
    q, v, p, scratch, sums = state.q, state.v, state.p, spare.scratch, spare.sums
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    if forcing.loaded:
        fe, te = scratch[LOAD:LOAD_T], scratch[LOAD_T:DAMPING]
        sums[EXTERNAL, TOTAL] += 0.5 * w * power(q, v, p, fe, te)
    fd, td = scratch[DAMPING:DAMPING_T], scratch[DAMPING_T:V_OLD]
    if forcing.retarded:
        add_damping(state.r, q, v, p, w, table.mat, forcing.drag[RETARD], f, t, fd, td, spare.work)
        sums[VISCOUS, TOTAL] -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.driven.shape[0] > 0:
        sums[EXTERNAL, TOTAL] -= w * clamp_power(q, v, p, f, t, forcing.driven)
    if forcing.damped:
        copy(v, scratch[V_OLD:P_OLD])
        copy(p, scratch[P_OLD:BUILT])
        damped_kick(q, v, p, f, t, table.mat, forcing.drag, w)
    else:
        kick(v, p, f, t, table.mat, w)
    hold_slides(v, forcing.driven)
    if forcing.retarded:
        for a in range(3):
            for i in range(f.shape[1]):
                f[a, i] -= fd[a, i]
                t[a, i] -= td[a, i]


@kernel(borrows=True)
def book_free(state: State, table: Table, forcing: Forcing, spare: Spare, w: float) -> None:
    """Finish the account of what loads and damping did in a half kick."""
    q, v, p, scratch, sums = state.q, state.v, state.p, spare.scratch, spare.sums
    if forcing.loaded:
        fe, te = scratch[LOAD:LOAD_T], scratch[LOAD_T:DAMPING]
        sums[EXTERNAL, TOTAL] += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = scratch[DAMPING:DAMPING_T], scratch[DAMPING_T:V_OLD]
        sums[VISCOUS, TOTAL] -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.damped:
        sums[VISCOUS, TOTAL] += drag_heat(state, table, forcing.drag, spare, w)


@kernel(borrows=True)
def hand_over(
    state: State, table: Table, forcing: Forcing, spare: Spare, w: float, h: float
) -> None:
    """Let what is driven take its mean velocity over a drift of h, or with h = 0 that of now.

    Its kinetic energy is work from outside; so is what a kick of length w would count at the
    velocity that it had.
    """
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, spare.sums
    fe, te = spare.scratch[LOAD:LOAD_T], spare.scratch[LOAD_T:DAMPING]
    fd, td = spare.scratch[DAMPING:DAMPING_T], spare.scratch[DAMPING_T:V_OLD]
    sums[EXTERNAL, TOTAL] -= clamp_energy(q, v, p, table.mat, driven)
    if w > 0.0 and forcing.loaded:
        sums[EXTERNAL, TOTAL] += 0.5 * w * clamp_power(q, v, p, fe, te, driven)
    if w > 0.0 and forcing.retarded:
        sums[VISCOUS, TOTAL] -= 0.5 * w * clamp_power(q, v, p, fd, td, driven)
    times, factors, now = forcing.times, forcing.factors, spare.clock[NOW]
    if h > 0.0:
        follow_clamps(state.r, q, v, p, driven, times, factors, now, h)
    else:
        clamp_velocities(state.r, q, v, p, driven, times, factors, now)
    sums[EXTERNAL, TOTAL] += clamp_energy(q, v, p, table.mat, driven)
    if w > 0.0 and forcing.loaded:
        sums[EXTERNAL, TOTAL] -= 0.5 * w * clamp_power(q, v, p, fe, te, driven)
    if w > 0.0 and forcing.retarded:
        sums[VISCOUS, TOTAL] += 0.5 * w * clamp_power(q, v, p, fd, td, driven)


@kernel(borrows=True)
def measure_slip(q: Matrix, touch: Touch, v: Matrix, p: Matrix) -> None:
    """Put u of closed contacts before a half kick into kick[U]."""
    for c in range(touch.marks.shape[0]):
        if touch.marks[c, MODE] >= ROLL:
            k = touch.kick[c]
            k[U], k[U + 1], k[U + 2] = slip_velocity(q, c, touch.marks, touch.geom, v, p)


@kernel(borrows=True)
def start_half(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    whole: float,
    h: float,
) -> None:
    """Take the half kick that begins a step of h, with the contact forces of the law.

    `whole` is the length of a step that is not cut; 0 does not hold gaps.
    """
    q, v, p, index, w = state.q, state.v, state.p, touch.marks, 0.5 * h
    closed = count_closed(index) > 0
    set_mobility(table, forcing, spare, w)
    if closed:
        aim(touch)
    if forcing.driven.shape[0] > 0:
        hand_over(state, table, forcing, spare, 0.0, h)
        measure_slip(q, touch, v, p)
    free_half(state, table, forcing, spare, w)
    if closed:
        for c in range(index.shape[0]):
            if index[c, MODE] >= ROLL:
                k = touch.kick[c]
                x, y, z = w * k[FORCE_C], w * k[FORCE_C + 1], w * k[FORCE_C + 2]
                k[P], k[P + 1], k[P + 2] = x, y, z
                push(q, c, index, touch.geom, x, y, z, table.mobility, v, p)
        stop_turning(q, touch, table.mobility, v, p)
        if whole > 0.0:
            hold(state, touch, table.mobility, h, whole, spare.work)
        stop_giving(q, touch, table.mobility, v, p)
        spare.sums[ALGORITHMIC, TOTAL] += book_half(q, touch, v, p, 1.0)
    book_free(state, table, forcing, spare, w)
    if forcing.driven.shape[0] > 0 and closed:
        work = drive_work(q, index, touch.geom, table.mobility, v, p, touch.kick)
        spare.sums[EXTERNAL, TOTAL] += work


@kernel(borrows=True)
def end_half(
    state: State, table: Table, forcing: Forcing, touch: Touch, spare: Spare, h: float
) -> None:
    """Take the half kick that ends a step of h, forces being those of its end."""
    q, v, p, index, w = state.q, state.v, state.p, touch.marks, 0.5 * h
    closed = count_closed(index) > 0
    driven = forcing.driven.shape[0] > 0
    set_mobility(table, forcing, spare, w)
    if not driven and closed:
        measure_slip(q, touch, v, p)
    free_half(state, table, forcing, spare, w)
    if driven:
        hand_over(state, table, forcing, spare, w, 0.0)
    if closed:
        if driven:
            # with the velocity of what is driven that it has now
            measure_kicked(state, table, forcing.driven, touch, spare, w)
        solve_end(q, touch, table.mobility, v, p, spare.worst)
        spare.sums[ALGORITHMIC, TOTAL] += book_half(q, touch, v, p, 0.0)
        judge_end(touch, spare.worst)
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL:
            touch.kick[c, P], touch.kick[c, P + 1], touch.kick[c, P + 2] = 0.0, 0.0, 0.0
    book_free(state, table, forcing, spare, w)
    if driven and closed:
        work = drive_work(q, index, touch.geom, table.mobility, v, p, touch.kick)
        spare.sums[EXTERNAL, TOTAL] += work


@kernel(borrows=True)
def measure_kicked(
    state: State, table: Table, driven: Matrix, touch: Touch, spare: Spare, w: float
) -> None:
    """Put u before a half kick that was taken already into kick[U], forces being known."""
    f, t = spare.scratch[FORCE:TORQUE], spare.scratch[TORQUE:LOAD]
    kick(state.v, state.p, f, t, table.mat, -w)
    hold_slides(state.v, driven)
    measure_slip(state.q, touch, state.v, state.p)
    kick(state.v, state.p, f, t, table.mat, w)
    hold_slides(state.v, driven)


@kernel(borrows=True, apart=True)
def find_law(
    state: State, table: Table, forcing: Forcing, touch: Touch, spare: Spare, kept: Kept
) -> None:
    """Find the contact forces of the present state, and the modes that they belong to."""
    f, t = spare.scratch[FORCE:TORQUE], spare.scratch[TORQUE:LOAD]
    if count_closed(touch.marks) == 0:
        return
    av, ap, freely = kept.rows[RATE_V:RATE_P], kept.rows[RATE_P:FREELY], kept.rows[FREELY:KEPT_ROWS]
    if not (forcing.damped or forcing.retarded or forcing.driven.shape[0] > 0):
        near_rates(touch.marks, f, t, table.mat, av, ap)
    else:
        full_rates(state, table, forcing, spare, av, ap)
        if forcing.damped:
            for c in range(touch.marks.shape[0]):
                if touch.marks[c, MODE] >= ROLL:
                    response(state.q, c, touch.marks, touch.geom, freely)
    solve_forces(state.q, touch, freely, state.v, state.p, av, ap, kept.spare, spare.worst)


@kernel(borrows=True)
def full_rates(
    state: State, table: Table, forcing: Forcing, spare: Spare, av: Matrix, ap: Matrix
) -> None:
    """Put the rates of v and p without contacts into av, ap, with damping and driven clamps."""
    q, v, p, scratch, mat = state.q, state.v, state.p, spare.scratch, table.mat
    f, t = scratch[FORCE:TORQUE], scratch[TORQUE:LOAD]
    copy(f, av)
    copy(t, ap)
    if forcing.retarded:
        fd, td = scratch[DAMPING:DAMPING_T], scratch[DAMPING_T:V_OLD]
        internal_damping(state.r, q, v, p, mat, forcing.drag[RETARD], fd, td)
        for a in range(3):
            for i in range(f.shape[1]):
                av[a, i] += fd[a, i]
                ap[a, i] += td[a, i]
    for i in range(f.shape[1]):
        ax, ay, az = axis_of(q, i)
        half = 0.5 * (p[0, i] * ax + p[1, i] * ay + p[2, i] * az)
        drag, turn = forcing.drag[DRAG, i], forcing.drag[TURN_DRAG, i]
        ap[0, i] = mat[TURNS, i] * (ap[0, i] - turn * (p[0, i] - half * ax))
        ap[1, i] = mat[TURNS, i] * (ap[1, i] - turn * (p[1, i] - half * ay))
        ap[2, i] = mat[TURNS, i] * (ap[2, i] - turn * (p[2, i] - half * az))
        for a in range(3):
            av[a, i] = mat[FREE, i] * (av[a, i] - drag * v[a, i])
    if forcing.driven.shape[0] > 0:
        times, factors, now = forcing.times, forcing.factors, spare.clock[NOW]
        clamp_rates(state.r, q, av, ap, forcing.driven, times, factors, now)


@kernel(borrows=True)
def arrives(state: State, touch: Touch) -> bool:
    """Return whether an open contact is nearer than it may be, and closes in."""
    index, geom, law = touch.marks, touch.geom, touch.law
    for c in range(index.shape[0]):
        deep = -SPREAD * law[c, REACH] - touch.kick[c, SLACK]
        if index[c, MODE] == OPEN and touch.kick[c, GAP] < deep:
            ux, uy, uz = slip_velocity(state.q, c, index, geom, state.v, state.p)
            if ux * geom[c, N] + uy * geom[c, N + 1] + uz * geom[c, N + 2] > 0.0:
                return True
    return False


@kernel(borrows=True, apart=True)
def take_step(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    onto: float,
) -> int:
    """Take one step of h; return INSIDE, a code of `locate_all`, STRUCK or CHANGED.

    It stops behind the drift where a contact has struck, unless `onto` is 1; todo[LOST] holds the
    contact that a code is about. CHANGED tells that modes are about to change.
    """
    clock, index = spare.clock, touch.marks
    start_half(state, table, forcing, touch, spare, whole, h)
    clock[BEFORE] = clock[NOW]
    drift(state.r, state.q, state.v, state.p, h)
    code, lost = locate_all(state.r, touch.place, index, touch.geom)
    if code != INSIDE or lost == -2:
        spare.todo[LOST] = lost
    drop_doubles(touch)
    note_gaps(touch)
    clock[NOW] += h
    if code != INSIDE:
        return code
    if onto == 0.0 and arrives(state, touch):
        return STRUCK
    if forcing.driven.shape[0] > 0:
        place_frames(state.q, forcing.driven, forcing.times, forcing.factors, clock[NOW])
    put_forces(state, table.mat, forcing, spare.scratch, clock[NOW])
    end_half(state, table, forcing, touch, spare, h)
    find_law(state, table, forcing, touch, spare, kept)
    return CHANGED if changes(touch, kept) else INSIDE


@kernel(borrows=True)
def changes(touch: Touch, kept: Kept) -> bool:
    """Return whether a mode differs from that at the start of the step, or an end was met."""
    index, kick = touch.marks, touch.kick
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            was = kept.marks[c, MODE]
            if kick[c, WILL_BE] != was or index[c, AT_END] != (index[c, TOLD_END] & 3):
                return True
            # a slip that turns back goes on from where it was at rest
            if was == SLIP and index[c, MODE] == ROLL and kept.kick[c, SPEED] > 0.0:
                return True
            if kick[c, UNTOLD] == NOT_SLID and kick[c, SPEED] > 0.0:
                kick[c, UNTOLD] = SLID
            index[c, MODE] = kept.marks[c, MODE]
        elif kept.marks[c, MODE] >= ROLL:
            return True
    return False


@kernel(borrows=True)
def march_halves(
    state: State,
    table: Table,
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
        note_extremes(touch, state.v, forcing.driven, 0.0, spare.clock[NOW])
        if limit > 0.0:
            far = moved(state.r, spare.scratch[BUILT:SCRATCH_ROWS], limit)
            look = int(spare.clock[NOW] / h + 0.5) % LOOKS == 0
            if far or spare.todo[LOST] == -2 or (look and beside(state.r, touch, limit)):
                return SEARCH, k + 1
    return DONE, steps
