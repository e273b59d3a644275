"""A user's formulas as C functions: what they refer to is what it is when a run begins."""

import ctypes
import math

import numpy as np
import pytest

from stiction.laws import law_kernels as lk
from stiction.laws.compiled import _VALUE, _compiled
from stiction.numerics.jit import running

LEVEL = 0.3


def mu(v, z, p):
    return LEVEL + v


def value(made, v):
    nothing = np.zeros(1).ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return lk.C_VALUE(made.address)(v, nothing, nothing)


def test_a_constant_that_changes_between_runs_is_seen(monkeypatch):
    with running("compiled"):
        assert value(_compiled(mu, _VALUE), 0.0) == 0.3
        monkeypatch.setitem(globals(), "LEVEL", 0.5)
        assert value(_compiled(mu, _VALUE), 0.0) == 0.5
        assert _compiled(mu, _VALUE) is _compiled(mu, _VALUE)


@pytest.mark.parametrize("scope", [{}, {"__name__": "nowhere"}], ids=["no module", "unknown"])
def test_what_exec_made_is_compiled(scope):
    exec("import math\ndef mu(v, z, p): return math.log(v)", scope)
    with running("compiled"):
        assert value(_compiled(scope["mu"], _VALUE), 0.0) == -math.inf
