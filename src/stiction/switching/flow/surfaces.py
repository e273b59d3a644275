"""Where a trajectory goes from a point of a switching surface: kernels.

A continuation is admissible when its field points where it claims to go: into h > 0 with
L+ > 0, into h < 0 with L- < 0, along the surface between the folds. On the fold of a side
the second derivative of h decides. Where two surfaces meet see `corners.ways`.
Source: Filippov 1988; Szalai, Jeffrey 2014, section II and eqs (17), (18).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.callback import call_at, row_at
from stiction.numerics.jit import kernel
from stiction.switching.flow.intersections.bilinear import root
from stiction.switching.flow.rates import bilinear, slide_data
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
    "Landing",
    "begin_mode",
    "curvature",
    "follow_line",
    "is_plane",
    "landing",
    "project",
    "surface_speed",
    "surfaces_at",
    "tighten",
]

# L is zero when it is smaller than this share of |grad h| |f|
FOLD_SHARE = 1e-12
# a two-fold is reached when L- - L+ has fallen to this share of |grad h| |f|
TWO_FOLD_SHARE = 1e-10


@kernel
def surfaces_at(w: Workspace, x: int, out: int) -> None:
    """Fill row `out` with h_1 .. h_m and the kink functions at the state in row x."""
    now, a = w.progress[0], w.rows
    call_at(now.surface, row_at(a, x), row_at(a, SIDES), now.parameters, row_at(a, out))


@kernel
def surface_speed(w: Workspace, i: int) -> float:
    """Return |grad h_i| times the larger of the fields in PLUS and MINUS: what L is held to.

    Norms are of states over their sizes, so that units of states change nothing.
    """
    now, a = w.progress[0], w.rows
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
    """Put the state exactly on surface i, moving it along the gradient."""
    now, a = w.progress[0], w.rows
    n = now.n
    for _ in range(3):
        surfaces_at(w, Y, EXTRA)
        value = a[EXTRA, i]
        if value == 0.0:
            return
        slide_data(w, SIDES, i, Y)
        size = 0.0
        for j in range(n):
            part = a[GRAD, i * n + j] * a[SCALE, j]
            size += part * part
        if size == 0.0:
            return
        for j in range(n):
            a[Y, j] -= value * a[GRAD, i * n + j] * (a[SCALE, j] * a[SCALE, j]) / size
    surfaces_at(w, Y, EXTRA)


@kernel
def is_plane(w: Workspace) -> bool:
    """Return whether every h changed over the step from Y to TRIAL as its gradient says."""
    now, a = w.progress[0], w.rows
    n = now.n
    surfaces_at(w, Y, EXTRA)
    surfaces_at(w, TRIAL, EXTRA2)
    for i in range(now.m):
        rise = size = reach = 0.0
        for c in range(n):
            slope = a[GRAD, i * n + c]
            part = slope * (a[TRIAL, c] - a[Y, c])
            rise, size = rise + part, size + abs(part)
            reach += abs(slope) * (abs(a[Y, c]) + abs(a[TRIAL, c]))
        if abs(a[EXTRA2, i] - a[EXTRA, i] - rise) > 1e-9 * size + 1e-14 * reach:
            return False
    return True


@kernel
def curvature(w: Workspace, i: int, side: float) -> float:
    """Return the second derivative of h_i along the field of one side, by differences of L."""
    now, a = w.progress[0], w.rows
    n = now.n
    slide_data(w, SIDES, i, Y)
    field, size = PLUS if side > 0.0 else MINUS, 0.0
    for j in range(n):
        a[SPARE, j] = a[field, j]
        size = max(size, abs(a[SPARE, j]) / a[SCALE, j])
    if size == 0.0:
        return 0.0
    values = 0.0
    step = 1e-4 / size
    for b in range(2):
        shift = step if b == 0 else -step
        for j in range(n):
            a[TRIAL, j] = a[Y, j] + shift * a[SPARE, j]
        up, down = slide_data(w, SIDES, i, TRIAL)
        value = up if side > 0.0 else down
        values += value if b == 0 else -value
    return values / (2.0 * step)


class Landing(NamedTuple):
    """Which continuations a point of a surface has.

    plus, minus, along : into h > 0, into h < 0, along the surface
    escaping : whether it lies in an escaping region
    fold : whether one of the sides is tangent there
    """

    plus: bool
    minus: bool
    along: bool
    escaping: bool
    fold: bool


@kernel(separate=True)
def landing(w: Workspace, i: int) -> Landing:
    """Return which continuations a point of surface i has."""
    up, down = slide_data(w, SIDES, i, Y)
    limit = FOLD_SHARE * surface_speed(w, i)
    flat_up, flat_down = abs(up) <= limit, abs(down) <= limit
    plus, minus = up > 0.0, down < 0.0
    # on a fold the second derivative decides
    if flat_up:
        plus = curvature(w, i, 1.0) > 0.0
    if flat_down:
        minus = curvature(w, i, -1.0) < 0.0
    if flat_up and flat_down:
        # a two-fold, or both fields vanish: nothing local decides
        return Landing(plus, minus, True, False, True)
    if flat_up:
        along = down > 0.0 and not plus
        return Landing(plus, minus, along, plus and minus, True)
    if flat_down:
        along = up < 0.0 and not minus
        return Landing(plus, minus, along, plus and minus, True)
    slides = up < 0.0 < down or down < 0.0 < up
    return Landing(plus, minus, slides, plus and minus, False)


@kernel(separate=True)
def begin_mode(w: Workspace) -> None:
    """Set direction and scale of the sliding time for the mode in row SIDES."""
    now, a = w.progress[0], w.rows
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
        surfaces_at(w, Y, EXTRA)
        here, there = a[EXTRA, 0], a[EXTRA, m]
        follow_line(w, math.sqrt(here * here + there * there))
    if sliding == 1:
        up, down = slide_data(w, SIDES, first, Y)
        gap = down - up
        now.sense = 1.0 if gap >= 0.0 else -1.0
        now.norm = abs(gap) if gap != 0.0 else 1.0
        tighten(w, first, abs(gap))
    if sliding == 2:
        _choose_root(w)


@kernel
def _choose_root(w: Workspace) -> None:
    """Set BRANCH to the sliding vector that is admissible; keep it where both are."""
    now = w.progress[0]
    rate, best = bilinear(w, SIDES, Y), math.inf
    kept, chosen = now.branch, 1
    for b in range(2):
        sign = 1 - 2 * b
        found = root(rate, float(sign), False)
        size = max(abs(found.u), abs(found.v)) if found.good else 1e300
        if sign == kept and size <= 1.0 + 1e-9:
            return
        if size < best:
            best, chosen = size, sign
    now.branch = chosen


@kernel
def follow_line(w: Workspace, rho: float) -> None:
    """Make the tolerance follow the distance rho to a codimension-2 line.

    The field there depends on the direction from the line alone, so an error counts
    against the distance and not against the state.
    """
    now, a = w.progress[0], w.rows
    size = 0.0
    for c in range(now.n):
        size = max(size, abs(a[Y, c]))
    now.tightening, now.state_rounding = min(1.0, 10.0 * rho), 4e-15 * size


@kernel
def tighten(w: Workspace, i: int, gap: float) -> float:
    """Make the tolerance follow the distance to a two-fold; return |grad h| |f|.

    There the state moves ever less, and an error that is small against the state is large
    against what decides how it goes on. What rounding of the rates does is allowed for, in units
    of the size of each state. The time has the time for its size in which the fields change a
    state by its own.
    """
    now, a = w.progress[0], w.rows
    speed = surface_speed(w, i)
    size = 0.0
    for c in range(now.n):
        size = max(size, max(abs(a[PLUS, c]), abs(a[MINUS, c])) / a[SCALE, c])
    now.tightening = min(1.0, 30.0 * gap / speed) if speed > 0.0 else 1.0
    # differences over 1/64 of the scale lose as many digits
    noise = 1.2e-14 if now.plane != 0 or now.gradient != 0 else 3e-14
    now.lie_rounding = noise * speed / now.norm
    now.rate_rounding = now.lie_rounding * size
    now.time_scale = 1.0 / size if size > 0.0 else 1.0
    return speed
