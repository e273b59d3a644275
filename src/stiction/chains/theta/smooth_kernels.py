"""Smoothed friction in one step of the theta scheme: Newton's method on the slip.

    G(w) = M (w - u) / (theta h) + B w - F + N mu(|w|) phi(w / eps),

with u the slip at the start of the step: the residual of the formulas sheet, section 5,
in the unknown w = v_theta - V instead of v_{l+1}, so that its Jacobian lacks their factor
theta. With theta = 0 the step is explicit and needs no solve.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from stiction.chains.theta.step_kernels import (
    BEST,
    DONE,
    DU,
    EVENTS_FULL,
    FORCE,
    FREE,
    INERTIA,
    LOAD,
    MODE,
    MOST,
    N_EVENTS,
    NEW_FORCE,
    NEW_MODE,
    NORMAL,
    NOT_FINITE,
    PAUSE,
    PIVOT,
    PLATE_K,
    SAVE_AT,
    SOLVES,
    STEP,
    Events,
    Problem,
    Q,
    Saved,
    U,
    Work,
    begin_step,
    commit,
    forces,
    jump_states,
    keep_old,
    mu_of,
    note_miss,
    record,
    remember,
    save_rows,
    slope_of,
    time_after,
)
from stiction.numerics.arrays import Matrix
from stiction.numerics.callback import call
from stiction.numerics.elementary import hypot
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import (
    COUPLING,
    EXCESS,
    RHS,
    SOLUTION,
    factorise,
    solve_factored,
)

__all__ = ["SQUARE_ROOT", "TANH", "USER_SHAPE", "advance_smooth"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Marks = npt.NDArray[np.int8]

SQUARE_ROOT, TANH, USER_SHAPE = range(3)

# a sum of squared slips beyond this is no motion any more
_LARGEST = 1e200
# relative rounding of the slip in the largest terms of the residual
_ROUNDING = 1e-15
_HALVINGS = 60
# share of the first rate at which a step counts as past the lowest point
_OVERSHOOT = 0.1


@kernel
def advance_smooth(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps with smoothed friction; return why it came back."""
    pieces, sines, f, m, _, law, clock, counter = work
    room = events.first + events.marks.shape[0] - p.n
    for i in range(p.n):
        m[NEW_MODE, i] = m[MODE, i]
    for _ in range(steps):
        if counter[STEP] >= p.n_step:
            return DONE
        if counter[N_EVENTS] > room:
            return EVENTS_FULL
        solves = counter[SOLVES]
        pull = clock[LOAD]
        if not p.steady:
            pull = begin_step(p, pieces, sines, clock, counter)
        forces(p, f, counter[STEP], pull)
        if p.theta == 0.0:
            explicit(p, f)
        else:
            off = newton(p, f, m, counter)
            if not off <= 1.0:
                note_miss(p, clock, counter, off * p.tolerance)
        counter[MOST] = max(counter[MOST], counter[SOLVES] - solves)
        size, changed = 0.0, False
        for i in range(p.n):
            w = f[SOLUTION, i]
            size += w * w + f[DU, i] * f[DU, i]
            if abs(w) > p.creep:
                m[NEW_MODE, i] = 1 if w > 0.0 else -1
            changed = changed or m[NEW_MODE, i] != m[MODE, i]
        if not size < _LARGEST:
            return NOT_FINITE
        due = clock[SAVE_AT] <= time_after(p, counter[STEP])
        if due:
            keep_old(p, f, law, clock)
        if p.n_state > 0:
            remember(p, f, clock)
        commit(p, f, m, clock, counter, pull)
        if changed:
            noted = counter[N_EVENTS]
            record(p, f, m, clock, counter, events)
            if p.event_address != 0:
                jump_states(p, events, noted, counter[N_EVENTS])
        if due:
            save_rows(p, f, m, law, clock, counter, saved)
        for i in range(p.n):
            f[FORCE, i] = f[NEW_FORCE, i]
    return PAUSE


@kernel(borrows=True)
def explicit(p: Problem, f: Floats) -> None:
    """Make the step of theta = 0: every force at the start of the step."""
    for i in range(p.n):
        f[SOLUTION, i] = f[U, i]
    residual(p, f)
    for i in range(p.n):
        f[DU, i] = -f[RHS, i] / f[INERTIA, i]


@kernel(borrows=True)
def newton(p: Problem, f: Floats, m: Marks, counter: Ints) -> float:
    """Solve G(w) = 0 from the slip of the last step; return the residual over its tolerance."""
    for i in range(p.n):
        f[SOLUTION, i] = f[U, i]
    off = residual(p, f)
    for _ in range(p.most):
        if off <= 1.0:
            break
        tangent(p, f)
        factorise(p.n, f, m, FREE)
        solve_factored(p.n, f)
        counter[SOLVES] += 1
        fall = 0.0
        for i in range(p.n):
            f[DU, i] = f[SOLUTION, i]
            fall += f[RHS, i] * f[DU, i]
        off = step_along(p, f, fall)
    for i in range(p.n):
        f[DU, i] = (f[SOLUTION, i] - f[U, i]) / p.theta
    return off


