"""What happens at an event: go there exactly, decide, change the mode: kernels.

What is rare is left to `rare`: it waits in `system` and `a`, and the loop returns its code.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NODES, value_and_slope
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
    CORNER,
    CROSS,
    DONE,
    FOLD,
    KINK,
    LEAVE,
    LINE_HIT,
    MEETS,
    NOT_FINITE,
    PILED_UP,
    RUNNING,
    SLIDE,
    SPLIT,
    STALLED,
    STAY_ENDS,
    TOUCHES,
    TWO_FOLD_HIT,
    UNDECIDED,
)
from stiction.switching.flow.rows import (
    AT,
    AT_LENGTH,
    AT_SHARE,
    BLUNT,
    BY_KIND,
    CAME,
    CLOCK,
    COEFFICIENT,
    DIRECTION,
    DOUBT,
    DRIFT,
    EXTRA,
    GRAD,
    JUDGED,
    JUDGED_AT,
    JUDGED_FROM,
    KIND,
    KINKS,
    LAST_EVENT,
    LAST_GAP,
    LAST_LANDING,
    LIE_NOISE,
    LINE,
    MARGIN,
    MINUS,
    N_EVENTS,
    NEXT_STEP,
    NOISE,
    ON_LINE,
    ORDER,
    OTHER,
    PACE,
    PLANE,
    PLUS,
    REJECTED,
    ROOT,
    RTOL,
    SAME_TIME,
    SAMPLE,
    SCALE,
    SHRINKS,
    SIDES,
    SPARE,
    STAGE,
    T_END,
    TOLD,
    TOUCH,
    TRIAL,
    VAGUE,
    VALUE,
    WHERE,
    WHICH,
    WITHIN,
    K,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.saving import log_event, save_until, signs_at
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
    "has_no_normal",
    "land",
    "piling",
    "too_many_at_once",
    "touches_at",
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


@kernel(borrows=True)
def _go_to(
    system: Integers, p: Vector, table: Matrix, a: Matrix, which: int, root: float, h: float
) -> bool:
    """Step exactly to the event: shorter steps from the same start until the function is zero.

    Returns whether it was found where the dense output of the step promised it.

    The dense output gives the first guess; each further step is as accurate as any other,
    so the event is as accurate as the trajectory. What is left is one small linear move.
    """
    order, last = system[ORDER + which], 2 * system[M] + system[K]
    n, width = system[N], system[N] + 1 + system[Q]
    slope = value_and_slope(a[COEFFICIENT + which, :NODES], root, a[ROOT])[1] / h
    if order > 0:
        # the samples were divided by the fraction of the step
        slope *= root if order == 1 else root * root
    length = root * h
    if length <= 0.0:
        # the step begins there
        step(system, p, table, a, 0.0)
        return True
    for _ in range(6):
        step(system, p, table, a, length)
        event_values(system, p, a, TRIAL, SAMPLE)
        value = a[SAMPLE, which]
        off = value / slope if slope < 0.0 else 0.0
        # the error of the last linear move is its square
        if abs(off) <= 0.1 * math.sqrt(a[PACE, RTOL]) * length or slope >= 0.0:
            for c in range(width):
                a[TRIAL, c] -= off * a[STAGE + AT_END, c]
            left = (a[PACE, T_END] - a[TRIAL, n]) * a[PACE, DIRECTION]
            return left >= 0.0 or which == last
        length = min(max(length - off, 0.5 * length), h)
    return False


@kernel(borrows=True)
def forget_zeros(system: Integers) -> None:
    """Let no event function be known to be zero."""
    for i in range(2 * system[M] + system[K] + 1):
        system[ORDER + i] = 0


@kernel(borrows=True)
def touches_at(system: Integers, a: Matrix, i: int, root: float, h: float) -> int:
    """Let a touch of surface i at the fraction `root` of the step wait; return its code."""
    system[WHICH] = i
    a[CLOCK, AT_SHARE], a[CLOCK, AT_LENGTH] = root, h
    return TOUCHES


@kernel(borrows=True, apart=True)
def at_event(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    which: int,
    root: float,
    h: float,
) -> int:
    """Go to the event, act on it, return RUNNING or why the call must end."""
    n, m, last = system[N], system[M], 2 * system[M] + system[K]
    width = n + 1 + system[Q]
    if which < m and a[SIDES, which] != 0.0:
        lowest = _shallow(system, a, which, root)
        if lowest > 0.0:
            return touches_at(system, a, which, lowest, h)
    found = _go_to(system, p, table, a, which, root, h)
    if not found and h > 1e-9 * size_of_time(a, n):
        # the dense output was not good enough to see what comes first: look closer
        system[REJECTED] += 1
        a[CLOCK, NEXT_STEP] = 0.5 * h
        return RUNNING
    flat = which < m and a[SIDES, which] != 0.0 and has_no_normal(system, p, a, which)
    if not flat:
        save_until(system, p, a, saved, a[TRIAL, n], root)
    for c in range(width):
        a[Y, c] = a[TRIAL, c]
    if flat:
        return CORNER
    forget_zeros(system)
    if not finite(a, Y, width):
        return NOT_FINITE
    surface = sliding_surface(system, a, SIDES)
    both = surface >= 0 and second_surface(system, a, SIDES, surface) >= 0
    if both and (which == last or (which < 2 * m and a[SIDES, which % m] == 0.0)):
        system[WHICH] = which
        return STAY_ENDS if a[PACE, DIRECTION] > 0.0 else SPLIT
    if which == last:
        a[Y, n] = a[PACE, T_END]
        save_until(system, p, a, saved, a[PACE, T_END], 0.0)
        return DONE
    if which >= 2 * m:
        return _at_kink(system, p, a, event, which - 2 * m)
    surface = which if which < m else which - m
    if a[SIDES, surface] != 0.0:
        return _at_surface(system, p, a, event, surface)
    return _at_fold_of_slide(system, p, a, event, surface, which < m)


@kernel(borrows=True)
def _shallow(system: Integers, a: Matrix, i: int, root: float) -> float:
    """Return where h_i is lowest behind a step that ends below zero, but little below, else 0.

    What is lowest inside a step `first_event` has seen.
    """
    if system[ORDER + i] != 0:
        return 0.0
    n, near = system[N], max(a[TOUCH, i], NEARBY * a[DOUBT, i])
    b, work = a[COEFFICIENT + i, :NODES], a[ROOT]
    ahead = min(root + 0.05, 1.0) if root < 0.99 else root - 0.05
    slope = value_and_slope(b, root, work)[1]
    bend = (value_and_slope(b, ahead, work)[1] - slope) / (ahead - root)
    if bend <= 0.0 or slope * slope > 2.0 * bend * near:
        return 0.0
    low = root - slope / bend
    off = abs(a[Y, n] + low * (a[TRIAL, n] - a[Y, n]) - a[CLOCK, JUDGED_AT])
    same = off <= 4.0 * a[CLOCK, WITHIN] or a[CLOCK, JUDGED_FROM] == a[Y, n]
    judged = a[CLOCK, JUDGED] == i + 1.0 and same
    return low if low > 0.98 and not judged else 0.0


@kernel(borrows=True)
def has_no_normal(system: Integers, p: Vector, a: Matrix, i: int) -> bool:
    """Return whether the gradient of h_i vanishes where the step from Y to TRIAL ends.

    It does when it is a thousandth of what it is a thousandth of the states' size, or of the step,
    away: there is no telling to which side the fields point.
    """
    n = system[N]
    if system[ORDER + i] != 0 or system[PLANE] != 0:
        return False
    normals(system, p, a, TRIAL, GRAD)
    change = 0.0
    for c in range(n):
        change += abs(a[GRAD, i * n + c] * (a[TRIAL, c] - a[Y, c]))
    # what explains most of the change of h_i over the step needs no closer look
    if change >= 1e-2 * abs(a[VALUE, i]):
        return False
    near = 0.0
    for c in range(2 * n):
        for j in range(n + 1):
            a[SPARE, j] = a[TRIAL, j]
        far = max(a[SCALE, c // 2], abs(a[TRIAL, c // 2] - a[Y, c // 2]))
        a[SPARE, c // 2] += (1.0 - 2.0 * (c % 2)) * ASIDE * far
        normals(system, p, a, SPARE, EXTRA)
        near = max(near, _steepness(a, EXTRA, i, n))
    return _steepness(a, GRAD, i, n) < FLAT * near


@kernel(borrows=True)
def _steepness(a: Matrix, gradients: int, i: int, n: int) -> float:
    """Return how far h_i changes where every state changes by its size."""
    total = 0.0
    for c in range(n):
        total += abs(a[gradients, i * n + c]) * a[SCALE, c]
    return total


@kernel(borrows=True)
def _at_kink(system: Integers, p: Vector, a: Matrix, event: Matrix, j: int) -> int:
    on_surface = sliding_surface(system, a, SIDES)
    if system[LINE] == 1 and j == 0 and on_surface == 0:
        return LINE_HIT
    if _on_line(system, p, a):
        return LINE_HIT
    mode = a[SIDES, 0]
    log_event(system, a, event, KINK, 0, mode, mode, mode, mode)
    a[KINKS, j] = -a[KINKS, j]
    system[ORDER + 2 * system[M] + j] = 1
    return too_many_at_once(system, a)


@kernel(borrows=True)
def _on_line(system: Integers, p: Vector, a: Matrix) -> bool:
    """Return whether h and g are both so small that rounding decides what comes next."""
    if system[LINE] == 0:
        return False
    surfaces_at(system, p, a, Y, EXTRA)
    return max(abs(a[EXTRA, 0]), abs(a[EXTRA, system[M]])) <= 0.1 * a[PACE, ON_LINE]


@kernel(borrows=True)
def too_many_at_once(system: Integers, a: Matrix) -> int:
    """Return STALLED after many events at one moment."""
    t = a[Y, system[N]]
    if abs(t - a[CLOCK, LAST_EVENT]) <= 4.0 * _EPS * max(abs(t), 1e-300):
        system[SAME_TIME] += 1
    else:
        system[SAME_TIME] = 0
    a[CLOCK, LAST_EVENT] = t
    return STALLED if system[SAME_TIME] > _SAME else RUNNING


@kernel(borrows=True)
def piling(system: Integers, a: Matrix) -> int:
    """Watch the time between events at surfaces; return PILED_UP when they accumulate."""
    t = a[Y, system[N]]
    gap, before = abs(t - a[CLOCK, LAST_LANDING]), a[CLOCK, LAST_GAP]
    a[CLOCK, LAST_LANDING] = t
    if gap < 0.999 * before:
        system[SHRINKS] += 1
    else:
        system[SHRINKS] = 0
    stalled = too_many_at_once(system, a)
    ratio = gap / before if before > 0.0 else 1.0
    a[CLOCK, LAST_GAP] = gap
    if (
        system[SHRINKS] >= _SHRINKS
        and gap <= _SHORTEST * size_of_time(a, system[N])
        and ratio < 1.0
    ):
        return PILED_UP
    return stalled


@kernel(borrows=True)
def _at_surface(system: Integers, p: Vector, a: Matrix, event: Matrix, i: int) -> int:
    """A surface is reached from one side: cross it, or stay on it."""
    came = a[SIDES, i]
    project(system, p, a, i)
    if i == 0 and _on_line(system, p, a):
        return LINE_HIT
    other = sliding_surface(system, a, SIDES)
    if other < 0:
        other = _also_here(system, p, a, i)
    if other >= 0:
        if second_surface(system, a, SIDES, other) >= 0:
            return CORNER
        system[WHICH], system[OTHER], a[CLOCK, CAME] = i, other, came
        return MEETS
    return land(system, p, a, event, i)


@kernel(borrows=True, apart=True)
def land(system: Integers, p: Vector, a: Matrix, event: Matrix, i: int) -> int:
    """Act on the arrival at surface i alone, to which the state has been put."""
    came = a[SIDES, i]
    here = landing(system, p, a, i)
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
        a[CLOCK, DRIFT] = 0.0
        signs_at(system, p, a, Y)
        lam = a[TOLD, i]
    if after == 0.0 and _led_nowhere(system, a, event, i):
        begin_mode(system, p, a)
        a[CLOCK, BLUNT] = max(4.0 * a[CLOCK, BLUNT], a[PACE, LIE_NOISE], 1e-15)
        return RUNNING
    log_event(system, a, event, kind, i, came, after, came, lam)
    system[ORDER + i] = (2 if here.fold else 1) if after != 0.0 else 0
    begin_mode(system, p, a)
    if here.fold and here.escaping:
        return SPLIT
    code = piling(system, a)
    if code == RUNNING and after == -came and not here.fold and system[SHRINKS] == 0:
        up, down = lie(system, a, i, PLUS), lie(system, a, i, MINUS)
        if max(abs(up), abs(down)) <= NEXT_TO_TWO_FOLD * surface_speed(system, a, i):
            # hops that grow out of a two-fold are lower than what the states resolve
            return UNDECIDED
    return code


@kernel(borrows=True)
def _led_nowhere(system: Integers, a: Matrix, event: Matrix, i: int) -> bool:
    """Forget that the state left surface i, to which it comes back at the same moment.

    The multiplier has only touched its limit. Returns whether it did.
    """
    row, t = system[N_EVENTS] - 1, a[Y, system[N]]
    if row < 0 or event[row, KIND] != LEAVE or event[row, WHERE] != i:
        return False
    if abs(t - event[row, AT]) > _AT_ONCE * size_of_time(a, system[N]):
        return False
    system[N_EVENTS] = row
    system[BY_KIND + LEAVE] -= 1
    return True


@kernel(borrows=True)
def _also_here(system: Integers, p: Vector, a: Matrix, i: int) -> int:
    """Return another surface on which the state is too, or may be, or is nearly, or -1."""
    if system[M] == 1:
        return -1
    surfaces_at(system, p, a, Y, EXTRA)
    for j in range(system[M]):
        near = max(a[TOUCH, j], NEARBY * a[DOUBT, j])
        if j != i and abs(a[EXTRA, j]) <= max(16.0 * a[NOISE, j], near):
            return j
    return -1


@kernel(borrows=True)
def _at_fold_of_slide(
    system: Integers, p: Vector, a: Matrix, event: Matrix, i: int, upper: bool
) -> int:
    """The state slides to a fold: it leaves through it, to the side that lets it go."""
    if a[PACE, DIRECTION] < 0.0:
        # backward in time nothing is decided here: the way in was through this fold
        return SPLIT
    project(system, p, a, i)
    begin_mode(system, p, a)
    after = 1.0 if upper else -1.0
    tangent, margin = True, math.inf
    if second_surface(system, a, SIDES, sliding_surface(system, a, SIDES)) < 0:
        up, down = slide_data(system, p, a, SIDES, i, Y)
        speed = surface_speed(system, a, i)
        limit = TWO_FOLD_SHARE * speed
        if abs(up) <= limit and abs(down) <= limit:
            return TWO_FOLD_HIT
        # nearer to a two-fold than its error the run cannot tell which fold comes first
        other = abs(down) if upper else abs(up)
        off = (1.0 + a[CLOCK, DRIFT]) * a[PACE, RTOL] + a[CLOCK, VAGUE]
        margin = other / (limit + off * speed)
        bend = curvature(system, p, a, i, after)
        if bend * after < 0.0 and ((upper and down < 0.0) or (not upper and up > 0.0)):
            # an invisible fold at the end of an escaping region: only the other side is left
            after, tangent = -after, False
    a[SIDES, i] = after
    a[CLOCK, MARGIN] = margin
    log_event(system, a, event, LEAVE, i, 0.0, after, 1.0 if upper else -1.0, after)
    system[ORDER + i] = 2 if tangent else 1
    for c in range(system[M]):
        system[ORDER + system[M] + c] = 0
    begin_mode(system, p, a)
    code = piling(system, a)
    return UNDECIDED if code == RUNNING and margin < 1.0 else code
