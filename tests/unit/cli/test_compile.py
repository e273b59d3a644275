"""What `stiction compile` says while it works."""

import pytest

from stiction.cli import compile as command
from stiction.numerics.compiling import ahead_of_time


def test_the_time_that_is_left_is_that_of_the_fraction_that_is_left(monkeypatch):
    clock, shown = [1000.0], []

    class Reported:
        def __init__(self, what, *, shown=True):
            self.what = what

        def __enter__(self):
            return lambda share, words: shown.append((share, words))

        def __exit__(self, *_):
            return False

    def kernels(lines, report):
        # a fifth is done after 100 s, so the rest takes 400 s; then it goes faster
        for seconds, share in ((100.0, 0.2), (300.0, 0.75), (310.0, 1.0)):
            clock[0] = 1000.0 + seconds
            report(share)
        return dict.fromkeys(lines, "no compiler")

    monkeypatch.setattr(command.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(command, "Bar", Reported)
    monkeypatch.setattr(ahead_of_time, "compile_lines", kernels)
    failed = command.compile_systems(["chains"])
    assert failed == len(command.systems()["chains"].read_text().splitlines())
    assert shown == [(0.2, "400 s left"), (0.75, "100 s left"), (1.0, "0 s left")]


def test_systems_that_do_not_exist_are_refused():
    with pytest.raises(command.ModelError, match="one of bodies, chains"):
        command.compile_systems(["springs"])
