"""Keeping states at the saving times, and rows of the event table: kernels."""

from __future__ import annotations

import math

from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import size_of_time
from stiction.switching.flow.rates import (
    multipliers,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.state import (
    EXTRA,
    SIDES,
    SPARE,
    STAGE,
    TOLD,
    TRIAL,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import dense
from stiction.switching.flow.tableau import STAGES

__all__ = ["log_event", "save_until", "signs_at"]

_EPS = 2.220446049250313e-16


@kernel(separate=True)
def save_until(w: Workspace, records: Records, t: float, share: float) -> None:
    """Keep the state at every saving time up to t, read off the dense output of the step.

    Parameters
    ----------
    share : fraction of the step at which the time is t; 0 keeps the state as it stands
    """
    now, a, saved = w.progress[0], w.rows, records.saved
    n, m, q, way = now.n, now.m, now.q, now.direction
    row, width = now.saves, n + 1 + q
    t0 = a[Y, n]
    while row < saved.shape[0] and (t - saved[row, 0]) * way >= 0.0:
        target = saved[row, 0]
        if share == 0.0 or (target - t0) * way <= 0.0:
            for c in range(width):
                a[SPARE, c] = a[Y, c]
        else:
            s = share * (target - t0) / (t - t0)
            dense(a, s, width, SPARE)
            if sliding_surface(w, SIDES) >= 0:
                s = _when(w, target, s, share)
                dense(a, s, width, SPARE)
        for c in range(n):
            saved[row, 1 + c] = a[SPARE, c]
        for c in range(n + 1, width):
            saved[row, c] = a[SPARE, c]
        signs_at(w, SPARE)
        for i in range(m):
            saved[row, width + i] = a[TOLD, i]
        row += 1
    now.saves = row


@kernel
def _when(w: Workspace, target: float, s: float, share: float) -> float:
    """Return the fraction of the step at which the time is `target` (it rises with s)."""
    now, a = w.progress[0], w.rows
    n, width = now.n, now.n + 1 + now.q
    low, high = 0.0, share
    for _ in range(60):
        dense(a, s, width, SPARE)
        off = a[SPARE, n] - target
        if abs(off) <= 2.0 * _EPS * max(size_of_time(w), abs(target)):
            break
        if off * now.direction > 0.0:
            high = s
        else:
            low = s
        slope = (a[TRIAL, n] - a[Y, n]) / share
        guess = s - off / slope if slope != 0.0 else -1.0
        s = guess if low < guess < high else 0.5 * (low + high)
    return s


@kernel
def signs_at(w: Workspace, x: int) -> None:
    """Fill row TOLD with the signs, the multiplier on a surface the state in row x slides on."""
    now, a = w.progress[0], w.rows
    m = now.m
    for i in range(m):
        a[TOLD, i] = a[SIDES, i]
    i = sliding_surface(w, SIDES)
    if i < 0:
        return
    if second_surface(w, SIDES, i) >= 0:
        multipliers(w, SIDES, x, STAGE + STAGES - 1)
        for j in range(m):
            if a[SIDES, j] == 0.0:
                a[TOLD, j] = a[EXTRA, j]
        return
    up, down = slide_data(w, SIDES, i, x)
    a[TOLD, i] = (down + up) / (down - up) if down != up else 0.0


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
    """Write an event."""
    now, a = w.progress[0], w.rows
    event = records.events[now.events]
    event.time, event.surface, event.kind = a[Y, now.n], surface, kind
    event.before, event.after = before, after
    for c in range(now.n):
        records.states[now.events, c] = a[Y, c]
    event.multiplier_before, event.multiplier_after, event.margin = lam0, lam1, now.margin
    now.least_margin = min(now.least_margin, now.margin)
    now.margin = math.inf
    now.events += 1
