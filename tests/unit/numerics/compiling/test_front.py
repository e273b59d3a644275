"""What kernels do by fewer instructions than Numba makes: entries, slices, ranges, calls, names."""

import os

import numba
import numpy as np
import pytest

from stiction.numerics.compiling.front.naming import given_once
from stiction.numerics.jit import kernel

pytestmark = pytest.mark.skipif(
    os.environ.get("STICTION_KERNELS") == "plain", reason="plain Python has no front end"
)

PLACES = (-3, -2, -1, 0, 1, 2)


@kernel
def read_two(a, i, j):
    """Return entries by places that are given, and by constants from either end."""
    return a[i, j] + 10.0 * a[-1, 0] + 100.0 * a[0, -2] + 1000.0 * a[i][j]


@kernel
def read_one(x, i):
    """Return an entry of a vector in all ways."""
    return x[i] + 10.0 * x[-1] + 100.0 * x[np.uint8(1)]


@kernel
def write_two(a, i, j, value):
    """Write to entries; numbers become what the array holds."""
    a[i, j] = value
    a[-1, 0] = i
    a[0, -1] += 0.5


@kernel
def row(a, i):
    """Return a row."""
    return a[i]


@kernel
def column(a, j):
    """Return a column."""
    return a[:, j]


@kernel
def part(a, first, last):
    """Return rows between two places, of all but the first column."""
    return a[first:last, 1:]


@kernel
def end_of(a, first):
    """Return rows from a place on."""
    return a[first:]


@kernel
def every_other(a):
    """Return every other row, which Numba slices itself."""
    return a[::2]


@kernel
def inside(a, i, j):
    """Return an entry of a view of a view."""
    return a[1:, :-1][i, 1:][j]


def arrays():
    a = np.arange(12.0).reshape(3, 4)
    wide = np.arange(96.0).reshape(6, 16)
    return {
        "rows": a,
        "columns": np.asfortranarray(a),
        "with strides": wide[::2, 1:9:2],
        "turned": wide[::-2, 9:1:-2],
        "across": wide.T[1:9:3, :4],
        "whole": np.arange(12).reshape(3, 4),
    }


@pytest.mark.parametrize("name", list(arrays()))
def test_entries_are_those_of_numpy(name):
    a = arrays()[name]
    for i in PLACES:
        for j in (*PLACES, 3, -4):
            assert read_two(a, i, j) == read_two.py_func(a, i, j)
    for j in range(4):
        for i in PLACES:
            assert read_one(a[:, j], i) == read_one.py_func(a[:, j], i)


@pytest.mark.parametrize("name", list(arrays()))
def test_slices_are_those_of_numpy(name):
    a = arrays()[name]
    for i in PLACES:
        np.testing.assert_array_equal(row(a, i), a[i])
        np.testing.assert_array_equal(column(a, i), a[:, i])
        for found, made in ((row(a, i), a[i]), (column(a, i), a[:, i])):
            assert found.strides == made.strides
            assert np.shares_memory(found, a)
    for first in range(-5, 6):
        np.testing.assert_array_equal(end_of(a, first), a[first:])
        for last in range(-5, 6):
            found = part(a, first, last)
            np.testing.assert_array_equal(found, a[first:last, 1:])
            assert found.size == a[first:last, 1:].size
    np.testing.assert_array_equal(every_other(a), a[::2])
    for i in (-2, -1, 0, 1):
        assert inside(a, i, 1) == a[1:, :-1][i, 1:][1]


@pytest.mark.parametrize("name", list(arrays()))
@pytest.mark.parametrize("value", [2.75, 3, True])
def test_entries_are_written_as_numpy_writes_them(name, value):
    ours, theirs = arrays()[name].copy(order="K"), arrays()[name].copy(order="K")
    for i, j in ((0, 0), (-1, -2), (2, 3), (1, -4)):
        write_two(ours, i, j, value)
        write_two.py_func(theirs, i, j, value)
    np.testing.assert_array_equal(ours, theirs)


@kernel
def counted(first, last, out):
    """List the numbers of ranges with steps of all kinds; return how many there are."""
    n = 0
    for i in range(last):
        out[n] = i
        n += 1
    for i in range(first, last):
        out[n] = i
        n += 1
    for i in range(first, last, 3):
        out[n] = i
        n += 1
    for i in range(last, first, -1):
        out[n] = i
        n += 1
    for i in range(last, first, -4):
        out[n] = i
        n += 1
    for i in range(1, 6, 2):
        for k in range(i, -2, -2):
            if k == 2:
                continue
            if k == -1:
                break
            out[n] = 10 * i + k
            n += 1
    return n


@kernel
def stepped(first, last, step, out):
    """List a range whose step is not a constant, which Numba counts itself."""
    n = 0
    for i in range(first, last, step):
        out[n] = i
        n += 1
    return n


def test_ranges_run_over_the_numbers_of_python():
    for first in range(-4, 8):
        for last in range(-4, 8):
            ours, theirs = np.zeros((2, 200), dtype=np.int64)
            assert counted(first, last, ours) == counted.py_func(first, last, theirs)
            np.testing.assert_array_equal(ours, theirs)
            for step in (-3, -1, 1, 2):
                n = stepped(first, last, step, ours)
                assert list(ours[:n]) == list(range(first, last, step))


def test_a_range_may_change_its_bounds_and_its_number():
    assert drifting(5) == drifting.py_func(5) == 30


@kernel
def drifting(n):
    """Change what a range was made of, and the number itself, inside the loop."""
    total = 0
    for i in range(n):
        n = 100
        i *= 3
        total += i
    return total


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


@kernel
def on_some_ways(x, n):
    """Give names before, inside and after branches and loops, some of them twice."""
    held = x
    first = held[0]
    if n > 2:
        second = first + held[1]
        third = second * 2.0
    else:
        third = first - 1.0
    for i in range(n):
        fourth = third + i
        if fourth > 5.0:
            third = fourth
    return third + held[-1]


@pytest.mark.parametrize("n", [0, 2, 3, 9])
def test_names_are_what_they_were_given(n):
    x = np.array([1.5, 2.5, -4.0])
    assert on_some_ways(x, n) == on_some_ways.py_func(x, n)


def test_names_given_once_before_their_uses_are_found():
    code = numba.core.compiler.run_frontend(on_some_ways.py_func)
    found = given_once(code.blocks)
    assert {"held", "first"} <= set(found)
    assert not any(name == "third" or name.startswith("third.") for name in found)
