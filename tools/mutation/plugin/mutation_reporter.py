"""A pytest plugin that runs the tests it is reported, in that order, and writes down what they did.

Loaded as `-p mutation_reporter`; what to do stands in the JSON file that $MUTATION_ORDERS names.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOO_SLOW = "TooSlow"
_FEW = 12
_GRACE = 2.0


class Reporter:
    """What pytest calls.

    Parameters
    ----------
    orders : `log`, the file to write; `only`, test ids in the order to run them, all if None;
        `never`, test ids to leave out; `alarm`, seconds per test and test id, "" for the others;
        `budget`, seconds after which no further test begins; `few`, cases of every test that come
        before many of any; `memory`, bytes a process may take
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.begun = time.monotonic()
        self.rang, self.known = False, False
        memory = orders.get("memory")
        if memory:
            _limit_memory(int(memory))

    def write(self, **row: object) -> None:
        """Append a line; the next reader may come after this process was killed."""
        with open(self.orders["log"], "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what was ordered.

        Ids of parametrised tests may contain numbers that a fault has changed, so a test whose
        function was ordered stays even if its id is new.
        """
        # reading the files is no test
        self.begun = time.monotonic()
        only, never = self.orders.get("only"), set(self.orders.get("never", ()))
        if only is not None:
            place: dict[str, int] = {}
            for i, name in enumerate(only):
                place.setdefault(name, i)
                place.setdefault(name.partition("[")[0], i)
            items[:] = [item for item in items if _base(item) in place]
            # a few cases of every test come before many of any
            turn, few = _turns(items), self.orders.get("few", _FEW)
            items.sort(
                key=lambda item: (turn[item] >= few, place.get(item.nodeid, place[_base(item)]))
            )
        items[:] = [item for item in items if item.nodeid not in never]

    def is_late(self) -> bool:
        """Return whether no further test may begin."""
        return time.monotonic() - self.begun > self.orders.get("budget", math.inf)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Ring when a test takes too long, and end the process if that is not heard."""
        alarm = self.orders.get("alarm", {})
        seconds = alarm.get(item.nodeid, alarm.get("", 0.0))
        self.rang, self.known = False, item.nodeid in alarm
        if self.is_late():
            return (yield)
        self.write(id=item.nodeid, when="begin")
        if not seconds:
            return (yield)
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        # compiled loops and compilers do not hear, nor does who waits for threads
        last = threading.Timer(seconds + _GRACE, self._end, [item.nodeid, seconds])
        last.daemon = True
        last.start()
        try:
            return (yield)
        finally:
            last.cancel()
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _end(self, name: str, seconds: float) -> None:
        self.write(id=name, when="call", outcome="failed", seconds=seconds, error=TOO_SLOW)
        _end_group()

    def _ring(self, number: int, frame: object) -> None:
        self.rang = True
        if self.known:
            pytest.fail("too slow", pytrace=False)
        # it may always be
        pytest.skip("too slow")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[Any]:
        """Write one line per phase of a test."""
        report = yield
        error = "" if call.excinfo is None else call.excinfo.typename
        self.write(
            id=item.nodeid,
            when=report.when,
            outcome=report.outcome,
            seconds=report.duration,
            error=TOO_SLOW if self.rang and not report.passed else error,
        )
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write down a file that could not be read."""
        if report.failed:
            self.write(id=report.nodeid, when="collect", outcome="failed", error="collection")


class Bound:
    """What leaves tests out when the time is up."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Say that a test was run when it is left out."""
        return True if self.reporter.is_late() else None


def _turns(items: list[pytest.Item]) -> dict[pytest.Item, int]:
    """Return the place of each test among the cases of its function."""
    seen: dict[str, int] = {}
    found = {}
    for item in items:
        found[item] = seen[_base(item)] = seen.get(_base(item), -1) + 1
    return found


def _base(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _limit_memory(size: int) -> None:
    """Let a fault that asks for all memory fail, rather than the machine."""
    try:
        import resource
    except ImportError:
        return
    # some systems know the limit but do not let it be set
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _end_group() -> None:
    # a group of its own holds what tests started, and nothing else
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end_with_parent() -> None:
    """End this process and what it started when whoever ordered it is gone."""
    parent = os.getppid()

    def monitor() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        _end_group()

    threading.Thread(target=monitor, daemon=True).start()


def _stop_at_first_example() -> None:
    """Keep Hypothesis from looking for a simpler example of a failure: one is enough."""
    hypothesis = sys.modules.get("hypothesis")
    if hypothesis is not None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutation", hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutation")


def pytest_configure(config: pytest.Config) -> None:
    """Begin, after the tests' own configuration and before any test file is read."""
    # what a shell starts in the background ignores this, and so would what tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _end_with_parent()
    _stop_at_first_example()
    orders = json.loads(Path(os.environ["MUTATION_ORDERS"]).read_text(encoding="utf-8"))
    reporter = Reporter(orders)
    config.pluginmanager.register(reporter, "mutation reporter")
    config.pluginmanager.register(Bound(reporter), "mutation bound")
