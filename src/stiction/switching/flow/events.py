"""What happens at an event: go there exactly, decide, change the mode: kernels."""

from __future__ import annotations

import math

from stiction.numerics.bernstein import NONE, value_and_slope
from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.rates import (
    DIRECTION,
    EXTRA,
    LINE,
    MINUS,
    ON_LINE,
    PLUS,
    RTOL,
    SURFACE,
    T_END,
    VALUE,
    K,
    M,
    N,
    event_values,
    normals,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.records import (
    CORNER,
    CROSS,
    DONE,
    FOLD,
    KINK,
    LAST_EVENT,
    LAST_GAP,
    LAST_LANDING,
    LEAVE,
    LINE_HIT,
    N_EVENTS,
    NEXT_STEP,
    NOT_FINITE,
    PILED_UP,
    REJECTED,
    SAME_TIME,
    SHRINKS,
    SLIDE,
    SPLIT,
    STALLED,
    TWO_FOLD_HIT,
    Flow,
)
from stiction.switching.flow.saving import log_event, save_until, signs_at
from stiction.switching.flow.steps import step
from stiction.switching.flow.surfaces import (
    TWO_FOLD_SHARE,
    begin_mode,
    curvature,
    landing,
    meeting,
    project,
    surface_speed,
)
from stiction.switching.flow.tableau import AT_END

__all__ = ["at_event", "at_touch", "nearest_touch"]

RUNNING = -1
# events at a surface whose distances shrink this often in a row, down to this share of the
# time, pile up; so many at one moment are a stall
_SHRINKS, _SHORTEST, _SAME = 10, 1e-7, 40
_EPS = 2.220446049250313e-16
# a value of h below this many times its rounding is zero
TOUCH = 64.0


@kernel
def _go_to(flow: Flow, which: int, root: float, h: float) -> bool:
    """Step exactly to the event: shorter steps from the same start until the function is zero.

    Returns whether it was found where the dense output of the step promised it.

    The dense output gives the first guess; each further step is as accurate as any other,
    so the event is as accurate as the trajectory. What is left is one small linear move.
    """
    y, trial, k = flow.y, flow.trial, flow.stages
    system, p, scale = flow.system, flow.p, flow.scale
    sides, pace, grad, work = flow.sides, flow.pace, flow.grad, flow.work
    slope = value_and_slope(flow.coefficients[which], root, flow.roots[0])[1] / h
    if flow.order[which] > 0:
        # the samples were divided by the fraction of the step
        slope *= root if flow.order[which] == 1 else root * root
    length = root * h
    for _ in range(6):
        step(system, p, scale, sides, pace, flow.table, y, length, k, trial, grad, work)
        event_values(system, p, scale, sides, pace, flow.kinks, trial, flow.samples, 0, grad, work)
        value = flow.samples[0, which]
        off = value / slope if slope < 0.0 else 0.0
        # the error of the last linear move is its square
        if abs(off) <= 0.1 * math.sqrt(flow.pace[RTOL]) * length or slope >= 0.0:
            for c in range(y.size):
                trial[c] -= off * k[AT_END, c]
            n = system[N]
            return (pace[T_END] - trial[n]) * pace[DIRECTION] >= 0.0 or which == flow.order.size - 1
        length = min(max(length - off, 0.5 * length), h)
    return False


@kernel
def at_event(flow: Flow, which: int, root: float, h: float) -> int:
    """Go to the event, act on it, return RUNNING or why the call must end."""
    n, m, k = flow.system[N], flow.system[M], flow.system[K]
    if which < m and flow.sides[which] != 0.0:
        lowest = _shallow(flow, which, root)
        if lowest > 0.0:
            return at_touch(flow, which, lowest, h)
    if not _go_to(flow, which, root, h) and h > 1e-9 * max(1.0, abs(flow.y[n])):
        # the dense output was not good enough to see what comes first: look closer
        flow.count[REJECTED] += 1
        flow.clock[NEXT_STEP] = 0.5 * h
        return RUNNING
    if which < m and flow.sides[which] != 0.0 and _has_no_normal(flow, which):
        for c in range(flow.y.size):
            flow.y[c] = flow.trial[c]
        return CORNER
    save_until(flow, flow.trial[n], root)
    for c in range(flow.y.size):
        flow.y[c] = flow.trial[c]
    for i in range(flow.order.size):
        flow.order[i] = 0
    if not finite(flow.y):
        return NOT_FINITE
    if which == 2 * m + k:
        flow.y[n] = flow.pace[T_END]
        save_until(flow, flow.pace[T_END], 0.0)
        return DONE
    if which >= 2 * m:
        return _at_kink(flow, which - 2 * m)
    surface = which if which < m else which - m
    if flow.sides[surface] != 0.0:
        return _at_surface(flow, surface)
    return _at_fold_of_slide(flow, surface, which < m)


@kernel
def _shallow(flow: Flow, i: int, root: float) -> float:
    """Return where h_i is lowest if it dips below zero by less than a touch, else 0."""
    if flow.order[i] != 0:
        return 0.0
    b, work = flow.coefficients[i], flow.roots[0]
    ahead = min(root + 0.05, 1.0) if root < 0.99 else root - 0.05
    slope = value_and_slope(b, root, work)[1]
    bend = (value_and_slope(b, ahead, work)[1] - slope) / (ahead - root)
    if bend <= 0.0 or slope * slope > 2.0 * bend * flow.touch[i]:
        return 0.0
    return min(root - slope / bend, 1.0)


@kernel
def _has_no_normal(flow: Flow, i: int) -> bool:
    """Return whether the gradient of h_i vanishes where the step from y to trial ends.

    It does when it is far too small for the change of h_i over the step: there is no
    telling to which side the fields point.
    """
    n = flow.system[N]
    if flow.order[i] != 0:
        return False
    normals(flow.system, flow.p, flow.scale, flow.trial[:n], flow.grad, flow.work)
    change = 0.0
    for c in range(n):
        change += abs(flow.grad[i, c] * (flow.trial[c] - flow.y[c]))
        change += abs(flow.grad[i, c]) * 1e-3 * flow.scale[c]
    return change < 1e-6 * flow.start[VALUE, i]


@kernel
def _at_kink(flow: Flow, j: int) -> int:
    m = flow.system[M]
    on_surface = sliding_surface(flow.sides)
    if flow.system[LINE] == 1 and j == 0 and on_surface == 0:
        return LINE_HIT
    if _on_line(flow):
        return LINE_HIT
    mode = flow.sides[0]
    log_event(flow, KINK, 0, mode, mode, mode, mode)
    flow.kinks[j] = -flow.kinks[j]
    flow.order[2 * m + j] = 1
    return _too_many_at_once(flow)


@kernel
def _on_line(flow: Flow) -> bool:
    """Return whether h and g are both so small that rounding decides what comes next."""
    if flow.system[LINE] == 0:
        return False
    row, m = flow.work[EXTRA, :], flow.system[M]
    call_arrays(flow.system[SURFACE], flow.y[: flow.system[N]], flow.sides, flow.p, row)
    return max(abs(row[0]), abs(row[m])) <= 0.1 * flow.pace[ON_LINE]


@kernel
def _too_many_at_once(flow: Flow) -> int:
    """Return STALLED after many events at one moment."""
    n, clock, count = flow.system[N], flow.clock, flow.count
    t = flow.y[n]
    if abs(t - clock[LAST_EVENT]) <= 4.0 * _EPS * max(abs(t), 1e-300):
        count[SAME_TIME] += 1
    else:
        count[SAME_TIME] = 0
    clock[LAST_EVENT] = t
    return STALLED if count[SAME_TIME] > _SAME else RUNNING


@kernel
def _piling(flow: Flow) -> int:
    """Watch the time between events at surfaces; return PILED_UP when they accumulate."""
    n, clock, count = flow.system[N], flow.clock, flow.count
    t = flow.y[n]
    gap = abs(t - clock[LAST_LANDING])
    clock[LAST_LANDING] = t
    if gap < 0.999 * clock[LAST_GAP]:
        count[SHRINKS] += 1
    else:
        count[SHRINKS] = 0
    stalled = _too_many_at_once(flow)
    ratio = gap / clock[LAST_GAP] if clock[LAST_GAP] > 0.0 else 1.0
    clock[LAST_GAP] = gap
    if count[SHRINKS] >= _SHRINKS and gap <= _SHORTEST * max(1.0, abs(t)) and ratio < 1.0:
        return PILED_UP
    return stalled


@kernel
def _at_surface(flow: Flow, i: int) -> int:
    """A surface is reached from one side: cross it, or stay on it."""
    m = flow.system[M]
    came = flow.sides[i]
    project(flow, i)
    if i == 0 and _on_line(flow):
        return LINE_HIT
    other = sliding_surface(flow.sides)
    if other < 0:
        other = _also_here(flow, i)
    if other >= 0:
        if second_surface(flow.sides, other) >= 0:
            return CORNER
        return _at_meeting(flow, i, other, came)
    here = landing(flow, i)
    there = here.plus if came < 0.0 else here.minus
    after = -came if there else 0.0
    if not there and not here.along:
        # it touches a fold of its own side and leaves again
        after = came
    flow.sides[i] = after
    kind = CROSS if after == -came else SLIDE if after == 0.0 else FOLD
    lam = 0.0 if after == 0.0 else after
    if after == 0.0:
        signs_at(flow, flow.y[: flow.system[N]], flow.work[PLUS, :m])
        lam = flow.work[PLUS, i]
    log_event(flow, kind, i, came, after, came, lam)
    flow.order[i] = (2 if here.fold else 1) if after != 0.0 else 0
    begin_mode(flow)
    if here.fold and here.escaping:
        return SPLIT
    return _piling(flow)


@kernel
def _also_here(flow: Flow, i: int) -> int:
    """Return another surface on which the state is too, or -1."""
    n, m = flow.system[N], flow.system[M]
    if m == 1:
        return -1
    row = flow.work[EXTRA, :]
    call_arrays(flow.system[SURFACE], flow.y[:n], flow.sides, flow.p, row)
    for j in range(m):
        if j != i and abs(row[j]) <= 16.0 * flow.noise[j]:
            return j
    return -1


@kernel
def _at_meeting(flow: Flow, i: int, j: int, came: float) -> int:
    """Two surfaces meet: take the admissible combination of signs."""
    before_j = flow.sides[j]
    si, sj, found = meeting(flow, i, j, came)
    if found == 0:
        return CORNER
    flow.sides[i], flow.sides[j] = si, sj
    begin_mode(flow)
    if si != came:
        log_event(flow, CROSS if si == -came else SLIDE, i, came, si, came, si)
    if sj != before_j and flow.count[N_EVENTS] < flow.event.shape[0]:
        log_event(flow, LEAVE if before_j == 0.0 else SLIDE, j, before_j, sj, before_j, sj)
    flow.order[i] = 1 if si != 0.0 else 0
    flow.order[j] = (2 if before_j == 0.0 else 1) if sj != 0.0 else 0
    code = _piling(flow)
    return SPLIT if code == RUNNING and found > 1 else code


@kernel
def _at_fold_of_slide(flow: Flow, i: int, upper: bool) -> int:
    """The state slides to a fold: it leaves through it, to the side that lets it go."""
    n, m = flow.system[N], flow.system[M]
    if flow.pace[DIRECTION] < 0.0:
        # backward in time nothing is decided here: the way in was through this fold
        return SPLIT
    project(flow, i)
    begin_mode(flow)
    after = 1.0 if upper else -1.0
    tangent = True
    if second_surface(flow.sides, sliding_surface(flow.sides)) < 0:
        up, down = slide_data(
            flow.system,
            flow.p,
            flow.scale,
            flow.sides,
            i,
            flow.y[:n],
            flow.grad,
            flow.work,
        )
        limit = TWO_FOLD_SHARE * surface_speed(
            flow.grad, i, flow.work[PLUS, :n], flow.work[MINUS, :n]
        )
        if abs(up) <= limit and abs(down) <= limit:
            return TWO_FOLD_HIT
        bend = curvature(flow, i, after)
        if bend * after < 0.0 and ((upper and down < 0.0) or (not upper and up > 0.0)):
            # an invisible fold at the end of an escaping region: only the other side is left
            after, tangent = -after, False
    flow.sides[i] = after
    log_event(flow, LEAVE, i, 0.0, after, 1.0 if upper else -1.0, after)
    flow.order[i] = 2 if tangent else 1
    for c in range(m):
        flow.order[m + c] = 0
    begin_mode(flow)
    return _piling(flow)


# ---- touching a surface


@kernel
def nearest_touch(flow: Flow) -> tuple[int, float]:
    """Return the surface the state touches inside the step and where, -1 for none."""
    m = flow.system[M]
    work = flow.roots[0]
    for i in range(m):
        if flow.sides[i] == 0.0 or flow.order[i] != 0:
            continue
        b = flow.coefficients[i]
        best, at = NONE, 0.5
        for a in range(1, 64):
            value = value_and_slope(b, a / 64.0, work)[0]
            if value < best or a == 1:
                best, at = value, a / 64.0
        low, high = max(at - 1.0 / 64.0, 0.0), min(at + 1.0 / 64.0, 1.0)
        if value_and_slope(b, low, work)[1] >= 0.0 or value_and_slope(b, high, work)[1] <= 0.0:
            continue
        for _ in range(50):
            at = 0.5 * (low + high)
            if value_and_slope(b, at, work)[1] > 0.0:
                high = at
            else:
                low = at
        if value_and_slope(b, at, work)[0] <= flow.touch[i]:
            return i, at
    return -1, NONE


@kernel
def at_touch(flow: Flow, i: int, root: float, h: float) -> int:
    """Stop at a touch of surface i: a fold of this side, met from outside."""
    n = flow.system[N]
    step(
        flow.system,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.table,
        flow.y,
        root * h,
        flow.stages,
        flow.trial,
        flow.grad,
        flow.work,
    )
    save_until(flow, flow.trial[n], root)
    for c in range(flow.y.size):
        flow.y[c] = flow.trial[c]
    event_values(
        flow.system,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.kinks,
        flow.y,
        flow.samples,
        0,
        flow.grad,
        flow.work,
    )
    exact = abs(flow.samples[0, i]) <= TOUCH * flow.noise[i]
    project(flow, i)
    side = flow.sides[i]
    log_event(flow, FOLD, i, side, side, side, side)
    for c in range(flow.order.size):
        flow.order[c] = 0
    flow.order[i] = 2
    up, down = slide_data(
        flow.system,
        flow.p,
        flow.scale,
        flow.sides,
        i,
        flow.y[:n],
        flow.grad,
        flow.work,
    )
    begin_mode(flow)
    # a touch within the tolerance only says nothing about the future
    if exact and ((side > 0.0 and down < 0.0) or (side < 0.0 and up > 0.0)):
        return SPLIT
    return _too_many_at_once(flow)
