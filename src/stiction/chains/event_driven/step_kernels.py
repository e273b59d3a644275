"""From event to event: who slips, who sticks, when, and the state in between.

A step ends at the first of: an event, a breakpoint of the load, the reach of the series.
Events are roots of polynomials: the slip rate of a moving mass, the reserve of a stuck
one. What a mass does next is decided from its drive R, which no acceleration enters
because the mass matrix is diagonal; at a tie, from the first coefficient that differs
from zero.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.event_kernels import first_events
from stiction.chains.event_driven.records import (
    column,
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
    OF_BOUND,
    OF_SLIP,
    Events,
    Problem,
    Progress,
    Saved,
    Scratch,
    State,
)
from stiction.chains.event_driven.threshold_kernels import (
    FROZEN,
    HELD,
    OPEN,
    decide_ties,
    force_size,
    jumps,
    mark_ties,
    place,
    plain_ties,
)
from stiction.chains.event_driven.track_kernels import track_full, track_state, track_step
from stiction.numerics.event_localisation import horner
from stiction.numerics.jit import kernel

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

# the longest step in units of the fastest vibration
_FARTHEST = 1e8
# the logarithm of a share of friction that is nothing
_LOG_NOTHING = -40.0
# a fitted drive counts as beyond its bound from this excess on
_FIT_TIE = 1e-9
# terms of a fitted load below this share of its size on the step are its misfit
_FIT_NOISE = 1e-12


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
            count = _settle(p, state, s)
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
            count = _settle_fitted(p, state, s, reach)
            if count < 0:
                return STEP_VANISHED
            code = _finish(p, state, saved, events, s, count, limit, reach)
        if code != PAUSE:
            return code
    return PAUSE


@kernel(separate=True)
def _begin(
    p: Problem, state: State, saved: Saved, events: Events, t_end: float, room: int
) -> tuple[int, float, float]:
    """Return why a step cannot begin, PAUSE if it can, its latest end and that in tau."""
    now = state.progress[0]
    n, t = p.mass.size, now.time
    full = now.events + n > events.time.size
    full = full or now.touch_rows + 3 * n > len(events.touch)
    full = full or track_full(events.track)
    if full or (now.events >= room and t < t_end):
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


@kernel(separate=True)
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
    now = state.progress[0]
    n, t = p.mass.size, now.time
    record_events(p, state, events, t)
    if now.rest_seen == 0 and _all_stuck(state.mode):
        return ALL_STUCK
    if p.jump:
        _note_corners(p, state, s, t, events)
    tau = min(reach, _reach_of_series(p, s, count, reach, now.tau))
    if p.share_address != 0:
        tau = _reach_of_share(p, state.mode, s, count, tau)
    # search a little past the last gap first: near events make far ones irrelevant,
    # and on a short stretch most masses are excluded by one look at their series
    horizon = min(tau, 4.0 * now.gap)
    first, last_grouped = first_events(p, state, s, count, horizon, t)
    while first > horizon and horizon < tau:
        horizon = min(tau, 8.0 * horizon)
        first, last_grouped = first_events(p, state, s, count, horizon, t)
    if first <= tau:
        tau = first
        if reach - tau <= 1e-13 * max(1.0, reach) + 4e-16 * abs(t) * p.rate:
            # at the border, to rounding: what comes after it decides
            tau = reach
            last_grouped = max(last_grouped, reach)
    _note_touches(p, state, s, count, tau, last_grouped, events)
    now.gap = max(tau, 1e-3)
    t_new = limit if tau >= reach else t + tau / p.rate
    power_series(p, t, s.active, count, state.mode, s)
    save_until(p, state, saved, s, count, t, t_new)
    track_step(p, state, events.track, s, count, t, tau)
    _move_on(p, state, s, count, tau)
    now.still = now.still + 1 if t_new == t else 0
    if now.still > 4 * n + 100:
        return STALLED
    now.time = t_new
    now.steps += 1
    for i in range(n):
        s.started[i] = 1 if state.mode[i] != 0 and state.lead[i] > 0 else 0
        s.corner[i] = 0
        state.lead[i] = 0
    if first <= tau:
        _arrive(p, state, s, count, t_new, last_grouped)
    size = 0.0
    for c in range(n + 2):
        size += state.x[c] + state.v[c]
    return PAUSE if np.isfinite(size) else NOT_FINITE


@kernel
def _next_border(p: Problem, state: State, t: float, t_end: float) -> float:
    now = state.progress[0]
    _find_piece(p, state, t)
    limit = min(t_end, t + p.longest)
    if now.piece + 1 < p.piece_time.size:
        limit = min(limit, p.piece_time[now.piece + 1])
    return limit


@kernel
def _find_piece(p: Problem, state: State, t: float) -> None:
    """Advance to the piece of the load that holds at time t."""
    now = state.progress[0]
    while now.piece + 1 < p.piece_time.size and p.piece_time[now.piece + 1] <= t:
        now.piece += 1


@kernel
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


@kernel
def _settle(p: Problem, state: State, s: Scratch) -> int:
    """Decide the modes, expand the series, and return the number of active masses."""
    t = state.progress[0].time
    ties = mark_ties(p, state, t)
    count = _lay_out(p, state, s, t)
    expand(p, t, s.active, count, state.mode, state.lead, s)
    found = plain_ties(p, state, s, count, t, ties) if ties > 0 else HELD
    if found == OPEN:
        decide_ties(p, state, s, t, 0.0)
    if found != HELD:
        count = _lay_out(p, state, s, t)
        expand(p, t, s.active, count, state.mode, state.lead, s)
    return count


@kernel
def _settle_fitted(p: Problem, state: State, s: Scratch, reach: float) -> int:
    """Do as `_settle` with a user's functions; -1 where they need a vanishing step."""
    t = state.progress[0].time
    for _ in range(p.mass.size + 2):
        ties = mark_ties(p, state, t)
        count = _lay_out(p, state, s, t)
        if not _fit_step(p, state, s, t, reach, count):
            return -1
        if _let_go(p, state, s, count):
            continue
        if ties == 0:
            return count
        if not decide_ties(p, state, s, t, _FIT_NOISE):
            break
    # the ties used the same arrays; the fits stand
    _start_series(p, state, s, count)
    expand(p, t, s.active, count, state.mode, state.lead, s)
    return count


