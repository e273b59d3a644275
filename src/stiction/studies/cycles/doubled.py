"""Orbits of doubled period, which branch off at a flip: their halves, and the flip itself.

Towards the flip the halves of the orbit become equal. The parameter has an extremum there, because
on both sides the branch holds the same orbits with their halves exchanged.

Source: Kuznetsov 2004, section 5.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError
from stiction.studies.cycles.bifurcations import TESTS, verified
from stiction.studies.cycles.cycle import Cycle, around, find_cycle, solved
from stiction.studies.cycles.shooting import nodes_between

__all__ = ["flip_of_half", "halves_apart", "states_at"]

Floats = npt.NDArray[np.float64]

# number of states by which the halves are compared
_SAMPLES = 8
# the secant method starts with this relative difference of the parameter, and ends after the number
# of iterations, or at this relative change
_APART, _MOST_SECANTS, _SETTLED = 1e-6, 12, 1e-13


def states_at(cycle: Cycle, fractions: Floats) -> Floats:
    """Return (k, n) states of an orbit at fractions of its period."""
    base, period, found = cycle.fractions, cycle.period, []
    for fraction in fractions:
        at = base[0] + (fraction - base[0]) % 1.0
        k = min(int(np.searchsorted(base, at, side="right")), len(base) - 1) - 1
        zero = base[k] if cycle.autonomous else 0.0
        span = (float(base[k] - zero) * period, float(at - zero) * period)
        state = cycle.nodes[k]
        if span[1] > span[0] + 1e-9 * period:
            state = cycle.system.at_state(state).tangents(cycle.method, span, ()).final
        found.append(state)
    return np.array(found)


def halves_apart(cycle: Cycle) -> Floats:
    """Return (k, n) the differences of the states of an orbit half a period apart."""
    fractions = cycle.fractions[0] + 0.5 * np.arange(_SAMPLES) / _SAMPLES
    return states_at(cycle, fractions) - states_at(cycle, fractions + 0.5)


def flip_of_half(cycle: Cycle, parameter: str) -> Cycle | None:
    """Return the orbit of half the period at its flip, near an orbit whose halves are almost equal.

    None if there is none. The flip is located by the secant method on the test function.

    Verified by: tests/exact/test_cycle_branches.py::test_a_branch_of_doubled_period_ends
    """
    test = TESTS["flip"]
    try:
        half = _half_of(cycle)
        before, at_before = float(half.system.parameter(parameter)), test(half)
        value = before + _APART * max(abs(before), _APART)
        for _ in range(_MOST_SECANTS):
            half = find_cycle(half.system.with_parameter(parameter, value), half)
            now, change = test(half), value - before
            if abs(change) <= _SETTLED * abs(value) or now == at_before:
                break
            before, at_before, value = value, now, value - now * change / (now - at_before)
    except (ModelError, SolveError, np.linalg.LinAlgError):
        return None
    return half if verified("flip", half) else None


def _half_of(cycle: Cycle) -> Cycle:
    """Return the orbit of half the period near an orbit whose halves are almost equal."""
    # the events of the second half are those of the first one
    events = cycle.events[: len(cycle.events) // 2]
    times = [(2.0 * event.time / cycle.period) % 1.0 for event in events]
    fractions = nodes_between(times, len(cycle.nodes))
    first, second = (states_at(cycle, 0.5 * fractions[:-1] + shift) for shift in (0.0, 0.5))
    force: Any = cycle.force_period
    if callable(force):
        period: Any = lambda system: 0.5 * force(system)  # noqa: E731
    else:
        period = None if force is None else 0.5 * force
    nodes = 0.5 * (first + second)
    problem, u = around(cycle.system, cycle.method, fractions, nodes, period, 0.5 * cycle.period)
    return solved(problem, u)
