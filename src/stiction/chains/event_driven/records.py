"""What an event-driven run keeps: its state, its saved rows, its log of mode changes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.series_kernels import energies, evaluate, load_at
from stiction.chains.event_driven.state import (
    Events,
    Problem,
    Saved,
    Scratch,
    State,
)
from stiction.laws.law_kernels import law_value
from stiction.numerics.arrays import Vector
from stiction.numerics.event_localisation import horner
from stiction.numerics.jit import kernel

__all__ = [
    "column",
    "drive_at",
    "drive_of",
    "friction_of",
    "record_events",
    "save_now",
    "save_rest",
    "save_until",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def column(table: Floats, i: int, size: int, tau: float) -> float:
    """Return the value at `tau` of the polynomial in column `i` of a table of coefficients."""
    value = 0.0
    for k in range(size - 1, -1, -1):
        value = value * tau + table[k, i]
    return value


@kernel
def drive_at(p: Problem, state: State, t: float, i: int) -> float:
    """Return the force on mass i without friction [N]."""
    return drive_of(p, state.x, state.v, load_at(p, t, state.progress[0].piece), t, i)


@kernel
def drive_of(p: Problem, x: Vector, v: Vector, load: float, t: float, i: int) -> float:
    """Return the force on mass `i` from its links, the plate and the load, without friction [N]."""
    c = i + 1
    left = p.link_k[i] * (x[c] - x[c - 1]) + p.link_c[i] * (v[c] - v[c - 1])
    right = p.link_k[c] * (x[c + 1] - x[c]) + p.link_c[c] * (v[c + 1] - v[c])
    plate = p.plate_k[i] * (p.plate_speed * t - x[c])
    force: float = right - left + p.share[i] * load + plate
    return force


@kernel
def friction_of(p: Problem, mode: int, drive: float, v: float, i: int) -> float:
    """Return the friction force on mass `i` in its mode [N]."""
    if mode == 0:
        return -drive
    mu = p.mu_kinetic[i]
    if not p.constant:
        mu = law_value(p.mu_address, abs(v - p.belt), p.law_start + i * p.law_step)
    force: float = -mode * p.normal[i] * mu
    return force


@kernel
def record_events(p: Problem, state: State, events: Events, t: float) -> None:
    """Write a row for every mass whose mode is not the one last written."""
    now = state.progress[0]
    for i in range(p.mass.size):
        if state.mode[i] == state.shown[i]:
            continue
        row = now.events
        drive = drive_at(p, state, t, i)
        events.time[row] = t
        events.mass[row] = i
        events.before[row] = state.shown[i]
        events.after[row] = state.mode[i]
        events.x[row] = state.x[i + 1]
        events.v[row] = state.v[i + 1]
        events.left[row] = friction_of(p, state.shown[i], drive, state.v[i + 1], i)
        events.right[row] = friction_of(p, state.mode[i], drive, state.v[i + 1], i)
        now.events += 1
        now.rest_seen = 0
        state.shown[i] = state.mode[i]


@kernel
def save_until(
    p: Problem, state: State, saved: Saved, s: Scratch, count: int, t: float, t_new: float
) -> None:
    """Write the save times in [t, t_new)."""
    now = state.progress[0]
    size = 2 * p.order
    while now.saved < saved.time.size and saved.time[now.saved] < t_new:
        row = now.saved
        time = saved.time[row]
        tau = (time - t) * p.rate
        for c in range(s.xs.size):
            s.xs[c] = state.x[c]
            s.vs[c] = state.v[c]
        if tau != 0.0:
            evaluate(p, tau, s.active, count, state.mode, s, s.xs, s.vs)
        for i in range(p.mass.size):
            saved.heat[row, i] = state.heat[i]
        for a in range(count):
            i = s.active[a]
            if state.mode[i] != 0:
                saved.heat[row, i] += column(s.heat, i, size, tau)
        saved.work[row] = now.work + horner(s.work, size, tau)
        saved.viscous[row] = now.viscous + horner(s.viscous, size, tau)
        _save_row(p, state, saved, row, time, s.xs, s.vs)
        now.saved += 1


@kernel
def save_rest(p: Problem, state: State, saved: Saved, t_end: float) -> None:
    """Fill the saving times that are left with the state of rest."""
    now = state.progress[0]
    while now.saved < saved.time.size:
        row = now.saved
        for i in range(p.mass.size):
            saved.heat[row, i] = state.heat[i]
        saved.work[row] = now.work
        saved.viscous[row] = now.viscous
        _save_row(p, state, saved, row, t_end, state.x, state.v)
        now.saved += 1


@kernel
def _save_row(
    p: Problem, state: State, saved: Saved, row: int, t: float, x: Floats, v: Floats
) -> None:
    load = load_at(p, t, state.progress[0].piece)
    for i in range(p.mass.size):
        saved.x[row, i] = x[i + 1]
        saved.v[row, i] = v[i + 1]
        saved.mode[row, i] = state.mode[i]
        drive = drive_of(p, x, v, load, t, i)
        saved.friction[row, i] = friction_of(p, state.mode[i], drive, v[i + 1], i)
    kinetic, stored = energies(p, t, x, v)
    saved.kinetic[row] = kinetic
    saved.stored[row] = stored


@kernel
def save_now(p: Problem, state: State, saved: Saved, t: float) -> None:
    """Write the present state as the next saved row."""
    now = state.progress[0]
    row = now.saved
    for i in range(p.mass.size):
        saved.heat[row, i] = state.heat[i]
    saved.work[row] = now.work
    saved.viscous[row] = now.viscous
    _save_row(p, state, saved, row, t, state.x, state.v)
    now.saved += 1
