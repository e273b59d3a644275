"""A pytest plugin that runs tests in the order given, and writes down what they did."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

TOO_SLOW = "TooSlow"
_GRACE = 2.0
# bytes that a process may take: a fault that asks for all memory fails, not the machine
_MEMORY = 12 << 30


__all__ = ["TOO_SLOW", "Reporter"]


class Reporter:
    """What pytest calls.

    Parameters
    ----------
    orders : `log`, the file to write; `only`, tests in the order to run them, one case or, if
        none is named, all; `never`, test ids to leave out; `alarm`, seconds per test;
        `budget`, seconds after which no further test begins; `few`, cases of every test that
        come before many of any
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.begun = math.inf
        self.result: dict[str, Any] = {}

    def write(self, **row: object) -> None:
        """Append a line; the next reader may come after this process was killed."""
        with open(self.orders["log"], "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def pytest_configure(self, config: pytest.Config) -> None:
        """Begin, after the tests' own configuration and before any test file is read."""
        # what a shell starts in the background ignores this, and so would what tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=_end_with_parent, daemon=True).start()
        # some systems know the limit but do not let it be set
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        hypothesis = sys.modules.get("hypothesis")
        if hypothesis is not None:
            # one example of a failure is enough, not the simplest
            phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
            hypothesis.settings.register_profile("mutation", hypothesis.settings(), phases=phases)
            hypothesis.settings.load_profile("mutation")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what was ordered, a few cases of every test before many of any."""
        place = {name: i for i, name in reversed(list(enumerate(self.orders["only"])))}
        never, few = set(self.orders.get("never", ())), self.orders.get("few") or math.inf
        seen: Counter[str] = Counter()
        rows = []
        for i, item in enumerate(items):
            base = item.nodeid.partition("[")[0]
            at = place.get(item.nodeid, place.get(base))
            if at is not None and item.nodeid not in never:
                rows.append((seen[base] >= few, at, i))
                seen[base] += 1
        items[:] = [items[i] for *_, i in sorted(rows)]
        # reading the files is no test
        self.begun = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Ring when a test takes too long, and end the process if that is not heard."""
        seconds = self.orders.get("alarm", 0.0)
        self.result = {"id": item.nodeid, "outcome": "passed", "seconds": 0.0, "error": ""}
        if time.monotonic() - self.begun > self.orders.get("budget", math.inf):
            item.add_marker(pytest.mark.skip("no time is left"))
            return (yield)
        self.write(id=item.nodeid)
        # compiled loops and compilers do not hear, nor does who waits for threads
        last = threading.Timer(seconds + _GRACE, self._end)
        last.daemon = True
        if seconds:
            signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            last.start()
        try:
            return (yield)
        finally:
            last.cancel()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self.write(**self.result)

    def _end(self) -> None:
        self.write(**self.result | {"outcome": "failed", "error": TOO_SLOW})
        _end_group()

    def _ring(self, number: int, frame: object) -> None:
        self.result["error"] = TOO_SLOW
        # it may always be
        pytest.skip("too slow")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[Any]:
        """Note the worst of the phases of a test."""
        report = yield
        self.result["seconds"] += report.duration
        if not report.passed and self.result["outcome"] == "passed":
            error = "" if call.excinfo is None else call.excinfo.typename
            self.result["error"] = self.result["error"] or error
            self.result["outcome"] = report.outcome
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write down a file that could not be read."""
        if report.failed:
            self.write(id=report.nodeid, outcome="failed", seconds=0.0, error="collection")


def _end_group() -> None:
    # a group of its own holds what tests started, and nothing else
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end_with_parent() -> None:
    """End this process and what it started when whoever ordered it is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1.0)
    _end_group()
