"""Where contacts change in steps of two half kicks: the step is cut there, and goes on from there.

The time is that of a root: of the gap where a contact closes, of what presses where it opens, of
what rolling asks for less the bound of friction where it slips, of the slip where it comes to rest.

Source: formulas sheet of the rods paper, sections 4 and 6; docs/theory/rods, "Slip, opening,
impact".
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Table
from stiction.numerics.jit import kernel
from stiction.rods.contact.kernels import (
    INSIDE,
    NOT_SLID,
    OPEN,
    ROLL,
    SLID,
    SLIP,
    Contact,
    Contacts,
    Touch,
    dot,
    put,
    response,
)
from stiction.rods.contact.law_kernels import note_gaps
from stiction.rods.contact.strike_kernels import strike
from stiction.rods.contact.touch_kernels import drive_work, locate_all, measure
from stiction.rods.leapfrog.halves_kernels import (
    Kept,
    copy_contacts,
    copy_state,
    find_law,
    keep,
    state_kept,
    take_step,
)
from stiction.rods.leapfrog.impact_kernels import (
    BOUNCES,
    CAME,
    CLOSES,
    ENDS,
    FALLS,
    OPENS_UP,
    SHORT_HOP,
    SIDES,
    SLIPS,
    STICKS,
    Event,
    add_event,
    approaching,
)
from stiction.rods.leapfrog.march_kernels import (
    CHANGED,
    SPREAD,
    STRUCK,
    Constants,
    Forcing,
    Spare,
    put_forces,
)
from stiction.rods.rod_kernels import State

# of a step: how far behind a root it may be cut
BEHIND = 0.01
MOST_TURNS, MOST_TRIES = 64, 24
# a gap below this part of the reach has closed
CLOSED = 1e-13
# and one beyond this part was not closed in time, but found
DEEP = 1e-9
# what is zero where a contact closes, opens, slips and comes to rest
GAP, PRESSING, EXCESS, SPEED = range(4)


@kernel
def go_back(
    state: State, table: Constants, forcing: Forcing, touch: Touch, spare: Spare, kept: Kept
) -> None:
    """Take up the state that was kept, its forces and its geometry."""
    copy_state(state_kept(kept.rows), state)
    copy_contacts(kept.contacts, touch.contacts)
    spare.sums[0] = kept.sums[0]
    renew(state, table, forcing, touch, spare)


@kernel
def renew(state: State, table: Constants, forcing: Forcing, touch: Touch, spare: Spare) -> None:
    """Find geometry and forces of the present state again."""
    contacts = touch.contacts
    locate_all(state.r, contacts)
    note_gaps(touch)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            response(state.q, k, table.mobility)
    put_forces(state, table.mat, forcing, spare.scratch, spare.sums[0].time)


@kernel
def part_at(before: float, behind: float) -> float:
    """Return where a line from `before` < 0 to `behind` >= 0 is zero, in parts of the way."""
    if before >= 0.0:
        return 0.0
    return -before / (behind - before) if behind > before else 1.0


@kernel
def kind_of(c: int, code: int, touch: Touch, kept: Kept) -> int:
    """Return what is zero where contact c changes in a step; -1 where it does not change."""
    was, k = kept.contacts[c].mode, touch.contacts[c]
    if code == STRUCK:
        deep = -SPREAD * k.reach - k.allowed_depth
        return GAP if k.mode == OPEN and k.gap < deep and was == OPEN else -1
    if was < ROLL or k.mode < ROLL:
        return -1
    if k.pending_mode == OPEN:
        return PRESSING
    if k.pending_mode == was and not (was == SLIP and k.mode == ROLL):
        return -1
    return EXCESS if was == ROLL else SPEED


@kernel
def value(kind: int, k: Contact) -> float:
    """Return what is negative before a change, and not behind it."""
    if kind == EXCESS:
        return k.stick_excess
    if kind == GAP:
        return -k.gap
    return -k.normal_force if kind == PRESSING else -k.slip_speed


@kernel
def starting(kind: int, c: int, touch: Touch, kept: Kept) -> float:
    """Return `value` at the beginning of the way.

    A contact that opened just now begins there without a gap: the middle of the way comes first.
    """
    begins, k = value(kind, kept.low[c]), touch.contacts[c]
    just_opened = kept.contacts[c].allowed_depth > 0.0
    if kind == GAP and just_opened and begins > -CLOSED * k.reach:
        return -max(value(kind, k), CLOSED * k.reach)
    return begins


@kernel
def first_root(code: int, touch: Touch, kept: Kept) -> tuple[float, int]:
    """Return the part of the way to the first change, and its contact; (1, -1) without any.

    kept.low holds contacts at the beginning of the way.
    """
    first, which = 1.0, -1
    for c in range(touch.contacts.shape[0]):
        kind = kind_of(c, code, touch, kept)
        if kind >= 0:
            part = part_at(starting(kind, c, touch, kept), value(kind, touch.contacts[c]))
            if part < first or which < 0:
                first, which = part, c
    return first, which


@kernel
def cut(
    state: State,
    table: Constants,
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
    copy_contacts(kept.contacts, kept.low)
    part, which = first_root(code, touch, kept)
    kind = kind_of(which, code, touch, kept) if which >= 0 else GAP
    before, behind = 0.0, 0.0
    if which >= 0:
        before, behind = starting(kind, which, touch, kept), value(kind, touch.contacts[which])
    when = part * h
    for _ in range(MOST_TRIES):
        close = 2.0 * BEHIND * h
        if code == STRUCK:
            close = 1e-13 * h
            if which >= 0 and behind <= CLOSED * touch.contacts[which].reach:
                break
            out = which < 0 or kept.contacts[which].allowed_depth == 0.0
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
            copy_contacts(touch.contacts, kept.low)
            before = min(value(kind, touch.contacts[which]), 0.0)
            if code == STRUCK and -before <= CLOSED * touch.contacts[which].reach:
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
                behind = value(kind, touch.contacts[which])
        else:
            return now, trial, trial
        when = low + part_at(before, behind) * (high - low)
    if not there:
        go_back(state, table, forcing, touch, spare, kept)
        code = take_step(state, table, forcing, touch, spare, kept, whole, high, 0.0)
    return code, high, when


@kernel
def land(
    state: State,
    table: Constants,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    step: int,
    events: Table[Event],
    written: Integers,
) -> bool:
    """Let open contacts that have come down strike; return whether any did.

    kept.contacts takes the modes before, in which a contact that closes rolls.
    """
    q, v, p, contacts, sums = state.q, state.v, state.p, touch.contacts, spare.sums[0]
    any_struck = False
    copy_modes(contacts, kept.contacts)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode != OPEN or k.gap > SPREAD * k.reach:
            continue
        fast = approaching(q, k, v, p)
        if fast <= 0.0:
            continue
        # a bounce that short cannot be resolved: the contact closes
        plastic = k.restitution == 0.0 or step < k.bounces_from
        sums.impact += strike(q, contacts, table.mobility, v, p, c, plastic)
        sums.external += drive_work(q, contacts, table.mobility, v, p)
        k.bounces_from = step + SHORT_HOP
        kind, any_struck, before = BOUNCES, True, k.mode
        if plastic:
            k.mode, k.reported_end, kind = ROLL, k.at_end, CLOSES
            kept.contacts[c].mode, k.parts = ROLL, 0
            k.held_gap = k.gap if k.gap < -DEEP * k.reach else 0.0
        add_event(events, written, sums.time, c, before, kind, k, fast, 0.0)
        slipping(touch)
    return any_struck


@kernel
def slipping(touch: Touch) -> None:
    """Take the modes of closed contacts from the impulses of an impact."""
    contacts = touch.contacts
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode < ROLL or k.friction == math.inf:
            continue
        n, impulse = k.normal, k.impulse
        pn = -dot(impulse, n)
        tx, ty, tz = impulse[0] + pn * n[0], impulse[1] + pn * n[1], impulse[2] + pn * n[2]
        if pn > 0.0:
            rub = math.sqrt(tx * tx + ty * ty + tz * tz)
            k.mode = SLIP if rub >= k.friction * pn * (1.0 - 1e-9) else ROLL


@kernel
def measure_speed(state: State, touch: Touch) -> None:
    """Find u and the speed of slip of closed contacts."""
    contacts = touch.contacts
    measure(state.q, contacts, state.v, state.p)
    for c in range(contacts.shape[0]):
        k = contacts[c]
        if k.mode >= ROLL:
            n, slip = k.normal, k.slip
            un = dot(slip, n)
            tx, ty, tz = slip[0] - un * n[0], slip[1] - un * n[1], slip[2] - un * n[2]
            k.slip_speed = math.sqrt(tx * tx + ty * ty + tz * tz) if k.mode == SLIP else 0.0


@kernel
def settle(
    contacts: Contacts, was: Contacts, when: float, events: Table[Event], written: Integers
) -> bool:
    """Give contacts the modes that their forces belong to, with an event for each that changes.

    A slip from rest is reported as soon as a step, whole or cut, has ended with it. Impulses that
    leave no slip at the end of its first step make it none.
    """
    changed = False
    rolls, slips = ROLL, SLIPS
    for c in range(contacts.shape[0]):
        k, old = contacts[c], was[c].mode
        if k.mode == SLIP and k.slip_speed > 0.0 and k.unreported_slip == NOT_SLID:
            k.unreported_slip = SLID
        if k.unreported_slip == SLID:
            add_event(events, written, k.onset_time, c, rolls, slips, k, k.onset_force, 0.0)
            event = events[written[0] - 1]
            event.after, event.place[0], event.place[1] = SLIP, k.onset_place[0], k.onset_place[1]
            k.unreported_slip = 0
        if k.mode >= ROLL:
            k.mode = k.pending_mode
        new = k.mode
        if old >= ROLL and new != old:
            changed = True
            press, speed = max(k.normal_force, 0.0), max(k.slip_speed, 0.0)
            kind = SLIPS if new == SLIP else OPENS_UP
            if new == ROLL:
                kind = STICKS
            elif kind == OPENS_UP and k.reported_end >= CAME:
                kind = FALLS
            if kind == SLIPS and speed == 0.0:
                k.unreported_slip, k.onset_time, k.onset_force = NOT_SLID, when, press
                k.onset_place[0], k.onset_place[1] = k.place[0], k.place[1]
            else:
                rolled = k.unreported_slip == NOT_SLID
                k.unreported_slip = 0
                if not rolled:
                    add_event(events, written, when, c, old, kind, k, press, speed)
                elif kind != STICKS:
                    add_event(events, written, when, c, rolls, kind, k, press, speed)
        reported, here = k.reported_end & 3, k.at_end
        if new >= ROLL and here != reported:
            kind = ENDS if here & ~reported else SIDES
            k.reported_end = here + (CAME if here > 0 else 0)
            add_event(events, written, when, c, new, kind, k, 0.0, 0.0)
    return changed


@kernel
def copy_modes(contacts: Contacts, to: Contacts) -> None:
    """Copy the modes of all contacts."""
    for c in range(contacts.shape[0]):
        to[c].mode = contacts[c].mode


@kernel
def turn(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    whole: float,
    h: float,
    code: int,
    step: int,
    events: Table[Event],
    written: Integers,
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
        begin = kept.sums[0].time
        if code == STRUCK:
            go_back(state, table, forcing, touch, spare, kept)
            code = take_step(state, table, forcing, touch, spare, kept, whole, end, 1.0)
            if code != INSIDE and code != CHANGED:
                return code
            settle(touch.contacts, kept.contacts, begin + end, events, written)
            if land(state, table, touch, spare, kept, step, events, written):
                after_impact(state, table, forcing, touch, spare, kept, step, events, written)
        else:
            settle(touch.contacts, kept.contacts, begin + when, events, written)
        left -= end
        if left <= 1e-9 * h:
            return INSIDE
        keep(state, touch, spare, kept)
        code = take_step(state, table, forcing, touch, spare, kept, whole, left, 0.0)
        if code == INSIDE:
            return code
    return INSIDE


@kernel
def after_impact(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    step: int,
    events: Table[Event],
    written: Integers,
) -> None:
    """Find the forces behind an impact, and the modes that they leave.

    What has just closed opens at the end of a step, not before it had one.
    """
    measure_speed(state, touch)
    find_law(state, table, forcing, touch, spare, kept)
    for c in range(touch.contacts.shape[0]):
        k = touch.contacts[c]
        fresh = k.mode >= ROLL and k.bounces_from == step + SHORT_HOP
        if fresh and k.pending_mode == OPEN:
            k.pending_mode = k.mode
    settle(touch.contacts, kept.contacts, spare.sums[0].time, events, written)


@kernel
def begin(
    state: State,
    table: Constants,
    forcing: Forcing,
    touch: Touch,
    spare: Spare,
    kept: Kept,
    still: float,
    events: Table[Event],
    written: Integers,
) -> None:
    """Find forces and modes at the start of a run; slip slower than `still` is none."""
    renew(state, table, forcing, touch, spare)
    copy_modes(touch.contacts, kept.contacts)
    for c in range(touch.contacts.shape[0]):
        k = touch.contacts[c]
        if k.mode >= ROLL and k.friction < math.inf:
            k.mode = SLIP
    measure_speed(state, touch)
    for c in range(touch.contacts.shape[0]):
        k = touch.contacts[c]
        if k.mode == SLIP and k.slip_speed <= still:
            k.mode, k.slip_speed = ROLL, 0.0
    find_law(state, table, forcing, touch, spare, kept)
    for c in range(touch.contacts.shape[0]):
        k = touch.contacts[c]
        idle = k.mode >= ROLL and k.normal_force <= k.noise
        if idle and k.from_search == 1:
            # surfaces that a search found touch without a force: open, and no event opens them
            k.mode = kept.contacts[c].mode = OPEN
            put(k.force, 0.0, 0.0, 0.0)
    settle(touch.contacts, kept.contacts, spare.sums[0].time, events, written)
