"""First downward crossing of zero of a polynomial event function, and grazing before it.

An event function grazes zero at a double root. Rounding turns a double root into two roots or none.
A function that falls below `high` and rises above it again without passing `-low` therefore counts
as grazing, not as a crossing: within its error its sign is unknown. All roots are isolated by
Bernstein coefficients (`numerics.event_localisation`), so that none is missed. The variable runs
from 0 to 1 over the step. `event_kernels` calls `first_downcrossing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["Crossing", "first_downcrossing", "is_certainly_positive", "scaled_terms"]

Floats = npt.NDArray[np.float64]

# passages of the band [-low, high] that are examined in one step; each costs up to five isolations
# of a root. Chosen; order 30 allows 14
_MOST = 8


class Crossing(NamedTuple):
    """The first downward crossing of zero by a polynomial on [0, 1]; each point is NONE if absent.

    Parameters
    ----------
    root : the crossing
    grazing : first grazing before it
    undecided_from : from here to 1 the sign is undecided: the polynomial stays within its error,
        or it has passed the band `_MOST` times and the rest is not examined
    """

    root: float
    grazing: float
    undecided_from: float


@kernel
def scaled_terms(c: Floats, start: int, size: int, tau: float) -> int:
    """Remove a root of order `start` at t = 0, in place, and rescale by t = tau s, s in [0, 1].

    The first `start` coefficients are dropped as zeros, which divides by t^start. Return the number
    of the other coefficients.
    """
    power = 1.0
    for k in range(start, size):
        c[k - start] = c[k] * power
        power *= tau
    return size - start


@kernel
def is_certainly_positive(c: Floats, count: int) -> bool:
    """Return whether c[0] > sum |c[k]|, which suffices for a positive polynomial on [0, 1]."""
    swing = 0.0
    for k in range(1, count):
        swing += abs(c[k])
    clear: bool = c[0] > swing
    return clear


@kernel
def first_downcrossing(
    c: Floats, count: int, work: Floats, low: float, high: float, above: bool
) -> Crossing:
    """Return the first downward crossing of zero on [0, 1], and a grazing before it.

    Parameters
    ----------
    c : (>= count,) coefficients of the polynomial p by rising power
    count : number of coefficients
    work : (>= DEPTH + 1, >= count + 2) scratch space
    low, high : error bounds, > 0: below -low p has certainly crossed zero, above high it is
        certainly positive
    above : whether p was above `high` before 0; read only if it starts at or below `high`

    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_roots_and_grazing
    """
    first, enters = c[0], 0.0
    if first < -low:
        return Crossing(0.0, NONE, NONE)
    if first > high:
        c[0] = first - high
        enters = first_root(c, count, work)
        c[0] = first
        if enters == NONE:
            return Crossing(NONE, NONE, NONE)
    # value and slope where p enters the band [-low, high] (Horner), and a bound of |p''| on [0, 1]
    value, slope, bend = 0.0, 0.0, 0.0
    for k in range(count - 1, -1, -1):
        slope = slope * enters + value
        value = value * enters + c[k]
        bend += k * (k - 1) * abs(c[k])
    if slope < 0.0 and slope * slope > 2.0 * bend * (low + max(value, high)):
        # Taylor bound: p falls by slope^2 / (2 bend) before it can turn, hence below -low. If the
        # step ends before that, p still falls there, and the next step finds the crossing
        return Crossing(first_root(c, count, work) if first > 0.0 else 0.0, NONE, NONE)
    return _near_double(c, count, work, low, high, enters, above)


@kernel(allocates=True)
def _near_double(
    c: Floats, count: int, work: Floats, low: float, high: float, at: float, above: bool
) -> Crossing:
    """Return the result of `first_downcrossing` near a double root.

    The polynomial enters the band [-low, high] at `at` with a slope so small that it may turn back.
    """
    # p expanded about `at`; the same with the rest of the step rescaled to [0, 1]; a quotient of it
    about, rest, quotient = c[:count].copy(), np.empty(count), np.empty(count)
    _shift(about, count, at)
    # a polynomial that starts above the band enters it through `high`
    entered = at > 0.0
    above = above or entered
    grazing, has_left = NONE, False
    for _ in range(_MOST):
        remaining = 1.0 - at
        if remaining <= 0.0:
            return Crossing(NONE, grazing, at)
        _rescale(about, rest, count, remaining)
        first = rest[0]
        rest[0] = first + low
        passes_low = first_root(rest, count, work) if rest[0] > 0.0 else 0.0
        rest[0] = first
        leaves_high = _first_upcrossing(rest, quotient, count, work, high, entered)
        # it stays in the band up to the end of the step
        if passes_low == NONE and leaves_high == NONE:
            return Crossing(NONE, grazing, at)
        # it passes -low first: a crossing, whose root lies at or before `passes_low`
        if passes_low < leaves_high:
            if not has_left and c[0] > 0.0:
                return Crossing(first_root(c, count, work), grazing, NONE)
            root = first_root(rest, count, work) if first > 0.0 else 0.0
            return Crossing(at + remaining * min(root, passes_low), grazing, NONE)
        # it came from above and returns: a grazing at its minimum. Only the first one counts
        if above and grazing == NONE:
            minimum = _first_minimum(rest, quotient, count, work)
            grazing = at + remaining * min(minimum, leaves_high)
        _shift(about, count, leaves_high * remaining)
        at += leaves_high * remaining
        has_left = True
        remaining = 1.0 - at
        if remaining <= 0.0:
            return Crossing(NONE, grazing, NONE)
        # deflate the root at `at`: the quotient has the later entries into the band
        _rescale(about, rest, count, remaining)
        for k in range(count - 1):
            quotient[k] = rest[k + 1]
        next_entry = first_root(quotient, count - 1, work) if quotient[0] > 0.0 else NONE
        if next_entry == NONE:
            return Crossing(NONE, grazing, NONE)
        _shift(about, count, next_entry * remaining)
        at += next_entry * remaining
        entered = above = True
    return Crossing(NONE, grazing, at)


@kernel
def _first_upcrossing(
    c: Floats, quotient: Floats, count: int, work: Floats, high: float, entered: bool
) -> float:
    """Return the first upward crossing of `high` by a polynomial that starts at or below it.

    c : (count,) coefficients on [0, 1]; `quotient` and `work` are work arrays
    entered : whether the polynomial equals `high` at 0 and falls
    """
    if entered:
        # it enters through `high` at 0: deflate this root of the difference
        for k in range(count - 1):
            quotient[k] = -c[k + 1]
        return first_root(quotient, count - 1, work) if quotient[0] > 0.0 else 0.0
    for k in range(count):
        quotient[k] = -c[k]
    quotient[0] += high
    return first_root(quotient, count, work) if quotient[0] > 0.0 else 0.0


@kernel
def _first_minimum(c: Floats, derivative: Floats, count: int, work: Floats) -> float:
    """Return the first local minimum of a polynomial; 0 if it rises at 0.

    c : (count,) coefficients on [0, 1]; `derivative` and `work` are work arrays
    """
    for k in range(count - 1):
        derivative[k] = -(k + 1) * c[k + 1]
    return first_root(derivative, count - 1, work) if derivative[0] > 0.0 else 0.0


@kernel
def _shift(c: Floats, count: int, by: float) -> None:
    """Expand a polynomial about `by` instead of 0 (Horner)."""
    for i in range(count - 1):
        for k in range(count - 2, i - 1, -1):
            c[k] += by * c[k + 1]


@kernel
def _rescale(c: Floats, rescaled: Floats, count: int, width: float) -> None:
    """Write a polynomial with its variable rescaled so that [0, width] becomes [0, 1]."""
    power = 1.0
    for k in range(count):
        rescaled[k] = c[k] * power
        power *= width
