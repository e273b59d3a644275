"""Arrival at a codimension-2 line h = g = 0 of a surface and of a kink function: kernels.

For the wheel h is the slip velocity and g the rolling velocity of its contact, both in m/s; no
other system has such a line. Near the line the field depends on the direction (h, g) / rho only,
rho = sqrt(h^2 + g^2), and has no limit on the line. Let th = atan2(h, g) be the angle of this
direction. A state slips onto the line along a ray, an invariant direction th' = 0 in which rho
decreases. It arrives in finite time; steps are proportional to rho, and the last part is a straight
motion along the ray. `advance` and `rare_events` call these kernels.

The wheel has one surface (m = 1): `functions[0].value` is |h| in slip, `functions[2 m].value` |g|.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; `functions[i]` has
the data of event function i. The argument x is the number of a vector with a state.

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
from stiction.switching.flow.surfaces import tighten_near_line

__all__ = ["AFAR", "ARRIVED", "MAYBE", "slides_onto_line", "slips_onto_line", "slips_to_its_end"]

# longest step as a fraction of the remaining time to the line. In slip the field has no limit at
# the line, and a step must not pass it: at 0.85 a decade of distance takes 1.2 steps. In sliding
# the field is smooth up to the line. Both were chosen
_SLIPPING, _SLIDING = 0.85, 0.99
# largest angle between the direction of an arriving state and a ray [rad]. Chosen
_RAY = 0.02
# results of `slips_onto_line`: away from the line, on it, or so near that more tests are needed
AFAR, ARRIVED, MAYBE = range(3)


@kernel
def _signed_h_and_g(w: Workspace, x: int) -> tuple[float, float]:
    """Return sign(h) h and sign(g) g at the state in vector x, with the signs of the mode."""
    now, a = w.progress[0], w.vectors
    call_at(now.surface, row_at(a, x), row_at(a, SIDES), now.parameters, row_at(a, EXTRA2))
    side = a[SIDES, 0] if a[SIDES, 0] != 0.0 else 1.0
    return side * a[EXTRA2, 0], a[KINKS, 0] * a[EXTRA2, now.m]


@kernel
def _rates_of_h_and_g(w: Workspace, x: int, rate: int, shift: float) -> tuple[float, float]:
    """Return the rates of both functions along vector `rate`, by central differences.

    Parameters
    ----------
    x : vector of the state
    shift : interval of time on either side of the state. Callers give a twentieth of the step, of
        the number rho, or of the smaller of both; h and g are smooth over it, and the relative
        error is about 1e-3
    """
    now, a = w.progress[0], w.vectors
    n = now.n
    for c in range(n):
        a[SPARE, c] = a[x, c] + shift * a[rate, c]
    up_h, up_g = _signed_h_and_g(w, SPARE)
    for c in range(n):
        a[SPARE, c] = a[x, c] - shift * a[rate, c]
    down_h, down_g = _signed_h_and_g(w, SPARE)
    return (up_h - down_h) / (2.0 * shift), (up_g - down_g) / (2.0 * shift)


@kernel
def slips_onto_line(w: Workspace, functions: EventFunctions, h: float) -> int:
    """Return whether the last step of length h reached the line: ARRIVED, AFAR or MAYBE.

    After MAYBE `slips_to_its_end` decides. Also sets a bound on the next step.
    """
    now, a = w.progress[0], w.vectors
    m = now.m
    h_value, g_value = functions[0].value, functions[2 * m].value
    rho = math.sqrt(h_value * h_value + g_value * g_value)
    if now.line_distance > 0.0:
        # the field varies over the distance to the line: scale the next step by it, within bounds
        # that were chosen
        now.next_step *= min(max(rho / now.line_distance, 0.05), 3.0)
    now.line_distance = rho
    tighten_near_line(w, rho)
    if rho == 0.0:
        return ARRIVED
    dh, dg = _rates_of_h_and_g(w, Y, STAGE, 0.05 * min(h, rho))
    # -rho' = -(h h' + g g') / rho, formulas sheet, section 7
    inward = -(h_value * dh + g_value * dg) / rho
    now.line_step = _SLIPPING * rho / inward if inward > 0.0 else 0.0
    # straight motion over rho has an error of the order rho^2, so it is tried for rho^2 below 0.01
    # of the tolerance
    if inward <= 0.0 or rho > 0.1 * math.sqrt(now.rtol) * a[SCALE, 0]:
        return AFAR
    # |rho th'| = |h g' - g h'| / rho: the remaining motion is straight if the direction th of
    # (h, g) rotates by less than the tolerance until rho is zero. On the line a rotation by a tenth
    # suffices, and within a tenth of that distance any (both chosen)
    turning = abs(h_value * dg - g_value * dh) / rho
    time = rho / inward
    straight = time * turning <= now.rtol * inward or (
        rho <= now.on_line and turning <= 0.1 * inward
    )
    return MAYBE if straight or rho <= 0.1 * now.on_line else AFAR


@kernel
def slips_to_its_end(w: Workspace, functions: EventFunctions, h: float) -> bool:
    """Return whether a state very near the line reaches it; if so, move it there.

    Parameters
    ----------
    h : length of the last step, for which `slips_onto_line` returned MAYBE
    """
    now, a = w.progress[0], w.vectors
    h_value, g_value = functions[0].value, functions[2 * now.m].value
    rho = math.sqrt(h_value * h_value + g_value * g_value)
    dh, dg = _rates_of_h_and_g(w, Y, STAGE, 0.05 * min(h, rho))
    inward = -(h_value * dh + g_value * dg) / rho
    turning, time = abs(h_value * dg - g_value * dh) / rho, rho / inward
    straight = time * turning <= now.rtol * inward or (
        rho <= now.on_line and turning <= 0.1 * inward
    )
    near = rho <= 0.1 * now.on_line
    if not (straight and _has_ray(w, h_value, g_value)) and not near:
        return False
    # straight to the line, in the time rho / -rho'
    for c in range(now.n + 1 + now.q):
        a[Y, c] += time * a[STAGE, c]
    return True


@kernel
def _has_ray(w: Workspace, h_value: float, g_value: float) -> bool:
    """Return whether the direction of (h, g) is near a ray that attracts from both sides.

    The rate of its angle is evaluated at angles a little larger and a little smaller. This excludes
    states that only pass near the line: near a fold of two rays the direction changes slowly too.
    """
    now, a = w.progress[0], w.vectors
    n, rho = now.n, math.sqrt(h_value * h_value + g_value * g_value)
    # chosen: gradients of both functions in scaled states, of which a few digits are enough
    step = 0.01
    for c in range(n):
        for e in range(n):
            a[TRIAL, e] = a[Y, e]
        a[TRIAL, c] = a[Y, c] + step * a[SCALE, c]
        up_h, up_g = _signed_h_and_g(w, TRIAL)
        a[TRIAL, c] = a[Y, c] - step * a[SCALE, c]
        down_h, down_g = _signed_h_and_g(w, TRIAL)
        a[PLUS, c], a[MINUS, c] = (up_h - down_h) / (2.0 * step), (up_g - down_g) / (2.0 * step)
    # products of the gradients of h (in PLUS) and g (in MINUS)
    hh = hg = gg = 0.0
    for c in range(n):
        hh += a[PLUS, c] * a[PLUS, c]
        hg += a[PLUS, c] * a[MINUS, c]
        gg += a[MINUS, c] * a[MINUS, c]
    det = hh * gg - hg * hg
    if det <= 0.0:
        return True
    angle, turns = math.atan2(h_value, g_value), 0.0
    for i in range(2):
        # a point at the same rho in a neighbouring direction, by the smallest change of the scaled
        # states that leads to it
        direction = angle + (_RAY if i == 0 else -_RAY)
        to_h, to_g = rho * math.sin(direction) - h_value, rho * math.cos(direction) - g_value
        u, v = (gg * to_h - hg * to_g) / det, (hh * to_g - hg * to_h) / det
        for c in range(n):
            a[TRIAL, c] = a[Y, c] + a[SCALE, c] * (u * a[PLUS, c] + v * a[MINUS, c])
        call_at(now.field, row_at(a, TRIAL), row_at(a, SIDES), now.parameters, row_at(a, EXTRA))
        at_h, at_g = _signed_h_and_g(w, TRIAL)
        dh, dg = _rates_of_h_and_g(w, TRIAL, EXTRA, 0.05 * rho)
        # rho^2 th' = h' g - g' h: negative beyond an attracting ray, positive before it
        turn = dh * at_g - dg * at_h
        if i == 0 and turn >= 0.0:
            return False
        turns = turn
    return turns > 0.0


@kernel
def slides_onto_line(w: Workspace, functions: EventFunctions, h: float) -> bool:
    """Return whether a sliding state has reached the line; if so, move it there.

    A step across the line would evaluate the field of the other side of g = 0 and locate folds that
    do not exist. So steps end before the line, and the last part is a straight motion.
    """
    now, a = w.progress[0], w.vectors
    g_value = functions[2 * now.m].value
    falling = -_rates_of_h_and_g(w, Y, STAGE, 0.05 * h)[1]
    now.line_step = _SLIDING * g_value / falling if falling > 0.0 and g_value > 0.0 else 0.0
    if falling <= 0.0 or g_value > now.on_line:
        return False
    for c in range(now.n + 1 + now.q):
        a[Y, c] += g_value / falling * a[STAGE, c]
    return True
