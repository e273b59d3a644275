"""Event localisation: the first root of a monitored polynomial on a step, without missed roots.

The monitored function is a polynomial on [0, 1]: a Taylor series (`first_root`), or the interpolant
of samples at Chebyshev points (`first_fall`). In Bernstein form the polynomial lies in the convex
hull of its coefficients, and has at most as many roots as they have changes of sign (Descartes'
rule). So coefficients of one sign exclude a root. Otherwise bisection by de Casteljau's algorithm
isolates the first root, and Newton's method refines it; two crossings within one step are both
found. A time s is a fraction of the step; NONE, a value above 1, stands for no root. Integrators of
chains and of piecewise-smooth flows call these kernels.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "DEPTH",
    "NODES",
    "NONE",
    "bernstein_from_samples",
    "first_dip",
    "first_fall",
    "first_root",
    "horner",
    "nodes",
    "tail_from_samples",
    "value_and_slope",
]

Floats = npt.NDArray[np.float64]

# number of samples of an interpolant
NODES = 9
# returned instead of a fraction in [0, 1] if there is no root
NONE = 2.0
# largest number of bisections; a pair of roots that is closer counts as grazing, without an event
DEPTH = 48
# number of intervals in which a polynomial is searched for minima
_INTERVALS = 16


@functools.cache
def nodes() -> Floats:
    """Return NODES Chebyshev-Radau points of (0, 1], the last one 1."""
    angles = 2.0 * np.pi * np.arange(NODES - 1, -1, -1) / (2 * NODES - 1)
    return np.array(0.5 + 0.5 * np.cos(angles))


@functools.cache
def bernstein_from_samples() -> Floats:
    """Return (NODES, NODES): Bernstein coefficients of degree NODES - 1 from the samples."""
    from math import comb

    theta, degree = nodes()[:, None], NODES - 1
    j = np.arange(NODES)
    binomial = np.array([comb(degree, int(i)) for i in j], dtype=np.float64)
    basis = binomial * theta**j * (1.0 - theta) ** (degree - j)
    return np.ascontiguousarray(np.linalg.inv(basis))


@functools.cache
def tail_from_samples() -> Floats:
    """Return (2, NODES): the last two Chebyshev coefficients from the samples.

    Their size estimates the error of the interpolant: it is small if samples resolve the function.
    """
    basis = np.polynomial.chebyshev.chebvander(2.0 * nodes() - 1.0, NODES - 1)
    return np.ascontiguousarray(np.linalg.inv(basis)[-2:])


@kernel
def horner(c: Floats, count: int, s: float) -> float:
    """Return c[0] + c[1] s + ... + c[count-1] s^(count-1), by Horner's rule."""
    value = 0.0
    for k in range(count - 1, -1, -1):
        value = value * s + c[k]
    return value


@kernel
def value_and_slope(b: Vector, s: float, work: Vector) -> tuple[float, float]:
    """Return the polynomial with Bernstein coefficients `b` and its slope at s in [0, 1].

    De Casteljau's algorithm; the slope is degree times the last difference.
    """
    count = b.size
    for i in range(count):
        work[i] = b[i]
    slope = 0.0
    for level in range(1, count):
        if level == count - 1:
            slope = (count - 1) * (work[1] - work[0])
        for i in range(count - level):
            work[i] = (1.0 - s) * work[i] + s * work[i + 1]
    return work[0], slope


@kernel
def first_fall(b: Vector, work: Matrix) -> float:
    """Return the first s in (0, 1] where the polynomial falls to zero or below, or NONE.

    Parameters
    ----------
    b : (count,) Bernstein coefficients; b[0] > 0, else the result is 0
    work : (>= DEPTH + 2, >= count + 2) scratch space

    Notes
    -----
    Pairs of roots closer than 2^-48 of the step count as grazing, without an event.
    Verified by: tests/unit/numerics/test_event_localisation.py::test_first_fall_matches_numpy
    """
    count = b.size
    if b[0] <= 0.0:
        return 0.0
    # convex hull: positive coefficients exclude a root
    least = b[0]
    for i in range(count):
        work[0, i] = b[i]
        least = min(least, b[i])
    if least > 0.0:
        return NONE
    low, width = isolate(work, count)
    if low == NONE:
        return 1.0 if b[count - 1] <= 0.0 else NONE
    return low if width == 0.0 else _refine_bernstein(b, low, low + width, work[DEPTH + 1])


@kernel
def first_root(c: Floats, count: int, work: Floats) -> float:
    """Return the first s in (0, 1) where the polynomial falls to zero, or NONE.

    Parameters
    ----------
    c : (>= count,) coefficients by rising power; c[0] > 0
    count : number of coefficients
    work : (>= DEPTH + 1, >= count + 2) scratch space

    Notes
    -----
    Pairs of roots closer than 2^-48 of the step count as grazing, without an event.
    Verified by: tests/unit/numerics/test_event_localisation.py::test_first_root_matches_numpy
    """
    # c[0] above the sum of all other terms excludes a root
    total = 0.0
    for k in range(1, count):
        total += abs(c[k])
    if c[0] > total:
        return NONE
    _to_bernstein(c, count, work[0])
    low, width = isolate(work, count)
    if low == NONE or width == 0.0:
        return low
    return _refine(c, count, low, low + width)


