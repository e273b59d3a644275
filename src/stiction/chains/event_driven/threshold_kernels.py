"""Degenerate stick thresholds: stuck masses whose stick force |R_i| equals its bound mu_s N_i.

Several masses may reach their bounds at one instant. Each then slips or sticks by the first
coefficient of its R(tau) that leaves the bound. With x = sum x_k tau^k, coefficient k of R needs
x_k (springs) and x_{k+1} (dampers), and x_{k+1} follows from the coefficients of R up to k - 1.
Coefficients and decisions therefore alternate in order of k, and no decision is revised: before R_i
leaves its bound, mass i contributes nothing to the coefficients of its neighbours, whether it will
slip or stick. Under a law with a jump (mu_s > mu(0+)) a released mass accelerates at once; there
all masses of one round are released together and the others are decided again. `step_kernels` calls
these kernels at the start of each step; p, `state` and s are the tuples of `state`. `state.side[i]`
is the sign of R_i. `state.lead[i]` is 1 for a stuck mass at its bound; for a released mass it is
the number of leading coefficients of its slip rate that are zero. Row k of `s.drive` has
coefficient k of all R_i.

Source: docs/decisions/07, "Degenerate stick thresholds are decided by series coefficients".
"""

from __future__ import annotations

import numpy as np

from stiction.chains.event_driven.records import drive_of
from stiction.chains.event_driven.series_kernels import FIT, load_at
from stiction.chains.event_driven.state import (
    Problem,
    Scratch,
    State,
)
from stiction.laws.law_kernels import share_term
from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel

__all__ = [
    "ALL_STICK",
    "AT_REST",
    "THRESHOLD",
    "UNDECIDED",
    "decide_by_first_terms",
    "decide_degenerate",
    "force_size",
    "jumps",
    "mark_at_threshold",
    "set_mode_at_rest",
    "speed_size",
]

# a force is at its bound within this fraction of the sum of its terms: their rounding, and the
# error of the step that brought it there. Chosen
THRESHOLD = 1e-12
# outcomes of the test by first coefficients: all stick, some slip, or higher ones are needed
ALL_STICK, SOME_SLIP, UNDECIDED = 0, 1, 2
# a first coefficient above this fraction of its terms is certain; below it the next ones are
# examined too. Chosen, far above rounding
_CLEAR = 1e-9
# decisions in `s.decision`; a deferred mass is released together with others of its round
_STICKS, _DEFERRED, _RELEASED = 1, 2, 3
# value of `lead` of a mass that stays at rest for this instant, whatever its series
AT_REST = 99


@kernel
def jumps(p: Problem, i: int) -> bool:
    """Return whether stick carries more than the slowest slip of mass i."""
    return p.jump and p.mu_static[i] * p.normal[i] > p.mu_kinetic[i] * p.normal[i]


@kernel
def force_size(p: Problem, x: Vector, v: Vector, load: float, t: float, i: int) -> float:
    """Return the sum of the magnitudes of all forces on mass i [N], the scale of rounding."""
    c = i + 1
    left = p.link_k[i] * (abs(x[c]) + abs(x[c - 1])) + p.link_c[i] * (abs(v[c]) + abs(v[c - 1]))
    right = p.link_k[c] * (abs(x[c + 1]) + abs(x[c])) + p.link_c[c] * (abs(v[c + 1]) + abs(v[c]))
    plate = p.plate_k[i] * (abs(p.plate_speed * t) + abs(x[c]))
    size: float = left + right + abs(p.load_vector[i] * load) + plate + p.mu_static[i] * p.normal[i]
    return size


@kernel
def speed_size(p: Problem, x: Vector, v: Vector, force: float, t: float, i: int) -> float:
    """Return the scale [m/s] of rounding of the velocity of mass i."""
    # the force acts for the response time of the links, and since the start of the run at most
    since = min(p.response[i], t - p.start)
    size: float = abs(v[i + 1]) + abs(p.belt) + force / p.mass[i] * since
    return size


