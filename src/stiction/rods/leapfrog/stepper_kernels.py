"""Steps of the nonholonomic leapfrog: drift, elastic forces, kick with contacts.

A drift changes positions at constant velocities over a step h; a kick changes velocities by forces
and contact impulses, v+ = v- + h M^-1 (f + J^T lam) with J (v+ + v-) = 0 (docs/theory/rods,
eq-rd-kick). M holds masses and inertias, f elastic forces and loads, lam the contact forces, and J
v is the slip velocity of the contacts. Velocities belong to the middle of a step. If a contact
reaches or leaves the end of a rod, `integrate` returns to Python, which records the event; the next
call resumes within the same step. Called by `leapfrog.run`. The structs below are the common
arguments; w is the length of a kick, h that of a drift, `now` the time [s].

Source: formulas sheet (docs/formulas/rods.md), section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.gauss_seidel_kernels import (
    Tally,
    account,
    constrain_gaps,
    drive_work,
    kick_contacts,
    locate_all,
    measure,
    record_sweeps,
)
from stiction.rods.contact.kernels import INSIDE, ContactSet
from stiction.rods.driving_kernels import (
    Drive,
    Load,
    add_damping,
    add_loads,
    clamp_energy,
    clamp_power,
    follow_clamps,
    place_frames,
    power,
    turn_momenta,
)
from stiction.rods.rod_kernels import (
    State,
    axis_of,
    copy,
    damped_kick,
    drag_of,
    drift,
    elastic,
    forces_of,
    kick,
    loads_of,
    material_of,
)
from stiction.rods.state.extremes_kernels import update_extremes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Constants(NamedTuple):
    """Tables of a run: material data `Flat.mat`, and mobility (inverse masses) `Flat.mobility`."""

    mat: Floats
    mobility: Floats


class Forcing(NamedTuple):
    """Drag, loads and moving clamps of `assembly.Flat`.

    drag : (3, slots) table of `rod_kernels.Drag`
    constant : (3, slots) constant forces on nodes, gravity included [N]
    loads, times, factors : other dead loads, and their histories, see `driving_kernels.add_loads`
    driven : nodes and elements with prescribed motion
    damped, retarded, loaded : whether there is drag, internal damping, any load
    """

    drag: Floats
    constant: Floats
    loads: Table[Load]
    times: Floats
    factors: Floats
    driven: Table[Drive]
    damped: bool
    retarded: bool
    loaded: bool


class Sums(Struct):
    """Time and accumulated work of a run, a table of one element.

    time, time_before : time after and before the drift of a step [s]
    external, viscous, impact, algorithmic : work of loads and clamps, heat of damping, energy lost
        in impacts, numerical dissipation [J]
    external_kick : work of loads and clamps in the second half of the last kick, from its mean
        velocity to its end [J]
    viscous_kick, algorithmic_kick : the same as viscous, algorithmic, of the last kick
    """

    time: float
    time_before: float
    external: float
    viscous: float
    impact: float
    algorithmic: float
    external_kick: float
    viscous_kick: float
    algorithmic_kick: float


class Workspace(NamedTuple):
    """Work arrays, and the records of a run.

    scratch : (33, slots), three rows each: stress resultants and moments (`strains_of`); all forces
        and torques (`rod_kernels.forces_of`); those of loads (`rod_kernels.loads_of`); those of
        internal damping (`damping_of`); v, p before the last kick, old nodes (`earlier_of`)
    work : (6, slots), without meaning between two calls
    sums, tally : tables of one element
    """

    scratch: Floats
    work: Floats
    sums: Table[Sums]
    tally: Table[Tally]


# numbers of rows of `scratch` and `work`; a checkpoint saves the first SAVED_ROWS of scratch
SCRATCH_ROWS, WORK_ROWS, SAVED_ROWS = 33, 6, 24
# values of `Tally.next_part`: phases of a step; FORCES: only forces are computed
DRIFT, KICK, ACCOUNT, AFTER, FORCES = range(5)

# return codes: codes of `locate_all`, and these; the last two occur within a step
DONE, LEFT_ROD, SINGULAR, NEAR_PARALLEL, NOT_FINITE, SEARCH = range(6)
PENETRATION, MODE_CHANGE = 6, 7
# a contact closes if the axes are closer than the reach by more than this fraction of it
CLOSING_TOLERANCE = 1e-12


@kernel(views=True)
def strains_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of scratch: stress resultants of elements [N], moments of joints [N m]."""
    return scratch[0:3], scratch[3:6]


