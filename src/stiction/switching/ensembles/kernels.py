"""Ensembles of trajectories of one flow, integrated one after the other in one call: kernels.

Each trajectory has the steps and events of a single run (`flow.advance`, `flow.rare_events`). Only
its final state, the reason of its end, and counts and first times of its events are recorded. The
theory is in `flow.rates` and `flow.surfaces`; `blocks` calls `follow` with blocks of starts. The
arguments w, functions, table and records are the arrays of one trajectory (`flow.state`), which all
starts of a block use in turn; rows of x, sides and dwell belong to one start each.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Integers, Matrix, Table, Vector
from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.ensembles.state import End, Ends, Grid, Limits
from stiction.switching.flow.events import NEXT_TO_TWO_FOLD
from stiction.switching.flow.intersections.directions import DIRECTIONS, count, exit_directions
from stiction.switching.flow.intersections.transitions import signs_of
from stiction.switching.flow.placement import ON_SURFACE, fold_gap, place_state, scale_of_h
from stiction.switching.flow.rare_events import advance_through_rare_events
from stiction.switching.flow.rates import (
    lie_derivatives,
    multipliers,
    normals,
    second_surface,
    sliding_surface,
)
from stiction.switching.flow.records import (
    DONE,
    ESCAPES,
    EVENTS_ACCUMULATE,
    EVENTS_FULL,
    LEAVE,
    NOT_FINITE,
    PAUSED,
    SEVERAL_DIRECTIONS,
    TWO_FOLD_HIT,
    UNDECIDED,
)
from stiction.switching.flow.state import (
    EXTRA,
    GRAD,
    MINUS,
    PLUS,
    SCALE,
    SIDES,
    SIGNS,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.surfaces import begin_mode, continuations_at, curvature, surfaces_at

__all__ = ["NO_SIDE", "NO_START", "STOPPED_AT", "follow", "integrate_one", "note_end", "place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# codes of an end besides those of `records`: a start in an escaping region without a given side; a
# start whose given sign contradicts h; an event at which trajectories stop (STOPPED_AT + its kind)
NO_SIDE, NO_START, STOPPED_AT = ESCAPES, 13, 14
# largest |h| over its scale at which a given sign may contradict h
_OFF = 1e-6
# a state is at a two-fold if L+ and L- over |grad h| |f| are below the first number at a start,
# below the second at an accumulation of events
_AT_TWO_FOLD, _ENDS_AT_TWO_FOLD = 1e-10, 1e-5


@kernel
def _set_signs(w: Workspace, functions: EventFunctions) -> int:
    """Replace each NaN sign by the only admissible one; return a code, DONE if all are set."""
    now, a = w.progress[0], w.vectors
    m = now.m
    normals(w, Y, GRAD)
    surfaces_at(w, Y, EXTRA)
    for i in range(m):
        size = scale_of_h(w, i, GRAD)
        value = a[EXTRA, i]
        functions[i].near = 0
        # NaN, no given sign: the sign of h; on a surface the admissible continuation, see below
        if a[SIDES, i] != a[SIDES, i]:
            functions[i].near = 1 if abs(value) <= ON_SURFACE * size else 0
            a[SIDES, i] = 1.0 if value > 0.0 else -1.0
        else:
            # a given sign must agree with h
            wrong = abs(value) if a[SIDES, i] == 0.0 else -value * a[SIDES, i]
            if wrong > _OFF * size:
                return NO_START
    code = _set_signs_at_intersection(w, functions)
    if code != DONE:
        return code
    for i in range(m):
        if functions[i].near == 0:
            continue
        # the admissible continuation, which is unique except at a two-fold and in escaping regions
        a[SIDES, i] = 0.0
        begin_mode(w)
        if fold_gap(w, i) <= _AT_TWO_FOLD:
            return TWO_FOLD_HIT
        options = continuations_at(w, i)
        if options.escaping:
            return NO_SIDE
        a[SIDES, i] = 0.0 if options.along else 1.0 if options.plus else -1.0
    return DONE


@kernel
def _set_signs_at_intersection(w: Workspace, functions: EventFunctions) -> int:
    """Set the signs of a start on an intersection of two surfaces.

    Returns SEVERAL_DIRECTIONS if the exit direction is not unique, NO_START if it contradicts a
    given sign 0, else DONE.
    """
    now, a = w.progress[0], w.vectors
    i, j, many, free = -1, -1, 0, 0
    for k in range(now.m):
        if functions[k].near != 0 or a[SIDES, k] == 0.0:
            i, j, many, free = j, k, many + 1, free + functions[k].near
    if many != 2 or free == 0:
        return DONE
    # of the exit directions those with the given sign 0
    found, directions = exit_directions(w, i, j, -1), 0
    for b in range(DIRECTIONS):
        si, sj = signs_of(found & (1 << b))
        if (functions[i].near != 0 or si == 0.0) and (functions[j].near != 0 or sj == 0.0):
            directions |= found & (1 << b)
    if found != 0 and directions == 0:
        return NO_START
    if count(directions) > 1:
        return SEVERAL_DIRECTIONS
    if directions != 0:
        a[SIDES, i], a[SIDES, j] = signs_of(directions)
        functions[i].near = functions[j].near = 0
    return DONE


@kernel
def place(
    w: Workspace, functions: EventFunctions, t: float, x: Vector, sides: Vector, direction: float
) -> int:
    """Place a trajectory at (t, x) with the given signs; return DONE, or the code of its end.

    Parameters
    ----------
    sides : (m,) +1, -1, 0 for sliding, NaN for the only admissible one
    direction : 1, or -1 for backward in time

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    # reset the records of the previous trajectory in these arrays
    now.steps = now.rejected = now.events = now.saves = now.shrinks = now.at_once = 0
    now.branch = now.reported_open = 0
    now.direction = direction
    now.least_margin = now.margin = math.inf
    now.judged = 0
    a[Y, n] = t
    for c in range(n):
        a[Y, c] = x[c]
        if not math.isfinite(x[c]):
            return NOT_FINITE
    for i in range(sides.size):
        a[SIDES, i] = sides[i]
    # signs first: `place_state` projects on the surfaces with sign 0
    code = _set_signs(w, functions)
    if code == DONE:
        place_state(w, functions, t)
        if direction > 0.0 and _starts_next_to_two_fold(w, functions):
            return UNDECIDED
    return code


