"""Time that this process spends in compilation, and a message before a long compilation.

`cache` and `linking` measure their work in `compiling()`; `cache` calls `announce` before it
compiles a kernel; `core.driver` records `spent()` in the provenance of a run.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["announce", "compiling", "hush", "nested", "silent", "spent"]

# duration of compiling one Python instruction, in iterations of an empty loop on the same machine
_TURNS_PER_INSTRUCTION = 75_000
# iterations of the loop that is timed
_TURNS = 50_000
# estimated duration of compilations since the last message, above which a message is written [s]
_WORTH_A_WORD = 2.0


@dataclass
class _Clock:
    """State of the clock of this process.

    Attributes
    ----------
    depth : number of nested `compiling` blocks
    spent : time in them [s]
    unsaid : estimated time of compilations since the last message [s]
    announced : systems with a message
    quiet : whether messages are disabled
    """

    depth: int = 0
    spent: float = 0.0
    unsaid: float = 0.0
    announced: set[str] = field(default_factory=set)
    quiet: bool = False


_CLOCK = _Clock()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Count the time of the block as compilation; nested blocks count once."""
    begin = time.perf_counter()
    _CLOCK.depth += 1
    try:
        yield
    finally:
        _CLOCK.depth -= 1
        if _CLOCK.depth == 0:
            _CLOCK.spent += time.perf_counter() - begin


def nested() -> bool:
    """Return whether another compilation, which was announced, is in progress."""
    return _CLOCK.depth > 0


def hush() -> None:
    """Disable messages in this process; another one reports the progress."""
    _CLOCK.quiet = True


def silent() -> bool:
    """Return whether another process reports the progress."""
    return _CLOCK.quiet


def spent() -> float:
    """Return the seconds that this process has spent compiling and loading kernels."""
    return _CLOCK.spent


def _turn() -> float:
    """Return the duration of an iteration of an empty loop on this machine [s]."""
    best = math.inf
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(_TURNS):
            pass
        best = min(best, time.perf_counter() - begin)
    return best / _TURNS


def announce(module: str | None, name: str, instructions: int) -> None:
    """Write a message that a kernel is compiled with its callees, if that takes long.

    Parameters
    ----------
    module, name : module and name of the kernel
    instructions : number of Python instructions of the kernel and its callees
    """
    # functions made by `exec` may have no module
    module = module or "functions made by exec"
    part = ".".join(module.split(".")[1:2]) or module
    seconds = instructions * _TURNS_PER_INSTRUCTION * _turn()
    # sum over kernels, because many small ones take long too
    _CLOCK.unsaid += seconds
    if _CLOCK.unsaid > _WORTH_A_WORD and not _CLOCK.quiet and sys.stderr is not None:
        again = "more of " if part in _CLOCK.announced else ""
        _CLOCK.announced.add(part)
        _CLOCK.unsaid = 0.0
        about = f"about {max(seconds, 1.0):.0f} s"
        sys.stderr.write(f"stiction: compiling {again}{part} ({name}), once per machine, {about}\n")
        sys.stderr.flush()
