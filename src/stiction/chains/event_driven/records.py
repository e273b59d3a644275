"""Samples of the state at the save times, and records of mode changes.

Both evaluate forces at a state: R_i, all forces on mass i but friction (`drive_of`), and friction
in its mode (`friction_of`): -R_i in stick, -sigma mu N_i in slip with the sign sigma of the slip
rate. `step_kernels` calls them; p, `state`, `saved`, `events` and s are the tuples of `state`.
States x [m], v [m/s] (n + 2,) have a wall at both ends: mass i (from 0) has entry i + 1. Work
arrays in s have Taylor coefficients in tau, the scaled time since the start t of the step.
"""

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
    "save_equilibrium",
    "save_now",
    "save_until",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@kernel
def column(table: Floats, i: int, size: int, tau: float) -> float:
    """Return the value at `tau` of the polynomial in column `i` of a table of coefficients."""
    value = 0.0
    # Horner's rule
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
    # link forces first, then their difference (docs/decisions/08)
    left = p.link_k[i] * (x[c] - x[c - 1]) + p.link_c[i] * (v[c] - v[c - 1])
    right = p.link_k[c] * (x[c + 1] - x[c]) + p.link_c[c] * (v[c + 1] - v[c])
    plate = p.plate_k[i] * (p.plate_speed * t - x[c])
    force: float = right - left + p.load_vector[i] * load + plate
    return force


@kernel
def friction_of(p: Problem, mode: int, drive: float, v: float, i: int) -> float:
    """Return the friction force on mass `i` in its mode [N]."""
    # in stick friction is the reaction to R
    if mode == 0:
        return -drive
    mu = p.mu_kinetic[i]
    if not p.constant:
        mu = law_value(p.mu_address, abs(v - p.belt), p.law_start + i * p.law_step)
    force: float = -mode * p.normal[i] * mu
    return force


@kernel
def record_events(p: Problem, state: State, events: Events, t: float) -> None:
    """Record an event for every mass whose mode differs from the last recorded one."""
    now = state.progress[0]
    for i in range(p.mass.size):
        if state.mode[i] == state.shown[i]:
            continue
        sample = now.events
        drive = drive_at(p, state, t, i)
        events.time[sample] = t
        events.mass[sample] = i
        events.before[sample] = state.shown[i]
        events.after[sample] = state.mode[i]
        events.x[sample] = state.x[i + 1]
        events.v[sample] = state.v[i + 1]
        # friction in the modes before and after the event, with one and the same drive
        events.left[sample] = friction_of(p, state.shown[i], drive, state.v[i + 1], i)
        events.right[sample] = friction_of(p, state.mode[i], drive, state.v[i + 1], i)
        now.events += 1
        # an equilibrium reported before has ended, so that the next one is reported too
        now.rest_seen = 0
        state.shown[i] = state.mode[i]


@kernel
def save_until(
    p: Problem, state: State, saved: Saved, s: Scratch, count: int, t: float, t_new: float
) -> None:
    """Save the samples with times in [t, t_new), by evaluating the series of the step.

    `count` masses, listed in `s.active`, have series that are not constant.
    """
    now = state.progress[0]
    size = 2 * p.order
    while now.saved < saved.time.size and saved.time[now.saved] < t_new:
        sample = now.saved
        time = saved.time[sample]
        tau = (time - t) * p.rate
        # start from the state at the beginning of the step; inactive masses keep it
        for c in range(s.xs.size):
            s.xs[c] = state.x[c]
            s.vs[c] = state.v[c]
        if tau != 0.0:
            evaluate(p, tau, s.active, count, state.mode, s, s.xs, s.vs)
        # friction heat up to the beginning of the step, and of slipping masses since
        for i in range(p.mass.size):
            saved.heat[sample, i] = state.heat[i]
        for a in range(count):
            i = s.active[a]
            if state.mode[i] != 0:
                saved.heat[sample, i] += column(s.heat, i, size, tau)
        saved.work[sample] = now.work + horner(s.work, size, tau)
        saved.viscous[sample] = now.viscous + horner(s.viscous, size, tau)
        _save_sample(p, state, saved, sample, time, s.xs, s.vs)
        now.saved += 1


@kernel
def save_equilibrium(p: Problem, state: State, saved: Saved, t_end: float) -> None:
    """Save the present equilibrium at all remaining save times."""
    now = state.progress[0]
    while now.saved < saved.time.size:
        sample = now.saved
        for i in range(p.mass.size):
            saved.heat[sample, i] = state.heat[i]
        saved.work[sample] = now.work
        saved.viscous[sample] = now.viscous
        _save_sample(p, state, saved, sample, t_end, state.x, state.v)
        now.saved += 1


@kernel
def _save_sample(
    p: Problem, state: State, saved: Saved, sample: int, t: float, x: Floats, v: Floats
) -> None:
    """Write the state x, v (n + 2,) at time t, its friction forces and energies as a sample."""
    load = load_at(p, t, state.progress[0].piece)
    for i in range(p.mass.size):
        saved.x[sample, i] = x[i + 1]
        saved.v[sample, i] = v[i + 1]
        saved.mode[sample, i] = state.mode[i]
        drive = drive_of(p, x, v, load, t, i)
        saved.friction[sample, i] = friction_of(p, state.mode[i], drive, v[i + 1], i)
    kinetic, stored = energies(p, t, x, v)
    saved.kinetic[sample] = kinetic
    saved.stored[sample] = stored


@kernel
def save_now(p: Problem, state: State, saved: Saved, t: float) -> None:
    """Save the present state as the next sample."""
    now = state.progress[0]
    sample = now.saved
    for i in range(p.mass.size):
        saved.heat[sample, i] = state.heat[i]
    saved.work[sample] = now.work
    saved.viscous[sample] = now.viscous
    _save_sample(p, state, saved, sample, t, state.x, state.v)
    now.saved += 1
