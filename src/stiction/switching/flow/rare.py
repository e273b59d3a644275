"""Rare events, which the loop leaves to others: touches, the line, meetings of surfaces.

`advance` returns a negative code for them, so that it compiles without them. Each of these
kernels handles one and returns RUNNING, or why the call must end.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, NONE, first_fall
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
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.state import (
    COEFFICIENT,
    ROOT,
    SAMPLE,
    SIDES,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import NEARBY
from stiction.switching.flow.surfaces import begin_mode, project
from stiction.switching.flow.touches.margins import judge, lowest_point

__all__ = ["at_line", "at_touch", "carry_on"]


@kernel(apart=True)
def at_touch(w: Workspace, functions: EventFunctions, table: Matrix, records: Records) -> int:
    """Judge a touch of a surface: a fold of this side, met from outside or nearly met.

    Where futures split, the distance to the split over the error of the run decides; a
    state that is too near stands at the fold, undecided. Where they do not, a touch within
    the tolerance is one.
    """
    now, a = w.progress[0], w.rows
    i, share, h = now.which, now.event_fraction, now.event_step
    full = a[TRIAL, now.n] - a[Y, now.n]
    length = lowest_point(w, table, i, share, h)
    value, here = a[SAMPLE, i], judge(w, functions, i)
    normal = not has_no_normal(w, functions, i)
    if here.open and here.exact and normal:
        _stand(w, functions, records, i, length / h, True)
        return SPLIT
    if here.open and here.margin < 1.0 and normal:
        now.margin = here.margin
        _stand(w, functions, records, i, length / h, True)
        return UNDECIDED
    if not here.open and abs(value) <= functions[i].grazing and normal:
        now.margin = here.margin if here.margin >= 1.0 else math.inf
        _stand(w, functions, records, i, length / h, True)
        return too_many_at_once(w)
    now.margin = here.margin if here.open else math.inf
    now.judged, now.judged_at = i + 1, a[TRIAL, now.n]
    now.judged_within, now.judged_from = 0.05 * abs(full), a[Y, now.n]
    if value > 0.0 and here.open and here.margin < NEARBY and normal:
        _stand(w, functions, records, i, length / h, False)
        return too_many_at_once(w)
    # nothing happens there, or an ordinary event before: the step is done again
    now.next_step = h
    if value > 0.0:
        now.least_margin = min(now.least_margin, now.margin)
        now.margin = math.inf
    falls = first_fall(a[COEFFICIENT + i, :NODES], a[ROOT:]) < NONE
    if falls == (value > 0.0) and length > 1e-3 * h:
        # its samples were wrong: now the last of them lies there
        now.next_step = min(length, h)
    return RUNNING


@kernel
def _stand(
    w: Workspace,
    functions: EventFunctions,
    records: Records,
    i: int,
    share: float,
    on_it: bool,
) -> None:
    """Go to the lowest point in row TRIAL and keep it as an event; put it on the surface."""
    now, a = w.progress[0], w.rows
    save_until(w, records, a[TRIAL, now.n], share)
    for c in range(now.n + 1 + now.q):
        a[Y, c] = a[TRIAL, c]
    if on_it:
        project(w, i)
    side = a[SIDES, i]
    log_event(w, records, FOLD, i, side, side, side, side)
    forget_zeros(functions)
    if on_it:
        functions[i].order = 2
    begin_mode(w)


@kernel(apart=True)
def at_line(w: Workspace, functions: EventFunctions) -> int:
    """Say whether a state very near the line has come to its end there."""
    now = w.progress[0]
    return LINE_HIT if slips_to_its_end(w, functions, now.event_step) else RUNNING


@kernel
def settle(
    code: int,
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
) -> int:
    """Do what the codes of rare events ask for, until there is none; return the last code."""
    while code < RUNNING:
        if code == TOUCHES:
            code = at_touch(w, functions, table, records)
        elif code == MEETS:
            code = at_meeting(w, functions, records)
        elif code == STAYS:
            code = at_stay(w, functions, table, records)
        elif code == STAY_ENDS:
            code = at_end_of_stay(w, functions, records)
        else:
            code = at_line(w, functions)
    return code


@kernel(apart=True)
def carry_on(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    t_end: float,
    max_steps: int,
) -> int:
    """Do what `advance` does, rare events included."""
    now = w.progress[0]
    left = max_steps
    while left > 0:
        code = advance(w, functions, table, records, t_end, left)
        now.continues = 0
        code = settle(code, w, functions, table, records)
        if code != RUNNING:
            return code
        left = now.left
    return PAUSED
