"""Runs of pytest that need not read every library anew: from processes that split off another."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["PLUGIN", "Server"]

PLUGIN = Path(__file__).parent / "plugin"


class Server:
    """A process that has read the libraries, and splits off one for every run.

    Parameters
    ----------
    root : where runs take place
    libraries : modules to read in advance
    environment : of all runs
    """

    def __init__(self, root: Path, libraries: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PLUGIN / "mutation_server.py")],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._send(libraries)

    def run(
        self, words: list[str], output: Path, environment: dict[str, str], limit: float
    ) -> int | None:
        """Return what pytest returned; None if it was ended after `limit` seconds.

        Parameters
        ----------
        words : the command line
        output : file that takes what is printed
        environment : what this run has besides
        """
        output.write_text("", encoding="utf-8")
        self._send({"words": words, "output": str(output), "environment": environment})
        child = self._hear()["pid"]
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            in_time = bool(selector.select(limit))
        # what tests started in their turn must not outlive them
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        code = self._hear()["code"]
        return code if in_time else None

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def _send(self, what: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())
