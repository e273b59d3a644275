"""The first event of a step, and touches that are none."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.chains.event_driven.grazing_kernels import fall, is_clear, spread
from stiction.chains.event_driven.root_kernels import leading_zeros, slip_series
from stiction.chains.event_driven.series_kernels import load_at
from stiction.chains.event_driven.state import (
    Problem,
    Scratch,
    State,
)
from stiction.chains.event_driven.threshold_kernels import TIE, force_size, jumps, speed_size
from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["first_events"]

Floats = npt.NDArray[np.float64]

# what rounding leaves of a slip rate, in shares of the speeds and forces that make it up
_ROUNDING = 3e-14
# a drive that comes this near to a static bound with a jump is told, in shares of the bound
_TOLD = 1e-9
# a slip rate below zero for so long, in tau, is no rounding
_LONG = 0.1


@kernel
def first_events(
    p: Problem, state: State, s: Scratch, count: int, tau: float, t: float
) -> tuple[float, float]:
    """Find the first event in (0, tau]; return its tau and the end of its group.

    s.root, s.touch and s.open keep tau of each mass's own first event, of a touch before it, and
    from where on it is within its error. Roots closer than rounding are one instant.
    """
    first = np.inf
    mode, root, touch, left_open = state.mode, s.root, s.touch, s.open
    drive, size, lead, poly, x = s.drive, p.order - 1, state.lead, s.poly, s.x
    order, rate, belt = p.order, p.rate, p.belt
    for a in range(count):
        i = s.active[a]
        root[i] = touch[i] = left_open[i] = np.inf
        if mode[i] != 0:
            # arrays, not tuples, are handed on while sizes alone may exclude an event
            length = slip_series(x, poly, i, mode[i], order, rate, belt)
            if lead[i] > 0 or not _stays_clear(poly, length, tau):
                _stop_of(p, state, s, i, tau, t)
        elif p.mu_static[i] * p.normal[i] > 0.0:
            # (a frictionless mass at rest has no drive at all, or it would have moved)
            bound = p.mu_static[i] * p.normal[i]
            swing, power = 0.0, 1.0
            for k in range(1, size):
                power *= tau
                swing += abs(drive[k, i] * power)
            if lead[i] != 0 or bound - abs(drive[0, i]) <= swing:
                _release_of(p, state, s, i, 1, tau, t)
                _release_of(p, state, s, i, -1, tau, t)
        first = min(first, root[i])
    group = first + 1e-13 * max(1.0, first) + 4e-16 * abs(t) * p.rate
    return first, group


@kernel
def _stays_clear(c: Floats, size: int, tau: float) -> bool:
    """Return whether the sizes of the terms alone keep a polynomial above zero up to tau."""
    swing, power = 0.0, 1.0
    for k in range(1, size):
        power *= tau
        swing += abs(c[k] * power)
    clear: bool = c[0] > swing
    return clear


@kernel
def _stop_of(p: Problem, state: State, s: Scratch, i: int, tau: float, t: float) -> None:
    """Find when the slip rate of a moving mass falls to zero."""
    poly, lead = s.poly, state.lead[i]
    size = slip_series(s.x, poly, i, state.mode[i], p.order, p.rate, p.belt)
    if lead > 0 and poly[lead] <= 0.0:
        # a fitted force may contradict what was decided; its small terms have no say
        lead = leading_zeros(poly, lead, size, tau)
        if lead == size:
            return
    size = spread(poly, lead, size, tau)
    if lead > 0 and is_clear(poly, size):
        return
    load = load_at(p, t, state.progress[0].piece)
    force = force_size(p, state.x, state.v, load, t, i)
    low = _ROUNDING * speed_size(p, state.x, state.v, force, t + tau / p.rate, i)
    low += 4e-16 * abs(t) * p.rate * _total(poly, size)
    _meet(s, i, size, tau, low, low, state.band[i] == 1 or (lead == 0 and poly[1] < 0.0))
    if s.open[i] == 0.0 and lead == 0 and tau >= _LONG:
        after = 0.0
        for k in range(size):
            after += poly[k]
        if poly[0] <= 0.0 and after <= 0.0:
            s.root[i], s.open[i] = 0.0, np.inf
    if s.touch[i] < np.inf and jumps(p, i):
        now = t + s.touch[i] / p.rate
        if not p.slip_after <= now <= p.slip_before:
            s.root[i] = s.touch[i]


@kernel
def _release_of(
    p: Problem, state: State, s: Scratch, i: int, sign: int, tau: float, t: float
) -> None:
    """Find when the reserve of a mass at rest falls to zero on one side."""
    poly, count, bound, lead = s.poly, p.order - 1, p.mu_static[i] * p.normal[i], 0
    for k in range(count):
        poly[k] = -sign * s.drive[k, i]
    if state.lead[i] > 0 and sign == state.side[i]:
        poly[0] = 0.0
        lead = leading_zeros(poly, 1, count, tau)
        if lead == count:
            return
        if poly[lead] < 0.0:
            # within rounding it stays, so that rounding has no say before it adds up
            spread(poly, 0, count, tau)
            poly[0] = TIE * bound
            root = first_root(poly, count, s.bernstein)
            s.root[i] = min(s.root[i], np.inf if root == NONE else root * tau)
            return
    else:
        poly[0] += bound
    size = spread(poly, lead, count, tau)
    if is_clear(poly, size):
        return
    load = load_at(p, t, state.progress[0].piece)
    force = force_size(p, state.x, state.v, load, t, i)
    low = TIE * bound + _ROUNDING * force
    high = max(low, _TOLD * bound) if jumps(p, i) else low
    before = s.root[i]
    _meet(s, i, size, tau, low, high, state.band[i] == 1 or (lead == 0 and poly[1] < 0.0))
    if s.touch[i] < np.inf and jumps(p, i):
        now = t + s.touch[i] / p.rate
        if p.slip_after <= now <= p.slip_before:
            s.root[i] = min(s.root[i], s.touch[i])
    s.root[i] = min(s.root[i], before)


@kernel
def _meet(s: Scratch, i: int, size: int, tau: float, low: float, high: float, above: bool) -> None:
    """Write in tau where s.poly falls through zero, touches it, and is left open."""
    root, touch, left_open = fall(s.poly, size, s.bernstein, low, high, above)
    s.root[i] = np.inf if root == NONE else root * tau
    if touch != NONE:
        s.touch[i] = touch * tau
        s.length[i] = _how_long(s.poly, size, touch, low) * tau
    if left_open != NONE:
        s.open[i] = left_open * tau


@kernel
def _how_long(c: Floats, size: int, at: float, low: float) -> float:
    """Return the half length of the time in which a touch may be a pair of roots `low` deep."""
    bend, power = 0.0, 1.0
    for k in range(2, size):
        bend += k * (k - 1) * c[k] * power
        power *= at
    return (2.0 * low / bend) ** 0.5 if bend > 0.0 else np.inf


@kernel
def _total(c: Floats, size: int) -> float:
    total = 0.0
    for k in range(size):
        total += abs(c[k])
    return total
