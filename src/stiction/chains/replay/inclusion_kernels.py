"""Compiled tests of the friction inclusion at states, saved samples and events of a run.

For each mass the inclusion is  R - m v' in mu N Sgn(w):  |R| <= mu_s N and w = 0 in stick, and
sigma w >= 0 in slip with mode sigma. Here R is the sum of all forces but friction, and w the slip
rate. The balance in slip is tested by the integration between states. The kernels return the
largest violation of each kind to `compare` and `blocks.replay_kernels`. n is the number of masses,
m that of states, r that of saved samples.
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
    "Loads",
    "Log",
    "Model",
    "SavedSamples",
    "Sizes",
    "States",
    "check_log",
    "check_states",
    "gather",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Modes = npt.NDArray[np.int8]

# kinds of violation, in the order in which `check_states` and `check_log` write them to `worst`.
# The first two of a state are tested with the mode after it, the next two with the mode before it
OF_STATES = (
    "friction of a stuck mass above its bound",
    "slip against the mode",
    "friction of a stuck mass above its bound",
    "slip against the mode",
    "the mode of a saved sample",
    "the friction of a saved sample",
)
_ABOVE_BOUND, _AGAINST_MODE, _OF_MODE_BEFORE, _SAMPLE_MODE, _SAMPLE_FRICTION = 0, 1, 2, 4, 5
OF_EVENTS = (
    "an event of another mass or kind",
    "the time of an event",
    "the displacement of an event",
    "the velocity of an event",
    "the drive at an event",
    "slip at an event",
    "the friction of an event",
)
_CHANGE, _TIME, _PLACE, _VELOCITY, _DRIVE, _SLIP, _FRICTION = range(7)


class States(NamedTuple):
    """States of the trajectory: time (m,) [s], x [m], v [m/s] and modes -1, 0, 1 (m, n).

    `follows` (m,) is whether no state is missing before a state.
    """

    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    follows: npt.NDArray[np.bool_]


class Loads(NamedTuple):
    """Loads [N] that contain a user's function or may jump; empty for loads that `Model` describes.

    `after` and `before` are (m,) values just after and before each state, `sample` (r,) those at
    the saved samples. `jumps` is (m,) whether the load may jump at a state.
    """

    after: Floats
    before: Floats
    sample: Floats
    jumps: npt.NDArray[np.bool_]


class Model(NamedTuple):
    """Parameters of a chain, without a user's function, in the order of `Forces.numbers`.

    They come from the chain itself, so that errors in the arrays of the method are detected. Names
    and units are those of `event_driven.state.Problem`. `zero` is (n,) kinetic friction [N] at slip
    rate zero.
    """

    link_k: Floats
    link_c: Floats
    load_vector: Floats
    plate_k: Floats
    plate_speed: float
    belt: float
    zero: Floats
    segment_time: Floats
    segment_offset: Floats
    segment_rate: Floats
    sine_amplitude: Floats
    sine_frequency: Floats
    sine_phase: Floats


class SavedSamples(NamedTuple):
    """Saved samples: indices of those to test, the state before each, and all samples.

    `sliding` is the magnitude (r, n) of kinetic friction [N].
    """

    sample: Ints
    before: Ints
    time: Floats
    x: Floats
    v: Floats
    mode: Modes
    friction: Floats
    sliding: Floats


class Log(NamedTuple):
    """The recorded events, see `RawEvents`, and the indices of those to test."""

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
    """Scales of differences.

    bound, hold : (n,) static bound mu_s N, and the scale of differences of forces [N]
    speed, place, rate : largest speed [m/s] and displacement [m], fastest rate of the chain [1/s]
    """

    bound: Floats
    hold: Floats
    speed: float
    place: float
    rate: float


# ---- intervals


@kernel
def gather(
    segment_time: Floats,
    states: States,
    saved: SavedSamples,
    steps: Ints,
    time: Floats,
    segment: Ints,
    start: Floats,
    mode: Modes,
    goal: Floats,
) -> None:
    """Write the intervals between states, then those from states to saved samples.

    Parameters
    ----------
    segment_time : start of each segment of the load [s]
    steps : indices of states that are followed by the next one
    time, segment, start, mode : as `kernels.linear_ends` takes them
    goal : (s, 2, n) states of the run at the ends
    """
    n, first = states.x.shape[1], steps.size
    # from each state to the next one, or to a saved sample
    for s in range(time.shape[0]):
        at = steps[s] if s < first else saved.before[s - first]
        time[s, 0] = states.time[at]
        time[s, 1] = states.time[at + 1] if s < first else saved.time[saved.sample[s - first]]
        segment[s] = _segment_at(segment_time, time[s, 0])
        for i in range(n):
            start[s, 0, i], start[s, 1, i], mode[s, i] = (
                states.x[at, i],
                states.v[at, i],
                states.mode[at, i],
            )
            if s < first:
                goal[s, 0, i], goal[s, 1, i] = states.x[at + 1, i], states.v[at + 1, i]
            else:
                sample = saved.sample[s - first]
                goal[s, 0, i], goal[s, 1, i] = saved.x[sample, i], saved.v[sample, i]


@kernel
def _segment_at(segment_time: Floats, t: float) -> int:
    """Return the index of the load segment at time t, by bisection."""
    low, high = 0, segment_time.size
    while high - low > 1:
        middle = (low + high) // 2
        if segment_time[middle] <= t:
            low = middle
        else:
            high = middle
    return low


# ---- the inclusion


@kernel
def _load(p: Model, segment: int, t: float) -> float:
    """Return a load without a user's function [N]."""
    # a straight line on the segment, and sines
    load: float = p.segment_offset[segment] + p.segment_rate[segment] * (
        t - p.segment_time[segment]
    )
    for j in range(p.sine_amplitude.size):
        load += p.sine_amplitude[j] * sin(p.sine_frequency[j] * t + p.sine_phase[j])
    return load


