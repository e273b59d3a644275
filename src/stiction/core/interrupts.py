"""Deferred interrupts: Ctrl-C and SIGTERM take effect after a step, or a file, is complete.

Methods enclose a step in `uninterrupted`, and writers of files the writing of one file. Only the
main thread of Python receives signals, so that the context has no effect in other threads.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

__all__ = ["SIGNALS", "in_main_thread", "uninterrupted"]

SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the context.

    Within a step it would leave a state that no checkpoint may have, and within a call from HDF5 it
    would damage the file.

    Verified by: tests/unit/chains/theta/test_methods.py::test_ctrl_c_waits_for_the_end_of_a_step
    """
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    for number in SIGNALS if in_main_thread() else ():
        handler = signal.getsignal(number)
        if callable(handler):
            before[number] = handler
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)

    for number in before:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pressed:
            signal.raise_signal(pressed[-1])


def in_main_thread() -> bool:
    """Return whether this thread may handle signals."""
    return threading.current_thread() is threading.main_thread()
