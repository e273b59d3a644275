"""When two descriptions are the same."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import stiction as st
from stiction.numerics import checks
from stiction.numerics.checks import Record, memory_of_machine, number, numbers, whole


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Thing(Record):
    value: object


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ({"a": np.arange(3.0)}, {"a": np.arange(3.0)}, True),
        ({"a": np.arange(3.0)}, {"a": np.arange(4.0)}, False),
        ({"a": 1.0}, {"b": 1.0}, False),
        ({"a": 1.0}, None, False),
        (None, {"a": 1.0}, False),
        (np.arange(3.0), [0.0, 1.0, 2.0], True),
        (1.0, 1.0, True),
    ],
)
def test_things_are_the_same_if_all_their_fields_are(one, two, same):
    assert (Thing(one) == Thing(two)) is same


def test_memory_of_this_machine(monkeypatch):
    if hasattr(checks.os, "sysconf"):
        # more than an interpreter with NumPy takes, less than any machine has
        assert 1 << 27 < memory_of_machine() < 1 << 50
    monkeypatch.delattr(checks.os, "sysconf", raising=False)
    assert memory_of_machine() == 16 << 30


@pytest.mark.parametrize(
    ("make", "words"),
    [
        # `friction` is the class of the field `law`
        (lambda: st.Chain(1.0, 20.0, friction=st.Coulomb(0.2)), r"\.friction: got Coulomb.* 'law'"),
        (lambda: st.Chain(1.0, stifness=20.0), r"Chain\.stifness: got 20.* 'stiffness'\?"),
        (lambda: st.Chain(mass=1.0), r"Chain: got no stiffness; needs mass, stiffness"),
        (lambda: st.chains.UserLoad(1.0, time=2.0), r"UserLoad\.time: got 2"),
        (lambda: st.Coulomb(0.3, 4, 5), r"Coulomb: got 3 arguments .* at most 1: mu"),
        (lambda: st.Coulomb(0.3, mu=0.4), r"Coulomb: got mu twice"),
    ],
)
def test_wrong_arguments_are_explained(make, words):
    with pytest.raises(st.ModelError, match="(?s)" + words):
        make()


def test_values_of_another_kind_are_no_numbers():
    why = {"why": "why.", "try_": "try."}
    masked = np.ma.masked_array([1.0, 9.96921e36], mask=[False, True])
    singles = [masked[1], np.complex128(1 + 2j), np.datetime64("2020"), np.timedelta64(5, "ms")]
    for one in singles:
        with pytest.raises(st.ModelError, match="x: got"):
            number("x", one, **why)
        with pytest.raises(st.ModelError, match="x: got"):
            numbers("x", [1.0, one], **why)
    with pytest.raises(st.ModelError, match="x: got"):
        numbers("x", masked, **why)
    with pytest.raises(st.ModelError, match="x: got"):
        whole("x", np.timedelta64(5, "ms"), least=1, **why)
    assert numbers("x", masked[:1], **why).tolist() == [1.0]
    assert number("x", np.float32(0.5), **why) == 0.5


def test_constructors_can_be_copied_and_read():
    law = st.Coulomb(mu=0.25)
    assert copy.copy(law) == copy.deepcopy(law) == pickle.loads(pickle.dumps(law)) == law
    assert list(inspect.signature(st.Coulomb).parameters) == ["mu"]


def test_classes_with_their_own_constructor_are_left_alone():
    class Twice(st.chains.Load):
        def __init__(self, load):
            self.load = load

        def segments(self):
            return st.chains.SumOf([self.load, self.load]).segments()

    assert Twice(load=st.Ramp(rate=1.0)).at(2.0) == 4.0
    with pytest.raises(st.ModelError, match="did you mean 'load'"):
        Twice(lode=st.Ramp(rate=1.0))
