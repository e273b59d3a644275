"""The loop: step, look for events, act on them, until the end or until nothing decides."""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.jit import kernel
from stiction.switching.flow.events import RUNNING, TOUCH, at_event, at_touch, nearest_touch
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.line import slides_onto_line, slips_onto_line
from stiction.switching.flow.rates import (
    DIRECTION,
    LIE_NOISE,
    LINE,
    LONGEST,
    NORM,
    PLANE,
    RTOL,
    SLOPE,
    T_END,
    VALUE,
    K,
    M,
    N,
    event_values,
    normals,
    rates,
    second_surface,
    sliding_surface,
)
from stiction.switching.flow.records import (
    DONE,
    EVENTS_FULL,
    LINE_HIT,
    N_EVENTS,
    NEXT_STEP,
    NOT_FINITE,
    PAUSED,
    REJECTED,
    RHO,
    STALLED,
    STEPS,
    TWO_FOLD_HIT,
    Flow,
)
from stiction.switching.flow.saving import save_until
from stiction.switching.flow.steps import (
    HIDDEN,
    dense_rows,
    finish_stages,
    first_event,
    sample_events,
    step,
)
from stiction.switching.flow.surfaces import TWO_FOLD_SHARE, is_plane, project, tighten
from stiction.switching.flow.tableau import AT_END

__all__ = ["advance"]

_EPS = 2.220446049250313e-16
# as many steps are taken at the limit of what the time can tell apart
_FORCED = 2000
# so many steps into NaN while the time grows by less than this share: the field ends there
_BROKEN, _PROGRESS = 200, 1e-3
# what `_act` says beside the codes of `records` and RUNNING
_NO_EVENT, _TOO_LONG = -2, -3


@kernel
def advance(flow: Flow, t_end: float, max_steps: int) -> int:
    """Follow the trajectory to t_end; return how the call ended (see `records`).

    Every pass of the loop takes one step or handles one event, and both are counted, so
    the work is bounded by `max_steps` and by the rows for events.
    """
    n = flow.system[N]
    y, count, clock, pace = flow.y, flow.count, flow.clock, flow.pace
    pace[T_END] = t_end
    fresh, rejected, gap_before, error = True, False, 0.0, 0.0
    broken, broken_at, forced = 0, y[n], 0
    for _ in range(max_steps):
        if count[N_EVENTS] >= flow.event.shape[0] - 1:
            return EVENTS_FULL
        if fresh:
            if not _begin(flow):
                return NOT_FINITE
            fresh, gap_before = False, 0.0
        surface = sliding_surface(flow.sides)
        single = surface >= 0 and second_surface(flow.sides, surface) < 0
        left = (t_end - y[n]) * pace[DIRECTION]
        if left <= 0.0:
            return DONE
        h, least = _step_length(flow, left, single), 16.0 * _EPS * abs(y[n])
        if left <= 0.5 * least:
            y[n] = t_end
            save_until(flow, t_end, 0.0)
            return DONE
        tiny = h < least
        if tiny:
            # the time can tell no shorter steps apart: a few are taken whatever their error
            h, forced = min(least, left), forced + 1
            if forced > _FORCED:
                return _why_stalled(flow, error)
        error = _step(flow, h)
        if not error <= 1.0 and not (tiny and error < np.inf):
            count[REJECTED] += 1
            if error == np.inf:
                # many steps into a place where the field is no number, and no way past it
                if abs(y[n] - broken_at) > _PROGRESS * max(abs(y[n]), h):
                    broken, broken_at = 0, y[n]
                broken += 1
                if broken > _BROKEN:
                    return NOT_FINITE
            clock[NEXT_STEP] = _after_rejection(flow, h, error)
            rejected = True
            continue
        if flow.system[PLANE] == 2 and not is_plane(flow):
            # h only looked like a plane so far: take its gradient anew, and the step again
            flow.system[PLANE], fresh = 0, True
            count[REJECTED] += 1
            continue
        factor = 10.0 if error < 1e-10 else min(10.0, max(0.3, 0.9 * error ** (-0.125)))
        clock[NEXT_STEP] = h * (min(factor, 1.0) if rejected else factor)
        code = _act(flow, h)
        # a step may be fine for the state and too long to see what the surfaces do
        rejected = code == _TOO_LONG
        if rejected:
            count[REJECTED] += 1
            clock[NEXT_STEP] = 0.5 * h
            continue
        fresh = code == RUNNING
        if fresh:
            continue
        if code != _NO_EVENT:
            return code
        if surface < 0 and left <= h:
            flow.trial[n] = t_end
        code, gap_before = _after_step(flow, h, surface, single, gap_before)
        if code != RUNNING:
            return code
    return PAUSED


