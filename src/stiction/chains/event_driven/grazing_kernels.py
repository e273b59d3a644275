"""First downward crossing of zero of a polynomial event function, and grazing before it.

An event function grazes zero at a double root. Rounding turns a double root into two roots or none.
A function that falls below `high` and rises above it again without passing `-low` therefore counts
as grazing, not as a crossing: within its error its sign is unknown. All roots are isolated by
Bernstein coefficients (`numerics.event_localisation`), so that none is missed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stiction.numerics.event_localisation import NONE, first_root
from stiction.numerics.jit import kernel

__all__ = ["first_downcrossing", "scaled_terms", "stays_positive"]

Floats = npt.NDArray[np.float64]

# most grazings examined in one step
_MOST = 8


@kernel
def scaled_terms(c: Floats, start: int, size: int, tau: float) -> int:
    """Divide by tau^start and rescale the step to [0, 1]; return the number of coefficients."""
    power = 1.0
    for k in range(start, size):
        c[k - start] = c[k] * power
        power *= tau
    return size - start


@kernel
def stays_positive(c: Floats, count: int) -> bool:
    """Return whether c[0] > sum |c[k]|, so that the polynomial is positive on [0, 1]."""
    swing = 0.0
    for k in range(1, count):
        swing += abs(c[k])
    clear: bool = c[0] > swing
    return clear


@kernel
def first_downcrossing(
    c: Floats, count: int, work: Floats, low: float, high: float, above: bool
) -> tuple[float, float, float]:
    """Return the first downward crossing of zero on [0, 1], a grazing before it, and a third point.

    Each is NONE if absent. From the third point to 1 the polynomial stays within its error, so that
    its sign is undecided there.

    Parameters
    ----------
    c : (>= count,) coefficients by rising power
    count : number of coefficients
    work : (>= DEPTH + 1, >= count + 2) scratch space
    low, high : error bounds, > 0: below -low the polynomial has certainly crossed zero, above high
        it is certainly positive
    above : whether it was above `high` before 0; read only if it starts at or below `high`

    Verified by: tests/unit/chains/event_driven/test_grazing.py::test_roots_and_grazing
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
    # value and slope where p enters the band [-low, high] (Horner), and a bound of |p''| on [0, 1]
    value, slope, bend = 0.0, 0.0, 0.0
    for k in range(count - 1, -1, -1):
        slope = slope * enters + value
        value = value * enters + c[k]
        bend += k * (k - 1) * abs(c[k])
    if slope < 0.0 and slope * slope > 2.0 * bend * (low + max(value, high)):
        # Taylor bound: with this slope p reaches -low before its curvature can turn it back
        return first_root(c, count, work) if first > 0.0 else 0.0, NONE, NONE
    return _near_double(c, count, work, low, high, enters, above)


@kernel(allocates=True)
def _near_double(
    c: Floats, count: int, work: Floats, low: float, high: float, at: float, above: bool
) -> tuple[float, float, float]:
    """Return the results of `first_downcrossing` near a double root.

    The polynomial enters the band [-low, high] at `at` with a slope so small that it may turn back.
    """
    # g: expanded about `at`; h: the same, with the rest of the step rescaled to [0, 1]
    g, h, d = c[:count].copy(), np.empty(count), np.empty(count)
    entered = at > 0.0
    above = above or entered
    _shift(g, count, at)
    grazing = NONE
    for _ in range(_MOST):
        remaining = 1.0 - at
        if remaining <= 0.0:
            return NONE, grazing, at
        _rescale(g, h, count, remaining)
        first = h[0]
        # `down`: where it passes -low; `up`: where it leaves the band above `high`
        h[0] = first + low
        down = first_root(h, count, work) if h[0] > 0.0 else 0.0
        h[0] = first
        up = _first_upcrossing(h, d, count, work, high, entered)
        # it stays in the band up to the end of the step
        if down == NONE and up == NONE:
            return NONE, grazing, at
        # it passes -low first: a crossing, whose root lies at or before `down`
        if down < up:
            if grazing == NONE and c[0] > 0.0:
                return first_root(c, count, work), grazing, NONE
            root = first_root(h, count, work) if first > 0.0 else 0.0
            return at + remaining * min(root, down), grazing, NONE
        # it came from above and returns: a grazing at its minimum. Only the first one counts
        if above and grazing == NONE:
            grazing = at + remaining * min(_first_minimum(h, d, count, work), up)
        _shift(g, count, up * remaining)
        at += up * remaining
        remaining = 1.0 - at
        if remaining <= 0.0:
            return NONE, grazing, NONE
        # deflate the root at `at`: the quotient has the later entries into the band
        _rescale(g, h, count, remaining)
        for k in range(count - 1):
            d[k] = h[k + 1]
        next_entry = first_root(d, count - 1, work) if d[0] > 0.0 else NONE
        if next_entry == NONE:
            return NONE, grazing, NONE
        _shift(g, count, next_entry * remaining)
        at += next_entry * remaining
        entered = above = True
    return NONE, grazing, at


@kernel
def _first_upcrossing(
    h: Floats, d: Floats, count: int, work: Floats, high: float, entered: bool
) -> float:
    """Return the first upward crossing of `high` by a polynomial that starts at or below it."""
    if entered:
        # it enters through `high` at 0: deflate this root of the difference
        for k in range(count - 1):
            d[k] = -h[k + 1]
        return first_root(d, count - 1, work) if d[0] > 0.0 else 0.0
    for k in range(count):
        d[k] = -h[k]
    d[0] += high
    return first_root(d, count, work) if d[0] > 0.0 else 0.0


@kernel
def _first_minimum(h: Floats, d: Floats, count: int, work: Floats) -> float:
    """Return the first local minimum of a polynomial; 0 if it rises at 0."""
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
def _rescale(g: Floats, h: Floats, count: int, width: float) -> None:
    """Rescale the variable of a polynomial so that [0, width] becomes [0, 1]."""
    power = 1.0
    for k in range(count):
        h[k] = g[k] * power
        power *= width
