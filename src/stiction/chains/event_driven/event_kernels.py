"""The first event of a step, and touches of the static bound that are none."""

from __future__ import annotations

import numpy as np

from stiction.chains.event_driven import plain_steps
from stiction.chains.event_driven.root_kernels import leading_zeros, root_from, slip_series
from stiction.chains.event_driven.state import (
    N_TOUCH,
    Events,
    Problem,
    Scratch,
    State,
)
from stiction.numerics.jit import kernel, py_function
from stiction.numerics.locate import horner

__all__ = ["TIE", "first_events"]

# forces this near to a bound, in shares of it, are at it
TIE = 1e-12


def _only_where_needed(
    p: Problem, state: State, s: Scratch, count: int, tau: float, t: float, events: Events
) -> tuple[float, float]:
    """Search only where the size of the series does not exclude an event."""
    s.root[s.active[:count]] = np.inf
    left = plain_steps.may_meet_an_event(p, state, s, count, tau)
    search = py_function(first_events)
    return search(p, state, s._replace(active=left), left.size, tau, t, events)


@kernel(plain=_only_where_needed, borrows=True)
def first_events(
    p: Problem, state: State, s: Scratch, count: int, tau: float, t: float, events: Events
) -> tuple[float, float]:
    """Find the first event in (0, tau]; return its tau and the end of its group.

    s.root keeps each mass's own first root. Roots closer than rounding are one instant.
    """
    first = np.inf
    mode, lead, side, root = state.mode, state.lead, state.side, s.root
    x, poly, drive, work, size = s.x, s.poly, s.drive, s.bernstein, p.order - 1
    for a in range(count):
        i = s.active[a]
        root[i] = np.inf
        if mode[i] != 0:
            length = slip_series(x, poly, i, mode[i], p.order, p.rate, p.belt)
            start = leading_zeros(poly, lead[i], length, tau) if lead[i] > 0 else 0
            root[i] = root_from(poly, work, start, length, tau)
        elif p.mu_static[i] * p.normal[i] > 0.0:
            # (a frictionless mass at rest has no drive at all, or it would have moved)
            bound = p.mu_static[i] * p.normal[i]
            for sign in (1, -1):
                for k in range(size):
                    poly[k] = -sign * drive[k, i]
                start = 0
                if lead[i] > 0 and sign == side[i]:
                    poly[0] = 0.0
                    start = leading_zeros(poly, 1, size, tau)
                    if start < size and poly[start] < 0.0:
                        # only rounding can push outward here; it gets no say in this step
                        continue
                else:
                    poly[0] += bound
                    if p.jump and poly[0] > 0.0:
                        # a touch within rounding is no crossing: the mass keeps sticking
                        poly[0] += bound * TIE
                        beyond = root_from(poly, work, 0, size, tau)
                        if beyond > tau:
                            poly[0] -= bound * TIE
                            _note_touch(p, state, s, i, bound, tau, t, events)
                            continue
                        for k in range(size):
                            poly[k] = -sign * drive[k, i]
                        poly[0] += bound
                root[i] = min(root[i], root_from(poly, work, start, size, tau))
        first = min(first, root[i])
    group = first + 1e-13 * max(1.0, first) + 4e-16 * abs(t) * p.rate
    return first, group


@kernel(borrows=True)
def _note_touch(
    p: Problem, state: State, s: Scratch, i: int, bound: float, tau: float, t: float, events: Events
) -> None:
    """Note a graze: the drive reaches the static bound within 1e-9 and turns back.

    s.poly holds the reserve in units of the step after the search for its root.
    """
    size = p.order - 1
    swing = 0.0
    for k in range(1, size):
        swing += abs(s.poly[k])
    if s.poly[0] - swing > 1e-9 * bound:
        return
    low, at = s.poly[0], 0.0
    for q in range(1, 257):
        value = horner(s.poly, size, q / 256.0)
        if value < low:
            low, at = value, q / 256.0
    left, right = max(at - 1.0 / 256.0, 0.0), min(at + 1.0 / 256.0, 1.0)
    for _ in range(60):
        one, two = left + 0.382 * (right - left), left + 0.618 * (right - left)
        if horner(s.poly, size, one) < horner(s.poly, size, two):
            right = two
        else:
            left = one
    at = 0.5 * (left + right)
    inside = 1e-6 < at < 1.0 - 1e-6
    if inside and horner(s.poly, size, at) <= 1e-9 * bound:
        row = state.counter[N_TOUCH]
        events.touch[row, 0] = t + at * tau / p.rate
        events.touch[row, 1] = i
        state.counter[N_TOUCH] += 1
