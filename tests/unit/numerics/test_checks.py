"""When two descriptions are the same."""

import dataclasses

import numpy as np
import pytest

from stiction.numerics.checks import Record


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