@kernel(borrows=True)
def tangent(p: Problem, f: Floats) -> None:
    """Write the linear system of one iteration and keep the point it belongs to."""
    for i in range(p.n):
        f[BEST, i] = f[SOLUTION, i]
        f[EXCESS, i] = f[PIVOT, i] + friction_slope(p, f, i, f[SOLUTION, i])
        f[RHS, i] = -f[RHS, i]


@kernel(borrows=True)
def step_along(p: Problem, f: Floats, fall: float) -> float:
    """Go from BEST along DU, all the way or to near the lowest point; return the residual.

    G is the gradient of a convex potential (for every step below the weakening limit), whose
    rate along DU starts at -fall and rises. Where it has become positive the step went past
    the lowest point, which is then found by bisection. So the potential falls in every
    iteration, and Newton's method converges from anywhere.
    """
    near, far, part = 0.0, 1.0, 1.0
    off = np.inf
    for _ in range(_HALVINGS):
        for i in range(p.n):
            f[SOLUTION, i] = f[BEST, i] + part * f[DU, i]
        off = residual(p, f)
        if not p.line_search or off <= 1.0:
            break
        rate = 0.0
        for i in range(p.n):
            rate += f[RHS, i] * f[DU, i]
        if rate > _OVERSHOOT * fall:
            far = part
        elif rate < -fall * (1.0 - _OVERSHOOT) and far < 1.0:
            near = part
        else:
            break
        part = 0.5 * (near + far)
    return off


@kernel(borrows=True)
def residual(p: Problem, f: Floats) -> float:
    """Write G to row RHS and friction to NEW_FORCE; return max |G_i| over its tolerance.

    The tolerance of a mass is `tolerance` times the forces on it, inertia left out, and
    never less than what rounding in w makes of the residual.
    """
    n = p.n
    worst = 0.0
    plate = p.theta * p.h
    # handing the whole of p to the inner functions would cost more than what they compute
    shape, width, sign_at = p.shape, p.width, p.sign_address
    before = 0.0
    for i in range(n):
        w = f[SOLUTION, i]
        after = f[SOLUTION, i + 1] if i + 1 < n else 0.0
        inertia = f[INERTIA, i] * (w - f[U, i])
        left = f[COUPLING, i] * (w - before)
        right = f[COUPLING, i + 1] * (after - w)
        mu = mu_of(p, f, i, abs(w))
        friction = f[NORMAL, i] * mu * smooth_sign(shape, width, sign_at, w)
        f[NEW_FORCE, i] = -friction
        inner = left - right + plate * f[PLATE_K, i] * w
        f[RHS, i] = inertia + inner - f[Q, i] + friction
        size = abs(left) + abs(right) + abs(f[Q, i]) + abs(friction)
        noise = f[INERTIA, i] * (abs(w) + abs(f[U, i])) + f[COUPLING, i] * (abs(w) + abs(before))
        noise += f[COUPLING, i + 1] * (abs(w) + abs(after))
        allowed = p.tolerance * size + _ROUNDING * noise
        # written so that NaN counts as the worst
        if not abs(f[RHS, i]) <= worst * allowed:
            worst = abs(f[RHS, i]) / allowed
        before = w
    return worst


@kernel(borrows=True)
def friction_slope(p: Problem, f: Matrix, i: int, w: float) -> float:
    """Return the derivative of N mu(|w|) phi(w / eps) with respect to w."""
    shape, width = p.shape, p.width
    mu = mu_of(p, f, i, abs(w))
    slope = mu * smooth_slope(shape, width, p.sign_slope_address, w)
    if not p.constant:
        sign = smooth_sign(shape, width, p.sign_address, w)
        slope += slope_of(p, i, abs(w)) * abs(sign)
    return f[NORMAL, i] * slope


@kernel(borrows=True)
def smooth_sign(shape: int, width: float, address: int, w: float) -> float:
    """Return the smoothed sign of w; `address` is that of a user's shape."""
    if shape == SQUARE_ROOT:
        return w / hypot(w, width)
    if shape == TANH:
        return math.tanh(w / width)
    return call(address, w)


@kernel(borrows=True)
def smooth_slope(shape: int, width: float, address: int, w: float) -> float:
    """Return the derivative of the smoothed sign; `address` is that of a user's."""
    if shape == SQUARE_ROOT:
        size = hypot(w, width)
        part = width / size
        return part * part / size
    if shape == TANH:
        return (1.0 - math.tanh(w / width) ** 2) / width
    return call(address, w)
