"""Admissible continuations from a point of a discontinuity surface: kernels.

Let L+- be the rates of h along the fields of both sides. By Filippov's conditions a solution may
leave into h > 0 if L+ > 0 and into h < 0 if L- < 0; it may slide along the surface if L+ and L-
have opposite signs. On a fold, L+ = 0 or L- = 0, the sign of the second derivative of h along that
field decides. `events` uses these conditions; for intersections of two surfaces see
`intersections.directions`. Also here: the projection on a surface, and the start of a mode. Scaled
states are the states over their scales (vector SCALE), so that norms do not depend on units.

Arguments: `w` (`state.Workspace`) holds the work arrays: `w.progress[0]` is the state of the
integrator, called `now`, and row NAME of `w.vectors`, called `a`, is a vector; i is the number of a
surface. Y is the present y = (x, t, W), PLUS and MINUS are the fields f+ and f- of both sides of a
surface, GRAD the gradients of all h_i.

Source: Filippov 1988; Szalai, Jeffrey 2014, section II and eqs (17), (18).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.intersections.bilinear import root
from stiction.switching.flow.rates import FOLD_TOLERANCE, bilinear, lie_derivatives
from stiction.switching.flow.state import (
    EXTRA,
    EXTRA2,
    GRAD,
    MINUS,
    PLUS,
    SCALE,
    SIDES,
    SPARE,
    TRIAL,
    Workspace,
    Y,
)

__all__ = [
    "Continuations",
    "begin_mode",
    "continuations_at",
    "curvature",
    "is_plane",
    "project",
    "surface_speed",
    "surfaces_at",
    "tighten_near_line",
    "tighten_near_two_fold",
]

# a two-fold is reached if L- - L+ is below this fraction of |grad h| |f|. Chosen: nearer, the
# relative error of L- - L+ is above 3e-4, and with it that of the sliding vector
TWO_FOLD_TOLERANCE = 1e-10


@kernel
def surfaces_at(w: Workspace, x: int, out: int) -> None:
    """Fill vector `out` with h_1 .. h_m and the kink functions at the state in vector x."""
    now, a = w.progress[0], w.vectors
    call_at(now.surface, row_at(a, x), row_at(a, SIDES), now.parameters, row_at(a, out))


@kernel
def surface_speed(w: Workspace, i: int) -> float:
    """Return the scale of L: |grad h_i| times the larger norm of the fields in PLUS and MINUS.

    States are divided by their scales in these norms, so that the result does not depend on units.
    """
    now, a = w.progress[0], w.vectors
    normal = plus = minus = 0.0
    n = now.n
    for j in range(n):
        unit = a[SCALE, j]
        slope, up, down = a[GRAD, i * n + j] * unit, a[PLUS, j] / unit, a[MINUS, j] / unit
        normal += slope * slope
        plus += up * up
        minus += down * down
    return math.sqrt(normal) * math.sqrt(max(plus, minus))


@kernel(separate=True)
def project(w: Workspace, i: int) -> None:
    """Project the state on surface i along the gradient, by Newton's method in scaled states."""
    now, a = w.progress[0], w.vectors
    n = now.n
    for _ in range(3):
        surfaces_at(w, Y, EXTRA)
        value = a[EXTRA, i]
        if value == 0.0:
            return
        # sets GRAD at the state
        lie_derivatives(w, SIDES, i, Y)
        size = 0.0
        for j in range(n):
            part = a[GRAD, i * n + j] * a[SCALE, j]
            size += part * part
        if size == 0.0:
            return
        for j in range(n):
            # the smallest change of the scaled states: D^2 grad h over |D grad h|^2, D the scales
            a[Y, j] -= value * a[GRAD, i * n + j] * (a[SCALE, j] * a[SCALE, j]) / size
    surfaces_at(w, Y, EXTRA)


