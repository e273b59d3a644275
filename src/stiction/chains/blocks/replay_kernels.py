"""A second look at one of many motions, by the kernels of `chains.replay`.

It does what `replay.compare` does for one run with friction that does not depend on speed.
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
    Log,
    Model,
    Rows,
    Sizes,
    Way,
    gather,
    look,
    look_at_log,
)
from stiction.chains.replay.kernels import linear_ends
from stiction.numerics.jit import kernel

__all__ = ["Second", "replay"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# as in `replay.compare`
_LIMIT, _EPS, _LONGEST = 1e-8, 2.220446049250313e-16, 256.0


class Second(NamedTuple):
    """Work space of a second look, for as many states as a track holds, r, and two rows.

    follows : (r,) True; numbers : (r,) rising from 0; steps, row, before, piece : (r + 2,)
    time (r + 2, 2); start, goal, end (r + 2, 2, n); mode (r + 2, n)
    drive (r, n); sliding (2, n); hold, bound, zero (n,); worst (7, 2)
    work : as `linear_ends` takes it; weight : with room for the terms of the longest stretch
    """

    follows: npt.NDArray[np.bool_]
    numbers: Ints
    steps: Ints
    row: Ints
    before: Ints
    piece: Ints
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
    p: Problem,
    state: State,
    saved: Saved,
    events: Events,
    k: Second,
    replayed: Floats,
    b: int,
) -> None:
    """Write by how much the second look differs, and the limit, to row b of `replayed`.

    Infinite where something does not fit at all.

    Verified by: tests/unit/chains/blocks/test_event_driven.py::test_the_same_as_single_runs
    """
    rows, n = events.track.filled[0], p.mass.size
    replayed[b, 0], replayed[b, 1] = 0.0, _LIMIT
    if rows == 0:
        return
    track = events.track
    time, x, v, mode = track.time[:rows], track.x[:rows], track.v[:rows], track.mode[:rows]
    way = Way(time, x, v, mode, k.follows[:rows])
    rate = _rate_of(p)
    reach = rate
    for j in range(p.sine_frequency.size):
        reach = max(reach, abs(p.sine_frequency[j]))
    if reach == 0.0:
        reach = 1.0
    unit = rate if rate != 0.0 else 1.0
    speed, place = _sizes(p, way, unit, k)
    count = 0
    for j in range(rows - 1):
        if (time[j + 1] - time[j]) * reach <= _LONGEST:
            k.steps[count] = j
            count += 1
    kept = _rows(saved, way, reach, k)
    total = count + kept
    for i in range(n):
        k.zero[i] = p.normal[i] * p.mu_kinetic[i]
        for r in range(kept):
            k.sliding[r, i] = k.zero[i]
    held = Rows(
        k.row[:kept],
        k.before[:kept],
        saved.time,
        saved.x,
        saved.v,
        saved.mode,
        saved.friction,
        k.sliding[:kept],
    )
    spans, piece, end = k.time[:total], k.piece[:total], k.end[:total]
    start, goal, modes = k.start[:total], k.goal[:total], k.mode[:total]
    gather(p.piece_time, way, held, k.steps[:count], spans, piece, start, modes, goal)
    linear_ends(p, reach, spans, piece, start, modes, end, k.work, k.weight)
    worst = _apart(end, goal, place, speed)
    model = Model(
        p.link_k,
        p.link_c,
        p.share,
        p.plate_k,
        p.plate_speed,
        p.belt,
        k.zero,
        p.piece_time,
        p.piece_offset,
        p.piece_rate,
        p.sine_amplitude,
        p.sine_frequency,
        p.sine_phase,
    )
    sizes = Sizes(k.bound, k.hold, speed, place, unit)
    look(model, way, held, sizes, k.drive, k.worst[:6])
    worst = _worse(worst, k.worst, 6)
    log = _log(events, k, state.progress[0].events)
    if look_at_log(model, way, log, sizes, k.drive, k.worst):
        worst = _worse(worst, k.worst, 7)
    else:
        worst = np.inf
    replayed[b, 0] = worst


@kernel
def _log(events: Events, k: Second, made: int) -> Log:
    """Return the events that were made."""
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
def _worse(worst: float, found: Floats, kinds: int) -> float:
    """Return the largest of these; infinity where there is one that is no number."""
    for kind in range(kinds):
        value = found[kind, 0]
        if not value <= worst:
            worst = value if np.isfinite(value) else np.inf
    return worst


@kernel
def _apart(end: Floats, goal: Floats, place: float, speed: float) -> float:
    """Return the largest difference at the ends of stretches, over the largest place and speed."""
    worst = 0.0
    for s in range(end.shape[0]):
        for i in range(end.shape[2]):
            far = abs(end[s, 0, i] - goal[s, 0, i]) / place
            fast = abs(end[s, 1, i] - goal[s, 1, i]) / speed
            if not (far <= worst and fast <= worst):
                worst = max(far, fast)
                if not np.isfinite(far + fast):
                    return np.inf
    return worst


@kernel
def _rate_of(p: Problem) -> float:
    """Return a rate above all eigenvalues of the motion [1/s]: Gershgorin's circles."""
    stiff = damp = 0.0
    for i in range(p.mass.size):
        k = (2.0 * (p.link_k[i] + p.link_k[i + 1]) + p.plate_k[i]) / p.mass[i]
        c = 2.0 * (p.link_c[i] + p.link_c[i + 1]) / p.mass[i]
        stiff, damp = max(stiff, k), max(damp, c)
    return float(np.sqrt(stiff) + damp)