@kernel
def _let_go(p: Problem, state: State, s: Scratch, count: int) -> bool:
    """Let go the masses that a load holds beyond their bound just after it jumped; say if any."""
    gone = False
    for a in range(count):
        i = s.active[a]
        bound = p.mu_static[i] * p.normal[i]
        beyond = bound > 0.0 and abs(s.drive[0, i]) > bound * (1.0 + _FIT_TIE)
        if beyond and state.mode[i] == 0 and state.lead[i] != FROZEN:
            state.mode[i] = 1 if s.drive[0, i] > 0.0 else -1
            state.lead[i] = 1
            gone = True
    return gone


@kernel
def _lay_out(p: Problem, state: State, s: Scratch, t: float) -> int:
    """Write where the series of the active masses begin and return the number of these."""
    now = state.progress[0]
    load_series(p, t, now.piece, s.load)
    count = _active(p, state, s)
    _start_series(p, state, s, count)
    now.expansions += 1
    return count


@kernel
def _start_series(p: Problem, state: State, s: Scratch, count: int) -> None:
    for c in range(p.mass.size + 2):
        s.x[0, c] = state.x[c]
        s.x[1, c] = state.v[c] / p.rate
    for a in range(count):
        # neighbours too: a quiet one enters the stencil and must not show old motion
        for c in range(s.active[a], s.active[a] + 3):
            for k in range(2, p.order + 1):
                s.x[k, c] = 0.0