@kernel
def set_mode_at_rest(p: Problem, state: State, i: int, drive: float, size: float) -> None:
    """Set the mode of a mass with zero slip rate from its drive; at its threshold lead is 1."""
    bound = p.mu_static[i] * p.normal[i]
    excess = abs(drive) - bound
    state.side[i] = 1 if drive > 0.0 else -1
    if excess > THRESHOLD * size:
        state.mode[i] = state.side[i]
        state.lead[i] = 1
    else:
        state.mode[i] = 0
        state.lead[i] = 1 if excess >= -THRESHOLD * size else 0


@kernel
def mark_at_threshold(p: Problem, state: State, t: float) -> int:
    """Mark stuck masses at their bound, release those beyond it; count the marked ones."""
    load, degenerate = load_at(p, t, state.progress[0].piece), 0
    for i in range(p.mass.size):
        if state.mode[i] != 0:
            continue
        if state.lead[i] == 0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            # the scale of rounding is needed near the bound only
            if abs(drive) >= 0.999 * p.mu_static[i] * p.normal[i]:
                set_mode_at_rest(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        # stuck, with |R| equal to its bound within rounding
        degenerate += state.mode[i] == 0 and state.lead[i] == 1
    return degenerate


@kernel
def decide_by_first_terms(
    p: Problem, state: State, s: Scratch, count: int, t: float, degenerate: int
) -> int:
    """Decide degenerate thresholds by the sign of dR/dtau if it is certain; return the outcome.

    The series are those of a step in which all of them stick. Nearly always a single mass is at
    its bound, brought there by the load or by a neighbour.
    """
    load, seen, slipping = load_at(p, t, state.progress[0].piece), 0, 0
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0 or state.lead[i] != 1:
            continue
        seen += 1
        slipping += state.side[i] * s.drive[1, i] > 0.0
        bound, first = p.mu_static[i] * p.normal[i], abs(s.drive[1, i])
        # scale of rounding of dR/dtau: the forces, and the rates of load and plate
        size = force_size(p, state.x, state.v, load, t, i)
        size += abs(s.load[1] * p.load_vector[i]) + p.plate_k[i] * abs(p.plate_speed) / p.rate
        # (without a jump a released mass has no acceleration that a damper could transmit)
        damped = p.jump and degenerate > 1 and (p.link_c[i] > 0.0 or p.link_c[i + 1] > 0.0)
        if bound == 0.0 or first <= _CLEAR * size or damped or p.slip_after <= t <= p.slip_before:
            return UNDECIDED
    if slipping > 0 and seen < degenerate:
        # a mass with constant R may be moved by those that slip
        return UNDECIDED
    outcome = ALL_STICK
    for i in range(p.mass.size):
        s.decision[i] = 1 if state.mode[i] == 0 and state.lead[i] == 1 and jumps(p, i) else 0
    for a in range(count):
        i = s.active[a]
        # outward R exceeds its bound, and the mass slips. `lead` counts the zero terms of its slip
        # rate: the velocity, and without a jump in friction the acceleration
        at_threshold = state.mode[i] == 0 and state.lead[i] == 1
        if at_threshold and state.side[i] * s.drive[1, i] > 0.0:
            state.mode[i] = state.side[i]
            state.lead[i] = 1 if jumps(p, i) else 2
            s.decision[i] = 0
            outcome = SOME_SLIP
    return outcome


@kernel(separate=True)
def decide_degenerate(p: Problem, state: State, s: Scratch, t: float, fit_error: float) -> bool:
    """Decide all degenerate thresholds coefficient by coefficient; return whether a mass slips.

    A fitted load has the relative error `fit_error`.

    A released mass gets its mode, and as `lead` the number of zero coefficients of its slip rate.
    A stuck one keeps lead 1. On return `s.decision` is 1 for masses that the stick rule decides.
    """
    now = state.progress[0]
    n, released = p.mass.size, False
    _load_errors(p, s, t, fit_error, now.tau)
    for i in range(n):
        s.decision[i] = 0
    # a round releases at least one mass under a law with a jump, or is the last
    for _ in range(n + 1):
        left = 0
        now.expansions += 1
        _clear_series(p, state, s)
        # errors and values of coefficient k of R, decisions, then coefficient k + 2 of x
        for k in range(p.order - 1):
            _errors_of_term(p, state, s, k, t)
            for i in range(n):
                if state.mode[i] == 0 and state.lead[i] == 1 and s.decision[i] == 0:
                    left += _decide_by_term(p, state, s, k, i)
            _next_term(p, state, s, k, t)
        released = released or left > 0
        if not _release_deferred(state, s):
            break
    # under a law with a jump those still at their bound stick by the rule, or slip by a policy
    for i in range(n):
        at_threshold = state.mode[i] == 0 and state.lead[i] == 1
        s.decision[i] = 1 if at_threshold and jumps(p, i) else 0
        if s.decision[i] == 1 and p.slip_after <= t <= p.slip_before:
            state.mode[i] = state.side[i]
            released = True
    return released


@kernel
def _release_deferred(state: State, s: Scratch) -> bool:
    """Release the deferred masses; masses without a jump are then decided again.

    Return whether any mass was released.
    """
    released = False
    for i in range(s.decision.size):
        if s.decision[i] == _DEFERRED:
            state.mode[i] = state.side[i]
            s.decision[i] = 0
            released = True
    for i in range(s.decision.size):
        if released and s.decision[i] == _RELEASED:
            state.mode[i], state.lead[i] = 0, 1
            s.decision[i] = 0
    return released


@kernel
def _clear_series(p: Problem, state: State, s: Scratch) -> None:
    """Clear the series. `s.heat` holds the error bounds of their coefficients here."""
    n = p.mass.size
    for i in range(n):
        if s.decision[i] == _STICKS:
            # the modes of the others have changed, so its decision is open again
            s.decision[i] = 0
        for k in range(p.order + 1):
            s.heat[k, i] = 0.0
    for c in range(n + 2):
        s.x[0, c] = state.x[c]
        s.x[1, c] = state.v[c] / p.rate
        for k in range(2, p.order + 1):
            s.x[k, c] = 0.0


@kernel
def _decide_by_term(p: Problem, state: State, s: Scratch, k: int, i: int) -> int:
    """Decide a mass at its threshold by coefficient k of R, if certain; return 1 if it slips."""
    drive, error = s.drive[k, i], s.root[i]
    bound = p.mu_static[i] * p.normal[i]
    if bound == 0.0:
        # a frictionless mass moves in the direction of any force
        if abs(drive) <= error:
            return 0
        state.side[i] = 1 if drive > 0.0 else -1
    elif k == 0 or abs(drive) <= error:
        return 0
    elif state.side[i] * drive < 0.0:
        s.decision[i] = _STICKS
        return 0
    if jumps(p, i):
        # masses under a law with a jump are released together at the end of the round
        s.decision[i] = _DEFERRED
    else:
        state.mode[i] = state.side[i]
        state.lead[i] = k + 1
        s.decision[i] = _RELEASED
    return 1


@kernel
def _errors_of_term(p: Problem, state: State, s: Scratch, k: int, t: float) -> None:
    """Write coefficient k of R on all masses, and its error bounds to `s.root`."""
    n, omega, x, error = p.mass.size, p.rate, s.x, s.heat
    rate = omega * (k + 1)
    plate = p.plate_speed * t if k == 0 else p.plate_speed / omega if k == 1 else 0.0
    if k == 0:
        for i in range(n):
            size = force_size(p, state.x, state.v, s.load[0], t, i)
            # velocities of masses that slip already are rounded; those at zero slip rate are exact
            if state.mode[i] != 0 and state.lead[i] == 0:
                error[1, i] = THRESHOLD * speed_size(p, state.x, state.v, size, t, i) / omega
    # R_k by the stencil; its error is rounding of the terms plus propagated errors
    for i in range(n):
        c = i + 1
        before, after = max(i - 1, 0), min(i + 1, n - 1)
        k_left, k_right = p.link_k[i], p.link_k[c]
        c_left, c_right = p.link_c[i] * rate, p.link_c[c] * rate
        left = k_left * (x[k, c] - x[k, c - 1]) + c_left * (x[k + 1, c] - x[k + 1, c - 1])
        right = k_right * (x[k, c + 1] - x[k, c]) + c_right * (x[k + 1, c + 1] - x[k + 1, c])
        pull = p.plate_k[i] * (plate - x[k, c])
        s.drive[k, i] = right - left + p.load_vector[i] * s.load[k] + pull
        # magnitude of all terms of the stencil
        size = (k_left + k_right + p.plate_k[i]) * abs(x[k, c])
        size += k_left * abs(x[k, c - 1]) + k_right * abs(x[k, c + 1]) + p.plate_k[i] * abs(plate)
        size += (c_left + c_right) * abs(x[k + 1, c]) + abs(p.load_vector[i] * s.load[k])
        size += c_left * abs(x[k + 1, c - 1]) + c_right * abs(x[k + 1, c + 1])
        # errors of the coefficients of x, passed on by the same stencil
        passed = (k_left + k_right + p.plate_k[i]) * error[k, i]
        passed += k_left * error[k, before] + k_right * error[k, after]
        passed += (c_left + c_right) * error[k + 1, i]
        passed += c_left * error[k + 1, before] + c_right * error[k + 1, after]
        s.root[i] = THRESHOLD * size + passed + abs(p.load_vector[i]) * s.fit[k]


@kernel
def _next_term(p: Problem, state: State, s: Scratch, k: int, t: float) -> None:
    """Write coefficient k + 2 of all displacements and its errors, by m x'' = R - friction."""
    for i in range(p.mass.size):
        if state.mode[i] == 0:
            if p.share_address != 0 and state.lead[i] == 1:
                # the coefficients of the law must be known if the mass slips later
                _weakening_term(p, state.side[i], s, k, i)
            continue
        mode, c = state.mode[i], i + 1
        scale = 1.0 / (p.mass[i] * p.rate * p.rate * (k + 1) * (k + 2))
        term = p.mu_kinetic[i] if k == 0 else 0.0
        if p.share_address != 0:
            _weakening_term(p, mode, s, k, i)
            term += (p.mu_static[i] - p.mu_kinetic[i]) * s.mu[i, k]
        elif p.fitted:
            term = s.mu[i, k] if k < FIT else 0.0
        # known zeros of the slip rate are exact
        if k + 1 < state.lead[i]:
            continue
        s.x[k + 2, c] = (s.drive[k, i] - mode * p.normal[i] * term) * scale
        s.heat[k + 2, i] = (s.root[i] + THRESHOLD * p.normal[i] * abs(term)) * scale


@kernel
def _weakening_term(p: Problem, mode: int, s: Scratch, k: int, i: int) -> None:
    """Write coefficient k of the weakening function e(w) of mass i, for slip of sign `mode`."""
    w = mode * (p.rate * s.x[1, i + 1] - p.belt)
    row = p.law_start + i * p.law_step
    s.mu[i, k] = share_term(p.share_address, k, w, mode * p.rate, s.x, s.mu, i, row)


@kernel
def _load_errors(p: Problem, s: Scratch, t: float, fit_error: float, tau: float) -> None:
    """Write to `s.fit` error bounds of the coefficients of the load.

    A sine loses digits in proportion to its angle. A fit has the relative error `fit_error` on the
    step.
    """
    size, power = 0.0, 1.0
    for k in range(s.load.size):
        s.fit[k] = 0.0
        size += abs(s.load[k]) * power
        power *= tau
    for j in range(p.sine_amplitude.size):
        angle = abs(p.sine_frequency[j] * t) + abs(p.sine_phase[j])
        # rounding of the angle; the terms of the error have the factors of the series
        error = 2e-15 * (1.0 + angle) * abs(p.sine_amplitude[j])
        for k in range(s.fit.size):
            s.fit[k] += error
            error *= abs(p.sine_frequency[j]) / (p.rate * (k + 1))
    # each term of a fitted load may be wrong by this fraction of the load on the step
    if p.load_address != 0:
        power = 1.0
        for k in range(s.fit.size):
            s.fit[k] += fit_error * size / power if power > 0.0 else np.inf
            power *= tau