@kernel
def _drive(p: Model, x: Floats, v: Floats, sample: int, i: int, t: float, load: float) -> float:
    """Return the force on mass i without friction [N], at the state in row `sample` of x and v."""
    # walls at both ends: displacement and velocity 0
    last = p.load_vector.size - 1
    left_x = x[sample, i - 1] if i > 0 else 0.0
    left_v = v[sample, i - 1] if i > 0 else 0.0
    right_x = x[sample, i + 1] if i < last else 0.0
    right_v = v[sample, i + 1] if i < last else 0.0
    # link forces first, then their difference
    left = p.link_k[i] * (x[sample, i] - left_x) + p.link_c[i] * (v[sample, i] - left_v)
    right = p.link_k[i + 1] * (right_x - x[sample, i]) + p.link_c[i + 1] * (right_v - v[sample, i])
    plate = p.plate_k[i] * (p.plate_speed * t - x[sample, i])
    force: float = right - left + p.load_vector[i] * load + plate
    return force


@kernel
def _record_worst(worst: Floats, kind: int, value: float, t: float) -> None:
    """Store the first largest value of a kind and its time; NaN counts as the largest."""
    before = worst[kind, 0]
    if value > before or (value != value and before == before):
        worst[kind, 0], worst[kind, 1] = value, t


@kernel
def check_states(
    p: Model,
    states: States,
    loads: Loads,
    saved: SavedSamples,
    sizes: Sizes,
    drive: Floats,
    worst: Floats,
) -> None:
    """Test the inclusion in all states, in their mode and the one before, and in saved samples.

    Parameters
    ----------
    drive : (m, n) filled with the forces on the masses without friction [N]
    worst : (6, 2) filled with the largest value of each of `OF_STATES`, and its time [s]

    Verified by: tests/unit/chains/replay/test_compare.py::test_damage_is_detected
    """
    n, v, special = p.load_vector.size, states.v, loads.after.size > 0
    for kind in range(worst.shape[0]):
        worst[kind, 0], worst[kind, 1] = 0.0, 0.0
    for s in range(states.time.size):
        t = states.time[s]
        load = loads.after[s] if special else _load(p, _segment_at(p.segment_time, t), t)
        jump = load - loads.before[s] if special else 0.0
        for i in range(n):
            # R and w of the inclusion; R is tested again at the event of this state
            force, slip = _drive(p, states.x, v, s, i, t, load), v[s, i] - p.belt
            drive[s, i] = force
            # at an event the inclusion holds with the modes before and after it
            for back in range(2):
                if back == 1 and (s == 0 or not states.follows[s]):
                    continue
                # just before a jump of the load R differs by b times the jump
                if back == 1:
                    force -= p.load_vector[i] * jump
                mode = states.mode[s - back, i]
                # a product, not a branch, so that NaN counts in either mode
                stuck = 1.0 if mode == 0 else 0.0
                excess = (abs(force) - sizes.bound[i]) * stuck / sizes.hold[i]
                _record_worst(worst, _OF_MODE_BEFORE * back + _ABOVE_BOUND, excess, t)
                # w = 0 in stick, sigma w >= 0 in slip
                wrong = abs(slip) if mode == 0 else -mode * slip
                _record_worst(worst, _OF_MODE_BEFORE * back + _AGAINST_MODE, wrong / sizes.speed, t)
    # saved samples: mode, and friction against the law or the balance
    for q in range(saved.sample.size):
        sample, at = saved.sample[q], saved.before[q]
        t = saved.time[sample]
        segment = _segment_at(p.segment_time, states.time[at])
        load = loads.sample[q] if special else _load(p, segment, t)
        for i in range(n):
            mode = states.mode[at, i]
            _record_worst(worst, _SAMPLE_MODE, abs(float(saved.mode[sample, i] - mode)), t)
            # friction F of the sample: F = -R in stick, F = -sigma mu(|w|) N in slip
            if mode == 0:
                force = _drive(p, saved.x, saved.v, sample, i, t, load)
            else:
                force = mode * saved.sliding[q, i]
            force += saved.friction[sample, i]
            _record_worst(worst, _SAMPLE_FRICTION, abs(force) / sizes.hold[i], t)


