"""Lists of kernels as text: what is written is read back as the same types."""

import functools
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import types
from numba.np.numpy_support import from_dtype

from stiction.numerics.compiling import listing
from stiction.numerics.jit import kernel, running

Array = types.Array


class Pair(NamedTuple):
    a: object
    b: object


@kernel
def scaled(factor, x):
    for i in range(x.size):
        x[i] *= factor
    return x.size


@functools.cache
def power(n):
    """A kernel that a function makes, as those of elements with n functions."""

    @kernel
    def power(x):
        value = 1.0
        for _ in range(n):
            value *= x
        return value

    return power


RECORD = from_dtype(np.dtype([("time", "f8"), ("steps", "i8")]))
KINDS = [
    types.int64,
    types.int8,
    types.float64,
    types.boolean,
    Array(types.float64, 1, "C"),
    Array(types.int64, 2, "A"),
    Array(types.float64, 3, "C", readonly=True),
    RECORD,
    Array(RECORD, 1, "C"),
    from_dtype(np.dtype([("nodes", "i8", (2,)), ("time", "f8"), ("weights", "f8", (2, 4))])),
    types.NamedTuple((RECORD, Array(RECORD, 1, "A")), Pair),
    types.NamedTuple((types.int64, Array(types.float64, 1, "C")), Pair),
    types.NamedUniTuple(types.float64, 2, Pair),
    types.Tuple((types.int64, types.float64)),
    types.Tuple((types.float64, types.NamedUniTuple(types.int64, 2, Pair))),
    types.CPointer(types.float64),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_types_come_back(kind):
    assert listing.type_of_text(listing.type_text(kind)) == kind


def test_a_type_without_a_text_is_refused():
    padded = from_dtype(np.dtype([("sign", "i1"), ("time", "f8")], align=True))
    for kind in (types.unicode_type, padded):
        with pytest.raises(ValueError, match="has no notation"):
            listing.type_text(kind)


def test_what_was_called_is_listed_and_compiles():
    with running("compiled"):
        scaled(2.0, np.ones(3))
    line = f"{__name__}:scaled f8 f8:1C"
    assert line in listing.lines()
    assert listing.size_of_line(line) > 10
    listing.compile_line(f"{__name__}:scaled i8 f8:1C")
    assert (types.int64, Array(types.float64, 1, "C")) in scaled.compiled.overloads


def test_a_kernel_that_a_function_made_is_listed_by_it():
    with running("compiled"):
        assert power(3)(2.0) == 8.0
    line = f"{__name__}:power(3) f8"
    assert line in listing.lines()
    listing.compile_line(f"{__name__}:power(4) f8")
    assert (types.float64,) in power(4).compiled.overloads
