"""Names of states are columns of tables and files: none may be there twice."""

import pytest

import stiction as st
from stiction.core.run import RESERVED


def flow(*names):
    return st.PiecewiseSmooth(
        h=lambda x: x[0] - 0.5,
        f_plus=lambda x: (-1.0, 1.0),
        f_minus=lambda x: (1.0, 1.0),
        x0=(1.0, 0.0),
        names=names,
    )


@pytest.mark.parametrize("name", sorted(RESERVED | {"mode", "multiplier", "future_exit", "twice"}))
def test_names_that_are_reserved(name):
    with pytest.raises(st.ModelError, match=r"PiecewiseSmooth.names: got .*; needs names that"):
        flow("twice", name)


def test_other_names_reach_tables_and_files(tmp_path):
    run = st.solve(flow("place", "clock"), t_span=(0.0, 1.0), save=3)
    assert set(run.final) == {"place", "clock"}
    assert {"place", "clock"} <= set(run.data.data_vars)
    assert {"place", "clock"} <= set(run.events.columns)
    assert str(st.load(run.save(tmp_path / "run"))) == str(run)
