"""Steps of the nonholonomic leapfrog: drift, elastic forces, kick with contacts.

What is rare pauses the march in the middle of a step, which goes on from there when it is called
again: impacts, contacts that let go and changes of mode are in `impact_kernels`.

Source: formulas sheet of the rods paper, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Struct, Table
from stiction.numerics.jit import kernel
from stiction.numerics.rows import dot
from stiction.rods.contact.kernels import INSIDE, OPEN, ROLL, Touch, slip_velocity
from stiction.rods.contact.touch_kernels import (
    Tally,
    account,
    drive_work,
    hold_gaps,
    kick_contacts,
    locate_all,
    measure,
    note_sweeps,
    pulls,
    settle_modes,
)
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
from stiction.rods.state.extremes_kernels import note_extremes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Constants(NamedTuple):
    """What stays: materials and mobility, as `Flat` has them."""

    mat: Floats
    mobility: Floats


class Forcing(NamedTuple):
    """Drag, loads and moving clamps, as `Flat` has them, and which of them there are."""

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
    """Where a run stands, in one element.

    time, time_before : behind and before the drift of a step [s]
    external, viscous, impact, algorithmic : work of loads and clamps, heat of damping, lost in
        impacts and to the scheme [J]
    *_kick : of the last kick
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


class Spare(NamedTuple):
    """Scratch and work (rows, slots), modes before a kick, sums and tally of one element."""

    scratch: Floats
    work: Floats
    modes: Ints
    sums: Table[Sums]
    tally: Table[Tally]


# rows of `Spare.scratch` and `Spare.work`, which the kernels below divide; what a checkpoint saves
SCRATCH_ROWS, WORK_ROWS, SAVED_ROWS = 33, 10, 24
# values of `next_part`: parts of a step, and forces alone, without a step
DRIFT, KICK, ACCOUNT, AFTER, FORCES = range(5)

# why the march paused: a code of `locate_all`, or one of these; the last three in a step
DONE, LEFT_ROD, SINGULAR, NEAR_PARALLEL, NOT_FINITE, SEARCH = range(6)
STRUCK, PULLS, CHANGED = 6, 7, 8
# a surface strikes when it is nearer than this part of the reach
SPREAD = 1e-12


@kernel(views=True)
def strains_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return rows for elastic forces of elements and moments of joints [N], [N m]."""
    return scratch[0:3], scratch[3:6]


@kernel(views=True)
def damping_of(scratch: Floats) -> tuple[Floats, Floats]:
    """Return rows for forces and torques of internal damping alone [N], [N m]."""
    return scratch[18:21], scratch[21:24]


@kernel(views=True)
def earlier_of(scratch: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows for v and p before the last kick, and for the nodes at the last search [m]."""
    return scratch[24:27], scratch[27:30], scratch[30:33]


