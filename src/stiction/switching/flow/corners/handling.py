"""What happens where two surfaces meet: arrive, stay, stop staying. Kernels.

Each returns RUNNING, a code of another rare event, or why the call must end; CROSSROADS where
several ways lead on, which then stand in entry FOUND of row MEETING.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NONE
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import NO_EVENT, TOO_LONG, after_step
from stiction.switching.flow.corners.stay import first_opening, length_to_opening, others_at
from stiction.switching.flow.corners.ways import (
    FOUND,
    HALVES,
    STAYS_MINUS,
    STAYS_PLUS,
    count,
    ways_here,
)
from stiction.switching.flow.events import (
    at_event,
    forget_zeros,
    land,
    piling,
    touches_at,
)
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.rates import second_surface, sliding_surface
from stiction.switching.flow.records import (
    CORNER,
    CROSS,
    CROSSROADS,
    LEAVE,
    NOT_FINITE,
    RUNNING,
    SLIDE,
)
from stiction.switching.flow.rows import (
    AT_LENGTH,
    AT_SHARE,
    BRANCH,
    CAME,
    CLOCK,
    DIRECTION,
    DOUBT,
    EXTRA,
    FRESH,
    GOES_ON,
    LEAST,
    MARGIN,
    MEETING,
    N_EVENTS,
    NEXT_STEP,
    NOISE,
    ORDER,
    OTHER,
    PACE,
    REFUSED,
    REJECTED,
    SIDES,
    T_END,
    TOLD_OPEN,
    TOUCH,
    TRIAL,
    WHICH,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.steps import HIDDEN
from stiction.switching.flow.surfaces import begin_mode, project, surfaces_at

__all__ = ["at_end_of_stay", "at_meeting", "at_stay", "signs_of"]

# an opening this share of the step before an event belongs to it
_TOGETHER = 1e-6
_STAYS = (1 << STAYS_PLUS) | (1 << STAYS_MINUS)


@kernel(borrows=True)
def signs_of(ways: int) -> tuple[float, float]:
    """Return the signs of both surfaces on the only way of a set; 0 where it slides."""
    for c in range(4):
        if ways & (1 << c):
            return 1.0 if c < 2 else -1.0, 1.0 if c % 2 == 0 else -1.0
    for e in range(4):
        if ways & (1 << (HALVES + e)):
            side = 1.0 if e % 2 == 0 else -1.0
            return (0.0, side) if e < 2 else (side, 0.0)
    return 0.0, 0.0


@kernel(borrows=True)
def _choice(system: Integers, a: Matrix, i: int, j: int, ways: int) -> int:
    """Let the choice between several ways wait; return its code."""
    system[WHICH], system[OTHER], a[MEETING, FOUND] = i, j, float(ways)
    return CROSSROADS


@kernel(borrows=True)
def _enter(system: Integers, p: Vector, a: Matrix, i: int, j: int, ways: int) -> None:
    """Take the only way."""
    a[SIDES, i], a[SIDES, j] = signs_of(ways)
    if ways & _STAYS:
        system[BRANCH] = 1 if ways & (1 << STAYS_PLUS) else -1
    system[TOLD_OPEN] = 0
    begin_mode(system, p, a)


@kernel(borrows=True)
def _pass_by(system: Integers, p: Vector, a: Matrix, event: Matrix, i: int) -> int:
    """Act on the arrival at surface i alone, whose event has a margin."""
    margin = a[CLOCK, MARGIN]
    code = land(system, p, a, event, i)
    a[CLOCK, LEAST], a[CLOCK, MARGIN] = min(a[CLOCK, LEAST], margin), math.inf
    return code


@kernel(borrows=True)
def at_meeting(system: Integers, p: Vector, a: Matrix, event: Matrix) -> int:
    """Two surfaces meet, or nearly do: take the only way that leads on.

    A state that reaches one of them beside the other passes by. Where more than one way leads on
    from the place where they meet, that is a split of futures: its distance over the error of
    the run decides.
    """
    i, j, came = system[WHICH], system[OTHER], a[CLOCK, CAME]
    before = a[SIDES, j]
    ways = ways_here(system, p, a, i, j, -1)
    many = count(ways)
    surfaces_at(system, p, a, Y, EXTRA)
    beside = abs(a[EXTRA, j])
    if before != 0.0 and beside > 16.0 * a[NOISE, j]:
        if many <= 1:
            return land(system, p, a, event, i)
        if beside > a[TOUCH, j]:
            a[CLOCK, MARGIN] = beside / max(a[DOUBT, j], a[TOUCH, j])
            if a[CLOCK, MARGIN] >= 1.0:
                return _pass_by(system, p, a, event, i)
    if many == 0:
        return CORNER
    if many > 1:
        return _choice(system, a, i, j, ways)
    _enter(system, p, a, i, j, ways)
    si, sj = a[SIDES, i], a[SIDES, j]
    if si != came:
        log_event(system, a, event, CROSS if si == -came else SLIDE, i, came, si, came, si)
    if sj != before and system[N_EVENTS] < event.shape[0]:
        kind = LEAVE if before == 0.0 else SLIDE if sj == 0.0 else CROSS
        log_event(system, a, event, kind, j, before, sj, before, sj)
    system[ORDER + i] = 1 if si != 0.0 else 0
    system[ORDER + j] = (2 if before == 0.0 else 1) if sj != 0.0 else 0
    return piling(system, a)


@kernel(borrows=True, apart=True)
def at_stay(
    system: Integers, p: Vector, table: Matrix, a: Matrix, saved: Matrix, event: Matrix
) -> int:
    """Look whether another way opens in a step on an intersection; if not, do what is due."""
    h, root, lowest = a[CLOCK, AT_LENGTH], a[CLOCK, AT_SHARE], a[CLOCK, CAME]
    which, low, opening = system[WHICH], system[OTHER], NONE
    i = sliding_surface(system, a, SIDES)
    j = second_surface(system, a, SIDES, i)
    if system[TOLD_OPEN] == 0 and a[PACE, DIRECTION] > 0.0:
        opening = first_opening(system, p, table, a, i, j)
    if opening == HIDDEN:
        return _again(system, a, h)
    # where a multiplier becomes 1 the half surface next to it opens at the same moment
    if opening <= 1.0 and (which < 0 or opening < root - _TOGETHER):
        a[CLOCK, AT_SHARE] = opening
        return _at_opening(system, p, table, a, saved, i, j)
    code = NO_EVENT
    if low >= 0:
        code = touches_at(system, a, low, lowest, h)
    elif which >= 0:
        code = at_event(system, p, table, a, saved, event, which, root, h)
    if code == TOO_LONG:
        return _again(system, a, h)
    if code != NO_EVENT:
        return code
    if system[TOLD_OPEN] != 0 and others_at(system, p, a, i, j, TRIAL) == 0:
        system[TOLD_OPEN] = 0
    if (a[PACE, T_END] - a[Y, system[N]]) * a[PACE, DIRECTION] <= h:
        a[TRIAL, system[N]] = a[PACE, T_END]
    code = after_step(system, p, a, saved, h, -1, 0.0)[0]
    system[GOES_ON], a[CLOCK, FRESH], a[CLOCK, REFUSED] = 1, 0.0, 0.0
    return code


@kernel(borrows=True)
def _again(system: Integers, a: Matrix, h: float) -> int:
    """Let the loop take the step again, half as long."""
    system[REJECTED] += 1
    a[CLOCK, NEXT_STEP] = 0.5 * h
    system[GOES_ON], a[CLOCK, FRESH], a[CLOCK, REFUSED] = 1, 0.0, 1.0
    return RUNNING


@kernel(borrows=True)
def _at_opening(
    system: Integers, p: Vector, table: Matrix, a: Matrix, saved: Matrix, i: int, j: int
) -> int:
    """Stop where another way opens."""
    n, h = system[N], a[CLOCK, AT_LENGTH]
    length = length_to_opening(system, p, table, a, i, j, a[CLOCK, AT_SHARE] * h)
    save_until(system, p, a, saved, a[TRIAL, n], length / h)
    for c in range(n + 1 + system[Q]):
        a[Y, c] = a[TRIAL, c]
    if not finite(a, Y, n + 1 + system[Q]):
        return NOT_FINITE
    forget_zeros(system)
    project(system, p, a, i)
    project(system, p, a, j)
    begin_mode(system, p, a)
    ways = others_at(system, p, a, i, j, Y)
    system[TOLD_OPEN] = 1
    return _choice(system, a, i, j, ways | 1 << (STAYS_PLUS if system[BRANCH] > 0 else STAYS_MINUS))


@kernel(borrows=True)
def at_end_of_stay(system: Integers, p: Vector, a: Matrix, event: Matrix) -> int:
    """A multiplier has become 1 or -1, or both sliding vectors have merged: go where it leads."""
    m, which = system[M], system[WHICH]
    i = sliding_surface(system, a, SIDES)
    j = second_surface(system, a, SIDES, i)
    e, side, edge = -1, 0.0, -1
    if which < 2 * m:
        e, side = which % m, 1.0 if which < m else -1.0
        edge = (2 if e == i else 0) + (0 if side > 0.0 else 1)
    project(system, p, a, e if e >= 0 else i)
    if e < 0:
        project(system, p, a, j)
    begin_mode(system, p, a)
    ways = ways_here(system, p, a, i, j, edge)
    if e < 0:
        ways &= ~_STAYS
    along = edge >= 0 and ways & (1 << (HALVES + edge)) != 0
    if along and (count(ways) == 1 or system[TOLD_OPEN] != 0):
        a[SIDES, e], system[TOLD_OPEN] = side, 0
        log_event(system, a, event, LEAVE, e, 0.0, side, side, side)
        system[ORDER + e] = 2
        begin_mode(system, p, a)
        return piling(system, a)
    if count(ways) == 0:
        return CORNER
    if count(ways) > 1:
        return _choice(system, a, i, j, ways)
    lam_i, lam_j = (side, 0.0) if e == i else (0.0, side)
    _enter(system, p, a, i, j, ways)
    si, sj = a[SIDES, i], a[SIDES, j]
    if si != 0.0:
        log_event(system, a, event, LEAVE, i, 0.0, si, lam_i, si)
        system[ORDER + i] = 1
    if sj != 0.0 and system[N_EVENTS] < event.shape[0]:
        log_event(system, a, event, LEAVE, j, 0.0, sj, lam_j, sj)
        system[ORDER + j] = 1
    return piling(system, a)
