"""A headless Chromium, driven over a pipe by its own protocol; no package is needed for it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def chromium():
    """Return the program, or None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


# most that an answer may take on a machine that is busy [s]
PATIENCE = 120.0
READY = "document.documentElement?.dataset.ready === 'yes'"


class Browser:
    """One tab; `problems` are what its pages reported, `requests` what they asked for."""

    def __init__(self):
        self.problems, self.requests, self._number, self._text = [], [], 0, b""
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # the protocol is spoken on the numbers 3 and 4
        shell = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        words = [chromium(), *FLAGS, f"--user-data-dir={self._home.name}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._session = None
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        answer = self.ask("Target.attachToTarget", targetId=page, flatten=True)
        self._session = answer["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{part}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(10)
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def ask(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            answer = self._heard(end)
            if answer and answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]
        raise TimeoutError(method)

    def _heard(self, end):
        while b"\0" not in self._text:
            if not select.select([self._from], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            self._text += os.read(self._from, 1 << 20)
        line, self._text = self._text.split(b"\0", 1)
        answer = json.loads(line)
        self._note(answer.get("method"), answer.get("params", {}))
        return answer

    def _note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", params))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(params["args"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def run(self, script):
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def open(self, path: Path, *, reduced=False, dark=False, width=1000, ready=READY):
        """Open a page of the disk and wait until its player, or what `ready` says, is ready."""
        features = [
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"},
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        ]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=760,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.problems.clear()
        self.requests.clear()
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"location.href === {path.resolve().as_uri()!r} && {ready}")

    def wait(self, script, seconds=15.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        raise TimeoutError(f"{script}; reported: {self.problems}")

    def press(self, key):
        text = key if len(key) == 1 else ""
        common = {"key": key, "text": text} if text else {"key": key}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path: Path):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
