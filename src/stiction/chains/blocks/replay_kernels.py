"""Replay of one member of a block of event-driven runs: integrate it again and compare.

The motion between events, m x'' = R - mode mu N in slip and x' = V in stick (R: all forces but
friction; V: speed of the belt), is integrated by Chebyshev polynomials (`replay.kernels`) instead
of Taylor series, and compared with the states of the run. The verification is that of
`replay.compare`, for friction independent of the slip rate. The caller is `event_driven_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.state import (
    Events,
    Problem,
    Saved,
    State,
)
from stiction.chains.replay.inclusion_kernels import (
    Loads,
    Log,
    Model,
    SavedSamples,
    Sizes,
    States,
    check_log,
    check_states,
    gather,
)
from stiction.chains.replay.kernels import linear_ends
from stiction.numerics.jit import kernel

__all__ = ["ReplayWork", "replay"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# largest accepted difference, rounding of 1, longest interval in radians; as in `replay.compare`
_LIMIT, _EPS, _LONGEST = 1e-8, 2.220446049250313e-16, 256.0


class ReplayWork(NamedTuple):
    """Work arrays of a replay, for r states of the trajectory and two saved samples.

    follows : (r,) True; numbers : indices 0, 1, ... of events
    steps : (r + 2,) indices of the states at which the intervals start
    sample, before : (2,) indices of the saved samples that are compared, and of the states before
    segment, time, start, goal, end, mode : (r + 2, ...) the intervals, as `gather` and
        `linear_ends` take them
    drive : (r, n) forces without friction [N]; sliding : (2, n) kinetic friction at the samples [N]
    hold, bound, zero : (n,) scales of forces, static bounds and kinetic friction [N]
    worst : (7, 2) largest violation of each kind, and its time [s]
    work : as `linear_ends` takes it; weight : with space for the terms of the longest interval
    """

    follows: npt.NDArray[np.bool_]
    numbers: Ints
    steps: Ints
    sample: Ints
    before: Ints
    segment: Ints
    time: Floats
    start: Floats
    goal: Floats
    end: Floats
    mode: npt.NDArray[np.int8]
    drive: Floats
    sliding: Floats
    hold: Floats
    bound: Floats
    zero: Floats
    worst: Floats
    work: Floats
    weight: Floats


@kernel
def replay(
    p: Problem, state: State, saved: Saved, events: Events, k: ReplayWork, replayed: Floats, b: int
) -> None:
    """Write the largest difference between run and replay of chain b, and its limit.

    They are the two entries of `replayed[b]`. The difference is infinite if the recorded events and
    the mode changes do not match.

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    rows, n = events.track.filled[0], p.mass.size
    replayed[b, 0], replayed[b, 1] = 0.0, _LIMIT
    if rows == 0:
        return
    track = events.track
    time, x, v, mode = track.time[:rows], track.x[:rows], track.v[:rows], track.mode[:rows]
    states = States(time, x, v, mode, k.follows[:rows])
    rate = _rate_of(p)
    # unit of time of the Chebyshev polynomials: above all frequencies of motion and load
    reach = rate
    for j in range(p.sine_frequency.size):
        reach = max(reach, abs(p.sine_frequency[j]))
    if reach == 0.0:
        reach = 1.0
    unit = rate if rate != 0.0 else 1.0
    speed, place = _sizes(p, states, unit, k)
    # intervals between states; the number of polynomials of an interval grows with its length in
    # radians, so long ones are skipped
    count = 0
    for j in range(rows - 1):
        if (time[j + 1] - time[j]) * reach <= _LONGEST:
            k.steps[count] = j
            count += 1
    n_saved = _saved_samples(saved, states, reach, k)
    total = count + n_saved
    # kinetic friction, here independent of the slip rate
    for i in range(n):
        k.zero[i] = p.normal[i] * p.mu_kinetic[i]
        for r in range(n_saved):
            k.sliding[r, i] = k.zero[i]
    compared = SavedSamples(
        k.sample[:n_saved],
        k.before[:n_saved],
        saved.time,
        saved.x,
        saved.v,
        saved.mode,
        saved.friction,
        k.sliding[:n_saved],
    )
    spans, segment, end = k.time[:total], k.segment[:total], k.end[:total]
    start, goal, modes = k.start[:total], k.goal[:total], k.mode[:total]
    # integrate again, and compare with the states at the ends
    gather(p.segment_time, states, compared, k.steps[:count], spans, segment, start, modes, goal)
    linear_ends(p, reach, spans, segment, start, modes, end, k.work, k.weight)
    worst = _end_difference(end, goal, place, speed)
    model = Model(
        p.link_k,
        p.link_c,
        p.load_vector,
        p.plate_k,
        p.plate_speed,
        p.belt,
        k.zero,
        p.segment_time,
        p.segment_offset,
        p.segment_rate,
        p.sine_amplitude,
        p.sine_frequency,
        p.sine_phase,
    )
    sizes = Sizes(k.bound, k.hold, speed, place, unit)
    none = k.hold[:0]
    loads = Loads(none, none, none, k.follows[:0])
    # the friction inclusion in all states, then the recorded events
    check_states(model, states, loads, compared, sizes, k.drive, k.worst[:6])
    worst = _worse(worst, k.worst, 6)
    log = _log(events, k, state.progress[0].events)
    matches = check_log(model, states, loads, log, sizes, k.drive, k.worst)
    replayed[b, 0] = _worse(worst, k.worst, 7) if matches else np.inf


