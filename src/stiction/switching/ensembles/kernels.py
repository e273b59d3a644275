"""Many trajectories one after the other in one set of arrays: kernels without the interpreter."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.corners.handling import signs_of
from stiction.switching.flow.corners.ways import count, ways_here
from stiction.switching.flow.events import NEXT_TO_TWO_FOLD
from stiction.switching.flow.placing import ON_SURFACE, fold_gap, put, reach_of
from stiction.switching.flow.rare import carry_on
from stiction.switching.flow.rates import normals, slide_data, sliding_surface
from stiction.switching.flow.records import (
    CROSSROADS,
    DONE,
    EVENTS_FULL,
    LEAVE,
    NOT_FINITE,
    PAUSED,
    PILED_UP,
    TWO_FOLD_HIT,
    UNDECIDED,
)
from stiction.switching.flow.rows import (
    AT,
    CLOCK,
    DIRECTION,
    EXTRA,
    FIELD,
    GRAD,
    JUDGED,
    KIND,
    LEAST,
    MARGIN,
    MINUS,
    N_EVENTS,
    N_SAVES,
    ORDER,
    PACE,
    PLUS,
    SCALE,
    SIDES,
    SIGNS,
    SLOPE,
    STEPS,
    TALLEST,
    VAGUE,
    VALUE,
    WHICH,
    M,
    N,
    Y,
)
from stiction.switching.flow.surfaces import begin_mode, curvature, landing, surfaces_at

__all__ = ["NO_SIDE", "NO_START", "STOPPED_AT", "follow", "note_end", "one", "place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# the arrays of one trajectory, as `flow.records` names them
Arrays = tuple[Integers, Vector, Matrix, Matrix, Matrix, Matrix]

# further ends of a trajectory, above those of `records`: a start in an escaping region
# without a side; one that is not where its sign says; an event the caller waits for, whose
# kind is added to STOPPED_AT
NO_SIDE, NO_START, STOPPED_AT = 12, 13, 14
# a start with a given sign may be this far on the wrong side of the surface, or off it
_OFF = 1e-6
# L+ and L- of a two-fold, over |grad h| |f|: at a start, and where events piled up
_AT_TWO_FOLD, _PILED_AT_TWO_FOLD = 1e-10, 1e-5
# what is kept of an end: its time and how fast the state moves; the code and the steps
ENDED_AT, SPEED = range(2)
CODE, TAKEN = range(2)
# what limits all trajectories of a block: end time, direction of time, most steps; and by
# what share of its distance from a two-fold each may begin off
END, WAY, MOST, BEGIN_OFF = range(4)
# when a state that slides leaves, and to which side
UNTIL, TO_SIDE = range(2)


class Grid(NamedTuple):
    """Cells of two states in which time is counted; nothing is where there are none.

    axes (2,) which states, cell (2, 2) their lower ends and widths, cells (c_1, c_2) times, filled
    """

    axes: Ints
    cell: Floats
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


@kernel(borrows=True)
def _choose_sides(system: Integers, p: Vector, a: Matrix) -> int:
    """Replace each sign that is NaN by the one the field forces; return a code, DONE if all are."""
    m = system[M]
    normals(system, p, a, Y, GRAD)
    surfaces_at(system, p, a, Y, EXTRA)
    for i in range(m):
        reach = reach_of(system, a, i, GRAD)
        value, asked = a[EXTRA, i], 0.0
        a[VALUE, i] = value
        if a[SIDES, i] != a[SIDES, i]:
            asked = 1.0 if abs(value) <= ON_SURFACE * reach else 0.0
            a[SIDES, i] = 1.0 if value > 0.0 else -1.0
        else:
            wrong = abs(value) if a[SIDES, i] == 0.0 else -value * a[SIDES, i]
            if wrong > _OFF * reach:
                return NO_START
        a[SLOPE, i] = asked
    code = _choose_way(system, p, a)
    if code != DONE:
        return code
    for i in range(m):
        if a[SLOPE, i] == 0.0:
            continue
        a[SIDES, i] = 0.0
        begin_mode(system, p, a)
        if fold_gap(system, p, a, i) <= _AT_TWO_FOLD:
            return TWO_FOLD_HIT
        here = landing(system, p, a, i)
        if here.escaping:
            return NO_SIDE
        a[SIDES, i] = 0.0 if here.along else 1.0 if here.plus else -1.0
    return DONE


@kernel(borrows=True)
def _choose_way(system: Integers, p: Vector, a: Matrix) -> int:
    """Set the signs of a start where two surfaces meet, if only one way leads on from it."""
    i, j, many = -1, -1, 0
    for k in range(system[M]):
        if a[SLOPE, k] != 0.0:
            i, j, many = j, k, many + 1
    if many != 2:
        return DONE
    ways = ways_here(system, p, a, i, j, -1)
    if count(ways) > 1:
        return CROSSROADS
    if ways != 0:
        a[SIDES, i], a[SIDES, j] = signs_of(ways)
        a[SLOPE, i] = a[SLOPE, j] = 0.0
    return DONE


@kernel(borrows=True)
def place(
    system: Integers, p: Vector, a: Matrix, t: float, x: Vector, sides: Vector, way: float
) -> int:
    """Put a trajectory at (t, x) with the given signs; return DONE, or why it cannot start.

    Parameters
    ----------
    sides : (m,) +1, -1, 0 for sliding, NaN for what the field forces
    way : 1, or -1 for backward in time

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    n = system[N]
    for i in range(STEPS, WHICH):
        system[i] = 0
    a[PACE, DIRECTION] = way
    a[CLOCK, LEAST] = a[CLOCK, MARGIN] = math.inf
    a[CLOCK, JUDGED] = 0.0
    for c in range(n):
        a[Y, c] = x[c]
        if not math.isfinite(x[c]):
            return NOT_FINITE
    a[Y, n] = t
    for i in range(sides.size):
        a[SIDES, i] = sides[i]
    code = _choose_sides(system, p, a)
    if code == DONE:
        put(system, p, a, t)
        if way > 0.0 and _hops_unseen(system, p, a):
            return UNDECIDED
    return code


