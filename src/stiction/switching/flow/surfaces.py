"""Where a trajectory goes from a point of a switching surface: kernels.

A continuation is admissible when its field points where it claims to go: into h > 0 with
L+ > 0, into h < 0 with L- < 0, along the surface between the folds. On the fold of a side
the second derivative of h decides. Where two surfaces meet, all nine combinations are
tried. Source: Filippov 1988; Szalai, Jeffrey 2014, section II and eqs (17), (18).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.callback import call_arrays
from stiction.numerics.jit import kernel
from stiction.switching.flow.geometry import lie_pair
from stiction.switching.flow.rates import (
    EXTRA,
    EXTRA2,
    FLOOR,
    GRADIENT,
    LIE_NOISE,
    LINE,
    MINUS,
    NORM,
    PLANE,
    PLUS,
    ROUNDING,
    SENSE,
    SHARE,
    SURFACE,
    K,
    M,
    N,
    multipliers,
    slide_data,
)
from stiction.switching.flow.records import DISTANCE, RHO, Flow

__all__ = [
    "Landing",
    "begin_mode",
    "curvature",
    "follow_line",
    "is_plane",
    "landing",
    "meeting",
    "project",
    "surface_speed",
    "tighten",
]

# L is zero when it is smaller than this share of |grad h| |f|
FOLD_SHARE = 1e-12
# a two-fold is reached when L- - L+ has fallen to this share of |grad h| |f|
TWO_FOLD_SHARE = 1e-10


@kernel
def surface_speed(grad: Matrix, i: int, plus: Vector, minus: Vector) -> float:
    """Return |grad h_i| times the larger of the two fields: what L is compared with."""
    a = b = c = 0.0
    for j in range(plus.size):
        a += grad[i, j] * grad[i, j]
        b += plus[j] * plus[j]
        c += minus[j] * minus[j]
    return math.sqrt(a * max(b, c))


@kernel
def project(flow: Flow, i: int) -> None:
    """Put the state exactly on surface i, moving it along the gradient."""
    n, m = flow.system[N], flow.system[M]
    x, row = flow.y[:n], flow.work[EXTRA, :]
    for _ in range(3):
        call_arrays(flow.system[SURFACE], x, flow.sides, flow.p, row)
        value = row[i]
        if value == 0.0:
            return
        slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, flow.work)
        size = 0.0
        for j in range(n):
            part = flow.grad[i, j] * flow.scale[j]
            size += part * part
        if size == 0.0:
            return
        for j in range(n):
            x[j] -= value * flow.grad[i, j] * (flow.scale[j] * flow.scale[j]) / size
    call_arrays(flow.system[SURFACE], x, flow.sides, flow.p, flow.work[EXTRA, : m + flow.system[K]])


@kernel
def is_plane(flow: Flow) -> bool:
    """Return whether every h changed over the step from y to trial as its gradient says."""
    n, m = flow.system[N], flow.system[M]
    before, after = flow.work[EXTRA, :], flow.work[EXTRA2, :]
    call_arrays(flow.system[SURFACE], flow.y[:n], flow.sides, flow.p, before)
    call_arrays(flow.system[SURFACE], flow.trial[:n], flow.sides, flow.p, after)
    for i in range(m):
        rise = size = reach = 0.0
        for c in range(n):
            part = flow.grad[i, c] * (flow.trial[c] - flow.y[c])
            rise, size = rise + part, size + abs(part)
            reach += abs(flow.grad[i, c]) * (abs(flow.y[c]) + abs(flow.trial[c]))
        if abs(after[i] - before[i] - rise) > 1e-9 * size + 1e-14 * reach:
            return False
    return True


@kernel
def curvature(flow: Flow, i: int, side: float) -> float:
    """Return the second derivative of h_i along the field of one side, by differences of L."""
    n = flow.system[N]
    x = flow.y[:n]
    direction = flow.spare[:n]
    slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, flow.work)
    size = 0.0
    for j in range(n):
        direction[j] = flow.work[PLUS if side > 0.0 else MINUS, j]
        size = max(size, abs(direction[j]) / flow.scale[j])
    if size == 0.0:
        return 0.0
    moved = flow.trial[:n]
    values = 0.0
    step = 1e-4 / size
    for a in range(2):
        shift = step if a == 0 else -step
        for j in range(n):
            moved[j] = x[j] + shift * direction[j]
        up, down = slide_data(
            flow.system, flow.p, flow.scale, flow.sides, i, moved, flow.grad, flow.work
        )
        value = up if side > 0.0 else down
        values += value if a == 0 else -value
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


@kernel
def landing(flow: Flow, i: int) -> Landing:
    """Return which continuations a point of surface i has."""
    n = flow.system[N]
    x = flow.y[:n]
    up, down = slide_data(flow.system, flow.p, flow.scale, flow.sides, i, x, flow.grad, flow.work)
    limit = FOLD_SHARE * surface_speed(flow.grad, i, flow.work[PLUS, :n], flow.work[MINUS, :n])
    flat_up, flat_down = abs(up) <= limit, abs(down) <= limit
    plus, minus = up > 0.0, down < 0.0
    bend_up = bend_down = 0.0
    if flat_up:
        bend_up = curvature(flow, i, 1.0)
        plus = bend_up > 0.0
    if flat_down:
        bend_down = curvature(flow, i, -1.0)
        minus = bend_down < 0.0
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


@kernel
def begin_mode(flow: Flow) -> None:
    """Set direction and scale of the sliding time for the mode in `sides`."""
    n, m = flow.system[N], flow.system[M]
    flow.pace[SENSE], flow.pace[NORM] = 1.0, 1.0
    flow.pace[SHARE], flow.pace[FLOOR], flow.pace[ROUNDING] = 1.0, 0.0, 0.0
    flow.clock[RHO], flow.clock[DISTANCE] = 0.0, 0.0
    first, sliding = -1, 0
    for i in range(m):
        if flow.sides[i] == 0.0:
            sliding += 1
            first = i
    if sliding == 0 and flow.system[LINE] == 1:
        row = flow.work[EXTRA, :]
        call_arrays(flow.system[SURFACE], flow.y[:n], flow.sides, flow.p, row)
        follow_line(flow, math.sqrt(row[0] * row[0] + row[m] * row[m]))
    if sliding == 1:
        up, down = slide_data(
            flow.system,
            flow.p,
            flow.scale,
            flow.sides,
            first,
            flow.y[:n],
            flow.grad,
            flow.work,
        )
        gap = down - up
        flow.pace[SENSE] = 1.0 if gap >= 0.0 else -1.0
        flow.pace[NORM] = abs(gap) if gap != 0.0 else 1.0
        tighten(flow, first, abs(gap))


@kernel
def follow_line(flow: Flow, rho: float) -> None:
    """Make the tolerance follow the distance rho to a codimension-2 line.

    The field there depends on the direction from the line alone, so an error counts
    against the distance and not against the state.
    """
    size = 0.0
    for c in range(flow.system[N]):
        size = max(size, abs(flow.y[c]))
    flow.pace[SHARE], flow.pace[ROUNDING] = min(1.0, 10.0 * rho), 4e-15 * size


@kernel
def tighten(flow: Flow, i: int, gap: float) -> float:
    """Make the tolerance follow the distance to a two-fold; return |grad h| |f|.

    There the state moves ever less, and an error that is small against the state is large
    against what decides how it goes on. What rounding of the rates does is allowed for.
    """
    n = flow.system[N]
    plus, minus = flow.work[PLUS, :n], flow.work[MINUS, :n]
    speed = surface_speed(flow.grad, i, plus, minus)
    size = 0.0
    for c in range(n):
        size = max(size, abs(plus[c]), abs(minus[c]))
    flow.pace[SHARE] = min(1.0, 30.0 * gap / speed) if speed > 0.0 else 1.0
    # differences over 1/64 of the scale lose as many digits
    noise = 1.2e-14 if flow.system[PLANE] != 0 or flow.system[GRADIENT] != 0 else 3e-14
    flow.pace[LIE_NOISE] = noise * speed / flow.pace[NORM]
    flow.pace[FLOOR] = flow.pace[LIE_NOISE] * size
    return speed


@kernel
def meeting(flow: Flow, i: int, j: int, came: float) -> tuple[float, float, int]:
    """Return the signs with which the trajectory goes on where surfaces i and j meet.

    Parameters
    ----------
    came : the sign of h_i before it arrived at surface i; 0 if it was on it already

    Returns
    -------
    sign of surface i, sign of surface j, how many of the nine combinations are admissible.
    """
    n, m = flow.system[N], flow.system[M]
    x, system, p, scale = flow.y[:n], flow.system, flow.p, flow.scale
    grad, work = flow.grad, flow.work
    trial, found = flow.roots[0, :m], 0
    best_i, best_j, best_rank = came, 0.0, 99
    for a in range(3):
        for b in range(3):
            si, sj = a - 1.0, b - 1.0
            for c in range(m):
                trial[c] = flow.sides[c]
            trial[i], trial[j] = si, sj
            good = False
            if si != 0.0 and sj != 0.0:
                both_i = slide_data(system, p, scale, trial, i, x, grad, work)
                lie_i = both_i[0] if si > 0.0 else both_i[1]
                both_j = slide_data(system, p, scale, trial, j, x, grad, work)
                lie_j = both_j[0] if sj > 0.0 else both_j[1]
                good = lie_i * si > 0.0 and lie_j * sj > 0.0
            elif si == 0.0 and sj == 0.0:
                lam = work[EXTRA, :m]
                solved = multipliers(system, p, scale, trial, x, flow.spare[:n], lam, grad, work)
                good = solved and abs(lam[i]) <= 1.0 and abs(lam[j]) <= 1.0
            else:
                s, o = (i, j) if si == 0.0 else (j, i)
                side = sj if si == 0.0 else si
                up, down = slide_data(system, p, scale, trial, s, x, grad, work)
                if up < 0.0 < down:
                    along = flow.spare[:n]
                    for c in range(n):
                        along[c] = (down * work[PLUS, c] - up * work[MINUS, c]) / (down - up)
                    good = lie_pair(grad[o], along, along)[0] * side > 0.0
            if good:
                found += 1
                # first what crosses surface i and changes nothing else
                rank = 0 if si == -came and sj == flow.sides[j] else 1 if si == sj == 0.0 else 2
                if rank < best_rank:
                    best_i, best_j, best_rank = si, sj, rank
    return best_i, best_j, found
