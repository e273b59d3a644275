"""What a replay asks of states, saved rows and events, for runs with compiled kernels.

They do what `compare` does in NumPy, state by state, and return the worst of each kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.elementary import sin
from stiction.numerics.jit import kernel

__all__ = [
    "OF_EVENTS",
    "OF_STATES",
    "Log",
    "Model",
    "Rows",
    "Sizes",
    "Way",
    "gather",
    "look",
    "look_at_log",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Modes = npt.NDArray[np.int8]

# what `look` and `look_at_log` write into the rows of `worst`, in this order
OF_STATES = (
    "friction of a stuck mass above its bound",
    "slip against the mode",
    "friction of a stuck mass above its bound",
    "slip against the mode",
    "the mode of a saved row",
    "the friction of a saved row",
)
OF_EVENTS = (
    "an event of another mass or kind",
    "the time of an event",
    "the place of an event",
    "the speed of an event",
    "the drive at an event",
    "slip at an event",
    "the friction of an event",
)


class Way(NamedTuple):
    """The states on the way; see `Trail`."""

    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    follows: npt.NDArray[np.bool_]


class Model(NamedTuple):
    """What `Forces` knows of a chain whose load is no user's function.

    It is made of the chain itself, so that a run is not held against what its method made of it.
    `zero` is (n,) friction [N] at no speed.
    """

    link_k: Floats
    link_c: Floats
    share: Floats
    plate_k: Floats
    plate_speed: float
    belt: float
    zero: Floats
    piece_time: Floats
    piece_offset: Floats
    piece_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats


class Rows(NamedTuple):
    """Saved rows: which of them are looked at, the state before each, and what they say.

    `sliding` is (r, n) the size of friction [N] if the mass slips.
    """

    row: Ints
    before: Ints
    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    friction: Floats
    sliding: Floats


class Log(NamedTuple):
    """The log of events, see `RawEvents`, and which of them are looked at."""

    logged: Ints
    time: Floats
    mass: Ints
    before: Ints
    after: Ints
    x: Floats
    v: Floats
    left: Floats
    right: Floats


class Sizes(NamedTuple):
    """What differences are held against: forces (n,) [N], the largest speed and place; the rate."""

    bound: Floats
    hold: Floats
    speed: float
    place: float
    rate: float


# ---- stretches


@kernel
def gather(
    piece_time: Floats,
    way: Way,
    rows: Rows,
    steps: Ints,
    time: Floats,
    piece: Ints,
    start: Floats,
    mode: Modes,
    goal: Floats,
) -> None:
    """Write the stretches from state to state, then those from states to saved rows.

    Parameters
    ----------
    piece_time : when each piece of the load begins [s]
    steps : states after which the next one follows
    time, piece, start, mode : as `kernels.linear_ends` takes them
    goal : (s, 2, n) what the run says of their ends
    """
    n, first = way.x.shape[1], steps.size
    for s in range(time.shape[0]):
        at = steps[s] if s < first else rows.before[s - first]
        time[s, 0] = way.time[at]
        time[s, 1] = way.time[at + 1] if s < first else rows.time[rows.row[s - first]]
        piece[s] = _piece_at(piece_time, time[s, 0])
        for i in range(n):
            start[s, 0, i], start[s, 1, i], mode[s, i] = way.x[at, i], way.v[at, i], way.mode[at, i]
            if s < first:
                goal[s, 0, i], goal[s, 1, i] = way.x[at + 1, i], way.v[at + 1, i]
            else:
                row = rows.row[s - first]
                goal[s, 0, i], goal[s, 1, i] = rows.x[row, i], rows.v[row, i]


@kernel
def _piece_at(piece_time: Floats, t: float) -> int:
    """Return the piece of the load that begins at or before t, the first at the earliest."""
    low, high = 0, piece_time.size
    while high - low > 1:
        middle = (low + high) // 2
        if piece_time[middle] <= t:
            low = middle
        else:
            high = middle
    return low


# ---- the inclusion


@kernel
def _load(p: Model, piece: int, t: float) -> float:
    """Return a load without a user's function [N]."""
    load: float = p.piece_offset[piece] + p.piece_rate[piece] * (t - p.piece_time[piece])
    for j in range(p.sine_amplitude.size):
        load += p.sine_amplitude[j] * sin(p.sine_frequency[j] * t + p.sine_phase[j])
    return load


@kernel
def _drive(p: Model, x: Floats, v: Floats, row: int, i: int, t: float, load: float) -> float:
    """Return the force on mass i without friction [N], at the state in a row of x and v."""
    last = p.share.size - 1
    left_x = x[row, i - 1] if i > 0 else 0.0
    left_v = v[row, i - 1] if i > 0 else 0.0
    right_x = x[row, i + 1] if i < last else 0.0
    right_v = v[row, i + 1] if i < last else 0.0
    left = p.link_k[i] * (x[row, i] - left_x) + p.link_c[i] * (v[row, i] - left_v)
    right = p.link_k[i + 1] * (right_x - x[row, i]) + p.link_c[i + 1] * (right_v - v[row, i])
    plate = p.plate_k[i] * (p.plate_speed * t - x[row, i])
    force: float = right - left + p.share[i] * load + plate
    return force


