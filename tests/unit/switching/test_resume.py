"""A flow that goes on from a checkpoint gives the same numbers, other futures included."""

import numpy as np
import pytest

import stiction as st
from stiction.io.checkpoint_file import FileCheckpoint


class Stopped(FileCheckpoint):
    """A checkpoint that is always due and is interrupted after some saves."""

    def __init__(self, path, *, stop_after=None, **options):
        super().__init__(path, "a flow", **options)
        self.saves, self.stop_after = 0, stop_after

    def due(self):
        return True

    def save(self, state):
        super().save(state)
        self.saves += 1
        if self.saves == self.stop_after:
            raise KeyboardInterrupt


def interrupted(monkeypatch, path, system, method, t_end, stop_after):
    """Return the whole run, and one that was interrupted and went on."""
    monkeypatch.setattr("stiction.switching.event_driven._STEPS_PER_CALL", 10)
    whole = st.solve(system, method, (0.0, t_end), save=21)
    with pytest.raises(KeyboardInterrupt):
        st.solve(
            system, method, (0.0, t_end), save=21, checkpoint=Stopped(path, stop_after=stop_after)
        )
    resumed = st.solve(system, method, (0.0, t_end), save=21, checkpoint=Stopped(path, resume=True))
    return whole, resumed


def assert_same(whole, resumed):
    assert whole.status is resumed.status
    assert whole.reason == resumed.reason
    assert whole.variables.keys() == resumed.variables.keys()
    for name, variable in whole.variables.items():
        assert np.array_equal(variable.values, resumed.variables[name].values), name
    assert np.array_equal(whole.event_log.time, resumed.event_log.time)
    assert whole.event_log.kind == resumed.event_log.kind
    assert whole.determinism == resumed.determinism


def test_before_anything_was_lost(monkeypatch, tmp_path):
    belt, method = st.BeltOscillator(), st.EventDriven()
    whole, resumed = interrupted(monkeypatch, tmp_path / "belt", belt, method, 20.0, 3)
    assert whole.status is st.Status.SOLVED
    assert_same(whole, resumed)


@pytest.mark.parametrize(
    "policy",
    [st.switching.Stop(), st.switching.Leave("-", 0.2), st.switching.Enumerate(2)],
    ids=repr,
)
def test_behind_a_two_fold(monkeypatch, tmp_path, policy):
    form, method = st.switching.NormalForm(-1.5, -2.0), st.EventDriven(policy=policy)
    count = 1 if isinstance(policy, st.switching.Stop) else 4
    whole, resumed = interrupted(monkeypatch, tmp_path / "form", form, method, 4.0, count)
    assert whole.determinism.status == "lost"
    assert_same(whole, resumed)


def test_the_same_futures_are_drawn(monkeypatch, tmp_path):
    form, method = (
        st.switching.NormalForm(-1.5, -2.0),
        st.EventDriven(policy=st.switching.Sample(3, 2.0, 7)),
    )
    whole, resumed = interrupted(monkeypatch, tmp_path / "form", form, method, 4.0, 4)
    assert whole.variables["future_time"].values.size >= 3
    assert_same(whole, resumed)
    # each of these first slides for the time drawn
    relay = st.PiecewiseSmooth(
        h=lambda x: x[0], f_plus=lambda x: (1.0, 1.0), f_minus=lambda x: (-1.0, 0.0), x0=[0.0, 0.0]
    )
    whole, resumed = interrupted(monkeypatch, tmp_path / "relay", relay, method, 1.0, 1)
    assert len(set(whole.variables["future_state"].values[:, 0].tolist())) == 3
    assert_same(whole, resumed)
