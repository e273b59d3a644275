"""The loop: step, look for events, act on them, until the end or until nothing decides."""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.bernstein import NODES
from stiction.numerics.jit import kernel
from stiction.switching.flow.events import at_event, forget_zeros, touches_at
from stiction.switching.flow.geometry import finite
from stiction.switching.flow.line import ARRIVED, MAYBE, slides_onto_line, slips_onto_line
from stiction.switching.flow.rates import (
    event_values,
    normals,
    rates,
    second_surface,
    sliding_surface,
)
from stiction.switching.flow.records import (
    DONE,
    EVENTS_FULL,
    LINE_HIT,
    NEARS_LINE,
    NOT_FINITE,
    PAUSED,
    RUNNING,
    STALLED,
    STAYS,
    TWO_FOLD_HIT,
)
from stiction.switching.flow.rows import (
    AT_LENGTH,
    AT_SHARE,
    ATOL,
    BLUNT,
    BROKEN,
    BROKEN_AT,
    CAME,
    CLOCK,
    DIRECTION,
    DOUBT,
    DRIFT,
    ERROR,
    FORCED,
    FRESH,
    GAP,
    GOES_ON,
    GRAD,
    LEFT,
    LIE_NOISE,
    LINE,
    LONGEST,
    N_EVENTS,
    NEXT_STEP,
    NOISE,
    NORM,
    ORDER,
    OTHER,
    PACE,
    PLANE,
    REFUSED,
    REJECTED,
    RHO,
    RTOL,
    SAMPLE,
    SCALE,
    SHARE,
    SIDES,
    SLOPE,
    SMOOTH,
    STAGE,
    STEPS,
    T_END,
    TALLEST,
    TOUCH,
    TRIAL,
    VAGUE,
    VALUE,
    WHICH,
    K,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.saving import save_until
from stiction.switching.flow.steps import (
    HIDDEN,
    dense_rows,
    finish_stages,
    first_event,
    sample_events,
    step,
)
from stiction.switching.flow.surfaces import TWO_FOLD_SHARE, is_plane, project, tighten
from stiction.switching.flow.tableau import AT_END

__all__ = ["NO_EVENT", "TOO_LONG", "advance", "after_step"]

_EPS = 2.220446049250313e-16
# as many steps are taken at the limit of what the time can tell apart
_FORCED = 2000
# so many steps into NaN while the time grows by less than this share: the field ends there
_BROKEN, _PROGRESS = 200, 1e-3
# h of a plane rounds at least by this share of what its terms would at their usual size
_FINEST = 1e-7
# a value of h below this many times its rounding is zero
_ZERO = 64.0
# what `_act` says beside RUNNING and the codes of `records`
NO_EVENT, TOO_LONG = -2, -3


@kernel(borrows=True, apart=True)
def advance(
    system: Integers,
    p: Vector,
    table: Matrix,
    a: Matrix,
    saved: Matrix,
    event: Matrix,
    t_end: float,
    max_steps: int,
) -> int:
    """Follow the trajectory to t_end; return how the call ended (see `records`).

    Every pass of the loop takes one step or handles one event: `max_steps` and the rows for
    events bound the work. A negative code is a rare event that waits for `rare`, with LEFT
    passes left. After PAUSED a call with GOES_ON set goes on as if there had been no pause.
    """
    n = system[N]
    a[PACE, T_END] = t_end
    _enter(system, a)
    fresh, rejected = a[CLOCK, FRESH] != 0.0, a[CLOCK, REFUSED] != 0.0
    gap, error = a[CLOCK, GAP], a[CLOCK, ERROR]
    for used in range(max_steps):
        system[LEFT] = max_steps - 1 - used
        if system[N_EVENTS] >= event.shape[0] - 1:
            return EVENTS_FULL
        if fresh:
            if not _begin(system, p, a):
                return NOT_FINITE
            fresh, gap = False, 0.0
        surface = sliding_surface(system, a, SIDES)
        single = surface >= 0 and second_surface(system, a, SIDES, surface) < 0
        left = (t_end - a[Y, n]) * a[PACE, DIRECTION]
        if left <= 0.0:
            return DONE
        h, least = _step_length(system, a, left, single), 16.0 * _EPS * abs(a[Y, n])
        if left <= 0.5 * least:
            a[Y, n] = t_end
            save_until(system, p, a, saved, t_end, 0.0)
            return DONE
        tiny = h < least
        if tiny:
            # the time can tell no shorter steps apart: a few are taken whatever their error
            h = min(least, left)
            a[CLOCK, FORCED] += 1.0
            if a[CLOCK, FORCED] > _FORCED:
                return _why_stalled(system, a, error)
        system[STEPS] += 1
        error = step(system, p, table, a, h)
        if not error <= 1.0 and not (tiny and error < math.inf):
            if _refuse(system, p, a, h, error):
                return NOT_FINITE
            rejected = True
            continue
        if system[PLANE] == 2 and not is_plane(system, p, a):
            # h only looked like a plane so far: take its gradient anew, and the step again
            system[PLANE], fresh = 0, True
            system[REJECTED] += 1
            continue
        factor = 10.0 if error < 1e-10 else min(10.0, max(0.3, 0.9 * error ** (-0.125)))
        a[CLOCK, NEXT_STEP] = h * (min(factor, 1.0) if rejected else factor)
        a[CLOCK, DRIFT] += min(error, 1.0) * a[PACE, SHARE]
        code = _act(system, p, table, a, saved, event, h)
        rejected = code == TOO_LONG
        if rejected:
            system[REJECTED] += 1
            a[CLOCK, NEXT_STEP] = 0.5 * h
            continue
        fresh = code == RUNNING
        if fresh:
            continue
        if code != NO_EVENT:
            return code
        if surface < 0 and left <= h:
            a[TRIAL, n] = t_end
        code, gap = after_step(system, p, a, saved, h, surface if single else -1, gap)
        if code != RUNNING:
            return code
    a[CLOCK, FRESH], a[CLOCK, REFUSED] = fresh, rejected
    a[CLOCK, GAP], a[CLOCK, ERROR] = gap, error
    return PAUSED


@kernel(borrows=True)
def _enter(system: Integers, a: Matrix) -> None:
    """Forget what the loop knew, unless it goes on where it paused."""
    if system[GOES_ON] == 0:
        a[CLOCK, FRESH], a[CLOCK, REFUSED], a[CLOCK, GAP], a[CLOCK, ERROR] = 1.0, 0.0, 0.0, 0.0
        a[CLOCK, BROKEN], a[CLOCK, BROKEN_AT], a[CLOCK, FORCED] = 0.0, a[Y, system[N]], 0.0


@kernel(borrows=True)
def _refuse(system: Integers, p: Vector, a: Matrix, h: float, error: float) -> bool:
    """Count a step that is refused and choose a shorter one; return whether the field ends."""
    t = a[Y, system[N]]
    system[REJECTED] += 1
    if error == math.inf:
        # many steps into a place where the field is no number, and no way past it
        if abs(t - a[CLOCK, BROKEN_AT]) > _PROGRESS * max(abs(t), h):
            a[CLOCK, BROKEN], a[CLOCK, BROKEN_AT] = 0.0, t
        a[CLOCK, BROKEN] += 1.0
        if a[CLOCK, BROKEN] > _BROKEN:
            return True
    a[CLOCK, NEXT_STEP] = _after_rejection(system, p, a, h, error)
    return False


@kernel(borrows=True)
def _begin(system: Integers, p: Vector, a: Matrix) -> bool:
    """Compute rates and event functions where a step begins afresh; return whether finite."""
    a[CLOCK, SMOOTH] = 0.0
    rates(system, p, a, Y, STAGE)
    event_values(system, p, a, Y, VALUE)
    if not finite(a, STAGE, system[N] + 1 + system[Q]):
        return False
    _arm(system, p, a)
    return True


@kernel(borrows=True, apart=True)
def _act(
    system: Integers, p: Vector, table: Matrix, a: Matrix, saved: Matrix, event: Matrix, h: float
) -> int:
    """Look for events in the step of length h and act on the first.

    Returns
    -------
    NO_EVENT, TOO_LONG where the step hides what the surfaces do, RUNNING after an event,
    or why the call must end.
    """
    finish_stages(system, p, table, a, h)
    dense_rows(system, table, a, h)
    sample_events(system, p, table, a)
    found = first_event(system, table, a, h)
    if found.which == HIDDEN:
        return TOO_LONG
    surface = sliding_surface(system, a, SIDES)
    if surface >= 0 and second_surface(system, a, SIDES, surface) >= 0:
        # other ways may open before
        system[WHICH], system[OTHER] = found.which, found.low
        a[CLOCK, AT_SHARE], a[CLOCK, AT_LENGTH], a[CLOCK, CAME] = found.root, h, found.at
        return STAYS
    if found.low >= 0:
        return touches_at(system, a, found.low, found.at, h)
    if found.which < 0:
        return NO_EVENT
    return at_event(system, p, table, a, saved, event, found.which, found.root, h)


@kernel(borrows=True, apart=True)
def after_step(
    system: Integers,
    p: Vector,
    a: Matrix,
    saved: Matrix,
    h: float,
    surface: int,
    gap_before: float,
) -> tuple[int, float]:
    """Move to the end of a step without events; return whether it arrived somewhere.

    Parameters
    ----------
    surface : the one on which the state slides, -1 if it slides on none or on two

    Returns
    -------
    RUNNING or why the call must end; L- - L+ over its scale while sliding
    """
    m, width, slides = system[M], system[N] + 1 + system[Q], False
    save_until(system, p, a, saved, a[TRIAL, system[N]], 1.0)
    for c in range(width):
        # the last rates are the first of the next step
        a[Y, c] = a[TRIAL, c]
        a[STAGE, c] = a[STAGE + AT_END, c]
    for i in range(m):
        if a[SIDES, i] == 0.0:
            project(system, p, a, i)
            slides = True
    event_values(system, p, a, Y, VALUE)
    if slides:
        rates(system, p, a, Y, STAGE)
    for i in range(m):
        down = system[ORDER + i] == 0 and a[SAMPLE + NODES - 1, i] < a[SAMPLE + NODES - 2, i]
        a[SLOPE, i] = -1.0 if down and a[SIDES, i] != 0.0 else 0.0
    forget_zeros(system)
    a[CLOCK, SMOOTH] = 1.0
    _arm(system, p, a)
    if not finite(a, Y, width):
        return NOT_FINITE, 0.0
    if surface < 0:
        if system[LINE] == 1:
            code = slips_onto_line(system, p, a, h)
            if code == MAYBE:
                a[CLOCK, AT_LENGTH] = h
                return NEARS_LINE, 0.0
            if code == ARRIVED:
                return LINE_HIT, 0.0
        return RUNNING, 0.0
    gap = abs(a[VALUE, surface]) + abs(a[VALUE, m + surface])
    if min(a[VALUE, surface], a[VALUE, m + surface]) > 100.0 * a[CLOCK, BLUNT]:
        a[CLOCK, BLUNT] = 0.0
    # rows PLUS and MINUS hold the fields of the last evaluation, which was here
    wide = gap * a[PACE, NORM]
    if wide <= TWO_FOLD_SHARE * tighten(system, a, surface, wide):
        _finish_two_fold(system, a, gap_before, gap, h)
        return TWO_FOLD_HIT, gap
    if system[LINE] == 1 and surface == 0 and slides_onto_line(system, p, a, h):
        return LINE_HIT, gap
    return RUNNING, gap


@kernel(borrows=True)
def _why_stalled(system: Integers, a: Matrix, error: float) -> int:
    """Return NOT_FINITE where steps shrink because the field ends or the state blows up."""
    size = 0.0
    for c in range(system[N]):
        size = max(size, abs(a[Y, c]) / a[SCALE, c])
    return NOT_FINITE if error == math.inf or size > 1e10 else STALLED


@kernel(borrows=True, apart=True)
def _arm(system: Integers, p: Vector, a: Matrix) -> None:
    """Set the rounding level of each event function; what starts at zero is divided out.

    Where a step goes on smoothly from the last one, a surface or a limit of the multiplier
    that is so near is looked at as any other.
    """
    n, m, k = system[N], system[M], system[K]
    size, on_it = 0.0, max(1e-15, a[PACE, LIE_NOISE], a[CLOCK, BLUNT])
    off = a[PACE, SHARE] + a[CLOCK, DRIFT]
    for c in range(n):
        size = max(size, abs(a[Y, c]))
    for i in range(m):
        reach = room = size_of_h = 0.0
        for c in range(n):
            slope, here = abs(a[GRAD, i * n + c]), abs(a[Y, c])
            reach += slope * max(here, 0.1 * a[SCALE, c])
            size_of_h += slope * here
            room += slope * (a[PACE, ATOL] * a[SCALE, c] + a[PACE, RTOL] * here)
        # h of a plane rounds as the states in it do, which may all be near zero there
        rounding = reach if system[PLANE] == 0 else max(size_of_h, _FINEST * reach)
        a[NOISE, i] = 4.0 * _EPS * rounding if a[SIDES, i] != 0.0 else on_it
        a[NOISE, m + i] = on_it
        # nearer than the best tolerances a touch, a miss and two crossings are the same
        a[TOUCH, i] = max(_ZERO * a[NOISE, i], min(a[PACE, RTOL], 1e-10) * reach)
        if a[SIDES, i] != 0.0:
            a[CLOCK, TALLEST] = max(a[CLOCK, TALLEST], a[VALUE, i])
        a[DOUBT, i] = off * room + _ZERO * a[NOISE, i] + a[CLOCK, VAGUE] * a[CLOCK, TALLEST]
    for i in range(k):
        a[NOISE, 2 * m + i] = 4.0 * _EPS * max(size, 0.1)
    a[NOISE, 2 * m + k] = 0.0
    for i in range(2 * m + k + 1):
        if a[CLOCK, SMOOTH] == 0.0:
            a[SLOPE, i] = 0.0
        if system[ORDER + i] == 0 and a[VALUE, i] <= a[NOISE, i]:
            slides = i < 2 * m and a[CLOCK, BLUNT] > 0.0 and a[SIDES, i % m] == 0.0
            looked_at = i < 2 * m and a[CLOCK, SMOOTH] != 0.0
            system[ORDER + i] = 0 if looked_at or slides else 1
    for i in range(m):
        if system[ORDER + i] == 2:
            normals(system, p, a, Y, GRAD)
            # what is left of the slope at a fold is rounding of the landing
            rate = 0.0
            for c in range(n):
                rate += a[GRAD, i * n + c] * a[STAGE, c]
            a[SLOPE, i] = a[SIDES, i] * rate


@kernel(borrows=True)
def _step_length(system: Integers, a: Matrix, left: float, single: bool) -> float:
    """Return the length of the next step in s."""
    h = a[CLOCK, NEXT_STEP]
    if h <= 0.0:
        # a first guess: the state changes by a hundredth of its size
        size = rate = 0.0
        for c in range(system[N]):
            unit = a[SCALE, c]
            size = max(size, max(abs(a[Y, c]), 0.1 * unit) / unit)
            rate = max(rate, abs(a[STAGE, c]) / unit)
        h = 0.01 * size / rate if rate > 0.0 else 0.01 * left
    h = min(h, a[PACE, LONGEST])
    if not single:
        h = min(h, left)
    if system[LINE] == 1 and a[CLOCK, RHO] > 0.0:
        h = min(h, a[CLOCK, RHO])
    return h


@kernel(borrows=True)
def _after_rejection(system: Integers, p: Vector, a: Matrix, h: float, error: float) -> float:
    """Return the next trial length: to the kink or surface the step ran across, if it did."""
    m, k = system[M], system[K]
    shorter = h * (0.1 if error > 1e8 else max(0.2, 0.9 * error ** (-0.125)))
    event_values(system, p, a, TRIAL, SAMPLE)
    for i in range(2 * m, 2 * m + k):
        before, after = a[VALUE, i], a[SAMPLE, i]
        if system[ORDER + i] == 0 and before > 0.0 > after:
            share = 1.01 * before / (before - after)
            if share < 0.9:
                shorter = max(shorter, share * h)
    return shorter


@kernel(borrows=True)
def _finish_two_fold(system: Integers, a: Matrix, before: float, gap: float, h: float) -> None:
    """Add what is left of the way: the gap falls as exp(-rate s), and the rates with it."""
    rate = math.log(before / gap) / h if before > gap > 0.0 else 0.0
    if rate > 0.0:
        for c in range(system[N] + 1 + system[Q]):
            a[Y, c] += a[STAGE, c] / rate