@kernel
def _note(worst: Floats, kind: int, value: float, t: float) -> None:
    """Keep the first largest value of a kind, and its time; a NaN is the worst of all."""
    before = worst[kind, 0]
    if value > before or (value != value and before == before):
        worst[kind, 0], worst[kind, 1] = value, t


@kernel
def look(p: Model, way: Way, rows: Rows, sizes: Sizes, drive: Floats, worst: Floats) -> None:
    """Look at stick and slip in all states, in their mode and the one before, and at saved rows.

    Parameters
    ----------
    drive : (m, n) filled with the forces on the masses without friction [N]
    worst : (6, 2) filled with the largest value of each of `OF_STATES`, and its time [s]

    Verified by: tests/unit/chains/replay/test_compare.py::test_kernels_and_arrays_agree
    """
    n, v = p.share.size, way.v
    for kind in range(worst.shape[0]):
        worst[kind, 0], worst[kind, 1] = 0.0, 0.0
    for s in range(way.time.size):
        t = way.time[s]
        load = _load(p, _piece_at(p.piece_time, t), t)
        for i in range(n):
            force, slip = _drive(p, way.x, v, s, i, t, load), v[s, i] - p.belt
            drive[s, i] = force
            for back in range(2):
                if back == 1 and (s == 0 or not way.follows[s]):
                    continue
                mode = way.mode[s - back, i]
                # what is not finite counts in either mode
                stuck = 1.0 if mode == 0 else 0.0
                excess = (abs(force) - sizes.bound[i]) * stuck / sizes.hold[i]
                _note(worst, 2 * back, excess, t)
                wrong = abs(slip) if mode == 0 else -mode * slip
                _note(worst, 2 * back + 1, wrong / sizes.speed, t)
    for q in range(rows.row.size):
        row, at = rows.row[q], rows.before[q]
        t = rows.time[row]
        load = _load(p, _piece_at(p.piece_time, way.time[at]), t)
        for i in range(n):
            mode = way.mode[at, i]
            _note(worst, 4, abs(float(rows.mode[row, i] - mode)), t)
            if mode == 0:
                force = _drive(p, rows.x, rows.v, row, i, t, load)
            else:
                force = mode * rows.sliding[q, i]
            force += rows.friction[row, i]
            _note(worst, 5, abs(force) / sizes.hold[i], t)


# ---- events


@kernel
def look_at_log(p: Model, way: Way, log: Log, sizes: Sizes, drive: Floats, worst: Floats) -> bool:
    """Hold each event of the log against the change of mode that it tells of.

    Parameters
    ----------
    drive : (m, n) as `look` fills it
    worst : (7, 2) filled with the largest value of each of `OF_EVENTS`, and its time [s]

    Returns
    -------
    Whether there are as many events as changes.
    """
    count, n = 0, p.share.size
    for kind in range(worst.shape[0]):
        worst[kind, 0], worst[kind, 1] = 0.0, 0.0
    for s in range(way.time.size):
        if s > 0 and not way.follows[s]:
            continue
        for i in range(n):
            if way.mode[s, i] == _mode_before(p, way, s, i):
                continue
            if count == log.logged.size:
                return False
            _look_at_event(p, way, log, sizes, drive, worst, (s, i, log.logged[count]))
            count += 1
    return count == log.logged.size


@kernel
def _mode_before(p: Model, way: Way, s: int, i: int) -> int:
    """Return the mode of mass i up to state s; at the start that of its slip."""
    if s > 0:
        return int(way.mode[s - 1, i])
    slip = way.v[0, i] - p.belt
    return 1 if slip > 0.0 else -1 if slip < 0.0 else 0


@kernel
def _look_at_event(
    p: Model,
    way: Way,
    log: Log,
    sizes: Sizes,
    drive: Floats,
    worst: Floats,
    place: tuple[int, int, int],
) -> None:
    """Hold event `place[2]` against the change of mode of mass `place[1]` at state `place[0]`."""
    s, i, e = place
    t, slip = way.time[s], way.v[s, i] - p.belt
    after, before = way.mode[s, i], _mode_before(p, way, s, i)
    other = log.mass[e] != i or log.before[e] != before or log.after[e] != after
    _note(worst, 0, 1.0 if other else 0.0, t)
    _note(worst, 1, abs(log.time[e] - t) * sizes.rate, t)
    _note(worst, 2, abs(log.x[e] - way.x[s, i]) / sizes.place, t)
    _note(worst, 3, abs(log.v[e] - way.v[s, i]) / sizes.speed, t)
    # the drive is past the bound on the side to which the mass goes, or within it
    force, bound, hold = drive[s, i], sizes.bound[i], sizes.hold[i]
    missing = abs(force) - bound if after == 0 else bound - after * force
    _note(worst, 4, missing / hold, t)
    if t != way.time[0] or before == 0:
        _note(worst, 5, abs(slip) / sizes.speed, t)
    # friction as the log tells it: what held before, and what holds from there
    law = p.zero[i]
    left = (force if before == 0 else before * law) + log.left[e]
    right = (force if after == 0 else after * law) + log.right[e]
    _note(worst, 6, abs(left) / hold, t)
    _note(worst, 6, abs(right) / hold, t)
