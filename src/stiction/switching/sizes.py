"""Default scales of the states of a flow, for absolute tolerances and differences.

The scale of each state is 1 for most models. If the largest initial state is very small or very
large, the scales are estimated from the initial state x0 and the field x' = f(x), in any units. For
growing times t the change of each state is estimated by

    c(t) = t max(|f(x0)|, |f(x0 + t f(x0))|),

up to the time t* at which some state that is not zero has changed by its own size,
max c_i(t*) / |x0_i| = 1. The scale of a state is the larger of |x0_i| and c_i(t*), and the scale of
the clock is t*. The field depends on the signs of the switching functions: the largest change and
the shortest time over all combinations of signs count. `PiecewiseSmooth` calls `sizes_of`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["sizes_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# a largest initial state in this range gives scale 1
_SMALL, _LARGE = 1e-3, 1e6
# powers of ten of the trial times
_TIMES = np.arange(-60, 61)
# with more surfaces only the combinations of equal signs are evaluated
_MOST_SURFACES = 3


def sizes_of(
    field: Callable[[Floats, Floats], Floats], start: Floats, states: int, surfaces: int
) -> Floats:
    """Return (n,) the scales of the states; 1 for an initial state of ordinary size.

    Parameters
    ----------
    field : returns x' (n,) for a state and the signs of h
    start : (n,) the initial state, with the clock, if there is one
    states : number of states without the clock
    surfaces : number of switching functions

    Verified by: tests/unit/switching/test_model.py::test_sizes_follow_the_units
    """
    one, magnitudes = np.ones(start.size), np.abs(start[:states])
    largest = float(magnitudes.max())
    if largest == 0.0 or _SMALL <= largest <= _LARGE:
        return one
    regions = [np.ones(surfaces), -np.ones(surfaces)]
    if surfaces <= _MOST_SURFACES:
        regions = [np.array(signs) for signs in itertools.product((1.0, -1.0), repeat=surfaces)]
    size, time = np.append(magnitudes, np.zeros(start.size - states)), np.inf
    for signs in regions:
        reach, after = _sizes_after(field, start, signs, magnitudes)
        size, time = np.maximum(size, reach), min(time, after)
    if np.isfinite(time):
        size[states:] = time
    size = np.where(size > 0.0, size, largest)
    # small states have scales of at most 1, large states of at least 1
    return np.asarray(np.minimum(size, one) if largest < _SMALL else np.maximum(size, one))


def _sizes_after(
    field: Callable[[Floats, Floats], Floats], start: Floats, signs: Floats, magnitudes: Floats
) -> tuple[Floats, float]:
    """Return the changes c(t*) of the states, and t*; zeros and infinity if there is no t*."""
    rate, n = field(start, signs), magnitudes.size
    known, before = magnitudes > 0.0, (0.0, np.zeros(start.size))
    for power in _TIMES:
        time = 10.0**power
        with np.errstate(all="ignore"):
            try:
                later_rate = field(start + time * rate, signs)
            except (ArithmeticError, ValueError):
                # the function may not be defined at so late a time
                break
            reach = time * np.maximum(np.abs(rate), np.abs(later_rate))
        if not np.isfinite(reach).all():
            break
        growth = float(np.max(reach[:n][known] / magnitudes[known]))
        if growth >= 1.0:
            # interpolate by a power law between two trial times
            return _between(before, (time, reach), magnitudes, known)
        before = (time, reach)
    return np.zeros(start.size), np.inf


def _between(
    before: tuple[float, Floats], after: tuple[float, Floats], magnitudes: Floats, known: Flags
) -> tuple[Floats, float]:
    """Return c(t*) and t*, interpolated by power laws between two trial times.

    before, after : (t, c(t)) at both times
    known : which states are not zero at the start
    """
    (t0, low), (t1, high), n = before, after, magnitudes.size
    if t0 == 0.0:
        return np.zeros(low.size), np.inf
    a, b = (float(np.max(sizes[:n][known] / magnitudes[known])) for sizes in (low, high))
    part = 1.0 if not 0.0 < a < 1.0 <= b or a == b else np.log(1.0 / a) / np.log(b / a)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where((low > 0.0) & (high > 0.0), low * (high / low) ** part, 0.0)
    return grown, float(t0 * (t1 / t0) ** part)
