"""Motion between events with any smooth friction or load: a Runge-Kutta method of order 8.

It integrates x' = v, m v' = R - mode N mu(|v - V|) for slipping masses, with the forces R but
friction and the belt speed V; masses in stick have no acceleration.
Many intervals are integrated at once, one column each, with fixed steps; `compare` halves the steps
of intervals that disagree with the run, and calls `ends` where kernels are not compiled.
`kernels.smooth_ends` is the compiled form.
Source: Cooper, Verner, SIAM J. Numer. Anal. 9 (1972) 389, the method with 11 stages.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.replay.forces import Forces, Intervals

__all__ = ["STAGES", "TIMES", "WEIGHTS", "ends"]

Floats = npt.NDArray[np.float64]

_S = math.sqrt(21.0)
# Butcher matrix: row j has the weights of the earlier stages in stage j
_STAGES: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 2,),
    (1 / 4, 1 / 4),
    (1 / 7, (-7 - 3 * _S) / 98, (21 + 5 * _S) / 49),
    ((11 + _S) / 84, 0, (18 + 4 * _S) / 63, (21 - _S) / 252),
    ((5 + _S) / 48, 0, (9 + _S) / 36, (-231 + 14 * _S) / 360, (63 - 7 * _S) / 80),
    ((10 - _S) / 42, 0, (-432 + 92 * _S) / 315, (633 - 145 * _S) / 90, (-504 + 115 * _S) / 70,
     (63 - 13 * _S) / 35),
    (1 / 14, 0, 0, 0, (14 - 3 * _S) / 126, (13 - 3 * _S) / 63, 1 / 9),
    (1 / 32, 0, 0, 0, (91 - 21 * _S) / 576, 11 / 72, (-385 - 75 * _S) / 1152,
     (63 + 13 * _S) / 128),
    (1 / 14, 0, 0, 0, 1 / 9, (-733 - 147 * _S) / 2205, (515 + 111 * _S) / 504,
     (-51 - 11 * _S) / 56, (132 + 28 * _S) / 245),
    (0, 0, 0, 0, (-42 + 7 * _S) / 18, (-18 + 28 * _S) / 45, (-273 - 53 * _S) / 72,
     (301 + 53 * _S) / 72, (28 - 28 * _S) / 45, (49 - 7 * _S) / 18),
)  # fmt: skip
# numbers in one array of a batch of intervals: more would leave the cache
_BATCH = 9_600
WEIGHTS = np.array([1 / 20, 0, 0, 0, 0, 0, 0, 49 / 180, 16 / 45, 49 / 180, 1 / 20])
_STAGE_ROWS = [np.array(row) for row in _STAGES]
TIMES = np.array([sum(row) for row in _STAGES])
STAGES = np.array([[*row, *([0.0] * (11 - len(row)))] for row in _STAGES])


def ends(forces: Forces, intervals: Intervals, parts: Floats) -> tuple[Floats, Floats]:
    """Return (n, s) displacements [m] and velocities [m/s] at the ends of the intervals.

    Parameters
    ----------
    parts : (s,) number of steps of each interval

    Verified by: tests/unit/chains/replay/test_smooth.py::test_order_of_the_method
    """
    n, s = intervals.x.shape
    x, v, size = np.empty((n, s)), np.empty((n, s)), max(32, _BATCH // n)
    # batches with equal numbers of steps
    for many in np.unique(parts).tolist():
        alike = np.flatnonzero(parts == many)
        for first in range(0, alike.size, size):
            at = alike[first : first + size]
            x[:, at], v[:, at] = _batch(forces, intervals.part(at), int(many))
    return x, v


def _batch(f: Forces, intervals: Intervals, parts: int) -> tuple[Floats, Floats]:
    """Return (n, s) displacements and velocities at the ends, after `parts` steps each."""
    n, s = intervals.x.shape
    h = (intervals.t1 - intervals.t0) / parts
    own = f.segments.function is not None
    first, last = np.nextafter(intervals.t0, intervals.t1), np.nextafter(intervals.t1, intervals.t0)
    push = f.push(intervals.t0, f.load(intervals.t0, intervals.segment))
    steady = f.steady and not (f.plate and f.plate_speed != 0.0)
    gain = (intervals.mode != 0.0) / f.mass
    # both derivatives in one array: one product gives both sums of a stage
    slopes, state, start = (
        np.empty((len(_STAGE_ROWS), 2, n, s)),
        np.empty((2, n, s)),
        np.empty((2, n, s)),
    )
    start[0], start[1] = intervals.x, intervals.v
    for part in range(parts):
        for j, row in enumerate(_STAGE_ROWS):
            if j == 0:
                state[...] = start
            else:
                np.matmul(row, slopes[:j].reshape(j, -1), out=state.reshape(-1))
                state *= h
                state += start
            if not steady:
                t = intervals.t0 + (part + TIMES[j]) * h
                if own:
                    # at a jump at either end take the value inside the interval
                    t = np.clip(t, np.minimum(first, last), last)
                push = f.push(t, f.load(t, intervals.segment))
            force = slopes[j, 1]
            slopes[j, 0] = state[1]
            f.pull(state[0], state[1], force)
            force += push
            force -= intervals.mode * f.friction(intervals.mode * (state[1] - f.belt))
            force *= gain
        np.matmul(WEIGHTS, slopes.reshape(len(_STAGE_ROWS), -1), out=state.reshape(-1))
        state *= h
        start += state
    return start[0], start[1]
