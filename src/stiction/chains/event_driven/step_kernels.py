"""From event to event: who slips, who sticks, when, and the state in between.

A step ends at the first of: an event, a breakpoint of the load, the reach of the series.
Events are roots of polynomials: the slip rate of a moving mass, the reserve of a stuck
one. What a mass does next is decided from its drive R, which no acceleration enters
because the mass matrix is diagonal; at a tie, from the first coefficient that differs
from zero.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven import plain_steps
from stiction.chains.event_driven.event_kernels import TIE, first_events
from stiction.chains.event_driven.records import (
    column,
    drive_at,
    drive_of,
    record_events,
    save_now,
    save_rest,
    save_until,
)
from stiction.chains.event_driven.root_kernels import leading_zeros, root_from, slip_series
from stiction.chains.event_driven.series_kernels import (
    evaluate,
    expand,
    fit_forces,
    load_at,
    load_series,
    power_series,
)
from stiction.chains.event_driven.state import (
    EXPANSIONS,
    GAP,
    N_EVENTS,
    N_TOUCH,
    PIECE,
    REST_SEEN,
    STEPS,
    STILL,
    TAU,
    TIME,
    VISCOUS,
    WORK,
    Events,
    Problem,
    Saved,
    Scratch,
    State,
)
from stiction.chains.event_driven.track_kernels import track_full, track_state, track_step
from stiction.numerics.jit import kernel
from stiction.numerics.locate import horner

__all__ = [
    "ALL_STUCK",
    "DONE",
    "EVENTS_FULL",
    "NOT_FINITE",
    "PAUSE",
    "STALLED",
    "STEP_VANISHED",
    "advance",
    "advance_fitted",
    "first_modes",
    "save_now",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DONE, PAUSE, EVENTS_FULL, ALL_STUCK, NOT_FINITE, STEP_VANISHED, STALLED = 0, 1, 2, 3, 4, 5, 6

_FROZEN = 9
# the longest step in units of the fastest vibration
_FARTHEST = 1e8
# a fitted drive counts as beyond its bound from this excess on
_FIT_TIE = 1e-9


@kernel
def advance(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    t_end: float,
    steps: int,
    room: int,
) -> int:
    """Advance the chain by at most `steps` steps or `room` events; return why it came back."""
    for _ in range(steps):
        code, limit, reach = _begin(p, state, saved, events, t_end, room)
        if code == PAUSE:
            count = _settle(p, state, s, reach, events)
            code = _finish(p, state, saved, events, s, count, limit, reach)
        if code != PAUSE:
            return code
    return PAUSE


@kernel
def advance_fitted(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    t_end: float,
    steps: int,
    room: int,
) -> int:
    """Advance a chain with a user's load or a law without a series; as `advance` otherwise.

    It stands by itself so that chains without do not compile what they never call.
    """
    for _ in range(steps):
        code, limit, reach = _begin(p, state, saved, events, t_end, room)
        if code == PAUSE:
            count = _settle_fitted(p, state, s, reach, events)
            if count < 0:
                return STEP_VANISHED
            code = _finish(p, state, saved, events, s, count, limit, reach)
        if code != PAUSE:
            return code
    return PAUSE


@kernel(borrows=True)
def _begin(
    p: Problem, state: State, saved: Saved, events: Events, t_end: float, room: int
) -> tuple[int, float, float]:
    """Return why a step cannot begin, PAUSE if it can, its latest end and that in tau."""
    counter, n, t = state.counter, p.mass.size, state.clock[TIME]
    full = counter[N_EVENTS] + n > events.time.size
    full = full or counter[N_TOUCH] + 3 * n > events.touch.shape[0]
    full = full or track_full(events.track)
    if full or (counter[N_EVENTS] >= room and t < t_end):
        return EVENTS_FULL, t, 0.0
    if t >= t_end:
        record_events(p, state, events, t)
        track_state(state, events.track, t)
        save_rest(p, state, saved, t_end)
        return DONE, t, 0.0
    limit = _next_border(p, state, t, t_end)
    reach = (limit - t) * p.rate
    if reach > _FARTHEST:
        # powers of tau up to the order of the series must stay finite numbers
        reach = _FARTHEST
        limit = t + reach / p.rate
    return PAUSE, limit, reach


@kernel(borrows=True)
def _finish(
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    s: Scratch,
    count: int,
    limit: float,
    reach: float,
) -> int:
    """Go along the series of a step to its end; return PAUSE, or why the run has to stop."""
    clock, counter = state.clock, state.counter
    n, t = p.mass.size, clock[TIME]
    record_events(p, state, events, t)
    if counter[REST_SEEN] == 0 and _all_stuck(state.mode):
        return ALL_STUCK
    tau = min(reach, _reach_of_series(p, s, count, reach, clock[TAU]))
    # search a little past the last gap first: near events make far ones irrelevant,
    # and on a short stretch most masses are excluded by one look at their series
    horizon = min(tau, 4.0 * clock[GAP])
    first, last_grouped = first_events(p, state, s, count, horizon, t, events)
    while first > horizon and horizon < tau:
        horizon = min(tau, 8.0 * horizon)
        first, last_grouped = first_events(p, state, s, count, horizon, t, events)
    if first <= tau:
        tau = first
    clock[GAP] = max(tau, 1e-3)
    t_new = limit if tau >= reach else t + tau / p.rate
    power_series(p, t, s.active, count, state.mode, s)
    save_until(p, state, saved, s, count, t, t_new)
    track_step(p, state, events.track, s, count, t, tau)
    _move_on(p, state, s, count, tau)
    counter[STILL] = counter[STILL] + 1 if t_new == t else 0
    if counter[STILL] > 4 * n + 100:
        return STALLED
    clock[TIME] = t_new
    counter[STEPS] += 1
    for i in range(n):
        state.lead[i] = 0
    if first <= tau:
        _arrive(p, state, s, count, t_new, last_grouped)
    size = 0.0
    for c in range(n + 2):
        size += state.x[c] + state.v[c]
    return PAUSE if np.isfinite(size) else NOT_FINITE


@kernel(borrows=True)
def _next_border(p: Problem, state: State, t: float, t_end: float) -> float:
    counter = state.counter
    while counter[PIECE] + 1 < p.piece_time.size and p.piece_time[counter[PIECE] + 1] <= t:
        counter[PIECE] += 1
    limit = min(t_end, t + p.longest)
    if counter[PIECE] + 1 < p.piece_time.size:
        limit = min(limit, p.piece_time[counter[PIECE] + 1])
    return limit


@kernel(plain=plain_steps.active, borrows=True)
def _active(p: Problem, state: State, s: Scratch) -> int:
    """List the masses whose motion or drive changes with time."""
    n = p.mass.size
    load_varies = False
    for k in range(1, s.load.size):
        load_varies = load_varies or s.load[k] != 0.0
    load_varies = load_varies or p.load_address != 0
    count = 0
    for i in range(n):
        lively = state.mode[i] != 0 or p.belt != 0.0
        lively = lively or (i > 0 and state.mode[i - 1] != 0)
        lively = lively or (i + 1 < n and state.mode[i + 1] != 0)
        lively = lively or (load_varies and p.share[i] != 0.0)
        lively = lively or (p.plate_k[i] != 0.0 and p.plate_speed != 0.0)
        if lively:
            s.active[count] = i
            count += 1
    return count


@kernel(borrows=True)
def _settle(p: Problem, state: State, s: Scratch, reach: float, events: Events) -> int:
    """Decide the modes, expand the series, and return the number of active masses.

    A mass that was just released must move the way it was pushed, and one at the edge of
    stick must turn inward; if a neighbour's change at the same instant says otherwise its
    mode is taken back.
    """
    count, t = 0, state.clock[TIME]
    _mark_ties(p, state, t)
    for _ in range(2 * p.mass.size + 4):
        count = _lay_out(p, state, s, t)
        expand(p, t, s.active, count, state.mode, state.lead, s)
        if not _take_back(p, state, s, count, reach):
            break
    if p.jump:
        _note_corners(p, state, s, count, t, events)
    return count


@kernel(borrows=True)
def _settle_fitted(p: Problem, state: State, s: Scratch, reach: float, events: Events) -> int:
    """Do as `_settle` with a user's functions; -1 where they need a vanishing step."""
    count, t = 0, state.clock[TIME]
    _mark_ties(p, state, t)
    for _ in range(2 * p.mass.size + 4):
        count = _lay_out(p, state, s, t)
        if not _fit_step(p, state, s, t, reach, count):
            return -1
        if not _take_back(p, state, s, count, reach):
            break
    if p.jump:
        _note_corners(p, state, s, count, t, events)
    return count


