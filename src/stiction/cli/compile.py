"""`stiction compile`: make the kernels of a system beforehand, on all cores."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from stiction.cli.output import put
from stiction.cli.progress import Bar
from stiction.errors import ModelError, explain
from stiction.numerics.compiling.folders import mark_ready

__all__ = ["compile_systems", "systems"]

_LIST = "kernels.txt"


def systems() -> dict[str, Path]:
    """Return the systems that have kernels, each with the list of what Python calls."""
    root = Path(__file__).parents[1]
    return {path.parent.name: path for path in sorted(root.glob(f"*/{_LIST}"))}


def compile_systems(names: Sequence[str]) -> int:
    """Compile all kernels of systems, all systems for none; return how many failed.

    Raises
    ------
    ModelError : for a name that is no system
    """
    known = systems()
    for name in names:
        if name not in known:
            needs = "one of " + ", ".join(known)
            why = "kernels are compiled system by system."
            raise ModelError(explain("compile", name, needs, why, "leave it out for all."))
    lines = {line for name in names or known for line in known[name].read_text().splitlines()}
    begin = time.perf_counter()
    failed = _compile(sorted(lines), ", ".join(names or known))
    if not failed:
        for name in names or known:
            mark_ready(name)
    put(f"{len(lines) - failed} kernels are ready, {time.perf_counter() - begin:.0f} s")
    return failed


def _compile(lines: list[str], title: str) -> int:
    """Compile lines on all cores; return how many could not be."""
    from stiction.numerics.compiling.listing import size_of_line

    sizes = {line: size_of_line(line) for line in lines}
    waiting = sorted(lines, key=lambda line: -sizes[line])
    total, done, failed = sum(sizes.values()), 0, 0
    begin = time.perf_counter()
    spawn = multiprocessing.get_context("spawn")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    running: dict[concurrent.futures.Future[str], str] = {}
    with (
        Bar(f"compiling {title}") as bar,
        concurrent.futures.ProcessPoolExecutor(cores, mp_context=spawn) as pool,
    ):
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
                        failed += 1
                        typer.echo(f"{line.partition(' ')[0]}: {error}", err=True)
                left = (time.perf_counter() - begin) * (total - done) / max(done, 1)
                bar(done / max(total, 1), f"{left:.0f} s left")
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return failed


def _next(waiting: list[str], running: Iterable[str]) -> str:
    """Take the largest line of a system of which nothing runs, else the largest.

    Kernels of a system share what they call, and what one has compiled the next finds.
    """
    busy = {_system(line) for line in running}
    free = (line for line in waiting if _system(line) not in busy)
    line = next(free, waiting[0])
    waiting.remove(line)
    return line


def _system(line: str) -> str:
    return line.split(".")[1]


@functools.cache
def _silent() -> None:
    """Say nothing of single kernels: the bar tells how far all of them are."""
    from stiction.numerics.compiling import clock

    clock.hush()


def _compile_one(line: str) -> str:
    """Compile one line; return what went wrong, or nothing. Runs in a worker."""
    from stiction.numerics.compiling.listing import compile_line

    _silent()
    with contextlib.suppress(KeyboardInterrupt):
        try:
            compile_line(line)
        except Exception as error:  # noqa: BLE001
            # one kernel that does not compile must not cost the others
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return ""