@kernel(views=True)
def places_of(work: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows for nodes and frames before a drift, and for nodes at a time that is tried."""
    return work[0:3], work[3:7], work[7:10]


@kernel
def advance(state: State, touch: Touch, spare: Spare, h: float) -> tuple[int, int]:
    """Drift for h and locate the contacts; return the code of `locate_all` or STRUCK, and contact.

    Where a contact is open, the nodes and frames before stay in work.
    """
    r, q, v, p = state.r, state.q, state.v, state.p
    contacts, opened = touch.contacts, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        opened = opened or k.mode == OPEN
    if opened:
        old_r, old_q, _ = places_of(spare.work)
        copy(r, old_r)
        copy(q, old_q)
    drift(r, q, v, p, h)
    code, lost = locate_all(r, contacts)
    if code != INSIDE or not opened:
        return code, lost
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode == OPEN and k.distance < k.reach * (1.0 - SPREAD):
            ux, uy, uz = slip_velocity(q, k, v, p)
            n = k.normal
            if ux * n[0] + uy * n[1] + uz * n[2] > 0.0:
                return STRUCK, lost
    return code, lost


@kernel(apart=True)
def put_forces(state: State, mat: Floats, forcing: Forcing, scratch: Floats, now: float) -> None:
    """Put elastic forces and loads into scratch, loads alone too."""
    f, t = forces_of(scratch)
    n, m = strains_of(scratch)
    elastic(state.r, state.q, mat, n, m, f, t)
    if forcing.loaded:
        fe, te = loads_of(scratch)
        dead, times, factors = forcing.constant, forcing.times, forcing.factors
        add_loads(f, t, dead, forcing.loads, times, factors, now, fe, te)


@kernel
def free_kick(
    state: State, mat: Floats, forcing: Forcing, touch: Touch, spare: Spare, w: float
) -> None:
    """Kick all velocities by elastic and dead forces over w; note the modes before contacts act."""
    q, v, p, contacts = state.q, state.v, state.p, touch.contacts
    scratch, sums = spare.scratch, spare.sums[0]
    f, t = forces_of(scratch)
    sums.external_kick, sums.viscous_kick, sums.algorithmic_kick = 0.0, 0.0, 0.0
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external_kick += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        late = drag_of(forcing.drag).retardation
        add_damping(state.r, q, v, p, w, mat, late, f, t, fd, td, spare.work)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    measure(q, contacts, v, p)
    if forcing.damped:
        sums.viscous_kick += damped_kick(q, v, p, f, t, mat, forcing.drag, w)
    else:
        kick(v, p, f, t, mat, w)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        k.kick_heat = 0.0
        spare.modes[c] = k.mode


@kernel
def solve_contacts(
    state: State, mobility: Matrix, touch: Touch, spare: Spare, shake: bool, ahead: float
) -> bool:
    """Find and apply the impulses of closed contacts; return whether one would have to pull.

    Their modes follow. With `shake` gaps are held over a drift of length `ahead`.
    """
    q, v, p, contacts, closed = state.q, state.v, state.p, touch.contacts, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        closed = closed or k.mode >= ROLL
    if not closed:
        return False
    # work of damping done by contact impulses is part of the mean velocities
    sweeps = kick_contacts(q, contacts, mobility, v, p)
    note_sweeps(sweeps, sweeps >= 0, spare.tally[0])
    settle_modes(contacts)
    if not shake:
        return False
    hold_gaps(state, touch, mobility, ahead, spare.work)
    return pulls(contacts)


@kernel
def close_kick(
    state: State, mobility: Matrix, forcing: Forcing, touch: Touch, spare: Spare, w: float
) -> bool:
    """Add the work of a kick to the sums; return whether it changed the mode of a contact.

    That a contact comes to the end of a rod, or leaves it, counts as a change.
    """
    q, v, p, scratch, sums = state.q, state.v, state.p, spare.scratch, spare.sums[0]
    contacts, changed, closed = touch.contacts, False, False
    for c in range(contacts.shape[0]):
        k = contacts[c]
        closed = closed or spare.modes[c] >= ROLL
        changed = changed or (k.mode != spare.modes[c] and spare.modes[c] >= ROLL)
        moved_on = k.at_end != (k.reported_end & 3)
        changed = changed or (moved_on and k.mode >= ROLL)
    if closed:
        sums.algorithmic_kick = account(q, contacts, v, p, spare.tally[0])
    if forcing.loaded:
        fe, te = loads_of(scratch)
        sums.external_kick += 0.5 * w * power(q, v, p, fe, te)
    if forcing.retarded:
        fd, td = damping_of(scratch)
        sums.viscous_kick -= 0.5 * w * power(q, v, p, fd, td)
    if forcing.driven.shape[0] > 0 and closed:
        sums.external_kick += drive_work(q, contacts, mobility, v, p)
    sums.external += sums.external_kick
    sums.viscous += sums.viscous_kick
    sums.algorithmic += sums.algorithmic_kick
    return changed


@kernel
def lead_clamps(state: State, mat: Floats, forcing: Forcing, spare: Spare, h: float) -> None:
    """Give moving clamps their velocities for the next step, and account for the work."""
    q, v, p, driven, sums = state.q, state.v, state.p, forcing.driven, spare.sums[0]
    sums.external -= clamp_energy(q, v, p, mat, driven)
    times, factors = forcing.times, forcing.factors
    follow_clamps(state.r, q, v, p, driven, times, factors, sums.time_before, h)
    sums.external += clamp_energy(q, v, p, mat, driven)
    # the second half of the last kick, at the velocity the clamp has from here on
    f, t = forces_of(spare.scratch)
    done = clamp_power(q, v, p, f, t, driven)
    sums.external -= 0.5 * spare.tally[0].last_kick * done


def _moved(r: Floats, built: Floats, limit: float) -> bool:
    far = r - built
    return bool((dot(far, far) > limit * limit).any())


@kernel(plain=_moved)
def moved(r: Matrix, built: Matrix, limit: float) -> bool:
    """Return whether any node is farther than `limit` from where it was at the last search."""
    for i in range(r.shape[1]):
        x, y, z = r[0, i] - built[0, i], r[1, i] - built[1, i], r[2, i] - built[2, i]
        if x * x + y * y + z * z > limit * limit:
            return True
    return False


@kernel
def march(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    shake: bool,
    h: float,
    last: float,
    ahead: float,
    steps: int,
    limit: float,
) -> tuple[int, int]:
    """Take `steps` steps of h; return why it paused, and the whole steps taken.

    A step is a drift and the kick after it; the last kick lasts `last`, holds the gaps for a drift
    of length `ahead`, and leaves the velocities before it in scratch. The tally says where in a
    step it begins, and where it paused, and which contact a code is about.
    """
    v, p, sums, tally, scratch = state.v, state.p, spare.sums[0], spare.tally[0], spare.scratch
    for k in range(steps):
        w, farther = h, h
        if k == steps - 1:
            w, farther = last, ahead
        if tally.next_part == DRIFT:
            sums.time_before = sums.time
            if forcing.driven.shape[0] > 0:
                lead_clamps(state, table.mat, forcing, spare, h)
            code, tally.lost = advance(state, touch, spare, h)
            sums.time += h
            tally.next_part = KICK
            if code != INSIDE:
                return code, k
        if tally.next_part == KICK or tally.next_part == FORCES:
            if forcing.driven.shape[0] > 0 and tally.next_part == KICK:
                times, factors = forcing.times, forcing.factors
                place_frames(state.q, forcing.driven, times, factors, sums.time)
            put_forces(state, table.mat, forcing, scratch, sums.time)
            if tally.next_part == FORCES:
                break
            if k == steps - 1:
                old_v, old_p, _ = earlier_of(scratch)
                copy(v, old_v)
                copy(p, old_p)
            free_kick(state, table.mat, forcing, touch, spare, w)
            tally.next_part = ACCOUNT
            if solve_contacts(state, table.mobility, touch, spare, shake, farther):
                return PULLS, k
        if tally.next_part == ACCOUNT:
            tally.next_part = AFTER
            if close_kick(state, table.mobility, forcing, touch, spare, w):
                return CHANGED, k
        if forcing.driven.shape[0] > 0:
            f, t = forces_of(scratch)
            done = clamp_power(state.q, v, p, f, t, forcing.driven)
            sums.external -= 0.5 * w * done
            tally.last_kick = w
        note_extremes(touch, v, forcing.driven, 1.0 / w, sums.time)
        tally.next_part = DRIFT
        if not math.isfinite(v[0, 1] + p[0, 1] + state.r[0, state.r.shape[1] // 2]):
            return NOT_FINITE, k + 1
        _, _, searched = earlier_of(scratch)
        far = limit > 0.0 and moved(state.r, searched, limit)
        if far or (limit > 0.0 and tally.lost == -2):
            return SEARCH, k + 1
    return DONE, steps