@kernel(borrows=True)
def _lay_out(p: Problem, state: State, s: Scratch, t: float) -> int:
    """Write where the series of the active masses begin and return the number of these."""
    load_series(p, t, state.counter[PIECE], s.load)
    count = _active(p, state, s)
    _start_series(p, state, s, count)
    state.counter[EXPANSIONS] += 1
    return count


@kernel(plain=plain_steps.start_series, borrows=True)
def _start_series(p: Problem, state: State, s: Scratch, count: int) -> None:
    for c in range(p.mass.size + 2):
        s.x[0, c] = state.x[c]
        s.x[1, c] = state.v[c] / p.rate
    for a in range(count):
        # neighbours too: a quiet one enters the stencil and must not show old motion
        for c in range(s.active[a], s.active[a] + 3):
            for k in range(2, p.order + 1):
                s.x[k, c] = 0.0


@kernel(borrows=True)
def _mark_ties(p: Problem, state: State, t: float) -> None:
    """Mark stuck masses whose drive equals their bound: their series decide, not rounding."""
    load = load_at(p, t, state.counter[PIECE])
    for i in range(p.mass.size):
        if state.mode[i] == 0 and state.lead[i] == 0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            if abs(drive) >= p.mu_static[i] * p.normal[i] * (1.0 - TIE):
                state.lead[i] = 1
                state.side[i] = 1 if drive > 0.0 else -1


