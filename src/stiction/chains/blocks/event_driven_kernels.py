"""From event to event through the motions of many chains, one after the other, in one call.

Each motion is that of `EventDriven` alone, by the same kernels and to the same bits. What takes
several calls of these kernels, or is looked at by people, is left to runs of single chains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.blocks.replay_kernels import Second, replay
from stiction.chains.event_driven.state import (
    Events,
    Problem,
    Saved,
    Scratch,
    State,
)
from stiction.chains.event_driven.step_kernels import ALL_STUCK, DONE, advance, first_modes
from stiction.chains.outcome import Kinds
from stiction.numerics.arrays import Table
from stiction.numerics.jit import kernel

__all__ = ["Many", "Records", "solve_motions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Many(NamedTuple):
    """The chains, see `Stack`; `rate` and `response` as in `Problem`, (m,) and (m, n)."""

    masses: Floats
    link_stiffness: Floats
    link_damping: Floats
    load_shares: Floats
    plate_springs: Floats
    normal_forces: Floats
    x_start: Floats
    v_start: Floats
    mu_static: Floats
    mu_kinetic: Floats
    belt_speed: Floats
    plate_speed: Floats
    piece_time: Floats
    piece_offset: Floats
    piece_rate: Floats
    amplitude: Floats
    frequency: Floats
    phase: Floats
    rate: Floats
    response: Floats


class Records(NamedTuple):
    """What is recorded of each motion.

    done : (m,) 1 where it came to its end and nothing was left undecided
    saved : as of one motion, with a row for each; the start and the end
    given : (m,) heat that friction gave back in steps [J]
    onset : (m, n) time of the first event in which each mass slips, NaN for none
    rest : (m, n + 1) where all masses stick from then on: their places, and last the time; NaN
        where something moves at the end
    kinds : (m,) numbers of events
    counts : (m, 3) steps, expansions, touches
    replayed : (m, 2) by how much a second look differs, and the limit; zero without one
    """

    done: npt.NDArray[np.int8]
    saved: Saved
    given: Floats
    onset: Floats
    rest: Floats
    kinds: Table[Kinds]
    counts: Ints
    replayed: Floats


@kernel(nogil=True)
def solve_motions(
    p: Problem,
    many: Many,
    state: State,
    events: Events,
    s: Scratch,
    second: Second,
    records: Records,
    span: tuple[float, float],
    most: tuple[int, int],
) -> None:
    """Solve every motion from the start of its chain and write what is recorded of it.

    Parameters
    ----------
    p : what the chains have in common; its other numbers are not read
    state, events, s, second : work space of one chain
    span : start and end [s]
    most : steps and events beyond which a chain is left to itself

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    now = state.progress[0]
    for b in range(many.masses.shape[0]):
        q, saved = _problem(p, many, b), _saved_of(records.saved, b)
        _start(q, many, b, state, events, s, span)
        first_modes(q, state)
        records.rest[b, :] = np.nan
        at_rest = -1
        code = ALL_STUCK
        while code == ALL_STUCK and now.steps < most[0]:
            left = most[0] - now.steps
            code = advance(q, state, saved, events, s, span[1], left, most[1])
            if code == ALL_STUCK:
                now.rest_seen = 1
                at_rest = now.events
                _note_rest(state, records.rest, b)
        if at_rest != now.events:
            # what moved afterwards did not rest for good
            records.rest[b, :] = np.nan
        good = code == DONE and (now.touch_rows == 0)
        records.done[b] = 1 if good else 0
        if good:
            _record(state, events, records, b)
            replay(q, state, saved, events, second, records.replayed, b)


@kernel
def _problem(p: Problem, many: Many, b: int) -> Problem:
    """Return the problem of chain b."""
    return Problem(
        many.masses[b],
        many.link_stiffness[b],
        many.link_damping[b],
        many.load_shares[b],
        many.plate_springs[b],
        many.plate_speed[b],
        many.normal_forces[b],
        many.mu_static[b],
        many.mu_kinetic[b],
        p.law_start,
        p.law_step,
        p.constant,
        p.jump,
        p.fitted,
        many.belt_speed[b],
        many.piece_time[b],
        many.piece_offset[b],
        many.piece_rate[b],
        many.amplitude[b],
        many.frequency[b],
        many.phase[b],
        p.load_address,
        p.mu_address,
        p.share_address,
        many.rate[b],
        p.order,
        p.tolerance,
        p.fit_tolerance,
        p.longest_fit,
        p.longest,
        p.start,
        many.response[b],
        p.slip_after,
        p.slip_before,
    )


@kernel(views=True)
def _saved_of(many: Any, b: int) -> Saved:
    """Return the saved states of chain b."""
    sums = many.kinetic[b], many.stored[b], many.work[b], many.viscous[b]
    x, v, mode, friction = many.x[b], many.v[b], many.mode[b], many.friction[b]
    return Saved(many.time, x, v, mode, friction, *sums, many.heat[b])


@kernel
def _start(
    p: Problem,
    many: Many,
    b: int,
    state: State,
    events: Events,
    s: Scratch,
    span: tuple[float, float],
) -> None:
    """Stand at the start of chain b, with all work space as it was made."""
    now = state.progress[0]
    n = p.mass.size
    now.time, now.tau, now.gap = span[0], 0.25, 1.0
    now.work = now.viscous = now.given = now.given_time = 0.0
    now.piece = now.saved = now.events = now.touch_rows = now.still = 0
    now.steps = now.expansions = now.touches = now.rest_seen = 0
    state.x[:] = 0.0
    state.v[:] = 0.0
    for i in range(n):
        state.x[i + 1], state.v[i + 1] = many.x_start[b, i], many.v_start[b, i]
        state.mode[i] = state.shown[i] = state.lead[i] = state.side[i] = state.band[i] = 0
        state.heat[i] = 0.0
        s.root[i] = s.touch[i] = s.length[i] = s.open[i] = np.inf
        s.active[i] = s.corner[i] = s.started[i] = 0
    s.x[:, :] = 0.0
    s.drive[:, :] = 0.0
    s.mu[:, :] = 0.0
    s.heat[:, :] = 0.0
    s.bernstein[:, :] = 0.0
    for row in (s.load, s.work, s.viscous, s.fit, s.poly, s.norm, s.xs, s.vs):
        row[:] = 0.0
    events.track.filled[0] = 0


@kernel
def _note_rest(state: State, rest: Floats, b: int) -> None:
    """Note where and when all masses stick."""
    n = state.mode.size
    for i in range(n):
        rest[b, i] = state.x[i + 1]
    rest[b, n] = state.progress[0].time


@kernel
def _record(state: State, events: Events, records: Records, b: int) -> None:
    """Write what is recorded of a motion that came to its end."""
    now = state.progress[0]
    records.given[b] = now.given
    kinds = records.kinds[b]
    kinds.slip = kinds.stick = kinds.reverse = 0
    records.onset[b, :] = np.nan
    for e in range(now.events):
        i = events.mass[e]
        if events.before[e] == 0:
            kinds.slip += 1
            if np.isnan(records.onset[b, i]):
                records.onset[b, i] = events.time[e]
        elif events.after[e] == 0:
            kinds.stick += 1
        else:
            kinds.reverse += 1
    records.counts[b, 0] = now.steps
    records.counts[b, 1] = now.expansions
    records.counts[b, 2] = now.touches
    # both rows were written: a run that came to its end has no other
    records.done[b] = 1 if now.saved == 2 else 0
