"""Many trajectories one after the other in one set of arrays: kernels without the interpreter."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import advance
from stiction.switching.flow.rates import (
    DIRECTION,
    EXTRA,
    EXTRA2,
    FIELD,
    MINUS,
    PLUS,
    SIGNS,
    SURFACE,
    K,
    M,
    N,
    normals,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.records import (
    AT,
    DONE,
    EVENTS_FULL,
    KIND,
    LAST_EVENT,
    LEAVE,
    N_EVENTS,
    N_SAVES,
    NOT_FINITE,
    PAUSED,
    PILED_UP,
    STEPS,
    TWO_FOLD_HIT,
    Flow,
)
from stiction.switching.flow.surfaces import begin_mode, landing, project, surface_speed

__all__ = ["NO_SIDE", "NO_START", "STOPPED_AT", "follow", "note_end", "one", "place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., object])

# further ends of a trajectory, above those of `records`: a start in an escaping region
# without a side; one that is not where its sign says; an event the caller waits for, whose
# kind is added to STOPPED_AT
NO_SIDE, NO_START, STOPPED_AT = 10, 11, 12
# a start this close to a surface, in units of |grad h| times the state, is on it
_ON_SURFACE = 1e-11
# a start with a given sign may be this far on the wrong side of the surface, or off it
_OFF = 1e-6
# L+ and L- of a two-fold, over |grad h| |f|: at a start, and where events piled up
_AT_TWO_FOLD, _PILED_AT_TWO_FOLD = 1e-10, 1e-5
# what is kept of an end: its time and how fast the state moves; the code and the steps
ENDED_AT, SPEED = range(2)
CODE, TAKEN = range(2)
# what limits all trajectories of a block: end time, direction of time, most steps
END, WAY, MOST = range(3)
# when a state that slides leaves, and to which side
UNTIL, TO_SIDE = range(2)


class Grid(NamedTuple):
    """Cells of two states in which time is counted; nothing is where there are none.

    axes (2,) which states, low and width (2,) of the cells, cells (c_1, c_2) times, filled
    """

    axes: Ints
    low: Floats
    width: Floats
    cells: Floats


class Ends(NamedTuple):
    """Rows that are filled, one per start of a block.

    state (b, n), signs (b, m), numbers (b, 2) time and speed, codes (b, 2) code and steps,
    counts of events (b, kinds), first (b, kinds) times of the first ones
    """

    state: Floats
    signs: Floats
    numbers: Floats
    codes: Ints
    counts: npt.NDArray[np.int32]
    first: Floats


@kernel
def _fold_gap(flow: Flow, i: int) -> float:
    """Return the larger of |L+|, |L-| of surface i, over |grad h| |f|."""
    n = flow.system[N]
    x, work = flow.y[:n], flow.work
    up, down = slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, work)
    speed = surface_speed(flow.grad, i, work[PLUS, :n], work[MINUS, :n])
    return max(abs(up), abs(down)) / speed if speed > 0.0 else 0.0


@kernel
def _set_kinks(flow: Flow) -> None:
    """Set the signs of the kink functions; where one is zero, those a little later."""
    n, m, k = flow.system[N], flow.system[M], flow.system[K]
    if k == 0:
        return
    x, work = flow.y[:n], flow.work
    for i in range(m):
        work[SIGNS, i] = flow.sides[i] if flow.sides[i] != 0.0 else 1.0
    call_arrays(flow.system[FIELD], x, work[SIGNS], flow.p, work[PLUS])
    call_arrays(flow.system[SURFACE], x, work[SIGNS], flow.p, work[EXTRA])
    fastest, unit, size = 1e-300, np.inf, 1.0
    for c in range(n):
        fastest = max(fastest, abs(work[PLUS, c]))
        unit = min(unit, flow.scale[c])
        size = max(size, abs(x[c]))
    ahead = flow.pace[DIRECTION] * 1e-7 * unit / fastest
    later = flow.spare
    for c in range(n):
        later[c] = x[c] + ahead * work[PLUS, c]
    call_arrays(flow.system[SURFACE], later[:n], work[SIGNS], flow.p, work[EXTRA2])
    for j in range(k):
        value = work[EXTRA, m + j]
        if abs(value) <= 1e-13 * size:
            value = work[EXTRA2, m + j]
        flow.kinks[j] = 1.0 if value >= 0.0 else -1.0


@kernel
def _put(flow: Flow, t: float) -> None:
    """Begin at the state in y with the signs in `sides`, as if the trajectory started there."""
    n, m = flow.system[N], flow.system[M]
    x, work, level = flow.y[:n], flow.work, flow.start
    flow.y[n] = t
    for i in range(flow.order.size):
        flow.order[i] = 0
    for i in range(flow.clock.size):
        flow.clock[i] = 0.0
    flow.clock[LAST_EVENT] = t
    normals(flow.system, flow.p, flow.scale, x, flow.grad, work)
    call_arrays(flow.system[SURFACE], x, flow.sides, flow.p, work[EXTRA])
    for i in range(m):
        reach = 0.0
        for c in range(n):
            reach += abs(flow.grad[i, c]) * max(abs(x[c]), flow.scale[c])
        near = abs(work[EXTRA, i]) <= _ON_SURFACE * reach
        level[0, i] = 1.0 if near or work[EXTRA, i] * flow.sides[i] <= 0.0 else 0.0
    for i in range(m):
        if flow.sides[i] == 0.0:
            project(flow, i)
        elif level[0, i] != 0.0:
            project(flow, i)
            flow.order[i] = 2 if landing(flow, i).fold else 1
    _set_kinks(flow)
    begin_mode(flow)


@kernel
def _choose_sides(flow: Flow) -> int:
    """Replace each sign that is NaN by the one the field forces; return a code, DONE if all are."""
    n, m = flow.system[N], flow.system[M]
    x, work = flow.y[:n], flow.work
    normals(flow.system, flow.p, flow.scale, x, flow.grad, work)
    call_arrays(flow.system[SURFACE], x, flow.scale, flow.p, work[EXTRA])
    values, asked = flow.start[0], flow.start[1]
    for i in range(m):
        reach = 0.0
        for c in range(n):
            reach += abs(flow.grad[i, c]) * max(abs(x[c]), flow.scale[c])
        values[i], asked[i] = work[EXTRA, i], 0.0
        if flow.sides[i] != flow.sides[i]:
            asked[i] = 1.0 if abs(values[i]) <= _ON_SURFACE * reach else 0.0
            flow.sides[i] = 1.0 if values[i] > 0.0 else -1.0
        else:
            wrong = abs(values[i]) if flow.sides[i] == 0.0 else -values[i] * flow.sides[i]
            if wrong > _OFF * reach:
                return NO_START
    for i in range(m):
        if asked[i] == 0.0:
            continue
        flow.sides[i] = 0.0
        begin_mode(flow)
        if _fold_gap(flow, i) <= _AT_TWO_FOLD:
            return TWO_FOLD_HIT
        here = landing(flow, i)
        if here.escaping and not here.fold:
            return NO_SIDE
        flow.sides[i] = 0.0 if here.escaping or here.along else 1.0 if here.plus else -1.0
    return DONE


@kernel
def place(flow: Flow, t: float, x: Vector, sides: Vector, way: float) -> int:
    """Put a trajectory at (t, x) with the given signs; return DONE, or why it cannot start.

    Parameters
    ----------
    sides : (m,) +1, -1, 0 for sliding, NaN for what the field forces
    way : 1, or -1 for backward in time

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    n = flow.system[N]
    for i in range(flow.count.size):
        flow.count[i] = 0
    flow.pace[DIRECTION] = way
    for c in range(n):
        flow.y[c] = x[c]
        if not np.isfinite(x[c]):
            return NOT_FINITE
    flow.y[n] = t
    for i in range(sides.size):
        flow.sides[i] = sides[i]
    code = _choose_sides(flow)
    if code == DONE:
        _put(flow, t)
    return code


