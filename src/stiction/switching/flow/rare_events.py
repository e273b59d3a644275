"""Rare events: grazing, the line h = g = 0, intersections of surfaces. Kernels.

`advance` returns a negative code for each of them, so that it compiles without these kernels. Each
kernel handles one event and returns RUNNING, or the code with which the call must end. The data of
the pending event are in `w.progress[0]`, called `now`: surface `which`, fraction `event_fraction`
of the step of length `event_step`. `Trajectory` calls `handle_rare_event`, the ensembles call
`advance_through_rare_events`.

A solution that grazes a surface may leave to the other side if the field there points away from
the surface. Solutions that stay just above it and solutions that just reach it then separate, so
that uniqueness is lost if the minimum of |h| is zero. The margin is that minimum over the error of
the run. If the field of the other side points back to the surface, the solution is unique.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i, `table` the Runge-Kutta tableau and the transforms of samples,
`records` the saved states and events. Y and TRIAL are y = (x, t, W) at the start and at the end of
a step; s_i is the sign of surface i in the mode.

Source: Filippov 1988, section 10, on uniqueness to the right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, NONE, first_fall, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.advance import advance
from stiction.switching.flow.events import clear_known_zeros, gradient_vanishes, too_many_at_once
from stiction.switching.flow.intersections.transitions import (
    at_end_of_sliding,
    at_intersection,
    on_intersection,
)
from stiction.switching.flow.line import slips_to_its_end
from stiction.switching.flow.rates import FOLD_TOLERANCE, event_values, lie_derivatives
from stiction.switching.flow.records import (
    FOLD,
    GRAZING,
    INTERSECTION,
    LINE_HIT,
    PAUSED,
    RUNNING,
    SLIDES_ON_BOTH,
    SLIDING_ENDS,
    SPLIT,
    UNDECIDED,
)
from stiction.switching.flow.saving import log_event, save_until
from stiction.switching.flow.state import (
    COEFFICIENT,
    GRAD,
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    STAGE,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import NEARBY, step
from stiction.switching.flow.surfaces import begin_mode, project, surface_speed
from stiction.switching.flow.tableau import AT_END

__all__ = ["advance_through_rare_events", "at_grazing", "at_line"]


# a value of h below this multiple of its rounding error counts as zero; see `advance`
_ZERO = 64.0
# a minimum may lie at most this number of step lengths away from the start of the step: farther,
# the parabola by which it is extrapolated means nothing. Chosen
_LARGEST_OVERSHOOT = 4.0
# bound of the growth of errors of steps along an unstable flow until the grazing: in 3,000 random
# orbits errors were up to twice the sum of the estimates of all steps
_GROWTH = 3.0


# ---- grazing


@kernel
def lowest_point(w: Workspace, table: Matrix, i: int, fraction: float, h: float) -> float:
    """Step to the minimum of s_i h_i near the given fraction of a step of length h.

    Solves dh_i/dt = 0 by the secant method; each evaluation is a step from the same start. Returns
    the length of the last step; TRIAL holds y at its end, entry i of SAMPLE the value.
    """
    now, a = w.progress[0], w.vectors
    b, work, n = a[COEFFICIENT + i, :NODES], a[ROOT], now.n
    # the first slope of the secant is the second derivative of the dense output, by a difference
    # over a tenth of the step (chosen)
    near = min(max(fraction, 0.05), 0.95)
    up, down = value_and_slope(b, near + 0.05, work)[1], value_and_slope(b, near - 0.05, work)[1]
    second_derivative, length, before, last_length = (
        (up - down) / (0.1 * h * h),
        fraction * h,
        0.0,
        -1.0,
    )
    for count in range(8):
        step(w, table, length)
        lie_derivatives(w, SIDES, i, TRIAL)
        # s_i dh_i/ds along the rates at the end of the step
        slope = 0.0
        for c in range(n):
            slope += a[GRAD, i * n + c] * a[STAGE + AT_END, c]
        slope *= a[SIDES, i]
        # a difference over less than 1e-7 of the step has fewer than nine digits
        if count > 0 and abs(length - last_length) > 1e-7 * h:
            second_derivative = (slope - before) / (length - last_length)
        if second_derivative <= 0.0 or count == 7:
            break
        next_length = min(max(length - slope / second_derivative, 0.0), _LARGEST_OVERSHOOT * h)
        # the error of the minimal value is quadratic in this difference, 1e-18
        if abs(next_length - length) <= 1e-9 * h:
            break
        before, last_length, length = slope, length, next_length
    event_values(w, TRIAL, SAMPLE)
    return length


class Grazing(NamedTuple):
    """Classification of a grazing.

    exact : whether the minimum of |h| is zero up to rounding
    open : whether the field of the other side points away from the surface, so that the solution
        could leave to that side
    margin : distance to a loss of uniqueness over the error of the run
    """

    exact: bool
    open: bool
    margin: float


@kernel
def classify_grazing(w: Workspace, functions: EventFunctions, i: int) -> Grazing:
    """Classify the state in TRIAL, at a minimum of |h_i|, and return its margin.

    The error of h is the sum of the errors of all steps since the last placement on a surface, at
    least the tolerance, times a bound of their growth. After a two-fold a fraction of the largest
    |h| since then is added.
    """
    now, a = w.progress[0], w.vectors
    n, value = now.n, abs(a[SAMPLE, i])
    up, down = lie_derivatives(w, SIDES, i, TRIAL)
    tolerance_of_h = largest_h = 0.0
    for c in range(n):
        slope, size = abs(a[GRAD, i * n + c]), abs(a[TRIAL, c])
        tolerance_of_h += slope * (now.atol * a[SCALE, c] + now.rtol * size)
        largest_h += slope * max(size, 0.1 * a[SCALE, c])
    # four roundings, as in `advance`
    noise = max(functions[i].noise, 4.0 * 2.220446049250313e-16 * largest_h)
    error_growth = _GROWTH * (now.tightening + now.drift)
    exact = value <= _ZERO * noise
    error = error_growth * tolerance_of_h + _ZERO * noise + now.start_error * now.tallest
    margin = value / error
    speed = surface_speed(w, i)
    # the rate at which the field of the other side leaves the surface
    away = -down if a[SIDES, i] > 0.0 else up
    if speed > 0.0:
        # the solution is unique unless the other field points away: the margin is at least the
        # distance of that field from being tangent, over its error
        tangency_margin = -away / (speed * (FOLD_TOLERANCE + error_growth * now.rtol))
        if tangency_margin > 0.0:
            margin = max(margin, tangency_margin)
    else:
        margin = math.inf
    opens = away > FOLD_TOLERANCE * speed
    if now.m > 1 and _slides(w):
        # in sliding on another surface neither field alone decides
        opens = opens and exact
    return Grazing(exact, opens, margin)


@kernel
def _slides(w: Workspace) -> bool:
    """Return whether the state slides on any surface."""
    now, a = w.progress[0], w.vectors
    slides = False
    for j in range(now.m):
        slides = slides or a[SIDES, j] == 0.0
    return slides


@kernel(separate=True)
def at_grazing(w: Workspace, functions: EventFunctions, table: Matrix, records: Records) -> int:
    """Handle a grazing: a visible fold that the state reaches or nearly reaches.

    If the solution could leave to the other side, a state with a margin below 1 is placed on the
    fold, and the call ends with UNDECIDED, or with SPLIT if the minimum is exactly zero. If it
    could not, a minimum within the tolerance is recorded as a grazing, and the run continues.
    """
    now, a = w.progress[0], w.vectors
    i, fraction, h = now.which, now.event_fraction, now.event_step
    full = a[TRIAL, now.n] - a[Y, now.n]
    length = lowest_point(w, table, i, fraction, h)
    value, grazing = a[SAMPLE, i], classify_grazing(w, functions, i)
    normal = not gradient_vanishes(w, functions, i)
    # two solutions: one remains on its side, one leaves to the other
    if grazing.open and grazing.exact and normal:
        _record_grazing(w, functions, records, i, length / h, True)
        return SPLIT
    if grazing.open and grazing.margin < 1.0 and normal:
        now.margin = grazing.margin
        _record_grazing(w, functions, records, i, length / h, True)
        return UNDECIDED
    # one solution: the other field points back to the surface
    if not grazing.open and abs(value) <= functions[i].grazing and normal:
        now.margin = grazing.margin if grazing.margin >= 1.0 else math.inf
        _record_grazing(w, functions, records, i, length / h, True)
        return too_many_at_once(w)
    now.margin = grazing.margin if grazing.open else math.inf
    # remember this minimum, so that the repeated step ignores it; its time agrees within a
    # twentieth of the step (chosen)
    now.judged, now.judged_at = i + 1, a[TRIAL, now.n]
    now.judged_within, now.judged_from = 0.05 * abs(full), a[Y, now.n]
    # a small margin is recorded with an event, although the surface is not reached
    if value > 0.0 and grazing.open and grazing.margin < NEARBY and normal:
        _record_grazing(w, functions, records, i, length / h, False)
        return too_many_at_once(w)
    # no grazing, or an ordinary event before it: the step is repeated
    now.next_step = h
    if value > 0.0:
        now.least_margin = min(now.least_margin, now.margin)
        now.margin = math.inf
    crosses = first_fall(a[COEFFICIENT + i, :NODES], a[ROOT:]) < NONE
    # chosen: not for a minimum next to the start, whose step would hardly advance
    if crosses == (value > 0.0) and length > 1e-3 * h:
        # the samples of h were inaccurate: the next step ends at the minimum
        now.next_step = min(length, h)
    return RUNNING


@kernel
def _record_grazing(
    w: Workspace,
    functions: EventFunctions,
    records: Records,
    i: int,
    fraction: float,
    on_it: bool,
) -> None:
    """Accept the state in TRIAL as a grazing: record the event, project it on the surface."""
    now, a = w.progress[0], w.vectors
    save_until(w, records, a[TRIAL, now.n], fraction)
    for c in range(now.n + 1 + now.q):
        a[Y, c] = a[TRIAL, c]
    if on_it:
        project(w, i)
    side = a[SIDES, i]
    log_event(w, records, FOLD, i, side, side, side, side)
    clear_known_zeros(functions)
    if on_it:
        functions[i].order = 2
    begin_mode(w)


@kernel(separate=True)
def at_line(w: Workspace, functions: EventFunctions) -> int:
    """Return LINE_HIT if a state very near the codimension-2 line reaches it, else RUNNING."""
    now = w.progress[0]
    return LINE_HIT if slips_to_its_end(w, functions, now.event_step) else RUNNING


@kernel
def handle_rare_event(
    code: int,
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
) -> int:
    """Handle rare events by their codes until there is none; return the last code."""
    while code < RUNNING:
        if code == GRAZING:
            code = at_grazing(w, functions, table, records)
        elif code == INTERSECTION:
            code = at_intersection(w, functions, records)
        elif code == SLIDES_ON_BOTH:
            code = on_intersection(w, functions, table, records)
        elif code == SLIDING_ENDS:
            code = at_end_of_sliding(w, functions, records)
        else:
            code = at_line(w, functions)
    return code


@kernel(separate=True)
def advance_through_rare_events(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    t_end: float,
    max_steps: int,
) -> int:
    """Integrate as `advance`, with rare events."""
    now = w.progress[0]
    left = max_steps
    while left > 0:
        code = advance(w, functions, table, records, t_end, left)
        now.continues = 0
        code = handle_rare_event(code, w, functions, table, records)
        if code != RUNNING:
            return code
        left = now.left
    return PAUSED