# ---- events


@kernel
def check_log(
    p: Model, states: States, loads: Loads, log: Log, sizes: Sizes, drive: Floats, worst: Floats
) -> bool:
    """Compare each recorded event with the mode change in the trajectory.

    Parameters
    ----------
    drive : (m, n) as `check_states` fills it
    worst : (7, 2) filled with the largest value of each of `OF_EVENTS`, and its time [s]

    Returns
    -------
    Whether there are as many events as changes.
    """
    count, n = 0, p.load_vector.size
    for kind in range(worst.shape[0]):
        worst[kind, 0], worst[kind, 1] = 0.0, 0.0
    for s in range(states.time.size):
        # states before this one are missing, so that its mode changes are unknown
        if s > 0 and not states.follows[s]:
            continue
        for i in range(n):
            if states.mode[s, i] == _mode_before(p, states, s, i):
                continue
            # more changes than events
            if count == log.logged.size:
                return False
            place = (s, i, log.logged[count])
            _check_event(p, states, loads, log, sizes, drive, worst, place)
            count += 1
    return count == log.logged.size


@kernel
def _mode_before(p: Model, states: States, s: int, i: int) -> int:
    """Return the mode of mass i before state s; at the start the sign of its slip rate."""
    if s > 0:
        return int(states.mode[s - 1, i])
    slip = states.v[0, i] - p.belt
    return 1 if slip > 0.0 else -1 if slip < 0.0 else 0


@kernel
def _check_event(
    p: Model,
    states: States,
    loads: Loads,
    log: Log,
    sizes: Sizes,
    drive: Floats,
    worst: Floats,
    place: tuple[int, int, int],
) -> None:
    """Compare event `place[2]` with the mode change of mass `place[1]` at state `place[0]`."""
    s, i, e = place
    t, slip = states.time[s], states.v[s, i] - p.belt
    after, before = states.mode[s, i], _mode_before(p, states, s, i)
    # kinds 0 to 3: mass and modes, time, displacement, velocity
    other = log.mass[e] != i or log.before[e] != before or log.after[e] != after
    _record_worst(worst, _CHANGE, 1.0 if other else 0.0, t)
    _record_worst(worst, _TIME, abs(log.time[e] - t) * sizes.rate, t)
    _record_worst(worst, _PLACE, abs(log.x[e] - states.x[s, i]) / sizes.place, t)
    _record_worst(worst, _VELOCITY, abs(log.v[e] - states.v[s, i]) / sizes.speed, t)
    # at a jump of the load the event may hold its value on either side
    if loads.jumps.size > 0 and loads.jumps[s]:
        return
    # after release the drive exceeds the bound in the direction of slip; in stick it is within it
    force, bound, hold = drive[s, i], sizes.bound[i], sizes.hold[i]
    missing = abs(force) - bound if after == 0 else bound - after * force
    _record_worst(worst, _DRIVE, missing / hold, t)
    if t != states.time[0] or before == 0:
        _record_worst(worst, _SLIP, abs(slip) / sizes.speed, t)
    # friction of the event on both sides: the reaction in stick, the law in slip
    law = p.zero[i]
    left = (force if before == 0 else before * law) + log.left[e]
    right = (force if after == 0 else after * law) + log.right[e]
    _record_worst(worst, _FRICTION, abs(left) / hold, t)
    _record_worst(worst, _FRICTION, abs(right) / hold, t)
