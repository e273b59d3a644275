"""Sizes of the states of a flow whose user gave none.

Tolerances are relative to the size of a state, and absolute where it passes zero: there a size
must be known. One is right for most models. For a start whose states are all far from that the
sizes follow from the start and the fields, in a way that gives the same in all units: a state
is as large as it is at the start, or as what it becomes while the largest change comes to the
size of the start.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["sizes_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# states between these are of ordinary size
_SMALL, _LARGE = 1e-3, 1e6
# powers of ten of the time that are looked at
_TIMES = np.arange(-60, 61)
# corners of more surfaces than these are not all looked at
_CORNERS = 3


def sizes_of(
    field: Callable[[Floats, Floats], Floats], start: Floats, states: int, surfaces: int
) -> Floats:
    """Return (n,) the sizes of the states; 1 for a start of ordinary size.

    Parameters
    ----------
    field : returns x' (n,) for a state and the signs
    start : (n,) the start, with the clock, where there is one
    states : how many of them are states; a clock follows

    Verified by: tests/unit/switching/test_model.py::test_sizes_follow_the_units
    """
    one, here = np.ones(start.size), np.abs(start[:states])
    largest = float(here.max())
    if largest == 0.0 or _SMALL <= largest <= _LARGE:
        return one
    corners = [np.ones(surfaces), -np.ones(surfaces)]
    if surfaces <= _CORNERS:
        corners = [np.array(signs) for signs in itertools.product((1.0, -1.0), repeat=surfaces)]
    size, time = np.append(here, np.zeros(start.size - states)), np.inf
    for signs in corners:
        reach, after = _look_ahead(field, start, signs, here)
        size, time = np.maximum(size, reach), min(time, after)
    if np.isfinite(time):
        size[states:] = time
    size = np.where(size > 0.0, size, largest)
    # a guess only takes a start away from one, never past it
    return np.asarray(np.minimum(size, one) if largest < _SMALL else np.maximum(size, one))


def _look_ahead(
    field: Callable[[Floats, Floats], Floats], start: Floats, signs: Floats, here: Floats
) -> tuple[Floats, float]:
    """Return the sizes that states come to, and the time until the first has changed by its own."""
    rate, n = field(start, signs), here.size
    known, before = here > 0.0, (0.0, np.zeros(start.size))
    for power in _TIMES:
        time = 10.0**power
        with np.errstate(all="ignore"):
            try:
                ahead = field(start + time * rate, signs)
            except (ArithmeticError, ValueError):
                # a function may not be defined so far away
                break
            reach = time * np.maximum(np.abs(rate), np.abs(ahead))
        if not np.isfinite(reach).all():
            break
        share = float(np.max(reach[:n][known] / here[known]))
        if share >= 1.0:
            # between two looks it grows like a power of the time
            return _between(before, (time, reach), here, known)
        before = (time, reach)
    return np.zeros(start.size), np.inf


def _between(
    before: tuple[float, Floats], after: tuple[float, Floats], here: Floats, known: Flags
) -> tuple[Floats, float]:
    """Return sizes and time where the largest share of the start is one."""
    (t0, low), (t1, high), n = before, after, here.size
    if t0 == 0.0:
        return np.zeros(low.size), np.inf
    a, b = (float(np.max(row[:n][known] / here[known])) for row in (low, high))
    part = 1.0 if not 0.0 < a < 1.0 <= b or a == b else np.log(1.0 / a) / np.log(b / a)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where((low > 0.0) & (high > 0.0), low * (high / low) ** part, 0.0)
    return grown, float(t0 * (t1 / t0) ** part)