@kernel(borrows=True)
def _note_corners(
    p: Problem, state: State, s: Scratch, count: int, t: float, events: Events
) -> None:
    """Note grazes at a border of steps: a drive at the static bound that turns inward."""
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0 or state.lead[i] != 1:
            continue
        for k in range(p.order - 1):
            s.poly[k] = state.side[i] * s.drive[k, i]
        k = leading_zeros(s.poly, 1, p.order - 1, 1.0)
        row = state.counter[N_TOUCH]
        last = row > 0 and events.touch[row - 1, 1] == i and events.touch[row - 1, 0] > t - 1e-9
        if k < p.order - 1 and s.poly[k] < 0.0 and not last and p.normal[i] > 0.0:
            events.touch[row, 0] = t
            events.touch[row, 1] = i
            state.counter[N_TOUCH] += 1


@kernel(borrows=True)
def _fit_step(p: Problem, state: State, s: Scratch, t: float, reach: float, count: int) -> bool:
    """Expand with a user's functions on the longest step that fits; whether one was found."""
    tau = min(reach, 2.0 * state.clock[TAU], p.longest_fit)
    for _ in range(80):
        misfit = fit_forces(p, t, tau, s.active, count, state.mode, state.lead, s)
        if misfit <= p.fit_tolerance:
            state.clock[TAU] = tau
            return True
        # when a mass stops on the way, fit up to a little beyond that moment
        stop = np.inf
        if np.isfinite(misfit) and p.fitted:
            for a in range(count):
                if state.mode[s.active[a]] != 0:
                    stop = min(stop, _stop_root(p, state, s, s.active[a], tau))
        tau = 1.002 * stop if 0.0 < stop < 0.97 * tau else 0.5 * tau
        load_series(p, t, state.counter[PIECE], s.load)
    return False


@kernel(borrows=True)
def _stop_root(p: Problem, state: State, s: Scratch, i: int, tau: float) -> float:
    """Return the first tau at which moving mass i stops, inf for none."""
    size = slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
    start = leading_zeros(s.poly, state.lead[i], size, tau) if state.lead[i] > 0 else 0
    return root_from(s.poly, s.bernstein, start, size, tau)


@kernel(borrows=True)
def _take_back(p: Problem, state: State, s: Scratch, count: int, reach: float) -> bool:
    """Correct one mode that contradicts its own series; return whether one was changed."""
    fitted = p.fitted or p.load_address != 0
    scale = state.clock[TAU] if fitted else 1.0
    size = p.order - 1
    for a in range(count):
        i = s.active[a]
        bound = p.mu_static[i] * p.normal[i]
        if state.mode[i] != 0 and state.lead[i] >= 2:
            length = slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
            k = leading_zeros(s.poly, 2, length, scale)
            if k < length and s.poly[k] < 0.0:
                state.side[i] = state.mode[i]
                state.mode[i] = 0
                state.lead[i] = _FROZEN
                return True
        elif state.mode[i] == 0 and state.lead[i] != _FROZEN:
            if abs(s.drive[0, i]) > bound * (1.0 + (_FIT_TIE if fitted else TIE)):
                # the load jumped: the mass is beyond its bound from the first moment
                state.mode[i] = 1 if s.drive[0, i] > 0.0 else -1
                state.lead[i] = 1
                return True
            if state.lead[i] == 1 and _leaves_its_edge(p, state, s, i, bound, scale, reach, size):
                state.mode[i] = state.side[i]
                state.lead[i] = 1 if p.jump else 2
                return True
    return False


@kernel(borrows=True)
def _leaves_its_edge(
    p: Problem,
    state: State,
    s: Scratch,
    i: int,
    bound: float,
    scale: float,
    reach: float,
    size: int,
) -> bool:
    """Return whether a stuck mass whose drive equals its bound is pushed beyond it."""
    for k in range(size):
        s.poly[k] = state.side[i] * s.drive[k, i]
    s.poly[0] = bound
    k = leading_zeros(s.poly, 1, size, scale)
    if k == size:
        return False
    if bound == 0.0 and s.poly[k] < 0.0:
        # without friction any push moves the mass, whichever way it points
        state.side[i] = -state.side[i]
        s.poly[k] = -s.poly[k]
    if s.poly[k] < 0.0:
        return False
    if not p.jump:
        return True
    # with a jump a touch must not release: the drive has to rise beyond rounding
    tau = min(reach, scale)
    for j in range(size):
        s.poly[j] = -state.side[i] * s.drive[j, i]
    s.poly[0] = bound * TIE
    return root_from(s.poly, s.bernstein, 0, size, tau) <= tau


