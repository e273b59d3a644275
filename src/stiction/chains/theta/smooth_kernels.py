"""Theta steps with regularised friction: Newton's method for the slip rates.

    G(w) = M (w - u) / (theta h) + B w - F + N mu(|w|) phi(w / eps),

with the slip rate u at the start of the step, the forces F and the matrix B of `step_kernels`, and
the smoothed sign phi of width eps. A = M / (theta h) + B is the tridiagonal part of the Jacobian
J = A + N (mu phi)'. This is the residual of the formulas sheet, section 5, in the
unknown w = v_theta - V instead of v_{l+1}, so that its Jacobian lacks the factor theta. With
theta = 0 the step is explicit and needs no solve. `integrator` calls `advance_smooth`. In the code
`system.solution` is w, `trial.force` F, `system.rhs` G, and `trial.rate_change` the Newton step. M
has the masses m, N are normal forces, mu is the friction coefficient, V the belt speed, h the step.
p is the `Problem`, `now` the `Progress`; f and m hold the rows that `state` names.
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
    commit_states,
    forces,
    jump_states,
    mu_of,
    record_unconverged,
    save_samples,
    save_step_start,
    slope_of,
    time_after,
)
from stiction.chains.theta.update_kernels import update_state
from stiction.numerics.callback import call
from stiction.numerics.elementary import hypot
from stiction.numerics.jit import kernel
from stiction.numerics.tridiagonal import factorise, solve_factored, system_of

__all__ = ["SQUARE_ROOT", "TANH", "USER_SHAPE", "advance_smooth"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ModeArray = npt.NDArray[np.int8]

SQUARE_ROOT, TANH, USER_SHAPE = range(3)

# a larger sum of squared slip rates counts as overflow
_LARGEST = 1e200
# relative rounding of the slip in the largest terms of the residual
_ROUNDING = 1e-15
_HALVINGS = 60
# fraction of the initial descent rate above which the line search has passed the minimum
_OVERSHOOT = 0.1


@kernel
def advance_smooth(p: Problem, work: Work, saved: Saved, events: Events, steps: int) -> int:
    """Advance by at most `steps` steps; return the code of the reason to stop."""
    segments, sines, f, m, lists, law, progress = work
    now = progress[0]
    room = events.first + events.changes.shape[0] - p.n
    start_modes(p.n, m)
    for _ in range(steps):
        if now.step >= p.n_step:
            return DONE
        if now.events > room:
            return EVENTS_FULL
        solves = now.solves
        pull = now.load
        if not p.steady:
            pull = begin_step(p, segments, sines, now)
        # forces at theta with the velocity of the belt
        forces(p, f, now.step, pull)
        if p.theta == 0.0:
            explicit(p, f)
        else:
            # a residual above its tolerance is counted, and the step accepted
            off = newton(p, f, m, now)
            if not off <= 1.0:
                record_unconverged(p, now, off * p.tolerance)
        now.most_solves = max(now.most_solves, now.solves - solves)
        size, changed = trial_modes(p, f, m)
        if not size < _LARGEST:
            return NOT_FINITE
        # samples inside the step need the state at its start
        due = now.save_at <= time_after(p, now.step)
        if due:
            save_step_start(p, f, law, now)
        if p.n_state > 0:
            commit_states(p, f, now)
        noted = now.events
        update_state(p, f, m, now, lists, events, pull, not changed, 0)
        if changed and p.event_address != 0:
            jump_states(p, events, noted, now.events)
        if due:
            save_samples(p, f, m, law, now, saved)
    return PAUSE


@kernel
def trial_modes(p: Problem, f: Floats, m: ModeArray) -> tuple[float, bool]:
    """Write the modes; return the sum of squares of w and its change, and whether a mode is new."""
    system, trial, modes = system_of(f), trial_of(f), modes_of(m)
    size, changed = 0.0, False
    for i in range(p.n):
        w = system.solution[i]
        size += w * w + trial.rate_change[i] * trial.rate_change[i]
        # a mass counts as slipping above the onset speed; below it keeps its mode
        if abs(w) > p.creep:
            modes.trial[i] = 1 if w > 0.0 else -1
        changed = changed or modes.trial[i] != modes.now[i]
    return size, changed


@kernel
def start_modes(n: int, m: ModeArray) -> None:
    """Copy the modes of the state to the trial modes."""
    modes = modes_of(m)
    for i in range(n):
        modes.trial[i] = modes.now[i]


@kernel
def explicit(p: Problem, f: Floats) -> None:
    """Make an explicit step, theta = 0: all forces at its start."""
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    for i in range(p.n):
        system.solution[i] = motion.slip_rate[i]
    residual(p, f)
    for i in range(p.n):
        trial.rate_change[i] = -system.rhs[i] / masses.inertia[i]


@kernel
def newton(p: Problem, f: Floats, m: ModeArray, now: Progress) -> float:
    """Solve G(w) = 0 by Newton's method from the last slip rates; return residual / tolerance."""
    system, motion, trial = system_of(f), motion_of(f), trial_of(f)
    for i in range(p.n):
        system.solution[i] = motion.slip_rate[i]
    off = residual(p, f)
    # Newton: J dw = -G with the tridiagonal J = A + N (mu phi)'
    for _ in range(p.most):
        if off <= 1.0:
            break
        tangent(p, f)
        factorise(p.n, f, modes_of(m).free)
        solve_factored(p.n, f)
        now.solves += 1
        # descent rate -G.dw of the potential
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
    """Write the linear system of one Newton iteration, and copy its point to `best`."""
    system, masses, trial = system_of(f), masses_of(f), trial_of(f)
    for i in range(p.n):
        # J differs from A on the diagonal only
        trial.best[i] = system.solution[i]
        system.excess[i] = masses.pivot[i] + friction_slope(p, f, i, system.solution[i])
        system.rhs[i] = -system.rhs[i]


