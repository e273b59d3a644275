"""A user's functions in plain runs: where Python refuses, what compiled code gives."""

import math
from math import log, sqrt

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.laws import compiled
from stiction.numerics.c_arithmetic import as_compiled
from stiction.numerics.callback import ArrayCallback, Callback, call_arrays
from stiction.numerics.compiling.user_functions import may_raise
from stiction.numerics.jit import running

ZERO, WHOLE_ZERO = 0.0, 0
BOTH = (0.0, 1.0)


def helper(v):
    return math.log(v)


REFUSED = {
    "log": lambda v: math.log(v),
    "log below": lambda v: math.log(v - 1.0),
    "imported": lambda v: log(v) + sqrt(v - 1.0),
    "log10": lambda v: math.log10(v),
    "log2": lambda v: math.log2(v),
    "log1p": lambda v: math.log1p(v - 1.0),
    "sqrt": lambda v: math.sqrt(v - 1.0),
    "exp": lambda v: math.exp(v + 1000.0),
    "expm1": lambda v: math.expm1(v + 1000.0),
    "cosh": lambda v: math.cosh(v + 1000.0),
    "sinh": lambda v: math.sinh(v - 1000.0),
    "sin": lambda v: math.sin(v + math.inf),
    "tan": lambda v: math.tan(v + math.inf),
    "acos": lambda v: math.acos(v + 2.0),
    "acosh": lambda v: math.acosh(v),
    "atanh": lambda v: math.atanh(v + 1.0),
    "gamma": lambda v: math.gamma(v),
    "gamma too large": lambda v: math.gamma(v + 1000.0),
    "lgamma": lambda v: math.lgamma(v - 2.0),
    "pow": lambda v: math.pow(v, -1.0),
    "pow below": lambda v: math.pow(v - 2.0, 0.5),
    "power": lambda v: v**-1.0,
    "power below": lambda v: (v - 2.0) ** 0.5,
    "power too large": lambda v: (v + 10.0) ** 400,
    "division": lambda v: 1.0 / v,
    "division by a constant": lambda v: v + 1.0 / ZERO,
    "division by a whole number": lambda v: v - 1 / WHOLE_ZERO,
    "division of whole numbers": lambda v: v + 7 // int(v),
    "remainder of whole numbers": lambda v: v + 7 % int(v),
    "division by an entry": lambda v: v + 1.0 / BOTH[0],
    "division by an answer": lambda v: 1.0 / math.sin(v),
    "remainder": lambda v: 1.0 % v,
    "numpy": lambda v: np.log(v) + np.sqrt(v + 1.0),
    "nothing": lambda v: math.exp(-v) + math.atan2(v, 2.0) + max(v, 0.25),
}


@pytest.mark.parametrize("name", REFUSED)
def test_plain_gives_what_compiled_code_gives(name):
    import numba

    function = REFUSED[name]
    compiled = numba.cfunc("float64(float64)", error_model="numpy")(function).ctypes
    given = [0.0, 0.3, 1.0, 2.0]
    with np.errstate(all="ignore"), running("plain"):
        plain = Callback(function, "mu")
        found = [plain._python(v) for v in given]
        plain.check()
    # Python has a gamma function of its own
    np.testing.assert_allclose(found, [compiled(v) for v in given], rtol=1e-14, atol=0.0)


def test_helpers_defaults_and_closures_go_on_too():
    zero = 0.0

    def own(v, more=0.0):
        return helper(v) + 1.0 / zero + 1.0 / more

    with np.errstate(all="ignore"):
        assert math.isinf(as_compiled(own)(np.float64(1.0)))
    assert as_compiled(lambda v: helper(v))(np.float64(0.0)) == -math.inf
    assert as_compiled(lambda v: math.log(v, 2.0))(np.float64(0.0)) == -math.inf
    with pytest.raises(ZeroDivisionError):
        own(1.0)


def test_a_function_that_calls_itself():
    def own(v):
        return math.log(v) if v < 1.0 else own(v - 1.0)

    assert as_compiled(own)(np.float64(3.0)) == -math.inf


def test_what_waits_for_an_exception_gets_it():
    def own(v):
        try:
            return 1.0 / v
        except ZeroDivisionError:
            return 7.0

    assert may_raise(own)
    for mode in ("plain", "compiled"):
        with running(mode):
            assert Callback(own, "mu")._python(0.0) == 7.0


def test_what_raises_is_an_error_still():
    def own(v):
        if v == 0.0:
            raise ValueError("no speed")
        return 1.0

    with running("plain"):
        callback = Callback(own, "mu")
        assert math.isnan(callback._python(0.0))
        with pytest.raises(ModelError, match="no speed"):
            callback.check()


def fields(x):
    return [x[1], math.log(x[0]), 1.0 / x[0]]


def test_fields_go_on_entry_by_entry():
    x, s = np.array([0.0, 2.0]), np.zeros(1)
    found = {}
    for mode in ("plain", "compiled"):
        out, p = np.zeros(3), np.zeros(1)
        with running(mode), np.errstate(all="ignore"):
            callback = ArrayCallback([fields], [3], n=2, n_signs=1, name="f")
            call_arrays(callback.address, x, s, p, out)
            callback.check()
        found[mode] = out
    np.testing.assert_array_equal(found["plain"], [2.0, -math.inf, math.inf])
    np.testing.assert_array_equal(found["plain"], found["compiled"])


def test_a_formula_whose_inner_function_raises_is_not_compiled():
    """Numba would compile it, and lose the exception."""

    def formula(v, s, p):
        def checked(x):
            if x > 1.0:
                raise ValueError("too fast")
            return x

        return checked(v)

    assert compiled._compiled(formula, compiled._VALUE) is None
