"""Handling of the signals of Ctrl-C (SIGINT) and of SIGTERM, which end a run in the same way.

A KeyboardInterrupt that is raised in a callback of the Numba compiler or of HDF5, or during an
import, may be lost there or be replaced by another error. This module records the interrupt and
raises KeyboardInterrupt again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from stiction.core.interrupts import SIGNALS, in_main_thread

__all__ = [
    "Interrupts",
    "catching_interrupts",
    "end_at_once",
    "exit_code",
    "interrupts_caught",
]

_heard: list[int] = []


class _Interrupt(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A subclass is needed: after a KeyboardInterrupt itself has passed through `exec` of a text,
    CPython ends the process by the signal, even if the exception was caught.
    """


def end_at_once() -> None:
    """Let Ctrl-C and SIGTERM end this process immediately, unless they are ignored.

    This handler is active before a command begins and after it has ended. An exception during
    imports or finalisation would print a traceback.

    Verified by: tests/scenarios/test_kill.py::test_ctrl_c_in_imports_leaves_no_traceback
    """
    for number in SIGNALS if in_main_thread() else ():
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, _end)


@contextlib.contextmanager
def catching_interrupts() -> Iterator[None]:
    """Context in which signals raise KeyboardInterrupt instead of ending the process.

    Verified by: tests/scenarios/test_kill.py::test_interrupted_runs_say_how_to_go_on
    """
    numbers = SIGNALS if in_main_thread() else ()
    ending = [number for number in numbers if signal.getsignal(number) is _end]
    try:
        for number in ending:
            signal.signal(number, _raise)
        yield
    finally:
        for number in ending:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"Interrupted.\n")
    os._exit(128 + number)


def interrupts_caught() -> int:
    """Return the number of interrupts of this process."""
    return len(_heard)


def exit_code() -> int:
    """Return the exit code of an interrupted process: 130 for SIGINT, 143 for SIGTERM."""
    return 128 + (_heard[-1] if _heard else signal.SIGINT)


def _raise(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    raise _Interrupt


class Interrupts:
    """Context in which errors after Ctrl-C become a KeyboardInterrupt.

    Verified by: tests/unit/cli/test_interrupt.py::test_another_error_becomes_the_interrupt
    """

    def __init__(self) -> None:
        self._caught = False
        self._before: dict[int, Any] = {}
        self._hook = sys.unraisablehook

    def __enter__(self) -> Interrupts:
        for number in SIGNALS if in_main_thread() else ():
            # a background job ignores Ctrl-C, and continues to do so
            if signal.getsignal(number) in (signal.default_int_handler, _raise):
                self._before[number] = signal.signal(number, self._catch)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def check(self) -> None:
        """Raise KeyboardInterrupt if there was one since the start of the context."""
        if self._caught:
            raise KeyboardInterrupt

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._caught and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self._caught = True
        _raise(number, frame)

    def _unraisable(self, dropped: sys.UnraisableHookArgs) -> None:
        if not (self._caught and isinstance(dropped.exc_value, KeyboardInterrupt)):
            self._hook(dropped)
