"""A page of `stiction explore` in Chromium, driven by Playwright; and sessions without either."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import re
import subprocess
import sys
import time

from browser import chromium

from stiction.explore.hub import Hub
from stiction.explore.places import WorkingFolder
from stiction.explore.session import Session

# the first element of a kind in the page, which stands behind the roots of components
FIND = """const find = (words, from = document) => {
  const here = from.querySelector(words);
  if (here) { return here; }
  for (const node of from.querySelectorAll("*")) {
    const found = node.shadowRoot && find(words, node.shadowRoot);
    if (found) { return found; }
  }
  return null;
};"""
# moves a slider and answers how long it took until the new picture was painted [ms]
MOVED = (
    "([path, value]) => new Promise((done) => {"
    + FIND
    + """
  const stage = find(".stage"), before = stage.dataset.shown;
  const slider = find(`input[type=range][aria-label^="${path}, "]`);
  const begin = performance.now();
  new MutationObserver((_, monitor) => {
    if (stage.dataset.shown === before) { return; }
    monitor.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
  }).observe(stage, { attributes: true });
  // a picture that never comes must fail a test, not keep it waiting
  setTimeout(() => done(Infinity), 60000);
  slider.value = value;
  slider.dispatchEvent(new Event("input"));
})"""
)


def lacks():
    """Return why there can be no page here, "" where there can."""
    if importlib.util.find_spec("panel") is None:
        return 'no Panel: pip install "stiction[explore]"'
    if importlib.util.find_spec("playwright") is None:
        return "no Playwright: pip install playwright"
    if chromium() is None:
        return "no Chromium on this machine: apt-get install chromium"
    return ""


@contextlib.contextmanager
def serving(folder, *words, errors=None):
    """Give the address of a server that runs as users run it, and its process.

    `errors` is the file of its standard error.
    """
    command = [sys.executable, "-m", "stiction", "explore", "--no-browser", "--folder", str(folder)]
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address), address
        yield address, process
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


class Tab:
    """A page and what it reported: `problems` of the console, `requests` it made."""

    def __init__(self, browser, address, **looks):
        self.page = browser.new_page(**looks)
        self.problems, self.requests, self.address = [], [], address
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.goto(address)
        self.page.wait_for_selector(".stage[data-shown]", timeout=60_000)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def move(self, path, value):
        return self.page.evaluate(MOVED, [path, value])

    def text(self, words):
        return self.page.locator(words).inner_text()

    def results(self):
        return int(self.page.locator("main").get_attribute("data-results") or 0)

    def after(self, count, seconds=60.0):
        """Wait until there are more results than `count`."""
        self.until(lambda: self.results() > count, seconds)

    def until(self, holds, seconds=20.0):
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, (self.problems, self.text("main")[:2000])
            self.page.wait_for_timeout(30)

    def close(self):
        self.page.close()


class Talk:
    """A session with its process, and what it received."""

    def __init__(self, folder, command=None):
        self.posted, self.received = queue.Queue(), []
        self.hub = Hub(self.posted.put, command)
        self.session = Session(WorkingFolder(folder), self.hub, self.received.append)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hub.close()

    def say(self, do, **more):
        self.session.hear({"do": do, **more})

    def until(self, kind, seconds=90.0):
        """Return the next message of a kind, of those not yet given."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for i, message in enumerate(self.received):
                if message["kind"] == kind:
                    del self.received[: i + 1]
                    return message
            with contextlib.suppress(queue.Empty):
                self.posted.get(timeout=0.5)()
        raise TimeoutError(kind, [message["kind"] for message in self.received])


def alive(pid):
    """Return whether a process still runs."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
