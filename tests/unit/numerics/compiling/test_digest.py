"""What names a kernel on disk: everything its code depends on, and nothing else."""

import collections
import textwrap
from typing import NamedTuple

import numba
import numpy as np
import pytest

from stiction.numerics.arrays import Struct
from stiction.numerics.compiling import native
from stiction.numerics.compiling.digest import bytes_of, digest_of, reached_by, text_of_type

HEAD = """
import enum, math
import numpy as np
from typing import NamedTuple
from stiction.numerics.jit import kernel

class Pair(NamedTuple):
    a: float
    b: float

class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2

def made(k):
    @kernel
    def times(x):
        return k * x
    return times
"""


def digest(text, given=None):
    """Return the digest of f in a module of this text."""
    scope = {"__name__": "somewhere"} if given is None else given
    exec(textwrap.dedent(HEAD) + textwrap.dedent(text), scope)
    return digest_of(scope["f"])


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("def g(x, k=2.0): return k * x\ndef f(x): return g(x)", "k=2.0", "k=3.0"),
        ("def g(x, *, k=2.0): return k * x\ndef f(x): return g(x)", "k=2.0", "k=3.0"),
        ("def g(a, b): return a - b\ndef f(x): return g(a=x, b=1.0)", "(a, b)", "(b, a)"),
        (
            "a, b = made(2.0), made(3.0)\n@kernel\ndef f(x): return a(x) - b(x)",
            "made(2.0), made(3.0)",
            "made(3.0), made(2.0)",
        ),
        ("at = Side.LEFT\ndef f(s): return s == at", "at = Side.LEFT", "at = Side.RIGHT"),
        ("at = Pair(1.0, 2.0)\ndef f(x): return at.a", "Pair(1.0, 2.0)", "Pair(2.0, 1.0)"),
        ("at = Pair(1.0, 2.0)\ndef f(x): return at.a", "at = Pair(1.0, 2.0)", "at = (1.0, 2.0)"),
        (
            "at = np.array([(1.0, 2.0)], dtype=[('a', 'f8'), ('b', 'f8')])\n"
            "def f(x): return at[0]['a']",
            "[('a', 'f8'), ('b', 'f8')]",
            "[('b', 'f8'), ('a', 'f8')]",
        ),
        ("part = slice(1, 3)\ndef f(x): return x[part]", "slice(1, 3)", "slice(0, 3)"),
        ("def f(x): return (lambda y: y + 1)(x)", "y + 1", "y + 2"),
        ("def f(x): return x * math.pi", "math.pi", "math.e"),
        ("at = (1, (2.0, 3.0))\ndef f(x): return at[1][0]", "2.0", "4.0"),
        ("at = -0.0\ndef f(x): return x + at", "-0.0", "0.0"),
        ("at = 1\ndef f(x): return x + at", "at = 1", "at = 1.0"),
        ("at = 1\ndef f(x): return x + at", "at = 1", "at = True"),
        ("at = np.zeros(2)\ndef f(x): return x + at[0]", "zeros", "ones"),
        ("@kernel(inline=False)\ndef g(x): return x\ndef f(x): return g(x)", "False", "True"),
        (
            "@kernel(allocates=True)\ndef g(x): return x\n@kernel\ndef f(x): return g(x)",
            "(allocates=True)",
            "",
        ),
        ("def f(x):\n  2.0\n  return 2.0 * x\nf.__doc__ = 'words'", "2.0 * x", "3.0 * x"),
    ],
)
def test_what_counts(text, old, new):
    assert old in text
    assert digest(text) != digest(text.replace(old, new))
    assert digest(text) == digest(text)


def test_the_layout_of_what_is_read_at_an_address_counts():
    """A field that is added to a structured array moves the others."""
    text = "K = np.dtype([('a', 'f8'), ('b', 'f8')])\ndef f(x): return carray(x, 1, K)"
    places = {"np": np, "carray": len}
    assert digest(text, dict(places)) == digest(text, dict(places))
    moved = text.replace("('b'", "('new', 'i8'), ('b'")
    assert digest(text, dict(places)) != digest(moved, dict(places))

    class One(Struct):
        a: float
        b: float

    class Two(Struct):
        a: float
        new: int
        b: float

    Two.__qualname__ = One.__qualname__
    assert bytes_of(One) != bytes_of(Two)


def test_what_does_not_count():
    text = "def g(x): return x\n@kernel\ndef f(x):\n    'Words.'\n    y = g(x)\n    return y"
    assert digest(text) == digest(text.replace("Words", "Other words").replace("y", "z"))
    assert digest(text) == digest("\n# a comment\n\n" + text)


def test_what_exec_made_without_a_module_has_a_digest():
    assert digest("def f(x): return x", {}) != digest("def f(x): return 2.0 * x", {})


def test_kernels_that_call_each_other():
    text = "def g(x): return f(x - 1.0)\ndef f(x): return g(x) if x > 0.0 else 5.0"
    assert digest(text) == digest(text)
    assert digest(text) != digest(text.replace("- 1.0", "- 2.0"))


def test_what_only_compiled_code_can_do_counts():
    from stiction.numerics.callback import call_arrays

    reached = reached_by(call_arrays)
    assert native.call_arrays._defn in reached
    # what the intrinsic calls in turn is part of the code that it makes
    assert native._called in reached


class Here(NamedTuple):
    a: float
    b: float


def test_types_are_distinguished():
    two = numba.types.NamedUniTuple
    there = collections.namedtuple("Here", "b a")
    real = numba.float64
    one, other = two(real, 2, Here), two(real, 2, there)
    assert str(one) == str(other)
    assert text_of_type((one,)) != text_of_type((other,))
    assert text_of_type(one) != text_of_type(numba.types.UniTuple(real, 2))
    nested = numba.types.Tuple((one, real)), numba.types.Tuple((other, real))
    assert text_of_type(nested[0]) != text_of_type(nested[1])
    assert text_of_type(real(one)) != text_of_type(real(other))
    functions = [numba.njit(lambda x, k=k: k * x) for k in (1, 2, 2)]
    texts = [text_of_type(numba.typeof(function)) for function in functions]
    assert texts[0] != texts[1] == texts[2]
    assert text_of_type(numba.typeof(np.zeros(2))) == str(numba.typeof(np.zeros(2)))
