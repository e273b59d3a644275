"""Ties: masses at rest whose drive equals their bound, and what error forces and speeds have.

A mass at rest slips or sticks as the first term of its drive that leaves the bound says. With
x = sum x_k tau^k the drive's term k needs x_k of the places and x_{k+1} of the dampers, and x_{k+1}
follows from the drives' terms up to k - 1. So terms and decisions alternate, and no decision is
ever taken back: a tied mass adds nothing to a term before its own drive has left the bound, whether
it will slip or stick. With a jump in friction it does, because what lets go is pushed at once; then
the masses that go together are let go, and the others are asked again.
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
    "FROZEN",
    "HELD",
    "OPEN",
    "TIE",
    "decide_ties",
    "force_size",
    "jumps",
    "mark_ties",
    "place",
    "plain_ties",
    "speed_size",
]

# forces this near to a bound, in shares of those that make them up, are at it
TIE = 1e-12
# what a look at the first terms finds of the ties: all stay, some go, or it cannot tell
HELD, GONE, OPEN = 0, 1, 2
# a first term above this share of what makes it up needs no closer look
_CLEAR = 1e-9
# what a tie has been found to do, while all are decided: in s.corner
_STAYS, _WAITS, _WENT = 1, 2, 3
# a mass with this lead is left at rest for an instant, whatever its series says
FROZEN = 99


@kernel
def jumps(p: Problem, i: int) -> bool:
    """Return whether stick carries more than the slowest slip of mass i."""
    return p.jump and p.mu_static[i] * p.normal[i] > p.mu_kinetic[i] * p.normal[i]


@kernel
def force_size(p: Problem, x: Vector, v: Vector, load: float, t: float, i: int) -> float:
    """Return the sum of the sizes of all forces on mass i [N]: what rounding is a share of."""
    c = i + 1
    left = p.link_k[i] * (abs(x[c]) + abs(x[c - 1])) + p.link_c[i] * (abs(v[c]) + abs(v[c - 1]))
    right = p.link_k[c] * (abs(x[c + 1]) + abs(x[c])) + p.link_c[c] * (abs(v[c + 1]) + abs(v[c]))
    plate = p.plate_k[i] * (abs(p.plate_speed * t) + abs(x[c]))
    size: float = left + right + abs(p.share[i] * load) + plate + p.mu_static[i] * p.normal[i]
    return size


@kernel
def speed_size(p: Problem, x: Vector, v: Vector, force: float, t: float, i: int) -> float:
    """Return the speed [m/s] that rounding of the speed of mass i is a share of."""
    since = min(p.response[i], t - p.start)
    size: float = abs(v[i + 1]) + abs(p.belt) + force / p.mass[i] * since
    return size


@kernel
def place(p: Problem, state: State, i: int, drive: float, size: float) -> None:
    """Set the mode of a mass at rest on its surface from its drive; at a tie its lead is 1."""
    bound = p.mu_static[i] * p.normal[i]
    excess = abs(drive) - bound
    state.side[i] = 1 if drive > 0.0 else -1
    if excess > TIE * size:
        state.mode[i] = state.side[i]
        state.lead[i] = 1
    else:
        state.mode[i] = 0
        state.lead[i] = 1 if excess >= -TIE * size else 0


@kernel
def mark_ties(p: Problem, state: State, t: float) -> int:
    """Mark the masses at rest that are at their bound, let go those beyond; count the ties."""
    load, ties = load_at(p, t, state.progress[0].piece), 0
    for i in range(p.mass.size):
        if state.mode[i] != 0:
            continue
        if state.lead[i] == 0:
            drive = drive_of(p, state.x, state.v, load, t, i)
            # sizes are needed near the bound only
            if abs(drive) >= 0.999 * p.mu_static[i] * p.normal[i]:
                place(p, state, i, drive, force_size(p, state.x, state.v, load, t, i))
        ties += state.mode[i] == 0 and state.lead[i] == 1
    return ties


@kernel
def plain_ties(p: Problem, state: State, s: Scratch, count: int, t: float, ties: int) -> int:
    """Decide all ties by the first terms of their drives, if that is all they need.

    The series are those of a step in which the ties stay. Nearly every tie is a single mass that
    a load or a neighbour has pushed to its bound.
    """
    load, seen, goes = load_at(p, t, state.progress[0].piece), 0, 0
    for a in range(count):
        i = s.active[a]
        if state.mode[i] != 0 or state.lead[i] != 1:
            continue
        seen += 1
        goes += state.side[i] * s.drive[1, i] > 0.0
        bound, first = p.mu_static[i] * p.normal[i], abs(s.drive[1, i])
        size = force_size(p, state.x, state.v, load, t, i)
        size += abs(s.load[1] * p.share[i]) + p.plate_k[i] * abs(p.plate_speed) / p.rate
        # (without a jump a mass that goes has no acceleration that a damper could hand on)
        damped = p.jump and ties > 1 and (p.link_c[i] > 0.0 or p.link_c[i + 1] > 0.0)
        if bound == 0.0 or first <= _CLEAR * size or damped or p.slip_after <= t <= p.slip_before:
            return OPEN
    if goes > 0 and seen < ties:
        # one that nothing moves yet may be moved by those that go
        return OPEN
    found = HELD
    for i in range(p.mass.size):
        s.corner[i] = 1 if state.mode[i] == 0 and state.lead[i] == 1 and jumps(p, i) else 0
    for a in range(count):
        i = s.active[a]
        tie = state.mode[i] == 0 and state.lead[i] == 1
        if tie and state.side[i] * s.drive[1, i] > 0.0:
            state.mode[i] = state.side[i]
            state.lead[i] = 1 if jumps(p, i) else 2
            s.corner[i] = 0
            found = GONE
    return found


@kernel(separate=True)
def decide_ties(p: Problem, state: State, s: Scratch, t: float, share: float) -> bool:
    """Decide all ties; return whether a mass was let go.

    A fitted load is right to a `share` of its size.

    A mass that goes gets its mode, and as lead the number of terms of its slip rate that are
    zero. One that stays keeps lead 1; `s.corner` tells whether that was by the rule of a jump.
    """
    now = state.progress[0]
    n, gone = p.mass.size, False
    _load_errors(p, s, t, share, now.tau)
    for i in range(n):
        s.corner[i] = 0
    for _ in range(n + 1):
        left = 0
        now.expansions += 1
        _begin(p, state, s)
        for k in range(p.order - 1):
            _errors_of_term(p, state, s, k, t)
            for i in range(n):
                if state.mode[i] == 0 and state.lead[i] == 1 and s.corner[i] == 0:
                    left += _ask(p, state, s, k, i)
            _next_term(p, state, s, k, t)
        gone = gone or left > 0
        if not _push_off(state, s):
            break
    for i in range(n):
        tie = state.mode[i] == 0 and state.lead[i] == 1
        s.corner[i] = 1 if tie and jumps(p, i) else 0
        if s.corner[i] == 1 and p.slip_after <= t <= p.slip_before:
            state.mode[i] = state.side[i]
            gone = True
    return gone


@kernel
def _push_off(state: State, s: Scratch) -> bool:
    """Let go the masses with a jump that leave; then those without are asked again.

    Return whether any left.
    """
    gone = False
    for i in range(s.corner.size):
        if s.corner[i] == _WAITS:
            state.mode[i] = state.side[i]
            s.corner[i] = 0
            gone = True
    for i in range(s.corner.size):
        if gone and s.corner[i] == _WENT:
            state.mode[i], state.lead[i] = 0, 1
            s.corner[i] = 0
    return gone


@kernel
def _begin(p: Problem, state: State, s: Scratch) -> None:
    """Clear the series; s.heat holds the errors of their terms, s.norm of the drives."""
    n = p.mass.size
    for i in range(n):
        if s.corner[i] == _STAYS:
            # it was held by what the others did; they may do something else now
            s.corner[i] = 0
        for k in range(p.order + 1):
            s.heat[k, i] = 0.0
    for c in range(n + 2):
        s.x[0, c] = state.x[c]
        s.x[1, c] = state.v[c] / p.rate
        for k in range(2, p.order + 1):
            s.x[k, c] = 0.0


@kernel
def _ask(p: Problem, state: State, s: Scratch, k: int, i: int) -> int:
    """Decide a tie by term k of its drive, if it can; return 1 if the mass goes."""
    drive, error = s.drive[k, i], s.root[i]
    bound = p.mu_static[i] * p.normal[i]
    if bound == 0.0:
        # without friction any push moves the mass, whichever way it points
        if abs(drive) <= error:
            return 0
        state.side[i] = 1 if drive > 0.0 else -1
    elif k == 0 or abs(drive) <= error:
        return 0
    elif state.side[i] * drive < 0.0:
        s.corner[i] = _STAYS
        return 0
    if jumps(p, i):
        # it waits for the others of this round: those go together
        s.corner[i] = _WAITS
    else:
        state.mode[i] = state.side[i]
        state.lead[i] = k + 1
        s.corner[i] = _WENT
    return 1


@kernel
def _errors_of_term(p: Problem, state: State, s: Scratch, k: int, t: float) -> None:
    """Write term k of all drives, and to s.root their errors."""
    n, omega, x, error = p.mass.size, p.rate, s.x, s.heat
    rate = omega * (k + 1)
    plate = p.plate_speed * t if k == 0 else p.plate_speed / omega if k == 1 else 0.0
    if k == 0:
        for i in range(n):
            size = force_size(p, state.x, state.v, s.load[0], t, i)
            if state.mode[i] != 0 and state.lead[i] == 0:
                error[1, i] = TIE * speed_size(p, state.x, state.v, size, t, i) / omega
    for i in range(n):
        c = i + 1
        before, after = max(i - 1, 0), min(i + 1, n - 1)
        k_left, k_right = p.link_k[i], p.link_k[c]
        c_left, c_right = p.link_c[i] * rate, p.link_c[c] * rate
        left = k_left * (x[k, c] - x[k, c - 1]) + c_left * (x[k + 1, c] - x[k + 1, c - 1])
        right = k_right * (x[k, c + 1] - x[k, c]) + c_right * (x[k + 1, c + 1] - x[k + 1, c])
        pull = p.plate_k[i] * (plate - x[k, c])
        s.drive[k, i] = right - left + p.share[i] * s.load[k] + pull
        size = (k_left + k_right + p.plate_k[i]) * abs(x[k, c])
        size += k_left * abs(x[k, c - 1]) + k_right * abs(x[k, c + 1]) + p.plate_k[i] * abs(plate)
        size += (c_left + c_right) * abs(x[k + 1, c]) + abs(p.share[i] * s.load[k])
        size += c_left * abs(x[k + 1, c - 1]) + c_right * abs(x[k + 1, c + 1])
        passed = (k_left + k_right + p.plate_k[i]) * error[k, i]
        passed += k_left * error[k, before] + k_right * error[k, after]
        passed += (c_left + c_right) * error[k + 1, i]
        passed += c_left * error[k + 1, before] + c_right * error[k + 1, after]
        s.root[i] = TIE * size + passed + abs(p.share[i]) * s.fit[k]


@kernel
def _next_term(p: Problem, state: State, s: Scratch, k: int, t: float) -> None:
    """Write term k + 2 of all places and of their errors."""
    for i in range(p.mass.size):
        if state.mode[i] == 0:
            if p.share_address != 0 and state.lead[i] == 1:
                # its slip rate is zero so far; the law's terms must be there when it goes
                _share(p, state.side[i], s, k, i)
            continue
        mode, c = state.mode[i], i + 1
        scale = 1.0 / (p.mass[i] * p.rate * p.rate * (k + 1) * (k + 2))
        term = p.mu_kinetic[i] if k == 0 else 0.0
        if p.share_address != 0:
            _share(p, mode, s, k, i)
            term += (p.mu_static[i] - p.mu_kinetic[i]) * s.mu[i, k]
        elif p.fitted:
            term = s.mu[i, k] if k < FIT else 0.0
        if k + 1 < state.lead[i]:
            continue
        s.x[k + 2, c] = (s.drive[k, i] - mode * p.normal[i] * term) * scale
        s.heat[k + 2, i] = (s.root[i] + TIE * p.normal[i] * abs(term)) * scale


@kernel
def _share(p: Problem, mode: int, s: Scratch, k: int, i: int) -> None:
    w = mode * (p.rate * s.x[1, i + 1] - p.belt)
    row = p.law_start + i * p.law_step
    s.mu[i, k] = share_term(p.share_address, k, w, mode * p.rate, s.x, s.mu, i, row)


@kernel
def _load_errors(p: Problem, s: Scratch, t: float, share: float, tau: float) -> None:
    """Write to s.fit the errors of the load's terms.

    Sines lose digits with their angle; a fit is right to a `share` of its size on the step.
    """
    size, power = 0.0, 1.0
    for k in range(s.load.size):
        s.fit[k] = 0.0
        size += abs(s.load[k]) * power
        power *= tau
    for j in range(p.sine_amplitude.size):
        angle = abs(p.sine_frequency[j] * t) + abs(p.sine_phase[j])
        error = 2e-15 * (1.0 + angle) * abs(p.sine_amplitude[j])
        for k in range(s.fit.size):
            s.fit[k] += error
            error *= abs(p.sine_frequency[j]) / (p.rate * (k + 1))
    if p.load_address != 0:
        power = 1.0
        for k in range(s.fit.size):
            s.fit[k] += share * size / power if power > 0.0 else np.inf
            power *= tau