@kernel
def _starts_next_to_two_fold(w: Workspace, functions: EventFunctions) -> bool:
    """Return whether arcs from a start next to a two-fold are too low to be resolved."""
    now, a = w.progress[0], w.vectors
    unresolved = False
    for i in range(now.m):
        side = a[SIDES, i]
        on_surface = side != 0.0 and functions[i].near != 0 and functions[i].order > 0
        if on_surface and fold_gap(w, i) <= NEXT_TO_TWO_FOLD:
            unresolved = unresolved or curvature(w, i, side) * side < 0.0
    return unresolved


@kernel
def integrate_one(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    limits: Table[Limits],
    leave_at: float,
    leave_to: float,
    stop: Integers,
    counts: npt.NDArray[np.int32],
    first: Vector,
) -> int:
    """Integrate one placed trajectory; return the code of its end.

    Parameters
    ----------
    leave_at, leave_to : time at which a sliding state leaves its surface, inf for never, and the
        side to which it leaves
    stop : (kinds,) 1 for the kinds of events that end the trajectory
    counts, first : (kinds,) filled with the number of events of each kind, and the time of the
        first one, NaN for none
    """
    now, a = w.progress[0], w.vectors
    n, t_end, events, surface = now.n, limits[0].t_end, 0, 0
    for c in range(first.size):
        first[c], counts[c] = math.nan, 0
    while True:
        room = limits[0].steps - now.steps - events
        if room <= 0:
            return PAUSED
        # the call ends at the time at which the state must leave the surface
        end = min(t_end, leave_at) if leave_at < math.inf else t_end
        code = advance_through_rare_events(w, functions, table, records, end, room)
        ended = -1
        # the records have room for three events, so that the call returns after each event
        for e in range(now.events):
            kind, surface = records.events[e].kind, records.events[e].surface
            events += 1
            counts[kind] += 1
            if counts[kind] == 1:
                first[kind] = records.events[e].time
            if ended < 0 and stop[kind] != 0:
                ended = STOPPED_AT + kind
        now.events = 0
        # crossings of the surface of the last event whose limit is a two-fold
        if code == EVENTS_ACCUMULATE and fold_gap(w, surface) <= _ENDS_AT_TWO_FOLD:
            return TWO_FOLD_HIT
        if ended >= 0 and code in (DONE, PAUSED, EVENTS_FULL):
            return ended
        # leave the surface if the state slides now; otherwise the given time has no effect
        if code == DONE and leave_at < t_end:
            leave_at = math.inf
            i = sliding_surface(w, SIDES)
            if i >= 0:
                a[SIDES, i] = leave_to
                counts[LEAVE] += 1
                events += 1
                if counts[LEAVE] == 1:
                    first[LEAVE] = a[Y, n]
                place_state(w, functions, a[Y, n])
            continue
        if code != EVENTS_FULL:
            return code


