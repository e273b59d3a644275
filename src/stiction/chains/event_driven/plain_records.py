"""Bodies of kernels that save rows, for runs without a compiler: all rows of a step at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven import plain_series as ps
from stiction.chains.event_driven.series_kernels import load_at
from stiction.chains.event_driven.state import (
    Problem,
    Saved,
    Scratch,
    State,
)
from stiction.laws.law_kernels import law_value

__all__ = ["save_rest", "save_until"]

Floats = npt.NDArray[np.float64]


def save_until(
    p: Problem, state: State, saved: Saved, s: Scratch, count: int, t: float, t_new: float
) -> None:
    """Write the save times in [t, t_new)."""
    now = state.progress[0]
    first = int(now.saved)
    last = first + int(np.searchsorted(saved.time[first:], t_new, side="left"))
    if first == last:
        return
    rows, time, size = slice(first, last), saved.time[first:last], 2 * p.order + 1
    tau = ((time - t) * p.rate)[:, None]
    x, v = np.tile(state.x, (tau.size, 1)), np.tile(state.v, (tau.size, 1))
    active = s.active[:count]
    if count > 0:
        mode, later = state.mode[active], tau[:, 0] != 0.0
        place, speed = ps.paths(p, tau[later], s.x[:, active + 1], mode)
        x[np.ix_(later, active + 1)], v[np.ix_(later, active + 1)] = place, speed
    saved.heat[rows] = state.heat
    moving = active[state.mode[active] != 0]
    if moving.size > 0:
        saved.heat[rows, moving] += ps.column_sums(s.heat[:, moving], size, tau)
    line = np.stack([s.work, s.viscous], axis=1)
    done = ps.column_sums(line, size, tau)
    saved.work[rows] = now.work + done[:, 0]
    saved.viscous[rows] = now.viscous + done[:, 1]
    _save_rows(p, state, saved, rows, time, x, v)
    now.saved = last


def save_rest(p: Problem, state: State, saved: Saved, t_end: float) -> None:
    """Fill the saving times that are left with the state of rest."""
    now = state.progress[0]
    rows = slice(int(now.saved), saved.time.size)
    left = rows.stop - rows.start
    if left <= 0:
        return
    saved.heat[rows] = state.heat
    saved.work[rows], saved.viscous[rows] = now.work, now.viscous
    x, v = np.tile(state.x, (left, 1)), np.tile(state.v, (left, 1))
    _save_rows(p, state, saved, rows, np.full(left, t_end), x, v)
    now.saved = saved.time.size


def _save_rows(
    p: Problem, state: State, saved: Saved, rows: slice, time: Floats, x: Floats, v: Floats
) -> None:
    piece, mode = int(state.progress[0].piece), state.mode
    load = np.array([load_at(p, float(now), piece) for now in time])[:, None]
    saved.x[rows], saved.v[rows], saved.mode[rows] = x[:, 1:-1], v[:, 1:-1], mode
    pull = p.link_k * np.diff(x) + p.link_c * np.diff(v)
    plate = p.plate_k * (p.plate_speed * time[:, None] - x[:, 1:-1])
    drive = pull[:, 1:] - pull[:, :-1] + p.share * load + plate
    friction = -mode * p.normal * p.mu_kinetic + np.zeros_like(drive)
    if not p.constant:
        for i in np.flatnonzero(mode).tolist():
            row, weight = p.law_start + i * p.law_step, -mode[i] * p.normal[i]
            for r in range(time.size):
                speed = abs(float(v[r, i + 1]) - p.belt)
                friction[r, i] = weight * law_value(p.mu_address, speed, row)
    saved.friction[rows] = np.where(mode == 0, -drive, friction)
    saved.kinetic[rows], saved.stored[rows] = ps.energies(p, time[:, None], x, v)
