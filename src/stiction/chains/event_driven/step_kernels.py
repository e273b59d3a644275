"""Steps of the event-driven scheme: modes, series, event localisation, state update.

A step ends at an event, at a breakpoint of the load, or where the truncation error of the Taylor
series reaches its tolerance. Events are roots of polynomials: the slip rate of a slipping mass, and
the reserve mu_s N - |R| of a stuck one, where R is the sum of all forces but friction and inertia.
Because the mass matrix is diagonal, R contains no acceleration. Modes therefore follow mass by mass
without a complementarity problem (formulas sheet, section 6). If R equals its bound (a degenerate
threshold), the mode follows from the first coefficient of the series of R that leaves the bound.
`event_driven.run` calls `first_modes` once and `advance` until the run ends.

The order in a step: decide the modes at its start, expand the series, limit the step by their
truncation error, locate the first event, record samples within the step, then move to its end.
Arguments: p, `state`, `saved`, `events` and s are the tuples of `state`. t is the time [s], tau the
scaled time rate (t - t0) since the start t0 of the step, `count` the number of active masses (whose
series are not constant), which `s.active` lists. `state.lead[i]` is the number of leading
coefficients of the event function of mass i that its last event made zero; `state.band[i]` is 1
while that function is within its error, and 2 after a grazing of the bound was recorded.
`now.piece` is the segment of the load.
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
    save_equilibrium,
    save_now,
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
    ALL_STICK,
    AT_REST,
    UNDECIDED,
    decide_by_first_terms,
    decide_degenerate,
    force_size,
    jumps,
    mark_at_threshold,
    set_mode_at_rest,
)
from stiction.chains.event_driven.track_kernels import track_is_full, track_state, track_step
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

# reasons to stop: the end of the run; `steps` steps were made; a buffer is full; all masses stick
# (reported once for each equilibrium); a state is not finite; no fit meets its tolerance on a step
# of finite length; time does not advance
DONE, PAUSE, EVENTS_FULL, ALL_STUCK, NOT_FINITE, STEP_VANISHED, STALLED = 0, 1, 2, 3, 4, 5, 6

# longest step in units of the fastest vibration, for chains in which all masses stick; longer ones
# would lose the digits of the time. Chosen
_FARTHEST = 1e8
# logarithm of a negligible weakening factor: exp(-40) = 4e-18 is below the rounding of 1
_LOG_NOTHING = -40.0
# a fitted drive counts as beyond its bound from this excess on. Chosen, above the error of a fit
_FIT_TOLERANCE = 1e-9
# coefficients of a fitted load below this fraction of its size on the step are fit errors: the
# change from nodes to powers of tau amplifies rounding by about 1e4
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
    """Advance by at most `steps` steps or `room` events; return the code of the reason to stop.

    The codes are DONE to STALLED above.
    """
    for _ in range(steps):
        code, limit, reach = _begin(p, state, saved, events, t_end, room)
        if code == PAUSE:
            count = _decide_modes(p, state, s)
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

    A separate kernel, so that chains without such functions need not compile it.
    """
    for _ in range(steps):
        code, limit, reach = _begin(p, state, saved, events, t_end, room)
        if code == PAUSE:
            count = _decide_modes_fitted(p, state, s, reach)
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
    """Return PAUSE or the reason to stop, the latest end of the step [s], and its length in tau."""
    now = state.progress[0]
    n, t = p.mass.size, now.time
    # leave before a buffer overflows: a step records at most n mode changes and 3 n grazings
    full = now.events + n > events.time.size
    full = full or now.touch_rows + 3 * n > len(events.grazing)
    full = full or track_is_full(events.track)
    if full or (now.events >= room and t < t_end):
        return EVENTS_FULL, t, 0.0
    if t >= t_end:
        # the load may jump here
        _find_segment(p, state, t)
        mark_at_threshold(p, state, t)
        record_events(p, state, events, t)
        track_state(state, events.track, t)
        save_equilibrium(p, state, saved, t_end)
        return DONE, t, 0.0
    limit = _next_breakpoint(p, state, t, t_end)
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
    """Locate the first event, advance to it or to the end; return PAUSE or the reason to stop.

    limit, reach : latest end of the step [s], and its length in tau
    """
    now = state.progress[0]
    n, t = p.mass.size, now.time
    record_events(p, state, events, t)
    if now.rest_seen == 0 and _all_stuck(state.mode):
        return ALL_STUCK
    if p.jump:
        _record_threshold_rule(p, state, s, t, events)
    # latest end of the step by the truncation error of the series
    tau = min(reach, _reach_of_series(p, s, count, reach, now.tau))
    if p.share_address != 0:
        tau = _reach_of_weakening(p, state.mode, s, count, tau)
    # search a short interval first, a little longer than the last step: an early event makes
    # later ones irrelevant, and on it a bound of the series excludes most masses
    horizon = min(tau, 4.0 * now.gap)
    first, last_grouped = first_events(p, state, s, count, horizon, t)
    while first > horizon and horizon < tau:
        horizon = min(tau, 8.0 * horizon)
        first, last_grouped = first_events(p, state, s, count, horizon, t)
    if first <= tau:
        tau = first
        if reach - tau <= 1e-13 * max(1.0, reach) + 4e-16 * abs(t) * p.rate:
            # at a breakpoint within rounding: the load after it decides (docs/decisions/07)
            tau = reach
            last_grouped = max(last_grouped, reach)
    _record_grazing(p, state, s, count, tau, last_grouped, events)
    now.gap = max(tau, 1e-3)
    t_new = limit if tau >= reach else t + tau / p.rate
    # energies before the state changes
    power_series(p, t, s.active, count, state.mode, s)
    save_until(p, state, saved, s, count, t, t_new)
    track_step(p, state, events.track, s, count, t, tau)
    _update_state(p, state, s, count, tau)
    # steps that do not advance the floating-point time are events at one instant; too many of them
    # end the run
    now.still = now.still + 1 if t_new == t else 0
    if now.still > 4 * n + 100:
        return STALLED
    now.time = t_new
    now.steps += 1
    # leading zeros hold at the start of a step only
    for i in range(n):
        s.started[i] = 1 if state.mode[i] != 0 and state.lead[i] > 0 else 0
        s.decision[i] = 0
        state.lead[i] = 0
    if first <= tau:
        _apply_events(p, state, s, count, t_new, last_grouped)
    size = 0.0
    for c in range(n + 2):
        size += state.x[c] + state.v[c]
    return PAUSE if np.isfinite(size) else NOT_FINITE


