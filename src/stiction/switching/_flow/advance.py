"""The loop: step, look for events, act on them, until the end or until nothing decides."""

# NumPy's stubs type a single entry of an array as Any
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.array_callback import call_arrays
from stiction.numerics.bernstein import NONE, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching._flow.rates import (
    DIRECTION,
    EXTRA,
    LINE,
    MINUS,
    NORM,
    PLUS,
    SURFACE,
    K,
    M,
    N,
    event_values,
    multipliers,
    rates,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching._flow.records import (
    BY_KIND,
    CORNER,
    CROSS,
    DISTANCE,
    DONE,
    EVENTS_FULL,
    FOLD,
    KINK,
    LAST_EVENT,
    LAST_GAP,
    LEAVE,
    LINE_HIT,
    N_EVENTS,
    N_SAVES,
    NEXT_STEP,
    NOT_FINITE,
    PAUSED,
    PILED_UP,
    REJECTED,
    RHO,
    SAME_TIME,
    SHRINKS,
    SLIDE,
    SPLIT,
    STALLED,
    STEPS,
    TWO_FOLD_HIT,
    Flow,
)
from stiction.switching._flow.steps import (
    dense,
    dense_rows,
    finish_stages,
    first_event,
    step,
)
from stiction.switching._flow.surfaces import (
    begin_mode,
    curvature,
    follow_line,
    landing,
    meeting,
    project,
    surface_speed,
    tighten,
)

__all__ = ["advance", "log_event", "signs_at"]

Floats = npt.NDArray[np.float64]

_RUNNING = -1
# a two-fold is reached when L- - L+ has fallen to this share of |grad h| |f|
_TWO_FOLD_SHARE = 1e-10
# events at a surface whose distances shrink this often in a row, down to this share of the
# time, pile up; so many at one moment are a stall
_SHRINKS, _SHORTEST, _SAME = 10, 1e-12, 40
# a step towards a codimension-2 line goes at most this part of the way
_TOWARDS_LINE = 0.85
_EPS = 2.220446049250313e-16


@kernel
def advance(flow: Flow, t_end: float, max_steps: int) -> int:
    """Follow the trajectory to t_end; return how the call ended (see `records`).

    Every pass of the loop takes one step or handles one event, and both are counted, so
    the work is bounded by `max_steps` and by the rows for events.
    """
    n, m = flow.dims[N], flow.dims[M]
    y, k, count, clock = flow.y, flow.stages, flow.count, flow.clock
    addr, dims, p, scale = flow.addr, flow.dims, flow.p, flow.scale
    sides, pace, kinks, grad, work = flow.sides, flow.pace, flow.kinks, flow.grad, flow.work
    table, tol, trial, spare = flow.table, flow.tol, flow.trial, flow.spare
    start, order, noise, rows = flow.start, flow.order, flow.noise, flow.dense
    fresh, rejected, gap_before = True, False, 0.0
    for _ in range(max_steps):
        if count[N_EVENTS] >= flow.event.shape[0] - 1:
            return EVENTS_FULL
        if fresh:
            rates(addr, dims, p, scale, sides, pace, y, k, 0, grad, work)
            event_values(addr, dims, p, scale, sides, pace, kinks, t_end, y, start, 0, grad, work)
            if not _finite(k[0]):
                return NOT_FINITE
            _arm(flow)
            fresh, gap_before = False, 0.0
        surface = sliding_surface(sides)
        single = surface >= 0 and second_surface(sides, surface) < 0
        left = (t_end - y[n]) * pace[DIRECTION]
        if left <= 0.0:
            return DONE
        h = _step_length(flow, left, single)
        if h <= 4.0 * _EPS * abs(y[n]) or h <= 0.0:
            if left <= 8.0 * _EPS * max(abs(y[n]), abs(t_end)):
                y[n] = t_end
                _save_until(flow, h, t_end, 0.0, True)
                return DONE
            return STALLED if not single else TWO_FOLD_HIT
        error = step(addr, dims, p, scale, sides, pace, table, tol, y, h, k, trial, grad, work)
        count[STEPS] += 1
        if not error <= 1.0:
            count[REJECTED] += 1
            clock[NEXT_STEP] = _after_rejection(flow, h, error, t_end)
            rejected = True
            continue
        factor = 10.0 if error < 1e-10 else min(10.0, max(0.3, 0.9 * error ** (-0.125)))
        clock[NEXT_STEP] = h * (min(factor, 1.0) if rejected else factor)
        rejected = False
        finish_stages(addr, dims, p, scale, sides, pace, table, y, h, k, spare, grad, work)
        dense_rows(table, y, trial, h, k, rows)
        which, root, miss = first_event(
            addr,
            dims,
            p,
            scale,
            sides,
            pace,
            kinks,
            t_end,
            flow.nodes,
            flow.to_bernstein,
            start,
            noise,
            order,
            y,
            h,
            rows,
            flow.samples,
            flow.coefficients,
            flow.roots,
            spare,
            grad,
            work,
        )
        if which < 0 and miss < 1e-2:
            which, root = _touch(flow)
            if which >= 0:
                code = _at_touch(flow, which - 2 * m, root, h, t_end)
                if code != _RUNNING:
                    return code
                fresh = True
                continue
        if which >= 0:
            code = _at_event(flow, which, root, h, t_end)
            if code != _RUNNING:
                return code
            fresh = True
            continue
        if surface < 0 and left <= h:
            trial[n] = t_end
        _save_until(flow, h, trial[n], 1.0, False)
        _accept(flow)
        if surface >= 0:
            for i in range(m):
                if sides[i] == 0.0:
                    project(flow, i)
            event_values(addr, dims, p, scale, sides, pace, kinks, t_end, y, start, 0, grad, work)
            rates(addr, dims, p, scale, sides, pace, y, k, 0, grad, work)
        else:
            event_values(addr, dims, p, scale, sides, pace, kinks, t_end, y, start, 0, grad, work)
        for i in range(order.size):
            order[i] = 0
        _arm(flow)
        if not _finite(y):
            return NOT_FINITE
        if single:
            gap = abs(start[0, surface]) + abs(start[0, m + surface])
            if _near_two_fold(flow, surface):
                _finish_two_fold(flow, gap_before, gap, h)
                return TWO_FOLD_HIT
            gap_before = gap
        elif dims[LINE] == 1 and _near_line(flow, h):
            return LINE_HIT
    return PAUSED


@kernel
def _finite(values: Floats) -> bool:
    total = 0.0
    for c in range(values.size):
        total += values[c] * 0.0
    return total == 0.0


@kernel
def _arm(flow: Flow) -> None:
    """Set the rounding level of each event function; what starts at zero is divided out."""
    n, m, k = flow.dims[N], flow.dims[M], flow.dims[K]
    size = 0.0
    for c in range(n):
        size = max(size, abs(flow.y[c]))
    for i in range(m):
        reach = 0.0
        for c in range(n):
            reach += abs(flow.grad[i, c]) * max(abs(flow.y[c]), 0.1 * flow.scale[c])
        flow.noise[i] = 4.0 * _EPS * reach if flow.sides[i] != 0.0 else 1e-15
        flow.noise[m + i] = 1e-15
    for i in range(k):
        flow.noise[2 * m + i] = 4.0 * _EPS * max(size, 0.1)
    flow.noise[2 * m + k] = 0.0
    for i in range(2 * m + k):
        flow.start[1, i] = 0.0
        if flow.order[i] == 0 and flow.start[0, i] <= flow.noise[i]:
            flow.order[i] = 1
    for i in range(m):
        if flow.order[i] == 2:
            # what is left of the slope at a fold is rounding of the landing
            rate = 0.0
            for c in range(n):
                rate += flow.grad[i, c] * flow.stages[0, c]
            flow.start[1, i] = flow.sides[i] * rate


@kernel
def _step_length(flow: Flow, left: float, single: bool) -> float:
    """Return the length of the next step in s."""
    n, clock = flow.dims[N], flow.clock
    h = clock[NEXT_STEP]
    if h <= 0.0:
        # a first guess: the state changes by a hundredth of its size
        size = rate = 0.0
        for c in range(n):
            unit = flow.scale[c]
            size = max(size, max(abs(flow.y[c]), 0.1 * unit) / unit)
            rate = max(rate, abs(flow.stages[0, c]) / unit)
        h = 0.01 * size / rate if rate > 0.0 else 0.01 * left
    h = min(h, flow.tol[3])
    if not single:
        h = min(h, left)
        if flow.dims[LINE] == 1 and flow.clock[RHO] > 0.0:
            h = min(h, flow.clock[RHO])
    return h


@kernel
def _after_rejection(flow: Flow, h: float, error: float, t_end: float) -> float:
    """Return the next trial length: to the kink or surface the step ran across, if it did."""
    m, k = flow.dims[M], flow.dims[K]
    shorter = h * (0.1 if error > 1e8 else max(0.2, 0.9 * error ** (-0.125)))
    event_values(
        flow.addr,
        flow.dims,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.kinks,
        t_end,
        flow.trial,
        flow.samples,
        0,
        flow.grad,
        flow.work,
    )
    for i in range(2 * m, 2 * m + k):
        before, after = flow.start[0, i], flow.samples[0, i]
        if flow.order[i] == 0 and before > 0.0 > after:
            share = 1.01 * before / (before - after)
            if share < 0.9:
                shorter = max(shorter, share * h)
    return shorter


@kernel
def _accept(flow: Flow) -> None:
    """Move to the end of the step; its last rates are the first of the next step."""
    for c in range(flow.y.size):
        flow.y[c] = flow.trial[c]
        flow.stages[0, c] = flow.stages[12, c]


@kernel
def _save_until(flow: Flow, h: float, t: float, share: float, last: bool) -> None:
    """Keep the state at every saving time up to t, read off the dense output of the step."""
    n, way = flow.dims[N], flow.pace[DIRECTION]
    count, save, y, spare = flow.count, flow.save, flow.y, flow.spare
    row = count[N_SAVES]
    t0 = y[n]
    while row < save.size and (t - save[row]) * way >= 0.0:
        target = save[row]
        if last or (target - t0) * way <= 0.0:
            for c in range(y.size):
                spare[c] = y[c]
        else:
            s = share * (target - t0) / (t - t0)
            dense(flow.dense, y, s, y.size, spare)
            if sliding_surface(flow.sides) >= 0:
                s = _when(flow, target, s, share)
                dense(flow.dense, y, s, y.size, spare)
        for c in range(n):
            flow.saved[row, 1 + c] = spare[c]
        for c in range(n + 1, y.size):
            flow.saved[row, c] = spare[c]
        flow.saved[row, 0] = target
        signs_at(flow, spare[:n], flow.saved_signs[row])
        row += 1
    count[N_SAVES] = row


@kernel
def _when(flow: Flow, target: float, s: float, share: float) -> float:
    """Return the fraction of the step at which the time is `target` (it rises with s)."""
    n = flow.dims[N]
    low, high = 0.0, share
    for _ in range(60):
        dense(flow.dense, flow.y, s, flow.y.size, flow.spare)
        off = flow.spare[n] - target
        if abs(off) <= 2.0 * _EPS * max(1.0, abs(target)):
            break
        if off * flow.pace[DIRECTION] > 0.0:
            high = s
        else:
            low = s
        slope = (flow.trial[n] - flow.y[n]) / share
        guess = s - off / slope if slope != 0.0 else -1.0
        s = guess if low < guess < high else 0.5 * (low + high)
    return s


@kernel
def signs_at(flow: Flow, x: Floats, out: Floats) -> None:
    """Fill out[m] with the signs, the multiplier on a surface the state slides on."""
    m = flow.dims[M]
    for i in range(m):
        out[i] = flow.sides[i]
    i = sliding_surface(flow.sides)
    if i < 0:
        return
    if second_surface(flow.sides, i) >= 0:
        lam = flow.work[EXTRA, :m]
        multipliers(
            flow.addr,
            flow.dims,
            flow.p,
            flow.scale,
            flow.sides,
            x,
            flow.stages[15, : flow.dims[N]],
            lam,
            flow.grad,
            flow.work,
        )
        for j in range(m):
            if flow.sides[j] == 0.0:
                out[j] = lam[j]
        return
    up, down = slide_data(
        flow.addr, flow.dims, flow.p, flow.scale, flow.sides, i, x, flow.grad, flow.work
    )
    out[i] = (down + up) / (down - up) if down != up else 0.0


@kernel
def log_event(
    flow: Flow, kind: int, surface: int, before: float, after: float, lam0: float, lam1: float
) -> None:
    """Write one row of the event table."""
    n, row = flow.dims[N], flow.count[N_EVENTS]
    e = flow.event[row]
    e[0], e[1], e[2], e[3], e[4] = flow.y[n], surface, before, after, kind
    for c in range(n):
        e[5 + c] = flow.y[c]
    e[5 + n], e[6 + n] = lam0, lam1
    flow.count[N_EVENTS] = row + 1
    flow.count[BY_KIND + kind] += 1


# ---- events


@kernel
def _go_to(flow: Flow, which: int, root: float, h: float, t_end: float) -> None:
    """Step exactly to the event: shorter steps from the same start until the function is zero.

    The dense output gives the first guess; each further step is as accurate as any other,
    so the event is as accurate as the trajectory. What is left is one small linear move.
    """
    y, trial, k = flow.y, flow.trial, flow.stages
    addr, dims, p, scale = flow.addr, flow.dims, flow.p, flow.scale
    sides, pace, grad, work = flow.sides, flow.pace, flow.grad, flow.work
    slope = value_and_slope(flow.coefficients[which], root, flow.roots[0])[1] / h
    if flow.order[which] > 0:
        # the samples were divided by the fraction of the step
        slope *= root if flow.order[which] == 1 else root * root
    length = root * h
    for _ in range(6):
        step(
            addr, dims, p, scale, sides, pace, flow.table, flow.tol, y, length, k, trial, grad, work
        )
        event_values(
            addr, dims, p, scale, sides, pace, flow.kinks, t_end, trial, flow.samples, 0, grad, work
        )
        value = flow.samples[0, which]
        off = value / slope if slope < 0.0 else 0.0
        # the error of the last linear move is its square
        if abs(off) <= 0.1 * np.sqrt(flow.tol[0]) * length or slope >= 0.0:
            for c in range(y.size):
                trial[c] -= off * k[12, c]
            return
        length = min(max(length - off, 0.5 * length), h)


@kernel
def _at_event(flow: Flow, which: int, root: float, h: float, t_end: float) -> int:
    """Go to the event, act on it, return _RUNNING or why the call must end."""
    n, m, k = flow.dims[N], flow.dims[M], flow.dims[K]
    _go_to(flow, which, root, h, t_end)
    _save_until(flow, h, flow.trial[n], root, False)
    for c in range(flow.y.size):
        flow.y[c] = flow.trial[c]
    for i in range(flow.order.size):
        flow.order[i] = 0
    if not _finite(flow.y):
        return NOT_FINITE
    if which == 2 * m + k:
        flow.y[n] = t_end
        _save_until(flow, h, t_end, 1.0, True)
        return DONE
    if which >= 2 * m:
        return _at_kink(flow, which - 2 * m)
    surface = which if which < m else which - m
    if flow.sides[surface] != 0.0:
        return _at_surface(flow, surface)
    return _at_fold_of_slide(flow, surface, which < m)


@kernel
def _at_kink(flow: Flow, j: int) -> int:
    m = flow.dims[M]
    on_surface = sliding_surface(flow.sides)
    if flow.dims[LINE] == 1 and j == 0 and on_surface == 0:
        return LINE_HIT
    mode = flow.sides[0]
    log_event(flow, KINK, 0, mode, mode, mode, mode)
    flow.kinks[j] = -flow.kinks[j]
    flow.order[2 * m + j] = 1
    return _too_many_at_once(flow)


@kernel
def _too_many_at_once(flow: Flow) -> int:
    """Return STALLED after many events at one moment."""
    n, clock, count = flow.dims[N], flow.clock, flow.count
    t = flow.y[n]
    if abs(t - clock[LAST_EVENT]) <= 4.0 * _EPS * max(abs(t), 1e-300):
        count[SAME_TIME] += 1
    else:
        count[SAME_TIME] = 0
    clock[LAST_EVENT] = t
    return STALLED if count[SAME_TIME] > _SAME else _RUNNING


@kernel
def _piling(flow: Flow) -> int:
    """Watch the time between events at surfaces; return PILED_UP when they accumulate."""
    n, clock, count = flow.dims[N], flow.clock, flow.count
    t = flow.y[n]
    gap = abs(t - clock[LAST_EVENT])
    if gap < 0.999 * clock[LAST_GAP]:
        count[SHRINKS] += 1
    else:
        count[SHRINKS] = 0
    stalled = _too_many_at_once(flow)
    ratio = gap / clock[LAST_GAP] if clock[LAST_GAP] > 0.0 else 1.0
    clock[LAST_GAP] = gap
    if count[SHRINKS] >= _SHRINKS and gap <= _SHORTEST * max(1.0, abs(t)) and ratio < 1.0:
        flow.y[n] = t + gap * ratio / (1.0 - ratio)
        return PILED_UP
    return stalled


@kernel
def _at_surface(flow: Flow, i: int) -> int:
    """A surface is reached from one side: cross it, or stay on it."""
    m = flow.dims[M]
    came = flow.sides[i]
    project(flow, i)
    other = sliding_surface(flow.sides)
    if other < 0:
        other = _also_here(flow, i)
    if other >= 0:
        if second_surface(flow.sides, other) >= 0:
            return CORNER
        return _at_meeting(flow, i, other, came)
    plus, minus, along, split, flat = landing(flow, i)
    there = plus if came < 0.0 else minus
    after = -came if there else 0.0
    if not there and not along:
        # it touches a fold of its own side and leaves again
        after = came
    flow.sides[i] = after
    kind = CROSS if after == -came else SLIDE if after == 0.0 else FOLD
    lam = 0.0 if after == 0.0 else after
    if after == 0.0:
        signs_at(flow, flow.y[: flow.dims[N]], flow.work[PLUS, :m])
        lam = flow.work[PLUS, i]
    log_event(flow, kind, i, came, after, came, lam)
    flow.order[i] = (2 if flat else 1) if after != 0.0 else 0
    begin_mode(flow)
    if flat and split:
        return SPLIT
    return _piling(flow)


@kernel
def _also_here(flow: Flow, i: int) -> int:
    """Return another surface on which the state is too, or -1."""
    n, m = flow.dims[N], flow.dims[M]
    if m == 1:
        return -1
    row = flow.work[EXTRA, :]
    call_arrays(flow.addr[SURFACE], flow.y[:n], flow.sides, flow.p, row)
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
    return SPLIT if code == _RUNNING and found > 1 else code


@kernel
def _at_fold_of_slide(flow: Flow, i: int, upper: bool) -> int:
    """The state slides to a fold: it leaves through it, to the side that lets it go."""
    n, m = flow.dims[N], flow.dims[M]
    if flow.pace[DIRECTION] < 0.0:
        # backward in time nothing is decided here: the way in was through this fold
        return SPLIT
    project(flow, i)
    begin_mode(flow)
    after = 1.0 if upper else -1.0
    tangent = True
    if second_surface(flow.sides, sliding_surface(flow.sides)) < 0:
        up, down = slide_data(
            flow.addr,
            flow.dims,
            flow.p,
            flow.scale,
            flow.sides,
            i,
            flow.y[:n],
            flow.grad,
            flow.work,
        )
        limit = _TWO_FOLD_SHARE * surface_speed(
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
def _touch(flow: Flow) -> tuple[int, float]:
    """Return 2m + i and where if the state touches surface i inside the step, else -1."""
    m = flow.dims[M]
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
        limit = (100.0 * flow.tol[0] / (4.0 * _EPS)) * flow.noise[i]
        if value_and_slope(b, at, work)[0] <= min(limit, 1e10 * flow.noise[i]):
            return 2 * m + i, at
    return -1, NONE


@kernel
def _at_touch(flow: Flow, i: int, root: float, h: float, t_end: float) -> int:
    """Stop at a touch of surface i: a fold of this side, met from outside."""
    n = flow.dims[N]
    step(
        flow.addr,
        flow.dims,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.table,
        flow.tol,
        flow.y,
        root * h,
        flow.stages,
        flow.trial,
        flow.grad,
        flow.work,
    )
    _save_until(flow, h, flow.trial[n], root, False)
    for c in range(flow.y.size):
        flow.y[c] = flow.trial[c]
    project(flow, i)
    side = flow.sides[i]
    log_event(flow, FOLD, i, side, side, side, side)
    for c in range(flow.order.size):
        flow.order[c] = 0
    flow.order[i] = 2
    up, down = slide_data(
        flow.addr,
        flow.dims,
        flow.p,
        flow.scale,
        flow.sides,
        i,
        flow.y[:n],
        flow.grad,
        flow.work,
    )
    begin_mode(flow)
    if (side > 0.0 and down < 0.0) or (side < 0.0 and up > 0.0):
        return SPLIT
    return _too_many_at_once(flow)


# ---- the end of determinism


@kernel
def _near_two_fold(flow: Flow, i: int) -> bool:
    m = flow.dims[M]
    gap = (abs(flow.start[0, i]) + abs(flow.start[0, m + i])) * flow.pace[NORM]
    # rows PLUS and MINUS hold the fields of the last evaluation, which was here
    return gap <= _TWO_FOLD_SHARE * tighten(flow, i, gap)


@kernel
def _finish_two_fold(flow: Flow, before: float, gap: float, h: float) -> None:
    """Add what is left of the way: the gap falls as exp(-rate s), and the rates with it."""
    rate = np.log(before / gap) / h if before > gap > 0.0 else 0.0
    if rate > 0.0:
        for c in range(flow.y.size):
            flow.y[c] += flow.stages[0, c] / rate


@kernel
def _near_line(flow: Flow, h: float) -> bool:
    """Return whether a codimension-2 line is reached; if so, go to it along the last ray."""
    n, m = flow.dims[N], flow.dims[M]
    y, k = flow.y, flow.stages
    a = flow.start[0, 0]
    b = flow.start[0, 2 * m]
    rho = np.sqrt(a * a + b * b)
    if flow.clock[DISTANCE] > 0.0:
        # the field varies over the distance to the line, and so does the next step
        change = rho / flow.clock[DISTANCE]
        flow.clock[NEXT_STEP] *= min(max(change, 0.05), 3.0)
    flow.clock[DISTANCE] = rho
    follow_line(flow, rho)
    # the same two functions a little later, along the present rates
    later = flow.spare
    ahead = 0.05 * min(h, rho)
    for c in range(n):
        later[c] = y[c] + ahead * k[0, c]
    row = flow.work[EXTRA, :]
    call_arrays(flow.addr[SURFACE], later[:n], flow.sides, flow.p, row)
    da = (flow.sides[0] * row[0] - a) / ahead if ahead > 0.0 else 0.0
    db = (flow.kinks[0] * row[m] - b) / ahead if ahead > 0.0 else 0.0
    inward = -(a * da + b * db) / rho if rho > 0.0 else 0.0
    flow.clock[RHO] = _TOWARDS_LINE * rho / inward if inward > 0.0 else 0.0
    if inward <= 0.0 or rho > 0.1 * np.sqrt(flow.tol[0]) * flow.scale[0]:
        return False
    # what is left is straight but for the turn that is left in the ray
    turning = abs(a * db - b * da) / rho
    time = rho / inward
    straight = time * turning <= flow.tol[0] * inward
    near = rho <= flow.tol[2] and turning <= 0.1 * inward
    if not (straight or near or rho <= 1e-3 * flow.tol[2]):
        return False
    for c in range(y.size):
        y[c] += time * k[0, c]
    return True