@kernel
def isolate(work: Any, count: int) -> tuple[float, float]:
    """Return an interval (low end, width) that isolates the first root; NONE if there is none.

    A width of zero means that the root is at the low end.

    Parameters
    ----------
    work : (>= DEPTH + 1, >= count + 2) Bernstein coefficients in row 0, b[0] > 0; the rows
        become a stack of intervals, the leftmost on top, with their coefficients
    count : number of coefficients; the next two columns hold low end and width
    """
    work[0, count], work[0, count + 1] = 0.0, 1.0
    top = 0
    while top >= 0:
        low, width = work[top, count], work[top, count + 1]
        # the value at the low end, b[0], is not positive: the root is there
        if work[top, 0] <= 0.0 and low > 0.0:
            return low, 0.0
        changes = _sign_changes(work[top], count)
        # Descartes: no change of sign, no root; one change, exactly one root
        if changes == 0:
            top -= 1
        elif changes == 1:
            return low, width
        elif top >= DEPTH or width < 2.0**-DEPTH:
            top -= 1
        else:
            _halve(work[top], work[top + 1], count)
            work[top, count + 1] = 0.5 * width
            work[top + 1, count], work[top + 1, count + 1] = low, 0.5 * width
            work[top, count] = low + 0.5 * width
            top += 1
    return NONE, 0.0


@kernel
def first_dip(b: Vector, begin: float, level: float, work: Vector) -> tuple[float, float]:
    """Return the first local minimum after `begin` with a value of at most `level`, and the value.

    Both are NONE if there is none. The slope is evaluated at the ends of 16 intervals of
    [begin, 1]; two extrema within one interval, and minima at its ends, are not located.
    """
    low, slope = begin, value_and_slope(b, begin, work)[1]
    width = (1.0 - begin) / _INTERVALS
    for c in range(_INTERVALS):
        high = begin + (c + 1) * width
        next_slope = value_and_slope(b, high, work)[1]
        # the slope changes from negative to positive: a minimum, by bisection to 2^-45 of the
        # interval
        if slope < 0.0 <= next_slope:
            left, right = low, high
            for _ in range(45):
                s = 0.5 * (left + right)
                if value_and_slope(b, s, work)[1] < 0.0:
                    left = s
                else:
                    right = s
            value = value_and_slope(b, left, work)[0]
            if value <= level:
                return left, value
        low, slope = high, next_slope
    return NONE, NONE


@kernel
def _refine_bernstein(b: Vector, low: float, high: float, work: Vector) -> float:
    """Return the one root in [low, high], positive at low: Newton's method within a bracket."""
    s = 0.5 * (low + high)
    for _ in range(60):
        value, slope = value_and_slope(b, s, work)
        # the polynomial falls through zero: a positive value is to the left of the root
        if value > 0.0:
            low = s
        else:
            high = s
        step = s - value / slope if slope != 0.0 else NONE
        # test before the bracket below, because s is now one of its ends
        if value == 0.0 or abs(step - s) <= 2e-16:
            return s
        if not (low < step < high):
            step = 0.5 * (low + high)
        s = step
    return s


@kernel
def _to_bernstein(c: Floats, count: int, b: Floats) -> None:
    """Write the Bernstein coefficients of a polynomial in powers of s."""
    degree = count - 1
    binomial = 1.0
    for j in range(count):
        b[j] = c[j] / binomial
        binomial = binomial * (degree - j) / (j + 1)
    # b_i is the sum over j of C(i, j) c_j / C(degree, j), by partial sums as in Pascal's triangle
    for j in range(1, count):
        for i in range(degree, j - 1, -1):
            b[i] += b[i - 1]


@kernel
def _sign_changes(b: Floats, count: int) -> int:
    """Return the number of sign changes of the coefficients, from a positive first one."""
    changes = 0
    last = 1.0
    for i in range(count):
        if b[i] * last < 0.0:
            changes += 1
            last = -last
    return changes


@kernel
def _halve(b: Floats, left: Floats, count: int) -> None:
    """Subdivide at the middle by de Casteljau's algorithm: left half in `left`, right half in b."""
    left[0] = b[0]
    for level in range(1, count):
        for i in range(count - level):
            b[i] = 0.5 * (b[i] + b[i + 1])
        left[level] = b[0]


@kernel
def _refine(c: Floats, count: int, low: float, high: float) -> float:
    """Return the one root in [low, high], positive at low: Newton's method within a bracket."""
    s = 0.5 * (low + high)
    for _ in range(100):
        value, slope = 0.0, 0.0
        # value and slope by Horner's rule
        for k in range(count - 1, -1, -1):
            slope = slope * s + value
            value = value * s + c[k]
        # the polynomial falls through zero: a positive value is to the left of the root
        if value > 0.0:
            low = s
        else:
            high = s
        step = s - value / slope if slope != 0.0 else 2.0 * high + 1.0
        # a Newton step out of the bracket is replaced by bisection
        if not (low < step < high):
            step = 0.5 * (low + high)
        if abs(step - s) <= 1e-16 * abs(s) or value == 0.0:
            return s
        s = step
    return s