@kernel
def _fit_step(p: Problem, state: State, s: Scratch, t: float, reach: float, count: int) -> bool:
    """Expand with a user's functions on the longest step that fits; whether one was found."""
    now = state.progress[0]
    tau = min(reach, 2.0 * now.tau, p.longest_fit)
    for _ in range(80):
        misfit = fit_forces(p, t, tau, s.active, count, state.mode, state.lead, s)
        if misfit <= p.fit_tolerance:
            now.tau = tau
            return True
        # when a mass stops on the way, fit up to a little beyond that moment
        stop = np.inf
        if np.isfinite(misfit) and p.fitted:
            for a in range(count):
                if state.mode[s.active[a]] != 0:
                    stop = min(stop, _stop_root(p, state, s, s.active[a], tau))
        tau = 1.002 * stop if 0.0 < stop < 0.97 * tau else 0.5 * tau
        load_series(p, t, now.piece, s.load)
    return False


@kernel
def _stop_root(p: Problem, state: State, s: Scratch, i: int, tau: float) -> float:
    """Return the first tau at which moving mass i stops, inf for none."""
    size = slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
    start = leading_zeros(s.poly, state.lead[i], size, tau) if state.lead[i] > 0 else 0
    return root_from(s.poly, s.bernstein, start, size, tau)


@kernel
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


@kernel
def _reach_of_share(p: Problem, mode: Ints, s: Scratch, count: int, tau: float) -> float:
    """Return how far in tau the last terms of a law's share say how large those beyond are.

    A share that grows like exp(a tau) has terms (a tau)^k / k!, which rise up to k = a tau: a
    mass that comes to rest from many times the speed scale has small terms at the end of the
    series, and large ones behind it. Half as many terms as there are leave a tail like that
    of a geometric series; more do no harm while the share itself is nothing beside one.
    """
    top = p.order - 2
    for a in range(count):
        i = s.active[a]
        if mode[i] == 0 or s.mu[i, 0] == 0.0:
            continue
        for _ in range(3):
            # two and two terms: those of an even function are zero every other time
            last = max(abs(s.mu[i, top]) * tau, abs(s.mu[i, top - 1]))
            before = max(abs(s.mu[i, top - 2]) * tau, abs(s.mu[i, top - 3]))
            if before == 0.0:
                break
            ratio = tau * math.sqrt(last / before)
            # terms that fall like this add up to no more than (1 - ratio)^-top
            spare = _LOG_NOTHING - math.log(abs(s.mu[i, 0]))
            most = max(0.5, 1.0 - math.exp(-max(spare, 0.0) / top))
            if ratio <= most:
                break
            tau *= most / ratio
    return tau


@kernel
def _norms(x: Floats, active: Ints, count: int, top: int, norm: Floats) -> None:
    """Write the largest coefficient of each order."""
    for k in range(top + 1):
        norm[k] = 0.0
        for a in range(count):
            norm[k] = max(norm[k], abs(x[k, active[a] + 1]))


@kernel
def _move_on(p: Problem, state: State, s: Scratch, count: int, tau: float) -> None:
    now = state.progress[0]
    evaluate(p, tau, s.active, count, state.mode, s, state.x, state.v)
    size = 2 * p.order + 1
    now.work += horner(s.work, size, tau)
    now.viscous += horner(s.viscous, size, tau)
    _heat_up(state, s, count, size, tau)


@kernel
def note_given(now: Progress, gain: float) -> None:
    """Add heat that friction gave back to a mass in the step that begins now."""
    if now.given == 0.0:
        now.given_time = now.time
    now.given -= gain


@kernel
def _heat_up(state: State, s: Scratch, count: int, size: int, tau: float) -> None:
    """Add the friction heat of a step to every moving mass."""
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0:
            gain = column(s.heat, i, size, tau)
            state.heat[i] += gain
            if gain < 0.0:
                note_given(state.progress[0], gain)


