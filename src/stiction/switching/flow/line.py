"""Arrival at a codimension-2 line, where a surface meets a kink and the field has no limit.

Near the line h = g = 0 the field depends on the direction (h, g) / rho alone. A state
slips onto it along a ray: a direction that the field keeps and in which rho falls. Its way
there takes a finite time and has no scale of its own, so steps shrink with rho; once the
ray is reached the rest is one straight move.

Source: formulas sheet of the paper on switching, section 7.
"""

from __future__ import annotations

import math

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.state import (
    EXTRA,
    EXTRA2,
    KINKS,
    MINUS,
    PLUS,
    SCALE,
    SIDES,
    SPARE,
    STAGE,
    TRIAL,
    EventFunctions,
    Workspace,
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


@kernel
def _pair(w: Workspace, x: int) -> tuple[float, float]:
    """Return sign(h) h and sign(g) g at the state in row x, with the signs the mode has."""
    now, a = w.progress[0], w.rows
    call_at(now.surface, row_at(a, x), row_at(a, SIDES), now.parameters, row_at(a, EXTRA2))
    side = a[SIDES, 0] if a[SIDES, 0] != 0.0 else 1.0
    return side * a[EXTRA2, 0], a[KINKS, 0] * a[EXTRA2, now.m]


@kernel
def _pair_rates(w: Workspace, x: int, rate: int, ahead: float) -> tuple[float, float]:
    """Return how fast both change along row `rate`, by central differences over `ahead`."""
    now, a = w.progress[0], w.rows
    n = now.n
    for c in range(n):
        a[SPARE, c] = a[x, c] + ahead * a[rate, c]
    up_h, up_g = _pair(w, SPARE)
    for c in range(n):
        a[SPARE, c] = a[x, c] - ahead * a[rate, c]
    down_h, down_g = _pair(w, SPARE)
    return (up_h - down_h) / (2.0 * ahead), (up_g - down_g) / (2.0 * ahead)


@kernel
def slips_onto_line(w: Workspace, functions: EventFunctions, h: float) -> int:
    """Return ARRIVED where the last step of length h reached the line, else AFAR, or MAYBE.

    MAYBE leaves it to `slips_to_its_end`. Also sets how long the next step may be.
    """
    now, a = w.progress[0], w.rows
    m = now.m
    here, there = functions[0].value, functions[2 * m].value
    rho = math.sqrt(here * here + there * there)
    if now.line_distance > 0.0:
        # the field varies over the distance to the line, and so does the next step
        now.next_step *= min(max(rho / now.line_distance, 0.05), 3.0)
    now.line_distance = rho
    follow_line(w, rho)
    if rho == 0.0:
        return ARRIVED
    dh, dg = _pair_rates(w, Y, STAGE, 0.05 * min(h, rho))
    inward = -(here * dh + there * dg) / rho
    now.line_step = _SLIPPING * rho / inward if inward > 0.0 else 0.0
    if inward <= 0.0 or rho > 0.1 * math.sqrt(now.rtol) * a[SCALE, 0]:
        return AFAR
    # what is left is straight but for the turn that is left in the ray
    turning = abs(here * dg - there * dh) / rho
    time = rho / inward
    straight = time * turning <= now.rtol * inward or (
        rho <= now.on_line and turning <= 0.1 * inward
    )
    return MAYBE if straight or rho <= 0.1 * now.on_line else AFAR


@kernel
def slips_to_its_end(w: Workspace, functions: EventFunctions, h: float) -> bool:
    """Return whether a state that may have reached the line has; if so, go to it.

    Parameters
    ----------
    h : length of the step before, for which `slips_onto_line` said MAYBE
    """
    now, a = w.progress[0], w.rows
    here, there = functions[0].value, functions[2 * now.m].value
    rho = math.sqrt(here * here + there * there)
    dh, dg = _pair_rates(w, Y, STAGE, 0.05 * min(h, rho))
    inward = -(here * dh + there * dg) / rho
    turning, time = abs(here * dg - there * dh) / rho, rho / inward
    straight = time * turning <= now.rtol * inward or (
        rho <= now.on_line and turning <= 0.1 * inward
    )
    near = rho <= 0.1 * now.on_line
    if not (straight and _has_ray(w, here, there)) and not near:
        return False
    for c in range(now.n + 1 + now.q):
        a[Y, c] += time * a[STAGE, c]
    return True


@kernel
def _has_ray(w: Workspace, here: float, there: float) -> bool:
    """Return whether the field turns towards a ray from both sides of a direction.

    Without this a state that only passes the line closely would be taken for one that
    ends on it: where two rays have just met and vanished, the field hardly turns either.
    """
    now, a = w.progress[0], w.rows
    n, rho = now.n, math.sqrt(here * here + there * there)
    step = 0.01
    for c in range(n):
        # gradients of both functions, scaled: a few digits are enough to pick directions
        for e in range(n):
            a[TRIAL, e] = a[Y, e]
        a[TRIAL, c] = a[Y, c] + step * a[SCALE, c]
        up_h, up_g = _pair(w, TRIAL)
        a[TRIAL, c] = a[Y, c] - step * a[SCALE, c]
        down_h, down_g = _pair(w, TRIAL)
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
        call_at(now.field, row_at(a, TRIAL), row_at(a, SIDES), now.parameters, row_at(a, EXTRA))
        at_h, at_g = _pair(w, TRIAL)
        dh, dg = _pair_rates(w, TRIAL, EXTRA, 0.05 * rho)
        turn = dh * at_g - dg * at_h
        if i == 0 and turn >= 0.0:
            return False
        turns = turn
    return turns > 0.0


@kernel
def slides_onto_line(w: Workspace, functions: EventFunctions, h: float) -> bool:
    """Return whether a sliding state has reached the line; if so, go to it.

    Beyond the line the field is another one: a step across it would see folds that are not
    there. So no step goes all the way, and the last bit is one straight move.
    """
    now, a = w.progress[0], w.rows
    there = functions[2 * now.m].value
    falling = -_pair_rates(w, Y, STAGE, 0.05 * h)[1]
    now.line_step = _SLIDING * there / falling if falling > 0.0 and there > 0.0 else 0.0
    if falling <= 0.0 or there > now.on_line:
        return False
    for c in range(now.n + 1 + now.q):
        a[Y, c] += there / falling * a[STAGE, c]
    return True
