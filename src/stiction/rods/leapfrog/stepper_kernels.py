"""Steps of the nonholonomic leapfrog: drift, elastic forces, kick with contacts.

A drift changes positions at constant velocities over a step h; a kick changes velocities by forces
and contact impulses. Velocities belong to the middle of a step. Impacts, opening of contacts and
mode changes are rare: the integration returns to Python, `impact_kernels` treats the event, and the
next call resumes within the same step.

Source: formulas sheet (docs/formulas/rods.md), section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table
from stiction.numerics.jit import kernel
from stiction.numerics.rows import dot
from stiction.rods.contact.gauss_seidel_kernels import (
    Tally,
    account,
    constrain_gaps,
    drive_work,
    kick_contacts,
    locate_all,
    measure,
    needs_tension,
    record_sweeps,
    set_modes_from_impulses,
)
from stiction.rods.contact.kernels import INSIDE, OPEN, ROLL, ContactSet, slip_velocity
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
)
from stiction.rods.rod_kernels import (
    State,
    copy,
    damped_kick,
    drag_of,
    drift,
    elastic,
    forces_of,
    kick,
    loads_of,
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
    *_kick : the same of the last kick
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

    scratch, work : (33, slots), (10, slots); functions below return their parts
    modes : (contacts,) modes before a kick
    sums, tally : tables of one element
    """

    scratch: Floats
    work: Floats
    modes: Ints
    sums: Table[Sums]
    tally: Table[Tally]


# numbers of rows of `scratch` and `work`; a checkpoint saves the first SAVED_ROWS of scratch
SCRATCH_ROWS, WORK_ROWS, SAVED_ROWS = 33, 10, 24
# values of `Tally.next_part`: phases of a step; FORCES: only forces are computed
DRIFT, KICK, ACCOUNT, AFTER, FORCES = range(5)

# return codes: codes of `locate_all`, and these; the last three occur within a step
DONE, LEFT_ROD, SINGULAR, NEAR_PARALLEL, NOT_FINITE, SEARCH = range(6)
PENETRATION, TENSION, MODE_CHANGE = 6, 7, 8
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


@kernel(views=True)
def places_of(work: Floats) -> tuple[Floats, Floats, Floats]:
    """Return views of work: nodes and frames before a drift; nodes at a trial time."""
    return work[0:3], work[3:7], work[7:10]


