"""Rare events, which the loop leaves to others: touches, the line, meetings of surfaces.

`advance` returns a negative code for them, so that it compiles without them. Each of these
kernels handles one and returns RUNNING, or why the call must end.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NODES, NONE, first_fall
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import advance
from stiction.switching.flow.corners.handling import at_end_of_stay, at_meeting, at_stay
from stiction.switching.flow.events import forget_zeros, has_no_normal, too_many_at_once
from stiction.switching.flow.line import slips_to_its_end
from stiction.switching.flow.records import (
    FOLD,
    LINE_HIT,
    MEETS,
    PAUSED,
    RUNNING,
    SPLIT,
    STAY_ENDS,
    STAYS,
    TOUCHES,
    UNDECIDED,
)
from stiction.switching.flow.rows import (
    AT_LENGTH,
    AT_SHARE,
    CLOCK,
    COEFFICIENT,
    GOES_ON,
    JUDGED,
    JUDGED_AT,
    JUDGED_FROM,
    LEAST,
    LEFT,
    MARGIN,
    NEXT_STEP,
    ORDER,
    ROOT,
    SAMPLE,
    SIDES,
    TOUCH,
    TRIAL,
    WHICH,
    WITHIN,
    N,
    Q,
    Y,
)
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.steps import NEARBY
from stiction.switching.flow.surfaces import begin_mode, project
from stiction.switching.flow.touches.margins import judge, lowest_point

__all__ = ["at_line", "at_touch", "carry_on"]


@kernel(borrows=True, apart=True)
def at_touch(
    system: Integers, p: Vector, table: Matrix, a: Matrix, saved: Matrix, event: Matrix
) -> int:
    """Judge a touch of a surface: a fold of this side, met from outside or nearly met.

    Where futures split, the distance to the split over the error of the run decides; a
    state that is too near stands at the fold, undecided. Where they do not, a touch within
    the tolerance is one.
    """
    i, share, h = system[WHICH], a[CLOCK, AT_SHARE], a[CLOCK, AT_LENGTH]
    full = a[TRIAL, system[N]] - a[Y, system[N]]
    length = lowest_point(system, p, table, a, i, share, h)
    value, here = a[SAMPLE, i], judge(system, p, a, i)
    normal = not has_no_normal(system, p, a, i)
    if here.open and here.exact and normal:
        _stand(system, p, a, saved, event, i, length / h, True)
        return SPLIT
    if here.open and here.margin < 1.0 and normal:
        a[CLOCK, MARGIN] = here.margin
        _stand(system, p, a, saved, event, i, length / h, True)
        return UNDECIDED
    if not here.open and abs(value) <= a[TOUCH, i] and normal:
        a[CLOCK, MARGIN] = here.margin if here.margin >= 1.0 else math.inf
        _stand(system, p, a, saved, event, i, length / h, True)
        return too_many_at_once(system, a)
    a[CLOCK, MARGIN] = here.margin if here.open else math.inf
    a[CLOCK, JUDGED], a[CLOCK, JUDGED_AT] = i + 1.0, a[TRIAL, system[N]]
    a[CLOCK, WITHIN], a[CLOCK, JUDGED_FROM] = 0.05 * abs(full), a[Y, system[N]]
    if value > 0.0 and here.open and here.margin < NEARBY and normal:
        _stand(system, p, a, saved, event, i, length / h, False)
        return too_many_at_once(system, a)
    # nothing happens there, or an ordinary event before: the step is done again
    a[CLOCK, NEXT_STEP] = h
    if value > 0.0:
        a[CLOCK, LEAST] = min(a[CLOCK, LEAST], a[CLOCK, MARGIN])
        a[CLOCK, MARGIN] = math.inf
    falls = first_fall(a[COEFFICIENT + i, :NODES], a[ROOT:]) < NONE
    if falls == (value > 0.0) and length > 1e-3 * h:
        # its samples were wrong: now the last of them lies there
        a[CLOCK, NEXT_STEP] = min(length, h)
    return RUNNING


@kernel(borrows=True)
def _stand(
    system: Integers,
    p: Vector,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    i: int,
    share: float,
    on_it: bool,
) -> None:
    """Go to the lowest point in row TRIAL and keep it as an event; put it on the surface."""
    save_until(system, p, a, saved, a[TRIAL, system[N]], share)
    for c in range(system[N] + 1 + system[Q]):
        a[Y, c] = a[TRIAL, c]
    if on_it:
        project(system, p, a, i)
    side = a[SIDES, i]
    log_event(system, a, event, FOLD, i, side, side, side, side)
    forget_zeros(system)
    if on_it:
        system[ORDER + i] = 2
    begin_mode(system, p, a)


@kernel(borrows=True, apart=True)
def at_line(system: Integers, p: Vector, a: Matrix) -> int:
    """Say whether a state very near the line has come to its end there."""
    return LINE_HIT if slips_to_its_end(system, p, a, a[CLOCK, AT_LENGTH]) else RUNNING


@kernel(borrows=True)
def settle(
    code: int,
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
) -> int:
    """Do what the codes of rare events ask for, until there is none; return the last code."""
    while code < RUNNING:
        if code == TOUCHES:
            code = at_touch(system, p, table, a, saved, event)
        elif code == MEETS:
            code = at_meeting(system, p, a, event)
        elif code == STAYS:
            code = at_stay(system, p, table, a, saved, event)
        elif code == STAY_ENDS:
            code = at_end_of_stay(system, p, a, event)
        else:
            code = at_line(system, p, a)
    return code


@kernel(borrows=True, apart=True)
def carry_on(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    t_end: float,
    max_steps: int,
) -> int:
    """Do what `advance` does, rare events included."""
    left = max_steps
    while left > 0:
        code = advance(system, p, table, a, saved, event, t_end, left)
        system[GOES_ON] = 0
        code = settle(code, system, p, table, a, saved, event)
        if code != RUNNING:
            return code
        left = system[LEFT]
    return PAUSED
