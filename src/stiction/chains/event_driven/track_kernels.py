"""States on the way, kept so that the run can be gone through again by other means."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.series_kernels import evaluate
from stiction.chains.event_driven.state import Problem, Scratch, State, Track
from stiction.numerics.jit import kernel

__all__ = ["MOST_BETWEEN", "track_full", "track_state", "track_step"]

Floats = npt.NDArray[np.float64]

# rows within one step; a step is at most 4 radians of the fastest motion, if anything moves
MOST_BETWEEN = 15


@kernel
def track_full(track: Track) -> bool:
    """Return whether the rows of one more step and of the end may find no room."""
    rows = track.time.size
    full: bool = rows > 0 and track.filled[0] + MOST_BETWEEN + 2 > rows
    return full


@kernel
def track_state(state: State, track: Track, t: float) -> None:
    """Keep the present state."""
    if track.time.size > 0:
        _keep(state, track, t, state.x, state.v)


@kernel
def track_step(
    p: Problem, state: State, track: Track, s: Scratch, count: int, t: float, tau: float
) -> None:
    """Keep the state at the start of a step, and states within it."""
    if track.time.size == 0:
        return
    _keep(state, track, t, state.x, state.v)
    # the negation also stops at NaN, of a law that was given up
    if count == 0 or not tau > track.spacing:
        return
    between = int(min(tau / track.spacing, float(MOST_BETWEEN)))
    for c in range(state.x.size):
        s.xs[c] = state.x[c]
        s.vs[c] = state.v[c]
    for j in range(1, between + 1):
        part = tau * j / (between + 1)
        evaluate(p, part, s.active, count, state.mode, s, s.xs, s.vs)
        _keep(state, track, t + part / p.rate, s.xs, s.vs)


@kernel
def _keep(state: State, track: Track, t: float, x: Floats, v: Floats) -> None:
    row = track.filled[0]
    track.time[row] = t
    for i in range(state.mode.size):
        track.x[row, i] = x[i + 1]
        track.v[row, i] = v[i + 1]
        track.mode[row, i] = state.mode[i]
    track.filled[0] += 1
