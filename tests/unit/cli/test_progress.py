"""When a progress bar is shown."""

import sys
import threading

from stiction.cli.progress import Bar


def test_a_bar_waits_for_half_a_second(monkeypatch):
    waits = []

    class Timer:
        def __init__(self, seconds, open_):
            waits.append((seconds, open_.__name__))

        def start(self):
            waits.append("begun")

        def cancel(self):
            waits.append("over")

    monkeypatch.setattr(threading, "Timer", Timer)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Bar("run", shown=False):
        assert waits == []
    with Bar("run"):
        assert waits == [(0.5, "_open"), "begun"]
    assert waits[-1] == "over"