@kernel
def _begin(flow: Flow) -> bool:
    """Compute rates and event functions where a step begins afresh; return whether finite."""
    system, p, scale, y = flow.system, flow.p, flow.scale, flow.y
    sides, pace, grad, work = flow.sides, flow.pace, flow.grad, flow.work
    rates(system, p, scale, sides, pace, y, flow.stages, 0, grad, work)
    event_values(system, p, scale, sides, pace, flow.kinks, y, flow.start, VALUE, grad, work)
    if not finite(flow.stages[0]):
        return False
    _arm(flow)
    return True


@kernel
def _step(flow: Flow, h: float) -> float:
    """Take a step of length h from y to trial; return its error over the tolerance."""
    flow.count[STEPS] += 1
    return step(
        flow.system,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.table,
        flow.y,
        h,
        flow.stages,
        flow.trial,
        flow.grad,
        flow.work,
    )


@kernel
def _act(flow: Flow, h: float) -> int:
    """Look for events in the step of length h and act on the first.

    Returns
    -------
    _NO_EVENT, _TOO_LONG where the step hides what the surfaces do, RUNNING after an event,
    or why the call must end.
    """
    system, p, scale, y = flow.system, flow.p, flow.scale, flow.y
    sides, pace, k, f = flow.sides, flow.pace, flow.stages, flow.dense
    grad, work, samples = flow.grad, flow.work, flow.samples
    finish_stages(system, p, scale, sides, pace, flow.table, y, h, k, flow.spare, grad, work)
    dense_rows(flow.table, y, flow.trial, h, k, f)
    sample_events(
        system, p, scale, sides, pace, flow.kinks, flow.bernstein, y, f, samples, grad, work
    )
    which, root, miss = first_event(
        flow.bernstein,
        flow.start,
        flow.noise,
        flow.order,
        h,
        sides,
        flow.touch,
        samples,
        flow.coefficients,
        flow.roots,
    )
    if which == HIDDEN:
        return _TOO_LONG
    if which < 0 and miss <= 1.0:
        surface, root = nearest_touch(flow)
        return at_touch(flow, surface, root, h) if surface >= 0 else _NO_EVENT
    return at_event(flow, which, root, h) if which >= 0 else _NO_EVENT


@kernel
def _after_step(
    flow: Flow, h: float, surface: int, single: bool, gap_before: float
) -> tuple[int, float]:
    """Move to the end of a step without events; return whether it arrived somewhere.

    Returns
    -------
    RUNNING or why the call must end; L- - L+ over its scale while sliding
    """
    n, m = flow.system[N], flow.system[M]
    system, p, scale, y = flow.system, flow.p, flow.scale, flow.y
    sides, pace, grad, work = flow.sides, flow.pace, flow.grad, flow.work
    start = flow.start
    save_until(flow, flow.trial[n], 1.0)
    _accept(flow)
    for i in range(m):
        if sides[i] == 0.0:
            project(flow, i)
    event_values(system, p, scale, sides, pace, flow.kinks, y, start, VALUE, grad, work)
    if surface >= 0:
        rates(system, p, scale, sides, pace, y, flow.stages, 0, grad, work)
    for i in range(flow.order.size):
        flow.order[i] = 0
    _arm(flow)
    if not finite(y):
        return NOT_FINITE, 0.0
    if not single:
        if system[LINE] == 1 and slips_onto_line(flow, h):
            return LINE_HIT, 0.0
        return RUNNING, 0.0
    gap = abs(start[VALUE, surface]) + abs(start[VALUE, m + surface])
    if _near_two_fold(flow, surface):
        _finish_two_fold(flow, gap_before, gap, h)
        return TWO_FOLD_HIT, gap
    if system[LINE] == 1 and surface == 0 and slides_onto_line(flow, h):
        return LINE_HIT, gap
    return RUNNING, gap


