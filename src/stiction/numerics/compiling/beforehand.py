"""Compile many kernels at once, on all cores; see `listing` for what names them."""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
from collections.abc import Callable, Iterable

from stiction.numerics.compiling import clock
from stiction.numerics.compiling.listing import compile_line, size_of_line

__all__ = ["compile_lines"]


def compile_lines(lines: Iterable[str], report: Callable[[float], None]) -> dict[str, str]:
    """Compile what lines name, or find it on disk; return what went wrong, by line.

    Parameters
    ----------
    report : called with the share that is done
    """
    sizes = {line: size_of_line(line) for line in lines}
    waiting = sorted(sizes, key=lambda line: -sizes[line])
    total, done = max(sum(sizes.values()), 1), 0
    failed: dict[str, str] = {}
    spawn = multiprocessing.get_context("spawn")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    running: dict[concurrent.futures.Future[str], str] = {}
    with concurrent.futures.ProcessPoolExecutor(cores, mp_context=spawn) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < (cores or 1):
                    line = _next(waiting, running.values())
                    running[pool.submit(_compile_one, line)] = line
                ended, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                for future in ended:
                    line, error = running.pop(future), future.result()
                    done += sizes[line]
                    if error:
                        failed[line] = error
                report(done / total)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failed


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
    """Say nothing of single kernels: the caller tells how far all of them are."""
    clock.hush()


def _compile_one(line: str) -> str:
    """Compile one line; return what went wrong, or nothing. Runs in a worker."""
    _silent()
    try:
        compile_line(line)
    except KeyboardInterrupt:
        return "interrupted"
    except Exception as error:  # noqa: BLE001
        # one kernel that does not compile must not cost the others
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""
