"""States of the trajectory at and within steps, recorded for the replay.

The replay (`chains.replay`) verifies a run: it integrates the equation of motion again by another
method and compares the states. p, `state`, `track` and s are the tuples of `state`. The states come
from the Taylor series of `series_kernels`. `step_kernels` calls these kernels in each step;
`event_driven.run` empties the buffer `Track` between calls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.series_kernels import evaluate
from stiction.chains.event_driven.state import Problem, Scratch, State, Track
from stiction.numerics.jit import kernel

__all__ = ["MOST_BETWEEN", "track_is_full", "track_state", "track_step"]

Floats = npt.NDArray[np.float64]

# states within one step. A step spans at most 4 radians of the fastest motion, if a mass slips, so
# that the replay interpolates over about a quarter of a radian
MOST_BETWEEN = 15


@kernel
def track_is_full(track: Track) -> bool:
    """Return whether the states of one more step and of the end may not fit in the buffer."""
    samples = track.time.size
    full: bool = samples > 0 and track.filled[0] + MOST_BETWEEN + 2 > samples
    return full


@kernel
def track_state(state: State, track: Track, t: float) -> None:
    """Record the present state."""
    if track.time.size > 0:
        _append(state, track, t, state.x, state.v)


@kernel
def track_step(
    p: Problem, state: State, track: Track, s: Scratch, count: int, t: float, tau: float
) -> None:
    """Record the state at the start of a step, and evenly spaced states within it."""
    if track.time.size == 0:
        return
    _append(state, track, t, state.x, state.v)
    # the negated comparison also holds for NaN, after an exception in a user's law
    if count == 0 or not tau > track.spacing:
        return
    between = int(min(tau / track.spacing, float(MOST_BETWEEN)))
    for c in range(state.x.size):
        s.xs[c] = state.x[c]
        s.vs[c] = state.v[c]
    for j in range(1, between + 1):
        part = tau * j / (between + 1)
        evaluate(p, part, s.active, count, state.mode, s, s.xs, s.vs)
        _append(state, track, t + part / p.rate, s.xs, s.vs)


@kernel
def _append(state: State, track: Track, t: float, x: Floats, v: Floats) -> None:
    """Append the state x [m], v [m/s] (n + 2,) at time t [s], with the modes of the step."""
    sample = track.filled[0]
    track.time[sample] = t
    for i in range(state.mode.size):
        track.x[sample, i] = x[i + 1]
        track.v[sample, i] = v[i + 1]
        track.mode[sample, i] = state.mode[i]
    track.filled[0] += 1
