"""A user's function with those it calls: compiled, known again, or who is in the way."""

import functools
import math
import os
import re
import types

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.special import erf

from stiction import Coulomb
from stiction.numerics.compiling.user_functions import (
    compiled_user,
    culprit,
    fingerprint,
    may_raise,
    returning_tuples,
)

SLOPE = 3.0
WEIGHTS = [1.0, 2.0]
TABLE = {"k": 2.0}
MODULE = types.ModuleType("own_laws")
exec("from math import exp\ndef fall(v):\n    return exp(-v)", MODULE.__dict__)


def line(v):
    return SLOPE * v + WEIGHTS[1]


def twice(v):
    return 2.0 * line(v)


def factorial(k):
    return 1.0 if k < 0.5 else k * factorial(k - 1.0)


def careful(v):
    if v < 0.0:
        raise ValueError("negative")
    return v


def tabulated(v):
    return TABLE["k"] * v


def slope_of(k, shift=0.5):
    def inner(v):
        return k * v + shift

    return inner


@pytest.mark.parametrize(
    "function",
    [
        lambda v: twice(v) + line(v),
        lambda v: MODULE.fall(v) + math.sin(v),
        lambda v, inner=3.0: factorial(round(v)) + inner,
        slope_of(0.25),
        lambda v: sum([line(u) for u in (v, 2.0 * v)]),
        lambda v: np.exp(-line(v)),
    ],
    ids=["nested", "module", "recursive", "closure", "comprehension", "library"],
)
def test_helpers_are_compiled_too(function):
    compiled = compiled_user(function)
    assert compiled(4.0) == pytest.approx(function(4.0), rel=1e-15)
    assert compiled.signatures


def test_two_functions_that_call_each_other():
    def even(k):
        return 1.0 if k < 0.5 else odd(k - 1.0)

    def odd(k):
        return 0.0 if k < 0.5 else even(k - 1.0)

    assert compiled_user(even)(4.0) == 1.0
    assert compiled_user(even)(5.0) == 0.0


def test_a_list_that_is_returned():
    def both(v):
        saved = [v, 1]
        if v > 2.0:
            return [v, saved[1]]
        return [0.5 * v, 2.0 * v]

    fast = returning_tuples(both)
    assert fast(4.0) == (4.0, 1)
    assert fast(1.0) == (0.5, 2.0)
    assert both(1.0) == [0.5, 2.0]
    assert returning_tuples(line) is line


def test_what_is_referred_to_is_frozen():
    held = [1.0]

    def part(v):
        return held[0] * v

    compiled = compiled_user(part)
    held[0] = 5.0
    assert compiled(2.0) == 2.0


def test_fingerprints():
    assert fingerprint(slope_of(1.0)) == fingerprint(slope_of(1.0))
    assert fingerprint(slope_of(1.0)) != fingerprint(slope_of(2.0))
    assert fingerprint(slope_of(0.0)) != fingerprint(slope_of(-0.0))
    assert fingerprint(slope_of(1)) != fingerprint(slope_of(1.0))
    assert fingerprint(slope_of(line)) != fingerprint(slope_of(factorial))
    assert fingerprint(slope_of(np.ones(3))) != fingerprint(slope_of(np.zeros(3)))
    assert fingerprint(slope_of(TABLE)) != fingerprint(slope_of({"k": 3.0}))
    assert fingerprint(functools.partial(line)) != fingerprint(functools.partial(line, v=2.0))
    for other in (CubicSpline([0.0, 1.0], [0.0, 1.0]), Law, {"k": Law}):
        assert fingerprint(slope_of(other)) is None
        assert fingerprint(slope_of(other), objects=True) is not None
    assert "environ" in fingerprint(slope_of(os.environ), objects=True)
    loop = {"k": 1.0}
    loop["loop"] = loop
    assert fingerprint(slope_of(loop)) is None


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (math.exp, "math.exp"),
        (erf, "scipy.special.erf"),
        (Coulomb, "stiction.laws.coulomb.Coulomb"),
    ],
)
def test_a_library_is_known_by_name_in_every_process(value, name):
    assert name in fingerprint(slope_of(value))
    # an address differs between processes
    assert id(value) not in fingerprint(slope_of(value))


def test_a_global_that_changes_is_seen(monkeypatch):
    before = fingerprint(twice)
    monkeypatch.setitem(globals(), "SLOPE", 4.0)
    assert fingerprint(twice) != before


def test_attributes_are_no_globals(monkeypatch):
    before = fingerprint(lambda v, p: p.SLOPE * v)
    monkeypatch.setitem(globals(), "SLOPE", 4.0)
    assert fingerprint(lambda v, p: p.SLOPE * v)[1:] == before[1:]


def test_raising_is_seen_through_calls():
    assert may_raise(lambda v: careful(v))
    assert not may_raise(twice)
    assert may_raise(functools.partial(line))


class Law:
    """A law as an object."""

    factor = 2.0

    def force(self, v):
        return self.factor * v


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda v: twice(tabulated(v)), "'TABLE', a dict, to which tabulated refers"),
        (lambda v: TABLE["k"] * v, "'TABLE', a dict"),
        (slope_of(Law()), "'k', a .*Law"),
        (slope_of(CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])), "'k', a .*CubicSpline"),
        (lambda v: careful(v), "careful, which raises"),
        (functools.partial(line), "partial"),
        (Law().force, "Law.force, a method"),
    ],
)
def test_culprits_have_names(function, words):
    assert re.search(words, culprit([twice, function]))


def test_what_only_the_compiler_sees_is_reported_with_its_place():
    import numba

    def part(v):
        return np.polynomial.chebyshev.chebval(v, [1.0, 2.0])

    with pytest.raises(numba.core.errors.NumbaError) as caught:
        compiled_user(part)(1.0)
    reported = culprit([part], caught.value)
    assert "chebval" in reported
    assert "line" in reported
    assert "\n" not in reported