@kernel
def _next_breakpoint(p: Problem, state: State, t: float, t_end: float) -> float:
    """Return the latest end of a step [s]: breakpoint, end of the run, or longest step."""
    now = state.progress[0]
    _find_segment(p, state, t)
    end, limit = t_end, t + p.longest
    if now.piece + 1 < p.segment_time.size:
        end = min(end, p.segment_time[now.piece + 1])
    # no step has the size of rounding
    return end if end - limit <= 1e-9 * p.longest + 4e-15 * abs(t) else limit


@kernel
def _find_segment(p: Problem, state: State, t: float) -> None:
    """Advance to the segment of the load that holds at time t."""
    now = state.progress[0]
    while now.piece + 1 < p.segment_time.size and p.segment_time[now.piece + 1] <= t:
        now.piece += 1


@kernel
def _active(p: Problem, state: State, s: Scratch) -> int:
    """List the masses whose displacement or drive changes with time; return their number."""
    n = p.mass.size
    load_varies = False
    for k in range(1, s.load.size):
        load_varies = load_varies or s.load[k] != 0.0
    load_varies = load_varies or p.load_address != 0
    count = 0
    for i in range(n):
        # a series is constant unless the mass, a neighbour, the belt, the load or the plate moves
        varies = state.mode[i] != 0 or p.belt != 0.0
        varies = varies or (i > 0 and state.mode[i - 1] != 0)
        varies = varies or (i + 1 < n and state.mode[i + 1] != 0)
        varies = varies or (load_varies and p.load_vector[i] != 0.0)
        varies = varies or (p.plate_k[i] != 0.0 and p.plate_speed != 0.0)
        if varies:
            s.active[count] = i
            count += 1
    return count


@kernel
def _decide_modes(p: Problem, state: State, s: Scratch) -> int:
    """Decide the modes, expand the series, and return the number of active masses."""
    t = state.progress[0].time
    degenerate = mark_at_threshold(p, state, t)
    # series with all masses at their bound stuck, whose first terms usually decide
    count = _prepare_series(p, state, s, t)
    expand(p, t, s.active, count, state.mode, state.lead, s)
    outcome = (
        decide_by_first_terms(p, state, s, count, t, degenerate) if degenerate > 0 else ALL_STICK
    )
    if outcome == UNDECIDED:
        decide_degenerate(p, state, s, t, 0.0)
    # the series of the final modes
    if outcome != ALL_STICK:
        count = _prepare_series(p, state, s, t)
        expand(p, t, s.active, count, state.mode, state.lead, s)
    return count


