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

from stiction.chains.event_driven.records import (
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
    Saved,
    State,
    column,
    drive_at,
    drive_of,
    record_events,
    save_rest,
    save_until,
)
from stiction.chains.event_driven.series_kernels import (
    Problem,
    Scratch,
    evaluate,
    expand,
    fit_forces,
    load_at,
    load_series,
    power_series,
)
from stiction.numerics.jit import kernel
from stiction.numerics.locate import NO_ROOT, first_root, horner

__all__ = [
    "ALL_STUCK",
    "DONE",
    "EVENTS_FULL",
    "NOT_FINITE",
    "PAUSE",
    "STALLED",
    "STEP_VANISHED",
    "Events",
    "Saved",
    "State",
    "advance",
    "first_modes",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DONE, PAUSE, EVENTS_FULL, ALL_STUCK, NOT_FINITE, STEP_VANISHED, STALLED = 0, 1, 2, 3, 4, 5, 6

# a coefficient below this share of the largest one is rounding, not motion
_NOISE = 1e-12
_TIE = 1e-12
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
    clock, counter = state.clock, state.counter
    n = p.mass.size
    for _ in range(steps):
        t = clock[TIME]
        full = counter[N_EVENTS] + n > events.time.size
        full = full or counter[N_TOUCH] + 3 * n > events.touch.shape[0]
        if full or (counter[N_EVENTS] >= room and t < t_end):
            return EVENTS_FULL
        if t >= t_end:
            record_events(p, state, events, t)
            save_rest(p, state, saved, t_end)
            return DONE
        limit = _next_border(p, state, t, t_end)
        reach = (limit - t) * p.rate
        if reach > _FARTHEST:
            # powers of tau up to the order of the series must stay finite numbers
            reach = _FARTHEST
            limit = t + reach / p.rate
        count = _settle(p, state, s, t, reach, events)
        if count < 0:
            return NOT_FINITE if count == -1 else STEP_VANISHED
        record_events(p, state, events, t)
        if counter[REST_SEEN] == 0 and _all_stuck(state.mode):
            return ALL_STUCK
        tau = min(reach, _reach_of_series(p, s, count, reach, clock[TAU]))
        # search a little past the last gap first: near events make far ones irrelevant,
        # and on a short stretch most masses are excluded by one look at their series
        horizon = min(tau, 4.0 * clock[GAP])
        first, last_grouped = _first_events(p, state, s, count, horizon, t, events)
        while first > horizon and horizon < tau:
            horizon = min(tau, 8.0 * horizon)
            first, last_grouped = _first_events(p, state, s, count, horizon, t, events)
        if first <= tau:
            tau = first
        clock[GAP] = max(tau, 1e-3)
        t_new = limit if tau >= reach else t + tau / p.rate
        power_series(p, t, s.active, count, state.mode, s)
        save_until(p, state, saved, s, count, t, t_new)
        _move_on(p, state, s, count, tau)
        counter[STILL] = counter[STILL] + 1 if t_new == t else 0
        if counter[STILL] > 4 * n + 100:
            return STALLED
        clock[TIME] = t_new
        counter[STEPS] += 1
        state.lead[:] = 0
        if first <= tau:
            _arrive(p, state, s, count, t_new, last_grouped)
        if not np.isfinite(state.x.sum() + state.v.sum()):
            return NOT_FINITE
    return PAUSE


@kernel
def _next_border(p: Problem, state: State, t: float, t_end: float) -> float:
    counter = state.counter
    while counter[PIECE] + 1 < p.piece_time.size and p.piece_time[counter[PIECE] + 1] <= t:
        counter[PIECE] += 1
    limit = min(t_end, t + p.longest)
    if counter[PIECE] + 1 < p.piece_time.size:
        limit = min(limit, p.piece_time[counter[PIECE] + 1])
    return limit


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
def _settle(p: Problem, state: State, s: Scratch, t: float, reach: float, events: Events) -> int:
    """Decide the modes at t, expand the series, and return the number of active masses.

    A mass that was just released must move the way it was pushed, and one at the edge of
    stick must turn inward; if a neighbour's change at the same instant says otherwise its
    mode is taken back. -1: not finite; -2: a user's function needs a vanishing step.
    """
    n = p.mass.size
    _mark_ties(p, state, t)
    for _ in range(2 * n + 4):
        load_series(p, t, state.counter[PIECE], s.load)
        count = _active(p, state, s)
        for c in range(n + 2):
            s.x[0, c] = state.x[c]
            s.x[1, c] = state.v[c] / p.rate
        for a in range(count):
            # neighbours too: a quiet one enters the stencil and must not show old motion
            for c in range(s.active[a], s.active[a] + 3):
                for k in range(2, p.order + 1):
                    s.x[k, c] = 0.0
        state.counter[EXPANSIONS] += 1
        if p.fitted or p.load_address != 0:
            if not _fit_step(p, state, s, t, reach, count):
                return -2
        else:
            expand(p, t, s.active, count, state.mode, state.lead, s)
        if not _take_back(p, state, s, count, reach):
            break
    if p.jump:
        _note_corners(p, state, s, count, t, events)
    return count


@kernel
def _mark_ties(p: Problem, state: State, t: float) -> None:
    """Mark stuck masses whose drive equals their bound: their series decide, not rounding."""
    load = load_at(p, t, state.counter[PIECE])
    for i in range(p.mass.size):
        if state.mode[i] == 0 and state.lead[i] == 0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            if abs(drive) >= p.mu_static[i] * p.normal[i] * (1.0 - _TIE):
                state.lead[i] = 1
                state.side[i] = 1 if drive > 0.0 else -1


@kernel
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
        k = _leading_zeros(s.poly, 1, p.order - 1, 1.0)
        row = state.counter[N_TOUCH]
        last = row > 0 and events.touch[row - 1, 1] == i and events.touch[row - 1, 0] > t - 1e-9
        if k < p.order - 1 and s.poly[k] < 0.0 and not last and p.normal[i] > 0.0:
            events.touch[row, 0] = t
            events.touch[row, 1] = i
            state.counter[N_TOUCH] += 1


@kernel
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


@kernel
def _stop_root(p: Problem, state: State, s: Scratch, i: int, tau: float) -> float:
    """Return the first tau at which moving mass i stops, inf for none."""
    size = _slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
    start = _leading_zeros(s.poly, state.lead[i], size, tau) if state.lead[i] > 0 else 0
    return _root_from(s.poly, s.bernstein, start, size, tau)


@kernel
def _take_back(p: Problem, state: State, s: Scratch, count: int, reach: float) -> bool:
    """Correct one mode that contradicts its own series; return whether one was changed."""
    fitted = p.fitted or p.load_address != 0
    scale = state.clock[TAU] if fitted else 1.0
    size = p.order - 1
    for a in range(count):
        i = s.active[a]
        bound = p.mu_static[i] * p.normal[i]
        if state.mode[i] != 0 and state.lead[i] >= 2:
            length = _slip_series(s.x, s.poly, i, state.mode[i], p.order, p.rate, p.belt)
            k = _leading_zeros(s.poly, 2, length, scale)
            if k < length and s.poly[k] < 0.0:
                state.side[i] = state.mode[i]
                state.mode[i] = 0
                state.lead[i] = _FROZEN
                return True
        elif state.mode[i] == 0 and state.lead[i] != _FROZEN:
            if abs(s.drive[0, i]) > bound * (1.0 + (_FIT_TIE if fitted else _TIE)):
                # the load jumped: the mass is beyond its bound from the first moment
                state.mode[i] = 1 if s.drive[0, i] > 0.0 else -1
                state.lead[i] = 1
                return True
            if state.lead[i] == 1 and _leaves_its_edge(p, state, s, i, bound, scale, reach, size):
                state.mode[i] = state.side[i]
                state.lead[i] = 1 if p.jump else 2
                return True
    return False


@kernel
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
    k = _leading_zeros(s.poly, 1, size, scale)
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
    s.poly[0] = bound * _TIE
    return _root_from(s.poly, s.bernstein, 0, size, tau) <= tau


@kernel
def _leading_zeros(c: Floats, start: int, size: int, tau: float) -> int:
    """Return the first index >= start whose term counts at tau; size when none does."""
    largest, power = 0.0, 1.0
    for k in range(size):
        largest = max(largest, abs(c[k]) * power)
        power *= tau
    power = tau**start
    for k in range(start, size):
        if abs(c[k]) * power > _NOISE * largest:
            return k
        power *= tau
    return size


@kernel
def _slip_series(
    x: Floats, poly: Floats, i: int, sign: int, order: int, rate: float, belt: float
) -> int:
    """Write the series of sign * slip rate of mass i to `poly`; return its length."""
    for k in range(order):
        poly[k] = sign * rate * (k + 1) * x[k + 1, i + 1]
    poly[0] -= sign * belt
    return order


@kernel
def _reach_of_series(p: Problem, s: Scratch, count: int, reach: float, fitted: float) -> float:
    """Return how far in tau the series hold to the tolerance."""
    if p.fitted or p.load_address != 0:
        reach = min(reach, fitted)
    top = p.order
    norm = s.norm
    for k in range(top + 1):
        norm[k] = 0.0
        for a in range(count):
            norm[k] = max(norm[k], abs(s.x[k, s.active[a] + 1]))
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
def _first_events(
    p: Problem, state: State, s: Scratch, count: int, tau: float, t: float, events: Events
) -> tuple[float, float]:
    """Find the first event in (0, tau]; return its tau and the end of its group.

    s.root keeps each mass's own first root. Roots closer than rounding are one instant.
    """
    first = np.inf
    mode, lead, side, root = state.mode, state.lead, state.side, s.root
    x, poly, drive, work, size = s.x, s.poly, s.drive, s.bernstein, p.order - 1
    for a in range(count):
        i = s.active[a]
        root[i] = np.inf
        if mode[i] != 0:
            length = _slip_series(x, poly, i, mode[i], p.order, p.rate, p.belt)
            start = _leading_zeros(poly, lead[i], length, tau) if lead[i] > 0 else 0
            root[i] = _root_from(poly, work, start, length, tau)
        elif p.mu_static[i] * p.normal[i] > 0.0:
            # (a frictionless mass at rest has no drive at all, or it would have moved)
            bound = p.mu_static[i] * p.normal[i]
            for sign in (1, -1):
                for k in range(size):
                    poly[k] = -sign * drive[k, i]
                start = 0
                if lead[i] > 0 and sign == side[i]:
                    poly[0] = 0.0
                    start = _leading_zeros(poly, 1, size, tau)
                    if start < size and poly[start] < 0.0:
                        # only rounding can push outward here; it gets no say in this step
                        continue
                else:
                    poly[0] += bound
                    if p.jump and poly[0] > 0.0:
                        # a touch within rounding is no crossing: the mass keeps sticking
                        poly[0] += bound * _TIE
                        beyond = _root_from(poly, work, 0, size, tau)
                        if beyond > tau:
                            poly[0] -= bound * _TIE
                            _note_touch(p, state, s, i, bound, tau, t, events)
                            continue
                        for k in range(size):
                            poly[k] = -sign * drive[k, i]
                        poly[0] += bound
                root[i] = min(root[i], _root_from(poly, work, start, size, tau))
        first = min(first, root[i])
    group = first + 1e-13 * max(1.0, first) + 4e-16 * abs(t) * p.rate
    return first, group


@kernel
def _root_from(poly: Floats, bernstein: Floats, start: int, size: int, tau: float) -> float:
    """Return the first root in (0, tau] of `poly`, whose first `start` terms are zero."""
    if start >= size:
        return np.inf
    power = 1.0
    for k in range(start, size):
        poly[k - start] = poly[k] * power
        power *= tau
    if poly[0] <= 0.0:
        # the reserve was used up within the rounding of the last step: now is the event
        return 0.0
    root = first_root(poly, size - start, bernstein)
    return np.inf if root == NO_ROOT else root * tau


@kernel
def _note_touch(
    p: Problem, state: State, s: Scratch, i: int, bound: float, tau: float, t: float, events: Events
) -> None:
    """Note a graze: the drive reaches the static bound within 1e-9 and turns back.

    s.poly holds the reserve in units of the step after the search for its root.
    """
    size = p.order - 1
    swing = 0.0
    for k in range(1, size):
        swing += abs(s.poly[k])
    if s.poly[0] - swing > 1e-9 * bound:
        return
    low, at = s.poly[0], 0.0
    for q in range(1, 257):
        value = horner(s.poly, size, q / 256.0)
        if value < low:
            low, at = value, q / 256.0
    left, right = max(at - 1.0 / 256.0, 0.0), min(at + 1.0 / 256.0, 1.0)
    for _ in range(60):
        one, two = left + 0.382 * (right - left), left + 0.618 * (right - left)
        if horner(s.poly, size, one) < horner(s.poly, size, two):
            right = two
        else:
            left = one
    at = 0.5 * (left + right)
    inside = 1e-6 < at < 1.0 - 1e-6
    if inside and horner(s.poly, size, at) <= 1e-9 * bound:
        row = state.counter[N_TOUCH]
        events.touch[row, 0] = t + at * tau / p.rate
        events.touch[row, 1] = i
        state.counter[N_TOUCH] += 1


@kernel
def _move_on(p: Problem, state: State, s: Scratch, count: int, tau: float) -> None:
    evaluate(p, tau, s.active, count, s, state.x, state.v)
    size = 2 * p.order + 1
    state.clock[WORK] += horner(s.work, size, tau)
    state.clock[VISCOUS] += horner(s.viscous, size, tau)
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0:
            state.heat[i] += column(s.heat, i, size, tau)


@kernel
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


@kernel
def _decide(p: Problem, state: State, i: int, drive: float, bound: float) -> None:
    """Set the mode of a mass at rest on its surface from its drive."""
    state.side[i] = 1 if drive > 0.0 else -1
    if abs(drive) > bound * (1.0 + _TIE):
        state.mode[i] = state.side[i]
        state.lead[i] = 1
    else:
        state.mode[i] = 0
        state.lead[i] = 1 if abs(drive) >= bound * (1.0 - _TIE) else 0


@kernel
def _all_stuck(mode: Ints) -> bool:
    return not mode.any()


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
