"""Ahead-of-time compilation of many kernels in a pool of processes.

The command `stiction compile` calls it with the lines of `listing`, each of which names a kernel
and the types of its arguments. Large kernels are compiled first; results are in the cache on disk.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import gc
import itertools
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool

from stiction.numerics.checks import cores_of_process
from stiction.numerics.compiling import clock
from stiction.numerics.compiling.folders import CANNOT_CACHE, reported
from stiction.numerics.compiling.listing import compile_line, size_of_line

__all__ = ["compile_lines"]

# number of lines that a worker has started; it collects garbage, some 50 MB, after so many lines
_COUNTED = itertools.count(1)
_LINES_PER_COLLECTION = 8
_BLOCKED, _OPEN = getattr(signal, "SIG_BLOCK", 0), getattr(signal, "SIG_UNBLOCK", 0)
_KILLED = "the process that compiled it was killed"


def compile_lines(lines: Iterable[str], report: Callable[[float], None]) -> dict[str, str]:
    """Compile the kernels of lines, unless they are cached; return the errors by line.

    Parameters
    ----------
    lines : kernels with the types of their arguments, see `listing`
    report : called with the completed fraction
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

    interrupted = _compile_in_pool(waiting, cores_of_process(), end)
    # if memory is short, the system kills a worker, which breaks the pool; the lines in progress
    # are then compiled again, one at a time
    for line in interrupted:
        if _compile_in_pool([line], 1, end):
            end(line, _KILLED)
    while waiting:
        for line in _compile_in_pool(waiting, 1, end):
            end(line, _KILLED)
    return failed


def _compile_in_pool(waiting: list[str], cores: int, end: Callable[[str, str], None]) -> list[str]:
    """Compile lines and remove them from `waiting`; return those in progress when a worker died.

    cores : number of workers; end : called with each line and its error, or ""
    """
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
            # the line that was being submitted is lost as well
            return list({*running.values(), line})
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return []


@contextlib.contextmanager
def _ctrl_c(how: int) -> Iterator[None]:
    """Block or unblock Ctrl-C.

    A worker inherits the blocked signal and unblocks it while it compiles. At other times, such as
    during its imports, an interrupt would print a traceback.
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
    """Remove and return the largest line of a system of which no line is being compiled.

    If there is none, it is the largest line. Kernels of a system have common callees, which one
    worker compiles and caches for the others.
    """
    busy = {_system(line) for line in running}
    line = next((line for line in waiting if _system(line) not in busy), waiting[0])
    waiting.remove(line)
    return line


def _system(line: str) -> str:
    """Return the subpackage of a line "stiction.bodies...", such as bodies."""
    return line.split(".")[1]


@functools.cache
def _silent() -> None:
    """Initialise a worker: no messages about single kernels, no automatic garbage collection.

    The main process reports the progress. A garbage collection scans all compiled objects.
    """
    clock.hush()
    gc.disable()


def _compile_one(line: str) -> str:
    """Compile one line in a worker; return the error, or nothing."""
    _silent()
    if next(_COUNTED) % _LINES_PER_COLLECTION == 0:
        gc.collect()
        # exclude the remaining objects from later collections
        gc.freeze()
    try:
        with _ctrl_c(_OPEN):
            compile_line(line)
        cannot = reported(CANNOT_CACHE)
        if cannot is not None:
            return f"{CANNOT_CACHE} ({cannot})"
    except KeyboardInterrupt:
        return "interrupted"
    except Exception as error:  # noqa: BLE001
        # report the error, and compile the other kernels
        return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
    return ""