@kernel
def _decide_modes_fitted(p: Problem, state: State, s: Scratch, reach: float) -> int:
    """Decide the modes and fit a user's load and mu(v); return the number of active masses.

    It is -1 if the fits meet their tolerance on no step of finite length.
    """
    t = state.progress[0].time
    # each round releases a mass, or is the last
    for _ in range(p.mass.size + 2):
        degenerate = mark_at_threshold(p, state, t)
        count = _prepare_series(p, state, s, t)
        if not _fit_step(p, state, s, t, reach, count):
            return -1
        if _release_beyond_bound(p, state, s, count):
            continue
        if degenerate == 0:
            return count
        if not decide_degenerate(p, state, s, t, _FIT_NOISE):
            break
    # `decide_degenerate` overwrote the series; the fits are unchanged
    _start_series(p, state, s, count)
    expand(p, t, s.active, count, state.mode, state.lead, s)
    return count


@kernel
def _release_beyond_bound(p: Problem, state: State, s: Scratch, count: int) -> bool:
    """Release stuck masses beyond their bound after a jump of the load; return whether any is."""
    released = False
    for a in range(count):
        i = s.active[a]
        bound = p.mu_static[i] * p.normal[i]
        beyond_bound = bound > 0.0 and abs(s.drive[0, i]) > bound * (1.0 + _FIT_TOLERANCE)
        if beyond_bound and state.mode[i] == 0 and state.lead[i] != AT_REST:
            state.mode[i] = 1 if s.drive[0, i] > 0.0 else -1
            state.lead[i] = 1
            released = True
    return released


@kernel
def _prepare_series(p: Problem, state: State, s: Scratch, t: float) -> int:
    """Write the first coefficients of the active masses; return the number of these."""
    now = state.progress[0]
    load_series(p, t, now.piece, s.load)
    count = _active(p, state, s)
    _start_series(p, state, s, count)
    now.expansions += 1
    return count


@kernel
def _start_series(p: Problem, state: State, s: Scratch, count: int) -> None:
    """Write coefficients 0 and 1 of all displacements; clear the others of active masses."""
    for c in range(p.mass.size + 2):
        s.x[0, c] = state.x[c]
        s.x[1, c] = state.v[c] / p.rate
    for a in range(count):
        # clear neighbours too: the stencil reads them, and constant ones hold old coefficients
        for c in range(s.active[a], s.active[a] + 3):
            for k in range(2, p.order + 1):
                s.x[k, c] = 0.0


@kernel
def _fit_step(p: Problem, state: State, s: Scratch, t: float, reach: float, count: int) -> bool:
    """Expand with fits of a user's functions on the longest step within tolerance, if any."""
    now = state.progress[0]
    # try at most twice the last step, and halve it until the fits meet their tolerance
    tau = min(reach, 2.0 * now.tau, p.longest_fit)
    if reach - tau <= 1e-9 * tau + 4e-15 * abs(t) * p.rate:
        # the remainder would be a step of the size of rounding
        tau = reach
    for _ in range(80):
        misfit = fit_forces(p, t, tau, s.active, count, state.mode, state.lead, s)
        if misfit <= p.fit_tolerance:
            now.tau = tau
            return True
        # if a mass stops within the step, fit up to a little beyond its stop
        stop = np.inf
        if np.isfinite(misfit) and p.fitted:
            for a in range(count):
                if state.mode[s.active[a]] != 0:
                    stop = min(stop, _stop_root(p, state, s, s.active[a], tau))
        # (one of `MU_CHECKS` is at the stop then)
        tau = 1.002 * stop if 0.0 < stop < 0.97 * tau else 0.5 * tau
        # the fit was added to the series of the load: begin again with segments and sines
        load_series(p, t, now.piece, s.load)
    return False


@kernel
def _stop_root(p: Problem, state: State, s: Scratch, i: int, tau: float) -> float:
    """Return the first tau at which slipping mass i stops, inf for none."""
    size = slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
    start = leading_zeros(s.poly, state.lead[i], size, tau) if state.lead[i] > 0 else 0
    return root_from(s.poly, s.bernstein, start, size, tau)


