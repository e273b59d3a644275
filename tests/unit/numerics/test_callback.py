"""User functions behind an address, of numbers and of arrays: compiled, plain, and raising."""

import math

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.numerics.callback import ArrayCallback, Callback, address_of, call, call_arrays
from stiction.numerics.jit import kernel

TABLE = {"stiffness": 2.0}
NO_P = np.zeros(1)


class Spring:
    """A callable object, which Numba cannot compile."""

    def __call__(self, x):
        return [x[1], -TABLE["stiffness"] * x[0]]


@kernel
def at(address, argument):
    return call(address, argument)


def called(callback, x, s, count):
    out = np.full(count, np.nan)
    call_arrays(callback.address, np.array(x), np.array(s), NO_P, out)
    return out


def test_compiled_parts_stand_one_after_the_other():
    parts = [lambda x: x[0] + 1.0, lambda x: (x[1], 2.0 * x[0])]
    callback = ArrayCallback(parts, [1, 2], n=2, n_signs=1, name="h")
    assert callback.compiled
    assert called(callback, [3.0, 4.0], [1.0], 3).tolist() == [4.0, 4.0, 6.0]


def test_signed_parts_see_the_signs():
    callback = ArrayCallback(
        [lambda x, s: (x[0] * s[0], s[1])], [2], n=1, n_signs=2, name="f", signed=True
    )
    assert callback.compiled
    assert called(callback, [3.0], [-1.0, 1.0], 2).tolist() == [-3.0, 1.0]


@pytest.mark.parametrize("plain", [False, True])
def test_choose_takes_the_part_of_the_sign(plain):
    def up(x):
        return np.array([x[0], 1.0])

    def down(x):
        return [-TABLE["stiffness"], x[0]] if plain else np.array([-2.0, x[0]])

    callback = ArrayCallback([up, down], [2, 2], n=1, n_signs=1, name="f", choose=True)
    assert called(callback, [5.0], [1.0], 2).tolist() == [5.0, 1.0]
    assert called(callback, [5.0], [-1.0], 2).tolist() == [-2.0, 5.0]


def test_what_numba_cannot_compile_runs_as_python_with_a_cost():
    callback = ArrayCallback([Spring()], [2], n=2, n_signs=1, name="f_plus")
    callback.measure(np.ones(2), np.ones(1))
    assert not callback.compiled
    assert callback.cost > 0.0
    assert called(callback, [1.0, 7.0], [1.0], 2).tolist() == [7.0, -2.0]


def test_an_exception_is_stored_and_raised_later():
    def part(x):
        if x[0] > 1.0:
            raise ValueError("too far")
        return x[0]

    callback = ArrayCallback([part], [1], n=1, n_signs=1, name="h")
    assert not callback.compiled
    assert called(callback, [0.5], [1.0], 1)[0] == 0.5
    callback.check()
    assert math.isnan(called(callback, [2.0], [1.0], 1)[0])
    # until somebody checks, no further call is made
    assert math.isnan(called(callback, [0.5], [1.0], 1)[0])
    with pytest.raises(ModelError, match="too far") as caught:
        callback.check()
    assert isinstance(caught.value.__cause__, ValueError)
    assert called(callback, [0.5], [1.0], 1)[0] == 0.5


def test_a_user_may_not_change_the_state():
    def part(x):
        x[0] = TABLE["stiffness"]
        return 1.0

    callback, x, out = (
        ArrayCallback([part], [1], n=1, n_signs=1, name="h"),
        np.array([9.0]),
        np.empty(1),
    )
    call_arrays(callback.address, x, np.ones(1), NO_P, out)
    assert x[0] == 9.0


def test_division_by_zero_gives_an_infinity():
    callback = ArrayCallback([lambda x: 1.0 / x[0]], [1], n=1, n_signs=1, name="h")
    assert called(callback, [0.0], [1.0], 1)[0] == math.inf
    callback.check()


def test_a_kernel_of_another_shape_is_refused():
    with pytest.raises(TypeError, match="takes"):
        address_of(lambda x: x)


# ---- functions of one number


def test_a_number_in_and_a_number_out():
    callback = Callback(lambda t: 3.0 * t + 1.0, "load")
    assert callback.compiled
    assert at(callback.address, 2.0) == 7.0


def test_no_function_has_the_address_zero():
    callback = Callback(None, "load")
    assert callback.address == 0
    callback.check()


def test_a_plain_function_of_a_number_is_called_back():
    callback = Callback(lambda t: TABLE["stiffness"] * t, "load")
    assert not callback.compiled
    assert at(callback.address, 4.0) == 8.0


@pytest.mark.parametrize("kind", [ValueError, ZeroDivisionError])
def test_an_exception_of_a_scalar_function_is_stored(kind):
    def load(t):
        if t > 1.0:
            raise kind("too late")
        return t

    callback = Callback(load, "UserLoad.function")
    assert not callback.compiled
    assert at(callback.address, 0.5) == 0.5
    assert math.isnan(at(callback.address, 2.0))
    assert math.isnan(at(callback.address, 0.5))
    with pytest.raises(ModelError, match=r"UserLoad.function: got .*too late"):
        callback.check()
    assert at(callback.address, 0.5) == 0.5


@pytest.mark.parametrize("scalar", [True, False])
def test_an_interrupt_stays_an_interrupt(scalar):
    def part(x):
        raise KeyboardInterrupt

    if scalar:
        callback = Callback(part, "load")
        at(callback.address, 1.0)
    else:
        callback = ArrayCallback([part], [1], n=1, n_signs=1, name="h")
        called(callback, [1.0], [1.0], 1)
    with pytest.raises(KeyboardInterrupt):
        callback.check()