@kernel
def one(
    flow: Flow,
    t_end: float,
    dwell: float,
    side: float,
    max_steps: int,
    stop: Integers,
    counts: npt.NDArray[np.int32],
    first: Vector,
) -> int:
    """Follow one trajectory that has been placed; return how it ended.

    Parameters
    ----------
    dwell, side : a state that slides leaves to `side` at this time; inf for never
    stop : (kinds,) 1 for the kinds of events that end it
    counts, first : (kinds,) how many events of each kind, and the time of the first
    """
    n = flow.system[N]
    leave_at, events = dwell, 0
    for c in range(first.size):
        first[c], counts[c] = np.nan, 0
    while True:
        room = max_steps - flow.count[STEPS] - events
        if room <= 0:
            return PAUSED
        code = advance(flow, min(t_end, leave_at) if leave_at < np.inf else t_end, room)
        ended = -1
        for row in range(flow.count[N_EVENTS]):
            kind = int(flow.event[row, KIND])
            events += 1
            counts[kind] += 1
            if counts[kind] == 1:
                first[kind] = flow.event[row, AT]
            if ended < 0 and stop[kind] != 0:
                ended = STOPPED_AT + kind
        flow.count[N_EVENTS] = 0
        if code == PILED_UP and _fold_gap(flow, 0) <= _PILED_AT_TWO_FOLD:
            return TWO_FOLD_HIT
        if ended >= 0 and code in (DONE, PAUSED, EVENTS_FULL):
            return ended
        if code == DONE and leave_at < t_end:
            leave_at = np.inf
            i = sliding_surface(flow.sides)
            if i >= 0:
                flow.sides[i] = side
                counts[LEAVE] += 1
                events += 1
                if counts[LEAVE] == 1:
                    first[LEAVE] = flow.y[n]
                _put(flow, flow.y[n])
            continue
        if code != EVENTS_FULL:
            return code


