"""A progress bar on standard error for runs that take longer than half a second.

A `Bar` is a context and a function of the completed fraction and a note, as methods report them.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

__all__ = ["Bar"]

_DELAY = 0.5  # [s]; chosen: shorter runs need no bar


class Bar:
    """A progress bar that appears after half a second, and only on a terminal.

    Parameters
    ----------
    title : name of the run
    shown : False to show no bar
    """

    def __init__(self, title: str, *, shown: bool = True) -> None:
        self._title = title
        self._shown = shown and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Any = None
        self._task: Any = None
        self._over = False

    def __enter__(self) -> Bar:
        if self._shown:
            # a thread shows the bar, because a run reports no progress while kernels are compiled
            self._timer = threading.Timer(_DELAY, self._open)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __call__(self, fraction: float, note: str) -> None:
        """Show the fraction done and a short note; without effect before the bar appears."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, completed=fraction, note=note)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def _open(self) -> None:
        """Show the bar, unless the run is over already."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = ("{task.description}", "{task.percentage:>3.0f} %", "{task.fields[note]}")
        title, percent, note = (TextColumn(text) for text in columns)
        with self._lock:
            if self._over:
                return
            console = Console(stderr=True)
            elapsed = TimeElapsedColumn()
            self._bar = Progress(
                title, BarColumn(), percent, elapsed, note, console=console, transient=True
            )
            # until the first report the kernels are being compiled, once per machine
            self._task = self._bar.add_task(self._title, total=1.0, note="starting")
            self._bar.start()
