"""Structured arrays: elements are views, compiled and plain."""

from typing import Annotated

import numpy as np
import pytest

from stiction.numerics.arrays import Integers, Matrix, Struct, Vector
from stiction.numerics.jit import kernel, running


class Sample(Struct):
    time: float
    steps: int


class Pair(Struct):
    nodes: Annotated[Integers, 2]
    normal: Annotated[Vector, 3]
    weights: Annotated[Matrix, 2, 4]


@kernel
def weigh(table, to):
    for k in range(len(table)):
        pair = table[k]
        for side in range(2):
            pair.nodes[side] = 10 * k + side
            pair.weights[side, 3] = 1.5
        pair.normal[2] = pair.weights[1, 3] + pair.nodes[1]
    to[0] = table[len(table) - 1]
    return to[0].normal[2]


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


@pytest.mark.parametrize("mode", ["compiled", "plain"])
def test_fields_are_arrays_too(mode):
    table, other = Pair.table(2), Pair.table()
    with running(mode):
        assert weigh(table, other) == 12.5
    assert table["nodes"].tolist() == [[0, 1], [10, 11]]
    assert other[0] == table[1]
    assert table[1].weights.shape == (2, 4)
    table[0].normal = 1.0, 2.0, 3.0
    assert table["normal"].tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 12.5]]


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


def test_elements_and_parts_are_joined_into_arrays_with_attributes():
    table = Sample.table(2)
    table[1].steps = 5
    copies = Sample.stacked([table[1], table[0]])
    table[1].steps = 6
    assert copies["steps"].tolist() == [5, 0]
    joined = Sample.joined([copies, table])
    assert [one.steps for one in joined] == [5, 0, 0, 6]
    assert len(Sample.joined([])) == len(Sample.stacked([])) == 0


def test_a_field_is_a_float_or_an_int():
    with pytest.raises(KeyError, match="str"):
        type("Wrong", (Struct,), {"__annotations__": {"name": "str"}})