@kernel
def _why_stalled(flow: Flow, error: float) -> int:
    """Return NOT_FINITE where steps shrink because the field ends or the state blows up."""
    size = 0.0
    for c in range(flow.system[N]):
        size = max(size, abs(flow.y[c]) / flow.scale[c])
    return NOT_FINITE if error == np.inf or size > 1e10 else STALLED


@kernel
def _arm(flow: Flow) -> None:
    """Set the rounding level of each event function; what starts at zero is divided out."""
    n, m, k = flow.system[N], flow.system[M], flow.system[K]
    size = 0.0
    for c in range(n):
        size = max(size, abs(flow.y[c]))
    for i in range(m):
        reach = 0.0
        for c in range(n):
            reach += abs(flow.grad[i, c]) * max(abs(flow.y[c]), 0.1 * flow.scale[c])
        on_it = max(1e-15, flow.pace[LIE_NOISE])
        flow.noise[i] = 4.0 * _EPS * reach if flow.sides[i] != 0.0 else on_it
        flow.noise[m + i] = on_it
        # nearer than the best tolerances a touch, a miss and two crossings are the same
        flow.touch[i] = max(TOUCH * flow.noise[i], min(flow.pace[RTOL], 1e-10) * reach)
    for i in range(k):
        flow.noise[2 * m + i] = 4.0 * _EPS * max(size, 0.1)
    flow.noise[2 * m + k] = 0.0
    for i in range(2 * m + k):
        flow.start[SLOPE, i] = 0.0
        if flow.order[i] == 0 and flow.start[VALUE, i] <= flow.noise[i]:
            flow.order[i] = 1
    for i in range(m):
        if flow.order[i] == 2:
            normals(flow.system, flow.p, flow.scale, flow.y[:n], flow.grad, flow.work)
            # what is left of the slope at a fold is rounding of the landing
            rate = 0.0
            for c in range(n):
                rate += flow.grad[i, c] * flow.stages[0, c]
            flow.start[SLOPE, i] = flow.sides[i] * rate


@kernel
def _step_length(flow: Flow, left: float, single: bool) -> float:
    """Return the length of the next step in s."""
    n, clock = flow.system[N], flow.clock
    h = clock[NEXT_STEP]
    if h <= 0.0:
        # a first guess: the state changes by a hundredth of its size
        size = rate = 0.0
        for c in range(n):
            unit = flow.scale[c]
            size = max(size, max(abs(flow.y[c]), 0.1 * unit) / unit)
            rate = max(rate, abs(flow.stages[0, c]) / unit)
        h = 0.01 * size / rate if rate > 0.0 else 0.01 * left
    h = min(h, flow.pace[LONGEST])
    if not single:
        h = min(h, left)
    if flow.system[LINE] == 1 and flow.clock[RHO] > 0.0:
        h = min(h, flow.clock[RHO])
    return h


@kernel
def _after_rejection(flow: Flow, h: float, error: float) -> float:
    """Return the next trial length: to the kink or surface the step ran across, if it did."""
    m, k = flow.system[M], flow.system[K]
    shorter = h * (0.1 if error > 1e8 else max(0.2, 0.9 * error ** (-0.125)))
    event_values(
        flow.system,
        flow.p,
        flow.scale,
        flow.sides,
        flow.pace,
        flow.kinks,
        flow.trial,
        flow.samples,
        0,
        flow.grad,
        flow.work,
    )
    for i in range(2 * m, 2 * m + k):
        before, after = flow.start[VALUE, i], flow.samples[0, i]
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
        flow.stages[0, c] = flow.stages[AT_END, c]


# ---- the end of determinism


@kernel
def _near_two_fold(flow: Flow, i: int) -> bool:
    m = flow.system[M]
    gap = (abs(flow.start[VALUE, i]) + abs(flow.start[VALUE, m + i])) * flow.pace[NORM]
    # rows PLUS and MINUS hold the fields of the last evaluation, which was here
    return gap <= TWO_FOLD_SHARE * tighten(flow, i, gap)


@kernel
def _finish_two_fold(flow: Flow, before: float, gap: float, h: float) -> None:
    """Add what is left of the way: the gap falls as exp(-rate s), and the rates with it."""
    rate = math.log(before / gap) / h if before > gap > 0.0 else 0.0
    if rate > 0.0:
        for c in range(flow.y.size):
            flow.y[c] += flow.stages[0, c] / rate
