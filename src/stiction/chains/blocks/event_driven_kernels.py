"""Event-driven integration of many chains, one after the other, in one call.

Each chain is integrated by the kernels of a single run (`event_driven.step_kernels`): Taylor series
of the motion, m x'' = R - mode mu N in slip and x' = V in stick; the roots of slip rates and stick
reserves mu_s N - |R| are the events (R: all forces but friction; V: speed of the belt). The results
agree to the last bit. A chain is left to a single run if it needs several calls of these kernels,
or if its slip rate or stick force grazes its threshold under friction with a jump. The caller is
`blocks.event_driven`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.blocks.replay_kernels import ReplayWork, replay
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

__all__ = ["Members", "Records", "solve_motions"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Members(NamedTuple):
    """Arrays of m chains of n masses, see `Stack`; `rate`, `response` as in `Problem`.

    Values per mass are (m, n), of links (m, n + 1), of a chain (m,); those of the load are (m,
    segments) or (m, sines).
    """

    masses: Floats
    link_stiffness: Floats
    link_damping: Floats
    load_weights: Floats
    plate_springs: Floats
    normal_forces: Floats
    x_start: Floats
    v_start: Floats
    mu_static: Floats
    mu_kinetic: Floats
    belt_speed: Floats
    plate_speed: Floats
    segment_time: Floats
    segment_offset: Floats
    segment_rate: Floats
    amplitude: Floats
    frequency: Floats
    phase: Floats
    rate: Floats
    response: Floats


class Records(NamedTuple):
    """Results of each chain.

    done : (m,) 1 if the chain reached the end, both samples were written, and no grazing was
        recorded
    saved : samples at the start and at the end, with a leading axis
    returned : (m,) heat that friction returned to the masses in steps [J]
    onset : (m, n) time of the first onset of slip of each mass, NaN for none
    stop_state : (m, n + 1) displacements [m] in which all masses stick up to the end, and last the
        time [s]; NaN if a mass slips at the end
    kinds : (m,) numbers of events of each kind
    counts : (m, 3) steps, series expansions, grazings
    replayed : (m, 2) largest difference between the run and its replay, a second integration that
        verifies it, and the limit of this difference; zero without a replay
    """

    done: npt.NDArray[np.int8]
    saved: Saved
    returned: Floats
    onset: Floats
    stop_state: Floats
    kinds: Table[Kinds]
    counts: Ints
    replayed: Floats


@kernel(nogil=True)
def solve_motions(
    p: Problem,
    members: Members,
    state: State,
    events: Events,
    s: Scratch,
    replay_work: ReplayWork,
    records: Records,
    span: tuple[float, float],
    most: tuple[int, int],
) -> None:
    """Integrate every chain from its start, and write its results.

    Parameters
    ----------
    p : numbers that the chains have in common; numbers that differ are read from `members`
    state, events, s, replay_work : work arrays of one chain
    span : start and end [s]
    most : steps and events beyond which a chain is left to a single run

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    now, end = state.progress[0], span[1]
    most_steps, most_events = most
    for b in range(members.masses.shape[0]):
        # views of the arrays of this chain, and the same initial state as in a single run
        q, saved = _problem(p, members, b), _saved_of(records.saved, b)
        _start(q, members, b, state, events, s, span)
        # stick or slip of each mass at the start, by the friction inclusion (`threshold_kernels`)
        first_modes(q, state)
        records.stop_state[b, :] = np.nan
        events_at_rest = -1
        code = ALL_STUCK
        # the kernel returns when all masses stick, and continues to the end
        while code == ALL_STUCK and now.steps < most_steps:
            left = most_steps - now.steps
            code = advance(q, state, saved, events, s, end, left, most_events)
            if code == ALL_STUCK:
                # not reported again for the same equilibrium
                now.rest_seen = 1
                events_at_rest = now.events
                _record_equilibrium(state, records.stop_state, b)
        if events_at_rest != now.events:
            # a later event disproves that all masses stuck for good
            records.stop_state[b, :] = np.nan
        # at a grazing the future may not be unique; the single run reports the loss
        good = code == DONE and (now.touch_rows == 0)
        records.done[b] = 1 if good else 0
        # chains with recorded grazing are solved again by single runs
        if good:
            _record(state, events, records, b)
            # second integration by another algorithm, the audit line `replay_agrees`
            replay(q, state, saved, events, replay_work, records.replayed, b)


