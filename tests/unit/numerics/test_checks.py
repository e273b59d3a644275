"""When two descriptions are the same."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import stiction as st
from stiction.numerics import checks
from stiction.numerics.checks import Record, memory_of_machine


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
    ],
)
def test_wrong_arguments_are_explained(make, words):
    with pytest.raises(st.ModelError, match="(?s)" + words):
        make()


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