@kernel(borrows=True)
def _hops_unseen(system: Integers, p: Vector, a: Matrix) -> bool:
    """Return whether a start on a surface hops so near to a two-fold that nobody sees it land."""
    found = False
    for i in range(system[M]):
        # row VALUE still says on which surfaces it is
        side = a[SIDES, i]
        here = side != 0.0 and a[VALUE, i] != 0.0 and system[ORDER + i] > 0
        if here and fold_gap(system, p, a, i) <= NEXT_TO_TWO_FOLD:
            found = found or curvature(system, p, a, i, side) * side < 0.0
    return found


@kernel(borrows=True)
def one(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    limits: Vector,
    leave: Vector,
    stop: Integers,
    counts: npt.NDArray[np.int32],
    first: Vector,
) -> int:
    """Follow one trajectory that has been placed; return how it ended.

    Parameters
    ----------
    limits : end time, direction of time, most steps
    leave : when a state that slides leaves, inf for never, and to which side
    stop : (kinds,) 1 for the kinds of events that end it
    counts, first : (kinds,) how many events of each kind, and the time of the first
    """
    n, t_end, most = system[N], limits[END], int(limits[MOST])
    leave_at, events = leave[UNTIL], 0
    for c in range(first.size):
        first[c], counts[c] = math.nan, 0
    while True:
        room = most - system[STEPS] - events
        if room <= 0:
            return PAUSED
        end = min(t_end, leave_at) if leave_at < math.inf else t_end
        code = carry_on(system, p, table, a, saved, event, end, room)
        ended = -1
        for row in range(system[N_EVENTS]):
            kind = int(event[row, KIND])
            events += 1
            counts[kind] += 1
            if counts[kind] == 1:
                first[kind] = event[row, AT]
            if ended < 0 and stop[kind] != 0:
                ended = STOPPED_AT + kind
        system[N_EVENTS] = 0
        if code == PILED_UP and fold_gap(system, p, a, 0) <= _PILED_AT_TWO_FOLD:
            return TWO_FOLD_HIT
        if ended >= 0 and code in (DONE, PAUSED, EVENTS_FULL):
            return ended
        if code == DONE and leave_at < t_end:
            leave_at = math.inf
            i = sliding_surface(system, a, SIDES)
            if i >= 0:
                a[SIDES, i] = leave[TO_SIDE]
                counts[LEAVE] += 1
                events += 1
                if counts[LEAVE] == 1:
                    first[LEAVE] = a[Y, n]
                put(system, p, a, a[Y, n])
            continue
        if code != EVENTS_FULL:
            return code


