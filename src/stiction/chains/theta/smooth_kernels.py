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

from stiction.chains.theta.state import (
    Events,
    Problem,
    Progress,
    Saved,
    Work,
    masses_of,
    modes_of,
    motion_of,
    trial_of,
)
from stiction.chains.theta.step_kernels import (
    DONE,
    EVENTS_FULL,
    NOT_FINITE,
    PAUSE,
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
from stiction.numerics.callback import call
from stiction.numerics.elementary import hypot
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import factorise, solve_factored, system_of

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
    pieces, sines, f, m, _, law, progress = work
    now = progress[0]
    room = events.first + events.marks.shape[0] - p.n
    start_modes(p.n, m)
    for _ in range(steps):
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        solves = now.solves
        pull = now.load
        if not p.steady:
            pull = begin_step(p, pieces, sines, now)
        forces(p, f, now.step, pull)
        if p.theta == 0.0:
            explicit(p, f)
        else:
            off = newton(p, f, m, now)
            if not off <= 1.0:
                note_miss(p, now, off * p.tolerance)
        now.most_solves = max(now.most_solves, now.solves - solves)
        size, changed = trial_modes(p, f, m)
        if not size < _LARGEST:
            return NOT_FINITE
        due = now.save_at <= time_after(p, now.step)
        if due:
            keep_old(p, f, law, now)
        if p.n_state > 0:
            remember(p, f, now)
        commit(p, f, m, now, pull)
        if changed:
            noted = now.events
            record(p, f, m, now, events)
            if p.event_address != 0:
                jump_states(p, events, noted, now.events)
        if due:
            save_rows(p, f, m, law, now, saved)
        keep_friction(p.n, f)
    return PAUSE


@kernel
def trial_modes(p: Problem, f: Floats, m: Marks) -> tuple[float, bool]:
    """Write the modes of the slip; return its square with that of its change, and if any is new."""
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    size, changed = 0.0, False
    for i in range(p.n):
        w = system.solution[i]
        size += w * w + trial.rate_change[i] * trial.rate_change[i]
        if abs(w) > p.creep:
            modes.trial[i] = 1 if w > 0.0 else -1
        changed = changed or modes.trial[i] != modes.now[i]
    return size, changed


@kernel
def start_modes(n: int, m: Marks) -> None:
    """Start in the modes of the state."""
    modes = modes_of(m)
    for i in range(n):
        modes.trial[i] = modes.now[i]


@kernel
def keep_friction(n: int, f: Floats) -> None:
    """Make the friction of the step that of the state."""
    motion, trial = motion_of(f), trial_of(f)
    for i in range(n):
        motion.friction[i] = trial.friction[i]


@kernel
def explicit(p: Problem, f: Floats) -> None:
    """Make the step of theta = 0: every force at the start of the step."""
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    for i in range(p.n):
        system.solution[i] = motion.slip_rate[i]
    residual(p, f)
    for i in range(p.n):
        trial.rate_change[i] = -system.rhs[i] / masses.inertia[i]


@kernel
def newton(p: Problem, f: Floats, m: Marks, now: Progress) -> float:
    """Solve G(w) = 0 from the slip of the last step; return the residual over its tolerance."""
    system, motion, trial = system_of(f), motion_of(f), trial_of(f)
    for i in range(p.n):
        system.solution[i] = motion.slip_rate[i]
    off = residual(p, f)
    for _ in range(p.most):
        if off <= 1.0:
            break
        tangent(p, f)
        factorise(p.n, f, modes_of(m).free)
        solve_factored(p.n, f)
        now.solves += 1
        fall = 0.0
        for i in range(p.n):
            trial.rate_change[i] = system.solution[i]
            fall += system.rhs[i] * trial.rate_change[i]
        off = step_along(p, f, fall)
    for i in range(p.n):
        trial.rate_change[i] = (system.solution[i] - motion.slip_rate[i]) / p.theta
    return off


@kernel
def tangent(p: Problem, f: Floats) -> None:
    """Write the linear system of one iteration and keep the point it belongs to."""
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    for i in range(p.n):
        trial.best[i] = system.solution[i]
        system.excess[i] = masses.pivot[i] + friction_slope(p, f, i, system.solution[i])
        system.rhs[i] = -system.rhs[i]


@kernel
def step_along(p: Problem, f: Floats, fall: float) -> float:
    """Go from `best` along `rate_change` to near the lowest point; return the residual.

    G is the gradient of a convex potential (for every step below the weakening limit), whose
    rate along it starts at -fall and rises. Where it has become positive the step went past
    the lowest point, which is then found by bisection. So the potential falls in every
    iteration, and Newton's method converges from anywhere.
    """
    system, trial = system_of(f), trial_of(f)
    near, far, part = 0.0, 1.0, 1.0
    off = np.inf
    for _ in range(_HALVINGS):
        for i in range(p.n):
            system.solution[i] = trial.best[i] + part * trial.rate_change[i]
        off = residual(p, f)
        if not p.line_search or off <= 1.0:
            break
        rate = 0.0
        for i in range(p.n):
            rate += system.rhs[i] * trial.rate_change[i]
        if rate > _OVERSHOOT * fall:
            far = part
        elif rate < -fall * (1.0 - _OVERSHOOT) and far < 1.0:
            near = part
        else:
            break
        part = 0.5 * (near + far)
    return off


@kernel
def residual(p: Problem, f: Floats) -> float:
    """Write G to `rhs` and `friction`; return max |G_i| over its tolerance.

    The tolerance of a mass is `tolerance` times the forces on it, inertia left out, and
    never less than what rounding in w makes of the residual.
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    n = p.n
    worst = 0.0
    plate = p.theta * p.h
    # handing the whole of p to the inner functions would cost more than what they compute
    shape, width, sign_at = p.shape, p.width, p.sign_address
    before = 0.0
    for i in range(n):
        w = system.solution[i]
        after = system.solution[i + 1] if i + 1 < n else 0.0
        inertia = masses.inertia[i] * (w - motion.slip_rate[i])
        left = system.coupling[i] * (w - before)
        right = system.coupling[i + 1] * (after - w)
        mu = mu_of(p, masses.mu_kinetic, i, abs(w))
        friction = masses.normal_force[i] * mu * smooth_sign(shape, width, sign_at, w)
        trial.friction[i] = -friction
        inner = left - right + plate * masses.plate_stiffness[i] * w
        system.rhs[i] = inertia + inner - trial.force[i] + friction
        size = abs(left) + abs(right) + abs(trial.force[i]) + abs(friction)
        noise = masses.inertia[i] * (abs(w) + abs(motion.slip_rate[i]))
        noise += system.coupling[i] * (abs(w) + abs(before))
        noise += system.coupling[i + 1] * (abs(w) + abs(after))
        allowed = p.tolerance * size + _ROUNDING * noise
        # written so that NaN counts as the worst
        if not abs(system.rhs[i]) <= worst * allowed:
            worst = abs(system.rhs[i]) / allowed
        before = w
    return worst


@kernel
def friction_slope(p: Problem, f: Floats, i: int, w: float) -> float:
    """Return the derivative of N mu(|w|) phi(w / eps) with respect to w."""
    masses = masses_of(f)
    shape, width = p.shape, p.width
    mu = mu_of(p, masses.mu_kinetic, i, abs(w))
    slope = mu * smooth_slope(shape, width, p.sign_slope_address, w)
    if not p.constant:
        sign = smooth_sign(shape, width, p.sign_address, w)
        slope += slope_of(p, i, abs(w)) * abs(sign)
    result: float = masses.normal_force[i] * slope
    return result


@kernel
def smooth_sign(shape: int, width: float, address: int, w: float) -> float:
    """Return the smoothed sign of w; `address` is that of a user's shape."""
    if shape == SQUARE_ROOT:
        return w / hypot(w, width)
    if shape == TANH:
        return math.tanh(w / width)
    return call(address, w)


@kernel
def smooth_slope(shape: int, width: float, address: int, w: float) -> float:
    """Return the derivative of the smoothed sign; `address` is that of a user's."""
    if shape == SQUARE_ROOT:
        size = hypot(w, width)
        part = width / size
        return part * part / size
    if shape == TANH:
        return (1.0 - math.tanh(w / width) ** 2) / width
    return call(address, w)
