"""Event localisation within one step: the first root of all event functions, and grazings.

Slip of mass i ends at a root of its slip rate; stick ends at a root of its reserve mu_s N_i -+ R_i,
with R_i the sum of all forces but friction. Both are polynomials in tau = rate (t - t0), the scaled
time in the step (`root_kernels`). Roots closer than rounding belong to one instant and are applied
together. Grazing (a double root) is no event except under a law with a jump (mu_s > mu(0+)). There
the mass sticks by the stick rule, unless a policy lets it slip (`docs/decisions/07`).

Arguments: p, `state` and s are the tuples `Problem`, `State` and `Scratch` of `state`; t [s] is the
start t0 of the step, `tau` its length in scaled time. Row k of `s.drive` (orders, n) has the
coefficients of tau^k of all R_i [N]; `s.poly` has those of the event function of one mass. After an
event of mass i the first `state.lead[i]` coefficients of its event function are zero, because the
function vanishes at the event. `state.side[i]` is the sign of the stick force; `state.band[i]` is 1
while the event function is within its error. The caller is `step_kernels`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.grazing_kernels import (
    first_downcrossing,
    is_certainly_positive,
    scaled_terms,
)
from stiction.chains.event_driven.root_kernels import leading_zeros, slip_series
from stiction.chains.event_driven.series_kernels import load_at
from stiction.chains.event_driven.state import (
    Problem,
    Scratch,
    State,
)
from stiction.chains.event_driven.threshold_kernels import THRESHOLD, force_size, jumps, speed_size
from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["first_events"]

Floats = npt.NDArray[np.float64]

# rounding of a slip rate, as a fraction of the speeds and forces that compose it: some 130
# roundings, for series of order 30 with several terms in each order
_ROUNDING = 3e-14
# under a law with a jump, a drive within this fraction of its static bound is recorded as grazing.
# Chosen, above the error of a run
_GRAZING_DISTANCE = 1e-9
# a slip rate below zero for this long, in tau, exceeds rounding. Chosen
_LONG = 0.1


@kernel
def first_events(
    p: Problem, state: State, s: Scratch, count: int, tau: float, t: float
) -> tuple[float, float]:
    """Return tau of the first event in (0, tau], and tau up to which roots are simultaneous.

    Sets for each mass, in tau and infinite if absent: `s.root` its first event, `s.grazing` a
    grazing before it, `s.undecided_from` the point from which its event function stays within its
    error. `count` is the number of entries of `s.active`.
    """
    first = np.inf
    mode, root, grazing, undecided = state.mode, s.root, s.grazing, s.undecided_from
    drive, size, lead, poly, x = s.drive, p.order - 1, state.lead, s.poly, s.x
    order, rate, belt = p.order, p.rate, p.belt
    for a in range(count):
        i = s.active[a]
        root[i] = grazing[i] = undecided[i] = np.inf
        if mode[i] != 0:
            # a sufficient test excludes most masses first. These kernels receive single arrays,
            # because passing whole tuples costs more time
            length = slip_series(x, poly, i, mode[i], order, rate, belt)
            if lead[i] > 0 or not _is_certainly_positive(poly, length, tau):
                _stop_of(p, state, s, i, tau, t)
        elif p.mu_static[i] * p.normal[i] > 0.0:
            # stick: sum |R_k| tau^k < bound - |R_0| excludes an event. Without friction a mass
            # sticks only if R = 0
            bound = p.mu_static[i] * p.normal[i]
            swing, power = 0.0, 1.0
            for k in range(1, size):
                power *= tau
                swing += abs(drive[k, i] * power)
            if lead[i] != 0 or bound - abs(drive[0, i]) <= swing:
                _release_of(p, state, s, i, 1, tau, t)
                _release_of(p, state, s, i, -1, tau, t)
        first = min(first, root[i])
    # roots closer than rounding of tau and of t belong to one instant
    group = first + 1e-13 * max(1.0, first) + 4e-16 * abs(t) * p.rate
    return first, group


@kernel
def _is_certainly_positive(c: Floats, size: int, tau: float) -> bool:
    """Return whether c[0] > sum |c[k]| tau^k, which suffices for a polynomial positive to tau."""
    swing, power = 0.0, 1.0
    for k in range(1, size):
        power *= tau
        swing += abs(c[k] * power)
    clear: bool = c[0] > swing
    return clear


@kernel
def _stop_of(p: Problem, state: State, s: Scratch, i: int, tau: float, t: float) -> None:
    """Locate the stop of a slipping mass: the first downward crossing of its slip rate."""
    poly, lead = s.poly, state.lead[i]
    size = slip_series(s.x, poly, i, state.mode[i], p.order, p.rate, p.belt)
    if lead > 0 and poly[lead] <= 0.0:
        # a fitted force may contradict the decision of slip; coefficients below rounding are
        # skipped
        lead = leading_zeros(poly, lead, size, tau)
        if lead == size:
            return
    # divide by tau^lead: the root at the start of the step is no event
    size = scaled_terms(poly, lead, size, tau)
    if lead > 0 and is_certainly_positive(poly, size):
        return
    load = load_at(p, t, state.progress[0].piece)
    force = force_size(p, state.x, state.v, load, t, i)
    # error of the slip rate: rounding of velocities and of time
    low = _ROUNDING * speed_size(p, state.x, state.v, force, t + tau / p.rate, i)
    low += 4e-16 * abs(t) * p.rate * _total(poly, size)
    _localise(s, i, size, tau, low, low, state.band[i] == 1 or (lead == 0 and poly[1] < 0.0))
    # the slip rate stays within its error, and is not positive at either end of a long step: the
    # mass has stopped
    if s.undecided_from[i] == 0.0 and lead == 0 and tau >= _LONG:
        after = 0.0
        for k in range(size):
            after += poly[k]
        if poly[0] <= 0.0 and after <= 0.0:
            s.root[i], s.undecided_from[i] = 0.0, np.inf
    # under a law with a jump a grazing slip rate stops the mass, unless a policy lets it slip
    if s.grazing[i] < np.inf and jumps(p, i):
        now = t + s.grazing[i] / p.rate
        if not p.slip_after <= now <= p.slip_before:
            s.root[i] = s.grazing[i]


@kernel
def _release_of(
    p: Problem, state: State, s: Scratch, i: int, sign: int, tau: float, t: float
) -> None:
    """Locate the release of a stuck mass in one direction: the first root of its reserve."""
    poly, count, bound, lead = s.poly, p.order - 1, p.mu_static[i] * p.normal[i], 0
    # reserve mu_s N -+ R in direction `sign`
    for k in range(count):
        poly[k] = -sign * s.drive[k, i]
    if state.lead[i] > 0 and sign == state.side[i]:
        poly[0] = 0.0
        lead = leading_zeros(poly, 1, count, tau)
        if lead == count:
            return
        if poly[lead] < 0.0:
            # the mass sticks until its drive exceeds the bound by more than rounding
            scaled_terms(poly, 0, count, tau)
            poly[0] = THRESHOLD * bound
            root = first_root(poly, count, s.bernstein)
            s.root[i] = min(s.root[i], np.inf if root == NONE else root * tau)
            return
    else:
        poly[0] += bound
    size = scaled_terms(poly, lead, count, tau)
    if is_certainly_positive(poly, size):
        return
    load = load_at(p, t, state.progress[0].piece)
    force = force_size(p, state.x, state.v, load, t, i)
    # error of the reserve
    low = THRESHOLD * bound + _ROUNDING * force
    high = max(low, _GRAZING_DISTANCE * bound) if jumps(p, i) else low
    before = s.root[i]
    _localise(s, i, size, tau, low, high, state.band[i] == 1 or (lead == 0 and poly[1] < 0.0))
    # a policy may release the mass where its drive grazes the bound
    if s.grazing[i] < np.inf and jumps(p, i):
        now = t + s.grazing[i] / p.rate
        if p.slip_after <= now <= p.slip_before:
            s.root[i] = min(s.root[i], s.grazing[i])
    s.root[i] = min(s.root[i], before)


@kernel
def _localise(
    s: Scratch, i: int, size: int, tau: float, low: float, high: float, above: bool
) -> None:
    """Write tau of the downward crossing of `s.poly`, of a grazing, and of the undecided part.

    low, high, above : as in `grazing_kernels.first_downcrossing`
    """
    crossing = first_downcrossing(s.poly, size, s.bernstein, low, high, above)
    s.root[i] = np.inf if crossing.root == NONE else crossing.root * tau
    if crossing.grazing != NONE:
        s.grazing[i] = crossing.grazing * tau
        s.length[i] = _undecided_time(s.poly, size, crossing.grazing, low) * tau
    if crossing.undecided_from != NONE:
        s.undecided_from[i] = crossing.undecided_from * tau


@kernel
def _undecided_time(c: Floats, size: int, at: float, low: float) -> float:
    """Return half the time, in tau, between the two roots of a grazing parabola of depth `low`."""
    bend, power = 0.0, 1.0
    for k in range(2, size):
        bend += k * (k - 1) * c[k] * power
        power *= at
    return (2.0 * low / bend) ** 0.5 if bend > 0.0 else np.inf


@kernel
def _total(c: Floats, size: int) -> float:
    """Return the sum of |c[k]|."""
    total = 0.0
    for k in range(size):
        total += abs(c[k])
    return total