@kernel(borrows=True)
def _reach_of_series(p: Problem, s: Scratch, count: int, reach: float, fitted: float) -> float:
    """Return how far in tau the series hold to the tolerance."""
    if p.fitted or p.load_address != 0:
        reach = min(reach, fitted)
    top = p.order
    norm = s.norm
    _norms(s.x, s.active, count, top, norm)
    load_size = 0.0
    for k in range(p.order):
        load_size = max(load_size, abs(s.load[k]))
    # beyond about 4 the terms of an oscillation grow before they fall and cost digits
    tau = min(reach, 4.0) if norm[top] > 0.0 or norm[top - 1] > 0.0 else reach
    for _ in range(3):
        size, power = 0.0, 1.0
        for k in range(1, top // 2 + 1):
            power *= tau
            size = max(size, norm[k] * power)
        for k in (top - 1, top):
            if norm[k] > 0.0:
                tau = min(tau, (p.tolerance * size / norm[k]) ** (1.0 / k))
    # the load of stuck masses must hold too: its sines are cut at the same order
    for k in (top - 3, top - 2):
        if k > 1 and s.load[k] != 0.0 and p.load_address == 0:
            tau = min(tau, (p.tolerance * load_size / abs(s.load[k])) ** (1.0 / k))
    return tau


@kernel(plain=plain_steps.norms, borrows=True)
def _norms(x: Floats, active: Ints, count: int, top: int, norm: Floats) -> None:
    """Write the largest coefficient of each order."""
    for k in range(top + 1):
        norm[k] = 0.0
        for a in range(count):
            norm[k] = max(norm[k], abs(x[k, active[a] + 1]))


@kernel(borrows=True)
def _move_on(p: Problem, state: State, s: Scratch, count: int, tau: float) -> None:
    evaluate(p, tau, s.active, count, s, state.x, state.v)
    size = 2 * p.order + 1
    state.clock[WORK] += horner(s.work, size, tau)
    state.clock[VISCOUS] += horner(s.viscous, size, tau)
    _heat_up(state, s, count, size, tau)


@kernel(plain=plain_steps.heat_up, borrows=True)
def _heat_up(state: State, s: Scratch, count: int, size: int, tau: float) -> None:
    """Add the friction heat of a step to every moving mass."""
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0:
            state.heat[i] += column(s.heat, i, size, tau)


@kernel(borrows=True)
def _arrive(p: Problem, state: State, s: Scratch, count: int, t: float, group: float) -> None:
    """Apply the events of one instant: first all stops, then every decision."""
    for a in range(count):
        i = s.active[a]
        if s.root[i] <= group and state.mode[i] != 0:
            state.v[i + 1] = p.belt
    for a in range(count):
        i = s.active[a]
        if s.root[i] > group:
            continue
        drive = drive_at(p, state, t, i)
        bound = p.mu_static[i] * p.normal[i]
        if state.mode[i] == 0:
            # at its bound, to rounding: the series after this instant decide
            state.side[i] = 1 if drive > 0.0 else -1
            state.lead[i] = 1
        else:
            _decide(p, state, i, drive, bound)


@kernel(borrows=True)
def _decide(p: Problem, state: State, i: int, drive: float, bound: float) -> None:
    """Set the mode of a mass at rest on its surface from its drive."""
    state.side[i] = 1 if drive > 0.0 else -1
    if abs(drive) > bound * (1.0 + TIE):
        state.mode[i] = state.side[i]
        state.lead[i] = 1
    else:
        state.mode[i] = 0
        state.lead[i] = 1 if abs(drive) >= bound * (1.0 - TIE) else 0


@kernel(borrows=True)
def _all_stuck(mode: Ints) -> bool:
    stuck = True
    for i in range(mode.size):
        stuck = stuck and mode[i] == 0
    return stuck


@kernel
def first_modes(p: Problem, state: State) -> None:
    """Set the modes at the start from the velocities and drives."""
    for i in range(p.mass.size):
        w = state.v[i + 1] - p.belt
        state.shown[i] = 0
        if w != 0.0:
            state.mode[i] = 1 if w > 0.0 else -1
            state.shown[i] = state.mode[i]
        else:
            drive = drive_at(p, state, state.clock[TIME], i)
            _decide(p, state, i, drive, p.mu_static[i] * p.normal[i])