@kernel
def _log(events: Events, k: ReplayWork, made: int) -> Log:
    """Return the recorded events."""
    return Log(
        k.numbers[:made],
        events.time[:made],
        events.mass[:made],
        events.before[:made],
        events.after[:made],
        events.x[:made],
        events.v[:made],
        events.left[:made],
        events.right[:made],
    )


@kernel
def _worse(worst: float, values: Floats, kinds: int) -> float:
    """Return the largest of `worst` and the first `kinds` values; infinity if one is NaN."""
    for kind in range(kinds):
        value = values[kind, 0]
        if not value <= worst:
            worst = value if np.isfinite(value) else np.inf
    return worst


@kernel
def _end_difference(end: Floats, goal: Floats, place: float, speed: float) -> float:
    """Return the largest difference at the ends of intervals, over the scales `place`, `speed`.

    end, goal : (s, 2, n) x [m] and v [m/s] of the second integration and of the run
    """
    worst = 0.0
    for s in range(end.shape[0]):
        for i in range(end.shape[2]):
            far = abs(end[s, 0, i] - goal[s, 0, i]) / place
            fast = abs(end[s, 1, i] - goal[s, 1, i]) / speed
            # the negated comparison also holds for NaN
            if not (far <= worst and fast <= worst):
                worst = max(far, fast)
                if not np.isfinite(far + fast):
                    return np.inf
    return worst


@kernel
def _rate_of(p: Problem) -> float:
    """Return a bound of all eigenvalues of the motion [1/s], by Gershgorin's circles."""
    stiff = damp = 0.0
    for i in range(p.mass.size):
        k = (2.0 * (p.link_k[i] + p.link_k[i + 1]) + p.plate_k[i]) / p.mass[i]
        c = 2.0 * (p.link_c[i] + p.link_c[i + 1]) / p.mass[i]
        stiff, damp = max(stiff, k), max(damp, c)
    return float(np.sqrt(stiff) + damp)


@kernel
def _sizes(p: Problem, states: States, rate: float, k: ReplayWork) -> tuple[float, float]:
    """Return the scales of velocity [m/s] and displacement [m]; write `k.bound` and `k.hold`.

    rate : bound of the rates of the chain [1/s]
    """
    n, rows = p.mass.size, states.time.size
    speed = place = 0.0
    # scales as in `compare._set_scales`
    for s in range(rows):
        for i in range(n):
            speed, place = max(speed, abs(states.v[s, i])), max(place, abs(states.x[s, i]))
    speed += abs(p.belt)
    if speed == 0.0:
        speed = 1.0
    place += speed / rate
    late, load = 0.0, 0.0
    # largest load of linear parts and sines
    for e in range(2):
        t = states.time[0] if e == 0 else states.time[rows - 1]
        late = max(late, abs(t))
        segment = 0
        while segment + 1 < p.segment_time.size and p.segment_time[segment + 1] <= t:
            segment += 1
        straight = p.segment_offset[segment] + p.segment_rate[segment] * (
            t - p.segment_time[segment]
        )
        load = max(load, abs(straight))
    if p.segment_time.size > 1:
        for segment in range(p.segment_time.size):
            load = max(load, abs(p.segment_offset[segment]))
    waves = turns = 0.0
    for j in range(p.sine_amplitude.size):
        waves += abs(p.sine_amplitude[j])
        turns += abs(p.sine_amplitude[j]) * abs(p.sine_frequency[j])
    load += waves
    # the angle of a fast sine is rounded at late times
    turns *= 0.25 * late
    most_force = most_hold = push = 0.0
    damped, compared = False, True
    for i in range(n + 1):
        damped = damped or p.link_c[i] != 0.0
    for i in range(n):
        k.bound[i] = p.mu_static[i] * p.normal[i]
        compared = compared and k.bound[i] != 0.0
        force = (2.0 * place) * max(p.link_k[i + 1], p.link_k[i])
        force += abs(p.load_vector[i]) * load + k.bound[i]
        if damped:
            force += (2.0 * speed) * max(p.link_c[i + 1], p.link_c[i])
        force += p.plate_k[i] * (place + abs(p.plate_speed) * late)
        k.hold[i] = force
        most_force, most_hold = max(most_force, force), max(most_hold, k.bound[i])
        push = max(push, force / p.mass[i])
    for i in range(n):
        hold = k.bound[i]
        if not compared and not hold > 0.0:
            # a bound of zero is replaced by a fraction of the forces
            hold = max(most_hold, 1e-3 * most_force)
        k.hold[i] = hold + (16.0 * _EPS / _LIMIT) * (k.hold[i] + abs(p.load_vector[i]) * turns)
    # errors of velocities and displacements in one interval, by rounding of forces and of time
    loose = push * _EPS * (64.0 / rate + 4.0 * late)
    speed += loose / _LIMIT
    loose = 16.0 * _EPS * place + 4.0 / rate * loose + 4.0 * _EPS * late * speed
    place += loose / _LIMIT
    return speed, place


@kernel
def _saved_samples(saved: Saved, states: States, reach: float, k: ReplayWork) -> int:
    """List the saved samples to compare, and the state before each; return their number."""
    count, last = 0, states.time.size - 1
    for sample in range(saved.time.size):
        before = -1
        while before < last and states.time[before + 1] <= saved.time[sample]:
            before += 1
        if before < 0 or (before == last and saved.time[sample] != states.time[last]):
            continue
        if (saved.time[sample] - states.time[before]) * reach <= _LONGEST:
            k.sample[count], k.before[count] = sample, before
            count += 1
    return count