@kernel
def _speed(flow: Flow) -> float:
    """Return how fast the state moves where it ended, in units of its scale."""
    n, m = flow.system[N], flow.system[M]
    x, work = flow.y[:n], flow.work
    i = sliding_surface(flow.sides)
    share = 1.0
    if i >= 0:
        up, down = slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, work)
        share = down / (down - up) if down != up else 0.5
    else:
        for j in range(m):
            work[SIGNS, j] = flow.sides[j]
        call_arrays(flow.system[FIELD], x, work[SIGNS], flow.p, work[PLUS])
    total = 0.0
    for c in range(n):
        rate = work[PLUS, c]
        if i >= 0:
            rate = share * rate + (1.0 - share) * work[MINUS, c]
        rate /= flow.scale[c]
        total += rate * rate
    return math.sqrt(total)


@kernel
def _tally(flow: Flow, axes: Integers, low: Vector, width: Vector, cells: Matrix) -> float:
    """Add the time spent in each cell of a grid; return what was spent outside it.

    The states were kept at the middles of equal intervals; the last one bears what is left,
    so that all weights add up to the time that passed.
    """
    n = flow.system[N]
    rows, left, outside = flow.count[N_SAVES], flow.y[n], 0.0
    step = 2.0 * flow.save[0]
    for row in range(max(rows, 1)):
        last = row >= rows - 1
        weight = left if last else step
        left -= weight
        one = flow.saved[row, 1 + axes[0]] if rows > 0 else flow.y[axes[0]]
        two = flow.saved[row, 1 + axes[1]] if rows > 0 else flow.y[axes[1]]
        one, two = (one - low[0]) / width[0], (two - low[1]) / width[1]
        if 0.0 <= one < cells.shape[0] and 0.0 <= two < cells.shape[1]:
            cells[int(one), int(two)] += weight
        else:
            outside += weight
    return outside


@kernel
def note_end(
    flow: Flow, code: int, state: Vector, signs: Vector, numbers: Vector, codes: Integers
) -> None:
    """Fill one row of each result: state, signs, time and speed, code and steps."""
    n = flow.system[N]
    for c in range(n):
        state[c] = flow.y[c]
    for i in range(signs.size):
        signs[i] = flow.sides[i]
    numbers[ENDED_AT] = flow.y[n]
    numbers[SPEED] = _speed(flow) if code != NOT_FINITE else np.nan
    codes[CODE], codes[TAKEN] = code, flow.count[STEPS]


@kernel(nogil=True)
def follow(
    flow: Flow,
    x: Matrix,
    sides: Matrix,
    dwell: Matrix,
    stop: Integers,
    limits: Vector,
    grid: Grid,
    out: Ends,
) -> float:
    """Follow every start of a block; return the time spent outside the grid.

    Parameters
    ----------
    x, sides : (b, n) and (b, m) starts
    dwell : (b, 2) when a state that slides leaves, and to which side; inf for never
    stop : (kinds,) 1 for the kinds of events that end a trajectory
    limits : end time, direction of time, most steps

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    counts, first, outside = out.counts, out.first, 0.0
    t_end, way, most = limits[END], limits[WAY], int(limits[MOST])
    for b in range(x.shape[0]):
        code = place(flow, 0.0, x[b], sides[b], way)
        if code == DONE:
            until, to = dwell[b, UNTIL], dwell[b, TO_SIDE]
            code = one(flow, t_end, until, to, most, stop, counts[b], first[b])
        else:
            for c in range(first.shape[1]):
                first[b, c] = np.nan
        note_end(flow, code, out.state[b], out.signs[b], out.numbers[b], out.codes[b])
        if grid.cells.size > 0:
            outside += _tally(flow, grid.axes, grid.low, grid.width, grid.cells)
    return outside
