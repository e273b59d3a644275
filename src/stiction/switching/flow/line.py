"""Arrival at a codimension-2 line, where a surface meets a kink and the field has no limit.

Near the line h = g = 0 the field depends on the direction (h, g) / rho alone. A state
slips onto it along a ray: a direction that the field keeps and in which rho falls. Its way
there takes a finite time and has no scale of its own, so steps shrink with rho; once the
ray is reached the rest is one straight move.

Source: formulas sheet of the paper on switching, section 7.
"""

from __future__ import annotations

import math

from stiction.numerics.arrays import Vector
from stiction.numerics.callback import at, call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import (
    EXTRA,
    EXTRA2,
    FIELD,
    ON_LINE,
    PLUS,
    RTOL,
    SURFACE,
    VALUE,
    M,
    N,
)
from stiction.switching.flow.records import DISTANCE, NEXT_STEP, RHO, Flow
from stiction.switching.flow.surfaces import follow_line

__all__ = ["slides_onto_line", "slips_onto_line"]

# a step towards the line goes at most this part of the way, one on a surface this part
_SLIPPING, _SLIDING = 0.85, 0.99
# half the angle in which a ray must lie for a state to end on it
_RAY = 0.02


@kernel
def _pair(flow: Flow, x: Vector) -> tuple[float, float]:
    """Return sign(h) h and sign(g) g at x, with the signs the mode has."""
    here = row_at(flow.work, EXTRA2)
    call_at(flow.system[SURFACE], at(x), at(flow.sides), at(flow.p), here)
    side = flow.sides[0] if flow.sides[0] != 0.0 else 1.0
    return side * flow.work[EXTRA2, 0], flow.kinks[0] * flow.work[EXTRA2, flow.system[M]]


@kernel
def _pair_rates(flow: Flow, x: Vector, rate: Vector, ahead: float) -> tuple[float, float]:
    """Return how fast both change along `rate`, by central differences over `ahead`."""
    n, later = flow.system[N], flow.spare
    for c in range(n):
        later[c] = x[c] + ahead * rate[c]
    up_a, up_b = _pair(flow, later)
    for c in range(n):
        later[c] = x[c] - ahead * rate[c]
    down_a, down_b = _pair(flow, later)
    return (up_a - down_a) / (2.0 * ahead), (up_b - down_b) / (2.0 * ahead)


@kernel
def slips_onto_line(flow: Flow, h: float) -> bool:
    """Return whether the last step of length h reached the line; if so, go to it.

    Also sets how long the next step may be.
    """
    y, k, clock = flow.y, flow.stages, flow.clock
    m = flow.system[M]
    a, b = flow.start[VALUE, 0], flow.start[VALUE, 2 * m]
    rho = math.sqrt(a * a + b * b)
    if clock[DISTANCE] > 0.0:
        # the field varies over the distance to the line, and so does the next step
        clock[NEXT_STEP] *= min(max(rho / clock[DISTANCE], 0.05), 3.0)
    clock[DISTANCE] = rho
    follow_line(flow, rho)
    if rho == 0.0:
        return True
    da, db = _pair_rates(flow, y, k[0], 0.05 * min(h, rho))
    inward = -(a * da + b * db) / rho
    clock[RHO] = _SLIPPING * rho / inward if inward > 0.0 else 0.0
    if inward <= 0.0 or rho > 0.1 * math.sqrt(flow.pace[RTOL]) * flow.scale[0]:
        return False
    # what is left is straight but for the turn that is left in the ray
    turning = abs(a * db - b * da) / rho
    time = rho / inward
    straight = time * turning <= flow.pace[RTOL] * inward or (
        rho <= flow.pace[ON_LINE] and turning <= 0.1 * inward
    )
    if not (straight and _has_ray(flow, a, b)) and rho > 0.1 * flow.pace[ON_LINE]:
        return False
    for c in range(y.size):
        y[c] += time * k[0, c]
    return True


@kernel
def _has_ray(flow: Flow, a: float, b: float) -> bool:
    """Return whether the field turns towards a ray from both sides of the direction (a, b).

    Without this a state that only passes the line closely would be taken for one that
    ends on it: where two rays have just met and vanished, the field hardly turns either.
    """
    n, rho = flow.system[N], math.sqrt(a * a + b * b)
    first, second = flow.work[PLUS, :n], flow.work[PLUS + 1, :n]
    x, trial = flow.y[:n], flow.trial[:n]
    step = 0.01
    for c in range(n):
        # gradients of both functions, scaled: a few digits are enough to pick directions
        trial[:] = x
        trial[c] = x[c] + step * flow.scale[c]
        up_a, up_b = _pair(flow, trial)
        trial[c] = x[c] - step * flow.scale[c]
        down_a, down_b = _pair(flow, trial)
        first[c], second[c] = (up_a - down_a) / (2.0 * step), (up_b - down_b) / (2.0 * step)
    aa = ab = bb = 0.0
    for c in range(n):
        aa, ab, bb = (
            aa + first[c] * first[c],
            ab + first[c] * second[c],
            bb + second[c] * second[c],
        )
    det = aa * bb - ab * ab
    if det <= 0.0:
        return True
    angle, turns = math.atan2(a, b), 0.0
    rate = flow.work[EXTRA, :n] if flow.work.shape[1] >= n else flow.spare[:n]
    for i in range(2):
        there = angle + (_RAY if i == 0 else -_RAY)
        to_a, to_b = rho * math.sin(there) - a, rho * math.cos(there) - b
        u, v = (bb * to_a - ab * to_b) / det, (aa * to_b - ab * to_a) / det
        for c in range(n):
            trial[c] = x[c] + flow.scale[c] * (u * first[c] + v * second[c])
        call_at(
            flow.system[FIELD],
            at(trial),
            at(flow.sides),
            at(flow.p),
            at(rate),
        )
        at_a, at_b = _pair(flow, trial)
        da, db = _pair_rates(flow, trial, rate, 0.05 * rho)
        turn = da * at_b - db * at_a
        if i == 0 and turn >= 0.0:
            return False
        turns = turn
    return turns > 0.0


@kernel
def slides_onto_line(flow: Flow, h: float) -> bool:
    """Return whether a sliding state has reached the line; if so, go to it.

    Beyond the line the field is another one: a step across it would see folds that are not
    there. So no step goes all the way, and the last bit is one straight move.
    """
    y, k = flow.y, flow.stages
    b = flow.start[VALUE, 2 * flow.system[M]]
    falling = -_pair_rates(flow, y, k[0], 0.05 * h)[1]
    flow.clock[RHO] = _SLIDING * b / falling if falling > 0.0 and b > 0.0 else 0.0
    if falling <= 0.0 or b > flow.pace[ON_LINE]:
        return False
    for c in range(y.size):
        y[c] += b / falling * k[0, c]
    return True
