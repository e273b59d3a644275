"""Kernels that are linked once: the bits of Numba's own compilation, from disk as well."""

import os
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

from stiction.numerics.compiling import clock
from stiction.numerics.compiling.linking import (
    InnerLibrary,
    OuterLibrary,
    SeparateLibrary,
    inner,
    outer,
)
from stiction.numerics.jit import kernel, running


@kernel
def weight(x, k):
    return np.exp(-x * x) / (1.0 + k)


@kernel
def total(a):
    sum_ = 0.0
    for i in range(a.size):
        sum_ += weight(a[i], float(i)) if a[i] > 0.0 else np.sin(a[i])
    return sum_


@kernel
def spread(a, out):
    for i in range(out.size):
        out[i] = total(a[i:]) + weight(a[i], 0.0)
    return total(out)


@numba.njit(error_model="numpy")
def numba_weight(x, k):
    return np.exp(-x * x) / (1.0 + k)


@numba.njit(error_model="numpy")
def numba_total(a):
    sum_ = 0.0
    for i in range(a.size):
        sum_ += numba_weight(a[i], float(i)) if a[i] > 0.0 else np.sin(a[i])
    return sum_


@numba.njit(error_model="numpy")
def numba_spread(a, out):
    for i in range(out.size):
        out[i] = numba_total(a[i:]) + numba_weight(a[i], 0.0)
    return numba_total(out)


def test_the_bits_are_numbas_own():
    a = np.random.default_rng(3).normal(size=40)
    ours, theirs = np.zeros(40), np.zeros(40)
    with running("compiled"):
        assert spread(a, ours) == numba_spread(a, theirs)
    assert np.array_equal(ours, theirs)


def test_a_kernel_that_others_call_has_no_machine_code(monkeypatch, tmp_path):
    # what is found on disk is not compiled
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path))

    @kernel
    def low(x):
        return x + 1.0

    @kernel
    def high(x):
        return 2.0 * low(x)

    with running("compiled"):
        assert high(1.0) == 4.0
    (made,) = outer(high).overloads.values()
    assert isinstance(made.library, OuterLibrary)
    (called,) = inner(low).overloads.values()
    assert isinstance(called.library, InnerLibrary)
    assert called.library.get_pointer_to_function("anything") == 0
    assert not outer(low).overloads


@kernel(separate=True)
def total_apart(a, power):
    sum_ = 0.0
    for i in range(a.size):
        sum_ += (weight(a[i], float(i)) if a[i] > 0.0 else np.sin(a[i])) * power
    return sum_


@kernel
def spread_apart(a, out):
    for i in range(out.size):
        out[i] = total_apart(a[i:], 1) + weight(a[i], 0.0)
    return total_apart(out, 1)


def test_a_kernel_apart_is_jumped_to():
    """To the same bits, from kernels and from Python; it is lowered once."""
    a = np.random.default_rng(3).normal(size=40)
    ours, theirs = np.zeros(40), np.zeros(40)
    with running("compiled"):
        assert spread_apart(a, ours) == spread(a, theirs)
        assert total_apart(a, 1) == numba_total(a)
    assert np.array_equal(ours, theirs)
    (made,) = inner(total_apart).overloads.values()
    assert isinstance(made.library, SeparateLibrary)
    assert outer(total_apart) is inner(total_apart)
    (whole,) = outer(spread_apart).overloads.values()
    assert whole.library.callees == [made.library]
    assert made.fndesc.mangled_name not in whole.library._own_names


def test_callers_of_a_separate_kernel_are_not_cached(tmp_path):
    """It would jump to a place of this process."""
    source = tmp_path / "theirs.py"
    source.write_text("import numba\n\n@numba.njit(cache=True)\ndef f(a):\n    return g(a, 1)\n")
    found = {"__file__": str(source), "__name__": "theirs", "g": total_apart}
    exec(compile(source.read_text(), str(source), "exec"), found)
    a = np.array([0.5, -1.0, 2.0])
    with pytest.warns(numba.NumbaWarning, match="dynamic globals"):
        assert found["f"](a) == numba_total(a)


def test_numbas_own_functions_may_call_kernels():
    """What a user compiles links all that lies below a kernel."""

    @numba.njit
    def theirs(a):
        return total(a) + 1.0

    a = np.array([0.5, -1.0, 2.0])
    assert theirs(a) == numba_total(a) + 1.0


