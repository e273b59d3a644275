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
from stiction.chains.blocks.told import Kinds
from stiction.chains.theta.event_kernels import NEAR
from stiction.chains.theta.exact_kernels import advance_exact, prepare
from stiction.chains.theta.state import (
    Events,
    Listed,
    LoadPiece,
    Masses,
    Modes,
    Motion,
    Problem,
    Progress,
    Saved,
    Work,
    masses_of,
    modes_of,
    motion_of,
)
from stiction.chains.theta.step_kernels import NOT_FINITE, REST, time_after
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import System, system_of

__all__ = ["Lot", "solve_steps"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

# why a chain is no longer stepped, beside the codes of `theta.step_kernels`
RUNNING, RESTED, ENDED, LEFT = 0, 1, 2, 3


class Lot(NamedTuple):
    """m chains of n masses, each with what `theta.state.Work` has of one.

    f (m, F_ROWS, n + 1), m (m, M_ROWS, n + 1), pieces (m, pieces), sines (m, sines)
    progress (m,), stick_bound (m, n); of_progress (m, fields) the same numbers by position
    saved : of one chain, two rows
    code : (m,) RUNNING at the start; then RESTED from `rest_time` on, ENDED, or LEFT to itself
    rest_time : (m,) when it was found that a chain rests for good; before that NaN
    last : (m, n, 4) the last row that was saved: x, v, friction, heat
    last_mode : (m, n)
    sums : (m, N_SUMS) the ledger there
    seen : (m, n, 3) of the last event of each mass: its time, the modes before and after; mode 0
        before where it was joined to another
    onset : (m, n); kinds : (m,)
    values, marks, lists : room for the events of one step, and work space
    """

    f: Floats
    m: Marks
    pieces: npt.NDArray[Any]
    sines: npt.NDArray[Any]
    progress: Table[Progress]
    of_progress: Floats
    stick_bound: Floats
    saved: Saved
    code: npt.NDArray[np.int8]
    rest_time: Floats
    last: Floats
    last_mode: Marks
    sums: Floats
    seen: Floats
    onset: Floats
    kinds: Table[Kinds]
    values: Floats
    marks: npt.NDArray[np.int32]
    lists: Table[Listed]

    @property
    def masses(self) -> Masses:
        """Rows of all chains, (m, n + 1)."""
        return masses_of(self.f.swapaxes(0, 1))

    @property
    def motion(self) -> Motion:
        """Rows of all chains, (m, n + 1)."""
        return motion_of(self.f.swapaxes(0, 1))

    @property
    def modes(self) -> Modes:
        """Rows of all chains, (m, n + 1)."""
        return modes_of(self.m.swapaxes(0, 1))

    @property
    def system(self) -> System:
        """Rows of all chains, (m, n + 1)."""
        return system_of(self.f.swapaxes(0, 1))


@kernel(nogil=True)
def solve_steps(p: Problem, lot: Lot, group: Group) -> None:
    """Step every chain from where it stands to the end, or until it rests for good.

    Parameters
    ----------
    p : what the chains have in common
    group : room for one group after the other

    Verified by: tests/unit/chains/blocks/test_steps.py::test_the_same_as_single_runs
    """
    count = lot.code.size
    for first in range(0, count, WIDTH):
        members = min(WIDTH, count - first)
        going = 0
        for j in range(WIDTH):
            clear_member(group, j)
            b = first + j
            if j < members and lot.code[b] == RUNNING:
                prepare(p, lot.f[b], lot.m[b])
                _enter(lot, group, b, j)
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
def _enter(lot: Lot, group: Group, b: int, j: int) -> None:
    """Make chain b member j of a group."""
    now, progress = lot.progress[b], lot.of_progress[b]
    enter_member(group, j, lot.f[b], lot.m[b], now, progress, lot.pieces[b], lot.sines[b])


@kernel
def _leave(lot: Lot, group: Group, first: int, members: int, step: int, every: bool) -> None:
    """Read the state of the members whose step is not quiet, or of all that go on."""
    for j in range(members):
        b, chain = first + j, group.chains[0]
        chain.fits[j] = 0.0 if every else chain.fits[j]
        if lot.code[b] == RUNNING and chain.fits[j] == 0.0:
            fetch_member(group, j, lot.f[b], lot.of_progress[b])
            now = lot.progress[b]
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
                _enter(lot, group, b, j)
            else:
                clear_member(group, j)
        if lot.code[b] == RUNNING:
            going += 1
    return going


@kernel
def _one(p: Problem, lot: Lot, b: int) -> None:
    """Make one step of chain b by the kernels of one chain."""
    f, m, now, law = lot.f[b], lot.m[b], lot.progress[b], lot.saved.heat[:0]
    progress: Any = lot.progress[b : b + 1]
    work = Work(lot.pieces[b], lot.sines[b], f, m, lot.lists, law, progress)
    made = now.events
    events = Events(lot.values, lot.marks, made)
    code = advance_exact(p, work, lot.saved, events, 1)
    for row in range(now.events - made):
        i, before, after = lot.marks[row, 0], lot.marks[row, 1], lot.marks[row, 2]
        note_event(lot, b, int(i), float(before), float(after), lot.values[row, 0], p.h)
    prepare(p, f, m)
    if code == NOT_FINITE:
        lot.code[b] = LEFT
        return
    if code == REST and rests(p, lot, b):
        lot.code[b], lot.rest_time[b] = RESTED, now.rest_since
        _keep(p, lot, b)
    if now.step >= p.n_step:
        lot.code[b] = ENDED
        for i in range(p.n):
            lot.last[b, i, 0], lot.last[b, i, 1] = lot.saved.x[1, i], lot.saved.v[1, i]
            lot.last[b, i, 2], lot.last[b, i, 3] = lot.saved.friction[1, i], lot.saved.heat[1, i]
            lot.last_mode[b, i] = lot.saved.mode[1, i]
        for k in range(lot.sums.shape[1]):
            lot.sums[b, k] = lot.saved.sums[1, k]


@kernel
def _keep(p: Problem, lot: Lot, b: int) -> None:
    """Keep the state of a chain that rests; its friction is for the load at the end to say."""
    now, motion = lot.progress[b], motion_of(lot.f[b])
    for i in range(p.n):
        lot.last[b, i, 0], lot.last[b, i, 1] = motion.x[i], 0.0
        lot.last[b, i, 3] = motion.heat[i]
        lot.last_mode[b, i] = 0
    lot.sums[b, 0], lot.sums[b, 1] = now.kinetic, now.stored
    lot.sums[b, 2], lot.sums[b, 3], lot.sums[b, 4] = now.work, now.viscous, now.algorithmic


@kernel
def note_event(lot: Lot, b: int, i: int, before: float, after: float, t: float, h: float) -> None:
    """Count a change of mode of mass i of chain b, as `theta.event_kernels.count_joined` does."""
    kinds = lot.kinds[b]
    time, old, new = lot.seen[b, i, 0], lot.seen[b, i, 1], lot.seen[b, i, 2]
    if old != 0.0 and t - time < NEAR * h:
        turned = new == 0.0 and after == -old
        arrested = new == -old and after == 0.0
        if turned or arrested:
            # the two are one event, which ends as the second does
            gain = 1 if turned else -1
            kinds.reverse += gain
            kinds.stick -= gain
            lot.seen[b, i, 1] = 0.0
            return
    lot.seen[b, i, 0], lot.seen[b, i, 1], lot.seen[b, i, 2] = t, before, after
    if before == 0.0:
        kinds.slip += 1
        if np.isnan(lot.onset[b, i]):
            lot.onset[b, i] = t
    elif after == 0.0:
        kinds.stick += 1
    else:
        kinds.reverse += 1


@kernel
def rests(p: Problem, lot: Lot, b: int) -> bool:
    """Return whether no later load moves chain b, on a surface at rest, all of which sticks.

    As `Chain.rests_for_good`.
    """
    n, progress = p.n, lot.progress[b]
    since, t = progress.rest_since, time_after(p, progress.step - 1)
    pieces, swing = lot.pieces[b], 0.0
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
    for sine in lot.sines[b]:
        swing += abs(sine.amplitude)
        now += sine.amplitude * np.sin(sine.frequency * t + sine.phase)
    low, high = low - swing, high + swing
    rate = pieces[len(pieces) - 1].rate
    low = -np.inf if rate < 0.0 else low
    high = np.inf if rate > 0.0 else high
    masses, x = masses_of(lot.f[b]), motion_of(lot.f[b]).x
    for i in range(n):
        left = masses.stiffness[i] * (x[i] - (x[i - 1] if i > 0 else 0.0))
        right = masses.stiffness[i + 1] * ((x[i + 1] if i + 1 < n else 0.0) - x[i])
        drive = (right - left) + masses.share[i] * now - masses.plate_stiffness[i] * x[i]
        bound = lot.stick_bound[b, i] * (1.0 + 1e-12)
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
