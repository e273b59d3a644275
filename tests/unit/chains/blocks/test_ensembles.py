"""Which chains of a lot are stepped together, and their counts, from made-up arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from stiction.chains.blocks import theta


@pytest.fixture
def lot(monkeypatch):
    """A lot of chains whose tables are left out."""
    monkeypatch.setattr(theta._EnsembleRun, "_begin", lambda self: None)

    def made(rate, amplitude, offset, springs):
        load = SimpleNamespace(
            rate=np.array(rate), amplitude=np.array(amplitude), offset=np.array(offset)
        )
        stack = SimpleNamespace(load=load, plate_springs=np.array(springs))
        problem = SimpleNamespace(_replace=lambda **given: given)
        return theta._EnsembleRun(stack, problem, "method", "request")

    return made


STILL = [[0.0], [0.0], [0.0]]


@pytest.mark.parametrize(
    ("change", "alike", "steady", "plates"),
    [
        ({}, [True, True, True], True, False),
        ({"rate": [[1.0], [0.0], [2.0]]}, [True, False, True], False, False),
        ({"rate": [[0.0], [3.0], [0.0]]}, [True, False, True], True, False),
        ({"amplitude": [[0.0], [0.0], [1.0]]}, [True, True, False], True, False),
        ({"offset": [[1.0, 2.0], [1.0, 1.0], [0.0, 3.0]]}, [True, False, True], False, False),
        ({"springs": [[0.0, 2.0], [0.0, 0.0], [1.0, 1.0]]}, [True, False, True], True, True),
        ({"springs": [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]}, [True, False, True], True, False),
        (
            {"rate": [[1.0], [1.0], [0.0]], "springs": [[1.0], [0.0], [1.0]]},
            [True, False, False],
            False,
            True,
        ),
    ],
)
def test_chains_that_are_like_the_first_are_stepped_with_it(lot, change, alike, steady, plates):
    given = {"rate": STILL, "amplitude": STILL, "offset": STILL, "springs": STILL}
    made = lot(**given | change)
    assert made.alike.tolist() == alike
    assert made.problem == {"steady": steady, "plates": plates}
    assert (made.method, made.request) == ("method", "request")


def test_counts_of_steps(lot):
    made = lot(STILL, STILL, STILL, STILL)
    made.problem = SimpleNamespace(h=0.25)
    progress = {
        "step": np.array([4, 0]), "solves": np.array([10, 3]), "most_solves": np.array([5, 6]),
        "rescues": np.array([1, 2]), "misses": np.array([7, 8]),
    }  # fmt: skip
    made.ensemble = SimpleNamespace(work=SimpleNamespace(progress=progress))
    found = {name: values.tolist() for name, values in made._stats().items()}
    assert list(found) == list(theta._STATS)
    assert list(found.values()) == [
        [4, 0], [0.25, 0.25], [10, 3], [10, 3], [2.5, 0.0], [5, 6], [1, 2], [7, 8],
    ]  # fmt: skip
