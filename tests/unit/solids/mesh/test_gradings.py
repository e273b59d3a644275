"""Lines between cells that a user gives."""

import numpy as np
import pytest

from stiction.errors import ModelError
from stiction.solids.mesh.gradings import rising


def test_increasing_lines_from_0_to_1_are_accepted():
    lines = [0.0, 0.1, 0.7, 1.0]
    assert rising("here", lines, 3).tolist() == lines
    assert rising("here", None, 4) == pytest.approx(np.linspace(0.0, 1.0, 5), abs=1e-15)


@pytest.mark.parametrize(
    ("lines", "reported"),
    [
        ([0.0, 0.1, 0.7, 0.9], r"4 values from 0\.0 to 0\.9"),
        ([0.0, 0.1, 0.7, 1.0 - 1e-12], r"4 values from 0\.0 to 0\.999999999999"),
        ([0.1, 0.2, 0.7, 1.0], "4 values from 0.1 to 1"),
        ([0.0, 0.7, 0.7, 1.0], "do not rise at position 3"),
        ([0.0, 0.5, 1.0], "3 values"),
    ],
)
def test_other_lines_are_refused(lines, reported):
    with pytest.raises(ModelError, match=reported):
        rising("here", lines, 3)