@kernel
def is_plane(w: Workspace) -> bool:
    """Return whether every h changed linearly over the step from Y to TRIAL."""
    now, a = w.progress[0], w.vectors
    n = now.n
    surfaces_at(w, Y, EXTRA)
    surfaces_at(w, TRIAL, EXTRA2)
    for i in range(now.m):
        # grad h . dx, the sum of its terms, and the size of h for rounding
        rise = size = reach = 0.0
        for c in range(n):
            slope = a[GRAD, i * n + c]
            part = slope * (a[TRIAL, c] - a[Y, c])
            rise, size = rise + part, size + abs(part)
            reach += abs(slope) * (abs(a[Y, c]) + abs(a[TRIAL, c]))
        # chosen: gradients by differences have nine digits and more, sums of a plane 50 roundings
        if abs(a[EXTRA2, i] - a[EXTRA, i] - rise) > 1e-9 * size + 1e-14 * reach:
            return False
    return True


@kernel
def curvature(w: Workspace, i: int, side: float) -> float:
    """Return the second Lie derivative of h_i along the field of one side, by differences of L."""
    now, a = w.progress[0], w.vectors
    n = now.n
    lie_derivatives(w, SIDES, i, Y)
    # K++ or K-- of the formulas sheet, section 5: the rate of L along the field of that side
    field, size = PLUS if side > 0.0 else MINUS, 0.0
    for j in range(n):
        a[SPARE, j] = a[field, j]
        size = max(size, abs(a[SPARE, j]) / a[SCALE, j])
    if size == 0.0:
        return 0.0
    values = 0.0
    # the state changes by 1e-4 of its scales at most: the truncation error of the difference is
    # about 1e-8, its rounding error 1e-12, and the sign of the result is wanted
    step = 1e-4 / size
    for b in range(2):
        shift = step if b == 0 else -step
        for j in range(n):
            a[TRIAL, j] = a[Y, j] + shift * a[SPARE, j]
        up, down = lie_derivatives(w, SIDES, i, TRIAL)
        value = up if side > 0.0 else down
        values += value if b == 0 else -value
    return values / (2.0 * step)


class Continuations(NamedTuple):
    """Admissible continuations from a point of a surface.

    plus, minus, along : whether the solution may leave into h > 0, leave into h < 0, or slide
    escaping : whether both fields point away from the surface
    fold : whether the field of one side is tangent to the surface
    """

    plus: bool
    minus: bool
    along: bool
    escaping: bool
    fold: bool


@kernel(separate=True)
def continuations_at(w: Workspace, i: int) -> Continuations:
    """Return the admissible continuations from the present point of surface i."""
    up, down = lie_derivatives(w, SIDES, i, Y)
    limit = FOLD_TOLERANCE * surface_speed(w, i)
    flat_up, flat_down = abs(up) <= limit, abs(down) <= limit
    plus, minus = up > 0.0, down < 0.0
    # on a fold the second derivative decides
    if flat_up:
        plus = curvature(w, i, 1.0) > 0.0
    if flat_down:
        minus = curvature(w, i, -1.0) < 0.0
    if flat_up and flat_down:
        # a two-fold, or both fields vanish: undecided by these derivatives
        return Continuations(plus, minus, True, False, True)
    if flat_up:
        # on L+ = 0 the sliding field is f+: sliding continues if the orbit of f+ curves back
        along = down > 0.0 and not plus
        return Continuations(plus, minus, along, plus and minus, True)
    if flat_down:
        along = up < 0.0 and not minus
        return Continuations(plus, minus, along, plus and minus, True)
    # L+ and L- of opposite signs: the state slides or escapes, (17), (18)
    slides = up < 0.0 < down or down < 0.0 < up
    return Continuations(plus, minus, slides, plus and minus, False)


