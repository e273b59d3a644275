"""What happens at an event: go there exactly, decide, change the mode: kernels.

What is rare is left to `rare_events`: it waits in `progress`, and the loop returns its code.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import finite, size_of_time
from stiction.switching.flow.rates import (
    event_values,
    lie,
    normals,
    second_surface,
    slide_data,
    sliding_surface,
)
from stiction.switching.flow.records import (
    CROSS,
    DONE,
    FOLD,
    GRAZING,
    INTERSECTION,
    KINK,
    LEAVE,
    LINE_HIT,
    NO_DIRECTION,
    NOT_FINITE,
    PILED_UP,
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
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    TOLD,
    TRIAL,
    EventFunctions,
    Records,
    Workspace,
    Y,
)
from stiction.switching.flow.steps import NEARBY, step
from stiction.switching.flow.surfaces import (
    TWO_FOLD_SHARE,
    begin_mode,
    curvature,
    landing,
    project,
    surface_speed,
    surfaces_at,
)
from stiction.switching.flow.tableau import AT_END

__all__ = [
    "NEXT_TO_TWO_FOLD",
    "at_event",
    "forget_zeros",
    "grazing_at",
    "has_no_normal",
    "land",
    "piling",
    "too_many_at_once",
]

# events at a surface whose distances shrink this often in a row, down to this share of the
# time, pile up; so many at one moment are a stall
_SHRINKS, _SHORTEST, _SAME = 10, 1e-7, 40
# L+ and L- over |grad h| |f| next to a two-fold, where hops end below the tolerance
NEXT_TO_TWO_FOLD = 3e-6
# a slip that is shorter than this share of the time is none
_AT_ONCE = 1e-10
# a gradient vanishes if it is less than FLAT of what it is ASIDE of the states' size away
FLAT, ASIDE = 1e-3, 1e-3
_EPS = 2.220446049250313e-16


@kernel
def _go_to(
    w: Workspace, functions: EventFunctions, table: Matrix, which: int, root: float, h: float
) -> bool:
    """Step exactly to the event: shorter steps from the same start until the function is zero.

    Returns whether it was found where the dense output of the step promised it.

    The dense output gives the first guess; each further step is as accurate as any other,
    so the event is as accurate as the trajectory. What is left is one small linear move.
    """
    now, a = w.progress[0], w.rows
    order, last = functions[which].order, 2 * now.m + now.k
    n, width = now.n, now.n + 1 + now.q
    slope = value_and_slope(a[COEFFICIENT + which, :NODES], root, a[ROOT])[1] / h
    if order > 0:
        # the samples were divided by the fraction of the step
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
        off = value / slope if slope < 0.0 else 0.0
        # the error of the last linear move is its square
        if abs(off) <= 0.1 * math.sqrt(now.rtol) * length or slope >= 0.0:
            for c in range(width):
                a[TRIAL, c] -= off * a[STAGE + AT_END, c]
            left = (now.t_end - a[TRIAL, n]) * now.direction
            return left >= 0.0 or which == last
        length = min(max(length - off, 0.5 * length), h)
    return False


@kernel
def forget_zeros(functions: EventFunctions) -> None:
    """Let no event function be known to be zero."""
    for i in range(len(functions)):
        functions[i].order = 0


@kernel
def grazing_at(w: Workspace, i: int, root: float, h: float) -> int:
    """Let a touch of surface i at the fraction `root` of the step wait; return its code."""
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
    """Go to the event, act on it, return RUNNING or why the call must end."""
    now, a = w.progress[0], w.rows
    n, m, last = now.n, now.m, 2 * now.m + now.k
    width = n + 1 + now.q
    if which < m and a[SIDES, which] != 0.0:
        lowest = _shallow(w, functions, which, root)
        if lowest > 0.0:
            return grazing_at(w, which, lowest, h)
    found = _go_to(w, functions, table, which, root, h)
    if not found and h > 1e-9 * size_of_time(w):
        # the dense output was not good enough to see what comes first: look closer
        now.rejected += 1
        now.next_step = 0.5 * h
        return RUNNING
    flat = which < m and a[SIDES, which] != 0.0 and has_no_normal(w, functions, which)
    if not flat:
        save_until(w, records, a[TRIAL, n], root)
    for c in range(width):
        a[Y, c] = a[TRIAL, c]
    if flat:
        return NO_DIRECTION
    forget_zeros(functions)
    if not finite(w, Y, width):
        return NOT_FINITE
    surface = sliding_surface(w, SIDES)
    both = surface >= 0 and second_surface(w, SIDES, surface) >= 0
    if both and (which == last or (which < 2 * m and a[SIDES, which % m] == 0.0)):
        now.which = which
        return SLIDING_ENDS if now.direction > 0.0 else SPLIT
    if which == last:
        a[Y, n] = now.t_end
        save_until(w, records, now.t_end, 0.0)
        return DONE
    if which >= 2 * m:
        return _at_kink(w, functions, records, which - 2 * m)
    surface = which if which < m else which - m
    if a[SIDES, surface] != 0.0:
        return _at_surface(w, functions, records, surface)
    return _at_fold_of_slide(w, functions, records, surface, which < m)


@kernel
def _shallow(w: Workspace, functions: EventFunctions, i: int, root: float) -> float:
    """Return where h_i is lowest behind a step that ends below zero, but little below, else 0.

    What is lowest inside a step `first_event` has seen.
    """
    now, a = w.progress[0], w.rows
    if functions[i].order != 0:
        return 0.0
    n, near = now.n, max(functions[i].grazing, NEARBY * functions[i].uncertainty)
    b, work = a[COEFFICIENT + i, :NODES], a[ROOT]
    ahead = min(root + 0.05, 1.0) if root < 0.99 else root - 0.05
    slope = value_and_slope(b, root, work)[1]
    bend = (value_and_slope(b, ahead, work)[1] - slope) / (ahead - root)
    if bend <= 0.0 or slope * slope > 2.0 * bend * near:
        return 0.0
    low = root - slope / bend
    off = abs(a[Y, n] + low * (a[TRIAL, n] - a[Y, n]) - now.judged_at)
    same = off <= 4.0 * now.judged_within or now.judged_from == a[Y, n]
    judged = now.judged == i + 1 and same
    return low if low > 0.98 and not judged else 0.0


@kernel
def has_no_normal(w: Workspace, functions: EventFunctions, i: int) -> bool:
    """Return whether the gradient of h_i vanishes where the step from Y to TRIAL ends.

    It does when it is a thousandth of what it is a thousandth of the states' size, or of the step,
    away: there is no telling to which side the fields point.
    """
    now, a = w.progress[0], w.rows
    n = now.n
    if functions[i].order != 0 or now.plane != 0:
        return False
    normals(w, TRIAL, GRAD)
    change = 0.0
    for c in range(n):
        change += abs(a[GRAD, i * n + c] * (a[TRIAL, c] - a[Y, c]))
    # what explains most of the change of h_i over the step needs no closer look
    if change >= 1e-2 * abs(functions[i].value):
        return False
    near = 0.0
    for c in range(2 * n):
        for j in range(n + 1):
            a[SPARE, j] = a[TRIAL, j]
        far = max(a[SCALE, c // 2], abs(a[TRIAL, c // 2] - a[Y, c // 2]))
        a[SPARE, c // 2] += (1.0 - 2.0 * (c % 2)) * ASIDE * far
        normals(w, SPARE, EXTRA)
        near = max(near, _steepness(a, EXTRA, i, n))
    return _steepness(a, GRAD, i, n) < FLAT * near


@kernel
def _steepness(a: Matrix, gradients: int, i: int, n: int) -> float:
    """Return how far h_i changes where every state changes by its size."""
    total = 0.0
    for c in range(n):
        total += abs(a[gradients, i * n + c]) * a[SCALE, c]
    return total


@kernel
def _at_kink(w: Workspace, functions: EventFunctions, records: Records, j: int) -> int:
    now, a = w.progress[0], w.rows
    on_surface = sliding_surface(w, SIDES)
    if now.line == 1 and j == 0 and on_surface == 0:
        return LINE_HIT
    if _on_line(w):
        return LINE_HIT
    mode = a[SIDES, 0]
    log_event(w, records, KINK, 0, mode, mode, mode, mode)
    a[KINKS, j] = -a[KINKS, j]
    functions[2 * now.m + j].order = 1
    return too_many_at_once(w)


@kernel
def _on_line(w: Workspace) -> bool:
    """Return whether h and g are both so small that rounding decides what comes next."""
    now, a = w.progress[0], w.rows
    if now.line == 0:
        return False
    surfaces_at(w, Y, EXTRA)
    return max(abs(a[EXTRA, 0]), abs(a[EXTRA, now.m])) <= 0.1 * now.on_line


@kernel
def too_many_at_once(w: Workspace) -> int:
    """Return STALLED after many events at one moment."""
    now, a = w.progress[0], w.rows
    t = a[Y, now.n]
    if abs(t - now.last_event) <= 4.0 * _EPS * max(abs(t), 1e-300):
        now.at_once += 1
    else:
        now.at_once = 0
    now.last_event = t
    return STALLED if now.at_once > _SAME else RUNNING


@kernel
def piling(w: Workspace) -> int:
    """Watch the time between events at surfaces; return PILED_UP when they accumulate."""
    now, a = w.progress[0], w.rows
    t = a[Y, now.n]
    gap, before = abs(t - now.last_arrival), now.last_interval
    now.last_arrival = t
    if gap < 0.999 * before:
        now.shrinks += 1
    else:
        now.shrinks = 0
    stalled = too_many_at_once(w)
    ratio = gap / before if before > 0.0 else 1.0
    now.last_interval = gap
    if now.shrinks >= _SHRINKS and gap <= _SHORTEST * size_of_time(w) and ratio < 1.0:
        return PILED_UP
    return stalled


@kernel
def _at_surface(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """A surface is reached from one side: cross it, or stay on it."""
    now, a = w.progress[0], w.rows
    came = a[SIDES, i]
    project(w, i)
    if i == 0 and _on_line(w):
        return LINE_HIT
    other = sliding_surface(w, SIDES)
    if other < 0:
        other = _also_here(w, functions, i)
    if other >= 0:
        if second_surface(w, SIDES, other) >= 0:
            return NO_DIRECTION
        now.which, now.other, now.came_from = i, other, came
        return INTERSECTION
    return land(w, functions, records, i)


@kernel(separate=True)
def land(w: Workspace, functions: EventFunctions, records: Records, i: int) -> int:
    """Act on the arrival at surface i alone, to which the state has been put."""
    now, a = w.progress[0], w.rows
    came = a[SIDES, i]
    here = landing(w, i)
    there = here.plus if came < 0.0 else here.minus
    after = -came if there else 0.0
    if not there and not here.along:
        # it touches a fold of its own side and leaves again
        after = came
    a[SIDES, i] = after
    kind = CROSS if after == -came else SLIDE if after == 0.0 else FOLD
    lam = 0.0 if after == 0.0 else after
    if after == 0.0:
        # on the surface h has no error: it starts anew
        now.drift = 0.0
        signs_at(w, Y)
        lam = a[TOLD, i]
    if after == 0.0 and _led_nowhere(w, records, i):
        begin_mode(w)
        now.blunt = max(4.0 * now.blunt, now.lie_rounding, 1e-15)
        return RUNNING
    log_event(w, records, kind, i, came, after, came, lam)
    functions[i].order = (2 if here.fold else 1) if after != 0.0 else 0
    begin_mode(w)
    if here.fold and here.escaping:
        return SPLIT
    code = piling(w)
    if code == RUNNING and after == -came and not here.fold and now.shrinks == 0:
        up, down = lie(w, i, PLUS), lie(w, i, MINUS)
        if max(abs(up), abs(down)) <= NEXT_TO_TWO_FOLD * surface_speed(w, i):
            # hops that grow out of a two-fold are lower than what the states resolve
            return UNDECIDED
    return code


@kernel
def _led_nowhere(w: Workspace, records: Records, i: int) -> bool:
    """Forget that the state left surface i, to which it comes back at the same moment.

    The multiplier has only touched its limit. Returns whether it did.
    """
    now, a = w.progress[0], w.rows
    t = a[Y, now.n]
    if now.events == 0:
        return False
    last = records.events[now.events - 1]
    if last.kind != LEAVE or last.surface != i or abs(t - last.time) > _AT_ONCE * size_of_time(w):
        return False
    now.events -= 1
    return True


@kernel
def _also_here(w: Workspace, functions: EventFunctions, i: int) -> int:
    """Return another surface on which the state is too, or may be, or is nearly, or -1."""
    now, a = w.progress[0], w.rows
    if now.m == 1:
        return -1
    surfaces_at(w, Y, EXTRA)
    for j in range(now.m):
        near = max(functions[j].grazing, NEARBY * functions[j].uncertainty)
        if j != i and abs(a[EXTRA, j]) <= max(16.0 * functions[j].noise, near):
            return j
    return -1


@kernel
def _at_fold_of_slide(
    w: Workspace, functions: EventFunctions, records: Records, i: int, upper: bool
) -> int:
    """The state slides to a fold: it leaves through it, to the side that lets it go."""
    now, a = w.progress[0], w.rows
    if now.direction < 0.0:
        # backward in time nothing is decided here: the way in was through this fold
        return SPLIT
    project(w, i)
    begin_mode(w)
    after = 1.0 if upper else -1.0
    tangent, margin = True, math.inf
    if second_surface(w, SIDES, sliding_surface(w, SIDES)) < 0:
        up, down = slide_data(w, SIDES, i, Y)
        speed = surface_speed(w, i)
        limit = TWO_FOLD_SHARE * speed
        if abs(up) <= limit and abs(down) <= limit:
            return TWO_FOLD_HIT
        # nearer to a two-fold than its error the run cannot tell which fold comes first
        other = abs(down) if upper else abs(up)
        off = (1.0 + now.drift) * now.rtol + now.vague
        margin = other / (limit + off * speed)
        bend = curvature(w, i, after)
        if bend * after < 0.0 and ((upper and down < 0.0) or (not upper and up > 0.0)):
            # an invisible fold at the end of an escaping region: only the other side is left
            after, tangent = -after, False
    a[SIDES, i] = after
    now.margin = margin
    log_event(w, records, LEAVE, i, 0.0, after, 1.0 if upper else -1.0, after)
    functions[i].order = 2 if tangent else 1
    for c in range(now.m):
        functions[now.m + c].order = 0
    begin_mode(w)
    code = piling(w)
    return UNDECIDED if code == RUNNING and margin < 1.0 else code
