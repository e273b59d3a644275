"""Arrival at a codimension-2 line, where a surface meets a kink and the field has no limit.

Near the line h = g = 0 the field depends on the direction (h, g) / rho alone. A state
slips onto it along a ray: a direction that the field keeps and in which rho falls. Its way
there takes a finite time and has no scale of its own, so steps shrink with rho; once the
ray is reached the rest is one straight move.

Source: formulas sheet of the paper on switching, section 7.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Integers, Matrix, Vector
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rows import (
    CLOCK,
    DISTANCE,
    EXTRA,
    EXTRA2,
    FIELD,
    KINKS,
    MINUS,
    NEXT_STEP,
    ON_LINE,
    PACE,
    PLUS,
    RHO,
    RTOL,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    SURFACE,
    TRIAL,
    VALUE,
    M,
    N,
    Q,
    Y,
)
from stiction.switching.flow.surfaces import follow_line

__all__ = ["AFAR", "ARRIVED", "MAYBE", "slides_onto_line", "slips_onto_line", "slips_to_its_end"]

# a step towards the line goes at most this part of the way, one on a surface this part
_SLIPPING, _SLIDING = 0.85, 0.99
# half the angle in which a ray must lie for a state to end on it
_RAY = 0.02
# what `slips_onto_line` says
AFAR, ARRIVED, MAYBE = range(3)


@kernel(borrows=True)
def _pair(system: Integers, p: Vector, a: Matrix, x: int) -> tuple[float, float]:
    """Return sign(h) h and sign(g) g at the state in row x, with the signs the mode has."""
    call_at(system[SURFACE], row_at(a, x), row_at(a, SIDES), at(p), row_at(a, EXTRA2))
    side = a[SIDES, 0] if a[SIDES, 0] != 0.0 else 1.0
    return side * a[EXTRA2, 0], a[KINKS, 0] * a[EXTRA2, system[M]]


@kernel(borrows=True)
def _pair_rates(
    system: Integers, p: Vector, a: Matrix, x: int, rate: int, ahead: float
) -> tuple[float, float]:
    """Return how fast both change along row `rate`, by central differences over `ahead`."""
    n = system[N]
    for c in range(n):
        a[SPARE, c] = a[x, c] + ahead * a[rate, c]
    up_h, up_g = _pair(system, p, a, SPARE)
    for c in range(n):
        a[SPARE, c] = a[x, c] - ahead * a[rate, c]
    down_h, down_g = _pair(system, p, a, SPARE)
    return (up_h - down_h) / (2.0 * ahead), (up_g - down_g) / (2.0 * ahead)


@kernel(borrows=True)
def slips_onto_line(system: Integers, p: Vector, a: Matrix, h: float) -> int:
    """Return ARRIVED where the last step of length h reached the line, else AFAR, or MAYBE.

    MAYBE leaves it to `slips_to_its_end`. Also sets how long the next step may be.
    """
    m = system[M]
    here, there = a[VALUE, 0], a[VALUE, 2 * m]
    rho = math.sqrt(here * here + there * there)
    if a[CLOCK, DISTANCE] > 0.0:
        # the field varies over the distance to the line, and so does the next step
        a[CLOCK, NEXT_STEP] *= min(max(rho / a[CLOCK, DISTANCE], 0.05), 3.0)
    a[CLOCK, DISTANCE] = rho
    follow_line(system, a, rho)
    if rho == 0.0:
        return ARRIVED
    dh, dg = _pair_rates(system, p, a, Y, STAGE, 0.05 * min(h, rho))
    inward = -(here * dh + there * dg) / rho
    a[CLOCK, RHO] = _SLIPPING * rho / inward if inward > 0.0 else 0.0
    if inward <= 0.0 or rho > 0.1 * math.sqrt(a[PACE, RTOL]) * a[SCALE, 0]:
        return AFAR
    # what is left is straight but for the turn that is left in the ray
    turning = abs(here * dg - there * dh) / rho
    time = rho / inward
    straight = time * turning <= a[PACE, RTOL] * inward or (
        rho <= a[PACE, ON_LINE] and turning <= 0.1 * inward
    )
    return MAYBE if straight or rho <= 0.1 * a[PACE, ON_LINE] else AFAR


@kernel(borrows=True)
def slips_to_its_end(system: Integers, p: Vector, a: Matrix, h: float) -> bool:
    """Return whether a state that may have reached the line has; if so, go to it.

    Parameters
    ----------
    h : length of the step before, for which `slips_onto_line` said MAYBE
    """
    here, there = a[VALUE, 0], a[VALUE, 2 * system[M]]
    rho = math.sqrt(here * here + there * there)
    dh, dg = _pair_rates(system, p, a, Y, STAGE, 0.05 * min(h, rho))
    inward = -(here * dh + there * dg) / rho
    turning, time = abs(here * dg - there * dh) / rho, rho / inward
    straight = time * turning <= a[PACE, RTOL] * inward or (
        rho <= a[PACE, ON_LINE] and turning <= 0.1 * inward
    )
    near = rho <= 0.1 * a[PACE, ON_LINE]
    if not (straight and _has_ray(system, p, a, here, there)) and not near:
        return False
    for c in range(system[N] + 1 + system[Q]):
        a[Y, c] += time * a[STAGE, c]
    return True


@kernel(borrows=True)
def _has_ray(system: Integers, p: Vector, a: Matrix, here: float, there: float) -> bool:
    """Return whether the field turns towards a ray from both sides of a direction.

    Without this a state that only passes the line closely would be taken for one that
    ends on it: where two rays have just met and vanished, the field hardly turns either.
    """
    n, rho = system[N], math.sqrt(here * here + there * there)
    step = 0.01
    for c in range(n):
        # gradients of both functions, scaled: a few digits are enough to pick directions
        for e in range(n):
            a[TRIAL, e] = a[Y, e]
        a[TRIAL, c] = a[Y, c] + step * a[SCALE, c]
        up_h, up_g = _pair(system, p, a, TRIAL)
        a[TRIAL, c] = a[Y, c] - step * a[SCALE, c]
        down_h, down_g = _pair(system, p, a, TRIAL)
        a[PLUS, c], a[MINUS, c] = (up_h - down_h) / (2.0 * step), (up_g - down_g) / (2.0 * step)
    hh = hg = gg = 0.0
    for c in range(n):
        hh += a[PLUS, c] * a[PLUS, c]
        hg += a[PLUS, c] * a[MINUS, c]
        gg += a[MINUS, c] * a[MINUS, c]
    det = hh * gg - hg * hg
    if det <= 0.0:
        return True
    angle, turns = math.atan2(here, there), 0.0
    for i in range(2):
        way = angle + (_RAY if i == 0 else -_RAY)
        to_h, to_g = rho * math.sin(way) - here, rho * math.cos(way) - there
        u, v = (gg * to_h - hg * to_g) / det, (hh * to_g - hg * to_h) / det
        for c in range(n):
            a[TRIAL, c] = a[Y, c] + a[SCALE, c] * (u * a[PLUS, c] + v * a[MINUS, c])
        call_at(system[FIELD], row_at(a, TRIAL), row_at(a, SIDES), at(p), row_at(a, EXTRA))
        at_h, at_g = _pair(system, p, a, TRIAL)
        dh, dg = _pair_rates(system, p, a, TRIAL, EXTRA, 0.05 * rho)
        turn = dh * at_g - dg * at_h
        if i == 0 and turn >= 0.0:
            return False
        turns = turn
    return turns > 0.0


@kernel(borrows=True)
def slides_onto_line(system: Integers, p: Vector, a: Matrix, h: float) -> bool:
    """Return whether a sliding state has reached the line; if so, go to it.

    Beyond the line the field is another one: a step across it would see folds that are not
    there. So no step goes all the way, and the last bit is one straight move.
    """
    there = a[VALUE, 2 * system[M]]
    falling = -_pair_rates(system, p, a, Y, STAGE, 0.05 * h)[1]
    a[CLOCK, RHO] = _SLIDING * there / falling if falling > 0.0 and there > 0.0 else 0.0
    if falling <= 0.0 or there > a[PACE, ON_LINE]:
        return False
    for c in range(system[N] + 1 + system[Q]):
        a[Y, c] += there / falling * a[STAGE, c]
    return True