@kernel
def _arrive(p: Problem, state: State, s: Scratch, count: int, t: float, group: float) -> None:
    """Apply the events of one instant: first all stops, then every decision.

    `s.started` marks the masses that started to move at the beginning of the step.
    """
    for a in range(count):
        i = s.active[a]
        if s.root[i] <= group and state.mode[i] != 0:
            state.v[i + 1] = p.belt
    load = load_at(p, t, state.progress[0].piece)
    for a in range(count):
        i = s.active[a]
        if s.root[i] > group:
            continue
        drive, stuck = drive_of(p, state.x, state.v, load, t, i), state.mode[i] == 0
        place(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        if s.started[i] == 1 and s.root[i] == 0.0:
            # a fitted force takes back at once what was decided: at rest for this instant
            state.mode[i], state.lead[i] = 0, FROZEN
        elif s.touch[i] == s.root[i] and stuck:
            # the drive touches its bound, and a policy lets the mass go
            state.mode[i], state.lead[i] = 0, 1
        elif stuck and state.mode[i] == 0:
            # it meets its bound here; of a fast drive the rounding of time leaves a gap
            state.lead[i] = 1


@kernel
def _note_touches(
    p: Problem, state: State, s: Scratch, count: int, tau: float, group: float, events: Events
) -> None:
    """Count the touches up to tau, and note which masses are within their error there."""
    t = state.progress[0].time
    for a in range(count):
        i = s.active[a]
        if s.open[i] <= tau:
            state.band[i] = 1
        elif state.band[i] == 1:
            state.band[i] = 0
        ends = s.root[i] == s.touch[i] and s.root[i] <= group
        if s.touch[i] == np.inf or (s.touch[i] > tau and not ends):
            continue
        kind = OF_BOUND if state.mode[i] == 0 else OF_SLIP
        now = t + s.touch[i] / p.rate
        slips = p.slip_after <= now <= p.slip_before
        _note(p, state, events, i, kind, now, s.length[i] / p.rate, slips)
        if kind == OF_BOUND:
            # should the next step begin at the bound, it has been told
            state.band[i] = 2


@kernel
def _note_corners(p: Problem, state: State, s: Scratch, t: float, events: Events) -> None:
    """Note masses that only the rule of a jump holds at their bound, or lets go there."""
    for i in range(p.mass.size):
        if s.corner[i] == 0:
            if state.band[i] == 2:
                state.band[i] = 0
        elif state.band[i] != 2 and p.normal[i] > 0.0:
            state.band[i] = 2
            _note(p, state, events, i, OF_BOUND, t, np.inf, state.mode[i] != 0)


@kernel
def _note(
    p: Problem,
    state: State,
    events: Events,
    i: int,
    kind: int,
    t: float,
    length: float,
    slips: bool,
) -> None:
    """Count a touch; keep it where it can matter: with friction that falls."""
    now = state.progress[0]
    now.touches += 1
    if p.constant and not jumps(p, i):
        return
    touch = events.touch[now.touch_rows]
    touch.time, touch.mass, touch.kind = t, i, kind
    touch.length, touch.slips = length, 1 if slips else 0
    now.touch_rows += 1


@kernel
def _all_stuck(mode: Ints) -> bool:
    stuck = True
    for i in range(mode.size):
        stuck = stuck and mode[i] == 0
    return stuck


@kernel
def first_modes(p: Problem, state: State) -> None:
    """Set the modes from the velocities and drives: at the start, or where the load jumps."""
    now = state.progress[0]
    t = now.time
    # the run may start after the first breakpoint of the load
    _find_piece(p, state, t)
    load = load_at(p, t, now.piece)
    for i in range(p.mass.size):
        w = state.v[i + 1] - p.belt
        if w == 0.0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            place(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        elif state.mode[i] == 0:
            # a mass that moves at the start: no event led to its mode
            state.mode[i] = state.shown[i] = 1 if w > 0.0 else -1
