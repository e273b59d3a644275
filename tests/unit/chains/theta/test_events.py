"""Events of theta runs: blocks of memory, and those that take two steps."""

import itertools

import numpy as np
import pytest

import stiction as st
from stiction.chains.theta import event_kernels
from stiction.chains.theta import integrator as integrator
from stiction.chains.theta import setup as theta_setup
from stiction.chains.theta.state import Events
from stiction.core.run import Request

CHAIN = st.Chain(mass=[1.0, 1.0, 1.0], stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05))


def test_events_of_two_steps_are_joined():
    h = 0.1
    turn, arrest = [(0.1, 1, 1, 0), (0.2, 1, 0, -1)], [(0.1, 0, 1, -1), (0.2, 0, -1, 0)]
    apart, brief = [(0.1, 2, 1, 0), (0.3, 2, 0, -1)], [(0.4, 0, 0, 1), (0.5, 0, 1, 0)]
    rows = sorted([*turn, *arrest, *apart, *brief])
    values, marks = np.zeros((len(rows), 5)), np.array([row[1:] for row in rows], np.int32)
    values[:, 0] = [row[0] for row in rows]
    columns, mass, modes = event_kernels.joined([Events(values, marks, 0)], h, 3)
    joined = list(zip(columns[0], mass.tolist(), *modes.tolist(), strict=True))
    assert sorted(joined) == sorted([(0.1, 1, 1, -1), (0.1, 0, 1, 0), *apart, *brief])


def joined_one_by_one(values, marks, h):
    """Return the events joined by the rule, with a list of the open event of each mass."""
    events, last = [], {}
    for (time, *rest), (i, before, after) in zip(values.tolist(), marks.tolist(), strict=True):
        one = last.get(i)
        near = one is not None and one[1] != 0 and time - one[3] < 1.5 * h
        if near and (one[2], after) in ((0, -one[1]), (-one[1], 0)):
            one[2], one[-1], last[i] = after, rest[-1], None
            continue
        last[i] = one = [i, before, after, time, *rest]
        events.append(one)
    return np.array(events)


@pytest.mark.parametrize("seed", range(4))
def test_events_are_joined_in_any_blocks(seed):
    random, h, masses, rows = np.random.default_rng(seed), 0.1, 9, 3000
    step, i = np.divmod(np.sort(random.choice(12 * masses * rows // 100, rows, False)), masses)
    marks = np.stack([i, *random.integers(-1, 2, (2, rows))], axis=1).astype(np.int32)
    values = np.column_stack([0.3 + h * step, random.normal(size=(rows, 4))])
    right = joined_one_by_one(values, marks, h)
    assert len(right) < rows
    for cuts in ([], [1, 500, 501, 2000]):
        parts = itertools.pairwise([0, *cuts, rows])
        blocks = [Events(values[one:end], marks[one:end], one) for one, end in parts]
        columns, mass, modes = event_kernels.joined(blocks, h, masses)
        assert np.array_equal(np.column_stack([mass, *modes, *columns]), right)


@pytest.mark.parametrize("seed", range(4))
def test_events_are_counted_as_they_are_joined(seed, monkeypatch):
    random, h, masses, rows = np.random.default_rng(seed), 0.1, 9, 3000
    step, i = np.divmod(np.sort(random.choice(12 * masses * rows // 100, rows, False)), masses)
    marks = np.stack([i, *random.integers(-1, 2, (2, rows))], axis=1).astype(np.int32)
    values = np.column_stack([0.3 + h * step, random.normal(size=(rows, 4))])
    cuts = itertools.pairwise([0, 1, 500, 501, 2000, rows])
    blocks = [Events(values[one:end], marks[one:end], one) for one, end in cuts]
    columns, mass, modes = event_kernels.joined(blocks, h, masses)
    assert event_kernels.counted(blocks, h, masses) is None
    monkeypatch.setattr(event_kernels, "_MANY", 1)
    made, onset = event_kernels.counted(blocks, h, masses)
    assert made == mass.size < rows
    for k in range(masses):
        first = columns[0, (mass == k) & (modes[0] == 0)][:1]
        assert onset[k] == first[0] if first.size else np.isnan(onset[k])


def test_a_log_of_many_events_is_put_together_when_it_is_read(monkeypatch):
    whole = st.solve(CHAIN, st.ThetaStepper(1e-4), (0.0, 10.0))
    monkeypatch.setattr(event_kernels, "_MANY", 1)
    calls = []
    joined = event_kernels.joined
    monkeypatch.setattr(event_kernels, "joined", lambda *a: calls.append(1) or joined(*a))
    run = st.solve(CHAIN, st.ThetaStepper(1e-4), (0.0, 10.0))
    assert not calls
    assert len(run.event_log) == len(whole.event_log) == run.stats["events"] + 1
    assert run.quantities["onset_time"].value == whole.quantities["onset_time"].value
    assert not calls
    assert run.event_log.table().equals(whole.event_log.table())
    assert calls == [1]


def test_the_event_buffer_grows(monkeypatch):
    whole = st.solve(CHAIN, st.ThetaStepper(1e-4), (0.0, 10.0))
    original = integrator.ThetaIntegrator.__init__

    def small(self, *args):
        original(self, *args)
        self._blocks = (Events(np.empty((4, 5)), np.empty((4, 3), np.int32), 0),)

    monkeypatch.setattr(integrator.ThetaIntegrator, "__init__", small)
    run = st.solve(CHAIN, st.ThetaStepper(1e-4), (0.0, 10.0))
    assert run.event_log.time.tolist() == whole.event_log.time.tolist()
    assert len(run.event_log) > 16


def test_full_blocks_are_part_of_a_checkpoint():
    request = Request(0.0, 10.0, np.array([0.0, 10.0]))
    scheme = theta_setup.Scheme("ThetaStepper", 1e-3, 0.5, 1000, 1e-13, 10**6, 10**6)
    packed = []
    for rows in (4, 1000):
        stepper = integrator.ThetaIntegrator(scheme, CHAIN, request)
        stepper._blocks = (Events(np.empty((rows, 5)), np.empty((rows, 3), np.int32), 0),)
        stepper.run()
        packed.append(stepper._pack())
        assert (len(stepper._blocks) > 1) == (rows == 4)
    for name in ("event_values", "event_marks", "progress"):
        assert np.array_equal(packed[0][name], packed[1][name]), name
    assert packed[0]["event_marks"].shape[0] == stepper.n_events > 4
