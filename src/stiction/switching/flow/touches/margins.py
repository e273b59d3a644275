"""How far a touch of a surface is from the split of futures, over the error of the run: kernels.

A state that comes from one side and only just touches a surface may be let go to the other
side there. Its future then jumps with the sign of the lowest value of h: the split is where
that value is zero. Where the other side leads back to the surface, nothing splits: both
ways go on together. Source: Filippov 1988, section 10, on uniqueness to the right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Matrix
from stiction.numerics.event_localisation import NODES, value_and_slope
from stiction.numerics.jit import kernel
from stiction.switching.flow.rates import event_values, slide_data
from stiction.switching.flow.state import (
    COEFFICIENT,
    GRAD,
    ROOT,
    SAMPLE,
    SCALE,
    SIDES,
    STAGE,
    TRIAL,
    EventFunctions,
    Workspace,
)
from stiction.switching.flow.steps import step
from stiction.switching.flow.surfaces import FOLD_SHARE, surface_speed
from stiction.switching.flow.tableau import AT_END

__all__ = ["Touch", "judge", "lowest_point"]

# a value of h below this many times its rounding is zero
_ZERO = 64.0
# a lowest point may lie this much behind the end of the step that promised it
_BEYOND = 4.0
# an error of a step may grow until the touch along a flow that is not stable, which its estimate
# does not know: true errors were up to twice the sum of the estimates in 3,000 random orbits
_GROWN = 3.0


@kernel
def lowest_point(w: Workspace, table: Matrix, i: int, share: float, h: float) -> float:
    """Step to where h_i is lowest, near the fraction `share` of a step of length h.

    Row TRIAL holds y there, entry i of row SAMPLE the value. Returns the length of the step:
    Newton's method on the slope, of which each evaluation is as accurate as any step.
    """
    now, a = w.progress[0], w.rows
    b, work, n = a[COEFFICIENT + i, :NODES], a[ROOT], now.n
    near = min(max(share, 0.05), 0.95)
    up, down = value_and_slope(b, near + 0.05, work)[1], value_and_slope(b, near - 0.05, work)[1]
    bend, length, before, at = (up - down) / (0.1 * h * h), share * h, 0.0, -1.0
    for count in range(8):
        step(w, table, length)
        slide_data(w, SIDES, i, TRIAL)
        slope = 0.0
        for c in range(n):
            slope += a[GRAD, i * n + c] * a[STAGE + AT_END, c]
        slope *= a[SIDES, i]
        if count > 0 and abs(length - at) > 1e-7 * h:
            bend = (slope - before) / (length - at)
        if bend <= 0.0 or count == 7:
            break
        to = min(max(length - slope / bend, 0.0), _BEYOND * h)
        # the value is then off by the square of this
        if abs(to - length) <= 1e-9 * h:
            break
        before, at, length = slope, length, to
    event_values(w, TRIAL, SAMPLE)
    return length


class Touch(NamedTuple):
    """What `judge` says of a touch.

    exact : whether h is zero to rounding
    open : whether the field of the other side leads away from the surface
    margin : distance to the split over the error of the run
    """

    exact: bool
    open: bool
    margin: float


@kernel
def judge(w: Workspace, functions: EventFunctions, i: int) -> Touch:
    """Return how the state in row TRIAL, where surface i is lowest, stands to a split.

    The error of h is what the steps since the last restart were off by, and never less than
    the tolerance in force there, times what it may have grown; and its share of the heights
    where the run came from a two-fold.
    """
    now, a = w.progress[0], w.rows
    n, value = now.n, abs(a[SAMPLE, i])
    up, down = slide_data(w, SIDES, i, TRIAL)
    room = reach = 0.0
    for c in range(n):
        slope, here = abs(a[GRAD, i * n + c]), abs(a[TRIAL, c])
        room += slope * (now.atol * a[SCALE, c] + now.rtol * here)
        reach += slope * max(here, 0.1 * a[SCALE, c])
    noise = max(functions[i].noise, 4.0 * 2.220446049250313e-16 * reach)
    off = _GROWN * (now.tightening + now.drift)
    exact = value <= _ZERO * noise
    vague = now.vague * now.tallest
    margin = value / (off * room + _ZERO * noise + vague)
    speed = surface_speed(w, i)
    away = -down if a[SIDES, i] > 0.0 else up
    if speed > 0.0:
        # the other field may be tangent too; how far it is from that counts as well
        beside = -away / (speed * (FOLD_SHARE + off * now.rtol))
        if beside > 0.0:
            margin = max(margin, beside)
    else:
        margin = math.inf
    opens = away > FOLD_SHARE * speed
    if now.m > 1 and _slides(w):
        # on another surface neither field alone decides
        opens = opens and exact
    return Touch(exact, opens, margin)


@kernel
def _slides(w: Workspace) -> bool:
    """Return whether the state slides on any surface."""
    now, a = w.progress[0], w.rows
    slides = False
    for j in range(now.m):
        slides = slides or a[SIDES, j] == 0.0
    return slides