@kernel
def step_along(p: Problem, f: Floats, fall: float) -> float:
    """Line search from `best` along `rate_change` to near the minimum; return the residual.

    G is the gradient of a convex potential if the step is below the weakening limit. Its
    directional derivative starts at -fall and rises; once it is positive the minimum is bracketed
    and bisected. The potential therefore decreases in every iteration, and Newton's method
    converges globally.
    """
    system, trial = system_of(f), trial_of(f)
    near, far, fraction = 0.0, 1.0, 1.0
    off = np.inf
    for _ in range(_HALVINGS):
        for i in range(p.n):
            system.solution[i] = trial.best[i] + fraction * trial.rate_change[i]
        off = residual(p, f)
        if not p.line_search or off <= 1.0:
            break
        rate = 0.0
        for i in range(p.n):
            rate += system.rhs[i] * trial.rate_change[i]
        # shorten the step where the potential rises; lengthen it where the potential still falls
        # nearly as fast as at the start
        if rate > _OVERSHOOT * fall:
            far = fraction
        elif rate < -fall * (1.0 - _OVERSHOOT) and far < 1.0:
            near = fraction
        else:
            break
        fraction = 0.5 * (near + far)
    return off


@kernel
def residual(p: Problem, f: Floats) -> float:
    """Write G to `rhs` and `friction`; return max |G_i| over its tolerance.

    The tolerance of a mass is `tolerance` times the forces on it without inertia, and at least the
    rounding of the residual by w.
    """
    system, masses, motion, trial = system_of(f), masses_of(f), motion_of(f), trial_of(f)
    n = p.n
    worst = 0.0
    plate = p.theta * p.h
    # passing p to the inner functions would cost more than their arithmetic
    shape, width, sign_at = p.shape, p.width, p.sign_address
    before = 0.0
    for i in range(n):
        w = system.solution[i]
        after = system.solution[i + 1] if i + 1 < n else 0.0
        # G_i = m (w - u) / (theta h) + B w - F + N mu(|w|) phi(w / eps)
        inertia = masses.inertia[i] * (w - motion.slip_rate[i])
        left = system.coupling[i] * (w - before)
        right = system.coupling[i + 1] * (after - w)
        mu = mu_of(p, masses.mu_kinetic, i, abs(w))
        friction = masses.normal_force[i] * mu * smooth_sign(shape, width, sign_at, w)
        trial.friction[i] = -friction
        inner = left - right + plate * masses.plate_stiffness[i] * w
        system.rhs[i] = inertia + inner - trial.force[i] + friction
        size = abs(left) + abs(right) + abs(trial.force[i]) + abs(friction)
        # rounding of w in the largest terms
        noise = masses.inertia[i] * (abs(w) + abs(motion.slip_rate[i]))
        noise += system.coupling[i] * (abs(w) + abs(before))
        noise += system.coupling[i + 1] * (abs(w) + abs(after))
        allowed = p.tolerance * size + _ROUNDING * noise
        # the negated comparison counts NaN as the largest
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
    # product rule: mu phi' + mu' |phi|
    slope = mu * smooth_slope(shape, width, p.sign_slope_address, w)
    if not p.constant:
        sign = smooth_sign(shape, width, p.sign_address, w)
        slope += slope_of(p, i, abs(w)) * abs(sign)
    result: float = masses.normal_force[i] * slope
    return result


@kernel
def smooth_sign(shape: int, width: float, address: int, w: float) -> float:
    """Return the smoothed sign of w; `address` is that of a user's shape."""
    # the square-root shape: phi is w over sqrt(w^2 + eps^2)
    if shape == SQUARE_ROOT:
        return w / hypot(w, width)
    if shape == TANH:
        return math.tanh(w / width)
    return call(address, w)


@kernel
def smooth_slope(shape: int, width: float, address: int, w: float) -> float:
    """Return the derivative of the smoothed sign; `address` is that of a user's."""
    if shape == SQUARE_ROOT:
        # its derivative: eps^2 over (w^2 + eps^2)^(3/2)
        size = hypot(w, width)
        fraction = width / size
        return fraction * fraction / size
    if shape == TANH:
        return (1.0 - math.tanh(w / width) ** 2) / width
    return call(address, w)
