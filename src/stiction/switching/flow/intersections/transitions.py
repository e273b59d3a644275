"""Arrival at a codimension-2 intersection, sliding on it, and the end of that sliding: kernels.

`directions` computes the set of exit directions, a bit mask, and names the source (Filippov 1988;
Dieci, Lopez 2009). If there is one direction, these kernels set the signs of its mode and record
the events. If there are several, they return SEVERAL_DIRECTIONS with the set in `open_paths`, and
the policy of the run chooses. Otherwise they return RUNNING, the code of an event still to be
handled, or another code with which the call must end. `rare_events` calls them.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i, `table` the Runge-Kutta tableau and the transforms of samples,
`records` the saved states and events; i and j are the numbers of both surfaces.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NONE
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import NO_EVENT, TOO_LONG, after_step
from stiction.switching.flow.events import (
    arrive_at,
    at_event,
    check_accumulation,
    clear_known_zeros,
    grazing_at,
)
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.intersections.directions import (
    HALF_SURFACES,
    SLIDES_MINUS,
    SLIDES_PLUS,
    count,
    exit_directions,
)
from stiction.switching.flow.intersections.sliding import (
    first_opening,
    length_to_opening,
    others_at,
)
from stiction.switching.flow.rates import second_surface, sliding_surface
from stiction.switching.flow.records import (
    CROSS,
    LEAVE,
    NO_DIRECTION,
    NOT_FINITE,
    RUNNING,
    SEVERAL_DIRECTIONS,
    SLIDE,
)
from stiction.switching.flow.saving import log_event, save_until, signs_at
from stiction.switching.flow.state import (
    EXTRA,
    RECORDED,
    SIDES,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import UNRESOLVED, too_short
from stiction.switching.flow.surfaces import begin_mode, project, surfaces_at

__all__ = ["at_end_of_sliding", "at_intersection", "on_intersection", "signs_of"]

# a state that has reached surface i also lies on surface j if |h_j| is below this multiple of its
# rounding error; else it reaches surface j in a second event. The motion is the same: in 28 random
# arrivals at an intersection of planes the final states with 0, 16 and 4096 agree to 1e-12; with 0,
# rounding gives 11 arrivals two events, and 4096 gives the same events as 16
_ROUNDING = 16.0
# an exit direction that opens within this fraction of the step before an event belongs to the
# event: both are the same zero, located by two functions. Chosen
_TOGETHER = 1e-6
_SLIDES = (1 << SLIDES_PLUS) | (1 << SLIDES_MINUS)


@kernel
def signs_of(directions: int) -> tuple[float, float]:
    """Return the signs of both surfaces for the only direction of a set, 0 in sliding."""
    for c in range(4):
        if directions & (1 << c):
            return 1.0 if c < 2 else -1.0, 1.0 if c % 2 == 0 else -1.0
    for e in range(4):
        if directions & (1 << (HALF_SURFACES + e)):
            side = 1.0 if e % 2 == 0 else -1.0
            return (0.0, side) if e < 2 else (side, 0.0)
    return 0.0, 0.0


@kernel
def _defer_choice(w: Workspace, i: int, j: int, directions: int) -> int:
    """Store a choice between several exit directions for the policy; return its code."""
    now = w.progress[0]
    now.which, now.other, now.open_paths = i, j, directions
    return SEVERAL_DIRECTIONS


@kernel
def _enter_direction(w: Workspace, i: int, j: int, directions: int) -> None:
    """Set the signs, and the sliding vector, of the only exit direction; begin its mode."""
    now, a = w.progress[0], w.vectors
    a[SIDES, i], a[SIDES, j] = signs_of(directions)
    if directions & _SLIDES:
        now.branch = 1 if directions & (1 << SLIDES_PLUS) else -1
    now.reported_open = 0
    begin_mode(w)


@kernel
def _limited(multiplier: float) -> float:
    """Return the multiplier limited to [-1, 1]."""
    return min(max(multiplier, -1.0), 1.0)


@kernel
def _pass_intersection(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """Handle the arrival at surface i alone, near an intersection, with its margin."""
    now = w.progress[0]
    margin = now.margin
    code = arrive_at(w, functions, records, i)
    now.least_margin, now.margin = min(now.least_margin, margin), math.inf
    return code


@kernel
def at_intersection(w: Workspace, functions: EventFunctions, records: Records) -> int:
    """Handle the arrival at an intersection of two surfaces, or near one.

    The state has reached surface i; its distance from surface j is |h_j|. With at most one exit
    direction the solution does not depend on this distance. With several, the margin decides
    whether it is unique: the distance over the larger one of the error of the run and the largest
    value of a grazing. A margin of at least 1 means that surface i is reached alone.
    """
    now, a = w.progress[0], w.vectors
    i, j, before_i = now.which, now.other, now.came_from
    before_j = a[SIDES, j]
    directions = exit_directions(w, i, j, -1)
    many = count(directions)
    surfaces_at(w, Y, EXTRA)
    distance = abs(a[EXTRA, j])
    # surface j is near but not reached
    if before_j != 0.0 and distance > _ROUNDING * functions[j].noise:
        # no choice depends on the distance from the intersection
        if many <= 1:
            return arrive_at(w, functions, records, i)
        if distance > functions[j].grazing:
            now.margin = distance / max(functions[j].uncertainty, functions[j].grazing)
            if now.margin >= 1.0:
                return _pass_intersection(w, functions, records, i)
    if many == 0:
        return NO_DIRECTION
    if many > 1:
        return _defer_choice(w, i, j, directions)
    signs_at(w, Y)
    # beyond a jump of the field the multipliers of the former mode may leave [-1, 1]
    lam_i, lam_j = _limited(a[RECORDED, i]), _limited(a[RECORDED, j])
    _enter_direction(w, i, j, directions)
    signs_at(w, Y)
    si, sj = a[SIDES, i], a[SIDES, j]
    # one event for each surface whose sign changes
    if si != before_i:
        kind = LEAVE if before_i == 0.0 else CROSS if si == -before_i else SLIDE
        log_event(w, records, kind, i, before_i, si, lam_i, a[RECORDED, i])
    if sj != before_j and now.events < len(records.events):
        kind = LEAVE if before_j == 0.0 else SLIDE if sj == 0.0 else CROSS
        log_event(w, records, kind, j, before_j, sj, lam_j, a[RECORDED, j])
    # the new step starts at a zero of h: a double one where sliding has ended tangentially
    functions[i].order = (2 if before_i == 0.0 else 1) if si != 0.0 else 0
    functions[j].order = (2 if before_j == 0.0 else 1) if sj != 0.0 else 0
    return check_accumulation(w)


@kernel(separate=True)
def on_intersection(
    w: Workspace, functions: EventFunctions, table: Matrix, records: Records
) -> int:
    """Handle a step of codimension-2 sliding: a new exit direction, another event, or none."""
    now, a = w.progress[0], w.vectors
    h, root, lowest = now.event_step, now.event_fraction, now.lowest
    which, grazed, opening = now.which, now.other, NONE
    i = sliding_surface(w, SIDES)
    j = second_surface(w, SIDES, i)
    if now.reported_open == 0 and now.direction > 0.0:
        opening = first_opening(w, table, i, j)
    if opening == UNRESOLVED:
        if not too_short(w, h):
            return _repeat_step(w, h)
        opening = NONE
    # where a multiplier becomes +-1, sliding on a half surface opens at the same time: one event
    if opening <= 1.0 and (which < 0 or opening < root - _TOGETHER):
        now.event_fraction = opening
        return _at_opening(w, functions, table, records, i, j)
    code = NO_EVENT
    if grazed >= 0:
        code = grazing_at(w, grazed, lowest, h)
    elif which >= 0:
        code = at_event(w, functions, table, records, which, root, h)
    if code == TOO_LONG:
        return _repeat_step(w, h)
    if code != NO_EVENT:
        return code
    # unique again: the next opening is reported too
    if now.reported_open != 0 and others_at(w, i, j, TRIAL) == 0:
        now.reported_open = 0
    if (now.t_end - a[Y, now.n]) * now.direction <= h:
        a[TRIAL, now.n] = now.t_end
    code = after_step(w, functions, records, h, -1, 0.0)[0]
    now.continues, now.fresh, now.refused = 1, 0, 0
    return code


@kernel
def _repeat_step(w: Workspace, h: float) -> int:
    """Repeat the step with half the length."""
    now = w.progress[0]
    now.rejected += 1
    now.next_step = 0.5 * h
    now.continues, now.fresh, now.refused = 1, 0, 1
    return RUNNING


@kernel
def _at_opening(
    w: Workspace, functions: EventFunctions, table: Matrix, records: Records, i: int, j: int
) -> int:
    """Stop at the time at which another exit direction opens."""
    now, a = w.progress[0], w.vectors
    n, h = now.n, now.event_step
    length = length_to_opening(w, table, i, j, now.event_fraction * h)
    save_until(w, records, a[TRIAL, n], length / h)
    for c in range(n + 1 + now.q):
        a[Y, c] = a[TRIAL, c]
    if not finite(w, Y, n + 1 + now.q):
        return NOT_FINITE
    clear_known_zeros(functions)
    project(w, i)
    project(w, j)
    begin_mode(w)
    # just after the opening the present sliding vector is one of several exit directions
    directions = others_at(w, i, j, Y)
    now.reported_open = 1
    return _defer_choice(
        w, i, j, directions | 1 << (SLIDES_PLUS if now.branch > 0 else SLIDES_MINUS)
    )


@kernel
def at_end_of_sliding(w: Workspace, functions: EventFunctions, records: Records) -> int:
    """Handle the end of codimension-2 sliding: a multiplier reaches +-1, or two vectors merge.

    The second case is a fold of the two sliding vectors.
    """
    now, a = w.progress[0], w.vectors
    m, which = now.m, now.which
    i = sliding_surface(w, SIDES)
    j = second_surface(w, SIDES, i)
    # the surface that the solution leaves, the sign of its h then, and the half surface that it
    # enters, in the numbering of `directions`; -1 at a fold
    e, side, edge = -1, 0.0, -1
    if which < 2 * m:
        e, side = which % m, 1.0 if which < m else -1.0
        edge = (2 if e == i else 0) + (0 if side > 0.0 else 1)
    project(w, e if e >= 0 else i)
    if e < 0:
        project(w, j)
    begin_mode(w)
    # at this end the sliding rate of the half surface is zero: the second order decides
    directions = exit_directions(w, i, j, edge)
    if e < 0:
        # both sliding vectors have ended
        directions &= ~_SLIDES
    # the ordinary end: sliding continues on the other surface alone
    along = edge >= 0 and directions & (1 << (HALF_SURFACES + edge)) != 0
    if along and (count(directions) == 1 or now.reported_open != 0):
        a[SIDES, e], now.reported_open = side, 0
        log_event(w, records, LEAVE, e, 0.0, side, side, side)
        functions[e].order = 2
        begin_mode(w)
        return check_accumulation(w)
    if count(directions) == 0:
        return NO_DIRECTION
    if count(directions) > 1:
        return _defer_choice(w, i, j, directions)
    signs_at(w, Y)
    lam_i = side if e == i else a[RECORDED, i]
    lam_j = side if e == j else a[RECORDED, j]
    _enter_direction(w, i, j, directions)
    si, sj = a[SIDES, i], a[SIDES, j]
    if si != 0.0:
        log_event(w, records, LEAVE, i, 0.0, si, lam_i, si)
        functions[i].order = 1
    if sj != 0.0 and now.events < len(records.events):
        log_event(w, records, LEAVE, j, 0.0, sj, lam_j, sj)
        functions[j].order = 1
    return check_accumulation(w)
