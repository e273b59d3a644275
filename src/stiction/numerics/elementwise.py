"""Elementwise functions of arrays for kernels in plain Python, rounded as in compiled code.

Each entry is computed by the C library, as in compiled kernels: the last digit of NumPy's own
functions depends on the machine. Plain versions of kernels on arrays call them (material laws,
stresses and contact curves of solids, `laws.interface_tractions`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["arctan2", "cos", "exp", "log", "power", "sin"]

Floats = npt.NDArray[np.float64]


def _each(function: Callable[..., float], *arguments: Floats) -> Floats:
    """Apply a function of `math`, which calls the C library, to all entries of equal arrays."""
    first = np.asarray(arguments[0])
    lists = [np.asarray(a, dtype=np.float64).ravel().tolist() for a in arguments]
    result = np.fromiter(map(function, *lists), np.float64, first.size)
    return result.reshape(first.shape)


def log(x: Floats) -> Floats:
    """Return the natural logarithm; -inf of zero and NaN of negative numbers."""
    x = np.asarray(x)
    if (x > 0.0).all():
        return _each(math.log, x)
    result = _each(math.log, np.where(x > 0.0, x, 1.0))
    return np.where(x > 0.0, result, np.where(x == 0.0, -np.inf, np.nan))


def exp(x: Floats) -> Floats:
    """Return the exponential; inf beyond the largest number."""
    x = np.asarray(x)
    result = _each(math.exp, np.where(x > _LARGEST, 0.0, x))
    return np.where(x > _LARGEST, np.inf, result)


# largest argument whose exponential is a float
_LARGEST = math.log(np.finfo(np.float64).max)


def power(x: Floats, exponent: float) -> Floats:
    """Return x to a power for positive x, inf beyond the largest number; NaN for others."""
    x = np.asarray(x)
    good = x > 0.0
    positive = x if good.all() else np.where(good, x, 1.0)
    pairs = positive.ravel().tolist(), itertools.repeat(exponent)
    try:
        result = np.fromiter(map(math.pow, *pairs), np.float64, x.size)
    except OverflowError:
        result = np.fromiter(map(_power, *pairs), np.float64, x.size)
    result = result.reshape(x.shape)
    return result if positive is x else np.where(good, result, np.nan)


def _power(x: float, exponent: float) -> float:
    """Return x to a power, infinite where it overflows."""
    try:
        return math.pow(x, exponent)
    except OverflowError:
        return math.inf


def cos(x: Floats) -> Floats:
    """Return the cosine; NaN of infinite numbers."""
    return _of_finite(math.cos, x)


def sin(x: Floats) -> Floats:
    """Return the sine; NaN of infinite numbers."""
    return _of_finite(math.sin, x)


def _of_finite(function: Callable[..., float], x: Floats) -> Floats:
    """Apply a function of `math` to finite entries; NaN for the others."""
    good = np.isfinite(x)
    return np.where(good, _each(function, np.where(good, x, 0.0)), np.nan)


def arctan2(y: Floats, x: Floats) -> Floats:
    """Return the angles of the points (x, y), broadcast, from -pi to pi [rad]."""
    return _each(math.atan2, *np.broadcast_arrays(y, x))
