"""Choice of the mode of a run: compiled kernels, or plain Python.

Compilation takes seconds, once per machine. If the kernels of a run are cached, it runs compiled.
Otherwise it starts in plain Python, where a short run ends before a compilation would. If it would
take longer, it is stopped by `TooSlow` and started again in compiled mode. Each result comes from
one mode, which its provenance records. `cli.run` and `explore.worker` call `choose` before a run,
make a `Trial` around it, and call `note_ready` after a compiled run.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from stiction.numerics.compiling.folders import is_ready, mark_ready
from stiction.numerics.jit import GIVEN, Mode

__all__ = ["TooSlow", "Trial", "choose", "note_ready", "system_of"]

# processor time after which the duration of a plain run is estimated, and its limit [s]
_FIRST_LOOK = 3.0
_BUDGET = 10.0
# runs with a shorter estimate end before compiled kernels would be loaded [s]
_AT_ONCE = 0.25


class TooSlow(BaseException):
    """A plain run takes longer than the compilation of its kernels.

    Like Ctrl-C this exception may be raised anywhere, also in a user's function.
    """


def choose(runner: str, resumed: Mode | None, seconds: float | None = None) -> tuple[Mode, bool]:
    """Return the mode of a run, and whether it may change after the run has begun.

    A run with a very short estimate is plain on every machine, because loading compiled kernels
    would take longer.

    Parameters
    ----------
    runner : "module:function" that solves; "" for a method that a user has written
    resumed : mode of the checkpoint from which the run is resumed
    seconds : estimated duration in plain Python [s]; None if unknown
    """
    if resumed is not None:
        return resumed, False
    if GIVEN is not None:
        return GIVEN, False
    if seconds is not None and seconds < _AT_ONCE:
        return "plain", False
    if not runner.startswith("stiction.") or _ready(runner):
        return "compiled", False
    return "plain", True


def note_ready(runner: str) -> None:
    """Record that the kernels of this runner are compiled on this machine."""
    if runner.startswith("stiction."):
        mark_ready(runner)


def _ready(runner: str) -> bool:
    """Return whether the kernels of a runner, or of its whole system, are compiled here."""
    return is_ready(runner) or is_ready(system_of(runner))


def system_of(runner: str) -> str:
    """Return the system of a runner, such as chains."""
    return runner.split(".")[1]


class Trial:
    """Context in which a long plain run is stopped by the exception TooSlow.

    Verified by: tests/unit/numerics/compiling/test_choosing.py::test_a_long_run_is_given_up
    """

    def __init__(self, *, active: bool) -> None:
        self._active = active and threading.current_thread() is threading.main_thread()
        self._begin = time.process_time()
        self._fraction = 0.0
        self._before: object = None

    def __enter__(self) -> Trial:
        self._begin = time.process_time()
        # a handler that Python did not set could not be restored
        free = hasattr(signal, "setitimer") and signal.getsignal(signal.SIGPROF) is not None
        if self._active and free:
            self._before = signal.signal(signal.SIGPROF, self._alarm)
            signal.setitimer(signal.ITIMER_PROF, _BUDGET, _BUDGET)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, self._before)  # type: ignore[arg-type]

    def report(self, fraction: float) -> None:
        """Set the progress of the run; raise TooSlow if it will take too long."""
        self._fraction = fraction
        spent = time.process_time() - self._begin
        if self._active and spent > _FIRST_LOOK and spent > fraction * _BUDGET:
            raise TooSlow

    def _alarm(self, number: int, frame: FrameType | None) -> None:
        """Stop the run after the limit of processor time; the handler of the timer's signal."""
        # a run that is nearly complete may continue up to twice the limit
        if time.process_time() - self._begin > 2.0 * _BUDGET or self._fraction < 0.7:
            raise TooSlow
