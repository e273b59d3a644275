"""What kernels raise arrives where they are called, through kernels and from users' functions."""

import os

import numba
import numpy as np
import pytest

from stiction.numerics.jit import kernel

pytestmark = pytest.mark.skipif(
    os.environ.get("STICTION_KERNELS") == "plain", reason="plain Python raises by itself"
)


@kernel
def refuses(x):
    """Raise below zero."""
    if x < 0.0:
        raise ValueError("below zero")
    return np.sqrt(x)


@kernel
def divides(x, y):
    """Raise another kind, from a kernel below."""
    if y == 0.0:
        return refuses(-x) + not_below(x)
    return x // y


@kernel
def not_below(x):
    """Raise another kind."""
    if x < 0.0:
        raise ArithmeticError("no quotient")
    return x


@kernel
def through(x, y, kind):
    """Call kernels that may raise, in a loop."""
    total = 0.0
    for _ in range(3):
        if kind == 0:
            total += refuses(x)
        elif kind == 1:
            total += divides(x, y)
        else:
            total += nothing_wrong(x)
    return total


@kernel
def nothing_wrong(x):
    """Raise nothing, and return nothing where `x` is 0."""
    if x == 0.0:
        return 0.0
    return 1.0 / x


@kernel
def perhaps(x):
    """Return None or a number."""
    if x > 0.0:
        return x
    return None


@kernel
def asks(x):
    """Call what may return None."""
    found = perhaps(x)
    if found is None:
        return -1.0
    return found


@numba.njit
def catches(x):
    """Catch, in a user's function, what a kernel raises."""
    try:
        return through(x, 1.0, 0)
    except Exception:  # noqa: BLE001
        return -5.0


def test_what_is_raised_below_arrives():
    assert through(4.0, 0.0, 0) == 6.0
    assert through(4.0, 2.0, 1) == 6.0
    assert through(4.0, 0.0, 2) == 0.75
    for _ in range(20):
        with pytest.raises(ValueError, match="below zero"):
            through(-4.0, 0.0, 0)
        with pytest.raises(ArithmeticError, match="no quotient"):
            through(-4.0, 0.0, 1)
        with pytest.raises(ValueError, match="below zero"):
            through(4.0, 0.0, 1)
    assert catches(4.0) == 6.0
    assert catches(-4.0) == -5.0
    assert asks(2.0) == 2.0
    assert asks(-2.0) == -1.0
