"""Engines that solve a study in parallel: processes of this machine, or a Dask cluster.

A chunk is a group of members that one worker solves and stores. The workers write their chunks to
the store themselves. An engine yields the numbers of members and of invalid members of each chunk.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from stiction.errors import StoreError, explain
from stiction.numerics.checks import cores_of_process
from stiction.numerics.jit import mode, use
from stiction.studies.members import Job, count_notes, solve_alone, solve_chunk, store_after_death

__all__ = ["in_processes", "most_workers", "on_dask", "one_thread"]

Counts = dict[str, int]

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
)
# assumed least memory of a worker that it does not share with its parent [bytes]
_LEAST_MEMORY = 150 << 20
_POLL_S = 0.5


class _Orphan(Exception):
    """The parent process has ended; the worker stops."""


def most_workers(wanted: int | None, chunks: int) -> int:
    """Return the number of processes: the requested one, or what cores and memory allow."""
    if wanted is not None:
        return max(1, min(wanted, chunks))
    most = cores_of_process()
    free, ours = _memory()
    if free:
        most = min(most, max(1, int(0.8 * free / max(ours, _LEAST_MEMORY))))
    return max(1, min(most, chunks))


def _memory() -> tuple[int, int]:
    """Return the free memory, and the memory of this process [bytes]; 0 if unknown."""
    try:
        text = Path("/proc/meminfo").read_text()
        free = int(re.search(r"MemAvailable:\s+(\d+)", text)[1]) << 10  # type: ignore[index]
        own = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, TypeError, ValueError):
        return 0, 0
    return free, own


def one_thread() -> None:
    """Limit numerical libraries, loaded now or later, to one thread each."""
    for name in _THREADS:
        os.environ[name] = "1"
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/maps").read_text().splitlines()
        paths = {line.split()[-1] for line in lines if re.search(r"openblas|mkl_rt", line)}
        for path in paths:
            with contextlib.suppress(OSError):
                library = ctypes.CDLL(path)
                for name in _SETTERS:
                    if hasattr(library, name):
                        getattr(library, name)(1)


# ---- processes


def in_processes(job: Job, chunks: Sequence[int], workers: int) -> Iterator[tuple[int, Counts]]:
    """Solve chunks in processes of this machine; yield (chunk, counts) after each chunk.

    On Linux the workers are forks of this process and have its compiled kernels. If a worker dies,
    the members of its chunk are solved again, each in its own process. A member whose process dies
    again has the status "died".

    Raises
    ------
    StoreError : if the store cannot be written.

    Verified by: tests/unit/studies/test_kills.py::test_a_worker_that_dies
    """
    remaining = list(reversed(chunks))
    with contextlib.ExitStack() as ended:
        pool: list[_Worker] = []
        ended.callback(_stop, pool)
        pool.extend(_Worker(job) for _ in range(workers))
        for worker in pool:
            worker.give(remaining)
        while any(worker.chunk is not None for worker in pool):
            busy = [w for w in pool if w.chunk is not None]
            ready = wait([*(w.pipe for w in busy), *(w.process.sentinel for w in busy)])
            for worker in busy:
                if worker.pipe not in ready and worker.process.sentinel not in ready:
                    continue
                chunk = worker.chunk
                assert chunk is not None
                answer = worker.answer()
                if answer is None:
                    worker.stop()
                    pool[pool.index(worker)] = worker = _Worker(job)
                    answer = _one_by_one(job, chunk)
                if isinstance(answer, str):
                    raise StoreError(answer)
                worker.give(remaining)
                yield chunk, answer


def _stop(pool: Sequence[_Worker]) -> None:
    for worker in pool:
        worker.stop()


class _Worker:
    """A process that solves chunks on request."""

    def __init__(self, job: Job, target: Callable[..., None] | None = None) -> None:
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (job, theirs, os.getpid(), mode())
        self.process = context.Process(target=target or _work, args=arguments, daemon=True)
        with _own_signals():
            self.process.start()
        theirs.close()
        self.chunk: int | None = None

    def give(self, remaining: list[int]) -> None:
        """Send the next chunk, if there is one."""
        self.chunk = remaining.pop() if remaining else None
        if self.chunk is not None:
            # `answer` detects a worker that is dead already
            with contextlib.suppress(OSError):
                self.pipe.send(self.chunk)

    def answer(self) -> Any:
        """Return the answer of the worker; None if it died."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ignore SIGINT while a process is forked: the parent handles it."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(job: Job, pipe: Connection, parent: int, kernels: Any) -> None:
    """Solve chunks until the parent process sends no more, or has ended."""
    _initialise_worker(kernels)

    def check() -> None:
        if os.getppid() != parent:
            raise _Orphan

    with contextlib.suppress(EOFError, OSError, _Orphan):
        while True:
            while not pipe.poll(_POLL_S):
                check()
            pipe.send(_answer(solve_chunk, job, pipe.recv(), check))


