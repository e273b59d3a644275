"""Saving of states at given times by the dense output of a step, and records of events: kernels.

In sliding the independent variable s of a step is not the time (see `rates`). The fraction of the
step at a given saving time is then the root of t(s) = time. `steps` has the dense output and its
source. `advance`, `events` and `rare_events` call these kernels; `state.Records` has the layout of
the saved arrays.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `records`
(`state.Records`) has the saved states and events. L+- are the rates of h along the fields of both
sides of a surface.
"""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import size_of_time
from stiction.switching.flow.rates import (
    lie_derivatives,
    multipliers,
    second_surface,
    sliding_surface,
)
from stiction.switching.flow.state import (
    DENSE,
    DENSE_TERMS,
    EXTRA,
    RECORDED,
    SIDES,
    SPARE,
    STAGE,
    TRIAL,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import dense
from stiction.switching.flow.tableau import STAGES

__all__ = ["log_event", "save_until", "signs_at"]

_EPS = 2.220446049250313e-16  # of float64


@kernel(separate=True)
def save_until(w: Workspace, records: Records, t: float, fraction: float) -> None:
    """Save the states at all saving times up to t; record the step if steps are recorded.

    Parameters
    ----------
    fraction : fraction of the step at which the time is t; 0 saves the present state
    """
    now, a, saved = w.progress[0], w.vectors, records.saved
    if fraction > 0.0 and now.recorded < records.steps.shape[0]:
        _record_step(w, records)
    n, m, q, direction = now.n, now.m, now.q, now.direction
    sample, width = now.saves, n + 1 + q
    t0 = a[Y, n]
    while sample < saved.shape[0] and (t - saved[sample, 0]) * direction >= 0.0:
        target = saved[sample, 0]
        if fraction == 0.0 or (target - t0) * direction <= 0.0:
            for c in range(width):
                a[SPARE, c] = a[Y, c]
        else:
            # outside surfaces s is the time; in sliding this is a first guess
            s = fraction * (target - t0) / (t - t0)
            dense(a, s, width, SPARE)
            if sliding_surface(w, SIDES) >= 0:
                s = _fraction_at_time(w, target, s, fraction)
                dense(a, s, width, SPARE)
        for c in range(n):
            saved[sample, 1 + c] = a[SPARE, c]
        for c in range(n + 1, width):
            saved[sample, c] = a[SPARE, c]
        signs_at(w, SPARE)
        for i in range(m):
            saved[sample, width + i] = a[RECORDED, i]
        sample += 1
    now.saves = sample


@kernel
def _record_step(w: Workspace, records: Records) -> None:
    """Store (x, t) at the start of the step, and the coefficients of its dense output."""
    now, a, step = w.progress[0], w.vectors, records.steps[w.progress[0].recorded]
    width = now.n + 1
    for c in range(width):
        step[c] = a[Y, c]
        for d in range(DENSE_TERMS):
            step[(1 + d) * width + c] = a[DENSE + d, c]
    now.recorded += 1


@kernel
def _fraction_at_time(w: Workspace, target: float, s: float, fraction: float) -> float:
    """Return the fraction of a sliding step at which the time is `target`.

    The time is a monotonic function of s; its root is found by the chord method, and by bisection
    where that leaves the bracket.
    """
    now, a = w.progress[0], w.vectors
    n, width = now.n, now.n + 1 + now.q
    low, high = 0.0, fraction
    for _ in range(60):  # more than the 53 digits of a number, by bisection alone
        dense(a, s, width, SPARE)
        error = a[SPARE, n] - target
        if abs(error) <= 2.0 * _EPS * max(size_of_time(w), abs(target)):
            break
        if error * now.direction > 0.0:
            high = s
        else:
            low = s
        # the mean rate of the time in the step
        slope = (a[TRIAL, n] - a[Y, n]) / fraction
        guess = s - error / slope if slope != 0.0 else -1.0
        s = guess if low < guess < high else 0.5 * (low + high)
    return s


@kernel
def signs_at(w: Workspace, x: int) -> None:
    """Fill RECORDED with the signs of the surfaces at the state in vector x.

    A sliding surface gets its multiplier, lambda = (L- + L+) / (L- - L+) on one surface.
    """
    now, a = w.progress[0], w.vectors
    m = now.m
    for i in range(m):
        a[RECORDED, i] = a[SIDES, i]
    i = sliding_surface(w, SIDES)
    if i < 0:
        return
    if second_surface(w, SIDES, i) >= 0:
        multipliers(w, x, STAGE + STAGES - 1)
        for j in range(m):
            if a[SIDES, j] == 0.0:
                a[RECORDED, j] = a[EXTRA, j]
        return
    up, down = lie_derivatives(w, SIDES, i, x)
    a[RECORDED, i] = (down + up) / (down - up) if down != up else 0.0


@kernel
def log_event(
    w: Workspace,
    records: Records,
    kind: int,
    surface: int,
    before: float,
    after: float,
    lam0: float,
    lam1: float,
) -> None:
    """Record an event of `surface` at the present state, with the pending margin; reset the margin.

    Parameters
    ----------
    before, after : signs of the surface before and after the event, 0 in sliding
    lam0, lam1 : multipliers before and after
    """
    now, a = w.progress[0], w.vectors
    event = records.events[now.events]
    event.time, event.surface, event.kind = a[Y, now.n], surface, kind
    event.before, event.after = before, after
    for c in range(now.n):
        records.states[now.events, c] = a[Y, c]
    event.multiplier_before, event.multiplier_after, event.margin = lam0, lam1, now.margin
    now.least_margin = min(now.least_margin, now.margin)
    now.margin = math.inf
    now.events += 1
