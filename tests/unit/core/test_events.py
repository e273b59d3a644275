"""Logs of events, at once and late."""

import pickle

import numpy as np
import pytest

from stiction.core.events import EventLog

LOG = EventLog(
    np.array([0.5, 1.0]),
    np.array([1, 2]),
    ["stick", "slip+"],
    ["slip+", "stick"],
    ["slip", "stick"],
    {"x": np.array([3.0, 4.0])},
    {"x": "m"},
)


def test_a_late_log_is_read_once():
    calls = []
    late = EventLog.late(2, lambda: calls.append(1) or LOG)
    assert len(late) == 2
    assert not calls
    assert late.table().equals(LOG.table())
    assert late.kind == LOG.kind
    assert len(late) == 2
    assert calls == [1]
    with pytest.raises(AttributeError, match="nothing"):
        _ = EventLog.late(2, lambda: LOG).nothing


def test_a_late_log_is_saved_completely():
    again = pickle.loads(pickle.dumps(EventLog.late(2, lambda: LOG)))
    assert again.table().equals(LOG.table())
    assert again.units == LOG.units


def test_an_empty_log_has_no_events():
    assert len(EventLog()) == 0
    assert EventLog().table().empty
