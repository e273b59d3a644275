"""Which kernels a run takes: compiled where they are ready, else plain Python while it is small.

Compiling costs seconds, once per machine; a small run in plain Python is over before. Whether it
is small is found out by beginning it: a plain run that would take longer than compiling is given
up and begun again compiled. So every result is of one mode throughout, and says of which.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from stiction.numerics.compiling.folders import is_ready, mark_ready
from stiction.numerics.jit import GIVEN, Mode

__all__ = ["TooSlow", "Trial", "choose", "note_ready", "system_of"]

# seconds of the processor after which a plain run is judged, and which it may take
_FIRST_LOOK = 3.0
_BUDGET = 10.0
# what is over before compiled kernels are loaded
_AT_ONCE = 0.25


class TooSlow(BaseException):
    """A plain run takes longer than compiling would.

    Like Ctrl-C it may come at any moment, also inside a user's function, and is no error of it.
    """


def choose(runner: str, kept: Mode | None, seconds: float | None = None) -> tuple[Mode, bool]:
    """Return the mode of a run, and whether it may be changed once the run has begun.

    A run that a system says to be over at once is plain on every machine: loading compiled
    kernels would take longer, and its bits are always the same.

    Parameters
    ----------
    runner : "module:function" that solves, "" for a user's own method
    kept : mode of the checkpoint from which the run goes on
    seconds : what the system says that plain Python takes [s]; None if it does not know
    """
    if kept is not None:
        return kept, False
    if GIVEN is not None:
        return GIVEN, False
    if seconds is not None and seconds < _AT_ONCE:
        return "plain", False
    if not runner.startswith("stiction.") or _ready(runner):
        return "compiled", False
    return "plain", True


def note_ready(runner: str) -> None:
    """Note that what this runner calls has been compiled on this machine."""
    if runner.startswith("stiction."):
        mark_ready(runner)


def _ready(runner: str) -> bool:
    return is_ready(runner) or is_ready(system_of(runner))


def system_of(runner: str) -> str:
    """Return the system of a runner, such as chains."""
    return runner.split(".")[1]


class Trial:
    """While entered, a run that turns out to be long is given up by TooSlow.

    Verified by: tests/unit/numerics/compiling/test_choosing.py::test_a_long_run_is_given_up
    """

    def __init__(self, *, active: bool) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._begin = time.process_time()
        self._fraction = 0.0
        self._before: object = None

    def __enter__(self) -> Trial:
        self._begin = time.process_time()
        if self._active and hasattr(signal, "setitimer"):
            self._before = signal.signal(signal.SIGPROF, self._alarm)
            signal.setitimer(signal.ITIMER_PROF, _BUDGET, _BUDGET)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, self._before)  # type: ignore[arg-type]

    def report(self, fraction: float) -> None:
        """Take note of how far the run is; raise TooSlow if it will take too long."""
        self._fraction = fraction
        spent = time.process_time() - self._begin
        if self._active and spent > _FIRST_LOOK and spent > fraction * _BUDGET:
            raise TooSlow

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        # a run that is nearly over may end
        if time.process_time() - self._begin > 2.0 * _BUDGET or self._fraction < 0.7:
            raise TooSlow
