"""Compile many kernels at once, on all cores; see `listing` for what names them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import gc
import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool

from stiction.numerics.compiling import clock
from stiction.numerics.compiling.folders import CANNOT_KEEP, reported
from stiction.numerics.compiling.listing import compile_line, size_of_line

__all__ = ["compile_lines"]

# lines that a worker has begun, and how many leave some fifty megabytes of garbage
_COUNTED = itertools.count(1)
_LINES_PER_COLLECTION = 8
_BLOCKED, _OPEN = getattr(signal, "SIG_BLOCK", 0), getattr(signal, "SIG_UNBLOCK", 0)
_KILLED = "the process that compiled it was ended from outside"


def compile_lines(lines: Iterable[str], report: Callable[[float], None]) -> dict[str, str]:
    """Compile what lines name, or find it on disk; return what went wrong, by line.

    Parameters
    ----------
    report : called with the share that is done
    """
    sizes = {line: size_of_line(line) for line in lines}
    waiting = sorted(sizes, key=lambda line: -sizes[line])
    failed: dict[str, str] = {}
    total = max(sum(sizes.values()), 1)
    ended: set[str] = set()

    def end(line: str, error: str) -> None:
        ended.add(line)
        if error:
            failed[line] = error
        report(sum(sizes[one] for one in ended) / total)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    doubtful = _in_a_pool(waiting, cores or 1, end)
    # where memory is short the system ends a process, and all others of its pool go with it:
    # what they were at is tried again, alone
    for line in doubtful:
        if _in_a_pool([line], 1, end):
            end(line, _KILLED)
    while waiting:
        for line in _in_a_pool(waiting, 1, end):
            end(line, _KILLED)
    return failed


def _in_a_pool(waiting: list[str], cores: int, end: Callable[[str, str], None]) -> list[str]:
    """Compile lines, taking them out of `waiting`; return what ran when a process was killed."""
    running: dict[concurrent.futures.Future[str], str] = {}
    if not waiting:
        return []
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(cores, mp_context=spawn) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < cores:
                    line = _next(waiting, running.values())
                    with _ctrl_c(_BLOCKED):
                        running[pool.submit(_compile_one, line)] = line
                ended, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                for future in ended:
                    error = future.result()
                    end(running.pop(future), error)
        except BrokenProcessPool:
            # a line that could not even be handed over runs no more than the others
            return list({*running.values(), line})
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return []


@contextlib.contextmanager
def _ctrl_c(how: int) -> Iterator[None]:
    """Block Ctrl-C or let it through.

    A worker inherits that it is blocked and lets it through while it compiles: anywhere else,
    as in its imports, it would print a traceback beside what the caller says.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(how, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _next(waiting: list[str], running: Iterable[str]) -> str:
    """Take the largest line of a system of which nothing runs, else the largest.

    Kernels of a system share what they call, and what one has compiled the next finds.
    """
    busy = {_system(line) for line in running}
    line = next((line for line in waiting if _system(line) not in busy), waiting[0])
    waiting.remove(line)
    return line


def _system(line: str) -> str:
    return line.split(".")[1]


@functools.cache
def _silent() -> None:
    """Make this process a worker.

    It says nothing of single kernels: the caller reports the progress of all. It looks for
    garbage now and then only, since all that was compiled would be looked through each time.
    """
    clock.hush()
    gc.disable()


def _compile_one(line: str) -> str:
    """Compile one line; return what went wrong, or nothing. Runs in a worker."""
    _silent()
    if next(_COUNTED) % _LINES_PER_COLLECTION == 0:
        gc.collect()
        # what is left stays: the next look goes through what is new alone
        gc.freeze()
    try:
        with _ctrl_c(_OPEN):
            compile_line(line)
        cannot = reported(CANNOT_KEEP)
        if cannot is not None:
            return f"{CANNOT_KEEP} ({cannot})"
    except KeyboardInterrupt:
        return "interrupted"
    except Exception as error:  # noqa: BLE001
        # one kernel that does not compile must not cost the others
        return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
    return ""
