"""What kernels take out of their arguments: not counted, whole, and never lost."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from stiction.numerics.jit import kernel

pytestmark = pytest.mark.skipif(
    os.environ.get("STICTION_KERNELS") == "plain", reason="plain Python counts for itself"
)


class Part(NamedTuple):
    """A named tuple in a named tuple."""

    c: np.ndarray
    k: int


class Held(NamedTuple):
    """Arrays that a caller holds."""

    a: np.ndarray
    b: np.ndarray
    part: Part


@kernel(allocates=True)
def first_of(held):
    """Return a field that the caller holds."""
    return held.a


@kernel(allocates=True)
def inner_of(held):
    """Return the tuple inside."""
    part = held.part
    return part


@kernel(allocates=True)
def one_of(held, which):
    """Return one of two fields under one name, given twice."""
    found = held.a
    if which:
        found = held.b
    return found


@kernel(allocates=True)
def turned(held, times):
    """Return an array that a loop makes anew, starting from what the caller holds."""
    x = held.a
    for _ in range(times):
        y = x + held.b
        x = y * held.part.k
    return x


@kernel
def sum_of(held):
    """Return the sum of a slice of all fields, through another kernel."""
    return first_of(held)[1:].sum() + inner_of(held).c.sum() + one_of(held, True)[0]


class Rows(NamedTuple):
    """Rows of a table."""

    low: np.ndarray
    high: np.ndarray


@kernel(views=True)
def rows_of(table):
    """Return the rows of a table by name."""
    return Rows(table[0], table[1])


@kernel
def gap(table):
    """Return the sum of differences of the rows, and write it to the first."""
    rows, total = rows_of(table), 0.0
    for i in range(rows.low.size):
        total += rows.high[i] - rows.low[i]
    rows.low[0] = total
    return total


def test_parts_by_name_are_not_counted():
    table = np.array([[1.0, 2.0], [4.0, 6.0]])
    before = sys.getrefcount(table)
    for _ in range(1000):
        table[0] = 1.0, 2.0
        assert gap(table) == 7.0 == rows_of(table).low[0]
    gc.collect()
    assert sys.getrefcount(table) == before
    assert table.tolist() == [[7.0, 2.0], [4.0, 6.0]]


def held():
    return Held(np.array([1.0, 2.0]), np.array([3.0, 5.0]), Part(np.array([7.0]), 2))


@pytest.mark.parametrize("mode", [False, True])
def test_what_is_returned_outlives_the_arguments(mode):
    given = held()
    found = [first_of(given), inner_of(given).c, one_of(given, mode), turned(given, 0)]
    looks = [weakref.ref(part) for part in (given.a, given.b, given.part.c)]
    saved = [part.copy() for part in found]
    del given
    gc.collect()
    waste = [np.full(2, np.nan) for _ in range(100)]
    for one, was in zip(found, saved, strict=True):
        np.testing.assert_array_equal(one, was)
    del found, one, waste
    gc.collect()
    assert [look() for look in looks] == [None, None, None]


def test_nothing_is_counted_twice_or_lost():
    given = held()
    before = [sys.getrefcount(part) for part in (given.a, given.b, given.part.c)]
    for _ in range(1000):
        first_of(given), inner_of(given), one_of(given, True), sum_of(given)
        turned(given, 3)
    gc.collect()
    assert [sys.getrefcount(part) for part in (given.a, given.b, given.part.c)] == before


def test_values_are_those_of_plain_python():
    given = held()
    for times in range(4):
        x = given.a
        for _ in range(times):
            x = (x + given.b) * 2
        np.testing.assert_array_equal(turned(given, times), x)
    assert sum_of(given) == 2.0 + 7.0 + 3.0


USER = """
    import numba
    import numpy as np
    from unit.numerics.compiling.test_borrowing import Held, Part, sum_of, turned

    @numba.njit
    def of_user(given):
        return sum_of(given) + turned(given, 1)[0]

    given = Held(np.array([1.0, 2.0]), np.array([3.0, 5.0]), Part(np.array([7.0]), 2))
    print(of_user(given), numba.njit(lambda t: t.part.k + t.a[0])(given))
"""


def test_functions_of_users_call_kernels_with_tuples(tmp_path):
    environment = {
        **os.environ,
        "STICTION_CACHE_DIR": str(tmp_path),
        "STICTION_KERNELS": "compiled",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    for _ in range(2):  # the second finds kernels on disk
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(USER)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["20.0", "3.0"]
