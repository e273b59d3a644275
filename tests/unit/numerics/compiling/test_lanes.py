"""Vectors of eight numbers in compiled code: the bits of NumPy, and nothing else."""

import numpy as np
import pytest

from stiction.numerics.compiling.lanes import LANES, count, full, load, store, where
from stiction.numerics.jit import kernel, mode

needs_compiler = pytest.mark.skipif(mode() == "plain", reason="plain lanes are NumPy")


@kernel
def everything(a, s):
    """Write a row by every operation there is; return how many answers were yes."""
    yes = 0
    for k in range(0, a.shape[1], LANES):
        x, y = load(a, 0, k), load(a, 1, k)
        z = full(s)
        z += x * y - 2.0 * x / y
        z -= s * y
        z *= 1.0 - x
        good = ((x < y) & (abs(x) <= 0.5)) | (-y > 0.0) | (x == s) | (s >= y)
        z = where(good, z, -x * y)
        yes += count(good)
        store(a, 2, k, where(z > 3.0, 1.0, z + s))
    return yes


def table(seed):
    a = np.random.default_rng(seed).normal(size=(3, 4 * LANES))
    a[0, 3], a[1, 7], a[0, 9], a[1, 12], a[0, 13] = np.nan, 0.0, -0.0, np.inf, 0.3
    return a


@needs_compiler
@pytest.mark.parametrize("seed", range(5))
def test_the_bits_of_numpy(seed):
    a, b = table(seed), table(seed)
    with np.errstate(all="ignore"):
        wanted = everything.py_func(b, 0.3)
    assert everything(a, 0.3) == wanted
    assert np.array_equal(a, b, equal_nan=True)
    known = ~np.isnan(b)
    assert np.array_equal(np.signbit(a[known]), np.signbit(b[known]))


@kernel
def wrong(a):
    x = load(a, 0, 0)
    return count(x & x)


@needs_compiler
def test_lanes_and_answers_do_not_mix():
    with pytest.raises(Exception, match="Lanes"):
        wrong(table(0))
    with pytest.raises(TypeError, match="ufunc"):
        wrong.py_func(table(0))
