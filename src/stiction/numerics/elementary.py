"""Scalar functions for kernels that return inf and NaN where those of Python raise.

Compiled code calls the C library, which never raises; in plain Python these functions return the
same bits. Kernels of chains, rods and flows call them. `elementwise` has such functions of arrays.
"""

from __future__ import annotations

import math

import numpy as np

from stiction.numerics.jit import kernel, native

__all__ = ["cos", "exp", "hypot", "sin"]


def _exp(x: float) -> float:
    """Return e to the power x in plain Python, infinite where it overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@kernel(plain=_exp)
def exp(x: float) -> float:
    """Return e to the power x; infinity if that is too large for a float.

    Verified by: tests/unit/numerics/test_elementary.py::test_large_arguments_give_infinity
    """
    return math.exp(x)


@native("math:sin")
def sin(x: float) -> float:
    """Return the sine; NaN of infinity."""
    return math.sin(x) if abs(x) < math.inf else math.nan


@native("math:cos")
def cos(x: float) -> float:
    """Return the cosine; NaN of infinity."""
    return math.cos(x) if abs(x) < math.inf else math.nan


@native("math:hypot")
def hypot(x: float, y: float) -> float:
    """Return sqrt(x^2 + y^2) by the C library; that of Python rounds differently."""
    return float(np.hypot(x, y))
