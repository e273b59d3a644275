"""When two descriptions are the same."""

import dataclasses

import numpy as np
import pytest

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