@kernel
def _problem(p: Problem, members: Members, b: int) -> Problem:
    """Return the problem of chain b."""
    # fields by position: numbers of the chain from `members`, common ones from `p`
    return Problem(
        members.masses[b],
        members.link_stiffness[b],
        members.link_damping[b],
        members.load_weights[b],
        members.plate_springs[b],
        members.plate_speed[b],
        members.normal_forces[b],
        members.mu_static[b],
        members.mu_kinetic[b],
        p.law_start,
        p.law_step,
        p.constant,
        p.jump,
        p.fitted,
        members.belt_speed[b],
        members.segment_time[b],
        members.segment_offset[b],
        members.segment_rate[b],
        members.amplitude[b],
        members.frequency[b],
        members.phase[b],
        p.load_address,
        p.mu_address,
        p.share_address,
        members.rate[b],
        p.order,
        p.tolerance,
        p.fit_tolerance,
        p.longest_fit,
        p.longest,
        p.start,
        members.response[b],
        p.slip_after,
        p.slip_before,
    )


@kernel(views=True)
def _saved_of(members: Any, b: int) -> Saved:
    """Return the saved states of chain b."""
    sums = members.kinetic[b], members.stored[b], members.work[b], members.viscous[b]
    x, v, mode, friction = members.x[b], members.v[b], members.mode[b], members.friction[b]
    return Saved(members.time, x, v, mode, friction, *sums, members.heat[b])


@kernel
def _start(
    p: Problem,
    members: Members,
    b: int,
    state: State,
    events: Events,
    s: Scratch,
    span: tuple[float, float],
) -> None:
    """Set the initial state of chain b, and clear all work arrays."""
    now = state.progress[0]
    n = p.mass.size
    # progress, state and work arrays as in `event_driven.run`, where a single run starts: the same
    # lengths of the first fit (0.25) and of the first step (1), in tau
    now.time, now.tau, now.gap = span[0], 0.25, 1.0
    now.work = now.viscous = now.given = now.given_time = 0.0
    now.piece = now.saved = now.events = now.touch_rows = now.still = 0
    now.steps = now.expansions = now.touches = now.rest_seen = 0
    # the ghosts at both ends, x[0] and x[n + 1], are walls at rest
    state.x[:] = 0.0
    state.v[:] = 0.0
    for i in range(n):
        state.x[i + 1], state.v[i + 1] = members.x_start[b, i], members.v_start[b, i]
        state.mode[i] = state.shown[i] = state.lead[i] = state.side[i] = state.band[i] = 0
        state.heat[i] = 0.0
        s.root[i] = s.grazing[i] = s.length[i] = s.undecided_from[i] = np.inf
        s.active[i] = s.decision[i] = s.started[i] = 0
    # series and error bounds of the chain before
    s.x[:, :] = 0.0
    s.drive[:, :] = 0.0
    s.mu[:, :] = 0.0
    s.heat[:, :] = 0.0
    s.bernstein[:, :] = 0.0
    for row in (s.load, s.work, s.viscous, s.fit, s.poly, s.norm, s.xs, s.vs):
        row[:] = 0.0
    events.track.filled[0] = 0


@kernel
def _record_equilibrium(state: State, stop_state: Floats, b: int) -> None:
    """Record displacements and time at which all masses stick."""
    n = state.mode.size
    for i in range(n):
        stop_state[b, i] = state.x[i + 1]
    stop_state[b, n] = state.progress[0].time


@kernel
def _record(state: State, events: Events, records: Records, b: int) -> None:
    """Write the results of a chain that reached the end."""
    now = state.progress[0]
    records.returned[b] = now.given
    kinds = records.kinds[b]
    kinds.slip = kinds.stick = kinds.reverse = 0
    records.onset[b, :] = np.nan
    # counts by kind, and first onsets of slip
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
    # valid only if both samples are written
    records.done[b] = 1 if now.saved == 2 else 0
