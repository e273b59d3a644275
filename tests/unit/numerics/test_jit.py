"""Kernels in both modes: the same answers, and no Numba where nothing is compiled."""

import math
import subprocess
import sys

import numpy as np
import pytest

from stiction.numerics import jit
from stiction.numerics.callback import (
    Callback,
    PythonFunction,
    at,
    call,
    call_arrays,
    call_at,
    carray,
    entry_at,
    row_at,
)
from stiction.numerics.jit import kernel, mode, py_function, quiet, running, use


@kernel
def doubled(x):
    return 2.0 * x


@kernel
def over_zero(x):
    return doubled(x) / np.float64(0.0)


@kernel(plain=lambda x: -1.0)
def with_another_body(x):
    return x


@kernel
def through(x):
    return with_another_body(x)


@kernel
def summed(address, table, out):
    """Call a function of rows and entries of a table."""
    call_at(address, row_at(table, 1), entry_at(table, 0, 2), at(table), at(out))
    call_arrays(address, table[1], table[0, 2:], table[0], out)
    return out[0]


def add_up(x_at, s_at, p_at, out_at):
    x, s, p, out = carray(x_at, (3,)), carray(s_at, (1,)), carray(p_at, (2,)), carray(out_at, (1,))
    out[0] += x[0] + x[1] + x[2] + 10.0 * s[0] + 100.0 * p[1]


@kernel
def called(address, x):
    return call(address, x) + 1.0


@pytest.fixture(params=["compiled", "plain"])
def either(request):
    with running(request.param):
        yield request.param


def test_both_modes_give_the_same(either):
    assert mode() == either
    assert doubled(3.0) == 6.0
    with quiet():
        assert over_zero(1.0) == math.inf


def test_another_body_serves_plain_runs_alone():
    with running("plain"):
        assert through(3.0) == -1.0
    with running("compiled"):
        assert through(3.0) == 3.0
    assert py_function(with_another_body)(3.0) == 3.0


def test_the_mode_comes_back_after_an_error():
    before = mode()
    with pytest.raises(RuntimeError, match="in between"), running("plain"):
        raise RuntimeError("in between")
    assert mode() == before


def test_what_is_called_later_takes_the_mode_of_then():
    before = mode()
    try:
        use("plain")
        assert doubled._run is doubled.py_func
        use("compiled")
        assert doubled(2.0) == 4.0
        assert doubled._run is doubled.compiled
    finally:
        use(before)


def test_places_of_arrays_mean_the_same(either):
    from stiction.numerics.callback import address_of

    holder = address_of(add_up)
    table = np.arange(6.0).reshape(2, 3)
    # 3 + 4 + 5 and ten times table[0, 2] and a hundred times table[0, 1], twice
    assert summed(holder.address, table, np.zeros(1)) == 2.0 * (12.0 + 20.0 + 100.0)


def test_a_callback_has_an_address_that_both_modes_call(either):
    callback = Callback(lambda x: x * x, "here")
    assert callback.compiled == (either == "compiled")
    assert called(callback.address, 3.0) == 10.0
    # made in one mode and called in the other, it is slow and right
    with running("plain" if either == "compiled" else "compiled"):
        assert called(callback.address, 3.0) == 10.0


def test_a_python_function_is_forgotten_with_its_owner():
    from stiction.numerics import callback

    holder = PythonFunction(lambda x: x, callback._C_SCALAR)
    address = holder.address
    assert callback.python_at(address, callback._C_SCALAR)(2.0) == 2.0
    del holder
    assert address not in callback._PYTHON


def test_a_plain_run_needs_no_numba():
    code = (
        "import sys, stiction as st\n"
        "run = st.read_scenario('slip-wave').solve()\n"
        "assert run.provenance['kernels'] == 'plain', run.provenance\n"
        "assert not [m for m in ('numba', 'llvmlite') if m in sys.modules]\n"
    )
    environment = {"STICTION_KERNELS": "plain", "PATH": "", "HOME": "/"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, "None"),
        ({"STICTION_KERNELS": "plain"}, "plain"),
        ({"STICTION_KERNELS": " Compiled"}, "compiled"),
        ({"STICTION_KERNELS": "auto"}, "None"),
        ({"NUMBA_DISABLE_JIT": "1"}, "plain"),
    ],
)
def test_the_environment_chooses(variables, wanted):
    code = "from stiction.numerics.jit import GIVEN; print(GIVEN)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": "", **variables}, capture_output=True, text=True
    )
    assert done.stdout.strip() == wanted, done.stderr


def test_a_word_that_is_no_mode_is_reported():
    code = "from stiction.numerics.jit import GIVEN; print(GIVEN)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": "", "STICTION_KERNELS": "fast"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "None"
    assert "must be auto, compiled or plain" in done.stderr


def test_every_kernel_of_the_package_is_known_by_its_name():
    """`stiction compile` and the store find kernels as attributes of their modules."""
    import importlib

    for one in jit.KERNELS:
        plain = one.py_func
        if plain.__module__.startswith("stiction.") and "<" not in plain.__qualname__:
            assert getattr(importlib.import_module(plain.__module__), plain.__qualname__) is one


def test_no_kernel_that_counts_references_takes_parts_of_arrays():
    """A kernel with borrowed references returns views uncounted; one that counts frees them."""
    import ast
    import pathlib

    lends, counts = set(), {}
    for path in pathlib.Path(jit.__file__).parents[1].rglob("*.py"):
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(one, ast.FunctionDef):
                continue
            made = " ".join(ast.unparse(decorator) for decorator in one.decorator_list)
            if "kernel" in made and "views=True" in made:
                lends.add(one.name)
            if "kernel" in made and "allocates=True" in made:
                calls = (call.func for call in ast.walk(one) if isinstance(call, ast.Call))
                counts[one.name] = {name.id for name in calls if isinstance(name, ast.Name)}
    assert len(lends) > 10
    assert len(counts) > 30
    assert [name for name, called in counts.items() if called & lends] == []
