"""Rare events: grazing, the line h = g = 0, intersections of surfaces. Kernels.

`advance` returns a negative code for each of them, so that it compiles without these kernels. Each
kernel handles one event and returns RUNNING, or the reason why the call must end.

A solution that grazes a surface from one side may leave to the other side if the field there points
away. The solution after the grazing then jumps with the sign of the lowest value of h, so that
uniqueness is lost where that value is zero. If the field of the other side points back to the
surface, the solution is unique. Source: Filippov 1988, section 10, on uniqueness to the right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, NONE, first_fall, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import advance
from stiction.switching.flow.events import forget_zeros, has_no_normal, too_many_at_once
from stiction.switching.flow.intersections.transitions import (
    at_end_of_sliding,
    at_intersection,
    on_intersection,
)
from stiction.switching.flow.line import slips_to_its_end
from stiction.switching.flow.rates import event_values, slide_data
from stiction.switching.flow.records import (
    FOLD,
    GRAZING,
    INTERSECTION,
    LINE_HIT,
    PAUSED,
    RUNNING,
    SLIDES_ON_BOTH,
    SLIDING_ENDS,
    SPLIT,
    UNDECIDED,
)
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.state import (
    COEFFICIENT,
    GRAD,
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    STAGE,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import NEARBY, step
from stiction.switching.flow.surfaces import FOLD_SHARE, begin_mode, project, surface_speed
from stiction.switching.flow.tableau import AT_END

__all__ = ["at_grazing", "at_line", "carry_on"]


# a value of h below this many times its rounding is zero
_ZERO = 64.0
# a lowest point may lie this much behind the end of the step that predicted it
_BEYOND = 4.0
# errors of steps grow along an unstable flow until the grazing, which their estimates do not
# include: true errors were up to twice the sum of the estimates in 3,000 random orbits
_GROWN = 3.0


# ---- grazing


@kernel
def lowest_point(w: Workspace, table: Matrix, i: int, share: float, h: float) -> float:
    """Step to where h_i is lowest, near the fraction `share` of a step of length h.

    Row TRIAL holds y there, entry i of row SAMPLE the value. Returns the length of the step:
    Newton's method on the slope, of which each evaluation is as accurate as any step.
    """
    now, a = w.progress[0], w.rows
    b, work, n = a[COEFFICIENT + i, :NODES], a[ROOT], now.n
    near = min(max(share, 0.05), 0.95)
    up, down = value_and_slope(b, near + 0.05, work)[1], value_and_slope(b, near - 0.05, work)[1]
    bend, length, before, at = (up - down) / (0.1 * h * h), share * h, 0.0, -1.0
    for count in range(8):
        step(w, table, length)
        slide_data(w, SIDES, i, TRIAL)
        slope = 0.0
        for c in range(n):
            slope += a[GRAD, i * n + c] * a[STAGE + AT_END, c]
        slope *= a[SIDES, i]
        if count > 0 and abs(length - at) > 1e-7 * h:
            bend = (slope - before) / (length - at)
        if bend <= 0.0 or count == 7:
            break
        to = min(max(length - slope / bend, 0.0), _BEYOND * h)
        # the value is then off by the square of this
        if abs(to - length) <= 1e-9 * h:
            break
        before, at, length = slope, length, to
    event_values(w, TRIAL, SAMPLE)
    return length


class Grazing(NamedTuple):
    """A grazing as `classify_grazing` finds it.

    exact : whether h is zero to rounding
    open : whether the field of the other side points away from the surface
    margin : distance to non-uniqueness over the error of the run
    """

    exact: bool
    open: bool
    margin: float


@kernel
def classify_grazing(w: Workspace, functions: EventFunctions, i: int) -> Grazing:
    """Return the margin of the state in row TRIAL, where h_i has its lowest value.

    The error of h is the sum of the step errors since the last restart, at least the tolerance,
    times their growth. After a two-fold a share of the largest h is added.
    """
    now, a = w.progress[0], w.rows
    n, value = now.n, abs(a[SAMPLE, i])
    up, down = slide_data(w, SIDES, i, TRIAL)
    room = reach = 0.0
    for c in range(n):
        slope, here = abs(a[GRAD, i * n + c]), abs(a[TRIAL, c])
        room += slope * (now.atol * a[SCALE, c] + now.rtol * here)
        reach += slope * max(here, 0.1 * a[SCALE, c])
    noise = max(functions[i].noise, 4.0 * 2.220446049250313e-16 * reach)
    off = _GROWN * (now.tightening + now.drift)
    exact = value <= _ZERO * noise
    vague = now.vague * now.tallest
    margin = value / (off * room + _ZERO * noise + vague)
    speed = surface_speed(w, i)
    away = -down if a[SIDES, i] > 0.0 else up
    if speed > 0.0:
        # the other field may be tangent too; its distance from tangency counts as well
        beside = -away / (speed * (FOLD_SHARE + off * now.rtol))
        if beside > 0.0:
            margin = max(margin, beside)
    else:
        margin = math.inf
    opens = away > FOLD_SHARE * speed
    if now.m > 1 and _slides(w):
        # while the state slides on another surface, neither field alone decides
        opens = opens and exact
    return Grazing(exact, opens, margin)


@kernel
def _slides(w: Workspace) -> bool:
    """Return whether the state slides on any surface."""
    now, a = w.progress[0], w.rows
    slides = False
    for j in range(now.m):
        slides = slides or a[SIDES, j] == 0.0
    return slides


@kernel(separate=True)
def at_grazing(w: Workspace, functions: EventFunctions, table: Matrix, records: Records) -> int:
    """Classify a grazing of a surface: a visible fold that the state reaches or nearly reaches.

    If uniqueness is lost there, the margin decides: a state whose margin is below 1 is placed on
    the fold, undecided. Otherwise a lowest value within the tolerance counts as a grazing.
    """
    now, a = w.progress[0], w.rows
    i, share, h = now.which, now.event_fraction, now.event_step
    full = a[TRIAL, now.n] - a[Y, now.n]
    length = lowest_point(w, table, i, share, h)
    value, here = a[SAMPLE, i], classify_grazing(w, functions, i)
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
    # no grazing, or an ordinary event before it: the step is repeated
    now.next_step = h
    if value > 0.0:
        now.least_margin = min(now.least_margin, now.margin)
        now.margin = math.inf
    falls = first_fall(a[COEFFICIENT + i, :NODES], a[ROOT:]) < NONE
    if falls == (value > 0.0) and length > 1e-3 * h:
        # the samples of h were inaccurate: the last sample of the next step lies there
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
    """Move to the lowest point in row TRIAL, record an event, project it on the surface."""
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


@kernel(separate=True)
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
        if code == GRAZING:
            code = at_grazing(w, functions, table, records)
        elif code == INTERSECTION:
            code = at_intersection(w, functions, records)
        elif code == SLIDES_ON_BOTH:
            code = on_intersection(w, functions, table, records)
        elif code == SLIDING_ENDS:
            code = at_end_of_sliding(w, functions, records)
        else:
            code = at_line(w, functions)
    return code


@kernel(separate=True)
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