@kernel
def _speed(w: Workspace) -> float:
    """Return |x'| of the present state in the present mode, in units of the scale of each state."""
    now, a = w.progress[0], w.vectors
    i = sliding_surface(w, SIDES)
    # sliding field (15) of Szalai, Jeffrey 2014: weights L- and -L+ over L- - L+ of f+ and f-
    weight_plus = 1.0
    if i >= 0 and second_surface(w, SIDES, i) >= 0:
        multipliers(w, Y, MINUS)
        weight_plus = 0.0
    elif i >= 0:
        up, down = lie_derivatives(w, SIDES, i, Y)
        weight_plus = down / (down - up) if down != up else 0.5
    else:
        for j in range(now.m):
            a[SIGNS, j] = a[SIDES, j]
        call_at(now.field, row_at(a, Y), row_at(a, SIGNS), now.parameters, row_at(a, PLUS))
    total = 0.0
    for c in range(now.n):
        rate = a[PLUS, c]
        if i >= 0:
            rate = weight_plus * rate + (1.0 - weight_plus) * a[MINUS, c]
        rate /= a[SCALE, c]
        total += rate * rate
    return math.sqrt(total)


@kernel
def _add_times(
    w: Workspace, records: Records, axes: Integers, cell: Matrix, cells: Matrix
) -> float:
    """Add the time that the trajectory spent in each cell of a grid; return the time outside it.

    States are saved at the midpoints of equal intervals of time; each counts for its interval. The
    last one counts for the remaining time, so that the sum is the duration.
    """
    now, a, saved = w.progress[0], w.vectors, records.saved
    saves, remaining, outside = now.saves, a[Y, now.n], 0.0
    step = 2.0 * saved[0, 0]
    for e in range(max(saves, 1)):
        last = e >= saves - 1
        weight = remaining if last else step
        remaining -= weight
        first = saved[e, 1 + axes[0]] if saves > 0 else a[Y, axes[0]]
        second = saved[e, 1 + axes[1]] if saves > 0 else a[Y, axes[1]]
        first, second = (first - cell[0, 0]) / cell[1, 0], (second - cell[0, 1]) / cell[1, 1]
        if 0.0 <= first < cells.shape[0] and 0.0 <= second < cells.shape[1]:
            cells[int(first), int(second)] += weight
        else:
            outside += weight
    return outside


@kernel
def note_end(
    w: Workspace,
    code: int,
    b: int,
    state: Matrix,
    signs: Matrix,
    ends: Table[End],
) -> None:
    """Fill entry b of state, signs and ends from the present state and the code of its end."""
    now, a = w.progress[0], w.vectors
    for c in range(now.n):
        state[b, c] = a[Y, c]
    for i in range(now.m):
        signs[b, i] = a[SIDES, i]
    ends[b].time, ends[b].code, ends[b].steps = a[Y, now.n], code, now.steps
    ends[b].speed = _speed(w) if code != NOT_FINITE else math.nan


@kernel(nogil=True)
def follow(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    x: Matrix,
    sides: Matrix,
    dwell: Matrix,
    stop: Integers,
    limits: Table[Limits],
    grid: Grid,
    out: Ends,
) -> float:
    """Integrate every start of a block; return the time spent outside the grid.

    Parameters
    ----------
    x, sides : (b, n) initial states and (b, m) signs, see `place`
    dwell : (b, 2) time at which a sliding state leaves its surface, inf for never, and the side
    stop : (kinds,) 1 for the kinds of events that end a trajectory
    out : filled with the ends

    Verified by: tests/unit/switching/ensembles/test_study.py::test_same_as_single_runs
    """
    now, counts, first, outside = w.progress[0], out.counts, out.first, 0.0
    for b in range(x.shape[0]):
        code = place(w, functions, 0.0, x[b], sides[b], limits[0].direction)
        # relative error of the distance of the start from a two-fold
        now.start_error, now.tallest = limits[0].off, 0.0
        if code == DONE:
            code = integrate_one(
                w,
                functions,
                table,
                records,
                limits,
                dwell[b, 0],
                dwell[b, 1],
                stop,
                counts[b],
                first[b],
            )
        else:
            for c in range(first.shape[1]):
                first[b, c] = math.nan
        note_end(w, code, b, out.state, out.signs, out.ends)
        if grid.cells.size > 0:
            outside += _add_times(w, records, grid.axes, grid.cell, grid.cells)
    return outside