@kernel(borrows=True)
def _speed(system: Integers, p: Vector, a: Matrix) -> float:
    """Return how fast the state moves where it ended, in units of its scale."""
    i = sliding_surface(system, a, SIDES)
    share = 1.0
    if i >= 0:
        up, down = slide_data(system, p, a, SIDES, i, Y)
        share = down / (down - up) if down != up else 0.5
    else:
        for j in range(system[M]):
            a[SIGNS, j] = a[SIDES, j]
        call_at(system[FIELD], row_at(a, Y), row_at(a, SIGNS), at(p), row_at(a, PLUS))
    total = 0.0
    for c in range(system[N]):
        rate = a[PLUS, c]
        if i >= 0:
            rate = share * rate + (1.0 - share) * a[MINUS, c]
        rate /= a[SCALE, c]
        total += rate * rate
    return math.sqrt(total)


@kernel(borrows=True)
def _tally(
    system: Integers, a: Matrix, saved: Matrix, axes: Integers, cell: Matrix, cells: Matrix
) -> float:
    """Add the time spent in each cell of a grid; return what was spent outside it.

    The states were kept at the middles of equal intervals; the last one bears what is left,
    so that all weights add up to the time that passed.
    """
    rows, left, outside = system[N_SAVES], a[Y, system[N]], 0.0
    step = 2.0 * saved[0, 0]
    for row in range(max(rows, 1)):
        last = row >= rows - 1
        weight = left if last else step
        left -= weight
        one = saved[row, 1 + axes[0]] if rows > 0 else a[Y, axes[0]]
        two = saved[row, 1 + axes[1]] if rows > 0 else a[Y, axes[1]]
        one, two = (one - cell[0, 0]) / cell[1, 0], (two - cell[0, 1]) / cell[1, 1]
        if 0.0 <= one < cells.shape[0] and 0.0 <= two < cells.shape[1]:
            cells[int(one), int(two)] += weight
        else:
            outside += weight
    return outside


@kernel(borrows=True)
def note_end(
    system: Integers,
    p: Vector,
    a: Matrix,
    code: int,
    state: Vector,
    signs: Vector,
    numbers: Vector,
    codes: Integers,
) -> None:
    """Fill one row of each result: state, signs, time and speed, code and steps."""
    for c in range(system[N]):
        state[c] = a[Y, c]
    for i in range(signs.size):
        signs[i] = a[SIDES, i]
    numbers[ENDED_AT] = a[Y, system[N]]
    numbers[SPEED] = _speed(system, p, a) if code != NOT_FINITE else math.nan
    codes[CODE], codes[TAKEN] = code, system[STEPS]


@kernel(nogil=True)
def follow(
    flow: Arrays,
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
    limits : end time, direction of time, most steps, share by which they may begin off

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    system, p, table, a, saved, event = flow
    counts, first, outside = out.counts, out.first, 0.0
    for b in range(x.shape[0]):
        code = place(system, p, a, 0.0, x[b], sides[b], limits[WAY])
        a[CLOCK, VAGUE], a[CLOCK, TALLEST] = limits[BEGIN_OFF], 0.0
        if code == DONE:
            code = one(
                system,
                p,
                table,
                a,
                saved,
                event,
                limits,
                dwell[b],
                stop,
                counts[b],
                first[b],
            )
        else:
            for c in range(first.shape[1]):
                first[b, c] = math.nan
        note_end(system, p, a, code, out.state[b], out.signs[b], out.numbers[b], out.codes[b])
        if grid.cells.size > 0:
            outside += _tally(system, a, saved, grid.axes, grid.cell, grid.cells)
    return outside
