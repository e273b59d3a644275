"""Functions of one number: no exception where compiled code has none."""

import math

import pytest

from stiction.numerics import jit
from stiction.numerics.elementary import exp


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_large_arguments_give_infinity(mode):
    with jit.running(mode):
        assert exp(1e4) == math.inf
        assert exp(-1e4) == 0.0
        assert exp(0.7) == math.exp(0.7)
        assert math.isnan(exp(math.nan))
