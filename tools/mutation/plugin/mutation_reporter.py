"""A pytest plugin that runs the tests it is told, in that order, and writes down what they did.

Loaded as `-p mutation_reporter`; what to do stands in the JSON file that $MUTATION_ORDERS names.
"""

from __future__ import annotations

import contextlib
import json
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


class Reporter:
    """What pytest calls.

    Parameters
    ----------
    orders : `log`, the file to write; `only`, test ids in the order to run them, all if None;
        `never`, test ids to leave out; `alarm`, seconds per test and test id, "" for the others;
        `budget`, seconds after which no further test begins; `memory`, bytes a process may take
    """

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.begun = time.monotonic()
        self.rang = False
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
        only, never = self.orders.get("only"), set(self.orders.get("never", ()))
        if only is not None:
            place: dict[str, int] = {}
            for i, name in enumerate(only):
                place.setdefault(name, i)
                place.setdefault(name.partition("[")[0], i)
            items[:] = [item for item in items if _base(item) in place]
            items.sort(key=lambda item: place.get(item.nodeid, place[_base(item)]))
        items[:] = [item for item in items if item.nodeid not in never]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Ring when a test takes too long; this reaches Python code, but no compiled loop."""
        budget = self.orders.get("budget")
        if budget is not None and time.monotonic() - self.begun > budget:
            item.session.shouldstop = "the time is up"
        alarm = self.orders.get("alarm", {})
        seconds = alarm.get(item.nodeid, alarm.get("", 0.0))
        self.rang = False
        self.write(id=item.nodeid, when="begin")
        if not seconds:
            return (yield)
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _ring(self, number: int, frame: object) -> None:
        self.rang = True
        pytest.fail("too slow", pytrace=False)

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
            error=TOO_SLOW if self.rang and report.failed else error,
        )
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write down a file that could not be read."""
        if report.failed:
            self.write(id=report.nodeid, when="collect", outcome="failed", error="collection")


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


def _end_with_parent() -> None:
    """End this process and what it started when whoever ordered it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        # a group of its own holds what tests started, and nothing else
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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
    config.pluginmanager.register(Reporter(orders), "mutation reporter")