@kernel(separate=True)
def begin_mode(w: Workspace) -> None:
    """Initialise the mode of the signs in SIDES: `sense` and `norm`, tolerance, sliding vector."""
    now, a = w.progress[0], w.vectors
    m = now.m
    now.sense, now.norm = 1.0, 1.0
    now.tightening, now.rate_rounding, now.state_rounding, now.time_scale = 1.0, 0.0, 0.0, 1.0
    now.line_step, now.line_distance = 0.0, 0.0
    first, sliding = -1, 0
    for i in range(m):
        if a[SIDES, i] == 0.0:
            sliding += 1
            first = i
    if sliding == 0 and now.line == 1:
        # near h = g = 0 errors are relative to the distance from it
        surfaces_at(w, Y, EXTRA)
        h, g = a[EXTRA, 0], a[EXTRA, m]
        tighten_near_line(w, math.sqrt(h * h + g * g))
    if sliding == 1:
        up, down = lie_derivatives(w, SIDES, first, Y)
        gap = down - up
        # (20) reversed in sliding, see formulas sheet, section 3: s grows with time in sliding and
        # in escaping, and dt/ds = 1 at the start of the mode
        now.sense = 1.0 if gap >= 0.0 else -1.0
        now.norm = abs(gap) if gap != 0.0 else 1.0
        tighten_near_two_fold(w, first, abs(gap))
    if sliding == 2:
        _select_sliding_vector(w)


@kernel
def _select_sliding_vector(w: Workspace) -> None:
    """Set `branch` to the admissible sliding vector; leave it unchanged if both are admissible."""
    now = w.progress[0]
    rate, best = bilinear(w, Y), math.inf
    present, best_sign = now.branch, 1
    for b in range(2):
        sign = 1 - 2 * b
        candidate = root(rate, float(sign), False)
        size = max(abs(candidate.u), abs(candidate.v)) if candidate.good else 1e300
        # the present vector as long as it is admissible within 1e-9 (chosen, above the rounding of
        # a double root of well separated vectors), else that of the smaller multipliers
        if sign == present and size <= 1.0 + 1e-9:
            return
        if size < best:
            best, best_sign = size, sign
    now.branch = best_sign


@kernel
def tighten_near_line(w: Workspace, rho: float) -> None:
    """Scale the tolerance by the distance rho to a codimension-2 line.

    The field there depends on the direction from the line only, so that the error is relative to
    the distance and not to the state. The full tolerance applies from a distance of 0.1 m/s on
    (chosen for the wheel, the only system with such a line); a state has an error of some 20
    roundings.
    """
    now, a = w.progress[0], w.vectors
    size = 0.0
    for c in range(now.n):
        size = max(size, abs(a[Y, c]))
    now.tightening, now.state_rounding = min(1.0, 10.0 * rho), 4e-15 * size


@kernel
def tighten_near_two_fold(w: Workspace, i: int, gap: float) -> float:
    """Scale the tolerance by the distance to a two-fold; return |grad h| |f|.

    At a two-fold L+ and L- are zero, so that a small relative error of the state is a large one of
    L+ and L-. The tolerance is at least the rounding error of the rates, in units of the size of
    each state. The scale of time is the time in which the fields change a state by its scale.

    Parameters
    ----------
    gap : |L- - L+|
    """
    now, a = w.progress[0], w.vectors
    speed = surface_speed(w, i)
    size = 0.0
    for c in range(now.n):
        size = max(size, max(abs(a[PLUS, c]), abs(a[MINUS, c])) / a[SCALE, c])
    # chosen: the full tolerance where L- - L+ is more than 1/30 of its scale
    now.tightening = min(1.0, 30.0 * gap / speed) if speed > 0.0 else 1.0
    # L is a sum of products of gradients and rates: 50 roundings, chosen. Gradients by differences
    # over 1/64 of the scale have a larger rounding error
    noise = 1.2e-14 if now.plane != 0 or now.gradient != 0 else 3e-14
    now.lie_rounding = noise * speed / now.norm
    now.rate_rounding = now.lie_rounding * size
    now.time_scale = 1.0 / size if size > 0.0 else 1.0
    return speed
