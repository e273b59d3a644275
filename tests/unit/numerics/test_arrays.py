"""Types of arrays in kernels: NumPy's arrays have all that they name.

What mypy refuses of kernels is in tests/meta/test_types_for_users.py, which asks it once.
"""

import numpy as np
import pytest

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector

KINDS = [
    (Integers, np.zeros(3, dtype=np.int64)),
    (Vector, np.zeros(3)),
    (Matrix, np.zeros((2, 3))),
    (Stack, np.zeros((4, 2, 3))),
]


@pytest.mark.parametrize(("kind", "array"), KINDS)
def test_arrays_of_numpy_have_what_the_protocols_name(kind, array):
    named = {name for base in kind.__mro__ for name in vars(base)} - set(vars(object))
    named = {n for n in named if n in {"shape", "size", "ctypes", "max", "copy"}}
    assert {"shape", "size", "ctypes"} <= named
    for name in named:
        assert hasattr(array, name)
    assert array.__array__().dtype == array.dtype
