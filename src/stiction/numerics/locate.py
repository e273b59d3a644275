"""The first root of a polynomial on an interval, found for certain or excluded for certain.

A polynomial in Bernstein form lies in the hull of its coefficients, and it has at most as
many roots as they have changes of sign (Descartes). So a step whose event polynomial has
coefficients of one sign holds no event, and halving separates roots that lie close
together: two crossings inside one step cannot hide from each other.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from stiction.numerics.arrays import Vector
from stiction.numerics.jit import kernel, py_function

__all__ = ["NO_ROOT", "first_root", "horner"]

NO_ROOT = 2.0
_DEPTH = 48


def _horner(c: npt.NDArray[np.float64], count: int, s: float) -> float:
    value, s = 0.0, float(s)
    for one in reversed(c[:count].tolist()):
        value = value * s + one
    return value


@kernel(plain=_horner, borrows=True)
def horner(c: npt.NDArray[np.float64], count: int, s: float) -> float:
    """Return c[0] + c[1] s + ... + c[count-1] s^(count-1)."""
    value = 0.0
    for k in range(count - 1, -1, -1):
        value = value * s + c[k]
    return value


def _first_root(c: npt.NDArray[np.float64], count: int, work: npt.NDArray[np.float64]) -> float:
    """Look at sizes before anything else: most polynomials have no root."""
    first, *others = c[:count].tolist()
    swing = 0.0
    for one in others:
        swing += abs(one)
    return NO_ROOT if first > swing else py_function(first_root)(c, count, work)


@kernel(plain=_first_root)
def first_root(c: npt.NDArray[np.float64], count: int, work: npt.NDArray[np.float64]) -> float:
    """Return the first s in (0, 1] where the polynomial falls to zero, or NO_ROOT.

    Parameters
    ----------
    c : (>= count,) coefficients by rising power; c[0] > 0
    count : number of coefficients
    work : (>= 50, >= count) scratch space

    Notes
    -----
    Pairs of roots closer than 2^-48 count as a touch and are passed over.
    Verified by: tests/unit/numerics/test_locate.py::test_first_root_matches_numpy
    """
    swing = 0.0
    for k in range(1, count):
        swing += abs(c[k])
    if c[0] > swing:
        return NO_ROOT
    _to_bernstein(c, count, work[0])
    # a stack of intervals, the leftmost on top; row r covers [low[r], low[r] + width[r]]
    low: Vector = np.empty(_DEPTH + 2)
    width = np.empty(_DEPTH + 2)
    low[0], width[0], top = 0.0, 1.0, 0
    while top >= 0:
        b = work[top]
        if b[0] <= 0.0 and low[top] > 0.0:
            return low[top]
        changes = _sign_changes(b, count)
        if changes == 0:
            top -= 1
        elif changes == 1:
            return _refine(c, count, low[top], low[top] + width[top])
        elif top >= _DEPTH or width[top] < 2.0**-_DEPTH:
            top -= 1
        else:
            _halve(b, work[top + 1], count)
            width[top] *= 0.5
            low[top + 1], width[top + 1] = low[top], width[top]
            low[top] += width[top]
            top += 1
    return NO_ROOT


def _to_bernstein_at_once(
    c: npt.NDArray[np.float64], count: int, b: npt.NDArray[np.float64]
) -> None:
    b[:count] = c[:count] / _binomials(count)
    for j in range(1, count):
        b[j:count] += b[j - 1 : count - 1]


@functools.cache
def _binomials(count: int) -> npt.NDArray[np.float64]:
    made, binomial = [], 1.0
    for j in range(count):
        made.append(binomial)
        binomial = binomial * (count - 1 - j) / (j + 1)
    return np.array(made)


@kernel(plain=_to_bernstein_at_once, borrows=True)
def _to_bernstein(c: npt.NDArray[np.float64], count: int, b: npt.NDArray[np.float64]) -> None:
    degree = count - 1
    binomial = 1.0
    for j in range(count):
        b[j] = c[j] / binomial
        binomial = binomial * (degree - j) / (j + 1)
    for j in range(1, count):
        for i in range(degree, j - 1, -1):
            b[i] += b[i - 1]


def _sign_changes_in_list(b: npt.NDArray[np.float64], count: int) -> int:
    changes, last = 0, 1.0
    for one in b[:count].tolist():
        if one * last < 0.0:
            changes += 1
            last = -last
    return changes


@kernel(plain=_sign_changes_in_list, borrows=True)
def _sign_changes(b: npt.NDArray[np.float64], count: int) -> int:
    changes = 0
    last = 1.0
    for i in range(count):
        if b[i] * last < 0.0:
            changes += 1
            last = -last
    return changes


def _halve_at_once(b: npt.NDArray[np.float64], left: npt.NDArray[np.float64], count: int) -> None:
    left[0] = b[0]
    for level in range(1, count):
        b[: count - level] = 0.5 * (b[: count - level] + b[1 : count - level + 1])
        left[level] = b[0]


@kernel(plain=_halve_at_once, borrows=True)
def _halve(b: npt.NDArray[np.float64], left: npt.NDArray[np.float64], count: int) -> None:
    """Split by de Casteljau at the middle: the left half into `left`, the right stays in b."""
    left[0] = b[0]
    for level in range(1, count):
        for i in range(count - level):
            b[i] = 0.5 * (b[i] + b[i + 1])
        left[level] = b[0]


def _refine_in_list(c: npt.NDArray[np.float64], count: int, low: float, high: float) -> float:
    """Do as `_refine` with numbers of Python, which are faster one by one."""
    numbers = c[:count].tolist()
    return py_function(_refine)(numbers, count, float(low), float(high))


@kernel(plain=_refine_in_list, borrows=True)
def _refine(c: npt.NDArray[np.float64], count: int, low: float, high: float) -> float:
    """Return the one root in [low, high], positive at low: Newton kept inside a bracket."""
    s = 0.5 * (low + high)
    for _ in range(100):
        value, slope = 0.0, 0.0
        for k in range(count - 1, -1, -1):
            slope = slope * s + value
            value = value * s + c[k]
        if value > 0.0:
            low = s
        else:
            high = s
        step = s - value / slope if slope != 0.0 else 2.0 * high + 1.0
        if not (low < step < high):
            step = 0.5 * (low + high)
        if abs(step - s) <= 1e-16 * abs(s) or value == 0.0:
            return s
        s = step
    return s
