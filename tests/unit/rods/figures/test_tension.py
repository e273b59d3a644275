"""The figure of tension along rods in contact along arcs."""

import numpy as np
import pytest

import stiction as st
from stiction.errors import ModelError
from stiction.rods import Capstan, Quasistatic


@pytest.fixture(scope="module")
def run():
    return st.solve(Capstan(elements=16), Quasistatic(steps=4), (1.0, 3.0), save=4)


def test_lines_are_those_of_the_run(run):
    """Thin lines are tensions at the saved times, thick ones where the rope slips."""
    ax = run.plot.tension().axes[0]
    tension, mode = run.data["tension"].values, run.data["contact_mode"].values
    node = run.data["node_of_contact"].values
    thin, thick = ax.lines[::2], ax.lines[1::2]
    assert len(thin) == 4
    for k in range(4):
        np.testing.assert_array_equal(thin[k].get_xdata(), np.arange(1, tension.shape[1] + 1))
        np.testing.assert_array_equal(thin[k].get_ydata(), tension[k])
        slips = np.isin(thin[k].get_xdata(), node[mode[k] == 2])
        np.testing.assert_array_equal(np.isfinite(thick[k].get_ydata()), slips)
    assert "(N)" in ax.get_ylabel()


def test_a_run_without_tensions_is_refused():
    run = st.solve(st.CrossedRods(elements=20), st.RollingLeapfrog(), (0.0, 1e-4), save=2)
    with pytest.raises(ModelError, match=r"plot: got a run of CrossedRods without"):
        run.plot.tension()
