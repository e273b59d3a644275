"""Theta scheme for many chains in one call: vectorised steps with unchanged modes, others singly.

A step solves A w + mu N Sgn(w) containing q for the slip rates w at t + theta h, with the matrix
A = M / (theta h) + B and the forces q of `theta.step_kernels`; a mode is -1, 0 (stick) or 1, the
sign of w. A step in which no mode of a chain changes is made for a group of chains at once
(`group_kernels`). A chain with a mode change makes that step by the kernels of a single chain
(`theta.exact_kernels`). The caller is `blocks.theta`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.blocks.group_kernels import (
    WIDTH,
    Group,
    clear_member,
    enter_member,
    fetch_member,
    move_group,
    pull_group,
    solve_group,
)
from stiction.chains.outcome import Kinds
from stiction.chains.theta.event_kernels import count_joined
from stiction.chains.theta.exact_kernels import advance_exact, prepare
from stiction.chains.theta.state import (
    Events,
    LoadSegment,
    Problem,
    Saved,
    Work,
    masses_of,
    motion_of,
)
from stiction.chains.theta.step_kernels import ALL_STUCK, NOT_FINITE, time_after
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["Ensemble", "solve_steps"]

Floats = npt.NDArray[np.float64]
ModeArray = npt.NDArray[np.int8]

# status of a chain, besides the codes of `theta.step_kernels`
RUNNING, STOPPED, ENDED, LEFT = 0, 1, 2, 3


class Ensemble(NamedTuple):
    """m chains of n masses.

    work, saved : as of one run, with a leading axis; two saved states
    of_progress : (m, fields) the numbers of `work.progress` by position
    code : (m,) RUNNING; then STOPPED from `stop_time` on, ENDED, or LEFT to a single run
    stop_time : (m,) time from which all masses stick for good, else NaN
    seen_time, seen_modes : (m, n + 1), (m, 2, n + 1) the last event of each mass, as in
        `count_joined`
    onset : (m, n + 1) time of the first slip of each mass [s], NaN for none; the last column is
        not used
    kinds : (m,) numbers of events of each kind
    values, changes : (n, 5), (n, 3) arrays for the events of one step, as `theta.state.Events`
    """

    work: Work
    saved: Saved
    of_progress: Floats
    code: npt.NDArray[np.int8]
    stop_time: Floats
    seen_time: Floats
    seen_modes: ModeArray
    onset: Floats
    kinds: Table[Kinds]
    values: Floats
    changes: npt.NDArray[np.int32]


@kernel(views=True)
def work_of(many: Any, b: int) -> Work:
    """Return the arrays of chain b."""
    progress = many.progress[b : b + 1]
    return Work(
        many.segments[b], many.sines[b], many.f[b], many.m[b], many.lists, many.law, progress
    )


@kernel(nogil=True)
def solve_steps(p: Problem, ensemble: Ensemble, group: Group) -> None:
    """Advance every chain to the end, or until all its masses stick for good.

    Parameters
    ----------
    p : numbers that the chains have in common
    group : work arrays of one group

    Verified by: tests/unit/chains/blocks/test_theta.py::test_the_same_as_single_runs
    """
    count = ensemble.code.size
    # one group of WIDTH chains after the other
    for first in range(0, count, WIDTH):
        members = min(WIDTH, count - first)
        going = 0
        for j in range(WIDTH):
            clear_member(group, j)
            b = first + j
            if j < members and ensemble.code[b] == RUNNING:
                prepare(p, ensemble.work.f[b], ensemble.work.m[b])
                enter_member(group, j, work_of(ensemble.work, b), ensemble.of_progress[b])
                going += 1
        # all running members are at the start of this step
        for step in range(p.n_step):
            if going == 0:
                break
            bad, last = 0, step + 1 == p.n_step
            if not last:
                t = time_after(p, step)
                if not p.steady:
                    pull_group(p, group, t)
                bad = solve_group(p, group, t)
            if bad > 0 or last:
                _leave(ensemble, group, first, members, step, last)
            # the states of members with a mode change are copied back before, so that the update
            # of their columns has no effect
            if bad < WIDTH and not last:
                move_group(p, group)
            if bad > 0 or last:
                going = _step_others(p, ensemble, group, first, members)


@kernel
def _leave(
    ensemble: Ensemble, group: Group, first: int, members: int, step: int, every: bool
) -> None:
    """Copy back the states of members with a mode change in this step, or of all that run.

    first, members : index of the first chain of the group, and number of its chains
    step, every : number of the step from 0; whether all running members are copied
    """
    for j in range(members):
        b, chain = first + j, group.chains[0]
        chain.fits[j] = 0.0 if every else chain.fits[j]
        if ensemble.code[b] == RUNNING and chain.fits[j] == 0.0:
            fetch_member(group, j, ensemble.work.f[b], ensemble.of_progress[b])
            now = ensemble.work.progress[b]
            # a step with unchanged modes has one solve
            now.solves += step - now.step
            now.most_solves = max(now.most_solves, min(step - now.step, 1))
            now.step = step


@kernel
def _step_others(p: Problem, ensemble: Ensemble, group: Group, first: int, members: int) -> int:
    """Make the step of members with a mode change; return the number of running chains."""
    going = 0
    for j in range(members):
        b = first + j
        if ensemble.code[b] == RUNNING and group.chains[0].fits[j] == 0.0:
            _one(p, ensemble, b)
            if ensemble.code[b] == RUNNING:
                enter_member(group, j, work_of(ensemble.work, b), ensemble.of_progress[b])
            else:
                clear_member(group, j)
        if ensemble.code[b] == RUNNING:
            going += 1
    return going


@kernel
def _one(p: Problem, ensemble: Ensemble, b: int) -> None:
    """Make one step of chain b by the kernels of one chain."""
    work = work_of(ensemble.work, b)
    f, m, now = work.f, work.m, work.progress[0]
    every: Any = ensemble.saved
    x, v, mode, friction = every.x[b], every.v[b], every.mode[b], every.friction[b]
    saved = Saved(every.time, x, v, mode, friction, every.heat[b], every.sums[b], every.state[b])
    made = now.events
    # one step by the kernels of a single run
    code = advance_exact(p, work, saved, Events(ensemble.values, ensemble.changes, made), 1)
    count = now.events - made
    events = Events(ensemble.values[:count], ensemble.changes[:count], made)
    count_joined(
        events,
        p.h,
        ensemble.seen_time[b],
        ensemble.seen_modes[b],
        ensemble.onset[b],
        ensemble.kinds[b],
    )
    # work arrays and matrix factors of the new modes, copied to the group when the member returns
    prepare(p, f, m)
    if code == NOT_FINITE:
        ensemble.code[b] = LEFT
        return
    if code == ALL_STUCK and stays_stuck(p, work):
        ensemble.code[b], ensemble.stop_time[b] = STOPPED, now.rest_since
    if now.step >= p.n_step:
        # its last state is saved
        ensemble.code[b] = ENDED


@kernel
def stays_stuck(p: Problem, work: Work) -> bool:
    """Return whether no later load can move a stuck chain on a surface at rest.

    The same test as `Chain.sticks_for_good`.
    """
    n, progress = p.n, work.progress[0]
    since, t = progress.rest_since, time_after(p, progress.step - 1)
    segments, swing = work.segments, 0.0
    at = now_at = 0
    # extremes of the load from the last mode change on
    for k in range(len(segments)):
        at = k if segments[k].time <= since else at
        now_at = k if segments[k].time <= t else now_at
    low = _straight(segments[at], since)
    high = low
    # a linear load has its extremes at the ends of segments
    for k in range(len(segments)):
        if segments[k].time > since:
            # the load may jump at the end of a segment
            end = _straight(segments[max(k - 1, 0)], segments[k].time)
            low = min(low, segments[k].offset, end)
            high = max(high, segments[k].offset, end)
    now = _straight(segments[now_at], t)
    for sine in work.sines:
        swing += abs(sine.amplitude)
        now += sine.amplitude * np.sin(sine.frequency * t + sine.phase)
    # each sine may reach its amplitude
    low, high = low - swing, high + swing
    # the last segment has no end, so that a slope takes the load beyond any bound
    rate = segments[len(segments) - 1].rate
    low = -np.inf if rate < 0.0 else low
    high = np.inf if rate > 0.0 else high
    masses, x = masses_of(work.f), motion_of(work.f).x
    # |R| at both extremes of the load within the static bound
    for i in range(n):
        left = masses.stiffness[i] * (x[i] - (x[i - 1] if i > 0 else 0.0))
        right = masses.stiffness[i + 1] * ((x[i + 1] if i + 1 < n else 0.0) - x[i])
        drive = (right - left) + masses.load_vector[i] * now - masses.plate_stiffness[i] * x[i]
        bound = masses.stick_bound[i] * (1.0 + 1e-12)
        if masses.load_vector[i] == 0.0:
            if abs(drive) > bound:
                return False
        else:
            for extreme in (low, high):
                if abs(drive + masses.load_vector[i] * (extreme - now)) > bound:
                    return False
    return bool(progress.slipping == 0)


@kernel
def _straight(segment: LoadSegment, t: float) -> float:
    """Return the linear part of the load at time t [N]."""
    return segment.offset + segment.rate * (t - segment.time)