def _initialise_worker(kernels: Any) -> None:
    """Initialise a worker: default signals, one thread, the kernel mode of its parent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    one_thread()
    use(kernels)


def _answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function; if the store cannot be written, the message of the error."""
    try:
        return function(*arguments)
    except StoreError as error:
        return str(error)


def _one_by_one(job: Job, chunk: int) -> Counts | str:
    """Solve the members of a chunk whose worker died, each in its own process."""
    begin, end = job.manifest.span(chunk)
    solved: dict[int, Any] = {}
    notes: list[Any] = []
    for member in range(begin, end):
        worker = _Worker(job, _work_alone)
        with contextlib.suppress(OSError):
            worker.pipe.send((chunk, member))
        answer = worker.answer()
        worker.stop()
        if answer is not None:
            solved[member] = answer[0]
            notes += answer[1]
    lost = end - begin - len(solved)
    words = _answer(store_after_death, job, chunk, solved, notes)
    if isinstance(words, str):
        return words
    every = count_notes(notes)
    return {"members": end - begin, **every, "failed": every["failed"] + lost}


def _work_alone(job: Job, pipe: Connection, parent: int, kernels: Any) -> None:
    """Solve one member in a process: read (chunk, member) from the pipe, send its arrays."""
    _initialise_worker(kernels)
    with contextlib.suppress(EOFError, OSError):
        pipe.send(solve_alone(job, *pipe.recv()))


# ---- Dask


def on_dask(
    job: Job, chunks: Sequence[int], workers: int, address: str | None
) -> Iterator[tuple[int, Counts]]:
    """Solve chunks on a Dask cluster that sees the same folder; yield (chunk, counts) after each.

    Parameters
    ----------
    workers : number of workers of the local cluster, if no address is given
    address : address of a scheduler, such as tcp://host:8786; None starts a cluster on this machine

    Raises
    ------
    StoreError : if Dask is not installed, the scheduler does not answer, or the cluster is lost.

    Verified by: tests/unit/studies/test_dask.py::test_same_data_as_processes
    """
    try:
        import distributed
    except ImportError as error:
        got, needs = "an environment without Dask", "the package `distributed`"
        why = "this engine uses a Dask cluster."
        try_ = 'pip install "stiction[cluster]"; or leave --engine out for processes.'
        raise StoreError("--engine dask", got, needs, why, try_) from error
    with contextlib.ExitStack() as ended:
        try:
            if address is None:
                cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None
                )
                ended.enter_context(cluster)
                address = cluster.scheduler_address
            client = ended.enter_context(distributed.Client(address, timeout="5s"))
        except OSError as error:
            raise _cluster_lost(f"no scheduler at {address}") from error
        shared = client.scatter(job, broadcast=True, hash=False)
        futures = {
            client.submit(_on_worker, shared, chunk, mode(), pure=False, retries=2): chunk
            for chunk in chunks
        }
        try:
            for future in distributed.as_completed(futures):
                answer = _dask_answer(job, futures[future], future)
                if isinstance(answer, str):
                    raise StoreError(answer)
                yield futures[future], answer
        except (OSError, TimeoutError, distributed.CancelledError) as error:
            if isinstance(error, StoreError):
                raise
            raise _cluster_lost(f"a cluster that was lost ({type(error).__name__})") from error


def _dask_answer(job: Job, chunk: int, future: Any) -> Any:
    """Return the counts of a chunk; solve it here if its workers were killed repeatedly."""
    import distributed

    try:
        return future.result()
    except distributed.KilledWorker:
        return _one_by_one(job, chunk)


def _on_worker(job: Job, chunk: int, kernels: Any) -> Any:
    """Solve a chunk on a worker of the cluster; return its counts, or the text of an error."""
    one_thread()
    use(kernels)
    if not Path(job.folder).is_dir():
        got, needs = "no such folder on a worker", "a folder that all machines see"
        why, try_ = (
            "the workers write their chunks to this folder.",
            "give a shared folder with --out.",
        )
        return explain(job.folder, got, needs, why, try_)
    return _answer(solve_chunk, job, chunk)


def _cluster_lost(got: str) -> StoreError:
    why = "complete chunks are saved, and the other chunks were not solved."
    try_ = "start the cluster, and repeat the same command, which continues the study."
    return StoreError("--engine dask", got, "a Dask scheduler that answers", why, try_)