@kernel
def _sizes(p: Problem, way: Way, rate: float, k: Second) -> tuple[float, float]:
    """Return the largest speed and place, and write bounds and what forces are held against."""
    n, rows = p.mass.size, way.time.size
    speed = place = 0.0
    for s in range(rows):
        for i in range(n):
            speed, place = max(speed, abs(way.v[s, i])), max(place, abs(way.x[s, i]))
    speed += abs(p.belt)
    if speed == 0.0:
        speed = 1.0
    place += speed / rate
    late, load = 0.0, 0.0
    for e in range(2):
        t = way.time[0] if e == 0 else way.time[rows - 1]
        late = max(late, abs(t))
        piece = 0
        while piece + 1 < p.piece_time.size and p.piece_time[piece + 1] <= t:
            piece += 1
        straight = p.piece_offset[piece] + p.piece_rate[piece] * (t - p.piece_time[piece])
        load = max(load, abs(straight))
    if p.piece_time.size > 1:
        for piece in range(p.piece_time.size):
            load = max(load, abs(p.piece_offset[piece]))
    waves = turns = 0.0
    for j in range(p.sine_amplitude.size):
        waves += abs(p.sine_amplitude[j])
        turns += abs(p.sine_amplitude[j]) * abs(p.sine_frequency[j])
    load += waves
    # angles of fast sines are rounded at late times
    turns *= 0.25 * late
    most_force = most_hold = push = 0.0
    damped, held = False, True
    for i in range(n + 1):
        damped = damped or p.link_c[i] != 0.0
    for i in range(n):
        k.bound[i] = p.mu_static[i] * p.normal[i]
        held = held and k.bound[i] != 0.0
        force = (2.0 * place) * max(p.link_k[i + 1], p.link_k[i])
        force += abs(p.share[i]) * load + k.bound[i]
        if damped:
            force += (2.0 * speed) * max(p.link_c[i + 1], p.link_c[i])
        force += p.plate_k[i] * (place + abs(p.plate_speed) * late)
        k.hold[i] = force
        most_force, most_hold = max(most_force, force), max(most_hold, k.bound[i])
        push = max(push, force / p.mass[i])
    for i in range(n):
        hold = k.bound[i]
        if not held and not hold > 0.0:
            # a bound of zero is compared with the forces there are
            hold = max(most_hold, 1e-3 * most_force)
        k.hold[i] = hold + (16.0 * _EPS / _LIMIT) * (k.hold[i] + abs(p.share[i]) * turns)
    # what rounding of forces and of time makes of speeds and places in one stretch
    loose = push * _EPS * (64.0 / rate + 4.0 * late)
    speed += loose / _LIMIT
    loose = 16.0 * _EPS * place + 4.0 / rate * loose + 4.0 * _EPS * late * speed
    place += loose / _LIMIT
    return speed, place


@kernel
def _rows(saved: Saved, way: Way, reach: float, k: Second) -> int:
    """List the saved rows that are held against the motion, and the state before each."""
    count, last = 0, way.time.size - 1
    for row in range(saved.time.size):
        before = -1
        while before < last and way.time[before + 1] <= saved.time[row]:
            before += 1
        if before < 0 or (before == last and saved.time[row] != way.time[last]):
            continue
        if (saved.time[row] - way.time[before]) * reach <= _LONGEST:
            k.row[count], k.before[count] = row, before
            count += 1
    return count
