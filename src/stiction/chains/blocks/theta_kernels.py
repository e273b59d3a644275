"""Many chains through the theta scheme in one call: quiet steps in groups, others one by one."""

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
    LoadPiece,
    Problem,
    Saved,
    Work,
    masses_of,
    motion_of,
)
from stiction.chains.theta.step_kernels import NOT_FINITE, REST, time_after
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["Lot", "solve_steps"]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.int8]

# why a chain is no longer stepped, beside the codes of `theta.step_kernels`
RUNNING, RESTED, ENDED, LEFT = 0, 1, 2, 3


class Lot(NamedTuple):
    """m chains of n masses.

    work, saved : as of one run, with a row for each chain; two saved states
    of_progress : (m, fields) the numbers of `work.progress` by position
    code : (m,) RUNNING at the start; then RESTED from `rest_time` on, ENDED, or LEFT to itself
    rest_time : (m,) when it was found that a chain rests for good; before that NaN
    seen_time, seen_modes : (m, n + 1), (m, 2, n + 1) the last event of each mass, as in
        `count_joined`
    onset : (m, n + 1); kinds : (m,)
    values, marks : room for the events of one step
    """

    work: Work
    saved: Saved
    of_progress: Floats
    code: npt.NDArray[np.int8]
    rest_time: Floats
    seen_time: Floats
    seen_modes: Marks
    onset: Floats
    kinds: Table[Kinds]
    values: Floats
    marks: npt.NDArray[np.int32]


@kernel(views=True)
def work_of(many: Any, b: int) -> Work:
    """Return the tables of chain b."""
    progress = many.progress[b : b + 1]
    return Work(many.pieces[b], many.sines[b], many.f[b], many.m[b], many.lists, many.law, progress)


@kernel(nogil=True)
def solve_steps(p: Problem, lot: Lot, group: Group) -> None:
    """Step every chain from where it stands to the end, or until it rests for good.

    Parameters
    ----------
    p : what the chains have in common
    group : room for one group after the other

    Verified by: tests/unit/chains/blocks/test_theta.py::test_the_same_as_single_runs
    """
    count = lot.code.size
    for first in range(0, count, WIDTH):
        members = min(WIDTH, count - first)
        going = 0
        for j in range(WIDTH):
            clear_member(group, j)
            b = first + j
            if j < members and lot.code[b] == RUNNING:
                prepare(p, lot.work.f[b], lot.work.m[b])
                enter_member(group, j, work_of(lot.work, b), lot.of_progress[b])
                going += 1
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
                _leave(lot, group, first, members, step, last)
            if bad < WIDTH and not last:
                move_group(p, group)
            if bad > 0 or last:
                going = _step_others(p, lot, group, first, members)


@kernel
def _leave(lot: Lot, group: Group, first: int, members: int, step: int, every: bool) -> None:
    """Read the state of the members whose step is not quiet, or of all that go on."""
    for j in range(members):
        b, chain = first + j, group.chains[0]
        chain.fits[j] = 0.0 if every else chain.fits[j]
        if lot.code[b] == RUNNING and chain.fits[j] == 0.0:
            fetch_member(group, j, lot.work.f[b], lot.of_progress[b])
            now = lot.work.progress[b]
            # a quiet step is one solve
            now.solves += step - now.step
            now.most_solves = max(now.most_solves, min(step - now.step, 1))
            now.step = step


@kernel
def _step_others(p: Problem, lot: Lot, group: Group, first: int, members: int) -> int:
    """Make the step of the members in which it is not quiet; return how many chains go on."""
    going = 0
    for j in range(members):
        b = first + j
        if lot.code[b] == RUNNING and group.chains[0].fits[j] == 0.0:
            _one(p, lot, b)
            if lot.code[b] == RUNNING:
                enter_member(group, j, work_of(lot.work, b), lot.of_progress[b])
            else:
                clear_member(group, j)
        if lot.code[b] == RUNNING:
            going += 1
    return going


@kernel
def _one(p: Problem, lot: Lot, b: int) -> None:
    """Make one step of chain b by the kernels of one chain."""
    work = work_of(lot.work, b)
    f, m, now = work.f, work.m, work.progress[0]
    every: Any = lot.saved
    x, v, mode, friction = every.x[b], every.v[b], every.mode[b], every.friction[b]
    saved = Saved(every.time, x, v, mode, friction, every.heat[b], every.sums[b], every.state[b])
    made = now.events
    code = advance_exact(p, work, saved, Events(lot.values, lot.marks, made), 1)
    count = now.events - made
    events = Events(lot.values[:count], lot.marks[:count], made)
    count_joined(events, p.h, lot.seen_time[b], lot.seen_modes[b], lot.onset[b], lot.kinds[b])
    prepare(p, f, m)
    if code == NOT_FINITE:
        lot.code[b] = LEFT
        return
    if code == REST and rests(p, work):
        lot.code[b], lot.rest_time[b] = RESTED, now.rest_since
    if now.step >= p.n_step:
        # its last state was saved
        lot.code[b] = ENDED


@kernel
def rests(p: Problem, work: Work) -> bool:
    """Return whether no later load moves a chain on a surface at rest, all of which sticks.

    As `Chain.rests_for_good`.
    """
    n, progress = p.n, work.progress[0]
    since, t = progress.rest_since, time_after(p, progress.step - 1)
    pieces, swing = work.pieces, 0.0
    at = now_at = 0
    for k in range(len(pieces)):
        at = k if pieces[k].time <= since else at
        now_at = k if pieces[k].time <= t else now_at
    low = _straight(pieces[at], since)
    high = low
    for k in range(len(pieces)):
        if pieces[k].time > since:
            low = min(low, pieces[k].offset)
            high = max(high, pieces[k].offset)
    now = _straight(pieces[now_at], t)
    for sine in work.sines:
        swing += abs(sine.amplitude)
        now += sine.amplitude * np.sin(sine.frequency * t + sine.phase)
    low, high = low - swing, high + swing
    rate = pieces[len(pieces) - 1].rate
    low = -np.inf if rate < 0.0 else low
    high = np.inf if rate > 0.0 else high
    masses, x = masses_of(work.f), motion_of(work.f).x
    for i in range(n):
        left = masses.stiffness[i] * (x[i] - (x[i - 1] if i > 0 else 0.0))
        right = masses.stiffness[i + 1] * ((x[i + 1] if i + 1 < n else 0.0) - x[i])
        drive = (right - left) + masses.share[i] * now - masses.plate_stiffness[i] * x[i]
        bound = masses.stick_bound[i] * (1.0 + 1e-12)
        if masses.share[i] == 0.0:
            if abs(drive) > bound:
                return False
        else:
            for extreme in (low, high):
                if abs(drive + masses.share[i] * (extreme - now)) > bound:
                    return False
    return bool(progress.slipping == 0)


@kernel
def _straight(piece: LoadPiece, t: float) -> float:
    """Return the straight part of the load at time t [N]."""
    return piece.offset + piece.rate * (t - piece.time)