@kernel(views=True)
def damping_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return views of scratch: forces [N] and torques [N m] of internal damping alone."""
    return scratch[18:21], scratch[21:24]


@kernel(views=True)
def earlier_of(scratch: Floats) -> tuple[Floats, Floats, Floats]:
    """Return views of scratch: v and p before the last kick; nodes at the last search [m]."""
    return scratch[24:27], scratch[27:30], scratch[30:33]


@kernel(separate=True)
def put_forces(state: State, mat: Floats, forcing: Forcing, scratch: Floats, now: float) -> None:
    """Set elastic forces plus loads in scratch, and loads alone, at time `now` [s]."""
    f, t = forces_of(scratch)
    n, m = strains_of(scratch)
    elastic(state.r, state.q, mat, n, m, f, t)
    if forcing.loaded:
        fe, te = loads_of(scratch)
        dead, times, factors = forcing.constant, forcing.times, forcing.factors
        add_loads(f, t, dead, forcing.loads, times, factors, now, fe, te)


@kernel
def set_mobility(table: Constants, forcing: Forcing, w: float) -> None:
    """Set the mobility of impulses, with the implicit drag of a kick of length w [s]."""
    rod, drags = material_of(table.mat), drag_of(forcing.drag)
    if not forcing.damped:
        return
    # implicit drag of the mean velocity, as in `damped_kick`: contact impulses are damped like all
    # others
    for i in range(table.mobility.shape[1]):
        free, turns = rod.free[i], rod.turns[i]
        lag = 0.5 * w * drags.element[i] * turns
        # a sliding node has no mobility for contacts, see `Flat.mobility`
        if table.mobility[0, i] > 0.0:
            table.mobility[0, i] = free / (1.0 + 0.5 * w * drags.node[i] * free)
        table.mobility[1, i] = turns / (1.0 + lag)
        # inertia and drag of the axial spin: twice the inertia across, the same drag
        table.mobility[2, i] = 0.5 * turns / (1.0 + 0.5 * lag)


@kernel
def drag_heat(
    state: State, table: Constants, drag: Floats, workspace: Workspace, w: float
) -> float:
    """Return the heat of drag in a kick of length w [s], at its mean velocity [J]."""
    rod, drags = material_of(table.mat), drag_of(drag)
    q, v, p, heat = state.q, state.v, state.p, 0.0
    old_v, old_p, _ = earlier_of(workspace.scratch)
    for i in range(v.shape[1]):
        if rod.free[i] > 0.0 and drags.node[i] > 0.0:
            # mean velocity with contact impulses: old_v is before the kick, v after all of it
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
            # angular velocity from the mean p
            along = 0.5 * (x * ax + y * ay + z * az)
            x, y, z = x - along * ax, y - along * ay, z - along * az
            heat += w * drags.element[i] * (x * x + y * y + z * z)
    return heat


@kernel
def free_kick(
    state: State,
    mat: Floats,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    w: float,
) -> None:
    """Kick v and p by forces without contacts over w [s]; store u before contacts act."""
    q, v, p, contacts = state.q, state.v, state.p, contact_set.contacts
    scratch, sums = workspace.scratch, workspace.sums[0]
    f, t = forces_of(scratch)
    sums.external_kick, sums.viscous_kick, sums.algorithmic_kick = 0.0, 0.0, 0.0
    if forcing.loaded:
        fe, te = loads_of(scratch)
        # work by the mean of the velocities before and after: the other half follows in
        # `finish_kick`; in the second half of the kick these two have the weights 1/4 and 3/4
        work = 0.5 * w * power(q, v, p, fe, te)
        sums.external += work
        sums.external_kick += 0.25 * work
    if forcing.retarded:
        fd, td = damping_of(scratch)
        retardation = drag_of(forcing.drag).retardation
        add_damping(state.r, q, v, p, w, mat, retardation, f, t, fd, td, workspace.work)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    # u before all impulses of the kick, the first part of u'
    measure(q, contacts, v, p)
    if forcing.damped:
        damped_kick(q, v, p, f, t, mat, forcing.drag, w)
    else:
        kick(v, p, f, t, mat, w)


@kernel
def solve_contacts(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    shake: bool,
    next_drift: float,
) -> None:
    """Solve for the impulses of contacts, and apply them.

    With `shake` impulses are corrected so that gaps vanish after a drift of length `next_drift`
    [s].
    """
    contacts = contact_set.contacts
    if contacts.shape[0] == 0:
        return
    driven, now = forcing.driven, workspace.sums[0].time
    if driven.shape[0] > 0:
        # u vanishes after the kick, when clamps and partners have their velocities of the next
        # drift; `finish_kick` restores the present ones
        times, factors = forcing.times, forcing.factors
        follow_clamps(state.r, state.q, state.v, state.p, driven, times, factors, now, next_drift)
    # the implicit drag of contact impulses is part of the mobility
    sweeps = kick_contacts(state.q, contacts, table.mobility, state.v, state.p)
    record_sweeps(sweeps, sweeps >= 0, workspace.tally[0])
    # a small correction of normal impulses, after the law
    if shake and not constrain_gaps(state, contact_set, table.mobility, next_drift, workspace.work):
        workspace.tally[0].unconverged += 1


@kernel
def drive_work_of_kick(
    state: State, table: Constants, contact_set: ContactSet, workspace: Workspace
) -> tuple[float, float]:
    """Return the work of prescribed motions against the contact impulses of a kick [J].

    An impulse P does the work P . (u + u') / 2 on a contact, with u before the prescribed
    velocities change and u' after it. Returned are the parts of u and of u', half the work each.
    """
    q, mobility, contacts = state.q, table.mobility, contact_set.contacts
    old_v, old_p, _ = earlier_of(workspace.scratch)
    before = 0.5 * drive_work(q, contacts, mobility, old_v, old_p)
    return before, 0.5 * drive_work(q, contacts, mobility, state.v, state.p)


@kernel
def finish_kick(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    w: float,
) -> bool:
    """Add the work of a kick to the sums; return whether a contact reaches or leaves a rod end."""
    q, v, p, scratch, sums = state.q, state.v, state.p, workspace.scratch, workspace.sums[0]
    contacts, changed = contact_set.contacts, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        # the last two bits of `reported_end` are the ends
        changed = changed or k.at_end != (k.reported_end & 3)
    sums.algorithmic_kick = account(q, contacts, v, p, workspace.tally[0])
    if forcing.driven.shape[0] > 0:
        before, after = drive_work_of_kick(state, table, contact_set, workspace)
        sums.external += before + after
        sums.external_kick += 0.25 * before + 0.75 * after
        old_v, old_p, _ = earlier_of(scratch)
        restore_clamp_velocities(v, p, forcing.driven, old_v, old_p)
    if forcing.loaded:
        fe, te = loads_of(scratch)
        work = 0.5 * w * power(q, v, p, fe, te)
        sums.external += work
        sums.external_kick += 0.75 * work
    if forcing.retarded:
        fd, td = damping_of(scratch)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.damped:
        sums.viscous_kick += drag_heat(state, table, forcing.drag, workspace, w)
    sums.viscous += sums.viscous_kick
    sums.algorithmic += sums.algorithmic_kick
    return changed


@kernel
def turn_clamps(state: State, forcing: Forcing, contact_set: ContactSet, now: float) -> None:
    """Set driven frames to their orientations at time `now` [s]; with contacts, p turns too."""
    place_frames(state.q, forcing.driven, forcing.times, forcing.factors, now)
    if contact_set.contacts.shape[0] > 0:
        turn_momenta(state.q, state.p, forcing.driven)


@kernel
def restore_clamp_velocities(
    v: Matrix, p: Matrix, driven: Table[Drive], old_v: Matrix, old_p: Matrix
) -> None:
    """Set the velocities of driven slots, without sliding nodes, to those before a kick."""
    for k in range(driven.shape[0]):
        d = driven[k]
        if d.slides == 1:
            continue
        for a in range(3):
            if d.is_frame == 0:
                v[a, d.slot] = old_v[a, d.slot]
            else:
                p[a, d.slot] = old_p[a, d.slot]


@kernel
def set_clamp_velocities(
    state: State, mat: Floats, forcing: Forcing, workspace: Workspace, h: float
) -> None:
    """Set the velocities of moving clamps for the next drift of h, and add their work."""
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, workspace.sums[0]
    half = 0.5 * workspace.tally[0].last_kick
    f, t = forces_of(workspace.scratch)
    fe, te = loads_of(workspace.scratch)
    fd, td = damping_of(workspace.scratch)
    # `finish_kick` added the second half of the work of loads and damping with the old velocity
    sums.external -= clamp_energy(q, v, p, mat, driven)
    sums.external -= half * clamp_power(q, v, p, fe, te, driven)
    sums.viscous += half * clamp_power(q, v, p, fd, td, driven)
    times, factors = forcing.times, forcing.factors
    follow_clamps(state.r, q, v, p, driven, times, factors, sums.time_before, h)
    # the second half of the work in the last kick, with the new velocity of the clamp
    sums.external += clamp_energy(q, v, p, mat, driven)
    sums.external += half * clamp_power(q, v, p, fe, te, driven)
    sums.viscous -= half * clamp_power(q, v, p, fd, td, driven)
    sums.external -= half * clamp_power(q, v, p, f, t, driven)


@kernel
def has_moved(r: Matrix, built: Matrix, limit: float) -> bool:
    """Return whether any node has moved by more than `limit` [m] since the last search."""
    for i in range(r.shape[1]):
        x, y, z = r[0, i] - built[0, i], r[1, i] - built[1, i], r[2, i] - built[2, i]
        if x * x + y * y + z * z > limit * limit:
            return True
    return False


@kernel
def integrate(
    state: State,
    table: Constants,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    shake: bool,
    h: float,
    last: float,
    next_drift: float,
    steps: int,
    limit: float,
) -> tuple[int, int]:
    """Take `steps` steps of h; return a code, and the number of complete steps.

    A step is a drift and a kick. The last kick has the length `last`, closes the gaps for a drift
    of `next_drift`, and stores v and p before it in scratch. `tally` has the phase at which a step
    begins or pauses. `limit` is the displacement that requires a search [m]; 0 for none.
    """
    v, p, sums, tally, scratch = (
        state.v,
        state.p,
        workspace.sums[0],
        workspace.tally[0],
        workspace.scratch,
    )
    for k in range(steps):
        # velocities are half a step behind positions: the last kick spans half of this step and
        # half of the next, which may have another length
        w, farther = h, h
        if k == steps - 1:
            w, farther = last, next_drift
        if tally.next_part == DRIFT:
            # drift: positions of the next time; clamps first, since the drift moves them too
            sums.time_before = sums.time
            if forcing.driven.shape[0] > 0:
                set_clamp_velocities(state, table.mat, forcing, workspace, h)
            drift(state.r, state.q, v, p, h)
            code, tally.lost = locate_all(state.r, contact_set.contacts)
            sums.time += h
            tally.next_part = KICK
            if code != INSIDE:
                return code, k
        if tally.next_part == KICK or tally.next_part == FORCES:
            # kick: forces at the new positions, then contacts, which change the free velocities
            if forcing.driven.shape[0] > 0 and tally.next_part == KICK:
                turn_clamps(state, forcing, contact_set, sums.time)
            put_forces(state, table.mat, forcing, scratch, sums.time)
            if tally.next_part == FORCES:
                break
            # saved states, drag and drives: the mean of the velocities before and after this kick
            if k == steps - 1 or forcing.damped or forcing.driven.shape[0] > 0:
                old_v, old_p, _ = earlier_of(scratch)
                copy(v, old_v)
                copy(p, old_p)
            set_mobility(table, forcing, w)
            free_kick(state, table.mat, forcing, contact_set, workspace, w)
            tally.next_part = ACCOUNT
            solve_contacts(state, table, forcing, contact_set, workspace, shake, farther)
        if tally.next_part == ACCOUNT:
            tally.next_part = AFTER
            if finish_kick(state, table, forcing, contact_set, workspace, w):
                return MODE_CHANGE, k
        if forcing.driven.shape[0] > 0:
            f, t = forces_of(scratch)
            # half of the work of clamps in this kick; the rest follows with their next velocity
            done = clamp_power(state.q, v, p, f, t, forcing.driven)
            sums.external -= 0.5 * w * done
            tally.last_kick = w
        update_extremes(contact_set, v, forcing.driven, 1.0 / w, sums.time)
        tally.next_part = DRIFT
        # a cheap check of three numbers; the energies at saved times are checked too
        if not math.isfinite(v[0, 1] + p[0, 1] + state.r[0, state.r.shape[1] // 2]):
            return NOT_FINITE, k + 1
        _, _, searched = earlier_of(scratch)
        far = limit > 0.0 and has_moved(state.r, searched, limit)
        if far or (limit > 0.0 and tally.lost == -2):
            return SEARCH, k + 1
    return DONE, steps
