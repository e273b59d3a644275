"""Where a polynomial falls through zero, and where it only touches zero within its error.

A double root is two roots or none, whichever way the last digit falls. A polynomial that comes
down to `high` and goes up again before it has passed `-low`, twice the error apart, touches: what
it did between is not known, and is no event by itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["fall", "is_clear", "spread"]

Floats = npt.NDArray[np.float64]

# touches that are looked at in one step
_MOST = 8


@kernel
def spread(c: Floats, start: int, size: int, tau: float) -> int:
    """Write the terms from `start` on, over tau^start, in shares of a step; return how many."""
    power = 1.0
    for k in range(start, size):
        c[k - start] = c[k] * power
        power *= tau
    return size - start


@kernel
def is_clear(c: Floats, count: int) -> bool:
    """Return whether the sizes of the terms alone keep a polynomial above zero on [0, 1]."""
    swing = 0.0
    for k in range(1, count):
        swing += abs(c[k])
    clear: bool = c[0] > swing
    return clear


@kernel
def fall(
    c: Floats, count: int, work: Floats, low: float, high: float, above: bool
) -> tuple[float, float, float]:
    """Return where a polynomial on [0, 1] falls through zero, where it touched, where it is open.

    Each is NONE where there is none. A touch comes before the fall. The polynomial is left
    open where it is within its error from there to the end.

    Parameters
    ----------
    c : (>= count,) coefficients by rising power
    count : number of coefficients
    work : (>= DEPTH + 1, >= count + 2) scratch space
    low, high : it has fallen below -low, and is away from zero above high; both > 0
    above : whether it was above `high` before 0, should it begin below

    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_roots_and_touches
    """
    first, enters = c[0], 0.0
    if first < -low:
        return 0.0, NONE, NONE
    if first > high:
        c[0] = first - high
        enters = first_root(c, count, work)
        c[0] = first
        if enters == NONE:
            return NONE, NONE, NONE
    value, slope, bend = 0.0, 0.0, 0.0
    for k in range(count - 1, -1, -1):
        slope = slope * enters + value
        value = value * enters + c[k]
        bend += k * (k - 1) * abs(c[k])
    if slope < 0.0 and slope * slope > 2.0 * bend * (low + max(value, high)):
        # so steep that no bend turns it before -low
        return first_root(c, count, work) if first > 0.0 else 0.0, NONE, NONE
    return _near_double(c, count, work, low, high, enters, above)


@kernel(allocates=True)
def _near_double(
    c: Floats, count: int, work: Floats, low: float, high: float, at: float, above: bool
) -> tuple[float, float, float]:
    """Do as `fall` where the polynomial comes within `high` of zero at `at` with a small slope."""
    g, h, d = c[:count].copy(), np.empty(count), np.empty(count)
    entered = at > 0.0
    above = above or entered
    _shift(g, count, at)
    touch = NONE
    for _ in range(_MOST):
        rest = 1.0 - at
        if rest <= 0.0:
            return NONE, touch, at
        _stretch(g, h, count, rest)
        first = h[0]
        h[0] = first + low
        down = first_root(h, count, work) if h[0] > 0.0 else 0.0
        h[0] = first
        up = _way_up(h, d, count, work, high, entered)
        if down == NONE and up == NONE:
            return NONE, touch, at
        if down < up:
            if touch == NONE and c[0] > 0.0:
                return first_root(c, count, work), touch, NONE
            root = first_root(h, count, work) if first > 0.0 else 0.0
            return at + rest * min(root, down), touch, NONE
        if above and touch == NONE:
            touch = at + rest * min(_lowest(h, d, count, work), up)
        _shift(g, count, up * rest)
        at += up * rest
        rest = 1.0 - at
        if rest <= 0.0:
            return NONE, touch, NONE
        # what is left above `high`, over the way from here, where it is zero
        _stretch(g, h, count, rest)
        for k in range(count - 1):
            d[k] = h[k + 1]
        again = first_root(d, count - 1, work) if d[0] > 0.0 else NONE
        if again == NONE:
            return NONE, touch, NONE
        _shift(g, count, again * rest)
        at += again * rest
        entered = above = True
    return NONE, touch, at


@kernel
def _way_up(h: Floats, d: Floats, count: int, work: Floats, high: float, entered: bool) -> float:
    """Return where a polynomial that is at or below `high` first passes it upward."""
    if entered:
        # it comes through `high` downward: over the way from here, where the difference is zero
        for k in range(count - 1):
            d[k] = -h[k + 1]
        return first_root(d, count - 1, work) if d[0] > 0.0 else 0.0
    for k in range(count):
        d[k] = -h[k]
    d[0] += high
    return first_root(d, count, work) if d[0] > 0.0 else 0.0


@kernel
def _lowest(h: Floats, d: Floats, count: int, work: Floats) -> float:
    """Return where the slope of a polynomial first turns from down to up; 0 if it is up at 0."""
    for k in range(count - 1):
        d[k] = -(k + 1) * h[k + 1]
    return first_root(d, count - 1, work) if d[0] > 0.0 else 0.0


@kernel
def _shift(g: Floats, count: int, by: float) -> None:
    """Expand a polynomial about `by` instead of 0 (Horner)."""
    for i in range(count - 1):
        for k in range(count - 2, i - 1, -1):
            g[k] += by * g[k + 1]


@kernel
def _stretch(g: Floats, h: Floats, count: int, width: float) -> None:
    """Write a polynomial in shares of `width`."""
    power = 1.0
    for k in range(count):
        h[k] = g[k] * power
        power *= width
