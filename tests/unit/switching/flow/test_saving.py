"""Which rows a trajectory keeps, one after the other."""

import numpy as np
import pytest

from stiction.switching.flow.saving import save_until
from stiction.switching.flow.trajectory import Tolerance, Trajectory
from stiction.switching.model import PiecewiseSmooth

X = [3.0, 2.0, -1.0]


@pytest.mark.parametrize("rows", [2, 6, 20])
def test_every_time_up_to_the_present_is_saved_once(rows):
    # fewer times than numbers in a row, as many, and more
    system = PiecewiseSmooth(
        h=[lambda x: x[0], lambda x: x[1]], f=lambda x, s: (-s[0], s[1], 1.0), x0=X
    )
    path = Trajectory(system, Tolerance(1e-8), np.linspace(0.0, 1.0, rows))
    path.place(0.0, np.array(X), np.ones(2))
    flow = path.flow
    flow.progress.saves = 0
    for t in (-0.5, 0.55, 0.55, 2.0, 3.0):
        save_until(flow.work, flow.records, t, 0.0)
        assert flow.progress.saves == np.sum(np.linspace(0.0, 1.0, rows) <= t)
    assert flow.saved[:, 1:4].tolist() == [X] * rows
    assert flow.saved[:, -2:].tolist() == [[1.0, 1.0]] * rows
