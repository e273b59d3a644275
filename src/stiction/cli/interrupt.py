"""Ctrl-C while compiled code runs or is being compiled.

A KeyboardInterrupt raised inside a callback of the compiler is dropped there, or comes
back as another error. This keeps in mind that it was pressed.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

__all__ = ["Interrupts"]


class Interrupts:
    """While entered, whatever error follows a Ctrl-C is a KeyboardInterrupt.

    Verified by: tests/unit/cli/test_interrupt.py::test_another_error_becomes_the_interrupt
    """

    def __init__(self) -> None:
        self._caught = False
        self._ours = False
        self._hook = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        # in a background job Ctrl-C is ignored, and stays so
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._catch)
            self._ours = True
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed and dropped since."""
        if self._caught:
            raise KeyboardInterrupt

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        sys.unraisablehook = self._hook
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._caught and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._caught = True
        raise KeyboardInterrupt

    def _unraisable(self, dropped: sys.UnraisableHookArgs) -> None:
        if not (self._caught and isinstance(dropped.exc_value, KeyboardInterrupt)):
            self._hook(dropped)