@kernel
def drift_and_locate(
    state: State, contact_set: ContactSet, workspace: Workspace, h: float
) -> tuple[int, int]:
    """Drift for h [s] and locate the contacts; return a code, and the contact of `locate_all`.

    The code is that of `locate_all`, or PENETRATION if an open contact closes. If any contact is
    open, nodes and frames before the drift are stored in `work`.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, opened = contact_set.contacts, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        opened = opened or k.mode == OPEN
    # only an open contact can close, and only then the drift is repeated
    if opened:
        old_r, old_q, _ = places_of(workspace.work)
        copy(r, old_r)
        copy(q, old_q)
    drift(r, q, v, p, h)
    code, lost = locate_all(r, contacts)
    if code != INSIDE or not opened:
        return code, lost
    for c in range(contacts.shape[0]):
        k = contacts[c]
        # penetration with approach; a contact that separates has just opened
        if k.mode == OPEN and k.distance < k.reach * (1.0 - CLOSING_TOLERANCE):
            ux, uy, uz = slip_velocity(q, k, v, p)
            n = k.normal
            if ux * n[0] + uy * n[1] + uz * n[2] > 0.0:
                return PENETRATION, lost
    return code, lost


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
def free_kick(
    state: State,
    mat: Floats,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    w: float,
) -> None:
    """Kick v and p by forces without contacts over w [s]; store u and modes before contacts act."""
    q, v, p, contacts = state.q, state.v, state.p, contact_set.contacts
    scratch, sums = workspace.scratch, workspace.sums[0]
    f, t = forces_of(scratch)
    sums.external_kick, sums.viscous_kick, sums.algorithmic_kick = 0.0, 0.0, 0.0
    if forcing.loaded:
        fe, te = loads_of(scratch)
        # work by the mean of the velocities before and after: the other half follows in
        # `finish_kick`
        sums.external_kick += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        retardation = drag_of(forcing.drag).retardation
        add_damping(state.r, q, v, p, w, mat, retardation, f, t, fd, td, workspace.work)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    # u before all impulses of the kick, the first part of u'
    measure(q, contacts, v, p)
    if forcing.damped:
        sums.viscous_kick += damped_kick(q, v, p, f, t, mat, forcing.drag, w)
    else:
        kick(v, p, f, t, mat, w)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        k.kick_heat = 0.0
        workspace.modes[c] = k.mode


@kernel
def solve_contacts(
    state: State,
    mobility: Matrix,
    contact_set: ContactSet,
    workspace: Workspace,
    shake: bool,
    next_drift: float,
) -> bool:
    """Solve for the impulses of closed contacts, apply them; return whether one is tensile.

    The modes follow from the impulses. With `shake` impulses are corrected so that gaps vanish
    after a drift of length `next_drift` [s].
    """
    q, v, p, contacts, closed = state.q, state.v, state.p, contact_set.contacts, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        closed = closed or k.mode >= ROLL
    if not closed:
        return False
    # the implicit drag of contact impulses is part of the mobility
    sweeps = kick_contacts(q, contacts, mobility, v, p)
    record_sweeps(sweeps, sweeps >= 0, workspace.tally[0])
    set_modes_from_impulses(contacts)
    if not shake:
        return False
    # a small correction of normal impulses, after the law; their sign is checked afterwards
    if not constrain_gaps(state, contact_set, mobility, next_drift, workspace.work):
        workspace.tally[0].unconverged += 1
    return needs_tension(contacts)


@kernel
def finish_kick(
    state: State,
    mobility: Matrix,
    forcing: Forcing,
    contact_set: ContactSet,
    workspace: Workspace,
    w: float,
) -> bool:
    """Add the work of a kick to the sums; return whether a contact has changed its mode.

    A contact that reaches an end of a rod, or leaves it, counts as changed.
    """
    q, v, p, scratch, sums = state.q, state.v, state.p, workspace.scratch, workspace.sums[0]
    contacts, changed, closed = contact_set.contacts, False, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        closed = closed or workspace.modes[c] >= ROLL
        changed = changed or (k.mode != workspace.modes[c] and workspace.modes[c] >= ROLL)
        # the last two bits of `reported_end` are the ends
        moved_on = k.at_end != (k.reported_end & 3)
        changed = changed or (moved_on and k.mode >= ROLL)
    if closed:
        sums.algorithmic_kick = account(q, contacts, v, p, workspace.tally[0])
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external_kick += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    # impulses on a driven slot are work of its drive
    if forcing.driven.shape[0] > 0 and closed:
        sums.external_kick += drive_work(q, contacts, mobility, v, p)
    sums.external += sums.external_kick
    sums.viscous += sums.viscous_kick
    sums.algorithmic += sums.algorithmic_kick
    return changed


@kernel
def set_clamp_velocities(
    state: State, mat: Floats, forcing: Forcing, workspace: Workspace, h: float
) -> None:
    """Set the velocities of moving clamps for the next drift of h, and add their work."""
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, workspace.sums[0]
    sums.external -= clamp_energy(q, v, p, mat, driven)
    times, factors = forcing.times, forcing.factors
    follow_clamps(state.r, q, v, p, driven, times, factors, sums.time_before, h)
    sums.external += clamp_energy(q, v, p, mat, driven)
    # the second half of the work in the last kick, with the new velocity of the clamp
    f, t = forces_of(workspace.scratch)
    done = clamp_power(q, v, p, f, t, driven)
    sums.external -= 0.5 * workspace.tally[0].last_kick * done


def _has_moved(r: Floats, built: Floats, limit: float) -> bool:
    far = r - built
    return bool((dot(far, far) > limit * limit).any())


@kernel(plain=_has_moved)
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
            code, tally.lost = drift_and_locate(state, contact_set, workspace, h)
            sums.time += h
            tally.next_part = KICK
            if code != INSIDE:
                return code, k
        if tally.next_part == KICK or tally.next_part == FORCES:
            # kick: forces at the new positions, then contacts, which change the free velocities
            if forcing.driven.shape[0] > 0 and tally.next_part == KICK:
                times, factors = forcing.times, forcing.factors
                place_frames(state.q, forcing.driven, times, factors, sums.time)
            put_forces(state, table.mat, forcing, scratch, sums.time)
            if tally.next_part == FORCES:
                break
            # a saved state has the mean of the velocities before and after this kick
            if k == steps - 1:
                old_v, old_p, _ = earlier_of(scratch)
                copy(v, old_v)
                copy(p, old_p)
            free_kick(state, table.mat, forcing, contact_set, workspace, w)
            tally.next_part = ACCOUNT
            if solve_contacts(state, table.mobility, contact_set, workspace, shake, farther):
                return TENSION, k
        if tally.next_part == ACCOUNT:
            tally.next_part = AFTER
            if finish_kick(state, table.mobility, forcing, contact_set, workspace, w):
                return MODE_CHANGE, k
        if forcing.driven.shape[0] > 0:
            f, t = forces_of(scratch)
            # half of the work of clamps in this kick, with their velocity before it; the other half
            # follows with their next velocity
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