@kernel
def _reach_of_series(p: Problem, s: Scratch, count: int, reach: float, fitted: float) -> float:
    """Return the tau up to which the truncated series meet the tolerance.

    From the last two coefficients, tau <= (tolerance * size / |x_k|)^(1/k), as for a Taylor method.
    """
    if p.fitted or p.load_address != 0:
        reach = min(reach, fitted)
    top = p.order
    norm = s.norm
    # largest coefficient of each order over all masses
    _norms(s.x, s.active, count, top, norm)
    load_size = 0.0
    for k in range(p.order):
        load_size = max(load_size, abs(s.load[k]))
    # beyond tau = 4 the terms of an oscillation grow before they fall, and digits cancel
    tau = min(reach, 4.0) if norm[top] > 0.0 or norm[top - 1] > 0.0 else reach
    # the size of the early terms depends on tau: repeat
    for _ in range(3):
        size, power = 0.0, 1.0
        for k in range(1, top // 2 + 1):
            power *= tau
            size = max(size, norm[k] * power)
        for k in (top - 1, top):
            if norm[k] > 0.0:
                tau = min(tau, (p.tolerance * size / norm[k]) ** (1.0 / k))
    # the truncated series of the load must meet the tolerance on stuck masses as well
    for k in (top - 3, top - 2):
        if k > 1 and s.load[k] != 0.0 and p.load_address == 0:
            tau = min(tau, (p.tolerance * load_size / abs(s.load[k])) ** (1.0 / k))
    return tau


@kernel
def _reach_of_weakening(p: Problem, mode: Ints, s: Scratch, count: int, tau: float) -> float:
    """Return the tau up to which the last coefficients of e = exp(-w / v_s) bound the remainder.

    While a mass decelerates, e grows like exp(a tau). Its terms (a tau)^k / k! rise up to
    k = a tau, so that for a tau > order the last terms are small and those beyond are large. A
    ratio of successive terms of at most 1/2 bounds the remainder by a geometric series. A larger
    ratio is safe while e itself is negligible.
    """
    top = p.order - 2
    for a in range(count):
        i = s.active[a]
        if mode[i] == 0 or s.mu[i, 0] == 0.0:
            continue
        for _ in range(3):
            # pairs of terms: every other coefficient of an even function is zero
            last = max(abs(s.mu[i, top]) * tau, abs(s.mu[i, top - 1]))
            before = max(abs(s.mu[i, top - 2]) * tau, abs(s.mu[i, top - 3]))
            if before == 0.0:
                break
            ratio = tau * math.sqrt(last / before)
            # the remainder of such a series is at most (1 - ratio)^-top times its size
            spare = _LOG_NOTHING - math.log(abs(s.mu[i, 0]))
            most = max(0.5, 1.0 - math.exp(-max(spare, 0.0) / top))
            if ratio <= most:
                break
            tau *= most / ratio
    return tau


@kernel
def _norms(x: Floats, active: Ints, count: int, top: int, norm: Floats) -> None:
    """Write to `norm` (top + 1,) the largest coefficient |x_k| of each order k over active masses.

    x : (order + 1, n + 2) Taylor coefficients; `active` lists `count` masses
    """
    for k in range(top + 1):
        norm[k] = 0.0
        for a in range(count):
            norm[k] = max(norm[k], abs(x[k, active[a] + 1]))


@kernel
def _update_state(p: Problem, state: State, s: Scratch, count: int, tau: float) -> None:
    """Move the state to tau of its series, and add the work and heat until then."""
    now = state.progress[0]
    evaluate(p, tau, s.active, count, state.mode, s, state.x, state.v)
    size = 2 * p.order
    now.work += horner(s.work, size, tau)
    now.viscous += horner(s.viscous, size, tau)
    _add_friction_heat(state, s, count, size, tau)


@kernel
def record_returned_heat(now: Progress, gain: float) -> None:
    """Add heat that friction returned to a mass in the step that begins now."""
    if now.given == 0.0:
        now.given_time = now.time
    now.given -= gain


@kernel
def _add_friction_heat(state: State, s: Scratch, count: int, size: int, tau: float) -> None:
    """Add the friction heat of a step to every moving mass."""
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0:
            gain = column(s.heat, i, size, tau)
            state.heat[i] += gain
            if gain < 0.0:
                record_returned_heat(state.progress[0], gain)


@kernel
def _apply_events(p: Problem, state: State, s: Scratch, count: int, t: float, group: float) -> None:
    """Apply simultaneous events: first set all stopped masses to the belt speed, then decide modes.

    In this order every drive contains the damper forces of the stopped neighbours.
    """
    for a in range(count):
        i = s.active[a]
        if s.root[i] <= group and state.mode[i] != 0:
            state.v[i + 1] = p.belt
    # all stopped masses have the belt speed now: drives are those after the event
    load = load_at(p, t, state.progress[0].piece)
    for a in range(count):
        i = s.active[a]
        if s.root[i] > group:
            continue
        drive, stuck = drive_of(p, state.x, state.v, load, t, i), state.mode[i] == 0
        set_mode_at_rest(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        if s.started[i] == 1 and s.root[i] == 0.0:
            # a fitted force reverses the release at once: the mass sticks for this instant
            state.mode[i], state.lead[i] = 0, AT_REST
        elif s.grazing[i] == s.root[i] and stuck:
            # the drive grazes its bound, and a policy releases the mass
            state.mode[i], state.lead[i] = 0, 1
        elif stuck and state.mode[i] == 0:
            # the drive reaches its bound here, although rounding of time leaves a gap
            state.lead[i] = 1


@kernel
def _record_grazing(
    p: Problem, state: State, s: Scratch, count: int, tau: float, group: float, events: Events
) -> None:
    """Record the grazings up to tau, and mark masses that are within their error at its end."""
    t = state.progress[0].time
    for a in range(count):
        i = s.active[a]
        # band 1: the function is within its error at the end of the step, so that its return in the
        # next step completes a grazing
        if s.undecided_from[i] <= tau:
            state.band[i] = 1
        elif state.band[i] == 1:
            state.band[i] = 0
        # a grazing that is the event of this step counts, although rounding may place it beyond tau
        ends = s.root[i] == s.grazing[i] and s.root[i] <= group
        if s.grazing[i] == np.inf or (s.grazing[i] > tau and not ends):
            continue
        kind = OF_BOUND if state.mode[i] == 0 else OF_SLIP
        now = t + s.grazing[i] / p.rate
        slips = p.slip_after <= now <= p.slip_before
        _record_one(p, state, events, i, kind, now, s.length[i] / p.rate, slips)
        if kind == OF_BOUND:
            # a next step that begins at the bound must not record it again
            state.band[i] = 2


@kernel
def _record_threshold_rule(p: Problem, state: State, s: Scratch, t: float, events: Events) -> None:
    """Record masses at their bound whose mode only the stick rule of a law with a jump decides."""
    for i in range(p.mass.size):
        # band 2 from the record until the rule no longer decides, so that successive steps at the
        # bound record it once
        if s.decision[i] == 0:
            if state.band[i] == 2:
                state.band[i] = 0
        elif state.band[i] != 2 and p.normal[i] > 0.0:
            state.band[i] = 2
            _record_one(p, state, events, i, OF_BOUND, t, np.inf, state.mode[i] != 0)


@kernel
def _record_one(
    p: Problem,
    state: State,
    events: Events,
    i: int,
    kind: int,
    t: float,
    length: float,
    slips: bool,
) -> None:
    """Count a grazing; record it if friction weakens or jumps, where it may lose determinism."""
    now = state.progress[0]
    now.touches += 1
    if p.constant and not jumps(p, i):
        return
    grazing = events.grazing[now.touch_rows]
    grazing.time, grazing.mass, grazing.kind = t, i, kind
    grazing.length, grazing.slips = length, 1 if slips else 0
    now.touch_rows += 1


@kernel
def _all_stuck(mode: Ints) -> bool:
    stuck = True
    for i in range(mode.size):
        stuck = stuck and mode[i] == 0
    return stuck


@kernel
def first_modes(p: Problem, state: State) -> None:
    """Set the modes from slip rates and drives: at the start, or after a jump of the load."""
    now = state.progress[0]
    t = now.time
    # the run may start after the first breakpoint of the load
    _find_segment(p, state, t)
    load = load_at(p, t, now.piece)
    for i in range(p.mass.size):
        w = state.v[i + 1] - p.belt
        if w == 0.0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            set_mode_at_rest(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        elif state.mode[i] == 0:
            # a mass that slips at the start: no event is recorded
            state.mode[i] = state.shown[i] = 1 if w > 0.0 else -1
