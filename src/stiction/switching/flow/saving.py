"""Keeping states at the saving times, and rows of the event table: kernels."""

from __future__ import annotations

from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import (
    DIRECTION,
    EXTRA,
    M,
    N,
    multipliers,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.records import (
    AFTER,
    AT,
    BEFORE,
    BY_KIND,
    KIND,
    N_EVENTS,
    N_SAVES,
    STATE,
    WHERE,
    Flow,
)
from stiction.switching.flow.steps import dense
from stiction.switching.flow.tableau import STAGES

__all__ = ["log_event", "save_until", "signs_at"]

_EPS = 2.220446049250313e-16


@kernel
def save_until(flow: Flow, t: float, share: float) -> None:
    """Keep the state at every saving time up to t, read off the dense output of the step.

    Parameters
    ----------
    share : fraction of the step at which the time is t; 0 keeps the state as it stands
    """
    n, way = flow.system[N], flow.pace[DIRECTION]
    count, save, y, spare = flow.count, flow.save, flow.y, flow.spare
    row = count[N_SAVES]
    t0 = y[n]
    while row < save.size and (t - save[row]) * way >= 0.0:
        target = save[row]
        if share == 0.0 or (target - t0) * way <= 0.0:
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
    n = flow.system[N]
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
def signs_at(flow: Flow, x: Vector, out: Vector) -> None:
    """Fill out[m] with the signs, the multiplier on a surface the state slides on."""
    m = flow.system[M]
    for i in range(m):
        out[i] = flow.sides[i]
    i = sliding_surface(flow.sides)
    if i < 0:
        return
    if second_surface(flow.sides, i) >= 0:
        lam = flow.work[EXTRA, :m]
        multipliers(
            flow.system,
            flow.p,
            flow.scale,
            flow.sides,
            x,
            flow.stages[STAGES - 1, : flow.system[N]],
            lam,
            flow.grad,
            flow.work,
        )
        for j in range(m):
            if flow.sides[j] == 0.0:
                out[j] = lam[j]
        return
    up, down = slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, flow.work)
    out[i] = (down + up) / (down - up) if down != up else 0.0


@kernel
def log_event(
    flow: Flow, kind: int, surface: int, before: float, after: float, lam0: float, lam1: float
) -> None:
    """Write one row of the event table."""
    n, row = flow.system[N], flow.count[N_EVENTS]
    e = flow.event[row]
    e[AT], e[WHERE], e[BEFORE], e[AFTER], e[KIND] = flow.y[n], surface, before, after, kind
    for c in range(n):
        e[STATE + c] = flow.y[c]
    e[STATE + n], e[STATE + n + 1] = lam0, lam1
    flow.count[N_EVENTS] = row + 1
    flow.count[BY_KIND + kind] += 1
