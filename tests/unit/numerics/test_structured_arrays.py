"""Structured arrays: elements are views, compiled and plain."""

import numpy as np
import pytest

from stiction.numerics.arrays import Struct
from stiction.numerics.jit import kernel, running


class Sample(Struct):
    time: float
    steps: int


@kernel
def fill(table):
    for k in range(len(table)):
        now = table[k]
        now.time, now.steps = 0.5 * k, k
        now.steps += 1
    table[0] = table[len(table) - 1]
    return table["time"].sum()


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_both_modes_write_the_same(mode):
    table = Sample.table(3)
    with running(mode):
        assert fill(table) == 2.5
    assert table["time"].tolist() == [1.0, 0.5, 1.0]
    assert table["steps"].tolist() == [3, 2, 3]


@kernel
def fill_row(table, i):
    for k in range(table.shape[1]):
        table[i, k].time = 0.5 * k
    return table[i, :]["time"].sum()


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_a_table_may_have_two_dimensions(mode):
    table = Sample.table((2, 3))
    with running(mode):
        assert fill_row(table, 1) == 1.5
    assert table["time"].tolist() == [[0.0, 0.0, 0.0], [0.0, 0.5, 1.0]]


def test_elements_are_views_of_copies_and_slices_too():
    table = Sample.table(3)
    table[1:][0].steps = 4
    copied = table.copy()
    copied[1].steps += 1
    assert (table[1].steps, copied[1].steps) == (4, 5)
    assert isinstance(np.concatenate([table, copied])[4], Sample)


def test_a_field_is_a_float_or_an_int():
    with pytest.raises(KeyError, match="str"):
        type("Wrong", (Struct,), {"__annotations__": {"name": "str"}})
