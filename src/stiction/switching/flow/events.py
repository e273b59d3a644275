"""Events of a flow: step to the root of the event function, choose the next mode: kernels.

An event is the arrival at a discontinuity surface, the end of sliding in a fold, or the crossing of
a kink. By Filippov's conditions (`surfaces`) the state crosses the surface, slides on it, or grazes
it. Kernels that handle an event return RUNNING, or the code with which `advance` must return. Data
of rare events, such as grazings, are stored in `progress`, and `advance` returns their code.
`advance` calls `at_event` for the first root in a step. The number `which` of an event function is
explained in `rates.event_values`: below m it is |h_i|, or the upper limit of the multiplier in
sliding; m + i is the lower limit; 2 m + j is kink j. Signs of surfaces are 1, -1, and 0 in sliding.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i, `table` the Runge-Kutta tableau and the transforms of samples,
`records` the saved states and events. Y and TRIAL are the states y = (x, t, W) at the start and at
the end of a step of length h, PLUS and MINUS the fields f+ and f- of both sides, and
L+- = grad h . f+- the rates of h along them.

Source: Filippov 1988; Szalai, Jeffrey 2014, section II.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import elapsed_time, finite, size_of_time
from stiction.switching.flow.rates import (
    bilinear,
    event_values,
    lie_derivative,
    lie_derivatives,
    normals,
    rates,
    second_surface,
    sliding_surface,
)
from stiction.switching.flow.records import (
    CROSS,
    DONE,
    ESCAPES,
    EVENTS_ACCUMULATE,
    FOLD,
    GRAZING,
    INTERSECTION,
    KINK,
    LEAVE,
    LINE_HIT,
    NO_DIRECTION,
    NOT_FINITE,
    RUNNING,
    SLIDE,
    SLIDING_ENDS,
    SPLIT,
    STALLED,
    TWO_FOLD_HIT,
    UNDECIDED,
)
from stiction.switching.flow.saving import log_event, save_until, signs_at
from stiction.switching.flow.state import (
    COEFFICIENT,
    EXTRA,
    GRAD,
    KINKS,
    MINUS,
    PLUS,
    RECORDED,
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import NEARBY, step
from stiction.switching.flow.surfaces import (
    TWO_FOLD_TOLERANCE,
    begin_mode,
    continuations_at,
    curvature,
    project,
    surface_speed,
    surfaces_at,
)
from stiction.switching.flow.tableau import AT_END

__all__ = [
    "NEXT_TO_TWO_FOLD",
    "arrive_at",
    "at_event",
    "check_accumulation",
    "clear_known_zeros",
    "gradient_vanishes",
    "grazing_at",
    "too_many_at_once",
]

# events accumulate if _LEAST_SHRINKS consecutive intervals between them decrease, down to the
# fraction _SHORTEST_INTERVAL of the elapsed time; time does not advance if more than _MOST_AT_ONCE
# events have the same time.
# Chosen: ten intervals decrease by chance once in 10! = 4e6 times, and more kinks and surfaces than
# 40 do not meet in one point
_LEAST_SHRINKS, _SHORTEST_INTERVAL, _MOST_AT_ONCE = 10, 1e-7, 40
# below these L+ and L- over |grad h| |f| a state is next to a two-fold: the heights of arcs from
# the surface back to it are of the order of the square of this number, in units of |grad h| times
# the state, and the square is about `placement.ON_SURFACE`, within which h counts as zero
NEXT_TO_TWO_FOLD = 3e-6
# shortest slip, as a fraction of the elapsed time: if a state leaves a surface and returns to it
# sooner, rounding of the multiplier has ended the sliding. Chosen
_SHORTEST_SLIP = 1e-10
# a gradient vanishes if it is below FLAT times the gradient at states displaced by ASIDE times
# their size. Where h has a double zero the gradient grows linearly, and is then zero to the error
# of the located state; both numbers were chosen far above that error
FLAT, ASIDE = 1e-3, 1e-3
# a sliding condition jumps at a kink if it changes by this fraction over roundings of the time; the
# state moves past the kink by 24 doublings of a rounding at most, to 1e-9 of the time. Chosen
_JUMP, _MOST_DOUBLINGS = 1e-6, 24
_EPS = 2.220446049250313e-16


@kernel
def _step_to_event(
    w: Workspace, functions: EventFunctions, table: Matrix, which: int, root: float, h: float
) -> bool:
    """Step to the event: repeat the step with a corrected length until the function is zero.

    The root of the dense output gives the first length. Each repeated step has the accuracy of the
    scheme, so that the event is as accurate as the trajectory; the last correction is linear.
    Returns whether the root agrees with that of the dense output.
    """
    now, a = w.progress[0], w.vectors
    order, last = functions[which].order, 2 * now.m + now.k
    n, width = now.n, now.n + 1 + now.q
    slope = value_and_slope(a[COEFFICIENT + which, :NODES], root, a[ROOT])[1] / h
    if order > 0:
        # the samples were divided by the fraction of the step, see `first_event`
        slope *= root if order == 1 else root * root
    length = root * h
    if length <= 0.0:
        # the step begins there
        step(w, table, 0.0)
        return True
    for _ in range(6):
        step(w, table, length)
        event_values(w, TRIAL, SAMPLE)
        value = a[SAMPLE, which]
        correction = value / slope if slope < 0.0 else 0.0
        # the error of the linear correction is its square
        if abs(correction) <= 0.1 * math.sqrt(now.rtol) * length or slope >= 0.0:
            for c in range(width):
                a[TRIAL, c] -= correction * a[STAGE + AT_END, c]
            # not after the end of the run, because the dense output had the root before it
            left = (now.t_end - a[TRIAL, n]) * now.direction
            return left >= 0.0 or which == last
        length = min(max(length - correction, 0.5 * length), h)
    return False


@kernel
def clear_known_zeros(functions: EventFunctions) -> None:
    """Reset the known zeros of all event functions."""
    for i in range(len(functions)):
        functions[i].order = 0


@kernel
def grazing_at(w: Workspace, i: int, root: float, h: float) -> int:
    """Store a grazing of surface i at the fraction `root` of the step; return its code."""
    now = w.progress[0]
    now.which = i
    now.event_fraction, now.event_step = root, h
    return GRAZING


@kernel(separate=True)
def at_event(
    w: Workspace,
    functions: EventFunctions,
    table: Matrix,
    records: Records,
    which: int,
    root: float,
    h: float,
) -> int:
    """Step to the event and handle it; return RUNNING or the code with which the call must end."""
    now, a = w.progress[0], w.vectors
    n, m, last = now.n, now.m, 2 * now.m + now.k
    width = n + 1 + now.q
    # h falls below zero slightly, with a minimum just after the step: this may be a grazing
    if which < m and a[SIDES, which] != 0.0:
        lowest = _minimum_after_step(w, functions, which, root)
        if lowest > 0.0:
            return grazing_at(w, which, lowest, h)
    located = _step_to_event(w, functions, table, which, root, h)
    # chosen: no halving below 1e-9 of the time; the event of such a step is known well enough
    if not located and h > 1e-9 * size_of_time(w):
        # the dense output is too inaccurate to order the events: halve the step
        now.rejected += 1
        now.next_step = 0.5 * h
        return RUNNING
    flat = which < m and a[SIDES, which] != 0.0 and gradient_vanishes(w, functions, which)
    if not flat:
        save_until(w, records, a[TRIAL, n], root)
    for c in range(width):
        a[Y, c] = a[TRIAL, c]
    if flat:
        return NO_DIRECTION
    clear_known_zeros(functions)
    if not finite(w, Y, width):
        return NOT_FINITE
    surface = sliding_surface(w, SIDES)
    both = surface >= 0 and second_surface(w, SIDES, surface) >= 0
    # a multiplier has reached +-1, or both sliding vectors merge
    if both and (which == last or (which < 2 * m and a[SIDES, which % m] == 0.0)):
        now.which = which
        return SLIDING_ENDS if now.direction > 0.0 else SPLIT
    # the end of the run, in sliding on one surface
    if which == last:
        a[Y, n] = now.t_end
        save_until(w, records, now.t_end, 0.0)
        return DONE
    if which >= 2 * m:
        return _at_kink(w, functions, records, which - 2 * m)
    surface = which if which < m else which - m
    if a[SIDES, surface] != 0.0:
        return _at_surface(w, functions, records, surface)
    return _at_end_of_sliding(w, functions, records, surface, which < m)


@kernel
def _minimum_after_step(w: Workspace, functions: EventFunctions, i: int, root: float) -> float:
    """Return the fraction of a small negative minimum of h_i just after the step, else 0.

    `first_event` locates minima inside the step.
    """
    now, a = w.progress[0], w.vectors
    if functions[i].order != 0:
        return 0.0
    n, tolerance = now.n, max(functions[i].grazing, NEARBY * functions[i].uncertainty)
    b, work = a[COEFFICIENT + i, :NODES], a[ROOT]
    # chosen: a difference over a twentieth of the step, of which the sign and two digits are needed
    beside = min(root + 0.05, 1.0) if root < 0.99 else root - 0.05
    slope = value_and_slope(b, root, work)[1]
    second_derivative = (value_and_slope(b, beside, work)[1] - slope) / (beside - root)
    # the parabola through the root dips by slope^2 / (2 h'') below zero: deeper is a crossing
    if second_derivative <= 0.0 or slope * slope > 2.0 * second_derivative * tolerance:
        return 0.0
    low = root - slope / second_derivative
    # a minimum that was classified before does not count
    time_difference = abs(a[Y, n] + low * (a[TRIAL, n] - a[Y, n]) - now.judged_at)
    same = time_difference <= 4.0 * now.judged_within or now.judged_from == a[Y, n]
    classified = now.judged == i + 1 and same
    # a minimum before the last 2 % of the step is located inside it by `first_event`
    return low if low > 0.98 and not classified else 0.0


@kernel
def gradient_vanishes(w: Workspace, functions: EventFunctions, i: int) -> bool:
    """Return whether the gradient of h_i vanishes where the step from Y to TRIAL ends.

    It counts as zero if it is below a thousandth of the gradient at states displaced by a
    thousandth of their size, or of the step. The surface then has no normal, and the signs of L+
    and L- are not defined.
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    if functions[i].order != 0 or now.plane != 0:
        return False
    normals(w, TRIAL, GRAD)
    change = 0.0
    for c in range(n):
        change += abs(a[GRAD, i * n + c] * (a[TRIAL, c] - a[Y, c]))
    # a gradient that explains the change of h_i over the step does not vanish
    if change >= 1e-2 * abs(functions[i].value):
        return False
    nearby = 0.0
    # each state moved in both directions
    for c in range(2 * n):
        for j in range(n + 1):
            a[SPARE, j] = a[TRIAL, j]
        far = max(a[SCALE, c // 2], abs(a[TRIAL, c // 2] - a[Y, c // 2]))
        a[SPARE, c // 2] += (1.0 - 2.0 * (c % 2)) * ASIDE * far
        normals(w, SPARE, EXTRA)
        nearby = max(nearby, _steepness(a, EXTRA, i, n))
    return _steepness(a, GRAD, i, n) < FLAT * nearby


@kernel
def _steepness(a: Matrix, gradients: int, i: int, n: int) -> float:
    """Return the change of h_i if every state changes by its size, to first order."""
    total = 0.0
    for c in range(n):
        total += abs(a[gradients, i * n + c]) * a[SCALE, c]
    return total


@kernel
def _at_kink(w: Workspace, functions: EventFunctions, records: Records, j: int) -> int:
    """Handle a zero of kink function j: return LINE_HIT if h is zero too, else record the kink."""
    now, a = w.progress[0], w.vectors
    on_surface = sliding_surface(w, SIDES)
    if now.line == 1 and j == 0 and on_surface == 0:
        return LINE_HIT
    if _on_line(w):
        return LINE_HIT
    mode = a[SIDES, 0]
    signs_at(w, Y)
    multiplier = a[RECORDED, 0]
    # the new sign makes the event function of the kink positive again
    a[KINKS, j] = -a[KINKS, j]
    functions[2 * now.m + j].order = 1
    jumps = on_surface >= 0 and now.direction > 0.0 and _jumps_at_kink(w, on_surface, j)
    log_event(w, records, KINK, 0, mode, mode, multiplier, multiplier)
    if jumps:
        # rows saved at the time of a jump hold the state after it, as the next step saves them
        n, near = now.n, 4.0 * _EPS * size_of_time(w)
        while now.saves > 0 and abs(records.saved[now.saves - 1, 0] - a[TRIAL, n]) <= near:
            now.saves -= 1
    code = _pass_jump(w, functions, records, on_surface) if jumps else RUNNING
    return too_many_at_once(w) if code == RUNNING else code


@kernel
def _jumps_at_kink(w: Workspace, i: int, j: int) -> bool:
    """Return whether the sliding conditions jump at kink j; move the state past the jump then.

    The state moves by roundings of the time, so that the field there is that beyond the kink.
    """
    now, a = w.progress[0], w.vectors
    width, two = now.n + 1 + now.q, second_surface(w, SIDES, i) >= 0
    rates(w, Y, STAGE)
    # rounding may have placed the event beyond the jump
    if not _move_past_kink(w, j, -1.0):
        return False
    size = change = 0.0
    if two:
        before = bilinear(w, SPARE)
        if not _move_past_kink(w, j, 1.0):
            return False
        after = bilinear(w, SPARE)
        for e in range(8):
            size, change = max(size, abs(before[e])), max(change, abs(after[e] - before[e]))
    else:
        up, down = lie_derivatives(w, SIDES, i, SPARE)
        if not _move_past_kink(w, j, 1.0):
            return False
        new_up, new_down = lie_derivatives(w, SIDES, i, SPARE)
        size = max(abs(up), abs(down))
        change = max(abs(new_up - up), abs(new_down - down))
    if change <= _JUMP * size:
        return False
    for c in range(width):
        a[Y, c] = a[SPARE, c]
    return True


@kernel
def _move_past_kink(w: Workspace, j: int, sense: float) -> bool:
    """Write to SPARE a state beyond (1) or before (-1) kink j, by roundings; return whether it is.

    STAGE has the rates. The sign of the kink is that beyond it already.
    """
    now, a = w.progress[0], w.vectors
    shift = _EPS * size_of_time(w)
    for _ in range(_MOST_DOUBLINGS):
        for c in range(now.n + 1 + now.q):
            a[SPARE, c] = a[Y, c] + sense * shift * a[STAGE, c]
        surfaces_at(w, SPARE, EXTRA)
        if sense * a[KINKS, j] * a[EXTRA, now.m + j] > 0.0:
            # a field whose jump is not computed as the kink function may jump some roundings later
            for c in range(now.n + 1 + now.q):
                a[SPARE, c] = a[Y, c] + sense * 4.0 * shift * a[STAGE, c]
            return True
        shift *= 2.0
    return False


@kernel
def _pass_jump(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """Choose the mode of a sliding state beyond a jump of the field at a kink."""
    now, a = w.progress[0], w.vectors
    j = second_surface(w, SIDES, i)
    if j >= 0:
        now.which, now.other, now.came_from = i, j, 0.0
        return INTERSECTION
    escaped, options = now.sense < 0.0, continuations_at(w, i)
    if options.escaping and not escaped:
        return ESCAPES
    if not options.along:
        if not (options.plus or options.minus):
            return NO_DIRECTION
        after = 1.0 if options.plus else -1.0
        a[SIDES, i] = after
        log_event(w, records, LEAVE, i, 0.0, after, after, after)
        functions[i].order = 2 if options.fold else 1
    begin_mode(w)
    return RUNNING


@kernel
def _on_line(w: Workspace) -> bool:
    """Return whether |h| and |g| are so small that the state lies on the codimension-2 line."""
    now, a = w.progress[0], w.vectors
    if now.line == 0:
        return False
    surfaces_at(w, Y, EXTRA)
    # chosen: events place states on the line more accurately than steps do
    return max(abs(a[EXTRA, 0]), abs(a[EXTRA, now.m])) <= 0.1 * now.on_line


@kernel
def too_many_at_once(w: Workspace) -> int:
    """Return STALLED if many consecutive events have the same time, else RUNNING."""
    now, a = w.progress[0], w.vectors
    t = a[Y, now.n]
    if abs(t - now.last_event) <= 4.0 * _EPS * max(abs(t), 1e-300):
        now.at_once += 1
    else:
        now.at_once = 0
    now.last_event = t
    return STALLED if now.at_once > _MOST_AT_ONCE else RUNNING


@kernel
def check_accumulation(w: Workspace) -> int:
    """Track intervals between events; return EVENTS_ACCUMULATE if they decrease towards zero."""
    now, a = w.progress[0], w.vectors
    t = a[Y, now.n]
    gap, before = abs(t - now.last_arrival), now.last_interval
    now.last_arrival = t
    # equal intervals of a periodic motion differ by the errors of events only (chosen)
    if gap < 0.999 * before:
        now.shrinks += 1
    else:
        now.shrinks = 0
    stalled = too_many_at_once(w)
    ratio = gap / before if before > 0.0 else 1.0
    now.last_interval = gap
    # intervals that decrease like a geometric series have a limit in finite time
    if (
        now.shrinks >= _LEAST_SHRINKS
        and gap <= _SHORTEST_INTERVAL * elapsed_time(w)
        and ratio < 1.0
    ):
        return EVENTS_ACCUMULATE
    return stalled


@kernel
def _at_surface(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """Handle the arrival at surface i: on the line h = g = 0, at an intersection, or elsewhere."""
    now, a = w.progress[0], w.vectors
    before = a[SIDES, i]
    project(w, i)
    if i == 0 and _on_line(w):
        return LINE_HIT
    other = sliding_surface(w, SIDES)
    if other < 0:
        other = _other_surface_at(w, functions, i)
    if other >= 0:
        if second_surface(w, SIDES, other) >= 0:
            return NO_DIRECTION
        now.which, now.other, now.came_from = i, other, before
        return INTERSECTION
    return arrive_at(w, functions, records, i)


@kernel(separate=True)
def arrive_at(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """Choose the continuation of a state that has reached surface i: cross, slide, or graze."""
    now, a = w.progress[0], w.vectors
    before = a[SIDES, i]
    options = continuations_at(w, i)
    may_cross = options.plus if before < 0.0 else options.minus
    after = -before if may_cross else 0.0
    if not may_cross and not options.along:
        # a visible fold of the field of its own side: the orbit grazes the surface
        after = before
    a[SIDES, i] = after
    kind = CROSS if after == -before else SLIDE if after == 0.0 else FOLD
    lam = 0.0 if after == 0.0 else after
    if after == 0.0:
        # projection on the surface removes the error of h
        now.drift = 0.0
        signs_at(w, Y)
        lam = a[RECORDED, i]
    if after == 0.0 and _remove_spurious_leave(w, records, i):
        begin_mode(w)
        # four times as blunt at each repetition, from rounding on: a few repetitions suffice
        now.blunt = max(4.0 * now.blunt, now.lie_rounding, 1e-15)
        return RUNNING
    log_event(w, records, kind, i, before, after, before, lam)
    functions[i].order = (2 if options.fold else 1) if after != 0.0 else 0
    begin_mode(w)
    if options.fold and options.escaping:
        return SPLIT
    code = check_accumulation(w)
    if code == RUNNING and after == -before and not options.fold and now.shrinks == 0:
        up, down = lie_derivative(w, i, PLUS), lie_derivative(w, i, MINUS)
        if max(abs(up), abs(down)) <= NEXT_TO_TWO_FOLD * surface_speed(w, i):
            # the arcs that leave a two-fold are lower than the resolution of the states
            return UNDECIDED
    return code


@kernel
def _remove_spurious_leave(w: Workspace, records: Records, i: int) -> bool:
    """Remove the last event if the state left surface i and returned to it at the same time.

    In this case the multiplier reached its limit within rounding only. Returns whether the event
    was removed.
    """
    now, a = w.progress[0], w.vectors
    t = a[Y, now.n]
    if now.events == 0:
        return False
    last = records.events[now.events - 1]
    if (
        last.kind != LEAVE
        or last.surface != i
        or abs(t - last.time) > _SHORTEST_SLIP * elapsed_time(w)
    ):
        return False
    now.events -= 1
    return True


@kernel
def _other_surface_at(w: Workspace, functions: EventFunctions, i: int) -> int:
    """Return another surface on which the state is, within errors, or -1."""
    now, a = w.progress[0], w.vectors
    if now.m == 1:
        return -1
    surfaces_at(w, Y, EXTRA)
    for j in range(now.m):
        tolerance = max(functions[j].grazing, NEARBY * functions[j].uncertainty)
        if j != i and abs(a[EXTRA, j]) <= tolerance:
            return j
    return -1


@kernel
def _at_end_of_sliding(
    w: Workspace, functions: EventFunctions, records: Records, i: int, upper: bool
) -> int:
    """Handle the end of sliding in a fold: leave the surface to the admissible side."""
    now, a = w.progress[0], w.vectors
    if now.direction < 0.0:
        # backward in time the orbit entered the surface through this fold
        return SPLIT
    project(w, i)
    begin_mode(w)
    after = 1.0 if upper else -1.0
    tangent, margin = True, math.inf
    if second_surface(w, SIDES, sliding_surface(w, SIDES)) < 0:
        up, down = lie_derivatives(w, SIDES, i, Y)
        speed = surface_speed(w, i)
        limit = TWO_FOLD_TOLERANCE * speed
        if abs(up) <= limit and abs(down) <= limit:
            return TWO_FOLD_HIT
        # if a two-fold is nearer than the error of the run, it is not known which fold comes first
        other = abs(down) if upper else abs(up)
        error = (1.0 + now.drift) * now.rtol + now.start_error
        margin = other / (limit + error * speed)
        second_derivative = curvature(w, i, after)
        if second_derivative * after < 0.0 and ((upper and down < 0.0) or (not upper and up > 0.0)):
            # an invisible fold at the end of an escaping region: only the other side is admissible
            after, tangent = -after, False
    a[SIDES, i] = after
    now.margin = margin
    log_event(w, records, LEAVE, i, 0.0, after, 1.0 if upper else -1.0, after)
    functions[i].order = 2 if tangent else 1
    for c in range(now.m):
        functions[now.m + c].order = 0
    begin_mode(w)
    code = check_accumulation(w)
    return UNDECIDED if code == RUNNING and margin < 1.0 else code
