"""Orbits of doubled period, which branch off at a flip: their halves, and the flip itself.

Towards the flip the halves of the orbit become equal. The parameter has an extremum there, because
on both sides the branch holds the same orbits with their halves exchanged.

An orbit is given by its states (k, n) at k nodes; n is the number of states. At a flip a Floquet
multiplier of the orbit of half the period is -1.

Source: Kuznetsov 2004, section 5.3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.errors import ModelError, SolveError
from stiction.studies.cycles.bifurcations import TESTS, verified
from stiction.studies.cycles.cycle import Cycle, find_cycle, part_of, states_at

__all__ = ["flip_of_half", "halves_apart"]

Floats = npt.NDArray[np.float64]

# number of states by which the halves are compared
_SAMPLES = 8
# the secant method starts with this relative difference of the parameter, and ends after the number
# of iterations, or at this relative change
_APART, _MOST_SECANTS, _SETTLED = 1e-6, 12, 1e-13


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
        half = part_of(cycle, 2)
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
