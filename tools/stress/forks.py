"""Tasks in processes of their own, which may hang, crash or be killed; and the bits of runs."""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import stiction as st

MAIN = [sys.executable, "-m", "stiction"]


class Fork:
    """A fork that runs one task, so that the start of Python is not paid for again.

    Parameters
    ----------
    task : returns a text of at most 60,000 bytes, which fits into the pipe
    """

    def __init__(self, task: Callable[[], str]) -> None:
        self.pipe, write = os.pipe()
        self.pid, self.code = os.fork(), 0
        if self.pid == 0:
            code = 1
            try:
                os.write(write, task().encode()[:60_000])
                code = 0
            except BaseException:  # noqa: BLE001 - the exit code reports the parent
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(write)

    def over(self, seconds: float | None = 0.0) -> bool:
        """Return whether the task has ended by itself, after waiting so long; None for ever."""
        return bool(select.select([self.pipe], [], [], seconds)[0])

    def kill(self) -> None:
        """End the process as a power failure would."""
        os.kill(self.pid, signal.SIGKILL)
        self.answer()

    def answer(self) -> str:
        """Wait for the end and return the text; `code` is the exit code, minus the signal."""
        with os.fdopen(self.pipe, "rb") as pipe:
            text = pipe.read().decode(errors="replace")
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return text


def answer(task: Callable[[], str], seconds: float) -> str:
    """Return the text of a task in a fork, or HANG, FOREIGN or CRASH with its exit code."""
    fork = Fork(task)
    if not fork.over(seconds):
        fork.kill()
        return f"HANG {seconds:g} s"
    text = fork.answer()
    if fork.code == 0 and text:
        return text
    return f"{'FOREIGN' if fork.code == 1 else 'CRASH'} {fork.code}"


def columns(run: st.Run) -> dict[str, Any]:
    """Return the columns of the energy of a run, none where it has no energy."""
    return dict(run.energy.columns()) if run.energy.defined else {}


def bits(run: st.Run) -> dict[str, Any]:
    """Return the numbers of a run as bytes."""
    return {
        **{k: np.asarray(v.values).tobytes() for k, v in run.variables.items()},
        **{f"energy.{k}": c.tobytes() for k, c in columns(run).items()},
        "events": run.event_log.time.tobytes(),
    }


def reported(run: st.Run) -> dict[str, Any]:
    """Return status, checks and losses of determinism of a run."""
    return {
        "status": run.status,
        "checks": [(check.check, check.ok) for check in run.audit.checks],
        "losses": [(loss.time, loss.kind) for loss in run.determinism.losses],
    }


def different(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """Return the names of what differs."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
