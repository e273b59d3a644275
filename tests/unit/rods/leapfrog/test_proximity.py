"""Contacts of a search that converged to the same closest points, on contacts that are given."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.rods.contact.kernels import CROSSING, EMPTY, LINE, OPEN, ROLL, SLIP
from stiction.rods.leapfrog.proximity_kernels import DUPLICATE_DISTANCE, remove_duplicate_contacts

pytestmark = pytest.mark.usefixtures("plain_kernels")


def modes_left(*changes):
    """Return the modes of contacts at the same closest points, with these changes."""
    given = {
        "mode": OPEN, "kind": CROSSING, "from_search": 1, "bodies": (0, 1), "place": (3.0, 7.0)
    }  # fmt: skip
    contacts = np.array([SimpleNamespace(**given | change) for change in changes], dtype=object)
    remove_duplicate_contacts(SimpleNamespace(contacts=contacts))
    return [k.mode for k in contacts]


def test_the_contact_that_is_closed_stays_of_two_at_one_place():
    assert modes_left({}, {}) == [OPEN, EMPTY]
    assert modes_left({"mode": ROLL}, {"mode": OPEN}) == [ROLL, EMPTY]
    assert modes_left({"mode": OPEN}, {"mode": ROLL}) == [EMPTY, ROLL]
    assert modes_left({"mode": ROLL}, {}, {"mode": SLIP}, {}) == [EMPTY, EMPTY, SLIP, EMPTY]
    assert modes_left({"mode": EMPTY}, {}, {}) == [EMPTY, OPEN, EMPTY]


@pytest.mark.parametrize(
    "change",
    [
        # declared, not found by a search
        {"from_search": 0},
        {"kind": LINE},
        {"bodies": (0, 2)},
        {"bodies": (2, 1)},
        {"place": (3.0 + 1.01 * DUPLICATE_DISTANCE, 7.0)},
        {"place": (3.0, 7.0 - 1.01 * DUPLICATE_DISTANCE)},
    ],
)
def test_other_contacts_stay(change):
    assert modes_left({}, change) == [OPEN, OPEN]
    assert modes_left(change, {}) == [OPEN, OPEN]
    near = {"place": (3.0 + 0.99 * DUPLICATE_DISTANCE, 7.0 - 0.99 * DUPLICATE_DISTANCE)}
    assert modes_left(change, {}, near) == [OPEN, OPEN, EMPTY]
