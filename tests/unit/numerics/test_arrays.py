"""Types of arrays in kernels: what mypy refuses, and that NumPy's arrays have all they name."""

import subprocess
import sys

import numpy as np
import pytest

from stiction.numerics.arrays import Integers, Matrix, Stack, Vector

KINDS = [
    (Integers, np.zeros(3, dtype=np.int64)),
    (Vector, np.zeros(3)),
    (Matrix, np.zeros((2, 3))),
    (Stack, np.zeros((4, 2, 3))),
]

# each function is right but for its last line; the line tells what mypy must say of it
SOURCE = """
import numpy as np
from stiction.numerics.arrays import Integers, Matrix, Stack, Vector
from stiction.numerics.jit import kernel


@kernel
def right(x: Vector, a: Matrix, b: Stack, order: Integers) -> float:
    x[0] = a[order[0], 1]
    a[1] = b[0, 1]
    x[1:] = a[1, 1:]
    part: Vector = a[0]
    whole: Matrix = b[1]
    return x[0] * a[0, 1] + b[0, 1, 2] + part.size + whole[0, 0]


def called() -> float:
    b = np.zeros((2, 3, 4))
    return right(b[0, 0], b[0], b, np.zeros(2, dtype=np.int64))


@kernel
def a_vector_is_no_number(x: Vector) -> float:
    return x  # return-value


@kernel
def a_slice_is_no_number(x: Vector) -> float:
    return x[1:]  # return-value


@kernel
def a_row_is_no_number(a: Matrix) -> float:
    return a[1]  # return-value


@kernel
def a_matrix_is_no_vector(a: Matrix) -> float:
    return a_slice_is_no_number(a)  # arg-type


def integers_are_no_floats(order: Integers) -> float:
    return a_slice_is_no_number(order)  # arg-type


def numpy_tells_kinds_of_numbers_apart() -> float:
    marks = np.zeros(2, dtype=np.int64)
    return a_slice_is_no_number(marks)  # arg-type


def an_entry_of_numpy_is_anything() -> float:
    return np.zeros(2)[0]  # no-any-return
"""


@pytest.mark.parametrize(("kind", "array"), KINDS)
def test_arrays_of_numpy_have_what_the_protocols_name(kind, array):
    named = {name for base in kind.__mro__ for name in vars(base)} - set(vars(object))
    named = {n for n in named if n in {"shape", "size", "ctypes", "max", "copy"}}
    assert {"shape", "size", "ctypes"} <= named
    for name in named:
        assert hasattr(array, name)
    assert array.__array__().dtype == array.dtype


def test_mypy_refuses_what_is_no_number(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    done = subprocess.run(
        [*command, "--ignore-missing-imports", f"--cache-dir={tmp_path}", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named mypy" in done.stderr:
        pytest.skip("mypy is not installed; it comes with the extra 'lint'")
    lines = enumerate(SOURCE.splitlines(), start=1)
    wanted = {number: line.split("# ")[1] for number, line in lines if "# " in line}
    found = {}
    for line in done.stdout.splitlines():
        if line.startswith(str(path)) and ": error: " in line:
            found[int(line.split(":")[1])] = line.rsplit("[", 1)[1].rstrip("]")
    assert found == wanted, done.stdout
