"""User functions of arrays behind an address: compiled, plain Python, and raising."""

import math

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.numerics.array_callback import ArrayCallback, address_of, call_arrays

TABLE = {"stiffness": 2.0}
NO_P = np.zeros(1)


class Spring:
    """A callable object, which Numba cannot compile."""

    def __call__(self, x):
        return [x[1], -TABLE["stiffness"] * x[0]]


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


def test_an_exception_is_kept_and_raised_later():
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
