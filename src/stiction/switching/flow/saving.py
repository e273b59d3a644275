"""Keeping states at the saving times, and rows of the event table: kernels."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import size_of_time
from stiction.switching.flow.rates import (
    multipliers,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.rows import (
    AFTER,
    AT,
    BEFORE,
    BY_KIND,
    CLOCK,
    DIRECTION,
    EXTRA,
    KIND,
    LEAST,
    MARGIN,
    N_EVENTS,
    N_SAVES,
    PACE,
    SIDES,
    SPARE,
    STAGE,
    STATE,
    TOLD,
    TRIAL,
    WHERE,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.steps import dense
from stiction.switching.flow.tableau import STAGES

__all__ = ["log_event", "save_until", "signs_at"]

_EPS = 2.220446049250313e-16


@kernel(borrows=True, apart=True)
def save_until(
    system: Integers, p: Vector, a: Matrix, saved: Matrix, t: float, share: float
) -> None:
    """Keep the state at every saving time up to t, read off the dense output of the step.

    Parameters
    ----------
    saved : (s, 1 + n + q + m) rows that begin with the saving times
    share : fraction of the step at which the time is t; 0 keeps the state as it stands
    """
    n, m, q, way = system[N], system[M], system[Q], a[PACE, DIRECTION]
    row, width = system[N_SAVES], n + 1 + q
    t0 = a[Y, n]
    while row < saved.shape[0] and (t - saved[row, 0]) * way >= 0.0:
        target = saved[row, 0]
        if share == 0.0 or (target - t0) * way <= 0.0:
            for c in range(width):
                a[SPARE, c] = a[Y, c]
        else:
            s = share * (target - t0) / (t - t0)
            dense(a, s, width, SPARE)
            if sliding_surface(system, a, SIDES) >= 0:
                s = _when(system, a, target, s, share)
                dense(a, s, width, SPARE)
        for c in range(n):
            saved[row, 1 + c] = a[SPARE, c]
        for c in range(n + 1, width):
            saved[row, c] = a[SPARE, c]
        signs_at(system, p, a, SPARE)
        for i in range(m):
            saved[row, width + i] = a[TOLD, i]
        row += 1
    system[N_SAVES] = row


@kernel(borrows=True)
def _when(system: Integers, a: Matrix, target: float, s: float, share: float) -> float:
    """Return the fraction of the step at which the time is `target` (it rises with s)."""
    n, width = system[N], system[N] + 1 + system[Q]
    low, high = 0.0, share
    for _ in range(60):
        dense(a, s, width, SPARE)
        off = a[SPARE, n] - target
        if abs(off) <= 2.0 * _EPS * max(size_of_time(a, n), abs(target)):
            break
        if off * a[PACE, DIRECTION] > 0.0:
            high = s
        else:
            low = s
        slope = (a[TRIAL, n] - a[Y, n]) / share
        guess = s - off / slope if slope != 0.0 else -1.0
        s = guess if low < guess < high else 0.5 * (low + high)
    return s


@kernel(borrows=True)
def signs_at(system: Integers, p: Vector, a: Matrix, x: int) -> None:
    """Fill row TOLD with the signs, the multiplier on a surface the state in row x slides on."""
    m = system[M]
    for i in range(m):
        a[TOLD, i] = a[SIDES, i]
    i = sliding_surface(system, a, SIDES)
    if i < 0:
        return
    if second_surface(system, a, SIDES, i) >= 0:
        multipliers(system, p, a, SIDES, x, STAGE + STAGES - 1)
        for j in range(m):
            if a[SIDES, j] == 0.0:
                a[TOLD, j] = a[EXTRA, j]
        return
    up, down = slide_data(system, p, a, SIDES, i, x)
    a[TOLD, i] = (down + up) / (down - up) if down != up else 0.0


@kernel(borrows=True)
def log_event(
    system: Integers,
    a: Matrix,
    event: Matrix,
    kind: int,
    surface: int,
    before: float,
    after: float,
    lam0: float,
    lam1: float,
) -> None:
    """Write one row of the event table."""
    n, row = system[N], system[N_EVENTS]
    event[row, AT], event[row, WHERE] = a[Y, n], surface
    event[row, BEFORE], event[row, AFTER], event[row, KIND] = before, after, kind
    for c in range(n):
        event[row, STATE + c] = a[Y, c]
    event[row, STATE + n], event[row, STATE + n + 1] = lam0, lam1
    event[row, STATE + n + 2] = a[CLOCK, MARGIN]
    a[CLOCK, LEAST] = min(a[CLOCK, LEAST], a[CLOCK, MARGIN])
    a[CLOCK, MARGIN] = math.inf
    system[N_EVENTS] = row + 1
    system[BY_KIND + kind] += 1
