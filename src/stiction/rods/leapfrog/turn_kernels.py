"""Where contacts change in steps of two half kicks: the step is cut there, and goes on from there.

The time is that of a root: of the gap where a contact closes, of what presses where it opens, of
what rolling asks for less the bound of friction where it slips, of the slip where it comes to rest.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    AT_END,
    CLOSED_AT,
    EMPTY,
    FORCE_C,
    FOUND,
    GAP,
    GRIP,
    HELD,
    INSIDE,
    MODE,
    MU,
    NOISE,
    NOT_SLID,
    ONSET,
    ONSET_PRESS,
    ONSET_S,
    OPEN,
    PARTS,
    PRESS,
    REACH,
    RESTITUTION,
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
    response,
)
from stiction.rods.contact.kernels import WILL as WILL_BE
from stiction.rods.contact.law_kernels import note_gaps
from stiction.rods.contact.strike_kernels import strike
from stiction.rods.contact.touch_kernels import drive_work, locate_all
from stiction.rods.leapfrog.halves_kernels import (
    KEPT_P,
    KEPT_Q,
    KEPT_R,
    KEPT_V,
    RATE_V,
    Kept,
    find_law,
    keep,
    measure_slip,
    take_step,
)
from stiction.rods.leapfrog.impact_kernels import (
    BOUNCES,
    CAME,
    CLOSES,
    ENDS,
    FALLS,
    MODE_AFTER,
    OPENS_UP,
    S_1,
    S_2,
    SIDES,
    SLIPS,
    STICKS,
    add_event,
    approaching,
)
from stiction.rods.leapfrog.march_kernels import (
    CHANGED,
    EXTERNAL,
    IMPACT,
    NOW,
    SPREAD,
    STRUCK,
    TOTAL,
    Forcing,
    Spare,
    Table,
    put_forces,
)
from stiction.rods.rod_kernels import State, copy

Ints = npt.NDArray[np.int64]

# of a step: how far behind a root it may be cut
BEHIND = 0.01
MOST_TURNS, MOST_TRIES = 64, 24
# a gap below this part of the reach has closed
CLOSED = 1e-13
# and one beyond this part was not closed in time, but found
DEEP = 1e-9


@kernel(borrows=True)
def go_back(
    state: State, table: Table, forcing: Forcing, touch: Touch, spare: Spare, kept: Kept
) -> None:
    """Take up the state that was kept, its forces and its geometry."""
    copy(kept.rows[KEPT_R:KEPT_Q], state.r)
    copy(kept.rows[KEPT_Q:KEPT_V], state.q)
    copy(kept.rows[KEPT_V:KEPT_P], state.v)
    copy(kept.rows[KEPT_P:RATE_V], state.p)
    for c in range(touch.marks.shape[0]):
        touch.marks[c, MODE] = kept.marks[c, MODE]
        if kept.marks[c, MODE] == EMPTY:
            continue
        for j in range(touch.marks.shape[1]):
            touch.marks[c, j] = kept.marks[c, j]
        for j in range(touch.kick.shape[1]):
            touch.kick[c, j] = kept.kick[c, j]
        touch.place[c, 0], touch.place[c, 1] = kept.place[c, 0], kept.place[c, 1]
    for k in range(spare.sums.shape[0]):
        spare.sums[k, TOTAL] = kept.sums[k]
    spare.clock[NOW] = kept.sums[spare.sums.shape[0]]
    renew(state, table, forcing, touch, spare)


@kernel(borrows=True)
def renew(state: State, table: Table, forcing: Forcing, touch: Touch, spare: Spare) -> None:
    """Find geometry and forces of the present state again."""
    locate_all(state.r, touch.place, touch.marks, touch.geom)
    note_gaps(touch)
    for c in range(touch.marks.shape[0]):
        if touch.marks[c, MODE] >= ROLL:
            response(state.q, c, touch.marks, touch.geom, table.mobility)
    put_forces(state, table.mat, forcing, spare.scratch, spare.clock[NOW])


@kernel(borrows=True)
def part_at(before: float, behind: float) -> float:
    """Return where a line from `before` < 0 to `behind` >= 0 is zero, in parts of the way."""
    if before >= 0.0:
        return 0.0
    return -before / (behind - before) if behind > before else 1.0


@kernel(borrows=True)
def kind_of(c: int, code: int, touch: Touch, kept: Kept) -> int:
    """Return by which column of kick contact c changes in a step; -1 where it does not."""
    was, k = kept.marks[c, MODE], touch.kick[c]
    if code == STRUCK:
        deep = -SPREAD * touch.law[c, REACH] - k[SLACK]
        struck = touch.marks[c, MODE] == OPEN and k[GAP] < deep
        return GAP if struck and was == OPEN else -1
    if was < ROLL or touch.marks[c, MODE] < ROLL:
        return -1
    if k[WILL_BE] == OPEN:
        return PRESS
    if k[WILL_BE] == was and not (was == SLIP and touch.marks[c, MODE] == ROLL):
        return -1
    return GRIP if was == ROLL else SPEED


@kernel(borrows=True)
def value(kind: int, k: Vector) -> float:
    """Return what is negative before a change, and not behind it."""
    return float(k[GRIP]) if kind == GRIP else -float(k[kind])


@kernel(borrows=True)
def starting(kind: int, c: int, touch: Touch, kept: Kept) -> float:
    """Return `value` at the beginning of the way.

    A contact that opened just now begins there without a gap: the middle of the way comes first.
    """
    begins: float = value(kind, kept.low[c])
    if kind == GAP and kept.kick[c, SLACK] > 0.0 and begins > -CLOSED * touch.law[c, REACH]:
        return -max(value(kind, touch.kick[c]), float(CLOSED * touch.law[c, REACH]))
    return begins


@kernel(borrows=True)
def first_root(code: int, touch: Touch, kept: Kept) -> tuple[float, int]:
    """Return the part of the way to the first change, and its contact; (1, -1) without any.

    kept.low holds kick at the beginning of the way.
    """
    first, which = 1.0, -1
    for c in range(touch.marks.shape[0]):
        kind = kind_of(c, code, touch, kept)
        if kind >= 0:
            part = part_at(starting(kind, c, touch, kept), value(kind, touch.kick[c]))
            if part < first or which < 0:
                first, which = part, c
    return first, which


@kernel(borrows=True)
def note_low(kick: Matrix, marks: Ints, low: Matrix) -> None:
    """Copy kick into low."""
    for c in range(marks.shape[0]):
        if marks[c, MODE] != EMPTY:
            for j in range(kick.shape[1]):
                low[c, j] = kick[c, j]


@kernel(borrows=True)
def cut(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    code: int,
) -> tuple[int, float, float]:
    """Find where in a step of h, which came to `code`, the first contact changes.

    Returns the code there, where the step is to end, and when the change was, from its start. It
    leaves the state there, behind the change, or a code of `locate_all`.
    """
    low, high, there, same = 0.0, h, True, False
    note_low(kept.kick, kept.marks, kept.low)
    part, which = first_root(code, touch, kept)
    kind = kind_of(which, code, touch, kept) if which >= 0 else GAP
    before, behind = 0.0, 0.0
    if which >= 0:
        before, behind = starting(kind, which, touch, kept), value(kind, touch.kick[which])
    when = part * h
    for _ in range(MOST_TRIES):
        close = 2.0 * BEHIND * h
        if code == STRUCK:
            close = 1e-13 * h
            if which >= 0 and behind <= CLOSED * touch.law[which, REACH]:
                break
            out = which < 0 or kept.kick[which, SLACK] == 0.0
            if not out and low == 0.0 and high <= BEHIND * h:
                # it never came out
                break
        if which < 0 or high - when <= close or high - low <= close:
            break
        trial = when if code == STRUCK else when + BEHIND * h
        trial = max(trial, low + 1e-9 * h)
        go_back(state, table, forcing, touch, spare, kept)
        now = take_step(state, table, forcing, touch, spare, kept, whole, trial, 0.0)
        if now == INSIDE:
            low, there = trial, False
            note_low(touch.kick, touch.marks, kept.low)
            before = min(value(kind, touch.kick[which]), 0.0)
            if code == STRUCK and -before <= CLOSED * touch.law[which, REACH]:
                # so near that it has closed
                return code, trial, trial
            if same:
                # the Illinois rule: a line that stays on one side is too flat
                behind *= 0.5
            same = True
        elif now in (STRUCK, CHANGED):
            code, high, there, same = now, trial, True, False
            part, which = first_root(code, touch, kept)
            if which >= 0:
                kind = kind_of(which, code, touch, kept)
                before = starting(kind, which, touch, kept)
                behind = value(kind, touch.kick[which])
        else:
            return now, trial, trial
        when = low + part_at(before, behind) * (high - low)
    if not there:
        go_back(state, table, forcing, touch, spare, kept)
        code = take_step(state, table, forcing, touch, spare, kept, whole, high, 0.0)
    return code, high, when


@kernel(borrows=True)
def land(
    state: State,
    table: Table,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    step: int,
    events: Matrix,
    written: Ints,
) -> bool:
    """Let open contacts that have come down strike; return whether any did.

    kept.marks takes the modes before, in which a contact that closes rolls.
    """
    q, v, p, index, geom, law = state.q, state.v, state.p, touch.marks, touch.geom, touch.law
    kick, any_struck = touch.kick, False
    keep_modes(touch, kept.marks)
    for c in range(index.shape[0]):
        if index[c, MODE] != OPEN or kick[c, GAP] > SPREAD * law[c, REACH]:
            continue
        fast = approaching(q, c, index, geom, v, p)
        if fast <= 0.0:
            continue
        # a bounce shorter than two steps cannot be resolved: the contact closes
        plastic = law[c, RESTITUTION] == 0.0 or step - index[c, CLOSED_AT] <= 2
        lost = strike(q, index, geom, law, table.mobility, v, p, kick, c, plastic)
        spare.sums[IMPACT, TOTAL] += lost
        work = drive_work(q, index, geom, table.mobility, v, p, kick)
        spare.sums[EXTERNAL, TOTAL] += work
        index[c, CLOSED_AT] = step
        kind, any_struck, before = BOUNCES, True, index[c, MODE]
        if plastic:
            index[c, MODE], index[c, TOLD_END], kind = ROLL, index[c, AT_END], CLOSES
            kept.marks[c, MODE], kick[c, PARTS] = ROLL, 0.0
            kick[c, HELD] = kick[c, GAP] if kick[c, GAP] < -DEEP * law[c, REACH] else 0.0
        add_event(events, written, spare.clock[NOW], c, before, kind, touch.place, index, fast, 0.0)
        slipping(touch)
    return any_struck


@kernel(borrows=True)
def slipping(touch: Touch) -> None:
    """Take the modes of closed contacts from the impulses of an impact."""
    index, geom, law, kick = touch.marks, touch.geom, touch.law, touch.kick
    for c in range(index.shape[0]):
        if index[c, MODE] < ROLL or law[c, MU] == math.inf:
            continue
        g, k = geom[c], kick[c]
        pn = -(k[P] * g[N] + k[P + 1] * g[N + 1] + k[P + 2] * g[N + 2])
        tx, ty, tz = k[P] + pn * g[N], k[P + 1] + pn * g[N + 1], k[P + 2] + pn * g[N + 2]
        if pn > 0.0:
            rub = math.sqrt(tx * tx + ty * ty + tz * tz)
            index[c, MODE] = SLIP if rub >= law[c, MU] * pn * (1.0 - 1e-9) else ROLL


@kernel(borrows=True)
def measure_speed(state: State, touch: Touch) -> None:
    """Put u and the speed of slip of closed contacts into kick."""
    index, geom = touch.marks, touch.geom
    measure_slip(state.q, touch, state.v, state.p)
    for c in range(index.shape[0]):
        if index[c, MODE] >= ROLL:
            g, k = geom[c], touch.kick[c]
            un = k[U] * g[N] + k[U + 1] * g[N + 1] + k[U + 2] * g[N + 2]
            tx, ty, tz = k[U] - un * g[N], k[U + 1] - un * g[N + 1], k[U + 2] - un * g[N + 2]
            k[SPEED] = math.sqrt(tx * tx + ty * ty + tz * tz) if index[c, MODE] == SLIP else 0.0


@kernel(borrows=True)
def settle(touch: Touch, was: Ints, when: float, events: Matrix, written: Ints) -> bool:
    """Give contacts the modes that their forces belong to, with an event for each that changes.

    A slip from rest is told as soon as a step, whole or cut, has ended with it. Impulses that leave
    no slip at the end of its first step make it none.
    """
    place, index, changed = touch.place, touch.marks, False
    rolls, slips = ROLL, SLIPS
    for c in range(index.shape[0]):
        k, old = touch.kick[c], was[c, MODE]
        slides = index[c, MODE] == SLIP and k[SPEED] > 0.0
        if slides and k[UNTOLD] == NOT_SLID:
            k[UNTOLD] = SLID
        if k[UNTOLD] == SLID:
            add_event(events, written, k[ONSET], c, rolls, slips, place, index, k[ONSET_PRESS], 0.0)
            row = events[written[0] - 1]
            row[MODE_AFTER], row[S_1], row[S_2] = SLIP, k[ONSET_S], k[ONSET_S + 1]
            k[UNTOLD] = 0.0
        if index[c, MODE] >= ROLL:
            index[c, MODE] = int(k[WILL_BE])
        new = index[c, MODE]
        if old >= ROLL and new != old:
            changed = True
            press, slip = max(k[PRESS], 0.0), max(k[SPEED], 0.0)
            kind = SLIPS if new == SLIP else OPENS_UP
            if new == ROLL:
                kind = STICKS
            elif kind == OPENS_UP and index[c, TOLD_END] >= CAME:
                kind = FALLS
            if kind == SLIPS and slip == 0.0:
                k[UNTOLD], k[ONSET], k[ONSET_PRESS] = NOT_SLID, when, press
                k[ONSET_S], k[ONSET_S + 1] = place[c, 0], place[c, 1]
            else:
                rolled = k[UNTOLD] == NOT_SLID
                k[UNTOLD] = 0.0
                if not rolled:
                    add_event(events, written, when, c, old, kind, place, index, press, slip)
                elif kind != STICKS:
                    add_event(events, written, when, c, rolls, kind, place, index, press, slip)
        told, here = index[c, TOLD_END] & 3, index[c, AT_END]
        if new >= ROLL and here != told:
            kind = ENDS if here & ~told else SIDES
            index[c, TOLD_END] = here + (CAME if here > 0 else 0)
            add_event(events, written, when, c, new, kind, place, index, 0.0, 0.0)
    return changed


@kernel(borrows=True)
def keep_modes(touch: Touch, marks: Ints) -> None:
    """Copy the modes of all contacts."""
    for c in range(touch.marks.shape[0]):
        marks[c, MODE] = touch.marks[c, MODE]


@kernel(borrows=True)
def turn(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    code: int,
    step: int,
    events: Matrix,
    written: Ints,
) -> int:
    """Cut a step of h that came to `code` wherever contacts change, and finish it.

    Returns INSIDE or a code of `locate_all`.
    """
    left = h
    for turns in range(MOST_TURNS):
        end, when = left, left
        # a step has room for one change of modes to be told in time; impacts always are
        if turns == 0 or (code == STRUCK and turns < MOST_TURNS - 1):
            code, end, when = cut(state, table, forcing, touch, spare, kept, whole, left, code)
        if code != STRUCK and code != CHANGED:
            return code
        begin = float(kept.sums[spare.sums.shape[0]])
        if code == STRUCK:
            go_back(state, table, forcing, touch, spare, kept)
            code = take_step(state, table, forcing, touch, spare, kept, whole, end, 1.0)
            if code != INSIDE and code != CHANGED:
                return code
            settle(touch, kept.marks, float(begin + end), events, written)
            if land(state, table, touch, spare, kept, step, events, written):
                after_impact(state, table, forcing, touch, spare, kept, step, events, written)
        else:
            settle(touch, kept.marks, float(begin + when), events, written)
        left -= end
        if left <= 1e-9 * h:
            return INSIDE
        keep(state, touch, spare, kept)
        code = take_step(state, table, forcing, touch, spare, kept, whole, left, 0.0)
        if code == INSIDE:
            return code
    return INSIDE


@kernel(borrows=True)
def after_impact(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    step: int,
    events: Matrix,
    written: Ints,
) -> None:
    """Find the forces behind an impact, and the modes that they leave.

    What has just closed opens at the end of a step, not before it had one.
    """
    measure_speed(state, touch)
    find_law(state, table, forcing, touch, spare, kept)
    for c in range(touch.marks.shape[0]):
        fresh = touch.marks[c, MODE] >= ROLL and touch.marks[c, CLOSED_AT] == step
        if fresh and touch.kick[c, WILL_BE] == OPEN:
            touch.kick[c, WILL_BE] = touch.marks[c, MODE]
    settle(touch, kept.marks, spare.clock[NOW], events, written)


@kernel(borrows=True)
def begin(
    state: State,
    table: Table,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    still: float,
    events: Matrix,
    written: Ints,
) -> None:
    """Find forces and modes at the start of a run; slip slower than `still` is none."""
    renew(state, table, forcing, touch, spare)
    keep_modes(touch, kept.marks)
    for c in range(touch.marks.shape[0]):
        if touch.marks[c, MODE] >= ROLL and touch.law[c, MU] < math.inf:
            touch.marks[c, MODE] = SLIP
    measure_speed(state, touch)
    for c in range(touch.marks.shape[0]):
        if touch.marks[c, MODE] == SLIP and touch.kick[c, SPEED] <= still:
            touch.marks[c, MODE], touch.kick[c, SPEED] = ROLL, 0.0
    find_law(state, table, forcing, touch, spare, kept)
    for c in range(touch.marks.shape[0]):
        idle = touch.marks[c, MODE] >= ROLL and touch.kick[c, PRESS] <= touch.law[c, NOISE]
        if idle and touch.marks[c, FOUND] == 1:
            # surfaces that a search found touch without a force: open, and no event opens them
            touch.marks[c, MODE] = kept.marks[c, MODE] = OPEN
            for a in range(3):
                touch.kick[c, FORCE_C + a] = 0.0
    settle(touch, kept.marks, spare.clock[NOW], events, written)