MODULES = {
    "low.py": """
        from stiction.numerics.jit import kernel

        @kernel
        def low(x):
            return x + 1.0
    """,
    "mid.py": """
        from low import low
        from stiction.numerics.jit import kernel

        @kernel
        def mid(x):
            return 2.0 * low(x)
    """,
    "one.py": """
        from mid import mid
        from stiction.numerics.jit import kernel

        @kernel
        def one(x):
            return mid(x) + 100.0
    """,
    "two.py": """
        from low import low
        from mid import mid
        from stiction.numerics.jit import kernel

        @kernel
        def two(x):
            return mid(x) + low(x)
    """,
}
CALL = """
import numba.core.event as ev
with ev.install_recorder("numba:compile") as seen:
    from {name} import {name}
    value = {name}(3.0)
names = [e.data["dispatcher"].py_func.__name__ for _, e in seen.buffer if e.is_start]
print(value, *sorted(names))
"""


@pytest.fixture
def place(tmp_path):
    for name, text in MODULES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def call(place, name):
    environment = {
        **os.environ,
        "STICTION_CACHE_DIR": str(place / "saved"),
        "STICTION_KERNELS": "compiled",
    }
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(name=name)],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    value, *names = done.stdout.split()
    return float(value), names


def test_inner_kernels_of_one_process_are_linked_by_another(place):
    assert call(place, "one") == (108.0, ["low", "mid", "one"])
    assert call(place, "two") == (12.0, ["two"])
    assert call(place, "one") == (108.0, [])


def test_an_edit_below_is_seen_through_cached_inner_kernels(place):
    call(place, "one")
    call(place, "two")
    source = place / "low.py"
    source.write_text(source.read_text().replace("x + 1.0", "x + 2.0"))
    assert call(place, "two") == (15.0, ["low", "mid", "two"])
    # one is compiled again, and finds the inner kernels that two left
    assert call(place, "one") == (110.0, ["one"])


def test_an_inner_kernel_that_was_lost_is_made_again(place):
    call(place, "one")
    for path in (place / "saved").glob("low-*"):
        path.unlink()
    assert call(place, "two") == (12.0, ["low", "two"])


@pytest.fixture
def apart(place):
    """The same, with what lies below both in machine code of its own."""
    source = place / "mid.py"
    source.write_text(source.read_text().replace("@kernel", "@kernel(separate=True)"))
    return place


def test_a_kernel_apart_is_found_by_another_process(apart):
    assert call(apart, "one") == (108.0, ["low", "mid", "one"])
    assert call(apart, "two") == (12.0, ["two"])
    assert call(apart, "one") == (108.0, [])
    (saved,) = (apart / "saved").glob("mid-*")
    assert saved.suffix == ".kernel"
    saved.unlink()
    # the kernel that jumps to it is still there
    assert call(apart, "one") == (108.0, ["mid"])


def test_an_edit_below_a_kernel_apart_is_seen(apart):
    call(apart, "one")
    call(apart, "two")
    source = apart / "low.py"
    source.write_text(source.read_text().replace("x + 1.0", "x + 2.0"))
    assert call(apart, "two") == (15.0, ["low", "mid", "two"])
    assert call(apart, "one") == (110.0, ["one"])


def test_symbols_of_structured_arrays_are_the_same_in_all_processes(tmp_path):
    script = tmp_path / "symbols.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys

            import numba
            import numpy as np

            from stiction.numerics.arrays import Struct
            from stiction.numerics.compiling.linking import inner
            from stiction.numerics.jit import kernel


            class Place(Struct):
                x: float
                at: int


            @kernel
            def x_of(places):
                return places[0].x


            # types that only this process has met
            for i in range(int(sys.argv[1])):
                numba.from_dtype(np.dtype([(f"field{i}", "f8")]))
            made = inner(x_of)
            made.compile((numba.typeof(Place.table()),))
            (found,) = made.overloads.values()
            print(found.fndesc.mangled_name)
            """
        )
    )
    names = [
        subprocess.run(
            [sys.executable, str(script), count],
            # each compiles by itself
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / count)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for count in ("0", "50")
    ]
    assert "x_of" in names[0]
    assert names[0] == names[1]


def test_what_python_calls_is_announced_and_nothing_below_it(monkeypatch, tmp_path):
    """A kernel apart too, if Python is the one that calls it."""
    monkeypatch.setenv("STICTION_CACHE_DIR", str(tmp_path))
    said = []
    monkeypatch.setattr(clock, "announce", lambda module, name, size: said.append(name))

    @kernel(separate=True)
    def below(x):
        return x + 1.0

    @kernel(separate=True)
    def above(x):
        return 2.0 * below(x)

    with running("compiled"):
        assert above(3.0) == 8.0
    assert said == ["above"]
