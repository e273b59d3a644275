"""The first root of a function sampled on a step, by its Bernstein coefficients.

Samples at Chebyshev points of (0, 1] determine a polynomial; in Bernstein form it lies in
the hull of its coefficients and has at most as many roots as they change sign, so a step
without an event is recognised for certain and two events in one step cannot hide.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Matrix, Vector
from stiction.numerics.jit import kernel

__all__ = [
    "NODES",
    "NONE",
    "bernstein_from_samples",
    "first_dip",
    "first_fall",
    "nodes",
    "tail_from_samples",
    "value_and_slope",
]

Floats = npt.NDArray[np.float64]

NODES = 9
NONE = 2.0
DEPTH = 36
# in so many pieces a polynomial is searched for its minima
_PIECES = 16


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

    They tell whether the samples resolve the function: those of a smooth function on a
    short enough step are tiny.
    """
    basis = np.polynomial.chebyshev.chebvander(2.0 * nodes() - 1.0, NODES - 1)
    return np.ascontiguousarray(np.linalg.inv(basis)[-2:])


@kernel(borrows=True)
def value_and_slope(b: Vector, s: float, work: Vector) -> tuple[float, float]:
    """Return the polynomial with Bernstein coefficients `b` and its slope at s in [0, 1]."""
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


@kernel(borrows=True)
def first_fall(b: Vector, work: Matrix) -> float:
    """Return the first s in (0, 1] where the polynomial falls to zero or below, or NONE.

    Parameters
    ----------
    b : (count,) Bernstein coefficients; b[0] > 0, otherwise the root is at the start: 0.0
    work : (>= DEPTH + 3, >= count + 2) scratch space

    Notes
    -----
    Pairs of roots closer than 2^-36 of the step count as a touch and are passed over.
    Verified by: tests/unit/numerics/test_bernstein.py::test_first_fall_matches_numpy
    """
    count = b.size
    if b[0] <= 0.0:
        return 0.0
    least = b[0]
    for i in range(count):
        work[0, i] = b[i]
        least = min(least, b[i])
    if least > 0.0:
        return NONE
    # a stack of intervals, the leftmost on top; columns count, count + 1: low end and width
    work[0, count], work[0, count + 1] = 0.0, 1.0
    top = 0
    while top >= 0:
        low, width = work[top, count], work[top, count + 1]
        changes, last = 0, 1.0
        for i in range(count):
            if work[top, i] * last < 0.0:
                changes += 1
                last = -last
        if work[top, 0] <= 0.0 and low > 0.0:
            return low
        if changes == 0:
            if work[top, count - 1] <= 0.0 and top == 0:
                return 1.0
            top -= 1
        elif changes == 1 and work[top, count - 1] < 0.0:
            return _refine(b, low, low + width, work[DEPTH + 2])
        elif top >= DEPTH or width < 2.0**-DEPTH:
            top -= 1
        else:
            _halve(work, top, count)
            work[top, count + 1] = 0.5 * width
            work[top + 1, count], work[top + 1, count + 1] = low, 0.5 * width
            work[top, count] = low + 0.5 * width
            top += 1
    return NONE


@kernel(borrows=True)
def first_dip(b: Vector, begin: float, level: float, work: Vector) -> tuple[float, float]:
    """Return the first minimum behind `begin` with a value of at most `level`, and the value.

    Both are NONE where there is none. A minimum at an end of [begin, 1] does not count, nor
    do pairs of extrema within a sixteenth of it.
    """
    low, slope = begin, value_and_slope(b, begin, work)[1]
    width = (1.0 - begin) / _PIECES
    for c in range(_PIECES):
        high = begin + (c + 1) * width
        ahead = value_and_slope(b, high, work)[1]
        if slope < 0.0 <= ahead:
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
        low, slope = high, ahead
    return NONE, NONE


@kernel(borrows=True)
def _halve(work: Matrix, top: int, count: int) -> None:
    """Split row `top` by de Casteljau at the middle: left half into row top + 1."""
    work[top + 1, 0] = work[top, 0]
    for level in range(1, count):
        for i in range(count - level):
            work[top, i] = 0.5 * (work[top, i] + work[top, i + 1])
        work[top + 1, level] = work[top, 0]


@kernel(borrows=True)
def _refine(b: Vector, low: float, high: float, work: Vector) -> float:
    """Return the one root in [low, high], positive at low: Newton kept inside a bracket."""
    s = 0.5 * (low + high)
    for _ in range(60):
        value, slope = value_and_slope(b, s, work)
        if value > 0.0:
            low = s
        else:
            high = s
        step = s - value / slope if slope != 0.0 else NONE
        # before the bracket is asked: s has just become an end of it
        if value == 0.0 or abs(step - s) <= 2e-16:
            return s
        if not (low < step < high):
            step = 0.5 * (low + high)
        s = step
    return s
